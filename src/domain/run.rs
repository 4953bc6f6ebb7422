//! Runs and messages: what a thread is made of, and which changes of a run are legal.

use serde::{Deserialize, Serialize};

use super::{MessageId, RunId, RunOptions, ThreadId, Timestamp};

/// Where a run stands. `Completed`, `Failed` and `Cancelled` are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl RunStatus {
    /// No further change is possible.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The name stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == name)
    }
}

/// What a completed run ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Report,
    Clarification,
    Answer,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Clarification => "clarification",
            Self::Answer => "answer",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Report, Self::Clarification, Self::Answer].into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// Why a run ended without a result. The code is stable, the message is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
}

impl Failure {
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The stable codes of failed runs, named by what the user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Nothing was retrieved, so nothing could be reported: rephrase, or add documents or a search engine.
    NoEvidence,
    /// No search worked: see the warnings.
    SearchUnavailable,
    /// The provider refused the key: fix it.
    ModelAuth,
    /// The provider could not be reached or stayed overloaded: try again later.
    ModelUnavailable,
    /// The provider rejected the request (unknown model, unsupported parameter): fix the settings.
    ModelRequest,
    /// The model declined to answer.
    ModelRefused,
    /// Even the shortened request did not fit the model's context window: use a larger model.
    ContextWindow,
    /// The model's answers could not be used: empty, or never of the asked form.
    ModelOutput,
    /// Replay met a step whose request differs from the journal's: a bug, or an upgrade in the middle of the run.
    JournalMismatch,
    /// The run took longer than it may.
    Timeout,
    /// A defect of ours.
    Internal,
}

/// One turn of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub thread_id: ThreadId,
    pub status: RunStatus,
    pub outcome: Option<Outcome>,
    pub error: Option<Failure>,
    pub options: RunOptions,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    User,
    Assistant,
}

impl MessageRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a thread, in order of creation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub role: MessageRole,
    pub content: String,
    /// The run that wrote it, or that it started.
    pub run_id: Option<RunId>,
    pub created_at: Timestamp,
}

/// Tokens of model calls; sums of the journal's columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    /// Part of `input_tokens` that the provider had cached.
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Part of `output_tokens` spent on hidden reasoning.
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}
