//! Many phrases that are looked for in a text at once.

use std::ops::Range;

/// Phrases by a part that several of them have, so that a text is looked through once for each part.
#[derive(Debug)]
pub struct Phrases<T>(Vec<(&'static str, Vec<Phrase<T>>)>);

#[derive(Debug)]
struct Phrase<T> {
    words: &'static str,
    /// Its bytes before the part.
    before: usize,
    meaning: T,
}

impl<T: Copy> Phrases<T> {
    /// Takes the phrases with what they mean, and the parts; a phrase that has none of these is looked for as a whole.
    pub fn new(parts: &[&'static str], all: impl Iterator<Item = (&'static str, T)>) -> Self {
        let mut by_part: Vec<(&'static str, Vec<Phrase<T>>)> = parts.iter().map(|part| (*part, Vec::new())).collect();
        for (words, meaning) in all {
            let at = by_part.iter().position(|(part, _)| words.contains(part)).unwrap_or(by_part.len());
            if at == by_part.len() {
                by_part.push((words, Vec::new()));
            }
            let (part, phrases) = &mut by_part[at];
            phrases.push(Phrase { words, before: words.find(*part).unwrap_or_default(), meaning });
        }
        by_part.retain(|(_, phrases)| !phrases.is_empty());
        Self(by_part)
    }

    /// Returns what the phrases mean that a text has, each with its bytes there.
    pub fn all_in(&self, text: &str) -> impl Iterator<Item = (T, Range<usize>)> {
        let at_part = move |at: usize, phrase: &Phrase<T>| {
            let start = at.checked_sub(phrase.before)?;
            let stands = text.get(start..).is_some_and(|rest| rest.starts_with(phrase.words));
            stands.then(|| (phrase.meaning, start..start + phrase.words.len()))
        };
        self.0.iter().flat_map(move |(part, phrases)| {
            let places = text.match_indices(part).map(|(at, _)| at);
            places.flat_map(move |at| phrases.iter().filter_map(move |phrase| at_part(at, phrase)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_by_their_parts_or_as_a_whole() {
        let phrases = Phrases::new(&["mil", "none"], [("in millions", 1), ("(mil", 2), ("tsd", 3)].into_iter());
        let found: Vec<_> = phrases.all_in("milli (in millions, in mil) ätsd(mil").collect();
        assert_eq!(found, [(1, 7..18), (2, 33..37), (3, 30..33)]);
        assert_eq!(phrases.all_in("").next(), None);
    }
}
