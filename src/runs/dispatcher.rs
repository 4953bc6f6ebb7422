//! The claim loop: takes queued and orphaned runs as long as there is room, and owns the tasks that work on them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

use super::{
    Runs,
    active::Leaving,
    ended::Ended,
    stuck::{self, Stuck},
    submit::KEY_LIFE,
    worker,
};
use crate::{
    domain::{Moment, Run, RunId, Timestamp},
    process,
    store::{self, ClaimFilter, Clock, EndedLeases, Lease, Schema},
    webhooks,
};

/// How long a run may wait for a wake-up that was lost, and a signal from another process.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two cleanings: of old idempotency keys, webhooks, threads and events.
const CLEANING: Duration = Duration::from_secs(10 * 60);
/// Events of a thread that are removed in one transaction, and the pause after a round of them: nobody should wait for
/// the cleaning.
const PRUNED_AT_ONCE: u32 = 500;
const THREADS_AT_ONCE: u32 = 20;
const PRUNING_PAUSE: Duration = Duration::from_millis(50);

/// A run that is to be worked on alone waits this long for this process to have nothing else to do; then nothing new is
/// begun here until it had its turn.
const SUSPECT_WAIT: Duration = Duration::from_secs(60);
/// Clocks that say the same differ by less.
const CLOCK_STEP: Duration = Duration::from_secs(1);

/// The claim loop of a process.
#[derive(Debug)]
pub struct Dispatcher {
    runs: Runs,
    working: JoinSet<(RunId, Result<Ended, super::WorkError>)>,
    /// The one that delivers webhooks; what it drops at the end is delivered by others, or later.
    delivering: JoinSet<()>,
    /// At most one cleaning, beside the claiming; dropped at the end, which harms nothing.
    cleaning: JoinSet<()>,
    /// The last look at the queue failed.
    away: bool,
    /// A newer release has changed the database, and this one is not to work on it any more.
    is_left_behind: bool,
    /// A run that is to be worked on alone has waited long enough.
    draining: bool,
    /// What the clocks said at the last look.
    clocks: Moment,
    /// Workers of this machine that were dead at the last look, and whether their leases were ended.
    dead: HashMap<String, bool>,
    stuck: Stuck,
}

impl Dispatcher {
    pub fn new(runs: Runs) -> Self {
        Self {
            runs,
            working: JoinSet::new(),
            delivering: JoinSet::new(),
            cleaning: JoinSet::new(),
            away: false,
            is_left_behind: false,
            draining: false,
            clocks: Moment::now(),
            dead: HashMap::new(),
            stuck: Stuck::default(),
        }
    }

    /// Claims and works until `shutdown`; then begins nothing more, gives each run back when what is under way of it is
    /// stored, or the grace is over, and returns when the last one is.
    pub async fn run(mut self, shutdown: &CancellationToken) {
        let mut look = interval(LOOK);
        let mut dirt = interval(CLEANING);
        let mut silence = interval(stuck::LOOK);
        self.keep_delivering(shutdown);
        let mut queued = self.runs.parts.log.wakes().on_queue();
        self.runs.reap_dead_workers().await;
        self.end_leases_of_dead_workers(EndedLeases::All).await;
        while !shutdown.is_cancelled() {
            self.fill(shutdown).await;
            // Losing an arm loses nothing: each only says that it is time to look at the database again.
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(joined) = self.working.join_next() => log_end(joined),
                _ = queued.changed() => {}
                _ = look.tick() => {
                    self.keep_delivering(shutdown);
                    self.look().await;
                }
                _ = dirt.tick() => self.clean(),
                _ = silence.tick() => self.stuck.look(&self.runs.parts, &self.runs.worker, &self.runs.active).await,
            }
        }
        while let Some(joined) = self.working.join_next().await {
            log_end(joined);
        }
    }

    /// Has webhooks delivered, again if a defect ended that: what was under way then is taken again when its claim is
    /// over.
    fn keep_delivering(&mut self, shutdown: &CancellationToken) {
        let parts = &self.runs.parts;
        if parts.webhooks.are_sent() {
            let deliver = || parts.webhooks.clone().run(parts.store.clone(), shutdown.clone());
            keep_at_work(&mut self.delivering, deliver);
        }
    }

    /// Ends the leases of dead processes of this host that left no marks in this folder: when this process starts, of
    /// all there are. Later, of those that were dead at the last look, too: what one of them sent may still lie before
    /// the server. And later a run that its workers may have died of waits for its lease, which is all that slows it
    /// down.
    async fn end_leases_of_dead_workers(&mut self, of: EndedLeases) {
        let store = &self.runs.parts.store;
        let Ok(workers) = store.workers().await else { return };
        let dead: HashSet<String> = workers.into_iter().filter(|worker| process::is_dead(worker)).collect();
        self.dead.retain(|worker, _| dead.contains(worker));
        for worker in dead {
            let was_seen = self.dead.contains_key(&worker) || of == EndedLeases::All;
            let ended = self.dead.entry(worker.clone()).or_default();
            if !was_seen || *ended {
                continue;
            }
            match store.end_leases(&worker, of).await {
                Ok(runs) => {
                    *ended = true;
                    if runs > 0 {
                        tracing::info!(worker, runs, "a process died and left runs behind; they go on now");
                    }
                }
                Err(error) => tracing::warn!(worker, %error, "runs of a dead process wait for their leases to end"),
            }
        }
    }

    /// Claims runs until there is no room or none is left, or the next look is due, which hears of what was cancelled.
    async fn fill(&mut self, shutdown: &CancellationToken) {
        let begun = Instant::now();
        while self.has_room() && !shutdown.is_cancelled() && begun.elapsed() < LOOK {
            match self.runs.parts.store.claim_next(&self.runs.claimant(), self.wanted()).await {
                Ok(Some((lease, run))) => {
                    self.start(lease, run, shutdown);
                    self.has_looked();
                }
                Ok(None) => return self.has_looked(),
                Err(error) => return self.could_not_look(&error),
            }
        }
        self.has_looked();
    }

    fn has_room(&self) -> bool {
        !self.is_left_behind
            && self.working.len() < self.runs.parts.settings.queue.max_concurrent_runs
            && !self.runs.active.is_taken()
    }

    /// Returns which runs may be claimed. After an outage workers renew before anybody takes their runs, since most of
    /// them were cut off no less.
    fn wanted(&self) -> ClaimFilter {
        let quiet = self.runs.parts.store.since_trouble();
        ClaimFilter {
            queued: !self.draining,
            orphans: quiet.is_none_or(|quiet| quiet >= self.runs.parts.settings.lease),
            suspects: self.working.is_empty(),
        }
    }

    /// Does what is due every second.
    async fn look(&mut self) {
        self.notice_clock_steps();
        self.notice_newer_release().await;
        self.runs.reap_dead_workers().await;
        self.end_leases_of_dead_workers(EndedLeases::Unsuspected).await;
        self.apply_remote_signals().await;
        let waits = self.runs.parts.store.suspect_waits(SUSPECT_WAIT, Clock::Database);
        self.draining = !self.working.is_empty() && waits.await.unwrap_or(self.draining);
    }

    /// Looks whether a newer release has left this one behind, whose statements may be wrong there: then nothing more
    /// is begun here.
    async fn notice_newer_release(&mut self) {
        let Ok(schema) = self.runs.parts.store.schema().await else { return };
        let is_left_behind = matches!(schema, Schema::TooNew { .. });
        if std::mem::replace(&mut self.is_left_behind, is_left_behind) != is_left_behind {
            match is_left_behind {
                true => tracing::warn!("a newer release has changed the database; this process begins no more runs"),
                false => tracing::info!("this release fits the database again; this process begins runs"),
            }
        }
    }

    /// Notices steps of this machine's clock, and that the machine slept. Where leases are judged by it, they mean
    /// nothing for as long as it takes to renew them, which is done at once.
    fn notice_clock_steps(&mut self) {
        let before = std::mem::replace(&mut self.clocks, Moment::now());
        let step = self.clocks.step_since(before);
        if step >= CLOCK_STEP {
            tracing::warn!(
                seconds = step.as_secs_f64(),
                "the clock was set; runs of others are left to them for one lease"
            );
            self.runs.parts.store.note_trouble();
            // Runs begin no calls until their leases are known to hold.
            self.runs.parts.log.wakes().look();
        }
    }

    fn has_looked(&mut self) {
        self.runs.active.last_look.now();
        if std::mem::take(&mut self.away) {
            tracing::info!("the queue can be read again");
        }
    }

    /// Logs that the queue cannot be read, once per outage, not once per look.
    fn could_not_look(&mut self, error: &store::Error) {
        if !std::mem::replace(&mut self.away, true) {
            tracing::warn!(%error, "the queue cannot be read; looking again every second");
        }
    }

    fn start(&mut self, lease: Lease, run: Run, shutdown: &CancellationToken) {
        let waited_ms = Timestamp::now().since(run.created_at);
        tracing::info!(run_id = %run.id, thread_id = %run.thread_id, attempt = lease.epoch, waited_ms, "a run was claimed");
        let runs = self.runs.clone();
        let signals = runs.active.enter(&lease, shutdown, Leaving::ToOthers);
        self.working.spawn(async move {
            let ended = signals.mark.over(worker::work(&runs.parts, lease, run, &signals)).await;
            (lease.run_id, ended)
        });
    }

    /// Applies what other processes did to the runs at work: cancelled, deleted or took them over.
    async fn apply_remote_signals(&self) {
        let active = &self.runs.active;
        // Read before the database is: whatever is in this list was claimed before the answer.
        let here = active.ids();
        let store = &self.runs.parts.store;
        let Ok(held) = store.held_by(&self.runs.worker).await else { return };
        for run_id in &here {
            match held.iter().find(|held| held.run_id == *run_id) {
                Some(held) => {
                    active.leave_alone(*run_id, held.suspect);
                    if held.cancel_requested {
                        active.cancel(*run_id);
                    }
                }
                None => active.lose(*run_id),
            }
        }
        // A claim whose answer got lost, or a lease that could not be given back: nobody works on it, and this loop,
        // which alone claims here, never takes what is its own.
        let here = active.ids();
        for held in held.iter().filter(|held| !here.contains(&held.run_id)) {
            let _ = store.release(held.run_id, held.epoch, None, Duration::ZERO, Clock::Database).await;
        }
    }

    /// Starts a cleaning, unless the last one is still at it.
    fn clean(&mut self) {
        while self.cleaning.try_join_next().is_some() {}
        if self.cleaning.is_empty() {
            self.cleaning.spawn(remove_old(self.runs.clone()));
        }
    }
}

/// Begins a task that is not at work, or not any more.
fn keep_at_work(tasks: &mut JoinSet<()>, begin: impl FnOnce() -> BoxFuture<'static, ()>) {
    while let Some(ended) = tasks.try_join_next() {
        if let Err(error) = ended {
            tracing::error!(%error, "the delivery of webhooks panicked; it begins again");
        }
    }
    if tasks.is_empty() {
        tasks.spawn(begin());
    }
}

/// Removes what is old by the clock of the database: a replica whose own clock is ahead must not remove anything early.
async fn remove_old(runs: Runs) {
    let now = match runs.parts.store.clock().await {
        Ok(now) => now,
        Err(error) => return tracing::warn!(%error, "what is old cannot be looked for; trying again later"),
    };
    forget_keys(&runs, now).await;
    forget_deliveries(&runs).await;
    prune_threads(&runs, now).await;
    prune_events(&runs, now).await;
}

async fn forget_keys(runs: &Runs, now: Timestamp) {
    match runs.parts.store.forget_keys(now.minus(KEY_LIFE)).await {
        Ok(0) => {}
        Ok(count) => tracing::debug!(count, "old idempotency keys were forgotten"),
        Err(error) => tracing::warn!(%error, "old idempotency keys could not be forgotten; trying again later"),
    }
}

/// Forgets webhooks that nobody could sign for long, so that they do not all go out when there is a secret again. Where
/// there is one, each is delivered or given up.
async fn forget_deliveries(runs: &Runs) {
    if runs.parts.webhooks.are_sent() {
        return;
    }
    match runs.parts.store.forget_deliveries(webhooks::KEPT, Clock::Database).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "old webhooks were given up, since FATHOM_WEBHOOK_SECRET is not set"),
        Err(error) => tracing::warn!(%error, "old webhooks could not be forgotten; trying again later"),
    }
}

async fn prune_threads(runs: &Runs, now: Timestamp) {
    let Some(retention) = runs.parts.settings.thread_retention else { return };
    let (before, mut after) = (now.minus(retention), None);
    loop {
        let page = match runs.parts.store.expired_threads(before, after, THREADS_AT_ONCE).await {
            Ok(page) => page,
            Err(error) => return tracing::warn!(%error, "old threads cannot be looked for; trying again later"),
        };
        for expired in &page.items {
            delete_expired(runs, expired).await;
        }
        after = page.next;
        if after.is_none() {
            return;
        }
        tokio::time::sleep(PRUNING_PAUSE).await;
    }
}

/// Deletes a thread that nobody has used for long. One that cannot be deleted does not keep the others.
async fn delete_expired(runs: &Runs, expired: &store::ExpiredThread) {
    let thread_id = expired.id;
    match runs.parts.store.delete_expired(expired).await {
        Ok(true) => {
            tracing::info!(target: "audit", by = "retention", %thread_id, "a thread was deleted");
            runs.parts.log.wake(thread_id);
        }
        // It was used just now, or another process was faster.
        Ok(false) => {}
        Err(error) => tracing::warn!(%thread_id, %error, "an old thread could not be deleted; trying again later"),
    }
}

async fn prune_events(runs: &Runs, now: Timestamp) {
    let Some(retention) = runs.parts.settings.event_retention else { return };
    let mut count = 0;
    loop {
        match runs.parts.store.prune_events(now.minus(retention), PRUNED_AT_ONCE).await {
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

/// Logs how work on a run ended, where the worker does not.
fn log_end(joined: Result<(RunId, Result<Ended, super::WorkError>), tokio::task::JoinError>) {
    match joined {
        // Logged by the worker.
        Ok((_, Ok(_))) => {}
        Ok((run_id, Err(super::WorkError::Store(store::Error::Fenced)))) => {
            tracing::info!(%run_id, ended = "lost", "work on a run ended");
        }
        Ok((run_id, Err(error))) => tracing::error!(%run_id, %error, "a run cannot go on here"),
        Err(error) => tracing::error!(%error, "the work on a run panicked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_a_defect_ended_begins_again_and_one_at_work_goes_on() {
        let mut tasks = JoinSet::new();
        keep_at_work(&mut tasks, || Box::pin(async { panic!("a defect") }));
        tokio::task::yield_now().await;
        let mut begun = false;
        keep_at_work(&mut tasks, || {
            begun = true;
            Box::pin(std::future::pending())
        });
        assert!(begun, "it begins again");
        keep_at_work(&mut tasks, || panic!("it is at work"));
    }
}
