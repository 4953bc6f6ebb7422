//! Years that a source names by the one behind them: 2022 of `2023` and `a year earlier`.

use std::sync::LazyLock;

use super::{
    equality::are_same_or_written,
    figure::Number,
    lookup::Phrases,
    page::{Page, PlacedNumber},
    stated::{Statement, lower_in_place},
    words::ONE,
};

/// Places of the year behind that are looked at.
const MOST_PLACES: usize = 24;
/// Bytes between a number and the words behind it that say it is of the year before.
const LONGEST_JOINT: usize = 24;

/// Say that something is of the year before.
const YEAR_BEFORE: [&str; 30] = [
    "year earlier",
    "year ago",
    "year before",
    "year-earlier",
    "year-ago",
    "prior year",
    "prior-year",
    "previous year",
    "preceding year",
    "vorjahr",
    "jahr zuvor",
    "jahr davor",
    "an plus tôt",
    "année précédente",
    "an dernier",
    "exercice précédent",
    "año anterior",
    "año antes",
    "un año atrás",
    "anno precedente",
    "anno prima",
    "ano anterior",
    "ano antes",
    "jaar eerder",
    "jaar ervoor",
    "годом ранее",
    "上年",
    "前年",
    "전년",
    "上一年",
];

static PHRASES: LazyLock<Phrases<()>> =
    LazyLock::new(|| Phrases::new(YEAR_BEFORE.into_iter().map(|words| (words, ()))));

impl Statement<'_> {
    /// Returns the sentence that gives a number of the statement to the year before one that it names, or the sentence
    /// before it does.
    pub fn year_before(&self, year: &Number, page: &Page) -> Option<usize> {
        let next = year.readings.first().filter(|_| year.is_year())?.value.checked_add(ONE)?;
        let mut near = page.sentences_with(next).take(MOST_PLACES).flat_map(|at| [at, at + 1]);
        near.find(|at| self.is_of_year_before(page, *at))
    }

    fn is_of_year_before(&self, page: &Page, sentence: usize) -> bool {
        let lower = lower_in_place(page.sentence(sentence));
        let start = page.start_of(sentence);
        let numbers = || page.numbers_in(sentence).iter().filter(|placed| !placed.number.is_year());
        let is_it = |own: &Number, there: &Number| own.counts_as(there) && are_same_or_written(own, there);
        let is_stated = |placed: &PlacedNumber| self.numbers().any(|own| !own.is_year() && is_it(own, &placed.number));
        let has_others = self.numbers().any(|own| !own.is_year());
        PHRASES.all_in(&lower).any(|((), at)| {
            let is_joint = |between: &str| {
                between.len() <= LONGEST_JOINT
                    && !between.contains(|char: char| char.is_numeric() || ",;:.，；。".contains(char))
            };
            let ends_before = |placed: &&PlacedNumber| {
                let end = placed.place.end.saturating_sub(start);
                lower.get(end..at.start).is_some_and(is_joint)
            };
            match numbers().rfind(ends_before) {
                _ if !has_others => true,
                Some(before) => is_stated(before),
                None => numbers().find(|placed| placed.place.start >= start + at.end).is_some_and(is_stated),
            }
        })
    }
}
