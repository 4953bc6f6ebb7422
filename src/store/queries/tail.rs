//! What readers of the log ask: pages of events as they are stored, and where threads and runs stand.

use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Row as _, query, query_scalar};

use super::{Connection, Db, Engine, FOR_UPDATE, Row, log::events_of_run, rows::named};
use crate::{
    domain::{RunId, RunStatus, ThreadId, Timestamp},
    store::{Error, EventRow, EventRows, Gap, PageLimit, RunPosition, ThreadPosition},
};

/// The most ids in one statement, well below what either engine takes.
const MAX_IDS: usize = 4096;

impl Engine {
    pub async fn event_rows(&self, thread_id: ThreadId, after_seq: i64, limit: PageLimit) -> Result<EventRows, Error> {
        const SELECT: &str = "SELECT seq, run_id, ts, agent, agent_id, name, body FROM events \
            WHERE thread_id = $1 AND seq > $2 ORDER BY seq LIMIT $3 + 0";
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(thread_id.0).bind(after_seq).bind(i64::from(limit.rows));
        let mut found = select.fetch(&mut *connection);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < limit.bytes
            && let Some(row) = found.try_next().await?
        {
            let row = event_row(&row)?;
            bytes += row.body.len();
            rows.push(row);
        }
        let more = bytes >= limit.bytes || rows.len() >= limit.rows as usize;
        Ok(EventRows { rows, more })
    }

    pub async fn last_seqs(&self, thread_ids: &[ThreadId]) -> Result<Vec<(ThreadId, i64)>, Error> {
        let mut found = Vec::with_capacity(thread_ids.len());
        let mut rest = thread_ids;
        while !rest.is_empty() {
            // Few different sizes, so that there are few distinct statements.
            let (piece, others) = rest.split_at(1 << rest.len().min(MAX_IDS).ilog2());
            rest = others;
            let mut query = QueryBuilder::<Db>::new("SELECT id, last_seq FROM threads WHERE id IN (");
            let mut list = query.separated(", ");
            for id in piece {
                list.push_bind(id.0);
            }
            query.push(")");
            let mut connection = self.reader().await?;
            for row in query.build().fetch_all(&mut *connection).await? {
                found.push((ThreadId(row.try_get("id")?), row.try_get("last_seq")?));
            }
        }
        Ok(found)
    }

    pub async fn last_seq_for_update(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        let mut tx = self.begin().await?;
        let mut select = QueryBuilder::<Db>::new("SELECT last_seq FROM threads WHERE id = ");
        select.push_bind(thread_id.0).push(FOR_UPDATE);
        let found = select.build_query_scalar().fetch_optional(&mut *tx).await?;
        tx.commit().await?;
        Ok(found)
    }

    pub async fn thread_position(&self, thread_id: ThreadId, after_seq: i64) -> Result<Option<ThreadPosition>, Error> {
        const SELECT: &str = "SELECT last_seq, pruned_through, EXISTS (SELECT 1 FROM runs \
            WHERE runs.thread_id = threads.id AND status IN ('queued', 'running')) AS active, (SELECT id FROM runs \
            WHERE runs.thread_id = threads.id ORDER BY created_at DESC, id DESC LIMIT 1) AS newest_run \
            FROM threads WHERE id = $1";
        let mut connection = self.reader().await?;
        let Some(row) = query(SELECT).bind(thread_id.0).fetch_optional(&mut *connection).await? else {
            return Ok(None);
        };
        let last_seq: i64 = row.try_get("last_seq")?;
        let after_seq = after_seq.min(last_seq);
        let gap = gap(&mut connection, thread_id, after_seq, row.try_get("pruned_through")?).await?;
        let after_seq = gap.map_or(after_seq, |gap| gap.to);
        let newest_run = row.try_get::<Option<_>, _>("newest_run")?.map(RunId);
        Ok(Some(ThreadPosition { after_seq, gap, last_seq, active: row.try_get("active")?, newest_run }))
    }

    pub async fn event_names(&self, run_id: RunId, after_seq: i64) -> Result<Vec<String>, Error> {
        const SELECT: &str = events_of_run!("DISTINCT events.name", "events.seq > $2");
        let mut connection = self.reader().await?;
        Ok(query_scalar(SELECT).bind(run_id.0).bind(after_seq).fetch_all(&mut *connection).await?)
    }

    /// Returns how the run stands and how far its log goes. One statement says both, so that the two fit: the events
    /// of a final run are all there, and end where the next run begins.
    pub async fn run_position(&self, run_id: RunId, after_seq: i64) -> Result<Option<RunPosition>, Error> {
        const SELECT: &str = "SELECT runs.thread_id, runs.first_seq, runs.status, threads.last_seq, \
            threads.pruned_through, COALESCE((SELECT MIN(later.first_seq) FROM runs AS later \
            WHERE later.thread_id = runs.thread_id AND later.first_seq > runs.first_seq), threads.last_seq) AS end_seq \
            FROM runs JOIN threads ON threads.id = runs.thread_id WHERE runs.id = $1";
        let mut connection = self.reader().await?;
        let Some(row) = query(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await? else { return Ok(None) };
        let thread_id = ThreadId(row.try_get("thread_id")?);
        let (last_seq, end_seq): (i64, i64) = (row.try_get("last_seq")?, row.try_get("end_seq")?);
        let after_seq = after_seq.max(before_first(row.try_get("first_seq")?)).min(last_seq);
        let pruned_through = row.try_get::<i64, _>("pruned_through")?.min(end_seq);
        let gap = gap(&mut connection, thread_id, after_seq, pruned_through).await?;
        let after_seq = gap.map_or(after_seq, |gap| gap.to);
        let is_final = named::<RunStatus>(row.try_get("status")?)?.is_final();
        let over = is_final && after_seq >= end_seq;
        Ok(Some(RunPosition { thread_id, after_seq, gap, last_seq, is_final, over }))
    }
}

/// Returns the number before a run's first event: `first_seq` is the last one of the run before it, if there is one.
fn before_first(first_seq: i64) -> i64 {
    if first_seq <= 1 { 0 } else { first_seq }
}

/// Returns what lies between a reader and the first event that was not removed. The last one removed is its run's last,
/// or one of those before it, as long as removing them is not done.
async fn gap(
    connection: &mut Connection,
    thread_id: ThreadId,
    after_seq: i64,
    pruned_through: i64,
) -> Result<Option<Gap>, Error> {
    const SELECT: &str = "SELECT id, finished_at FROM runs WHERE thread_id = $1 AND (first_seq < $2 OR first_seq = 1) \
        ORDER BY first_seq DESC LIMIT 1";
    if after_seq >= pruned_through {
        return Ok(None);
    }
    let row = query(SELECT).bind(thread_id.0).bind(pruned_through).fetch_optional(connection).await?;
    // Without a row the thread has been deleted since.
    row.map(|row| {
        Ok(Gap {
            from: after_seq + 1,
            to: pruned_through,
            run_id: RunId(row.try_get("id")?),
            ended_at: Timestamp(row.try_get::<Option<i64>, _>("finished_at")?.unwrap_or_default()),
        })
    })
    .transpose()
}

fn event_row(row: &Row) -> Result<EventRow, Error> {
    Ok(EventRow {
        seq: row.try_get("seq")?,
        run_id: RunId(row.try_get("run_id")?),
        ts: Timestamp(row.try_get("ts")?),
        agent: row.try_get("agent")?,
        agent_id: row.try_get("agent_id")?,
        name: row.try_get("name")?,
        body: row.try_get("body")?,
    })
}
