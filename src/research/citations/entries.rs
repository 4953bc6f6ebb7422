//! The front of a line in a list of sources: `[1] …`, `[Smith 2031] …`, `1. …`, `- [1] …`, `[^1]: …`, `| 1 | …`,
//! `Source 1: …`.

use super::{
    address::{self, address_in_word, address_length, is_address},
    numbers::Numbers,
    raised,
    scan::CLOSING,
};

/// Characters that may follow the last address of an entry, such as `(accessed on 1 May 2031)`.
const BEHIND_ADDRESS: usize = 40;

/// Tags in front of a label that are read over, and bytes of each.
const MOST_TAGS: usize = 4;
const LONGEST_TAG: usize = 120;
/// Names of tags that may stand around a label.
const TAGS: [&str; 11] = ["a", "b", "cite", "div", "em", "i", "li", "p", "small", "span", "strong"];
/// Numbers of one entry.
const MOST_LABELS: usize = 8;
/// Bytes of a name in brackets before an entry.
const LONGEST_NAME: usize = 60;

/// How a label is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `[1]`
    Bracket,
    /// `[^1]`, `[^name]`
    Footnote,
    /// `[name]:`
    Definition,
    /// `[name]`
    Name,
    /// `1.`, `1)`, `Source 1:`, a cell of a table
    Ordered,
    /// `(1)`
    Parenthesis,
    /// `¹`
    Superscript,
}

impl Form {
    /// Returns whether an entry with such a label may stand without a heading over it.
    pub(super) fn stands_alone(self) -> bool {
        matches!(self, Self::Bracket | Self::Footnote | Self::Definition | Self::Superscript)
    }
}

/// What an entry is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// A number without leading zeros, or a name in lower case.
    pub name: String,
    pub form: Form,
}

/// A line of a list, read.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub label: Option<Label>,
    /// A name in brackets behind a number, as in `1. [Smith 2031] Title`: another label, or a part of the title.
    pub name: Option<Label>,
    /// Whether a marker of a list stands in front.
    pub is_item: bool,
    pub rest: &'a str,
}

/// Reads the front of a line.
pub(super) fn label(line: &str) -> Line<'_> {
    let trimmed = line.trim();
    let rest = trimmed.trim_start_matches(|c: char| c.is_whitespace() || ">-*+•_|–—".contains(c));
    let is_item = rest.len() < trimmed.len();
    let inner = behind_tags(rest);
    let Some((label, rest)) = bracket(inner).or_else(|| number(inner)) else {
        return Line { label: None, name: None, is_item, rest };
    };
    let rest = behind_tags(rest.trim_start_matches([' ', '*', '_']));
    // `1. [1] Title`
    let inner = if label.form == Form::Ordered { bracket(rest.trim_start_matches([' ', '*', '|'])) } else { None };
    let (label, name, rest) = match inner {
        Some((name, rest)) if name.form == Form::Name => (label, Some(name), rest),
        Some((inner, rest)) => (inner, None, rest),
        None => (label, None, rest),
    };
    Line {
        label: Some(label),
        name,
        is_item,
        rest: rest.trim_start_matches(|c: char| c.is_whitespace() || "*_|".contains(c)),
    }
}

/// Returns what stands behind tags that show nothing, as `<a id="ref1"></a>`. One that leads to another page names the
/// source.
fn behind_tags(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..MOST_TAGS {
        let front = &rest[..rest.floor_char_boundary(LONGEST_TAG)];
        let Some((tag, _)) = front.strip_prefix('<').and_then(|tag| tag.split_once('>')) else { break };
        let lower = tag.to_ascii_lowercase();
        let name = lower.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let target = lower.split_once("href").map(|(_, target)| target.trim_start_matches([' ', '=', '"', '\'']));
        if !TAGS.contains(&name) || target.is_some_and(|target| !target.starts_with('#')) {
            break;
        }
        rest = rest[tag.len() + 2..].trim_start_matches([' ', '*', '_']);
    }
    rest
}

fn named(number: u32, form: Form) -> Label {
    Label { name: number.to_string(), form }
}

/// Returns a label in brackets.
fn bracket(text: &str) -> Option<(Label, &str)> {
    let inner = ["\\[", "[[", "[", "【", "［", "〔", "⟦"].iter().find_map(|open| text.strip_prefix(open))?;
    let close = inner.find(CLOSING)?;
    let inside = inner[..close].trim_end_matches('\\');
    let rest = inner[close..].trim_start_matches(CLOSING);
    let defines = rest.starts_with([':', '：']);
    let rest_behind = rest.trim_start_matches([':', '：']);
    if let Some(read) = Numbers::read(inside) {
        let [number] = read.numbers[..] else { return None };
        let form = match (read.footnote, defines) {
            (true, _) => Form::Footnote,
            (false, true) => Form::Definition,
            (false, false) => Form::Bracket,
        };
        return Some((named(number, form), rest_behind));
    }
    let is_link = rest.starts_with(['(', '[']);
    if inside.is_empty() || inside.contains('[') || is_link {
        return None;
    }
    let name = inside.trim().to_lowercase();
    if !defines {
        let is_name = !name.starts_with('^') && name.len() <= LONGEST_NAME;
        return is_name.then_some((Label { name, form: Form::Name }, rest));
    }
    match name.strip_prefix('^') {
        Some(name) => Some((Label { name: name.to_owned(), form: Form::Footnote }, rest_behind)),
        None => Some((Label { name, form: Form::Definition }, rest_behind)),
    }
}

/// Returns a number that is no bracket: `1.`, `(1)`, `Source 1:`, `¹`.
fn number(text: &str) -> Option<(Label, &str)> {
    if let Some((number, bytes)) = raised::superscript(text) {
        return Some((named(number, Form::Superscript), &text[bytes..]));
    }
    if let Some(inner) = text.strip_prefix("<sup>") {
        let (inside, rest) = inner.split_once("</sup>")?;
        return Some((named(inside.trim_matches(['[', ']']).parse().ok()?, Form::Superscript), rest));
    }
    if let Some(inner) = text.strip_prefix('(') {
        let close = inner.find(')').filter(|&close| (1..=3).contains(&close))?;
        return Some((named(inner[..close].parse().ok()?, Form::Parenthesis), &inner[close + 1..]));
    }
    let end = text.find(['.', ')', ':', '：', '、', '．', '）', '|'])?;
    // `1\.` is no list in Markdown.
    let front = text[..end].trim_end_matches('\\');
    let [number] = Numbers::read(front.trim())?.numbers[..] else { return None };
    let sign = text[end..].chars().next().map_or(1, char::len_utf8);
    let rest = &text[end + sign..];
    // `1.5 million` is no label.
    (!rest.starts_with(|c: char| c.is_ascii_digit())).then(|| (named(number, Form::Ordered), rest))
}

/// Reads several numbers in one bracket before an entry, as in `[1, 2] Title`: the labels before the last one, that
/// one, and the rest.
pub(super) fn several(text: &str) -> Option<(Vec<Label>, Label, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    let read = Numbers::read(inside).filter(|read| !read.footnote && read.numbers.len() <= MOST_LABELS)?;
    let mut labels: Vec<Label> = read.numbers.into_iter().map(|number| named(number, Form::Bracket)).collect();
    let last = labels.pop()?;
    Some((labels, last, rest.trim_start_matches(|c: char| c.is_whitespace() || "*_|:".contains(c))))
}

/// Returns whether this is all that stands between two labels of one entry.
pub(super) fn is_between_labels(text: &str) -> bool {
    text.len() <= 8 && matches!(text.trim_matches([',', ';', '&', '*', '_', ' ']), "" | "and" | "und")
}

/// Returns the number of an entry that `rest` begins with, the bytes of its label, and whether that is a bracket.
pub(super) fn next_number(rest: &str, begins: bool) -> Option<(u32, usize, bool)> {
    let front = &rest[..rest.floor_char_boundary(8)];
    if let Some(inner) = front.strip_prefix('[') {
        let (inside, _) = inner.split_once(']')?;
        let [number] = Numbers::read(inside)?.numbers[..] else { return None };
        return Some((number, inside.len() + 2, true));
    }
    let (digits, _) = front.split_once(". ").filter(|_| begins)?;
    let is_number = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, digits.len() + 1, false))
}

/// Returns what a line says for which it cites by a number, as `- Dues pay half of it [3]`. An entry has its number in
/// front, or an address.
pub(super) fn said_by_number(line: &str) -> Option<&str> {
    let found = label(line);
    if found.label.as_ref().is_some_and(|label| label.form.stands_alone()) {
        return None;
    }
    let text = found.rest.trim_end_matches(['.', '。', '*', '_', ' ']);
    let (said, inside) = text.strip_suffix(']')?.rsplit_once('[')?;
    let says = said.contains(char::is_alphabetic) && !address::holds_address(said);
    (says && Numbers::read(inside).is_some_and(|read| !read.footnote)).then_some(said)
}

/// Returns whether the text ends with an address, or begins with one.
pub(super) fn address_at_end(text: &str) -> bool {
    let (mut done, mut starts, mut last) = (0, true, None);
    for (at, character) in text.char_indices() {
        let begins = std::mem::replace(&mut starts, !character.is_alphanumeric());
        if at < done || !begins {
            continue;
        }
        let rest = &text[at..];
        if is_address(rest) || (rest.starts_with("//") && address_in_word(rest) == Some(0)) {
            done = at + address_length(rest).max(1);
            last = Some(done);
            if at == 0 {
                return text[done..].chars().count() <= 2 * BEHIND_ADDRESS;
            }
        }
    }
    last.is_some_and(|end| text[end..].chars().count() <= BEHIND_ADDRESS)
}
