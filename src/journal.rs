//! The journal of one run: the one door through which every outside effect goes.
//!
//! [`Journal::step`] either returns what an earlier process stored under the key, or does the work and stores it, with
//! its events, sources and notes in one transaction, before the caller sees it. Knows nothing of research; see
//! `events::writer` for how commits of many runs are gathered.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use tokio::{sync::watch, time::Instant};

pub use crate::store::{CallRecord, NewEvent};
use crate::{
    domain::{Event, Note, Scope, Source, Timestamp, WarningCode},
    events::WriterHandle,
    store::{self, Commit, Lease, Step},
    telemetry::metrics,
};

/// A commit that takes longer is told to the run's readers.
const TELLING_DELAY: Duration = Duration::from_secs(1);

/// Why a run must stop at once, whatever it was doing. Nothing of this is stored in the journal.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stop {
    /// Another worker owns the run, or the database cannot be used.
    #[error(transparent)]
    Storage(#[from] store::Error),
    /// Replay asked for something else than what was stored under the key.
    #[error("the journal does not fit: step '{key}' was made by a different request")]
    Mismatch { key: String },
    /// The run's time was over when it wanted to do more.
    #[error("the run took longer than max_run_seconds allows; what it found until then is kept")]
    TimeOver,
}

impl Stop {
    /// One word, for metrics.
    fn code(&self) -> &'static str {
        match self {
            Self::Storage(store::Error::Fenced) => "lost",
            Self::Storage(_) => "storage",
            Self::Mismatch { .. } => "mismatch",
            Self::TimeOver => "time_over",
        }
    }
}

/// What a step did, to be stored together.
#[derive(Debug)]
pub struct Entry<T> {
    pub value: T,
    pub call: Option<CallRecord>,
    pub events: Vec<NewEvent>,
    pub sources: Vec<Source>,
    pub notes: Vec<Note>,
}

impl<T> Entry<T> {
    /// A value without anything beside it.
    pub fn new(value: T) -> Self {
        Self { value, call: None, events: Vec::new(), sources: Vec::new(), notes: Vec::new() }
    }

    /// Adds an event of `scope`, now.
    pub fn event(mut self, scope: &Scope, event: Event) -> Self {
        self.events.push(now(scope, event));
        self
    }
}

/// The journal of a run that this process owns.
#[derive(Debug)]
pub struct Journal {
    lease: Lease,
    writer: WriterHandle,
    /// Stored steps not yet asked for; each is taken out when replay reaches it. Locked for map access only.
    stored: Mutex<HashMap<String, Step>>,
    /// The lease may be somebody else's afterwards.
    holds_until: watch::Sender<Instant>,
    /// No work is done after it; stored values are still returned.
    ends_at: Option<Instant>,
    /// Why a step of this run had to stop: then no other one begins, whoever works beside it.
    stopped: OnceLock<Stop>,
}

impl Journal {
    /// A journal that replays `stored` and writes as the holder of `lease`, which certainly holds until that time.
    pub fn new(lease: Lease, holds_until: Instant, stored: Vec<Step>, writer: WriterHandle) -> Self {
        let stored = stored.into_iter().map(|step| (step.key.clone(), step)).collect();
        Self {
            lease,
            writer,
            stored: Mutex::new(stored),
            holds_until: watch::Sender::new(holds_until),
            ends_at: None,
            stopped: OnceLock::new(),
        }
    }

    /// Ends all work at that time, that which is being done included. A run whose steps are all stored still comes to
    /// its end: nothing more is done for it.
    pub fn ending_at(mut self, ends_at: Instant) -> Self {
        self.ends_at = Some(ends_at);
        self
    }

    /// The lease was renewed.
    pub fn extend(&self, holds_until: Instant) {
        self.holds_until.send_replace(holds_until);
    }

    /// The value stored under `key`, or the result of `work`, stored before it is returned.
    ///
    /// `work` is not polled when the key is stored. Dropping the future stores nothing.
    ///
    /// # Errors
    /// [`Stop`]: the caller gives up the run. All later steps get the same error.
    pub async fn step<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        request_hash: String,
        work: impl Future<Output = Result<Entry<T>, Stop>>,
    ) -> Result<T, Stop> {
        if let Some(stop) = self.stopped.get() {
            return Err(stop.clone());
        }
        let result = self.replay_or_work(key, kind, request_hash, work).await;
        result.inspect_err(|stop| {
            metrics::step_failed(kind, stop.code());
            _ = self.stopped.set(stop.clone());
        })
    }

    async fn replay_or_work<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        request_hash: String,
        work: impl Future<Output = Result<Entry<T>, Stop>>,
    ) -> Result<T, Stop> {
        if let Some(step) = self.take(key) {
            return replayed(&step, &request_hash);
        }
        self.may_begin().await?;
        let (started_at, begun) = (Timestamp::now(), Instant::now());
        // Boxed: calls are large, and the time limit would put them onto the stack once more.
        let entry = self.in_time(Box::pin(work)).await;
        metrics::step_done(kind, begun.elapsed());
        let entry = entry?;
        let value = serde_json::to_string(&entry.value).map_err(|error| corrupt(key, &error))?;
        let step = Step {
            key: key.to_owned(),
            kind: kind.to_owned(),
            request_hash,
            value,
            started_at,
            finished_at: Timestamp::now(),
            call: entry.call,
        };
        let commit = Commit { steps: vec![step], ..self.commit(entry.events, entry.sources, entry.notes) };
        let sent = Instant::now();
        self.writer.commit(commit).await?;
        self.tell_delay(sent.elapsed());
        Ok(entry.value)
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
        match self.ends_at {
            None => work.await,
            Some(ends_at) if Instant::now() >= ends_at => Err(Stop::TimeOver),
            Some(ends_at) => tokio::time::timeout_at(ends_at, work).await.unwrap_or(Err(Stop::TimeOver)),
        }
    }

    /// Emits `events` once, however often the run is replayed. Does not wait for the database; later steps of this
    /// run are committed after it.
    ///
    /// # Errors
    /// The writer is gone.
    pub async fn mark(&self, key: &str, events: Vec<NewEvent>) -> Result<(), Stop> {
        if self.take(key).is_some() {
            return Ok(());
        }
        let now = Timestamp::now();
        let step = Step {
            key: key.to_owned(),
            kind: "mark".to_owned(),
            request_hash: String::new(),
            value: "null".to_owned(),
            started_at: now,
            finished_at: now,
            call: None,
        };
        let commit = Commit { steps: vec![step], ..self.commit(events, Vec::new(), Vec::new()) };
        Ok(self.writer.send(commit).await?)
    }

    /// Emits `events` now, again on every replay that passes here: warnings of calls really made, report text.
    ///
    /// # Errors
    /// The writer is gone.
    pub async fn emit(&self, events: Vec<NewEvent>) -> Result<(), Stop> {
        Ok(self.writer.send(self.commit(events, Vec::new(), Vec::new())).await?)
    }

    /// As [`Journal::emit`], but returns when they are stored.
    ///
    /// # Errors
    /// [`Stop::Storage`].
    pub async fn emit_stored(&self, events: Vec<NewEvent>) -> Result<(), Stop> {
        Ok(self.writer.commit(self.commit(events, Vec::new(), Vec::new())).await?)
    }

    /// Emits `events` now without waiting at all; when the writer's queue is full they are dropped, which a warning
    /// about a wait can bear.
    pub fn try_emit(&self, events: Vec<NewEvent>) {
        self.writer.try_send(self.commit(events, Vec::new(), Vec::new()));
    }

    /// Ends the run: its row becomes final together with the last events.
    ///
    /// # Errors
    /// [`Stop::Storage`] when the lease is lost or the database stays away.
    pub async fn finish(&self, finish: store::Finish, events: Vec<NewEvent>) -> Result<(), Stop> {
        let commit = Commit { finish: Some(finish), ..self.commit(events, Vec::new(), Vec::new()) };
        Ok(self.writer.commit(commit).await?)
    }

    /// Waits until the lease certainly holds and the database takes what the run stores. A process that was frozen or cut off from the database for longer than its
    /// lease must not pay for anything more: the database would refuse the result, but only after the call was made.
    /// Whoever renews the lease ends the wait by [`Journal::extend`], or ends the run.
    ///
    /// A step passes here before it begins; what it pays for, it passes again before each attempt, which may come long
    /// after.
    ///
    /// # Errors
    /// None while the journal is there.
    pub async fn may_begin(&self) -> Result<(), Stop> {
        let mut holds_until = self.holds_until.subscribe();
        let mut stores = self.writer.stores();
        loop {
            let holds = Instant::now() < *holds_until.borrow_and_update();
            if holds && *stores.borrow_and_update() {
                return Ok(());
            }
            // Losing an arm loses nothing: both are looked at again.
            tokio::select! {
                // The sender is a field of this journal, so a change is all that can come.
                changed = holds_until.changed() => changed.map_err(|_| store::Error::Fenced)?,
                changed = stores.changed() => changed.map_err(|_| store::Error::Unavailable("the writer has stopped".into()))?,
            }
        }
    }

    fn tell_delay(&self, delay: Duration) {
        if delay >= TELLING_DELAY {
            let detail = format!("the database took {:.1} s to store a step", delay.as_secs_f64());
            let event = Event::warning(WarningCode::StorageDelayed, detail);
            self.try_emit(vec![now(&Scope::ROOT, event)]);
        }
    }

    fn take(&self, key: &str) -> Option<Step> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    fn commit(&self, events: Vec<NewEvent>, sources: Vec<Source>, notes: Vec<Note>) -> Commit {
        Commit { lease: self.lease, steps: Vec::new(), events, sources, notes, finish: None }
    }
}

/// An event of `scope` with the time of now.
pub fn now(scope: &Scope, event: Event) -> NewEvent {
    NewEvent { ts: Timestamp::now(), scope: scope.clone(), event }
}

/// SHA-256 of the JSON form of a request, hex.
pub fn hash_of(request: &impl Serialize) -> String {
    let mut hasher = HashWriter(Sha256::new());
    // A value that cannot be serialized hashes as what was written of it, which is still the same on replay.
    let _ = serde_json::to_writer(&mut hasher, request);
    hex(&hasher.0.finalize())
}

/// SHA-256 of bytes, hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn replayed<T: DeserializeOwned>(step: &Step, request_hash: &str) -> Result<T, Stop> {
    if step.request_hash != request_hash {
        return Err(Stop::Mismatch { key: step.key.clone() });
    }
    serde_json::from_str(&step.value).map_err(|error| corrupt(&step.key, &error))
}

fn corrupt(key: &str, error: &serde_json::Error) -> Stop {
    Stop::Storage(store::Error::Corrupt(format!("step '{key}': {error}")))
}

struct HashWriter(Sha256);

impl std::io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
