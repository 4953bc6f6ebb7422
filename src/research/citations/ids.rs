//! Ids in text and in brackets: which they are, and whether a bracket holds nothing else.

use std::{collections::HashSet, ops::Range};

use super::scan::{CLOSING, OPENING};
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
    let of_bracket = move |(open, bracket): (usize, &str)| {
        let begin = open + bracket.len();
        let inside = inside_bracket(bracket, &text[begin..]).unwrap_or_default();
        let ids = ids_in_bracket(inside);
        let ids = if only_ids(inside, &ids) { ids } else { Vec::new() };
        // The bracket that closes takes as many bytes as the one that opens.
        let end = begin + inside.len() + bracket.len();
        let starts: Vec<usize> = ids.iter().skip(1).map(|(start, ..)| begin + start).collect();
        let ends = starts.clone().into_iter().chain([end]);
        let places = std::iter::once(open).chain(starts).zip(ends).map(|(start, end)| start..end);
        places.zip(ids.into_iter().map(|(.., id)| SourceId(id))).collect::<Vec<_>>()
    };
    text.match_indices(OPENING).flat_map(of_bracket)
}

/// Returns what stands in a bracket, if it is closed soon and holds no other one: the ids are those of the inner one.
fn inside_bracket<'a>(opening: &str, behind: &'a str) -> Option<&'a str> {
    let kind = OPENING.iter().position(|open| opening.starts_with(*open))?;
    let bounded = &behind[..behind.floor_char_boundary(LONGEST_LIST)];
    let end = bounded.find(|c: char| OPENING.contains(&c) || CLOSING.contains(&c))?;
    bounded[end..].starts_with(CLOSING[kind]).then_some(&bounded[..end])
}

/// Returns the ids a note or report uses, each once, in order of first use.
pub fn cited_ids(text: &str) -> Vec<SourceId> {
    let mut seen = HashSet::new();
    ids_in(text).into_iter().map(|(_, _, id)| SourceId(id)).filter(|id| seen.insert(*id)).collect()
}
