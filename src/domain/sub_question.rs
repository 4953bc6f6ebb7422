//! What the brief wants to know, one by one, and how far the sources answer it.

use serde::{Deserialize, Serialize};

/// How far a question is answered; the worse, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStatus {
    Answered,
    Partly,
    NotFound,
}

impl AnswerStatus {
    pub const NAMES: [&'static str; 3] = ["answered", "partly", "not_found"];
}

/// A question of the brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubQuestion {
    pub question: String,
    pub status: AnswerStatus,
}
