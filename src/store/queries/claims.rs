//! Leases: runs are claimed, kept, given back and taken over.

use std::time::Duration;

use sqlx::{Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    Engine, Row,
    rows::{owned, run, run_columns, unsigned},
};
use crate::{
    domain::{Moment, Run, RunId, Timestamp, Waiting},
    store::{
        ClaimFilter, Claimant, Claimed, Clock, End, EndedLeases, Error, HeldRun, Lease, PARKED, Renewal,
        values::{clean, signed},
    },
};

/// How long a run that this release cannot read is left to those that can, before it is tried again.
const UNREADABLE_PAUSE: Duration = Duration::from_secs(60);

/// What a look for the next run found.
enum Next {
    Claimed(Lease, Box<Run>),
    Nothing,
    /// With the reason.
    Unreadable(RunId, String),
}

/// A run to be worked on alone; as [`Lease::is_suspect`].
macro_rules! is_suspect {
    () => {
        "(runs.deaths >= 2 OR runs.unexplained >= 3)"
    };
}

/// Gives a run to `$2` for `$3` milliseconds, now being `$4`. A lease that was neither given back nor settled is the
/// end of a worker that nobody explains, unless that is evidently alive: it claims again after an outage, or says so
/// later ([`Engine::excuse_unexplained_end`]). It is a death when nothing else was worked on there.
macro_rules! set_claimed {
    () => {
        concat!(
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3 + ",
            time!("$4"),
            ", started_at = COALESCE(started_at, ",
            time!("$4"),
            "), deaths = deaths + CASE WHEN status = 'running' AND claimed_by <> $2 AND ",
            is_suspect!(),
            " THEN 1 ELSE 0 END, suspect_since = CASE WHEN suspect_since > 0 THEN suspect_since \
             WHEN status = 'running' AND claimed_by <> $2 THEN ",
            time!("$4"),
            " ELSE 0 END, \
             unexplained = unexplained + CASE WHEN status = 'running' AND claimed_by <> $2 THEN 1 ELSE 0 END"
        )
    };
}

/// Of a claimed run, what [`lease_of`] reads.
macro_rules! claimed_columns {
    () => {
        concat!(
            " RETURNING epoch, deaths, unexplained, \
             CASE WHEN suspect_since > 0 THEN lease_expires_at - $3 - suspect_since ELSE 0 END AS suspected_ms, ",
            run_columns!()
        )
    };
}

/// Runs that the process `$2` may take, now being `$1`: queued ones if `$3`, those whose worker let its lease run out
/// if `$4`, those to be worked on alone if `$5`. A process never takes away its own.
macro_rules! claimable {
    () => {
        concat!(
            "runs.status IN ('queued', 'running') AND runs.lease_expires_at <= ",
            time!("$1"),
            " AND (CASE WHEN runs.status = 'queued' THEN $3 WHEN runs.claimed_by IS NULL THEN TRUE \
             WHEN runs.claimed_by = $2 THEN FALSE ELSE $4 END) AND ($5 OR NOT ",
            is_suspect!(),
            ")"
        )
    };
}

/// Runs that were begun go first, then those of the owner with the fewest at work, then the oldest.
pub const CLAIM_NEXT: &str = concat!(
    "SELECT runs.id FROM runs LEFT JOIN (SELECT owner, COUNT(*) AS runs FROM runs WHERE ",
    in_state!("", "running"),
    " GROUP BY owner) AS busy ON busy.owner = runs.owner WHERE ",
    claimable!(),
    " ORDER BY CASE runs.status WHEN 'running' THEN 0 ELSE 1 END, COALESCE(busy.runs, 0), runs.created_at, runs.id \
     LIMIT 1",
    skip_locked!("runs")
);

pub const CLAIMABLE: &str = concat!("SELECT runs.id FROM runs WHERE ", claimable!(), " LIMIT 1");

/// A run to be worked on alone that anybody could have taken `$2` milliseconds before `$1`.
pub const WAITING_SUSPECT: &str = concat!(
    "SELECT runs.id FROM runs WHERE ",
    in_state!("runs.", "running"),
    " AND runs.lease_expires_at <= ",
    time!("$1"),
    " - $2 AND ",
    is_suspect!(),
    " LIMIT 1"
);

impl Engine {
    pub async fn claim(&self, run_id: RunId, claimant: &Claimant, dead_worker: Option<&str>) -> Result<Claimed, Error> {
        const CLAIM: &str = concat!(
            set_claimed!(),
            " WHERE id = $1 AND status IN ('queued', 'running') AND (lease_expires_at <= ",
            time!("$4"),
            " OR claimed_by IS NULL OR claimed_by = $5 OR (status = 'queued' AND claimed_by = $2))",
            claimed_columns!()
        );
        let mut connection = self.writer().await?;
        let asked_at = Moment::now();
        let claimed = query(CLAIM)
            .bind(run_id.0)
            .bind(owned(&claimant.worker))
            .bind(ms(claimant.lease))
            .bind(claimant.clock.given())
            .bind(dead_worker.map(owned))
            .fetch_all(&mut *connection)
            .await?;
        drop(connection);
        match claimed.into_iter().next() {
            Some(row) => lease_of(&row, asked_at).map(|(lease, run)| Claimed::Yes { lease, run }),
            None => self.why_not_claimed(run_id).await,
        }
    }

    async fn why_not_claimed(&self, run_id: RunId) -> Result<Claimed, Error> {
        const SELECT: &str =
            concat!("SELECT claimed_by, lease_expires_at, ", run_columns!(), " FROM runs WHERE id = $1");
        let mut connection = self.reader().await?;
        let Some(row) = query(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await? else {
            return Ok(Claimed::Unknown);
        };
        let run = run(&row)?;
        if run.status.is_final() {
            return Ok(Claimed::Final(run));
        }
        let worker = row.try_get::<Option<String>, _>("claimed_by")?.unwrap_or_default();
        Ok(Claimed::HeldBy { worker, expires_at: Timestamp(row.try_get("lease_expires_at")?) })
    }

    /// Looks for the run that is free and next, and claims it. One that cannot be read is put off, so that it does not
    /// keep the others waiting.
    pub async fn claim_next(&self, claimant: &Claimant, wanted: ClaimFilter) -> Result<Option<(Lease, Run)>, Error> {
        while self.has_claimable(claimant, wanted).await? {
            match self.try_next(claimant, wanted).await? {
                Next::Claimed(lease, run) => return Ok(Some((lease, *run))),
                Next::Nothing => return Ok(None),
                Next::Unreadable(run_id, reason) => {
                    tracing::error!(%run_id, reason, "a run cannot be read and is left to other releases");
                    self.put_off(run_id, claimant.clock).await?;
                }
            }
        }
        Ok(None)
    }

    /// Claims in one transaction, so that nobody else gets the run.
    async fn try_next(&self, claimant: &Claimant, wanted: ClaimFilter) -> Result<Next, Error> {
        const CLAIM: &str = concat!(set_claimed!(), " WHERE id = $1", claimed_columns!());
        let mut tx = self.begin().await?;
        let next = query_scalar(CLAIM_NEXT)
            .bind(claimant.clock.given())
            .bind(owned(&claimant.worker))
            .bind(wanted.queued)
            .bind(wanted.orphans)
            .bind(wanted.suspects);
        let free: Option<Uuid> = next.fetch_optional(&mut *tx).await?;
        let Some(run_id) = free else { return Ok(Next::Nothing) };
        let asked_at = Moment::now();
        let row = query(CLAIM)
            .bind(run_id)
            .bind(owned(&claimant.worker))
            .bind(ms(claimant.lease))
            .bind(claimant.clock.given())
            .fetch_one(&mut *tx)
            .await?;
        // Read first: a claim that nobody could follow is not committed.
        match lease_of(&row, asked_at) {
            Ok((lease, run)) => {
                tx.commit().await?;
                Ok(Next::Claimed(lease, run.into()))
            }
            Err(Error::Corrupt(reason)) => Ok(Next::Unreadable(RunId(run_id), reason)),
            Err(error) => Err(error),
        }
    }

    /// Leaves a free run alone for a while, unless somebody has claimed it meanwhile.
    async fn put_off(&self, run_id: RunId, clock: Clock) -> Result<(), Error> {
        const PUT_OFF: &str = concat!(
            "UPDATE runs SET lease_expires_at = $2 + ",
            time!("$3"),
            " WHERE id = $1 AND status IN ('queued', 'running') AND lease_expires_at <= ",
            time!("$3")
        );
        let mut connection = self.writer().await?;
        query(PUT_OFF).bind(run_id.0).bind(ms(UNREADABLE_PAUSE)).bind(clock.given()).execute(&mut *connection).await?;
        Ok(())
    }

    /// Returns a look without a lock, since most looks find nothing and should cost the writers nothing.
    async fn has_claimable(&self, claimant: &Claimant, wanted: ClaimFilter) -> Result<bool, Error> {
        let mut connection = self.reader().await?;
        let select = query(CLAIMABLE)
            .bind(claimant.clock.given())
            .bind(owned(&claimant.worker))
            .bind(wanted.queued)
            .bind(wanted.orphans)
            .bind(wanted.suspects);
        Ok(select.fetch_optional(&mut *connection).await?.is_some())
    }

    /// Returns whether a run to be worked on alone waits for longer than that.
    pub async fn suspect_waits(&self, longer: Duration, clock: Clock) -> Result<bool, Error> {
        let mut connection = self.reader().await?;
        let select = query(WAITING_SUSPECT).bind(clock.given()).bind(ms(longer));
        Ok(select.fetch_optional(&mut *connection).await?.is_some())
    }

    /// Returns the time by which leases are judged.
    pub async fn clock(&self) -> Result<Timestamp, Error> {
        const SELECT: &str = concat!("SELECT ", server_time!());
        let mut connection = self.reader().await?;
        Ok(Timestamp(query_scalar(SELECT).fetch_one(&mut *connection).await?))
    }

    /// Renews a lease, also one that has run out, if nobody has claimed the run since.
    pub async fn renew(&self, lease: &Lease, length: Duration, clock: Clock) -> Result<Renewal, Error> {
        const RENEW: &str = concat!(
            "UPDATE runs SET lease_expires_at = $3 + ",
            time!("$4"),
            " WHERE id = $1 AND epoch = $2 AND status = 'running' AND claimed_by IS NOT NULL RETURNING cancel_requested"
        );
        let mut connection = self.writer().await?;
        let renew = query_scalar(RENEW).bind(lease.run_id.0).bind(lease.epoch).bind(ms(length)).bind(clock.given());
        let held: Vec<bool> = renew.fetch_all(&mut *connection).await?;
        Ok(held.first().map_or(Renewal::Lost, |&cancel_requested| Renewal::Held { cancel_requested }))
    }

    /// Releases a run; after `pause` anybody may claim it. One that waits for something, or is parked, may be claimed
    /// at once when it is to be cancelled, so that it is ended. What it waits for is shown, or stays as it is.
    pub async fn release(
        &self,
        run_id: RunId,
        epoch: i64,
        waiting: Option<&Waiting>,
        pause: Duration,
        clock: Clock,
    ) -> Result<(), Error> {
        const RELEASE: &str = concat!(
            "UPDATE runs SET lease_expires_at = CASE WHEN cancel_requested AND $7 THEN 0 ELSE $3 + ",
            time!("$4"),
            " END, claimed_by = NULL, waiting_for = COALESCE($5, waiting_for), \
             waiting_until = COALESCE($6, waiting_until) \
             WHERE id = $1 AND epoch = $2 AND status = 'running' AND claimed_by IS NOT NULL"
        );
        let shown = waiting.map(serde_json::to_string).transpose()?.map(|shown| clean(&shown).into_owned());
        let until = waiting.map(|waiting| waiting.until.0);
        // Otherwise it pauses after a failure, which may be that its end could not be written.
        let waits = waiting.is_some() || pause >= PARKED;
        let mut connection = self.writer().await?;
        let release = query(RELEASE).bind(run_id.0).bind(epoch).bind(ms(pause)).bind(clock.given());
        release.bind(shown).bind(until).bind(waits).execute(&mut *connection).await?;
        Ok(())
    }

    /// Sets a run aside that `worker` holds or has reserved; `false` when it does neither.
    pub async fn park(&self, run_id: RunId, worker: &str, until: Timestamp) -> Result<bool, Error> {
        const PARK: &str = "UPDATE runs SET lease_expires_at = $3, claimed_by = NULL \
            WHERE id = $1 AND claimed_by = $2 AND status IN ('queued', 'running')";
        let mut connection = self.writer().await?;
        let park = query(PARK).bind(run_id.0).bind(owned(worker)).bind(until.0);
        Ok(park.execute(&mut *connection).await?.rows_affected() == 1)
    }

    /// Gives back what a dead worker held, and counts the death of whom it was a death, once for each lease. Who has
    /// taken a run over meanwhile did so without knowing: then the end is explained afterwards. `pauses` are those
    /// after the first death, the second and so on.
    pub async fn settle(&self, worker: &str, ends: &[End], pauses: [Duration; 4], clock: Clock) -> Result<(), Error> {
        const SETTLE: &str = concat!(
            "UPDATE runs SET settled_epoch = $2, deaths = deaths + $4, suspect_since = CASE WHEN suspect_since > 0 OR $4 = 0 THEN suspect_since \
             ELSE ",
            time!("$9"),
            " END, unexplained = unexplained - CASE WHEN epoch > $2 AND unexplained > 0 THEN 1 ELSE 0 END, \
             lease_expires_at = CASE WHEN epoch > $2 THEN lease_expires_at ELSE ",
            time!("$9"),
            " + $4 * (CASE deaths WHEN 0 THEN $5 WHEN 1 THEN $6 WHEN 2 THEN $7 ELSE $8 END) END, \
             claimed_by = CASE WHEN epoch > $2 THEN claimed_by ELSE NULL END \
             WHERE id = $1 AND status = 'running' AND settled_epoch < $2 AND ((epoch = $2 AND claimed_by = $3) OR (epoch = $2 + 1 AND claimed_by <> $3))"
        );
        let mut tx = self.begin().await?;
        // In the order of their ids, as commits lock them.
        let mut ends = ends.to_vec();
        ends.sort_by_key(|end| end.run_id.0);
        for end in ends {
            let mut settle =
                query(SETTLE).bind(end.run_id.0).bind(end.epoch).bind(owned(worker)).bind(i64::from(end.in_own_work));
            for pause in pauses {
                settle = settle.bind(ms(pause));
            }
            settle.bind(clock.given()).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Takes back the end that was counted when somebody else claimed the run.
    pub async fn excuse_unexplained_end(&self, lost: &Lease) -> Result<(), Error> {
        const CLEAR: &str = "UPDATE runs SET unexplained = unexplained - 1 \
            WHERE id = $1 AND epoch > $2 AND status = 'running' AND unexplained > 0";
        let mut connection = self.writer().await?;
        query(CLEAR).bind(lost.run_id.0).bind(lost.epoch).execute(&mut *connection).await?;
        Ok(())
    }

    pub async fn held_by(&self, worker: &str) -> Result<Vec<HeldRun>, Error> {
        const SELECT: &str = concat!(
            "SELECT id, epoch, cancel_requested, ",
            is_suspect!(),
            " AS suspect FROM runs WHERE claimed_by = $1 AND status = 'running'"
        );
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(owned(worker)).fetch_all(&mut *connection).await?;
        let held = |row: &Row| {
            Ok(HeldRun {
                run_id: RunId(row.try_get("id")?),
                epoch: row.try_get("epoch")?,
                cancel_requested: row.try_get("cancel_requested")?,
                suspect: row.try_get("suspect")?,
            })
        };
        rows.iter().map(held).collect()
    }

    /// Lists everybody who holds or has reserved a run.
    pub async fn workers(&self) -> Result<Vec<String>, Error> {
        const SELECT: &str = "SELECT DISTINCT claimed_by FROM runs \
            WHERE status IN ('queued', 'running') AND claimed_by IS NOT NULL";
        let mut connection = self.reader().await?;
        Ok(query_scalar(SELECT).fetch_all(&mut *connection).await?)
    }

    /// Ends leases of a worker, which stays in the rows, so that the one who claims them counts an end that nobody
    /// explains.
    pub async fn end_leases(&self, worker: &str, of: EndedLeases) -> Result<u64, Error> {
        const END: &str = "UPDATE runs SET lease_expires_at = 0 WHERE claimed_by = $1 \
            AND status IN ('queued', 'running') AND ($2 OR (deaths = 0 AND unexplained = 0))";
        let mut connection = self.writer().await?;
        let end = query(END).bind(owned(worker)).bind(of == EndedLeases::All);
        Ok(end.execute(&mut *connection).await?.rows_affected())
    }
}

/// Returns a time as the database counts it.
pub fn ms(duration: Duration) -> i64 {
    signed(duration.as_millis())
}

fn lease_of(row: &Row, asked_at: Moment) -> Result<(Lease, Run), Error> {
    let run = run(row)?;
    let lease = Lease {
        run_id: run.id,
        thread_id: run.thread_id,
        epoch: row.try_get("epoch")?,
        deaths: unsigned(row.try_get("deaths")?)?,
        suspected_for: Duration::from_millis(u64::try_from(row.try_get::<i64, _>("suspected_ms")?).unwrap_or(0)),
        unexplained: unsigned(row.try_get("unexplained")?)?,
        asked_at,
    };
    Ok((lease, run))
}
