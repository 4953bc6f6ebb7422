//! Raised numbers: `¹`, `<sup>1</sup>`, `^1^`. What they are read as, and where they can be citations, rather than
//! powers (`10⁶`, `x²`), units (`km²`) or the numbers of isotopes.

use super::{
    grammar::tail,
    numbers::{ELEMENTS, MOST_NUMBERS, Numbers, ends_with_word},
    scan::RAISED_BYTES,
};

/// The superscript digits by their value.
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
/// Signs of lengths, which with a raised 2 or 3 are units wherever they stand.
const UNITS: [&str; 23] = [
    "m", "km", "hm", "dm", "cm", "mm", "nm", "µm", "μm", "ft", "yd", "м", "км", "см", "мм", "米", "公里", "千米",
    "分米", "厘米", "毫米", "英里", "英尺",
];
/// Words that are so only behind a figure, in lower case.
const LENGTHS: [&str; 24] = [
    "in",
    "mi",
    "ha",
    "inch",
    "inches",
    "foot",
    "feet",
    "yard",
    "yards",
    "mile",
    "miles",
    "fathom",
    "fathoms",
    "hektar",
    "hectares",
    "hectare",
    "hectáreas",
    "acres",
    "zoll",
    "fuß",
    "meile",
    "meilen",
    "метра",
    "метров",
];
/// Ends of words that are so too.
const ENDS_OF_LENGTHS: [&str; 8] = ["meter", "meters", "metern", "metre", "metres", "metro", "metros", "mètres"];
/// Oxides whose 2 or 3 is written raised by mistake.
const OXIDES: [&str; 4] = ["CO", "NO", "SO", "PO"];
/// Signs before or behind a raised number that belongs to a formula.
const OPERATORS: [char; 11] = ['=', '+', '−', '×', '·', '⋅', '÷', '≤', '≥', '≈', '^'];

/// Where raised numbers are citations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Raised {
    /// Nowhere: the model cites in another way.
    #[default]
    Nowhere,
    /// Behind a word or the end of a sentence alone. Nothing shows that the model cites so.
    BehindWords,
    /// Wherever nothing speaks against it.
    Anywhere,
}

impl Raised {
    /// Returns whether raised numbers between these texts can be citations.
    pub(super) fn may_cite(self, before: &str, numbers: &[u32], behind: &str) -> bool {
        let before = without_raised(before);
        match self {
            Self::Nowhere => false,
            Self::BehindWords => is_behind_word(before, numbers),
            Self::Anywhere => may_stand(before, numbers, behind),
        }
    }
}

/// Returns whether the character is a raised digit.
fn is_superscript(character: char) -> bool {
    SUPERSCRIPTS.contains(&character)
}

/// Returns the number that superscript digits at the front of `text` make, and how many bytes they take.
pub(super) fn superscript(text: &str) -> Option<(u32, usize)> {
    let (mut number, mut bytes, mut count) = (0, 0, 0);
    for character in text.chars() {
        let Some(digit) = SUPERSCRIPTS.iter().position(|&digit| digit == character).filter(|_| count < 3) else {
            break;
        };
        number = number * 10 + u32::try_from(digit).ok()?;
        bytes += character.len_utf8();
        count += 1;
    }
    (number > 0).then_some((number, bytes))
}

/// Returns the numbers of superscript digits at the front of `text`, with their commas and dashes (`¹˒³`, `²⁻⁴`), and
/// how many bytes they take.
pub(super) fn superscripts(text: &str) -> Option<(Vec<u32>, usize)> {
    let (first, mut bytes) = superscript(text)?;
    let mut numbers = vec![first];
    while let Some(sign) = text[bytes..].chars().next().filter(|sign| matches!(sign, '˒' | '⸴' | '⁻' | '⁃')) {
        let Some((next, length)) = superscript(&text[bytes + sign.len_utf8()..]) else { break };
        let last = numbers.last().copied().unwrap_or(next);
        let is_range = matches!(sign, '⁻' | '⁃');
        if is_range && !(last + 1..=last + 100).contains(&next) || numbers.len() > MOST_NUMBERS {
            break;
        }
        numbers.extend((last + 1..next).filter(|_| is_range));
        numbers.push(next);
        bytes += sign.len_utf8() + length;
    }
    Some((numbers, bytes))
}

/// Returns the raised numbers of a line that can hardly be anything but citations: behind a word or the end of a
/// sentence, or a 1, which makes no power.
pub(super) fn clear_ones(line: &str) -> Vec<u32> {
    let (mut clear, mut done) = (Vec::new(), 0);
    let starts = |&(_, c): &(usize, char)| is_superscript(c) || c == '<';
    for (at, _) in line.char_indices().filter(starts) {
        if at < done {
            continue;
        }
        let rest = &line[at..];
        let Some((numbers, bytes)) = superscripts(rest).or_else(|| in_tag(rest)) else { continue };
        done = at + bytes;
        let before = without_raised(tail(&line[..at]));
        let is_clear = is_behind_word(before, &numbers) || numbers == [1] && may_stand(before, &numbers, &line[done..]);
        clear.extend(numbers.into_iter().filter(|_| is_clear));
    }
    clear
}

/// Reads `<sup>1</sup>`.
fn in_tag(text: &str) -> Option<(Vec<u32>, usize)> {
    let (open, close) = ("<sup>", "</sup>");
    let inner = text.strip_prefix(open)?;
    let length = inner[..inner.floor_char_boundary(RAISED_BYTES)].find(close)?;
    let read = Numbers::read(&inner[..length])?;
    Some((read.numbers, open.len() + length + close.len()))
}

/// Returns the text without the raised numbers at its end and the spaces between them.
fn without_raised(before: &str) -> &str {
    let mut before = before;
    loop {
        let text = before.trim_end();
        let caret = || {
            let number = text.strip_suffix('^')?;
            number.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('^')
        };
        let tag = || text.strip_suffix("</sup>").and_then(|inner| inner.rsplit_once("<sup>")).map(|(front, _)| front);
        let Some(front) = text.strip_suffix(is_superscript).or_else(tag).or_else(caret) else { return before };
        before = front;
    }
}

/// Returns whether a word of four letters or punctuation ends the text, unless the word says of what a number in front
/// of it is a measure.
fn is_behind_word(before: &str, numbers: &[u32]) -> bool {
    let last = before.chars().next_back();
    let front = before.trim_end_matches(char::is_alphabetic);
    let letters = before[front.len()..].chars().count();
    let is_power = matches!(numbers, [2 | 3]) && is_measure(front);
    (letters >= 4 && !is_power)
        || last.is_some_and(|last| matches!(last, '.' | ',' | ';' | ':' | '!' | '?' | '”' | '"' | '。' | '，' | ')'))
}

/// Returns whether nothing speaks against a citation: no power, unit, formula, ion or isotope, nor the front of a line.
fn may_stand(before: &str, numbers: &[u32], behind: &str) -> bool {
    let marked = before.trim_end_matches(['*', '_']);
    let text = marked.trim_end();
    let is_spaced = text.len() < marked.len();
    let Some(last) = text.chars().next_back() else { return false };
    if is_of_formula(behind) || begins_name(text, is_spaced, behind) {
        return false;
    }
    match last {
        _ if is_spaced => !OPERATORS.contains(&last) && !matches!(last, '|' | '-' | '$' | '\\' | '#' | '>' | '•'),
        last if last.is_ascii_digit() => !is_base(text),
        last if last.is_alphabetic() => !is_unit(text, numbers),
        last => matches!(last, ')' | '"' | '\'') || ".,;:!?%‰°€£¥”’»。，；：！？、）」』》】".contains(last),
    }
}

/// Returns whether what stands behind a raised number makes it a part of a formula, or the charge of an ion.
fn is_of_formula(behind: &str) -> bool {
    let is_operator = |c: char| OPERATORS.contains(&c) && c != '^';
    behind.starts_with(is_operator) || behind.starts_with(['⁺', '⁻', '_', '\\', '{'])
}

/// Returns whether a name begins or goes on right behind a raised number, as in `¹⁴C` and `H²O`.
fn begins_name(text: &str, is_spaced: bool, behind: &str) -> bool {
    let name = &behind[..behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len())];
    let letters = text.chars().rev().take(4).take_while(|c| c.is_alphabetic()).count();
    let is_sentence = text.ends_with(['.', ',', ';', ':', '!', '?']);
    !name.is_empty() && (is_spaced || ELEMENTS.contains(&name) || (letters < 4 && !is_sentence))
}

/// Returns whether a number ends the text of which powers are written: 10, or one with a single digit.
fn is_base(text: &str) -> bool {
    let front = text.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let figure = &text[front.len()..];
    figure.len() == 1 || figure == "10" || front.ends_with(OPERATORS)
}

/// Returns whether the word that ends the text is a variable, or with these numbers a unit or an oxide.
fn is_unit(text: &str, numbers: &[u32]) -> bool {
    let front = text.trim_end_matches(char::is_alphabetic);
    let word = &text[front.len()..];
    let is_letter = word.chars().count() == 1 && word.chars().all(|c| c < '\u{2E80}');
    if !matches!(numbers, [2 | 3]) {
        return is_letter && !(word.starts_with(char::is_uppercase) && ends_with_word(front));
    }
    let lower = word.to_lowercase();
    let is_length = || LENGTHS.contains(&lower.as_str()) || ENDS_OF_LENGTHS.iter().any(|end| lower.ends_with(end));
    let of_figure = is_measure(front) || front.ends_with(|c: char| c.is_ascii_digit());
    is_letter
        || UNITS.contains(&word)
        || OXIDES.contains(&word)
        || (of_figure && is_length())
        || front.trim_end().ends_with(['/', '='])
}

/// Returns whether a number that is no year ends the text, with a space behind it.
fn is_measure(front: &str) -> bool {
    let text = front.trim_end();
    let number = &text[text.trim_end_matches(|c: char| c.is_numeric() && !is_superscript(c)).len()..];
    let is_year = number.len() == 4 && number.parse().is_ok_and(|year: u32| (1500..2100).contains(&year));
    text.len() < front.len() && !number.is_empty() && !is_year
}
