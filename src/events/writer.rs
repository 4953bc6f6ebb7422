//! The one task that writes for all runs: it takes what waits, commits it as a group, answers, wakes readers.
//!
//! Commit first, then publish. While a group is being written the next one gathers, so the busier the service the
//! larger the groups and the cheaper each commit.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::EventLog;
use crate::{
    domain::{Event, RunId},
    store::{Commit, Entry, Error, Lease, NewEvent, Store},
};

/// Commits that may wait; when there are more, senders wait for their turn.
const QUEUE: usize = 1024;
/// Commits written in one transaction.
const GROUP: usize = 256;

/// Commits that nobody waits for are held so long, in case one comes that somebody waits for: most then need no
/// transaction of their own.
const LINGER: Duration = Duration::from_millis(10);

/// How long a commit is tried again while the database is away, and at which pace.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub total: Duration,
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for Patience {
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
}

impl WriterHandle {
    /// Writes a commit and returns when it is durable.
    ///
    /// # Errors
    /// Those of [`Store::commit`]; [`Error::Unavailable`] only after the writer's patience. Also, once and without
    /// writing, the error of an earlier [`WriterHandle::send`] under the same lease: the log has a hole there.
    ///
    /// # Cancel safety
    /// When dropped after the commit was queued, it is written all the same.
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
    /// Somebody waits for it, or readers watch the text grow.
    fn is_urgent(&self) -> bool {
        let is_delta = |new: &NewEvent| matches!(new.event, Event::ReportDelta { .. });
        self.answer.is_some() || self.entry.commit.events.iter().any(is_delta)
    }
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

/// The task behind [`WriterHandle`].
#[derive(Debug)]
pub struct Writer {
    store: Store,
    log: EventLog,
    patience: Patience,
    /// Leases under which a commit failed that nobody waited for, and why. At most one per run, gone when somebody has
    /// heard of it or the run is claimed anew.
    unheard: HashMap<RunId, (i64, Error)>,
}

impl Writer {
    /// Starts the task on `tasks`; make one per process.
    pub fn start(store: Store, log: EventLog, patience: Patience, tasks: &TaskTracker) -> WriterHandle {
        let (queue, jobs) = mpsc::channel(QUEUE);
        tasks.spawn(Self { store, log, patience, unheard: HashMap::new() }.run(jobs));
        WriterHandle { queue }
    }

    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP);
        while jobs.recv_many(&mut group, GROUP).await > 0 {
            gather(&mut jobs, &mut group).await;
            let sound = self.refuse_followers(std::mem::take(&mut group));
            self.write(sound).await;
        }
    }

    /// Answers the commits that follow a failure nobody has heard of, and returns the others.
    fn refuse_followers(&mut self, group: Vec<Job>) -> Vec<Job> {
        let mut sound = Vec::with_capacity(group.len());
        for job in group {
            match self.failure_before(&job) {
                Some(error) => settle(job, Err(error)),
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

    /// Writes a group, again and again while the database is away. The entries keep their stamps, so what was written
    /// without an answer is not written twice.
    async fn write(&mut self, mut group: Vec<Job>) {
        let started = Instant::now();
        let mut pause = self.patience.first_pause;
        while !group.is_empty() {
            let out_of_patience = started.elapsed() >= self.patience.total;
            group = self.attempt(group, out_of_patience).await;
            if !group.is_empty() {
                tracing::warn!(commits = group.len(), "the database is not available; trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(self.patience.longest_pause);
            }
        }
    }

    /// Commits once and settles what is decided; returns what should be tried again.
    async fn attempt(&mut self, group: Vec<Job>, last: bool) -> Vec<Job> {
        let (entries, answers): (Vec<Entry>, Vec<_>) = group.into_iter().map(|job| (job.entry, job.answer)).unzip();
        let results = self.store.commit_entries(&entries).await;
        let mut again = Vec::new();
        let mut written = BTreeSet::new();
        for ((entry, answer), result) in entries.into_iter().zip(answers).zip(results) {
            match &result {
                Err(Error::Unavailable(_)) if !last => {
                    again.push(Job { entry, answer });
                    continue;
                }
                Err(error) if answer.is_none() => self.note_unheard(&entry.commit.lease, error),
                Err(_) => {}
                Ok(()) => _ = written.insert(entry.commit.lease.thread_id),
            }
            settle(Job { entry, answer }, result);
        }
        written.into_iter().for_each(|thread_id| self.log.wake(thread_id));
        again
    }

    fn note_unheard(&mut self, lease: &Lease, error: &Error) {
        tracing::warn!(run_id = %lease.run_id, epoch = lease.epoch, %error, "a commit nobody waited for was not written");
        self.unheard.insert(lease.run_id, (lease.epoch, error.clone()));
    }
}

/// Answers; nobody listens when the sender was cancelled or did not want to know.
fn settle(job: Job, result: Result<(), Error>) {
    if let Some(answer) = job.answer {
        let _ = answer.send(result);
    }
}
