//! What the commits of a group bring, table by table, each row with the place of its run in the group.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

use uuid::Uuid;

use super::{
    Commit, Entry, EventRow, Finish, Lease, Step,
    values::{clean, signed},
};
use crate::domain::{ModelUsage, Note, ProgressChange, Source, Waiting};

/// The rows of a group.
#[derive(Default)]
pub struct Group<'a> {
    pub runs: Vec<RunRow>,
    pub events: Vec<Row<'a, EventRow>>,
    pub steps: Vec<Row<'a, Step>>,
    pub usage: Vec<Row<'a, UsageRow>>,
    pub sources: Vec<Row<'a, Source>>,
    pub notes: Vec<Row<'a, Note>>,
    pub finishes: Vec<(usize, &'a Commit, &'a Finish)>,
    /// Of all entries.
    pub stamps: Vec<Uuid>,
}

/// A row of a table.
pub struct Row<'a, T: Clone> {
    /// The place of its run in [`Group::runs`].
    pub run: usize,
    /// Its number among the rows of its run, from 1.
    pub number: i64,
    pub row: Cow<'a, T>,
}

/// What a run's row takes over from the commits of a group.
pub struct RunRow {
    pub lease: Lease,
    /// Of its newest entry.
    pub stamp: Uuid,
    /// The stamp that its oldest entry follows.
    pub after: Option<Uuid>,
    /// How many events it gets.
    pub events: i64,
    /// Steps were stored: a worker that died before did not die of the next one.
    pub has_steps: bool,
    pub change: ProgressChange,
}

/// The calls of one model in a group.
#[derive(Clone)]
pub struct UsageRow {
    pub model: String,
    pub sum: ModelUsage,
}

impl RunRow {
    /// Returns what `runs.waiting_for` becomes: JSON, empty when no call waits; `None` when it stays as it is.
    pub fn waiting_for(&self) -> Option<String> {
        let json = |waiting: &Waiting| serde_json::to_string(waiting).map(|json| clean(&json).into_owned());
        let waiting = self.change.waiting.as_ref()?;
        Some(waiting.as_ref().map(json).and_then(Result::ok).unwrap_or_default())
    }

    /// Returns what `runs.waiting_until` becomes, 0 when no call waits.
    pub fn waiting_until(&self) -> Option<i64> {
        self.change.waiting.as_ref().map(|waiting| waiting.as_ref().map_or(0, |waiting| waiting.until.0))
    }
}

impl<'a> Group<'a> {
    pub fn of(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut group = Self::default();
        let mut places = HashMap::new();
        let mut usage = BTreeMap::new();
        let mut pages = HashMap::new();
        for entry in entries {
            let lease = entry.commit.lease;
            let run = *places.entry((lease.run_id, lease.epoch)).or_insert_with(|| {
                group.runs.push(RunRow::new(lease, entry.after));
                group.runs.len() - 1
            });
            group.stamps.push(entry.stamp);
            group.runs[run].take(entry);
            group.add_log(run, entry, &mut usage);
            group.add_research(run, &entry.commit, &mut pages);
        }
        let row = |((run, model), sum): ((usize, &str), ModelUsage)| {
            let row = UsageRow { model: model.to_owned(), sum };
            Row { run, number: 1, row: Cow::Owned(row) }
        };
        group.usage = usage.into_iter().map(row).collect();
        group
    }

    fn add_log(&mut self, run: usize, entry: &'a Entry, usage: &mut BTreeMap<(usize, &'a str), ModelUsage>) {
        let before = self.runs[run].events - signed_len(&entry.events);
        let numbered = entry.events.iter().zip(before + 1..);
        self.events.extend(numbered.map(|(event, number)| Row { run, number, row: Cow::Borrowed(event) }));
        for step in &entry.commit.steps {
            self.steps.push(Row { run, number: 1, row: Cow::Borrowed(step) });
            // What was taken over is counted where it was paid for.
            if let Some(call) = step.call.as_ref().filter(|_| !step.inherited) {
                let sum = usage.entry((run, call.model.as_str())).or_default();
                sum.calls += 1;
                sum.tokens += call.usage;
            }
        }
    }

    /// Adds the sources, the notes and the end that a commit brings. A page that comes twice is one source with the
    /// ids of both.
    fn add_research(&mut self, run: usize, commit: &'a Commit, pages: &mut HashMap<(usize, &'a str), usize>) {
        for source in &commit.sources {
            match pages.get(&(run, source.url.as_str())) {
                Some(place) => {
                    let first = self.sources[*place].row.to_mut();
                    let ids = source.aliases.iter().copied().chain([source.id]);
                    Source::join_ids(&mut first.id, &mut first.aliases, ids);
                }
                None => {
                    pages.insert((run, source.url.as_str()), self.sources.len());
                    self.sources.push(Row { run, number: 1, row: Cow::Borrowed(source) });
                }
            }
        }
        self.notes.extend(commit.notes.iter().map(|note| Row { run, number: 1, row: Cow::Borrowed(note) }));
        self.finishes.extend(commit.finish.as_ref().map(|finish| (run, commit, finish)));
    }

    /// Returns whether nothing has to be looked up or decided to write it, unless the database says so: no run ends,
    /// and none is there under two leases.
    pub fn is_plain(&self) -> bool {
        let ids: HashSet<_> = self.runs.iter().map(|run| run.lease.run_id).collect();
        self.finishes.is_empty() && ids.len() == self.runs.len()
    }
}

impl RunRow {
    fn new(lease: Lease, after: Option<Uuid>) -> Self {
        Self { lease, stamp: Uuid::nil(), after, events: 0, has_steps: false, change: ProgressChange::default() }
    }

    fn take(&mut self, entry: &Entry) {
        self.stamp = entry.stamp;
        self.events += signed_len(&entry.events);
        self.has_steps |= !entry.commit.steps.is_empty();
        entry.commit.events.iter().for_each(|new| self.change.apply(&new.event));
    }
}

fn signed_len<T>(items: &[T]) -> i64 {
    signed(items.len())
}
