//! Numbers that the text itself explains: `[1](https://…)`, and `[Title](https://…) [1]`, after which `[1]` alone means
//! the same page.

use std::collections::{BTreeMap, HashSet};

use super::{
    Catalogue,
    address::{address_length, is_address},
    numbers::Numbers,
    target::Target,
};

/// Bytes of a number with its brackets.
const LONGEST_NUMBER: usize = 12;
/// Bytes of an address and its title.
const LONGEST_TARGET: usize = 2_048;

/// The target of a number, and the line that names it.
type Place = (usize, Target);

/// The numbers of links.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By the number that is a link's text; `None` where links of one number lead to several places.
    called: BTreeMap<u32, Option<Place>>,
    /// By the number in brackets right behind a link, in order of first use.
    behind: Vec<(u32, Place)>,
    /// A number behind links to several places, or a place with several numbers.
    unclear: bool,
}

impl Links {
    /// Reads a line of text.
    pub(super) fn read(&mut self, at: usize, line: &str, catalogue: &Catalogue) {
        for (middle, _) in line.match_indices("](") {
            let rest = &line[middle + 2..];
            let rest = rest[..rest.floor_char_boundary(LONGEST_TARGET)].trim_start_matches('<');
            let length = address_length(rest);
            let target = match catalogue.by_target(&rest[..length]) {
                Some(index) => Target::Source(index),
                None if is_address(rest) => Target::Foreign,
                None => continue,
            };
            match (called(&line[..middle]), behind(&rest[length..])) {
                (Some(number), _) => self.add_called(number, (at, target)),
                (None, Some(number)) => self.add_behind(number, (at, target)),
                (None, None) => {}
            }
        }
    }

    fn add_called(&mut self, number: u32, place: Place) {
        let known = self.called.entry(number).or_insert(Some(place));
        if known.is_some_and(|(_, target)| target != place.1) {
            *known = None;
        }
    }

    fn add_behind(&mut self, number: u32, place: Place) {
        match self.behind.iter().find(|(known, (_, target))| *known == number || *target == place.1) {
            Some((known, (_, target))) => self.unclear |= *known != number || *target != place.1,
            None => self.behind.push((number, place)),
        }
    }

    /// Returns each number that leads to one place. Those behind links do if they count the links from 1.
    pub(super) fn places(self) -> Vec<(u32, Place)> {
        let counts = !self.unclear && (1..).zip(&self.behind).all(|(count, (number, _))| count == *number);
        let called: HashSet<u32> = self.called.keys().copied().collect();
        let behind = self.behind.into_iter().filter(|(number, _)| counts && !called.contains(number));
        let called = self.called.into_iter().filter_map(|(number, place)| Some((number, place?)));
        called.chain(behind).collect()
    }
}

/// Returns the number that is the text of the link whose text ends here.
fn called(before: &str) -> Option<u32> {
    let from = before.len().saturating_sub(LONGEST_NUMBER);
    let text = before[before.ceil_char_boundary(from)..].trim_end_matches([']', '\\']);
    single(&text[text.rfind('[')? + 1..])
}

/// Returns the number in brackets behind the address of a link: `) [1]`.
fn behind(rest: &str) -> Option<u32> {
    let (_, rest) = rest.split_once(')')?;
    let inner = rest.trim_start_matches([' ', ')', '*', '_']).strip_prefix('[')?;
    let (inside, rest) = inner.get(..inner.floor_char_boundary(LONGEST_NUMBER))?.split_once(']')?;
    single(inside).filter(|_| !rest.starts_with('('))
}

fn single(inside: &str) -> Option<u32> {
    match Numbers::read(inside)?.numbers[..] {
        [number] => Some(number),
        _ => None,
    }
}
