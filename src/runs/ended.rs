//! How work on a run ends.

use super::WorkError;
use crate::{
    domain::{Event, Failure, Outcome, Scope},
    journal::{self, Stop},
    store::{self, NewEvent},
};

/// How work on a run ended.
#[derive(Debug)]
pub enum Ended {
    /// The run is final.
    Completed(Outcome),
    Failed(Failure),
    Cancelled,
    /// This process was asked to stop; the run waits to be resumed.
    Interrupted,
    /// Somebody else may own it, or the database was away for longer than the lease.
    Lost,
}

impl Ended {
    /// Names the end in one word, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed(outcome) => outcome.as_str(),
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Lost => "lost",
        }
    }
}

/// Returns an event of the whole run.
pub fn root(event: Event) -> NewEvent {
    journal::now(&Scope::ROOT, event)
}

/// Returns why work on the run cannot go on.
pub fn stopped(stop: Stop) -> WorkError {
    match stop {
        Stop::Storage(error) => error.into(),
        Stop::Mismatch { key } => store::Error::Corrupt(format!("step '{key}' was made by a different request")).into(),
        // Only steps end so, and their verdict is made elsewhere.
        Stop::TimeOver | Stop::Interrupted => store::Error::Corrupt(stop.to_string()).into(),
    }
}
