//! Numbers that stand in no source, and follow from those that stand there: as a sum, a difference, a share.

use super::{
    check::{Statement, rounds_to},
    figures::{Number, Reading},
    page::Page,
    units::Unit,
    words::{self, ONE},
};

/// Sentences around the best one whose numbers may be computed with, how many numbers of all pages, and of one at
/// least.
const NEAR: usize = 3;
const MOST_OPERANDS: usize = 24;
const LEAST_OPERANDS: usize = 6;

/// A number that may be computed with.
#[derive(Clone, Copy, Debug)]
struct Operand {
    value: i128,
    /// It is a part of the one before.
    is_part: bool,
}

/// Does a number of the statement follow from those near the best sentences of the pages?
pub fn is_derived(statement: &Statement<'_>, number: &Number, pages: &[(&Page, Option<usize>)]) -> bool {
    // Each page has its share, however many numbers another one has.
    let share = (MOST_OPERANDS / pages.len().max(1)).max(LEAST_OPERANDS);
    let of_page =
        |(page, best): &(&Page, Option<usize>)| best.map(|best| operands(page, best, share)).unwrap_or_default();
    let operands: Vec<Operand> = pages.iter().flat_map(of_page).collect();
    // Of two years, or two small numbers, anything follows.
    let is_long = |reading: &Reading| reading.digits() >= 3 && !number.is_year();
    let is_said = number.is_percent || statement.says_it_computes();
    let allowed = is_said || is_points(number) || number.readings.iter().any(is_long);
    allowed
        && !(number.is_percent && are_points(number, pages))
        && number.readings.iter().any(|reading| follows(*reading, &operands, is_said))
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
fn operands(page: &Page, best: usize, most: usize) -> Vec<Operand> {
    let mut near: Vec<_> = page.numbers_near(best, NEAR).collect();
    near.sort_by_key(|placed| placed.sentence.abs_diff(best));
    near.truncate(most);
    near.sort_by_key(|placed| placed.place.start);
    let operand = |at: usize| {
        let is_part = || {
            let before = near.get(at.checked_sub(1)?)?;
            let between = page.text().get(before.place.end..near[at].place.start)?;
            (before.sentence == near[at].sentence).then(|| words::begins_part(between))
        };
        let value = near[at].number.readings.first()?.value;
        Some(Operand { value, is_part: is_part().unwrap_or_default() })
    };
    (0..near.len()).filter_map(operand).collect()
}

/// Returns whether the reading is sum or difference of two of the numbers, or the sum of several in a row; product,
/// ratio or share of two only where the statement says that it computes, for among a dozen numbers some two have nearly
/// any ratio. What is a part of another number is not added to it.
fn follows(reading: Reading, operands: &[Operand], with_ratios: bool) -> bool {
    let is_it = |value: Option<i128>| value.and_then(i128::checked_abs).is_some_and(|value| rounds_to(value, reading));
    let ratio = |one: i128, other: i128| (other != 0).then(|| one.checked_mul(ONE)).flatten().map(|one| one / other);
    let pairs = (0..operands.len()).flat_map(|one| (one + 1..operands.len()).map(move |other| (one, other)));
    let mut of_pairs = pairs.flat_map(|(at, next)| {
        let (one, other) = (operands[at].value, operands[next].value);
        let is_part = next == at + 1 && operands[next].is_part;
        let share = |one, other| ratio(one, other).and_then(|ratio| ratio.checked_mul(100));
        let rise = |to: i128, from: i128| share(to.checked_sub(from)?, from);
        // Next to a number, a far smaller one tells nothing.
        let comparable = one.unsigned_abs().min(other.unsigned_abs()) >= reading.value.unsigned_abs() / 50;
        let sums =
            [one.checked_add(other).filter(|_| comparable && !is_part), one.checked_sub(other).filter(|_| comparable)];
        let ratios = [
            one.checked_mul(other).map(|product| product / ONE),
            ratio(one, other),
            ratio(other, one),
            share(one, other),
            share(other, one),
            rise(one, other),
            rise(other, one),
        ];
        sums.into_iter().chain(ratios.into_iter().filter(move |_| with_ratios))
    });
    let sums = || {
        (0..operands.len()).any(|from| {
            let mut sum = operands[from].value;
            operands[from + 1..].iter().filter(|next| !next.is_part).any(|next| {
                sum = sum.saturating_add(next.value);
                rounds_to(sum, reading)
            })
        })
    };
    of_pairs.any(is_it) || sums()
}
