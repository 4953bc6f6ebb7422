//! What is known of the models of one server: which of them are away.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::{ModelName, WaitKind};
use crate::net::Circuit;

/// Models of which it is remembered whether they are there; those beyond it that nobody calls are forgotten.
const MAX_CIRCUITS: usize = 1_000;

/// The circuits by model, since a router's models have different providers behind them.
#[derive(Default)]
pub(super) struct Circuits(Mutex<HashMap<ModelName, Arc<Circuit>>>);

impl Circuits {
    pub(super) fn of(&self, model: &ModelName) -> Arc<Circuit> {
        let mut circuits = self.0.lock();
        if circuits.len() >= MAX_CIRCUITS {
            circuits.retain(|_, circuit| Arc::strong_count(circuit) > 1 || circuit.is_open());
        }
        let new = || Arc::new(Circuit::new(model.to_string(), WaitKind::Model));
        Arc::clone(circuits.entry(model.clone()).or_insert_with(new))
    }
}
