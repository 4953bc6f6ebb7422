//! Whether a number of a page is the one that a statement means, or the same number of another matter.
//!
//! It is another one where its unit measures something else, and where the words of the statement plainly belong to
//! other numbers: to one in a later clause, or to those of sentences far from it. What is not plain counts for the
//! statement, since sources say the same in other words and other languages.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
};

use super::{
    figure::{Figure, Number},
    keys::{WordKey, word_keys},
    ordinals,
    page::{Page, PlacedNumber},
    stated::Statement,
    tokens::{Token, clause_ends, tokens},
    units::{self, Unit},
    words::ONE,
};
use crate::text;

/// Sentences that are looked at for numbers that the words of a statement belong to.
const MOST_OTHERS: usize = 50;
/// A number so many times as large or small counts something else.
const COMPARABLE: u128 = 1_000;

/// Bytes behind a number that are looked at for what it counts, and words between it and its unit at most.
const LONGEST_BEHIND: usize = 60;
const MOST_ADJECTIVES: usize = 2;
/// Behind numbers whose unit was said before: `5 m long and 7 wide`, `7 last year`.
const BEHIND_ANY: &str = "long wide high tall deep thick broad large heavy last next this year years later earlier today yesterday each respectively \
    lang breit hoch tief dick groß letztes letzten nächstes dieses jahr später früher heute jeweils \
    long large haut profond épais dernier prochain aujourd chacun ancho alto largo profundo último próximo hoy lungo largo alto profondo ultimo";

/// Behind a number these may make it a share of a hundred, and parts of words that speak of shares, with the sentences
/// before a number in which they may say what it is.
const OF_HUNDRED: &str = "pc p v vh vom percents percentage";
const SHARES: [&str; 4] = ["%", "cent", "zent", "cient"];
const MOST_BEFORE: usize = 2;

/// What the words of a statement say of the numbers of a page.
#[derive(Debug)]
pub struct Roles<'a> {
    statement: &'a Statement<'a>,
    page: &'a Page,
    shared: OnceCell<Shared>,
}

/// The places where the words of the statement stand in the page.
#[derive(Debug)]
struct Shared {
    /// How many of them, by sentence.
    words: Vec<u16>,
    /// The sentences with most of them.
    most: Vec<usize>,
}

impl<'a> Roles<'a> {
    pub fn of(statement: &'a Statement<'a>, page: &'a Page) -> Self {
        Self { statement, page, shared: OnceCell::new() }
    }

    fn shared(&self) -> &Shared {
        self.shared.get_or_init(|| {
            let roles = &self.statement.roles;
            let known = roles.iter().filter(|key| self.page.has_word(**key)).count();
            let words = self.page.shared_words(roles);
            // A page in another language shares hardly more than names with the statement.
            let is_comparable = known * 4 >= roles.len() * 3;
            let most =
                words.iter().enumerate().filter(|(_, count)| is_comparable && self.are_most(usize::from(**count)));
            Shared { most: most.map(|(sentence, _)| sentence).take(MOST_OTHERS).collect(), words }
        })
    }

    /// Returns whether so many words are more than half of the statement's.
    fn are_most(&self, count: usize) -> bool {
        count > 1 && count * 2 > self.statement.roles.len()
    }

    /// Returns whether the number of the page may be the one that the statement means. A year holds for all that
    /// follows it.
    pub fn is_meant(&self, number: &Number, there: &PlacedNumber) -> bool {
        let is_of_another = || {
            self.counts_others(number, there)
                || self.is_of_another_clause(number, there)
                || self.is_of_another_sentence(number, there)
        };
        let may_be_meant = number.counts_as(&there.number) && !(number.is_percent && self.is_no_share(there));
        let is_bare = there.number.unit.is_none() && !there.number.is_percent;
        let is_of_head = || is_bare && self.page.is_measured_otherwise(there.sentence, number);
        may_be_meant
            && !is_of_head()
            && (number.is_year() || !is_of_another())
            && !self.page.bounds_otherwise(number, there)
    }

    /// Returns whether this is another number that the statement could mean and does not have.
    fn is_rival(&self, number: &Number, there: &PlacedNumber, other: &PlacedNumber) -> bool {
        let value = |number: &Number| number.readings.first().map_or(0, |reading| reading.value.unsigned_abs());
        let (own, rival) = (value(number), value(&other.number));
        let is_own = || {
            let readings = || other.number.readings.iter().map(|reading| reading.value);
            self.statement.numbers().any(|known| readings().any(|value| known.is(value)))
        };
        other.place != there.place
            && other.number.unit.map(|unit| unit.quantity) == number.unit.map(|unit| unit.quantity)
            && other.number.is_percent == number.is_percent
            && other.number.is_year() == number.is_year()
            && own.min(rival).saturating_mul(COMPARABLE) >= own.max(rival)
            && !is_own()
    }

    /// Returns whether the number there counts what is named behind it, such as `24 cores`, while a rival beside it has
    /// the unit of the statement's number. Sums are paid in currencies that are no known units.
    fn counts_others(&self, number: &Number, there: &PlacedNumber) -> bool {
        let is_bare = there.number.unit.is_none() && !there.number.is_percent;
        let Some(unit) = number.unit.filter(|unit| is_bare && !unit.is_money()) else { return false };
        let beside = self.page.numbers_in(there.sentence);
        beside.iter().any(|other| self.is_rival(number, there, other)) && self.names_what_it_counts(there, Some(unit))
    }

    /// Returns whether a whole number without a sign counts what is named behind it, such as `7 chapters`, or is that
    /// of an article, where others near it are marked as shares of a hundred, or what it counts is plain.
    fn is_no_share(&self, there: &PlacedNumber) -> bool {
        let Number { readings, unit, is_percent, .. } = &there.number;
        let is_bare = unit.is_none() && !is_percent && readings.iter().all(|reading| reading.step >= ONE);
        let are_marked = || self.page.numbers_near(there.sentence, 1).any(|other| other.number.is_percent);
        let numbers = || ordinals::ends_with_label(self.page.text().get(..there.place.start).unwrap_or_default());
        is_bare && (are_marked() && (numbers() || self.names_what_it_counts(there, None)) || self.plainly_counts(there))
    }

    /// Returns whether prose in the language of the statement, which speaks of no shares there, names in small letters
    /// what a number counts. Tables and lists may leave out the sign.
    fn plainly_counts(&self, there: &PlacedNumber) -> bool {
        let behind = self.page.text().get(there.place.end..).unwrap_or_default().trim_start();
        let word = behind.split(|char: char| !char.is_alphabetic()).next().unwrap_or_default();
        let is_thing = word.starts_with(char::is_lowercase) && !text::is_in(OF_HUNDRED, word);
        let is_row = || self.page.sentence(there.sentence).trim_start().starts_with('|');
        let says_share = |at: usize| SHARES.iter().any(|part| self.page.sentence(at).contains(*part));
        let may_be_share = || (there.sentence.saturating_sub(MOST_BEFORE)..=there.sentence).any(says_share);
        let is_one_language = || self.statement.language().is_some_and(|own| self.page.language() == Some(own.code()));
        is_thing && !is_row() && !may_be_share() && self.names_what_it_counts(there, None) && is_one_language()
    }

    /// Returns whether a word of its own stands right behind a number: none of the statement's, none that stands behind
    /// any number, and none that only describes the unit behind it.
    pub fn names_what_it_counts(&self, there: &PlacedNumber, unit: Option<Unit>) -> bool {
        let text = self.page.text().get(there.place.end..).unwrap_or_default();
        let tokens = tokens(&text[..text.floor_char_boundary(LONGEST_BEHIND)]);
        let [first, rest @ ..] = &tokens[..] else { return false };
        let lower = first.text.to_lowercase();
        let is_known = || word_keys(&tokens[..1]).all(|(key, _)| self.statement.keys.contains(&key));
        let is_small = || text::is_stop_word_of_any(&lower);
        let is_unit = |token: &Token<'_>| {
            let found = units::unit_as_written(token.text, &token.text.to_lowercase());
            found.zip(unit).is_some_and(|(found, unit)| found.quantity == unit.quantity)
        };
        first.is_word()
            && !text::is_in(BEHIND_ANY, &lower)
            && !is_known()
            && !is_small()
            && !rest.iter().take(MOST_ADJECTIVES).any(is_unit)
    }

    /// Returns whether the number's clause says something with none of the statement's words, while the clause of a
    /// rival behind it has most of them. A later clause may leave out what an earlier one has said; an earlier one
    /// needs its own words.
    fn is_of_another_clause(&self, number: &Number, there: &PlacedNumber) -> bool {
        let beside = self.page.numbers_in(there.sentence).iter();
        let mut rivals = beside
            .filter(|other| other.place.start > there.place.start && self.is_rival(number, there, other))
            .peekable();
        if rivals.peek().is_none() || self.page.sentence(there.sentence).trim_start().starts_with('|') {
            return false;
        }
        let own = self.words_of_clause(there);
        let shared = |words: &BTreeSet<WordKey>| words.intersection(&self.statement.roles).count();
        !self.shared().most.is_empty()
            && own.len() > 1
            && shared(&own) == 0
            && rivals.any(|rival| self.are_most(shared(&self.words_of_clause(rival))))
    }

    fn words_of_clause(&self, placed: &PlacedNumber) -> BTreeSet<WordKey> {
        let tokens = tokens(self.page.clause(placed));
        word_keys(&tokens).map(|(key, _)| key).collect()
    }

    /// Returns whether none of the statement's words stand around the number, and most of them in a sentence with a
    /// rival.
    fn is_of_another_sentence(&self, number: &Number, there: &PlacedNumber) -> bool {
        let Shared { words, most } = self.shared();
        let is_about = |at: usize| words.get(at).is_some_and(|count| *count > 0);
        if most.is_empty() || is_about(there.sentence) || self.page.context(there.sentence).into_iter().any(is_about) {
            return false;
        }
        let rivals = most.iter().flat_map(|sentence| self.page.numbers_in(*sentence));
        rivals.into_iter().any(|other| self.is_rival(number, there, other))
    }

    /// Returns whether the sentence gives the years and numbers of the statement in other pairs.
    pub fn has_years_swapped(&self, sentence: usize) -> bool {
        let of_statement = self.statement.figures.iter().filter_map(|found| match &found.figure {
            Figure::Number(number) => Some((number, found.start, found.end)),
            _ => None,
        });
        let Some(own) = pairs(self.statement.text, of_statement.collect()) else { return false };
        let there = self.page.numbers_in(sentence).iter();
        let there = there.map(|placed| (&placed.number, placed.place.start, placed.place.end)).collect();
        let Some(there) = pairs(self.page.text(), there) else { return false };
        let all =
            |pairs: &HashSet<(i128, i128)>| -> HashSet<i128> { pairs.iter().flat_map(|(a, b)| [*a, *b]).collect() };
        own != there && all(&own) == all(&there)
    }
}

/// Returns the numbers of a text in pairs of a year and something else, two pairs at least; `None` unless each pair
/// stands in a clause of its own.
fn pairs(text: &str, numbers: Vec<(&Number, usize, usize)>) -> Option<HashSet<(i128, i128)>> {
    let value = |number: &Number| number.readings.first().map(|reading| reading.value);
    let pair = |pair: &[(&Number, usize, usize)]| {
        let [(one, _, end), (other, start, _)] = pair else { return None };
        let is_together = clause_ends(text.get(*end..*start)?).next().is_none();
        match (one.is_year(), other.is_year()) {
            (true, false) if is_together => Some((value(one)?, value(other)?)),
            (false, true) if is_together => Some((value(other)?, value(one)?)),
            _ => None,
        }
    };
    let is_enough = numbers.len() >= 4 && numbers.len().is_multiple_of(2);
    is_enough.then(|| numbers.chunks(2).map(pair).collect()).flatten()
}
