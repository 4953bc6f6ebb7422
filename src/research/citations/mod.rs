//! Citations are real because of this folder, not because of a prompt.
//!
//! The writer cites source ids (`[S1003]`). [`Resolver`] reads its text as it streams, turns ids of retrieved sources
//! into numbers in order of first use, and removes whatever else claims to be a citation: unknown ids, numbers the
//! model made up, links and addresses that this run did not retrieve, definitions of links, and a source list of the
//! model's own. What is not certainly a citation stays as it is. At the end it writes the list itself.
//!
//! `lines.rs` tells what kind of line a line is, `scan.rs` cuts a line into segments that can be judged on their own,
//! `grammar.rs` reads a segment, and `output.rs` writes what came of it, so that no link can arise from the parts. None
//! of them knows how the text was cut into chunks, so that never changes the result. `proof.rs` reads the finished
//! report once more, as a reader's program will.

mod address;
mod grammar;
mod ids;
mod lines;
mod output;
mod proof;
mod scan;

use std::collections::HashMap;

use self::{
    grammar::Before,
    lines::{Fence, Head, Inside, Lists},
    output::Output,
    scan::Segmenter,
};
use super::source_list;
use crate::domain::{Source, printable, report::Citation};

pub use ids::cited_ids;
pub use proof::{Proof, proof};

/// A line whose kind needs all of it is ordinary text beyond so many bytes.
const HELD_BYTES: usize = 2_048;
/// A source list of the model's own is judged when it has grown to so many bytes, at the latest.
const LIST_BYTES: usize = 64 * 1024;
/// Characters of a line's text that are remembered to judge what follows.
const REMEMBERED: usize = 40;

/// The sources that may be cited.
#[derive(Debug)]
struct Catalogue {
    sources: Vec<Source>,
    /// Index into `sources` by id and alias.
    by_id: HashMap<u32, usize>,
    by_url: HashMap<String, usize>,
}

impl Catalogue {
    fn new(sources: Vec<Source>) -> Self {
        let ids = |(index, source): (usize, &Source)| {
            let all = source.ids();
            all.map(move |id| (id.0, index)).collect::<Vec<_>>()
        };
        Self {
            by_id: sources.iter().enumerate().flat_map(ids).collect(),
            by_url: sources.iter().enumerate().map(|(index, source)| (address::normal(&source.url), index)).collect(),
            sources,
        }
    }

    fn by_url(&self, address: &str) -> Option<usize> {
        self.by_url.get(&address::normal(address)).copied()
    }

    /// The source that a link leads to: by address, or by id.
    fn by_target(&self, target: &str) -> Option<usize> {
        let by_id = || self.by_id.get(&target.strip_prefix(['S', 's'])?.parse().ok()?).copied();
        self.by_url(target).or_else(by_id)
    }
}

/// Resolves the citations of one report as it streams.
#[derive(Debug)]
pub struct Resolver {
    catalogue: Catalogue,
    output: Output,
    /// The line being read, as long as its kind is not known.
    line: String,
    reading: Reading,
    segmenter: Segmenter,
    lists: Lists,
    fence: Option<Fence>,
    list: Option<SourceList>,
    /// Are code spans recognised? Not behind a run of backticks that may find its partner on a later line.
    spans: bool,
    /// The end of the line's text, for what is judged by what stands before it.
    before: String,
    dropped: u32,
    removed: u32,
}

/// How the current line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Until its kind is known.
    Head,
    /// Until it ends.
    Whole,
    /// Segment by segment.
    Segments,
}

/// A source list of the model's own, as it may seem.
#[derive(Debug)]
struct SourceList {
    /// The level of its heading; 7 for a line that serves as one.
    level: usize,
    /// The heading and what stands under it.
    lines: Vec<String>,
    bytes: usize,
    references: usize,
    others: usize,
}

impl Resolver {
    /// A resolver for a report that may cite `sources`.
    pub fn new(sources: Vec<Source>) -> Self {
        Self {
            catalogue: Catalogue::new(sources),
            output: Output::default(),
            line: String::new(),
            reading: Reading::Head,
            segmenter: Segmenter::default(),
            lists: Lists::default(),
            fence: None,
            list: None,
            spans: true,
            before: String::new(),
            dropped: 0,
            removed: 0,
        }
    }

    /// Takes more of the model's text; returns what is settled by it, which may be nothing.
    pub fn push(&mut self, text: &str) -> String {
        for character in printable(text).chars() {
            self.take(character);
        }
        self.output.take()
    }

    /// Settles the rest and appends the source list.
    pub fn finish(&mut self) -> String {
        if self.reading != Reading::Head || !self.line.is_empty() {
            self.end_line("");
        }
        self.end_list();
        let cited: Vec<_> = self.output.order().iter().map(|&index| &self.catalogue.sources[index]).collect();
        let list = source_list::render(&cited, &self.catalogue.sources);
        self.output.append_list(&list);
        self.output.take()
    }

    /// Every citation so far, in order of appearance.
    pub fn citations(&self) -> &[Citation] {
        self.output.citations()
    }

    /// The source behind a number.
    pub fn source(&self, number: u32) -> Option<&Source> {
        let position = usize::try_from(number).ok()?.checked_sub(1)?;
        self.output.order().get(position).map(|&index| &self.catalogue.sources[index])
    }

    /// Sources cited so far.
    pub fn cited(&self) -> usize {
        self.output.order().len()
    }

    /// Citations and links removed because nothing retrieved stands behind them.
    pub fn dropped(&self) -> u32 {
        self.dropped + self.output.parted()
    }

    /// What else was removed: lines of a source list or with the definition of a link, HTML tags.
    pub fn removed(&self) -> u32 {
        self.removed
    }

    fn take(&mut self, character: char) {
        if character == '\n' {
            return self.end_line("\n");
        }
        match self.reading {
            Reading::Segments => self.segment(character),
            Reading::Whole => {
                self.line.push(character);
                // In code and under a heading like "Sources", each line is judged as a whole, however long.
                if self.line.len() > HELD_BYTES && self.fence.is_none() && self.list.is_none() {
                    self.read_segments();
                }
            }
            Reading::Head => {
                self.line.push(character);
                let head =
                    if self.fence.is_some() || self.list.is_some() { Head::Whole } else { lines::head(&self.line) };
                match head {
                    Head::Undecided => {}
                    Head::Whole => self.reading = Reading::Whole,
                    Head::Ordinary => self.read_segments(),
                }
            }
        }
    }

    /// From here on the line is read segment by segment.
    fn read_segments(&mut self) {
        let line = std::mem::take(&mut self.line);
        // A fence whose line is too long to be judged is shown as text, and must not be one.
        self.lists.follow(&line);
        self.feed(&line);
    }

    /// Reads text of a line segment by segment, and keeps CommonMark from seeing a fence where none was recognised.
    fn feed(&mut self, line: &str) {
        self.reading = Reading::Segments;
        let fence = lines::possible_fence(line);
        for (at, character) in line.char_indices() {
            if fence == Some(at) {
                self.segment('\\');
            }
            self.segment(character);
        }
    }

    fn segment(&mut self, character: char) {
        if let Some(segment) = self.segmenter.push(character, self.spans) {
            self.resolve(&segment);
        }
    }

    fn resolve(&mut self, segment: &str) {
        let before = Before {
            text: &self.before,
            escaped: self.output.is_escaping(),
            spans: self.spans,
            inside_line: self.output.is_inside_line(),
        };
        let parsed = grammar::parse(segment, &self.catalogue, before);
        self.dropped += parsed.dropped;
        self.removed += parsed.removed;
        self.spans &= !parsed.odd_ticks;
        for piece in parsed.pieces {
            self.output.piece(piece, &self.catalogue);
        }
        self.before.push_str(segment);
        if let Some((from, _)) = self.before.char_indices().rev().nth(REMEMBERED) {
            self.before.drain(..from);
        }
    }

    fn end_line(&mut self, end: &str) {
        if self.reading == Reading::Segments {
            self.end_segments(end);
        } else {
            let line = std::mem::take(&mut self.line);
            self.whole_line(&line, end);
        }
        self.reading = Reading::Head;
    }

    fn end_segments(&mut self, end: &str) {
        if let Some(segment) = self.segmenter.take() {
            self.resolve(&segment);
        }
        self.before.clear();
        self.output.newline(end);
    }

    /// Judges a line all of which is there.
    fn whole_line(&mut self, line: &str, end: &str) {
        if let Some(fence) = self.fence {
            match fence.judge(line) {
                Inside::Outside => self.fence = None,
                inside => {
                    self.fence = (inside == Inside::Code).then_some(fence);
                    self.output.code_line(line, end);
                    return;
                }
            }
        }
        if self.list.is_some() && self.listed(line) {
            return;
        }
        if line.trim().is_empty() {
            self.spans = true;
            self.output.blank_line(line, end);
            return;
        }
        if let Some(level) = lines::source_heading(line.trim()) {
            let lines = vec![line.to_owned()];
            self.list = Some(SourceList { level, lines, bytes: 0, references: 0, others: 0 });
            return;
        }
        self.text_line(line, end);
    }

    /// A line that is no heading over a source list.
    fn text_line(&mut self, line: &str, end: &str) {
        if let Some(fence) = self.lists.follow(line) {
            self.fence = Some(fence);
            self.output.code_line(line, end);
            return;
        }
        if lines::definition(line).is_some() {
            self.removed += 1;
            return;
        }
        self.feed(line);
        self.end_segments(end);
        self.reading = Reading::Head;
    }

    /// Takes a line into the source list; false when the list has ended before it.
    fn listed(&mut self, line: &str) -> bool {
        let Some(list) = &mut self.list else { return false };
        let trimmed = line.trim();
        let ends = match lines::heading(trimmed) {
            Some((level, _)) => level <= list.level && lines::source_heading(trimmed).is_none(),
            None => list.level > 6 && !lines::is_list_line(trimmed),
        };
        if ends || lines::possible_fence(line).is_some() || list.bytes > LIST_BYTES {
            let level = list.level;
            let goes_on = list.bytes > LIST_BYTES && self.end_list();
            if goes_on && !ends {
                let lines = vec![line.to_owned()];
                self.list = Some(SourceList { level, lines, bytes: 0, references: 1, others: 0 });
                return true;
            }
            self.end_list();
            return false;
        }
        match trimmed {
            "" => {}
            heading if lines::source_heading(heading).is_some() => {}
            reference if lines::is_reference(reference) => list.references += 1,
            _ => list.others += 1,
        }
        list.bytes += line.len();
        list.lines.push(line.to_owned());
        true
    }

    /// Judges the source list: if most of its lines are references, these go with the heading; else all stays. True
    /// when they went.
    fn end_list(&mut self) -> bool {
        let Some(list) = self.list.take() else { return false };
        let goes = list.references > list.others || list.others == 0;
        for line in list.lines {
            let trimmed = line.trim();
            let is_reference = trimmed.is_empty() || lines::source_heading(trimmed).is_some();
            if goes && (is_reference || lines::is_reference(trimmed)) {
                self.removed += u32::from(!is_reference);
            } else if trimmed.is_empty() {
                self.spans = true;
                self.output.blank_line(&line, "\n");
            } else {
                self.text_line(&line, "\n");
            }
        }
        goes
    }
}

#[cfg(test)]
mod tests;
