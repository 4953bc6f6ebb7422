//! Takes thinking text out of an answer while it streams in.
//!
//! Models without a reasoning parser in front of them write `<think>…</think>` into their content. A tag counts only
//! at the start of a line, because a report *about* reasoning models may well mention one in a sentence.

/// Opening tags and what closes them: Qwen, DeepSeek and most others; some fine-tunes; Magistral.
const TAGS: [(&str, &str); 3] = [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]")];

/// Passes text through without thinking blocks and without white space around the whole.
///
/// The pieces that [`push`](Self::push) returns, put together, are the same however the input was cut.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// The block we are in.
    block: Option<Block>,
    /// Not yet decided: white space that may turn out to be the end, or the beginning of a tag.
    held: String,
    /// Has any text been passed?
    passed: bool,
    /// Does the next character begin a line?
    mid_line: bool,
}

/// An open block.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The tag that ends it.
    closing: &'static str,
    /// Bytes of white space held from before it. They stay: they may part two paragraphs.
    before: usize,
}

impl Filter {
    /// The text that is certain after `piece` has arrived; often empty.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut out = String::new();
        while self.step(&mut out) {}
        out
    }

    /// The rest of the text, after the last piece. A block that is still open is dropped.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let mut out = String::new();
        if self.block.is_none() {
            self.pass(held.trim_end(), &mut out);
        }
        out
    }

    /// Decides about the beginning of what is held; `false` when more must arrive first.
    fn step(&mut self, out: &mut String) -> bool {
        if let Some(block) = self.block {
            return self.skip(block);
        }
        let word = self.held.find(|c: char| !c.is_whitespace()).unwrap_or(self.held.len());
        let (space, rest) = self.held.split_at(word);
        if rest.is_empty() {
            return false;
        }
        let at_line_start = !self.mid_line || space.contains('\n');
        if at_line_start && let Some((opening, closing)) = TAGS.iter().find(|(opening, _)| rest.starts_with(opening)) {
            let after = word + opening.len();
            self.held.replace_range(word..after, "");
            self.block = Some(Block { closing, before: word });
            return true;
        }
        if at_line_start && TAGS.iter().any(|(opening, _)| opening.starts_with(rest)) {
            return false;
        }
        let line = rest.split('\n').next().unwrap_or_default();
        let end = word + line.trim_end().len();
        let text: String = self.held.drain(..end).collect();
        self.pass(&text, out);
        !self.held.is_empty()
    }

    fn skip(&mut self, Block { closing, before }: Block) -> bool {
        if let Some(at) = self.held[before..].find(closing) {
            self.held.replace_range(before..before + at + closing.len(), "");
            self.block = None;
            return true;
        }
        // The end may be the beginning of the closing tag.
        let mut keep = self.held.len().saturating_sub(closing.len()).max(before);
        while !self.held.is_char_boundary(keep) {
            keep += 1;
        }
        self.held.replace_range(before..keep, "");
        false
    }

    fn pass(&mut self, text: &str, out: &mut String) {
        let text = if self.passed { text } else { text.trim_start() };
        if text.is_empty() {
            return;
        }
        self.passed = true;
        self.mid_line = !text.ends_with('\n');
        out.push_str(text);
    }
}

/// `text` after a closing tag that nothing opened: some chat templates put the opening one into the prompt.
///
/// Only for whole answers; in a stream the text before it has been passed on already.
pub(super) fn after_unopened(text: &str) -> &str {
    TAGS.iter()
        .filter(|(opening, _)| !text.contains(opening))
        .find_map(|(_, closing)| text.split_once(closing))
        .filter(|(_, rest)| rest.is_empty() || rest.starts_with('\n'))
        .map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filtered<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = Filter::default();
        let mut out: String = pieces.into_iter().map(|piece| filter.push(piece)).collect();
        out.push_str(&filter.finish());
        out
    }

    #[test]
    fn thinking_is_taken_out() {
        fn check(text: &str, expected: &str) {
            assert_eq!(filtered([text]), expected, "{text:?}");
            let letters: Vec<_> = text.split_inclusive(|_| true).collect();
            assert_eq!(filtered(letters), expected, "{text:?} letter by letter");
        }
        check("plain", "plain");
        check("  plain \n", "plain");
        check("<think>a</think>b", "b");
        check("<think>\na\n\nb</think>\n\nc d\n\ne", "c d\n\ne");
        check("one\n<think>x</think>\ntwo", "one\n\ntwo");
        check("<think>never closed", "");
        check("text\n<thinking>never closed", "text");
        check("<think></think>", "");
        check("<think>ä€</think>ö", "ö");
        check("[THINK]x[/THINK]y", "y");
        check("the `<think>` tag of DeepSeek", "the `<think>` tag of DeepSeek");
        check("a <b> c\n<table>", "a <b> c\n<table>");
        check("<thin", "<thin");
        check("<think>a</think>b<think>c", "b<think>c");
        check("K\n<think>> <think></think></think>", "K\n</think>");
    }

    #[test]
    fn an_unopened_block_is_cut_from_whole_answers() {
        assert_eq!(after_unopened("Okay, so …\n</think>\n\nYes."), "\n\nYes.");
        assert_eq!(after_unopened("The `</think>` tag"), "The `</think>` tag");
        assert_eq!(after_unopened("<think>a</think>\nb"), "<think>a</think>\nb");
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(pieces in prop::collection::vec("[<>/thinkaö \n\\[\\]THINK]{0,6}|<think>|</think>", 0..12)) {
            let whole = pieces.concat();
            prop_assert_eq!(filtered(pieces.iter().map(String::as_str)), filtered([whole.as_str()]));
        }
    }
}
