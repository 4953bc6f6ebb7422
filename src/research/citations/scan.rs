//! Cuts a line of streamed text into segments that can be judged on their own.
//!
//! A segment is a word with the white space before it, or as many words as an open bracket, code span, tag or formula
//! holds together. Where segments end is decided character by character from the text alone, so it never matters in
//! which pieces the text arrived.

use super::{address::ends_address, raised};

/// A bracket, code span or tag that is still open after so many bytes is ordinary text.
const HELD_BYTES: usize = 2_048;
/// A formula (`$…$`) is shorter than this.
pub(super) const FORMULA_BYTES: usize = 256;
/// Numbers between `<sup>` and `</sup>` take less.
pub(super) const RAISED_BYTES: usize = 64;
/// A citation between parentheses is shorter than this.
pub(super) const LONGEST_CITATION: usize = 160;
/// Scripts without spaces are cut after so many bytes.
const UNSPACED_BYTES: usize = 64;

/// Brackets in which models cite, opened and closed.
pub(super) const OPENING: [char; 5] = ['[', '【', '［', '〔', '⟦'];
pub(super) const CLOSING: [char; 5] = [']', '】', '］', '〕', '⟧'];
/// Parentheses in which models cite, opened and closed.
pub(super) const PARENTHESES: [(char, char); 2] = [('(', ')'), ('（', '）')];

/// Collects the segment that is being read.
#[derive(Debug, Default)]
pub(super) struct Segmenter {
    text: String,
    /// Open brackets of any of these kinds.
    brackets: usize,
    /// Open parentheses of a link's target.
    parens: usize,
    /// A bracket has just been closed, so a target may follow.
    closed: bool,
    /// Backticks that opened a code span.
    span: usize,
    /// Backticks of the run that is being read.
    ticks: usize,
    /// A `<` that may begin a tag.
    angle: bool,
    /// Bytes left for the formula that a `$` opened.
    formula: usize,
    /// Bytes left for what a `<sup>` opened.
    raised: usize,
    /// Bytes left for a citation between parentheses.
    cited: usize,
    /// An address has begun, and no character has ended it.
    address: bool,
    previous: Option<char>,
}

impl Segmenter {
    /// Adds a character; returns the segment that it completes. `spans` tells whether code spans are recognised.
    pub(super) fn push(&mut self, character: char, spans: bool) -> Option<String> {
        self.end_run(character, spans);
        let full = self.ends_before(character);
        let segment = if full { self.take() } else { None };
        self.follow(character);
        self.text.push(character);
        self.previous = Some(character);
        segment
    }

    /// Returns what is left; the line ends here.
    pub(super) fn take(&mut self) -> Option<String> {
        let text = std::mem::take(self).text;
        (!text.is_empty()).then_some(text)
    }

    /// Ends a run of backticks, which opens a span, or closes the open one when it is as long.
    fn end_run(&mut self, character: char, spans: bool) {
        if character == '`' || self.ticks == 0 {
            return;
        }
        let run = std::mem::take(&mut self.ticks);
        if self.span == run {
            self.span = 0;
        } else if self.span == 0 && spans {
            self.span = run;
        }
    }

    fn ends_before(&self, character: char) -> bool {
        if self.text.len() >= HELD_BYTES {
            return true;
        }
        let target = self.closed && character == '(';
        let open = self.span > 0 || self.ticks > 0 || self.brackets > 0 || self.parens > 0 || target;
        if open || self.angle || self.formula > 0 || self.raised > 0 || self.cited > 0 {
            return false;
        }
        let is_word = || self.text.contains(|c: char| !c.is_whitespace());
        let unspaced =
            self.text.len() > UNSPACED_BYTES && !self.address && self.previous.is_some_and(|c| c >= '\u{2E80}');
        let at_space = character.is_whitespace() && !self.previous.is_some_and(char::is_whitespace);
        // What stands behind a raised number says whether it is a power.
        let is_raised = || self.text.ends_with(raised::SUPERSCRIPTS) || self.text.ends_with("</sup>");
        unspaced || (at_space && is_word() && !is_raised() && !announces_paper(self.text.trim_start()))
    }

    fn follow(&mut self, character: char) {
        let closed = std::mem::take(&mut self.closed);
        self.formula = self.formula.saturating_sub(character.len_utf8());
        self.raised = self.raised.saturating_sub(character.len_utf8());
        self.cited = self.cited.saturating_sub(character.len_utf8());
        let begins =
            (character == '/' && self.text.ends_with(":/")) || (character == '.' && self.text.ends_with("www"));
        self.address = begins || (self.address && !ends_address(character));
        if character == '`' {
            self.ticks += 1;
            return;
        }
        if self.span > 0 {
            return;
        }
        if self.previous == Some('<') {
            self.angle = character.is_alphanumeric() || matches!(character, '/' | '!' | '?');
        }
        if self.previous == Some('\\') && matches!(character, '(' | ')') {
            self.formula = if character == '(' { FORMULA_BYTES } else { 0 };
            return;
        }
        match character {
            '(' if closed || self.parens > 0 => self.parens += 1,
            '(' | '（' => self.cited = LONGEST_CITATION,
            ')' => {
                self.parens = self.parens.saturating_sub(1);
                self.cited = 0;
            }
            '）' => self.cited = 0,
            open if self.parens == 0 && OPENING.contains(&open) => self.brackets += 1,
            close if self.brackets > 0 && CLOSING.contains(&close) => {
                self.brackets -= 1;
                self.closed = self.brackets == 0;
            }
            close if CLOSING.contains(&close) => self.closed = true,
            '>' => {
                self.angle = false;
                self.raised = if self.text.ends_with("<sup") { RAISED_BYTES } else { 0 };
            }
            '<' => self.angle = true,
            // `$$` opens and closes as one.
            '$' if self.previous == Some('$') => {}
            '$' if self.formula > 0 => self.formula = 0,
            '$' => self.formula = FORMULA_BYTES,
            _ => {}
        }
    }
}

/// Returns whether the word is one behind which the number of a paper stands.
fn announces_paper(word: &str) -> bool {
    const WORDS: [&str; 6] = ["doi", "doi:", "arXiv", "arXiv:", "arXiv preprint", "arXiv preprint:"];
    WORDS.iter().any(|announcing| announcing.eq_ignore_ascii_case(word))
}
