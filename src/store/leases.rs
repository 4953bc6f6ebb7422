//! Who works on which run: claims, leases and what becomes of them.

use std::time::Duration;

use super::{
    Cancelling, ClaimFilter, Claimant, Claimed, Clock, End, EndedLeases, Error, HeldRun, Lease, PARKED, Renewal, Store,
    attempts::{ask, attempt, change, ensure},
};
use crate::domain::{Run, RunId, Timestamp, Waiting};

impl Store {
    /// Takes a run that is queued, or whose lease is expired or released.
    pub async fn claim(&self, run_id: RunId, claimant: &Claimant) -> Result<Claimed, Error> {
        change!(self, engine => engine.claim(run_id, claimant, None).await)
    }

    /// Takes a run as [`Store::claim`] does, and also one that `from_worker` still holds: the caller knows it is dead.
    pub async fn claim_taken_over(
        &self,
        run_id: RunId,
        claimant: &Claimant,
        from_worker: &str,
    ) -> Result<Claimed, Error> {
        change!(self, engine => engine.claim(run_id, claimant, Some(from_worker)).await)
    }

    /// Takes the next of the wanted runs that anybody may take: begun ones first, then owners in turn, then by age.
    pub async fn claim_next(&self, claimant: &Claimant, wanted: ClaimFilter) -> Result<Option<(Lease, Run)>, Error> {
        // One that was claimed without an answer is given back by its worker, who does not work on it.
        ensure!(self, engine => engine.claim_next(claimant, wanted).await)
    }

    /// Returns whether a run that is to be worked on alone could have been claimed for longer than that.
    pub async fn suspect_waits(&self, longer: Duration, clock: Clock) -> Result<bool, Error> {
        ask!(self, engine => engine.suspect_waits(longer, clock).await)
    }

    /// Returns the time by which leases are judged: the database's.
    pub async fn clock(&self) -> Result<Timestamp, Error> {
        ask!(self, engine => engine.clock().await)
    }

    /// Makes a lease last for `length` from now, and learns whether the run shall stop. One that has run out is taken
    /// up again as long as nobody else has claimed the run.
    pub async fn renew(&self, lease: &Lease, length: Duration, clock: Clock) -> Result<Renewal, Error> {
        ensure!(self, engine => engine.renew(lease, length, clock).await)
    }

    /// Gives a lease back: the run stays `running`, and after `pause` anybody may claim it. Shows what it waits for,
    /// where that is given; such a run, or one that is parked, may be claimed at once when it is to be cancelled. No
    /// effect on a lost lease.
    pub async fn release(
        &self,
        run_id: RunId,
        epoch: i64,
        waiting: Option<&Waiting>,
        pause: Duration,
        clock: Clock,
    ) -> Result<(), Error> {
        ensure!(self, engine => engine.release(run_id, epoch, waiting, pause, clock).await)
    }

    /// Gives back what a worker held that is known to be dead, and counts a death where its own code was at work: such
    /// a run is held back, for the first of `pauses` after its first death and so on.
    pub async fn settle(&self, worker: &str, ends: &[End], pauses: [Duration; 4], clock: Clock) -> Result<(), Error> {
        ensure!(self, engine => engine.settle(worker, ends, pauses, clock).await)
    }

    /// Sets a run aside that `worker` holds or has reserved: nobody takes it by itself any more, only by its id.
    /// `false` when somebody else has it.
    pub async fn park(&self, run_id: RunId, worker: &str) -> Result<bool, Error> {
        change!(self, engine => engine.park(run_id, worker, Timestamp::now().plus(PARKED)).await)
    }

    /// Takes back the unexplained end that was counted when another worker claimed the run: the former worker is alive,
    /// it was frozen or cut off for a while.
    pub async fn excuse_unexplained_end(&self, lost: &Lease) -> Result<(), Error> {
        change!(self, engine => engine.excuse_unexplained_end(lost).await)
    }

    /// Returns the runs that `worker` holds.
    pub async fn held_by(&self, worker: &str) -> Result<Vec<HeldRun>, Error> {
        ask!(self, engine => engine.held_by(worker).await)
    }

    /// Lists everybody who holds a run, or has reserved one.
    pub async fn workers(&self) -> Result<Vec<String>, Error> {
        ask!(self, engine => engine.workers().await)
    }

    /// Ends leases of a worker that is known to be dead; returns how many.
    pub async fn end_leases(&self, worker: &str, of: EndedLeases) -> Result<u64, Error> {
        ensure!(self, engine => engine.end_leases(worker, of).await)
    }

    /// Cancels a run that nobody works on, or asks its worker to; `None` when there is no such run.
    pub async fn request_cancel(&self, run_id: RunId, clock: Clock) -> Result<Option<Cancelling>, Error> {
        ensure!(self, engine => engine.request_cancel(run_id, clock).await)
    }
}
