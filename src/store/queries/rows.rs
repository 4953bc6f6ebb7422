//! Between rows and domain values, and many rows in one statement.

use std::borrow::Cow;

use serde::{de::DeserializeOwned, de::IntoDeserializer, de::value::StrDeserializer};
use sqlx::{QueryBuilder, Row as _, query_builder::Separated};
use uuid::Uuid;

use super::{Db, Row};
use crate::{
    domain::{
        Failure, Owner, Progress, Researchers, Run, RunId, RunStatus, ThreadId, Timestamp, Waiting, event::Phase,
    },
    store::{
        Cursor, Error,
        tables::{Column, Values},
        values::clean,
    },
};

/// The most rows of one list in a statement.
const MAX_ROWS: usize = 128;

/// Appends the values of a row.
pub fn push_values<T>(values: &mut Separated<'_, '_, Db, &'static str>, columns: &[Column<T>], row: &T) {
    for column in columns {
        match column.values {
            Values::Id(of) => values.push_bind(of(row)),
            Values::Hash(of) => values.push_bind(of(row)),
            Values::Flag(of) => values.push_bind(of(row)),
            Values::Number(of) => values.push_bind(of(row)),
            Values::Real(of) => values.push_bind(of(row)),
            Values::Text(of) => values.push_bind(of(row).map(Cow::into_owned)),
            Values::Snapshot(of) => values.push_bind(of(row).into_owned()),
        };
    }
}

/// Cuts rows into pieces of few different sizes (up to eight, then powers of two), so that there are few distinct
/// statements and the cache of prepared ones holds them all.
pub fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = match rows.len() {
            0 => return None,
            few @ 1..=8 => few,
            many => 1 << many.min(MAX_ROWS).ilog2(),
        };
        let (piece, rest) = rows.split_at(size);
        rows = rest;
        Some(piece)
    })
}

/// Cleans as [`clean`] does, for what the driver takes by value.
pub fn owned(text: &str) -> String {
    clean(text).into_owned()
}

/// Lets only the rows of that owner through, whom `column` names; all, if there is none.
pub fn push_owner(select: &mut QueryBuilder<'_, Db>, column: &str, owner: Option<&Owner>) {
    if let Some(owner) = owner {
        select.push(format_args!(" AND {column} = ")).push_bind(owned(owner.as_str()));
    }
}

/// Returns the variant of that stored name; each such type writes it by `as_str`.
pub fn named<T: DeserializeOwned>(name: &str) -> Result<T, Error> {
    let name: StrDeserializer<'_, serde_json::Error> = name.into_deserializer();
    Ok(T::deserialize(name)?)
}

/// Returns the place of a row in a list by its time.
pub fn cursor(row: &Row) -> Result<Cursor, Error> {
    Ok(Cursor { at: row.try_get("created_at")?, id: row.try_get("id")? })
}

/// Returns a count that may not be negative.
pub fn unsigned<T: TryFrom<i64>>(value: i64) -> Result<T, Error> {
    T::try_from(value).map_err(|_| Error::Corrupt(format!("{value} is out of range")))
}

/// The columns [`run`] reads.
macro_rules! run_columns {
    () => {
        "runs.id, runs.thread_id, runs.status, runs.outcome, runs.error_code, runs.error_message, runs.options, \
         runs.created_at, runs.started_at, runs.finished_at, runs.cancel_requested, runs.phase, runs.iterations, \
         runs.researchers_started, runs.researchers_finished, runs.researchers_failed, runs.searches, \
         runs.sources_found, runs.warnings, runs.waiting_for, runs.retry_of, \
         runs.limited_by"
    };
}
pub(super) use run_columns;

/// Reads a run from its columns.
pub fn run(row: &Row) -> Result<Run, Error> {
    Ok(Run {
        id: RunId(row.try_get("id")?),
        thread_id: ThreadId(row.try_get("thread_id")?),
        status: named(row.try_get("status")?)?,
        outcome: row.try_get::<Option<&str>, _>("outcome")?.map(named).transpose()?,
        error: failure(row)?,
        options: serde_json::from_str(row.try_get("options")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        started_at: row.try_get::<Option<i64>, _>("started_at")?.map(Timestamp),
        finished_at: row.try_get::<Option<i64>, _>("finished_at")?.map(Timestamp),
        cancel_requested: row.try_get("cancel_requested")?,
        limited_by: row.try_get("limited_by")?,
        progress: progress(row)?,
        retry_of: row.try_get::<Option<Uuid>, _>("retry_of")?.map(RunId),
    })
}

fn progress(row: &Row) -> Result<Progress, Error> {
    let count = |column: &str| unsigned::<u64>(row.try_get(column)?);
    let (finished, failed) = (count("researchers_finished")?, count("researchers_failed")?);
    let status: RunStatus = named(row.try_get("status")?)?;
    // Those that a run's own end cut off say nothing.
    let running = if status.is_final() { 0 } else { count("researchers_started")?.saturating_sub(finished + failed) };
    // What a run that nobody works on waited for says nothing; nor does what only another release can read.
    let waiting_for = row.try_get::<Option<&str>, _>("waiting_for")?.filter(|_| status == RunStatus::Running);
    let waiting_for: Option<Waiting> = waiting_for.and_then(|json| serde_json::from_str(json).ok());
    // A phase that only a newer release knows is none to this one.
    let phase = row.try_get::<Option<&str>, _>("phase")?.and_then(|phase| named(phase).ok());
    Ok(Progress {
        phase: if waiting_for.is_some() { Some(Phase::Waiting) } else { phase },
        waiting_for,
        iterations: count("iterations")?,
        researchers: Researchers { running, finished, failed },
        searches: count("searches")?,
        sources: count("sources_found")?,
        warnings: count("warnings")?,
    })
}

fn failure(row: &Row) -> Result<Option<Failure>, Error> {
    let (code, message): (Option<&str>, Option<String>) = (row.try_get("error_code")?, row.try_get("error_message")?);
    code.zip(message).map(|(code, message)| Ok(Failure { code: named(code)?, message })).transpose()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        domain::{Agent, FailureCode, Outcome},
        store::StepKind,
    };

    #[test]
    fn pieces_have_few_sizes_and_lose_nothing() {
        let mut sizes = BTreeSet::new();
        for count in 0..400 {
            let rows: Vec<usize> = (0..count).collect();
            sizes.extend(pieces(&rows).map(<[usize]>::len));
            assert_eq!(pieces(&rows).flatten().copied().collect::<Vec<_>>(), rows);
        }
        assert_eq!(Vec::from_iter(sizes), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128]);
    }

    #[test]
    fn names_come_back() {
        for status in RunStatus::ALL {
            assert_eq!(named::<RunStatus>(status.as_str()).unwrap(), status);
        }
        for kind in [StepKind::Model, StepKind::Search, StepKind::Tool, StepKind::Mark, StepKind::Value] {
            assert_eq!(named::<StepKind>(kind.as_str()).unwrap(), kind);
        }
        for agent in [Agent::Root, Agent::Supervisor, Agent::Researcher] {
            assert_eq!(named::<Agent>(agent.as_str()).unwrap(), agent);
        }
        for outcome in [Outcome::Report, Outcome::Clarification, Outcome::Answer] {
            assert_eq!(named::<Outcome>(outcome.as_str()).unwrap(), outcome);
        }
        assert_eq!(named::<FailureCode>(FailureCode::NoEvidence.as_str()).unwrap(), FailureCode::NoEvidence);
        assert_eq!(named::<FailureCode>("of_a_newer_release").unwrap(), FailureCode::Internal);
        assert_eq!(named::<StepKind>("of_a_newer_release").unwrap(), StepKind::Value);
        assert!(named::<Outcome>("nonsense").is_err());
    }
}
