//! Statements that stand in a source as whole sentences, word by word.
//!
//! A part of a sentence is none, since the rest may deny it (`It is not so that …`), and neither is a sentence within
//! a quotation, a question, or one of few words, which says too little alone. What stands around a sentence and
//! denies it is not seen.

use super::keys::{WordKey, key};
use crate::text::{self, Sentence, word_count};

/// Words of the shortest sentence that says something alone.
const SHORTEST: usize = 5;
/// Marks of quotations, at their begin or end.
const QUOTES: &[char] = &['"', '“', '”', '„', '«', '»', '「', '」', '『', '』'];

/// The whole sentences of a text that it says itself, in the order of their keys.
#[derive(Debug, Default)]
pub struct Verbatim(Vec<WordKey>);

impl Verbatim {
    pub fn of(text: &str) -> Self {
        let sentences = text::split(text);
        let paragraphs = sentences.chunk_by(|one, other| one.paragraph == other.paragraph);
        let said = paragraphs.flat_map(said).filter_map(|sentence| spelling(&sentence.text));
        let mut said: Vec<WordKey> = said.collect();
        said.sort_unstable();
        Self(said)
    }

    /// Returns whether a statement is one of the sentences.
    pub fn has(&self, statement: &str) -> bool {
        spelling(&text::plain(statement)).is_some_and(|spelling| self.0.binary_search(&spelling).is_ok())
    }
}

/// Returns the sentences of a paragraph that begin and end outside of quotations, be they between marks or blocks.
fn said(paragraph: &[Sentence]) -> impl Iterator<Item = &Sentence> {
    let mut is_quoted = false;
    paragraph.iter().filter(move |sentence| {
        let was_quoted = is_quoted;
        is_quoted ^= sentence.text.matches(QUOTES).count() % 2 == 1;
        !was_quoted && !is_quoted && !sentence.quoted
    })
}

/// Returns what a sentence is known by, its full stop and Markdown apart; `None` of a question and of few words.
fn spelling(sentence: &str) -> Option<WordKey> {
    let sentence = sentence.trim_end_matches(['.', '。', ' ']);
    let is_long = word_count(sentence) >= SHORTEST;
    let letters = sentence.chars().filter(|char| !"*_`\\|".contains(*char) && !char.is_whitespace());
    (is_long && !sentence.ends_with(['?', '？'])).then(|| key(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_sentences_stand_verbatim() {
        let page = "# Gate\n\nShort. The **gate** of the harbour is very old. It is not so that gulls nest on the roof.\n\
            - Boats are repaired in the yard\n\nHe said: “The bridge is closed. The bridge will never open again. So it \
            is.” Will the harbour be sold to anybody? The mill\nwas built by masons of Holt. 水闸由渔民合作社建造。\n\nClaim:\n> Vaccines cause the illness in most \
            of the children.\n\nVerdict: false.";
        let page = Verbatim::of(page);
        for whole in [
            "The gate of the harbour is very old",
            "The gate of the harbour is very old.",
            "Boats are repaired in the yard.",
            "水闸由渔民合作社建造",
        ] {
            assert!(page.has(whole), "{whole}");
        }
        for other in [
            "the gate of the harbour is very old and rusty",
            "gulls nest on the roof",
            "The gulls nest on the roof",
            "The bridge will never open again.",
            "Will the harbour be sold to anybody?",
            "Will the harbour be sold to anybody",
            "So it is",
            "Vaccines cause the illness in most of the children.",
            "Short",
        ] {
            assert!(!page.has(other), "{other}");
        }
    }
}
