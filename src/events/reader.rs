//! One reader of the log: where it is, and at most one batch of frames it has not handed out.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Frame, Shared, Subject,
    fill::{frames, limited},
    tail::{End, NextFrames, Subscription, Tails},
};
use crate::{
    domain::{Event, RunId, ThreadId},
    store::{Error, Gap, PageLimit, RunPosition, ThreadPosition},
};

/// What a reader that is behind reads from the table at once: small, since a slow one holds it for long.
const PAGE: PageLimit = PageLimit { rows: 100, bytes: 64 * 1024 };
/// The pause between attempts while the database is away.
const PAUSE: Duration = Duration::from_secs(1);

/// A follower of a thread or run.
pub(super) struct Reader {
    shared: Arc<Shared>,
    subscription: Subscription,
    /// Only this run's events.
    run_id: Option<RunId>,
    /// The number of the last frame looked at, and its run; before the first one, the newest run.
    after_seq: i64,
    last_run: Option<RunId>,
    batch: std::vec::IntoIter<Arc<Frame>>,
    /// Nothing comes after the batch.
    over: bool,
    ended: bool,
}

/// The place where reading begins.
pub(super) struct Place {
    pub thread_id: ThreadId,
    /// Behind the gap.
    pub after_seq: i64,
    pub last_seq: i64,
    pub gap: Option<Gap>,
    /// Of a run: it is final, so all its events are stored.
    pub is_final: bool,
    /// Of a run: nothing comes but the gap.
    pub over: bool,
    /// The run, or the newest one of the thread.
    pub run_id: Option<RunId>,
    /// Of a thread: a run is queued or at work.
    pub active: bool,
}

/// Returns where reading begins; `None` when there is no such thread or run.
pub(super) async fn place(shared: &Shared, subject: Subject, after_seq: i64) -> Result<Option<Place>, Error> {
    Ok(match subject {
        Subject::Thread(thread_id) => {
            limited(shared.store.thread_position(thread_id, after_seq)).await?.map(|position| {
                let ThreadPosition { after_seq, gap, last_seq, active, newest_run } = position;
                Place { thread_id, after_seq, last_seq, gap, is_final: false, over: false, run_id: newest_run, active }
            })
        }
        Subject::Run(run_id) => limited(shared.store.run_position(run_id, after_seq)).await?.map(|position| {
            let RunPosition { thread_id, after_seq, gap, last_seq, is_final, over } = position;
            Place { thread_id, after_seq, last_seq, gap, is_final, over, run_id: Some(run_id), active: false }
        }),
    })
}

/// Returns whether a final run has no event left that is wanted.
async fn nothing_wanted(
    shared: &Shared,
    subject: Subject,
    place: &Place,
    wanted: Option<&(dyn Fn(&str) -> bool + Sync)>,
) -> Result<bool, Error> {
    let (Subject::Run(run_id), Some(wanted), true) = (subject, wanted, place.is_final) else { return Ok(false) };
    let names = limited(shared.store.event_names(run_id, place.after_seq)).await?;
    Ok(!names.iter().any(|name| wanted(name)))
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
    /// Finds where the reading begins; `wanted` says which types the reader wants, when not all.
    ///
    /// # Errors
    /// Those of the store, at once.
    pub async fn open(
        shared: &Arc<Shared>,
        subject: Subject,
        after_seq: i64,
        wanted: Option<&(dyn Fn(&str) -> bool + Sync)>,
    ) -> Result<Opened, Error> {
        let Some(place) = place(shared, subject, after_seq).await? else { return Ok(Opened::Unknown) };
        if place.gap.is_none() && (place.over || nothing_wanted(shared, subject, &place, wanted).await?) {
            return Ok(Opened::Over);
        }
        let mut reader = Self {
            shared: Arc::clone(shared),
            subscription: Tails::subscribe(&shared.tails, place.thread_id, place.last_seq),
            run_id: if let Subject::Run(run_id) = subject { Some(run_id) } else { None },
            after_seq: place.after_seq,
            last_run: None,
            batch: Vec::new().into_iter(),
            over: false,
            ended: false,
        };
        reader.go_to(&place)?;
        Ok(Opened::Reader(reader))
    }

    /// Goes on from there, with the gap before it.
    fn go_to(&mut self, place: &Place) -> Result<(), Error> {
        let gap = place.gap.as_ref().map(Frame::of_gap).transpose()?;
        self.batch = gap.map(Arc::new).into_iter().collect::<Vec<_>>().into_iter();
        self.after_seq = place.after_seq;
        self.last_run = place.run_id;
        self.over = place.over;
        Ok(())
    }

    /// Opens a reader as [`Reader::open`] does, and tries for a while when the database is away; `None` when nothing
    /// will come.
    pub async fn open_with_retries(
        shared: Arc<Shared>,
        subject: Subject,
        after_seq: i64,
    ) -> Result<Option<Self>, Error> {
        let retry = OutageRetry::new();
        let opened = loop {
            let answer = Self::open(&shared, subject, after_seq, None).await;
            if !retry.pause_after(&answer).await {
                break answer?;
            }
        };
        Ok(if let Opened::Reader(reader) = opened { Some(reader) } else { None })
    }

    /// Returns the next frame, `None` at the end. For [`futures::stream::try_unfold`].
    pub async fn next(mut self) -> Result<Option<(Arc<Frame>, Self)>, Error> {
        while !self.ended {
            if let Some(frame) = self.take_wanted() {
                return Ok(Some((frame, self)));
            }
            if self.over || (!self.ended && !self.refill().await?) {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the next wanted frame of the batch.
    fn take_wanted(&mut self) -> Option<Arc<Frame>> {
        let Self { batch, run_id, .. } = self;
        for frame in batch.by_ref() {
            self.after_seq = frame.seq;
            self.last_run = Some(frame.run_id);
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
        // What takes long is boxed, so that a reader that waits is small.
        match (self.subscription.tail.take(self.after_seq), end) {
            (_, Some(End::Rewound(through))) => return Box::pin(self.go_back(through)).await,
            (NextFrames::Frames(frames), _) => self.batch = frames.into_iter(),
            (NextFrames::Behind { head }, _) => Box::pin(self.page(head)).await?,
            (NextFrames::UpToDate, Some(End::Gone)) => return self.say_deleted(),
            (NextFrames::UpToDate, Some(End::Failed(error))) => return Err(error),
            (NextFrames::UpToDate, None) => {
                // An idle reader holds no memory for frames it has handed out.
                self.batch = Vec::new().into_iter();
                self.subscription.wait().await;
            }
        }
        Ok(true)
    }

    /// Goes on from the newest event that the database still has, and says so to a reader that has seen more; `false`
    /// when nothing will come.
    async fn go_back(&mut self, through: i64) -> Result<bool, Error> {
        let to = self.after_seq.min(through);
        let rewound = self.last_run.filter(|_| self.after_seq > through);
        let rewound = rewound.map(|run_id| Frame::of_rewind(to, run_id)).transpose()?;
        let Some(reader) = Self::open_with_retries(Arc::clone(&self.shared), self.subject(), to).await? else {
            return Ok(false);
        };
        *self = reader;
        let rest = std::mem::take(&mut self.batch);
        self.batch = rewound.map(Arc::new).into_iter().chain(rest).collect::<Vec<_>>().into_iter();
        Ok(true)
    }

    fn subject(&self) -> Subject {
        self.run_id.map_or(Subject::Thread(self.subscription.tail.thread_id), Subject::Run)
    }

    /// Returns the last word of a deleted thread's stream; `false` when it was said.
    fn say_deleted(&mut self) -> Result<bool, Error> {
        let Some(run_id) = self.last_run.filter(|_| !self.over) else { return Ok(false) };
        self.batch = vec![Arc::new(Frame::unstored(&Event::ThreadDeleted {}, self.after_seq, run_id)?)].into_iter();
        self.over = true;
        Ok(true)
    }

    /// Takes the next page of the table. Numbers have no gaps, so one that is not there was removed since: because of
    /// its age, or with the whole thread.
    async fn page(&mut self, head: i64) -> Result<(), Error> {
        let thread_id = self.subscription.tail.thread_id;
        let retry = OutageRetry::new();
        let page = loop {
            let answer = limited(self.shared.store.event_rows(thread_id, self.after_seq, PAGE)).await;
            if !retry.pause_after(&answer).await {
                break answer?;
            }
        };
        let follows = page.rows.first().is_some_and(|row| row.seq == self.after_seq + 1);
        if !follows && self.pass_gap().await? {
            return Ok(());
        }
        // Of a deleted thread nothing is left; its tail will say so.
        if page.rows.is_empty() {
            self.after_seq = head;
        }
        self.batch = frames(&page.rows)?.into_iter();
        Ok(())
    }

    /// Looks again where to go on; `false` when nothing was removed because of its age.
    async fn pass_gap(&mut self) -> Result<bool, Error> {
        let retry = OutageRetry::new();
        let place = loop {
            let answer = place(&self.shared, self.subject(), self.after_seq).await;
            if !retry.pause_after(&answer).await {
                break answer?;
            }
        };
        match place.filter(|place| place.gap.is_some()) {
            Some(place) => self.go_to(&place).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Repeats a read while the database is away, for a while.
struct OutageRetry {
    since: Instant,
}

impl OutageRetry {
    fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// Returns whether to try again after this answer; then a pause has passed.
    async fn pause_after<T>(&self, answer: &Result<T, Error>) -> bool {
        let again = matches!(&answer, Err(error) if error.may_pass()) && self.since.elapsed() < super::OUTAGE_LIMIT;
        if again {
            tokio::time::sleep(PAUSE).await;
        }
        again
    }
}
