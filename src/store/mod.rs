//! All SQL: threads, messages, runs, steps, events, sources, notes, on Postgres or SQLite.
//!
//! Callers see [`Store`] and never learn which engine it is. Used by `runs` and `events` alone.
//!
//! The queries live in `queries/`, compiled once per engine: `postgres.rs` and `sqlite.rs` each say which database
//! type they mean, hold what differs (connecting, beginning a write, locking clauses) and include the same files.

mod error;
mod health;
mod postgres;
mod records;
mod sqlite;
mod wakes;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use secrecy::SecretString;

use crate::domain::{
    Envelope, Message, MessageId, Note, Owner, Run, RunDetails, RunId, RunStatus, Source, SourceId, Thread, ThreadId,
    Timestamp, Usage, report::Report,
};

pub use error::Error;
use health::Health;
pub use records::{
    Admission, CallRecord, Cancelling, Claimant, Claimed, Clock, Commit, Created, Cursor, Delivery, End, Entry,
    EventRow, EventRows, Finish, FirstAnswer, Gap, Held, IdempotencyKey, Lease, Load, NewEvent, NewRun, NewThread,
    Page, PageLimit, Pruned, QueueLimits, Renewal, RetryOf, RunFilter, RunOverview, RunPosition, Step, ThreadChange,
    ThreadFilter, ThreadPosition, Wanted,
};
pub use wakes::{Heard, Listener, Wake};

/// The version of the newest migration this program knows.
const NEWEST_SCHEMA: i64 = 3;

/// The longest a database across a network may take to answer: connections of a server that was replaced look as if the
/// answer were still to come, for ever.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// How long a reader waits for a connection.
const READER_LIMIT: Duration = Duration::from_secs(3);
/// How often a transaction is tried that the database gives up for another one, and the first pause, which doubles.
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// What failed sooner, because a connection had broken, is tried once more.
const AGAIN_WITHIN: Duration = Duration::from_secs(1);

/// A run that nobody shall take by itself is free only after so long, which is never. Releases that know nothing of
/// parking leave such a run alone too.
pub const PARKED: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Where the data is kept.
#[derive(Clone, Debug)]
pub enum Database {
    /// `url` as in `postgres://user:password@host:port/database`.
    Postgres { url: SecretString, max_connections: u32 },
    /// A file; it and its folder are created when missing.
    Sqlite { path: PathBuf, synchronous: Synchronous },
}

/// When the embedded database waits for the disk. No end of a process loses anything in either case, and the file stays
/// sound; they differ in what a loss of power, or of the whole machine, costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// At each commit: whatever was answered or stored is still there.
    #[default]
    Full,
    /// Now and then: the last commits may be gone, all of them after some moment.
    Normal,
}

/// Everything that is kept; a cheap clone.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Arc<Engine>,
    health: Arc<Health>,
}

#[derive(Debug)]
enum Engine {
    Postgres(postgres::Engine),
    Sqlite(sqlite::Engine),
}

/// Runs the same expression on whichever engine is there. A macro, since the two differ in type.
macro_rules! on_either {
    ($store:expr, $engine:ident => $call:expr) => {
        match &*$store.engine {
            Engine::Postgres($engine) => $call,
            Engine::Sqlite($engine) => $call,
        }
    };
}

/// As [`on_either`], for what answers with a result: from a server in time, or [`Error::Unavailable`].
macro_rules! attempt {
    ($store:expr, $engine:ident => $call:expr) => {
        match &*$store.engine {
            Engine::Postgres($engine) => answered(async { $call }).await,
            Engine::Sqlite($engine) => $call,
        }
    };
}

/// Attempts it once, and once more when a connection had broken: nothing is changed by it.
macro_rules! ask {
    ($store:expr, $engine:ident => $call:expr) => {{
        let begun = Instant::now();
        let answer = match attempt!($store, $engine => $call) {
            Err(error) if $store.is_to_be_asked_again(&error, begun) => attempt!($store, $engine => $call),
            answer => answer,
        };
        answer.map_err(|error| $store.told(error))
    }};
}

/// Attempts it as long as the database gives the transaction up for another one.
macro_rules! change {
    ($store:expr, $engine:ident => $call:expr) => {{
        let mut attempt = 1;
        loop {
            match attempt!($store, $engine => $call) {
                Err(error) if is_to_be_repeated(&error, attempt).await => attempt += 1,
                answer => break answer.map_err(|error| $store.told(error)),
            }
        }
    }};
}

/// As [`change`], for what may be done twice: once more over a fresh connection when one had broken.
macro_rules! ensure {
    ($store:expr, $engine:ident => $call:expr) => {{
        let begun = Instant::now();
        let (mut attempt, mut fresh) = (1, false);
        loop {
            match attempt!($store, $engine => $call) {
                Err(error) if is_to_be_repeated(&error, attempt).await => attempt += 1,
                Err(error) if !fresh && $store.is_to_be_asked_again(&error, begun) => fresh = true,
                answer => break answer.map_err(|error| $store.told(error)),
            }
        }
    }};
}

async fn answered<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_LIMIT, call)
        .await
        .unwrap_or_else(|_| Err(Error::Disconnected(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))))
}

/// Whether to try again; then a moment has passed.
async fn is_to_be_repeated(error: &Error, attempt: u32) -> bool {
    let again = matches!(error, Error::Contended(_)) && attempt < ATTEMPTS;
    if again {
        tracing::debug!(%error, attempt, "a transaction is tried again");
        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
    }
    again
}

impl Store {
    /// Connects, and brings the schema up to date; several processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Unusable`] when an operator has to act (address, rights, schema), [`Error::Unavailable`] when the
    /// database cannot be reached now.
    pub async fn open(database: &Database) -> Result<Self, Error> {
        let engine = match database {
            Database::Postgres { url, max_connections } => {
                Engine::Postgres(postgres::Engine::open(url, *max_connections).await?)
            }
            Database::Sqlite { path, synchronous } => Engine::Sqlite(sqlite::Engine::open(path, *synchronous).await?),
        };
        Ok(Self { engine: Arc::new(engine), health: Arc::default() })
    }

    /// What callers are told when repeating did not help.
    fn told(&self, error: Error) -> Error {
        let error = match error {
            Error::Contended(text) => Error::Unavailable(text),
            Error::Disconnected(text) => {
                self.distrust();
                Error::Unavailable(text)
            }
            other => other,
        };
        if matches!(error, Error::Unavailable(_)) {
            self.note_trouble();
        }
        error
    }

    /// Whether to try once more, over a fresh connection: a server that was restarted has cut them all. Not after a long
    /// wait, since callers are waiting too.
    fn is_to_be_asked_again(&self, error: &Error, begun: Instant) -> bool {
        let again = matches!(error, Error::Disconnected(_)) && begun.elapsed() < AGAIN_WITHIN;
        if again {
            tracing::debug!(%error, "trying once more over a fresh connection");
            self.distrust();
        }
        again
    }

    /// Connections made before now are not used again.
    fn distrust(&self) {
        if let Engine::Postgres(engine) = &*self.engine {
            engine.distrust();
        }
    }

    /// The database was away, or time cannot be trusted.
    pub fn note_trouble(&self) {
        self.health.note_trouble();
    }

    /// How long it has been since the last trouble; `None` when there was none.
    pub fn since_trouble(&self) -> Option<Duration> {
        self.health.since_trouble()
    }

    /// Succeeds when the database takes a write.
    ///
    /// # Errors
    /// As [`Store::ping`].
    pub async fn probe_write(&self) -> Result<(), Error> {
        ensure!(self, engine => engine.probe_write().await)
    }

    /// As [`Store::probe_write`], answered from memory when it was tried a moment ago.
    pub async fn takes_writes(&self) -> Result<(), Error> {
        self.health.takes_writes(|| self.probe_write()).await
    }

    /// Whether the database has every migration of this program. The service runs them before it listens, but a database
    /// may be replaced by an older one, or an empty one, beneath it.
    pub async fn has_migrations(&self) -> Result<bool, Error> {
        match ask!(self, engine => engine.schema_version().await) {
            Ok(version) => Ok(version >= NEWEST_SCHEMA),
            // There is no table of migrations.
            Err(Error::Unusable(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Succeeds when the database answers a read.
    ///
    /// # Errors
    /// As every method here: [`Error::Unavailable`] or [`Error::Unusable`]; [`Error::Corrupt`] is a defect.
    pub async fn ping(&self) -> Result<(), Error> {
        ask!(self, engine => engine.ping().await)
    }

    /// Closes every connection; for orderly ends only, a crash is as safe.
    pub async fn close(&self) {
        on_either!(self, engine => engine.close().await);
    }

    /// Creates a thread with its first message, a queued run and the event `run.queued`; or, for an idempotency key that
    /// was used before, finds what was created then.
    ///
    /// # Errors
    /// [`Error::QueueFull`] and [`Error::KeyReused`]; nothing is created then.
    pub async fn create_thread(
        &self,
        new_run: &NewRun,
        new_thread: &NewThread,
        admission: &Admission,
    ) -> Result<Created, Error> {
        let begun = Instant::now();
        match change!(self, engine => engine.create_thread(new_run, new_thread, admission).await) {
            Err(Error::Unavailable(_)) if begun.elapsed() < AGAIN_WITHIN => match self.was_created(new_run).await? {
                Some(created) => Ok(created),
                None => change!(self, engine => engine.create_thread(new_run, new_thread, admission).await),
            },
            answer => answer,
        }
    }

    /// Adds a message, a queued run and `run.queued` to a thread; `None` when there is no such thread.
    ///
    /// # Errors
    /// [`Error::ThreadBusy`] while the thread has an active run, and those of [`Store::create_thread`].
    pub async fn add_run(&self, new_run: &NewRun, admission: &Admission) -> Result<Option<Created>, Error> {
        let begun = Instant::now();
        match change!(self, engine => engine.add_run(new_run, admission).await) {
            Err(Error::Unavailable(_)) if begun.elapsed() < AGAIN_WITHIN => match self.was_created(new_run).await? {
                Some(created) => Ok(Some(created)),
                None => change!(self, engine => engine.add_run(new_run, admission).await),
            },
            answer => answer,
        }
    }

    /// A run whose creation was not answered and happened all the same.
    async fn was_created(&self, new_run: &NewRun) -> Result<Option<Created>, Error> {
        let Some(run) = self.run(new_run.run_id).await? else { return Ok(None) };
        let details = self.details(vec![run.clone()]).await?.pop();
        let position = details.and_then(|details| details.queue_position).unwrap_or(1);
        Ok(Some(Created::New { run: Box::new(run), position }))
    }

    /// Keeps the body of the answer to the first request with a key.
    pub async fn keep_answer(&self, key: &IdempotencyKey, response: &str) -> Result<(), Error> {
        ensure!(self, engine => engine.keep_answer(key, response).await)
    }

    /// Forgets the idempotency keys from before that time; returns how many.
    pub async fn forget_keys(&self, before: Timestamp) -> Result<u64, Error> {
        ensure!(self, engine => engine.forget_keys(before).await)
    }

    /// Takes a run that is queued, or whose lease is expired or released.
    pub async fn claim(&self, run_id: RunId, claimant: &Claimant) -> Result<Claimed, Error> {
        change!(self, engine => engine.claim(run_id, claimant, None).await)
    }

    /// Takes a run as [`Store::claim`] does, and also one that `from_owner` still holds: the caller knows it is dead.
    pub async fn claim_taken_over(
        &self,
        run_id: RunId,
        claimant: &Claimant,
        from_owner: &str,
    ) -> Result<Claimed, Error> {
        change!(self, engine => engine.claim(run_id, claimant, Some(from_owner)).await)
    }

    /// Takes the next of the wanted runs that anybody may take: begun ones first, then owners in turn, then by age.
    pub async fn claim_next(&self, claimant: &Claimant, wanted: Wanted) -> Result<Option<(Lease, Run)>, Error> {
        // One that was claimed without an answer is given back by its owner, who does not work on it.
        ensure!(self, engine => engine.claim_next(claimant, wanted).await)
    }

    /// Whether a run that is to be worked on alone could have been claimed for longer than that.
    pub async fn suspect_waits(&self, longer: Duration, clock: Clock) -> Result<bool, Error> {
        ask!(self, engine => engine.suspect_waits(longer, clock).await)
    }

    /// The time by which leases are judged: the database's.
    pub async fn clock(&self) -> Result<Timestamp, Error> {
        ask!(self, engine => engine.clock().await)
    }

    /// Makes a lease last for `length` from now, and learns whether the run shall stop. One that has run out is taken up
    /// again as long as nobody else has claimed the run.
    pub async fn renew(&self, lease: &Lease, length: Duration, clock: Clock) -> Result<Renewal, Error> {
        ensure!(self, engine => engine.renew(lease, length, clock).await)
    }

    /// Gives a lease back: the run stays `running`, and after `pause` anybody may claim it. No effect on a lost lease.
    pub async fn release(&self, run_id: RunId, epoch: i64, pause: Duration, clock: Clock) -> Result<(), Error> {
        ensure!(self, engine => engine.release(run_id, epoch, pause, clock).await)
    }

    /// Gives back what an owner held that is known to be dead, and counts a death where its own code was at work: such a
    /// run is held back, for the first of `pauses` after its first death and so on.
    pub async fn settle(&self, owner: &str, ends: &[End], pauses: [Duration; 4], clock: Clock) -> Result<(), Error> {
        ensure!(self, engine => engine.settle(owner, ends, pauses, clock).await)
    }

    /// Sets a run aside that `owner` holds or has reserved: nobody takes it by itself any more, only by its id. `false`
    /// when somebody else has it.
    pub async fn park(&self, run_id: RunId, owner: &str) -> Result<bool, Error> {
        change!(self, engine => engine.park(run_id, owner, Timestamp::now().plus(PARKED)).await)
    }

    /// Says that whoever lost this lease is alive, frozen or cut off for a while: the run did not kill it.
    pub async fn survive(&self, lost: &Lease) -> Result<(), Error> {
        ask!(self, engine => engine.survive(lost).await)
    }

    /// The runs that `owner` holds.
    pub async fn held_by(&self, owner: &str) -> Result<Vec<Held>, Error> {
        ask!(self, engine => engine.held_by(owner).await)
    }

    /// Everybody who holds a run, or has reserved one.
    pub async fn owners(&self) -> Result<Vec<String>, Error> {
        ask!(self, engine => engine.owners().await)
    }

    /// Ends the leases of an owner that is known to be dead; returns how many.
    pub async fn end_leases(&self, owner: &str) -> Result<u64, Error> {
        ensure!(self, engine => engine.end_leases(owner).await)
    }

    /// Cancels a run that nobody works on, or asks its owner to; `None` when there is no such run.
    pub async fn request_cancel(&self, run_id: RunId, clock: Clock) -> Result<Option<Cancelling>, Error> {
        ensure!(self, engine => engine.request_cancel(run_id, clock).await)
    }

    /// Writes each commit whose lease holds, all in one transaction; the answers are in the order of `commits`.
    ///
    /// # Errors
    /// Per commit: [`Error::Fenced`] when its lease is lost or its run final, [`Error::Corrupt`] when it contradicts
    /// what is there (a step recorded twice); neither affects the other runs. The commits of one run are written in
    /// their order, and none after one that failed. Otherwise all get the same error and nothing is written, except
    /// that after [`Error::Unavailable`] it is unknown whether it was: see [`Store::commit_entries`].
    pub async fn commit(&self, commits: Vec<Commit>) -> Vec<Result<(), Error>> {
        let entries: Vec<Entry> = commits.into_iter().map(Entry::from).collect();
        self.commit_entries(&entries).await
    }

    /// Writes as [`Store::commit`] does. What failed with [`Error::Unavailable`] may be given again in the same order,
    /// before any other commit of these runs, and is then written exactly once.
    pub async fn commit_entries(&self, entries: &[Entry]) -> Vec<Result<(), Error>> {
        if entries.is_empty() {
            return Vec::new();
        }
        let (begun, mut attempt, mut fresh) = (Instant::now(), 1, false);
        loop {
            let commit = async { Ok(on_either!(self, engine => engine.commit(entries).await)) };
            let answers = answered(commit).await.unwrap_or_else(|error| vec![Err(error); entries.len()]);
            let given_up = answers.iter().find_map(|answer| answer.as_ref().err());
            match given_up {
                // Stamped entries may be given again, those that were written included.
                Some(error) if is_to_be_repeated(error, attempt).await => attempt += 1,
                Some(error) if !fresh && self.is_to_be_asked_again(error, begun) => fresh = true,
                _ => return answers.into_iter().map(|answer| answer.map_err(|error| self.told(error))).collect(),
            }
        }
    }

    /// The steps of a run, earliest finished first.
    pub async fn journal(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        ask!(self, engine => engine.journal(run_id).await)
    }

    /// The steps of a run without their values (`value` is empty), earliest finished first.
    pub async fn steps(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        ask!(self, engine => engine.steps(run_id).await)
    }

    /// What the model calls of a run used so far.
    pub async fn usage(&self, run_id: RunId) -> Result<Usage, Error> {
        ask!(self, engine => engine.usage(run_id).await)
    }

    /// At most `limit` events of a thread with a number above `after_seq`, ascending; empty for an unknown thread.
    pub async fn events_after(&self, thread_id: ThreadId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.events_after(thread_id, after_seq, limit).await)
    }

    /// As [`Store::events_after`], of one run alone; numbers are still those of the thread.
    pub async fn run_events_after(&self, run_id: RunId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.run_events_after(run_id, after_seq, limit).await)
    }

    /// The number of a thread's newest event; `None` when there is no such thread.
    pub async fn last_seq(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        ask!(self, engine => engine.last_seq(thread_id).await)
    }

    /// A page of a thread's events with a number above `after_seq`, ascending, as they are stored; empty for an unknown
    /// thread.
    pub async fn event_rows(&self, thread_id: ThreadId, after_seq: i64, limit: PageLimit) -> Result<EventRows, Error> {
        ask!(self, engine => engine.event_rows(thread_id, after_seq, limit).await)
    }

    /// The number of the newest event of each of these threads, in no order; those that do not exist are missing.
    pub async fn last_seqs(&self, thread_ids: &[ThreadId]) -> Result<Vec<(ThreadId, i64)>, Error> {
        ask!(self, engine => engine.last_seqs(thread_ids).await)
    }

    /// Where a reader begins that wants the events of a thread above `after_seq`; `None` when there is no such thread.
    pub async fn thread_position(&self, thread_id: ThreadId, after_seq: i64) -> Result<Option<ThreadPosition>, Error> {
        ask!(self, engine => engine.thread_position(thread_id, after_seq).await)
    }

    /// Removes some of the events of runs that ended before that time, at most `limit` of a thread. Repeat it until it
    /// finds nothing. A thread's newest number stays what it is.
    pub async fn prune_events(&self, before: Timestamp, limit: u32) -> Result<Pruned, Error> {
        ensure!(self, engine => engine.prune_events(before, limit).await)
    }

    /// Where a reader begins that wants the events of a run above `after_seq`; `None` when there is no such run.
    pub async fn run_position(&self, run_id: RunId, after_seq: i64) -> Result<Option<RunPosition>, Error> {
        ask!(self, engine => engine.run_position(run_id, after_seq).await)
    }

    /// A run's place in the queue, from 1; `None` unless it waits.
    ///
    /// # Errors
    /// As every read.
    pub async fn place_in_queue(&self, run_id: RunId) -> Result<Option<u64>, Error> {
        ask!(self, engine => engine.place_in_queue(run_id).await)
    }

    /// The types of a run's events with a number above `after_seq`, each once.
    ///
    /// # Errors
    /// As every read.
    pub async fn event_names(&self, run_id: RunId, after_seq: i64) -> Result<Vec<String>, Error> {
        ask!(self, engine => engine.event_names(run_id, after_seq).await)
    }

    /// What a run has told of its report while it wrote it, all attempts, in order.
    ///
    /// # Errors
    /// As every read.
    pub async fn report_events(&self, run_id: RunId) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.report_events(run_id).await)
    }

    /// How often a run began to write its report.
    pub async fn report_attempts(&self, run_id: RunId) -> Result<u32, Error> {
        ask!(self, engine => engine.report_attempts(run_id).await)
    }

    /// A run; `None` when there is none.
    pub async fn run(&self, run_id: RunId) -> Result<Option<Run>, Error> {
        ask!(self, engine => engine.run(run_id).await)
    }

    /// The runs that a run goes on from, the direct one first, at most `limit` of them; empty unless it is a retry.
    pub async fn retried_by(&self, run_id: RunId, limit: u32) -> Result<Vec<RunId>, Error> {
        ask!(self, engine => engine.retried_by(run_id, limit).await)
    }

    /// The message that a run answers, also one that retries another; `None` when there is none.
    pub async fn question(&self, run_id: RunId) -> Result<Option<String>, Error> {
        ask!(self, engine => engine.question(run_id).await)
    }

    /// The run whose message this one answers: itself, unless it is a retry.
    pub async fn question_of(&self, run_id: RunId) -> Result<RunId, Error> {
        ask!(self, engine => engine.question_of(run_id).await)
    }

    /// The folder that a run searches, absolute; `None` when it searches the web or does not exist.
    pub async fn documents(&self, run_id: RunId) -> Result<Option<String>, Error> {
        ask!(self, engine => engine.documents(run_id).await)
    }

    /// A page of the runs that `filter` lets through, newest first.
    pub async fn runs_page(&self, filter: &RunFilter, after: Option<Cursor>, limit: u32) -> Result<Page<Run>, Error> {
        ask!(self, engine => engine.runs(filter, after, limit).await)
    }

    /// A run as operators see it; `None` when there is none.
    pub async fn overview(&self, run_id: RunId) -> Result<Option<RunOverview>, Error> {
        ask!(self, engine => engine.overview(run_id).await)
    }

    /// The runs that `owner` works on and that have stored no event since that time, each with the time of its newest.
    pub async fn silent_runs(&self, owner: &str, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, Error> {
        ask!(self, engine => engine.silent_runs(owner, since).await)
    }

    /// At most `limit` runs as operators see them, of that status if one is given, newest first.
    pub async fn overviews(&self, status: Option<RunStatus>, limit: u32) -> Result<Vec<RunOverview>, Error> {
        ask!(self, engine => engine.overviews(status, limit).await)
    }

    /// At most `limit` runs of all threads, newest first.
    pub async fn runs(&self, limit: u32) -> Result<Vec<Run>, Error> {
        Ok(self.runs_page(&RunFilter::default(), None, limit).await?.items)
    }

    /// The runs of a thread, newest first; empty for an unknown thread.
    pub async fn thread_runs(&self, thread_id: ThreadId) -> Result<Vec<Run>, Error> {
        let filter = RunFilter { thread_id: Some(thread_id), ..RunFilter::default() };
        Ok(self.runs_page(&filter, None, u32::MAX).await?.items)
    }

    /// Usage and place in the queue of these runs; in their order.
    pub async fn details(&self, runs: Vec<Run>) -> Result<Vec<RunDetails>, Error> {
        ask!(self, engine => engine.details(runs.clone()).await)
    }

    /// Connections of this process to the database: idle ones and those in use.
    pub fn connections(&self) -> (u32, u32) {
        on_either!(self, engine => engine.connections())
    }

    /// How many runs wait and are at work, over all processes.
    pub async fn load(&self) -> Result<Load, Error> {
        ask!(self, engine => engine.load().await)
    }

    /// Takes webhooks that are due, at most `limit`, and keeps them from others until `until`.
    pub async fn take_deliveries(&self, now: Timestamp, until: Timestamp, limit: u32) -> Result<Vec<Delivery>, Error> {
        change!(self, engine => engine.take_deliveries(now, until, limit).await)
    }

    /// Lets a webhook be taken again from `next_at` on, unless it was meanwhile.
    pub async fn put_off_delivery(&self, run_id: RunId, attempt: u32, next_at: Timestamp) -> Result<(), Error> {
        change!(self, engine => engine.put_off_delivery(run_id, attempt, next_at).await)
    }

    /// Forgets a webhook that was delivered, or given up.
    pub async fn end_delivery(&self, run_id: RunId) -> Result<(), Error> {
        change!(self, engine => engine.end_delivery(run_id).await)
    }

    /// A thread, whoever's it is; `None` when there is none.
    pub async fn thread(&self, thread_id: ThreadId) -> Result<Option<Thread>, Error> {
        Ok(self.thread_of(None, thread_id).await?.map(|(thread, _)| thread))
    }

    /// A thread of that owner, or of anybody when none is given, and whose it is; `None` when there is none.
    pub async fn thread_of(
        &self,
        owner: Option<&Owner>,
        thread_id: ThreadId,
    ) -> Result<Option<(Thread, Owner)>, Error> {
        ask!(self, engine => engine.thread_of(owner, thread_id).await)
    }

    /// A run in a thread of that owner, or of anybody when none is given, and whose thread that is; `None` when there is
    /// none.
    pub async fn run_of(&self, owner: Option<&Owner>, run_id: RunId) -> Result<Option<(Run, Owner)>, Error> {
        ask!(self, engine => engine.run_of(owner, run_id).await)
    }

    /// A page of the threads, of that owner if one is given, newest first.
    pub async fn threads(
        &self,
        owner: Option<&Owner>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        ask!(self, engine => engine.threads(owner, after, limit).await)
    }

    /// A page of the threads, of that owner if one is given, that `filter` lets through, newest first; it may be short although more comes after it.
    pub async fn search(
        &self,
        owner: Option<&Owner>,
        filter: &ThreadFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Thread>, Error> {
        ask!(self, engine => engine.search(owner, filter, after, limit).await)
    }

    /// Changes the title and the metadata of a thread; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::MetadataTooLarge`]; nothing is changed then.
    pub async fn change_thread(&self, thread_id: ThreadId, change: &ThreadChange) -> Result<Option<Thread>, Error> {
        change!(self, engine => engine.change_thread(thread_id, change).await)
    }

    /// The whole conversation in order; empty for an unknown thread.
    pub async fn messages(&self, thread_id: ThreadId) -> Result<Vec<Message>, Error> {
        Ok(self.messages_page(thread_id, None, u32::MAX).await?.items)
    }

    /// A page of the conversation, in order.
    pub async fn messages_page(
        &self,
        thread_id: ThreadId,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Message>, Error> {
        ask!(self, engine => engine.messages(thread_id, after, limit).await)
    }

    /// A message of a thread; `None` when there is none.
    pub async fn message(&self, thread_id: ThreadId, message_id: MessageId) -> Result<Option<Message>, Error> {
        ask!(self, engine => engine.message(thread_id, message_id).await)
    }

    /// What a run retrieved, by ascending id, without snapshots.
    pub async fn sources(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        ask!(self, engine => engine.sources(run_id).await)
    }

    /// As [`Store::sources`], with their snapshots.
    pub async fn snapshots(&self, run_id: RunId) -> Result<Vec<Source>, Error> {
        ask!(self, engine => engine.snapshots(run_id).await)
    }

    /// A source with its snapshot, by its id or one of its aliases.
    pub async fn source(&self, run_id: RunId, source_id: SourceId) -> Result<Option<Source>, Error> {
        ask!(self, engine => engine.source(run_id, source_id).await)
    }

    /// What the researchers of a run found, by researcher.
    pub async fn notes(&self, run_id: RunId) -> Result<Vec<Note>, Error> {
        ask!(self, engine => engine.notes(run_id).await)
    }

    /// The report of a run that completed with one, or the answer, which is cited alike.
    pub async fn report(&self, run_id: RunId) -> Result<Option<Report>, Error> {
        ask!(self, engine => engine.report(run_id).await)
    }

    /// Deletes a thread and all that belongs to it; `false` when there was none. An owner of its active run is fenced.
    pub async fn delete_thread(&self, thread_id: ThreadId) -> Result<bool, Error> {
        let begun = Instant::now();
        match change!(self, engine => engine.delete_thread(thread_id).await) {
            // Then it was there, or nothing says that it was not.
            Err(Error::Unavailable(_)) if begun.elapsed() < AGAIN_WITHIN => {
                change!(self, engine => engine.delete_thread(thread_id).await).map(|_| true)
            }
            answer => answer,
        }
    }
}
