//! The list of sources under a report, written by code.

use crate::domain::{Source, report::sources_heading, wording::Wording};

/// Returns the list for `cited` in order; when the text cites nothing, all of `retrieved`, with a sentence that says
/// so. Empty when there is neither.
pub fn render(cited: &[&Source], retrieved: &[Source], wording: &Wording) -> String {
    if retrieved.is_empty() {
        return String::new();
    }
    let heading = sources_heading(wording);
    if cited.is_empty() {
        return format!("{heading}{}\n\n{}", wording.uncited, numbered(retrieved.iter()));
    }
    format!("{heading}{}", numbered(cited.iter().copied()))
}

fn numbered<'a>(sources: impl Iterator<Item = &'a Source>) -> String {
    let line =
        |(index, source): (usize, &Source)| format!("- [{}] {}: {}\n", index + 1, title(source), address(&source.url));
    sources.enumerate().map(line).collect()
}

/// Returns title and section on one line, without characters that could make a link or markup of them.
fn title(source: &Source) -> String {
    let title = match &source.section {
        Some(section) if *section != source.title => format!("{}, {section}", source.title),
        _ => source.title.clone(),
    };
    let plain: String = title.chars().map(|c| if "[]<>`\\".contains(c) || c.is_control() { ' ' } else { c }).collect();
    plain.replace("://", ": ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns an address that stays one word and ends where it should.
fn address(url: &str) -> String {
    let encode = |c: char| match c {
        ' ' => "%20".to_owned(),
        '<' => "%3C".to_owned(),
        '>' => "%3E".to_owned(),
        '[' => "%5B".to_owned(),
        ']' => "%5D".to_owned(),
        c if c.is_control() => String::new(),
        c => c.to_string(),
    };
    url.chars().map(encode).collect()
}
