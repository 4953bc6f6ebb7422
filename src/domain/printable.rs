//! Text that is safe to print: what could steer a terminal, or show text in another order than it is read, is removed.
//!
//! Everything that is printed or logged as text passes [`printable`]; reports and titles are stored that way.

use std::borrow::Cow;

/// Returns `text` without control characters other than newline and tab, and without the characters that change the
/// direction of text. What parted two words or figures still does. Borrowed when there is none.
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.find(is_unprintable) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().filter(|&char| !turns_text(char)).filter_map(uncontrolled).collect()),
    }
}

/// Returns what stands for a character, if it is a control: a line end for what ends a line, a space for others. Two
/// figures that are read as one are another figure, so only what never parts anything is nothing.
pub fn uncontrolled(character: char) -> Option<char> {
    match character {
        '\n' | '\t' => Some(character),
        '\0' | '\u{8}' | '\u{7f}' => None,
        '\u{b}' | '\u{c}' | '\u{85}' => Some('\n'),
        // One before a line end would make two of one, so it is a space, as all others are.
        _ if character.is_control() => Some(' '),
        _ => Some(character),
    }
}

/// Makes one printable line of a text: as [`printable`], and every run of white space becomes one space, so no line can
/// be faked.
pub fn printable_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text has nothing that can be seen: nothing but white space, controls, and characters without ink.
pub fn shows_nothing(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character.is_control() || is_invisible(character))
}

/// Returns whether a character has no width or no ink (`Default_Ignorable_Code_Point` of Unicode, and the empty pattern
/// of Braille).
pub fn is_invisible(character: char) -> bool {
    turns_text(character)
        || matches!(character, '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the first `limit` characters, with an ellipsis in place of the last when there are more.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()),
    }
}

/// Makes a line of the log printable: as [`printable`], but its own colours stay, and no character becomes the end of a
/// line, by which a text could fake another one. What is logged has its escapes spelt out already.
pub fn printable_log(text: &str) -> Cow<'_, str> {
    let shown = |character: char| match character {
        '\u{1b}' | '\n' => Some(character),
        _ => uncontrolled(character).map(|shown| if shown == '\n' { ' ' } else { shown }),
    };
    match text.find(|character: char| character != '\u{1b}' && is_unprintable(character)) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().filter(|&char| !turns_text(char)).filter_map(shown).collect()),
    }
}

/// Writes as escapes what is no end of a line in JSON and in streams, and is one to some readers of lines.
pub fn without_line_ends(json: &str) -> Cow<'_, str> {
    escaped(json, ends_line)
}

/// Makes JSON printable: what [`printable`] would change is an escape, and so is what ends a line for some. The value
/// stays the same.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    escaped(json, |character| is_unprintable(character) || ends_line(character))
}

/// Writes as escapes the characters within the strings of a JSON text that are meant, none of which is beyond U+FFFF.
fn escaped(json: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !json.contains(&is_meant) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        match is_meant(character) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => text.push(character),
        }
    }
    Cow::Owned(text)
}

/// Returns whether a character ends a line for some readers, beside those that end one for all.
fn ends_line(character: char) -> bool {
    matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_unprintable(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\n' | '\t');
    is_control || turns_text(character)
}

/// Returns whether a character is one of the marks, embeddings, overrides and isolates of the bidirectional
/// algorithm.
fn turns_text(character: char) -> bool {
    matches!(character, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_or_turns_text_is_removed() {
        fn check(text: &str, expected: &str) {
            assert_eq!(printable(text), expected, "{text:?}");
        }
        check("plain\ttext\nüber 来源 👩‍🔬", "plain\ttext\nüber 来源 👩‍🔬");
        check("a\u{1b}[2Jb\u{1b}]0;title\u{7}", "a [2Jb ]0;title ");
        check("a\rb\u{8}\u{9b}31m\u{7f}\0", "a b 31m");
        check("12\u{b}34\u{85}56\u{1f}78\r\n", "12\n34\n56 78 \n");
        check("pay \u{202e}evil\u{202c} \u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}", "pay evil x");
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_log_keeps_its_colours() {
        assert_eq!(printable_log("\u{1b}[32mINFO\u{1b}[0m a\u{202e}b\u{9b}c\n"), "\u{1b}[32mINFO\u{1b}[0m ab c\n");
    }

    /// Two figures of which nothing parts the one from the other are another figure.
    #[test]
    fn the_log_parts_what_was_parted_on_one_line() {
        assert_eq!(printable_log("12\u{b}34\u{85}56\u{c}78\u{1f}9\r\n"), "12 34 56 78 9 \n");
    }

    #[test]
    fn printed_json_is_the_same_value() {
        let value = serde_json::json!({ "a": "1\u{85}2\u{2028}3\u{9b}4\u{7f}5\u{202e}6\n\t\u{1b}ü 🦀\\" });
        let json = format!("{value:#}");
        let printed = printable_json(&json);
        assert_eq!(printable(&printed), printed, "nothing is left to change");
        assert!(printed.contains(r"1\u00852\u20283\u009b4\u007f5\u202e6"), "{printed}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
        assert!(matches!(printable_json("{\n  \"a\": 1\n}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(printable_line(" a\r\n b\u{1b}[2J\u{202e}\tc\u{2028}d"), "a b [2J c d");
    }

    #[test]
    fn what_has_no_ink_shows_nothing() {
        for text in ["", " \n", "\u{7}\u{202e}", "\u{200b}\u{200b}", "\u{ad}\u{3164}\u{feff}", "\u{e0041}\u{2800}"] {
            assert!(shows_nothing(text), "{text:?}");
        }
        for text in ["a", "\u{200b}é", "👩\u{200d}🔬", ".", "来"] {
            assert!(!shows_nothing(text), "{text:?}");
        }
    }

    #[test]
    fn a_shortened_text_says_so() {
        assert_eq!((shortened("äöü", 3), shortened("äöüß", 3)), ("äöü".into(), "äö…".into()));
    }
}
