//! The one task that writes for all runs: it takes what waits, commits it as a group, answers, wakes readers.
//!
//! Commit first, then publish. While a group is being written the next one gathers, so the busier the service the
//! larger the groups and the cheaper each commit.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::MissedTickBehavior,
};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::EventLog;
use crate::{
    domain::{Event, RunId, ThreadId},
    store::{Commit, Entry, Error, EventRow, Lease, NewEvent, Store},
};

/// Commits that may wait; when there are more, senders wait for their turn.
const QUEUE: usize = 1024;
/// Commits written in one transaction.
const GROUP: usize = 256;
/// Bytes of texts in a transaction of several commits: on their way into the database they stand in memory several
/// times over.
const GROUP_BYTES: usize = 1024 * 1024;

/// Runs of which the newest commit is known at the same time, or that a commit failed which nobody waited for.
const MOST_KNOWN: usize = 10_000;

/// How long commits that nobody waits for are held, in case one comes that somebody waits for: most then need no
/// transaction of their own.
const LINGER: Duration = Duration::from_millis(10);

/// The pace at which a commit is tried again while the database is away, or cannot be used.
#[derive(Clone, Copy, Debug)]
pub struct CommitRetry {
    /// After this time a commit that is refused by a database which takes others no longer holds up these, and is given
    /// up when the process has come to its end. Otherwise what was paid for is kept until the database is back.
    pub total: Duration,
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for CommitRetry {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(60),
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(2),
        }
    }
}

/// Sends commits to the writer; a cheap clone. When the last one is dropped, the writer finishes what it was given.
#[derive(Clone, Debug)]
pub struct WriterHandle {
    queue: mpsc::Sender<Job>,
    stores: watch::Receiver<bool>,
}

impl WriterHandle {
    /// Writes a commit and returns when it is durable.
    ///
    /// # Errors
    /// Those of [`Store::commit`]; one that [`Error::may_be_resolved`] only as [`CommitRetry::total`] says. Also, once
    /// and without writing, the error of an earlier [`WriterHandle::send`] under the same lease: the log has a hole
    /// there.
    ///
    /// # Cancel safety
    /// When dropped after the commit was queued, it is written all the same, unless the database refuses it alone and
    /// the run ends.
    pub async fn commit(&self, commit: Commit) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(Job { entry: commit.into(), answer: Some(answer) }).await.map_err(|_| stopped())?;
        answered.await.map_err(|_| stopped())?
    }

    /// Queues a commit without waiting for it to be durable; waits only while the queue is full. It is written before
    /// whatever is sent later for the same run. Should it fail, nothing more is written under its lease until a
    /// [`WriterHandle::commit`] has returned that error.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the writer has stopped.
    pub async fn send(&self, commit: Commit) -> Result<(), Error> {
        self.queue.send(Job { entry: commit.into(), answer: None }).await.map_err(|_| stopped())
    }

    /// Watches whether commits get through at the moment: `false` while one is tried again.
    pub fn stores(&self) -> watch::Receiver<bool> {
        self.stores.clone()
    }

    /// Waits until the writer has ended: by a defect, since this handle keeps it at work.
    pub async fn ended(&self) {
        self.queue.closed().await;
    }

    /// Queues a commit if there is room at once, and drops it otherwise: for what may be missing.
    pub fn try_send(&self, commit: Commit) {
        if self.queue.try_send(Job { entry: commit.into(), answer: None }).is_err() {
            tracing::debug!("an event was dropped because the writer's queue is full");
        }
    }
}

fn stopped() -> Error {
    Error::Unavailable("the writer has stopped".to_owned())
}

/// A commit and who waits for it.
#[derive(Debug)]
struct Job {
    entry: Entry,
    answer: Option<oneshot::Sender<Result<(), Error>>>,
}

impl Job {
    /// Returns whether somebody waits for it, or readers watch the text grow.
    fn is_urgent(&self) -> bool {
        let is_delta = |new: &NewEvent| matches!(new.event, Event::ReportDelta { .. });
        self.answer.is_some() || self.entry.commit.events.iter().any(is_delta)
    }
}

/// What the database did not take just now, and why, in the words about the last of it.
#[derive(Default)]
struct Refused {
    jobs: Vec<Job>,
    reason: String,
}

/// Adds to a group that has time, until something urgent comes, it is full, or [`LINGER`] is over.
async fn gather(jobs: &mut mpsc::Receiver<Job>, group: &mut Vec<Job>) {
    let over = tokio::time::sleep(LINGER);
    tokio::pin!(over);
    while group.len() < GROUP && !group.iter().any(Job::is_urgent) {
        let room = GROUP - group.len();
        tokio::select! {
            // Losing this arm loses nothing: what was not received stays in the queue.
            received = jobs.recv_many(group, room) => if received == 0 { return },
            () = &mut over => return,
        }
    }
}

/// Returns how many of the commits, by the bytes of their texts, go into one transaction; at least one.
fn fitting(bytes: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0;
    let fits = |bytes: &usize| {
        sum += bytes;
        sum <= GROUP_BYTES
    };
    bytes.take_while(fits).count().max(1)
}

/// The task behind [`WriterHandle`].
#[derive(Debug)]
pub struct Writer {
    store: Store,
    log: EventLog,
    retry: CommitRetry,
    /// Leases under which a commit failed that nobody waited for, and why. At most one per run, gone when somebody has
    /// heard of it or the run is claimed again, and those of lost leases when there are too many.
    unheard: HashMap<RunId, (i64, Error)>,
    newest: Newest,
    stores: watch::Sender<bool>,
    /// What the database refused while it took other writes, and what follows it, in order.
    aside: Vec<Job>,
}

impl Writer {
    /// Starts the task on `tasks`; make one per process.
    pub fn start(store: Store, log: EventLog, retry: CommitRetry, tasks: &TaskTracker) -> WriterHandle {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (stores, stores_now) = watch::channel(true);
        tasks.spawn(Self::new(store, log, retry, stores).run(jobs));
        WriterHandle { queue, stores: stores_now }
    }

    fn new(store: Store, log: EventLog, retry: CommitRetry, stores: watch::Sender<bool>) -> Self {
        Self { store, log, retry, unheard: HashMap::new(), newest: Newest::default(), stores, aside: Vec::new() }
    }

    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP);
        let mut again = tokio::time::interval(self.retry.longest_pause);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_idle = self.aside.is_empty();
            tokio::select! {
                // Losing this arm loses nothing: what was not received stays in the queue.
                received = jobs.recv_many(&mut group, GROUP) => if received == 0 { break },
                _ = again.tick(), if !is_idle => {
                    let aside = std::mem::take(&mut self.aside);
                    self.try_each(aside, false).await;
                    continue;
                }
            }
            gather(&mut jobs, &mut group).await;
            while !group.is_empty() {
                let fitting = fitting(group.iter().map(|job| job.entry.commit.text_bytes()));
                let sound = self.refuse_followers(group.drain(..fitting).collect());
                let (behind, sound) = sound.into_iter().partition(|job| self.is_aside(job));
                self.aside.extend::<Vec<Job>>(behind);
                self.write(sound, &jobs).await;
            }
        }
        let aside = std::mem::take(&mut self.aside);
        self.try_each(aside, true).await;
    }

    fn is_aside(&self, job: &Job) -> bool {
        let run_id = job.entry.commit.lease.run_id;
        self.aside.iter().any(|other| other.entry.commit.lease.run_id == run_id)
    }

    /// Answers the commits that follow a failure nobody has heard of, and returns the others.
    fn refuse_followers(&mut self, group: Vec<Job>) -> Vec<Job> {
        let mut sound = Vec::with_capacity(group.len());
        for job in group {
            match self.failure_before(&job) {
                Some(error) => settle(job.answer, Err(error)),
                None => sound.push(job),
            }
        }
        sound
    }

    fn failure_before(&mut self, job: &Job) -> Option<Error> {
        let lease = &job.entry.commit.lease;
        let (epoch, error) = self.unheard.get(&lease.run_id)?.clone();
        let concerned = lease.epoch <= epoch;
        if !concerned || job.answer.is_some() {
            self.unheard.remove(&lease.run_id);
        }
        concerned.then_some(error)
    }

    /// Writes a group, again and again while the database is away or cannot be used. The entries keep their stamps, so
    /// what was written without an answer is not written twice. What was paid for is kept until the database is back;
    /// only what a database refuses that takes other writes is put aside, so that it does not hold up everybody else.
    async fn write(&mut self, mut group: Vec<Job>, jobs: &mpsc::Receiver<Job>) {
        let started = Instant::now();
        let mut pause = self.retry.first_pause;
        loop {
            let refused = self.attempt(group, false).await;
            group = refused.jobs;
            if group.is_empty() {
                break;
            }
            self.stores.send_if_modified(|stores| std::mem::replace(stores, false));
            let reason = refused.reason;
            tracing::warn!(commits = group.len(), reason, "the database takes no commits; trying again");
            self.store.note_trouble();
            let waited = started.elapsed() >= self.retry.total;
            if waited && (jobs.is_closed() || self.store.probe_write().await.is_ok()) {
                self.try_each(std::mem::take(&mut group), jobs.is_closed()).await;
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.retry.longest_pause);
        }
        self.stores.send_if_modified(|stores| !std::mem::replace(stores, true));
    }

    /// Commits one run's after the other's; what the database refuses just now is put aside with all that follows it,
    /// unless this is the last try or too much lies there already. Those of a run stay together: what was written
    /// without an answer is known by the stamp of its last one alone.
    async fn try_each(&mut self, mut group: Vec<Job>, last: bool) {
        while let Some(run_id) = group.first().map(|job| job.entry.commit.lease.run_id) {
            let (of_run, others) = group.into_iter().partition(|job| job.entry.commit.lease.run_id == run_id);
            group = others;
            let sound = self.refuse_followers(of_run);
            if sound.first().is_some_and(|job| !last && self.is_aside(job)) {
                self.aside.extend(sound);
            } else if !sound.is_empty() {
                let last = last || self.aside.len() >= QUEUE;
                let refused = self.attempt(sound, last).await;
                let mut jobs = refused.jobs;
                if is_abandoned(&jobs) && self.store.probe_write().await.is_ok() {
                    let end = jobs.split_off(jobs.len() - 1);
                    jobs = self.attempt(end, last).await.jobs;
                }
                self.aside.extend(jobs);
            }
        }
    }

    /// Commits once and settles what is decided; returns what should be tried again.
    async fn attempt(&mut self, group: Vec<Job>, last: bool) -> Refused {
        let (mut entries, answers): (Vec<Entry>, Vec<_>) = group.into_iter().map(|job| (job.entry, job.answer)).unzip();
        self.newest.link(&mut entries);
        let results = self.store.commit_numbered(&entries).await;
        let mut refused = Refused::default();
        let mut written = Written::default();
        for ((entry, answer), result) in entries.into_iter().zip(answers).zip(results) {
            self.newest.note(&entry, &result);
            let result = match result {
                Err(error) if error.may_be_resolved() && !last => {
                    refused.jobs.push(Job { entry, answer });
                    refused.reason = error.to_string();
                    continue;
                }
                Err(error) => {
                    if answer.is_none() {
                        self.note_unheard(&entry.commit.lease, &error);
                    }
                    Err(error)
                }
                Ok(first) => {
                    written.add(entry, first);
                    Ok(())
                }
            };
            settle(answer, result);
        }
        written.publish(&self.log);
        refused
    }

    fn note_unheard(&mut self, lease: &Lease, error: &Error) {
        let (run_id, epoch) = (lease.run_id, lease.epoch);
        match error {
            // Its worker learns it by its lease: the run is deleted, or somebody else's.
            Error::Fenced => tracing::debug!(%run_id, epoch, "a commit nobody waited for came too late"),
            _ => tracing::warn!(%run_id, epoch, %error, "a commit nobody waited for was not written"),
        }
        // Nobody may ever ask for those of lost leases; under these the database refuses what follows by itself.
        if self.unheard.len() >= MOST_KNOWN {
            self.unheard.retain(|_, (_, error)| !matches!(error, Error::Fenced));
        }
        self.unheard.insert(lease.run_id, (lease.epoch, error.clone()));
    }
}

/// Returns whether these are commits of which nobody waits for any but the end of their run, as in one that was
/// cancelled: what is refused would keep it from ending.
fn is_abandoned(jobs: &[Job]) -> bool {
    let Some((last, before)) = jobs.split_last() else { return false };
    let mut waiting = before.iter().filter_map(|job| job.answer.as_ref()).peekable();
    last.entry.commit.finish.is_some() && waiting.peek().is_some() && waiting.all(oneshot::Sender::is_closed)
}

/// Answers with `result`; nobody listens when the sender was cancelled or did not want to know.
fn settle(answer: Option<oneshot::Sender<Result<(), Error>>>, result: Result<(), Error>) {
    if let Some(answer) = answer {
        let _ = answer.send(result);
    }
}

/// The newest commit of each run that the database has confirmed, with the epoch of its lease.
#[derive(Default, Debug)]
struct Newest(HashMap<RunId, (i64, Uuid)>);

impl Newest {
    /// Makes each commit follow the one before it under the same lease.
    fn link(&self, entries: &mut [Entry]) {
        let mut before = HashMap::new();
        for entry in entries {
            let Lease { run_id, epoch, .. } = entry.commit.lease;
            let known = || self.0.get(&run_id).filter(|(known, _)| *known == epoch).map(|(_, stamp)| *stamp);
            let newest = before.insert((run_id, epoch), entry.stamp()).or_else(known);
            entry.follow(newest);
        }
    }

    /// Takes note of what became of a commit. What comes after a lost one is refused like that one.
    fn note(&mut self, entry: &Entry, result: &Result<Option<i64>, Error>) {
        let Lease { run_id, epoch, .. } = entry.commit.lease;
        if result.is_err() {
            return;
        }
        if entry.commit.finish.is_some() {
            self.0.remove(&run_id);
            return;
        }
        // Runs that others finish are left behind. Who is forgotten is only not checked once.
        if self.0.len() >= MOST_KNOWN {
            self.0.clear();
        }
        self.0.insert(run_id, (epoch, entry.stamp()));
    }
}

/// The events of a group that is stored, by thread.
#[derive(Default)]
struct Written {
    events: BTreeMap<ThreadId, Vec<EventRow>>,
    /// Threads of which the numbers are not known: an earlier attempt stored their events.
    unknown: BTreeSet<ThreadId>,
}

impl Written {
    fn add(&mut self, entry: Entry, first: Option<i64>) {
        let thread_id = entry.commit.lease.thread_id;
        match first {
            Some(first) => self.events.entry(thread_id).or_default().extend(entry.numbered(first)),
            None if entry.commit.events.is_empty() => {}
            None => _ = self.unknown.insert(thread_id),
        }
    }

    fn publish(self, log: &EventLog) {
        for (thread_id, rows) in self.events {
            log.publish(thread_id, &rows);
        }
        for thread_id in self.unknown {
            log.wake(thread_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures::FutureExt as _;

    use super::*;
    use crate::{
        domain::{Scope, Timestamp},
        store::{Admission, Claimant, Claimed, Clock, Database, NewRun, NewThread, Synchronous},
    };

    /// Creates a run and claims it.
    async fn claimed(store: &Store) -> Lease {
        let new_run = NewRun::example("Who pays?");
        store.create_thread(&new_run, &NewThread::default(), &Admission::default()).await.unwrap();
        let claimant = Claimant { worker: "a".to_owned(), lease: Duration::from_secs(60), clock: Clock::Database };
        match store.claim(new_run.run_id, &claimant).await.unwrap() {
            Claimed::Yes { lease, .. } => lease,
            other => panic!("not claimed: {other:?}"),
        }
    }

    async fn store_in(folder: &Path) -> Store {
        let path = folder.join("fathom.db");
        Store::open(&Database::Sqlite { path, synchronous: Synchronous::Normal }).await.unwrap()
    }

    #[tokio::test]
    async fn a_writer_that_panicked_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (store, tasks) = (store_in(folder.path()).await, TaskTracker::new());
        let log = EventLog::start(store.clone(), &tasks);
        let sound = Writer::start(store.clone(), log.clone(), CommitRetry::default(), &tasks);
        // Of a pace without pauses its task panics at once.
        let retry = CommitRetry { longest_pause: Duration::ZERO, ..CommitRetry::default() };
        let defective = Writer::start(store, log, retry, &tasks);
        tokio::time::timeout(Duration::from_secs(20), defective.ended()).await.unwrap();
        assert!(sound.ended().now_or_never().is_none());
    }

    #[tokio::test]
    async fn failures_under_lost_leases_are_not_known_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path()).await;
        let lease = claimed(&store).await;
        let log = EventLog::start(store.clone(), &TaskTracker::new());
        let mut writer = Writer::new(store, log, CommitRetry::default(), watch::channel(true).0);
        let corrupt = Error::Corrupt("a defect".to_owned());
        writer.note_unheard(&lease, &corrupt);
        for _ in 0..2 * MOST_KNOWN {
            writer.note_unheard(&Lease { run_id: RunId::new(), ..lease }, &Error::Fenced);
        }
        assert!(writer.unheard.len() <= MOST_KNOWN, "{}", writer.unheard.len());
        assert_eq!(writer.unheard.get(&lease.run_id), Some(&(lease.epoch, corrupt)), "the log has a hole there");
    }

    /// As after a connection that was cut while the database committed, and an outage for longer than is waited.
    #[tokio::test]
    async fn commits_of_a_run_that_were_stored_without_an_answer_are_known_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path()).await;
        let lease = claimed(&store).await;
        let thought = |text: &str| Event::Thought { text: text.to_owned() };
        let entry = |text: &str| {
            let event = NewEvent { ts: Timestamp(1), scope: Scope::ROOT, event: thought(text) };
            Entry::from(Commit { events: vec![event], ..Commit::new(lease) })
        };
        let entries = [entry("a"), entry("b")];
        let log = EventLog::start(store.clone(), &TaskTracker::new());
        let (retry, stores) = (CommitRetry::default(), watch::channel(false).0);
        let mut writer = Writer::new(store, log, retry, stores);
        let (before, answered) = waited_for(entry("before"));
        writer.try_each(vec![before], false).await;
        assert_eq!(answered.await.unwrap(), Ok(()), "so that what follows is known to follow it");
        assert_eq!(writer.store.commit_entries(&entries).await, [Ok(()), Ok(())]);
        let (jobs, answers): (Vec<Job>, Vec<_>) = entries.map(waited_for).into_iter().unzip();
        writer.try_each(jobs, false).await;
        for answer in answers {
            assert_eq!(answer.await.unwrap(), Ok(()));
        }
        let stored = writer.store.events_after(lease.thread_id, 1, 9).await.unwrap();
        assert_eq!(
            stored.into_iter().map(|row| row.event).collect::<Vec<_>>(),
            ["before", "a", "b"].map(thought),
            "each once"
        );
    }

    fn waited_for(entry: Entry) -> (Job, oneshot::Receiver<Result<(), Error>>) {
        let (answer, answered) = oneshot::channel();
        (Job { entry, answer: Some(answer) }, answered)
    }

    #[test]
    fn long_texts_are_not_written_all_at_once() {
        const HALF: usize = GROUP_BYTES / 2;
        let check = |commits: &[usize], expected| assert_eq!(fitting(commits.iter().copied()), expected, "{commits:?}");
        check(&[0, 10, 0], 3);
        check(&[HALF, HALF, 1, 0], 2);
        check(&[HALF, HALF + 1, 0], 1);
        check(&[3 * HALF, 1], 1);
    }
}
