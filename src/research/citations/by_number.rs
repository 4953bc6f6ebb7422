//! Citations by numbers of the model's own in a segment: `[1]`, `[2, 3]`, `[1a]`, `[^1]`. A bracket with nothing but
//! numbers is a citation only where the model cites so; elsewhere it is text: an interval, an index, a paragraph.

use super::{
    grammar::{Piece, Reader, tail},
    numbering::{Bare, Target},
    numbers::{self, Numbers},
    pinpoint,
};

impl Reader<'_, '_> {
    /// The numbers in a bracket, if they may be a citation.
    pub(super) fn own_numbers(&self, at: usize, inside: &str, end: usize) -> Option<Numbers> {
        if at < self.formula {
            return None;
        }
        let placed = || pinpoint::numbers_with_places(inside);
        let mut read = Numbers::read(inside).or_else(placed)?;
        let here = tail(&self.text[..at]);
        let before = if here.trim().is_empty() { format!("{}{here}", self.before.text) } else { here.to_owned() };
        read.marked |= before.ends_with("<sup>");
        let highest = match self.numbering.highest() {
            0 => self.catalogue.sources.len(),
            highest => highest,
        };
        let is_data = !read.marked && numbers::is_data(&read, &before, &self.text[end..]);
        let cites =
            numbers::is_citation(&read, &before, highest) && (!is_data || self.all_known(&read.numbers).is_some());
        cites.then_some(read)
    }

    /// Puts the sources behind numbers of the model's own in their place; `None` when they have to stay.
    pub(super) fn numbered(&mut self, from: usize, at: usize, read: &Numbers, end: usize) -> Option<usize> {
        let starts_line = self.starts_line(from);
        if read.footnote && starts_line && self.text[end..].starts_with(':') {
            return None;
        }
        let targets = read.numbers.iter().map(|number| self.numbering.target(&number.to_string(), self.before.line));
        let targets: Vec<_> = targets.collect();
        if read.footnote && targets.contains(&Some(Target::Remark)) {
            return None;
        }
        // At the front of a line it may be the label of an entry.
        if !starts_line {
            self.parsed.numbers.extend(&read.numbers);
        }
        let cites = match self.numbering.bare {
            Bare::Text => false,
            Bare::Listed => targets.iter().all(|target| matches!(target, Some(Target::Source(_) | Target::Foreign))),
            Bare::Cites => true,
        };
        if !cites && !read.marked {
            return self.shown(at, end);
        }
        let mut indices = Vec::new();
        for target in &targets {
            if let Some(Target::Source(index)) = target
                && !indices.contains(index)
            {
                indices.push(*index);
            }
        }
        let known = targets.iter().filter(|target| matches!(target, Some(Target::Source(_)))).count();
        // Nothing known at all is one claim, however many numbers it has.
        self.parsed.dropped += if known == 0 { 1 } else { u32::try_from(targets.len() - known).unwrap_or(u32::MAX) };
        let spaced = self.is_space(from);
        Some(self.replace(from, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced })))
    }

    /// Leaves numbers as text: one in plain brackets, as we write citations, with a backslash, which says it is none.
    fn shown(&mut self, at: usize, end: usize) -> Option<usize> {
        let inside = self.text[at..end].strip_prefix('[')?.strip_suffix(']')?;
        let is_number = inside.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| self.replace(at, at + 1, [Piece::Text("\\[")]))
    }

    /// The sources of `[1a]`, when the model's own list has all of its numbers.
    pub(super) fn lettered(&self, from: usize, at: usize, inside: &str) -> Option<Vec<usize>> {
        if at < self.formula || self.numbering.named(inside, self.before.line).is_some() || self.starts_line(from) {
            return None;
        }
        let numbers = pinpoint::lettered(inside, &self.behind(at))?;
        self.all_known(&numbers)
    }

    /// `[^name]`: a citation when the footnote is nothing but a source.
    pub(super) fn footnote(&mut self, from: usize, name: &str, end: usize) -> Option<usize> {
        if self.text[end..].starts_with(':') && self.starts_line(from) {
            return None;
        }
        let spaced = self.is_space(from);
        let piece = match self.numbering.target(&name.trim().to_lowercase(), self.before.line)? {
            Target::Source(index) => Some(Piece::Cite { indices: vec![index], spaced }),
            Target::Foreign => None,
            Target::Remark => return None,
        };
        self.parsed.dropped += u32::from(piece.is_none());
        Some(self.replace(from, end, piece))
    }

    /// `(Source 1)`, `(Refs. 2, 3)`: a citation when the model's own list has all of the numbers.
    pub(super) fn worded_numbers(&mut self, at: usize, end: usize, to: usize) -> Option<usize> {
        let inside = &self.text[at + 1..end - 1];
        let word = &inside[..inside.find(|c: char| !c.is_alphabetic()).unwrap_or(inside.len())];
        let read = Numbers::read(inside).filter(|_| numbers::is_word_for_source(word))?;
        self.parsed.numbers.extend(&read.numbers);
        let targets = self.targets(&read.numbers)?;
        if targets.iter().all(|target| !matches!(target, Target::Source(_))) {
            return Some(self.remove(at, end, to));
        }
        Some(self.cite_targets(at, end, &targets))
    }

    /// Returns where numbers lead, when there are any and the model's own list has all of them.
    pub(super) fn targets(&self, numbers: &[u32]) -> Option<Vec<Target>> {
        let targets = numbers.iter().map(|number| self.numbering.target(&number.to_string(), self.before.line));
        targets.collect::<Option<Vec<_>>>().filter(|targets| !targets.is_empty())
    }

    /// Puts what was retrieved of `targets` in the place of the text between `at` and `end`.
    pub(super) fn cite_targets(&mut self, at: usize, end: usize, targets: &[Target]) -> usize {
        let known = |target: &Target| if let Target::Source(index) = target { Some(*index) } else { None };
        let indices: Vec<usize> = targets.iter().filter_map(known).collect();
        self.parsed.dropped += u32::try_from(targets.len() - indices.len()).unwrap_or(u32::MAX);
        self.replace(at, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced: false }))
    }

    /// Stand only markers of quotations, lists and tables before this place?
    pub(super) fn starts_line(&self, at: usize) -> bool {
        self.behind(at).chars().all(|c| c.is_whitespace() || ">-*+•|".contains(c))
    }

    /// The sources behind numbers, if there are any and all of them are known.
    pub(super) fn all_known(&self, numbers: &[u32]) -> Option<Vec<usize>> {
        if numbers.is_empty() {
            return None;
        }
        numbers.iter().map(|&number| self.numbering.source(number, self.before.line)).collect()
    }
}
