//! Ids in text and in brackets: which they are, and whether a bracket holds nothing else.

use std::{collections::HashSet, ops::Range};

use crate::domain::SourceId;

/// A longer bracket is no list of citations.
pub(super) const LONGEST_LIST: usize = 512;
/// Ids of one range.
const LONGEST_RANGE: u32 = 100;

/// Returns the ids in `text` as (start, end, number), each a word of its own.
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

/// Returns the ids of a bracket, when it is short enough to be a list of citations. Those that a range leaves out
/// stand at no place of their own.
pub(super) fn ids_in_bracket(inside: &str) -> Vec<(usize, usize, u32)> {
    let mut ids: Vec<(usize, usize, u32)> = Vec::new();
    let found = if inside.len() > LONGEST_LIST { Vec::new() } else { ids_in(inside) };
    for (start, stop, id) in found {
        if let Some(&(_, end, last)) = ids.last()
            && matches!(inside[end..start].trim(), "-" | "–" | "—")
            && id.checked_sub(last).is_some_and(|count| count <= LONGEST_RANGE)
        {
            ids.extend((last + 1..id).map(|between| (end, end, between)));
        }
        ids.push((start, stop, id));
    }
    ids
}

/// Returns whether there is nothing beside the ids but separators and words like "Source".
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

/// Returns the ids that stand in brackets by themselves, in order, each with its bytes: those of one bracket share it
/// out among them.
pub fn bracketed_ids(text: &str) -> impl Iterator<Item = (Range<usize>, SourceId)> {
    let of_bracket = move |(open, _): (usize, &str)| {
        let inside = &text[open + 1..];
        let length = inside.bytes().take(LONGEST_LIST).position(|byte| byte == b']');
        let ids = length.map(|length| ids_in_bracket(&inside[..length])).unwrap_or_default();
        let is_list = length.is_some_and(|length| only_ids(&inside[..length], &ids));
        let ids = if is_list { ids } else { Vec::new() };
        let end = open + length.unwrap_or_default() + 2;
        let starts: Vec<usize> = ids.iter().skip(1).map(|(start, ..)| open + 1 + start).collect();
        let ends = starts.clone().into_iter().chain([end]);
        let places = std::iter::once(open).chain(starts).zip(ends).map(|(start, end)| start..end);
        places.zip(ids.into_iter().map(|(.., id)| SourceId(id))).collect::<Vec<_>>()
    };
    text.match_indices('[').flat_map(of_bracket)
}

/// Returns the ids a note or report uses, each once, in order of first use.
pub fn cited_ids(text: &str) -> Vec<SourceId> {
    let mut seen = HashSet::new();
    ids_in(text).into_iter().map(|(_, _, id)| SourceId(id)).filter(|id| seen.insert(*id)).collect()
}
