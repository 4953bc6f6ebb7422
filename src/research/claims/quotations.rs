//! Quotations in a statement: runs of words between quotation marks that have to stand in a source as they are.

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;

use super::plain::plain;
use crate::text::{is_unspaced, words};

/// Words of the shortest quotation; what is shorter is a term, or a title.
const SHORTEST: usize = 4;
/// Letters of words whose capital letter tells a title.
const TITLE_LETTERS: usize = 4;
/// Bytes of the longest target of a link, its title among them.
const LONGEST_TARGET: usize = 2_000;
/// Bytes of the longest reference mark in a page: `[123]`.
const LONGEST_MARK: usize = 5;
/// Bytes of the longest remark in brackets, of an editor in a quotation, and of a page.
const LONGEST_REMARK: usize = 200;
const LONGEST_NOTE: usize = 40;
/// Quotations in one another.
const DEEPEST: usize = 4;

/// Marks that begin a quotation, each with those that end it.
const PAIRS: &[(char, &str)] =
    &[('“', "”\""), ('„', "“”\""), ('«', "»"), ('»', "«"), ('”', "”“"), ('"', "\""), ('「', "」"), ('『', "』")];

/// Letters of Chinese that have another form on the other side of the strait, simplified and traditional ones.
const CHINESE: [&str; 2] = [
    "们这个国来时为说对会学后发经东车门问间见现长开关无从书话与业",
    "們這個國來時為說對會學後發經東車門問間見現長開關無從書話與業",
];

/// A quotation of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotation {
    /// As the statement has it, without the marks.
    pub text: String,
    /// The letters of its parts: what stands between ellipses and editorial brackets.
    parts: Vec<String>,
}

impl Quotation {
    /// Reads what stands between two marks; `None` of a term or a title.
    pub fn read(text: &str) -> Option<Self> {
        let parts = parts(text);
        let is_long = parts.iter().map(|part| count(part)).sum::<usize>() >= SHORTEST;
        let letters = parts.iter().map(|part| letters(part)).filter(|part| !part.is_empty());
        (is_long && !is_title(text)).then(|| Self { text: plain(text), parts: letters.collect() })
    }

    /// Returns whether the letters of a text hold its parts in their order.
    pub fn stands_in(&self, letters: &str) -> bool {
        let mut rest = letters.as_bytes();
        self.parts.iter().all(|part| {
            let Some(at) = memmem::find(rest, part.as_bytes()) else { return false };
            rest = &rest[at + part.len()..];
            true
        })
    }
}

/// Returns whether a text has letters that only simplified Chinese has, and such that only the traditional one has.
pub fn chinese(text: &str) -> [bool; 2] {
    let is_chinese = |char: char| ('\u{4e00}'..='\u{9fff}').contains(&char);
    CHINESE.map(|letters| text.contains(|char| is_chinese(char) && letters.contains(char)))
}

/// The letters of a text in which quotations are looked for.
#[derive(Debug)]
pub struct Letters {
    /// All of them.
    all: String,
    /// Those without the remarks in brackets, and without the lines that only count pages.
    said: String,
}

impl Letters {
    pub fn of(text: &str) -> Self {
        let is_number = |line: &&str| !line.contains(|char: char| !"0123456789 .-–/|".contains(char));
        let mut said = String::with_capacity(text.len());
        for line in text.lines().filter(|line| !is_number(line)) {
            let mut rest = line;
            while let Some((head, tail)) = rest.split_once('[') {
                let near = &tail[..tail.floor_char_boundary(LONGEST_NOTE)];
                // `[t]he gate`: a letter in another case.
                let note = near.find(']').filter(|end| *end > 1 && !tail[end + 1..].starts_with('('));
                said.push_str(head);
                said.push_str(if note.is_some() { "" } else { "[" });
                rest = &tail[note.map_or(0, |end| end + 1)..];
            }
            said.push_str(rest);
            said.push('\n');
        }
        Self { all: letters(text), said: letters(&said) }
    }

    /// Returns whether the quotation stands there.
    pub fn hold(&self, quotation: &Quotation) -> bool {
        quotation.stands_in(&self.all) || quotation.stands_in(&self.said)
    }
}

/// Returns what stands between quotation marks, in order, without the marks; of nested ones the outermost. Marks in
/// code are none.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    let mut fences = fences(text);
    let mut is_code = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if char == '`' && before != Some('`') && fences > 1 - usize::from(is_code) {
            is_code = !is_code;
            fences -= 1;
        }
        if is_code {
            before = Some(char);
            continue;
        }
        if let Some(depth) = open.iter().rposition(|(_, ends)| ends.contains(char)).filter(|_| may_end(char, next)) {
            let (start, _) = open[depth];
            open.truncate(depth);
            while spans.pop_if(|span| span.start >= start).is_some() {}
            spans.push(start..at);
        } else if let Some((_, ends)) = PAIRS.iter().find(|(begin, _)| *begin == char)
            && may_begin(char, before, next)
        {
            if open.len() == DEEPEST {
                open.remove(0);
            }
            open.push((at + char.len_utf8(), ends));
        }
        before = Some(char);
    }
    spans
}

/// Counts the runs of backticks.
fn fences(text: &str) -> usize {
    text.split('`').skip(1).filter(|after| !after.is_empty()).count() + usize::from(text.ends_with('`'))
}

/// Returns whether a mark between these characters may begin a quotation. One of an inch or of a second does not, and
/// neither does one behind the end of a sentence or remark.
fn may_begin(mark: char, before: Option<char>, next: Option<char>) -> bool {
    let is_joining = |before: char| before.is_alphanumeric() && !is_unspaced(before) || ".,;!?)]%".contains(before);
    let is_apart = !before.is_some_and(is_joining);
    let is_joined = next.is_some_and(|next| !next.is_whitespace());
    // French has spaces inside its marks.
    mark == '«' || is_joined && (is_apart || !matches!(mark, '"' | '”' | '»'))
}

/// Returns whether a mark before this character may end a quotation.
fn may_end(mark: char, next: Option<char>) -> bool {
    !matches!(mark, '"' | '“') || next.is_none_or(|next| !next.is_alphanumeric() || is_unspaced(next))
}

/// Returns the parts of a quotation that stand in its source in one.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let left_out = left_out(rest);
        match parts.last_mut() {
            Some(part) if left_out == 0 => part.push(char),
            _ => parts.push(String::new()),
        }
        rest = &rest[left_out.max(char.len_utf8())..];
    }
    parts
}

/// Returns the bytes of an ellipsis or an editor's remark that a text begins with.
fn left_out(text: &str) -> usize {
    if text.starts_with('…') {
        return '…'.len_utf8();
    }
    if let Some(dots) = ["...", ". . ."].into_iter().find(|dots| text.starts_with(dots)) {
        return dots.len();
    }
    // `[T]he gate`: another case.
    let is_case = |remark: &str| {
        let behind = &text[remark.len() + 2..];
        is_letter(remark) && behind.starts_with(char::is_alphabetic)
    };
    remark(text).filter(|remark| !is_case(remark)).map_or(0, |remark| remark.len() + 2)
}

/// Returns what stands in the brackets with which a text begins.
fn remark(text: &str) -> Option<&str> {
    let near = text.strip_prefix('[')?;
    let near = &near[..near.floor_char_boundary(LONGEST_REMARK)];
    near.find(']').map(|end| &near[..end])
}

/// Returns the words of a text between its white space; two characters of a script without spaces are one.
fn count(text: &str) -> usize {
    let unspaced = text.chars().filter(|char| is_unspaced(*char)).count();
    let is_word = |word: &&str| word.contains(|char: char| char.is_alphanumeric() && !is_unspaced(char));
    text.split_whitespace().filter(is_word).count() + unspaced / 2
}

/// Returns whether every longer word begins with a capital letter, as in the titles of works.
fn is_title(text: &str) -> bool {
    let long = |word: &&str| word.chars().count() >= TITLE_LETTERS && word.starts_with(char::is_alphabetic);
    let mut long = words(text).into_iter().filter(long).peekable();
    long.peek().is_some() && long.all(|word| word.starts_with(char::is_uppercase))
}

/// Returns the letters and digits of a text in lower case, without diacritics: white space, marks and hyphens of
/// whatever kind are passed over, and so are the reference marks of a page and the addresses of its links.
pub fn letters(text: &str) -> String {
    let mut letters = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut rest, mut before) = (line, ' ');
        // Where the next bracket is that closes one, as far as it has been looked for.
        let mut close = Some(0);
        while let Some(char) = rest.chars().next() {
            let passed = match char {
                '[' => reference_mark(rest),
                '(' if before == ']' => {
                    let at = line.len() - rest.len();
                    if close.is_some_and(|close| close < at) {
                        close = rest.find(')').map(|end| at + end);
                    }
                    let end = close.map(|close| close - at);
                    let is_target = |end: &usize| *end <= LONGEST_TARGET && is_address(&rest[1..*end]);
                    end.filter(is_target).map_or(0, |end| end + 1)
                }
                _ => 0,
            };
            if passed == 0 {
                push_letter(&mut letters, char);
            }
            // The mark of a reference may be a link, too.
            before = if passed > 0 && char == '[' { ']' } else { char };
            rest = &rest[passed.max(char.len_utf8())..];
        }
    }
    letters
}

/// Adds a letter or digit in the form in which it is compared.
fn push_letter(letters: &mut String, char: char) {
    match char {
        char if char.is_ascii_alphanumeric() => letters.push(char.to_ascii_lowercase()),
        char if char.is_ascii() || !char.is_alphanumeric() || is_raised(char) => {}
        char if is_unspaced(char) => letters.push(char),
        'ß' | 'ẞ' => letters.push_str("ss"),
        'œ' | 'Œ' => letters.push_str("oe"),
        'æ' | 'Æ' => letters.push_str("ae"),
        'ς' => letters.push('σ'),
        char => letters.extend(char.to_lowercase().nfd().filter(|char| !is_diacritic(*char))),
    }
}

/// Returns whether it is a mark on another letter, or only makes a word longer, as Arabic's tatweel.
fn is_diacritic(char: char) -> bool {
    matches!(char,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}'
        | '\u{670}' | '\u{6d6}'..='\u{6ed}')
}

/// Returns whether this is the target of a link, with its title maybe.
fn is_address(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(|first| words.next().is_none() || first.contains("://"))
}

/// Returns the bytes of the mark of a reference that a text begins with: `[12]`, `[a]`.
fn reference_mark(text: &str) -> usize {
    let near = &text[1..text.floor_char_boundary(LONGEST_MARK)];
    let Some(inside) = near.find(']').map(|end| &near[..end]).filter(|inside| !inside.is_empty()) else { return 0 };
    // `[t]he gate`: a letter in another case.
    let is_alone = || !text[inside.len() + 2..].starts_with(char::is_alphabetic);
    let is_mark = inside.bytes().all(|byte| byte.is_ascii_digit())
        || is_letter(inside) && inside.starts_with(|char: char| char.is_ascii_lowercase()) && is_alone();
    if is_mark { inside.len() + 2 } else { 0 }
}

fn is_letter(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
}

/// Returns whether a digit is raised, as that of a footnote.
fn is_raised(char: char) -> bool {
    matches!(char, '¹' | '²' | '³' | '⁰' | '⁴'..='⁹')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn quotations(text: &str) -> Vec<Quotation> {
        spans(text).into_iter().filter_map(|span| Quotation::read(&text[span])).collect()
    }

    #[test]
    fn a_quotation_has_marks_and_words_enough() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = quotations(text).into_iter().map(|quotation| quotation.text).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("He said: \"The gate is never built.\"", &["The gate is never built."]);
        check("He said “the gate is never built”, and “dues rise”", &["the gate is never built"]);
        check("Er sagte: „Das Tor wird nie gebaut“ und „nie“", &["Das Tor wird nie gebaut"]);
        check("Er sagte »das Tor wird nie gebaut«", &["das Tor wird nie gebaut"]);
        check("Il a dit : « la porte “ne sera jamais” faite »", &["la porte “ne sera jamais” faite"]);
        check("市长说：「水闸永远不会在这里建成」", &["水闸永远不会在这里建成"]);
        check("“一带一路”倡议", &[]);
        check("A 5\" pipe and a 6\" pipe of the old mill", &[]);
        check("See \"The State of the Harbour in 2031\"", &[]);
        check("It is \"open to all who pay", &[]);
        check("stays closed\" and \"opens in the next year\"", &["opens in the next year"]);
        check("A \"state-of-the-art\" gate by \"3-2-1-0\"", &[]);
        check(
            "Run `git commit -m \"mend the broken gate\"` or `x` \"mend the broken gate\"",
            &["mend the broken gate"],
        );
        check("A ` and \"mend the broken gate\"", &["mend the broken gate"]);
        check("قال ”هنا باب“ وكثير من الكلام بعد ذلك ”وهناك باب“", &[]);
        check("in one shut.”[1] And more of the words.” So", &[]);
    }

    #[test]
    fn a_quotation_stands_in_its_source_whatever_the_spelling() {
        let page = Letters::of(
            "The mayor said: \u{201c}The gate will never[12] be built here, in the third-quar\u{ad}ter\nof the town\u{201d}.\n\
             - 12 -\nWe¹ don\u{2019}t have the money for that. [T]he council of [Holt](https://holt.test/a_(b)) opens\n\
             2031.\nThen \u{201c}[w]e all[note 3] saw[[4]](https://holt.test \u{22}4\u{22}) it\u{201d}. We all saw[4](https://holt.test/#fn4) the sea. Die Straße ist größer. Всё ещё её дом. أبدًا ليس\u{640} هنا باب",
        );
        let check = |text: &str, expected: bool| {
            let [quotation] = &quotations(&format!("“{text}”"))[..] else { panic!("{text}") };
            assert_eq!(page.hold(quotation), expected, "{text}");
        };
        check("the gate will never be built here", true);
        check("[T]he gate will never be built here", true);
        check("The gate … in the third quarter of the town", true);
        check("The gate [of the council] will never [...] of the town", true);
        check("of the town. We don't have the money", true);
        check("The gate . . . in the third quarter", true);
        check("The gate[s] will never be built here", true);
        check("The [old] gate will never [12] be built here", true);
        check("the council of Holt opens 2031", true);
        check("the council of Holt opens 2032", false);
        check("we all saw it", true);
        check("we all saw the sea", true);
        check("die Strasse ist größer", true);
        check("все еще ее дом", true);
        check("ابدا ليس هنا باب", true);
        check("The gate will soon be built here", false);
        check("We don't have ... The gate will never be built", false);
    }

    #[test]
    fn letters_take_time_that_grows_with_the_text() {
        for shape in ["[t](", "[a", "](x y", "[[1]](https://a.test)", "é[b] ", "12\n"] {
            growth::check(shape, 16_000, |text| drop(Letters::of(text)));
            growth::check(shape, 16_000, |text| drop(Letters::of(&format!("{text})"))));
            growth::check(shape, 16_000, |text| drop(Letters::of(&format!("{text} x)"))));
        }
        for shape in ["`", "`a\"b c", "“[a] . . .", "``\"a"] {
            growth::check(shape, 16_000, |text| drop(quotations(text)));
        }
    }
}
