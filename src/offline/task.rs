//! What the offline model gets of a call, beside the request that other models get.

use std::sync::Arc;

use crate::domain::{Evidence, Finding};

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
