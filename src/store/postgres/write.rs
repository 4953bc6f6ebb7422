//! The rows of a group of commits in one statement, which is one round trip however many rows there are.
//!
//! Rows travel as one array per column, so the text never changes and is prepared once per connection.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _, sync::LazyLock};

use sqlx::{Row as _, postgres::PgArguments, query};
use uuid::Uuid;

use super::{Db, Engine};
use crate::store::{
    Error,
    group::{Group, Row},
    tables::{Column, EVENTS, NOTES, RUNS, SOURCES, STEPS, USAGE, Values, added_usage, advanced_columns, names},
};

type Connection = <Db as sqlx::Database>::Connection;
type Query<'q> = query::Query<'q, Db, PgArguments>;

/// Locks the rows of the runs whose lease holds, in the order of their ids, and writes what belongs to these. A commit
/// that is repeated finds one of its stamps there, and one with a page that the run has already gives that another id:
/// both are left to the transaction of [`Engine::commit`], which decides what becomes of them.
static WRITE: LazyLock<String> = LazyLock::new(|| {
    let mut next = 1;
    let stamps = parameter(&mut next, "UUID");
    let (given, events, steps) = (rows(&mut next, &RUNS), rows(&mut next, &EVENTS), rows(&mut next, &STEPS));
    let (usage, sources, notes) = (rows(&mut next, &USAGE), rows(&mut next, &SOURCES), rows(&mut next, &NOTES));
    let insert_of_run = |table: &str, columns: String, rows: &str| {
        let values = columns.replace(", ", ", new.");
        format!(
            "INSERT INTO {table} (run_id, {columns}) SELECT advanced.run_id, new.{values} \
             FROM {rows} JOIN advanced ON advanced.place = new.place"
        )
    };
    format!(
        "WITH given AS (SELECT new.* FROM {given}), \
         new_sources AS (SELECT new.* FROM {new_sources}), \
         known_pages AS ( \
             SELECT given.place FROM new_sources JOIN given ON given.place = new_sources.place \
             JOIN sources ON sources.run_id = given.run_id AND sources.url_hash = new_sources.url_hash), \
         held AS ( \
             SELECT runs.id FROM given JOIN runs ON runs.id = given.run_id \
             WHERE runs.status = 'running' AND runs.epoch = given.epoch \
             AND (runs.last_commit IS NULL OR runs.last_commit <> ALL ({stamps})) \
             AND (given.after IS NULL OR runs.last_commit = given.after::uuid) \
             AND NOT EXISTS (SELECT 1 FROM known_pages WHERE known_pages.place = given.place) \
             ORDER BY runs.id FOR UPDATE OF runs), \
         advanced AS ( \
             UPDATE runs SET {advanced} FROM held JOIN given ON given.run_id = held.id WHERE runs.id = held.id \
             RETURNING runs.id AS run_id, given.place, given.thread_id, given.events), \
         numbered AS ( \
             UPDATE threads SET last_seq = threads.last_seq + advanced.events FROM advanced \
             WHERE threads.id = advanced.thread_id AND advanced.events > 0 \
             RETURNING advanced.place, threads.last_seq - advanced.events AS before), \
         stored_events AS ( \
             INSERT INTO events (thread_id, seq, run_id, {event_columns}) \
             SELECT advanced.thread_id, numbered.before + new.number, advanced.run_id, {event_values} FROM {events} \
             JOIN advanced ON advanced.place = new.place JOIN numbered ON numbered.place = new.place), \
         stored_steps AS ({steps}), stored_sources AS ({sources}), stored_notes AS ({notes}), \
         stored_usage AS ({usage} ON CONFLICT (run_id, model) DO UPDATE SET {added_usage}) \
         SELECT advanced.place, COALESCE(numbered.before, \
             (SELECT last_seq FROM threads WHERE threads.id = advanced.thread_id)) AS before \
         FROM advanced LEFT JOIN numbered ON numbered.place = advanced.place",
        advanced = advanced_columns(),
        event_columns = names(&EVENTS, ""),
        event_values = names(&EVENTS, "new."),
        steps = insert_of_run("steps", names(&STEPS, ""), &steps),
        new_sources = sources,
        sources = insert_of_run("sources", names(&SOURCES, ""), "new_sources AS new"),
        notes = insert_of_run("notes", names(&NOTES, ""), &notes),
        usage = insert_of_run("run_usage", names(&USAGE, ""), &usage),
        added_usage = added_usage(),
    )
});

/// Returns the next parameter, an array of that type.
fn parameter(next: &mut u32, kind: &str) -> String {
    let parameter = format!("${next}::{kind}[]");
    *next += 1;
    parameter
}

/// Returns the rows of a table as parameters, called `new`.
fn rows<T>(next: &mut u32, columns: &[Column<T>]) -> String {
    let mut arrays = format!("unnest({}, {}", parameter(next, "BIGINT"), parameter(next, "BIGINT"));
    for column in columns {
        let kind = match column.values {
            Values::Id(_) => "UUID",
            Values::Hash(_) => "BYTEA",
            Values::Flag(_) => "BOOLEAN",
            Values::Number(_) => "BIGINT",
            Values::Real(_) => "DOUBLE PRECISION",
            Values::Text(_) | Values::Snapshot(_) => "TEXT",
        };
        // Writing to a string cannot fail.
        let _ = write!(arrays, ", {}", parameter(next, kind));
    }
    format!("{arrays}) AS new (place, number, {})", names(columns, ""))
}

impl Engine {
    /// Writes a group over the connection that is there for it; answers with the places of the runs of which everything
    /// was written, and the number before the first event of each. Of the others nothing was.
    pub(super) async fn write_alone(&self, group: &Group<'_>) -> Result<HashMap<usize, i64>, Error> {
        let mut connection = self.commits.acquire(&self.trust).await?;
        let written = write_group(connection.get()?, group).await;
        // After any other error something may still be under way on it.
        if matches!(&written, Ok(_) | Err(Error::Corrupt(_) | Error::Contended(_))) {
            connection.give_back();
        }
        written
    }
}

/// Writes a group; answers as [`Engine::write_alone`] does.
pub(super) async fn write_group(connection: &mut Connection, group: &Group<'_>) -> Result<HashMap<usize, i64>, Error> {
    let runs: Vec<_> = group.runs.iter().enumerate().map(|(place, run)| (as_number(place), 0, run)).collect();
    let write = query(&WRITE).bind(&group.stamps);
    let write = bind(write, &RUNS, &runs);
    let write = bind(write, &EVENTS, &cells(&group.events));
    let write = bind(write, &STEPS, &cells(&group.steps));
    let write = bind(write, &USAGE, &cells(&group.usage));
    let write = bind(write, &SOURCES, &cells(&group.sources));
    let write = bind(write, &NOTES, &cells(&group.notes));
    let rows = write.fetch_all(connection).await?;
    let written = |row: &sqlx::postgres::PgRow| {
        let place = usize::try_from(row.try_get::<i64, _>("place")?).unwrap_or(usize::MAX);
        Ok((place, row.try_get("before")?))
    };
    rows.iter().map(written).collect()
}

fn as_number(place: usize) -> i64 {
    crate::store::values::signed(place)
}

/// Returns place, number and values of each row.
fn cells<'r, T: Clone>(rows: &'r [Row<'_, T>]) -> Vec<(i64, i64, &'r T)> {
    rows.iter().map(|row| (as_number(row.run), row.number, &*row.row)).collect()
}

fn bind<'q, T>(mut query: Query<'q>, columns: &[Column<T>], rows: &[(i64, i64, &'q T)]) -> Query<'q> {
    query = query.bind(rows.iter().map(|(place, ..)| *place).collect::<Vec<i64>>());
    query = query.bind(rows.iter().map(|(_, number, _)| *number).collect::<Vec<i64>>());
    let values = || rows.iter().map(|(.., row)| *row);
    for column in columns {
        query = match column.values {
            Values::Id(of) => query.bind(values().map(of).collect::<Vec<Uuid>>()),
            Values::Hash(of) => query.bind(values().map(of).collect::<Vec<Vec<u8>>>()),
            Values::Flag(of) => query.bind(values().map(of).collect::<Vec<bool>>()),
            Values::Number(of) => query.bind(values().map(of).collect::<Vec<Option<i64>>>()),
            Values::Real(of) => query.bind(values().map(of).collect::<Vec<Option<f64>>>()),
            Values::Text(of) => query.bind(values().map(of).collect::<Vec<Option<Cow<'q, str>>>>()),
            Values::Snapshot(of) => query.bind(values().map(of).collect::<Vec<Cow<'q, str>>>()),
        };
    }
    query
}
