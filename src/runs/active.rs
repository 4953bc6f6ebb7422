//! Which runs this process works on, and the orders it may give them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::dispatcher::LastLook;
use crate::domain::RunId;

/// Between two tries at a run that cannot be worked on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// Runs whose setbacks are counted at the same time.
const MOST_COUNTED: usize = 10_000;

/// What a worker listens to.
#[derive(Clone, Debug)]
pub struct Orders {
    /// This process stops: begin nothing more, and let go when what is under way is stored.
    pub interrupt: CancellationToken,
    /// The run shall be cancelled.
    pub cancel: CancellationToken,
    /// The run is somebody else's by now, or deleted.
    pub lost: CancellationToken,
    pub leaving: Leaving,
    pub setbacks: Arc<Setbacks>,
}

/// What becomes of a run whose process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// Another process goes on with it.
    ToOthers,
    /// It waits until somebody asks for it: whoever stops a command does not want a service to go on paying.
    Parked,
}

/// The runs at work in this process.
#[derive(Debug, Default)]
pub struct Active {
    /// A std mutex: held for single map operations, never across an await.
    runs: Mutex<HashMap<RunId, Arc<Orders>>>,
    pub last_look: LastLook,
    setbacks: Arc<Setbacks>,
}

/// How often in a row work on a run could not even begin, or not be brought to its end, in this process.
#[derive(Debug, Default)]
pub struct Setbacks {
    /// A std mutex, as above.
    counts: Mutex<HashMap<RunId, u32>>,
}

impl Setbacks {
    /// How long the run is left alone after one more: a second, then twice as long each time, two minutes at most.
    pub fn pause(&self, run_id: RunId) -> Duration {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_COUNTED {
            counts.clear();
        }
        let count = counts.entry(run_id).or_default();
        *count = (*count + 1).min(16);
        (FIRST_PAUSE * 2_u32.pow(*count - 1)).min(LONGEST_PAUSE)
    }

    pub fn forget(&self, run_id: RunId) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).remove(&run_id);
    }
}

impl Active {
    /// Enters a run that was claimed; it is struck off when the value is dropped.
    pub fn enter(self: &Arc<Self>, run_id: RunId, interrupt: &CancellationToken, leaving: Leaving) -> Entered {
        let (cancel, lost) = (CancellationToken::new(), CancellationToken::new());
        let setbacks = Arc::clone(&self.setbacks);
        let orders = Arc::new(Orders { interrupt: interrupt.clone(), cancel, lost, leaving, setbacks });
        self.lock().insert(run_id, Arc::clone(&orders));
        Entered { active: Arc::clone(self), run_id, orders }
    }

    pub fn cancel(&self, run_id: RunId) {
        if let Some(orders) = self.lock().get(&run_id) {
            orders.cancel.cancel();
        }
    }

    pub fn lose(&self, run_id: RunId) {
        if let Some(orders) = self.lock().get(&run_id) {
            orders.lost.cancel();
        }
    }

    /// The runs at work.
    pub fn ids(&self) -> Vec<RunId> {
        self.lock().keys().copied().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Arc<Orders>>> {
        // No code panics while it holds this.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run at work; leaves the list when dropped.
#[derive(Debug)]
pub struct Entered {
    active: Arc<Active>,
    run_id: RunId,
    orders: Arc<Orders>,
}

impl std::ops::Deref for Entered {
    type Target = Orders;

    fn deref(&self) -> &Orders {
        &self.orders
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut runs = self.active.lock();
        // A run that was lost and claimed anew may have another worker here by now.
        if runs.get(&self.run_id).is_some_and(|orders| Arc::ptr_eq(orders, &self.orders)) {
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
