//! The numbers, dates, times and codes of a text.

use std::borrow::Cow;

use super::{
    tokens::{Kind, Token, digit, is_space},
    words::{self, ONE, Unit},
};
use crate::text::is_unspaced;

/// Characters of a number in Chinese or Japanese; a longer run of them is none.
const MOST_SIGNS: usize = 32;

/// A part of a text that is right or wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    Number(Number),
    /// One date, or both that a spelling like 3/4/2030 may mean.
    Date(Vec<Date>),
    Time(u8, u8),
    /// Letters and digits in one: `HR-2217`, `Q3`. In lower case.
    Code(String),
}

/// A figure and its bytes in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedFigure {
    pub figure: Figure,
    pub start: usize,
    pub end: usize,
}

/// A number, as far as its spelling tells which one.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// What it may be: `1.234` is one of two numbers.
    pub readings: Vec<Reading>,
    /// Several numbers, should the space or comma between them be just that.
    pub parts: Vec<i128>,
    /// A thousand, a million and so on, which the readings have in them; 1 without such a word.
    pub multiple: i128,
    pub unit: Option<Unit>,
    /// The unit is only a part of what is counted: `km/h`, `m²`, `megawatt hours`.
    pub is_compound: bool,
    pub is_percent: bool,
    /// Written as a word.
    pub is_word: bool,
    /// `about`, `more than`.
    pub is_about: bool,
}

impl Number {
    /// Returns whether it may be this value, with or without the word for so many behind it.
    pub fn is(&self, value: i128) -> bool {
        self.readings.iter().any(|reading| reading.value == value || reading.value / self.multiple == value)
    }

    /// Returns whether both can count the same. They cannot when their units measure something else.
    pub fn counts_as(&self, other: &Self) -> bool {
        let is_known = |number: &Self| number.unit.is_some() && !number.is_compound;
        let is_apart = self.unit.zip(other.unit).is_some_and(|(one, other)| one.quantity != other.quantity);
        let is_share = |one: &Self, other: &Self| one.is_percent && is_known(other);
        !(is_known(self) && is_known(other) && is_apart || is_share(self, other) || is_share(other, self))
    }

    /// A whole number that may well be a year.
    pub fn is_year(&self) -> bool {
        let is_year = |reading: &Reading| reading.step == ONE && (1_900 * ONE..=2_100 * ONE).contains(&reading.value);
        self.unit.is_none() && !self.is_percent && self.readings.first().is_some_and(is_year)
    }
}

/// A value in millionths, and what its last digit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub value: i128,
    pub step: i128,
}

impl Reading {
    /// Returns what the last digit counts that is not zero.
    pub fn last_digit(self) -> i128 {
        let mut step = self.step.max(1);
        while let Some(next) = step.checked_mul(10).filter(|next| self.value != 0 && self.value % next == 0) {
            step = next;
        }
        step
    }

    /// Digits from the first to the last one that is written; zeros at the end of a whole number do not count.
    pub fn digits(self) -> usize {
        let mut value = self.value / self.step.max(1);
        while value != 0 && value % 10 == 0 && self.step >= ONE {
            value /= 10;
        }
        value.to_string().len()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    pub year: Option<i32>,
    pub month: Option<u8>,
    pub day: Option<u8>,
}

/// Returns all figures of a text, in order.
pub fn figures(text: &str, tokens: &[Token<'_>]) -> Vec<PlacedFigure> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let reader = Reader { text, tokens, at };
        match reader.read() {
            Some((figure, used)) => {
                let last = tokens[at + used - 1];
                found.push(PlacedFigure { figure, start: tokens[at].at, end: last.end() });
                at += used;
            }
            None => at += 1,
        }
    }
    found
}

/// Reads what begins at a token.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    fn read(self) -> Option<(Figure, usize)> {
        let token = self.token(0)?;
        match token.kind {
            Kind::Number => self.date().or_else(|| self.time()).or_else(|| Some(self.number())),
            Kind::Word => self.date().or_else(|| self.code()).or_else(|| self.number_word()),
            Kind::Mark(_) => None,
        }
    }

    fn token(self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    /// Returns whether the tokens stand together without a space.
    fn is_glued(self, ahead: usize) -> bool {
        let pair = self.token(ahead).zip(self.token(ahead + 1));
        pair.is_some_and(|(one, next)| one.end() == next.at)
    }

    /// The word at a token, in lower case.
    fn word(self, ahead: usize) -> Option<Cow<'a, str>> {
        self.token(ahead).filter(Token::is_word).map(|token| lower(token.text))
    }

    /// A plain whole number of so many digits at most.
    fn whole(self, ahead: usize, digits: usize) -> Option<i64> {
        let token = self.token(ahead).filter(Token::is_number)?;
        (token.text.chars().count() <= digits).then(|| plain(token.text)).flatten()
    }

    fn year(self, ahead: usize) -> Option<i32> {
        let year = self.whole(ahead, 4).filter(|year| (1000..=2200).contains(year))?;
        i32::try_from(year).ok()
    }

    fn day(self, ahead: usize) -> Option<u8> {
        u8::try_from(self.whole(ahead, 2)?).ok().filter(|day| (1..=31).contains(day))
    }

    fn month(self, ahead: usize) -> Option<u8> {
        words::month(&self.word(ahead)?)
    }

    fn date(self) -> Option<(Figure, usize)> {
        let by_numbers = || self.by_numbers().or_else(|| self.month_of_year());
        by_numbers().or_else(|| self.by_signs()).or_else(|| self.day_first()).or_else(|| self.month_first())
    }

    /// `2030-11-14`, `14.11.2030`, `11/14/2030`.
    fn by_numbers(self) -> Option<(Figure, usize)> {
        let token = self.token(0).filter(Token::is_number)?;
        let mut dotted = token.text.split('.').map(plain);
        if let [Some(Some(one)), Some(Some(two)), Some(Some(three)), None] = [(); 4].map(|()| dotted.next()) {
            return Some((Figure::Date(dates([one, two, three])?), 1));
        }
        let mark = self.token(1).filter(|mark| mark.is('-') || mark.is('/') || mark.is('‑'))?;
        let same = self.token(3).is_some_and(|other| other.kind == mark.kind);
        if !same || !(0..4).all(|ahead| self.is_glued(ahead)) {
            return None;
        }
        let parts = [self.whole(0, 4)?, self.whole(2, 2)?, self.whole(4, 4)?];
        Some((Figure::Date(dates(parts)?), 5))
    }

    /// `2030-05`; `2009-10` may be a season as well, and is two numbers.
    fn month_of_year(self) -> Option<(Figure, usize)> {
        let is_dash = |ahead: usize| self.token(ahead).is_some_and(|mark| mark.is('-'));
        let (year, month) = (self.year(0)?, self.day(2)?);
        let is_written_so = is_dash(1) && self.token(2)?.text.len() == 2 && (0..2).all(|ahead| self.is_glued(ahead));
        let goes_on = self.is_glued(2) && is_dash(3);
        let is_season = i32::from(month) == year % 100 + 1;
        let is_month = is_written_so && month <= 12 && !goes_on && !is_season;
        is_month.then(|| (Figure::Date(vec![Date { year: Some(year), month: Some(month), day: None }]), 3))
    }

    /// `2030年11月14日`, `11月14日`, and the Korean ones.
    fn by_signs(self) -> Option<(Figure, usize)> {
        let sign = |ahead: usize, signs: &str| self.token(ahead).is_some_and(|token| signs.contains(token.text));
        let mut date = Date::default();
        let mut used = 0;
        if let Some(year) = self.year(0).filter(|_| sign(1, "年년")) {
            date.year = Some(year);
            used = 2;
        }
        let month = self.day(used).filter(|month| *month <= 12 && sign(used + 1, "月월"))?;
        date.month = Some(month);
        used += 2;
        if let Some(day) = self.day(used).filter(|_| sign(used + 1, "日일号")) {
            date.day = Some(day);
            used += 2;
        }
        (date.year.is_some() || date.day.is_some()).then(|| (Figure::Date(vec![date]), used))
    }

    /// `14 November 2030`, `14. November`, `14 de noviembre de 2030`, `1er mars`.
    fn day_first(self) -> Option<(Figure, usize)> {
        let day = self.day(0)?;
        let mut ahead = 1;
        if self.word(ahead).is_some_and(|word| is_ordinal(&word)) && self.is_glued(0) {
            ahead += 1;
        }
        ahead += usize::from(self.token(ahead).is_some_and(|token| ".ºª°".contains(token.text)));
        ahead += usize::from(self.is_of(ahead));
        let month = self.month(ahead)?;
        let (year, used) = self.year_behind(ahead + 1);
        Some((Figure::Date(vec![Date { year, month: Some(month), day: Some(day) }]), used))
    }

    /// `November 14, 2030`, `November 2030`.
    fn month_first(self) -> Option<(Figure, usize)> {
        let month = Some(self.month(0)?);
        let dot = usize::from(self.token(1).is_some_and(|token| token.is('.')));
        let (year, used) = self.year_behind(1 + dot);
        if year.is_some() {
            return Some((Figure::Date(vec![Date { year, month, day: None }]), used));
        }
        let day = self.day(1 + dot)?;
        let mut ahead = 2 + dot;
        ahead += usize::from(self.word(ahead).is_some_and(|word| is_ordinal(&word)) && self.is_glued(ahead - 1));
        let (year, used) = self.year_behind(ahead);
        Some((Figure::Date(vec![Date { year, month, day: Some(day) }]), used))
    }

    fn is_of(self, ahead: usize) -> bool {
        self.word(ahead).is_some_and(|word| ["of", "de", "di", "do", "del", "d"].contains(&&*word))
    }

    /// The year at a token, behind a comma or `de`, and the tokens used until then.
    fn year_behind(self, ahead: usize) -> (Option<i32>, usize) {
        let skipped =
            usize::from(self.token(ahead).is_some_and(|token| ".,،".contains(token.text)) || self.is_of(ahead));
        match self.year(ahead + skipped) {
            Some(year) => (Some(year), ahead + skipped + 1),
            None => (None, ahead),
        }
    }

    /// `16:00`, `4 pm`, `16 Uhr`, `16h30`.
    fn time(self) -> Option<(Figure, usize)> {
        let hour = self.whole(0, 2).filter(|hour| *hour <= 24)?;
        let (mut minute, mut used) = (0, 1);
        let is_between = self.token(1).is_some_and(|token| token.is(':') || token.text == "h");
        if is_between
            && self.is_glued(0)
            && self.is_glued(1)
            && let Some(minutes) = self.whole(2, 2).filter(|minutes| *minutes < 60)
        {
            (minute, used) = (minutes, 3);
        }
        let word = self.word(used).unwrap_or_default();
        let half = match &*word {
            "pm" => Some(12),
            "am" => Some(0),
            "p" | "a"
                if self.token(used + 1).is_some_and(|token| token.is('.'))
                    && self.word(used + 2).as_deref() == Some("m") =>
            {
                Some(if word == "p" { 12 } else { 0 })
            }
            _ => None,
        };
        let hour = match half {
            Some(half) if hour <= 12 => hour % 12 + half,
            _ => hour,
        };
        used += match (half, &*word) {
            (Some(_), "pm" | "am") | (None, "uhr" | "点" | "時" | "시") => 1,
            (Some(_), _) => 3,
            _ if used == 3 => 0,
            _ => return None,
        };
        Some((Figure::Time(u8::try_from(hour).ok()?, u8::try_from(minute).ok()?), used))
    }

    /// `HR-2217`, `IR-2030-11`, `Q3`, `A4`.
    fn code(self) -> Option<(Figure, usize)> {
        let first = self.token(0)?;
        let is_capital = first.text.chars().all(char::is_uppercase) && !is_currency(first.text);
        if !is_capital || first.text.len() > 8 {
            return None;
        }
        let mut used = 1;
        let mut has_digits = false;
        while self.is_glued(used - 1) {
            let Some(next) = self.token(used) else { break };
            let joins = matches!(next.kind, Kind::Mark('-' | '‑' | '/')) && self.is_glued(used);
            if !(next.is_number() || joins || next.is_word() && has_digits) {
                break;
            }
            has_digits |= next.is_number();
            used += 1;
        }
        while used > 0 && self.token(used - 1).is_some_and(|last| matches!(last.kind, Kind::Mark(_))) {
            used -= 1;
        }
        let last = self.token(used.checked_sub(1)?)?;
        has_digits.then(|| (Figure::Code(self.text[first.at..last.end()].to_lowercase()), used))
    }

    /// Returns what a character of a script without spaces multiplies by that follows another one at once.
    fn multiple_sign(self, ahead: usize) -> Option<i128> {
        let token = self.token(ahead).filter(|token| token.text.starts_with(is_unspaced))?;
        words::multiple(token.text).filter(|_| self.is_glued(ahead - 1))
    }

    fn number(self) -> (Figure, usize) {
        let text = self.tokens[self.at].text;
        let (readings, parts) = readings(text);
        self.with_words(Number { readings, parts, ..EMPTY }, 1)
    }

    fn number_word(self) -> Option<(Figure, usize)> {
        let word = self.word(0)?;
        let is_sign = |ahead: usize| self.token(ahead).is_some_and(|token| is_numeral(token.text));
        if is_sign(0) {
            let signs = (0..=MOST_SIGNS).take_while(|ahead| is_sign(*ahead));
            let signs: Vec<&str> = signs.map(|ahead| self.tokens[self.at + ahead].text).collect();
            let is_number = (2..=MOST_SIGNS).contains(&signs.len());
            let value = words::ideographs(&signs.concat()).filter(|_| is_number)?;
            let number = Number { readings: vec![Reading { value, step: ONE }], is_word: true, ..EMPTY };
            return Some((Figure::Number(number), signs.len()));
        }
        let (mut value, mut used) = (words::number(&word)?, 1);
        // `twenty-one`, `two hundred`.
        if let (Some(mark), Some(ones)) = (self.token(1), self.word(2).and_then(|word| words::number(&word)))
            && mark.is('-')
            && value >= 20 * ONE
            && ones < 10 * ONE
        {
            (value, used) = (value + ones, 3);
        } else if let Some(hundred) =
            self.word(1).and_then(|word| words::number(&word)).filter(|next| [100 * ONE, 1_000 * ONE].contains(next))
        {
            (value, used) = (value * (hundred / ONE), 2);
        }
        let number = Number { readings: vec![Reading { value, step: ONE }], is_word: true, ..EMPTY };
        Some(self.with_words(number, used))
    }

    /// The number with what stands around it; `used` tokens are its own.
    fn with_words(self, mut number: Number, mut used: usize) -> (Figure, usize) {
        let mut word = self.word(used).unwrap_or_default();
        if let Some(mut multiple) = words::multiple(&word) {
            used += 1;
            // `1万亿`, `3百万`.
            while let Some(more) = self.multiple_sign(used) {
                multiple = multiple.saturating_mul(more);
                used += 1;
            }
            number.multiple = multiple;
            for reading in &mut number.readings {
                *reading = Reading {
                    value: reading.value.saturating_mul(multiple),
                    step: reading.step.saturating_mul(multiple),
                };
            }
            used += usize::from(self.token(used).is_some_and(|token| token.is('.')) && self.is_glued(used - 1));
            word = self.word(used).unwrap_or_default();
        }
        let is_more = self.token(used + 1).is_some_and(|token| "/²³-‑·".contains(token.text)) && self.is_glued(used);
        number.is_compound = is_more || self.word(used + 1).is_some_and(|next| words::unit(&next).is_some());
        number.unit = words::unit(&word).or_else(|| match self.token(used)?.kind {
            Kind::Mark('€' | '$') => words::unit("euro"),
            _ => None,
        });
        number.is_percent = self.token(used).is_some_and(|token| token.is('%') || token.is('％'))
            || ["percent", "prozent", "процент", "процентов"].contains(&&*word)
            || (["per", "pour", "por"].contains(&&*word)
                && self.word(used + 1).is_some_and(|next| next.starts_with("cent") || next.starts_with("cient")));
        let before = |back: usize| self.at.checked_sub(back).and_then(|at| self.tokens.get(at));
        number.is_about = (1..=2)
            .any(|back| before(back).is_some_and(|token| token.is_word() && words::is_about(&lower(token.text))));
        number.is_about |= (1..=2).any(|back| before(back).is_some_and(|token| token.is('~') || token.is('≈')));
        (Figure::Number(number), used)
    }
}

const EMPTY: Number = Number {
    readings: Vec::new(),
    parts: Vec::new(),
    multiple: 1,
    unit: None,
    is_compound: false,
    is_percent: false,
    is_word: false,
    is_about: false,
};

/// Returns the word in lower case. Most words are, and a page has thousands.
fn lower(word: &str) -> Cow<'_, str> {
    match word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(word.to_lowercase()),
    }
}

fn is_ordinal(word: &str) -> bool {
    ["st", "nd", "rd", "th", "er", "ère", "e", "º", "ª"].contains(&word)
}

fn is_currency(word: &str) -> bool {
    ["EUR", "USD", "GBP", "CHF", "JPY", "CNY", "RMB", "US", "A", "C", "R", "NOK", "SEK", "DKK", "PLN", "CZK"]
        .contains(&word)
}

fn is_numeral(text: &str) -> bool {
    text.starts_with(is_unspaced) && text.chars().all(|char| "〇零一二两兩三四五六七八九十百千万萬亿億".contains(char))
}

/// The value of digits alone.
fn plain(text: &str) -> Option<i64> {
    let add = |(value, count): (i64, usize), char| {
        let digit = digit(char).filter(|_| count < 18)?;
        Some((value * 10 + i64::from(digit), count + 1))
    };
    text.chars().try_fold((0, 0), add).filter(|(_, count)| *count > 0).map(|(value, _)| value)
}

/// Returns what three numbers in a row may be: year, month, day, or day and month before the year.
fn dates([one, two, three]: [i64; 3]) -> Option<Vec<Date>> {
    let date = |year: i64, month: i64, day: i64| {
        let is_date = (1000..=2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let [month, day] = [month, day].map(|part| u8::try_from(part).ok());
        is_date.then_some(Date { year: i32::try_from(year).ok(), month, day })
    };
    let mut dates: Vec<Date> =
        [date(one, two, three), date(three, two, one), date(three, one, two)].into_iter().flatten().collect();
    dates.dedup();
    (!dates.is_empty()).then_some(dates)
}

/// Returns which numbers a run of digits with separators may be: one number, read in one of several ways, or several
/// numbers.
fn readings(text: &str) -> (Vec<Reading>, Vec<i128>) {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return (reading(text, "").into_iter().collect(), Vec::new());
    }
    let marks: Vec<char> = text
        .chars()
        .filter(|char| digit(*char).is_none())
        .map(|mark| if is_space(mark) { ' ' } else { mark })
        .collect();
    let groups: Vec<String> = text
        .split(|char| digit(char).is_none())
        .map(|group| group.chars().filter_map(digit).map(|digit| char::from(b'0' + digit)).collect())
        .collect();
    let parts: Vec<i128> = groups.iter().filter_map(|group| group.parse::<i128>().ok()?.checked_mul(ONE)).collect();
    let threes = groups[1..].iter().all(|group| group.len() == 3) && groups[0].len() <= 3;
    let whole = || reading(&groups.concat(), "");
    let decimal = || groups.split_last().and_then(|(fraction, whole)| reading(&whole.concat(), fraction));
    let (last, before) = marks.split_last().map_or((None, &[][..]), |(last, before)| (Some(*last), before));
    let is_point = |mark: char| matches!(mark, '.' | ',' | '٫');
    let found: Vec<Option<Reading>> = match last {
        None => vec![whole()],
        // Thousands, then a fraction.
        Some(last) if is_point(last) && !before.is_empty() && before.iter().all(|mark| *mark != last) => {
            vec![decimal()]
        }
        Some(last) if is_point(last) && before.is_empty() => match threes && groups[0] != "0" {
            // Nobody writes a fraction of three zeros.
            true => vec![whole(), decimal().filter(|_| groups[1] != "000")],
            false => vec![decimal()],
        },
        Some(_) if threes => vec![whole()],
        Some(_) => Vec::new(),
    };
    let is_one = threes && last.is_some_and(is_point) && (groups.len() == 2 || groups[0].len() < 3);
    let may_be_more = groups.len() > 1 && last.is_some_and(|last| last != '.' || found.is_empty()) && !is_one;
    let parts = if may_be_more { parts } else { Vec::new() };
    (found.into_iter().flatten().collect(), parts)
}

/// The mark before the fraction of a number, if it can be read in one way only.
pub fn decimal_mark(text: &str) -> Option<char> {
    let mut marks = text.char_indices().filter(|(_, char)| digit(*char).is_none());
    let (at, first) = marks.next().filter(|(_, mark)| matches!(mark, '.' | ','))?;
    let is_three = |group: &str| group.chars().count() == 3;
    let Some((_, last)) = marks.next_back() else {
        return (!is_three(&text[at + 1..]) || &text[..at] == "0").then_some(first);
    };
    let is_thousands = text[at + 1..].split(first).all(is_three);
    match last {
        '.' | ',' if last != first => Some(last),
        // What comes twice separates thousands.
        _ => is_thousands.then_some(if first == '.' { ',' } else { '.' }),
    }
}

fn reading(whole: &str, fraction: &str) -> Option<Reading> {
    let fraction = &fraction[..fraction.len().min(6)];
    let step = 10_i128.pow(6 - u32::try_from(fraction.len()).ok()?);
    let digits = format!("{whole}{fraction}");
    let value = digits.get(..digits.len().min(30)).filter(|all| all.len() == digits.len())?.parse::<i128>().ok()?;
    Some(Reading { value: value.checked_mul(step)?, step })
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    fn found(text: &str) -> Vec<Figure> {
        figures(text, &tokens(text)).into_iter().map(|found| found.figure).collect()
    }

    fn values(text: &str) -> Vec<f64> {
        let number = |figure: Figure| match figure {
            Figure::Number(number) => number.readings.iter().map(|reading| reading.value as f64 / ONE as f64).collect(),
            other => panic!("{other:?} in {text}"),
        };
        found(text).into_iter().flat_map(|figure: Figure| -> Vec<f64> { number(figure) }).collect()
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        let check = |text: &str, expected: &[f64]| assert_eq!(values(text), expected, "{text}");
        check("412,000 crowns", &[412_000.0]);
        check("412,500 crowns", &[412_500.0, 412.5]);
        check("1.234,56 €", &[1_234.56]);
        check("1,234.56", &[1_234.56]);
        check("0.300", &[0.3]);
        check("14 200 and 3’000", &[14_200.0, 3_000.0]);
        check("4.35 million", &[4_350_000.0]);
        check("2 Mrd. Euro", &[2_000_000_000.0]);
        check("耗资4亿元", &[400_000_000.0]);
        check("耗资1万亿元，其中3千万", &[1_000_000_000_000.0, 30_000_000.0]);
        check("twenty-one boats, two hundred gulls", &[21.0, 200.0]);
        check("einundzwanzig Boote", &[21.0]);
        check("٣٫٥", &[3.5]);
        check("12.345.678", &[12_345_678.0]);
    }

    #[test]
    fn dates_are_one_in_every_spelling() {
        let date = Figure::Date(vec![Date { year: Some(2030), month: Some(11), day: Some(14) }]);
        for text in [
            "2030-11-14",
            "14.11.2030",
            "14/11/2030",
            "11/14/2030",
            "14 November 2030",
            "November 14, 2030",
            "14. November 2030",
            "14th of November, 2030",
            "14 novembre 2030",
            "14 de noviembre de 2030",
            "14 ноября 2030",
            "2030年11月14日",
            "2030년 11월 14일",
            "14 نوفمبر 2030",
            "14 november 2030",
            "14 de novembro de 2030",
        ] {
            assert_eq!(found(text), std::slice::from_ref(&date), "{text}");
        }
        let partly = |month, day, year| vec![Figure::Date(vec![Date { year, month: Some(month), day }])];
        assert_eq!(found("in May 2031"), partly(5, None, Some(2031)));
        assert_eq!(found("1er mars"), partly(3, Some(1), None));
        assert_eq!([found("2031-05: paid"), found("as of 2031-05.")], [(); 2].map(|()| partly(5, None, Some(2031))));
        for two_numbers in ["2009-10", "2031-32", "2031-5", "2031 - 05", "2031-05-99"] {
            assert!(!matches!(&found(two_numbers)[..], [Figure::Date(_), ..]), "{two_numbers}");
        }
        assert_eq!(found("It may be so."), []);
        let Some(Figure::Date(either)) = found("3/4/2030").pop() else { panic!("no date") };
        assert_eq!(either.len(), 2);
    }

    #[test]
    fn times_and_codes() {
        let check = |text: &str, expected: Figure| assert_eq!(found(text), [expected], "{text}");
        check("at 16:00", Figure::Time(16, 0));
        check("at 4 pm", Figure::Time(16, 0));
        check("um 16 Uhr", Figure::Time(16, 0));
        check("à 16h30", Figure::Time(16, 30));
        check("incident IR-2030-11", Figure::Code("ir-2030-11".to_owned()));
        check("in Q3", Figure::Code("q3".to_owned()));
        assert!(matches!(&found("EUR2,400")[..], [Figure::Number(_)]));
    }

    #[test]
    fn what_stands_around_a_number_is_kept() {
        let Some(Figure::Number(number)) = found("about 30 % of it").pop() else { panic!("no number") };
        assert!(number.is_about && number.is_percent && !number.is_word);
        let Some(Figure::Number(number)) = found("4.3 MWh").pop() else { panic!("no number") };
        assert_eq!(number.unit.map(|unit| unit.quantity), Some("energy"));
    }
}
