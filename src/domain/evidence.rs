//! What research has found: retrieved texts, and notes on topics.

use serde::{Deserialize, Serialize};

use super::SourceId;

/// A piece of retrieved text and the source it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub source_id: SourceId,
    pub title: String,
    /// Where it is, as in [`Source`](super::Source).
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
