//! The numbers that Word puts before paragraphs by itself: `1.`, `1.1`, `(a)`. A document says how they are counted and
//! written, not what they are.

use std::collections::HashMap;

use super::{text, xml::Element};

/// Levels of a list.
const LEVELS: usize = 9;
/// The longest text of a number, before its digits are put in.
const MAX_PATTERN_CHARS: usize = 60;
/// The largest number written in letters, which are repeated beyond `z`, or in Roman digits; others are decimal.
const MAX_LETTERS: u32 = 26 * 4;
const MAX_ROMAN: u32 = 3_999;
/// The same for Chinese digits.
const MAX_CHINESE: u32 = 99;

/// The lists of a document, and how far each is counted.
#[derive(Default)]
pub(super) struct Numbering {
    /// By the names of their definitions.
    lists: HashMap<String, List>,
    /// By the ids that paragraphs name.
    instances: HashMap<String, Instance>,
}

/// A definition of a list; its instances go on counting where another one stopped.
#[derive(Default)]
struct List {
    levels: HashMap<usize, Level>,
    /// The last number of each level, unless the next one is the first again.
    counts: [Option<u32>; LEVELS],
}

/// A use of a list, with what is different in it.
struct Instance {
    list: String,
    levels: HashMap<usize, Level>,
    starts: HashMap<usize, u32>,
    is_used: bool,
}

struct Level {
    start: u32,
    format: Format,
    /// `%2` stands for the number of the second level.
    pattern: String,
    /// The style whose paragraphs are of this level.
    style: Option<String>,
    /// A number of the level so high, counted from 1, or of a higher one starts this one again; 0 for none.
    restart: Option<usize>,
    /// Whether the numbers of all levels are decimal here.
    is_legal: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    DecimalZero,
    Letter { is_upper: bool },
    Roman { is_upper: bool },
    Chinese,
    Bullet,
    None,
}

impl Numbering {
    pub fn of(root: &Element) -> Self {
        let all = |name: &'static str| root.elements().filter(move |element| &*element.name == name);
        let mut styled = HashMap::new();
        let mut linked = HashMap::new();
        let mut lists = HashMap::new();
        for list in all("abstractNum") {
            let Some(id) = list.attribute("abstractNumId") else { continue };
            styled.extend(list.value("styleLink").map(|style| (style, id)));
            linked.extend(list.value("numStyleLink").map(|style| (id, style)));
            lists.insert(id.to_owned(), List { levels: levels(list), ..List::default() });
        }
        let instance = |number: &Element| {
            let overrides = || number.elements().filter(|element| &*element.name == "lvlOverride");
            let start = |other: &Element| Some((level_of(other)?, other.value("startOverride")?.parse().ok()?));
            let list = number.value("abstractNumId")?;
            // A list may be what a style says that it is, which is another one.
            let instance = Instance {
                list: linked.get(list).and_then(|style| styled.get(style)).unwrap_or(&list).to_string(),
                levels: overrides().flat_map(levels).collect(),
                starts: overrides().filter_map(start).collect(),
                is_used: false,
            };
            Some((number.attribute("numId")?.to_owned(), instance))
        };
        let instances = all("num").filter_map(instance).collect();
        Self { lists, instances }
    }

    /// Returns the level that the paragraphs of a style have in a list.
    pub fn level_of_style(&self, id: &str, style: &str) -> Option<usize> {
        let list = self.lists.get(&self.instances.get(id)?.list)?;
        let is_of_style = |level: &&usize| list.levels[*level].style.as_deref() == Some(style);
        list.levels.keys().filter(is_of_style).min().copied()
    }

    /// Counts a paragraph; returns its number, which is empty for a bullet. `None` when the document knows no such
    /// list.
    pub fn next(&mut self, id: &str, level: usize) -> Option<String> {
        let instance = self.instances.get_mut(id)?;
        let List { levels, counts } = self.lists.get_mut(&instance.list)?;
        if !std::mem::replace(&mut instance.is_used, true) {
            instance.starts.keys().for_each(|level| counts[*level] = None);
        }
        let level_at = |at: usize| instance.levels.get(&at).or_else(|| levels.get(&at));
        let start = |at: usize| instance.starts.get(&at).copied().or_else(|| Some(level_at(at)?.start)).unwrap_or(1);
        let count = counts.get_mut(level)?;
        *count = Some(count.map_or_else(|| start(level), |count| count.saturating_add(1)));
        for (at, count) in counts.iter_mut().enumerate().skip(level + 1) {
            let restart = level_at(at).and_then(|level| level.restart);
            count.take_if(|_| restart.is_none_or(|restart| level < restart));
        }
        let this = level_at(level)?;
        let written = |at: usize| {
            let format = level_at(at).map_or(Format::Decimal, |level| level.format);
            let is_decimal = this.is_legal && !matches!(format, Format::Bullet | Format::None);
            let number = counts.get(at).copied().flatten().unwrap_or_else(|| start(at));
            if is_decimal { Format::Decimal } else { format }.written(number)
        };
        Some(if this.format == Format::Bullet { String::new() } else { filled(&this.pattern, written) })
    }
}

/// Puts the numbers of the levels in where a pattern names them.
fn filled(pattern: &str, number: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(char) = rest.next() {
        let level = rest.peek().and_then(|next| next.to_digit(10)).filter(|level| char == '%' && *level > 0);
        match level {
            Some(level) => {
                rest.next();
                text.push_str(&number(level as usize - 1));
            }
            None => text.push(char),
        }
    }
    text.trim().to_owned()
}

fn levels(parent: &Element) -> HashMap<usize, Level> {
    let levels = parent.elements().filter(|element| &*element.name == "lvl");
    levels.filter_map(|level| Some((level_of(level)?, Level::of(level)))).collect()
}

fn level_of(element: &Element) -> Option<usize> {
    element.attribute("ilvl")?.parse().ok().filter(|level| *level < LEVELS)
}

impl Level {
    fn of(element: &Element) -> Self {
        Self {
            start: element.value("start").and_then(|start| start.parse().ok()).unwrap_or(0),
            format: Format::of(element.value("numFmt").unwrap_or_default()),
            pattern: text::cut(element.value("lvlText").unwrap_or_default(), MAX_PATTERN_CHARS).to_owned(),
            style: element.value("pStyle").map(str::to_owned),
            restart: element.value("lvlRestart").and_then(|level| level.parse().ok()),
            is_legal: element.has_switched_on("isLgl"),
        }
    }
}

impl Format {
    fn of(name: &str) -> Self {
        match name {
            "decimalZero" => Self::DecimalZero,
            "lowerLetter" => Self::Letter { is_upper: false },
            "upperLetter" => Self::Letter { is_upper: true },
            "lowerRoman" => Self::Roman { is_upper: false },
            "upperRoman" => Self::Roman { is_upper: true },
            "chineseCounting"
            | "chineseCountingThousand"
            | "taiwaneseCounting"
            | "taiwaneseCountingThousand"
            | "japaneseCounting" => Self::Chinese,
            "bullet" => Self::Bullet,
            "none" => Self::None,
            _ => Self::Decimal,
        }
    }

    fn written(self, number: u32) -> String {
        let cased = |text: String, is_upper: bool| if is_upper { text.to_uppercase() } else { text };
        match self {
            Self::Bullet | Self::None => String::new(),
            Self::DecimalZero => format!("{number:02}"),
            Self::Letter { is_upper } if (1..=MAX_LETTERS).contains(&number) => cased(letters(number), is_upper),
            Self::Roman { is_upper } if (1..=MAX_ROMAN).contains(&number) => cased(roman(number), is_upper),
            Self::Chinese if (1..=MAX_CHINESE).contains(&number) => chinese(number),
            Self::Decimal | Self::Letter { .. } | Self::Roman { .. } | Self::Chinese => number.to_string(),
        }
    }
}

/// Returns `a` to `z`, then `aa`, `bb`.
fn letters(number: u32) -> String {
    let letter = ('a'..='z').nth((number as usize - 1) % 26).unwrap_or('a');
    letter.to_string().repeat((number as usize - 1) / 26 + 1)
}

/// Returns `一` to `九十九`.
fn chinese(number: u32) -> String {
    const DIGITS: [&str; 10] = ["", "一", "二", "三", "四", "五", "六", "七", "八", "九"];
    let (tens, ones) = (number as usize / 10 % 10, number as usize % 10);
    let tens = match tens {
        0 => String::new(),
        1 => "十".to_owned(),
        tens => format!("{}十", DIGITS[tens]),
    };
    tens + DIGITS[ones]
}

fn roman(mut number: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let mut written = String::new();
    for (value, digits) in DIGITS {
        written.push_str(&digits.repeat((number / value) as usize));
        number %= value;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::{super::xml, *};

    fn level(level: usize, format: &str, pattern: &str, more: &str) -> String {
        format!("<lvl ilvl='{level}'><start val='1'/><numFmt val='{format}'/><lvlText val='{pattern}'/>{more}</lvl>")
    }

    fn numbering(source: &str) -> Numbering {
        Numbering::of(&xml::parse(&format!("<numbering>{source}</numbering>")).unwrap().root)
    }

    fn of_contract(instances: &str) -> Numbering {
        let levels = [
            level(0, "decimal", "%1.", "<pStyle val='Heading1'/>"),
            level(1, "decimal", "%1.%2", ""),
            level(2, "lowerLetter", "(%3)", ""),
            level(3, "upperRoman", "%4.", "<lvlRestart val='0'/>"),
            level(4, "bullet", "*", ""),
        ];
        numbering(&format!("<abstractNum abstractNumId='7'>{}</abstractNum>{instances}", levels.concat()))
    }

    fn said(numbering: &mut Numbering, paragraphs: &[(&str, usize)]) -> Vec<String> {
        paragraphs.iter().map(|(id, level)| numbering.next(id, *level).unwrap()).collect()
    }

    #[test]
    fn clauses_are_numbered_as_in_a_contract() {
        let mut contract = of_contract("<num numId='1'><abstractNumId val='7'/></num>");
        let levels = [0, 1, 2, 2, 1, 3, 0, 1, 2, 3, 4].map(|level| ("1", level));
        let expected = ["1.", "1.1", "(a)", "(b)", "1.2", "I.", "2.", "2.1", "(a)", "II.", ""];
        assert_eq!(said(&mut contract, &levels), expected);
        assert_eq!(contract.level_of_style("1", "Heading1"), Some(0));
        assert_eq!(contract.next("2", 0), None, "there is no such list");
        assert_eq!(contract.next("1", 9), None, "nor such a level");
        assert_eq!(said(&mut of_contract("<num numId='1'><abstractNumId val='7'/></num>"), &[("1", 1)]), ["1.1"]);
    }

    #[test]
    fn an_instance_goes_on_unless_it_says_where_it_starts() {
        let plain = "<num numId='1'><abstractNumId val='7'/></num><num numId='2'><abstractNumId val='7'/></num>";
        let again =
            "<num numId='3'><abstractNumId val='7'/><lvlOverride ilvl='0'><startOverride val='5'/></lvlOverride></num>";
        let mut contract = of_contract(&format!("{plain}{again}"));
        let paragraphs = [("1", 0), ("2", 0), ("3", 0), ("3", 0), ("1", 0)];
        assert_eq!(said(&mut contract, &paragraphs), ["1.", "2.", "5.", "6.", "7."]);
        let other = level(0, "upperLetter", "Annex %1", "");
        let other = format!("<num numId='4'><abstractNumId val='7'/><lvlOverride ilvl='0'>{other}</lvlOverride></num>");
        assert_eq!(said(&mut of_contract(&other), &[("4", 0), ("4", 0)]), ["Annex A", "Annex B"]);
    }

    #[test]
    fn a_list_may_be_that_of_a_style_and_its_numbers_decimal() {
        let levels = level(0, "upperRoman", "%1", "") + &level(1, "decimal", "%1.%2", "<isLgl/>");
        let source = format!(
            "<abstractNum abstractNumId='1'><numStyleLink val='Legal'/></abstractNum>\
                <abstractNum abstractNumId='2'><styleLink val='Legal'/>{levels}</abstractNum>\
                <num numId='9'><abstractNumId val='1'/></num>"
        );
        assert_eq!(said(&mut numbering(&source), &[("9", 0), ("9", 1), ("9", 0), ("9", 1)]), ["I", "1.1", "II", "2.1"]);
    }

    #[test]
    fn numbers_are_written_in_many_ways_and_none_is_long() {
        let check = |format: &str, number: u32, expected: &str| {
            assert_eq!(Format::of(format).written(number), expected, "{format} {number}");
        };
        check("lowerLetter", 28, "bb");
        check("upperLetter", u32::MAX, "4294967295");
        check("lowerRoman", 1994, "mcmxciv");
        check("upperRoman", 4_000, "4000");
        check("decimalZero", 7, "07");
        check("lowerLetter", 0, "0");
        check("none", 3, "");
        for (number, expected) in [(7, "七"), (10, "十"), (12, "十二"), (20, "二十"), (99, "九十九"), (100, "100")]
        {
            check("chineseCountingThousand", number, expected);
        }
        let long = level(0, "decimal", &"%1".repeat(10_000), "");
        let source =
            format!("<abstractNum abstractNumId='1'>{long}</abstractNum><num numId='1'><abstractNumId val='1'/></num>");
        assert!(numbering(&source).next("1", 0).unwrap().len() < 100);
    }
}
