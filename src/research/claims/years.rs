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
/// Numbers of a sentence that are compared, of those that it gives to the year before.
const MOST_GIVEN: usize = 4;
/// Bytes between a number and the words behind it that say it is of the year before.
const LONGEST_JOINT: usize = 24;

/// Say that something is of the year before.
const YEAR_BEFORE: [&str; 29] = [
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
    "전년",
    "上一年",
];

/// Says so in Japanese; in Chinese it is two years back.
const IN_JAPANESE: &str = "前年";

/// All of them; whether they say so in Japanese alone.
static PHRASES: LazyLock<Phrases<bool>> = LazyLock::new(|| {
    let all = YEAR_BEFORE.into_iter().map(|words| (words, false));
    Phrases::new(all.chain([(IN_JAPANESE, true)]))
});

impl Statement<'_> {
    /// Returns the sentence that gives a number of the statement to the year before one that it names, or the sentence
    /// before it does. The year alone may be that of anything.
    pub fn year_before(&self, year: &Number, page: &Page) -> Option<usize> {
        let next = year.readings.first().filter(|_| year.is_year())?.value.checked_add(ONE)?;
        let mut near = page.sentences_with(next).take(MOST_PLACES).flat_map(|at| [at, at + 1]);
        let is_it = |own: &Number, there: &Number| own.counts_as(there) && are_same_or_written(own, there);
        near.find(|at| {
            let mut given = page.given_to_year_before(*at).take(MOST_GIVEN);
            given.any(|there| self.first_amounts().iter().any(|own| is_it(own, &there.number)))
        })
    }
}

impl Page {
    /// Returns the numbers of a sentence that it gives to the year before another one.
    fn given_to_year_before(&self, sentence: usize) -> impl Iterator<Item = &PlacedNumber> {
        let all = self.years_before.get_or_init(|| {
            let numbers = self.numbers().chunk_by(|one, next| one.sentence == next.sentence);
            numbers.flat_map(|numbers| self.find_given_to_year_before(numbers)).collect()
        });
        let from = all.partition_point(|(known, _)| *known < sentence);
        let here = all[from..].iter().take_while(move |(known, _)| *known == sentence);
        here.filter_map(move |(_, at)| self.numbers_in(sentence).get(*at))
    }

    /// Finds those among the numbers of a sentence; each by its sentence and its place among them.
    fn find_given_to_year_before(&self, numbers: &[PlacedNumber]) -> Vec<(usize, usize)> {
        let Some(sentence) = numbers.first().map(|placed| placed.sentence) else { return Vec::new() };
        let (lower, start) = (lower_in_place(self.sentence(sentence)), self.start_of(sentence));
        let amounts: Vec<usize> = (0..numbers.len()).filter(|at| !numbers[*at].number.is_year()).collect();
        let is_joint = |between: &str| {
            let ends = |char: char| char.is_numeric() || ",;:.，；。".contains(char);
            between.len() <= LONGEST_JOINT && !between.contains(ends)
        };
        let given = PHRASES.all_in(&lower).filter_map(|(is_japanese, at)| {
            if is_japanese && self.language() != Some("ja") {
                return None;
            }
            let behind = amounts.partition_point(|amount| numbers[*amount].place.end <= start + at.start);
            let before = behind.checked_sub(1).map(|before| amounts[before]);
            let is_before = |amount: &usize| {
                let end = numbers[*amount].place.end.saturating_sub(start);
                lower.get(end..at.start).is_some_and(is_joint)
            };
            let is_behind = |amount: &usize| numbers[*amount].place.start >= start + at.end;
            before.filter(is_before).or_else(|| amounts.get(behind).copied().filter(is_behind))
        });
        let mut given: Vec<(usize, usize)> = given.map(|at| (sentence, at)).collect();
        given.dedup();
        given
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        domain::{claim::Verdict::Supported, growth},
        research::claims::tests::judged,
    };

    #[test]
    fn years_are_supported_with_their_numbers_alone() {
        let check = |statement: &str, page: &str, is_supported: bool| {
            assert_eq!(judged(statement, page).0 == Supported, is_supported, "{statement}");
        };
        let page = "In 2023 revenue of the works was 50 million euros, compared with 40 million a year earlier.";
        check("In 2022 revenue was 40 million euros", page, true);
        check("In 2022 revenue was 50 million euros", page, false);
        for other in ["The war broke out in 2022", "The works were founded in 2022", "In 2022 the bridge collapsed"] {
            check(other, page, false);
            check(other, "In 2023 revenue of the works rose 5% from the previous year.", false);
        }
        check("2022年该公司收入为30亿元", "2023年该公司收入为50亿元。前年为30亿元。", false);
        check("2022年该公司收入为30亿元", "2023年该公司收入为50亿元，上年为30亿元。", true);
    }

    #[test]
    fn many_years_take_time_that_grows_with_their_number() {
        let page = "In 2023 revenue was 50 million, compared with 40 million a year earlier. ".repeat(30);
        growth::check("2022 was so, ", 8_000, |text| drop(judged(text, &page)));
        growth::check("In 2023 it was 5, after 4 a year earlier, ", 8_000, |page| drop(judged("2022 was so", page)));
    }
}
