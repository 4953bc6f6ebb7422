//! Group commits: what many runs have ready, written in one transaction behind one check of their leases.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::{QueryBuilder, Row as _, query};
use uuid::Uuid;

use super::{
    Connection, Db, Engine, FOR_UPDATE, research,
    rows::{named, owned},
    threads::insert_message,
    write_group,
};
use crate::{
    domain::{Message, MessageRole, RunId, RunStatus},
    store::{Commit, Entry, Error, Finish, group::Group, values::signed},
};

/// The part of a run's row that decides whether its commits may be written.
struct Fence {
    epoch: i64,
    active: bool,
    /// The stamp of its newest commit.
    last_commit: Option<Uuid>,
}

/// Whether an entry is to be written, is there already, or is refused; torn: since the one before it is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Write,
    Written,
    Refused,
    Torn,
}

/// What became of an entry: the number of its first event, where it has events and was written just now.
type Answer = Result<Option<i64>, Error>;

impl Engine {
    /// Writes what needs no looking up in one statement, and the rest in a transaction of several.
    pub async fn commit(&self, entries: &[Entry]) -> Vec<Answer> {
        let group = Group::of(entries);
        let written = if group.is_plain() { self.write_alone(&group).await } else { Ok(HashMap::new()) };
        let written: HashMap<RunId, i64> = match written {
            Ok(written) => {
                written.into_iter().map(|(place, before)| (group.runs[place].lease.run_id, before)).collect()
            }
            // Perhaps one of them alone is at fault, or was written before.
            Err(Error::Corrupt(_)) => HashMap::new(),
            Err(error) => return vec![Err(error); entries.len()],
        };
        if written.is_empty() {
            return self.commit_rest(entries).await;
        }
        let is_written = |entry: &Entry| written.contains_key(&entry.commit.lease.run_id);
        let rest: Vec<Entry> = entries.iter().filter(|entry| !is_written(entry)).cloned().collect();
        let mut answers = if rest.is_empty() { Vec::new() } else { self.commit_rest(&rest).await }.into_iter();
        let mut numbers = first_numbers(&written, entries.iter()).into_iter();
        let answer = |entry| match is_written(entry) {
            true => Ok(numbers.next().flatten()),
            false => answers.next().unwrap_or(Err(Error::Fenced)),
        };
        entries.iter().map(answer).collect()
    }

    /// Commits these together. A defect in one commit spoils the transaction for all, so then each is tried alone to
    /// find out whose it was.
    async fn commit_rest(&self, entries: &[Entry]) -> Vec<Answer> {
        match self.commit_together(entries).await {
            Ok(answers) => answers,
            Err(Error::Corrupt(_)) if entries.len() > 1 => self.commit_one_by_one(entries).await,
            Err(error) => vec![Err(error); entries.len()],
        }
    }

    async fn commit_one_by_one(&self, entries: &[Entry]) -> Vec<Answer> {
        let written = match self.written_before(entries).await {
            Ok(written) => written,
            Err(error) => return vec![Err(error); entries.len()],
        };
        let mut failed: HashMap<RunId, Error> = HashMap::new();
        let mut answers = Vec::with_capacity(entries.len());
        for (entry, is_written) in entries.iter().zip(written) {
            let run_id = entry.commit.lease.run_id;
            let answer = match failed.get(&run_id) {
                // What follows a commit that is not there would be a log with a hole.
                Some(error) => Err(error.clone()),
                None if is_written => Ok(None),
                None => self
                    .commit_together(std::slice::from_ref(entry))
                    .await
                    .and_then(|answers| answers.into_iter().next().unwrap_or(Err(Error::Fenced))),
            };
            if let Err(error) = &answer {
                failed.insert(run_id, error.clone());
            }
            answers.push(answer);
        }
        answers
    }

    /// Returns whether each was written by an earlier attempt. That is known of all at once: a run keeps the stamp of
    /// its newest commit alone.
    async fn written_before(&self, entries: &[Entry]) -> Result<Vec<bool>, Error> {
        let mut tx = self.begin().await?;
        let fences = read_fences(&mut tx, entries).await?;
        Ok(judge(&fences, entries).into_iter().map(|verdict| verdict == Verdict::Written).collect())
    }

    async fn commit_together(&self, entries: &[Entry]) -> Result<Vec<Answer>, Error> {
        let mut tx = self.begin().await?;
        let fences = read_fences(&mut tx, entries).await?;
        let verdicts = judge(&fences, entries);
        warn_of_torn(entries, &verdicts);
        let admitted = entries.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Write);
        let admitted: Vec<&Entry> = admitted.map(|(entry, _)| entry).collect();
        let mut numbers = if admitted.is_empty() { Vec::new() } else { write(&mut tx, &admitted).await? }.into_iter();
        tx.commit().await?;
        let answer = |verdict| match verdict {
            Verdict::Write => Ok(numbers.next().flatten()),
            Verdict::Written => Ok(None),
            Verdict::Refused | Verdict::Torn => Err(Error::Fenced),
        };
        Ok(verdicts.into_iter().map(answer).collect())
    }
}

/// Tells the operator of each run of which the database has lost commits that it had confirmed.
fn warn_of_torn(entries: &[Entry], verdicts: &[Verdict]) {
    let torn = entries.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Torn);
    for run_id in torn.map(|(entry, _)| entry.commit.lease.run_id).collect::<HashSet<_>>() {
        tracing::warn!(
            %run_id,
            "the database has lost steps of a run that it had stored; the run goes on from what is there"
        );
    }
}

/// Returns the number of the first event of each entry whose run was written, given the numbers before them.
fn first_numbers<'a>(written: &HashMap<RunId, i64>, entries: impl Iterator<Item = &'a Entry>) -> Vec<Option<i64>> {
    let mut before = written.clone();
    let number = |entry: &Entry| {
        let before = before.get_mut(&entry.commit.lease.run_id)?;
        let first = *before + 1;
        *before += signed(entry.events.len());
        Some((*before >= first).then_some(first))
    };
    entries.filter_map(number).collect()
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
            active: named::<RunStatus>(row.try_get("status")?)? == RunStatus::Running,
            last_commit: row.try_get("last_commit")?,
        };
        fences.insert(RunId(row.try_get("id")?), fence);
    }
    Ok(fences)
}

/// Returns the ids, the last one repeated up to the next power of two, so that there are few distinct statements.
pub fn padded(ids: &BTreeSet<Uuid>) -> impl Iterator<Item = Uuid> {
    let padding = ids.len().next_power_of_two() - ids.len();
    ids.iter().copied().chain(ids.last().copied().into_iter().cycle().take(padding))
}

/// Decides about each entry; after a run's finish nothing more of it is written. What follows a commit that the
/// database has lost, as a standby server that was behind when it took over, would be a log and a journal with a hole:
/// its worker loses the run, which goes on from what is stored.
fn judge(fences: &HashMap<RunId, Fence>, entries: &[Entry]) -> Vec<Verdict> {
    let newest_written: HashMap<RunId, usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| {
            fences.get(&entry.commit.lease.run_id).and_then(|fence| fence.last_commit) == Some(entry.stamp)
        })
        .map(|(place, entry)| (entry.commit.lease.run_id, place))
        .collect();
    let mut newest: HashMap<RunId, Option<Uuid>> = fences.iter().map(|(id, fence)| (*id, fence.last_commit)).collect();
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
        if entry.after.is_some() && newest.get(&lease.run_id) != Some(&entry.after) {
            return Verdict::Torn;
        }
        newest.insert(lease.run_id, Some(entry.stamp));
        if entry.commit.finish.is_some() {
            finished.insert(lease.run_id);
        }
        Verdict::Write
    };
    entries.iter().enumerate().map(judge_one).collect()
}

/// Writes entries whose leases hold; answers with the number of the first event of each.
async fn write(connection: &mut Connection, entries: &[&Entry]) -> Result<Vec<Option<i64>>, Error> {
    let mut group = Group::of(entries.iter().copied());
    research::join_known_pages(connection, &mut group).await?;
    let written = write_group(connection, &group).await?;
    if written.len() != group.runs.len() {
        return Err(Error::Corrupt("a run whose lease holds could not be written".to_owned()));
    }
    for (place, commit, finish) in &group.finishes {
        let last_seq = written.get(place).copied().unwrap_or_default() + group.runs[*place].events;
        store_finish(connection, commit, finish, last_seq).await?;
    }
    let before = written.into_iter().map(|(place, before)| (group.runs[place].lease.run_id, before)).collect();
    Ok(first_numbers(&before, entries.iter().copied()))
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
        .bind(finish.error.as_ref().map(|error| error.code.as_str()))
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
