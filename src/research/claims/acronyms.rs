//! Whether a page spells an acronym out: whether words that follow each other in a sentence begin with its letters.

use super::{keys::SHORTEST, page::Page};
use crate::text;

/// Small words in a row that may be of a name: `President of the United States`.
const MOST_SMALL: usize = 2;
/// Behind a word, these end what may be a name.
const ENDS: [char; 9] = ['.', '!', '?', ';', ':', '|', '。', '！', '？'];
/// Stands among the letters where a name ends.
const END: char = '\n';

/// The first letters of the words of a text, in lower case.
#[derive(Debug, Default)]
pub struct Initials {
    /// Of all but small words.
    all: String,
    /// Of the longer ones, small words among them.
    long: String,
    /// Of words with a capital, and of the small ones among them.
    named: String,
    /// Small words since the last one with a capital.
    small: usize,
}

impl Initials {
    fn of(text: &str) -> Self {
        let is_mark = |char: char| !char.is_alphanumeric();
        let mut initials = Self { small: MOST_SMALL, ..Self::default() };
        let mut is_line_empty = false;
        for piece in text.split_inclusive(is_mark) {
            let word = piece.trim_end_matches(is_mark);
            if !word.is_empty() {
                initials.add(word);
            }
            // An empty line ends a paragraph; the full stop of `U.S.` ends nothing.
            let ends_paragraph = piece == "\n" && is_line_empty;
            if ends_paragraph || piece.ends_with(ENDS) && !is_abbreviated(piece) {
                initials.end();
            }
            is_line_empty = piece.ends_with('\n') || is_line_empty && piece.trim().is_empty();
        }
        initials
    }

    fn add(&mut self, word: &str) {
        let first = || word.chars().next().into_iter().flat_map(char::to_lowercase);
        let is_capitalised = word.starts_with(char::is_uppercase);
        self.long.extend(first().filter(|_| word.chars().nth(SHORTEST - 1).is_some()));
        if !is_capitalised && text::is_stop_word_of_any(word) {
            self.small += 1;
            let may_be_of_name = self.small <= MOST_SMALL;
            self.named.extend(first().filter(|_| may_be_of_name));
            self.named.extend((!may_be_of_name).then_some(END));
            return;
        }
        self.all.extend(first());
        self.named.extend(first().filter(|_| is_capitalised));
        self.named.extend((!is_capitalised).then_some(END));
        self.small = if is_capitalised { 0 } else { MOST_SMALL };
    }

    fn end(&mut self) {
        [&mut self.all, &mut self.long, &mut self.named].into_iter().for_each(|letters| letters.push(END));
        self.small = MOST_SMALL;
    }
}

/// Returns whether a piece is a letter and a full stop.
fn is_abbreviated(piece: &str) -> bool {
    let mut letters = piece.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.as_str() == "."
}

impl Page {
    /// Returns whether the first letters of words in a row make the acronym. Short words may be passed over.
    pub fn spells(&self, acronym: &str) -> bool {
        let Initials { all, long, named, .. } = self.initials.get_or_init(|| Initials::of(self.text()));
        let acronym = acronym.to_lowercase();
        [all, long, named].into_iter().any(|initials| initials.contains(&acronym))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acronym_is_spelled_within_a_sentence() {
        let check = |text: &str, acronym: &str, expected: bool| {
            assert_eq!(Page::read(text.into(), "").spells(acronym), expected, "{acronym}: {text}");
        };
        check("It is of the North Atlantic Treaty Organization.", "NATO", true);
        check("It is of the North Atlantic\nTreaty Organization.", "NATO", true);
        check("It is chronic obstructive pulmonary disease.", "COPD", true);
        check("The Department of Government Efficiency pays.", "DOGE", true);
        check("The President of the United States came.", "POTUS", true);
        check("The Organization of the Petroleum Exporting Countries met.", "OPEC", true);
        check("It grew before interest, taxes, depreciation and amortization.", "EBITDA", false);
        check("Earnings before interest, taxes, depreciation and amortization grew.", "EBITDA", true);
        check("The U.S. Geological Survey measures.", "USGS", true);
        check("The U.K. Health Security Agency warns.", "UKHSA", true);
        check("It is of the North Atlantic \nTreaty Organization.", "NATO", true);
        check("It is of the North (Atlantic)\nTreaty Organization.", "NATO", true);
        check("Harbours of the north\r\n \r\nAgain they organize", "NATO", false);
        check("The council made no attempt to obtain a permit.", "NATO", false);
        check("It came from the north. Again they organize.", "NATO", false);
        check("Harbours of the north\n\nAgain they organize", "NATO", false);
    }
}
