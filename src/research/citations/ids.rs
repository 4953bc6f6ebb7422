//! Ids and numbers in brackets: what they cite, and what is no citation at all.

use std::collections::HashSet;

use crate::domain::SourceId;

/// A longer bracket is no list of citations.
const LONGEST_LIST: usize = 512;
/// Words before a bracket with numbers that make it an interval, in lower case.
const INTERVAL_WORDS: [&str; 23] = [
    "ci",
    "cis",
    "ki",
    "cri",
    "hdi",
    "iqr",
    "interval",
    "intervals",
    "intervall",
    "range",
    "ranges",
    "bereich",
    "domain",
    "scale",
    "age",
    "ages",
    "aged",
    "alter",
    "=",
    "≈",
    "~",
    "∈",
    "\\in",
];

/// Ids in `text` as (start, end, number), each a word of its own.
pub(super) fn ids_in(text: &str) -> Vec<(usize, usize, u32)> {
    let mut found = Vec::new();
    let mut previous = '\0';
    for (at, character) in text.char_indices() {
        if matches!(character, 'S' | 's') && !previous.is_alphanumeric() {
            let digits = text[at + 1..].bytes().take(11).take_while(u8::is_ascii_digit).count();
            let stop = at + 1 + digits;
            let ends = !text[stop..].starts_with(|next: char| next.is_alphanumeric());
            if let (true, Ok(number)) = (ends, text[at + 1..stop].parse()) {
                found.push((at, stop, number));
            }
        }
        previous = character;
    }
    found
}

/// The ids of a bracket, when it is short enough to be a list of citations.
pub(super) fn ids_in_bracket(inside: &str) -> Vec<(usize, usize, u32)> {
    if inside.len() > LONGEST_LIST { Vec::new() } else { ids_in(inside) }
}

/// Is there nothing beside the ids but separators and words like "Source"?
pub(super) fn only_ids(inside: &str, ids: &[(usize, usize, u32)]) -> bool {
    let mut from = 0;
    let mut between = String::new();
    for (start, stop, _) in ids {
        between.push_str(&inside[from..*start]);
        between.push(' ');
        from = *stop;
    }
    between.push_str(&inside[from..]);
    let mut words = between.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| matches!(word.to_lowercase().as_str(), "source" | "sources" | "and" | "see" | "und" | "et" | "id"))
}

/// Do the numbers in a bracket claim to be a citation, which only our code may give? `before` is the text in front of
/// it, `sources` how many there are.
///
/// An interval (`95% CI [22, 54]`, `[0, 1]`), an index (`a[1]`) or a year is none, and stays.
pub(super) fn is_own_number(inside: &str, before: &str, sources: usize) -> bool {
    let trimmed = inside.trim();
    let numbers = trimmed.trim_start_matches('^');
    let digits = |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<_> = numbers.split([',', ';', '-', '–', '，']).map(str::trim).take(100).collect();
    if inside.len() > LONGEST_LIST || !parts.iter().all(digits) {
        return false;
    }
    if trimmed.starts_with('^') {
        return true;
    }
    let numbers: Vec<usize> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    let beyond = numbers.len() > 1 && numbers.iter().any(|&number| number > sources);
    !(numbers.contains(&0) || beyond || is_indexed(before) || is_interval(before))
}

/// Does an identifier end right here, as in `a[1]` or `x_max[2]`?
fn is_indexed(before: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = before;
    while let Some(at) = before.strip_suffix(']').and_then(|rest| rest.rfind('[')) {
        before = &before[..at];
    }
    let name = &before[before.trim_end_matches(is_name).len()..];
    let letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    letter || name.contains('_')
}

fn is_interval(before: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_matches(['(', ':', ',', '*', '$']).to_lowercase();
    INTERVAL_WORDS.contains(&word.as_str()) || word.ends_with(['=', '≈', '∈'])
}

/// The ids a note or report uses, each once, in order of first use.
pub fn cited_ids(text: &str) -> Vec<SourceId> {
    let mut seen = HashSet::new();
    ids_in(text).into_iter().map(|(_, _, id)| SourceId(id)).filter(|id| seen.insert(*id)).collect()
}
