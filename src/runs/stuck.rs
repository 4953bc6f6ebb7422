//! Runs that are at work and yet say nothing for longer than anything they wait for may take.
//!
//! Each wait before a call is made again is an event, which says until when, also one that a provider asks for.
//! So a healthy run is silent until the end of the wait it announced, and for one call.

use std::{collections::HashSet, time::Duration};

use super::{Parts, active::Active};
use crate::{
    domain::{RunId, Timestamp},
    llm,
    telemetry::metrics,
};

/// The time between two looks for stuck runs.
pub const LOOK: Duration = Duration::from_secs(10);
/// The time added for reading pages, for the database, and for calls that wait for their turn.
const MARGIN: Duration = Duration::from_secs(60);

/// Returns how long a run may store no event before it counts as stuck.
pub fn longest_silence(models: &llm::Settings) -> Duration {
    models.longest_silence() + llm::LONGEST_BACKOFF + MARGIN
}

/// The stuck runs of this process, each reported once.
#[derive(Debug, Default)]
pub struct Stuck {
    reported: HashSet<RunId>,
}

impl Stuck {
    /// Finds which runs that `worker` holds are stuck. While the database is away nothing can be said. What a run left
    /// unsaid before `worker` held it, as in an outage, does not count.
    pub async fn look(&mut self, parts: &Parts, worker: &str, active: &Active) {
        let limit = parts.settings.longest_silence;
        // Before the events are read, so that the event by which a run begins here is among them.
        let ours = active.answerable(limit);
        let Ok(mut silent) = parts.store.silent_runs(worker, Timestamp::now().minus(limit)).await else { return };
        silent.retain(|(run_id, _)| ours.contains(run_id));
        for (run_id, since) in &silent {
            if !self.reported.contains(run_id) {
                let since = since.to_rfc3339();
                tracing::warn!(%run_id, since, "a run seems to be stuck: it is at work and has stored nothing since");
            }
        }
        self.reported = silent.into_iter().map(|(run_id, _)| run_id).collect();
        metrics::runs_stuck(self.reported.len());
    }
}
