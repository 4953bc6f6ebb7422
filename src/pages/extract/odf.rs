//! Documents of LibreOffice and its like (OpenDocument): texts, sheets and presentations, encrypted ones named.

use std::{collections::HashSet, ops::Range};

use super::{
    Document, Unreadable,
    outline::Outline,
    package::{self, Package, Properties},
    sheet::{FIRST_ROWS, MAX_ROWS, Sheet},
    table, text,
    xml::{Element, Node},
};

/// A cell or row that says it is repeated more often is empty, or means the rest of the sheet.
const MAX_REPEATED: usize = 1_000;

/// Reads an OpenDocument file.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>) -> Result<Document, Unreadable> {
    let manifest = package.xml("META-INF/manifest.xml")?;
    if manifest.is_some_and(|manifest| manifest.root.find("encryption-data").is_some()) {
        return Err(package::encrypted());
    }
    let properties = package.xml("meta.xml")?;
    let properties = properties
        .map(|tree| Properties::of(&tree.root, &["date", "creation-date"], &["initial-creator", "creator"]))
        .unwrap_or_default();
    let tree = package.required("content.xml")?;
    let body = tree.root.child("body").ok_or_else(package::damaged)?;
    let mut reader = Reader {
        outline: match body.child("text") {
            Some(_) => Outline::of_text(properties.title.as_deref()),
            None => Outline::of_parts(properties.title.as_deref()),
        },
        raised: raised_styles(&tree.root),
        notes: Vec::new(),
        missing: None,
    };
    for content in body.elements() {
        match &*content.name {
            "spreadsheet" => content.each("table", &mut |sheet| reader.sheet(sheet)),
            "presentation" | "drawing" => {
                for (number, page) in (1..).zip(content.elements().filter(|page| &*page.name == "page")) {
                    reader.slide(number, page);
                }
            }
            _ => reader.blocks(content, 0),
        }
    }
    let (missing, has_records) = (reader.missing.take(), body.child("spreadsheet").is_some());
    Ok(Document { missing, has_records, ..properties.of_document(reader.outline.finish()) })
}

/// Returns the names of styles that raise what is written in them.
fn raised_styles(root: &Element) -> HashSet<String> {
    let mut names = HashSet::new();
    root.each("style", &mut |style| {
        let position = style.child("text-properties").and_then(|properties| properties.attribute("text-position"));
        if position.is_some_and(|position| position.starts_with("super")) {
            names.extend(style.attribute("name").map(str::to_owned));
        }
    });
    names
}

struct Reader {
    outline: Outline,
    raised: HashSet<String>,
    /// Notes of the present block.
    notes: Vec<String>,
    missing: Option<String>,
}

impl Reader {
    fn blocks(&mut self, parent: &Element, depth: usize) {
        for element in parent.elements() {
            match &*element.name {
                "h" => {
                    let level =
                        element.attribute("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1).min(10);
                    let text = self.text(element);
                    self.outline.heading(level, &text);
                }
                "p" if depth > 0 => {
                    let text = self.text(element);
                    self.outline.item(depth - 1, &text);
                }
                "p" => {
                    let text = self.text(element);
                    self.outline.block(&text);
                }
                "list" => self.blocks(element, depth + 1),
                "table" => {
                    let rows = self.rows(element);
                    self.outline.block(&table::markdown(rows));
                }
                "tracked-changes" | "annotation" | "forms" | "sequence-decls" => {}
                _ => self.blocks(element, depth),
            }
            for note in std::mem::take(&mut self.notes) {
                self.outline.block(&note);
            }
        }
    }

    /// Returns the text of a paragraph; its notes follow the block that it belongs to.
    fn text(&mut self, element: &Element) -> String {
        let mut text = String::new();
        self.say(element, &mut text);
        text
    }

    fn say(&mut self, element: &Element, text: &mut String) {
        for node in &element.children {
            match node {
                Node::Text(piece) => text.push_str(&piece.replace(['\n', '\r', '\t'], " ")),
                Node::Element(child) => self.say_child(child, text),
            }
        }
    }

    fn say_child(&mut self, child: &Element, text: &mut String) {
        match &*child.name {
            "s" => text.push(' '),
            "tab" => text.push(' '),
            "line-break" => text.push('\n'),
            // The last one is how the word before it is read.
            "annotation" | "tracked-changes" | "ruby-text" => {}
            "note" => {
                let note = child.child("note-body").map(|body| self.text(body)).unwrap_or_default();
                self.notes.push(note);
            }
            "p" | "h" => {
                if !text.is_empty() {
                    text.push(' ');
                }
                self.say(child, text);
            }
            "span" if child.attribute("style-name").is_some_and(|name| self.raised.contains(name)) => {
                let said = self.text(child);
                text.push_str(&text::with_raised(&said));
            }
            _ => self.say(child, text),
        }
    }

    fn rows(&mut self, table: &Element) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        table.each("table-row", &mut |row| {
            let (mut cells, mut spanned) = (Vec::new(), 0_usize);
            for cell in row.elements().filter(|cell| is_cell(cell)) {
                let times = repeated(cell, "number-columns-repeated").min(MAX_REPEATED);
                if &*cell.name == "covered-table-cell" {
                    for _ in 0..times {
                        cells.push(covered(&cells, rows.last(), spanned > 0));
                        spanned = spanned.saturating_sub(1);
                    }
                } else {
                    cells.extend(std::iter::repeat_n(self.text(cell), times));
                    spanned = repeated(cell, "number-columns-spanned") - 1;
                }
            }
            rows.push(cells);
        });
        rows
    }

    fn sheet(&mut self, element: &Element) {
        let name = element.attribute("name").unwrap_or("Sheet").to_owned();
        let mut sheet = Sheet::new(super::MAX_TEXT_BYTES);
        let hidden = hidden_columns(element);
        let (mut number, mut is_full) = (0_usize, false);
        element.each("table-row", &mut |row| {
            // What is below it follows what is above.
            if is_hidden(row) {
                return;
            }
            let times = repeated(row, "number-rows-repeated");
            let is_long = times > MAX_REPEATED;
            for at in 0..if is_long { 1 } else { times } {
                let number = number.saturating_add(at);
                is_full |= number > 4 * MAX_ROWS || (!is_full && !self.sheet_row(&mut sheet, number, row, &hidden));
            }
            number = number.saturating_add(times);
        });
        let (text, left_out) = sheet.finish();
        self.missing = left_out.or_else(|| is_full.then(|| FIRST_ROWS.to_owned())).or(self.missing.take());
        self.outline.heading(2, &name);
        self.outline.block(&text);
    }

    /// Adds a row of the table to the sheet; false when the sheet is full.
    fn sheet_row(&mut self, sheet: &mut Sheet, number: usize, row: &Element, hidden: &[Range<usize>]) -> bool {
        let mut column = 0_usize;
        for cell in row.elements().filter(|cell| is_cell(cell)) {
            let times = repeated(cell, "number-columns-repeated");
            let text = self.text(cell);
            let text =
                if text.trim().is_empty() { cell.attribute("value").unwrap_or_default().to_owned() } else { text };
            for at in 0..if text.is_empty() { 0 } else { times.min(MAX_REPEATED) } {
                let column = column.saturating_add(at);
                let is_hidden = hidden[hidden.partition_point(|columns| columns.end <= column)..]
                    .first()
                    .is_some_and(|columns| columns.start <= column);
                if !is_hidden && !sheet.put(number, column, text.clone()) {
                    return false;
                }
            }
            column = column.saturating_add(times);
        }
        true
    }

    fn slide(&mut self, number: usize, page: &Element) {
        let is_title = |frame: &&Element| frame.attribute("class").is_some_and(|class| class == "title");
        let title =
            page.elements().find(is_title).map(|frame| self.text(frame)).filter(|title| !title.trim().is_empty());
        let name = match &title {
            Some(title) => format!("Slide {number}: {title}"),
            None => format!("Slide {number}"),
        };
        self.outline.heading(2, &name);
        for element in page.elements().filter(|element| !is_title(element)) {
            self.outline.line("");
            self.blocks(element, 0);
        }
        if title.is_some() {
            self.outline.block_if_bare(&name);
        }
    }
}

/// Returns the columns of a sheet that it does not show, in their order.
fn hidden_columns(sheet: &Element) -> Vec<Range<usize>> {
    let (mut hidden, mut at) = (Vec::new(), 0_usize);
    sheet.each("table-column", &mut |columns| {
        let end = at.saturating_add(repeated(columns, "number-columns-repeated"));
        if is_hidden(columns) {
            hidden.push(at..end);
        }
        at = end;
    });
    hidden
}

/// Returns whether a row or column is hidden, not only left out by a filter.
fn is_hidden(element: &Element) -> bool {
    element.attribute("visibility") == Some("collapse")
}

fn is_cell(cell: &Element) -> bool {
    matches!(&*cell.name, "table-cell" | "covered-table-cell")
}

/// Returns what a covered cell says once more: what is to its left, if that spans so many columns, else what is above.
fn covered(row: &[String], above: Option<&Vec<String>>, is_spanned: bool) -> String {
    let above = above.and_then(|above| above.get(row.len())).filter(|_| !is_spanned);
    above.or(row.last()).cloned().unwrap_or_default()
}

fn repeated(element: &Element, name: &str) -> usize {
    element.attribute(name).and_then(|times| times.parse().ok()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::{super::xml, *};
    use crate::domain::growth;

    fn reader() -> Reader {
        Reader { outline: Outline::of_text(None), raised: HashSet::new(), notes: Vec::new(), missing: None }
    }

    #[test]
    fn a_note_follows_the_paragraph_that_it_belongs_to() {
        let note = "<note><note-citation>1</note-citation><note-body><p>As audited.</p></note-body></note>";
        let ruby = "<ruby><ruby-base>港</ruby-base><ruby-text>みなと</ruby-text></ruby>";
        let source =
            format!("<text><p>It costs 5{note} {ruby}.</p><h outline-level='1'>Dues</h><p>Four crowns.</p></text>");
        let mut reader = reader();
        reader.blocks(&xml::parse(&source).unwrap().root, 0);
        let sections = reader.outline.finish().sections;
        assert_eq!(sections[0].text, "It costs 5 港.\n\nAs audited.");
    }

    #[test]
    fn a_slide_with_nothing_but_a_title_says_it() {
        let slide = |frames: &str| {
            let mut reader = Reader { outline: Outline::of_parts(None), ..reader() };
            reader.slide(1, &xml::parse(&format!("<page>{frames}</page>")).unwrap().root);
            reader.outline.finish().sections.into_iter().map(|section| section.text).collect::<Vec<_>>()
        };
        let title = "<frame class='title'><text-box><p>Revenue grew 14%</p></text-box></frame>";
        assert_eq!(slide(title), ["Slide 1: Revenue grew 14%"]);
        assert_eq!(slide(&format!("{title}<frame><text-box><p>In 2024.</p></text-box></frame>")), ["In 2024."]);
        assert_eq!(slide("<frame/>"), [""; 0]);
    }

    #[test]
    fn hidden_rows_and_columns_are_not_read() {
        let columns = "<table-column/><table-column visibility='collapse' number-columns-repeated='2'/><table-column/>";
        let row = |shown: &str, cells: [&str; 4]| {
            let cells = cells.map(|cell| format!("<table-cell><p>{cell}</p></table-cell>")).concat();
            format!("<table-row {shown}>{cells}</table-row>")
        };
        let rows = row("", ["Boat", "Cost", "Margin", "Fare"])
            + &row("visibility='collapse'", ["Raft", "1", "2", "3"])
            + &row("visibility='filter'", ["Barge", "4", "5", "6"]);
        let tree = xml::parse(&format!("<table name='Dues'>{columns}{rows}</table>")).unwrap();
        let mut reader = reader();
        reader.sheet(&tree.root);
        let document = reader.outline.finish();
        assert_eq!(document.sections[0].text, "| Boat | Fare |\n| --- | --- |\n| Barge | 6 |");
    }

    fn text_of_sheet(inside: &str) -> String {
        let mut reader = reader();
        reader.sheet(&xml::parse(&format!("<table name='Dues'>{inside}</table>")).unwrap().root);
        reader.outline.finish().sections.into_iter().map(|section| section.text).collect()
    }

    #[test]
    fn cells_beyond_all_numbers_are_no_panic() {
        let far = format!("repeated='{}'", usize::MAX);
        let cell = |text: &str| format!("<table-cell number-columns-repeated='3'><p>{text}</p></table-cell>");
        let first = format!("<table-row><table-cell number-columns-{far}/>{}</table-row>", cell("7"));
        let rows = format!(
            "<table-row number-rows-{far}>{0}</table-row><table-row number-rows-repeated='3'>{0}</table-row>",
            cell("8")
        );
        assert!(text_of_sheet(&(first + &rows)).contains("| 8 | 8 | 8 |"));
    }

    #[test]
    fn a_sheet_may_hide_as_many_columns_as_it_has_cells() {
        growth::check("x", 4_000, |text| {
            let columns = "<table-column visibility='collapse'/><table-column/>".repeat(text.len());
            let cells = "<table-cell/><table-cell><p>7</p></table-cell>".repeat(text.len());
            drop(text_of_sheet(&format!("{columns}<table-row>{cells}</table-row>")));
        });
    }

    #[test]
    fn merged_cells_are_said_in_each_row_and_column() {
        let cell = |spans: &str, text: &str| format!("<table-cell {spans}><p>{text}</p></table-cell>");
        let rows = [
            cell("", "Boat") + &cell("", "Zone") + &cell("", "Fare"),
            cell("", "Barge") + &cell("number-rows-spanned='2'", "North") + &cell("", "4"),
            cell("", "Ferry") + "<covered-table-cell/>" + &cell("", "5"),
            cell("number-columns-spanned='2' number-rows-spanned='2'", "Raft")
                + "<covered-table-cell/>"
                + &cell("", "6"),
            "<covered-table-cell number-columns-repeated='2'/>".to_owned() + &cell("", "7"),
        ];
        let rows = rows.map(|row| format!("<table-row>{row}</table-row>")).concat();
        let tree = xml::parse(&format!("<table>{rows}</table>")).unwrap();
        let mut reader = reader();
        let said = [
            ["Boat", "Zone", "Fare"],
            ["Barge", "North", "4"],
            ["Ferry", "North", "5"],
            ["Raft", "Raft", "6"],
            ["Raft", "Raft", "7"],
        ];
        assert_eq!(reader.rows(&tree.root), said);
    }
}
