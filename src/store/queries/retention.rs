//! Old events and threads are removed. Runs of a thread follow one another, so what is removed of a log is always its
//! beginning.

use sqlx::{Row as _, query};
use uuid::Uuid;

use super::Engine;
use crate::{
    domain::{ThreadId, Timestamp},
    store::{Error, Pruned},
};

/// Threads looked for at once.
const THREADS: i64 = 50;

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

    /// Deletes threads that were created before, whose runs have all ended before, and to which no document was given
    /// since; each in a transaction of its
    /// own, and not if anything happened in it meanwhile.
    pub async fn prune_threads(&self, before: Timestamp, limit: u32) -> Result<Vec<ThreadId>, Error> {
        const SELECT: &str = "SELECT id, last_seq FROM threads WHERE created_at <= $1 AND NOT EXISTS \
            (SELECT 1 FROM runs WHERE runs.thread_id = threads.id \
             AND (runs.finished_at IS NULL OR runs.finished_at > $1)) AND NOT EXISTS \
            (SELECT 1 FROM documents WHERE documents.thread_id = threads.id AND documents.created_at > $1) LIMIT $2 + 0";
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(before.0).bind(i64::from(limit)).fetch_all(&mut *connection).await?;
        drop(connection);
        let mut deleted = Vec::new();
        for row in rows {
            let thread_id = ThreadId(row.try_get("id")?);
            if self.delete_thread(thread_id, Some(row.try_get("last_seq")?)).await? {
                deleted.push(thread_id);
            }
        }
        Ok(deleted)
    }

    /// Deletes events of a thread, up to `through`. The thread's row comes first, as commits lock it before they
    /// write events; another replica may have been faster.
    async fn prune_thread(&self, thread_id: Uuid, through: i64) -> Result<u64, Error> {
        const ADVANCE: &str = "UPDATE threads SET pruned_through = $2 WHERE id = $1 AND pruned_through < $2";
        let mut tx = self.begin().await?;
        if query(ADVANCE).bind(thread_id).bind(through).execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(0);
        }
        let delete = query("DELETE FROM events WHERE thread_id = $1 AND seq <= $2").bind(thread_id).bind(through);
        let deleted = delete.execute(&mut *tx).await?.rows_affected();
        tx.commit().await?;
        Ok(deleted)
    }
}
