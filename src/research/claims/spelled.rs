//! Whether a page has a word of a name as it is spelled, and not another one that begins with the same letters:
//! `Australia` of a page on Austria; or the same of another side: `South Korea` of a page on North Korea.

use std::collections::BTreeSet;

use super::{
    keys::{WordKey, word_key},
    page::Page,
    tokens::{Token, tokens},
};
use crate::text::{self, is_in};

/// Sentences with words that begin the same that are looked at.
const MOST_PLACES: usize = 64;
/// Endings that a name takes or leaves: of the genitive, of several, of what comes from there.
const ENDINGS: &str = "s es n an ian ean ese ish ic er ers i e a o y";
/// Pairs of endings, of a place and of what comes from there.
const PAIRS: &[(&str, &str)] = &[
    ("a", "an"),
    ("a", "ian"),
    ("o", "an"),
    ("e", "an"),
    ("e", "ian"),
    ("y", "ian"),
    ("i", "ian"),
    ("a", "ese"),
    ("ia", "n"),
];

/// Sides that tell one name from another, a line for each.
const SIDES: [&str; 4] =
    ["north nord norte noord", "south sud sur sul zuid", "east est este leste oost", "west ouest oeste ovest"];
/// Between a name and its side: `Corée du Nord`.
const OF_SIDE: &str = "du de del do da della";
/// Tokens behind a name until its side.
const MOST_BEHIND: usize = 2;

/// A word of a name.
#[derive(Clone, Debug)]
pub struct NameWord {
    key: WordKey,
    folded: String,
    side: Option<usize>,
}

impl NameWord {
    /// Reads the word at a token.
    pub fn of(tokens: &[Token<'_>], at: usize) -> Option<Self> {
        let text = tokens.get(at)?.text;
        Some(Self { key: word_key(text)?, folded: folded(text), side: side(tokens, at) })
    }

    pub fn key(&self) -> WordKey {
        self.key
    }

    /// Returns whether a page has it, as far as the sentences with words that begin the same tell.
    pub fn stands_in(&self, page: &Page) -> bool {
        let (mut is_spelled, mut is_plain, mut sides) = (page.is_around(self.key), false, BTreeSet::new());
        for sentence in page.sentences_of(self.key).take(MOST_PLACES) {
            let tokens = tokens(page.sentence(sentence));
            let is_it = |at: &usize| word_key(tokens[*at].text) == Some(self.key) && self.is_same(tokens[*at].text);
            for at in (0..tokens.len()).filter(is_it) {
                is_spelled = true;
                match side(&tokens, at) {
                    Some(side) => _ = sides.insert(side),
                    None => is_plain = true,
                }
            }
            if is_spelled && self.side.is_none_or(|own| is_plain || sides.contains(&own)) {
                return true;
            }
        }
        is_spelled && (is_plain || sides.is_empty() || self.side.is_none_or(|own| sides.contains(&own)))
            || page.sentences_of(self.key).nth(MOST_PLACES).is_some()
    }

    /// Returns whether another word is this one, or one made of it. A word without a capital is no name.
    fn is_same(&self, other: &str) -> bool {
        !other.starts_with(char::is_uppercase) || are_one(&self.folded, &folded(other))
    }
}

/// Returns a name without what other spellings of it leave out: diacritics, doubled letters, the ways to write an `i`.
fn folded(word: &str) -> String {
    let letters = word.chars().flat_map(char::to_lowercase).filter_map(text::fold);
    let plain = letters.map(|letter| if matches!(letter, 'y' | 'j') { 'i' } else { letter });
    let mut folded = String::with_capacity(word.len());
    for letter in plain {
        if !folded.ends_with(letter) {
            folded.push(letter);
        }
    }
    folded
}

/// Returns whether two words are one name, but for an ending.
fn are_one(one: &str, other: &str) -> bool {
    let common: usize = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let (one, other) = (&one[common..], &other[common..]);
    match (one, other) {
        ("", end) | (end, "") => end.is_empty() || is_in(ENDINGS, end),
        _ => PAIRS.iter().any(|pair| *pair == (one, other) || *pair == (other, one)),
    }
}

/// Returns the side that stands beside a name: before it with a capital, or behind it.
fn side(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let of_word = |token: &Token<'_>| {
        let lower = token.text.to_lowercase();
        SIDES.iter().position(|words| is_in(words, &lower)).filter(|_| token.text.starts_with(char::is_uppercase))
    };
    let is_hyphen = |at: usize| tokens.get(at).is_some_and(|token| token.is('-'));
    let before = at.checked_sub(1).map(|before| if is_hyphen(before) { before.saturating_sub(1) } else { before });
    let behind = || {
        let is_joint = |token: &&Token<'_>| is_in(OF_SIDE, token.text) || token.is('-');
        tokens.get(at + 1).filter(is_joint)?;
        of_word(tokens.get(at + MOST_BEHIND)?)
    };
    before.and_then(|before| of_word(tokens.get(before)?)).or_else(behind)
}

#[cfg(test)]
mod tests {
    use super::{super::names, *};

    #[test]
    fn names_are_one_but_for_endings() {
        let are = |one: &str, other: &str| are_one(&folded(one), &folded(other));
        for (one, other) in [
            ("Alvarez", "Álvarez"),
            ("Zelensky", "Zelenskyy"),
            ("Zelenskiy", "Zelensky"),
            ("Mohammed", "Mohamed"),
            ("Mexico", "Mexican"),
            ("Austria", "Austrian"),
            ("Canada", "Canadian"),
            ("Johnson", "Johnsons"),
        ] {
            assert!(are(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("Austria", "Australia"),
            ("Alvarez", "Alvarado"),
            ("Johnson", "Johnston"),
            ("William", "Williamson"),
            ("Niger", "Nigeria"),
            ("Martine", "Martino"),
            ("Christina", "Christine"),
            ("Alexandra", "Alexandre"),
            ("Corporate", "Corporation"),
            ("Martin", "Martinal"),
            ("Reuter", "Reuterion"),
        ] {
            assert!(!are(one, other), "{one} {other}");
        }
    }

    #[test]
    fn pages_have_names_as_they_are_spelled() {
        let page = Page::read(
            "The Bank of Austria, said Kenneth Alvarez. Boris Johnson was in North Korea. Mohammed Zelensky came from West \
             Africa. The Mexican embassy in northern Germany agreed. La Corée du Nord, selon Jean Martinez."
                .into(),
            "",
        );
        let stands = |name: &str| {
            let tokens = tokens(name);
            let telling = (0..tokens.len()).filter(|at| names::is_telling(tokens[*at].text));
            telling.filter_map(|at| NameWord::of(&tokens, at)).all(|word| word.stands_in(&page))
        };
        for name in [
            "Austria",
            "Kenneth Alvarez",
            "Boris Johnson",
            "North Korea",
            "Mohamed Zelenskyy",
            "West Africa",
            "Mexico",
            "Germany",
            "Northern Germany",
            "Corée du Nord",
            "Jean Martinez",
        ] {
            assert!(stands(name), "{name}");
        }
        for name in [
            "Australia",
            "Kenneth Alvarado",
            "Boris Johnston",
            "South Korea",
            "South Africa",
            "Corée du Sud",
            "Jean Martineau",
        ] {
            assert!(!stands(name), "{name}");
        }
    }
}
