//! What is right or wrong in a text: numbers, dates, times and codes.

use super::{units::Unit, words::ONE};

/// A part of a text that is right or wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    Number(Number),
    /// One date, or both that a spelling like 3/4/2030 may mean.
    Date(Vec<Date>),
    Time(u8, u8),
    /// Letters and digits in one: `HR-2217`, `Q3`. In lower case.
    Code(String),
    /// Hexadecimal digits that count nothing: `ac9f0d6f`, a UUID. In lower case.
    Identifier(String),
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
    /// What there are so many of the unit for each of: of `mg/L` a litre.
    pub per: Option<Unit>,
    pub is_percent: bool,
    /// Written as a word.
    pub is_word: bool,
    /// Known of those of statements alone.
    pub precision: Precision,
}

impl Number {
    /// Returns whether it may be this value, with or without the word for so many behind it.
    pub fn is(&self, value: i128) -> bool {
        self.readings.iter().any(|reading| reading.value == value || reading.value / self.multiple == value)
    }

    /// Returns whether both can count the same. They cannot when their units measure something else, or are those of
    /// two currencies.
    pub fn counts_as(&self, other: &Self) -> bool {
        let is_apart = |(one, other): (Unit, Unit)| one.alike(other).is_none();
        let is_share = |one: &Self, other: &Self| {
            one.is_percent && (other.known_unit().is_some() || other.multiple > 1 && !other.is_percent)
        };
        let of_both = || self.per.zip(other.per).is_some_and(is_apart);
        !(self.units_beside(other).is_some_and(is_apart) || of_both() || is_share(self, other) || is_share(other, self))
    }

    /// Returns whether both count as much when `other` is read as this value: in units of one size, and with the word
    /// for so many, which only a number without a unit may leave out, such as one in a table.
    pub fn is_as_large(&self, other: &Self, value: i128) -> bool {
        let units = self.units_beside(other).and_then(|(one, other)| one.alike(other));
        let is_whole = other.readings.iter().any(|reading| reading.value == value);
        let [of_own, of_other] = self.per.zip(other.per).map_or([1; 2], |(own, other)| [own.size, other.size]);
        let is_one_size = |(one, other): (Unit, Unit)| one.size.checked_mul(of_other) == other.size.checked_mul(of_own);
        // Where nothing is said of what is counted, as in `5 % per month`.
        let is_one_rate = || of_own == of_other || self.unit.or(other.unit).is_some();
        units.map_or_else(is_one_rate, is_one_size) && (is_whole || self.multiple == 1 && self.unit.is_none())
    }

    /// Returns the units by which both can be compared: a part of one says little, but that it is paid in a currency,
    /// unless it is known of both what each is counted per.
    pub fn units_beside(&self, other: &Self) -> Option<(Unit, Unit)> {
        let units = self.unit.zip(other.unit);
        let are_rates = self.per.is_some() && other.per.is_some();
        let are_whole = !self.is_compound && !other.is_compound;
        units.filter(|(one, other)| are_whole || are_rates || one.is_money() && other.is_money())
    }

    /// Adds what it is if it counts so many: thousands, millions.
    pub fn add_multiple(&mut self, multiple: i128) {
        let multiplied = |reading: &Reading| {
            let [value, step] = [reading.value, reading.step].map(|part| part.checked_mul(multiple));
            Some(Reading { value: value?, step: step? })
        };
        let multiplied: Vec<Reading> = self.readings.iter().filter_map(multiplied).collect();
        self.readings.extend(multiplied);
    }

    /// Returns how many thousands, millions and so on this is, if it is one of them at least.
    pub fn counted_in(&self, multiple: i128) -> Option<Self> {
        let is_one = |reading: &&Reading| reading.value / multiple >= ONE;
        let counted =
            |reading: &Reading| Reading { value: reading.value / multiple, step: (reading.step / multiple).max(1) };
        let readings: Vec<Reading> = self.readings.iter().filter(is_one).map(counted).collect();
        let left = (self.multiple / multiple).max(1);
        (!readings.is_empty() && !self.is_year()).then(|| Self { readings, multiple: left, ..self.clone() })
    }

    /// Returns how many hundredths of this number one of the other is, of a share of a hundred and basis points: these
    /// count both shares and differences of them.
    pub fn hundredths_of(&self, other: &Self) -> Option<i128> {
        let is_basis = |number: &Self| number.unit == Some(Unit::BASIS_POINT);
        match (self.is_percent && is_basis(other), is_basis(self) && other.is_percent) {
            (true, _) => Some(1),
            (_, true) => Some(10_000),
            _ => None,
        }
    }

    /// Returns so many basis points in percentage points, as what two shares differ by.
    pub fn in_points(&self) -> Option<Self> {
        const HUNDRED: i128 = Unit::PERCENTAGE_POINT.size / Unit::BASIS_POINT.size;
        let in_points =
            |reading: &Reading| Reading { value: reading.value / HUNDRED, step: (reading.step / HUNDRED).max(1) };
        let readings = self.readings.iter().map(in_points).collect();
        let is_basis = self.unit == Some(Unit::BASIS_POINT);
        is_basis.then(|| Self { readings, unit: Some(Unit::PERCENTAGE_POINT), ..self.clone() })
    }

    /// Returns the unit, if it is all that is counted.
    fn known_unit(&self) -> Option<Unit> {
        self.unit.filter(|_| !self.is_compound)
    }

    /// Returns whether this is a whole number that may well be a year.
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

    /// Returns the number of digits from the first to the last one that is written; zeros at the end of a whole
    /// number do not count, those of `2.0 million` do: `multiple` is what its word makes of one.
    pub fn digits(self, multiple: i128) -> usize {
        let mut value = self.value / self.step.max(1);
        while value != 0 && value % 10 == 0 && self.step / multiple >= ONE {
            value /= 10;
        }
        value.unsigned_abs().checked_ilog10().map_or(1, |power| power as usize + 1)
    }
}

/// A number of which nothing is known.
pub const EMPTY: Number = Number {
    readings: Vec::new(),
    parts: Vec::new(),
    multiple: 1,
    unit: None,
    is_compound: false,
    per: None,
    is_percent: false,
    is_word: false,
    precision: Precision::Exact,
};

/// How a number stands for the one that is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    #[default]
    Exact,
    /// `about 40`
    About,
    /// `more than 40`
    AtLeast,
    /// `up to 40`
    AtMost,
}

impl Precision {
    /// Returns whether a value near a number of this precision may be the one that is meant.
    pub fn allows(self, number: Reading, value: i128) -> bool {
        match self {
            Self::Exact => false,
            Self::About => true,
            Self::AtLeast => value >= number.value,
            Self::AtMost => value <= number.value,
        }
    }

    /// Returns what a `not` before it makes of it.
    pub fn denied(self) -> Self {
        match self {
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
            other => other,
        }
    }
}

/// A date, as far as it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    pub year: Option<i32>,
    pub month: Option<u8>,
    pub day: Option<u8>,
}
