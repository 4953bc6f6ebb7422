//! Runs: claimed, renewed, released, cancelled, read.

use sqlx::{Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    CLAIM_NEXT, Engine,
    rows::{owned, run, run_columns},
};
use crate::{
    domain::{Run, RunId, ThreadId, Timestamp, report::Report},
    store::{Claimant, Claimed, Error, Lease, Renewal},
};

use super::Row;

impl Engine {
    pub async fn claim(&self, run_id: RunId, claimant: &Claimant, dead_owner: Option<&str>) -> Result<Claimed, Error> {
        const CLAIM: &str = concat!(
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3, \
             started_at = COALESCE(started_at, $4) \
             WHERE id = $1 AND (status = 'queued' OR (status = 'running' AND (lease_expires_at <= $4 OR claimed_by = $5))) \
             RETURNING epoch, ",
            run_columns!()
        );
        let mut connection = self.writer().await?;
        let claimed = query(CLAIM)
            .bind(run_id.0)
            .bind(owned(&claimant.owner))
            .bind(claimant.expires_at.0)
            .bind(claimant.now.0)
            .bind(dead_owner.map(owned))
            .fetch_optional(&mut *connection)
            .await?;
        drop(connection);
        match claimed {
            Some(row) => lease_of(&row).map(|(lease, run)| Claimed::Yes { lease, run }),
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
        let owner = row.try_get::<Option<String>, _>("claimed_by")?.unwrap_or_default();
        Ok(Claimed::HeldBy { owner, expires_at: Timestamp(row.try_get("lease_expires_at")?) })
    }

    /// Looks for the oldest run that is free and claims it; in one transaction, so that nobody else gets it.
    pub async fn claim_next(&self, claimant: &Claimant) -> Result<Option<(Lease, Run)>, Error> {
        const CLAIM: &str = concat!(
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, lease_expires_at = $3, \
             started_at = COALESCE(started_at, $4) WHERE id = $1 RETURNING epoch, ",
            run_columns!()
        );
        if !self.has_claimable(claimant.now).await? {
            return Ok(None);
        }
        let mut tx = self.begin().await?;
        let free: Option<Uuid> = query_scalar(CLAIM_NEXT).bind(claimant.now.0).fetch_optional(&mut *tx).await?;
        let Some(run_id) = free else { return Ok(None) };
        let row = query(CLAIM)
            .bind(run_id)
            .bind(owned(&claimant.owner))
            .bind(claimant.expires_at.0)
            .bind(claimant.now.0)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        lease_of(&row).map(Some)
    }

    /// A look without a lock, since most looks find nothing and should cost the writers nothing.
    async fn has_claimable(&self, now: Timestamp) -> Result<bool, Error> {
        const SELECT: &str = "SELECT id FROM runs WHERE status IN ('queued', 'running') \
            AND (status = 'queued' OR lease_expires_at <= $1) LIMIT 1";
        let mut connection = self.reader().await?;
        Ok(query(SELECT).bind(now.0).fetch_optional(&mut *connection).await?.is_some())
    }

    pub async fn renew(&self, lease: &Lease, expires_at: Timestamp) -> Result<Renewal, Error> {
        const RENEW: &str = "UPDATE runs SET lease_expires_at = $3 \
            WHERE id = $1 AND epoch = $2 AND status = 'running' AND claimed_by IS NOT NULL RETURNING cancel_requested";
        let mut connection = self.writer().await?;
        let renew = query_scalar(RENEW).bind(lease.run_id.0).bind(lease.epoch).bind(expires_at.0);
        let held: Option<bool> = renew.fetch_optional(&mut *connection).await?;
        Ok(held.map_or(Renewal::Lost, |cancel_requested| Renewal::Held { cancel_requested }))
    }

    pub async fn release(&self, lease: &Lease) -> Result<(), Error> {
        const RELEASE: &str = "UPDATE runs SET lease_expires_at = 0, claimed_by = NULL \
            WHERE id = $1 AND epoch = $2 AND status = 'running'";
        let mut connection = self.writer().await?;
        query(RELEASE).bind(lease.run_id.0).bind(lease.epoch).execute(&mut *connection).await?;
        Ok(())
    }

    pub async fn request_cancel(&self, run_id: RunId) -> Result<Option<Run>, Error> {
        const CANCEL: &str =
            "UPDATE runs SET cancel_requested = TRUE WHERE id = $1 AND status IN ('queued', 'running')";
        let mut connection = self.writer().await?;
        query(CANCEL).bind(run_id.0).execute(&mut *connection).await?;
        drop(connection);
        self.run(run_id).await
    }

    pub async fn run(&self, run_id: RunId) -> Result<Option<Run>, Error> {
        const SELECT: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await?;
        row.as_ref().map(run).transpose()
    }

    pub async fn runs(&self, limit: u32) -> Result<Vec<Run>, Error> {
        const SELECT: &str =
            concat!("SELECT ", run_columns!(), " FROM runs ORDER BY created_at DESC, id DESC LIMIT $1 + 0");
        let mut connection = self.reader().await?;
        query(SELECT).bind(i64::from(limit)).fetch_all(&mut *connection).await?.iter().map(run).collect()
    }

    pub async fn thread_runs(&self, thread_id: ThreadId) -> Result<Vec<Run>, Error> {
        const SELECT: &str =
            concat!("SELECT ", run_columns!(), " FROM runs WHERE thread_id = $1 ORDER BY created_at DESC, id DESC");
        let mut connection = self.reader().await?;
        query(SELECT).bind(thread_id.0).fetch_all(&mut *connection).await?.iter().map(run).collect()
    }

    pub async fn documents(&self, run_id: RunId) -> Result<Option<String>, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT documents FROM runs WHERE id = $1").bind(run_id.0);
        let documents: Option<Option<String>> = select.fetch_optional(&mut *connection).await?;
        Ok(documents.flatten())
    }

    pub async fn report(&self, run_id: RunId) -> Result<Option<Report>, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT report FROM runs WHERE id = $1").bind(run_id.0);
        let report: Option<Option<String>> = select.fetch_optional(&mut *connection).await?;
        Ok(report.flatten().map(|text| serde_json::from_str(&text)).transpose()?)
    }
}

fn lease_of(row: &Row) -> Result<(Lease, Run), Error> {
    let run = run(row)?;
    let lease = Lease { run_id: run.id, thread_id: run.thread_id, epoch: row.try_get("epoch")? };
    Ok((lease, run))
}
