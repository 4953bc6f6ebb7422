//! Writes the resolved text, and sees to it that its parts never make a link together.
//!
//! Three things make a link in Markdown: `](`, a line that defines where `[label]` leads, and HTML. Here the first two
//! are parted wherever they would arise, whatever the grammar took the text for; `<` comes escaped already.

use std::collections::HashMap;

use super::{Catalogue, grammar::Piece};
use crate::domain::report::Citation;

/// Markers of quotations and list items at the front of one line; what follows is text. Readers' programs need time
/// that grows with the square of it.
const MARKERS: usize = 32;

/// The text so far, and what must be known of it.
#[derive(Debug)]
pub(super) struct Output {
    /// Written and not yet taken.
    text: String,
    /// Unicode scalar values written so far.
    written: usize,
    /// The last character, and the one before it.
    tail: [char; 2],
    /// Whether a backslash takes its meaning from the next character.
    escaping: bool,
    /// Whether the last character was escaped.
    escaped: bool,
    /// Only white space and markers of quotations and lists stand on the line.
    at_head: bool,
    markers: usize,
    /// A letter or a bar stands on the line, so that no block of HTML begins on it.
    inside_line: bool,
    label: Label,
    /// The line is the text of a footnote, whose colon stays.
    footnote: bool,
    /// Links taken apart.
    parted: u32,
    /// Indices of sources in order of first use: position plus one is the number.
    order: Vec<usize>,
    numbers: HashMap<usize, u32>,
    citations: Vec<Citation>,
    /// What the citations that end at `group_end`, one right after the other, cite.
    group: Vec<usize>,
    group_end: usize,
}

/// The bracket at the front of a paragraph, which with a colon behind it would define a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    None,
    Open,
    Closed,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            text: String::new(),
            written: 0,
            tail: ['\n', '\n'],
            escaping: false,
            escaped: false,
            at_head: true,
            markers: 0,
            inside_line: false,
            label: Label::None,
            footnote: false,
            parted: 0,
            order: Vec::new(),
            numbers: HashMap::new(),
            citations: Vec::new(),
            group: Vec::new(),
            group_end: usize::MAX,
        }
    }
}

impl Output {
    /// Returns what was written since the last time.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Returns the number of Unicode scalar values written so far.
    #[cfg(test)]
    pub(super) fn written(&self) -> usize {
        self.written
    }

    pub(super) fn citations(&self) -> &[Citation] {
        &self.citations
    }

    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(super) fn parted(&self) -> u32 {
        self.parted
    }

    pub(super) fn is_escaping(&self) -> bool {
        self.escaping
    }

    pub(super) fn is_inside_line(&self) -> bool {
        self.inside_line
    }

    /// Writes a piece of a line.
    pub(super) fn piece(&mut self, piece: Piece<'_>, catalogue: &Catalogue) {
        match piece {
            Piece::Text(text) => text.chars().for_each(|character| self.guarded(character)),
            Piece::Raw(text) => text.chars().for_each(|character| self.put(character)),
            Piece::Angle => "\\<".chars().for_each(|character| self.put(character)),
            Piece::Cite { indices, spaced } => self.cite(&indices, spaced, catalogue),
        }
    }

    /// Writes citations. Two ids may mean one page, so a source is cited once at a place; a space before nothing new
    /// goes too.
    fn cite(&mut self, indices: &[usize], spaced: bool, catalogue: &Catalogue) {
        if indices.iter().all(|&index| self.just_cited(index)) {
            return;
        }
        // An escaped bracket must not come of what stands before it.
        if spaced || self.escaping {
            self.put(' ');
        }
        for &index in indices.iter() {
            if !self.just_cited(index) {
                self.cite_one(index, catalogue);
            }
        }
    }

    fn just_cited(&self, index: usize) -> bool {
        self.written == self.group_end && self.group.contains(&index)
    }

    fn cite_one(&mut self, index: usize, catalogue: &Catalogue) {
        if self.written != self.group_end {
            self.group.clear();
        }
        self.group.push(index);
        let number = self.number(index);
        let start = self.written;
        format!("[{number}]").chars().for_each(|character| self.put(character));
        let source_id = catalogue.sources[index].id;
        self.citations.push(Citation::new(number, source_id, start, self.written));
        self.group_end = self.written;
    }

    fn number(&mut self, index: usize) -> u32 {
        let next = u32::try_from(self.order.len() + 1).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(index).or_insert(next);
        if number == next {
            self.order.push(index);
        }
        number
    }

    /// Writes a character of text, parted from the last one where both would make a link.
    fn guarded(&mut self, character: char) {
        let bracket = self.tail[1] == ']' && !self.escaped;
        match character {
            '(' if bracket => {
                self.parted += 1;
                self.put(' ');
            }
            ':' if bracket && self.label == Label::Closed && !self.footnote => self.put('\\'),
            '>' | '-' | '+' | '*' | '.' | ')' if self.at_head && self.is_marker(character) => {
                self.markers += 1;
                if self.markers > MARKERS {
                    self.put('\\');
                }
            }
            _ => {}
        }
        self.put(character);
    }

    fn is_marker(&self, character: char) -> bool {
        match character {
            '>' => true,
            '.' | ')' => self.tail[1].is_ascii_digit(),
            _ => self.tail[1].is_whitespace() || self.tail[1] == '>',
        }
    }

    fn put(&mut self, character: char) {
        self.label = match (character, self.label) {
            ('[', _) if !self.escaping && self.at_head => Label::Open,
            ('[', _) if !self.escaping => Label::None,
            (']', Label::Open) if !self.escaping => Label::Closed,
            (_, Label::Open) => Label::Open,
            _ => Label::None,
        };
        let is_head = character.is_whitespace() || character.is_ascii_digit() || ">-+*.)".contains(character);
        self.at_head &= is_head;
        self.inside_line |= character.is_alphabetic() || character == '|';
        self.escaped = self.escaping;
        self.escaping = character == '\\' && !self.escaping;
        self.tail = [self.tail[1], character];
        self.written += 1;
        self.text.push(character);
    }

    /// Ends a line of text.
    pub(super) fn newline(&mut self, end: &str) {
        end.chars().for_each(|character| self.put(character));
        self.at_head = true;
        self.markers = 0;
        self.inside_line = false;
        self.escaping = false;
        self.footnote = false;
    }

    /// Sets whether the next line is the text of a footnote.
    pub(super) fn keep_footnote(&mut self, footnote: bool) {
        self.footnote = footnote;
    }

    /// Writes a blank line, which ends every paragraph, and with it the label of a definition.
    pub(super) fn blank_line(&mut self, line: &str, end: &str) {
        line.chars().for_each(|character| self.put(character));
        self.newline(end);
        self.label = Label::None;
    }

    /// Writes a line of code as it is.
    pub(super) fn code_line(&mut self, line: &str, end: &str) {
        self.blank_line(line, end);
    }

    /// Writes the line that closes a block of code, on a line of its own.
    pub(super) fn end_code(&mut self, fence: &str) {
        if self.tail[1] != '\n' {
            self.newline("\n");
        }
        self.code_line(fence, "\n");
    }

    /// Writes the source list, a blank line before it.
    pub(super) fn append_list(&mut self, list: &str) {
        if list.is_empty() {
            return;
        }
        let gap = match self.tail {
            ['\n', '\n'] => "",
            [_, '\n'] => "\n",
            _ => "\n\n",
        };
        gap.chars().chain(list.chars()).for_each(|character| self.put(character));
    }
}
