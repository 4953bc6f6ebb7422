//! What sources say in several words or signs, in the languages that reports are written in: shares, what the head of a
//! table counts, scales and squares, numbers of several words. `words.rs` has single words.

use super::words::{ONE, Unit, number};

/// What units of temperature measure.
pub const TEMPERATURE: &str = "temperature";

/// Scales of temperature by their kind, as they stand behind `°` or `degrees`.
const SCALES: &[(&str, &str)] = &[("celsius", "c celsius ℃ 摄氏度"), ("fahrenheit", "f fahrenheit ℉ 华氏度")];

/// Where the scale of Celsius begins on that of Fahrenheit, in millionths.
const FREEZING: i128 = 32 * ONE;

/// Words before the name of a scale.
const DEGREES: &str = "° degree degrees grad degrés degré grados grado gradi graus graden градусов";

/// In the head of a table or above it: its numbers count so many (as a power of ten).
const HEADS: &[(u32, &[&str])] = &[
    (
        3,
        &[
            "in thousands",
            "(thousands",
            "thousands)",
            "thousands of",
            "(000s",
            "'000",
            "’000",
            "in tausend",
            "(tausend",
            "tsd",
            "en milliers",
            "(milliers",
            "milliers de",
            "en miles",
            "miles de",
            "(miles",
            "in migliaia",
            "em milhares",
            "单位：千",
            "単位：千",
        ],
    ),
    (
        6,
        &[
            "in millions",
            "(millions",
            "millions)",
            "millions of",
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
            "m)",
            "单位：百万",
            "単位：百万",
        ],
    ),
    (
        9,
        &[
            "in billions",
            "(billions",
            "billions)",
            "billions of",
            "billion)",
            "$ billion",
            "€ billion",
            "(€ bn",
            "(€bn",
            "(£bn",
            "($bn",
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
];

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
            "drittel",
            "jeder dritte",
            "jede dritte",
            "un tiers",
            "un tercio",
            "un terzo",
            "um terço",
            "een derde",
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
            "viertel",
            "jeder vierte",
            "jede vierte",
            "un quart",
            "una cuarta parte",
            "un cuarto",
            "un quarto",
            "um quarto",
            "een kwart",
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
            "fünftel",
            "jeder fünfte",
            "jede fünfte",
            "un cinquième",
            "una quinta parte",
            "un quinto",
            "um quinto",
            "een vijfde",
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
            "zehntel",
            "jeder zehnte",
            "jede zehnte",
            "un dixième",
            "una décima parte",
            "un decimo",
            "um décimo",
            "een tiende",
            "十分之一",
            "10分の1",
        ],
    ),
];

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

/// Returns the area of a square whose sides are a unit of length.
pub fn area(word: &str) -> Option<Unit> {
    let size = match word {
        "m" | "metre" | "metres" | "meter" | "meters" => 1,
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" => 1_000_000,
        "mile" | "miles" => 2_589_988,
        _ => return None,
    };
    Some(Unit { quantity: "area", kind: "", size })
}

/// Returns the scale of temperature that a word names, behind one for degrees or alone if it is a sign of its own.
pub fn scale(word: &str) -> Option<Unit> {
    let is_it = |names: &str| names.split(' ').any(|name| name == word);
    let kind = SCALES.iter().find(|(_, names)| is_it(names))?.0;
    Some(Unit { quantity: TEMPERATURE, kind, size: 1 })
}

pub fn is_degrees(word: &str) -> bool {
    DEGREES.split(' ').any(|known| known == word)
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

/// Returns the powers of ten that heads of tables name, each with the words for it.
pub fn heads() -> impl Iterator<Item = (i128, &'static [&'static str])> {
    HEADS.iter().map(|(power, words)| (10_i128.pow(*power), *words))
}

/// Returns shares in per cent, in millionths, each with the words for it.
pub fn shares() -> impl Iterator<Item = (i128, &'static [&'static str])> {
    SHARES.iter().map(|(share, words)| (share * ONE / 100, *words))
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
