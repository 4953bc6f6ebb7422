//! A statement held against the pages it cites.

use std::collections::BTreeSet;

use super::{
    figures::{Figure, Number, PlacedFigure, Reading},
    page::{Page, WordKey},
    words::{self, ONE},
};

/// Smaller numbers stand on every page, so theirs has to be about the same.
const SMALL: i128 = 100 * ONE;
/// Sentences around the best one whose numbers may be computed with, and how many numbers.
const NEAR: usize = 3;
const MOST_OPERANDS: usize = 24;
/// Places of a number that are looked at.
const MOST_PLACES: usize = 200;
/// Written as words, numbers up to this one may be counts of the writer's.
const COUNTED: i128 = 12 * ONE;

/// A statement as it is checked.
#[derive(Debug)]
pub struct Statement<'a> {
    pub text: &'a str,
    pub figures: Vec<PlacedFigure>,
    /// The keys of its words; ordered, so that whatever is summed up over them is the same in each process.
    pub keys: BTreeSet<WordKey>,
}

/// Where a figure of a statement was found in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In this sentence; beyond the last one: in what is known around the text.
    In(usize),
    Missing,
    /// It need not stand anywhere.
    Free,
}

impl Statement<'_> {
    /// Each figure's standing in a page, by itself.
    pub fn standings(&self, page: &Page) -> Vec<Standing> {
        self.figures.iter().map(|found| self.standing(&found.figure, page)).collect()
    }

    fn standing(&self, figure: &Figure, page: &Page) -> Standing {
        let place = match figure {
            Figure::Number(number) => {
                let place = self.number(number, page);
                if place.is_none() && number.is_word && number.readings.iter().all(|reading| reading.value <= COUNTED) {
                    return Standing::Free;
                }
                place
            }
            Figure::Date(dates) => dates.iter().find_map(|date| page.sentence_with_date(*date)),
            Figure::Time(hour, minute) => page.sentence_with_time(*hour, *minute),
            Figure::Code(code) => page.sentence_with_code(code),
        };
        place.map_or(Standing::Missing, Standing::In)
    }

    fn number(&self, number: &Number, page: &Page) -> Option<usize> {
        let values = number.readings.iter().map(|reading| reading.value);
        let direct = values.clone().find_map(|value| self.place(value, page));
        let unmultiplied = || {
            // As in a table whose head says `in millions`.
            let raw = number.readings.iter().map(|reading| reading.value / number.multiple);
            let is_told = number.multiple > 1 && page.has_any(words::multiples(number.multiple));
            is_told.then(|| raw.into_iter().find_map(|value| self.place(value, page))).flatten()
        };
        let parts = || {
            let places: Option<Vec<usize>> = number.parts.iter().map(|part| self.place(*part, page)).collect();
            places?.first().copied()
        };
        let around = || number.readings.iter().any(|reading| page.around_has(reading.value)).then_some(usize::MAX);
        direct.or_else(parts).or_else(unmultiplied).or_else(|| converted(number, page)).or_else(around)
    }

    /// The first sentence with the number that is, for a small number, about the same as the statement.
    fn place(&self, value: i128, page: &Page) -> Option<usize> {
        let fits = |sentence: &usize| value >= SMALL || page.is_about(*sentence, &self.keys);
        page.sentences_with(value).take(MOST_PLACES).find(fits)
    }

    /// Does the number follow from those near the best sentences of the pages?
    pub fn is_derived(&self, number: &Number, pages: &[(&Page, Option<usize>)]) -> bool {
        let near = pages.iter().filter_map(|(page, best)| Some(page.numbers_near((*best)?, NEAR)));
        let operands: Vec<i128> =
            near.flatten().filter_map(|number| Some(number.readings.first()?.value)).take(MOST_OPERANDS).collect();
        let is_computed = || {
            let lower = self.text.to_lowercase();
            lower.split(|char: char| !char.is_alphabetic()).any(words::is_computed)
        };
        // Of two years, or two small numbers, anything follows.
        let is_year = |reading: &Reading| reading.step == ONE && (1_900 * ONE..=2_100 * ONE).contains(&reading.value);
        let is_long = |reading: &Reading| reading.digits() >= 3 && !is_year(reading);
        let allowed = number.is_percent || number.readings.iter().any(is_long) || is_computed();
        allowed && number.readings.iter().any(|reading| follows(*reading, &operands))
    }
}

/// A number that is the same in another unit, rounded, or, being `about`, near.
fn converted(number: &Number, page: &Page) -> Option<usize> {
    let is_same = |other: &Number| {
        other.readings.iter().any(|there| number.readings.iter().any(|here| same_amount(number, *here, other, *there)))
    };
    page.numbers().iter().find(|(other, _)| is_same(other)).map(|(_, sentence)| *sentence)
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
    let near = number.is_about && here.value.abs_diff(there.value) < here.last_digit().unsigned_abs();
    near || in_unit.is_some_and(|value| rounds_to(value, here))
        || here.digits() >= 2 && there.value >= SMALL && rounds_to(there.value, here)
}

/// Is `reading` the value, rounded to the digits that are written?
fn rounds_to(value: i128, reading: Reading) -> bool {
    let step = reading.step.max(1);
    let rounded = value.checked_add(step / 2).and_then(|value| value.div_euclid(step).checked_mul(step));
    rounded == Some(reading.value)
}

/// Sum, difference, product, ratio or share of two of the numbers, or the sum of several in a row.
fn follows(reading: Reading, operands: &[i128]) -> bool {
    let is_it = |value: Option<i128>| value.and_then(i128::checked_abs).is_some_and(|value| rounds_to(value, reading));
    let ratio = |one: i128, other: i128| (other != 0).then(|| one.checked_mul(ONE)).flatten().map(|one| one / other);
    let pairs =
        operands.iter().enumerate().flat_map(|(at, one)| operands[at + 1..].iter().map(move |other| (*one, *other)));
    let mut of_pairs = pairs.flat_map(|(one, other)| {
        let share = |one, other| ratio(one, other).and_then(|ratio| ratio.checked_mul(100));
        let rise = |to: i128, from: i128| share(to.checked_sub(from)?, from);
        // Next to a number, a far smaller one tells nothing.
        let comparable = one.unsigned_abs().min(other.unsigned_abs()) >= reading.value.unsigned_abs() / 50;
        [
            one.checked_add(other).filter(|_| comparable),
            one.checked_sub(other).filter(|_| comparable),
            one.checked_mul(other).map(|product| product / ONE),
            ratio(one, other),
            ratio(other, one),
            share(one, other),
            share(other, one),
            rise(one, other),
            rise(other, one),
        ]
    });
    let sums = || {
        (0..operands.len()).any(|from| {
            let mut sum = operands[from];
            operands[from + 1..].iter().any(|next| {
                sum = sum.saturating_add(*next);
                rounds_to(sum, reading)
            })
        })
    };
    of_pairs.any(is_it) || sums()
}
