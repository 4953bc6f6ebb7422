//! When two numbers say the same: rounded, in other units, as a share, or as a table counts them.

use super::{
    figure::{Number, Reading},
    page::{Page, PlacedNumber},
    phrases::{self, TEMPERATURE},
    units::Unit,
    words::ONE,
};

/// Smaller numbers stand on every page, so theirs has to be about the same.
pub const SMALL: i128 = 100 * ONE;

/// Returns the scale of the other number, if both are temperatures, on two scales: the same counts otherwise there.
pub fn of_two_scales(number: &Number, other: &Number) -> Option<&'static str> {
    let (unit, known) = number.unit.zip(other.unit)?;
    let are_warmth = unit.quantity == TEMPERATURE && known.quantity == TEMPERATURE;
    (are_warmth && unit.kind != known.kind).then_some(known.kind)
}

/// Returns whether one of the readings of both numbers is the same amount.
pub fn are_same(number: &Number, other: &Number) -> bool {
    let is_one = |here: &Reading, there: &Reading| here.value == there.value;
    // What is written the same is read the same: `4,900 GWh` are not the 4.9 of `4,900 MWh`.
    let is_alike = number.readings.first().zip(other.readings.first()).is_some_and(|(here, there)| is_one(here, there));
    let may_be_same = |here: &Reading, there: &Reading| !is_alike || is_one(here, there);
    let is_same = |here: &Reading| {
        let mut readings = other.readings.iter().filter(|there| may_be_same(here, there));
        readings.any(|there| same_amount(number, *here, other, *there))
    };
    number.readings.iter().any(is_same)
}

/// Returns whether a number of a page is the one of a statement: the same amount, or the same without the word for so
/// many that the head of a table may have.
pub fn is_same(number: &Number, there: &PlacedNumber, page: &Page) -> bool {
    let is_counted = |multiple: i128| number.counted_in(multiple).is_some_and(|own| are_same(&own, &there.number));
    let is_sum = || there.number.multiple == 1 && there.number.unit.is_some_and(Unit::is_money);
    let is_headed = (there.number.unit.is_none() || is_sum()) && !there.number.is_percent;
    number.is_year() == there.number.is_year()
        && number.counts_as(&there.number)
        && (are_same_or_written(number, &there.number) || is_headed && page.heads_for(number).any(is_counted))
}

/// Returns whether a number of a page is the amount of a statement, in whatever unit, or written the same, with or
/// without the word for so many.
pub fn are_same_or_written(number: &Number, there: &Number) -> bool {
    let mut values = number.readings.iter().map(|reading| reading.value);
    values.any(|value| there.is(value) || there.is(value / number.multiple)) || are_same(number, there)
}

pub fn same_amount(number: &Number, here: Reading, other: &Number, there: Reading) -> bool {
    let is_about = |value: i128| number.precision.allows(here, value) && is_near(here, value);
    if let Some(scale) = of_two_scales(number, other) {
        let values = phrases::on_other_scale(there.value, scale);
        return values.into_iter().any(|value| rounds_to(value, here)) || is_about(values[0]);
    }
    let Some(per) = number.per.zip(other.per).map_or(Some([1; 2]), |(own, other)| sizes(own, other)) else {
        return false;
    };
    let units = number.unit.zip(other.unit).and_then(|(unit, known)| sizes(unit, known));
    let rates = units.map(|units| [[units[0], per[0]], [units[1], per[1]]]);
    match rates {
        Some([unit, known]) if unit[0].checked_mul(known[1]) != known[0].checked_mul(unit[1]) => {
            is_in_unit([here, there], [unit, known], is_about)
        }
        _ => {
            let share = || match number.hundredths_of(other) {
                Some(hundredths) => there.value.checked_mul(hundredths).map(|value| value / 100),
                // A share may be written either way; `one of the largest` is none.
                None if number.is_percent && !other.is_percent && there.value <= ONE && there.step < ONE => {
                    there.value.checked_mul(100)
                }
                None => None,
            };
            // What is counted one by one is whole, and what says its unit is not rounded to what says none.
            let may_count = || match (number.unit, number.is_percent) {
                (None, false) => here.step < ONE && other.unit.is_none() && !other.is_percent,
                _ => true,
            };
            let here_digits = || here.digits(number.multiple);
            let is_finer = || there.step < here.step && there.digits(other.multiple) > here_digits() && may_count();
            let may_be_rounded = || here_digits() >= 2 && (there.value >= SMALL || is_finer());
            let is_rounded = || rounds_to(there.value, here) && may_be_rounded();
            share().is_some_and(|value| rounds_to(value, here))
                || number.is_as_large(other, there.value) && (is_about(there.value) || is_rounded())
        }
    }
}

/// Returns how large both units are, if they measure the same.
fn sizes(one: Unit, other: Unit) -> Option<[i128; 2]> {
    one.alike(other).map(|(one, other)| [one.size, other.size])
}

/// Returns whether both are the same amount in two units, rounded to the digits that are written of either one, if
/// these are two or more. Each unit is so large for each of so much: of `mg/L` a litre.
fn is_in_unit([here, there]: [Reading; 2], [unit, known]: [[i128; 2]; 2], is_about: impl Fn(i128) -> bool) -> bool {
    let converted = |reading: Reading, from: [i128; 2], to: [i128; 2]| {
        let whole = reading.value.checked_mul(from[0])?.checked_mul(to[1])?;
        Some(whole / to[0].checked_mul(from[1])?)
    };
    let is_rounded = |value: i128, reading: Reading| {
        let to_last = Reading { step: reading.last_digit(), ..reading };
        rounds_to(value, reading) || reading.digits(1) >= 2 && rounds_to(value, to_last)
    };
    let (there_here, here_there) = (converted(there, known, unit), converted(here, unit, known));
    there_here.is_some_and(|value| is_rounded(value, here) || is_about(value))
        || there.digits(1) >= 2 && here_there.is_some_and(|value| is_rounded(value, there))
}

/// Returns whether the value is less than the last written digit away, and a tenth at most.
fn is_near(reading: Reading, value: i128) -> bool {
    let away = reading.value.abs_diff(value);
    away < reading.last_digit().unsigned_abs()
        && away.saturating_mul(10) <= reading.value.unsigned_abs().max(value.unsigned_abs())
}

/// Returns whether `reading` is the value, rounded to the digits that are written.
pub fn rounds_to(value: i128, reading: Reading) -> bool {
    let step = reading.step.max(1);
    // Most numbers are far from each other, and dividing takes time.
    if value.abs_diff(reading.value) > step.unsigned_abs() {
        return false;
    }
    let rounded = value.checked_add(step / 2).and_then(|value| value.div_euclid(step).checked_mul(step));
    rounded == Some(reading.value)
}
