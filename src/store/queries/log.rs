//! Events and steps: the log that readers follow and the journal that replay reads.
//!
//! `LIMIT $3 + 0`: SQLite takes a bare parameter's value for its plan, and compiles the statement again for each.

use std::sync::LazyLock;

use sqlx::{QueryBuilder, Row as _, query, query_scalar};

use super::{
    Connection, Db, Engine, Row,
    rows::{named, push_values, unsigned},
};
use crate::{
    domain::{Cost, Envelope, RunId, Scope, ThreadId, Timestamp, Usage},
    store::{
        CallRecord, Error, EventRow, NewEvent, Step,
        tables::{EVENTS, STEPS, names},
    },
};

static SELECT_STEPS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM steps WHERE run_id = $1 ORDER BY finished_at, key", names(&STEPS, "")));

static SELECT_STEPS_WITHOUT_VALUES: LazyLock<String> =
    LazyLock::new(|| SELECT_STEPS.replace(", value,", ", '' AS value,"));

/// The events of run `$1`, by the part of its thread's log that is the run's: up to where the next run begins.
macro_rules! events_of_run {
    ($columns:literal, $which:literal) => {
        concat!(
            "WITH own AS MATERIALIZED (SELECT thread_id, first_seq, COALESCE((SELECT MIN(later.first_seq) FROM runs AS later \
             WHERE later.thread_id = runs.thread_id AND later.first_seq > runs.first_seq), 9223372036854775807) AS end_seq \
             FROM runs WHERE id = $1) SELECT ",
            $columns,
            " FROM own JOIN events ON events.thread_id = own.thread_id AND events.seq >= own.first_seq \
             AND events.seq <= own.end_seq WHERE events.run_id = $1 AND ",
            $which
        )
    };
}

pub(super) use events_of_run;

impl Engine {
    pub async fn events_after(&self, thread_id: ThreadId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        const SELECT: &str = "SELECT seq, run_id, ts, agent, agent_id, body FROM events \
            WHERE thread_id = $1 AND seq > $2 ORDER BY seq LIMIT $3 + 0";
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(thread_id.0).bind(after_seq).bind(i64::from(limit));
        select.fetch_all(&mut *connection).await?.iter().map(envelope).collect()
    }

    pub async fn run_events_after(&self, run_id: RunId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        const SELECT: &str = events_of_run!(
            "events.seq, events.run_id, events.ts, events.agent, events.agent_id, events.body",
            "events.seq > $2 ORDER BY events.seq LIMIT $3 + 0"
        );
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(run_id.0).bind(after_seq).bind(i64::from(limit));
        select.fetch_all(&mut *connection).await?.iter().map(envelope).collect()
    }

    pub async fn report_events(&self, run_id: RunId, after_seq: i64, until: i64) -> Result<Vec<Envelope>, Error> {
        const SELECT: &str = events_of_run!(
            "events.seq, events.run_id, events.ts, events.agent, events.agent_id, events.body",
            "events.seq > $2 AND events.seq <= $3 \
             AND events.name IN ('report.started', 'report.delta', 'report.citation') ORDER BY events.seq"
        );
        let mut connection = self.reader().await?;
        let select = query(SELECT).bind(run_id.0).bind(after_seq).bind(until);
        select.fetch_all(&mut *connection).await?.iter().map(envelope).collect()
    }

    pub async fn report_attempts(&self, run_id: RunId) -> Result<u32, Error> {
        const COUNT: &str = events_of_run!("COUNT(*)", "events.name = 'report.started'");
        let mut connection = self.reader().await?;
        unsigned(query_scalar(COUNT).bind(run_id.0).fetch_one(&mut *connection).await?)
    }

    pub async fn journal(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        self.steps_by(&SELECT_STEPS, run_id).await
    }

    pub async fn steps(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        self.steps_by(&SELECT_STEPS_WITHOUT_VALUES, run_id).await
    }

    async fn steps_by(&self, select: &'static str, run_id: RunId) -> Result<Vec<Step>, Error> {
        let mut connection = self.reader().await?;
        query(select).bind(run_id.0).fetch_all(&mut *connection).await?.iter().map(step).collect()
    }

    /// Returns the sums by model, so that the last event says what the run's row says.
    pub async fn usage(&self, run_id: RunId) -> Result<Usage, Error> {
        const SELECT: &str = "SELECT input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost FROM run_usage \
            WHERE run_id = $1";
        let mut connection = self.reader().await?;
        let rows = query(SELECT).bind(run_id.0).fetch_all(&mut *connection).await?;
        rows.iter().try_fold(Usage::default(), |mut sum, row| {
            sum += usage_from(row)?;
            Ok(sum)
        })
    }
}

/// Inserts an event that is no part of a commit.
pub async fn insert_event(
    connection: &mut Connection,
    thread_id: ThreadId,
    run_id: RunId,
    seq: i64,
    event: &NewEvent,
) -> Result<(), Error> {
    let row = EventRow::new(run_id, event);
    let mut insert = QueryBuilder::<Db>::new("INSERT INTO events (thread_id, seq, run_id, ");
    insert.push(names(&EVENTS, "")).push(") VALUES (");
    let mut values = insert.separated(", ");
    values.push_bind(thread_id.0).push_bind(seq).push_bind(run_id.0);
    push_values(&mut values, &EVENTS, &row);
    insert.push(")").build().execute(connection).await?;
    Ok(())
}

fn envelope(row: &Row) -> Result<Envelope, Error> {
    Ok(Envelope {
        seq: row.try_get("seq")?,
        ts: Timestamp(row.try_get("ts")?),
        run_id: RunId(row.try_get("run_id")?),
        scope: Scope { agent: named(row.try_get("agent")?)?, id: row.try_get("agent_id")? },
        event: serde_json::from_str(row.try_get("body")?)?,
    })
}

fn step(row: &Row) -> Result<Step, Error> {
    let model: Option<String> = row.try_get("model")?;
    Ok(Step {
        key: row.try_get("key")?,
        kind: named(row.try_get("kind")?)?,
        request_hash: row.try_get("request_hash")?,
        input_hash: row.try_get("input_hash")?,
        prompts: row.try_get("prompts")?,
        inherited: row.try_get("inherited")?,
        value: row.try_get("value")?,
        started_at: Timestamp(row.try_get("started_at")?),
        finished_at: Timestamp(row.try_get("finished_at")?),
        call: model.map(|model| call(row, model)).transpose()?,
    })
}

fn call(row: &Row, model: String) -> Result<CallRecord, Error> {
    Ok(CallRecord {
        model,
        role: row.try_get("role")?,
        attempts: unsigned(row.try_get("attempts")?)?,
        usage: usage_from(row)?,
    })
}

pub fn usage_from(row: &Row) -> Result<Usage, Error> {
    Ok(Usage {
        input_tokens: unsigned(row.try_get("input_tokens")?)?,
        cached_tokens: unsigned(row.try_get("cached_tokens")?)?,
        cache_write_tokens: 0,
        searches: 0,
        output_tokens: unsigned(row.try_get("output_tokens")?)?,
        reasoning_tokens: unsigned(row.try_get("reasoning_tokens")?)?,
        cost: row.try_get::<Option<i64>, _>("cost")?.map(unsigned).transpose()?.map(Cost),
    })
}
