//! The columns that commits fill, each named once: both engines make their statements of these lists.
//!
//! What a row belongs to (its run, its thread, its number) is not among them: the statements add it.

use std::{borrow::Cow, fmt::Write as _};

use uuid::Uuid;

use super::{
    EventRow, Step,
    group::{RunRow, UsageRow},
    values::{clean, signed},
};
use crate::domain::{Note, Source, digest, event::Phase};

/// A column and where its values come from.
pub struct Column<T> {
    pub name: &'static str,
    pub values: Values<T>,
}

/// The value of a column in a row, by the type that both engines keep it as.
pub enum Values<T> {
    Id(fn(&T) -> Uuid),
    Hash(fn(&T) -> Vec<u8>),
    Flag(fn(&T) -> bool),
    Number(fn(&T) -> Option<i64>),
    Real(fn(&T) -> Option<f64>),
    /// Without NUL characters; see [`clean`].
    Text(for<'a> fn(&'a T) -> Option<Cow<'a, str>>),
    /// The text of a source, of up to some megabytes, without NUL characters, and no other column: Postgres compresses
    /// it by itself; SQLite's driver does, into the column `compressed`, and leaves this one empty.
    Snapshot(for<'a> fn(&'a T) -> Cow<'a, str>),
}

const fn id<T>(name: &'static str, of: fn(&T) -> Uuid) -> Column<T> {
    Column { name, values: Values::Id(of) }
}

const fn number<T>(name: &'static str, of: fn(&T) -> Option<i64>) -> Column<T> {
    Column { name, values: Values::Number(of) }
}

const fn text<T>(name: &'static str, of: for<'a> fn(&'a T) -> Option<Cow<'a, str>>) -> Column<T> {
    Column { name, values: Values::Text(of) }
}

/// What is known of a run at the beginning of a statement, and what is added to its row.
pub static RUNS: [Column<RunRow>; 10 + COUNTS.len()] = [
    id("run_id", |run| run.lease.run_id.0),
    id("thread_id", |run| run.lease.thread_id.0),
    number("epoch", |run| Some(run.lease.epoch)),
    id("stamp", |run| run.stamp),
    text("after", |run| run.after.map(|stamp| Cow::Owned(stamp.simple().to_string()))),
    number("events", |run| Some(run.events)),
    text("phase", |run| run.change.phase.map(Phase::as_str).map(Cow::Borrowed)),
    number("keeps_deaths", |run| Some(i64::from(!run.has_steps))),
    text("waiting_for", |run| run.waiting_for().map(Cow::Owned)),
    number("waiting_until", RunRow::waiting_until),
    number(COUNTS[0], |run| Some(signed(run.change.iterations))),
    number(COUNTS[1], |run| Some(signed(run.change.researchers_started))),
    number(COUNTS[2], |run| Some(signed(run.change.researchers_finished))),
    number(COUNTS[3], |run| Some(signed(run.change.researchers_failed))),
    number(COUNTS[4], |run| Some(signed(run.change.searches))),
    number(COUNTS[5], |run| Some(signed(run.change.sources_found))),
    number(COUNTS[6], |run| Some(signed(run.change.warnings))),
];

/// The sums of a run's progress.
const COUNTS: [&str; 7] = [
    "iterations",
    "researchers_started",
    "researchers_finished",
    "researchers_failed",
    "searches",
    "sources_found",
    "warnings",
];

pub static EVENTS: [Column<EventRow>; 5] = [
    number("ts", |event| Some(event.ts.0)),
    text("agent", |event| Some(clean(&event.agent))),
    text("agent_id", |event| event.agent_id.as_deref().map(clean)),
    text("name", |event| Some(clean(&event.name))),
    text("body", |event| Some(clean(&event.body))),
];

pub static STEPS: [Column<Step>; 17] = [
    text("key", |step| Some(clean(&step.key))),
    text("kind", |step| Some(Cow::Borrowed(step.kind.as_str()))),
    text("request_hash", |step| Some(clean(&step.request_hash))),
    text("input_hash", |step| Some(clean(&step.input_hash))),
    text("prompts", |step| Some(clean(&step.prompts))),
    Column { name: "inherited", values: Values::Flag(|step| step.inherited) },
    text("value", |step| Some(clean(&step.value))),
    number("started_at", |step| Some(step.started_at.0)),
    number("finished_at", |step| Some(step.finished_at.0)),
    text("model", |step| step.call.as_ref().map(|call| clean(&call.model))),
    text("role", |step| step.call.as_ref().map(|call| clean(&call.role))),
    number("attempts", |step| step.call.as_ref().map(|call| i64::from(call.attempts))),
    number("input_tokens", |step| step.call.as_ref().map(|call| signed(call.usage.input_tokens))),
    number("cached_tokens", |step| step.call.as_ref().map(|call| signed(call.usage.cached_tokens))),
    number("output_tokens", |step| step.call.as_ref().map(|call| signed(call.usage.output_tokens))),
    number("reasoning_tokens", |step| step.call.as_ref().map(|call| signed(call.usage.reasoning_tokens))),
    number("cost", |step| step.call.as_ref()?.usage.cost.map(|cost| signed(cost.0))),
];

pub static USAGE: [Column<UsageRow>; 7] = [
    text("model", |row| Some(clean(&row.model))),
    number("calls", |row| Some(signed(row.sum.calls))),
    number("input_tokens", |row| Some(signed(row.sum.tokens.input_tokens))),
    number("cached_tokens", |row| Some(signed(row.sum.tokens.cached_tokens))),
    number("output_tokens", |row| Some(signed(row.sum.tokens.output_tokens))),
    number("reasoning_tokens", |row| Some(signed(row.sum.tokens.reasoning_tokens))),
    number("cost", |row| row.sum.tokens.cost.map(|cost| signed(cost.0))),
];

pub static SOURCES: [Column<Source>; 15] = [
    number("id", |source| Some(i64::from(source.id.0))),
    // Numbers alone, so that it cannot fail.
    text("aliases", |source| Some(Cow::Owned(serde_json::to_string(&source.aliases).unwrap_or_default()))),
    text("url", |source| Some(clean(&source.url))),
    Column { name: "url_hash", values: Values::Hash(|source| url_hash(&source.url)) },
    text("title", |source| Some(clean(&source.title))),
    text("section", |source| source.section.as_deref().map(clean)),
    text("engine", |source| Some(clean(&source.engine))),
    Column { name: "score", values: Values::Real(|source| source.score) },
    text("published", |source| source.published.as_deref().map(clean)),
    text("author", |source| source.author.as_deref().map(clean)),
    text("site", |source| source.site.as_deref().map(clean)),
    number("fetched_at", |source| Some(source.fetched_at.0)),
    text("content_hash", |source| Some(clean(&source.content_hash))),
    Column { name: "snapshot", values: Values::Snapshot(|source| clean(&source.snapshot)) },
    // Hexadecimal numbers and words of our own, so that it cannot fail.
    text("keys", |source| Some(Cow::Owned(serde_json::to_string(&source.keys).unwrap_or_default()))),
];

pub static NOTES: [Column<Note>; 3] = [
    number("researcher", |note| Some(i64::from(note.researcher))),
    text("topic", |note| Some(clean(&note.topic))),
    text("text", |note| Some(clean(&note.text))),
];

/// Returns the SHA-256 of an address, by which a page is known in its run.
pub fn url_hash(url: &str) -> Vec<u8> {
    digest::sha256(url.as_bytes()).to_vec()
}

/// Returns the columns' names, each behind `prefix`, separated by commas.
pub fn names<T>(columns: &[Column<T>], prefix: &str) -> String {
    let mut names = String::new();
    for column in columns {
        let comma = if names.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(names, "{comma}{prefix}{}", column.name);
    }
    names
}

/// Returns what a row of `runs` takes over from its row of `given`: stamp, progress, and that a stored step clears what
/// was counted against the run.
pub fn advanced_columns() -> String {
    let mut set = String::from(
        "last_commit = given.stamp, phase = COALESCE(given.phase, runs.phase), \
         deaths = runs.deaths * given.keeps_deaths, unexplained = runs.unexplained * given.keeps_deaths, \
         suspect_since = runs.suspect_since * given.keeps_deaths, \
         waiting_for = COALESCE(given.waiting_for, runs.waiting_for), \
         waiting_until = COALESCE(given.waiting_until, runs.waiting_until)",
    );
    for count in COUNTS {
        let _ = write!(set, ", {count} = runs.{count} + given.{count}");
    }
    set
}

/// Returns how a model's usage is added to the run's. A sum stops at the largest number there is: a run must not end
/// because a gateway reports nonsense.
pub fn added_usage() -> String {
    let mut set = String::from("calls = run_usage.calls + excluded.calls");
    for column in ["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"] {
        let _ = write!(
            set,
            ", {column} = CASE WHEN run_usage.{column} > {max} - excluded.{column} THEN {max} \
             ELSE run_usage.{column} + excluded.{column} END",
            max = i64::MAX
        );
    }
    set + ", cost = COALESCE(run_usage.cost + excluded.cost, run_usage.cost, excluded.cost)"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_with_their_prefix() {
        assert_eq!(names(&NOTES, "new."), "new.researcher, new.topic, new.text");
    }
}
