//! The lease of a run that is worked on here: renewed beside the work, three times as often as it runs out.

use tokio::time::{Interval, MissedTickBehavior};

use super::{DATABASE_PAUSE, Parts};
use crate::{
    domain::Moment,
    events::Control,
    journal::Journal,
    store::{Clock, Lease, Renewal},
};

/// Renews the lease three times as often as it runs out, and notices when it is lost.
pub struct LeaseRenewer<'a> {
    parts: &'a Parts,
    lease: Lease,
    /// Until when it certainly holds.
    holds_until: Moment,
    /// Whether that was heard while something else was done.
    asked_to_cancel: bool,
    /// Learns how long it may begin new work.
    journal: Option<&'a Journal>,
    ticks: Interval,
    /// Rings when somebody elsewhere wants something of the run.
    control: Control,
}

/// What a renewal found.
pub enum Renewed {
    Held,
    CancelRequested,
    Lost,
}

impl<'a> LeaseRenewer<'a> {
    pub fn new(parts: &'a Parts, lease: Lease) -> Self {
        let mut ticks = tokio::time::interval(parts.settings.lease / 3);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let control = parts.log.wakes().on_control(lease.run_id);
        let holds_until = lease.asked_at.plus(parts.settings.lease);
        Self { parts, lease, holds_until, asked_to_cancel: false, journal: None, ticks, control }
    }

    /// Reports each renewal to `journal` from here on.
    pub fn extends(&mut self, journal: &'a Journal) {
        journal.extend(self.holds_until);
        self.journal = Some(journal);
    }

    /// Keeps the lease while something else is done; `None` once it is lost.
    pub async fn beside<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                renewed = self.renewed() => match renewed {
                    Renewed::Held => {}
                    Renewed::CancelRequested => self.asked_to_cancel = true,
                    Renewed::Lost => return None,
                },
            }
        }
    }

    /// Returns what the next renewal finds, or an earlier one that nobody has acted on.
    ///
    /// # Cancel safety
    /// As [`Self::renewed`].
    pub async fn next(&mut self) -> Renewed {
        match std::mem::take(&mut self.asked_to_cancel) {
            true => Renewed::CancelRequested,
            false => self.renewed().await,
        }
    }

    /// Waits until the lease is due, or another process has a signal, and renews it.
    ///
    /// # Cancel safety
    /// A renewal that is dropped half-way has happened or not; the next one tells.
    async fn renewed(&mut self) -> Renewed {
        // Losing an arm loses nothing: the row is looked at in both cases.
        tokio::select! {
            _ = self.ticks.tick() => {}
            () = self.control.called() => {}
        }
        let sent = Moment::now();
        let renewal = self.parts.store.renew(&self.lease, self.parts.settings.lease, Clock::Database);
        match tokio::time::timeout(self.ticks.period(), renewal).await {
            Ok(Ok(Renewal::Held { cancel_requested })) => {
                self.holds_until = sent.plus(self.parts.settings.lease);
                if let Some(journal) = self.journal {
                    journal.extend(self.holds_until);
                }
                if cancel_requested { Renewed::CancelRequested } else { Renewed::Held }
            }
            Ok(Ok(Renewal::Lost)) => Renewed::Lost,
            Ok(Err(error)) => self.missed(&error.to_string()),
            Err(_) => self.missed("no answer in time"),
        }
    }

    /// Takes note of a missed renewal. Nobody can say whose the run is while the database is away: calls in flight go
    /// on, the journal begins no new ones after the lease, and the next answer decides.
    fn missed(&mut self, reason: &str) -> Renewed {
        tracing::warn!(run_id = %self.lease.run_id, reason, "the lease could not be renewed; trying again");
        self.ticks.reset_after(DATABASE_PAUSE.min(self.ticks.period()));
        Renewed::Held
    }
}
