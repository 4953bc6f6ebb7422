//! Cited statements of a report, and what their sources say about them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::SourceId;

/// How a report is held against its sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    Off,
    /// Numbers, dates, names and quotations, by code.
    #[default]
    Figures,
    /// Each cited statement too, by a model.
    Claims,
}

/// Whether a source holds what a statement says that cites it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything that was checked stands there, or follows from what stands there.
    Supported,
    /// Some of it does.
    Partly,
    NotSupported,
    /// There was nothing to check, or nobody who could.
    NotCheckable,
}

/// The place of a source that a statement rests on, as far as that can be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    pub text: String,
    /// First and one-past-last character in the source's snapshot, in Unicode scalar values.
    pub start: usize,
    pub end: usize,
}

impl Passage {
    /// Sets the places to where its text stands in `snapshot`. They stay where it stands nowhere, and where it stands
    /// as they say. Linear in the snapshot.
    pub fn place_in(&mut self, snapshot: &str) {
        let at = snapshot.char_indices().nth(self.start).map(|(at, _)| at);
        if at.is_some_and(|at| snapshot[at..].starts_with(&self.text)) {
            return;
        }
        if let Some(at) = snapshot.find(&self.text) {
            self.start = snapshot[..at].chars().count();
            self.end = self.start + self.text.chars().count();
        }
    }
}

/// A statement with the citations that stand behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// One line, without Markdown.
    pub text: String,
    /// First and one-past-last character in the report, in Unicode scalar values.
    pub start: usize,
    pub end: usize,
    /// Of all its sources together.
    pub verdict: Verdict,
    /// Figures, dates, names and quotations, as the report has them, that stand in none of its sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Why, in a model's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its citations among those of the report: the place of the first one, and how many there are.
    pub first_citation: usize,
    pub citations: usize,
}

impl Claim {
    /// Returns its own ones of `all` that a report has, which may be citations or what goes with them.
    pub fn among<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        all.get(self.range()).unwrap_or_default()
    }

    /// Borrows them mutably, as [`Self::among`] borrows them.
    pub fn among_mut<'a, T>(&self, all: &'a mut [T]) -> &'a mut [T] {
        all.get_mut(self.range()).unwrap_or_default()
    }

    fn range(&self) -> Range<usize> {
        self.first_citation..self.first_citation.saturating_add(self.citations)
    }
}

/// A statement of a note, held against the sources that it cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// One line, without Markdown and citations.
    pub text: String,
    /// The heading above it in the note.
    pub section: Option<String>,
    /// First and one-past-last character in the note's text, in Unicode scalar values.
    pub start: usize,
    pub end: usize,
    /// Of all its sources together.
    pub verdict: Verdict,
    /// Figures, dates, names and quotations, as the note has them, that stand in none of its sources.
    pub missing: Vec<String>,
    /// What it cites; never empty.
    pub sources: Vec<Support>,
}

/// What one source says of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The id of the source, or one of its aliases.
    pub source_id: SourceId,
    pub verdict: Verdict,
    /// What the statement rests on there, as far as that was found.
    pub passage: Option<Passage>,
}

/// What one source states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// As the notes have it, one line.
    pub text: String,
    /// The figures and dates of it, as written, that the other statement does not hold; never empty.
    pub figures: Vec<String>,
    pub source_id: SourceId,
    /// The host of a page, the path of a document.
    pub host: String,
}

/// Two sources that state a figure or date otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    pub one: Stated,
    pub other: Stated,
    /// Whether the report names the figures of both, and cites one of them at least.
    pub settled: bool,
}

/// Claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    pub supported: usize,
    pub partly: usize,
    pub not_supported: usize,
    pub not_checkable: usize,
}

impl VerdictCounts {
    pub fn of(claims: &[Claim]) -> Self {
        let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        Self {
            supported: count(Verdict::Supported),
            partly: count(Verdict::Partly),
            not_supported: count(Verdict::NotSupported),
            not_checkable: count(Verdict::NotCheckable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_found_again_where_it_stands_now() {
        let placed = |start: usize, snapshot: &str| {
            let text = "Dues of 4".to_owned();
            let mut passage = Passage { end: start + text.chars().count(), text, start };
            passage.place_in(snapshot);
            (passage.start, passage.end)
        };
        assert_eq!(placed(0, "Dues of 4 crowns. Dues of 4."), (0, 9));
        assert_eq!(placed(18, "Dues of 4 crowns. Dues of 4."), (18, 27), "the second one is meant");
        assert_eq!(placed(2, "Über alles. Dues of 4 crowns."), (12, 21));
        assert_eq!(placed(90, "Dues of 4 crowns."), (0, 9));
        assert_eq!(placed(3, "Nothing of it."), (3, 12));
    }
}
