//! Shares that a source says in words, in the languages that reports are written in, and which of these words are
//! none: `the second half of the year`, `a third party`.

use std::sync::LazyLock;

use super::{borders::stands_alone, lookup::Phrases, words::ONE};
use crate::text::is_in;

/// Shares in words, with the hundredths that each is, in hundredths of these.
const SHARES: &[(i128, &[&str])] = &[
    (
        5_000,
        &[
            "half",
            "halved",
            "halves",
            "hälfte",
            "halbiert",
            "halbierte",
            "moitié",
            "mitad",
            "metà",
            "metade",
            "helft",
            "половина",
            "половину",
            "su due",
            "sur deux",
            "de cada dos",
            "一半",
            "半数",
            "半分",
            "二分之一",
        ],
    ),
    (
        3_333,
        &[
            "a third",
            "one third",
            "one-third",
            "one in three",
            "ein drittel",
            "einem drittel",
            "einen drittel",
            "eines drittels",
            "jeder dritte",
            "jede dritte",
            "un tiers",
            "un tercio",
            "un terzo",
            "um terço",
            "een derde",
            "su tre",
            "sur trois",
            "de cada tres",
            "треть",
            "三分之一",
            "3分の1",
        ],
    ),
    (
        6_667,
        &[
            "two thirds",
            "two-thirds",
            "two in three",
            "zwei drittel",
            "deux tiers",
            "dos tercios",
            "due terzi",
            "dois terços",
            "twee derde",
            "две трети",
            "三分之二",
            "3分の2",
        ],
    ),
    (
        2_500,
        &[
            "a quarter",
            "one quarter",
            "one-quarter",
            "one in four",
            "ein viertel",
            "einem viertel",
            "eines viertels",
            "jeder vierte",
            "jede vierte",
            "un quart",
            "una cuarta parte",
            "un cuarto",
            "un quarto",
            "um quarto",
            "een kwart",
            "su quattro",
            "sur quatre",
            "de cada cuatro",
            "четверть",
            "四分之一",
            "4分の1",
        ],
    ),
    (
        7_500,
        &[
            "three quarters",
            "three-quarters",
            "three in four",
            "drei viertel",
            "dreiviertel",
            "trois quarts",
            "tres cuartas partes",
            "tres cuartos",
            "tre quarti",
            "três quartos",
            "driekwart",
            "три четверти",
            "四分之三",
            "4分の3",
        ],
    ),
    (
        2_000,
        &[
            "a fifth",
            "one fifth",
            "one-fifth",
            "one in five",
            "ein fünftel",
            "einem fünftel",
            "eines fünftels",
            "jeder fünfte",
            "jede fünfte",
            "un cinquième",
            "una quinta parte",
            "un quinto",
            "um quinto",
            "een vijfde",
            "su cinque",
            "sur cinq",
            "de cada cinco",
            "пятая часть",
            "五分之一",
            "5分の1",
        ],
    ),
    (
        4_000,
        &[
            "two fifths",
            "two-fifths",
            "two in five",
            "zwei fünftel",
            "deux cinquièmes",
            "dos quintos",
            "due quinti",
            "五分之二",
        ],
    ),
    (
        1_000,
        &[
            "a tenth",
            "one tenth",
            "one-tenth",
            "one in ten",
            "ein zehntel",
            "einem zehntel",
            "eines zehntels",
            "jeder zehnte",
            "jede zehnte",
            "un dixième",
            "una décima parte",
            "un decimo",
            "um décimo",
            "een tiende",
            "su dieci",
            "sur dix",
            "de cada diez",
            "十分之一",
            "10分の1",
        ],
    ),
];

/// Last words of those that are as well ordinals, or parts of an hour or a year: they are shares where it goes on with
/// what they are shares of.
const DOUBTFUL: &str = "half third quarter quarters fifth tenth tiers quart cinquième dixième cuarto quinto terzo quarto decimo décimo derde vijfde tiende";

/// Before words for a share that only count the parts of something: `the latter half`, `one and a half`.
const BEFORE_PARTS: &str = "first second 1st 2nd last latter past previous next early late erste ersten erster zweite zweiten zweiter letzten \
    première seconde deuxième primera segunda prima seconda primeira eerste tweede первая первой первую вторая второй вторую";
const BEFORE_HALF: &str = " and a";

/// Behind words for a share: what it is a share of.
const OF: &str = "of de des du d del della delle dei degli dell di do da dos das van";
/// Other small words there.
const BEHIND: &str = "the its their his her our all these those that this are were is was be been have has had in by from to at on than and or but as \
    who which when while since between after before during if not more less lower higher fewer said say says did do does will would can could \
    est sont était étaient ont dans par en y son eran fue fueron è sono era erano ha hanno é são foi foram is zijn was waren";
/// Endings of verbs there: `a third agreed`.
const PAST: &str = "ed";
/// Before a quarter that is one of a year.
const FOR_A_TIME: &str = "over in during within for per each every once";
/// Those that are as well the first part of a word for people or things: `a third of game developers`.
const COMPOUNDS: &str = "game match season";
const ARTICLES: &str = "the a an this that last next each every fiscal la l le les una un el";
/// What is split into such parts without being shared.
const TIMES: &str = "year years hour day week month minute decade century match game season heure siècle année an hora siglo año ora secolo anno ano século \
    uur jaar eeuw";

/// Before the number of those of which one is meant, and that one, with words between the two at most.
const OF_SO_MANY: &str = "su sur cada de";
const ONE_OF: &str = "un una uno une";
const MOST_BETWEEN: usize = 3;

/// Bytes around such words that are looked at.
const NEAR: usize = 64;

/// The shares in millionths of a per cent, each with the words for it.
static ALL_SHARES: LazyLock<Phrases<(i128, &str)>> = LazyLock::new(|| {
    let said = |(share, all): &'static (i128, &'static [&'static str])| {
        all.iter().map(move |words| (*words, (share * ONE / 100, *words)))
    };
    Phrases::new(SHARES.iter().flat_map(said))
});

/// Returns the shares in per cent, in millionths, that a text in lower case says in words, each with its first byte.
pub fn shares(lower: &str) -> impl Iterator<Item = (i128, usize)> {
    let found = ALL_SHARES.all_in(lower);
    let said = found.filter(|((_, words), at)| is_share(words, &lower[..at.start], &lower[at.end..]));
    said.map(|((share, _), at)| (share, at.start))
}

/// Returns whether words for a share are meant so between these parts of a text in lower case.
fn is_share(words: &str, before: &str, behind: &str) -> bool {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(NEAR))..];
    let behind = &behind[..behind.floor_char_boundary(NEAR)];
    let last = last_word(before.trim_end_matches(|char: char| char.is_whitespace() || "-‑–".contains(char)));
    let counts_parts = || is_in(BEFORE_PARTS, last) || before.trim_end().ends_with(BEFORE_HALF);
    let is_doubtful = || is_in(DOUBTFUL, last_word(words));
    let is_time = || match last_word(words) {
        "quarter" => is_in(FOR_A_TIME, last),
        // `Over three quarters were women`.
        "quarters" => last != "over" && is_in(FOR_A_TIME, last),
        _ => false,
    };
    // `Un italiano su cinque`, but not `due su cinque`.
    let is_one_of = || before.split_whitespace().rev().take(MOST_BETWEEN).any(|word| is_in(ONE_OF, word));
    let is_of_one = || !is_in(OF_SO_MANY, first_word(words).0) || is_one_of();
    is_of_one() && stands_alone(before, behind) && !counts_parts() && (!is_doubtful() || goes_on(behind, is_time()))
}

/// Returns whether a text goes on with what something is a share of, or with other small words, behind words that do
/// not name a time.
fn goes_on(behind: &str, is_time: bool) -> bool {
    let (word, after) = first_word(behind);
    if word.is_empty() {
        let is_joined = behind.trim_start_matches(['-', '‑']).starts_with(char::is_alphanumeric);
        return !is_time && !is_joined && !behind.trim_start().starts_with(char::is_numeric);
    }
    if is_in(OF, word) {
        return !is_of_time(after);
    }
    !is_time && (is_in(BEHIND, word) || word.ends_with(PAST))
}

/// Returns whether a text begins with a time that has parts: `the year`, `2030`.
fn is_of_time(text: &str) -> bool {
    let (mut word, mut after) = first_word(text);
    if is_in(ARTICLES, word) {
        (word, after) = first_word(after);
    }
    let behind = after.trim_start();
    let (digits, rest) = behind.split_at(behind.find(|char: char| !char.is_ascii_digit()).unwrap_or(behind.len()));
    let is_year = || digits.parse().is_ok_and(|year: u32| (1_900..=2_100).contains(&year));
    // `A third of game developers`, `half of the 2000 respondents`.
    let ends = |rest: &str| {
        let (next, _) = first_word(rest);
        next.is_empty() || is_in(OF, next) || is_in(BEHIND, next)
    };
    let is_time = is_in(TIMES, word) && (!is_in(COMPOUNDS, word) || ends(after));
    is_time || word.is_empty() && is_year() && ends(rest)
}

/// Returns the word with which a text begins behind white space and an apostrophe, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(|char: char| char.is_whitespace() || "'’".contains(char));
    text.split_at(text.find(|char: char| !char.is_alphabetic()).unwrap_or(text.len()))
}

fn last_word(text: &str) -> &str {
    text.rsplit(|char: char| !char.is_alphanumeric()).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_of_the_year_and_a_third_party_are_no_shares() {
        let found = |text: &str| -> Vec<i128> { shares(&text.to_lowercase()).map(|(share, _)| share / ONE).collect() };
        for (text, share) in [
            ("Half of the boats left.", 50),
            ("Costs were cut in half.", 50),
            ("A third agreed.", 33),
            ("One third, or 30 boats, left", 33),
            ("Over a quarter of the boats left", 25),
            ("It fell by a quarter in a year.", 25),
            ("Un quart des bateaux", 25),
            ("Un terzo delle barche", 33),
            ("Zwei Drittel der Boote", 66),
            ("Ein Viertel stimmte zu", 25),
            ("In the second half of the year half the boats left.", 50),
            ("One third of game developers left", 33),
            ("Over three quarters were women.", 75),
            ("Half of the 2000 respondents agreed.", 50),
            ("It was bought for three quarters of the price", 75),
            ("Un italiano su cinque partecipa", 20),
            ("Uno de cada cuatro barcos", 25),
        ] {
            assert_eq!(found(text), [share], "{text}");
        }
        for text in [
            "Due italiani su cinque partecipano.",
            "It fell in the second half of the year.",
            "It fell in the half of 2030",
            "It rose in the first three quarters",
            "It fell for three quarters in a row",
            "First-half and full-year profits fell",
            "Profits fell in the second-half.",
            "It took one and a half years",
            "A third party paid.",
            "It is a third-party gate, a third option, in a third country",
            "It lasted over a quarter.",
            "It lasted a quarter of an hour",
            "It left a quarter of an hour later",
            "Un quart d'heure",
            "It lasted half a day",
            "The half-hour show of the half-brother",
            "In der zweiten Hälfte",
            "Das alte Viertel",
        ] {
            assert_eq!(found(text), [0; 0], "{text}");
        }
    }
}
