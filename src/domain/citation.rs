//! Where a report cites a source.

use serde::{Deserialize, Serialize};

use super::{
    SourceId,
    claim::{Passage, Verdict},
};

/// A report's place in its text where a source is cited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// The number the reader sees, from 1 without gaps.
    pub number: u32,
    pub source_id: SourceId,
    /// First and one-past-last character of `[n]` in the report, in Unicode scalar values.
    pub start: usize,
    pub end: usize,
    /// Whether this source holds what the statement says; `None` in a text that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What it rests on there, as far as that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Passage>,
}

impl Citation {
    /// Makes a citation that is not checked yet.
    pub fn new(number: u32, source_id: SourceId, start: usize, end: usize) -> Self {
        Self { number, source_id, start, end, verdict: None, passage: None }
    }
}
