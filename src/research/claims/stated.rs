//! What a statement says: its words and figures, read once however many pages it is held against.

use std::{cell::OnceCell, collections::BTreeSet, ops::Range};

use super::{
    borders, bounds,
    check::COUNTED,
    figure::{Figure, Number, PlacedFigure},
    figures,
    keys::{WordKey, word_keys},
    parts, quarters,
    tokens::Token,
    units::Unit,
    words::{self, ONE},
};
use crate::text::{Language, is_in};

/// Numbers that are compared with those of each year before.
const MOST_AMOUNTS: usize = 24;

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
    /// The first of its numbers that are no years.
    amounts: OnceCell<Vec<Number>>,
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
        let language = OnceCell::new();
        let certain = || *language.get_or_init(|| Language::certain(text));
        figures.retain(|found| !is_other_word(text, found, certain));
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
            language,
            labels: OnceCell::new(),
            amounts: OnceCell::new(),
        }
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

    /// Returns the first of its numbers that are no years.
    pub fn first_amounts(&self) -> &[Number] {
        let are_first = || self.numbers().filter(|own| !own.is_year()).take(MOST_AMOUNTS);
        self.amounts.get_or_init(|| are_first().cloned().collect())
    }

    /// Returns whether its words say that it computes.
    pub fn says_it_computes(&self) -> bool {
        let is_computed = || {
            let lower = self.text.to_lowercase();
            let is_total = |found: &PlacedFigure| self.text.get(..found.start).is_some_and(words::ends_with_total);
            lower.split(|char: char| !char.is_alphabetic()).any(words::is_computed) || self.figures.iter().any(is_total)
        };
        *self.computes.get_or_init(is_computed)
    }

    /// Returns whether it may speak of two shares at once: `Coal and gas give 55 %.`
    pub fn may_add_shares(&self) -> bool {
        let is_joint = || self.text.split(|char: char| !char.is_alphabetic()).any(|word| is_in(AND, word));
        self.says_it_computes() || *self.joins.get_or_init(is_joint)
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
    pub fn is_part_in_words(&self, found: &PlacedFigure) -> bool {
        let is_in_words = |code: &str| !self.text[found.start..found.end].eq_ignore_ascii_case(code);
        matches!(&found.figure, Figure::Code(code) if quarters::is_part_of_year(code) && is_in_words(code))
    }
}

/// Returns whether what looks like a small number is as well an article or an idiom, or no number in the language of
/// the statement: `one of them`, `un accord`, and the Spanish eleven in `they once met`.
fn is_other_word(text: &str, found: &PlacedFigure, language: impl Fn() -> Option<Language>) -> bool {
    let Figure::Number(number) = &found.figure else { return false };
    let is_plain = number.is_word && number.multiple == 1 && number.unit.is_none() && !number.is_percent;
    if !is_plain || number.readings.iter().any(|reading| reading.value > COUNTED) {
        return false;
    }
    let written = text.get(found.start..found.end).unwrap_or_default().to_lowercase();
    let word = written.split(|char: char| !char.is_alphabetic()).next().unwrap_or_default();
    let is_foreign = || language().is_some_and(|language| !words::is_number_of(word, language));
    number.readings.iter().all(|reading| reading.value == ONE) || is_foreign()
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
        places.any(|(at, _)| borders::begins(&lower[..at]))
    });
    let stands = |at: &Range<usize>| {
        let (before, words, behind) = (&lower[..at.start], &lower[at.clone()], &lower[at.end..]);
        let is_meant = || is_of_business || is_beside_year(text, at, figures);
        borders::is_apart_as(words, before, behind) && !quarters::ends_with_first_parts(before) && is_meant()
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
pub fn lower_in_place(text: &str) -> String {
    let lower = |char: char| {
        let mut lower = char.to_lowercase();
        let single = lower.next().filter(|_| lower.next().is_none());
        single.filter(|single| single.len_utf8() == char.len_utf8()).unwrap_or(char)
    };
    text.chars().map(lower).collect()
}

/// Returns whether a year stands beside a place, of figures in order: `2030年下半年`, `second half of 2030`.
pub fn is_beside_year(text: &str, place: &Range<usize>, figures: &[PlacedFigure]) -> bool {
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
