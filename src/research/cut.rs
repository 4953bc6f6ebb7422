//! What to keep of a text that the output limit cut off, so that its continuation can be put behind it.

/// A word longer than this is no word, and kept.
const LONGEST_WORD: usize = 200;

/// `text` without its last word, which may be half of one, and with the white space before it: what comes next then
/// begins with a whole word. All of it when there is no such place.
///
/// Scripts without spaces end at any character; a citation (`[S10`) counts as a word.
pub fn whole_words(text: &str) -> &str {
    let mut end = text.len();
    for (count, (at, character)) in text.char_indices().rev().enumerate() {
        if character.is_whitespace() || is_unspaced(character) {
            return &text[..end];
        }
        if count == LONGEST_WORD {
            break;
        }
        end = at;
    }
    text
}

/// From the CJK radicals on, scripts write no spaces between words.
fn is_unspaced(character: char) -> bool {
    character >= '\u{2E80}'
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
}
