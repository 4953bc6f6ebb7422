//! The dates and times of a text, in the spellings of many languages.

use super::{
    figure::{Date, Figure},
    reader::Reader,
    tokens::{Kind, Token, digit},
    words,
};
use crate::text::{self, is_in};

/// Names of months that are other words as well, which others than their own language have often: only with a day
/// before them and a year behind them are they months.
const SELDOM_MONTHS: [&str; 10] = ["out", "set", "ago", "mag", "gen", "Mars", "marca", "Mart", "Maj", "Maja"];
/// Those that are months with a year behind them.
const OFTEN_MONTHS: [&str; 3] = ["may", "mar", "march"];
/// Words before a day in German.
const BEFORE_DAY: [&str; 8] = ["am", "vom", "zum", "bis", "ab", "dem", "den", "seit"];
/// Signs of numbers in dates, and how many of them make the longest one.
const SIGNS: &str = "〇零一二三四五六七八九十";
const LONGEST_NUMERAL: usize = 4;
/// Signs for the second half of a day.
const AFTERNOON: [&str; 4] = ["午後", "下午", "晚上", "오후"];
/// Before an hour that stands apart from its minutes: `à 18 h 30`.
const BEFORE_HOUR: &str = "à dès vers avant après entre et de depuis las às at";
/// Words between days, where the month stands behind the last one.
const BETWEEN_DAYS: &str = "to and bis und au et al y a e à до и til";
/// Those where it stands before both.
const UNTIL: [&str; 6] = ["to", "through", "until", "till", "bis", "au"];

impl<'a> Reader<'a> {
    /// Returns a plain whole number of so many digits at most.
    fn whole(self, ahead: usize, digits: usize) -> Option<i64> {
        let token = self.token(ahead).filter(Token::is_number)?;
        token.text.chars().nth(digits).is_none().then(|| plain(token.text)).flatten()
    }

    /// Returns the year of four digits at a token.
    pub fn year(self, ahead: usize) -> Option<i32> {
        let year = self.whole(ahead, 4).filter(|year| (1000..=2200).contains(year))?;
        i32::try_from(year).ok()
    }

    fn day(self, ahead: usize) -> Option<u8> {
        u8::try_from(self.whole(ahead, 2)?).ok().filter(|day| (1..=31).contains(day))
    }

    fn month(self, ahead: usize) -> Option<u8> {
        text::month(&self.word(ahead)?)
    }

    /// Returns whether the name of a month is one of these words.
    fn is_any(self, ahead: usize, names: &[&str]) -> bool {
        self.token(ahead).is_some_and(|token| names.contains(&token.text))
    }

    pub fn date(self) -> Option<(Figure, usize)> {
        let by_numbers = || self.by_numbers().or_else(|| self.month_of_year());
        let by_name = || self.day_first().or_else(|| self.month_first()).or_else(|| self.last_day());
        by_numbers().or_else(|| self.by_signs()).or_else(by_name)
    }

    /// Reads a date in numbers, as in `2030-11-14`, `14.11.2030` or `11/14/2030`.
    fn by_numbers(self) -> Option<(Figure, usize)> {
        let token = self.token(0).filter(Token::is_number)?;
        if let Some(found) = self.day_and_month() {
            return Some(found);
        }
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

    /// Reads the German `03.10.` where the sentence goes on, or `3.10.` behind a word such as `am`: elsewhere this is a
    /// number at the end of a sentence, as in `It needs Ubuntu 24.04.`
    fn day_and_month(self) -> Option<(Figure, usize)> {
        let (day, month) = self.token(0)?.text.split_once('.')?;
        let has_zero = day.len() == 2 && month.len() == 2 && (day.starts_with('0') || month.starts_with('0'));
        let is_dated =
            || self.back(1).and_then(|before| before.word(0)).is_some_and(|word| BEFORE_DAY.contains(&&*word));
        let is_ended = self.token(1).is_some_and(|token| token.is('.')) && self.is_glued(0);
        let is_short = day.len() <= 2 && month.len() <= 2 && !day.starts_with("00");
        let [day, month] = [day, month].map(|part| plain(part).and_then(|part| u8::try_from(part).ok()));
        let (day, month) = day.zip(month).filter(|(day, month)| (1..=31).contains(day) && (1..=12).contains(month))?;
        let goes_on = || {
            let is_next =
                |next: Token<'_>| next.is_number() || next.is_word() && next.text.starts_with(char::is_lowercase);
            // No sentence ends before these: `Do, 03.10., 19 Uhr`.
            let is_mark = |next: Token<'_>| [',', ';', ':', '/'].into_iter().any(|mark| next.is(mark));
            self.is_dash(2) || self.token(2).is_some_and(|next| is_next(next) || is_mark(next))
        };
        let is_date = is_short && is_ended && (has_zero && goes_on() || is_dated());
        is_date.then(|| (Figure::Date(vec![Date { year: None, month: Some(month), day: Some(day) }]), 2))
    }

    /// Reads the month of a year, as in `2030-05`; `2009-10` may be a season as well, and is two numbers.
    fn month_of_year(self) -> Option<(Figure, usize)> {
        let is_dash = |ahead: usize| self.token(ahead).is_some_and(|mark| mark.is('-'));
        let (year, month) = (self.year(0)?, self.day(2)?);
        let is_written_so = is_dash(1) && self.token(2)?.text.len() == 2 && (0..2).all(|ahead| self.is_glued(ahead));
        let goes_on = self.is_glued(2) && is_dash(3);
        let is_season = i32::from(month) == year % 100 + 1;
        let is_month = is_written_so && month <= 12 && !goes_on && !is_season;
        is_month.then(|| (Figure::Date(vec![Date { year: Some(year), month: Some(month), day: None }]), 3))
    }

    /// Reads `2030年11月14日`, `11月14日`, `二〇三〇年十一月`, and the Korean ones.
    fn by_signs(self) -> Option<(Figure, usize)> {
        let is_plain = |ahead: usize| self.token(ahead).is_none_or(|token| token.text.is_ascii());
        // A number in digits is one token, and its sign the next.
        if is_plain(0) && is_plain(1) {
            return None;
        }
        let part = |ahead: usize, signs: &str, most: i64| {
            let (value, tokens) = self.numeral_at(ahead)?;
            let is_part = (1..=most).contains(&value) && self.is_sign(ahead + tokens, signs);
            is_part.then_some((value, ahead + tokens + 1))
        };
        let mut date = Date::default();
        let mut used = 0;
        if let Some((year, end)) = part(0, "年년", 2_200).filter(|(year, _)| *year >= 1_000) {
            (date.year, used) = (i32::try_from(year).ok(), end);
        }
        let (month, end) = part(used, "月월", 12)?;
        (date.month, used) = (u8::try_from(month).ok(), end);
        if let Some((day, end)) = part(used, "日일号", 31) {
            (date.day, used) = (u8::try_from(day).ok(), end);
        }
        (date.year.is_some() || date.day.is_some()).then(|| (Figure::Date(vec![date]), used))
    }

    /// Returns whether one of these signs stands at a token; none of them is ASCII, and most tokens are.
    fn is_sign(self, ahead: usize, signs: &str) -> bool {
        self.token(ahead).is_some_and(|token| !token.text.is_ascii() && signs.contains(token.text))
    }

    /// Returns a whole number in digits or in Chinese signs, and how many tokens it takes.
    fn numeral_at(self, ahead: usize) -> Option<(i64, usize)> {
        if let Some(value) = self.whole(ahead, 4) {
            return Some((value, 1));
        }
        let count = (ahead..ahead + LONGEST_NUMERAL).take_while(|at| self.is_sign(*at, SIGNS)).count();
        if count == 0 {
            return None;
        }
        let signs = (ahead..ahead + count).filter_map(|at| self.token(at)).map(|token| token.text).collect::<String>();
        Some((i64::try_from(words::ideographs(&signs)? / words::ONE).ok()?, count))
    }

    /// Reads `14 November 2030`, `14. November`, `14 de noviembre de 2030`, `1er mars`, `14-Nov-2030`; of `14–16
    /// November` the first day, with the month of the last one.
    fn day_first(self) -> Option<(Figure, usize)> {
        let (day, own) = (self.day(0)?, self.day_end(0));
        let (mut newest, mut at, mut separator) = (day, own, own);
        // `14, 15 and 16 November`, `14–16 November`.
        while let Some(later) = self.day(at + 1).filter(|later| *later > newest && self.is_between_days(at)) {
            (newest, at, separator) = (later, self.day_end(at + 1), at);
        }
        // Of `Article 5, 14 November` only the last number is a day.
        if newest > day && self.is_comma(separator) {
            return None;
        }
        let at = at + usize::from(self.is_of(at) || self.is_joined(at));
        let month = self.month(at)?;
        let (year, used) = self.year_behind(at + 1);
        if year.is_none() && (self.is_any(at, &SELDOM_MONTHS) || self.is_any(at, &OFTEN_MONTHS)) {
            return None;
        }
        let date = Date { year, month: Some(month), day: Some(day) };
        Some((Figure::Date(vec![date]), if newest > day { own } else { used }))
    }

    /// Reads `November 14, 2030`, `November 2030`; of `November 14–16, 2030` the first day, with the year of the last
    /// one.
    fn month_first(self) -> Option<(Figure, usize)> {
        let month = Some(self.month(0).filter(|_| !self.is_any(0, &SELDOM_MONTHS))?);
        let at = self.month_end();
        let (year, used) = self.year_behind(at);
        if year.is_some() {
            return Some((Figure::Date(vec![Date { year, month, day: None }]), used));
        }
        let (day, own) = (self.day(at)?, self.ordinal_end(at));
        let last = self.day(own + 1).filter(|last| *last > day && self.is_until(own));
        let (year, used) = match last {
            Some(_) => (self.year_behind(self.ordinal_end(own + 1)).0, own),
            None => self.year_behind(own),
        };
        if year.is_none() && self.is_any(0, &OFTEN_MONTHS) {
            return None;
        }
        Some((Figure::Date(vec![Date { year, month, day: Some(day) }]), used))
    }

    /// Returns the second day of `November 14–16, 2030`.
    fn last_day(self) -> Option<(Figure, usize)> {
        let (day, used) = (self.day(0)?, self.ordinal_end(0));
        let is_clock = self.token(used).is_some_and(|token| token.is(':')) && self.is_glued(used - 1);
        let begins = |count: usize| {
            let first = self.back(count)?;
            let (month, at) = (first.month(0)?, first.month_end());
            let end = first.ordinal_end(at);
            let is_range = end + 1 == count && first.is_until(end) && first.day(at)? < day;
            (is_range && !first.is_any(0, &SELDOM_MONTHS)).then(|| (month, first.is_any(0, &OFTEN_MONTHS)))
        };
        let (month, is_doubtful) = (3..=5).find_map(begins).filter(|_| !is_clock)?;
        let (year, used) = self.year_behind(used);
        let date = Date { year, month: Some(month), day: Some(day) };
        (year.is_some() || !is_doubtful).then(|| (Figure::Date(vec![date]), used))
    }

    /// Returns the token behind the name of a month and the mark of what is shortened.
    fn month_end(self) -> usize {
        1 + usize::from(self.token(1).is_some_and(|token| token.is('.')))
    }

    /// Returns the token behind a day and the letters that make it an ordinal.
    fn ordinal_end(self, day: usize) -> usize {
        let is_ordinal = self.word(day + 1).is_some_and(|word| is_ordinal(&word)) && self.is_glued(day);
        day + 1 + usize::from(is_ordinal)
    }

    /// Returns the same, and behind the mark of one.
    fn day_end(self, day: usize) -> usize {
        let end = self.ordinal_end(day);
        end + usize::from(self.token(end).is_some_and(|token| ".ºª°".contains(token.text)))
    }

    fn is_dash(self, ahead: usize) -> bool {
        self.token(ahead).is_some_and(|token| matches!(token.kind, Kind::Mark('-' | '‑' | '–' | '—')))
    }

    fn is_comma(self, ahead: usize) -> bool {
        self.token(ahead).is_some_and(|token| token.is(','))
    }

    fn is_between_days(self, ahead: usize) -> bool {
        let is_word = || self.word(ahead).is_some_and(|word| is_in(BETWEEN_DAYS, &word));
        self.is_dash(ahead) || self.is_comma(ahead) || is_word()
    }

    /// Returns whether a range goes on here: `4–5`, `4 to 5`.
    pub fn is_until(self, ahead: usize) -> bool {
        self.is_dash(ahead) || self.word(ahead).is_some_and(|word| UNTIL.contains(&&*word))
    }

    fn is_of(self, ahead: usize) -> bool {
        self.word(ahead).is_some_and(|word| ["of", "de", "di", "do", "del", "d"].contains(&&*word))
    }

    /// Returns whether a mark stands here between two parts of `14-Nov-2030`.
    fn is_joined(self, ahead: usize) -> bool {
        let is_mark = self.token(ahead).is_some_and(|token| matches!(token.kind, Kind::Mark('-' | '‑' | '/')));
        is_mark && self.is_glued(ahead - 1) && self.is_glued(ahead)
    }

    /// Returns the year at a token, behind a comma or `de`, and the tokens used until then.
    fn year_behind(self, ahead: usize) -> (Option<i32>, usize) {
        let is_comma = self.token(ahead).is_some_and(|token| ".,،".contains(token.text));
        let skipped = usize::from(is_comma || self.is_of(ahead) || self.is_joined(ahead));
        match self.year(ahead + skipped) {
            Some(year) => (Some(year), ahead + skipped + 1),
            None => (None, ahead),
        }
    }

    /// Reads a time of day, as in `16:00`, `4 pm`, `16 Uhr`, `16.30 Uhr`, `16h30`.
    pub fn time(self) -> Option<(Figure, usize)> {
        if let Some(found) = self.time_by_signs() {
            return Some(found);
        }
        let (hour, minute, mut used) = self.clock()?;
        let word = self.word(used).unwrap_or_default();
        let is_dotted = self.token(used + 1).is_some_and(|token| token.is('.'));
        let is_half = || is_dotted && self.word(used + 2).as_deref() == Some("m");
        let half = match &*word {
            "pm" => Some(12),
            "am" => Some(0),
            "p" | "a" if is_half() => Some(if word == "p" { 12 } else { 0 }),
            _ => None,
        };
        let hour = match half {
            Some(half) if hour <= 12 => hour % 12 + half,
            _ => hour,
        };
        used += match (half, &*word) {
            (Some(_), "pm" | "am") | (None, "uhr") => 1,
            (Some(_), _) => 3,
            _ if used == 3 => 0,
            _ => return None,
        };
        Some((Figure::Time(u8::try_from(hour).ok()?, u8::try_from(minute).ok()?), used))
    }

    /// Reads `15時30分`, `15时30分`, `午後3時半` and `下午3点`.
    fn time_by_signs(self) -> Option<(Figure, usize)> {
        let hour = self.whole(0, 2).filter(|hour| *hour <= 24 && self.is_sign(1, "点點时時시"))?;
        let minute = self.whole(2, 2).filter(|minute| *minute < 60 && self.is_sign(3, "分분"));
        let (minute, used) = match minute {
            Some(minute) => (minute, 4),
            None if self.is_sign(2, "半반") => (30, 3),
            None => (0, 2),
        };
        let is_afternoon = self.back(2).is_some_and(|before| AFTERNOON.contains(&before.text_of(2)));
        let hour = if is_afternoon && hour < 12 { hour + 12 } else { hour };
        Some((Figure::Time(u8::try_from(hour).ok()?, u8::try_from(minute).ok()?), used))
    }

    /// Returns whether the hour of `à 18 h 30` stands here. In `à 1 h 47 min` it is none, nor in `in 24 h 30 boats`.
    fn is_spaced_clock(self) -> bool {
        let before = || self.back(1).and_then(|before| before.word(0));
        let is_apart = self.token(1).is_some_and(|token| token.text == "h") && self.unit(3).is_none();
        let counts = |behind: Token<'_>| behind.is_word() && !text::is_stop_word_of_any(behind.text);
        is_apart && (!self.token(3).is_some_and(counts) || before().is_some_and(|word| is_in(BEFORE_HOUR, &word)))
    }

    /// Reads hour and minute, and returns how many tokens they take. A result like `2:1` is none.
    fn clock(self) -> Option<(i64, i64, usize)> {
        let clock = |hour: i64, minute: i64, used: usize| (hour <= 24 && minute < 60).then_some((hour, minute, used));
        if let Some((hour, minute)) = self.token(0)?.text.split_once('.') {
            let is_clock = hour.len() <= 2 && minute.len() == 2;
            return is_clock.then(|| clock(plain(hour)?, plain(minute)?, 1)).flatten();
        }
        let hour = self.whole(0, 2)?;
        let is_between = self.token(1).is_some_and(|token| token.is(':') || token.text == "h");
        let minute = self.whole(2, 2).filter(|minute| *minute < 60 && self.token(2).is_some_and(has_two_digits));
        let is_one = || self.is_glued(0) && self.is_glued(1) || self.is_spaced_clock();
        match minute.filter(|_| is_between && is_one()) {
            Some(minute) => clock(hour, minute, 3),
            None => clock(hour, 0, 1),
        }
    }
}

fn has_two_digits(token: Token<'_>) -> bool {
    token.text.chars().count() == 2
}

/// Returns whether letters behind a day make an ordinal of it.
pub fn is_ordinal(word: &str) -> bool {
    ["st", "nd", "rd", "th", "er", "ère", "e", "º", "ª"].contains(&word)
}

/// Returns the value of digits alone.
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
