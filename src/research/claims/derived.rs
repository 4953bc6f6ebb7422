//! Numbers that stand in no source, and follow from those that stand there: as a sum, a difference, a share.
//!
//! Among a dozen numbers some two have nearly any ratio. So only what is of one kind is computed with: amounts in one
//! unit, shares of a hundred, years.

use super::{
    bounds::Precision,
    check::{Statement, rounds_to},
    figures::{Number, Reading},
    ordinals,
    page::{Page, PlacedNumber},
    units::Unit,
    words::{self, ONE},
};

/// Sentences around the best one whose numbers may be computed with, how many numbers of all pages, and of one at
/// least.
const NEAR: usize = 3;
const MOST_OPERANDS: usize = 24;
const LEAST_OPERANDS: usize = 6;
/// Digits of a year: `1,450` is none.
const YEAR_DIGITS: usize = 4;

/// A number that may be computed with.
#[derive(Clone, Copy, Debug)]
struct Operand<'a> {
    number: &'a Number,
    value: i128,
    sentence: usize,
    /// It is a part of the one before.
    is_part: bool,
    /// It is written as years are, in four digits.
    may_be_year: bool,
}

impl Operand<'_> {
    /// Returns whether both count the same, so that they can be added up.
    fn is_like(&self, other: &Self) -> bool {
        let (one, other) = (self.number, other.number);
        let are_shares = is_share(one) && is_share(other);
        // Cells of a row may leave out what they are paid in.
        let is_said = one.unit.is_some() == other.unit.is_some() || one.unit.or(other.unit).is_some_and(Unit::is_money);
        let are_amounts = !is_share(one) && !is_share(other) && is_said && are_of_one_unit(one, other);
        one.is_year() == other.is_year() && (are_shares || are_amounts)
    }

    /// Returns whether a sum or difference of such numbers may be the one of the statement. Those of shares are often
    /// called points, and the cells of tables say nothing of what they are.
    fn adds_up_to(&self, number: &Number, is_said: bool) -> bool {
        match (is_share(number), is_share(self.number)) {
            (true, false) => is_points(number) && self.number.unit.is_none() && !self.number.is_year(),
            (false, true) => is_said && number.unit.is_none(),
            (true, true) => true,
            (false, false) => self.number.is_year() || are_of_one_unit(number, self.number),
        }
    }

    fn is_amount(&self) -> bool {
        !is_share(self.number) && !self.number.is_year()
    }
}

/// Does a number of the statement follow from those near the best sentences of the pages?
pub fn is_derived(statement: &Statement<'_>, number: &Number, pages: &[(&Page, Option<usize>)]) -> bool {
    // Each page has its share, however many numbers another one has.
    let share = (MOST_OPERANDS / pages.len().max(1)).max(LEAST_OPERANDS);
    let best = pages.iter().filter_map(|&(page, best)| Some((page, best?)));
    let operands: Vec<Operand<'_>> = best.flat_map(|(page, best)| operands(page, best, share)).collect();
    // Of two years, or two small numbers, anything follows.
    let is_long = |reading: &Reading| reading.digits(number.multiple) >= 3 && !number.is_year();
    let is_said = number.is_percent || statement.says_it_computes();
    let allowed = is_said || is_points(number) || number.readings.iter().any(is_long);
    // `more` of `more than 4 billion` speaks of no computing.
    let is_bound = matches!(number.precision, Precision::AtLeast | Precision::AtMost) && !is_share(number);
    if number.readings.iter().any(|reading| is_span(number, *reading, &operands)) {
        return true;
    }
    allowed
        && !is_bound
        && !(number.is_percent && are_points(number, pages))
        && number.readings.iter().any(|reading| follows(statement, number, *reading, &operands, is_said))
}

/// Returns whether both count in one unit, as far as they say in which.
fn are_of_one_unit(one: &Number, other: &Number) -> bool {
    let of_one_size = |(one, other): (Unit, Unit)| one.alike(other).is_some_and(|(one, other)| one.size == other.size);
    one.counts_as(other) && one.unit.zip(other.unit).is_none_or(of_one_size)
}

/// Returns whether a number counts hundredths of a whole, or the difference of two such.
fn is_share(number: &Number) -> bool {
    number.is_percent || is_points(number)
}

fn is_points(number: &Number) -> bool {
    number.unit == Some(Unit::PERCENTAGE_POINT)
}

/// Returns whether a page says of so many per cent that they are percentage points, which are a difference of two
/// shares as well.
fn are_points(number: &Number, pages: &[(&Page, Option<usize>)]) -> bool {
    let mut near = pages.iter().filter_map(|(page, best)| Some(page.numbers_near((*best)?, NEAR))).flatten();
    near.any(|placed| is_points(&placed.number) && number.readings.iter().any(|own| placed.number.is(own.value)))
}

/// Returns the numbers nearest to a sentence, in their order.
fn operands(page: &Page, best: usize, most: usize) -> Vec<Operand<'_>> {
    // The number of an article counts nothing.
    let counts = |placed: &&PlacedNumber| !page.text().get(..placed.place.start).is_some_and(ordinals::ends_with_label);
    let mut near: Vec<_> = page.numbers_near(best, NEAR).filter(counts).collect();
    near.sort_by_key(|placed| placed.sentence.abs_diff(best));
    near.truncate(most);
    near.sort_by_key(|placed| placed.place.start);
    let operand = |at: usize| {
        let is_part = || {
            let before = near.get(at.checked_sub(1)?)?;
            let between = page.text().get(before.place.end..near[at].place.start)?;
            (before.sentence == near[at].sentence).then(|| words::begins_part(between))
        };
        let (number, sentence) = (&near[at].number, near[at].sentence);
        let value = number.readings.first()?.value;
        let written = page.text().get(near[at].place.clone()).unwrap_or_default();
        let may_be_year = written.len() == YEAR_DIGITS && written.bytes().all(|byte| byte.is_ascii_digit());
        Some(Operand { number, value, sentence, is_part: is_part().unwrap_or_default(), may_be_year })
    };
    (0..near.len()).filter_map(operand).collect()
}

/// Returns whether so many years lie between two that stand next to each other. Of the last one only a part may count.
fn is_span(number: &Number, reading: Reading, operands: &[Operand<'_>]) -> bool {
    let is_year = |operand: &Operand<'_>| {
        let Number { unit, multiple, is_percent, .. } = operand.number;
        let is_plain = unit.is_none() && *multiple == 1 && !is_percent && operand.may_be_year;
        is_plain && (1_000 * ONE..=2_100 * ONE).contains(&operand.value)
    };
    let is_it = |pair: &[Operand<'_>]| {
        let years = pair[1].value - pair[0].value;
        pair[0].sentence == pair[1].sentence
            && pair.iter().all(is_year)
            && [years, years - ONE].contains(&reading.value)
    };
    number.unit.is_some_and(Unit::is_years) && operands.windows(2).any(is_it)
}

/// Returns whether the reading is sum or difference of two of the numbers, or the sum of several in a row; or, where
/// the statement says that it computes, ratio or share of two amounts. What is a part of another number is not added to
/// it.
fn follows(
    statement: &Statement<'_>,
    number: &Number,
    reading: Reading,
    operands: &[Operand<'_>],
    is_said: bool,
) -> bool {
    let is_it = |value: Option<i128>| value.and_then(i128::checked_abs).is_some_and(|value| rounds_to(value, reading));
    let pairs = (0..operands.len()).flat_map(|one| (one + 1..operands.len()).map(move |other| (one, other)));
    let mut of_pairs = pairs.filter(|(at, next)| operands[*at].is_like(&operands[*next])).flat_map(|(at, next)| {
        let (one, other) = (operands[at], operands[next]);
        // Next to a number, a far smaller one tells nothing.
        let least = one.value.unsigned_abs().min(other.value.unsigned_abs());
        let may_sum = one.adds_up_to(number, is_said) && least >= reading.value.unsigned_abs() / 50;
        let is_part = next == at + 1 && other.is_part;
        // What two shares differ by are points.
        let are_points = number.is_percent && one.number.is_percent && other.number.is_percent;
        let sum = one
            .value
            .checked_add(other.value)
            .filter(|_| may_sum && !is_part && (!are_points || statement.may_add_shares()));
        let difference = one.value.checked_sub(other.value).filter(|_| may_sum && !are_points);
        let ratios = Some(ratios(number, one.value, other.value)).filter(|_| is_said && one.is_amount());
        [sum, difference].into_iter().chain(ratios.into_iter().flatten())
    });
    let sums = || {
        let may_begin = |from: &usize| {
            let first = operands[*from];
            let are_shares = number.is_percent && first.number.is_percent;
            first.adds_up_to(number, is_said) && (!are_shares || statement.may_add_shares())
        };
        (0..operands.len()).filter(may_begin).any(|from| {
            let first = operands[from];
            let mut sum = first.value;
            // Years may stand between them, other numbers may not.
            let counts = |next: &&Operand<'_>| !next.is_part && (first.number.is_year() || !next.number.is_year());
            let mut alike = operands[from + 1..].iter().filter(counts).take_while(|next| first.is_like(next));
            alike.any(|next| {
                sum = sum.saturating_add(next.value);
                rounds_to(sum, reading)
            })
        })
    };
    of_pairs.any(is_it) || sums()
}

/// Returns what a number without a unit may be of two amounts: how many times one is the other, or, if it is one of a
/// hundred, which share of the other one is, or by which share it is more.
fn ratios(number: &Number, one: i128, other: i128) -> [Option<i128>; 4] {
    let ratio = |one: i128, other: i128| (other != 0).then(|| one.checked_mul(ONE)).flatten().map(|one| one / other);
    let share = |one, other| ratio(one, other).and_then(|ratio| ratio.checked_mul(100));
    let rise = |to: i128, from: i128| share(to.checked_sub(from)?, from);
    match (number.is_percent, number.unit) {
        (true, _) => [share(one, other), share(other, one), rise(one, other), rise(other, one)],
        (false, None) => [ratio(one, other), ratio(other, one), None, None],
        (false, Some(_)) => [None; 4],
    }
}
