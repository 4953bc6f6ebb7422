//! A document's text to sentences: paragraphs, list items, table rows and signatures, each one something that can be
//! quoted, under the heading above it.
//!
//! What comes out is plain text: no markup, no addresses, no brackets that could pass for a citation.

use std::sync::Arc;

use super::{
    is_unspaced,
    markup::plain,
    sentences::{begins_with_month, sentences},
    start, tables, whole_words,
};

/// A stretch of text that stands alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    pub text: String,
    /// The heading above it, which all below it share; may be empty.
    pub heading: Arc<str>,
    /// Counted from 0; sentences of one paragraph share it, those of a table too.
    pub paragraph: usize,
    /// It stands behind marks of quotation, or as text right below a line that does: others may have said it.
    pub quoted: bool,
}

/// Lines shorter than this are not taken for lines that were broken to fit a page.
const SHORTEST_WRAPPED: usize = 40;
/// The longest line that may have been broken to fit a page; longer ones are whole paragraphs.
const WIDEST_WRAPPED: usize = 140;

/// A longer sentence is torn, since no reader wants it whole and ranking looks at all of one at once.
const LONGEST_SENTENCE: usize = 1_200;
/// A longer heading, or name of a column, is cut: each sentence below has it beside it.
const LONGEST_HEADING: usize = 200;
/// Where the names of columns would make a table more than so many times as long, more than so many characters of them
/// are cut: each row has them beside its cells.
const MOST_TIMES: usize = 20;
const SHORT_NAME: usize = 40;
/// No greeting is longer, in bytes.
const LONGEST_GREETING: usize = 64;

const GREETINGS: &[&str] = &[
    "yours sincerely",
    "yours faithfully",
    "yours truly",
    "kind regards",
    "best regards",
    "sincerely",
    "regards",
    "mit freundlichen grüßen",
    "mit freundlichem gruß",
    "hochachtungsvoll",
];

/// Splits `text`; nothing in the result is empty.
pub fn split(text: &str) -> Vec<Sentence> {
    let mut splitter = Splitter { width: page_width(text), ..Splitter::default() };
    for line in tables::restored(text).lines() {
        splitter.line(line);
    }
    splitter.end_table();
    splitter.end_paragraph();
    splitter.sentences
}

#[derive(Default)]
struct Splitter {
    sentences: Vec<Sentence>,
    heading: Arc<str>,
    paragraph: usize,
    /// The paragraph being read, its lines joined.
    open: String,
    /// Lines of the paragraph so far.
    lines: usize,
    /// Characters of the last line of `open`.
    last_line: usize,
    /// The table being read, header first.
    table: Vec<Vec<String>>,
    /// Characters of a full line, if lines were broken to fit a page.
    width: Option<usize>,
    /// Marks of quotation before the last line, as mails have them.
    quoted: usize,
    /// What is read belongs to a quotation, which a line without such marks may go on with.
    is_quotation: bool,
    /// A rule stands below the first row of the table being read.
    is_ruled: bool,
}

impl Splitter {
    fn line(&mut self, line: &str) {
        let line = line.trim_end();
        let (quoted, trimmed) = unquoted(line.trim_start(), self.quoted > 0);
        if quoted != std::mem::replace(&mut self.quoted, quoted) {
            self.end_table();
            self.end_paragraph();
        }
        self.is_quotation |= quoted > 0;
        if let Some(cells) = cells(trimmed) {
            self.end_text(quoted);
            match is_rule(trimmed) {
                true => self.is_ruled |= self.table.len() == 1,
                false => self.table.push(cells),
            }
            return;
        }
        self.end_table();
        if trimmed.is_empty() || is_rule(trimmed) {
            self.end_text(quoted);
        } else if let Some(heading) = heading(trimmed) {
            self.end_text(quoted);
            self.heading = plain(start(heading, LONGEST_HEADING)).into();
        } else if let Some(item) = list_item(trimmed) {
            // Deeper than an item can stand, it goes on with the text above it.
            self.end_text(if is_deep(line) { self.is_quotation.into() } else { quoted });
            self.begin(line, item);
        } else if self.continues(trimmed) {
            self.join(line, trimmed);
        } else {
            self.break_line();
            self.begin(line, trimmed);
        }
    }

    fn begin(&mut self, line: &str, text: &str) {
        text.clone_into(&mut self.open);
        self.lines += 1;
        self.last_line = line.chars().count();
    }

    fn join(&mut self, line: &str, text: &str) {
        if is_signature(&self.open) && !is_greeting(&self.open) {
            self.open.push(',');
        }
        if !self.open.ends_with(is_unspaced) {
            self.open.push(' ');
        }
        self.open.push_str(text);
        self.lines += 1;
        self.last_line = line.chars().count();
    }

    /// Returns whether the line before was broken only because the page ended there.
    fn continues(&self, next: &str) -> bool {
        if self.open.is_empty() {
            return false;
        }
        if is_signature(&self.open) || next.starts_with(char::is_lowercase) {
            return true;
        }
        let first_word = next.split_whitespace().next().map_or(0, |word| word.chars().count());
        self.last_line >= SHORTEST_WRAPPED
            && self.width.is_some_and(|width| self.last_line + 1 + first_word > width.saturating_sub(6))
    }

    /// Ends a line without ending its paragraph.
    fn break_line(&mut self) {
        let open = std::mem::take(&mut self.open);
        let text = plain(&open);
        for text in sentences(&text).into_iter().flat_map(torn) {
            self.push(text.to_owned());
        }
    }

    fn end_paragraph(&mut self) {
        if is_greeting(&self.open) {
            return;
        }
        if (is_title(&self.open) && self.lines == 1) || is_question(&self.open) {
            self.heading = plain(start(&self.open, LONGEST_HEADING)).into();
        }
        self.break_line();
        self.lines = 0;
        self.paragraph += 1;
    }

    /// Ends a paragraph before a line behind so many marks that goes on with none, nor with a quotation.
    fn end_text(&mut self, quoted: usize) {
        self.end_paragraph();
        self.is_quotation = quoted > 0;
    }

    fn end_table(&mut self) {
        let (table, is_ruled) = (std::mem::take(&mut self.table), std::mem::take(&mut self.is_ruled));
        if !table.is_empty() {
            for row in rows(&table, is_ruled) {
                let row = plain(&row);
                torn(&row).into_iter().for_each(|part| self.push(part.to_owned()));
            }
            self.paragraph += 1;
        }
    }

    fn push(&mut self, text: String) {
        if text.chars().filter(|char| char.is_alphanumeric()).count() > 2 {
            let (heading, paragraph, quoted) = (Arc::clone(&self.heading), self.paragraph, self.is_quotation);
            self.sentences.push(Sentence { text, heading, paragraph, quoted });
        }
    }
}

/// Returns the width that most text of a hard-wrapped file keeps to; none for text with a paragraph per line.
fn page_width(text: &str) -> Option<usize> {
    let widest =
        text.lines().filter(|line| cells(line.trim()).is_none()).map(|line| line.trim_end().chars().count()).max()?;
    (SHORTEST_WRAPPED..=WIDEST_WRAPPED).contains(&widest).then_some(widest)
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t'])).then(|| rest.trim().trim_end_matches('#'))
}

/// Returns how many marks of quotation the line begins with, and what is behind them. Before an amount such a mark says
/// `more than`, unless it stands apart and the line before had one.
fn unquoted(line: &str, goes_on: bool) -> (usize, &str) {
    let text = line.trim_start_matches(['>', ' ']);
    let marks = &line[..line.len() - text.len()];
    let quoted = marks.bytes().filter(|byte| *byte == b'>').count();
    let compares = begins_with_amount(text) && !(goes_on && marks.ends_with(' '));
    if quoted > 0 && compares { (0, line) } else { (quoted, text) }
}

/// Returns whether a text begins with what a number may be more than: digits, a currency, the rest of `>=`.
fn begins_with_amount(text: &str) -> bool {
    let is_currency = |char: char| matches!(char, '$' | '£' | '¥' | '¤' | '\u{20a0}'..='\u{20cf}');
    let begins = |char: char| char.is_numeric() || is_currency(char) || "=~≈±+-−.,".contains(char);
    let code = text.trim_start_matches(|char: char| char.is_ascii_uppercase());
    let is_code = (2..=3).contains(&(text.len() - code.len()));
    let is_amount = |rest: &str| {
        rest.trim_start_matches(|char: char| char == ' ' || is_currency(char)).starts_with(char::is_numeric)
    };
    text.starts_with(begins) && !text.starts_with("- ") || is_code && is_amount(code)
}

/// Returns the text of a list item.
pub fn list_item(line: &str) -> Option<&str> {
    if let Some(rest) = ["- ", "* ", "+ ", "• ", "– ", "· "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest.trim_start());
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    ((1..=2).contains(&digits) && !begins_with_month(rest)).then(|| rest.trim_start())
}

/// Returns whether the line is indented so far that it begins nothing new behind text.
fn is_deep(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with('\t')
}

/// Returns whether the line only draws a line.
fn is_rule(line: &str) -> bool {
    line.len() > 2 && line.chars().all(|char| "-=_*|:+ \t".contains(char))
}

/// Returns the cells of a table row: between bars, tabs, or at least two spaces.
fn cells(line: &str) -> Option<Vec<String>> {
    let owned = |cells: Vec<&str>| cells.into_iter().map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    if line.starts_with('|') && line.matches('|').count() > 1 {
        return Some(owned(line.trim_matches('|').split('|').collect()));
    }
    if line.matches(" | ").count() > 1 || line.contains('\t') {
        return Some(owned(line.split(['|', '\t']).collect()));
    }
    let columns: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    (columns.len() > 2).then(|| owned(columns))
}

/// Returns a sentence per row, each cell after the header above it.
fn rows(table: &[Vec<String>], is_ruled: bool) -> Vec<String> {
    let [header, rows @ ..] = table else { return Vec::new() };
    let header = &header.iter().map(|name| start(name, LONGEST_HEADING).to_owned()).collect::<Vec<_>>();
    let is_name = |(name, has_words): (&String, bool)| {
        let names_figures = has_letter(name) && !has_words;
        may_be_name(name) || (is_ruled || name.ends_with([')', ']'])) && names_figures
    };
    let is_header = !rows.is_empty() && header.iter().zip(worded(header.len(), rows)).all(is_name);
    if !is_header {
        return table.iter().map(|row| joined(row)).collect();
    }
    let subject = usize::from(is_counted(rows));
    let header = &names(header, rows);
    let text = |row: &Vec<String>| match row.len() == header.len() {
        true => labelled(header, row, subject),
        false => joined(row),
    };
    rows.iter().map(text).collect()
}

/// Returns whether a cell may be the name of its column. One that begins with a digit is the first of its values,
/// unless it is a year.
fn may_be_name(name: &str) -> bool {
    let is_year = name.len() == 4 && name.bytes().all(|byte| byte.is_ascii_digit());
    !name.starts_with(|char: char| char.is_ascii_digit()) || is_year
}

/// Returns whether a value in a column has letters, for each column. A cell that has some where no value below it has
/// any, `8 h mean (ppm)`, is the name of its column, behind a rule or with a unit in brackets; else it may be a fare
/// like those below it, `4 crowns` over `5`.
fn worded(columns: usize, rows: &[Vec<String>]) -> Vec<bool> {
    let mut worded = vec![false; columns];
    for row in rows {
        for (has_words, value) in worded.iter_mut().zip(row) {
            *has_words |= has_letter(value);
        }
    }
    worded
}

fn has_letter(text: &str) -> bool {
    text.contains(char::is_alphabetic)
}

/// Returns the names of the columns as they stand beside the cells of each row.
fn names(header: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let length = |row: &[String]| row.iter().map(|cell| cell.len() + 1).sum::<usize>();
    let labelled = rows.iter().filter(|row| row.len() == header.len()).count();
    let whole = length(header) + rows.iter().map(|row| length(row)).sum::<usize>();
    let is_long = length(header) * labelled > MOST_TIMES * whole;
    let longest = if is_long { SHORT_NAME } else { LONGEST_HEADING };
    header.iter().map(|name| start(name, longest).to_owned()).collect()
}

/// Returns whether the first cells only count the rows, so that these are named by their second ones.
fn is_counted(rows: &[Vec<String>]) -> bool {
    let number =
        |row: &Vec<String>| row.first()?.trim_end_matches(['.', ')']).parse::<u16>().ok().filter(|at| *at < 1_000);
    let numbers: Option<Vec<u16>> = rows.iter().map(number).collect();
    let is_named = |row: &Vec<String>| row.get(1).is_some_and(|name| name.contains(char::is_alphabetic));
    numbers
        .is_some_and(|numbers| numbers.len() > 1 && numbers.is_sorted_by(|one, next| one <= next && *next <= one + 2))
        && rows.iter().all(is_named)
}

fn joined(row: &[String]) -> String {
    row.iter().filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// Returns a row as a sentence; `subject` is the column that names it.
fn labelled(header: &[String], row: &[String], subject: usize) -> String {
    let pair = |(name, cell): (&String, &String)| match (name.as_str(), cell.as_str()) {
        (_, "") => None,
        ("", cell) => Some(cell.to_owned()),
        (name, cell) => Some(format!("{name}: {cell}")),
    };
    let pairs = |without: Option<usize>| {
        let cells = header.iter().zip(row).enumerate().filter(|(column, _)| Some(*column) != without);
        cells.filter_map(|(_, cell)| pair(cell)).collect::<Vec<_>>().join("; ")
    };
    let names_figures = header.iter().skip(1).all(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    match row.get(subject) {
        // Columns named by numbers alone, years mostly: the corner says of what they are.
        Some(first) if names_figures && header.len() > 2 => format!("{first} – {} {}", header[0], pairs(Some(0))),
        Some(name) if name.contains(char::is_alphabetic) => format!("{name} – {}", pairs(Some(subject))),
        _ => pairs(None),
    }
}

/// Returns whether the line stands alone and is no sentence, such as the subject of a letter.
fn is_title(line: &str) -> bool {
    let is_short = (4..=90).contains(&line.chars().count());
    is_short
        && !line.ends_with(['.', ',', ':', ';', '!', '?', '-'])
        && !line.ends_with(|char: char| char.is_ascii_digit() || is_unspaced_end(char))
        && line
            .trim_start_matches(|char: char| char.is_ascii_digit() || " .(".contains(char))
            .starts_with(char::is_uppercase)
}

/// Returns whether the paragraph asks: then it is a heading of the answer below it.
fn is_question(paragraph: &str) -> bool {
    paragraph.ends_with(['?', '\u{ff1f}']) || ["Q. ", "Q: ", "F: "].iter().any(|start| paragraph.starts_with(start))
}

/// Returns whether the text begins with the end of a letter.
pub fn is_signature(text: &str) -> bool {
    let near = &text[..text.floor_char_boundary(LONGEST_GREETING)];
    near.split_once(',').map_or(text, |(head, _)| head).len() <= LONGEST_GREETING
        && is_greeting(near.split(',').next().unwrap_or_default())
}

/// Returns whether it is a row of a table, as [`split`] writes it.
pub fn is_row(text: &str) -> bool {
    row_name(text).is_some()
}

/// Returns the name of such a row.
pub fn row_name(text: &str) -> Option<&str> {
    text.split_once(" – ").filter(|(_, rest)| rest.contains(": ")).map(|(name, _)| name)
}

fn is_greeting(text: &str) -> bool {
    if text.len() > LONGEST_GREETING {
        return false;
    }
    let text = text.trim().trim_end_matches([',', '.', '!']).to_lowercase();
    GREETINGS.contains(&text.as_str())
}

/// Returns pieces of at most [`LONGEST_SENTENCE`] characters, torn between words where there are any.
fn torn(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let piece = whole_words(rest, LONGEST_SENTENCE);
        pieces.push(piece);
        rest = rest[piece.len()..].trim_start();
    }
    pieces
}

/// Returns whether this is the full-width stop, exclamation mark, question mark or semicolon.
fn is_unspaced_end(char: char) -> bool {
    matches!(char, '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1b}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn check(text: &str, expected: &[&str]) {
        let texts: Vec<_> = split(text).into_iter().map(|sentence| sentence.text).collect();
        assert_eq!(texts, expected, "{text}");
    }

    #[test]
    fn table_rows_carry_their_headers() {
        check(
            "| District | Yes | No |\n|---|---|---|\n| Sallow Bay | 81% | 19% |\n| Harbour | 68% | |",
            &["Sallow Bay – Yes: 81%; No: 19%", "Harbour – Yes: 68%"],
        );
        check("No  Name   Hours\n--  -----  -----\n01  Heron   13.5", &["No: 01; Name: Heron; Hours: 13.5"]);
    }

    #[test]
    fn tables_take_time_in_proportion_and_no_more_room() {
        growth::check("|8 a)", 8_000, |head| {
            drop(split(&format!("{head}|\n|---|\n{}", "|1|\n".repeat(head.len() / 5))));
        });
        growth::check("Heron 3 5\n", 8_000, |rows| {
            drop(split(&format!("MWh 2029 2030\n{rows}{}3 5", "word ".repeat(rows.len() / 5))));
        });
        let head = format!("|{}", format!("{}|", "a".repeat(200)).repeat(6));
        let wide = |rows: usize| format!("{head}\n|---|\n{}", "|1|1|1|1|1|1|\n".repeat(rows));
        let length = |text: &str| split(text).iter().map(|sentence| sentence.text.len()).sum::<usize>();
        assert!(length(&wide(2_000)) < 25 * wide(2_000).len(), "{}", length(&wide(2_000)));
        assert!(length(&wide(9)) > 9 * 6 * 200, "names are whole where they are no burden");
    }

    #[test]
    fn rows_are_named_by_what_has_letters() {
        check(
            "| # | Club | Pts |\n|---|---|---|\n| 1 | Ashgrove | 46 |\n| 2 | Fenwick | 44 |",
            &["Ashgrove – #: 1; Pts: 46", "Fenwick – #: 2; Pts: 44"],
        );
        check(
            "| Year | Club | Pts |\n|---|---|---|\n| 2030 | Ashgrove | 46 |\n| 2031 | Fenwick | 44 |",
            &["Year: 2030; Club: Ashgrove; Pts: 46", "Year: 2031; Club: Fenwick; Pts: 44"],
        );
        check(
            "| Limit | 8 h mean (ppm) |\n|---|---|\n| Site | 400 |\n| Statutory | 500 |",
            &["Site – 8 h mean (ppm): 400", "Statutory – 8 h mean (ppm): 500"],
        );
        check("| Barge | 4 crowns |\n| Ferry | 5 crowns |", &["Barge; 4 crowns", "Ferry; 5 crowns"]);
        check("| Barge | 4 crowns |\n| Ferry | 5 |\n| Punt | 6 |", &["Barge; 4 crowns", "Ferry; 5", "Punt; 6"]);
        check("| Limit | 8 h mean (ppm) |\n| Site | 400 |", &["Site – 8 h mean (ppm): 400"]);
        check("| Limit | 8 h mean |\n|---|---|\n| Site | 400 |", &["Site – 8 h mean: 400"]);
    }

    #[test]
    fn marks_of_quotation_are_no_text() {
        check(
            "It closes at eight.\n> A. Berg wrote:\n> It closes at ten, as everybody knows who swims there on\n> warm evenings.\nYes.",
            &[
                "It closes at eight.",
                "A. Berg wrote:",
                "It closes at ten, as everybody knows who swims there on warm evenings.",
                "Yes.",
            ],
        );
        for amount in ["> 5 tons", ">= 18 years", "> USD 5 million", ">$5 million", "> EUR 5", "> -2 degrees"] {
            check(
                &format!("Toll of a barge:\n{amount} are free."),
                &["Toll of a barge:", &format!("{amount} are free.")],
            );
        }
        check(">90% of boats agree\n>80% of crews too", &[">90% of boats agree", ">80% of crews too"]);
        check("> In 2030 it was free.\n>> USA, 5 May", &["In 2030 it was free.", "USA, 5 May"]);
    }

    #[test]
    fn quotations_are_known() {
        let text = "She wrote.\n> Gates were shut.\nNobody came in.\n\nBoats are here.\n\n>> So it is.\n\nIt was";
        let quoted: Vec<bool> = split(text).into_iter().map(|sentence| sentence.quoted).collect();
        assert_eq!(quoted, [false, true, true, false, true, false]);
        for own in
            ["## Gate\nIt is shut.", "- It is shut.", "* It is\n  shut.", "| Gate | shut | now |", "---\nIt is shut."]
        {
            let sentences = split(&format!("> Why is it shut?\n{own}"));
            assert_eq!(sentences.iter().map(|sentence| sentence.quoted).collect::<Vec<_>>(), [true, false], "{own}");
        }
        let deep = split("> Why is it shut?\n    - It is shut.\n\n- It is open.\n    - All day.");
        assert_eq!(deep.iter().map(|sentence| sentence.quoted).collect::<Vec<_>>(), [true, true, false, false]);
    }

    #[test]
    fn wrapped_lines_are_joined_and_short_ones_are_not() {
        let wrapped =
            "The exclusion zone is 250 metres around each of\nthe three turbines, and it applies to all\nvessels.";
        check(
            wrapped,
            &["The exclusion zone is 250 metres around each of the three turbines, and it applies to all vessels."],
        );
        check("HARBOUR OFFICE\nThe Harbour Master", &["HARBOUR OFFICE", "The Harbour Master"]);
        check(
            "Yours sincerely,\n\nMaud Tregarrow\nHarbour Master",
            &["Yours sincerely, Maud Tregarrow, Harbour Master"],
        );
    }

    #[test]
    fn headings_and_items_are_known() {
        let sentences = split("# Costs\n\n- first one here\n- **second** [one](http://x.y)\n\n1. third one");
        let texts: Vec<_> = sentences.iter().map(|sentence| (&*sentence.heading, &*sentence.text)).collect();
        assert_eq!(texts, [("Costs", "first one here"), ("Costs", "second one"), ("Costs", "third one")]);
        let is_shared = |pair: &[Sentence]| Arc::ptr_eq(&pair[0].heading, &pair[1].heading);
        assert!(sentences.windows(2).all(is_shared), "a long heading takes its room once");
    }
}
