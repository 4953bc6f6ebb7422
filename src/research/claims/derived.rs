//! Numbers that stand in no source, and follow from those that stand there: as a sum, a difference, a share.

use super::{
    bounds::Precision,
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
    counts: Counted,
    /// It is a part of the one before.
    is_part: bool,
}

/// What a number counts: only what counts the same can be added or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// Per cent, or percentage points.
    Shares,
    Years,
    /// Things, in this unit where it has one.
    Amounts(Option<Unit>),
}

impl Counted {
    fn by(number: &Number) -> Self {
        match number.unit {
            _ if number.is_percent || is_points(number) => Self::Shares,
            _ if number.is_year() => Self::Years,
            unit => Self::Amounts(unit),
        }
    }

    /// Returns whether both count the same, as far as they say what.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Amounts(Some(one)), Self::Amounts(Some(other))) => {
                one.alike(other).is_some_and(|(one, other)| one.size == other.size)
            }
            (Self::Amounts(_), Self::Amounts(_)) => true,
            _ => self == other,
        }
    }
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
    // `More than 4 billion` says nothing of how it was computed.
    let is_bound = matches!(number.precision, Precision::AtLeast | Precision::AtMost);
    let allowed = is_said || is_points(number) || number.readings.iter().any(is_long);
    let of_shares = Counted::by(number) == Counted::Shares;
    allowed
        && (number.is_percent || !is_bound)
        && !(number.is_percent && are_points(number, pages))
        && number.readings.iter().any(|reading| follows(*reading, of_shares, &operands, is_said))
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
        let number = &near[at].number;
        let value = number.readings.first()?.value;
        Some(Operand { value, counts: Counted::by(number), is_part: is_part().unwrap_or_default() })
    };
    (0..near.len()).filter_map(operand).collect()
}

/// Returns whether the reading, a share or an amount, is sum or difference of two of the numbers, or the sum of several
/// in a row; ratio or share of two amounts only where the statement says that it computes, for among a dozen numbers
/// some two have nearly any ratio. What is a part of another number is not added to it.
fn follows(reading: Reading, of_shares: bool, operands: &[Operand], with_ratios: bool) -> bool {
    let is_it = |value: Option<i128>| value.and_then(i128::checked_abs).is_some_and(|value| rounds_to(value, reading));
    let pairs = (0..operands.len()).flat_map(|one| (one + 1..operands.len()).map(move |other| (one, other)));
    let mut of_pairs = pairs.flat_map(|(at, next)| {
        let (one, other) = (&operands[at], &operands[next]);
        let is_alike = one.counts.is_like(other.counts);
        let is_part = next == at + 1 && other.is_part;
        let sum = one.value.checked_add(other.value).filter(|_| !is_part);
        let sums = [sum, one.value.checked_sub(other.value)];
        let may_be_sum = is_alike && may_be_sum(reading, of_shares, one, other, with_ratios);
        let may_be_ratio = is_alike && with_ratios && matches!(one.counts, Counted::Amounts(_));
        let ratios = ratios(of_shares, one.value, other.value);
        sums.into_iter().filter(move |_| may_be_sum).chain(ratios.into_iter().filter(move |_| may_be_ratio))
    });
    of_pairs.any(is_it) || is_sum_in_a_row(reading, of_shares, operands)
}

/// Returns whether sum or difference of two numbers that count the same can be what is looked for.
fn may_be_sum(reading: Reading, of_shares: bool, one: &Operand, other: &Operand, is_computed: bool) -> bool {
    // A number without a unit may be a share, as in a table.
    let is_bare = one.counts == Counted::Amounts(None) && reading.digits() >= 2;
    let is_of_kind = (one.counts == Counted::Shares) == of_shares || is_bare || is_computed && !of_shares;
    // Next to a number, a far smaller one tells nothing.
    let smaller = one.value.unsigned_abs().min(other.value.unsigned_abs());
    is_of_kind && smaller >= reading.value.unsigned_abs() / 50
}

/// Returns what share one amount is of the other, and by what share one is more; or how many times as much it is.
fn ratios(of_shares: bool, one: i128, other: i128) -> [Option<i128>; 4] {
    let ratio = |one: i128, other: i128| (other != 0).then(|| one.checked_mul(ONE)).flatten().map(|one| one / other);
    let share = |one, other| ratio(one, other).and_then(|ratio| ratio.checked_mul(100));
    let rise = |to: i128, from: i128| share(to.checked_sub(from)?, from);
    match of_shares {
        true => [share(one, other), share(other, one), rise(one, other), rise(other, one)],
        false => [ratio(one, other), ratio(other, one), None, None],
    }
}

fn is_sum_in_a_row(reading: Reading, of_shares: bool, operands: &[Operand]) -> bool {
    operands.iter().enumerate().any(|(at, first)| {
        let mut sum = first.value;
        let is_next = |next: &&Operand| !next.is_part && next.counts == first.counts;
        let mut rest = operands[at + 1..].iter().filter(is_next);
        (first.counts == Counted::Shares) == of_shares
            && rest.any(|next| {
                sum = sum.saturating_add(next.value);
                rounds_to(sum, reading)
            })
    })
}
