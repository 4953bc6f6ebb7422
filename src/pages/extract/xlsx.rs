//! Workbooks of Excel (Office Open XML), sheet by sheet, row by row: `sheet.rs` makes text of the rows.

use std::{
    collections::{BTreeMap, HashMap},
    io::Cursor,
};

use calamine::{DataRef, Dimensions, ExcelDateTime, Reader as _, SheetVisible, Xlsx, XlsxError};

use super::{
    super::caught,
    Document, Unreadable,
    cells::{About, Cells, Place},
    number_format::{Format, Styles, plain},
    outline::Outline,
    package::{self, Package},
    sheet::Sheet,
};

/// Results are stored by programs that compute them.
const HOW_TO_STORE_THEM: &str = "open the file in a spreadsheet program and save it";
/// Bytes of texts that are said again in cells merged with theirs.
const MOST_SPREAD: usize = 1 << 20;

/// Reads an Excel workbook; `main` is its main part.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>, main: &str) -> Result<Document, Unreadable> {
    let properties = package.core_properties()?;
    let mut workbook = Xlsx::new(Cursor::new(package.bytes)).map_err(|error: XlsxError| match error {
        XlsxError::Password => package::encrypted(),
        _ => package::damaged(),
    })?;
    let styles = Styles::read(package, main)?;
    let mut outline = Outline::of_parts(properties.title.as_deref());
    let sheets = workbook.sheets_metadata().to_vec();
    let (hidden, shown): (Vec<_>, Vec<_>) =
        sheets.into_iter().partition(|sheet| sheet.visible != SheetVisible::Visible);
    let hidden = (!hidden.is_empty()).then(|| format!("{} hidden sheets are not searched", hidden.len()));
    let (mut left_out, mut lacking) = (None, 0);
    let mut room = super::MAX_TEXT_BYTES;
    for name in shown.iter().map(|sheet| &sheet.name) {
        let xml = styles.sheet(package, name).unwrap_or_default();
        let about = Cells::new(&xml, &styles);
        // The library counts columns without a bound, and panics where arithmetic is checked.
        let sheet = caught::catch(|| sheet(&mut workbook, name, about, room)).ok_or_else(package::damaged)?;
        let Some(Text { text, left_out: own, lacking: formulas }) = sheet? else { continue };
        left_out = own.or(left_out);
        lacking += formulas;
        outline.heading(2, name);
        room = room.saturating_sub(text.len());
        outline.block(&text);
    }
    let lacking = (lacking > 0).then(|| format!("{lacking} formulas have no stored result ({HOW_TO_STORE_THEM})"));
    let missing = [left_out, hidden, lacking].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let missing = Some(missing).filter(|missing| !missing.is_empty());
    Ok(Document { missing, ..properties.of_document(outline.finish()) })
}

/// The text of a sheet, what is missing of it, and how many of its formulas have no result.
struct Text {
    text: String,
    left_out: Option<String>,
    lacking: usize,
}

/// Reads a sheet; `None` for one that is a chart.
fn sheet<'a>(
    workbook: &mut Xlsx<Cursor<&[u8]>>,
    name: &str,
    about: impl Iterator<Item = About<'a>>,
    room: usize,
) -> Result<Option<Text>, Unreadable> {
    let regions = workbook.merge_cells_by_sheet_name(name).unwrap_or_default();
    let mut cells = match workbook.worksheet_cells_reader(name) {
        Ok(cells) => cells,
        Err(XlsxError::NotAWorksheet(_)) => return Ok(None),
        Err(_) => return Err(package::damaged()),
    };
    let (mut sheet, mut about, mut lacking) = (Sheet::new(room), about.peekable(), 0);
    let mut merged = Merged::new(&regions, cells.dimensions().start.1);
    while let Some(cell) = cells.next_cell().map_err(|_| package::damaged())? {
        let at = cell.get_position();
        while about.next_if(|about| about.at < at).is_some() {}
        let about = about.next_if(|about| about.at == at);
        lacking += usize::from(about.as_ref().is_some_and(|about| about.lacks_result));
        let text = text_of(cell.get_value(), about.as_ref().and_then(About::format));
        if let Some(about) = about.filter(|about| !about.is_shown()) {
            sheet.pass_over(at.0 as usize);
            // What is shown of the cells merged with it has its text.
            text.filter(|_| !about.is_struck()).iter().for_each(|text| merged.spread(at, text));
            continue;
        }
        let Some(text) = text else { continue };
        if !merged.put(&mut sheet, at, text) {
            break;
        }
    }
    merged.end_row(&mut sheet);
    let (text, left_out) = sheet.finish();
    Ok(Some(Text { text, left_out, lacking }))
}

/// The cells of a sheet that show the text of another one, with which they are merged.
#[derive(Default)]
struct Merged {
    /// Where merged cells end, by where they begin.
    ends: HashMap<Place, Place>,
    /// Texts that are still to be said again, and whether in the first column of their region.
    open: BTreeMap<Place, (String, bool)>,
    /// The row of the last cell.
    row: u32,
    /// Bytes that may be said again.
    left: usize,
}

impl Merged {
    /// Creates those of a sheet. What spans columns from its first one on is a title, and said once.
    fn new(regions: &[Dimensions], first_column: u32) -> Self {
        let is_title = |region: &&Dimensions| region.start.1 == first_column && region.end.1 > first_column;
        let ends = regions.iter().filter(|region| !is_title(region)).map(|region| (region.start, region.end)).collect();
        Self { ends, left: MOST_SPREAD, ..Self::default() }
    }

    /// Puts a cell into the sheet, and before it those of its row that show the text of another one; false when the
    /// sheet is full.
    fn put(&mut self, sheet: &mut Sheet, at: Place, text: String) -> bool {
        if self.row != at.0 && !self.end_row(sheet) {
            return false;
        }
        self.row = at.0;
        // A row in which nothing else stands is none.
        self.open = self.open.split_off(&(at.0, 0));
        let behind = self.open.split_off(&at);
        let before = std::mem::replace(&mut self.open, behind);
        self.spread(at, &text);
        say(sheet, before) && sheet.put(at.0 as usize, at.1 as usize, text)
    }

    /// Puts the rest of the present row into the sheet; false when that is full.
    fn end_row(&mut self, sheet: &mut Sheet) -> bool {
        let below = self.open.split_off(&(self.row.saturating_add(1), 0));
        say(sheet, std::mem::replace(&mut self.open, below))
    }

    /// Notes a text for the cells that are merged with its own.
    fn spread(&mut self, at: Place, text: &str) {
        let Some(end) = self.ends.remove(&at) else { return };
        let places = (at.0..=end.0).flat_map(|row| (at.1..=end.1).map(move |column| (row, column)));
        for place in places.skip(1) {
            let Some(left) = self.left.checked_sub(text.len() + 1) else { return };
            self.left = left;
            self.open.insert(place, (text.to_owned(), place.1 == at.1));
        }
    }
}

/// Puts cells into a sheet; false when that is full.
fn say(sheet: &mut Sheet, cells: BTreeMap<Place, (String, bool)>) -> bool {
    cells.into_iter().all(|((row, column), (text, is_first))| match is_first {
        true => sheet.put(row as usize, column as usize, text),
        false => sheet.put_again(row as usize, column as usize, text),
    })
}

#[expect(clippy::cast_precision_loss, reason = "cells hold floating-point numbers")]
fn text_of(value: &DataRef<'_>, format: Option<&Format>) -> Option<String> {
    match value {
        DataRef::Int(number) => Some(format.map_or_else(|| number.to_string(), |format| format.shown(*number as f64))),
        DataRef::Float(number) => Some(format.map_or_else(|| plain(*number), |format| format.shown(*number))),
        DataRef::String(text) => Some(text.clone()),
        DataRef::SharedString(text) => Some((*text).to_owned()),
        DataRef::Bool(value) => Some(value.to_string()),
        DataRef::DateTime(time) => Some(time_of(time)),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Some(text.clone()),
        DataRef::Error(_) | DataRef::Empty => None,
    }
}

fn time_of(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        return duration_of(time.as_f64());
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock = match second {
        0 => format!("{hour:02}:{minute:02}"),
        second => format!("{hour:02}:{minute:02}:{second:02}"),
    };
    // A time without a day counts from the beginning of the calendar.
    match (time.as_f64() < 1.0, (hour, minute, second)) {
        (true, _) => clock,
        (false, (0, 0, 0)) => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:04}-{month:02}-{day:02} {clock}"),
    }
}

/// Returns hours and minutes, and seconds unless they are none, whatever its format counts in.
fn duration_of(days: f64) -> String {
    let milliseconds = (days * 24.0 * 60.0 * 60.0 * 1_000.0).round();
    let sign = if milliseconds < 0.0 { "-" } else { "" };
    let minutes = (milliseconds.abs() / 60_000.0).trunc();
    let seconds = format!("{:06.3}", milliseconds.abs() % 60_000.0 / 1_000.0);
    let clock = format!("{sign}{}:{:02}", (minutes / 60.0).trunc(), minutes % 60.0);
    match seconds.strip_suffix(".000") {
        Some("00") => clock,
        Some(whole) => format!("{clock}:{whole}"),
        None => format!("{clock}:{}", seconds.trim_end_matches('0')),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

    use super::*;

    /// Returns `mill.xlsx` with other XML for its first sheet.
    fn with_sheet(xml: &str) -> Vec<u8> {
        with_parts(&[("worksheets/sheet1.xml", xml)])
    }

    /// Returns `mill.xlsx` with other XML for parts with these ends of their names.
    fn with_parts(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = ZipArchive::new(Cursor::new(include_bytes!("../../../tests/formats/mill.xlsx"))).unwrap();
        let mut changed = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for place in 0..archive.len() {
            let mut file = archive.by_index(place).unwrap();
            let name = file.name().unwrap().into_owned();
            let mut own = Vec::new();
            file.read_to_end(&mut own).unwrap();
            changed.start_file(&*name, stored).unwrap();
            let other = parts.iter().find(|(end, _)| name.ends_with(end));
            changed.write_all(other.map_or(&*own, |(_, xml)| xml.as_bytes())).unwrap();
        }
        changed.finish().unwrap().into_inner()
    }

    /// Found by fuzzing: a name of a column that is too long to be counted.
    #[test]
    fn a_cell_beyond_all_columns_is_damage() {
        let sheet = |cell: &str| {
            let space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
            let row = format!("<row r=\"1\"><c r=\"{cell}\"><v>4100</v></c></row>");
            with_sheet(&format!("<worksheet xmlns=\"{space}\"><sheetData>{row}</sheetData></worksheet>"))
        };
        let read = |cell: &str| super::super::read(super::super::Format::Package, sheet(cell));
        assert!(format!("{:?}", read("B1").unwrap()).contains("4100"));
        let far = read(&format!("B{}3", "H".repeat(40)));
        assert!(far.as_ref().is_err_and(|reason| *reason == package::damaged()), "{far:?}");
    }

    #[test]
    fn cells_are_shown_in_the_format_of_their_style() {
        let formats = r##"<numFmt numFmtId="164" formatCode="#,##0\ [$€-407]"/>"##;
        let styles = ["0", "9", "164", "14"].map(|id| format!("<xf numFmtId=\"{id}\"/>")).concat();
        let styles = format!("<styleSheet><numFmts>{formats}</numFmts><cellXfs>{styles}</cellXfs></styleSheet>");
        let cells = [("A1", 0.5), ("B1", 0.5), ("C1", 4_100.5), ("D1", 0.5)];
        let cells =
            (0..).zip(cells).map(|(style, (name, value))| format!("<c r=\"{name}\" s=\"{style}\"><v>{value}</v></c>"));
        let space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let row: String = cells.collect();
        let sheet = format!("<worksheet xmlns=\"{space}\"><sheetData><row r=\"1\">{row}</row></sheetData></worksheet>");
        let bytes = with_parts(&[("worksheets/sheet1.xml", &sheet), ("xl/styles.xml", &styles)]);
        let text = format!("{:?}", super::super::read(super::super::Format::Package, bytes).unwrap());
        assert!(text.contains("0.5 | 50% | 4100.5 € | 12:00"), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_not_read_and_what_was_not_computed_is_said() {
        let fonts = "<fonts><font/><font><strike/></font></fonts>";
        let styles = "<cellXfs><xf numFmtId=\"0\" fontId=\"0\"/><xf numFmtId=\"0\" fontId=\"1\"/></cellXfs>";
        let styles = format!("<styleSheet>{fonts}{styles}</styleSheet>");
        let space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let columns = "<cols><col min=\"3\" max=\"3\" hidden=\"1\"/></cols>";
        let cells = |row: u32, shown: &str| {
            format!(
                "<c r=\"A{row}\"{shown}><v>{row}007</v></c><c r=\"B{row}\"><f>A1</f><v/></c><c r=\"C{row}\"><v>{row}009</v></c>"
            )
        };
        let rows = [("", ""), (" hidden=\"1\"", ""), ("", " s=\"1\"")];
        let rows = (1..).zip(rows).map(|(at, (row, cell))| format!("<row r=\"{at}\"{row}>{}</row>", cells(at, cell)));
        let rows: String = rows.collect();
        let sheet = format!("<worksheet xmlns=\"{space}\">{columns}<sheetData>{rows}</sheetData></worksheet>");
        let bytes = with_parts(&[("worksheets/sheet1.xml", &sheet), ("xl/styles.xml", &styles)]);
        let document = super::super::read(super::super::Format::Package, bytes).unwrap();
        let text = format!("{:?}", document.sections);
        assert!(text.contains("1007"), "{text}");
        assert!(!["1009", "2007", "3007"].iter().any(|hidden| text.contains(hidden)), "{text}");
        // The other sheet has one, too.
        assert!(document.missing.is_some_and(|missing| missing.contains("4 formulas have no stored result")));
    }

    #[test]
    fn durations_have_their_seconds() {
        let check = |seconds: f64, expected: &str| assert_eq!(duration_of(seconds / 86_400.0), expected, "{seconds}");
        check(207.0, "0:03:27");
        check(360_062.0, "100:01:02");
        check(5_400.0, "1:30");
        check(207.25, "0:03:27.25");
        check(-90.0, "-0:01:30");
        check(10.0, "0:00:10");
    }

    #[test]
    fn merged_cells_all_say_what_they_show() {
        let row = |number: u32, cells: &[(&str, &str)]| {
            let cell = |(column, text): &(&str, &str)| {
                format!("<c r=\"{column}{number}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
            };
            format!("<row r=\"{number}\">{}</row>", cells.iter().map(cell).collect::<String>())
        };
        let rows = [
            row(1, &[("A", "Sales of the mill")]),
            row(2, &[("A", "Place"), ("B", "2030"), ("D", "2031")]),
            row(3, &[("A", "Pier"), ("B", "Hall"), ("C", "4"), ("D", "5"), ("E", "6")]),
            row(4, &[("C", "7"), ("D", "8"), ("E", "9")]),
            row(9, &[("A", "Counted in May")]),
        ];
        let regions =
            ["A1:E1", "B2:C2", "D2:E2", "A3:A4", "B3:B7"].map(|region| format!("<mergeCell ref=\"{region}\"/>"));
        let space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let sheet = format!(
            "<worksheet xmlns=\"{space}\"><dimension ref=\"A1:E9\"/><sheetData>{}</sheetData><mergeCells>{}</mergeCells></worksheet>",
            rows.concat(),
            regions.concat()
        );
        let document = super::super::read(super::super::Format::Package, with_sheet(&sheet)).unwrap();
        let text: String = document.sections.iter().map(|section| &*section.text).collect();
        for expected in [
            "Sales of the mill\n",
            "| Place | 2030 | 2030 | 2031 | 2031 |\n",
            "| Pier | Hall | 4 | 5 | 6 |\n",
            "| Pier | Hall | 7 | 8 | 9 |\n",
        ] {
            assert!(text.contains(expected), "{expected} {text}");
        }
        assert_eq!((text.matches("Sales").count(), text.matches("Hall").count()), (1, 2), "{text}");
        // A label goes on below an empty row.
        let cells = |number: u32, boat, dues| row(number, &[("B", boat), ("C", dues)]);
        let first = row(2, &[("A", "Pier"), ("B", "Barge"), ("C", "4")]);
        let rows = [first, cells(3, "Ketch", "5"), cells(5, "Yawl", "7"), cells(6, "Sloop", "9")].concat();
        let body = format!("<sheetData>{rows}</sheetData><mergeCells><mergeCell ref=\"A2:A6\"/></mergeCells>");
        let sheet = format!("<worksheet xmlns=\"{space}\"><dimension ref=\"A2:C6\"/>{body}</worksheet>");
        let document = super::super::read(super::super::Format::Package, with_sheet(&sheet)).unwrap();
        let text: String = document.sections.iter().map(|section| &*section.text).collect();
        assert!(text.contains("| Pier | Yawl | 7 |\n") && text.contains("| Pier | Sloop | 9 |"), "{text}");
        // A label is shown in the rows below a hidden one, too.
        let hidden = row(2, &[("A", "Pier"), ("B", "Barge"), ("C", "4")]).replace("r=\"2\"", "r=\"2\" hidden=\"1\"");
        let rows = [row(1, &[("A", "Place"), ("B", "Boat"), ("C", "Dues")]), hidden, cells(3, "Ketch", "5")].concat();
        let body = format!("<sheetData>{rows}</sheetData><mergeCells><mergeCell ref=\"A2:A3\"/></mergeCells>");
        let sheet = format!("<worksheet xmlns=\"{space}\"><dimension ref=\"A1:C3\"/>{body}</worksheet>");
        let document = super::super::read(super::super::Format::Package, with_sheet(&sheet)).unwrap();
        let text: String = document.sections.iter().map(|section| &*section.text).collect();
        assert!(text.contains("| Pier | Ketch | 5 |") && !text.contains("Barge"), "{text}");
        // A form on a grid that nothing else uses.
        let rows = [row(3, &[("C", "Name"), ("I", "Yamada")]), row(4, &[("C", "Age"), ("I", "41")])];
        let regions = ["C3:H3", "I3:P3", "C4:H4", "I4:P4"].map(|region| format!("<mergeCell ref=\"{region}\"/>"));
        let (rows, regions) = (rows.concat(), regions.concat());
        let body = format!("<sheetData>{rows}</sheetData><mergeCells>{regions}</mergeCells>");
        let sheet = format!("<worksheet xmlns=\"{space}\"><dimension ref=\"A1:P4\"/>{body}</worksheet>");
        let document = super::super::read(super::super::Format::Package, with_sheet(&sheet)).unwrap();
        let text: String = document.sections.iter().map(|section| &*section.text).collect();
        assert!(text.contains("| Name | Yamada |\n") && text.contains("| Age | 41 |"), "{text}");
    }
}
