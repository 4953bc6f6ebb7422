//! Halves of surrogate pairs. JSON escapes a character beyond the basic plane as two (`\ud83d\ude00`), and servers cut
//! between them: each chunk then has an escape that stands for no character, and is no JSON to a strict reader.
//!
//! `mark` makes such a chunk readable by a stand-in for each half, `Joiner` puts halves together again, across chunks
//! too. What never finds its other half becomes U+FFFD.

use std::borrow::Cow;

/// The first of the stand-ins: the last 2,048 code points there are, which stand for nothing.
const FIRST: u32 = 0x10_F800;
/// How each of them begins in UTF-8.
const FIRST_BYTE: u8 = 0xF4;
const HALVES: u32 = 0x800;

/// The first half of the first stand-in, as UTF-16 writes it: such a pair is replaced half by half, so that a character
/// of a text is never taken for a stand-in.
const FIRST_HIGH: u16 = 0xDBFE;

/// Replaces each lone half in `json` by its stand-in; `None` when there is nothing to replace.
pub fn mark(json: &str) -> Option<String> {
    replaced(&escaped(json), FIRST_HIGH, |half, out| out.extend(char::from_u32(FIRST + u32::from(half) - 0xD800)))
}

/// Replaces each lone half in `json` by U+FFFD.
pub fn repair(json: &str) -> Cow<'_, str> {
    replaced(json, 0xDC00, |_, out| out.push('\u{FFFD}')).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Does the same in a body, if it is text.
pub fn repair_body(body: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&body).map(repair) {
        Ok(Cow::Owned(repaired)) => repaired.into_bytes(),
        _ => body,
    }
}

/// Writes the characters of `json` that are stand-ins as escapes.
fn escaped(json: &str) -> Cow<'_, str> {
    if !json.as_bytes().contains(&FIRST_BYTE) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match half(character) {
            Some(_) => out.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            None => out.push(character),
        }
    }
    Cow::Owned(out)
}

/// Replaces the halves that stand alone, and those of pairs whose first half is at least `pairs_until`.
fn replaced(json: &str, pairs_until: u16, mut replace: impl FnMut(u16, &mut String)) -> Option<String> {
    let mut out: Option<String> = None;
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = json[at..].find('\\') {
        let here = at + found;
        let half = escape(json, here).filter(|unit| (0xD800..0xE000).contains(unit));
        at = match half {
            None => here + 1 + json[here + 1..].chars().next().map_or(0, char::len_utf8),
            Some(high)
                if high < pairs_until && escape(json, here + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low)) =>
            {
                here + 12
            }
            Some(half) => {
                let out = out.get_or_insert_with(|| String::with_capacity(json.len()));
                out.push_str(&json[kept..here]);
                replace(half, out);
                kept = here + 6;
                kept
            }
        };
    }
    out.map(|out| out + &json[kept..])
}

/// Returns the code unit of the escape `\uXXXX` that begins at `at`.
fn escape(json: &str, at: usize) -> Option<u16> {
    let digits = json.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

/// Puts the halves of one text together.
#[derive(Debug, Default)]
pub struct Joiner {
    /// A first half that waits for its second.
    high: Option<u16>,
}

impl Joiner {
    /// Returns the characters that are certain after `piece`. `is_marked` says whether it came from a marked text:
    /// the stand-ins are characters that others may use.
    pub fn push<'a>(&mut self, piece: &'a str, is_marked: bool) -> Cow<'a, str> {
        if piece.is_empty() || (!is_marked && self.high.is_none()) {
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len() + 3);
        for character in piece.chars() {
            match (self.high.take(), half(character).filter(|_| is_marked)) {
                (None, Some(high)) if high < 0xDC00 => self.high = Some(high),
                (Some(high), Some(low)) if low >= 0xDC00 => out.extend(joined(high, low)),
                (before, Some(half)) => {
                    out.extend(before.map(|_| '\u{FFFD}'));
                    if half < 0xDC00 { self.high = Some(half) } else { out.push('\u{FFFD}') }
                }
                (before, None) => {
                    out.extend(before.map(|_| '\u{FFFD}'));
                    out.push(character);
                }
            }
        }
        Cow::Owned(out)
    }

    /// Returns what is left at the end.
    pub fn finish(&mut self) -> &'static str {
        if self.high.take().is_some() { "\u{FFFD}" } else { "" }
    }
}

/// Returns the half that a character stands in for.
fn half(character: char) -> Option<u16> {
    let place = u32::from(character).checked_sub(FIRST).filter(|place| *place < HALVES)?;
    u16::try_from(0xD800 + place).ok()
}

fn joined(high: u16, low: u16) -> Option<char> {
    char::decode_utf16([high, low]).next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the JSON strings of a text whose code units are cut into such pieces, as a server that escapes all
    /// sends them.
    fn pieces(units: &[u16], size: usize) -> Vec<String> {
        let piece =
            |units: &[u16]| format!("\"{}\"", units.iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>());
        units.chunks(size).map(piece).collect()
    }

    fn read(pieces: &[String]) -> String {
        let mut joiner = Joiner::default();
        let mut text = String::new();
        for piece in pieces {
            let marked = mark(piece);
            let value: String = serde_json::from_str(marked.as_deref().unwrap_or(piece)).unwrap();
            text.push_str(&joiner.push(&value, marked.is_some()));
        }
        text + joiner.finish()
    }

    #[test]
    fn halves_are_joined_and_lone_ones_replaced() {
        assert_eq!(read(&[r#""\ud83d""#.into(), r#""\ude00!""#.into()]), "😀!");
        assert_eq!(read(&[r#""a\ud83d""#.into(), r#""b""#.into()]), "a\u{FFFD}b");
        assert_eq!(read(&[r#""\ude00\ud83d""#.into()]), "\u{FFFD}\u{FFFD}");
        assert_eq!(read(&[r#""\ud83d\ud83d\ude00""#.into()]), "\u{FFFD}😀");
        assert_eq!(read(&[r#""\\ud83d \ud83d\ude00""#.into()]), "\\ud83d 😀");
        assert_eq!(read(&["\"\u{10F83D}\"".into()]), "\u{10F83D}");
        assert_eq!(read(&["\"\u{10F800}\\ud83d\"".into()]), "\u{10F800}\u{FFFD}");
        assert_eq!(read(&[r#""\udbfe\udc00\ud83d""#.into()]), "\u{10F800}\u{FFFD}");
        assert_eq!(repair(r#"{"a":"\ud83d"}"#), "{\"a\":\"\u{FFFD}\"}");
        assert_eq!(repair(r"\ud83d\ude00 \u00e4 \ud83"), r"\ud83d\ude00 \u00e4 \ud83");
        assert_eq!(repair("\\€\\"), "\\€\\");
        assert_eq!(repair_body(br#"{"a":"\ud83d"}"#.to_vec()), "{\"a\":\"\u{FFFD}\"}".as_bytes());
        assert_eq!(repair_body(b"\xff \\ud83d".to_vec()), b"\xff \\ud83d");
    }

    proptest! {
        #[test]
        fn any_text_survives_any_cut(text in "\\PC{0,12}", size in 1_usize..5) {
            let units: Vec<u16> = text.encode_utf16().collect();
            prop_assert_eq!(read(&pieces(&units, size)), text);
        }

        #[test]
        fn any_code_units_can_be_read(units in prop::collection::vec(prop_oneof![0xD800_u16..0xE000, 0x20_u16..0x7F], 0..12), size in 1_usize..5) {
            prop_assert_eq!(read(&pieces(&units, size)), String::from_utf16_lossy(&units));
        }

        #[test]
        fn whatever_is_repaired_can_be_read(units in prop::collection::vec(0xD7F0_u16..0xE010, 0..12)) {
            let json = pieces(&units, 12).pop().unwrap_or_else(|| "\"\"".into());
            prop_assert!(serde_json::from_str::<String>(&repair(&json)).is_ok());
        }
    }
}
