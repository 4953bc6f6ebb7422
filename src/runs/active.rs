//! Which runs this process works on, and the orders it may give them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::dispatcher::LastLook;
use crate::domain::RunId;

/// What a worker listens to.
#[derive(Clone, Debug)]
pub struct Orders {
    /// This process stops; the run goes on elsewhere.
    pub interrupt: CancellationToken,
    /// The run shall be cancelled.
    pub cancel: CancellationToken,
    /// The run is somebody else's by now, or deleted.
    pub lost: CancellationToken,
    pub leaving: Leaving,
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
}

impl Active {
    /// Enters a run that was claimed; it is struck off when the value is dropped.
    pub fn enter(self: &Arc<Self>, run_id: RunId, interrupt: &CancellationToken, leaving: Leaving) -> Entered {
        let (cancel, lost) = (CancellationToken::new(), CancellationToken::new());
        let orders = Arc::new(Orders { interrupt: interrupt.clone(), cancel, lost, leaving });
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
