//! Runs and messages: what a thread is made of, and which changes of a run are legal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Cost, MessageId, RunId, RunOptions, ThreadId, Timestamp,
    event::{Phase, Wait, WaitKind},
    printable_line,
};

/// The state of a run. `Completed`, `Failed` and `Cancelled` are final.
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
    /// Returns whether no further change is possible.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the name stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// All there are.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// Returns the status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
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

    /// Returns whether there is something to read, with its sources.
    pub fn has_report(self) -> bool {
        matches!(self, Self::Report | Self::Answer)
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
    /// Nothing was retrieved because searches, or all other attempts, failed: see the warnings.
    SearchUnavailable,
    /// The provider refused the key: fix it.
    ModelAuth,
    /// The provider could not be reached, stayed overloaded, has no quota left for us, or what came was no answer of
    /// its own: try again later.
    ModelUnavailable,
    /// The provider rejected the request (unknown model, unsupported parameter): fix the settings.
    ModelRequest,
    /// The model declined to answer: use another one.
    ModelRefused,
    /// Even the shortened request did not fit the model's context window: use a larger model.
    ContextWindow,
    /// The model's answers could not be used: empty, too long, or never of the asked form: use another one.
    ModelOutput,
    /// Replay met a step whose request differs from the journal's: a bug.
    JournalMismatch,
    /// A step could not be stored, or one that was stored no longer reads: retry the run, which asks for it again.
    JournalCorrupt,
    /// The run took longer than it may.
    Timeout,
    /// The run spent what it may before a report could be written: raise `max_model_calls`, `max_searches`,
    /// `max_tokens`, `max_cost_usd`, `max_researchers`.
    SpendingLimit,
    /// The search engine refused the key: fix it.
    SearchAuth,
    /// Process after process died at the same step: see their logs.
    CrashLoop,
    /// A defect of ours; also what a code of a newer release is read as.
    #[serde(other)]
    Internal,
}

impl FailureCode {
    /// Every code there is.
    pub const ALL: [Self; 15] = [
        Self::NoEvidence,
        Self::SearchUnavailable,
        Self::ModelAuth,
        Self::ModelUnavailable,
        Self::ModelRequest,
        Self::ModelRefused,
        Self::ContextWindow,
        Self::ModelOutput,
        Self::JournalMismatch,
        Self::JournalCorrupt,
        Self::Timeout,
        Self::SpendingLimit,
        Self::SearchAuth,
        Self::CrashLoop,
        Self::Internal,
    ];

    /// Returns the name that JSON has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoEvidence => "no_evidence",
            Self::SearchUnavailable => "search_unavailable",
            Self::ModelAuth => "model_auth",
            Self::ModelUnavailable => "model_unavailable",
            Self::ModelRequest => "model_request",
            Self::ModelRefused => "model_refused",
            Self::ContextWindow => "context_window",
            Self::ModelOutput => "model_output",
            Self::JournalMismatch => "journal_mismatch",
            Self::JournalCorrupt => "journal_corrupt",
            Self::Timeout => "timeout",
            Self::SpendingLimit => "spending_limit",
            Self::SearchAuth => "search_auth",
            Self::CrashLoop => "crash_loop",
            Self::Internal => "internal",
        }
    }

    /// Returns whether the reason may pass, by itself or with another model or key. Then the run can be retried.
    pub fn may_pass(self) -> bool {
        match self {
            Self::SearchUnavailable
            | Self::ModelAuth
            | Self::ModelUnavailable
            | Self::ModelRequest
            | Self::ContextWindow
            | Self::JournalMismatch
            | Self::JournalCorrupt
            | Self::Timeout
            | Self::SpendingLimit
            | Self::SearchAuth
            | Self::ModelRefused
            | Self::ModelOutput
            | Self::CrashLoop => true,
            Self::NoEvidence | Self::Internal => false,
        }
    }
}

/// A conversation, without its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub id: ThreadId,
    /// The first words of its first message, one line of at most [`Thread::TITLE_CHARS`] characters.
    pub title: String,
    pub status: ThreadStatus,
    pub created_at: Timestamp,
    /// The number of its newest event; 0 when there is none.
    pub last_seq: i64,
    pub latest_run_id: Option<RunId>,
    /// As the client gave it.
    pub metadata: Map<String, Value>,
    /// The options its runs inherit: those that were given when it was made, in the form [`RunOptions::set`] takes.
    pub options: Map<String, Value>,
}

impl Thread {
    pub const TITLE_CHARS: usize = 120;

    /// Returns the title of a thread that begins with this message: one printable line.
    pub fn title_of(message: &str) -> String {
        let line = printable_line(message);
        if line.chars().count() <= Self::TITLE_CHARS {
            return line;
        }
        let mut title: String = line.chars().take(Self::TITLE_CHARS - 1).collect();
        title.truncate(title.trim_end().len());
        title.push('…');
        title
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadStatus {
    /// A message starts the next run.
    Idle,
    /// A run is queued or at work.
    Busy,
    /// As idle; the last run ended with a question.
    AwaitingInput,
}

impl ThreadStatus {
    pub const ALL: [Self; 3] = [Self::Idle, Self::Busy, Self::AwaitingInput];

    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::AwaitingInput => "awaiting_input",
        }
    }

    /// Returns the status of a thread whose newest run stands so; `None` when it has none.
    pub fn of(newest: Option<(RunStatus, Option<Outcome>)>) -> Self {
        match newest {
            Some((status, _)) if !status.is_final() => Self::Busy,
            Some((_, Some(Outcome::Clarification))) => Self::AwaitingInput,
            _ => Self::Idle,
        }
    }
}

/// How far a run is, read off its events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The phase begun last, or [`Phase::Waiting`] while the run waits; `None` before the first.
    pub phase: Option<Phase>,
    /// Whom calls of the run wait for, or what it needs and no process that took it up has; `None` while nothing is
    /// waited for.
    #[serde(default)]
    pub waiting_for: Option<Waiting>,
    /// Rounds of the supervisor.
    pub iterations: u64,
    pub researchers: Researchers,
    /// Searches begun.
    pub searches: u64,
    pub sources: u64,
    pub warnings: u64,
}

/// A provider that calls of a run wait for, or what is to be set before the run can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The model as `provider:model`, or the search engine.
    #[serde(rename = "for")]
    pub name: String,
    pub kind: WaitKind,
    pub since: Timestamp,
    /// When it is asked again.
    pub until: Timestamp,
    /// For people.
    pub reason: String,
}

impl Waiting {
    pub fn of(wait: &Wait, reason: &str) -> Self {
        let Wait { name, kind, since, until, .. } = wait;
        Self { name: name.clone(), kind: *kind, since: *since, until: *until, reason: reason.to_owned() }
    }
}

/// Researchers of a run, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Researchers {
    pub running: u64,
    pub finished: u64,
    pub failed: u64,
}

/// What a run used of one model, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Finished calls.
    pub calls: u64,
    #[serde(flatten)]
    pub tokens: Usage,
}

/// A run with what is kept beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDetails {
    pub run: Run,
    /// By `provider:model`.
    pub usage: BTreeMap<String, ModelUsage>,
    /// From 1, the next to be claimed; `None` unless the run is queued.
    pub queue_position: Option<u64>,
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
    /// Somebody asked for it to stop.
    #[serde(default)]
    pub cancel_requested: bool,
    /// The option that ended its research early, because the run had spent what it allows.
    #[serde(default)]
    pub limited_by: Option<String>,
    #[serde(default)]
    pub progress: Progress,
    /// The earlier run of the thread from whose journal it goes on.
    #[serde(default)]
    pub retry_of: Option<RunId>,
}

impl Run {
    /// Returns whether another run may go on from the journal of this one: it was cancelled, or failed for a reason
    /// that may pass.
    pub fn is_retryable(&self) -> bool {
        match self.status {
            RunStatus::Cancelled => true,
            RunStatus::Failed => self.error.as_ref().is_some_and(|failure| failure.code.may_pass()),
            RunStatus::Queued | RunStatus::Running | RunStatus::Completed => false,
        }
    }
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
    /// Part of `input_tokens` that the provider wrote into its cache. Neither stored nor shown: only the price of a
    /// call depends on it.
    #[serde(skip)]
    pub cache_write_tokens: u64,
    /// Web searches that the provider made for it. As the one before, it only makes the price.
    #[serde(skip)]
    pub searches: u64,
    pub output_tokens: u64,
    /// Part of `output_tokens` spent on hidden reasoning.
    pub reasoning_tokens: u64,
    /// What the calls cost whose price is known; absent when of none, which is not the same as nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl Usage {
    /// Returns the tokens read and written.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The most tokens of a kind that one call is believed to have used; nothing real comes near, and sums of as many
    /// calls as a run can make stay within what the database can count.
    pub const MOST_PER_CALL: u64 = 1 << 40;

    /// The most searches that a provider is believed to have made for one call.
    pub const MOST_SEARCHES_PER_CALL: u64 = 1_000;

    /// The largest plausible number of tokens of a kind: as many as the largest context windows hold.
    pub const MOST_PLAUSIBLE: u64 = 10_000_000;

    /// Returns the usage of one call, or the estimate when no model can have used so many tokens: a gateway that
    /// tells nonsense ends no run, and locks nobody out.
    pub fn plausible_or(self, input_tokens: u64, output_tokens: u64) -> Self {
        if self.input_tokens.max(self.output_tokens) <= Self::MOST_PLAUSIBLE {
            return self;
        }
        Self { input_tokens, output_tokens, cost: self.cost, searches: self.searches, ..Self::default() }
    }

    /// Returns the usage as a gateway tells it, each count cut at [`Usage::MOST_PER_CALL`].
    pub fn believed(self) -> Self {
        Self {
            input_tokens: self.input_tokens.min(Self::MOST_PER_CALL),
            cached_tokens: self.cached_tokens.min(Self::MOST_PER_CALL),
            cache_write_tokens: self.cache_write_tokens.min(Self::MOST_PER_CALL),
            searches: self.searches.min(Self::MOST_SEARCHES_PER_CALL),
            output_tokens: self.output_tokens.min(Self::MOST_PER_CALL),
            reasoning_tokens: self.reasoning_tokens.min(Self::MOST_PER_CALL),
            cost: self.cost,
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.searches = self.searches.saturating_add(other.searches);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_no_model_can_have_used_are_estimated() {
        let counted = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        let most = Usage::MOST_PLAUSIBLE;
        assert_eq!(counted(most, most).plausible_or(7, 8), counted(most, most));
        for nonsense in [counted(most + 1, 3), counted(3, most + 1), counted(u64::MAX, u64::MAX)] {
            let with_more = Usage { cached_tokens: most, reasoning_tokens: u64::MAX, ..nonsense };
            assert_eq!(with_more.plausible_or(7, 8), counted(7, 8), "{nonsense:?}");
        }
    }

    #[test]
    fn sums_of_usage_have_each_count() {
        let one = Usage {
            input_tokens: 1,
            cached_tokens: 2,
            cache_write_tokens: 3,
            searches: 7,
            output_tokens: 4,
            reasoning_tokens: 5,
            cost: Some(Cost(6)),
        };
        let mut sum = one;
        sum += one;
        let twice = Usage {
            input_tokens: 2,
            cached_tokens: 4,
            cache_write_tokens: 6,
            searches: 14,
            output_tokens: 8,
            reasoning_tokens: 10,
            cost: Some(Cost(12)),
        };
        assert_eq!(sum, twice);
    }
}
