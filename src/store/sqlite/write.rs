//! The rows of a group of commits in one statement.
//!
//! Each statement is a journey to the connection's thread and back, which costs more than the statement itself. So a
//! group is one row of a view of the connection's own, its tables as JSON; a trigger takes it apart. A statement is a
//! transaction of its own unless it is in one, so that nothing is left behind by one that fails.

use std::{
    collections::HashMap,
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use serde_json::Value;
use sqlx::{Row as _, query};

use super::{
    Db, Engine,
    texts::{COMPRESSED, packed},
};
use crate::domain::digest::hex;
use crate::store::{
    Error,
    group::{Group, Row},
    tables::{Column, EVENTS, NOTES, RUNS, SOURCES, STEPS, USAGE, Values, added_usage, advanced_columns, names},
};

type Connection = <Db as sqlx::Database>::Connection;

const WRITE: &str = "INSERT INTO commits (runs, stamps, events, steps, usage, sources, notes) \
    VALUES ($1, $2, $3, $4, $5, $6, $7); SELECT place, before FROM numbered";

/// What a connection that writes is given when it is opened. The trigger refuses a group in which one lease does not
/// hold or one stamp is there already: [`Engine::commit`]'s transaction then tells what became of each commit.
pub(super) static OBJECTS: LazyLock<String> = LazyLock::new(|| {
    let insert_of_run = |table: &str, columns: String, rows: &str| {
        let values = columns.replace(", ", ", new_row.");
        format!(
            "INSERT INTO {table} (run_id, {columns}) SELECT numbered.run_id, new_row.{values} \
             FROM {rows} AS new_row CROSS JOIN numbered WHERE numbered.place = new_row.place"
        )
    };
    format!(
        "PRAGMA temp_store = MEMORY; \
         CREATE TEMP TABLE numbered \
             (place INTEGER PRIMARY KEY, run_id BLOB NOT NULL, thread_id BLOB NOT NULL, before INTEGER NOT NULL) STRICT; \
         CREATE TEMP VIEW commits (runs, stamps, events, steps, usage, sources, notes) \
             AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL; \
         CREATE TEMP TRIGGER write_commits INSTEAD OF INSERT ON commits BEGIN \
         DELETE FROM numbered; \
         SELECT RAISE(ABORT, 'not all of the group can be written') WHERE EXISTS ( \
             SELECT 1 FROM {given} AS given LEFT JOIN runs ON runs.id = given.run_id \
             WHERE runs.id IS NULL OR runs.status <> 'running' OR runs.epoch <> given.epoch \
             OR (given.after IS NOT NULL AND runs.last_commit IS NOT unhex(given.after)) \
             OR runs.last_commit IN (SELECT unhex(value) FROM json_each(NEW.stamps))); \
         UPDATE runs SET {advanced} FROM {given} AS given WHERE runs.id = given.run_id; \
         UPDATE threads SET last_seq = last_seq + given.events FROM {given} AS given \
             WHERE threads.id = given.thread_id AND given.events > 0; \
         INSERT INTO numbered (place, run_id, thread_id, before) \
             SELECT given.place, given.run_id, given.thread_id, threads.last_seq - given.events \
             FROM {given} AS given CROSS JOIN threads WHERE threads.id = given.thread_id; \
         INSERT INTO events (thread_id, seq, run_id, {event_columns}) \
             SELECT numbered.thread_id, numbered.before + new_row.number, numbered.run_id, {event_values} \
             FROM {events} AS new_row CROSS JOIN numbered WHERE numbered.place = new_row.place; \
         {steps}; {sources}; {notes}; \
         {usage} ON CONFLICT (run_id, model) DO UPDATE SET {added_usage}; \
         END",
        given = rows("runs", &RUNS),
        advanced = advanced_columns(),
        event_columns = names(&EVENTS, ""),
        event_values = names(&EVENTS, "new_row."),
        events = rows("events", &EVENTS),
        steps = insert_of_run("steps", names(&STEPS, ""), &rows("steps", &STEPS)),
        sources = insert_of_run("sources", names(&SOURCES, "") + ", " + COMPRESSED, &rows("sources", &SOURCES)),
        notes = insert_of_run("notes", names(&NOTES, ""), &rows("notes", &NOTES)),
        usage = insert_of_run("run_usage", names(&USAGE, ""), &rows("usage", &USAGE)),
        added_usage = added_usage(),
    )
});

/// Returns the rows of a table, from the JSON that [`json`] makes of them.
///
/// SQLite writes a value of `json_each` as text each time it is asked for, which is once for each column. So each row
/// is made binary once; without the limit, which leaves out nothing, both selects would be merged into one that does
/// not.
fn rows<T>(table: &str, columns: &[Column<T>]) -> String {
    let mut select = String::from("(SELECT cells ->> 0 AS place, cells ->> 1 AS number");
    for (place, column) in (2..).zip(columns) {
        // Writing to a string cannot fail.
        let _ = match column.values {
            Values::Id(_) | Values::Hash(_) => write!(select, ", unhex(cells ->> {place}) AS {}", column.name),
            Values::Snapshot(_) => {
                write!(select, ", '' AS {}, unhex(cells ->> {place}) AS {COMPRESSED}", column.name)
            }
            _ => write!(select, ", cells ->> {place} AS {}", column.name),
        };
    }
    format!(
        "{select} FROM (SELECT jsonb(value) AS cells FROM json_each(NEW.{table}) LIMIT -1) WHERE cells IS NOT NULL)"
    )
}

impl Engine {
    /// Writes a group in a transaction of its own; answers with the places of the runs of which everything was written,
    /// and the number before the first event of each. That is all of them or none.
    pub(super) async fn write_alone(&self, group: &Group<'_>) -> Result<HashMap<usize, i64>, Error> {
        let mut writer = self.writer().await?;
        match write_group(&mut writer, group).await {
            Err(Error::Corrupt(_)) => Ok(HashMap::new()),
            answer => answer,
        }
    }
}

/// Writes a group; answers as [`Engine::write_alone`] does, [`Error::Corrupt`] for none.
pub(super) async fn write_group(connection: &mut Connection, group: &Group<'_>) -> Result<HashMap<usize, i64>, Error> {
    let runs: Vec<_> = group.runs.iter().enumerate().map(|(place, run)| (place, 0, run)).collect();
    let stamps: Value = group.stamps.iter().map(|stamp| stamp.simple().to_string()).collect();
    let texts = packed(group.sources.iter().map(|source| Arc::clone(&source.row.snapshot)).collect()).await?;
    let write = query(WRITE)
        .bind(json(&RUNS, &runs, &[]))
        .bind(stamps.to_string())
        .bind(json(&EVENTS, &cells(&group.events), &[]))
        .bind(json(&STEPS, &cells(&group.steps), &[]))
        .bind(json(&USAGE, &cells(&group.usage), &[]))
        .bind(json(&SOURCES, &cells(&group.sources), &texts))
        .bind(json(&NOTES, &cells(&group.notes), &[]));
    let rows = write.fetch_all(connection).await?;
    let written = |row: &sqlx::sqlite::SqliteRow| {
        let place = usize::try_from(row.try_get::<i64, _>("place")?).unwrap_or(usize::MAX);
        Ok((place, row.try_get("before")?))
    };
    rows.iter().map(written).collect()
}

/// Returns place, number and values of each row.
fn cells<'r, T: Clone>(rows: &'r [Row<'_, T>]) -> Vec<(usize, i64, &'r T)> {
    rows.iter().map(|row| (row.run, row.number, &*row.row)).collect()
}

/// Returns an array with an array per row: place, number, and the columns in their order. `long` has the one long text
/// of each row, if there is one, as [`packed`] makes it.
fn json<T>(columns: &[Column<T>], rows: &[(usize, i64, &T)], long: &[String]) -> String {
    let mut json = String::from("[");
    for (at, (place, number, row)) in rows.iter().enumerate() {
        let comma = if json.len() > 1 { "," } else { "" };
        let _ = write!(json, "{comma}[{place},{number}");
        for column in columns {
            json.push(',');
            push(&mut json, &column.values, row, long.get(at).map_or("", String::as_str));
        }
        json.push(']');
    }
    json.push(']');
    json
}

fn push<T>(json: &mut String, values: &Values<T>, row: &T, long: &str) {
    // Neither writing to a string nor such values as JSON can fail.
    let _ = match values {
        Values::Id(of) => write!(json, "\"{}\"", of(row).simple()),
        Values::Hash(of) => write!(json, "\"{}\"", hex(&of(row))),
        Values::Flag(of) => write!(json, "{}", of(row)),
        Values::Number(of) => write!(json, "{}", or_null(of(row))),
        Values::Real(of) => write!(json, "{}", or_null(of(row).filter(|number| number.is_finite()))),
        Values::Text(of) => {
            match of(row) {
                Some(text) => push_text(json, &text),
                None => json.push_str("null"),
            }
            Ok(())
        }
        Values::Snapshot(_) => write!(json, "\"{long}\""),
    };
}

fn or_null<N: Into<Value>>(number: Option<N>) -> Value {
    number.map_or(Value::Null, Into::into)
}

/// Writes text as JSON: what needs an escape is rare, so whole stretches are copied.
fn push_text(json: &mut String, text: &str) {
    json.push('"');
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        json.push_str(&rest[..place]);
        let _ = match rest.as_bytes()[place] {
            byte @ (b'"' | b'\\') => write!(json, "\\{}", char::from(byte)),
            b'\n' => write!(json, "\\n"),
            byte => write!(json, "\\u{byte:04x}"),
        };
        rest = &rest[place + 1..];
    }
    json.push_str(rest);
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_the_same_as_what_serde_makes_of_it() {
        for text in ["", "plain", "\"quoted\" \\ back\n\t\r\u{1}\u{1f}", "ünï🦀\u{2028}", "\u{7f}"] {
            let mut json = String::new();
            push_text(&mut json, text);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
