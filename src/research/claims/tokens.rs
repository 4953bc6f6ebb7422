//! A text as sentences and clauses, and as words, numbers and marks.

use std::ops::Range;

use crate::text::is_unspaced;

/// Which bytes a sentence may end at, or begin its last character. Most do not, and a page has thousands.
const MAY_END: [bool; 256] = {
    let mut may_end = [false; 256];
    let bytes = b"\n.!? \xe3\xef";
    let mut at = 0;
    while at < bytes.len() {
        may_end[bytes[at] as usize] = true;
        at += 1;
    }
    may_end
};
/// A stretch without an end is cut into sentences of so many bytes.
const LONGEST_SENTENCE: usize = 600;
/// One without spaces is cut as well: what is asked of a number reads its sentence, and a page has thousands.
const LONGEST_UNSPACED: usize = 4 * LONGEST_SENTENCE;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token<'a> {
    pub text: &'a str,
    /// Its first byte.
    pub at: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Letters; of scripts without spaces a single one.
    Word,
    /// Digits, with what may separate them.
    Number,
    Mark(char),
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub fn is_number(&self) -> bool {
        self.kind == Kind::Number
    }
}

/// Returns the pieces of a text, in order; white space is none.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut at = 0;
    while let Some(first) = text.as_bytes().get(at) {
        let rest = &text[at..];
        let (kind, length) = match first {
            b' ' | b'\n' => {
                at += 1;
                continue;
            }
            b'0'..=b'9' => (Kind::Number, number_length(rest)),
            b'A'..=b'Z' | b'a'..=b'z' => (Kind::Word, word_length(rest)),
            _ => {
                let Some(first) = rest.chars().next() else { break };
                let (kind, length) = kind_of(first, rest);
                if first.is_whitespace() {
                    at += length;
                    continue;
                }
                (kind, length)
            }
        };
        tokens.push(Token { text: &rest[..length], at, kind });
        at += length;
    }
    tokens
}

/// Returns what begins with a character, and its bytes.
fn kind_of(first: char, rest: &str) -> (Kind, usize) {
    if digit(first).is_some() {
        (Kind::Number, number_length(rest))
    } else if is_unspaced(first) {
        (Kind::Word, first.len_utf8())
    } else if first.is_alphabetic() {
        (Kind::Word, word_length(rest))
    } else {
        (Kind::Mark(first), first.len_utf8())
    }
}

/// Returns the bytes of the word that `text` begins with. Most letters are ASCII, which need not be decoded.
fn word_length(text: &str) -> usize {
    let is_part = |char: char| (char.is_alphabetic() || ('\u{300}'..='\u{36f}').contains(&char)) && !is_unspaced(char);
    let ascii = text.bytes().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    match text.as_bytes().get(ascii) {
        Some(next) if !next.is_ascii() => {
            text[ascii..].find(|char| !is_part(char)).map_or(text.len(), |end| ascii + end)
        }
        _ => ascii,
    }
}

/// Returns the value of a decimal digit, also of other scripts, and of those below the line.
pub fn digit(char: char) -> Option<u8> {
    let zero = match char {
        '0'..='9' => '0',
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6f0}'..='\u{6f9}' => '\u{6f0}',
        '\u{966}'..='\u{96f}' => '\u{966}',
        '\u{2080}'..='\u{2089}' => '\u{2080}',
        '\u{ff10}'..='\u{ff19}' => '\u{ff10}',
        _ => return None,
    };
    u8::try_from(u32::from(char) - u32::from(zero)).ok()
}

pub fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Returns the bytes of the number that `text` begins with.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|char| digit(char).is_none()).unwrap_or(text.len());
    let (mut end, mut in_threes) = (digits(text), true);
    in_threes &= text[..end].chars().count() <= 3;
    while let Some(mark) = text[end..].chars().next() {
        let after = &text[end + mark.len_utf8()..];
        let length = digits(after);
        let three = after[..length].chars().count() == 3;
        let joins = match mark {
            '.' | ',' | '\'' | '’' | '٫' | '٬' => length > 0,
            mark if is_space(mark) => in_threes && three,
            _ => false,
        };
        if !joins {
            break;
        }
        in_threes &= three;
        end += mark.len_utf8() + length;
    }
    end
}

/// Finds a text's sentences: they end at a line's end, and at a full stop before a space; long stretches are cut.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let begins_with_space = |rest: &str| rest.chars().next().is_none_or(char::is_whitespace);
    // Bytes of ASCII are never a part of another character.
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| MAY_END[usize::from(*byte)]) {
        let end = match byte {
            b'\n' => at + 1,
            b'.' | b'!' | b'?' if at + 1 - start > 20 && begins_with_space(&text[at + 1..]) => at + 1,
            b' ' if at + 1 - start > LONGEST_SENTENCE => at + 1,
            // The first byte of the full stops of Chinese and Japanese.
            0xe3 | 0xef if text[at..].starts_with(['。', '！', '？']) => at + 3,
            _ => continue,
        };
        push_cut(&mut sentences, text, start..end);
        start = end;
    }
    if start < text.len() {
        push_cut(&mut sentences, text, start..text.len());
    }
    sentences
}

/// Adds a sentence, in pieces if it is too long.
fn push_cut(sentences: &mut Vec<Range<usize>>, text: &str, mut sentence: Range<usize>) {
    while sentence.len() > LONGEST_UNSPACED {
        let cut = text.floor_char_boundary(sentence.start + LONGEST_UNSPACED);
        sentences.push(sentence.start..cut);
        sentence.start = cut;
    }
    sentences.push(sentence);
}

/// Returns the bytes behind the marks that end a clause.
pub fn clause_ends(text: &str) -> impl Iterator<Item = usize> {
    let ends = move |(at, char): (usize, char)| {
        let end = at + char.len_utf8();
        let is_end = match char {
            ',' | ';' | ':' => text[end..].starts_with(char::is_whitespace) || end == text.len(),
            '(' | ')' | '–' | '—' | '，' | '；' | '、' => true,
            _ => false,
        };
        is_end.then_some(end)
    };
    text.char_indices().filter_map(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_marks() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<_> = tokens(text).into_iter().map(|token| token.text).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("EUR 2,400 at 16:00.", &["EUR", "2,400", "at", "16", ":", "00", "."]);
        check("In 2030 412 came, 14 200 left.", &["In", "2030", "412", "came", ",", "14 200", "left", "."]);
        check("1.234,5 3’000 2030-11-14", &["1.234,5", "3’000", "2030", "-", "11", "-", "14"]);
        check("耗资4亿元。", &["耗", "资", "4", "亿", "元", "。"]);
        check("٣٫٥ é\u{301}t", &["٣٫٥", "é\u{301}t"]);
        check("CO₂, 5²", &["CO", "₂", ",", "5", "²"]);
    }

    #[test]
    fn sentences_end_at_stops_at_line_ends_and_when_they_are_long() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("", &[]);
        check("It cost 5 crowns in all. More", &["It cost 5 crowns in all.", " More"]);
        check("It cost 5 crowns in all.\u{a0}More.", &["It cost 5 crowns in all.", "\u{a0}More."]);
        check("It cost 5.4 crowns, see p. 4, in 2030!", &["It cost 5.4 crowns, see p.", " 4, in 2030!"]);
        check("Short. Line\nzwei.\n", &["Short. Line\n", "zwei.\n"]);
        check("耗资4亿元。贵！是？“对”", &["耗资4亿元。", "贵！", "是？", "“对”"]);
        let long = "word ".repeat(LONGEST_SENTENCE / 5 + 1);
        check(&format!("{long}end"), &[&long, "end"]);
        let (long, rest) = ("界".repeat(LONGEST_UNSPACED / 3), "界".repeat(5));
        check(&format!("{long}{long}{rest}。"), &[&long, &long, &format!("{rest}。")]);
    }
}
