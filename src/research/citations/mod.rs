//! Citations are real because of this folder, not because of a prompt.
//!
//! The writer cites source ids (`[S1003]`). [`Resolver`] reads its text as it streams, turns ids of retrieved sources
//! into numbers in order of first use, and removes whatever else claims to be a citation: unknown ids, numbers the
//! model made up, links and addresses that this run did not retrieve, definitions of links, and a source list of the
//! model's own. What is not certainly a citation stays as it is. At the end it writes the list itself.
//!
//! A model that ignores ids and numbers its sources itself keeps its citations: when its text is there, `numbering.rs`
//! reads its own lists and footnotes (`entries.rs` a line of one), and the text is resolved once more with what they
//! say.
//!
//! Numbers in brackets alone are text as long as it is not known that the model cites by them (`by_number.rs`), since
//! intervals and paragraphs look the same; its own lists say so at the end, and links that it numbers (`links.rs`).
//!
//! `lines.rs` tells what kind of line a line is, `tables.rs` which lines are rows of tables, `scan.rs` cuts a line into
//! segments that can be judged on their own, `grammar.rs` and `marks.rs` read a segment, and `output.rs` writes what
//! came of it, so that no link can arise from the parts; `pinpoint.rs` knows places behind numbers, `parentheses.rs`
//! and `works.rs` authors and years, `anchors.rs` links within the report. None of them knows how the text was cut into
//! chunks, so that never changes the result. `proof.rs` reads the finished report once more, as a reader's program
//! will.

mod address;
mod anchors;
mod bibliography;
mod by_number;
mod catalogue;
mod entries;
mod grammar;
mod ids;
mod labels;
mod lines;
mod links;
mod lists;
mod marks;
mod numbering;
mod numbers;
mod output;
mod parentheses;
mod pinpoint;
mod proof;
mod raised;
mod scan;
mod tables;
mod target;
mod works;
mod wrapped;

use std::{collections::BTreeSet, sync::Arc};

use self::{
    catalogue::Catalogue,
    grammar::Before,
    lines::{Fence, Head, Inside, Lists},
    lists::{LIST_BYTES, SourceList},
    numbering::{Kind, Numbering},
    output::Output,
    scan::Segmenter,
    tables::Tables,
};
use super::source_list;
use crate::domain::{Source, printable, report::Citation, wording::Wording};

pub use ids::{bracketed_ids, cited_ids};
pub use proof::proof;

/// A line whose kind needs all of it is ordinary text beyond so many bytes.
const HELD_BYTES: usize = 2_048;
/// Characters of a line's text that are remembered to judge what follows.
const REMEMBERED: usize = 40;

/// Resolves the citations of one report as it streams.
#[derive(Debug)]
pub struct Resolver {
    catalogue: Arc<Catalogue>,
    /// What code adds is in this language; in that of the text where none is set.
    wording: Option<&'static Wording>,
    /// The model's own numbers and labels, once its whole text has been read.
    numbering: Arc<Numbering>,
    output: Output,
    /// The line being read, as long as its kind is not known.
    line: String,
    reading: Reading,
    segmenter: Segmenter,
    lists: Lists,
    tables: Tables,
    fence: Option<Fence>,
    /// The block of code in which the model has put its whole text, as if Markdown were asked for as code.
    wrapper: Wrapper,
    list: Option<SourceList>,
    /// Whether code spans are recognised. They are not behind a run of backticks that may find its partner on a later
    /// line.
    spans: bool,
    /// Whether the current line follows a blank one or code, so that an indented one is code.
    after_blank: bool,
    /// Whether the line stands in a formula of several lines.
    in_formula: bool,
    /// The model's text so far, what its lines are, and the numbers of its own that it cites.
    text: String,
    kinds: Vec<Kind>,
    numbers: BTreeSet<u32>,
    /// Whether the text cites by an id.
    by_id: bool,
    /// The retrieved source to which an `<a>` leads that is still open.
    anchor: Option<usize>,
    /// The line that is resolved, from 0.
    line_number: usize,
    /// The end of the line's text, for what is judged by what stands before it.
    before: String,
    dropped: u32,
    removed: u32,
}

/// Whether the text stands within a block of code that says that it is Markdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wrapper {
    /// Nothing but blank lines has been read.
    #[default]
    Possible,
    /// By a fence of so many backticks.
    Open(usize),
    None,
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
    /// Not at all: it belongs to a list of the model's own.
    Skipped,
}

impl Resolver {
    /// Returns a resolver for a report that may cite `sources`.
    pub fn new(sources: impl Into<Arc<[Source]>>) -> Self {
        Self::with(Arc::new(Catalogue::new(sources.into())), Arc::default())
    }

    /// Returns the same with the list of sources in a language of its own, whatever the text quotes.
    #[must_use]
    pub fn in_words_of(self, wording: Option<&'static Wording>) -> Self {
        Self { wording, ..self }
    }

    fn with(catalogue: Arc<Catalogue>, numbering: Arc<Numbering>) -> Self {
        Self {
            catalogue,
            wording: None,
            numbering,
            output: Output::default(),
            line: String::new(),
            reading: Reading::Head,
            segmenter: Segmenter::default(),
            lists: Lists::default(),
            tables: Tables::default(),
            fence: None,
            wrapper: Wrapper::default(),
            list: None,
            spans: true,
            after_blank: true,
            in_formula: false,
            text: String::new(),
            kinds: Vec::new(),
            numbers: BTreeSet::new(),
            by_id: false,
            anchor: None,
            line_number: 0,
            before: String::new(),
            dropped: 0,
            removed: 0,
        }
    }

    /// Takes more of the model's text; returns what is settled by it, which may be nothing.
    pub fn push(&mut self, text: &str) -> String {
        let text = printable(text);
        self.text.push_str(&text);
        for character in text.chars() {
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
        self.close_fence();
        let cited: Vec<_> = self.output.order().iter().map(|&index| &self.catalogue.sources[index]).collect();
        let wording = self.wording.unwrap_or_else(|| Wording::of(&self.text));
        let list = source_list::render(&cited, &self.catalogue.sources, wording);
        self.output.append_list(&list);
        self.output.take()
    }

    /// Ends code that the model has left open, so that what follows is none. In a quotation or a list it ends by
    /// itself.
    fn close_fence(&mut self) {
        if let Some(end) = self.fence.take().and_then(|fence| fence.end()) {
            self.output.end_code(&end);
        }
    }

    /// Returns the text once more, when the finished one shows that the model numbers its sources itself: resolved by
    /// its own lists, footnotes and definitions; or when all of it stands in a block of code. `None` when that changes
    /// nothing.
    pub fn renumbered(&self) -> Option<(Self, String)> {
        let Some(report) = wrapped::report(&self.text) else { return self.by_own_numbers() };
        let unwrapped = self.resolved_again(Numbering::default(), &report);
        Some(unwrapped.0.by_own_numbers().unwrap_or(unwrapped))
    }

    fn by_own_numbers(&self) -> Option<(Self, String)> {
        let read = Numbering::read(&self.text, &self.kinds, &self.numbers, &self.catalogue).with_bare(self.by_id);
        let numbering = match self.counted().max(read.unnumbered()) {
            _ if !read.is_empty() => read,
            // Nothing is cited, and the text counts as if something were.
            highest @ 1.. if self.cited() == 0 && !self.numbers.is_empty() => Numbering::of_nothing(read, highest),
            _ => return None,
        };
        Some(self.resolved_again(numbering, &self.text))
    }

    fn resolved_again(&self, numbering: Numbering, text: &str) -> (Self, String) {
        let mut again = Self::with(Arc::clone(&self.catalogue), Arc::new(numbering)).in_words_of(self.wording);
        let markdown = again.push(text) + &again.finish();
        (again, markdown)
    }

    /// Returns how far the numbers that the text cites count from 1.
    fn counted(&self) -> u32 {
        (1..)
            .zip(&self.numbers)
            .take_while(|(count, number)| count == *number)
            .map(|(count, _)| count)
            .last()
            .unwrap_or(0)
    }

    /// Returns every citation so far, in order of appearance.
    pub fn citations(&self) -> &[Citation] {
        self.output.citations()
    }

    /// Returns the number of sources cited so far.
    pub fn cited(&self) -> usize {
        self.output.order().len()
    }

    /// Returns the number of citations and links removed because nothing retrieved stands behind them.
    pub fn dropped(&self) -> u32 {
        self.dropped + self.output.parted()
    }

    /// Returns how much else was removed: lines of a source list or with the definition of a link, HTML tags.
    pub fn removed(&self) -> u32 {
        self.removed
    }

    fn take(&mut self, character: char) {
        if character == '\n' {
            return self.end_line("\n");
        }
        match self.reading {
            Reading::Segments => self.segment(character),
            Reading::Skipped => self.line.push(character),
            Reading::Whole => {
                self.line.push(character);
                // In code and under a heading like "Sources", each line is judged as a whole, however long.
                if self.line.len() > HELD_BYTES && self.fence.is_none() && self.list.is_none() {
                    self.read_segments();
                }
            }
            Reading::Head => {
                self.line.push(character);
                match self.head() {
                    Head::Undecided => {}
                    Head::Whole => self.reading = Reading::Whole,
                    Head::Ordinary => self.read_segments(),
                }
            }
        }
    }

    fn head(&mut self) -> Head {
        if self.numbering.is_gone(self.kinds.len()) {
            self.reading = Reading::Skipped;
            return Head::Undecided;
        }
        let is_code = || self.after_blank && self.lists.is_indented(&self.line);
        if self.fence.is_some() || self.list.is_some() || is_code() { Head::Whole } else { lines::head(&self.line) }
    }

    /// Reads the line segment by segment from here on.
    fn read_segments(&mut self) {
        let line = std::mem::take(&mut self.line);
        // A fence whose line is too long to be judged is shown as text, and must not be one.
        self.lists.follow(&line);
        self.feed(&line);
    }

    /// Reads text of a line segment by segment, and keeps CommonMark from seeing a fence where none was recognised.
    fn feed(&mut self, line: &str) {
        self.reading = Reading::Segments;
        self.tables.begin(line);
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
            in_formula: self.in_formula,
            in_row: self.tables.is_row(),
            line: self.line_number,
            anchor: self.anchor,
        };
        let parsed = grammar::parse(segment, &self.catalogue, &self.numbering, before);
        self.numbers.extend(parsed.numbers);
        self.by_id |= parsed.by_id;
        self.anchor = parsed.anchor;
        self.dropped += parsed.dropped;
        self.removed += parsed.removed;
        self.spans &= !parsed.odd_ticks;
        for piece in parsed.pieces {
            self.output.piece(piece, &self.catalogue);
        }
        self.tables.follow(segment);
        self.before.push_str(segment);
        if let Some((from, _)) = self.before.char_indices().rev().nth(REMEMBERED) {
            self.before.drain(..from);
        }
    }

    fn end_line(&mut self, end: &str) {
        self.line_number = self.kinds.len();
        if matches!(self.reading, Reading::Head | Reading::Whole) && self.is_wrapper() {
            self.line.clear();
            self.kinds.push(Kind::Text);
            self.line_number = self.kinds.len();
            self.reading = Reading::Head;
            return;
        }
        match self.reading {
            Reading::Segments => {
                self.begin();
                self.end_segments(end);
                self.kinds.push(Kind::Text);
            }
            Reading::Skipped => {
                let line = std::mem::take(&mut self.line);
                self.lists.follow(&line);
                self.removed += 1;
                self.kinds.push(Kind::Text);
            }
            Reading::Head | Reading::Whole => {
                let line = std::mem::take(&mut self.line);
                let kind = self.whole_line(&line, end);
                self.kinds.push(kind);
            }
        }
        self.line_number = self.kinds.len();
        self.reading = Reading::Head;
    }

    /// Notes that the text has begun.
    fn begin(&mut self) {
        if self.wrapper == Wrapper::Possible {
            self.wrapper = Wrapper::None;
        }
    }

    /// Returns whether the line is all there and begins or ends the block of code that the whole text stands in. It is
    /// taken away, so that the text is none.
    fn is_wrapper(&mut self) -> bool {
        let line = self.line.trim();
        match (self.wrapper, lines::opens_markdown(line)) {
            (Wrapper::Possible, Some(count)) => {
                self.wrapper = Wrapper::Open(count);
                true
            }
            (Wrapper::Open(count), _) if self.fence.is_none() && lines::closes_code(&self.line, count) => {
                self.end_list();
                self.wrapper = Wrapper::None;
                true
            }
            _ => {
                if !line.is_empty() {
                    self.begin();
                }
                false
            }
        }
    }

    fn end_segments(&mut self, end: &str) {
        if let Some(segment) = self.segmenter.take() {
            self.resolve(&segment);
        }
        if let Some(index) = self.anchor.take() {
            self.output.piece(grammar::Piece::Cite { indices: vec![index], spaced: true }, &self.catalogue);
        }
        self.in_formula &= !lines::ends_formula(&self.before);
        self.after_blank = false;
        self.tables.end_line();
        self.before.clear();
        self.output.newline(end);
    }

    /// Judges a line all of which is there.
    fn whole_line(&mut self, line: &str, end: &str) -> Kind {
        if self.list.is_some()
            && let Some(kind) = self.listed(line)
        {
            return kind;
        }
        if self.in_code(line, end) {
            return Kind::Code;
        }
        if line.trim().is_empty() {
            self.blank_line(line, end);
            return Kind::Text;
        }
        if let Some(heading) = lines::source_heading(line.trim()) {
            self.list = Some(SourceList::new(heading, self.held(line)));
            return Kind::Heading;
        }
        if lines::is_list_in_line(line) {
            let heading = lines::SourceHeading { level: 7, certain: true, plain: true };
            self.list = Some(SourceList::new(heading, self.held(line)));
            return Kind::Listed;
        }
        self.text_line(line, end)
    }

    /// Takes a line of the block of code that is open; false when there is none.
    fn in_code(&mut self, line: &str, end: &str) -> bool {
        let Some(fence) = self.fence else { return false };
        let inside = fence.judge(line);
        self.fence = (inside == Inside::Code).then_some(fence);
        let is_code = inside != Inside::Outside;
        if is_code {
            self.code_line(line, end);
        }
        is_code
    }

    /// Takes a line that was held back.
    fn text_or_blank(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.blank_line(line, "\n");
        } else {
            self.text_line(line, "\n");
        }
    }

    fn blank_line(&mut self, line: &str, end: &str) {
        self.spans = true;
        self.after_blank = true;
        self.in_formula = false;
        self.tables.end();
        self.output.blank_line(line, end);
    }

    fn code_line(&mut self, line: &str, end: &str) -> Kind {
        self.after_blank = true;
        self.tables.end();
        self.output.code_line(line, end);
        Kind::Code
    }

    /// Returns a line that is no heading over a source list.
    fn text_line(&mut self, line: &str, end: &str) -> Kind {
        if self.after_blank && self.lists.is_indented(line) {
            return self.code_line(line, end);
        }
        if let Some(fence) = self.lists.follow(line) {
            self.fence = Some(fence);
            return self.code_line(line, end);
        }
        if lines::definition(line).is_some() {
            self.removed += 1;
            return Kind::Text;
        }
        let opens = !self.in_formula && lines::opens_formula(line);
        self.in_formula |= opens;
        self.output.keep_footnote(lines::is_footnote(line));
        self.feed(line);
        self.end_segments(end);
        self.in_formula |= opens;
        self.after_blank = lines::heading(line.trim()).is_some();
        Kind::Text
    }

    fn held(&self, line: &str) -> lists::Line {
        let entry = entries::label(line);
        let number: Option<u32> = entry.label.as_ref().and_then(|label| label.name.parse().ok());
        let is_ordered = entry.label.is_some_and(|label| label.form == entries::Form::Ordered);
        let says = entries::said_by_number(line).is_some_and(|said| !self.catalogue.is_title(said));
        lists::Line {
            number: self.kinds.len(),
            text: line.to_owned(),
            states: says || self.catalogue.states(line),
            is_title: self.catalogue.is_title(entry.rest),
            has_id: self.catalogue.has_id(line),
            is_cited: number.is_some_and(|number| self.numbers.contains(&number)),
            ordered: number.filter(|_| is_ordered),
        }
    }

    /// Takes a line into the source list; `None` when the list has ended before it.
    fn listed(&mut self, line: &str) -> Option<Kind> {
        let held = self.held(line);
        let list = self.list.as_mut()?;
        let full = list.bytes() > LIST_BYTES;
        let in_code = list.push_code(&held);
        let is_fence = !in_code && lines::possible_fence(line).is_some();
        let ends = !in_code && list.ends_before(&held);
        // What a line says is no entry, even where it stays among some.
        let kind = if held.states { Kind::Text } else { Kind::Listed };
        if !ends && !is_fence && !full {
            list.push(held);
            return Some(kind);
        }
        let next = list.going_on(held);
        if self.end_list() && full && !ends && !is_fence {
            self.list = Some(next);
            return Some(kind);
        }
        None
    }

    /// Judges the source list: if most of its lines are references, these go with the heading; else all stays. True
    /// when they went.
    fn end_list(&mut self) -> bool {
        let Some(list) = self.list.take() else { return false };
        let judged = list.judged();
        let here = self.line_number;
        for line in judged.lines {
            self.line_number = line.number;
            if line.goes {
                self.removed += u32::from(line.is_reference);
            } else if !self.in_code(&line.text, "\n") {
                self.text_or_blank(&line.text);
            }
        }
        self.line_number = here;
        judged.goes
    }
}

#[cfg(test)]
mod everyday_reports;
#[cfg(test)]
mod foreign_reports;
#[cfg(test)]
mod hostile_reports;
#[cfg(test)]
mod lookalikes;
#[cfg(test)]
mod rarer_forms;
#[cfg(test)]
mod tests;
