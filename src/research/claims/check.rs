//! A statement held against the pages it cites.

use std::{cell::OnceCell, collections::BTreeSet, ops::Range};

use super::{
    bounds,
    figure::{Figure, Number, PlacedFigure, Reading},
    figures,
    keys::{WordKey, word_keys},
    lower,
    ordinals::numbering,
    page::{Page, PlacedNumber},
    parts,
    phrases::{self, TEMPERATURE},
    quarters,
    roles::Roles,
    rows, swaps,
    tokens::Token,
    units::Unit,
    versions,
    words::{self, ONE},
};
use crate::text::{Language, is_in};

/// Smaller numbers stand on every page, so theirs has to be about the same.
pub const SMALL: i128 = 100 * ONE;
/// Places of a number that are looked at.
const MOST_PLACES: usize = 200;
/// The most of these that are read closely.
const MOST_READ: usize = 24;
/// Written as words, numbers up to this one may be counts of the writer's.
const COUNTED: i128 = 12 * ONE;

/// Numbers that share one word for so many, as in `4, 5 or 6 million`, and bytes between the first and the last one.
const MOST_IN_RANGE: usize = 4;
const LONGEST_RANGE: usize = 24;

/// Between the ends of a range.
const IN_RANGE: &str = "and to or und bis oder et à ou y a o e - – — ~ 至 到";

/// Joins those whose shares a statement adds up.
const AND: &str = "and und et y e ed en и";

/// Between a part of a year and the year.
const BEFORE_YEAR: [&str; 15] = [
    "",
    "/",
    "-",
    ",",
    "of",
    "of fiscal",
    "of fiscal year",
    "of the year",
    "de",
    "del",
    "du",
    "do",
    "des jahres",
    "van",
    "年",
];

/// A statement as it is checked.
#[derive(Debug)]
pub struct Statement<'a> {
    pub text: &'a str,
    tokens: &'a [Token<'a>],
    pub figures: Vec<PlacedFigure>,
    /// The keys of its words; ordered, so that whatever is summed up over them is the same in each process.
    pub keys: BTreeSet<WordKey>,
    /// Those of the words that say what its figures are of: all but the ones right behind a figure, which it counts.
    pub roles: BTreeSet<WordKey>,
    computes: OnceCell<bool>,
    joins: OnceCell<bool>,
    language: OnceCell<Option<Language>>,
    labels: OnceCell<BTreeSet<WordKey>>,
}

/// The standing of a figure of a statement in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In this sentence; beyond the last one: in what is known around the text.
    In(usize),
    Missing,
    /// The page says it of another matter.
    Swapped,
    /// It need not stand anywhere.
    Free,
}

impl Standing {
    /// Returns the sentence in which it was found.
    pub fn place(self) -> Option<usize> {
        match self {
            Self::In(sentence) => Some(sentence),
            Self::Missing | Self::Swapped | Self::Free => None,
        }
    }
}

impl<'a> Statement<'a> {
    pub fn read(text: &'a str, tokens: &'a [Token<'a>]) -> Self {
        let mut figures: Vec<PlacedFigure> = figures::figures(text, tokens).collect();
        for found in &mut figures {
            if let Figure::Number(number) = &mut found.figure {
                number.precision = bounds::precision(text, tokens, &(found.start..found.end));
            }
        }
        add_multiples_of_ranges(text, &mut figures);
        let parts = parts_of_year(text, &figures);
        // The number of `3-м квартале` counts nothing.
        let is_within = |found: &PlacedFigure, part: &PlacedFigure| part.start <= found.start && found.end <= part.end;
        figures.retain(|found| !parts.iter().any(|part| is_within(found, part)));
        figures.extend(parts);
        figures.sort_by_key(|found| found.start);
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
        Self {
            text,
            tokens,
            figures,
            keys,
            roles,
            computes: OnceCell::new(),
            joins: OnceCell::new(),
            language: OnceCell::new(),
            labels: OnceCell::new(),
        }
    }

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

    /// Returns its words, numbers and marks.
    pub fn tokens(&self) -> &[Token<'a>] {
        self.tokens
    }

    /// Returns the keys of the words that tell something.
    pub fn labels(&self) -> &BTreeSet<WordKey> {
        self.labels.get_or_init(|| parts::word_labels(self.text, self.tokens).map(|(label, _)| label.key).collect())
    }

    /// Returns the numbers among its figures.
    pub fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.figures.iter().filter_map(|found| match &found.figure {
            Figure::Number(number) => Some(number),
            _ => None,
        })
    }

    /// Returns whether its words say that it computes.
    pub fn says_it_computes(&self) -> bool {
        let is_computed = || {
            let lower = self.text.to_lowercase();
            lower.split(|char: char| !char.is_alphabetic()).any(words::is_computed)
        };
        *self.computes.get_or_init(is_computed)
    }

    /// Returns whether it may speak of two shares at once: `Coal and gas give 55 %.`
    pub fn may_add_shares(&self) -> bool {
        let is_joint = || self.text.split(|char: char| !char.is_alphabetic()).any(|word| is_in(AND, word));
        self.says_it_computes() || *self.joins.get_or_init(is_joint)
    }

    /// Returns whether a sentence of a page is about the same, as far as words tell.
    fn is_about(&self, page: &Page, sentence: usize) -> bool {
        let is_one_language = || self.language().is_some_and(|own| page.language() == Some(own.code()));
        page.is_about(sentence, &self.keys, is_one_language)
    }

    /// Returns its language, if it is certain.
    pub fn language(&self) -> Option<Language> {
        *self.language.get_or_init(|| Language::certain(self.text))
    }

    /// Returns whether it has figures other than parts of a year in words, which tell little by themselves.
    pub fn has_figures(&self) -> bool {
        self.figures.iter().any(|found| !self.is_part_in_words(found))
    }

    /// Returns whether a figure is a part of a year in words.
    fn is_part_in_words(&self, found: &PlacedFigure) -> bool {
        let is_in_words = |code: &str| !self.text[found.start..found.end].eq_ignore_ascii_case(code);
        matches!(&found.figure, Figure::Code(code) if quarters::is_part_of_year(code) && is_in_words(code))
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
            Figure::Time(hour, minute) => page.sentence_with_time(*hour, *minute),
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

    /// Returns the sentence with the substance that a code names, unless it is a part of a year: `H2 2030`.
    fn substance(&self, code: &str, place: &Range<usize>, page: &Page) -> Option<usize> {
        let is_of_year = || is_beside_year(self.text, place, &self.figures);
        page.lower().sentence_with_beginning(words::substance(code)).filter(|_| !is_of_year())
    }

    fn number(&self, number: &Number, at: &Range<usize>, page: &Page, roles: &Roles<'_>) -> Option<usize> {
        if let Some(version) = versions::version(self.tokens, at, number) {
            return self.version(number, version, page);
        }
        let place = |value: i128| self.place(number, value, page, roles);
        let direct = number.readings.iter().find_map(|reading| place(reading.value));
        let unmultiplied = || if number.multiple > 1 { self.unmultiplied(number, page, roles) } else { None };
        let scaled = || {
            // As in a table whose head says `in thousands`, of which the statement has the whole number.
            page.heads().find_map(|multiple| self.scaled(number, multiple, page, roles))
        };
        let headed = || page.heads().find_map(|multiple| self.headed(number, multiple, page, roles));
        let share = || if number.is_percent { self.share_in_words(number, page) } else { None };
        let parts = || page.side_by_side(number);
        let around = || number.readings.iter().any(|reading| page.around_has(reading.value)).then_some(usize::MAX);
        let ordinal = || self.ordinal(number, at, page);
        let found = direct.or_else(parts).or_else(unmultiplied).or_else(|| self.converted(number, page, roles));
        found.or_else(ordinal).or_else(scaled).or_else(headed).or_else(share).or_else(around)
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
        let numbering = numbering(self.tokens, at)?;
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

/// Adds to the first sum of a range what it is with the word for so many behind the second one: `between $19.2 and
/// $19.6 billion`.
fn add_multiples_of_ranges(text: &str, figures: &mut [PlacedFigure]) {
    for at in 1..figures.len() {
        let [first, second] = &mut figures[at - 1..=at] else { continue };
        let between = text.get(first.end..second.start).unwrap_or_default();
        let (Figure::Number(first), Figure::Number(second)) = (&mut first.figure, &second.figure) else { continue };
        let joint = between.trim_matches(|char: char| char.is_whitespace() || "$€£¥".contains(char));
        let is_range = first.multiple == 1 && first.unit.is_some_and(Unit::is_money) && first.unit == second.unit;
        if is_range && second.multiple > 1 && is_in(IN_RANGE, &joint.to_lowercase()) {
            first.add_multiple(second.multiple);
        }
    }
}

/// Returns the parts of a year that a text names in words, as their codes: those beside a year, and all where it is of
/// business. A match has two halves, too.
fn parts_of_year(text: &str, figures: &[PlacedFigure]) -> Vec<PlacedFigure> {
    let lower = lower_in_place(text);
    let mut named = quarters::named(&lower).peekable();
    if named.peek().is_none() {
        return Vec::new();
    }
    let is_of_business = quarters::business().any(|word| {
        let mut places = lower.match_indices(word);
        places.any(|(at, _)| lower::begins(&lower[..at]))
    });
    let stands = |at: &Range<usize>| {
        let (before, words, behind) = (&lower[..at.start], &lower[at.clone()], &lower[at.end..]);
        let is_meant = || is_of_business || is_beside_year(text, at, figures);
        lower::is_apart_as(words, before, behind) && !quarters::ends_with_first_parts(before) && is_meant()
    };
    let mut found: Vec<PlacedFigure> = Vec::new();
    for (code, at) in named.filter(|(_, at)| stands(at)) {
        if !found.iter().any(|known| matches!(&known.figure, Figure::Code(known) if known == code)) {
            found.push(PlacedFigure { figure: Figure::Code(code.to_owned()), start: at.start, end: at.end });
        }
    }
    found
}

/// Returns the text in lower case, but for letters whose lower case is longer or shorter: so all places are the same.
fn lower_in_place(text: &str) -> String {
    let lower = |char: char| {
        let mut lower = char.to_lowercase();
        let single = lower.next().filter(|_| lower.next().is_none());
        single.filter(|single| single.len_utf8() == char.len_utf8()).unwrap_or(char)
    };
    text.chars().map(lower).collect()
}

/// Returns whether a year stands beside a place, of figures in order: `2030年下半年`, `second half of 2030`.
fn is_beside_year(text: &str, place: &Range<usize>, figures: &[PlacedFigure]) -> bool {
    let index = |byte: usize| figures.partition_point(|found| found.start < byte);
    let before = figures[..index(place.start)].last().map(|found| (found, text.get(found.end..place.start)));
    let behind = figures.get(index(place.end)).map(|found| (found, text.get(place.end..found.start)));
    let is_year = |figure: &Figure| match figure {
        Figure::Number(number) => number.is_year(),
        Figure::Code(code) => words::fiscal_year(code).is_some(),
        _ => false,
    };
    let is_joint = |between: &str| BEFORE_YEAR.iter().any(|known| known.eq_ignore_ascii_case(between.trim()));
    [before, behind]
        .into_iter()
        .flatten()
        .any(|(found, between)| is_year(&found.figure) && between.is_some_and(is_joint))
}

/// Returns whether a page names another quarter, or another half, of a year.
fn names_other_part(code: &str, page: &Page) -> bool {
    let is_other = |other: &str| other != code && other.get(..1) == code.get(..1);
    quarters::codes().any(|other| is_other(other) && page.sentence_with_part_of_year(other).is_some())
}

/// Returns the scale of the other number, if both are temperatures, on two scales: the same counts otherwise there.
fn of_two_scales(number: &Number, other: &Number) -> Option<&'static str> {
    let (unit, known) = number.unit.zip(other.unit)?;
    let are_warmth = unit.quantity == TEMPERATURE && known.quantity == TEMPERATURE;
    (are_warmth && unit.kind != known.kind).then_some(known.kind)
}

/// Returns whether one of the readings of both numbers is the same amount.
fn are_same(number: &Number, other: &Number) -> bool {
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
    let values = || number.readings.iter().map(|reading| reading.value);
    let is_written = || values().any(|value| there.number.is(value) || there.number.is(value / number.multiple));
    let is_counted = |multiple: i128| number.counted_in(multiple).is_some_and(|own| are_same(&own, &there.number));
    let is_bare = there.number.unit.is_none() && !there.number.is_percent;
    number.is_year() == there.number.is_year()
        && number.counts_as(&there.number)
        && (is_written() || are_same(number, &there.number) || is_bare && page.heads().any(is_counted))
}

fn same_amount(number: &Number, here: Reading, other: &Number, there: Reading) -> bool {
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
                // A share may be written either way.
                None if number.is_percent && !other.is_percent && there.value <= ONE => there.value.checked_mul(100),
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
pub(super) fn rounds_to(value: i128, reading: Reading) -> bool {
    let step = reading.step.max(1);
    // Most numbers are far from each other, and dividing takes time.
    if value.abs_diff(reading.value) > step.unsigned_abs() {
        return false;
    }
    let rounded = value.checked_add(step / 2).and_then(|value| value.div_euclid(step).checked_mul(step));
    rounded == Some(reading.value)
}
