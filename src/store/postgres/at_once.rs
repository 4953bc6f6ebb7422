//! The usual commits in one statement: steps and events, and nothing else.
//!
//! A transaction of many statements is a journey to the server for each, while the rows stay locked and the run waits.
//! Most commits store a step or a few events alone; for these one statement does the same, for all runs of a group, and
//! is its own transaction. Its text never changes, since rows travel as one array per column.

use std::collections::{HashMap, HashSet};

use sqlx::{Row as _, postgres::PgArguments, query};
use uuid::Uuid;

use super::{
    Db, Engine,
    queries::{
        commits::{Advance, usage_sums},
        rows::{added_usage, name_of, owned, signed},
    },
};
use crate::{
    domain::{ModelUsage, RunId, ThreadId, event::Phase},
    store::{Entry, Error, Lease, NewEvent, Step},
};

/// Locks the rows of the runs whose lease holds, in the order of their ids, and writes what belongs to these. A commit
/// that is repeated finds one of its stamps there and is left to those who can tell what became of it.
const WRITE: &str = concat!(
    "WITH given AS ( \
        SELECT * FROM unnest($1::UUID[], $2::UUID[], $3::BIGINT[], $4::UUID[], $5::BIGINT[], $6::TEXT[], $7::BIGINT[], \
            $8::BIGINT[], $9::BIGINT[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BIGINT[], $14::BIGINT[], \
            $48::TEXT[], $49::BIGINT[]) \
        AS given (run_id, thread_id, epoch, stamp, events, phase, keeps_deaths, iterations, researchers_started, \
            researchers_finished, researchers_failed, searches, sources_found, warnings, waiting_for, waiting_until) \
    ), held AS ( \
        SELECT runs.id FROM given JOIN runs ON runs.id = given.run_id \
        WHERE runs.status = 'running' AND runs.epoch = given.epoch \
        AND (runs.last_commit IS NULL OR runs.last_commit <> ALL ($15::UUID[])) \
        ORDER BY runs.id FOR UPDATE OF runs \
    ), advanced AS ( \
        UPDATE runs SET last_commit = given.stamp, phase = COALESCE(given.phase, runs.phase), \
            deaths = runs.deaths * given.keeps_deaths, \
            unexplained = runs.unexplained * given.keeps_deaths, \
            suspect_since = runs.suspect_since * given.keeps_deaths, iterations = runs.iterations + given.iterations, \
            researchers_started = runs.researchers_started + given.researchers_started, \
            researchers_finished = runs.researchers_finished + given.researchers_finished, \
            researchers_failed = runs.researchers_failed + given.researchers_failed, \
            searches = runs.searches + given.searches, sources_found = runs.sources_found + given.sources_found, \
            warnings = runs.warnings + given.warnings, \
            waiting_for = COALESCE(given.waiting_for, runs.waiting_for), \
            waiting_until = COALESCE(given.waiting_until, runs.waiting_until) \
        FROM held JOIN given ON given.run_id = held.id WHERE runs.id = held.id RETURNING runs.id \
    ), numbered AS ( \
        UPDATE threads SET last_seq = threads.last_seq + given.events \
        FROM advanced JOIN given ON given.run_id = advanced.id \
        WHERE threads.id = given.thread_id AND given.events > 0 \
        RETURNING threads.id, threads.last_seq - given.events AS before \
    ), stored_events AS ( \
        INSERT INTO events (thread_id, seq, run_id, ts, agent, agent_id, name, body) \
        SELECT new.thread_id, numbered.before + new.place, new.run_id, new.ts, new.agent, new.agent_id, new.name, new.body \
        FROM unnest($16::UUID[], $17::BIGINT[], $18::UUID[], $19::BIGINT[], $20::TEXT[], $21::TEXT[], $22::TEXT[], $23::TEXT[]) \
            AS new (thread_id, place, run_id, ts, agent, agent_id, name, body) \
        JOIN advanced ON advanced.id = new.run_id JOIN numbered ON numbered.id = new.thread_id \
    ), stored_steps AS ( \
        INSERT INTO steps (run_id, key, kind, request_hash, value, started_at, finished_at, model, role, attempts, \
            input_tokens, cached_tokens, output_tokens, reasoning_tokens, input_hash, prompts, inherited, cost) \
        SELECT new.* FROM unnest($24::UUID[], $25::TEXT[], $26::TEXT[], $27::TEXT[], $28::TEXT[], $29::BIGINT[], $30::BIGINT[], \
            $31::TEXT[], $32::TEXT[], $33::BIGINT[], $34::BIGINT[], $35::BIGINT[], $36::BIGINT[], $37::BIGINT[], \
            $38::TEXT[], $39::TEXT[], $40::BOOLEAN[], $50::BIGINT[]) \
            AS new (run_id, key, kind, request_hash, value, started_at, finished_at, model, role, attempts, \
            input_tokens, cached_tokens, output_tokens, reasoning_tokens, input_hash, prompts, inherited, cost) \
        JOIN advanced ON advanced.id = new.run_id \
    ), stored_usage AS ( \
        INSERT INTO run_usage (run_id, model, calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost) \
        SELECT new.* FROM unnest($41::UUID[], $42::TEXT[], $43::BIGINT[], $44::BIGINT[], $45::BIGINT[], $46::BIGINT[], \
            $47::BIGINT[], $51::BIGINT[]) \
            AS new (run_id, model, calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost) \
        JOIN advanced ON advanced.id = new.run_id \
        ON CONFLICT (run_id, model) DO UPDATE SET ",
    added_usage!("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
    ", cost = COALESCE(run_usage.cost + excluded.cost, run_usage.cost, excluded.cost) ) SELECT id FROM advanced"
);

impl Engine {
    /// Writes the entries if none of them has more than steps and events. Returns the runs of which everything was
    /// written; of the others nothing was.
    pub(super) async fn write_at_once(&self, entries: &[Entry]) -> Result<HashSet<RunId>, Error> {
        let runs = Runs::of(entries);
        let ids: HashSet<RunId> = runs.rows.iter().map(|(lease, ..)| lease.run_id).collect();
        // Two leases of one run: rows below are distinguished by their run alone.
        if !entries.iter().all(is_plain) || ids.len() < runs.rows.len() {
            return Ok(HashSet::new());
        }
        let mut connection = self.writer().await?;
        let write = bind_runs(query(WRITE), &runs, entries);
        let write = bind_events(write, &runs)?;
        let write = bind_usage(bind_steps(write, &runs.steps), &runs.steps);
        let write = bind_costs(bind_waiting(write, &runs), &runs.steps);
        let rows = write.fetch_all(&mut *connection).await?;
        rows.iter().map(|row| Ok(RunId(row.try_get(0)?))).collect()
    }
}

fn is_plain(entry: &Entry) -> bool {
    let commit = &entry.commit;
    commit.sources.is_empty() && commit.notes.is_empty() && commit.finish.is_none()
}

/// What the entries of a group bring to each run.
struct Runs<'a> {
    rows: Vec<(Lease, Advance, i64)>,
    /// Each with its place among the new events of its thread, from 1.
    events: Vec<(ThreadId, i64, RunId, &'a NewEvent)>,
    steps: Vec<(RunId, &'a Step)>,
}

impl<'a> Runs<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let mut places: HashMap<(RunId, i64), usize> = HashMap::new();
        let mut runs = Self { rows: Vec::new(), events: Vec::new(), steps: Vec::new() };
        for entry in entries {
            let lease = entry.commit.lease;
            let place = *places.entry((lease.run_id, lease.epoch)).or_insert_with(|| {
                runs.rows.push((lease, Advance::default(), 0));
                runs.rows.len() - 1
            });
            let (_, advance, count) = &mut runs.rows[place];
            advance.take(entry);
            for event in &entry.commit.events {
                *count += 1;
                runs.events.push((lease.thread_id, *count, lease.run_id, event));
            }
            runs.steps.extend(entry.commit.steps.iter().map(|step| (lease.run_id, step)));
        }
        runs
    }
}

type Query<'q> = query::Query<'q, Db, PgArguments>;

fn bind_runs<'q>(query: Query<'q>, runs: &Runs<'_>, entries: &[Entry]) -> Query<'q> {
    let rows = &runs.rows;
    let mut query = query
        .bind(rows.iter().map(|(lease, ..)| lease.run_id.0).collect::<Vec<Uuid>>())
        .bind(rows.iter().map(|(lease, ..)| lease.thread_id.0).collect::<Vec<Uuid>>())
        .bind(rows.iter().map(|(lease, ..)| lease.epoch).collect::<Vec<i64>>())
        .bind(rows.iter().map(|(_, advance, _)| advance.stamp).collect::<Vec<Uuid>>())
        .bind(rows.iter().map(|(.., events)| *events).collect::<Vec<i64>>())
        .bind(rows.iter().map(|(_, advance, _)| advance.phase.map(Phase::as_str)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, advance, _)| i64::from(!advance.steps)).collect::<Vec<i64>>());
    for column in 0..Advance::default().counts.len() {
        query = query.bind(rows.iter().map(|(_, advance, _)| advance.counts[column]).collect::<Vec<i64>>());
    }
    query.bind(entries.iter().map(|entry| entry.stamp).collect::<Vec<Uuid>>())
}

fn bind_events<'q>(query: Query<'q>, runs: &Runs<'_>) -> Result<Query<'q>, Error> {
    let rows = &runs.events;
    let agents = rows.iter().map(|(.., new)| name_of(&new.scope.agent)).collect::<Result<Vec<String>, _>>()?;
    let bodies = rows.iter().map(|(.., new)| serde_json::to_string(&new.event)).collect::<Result<Vec<String>, _>>()?;
    Ok(query
        .bind(rows.iter().map(|(thread_id, ..)| thread_id.0).collect::<Vec<Uuid>>())
        .bind(rows.iter().map(|(_, place, ..)| *place).collect::<Vec<i64>>())
        .bind(rows.iter().map(|(_, _, run_id, _)| run_id.0).collect::<Vec<Uuid>>())
        .bind(rows.iter().map(|(.., new)| new.ts.0).collect::<Vec<i64>>())
        .bind(agents)
        .bind(rows.iter().map(|(.., new)| new.scope.id.as_deref().map(owned)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., new)| new.event.name()).collect::<Vec<_>>())
        .bind(bodies))
}

fn bind_steps<'q>(query: Query<'q>, steps: &[(RunId, &Step)]) -> Query<'q> {
    let text = |of: fn(&Step) -> &str| steps.iter().map(|(_, step)| owned(of(step))).collect::<Vec<String>>();
    let number = |of: fn(&Step) -> i64| steps.iter().map(|(_, step)| of(step)).collect::<Vec<i64>>();
    let of_call = |of: fn(&crate::store::CallRecord) -> i64| {
        steps.iter().map(|(_, step)| step.call.as_ref().map(of)).collect::<Vec<Option<i64>>>()
    };
    query
        .bind(steps.iter().map(|(run_id, _)| run_id.0).collect::<Vec<Uuid>>())
        .bind(text(|step| &step.key))
        .bind(text(|step| &step.kind))
        .bind(text(|step| &step.request_hash))
        .bind(text(|step| &step.value))
        .bind(number(|step| step.started_at.0))
        .bind(number(|step| step.finished_at.0))
        .bind(steps.iter().map(|(_, step)| step.call.as_ref().map(|call| owned(&call.model))).collect::<Vec<_>>())
        .bind(steps.iter().map(|(_, step)| step.call.as_ref().map(|call| owned(&call.role))).collect::<Vec<_>>())
        .bind(of_call(|call| i64::from(call.attempts)))
        .bind(of_call(|call| signed(call.usage.input_tokens)))
        .bind(of_call(|call| signed(call.usage.cached_tokens)))
        .bind(of_call(|call| signed(call.usage.output_tokens)))
        .bind(of_call(|call| signed(call.usage.reasoning_tokens)))
        .bind(text(|step| &step.input_hash))
        .bind(text(|step| &step.prompts))
        .bind(steps.iter().map(|(_, step)| step.inherited).collect::<Vec<bool>>())
}

fn bind_usage<'q>(query: Query<'q>, steps: &[(RunId, &Step)]) -> Query<'q> {
    let sums: Vec<_> = usage_sums(steps).into_iter().collect();
    let number = |of: fn(&ModelUsage) -> u64| sums.iter().map(|(_, sum)| signed(of(sum))).collect::<Vec<i64>>();
    query
        .bind(sums.iter().map(|((run_id, _), _)| run_id.0).collect::<Vec<Uuid>>())
        .bind(sums.iter().map(|((_, model), _)| owned(model)).collect::<Vec<String>>())
        .bind(number(|sum| sum.calls))
        .bind(number(|sum| sum.tokens.input_tokens))
        .bind(number(|sum| sum.tokens.cached_tokens))
        .bind(number(|sum| sum.tokens.output_tokens))
        .bind(number(|sum| sum.tokens.reasoning_tokens))
}

fn bind_waiting<'q>(query: Query<'q>, runs: &Runs<'_>) -> Query<'q> {
    query
        .bind(runs.rows.iter().map(|(_, advance, _)| advance.waiting_for()).collect::<Vec<Option<String>>>())
        .bind(runs.rows.iter().map(|(_, advance, _)| advance.waiting_until()).collect::<Vec<Option<i64>>>())
}

/// Of the steps, then of the sums.
fn bind_costs<'q>(query: Query<'q>, steps: &[(RunId, &Step)]) -> Query<'q> {
    let of_step = |step: &Step| step.call.as_ref().and_then(|call| call.usage.cost).map(|cost| signed(cost.0));
    let of_sum = |sum: &ModelUsage| sum.tokens.cost.map(|cost| signed(cost.0));
    query
        .bind(steps.iter().map(|(_, step)| of_step(step)).collect::<Vec<Option<i64>>>())
        .bind(usage_sums(steps).values().map(of_sum).collect::<Vec<Option<i64>>>())
}
