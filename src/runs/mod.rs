//! The life of a run and of the thread it belongs to: submit, claim, work, cancel, delete, finish.
//!
//! [`Runs`] is the cheap handle that the command line and the service use. `submit.rs` lets runs in, `dispatcher.rs`
//! claims them and owns their tasks, `worker.rs` carries a claimed run to its end, `active.rs` knows which ones this
//! process works on, `marks.rs` what it was doing should it die.
//!
//! Beside the worker, `lease_renewer.rs` keeps its lease, `conclusion.rs` writes the end (`ended.rs` has which there
//! are), and `refused.rs` gives back what this process is not set up for. `retry.rs` lets a run go on from another,
//! `estimate.rs` says what one would take. `means.rs` is what runs call, with the server's keys or with those of
//! `request_keys.rs`.

mod active;
mod breakdown;
mod collections;
mod conclusion;
mod condition;
mod dispatcher;
mod ended;
mod estimate;
mod lease_renewer;
mod marks;
mod means;
mod owned;
mod refused;
mod request_keys;
mod retry;
mod shared;
mod stuck;
mod submit;
mod uploads;
mod usage;
mod worker;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

pub use crate::search::UploadError;
use crate::{
    domain::{
        Caps, CollectionId, GivenKeys, ModelName, OptionError, Run, RunDetails, RunId, RunOptions, ThreadId, UseLimits,
        options::{EFFORT, MODEL_OPTIONS, SEARCH_API, SEARCH_FALLBACK},
        presets::{Preset, presets},
    },
    events::{EventLog, WriterHandle},
    llm::Llm,
    process,
    prompts::Prompts,
    research::Toolbox,
    search,
    store::{self, Claimed, Store},
    webhooks::{self, Webhooks},
};
use active::{Active, Leaving, RunSignals};
pub use breakdown::{Breakdown, PeriodBreakdown, Sums, breakdown, breakdown_of_period};
pub use collections::OwnedCollection;
pub use condition::Database;
pub use dispatcher::Dispatcher;
pub use ended::Ended;
use marks::Marks;
pub use means::Means;
pub use owned::{OwnedEvents, OwnedRun, OwnedThread};
pub use request_keys::RequestKeys;
pub use shared::{SharedReport, SharedThread};
use store::Clock;
pub use store::{
    Cancelling, Cursor, Error as StoreError, FirstAnswer, NewThread, Page, RunFilter, Step, ThreadChange, ThreadFilter,
    UsageFilter, UsageRow,
};
pub use stuck::longest_silence;
pub use submit::{Accepted, Key, Submission};
pub use uploads::{HasDocuments, OwnedDocuments};
pub use usage::{OwnerUsage, Period, usage};

/// Wrong options of one request that are looked into.
const MAX_WRONG_OPTIONS: usize = 32;
/// A message may have so many characters; what is longer belongs into a document.
pub const MAX_MESSAGE_CHARS: usize = 100_000;

/// How long a run waits for a database that went away, where it has to read, and how often it looks.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(60);
const DATABASE_PAUSE: Duration = Duration::from_millis(500);

/// Everything a run needs of its process.
#[derive(Clone, Debug)]
pub struct Parts {
    pub store: Store,
    pub log: EventLog,
    pub writer: WriterHandle,
    /// With the keys of the server.
    pub means: Arc<Means>,
    /// May others come with a request, and what is made of them.
    pub request_keys: Arc<RequestKeys>,
    pub prompts: Arc<Prompts>,
    pub webhooks: Webhooks,
    /// What researchers may call beside the tools that all have.
    pub toolbox: Toolbox,
    pub settings: Settings,
}

/// How runs are let in and kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What a run uses unless its request or its thread says otherwise.
    pub options: RunOptions,
    /// The most that requests may ask for.
    pub caps: Caps,
    /// How long calls that are under way may take when the process stops.
    pub grace: Duration,
    /// How long a silent worker keeps its runs.
    pub lease: Duration,
    /// A run that kills processes is given up when it has done so for this long.
    pub crash_loop: Duration,
    /// Where the processes of this machine note what they are doing.
    pub marks: PathBuf,
    pub queue: QueueSettings,
    /// Threads in which nothing has happened for longer are deleted; `None`: none is.
    pub thread_retention: Option<Duration>,
    /// Events of runs that ended longer ago are removed; `None`: they are kept as long as their thread.
    pub event_retention: Option<Duration>,
    /// A run at work that stores no event for this long counts as stuck.
    pub longest_silence: Duration,
}

/// How much is taken on, and of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Runs that this process works on at the same time.
    pub max_concurrent_runs: usize,
    /// Runs that may wait, over all processes, as all that follows.
    pub max_queued_runs: u64,
    pub max_queued_runs_per_owner: u64,
    /// Threads that are stored of one owner.
    pub max_threads_per_owner: u64,
    /// Documents that may be given to one thread or collection.
    pub max_documents_per_thread: u64,
    /// What each owner may use beside that.
    pub of_owner: UseLimits,
}

/// The runs of this process and the way to those of others; a cheap clone.
#[derive(Clone, Debug)]
pub struct Runs {
    parts: Arc<Parts>,
    worker: Arc<str>,
    active: Arc<Active>,
}

/// Why a run is not accepted; each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the question is empty")]
    Empty,
    #[error("the question is longer than {MAX_MESSAGE_CHARS} characters; give long texts as a document")]
    TooLong,
    #[error("{option}={model} cannot be used: {remedy}, or choose a model of another provider")]
    MissingKey { option: &'static str, model: ModelName, remedy: String },
    /// Keys that came with a request, or did not; one of them, or all together.
    #[error("{problem}")]
    Keys { name: Option<String>, problem: String },
    #[error(transparent)]
    Search(#[from] search::Missing),
    /// Options nobody knows, or values out of range; at least one.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Options(Vec<OptionError>),
    #[error("there is no such thread")]
    NoSuchThread,
    #[error("there is no such run")]
    NoSuchRun,
    #[error("the run has not ended yet")]
    NotFinished,
    /// Nothing can go on from this run; the text says why.
    #[error("{0}")]
    NotRetryable(String),
    #[error("there is no collection {0}")]
    NoSuchCollection(CollectionId),
    #[error("these collections have more than {limit} characters together, and a run searches no more; name fewer")]
    CollectionsTooLong { limit: u64 },
    #[error("you may have {limit} collections; delete some that are not needed any more")]
    TooManyCollections { limit: u64 },
    #[error("a thread or a collection may have {limit} documents; remove some that are not needed any more")]
    TooManyDocuments { limit: u64 },
    #[error(transparent)]
    Upload(#[from] UploadError),
    #[error(transparent)]
    Webhook(#[from] webhooks::BadAddress),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Why a run cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("there is no run {0}")]
    Unknown(RunId),
    #[error("the run is {}", .0.status.as_str())]
    Final(Box<Run>),
    #[error("the run cannot go on here: {0}")]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] store::Error),
    /// This process lost its lease, and by now somebody else has brought the run to its end.
    #[error("another process took the run over and finished it")]
    TakenOver,
    #[error("interrupted")]
    Interrupted,
}

impl Runs {
    pub fn new(parts: Parts) -> Self {
        let worker: Arc<str> = process::this_process().into();
        let marks = Marks::new(parts.settings.marks.clone(), Arc::clone(&worker));
        Self { parts: Arc::new(parts), worker, active: Arc::new(Active::new(marks)) }
    }

    pub fn store(&self) -> &Store {
        &self.parts.store
    }

    /// Returns the models with the keys of the server, as runs call them.
    pub fn llm(&self) -> &Llm {
        &self.parts.means.llm
    }

    pub fn prompts(&self) -> &Arc<Prompts> {
        &self.parts.prompts
    }

    pub fn log(&self) -> &EventLog {
        &self.parts.log
    }

    /// Waits until the event log, or the task that writes it, has ended, and returns which: by a defect, since this
    /// handle keeps both at work.
    pub async fn log_ended(&self) -> &'static str {
        // Both only wait.
        tokio::select! {
            () = self.parts.writer.ended() => "writer",
            () = self.parts.log.ended() => "readers",
        }
    }

    /// Returns the JSON Schema (draft 2020-12) of the options that requests may set here, with what they are
    /// otherwise.
    pub fn options_schema(&self) -> Value {
        let mut schema = self.parts.settings.options.offered(&self.parts.settings.caps);
        let engines = &self.parts.means.engines;
        for option in [SEARCH_API, SEARCH_FALLBACK] {
            let items = &mut schema["properties"][option]["oneOf"][1]["items"];
            items["enum"] = engines.names().collect();
            items["examples"] = engines.usable().collect();
        }
        // Some of them, for who picks: others can be named, too.
        let models = self.known_models();
        for role in MODEL_OPTIONS {
            schema["properties"][role]["examples"] = json!(models);
        }
        schema
    }

    /// Returns the models that requests may name and that can be called here; there may be others.
    fn known_models(&self) -> Vec<String> {
        let caps = &self.parts.settings.caps;
        let own = self.parts.settings.options.models().map(ToString::to_string);
        let known = self.parts.means.llm.known_models().into_iter();
        let mut models: Vec<String> =
            own.chain(known).filter(|name| caps.check(MODEL_OPTIONS[1], &json!(name)).is_ok()).collect();
        models.sort();
        models.dedup();
        models
    }

    /// Returns what a run uses unless its thread or its request says otherwise.
    pub fn default_options(&self) -> &RunOptions {
        &self.parts.settings.options
    }

    /// Returns how deep requests may have it, the shallowest first.
    pub fn presets(&self) -> Vec<Preset> {
        presets(&self.parts.settings.options, &self.parts.settings.caps)
    }

    /// Returns what each owner may use.
    pub fn limits_of_owners(&self) -> &UseLimits {
        &self.parts.settings.queue.of_owner
    }

    /// Returns the server's options with those stored with a thread laid over them, as far as they can be used here
    /// now: the effort first, as [`RunOptions::lay_over`] had it for the first run, and the others whatever the caps
    /// are by now.
    fn thread_options(&self, stored: &Map<String, Value>) -> RunOptions {
        let (mut options, caps) = (self.parts.settings.options.clone(), &self.parts.settings.caps);
        let has_models = options.has_models();
        let (effort, others): (Map<_, _>, Map<_, _>) = stored.clone().into_iter().partition(|(name, _)| name == EFFORT);
        let mut wrong = options.lay_over(&effort, caps, MAX_WRONG_OPTIONS);
        wrong.extend(others.into_iter().filter_map(|(name, value)| options.set(&name, value).err()));
        if !has_models {
            options.follow_research_model(stored, caps);
        }
        for error in wrong {
            tracing::warn!(%error, "an option stored with a thread is passed over");
        }
        options
    }

    /// Returns stored options, lowered to what the server allows at this time, with those of a request laid over
    /// them. What a request asks for beyond the caps is refused; what was stored when they were higher is not its
    /// fault. Nor is it that an engine which stands in by the choice of others has no key among those of the request,
    /// or is a second model.
    ///
    /// # Errors
    /// [`Refusal::Options`] with what is wrong in `given`, as far as anybody would read it; [`Refusal::Keys`].
    fn options_over(
        &self,
        stored: RunOptions,
        given: &Map<String, Value>,
        keys: &GivenKeys,
    ) -> Result<RunOptions, Refusal> {
        let mut options = stored;
        let lowered = self.parts.settings.caps.lower(&mut options, &self.parts.settings.options);
        if !lowered.is_empty() {
            tracing::debug!(?lowered, "stored options were lowered to what is allowed by now");
        }
        let mut wrong = options.lay_over(given, &self.parts.settings.caps, MAX_WRONG_OPTIONS);
        let (engines, is_given) = (&self.parts.means.engines, |name| given.contains_key(name));
        if is_given(SEARCH_API) {
            wrong.extend(engines.check(&options.search_api).err());
        }
        if is_given(SEARCH_FALLBACK) {
            wrong.extend(engines.check_fallback(&options.search_fallback, &options.search_api).err());
        }
        if !wrong.is_empty() {
            return Err(Refusal::Options(wrong));
        }
        if !is_given(SEARCH_FALLBACK) && !options.search_fallback.is_none() {
            options.search_fallback = self.means(keys)?.without_unusable(options.search_fallback, &options.search_api);
        }
        Ok(options)
    }

    /// Deletes a thread and all that belongs to it, and stops its run; `false` when there was none.
    ///
    /// # Errors
    /// Those of the store.
    async fn delete_thread(&self, thread_id: ThreadId) -> Result<bool, store::Error> {
        let newest = self.parts.store.thread(thread_id).await?.and_then(|thread| thread.latest_run_id);
        let deleted = self.parts.store.delete_thread(thread_id).await?;
        if let Some(run_id) = newest {
            self.active.lose(run_id);
            self.parts.log.wakes().control(run_id);
        }
        self.parts.log.wake(thread_id);
        Ok(deleted)
    }

    /// Returns a run with its usage and its place in the queue; `None` when there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn details(&self, run_id: RunId) -> Result<Option<RunDetails>, store::Error> {
        let run = self.parts.store.run(run_id).await?;
        Ok(self.parts.store.details(run.into_iter().collect()).await?.pop())
    }

    /// Claims the run and carries it to its end, or to an interruption, which parks it. Waits while another process
    /// holds it.
    ///
    /// # Errors
    /// [`WorkError`]; the run stays as it is.
    pub async fn work(&self, run_id: RunId, cancel: &CancellationToken) -> Result<Ended, WorkError> {
        let mut lost = false;
        loop {
            let claimed = tokio::select! {
                claimed = self.claim(run_id) => claimed,
                () = cancel.cancelled() => {
                    // Best effort, as every giving back; the caller learns how it stands.
                    let _ = self.parts.store.park(run_id, &self.worker).await;
                    return Err(WorkError::Interrupted);
                }
            };
            let (lease, run, was_open) = match claimed {
                Err(WorkError::Final(_)) if lost => return Err(WorkError::TakenOver),
                claimed => claimed?,
            };
            let signals = self.active.enter(&lease, cancel, Leaving::Parked { was_open });
            match signals.mark.over(worker::work(&self.parts, lease, run, &signals)).await? {
                // The lease ran out while the database was away, or this process was frozen: claim again, and replay.
                Ended::Lost => lost = true,
                ended => return Ok(ended),
            }
        }
    }

    /// Returns whether other processes may take the run by themselves, as far as the database answers.
    async fn is_open_to_others(&self, run_id: RunId) -> bool {
        let overview = self.parts.store.overview(run_id).await.ok().flatten();
        let is_own = |worker: &Option<String>| worker.as_deref() == Some(&*self.worker);
        overview.is_some_and(|overview| !overview.is_parked() && !is_own(&overview.worker))
    }

    /// Claims the run, once nobody holds it any more; says whether others could have taken it by themselves.
    async fn claim(&self, run_id: RunId) -> Result<(store::Lease, Run, bool), WorkError> {
        let mut logged = false;
        let since = Instant::now();
        loop {
            self.reap_dead_workers().await;
            let claimant = self.claimant();
            let was_open = self.is_open_to_others(run_id).await;
            let claimed = match self.parts.store.claim(run_id, &claimant).await {
                Ok(Claimed::HeldBy { worker, .. }) if process::is_dead(&worker) => {
                    self.parts.store.claim_taken_over(run_id, &claimant, &worker).await?
                }
                Err(error) if error.may_pass() && since.elapsed() < DATABASE_TIMEOUT => {
                    tokio::time::sleep(DATABASE_PAUSE).await;
                    continue;
                }
                claimed => claimed?,
            };
            match claimed {
                Claimed::Yes { lease, run } => return Ok((lease, run, was_open)),
                Claimed::Final(run) => return Err(WorkError::Final(Box::new(run))),
                Claimed::Unknown => return Err(WorkError::Unknown(run_id)),
                Claimed::HeldBy { worker, .. } => {
                    if !std::mem::replace(&mut logged, true) {
                        tracing::warn!(%run_id, worker, "another process works on the run; waiting for its lease to end");
                    }
                    tokio::time::sleep(self.parts.settings.lease / 10).await;
                }
            }
        }
    }

    /// Names this process as the claimant of this moment.
    fn claimant(&self) -> store::Claimant {
        store::Claimant { worker: self.worker.to_string(), lease: self.parts.settings.lease, clock: Clock::Database }
    }

    /// Releases the leases of dead processes on this host, and counts a crash for the runs that they were working on.
    async fn reap_dead_workers(&self) {
        let folder = self.active.marks().folder().to_owned();
        let found = tokio::task::spawn_blocking(move || marks::dead(&folder)).await;
        for dead in found.unwrap_or_default() {
            let pauses = self.parts.settings.pauses();
            match self.parts.store.settle(&dead.worker, &dead.ends, pauses, Clock::Database).await {
                Ok(()) => {
                    let died_of: Vec<_> =
                        dead.ends.iter().filter(|end| end.in_own_work).map(|end| end.run_id).collect();
                    let (worker, runs) = (&dead.worker, dead.ends.len());
                    tracing::info!(
                        worker,
                        runs,
                        ?died_of,
                        "a process died; its runs go on, those it may have died of later"
                    );
                    dead.forget();
                }
                Err(error) => tracing::warn!(worker = dead.worker, %error, "runs of a dead process have to wait"),
            }
        }
    }
}

impl Settings {
    /// Returns how long a run is held back after the first death, the second, the third and each later one.
    fn pauses(&self) -> [Duration; 4] {
        [600, 120, 20, 5].map(|part| self.crash_loop / part)
    }
}
