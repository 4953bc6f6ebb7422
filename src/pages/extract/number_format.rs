//! How a workbook of Excel shows its numbers: as shares, in thousands, with a currency or a unit; and what it strikes
//! out. The library that reads the cells knows dates only.

use std::{collections::HashMap, str::Chars};

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
    /// Digits before the point that are shown at least.
    digits: usize,
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
        let (mut format, mut has_digits, mut commas, mut is_whole) = (Self::default(), false, 0, true);
        while let Some(character) = rest.next() {
            is_whole &= !matches!(character, '.' | 'E' | 'e' | '/');
            format.digits += usize::from(is_whole && character == '0');
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
        let Self { before, after, power, digits } = format;
        let (before, after) = (unit(before.trim_start()), unit(after.trim_end()));
        let says_something = power != 0 || digits > 1 || !before.is_empty() || !after.is_empty();
        (has_digits && says_something).then_some(Self { before, after, power, digits })
    }

    /// Returns the number as it is shown, with all of its digits.
    pub fn shown(&self, number: f64) -> String {
        let digits = plain(number * 10f64.powi(self.power));
        let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |digits| ("-", digits));
        let whole = digits.find('.').unwrap_or(digits.len());
        let zeros = "0".repeat(self.digits.saturating_sub(whole));
        format!("{sign}{}{zeros}{digits}{}", self.before, self.after)
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

/// How the cells of one style are shown.
#[derive(Debug, Default)]
pub(super) struct Style {
    pub format: Option<Format>,
    pub is_struck: bool,
}

/// The styles of a workbook's cells, and where its sheets are.
#[derive(Debug, Default)]
pub(super) struct Styles {
    /// By their numbers.
    styles: Vec<Style>,
    /// The part of each sheet, by its name.
    parts: HashMap<String, String>,
}

impl Styles {
    /// Reads the styles of a workbook; `main` is its main part.
    ///
    /// # Errors
    /// [`Unreadable`]: damaged, or too much.
    pub fn read(package: &mut Package<'_>, main: &str) -> Result<Self, Unreadable> {
        let relations = package.relations(main)?;
        let styles = relations.values().find(|relation| relation.kind == "styles");
        let styles = match styles.map(|styles| package.xml(&styles.target)).transpose()?.flatten() {
            Some(tree) => styles_of(&tree.root),
            None => Vec::new(),
        };
        let mut parts = HashMap::new();
        let book = package.required(main)?;
        for sheet in book.root.child("sheets").into_iter().flat_map(Element::elements) {
            let part = sheet.attribute("id").and_then(|id| relations.get(id));
            if let (Some(name), Some(part)) = (sheet.attribute("name"), part) {
                parts.insert(name.to_owned(), part.target.clone());
            }
        }
        Ok(Self { styles, parts })
    }

    /// Returns the XML of a sheet; too large a one is read without it.
    pub fn sheet(&self, package: &mut Package<'_>, name: &str) -> Option<String> {
        let bytes = package.optional(self.parts.get(name)?).ok()??;
        xml::decode(&bytes).ok()
    }

    pub fn get(&self, number: u32) -> Option<&Style> {
        self.styles.get(number as usize)
    }
}

/// Reads the styles of a part with styles.
fn styles_of(root: &Element) -> Vec<Style> {
    let elements = |name: &str| root.child(name).into_iter().flat_map(Element::elements);
    let written =
        |code: &Element| Some((code.attribute("numFmtId")?.to_owned(), code.attribute("formatCode")?.to_owned()));
    let written: HashMap<String, String> = elements("numFmts").filter_map(written).collect();
    let code = |id: &str| match written.get(id) {
        Some(code) => Some(&**code),
        None => BUILT_IN.iter().find(|(built_in, _)| *built_in == id).map(|(_, code)| *code),
    };
    let struck: Vec<bool> = elements("fonts").map(|font| font.has_switched_on("strike")).collect();
    let font = |style: &Element| struck.get(style.attribute("fontId")?.parse::<usize>().ok()?).copied();
    let style = |style: &Element| Style {
        format: style.attribute("numFmtId").and_then(|id| Format::read(code(id)?)),
        is_struck: font(style).unwrap_or(false),
    };
    elements("cellXfs").map(style).collect()
}

/// Returns a number with the 15 digits that such programs show at most.
pub(super) fn plain(number: f64) -> String {
    let digits = number.to_string();
    if digits.len() <= 15 || !number.is_finite() {
        return digits;
    }
    let rounded: Option<f64> = format!("{number:.14e}").parse().ok();
    rounded.map_or(digits, |rounded| rounded.to_string())
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
        check("00000", 1234.0, "01234");
        check("00000\\-0000", 12_345_678.0, "012345678");
        check("00.0", -7.25, "-07.25");
        check("\"No. \"000", 42.0, "No. 042");
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
    fn numbers_read_as_they_are_shown() {
        assert_eq!(plain(0.1 + 0.2), "0.3");
        assert_eq!(plain(4100.0), "4100");
        assert_eq!(plain(1.0 / 3.0), "0.333333333333333");
        assert_eq!(plain(-2.5), "-2.5");
    }
}
