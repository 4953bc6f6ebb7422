//! Numbers that a statement gives to each other's matters: `173 articles and 99 recitals` of a page with 99 articles
//! and 173 recitals.
//!
//! Two numbers of one kind are exchanged where words of each stand on the page beside the other one alone: beside it
//! in its part of a sentence, in its row or in its column of a table. One is from another row of a table if the
//! statement names a row as a whole, and nothing of the number's own. What is not plain counts for the statement,
//! since sources say the same in other words and other languages.

use std::collections::{BTreeSet, HashMap};

use super::{
    equality::is_same,
    figure::{Figure, Number, PlacedFigure},
    figures,
    page::{Page, PlacedNumber},
    parts::{self, Counted, Label, LabelKind, Of},
    stated::{Standing, Statement},
    tokens::tokens,
};

/// Sentences between two numbers that are said of one matter, but for the rows of a table.
const NEAR: usize = 3;
/// Numbers of a statement that are compared with each other; of a longer list nothing is plain.
pub const MOST_NUMBERS: usize = 16;
/// Places of a number that are looked at.
const MOST_PLACES: usize = 24;

/// A number of the page with the words that are said of it.
#[derive(Debug)]
struct Place<'p> {
    placed: &'p PlacedNumber,
    labels: Vec<Label>,
    /// The first row of its table.
    table: Option<usize>,
}

impl Place<'_> {
    fn is_near(&self, other: &Self) -> bool {
        let are_beside = self.table.is_none() && self.placed.sentence.abs_diff(other.placed.sentence) <= NEAR;
        self.placed.place != other.placed.place && self.table == other.table && (self.table.is_some() || are_beside)
    }
}

/// How a page gives two numbers to what a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Same,
    Swapped,
    Unknown,
}

/// Returns the figures of a statement, by their places in it, that the page gives to another matter.
pub fn swapped(statement: &Statement<'_>, page: &Page, standings: &[Standing]) -> BTreeSet<usize> {
    let mut swapped = BTreeSet::new();
    let (places, numbers) = numbers(statement);
    let is_found = |at: usize| matches!(standings[places[at]], Standing::In(sentence) if sentence != usize::MAX);
    if numbers.len() > MOST_NUMBERS {
        return swapped;
    }
    let pairs = (0..numbers.len()).flat_map(|one| (one + 1..numbers.len()).map(move |other| (one, other)));
    let is_pair = |(one, other): &(usize, usize)| {
        let differ = numbers[*one].number.readings != numbers[*other].number.readings;
        differ && is_found(*one) && is_found(*other) && numbers[*one].is_like(&numbers[*other])
    };
    let pairs: Vec<(usize, usize)> = pairs.filter(is_pair).collect();
    let mut reader = LabelReader::of(page);
    for of in [Of::Years, Of::Others] {
        let is_of = |at: usize| numbers[at].is_year == (of == Of::Years);
        let mut pairs = pairs.iter().filter(|(one, _)| is_of(*one)).peekable();
        if pairs.peek().is_none() {
            continue;
        }
        let labels = parts::labels(statement.text, statement.tokens(), &numbers, of);
        let mut known: HashMap<usize, Vec<Place<'_>>> = HashMap::new();
        // Of numbers that no word tells apart nobody can say that they are exchanged.
        let have_own = |(one, other): &&(usize, usize)| {
            exclusive([&labels[*one], &labels[*other]]).iter().all(|labels| !labels.is_empty())
        };
        for (one, other) in pairs.filter(have_own) {
            for at in [one, other] {
                known.entry(*at).or_insert_with(|| reader.places(numbers[*at].number, of));
            }
            if are_swapped([&labels[*one], &labels[*other]], [&known[one], &known[other]]) {
                swapped.extend([places[*one], places[*other]]);
            }
        }
    }
    swapped
}

/// Returns the numbers of a statement, and which of its figures each is.
pub fn numbers<'a>(statement: &'a Statement<'_>) -> (Vec<usize>, Vec<Counted<'a>>) {
    let figures = statement.figures.iter().enumerate();
    let number = |(at, found): (usize, &'a PlacedFigure)| match &found.figure {
        Figure::Number(number) => Some((at, Counted::new(number, found.start..found.end, statement.text))),
        _ => None,
    };
    figures.filter_map(number).unzip()
}

/// Returns whether the page gives two numbers to each other's matters somewhere, and nowhere to their own.
fn are_swapped(own: [&[Label]; 2], [one, other]: [&Vec<Place<'_>>; 2]) -> bool {
    let mut is_swapped = false;
    for first in one {
        for second in other.iter().filter(|second| first.is_near(second)) {
            match relation(own, [first, second]) {
                Relation::Same => return false,
                Relation::Swapped => is_swapped = true,
                Relation::Unknown => {}
            }
        }
    }
    is_swapped
}

fn relation(own: [&[Label]; 2], there: [&Place<'_>; 2]) -> Relation {
    let [first, second] = exclusive(own);
    let [first_there, second_there] = exclusive([&there[0].labels, &there[1].labels]);
    let crossed = [shared(&first, &second_there), shared(&second, &first_there)];
    let same = [shared(&first, &first_there), shared(&second, &second_there)];
    let are_alike = crossed[0].iter().any(|one| crossed[1].iter().any(|other| one.kind.is_like(other.kind)));
    let may_be_of_both = |at: usize| {
        // `Germany bought 439,000 units, France 604,000`: what stands beside the first number is said of both.
        let leads = at == 0 && there[0].table.is_none() && there[0].placed.place.start < there[1].placed.place.start;
        let is_on_other_side = |label: &Label| crossed.iter().flatten().all(|known| known.is_behind != label.is_behind);
        let is_word = |label: &Label| matches!(label.kind, LabelKind::Word | LabelKind::First);
        same[at].iter().all(|label| leads && is_word(label) || label.is_behind && is_on_other_side(label))
    };
    if are_alike && may_be_of_both(0) && may_be_of_both(1) {
        Relation::Swapped
    } else if same.iter().any(|labels| !labels.is_empty()) {
        Relation::Same
    } else {
        Relation::Unknown
    }
}

/// Returns what each has that the other does not have.
fn exclusive([one, other]: [&[Label]; 2]) -> [Vec<Label>; 2] {
    let without = |one: &[Label], other: &[Label]| -> Vec<Label> {
        one.iter().filter(|label| !other.iter().any(|known| known.key == label.key)).copied().collect()
    };
    [without(one, other), without(other, one)]
}

/// Returns the labels of the first that the second has.
fn shared(own: &[Label], there: &[Label]) -> Vec<Label> {
    own.iter().filter(|label| there.iter().any(|known| known.key == label.key)).copied().collect()
}

/// Reads what is said of the numbers of a page, each sentence once.
pub struct LabelReader<'p> {
    page: &'p Page,
    sentences: HashMap<(usize, Of), Vec<Vec<Label>>>,
}

impl<'p> LabelReader<'p> {
    pub fn of(page: &'p Page) -> Self {
        Self { page, sentences: HashMap::new() }
    }

    /// Returns what its part of a sentence says of a number that is no year.
    pub fn labels_of(&mut self, placed: &PlacedNumber) -> Vec<Label> {
        self.labels(placed, Of::Others)
    }

    fn places(&mut self, number: &Number, of: Of) -> Vec<Place<'p>> {
        let page = self.page;
        let same = page.numbers().iter().filter(|placed| is_same(number, placed, page)).take(MOST_PLACES);
        let place = |placed: &'p PlacedNumber| {
            let is_row = page.sentence(placed.sentence).starts_with('|');
            let table = if is_row { page.table_head(placed.sentence) } else { None };
            let labels = match table {
                Some(head) => cell_labels(page, placed, head, of),
                None => self.labels(placed, of),
            };
            Place { placed, labels, table }
        };
        same.map(place).collect()
    }

    fn labels(&mut self, placed: &PlacedNumber, of: Of) -> Vec<Label> {
        let here = self.page.numbers_in(placed.sentence);
        let all = self.sentences.entry((placed.sentence, of)).or_insert_with(|| {
            let (text, start) = (self.page.sentence(placed.sentence), self.page.start_of(placed.sentence));
            let counted = |placed: &'p PlacedNumber| {
                Counted::new(&placed.number, placed.place.start - start..placed.place.end - start, text)
            };
            let numbers: Vec<Counted<'_>> = here.iter().map(counted).collect();
            parts::labels(text, &tokens(text), &numbers, of)
        });
        let at = here.iter().position(|other| other.place == placed.place);
        at.and_then(|at| all.get(at)).cloned().unwrap_or_default()
    }
}

/// Returns what the first cell of its row and the head of its column say of a number in a table.
fn cell_labels(page: &Page, placed: &PlacedNumber, head: usize, of: Of) -> Vec<Label> {
    let (row, start) = (page.sentence(placed.sentence), page.start_of(placed.sentence));
    let Some(column) = row.get(..placed.place.start.saturating_sub(start)).map(|before| before.matches('|').count())
    else {
        return Vec::new();
    };
    let of_cell = |row: &str, column: usize| row.split('|').nth(column).map(labels_of).unwrap_or_default();
    let mut labels = if column > 1 { of_cell(row, 1) } else { Vec::new() };
    if head != placed.sentence {
        labels.extend(of_cell(page.sentence(head), column));
    }
    labels.retain(|label| of == Of::Others || label.kind != LabelKind::Year);
    labels
}

/// Returns the words and the year of a cell.
pub fn labels_of(cell: &str) -> Vec<Label> {
    let tokens = tokens(cell);
    let years = figures::figures(cell, &tokens).filter_map(|found| match &found.figure {
        Figure::Number(number) if number.is_year() => parts::year_label(number),
        _ => None,
    });
    parts::word_labels(cell, &tokens).map(|(label, _)| label).chain(years).collect()
}
