//! How a workbook of Excel shows its numbers: as shares, in thousands, with a currency or a unit. The library that
//! reads the cells knows dates only.

use std::{collections::HashMap, iter::from_fn, str::Chars};

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    Unreadable,
    package::Package,
    xml::{self, Element},
};

/// Characters of a format, of which Excel takes no more; and of a text beside a number: a longer one is a remark.
const LONGEST_CODE: usize = 255;
const LONGEST_UNIT: usize = 24;
/// Formats that are not written out, by their numbers.
const BUILT_IN: [(&str, &str); 2] = [("9", "0%"), ("10", "0.00%")];

/// What is shown of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    before: String,
    after: String,
    /// The power of ten by which the number is multiplied.
    power: i32,
}

impl Format {
    /// Reads the code of a format; `None` when it shows plain numbers, or decides by the number.
    fn read(code: &str) -> Option<Self> {
        if code.chars().nth(LONGEST_CODE).is_some() {
            return None;
        }
        let code = code.replace("General", "0");
        let mut rest = code.chars();
        let format = Self::section(&mut rest)?;
        // What is said of a negative number.
        let other = Self::section(&mut rest);
        let is_another = other.is_some_and(|other| other.words() != format.words());
        (!is_another).then_some(format)
    }

    /// Returns the texts beside the number without signs and brackets.
    fn words(&self) -> [&str; 2] {
        [&*self.before, &*self.after].map(|text| text.trim_matches(['-', '−', '(', ')', ' ']))
    }

    /// Reads one of the sections between semicolons.
    fn section(rest: &mut Chars<'_>) -> Option<Self> {
        let (mut format, mut has_digits, mut commas) = (Self::default(), false, 0);
        while let Some(character) = rest.next() {
            let text = match character {
                ';' => break,
                // Commas that end the whole part divide.
                '.' => {
                    format.power -= 3 * std::mem::take(&mut commas);
                    continue;
                }
                '0' | '#' | '?' => {
                    (has_digits, commas) = (true, 0);
                    format.after.clear();
                    continue;
                }
                ',' => {
                    commas += i32::from(has_digits);
                    continue;
                }
                '[' => bracket(&rest.by_ref().take_while(|&next| next != ']').collect::<String>())?,
                '"' => rest.by_ref().take_while(|&next| next != '"').collect(),
                '\\' => rest.next().into_iter().collect(),
                '_' | '*' => rest.next().map(|_| " ".to_owned()).unwrap_or_default(),
                '%' => {
                    format.power += 2;
                    "%".to_owned()
                }
                ' ' => " ".to_owned(),
                other if is_currency(other) => other.to_string(),
                _ => String::new(),
            };
            if has_digits { &mut format.after } else { &mut format.before }.push_str(&text);
        }
        format.power -= 3 * commas;
        let Self { before, after, power } = format;
        let (before, after) = (unit(before.trim_start()), unit(after.trim_end()));
        let says_something = power != 0 || !before.is_empty() || !after.is_empty();
        (has_digits && says_something).then_some(Self { before, after, power })
    }

    /// Returns the number as it is shown, with all of its digits.
    pub fn shown(&self, number: f64) -> String {
        let digits = super::xlsx::shown(number * 10f64.powi(self.power));
        let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |digits| ("-", digits));
        format!("{sign}{}{digits}{}", self.before, self.after)
    }
}

/// Returns what a bracket shows: `[$€-407]` a currency, `[Red]` nothing; `None` for a condition.
fn bracket(inside: &str) -> Option<String> {
    if inside.starts_with(['<', '>', '=']) {
        return None;
    }
    let currency = inside.strip_prefix('$').unwrap_or_default();
    Some(currency.split('-').next().unwrap_or_default().to_owned())
}

fn is_currency(character: char) -> bool {
    matches!(character, '$' | '€' | '£' | '¥')
}

/// Returns the text beside a number when it says what the number is.
fn unit(text: &str) -> String {
    let says =
        |c: char| c.is_alphabetic() || "%‰°".contains(c) || is_currency(c) || ('\u{20A0}'..'\u{20D0}').contains(&c);
    let is_unit = text.contains(says) && text.chars().count() <= LONGEST_UNIT;
    if is_unit { text.to_owned() } else { String::new() }
}

/// The formats of a workbook's cells.
pub(super) struct Formats {
    /// By the number of a cell's style.
    of_styles: Vec<Option<Format>>,
    /// The part of each sheet, by its name.
    parts: HashMap<String, String>,
}

impl Formats {
    /// Reads the formats of a workbook; `main` is its main part.
    ///
    /// # Errors
    /// [`Unreadable`]: damaged, or too much.
    pub fn read(package: &mut Package<'_>, main: &str) -> Result<Self, Unreadable> {
        let relations = package.relations(main)?;
        let styles = relations.values().find(|relation| relation.kind == "styles");
        let of_styles = match styles.map(|styles| package.xml(&styles.target)).transpose()?.flatten() {
            Some(tree) => of_styles(&tree.root),
            None => Vec::new(),
        };
        if of_styles.iter().all(Option::is_none) {
            return Ok(Self { of_styles, parts: HashMap::new() });
        }
        let mut parts = HashMap::new();
        let book = package.required(main)?;
        for sheet in book.root.child("sheets").into_iter().flat_map(Element::elements) {
            let part = sheet.attribute("id").and_then(|id| relations.get(id));
            if let (Some(name), Some(part)) = (sheet.attribute("name"), part) {
                parts.insert(name.to_owned(), part.target.clone());
            }
        }
        Ok(Self { of_styles, parts })
    }

    /// Returns the XML of a sheet in which numbers may have a format; too large a one is read without them.
    pub fn sheet(&self, package: &mut Package<'_>, name: &str) -> Option<String> {
        let bytes = package.optional(self.parts.get(name)?).ok()??;
        xml::decode(&bytes).ok()
    }

    /// Returns each cell that has a format, by row and column from 0, in the order of the sheet.
    pub fn of_cells<'a>(&'a self, sheet: &'a str) -> impl Iterator<Item = ((u32, u32), &'a Format)> {
        let (mut reader, mut next) = (Reader::from_str(sheet), (0, 0));
        let styles = from_fn(move || {
            loop {
                match reader.read_event().ok()? {
                    Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                        "row" => {
                            next = (
                                number(&tag, "r").map_or(next.0 + u32::from(next.1 > 0), |row| row.saturating_sub(1)),
                                0,
                            )
                        }
                        "c" => {
                            let at = position(&tag).unwrap_or(next);
                            next = (at.0, at.1.saturating_add(1));
                            return Some((at, number(&tag, "s")));
                        }
                        _ => {}
                    },
                    Event::Eof => return None,
                    _ => {}
                }
            }
        });
        styles.filter_map(|(at, style)| Some((at, self.of_styles.get(style? as usize)?.as_ref()?)))
    }
}

/// Reads the formats of a part with styles.
fn of_styles(root: &Element) -> Vec<Option<Format>> {
    let elements = |name: &str| root.child(name).into_iter().flat_map(Element::elements);
    let written =
        |code: &Element| Some((code.attribute("numFmtId")?.to_owned(), code.attribute("formatCode")?.to_owned()));
    let written: HashMap<String, String> = elements("numFmts").filter_map(written).collect();
    let code = |id: &str| match written.get(id) {
        Some(code) => Some(&**code),
        None => BUILT_IN.iter().find(|(built_in, _)| *built_in == id).map(|(_, code)| *code),
    };
    elements("cellXfs").map(|style| Format::read(code(style.attribute("numFmtId")?)?)).collect()
}

fn number(tag: &BytesStart<'_>, name: &str) -> Option<u32> {
    let attribute = tag.try_get_attribute(name).ok()??;
    attribute.value.parse().ok()
}

/// Returns the row and column, from 0, that a cell says it has: `B3` is (2, 1).
fn position(tag: &BytesStart<'_>) -> Option<(u32, u32)> {
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

    fn check(code: &str, number: f64, expected: &str) {
        assert_eq!(Format::read(code).map(|format| format.shown(number)).as_deref(), Some(expected), "{code}");
    }

    #[test]
    fn a_number_has_what_its_format_shows_beside_it() {
        check("0%", 0.125, "12.5%");
        check("0.00%;[Red]-0.00%", -0.07, "-7%");
        check("0.0\\ %", 0.285, "28.5 %");
        check("#,##0.00\\ [$€-407]", 1234.5, "1234.5 €");
        check("[$€-2]\\ #,##0", -12.0, "-€ 12");
        check("\"$\"#,##0_);[Red](\"$\"#,##0)", 5.0, "$5");
        check("_-£* #,##0.00_-", 7.25, "£ 7.25");
        check("0.0,,\" Mio. kr\"", 12_300_000.0, "12.3 Mio. kr");
        check("#,##0,", 4_100_000.0, "4100");
        check("#,##0,.0\"K\"", 4_100.0, "4.1K");
        check("#,##0.00\" kr\";-#,##0.00\" kr\"", -5.5, "-5.5 kr");
        check("General\" km\"", 41.5, "41.5 km");
        check("0.0\"°C\"", -3.5, "-3.5°C");
        check("\"Week \"0", 7.0, "Week 7");
    }

    #[test]
    fn plain_numbers_stay() {
        for code in ["General", "0.00", "#,##0", "@", "0.00E+00", "# ?/?", "_(* #,##0_)", "[Red]0", "\\(0\\)", "\"a\""]
        {
            assert_eq!(Format::read(code), None, "{code}");
        }
        for code in ["[<1]0%;0", "0\" Dr\";0\" Cr\"", "0.0\"°N\";0.0\"°S\"", "\"Profit \"0;\"Loss \"0"] {
            assert_eq!(Format::read(code), None, "{code} decides by the number");
        }
        assert_eq!(Format::read(&format!("0%{}", "0".repeat(300))), None, "too long for any");
        assert_eq!(Format::read("0\" (as counted by the keepers of the gate)\""), None, "a remark");
    }

    #[test]
    fn cells_are_found_with_and_without_their_names() {
        let formats = Formats { of_styles: vec![None, Format::read("0%")], parts: HashMap::new() };
        let rows = r#"<x:row r="3"><c r="B3" s="1"/><c s="1"><v>1</v></c><c r="AA3"/></x:row><row><c/><c s="1"/></row><c r="?7" s="9"/>"#;
        let sheet = format!("<sheetData>{rows}</sheetData>");
        let places: Vec<_> = formats.of_cells(&sheet).map(|(at, _)| at).collect();
        assert_eq!(places, [(2, 1), (2, 2), (3, 1)]);
        assert_eq!(formats.of_cells("<a").count() + formats.of_cells("<c r='A0' s='1'/></b>").count(), 1);
    }
}
