//! What the XML of an Excel sheet says of its cells beside their values: how they are shown, whether they are hidden,
//! and whether the result of a formula is stored. The library that reads the values does not say.

use std::collections::BTreeMap;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::number_format::{Format, Style, Styles};

/// The row and column of a cell, from 0.
pub(super) type Place = (u32, u32);

/// Names that stand in a sheet of which a filter may hide rows; those are there for anyone who asks for them.
const FILTERS: [&str; 3] = ["filterColumn", "filterMode", "tablePart"];

/// What is said of a cell.
#[derive(Debug)]
pub(super) struct About<'a> {
    pub at: Place,
    style: Option<&'a Style>,
    is_hidden: bool,
    /// It has a formula that was never computed.
    pub lacks_result: bool,
}

impl<'a> About<'a> {
    /// Returns whether the sheet shows the cell, and not struck out.
    pub fn is_shown(&self) -> bool {
        !self.is_hidden && !self.is_struck()
    }

    pub fn is_struck(&self) -> bool {
        self.style.is_some_and(|style| style.is_struck)
    }

    pub fn format(&self) -> Option<&'a Format> {
        self.style?.format.as_ref()
    }
}

/// The cells of a sheet, in its order.
pub(super) struct Cells<'a> {
    reader: Reader<&'a [u8]>,
    styles: &'a Styles,
    is_filtered: bool,
    /// The last columns of those that stand together, by their first ones; a sheet may have as many as cells.
    hidden_columns: BTreeMap<u32, u32>,
    is_row_hidden: bool,
    /// Where a cell stands that does not say so.
    next: Place,
}

impl<'a> Cells<'a> {
    pub fn new(sheet: &'a str, styles: &'a Styles) -> Self {
        Self {
            reader: Reader::from_str(sheet),
            styles,
            is_filtered: FILTERS.iter().any(|name| sheet.contains(name)),
            hidden_columns: BTreeMap::new(),
            is_row_hidden: false,
            next: (0, 0),
        }
    }

    fn column(&mut self, tag: &BytesStart<'_>) {
        if let Some((min, max)) = number(tag, "min").zip(number(tag, "max")).filter(|_| is_hidden(tag)) {
            let end = self.hidden_columns.entry(min).or_insert(max);
            *end = max.max(*end);
        }
    }

    fn row(&mut self, tag: &BytesStart<'_>) {
        let after = self.next.0 + u32::from(self.next.1 > 0);
        self.next = (number(tag, "r").map_or(after, |row| row.saturating_sub(1)), 0);
        self.is_row_hidden = is_hidden(tag) && !self.is_filtered;
    }

    fn cell(&mut self, tag: &BytesStart<'_>) -> About<'a> {
        let at = position(tag).unwrap_or(self.next);
        self.next = (at.0, at.1.saturating_add(1));
        // Counted from 1, so that the number of the column is that of the next one.
        let hidden = self.hidden_columns.range(..=self.next.1).next_back();
        About {
            at,
            style: number(tag, "s").and_then(|style| self.styles.get(style)),
            is_hidden: self.is_row_hidden || hidden.is_some_and(|(_, max)| self.next.1 <= *max),
            lacks_result: false,
        }
    }

    /// Reads what is in a cell, to its end, for a formula without a result. An empty text is one.
    fn lacks_result(&mut self, tag: &BytesStart<'_>) -> Option<bool> {
        let (mut has_formula, mut is_in_formula) = (false, false);
        let mut has_value = attribute(tag, "t").is_some_and(|kind| kind == "str");
        loop {
            match self.reader.read_event().ok()? {
                Event::Start(tag) if tag.local_name().as_ref() == "f" => (has_formula, is_in_formula) = (true, true),
                Event::Empty(tag) => has_formula |= tag.local_name().as_ref() == "f",
                Event::Text(text) => has_value |= !is_in_formula && !text.trim().is_empty(),
                Event::End(tag) => match tag.local_name().as_ref() {
                    "f" => is_in_formula = false,
                    "c" => return Some(has_formula && !has_value),
                    _ => {}
                },
                Event::Eof => return None,
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = About<'a>;

    fn next(&mut self) -> Option<About<'a>> {
        loop {
            let event = self.reader.read_event().ok()?;
            let (Event::Start(tag) | Event::Empty(tag)) = &event else {
                match event {
                    Event::Eof => return None,
                    _ => continue,
                }
            };
            match tag.local_name().as_ref() {
                "col" => self.column(tag),
                "row" => self.row(tag),
                "c" => {
                    let about = self.cell(tag);
                    let lacks_result = matches!(event, Event::Start(_)) && self.lacks_result(tag)?;
                    return Some(About { lacks_result, ..about });
                }
                _ => {}
            }
        }
    }
}

/// Returns whether a row or column is hidden. What is folded into a group is there to be unfolded.
fn is_hidden(tag: &BytesStart<'_>) -> bool {
    let is_set = attribute(tag, "hidden").is_some_and(|value| value == "1" || value == "true");
    is_set && number(tag, "outlineLevel").unwrap_or(0) == 0
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    Some(tag.try_get_attribute(name).ok()??.value.to_string())
}

fn number(tag: &BytesStart<'_>, name: &str) -> Option<u32> {
    tag.try_get_attribute(name).ok()??.value.parse().ok()
}

/// Returns the row and column, from 0, that a cell says it has: `B3` is (2, 1).
fn position(tag: &BytesStart<'_>) -> Option<Place> {
    let attribute = tag.try_get_attribute("r").ok()??;
    let name = &*attribute.value;
    let (letters, digits) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
    let value = |letter: u8| letter.is_ascii_uppercase().then(|| u32::from(letter - b'A') + 1);
    let column = letters.bytes().try_fold(0_u32, |sum, letter| sum.checked_mul(26)?.checked_add(value(letter)?))?;
    Some((digits.parse::<u32>().ok()?.checked_sub(1)?, column.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn places(sheet: &str, says: impl Fn(&About<'_>) -> bool) -> Vec<Place> {
        Cells::new(sheet, &Styles::default()).filter(|about| says(about)).map(|about| about.at).collect()
    }

    #[test]
    fn cells_are_found_with_and_without_their_names() {
        let rows = r#"<x:row r="3"><c r="B3"/><c><v>1</v></c><c r="AA3"/></x:row><row><c/><c/></row><c r="?7"/>"#;
        let all = |sheet: &str| places(sheet, |_| true);
        let expected = [(2, 1), (2, 2), (2, 26), (3, 0), (3, 1), (3, 2)];
        assert_eq!(all(&format!("<sheetData>{rows}</sheetData>")), expected);
        assert_eq!(all("<a").len() + all("<c r='A0' s='1'/></b>").len(), 1);
    }

    #[test]
    fn hidden_rows_and_columns_are_known() {
        let columns =
            r#"<cols><col min="2" max="3" hidden="1"/><col min="4" max="4" hidden="1" outlineLevel="1"/></cols>"#;
        let rows =
            r#"<row><c/><c/><c/><c/></row><row hidden="1"><c/></row><row hidden="1" outlineLevel="1"><c/></row>"#;
        let hidden = |sheet: &str| places(sheet, |about| !about.is_shown());
        assert_eq!(hidden(&format!("{columns}{rows}")), [(0, 1), (0, 2), (1, 0)]);
        assert_eq!(hidden(&format!("{columns}{rows}<filterColumn colId=\"0\"/>")), [(0, 1), (0, 2)]);
    }

    #[test]
    fn a_sheet_may_hide_as_many_columns_as_it_has_cells() {
        growth::check("x", 4_000, |text| {
            let hidden = |at: usize| format!("<col min='{at}' max='{at}' hidden='1'/>");
            let columns: String = (1_000..1_000 + text.len()).map(hidden).collect();
            assert!(places(&(columns + &"<row><c/></row>".repeat(text.len())), |about| !about.is_shown()).is_empty());
        });
        let columns = "<col min='2' max='4' hidden='1'/><col min='2' max='3' hidden='1'/>";
        let row = format!("{columns}<row>{}</row>", "<c/>".repeat(5));
        assert_eq!(places(&row, |about| !about.is_shown()), [(0, 1), (0, 2), (0, 3)]);
    }

    #[test]
    fn formulas_without_a_result_are_known() {
        let computed =
            "<c><f>1+1</f><v>2</v></c><c t='str'><f>A1</f><v></v></c><c><v>5</v></c><c><is><t>x</t></is></c>";
        let others = "<c><f>1+1</f><v></v></c><c><f>1+1</f><v/></c><c><f t='shared' si='0'/></c>";
        let lacking = places(&format!("<row>{computed}{others}</row>"), |about| about.lacks_result);
        assert_eq!(lacking, [(0, 4), (0, 5), (0, 6)]);
    }
}
