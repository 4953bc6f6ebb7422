//! What stands around a number: the unit that it counts, its currency, whether it is a share of a hundred.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use foldhash::fast::FixedState;

use super::{
    figure::Number,
    phrases,
    reader::{Reader, lower},
    signs,
    tokens::{Kind, Token},
    units::{self, Unit},
    words,
};
use crate::text::{is_in, is_unspaced};

/// Words by which the units beside them are those of squares, and of cubes.
const SQUARE: &str =
    "square sq vierkante carrés carré cuadrados cuadrado quadrati quadrato quadrados quadrado квадратных кв";
const CUBIC: &str = "cubic cu kubieke cubes cúbicos cubi cubici кубических";
/// Before a unit, which they leave as it is.
const PLAIN: &str = "metric metrische";

/// Between a unit and the time in which so many are done: `km per hour`, `km à l'heure`.
const PER: &str = "per pro par por je al all a à an in der die the l la ’ ' /";
/// Those of them that say so between any two units.
const FOR_EACH: [&str; 6] = ["/", "per", "pro", "par", "por", "je"];
/// Scales of temperature behind the digits of a number, without a sign for degrees.
const SCALES: [&str; 2] = ["C", "F"];
/// Before numbers of what is done in a time, in scripts without spaces, and how many tokens before them.
const OF_SPEED: &str = "速每毎속당";
const MOST_OF_SPEED: usize = 6;
/// Percents and points in such scripts.
const PERCENTS: [&str; 2] = ["パーセント", "퍼센트"];
const POINTS: [&str; 2] = ["ポイント", "포인트"];
/// Behind a number of four digits these are of dates, unless words follow by which they are how long something lasts.
const YEARS: [&str; 2] = ["年", "년"];
const YEARS_OF_DATES: Range<i128> = 1_000 * words::ONE..10_000 * words::ONE;
const BEHIND_LASTING: [&str; 10] =
    ["历史", "歷史", "の歴史", "歴史", "以上", "之久", "有余", "역사", "의 역사", "이상"];
/// Between a word for so many and what they are paid in: `bilhões de dólares`, `millions d'euros`.
const OF_MONEY: &str = "de of di d von";
/// Tokens between the two at most.
const MOST_BETWEEN: usize = 3;
/// What the letter `m` may stand for.
const MILLION: i128 = 1_000_000;
/// What stands for an hour behind them alone, and is other words elsewhere.
const HOUR: &str = "ora uur час";

/// Differences of shares of a hundred, in words.
const PERCENTAGE_POINTS: &[&[&str]] = &[
    &["percentage", "point"],
    &["percentage", "points"],
    &["percent", "point"],
    &["percent", "points"],
    &["point", "de", "pourcentage"],
    &["points", "de", "pourcentage"],
    &["punto", "porcentual"],
    &["puntos", "porcentuales"],
    &["punto", "percentuale"],
    &["punti", "percentuali"],
    &["ponto", "percentual"],
    &["pontos", "percentuais"],
    &["процентных", "пункта"],
    &["процентных", "пунктов"],
    &["个", "百", "分", "点"],
    &["個", "百", "分", "點"],
];
/// Hundredths of these.
const BASIS_POINTS: &[&[&str]] = &[
    &["basis", "point"],
    &["basis", "points"],
    &["point", "de", "base"],
    &["points", "de", "base"],
    &["puntos", "básicos"],
    &["puntos", "base"],
    &["punti", "base"],
    &["pontos", "base"],
    &["базисных", "пункта"],
    &["базисных", "пунктов"],
    &["个", "基", "点"],
];
/// Behind the sign or word for a share of a hundred: makes it a difference of two. A share may point to something, too.
const BEHIND_PERCENT: &str = "point points pts punkt punkte punkten";
const POINTS_TO: [&str; 3] = ["to", "towards", "at"];

/// Units that are other words as well, which follow a year: `in 2019 won`, `nel 2030 ha`.
const VERBS: [&str; 3] = ["won", "ha", "mi"];
/// Letters of percentage points, each before a full stop: `p.p.`
const LETTERS: [&str; 2] = ["p", "п"];

/// All words that begin a unit of several and are none alone. Most words behind numbers are no such.
static FIRST: LazyLock<HashSet<&str, FixedState>> = LazyLock::new(|| {
    let words = [SQUARE, CUBIC, PLAIN].into_iter().flat_map(str::split_whitespace);
    words.chain(LETTERS).chain([PERCENTAGE_POINTS, BASIS_POINTS].into_iter().flatten().map(|words| words[0])).collect()
});

/// What a number counts, and how many tokens say so.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    pub unit: Unit,
    pub tokens: usize,
}

/// Returns whether a text begins with a word for points in a script without spaces.
pub fn begins_with_points(text: &str) -> bool {
    POINTS.iter().any(|points| text.starts_with(points))
}

impl Reader<'_> {
    /// Adds unit and currency to a number behind which `used` tokens have been read, and returns how many are when
    /// those are that could be read as numbers.
    pub fn with_measure(self, number: &mut Number, used: usize) -> usize {
        let measure = self.measure(used).filter(|_| !self.is_other_word(used, number));
        let behind = measure.map_or(used, |measure| used + measure.tokens - 1);
        let is_unit = |word: &str| units::unit(word).is_some();
        let is_whole = measure.is_some_and(|measure| measure.tokens > 1);
        // Of `240C/220C` the second is a number of its own.
        let is_other = self.token(behind + 2).is_some_and(|token| token.is_number());
        let is_of_speed =
            || measure.is_some_and(|measure| measure.unit.may_be_in_time()) && self.is_in_time_by_signs(used, behind);
        number.is_compound = is_of_speed()
            || self.is_more(behind) && !is_other
            || !is_whole && self.word(behind + 1).is_some_and(|next| is_unit(&next));
        // Of `$4–5 billion` the first number is so many billions, too.
        let is_joint = self.is_until(used) || self.token(used).is_some_and(|token| token.is('±'));
        let begins_range = is_joint && self.token(used + 1).is_some_and(|token| token.is_number());
        number.unit = measure.map(|measure| measure.unit).or_else(|| self.currency_before().filter(|_| !begins_range));
        let of_money = || if number.multiple > 1 { self.of_money(used) } else { None };
        number.unit = number.unit.or_else(of_money);
        if self.may_be_millions(used, number) {
            number.add_multiple(MILLION);
        }
        let percent = self.percent(used);
        // `5,000 requests per second`.
        let is_thing = || percent == 0 && self.token(used).is_some_and(|token| token.is_word()) && !number.is_year();
        number.per = match measure {
            Some(_) => self.per(behind + 1),
            None => self.per(used + percent).or_else(|| if is_thing() { self.per(used + 1) } else { None }),
        };
        if begins_range && number.unit.is_none() && !number.is_year() {
            self.add_unit_of_range(number, used);
        }
        number.is_percent = percent > 0 && number.unit != Some(Unit::PERCENTAGE_POINT);
        if percent > 0 && self.points_behind(used + percent) {
            (number.is_percent, number.is_compound, number.unit) = (false, false, Some(Unit::PERCENTAGE_POINT));
        }
        // Of `per cent` the second word is a number in other languages, the digit of `m2` one in all.
        let ends_with_digit = measure.is_some() && self.token(behind).is_some_and(|token| token.is_number());
        match percent {
            2 => used + percent,
            _ if ends_with_digit => behind + 1,
            _ => used,
        }
    }

    /// Returns whether the letter behind a number may be one for millions, as in `100m users`, or else one for metres.
    fn may_be_millions(self, ahead: usize, number: &Number) -> bool {
        let is_letter = self.token(ahead).is_some_and(|token| token.text == "m") && self.is_glued(ahead - 1);
        is_letter && number.multiple == 1 && self.word(ahead + 1).is_some_and(|word| power_of(&word).is_none())
    }

    /// Adds the unit of a range behind its second number, which is that of the first one, too: `1 to 1½ hours`,
    /// `10 to 20 µg/mL`.
    fn add_unit_of_range(self, number: &mut Number, ahead: usize) {
        let is_fraction = self.token(ahead + 2).is_some_and(|token| words::fraction(token.text).is_some());
        let at = ahead + 2 + usize::from(is_fraction);
        let Some(measure) = self.measure(at).filter(|measure| !measure.unit.is_money()) else { return };
        let behind = at + measure.tokens - 1;
        let per = self.per(behind + 1);
        if per.is_some() || !self.is_more(behind) {
            (number.unit, number.per, number.is_compound) = (Some(measure.unit), per, per.is_some());
        }
    }

    /// Reads the currency behind `de`.
    fn of_money(self, ahead: usize) -> Option<Unit> {
        self.word(ahead).filter(|word| is_in(OF_MONEY, word))?;
        let is_apostrophe = self.token(ahead + 1).is_some_and(|token| token.is('\'') || token.is('’'));
        self.unit(ahead + 1 + usize::from(is_apostrophe)).filter(|unit| unit.is_money())
    }

    /// Reads what the unit before is counted for each of: `/kWh`, `per litre`.
    fn per(self, ahead: usize) -> Option<Unit> {
        self.token(ahead).filter(|token| FOR_EACH.contains(&token.text))?;
        self.unit(ahead + 1)
    }

    pub fn unit(self, ahead: usize) -> Option<Unit> {
        self.measure(ahead).map(|measure| measure.unit)
    }

    /// Reads the unit behind a number.
    fn measure(self, ahead: usize) -> Option<Measure> {
        let token = self.token(ahead)?;
        let word = lower(token.text);
        if let Some(found) = self.measure_of_signs(ahead).or_else(|| self.letter_of_scale(ahead)) {
            return Some(found);
        }
        let Some(unit) = units::unit_as_written(token.text, &word) else {
            return self.measure_of_words(ahead, &word);
        };
        let one = Measure { unit, tokens: 1 };
        Some(self.power(ahead, one).or_else(|| self.in_time(ahead, one)).unwrap_or(one))
    }

    /// Reads a unit whose first word is none: `square metres`, `percentage points`, `°C`, `US dollars`.
    fn measure_of_words(self, ahead: usize, word: &str) -> Option<Measure> {
        let token = self.token(ahead)?;
        if phrases::is_degrees(word) {
            let unit = phrases::scale(&lower(self.token(ahead + 1)?.text))?;
            return Some(Measure { unit, tokens: 2 });
        }
        if !token.is_word() {
            return phrases::scale(word).map(|unit| Measure { unit, tokens: 1 });
        }
        if !FIRST.contains(word) {
            return self
                .foreign_money(ahead)
                .or_else(|| phrases::scale(word).filter(|_| !word.is_ascii()).map(|unit| Measure { unit, tokens: 1 }));
        }
        if let Some(power) = power_of(word) {
            let next = ahead + 1 + usize::from(self.token(ahead + 1).is_some_and(|token| token.is('.')));
            let unit = units::unit(&self.word(next)?)?.to_the(power)?;
            return Some(Measure { unit, tokens: next + 1 - ahead });
        }
        let stands = |words: &&&[&str]| {
            words[0] == word && words.iter().zip(ahead..).all(|(word, at)| self.word(at).as_deref() == Some(*word))
        };
        let points = |phrases: &[&[&str]], unit: Unit| {
            phrases.iter().find(stands).map(|words| Measure { unit, tokens: words.len() })
        };
        let in_letters = || {
            let is_pair = self.token(ahead + 1)?.is('.') && self.word(ahead + 2)? == word && self.is_glued(ahead + 1);
            let is_written_so = is_pair && LETTERS.contains(&word);
            is_written_so.then_some(Measure { unit: Unit::PERCENTAGE_POINT, tokens: 3 })
        };
        let plain = || {
            // One such word alone: pages may have thousands of them in a row, and the stack has an end.
            self.word(ahead + 1).filter(|next| is_in(PLAIN, word) && !is_in(PLAIN, next))?;
            let behind = self.measure(ahead + 1)?;
            Some(Measure { tokens: behind.tokens + 1, ..behind })
        };
        points(PERCENTAGE_POINTS, Unit::PERCENTAGE_POINT)
            .or_else(|| points(BASIS_POINTS, Unit::BASIS_POINT))
            .or_else(in_letters)
            .or_else(plain)
    }

    /// Reads a unit or currency in a script without spaces: `美元`, `千瓦时`.
    fn measure_of_signs(self, ahead: usize) -> Option<Measure> {
        // Most words have letters of no such script.
        self.token(ahead).filter(|token| token.text.starts_with(is_unspaced))?;
        let (unit, tokens) = signs::unit(self.rest(ahead))?;
        Some(Measure { unit, tokens })
    }

    /// Returns whether signs around a number and its unit, from `used` to `last`, say that so much is done in a time.
    fn is_in_time_by_signs(self, used: usize, last: usize) -> bool {
        let is_sign = |at: usize| self.token(at).is_some_and(|token| token.text.starts_with(is_unspaced));
        let is_behind = || self.token(last + 1).is_some_and(|token| OF_SPEED.contains(token.text));
        is_sign(used) && (self.is_of_speed() || is_sign(last + 1) && is_behind())
    }

    /// Returns whether the words before a number say that what is done in a time is counted: `时速350公里`.
    fn is_of_speed(self) -> bool {
        let before = |back: &usize| self.back(*back).and_then(|before| before.token(0));
        let mut near = (1..=MOST_OF_SPEED).filter_map(|back| before(&back));
        near.any(|token| token.text.starts_with(is_unspaced) && OF_SPEED.contains(token.text))
    }

    /// Reads the scale of `200C/400F`.
    pub fn letter_of_scale(self, ahead: usize) -> Option<Measure> {
        let letter = self.token(ahead).filter(|token| SCALES.contains(&token.text))?;
        let number = self.token(ahead.checked_sub(1)?).filter(Token::is_number)?;
        let is_last =
            || !self.is_glued(ahead) || self.token(ahead + 1).is_some_and(|next| next.is('/') || next.is(')'));
        let is_written_so = number.text.len() > 1 && number.end() == letter.at && is_last();
        phrases::scale(&lower(letter.text)).filter(|_| is_written_so).map(|unit| Measure { unit, tokens: 1 })
    }

    /// Reads `US dollars`, `US-Dollar`, `Swiss francs`, `US$` behind a number.
    fn foreign_money(self, ahead: usize) -> Option<Measure> {
        let country = self.token(ahead).filter(|token| token.text.starts_with(char::is_uppercase))?;
        let at = ahead + 1 + usize::from(self.is_hyphen(ahead + 1));
        let next = self.token(at)?;
        let unit = units::unit_as_written(next.text, &lower(next.text)).filter(|unit| !unit.kind.is_empty())?;
        let is_word = next.is_word() && country.text.len() > 1;
        let of_country = || unit.dollar_of(country.text).or_else(|| unit.dollar_of(&lower(country.text)));
        let unit = of_country().or_else(|| is_word.then_some(unit))?;
        Some(Measure { unit, tokens: at + 1 - ahead })
    }

    /// Reads the square or cube of a unit: `m²`, `m2`, `mètres carrés`.
    fn power(self, ahead: usize, one: Measure) -> Option<Measure> {
        let next = self.token(ahead + 1)?;
        let is_glued = || self.is_glued(ahead);
        let is_last = || !self.is_glued(ahead + 1) || self.token(ahead + 2).is_some_and(|token| !token.is_word());
        let power = match next.text {
            "²" if is_glued() => 2,
            "³" if is_glued() => 3,
            "2" if is_glued() && is_last() => 2,
            "3" if is_glued() && is_last() => 3,
            _ => power_of(&self.word(ahead + 1)?)?,
        };
        Some(Measure { unit: one.unit.to_the(power)?, tokens: 2 })
    }

    /// Reads what is done in a time, as in `km/h`, or for hours, as in `megawatt hours`.
    fn in_time(self, ahead: usize, one: Measure) -> Option<Measure> {
        let time = |at: usize| {
            let word = self.word(at)?;
            let hour = || units::unit("h").filter(|_| is_in(HOUR, &word));
            units::unit(&word).filter(|unit| unit.is_time()).or_else(hour)
        };
        let hours = ahead + 1 + usize::from(self.is_hyphen(ahead + 1));
        if let Some(unit) = time(hours).and_then(|time| one.unit.for_hours(time)) {
            return Some(Measure { unit, tokens: hours + 1 - ahead });
        }
        // `100 GB in seconds` says how long it took; `km in der Stunde` is a speed.
        let took = || self.word(ahead + 1).as_deref() == Some("in") && self.word(ahead + 2).as_deref() != Some("der");
        if !one.unit.may_be_in_time() || took() {
            return None;
        }
        let is_between = |at: &usize| self.token(*at).is_some_and(|token| is_in(PER, &lower(token.text)));
        let between = (ahead + 1..ahead + 1 + MOST_BETWEEN).take_while(is_between).count();
        let at = ahead + 1 + between;
        let unit = one.unit.in_time(time(at).filter(|_| between > 0)?)?;
        Some(Measure { unit, tokens: between + 2 })
    }

    /// Returns whether the word at a token is another one than the unit: the plural of `1980s`, and what was `won`.
    fn is_other_word(self, ahead: usize, number: &Number) -> bool {
        let Some(word) = self.token(ahead) else { return false };
        let is_plural = || {
            let number = ahead.checked_sub(1).and_then(|last| self.token(last));
            self.is_glued(ahead - 1) && number.is_some_and(|number| !number.text.contains('.'))
        };
        match word.text {
            "s" => is_plural(),
            word if YEARS.contains(&word) => {
                let behind = self.rest(ahead + 1).trim_start();
                let lasts = || BEHIND_LASTING.iter().any(|words| behind.starts_with(words));
                let may_be_date = number.readings.iter().any(|reading| YEARS_OF_DATES.contains(&reading.value));
                number.multiple == 1 && may_be_date && !lasts()
            }
            word => VERBS.contains(&word) && number.is_year(),
        }
    }

    /// Returns whether a unit goes on behind its word: `km/h`, `m²`.
    pub fn is_more(self, ahead: usize) -> bool {
        let is_joint = |token: Token<'_>| matches!(token.kind, Kind::Mark('/' | '²' | '³' | '-' | '‑' | '·'));
        self.token(ahead + 1).is_some_and(is_joint) && self.is_glued(ahead)
    }

    /// Returns the currency in front of a number or of its range, unless it stands behind another number.
    pub fn currency_before(self) -> Option<Unit> {
        let is_number = |first: &Self| first.token(0).is_some_and(|token| token.is_number());
        let range = self.back(2).filter(|first| is_number(first) && first.is_until(1));
        let sign = range.unwrap_or(self).back(1)?;
        let before = sign.token(0)?;
        let is_three = before.text.len() == 3 && before.text.chars().all(char::is_uppercase);
        let is_code = !before.is_word() || is_three || before.text == units::THOUSAND_EUROS;
        let unit = units::unit_as_written(before.text, &lower(before.text))
            .filter(|unit| is_code && unit.quantity == units::MONEY)?;
        let is_of_other = || {
            let number = sign.back(1).and_then(|number| number.token(0));
            self.token(0).is_some_and(|own| before.end() != own.at) && number.is_some_and(|token| token.is_number())
        };
        // `US$`, `C$`.
        let country = sign.back(1).filter(|country| country.is_glued(0)).and_then(|country| country.token(0));
        let of_country = || country.and_then(|country| unit.dollar_of(country.text));
        (!is_of_other()).then(|| of_country().unwrap_or(unit))
    }

    /// Returns the tokens that make the number a share of a hundred; 0 when there are none.
    fn percent(self, ahead: usize) -> usize {
        let Some(token) = self.token(ahead) else { return 0 };
        let word = lower(token.text);
        let is_hundred = || self.word(ahead + 1).is_some_and(|next| ["cent", "cento", "ciento"].contains(&&*next));
        match &*word {
            "%" | "％" | "٪" | "割" => 1,
            "percent" | "pct" | "prozent" | "procent" | "proc" | "процент" | "процента" | "процентов" => {
                1
            }
            "per" | "pour" | "por" if is_hundred() => 2,
            word if word.starts_with(is_unspaced) => {
                let of_signs = PERCENTS.iter().find(|signs| self.rest(ahead).starts_with(**signs));
                of_signs.map_or(0, |signs| signs.chars().count())
            }
            _ => 0,
        }
    }

    /// Returns whether what follows makes a difference of shares of a share: `% points`, `%-Punkte`.
    fn points_behind(self, ahead: usize) -> bool {
        let at = ahead + usize::from(self.is_hyphen(ahead));
        let is_figure = || self.token(at + 2).is_some_and(|token| token.is_number());
        let is_verb = || self.word(at + 1).is_some_and(|next| POINTS_TO.contains(&&*next)) && !is_figure();
        self.word(at).is_some_and(|word| is_in(BEHIND_PERCENT, &word)) && !is_verb()
            || begins_with_points(self.rest(at))
    }
}

/// Returns the power that a word makes of the unit beside it.
fn power_of(word: &str) -> Option<u32> {
    match word {
        _ if is_in(SQUARE, word) => Some(2),
        _ if is_in(CUBIC, word) => Some(3),
        _ => None,
    }
}
