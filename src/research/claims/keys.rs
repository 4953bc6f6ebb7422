//! What words are known by, so that their endings and diacritics do not count.

use super::tokens::Token;
use crate::text::{self, is_unspaced};

/// Letters of a word that count, so that its endings do not.
pub const STEM: usize = 5;
/// Letters of the shortest word that says something.
pub const SHORTEST: usize = 4;

/// What a word is known by: its first letters, or, in a script without spaces, two characters.
pub type WordKey = u64;

/// Returns the words of a text by their first letters in lower case, each with the byte at which it begins; of
/// scripts without spaces, by two characters in a row.
pub fn word_keys<'a>(tokens: &'a [Token<'a>]) -> impl Iterator<Item = (WordKey, usize)> + 'a {
    let is_single = |token: &&Token<'_>| token.is_word() && token.text.starts_with(is_unspaced);
    let words = tokens.iter().enumerate().filter(|(_, token)| token.is_word());
    words.filter_map(move |(at, token)| {
        let key = match is_single(&token) {
            true => {
                let second = tokens.get(at + 1).filter(is_single).filter(|second| second.at == token.end())?;
                key(token.text.chars().chain(second.text.chars()))
            }
            false => word_key(token.text)?,
        };
        Some((key, token.at))
    })
}

/// Returns the key of a word in letters with spaces around it, without their diacritics, which some sources leave
/// out; `None` of one that is too short.
pub fn word_key(word: &str) -> Option<WordKey> {
    let start = &word.as_bytes()[..word.len().min(STEM)];
    if start.len() < SHORTEST {
        return None;
    }
    if start.is_ascii() {
        return Some(key(start.iter().map(|byte| char::from(byte.to_ascii_lowercase()))));
    }
    let letters = || word.chars().flat_map(char::to_lowercase).filter_map(text::fold).take(STEM);
    letters().nth(SHORTEST - 1)?;
    Some(key(letters()))
}

/// Returns the hash of some letters, the same in each process. Fast rather than safe from those who look for equal
/// ones: what they could gain, a page gets by simply stating what it wants to.
pub fn key(letters: impl Iterator<Item = char>) -> WordKey {
    const MIX: u64 = 0x517c_c1b7_2722_0a95;
    letters.fold(0, |key: u64, letter| (key.rotate_left(5) ^ u64::from(u32::from(letter))).wrapping_mul(MIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_by_its_first_letters_in_any_case() {
        let letters = |text: &str| Some(key(text.chars()));
        let check = |word: &str, expected: Option<WordKey>| assert_eq!(word_key(word), expected, "{word}");
        check("GATE", letters("gate"));
        check("Gatekeepers", letters("gatek"));
        check("gatekéépers", letters("gatek"));
        check("GATÉS", letters("gates"));
        check("Ünder", letters("under"));
        check("Erdog\u{306}an", letters("erdog"));
        check("ВОРОТА", letters("ворот"));
        check("été", None);
        check("sea", None);
    }
}
