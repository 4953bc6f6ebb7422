//! Numbers that are written in several parts: `three and a half`, `quatre-vingt-douze`, `4万5千`, `20世纪80年代`, `2Q23`.

use super::{
    figure::{EMPTY, Figure, Number, Reading},
    phrases, quarters,
    reader::Reader,
    readings::readings,
    tokens::Token,
    units::Unit,
    words::{self, ONE},
};
use crate::text::is_in;

/// What there may be one or a half of, with an article before it.
const MANY: &str = "million billion trillion lakh crore";
const MANY_IN_GERMAN: &str = "million milliarde";
/// Articles that may stand for one of these.
const ARTICLES: [(&str, &str); 4] =
    [("a", MANY), ("eine", MANY_IN_GERMAN), ("einer", MANY_IN_GERMAN), ("um", "milhão bilhão trilhão")];
/// Before what there is only a part of, beside ordinals.
const PARTS: [&str; 5] = ["half", "quarter", "viertel", "drittel", "hälfte"];

impl Reader<'_> {
    /// Returns the year with which a decade of two digits begins: `80年代`, `años 80`, `the '80s`; of `20世纪` in front
    /// of one nothing is counted.
    pub fn decade(self) -> Option<Reading> {
        let text = self.token(0)?.text;
        let is_ten = text.len() == 2 && text.ends_with('0') && text > "10";
        let is_behind = || {
            self.is_glued(0)
                && (self.text_of(3).ends_with("年代") || matches!(self.word(1).as_deref(), Some("s" | "er" | "ern")))
        };
        let is_before = || {
            let word = self.back(1).and_then(|before| before.word(0));
            word.is_some_and(|word| ["años", "années", "anni", "anos"].contains(&&*word))
        };
        let value = text.parse::<i128>().ok().filter(|_| is_ten && (is_behind() || is_before()))?;
        Some(Reading { value: (1_900 + value) * ONE, step: ONE })
    }

    /// Reads `20世纪80年代`, and returns its first year and the tokens until there.
    pub fn decade_of_century(self) -> Option<(Figure, usize)> {
        let value = |ahead: usize| self.token(ahead)?.text.parse::<i128>().ok().filter(|value| *value < 100);
        let (century, decade) = (value(0)?, value(3)?);
        let is_written_so =
            ["世纪", "世紀"].iter().any(|sign| self.text_of(3).ends_with(sign)) && self.text_of(6).ends_with("年代");
        let readings = vec![Reading { value: ((century - 1) * 100 + decade) * ONE, step: ONE }];
        is_written_so.then_some((Figure::Number(Number { readings, ..EMPTY }), 6))
    }

    /// Reads `and a half` behind a number, and returns how many tokens it takes.
    pub fn half(self, ahead: usize) -> Option<(i128, usize)> {
        let first = self.word(ahead)?;
        let is_word = |(word, at): (&&str, usize)| self.word(at).as_deref() == Some(*word);
        let stands = |words: &&&[&str]| words[0] == first && words.iter().zip(ahead..).all(is_word);
        phrases::AND_A_HALF.iter().find(stands).map(|words| (ONE / 2, words.len()))
    }

    /// Reads the fraction of `1 1/2`, or of `1-1/2`.
    pub fn fraction_behind(self, ahead: usize) -> Option<(i128, usize)> {
        let first = self.token(ahead)?;
        let hyphen = usize::from((first.is('-') || first.is('‑')) && self.is_glued(ahead - 1) && self.is_glued(ahead));
        let fraction = self.fraction(ahead + hyphen).filter(|_| hyphen == 1 || !self.is_glued(ahead - 1))?;
        Some((fraction, hyphen + 3))
    }

    /// Reads the fraction of `1/4 percentage point`, which stands alone.
    pub fn fraction_of_point(self) -> Option<i128> {
        let is_part = self.back(1).is_some_and(|before| before.is_glued(0));
        let is_of_point = || self.unit(3).is_some_and(|unit| unit == Unit::PERCENTAGE_POINT);
        let is_whole = || self.back(1).is_none_or(|before| before.token(0).is_none_or(|token| !token.is_number()));
        self.fraction(0).filter(|_| !is_part && is_of_point() && is_whole())
    }

    fn fraction(self, ahead: usize) -> Option<i128> {
        let digit = |ahead: usize| {
            let token = self.token(ahead).filter(|token| token.is_number() && token.text.len() == 1)?;
            token.text.parse::<i128>().ok().filter(|digit| *digit > 0)
        };
        let (over, under) = (digit(ahead)?, digit(ahead + 2)?);
        let is_fraction = self.token(ahead + 1)?.is('/') && self.is_glued(ahead) && self.is_glued(ahead + 1);
        (is_fraction && over < under).then(|| over * ONE / under)
    }

    /// Reads `a million` and `eine Million`, but of `a quarter of a million`, `a million and a half` and
    /// `a billion-dollar company` nothing.
    pub fn one_of_many(self) -> Option<(Figure, usize)> {
        let article = self.token(0)?.text;
        let (_, many) = ARTICLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(article))?;
        self.word(1).filter(|word| is_in(many, word) && !self.is_hyphen(2))?;
        let before = |count: usize| self.back(count).and_then(|before| before.word(0));
        let is_of = before(1).as_deref() == Some("of");
        let is_part = |word: &str| PARTS.contains(&word) || words::ordinal(word).is_some();
        if before(if is_of { 2 } else { 1 }).is_some_and(|word| is_part(&word)) || self.half(2).is_some() {
            return None;
        }
        let number = Number { readings: vec![Reading { value: ONE, step: ONE }], is_word: true, ..EMPTY };
        Some(self.with_words(number, 1))
    }

    /// Reads `half a litre`, `eine halbe Stunde` and `half a million`: a unit or a word for so many has to follow.
    pub fn half_of_one(self, word: &str) -> Option<(Figure, usize)> {
        let is_behind_article =
            || self.back(1).and_then(|before| before.word(0)).is_some_and(|word| ["a", "an"].contains(&&*word));
        let is_many = |ahead: usize, many: &str| self.word(ahead).is_some_and(|word| is_in(many, &word));
        let hyphen = usize::from(self.is_hyphen(1));
        let (used, many) = match word {
            "half" if matches!(self.word(1).as_deref(), Some("a" | "an")) => (2, MANY),
            // `a half million`, `a half-million`.
            "half" if is_behind_article() && is_many(1 + hyphen, MANY) => (1 + hyphen, MANY),
            "half" => return None,
            _ if words::HALVES.contains(&word) => (1, MANY_IN_GERMAN),
            _ => return None,
        };
        if !is_many(used, many) {
            self.unit(used)?;
        }
        let number = Number { readings: vec![Reading { value: ONE / 2, step: ONE / 10 }], is_word: true, ..EMPTY };
        Some(self.with_words(number, used))
    }

    /// Reads a French number of several words with hyphens between them.
    pub fn french(self) -> Option<(i128, usize)> {
        let joins = |mark: usize| self.is_hyphen(mark) && self.word(mark + 1).is_some();
        let pairs = (0..4).take_while(|pair| joins(2 * pair + 1)).count();
        let read = |pairs: usize| phrases::french(&self.text_of(2 * pairs + 1).to_lowercase()).zip(Some(2 * pairs + 1));
        (1..=pairs).rev().find_map(read)
    }

    /// Returns whether the sign for tenths stands here: `3割`.
    pub fn is_tenths(self, ahead: usize) -> bool {
        self.token(ahead).is_some_and(|token| token.is('割') || token.text == "割") && self.is_glued(ahead - 1)
    }

    /// Returns what follows a number with a sign for so many that is a part of it: `4万5千`, `1万2345`, or `75조 7,883억`,
    /// with a space between the two.
    pub fn smaller_part(self, ahead: usize, multiple: i128) -> Option<(Reading, usize)> {
        let (before, token) = (self.token(ahead - 1)?, self.token(ahead).filter(Token::is_number)?);
        let is_spaced = || token.at == before.end() + 1 && self.multiple_sign(ahead + 1).is_some();
        let Reading { value, step } =
            *readings(token.text).0.first().filter(|_| before.end() == token.at || is_spaced())?;
        let mut used = 1;
        let mut own = 1_i128;
        while let Some(more) = self.multiple_sign(ahead + used).filter(|more| *more < multiple) {
            own = own.saturating_mul(more);
            used += 1;
        }
        let part = Reading { value: value.saturating_mul(own), step: step.saturating_mul(own) };
        (part.value < multiple.saturating_mul(ONE)).then_some((part, used))
    }

    /// Reads the quarter of `2Q23` and `3Q 2023` as the code that it is elsewhere.
    pub fn part_of_year(self) -> Option<(Figure, usize)> {
        let (number, letter) = (self.token(0)?.text, self.token(1)?.text);
        if letter.len() != 1 || !letter.starts_with(char::is_uppercase) || !self.is_glued(0) {
            return None;
        }
        let code = format!("{}{number}", letter.to_lowercase());
        quarters::is_part_of_year(&code).then_some((Figure::Code(code), 2))
    }

    /// Returns the year of `2Q23`, whose number stands here.
    pub fn year_of_quarter(self) -> Option<Reading> {
        let quarter = self.back(2).filter(|quarter| quarter.is_glued(1) && quarter.part_of_year().is_some());
        let year = self.token(0).filter(|year| quarter.is_some() && year.text.len() == 2)?.text.parse::<i128>().ok()?;
        Some(Reading { value: (2_000 + year) * ONE, step: ONE })
    }
}

/// Adds a fraction to a whole number.
pub fn add(number: &mut Number, fraction: i128) {
    for reading in number.readings.iter_mut().filter(|reading| reading.step == ONE) {
        *reading = Reading { value: reading.value.saturating_add(fraction), step: ONE / 100 };
    }
}
