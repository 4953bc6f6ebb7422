//! Plain text: whether it is text at all, tidying it, and cutting it without hurting words. How it is encoded is found
//! out in `encoding.rs`.

use std::borrow::Cow;

use encoding_rs::Encoding;
use unicode_normalization::UnicodeNormalization as _;

use super::{Document, Section, Unreadable, encoding};
use crate::domain::uncontrolled;

/// Lines among which a mail says its subject.
const HEAD_LINES: usize = 10;
/// Zero bytes of a short text.
const MOST_ZEROS: usize = 3;
/// Lines of a title in capitals.
const TITLE_LINES: usize = 3;
/// What ends a line beside the usual marks: the vertical tab, the form feed and the next line of terminals.
const RARE_LINE_ENDS: [char; 3] = ['\u{b}', '\u{c}', '\u{85}'];

/// Turns bytes to text: byte order mark, else UTF-8 if it is that, else the likeliest older encoding. Line ends
/// become `\n`.
///
/// # Errors
/// [`Unreadable`] for what no encoding makes text of.
pub(super) fn decode(bytes: &[u8]) -> Result<String, Unreadable> {
    decode_as(bytes, None)
}

/// Returns the same of a format whose values may have breaks of lines within, which are spaces there.
///
/// # Errors
/// As [`decode`].
pub(super) fn decode_values(bytes: &[u8]) -> Result<String, Unreadable> {
    Ok(tidy(&decoded(bytes, None)?.replace(RARE_LINE_ENDS, " ")))
}

/// Returns the same as [`decode`], with what the document says about itself believed if it fits the bytes.
pub(super) fn decode_as(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<String, Unreadable> {
    Ok(tidy(&decoded(bytes, declared)?))
}

/// Returns the same, with the text as it stands.
pub(super) fn decoded(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<String, Unreadable> {
    let encoding = Encoding::for_bom(bytes).map(|(encoding, _)| encoding).or_else(|| encoding::unmarked_utf16(bytes));
    if encoding.is_none() && has_many_zeros(bytes) {
        return Err(Unreadable::new("it is not text"));
    }
    let encoding = encoding.unwrap_or_else(|| encoding::guess(bytes, declared));
    let (decoded, _, _) = encoding.decode(bytes);
    if is_junk(&decoded) {
        return Err(Unreadable::new("it is not text"));
    }
    Ok(match decoded.contains('\0') {
        true => decoded.replace('\0', ""),
        false => decoded.into_owned(),
    })
}

/// Returns whether there are more zero bytes than programs that write texts slip in.
fn has_many_zeros(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    zeros > MOST_ZEROS && zeros > bytes.len() / 1_000
}

/// Returns whether more than one character in thirty is a control or replacement character.
fn is_junk(text: &str) -> bool {
    let (mut all, mut odd) = (0_usize, 0_usize);
    for char in text.chars().take(200_000) {
        all += 1;
        let control = char.is_control() && !matches!(char, '\t'..='\r' | '\u{1a}' | '\u{1c}'..='\u{1f}' | '\u{85}');
        odd += usize::from(control || char == char::REPLACEMENT_CHARACTER);
    }
    odd * 30 > all
}

/// Tidies a text as [`tidied`] does, but for spaces at the beginning.
pub(super) fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty_lines = 0;
    let text = match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    };
    for line in text.split(['\n', '\r']).flat_map(parted) {
        let line = line.trim_end();
        empty_lines = if line.is_empty() { empty_lines + 1 } else { 0 };
        if empty_lines > 1 {
            continue;
        }
        if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
            // As most lines are: in one piece.
            tidied.push_str(line);
        } else {
            tidied.extend(without_breaks(line).filter_map(in_line).flat_map(letters).nfc());
            tidied.truncate(tidied.trim_end_matches(' ').len());
        }
        tidied.push('\n');
    }
    tidied.trim_start_matches(['\n', '\u{feff}']).trim_end().to_owned()
}

/// Returns a line as the marks that are rare part it; between bars or tabs, within the row of a table, they are none,
/// and stand for spaces.
fn parted(line: &str) -> impl Iterator<Item = &str> {
    let is_row = line.trim().contains(['|', '\t']);
    let (line, ends): (_, &[char]) =
        if is_row { (line.trim_matches(RARE_LINE_ENDS), &[]) } else { (line, &RARE_LINE_ENDS) };
    line.split(ends)
}

/// Returns a character as it stands in a line: a control that may part two figures is a space.
fn in_line(char: char) -> Option<char> {
    uncontrolled(char).map(|char| if char == '\n' { ' ' } else { char })
}

/// Returns the characters of a line without those that only say where a word may be divided, or may not. In scripts
/// that join their letters or have no spaces such a character says more, and stays.
fn without_breaks(line: &str) -> impl Iterator<Item = char> {
    let mut before = ' ';
    line.chars().filter(move |char| {
        let goes = match char {
            '\u{ad}' | '\u{2060}' | '\u{feff}' => true,
            '\u{200b}' => !is_southeast_asian(before),
            '\u{200c}' | '\u{200d}' => before.is_ascii() || ('\u{c0}'..='\u{52f}').contains(&before),
            _ => false,
        };
        before = if goes { before } else { *char };
        !goes
    })
}

fn is_southeast_asian(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

/// Returns the letters that a form of presentation stands for, by which people search: ligatures, radicals, wide and
/// narrow forms. What says something by its form stays, such as raised digits and fractions.
fn letters(char: char) -> impl Iterator<Item = char> {
    let stands_for_others = matches!(u32::from(char),
        0x2E80..=0x2FDF // radicals
        | 0xF900..=0xFAFF // compatible ideographs
        | 0xFB00..=0xFDFF | 0xFE70..=0xFEFE // ligatures, forms of Arabic and Hebrew letters
        | 0xFF10..=0xFF19 | 0xFF21..=0xFF3A | 0xFF41..=0xFF5A // wide letters and digits
        | 0xFF66..=0xFF9F); // narrow syllables
    let own = (!stands_for_others).then_some(char);
    let others = stands_for_others.then(|| std::iter::once(char).nfkc());
    own.into_iter().chain(others.into_iter().flatten())
}

/// Tidies text: one kind of line end, no control characters, no spaces before line ends, at most one empty line in a
/// row, trimmed.
pub fn tidied(text: &str) -> String {
    tidy(text).trim().to_owned()
}

/// Returns the first `max_chars` characters, less the word the cut would go through, if it has a beginning within
/// reach.
pub fn cut(text: &str, max_chars: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(max_chars) else { return text.trim_end() };
    let head = &text[..end];
    if next.is_whitespace() {
        return head.trim_end();
    }
    let floor = head.char_indices().nth(max_chars * 3 / 4).map_or(0, |(at, _)| at);
    match head[floor..].rfind(char::is_whitespace) {
        Some(space) => head[..floor + space].trim_end(),
        None => head,
    }
}

/// Returns digits and signs as they stand raised, when `text` is made of nothing else: ten to the sixth is not 106.
pub fn raised(text: &str) -> Option<String> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |char: char| match char {
        '-' | '−' | '–' => Some('⁻'),
        '+' => Some('⁺'),
        char => DIGITS.get(usize::try_from(char.to_digit(10)?).ok()?).copied(),
    };
    let raised: Option<String> = text.trim().chars().map(raise).collect();
    raised.filter(|raised| !raised.is_empty())
}

/// Writes raised digits as such: ten to the sixth is not 106.
pub(super) fn with_raised(text: &str) -> String {
    raised(text).unwrap_or_else(|| text.to_owned())
}

/// Turns all white space and control characters into single spaces, and trims.
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split(|char: char| char.is_whitespace() || char.is_control()).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a text file: one section; its title is the subject of a mail, lines in capitals at its head, or a short
/// first line that stands alone.
pub(super) fn read(text: &str) -> Document {
    let sections = match text.trim() {
        "" => Vec::new(),
        _ => vec![Section { label: None, path: String::new(), anchor: None, text: text.to_owned() }],
    };
    let title = subject(text).or_else(|| capitals(text)).or_else(|| lone_first_line(text));
    Document { title, sections, ..Document::default() }
}

/// Returns the subject among the first lines of a mail, each of which is `Name: value`.
fn subject(text: &str) -> Option<String> {
    const NAMES: [&str; 5] = ["Subject", "Betreff", "Objet", "Asunto", "主题"];
    let fields = text.lines().take(HEAD_LINES).map_while(|line| line.split_once([':', '：']));
    let (_, subject) = fields.into_iter().find(|(name, _)| NAMES.contains(&name.trim()))?;
    Some(one_line(subject)).filter(|subject| !subject.is_empty())
}

/// Joins two lines or more in capitals at the head of a text into one.
fn capitals(text: &str) -> Option<String> {
    let is_capital = |line: &&str| line.contains(char::is_uppercase) && !line.contains(char::is_lowercase);
    let lines: Vec<&str> = text.lines().take(TITLE_LINES + 1).take_while(is_capital).collect();
    (2..=TITLE_LINES).contains(&lines.len()).then(|| one_line(&lines.join(" ")))
}

fn lone_first_line(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let first = lines.next()?.trim();
    let next = lines.next().unwrap_or_default().trim();
    let alone = next.chars().all(|char| matches!(char, '=' | '-' | '~' | '*' | '_'));
    let short = first.chars().any(char::is_alphanumeric) && first.chars().count() <= 80;
    (alone && short).then(|| one_line(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_found_out() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(decode(bytes).as_deref(), Ok(expected), "{bytes:?}");
        check("Größe 5 €".as_bytes(), "Größe 5 €");
        check(b"\xef\xbb\xbfmarked", "marked");
        check(b"\xff\xfeA\0\xdf\0", "Aß");
        check(b"\xfe\xff\0A\0\xdf", "Aß");
        check(b"T\0w\0o\0 \0b\0y\0t\0e\0s\0", "Two bytes");
        check("Die Bürgermeisterin öffnet das Brückenfest".as_bytes(), "Die Bürgermeisterin öffnet das Brückenfest");
        check(b"Die B\xfcrgermeisterin \xf6ffnet das Br\xfcckenfest", "Die Bürgermeisterin öffnet das Brückenfest");
        check(b"one\r\ntwo\rthree \n\n\n\nfour\x0cfive", "one\ntwo\nthree\n\nfour\nfive");
    }

    #[test]
    fn what_parts_two_figures_keeps_them_apart() {
        for char in (1..0x20).chain(0x80..0xa0).filter_map(char::from_u32).filter(|char| *char != '\u{8}') {
            let text = tidied(&format!("12{char}34 tons"));
            assert!(text.split_whitespace().eq(["12", "34", "tons"]), "{char:?}: {text}");
        }
        assert_eq!(tidied("12\u{b}34\u{85}56\u{1c}78\u{1f}"), "12\n34\n56 78");
        for end in RARE_LINE_ENDS {
            let check = |text: &str, expected: &str| assert_eq!(tidied(&text.replace('/', &end.to_string())), expected);
            check("| 12/34 | 5/6 |", "| 12 34 | 5 6 |");
            check("12/34 | 5\n/7 | 8/", "12 34 | 5\n7 | 8");
            check("1/2\t3", "1 2\t3");
            check("She left it.  They came./CHAPTER TWO", "She left it.  They came.\nCHAPTER TWO");
            check("\tThey came./CHAPTER TWO", "They came.\nCHAPTER TWO");
            check("/Page 2    3\nIt ends./It begins.", "Page 2    3\nIt ends.\nIt begins.");
            assert_eq!(decode_values(format!("12{end}34,5").as_bytes()).as_deref(), Ok("12 34,5"));
        }
        assert_eq!(tidied("tu\u{8}rb\0in\u{7f}e \u{1a}\nx"), "turbine\nx");
        assert_eq!(decode("12\u{b}34 tons and 5\u{85}6".as_bytes()).as_deref(), Ok("12\n34 tons and 5\n6"));
    }

    #[test]
    fn a_torn_character_does_not_change_the_encoding() {
        let mut bytes = "Köln und Füssen, ".repeat(100).into_bytes();
        bytes.truncate(bytes.len() - 4);
        bytes.push(0xc3);
        assert!(decode(&bytes).unwrap().starts_with("Köln und Füssen"));
    }

    #[test]
    fn a_lone_zero_does_not_hide_a_text() {
        let page = "The gate opens at noon, and closes at dusk. ".repeat(20);
        assert_eq!(decode(format!("{page}\0{page}").as_bytes()).unwrap(), format!("{page}{}", page.trim_end()));
        assert!(decode("The gate\0 ".repeat(20).as_bytes()).is_err());
    }

    #[test]
    fn binary_is_not_text() {
        let noise: Vec<u8> = (0..4000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(decode(&noise).is_err());
        assert!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0").is_err());
        let without_zeros: Vec<u8> = noise.into_iter().map(|byte| byte.max(1)).collect();
        assert!(decode(&without_zeros).is_err());
    }

    #[test]
    fn ligatures_are_spelt_out() {
        assert_eq!(tidied("e\u{fb03}cient \u{fb01}sh, \u{fb02}at"), "efficient fish, flat");
        assert_eq!(
            tidied("\u{2f00}\u{ff11}\u{ff76}\u{ff9e} Gro\u{df}e Bru\u{308}cke"),
            "\u{4e00}1\u{30ac} Große Brücke"
        );
        assert_eq!(tidied("10⁶ m² ½ ①,:"), "10⁶ m² ½ ①,:", "forms that say something");
    }

    #[test]
    fn words_are_whole_whatever_may_divide_them() {
        assert_eq!(
            tidied("Hafen\u{ad}gebühr, Skelder\u{200b}wick, 412\u{2060}000, tide\u{200d}gate"),
            "Hafengebühr, Skelderwick, 412000, tidegate"
        );
        let kept = ["می\u{200c}خواهم", "ประตู\u{200b}น้ำ", "👩\u{200d}🔬"];
        assert_eq!(kept.map(tidied), kept);
    }

    #[test]
    fn cuts_spare_words() {
        let check = |text: &str, max: usize, expected: &str| assert_eq!(cut(text, max), expected, "{text} {max}");
        check("one two three", 20, "one two three");
        check("one two three", 13, "one two three");
        check("one two three", 9, "one two");
        check("one two three", 7, "one two");
        check("antidisestablishmentarianism", 6, "antidi");
        check("潮汐能游客中心", 3, "潮汐能");
        check("anything", 0, "");
    }

    #[test]
    fn a_lone_first_line_is_a_title() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(lone_first_line(text).as_deref(), expected, "{text}");
        };
        check("INTERNAL NOTE\n\nFrom: X", Some("INTERNAL NOTE"));
        check("Title\n=====\ntext", Some("Title"));
        check("Hovendrift GmbH\nAbteilung Service\n", None);
        check("----\n\ntext", None);
        check("", None);
    }

    #[test]
    fn mails_and_printed_heads_have_titles() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(read(text).title.as_deref(), expected, "{text}");
        check("From: A\nTo: B\nSubject: Seals of Petrel\n\nDear B,", Some("Seals of Petrel"));
        check("From: A\nWe met.\nSubject: none of a mail\n", None);
        check("HARBOUR COMPANY\nTERMS OF SERVICE\nSkelderwick, 1 May 2030", Some("HARBOUR COMPANY TERMS OF SERVICE"));
        check("HARBOUR COMPANY\nSkelderwick, 1 May 2030", None);
        check("ONE\nTWO\nTHREE\nFOUR\nFIVE", None);
    }
}
