//! A report that stands whole in a block of code, or in a field of JSON, as models write it that were asked for one or
//! take it for one. Only its whole text shows that.

use serde_json::Value;

use super::{address, entries, lines};

/// Words of a sentence, or signs in a script without spaces.
const WORDS_OF_SENTENCE: usize = 6;
const SIGNS_OF_SENTENCE: usize = 12;
/// Lines of text before the block that holds the report.
const LINES_BEFORE: usize = 1;
/// What stands in code alone, at the front of a line.
const FRONTS_OF_CODE: [&str; 5] = ["#!", "\"\"\"", "'''", "import ", "def "];

/// Returns the report that the text holds, with the line before it; `None` when it is none but the text itself.
pub(super) fn report(text: &str) -> Option<String> {
    if let Some(report) = in_json(text) {
        return Some(report);
    }
    let (before, inside) = in_block(text)?;
    let report = in_json(inside).or_else(|| is_report(inside).then(|| inside.to_owned()))?;
    Some(format!("{before}{report}"))
}

/// Returns what stands before the only block of code of a text, one line at most, and what it holds.
fn in_block(text: &str) -> Option<(&str, &str)> {
    let mut before = 0;
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    let count = loop {
        let line = lines.next()?;
        if let Some(count) = opens(line) {
            // What begins with a block of Markdown is unwrapped as it comes.
            let is_known = before == 0 && lines::opens_markdown(line.trim()).is_some();
            break Some(count).filter(|_| !is_known)?;
        }
        before += usize::from(!line.trim().is_empty());
        if before > LINES_BEFORE {
            return None;
        }
        at += line.len();
    };
    let from = text.len() - lines.clone().map(str::len).sum::<usize>();
    let mut to = from;
    let mut inner: Option<lines::Fence> = None;
    for line in lines.by_ref() {
        let line_end = line.trim_end();
        if inner.is_none() && lines::closes_code(line_end, count) {
            let is_rest = lines.all(|line| line.trim().is_empty());
            return is_rest.then(|| (&text[..at], &text[from..to]));
        }
        inner = match inner {
            Some(fence) => Some(fence).filter(|fence| fence.judge(line_end) == lines::Inside::Code),
            None => lines::Lists::default().follow(line_end),
        };
        to += line.len();
    }
    None
}

/// Returns the backticks that open a block of code of no language, of Markdown or of JSON.
fn opens(line: &str) -> Option<usize> {
    let name = line.trim_start_matches('`');
    let count = line.len() - name.len();
    let is_of_text = matches!(
        name.trim().to_ascii_lowercase().as_str(),
        "" | "markdown" | "md" | "text" | "txt" | "plaintext" | "json"
    );
    (count >= lines::SHORTEST_FENCE && is_of_text).then_some(count)
}

/// Returns the only report among the fields of an object.
fn in_json(text: &str) -> Option<String> {
    let text = text.trim();
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return None };
    let mut reports = fields.into_iter().filter_map(|(_, value)| match value {
        Value::String(text) if is_report(&text) => Some(text),
        _ => None,
    });
    reports.next().filter(|_| reports.next().is_none())
}

/// Returns whether a text is a report in Markdown, rather than code with comments that look like headings: a heading,
/// and a paragraph or a list of sources, but nothing of code outside of blocks.
fn is_report(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_titled = lines.next().and_then(lines::heading).is_some_and(|(level, title)| {
        !title.starts_with(['-', '=', '#', '!', '/', '$', '~', '@']) && text.trim_start()[level..].starts_with(' ')
    });
    let is_code = |line: &str| FRONTS_OF_CODE.iter().any(|front| line.starts_with(front));
    let (mut says, mut after_blank, mut in_code) = (false, true, false);
    for line in text.lines() {
        let trimmed = line.trim();
        in_code ^= lines::possible_fence(line).is_some();
        if in_code {
            continue;
        }
        if is_code(trimmed) {
            return false;
        }
        says |= after_blank && is_sentence(line) || is_entry_of_list(trimmed);
        after_blank = trimmed.is_empty() || lines::heading(trimmed).is_some();
    }
    is_titled && says
}

/// Returns whether a line is a sentence of a paragraph, or the first item of a list.
fn is_sentence(line: &str) -> bool {
    let text = lines::without_containers(line).trim_start_matches(['*', '_']);
    let end = text.trim_end_matches(|c: char| c.is_whitespace() || c.is_numeric() || "[]()（）【】*_,;".contains(c));
    let words = end.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
    let signs = end.chars().filter(|c| *c >= '\u{2E80}' && c.is_alphabetic()).count();
    text.starts_with(char::is_alphabetic)
        && end.ends_with(['.', '!', '?', '。', '！', '？', ':', '：'])
        && (words >= WORDS_OF_SENTENCE || signs >= SIGNS_OF_SENTENCE)
}

/// Returns whether a line is a heading over sources, or an entry with an address.
fn is_entry_of_list(trimmed: &str) -> bool {
    let is_entry = || entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone());
    lines::source_heading(trimmed).is_some_and(|heading| heading.certain && !heading.plain && heading.level < 7)
        || (address::holds_address(trimmed) && is_entry())
}
