//! The newest events of the threads that have readers, kept once per process.
//!
//! A [`Tail`] is a bounded ring of frames with a bell: a reader at its end waits for the bell, one behind its start
//! reads the table. [`Tails`] is the list of them and of the work they need; `fill.rs` does that work.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::Frame;
use crate::{domain::ThreadId, store::Error};

/// What a ring holds at most; the oldest frames go first.
const RING_FRAMES: usize = 256;
const RING_BYTES: usize = 512 * 1024;
/// What a reader takes out at once.
const BATCH_FRAMES: usize = 64;
const BATCH_BYTES: usize = 64 * 1024;
/// Frames that have been in a ring for so many polls leave it: who has not read them by then is slow or gone.
const POLLS_KEPT: usize = 5;

/// Why nothing more will come.
#[derive(Clone, Debug)]
pub enum End {
    /// The thread was deleted.
    Gone,
    /// The database has lost what follows this number, and writes other events under the numbers behind it.
    Rewound(i64),
    Failed(Error),
}

/// The newest events of one thread.
#[derive(Debug)]
pub struct Tail {
    pub thread_id: ThreadId,
    /// Held for a few copies, never across an await.
    ring: Mutex<Ring>,
    /// Rings whenever the ring has grown, and at the end.
    bell: watch::Sender<Option<End>>,
}

/// All frames above `base` up to `head`, ascending.
#[derive(Debug)]
struct Ring {
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
    base: i64,
    head: i64,
    /// The head at each of the last polls, the newest first.
    polled: [i64; POLLS_KEPT - 1],
    /// The database seems to have lost some of them; nothing is added until that is known.
    is_doubted: bool,
}

/// What a tail has for a reader.
#[derive(Debug)]
pub enum NextFrames {
    /// The next ones without a gap; at least one.
    Frames(Vec<Arc<Frame>>),
    /// The next ones are in the table only. The table has been read up to `head`.
    Behind { head: i64 },
    /// The reader has seen everything.
    UpToDate,
}

impl Tail {
    /// Returns an empty one that begins after `head`.
    fn new(thread_id: ThreadId, head: i64) -> Self {
        let polled = [head; POLLS_KEPT - 1];
        let ring = Ring { frames: VecDeque::new(), bytes: 0, base: head, head, polled, is_doubted: false };
        Self { thread_id, ring: Mutex::new(ring), bell: watch::Sender::new(None) }
    }

    /// Returns the number of the newest event known.
    pub fn head(&self) -> i64 {
        self.ring.lock().head
    }

    /// Adds what it does not know yet of events that follow one another, and wakes the readers. `false` when some are
    /// missing before them, or they are not those that it knows: then nothing was added.
    pub fn extend(&self, frames: Vec<Arc<Frame>>) -> bool {
        let mut ring = self.ring.lock();
        let head = ring.head;
        let new = frames.partition_point(|frame| frame.seq <= head);
        ring.is_doubted |= !frames[..new].iter().all(|frame| ring.agrees_with(frame));
        if ring.is_doubted {
            return false;
        }
        match frames.get(new) {
            None => return true,
            Some(first) if first.seq != head + 1 => return false,
            Some(_) => ring.extend(frames.into_iter().skip(new)),
        }
        drop(ring);
        self.bell.send_modify(|_| ());
        true
    }

    /// Tells the readers that nothing more comes.
    pub fn end(&self, end: End) {
        self.bell.send_replace(Some(end));
    }

    /// Takes some frames with a number above `after_seq`.
    pub fn take(&self, after_seq: i64) -> NextFrames {
        self.ring.lock().take(after_seq)
    }

    /// Takes note that the database seems to have lost events that are known here.
    pub fn doubt(&self) {
        self.ring.lock().is_doubted = true;
    }

    /// Returns whether the database seems to have lost something.
    pub fn is_doubted(&self) -> bool {
        self.ring.lock().is_doubted
    }

    /// Takes the doubt back.
    pub fn trust(&self) {
        self.ring.lock().is_doubted = false;
    }

    /// Returns the number after which its frames begin.
    pub fn base(&self) -> i64 {
        self.ring.lock().base
    }

    /// Returns through which number it has the same events as these, which are stored.
    pub fn common(&self, stored: &[Arc<Frame>]) -> i64 {
        let ring = self.ring.lock();
        stored.iter().find(|frame| !ring.agrees_with(frame)).map_or(ring.head, |other| other.seq - 1)
    }

    /// Notes that a poll went by; frees what has been in the ring for long.
    pub fn age(&self) {
        self.ring.lock().age();
    }
}

impl Ring {
    fn extend(&mut self, frames: impl Iterator<Item = Arc<Frame>>) {
        for frame in frames {
            self.head = frame.seq;
            self.bytes += frame.sse.len();
            self.frames.push_back(frame);
            while self.frames.len() > RING_FRAMES || self.bytes > RING_BYTES {
                self.drop_oldest();
            }
        }
    }

    /// Returns whether it has the same event under that number, as far as it has one.
    fn agrees_with(&self, frame: &Frame) -> bool {
        let at = usize::try_from(frame.seq - self.base - 1).ok();
        at.and_then(|at| self.frames.get(at)).is_none_or(|known| known.json == frame.json)
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.frames.pop_front() {
            self.bytes -= oldest.sse.len();
            self.base = oldest.seq;
        }
    }

    fn take(&self, after_seq: i64) -> NextFrames {
        if after_seq >= self.head {
            return NextFrames::UpToDate;
        }
        if after_seq < self.base {
            return NextFrames::Behind { head: self.head };
        }
        let start = self.frames.partition_point(|frame| frame.seq <= after_seq);
        let mut bytes = 0;
        let fits = |frame: &&Arc<Frame>| {
            let fits = bytes < BATCH_BYTES;
            bytes += frame.sse.len();
            fits
        };
        NextFrames::Frames(self.frames.range(start..).take(BATCH_FRAMES).take_while(fits).cloned().collect())
    }

    fn age(&mut self) {
        let long_since = self.polled[POLLS_KEPT - 2];
        self.polled.rotate_right(1);
        self.polled[0] = self.head;
        while self.frames.front().is_some_and(|oldest| oldest.seq <= long_since) {
            self.drop_oldest();
        }
        self.frames.shrink_to(2 * self.frames.len());
    }
}

/// A reader's hold on a tail; when the last one goes, so does the tail.
#[derive(Debug)]
pub struct Subscription {
    tails: Arc<Tails>,
    pub tail: Arc<Tail>,
    bell: watch::Receiver<Option<End>>,
}

impl Subscription {
    /// Looks at the bell; what rings afterwards ends the next [`Subscription::wait`].
    pub fn look(&mut self) -> Option<End> {
        self.bell.borrow_and_update().clone()
    }

    /// Waits for the bell.
    ///
    /// # Cancel safety
    /// A ring is noticed by the next call.
    pub async fn wait(&mut self) {
        // The sender lives in the tail, which this holds.
        let _ = self.bell.changed().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut list = self.tails.list.lock();
        let Some(entry) = list.entries.get_mut(&self.tail.thread_id) else { return };
        if Arc::ptr_eq(&entry.tail, &self.tail) {
            entry.readers -= 1;
            if entry.readers == 0 {
                list.entries.remove(&self.tail.thread_id);
            }
        }
    }
}

/// The tails of a process: one per thread with readers, so their number is bounded by that of the readers.
#[derive(Debug, Default)]
pub struct Tails {
    /// Held for single operations, never across an await.
    list: Mutex<List>,
    /// There is a tail to be filled.
    pub work: Notify,
    /// There is a first reader.
    pub readers: Notify,
}

#[derive(Debug, Default)]
struct List {
    entries: HashMap<ThreadId, Entry>,
    /// Tails to be filled, in order; each is in it once at most, except that one may have gone and come back.
    due: VecDeque<ThreadId>,
    /// The process stops: no tail will be filled any more.
    stopped: Option<End>,
}

#[derive(Debug)]
struct Entry {
    tail: Arc<Tail>,
    readers: usize,
    fill: Fill,
    ended: bool,
}

/// One fill of a tail at a time; what comes meanwhile is one more afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Idle,
    Due,
    Running,
    RunningAndDue,
}

impl Tails {
    /// Returns a hold on the thread's tail. A new one begins after `last_seq` and is filled at once, since events may
    /// have been committed between reading that number and being on the list.
    pub fn subscribe(this: &Arc<Self>, thread_id: ThreadId, last_seq: i64) -> Subscription {
        let mut list = this.list.lock();
        if list.entries.is_empty() {
            this.readers.notify_one();
        }
        let usable = list.entries.get(&thread_id).is_some_and(|entry| !entry.ended);
        if !usable {
            let tail = Arc::new(Tail::new(thread_id, last_seq));
            if let Some(end) = list.stopped.clone() {
                tail.end(end);
            }
            list.entries.insert(thread_id, Entry { tail, readers: 0, fill: Fill::Idle, ended: false });
            list.mark_due(thread_id);
            this.work.notify_one();
        }
        let entry = list.entries.get_mut(&thread_id).expect("it was there or has been inserted above");
        entry.readers += 1;
        let tail = Arc::clone(&entry.tail);
        drop(list);
        Subscription { tails: Arc::clone(this), bell: tail.bell.subscribe(), tail }
    }

    /// Marks the thread's tail, if there is one, to be filled: something happened in the thread.
    pub fn mark_due(&self, thread_id: ThreadId) {
        if self.list.lock().mark_due(thread_id) {
            self.work.notify_one();
        }
    }

    /// Returns the thread's tail, if it has readers.
    pub fn get(&self, thread_id: ThreadId) -> Option<Arc<Tail>> {
        self.list.lock().entries.get(&thread_id).filter(|entry| !entry.ended).map(|entry| Arc::clone(&entry.tail))
    }

    /// Takes the next tail to be filled; give it back with [`Tails::filled`].
    pub fn next_due(&self) -> Option<Arc<Tail>> {
        let mut list = self.list.lock();
        while let Some(thread_id) = list.due.pop_front() {
            if let Some(entry) = list.entries.get_mut(&thread_id)
                && entry.fill == Fill::Due
            {
                entry.fill = Fill::Running;
                return Some(Arc::clone(&entry.tail));
            }
        }
        None
    }

    /// Notes that a fill is done; with `more`, there is more to be had at once.
    pub fn filled(&self, tail: &Arc<Tail>, more: bool) {
        let mut list = self.list.lock();
        let Some(entry) = list.entries.get_mut(&tail.thread_id) else { return };
        if !Arc::ptr_eq(&entry.tail, tail) {
            return;
        }
        let again = more || entry.fill == Fill::RunningAndDue;
        entry.fill = Fill::Idle;
        if again && list.mark_due(tail.thread_id) {
            self.work.notify_one();
        }
    }

    /// Ends a tail; who reads the thread afterwards gets another one.
    pub fn end(&self, tail: &Arc<Tail>, end: End) {
        if let Some(entry) = self.list.lock().entries.get_mut(&tail.thread_id)
            && Arc::ptr_eq(&entry.tail, tail)
        {
            entry.ended = true;
        }
        tail.end(end);
    }

    /// Ends every tail there is or will be.
    pub fn stop(&self, end: &End) {
        self.list.lock().stopped = Some(end.clone());
        for tail in self.all() {
            self.end(&tail, end.clone());
        }
    }

    /// Returns the tails that have not ended.
    pub fn all(&self) -> Vec<Arc<Tail>> {
        self.list.lock().entries.values().filter(|entry| !entry.ended).map(|entry| Arc::clone(&entry.tail)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.list.lock().entries.is_empty()
    }
}

impl List {
    /// Marks a thread as due, and returns whether there is something new to do.
    fn mark_due(&mut self, thread_id: ThreadId) -> bool {
        let Some(entry) = self.entries.get_mut(&thread_id) else { return false };
        match entry.fill {
            Fill::Due | Fill::RunningAndDue => false,
            Fill::Running => {
                entry.fill = Fill::RunningAndDue;
                false
            }
            Fill::Idle => {
                entry.fill = Fill::Due;
                self.due.push_back(thread_id);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::domain::RunId;

    fn frame(seq: i64, size: usize) -> Arc<Frame> {
        let sse = Bytes::from(vec![b'x'; size]);
        Arc::new(Frame { seq, run_id: RunId::new(), name: "a".into(), terminal: false, json: sse.clone(), sse })
    }

    fn seqs(taken: NextFrames) -> Vec<i64> {
        let NextFrames::Frames(frames) = taken else { panic!("{taken:?}") };
        frames.iter().map(|frame| frame.seq).collect()
    }

    fn tail(head: i64) -> Tail {
        Tail::new(ThreadId::new(), head)
    }

    #[test]
    fn a_tail_serves_what_it_has_and_says_what_it_has_not() {
        let tail = tail(5);
        assert!(matches!(tail.take(5), NextFrames::UpToDate));
        assert!(matches!(tail.take(9), NextFrames::UpToDate));
        assert!(matches!(tail.take(4), NextFrames::Behind { head: 5 }));
        tail.extend(vec![frame(6, 1), frame(7, 1), frame(8, 1)]);
        assert_eq!(seqs(tail.take(5)), [6, 7, 8]);
        assert_eq!(seqs(tail.take(7)), [8]);
        assert!(matches!(tail.take(4), NextFrames::Behind { head: 8 }));
        assert!(matches!(tail.take(8), NextFrames::UpToDate));
    }

    #[test]
    fn a_tail_takes_no_event_twice_and_none_out_of_turn() {
        let tail = tail(5);
        assert!(tail.extend(vec![frame(6, 1), frame(7, 1)]));
        assert!(tail.extend(vec![frame(6, 1), frame(7, 1), frame(8, 1)]), "a fill that was under way meanwhile");
        assert!(tail.extend(vec![frame(7, 1)]));
        assert!(!tail.extend(vec![frame(10, 1)]), "number 9 is missing");
        assert_eq!(seqs(tail.take(5)), [6, 7, 8]);
        assert_eq!(tail.head(), 8);
    }

    #[test]
    fn a_tail_adds_nothing_to_what_the_database_has_lost() {
        let tail = tail(5);
        let known = [frame(6, 1), frame(7, 1)];
        tail.extend(known.to_vec());
        assert!(!tail.extend(vec![frame(7, 2), frame(8, 1)]), "another event has that number");
        assert!(tail.is_doubted() && !tail.extend(vec![frame(8, 1)]));
        assert_eq!((tail.head(), tail.common(&[known[0].clone(), frame(7, 2)]), tail.common(&known)), (7, 6, 7));
        tail.trust();
        assert!(tail.extend(vec![known[1].clone(), frame(8, 1)]));
        tail.doubt();
        assert!(tail.is_doubted());
    }

    #[test]
    fn a_tail_is_bounded_in_frames_and_bytes() {
        let many = tail(0);
        many.extend((1..=1000).map(|seq| frame(seq, 1)).collect());
        let oldest = 1000 - i64::try_from(RING_FRAMES).unwrap();
        assert!(matches!(many.take(oldest - 1), NextFrames::Behind { head: 1000 }));
        assert_eq!(seqs(many.take(oldest)).len(), BATCH_FRAMES);
        let large = tail(0);
        large.extend((1..=100).map(|seq| frame(seq, RING_BYTES / 4)).collect());
        assert!(matches!(large.take(95), NextFrames::Behind { .. }));
        assert_eq!(seqs(large.take(96)), [97], "a batch has one frame too large for it, but not two");
        large.extend(vec![frame(101, 2 * RING_BYTES)]);
        assert!(
            matches!(large.take(100), NextFrames::Behind { head: 101 }),
            "what fits nowhere is read from the table"
        );
    }

    #[test]
    fn a_tail_holds_what_is_new() {
        let tail = tail(0);
        tail.extend(vec![frame(1, 1), frame(2, 1)]);
        (1..POLLS_KEPT).for_each(|_| tail.age());
        tail.extend(vec![frame(3, 1)]);
        assert_eq!(seqs(tail.take(0)), [1, 2, 3]);
        tail.age();
        assert!(matches!(tail.take(1), NextFrames::Behind { head: 3 }));
        assert_eq!(seqs(tail.take(2)), [3], "it goes on with what came later");
        (1..POLLS_KEPT).for_each(|_| tail.age());
        assert!(matches!(tail.take(2), NextFrames::Behind { head: 3 }));
        assert_eq!(tail.ring.lock().frames.capacity(), 0, "a quiet tail holds nothing");
        tail.extend(vec![frame(4, 1)]);
        assert_eq!(seqs(tail.take(3)), [4]);
    }

    #[test]
    fn a_tail_is_filled_once_at_a_time() {
        let tails = Arc::new(Tails::default());
        let thread_id = ThreadId::new();
        tails.mark_due(thread_id);
        assert!(tails.next_due().is_none(), "nobody reads it");
        let subscription = Tails::subscribe(&tails, thread_id, 0);
        let tail = tails.next_due().unwrap();
        (0..3).for_each(|_| tails.mark_due(thread_id));
        assert!(tails.next_due().is_none(), "it is being filled");
        tails.filled(&tail, false);
        assert!(tails.next_due().is_some(), "once more for what came meanwhile");
        tails.filled(&tail, false);
        assert!(tails.next_due().is_none());
        let second = Tails::subscribe(&tails, thread_id, 0);
        assert!(tails.next_due().is_none(), "one tail for both");
        drop(subscription);
        assert!(!tails.is_empty());
        drop(second);
        assert!(tails.is_empty());
    }

    #[test]
    fn an_ended_tail_is_replaced() {
        let tails = Arc::new(Tails::default());
        let mut first = Tails::subscribe(&tails, ThreadId::new(), 3);
        tails.end(&first.tail, End::Gone);
        assert!(matches!(first.look(), Some(End::Gone)));
        let mut second = Tails::subscribe(&tails, first.tail.thread_id, 3);
        drop(first);
        assert!(second.look().is_none());
        tails.stop(&End::Failed(Error::Fenced));
        assert!(second.look().is_some());
        let mut third = Tails::subscribe(&tails, ThreadId::new(), 3);
        assert!(third.look().is_some(), "no waiting where nobody fills");
    }
}
