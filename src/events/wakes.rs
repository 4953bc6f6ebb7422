//! Wake-ups: received in this process at once, and sent to the others after a few milliseconds, many together.
//!
//! They carry no data and may get lost; those who wait for one also look by themselves now and then.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Shared, spawn_part};
use crate::{
    domain::{RunId, ThreadId},
    store::{Listener, Notice, Store, Wake},
};

/// What comes within this time is sent together.
const GATHER: Duration = Duration::from_millis(5);
/// Different wake-ups that may wait to be sent. Beyond that they are dropped: the database is away then, and the
/// others will look by themselves.
const OUTBOX: usize = 10_000;
/// How long sending may take; longer when the process stops would hold it up.
const SEND_LIMIT: Duration = Duration::from_secs(10);
const LAST_SEND_LIMIT: Duration = Duration::from_secs(1);

/// Sends and receives wake-ups; a cheap clone.
#[derive(Clone, Debug)]
pub struct Wakes {
    board: Arc<Board>,
}

#[derive(Debug)]
struct Board {
    queue: watch::Sender<()>,
    /// A sender per run that somebody listens for. Held for single map operations.
    control: Mutex<HashMap<RunId, watch::Sender<()>>>,
    /// What is still to be sent to other processes; a set, so that it is sent once. Held as that above.
    outbox: Mutex<HashSet<Wake>>,
    filled: Notify,
    /// There may be other processes that listen.
    has_others: bool,
}

impl Wakes {
    pub(super) fn new(has_others: bool) -> Self {
        let board = Board {
            queue: watch::Sender::new(()),
            control: Mutex::default(),
            outbox: Mutex::default(),
            filled: Notify::new(),
            has_others,
        };
        Self { board: Arc::new(board) }
    }

    /// Wakes the processes that claim runs: a run was queued, or a lease given back, so they should look. Call it
    /// after the commit; never waits.
    pub fn queue(&self) {
        self.board.queue.send_replace(());
        self.post(Wake::Queue);
    }

    /// Wakes the worker of a run that is to be cancelled, or was deleted: it should look. Call it after the commit;
    /// never waits.
    pub fn control(&self, run_id: RunId) {
        self.board.ring(run_id);
        self.post(Wake::Control(run_id));
    }

    /// Has everybody in this process look, as if all were called.
    pub fn look(&self) {
        self.board.ring_all();
    }

    /// Changes whenever a run was queued somewhere, or may have been.
    pub fn on_queue(&self) -> watch::Receiver<()> {
        self.board.queue.subscribe()
    }

    /// Rings whenever somebody, somewhere, wants something of this run, or may have wanted.
    pub fn on_control(&self, run_id: RunId) -> Control {
        let calls = self.board.control.lock().entry(run_id).or_default().subscribe();
        Control { board: Arc::clone(&self.board), run_id, calls }
    }

    /// Wakes the readers in other processes.
    pub(super) fn events(&self, thread_id: ThreadId) {
        self.post(Wake::Events(thread_id));
    }

    fn post(&self, wake: Wake) {
        if !self.board.has_others {
            return;
        }
        let mut outbox = self.board.outbox.lock();
        if outbox.len() < OUTBOX {
            outbox.insert(wake);
        }
        drop(outbox);
        self.board.filled.notify_one();
    }
}

impl Board {
    fn ring(&self, run_id: RunId) {
        if let Some(sender) = self.control.lock().get(&run_id) {
            sender.send_replace(());
        }
    }

    fn ring_all(&self) {
        self.queue.send_replace(());
        self.control.lock().values().for_each(|sender| sender.send_replace(()));
    }

    async fn send(&self, store: &Store, limit: Duration) {
        let wakes: Vec<Wake> = self.outbox.lock().drain().collect();
        if wakes.is_empty() {
            return;
        }
        match tokio::time::timeout(limit, store.notify(&wakes)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "other processes could not be woken; they look every second"),
            Err(_) => tracing::debug!("waking other processes took too long; they look every second"),
        }
    }
}

/// Hears what is wanted of one run; takes itself off the list.
#[derive(Debug)]
pub struct Control {
    board: Arc<Board>,
    run_id: RunId,
    calls: watch::Receiver<()>,
}

impl Control {
    /// Waits for the next call; the row of the run says what is wanted.
    ///
    /// # Cancel safety
    /// A call is heard by the next wait.
    pub async fn called(&mut self) {
        // The sender stays on the list as long as this does.
        let _ = self.calls.changed().await;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let mut control = self.board.control.lock();
        if control.get(&self.run_id).is_some_and(|sender| sender.receiver_count() <= 1) {
            control.remove(&self.run_id);
        }
    }
}

/// Starts the tasks that send and receive; they end when `stopped` is cancelled.
pub(super) fn start(shared: &Arc<Shared>, listener: Listener, stopped: &CancellationToken, tasks: &TaskTracker) {
    spawn_part(tasks, stopped, send(Arc::clone(shared), stopped.clone()));
    let (shared, until) = (Arc::clone(shared), stopped.clone());
    let hearing = async move { until.run_until_cancelled(hear(shared, listener)).await.unwrap_or(()) };
    spawn_part(tasks, stopped, hearing);
}

/// Sends what gathered, again and again, and what is left at the end.
async fn send(shared: Arc<Shared>, stopped: CancellationToken) {
    let board = &shared.wakes.board;
    let sending = async {
        loop {
            board.filled.notified().await;
            tokio::time::sleep(GATHER).await;
            board.send(&shared.store, SEND_LIMIT).await;
        }
    };
    // What was being sent when this stopped may be lost, as any wake-up may.
    stopped.run_until_cancelled(sending).await.unwrap_or(());
    board.send(&shared.store, LAST_SEND_LIMIT).await;
}

async fn hear(shared: Arc<Shared>, mut listener: Listener) {
    loop {
        match listener.next().await {
            Notice::Missed => {
                shared.wakes.board.ring_all();
                shared.look_now.notify_one();
            }
            Notice::Wakes(wakes) => wakes.into_iter().for_each(|wake| pass_on(&shared, wake)),
        }
    }
}

fn pass_on(shared: &Shared, wake: Wake) {
    match wake {
        Wake::Events(thread_id) => shared.tails.mark_due(thread_id),
        Wake::Queue => shared.wakes.board.queue.send_replace(()),
        Wake::Control(run_id) => shared.wakes.board.ring(run_id),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_run_is_called_by_its_own_name() {
        let wakes = Wakes::new(false);
        let (first, second) = (RunId::new(), RunId::new());
        let (mut of_first, mut of_second) = (wakes.on_control(first), wakes.on_control(second));
        wakes.control(first);
        of_first.called().await;
        assert!(of_first.called().now_or_never().is_none(), "once per call");
        assert!(of_second.called().now_or_never().is_none());
        wakes.board.ring_all();
        of_second.called().await;
        drop((of_first, of_second));
        assert!(wakes.board.control.lock().is_empty());
    }

    #[tokio::test]
    async fn nothing_waits_to_be_sent_where_nobody_listens_and_little_where_somebody_does() {
        let alone = Wakes::new(false);
        alone.queue();
        assert!(alone.board.outbox.lock().is_empty());
        let among_others = Wakes::new(true);
        (0..3).for_each(|_| among_others.queue());
        assert_eq!(among_others.board.outbox.lock().len(), 1);
        (0..2 * OUTBOX).for_each(|_| among_others.events(ThreadId::new()));
        assert_eq!(among_others.board.outbox.lock().len(), OUTBOX);
    }
}
