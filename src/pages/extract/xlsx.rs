//! Workbooks of Excel (Office Open XML), sheet by sheet, row by row: `sheet.rs` makes text of the rows.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader as _, SheetVisible, Xlsx, XlsxError};

use super::{
    super::caught,
    Document, Unreadable,
    number_format::{Format, Formats},
    outline::Outline,
    package::{self, Package},
    sheet::Sheet,
};

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
    let formats = Formats::read(package, main)?;
    let mut outline = Outline::of_parts(properties.title.as_deref());
    let sheets = workbook.sheets_metadata().to_vec();
    let (hidden, shown): (Vec<_>, Vec<_>) =
        sheets.into_iter().partition(|sheet| sheet.visible != SheetVisible::Visible);
    let mut missing = (!hidden.is_empty()).then(|| format!("{} hidden sheets are not searched", hidden.len()));
    let mut room = super::MAX_TEXT_BYTES;
    for name in shown.iter().map(|sheet| &sheet.name) {
        let xml = formats.sheet(package, name).unwrap_or_default();
        let formats = formats.of_cells(&xml);
        // The library counts columns without a bound, and panics where arithmetic is checked.
        let sheet = caught::catch(|| sheet(&mut workbook, name, formats, room)).ok_or_else(package::damaged)?;
        let Some((text, left_out)) = sheet? else { continue };
        missing = left_out.or(missing);
        outline.heading(2, name);
        room = room.saturating_sub(text.len());
        outline.block(&text);
    }
    Ok(Document { missing, ..properties.of_document(outline.finish()) })
}

/// The text of a sheet, and what is missing of it.
type Text = (String, Option<String>);

/// Reads a sheet; `None` for one that is a chart.
fn sheet<'a>(
    workbook: &mut Xlsx<Cursor<&[u8]>>,
    name: &str,
    formats: impl Iterator<Item = ((u32, u32), &'a Format)>,
    room: usize,
) -> Result<Option<Text>, Unreadable> {
    let mut cells = match workbook.worksheet_cells_reader(name) {
        Ok(cells) => cells,
        Err(XlsxError::NotAWorksheet(_)) => return Ok(None),
        Err(_) => return Err(package::damaged()),
    };
    let (mut sheet, mut formats) = (Sheet::new(room), formats.peekable());
    while let Some(cell) = cells.next_cell().map_err(|_| package::damaged())? {
        let at @ (row, column) = cell.get_position();
        while formats.next_if(|(place, _)| *place < at).is_some() {}
        let format = formats.next_if(|(place, _)| *place == at).map(|(_, format)| format);
        let Some(text) = text_of(cell.get_value(), format) else { continue };
        if !sheet.put(row as usize, column as usize, text) {
            break;
        }
    }
    Ok(Some(sheet.finish()))
}

#[expect(clippy::cast_precision_loss, reason = "cells hold floating-point numbers")]
fn text_of(value: &DataRef<'_>, format: Option<&Format>) -> Option<String> {
    match value {
        DataRef::Int(number) => Some(format.map_or_else(|| number.to_string(), |format| format.shown(*number as f64))),
        DataRef::Float(number) => Some(format.map_or_else(|| shown(*number), |format| format.shown(*number))),
        DataRef::String(text) => Some(text.clone()),
        DataRef::SharedString(text) => Some((*text).to_owned()),
        DataRef::Bool(value) => Some(value.to_string()),
        DataRef::DateTime(time) => Some(time_of(time)),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Some(text.clone()),
        DataRef::Error(_) | DataRef::Empty => None,
    }
}

/// Returns a number with the 15 digits that such programs show at most.
pub(super) fn shown(number: f64) -> String {
    let plain = number.to_string();
    if plain.len() <= 15 || !number.is_finite() {
        return plain;
    }
    let rounded: Option<f64> = format!("{number:.14e}").parse().ok();
    rounded.map_or(plain, |rounded| rounded.to_string())
}

fn time_of(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        let minutes = (time.as_f64() * 24.0 * 60.0).round();
        return format!("{}:{:02}", (minutes / 60.0).trunc(), (minutes % 60.0).abs());
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

    use super::*;

    /// Returns `mill.xlsx` with other XML for its first sheet.
    fn with_sheet(xml: &str) -> Vec<u8> {
        let mut archive = ZipArchive::new(Cursor::new(include_bytes!("../../../tests/formats/mill.xlsx"))).unwrap();
        let mut changed = ZipWriter::new(Cursor::new(Vec::new()));
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for place in 0..archive.len() {
            let mut file = archive.by_index(place).unwrap();
            let name = file.name().unwrap().into_owned();
            let mut own = Vec::new();
            file.read_to_end(&mut own).unwrap();
            changed.start_file(&*name, stored).unwrap();
            changed.write_all(if name.ends_with("worksheets/sheet1.xml") { xml.as_bytes() } else { &own }).unwrap();
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
    fn numbers_read_as_they_are_shown() {
        assert_eq!(shown(0.1 + 0.2), "0.3");
        assert_eq!(shown(4100.0), "4100");
        assert_eq!(shown(1.0 / 3.0), "0.333333333333333");
        assert_eq!(shown(-2.5), "-2.5");
    }
}
