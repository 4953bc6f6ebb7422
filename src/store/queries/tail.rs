//! What readers of the log ask: pages of events as they are stored, and where threads and runs stand.

use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Row as _, query, query_scalar};
use uuid::Uuid;

use super::{Db, Engine, Row, rows::status};
use crate::{
    domain::{RunId, ThreadId, Timestamp},
    store::{Error, EventRow, EventRows, PageLimit, RunPosition, ThreadPosition},
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

    pub async fn thread_position(&self, thread_id: ThreadId) -> Result<Option<ThreadPosition>, Error> {
        const SELECT: &str = "SELECT last_seq, EXISTS (SELECT 1 FROM runs WHERE runs.thread_id = threads.id \
            AND status IN ('queued', 'running')) AS active FROM threads WHERE id = $1";
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(thread_id.0).fetch_optional(&mut *connection).await?;
        row.map(|row| Ok(ThreadPosition { last_seq: row.try_get("last_seq")?, active: row.try_get("active")? }))
            .transpose()
    }

    pub async fn run_position(&self, run_id: RunId, after_seq: i64) -> Result<Option<RunPosition>, Error> {
        const SELECT: &str = "SELECT runs.thread_id, runs.first_seq, runs.status, threads.last_seq \
            FROM runs JOIN threads ON threads.id = runs.thread_id WHERE runs.id = $1";
        // Runs of a thread do not overlap, so from first_seq on at most one event is of another run before this one's.
        const NEXT: &str = "SELECT run_id FROM events WHERE thread_id = $1 AND seq > $2 ORDER BY seq LIMIT 2";
        let mut connection = self.reader().await?;
        let Some(row) = query(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await? else { return Ok(None) };
        let (thread_id, first_seq, last_seq): (Uuid, i64, i64) =
            (row.try_get("thread_id")?, row.try_get("first_seq")?, row.try_get("last_seq")?);
        let after_seq = after_seq.max(first_seq - 1).min(last_seq);
        // Read after the status: the events of a final run are all there.
        let over = status(row.try_get("status")?)?.is_final() && {
            let next: Vec<Uuid> =
                query_scalar(NEXT).bind(thread_id).bind(after_seq).fetch_all(&mut *connection).await?;
            !next.contains(&run_id.0)
        };
        Ok(Some(RunPosition { thread_id: ThreadId(thread_id), after_seq, last_seq, over }))
    }
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
