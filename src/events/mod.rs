//! The event log: one task appends for all runs, any number of readers follow.
//!
//! The table is the truth, and readers are many. So each process keeps what is new in a thread once, in the thread's
//! tail (`tail.rs`), and all its readers take it from there as [`Frame`]s, ready for the wire. A reader that is behind
//! the tail reads pages of the table at its own pace and holds up nobody. After each commit the writer hands what it
//! wrote to the tails of this process and, through the database, wakes those of the others (`wakes.rs`), which read it
//! from the table; one look per second for all threads covers wake-ups that got lost (`fill.rs`). It also notices where
//! the database has lost events that readers had: these go back to the newest one that is there.

mod fill;
mod frame;
mod reader;
mod tail;
mod wakes;
mod writer;

use std::{pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, TryFutureExt as _, TryStreamExt as _, stream::try_unfold};
use tokio::sync::Notify;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    domain::{Envelope, RunId, ThreadId},
    store::{EventRow, EventRows, PageLimit, Store},
};
use reader::{Opened, Place, Reader, place};
use tail::Tails;

pub use crate::store::Error;
pub use frame::Frame;
pub use wakes::{Control, Wakes};
pub use writer::{CommitRetry, Writer, WriterHandle};

/// How long a reader waits for a database that does not answer.
const OUTAGE_LIMIT: Duration = Duration::from_secs(60);
/// How often a page is looked for while events are being removed.
const LOOKS: u32 = 5;
/// A page ends with the event that reaches so many bytes.
const PAGE_BYTES: usize = 1024 * 1024;

/// What runs tell the world, to be followed from any point; a cheap clone.
#[derive(Clone, Debug)]
pub struct EventLog {
    shared: Arc<Shared>,
    /// Ends the tasks, and with them the readers, when the last clone goes.
    _running: Arc<DropGuard>,
    /// Cancelled by that, and when one of the tasks ends by itself.
    stopped: CancellationToken,
}

/// What the handles, the tasks and the readers of a log have in common.
#[derive(Debug)]
struct Shared {
    store: Store,
    tails: Arc<Tails>,
    wakes: Wakes,
    /// Wake-ups may have been missed: the next poll is due now.
    look_now: Notify,
}

/// Whose events a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Thread(ThreadId),
    Run(RunId),
}

/// The frames of a thread or run; as [`EventLog::frames`].
pub type Frames = Pin<Box<dyn Stream<Item = Result<Arc<Frame>, Error>> + Send>>;

/// What [`EventLog::open`] found.
pub enum Opening {
    /// There is no such thread or run.
    Unknown,
    /// The run is final and its last event not above the number: nothing will come.
    Over,
    Frames(Frames),
}

/// A page of consecutive events.
#[derive(Clone, Debug)]
pub struct FramePage {
    pub frames: Vec<Arc<Frame>>,
    /// Where the next page begins; also that of an empty page.
    pub next_after: i64,
    /// Nothing follows: the run's last event is on this page or before it, or, of a thread, all events are and no run
    /// is queued or at work.
    pub done: bool,
}

impl EventLog {
    /// Returns the log in `store`, with tasks on `tasks` that end with its last clone. Clones share everything; make
    /// one per process.
    pub fn start(store: Store, tasks: &TaskTracker) -> Self {
        let listener = store.listener();
        let wakes = Wakes::new(listener.is_some());
        let shared = Arc::new(Shared { store, tails: Arc::default(), wakes, look_now: Notify::new() });
        let stopped = CancellationToken::new();
        fill::start(&shared, &stopped, tasks);
        if let Some(listener) = listener {
            wakes::start(&shared, listener, &stopped, tasks);
        }
        Self { shared, _running: Arc::new(stopped.clone().drop_guard()), stopped }
    }

    /// Waits until one of the tasks has ended: by a defect, since this handle keeps them at work. The others end then.
    pub async fn ended(&self) {
        self.stopped.cancelled().await;
    }

    /// Tells the readers of a thread, here and in other processes, that there is something new or that it is gone;
    /// call it after the commit. Never waits. The writer does so for what it writes.
    pub fn wake(&self, thread_id: ThreadId) {
        self.shared.tails.mark_due(thread_id);
        self.shared.wakes.events(thread_id);
    }

    /// Hands what was just committed to the readers of a thread here, and wakes those in other processes. `rows` follow
    /// one another.
    fn publish(&self, thread_id: ThreadId, rows: &[EventRow]) {
        if let Some(tail) = self.shared.tails.get(thread_id) {
            let follows = match fill::frames(rows) {
                Ok(frames) => tail.extend(frames),
                // The fill reports it to the readers.
                Err(_) => false,
            };
            if follows { fill::note_delivery(rows) } else { self.shared.tails.mark_due(thread_id) }
        }
        self.shared.wakes.events(thread_id);
    }

    /// Returns the wake-ups of another kind: of those who claim and work.
    pub fn wakes(&self) -> &Wakes {
        &self.shared.wakes
    }

    /// Looks once where a reader would begin, and what it would find; then as [`EventLog::frames`].
    ///
    /// # Errors
    /// Those of the store, at once.
    pub async fn open(&self, subject: Subject, after_seq: i64) -> Result<Opening, Error> {
        self.open_for(subject, after_seq, None).await
    }

    /// Opens a reader that wants some types only, as [`EventLog::open`]: a final run that has none of them left is
    /// over.
    ///
    /// # Errors
    /// Those of the store, at once.
    pub async fn open_for(
        &self,
        subject: Subject,
        after_seq: i64,
        wanted: Option<&(dyn Fn(&str) -> bool + Sync)>,
    ) -> Result<Opening, Error> {
        Ok(match Reader::open(&self.shared, subject, after_seq, wanted).await? {
            Opened::Unknown => Opening::Unknown,
            Opened::Over => Opening::Over,
            Opened::Reader(reader) => Opening::Frames(Box::pin(try_unfold(reader, Reader::next))),
        })
    }

    /// Streams the events with a number above `after_seq`, without gaps, first those there are and then those to
    /// come. A number beyond the end stands for the end.
    ///
    /// Those of a thread end when it does not exist; when it is deleted, after an
    /// [`crate::domain::Event::ThreadDeleted`]. Those of a run end after its terminal event, at once if that is not
    /// above `after_seq`, and when there is no such run.
    ///
    /// # Errors
    /// An error is the last item: [`Error::Unavailable`] only after a minute without an answer, or when the last
    /// handle of the log is gone. A reader may follow again from the last number it saw.
    pub fn frames(
        &self,
        subject: Subject,
        after_seq: i64,
    ) -> impl Stream<Item = Result<Arc<Frame>, Error>> + Send + use<> {
        let next = async |reader: Option<Reader>| match reader {
            Some(reader) => Ok(reader.next().await?.map(|(frame, reader)| (frame, Some(reader)))),
            None => Ok(None),
        };
        Reader::open_with_retries(Arc::clone(&self.shared), subject, after_seq)
            .map_ok(move |reader| try_unfold(reader, next))
            .try_flatten_stream()
    }

    /// Returns the events of a thread as values; otherwise as [`EventLog::frames`].
    ///
    /// # Errors
    /// As [`EventLog::frames`]; [`Error::Corrupt`] also for an event that this version does not know.
    pub fn follow(&self, thread_id: ThreadId, after_seq: i64) -> impl Stream<Item = Result<Envelope, Error>> + use<> {
        self.envelopes(Subject::Thread(thread_id), after_seq)
    }

    /// Returns the events of one run as values; otherwise as [`EventLog::frames`].
    ///
    /// # Errors
    /// As [`EventLog::follow`].
    pub fn follow_run(&self, run_id: RunId, after_seq: i64) -> impl Stream<Item = Result<Envelope, Error>> + use<> {
        self.envelopes(Subject::Run(run_id), after_seq)
    }

    fn envelopes(&self, subject: Subject, after_seq: i64) -> impl Stream<Item = Result<Envelope, Error>> + use<> {
        self.frames(subject, after_seq).and_then(async |frame| frame.envelope())
    }

    /// Returns `limit` of the events above `after_seq` at most, fewer when they are large; `None` when there is no such
    /// thread or run. A page of a run may be empty without being the last.
    ///
    /// # Errors
    /// Those of the store, at once.
    pub async fn page(&self, subject: Subject, after_seq: i64, limit: u32) -> Result<Option<FramePage>, Error> {
        // Events may be removed between the two looks; then both are repeated.
        for _ in 0..LOOKS {
            let Some(place) = place(&self.shared, subject, after_seq).await? else { return Ok(None) };
            let rows = limit - u32::from(place.gap.is_some());
            let page = self.rows(&place, rows).await?;
            let follows = match page.rows.first() {
                Some(row) => row.seq == place.after_seq + 1,
                None => rows == 0 || place.over || place.after_seq >= place.last_seq,
            };
            if follows {
                return FramePage::new(&page, &place, subject).map(Some);
            }
        }
        Err(Error::Unavailable("events are being removed just now".to_owned()))
    }

    async fn rows(&self, place: &Place, rows: u32) -> Result<EventRows, Error> {
        if place.over {
            return Ok(EventRows { rows: Vec::new(), more: false });
        }
        let limit = PageLimit { rows, bytes: PAGE_BYTES };
        fill::limited(self.shared.store.event_rows(place.thread_id, place.after_seq, limit)).await
    }
}

/// Spawns a part of the log. When it ends, as by a panic, so does the log: readers would wait for what never comes.
fn spawn_part(tasks: &TaskTracker, stopped: &CancellationToken, part: impl Future<Output = ()> + Send + 'static) {
    let end = stopped.clone().drop_guard();
    tasks.spawn(async move {
        let _end = end;
        part.await;
    });
}

impl FramePage {
    fn new(page: &EventRows, place: &Place, subject: Subject) -> Result<Self, Error> {
        let mut frames = fill::frames(&page.rows)?;
        let mut next_after = frames.last().map_or(place.after_seq, |frame| frame.seq);
        let done = match subject {
            Subject::Thread(_) => !page.more && !place.active && frames.last().is_none_or(|frame| frame.terminal),
            Subject::Run(run_id) => {
                frames.retain(|frame| frame.run_id == run_id);
                let end = frames.last().filter(|frame| frame.terminal);
                next_after = end.map_or(next_after, |end| end.seq);
                place.over || end.is_some()
            }
        };
        if let Some(gap) = &place.gap {
            frames.insert(0, Arc::new(Frame::of_gap(gap)?));
        }
        Ok(Self { frames, next_after, done })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_ends_the_log() {
        let (tasks, stopped) = (TaskTracker::new(), CancellationToken::new());
        spawn_part(&tasks, &stopped, async { std::panic::resume_unwind(Box::new("a defect")) });
        tokio::time::timeout(OUTAGE_LIMIT, stopped.cancelled()).await.unwrap();
    }
}
