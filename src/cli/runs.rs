//! `fathom runs`: the runs of the database as an operator sees them, and orders to them. It works on the database
//! alone, so it needs no service, and reaches runs of any process.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Exit, RunsCommand, RunsListArgs, complain, out, print, research, stored, usage};
use crate::{
    config::Config,
    domain::{Run, RunDetails, RunId, RunStatus, Timestamp, Waiting, printable_line, shortened},
    runs::{breakdown, longest_silence},
    store::{Cancelling, Clock, Error, RunOverview, Store, Wake},
};

/// How long the end of a cancelled run is waited for: its worker looks every second, or three times per lease.
const CANCEL_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// Characters of a question in the table.
const QUESTION_CHARS: usize = 60;

/// Runs the command.
pub async fn run(command: RunsCommand, config: Config) -> Exit {
    let command = match command {
        RunsCommand::Resume(args) => return research::resume(args, config).await,
        command => command,
    };
    let store = match stored::existing_store(&config).await {
        Ok(store) => store,
        Err(exit) => return exit,
    };
    let silence = longest_silence(&config.llm);
    let done = match command {
        RunsCommand::List(args) => list(&store, &args, silence).await,
        RunsCommand::Show(args) => show(&store, args.run_id, args.json, silence).await,
        RunsCommand::Report(args) => report(&store, args.run_id, args.output.out.as_deref()).await,
        RunsCommand::Cancel(args) => cancel(&store, args.run_id).await,
        RunsCommand::Resume(_) => unreachable!("returned above"),
    };
    store.close().await;
    done.unwrap_or_else(|error| {
        complain(&error.to_string());
        Exit::Failed
    })
}

async fn list(store: &Store, args: &RunsListArgs, silence: Duration) -> Result<Exit, Error> {
    let overviews = store.overviews(args.status, args.limit).await?;
    let now = Timestamp::now();
    if args.json {
        let runs: Vec<Value> = overviews.iter().map(|overview| as_value(overview, silence)).collect();
        return Ok(print::json(&runs.into()));
    }
    let mut lines = vec![row("ID", "STATUS", "OUTCOME", "AGE", "QUESTION")];
    lines.extend(overviews.iter().map(|overview| {
        let run = &overview.run;
        let outcome = run.outcome.map(|outcome| outcome.as_str());
        let outcome = outcome.or(run.error.as_ref().map(|failure| failure.code.as_str())).unwrap_or("-");
        let age = age(now.since(run.created_at));
        row(&run.id.to_string(), &status_word(overview, silence), outcome, &age, &one_line(&overview.question))
    }));
    Ok(print::answer(&lines.join("\n")))
}

fn row(id: &str, status: &str, outcome: &str, age: &str, question: &str) -> String {
    format!("{id:<36}  {status:<11}  {outcome:<18}  {age:>5}  {question}").trim_end().to_owned()
}

/// Returns the status, and what is to be said about it.
fn status_word(overview: &RunOverview, silence: Duration) -> String {
    match overview.run.status {
        _ if is_stuck(overview, silence) => "stuck".to_owned(),
        _ if overview.is_parked() => "interrupted".to_owned(),
        status if overview.run.cancel_requested && !status.is_final() => "cancelling".to_owned(),
        _ if overview.run.progress.waiting_for.is_some() => "waiting".to_owned(),
        status => status.as_str().to_owned(),
    }
}

/// Returns whether a process works on it, and nothing was stored for longer than anything may take.
fn is_stuck(overview: &RunOverview, silence: Duration) -> bool {
    let at_work = overview.run.status == RunStatus::Running && overview.worker.is_some();
    let waits_until = overview.run.progress.waiting_for.as_ref().map(|waiting| waiting.until);
    at_work && overview.newest_event_at.max(waits_until).is_some_and(|said| said < Timestamp::now().minus(silence))
}

async fn show(store: &Store, run_id: RunId, as_json: bool, silence: Duration) -> Result<Exit, Error> {
    let Some(overview) = store.overview(run_id).await? else { return Ok(stored::unknown(run_id)) };
    let details = store.details(vec![overview.run.clone()]).await?.pop();
    let details = details.unwrap_or_else(|| RunDetails {
        run: overview.run.clone(),
        usage: Default::default(),
        queue_position: None,
    });
    let of_run = breakdown(store, run_id).await?;
    if as_json {
        let mut value = as_value(&overview, silence);
        value["usage"] = json!(details.usage);
        value["breakdown"] = json!(of_run);
        value["queue_position"] = json!(details.queue_position);
        value["progress"] = json!(overview.run.progress);
        value["options"] = json!(overview.run.options);
        return Ok(print::json(&value));
    }
    let width = 10;
    let mut lines: Vec<String> =
        facts(&overview, &details, silence).into_iter().map(|(name, fact)| format!("{name:<width$} {fact}")).collect();
    if of_run.sums.total.calls > 0 {
        lines.push(String::new());
        lines.extend(usage::broken_down(&of_run));
    }
    Ok(print::answer(&lines.join("\n")))
}

async fn report(store: &Store, run_id: RunId, out: Option<&Path>) -> Result<Exit, Error> {
    let Some(run) = store.run(run_id).await? else { return Ok(stored::unknown(run_id)) };
    let Some(report) = store.report(run_id).await? else {
        complain(&format!("the run is {}; there is no report", run.status.as_str()));
        return Ok(Exit::Failed);
    };
    Ok(out::give(&report.markdown, run_id, out))
}

/// Writes what is known of a run, a line each.
fn facts(overview: &RunOverview, details: &RunDetails, silence: Duration) -> Vec<(&'static str, String)> {
    let run = &overview.run;
    let mut facts = vec![
        ("run", run.id.to_string()),
        ("thread", run.thread_id.to_string()),
        ("question", one_line(&overview.question)),
        ("status", status_word(overview, silence)),
    ];
    facts.extend(run.outcome.map(|outcome| ("outcome", outcome.as_str().to_owned())));
    facts.extend(run.error.as_ref().map(|failure| ("error", format!("{}: {failure}", failure.code.as_str()))));
    facts.extend(details.queue_position.map(|position| ("queue", format!("position {position}"))));
    facts.push(("created", run.created_at.to_rfc3339()));
    facts.extend(run.started_at.map(|time| ("started", time.to_rfc3339())));
    facts.extend(run.finished_at.map(|time| ("finished", time.to_rfc3339())));
    facts.extend(overview.newest_event_at.map(|time| ("last event", time.to_rfc3339())));
    if let Some(worker) = overview.worker.as_deref().filter(|_| !run.status.is_final()) {
        facts.push(("worker", format!("{worker}, lease until {}", overview.lease_expires_at.to_rfc3339())));
    }
    facts.push(("claims", claims(overview)));
    facts.push(("progress", progress(run)));
    facts.extend(run.progress.waiting_for.as_ref().map(|waiting| ("waiting", waits(waiting))));
    facts.push(("steps", overview.steps.to_string()));
    facts
}

fn claims(overview: &RunOverview) -> String {
    let RunOverview { epoch, deaths, unexplained, .. } = overview;
    format!("{epoch}; since its last step {deaths} processes died of it, {unexplained} ended nobody knows why")
}

fn progress(run: &Run) -> String {
    let progress = &run.progress;
    let of = &progress.researchers;
    let phase = progress.phase.map_or("not begun", |phase| phase.as_str());
    format!(
        "{phase}; {} rounds, researchers {} at work, {} finished, {} failed; {} searches, {} sources, {} warnings",
        progress.iterations, of.running, of.finished, of.failed, progress.searches, progress.sources, progress.warnings
    )
}

fn waits(waiting: &Waiting) -> String {
    let (since, until) = (waiting.since.to_rfc3339(), waiting.until.to_rfc3339());
    format!("for {} since {since}, asked again at {until}: {}", waiting.name, printable_line(&waiting.reason))
}

/// Asks until the run is over: a worker that is gone is found out when its lease has run out.
async fn cancel(store: &Store, run_id: RunId) -> Result<Exit, Error> {
    let since = Instant::now();
    loop {
        let run = match store.request_cancel(run_id, Clock::Database).await? {
            None => return Ok(stored::unknown(run_id)),
            Some(Cancelling::Final(run)) => return Ok(exit_of(&run)),
            Some(Cancelling::Done(run)) => {
                wake(store, &run).await;
                return Ok(exit_of(&run));
            }
            Some(Cancelling::Requested(run)) => run,
        };
        wake(store, &run).await;
        if since.elapsed() >= CANCEL_WAIT {
            return not_yet(store, run_id).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Tells the processes that listen; the others look by themselves.
async fn wake(store: &Store, run: &Run) {
    if let Err(error) = store.notify(&[Wake::Control(run.id), Wake::Events(run.thread_id)]).await {
        tracing::debug!(%error, "other processes could not be woken");
    }
}

fn exit_of(run: &Run) -> Exit {
    match run.status {
        RunStatus::Cancelled => print::answer(&format!("run {} is cancelled; what it found is kept", run.id)),
        status => print::answer(&format!("run {} is {} already", run.id, status.as_str())),
    }
}

async fn not_yet(store: &Store, run_id: RunId) -> Result<Exit, Error> {
    let Some(overview) = store.overview(run_id).await? else { return Ok(stored::unknown(run_id)) };
    if overview.run.status.is_final() {
        return Ok(exit_of(&overview.run));
    }
    complain(&format!(
        "the run was asked to stop and has not done so yet; if its process {} is gone, ask again after {}",
        overview.worker.as_deref().unwrap_or("(none)"),
        overview.lease_expires_at.to_rfc3339()
    ));
    Ok(Exit::Failed)
}

fn as_value(overview: &RunOverview, silence: Duration) -> Value {
    let run = &overview.run;
    json!({
        "id": run.id,
        "thread_id": run.thread_id,
        "status": run.status,
        "outcome": run.outcome,
        "error": run.error,
        "cancel_requested": run.cancel_requested,
        "stuck": is_stuck(overview, silence),
        "interrupted": overview.is_parked(),
        "waiting_for": run.progress.waiting_for,
        "question": overview.question,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "newest_event_at": overview.newest_event_at,
        "owner": overview.worker,
        "lease_expires_at": overview.worker.as_ref().map(|_| overview.lease_expires_at),
        "claims": overview.epoch,
        "deaths": overview.deaths,
        "unexplained_ends": overview.unexplained,
        "steps": overview.steps,
    })
}

/// Returns the beginning of a text, on one line, without what would move the terminal's cursor.
fn one_line(text: &str) -> String {
    shortened(&printable_line(text), QUESTION_CHARS).into_owned()
}

/// Writes an age in the largest unit that fits.
fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let check = |ms: i64, expected: &str| assert_eq!(age(ms), expected);
        check(-5, "0s");
        check(119_999, "119s");
        check(120_000, "2m");
        check(7_200_000, "2h");
        check(172_800_000, "2d");
    }

    #[test]
    fn a_question_cannot_break_the_table() {
        assert_eq!(one_line("What\n  is\t\u{1b}[31mred\r\n?"), "What is [31mred ?");
        assert_eq!(one_line(&"x".repeat(61)).chars().count(), QUESTION_CHARS);
        assert!(one_line(&"x".repeat(61)).ends_with("x…"));
    }
}
