//! The claim loop: takes queued and orphaned runs as long as there is room, and owns the tasks that work on them.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use tokio::{task::JoinSet, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    Runs,
    active::Leaving,
    owner,
    stuck::{self, Stuck},
    submit::KEY_LIFE,
    worker,
};
use crate::{
    domain::{Run, RunId, Timestamp},
    store::{self, Lease},
};

/// How long a run may wait for a wake-up that was lost, and an order from another process.
const LOOK: Duration = Duration::from_secs(1);
/// Between two cleanings: of old idempotency keys and old events.
const CLEANING: Duration = Duration::from_secs(10 * 60);
/// Events of a thread that are removed in one transaction, and the pause after a round of them: nobody should wait for
/// the cleaning.
const PRUNED_AT_ONCE: u32 = 500;
const PRUNING_PAUSE: Duration = Duration::from_millis(50);

/// The claim loop of a process.
#[derive(Debug)]
pub struct Dispatcher {
    runs: Runs,
    working: JoinSet<(RunId, Result<worker::Ended, super::WorkError>)>,
    /// The one that delivers webhooks; what it drops at the end is delivered by others, or later.
    delivering: JoinSet<()>,
    /// At most one cleaning, beside the claiming; dropped at the end, which harms nothing.
    cleaning: JoinSet<()>,
    /// The last look at the queue failed.
    away: bool,
    stuck: Stuck,
}

/// When the claim loop last looked for work and the database answered; 0 before.
#[derive(Debug, Default)]
pub struct LastLook(AtomicI64);

impl LastLook {
    /// The time since then; `None` when there was none.
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        let at = self.0.load(Ordering::Relaxed);
        (at > 0).then(|| now.after(Timestamp(at)))
    }

    fn now(&self) {
        self.0.store(Timestamp::now().0, Ordering::Relaxed);
    }
}

impl Dispatcher {
    pub fn new(runs: Runs) -> Self {
        Self {
            runs,
            working: JoinSet::new(),
            delivering: JoinSet::new(),
            cleaning: JoinSet::new(),
            away: false,
            stuck: Stuck::default(),
        }
    }

    /// Claims and works until `shutdown`; then begins nothing more, gives each run back when what is under way of it is
    /// stored, or the grace is over, and returns when the last one is.
    pub async fn run(mut self, shutdown: &CancellationToken) {
        let mut look = interval(LOOK);
        let mut dirt = interval(CLEANING);
        let mut silence = interval(stuck::LOOK);
        let webhooks = self.runs.parts.webhooks.clone();
        self.delivering.spawn(webhooks.run(self.runs.parts.store.clone(), shutdown.clone()));
        let mut queued = self.runs.parts.log.wakes().on_queue();
        self.bury_the_dead().await;
        while !shutdown.is_cancelled() {
            self.fill(shutdown).await;
            // Losing an arm loses nothing: each only says that it is time to look at the database again.
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(joined) = self.working.join_next() => told(joined),
                _ = queued.changed() => {}
                _ = look.tick() => self.obey_others().await,
                _ = dirt.tick() => self.clean(),
                _ = silence.tick() => self.stuck.look(&self.runs.parts, &self.runs.owner).await,
            }
        }
        while let Some(joined) = self.working.join_next().await {
            told(joined);
        }
    }

    /// What a process of this machine left behind that no longer exists need not wait for the end of its leases: a service
    /// that is started again after a crash goes on at once.
    async fn bury_the_dead(&self) {
        let store = &self.runs.parts.store;
        for owner in store.owners().await.unwrap_or_default().into_iter().filter(|owner| owner::is_dead(owner)) {
            match store.end_leases(&owner).await {
                Ok(runs) => tracing::info!(owner, runs, "a process died and left runs behind; they go on now"),
                Err(error) => tracing::warn!(owner, %error, "runs of a dead process wait for their leases to end"),
            }
        }
    }

    /// Claims runs until there is no room or none is left.
    async fn fill(&mut self, shutdown: &CancellationToken) {
        while self.working.len() < self.runs.parts.settings.max_concurrent_runs && !shutdown.is_cancelled() {
            match self.runs.parts.store.claim_next(&self.runs.claimant()).await {
                Ok(Some((lease, run))) => self.start(lease, run, shutdown),
                Ok(None) => return self.has_looked(),
                Err(error) => return self.could_not_look(&error),
            }
        }
        self.has_looked();
    }

    fn has_looked(&mut self) {
        self.runs.active.last_look.now();
        if std::mem::take(&mut self.away) {
            tracing::info!("the queue can be read again");
        }
    }

    /// Told once per outage, not once per look.
    fn could_not_look(&mut self, error: &store::Error) {
        if !std::mem::replace(&mut self.away, true) {
            tracing::warn!(%error, "the queue cannot be read; looking again every second");
        }
    }

    fn start(&mut self, lease: Lease, run: Run, shutdown: &CancellationToken) {
        let waited_ms = Timestamp::now().since(run.created_at);
        tracing::info!(run_id = %run.id, thread_id = %run.thread_id, attempt = lease.epoch, waited_ms, "a run was claimed");
        let runs = self.runs.clone();
        let orders = runs.active.enter(run.id, shutdown, Leaving::ToOthers);
        self.working.spawn(async move {
            let ended = worker::work(&runs.parts, lease, run, &orders).await;
            (lease.run_id, ended)
        });
    }

    /// Learns which of the runs at work were cancelled, deleted or taken over through other processes.
    async fn obey_others(&self) {
        let active = &self.runs.active;
        // Read before the database is: whatever is in this list was claimed before the answer.
        let here = active.ids();
        if here.is_empty() {
            return;
        }
        let Ok(held) = self.runs.parts.store.held_by(&self.runs.owner).await else { return };
        for run_id in here {
            match held.iter().find(|(id, _)| *id == run_id) {
                Some((_, true)) => active.cancel(run_id),
                Some((_, false)) => {}
                None => active.lose(run_id),
            }
        }
    }

    /// Starts a cleaning, unless the last one is still at it.
    fn clean(&mut self) {
        while self.cleaning.try_join_next().is_some() {}
        if self.cleaning.is_empty() {
            let runs = self.runs.clone();
            self.cleaning.spawn(async move {
                forget_keys(&runs).await;
                prune_events(&runs).await;
            });
        }
    }
}

async fn forget_keys(runs: &Runs) {
    match runs.parts.store.forget_keys(Timestamp::now().minus(KEY_LIFE)).await {
        Ok(0) => {}
        Ok(count) => tracing::debug!(count, "old idempotency keys were forgotten"),
        Err(error) => tracing::warn!(%error, "old idempotency keys could not be forgotten; trying again later"),
    }
}

async fn prune_events(runs: &Runs) {
    let Some(retention) = runs.parts.settings.event_retention else { return };
    let mut count = 0;
    loop {
        match runs.parts.store.prune_events(Timestamp::now().minus(retention), PRUNED_AT_ONCE).await {
            Ok(pruned) if pruned.threads == 0 => break,
            Ok(pruned) => count += pruned.events,
            Err(error) => {
                tracing::warn!(%error, "old events could not be removed; trying again later");
                break;
            }
        }
        tokio::time::sleep(PRUNING_PAUSE).await;
    }
    if count > 0 {
        tracing::info!(count, "events older than the retention were removed");
    }
}

fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Says how work on a run ended, where the run's own events do not.
fn told(joined: Result<(RunId, Result<worker::Ended, super::WorkError>), tokio::task::JoinError>) {
    match joined {
        // Told by the worker.
        Ok((_, Ok(_))) => {}
        Ok((run_id, Err(super::WorkError::Store(store::Error::Fenced)))) => {
            tracing::info!(%run_id, ended = "lost", "work on a run ended");
        }
        Ok((run_id, Err(error))) => tracing::error!(%run_id, %error, "a run cannot go on here"),
        Err(error) => tracing::error!(%error, "a worker panicked"),
    }
}
