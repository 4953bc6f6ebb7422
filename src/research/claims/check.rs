//! A statement held against the pages it cites.

use std::collections::BTreeSet;

use super::{
    figures::{self, Figure, Number, PlacedFigure, Reading},
    page::{Page, PlacedNumber, WordKey, word_keys},
    roles::Roles,
    tokens::Token,
    words::{self, ONE},
};

/// Smaller numbers stand on every page, so theirs has to be about the same.
const SMALL: i128 = 100 * ONE;
/// Places of a number that are looked at.
const MOST_PLACES: usize = 200;
/// The most of these that are read closely.
const MOST_READ: usize = 24;
/// Written as words, numbers up to this one may be counts of the writer's.
const COUNTED: i128 = 12 * ONE;

/// A statement as it is checked.
#[derive(Debug)]
pub struct Statement<'a> {
    pub text: &'a str,
    pub figures: Vec<PlacedFigure>,
    /// The keys of its words; ordered, so that whatever is summed up over them is the same in each process.
    pub keys: BTreeSet<WordKey>,
    /// Those of the words that say what its figures are of: all but the ones right behind a figure, which it counts.
    pub roles: BTreeSet<WordKey>,
}

/// The standing of a figure of a statement in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In this sentence; beyond the last one: in what is known around the text.
    In(usize),
    Missing,
    /// It need not stand anywhere.
    Free,
}

impl Standing {
    /// Returns the sentence in which it was found.
    pub fn place(self) -> Option<usize> {
        match self {
            Self::In(sentence) => Some(sentence),
            Self::Missing | Self::Free => None,
        }
    }
}

impl<'a> Statement<'a> {
    pub fn read(text: &'a str, tokens: &[Token<'_>]) -> Self {
        let figures = figures::figures(text, tokens);
        let counted =
            |figure: &PlacedFigure| Some(tokens.get(tokens.partition_point(|token| token.at < figure.end))?.at);
        let counted: BTreeSet<usize> = figures.iter().filter_map(counted).collect();
        let (mut keys, mut roles) = (BTreeSet::new(), BTreeSet::new());
        for (key, at) in word_keys(tokens) {
            keys.insert(key);
            if !counted.contains(&at) {
                roles.insert(key);
            }
        }
        Self { text, figures, keys, roles }
    }

    /// Returns each figure's standing in a page.
    pub fn standings(&self, page: &Page) -> Vec<Standing> {
        let roles = Roles::of(self, page);
        let mut standings: Vec<Standing> =
            self.figures.iter().map(|found| self.standing(&found.figure, page, &roles)).collect();
        if let Some(sentence) = standings.iter().find_map(|standing| standing.place())
            && roles.has_years_swapped(sentence)
        {
            let years = self.figures.iter().zip(&mut standings);
            let years = years.filter(|(found, _)| matches!(&found.figure, Figure::Number(number) if number.is_year()));
            years.for_each(|(_, standing)| *standing = Standing::Missing);
        }
        standings
    }

    /// Returns the numbers among its figures.
    pub fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.figures.iter().filter_map(|found| match &found.figure {
            Figure::Number(number) => Some(number),
            _ => None,
        })
    }

    fn standing(&self, figure: &Figure, page: &Page, roles: &Roles<'_>) -> Standing {
        let place = match figure {
            Figure::Number(number) => {
                let place = self.number(number, page, roles);
                if place.is_none() && number.is_word && number.readings.iter().all(|reading| reading.value <= COUNTED) {
                    return Standing::Free;
                }
                place
            }
            Figure::Date(dates) => dates.iter().find_map(|date| page.sentence_with_date(*date)),
            Figure::Time(hour, minute) => page.sentence_with_time(*hour, *minute),
            Figure::Code(code) => {
                let place = page.sentence_with_code(code);
                if place.is_none() && words::is_otherwise_named(code) {
                    return Standing::Free;
                }
                place
            }
        };
        place.map_or(Standing::Missing, Standing::In)
    }

    fn number(&self, number: &Number, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let place = |value: i128| self.place(number, value, page, roles);
        let direct = number.readings.iter().find_map(|reading| place(reading.value));
        let unmultiplied = || {
            // As in a table whose head says `in millions`.
            let raw = number.readings.iter().map(|reading| reading.value / number.multiple);
            let names_multiple =
                || number.multiple > 1 && page.sentence_with_any(words::multiples(number.multiple)).is_some();
            names_multiple().then(|| raw.into_iter().find_map(place)).flatten()
        };
        let parts = || page.side_by_side(&number.parts);
        let around = || number.readings.iter().any(|reading| page.around_has(reading.value)).then_some(usize::MAX);
        let ordinal = || self.ordinal(number, page);
        let found = direct.or_else(parts).or_else(unmultiplied).or_else(|| converted(number, page, roles));
        found.or_else(ordinal).or_else(around)
    }

    /// Returns the sentence with the number as an ordinal in words or in Roman figures: `nineteenth`, `XIX`.
    fn ordinal(&self, number: &Number, page: &Page) -> Option<usize> {
        let is_plain = number.unit.is_none() && !number.is_percent && number.multiple == 1;
        let value = number.readings.first().filter(|reading| is_plain && reading.step == ONE)?.value;
        page.sentences_with_ordinal(value).find(|sentence| page.is_about(*sentence, &self.keys))
    }

    /// Returns the first sentence with the number that is, for a small number, about the same as the statement, and
    /// does not say it of another matter.
    fn place(&self, number: &Number, value: i128, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let is_near = |sentence: &usize| value >= SMALL || page.is_about(*sentence, &self.keys);
        let is_meant = |sentence: &usize| {
            let mut here = page.numbers_in(*sentence).iter().filter(|placed| placed.number.is(value)).peekable();
            // A part of a date or code.
            let is_it =
                |placed: &PlacedNumber| number.is_as_large(&placed.number, value) && roles.is_meant(number, placed);
            here.peek().is_none() || here.any(is_it)
        };
        page.sentences_with(value).take(MOST_PLACES).filter(is_near).take(MOST_READ).find(is_meant)
    }
}

/// Returns a number that is the same in another unit, rounded, or, being `about`, near.
fn converted(number: &Number, page: &Page, roles: &Roles<'_>) -> Option<usize> {
    let is_same = |other: &Number| {
        other.readings.iter().any(|there| number.readings.iter().any(|here| same_amount(number, *here, other, *there)))
    };
    let mut same = page.numbers().iter().filter(|placed| is_same(&placed.number)).take(MOST_READ);
    same.find(|placed| roles.is_meant(number, placed)).map(|placed| placed.sentence)
}

fn same_amount(number: &Number, here: Reading, other: &Number, there: Reading) -> bool {
    let in_unit = match (number.unit, other.unit) {
        (Some(unit), Some(known)) if unit.quantity == known.quantity && unit.size != known.size => {
            let amount = there.value.checked_mul(known.size);
            amount.map(|amount| amount / unit.size)
        }
        // A share may be written either way.
        _ if number.is_percent && !other.is_percent && there.value <= ONE => there.value.checked_mul(100),
        _ => None,
    };
    let is_near = || {
        number.is_about && is_near(here, there.value)
            || here.digits() >= 2 && there.value >= SMALL && rounds_to(there.value, here)
    };
    in_unit.is_some_and(|value| rounds_to(value, here)) || number.is_as_large(other, there.value) && is_near()
}

/// Returns whether the value is less than the last written digit away, and a tenth at most.
fn is_near(reading: Reading, value: i128) -> bool {
    let away = reading.value.abs_diff(value);
    away < reading.last_digit().unsigned_abs()
        && away.saturating_mul(10) <= reading.value.unsigned_abs().max(value.unsigned_abs())
}

/// Returns whether `reading` is the value, rounded to the digits that are written.
pub(super) fn rounds_to(value: i128, reading: Reading) -> bool {
    let step = reading.step.max(1);
    let rounded = value.checked_add(step / 2).and_then(|value| value.div_euclid(step).checked_mul(step));
    rounded == Some(reading.value)
}
