//! One reader of the log: where it is, and at most one batch of frames it has not handed out.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Frame, Shared, Subject,
    keeper::{frames, limited},
    tail::{End, Subscription, Tails, Taken},
};
use crate::{
    domain::{RunId, ThreadId},
    store::{Error, PageLimit},
};

/// What a reader that is behind reads from the table at once: small, since a slow one holds it for long.
const PAGE: PageLimit = PageLimit { rows: 100, bytes: 64 * 1024 };
/// Between attempts while the database is away.
const PAUSE: Duration = Duration::from_secs(1);

/// A follower of a thread or run.
pub(super) struct Reader {
    shared: Arc<Shared>,
    subscription: Subscription,
    /// Only this run's events.
    run_id: Option<RunId>,
    /// The number of the last frame looked at.
    after_seq: i64,
    batch: std::vec::IntoIter<Arc<Frame>>,
    ended: bool,
}

/// What opening found.
pub(super) enum Opened {
    /// No such thread or run.
    Unknown,
    /// Nothing will come.
    Over,
    Reader(Reader),
}

impl Reader {
    /// Finds where the reading begins.
    ///
    /// # Errors
    /// Those of the store, at once.
    pub async fn open(shared: &Arc<Shared>, subject: Subject, after_seq: i64) -> Result<Opened, Error> {
        let (thread_id, run_id, after_seq, last_seq) = match subject {
            Subject::Thread(thread_id) => {
                let found = limited(shared.store.last_seqs(&[thread_id])).await?;
                let [(_, last_seq)] = found.as_slice() else { return Ok(Opened::Unknown) };
                (thread_id, None, after_seq.min(*last_seq), *last_seq)
            }
            Subject::Run(run_id) => match limited(shared.store.run_position(run_id, after_seq)).await? {
                None => return Ok(Opened::Unknown),
                Some(position) if position.over => return Ok(Opened::Over),
                Some(position) => (position.thread_id, Some(run_id), position.after_seq, position.last_seq),
            },
        };
        Ok(Opened::Reader(Self::new(shared, (thread_id, last_seq), run_id, after_seq)))
    }

    fn new(shared: &Arc<Shared>, tail: (ThreadId, i64), run_id: Option<RunId>, after_seq: i64) -> Self {
        let subscription = Tails::subscribe(&shared.tails, tail.0, tail.1);
        Self {
            shared: Arc::clone(shared),
            subscription,
            run_id,
            after_seq,
            batch: Vec::new().into_iter(),
            ended: false,
        }
    }

    /// As [`Reader::open`], bearing a database that is away for a while; `None` when nothing will come.
    pub async fn open_patiently(shared: Arc<Shared>, subject: Subject, after_seq: i64) -> Result<Option<Self>, Error> {
        let forbearance = Forbearance::new();
        let opened = loop {
            let answer = Self::open(&shared, subject, after_seq).await;
            if !forbearance.bears(&answer).await {
                break answer?;
            }
        };
        Ok(if let Opened::Reader(reader) = opened { Some(reader) } else { None })
    }

    /// The next frame, `None` at the end. For [`futures::stream::try_unfold`].
    pub async fn next(mut self) -> Result<Option<(Arc<Frame>, Self)>, Error> {
        while !self.ended {
            if let Some(frame) = self.take_wanted() {
                return Ok(Some((frame, self)));
            }
            if !self.ended && !self.refill().await? {
                break;
            }
        }
        Ok(None)
    }

    /// The next wanted frame of the batch.
    fn take_wanted(&mut self) -> Option<Arc<Frame>> {
        let Self { batch, run_id, .. } = self;
        for frame in batch.by_ref() {
            self.after_seq = frame.seq;
            if run_id.is_none_or(|run_id| run_id == frame.run_id) {
                self.ended = run_id.is_some() && frame.terminal;
                return Some(frame);
            }
        }
        None
    }

    /// Gets the next batch, or waits; `false` when nothing will come any more. Looks at the bell before it looks into
    /// the tail: what comes between the two rings again.
    async fn refill(&mut self) -> Result<bool, Error> {
        let end = self.subscription.look();
        match (self.subscription.tail.take(self.after_seq), end) {
            (Taken::Frames(frames), _) => self.batch = frames.into_iter(),
            // Boxed, so that a reader that waits is small.
            (Taken::Behind { head }, _) => self.batch = Box::pin(self.page(head)).await?.into_iter(),
            (Taken::UpToDate, Some(End::Gone)) => return Ok(false),
            (Taken::UpToDate, Some(End::Failed(error))) => return Err(error),
            (Taken::UpToDate, None) => {
                // An idle reader holds no memory for frames it has handed out.
                self.batch = Vec::new().into_iter();
                self.subscription.wait().await;
            }
        }
        Ok(true)
    }

    /// A page of the table. When it is empty, nothing is left of what was written up to `head`: it was deleted.
    async fn page(&mut self, head: i64) -> Result<Vec<Arc<Frame>>, Error> {
        let thread_id = self.subscription.tail.thread_id;
        let forbearance = Forbearance::new();
        let page = loop {
            let answer = limited(self.shared.store.event_rows(thread_id, self.after_seq, PAGE)).await;
            if !forbearance.bears(&answer).await {
                break answer?;
            }
        };
        if page.rows.is_empty() {
            self.after_seq = head;
        }
        frames(&page.rows)
    }
}

/// Bears a database that is away for a while.
struct Forbearance {
    since: Instant,
}

impl Forbearance {
    fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// Whether to try again after this answer; then a while has passed.
    async fn bears<T>(&self, answer: &Result<T, Error>) -> bool {
        let bears = matches!(answer, Err(Error::Unavailable(_))) && self.since.elapsed() < super::READER_PATIENCE;
        if bears {
            tokio::time::sleep(PAUSE).await;
        }
        bears
    }
}
