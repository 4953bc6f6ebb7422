//! Which runs this process works on, the signals it may give them, and when its claim loop last looked for more.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::marks::{Mark, Marks};
use crate::{domain::RunId, store::Lease};

/// The first pause between two tries at a run that cannot be worked on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// Runs whose setbacks are counted at the same time.
const MOST_COUNTED: usize = 10_000;

/// What a worker listens to.
#[derive(Debug)]
pub struct RunSignals {
    /// This process stops: begin nothing more, and let go when what is under way is stored.
    pub interrupt: CancellationToken,
    /// The run shall be cancelled.
    pub cancel: CancellationToken,
    /// The run is somebody else's by now, or deleted.
    pub lost: CancellationToken,
    /// Says when our own code works on the run.
    pub mark: Arc<Mark>,
    /// Nothing else is begun here while it is at work.
    alone: AtomicBool,
    /// When this process began to hold it.
    since: Instant,
    /// Whether it has stored an event since.
    begun: AtomicBool,
    pub leaving: Leaving,
    pub setbacks: Arc<Setbacks>,
}

/// What becomes of a run whose process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// Another process goes on with it.
    ToOthers,
    /// It waits until somebody asks for it: who stops a command does not want a service to go on paying. One that
    /// others might have taken before is theirs again where this process cannot even begin.
    Parked { was_open: bool },
}

impl Leaving {
    /// Returns whether others may take a run with which this process cannot begin.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Parked { was_open: false })
    }
}

/// The time when the claim loop last looked for work and the database answered.
#[derive(Debug, Default)]
pub struct LastLook(Mutex<Option<Instant>>);

impl LastLook {
    /// Returns the time since then; `None` when there was none.
    pub fn age(&self) -> Option<Duration> {
        self.0.lock().map(|at| at.elapsed())
    }

    /// Takes note that it was now.
    pub fn now(&self) {
        *self.0.lock() = Some(Instant::now());
    }
}

/// The runs at work in this process.
#[derive(Debug)]
pub struct Active {
    /// Held for single map operations, never across an await.
    runs: Mutex<HashMap<RunId, Arc<RunSignals>>>,
    marks: Arc<Marks>,
    pub last_look: LastLook,
    setbacks: Arc<Setbacks>,
}

/// How often in a row work on a run could not even begin, or not be brought to its end, in this process.
#[derive(Debug, Default)]
pub struct Setbacks {
    /// Held as that above.
    counts: Mutex<HashMap<RunId, u32>>,
}

impl Setbacks {
    /// Returns how long the run is left alone after one more: a second, then twice as long each time, two minutes at
    /// most.
    pub fn pause(&self, run_id: RunId) -> Duration {
        let mut counts = self.counts.lock();
        if counts.len() >= MOST_COUNTED {
            counts.clear();
        }
        let count = counts.entry(run_id).or_default();
        *count = (*count + 1).min(16);
        (FIRST_PAUSE * 2_u32.pow(*count - 1)).min(LONGEST_PAUSE)
    }

    pub fn forget(&self, run_id: RunId) {
        self.counts.lock().remove(&run_id);
    }
}

impl RunSignals {
    /// Notes that the run has stored an event while it was held here.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }
}

impl Active {
    pub fn new(marks: Marks) -> Self {
        let (runs, last_look, setbacks) = (Mutex::default(), LastLook::default(), Arc::default());
        Self { runs, marks: Arc::new(marks), last_look, setbacks }
    }

    /// Enters a run that was claimed; it is struck off when the value is dropped.
    pub fn enter(self: &Arc<Self>, lease: &Lease, interrupt: &CancellationToken, leaving: Leaving) -> Registration {
        let run_id = lease.run_id;
        let signals = RunSignals {
            interrupt: interrupt.clone(),
            cancel: CancellationToken::new(),
            lost: CancellationToken::new(),
            leaving,
            mark: self.marks.enter(run_id, lease.epoch),
            alone: AtomicBool::new(lease.is_suspect()),
            since: Instant::now(),
            begun: AtomicBool::new(false),
            setbacks: Arc::clone(&self.setbacks),
        };
        let signals = Arc::new(signals);
        self.runs.lock().insert(run_id, Arc::clone(&signals));
        Registration { active: Arc::clone(self), run_id, signals }
    }

    pub fn cancel(&self, run_id: RunId) {
        if let Some(signals) = self.runs.lock().get(&run_id) {
            signals.cancel.cancel();
        }
    }

    pub fn lose(&self, run_id: RunId) {
        if let Some(signals) = self.runs.lock().get(&run_id) {
            signals.lost.cancel();
        }
    }

    /// Says again whether a run is to be worked on alone.
    pub fn leave_alone(&self, run_id: RunId, alone: bool) {
        if let Some(signals) = self.runs.lock().get(&run_id) {
            signals.alone.store(alone, Ordering::Relaxed);
        }
    }

    /// Returns whether a run is at work beside which nothing is begun.
    pub fn is_taken(&self) -> bool {
        self.runs.lock().values().any(|signals| signals.alone.load(Ordering::Relaxed))
    }

    /// Returns the runs for whose silence this process answers: they have stored an event here, or were held here for
    /// at least that long.
    pub fn answerable(&self, limit: Duration) -> HashSet<RunId> {
        let runs = self.runs.lock();
        let is_ours = |signals: &RunSignals| signals.begun.load(Ordering::Relaxed) || signals.since.elapsed() >= limit;
        runs.iter().filter(|(_, signals)| is_ours(signals)).map(|(run_id, _)| *run_id).collect()
    }

    /// Returns how many runs are at work.
    pub fn count(&self) -> usize {
        self.runs.lock().len()
    }

    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns the runs at work.
    pub fn ids(&self) -> Vec<RunId> {
        self.runs.lock().keys().copied().collect()
    }
}

/// A run at work; leaves the list when dropped.
#[derive(Debug)]
pub struct Registration {
    active: Arc<Active>,
    run_id: RunId,
    signals: Arc<RunSignals>,
}

impl std::ops::Deref for Registration {
    type Target = RunSignals;

    fn deref(&self) -> &RunSignals {
        &self.signals
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut runs = self.active.runs.lock();
        // A run that was lost and claimed again may have another worker here by now.
        if runs.get(&self.run_id).is_some_and(|signals| Arc::ptr_eq(signals, &self.signals)) {
            runs.remove(&self.run_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_be_worked_on_is_left_alone_longer_and_longer() {
        let (setbacks, run_id) = (Setbacks::default(), RunId::new());
        let pauses: Vec<u64> = (0..10).map(|_| setbacks.pause(run_id).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120, 120]);
        assert_eq!(setbacks.pause(RunId::new()), FIRST_PAUSE, "others are not concerned");
        setbacks.forget(run_id);
        assert_eq!(setbacks.pause(run_id), FIRST_PAUSE);
    }
}
