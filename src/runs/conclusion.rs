//! How the end of a run is written: what its research came to, as the row, the last event and the word for the log.

use tokio::{task::JoinError, time::Instant};

use super::{
    DATABASE_PAUSE, DATABASE_TIMEOUT, Parts, WorkError,
    ended::{Ended, root, stopped},
};
use crate::{
    context::Error,
    domain::{Event, Failure, FailureCode, MessageId, Outcome, Run, RunStatus, Timestamp, Usage},
    journal::{Journal, Stop},
    research::Ending,
    store::{self, Finish},
};

/// Why research stopped, seen from the run.
pub enum TaskEnd {
    Over(End),
    Interrupted,
    Lost,
    Storage(store::Error),
}

/// Why a run is over.
pub enum End {
    Done(Ending),
    Failed(Failure),
    Cancelled,
}

/// Returns what became of the task that did the research.
pub fn task_end(joined: Result<Result<Ending, Error>, JoinError>) -> TaskEnd {
    match joined {
        Ok(Ok(ending)) => TaskEnd::Over(End::Done(ending)),
        Ok(Err(Error::Failed(failure))) => TaskEnd::Over(End::Failed(failure)),
        Ok(Err(Error::Stop(Stop::Interrupted))) => TaskEnd::Interrupted,
        Ok(Err(Error::Stop(Stop::Storage(store::Error::Fenced)))) => TaskEnd::Lost,
        Ok(Err(Error::Stop(Stop::Storage(error @ store::Error::Corrupt(_))))) => {
            TaskEnd::Over(End::Failed(corrupt(&error)))
        }
        Ok(Err(Error::Stop(Stop::Storage(error)))) => TaskEnd::Storage(error),
        Ok(Err(Error::Stop(mismatch @ Stop::Mismatch { .. }))) => {
            failed(FailureCode::JournalMismatch, mismatch.to_string())
        }
        Ok(Err(Error::Stop(over @ Stop::TimeOver))) => failed(FailureCode::Timeout, over.to_string()),
        Err(error) => {
            tracing::error!(%error, "a run panicked");
            failed(FailureCode::Internal, "a defect of this program ended the run; see its log")
        }
    }
}

fn failed(code: FailureCode, message: impl Into<String>) -> TaskEnd {
    TaskEnd::Over(End::Failed(Failure::new(code, message)))
}

/// Fails the run for what is wrong with its journal: that does not pass, so trying again and again would pay without
/// end.
pub fn corrupt(error: &store::Error) -> Failure {
    tracing::error!(%error, "a step cannot be stored or read");
    let message = format!("a step could not be stored or read, what was found until then is kept: {error}");
    Failure::new(FailureCode::JournalCorrupt, message)
}

/// Writes the end of the run.
///
/// # Errors
/// The database failed: while the end was written, or before, so that there is none to write.
pub async fn conclude(
    parts: &Parts,
    journal: &Journal,
    run: &Run,
    task_end: TaskEnd,
    limited_by: Option<&'static str>,
) -> Result<Ended, WorkError> {
    let end = match task_end {
        TaskEnd::Over(end) => end,
        TaskEnd::Interrupted => return Ok(Ended::Interrupted),
        TaskEnd::Lost => return Ok(Ended::Lost),
        TaskEnd::Storage(error) => return Err(error.into()),
    };
    let now = Timestamp::now();
    let usage = match usage(parts, run).await {
        // The end of the run does not hang on what it tells.
        Err(store::Error::Corrupt(_)) => Usage::default(),
        usage => usage?,
    };
    let totals = Totals { usage, ms: now.since(run.started_at.unwrap_or(run.created_at)).max(0), limited_by, now };
    match write(journal, Conclusion::new(end, totals)).await {
        Err(Stop::Storage(error @ store::Error::Corrupt(_))) => {
            let failed = End::Failed(corrupt(&error));
            write(journal, Conclusion::new(failed, totals)).await.map_err(stopped)
        }
        Err(Stop::Storage(store::Error::Fenced)) => Ok(Ended::Lost),
        written => written.map_err(stopped),
    }
}

async fn write(journal: &Journal, Conclusion { finish, event, ended }: Conclusion) -> Result<Ended, Stop> {
    journal.finish(finish, vec![root(event)]).await?;
    Ok(ended)
}

/// What the end of any run tells.
#[derive(Clone, Copy)]
struct Totals {
    usage: Usage,
    ms: i64,
    /// The option that ended the research early.
    limited_by: Option<&'static str>,
    now: Timestamp,
}

/// The end of a run: for its row, for its readers, and for the log.
struct Conclusion {
    finish: Finish,
    event: Event,
    ended: Ended,
}

impl Conclusion {
    fn new(end: End, totals: Totals) -> Self {
        let Totals { limited_by, now, .. } = totals;
        let open = |status| Finish { status, outcome: None, error: None, report: None, message: None, limited_by, now };
        match end {
            End::Done(ending) => Self::done(ending, totals, open(RunStatus::Completed)),
            End::Failed(problem) => Self {
                finish: Finish { error: Some(problem.clone()), ..open(RunStatus::Failed) },
                event: Event::RunFailed { problem: problem.clone() },
                ended: Ended::Failed(problem),
            },
            End::Cancelled => Self {
                finish: open(RunStatus::Cancelled),
                event: Event::RunCancelled { reason: "cancelled on request".to_owned() },
                ended: Ended::Cancelled,
            },
        }
    }

    fn done(ending: Ending, Totals { usage, ms, .. }: Totals, open: Finish) -> Self {
        let (outcome, text, report) = match ending {
            Ending::Question(question) => (Outcome::Clarification, question, None),
            Ending::Report(report) => (Outcome::Report, report.markdown.clone(), Some(report)),
            Ending::Answer(answer) => (Outcome::Answer, answer.markdown.clone(), Some(answer)),
        };
        let finish = Finish { outcome: Some(outcome), message: Some((MessageId::new(), text)), report, ..open };
        Self { finish, event: Event::RunCompleted { outcome, usage, ms }, ended: Ended::Completed(outcome) }
    }
}

/// Returns what the run used; the database may be away for a while just now.
async fn usage(parts: &Parts, run: &Run) -> Result<Usage, store::Error> {
    let since = Instant::now();
    loop {
        match parts.store.usage(run.id).await {
            Err(error) if error.may_pass() && since.elapsed() < DATABASE_TIMEOUT => {
                tokio::time::sleep(DATABASE_PAUSE).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_run_is_a_failed_run() {
        let mut tasks = JoinSet::new();
        tasks.spawn(async { panic!("key 123 leaked") });
        let joined = tasks.join_next().await.unwrap();
        let TaskEnd::Over(End::Failed(failure)) = task_end(joined) else { panic!("not a failure") };
        assert_eq!(failure.code, FailureCode::Internal);
        assert!(!failure.message.contains("leaked"), "the message of a panic may hold anything; it stays in the log");
    }

    #[test]
    fn a_lost_lease_ends_the_work_and_a_mismatch_the_run() {
        let fenced = Error::Stop(Stop::Storage(store::Error::Fenced));
        assert!(matches!(task_end(Ok(Err(fenced))), TaskEnd::Lost));
        let mismatch = Error::Stop(Stop::Mismatch { key: "lead/1".to_owned() });
        let TaskEnd::Over(End::Failed(failure)) = task_end(Ok(Err(mismatch))) else { panic!("not a failure") };
        assert_eq!(failure.code, FailureCode::JournalMismatch);
        assert!(failure.message.contains("lead/1"));
    }
}
