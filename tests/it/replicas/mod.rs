//! Several services on one database under real faults: killed, frozen, cut off, asked to stop, deaf.
//!
//! Each story begins with a [`crate::crash::Site`] (a world and a database) and a [`Fleet`] of real services on it.

mod budgets;
mod control;
mod deaf;
mod fencing;
mod handover;
mod kills;
mod outages;
mod poison;
mod soak;

use fathom::domain::{Run, RunId, Timestamp};

use crate::{
    crash::{Site, until},
    fleet::{Fleet, LEASE, worker_pid},
};

impl Site {
    /// Starts so many services here.
    async fn fleet(&self, replicas: usize) -> Fleet {
        Fleet::start(&self.world, &self.database.database, replicas).await
    }

    /// Waits until somebody works on the site's run; then the place of who does.
    async fn holder(&self, fleet: &Fleet) -> usize {
        until("somebody of the fleet works on the run", async || {
            let worker = self.database.text("SELECT claimed_by FROM runs WHERE status = 'running'").await?;
            fleet.place_of(worker_pid(&worker)?)
        })
        .await
    }

    /// Deaths and unexplained ends of processes that count against the site's run; Postgres alone.
    async fn blamed(&self) -> i64 {
        self.database.count("SELECT MAX(deaths + unexplained) FROM runs").await
    }

    async fn is_final(&self, run_id: RunId) -> Run {
        until("the run is final", async || {
            let run = self.store.run(run_id).await.unwrap().unwrap();
            run.status.is_final().then_some(run)
        })
        .await
    }

    /// When the run was taken up again, of all lives.
    async fn resumed_at(&self, run: &Run) -> Vec<Timestamp> {
        let events = self.events(run).await;
        let resumed =
            |envelope: &&fathom::domain::Envelope| matches!(envelope.event, fathom::domain::Event::RunResumed { .. });
        events.iter().filter(resumed).map(|envelope| envelope.ts).collect()
    }
}

/// The id of the run in the answer to a question.
fn run_id(answer: &serde_json::Value) -> RunId {
    answer["run"]["id"].as_str().unwrap().parse().unwrap()
}
