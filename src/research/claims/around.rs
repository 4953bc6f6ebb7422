//! What is known of a page beside its text: its title, its date and its address.

use super::{
    figure::{Figure, Number, Reading},
    page::{Page, numbers_of, squeezed},
    words::ONE,
};

impl Page {
    /// Returns whether title, date or address hold the number: as the same share or amount. Years of dates and the
    /// digits of codes are bare numbers.
    pub fn around_has(&self, number: &Number) -> bool {
        // `2,024` is no year: it may as well be a fraction, or two numbers.
        let is_one = number.parts.is_empty() && number.readings.iter().all(|reading| reading.step >= ONE);
        let is_bare = is_one && number.unit.is_none() && !number.is_percent && number.multiple == 1;
        let counts_so = |figure: &Figure, value: i128| match figure {
            Figure::Number(known) => {
                known.is_percent == number.is_percent && number.counts_as(known) && number.is_as_large(known, value)
            }
            _ => is_bare,
        };
        let mut values = number.readings.iter().map(|reading| reading.value);
        values.any(|value| self.around.iter().any(|figure| holds(figure, value) && counts_so(figure, value)))
    }

    /// Returns whether title, date or address hold the number with as many digits.
    pub fn around_writes(&self, reading: Reading) -> bool {
        let is_it = |figure: &Figure| matches!(figure, Figure::Number(number) if number.readings.contains(&reading));
        self.around.iter().any(is_it)
    }

    /// Returns whether a year stands in the text, or in what is known around it.
    pub(super) fn knows_year(&self, year: Option<i32>) -> bool {
        let Some(year) = year else { return true };
        let value = i128::from(year) * ONE;
        self.sentences_with(value).next().is_some() || self.around.iter().any(|figure| holds(figure, value))
    }

    /// Returns the place beyond the text if what is known around it has a code or identifier.
    pub(super) fn stands_around(&self, code: &str) -> Option<usize> {
        let is_it = |figure: &Figure| matches!(figure, Figure::Code(known) | Figure::Identifier(known) if squeezed(known) == squeezed(code));
        self.around.iter().any(is_it).then_some(usize::MAX)
    }
}

/// Returns whether a figure is or holds the number with this value.
fn holds(figure: &Figure, value: i128) -> bool {
    match figure {
        Figure::Number(number) => {
            number.readings.iter().any(|reading| reading.value == value) || number.parts.contains(&value)
        }
        Figure::Date(dates) => dates.iter().any(|date| date.year.map(|year| i128::from(year) * ONE) == Some(value)),
        Figure::Code(code) => numbers_of(code).any(|number| number == value),
        Figure::Time(..) | Figure::Identifier(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{figures::figures, tokens::tokens},
        *,
    };

    #[test]
    fn what_is_known_around_a_text_holds_numbers_as_they_count() {
        let around = "iPhone 15 review: up 20%, for $4.8 billion\n2024-07-30\nhttps://harbour.test/XR-7";
        let page = Page::read("Battery life improved.".into(), around);
        let check = |figure: &str, expected: bool| {
            let found = figures(figure, &tokens(figure)).next().map(|found| found.figure);
            let Some(Figure::Number(number)) = found else { panic!("{figure}") };
            assert_eq!(page.around_has(&number), expected, "{figure}");
        };
        for held in ["15 reviews", "20%", "$4.8 billion", "2024", "7"] {
            check(held, true);
        }
        for other in ["15%", "20 reviews", "€4.8 billion", "2,024 employees", "7%", "7 million", "2024 km", "30"] {
            check(other, false);
        }
    }
}
