//! Where sentences end: Unicode's borders, but for abbreviations and ordinals, which those take for ends.

use unicode_segmentation::UnicodeSegmentation;

use super::start;

const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "apr", "art", "aug", "bzw", "ca", "cf", "co", "corp", "dec", "dez", "dept", "dr", "e.g", "eg",
    "est", "etc", "ev", "evtl", "feb", "fig", "figs", "gen", "ggf", "hr", "i.e", "ie", "inc", "inkl", "jan", "jr",
    "jul", "jun", "ltd", "mme", "mr", "mrs", "ms", "mt", "nov", "nr", "okt", "oct", "p", "pp", "prof", "rd", "s",
    "sen", "sep", "sept", "sog", "sr", "sra", "st", "std", "str", "tel", "u.a", "u.k", "u.s", "vgl", "vol", "vs",
    "z.b", "d.h", "zzgl", "abschn", "chap", "ext", "para", "sect", "ziff", "exkl", "insg", "lt", "z.t", "i.d.r",
    "bijv", "blz", "núm", "pág", "págs", "aprox", "pag", "sig", "dott", "стр", "рис", "табл", "т.е", "проф", "акад",
];

/// Signs behind the end of a sentence that belong to it.
pub const CLOSING: [char; 9] = ['"', '”', '’', '»', ')', '」', '』', '“', '\''];

/// Abbreviations in front of a number, which are words of their own elsewhere: `no. 17`, `Abs. 3`, `env. 400`.
const BEFORE_NUMBERS: &[&str] = &["no", "abs", "env", "max", "min", "mind", "rs", "fr", "sfr"];

/// Abbreviations of how much a number counts, and of what, where nouns have capital letters. The amount goes on behind
/// them: `4,2 Mrd. Euro`, `413 Fr. Miete`.
const OF_AMOUNTS: &[&str] = &["mio", "mia", "mrd", "tsd", "mill", "fr", "sfr", "rp", "stk"];
/// Those of languages where it goes on with a capital letter only if that is of a currency: `5 bn. USD`. Else a
/// sentence ends: `It cost $5bn. Revenue fell.`
const OF_MONEY: &[&str] = &["mln", "mlrd", "mld", "mds", "md", "bn", "bln", "mn", "тыс", "млн", "млрд", "трлн"];
/// Words of amounts in a row: `5 Mio. Fr.`
const MOST_OF_AMOUNT: usize = 3;

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
        if ends_between(paragraph[begin..end].trim_end(), &paragraph[end..]) {
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
pub fn ends_between(before: &str, after: &str) -> bool {
    if after.trim_start().starts_with(char::is_lowercase) {
        return false;
    }
    let bare = before.trim_end_matches(CLOSING);
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
    if is_letter {
        return !begins_small(after, 3);
    }
    let is_number = after.starts_with(|char: char| char.is_ascii_digit());
    if ABBREVIATIONS.contains(&word.as_str()) || is_number && BEFORE_NUMBERS.contains(&word.as_str()) {
        return true;
    }
    if is_of_amount(&word, OF_AMOUNTS, words.clone()) {
        return !begins_small(after, 2);
    }
    if is_of_amount(&word, OF_MONEY, words.clone()) {
        let currency = super::words(start(after, 16)).first().copied().unwrap_or_default();
        return currency == "Euro" || currency.chars().count() == 3 && currency.chars().all(char::is_uppercase);
    }
    let is_ordinal = (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if !is_ordinal {
        return false;
    }
    let article = words.next().map(|word| start(word, 8).to_lowercase()).unwrap_or_default();
    begins_with_month(after) || BEFORE_ORDINALS.contains(&article.as_str())
}

/// Returns whether the text begins with a small word of so many bytes at least; in capitals, such as `US` and `EU`, it
/// is none.
fn begins_small(text: &str, least: usize) -> bool {
    let words = super::words(start(text, 16));
    let is_capitals = |word: &str| word.len() > 1 && word.chars().all(char::is_uppercase);
    let first = words.first().filter(|first| !is_capitals(first)).map(|first| first.to_lowercase());
    first.is_some_and(|first| first.len() >= least && super::is_stop_word_of_any(&first))
}

/// Returns whether the word is one of `abbreviations` that belongs to the number glued to it or before it; `before` has
/// the words before, the last one first.
fn is_of_amount<'a>(word: &str, abbreviations: &[&str], before: impl Iterator<Item = &'a str>) -> bool {
    let bare = word.trim_start_matches(|char: char| !char.is_alphabetic());
    let of_amount = |word: &str| abbreviations.contains(&word);
    // `5 Mio. Fr.`
    let mut counted =
        before.take(MOST_OF_AMOUNT).skip_while(|word| of_amount(&word.trim_end_matches('.').to_lowercase()));
    // `Umsatz in Mio. Euro: 412`
    let is_counted = |word: &str| word == "in" || word.ends_with(|char: char| char.is_numeric());
    of_amount(bare) && (bare.len() < word.len() || counted.next().is_some_and(is_counted))
}

/// Returns whether the text begins with the name of a month.
pub(super) fn begins_with_month(text: &str) -> bool {
    let begin = start(text, 12).to_lowercase();
    MONTHS.iter().any(|month| begin.starts_with(month))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

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
            "Es kostet 4,2 Mrd. Euro, ca. 5 Mio. Kronen und 3–4 Tsd. Franken. Am Ende 7 Mrd. Im Jahr 2030 nicht.",
            &[
                "Es kostet 4,2 Mrd. Euro, ca. 5 Mio. Kronen und 3–4 Tsd. Franken.",
                "Am Ende 7 Mrd.",
                "Im Jahr 2030 nicht.",
            ],
        );
        check(
            "Das sind 5 Mio. Fr. Miete. Доход 412 млн. USD. Laut Abs. 3 env. 400. It took a min. The old mill. Boats.",
            &[
                "Das sind 5 Mio. Fr. Miete.",
                "Доход 412 млн. USD.",
                "Laut Abs. 3 env. 400.",
                "It took a min.",
                "The old mill.",
                "Boats.",
            ],
        );
        check(
            "It cost $5bn. Revenue fell by £413mn. Ministers paid 5 bn. USD and 7 mln. Euro.",
            &["It cost $5bn.", "Revenue fell by £413mn.", "Ministers paid 5 bn. USD and 7 mln. Euro."],
        );
        check(
            "成人票6欧元\u{3002}儿童免费\u{ff01}真的吗\u{ff1f}是的吧",
            &["成人票6欧元\u{3002}", "儿童免费\u{ff01}", "真的吗\u{ff1f}", "是的吧"],
        );
    }

    #[test]
    fn words_of_amounts_take_time_that_grows_with_their_number() {
        for shape in ["Mio. ", "bn. USD ", "5 Mio. "] {
            growth::check(shape, 8_000, |text| drop(sentences(&format!("Das sind 5 {text}"))));
        }
    }
}
