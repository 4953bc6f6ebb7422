//! The records that go in and out of the store, but for what runs do (`log_records.rs`).

use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::{
    Allowance, ApiKeyId, CollectionId, Message, MessageId, MessageRole, Moment, Owner, Run, RunId, RunOptions,
    RunStatus, ThreadId, ThreadStatus, Timestamp, UseLimits,
};

/// A message with the run that answers it, to be created in one transaction.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub thread_id: ThreadId,
    pub run_id: RunId,
    pub message_id: MessageId,
    pub content: String,
    pub options: RunOptions,
    /// Those of them that came with the message. They become the thread's if it began with a document and has no other
    /// message.
    pub given_options: Map<String, Value>,
    /// The folder that a run with `search_api=local` searches; absolute.
    pub documents: Option<String>,
    /// Whose work it is, for a queue that is fair; also its thread's, unless users share the service.
    pub owner: Owner,
    /// The key that asks for it, where the service asks for keys.
    pub key: Option<ApiKeyId>,
    /// Keeps the run for this process, which will claim it by its id; nobody else may before that time.
    pub reserved: Option<Claimant>,
    /// Whom to tell when the run has ended.
    pub webhook_url: Option<String>,
    /// Keys that came with the request, sealed; wiped when the run ends.
    pub sealed_keys: Option<Vec<u8>>,
    /// The run goes on from an earlier one of its thread. Then `content` may be empty, and no message is stored.
    pub retry: Option<RetryOf>,
    /// Those that the run may search, of the ones that its options name.
    pub collections: Vec<CollectionId>,
    pub now: Timestamp,
}

/// The place in another run's journal from which a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOf {
    pub run_id: RunId,
    /// The run whose message it answers: the first one of a chain of retries.
    pub question_of: RunId,
}

impl NewRun {
    /// Returns a run of a thread of its own.
    #[cfg(test)]
    pub fn example(content: &str) -> Self {
        Self {
            thread_id: ThreadId::new(),
            run_id: RunId::new(),
            message_id: MessageId::new(),
            content: content.to_owned(),
            options: RunOptions::default(),
            given_options: Map::new(),
            documents: None,
            owner: Owner::local(),
            key: None,
            reserved: None,
            webhook_url: None,
            sealed_keys: None,
            retry: None,
            collections: Vec::new(),
            now: Timestamp(0),
        }
    }

    /// Returns the user's message that comes with the run.
    pub fn message(&self) -> Message {
        Message {
            id: self.message_id,
            role: MessageRole::User,
            content: self.content.clone(),
            run_id: Some(self.run_id),
            created_at: self.now,
        }
    }
}

/// What a thread is made with, beside its first run.
#[derive(Clone, Debug, Default)]
pub struct NewThread {
    pub metadata: Map<String, Value>,
    /// Inherited by its later runs.
    pub options: Map<String, Value>,
}

/// The conditions under which a run is let in.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    pub limits: Option<QueueLimits>,
    /// What the run's owner may use.
    pub of_owner: UseLimits,
    /// What the run's key may use.
    pub of_key: UseLimits,
    pub idempotency: Option<IdempotencyKey>,
}

/// The most runs that may wait; reached, further ones are refused with [`super::Error::QueueFull`]. And the most
/// threads that are stored of one owner; reached, further ones are refused with [`super::Error::TooManyThreads`].
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    pub total: u64,
    pub per_owner: u64,
    /// Runs that can start at once and so do not really wait; they are let in beyond both limits.
    pub room: u64,
    pub threads_per_owner: u64,
}

/// Makes a request repeatable: the same key with the same body creates nothing twice.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    /// The operation and the owner; equal keys of different scopes have nothing to do with each other.
    pub scope: String,
    pub key: String,
    /// SHA-256 of the request, hex.
    pub request_hash: String,
    /// Keys older than this are forgotten.
    pub not_before: Timestamp,
}

/// What became of a request to create a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Created {
    /// `position` is the run's place in the queue, from 1; `allowances` is what its owner and its key have left now.
    New { run: Box<Run>, position: u64, allowances: Vec<Allowance> },
    /// The key was used for the same request before.
    Before(FirstAnswer),
}

/// What the first request with a key created and was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstAnswer {
    pub thread_id: ThreadId,
    pub run_id: RunId,
    pub message_id: MessageId,
    /// The body of the answer; `None` when the process ended before it was kept, or has not answered yet.
    pub response: Option<String>,
}

/// The beginning of a page of a list: behind this item, in the list's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The item's time of creation, or a message's position.
    pub at: i64,
    pub id: Uuid,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Returns a page of at most `limit` items, of which one more was asked for to know whether there are more.
    pub(super) fn of(mut found: Vec<(Cursor, T)>, limit: u32) -> Self {
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let next = found.last().filter(|_| more).map(|(cursor, _)| *cursor);
        Self { items: found.into_iter().map(|(_, item)| item).collect(), next }
    }
}

/// How full the service is, over all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub queued: u64,
    pub running: u64,
}

/// Which runs are listed.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// The owner who started them.
    pub owner: Option<Owner>,
    /// The owner of their threads, which an administrator may continue, too.
    pub thread_owner: Option<Owner>,
    pub thread_id: Option<ThreadId>,
    pub status: Option<RunStatus>,
}

/// A run as operators see it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOverview {
    pub run: Run,
    /// The beginning of the message it answers.
    pub question: String,
    /// The process that holds it, or for which it is kept.
    pub worker: Option<String>,
    /// From then on anybody may claim it, unless it is final.
    pub lease_expires_at: Timestamp,
    /// How often it was claimed.
    pub epoch: i64,
    /// How many processes died of it since its last step was stored.
    pub deaths: u32,
    /// How many of its workers came to an end since then that nobody can explain.
    pub unexplained: u32,
    /// Of an active run: when it last stored an event.
    pub newest_event_at: Option<Timestamp>,
    /// Steps stored.
    pub steps: u64,
}

impl RunOverview {
    /// Returns whether it was interrupted on the command line, and waits until somebody asks for it by its id.
    pub fn is_parked(&self) -> bool {
        let free_in = self.lease_expires_at.after(Timestamp::now());
        !self.run.status.is_final() && self.worker.is_none() && free_in > super::PARKED / 2
    }
}

/// What a request to cancel found.
#[derive(Clone, Debug, PartialEq)]
pub enum Cancelling {
    /// Its worker will hear of it.
    Requested(Run),
    /// Nobody worked on it: it is cancelled, its last event written.
    Done(Run),
    /// It was final already.
    Final(Run),
}

/// Proof that a process is the run's worker: every write of the worker carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub run_id: RunId,
    pub thread_id: ThreadId,
    /// Rises with every claim; a write with an older one is [`super::Error::Fenced`].
    pub epoch: i64,
    /// How many processes died of this run since its last step was stored, and over which time.
    pub deaths: u32,
    pub suspected_for: Duration,
    /// How many workers came to an end since then that nobody can explain.
    pub unexplained: u32,
    /// Before it was asked for: its time runs from then on, as far as this process may count on it.
    pub asked_at: Moment,
}

impl Lease {
    /// Returns whether the run is to be worked on alone.
    pub fn is_suspect(&self) -> bool {
        self.deaths >= SUSPECT_DEATHS || self.unexplained >= SUSPECT_ENDS
    }
}

/// The deaths that make a run one that is worked on alone; so do as many ends of workers that nobody can explain. The
/// queries repeat both numbers.
const SUSPECT_DEATHS: u32 = 2;
const SUSPECT_ENDS: u32 = 3;

/// The clock by which leases are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The database's, which is one for all processes, however wrong the clocks of their machines are.
    Database,
    /// It is now that time: for tests.
    At(Timestamp),
}

impl Clock {
    /// Returns the time to be used in place of the database's.
    pub(super) fn given(self) -> Option<i64> {
        match self {
            Self::Database => None,
            Self::At(time) => Some(time.0),
        }
    }

    /// Returns the time of what happens now, as events tell it.
    pub(super) fn of_events(self) -> Timestamp {
        match self {
            Self::Database => Timestamp::now(),
            Self::At(time) => time,
        }
    }
}

/// Which leases of a dead worker are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedLeases {
    All,
    /// Those of runs that no process may have died of since their last step was stored.
    Unsuspected,
}

/// Who claims, and for how long.
#[derive(Clone, Debug)]
pub struct Claimant {
    /// Names the process; shown to operators and compared to find workers that died on this machine.
    pub worker: String,
    pub lease: Duration,
    pub clock: Clock,
}

/// Which runs a process takes when it looks for the next one. Never one that it owns already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimFilter {
    /// Runs nobody has begun.
    pub queued: bool,
    /// Runs whose worker let its lease run out.
    pub orphans: bool,
    /// Runs that are worked on alone.
    pub suspects: bool,
}

impl ClaimFilter {
    /// Whatever there is.
    pub const ALL: Self = Self { queued: true, orphans: true, suspects: true };
}

/// What a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRun {
    pub run_id: RunId,
    pub epoch: i64,
    pub cancel_requested: bool,
    /// It is to be worked on alone.
    pub suspect: bool,
}

/// How a dead worker's work on a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub run_id: RunId,
    pub epoch: i64,
    /// Our own code was at work on the run when the process died, so the run may be why.
    pub in_own_work: bool,
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
        worker: String,
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

/// Which threads are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Text that stands in the title or in a message, in whatever case; never empty.
    pub words: Option<String>,
    pub status: Option<ThreadStatus>,
    /// Members of the metadata with their values as text.
    pub metadata: Vec<(String, String)>,
}

/// What is to be changed about a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadChange {
    pub title: Option<String>,
    /// A merge patch (RFC 7396).
    pub metadata: Map<String, Value>,
    /// What the metadata may have afterwards, as JSON.
    pub max_metadata_bytes: usize,
}

/// A webhook to be delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// As it ended.
    pub run: Run,
    pub url: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    pub ended_at: Timestamp,
}
