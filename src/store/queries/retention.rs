//! Threads and old events are removed. Runs of a thread follow one another, so what is removed of a log is always its
//! beginning.

use sqlx::{QueryBuilder, Row as _, query};
use uuid::Uuid;

use super::{Connection, Db, Engine, FOR_UPDATE, rows::cursor};
use crate::{
    domain::{ThreadId, Timestamp},
    store::{Cursor, Error, ExpiredThread, Page, Pruned},
};

/// Threads looked for at once.
const THREADS: i64 = 50;
/// Rows of a table that are deleted at once: a statement that takes long keeps others waiting, and is given up.
const ROWS_AT_ONCE: i64 = 2_000;

/// The rows of a table that belong to runs of the thread `$1` that have ended.
macro_rules! of_ended_runs {
    ($table:literal) => {
        concat!(
            "FROM runs JOIN ",
            $table,
            " ON ",
            $table,
            ".run_id = runs.id WHERE runs.thread_id = $1 AND runs.finished_at IS NOT NULL"
        )
    };
}

/// Of such a table: whether there are more rows than `$2`, and the statement that deletes so many.
macro_rules! thin_out {
    ($table:literal) => {
        [
            concat!("SELECT 1 ", of_ended_runs!($table), " LIMIT 1 OFFSET $2 + 0"),
            concat!("DELETE FROM ", $table, " WHERE ", row_among!($table, of_ended_runs!($table), " LIMIT $2 + 0")),
        ]
    };
}

impl Engine {
    /// Removes at most `limit` events of each of some threads, a short transaction each.
    ///
    /// The log of a thread may go up to the first run that is active or ended after `before`; `first_seq` of a later
    /// run is the last number of the run before it. A thread's first run has no run before it, hence the 1.
    pub async fn prune_events(&self, before: Timestamp, limit: u32) -> Result<Pruned, Error> {
        const SELECT: &str = "SELECT id, pruned_through, boundary FROM \
            (SELECT threads.id, threads.pruned_through, COALESCE((SELECT \
             MIN(CASE WHEN runs.finished_at <= $1 THEN NULL ELSE runs.first_seq END) FROM runs \
             WHERE runs.thread_id = threads.id), threads.last_seq) AS boundary FROM threads \
             WHERE threads.created_at <= $1 AND threads.pruned_through < threads.last_seq) AS old \
            WHERE boundary > pruned_through AND boundary > 1 LIMIT $2 + 0";
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(before.0).bind(THREADS).fetch_all(&mut *connection).await?;
        drop(connection);
        let mut pruned = Pruned::default();
        for row in rows {
            let (from, boundary): (i64, i64) = (row.try_get("pruned_through")?, row.try_get("boundary")?);
            let through = boundary.min(from.saturating_add(i64::from(limit)));
            pruned.events += self.prune_thread(row.try_get("id")?, through).await?;
            pruned.threads += 1;
        }
        Ok(pruned)
    }

    /// Returns a page of the threads that were created before, whose runs have all ended before, and to which no
    /// document was given since; the oldest first.
    pub async fn expired_threads(
        &self,
        before: Timestamp,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<ExpiredThread>, Error> {
        const SELECT: &str = "SELECT id, created_at, last_seq FROM threads \
            WHERE created_at <= $1 AND (created_at, id) > ($2, $3) AND NOT EXISTS \
            (SELECT 1 FROM runs WHERE runs.thread_id = threads.id \
             AND (runs.finished_at IS NULL OR runs.finished_at > $1)) AND NOT EXISTS \
            (SELECT 1 FROM documents WHERE documents.thread_id = threads.id AND documents.created_at > $1) \
            ORDER BY created_at, id LIMIT $4 + 0";
        let after = after.unwrap_or(Cursor { at: i64::MIN, id: Uuid::nil() });
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(before.0).bind(after.at).bind(after.id).bind(i64::from(limit) + 1);
        let rows = select.fetch_all(&mut *connection).await?;
        let found = rows.iter().map(|row| {
            let cursor = cursor(row)?;
            Ok((cursor, ExpiredThread { id: ThreadId(cursor.id), last_seq: row.try_get("last_seq")?, before }))
        });
        Ok(Page::of(found.collect::<Result<_, Error>>()?, limit))
    }

    /// Deletes some of what a thread holds; `false` where the rest is little enough to be deleted with it, and where
    /// [`Engine::delete_thread`] would not delete it. A run at work goes first, which fences its worker: it would pay
    /// for calls that nobody wants any more.
    pub async fn thin_out_thread(&self, thread_id: ThreadId, expired: Option<&ExpiredThread>) -> Result<bool, Error> {
        const ACTIVE: &str = "DELETE FROM runs WHERE thread_id = $1 AND finished_at IS NULL";
        let mut tx = self.begin().await?;
        if !lock(&mut tx, thread_id, expired).await? {
            return Ok(false);
        }
        let mut deleted = thin_out_events(&mut tx, thread_id).await?;
        for [has_more, delete] in [thin_out!("steps"), thin_out!("sources")] {
            if deleted {
                break;
            }
            let has_more = query(has_more).bind(thread_id.0).bind(ROWS_AT_ONCE);
            if has_more.fetch_optional(&mut *tx).await?.is_some() {
                query(delete).bind(thread_id.0).bind(ROWS_AT_ONCE).execute(&mut *tx).await?;
                deleted = true;
            }
        }
        if deleted {
            query(ACTIVE).bind(thread_id.0).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(deleted)
    }

    /// Deletes a thread and all that belongs to it, `expired` only if it was not used since. Idempotency keys stay,
    /// without their answers, so that a late repetition does not start the work again.
    pub async fn delete_thread(&self, thread_id: ThreadId, expired: Option<&ExpiredThread>) -> Result<bool, Error> {
        const FORGET: &str =
            "UPDATE idempotency_keys SET response = NULL WHERE thread_id = $1 AND response IS NOT NULL";
        let mut tx = self.begin().await?;
        if !lock(&mut tx, thread_id, expired).await? {
            return Ok(false);
        }
        query("DELETE FROM threads WHERE id = $1").bind(thread_id.0).execute(&mut *tx).await?;
        query(FORGET).bind(thread_id.0).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Deletes events of a thread, up to `through`.
    async fn prune_thread(&self, thread_id: Uuid, through: i64) -> Result<u64, Error> {
        let mut tx = self.begin().await?;
        let deleted = delete_events(&mut tx, thread_id, through).await?;
        tx.commit().await?;
        Ok(deleted)
    }
}

/// Locks a thread and its runs; `false` when it is not there, or was used since it was found expired. The runs come
/// first, as in commits, so that neither waits for the other crosswise.
async fn lock(
    connection: &mut Connection,
    thread_id: ThreadId,
    expired: Option<&ExpiredThread>,
) -> Result<bool, Error> {
    const GIVEN: &str = "SELECT id FROM documents WHERE thread_id = $1 AND created_at > $2 LIMIT 1";
    let mut runs = QueryBuilder::<Db>::new("SELECT id FROM runs WHERE thread_id = ");
    runs.push_bind(thread_id.0).push(" ORDER BY id").push(FOR_UPDATE);
    runs.build().fetch_all(&mut *connection).await?;
    let mut thread = QueryBuilder::<Db>::new("SELECT last_seq FROM threads WHERE id = ");
    thread.push_bind(thread_id.0).push(FOR_UPDATE);
    let last_seq: Option<i64> = thread.build_query_scalar().fetch_optional(&mut *connection).await?;
    let (Some(last_seq), Some(expired)) = (last_seq, expired) else { return Ok(last_seq.is_some()) };
    // Asked after the thread was locked: who gives it a document holds that lock until the document is there.
    let given = query(GIVEN).bind(thread_id.0).bind(expired.before.0).fetch_optional(&mut *connection).await?;
    Ok(last_seq == expired.last_seq && given.is_none())
}

/// Deletes events of runs that have ended, where there are many.
async fn thin_out_events(connection: &mut Connection, thread_id: ThreadId) -> Result<bool, Error> {
    const SELECT: &str = "SELECT pruned_through, COALESCE((SELECT MIN(first_seq) FROM runs \
        WHERE runs.thread_id = threads.id AND runs.finished_at IS NULL), last_seq) AS boundary \
        FROM threads WHERE id = $1";
    let row = query(SELECT).bind(thread_id.0).fetch_one(&mut *connection).await?;
    let (from, boundary): (i64, i64) = (row.try_get("pruned_through")?, row.try_get("boundary")?);
    let has_more = boundary - from > ROWS_AT_ONCE;
    if has_more {
        delete_events(connection, thread_id.0, from + ROWS_AT_ONCE).await?;
    }
    Ok(has_more)
}

/// Deletes events of a thread, up to `through`. The thread's row comes first, as commits lock it before they write
/// events; another replica may have been faster.
async fn delete_events(connection: &mut Connection, thread_id: Uuid, through: i64) -> Result<u64, Error> {
    const ADVANCE: &str = "UPDATE threads SET pruned_through = $2 WHERE id = $1 AND pruned_through < $2";
    const DELETE: &str = "DELETE FROM events WHERE thread_id = $1 AND seq <= $2";
    if query(ADVANCE).bind(thread_id).bind(through).execute(&mut *connection).await?.rows_affected() == 0 {
        return Ok(0);
    }
    Ok(query(DELETE).bind(thread_id).bind(through).execute(&mut *connection).await?.rows_affected())
}
