//! Evidence to short texts: what `Summarise` and `Compress` answer, and [`extract`], their common core.

use std::collections::HashSet;

use super::lists::{has, is_listed};
use super::orders::without_orders;
use super::rank::{self, best_from};
use super::statements::{HEADING_MARK, Joined, Statement};
use super::{Evidence, bounds, versions};
use crate::domain::distinct;
use crate::text::{self, Language, is_number, is_row, plain, terms, whole_words, word_count};

/// Length of all notes on a topic, words; two CJK characters count as one.
const NOTE_WORDS: usize = 1_400;
/// Sentences need more than 0.12 of the best one's score. So much has one that only stands before a sentence with the
/// question's words (0.3), without the kind of thing asked for (0.4).
const LEAST_SHARE: f64 = f64::next_up(0.12);
/// Longest heading that notes repeat.
const HEADING_CHARS: usize = 160;
/// Sentences looked at, best first: enough for the words allowed, and a bound on the comparisons.
const MOST_SENTENCES: usize = 150;
/// Those at the top of a document, among which one may date it.
const HEAD_SENTENCES: usize = 4;
/// Those of each document that are noted where none has to do with the topic.
const FIRST_SENTENCES: usize = 2;
/// And those noted because they say what replaces what, or guess.
const MOST_REPLACING: usize = 20;

/// Chooses the best sentences of `text` for `question`, in text order, `max_chars` characters at most; its beginning
/// when no sentence has to do with the question.
///
/// Sentences that stood together stay on a line, others are separated by an empty line; headings stand above theirs.
pub(super) fn extract(question: &str, text: &str, max_chars: usize) -> String {
    let (statements, mut chosen) = ranked(question, text);
    let mut room = max_chars;
    chosen.retain(|place| {
        let cost = statements[*place].text.chars().count() + 2;
        let fits = cost <= room + 2;
        room = if fits { room.saturating_sub(cost) } else { room };
        fits
    });
    if chosen.is_empty() {
        chosen = (0..statements.len()).collect();
    }
    chosen.sort_unstable();
    // Headings come on top of what was counted.
    whole_words(&joined(&statements, &chosen), max_chars).to_owned()
}

/// Chooses the best few sentences of `page`, each alone, best first.
pub(super) fn excerpts(question: &str, page: &str, count: usize) -> Vec<String> {
    let (statements, best) = ranked(question, page);
    best.into_iter().take(count).map(|place| statements[place].text.clone()).collect()
}

/// Returns what a page states, and the places of what has to do with the question, best first.
fn ranked(question: &str, page: &str) -> (Vec<Statement>, Vec<usize>) {
    let under = Statement::default();
    let sentences = without_orders(text::split(bounds::page(page))).into_iter();
    let statements: Vec<Statement> = sentences.map(|sentence| under.with(sentence)).collect();
    let best = best_from(&rank::rank(question, &statements).overall, LEAST_SHARE);
    (statements, best)
}

fn joined(statements: &[Statement], chosen: &[usize]) -> String {
    let (mut text, mut heading) = (String::new(), "");
    for (index, &place) in chosen.iter().enumerate() {
        let own = &statements[place];
        if *own.heading != *heading && *own.heading != *own.text && !own.heading.is_empty() {
            text.push_str(&format!("{}## {}\n\n", if text.is_empty() { "" } else { "\n\n" }, own.heading));
        } else if let Some(before) = index.checked_sub(1).map(|before| chosen[before]) {
            let together = before + 1 == place && statements[before].paragraph == own.paragraph;
            text.push_str(if together && text.ends_with(['.', '!', '?', '"', '”']) { " " } else { "\n\n" });
        }
        heading = &own.heading;
        text.push_str(&own.text);
    }
    text
}

/// Writes notes on `topic`: Markdown, a list per source under its title, most relevant source first.
pub(super) fn compress(topic: &str, evidence: &[Evidence]) -> String {
    let texts = bounds::texts(evidence.iter().map(|evidence| evidence.text.as_str()));
    let read = evidence.iter().zip(texts).enumerate();
    let statements: Vec<Statement> = read.flat_map(|(origin, (source, text))| quotable(origin, source, text)).collect();
    let mut kept = chosen(topic, &statements, evidence);
    if kept.is_empty() {
        let first = (0..statements.len()).filter(|place| is_among_first(FIRST_SENTENCES, &statements, *place));
        kept = first.map(|place| (place, statements[place].clone())).collect();
    }
    grouped(kept)
}

/// Returns what a source states that may be quoted: no orders to machines, and neither page headers, which repeat the
/// title and are no sentences, nor what only says that something is not known, unless there is nothing else.
fn quotable(origin: usize, source: &Evidence, text: &str) -> Vec<Statement> {
    let title: HashSet<String> = terms(&source.title, Language::of(&source.title)).into_iter().collect();
    let is_header = |text: &str| {
        let repeats = |term: &String| title.contains(term) || is_listed("of page headers", term) || is_number(term);
        let says_it = text != source.title && (text.ends_with(['.', '!', '\u{3002}']) || is_row(text));
        !title.is_empty() && !says_it && terms(text, Language::of(text)).iter().all(repeats)
    };
    let says_little = |said: &Statement| is_header(&said.text) || versions::is_ignorance(&said.text);
    let group = source.title.clone();
    let under = Statement { sources: vec![source.source_id], group, origin, ..Statement::default() };
    let statements = without_orders(text::split(text)).into_iter().map(|sentence| under.with(sentence));
    let (little, statements): (Vec<_>, Vec<_>) = statements.partition(says_little);
    if statements.is_empty() { little } else { statements }
}

/// Chooses the best statements on a topic, each with its place, those of the same meaning joined, best first.
fn chosen(topic: &str, all: &[Statement], evidence: &[Evidence]) -> Vec<(usize, Statement)> {
    let (mut kept, mut places) = (Joined::default(), Vec::new());
    let mut words = 0;
    // What says which document replaces which, that one guesses, or how old one is, is noted whatever the topic: the
    // report has to know.
    let replaces = (0..all.len()).filter(|place| {
        let text = all[*place].text.as_str();
        versions::replaces(text) || has("guesses", text) || dates(all, evidence, *place)
    });
    let good = best_from(&rank::rank(topic, all).overall, LEAST_SHARE).into_iter().take(MOST_SENTENCES);
    let noted = good.map(|place| (place, true)).chain(replaces.take(MOST_REPLACING).map(|place| (place, false)));
    let mut seen = HashSet::new();
    for (place, counts) in noted.filter(|(place, _)| seen.insert(*place)) {
        if words > NOTE_WORDS {
            break;
        }
        if kept.add(all[place].clone()) {
            words += if counts { word_count(&all[place].text) } else { 0 };
            places.push(place);
        }
    }
    places.into_iter().zip(kept.statements).collect()
}

/// Returns whether the statement dates a document that has no other date. Such a line stands at its beginning.
fn dates(all: &[Statement], evidence: &[Evidence], place: usize) -> bool {
    let source = &evidence[all[place].origin];
    source.published.is_none()
        && !source.url.contains('#')
        && is_among_first(HEAD_SENTENCES, all, place)
        && text::date_of_line(&all[place].text).is_some()
}

/// Returns whether it is among the first `count` statements of its text.
fn is_among_first(count: usize, all: &[Statement], place: usize) -> bool {
    place.checked_sub(count).is_none_or(|before| all[before].origin != all[place].origin)
}

/// Writes sources in the order of their best sentence, the sentences of each in text order.
fn grouped(mut kept: Vec<(usize, Statement)>) -> String {
    let source = |(_, statement): &(usize, Statement)| statement.sources.first().copied();
    let order = distinct(kept.iter().map(source));
    kept.sort_by_key(|one| (order.iter().position(|id| *id == source(one)), one.0));
    let mut notes = String::new();
    for of_source in kept.chunk_by(|one, other| source(one) == source(other)) {
        notes.push_str(&format!("### {}\n\n", plain(&of_source[0].1.group)));
        let mut heading = "";
        for (_, statement) in of_source {
            // A longer heading is a paragraph in itself.
            let is_heading = (1..=HEADING_CHARS).contains(&statement.heading.chars().count());
            if is_heading && *statement.heading != *heading {
                heading = &statement.heading;
                notes.push_str(&format!("\n{HEADING_MARK}{heading}\n\n"));
            }
            notes.push_str(&format!("- {}\n", statement.cited()));
        }
        notes.push('\n');
    }
    notes.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    fn evidence(id: u32, title: &str, text: &str) -> Evidence {
        Evidence { source_id: SourceId(id), title: title.into(), url: title.into(), published: None, text: text.into() }
    }

    #[test]
    fn an_extract_keeps_text_order_and_size() {
        let text = "The mill stood by the creek. Soup was served. The mill was destroyed in 1911. It rained.";
        let check =
            |max: usize, expected: &str| assert_eq!(extract("When was the mill destroyed?", text, max), expected);
        check(40, "The mill was destroyed in 1911.");
        check(66, "The mill stood by the creek.\n\nThe mill was destroyed in 1911.");
        assert_eq!(extract("herring", "One two three. Four five.", 13), "One two");
        assert_eq!(extract("herring", "", 13), "");
    }

    #[test]
    fn notes_name_the_sources_of_each_statement() {
        let notes = compress(
            "When was the mill destroyed?",
            &[
                evidence(1001, "Other", "Soup was served. The mill was destroyed in the storm of 1911."),
                evidence(
                    1002,
                    "Museum [1]",
                    "Tea was served. The mill was destroyed in the storm of 1911. The mill ground barley.",
                ),
            ],
        );
        let expected = "### Other\n\n- The mill was destroyed in the storm of 1911. [S1001][S1002]\n\n### Museum (1)\n\n- The mill ground barley. [S1002]";
        assert_eq!(notes, expected);
    }

    #[test]
    fn guesses_are_noted_beside_what_was_asked() {
        let text = "Five cars burnt out.\n\nPerhaps a battery was the cause.\n\nTea was served.";
        let notes = compress("How many cars burnt out?", &[evidence(1001, "Message", text)]);
        assert!(notes.contains("Perhaps a battery") && !notes.contains("Tea"), "{notes}");
    }

    #[test]
    fn what_is_not_known_is_no_note_beside_what_is() {
        let text = "One millstone of the mill lies in the yard. Where the other millstone lies is not known.";
        let notes = compress("Where is the millstone?", &[evidence(1001, "Museum", text)]);
        assert!(notes.contains("in the yard") && !notes.contains("not known"), "{notes}");
        let only = "Where the millstone lies is not known.";
        assert!(compress("Where is the millstone?", &[evidence(1001, "Museum", only)]).contains(only));
        let dated = "Where the millstone lies is not known since 1911.";
        let notes = compress("Where is the millstone?", &[evidence(1001, "Museum", &format!("{text} {dated}"))]);
        assert!(notes.contains(dated), "what says more stays: {notes}");
    }

    #[test]
    fn a_document_that_is_all_title_is_quoted() {
        let sentence = "The Norrwick ferry carries 38 cars.";
        let notes = compress("How many cars does the ferry carry?", &[evidence(1001, sentence, sentence)]);
        assert_eq!(notes, format!("### {sentence}\n\n- {sentence} [S1001]"));
        let text = format!("{sentence}\n\nIt sails at noon.");
        let notes = compress("When does the ferry sail?", &[evidence(1001, sentence, &text)]);
        assert!(!notes.contains("- The Norrwick"), "beside other sentences it is a header: {notes}");
        let said = evidence(1001, "The Norrwick ferry: cars", &format!("The Norrwick ferry, page 2\n\n{text}"));
        let notes = compress("How many cars does the ferry carry?", &[said]);
        assert!(notes.contains(sentence) && !notes.contains("page 2"), "a sentence with a figure says more: {notes}");
    }

    #[test]
    fn evidence_off_the_topic_is_still_evidence() {
        let notes = compress("herring", &[evidence(1001, "T", "One two three. Four five six. Seven eight.")]);
        assert_eq!(notes, "### T\n\n- One two three. [S1001]\n- Four five six. [S1001]");
    }
}
