//! Numbers of versions, chapters and the like, which are no amounts: 3.10 comes behind 3.9, and is another one than
//! 3.1.

use std::ops::Range;

use super::{
    figure::{Number, Precision},
    tokens::Token,
};
use crate::text;

/// Before the number of a version.
const VERSION: &str = "version versions versión versione versão v ver release";
/// Letters of the longest word in capitals before numbers that are amounts, such as `HR 1.50` or `CI 2.10`.
const LONGEST_MEASURE: usize = 3;
/// Digits of the longest first part of a version behind a name.
const LONGEST_MAJOR: usize = 2;

/// Returns the number at these bytes of a statement with these tokens as it is written, if it is one of a version: of
/// two parts, behind such a word or a name.
pub fn version<'a>(tokens: &[Token<'a>], place: &Range<usize>, number: &Number) -> Option<&'a str> {
    let at = tokens.partition_point(|token| token.at < place.start);
    let (before, token) = (tokens.get(at.checked_sub(1)?)?, tokens.get(at)?);
    let (whole, part) = token.text.split_once('.')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_written_so = are_digits(whole) && are_digits(part) && !part.trim_matches('0').is_empty();
    // What may be thousands too, such as `12.500`, has two readings.
    let is_bare = number.unit.is_none() && !number.is_percent && number.multiple == 1 && number.readings.len() == 1;
    let lower = before.text.to_lowercase();
    let is_named = || {
        let is_measure =
            before.text.chars().all(char::is_uppercase) && before.text.chars().nth(LONGEST_MEASURE).is_none();
        let is_small = || text::is_stop_word_of_any(&lower);
        let is_name = before.is_word() && before.text.starts_with(char::is_uppercase);
        is_name && !is_measure && whole != "0" && whole.len() <= LONGEST_MAJOR && !is_small()
    };
    let is_version = is_written_so && is_bare && number.precision == Precision::Exact;
    (is_version && before.end() + 1 >= token.at && (text::is_in(VERSION, &lower) || is_named())).then_some(token.text)
}

/// Returns whether a version stands in a text, alone or with more parts: `3.10` and `3.10.4`.
pub fn stands_in(version: &str, text: &str) -> bool {
    let is_apart = |at: usize| {
        let mut before = text[..at].chars().rev();
        let is_behind_part = match before.next() {
            Some('.') => before.next().is_some_and(char::is_numeric),
            before => before.is_some_and(char::is_numeric),
        };
        !is_behind_part && !text[at + version.len()..].starts_with(char::is_numeric)
    };
    text.match_indices(version).any(|(at, _)| is_apart(at))
}
