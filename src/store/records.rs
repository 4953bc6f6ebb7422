//! The records that go in and out of the store.

use uuid::Uuid;

use crate::domain::{
    Event, Failure, Message, MessageId, Note, Outcome, Run, RunId, RunOptions, RunStatus, Scope, Source, ThreadId,
    Timestamp, Usage, report::Report,
};

/// A thread with its first message and queued run, to be created in one transaction.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub thread_id: ThreadId,
    pub run_id: RunId,
    pub message_id: MessageId,
    pub content: String,
    pub options: RunOptions,
    /// The folder that a run with `search_api=local` searches; absolute.
    pub documents: Option<String>,
    pub now: Timestamp,
}

/// Proof of ownership: every write of a run's owner carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub run_id: RunId,
    pub thread_id: ThreadId,
    /// Rises with every claim; a write with an older one is [`super::Error::Fenced`].
    pub epoch: i64,
}

/// Who claims, and until when.
#[derive(Clone, Debug)]
pub struct Claimant {
    /// Names the process; shown to operators and compared to find owners that died on this machine.
    pub owner: String,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

/// The answer to a claim.
#[derive(Clone, Debug)]
pub enum Claimed {
    Yes {
        lease: Lease,
        run: Run,
    },
    /// Somebody holds it until then.
    HeldBy {
        owner: String,
        expires_at: Timestamp,
    },
    /// Its status is final.
    Final(Run),
    Unknown,
}

/// What a heartbeat learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    Held { cancel_requested: bool },
    Lost,
}

/// One finished step of the journal; also the ledger and the provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Path that replay produces again, unique in its run: `lead/3/r1/turn/2`.
    pub key: String,
    /// `model`, `search`, `page`, `value` or `mark`.
    pub kind: String,
    /// SHA-256 of the request, hex; empty for marks.
    pub request_hash: String,
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
    /// An empty commit; writes nothing but proves that the lease holds.
    pub fn new(lease: Lease) -> Self {
        Self { lease, steps: Vec::new(), events: Vec::new(), sources: Vec::new(), notes: Vec::new(), finish: None }
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
    pub commit: Commit,
}

impl From<Commit> for Entry {
    fn from(commit: Commit) -> Self {
        Self { stamp: Uuid::now_v7(), commit }
    }
}

/// A thread's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub id: ThreadId,
    pub created_at: Timestamp,
    /// The number of its newest event; 0 when there is none.
    pub last_seq: i64,
    pub messages: Vec<Message>,
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

/// Where a thread's log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPosition {
    /// The number of its newest event.
    pub last_seq: i64,
    /// A run is queued or at work.
    pub active: bool,
}

/// Where a reader of one run has to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPosition {
    pub thread_id: ThreadId,
    /// Between the run's first event and the thread's newest.
    pub after_seq: i64,
    /// The number of the thread's newest event.
    pub last_seq: i64,
    /// The run is final, and its last event not above that number.
    pub over: bool,
}
