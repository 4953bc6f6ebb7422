//! Digits with marks between them, as the numbers that they may be.

use super::{
    figure::Reading,
    tokens::{Token, digit, is_space},
    words::ONE,
};

/// How clearly a mark has to stand before fractions to be the text's: of the numbers that can be read in one way only,
/// so many times as many have it as have another one.
const CLEARLY: usize = 4;
/// Digits of the longest number that is read as one.
const MOST_DIGITS: usize = 30;

/// Returns which numbers a run of digits with separators may be: one number, read in one of several ways, or several
/// numbers.
pub fn readings(text: &str) -> (Vec<Reading>, Vec<i128>) {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return (reading(text, "").into_iter().collect(), Vec::new());
    }
    let marks: Vec<char> = text
        .chars()
        .filter(|char| digit(*char).is_none())
        .map(|mark| if is_space(mark) { ' ' } else { mark })
        .collect();
    let groups: Vec<String> = text
        .split(|char| digit(char).is_none())
        .map(|group| group.chars().filter_map(digit).map(|digit| char::from(b'0' + digit)).collect())
        .collect();
    let parts: Vec<i128> = groups.iter().filter_map(|group| group.parse::<i128>().ok()?.checked_mul(ONE)).collect();
    let threes = groups[1..].iter().all(|group| group.len() == 3) && groups[0].len() <= 3;
    let whole = || reading(&groups.concat(), "");
    let decimal = || groups.split_last().and_then(|(fraction, whole)| reading(&whole.concat(), fraction));
    let (last, before) = marks.split_last().map_or((None, &[][..]), |(last, before)| (Some(*last), before));
    let is_point = |mark: char| matches!(mark, '.' | ',' | '٫');
    let found: Vec<Option<Reading>> = match last {
        None => vec![whole()],
        // Thousands, then a fraction.
        Some(last) if is_point(last) && !before.is_empty() && before.iter().all(|mark| *mark != last) => {
            vec![decimal()]
        }
        Some(last) if is_point(last) && before.is_empty() => match threes && groups[0] != "0" {
            // Nobody writes a fraction of three zeros.
            true => vec![whole(), decimal().filter(|_| groups[1] != "000")],
            false => vec![decimal()],
        },
        Some(_) if threes || is_indian(&marks, &groups) => vec![whole()],
        Some(_) => Vec::new(),
    };
    let is_one = threes && last.is_some_and(is_point) && (groups.len() == 2 || groups[0].len() < 3);
    let may_be_more = groups.len() > 1 && last.is_some_and(|last| last != '.' || found.is_empty()) && !is_one;
    let parts = if may_be_more { parts } else { Vec::new() };
    (found.into_iter().flatten().collect(), parts)
}

/// Returns whether the groups are Indian ones, as in `1,25,000`: groups of two, and one of three.
fn is_indian(marks: &[char], groups: &[String]) -> bool {
    let [first, middle @ .., last] = groups else { return false };
    let is_pair = |group: &String| group.len() == 2;
    marks.iter().all(|mark| *mark == ',')
        && (first.len() <= 2 && !middle.is_empty() && middle.iter().all(is_pair) && last.len() == 3)
}

/// Returns the mark before fractions in a text, if its numbers tell.
pub fn mark_of_fractions(tokens: &[Token<'_>]) -> Option<char> {
    let (mut points, mut commas) = (0, 0);
    for mark in tokens.iter().filter(|token| token.is_number()).filter_map(|token| decimal_mark(token.text)) {
        match mark {
            '.' => points += 1,
            _ => commas += 1,
        }
    }
    match (points, commas) {
        (points, commas) if points > commas * CLEARLY => Some('.'),
        (points, commas) if commas > points * CLEARLY => Some(','),
        _ => None,
    }
}

/// Returns the mark before the fraction of a number, if it can be read in one way only.
fn decimal_mark(text: &str) -> Option<char> {
    let mut marks = text.char_indices().filter(|(_, char)| digit(*char).is_none());
    let (at, first) = marks.next().filter(|(_, mark)| matches!(mark, '.' | ','))?;
    let is_three = |group: &str| group.chars().count() == 3;
    let Some((_, last)) = marks.next_back() else {
        return (!is_three(&text[at + 1..]) || &text[..at] == "0").then_some(first);
    };
    let is_thousands = text[at + 1..].split(first).all(is_three);
    match last {
        '.' | ',' if last != first => Some(last),
        // What comes twice separates thousands.
        _ => is_thousands.then_some(if first == '.' { ',' } else { '.' }),
    }
}

/// Returns the number of some digits before and behind a point; `None` of more than there are numbers for.
pub fn reading(whole: &str, fraction: &str) -> Option<Reading> {
    let fraction = &fraction[..fraction.len().min(6)];
    let step = 10_i128.pow(6 - u32::try_from(fraction.len()).ok()?);
    if !(1..=MOST_DIGITS).contains(&(whole.len() + fraction.len())) {
        return None;
    }
    let add = |value: i128, digit: u8| digit.is_ascii_digit().then(|| value * 10 + i128::from(digit - b'0'));
    let value = whole.bytes().chain(fraction.bytes()).try_fold(0, add)?;
    Some(Reading { value: value.checked_mul(step)?, step })
}

/// Returns the number in the first two parts of a version of three or more, `1.85` of `1.85.0`.
pub fn version_begin(text: &str) -> Option<i128> {
    let mut parts = text.split('.');
    let (whole, fraction) = (parts.next()?, parts.next()?);
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (is_plain && parts.next().is_some()).then(|| reading(whole, fraction)).flatten().map(|reading| reading.value)
}
