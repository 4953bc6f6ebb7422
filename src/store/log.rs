//! What runs do: commits, the journal, the events.

use std::time::Instant;

use super::{
    Commit, Cursor, Entry, Error, EventRows, ExpiredThread, Page, PageLimit, Pruned, RunPosition, Step, Store,
    ThreadPosition,
    attempts::{answered, ask, attempt, ensure, is_to_be_repeated, on_either},
};
use crate::domain::{Envelope, RunId, ThreadId, Timestamp, Usage};

impl Store {
    /// Writes each commit whose lease holds, all in one transaction; the answers are in the order of `commits`.
    ///
    /// # Errors
    /// Per commit: [`Error::Fenced`] when its lease is lost or its run final, [`Error::Corrupt`] when it contradicts
    /// what is there (a step recorded twice); neither affects the other runs. The commits of one run are written in
    /// their order, and none after one that failed. Otherwise all get the same error and nothing is written, except
    /// that after [`Error::Unavailable`] it is unknown whether it was: see [`Store::commit_entries`].
    pub async fn commit(&self, commits: Vec<Commit>) -> Vec<Result<(), Error>> {
        let entries: Vec<Entry> = commits.into_iter().map(Entry::from).collect();
        self.commit_entries(&entries).await
    }

    /// Writes as [`Store::commit`] does. What failed with [`Error::Unavailable`] may be given again in the same order,
    /// before any other commit of these runs, and is then written exactly once.
    pub async fn commit_entries(&self, entries: &[Entry]) -> Vec<Result<(), Error>> {
        self.commit_numbered(entries).await.into_iter().map(|answer| answer.map(drop)).collect()
    }

    /// Commits as [`Store::commit_entries`] does; answers with the number of an entry's first event, where it has
    /// events. `None` also when it had been written before.
    pub async fn commit_numbered(&self, entries: &[Entry]) -> Vec<Result<Option<i64>, Error>> {
        if entries.is_empty() {
            return Vec::new();
        }
        let (begun, mut attempt, mut fresh) = (Instant::now(), 1, false);
        loop {
            let commit = async { Ok(on_either!(self, engine => engine.commit(entries).await)) };
            let answers = answered(commit).await.unwrap_or_else(|error| vec![Err(error); entries.len()]);
            let given_up = answers.iter().find_map(|answer| answer.as_ref().err());
            match given_up {
                // Stamped entries may be given again, those that were written included.
                Some(error) if is_to_be_repeated(error, attempt).await => attempt += 1,
                Some(error) if !fresh && self.is_to_be_asked_again(error, begun) => fresh = true,
                _ => return answers.into_iter().map(|answer| answer.map_err(|error| self.outcome_of(error))).collect(),
            }
        }
    }

    /// Returns the steps of a run, earliest finished first.
    pub async fn journal(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        ask!(self, engine => engine.journal(run_id).await)
    }

    /// Returns the steps of a run without their values (`value` is empty), earliest finished first.
    pub async fn steps(&self, run_id: RunId) -> Result<Vec<Step>, Error> {
        ask!(self, engine => engine.steps(run_id).await)
    }

    /// Returns what the model calls of a run used so far.
    pub async fn usage(&self, run_id: RunId) -> Result<Usage, Error> {
        ask!(self, engine => engine.usage(run_id).await)
    }

    /// Returns `limit` events at most of a thread with a number above `after_seq`, ascending; none for an unknown
    /// thread.
    pub async fn events_after(&self, thread_id: ThreadId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.events_after(thread_id, after_seq, limit).await)
    }

    /// Returns events as [`Store::events_after`] does, of one run alone; numbers are still those of the thread.
    pub async fn run_events_after(&self, run_id: RunId, after_seq: i64, limit: u32) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.run_events_after(run_id, after_seq, limit).await)
    }

    /// Returns the number of a thread's newest event; `None` when there is no such thread.
    pub async fn last_seq(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        ask!(self, engine => engine.last_seq(thread_id).await)
    }

    /// Returns a page of a thread's events with a number above `after_seq`, ascending, as they are stored; empty for
    /// an unknown thread.
    pub async fn event_rows(&self, thread_id: ThreadId, after_seq: i64, limit: PageLimit) -> Result<EventRows, Error> {
        ask!(self, engine => engine.event_rows(thread_id, after_seq, limit).await)
    }

    /// Returns the number of the newest event of each of these threads, in no order; those that do not exist are
    /// missing.
    pub async fn last_seqs(&self, thread_ids: &[ThreadId]) -> Result<Vec<(ThreadId, i64)>, Error> {
        ask!(self, engine => engine.last_seqs(thread_ids).await)
    }

    /// Returns the number of a thread's newest event as the server has it that takes writes: one that stands by may be
    /// behind. `None` when there is no such thread.
    pub async fn last_seq_for_update(&self, thread_id: ThreadId) -> Result<Option<i64>, Error> {
        ask!(self, engine => engine.last_seq_for_update(thread_id).await)
    }

    /// Returns where a reader begins that wants the events of a thread above `after_seq`; `None` when there is no such
    /// thread.
    pub async fn thread_position(&self, thread_id: ThreadId, after_seq: i64) -> Result<Option<ThreadPosition>, Error> {
        ask!(self, engine => engine.thread_position(thread_id, after_seq).await)
    }

    /// Removes some of the events of runs that ended before that time, at most `limit` of a thread. Repeat it until it
    /// finds nothing. A thread's newest number stays what it is.
    pub async fn prune_events(&self, before: Timestamp, limit: u32) -> Result<Pruned, Error> {
        ensure!(self, engine => engine.prune_events(before, limit).await)
    }

    /// Returns a page of the threads in which nothing has happened since that time, the oldest first.
    pub async fn expired_threads(
        &self,
        before: Timestamp,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<ExpiredThread>, Error> {
        ask!(self, engine => engine.expired_threads(before, after, limit).await)
    }

    /// Returns where a reader begins that wants the events of a run above `after_seq`; `None` when there is no such
    /// run.
    pub async fn run_position(&self, run_id: RunId, after_seq: i64) -> Result<Option<RunPosition>, Error> {
        ask!(self, engine => engine.run_position(run_id, after_seq).await)
    }

    /// Returns a run's place in the queue, from 1; `None` unless it waits.
    ///
    /// # Errors
    /// As every read.
    pub async fn place_in_queue(&self, run_id: RunId) -> Result<Option<u64>, Error> {
        ask!(self, engine => engine.place_in_queue(run_id).await)
    }

    /// Returns the types of a run's events with a number above `after_seq`, each once.
    ///
    /// # Errors
    /// As every read.
    pub async fn event_names(&self, run_id: RunId, after_seq: i64) -> Result<Vec<String>, Error> {
        ask!(self, engine => engine.event_names(run_id, after_seq).await)
    }

    /// Returns what a run has sent of its report while it wrote it, all attempts, in order: the events with a number
    /// above `after_seq`, up to that of `until`.
    ///
    /// # Errors
    /// As every read.
    pub async fn report_events(&self, run_id: RunId, after_seq: i64, until: i64) -> Result<Vec<Envelope>, Error> {
        ask!(self, engine => engine.report_events(run_id, after_seq, until).await)
    }

    /// Returns how often a run began to write its report.
    pub async fn report_attempts(&self, run_id: RunId) -> Result<u32, Error> {
        ask!(self, engine => engine.report_attempts(run_id).await)
    }
}
