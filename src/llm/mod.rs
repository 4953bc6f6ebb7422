//! Models in our own words: complete and stream, with retries, time limits and typed errors.
//!
//! The vendors' wire formats live in `wire.rs` (through the genai crate) and nowhere else. This room knows nothing of
//! research, journals or prompts.

pub mod message;

use std::time::Duration;

use crate::domain::ModelName;
pub use message::{
    Completion, Evidence, Finding, Message, OutputFormat, Part, Request, StopReason, Task, Text, ToolCall, ToolChoice,
    ToolSpec,
};

/// A model call that failed for good, named by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Shorten the request. `limit` is the window in tokens when the provider told it.
    #[error("the request does not fit the context window of {model}")]
    ContextWindow { model: ModelName, limit: Option<u32> },
    /// The provider kept refusing for longer than we wait.
    #[error("{model} is rate limited")]
    RateLimited { model: ModelName, retry_after: Option<Duration> },
    /// Fix the key.
    #[error("the provider of {model} refused the API key: {detail}")]
    Auth { model: ModelName, detail: String },
    /// Fix the model name or the settings; making the same call again is pointless.
    #[error("{model} rejected the request: {detail}")]
    BadRequest { model: ModelName, detail: String },
    /// The provider answered 5xx for longer than we wait.
    #[error("{model} is overloaded or failing: {detail}")]
    Overloaded { model: ModelName, detail: String },
    /// The provider could not be reached, or the connection broke.
    #[error("{model} could not be reached: {detail}")]
    Transport { model: ModelName, detail: String },
    #[error("{model} did not answer in time")]
    Timeout { model: ModelName },
    #[error("{model} declined to answer: {detail}")]
    Refused { model: ModelName, detail: String },
    /// The provider's answer is not of its own wire format.
    #[error("{model} sent an answer that cannot be read: {detail}")]
    Malformed { model: ModelName, detail: String },
}

/// A wait before a call is made again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    pub wait: Duration,
    pub error: Error,
}
