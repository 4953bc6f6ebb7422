//! Which statement of a report a citation stands behind.

use std::ops::Range;

use super::{
    plain::{joints, marks, plain},
    quotations::{self, Quotation},
};
use crate::{
    domain::report::Citation,
    text::{is_number, is_unspaced, sentences, words},
};

/// Shorter lines are not taken for lines that were broken.
const SHORTEST_WRAPPED: usize = 40;
/// Bytes of a label before a colon.
const LABEL: usize = 40;
/// Words of a further one whose statement follows, `Laut Rat [1] und Hafen [2] …`, and characters in a script without
/// spaces.
const LONGEST_NAME: usize = 3;
const LONGEST_UNSPACED: usize = 8;

/// Between clauses.
const MARKS_OF_CLAUSES: [char; 7] = [',', '，', ';', '；', ':', '：', '、'];

/// Digits of a year.
const YEAR: usize = 4;

/// Words that begin a statement by naming whose it is, where the verb follows behind the name, without a comma.
const ATTRIBUTIONS_BEFORE_VERB: &[&str] = &["laut ", "gemäß ", "nach angaben ", "nach auskunft ", "volgens "];

/// The same in other languages.
const ATTRIBUTIONS: &[&str] = &[
    "according to ",
    "selon ",
    "d'après ",
    "d’après ",
    "según ",
    "de acuerdo con ",
    "secondo ",
    "stando a",
    "segundo ",
    "de acordo com ",
    "согласно ",
    "по данным ",
    "по словам ",
    "根据",
    "据",
    "وفقا",
    "وفقًا",
    "بحسب ",
];

/// Words that do so behind the name.
const ATTRIBUTIONS_BEHIND: &[&str] = &[" zufolge", "によると", "によれば", "에 따르면"];

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
    /// What is quoted in it.
    pub quotations: Vec<Quotation>,
}

/// Citations that stand side by side, with their bytes.
struct Group {
    place: Range<usize>,
    citations: Range<usize>,
}

/// Returns the cited statements of a text, in order. A citation stands behind what comes before it, up to the one
/// before or the begin of the sentence; the last one of a sentence also behind its rest. One behind words that only
/// say whose statement follows (`According to the council [1], …`) stands behind what follows, with the next one.
pub fn cited(text: &str, citations: &[Citation]) -> Vec<Cited> {
    let places = byte_places(text, citations);
    let text = &unwrapped(text);
    let mut statements = Vec::new();
    let (mut next, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let last =
            places[next..].iter().position(|place| place.start >= end).map_or(places.len(), |found| next + found);
        if last > next {
            let groups = groups(text, &places, next..last);
            Line::new(text, at..end, &groups).add_statements(&mut statements);
        }
        (next, at) = (last, end);
    }
    statements
}

/// Returns the text, byte for byte, with spaces where a paragraph goes on in the next line.
fn unwrapped(text: &str) -> String {
    let mut unwrapped = String::with_capacity(text.len());
    let mut before = "";
    for line in text.split_inclusive('\n') {
        if goes_on(before, line) && unwrapped.pop().is_some() {
            unwrapped.push(' ');
            let quote = line.len() - line.trim_start_matches(['>', ' ']).len();
            unwrapped.extend(std::iter::repeat_n(' ', quote));
            unwrapped.push_str(&line[quote..]);
        } else {
            unwrapped.push_str(line);
        }
        before = line;
    }
    unwrapped
}

/// Returns whether a paragraph goes on in the next line. Lines one below the other without a full stop may be
/// statements of their own: they go on if they look it, or are as long as lines that were broken.
fn goes_on(line: &str, next: &str) -> bool {
    let is_item = |line: &str| marks(line) > line.len() - line.trim_start_matches(['>', ' ', '\t']).len();
    let is_quote = |line: &str| line.trim_start().starts_with('>');
    let begins_apart = is_apart(next) || is_item(next) || is_quote(next) && !is_quote(line);
    let is_broken = ["  ", "\\", "<br>"].iter().any(|mark| line.trim_end_matches(['\r', '\n']).ends_with(mark));
    if is_apart(line) || begins_apart || is_broken {
        return false;
    }
    let (line, next) = (line.trim(), next.trim_start_matches(['>', ' ', '\t']));
    let is_label =
        || next.starts_with(['*', '_']) || next.split_once(':').is_some_and(|(label, _)| label.len() < LABEL);
    let is_long = || line.chars().count() >= SHORTEST_WRAPPED && !line.ends_with(']') && !is_label();
    // A digit behind a citation may be a year of another line: `2030: 5 boats [1]`.
    let is_more =
        |char: char| char.is_lowercase() || char.is_ascii_digit() && !line.ends_with(']') || "[(".contains(char);
    next.starts_with(is_more) || is_ended(line) || line.ends_with([',', ';', '–', '—', '，', '；', '、']) || is_long()
}

/// Returns whether a line stands by itself: empty, a heading, all of it emphasised as one, a row of a table, a rule,
/// code, HTML, an address.
fn is_apart(line: &str) -> bool {
    let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
    let is_emphasised = |mark: &str| {
        let inside = line.strip_prefix(mark).and_then(|rest| rest.trim_end_matches(':').strip_suffix(mark));
        inside.is_some_and(|inside| !inside.contains(mark)) && !is_ended(line)
    };
    line.is_empty()
        || line.starts_with(['#', '|', '<'])
        || line.contains(" | ")
        || ["**", "__"].into_iter().any(is_emphasised)
        || ["```", "~~~", "---", "===", "***", "___"].iter().any(|mark| line.starts_with(mark))
        || line.starts_with('[') && line.contains("]:")
}

/// Returns whether a sentence ends with the text, closing marks aside.
fn is_ended(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(['"', '”', '“', '»', '«', '」', '』', '*', '_']);
    text.ends_with(['.', '!', '?', '。', '！', '？'])
}

/// Returns where the citations stand, in bytes; themselves they count characters.
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

/// A line with citations: a paragraph, an item, a row.
struct Line<'a> {
    text: &'a str,
    range: Range<usize>,
    groups: &'a [Group],
    is_row: bool,
    quotations: Vec<Range<usize>>,
}

impl<'a> Line<'a> {
    fn new(text: &'a str, range: Range<usize>, groups: &'a [Group]) -> Self {
        let own = &text[range.clone()];
        let shifted = |span: Range<usize>| span.start + range.start..span.end + range.start;
        let quotations = quotations::spans(own).into_iter().map(shifted).collect();
        Self { text, is_row: own.trim_start().starts_with('|'), range, groups, quotations }
    }

    fn add_statements(&self, statements: &mut Vec<Cited>) {
        let mut from = self.range.start;
        let mut opened: Option<Cited> = None;
        for (number, group) in self.groups.iter().enumerate() {
            let is_first = opened.is_none();
            let is_ended = is_ended(&self.text[from..group.place.start]);
            let mut own = opened.take().unwrap_or_else(|| {
                let start = self.start(from, group);
                from = start;
                let citations = group.citations.clone();
                Cited { place: start..start, text: String::new(), citations, quotations: Vec::new() }
            });
            let before = &self.text[from..group.place.start];
            own.text.push_str(before);
            own.citations.end = group.citations.end;
            from = group.place.end;
            let behind = &self.text[group.place.end..self.range.end];
            let names_whose = if is_first { names_whose(before, behind) } else { names_another(before) };
            if names_whose && self.goes_on(number) {
                opened = Some(own);
                continue;
            }
            let tail = self.tail(number, is_ended);
            from = tail.end;
            own.place.end = from;
            own.text = plain(&format!("{} {}", own.text, &self.text[tail]));
            own.quotations = self.quotations_in(&own.place);
            if has_words(&own.text) {
                statements.push(own);
            }
        }
    }

    /// Returns what is quoted in a place from begin to end.
    fn quotations_in(&self, place: &Range<usize>) -> Vec<Quotation> {
        let from = self.quotations.partition_point(|span| span.start < place.start);
        let own = self.quotations[from..].iter().take_while(|span| span.end <= place.end);
        own.filter_map(|span| Quotation::read(&self.text[span.clone()])).collect()
    }

    /// Returns where the statement before a group begins that begins at `from` or later.
    fn start(&self, from: usize, group: &Group) -> usize {
        let end = group.place.start;
        let start = last_sentence(&self.text[from..end]).map_or(end, |begin| from + begin);
        // What is quoted may have several sentences: who said it stands before them all.
        let before = self.quotations.partition_point(|span| span.start < start);
        let around = self.quotations[..before].last().filter(|span| span.start >= from && start <= span.end);
        let start = around.map_or(start, |span| {
            let before = sentences(&self.text[from..span.start]).pop();
            before.map_or(span.start, |before| before.as_ptr() as usize - self.text.as_ptr() as usize)
        });
        let start = start + marks(&self.text[start..end]);
        start + joints(&self.text[start..end])
    }

    /// Returns whether the sentence goes on behind a group up to the next one.
    fn goes_on(&self, number: usize) -> bool {
        let Some(next) = self.groups.get(number + 1) else { return false };
        let between = &self.text[self.groups[number].place.end..next.place.start];
        !self.is_row && has_words(between) && sentences(between).len() == 1 && !is_ended(between)
    }

    /// Returns what behind a group belongs to its statement, beginning with the end of the group.
    fn tail(&self, number: usize, is_ended: bool) -> Range<usize> {
        let group = &self.groups[number];
        let next = self.groups.get(number + 1).map_or(self.range.end, |next| next.place.start);
        let rest = &self.text[group.place.end..next];
        let is_last = next == self.range.end;
        let begin = self.text[self.range.start..group.place.start].trim_start_matches(['|', ' ', '\t']);
        if self.is_row && is_last && !begin.contains('|') {
            // What the name of a row cites stands behind the row.
            let row = rest.trim_end().trim_end_matches(['|', ' ', '\t']);
            return group.place.end..group.place.end + row.len();
        }
        // What stands in the next cell of a table is another matter.
        let cell = if self.is_row { rest.split('|').next().unwrap_or_default() } else { rest };
        let first = sentences(cell).first().map_or("", |first| *first);
        // What stands before another citation is that one's.
        let is_own = !is_ended && has_words(first) && (self.is_row || is_last || first.len() < rest.trim().len());
        let length = if is_own { rest.find(first).unwrap_or(0) + first.len() } else { 0 };
        group.place.end..group.place.end + length
    }
}

/// Returns whether a text only names the one whose statement follows `behind` it, and states nothing yet: `According to
/// the council, it cost 5 [1], and …` does.
fn names_whose(text: &str, behind: &str) -> bool {
    let lower = text.trim_matches(['*', '_', ' ']).to_lowercase();
    if ATTRIBUTIONS_BEHIND.iter().any(|words| lower.ends_with(words)) {
        return true;
    }
    let is_year = |word: &str| word.len() == YEAR && word.bytes().all(|byte| byte.is_ascii_digit());
    let has_figure = || words(&lower).into_iter().any(|word| is_number(word) && !is_year(word));
    let goes_on = || lower.contains(MARKS_OF_CLAUSES);
    // Where the verb follows at once, a comma begins another clause: `Laut Rat kostet es 5 [1], und …`.
    let is_of = |all: &[&str]| all.iter().any(|words| lower.starts_with(words));
    let is_followed = || !behind.trim_start().starts_with([',', ';']);
    let is_attribution = is_of(ATTRIBUTIONS) || is_of(ATTRIBUTIONS_BEFORE_VERB) && is_followed();
    is_attribution && !goes_on() && !has_figure()
}

/// Returns whether a text behind the name of one whose statement follows only names another one: `und Hafen`.
fn names_another(text: &str) -> bool {
    let states = text.contains(|char: char| char.is_numeric() || MARKS_OF_CLAUSES.contains(&char));
    let unspaced = text.chars().filter(|char| is_unspaced(*char)).count();
    !states && unspaced <= LONGEST_UNSPACED && words(text).len() <= LONGEST_NAME
}

/// Finds where the last sentence begins that says something.
fn last_sentence(text: &str) -> Option<usize> {
    let last = sentences(text).into_iter().rfind(|sentence| has_words(sentence))?;
    Some(last.as_ptr() as usize - text.as_ptr() as usize)
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
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
        check("- It cost 5\n  crowns [1].\n", &["It cost 5\n  crowns [1]"]);
        check("| 2030 [1] | 413,000 | 4 |\n", &["2030 [1] | 413,000 | 4"]);
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
        check("| 2030 [1] | 413,000 | 4 |\n", &[("2030 413,000 4", 0..1)]);
    }

    #[test]
    fn a_statement_goes_on_in_the_next_line() {
        check(
            "It cost 413,000 crowns;\nthe council paid it [1].",
            &[("It cost 413,000 crowns; the council paid it", 0..1)],
        );
        check("- It cost 413,000\n  crowns in 2030 [1].", &[("It cost 413,000 crowns in 2030", 0..1)]);
        check("> It cost 413,000,\n> and more [1].", &[("It cost 413,000, and more", 0..1)]);
        let long = "Die Reparatur der alten Anlage kostete die\nGemeinde 413.000 Kronen [1].";
        check(long, &[("Die Reparatur der alten Anlage kostete die Gemeinde 413.000 Kronen", 0..1)]);
        check("It cost 5.\n[1]", &[("It cost 5.", 0..1)]);
        let apart = [("Cost 5", 0..1), ("Height 4 m", 1..2)];
        for text in ["Cost 5 [1]\nHeight 4 m [2]", "# Cost 5 [1]\nHeight 4 m [2]", "Cost 5 [1]\n\nHeight 4 m [2]"] {
            check(text, &apart);
        }
        check("2030: 5 boats [1]\n2031: 7 boats", &[("2030: 5 boats", 0..1)]);
        check("2030: 5 boats [1]\n2031: 7 boats [2]", &[("2030: 5 boats", 0..1), ("2031: 7 boats", 1..2)]);
        check("It cost\n5 crowns [1]", &[("It cost 5 crowns", 0..1)]);
        check("Height 4 m\nCost 5 [1]", &[("Cost 5", 0..1)]);
        check("Height 4 m  \nand cost 5 [1]", &[("and cost 5", 0..1)]);
        check("Height 4 m\n- it cost 5 [1]", &[("it cost 5", 0..1)]);
        for heading in
            ["**The costs of the harbour in the year 2029**", "__The costs of the harbour in 2029 and 2030:__"]
        {
            check(&format!("{heading}\nIt cost 5 [1]."), &[("It cost 5", 0..1)]);
        }
        check("**It cost 5.**\n[1]", &[("It cost 5.", 0..1)]);
        check("2029 | 4,350 MWh | supplied by the turbine of Holt\n2030 | 5 [1]", &[("2030 5", 0..1)]);
    }

    #[test]
    fn who_states_something_is_cited_for_what_follows() {
        check(
            "According to the council [1], it cost 413,000, and dues are 4 [2].",
            &[("According to the council , it cost 413,000, and dues are 4", 0..2)],
        );
        check("Laut Rat [1] und Hafen [2] kostet es 5.", &[("Laut Rat und Hafen kostet es 5.", 0..2)]);
        // The first one is cited for what stands before it.
        for (first, other) in [
            ("According to the council, it cost 413,000", "and dues are 4"),
            ("Laut Rat kostet es 413.000", "und es dauert 4 Tage"),
            ("Laut Rat ist das Tor geschlossen", "und es dauert 4 Tage"),
            ("По данным совета это стоит 413.000", "а взносы 4"),
        ] {
            check(&format!("{first} [1], {other} [2]."), &[(first, 0..1), (other, 1..2)]);
        }
        let report = "According to the report of 2031 [1], it cost 5, and dues are 4 [2].";
        check(report, &[("According to the report of 2031 , it cost 5, and dues are 4", 0..2)]);
        check(
            "According to it [1], it cost 5. It grew [2].",
            &[("According to it , it cost 5.", 0..1), ("It grew", 1..2)],
        );
        check("议会称[1]，耗资5亿元，费用为4[2]。", &[("议会称", 0..1), ("，耗资5亿元，费用为4", 1..2)]);
        check("据议会[1]，耗资5亿元，费用为4[2]。", &[("据议会，耗资5亿元，费用为4", 0..2)]);
        check("据议会[1]和港口[2]水闸已经永久关闭。", &[("据议会和港口 水闸已经永久关闭。", 0..2)]);
        // A short clause is no name.
        check(
            "According to the council [1], it cost 5 [2], and dues are 4 [3].",
            &[("According to the council , it cost 5", 0..2), ("and dues are 4", 2..3)],
        );
        check(
            "据议会[1]，水闸已经永久关闭[2]，费用为4[3]。",
            &[("据议会，水闸已经永久关闭", 0..2), ("，费用为4", 2..3)],
        );
    }

    #[test]
    fn a_quotation_of_several_sentences_is_one_statement() {
        check(
            "It is old. He said: “No gate here. We have no money.” [1] It grew [2].",
            &[("He said: “No gate here. We have no money.”", 0..1), ("It grew", 1..2)],
        );
        check("It is old. “No gate here. We have none” [1].", &[("“No gate here. We have none”", 0..1)]);
        check("“No gate. None,” he said. It grew [1].", &[("It grew", 0..1)]);
    }
}
