//! Which words of a sentence belong to which of its numbers: those of its part of the sentence, which ends at a mark,
//! or at a small word that begins the next part, such as `and` or `while`.

use std::ops::Range;

use super::{
    figure::Number,
    keys::{SHORTEST, STEM, WordKey, key, word_keys},
    reader::lower,
    tokens::{Token, clause_ends},
    words::ONE,
};
use crate::text::{self, is_in};

/// Begin a part with a number of its own.
const JOINTS: &str = "and und et y e ed и while whereas but versus vs compared sowie während aber gegenüber tandis contre mientras frente mentre maar \
    和 与 與 而";
/// Those of them that join what shares one number, too: `Oslo and Bergen have 41`.
const AND: &str = "and und et y e ed и sowie 和 与 與";
/// Before words that `and` joins to one thing.
const BETWEEN: &str = "between zwischen entre tra fra tussen между";
/// Begin the part of the second of two numbers that no mark parts.
const SOFT_JOINTS: &str = "to from than at of auf von als bei à de que a al desde hasta da di que naar van dan";
/// Say that numbers stand in another order than the marks tell.
const RESPECTIVELY: &str = "respectively jeweils beziehungsweise bzw respectivement respectivamente rispettivamente respectievelijk соответственно";

/// Letters of the shortest name in capitals.
const SHORTEST_NAME: usize = 2;

/// Small words that tell something behind a number: `284 against`.
const TELLING: &str = "against contre gegen contra contro";

/// A word of a sentence, or a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    pub key: WordKey,
    pub kind: LabelKind,
    /// It stands behind the number.
    pub is_behind: bool,
}

/// A number of a sentence and its bytes.
#[derive(Clone, Debug)]
pub struct Counted<'a> {
    pub number: &'a Number,
    pub place: Range<usize>,
    /// It is written as years are, in four digits, and may be one.
    pub is_year: bool,
}

impl<'a> Counted<'a> {
    /// Reads a number at these bytes of a text.
    pub fn new(number: &'a Number, place: Range<usize>, text: &str) -> Self {
        let is_plain = text.get(place.clone()).is_some_and(|written| written.bytes().all(|byte| byte.is_ascii_digit()));
        Self { number, place, is_year: is_plain && number.is_year() }
    }

    /// Returns whether both count things of one kind, so that each could stand in the other's place. The second may
    /// leave out what the first one has said.
    pub fn is_like(&self, next: &Self) -> bool {
        self.is_of_kind(next) || !self.is_year && next.is_bare()
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        let quantity = |number: &Number| number.unit.map(|unit| unit.quantity);
        self.number.is_percent == other.number.is_percent
            && quantity(self.number) == quantity(other.number)
            && self.is_year == other.is_year
    }

    fn is_bare(&self) -> bool {
        !self.is_year && self.number.unit.is_none() && !self.number.is_percent
    }
}

/// What a word is, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelKind {
    Word,
    /// With a capital within a sentence.
    Name,
    /// With a capital at its beginning, so that it may be either.
    First,
    Year,
}

impl LabelKind {
    /// Returns whether one may stand in the place of the other.
    pub fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Year, _) | (_, Self::Year) => self == other,
            (Self::First, _) | (_, Self::First) => true,
            _ => self == other,
        }
    }
}

/// What numbers the words of a sentence are said of: of years, or of all others, to which years belong as words do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    Years,
    Others,
}

impl Of {
    fn counts(self, counted: &Counted<'_>) -> bool {
        self == Self::Years || !counted.is_year
    }
}

/// Returns the labels of each number of a sentence, which are in order. Nothing is plain where words say that all
/// numbers follow all that they are of.
pub fn labels(text: &str, tokens: &[Token<'_>], numbers: &[Counted<'_>], of: Of) -> Vec<Vec<Label>> {
    let says_so = |token: &Token<'_>| token.is_word() && is_in(RESPECTIVELY, &lower(token.text));
    if tokens.iter().any(says_so) {
        return vec![Vec::new(); numbers.len()];
    }
    let counted: Vec<Counted<'_>> = numbers.iter().filter(|number| of.counts(number)).cloned().collect();
    let parts = parts(text, tokens, &counted);
    let labels = |number: &Counted<'_>| {
        let part = parts.iter().find(|part| part.bytes.contains(&number.place.start) && of.counts(number));
        part.map(|part| labels_of(text, tokens, numbers, part, number, of)).unwrap_or_default()
    };
    numbers.iter().map(labels).collect()
}

/// A part of a sentence; what stands before it may belong to it.
#[derive(Debug)]
struct Part {
    bytes: Range<usize>,
    /// It is not known what is said of its numbers.
    is_doubtful: bool,
}

/// A place where a part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    at: usize,
    kind: CutKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CutKind {
    /// Behind a colon or semicolon.
    Sharp,
    Comma,
    And,
    Joint,
    Soft,
}

/// Takes a sentence apart. A part without a number belongs to the next one if it begins the sentence, or follows a
/// semicolon, and else to none.
fn parts(text: &str, tokens: &[Token<'_>], numbers: &[Counted<'_>]) -> Vec<Part> {
    let is_within = |at: usize| numbers.iter().any(|one| one.place.start < at && at < one.place.end);
    let mut cuts: Vec<Cut> = marks(text).chain(joints(tokens)).filter(|cut| !is_within(cut.at)).collect();
    cuts.sort_unstable();
    let soft = soft_cuts(tokens, numbers, &cuts);
    cuts.extend(soft);
    cuts.sort_unstable();
    let has_number = |bytes: &Range<usize>| numbers.iter().any(|one| bytes.contains(&one.place.start));
    let is_empty = |bytes: Range<usize>| !text[bytes].contains(char::is_alphanumeric);
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut begins, mut is_doubtful) = (true, false);
    for (at, cut) in cuts.iter().map(|cut| (cut.at, Some(cut.kind))).chain([(text.len(), None)]) {
        if has_number(&(start..at)) {
            parts.push(Part { bytes: start..at, is_doubtful });
            (start, begins, is_doubtful) = (at, cut == Some(CutKind::Sharp), false);
        } else if is_empty(start..at) {
            begins |= cut == Some(CutKind::Sharp);
        } else if begins {
            is_doubtful |= cut == Some(CutKind::And);
        } else {
            // What `and` joins to something without a number shares the next one.
            is_doubtful = cut == Some(CutKind::And);
            (start, begins) = (at, cut == Some(CutKind::Sharp));
        }
    }
    parts
}

fn marks(text: &str) -> impl Iterator<Item = Cut> {
    clause_ends(text).filter_map(|at| {
        let kind = match text[..at].chars().next_back()? {
            // What stands in them belongs to what stands before them.
            '(' | ')' => return None,
            ';' | ':' | '；' => CutKind::Sharp,
            _ => CutKind::Comma,
        };
        Some(Cut { at, kind })
    })
}

fn joints<'a>(tokens: &'a [Token<'a>]) -> impl Iterator<Item = Cut> + 'a {
    let (mut joins, mut last) = (false, 0);
    tokens.iter().filter(|token| token.is_word()).filter_map(move |token| {
        let lower = lower(token.text);
        // `Between Lyon and Turin`.
        (joins, last) = if is_in(BETWEEN, &lower) { (true, 0) } else { (joins, last + 1) };
        if !is_in(JOINTS, &lower) {
            return None;
        }
        if std::mem::take(&mut joins) && last <= 4 {
            return None;
        }
        Some(Cut { at: token.at, kind: if is_in(AND, &lower) { CutKind::And } else { CutKind::Joint } })
    })
}

/// Returns where two numbers of one kind are parted between which nothing else does so: at a small word, or behind the
/// word that follows the first one.
fn soft_cuts(tokens: &[Token<'_>], numbers: &[Counted<'_>], cuts: &[Cut]) -> Vec<Cut> {
    let is_apart = |from: usize, to: usize| cuts.iter().any(|cut| from <= cut.at && cut.at <= to);
    let cut = |at: usize| {
        let number = &numbers[at];
        let others = || numbers[..at].iter().filter(|other| other.is_year == number.is_year);
        let before = others().rev().find(|other| other.is_of_kind(number))?;
        let from = others().next_back()?.place.end;
        if is_apart(before.place.end, number.place.start) {
            return None;
        }
        let between = tokens.iter().filter(|token| from <= token.at && token.at < number.place.start);
        let words: Vec<&Token<'_>> = between.filter(|token| token.is_word()).collect();
        let soft = words.iter().find(|token| is_in(SOFT_JOINTS, &lower(token.text)));
        let behind = || words.first().filter(|first| !is_small(&lower(first.text))).map(|first| first.end());
        Some(Cut { at: soft.map(|token| token.at).or_else(behind).unwrap_or(from), kind: CutKind::Soft })
    };
    (0..numbers.len()).filter_map(cut).collect()
}

/// Returns the words of a part that are said of a number of it, and its year if there is one alone.
fn labels_of(
    text: &str,
    tokens: &[Token<'_>],
    numbers: &[Counted<'_>],
    part: &Part,
    number: &Counted<'_>,
    of: Of,
) -> Vec<Label> {
    if part.is_doubtful {
        return Vec::new();
    }
    let index = |byte: usize| tokens.partition_point(|token| token.at < byte);
    let own = &tokens[index(part.bytes.start)..index(part.bytes.end)];
    let is_figure = |at: usize| numbers.iter().any(|one| one.place.contains(&at));
    let words = word_labels(text, own).filter(|(_, at)| !is_figure(*at));
    let mut found: Vec<Label> =
        words.map(|(label, at)| Label { is_behind: at > number.place.start, ..label }).collect();
    let mut years =
        numbers.iter().filter(|one| of == Of::Others && one.is_year && part.bytes.contains(&one.place.start));
    if let (Some(year), None) = (years.next(), years.next()) {
        let is_behind = year.place.start > number.place.start;
        found.extend(year_label(year.number).map(|label| Label { is_behind, ..label }));
    }
    found.sort_unstable();
    found.dedup_by_key(|label| label.key);
    found
}

/// Returns what stands for a year beside a number.
pub fn year_label(number: &Number) -> Option<Label> {
    let year = number.readings.first()?.value / ONE;
    Some(Label { key: key(year.to_string().chars()), kind: LabelKind::Year, is_behind: false })
}

/// Returns the words that tell something, with their places: longer ones, and names in capitals.
pub fn word_labels<'a>(text: &'a str, tokens: &'a [Token<'a>]) -> impl Iterator<Item = (Label, usize)> + 'a {
    let kind = |token: &Token<'_>| match token.text.starts_with(char::is_uppercase) {
        true if text[..token.at].trim_end_matches([' ', '"', '“', '|', '*', '-']).is_empty() => LabelKind::First,
        true => LabelKind::Name,
        false => LabelKind::Word,
    };
    let label = move |(key, at): (WordKey, usize)| {
        let token = tokens[tokens.partition_point(|token| token.at < at)];
        let lower = lower(token.text);
        (!is_small(&lower))
            .then(|| (Label { key: singular(&lower).unwrap_or(key), kind: kind(&token), is_behind: false }, at))
    };
    let is_name = |token: &&Token<'_>| {
        let letters = token.text.chars().count();
        (SHORTEST_NAME..SHORTEST).contains(&letters) && token.text.chars().all(char::is_uppercase)
    };
    let names = tokens.iter().filter(|token| token.is_word()).filter(is_name);
    let names =
        names.map(|token| (Label { key: key(token.text.chars()), kind: LabelKind::Name, is_behind: false }, token.at));
    word_keys(tokens).filter_map(label).chain(names).chain(joined_names(text, tokens))
}

/// Returns names that `&` joins: `S&D`, `AT&T`.
fn joined_names<'a>(text: &'a str, tokens: &'a [Token<'a>]) -> impl Iterator<Item = (Label, usize)> + 'a {
    tokens.windows(3).filter_map(move |three| {
        let [one, mark, other] = three else { return None };
        let is_whole = mark.is('&') && one.end() == mark.at && mark.end() == other.at;
        let name = text.get(one.at..other.end()).filter(|_| is_whole)?;
        Some((Label { key: key(name.chars()), kind: LabelKind::Name, is_behind: false }, one.at))
    })
}

/// Returns the key of a short word without the ending of its plural, which the keys of longer ones leave out.
fn singular(lower: &str) -> Option<WordKey> {
    let short = lower.strip_suffix('s').filter(|short| short.is_ascii() && short.len() < STEM)?;
    Some(key(short.chars()))
}

fn is_small(lower: &str) -> bool {
    text::is_stop_word_of_any(lower) && !is_in(TELLING, lower)
}
