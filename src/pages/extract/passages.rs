//! Sections to passages: pieces of a size that a model can quote and a reader can find again.

use std::borrow::Cow;

use super::{MAX_PATH_BYTES, Section};

/// Characters a passage aims at; a paragraph is not torn to meet it.
pub const TARGET_CHARS: usize = 1_200;
/// Characters above which a single paragraph is torn, between sentences or at least between words.
pub const MAX_CHARS: usize = 1_800;

/// Headings that stand over a passage of several sections; of more, the first and the last.
const MAX_LABELS: usize = 3;

/// Joins neighbouring sections that fit into one passage together, their headings kept as lines of the text: a
/// passage of two sentences says too little, to a model as to the ranking. The joined section is named after all of
/// them, unless it begins with text that no heading stands over.
pub fn joined(sections: Vec<Section>) -> Vec<Section> {
    let mut joined: Vec<(Section, Vec<String>)> = Vec::new();
    for section in sections {
        match joined.last_mut() {
            Some((last, labels)) if fits(last, &section) => append(last, labels, section),
            _ => joined.push((section, Vec::new())),
        }
    }
    joined.into_iter().map(|(section, labels)| named(section, labels)).collect()
}

fn named(mut section: Section, mut labels: Vec<String>) -> Section {
    if let Some(first) = section.label.take_if(|_| !labels.is_empty()) {
        labels.insert(0, first);
        labels.dedup();
        if labels.len() > MAX_LABELS {
            labels = vec![labels.remove(0), "…".to_owned(), labels.swap_remove(labels.len() - 1)];
        }
        section.label = Some(labels.join("; "));
    }
    section
}

fn fits(last: &Section, next: &Section) -> bool {
    let chars = |section: &Section| section.text.chars().count();
    chars(last) + chars(next) + next.label.as_deref().map_or(0, str::len) <= TARGET_CHARS
}

fn append(last: &mut Section, labels: &mut Vec<String>, next: Section) {
    // A heading with nothing below it is its own text.
    let first = last.label.as_ref().filter(|label| **label != last.text);
    if let Some(first) = first.filter(|_| labels.is_empty() && next.label.is_some()) {
        last.text = format!("{first}\n\n{}", last.text);
    }
    for text in next.label.iter().filter(|label| **label != next.text).chain([&next.text]) {
        last.text.push_str("\n\n");
        last.text.push_str(text);
    }
    labels.extend(next.label);
    if last.path.len() + next.path.len() < MAX_PATH_BYTES {
        last.path = format!("{} {}", last.path, next.path);
    }
}

/// Cuts a section's text into passages of about [`TARGET_CHARS`]; none is empty, nothing is lost but space.
pub fn split(text: &str) -> Vec<String> {
    let mut passages: Vec<String> = Vec::new();
    let mut length = usize::MAX;
    for paragraph in text.split("\n\n").flat_map(pieces) {
        let paragraph = paragraph.as_ref();
        let chars = paragraph.chars().count();
        match passages.last_mut() {
            Some(passage) if length.saturating_add(chars) <= TARGET_CHARS => {
                passage.push_str("\n\n");
                passage.push_str(paragraph);
                length += chars + 2;
            }
            _ => {
                passages.push(paragraph.to_owned());
                length = chars;
            }
        }
    }
    passages
}

/// Returns a paragraph, torn if it is too long for one passage. Each piece of a table begins with the table's head.
fn pieces(paragraph: &str) -> Vec<Cow<'_, str>> {
    let paragraph = paragraph.trim();
    match table_head(paragraph) {
        Some(head) if paragraph.chars().nth(MAX_CHARS).is_some() => {
            let rows = torn(&paragraph[head.len()..], MAX_CHARS - head.chars().count());
            rows.into_iter().map(|rows| Cow::Owned(format!("{head}{rows}"))).collect()
        }
        _ => torn(paragraph, MAX_CHARS).into_iter().map(Cow::Borrowed).collect(),
    }
}

/// Returns the first two lines of a table, if they are short.
fn table_head(paragraph: &str) -> Option<&str> {
    let names = paragraph.find('\n').filter(|_| paragraph.starts_with('|'))? + 1;
    let rule = paragraph[names..].find('\n')? + 1;
    let is_rule = paragraph[names..names + rule].trim().chars().all(|char| "|-: ".contains(char));
    let head = &paragraph[..names + rule];
    (is_rule && head.chars().count() <= TARGET_CHARS / 3).then_some(head)
}

/// Returns pieces of at most so many characters.
fn torn(text: &str, most: usize) -> Vec<&str> {
    let mut rest = text.trim();
    let mut pieces = Vec::new();
    while let Some((limit, _)) = rest.char_indices().nth(most) {
        let at = tear_point(&rest[..limit]);
        pieces.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Finds where to tear: after the last line, else sentence, else word that ends in the second half.
fn tear_point(head: &str) -> usize {
    let floor = head.char_indices().nth(TARGET_CHARS / 2).map_or(0, |(at, _)| at);
    let tail = &head[floor..];
    let after = |found: Option<(usize, &str)>| found.map(|(at, text)| floor + at + text.len());
    let line = || after(tail.rmatch_indices('\n').next());
    let sentence = || {
        [". ", "! ", "? ", "。", "!", "?", "; "].iter().filter_map(|end| after(tail.rmatch_indices(end).next())).max()
    };
    let word = || tail.rfind(char::is_whitespace).map(|at| floor + at);
    line().or_else(sentence).or_else(word).unwrap_or(head.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paragraphs_stay_whole_while_they_fit() {
        let paragraph = |letter: &str| letter.repeat(500);
        let text = format!("{}\n\n{}\n\n{}", paragraph("a"), paragraph("b"), paragraph("c"));
        let expected = [format!("{}\n\n{}", paragraph("a"), paragraph("b")), paragraph("c")];
        assert_eq!(split(&text), expected);
    }

    #[test]
    fn long_paragraphs_are_torn_between_sentences() {
        let text = "This sentence is forty-three letters long. ".repeat(60);
        let passages = split(&text);
        assert!(passages.len() > 1);
        assert!(passages.iter().all(|passage| passage.ends_with("long.")), "{passages:?}");
    }

    #[test]
    fn each_piece_of_a_table_has_its_head() {
        let rows: String = (0..200).map(|row| format!("| row {row} | {row},100 crowns |\n")).collect();
        let passages = split(&format!("| Name | Price |\n| --- | --- |\n{rows}"));
        assert!(passages.len() > 2);
        assert!(
            passages.iter().all(|passage| passage.starts_with("| Name | Price |\n| --- | --- |\n| row ")),
            "{passages:?}"
        );
        assert_eq!(passages.concat().matches(" crowns |").count(), 200);
    }

    #[test]
    fn small_neighbours_are_joined() {
        let section = |label: &str, text: String| Section {
            label: Some(label.into()),
            path: label.into(),
            anchor: Some(label.into()),
            text,
        };
        let sections = vec![section("a", "x".into()), section("b", "y".into()), section("c", "z".repeat(1_200))];
        let texts: Vec<_> =
            joined(sections).into_iter().map(|section| (section.label, section.path, section.text)).collect();
        let named = |label: &str| Some(label.to_owned());
        let both = (named("a; b"), "a b".to_owned(), "a\n\nx\n\nb\n\ny".to_owned());
        assert_eq!(texts, [both, (named("c"), "c".into(), "z".repeat(1_200))]);
        let many = ["a", "b", "c", "d"].map(|label| section(label, "x".into())).to_vec();
        assert_eq!(joined(many)[0].label, named("a; …; d"));
        let bare = ["a", "b"].map(|label| section(label, label.into())).to_vec();
        assert_eq!(joined(bare)[0].text, "a\n\nb");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_torn(text in "([a-zä潮.\n ]{0,40}[ \n]){0,200}") {
            let passages = split(&text);
            let words: Vec<_> = text.split_whitespace().collect();
            let kept: Vec<_> = passages.iter().flat_map(|passage| passage.split_whitespace()).collect();
            prop_assert_eq!(words, kept);
            prop_assert!(passages.iter().all(|passage| passage.chars().count() <= MAX_CHARS));
        }

        #[test]
        fn text_without_spaces_is_bounded_too(text in "潮{0,8000}") {
            prop_assert_eq!(split(&text).concat(), text);
        }
    }
}
