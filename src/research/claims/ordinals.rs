//! Ordinals in words and Roman figures of a source, and which numbers of a statement they may stand for: those that
//! number something (`19th`, `Article 5`), and none that count (`2 boats`).

use std::ops::Range;

use super::{
    dates,
    keys::{WordKey, word_keys},
    tokens::{Token, tokens},
    words::{self, ONE},
};

/// Tokens on each side of an ordinal, or before a number, that may be the word that it numbers.
const BESIDE: usize = 2;
/// Letters of the longest ending of an ordinal behind a hyphen: `19-го`.
const LONGEST_ENDING: usize = 3;

/// An ordinal or Roman figure of a text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ordinal {
    /// What it counts to, in millionths.
    pub value: i128,
    /// Its first byte.
    pub at: usize,
    /// The words around it.
    beside: Vec<WordKey>,
}

/// How a statement numbers something.
#[derive(Debug, PartialEq, Eq)]
pub enum Numbering {
    /// As an ordinal or a part of a fraction: `19th`, `19.`, `2/3`.
    Ordinal,
    /// Behind words, of which a source has one beside its ordinal; what is known to be numbered may have another
    /// name there, in another language.
    Behind { words: Vec<WordKey>, is_known: bool },
}

impl Numbering {
    /// Returns whether an ordinal of a text may be meant; `has_word` says which words the text has.
    pub fn is_of(&self, ordinal: &Ordinal, has_word: impl Fn(WordKey) -> bool) -> bool {
        match self {
            Self::Ordinal => true,
            Self::Behind { words, is_known } => {
                let is_elsewhere = || words.iter().any(|word| has_word(*word));
                words.iter().any(|word| ordinal.beside.contains(word)) || *is_known && !is_elsewhere()
            }
        }
    }
}

/// Returns the ordinals and Roman figures of a text, by what they count to.
pub fn ordinals(text: &str) -> Vec<Ordinal> {
    let tokens = tokens(text);
    let ordinal = |at: usize| {
        let value = value(&tokens, at)?;
        let (before, after) =
            (&tokens[at.saturating_sub(BESIDE)..at], &tokens[at + 1..tokens.len().min(at + 1 + BESIDE)]);
        let beside = [before, after].into_iter().flat_map(word_keys).map(|(key, _)| key).collect();
        Some(Ordinal { value, at: tokens[at].at, beside })
    };
    let mut ordinals: Vec<Ordinal> = (0..tokens.len()).filter_map(ordinal).collect();
    ordinals.sort_unstable();
    ordinals
}

/// Returns what a word counts to that is an ordinal or in Roman figures, alone or behind `twenty-`.
fn value(tokens: &[Token<'_>], at: usize) -> Option<i128> {
    let token = tokens[at];
    let lower = token.text.to_lowercase();
    let value = words::ordinal(&lower).or_else(|| roman(tokens, at)).filter(|_| token.is_word())?;
    let tens = || {
        let [tens, mark] = tokens.get(at.checked_sub(2)?..at)? else { return None };
        let tens = words::number(&tens.text.to_lowercase()).filter(|_| mark.is('-'))?;
        ((20 * ONE..100 * ONE).contains(&tens) && value < 10 * ONE).then_some(tens + value)
    };
    Some(tens().unwrap_or(value))
}

/// Reads Roman figures; a single one is a letter but behind a word that it numbers: `Article V`.
fn roman(tokens: &[Token<'_>], at: usize) -> Option<i128> {
    let text = tokens[at].text;
    let is_one = text.chars().filter(|char| char.is_uppercase()).count() == 1;
    let before = || at.checked_sub(1).map(|before| tokens[before].text.to_lowercase());
    words::roman(text).filter(|_| !is_one || before().is_some_and(|before| words::is_numbered(&before)))
}

/// Returns how the number at these bytes of a statement with these tokens numbers something; `None` of one that counts.
pub fn numbering(tokens: &[Token<'_>], place: &Range<usize>) -> Option<Numbering> {
    let before = &tokens[..tokens.partition_point(|token| token.at < place.start)];
    let after = &tokens[tokens.partition_point(|token| token.at < place.end)..];
    let is_fraction = || ends_fraction(before, place.start) || begins_fraction(after, place.end);
    if is_ordinal(after, place.end) || is_fraction() || is_century(after) {
        return Some(Numbering::Ordinal);
    }
    behind(before)
}

/// Returns whether a text ends with a word that says what the number behind it is that of: `Article 33`, `Art. 33`.
pub fn ends_with_label(text: &str) -> bool {
    let label = text.trim_end_matches([' ', '.']).rsplit(|char: char| !char.is_alphabetic()).next().unwrap_or_default();
    words::is_numbered(&label.to_lowercase())
}

/// Returns whether what follows a number makes an ordinal of it: `19th`, `19. Jahrhundert`, `19-го`.
fn is_ordinal(after: &[Token<'_>], end: usize) -> bool {
    let [first, rest @ ..] = after else { return false };
    let next = rest.first().filter(|next| next.is_word());
    let is_next = |is_it: &dyn Fn(&Token<'_>) -> bool| next.is_some_and(is_it);
    let is_ending = |token: &Token<'_>| {
        let is_short = token.text.chars().count() <= LONGEST_ENDING;
        first.end() == token.at && is_short && token.text.chars().all(|char| ('а'..='я').contains(&char))
    };
    let lower = first.text.to_lowercase();
    first.at == end
        && (dates::is_ordinal(&lower)
            || words::is_ordinal_ending(&lower)
            || first.is('.') && is_next(&|token| token.at > first.end())
            || first.is('-') && is_next(&is_ending))
}

fn is_century(after: &[Token<'_>]) -> bool {
    after.first().is_some_and(|token| words::is_century(&token.text.to_lowercase()))
}

fn ends_fraction(before: &[Token<'_>], start: usize) -> bool {
    matches!(before, [.., over, mark] if over.is_number() && mark.is('/') && over.end() == mark.at && mark.end() == start)
}

fn begins_fraction(after: &[Token<'_>], end: usize) -> bool {
    matches!(after, [mark, under, ..] if mark.is('/') && under.is_number() && mark.at == end && mark.end() == under.at)
}

/// Reads the words in front of a number that it may number: `Article 5`, `Art. 5`, `World War 2`, `Henry 8`.
fn behind(before: &[Token<'_>]) -> Option<Numbering> {
    let (label, is_shortened) = match before {
        [.., label, mark] if mark.is('.') && label.is_word() => (before.len() - 2, true),
        [.., label] if label.is_word() => (before.len() - 1, false),
        _ => return None,
    };
    let text = before[label].text;
    let is_known = words::is_numbered(&text.to_lowercase());
    let is_name = text.starts_with(char::is_uppercase) && !is_shortened;
    let words = || word_keys(&before[label.saturating_sub(BESIDE - 1)..=label]).map(|(key, _)| key).collect();
    (is_known || is_name).then(|| Numbering::Behind { words: words(), is_known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_numbers_something_does_not_count() {
        let of = |statement: &str, number: &str| {
            let at = statement.find(number).unwrap();
            numbering(&tokens(statement), &(at..at + number.len()))
        };
        for ordinal in ["the 19th century", "das 19. Jahrhundert", "le 19e siècle", "19-го мая", "19 век", "19世纪"]
        {
            assert_eq!(of(ordinal, "19"), Some(Numbering::Ordinal), "{ordinal}");
        }
        assert_eq!([of("2/3 sank", "2"), of("2/3 sank", "3")], [(); 2].map(|()| Some(Numbering::Ordinal)));
        for numbered in ["World War 2 ended", "Art. 2 says", "see part 2", "King Henry 2 came", "第2章"] {
            assert!(matches!(of(numbered, "2"), Some(Numbering::Behind { .. })), "{numbered}");
        }
        for counted in ["It lost 2 boats", "2 boats sank", "The cost: 2 boats", "It lost 2. ", "It is Norway. 2 boats"]
        {
            assert_eq!(of(counted, "2"), None, "{counted}");
        }
    }
}
