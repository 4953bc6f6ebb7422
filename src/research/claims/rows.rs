//! Numbers that a table gives to another row than the one that a statement names: `Münster has 33 %` of a table with 33
//! in the row of Utrecht.
//!
//! It is plain only where the row is that of a name which stands beside the number in the statement, and nothing of the
//! number's own rows stands anywhere in it. Other words for the same are many, names of the same are few.

use std::collections::BTreeSet;

use super::{
    equality::{SMALL, is_same},
    figure::Number,
    keys::WordKey,
    page::{Page, PlacedNumber},
    parts::{self, Counted, Label, LabelKind, Of},
    stated::{Standing, Statement},
    swaps::{MOST_NUMBERS, labels_of, numbers},
    tokens::tokens,
};
use crate::text::Language;

/// Places of a number, and rows around one, that are looked at.
const MOST_PLACES: usize = 24;
const MOST_ROWS: usize = 60;

/// Returns the figures of a statement, by their places in it, that stand in rows of others alone.
pub fn strayed(statement: &Statement<'_>, page: &Page, standings: &[Standing]) -> BTreeSet<usize> {
    let (places, numbers) = numbers(statement);
    if numbers.len() > MOST_NUMBERS {
        return BTreeSet::new();
    }
    let may_stray = |at: usize| {
        let Counted { number, is_year, .. } = &numbers[at];
        let is_row =
            matches!(standings[places[at]], Standing::In(sentence) if page.sentence(sentence).starts_with('|'));
        let is_small = || number.readings.iter().any(|reading| reading.value < SMALL);
        is_row && !is_year && (number.is_percent || number.unit.is_some() || !is_small())
    };
    let mut at = (0..numbers.len()).filter(|at| may_stray(*at)).peekable();
    // Where all nouns have a capital, none is known to be a name.
    if at.peek().is_none() || statement.language() == Some(Language::German) {
        return BTreeSet::new();
    }
    let said = statement.labels();
    let labels = parts::labels(statement.text, statement.tokens(), &numbers, Of::Others);
    at.filter(|at| is_of_others(page, numbers[*at].number, &labels[*at], said)).map(|at| places[at]).collect()
}

/// Returns whether a number stands in rows alone of which the statement names none, while those beside it have one that
/// it names.
fn is_of_others(page: &Page, number: &Number, own: &[Label], said: &BTreeSet<WordKey>) -> bool {
    let named: BTreeSet<WordKey> = own.iter().filter(|label| is_name(label)).map(|label| label.key).collect();
    let same = page.numbers().iter().filter(|placed| is_same(number, placed, page));
    let same: Vec<&PlacedNumber> = same.take(MOST_PLACES).collect();
    let is_unnamed = |placed: &&PlacedNumber| {
        let labels = row_labels(page, placed.sentence);
        !labels.is_empty() && labels.iter().all(|label| !said.contains(&label.key))
    };
    !named.is_empty()
        && same.len() < MOST_PLACES
        && same.iter().all(is_unnamed)
        && same.iter().any(|placed| has_named_row(page, placed, number, &named))
}

/// Returns whether the table of a number has a row for all of the names, with another number in its column.
fn has_named_row(page: &Page, placed: &PlacedNumber, number: &Number, named: &BTreeSet<WordKey>) -> bool {
    let Some(column) = column(page, placed) else { return false };
    let is_row = |at: &usize| page.sentence(*at).starts_with('|');
    let before = (0..placed.sentence).rev().take(MOST_ROWS).take_while(is_row);
    let behind = (placed.sentence + 1..).take(MOST_ROWS).take_while(is_row);
    let is_named = |row: usize| {
        let keys = || row_labels(page, row).iter().map(|label| label.key).collect::<BTreeSet<WordKey>>();
        let cell = page.sentence(row).split('|').nth(column).unwrap_or_default();
        cell.contains(|char: char| char.is_ascii_digit())
            && keys() == *named
            && !page.numbers_in(row).iter().any(|other| is_same(number, other, page))
    };
    before.chain(behind).any(is_named)
}

/// Returns which cell of its row a number stands in, beyond the first one.
pub fn column(page: &Page, placed: &PlacedNumber) -> Option<usize> {
    let start = page.start_of(placed.sentence);
    let before = page.sentence(placed.sentence).get(..placed.place.start.checked_sub(start)?)?;
    Some(before.matches('|').count()).filter(|column| *column > 1)
}

/// Returns the words of the first cell of a row; none if it has numbers or is no row.
pub fn row_labels(page: &Page, row: usize) -> Vec<Label> {
    let text = page.sentence(row);
    let cell = text.split('|').nth(1).filter(|_| text.starts_with('|')).unwrap_or_default();
    if tokens(cell).iter().any(super::tokens::Token::is_number) { Vec::new() } else { labels_of(cell) }
}

fn is_name(label: &Label) -> bool {
    matches!(label.kind, LabelKind::Name | LabelKind::First)
}
