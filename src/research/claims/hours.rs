//! Whether a page has the time of day that a statement has.

use std::ops::Range;

use super::{
    page::{Page, PlacedNumber},
    roles::Roles,
    stated::Statement,
    units,
    words::ONE,
};
use crate::text::is_in;

/// Hours of a clock that tells no halves of the day.
const HALF: u8 = 12;
/// Places of an hour that are looked at.
const MOST_PLACES: usize = 200;
/// Behind an hour that is a number alone, these are not what it counts: `open 10 to 5 daily`.
const BEHIND_HOUR: &str = "daily weekdays weekends sharp noon morning mornings evening evenings mon monday mondays tue tuesday \
    tuesdays wed wednesday wednesdays thu thursday thursdays fri friday fridays sat saturday saturdays sun sunday sundays \
    uur oclock час täglich morgens vormittags nachmittags abends montags freitags samstags sonntags";

/// Behind an hour of a clock of twelve hours.
const IN_THE_EVENING: [&str; 5] = ["abends", "nachmittags", "du soir", "de la tarde", "di sera"];

/// A time of day and its bytes in the text.
#[derive(Debug)]
pub struct PlacedTime {
    pub hour: u8,
    pub minute: u8,
    pub place: Range<usize>,
}

impl Statement<'_> {
    /// Returns the sentence with a time of day. A full hour may be a number alone in a sentence about the same, as in
    /// `from 16 to 18 Uhr`, and that of a clock of twelve hours.
    pub fn time(&self, hour: u8, minute: u8, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let exact = || page.sentences_with_time(|time| (time.hour, time.minute) == (hour, minute)).next();
        let of_half = || if minute == 0 && hour > HALF { self.time_of_half(hour, page) } else { None };
        let bare = || if minute == 0 { self.bare_hour(hour, page, roles) } else { None };
        exact().or_else(of_half).or_else(bare)
    }

    /// Returns the sentence about the same with an hour of the afternoon as a clock of twelve hours has it:
    /// `from 9:00 to 5:00`, `8 Uhr abends`, but not `5 am`. A page that has later hours of the same counts to 24.
    fn time_of_half(&self, hour: u8, page: &Page) -> Option<usize> {
        let written = |time: &PlacedTime| page.text().get(time.place.clone()).unwrap_or_default();
        let is_later = |time: &PlacedTime| time.hour > HALF && written(time).starts_with(&time.hour.to_string());
        let is_it = |time: &PlacedTime| {
            let behind = page.text().get(time.place.end..).unwrap_or_default().trim_start();
            let is_open = written(time).ends_with(char::is_numeric)
                || IN_THE_EVENING.iter().any(|words| behind.starts_with(words));
            (time.hour + HALF, time.minute) == (hour, 0) && is_open
        };
        let is_about = |sentence: &usize| self.is_about(page, *sentence);
        if page.sentences_with_time(is_later).take(MOST_PLACES).any(|sentence| is_about(&sentence)) {
            return None;
        }
        page.sentences_with_time(is_it).take(MOST_PLACES).find(is_about)
    }

    fn bare_hour(&self, hour: u8, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let of_half = if hour > HALF { hour - HALF } else { hour };
        let is_hour = |placed: &PlacedNumber, hour: u8| placed.number.is(i128::from(hour) * ONE);
        // This costs least, and few numbers of a page are left.
        let is_plain = |placed: &&PlacedNumber| {
            let is_either = is_hour(placed, hour) || is_hour(placed, of_half);
            is_either && !placed.number.is_percent && placed.number.multiple == 1
        };
        // `19h`, `19 heures`, but no `7 h`.
        let is_in_hours = |placed: &PlacedNumber| placed.number.unit == units::unit("h") && is_hour(placed, hour);
        let is_it = |placed: &&PlacedNumber| match placed.number.unit {
            Some(_) => is_in_hours(placed) && self.is_about(page, placed.sentence),
            None => self.is_about(page, placed.sentence) && !counts(placed, page, roles),
        };
        page.numbers().iter().filter(is_plain).take(MOST_PLACES).find(is_it).map(|placed| placed.sentence)
    }
}

/// Returns whether a number counts what is named behind it: `5 rooms`, but not in `10 to 5 throughout the year`.
fn counts(placed: &PlacedNumber, page: &Page, roles: &Roles<'_>) -> bool {
    let before = page.text().get(..placed.place.start).unwrap_or_default().trim_end();
    let from = ["to", "bis", "à", "-", "–"].iter().find_map(|word| before.strip_suffix(word));
    if from.is_some_and(|from| from.trim_end().ends_with(|char: char| char.is_ascii_digit())) {
        return false;
    }
    let behind = page.text().get(placed.place.end..).unwrap_or_default().trim_start();
    let word = behind.split(|char: char| !char.is_alphabetic()).next().unwrap_or_default();
    !is_in(BEHIND_HOUR, &word.to_lowercase()) && roles.names_what_it_counts(placed, None)
}

#[cfg(test)]
mod tests {
    use crate::{
        domain::claim::Verdict::{NotSupported, Supported},
        research::claims::tests::judged,
    };

    #[test]
    fn a_full_hour_is_no_number_of_other_things() {
        for (statement, page, expected) in [
            ("The museum closes at 9 pm", "The museum opens at 9 am and closes at 6 pm.", NotSupported),
            ("Visitors come until 5 pm", "Visitors come until 4 pm. The museum has 5 rooms.", NotSupported),
            ("Visitors come until 5 pm", "Visitors come until 5 May, at 5% off.", NotSupported),
            ("The museum closes at 6 pm", "The museum opens at 9 am and closes at 6 pm.", Supported),
            ("The museum closes at 5 pm", "The museum opens at 9:00 and closes at 5:00.", Supported),
            ("The museum closes at 9 pm", "The museum opens at 9:00 and closes at 18:00.", NotSupported),
            ("The museum closes at 5 pm", "The museum is in Harbourside.\n\nTrams leave at 5:00.", NotSupported),
            ("The museum closes at 5 pm", "The museum is open from 10 to 5 daily.", Supported),
            ("The museum closes at 5 pm", "The museum is open from 10 to 5 throughout the year.", Supported),
            ("The museum closes at 5 pm", "Tours start at 2 pm. The museum is open from 10:00 to 5:00.", Supported),
            ("Das Konzert beginnt um 20 Uhr", "Das Konzert beginnt um 8 Uhr abends.", Supported),
            ("Das Konzert beginnt um 20 Uhr", "Das Konzert beginnt um 8 Uhr.", NotSupported),
            ("Le musée ferme à 18 h 30", "Horaires du musée : 9 h 30 – 18 h 30", Supported),
            ("Das Museum öffnet um 16 Uhr", "Das Museum ist von 16 bis 18 Uhr offen.", Supported),
            ("The museum closes at 7 pm", "Le museum ferme à 19h.", Supported),
            ("The museum closes at 7 pm", "The museum is open for 7 hours.", NotSupported),
        ] {
            assert_eq!(judged(statement, page).0, expected, "{statement} | {page}");
        }
    }
}
