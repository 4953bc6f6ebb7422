//! A source in lower case, in which words, codes and identifiers are found that stand there in whatever case.

use std::{ops::Range, sync::OnceLock};

use super::{
    borders::{begins, is_apart, is_apart_as, says_what_is_counted},
    phrases, quarters, shares, words,
};

/// Places of words that are looked at.
const MOST_PLACES: usize = 400;

/// Behind words for so many that do not say what numbers count.
const OF: [&str; 4] = [" of ", " de ", " von ", " di "];

/// A text in lower case, and where its sentences end there: some letters have a shorter or longer lower case.
#[derive(Debug)]
pub struct Lower {
    text: String,
    ends: Vec<usize>,
    /// The parts of a year that it names, read on first use.
    parts_of_year: OnceLock<Vec<(&'static str, usize)>>,
}

impl Lower {
    pub fn of(text: &str, sentences: &[Range<usize>]) -> Self {
        let (own, ends) = (String::with_capacity(text.len()), Vec::with_capacity(sentences.len()));
        let mut lower = Self { text: own, ends, parts_of_year: OnceLock::new() };
        for range in sentences {
            lower.text.push_str(&text[range.clone()].to_lowercase());
            lower.ends.push(lower.text.len());
        }
        lower
    }

    /// Returns the sentences with a part, in order, where it stands between such parts of the text as `is_it` asks for.
    pub fn sentences_where(&self, part: &str, is_it: impl Fn(&str, &str) -> bool) -> impl Iterator<Item = usize> {
        let places = self.text.match_indices(part).take(MOST_PLACES).map(|(at, _)| at);
        let places = places.filter(move |at| is_it(&self.text[..*at], &self.text[at + part.len()..]));
        places.map(|at| self.sentence_at(at))
    }

    /// Returns the shares in per cent, in millionths, that it says in words, in no order, each with its sentence.
    pub fn shares(&self) -> impl Iterator<Item = (i128, usize)> {
        shares::shares(&self.text).map(|(share, at)| (share, self.sentence_at(at)))
    }

    /// Returns how many the numbers of tables may count, in no order, each with the sentence that may be the head.
    pub fn heads(&self) -> impl Iterator<Item = (i128, usize)> {
        phrases::heads(&self.text).map(|(multiple, at)| (multiple, self.sentence_at(at)))
    }

    /// Returns how many single words say that numbers count, which do not say how many there are, as in `thousands of
    /// boats`.
    pub fn multiples(&self) -> impl Iterator<Item = i128> {
        let is_of_all = |behind: &str| OF.iter().any(|of| behind.starts_with(of));
        // `万亿` is neither of the two.
        let is_part = |before: &str, behind: &str| {
            behind.starts_with(words::is_sign_of_multiple) || before.ends_with(words::is_sign_of_multiple)
        };
        let is_it = move |(_, at): &(i128, Range<usize>)| {
            let (before, behind) = (&self.text[..at.start], &self.text[at.end..]);
            says_what_is_counted(before, behind) && !is_of_all(behind) && !is_part(before, behind)
        };
        phrases::multiples_in(&self.text).filter(is_it).map(|(multiple, _)| multiple)
    }

    fn sentence_at(&self, byte: usize) -> usize {
        self.ends.partition_point(|end| *end <= byte)
    }

    /// Returns the sentence in which one of the words stands by itself or begins a longer one.
    pub fn sentence_with_beginning(&self, words: &[&str]) -> Option<usize> {
        words.iter().find_map(|word| self.sentences_where(word, |before, _| begins(before)).next())
    }

    /// Returns the sentence that names the part of a year with this code in words.
    pub fn sentence_with_part_of_year(&self, code: &str) -> Option<usize> {
        if !quarters::is_part_of_year(code) {
            return None;
        }
        let parts = self.parts_of_year.get_or_init(|| self.read_parts_of_year());
        parts.iter().find(|(known, _)| *known == code).map(|(_, sentence)| *sentence)
    }

    /// Returns the parts of a year that it names, each with one sentence that does.
    fn read_parts_of_year(&self) -> Vec<(&'static str, usize)> {
        let mut found: Vec<(&'static str, usize)> = Vec::new();
        for (code, at) in quarters::named(&self.text) {
            let (before, behind) = (&self.text[..at.start], &self.text[at.end..]);
            let stands =
                || is_apart_as(&self.text[at.clone()], before, behind) && !quarters::ends_with_first_parts(before);
            if !found.iter().any(|(known, _)| *known == code) && stands() {
                found.push((code, self.sentence_at(at.start)));
            }
        }
        found
    }

    /// Returns the sentence with an identifier: a hash may be shortened.
    pub fn sentence_with_identifier(&self, identifier: &str) -> Option<usize> {
        let is_hash = !identifier.starts_with("0x") && !identifier.contains('-');
        let is_it = |before: &str, behind: &str| is_apart(before, if is_hash { "" } else { behind });
        self.sentences_where(identifier, is_it).next()
    }
}
