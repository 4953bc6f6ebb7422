//! What sources say in several words or signs, in the languages that reports are written in: what the head of a table
//! counts, scales, numbers of several words. `shares.rs` has shares, `units.rs` units, `words.rs` other single words.

use std::{ops::Range, sync::LazyLock};

use super::{
    borders::{says_what_is_counted, stands_alone},
    lookup::Phrases,
    units::{self, Unit},
    words::{self, ONE, multiples, number},
};
use crate::text::is_in;

/// What units of temperature measure.
pub const TEMPERATURE: &str = "temperature";

/// Scales of temperature by their kind, as they stand behind `°` or `degrees`.
const SCALES: &[(&str, &str)] = &[("celsius", "c celsius ℃ 摄氏度"), ("fahrenheit", "f fahrenheit ℉ 华氏度")];

/// Where the scale of Celsius begins on that of Fahrenheit, in millionths.
const FREEZING: i128 = 32 * ONE;

/// Words before the name of a scale.
const DEGREES: &str = "° degree degrees grad degrés degré grados grado gradi graus graden градусов";

/// How many the numbers of a table may count.
pub const MULTIPLES: [i128; 8] =
    [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 1_000_000_000_000];

/// In the head of a table or above it: its numbers count so many (as a power of ten).
const HEADS: &[(u32, &[&str])] = &[
    (
        3,
        &[
            "in thousands",
            "(thousands",
            "thousands)",
            "(000s",
            "'000",
            "’000",
            "in tausend",
            "in teur",
            "(teur",
            "in t€",
            "(t€",
            "(tausend",
            "tsd",
            "en milliers",
            "(milliers",
            "en miles",
            "(miles",
            "$000",
            "€000",
            "£000",
            "$000s",
            "000s)",
            "in 000s",
            "in migliaia",
            "em milhares",
        ],
    ),
    (
        6,
        &[
            "in millions",
            "(millions",
            "millions)",
            "million)",
            "$ million",
            "€ million",
            "£ million",
            "eur million",
            "usd million",
            "(€ m",
            "(€m",
            "(£m",
            "($m",
            "(us$m",
            "(us$ m",
            "$m",
            "€m",
            "£m",
            "$mm",
            "eur m",
            "usd m",
            "(mn)",
            "(mln)",
            "m€)",
            "in mio",
            "(mio",
            "mio.",
            "mio €",
            "in millionen",
            "(millionen",
            "en millions",
            "en millones",
            "(millones",
            "in milioni",
            "em milhões",
        ],
    ),
    (
        9,
        &[
            "in billions",
            "(billions",
            "billions)",
            "billion)",
            "$ billion",
            "€ billion",
            "(€ bn",
            "(€bn",
            "(£bn",
            "($bn",
            "$b",
            "(bn)",
            "(mld)",
            "in mrd",
            "(mrd",
            "mrd.",
            "mrd €",
            "in milliarden",
            "(milliarden",
            "en milliards",
            "(milliards",
            "in miliardi",
        ],
    ),
    (5, &["in lakh", "in lakhs", "(lakh", "(lakhs", "lakh)", "lakhs)"]),
    (7, &["in crore", "in crores", "(crore", "(crores", "crore)", "crores)"]),
    (12, &["in trillions", "(trillions", "trillions)", "trillion)", "in billionen", "(billionen", "(tn)", "(trn)"]),
];

/// Signs for so many, behind a word for unit or in brackets: `単位：百万円`, `(억원)`.
const SIGNS: &[(u32, &[&str])] = &[
    (3, &["千", "천"]),
    (4, &["万", "萬", "만"]),
    (5, &["十万", "십만"]),
    (6, &["百万", "百萬", "백만"]),
    (7, &["千万", "千萬", "천만"]),
    (8, &["億", "亿", "억"]),
    (9, &["十億", "十亿", "십억"]),
    (12, &["兆", "조", "万亿", "萬億"]),
];
const UNIT_LABELS: [&str; 4] = ["单位", "單位", "単位", "단위"];
/// What these may count, by its first sign.
const COUNTED: &str = "元円圆圓원美欧歐日港韩人名명台吨トド";

/// How the words of a head are written.
#[derive(Clone, Copy, Debug)]
pub enum Head {
    Phrase,
    /// A word for so many that says so only beside a currency.
    BesideMoney,
    Sign,
}

/// Before what a head counts otherwise than most of its table: `in millions, except shares, in thousands`. Bytes
/// between the two at most.
const EXCEPT: &str = "except";
const LONGEST_EXCEPTION: usize = 100;

/// Letters of the code of a currency.
const CODE: usize = 3;

/// Behind a number in words or digits: and a half.
pub const AND_A_HALF: [&[&str]; 7] = [
    &["and", "a", "half"],
    &["et", "demi"],
    &["et", "demie"],
    &["y", "medio"],
    &["y", "media"],
    &["e", "mezzo"],
    &["e", "meia"],
];

/// Returns the scale of temperature that a word names, behind one for degrees or alone if it is a sign of its own.
pub fn scale(word: &str) -> Option<Unit> {
    let kind = SCALES.iter().find(|(_, names)| is_in(names, word))?.0;
    Some(Unit { quantity: TEMPERATURE, kind, size: 1 })
}

pub fn is_degrees(word: &str) -> bool {
    is_in(DEGREES, word)
}

/// Returns a temperature of a scale on the other one, and how much a difference of so many degrees is there. Values are
/// in millionths.
pub fn on_other_scale(value: i128, kind: &str) -> [i128; 3] {
    // What is below zero has lost its sign.
    match kind {
        "celsius" => {
            let degrees = value.saturating_mul(9) / 5;
            [degrees.saturating_add(FREEZING), (FREEZING - degrees).saturating_abs(), degrees]
        }
        _ => {
            let in_celsius = |value: i128| value.saturating_mul(5) / 9;
            [in_celsius(value - FREEZING).abs(), in_celsius(value.saturating_add(FREEZING)), in_celsius(value)]
        }
    }
}

/// What the heads of tables say, with how many their numbers count.
type Heads = Phrases<(i128, &'static str, Head)>;

static ALL_HEADS: LazyLock<Heads> = LazyLock::new(|| {
    let of = |table: &'static [(u32, &'static [&'static str])], kind: Head| {
        let lines = table.iter().map(|(power, words)| (10_i128.pow(*power), *words));
        lines.flat_map(move |(multiple, words)| words.iter().map(move |words| (*words, (multiple, *words, kind))))
    };
    let beside_money = MULTIPLES.into_iter().flat_map(|multiple| {
        let words = multiples(multiple).filter(|word| word.len() > 1 && word.is_ascii());
        words.map(move |word| (word, (multiple, word, Head::BesideMoney)))
    });
    Phrases::new(of(HEADS, Head::Phrase).chain(beside_money).chain(of(SIGNS, Head::Sign)))
});

static ALL_MULTIPLES: LazyLock<Phrases<i128>> = LazyLock::new(|| {
    let words = |multiple: i128| multiples(multiple).map(move |word| (word, multiple));
    Phrases::new(words::all_multiples().flat_map(words))
});

/// Returns what heads of tables in a text in lower case may say their numbers count, each with its first byte.
pub fn heads(lower: &str) -> impl Iterator<Item = (i128, usize)> {
    let found = ALL_HEADS.all_in(lower);
    let counts = |((_, words, kind), at): &((i128, &str, Head), Range<usize>)| {
        kind.counts(words, &lower[..at.start], &lower[at.end..])
    };
    found.filter(counts).map(|((multiple, ..), at)| (multiple, at.start))
}

/// Returns how many single words in a text in lower case say that something counts, each with its bytes.
pub fn multiples_in(lower: &str) -> impl Iterator<Item = (i128, Range<usize>)> {
    ALL_MULTIPLES.all_in(lower)
}

impl Head {
    /// Returns whether words of a head say what is counted between these parts of a text. Before `in thousands` and
    /// `(thousands` a year or another number may stand.
    pub fn counts(self, words: &str, before: &str, behind: &str) -> bool {
        let may_follow_number = || ["in ", "en ", "em ", "("].iter().any(|first| words.starts_with(first));
        let is_said = match self {
            Self::Phrase if may_follow_number() => stands_alone(before, behind),
            Self::Phrase => says_what_is_counted(before, behind),
            Self::BesideMoney => {
                (ends_with_money(before) || begins_with_money(behind)) && says_what_is_counted(before, behind)
            }
            Self::Sign => is_labelled(before, behind) && !behind.starts_with(words::is_sign_of_multiple),
        };
        let near = &before[before.ceil_char_boundary(before.len().saturating_sub(LONGEST_EXCEPTION))..];
        is_said && !near.rsplit('\n').next().unwrap_or_default().contains(EXCEPT)
    }
}

/// Returns whether a text ends with a currency: `US$`, `usd `.
fn ends_with_money(text: &str) -> bool {
    let text = text.strip_suffix(' ').unwrap_or(text);
    let letters = text.bytes().rev().take_while(u8::is_ascii_lowercase).count();
    let last = text.chars().next_back().map_or(0, char::len_utf8);
    units::unit(&text[text.len() - letters.max(last)..]).is_some_and(Unit::is_money)
}

/// Returns whether a text begins with the sign or code of a currency; `million dollars` are some of them.
fn begins_with_money(text: &str) -> bool {
    let text = text.strip_prefix(' ').unwrap_or(text);
    let letters = text.bytes().take_while(u8::is_ascii_lowercase).count();
    let first = text.chars().next().map_or(0, char::len_utf8);
    let is_code = letters == CODE || letters == 0;
    is_code && units::unit(&text[..letters.max(first)]).is_some_and(Unit::is_money)
}

/// Returns whether a sign between these parts of a text stands behind a word for unit, or in brackets before what it
/// counts.
fn is_labelled(before: &str, behind: &str) -> bool {
    let is_counted = || behind.chars().next().is_some_and(|char| COUNTED.contains(char) || ")）".contains(char));
    let label = before.trim_end().trim_end_matches([':', '：']).trim_end();
    UNIT_LABELS.iter().any(|known| label.ends_with(known)) || before.ends_with(['(', '（']) && is_counted()
}

/// Returns the number of a French compound, `quatre-vingt-douze`; its parts are joined by hyphens.
pub fn french(compound: &str) -> Option<i128> {
    let (tens, rest) = match compound.strip_prefix("quatre-vingt") {
        Some(rest) => (80 * ONE, rest.strip_prefix('s').unwrap_or(rest)),
        None => {
            let at = compound.find('-')?;
            (number(&compound[..at]).filter(|tens| (20 * ONE..=60 * ONE).contains(tens))?, &compound[at..])
        }
    };
    let rest = rest.strip_prefix("-et").unwrap_or(rest);
    if rest.is_empty() {
        return Some(tens);
    }
    let ones = match rest.strip_prefix('-')? {
        "un" | "une" => ONE,
        "dix-sept" => 17 * ONE,
        "dix-huit" => 18 * ONE,
        "dix-neuf" => 19 * ONE,
        ones => number(ones)?,
    };
    let most = if [60 * ONE, 80 * ONE].contains(&tens) { 19 * ONE } else { 9 * ONE };
    (ones <= most).then_some(tens + ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn french_numbers_are_sums_and_products() {
        for (compound, value) in [
            ("quatre-vingts", 80),
            ("quatre-vingt-douze", 92),
            ("quatre-vingt-dix-sept", 97),
            ("soixante-dix", 70),
            ("soixante-et-onze", 71),
            ("vingt-et-un", 21),
            ("trente-deux", 32),
        ] {
            assert_eq!(french(compound), Some(value * ONE), "{compound}");
        }
        assert_eq!(["vingt-douze", "deux-vingt", "trente"].map(french), [None; 3]);
    }

    /// A number may be as large as there is room for.
    #[test]
    fn each_scale_has_room_for_every_temperature() {
        assert_eq!(on_other_scale(100 * ONE, "celsius"), [212, 148, 180].map(|degrees| degrees * ONE));
        assert_eq!(on_other_scale(212 * ONE, "fahrenheit")[0], 100 * ONE);
        for kind in ["celsius", "fahrenheit"] {
            assert!(on_other_scale(i128::MAX, kind).iter().all(|value| *value > 0), "{kind}");
        }
    }
}
