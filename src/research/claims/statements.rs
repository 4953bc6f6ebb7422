//! Which statement of a report a citation stands behind.

use std::ops::Range;

use crate::{domain::report::Citation, text::sentences};

/// A statement and the citations behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Cited {
    /// Bytes of the report, without the marks of a list or of a table around them; the citations themselves may stand
    /// inside.
    pub place: Range<usize>,
    /// One line, without Markdown and citations.
    pub text: String,
    /// Places in the list of citations.
    pub citations: Range<usize>,
}

/// Citations that stand side by side, with their bytes.
struct Group {
    place: Range<usize>,
    citations: Range<usize>,
}

/// Returns the cited statements of a text, in order. A citation stands behind what comes before it, up to the one
/// before or the begin of the sentence; the last one of a sentence also behind its rest.
pub fn cited(text: &str, citations: &[Citation]) -> Vec<Cited> {
    let places = byte_places(text, citations);
    let mut statements = Vec::new();
    let (mut next, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let last =
            places[next..].iter().position(|place| place.start >= end).map_or(places.len(), |found| next + found);
        let groups = groups(text, &places, next..last);
        statements.extend(of_line(text, at..end, &groups));
        (next, at) = (last, end);
    }
    statements
}

/// Bytes of the citations, which count characters.
fn byte_places(text: &str, citations: &[Citation]) -> Vec<Range<usize>> {
    let (mut chars, mut at) = (0, 0);
    let mut byte_of = |place: usize| {
        if place < chars {
            (chars, at) = (0, 0);
        }
        at += text[at..].char_indices().nth(place - chars).map_or(text.len() - at, |(bytes, _)| bytes);
        chars = place;
        at
    };
    citations.iter().map(|citation| byte_of(citation.start)..byte_of(citation.end)).collect()
}

fn groups(text: &str, places: &[Range<usize>], all: Range<usize>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for number in all {
        let place = places[number].clone();
        match groups.last_mut() {
            Some(group) if text[group.place.end..place.start].chars().all(|char| " ,;，、".contains(char)) => {
                group.place.end = place.end;
                group.citations.end = number + 1;
            }
            _ => groups.push(Group { place, citations: number..number + 1 }),
        }
    }
    groups
}

fn of_line(text: &str, line: Range<usize>, groups: &[Group]) -> Vec<Cited> {
    let mut statements = Vec::new();
    let mut from = line.start;
    let is_row = text[line.clone()].trim_start().starts_with('|');
    for (number, group) in groups.iter().enumerate() {
        let before = &text[from..group.place.start];
        let start = last_sentence(before).map_or(group.place.start, |begin| from + begin);
        let start = start + marks(&text[start..group.place.start]);
        let start = start + joints(&text[start..group.place.start]);
        let is_ended = before.trim_end().ends_with(['.', '!', '?', '。', '！', '？']);
        let next = groups.get(number + 1).map_or(line.end, |next| next.place.start);
        let rest = &text[group.place.end..next];
        // What stands in the next cell of a table is another matter.
        let cell = if is_row { rest.split('|').next().unwrap_or_default() } else { rest };
        let first = sentences(cell).first().map_or("", |first| *first);
        // What stands before another citation is that one's.
        let is_own = !is_ended && has_words(first) && (is_row || next == line.end || first.len() < rest.trim().len());
        let end = if is_own { group.place.end + rest.find(first).unwrap_or(0) + first.len() } else { group.place.end };
        let tail = if is_own { first } else { "" };
        let said = format!("{} {tail}", &text[start..group.place.start]);
        let said = plain(&said);
        if has_words(&said) {
            statements.push(Cited { place: start..end, text: said, citations: group.citations.clone() });
        }
        from = end;
    }
    statements
}

/// Finds where the last sentence begins that says something.
fn last_sentence(text: &str) -> Option<usize> {
    let last = sentences(text).into_iter().rfind(|sentence| has_words(sentence))?;
    Some(last.as_ptr() as usize - text.as_ptr() as usize)
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Returns the line without the marks of a list, a heading, a quotation or a row of a table around it.
pub fn without_marks(line: &str) -> &str {
    line[marks(line)..].trim_end_matches(['|', ' ', '\t'])
}

/// Bytes of the marks with which a line begins that belong to no sentence.
fn marks(line: &str) -> usize {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '|', '>']);
        let mark = rest.len() - rest.trim_start_matches('#').len();
        let mark = if mark == 0 { usize::from(rest.starts_with(['-', '*', '+'])) } else { mark };
        let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let is_number = (1..=3).contains(&digits) && rest[digits..].starts_with([')', '.']);
        let mark = if is_number { digits + 1 } else { mark };
        if mark == 0 || !rest[mark..].starts_with([' ', '\t']) {
            return line.len() - rest.len();
        }
        rest = &rest[mark..];
    }
}

/// Returns the words of a line, without its Markdown.
pub fn plain(line: &str) -> String {
    let line = &line[marks(line)..];
    let shown: String =
        line.chars().map(|char| if char == '|' { ' ' } else { char }).filter(|char| !"*`\\".contains(*char)).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    shown[joints(&shown)..].to_owned()
}

/// Bytes of the marks between a statement and the one before it.
fn joints(text: &str) -> usize {
    text.len() - text.trim_start_matches([',', ';', ':', '.', ')', ' ', '–', '—']).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    fn check(text: &str, expected: &[(&str, Range<usize>)]) {
        let mut citations = Vec::new();
        let chars: Vec<char> = text.chars().collect();
        for start in 0..chars.len() {
            if let ['[', digit, ']', ..] = chars[start..]
                && let Some(number) = digit.to_digit(10)
            {
                citations.push(Citation::new(number, SourceId(number), start, start + 3));
            }
        }
        let found: Vec<_> = cited(text, &citations).into_iter().map(|cited| (cited.text, cited.citations)).collect();
        let expected: Vec<_> = expected.iter().map(|(text, range)| ((*text).to_owned(), range.clone())).collect();
        assert_eq!(found, expected, "{text}");
    }

    /// What takes the place of a statement must leave the list, the table and the emphasis around it whole.
    #[test]
    fn a_place_has_no_marks_of_a_list_or_table_in_it() {
        let check = |text: &str, expected: &[&str]| {
            let at = |digit: &str| text.find(digit).map(|at| text[..at].chars().count());
            let cite = |(number, at): (u32, usize)| Citation::new(number, SourceId(number), at, at + 3);
            let citations: Vec<Citation> = (1..).zip([at("[1]"), at("[2]")].into_iter().flatten()).map(cite).collect();
            let places: Vec<&str> = cited(text, &citations).into_iter().map(|cited| &text[cited.place]).collect();
            assert_eq!(places, expected, "{text}");
        };
        check("- It cost 5 [1].\n", &["It cost 5 [1]"]);
        check("  12. **Dues** are 4 [1]\n", &["**Dues** are 4 [1]"]);
        check("> - It cost 5 [1].\n", &["It cost 5 [1]"]);
        check("| Day | 18.9 [1] | 21.4 [2] |\n", &["Day | 18.9 [1]", "21.4 [2]"]);
        check("| Day | 18.9 [1] a day | 21.4 |\n", &["Day | 18.9 [1] a day"]);
        check("-5 degrees [1].", &["-5 degrees [1]"]);
        check("It runs to 2030 [1], and 13 work there [2].", &["It runs to 2030 [1]", "and 13 work there [2]"]);
    }

    #[test]
    fn a_citation_stands_behind_what_comes_before_it() {
        check("It cost 5. It was built in 1911 [1][2]. Then more.", &[("It was built in 1911", 0..2)]);
        check("It cost 5. [1] It grew [2].", &[("It cost 5.", 0..1), ("It grew", 1..2)]);
        check("A costs 5 [1], B costs 6 [2].", &[("A costs 5", 0..1), ("B costs 6", 1..2)]);
        check("According to [1], it cost 5. More.", &[("According to , it cost 5.", 0..1)]);
        check("1. **Dues** are 4 [1]\n- Loan: 5 [2]", &[("Dues are 4", 0..1), ("Loan: 5", 1..2)]);
        check("| Day | 18.9 [1] | 21.4 [2] |", &[("Day 18.9", 0..1), ("21.4", 1..2)]);
        check("水闸耗资4亿元。[1]它在2030年建成[2]。", &[("水闸耗资4亿元。", 0..1), ("它在2030年建成", 1..2)]);
        check("- [1]\n", &[]);
    }
}
