//! The records of what runs do: steps, events, commits, and where the log stands.

use serde::Deserialize;
use uuid::Uuid;

use super::Lease;
use crate::domain::{
    Event, Failure, MessageId, Note, Outcome, RunId, RunStatus, Scope, Source, ThreadId, Timestamp, Usage,
    report::Report,
};

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Called a model.
    Model,
    /// Called a search engine.
    Search,
    /// Called another tool.
    Tool,
    /// Emitted events, or kept what the run itself made.
    Mark,
    /// Learned something else; also what a kind of a newer release is read as.
    #[serde(other)]
    Value,
}

impl StepKind {
    /// Returns the name stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Search => "search",
            Self::Tool => "tool",
            Self::Mark => "mark",
            Self::Value => "value",
        }
    }
}

/// One finished step of the journal; also the ledger and the provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Path that replay produces again, unique in its run: `lead/3/r1/turn/2`.
    pub key: String,
    pub kind: StepKind,
    /// SHA-256 of the request, hex; empty for marks.
    pub request_hash: String,
    /// SHA-256 of what the request is about, whatever words say it, hex; empty when nobody knows.
    pub input_hash: String,
    /// The wording of the prompts that the request was made with; empty when nobody knows.
    pub prompts: String,
    /// Taken over from the run that this one retries, which has paid for it.
    pub inherited: bool,
    /// JSON text of what the step returned, failures included.
    pub value: String,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    pub call: Option<CallRecord>,
}

/// The ledger columns of a step that called a model.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// `provider:model`.
    pub model: String,
    pub role: String,
    /// HTTP requests made, retries included.
    pub attempts: u32,
    pub usage: Usage,
}

/// An event before it has a number.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub ts: Timestamp,
    pub scope: Scope,
    pub event: Event,
}

/// The end of a run; its row becomes final in the same transaction as the terminal event.
#[derive(Clone, Debug)]
pub struct Finish {
    pub status: RunStatus,
    pub outcome: Option<Outcome>,
    pub error: Option<Failure>,
    pub report: Option<Report>,
    /// The assistant's message, if the run produced one.
    pub message: Option<(MessageId, String)>,
    /// The option that ended its research early, because the run had spent what it allows.
    pub limited_by: Option<&'static str>,
    pub now: Timestamp,
}

/// What is written together or not at all, if the lease still holds.
#[derive(Clone, Debug)]
pub struct Commit {
    pub lease: Lease,
    pub steps: Vec<Step>,
    /// Numbered in this order.
    pub events: Vec<NewEvent>,
    /// New sources; for a URL the run has already, only the ids are added.
    pub sources: Vec<Source>,
    pub notes: Vec<Note>,
    pub finish: Option<Finish>,
}

impl Commit {
    /// Returns an empty commit; writes nothing but proves that the lease holds.
    pub fn new(lease: Lease) -> Self {
        Self { lease, steps: Vec::new(), events: Vec::new(), sources: Vec::new(), notes: Vec::new(), finish: None }
    }

    /// Returns the bytes of its long texts: what it takes to store it.
    pub fn text_bytes(&self) -> usize {
        let steps = self.steps.iter().map(|step| step.value.len());
        steps.chain(self.sources.iter().map(|source| source.snapshot.len())).sum()
    }
}

/// A commit with the stamp by which the database recognises it when it comes a second time.
///
/// When the connection breaks during COMMIT nobody knows whether the transaction went through. The stamp is stored in
/// the run's row together with what it stands for, so repeating the same entry is safe: if it is there already, it is
/// answered with success and written no second time.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) stamp: Uuid,
    /// The stamp of the commit before it under the same lease, which has to be the newest one of the run; `None`: the
    /// first one of this process.
    pub(super) after: Option<Uuid>,
    pub commit: Commit,
    /// The events as they are stored, still without their numbers.
    pub(super) events: Vec<EventRow>,
}

impl From<Commit> for Entry {
    fn from(commit: Commit) -> Self {
        let events = commit.events.iter().map(|new| EventRow::new(commit.lease.run_id, new)).collect();
        Self { stamp: Uuid::now_v7(), after: None, commit, events }
    }
}

impl Entry {
    /// Returns what the next commit under the same lease follows.
    pub fn stamp(&self) -> Uuid {
        self.stamp
    }

    /// Makes it follow that commit: it is refused where a database has lost what it had confirmed.
    pub fn follow(&mut self, stamp: Option<Uuid>) {
        self.after = stamp;
    }

    /// Returns the events as they are stored, numbered from `first` on.
    pub fn numbered(self, first: i64) -> impl Iterator<Item = EventRow> {
        self.events.into_iter().zip(first..).map(|(event, seq)| EventRow { seq, ..event })
    }
}

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub seq: i64,
    pub run_id: RunId,
    pub ts: Timestamp,
    /// As [`Scope`] has them.
    pub agent: String,
    pub agent_id: Option<String>,
    /// The event's type.
    pub name: String,
    /// A JSON object with `type` and `data`.
    pub body: String,
}

impl EventRow {
    /// Returns an event that has no number yet.
    pub(super) fn new(run_id: RunId, new: &NewEvent) -> Self {
        // No event has a map with other keys than text, so each can be written as JSON.
        let body = serde_json::to_string(&new.event);
        Self {
            seq: 0,
            run_id,
            ts: new.ts,
            agent: new.scope.agent.as_str().to_owned(),
            agent_id: new.scope.id.clone(),
            name: new.event.name().to_owned(),
            body: body.unwrap_or_else(|_| format!(r#"{{"type":"{}","data":{{}}}}"#, new.event.name())),
        }
    }
}

/// A page of a thread's log, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRows {
    pub rows: Vec<EventRow>,
    /// It ends where its limit was, so there may be more.
    pub more: bool,
}

/// How long a page may get: it ends with the row that reaches either limit.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    pub rows: u32,
    pub bytes: usize,
}

/// What a call for old events to be removed did; nothing was left to do when `threads` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub threads: u64,
    pub events: u64,
}

/// A thread in which nothing has happened since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiredThread {
    pub id: ThreadId,
    /// The number of its newest event when it was found.
    pub(super) last_seq: i64,
    /// No document was given to it since then.
    pub(super) before: Timestamp,
}

/// Events that a reader wants and that were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first and the last number of them.
    pub from: i64,
    pub to: i64,
    /// The run of the last one, and when that ended.
    pub run_id: RunId,
    pub ended_at: Timestamp,
}

/// The state of a thread's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPosition {
    /// Where the reading begins: behind the gap, and not beyond the newest event.
    pub after_seq: i64,
    pub gap: Option<Gap>,
    /// The number of its newest event.
    pub last_seq: i64,
    /// A run is queued or at work.
    pub active: bool,
    pub newest_run: Option<RunId>,
}

/// The place where a reader of one run has to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPosition {
    pub thread_id: ThreadId,
    /// Between the run's first event and the thread's newest, behind the gap.
    pub after_seq: i64,
    pub gap: Option<Gap>,
    /// The number of the thread's newest event.
    pub last_seq: i64,
    pub is_final: bool,
    /// The run is final, and its last event not above `after_seq`: nothing comes but the gap.
    pub over: bool,
}
