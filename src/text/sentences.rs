//! Where sentences end: Unicode's borders, but for abbreviations and ordinals, which those take for ends.

use unicode_segmentation::UnicodeSegmentation;

use super::{Language, start};

const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "apr", "art", "aug", "bzw", "ca", "cf", "co", "corp", "dec", "dez", "dept", "dr", "e.g", "eg",
    "est", "etc", "ev", "evtl", "feb", "fig", "figs", "gen", "ggf", "hr", "i.e", "ie", "inc", "inkl", "jan", "jr",
    "jul", "jun", "ltd", "mme", "mr", "mrs", "ms", "mt", "nov", "nr", "no", "okt", "oct", "p", "pp", "prof", "rd", "s",
    "sen", "sep", "sept", "sog", "sr", "sra", "st", "std", "str", "tel", "u.a", "u.k", "u.s", "vgl", "vol", "vs",
    "z.b", "d.h", "zzgl", "abschn", "chap", "ext", "para", "sect", "ziff",
];

/// The first letters of months, with which dates go on.
const MONTHS: &[&str] =
    &["jan", "feb", "mar", "mär", "apr", "may", "mai", "jun", "jul", "aug", "sep", "oct", "okt", "nov", "dec", "dez"];

/// German words before an ordinal, whose full stop ends nothing.
const BEFORE_ORDINALS: &[&str] =
    &["am", "ab", "bis", "das", "dem", "den", "der", "des", "die", "im", "vom", "zum", "zur", "seit"];

/// Returns the sentences of a paragraph, trimmed, none empty.
pub fn sentences(paragraph: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut begin = 0;
    let pieces = paragraph.split_sentence_bound_indices().flat_map(|(at, piece)| before_numbers(at, piece));
    for end in pieces {
        if ends(paragraph[begin..end].trim_end(), &paragraph[end..]) {
            sentences.push(paragraph[begin..end].trim());
            begin = end;
        }
    }
    sentences.push(paragraph[begin..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Finds where a piece of text ends, and each place in it where a sentence may begin with a number: Unicode joins `It
/// broke. 64 metres are missing.`
fn before_numbers(at: usize, piece: &str) -> impl Iterator<Item = usize> {
    let is_word = |text: &str| text.chars().rev().take(4).filter(|char| char.is_lowercase()).count() == 4;
    let begins = piece.match_indices(". ").filter_map(move |(stop, mark)| {
        let next = stop + mark.len();
        let is_number = piece[next..].starts_with(|char: char| char.is_ascii_digit());
        (is_number && is_word(&piece[..stop])).then_some(at + next)
    });
    begins.chain(std::iter::once(at + piece.len()))
}

/// Returns whether a sentence ends between the two.
fn ends(before: &str, after: &str) -> bool {
    if after.trim_start().starts_with(char::is_lowercase) {
        return false;
    }
    let bare = before.trim_end_matches(['"', '”', '’', '»', ')', '」', '』', '“', '\'']);
    match bare.strip_suffix('.') {
        Some(bare) => !is_abbreviated(bare, after.trim_start()),
        None => true,
    }
}

/// Returns whether the full stop after `before` belongs to its last word.
fn is_abbreviated(before: &str, after: &str) -> bool {
    let mut words = before.rsplit(char::is_whitespace).filter(|word| !word.is_empty());
    let word = words.next().unwrap_or_default().trim_start_matches(['(', '"', '“', '„']);
    if word.len() > 16 {
        return false;
    }
    let word = word.to_lowercase();
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    // `in basement B. Until then`: what begins with a small word is a sentence, and no surname.
    let begins_small = || {
        let first = super::words(start(after, 16)).first().map(|first| first.to_lowercase());
        first.is_some_and(|first| first.len() > 2 && Language::ALL.iter().any(|of| super::is_stop_word(&first, *of)))
    };
    if is_letter && begins_small() {
        return false;
    }
    if is_letter || ABBREVIATIONS.contains(&word.as_str()) {
        return word != "no" || after.starts_with(|char: char| char.is_ascii_digit());
    }
    let is_ordinal = (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if !is_ordinal {
        return false;
    }
    let article = words.next().map(|word| start(word, 8).to_lowercase()).unwrap_or_default();
    begins_with_month(after) || BEFORE_ORDINALS.contains(&article.as_str())
}

/// Returns whether the text begins with the name of a month.
pub(super) fn begins_with_month(text: &str) -> bool {
    let begin = start(text, 12).to_lowercase();
    MONTHS.iter().any(|month| begin.starts_with(month))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_stops_inside_sentences_end_nothing() {
        let check = |text: &str, expected: &[&str]| assert_eq!(sentences(text), expected, "{text}");
        check(
            "It is 0.3 m/s. Dr. Anyango said so, e.g. on 9 March 2024. Then left.",
            &["It is 0.3 m/s.", "Dr. Anyango said so, e.g. on 9 March 2024.", "Then left."],
        );
        check(
            "Am 14. September 2026 war es so. Danach z. B. nicht. Am 3. Platz.",
            &["Am 14. September 2026 war es so.", "Danach z. B. nicht.", "Am 3. Platz."],
        );
        check(
            "He asked \"Why?\" and left. \"Gone.\" Yes! No.",
            &["He asked \"Why?\" and left.", "\"Gone.\"", "Yes!", "No."],
        );
        check(
            "It costs 1.35 million. See No. 17. No. That is it.",
            &["It costs 1.35 million.", "See No. 17.", "No.", "That is it."],
        );
        check(
            "It broke. 64 metres are missing, see chap. 12. In basement B. Until then call ext. 63. J. Lund left.",
            &[
                "It broke.",
                "64 metres are missing, see chap. 12.",
                "In basement B.",
                "Until then call ext. 63.",
                "J. Lund left.",
            ],
        );
        check(
            "成人票6欧元\u{3002}儿童免费\u{ff01}真的吗\u{ff1f}是的吧",
            &["成人票6欧元\u{3002}", "儿童免费\u{ff01}", "真的吗\u{ff1f}", "是的吧"],
        );
    }
}
