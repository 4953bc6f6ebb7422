//! The journal of one run: the one door through which every outside effect goes.
//!
//! [`Journal::step`] either returns what an earlier process stored under the key, or does the work and stores it, with
//! its events, sources and notes in one transaction, before the caller sees it. Knows nothing of research; see
//! `events::writer` for how commits of many runs are gathered.

mod activity;

use std::{collections::HashMap, future::Future, sync::OnceLock, time::Duration};

use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::watch, time::Instant};

use self::activity::Activity;
pub use self::activity::Resting;
pub use crate::store::{CallRecord, NewEvent, Step, StepKind};
use crate::{
    domain::{Event, Moment, Note, RunId, Scope, Source, Timestamp, WarningCode},
    events::WriterHandle,
    store::{self, Commit, Lease},
    telemetry::metrics,
};

/// A commit that takes longer becomes a warning of the run.
const TELLING_DELAY: Duration = Duration::from_secs(1);

/// Why a run must stop at once, whatever it was doing. Nothing of this is stored in the journal.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stop {
    /// The process is being stopped, so it begins nothing more; the run goes on elsewhere.
    #[error("the process is being stopped")]
    Interrupted,
    /// Another worker has the run, or the database cannot be used.
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
    /// Names the reason in one word, for metrics.
    fn code(&self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
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
    /// When it was begun and finished by the run that this one retries; `None` for what this run did itself.
    pub inherited: Option<(Timestamp, Timestamp)>,
}

impl<T> Entry<T> {
    /// Returns a value without anything beside it.
    pub fn new(value: T) -> Self {
        Self { value, call: None, events: Vec::new(), sources: Vec::new(), notes: Vec::new(), inherited: None }
    }

    /// Returns what a run that this one retries did, without events.
    pub fn inherited(inherited: Inherited<T>) -> Self {
        Self { call: inherited.call, inherited: Some(inherited.at), ..Self::new(inherited.value) }
    }

    /// Returns the same with its value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Entry<U> {
        let Self { value, call, events, sources, notes, inherited } = self;
        Entry { value: change(value), call, events, sources, notes, inherited }
    }

    /// Adds an event of `scope`, now.
    pub fn event(mut self, scope: &Scope, event: Event) -> Self {
        self.events.push(now(scope, event));
        self
    }
}

/// What a step asks for, as the journal recognises it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// SHA-256 of the whole request, hex; empty where the key says everything.
    pub request: String,
    /// SHA-256 of what the request is about, whatever words say it and whichever model is asked, hex.
    pub inputs: String,
}

/// Of a request without words of ours in it.
impl From<String> for Fingerprint {
    fn from(hash: String) -> Self {
        Self { request: hash.clone(), inputs: hash }
    }
}

/// A value of the run that this one retries.
#[derive(Debug)]
pub struct Inherited<T> {
    pub value: T,
    pub call: Option<CallRecord>,
    /// When it was begun and finished.
    pub at: (Timestamp, Timestamp),
}

/// The journal of a run that this process owns.
#[derive(Debug)]
pub struct Journal {
    lease: Lease,
    writer: WriterHandle,
    /// Stored steps not yet asked for; each is taken out when replay reaches it. Locked for map access only.
    stored: Mutex<HashMap<String, Step>>,
    /// Steps of the runs that this one retries, by key, the newest first: answers to requests about the same. Locked
    /// for map access only.
    inherited: Mutex<HashMap<String, Vec<Step>>>,
    /// The wording of the prompts of this process.
    prompts: String,
    activity: Activity,
    /// The lease may be somebody else's afterwards.
    holds_until: watch::Sender<Moment>,
    /// No work is done after it; stored values are still returned.
    ends_at: Option<Instant>,
    /// Why a step of this run had to stop: then no other one begins, whatever works beside it.
    stopped: OnceLock<Stop>,
}

impl Journal {
    /// Returns a journal that replays `stored` and writes as the holder of `lease`, which certainly holds until that
    /// time.
    pub fn new(lease: Lease, holds_until: Moment, stored: Vec<Step>, writer: WriterHandle) -> Self {
        let stored = stored.into_iter().map(|step| (step.key.clone(), step)).collect();
        Self {
            lease,
            writer,
            stored: Mutex::new(stored),
            inherited: Mutex::default(),
            prompts: String::new(),
            activity: Activity::default(),
            holds_until: watch::Sender::new(holds_until),
            ends_at: None,
            stopped: OnceLock::new(),
        }
    }

    /// Makes requests in this wording of the prompts. What was asked for in another one counts as it is.
    pub fn wording(mut self, prompts: &str) -> Self {
        prompts.clone_into(&mut self.prompts);
        self
    }

    /// Takes over the answers of the runs that this one retries, the newest run's first. Their failures are passed
    /// over, and so is what no longer reads: these are asked for again.
    pub fn inheriting(self, steps: impl IntoIterator<Item = Step>) -> Self {
        let mut inherited: HashMap<String, Vec<Step>> = HashMap::new();
        for step in steps.into_iter().filter(is_answer) {
            inherited.entry(step.key.clone()).or_default().push(step);
        }
        Self { inherited: Mutex::new(inherited), ..self }
    }

    /// Returns the answer that a run which this one retries got to a request about the same; each is handed out once.
    pub fn inherited<T: DeserializeOwned>(&self, key: &str, asked: &Fingerprint) -> Option<Inherited<T>> {
        let mut inherited = self.inherited.lock();
        let steps = inherited.get_mut(key)?;
        let fits = |step: &Step| step.request_hash == asked.request || step.input_hash == asked.inputs;
        while let Some(place) = steps.iter().position(fits) {
            let step = steps.remove(place);
            if let Ok(value) = serde_json::from_str(&step.value) {
                return Some(Inherited { value, call: step.call, at: (step.started_at, step.finished_at) });
            }
        }
        None
    }

    /// Ends all work at that time, that which is being done included. A run whose steps are all stored still comes to
    /// its end: nothing more is done for it.
    pub fn ending_at(mut self, ends_at: Instant) -> Self {
        self.ends_at = Some(ends_at);
        self
    }

    /// Returns the id of the run whose journal it is.
    pub fn run_id(&self) -> RunId {
        self.lease.run_id
    }

    /// Returns when all work ends; `None`: never.
    pub fn ends_at(&self) -> Option<Instant> {
        self.ends_at
    }

    /// Notes that the lease was renewed.
    pub fn extend(&self, holds_until: Moment) {
        self.holds_until.send_replace(holds_until);
    }

    /// Returns the value stored under `key`, or the result of `work`, stored before it is returned.
    ///
    /// `work` is not polled when the key is stored. Dropping the future stores nothing.
    ///
    /// # Errors
    /// [`Stop`]: the caller gives up the run. All later steps get the same error.
    pub async fn step<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: StepKind,
        asked: impl Into<Fingerprint>,
        work: impl Future<Output = Result<Entry<T>, Stop>>,
    ) -> Result<T, Stop> {
        if let Some(stop) = self.stopped.get() {
            return Err(stop.clone());
        }
        let result = self.replay_or_work(key, kind, asked.into(), work).await;
        result.inspect_err(|stop| {
            metrics::step_failed(kind.as_str(), stop.code());
            _ = self.stopped.set(stop.clone());
        })
    }

    async fn replay_or_work<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: StepKind,
        asked: Fingerprint,
        work: impl Future<Output = Result<Entry<T>, Stop>>,
    ) -> Result<T, Stop> {
        if let Some(step) = self.take(key) {
            return self.replayed(&step, &asked);
        }
        self.may_begin().await?;
        let _working = self.activity.working();
        let (started_at, begun) = (Timestamp::now(), Instant::now());
        // Boxed: calls are large, and the time limit would put them onto the stack once more.
        let entry = self.in_time(Box::pin(work)).await;
        metrics::step_done(kind.as_str(), begun.elapsed());
        let entry = entry?;
        let value = serde_json::to_string(&entry.value).map_err(|error| corrupt(key, &error))?;
        let (started_at, finished_at) = entry.inherited.unwrap_or_else(|| (started_at, Timestamp::now()));
        let step = Step {
            key: key.to_owned(),
            kind,
            request_hash: asked.request,
            input_hash: asked.inputs,
            prompts: self.prompts.clone(),
            inherited: entry.inherited.is_some(),
            value,
            started_at,
            finished_at,
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

    /// Returns whether the value of that step is stored, and not asked for yet.
    pub fn has(&self, key: &str) -> bool {
        self.stored.lock().contains_key(key)
    }

    /// Emits `events` once, however often the run is replayed. Does not wait for the database; later steps of this
    /// run are committed after it.
    ///
    /// # Errors
    /// The writer is gone.
    pub async fn mark(&self, key: &str, events: Vec<NewEvent>) -> Result<(), Stop> {
        self.mark_value(key, || (), events).await
    }

    /// Marks as [`Self::mark`] does, with a value: the one that was stored when the run first passed here, or `value`,
    /// which is asked for by nobody else. One that cannot be read, such as of an earlier release, is the default.
    ///
    /// # Errors
    /// The writer is gone.
    pub async fn mark_value<T>(&self, key: &str, value: impl FnOnce() -> T, events: Vec<NewEvent>) -> Result<T, Stop>
    where
        T: Serialize + DeserializeOwned + Default,
    {
        if let Some(step) = self.take(key) {
            return Ok(serde_json::from_str(&step.value).unwrap_or_default());
        }
        let (value, now) = (value(), Timestamp::now());
        let step = Step {
            key: key.to_owned(),
            kind: StepKind::Mark,
            request_hash: String::new(),
            input_hash: String::new(),
            prompts: String::new(),
            inherited: false,
            value: serde_json::to_string(&value).unwrap_or_else(|_| "null".to_owned()),
            started_at: now,
            finished_at: now,
            call: None,
        };
        let commit = Commit { steps: vec![step], ..self.commit(events, Vec::new(), Vec::new()) };
        self.writer.send(commit).await?;
        Ok(value)
    }

    /// Emits `events` now, again on every replay that passes here: warnings of calls really made, report text.
    ///
    /// # Errors
    /// The writer is gone.
    pub async fn emit(&self, events: Vec<NewEvent>) -> Result<(), Stop> {
        Ok(self.writer.send(self.commit(events, Vec::new(), Vec::new())).await?)
    }

    /// Emits events as [`Journal::emit`] does, and returns when they are stored.
    ///
    /// # Errors
    /// [`Stop::Storage`].
    pub async fn emit_stored(&self, events: Vec<NewEvent>) -> Result<(), Stop> {
        Ok(self.writer.commit(self.commit(events, Vec::new(), Vec::new())).await?)
    }

    /// Emits `events` now without waiting at all; when the writer's queue is full they are dropped, which does no harm
    /// to a warning about a wait.
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

    /// Waits until the lease certainly holds and the database takes what the run stores. A process that was frozen,
    /// slept or was cut off from the database for longer than its lease must not pay for anything more: the database
    /// would refuse the result, but only after the call was made. The renewal of the lease ends the wait by
    /// [`Journal::extend`], or ends the run.
    ///
    /// A step passes here before it begins; what it pays for, it passes again before each attempt, which may come long
    /// after.
    ///
    /// # Errors
    /// [`Stop::Interrupted`] once the process is being stopped.
    pub async fn may_begin(&self) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = self.activity.stopping() => Err(Stop::Interrupted),
            holds = self.lease_holds() => holds,
        }
    }

    async fn lease_holds(&self) -> Result<(), Stop> {
        let mut holds_until = self.holds_until.subscribe();
        let mut stores = self.writer.stores();
        loop {
            let holds = !holds_until.borrow_and_update().is_over();
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

    /// Begins nothing more. What is under way goes on; see [`Journal::is_at_rest`].
    pub fn wind_down(&self) {
        self.activity.wind_down();
    }

    /// Marks work as resting while it waits with nothing under way: for its turn, or to try once more.
    pub fn resting(&self) -> Resting {
        self.activity.resting()
    }

    /// Resolves when the run winds down and all that is at work waits with nothing under way. A run without any work
    /// ends by itself.
    pub async fn is_at_rest(&self) {
        self.activity.is_at_rest().await;
    }

    fn replayed<T: DeserializeOwned>(&self, step: &Step, asked: &Fingerprint) -> Result<T, Stop> {
        if step.request_hash != asked.request && !self.is_reworded(step, asked) {
            return Err(Stop::Mismatch { key: step.key.clone() });
        }
        serde_json::from_str(&step.value).map_err(|error| corrupt(&step.key, &error))
    }

    /// Returns whether the same was asked for in the words of another release. One that did not note what its requests
    /// were about has the benefit of the doubt.
    fn is_reworded(&self, step: &Step, asked: &Fingerprint) -> bool {
        let unknown = step.input_hash.is_empty() && step.kind == StepKind::Model;
        step.prompts != self.prompts && (unknown || step.input_hash == asked.inputs)
    }

    fn tell_delay(&self, delay: Duration) {
        if delay >= TELLING_DELAY {
            let detail = format!("the database took {:.1} s to store a step", delay.as_secs_f64());
            let event = Event::warning(WarningCode::StorageDelayed, detail);
            self.try_emit(vec![now(&Scope::ROOT, event)]);
        }
    }

    fn take(&self, key: &str) -> Option<Step> {
        self.stored.lock().remove(key)
    }

    fn commit(&self, events: Vec<NewEvent>, sources: Vec<Source>, notes: Vec<Note>) -> Commit {
        Commit { lease: self.lease, steps: Vec::new(), events, sources, notes, finish: None }
    }
}

/// Returns an event of `scope` with the time of now.
pub fn now(scope: &Scope, event: Event) -> NewEvent {
    NewEvent { ts: Timestamp::now(), scope: scope.clone(), event }
}

/// Returns whether it is a step that something was learned by. A failure was stored as such, and marks are the run's
/// own.
fn is_answer(step: &Step) -> bool {
    step.kind != StepKind::Mark && !step.value.starts_with("{\"Err\":")
}

fn corrupt(key: &str, error: &serde_json::Error) -> Stop {
    Stop::Storage(store::Error::Corrupt(format!("step '{key}': {error}")))
}
