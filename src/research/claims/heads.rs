//! Heads of tables: how many the numbers below them count, and in which currency or unit.

use super::{
    figure::Number,
    page::{MOST_ROWS, Page, in_order, with_key},
    phrases, signs,
    tokens::{Token, tokens},
    units::{self, Unit},
    words::ONE,
};
use crate::text::is_unspaced;

/// Sentences above a table, empty lines among them, that are looked at for the one that says what its numbers count.
const MOST_ABOVE: usize = 2;
/// Bytes of a head or row that are read.
const LONGEST_HEAD: usize = 300;
/// Where a head leaves out sums for single shares, smaller numbers with a fraction are some.
const LEAST_SUM: i128 = 100 * ONE;
/// What names sums for single shares.
const PER_SHARE: [&str; 12] = [
    "per share",
    "per common share",
    "per ordinary share",
    "per ads",
    "je aktie",
    "par action",
    "por acción",
    "per azione",
    "por ação",
    "на акцию",
    "每股",
    "1株当たり",
];

impl Page {
    /// Returns how many the numbers of its tables may count, as heads say.
    pub fn heads(&self) -> impl Iterator<Item = i128> {
        phrases::MULTIPLES.into_iter().filter(|multiple| self.has_head(*multiple))
    }

    /// Returns those of them of which a number is one at least, and so may be counted in. Of small numbers none is,
    /// and the heads are not read for them.
    pub fn heads_for(&self, number: &Number) -> impl Iterator<Item = i128> {
        let largest = number.readings.iter().map(|reading| reading.value).max().unwrap_or_default();
        let smaller = phrases::MULTIPLES.into_iter().take_while(move |multiple| multiple * ONE <= largest);
        smaller.filter(|multiple| self.has_head(*multiple))
    }

    fn has_head(&self, multiple: i128) -> bool {
        !with_key(self.all_heads(), multiple).is_empty()
    }

    /// Returns the heads, read on first use: it takes a look through the whole text.
    fn all_heads(&self) -> &[(i128, usize)] {
        self.heads.get_or_init(|| {
            let mut heads: Vec<(i128, usize)> = self.lower().heads().collect();
            in_order(&mut heads);
            heads
        })
    }

    /// Returns how many its numbers may count, as heads or single words say, read on first use likewise.
    pub fn multiples(&self) -> &[i128] {
        self.multiples.get_or_init(|| {
            let mut multiples: Vec<i128> = self.heads().collect();
            for multiple in self.lower().multiples() {
                if !multiples.contains(&multiple) {
                    multiples.push(multiple);
                }
            }
            multiples
        })
    }

    /// Returns whether a sentence is a row of a table whose head says that so many are counted, and nothing says that
    /// the number there, of this value, counts otherwise than the one of a statement.
    pub fn is_headed(&self, sentence: usize, multiple: i128, number: &Number, value: i128) -> bool {
        self.head(sentence, multiple).is_some() && !self.counts_otherwise(sentence, multiple, number, value)
    }

    /// Returns whether a sentence is a row of a table whose head names another currency than the number is paid in, or
    /// one of sums for a single share, which are not in millions like the rest.
    pub fn counts_otherwise(&self, sentence: usize, multiple: i128, number: &Number, value: i128) -> bool {
        let Some(head) = self.head(sentence, multiple).filter(|head| *head != sentence) else { return false };
        let names_share = |at: usize| {
            let line = self.sentence(at);
            let lower = line[..line.floor_char_boundary(LONGEST_HEAD)].to_lowercase();
            PER_SHARE.iter().any(|words| lower.contains(words))
        };
        let is_price = || value < LEAST_SUM && value % ONE != 0 && names_share(head);
        let is_of_other = |money: Unit| self.is_paid_otherwise(head, money);
        names_share(sentence) || is_price() || number.unit.filter(|unit| unit.is_money()).is_some_and(is_of_other)
    }

    /// Returns whether a sentence is a row of a table whose head, or the line above it, names units of what the number
    /// measures, and none that is its own. Years and hours stand in heads for other reasons.
    pub fn is_measured_otherwise(&self, sentence: usize, number: &Number) -> bool {
        let Some(unit) = number.unit.filter(|unit| !unit.is_time() && !number.is_compound) else { return false };
        let is_own =
            |named: &Unit| named.alike(unit).is_some_and(|(named, unit)| named.is_money() || named.size == unit.size);
        let named: Vec<Unit> = self.lines_of_head(sentence).flat_map(|line| self.units_of_head(line)).collect();
        let mut named = named.iter().filter(|named| named.quantity == unit.quantity).peekable();
        named.peek().is_some() && !named.any(is_own)
    }

    /// Returns whether a line names currencies, and none that may be this one.
    fn is_paid_otherwise(&self, line: usize, money: Unit) -> bool {
        let named = self.units_of_head(line);
        let mut named = named.iter().filter(|unit| unit.is_money()).peekable();
        named.peek().is_some() && named.all(|unit| unit.alike(money).is_none())
    }

    /// Returns the units in a head. Of single letters signs alone are some, or what stands in brackets: `$m` are no
    /// metres, and `(m)` are.
    fn units_of_head(&self, line: usize) -> Vec<Unit> {
        let line = self.sentence(line);
        let line = &line[..line.floor_char_boundary(LONGEST_HEAD)];
        let is_in_brackets =
            |token: Token<'_>| line[..token.at].ends_with(['(', '[']) && line[token.end()..].starts_with([')', ']']);
        let of_token = |token: Token<'_>| match token.text.starts_with(is_unspaced) {
            true => signs::currency(&line[token.at..]),
            false => units::unit_as_written(token.text, &token.text.to_lowercase())
                .filter(|unit| unit.is_money() || token.text.chars().nth(1).is_some() || is_in_brackets(token)),
        };
        tokens(line).into_iter().filter_map(of_token).collect()
    }

    /// Returns the sentence that says of a row of a table that it counts so many: the table's head, or the line above
    /// it. In a table without bars all lines are rows up to one that is empty or ends a paragraph, but for the row it
    /// is asked of, which ends none.
    fn head(&self, sentence: usize, multiple: i128) -> Option<usize> {
        let is_head = |at: &usize| with_key(self.all_heads(), multiple).binary_search(&(multiple, *at)).is_ok();
        let is_line = |at: &usize| self.is_filled(*at) && !self.is_ended(*at);
        let of_table = || self.lines_of_head(sentence).find(is_head);
        let of_lines = || {
            let lines = || (sentence.saturating_sub(MOST_ROWS)..sentence).rev().take_while(is_line);
            let is_row = |at: &usize| is_line(at) && self.ends_line(*at);
            let title =
                || self.filled_above(lines().last().unwrap_or(sentence)).filter(|at| is_row(at) && is_row(&sentence));
            lines().find(is_head).or_else(|| title().filter(is_head))
        };
        Some(sentence).filter(is_head).or_else(of_table).or_else(of_lines)
    }

    /// Returns the head of the table that a sentence is a row of, and the line above the head.
    fn lines_of_head(&self, sentence: usize) -> impl Iterator<Item = usize> {
        let head = self.table_head(sentence);
        head.into_iter().chain(head.and_then(|head| self.filled_above(head)))
    }

    fn filled_above(&self, first: usize) -> Option<usize> {
        (0..first).rev().take(MOST_ABOVE).find(|at| self.is_filled(*at))
    }

    fn is_filled(&self, sentence: usize) -> bool {
        !self.sentence(sentence).trim().is_empty()
    }
}
