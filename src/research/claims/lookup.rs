//! Many phrases that are looked for in a text at once.

use std::ops::Range;

use aho_corasick::AhoCorasick;

/// Phrases with what they mean, found in one pass through a text however many they are.
#[derive(Debug)]
pub struct Phrases<T> {
    automaton: AhoCorasick,
    meanings: Vec<T>,
}

impl<T: Copy> Phrases<T> {
    /// Takes the phrases with what they mean.
    #[allow(clippy::expect_used, reason = "our own lists are some hundred short phrases")]
    pub fn new(all: impl Iterator<Item = (&'static str, T)>) -> Self {
        let (words, meanings): (Vec<&str>, Vec<T>) = all.unzip();
        Self { automaton: AhoCorasick::new(words).expect("the phrases are few and short"), meanings }
    }

    /// Returns what the phrases mean that a text has, each with its bytes there, in the order in which they end. They
    /// may overlap.
    pub fn all_in(&self, text: &str) -> impl Iterator<Item = (T, Range<usize>)> {
        self.automaton.find_overlapping_iter(text).map(|found| (self.meanings[found.pattern()], found.range()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_wherever_they_stand() {
        let phrases = Phrases::new([("in millions", 1), ("(mil", 2), ("tsd", 3), ("mil", 4)].into_iter());
        let found: Vec<_> = phrases.all_in("(in millions, ätsd(mil").collect();
        assert_eq!(found, [(4, 4..7), (1, 1..12), (3, 16..19), (2, 19..23), (4, 20..23)]);
        assert_eq!(phrases.all_in("").next(), None);
    }
}
