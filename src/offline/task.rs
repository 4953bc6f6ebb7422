//! What the offline model gets of a call, beside the request that other models get.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::SourceId;

/// What a call is for, in data rather than prose. No wire sees it: the offline model works from it alone, and the
/// journal knows a call again by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Task {
    #[default]
    Other,
    Clarify,
    /// What does a message in a thread with a report need?
    FollowUp,
    /// The answer to a message in a thread with a report, from what is there.
    Answer {
        message: String,
    },
    Brief {
        question: String,
    },
    /// `round` counts from 1; in the first one nothing has been researched.
    Supervise {
        brief: String,
        round: u32,
    },
    /// `turn` counts from 1; `retrieved` tells whether a search has returned anything yet.
    Research {
        topic: String,
        turn: u32,
        retrieved: bool,
    },
    Summarise {
        question: String,
        page: Arc<str>,
    },
    Compress {
        topic: String,
        evidence: Vec<Evidence>,
    },
    /// Statements of a report held against their sources, which it cannot do.
    Verify {
        statements: Vec<String>,
    },
    /// `sources` have no text of their own.
    Report {
        brief: String,
        findings: Vec<Finding>,
        sources: Vec<Evidence>,
        limits: Vec<String>,
    },
}

/// A piece of retrieved text and the source it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub source_id: SourceId,
    pub title: String,
    /// Where it is, as in [`Source`](crate::domain::Source).
    #[serde(default)]
    pub url: String,
    /// As the engine or the document gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    pub text: String,
}

/// The notes on one topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub topic: String,
    pub text: String,
}
