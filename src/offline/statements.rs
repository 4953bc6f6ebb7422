//! Sentences with the sources that make them: gathered from evidence or read back from notes, repeated ones joined,
//! contradicting ones found.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{bounds, count, orders::is_order};
use crate::domain::{SourceId, distinct};
use crate::text::{self, Language, Sentence, codes, date_of_line, is_number, plain, row_name, terms, years_in};

/// Begins a line of notes with a heading inside a source.
pub(super) const HEADING_MARK: &str = "#### ";
/// Words two sentences share, of all they have, to be taken for the same statement.
const SAME: f64 = 0.82;
/// The same, when they differ in numbers and might contradict each other.
const ALIKE: f64 = 0.7;
/// Statements looked at: each is compared with those before it.
const MOST_STATEMENTS: usize = 500;
/// Sources of a statement of notes; each of a line stands behind all its sentences.
const MOST_SOURCES: usize = 50;
/// Content words without which two sentences are alike by chance.
const LEAST_WORDS: usize = 5;
/// The same of sentences with the very same words.
const FEWEST_WORDS: usize = 3;

/// Something that sources say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    pub text: String,
    /// Who says it, each once, in order of appearance; empty when nobody is named.
    pub sources: Vec<SourceId>,
    /// What it stands under: the title of a source, or a heading of the notes.
    pub group: String,
    /// The heading inside the source; may be empty.
    pub heading: Arc<str>,
    /// Its paragraph in the source; the same of all in notes.
    pub paragraph: usize,
    /// The number of the text that it was read from, among all that are read together.
    pub origin: usize,
}

impl Statement {
    /// Returns a sentence as a statement of the same text, under the same title, by the same sources.
    pub(super) fn with(&self, Sentence { text, heading, paragraph, .. }: Sentence) -> Self {
        Self { text, heading, paragraph, ..self.clone() }
    }

    /// Writes the statement as Markdown, with its source ids behind it.
    pub(super) fn cited(&self) -> String {
        let ids: String = self.sources.iter().map(|id| format!("[{id}]")).collect();
        format!("{} {ids}", self.text).trim_end().to_owned()
    }
}

/// What two sentences are compared by.
pub(super) struct Fingerprint {
    /// The name of the row, if it is one, and the codes: those of others are about other things, however alike they
    /// are.
    row: Option<String>,
    codes: HashSet<String>,
    words: HashSet<String>,
    numbers: HashSet<String>,
}

impl Fingerprint {
    pub(super) fn of(text: &str) -> Self {
        let row = row_name(text).map(str::to_lowercase);
        let codes = codes(text).into_iter().map(str::to_owned).collect();
        let (numbers, words) = terms(text, Language::of(text)).into_iter().partition(|term| is_number(term));
        Self { row, codes, words, numbers }
    }

    /// Returns whether both say the same, as far as can be seen.
    fn repeats(&self, other: &Self) -> bool {
        self.numbers == other.numbers && self.overlap(other) >= SAME
    }

    /// Returns whether both say the same but for their numbers. Where it is word for word, and one number, few words
    /// are enough.
    fn contradicts(&self, other: &Self) -> bool {
        let alone = |one: &Self, other: &Self| one.numbers.difference(&other.numbers).count();
        let (own, others) = (alone(self, other), alone(other, self));
        let is_same = self.words == other.words && (own, others) == (1, 1);
        let least = if is_same { FEWEST_WORDS } else { LEAST_WORDS };
        let is_enough = self.row.is_some() || self.words.len().min(other.words.len()) >= least;
        let names_other = self.codes != other.codes && !self.codes.is_empty() && !other.codes.is_empty();
        let is_of_one = self.row == other.row && !names_other;
        own.min(others) > 0 && is_enough && is_of_one && self.overlap(other) >= ALIKE
    }

    /// Returns the share of words that both have, 0 to 1.
    fn overlap(&self, other: &Self) -> f64 {
        let shared = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - shared;
        if all == 0 { 1.0 } else { count(shared) / count(all) }
    }
}

/// Finds pairs of texts, each below its title, that say the same but for their numbers, by their places. What stands
/// below titles of other years, and names no year itself, is of these years; and a line that dates its document says
/// nothing else.
pub fn differing<'a>(said: &[(&'a str, &'a str)]) -> Vec<(usize, usize)> {
    let read = |(title, text): &(&'a str, &'a str)| {
        let own = years_in(text);
        (Fingerprint::of(text), if own.is_empty() { years_in(title) } else { own })
    };
    let prints: Vec<(Fingerprint, BTreeSet<&'a str>)> = said.iter().map(read).collect();
    let differ = |(one, other): &(usize, usize)| {
        let [(print, years), (others, other_years)] = [&prints[*one], &prints[*other]];
        let are_apart = !years.is_empty() && !other_years.is_empty() && years.is_disjoint(other_years);
        !are_apart && print.contradicts(others) && date_of_line(said[*one].1).is_none()
    };
    let pairs = (0..said.len()).flat_map(|one| (one + 1..said.len()).map(move |other| (one, other)));
    pairs.filter(differ).collect()
}

/// Statements, each once, with the sources of all that say it.
#[derive(Default)]
pub(super) struct Joined {
    pub statements: Vec<Statement>,
    fingerprints: Vec<Fingerprint>,
}

impl Joined {
    /// Adds the statement, or its sources to those of one that says the same; returns whether it is new.
    pub fn add(&mut self, statement: Statement) -> bool {
        let fingerprint = Fingerprint::of(&statement.text);
        let same = self.fingerprints.iter().position(|other| other.repeats(&fingerprint));
        match same {
            Some(same) => {
                let sources = &mut self.statements[same].sources;
                *sources = distinct(sources.iter().copied().chain(statement.sources));
            }
            None => {
                self.statements.push(statement);
                self.fingerprints.push(fingerprint);
            }
        }
        same.is_none()
    }
}

/// Reads the statements of several notes, without what gives orders. What is cited counts; everything, when nothing is.
pub(super) fn read_all<'a>(notes: impl Iterator<Item = &'a str> + Clone) -> Vec<Statement> {
    let notes = bounds::texts(notes);
    // What is cited comes first in notes, and each has its share.
    let share = (MOST_STATEMENTS / notes.len().max(1)).max(1);
    let of_note = |(number, text): (usize, &&str)| {
        read(text, number).into_iter().filter(|statement| !is_order(&statement.text)).take(share)
    };
    let all = notes.iter().enumerate().flat_map(of_note);
    let (cited, others): (Vec<_>, Vec<_>) = all.partition(|statement| !statement.sources.is_empty());
    if cited.is_empty() { others } else { cited }
}

/// Reads the statements of notes: sentences with the ids behind them, under the heading or title above them.
fn read(notes: &str, origin: usize) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut under = Statement { origin, ..Statement::default() };
    for line in notes.lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix(HEADING_MARK) {
            under.heading = plain(heading).into();
        } else if line.starts_with('#') {
            under = Statement { group: plain(line.trim_start_matches('#')), heading: Arc::default(), ..under };
        } else {
            read_line(line, &under, &mut statements);
        }
    }
    statements
}

fn read_line(line: &str, under: &Statement, statements: &mut Vec<Statement>) {
    // The citations of several brackets in a row belong to the same statements.
    let mut begin = statements.len();
    let mut text = String::new();
    for piece in line.trim_start_matches(['-', '*', '+', '>', '|']).split_inclusive(']') {
        let Some((before, ids)) = citation(piece) else {
            text.push_str(piece);
            continue;
        };
        text.push_str(before);
        if !text.trim().is_empty() {
            begin = statements.len();
            statements.extend(stated(&text, under));
            text.clear();
        }
        for statement in &mut statements[begin..] {
            let room = MOST_SOURCES.saturating_sub(statement.sources.len());
            statement.sources.extend(ids.iter().take(room));
        }
    }
    statements.extend(stated(&text, under));
}

/// Returns the sentences of a text as statements under a heading.
fn stated<'a>(text: &str, under: &'a Statement) -> impl Iterator<Item = Statement> + use<'a> {
    let sentences = text::split(text.trim_start_matches(['.', ',', ';', ' ']).trim_matches('|'));
    sentences.into_iter().map(|sentence| Statement { text: sentence.text, ..under.clone() })
}

/// Returns the text before a citation that ends it, such as `[S1003, S1004]`, and its ids.
fn citation(text: &str) -> Option<(&str, Vec<SourceId>)> {
    let (before, inside) = text.strip_suffix(']')?.rsplit_once('[')?;
    let id = |word: &str| word.trim().strip_prefix('S')?.parse().ok().map(SourceId);
    Some((before, inside.split([',', ';']).map(id).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_with_their_sources() {
        let notes =
            "### About\n- It was founded. By many. [S1001][S1002] Later it grew [S1003, S1004].\n- Nobody said so.\n";
        let read: Vec<_> = read(notes, 0).into_iter().map(|statement| (statement.text, statement.sources)).collect();
        let expected = [
            ("It was founded.", vec![1001, 1002]),
            ("By many.", vec![1001, 1002]),
            ("Later it grew", vec![1003, 1004]),
            ("Nobody said so.", vec![]),
        ];
        let expected = expected.map(|(text, ids)| (text.to_owned(), ids.into_iter().map(SourceId).collect::<Vec<_>>()));
        assert_eq!(read, expected);
    }

    #[test]
    fn a_line_of_many_sources_keeps_the_first_ones() {
        let ids: String = (1..=900).map(|id| format!("[S{id}]")).collect();
        let read = read(&format!("- It was founded. By many. {ids}"), 0);
        assert_eq!(read.iter().map(|statement| statement.sources.len()).collect::<Vec<_>>(), [MOST_SOURCES; 2]);
    }

    #[test]
    fn a_statement_is_written_as_it_is_read() {
        let statement = Statement {
            text: "It is so.".into(),
            sources: vec![SourceId(1001), SourceId(2003)],
            group: "T".into(),
            ..Statement::default()
        };
        assert_eq!(statement.cited(), "It is so. [S1001][S2003]");
        assert_eq!(read(&format!("# T\n- {}", statement.cited()), 0), [statement]);
    }

    #[test]
    fn repeated_statements_differ_from_contradicting_ones() {
        let print = Fingerprint::of;
        let one = "Skua is expected to supply 4,350 MWh, as much as 1,310 households use.";
        let other = "Skua is expected to supply 4,350 MWh, as much as 1,130 households use.";
        assert!(print(one).repeats(&print("Skua is expected to supply 4,350 MWh, as much as 1,310 households use")));
        assert!(!print(one).repeats(&print(other)));
        assert!(print(one).contradicts(&print(other)));
        let row = |name: &str, price: &str| print(&format!("{name} rate, per kWh – Members: {price} cents"));
        assert!(row("Day", "18.9").contradicts(&row("Day", "21.4")));
        assert!(!row("Day", "18.9").contradicts(&row("Night", "16.2")));
        let differ = |one: &str, other: &str| print(one).contradicts(&print(other));
        assert!(differ("The repair of Petrel cost 412,000 crowns.", "The repair of Petrel cost 421,000 crowns."));
        let rate = |percent: &str| format!("Unemployment in the region of Skelderwick was {percent} percent in 2030.");
        assert!(differ(&rate("4.2"), &rate("6.1")));
        assert!(!differ("Room 1 of the inn costs 5 crowns.", "Room 2 of the inn costs 6 crowns."));
        assert!(!differ("It cost 5 crowns.", "It cost 6 crowns."));
        assert!(!print(one).contradicts(&print("The mill was built in 1764 by a shipwright.")));
        let valve =
            |code: &str| format!("The valve {code} is drained into the closed system and purged with nitrogen.");
        assert!(!differ(&valve("V-436"), &valve("V-489")), "a code is no figure");
    }

    #[test]
    fn years_of_titles_tell_statements_apart() {
        let row = |euros: u8| format!("Adults – Seat (EUR): {euros}; Terrace (EUR): 9");
        let check = |one: (&str, &str), other: (&str, &str), expected: usize| {
            assert_eq!(differing(&[one, other]).len(), expected, "{one:?} {other:?}");
        };
        let (dear, cheap) = (row(16), row(14));
        check(("Prices, season 2041/42", &dear), ("Prices, season 2040/41", &cheap), 0);
        check(("Prices, season 2041/42", &dear), ("Prices", &cheap), 1);
        let rate = |percent: &str| format!("Unemployment in the region of Skelderwick was {percent} percent in 2030.");
        check(("Report 2030", &rate("4.2")), ("Report 2031", &rate("6.1")), 1);
        check(
            ("A", "Harbour office of Skelderwick, 9 May 2037"),
            ("B", "Harbour office of Skelderwick, 10 May 2037"),
            0,
        );
    }
}
