//! Carries one claimed run to its end: research in a task of its own, the renewal of its lease (`lease_renewer.rs`)
//! beside it; `conclusion.rs` writes the end.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};

use super::{
    DATABASE_PAUSE, Leaving, Means, Parts, Refusal, RunSignals, WorkError, collections,
    conclusion::{End, TaskEnd, conclude, corrupt, task_end},
    ended::{Ended, root, stopped},
    lease_renewer::{LeaseRenewer, Renewed},
    refused, retry,
};
use crate::{
    context::{Cx, EarlierLives, Services, Snapshots, Spending},
    domain::{
        Event, Failure, FailureCode, FollowUp, Note, Outcome, Run, RunId, RunStatus, Source, ThreadId, Timestamp,
        WarningCode, report::Report,
    },
    journal::{Journal, Stop},
    research::{self, Conversation, Earlier},
    search::Engine,
    store::{self, Clock, Lease, NewEvent, PageLimit, RunFilter, Step},
    telemetry::{
        metrics::{self, ActiveRun},
        spans::RunSpan,
    },
};

/// A run of which so many processes died, none of which stored a step more, is given up when that took long enough
/// ([`super::Settings::crash_loop`]): what killed them would kill the next one too.
const MAX_DEATHS: u32 = 5;
/// A run that this process is not set up for is left to others for this long.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// Skipped documents named one by one; the rest is counted.
const SKIPPED_SHOWN: usize = 20;

/// The longest time of a run that is kept for compressing notes and writing the report: a quarter, and at most this.
const LONGEST_WRITING: Duration = Duration::from_secs(900);

/// The newest messages of its thread that a run is shown: more than the largest window takes, of a million tokens. A
/// limit of the stored rows alone, so that a replay sees the same.
const CONVERSATION: PageLimit = PageLimit { rows: 1_000, bytes: 8 << 20 };
/// The newest runs of its thread that a run builds on.
const RUNS_KNOWN: u32 = 500;
/// Those of them that stopped half-way and are looked at for notes.
const UNFINISHED_KNOWN: usize = 16;

/// Works on a claimed run until it is final, lost, or interrupted.
///
/// # Errors
/// The run cannot be worked on here, or the database failed for good; its lease is given back.
pub async fn work(parts: &Arc<Parts>, lease: Lease, run: Run, signals: &RunSignals) -> Result<Ended, WorkError> {
    let span = RunSpan::begin(run.id, run.thread_id, lease.epoch);
    let (created, begun) = (run.created_at, run.started_at.unwrap_or_else(Timestamp::now));
    let waited = (lease.epoch == 1).then(|| Timestamp::now().after(created));
    let _active = ActiveRun::begin(waited);
    let result = span.over(work_and_release(parts, lease, run, signals, &span)).await;
    report_end(&span, &result, Timestamp::now().after(begun));
    result
}

/// Tells the operator how it ended. Errors are reported by the caller.
fn report_end(span: &RunSpan, result: &Result<Ended, WorkError>, duration: Duration) {
    let Ok(ended) = result else { return span.end("unfinished", Some("refused")) };
    let error = match ended {
        Ended::Failed(failure) => Some(failure.code.as_str()),
        _ => None,
    };
    span.end(ended.name(), error);
    if matches!(ended, Ended::Completed(_) | Ended::Failed(_) | Ended::Cancelled) {
        metrics::run_ended(ended.name(), error, duration);
    }
    let seconds = duration.as_secs_f64();
    span.within(|| tracing::info!(outcome = ended.name(), error, seconds, "work on a run ended"));
}

async fn work_and_release(
    parts: &Arc<Parts>,
    lease: Lease,
    run: Run,
    signals: &RunSignals,
    span: &RunSpan,
) -> Result<Ended, WorkError> {
    let (run_id, shown) = (run.id, run.progress.waiting_for.clone());
    let result = supervise(parts, lease, run, signals, span).await;
    if result.is_ok() {
        signals.setbacks.forget(run_id);
    }
    if let (Err(WorkError::Refused(refusal)), true) = (&result, signals.leaving.is_open()) {
        let pause = REFUSED_PAUSE.max(signals.setbacks.pause(run_id));
        refused::give_back(parts, lease, refusal, shown, pause).await;
        parts.log.wakes().queue();
    } else if !matches!(result, Ok(Ended::Completed(_) | Ended::Failed(_) | Ended::Cancelled)) {
        let pause = match (&result, signals.leaving) {
            (Ok(Ended::Lost), _) => Duration::ZERO,
            (Err(_), leaving) if leaving.is_open() => signals.setbacks.pause(run_id),
            (_, Leaving::Parked { .. }) => store::PARKED,
            (_, Leaving::ToOthers) => Duration::ZERO,
        };
        // Best effort: an unreturned lease runs out by itself, and one that was really lost is not touched.
        let _ = parts.store.release(lease.run_id, lease.epoch, None, pause, Clock::Database).await;
        if matches!(result, Ok(Ended::Lost)) {
            let _ = parts.store.excuse_unexplained_end(&lease).await;
        }
        parts.log.wakes().queue();
    }
    result
}

async fn supervise(
    parts: &Arc<Parts>,
    lease: Lease,
    run: Run,
    signals: &RunSignals,
    span: &RunSpan,
) -> Result<Ended, WorkError> {
    if run.cancel_requested {
        // While somebody else held it, or while nobody could begin to work on it.
        return end_unworked(parts, lease, &run, End::Cancelled).await;
    }
    if lease.deaths >= MAX_DEATHS && lease.suspected_for >= parts.settings.crash_loop {
        return give_up(parts, lease, &run).await;
    }
    let mut renewer = LeaseRenewer::new(parts, lease);
    let prepared = async { Ok((prepare(parts, &lease, &run).await?, conversation(parts, &run).await?)) };
    let (Prepared { journal, cx, spending, means }, conversation) = match renewer.beside(prepared).await {
        Some(Err(WorkError::Store(error @ store::Error::Corrupt(_)))) => {
            return end_unworked(parts, lease, &run, End::Failed(corrupt(&error))).await;
        }
        // Otherwise a process that is set up for it may come, but not when it is too late.
        Some(Err(WorkError::Refused(refusal))) if time_left(&run, parts.store.clock().await?).is_zero() => {
            let message = format!("{}; it could not go on: {refusal}", Stop::TimeOver);
            let failure = Failure::new(FailureCode::Timeout, message);
            return end_unworked(parts, lease, &run, End::Failed(failure)).await;
        }
        Some(prepared) => prepared?,
        None => return Ok(Ended::Lost),
    };
    signals.begin();
    renewer.extends(&journal);
    let mut tasks = JoinSet::new();
    let toolbox = parts.toolbox.clone();
    let toolbox = if means.are_of_request() { toolbox.unpaid() } else { toolbox };
    tasks.spawn(signals.mark.over(span.over(async move { research::research(&cx, conversation, &toolbox).await })));
    let mut grace = std::pin::pin!(grace(parts, signals, &journal));
    let end = loop {
        tokio::select! {
            Some(joined) = tasks.join_next() => break task_end(joined),
            renewed = renewer.next() => match renewed {
                Renewed::Held => {}
                Renewed::CancelRequested => break TaskEnd::Over(End::Cancelled),
                Renewed::Lost => return Ok(Ended::Lost),
            },
            () = signals.cancel.cancelled() => break TaskEnd::Over(End::Cancelled),
            () = signals.lost.cancelled() => return Ok(Ended::Lost),
            () = &mut grace => return Ok(Ended::Interrupted),
        }
    };
    // Dropping the set ends what is left of the run, its calls included.
    drop(tasks);
    let mut concluded = std::pin::pin!(conclude(parts, &journal, &run, end, spending.limited_by()));
    match renewer.beside(concluded.as_mut()).await {
        Some(ended) => ended,
        // A run that has just ended has no lease any more; only its end knows whether it was written.
        None => concluded.await,
    }
}

/// Resolves when a process that stops has to let go of the run: when all its work waits with nothing under way, or the
/// grace is over. A run without any ends by itself, since nothing begins any more.
async fn grace(parts: &Parts, signals: &RunSignals, journal: &Journal) {
    signals.interrupt.cancelled().await;
    journal.wind_down();
    // Given up in both cases: what waits has nothing to lose, and the rest had its time.
    let _ = tokio::time::timeout(parts.settings.grace, journal.is_at_rest()).await;
}

/// Ends a run that kills the processes that work on it.
async fn give_up(parts: &Arc<Parts>, lease: Lease, run: &Run) -> Result<Ended, WorkError> {
    let message = format!("{} processes died while they worked on the same step of this run", lease.deaths);
    end_unworked(parts, lease, run, End::Failed(Failure::new(FailureCode::CrashLoop, message))).await
}

/// Ends a run on which no work can begin.
async fn end_unworked(parts: &Parts, lease: Lease, run: &Run, end: End) -> Result<Ended, WorkError> {
    let holds_until = lease.asked_at.plus(parts.settings.lease);
    let journal = Journal::new(lease, holds_until, Vec::new(), parts.writer.clone());
    conclude(parts, &journal, run, TaskEnd::Over(end), None).await
}

/// A run on which work can begin.
struct Prepared {
    journal: Arc<Journal>,
    cx: Cx,
    spending: Arc<Spending>,
    /// Kept until the run ends, so that others with the same keys share it.
    means: Arc<Means>,
}

/// Returns the run's journal, and its context with what earlier lives left behind.
async fn prepare(parts: &Parts, lease: &Lease, run: &Run) -> Result<Prepared, WorkError> {
    // What is missing here may be there where the run is resumed next: better refused than failed for good.
    let has_documents = !run.options.collections.is_empty() || parts.store.has_uploads(run.id).await?;
    let uploads_of = has_documents.then_some(run.id);
    let means = means(parts, run).await?;
    means.check(&run.options, has_documents)?;
    let search = means.engine_of(&run.options, uploads_of, &parts.store).map_err(Refusal::from)?;
    let (begin, steps, earlier_lives) = left_behind(parts, lease).await?;
    let inherited = retry::inheritance(parts, run).await?;
    let earlier_lives = EarlierLives { inherited: inherited.sources, ..earlier_lives };
    let holds_until = lease.asked_at.plus(parts.settings.lease);
    // By the clock that says when it was started, which need not be this machine's.
    let (time_left, now) = (time_left(run, parts.store.clock().await?), Instant::now());
    let writing = (max_time(run) / 4).min(LONGEST_WRITING);
    let spending = Arc::new(Spending::new(&run.options, &steps).ending_at(now + time_left));
    let journal = Journal::new(*lease, holds_until, steps, parts.writer.clone())
        .wording(parts.prompts.wording())
        .inheriting(inherited.steps)
        .ending_at(now + time_left);
    let journal = Arc::new(journal);
    let mut events = vec![root(begin)];
    events.extend(search.as_ref().map(skipped_documents).unwrap_or_default());
    // Waited for: nothing is paid for before a write has shown that its result can be stored.
    journal.emit_stored(events).await.map_err(stopped)?;
    let services = Services {
        llm: means.llm.clone(),
        prompts: Arc::clone(&parts.prompts),
        search,
        snapshots: snapshots(parts, run.id),
    };
    let cx = Cx::new(
        Arc::clone(&journal),
        services,
        run.options.clone(),
        earlier_lives,
        now + time_left.saturating_sub(writing),
        Arc::clone(&spending),
    );
    Ok(Prepared { journal, cx, spending, means })
}

/// Returns what earlier lives of the run left: its steps, and what its context takes over. With the event of its
/// beginning.
async fn left_behind(parts: &Parts, lease: &Lease) -> Result<(Event, Vec<Step>, EarlierLives), WorkError> {
    let (attempt, run_id) = (lease.epoch, lease.run_id);
    if attempt <= 1 {
        return Ok((Event::RunStarted { attempt }, Vec::new(), EarlierLives::default()));
    }
    let steps = parts.store.journal(run_id).await?;
    let report_attempts = parts.store.report_attempts(run_id).await?;
    let sources = parts.store.snapshots(run_id).await?;
    let earlier_lives = EarlierLives { report_attempts, sources, ..EarlierLives::default() };
    Ok((Event::RunResumed { attempt }, steps, earlier_lives))
}

/// Returns what the run calls: with the keys of the server, or with those that came with its request.
async fn means(parts: &Parts, run: &Run) -> Result<Arc<Means>, WorkError> {
    match parts.store.sealed_keys(run.id).await? {
        None => Ok(Arc::clone(&parts.means)),
        Some(sealed) => Ok(parts.request_keys.opened(&parts.means, run.id, &sealed.unwrap_or_default())?),
    }
}

/// Loads texts of the run's sources, for as long as it takes.
fn snapshots(parts: &Parts, run_id: RunId) -> Snapshots {
    let store = parts.store.clone();
    Snapshots::new(move |ids| {
        let store = store.clone();
        async move {
            let mut is_noted = false;
            loop {
                match store.snapshots_of(run_id, &ids).await {
                    Err(error) if error.may_be_resolved() => {
                        if !std::mem::replace(&mut is_noted, true) {
                            tracing::warn!(%run_id, %error, "texts of sources cannot be read; trying again");
                        }
                        tokio::time::sleep(DATABASE_PAUSE).await;
                    }
                    loaded => return loaded.map_err(Stop::Storage),
                }
            }
        }
    })
}

fn max_time(run: &Run) -> Duration {
    Duration::from_secs(u64::from(run.options.max_run_seconds))
}

/// Returns the time that the run has left, counted from its first start: neither a restart nor a pause prolongs it.
fn time_left(run: &Run, now: Timestamp) -> Duration {
    let used = run.started_at.map(|started_at| now.after(started_at));
    max_time(run).saturating_sub(used.unwrap_or_default())
}

/// Returns warnings about documents that cannot be found because they cannot be read.
fn skipped_documents(search: &Engine) -> Vec<NewEvent> {
    let skipped = search.skipped();
    let warning = |detail: String| root(Event::warning(WarningCode::DocumentSkipped, detail));
    let shown = skipped.iter().take(SKIPPED_SHOWN);
    let mut events: Vec<_> = shown.map(|skipped| warning(format!("{}: {}", skipped.path, skipped.reason))).collect();
    if skipped.len() > SKIPPED_SHOWN {
        events.push(warning(format!("and {} more documents", skipped.len() - SKIPPED_SHOWN)));
    }
    events
}

async fn conversation(parts: &Parts, run: &Run) -> Result<Conversation, WorkError> {
    // A retry answers what the first run of its chain was asked, and knows no more than that one did.
    let asked = parts.store.question_of(run.id).await?;
    let messages = parts.store.messages_until(run.thread_id, asked, CONVERSATION).await?;
    let runs = runs_before(parts, run.thread_id, asked).await?;
    let clarifications = runs.iter().filter(|run| run.outcome == Some(Outcome::Clarification)).count();
    let earlier = match run.options.follow_up {
        FollowUp::Auto => earlier(parts, &runs).await?,
        FollowUp::Research => None,
    };
    let missing_collections = collections::missing(&parts.store, run).await?;
    let answered = runs.iter().filter(|run| matches!(run.outcome, Some(Outcome::Report | Outcome::Answer)));
    Ok(Conversation {
        messages,
        clarifications: u32::try_from(clarifications).unwrap_or(u32::MAX),
        answered_by: answered.map(|run| run.id).collect(),
        earlier,
        missing_collections,
    })
}

/// Returns the newest runs of a thread before that one, newest first.
async fn runs_before(parts: &Parts, thread_id: ThreadId, run_id: RunId) -> Result<Vec<Run>, WorkError> {
    // Not the run itself, which another release may have written.
    let Some(place) = parts.store.place_of(run_id).await? else { return Ok(Vec::new()) };
    let filter = RunFilter { thread_id: Some(thread_id), ..RunFilter::default() };
    Ok(parts.store.runs_page(&filter, Some(place), RUNS_KNOWN).await?.items)
}

/// Returns what the thread's runs before this one left behind; `before` are newest first. That is the newest report or
/// answer with what it rests on, and what a newer run found that could not finish.
async fn earlier(parts: &Parts, before: &[Run]) -> Result<Option<Earlier>, WorkError> {
    let newest = |outcome| before.iter().position(|run| run.outcome == Some(outcome));
    let unfinished = unfinished(parts, before).await?;
    let Some(report) = newest(Outcome::Report) else {
        return Ok(unfinished.filter(|earlier| !earlier.sources.is_empty()));
    };
    let answer = newest(Outcome::Answer).filter(|&answer| answer < report);
    let mut texts = Vec::new();
    for place in [Some(report), answer].into_iter().flatten() {
        let run_id = before[place].id;
        texts.extend(parts.store.report(run_id).await?.map(|text| (run_id, text)));
    }
    let newest = answer.unwrap_or(report);
    let newest_id = before[newest].id;
    let (mut sources, mut notes) = (parts.store.snapshots(newest_id).await?, parts.store.notes(newest_id).await?);
    let mut other_texts = parts.store.other_texts(newest_id).await?;
    let mut found_more = false;
    if let Some(more) = unfinished {
        let is_known =
            |note: &Note| notes.iter().any(|known| known.researcher == note.researcher && known.text == note.text);
        found_more = !more.notes.iter().all(is_known);
        // It took over what the report rests on, and went on numbering from there; otherwise the report's own count.
        let is_known = |known: &Source| more.sources.iter().any(|source| is_same(source, known));
        if sources.iter().all(|known| !texts_cite(&texts, known) || is_known(known)) {
            (sources, notes) = (more.sources, more.notes);
            // What it took over of them it did not keep once more.
            other_texts = more.other_texts.into_iter().chain(other_texts).collect();
        }
    }
    // What was cancelled before it found anything is no step of the conversation: the report is still what is talked
    // of.
    let is_latest = !found_more && before[..newest].iter().all(|run| run.status == RunStatus::Cancelled);
    Ok(Some(Earlier { texts, sources, notes, other_texts, is_latest }))
}

/// Returns whether two runs know the page by the same address and under a common id: a run that took nothing over gives
/// out the same ids for other pages.
fn is_same(one: &Source, other: &Source) -> bool {
    one.url == other.url && one.ids().any(|id| other.ids().any(|known| known == id))
}

/// Returns what the newest run with notes left behind that came after the last report or answer: it could not finish,
/// or asked back. A few runs that came to no note may stand between, those that it retried among them.
async fn unfinished(parts: &Parts, before: &[Run]) -> Result<Option<Earlier>, WorkError> {
    let since = before.iter().take_while(|run| !matches!(run.outcome, Some(Outcome::Report | Outcome::Answer)));
    let open = since.filter(|run| run.is_retryable() || run.outcome == Some(Outcome::Clarification));
    for run in open.take(UNFINISHED_KNOWN) {
        let notes = parts.store.notes(run.id).await?;
        if !notes.is_empty() {
            let (sources, other_texts) = (parts.store.snapshots(run.id).await?, parts.store.other_texts(run.id).await?);
            return Ok(Some(Earlier { texts: Vec::new(), sources, notes, other_texts, is_latest: false }));
        }
    }
    Ok(None)
}

fn texts_cite(texts: &[(RunId, Report)], source: &Source) -> bool {
    let mut cited = texts.iter().flat_map(|(_, report)| &report.citations).map(|citation| citation.source_id);
    cited.any(|id| source.ids().any(|known| known == id))
}
