//! Runs: cancelled and read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sqlx::{QueryBuilder, Row as _, query, query_scalar};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, FOR_UPDATE,
    commits::padded,
    log::{insert_event, usage_from},
    rows::{cursor, named, owned, push_owner, run, run_columns, unsigned},
};
use crate::{
    domain::{Event, ModelUsage, Run, RunDetails, RunId, RunStatus, Scope, Timestamp, report::Report},
    store::{Cancelling, Clock, Cursor, Error, Load, NewEvent, Page, RunFilter, off_runtime},
};

/// How many queued runs are as old as the queued run `$1`, or older.
pub const PLACE_IN_QUEUE: &str = concat!(
    "SELECT COUNT(*) FROM runs AS own JOIN runs AS before ON ",
    in_state!("before.", "queued"),
    " AND (before.created_at, before.id) <= (own.created_at, own.id) WHERE own.id = $1 AND own.status = 'queued'"
);

/// The places of all that are queued, from 1.
pub const PLACES: &str = concat!(
    "SELECT id, place FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY created_at, id) AS place FROM runs WHERE ",
    in_state!("", "queued"),
    ") AS waiting"
);

/// Bytes of a report from which on it takes milliseconds to be read.
const LONG_REPORT: usize = 64 * 1024;

impl Engine {
    /// Locks the run's row before the thread's, as commits do.
    pub async fn request_cancel(&self, run_id: RunId, clock: Clock) -> Result<Option<Cancelling>, Error> {
        const CANCEL: &str = "UPDATE runs SET cancel_requested = TRUE WHERE id = $1";
        let mut tx = self.begin().await?;
        // Who let the lease run out is gone, or will be fenced when it comes back.
        let mut select = QueryBuilder::<Db>::new(concat!(
            "SELECT claimed_by IS NOT NULL AND lease_expires_at > ",
            time!("$1"),
            " AS held, ",
            run_columns!(),
            " FROM runs WHERE id = $2"
        ));
        select.push(FOR_UPDATE);
        let select = select.build().bind(clock.given()).bind(run_id.0);
        let Some(row) = select.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let mut run = run(&row)?;
        if run.status.is_final() {
            return Ok(Some(Cancelling::Final(run)));
        }
        query(CANCEL).bind(run_id.0).execute(&mut *tx).await?;
        run.cancel_requested = true;
        let worked_on = run.status == RunStatus::Running && row.try_get::<bool, _>("held")?;
        if !worked_on {
            cancel_unowned(&mut tx, &mut run, clock.of_events()).await?;
        }
        tx.commit().await?;
        Ok(Some(if worked_on { Cancelling::Requested(run) } else { Cancelling::Done(run) }))
    }

    pub async fn run(&self, run_id: RunId) -> Result<Option<Run>, Error> {
        const SELECT: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");
        let mut connection = self.reader().await?;
        let row = query(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await?;
        row.as_ref().map(run).transpose()
    }

    /// Returns the runs that a run goes on from, the direct one first, at most `limit`.
    pub async fn retried_by(&self, run_id: RunId, limit: u32) -> Result<Vec<RunId>, Error> {
        const CHAIN: &str = "WITH RECURSIVE chain (id, depth) AS ( \
                SELECT retry_of, 1 FROM runs WHERE id = $1 \
                UNION ALL SELECT runs.retry_of, chain.depth + 1 FROM chain JOIN runs ON runs.id = chain.id \
                WHERE chain.depth < $2 \
            ) SELECT id FROM chain WHERE id IS NOT NULL ORDER BY depth";
        let mut connection = self.reader().await?;
        let ids: Vec<Uuid> =
            query_scalar(CHAIN).bind(run_id.0).bind(i64::from(limit)).fetch_all(&mut *connection).await?;
        Ok(ids.into_iter().map(RunId).collect())
    }

    pub async fn question(&self, run_id: RunId) -> Result<Option<String>, Error> {
        const SELECT: &str = "SELECT messages.content FROM runs \
            JOIN messages ON messages.run_id = COALESCE(runs.question_of, runs.id) \
            WHERE runs.id = $1 AND messages.role = 'user' ORDER BY messages.position, messages.id LIMIT 1";
        let mut connection = self.reader().await?;
        Ok(query_scalar(SELECT).bind(run_id.0).fetch_optional(&mut *connection).await?)
    }

    /// Returns the beginnings of the messages that these runs answer.
    pub async fn questions(&self, run_ids: &[RunId]) -> Result<HashMap<RunId, String>, Error> {
        if run_ids.is_empty() {
            return Ok(HashMap::new());
        }
        let mut connection = self.reader().await?;
        let rows = questions(run_ids).build().fetch_all(&mut *connection).await?;
        // The first message of each run comes last, and stays.
        rows.iter().map(|row| Ok((RunId(row.try_get("id")?), row.try_get("content")?))).collect()
    }

    pub async fn sealed_keys(&self, run_id: RunId) -> Result<Option<Option<Vec<u8>>>, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT sealed FROM run_keys WHERE run_id = $1").bind(run_id.0);
        Ok(select.fetch_optional(&mut *connection).await?)
    }

    /// Returns the run whose message this one answers: itself, unless it is a retry.
    pub async fn question_of(&self, run_id: RunId) -> Result<RunId, Error> {
        let mut connection = self.reader().await?;
        let select = query_scalar("SELECT question_of FROM runs WHERE id = $1").bind(run_id.0);
        let asked: Option<Option<Uuid>> = select.fetch_optional(&mut *connection).await?;
        Ok(asked.flatten().map_or(run_id, RunId))
    }

    /// Returns where a run stands among the runs; `None` when there is no such run.
    pub async fn place_of(&self, run_id: RunId) -> Result<Option<Cursor>, Error> {
        let mut connection = self.reader().await?;
        let select = query("SELECT created_at, id FROM runs WHERE id = $1").bind(run_id.0);
        let row = select.fetch_optional(&mut *connection).await?;
        row.as_ref().map(cursor).transpose()
    }

    /// Returns a page of runs, newest first. A run that cannot be read is left out, so that it does not hide the
    /// others.
    pub async fn runs(&self, filter: &RunFilter, after: Option<Cursor>, limit: u32) -> Result<Page<Run>, Error> {
        let mut connection = self.reader().await?;
        let rows = page(filter, after, limit).build().fetch_all(&mut *connection).await?;
        let found = rows.iter().map(|row| {
            let cursor = cursor(row)?;
            Ok((cursor, readable(RunId(cursor.id), run(row))?))
        });
        let page = Page::of(found.collect::<Result<_, Error>>()?, limit);
        Ok(Page { items: page.items.into_iter().flatten().collect(), next: page.next })
    }

    /// Returns what is kept beside these runs; in their order.
    pub async fn details(&self, runs: Vec<Run>) -> Result<Vec<RunDetails>, Error> {
        let mut connection = self.reader().await?;
        let mut usage = usage_by_model(&mut connection, &runs).await?;
        let positions = queue_positions(&mut connection, &runs).await?;
        let detail = |run: Run| {
            // It may have been claimed in between.
            let queue_position =
                (run.status == RunStatus::Queued).then(|| positions.get(&run.id).copied().unwrap_or(1));
            RunDetails { usage: usage.remove(&run.id).unwrap_or_default(), queue_position, run }
        };
        Ok(runs.into_iter().map(detail).collect())
    }

    pub async fn queries_of(&self, runs: &[Run]) -> Result<HashMap<RunId, u64>, Error> {
        let ids: BTreeSet<Uuid> = runs.iter().map(|run| run.id.0).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let mut connection = self.reader().await?;
        let mut select = QueryBuilder::<Db>::new(
            "SELECT run_id, COUNT(*) AS queries FROM steps WHERE kind = 'search' AND run_id IN (",
        );
        let mut list = select.separated(", ");
        for id in padded(&ids) {
            list.push_bind(id);
        }
        let rows = select.push(") GROUP BY run_id").build().fetch_all(&mut *connection).await?;
        rows.iter().map(|row| Ok((RunId(row.try_get("run_id")?), unsigned(row.try_get("queries")?)?))).collect()
    }

    /// Returns a run's place in the queue; `None` when there is no such run, or it does not wait.
    pub async fn place_in_queue(&self, run_id: RunId) -> Result<Option<u64>, Error> {
        let mut connection = self.reader().await?;
        let place: i64 = query_scalar(PLACE_IN_QUEUE).bind(run_id.0).fetch_one(&mut *connection).await?;
        Ok(Some(unsigned(place)?).filter(|place| *place > 0))
    }

    pub async fn load(&self) -> Result<Load, Error> {
        const COUNT: &str =
            "SELECT status, COUNT(*) AS runs FROM runs WHERE status IN ('queued', 'running') GROUP BY status";
        let mut connection = self.reader().await?;
        let mut load = Load::default();
        for row in query(COUNT).fetch_all(&mut *connection).await? {
            match named(row.try_get("status")?)? {
                RunStatus::Queued => load.queued = unsigned(row.try_get("runs")?)?,
                _ => load.running = unsigned(row.try_get("runs")?)?,
            }
        }
        Ok(load)
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
        drop(connection);
        match report.flatten() {
            Some(text) => parsed_report(text).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the beginnings of the messages that these runs answer, of at least one.
pub fn questions(run_ids: &[RunId]) -> QueryBuilder<'static, Db> {
    let mut select = QueryBuilder::<Db>::new(
        "SELECT runs.id, SUBSTR(messages.content, 1, 1000) AS content FROM runs \
         JOIN messages ON messages.run_id = COALESCE(runs.question_of, runs.id) WHERE runs.id IN (",
    );
    let mut list = select.separated(", ");
    for id in padded(&run_ids.iter().map(|run_id| run_id.0).collect()) {
        list.push_bind(id);
    }
    select.push(") AND messages.role = 'user' ORDER BY messages.position DESC, messages.id DESC");
    select
}

/// Returns the runs of a page, and one more.
pub fn page(filter: &RunFilter, after: Option<Cursor>, limit: u32) -> QueryBuilder<'static, Db> {
    let mut select = QueryBuilder::<Db>::new(concat!("SELECT ", run_columns!(), " FROM runs WHERE TRUE"));
    if let Some(thread_id) = filter.thread_id {
        select.push(" AND thread_id = ").push_bind(thread_id.0);
    }
    match &filter.owner {
        Some(owner) => _ = select.push(" AND owner = ").push_bind(owned(owner.as_str())),
        // The condition of the index on such runs of all owners.
        None if matches!(filter.status, Some(RunStatus::Failed | RunStatus::Cancelled)) => {
            select.push(" AND finished_at IS NOT NULL");
        }
        None => {}
    }
    // No join: the database would begin with the threads, and sort all their runs.
    push_owner(&mut select, "(SELECT owner FROM threads WHERE id = runs.thread_id)", filter.thread_owner.as_ref());
    if let Some(status) = filter.status {
        push_status(&mut select, "status", status);
    }
    if let Some(cursor) = after {
        select.push(" AND (created_at, id) < (").push_bind(cursor.at).push(", ").push_bind(cursor.id).push(")");
    }
    select.push(" ORDER BY created_at DESC, id DESC LIMIT ").push_bind(i64::from(limit) + 1).push(" + 0");
    select
}

/// Adds the condition that runs are in that state, in words by which the database knows the index on such runs: that
/// of active ones is named as `in_state!` does. Most runs are completed, and have none.
pub fn push_status(select: &mut QueryBuilder<'_, Db>, column: &str, status: RunStatus) {
    if !status.is_final() {
        select.push(format_args!(" AND {column} IN ('queued', 'running')"));
    }
    select.push(format_args!(" AND {column} = '{}'", status.as_str()));
}

/// Parses a stored report. A long one takes a while to be read, in which nobody else is to wait for the connection or
/// this thread.
async fn parsed_report(text: String) -> Result<Report, Error> {
    if text.len() < LONG_REPORT {
        return Ok(serde_json::from_str(&text)?);
    }
    Ok(off_runtime(move || serde_json::from_str(&text)).await??)
}

/// Ends a run that nobody works on.
async fn cancel_unowned(connection: &mut Connection, run: &mut Run, now: Timestamp) -> Result<(), Error> {
    const FINISH: &str = "UPDATE runs SET status = 'cancelled', finished_at = $2, claimed_by = NULL, \
        lease_expires_at = 0 WHERE id = $1";
    query(FINISH).bind(run.id.0).bind(now.0).execute(&mut *connection).await?;
    let seq = query_scalar("UPDATE threads SET last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq")
        .bind(run.thread_id.0)
        .fetch_one(&mut *connection)
        .await?;
    let event = Event::RunCancelled { reason: "cancelled on request".to_owned() };
    let event = NewEvent { ts: now, scope: Scope::ROOT, event };
    insert_event(connection, run.thread_id, run.id, seq, &event).await?;
    (run.status, run.finished_at) = (RunStatus::Cancelled, Some(now));
    Ok(())
}

async fn usage_by_model(
    connection: &mut Connection,
    runs: &[Run],
) -> Result<HashMap<RunId, BTreeMap<String, ModelUsage>>, Error> {
    let mut usage: HashMap<RunId, BTreeMap<String, ModelUsage>> = HashMap::new();
    if runs.is_empty() {
        return Ok(usage);
    }
    let ids: BTreeSet<Uuid> = runs.iter().map(|run| run.id.0).collect();
    let mut select = QueryBuilder::<Db>::new(
        "SELECT run_id, model, calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost FROM run_usage \
         WHERE run_id IN (",
    );
    let mut list = select.separated(", ");
    for id in padded(&ids) {
        list.push_bind(id);
    }
    for row in select.push(")").build().fetch_all(connection).await? {
        let of_model = ModelUsage { calls: unsigned(row.try_get("calls")?)?, tokens: usage_from(&row)? };
        usage.entry(RunId(row.try_get("run_id")?)).or_default().insert(row.try_get("model")?, of_model);
    }
    Ok(usage)
}

/// Returns the places of those that are queued, by age; where owners take turns they are an estimate.
async fn queue_positions(connection: &mut Connection, runs: &[Run]) -> Result<HashMap<RunId, u64>, Error> {
    let queued = runs.iter().filter(|run| run.status == RunStatus::Queued);
    let ids: BTreeSet<Uuid> = queued.map(|run| run.id.0).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let mut select = QueryBuilder::<Db>::new(PLACES);
    select.push(" WHERE id IN (");
    let mut list = select.separated(", ");
    for id in padded(&ids) {
        list.push_bind(id);
    }
    let rows = select.push(")").build().fetch_all(connection).await?;
    rows.iter().map(|row| Ok((RunId(row.try_get("id")?), unsigned(row.try_get("place")?)?))).collect()
}

/// Returns what was read of a run; `None` when its row cannot be read, which is logged.
pub fn readable<T>(run_id: RunId, read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(Error::Corrupt(reason)) => {
            tracing::error!(%run_id, reason, "a run cannot be read and is left out of a list");
            Ok(None)
        }
        read => read.map(Some),
    }
}
