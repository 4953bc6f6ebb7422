//! A statement held against the pages it cites.

use std::ops::Range;

use super::{
    equality::{SMALL, are_same, of_two_scales, rounds_to, same_amount},
    figure::{Figure, Number, PlacedFigure, Reading},
    ordinals::numbering,
    page::{Page, PlacedNumber},
    quarters,
    roles::Roles,
    rows,
    stated::{Standing, Statement, is_beside_year},
    swaps,
    units::Unit,
    versions,
    words::{self, ONE},
};

/// Places of a number that are looked at.
const MOST_PLACES: usize = 200;
/// The most of these that are read closely.
const MOST_READ: usize = 24;
/// Numbers that share one word for so many, as in `4, 5 or 6 million`, and bytes between the first and the last one.
const MOST_IN_RANGE: usize = 4;
const LONGEST_RANGE: usize = 24;
/// Written as words, numbers up to this one may be counts of the writer's.
pub const COUNTED: i128 = 12 * ONE;

impl Statement<'_> {
    /// Returns each figure's standing in a page.
    pub fn standings(&self, page: &Page) -> Vec<Standing> {
        let roles = Roles::of(self, page);
        let mut standings: Vec<Standing> =
            self.figures.iter().map(|found| self.standing(found, page, &roles)).collect();
        if let Some(sentence) = standings.iter().find_map(|standing| standing.place())
            && roles.has_years_swapped(sentence)
        {
            let years = self.figures.iter().zip(&mut standings);
            let years = years.filter(|(found, _)| matches!(&found.figure, Figure::Number(number) if number.is_year()));
            years.for_each(|(_, standing)| *standing = Standing::Missing);
            return standings;
        }
        let swapped = swaps::swapped(self, page, &standings);
        for at in swapped.into_iter().chain(rows::strayed(self, page, &standings)) {
            standings[at] = Standing::Swapped;
        }
        standings
    }

    /// Returns whether a sentence of a page is about the same, as far as words tell.
    pub(super) fn is_about(&self, page: &Page, sentence: usize) -> bool {
        let is_one_language = || self.language().is_some_and(|own| page.language() == Some(own.code()));
        page.is_about(sentence, &self.keys, is_one_language)
    }

    fn standing(&self, found: &PlacedFigure, page: &Page, roles: &Roles<'_>) -> Standing {
        let place = match &found.figure {
            Figure::Number(number) => {
                let place = self.number(number, &(found.start..found.end), page, roles);
                if place.is_none() && number.is_word && number.readings.iter().all(|reading| reading.value <= COUNTED) {
                    return Standing::Free;
                }
                place
            }
            Figure::Date(dates) => dates.iter().find_map(|date| page.sentence_with_date(*date)),
            Figure::Time(hour, minute) => {
                let lasts = || self.lasting(&(found.start..found.end), [*hour, *minute], page);
                self.time(*hour, *minute, page, roles).or_else(lasts)
            }
            Figure::Code(code) => {
                let substance = || self.substance(code, &(found.start..found.end), page);
                let place = page.sentence_with_code(code).or_else(substance);
                // A source may name the part of a year in words that are not known.
                let is_unknown = || self.is_part_in_words(found) && !names_other_part(code, page);
                if place.is_none() && (words::is_otherwise_named(code) || is_unknown()) {
                    return Standing::Free;
                }
                place
            }
            Figure::Identifier(identifier) => page.sentence_with_identifier(identifier),
        };
        place.map_or(Standing::Missing, Standing::In)
    }

    /// Returns the sentence in which something lasts 107 minutes, or `1 h 47 min`, for the `1h47` at a place.
    fn lasting(&self, place: &Range<usize>, time: [u8; 2], page: &Page) -> Option<usize> {
        let written = self.text.get(place.clone()).unwrap_or_default();
        let behind_hour = written.trim_start_matches(char::is_numeric).trim_start();
        let [hours, minutes] = time.map(i128::from);
        let minutes = (hours * 60 + minutes) * ONE;
        let is_it = |placed: &&PlacedNumber| {
            let there = &placed.number;
            let is_plain = there.unit == Some(Unit::MINUTE) && !there.is_compound;
            is_plain && there.readings.iter().any(|reading| reading.value == minutes)
        };
        let found = page.sums().iter().chain(page.numbers()).find(is_it).map(|placed| placed.sentence);
        found.filter(|_| behind_hour.starts_with('h'))
    }

    /// Returns the sentence with the substance that a code names, unless it is a part of a year: `H2 2030`.
    fn substance(&self, code: &str, place: &Range<usize>, page: &Page) -> Option<usize> {
        let is_of_year = || is_beside_year(self.text, place, &self.figures);
        page.lower().sentence_with_beginning(words::substance(code)).filter(|_| !is_of_year())
    }

    fn number(&self, number: &Number, at: &Range<usize>, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        if let Some(version) = versions::version(self.tokens(), at, number) {
            return self.version(number, version, page);
        }
        let place = |value: i128| self.place(number, value, page, roles);
        let direct = number.readings.iter().find_map(|reading| place(reading.value));
        let unmultiplied = || if number.multiple > 1 { self.unmultiplied(number, page, roles) } else { None };
        let scaled = || {
            // As in a table whose head says `in thousands`, of which the statement has the whole number.
            page.heads_for(number).find_map(|multiple| self.scaled(number, multiple, page, roles))
        };
        let headed = || page.heads_for(number).find_map(|multiple| self.headed(number, multiple, page, roles));
        let share = || if number.is_percent { self.share_in_words(number, page) } else { None };
        let parts = || page.side_by_side(number);
        let around = || page.around_has(number).then_some(usize::MAX);
        let ordinal = || self.ordinal(number, at, page);
        let year = || self.year_before(number, page);
        let found = direct.or_else(parts).or_else(unmultiplied).or_else(|| self.converted(number, page, roles));
        found.or_else(ordinal).or_else(scaled).or_else(headed).or_else(share).or_else(around).or_else(year)
    }

    /// Returns the sentence with a version as it is written, about the same as the statement.
    fn version(&self, number: &Number, version: &str, page: &Page) -> Option<usize> {
        let reading = number.readings.first()?;
        let mut places = page.sentences_with(reading.value).take(MOST_PLACES);
        // It may be a fraction after all, which others write with a comma.
        let spellings = [version.to_owned(), version.replace('.', ",")];
        let is_it = |sentence: &usize| {
            let text = page.sentence(*sentence);
            spellings.iter().any(|spelling| versions::stands_in(spelling, text)) && self.is_about(page, *sentence)
        };
        places.find(is_it).or_else(|| page.around_writes(*reading).then_some(usize::MAX))
    }

    /// Returns the sentence with the number without the word for so many, which stands elsewhere: alone, as in a table
    /// whose head says `in millions`, or behind a number that comes next: `4 to 5 million`.
    fn unmultiplied(&self, number: &Number, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let is_counted = page.multiples().contains(&number.multiple);
        let is_raw = |other: &Number| {
            other.multiple == 1 && number.readings.iter().any(|own| other.is(own.value / number.multiple))
        };
        let goes_on = |at: &PlacedNumber, next: &PlacedNumber| {
            let gap = next.place.start.saturating_sub(at.place.end);
            next.number.multiple == number.multiple && gap <= LONGEST_RANGE
        };
        let is_first = |here: &[PlacedNumber]| {
            here.split_first().is_some_and(|(at, rest)| is_raw(&at.number) && rest.iter().any(|next| goes_on(at, next)))
        };
        let is_it = |sentence: usize, value: i128| {
            let here = page.numbers_in(sentence);
            is_counted && !page.counts_otherwise(sentence, number.multiple, number, value)
                || (0..here.len()).any(|at| is_first(&here[at..here.len().min(at + MOST_IN_RANGE)]))
        };
        let mut raw = number.readings.iter().map(|reading| reading.value / number.multiple);
        raw.find_map(|value| self.places(number, value, page, roles).find(|sentence| is_it(*sentence, value)))
    }

    /// Returns the sentence with the number in so many thousands or millions, of which only this number says the
    /// whole. What it is paid in stays the same.
    fn scaled(&self, number: &Number, multiple: i128, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let of_multiple = |reading: &&Reading| reading.value >= multiple * ONE && reading.value % multiple == 0;
        let mut raw = number.readings.iter().filter(of_multiple).map(|reading| reading.value / multiple);
        let unit = number.unit.filter(|unit| unit.is_money());
        let plain = Number { unit, multiple: 1, ..number.clone() };
        raw.find_map(|value| {
            let is_headed = |sentence: &usize| page.is_headed(*sentence, multiple, number, value);
            self.places(&plain, value, page, roles).find(is_headed)
        })
    }

    /// Returns the sentence with the number, rounded, where so many are counted: of 391,035 in millions the statement
    /// has `$391.0 billion`. Of two digits any may be found, so that it has to be of the matter of the statement.
    fn headed(&self, number: &Number, multiple: i128, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let may_be_counted = !number.is_percent && number.unit.is_none_or(Unit::is_money);
        let counted = number.counted_in(multiple).filter(|_| may_be_counted)?;
        let is_long = counted.readings.iter().all(|reading| reading.digits(counted.multiple) > 2);
        // Beside `in millions`, `except shares in thousands` is about no money.
        let is_of = |at: usize, value: i128, multiple: i128| page.is_headed(at, multiple, number, value);
        let is_larger = |at: usize, value: i128| page.heads().any(|other| other > multiple && is_of(at, value, other));
        let is_of_head =
            |at: usize, value: i128| is_of(at, value, multiple) && !(number.unit.is_some() && is_larger(at, value));
        let is_headed = |at: usize, value: i128| is_of_head(at, value) && (is_long || self.is_about(page, at));
        // Cells have no fractions of three digits: 391,035 are thousands.
        let is_whole = |there: &Number| {
            let first = there.readings.first();
            first.is_some_and(|first| counted.readings.iter().any(|own| same_amount(&counted, *own, there, *first)))
        };
        let value = |there: &Number| there.readings.first().map_or(0, |reading| reading.value);
        let is_it =
            |placed: &&PlacedNumber| is_whole(&placed.number) && is_headed(placed.sentence, value(&placed.number));
        self.amounts(&counted, page, roles).find(is_it).map(|placed| placed.sentence)
    }

    /// Returns the first of [`Self::amounts`], or else the sentence with the number in two units.
    fn converted(&self, number: &Number, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        let is_sum = |placed: &&PlacedNumber| {
            let is_of_unit = placed.number.unit == number.unit;
            is_of_unit && number.readings.iter().any(|here| placed.number.is(here.value))
                || are_same(number, &placed.number)
        };
        let found = self.amounts(number, page, roles).next().or_else(|| page.sums().iter().find(is_sum));
        found.map(|placed| placed.sentence)
    }

    /// Returns the numbers that are the same in another unit, rounded, or, not being exact, near.
    fn amounts<'p>(
        &self,
        number: &Number,
        page: &'p Page,
        roles: &Roles<'_>,
    ) -> impl Iterator<Item = &'p PlacedNumber> {
        // Some small number is near on every page, unless its unit is another one.
        let may_be_any = number.readings.iter().any(|own| own.value < SMALL);
        let has_unit = |placed: &PlacedNumber| placed.number.unit.is_some() && number.unit.is_some();
        let is_near =
            move |placed: &&PlacedNumber| !may_be_any || has_unit(placed) || self.is_about(page, placed.sentence);
        let same = page.numbers().iter().filter(|placed| are_same(number, &placed.number)).filter(is_near);
        let is_meant = |placed: &&PlacedNumber| {
            let is_in_other_unit =
                of_two_scales(number, &placed.number).is_some() || number.hundredths_of(&placed.number).is_some();
            is_in_other_unit || roles.is_meant(number, placed)
        };
        same.take(MOST_READ).filter(is_meant)
    }

    /// Returns the sentence that says the share in words, `two thirds` for 67 %, of the matter of the statement.
    fn share_in_words(&self, number: &Number, page: &Page) -> Option<usize> {
        let is_it = |share: i128| number.readings.iter().any(|reading| rounds_to(share, *reading));
        let said = page.shares().iter().filter(|(share, _)| is_it(*share)).map(|(_, sentence)| *sentence);
        said.take(MOST_PLACES).find(|sentence| self.is_about(page, *sentence))
    }

    /// Returns the sentence with the number as an ordinal in words or in Roman figures, `nineteenth` or `XIX`, if the
    /// statement numbers something with it.
    fn ordinal(&self, number: &Number, at: &Range<usize>, page: &Page) -> Option<usize> {
        let is_plain = number.unit.is_none() && !number.is_percent && number.multiple == 1;
        let value = number.readings.first().filter(|reading| is_plain && reading.step == ONE)?.value;
        let numbering = numbering(self.tokens(), at)?;
        page.sentences_with_ordinal(value, &numbering).find(|sentence| self.is_about(page, *sentence))
    }

    /// Returns the first of [`Self::places`].
    fn place(&self, number: &Number, value: i128, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        self.places(number, value, page, roles).next()
    }

    /// Returns the sentences with the number that are, for a small number, about the same as the statement, and do not
    /// say it of another matter.
    fn places(&self, number: &Number, value: i128, page: &Page, roles: &Roles<'_>) -> impl Iterator<Item = usize> {
        let is_near = move |sentence: &usize| value >= SMALL || self.is_about(page, *sentence);
        let is_meant = move |sentence: &usize| {
            let mut here = page.numbers_in(*sentence).iter().filter(|placed| placed.number.is(value)).peekable();
            // A part of a date or code.
            let is_it =
                |placed: &PlacedNumber| number.is_as_large(&placed.number, value) && roles.is_meant(number, placed);
            here.peek().is_none() || here.any(is_it)
        };
        page.sentences_with(value).take(MOST_PLACES).filter(is_near).take(MOST_READ).filter(is_meant)
    }
}

/// Returns whether a page names another quarter, or another half, of a year.
fn names_other_part(code: &str, page: &Page) -> bool {
    let is_other = |other: &str| other != code && other.get(..1) == code.get(..1);
    quarters::codes().any(|other| is_other(other) && page.sentence_with_part_of_year(other).is_some())
}
