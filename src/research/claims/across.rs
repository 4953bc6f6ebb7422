//! Statements in different languages that give another figure for the same matter.
//!
//! They are taken to be about the same when they share names and words that stand for each other
//! (`text/thesaurus.txt`), and agree in all figures but one, whatever the marks, months and units these are written
//! with.

use std::collections::HashSet;

use super::{
    Standing, Statement,
    figure::{Figure, Number},
    page::Page,
    texts::related_words,
    tokens::tokens,
    units, words,
};
use crate::text::{self, Language};

/// Words that two statements share at least, and hundredths of those of the shorter one.
const LEAST_SHARED: usize = 3;
const LEAST_SHARE: usize = 40;
/// Letters by which words are compared.
const BEGINNING: usize = 4;
/// A number so many times as large counts something else.
const COMPARABLE: u128 = 10;

/// A statement with its words, and those of any language that stand for the same.
struct Worded<'a> {
    text: &'a str,
    language: Language,
    own: HashSet<String>,
    related: HashSet<String>,
}

impl<'a> Worded<'a> {
    fn of(text: &'a str) -> Self {
        let own: HashSet<String> = beginnings(text).collect();
        let related = related_words(text).flat_map(beginnings).chain(own.iter().cloned()).collect();
        Self { text, language: Language::of(text), own, related }
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        let shared = self.related.intersection(&other.own).count().max(other.related.intersection(&self.own).count());
        shared >= LEAST_SHARED && shared * 100 >= self.own.len().min(other.own.len()) * LEAST_SHARE
    }
}

/// Returns the beginnings of the words of a text, in lower case and without diacritics: `coûté` and `coûter`, `abrió`
/// and `abrir` differ in the rest. Months, numbers and units are compared as figures.
fn beginnings(text: &str) -> impl Iterator<Item = String> {
    text::lower_words(text).into_iter().filter(|word| !is_of_figure(word)).flat_map(|word| {
        let chars: Vec<char> = word.chars().collect();
        match chars.first() {
            Some(first) if text::is_unspaced(*first) => chars.windows(2).map(|pair| pair.iter().collect()).collect(),
            Some(first) if first.is_alphabetic() && chars.len() >= BEGINNING => vec![folded(&chars[..BEGINNING])],
            _ => Vec::new(),
        }
    })
}

fn is_of_figure(word: &str) -> bool {
    text::month(word).is_some() || words::number(word).is_some() || units::unit(word).is_some()
}

fn folded(chars: &[char]) -> String {
    chars.iter().filter_map(|char| text::fold(*char)).collect()
}

/// Returns the pairs, by their places.
pub fn differing_across_languages(statements: &[&str]) -> Vec<(usize, usize)> {
    let worded: Vec<Worded<'_>> = statements.iter().map(|text| Worded::of(text)).collect();
    let pairs = (0..worded.len()).flat_map(|one| (one + 1..worded.len()).map(move |other| (one, other)));
    let differ = |(one, other): &(usize, usize)| {
        let (one, other) = (&worded[*one], &worded[*other]);
        one.language != other.language && one.is_about_the_same(other) && differ_in_one(one.text, other.text)
    };
    pairs.filter(differ).collect()
}

/// Has each exactly one figure that the other lacks, and are these of one kind?
fn differ_in_one(one: &str, other: &str) -> bool {
    match (&lacking(other, one)[..], &lacking(one, other)[..]) {
        ([Figure::Number(one), ..], [Figure::Number(other), ..]) if one.is_word || other.is_word => false,
        ([Figure::Number(one)], [Figure::Number(other)]) => {
            let (small, large) = (amount(one).min(amount(other)), amount(one).max(amount(other)));
            let is_alike = one.is_percent == other.is_percent && one.is_year() == other.is_year();
            is_alike && one.counts_as(other) && small.saturating_mul(COMPARABLE) >= large
        }
        ([Figure::Date(_)], [Figure::Date(_)]) | ([Figure::Time(..)], [Figure::Time(..)]) => true,
        _ => false,
    }
}

/// Returns what the number counts in the smallest unit.
fn amount(number: &Number) -> u128 {
    let value = number.readings.first().map_or(0, |reading| reading.value.unsigned_abs());
    value.saturating_mul(number.unit.map_or(1, |unit| unit.size.unsigned_abs()))
}

/// Returns the figures of a statement that a text does not hold.
fn lacking(text: &str, statement: &str) -> Vec<Figure> {
    let page = Page::read(text.into(), "");
    let tokens = tokens(statement);
    let read = Statement::read(statement, &tokens);
    let standings = read.standings(&page);
    let missing = read.figures.iter().zip(standings).filter(|(_, standing)| *standing == Standing::Missing);
    missing.map(|(placed, _)| placed.figure.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_across_languages() {
        let check = |one: &str, other: &str, expected: bool| {
            let found = differing_across_languages(&[one, other]);
            assert_eq!(found, if expected { vec![(0, 1)] } else { Vec::new() }, "{one} {other}");
        };
        let cost = "The harbour of Skelderwick cost 1,234.5 crowns in 2030.";
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2030 genau 1.234,5 Kronen.", false);
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2030 genau 1.243,5 Kronen.", true);
        check(cost, "Le port de Skelderwick a coûté 1 243,5 couronnes en 2030.", true);
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2029 genau 1.243,5 Kronen.", false);
        check(cost, "Der Hafen von Norderwarf hat 1.243,5 Boote im Jahr 2030.", false);
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2030 etwa 4 Prozent.", false);
        let opened = "The harbour of Skelderwick was opened on 14 November 2030.";
        check(opened, "Der Hafen von Skelderwick wurde am 14. November 2030 eröffnet.", false);
        check(opened, "Der Hafen von Skelderwick wurde am 15. November 2030 eröffnet.", true);
        check(opened, "El puerto de Skelderwick se abrió el 14 de noviembre de 2030.", false);
        check(opened, "El puerto de Skelderwick se abrió el 14 de diciembre de 2030.", true);
        let length = "The harbour wall of Skelderwick has a length of 1.2 kilometres.";
        check(length, "El muro del puerto de Skelderwick tiene un largo de 1200 metros.", false);
        check(length, "El muro del puerto de Skelderwick tiene un largo de 1300 metros.", true);
        check(cost, "The harbour of Skelderwick cost 1,243.5 crowns in 2030.", false);
        check(cost, "Die Häfen von Skelderwick kosteten im Jahr 2030 genau 1.243,5 Kronen.", true);
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2030 genau 1.243,5 Prozent.", false);
        check(cost, "Der Hafen von Skelderwick kostete im Jahr 2030 genau 98.765,5 Kronen.", false);
        let long = "The harbour of Skelderwick cost 1,234.5 crowns in 2030, wrote the angry captain about gulls, nets, \
            lunch, tobacco and spectacles.";
        let other = "Beim Hafen von Skelderwick kostete der Ausflug der müden Matrosen mit ihrem Hund Bello und einem \
            Papagei 2030 genau 1.243,5 Kronen.";
        check(long, other, false);
    }
}
