//! Models in our own words: complete and stream, with retries, time limits and typed errors.
//!
//! A call goes `client.rs` (queue, time limits, retries by `net`) → `wire/`, one file per dialect (our request to
//! bytes) → `transport.rs` (HTTP, with its caps), and its answer comes back through the dialect and `assembly.rs`, or
//! through `failure.rs`. `refusals.rs` reads what a provider refused, `adapted.rs` asks for it in another way.
//! `access/` has what some clouds want beside a key. `providers.rs` has a row for each provider, `quirks.rs` what rows
//! may differ in. `structured.rs` asks for a Rust type, `catalogue.rs` knows models, `limits.rs` how many tokens a
//! request is (`counting.rs` exactly). This room knows nothing of research, journals or prompts.

mod access;
mod adapted;
mod assembly;
pub mod catalogue;
mod circuits;
mod client;
mod cloud_settings;
mod counting;
mod endpoint;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod limits;
mod memory;
pub mod message;
mod models;
pub mod providers;
mod quirks;
mod refusals;
mod server;
pub mod settings;
mod stream;
pub mod structured;
mod text_calls;
mod thinking;
mod tool_name;
mod transport;
mod tuning;
pub mod wire;

use std::time::Duration;

use crate::domain::ModelName;
pub use crate::net::{CallContext, Gate, LONGEST_BACKOFF, Open, Wait, jittered};
pub use catalogue::{Facts, KnownModels};
pub use client::{Llm, ProbeReport};
pub use endpoint::{Endpoint, Endpoints};
pub use message::{
    ANSWER_TOKENS, Carry, Completion, Message, OutputFormat, Part, Request, StopReason, Text, ToolCall, ToolChoice,
    ToolSpec,
};
pub use server::{BadSetting, missing};
pub use settings::{ProviderLimits, Settings};
pub use stream::{BrokenOff, Delta, ReplyStream};
pub use tool_name::{MAX_TOOL_NAME, in_tool_name};
pub use tuning::{Sending, Tuning, Tunings};

/// A model call that failed for good, named by what the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Shorten the request. `limit` is the window in tokens when the provider reports it.
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
    /// The account's money or quota is used up, which no wait of ours heals. Use another model.
    #[error("the quota of {model} is used up: {detail}")]
    Quota { model: ModelName, detail: String },
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
    /// There is more of the answer than any answer to the request can be.
    #[error("{model} sent an answer that is too long: {detail}")]
    TooLong { model: ModelName, detail: String },
}

impl Error {
    /// Says nothing of the request: another model may well answer it.
    pub fn is_of_provider(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Auth { .. }
            | Self::Quota { .. }
            | Self::Overloaded { .. }
            | Self::Transport { .. }
            | Self::Timeout { .. }
            | Self::Malformed { .. } => true,
            Self::ContextWindow { .. } | Self::BadRequest { .. } | Self::Refused { .. } | Self::TooLong { .. } => false,
        }
    }

    /// Says only that the template of this model does not take the conversation: another model may well do so.
    pub fn is_of_template(&self) -> bool {
        matches!(self, Self::BadRequest { detail, .. } if failure::is_of_template(detail))
    }

    fn detail_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Auth { detail, .. }
            | Self::BadRequest { detail, .. }
            | Self::Quota { detail, .. }
            | Self::Overloaded { detail, .. }
            | Self::Transport { detail, .. }
            | Self::Refused { detail, .. }
            | Self::Malformed { detail, .. }
            | Self::TooLong { detail, .. } => Some(detail),
            Self::ContextWindow { .. } | Self::RateLimited { .. } | Self::Timeout { .. } => None,
        }
    }
}

/// The end of a call and of all its attempts: until then everything was tried that there was time for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    pub error: Error,
    /// HTTP requests made, at least one unless the call could not even begin.
    pub attempts: u32,
    /// The wait that would have been next, had there been time for it.
    pub too_long: Option<Duration>,
}
