//! What to keep of a text that the output limit cut off, so that its continuation can be put behind it.

/// A word longer than this is no word, and kept.
const LONGEST_WORD: usize = 200;

/// Returns `text` without its last word, which may be half of one, and with the white space before it: what comes
/// next then begins with a whole word. All of it when there is no such place.
///
/// Scripts without spaces end at any character; a citation (`[S10`) counts as a word.
pub fn whole_words(text: &str) -> &str {
    before_last_word(text).unwrap_or(text)
}

/// Cuts a text as [`whole_words`] does; `None` while the whole text may be one word.
fn before_last_word(text: &str) -> Option<&str> {
    let mut end = text.len();
    for (count, (at, character)) in text.char_indices().rev().enumerate() {
        if character.is_whitespace() || is_unspaced(character) {
            return Some(&text[..end]);
        }
        if count == LONGEST_WORD {
            return Some(text);
        }
        end = at;
    }
    None
}

/// Returns whether the character is of a script that writes no spaces between words; all are from the CJK radicals on.
fn is_unspaced(character: char) -> bool {
    character >= '\u{2E80}'
}

/// A text that comes in pieces, however it is cut: its last word is kept back until it is known whether it is whole.
#[derive(Debug, Default)]
pub struct OpenWord(String);

impl OpenWord {
    /// Takes the next piece; returns what is certain to be kept.
    pub fn push(&mut self, piece: &str) -> String {
        self.0.push_str(piece);
        let certain = before_last_word(&self.0).map_or(0, str::len);
        self.0.drain(..certain).collect()
    }

    /// Returns what is still to be kept of `text`, all of which has come; of one that `is_cut`, its [`whole_words`].
    pub fn end<'t>(&mut self, text: &'t str, is_cut: bool) -> &'t str {
        let certain = text.len() - std::mem::take(&mut self.0).len();
        let kept = if is_cut { whole_words(text).len() } else { text.len() };
        text.get(certain..kept).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_word_goes_and_its_space_stays() {
        fn check(text: &str, expected: &str) {
            assert_eq!(whole_words(text), expected);
        }
        check("The gate is pai", "The gate is ");
        check("A list:\n- one\n- tw", "A list:\n- one\n- ");
        check("Paid by dues [S10", "Paid by dues ");
        check("闸门由港口税支付", "闸门由港口税支付");
        check("闸门由港口税支付[S10", "闸门由港口税支付");
        check("Gate", "Gate");
        check("Ends in a line.\n", "Ends in a line.\n");
        check("", "");
        let endless = format!("See {}", "x".repeat(LONGEST_WORD + 1));
        check(&endless, &endless);
    }

    proptest::proptest! {
        /// A replay takes in one piece what came in many.
        #[test]
        fn what_is_kept_does_not_depend_on_the_pieces(
            words in proptest::collection::vec("[a-zä潮]{0,9}|\\[S[0-9]{1,5}\\]|[ \n]|x{190,210}", 0..12),
            size in 1_usize..30,
        ) {
            let text = words.concat();
            let chars: Vec<char> = text.chars().collect();
            for is_cut in [true, false] {
                let mut open = OpenWord::default();
                let mut kept: String =
                    chars.chunks(size).map(|piece| open.push(&piece.iter().collect::<String>())).collect();
                kept.push_str(open.end(&text, is_cut));
                proptest::prop_assert_eq!(&kept, if is_cut { whole_words(&text) } else { &text });
            }
        }
    }
}
