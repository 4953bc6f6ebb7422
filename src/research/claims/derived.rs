//! Numbers that stand in no source, and follow from those that stand there: as a sum, a difference, a share.
//!
//! Among a dozen numbers some two have nearly any ratio. So only what is of one kind is computed with: amounts in one
//! unit, shares of a hundred, years.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    equality::rounds_to,
    figure::{Number, Precision, Reading},
    keys::WordKey,
    measures::begins_with_points,
    ordinals,
    page::{Page, PlacedNumber},
    parts::LabelKind,
    ratios::{Turn, ratios},
    rows,
    stated::Statement,
    swaps::LabelReader,
    units::Unit,
    words::{self, ONE},
};
use crate::text::is_in;

/// Sentences around the best one whose numbers may be computed with, how many numbers of all pages, and of one at
/// least.
const NEAR: usize = 3;
const MOST_OPERANDS: usize = 24;
const LEAST_OPERANDS: usize = 6;
/// Rows that a statement names whose numbers may be computed with, how many of each, and how many are looked at.
const MOST_ROWS: usize = 4;
const MOST_CELLS: usize = 8;
const MOST_PLACES: usize = 500;
/// Digits of a year: `1,450` is none.
const YEAR_DIGITS: usize = 4;

/// Behind a number that says how many times something is something else.
const TIMES: &str = "times fold mal fach fache fachen faches fois veces volte vezes keer maal раза раз 倍 x";
/// Behind a number that is the difference of two shares.
const POINTS: &str = "point points punkt punkte punkten punto puntos punti ponto pontos punt";

/// Before an amount that is of earlier than the one in front of it.
const FROM: &str = "from against after gegenüber nach contre après contra tras contro dopo tegen na";
/// Bytes before it that are read.
const LONGEST_FROM: usize = 16;

/// What the word behind a number says of how it was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Any,
    /// `1.8 times as many`: as a ratio.
    Times,
    /// `4 points more`: as a difference of two shares.
    Points,
}

impl Way {
    fn of(text: &str, place: &Range<usize>) -> Self {
        let behind = text.get(place.end..).unwrap_or_default().trim_start_matches([' ', '\u{a0}', '-', '‑']);
        let end = behind.find(|char: char| !char.is_alphabetic()).unwrap_or(behind.len());
        let word = if behind.starts_with('倍') { "倍" } else { &behind[..end] };
        match word.to_lowercase() {
            word if is_in(TIMES, &word) => Self::Times,
            word if is_in(POINTS, &word) || begins_with_points(&word) => Self::Points,
            _ => Self::Any,
        }
    }
}

/// A number that may be computed with.
#[derive(Clone, Copy, Debug)]
struct Operand<'a> {
    page: &'a Page,
    placed: &'a PlacedNumber,
    number: &'a Number,
    value: i128,
    sentence: usize,
    /// The column of a table that it stands in.
    column: Option<usize>,
    /// It is a part of the one before.
    is_part: bool,
    /// It is written as years are, in four digits.
    may_be_year: bool,
}

impl Operand<'_> {
    /// Returns whether both count the same, so that they can be added up.
    fn is_like(&self, other: &Self) -> bool {
        let (one, other) = (self.number, other.number);
        let are_shares = is_share(one) && is_share(other);
        // Cells of a row may leave out what they are paid in.
        let is_said = one.unit.is_some() == other.unit.is_some() || one.unit.or(other.unit).is_some_and(Unit::is_money);
        let are_amounts = !is_share(one) && !is_share(other) && is_said && are_of_one_unit(one, other);
        one.is_year() == other.is_year() && (are_shares || are_amounts)
    }

    /// Returns whether a sum or difference of such numbers may be the one of the statement. Those of shares are often
    /// called points, and the cells of tables say nothing of what they are.
    fn adds_up_to(&self, number: &Number, is_said: bool, way: Way) -> bool {
        match (is_share(number), is_share(self.number)) {
            (false, of_shares) if way == Way::Points => of_shares && number.unit.is_none(),
            _ if way == Way::Times => false,
            (true, false) => is_points(number) && self.number.unit.is_none() && !self.number.is_year(),
            (false, true) => is_said && number.unit.is_none(),
            (true, true) => true,
            (false, false) => self.number.is_year() || are_of_one_unit(number, self.number),
        }
    }

    fn is_amount(&self) -> bool {
        !is_share(self.number) && !self.number.is_year()
    }

    /// Returns whether it is a year by its value, and written as one.
    fn is_written_year(&self) -> bool {
        self.may_be_year && self.number.is_year()
    }

    /// Returns whether the word before it says that it is of earlier than the number in front of that.
    fn is_earlier(&self) -> bool {
        let (text, end) = (self.page.text(), self.placed.place.start);
        let before = text.get(text.floor_char_boundary(end.saturating_sub(LONGEST_FROM))..end).unwrap_or_default();
        let last = before.rsplit(|char: char| !char.is_alphanumeric()).find(|word| !word.is_empty());
        last.is_some_and(|word| is_in(FROM, word))
    }

    /// Returns whether no mark stands between it and a number behind it.
    fn is_in_clause_of(&self, other: &Self) -> bool {
        let between = self.page.text().get(self.placed.place.end..other.placed.place.start);
        between.is_some_and(|between| !between.contains([',', ';']))
    }
}

/// The numbers near the best sentences of the pages, from which those of a statement may follow.
pub struct Derivation<'a> {
    statement: &'a Statement<'a>,
    pages: Vec<(&'a Page, Option<usize>)>,
    operands: OnceCell<Vec<Operand<'a>>>,
    named: OnceCell<Named>,
    weights: OnceCell<Vec<Weight>>,
    turn: OnceCell<Turn>,
}

impl<'a> Derivation<'a> {
    pub fn of(statement: &'a Statement<'a>, pages: Vec<(&'a Page, Option<usize>)>) -> Self {
        let (operands, named, weights, turn) = Default::default();
        Self { statement, pages, operands, named, weights, turn }
    }

    fn operands(&self) -> &[Operand<'a>] {
        self.operands.get_or_init(|| {
            // Each page has its share, however many numbers another one has.
            let share = (MOST_OPERANDS / self.pages.len().max(1)).max(LEAST_OPERANDS);
            let best = self.pages.iter().filter_map(|&(page, best)| Some((page, best?)));
            best.flat_map(|(page, best)| operands(page, best, share, self.statement.labels())).collect()
        })
    }

    fn named(&self) -> &Named {
        self.named.get_or_init(|| Named::of(self.statement.labels(), self.operands()))
    }

    fn weights(&self) -> &[Weight] {
        self.weights.get_or_init(|| {
            let operands = self.operands();
            let stated: Vec<&Number> =
                self.statement.numbers().filter(|own| !own.is_percent).take(MOST_OPERANDS).collect();
            let is_stated = |operand: &Operand<'_>| stated.iter().any(|own| own.is(operand.value));
            let own = |(operand, named): (&Operand<'_>, &u32)| named + if is_stated(operand) { STATED } else { 0 };
            let own: Vec<u32> = operands.iter().zip(&self.named().weights).map(own).collect();
            let most = |one: &Operand<'_>| {
                let like = operands.iter().zip(&own).filter(|(other, _)| other.is_like(one));
                like.map(|(_, weight)| *weight).max().unwrap_or_default()
            };
            operands.iter().zip(&own).map(|(one, own)| Weight { own: *own, most: most(one) }).collect()
        })
    }

    /// Returns whether two amounts of prose are those that the statement is about: what it says most of, and another
    /// one that it says something of, or that stands next to it.
    fn are_of_statement(&self, [at, next]: [usize; 2]) -> bool {
        let (operands, weights) = (self.operands(), self.weights());
        let own = [at, next].map(|at| weights[at].own);
        let is_most = own.iter().any(|weight| weight.saturating_mul(2) >= weights[at].most);
        let are_neighbours = operands[at].sentence == operands[next].sentence && are_next(operands, [at, next]);
        is_most && (are_neighbours || own.iter().all(|weight| *weight > 0))
    }

    /// Does a number of the statement, at these bytes, follow from them?
    pub fn has(&self, number: &Number, place: &Range<usize>) -> bool {
        let in_points = number.in_points();
        let number = in_points.as_ref().unwrap_or(number);
        let text = self.statement.text;
        let (way, turns) = (Way::of(text, place), self.turn.get_or_init(|| Turn::of(text)).at(text, place));
        // Of two years, or two small numbers, anything follows.
        let is_long = |reading: &Reading| reading.digits(number.multiple) >= 3 && !number.is_year();
        let is_said = number.is_percent || way == Way::Times || self.statement.says_it_computes();
        let allowed = is_said || is_points(number) || way == Way::Points || number.readings.iter().any(is_long);
        // `more` of `more than 4 billion` speaks of no computing.
        let is_bound = matches!(number.precision, Precision::AtLeast | Precision::AtMost) && !is_share(number);
        if number.readings.iter().any(|reading| is_span(number, *reading, self.operands())) {
            return true;
        }
        let may_follow = allowed && !is_bound && !(number.is_percent && are_points(number, &self.pages));
        let sought = |number: &Number, operands: &[Operand<'_>], is_said: bool| {
            Sought { of: self, number, way, turns: &turns, is_said }.follows(operands)
        };
        may_follow
            && (sought(number, self.operands(), is_said)
                || self.headed(number).any(|(number, cells)| sought(&number, &cells, false)))
    }

    /// Returns a number as tables count it, by what their heads say, each with the numbers in such tables.
    fn headed(&self, number: &Number) -> impl Iterator<Item = (Number, Vec<Operand<'a>>)> {
        let may_be_counted = !is_share(number) && number.unit.is_none_or(Unit::is_money);
        let pages = self.pages.iter().filter(move |_| may_be_counted);
        let of_page = move |page: &'a Page| {
            page.heads_for(number).filter_map(move |multiple| {
                let counted = number.counted_in(multiple)?;
                let is_headed = |operand: &&Operand<'a>| {
                    std::ptr::eq(operand.page, page)
                        && operand.column.is_some()
                        && page.is_headed(operand.sentence, multiple, number, operand.value)
                };
                Some((counted, self.operands().iter().filter(is_headed).copied().collect()))
            })
        };
        pages.flat_map(move |(page, _)| of_page(page))
    }
}

/// Returns whether no numbers but years stand between two.
fn are_next(operands: &[Operand<'_>], [at, next]: [usize; 2]) -> bool {
    operands[at + 1..next].iter().all(|operand| operand.number.is_year())
}

/// Returns whether both count in one unit, as far as they say in which.
fn are_of_one_unit(one: &Number, other: &Number) -> bool {
    let of_one_size = |(one, other): (Unit, Unit)| one.alike(other).is_some_and(|(one, other)| one.size == other.size);
    one.counts_as(other) && one.unit.zip(other.unit).is_none_or(of_one_size)
}

/// Returns whether a number counts hundredths of a whole, or the difference of two such.
fn is_share(number: &Number) -> bool {
    number.is_percent || is_points(number)
}

fn is_points(number: &Number) -> bool {
    number.unit == Some(Unit::PERCENTAGE_POINT)
}

/// Returns whether a page says of so many per cent that they are percentage points, which are a difference of two
/// shares as well.
fn are_points(number: &Number, pages: &[(&Page, Option<usize>)]) -> bool {
    let mut near = pages.iter().filter_map(|(page, best)| Some(page.numbers_near((*best)?, NEAR))).flatten();
    near.any(|placed| is_points(&placed.number) && number.readings.iter().any(|own| placed.number.is(own.value)))
}

/// Returns the numbers nearest to a sentence, and those of rows that the statement names, in their order.
fn operands<'a>(page: &'a Page, best: usize, most: usize, said: &BTreeSet<WordKey>) -> Vec<Operand<'a>> {
    // The number of an article counts nothing.
    let counts = |placed: &&PlacedNumber| !page.text().get(..placed.place.start).is_some_and(ordinals::ends_with_label);
    let mut near: Vec<_> = page.numbers_near(best, NEAR).filter(counts).collect();
    near.sort_by_key(|placed| placed.sentence.abs_diff(best));
    near.truncate(most);
    let of_rows = named_rows(page, said).into_iter().flat_map(|row| page.numbers_in(row).iter().take(MOST_CELLS));
    near.extend(of_rows.filter(|placed| placed.sentence.abs_diff(best) > NEAR));
    near.sort_by_key(|placed| placed.place.start);
    let operand = |at: usize| {
        let is_part = || {
            let before = near.get(at.checked_sub(1)?)?;
            let between = page.text().get(before.place.end..near[at].place.start)?;
            (before.sentence == near[at].sentence).then(|| words::begins_part(between))
        };
        let (number, sentence) = (&near[at].number, near[at].sentence);
        let value = number.readings.first()?.value;
        let written = page.text().get(near[at].place.clone()).unwrap_or_default();
        let may_be_year = written.len() == YEAR_DIGITS && written.bytes().all(|byte| byte.is_ascii_digit());
        let column = rows::column(page, near[at]);
        Some(Operand {
            page,
            placed: near[at],
            number,
            value,
            sentence,
            column,
            is_part: is_part().unwrap_or_default(),
            may_be_year,
        })
    };
    (0..near.len()).filter_map(operand).collect()
}

/// Returns the rows of tables whose first cells have words of the statement.
fn named_rows(page: &Page, said: &BTreeSet<WordKey>) -> Vec<usize> {
    let is_named = |row: &usize| rows::row_labels(page, *row).iter().any(|label| said.contains(&label.key));
    page.rows().take(MOST_PLACES).filter(is_named).take(MOST_ROWS).collect()
}

/// Returns whether so many years lie between two that stand next to each other. Of the last one only a part may count.
fn is_span(number: &Number, reading: Reading, operands: &[Operand<'_>]) -> bool {
    let is_year = |operand: &Operand<'_>| {
        let Number { unit, multiple, is_percent, .. } = operand.number;
        let is_plain = unit.is_none() && *multiple == 1 && !is_percent && operand.may_be_year;
        is_plain && (1_000 * ONE..=2_100 * ONE).contains(&operand.value)
    };
    let is_it = |pair: &[Operand<'_>]| {
        let years = pair[1].value - pair[0].value;
        pair[0].sentence == pair[1].sentence
            && pair.iter().all(is_year)
            && [years, years - ONE].contains(&reading.value)
    };
    number.unit.is_some_and(Unit::is_years) && operands.windows(2).any(is_it)
}

/// Which numbers stand beside words of the statement.
struct Named {
    /// What the words weigh that stand beside each.
    weights: Vec<u32>,
}

/// How much a statement says of a number.
struct Weight {
    own: u32,
    /// The most that it says of one like this.
    most: u32,
}

/// What a number weighs that the statement has.
const STATED: u32 = 10 * WEIGHT;
/// What a word of the statement weighs that stands beside one number alone; beside several each has its part.
const WEIGHT: u32 = 720;

impl Named {
    fn of<'a>(said: &BTreeSet<WordKey>, operands: &[Operand<'a>]) -> Self {
        // Those of a page stand together, and often in one sentence.
        let mut reader: Option<(&Page, LabelReader<'a>)> = None;
        let mut labels_of = |operand: &Operand<'a>| {
            reader.take_if(|(page, _)| !std::ptr::eq(*page, operand.page));
            let (_, reader) = reader.get_or_insert_with(|| (operand.page, LabelReader::of(operand.page)));
            match operand.column {
                Some(_) => rows::row_labels(operand.page, operand.sentence),
                None => reader.labels_of(operand.placed),
            }
        };
        let mut words: Vec<BTreeSet<WordKey>> = Vec::with_capacity(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let labels = labels_of(operand);
            // `They sold 4.1 million in 2022; in 2023 it was 4.6 million.`
            let is_bare = labels.iter().all(|label| label.kind == LabelKind::Year);
            let before = at.checked_sub(1).filter(|before| is_bare && operands[*before].sentence == operand.sentence);
            let own = || labels.iter().map(|label| label.key).filter(|key| said.contains(key)).collect();
            words.push(before.map_or_else(own, |before| words[before].clone()));
        }
        let mut counts: BTreeMap<WordKey, u32> = BTreeMap::new();
        words.iter().flatten().for_each(|key| *counts.entry(*key).or_default() += 1);
        let weight = |words: &BTreeSet<WordKey>| words.iter().filter_map(|key| WEIGHT.checked_div(counts[key])).sum();
        Self { weights: words.iter().map(weight).collect() }
    }

    fn is_named(&self, at: usize) -> bool {
        self.weights[at] > 0
    }

    /// Returns whether the two cells of a row are of one that is named, if any number is.
    fn are_of_named_row(&self, [one, other]: [usize; 2]) -> bool {
        self.is_named(one) || self.is_named(other) || self.weights.iter().all(|weight| *weight == 0)
    }

    /// Returns whether the two of these may be compared: if some are named, one of them, and both if others are too.
    fn allow(&self, [one, other]: [usize; 2], others: impl Iterator<Item = usize>) -> bool {
        let count = others.filter(|at| self.is_named(*at)).count();
        let are = [one, other].map(|at| self.is_named(at));
        if count > 1 { are == [true; 2] } else { count == 0 || are.contains(&true) }
    }
}

/// A number that is sought as what follows from others.
struct Sought<'d, 'a> {
    of: &'d Derivation<'a>,
    number: &'d Number,
    way: Way,
    /// What it may say of two amounts.
    turns: &'d [Turn],
    /// The statement says that it computes.
    is_said: bool,
}

impl Sought<'_, '_> {
    /// Returns whether the number is sum or difference of two of the numbers, or the sum of several in a row; or, where
    /// the statement says that it computes, ratio or share of two amounts. What is a part of another number is not
    /// added to it.
    fn follows(&self, operands: &[Operand<'_>]) -> bool {
        let pairs = (0..operands.len()).flat_map(|one| (one + 1..operands.len()).map(move |other| (one, other)));
        let mut alike = pairs.filter(|(at, next)| operands[*at].is_like(&operands[*next]));
        alike.any(|(at, next)| self.number.readings.iter().any(|reading| self.is_of_pair(*reading, operands, at, next)))
            || (0..operands.len()).any(|from| self.is_sum_from(operands, from))
    }

    /// Returns whether a reading is the sum, the difference or a ratio of two numbers, as far as these may be meant.
    fn is_of_pair(&self, reading: Reading, operands: &[Operand<'_>], at: usize, next: usize) -> bool {
        let is_it = |value: i128| value.checked_abs().is_some_and(|value| rounds_to(value, reading));
        let (one, other) = (operands[at], operands[next]);
        // Next to a number, a far smaller one tells nothing.
        let least = one.value.unsigned_abs().min(other.value.unsigned_abs());
        let may_sum = one.adds_up_to(self.number, self.is_said, self.way) && least >= reading.value.unsigned_abs() / 50;
        let is_part = next == at + 1 && other.is_part;
        // What two shares differ by are points.
        let are_points = self.number.is_percent && one.number.is_percent && other.number.is_percent;
        let may_add = may_sum && !is_part && (!are_points || self.of.statement.may_add_shares());
        let sum = one.value.checked_add(other.value).filter(|_| may_add && self.way == Way::Any);
        // What two years differ by are years: `4 more guides` are not those from 2019 to 2023.
        let are_years = one.is_written_year() && other.is_written_year();
        let may_differ = may_sum && !are_points && (!are_years || self.number.unit.is_some_and(Unit::is_years));
        let difference = one.value.checked_sub(other.value).filter(|_| may_differ);
        let is_ratio = |turn: &Turn| {
            let mut ratios = ratios(self.number, *turn, one.value, other.value).into_iter().flatten();
            ratios.any(is_it) && !Self::turned_otherwise(*turn, operands, [at, next])
        };
        let may_be_ratio = self.is_said && one.is_amount() && self.turns.iter().any(is_ratio);
        [sum, difference].into_iter().flatten().any(is_it) || may_be_ratio && self.may_compare(operands, [at, next])
    }

    /// Returns whether the ratio of two numbers may be meant. Those of two cells tell something in one row or column
    /// alone.
    fn may_compare(&self, operands: &[Operand<'_>], [at, next]: [usize; 2]) -> bool {
        let (one, other) = (operands[at], operands[next]);
        let all = || 0..operands.len();
        match (one.column, other.column) {
            (Some(column), Some(next_column)) if one.sentence != other.sentence => {
                let is_beside = |known: &usize| operands[*known].column == Some(column);
                column == next_column && self.of.named().allow([at, next], all().filter(is_beside))
            }
            (Some(_), Some(_)) => self.of.named().are_of_named_row([at, next]),
            _ if self.way == Way::Times => {
                self.of.named().allow([at, next], all().filter(|known| operands[*known].is_like(&one)))
            }
            _ => self.of.are_of_statement([at, next]),
        }
    }

    /// Returns whether a word before the second of two numbers, or else the years beside both, show that they did not
    /// turn so. Where both numbers have a year, the word does not outweigh these.
    fn turned_otherwise(turn: Turn, operands: &[Operand<'_>], [at, next]: [usize; 2]) -> bool {
        let (one, other) = (operands[at], operands[next]);
        let is_near = |operand: &&Operand<'_>| {
            (one.sentence..=other.sentence).contains(&operand.sentence) && std::ptr::eq(operand.page, one.page)
        };
        let years = || operands.iter().filter(is_near).filter(|operand| operand.number.is_year());
        let are_many = years().nth(1).is_some();
        // `It had 500 in 2019; in 2023, after 400 the year before, it had 450.`
        let mut behind = operands[next + 1..].iter().take_while(|operand| operand.sentence == other.sentence);
        let follows = |year: &Operand<'_>| year.number.is_year() && other.is_in_clause_of(year);
        let are_dated = next > at + 1 && behind.clone().next().is_some_and(follows);
        let is_compared = are_many && behind.any(|operand| operand.is_like(&other));
        let is_after = other.is_earlier() && are_next(operands, [at, next]) && !is_compared;
        let may_be_forward = are_many && (!is_after || are_dated);
        let is_forward = may_be_forward && years().is_sorted_by(|one, next| one.value < next.value);
        let is_backward = is_after || are_many && years().is_sorted_by(|one, next| one.value > next.value);
        is_forward && turn.is_denied_by([one.value, other.value])
            || is_backward && turn.is_denied_by([other.value, one.value])
    }

    fn is_sum_from(&self, operands: &[Operand<'_>], from: usize) -> bool {
        let first = operands[from];
        let are_shares = self.number.is_percent && first.number.is_percent;
        let may_begin = first.adds_up_to(self.number, self.is_said, self.way) && self.way == Way::Any;
        if !may_begin || are_shares && !self.of.statement.may_add_shares() {
            return false;
        }
        let mut sum = first.value;
        // Years may stand between them, other numbers may not.
        let counts = |next: &&Operand<'_>| !next.is_part && (first.number.is_year() || !next.number.is_year());
        let mut alike = operands[from + 1..].iter().filter(counts).take_while(|next| first.is_like(next));
        alike.any(|next| {
            sum = sum.saturating_add(next.value);
            self.number.readings.iter().any(|reading| rounds_to(sum, *reading))
        })
    }
}
