//! Takes thinking text out of an answer while it streams in.
//!
//! Models without a reasoning parser in front of them write `<think>…</think>` into their content. A tag counts only
//! before the first word of the answer, because a report *about* reasoning models may well show one, without its end.

/// Opening tags and what closes them: Qwen, DeepSeek and most others; some fine-tunes; Magistral; gpt-oss, whose answer
/// itself has a mark that nothing closes. None is the beginning of another.
const TAGS: [(&str, &str); 9] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>commentary<|message|>", "<|end|>"),
    ("<|channel|>final<|message|>", ""),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>commentary<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>final<|message|>", ""),
];

/// Passes text through without thinking blocks and without white space around the whole.
///
/// The pieces that [`push`](Self::push) returns, put together, are the same however the input was cut. Each character
/// is looked at once, so that a text of any shape takes time in proportion to its length.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// What closes the block we are in, and the end of what was skipped of it, as long as it may be part of that.
    block: Option<(&'static str, String)>,
    /// White space that may turn out to be the end.
    space: String,
    /// What may turn out to be an opening tag.
    tag: String,
    /// Whether any text has been passed, and no line begun since.
    mid_line: bool,
    /// Whether any text has been passed.
    passed: bool,
}

impl Filter {
    /// Adds to `out` the text that is certain after `piece` has arrived; often none.
    pub(super) fn push(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            rest = if self.block.is_some() { self.skip(rest) } else { self.read(rest, out) };
        }
    }

    /// Adds the rest of the text, after the last piece. A block that is still open is dropped.
    pub(super) fn finish(&mut self, out: &mut String) {
        if self.block.take().is_none() && !self.tag.is_empty() {
            let tag = std::mem::take(&mut self.tag);
            self.pass(&tag, out);
        }
        self.space.clear();
    }

    /// Passes text on, up to the end or to where a block begins; returns what follows.
    fn read<'a>(&mut self, text: &'a str, out: &mut String) -> &'a str {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            if self.mid_line && character != '\n' {
                rest = self.read_line(rest, out);
                continue;
            }
            let next = &rest[character.len_utf8()..];
            if !self.passed && self.may_open(character) {
                self.tag.push(character);
                rest = next;
                if let Some((_, closing)) = TAGS.iter().find(|(opening, _)| *opening == self.tag) {
                    self.tag.clear();
                    self.block = (!closing.is_empty()).then(|| (*closing, String::new()));
                    return rest;
                }
                continue;
            }
            if !self.tag.is_empty() {
                let tag = std::mem::take(&mut self.tag);
                self.pass(&tag, out);
            } else if character.is_whitespace() {
                self.space.push(character);
                self.mid_line = false;
                rest = next;
            } else {
                self.mid_line = true;
            }
        }
        ""
    }

    /// Passes the rest of a line on, in which nothing opens; returns what follows.
    fn read_line<'a>(&mut self, text: &'a str, out: &mut String) -> &'a str {
        let (line, rest) = text.split_at(memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len()));
        let (passed, space) = line.split_at(line.trim_end().len());
        if !passed.is_empty() {
            self.pass(passed, out);
        }
        self.space.push_str(space);
        rest
    }

    /// Returns whether `character` begins an opening tag, or goes on with one.
    fn may_open(&self, character: char) -> bool {
        if self.tag.is_empty() {
            return TAGS.iter().any(|(opening, _)| opening.starts_with(character));
        }
        let goes_on =
            |opening: &str| opening.strip_prefix(self.tag.as_str()).is_some_and(|rest| rest.starts_with(character));
        TAGS.iter().any(|(opening, _)| goes_on(opening))
    }

    /// Drops text up to the end of the block; returns what follows.
    fn skip<'a>(&mut self, text: &'a str) -> &'a str {
        let Some((closing, tail)) = &mut self.block else { return text };
        // A closing tag that was cut: its beginning is in the tail, and its end among the first bytes of the text.
        let before = tail.len();
        let head = text.char_indices().map(|(at, _)| at).find(|at| *at >= closing.len()).unwrap_or(text.len());
        tail.push_str(&text[..head]);
        if let Some(at) = tail.find(*closing) {
            let end = at + closing.len() - before;
            self.block = None;
            return &text[end..];
        }
        if let Some(at) = text.find(*closing) {
            let end = at + closing.len();
            self.block = None;
            return &text[end..];
        }
        if head < text.len() {
            tail.clear();
            tail.push_str(&text[floor(text, text.len() - (closing.len() - 1))..]);
        } else {
            let keep = floor(tail, tail.len().saturating_sub(closing.len() - 1));
            tail.drain(..keep);
        }
        ""
    }

    /// Passes text that does not end with white space, with what white space was held before it.
    fn pass(&mut self, text: &str, out: &mut String) {
        if self.passed {
            out.push_str(&self.space);
        }
        self.space.clear();
        self.passed = true;
        self.mid_line = true;
        out.push_str(text);
    }
}

/// Returns the boundary of a character at `at` or right before it.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns `text` after a closing tag that nothing opened: some chat templates put the opening one into the prompt, and
/// some servers take out the marks of gpt-oss and leave the names between them (`analysisWe need …assistantfinalYes.`).
///
/// Only for whole answers: of a stream the text before it has been passed on already, so who shows one as it comes has
/// to begin again.
pub(super) fn after_unopened(text: &str) -> &str {
    after_names(text).unwrap_or_else(|| {
        TAGS.iter()
            .filter(|(opening, _)| !opening.starts_with("<|") && !text.contains(opening))
            .find_map(|(_, closing)| text.split_once(closing))
            // A text with a title is no thought: it may well be about such tags.
            .filter(|(thought, rest)| {
                !thought.trim_start().starts_with('#') && (rest.is_empty() || rest.starts_with('\n'))
            })
            .map_or(text, |(_, rest)| rest)
    })
}

/// Returns what gpt-oss answers, where of the marks around its thinking only the names are left.
fn after_names(text: &str) -> Option<&str> {
    let thought =
        text.trim_start().strip_prefix("analysis").filter(|thought| thought.starts_with(char::is_uppercase))?;
    thought.split_once("assistantfinal").map(|(_, answer)| answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;
    use proptest::prelude::*;

    fn filtered<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = Filter::default();
        let mut out = String::new();
        pieces.into_iter().for_each(|piece| filter.push(piece, &mut out));
        filter.finish(&mut out);
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
        check("one\n<think>x</think>\ntwo", "one\n<think>x</think>\ntwo");
        check("<think>never closed", "");
        check("text\n<thinking>never closed", "text\n<thinking>never closed");
        check("# Tags\n\n<think>\nIt opens.\n\n## Next", "# Tags\n\n<think>\nIt opens.\n\n## Next");
        check("<think></think>", "");
        check("<think>ä€</think>ö", "ö");
        check("[THINK]x[/THINK]y", "y");
        check("the `<think>` tag of DeepSeek", "the `<think>` tag of DeepSeek");
        check("a <b> c\n<table>", "a <b> c\n<table>");
        check("<thin", "<thin");
        check("<think>a</think>b<think>c", "b<think>c");
        check("\n\n<think>x</think><think>y</think>\n[THINK]z[/THINK]\nb", "b");
        check("<think>a</thin</think>b", "b");
        check(" \n<think>a</think> b", "b");
        check("<THINK>a", "<THINK>a");
        check("<thin <think>a", "<thin <think>a");
        check("<thin\n<think>a", "<thin\n<think>a");
        check("<think>> <think></think>\nK</think>", "K</think>");
        check("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "b");
        check("<|channel|>final<|message|># b\n\nc", "# b\n\nc");
        check("A `<|channel|>final<|message|>` mark", "A `<|channel|>final<|message|>` mark");
    }

    #[test]
    fn an_unopened_block_is_cut_from_whole_answers() {
        assert_eq!(after_unopened("Okay, so …\n</think>\n\nYes."), "\n\nYes.");
        assert_eq!(after_unopened("The `</think>` tag"), "The `</think>` tag");
        let report = "# Tags\n\nThe answer stands behind it:\n\n</think>\nYes.";
        assert_eq!(after_unopened(report), report);
        assert_eq!(after_unopened("<think>a</think>\nb"), "<think>a</think>\nb");
        assert_eq!(after_unopened("analysisWe need a port.assistantfinal# Port"), "# Port");
        assert_eq!(after_unopened("analysis of assistantfinal"), "analysis of assistantfinal");
        assert_eq!(after_unopened("a<|end|>\nb"), "a<|end|>\nb");
    }

    /// Each shape, whole and in small pieces, n and 8n of it: the time grows as the text does.
    #[test]
    fn time_grows_as_the_text_does() {
        for shape in [
            "<",
            "<think>",
            "<think></think>\n",
            "<think>\n",
            " ",
            "\n",
            "[",
            "a\n",
            "</think>",
            "<thin\n",
            "<think> </thin",
            "<|start|>assistant<|channel|>final<|message|>",
            "analysisA assistant",
        ] {
            growth::check(shape, 24 * 1024, |text| drop(filtered([text])));
            growth::check(shape, 24 * 1024, |text| {
                let bytes: Vec<_> = text.split_inclusive(|_| true).collect();
                drop(filtered(bytes));
            });
            growth::check(shape, 24 * 1024, |text| _ = after_unopened(text).len());
        }
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(pieces in prop::collection::vec("[<>/thinkaö \n\\[\\]THINK]{0,6}|<think>|</think>", 0..12)) {
            let whole = pieces.concat();
            prop_assert_eq!(filtered(pieces.iter().map(String::as_str)), filtered([whole.as_str()]));
        }
    }
}
