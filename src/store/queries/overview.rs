//! Runs as operators see them: whose they are, how far, and when they last said something.

use sqlx::{QueryBuilder, Row as _, query};

use super::{
    Db, Engine, Row,
    rows::{owned, run, run_columns, unsigned},
    runs::{push_status, readable},
};
use crate::{
    domain::{RunId, RunStatus, Timestamp},
    store::{Error, RunOverview},
};

/// The newest event of an active run is that of its thread, which is found by its number.
const SELECT: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", runs.claimed_by, runs.lease_expires_at, runs.epoch, runs.deaths, runs.unexplained, newest.ts AS newest_at, \
     (SELECT COUNT(*) FROM steps WHERE steps.run_id = runs.id) AS steps, \
     (SELECT SUBSTR(content, 1, 400) FROM messages \
      WHERE messages.run_id = COALESCE(runs.question_of, runs.id) AND messages.role = 'user' \
      ORDER BY position LIMIT 1) AS question \
     FROM runs JOIN threads ON threads.id = runs.thread_id LEFT JOIN events AS newest \
     ON newest.thread_id = runs.thread_id AND newest.seq = threads.last_seq AND newest.run_id = runs.id WHERE "
);

impl Engine {
    pub async fn overview(&self, run_id: RunId) -> Result<Option<RunOverview>, Error> {
        let mut select = QueryBuilder::<Db>::new(SELECT);
        select.push("runs.id = ").push_bind(run_id.0);
        let mut connection = self.reader().await?;
        let row = select.build().fetch_optional(&mut *connection).await?;
        row.as_ref().map(overview).transpose()
    }

    pub async fn silent_runs(&self, worker: &str, since: Timestamp) -> Result<Vec<(RunId, Timestamp)>, Error> {
        const SELECT: &str = "SELECT runs.id, newest.ts FROM runs JOIN threads ON threads.id = runs.thread_id \
            JOIN events AS newest ON newest.thread_id = runs.thread_id AND newest.seq = threads.last_seq \
            WHERE runs.claimed_by = $1 AND runs.status = 'running' AND newest.ts < $2 \
            AND COALESCE(runs.waiting_until, 0) < $2";
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(owned(worker)).bind(since.0).fetch_all(&mut *connection).await?;
        rows.iter().map(|row| Ok((RunId(row.try_get("id")?), Timestamp(row.try_get("ts")?)))).collect()
    }

    /// Returns the overviews, newest first; a run that cannot be read is left out.
    pub async fn overviews(&self, status: Option<RunStatus>, limit: u32) -> Result<Vec<RunOverview>, Error> {
        let mut select = QueryBuilder::<Db>::new(SELECT);
        select.push("TRUE");
        if let Some(status) = status {
            push_status(&mut select, "runs.status", status);
        }
        select.push(" ORDER BY runs.created_at DESC, runs.id DESC LIMIT ").push_bind(i64::from(limit)).push(" + 0");
        let mut connection = self.reader().await?;
        let rows = select.build().fetch_all(&mut *connection).await?;
        let read = rows.iter().map(|row| readable(RunId(row.try_get("id")?), overview(row)));
        read.filter_map(Result::transpose).collect()
    }
}

fn overview(row: &Row) -> Result<RunOverview, Error> {
    Ok(RunOverview {
        run: run(row)?,
        question: row.try_get::<Option<String>, _>("question")?.unwrap_or_default(),
        worker: row.try_get("claimed_by")?,
        lease_expires_at: Timestamp(row.try_get("lease_expires_at")?),
        epoch: row.try_get("epoch")?,
        deaths: unsigned(row.try_get("deaths")?)?,
        unexplained: unsigned(row.try_get("unexplained")?)?,
        newest_event_at: row.try_get::<Option<i64>, _>("newest_at")?.map(Timestamp),
        steps: unsigned(row.try_get("steps")?)?,
    })
}
