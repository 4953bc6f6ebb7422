//! Words that ask for the same thing, within a language and across languages: `thesaurus.txt`.
//!
//! Only words of questions in general, none of any subject: it helps to find `EUR 6` for "what does a ticket cost".

use std::{collections::HashMap, sync::LazyLock};

use super::{Language, stem};
use crate::domain::distinct;

const GROUPS: &str = include_str!("thesaurus.txt");

/// Returns the words beside `word` in its groups, in all languages, as written there; takes a stem of `language`.
pub fn related(stem: &str, language: Language) -> Vec<(&'static str, Language)> {
    let groups = INDEX.groups_of.get(&(language, stem.to_owned())).map(Vec::as_slice).unwrap_or_default();
    distinct(groups.iter().flat_map(|group| &INDEX.groups[*group]).copied())
}

/// The length that a part of a compound has to exceed to be looked for.
const LEAST_PART: usize = 5;

/// Finds words related to the parts of a German compound, as [`related`]: `genossenschaft` in `gezeitengenossenschaft`.
pub fn related_in_compound(compound: &str, language: Language) -> Vec<(&'static str, Language)> {
    if language != Language::German || compound.len() <= LEAST_PART + 3 {
        return Vec::new();
    }
    let parts = INDEX.groups_of.keys().filter(|(of, part)| {
        *of == language && part.len() > LEAST_PART && part.len() < compound.len() && compound.contains(part.as_str())
    });
    let mut words: Vec<(&'static str, Language)> = parts.flat_map(|(_, part)| related(part, language)).collect();
    words.sort_unstable_by_key(|(word, language)| (*word, language.code()));
    words.dedup();
    words
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::read);

struct Index {
    groups: Vec<Vec<(&'static str, Language)>>,
    groups_of: HashMap<(Language, String), Vec<usize>>,
}

impl Index {
    fn read() -> Self {
        let mut index = Self { groups: Vec::new(), groups_of: HashMap::new() };
        for line in GROUPS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let number = index.groups.len();
            let group: Vec<(&'static str, Language)> = line.split('|').flat_map(words_of).collect();
            for (word, language) in &group {
                index.groups_of.entry((*language, stem(word, *language))).or_default().push(number);
            }
            index.groups.push(group);
        }
        index
    }
}

/// Returns the words of `de: kosten preis`.
fn words_of(part: &'static str) -> Vec<(&'static str, Language)> {
    let Some((code, words)) = part.split_once(':') else { return Vec::new() };
    let language = Language::of_code(code.trim());
    language.map(|language| words.split_whitespace().map(|word| (word, language)).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cross_languages() {
        let words = |word: &str, language| -> Vec<&str> {
            related(&stem(word, language), language).into_iter().map(|(word, _)| word).collect()
        };
        assert!(words("costs", Language::English).contains(&"preis"));
        assert!(words("gekostet", Language::German).is_empty(), "no rule knows German participles");
        assert!(words("kosten", Language::German).contains(&"price"));
        assert!(words("herring", Language::English).is_empty());
    }

    #[test]
    fn every_line_is_read() {
        for line in GROUPS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            assert!(line.split('|').all(|part| !words_of(part).is_empty()), "{line}");
        }
    }
}
