//! The event log: one task appends for all runs, any number of readers follow.
//!
//! The table is the truth. A reader registers for wake-ups first and then reads rows; what wakes it carries no data,
//! so a slow reader costs one page of memory and never holds up the writer. A poll every second covers wake-ups that
//! got lost or happened in another process.

mod writer;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::Stream;
use tokio::sync::watch;

use crate::{
    domain::{Envelope, RunId, ThreadId},
    store::{Error, Store},
};

pub use writer::{Patience, Writer, WriterHandle};

/// Events read at once.
const PAGE: u32 = 500;
/// How long a reader waits at most before it looks by itself.
const POLL: Duration = Duration::from_secs(1);
/// How long a reader bears a database that does not answer.
const READER_PATIENCE: Duration = Duration::from_secs(60);

/// What runs tell the world, to be followed from any point; a cheap clone.
#[derive(Clone, Debug)]
pub struct EventLog {
    store: Store,
    waiting: Arc<Waiting>,
}

impl EventLog {
    /// The log in `store`. Clones share their wake-ups; make one per process.
    pub fn new(store: Store) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// Tells the readers of a thread that there is something new; call it after the commit. Never waits.
    pub fn wake(&self, thread_id: ThreadId) {
        self.waiting.wake(thread_id);
    }

    /// All events of a thread with a number above `after_seq`, without gaps, first those there are and then those to
    /// come. Ends when the thread does not exist or no longer does.
    ///
    /// # Errors
    /// An error is the last item: [`Error::Unavailable`] only after a minute without an answer. A reader may follow
    /// again from the last number it saw.
    pub fn follow(&self, thread_id: ThreadId, after_seq: i64) -> impl Stream<Item = Result<Envelope, Error>> + use<> {
        let reader = Reader::new(self.clone(), Whose::Thread(thread_id), after_seq);
        futures::stream::try_unfold(reader, Reader::next)
    }

    /// The events of one run with a number above `after_seq`; ends after the run's terminal event, at once if that is
    /// not above `after_seq`, and when there is no such run.
    ///
    /// # Errors
    /// As [`EventLog::follow`].
    pub fn follow_run(&self, run_id: RunId, after_seq: i64) -> impl Stream<Item = Result<Envelope, Error>> + use<> {
        let reader = Reader::new(self.clone(), Whose::Run(run_id), after_seq);
        futures::stream::try_unfold(reader, Reader::next)
    }
}

/// Whose events a reader wants.
#[derive(Clone, Copy)]
enum Whose {
    Thread(ThreadId),
    Run(RunId),
}

/// One follower: where it is, and at most a page of events it has not handed out.
struct Reader {
    log: EventLog,
    whose: Whose,
    after_seq: i64,
    page: VecDeque<Envelope>,
    /// The page was full, so there may be more at once.
    more: bool,
    ended: bool,
    subscription: Option<Subscription>,
}

impl Reader {
    fn new(log: EventLog, whose: Whose, after_seq: i64) -> Self {
        Self { log, whose, after_seq, page: VecDeque::new(), more: false, ended: false, subscription: None }
    }

    async fn next(mut self) -> Result<Option<(Envelope, Self)>, Error> {
        if self.page.is_empty() && !self.ended {
            self.fill_patiently().await?;
        }
        let Some(envelope) = self.page.pop_front() else { return Ok(None) };
        self.after_seq = envelope.seq;
        self.ended = matches!(self.whose, Whose::Run(_)) && envelope.event.is_terminal();
        Ok(Some((envelope, self)))
    }

    /// Fills the page, or leaves it empty when nothing will come any more.
    async fn fill_patiently(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        loop {
            match self.fill().await {
                Err(Error::Unavailable(_)) if since.elapsed() < READER_PATIENCE => tokio::time::sleep(POLL).await,
                result => return result,
            }
        }
    }

    /// Registers before it reads: a wake-up between the two is then noticed by the wait that follows.
    async fn fill(&mut self) -> Result<(), Error> {
        if self.subscription.is_none() {
            let Some(thread_id) = self.thread_id().await? else { return Ok(()) };
            self.subscription = Some(Waiting::subscribe(&self.log.waiting, thread_id));
            self.more = true;
        }
        loop {
            if !self.more && !self.wait().await? {
                return Ok(());
            }
            let events = self.read().await?;
            self.more = events.len() >= PAGE as usize;
            if !events.is_empty() {
                self.page = events.into();
                return Ok(());
            }
            if self.is_over().await? {
                return Ok(());
            }
        }
    }

    async fn thread_id(&self) -> Result<Option<ThreadId>, Error> {
        match self.whose {
            Whose::Thread(thread_id) => Ok(Some(thread_id)),
            Whose::Run(run_id) => Ok(self.log.store.run(run_id).await?.map(|run| run.thread_id)),
        }
    }

    async fn read(&self) -> Result<Vec<Envelope>, Error> {
        match self.whose {
            Whose::Thread(thread_id) => self.log.store.events_after(thread_id, self.after_seq, PAGE).await,
            Whose::Run(run_id) => self.log.store.run_events_after(run_id, self.after_seq, PAGE).await,
        }
    }

    /// Nothing can come: the thread is gone, or the run is final and its last event is behind us.
    async fn is_over(&self) -> Result<bool, Error> {
        match self.whose {
            Whose::Thread(thread_id) => Ok(self.log.store.last_seq(thread_id).await?.is_none()),
            Whose::Run(run_id) => {
                // The run is read after its events, so a final one may have written more in between.
                let is_final = self.log.store.run(run_id).await?.is_none_or(|run| run.status.is_final());
                Ok(is_final && self.read().await?.is_empty())
            }
        }
    }

    /// Waits for a wake-up or the poll. Losing either arm is safe: the table is read next in both cases.
    async fn wait(&mut self) -> Result<bool, Error> {
        let Some(subscription) = &mut self.subscription else { return Ok(false) };
        let _ = tokio::time::timeout(POLL, subscription.changed()).await;
        Ok(true)
    }
}

/// Who waits in this process: a sender per thread that has readers, and none for the others, so its size is bounded by
/// the number of readers.
#[derive(Debug, Default)]
struct Waiting {
    /// A std mutex: held for single map operations, never across an await.
    threads: Mutex<HashMap<ThreadId, watch::Sender<()>>>,
}

impl Waiting {
    fn wake(&self, thread_id: ThreadId) {
        if let Some(sender) = self.lock().get(&thread_id) {
            sender.send_replace(());
        }
    }

    fn subscribe(this: &Arc<Self>, thread_id: ThreadId) -> Subscription {
        let receiver = this.lock().entry(thread_id).or_default().subscribe();
        Subscription { waiting: Arc::clone(this), thread_id, receiver }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ThreadId, watch::Sender<()>>> {
        // No code panics while it holds this, and a map of senders cannot be left half changed.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader's place among those to be woken; takes itself off the list.
#[derive(Debug)]
struct Subscription {
    waiting: Arc<Waiting>,
    thread_id: ThreadId,
    receiver: watch::Receiver<()>,
}

impl Subscription {
    async fn changed(&mut self) {
        // The sender lives in the list as long as this does.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut threads = self.waiting.lock();
        if threads.get(&self.thread_id).is_some_and(|sender| sender.receiver_count() <= 1) {
            threads.remove(&self.thread_id);
        }
    }
}
