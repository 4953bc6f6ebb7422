//! Group commits: what many runs have ready, written in one transaction behind one check of their leases.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sqlx::{QueryBuilder, Row as _, query};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, FOR_UPDATE, log, research,
    rows::{added_usage, name_of, owned, pieces, signed, status},
    threads::insert_message,
};
use crate::{
    domain::{Event, Message, MessageRole, ModelUsage, RunId, RunStatus, ThreadId, ToolKind, Waiting, event::Phase},
    store::{Commit, Entry, Error, Finish, NewEvent, Step},
};

/// Of a run's row, what decides whether its commits may be written.
struct Fence {
    epoch: i64,
    active: bool,
    /// The stamp of its newest commit.
    last_commit: Option<Uuid>,
}

/// Whether an entry is to be written, is there already, or is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Write,
    Written,
    Refused,
}

impl Engine {
    /// What the engine can write at once it does; the rest goes through a transaction of many statements.
    pub async fn commit(&self, entries: &[Entry]) -> Vec<Result<(), Error>> {
        let written = match self.write_at_once(entries).await {
            Ok(written) => written,
            Err(Error::Corrupt(_)) if entries.len() > 1 => return self.commit_one_by_one(entries).await,
            Err(error) => return vec![Err(error); entries.len()],
        };
        let is_written = |entry: &Entry| written.contains(&entry.commit.lease.run_id);
        if written.is_empty() {
            return self.commit_rest(entries).await;
        }
        let rest: Vec<Entry> = entries.iter().filter(|entry| !is_written(entry)).cloned().collect();
        let mut answers = if rest.is_empty() { Vec::new() } else { self.commit_rest(&rest).await }.into_iter();
        let answer = |entry| if is_written(entry) { Ok(()) } else { answers.next().unwrap_or(Err(Error::Fenced)) };
        entries.iter().map(answer).collect()
    }

    /// A defect in one commit spoils the transaction for all, so then each is tried alone to find out whose it was.
    async fn commit_rest(&self, entries: &[Entry]) -> Vec<Result<(), Error>> {
        match self.commit_together(entries).await {
            Ok(verdicts) => verdicts.into_iter().map(answer).collect(),
            Err(Error::Corrupt(_)) if entries.len() > 1 => self.commit_one_by_one(entries).await,
            Err(error) => vec![Err(error); entries.len()],
        }
    }

    async fn commit_one_by_one(&self, entries: &[Entry]) -> Vec<Result<(), Error>> {
        let mut failed: HashMap<RunId, Error> = HashMap::new();
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            let run_id = entry.commit.lease.run_id;
            let answer = match failed.get(&run_id) {
                // What follows a commit that is not there would be a log with a hole.
                Some(error) => Err(error.clone()),
                None => {
                    self.commit_together(std::slice::from_ref(entry)).await.and_then(|verdicts| answer(verdicts[0]))
                }
            };
            if let Err(error) = &answer {
                failed.insert(run_id, error.clone());
            }
            answers.push(answer);
        }
        answers
    }

    async fn commit_together(&self, entries: &[Entry]) -> Result<Vec<Verdict>, Error> {
        let mut tx = self.begin().await?;
        let fences = read_fences(&mut tx, entries).await?;
        let verdicts = judge(&fences, entries);
        let admitted: Vec<&Entry> =
            entries.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Write).map(|(e, _)| e).collect();
        if !admitted.is_empty() {
            write(&mut tx, &admitted).await?;
        }
        tx.commit().await?;
        Ok(verdicts)
    }
}

fn answer(verdict: Verdict) -> Result<(), Error> {
    if verdict == Verdict::Refused { Err(Error::Fenced) } else { Ok(()) }
}

/// Reads and locks the rows of all runs concerned, in the order of their ids: two writers can then never wait for each
/// other crosswise.
async fn read_fences(connection: &mut Connection, entries: &[Entry]) -> Result<HashMap<RunId, Fence>, Error> {
    let ids: BTreeSet<Uuid> = entries.iter().map(|entry| entry.commit.lease.run_id.0).collect();
    let mut query = QueryBuilder::<Db>::new("SELECT id, epoch, status, last_commit FROM runs WHERE id IN (");
    let mut list = query.separated(", ");
    for id in padded(&ids) {
        list.push_bind(id);
    }
    query.push(") ORDER BY id").push(FOR_UPDATE);
    let mut fences = HashMap::with_capacity(ids.len());
    for row in query.build().fetch_all(connection).await? {
        let fence = Fence {
            epoch: row.try_get("epoch")?,
            active: status(row.try_get("status")?)? == RunStatus::Running,
            last_commit: row.try_get("last_commit")?,
        };
        fences.insert(RunId(row.try_get("id")?), fence);
    }
    Ok(fences)
}

/// The ids, the last one repeated up to the next power of two, so that there are few distinct statements.
pub fn padded(ids: &BTreeSet<Uuid>) -> impl Iterator<Item = Uuid> {
    let padding = ids.len().next_power_of_two() - ids.len();
    ids.iter().copied().chain(ids.last().copied().into_iter().cycle().take(padding))
}

/// Decides about each entry; after a run's finish nothing more of it is written.
fn judge(fences: &HashMap<RunId, Fence>, entries: &[Entry]) -> Vec<Verdict> {
    let newest_written: HashMap<RunId, usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| {
            fences.get(&entry.commit.lease.run_id).and_then(|fence| fence.last_commit) == Some(entry.stamp)
        })
        .map(|(place, entry)| (entry.commit.lease.run_id, place))
        .collect();
    let mut finished: HashSet<RunId> = HashSet::new();
    let judge_one = |(place, entry): (usize, &Entry)| {
        let lease = &entry.commit.lease;
        if newest_written.get(&lease.run_id).is_some_and(|newest| place <= *newest) {
            return Verdict::Written;
        }
        let held = fences.get(&lease.run_id).is_some_and(|fence| fence.active && fence.epoch == lease.epoch);
        if !held || finished.contains(&lease.run_id) {
            return Verdict::Refused;
        }
        if entry.commit.finish.is_some() {
            finished.insert(lease.run_id);
        }
        Verdict::Write
    };
    entries.iter().enumerate().map(judge_one).collect()
}

/// Writes entries whose leases hold, table by table.
async fn write(connection: &mut Connection, entries: &[&Entry]) -> Result<(), Error> {
    let commits: Vec<&Commit> = entries.iter().map(|entry| &entry.commit).collect();
    let next_seq = reserve_numbers(connection, &commits).await?;
    let (events, finishes) = number(&commits, next_seq);
    let steps = of_each(&commits, |commit| &commit.steps);
    log::insert_steps(connection, &steps).await?;
    add_usage(connection, &steps).await?;
    log::insert_events(connection, &events).await?;
    research::store_sources(connection, &of_each(&commits, |commit| &commit.sources)).await?;
    research::insert_notes(connection, &of_each(&commits, |commit| &commit.notes)).await?;
    for (commit, finish, last_seq) in finishes {
        store_finish(connection, commit, finish, last_seq).await?;
    }
    advance(connection, entries).await
}

/// The items of all commits, each with its run.
fn of_each<'a, T>(commits: &[&'a Commit], items: fn(&Commit) -> &Vec<T>) -> Vec<(RunId, &'a T)> {
    commits.iter().flat_map(|commit| items(commit).iter().map(|item| (commit.lease.run_id, item))).collect()
}

/// Raises `last_seq` of each thread by the number of its new events; returns the first free number of each thread that
/// needs one.
async fn reserve_numbers(connection: &mut Connection, commits: &[&Commit]) -> Result<HashMap<ThreadId, i64>, Error> {
    let mut counts: HashMap<ThreadId, i64> = HashMap::new();
    for commit in commits {
        if !commit.events.is_empty() || commit.finish.is_some() {
            *counts.entry(commit.lease.thread_id).or_default() += signed(commit.events.len());
        }
    }
    let rows: Vec<(ThreadId, i64)> = counts.iter().map(|(thread_id, count)| (*thread_id, *count)).collect();
    let mut next_seq = HashMap::with_capacity(rows.len());
    for piece in pieces(&rows) {
        let mut query = QueryBuilder::<Db>::new("UPDATE threads SET last_seq = last_seq + added.column2 FROM (");
        query.push_values(piece, |mut row, (thread_id, count)| {
            row.push_bind(thread_id.0).push_bind(*count);
        });
        query.push(") AS added WHERE threads.id = added.column1 RETURNING threads.id, threads.last_seq");
        for row in query.build().fetch_all(&mut *connection).await? {
            let thread_id = ThreadId(row.try_get("id")?);
            let last_seq: i64 = row.try_get("last_seq")?;
            next_seq.insert(thread_id, last_seq + 1 - counts.get(&thread_id).copied().unwrap_or(0));
        }
    }
    Ok(next_seq)
}

type Numbered<'a> = (ThreadId, RunId, i64, &'a NewEvent);
type Finishing<'a> = (&'a Commit, &'a Finish, i64);

/// Gives each event its number, and each finish the number of its run's last event.
fn number<'a>(commits: &[&'a Commit], mut next_seq: HashMap<ThreadId, i64>) -> (Vec<Numbered<'a>>, Vec<Finishing<'a>>) {
    let (mut events, mut finishes) = (Vec::new(), Vec::new());
    for commit in commits {
        let lease = &commit.lease;
        let next = next_seq.entry(lease.thread_id).or_insert(1);
        for event in &commit.events {
            events.push((lease.thread_id, lease.run_id, *next, event));
            *next += 1;
        }
        if let Some(finish) = &commit.finish {
            finishes.push((*commit, finish, *next - 1));
        }
    }
    (events, finishes)
}

/// Makes the run's row final and adds the assistant's message.
async fn store_finish(
    connection: &mut Connection,
    commit: &Commit,
    finish: &Finish,
    last_seq: i64,
) -> Result<(), Error> {
    const FINISH: &str = "UPDATE runs SET status = $2, outcome = $3, error_code = $4, error_message = $5, report = $6, \
        finished_at = $7, limited_by = $8, claimed_by = NULL, lease_expires_at = 0, deaths = 0, unexplained = 0, \
        suspect_since = 0 WHERE id = $1";
    let run_id = commit.lease.run_id;
    query(FINISH)
        .bind(run_id.0)
        .bind(finish.status.as_str())
        .bind(finish.outcome.map(|outcome| outcome.as_str()))
        .bind(finish.error.as_ref().map(|error| name_of(&error.code)).transpose()?)
        .bind(finish.error.as_ref().map(|error| owned(&error.message)))
        .bind(finish.report.as_ref().map(serde_json::to_string).transpose()?)
        .bind(finish.now.0)
        .bind(finish.limited_by)
        .execute(&mut *connection)
        .await?;
    if let Some((id, content)) = &finish.message {
        let message = Message {
            id: *id,
            role: MessageRole::Assistant,
            content: content.clone(),
            run_id: Some(run_id),
            created_at: finish.now,
        };
        insert_message(connection, commit.lease.thread_id, last_seq, &message).await?;
    }
    Ok(())
}

/// What a run's row takes over from the commits of a group.
#[derive(Default)]
pub struct Advance {
    pub stamp: Uuid,
    pub phase: Option<Phase>,
    /// In the order of the columns in [`advance`].
    pub counts: [i64; 7],
    /// The last word about waiting: whom for, or that nobody waits any more.
    pub waiting: Option<Option<Waiting>>,
    /// Steps were stored: whoever died before did not die of the next one.
    pub steps: bool,
}

impl Advance {
    pub fn take(&mut self, entry: &Entry) {
        self.stamp = entry.stamp;
        self.steps |= !entry.commit.steps.is_empty();
        for new in &entry.commit.events {
            match &new.event {
                Event::PhaseStarted { phase } => self.phase = Some(*phase),
                Event::SupervisorIteration { .. } => self.counts[0] += 1,
                Event::ResearcherStarted { .. } => self.counts[1] += 1,
                Event::ResearcherFinished { .. } => self.counts[2] += 1,
                Event::ResearcherFailed { .. } => self.counts[3] += 1,
                Event::ToolStarted { kind: ToolKind::Search, .. } => self.counts[4] += 1,
                Event::SourceFound { .. } => self.counts[5] += 1,
                Event::Warning { wait, detail, .. } => {
                    self.counts[6] += 1;
                    if let Some(wait) = wait {
                        self.waiting = Some(Some(Waiting::of(wait, detail)));
                    }
                }
                Event::WaitEnded { .. } | Event::RunStarted { .. } | Event::RunResumed { .. } => {
                    self.waiting = Some(None);
                }
                event if event.is_terminal() => self.waiting = Some(None),
                _ => {}
            }
        }
    }

    /// What `runs.waiting_for` becomes: JSON, empty when nobody waits; `None` when it stays as it is.
    pub fn waiting_for(&self) -> Option<String> {
        let json = |waiting: &Waiting| serde_json::to_string(waiting).map(|json| owned(&json)).unwrap_or_default();
        self.waiting.as_ref().map(|waiting| waiting.as_ref().map(json).unwrap_or_default())
    }

    /// What `runs.waiting_until` becomes, 0 when nobody waits.
    pub fn waiting_until(&self) -> Option<i64> {
        self.waiting.as_ref().map(|waiting| waiting.as_ref().map_or(0, |waiting| waiting.until.0))
    }
}

/// Brings each run's row up to what was written: the stamp of its newest entry, and its progress.
async fn advance(connection: &mut Connection, entries: &[&Entry]) -> Result<(), Error> {
    let mut advances: HashMap<RunId, Advance> = HashMap::new();
    for entry in entries {
        advances.entry(entry.commit.lease.run_id).or_default().take(entry);
    }
    let rows: Vec<(RunId, Advance)> = advances.into_iter().collect();
    for piece in pieces(&rows) {
        let mut query = QueryBuilder::<Db>::new(
            "UPDATE runs SET last_commit = newest.column2, phase = COALESCE(newest.column3, phase), \
             deaths = deaths * newest.column4, unexplained = unexplained * newest.column4, \
             suspect_since = suspect_since * newest.column4, iterations = iterations + newest.column5, \
             researchers_started = researchers_started + newest.column6, \
             researchers_finished = researchers_finished + newest.column7, \
             researchers_failed = researchers_failed + newest.column8, searches = searches + newest.column9, \
             sources_found = sources_found + newest.column10, warnings = warnings + newest.column11, \
             waiting_for = COALESCE(newest.column12, waiting_for), \
             waiting_until = COALESCE(newest.column13, waiting_until) FROM (",
        );
        query.push_values(piece, |mut row, (run_id, advance)| {
            row.push_bind(run_id.0)
                .push_bind(advance.stamp)
                .push_bind(advance.phase.map(Phase::as_str))
                .push_bind(i64::from(!advance.steps));
            advance.counts.iter().for_each(|count| _ = row.push_bind(*count));
            row.push_bind(advance.waiting_for()).push_bind(advance.waiting_until());
        });
        query.push(") AS newest WHERE runs.id = newest.column1").build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// The calls of the group, summed up per run and model; what was taken over is counted where it was paid for.
pub fn usage_sums<'a>(steps: &[(RunId, &'a Step)]) -> BTreeMap<(RunId, &'a str), ModelUsage> {
    let mut sums: BTreeMap<(RunId, &str), ModelUsage> = BTreeMap::new();
    for (run_id, step) in steps {
        let Some(call) = step.call.as_ref().filter(|_| !step.inherited) else { continue };
        let sum = sums.entry((*run_id, &call.model)).or_default();
        sum.calls += 1;
        sum.tokens += call.usage;
    }
    sums
}

/// Adds the calls of the group to the sums per run and model.
async fn add_usage(connection: &mut Connection, steps: &[(RunId, &Step)]) -> Result<(), sqlx::Error> {
    let rows: Vec<_> = usage_sums(steps).into_iter().collect();
    for piece in pieces(&rows) {
        let mut query = QueryBuilder::<Db>::new(
            "INSERT INTO run_usage (run_id, model, calls, input_tokens, cached_tokens, output_tokens, reasoning_tokens, \
             cost) ",
        );
        query.push_values(piece, |mut row, ((run_id, model), sum)| {
            row.push_bind(run_id.0).push_bind(owned(model)).push_bind(signed(sum.calls));
            row.push_bind(signed(sum.tokens.input_tokens)).push_bind(signed(sum.tokens.cached_tokens));
            row.push_bind(signed(sum.tokens.output_tokens)).push_bind(signed(sum.tokens.reasoning_tokens));
            row.push_bind(sum.tokens.cost.map(|cost| signed(cost.0)));
        });
        query.push(concat!(
            " ON CONFLICT (run_id, model) DO UPDATE SET ",
            added_usage!("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
            ", cost = COALESCE(run_usage.cost + excluded.cost, run_usage.cost, excluded.cost)"
        ));
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}
