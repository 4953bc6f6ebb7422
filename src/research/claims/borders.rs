//! Whether what stands between two parts of a text is a word by itself.

use super::words;
use crate::text::{is_in, is_unspaced};

/// Bytes before words that are looked at for another one.
const NEAR: usize = 24;
/// Before words for so many that say how many of them there are.
const HOW_MANY: &str = "a an several many some few half halbe halben eine einer eines einige mehrere un une plusieurs varios alcuni vários enkele";

/// Returns whether what stands behind this part of a text begins a word.
pub fn begins(before: &str) -> bool {
    is_end(before.chars().next_back())
}

/// Returns whether what stands between these parts of a text is no part of a longer word.
pub fn stands_alone(before: &str, behind: &str) -> bool {
    begins(before) && is_end(behind.chars().next())
}

/// Returns whether words for so many between these parts of a text may say what numbers count, and are not those of a
/// single number, as in `4 million boats` and `two million`.
pub fn says_what_is_counted(before: &str, behind: &str) -> bool {
    let near = before[before.ceil_char_boundary(before.len().saturating_sub(NEAR))..].trim_end();
    let last = near.rsplit(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
    let says_how_many = || words::number(last).is_some() || is_in(HOW_MANY, last);
    stands_alone(before, behind) && !near.ends_with(char::is_numeric) && !says_how_many()
}

fn is_end(char: Option<char>) -> bool {
    char.is_none_or(|char| !char.is_alphabetic() || is_unspaced(char))
}

/// Returns whether what stands between these parts of a text is no part of a longer word or number, but for a fiscal
/// year: `Q3FY25`, `FY25Q3`.
pub fn is_beside_year(before: &str, behind: &str) -> bool {
    let begins_year =
        behind.strip_prefix("fy").is_some_and(|year| year.starts_with(|char: char| char.is_ascii_digit()));
    let name = before.trim_end_matches(|char: char| char.is_ascii_digit());
    let ends_year = name.len() < before.len() && name.ends_with("fy");
    is_apart(if ends_year { "" } else { before }, if begins_year { "" } else { behind })
}

/// Returns the same of these words: those of a script without spaces end where another begins, as in `四季度GDP`.
pub fn is_apart_as(words: &str, before: &str, behind: &str) -> bool {
    let (starts, ends) = (words.starts_with(is_unspaced), words.ends_with(is_unspaced));
    is_apart(if starts { "" } else { before }, if ends { "" } else { behind })
}

/// Returns whether what stands between these parts of a text is no part of a longer word or number.
pub fn is_apart(before: &str, behind: &str) -> bool {
    let is_end = |char: Option<char>| char.is_none_or(|char| !char.is_alphanumeric() || is_unspaced(char));
    is_end(before.chars().next_back()) && is_end(behind.chars().next())
}
