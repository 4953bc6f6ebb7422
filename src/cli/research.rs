//! `fathom research`, `fathom resume` and `fathom ask`: one run, from the question to the printed report.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, IsTerminal, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    AskArgs, Exit, ResearchArgs, ResumeArgs, SettingsArgs, complain, estimate, out, print,
    progress::{self, Screen},
    signals, stored,
};
use crate::{
    app::App,
    config::Config,
    domain::{
        MessageRole, ModelName, ModelUsage, Models, Outcome, Run, RunId, RunOptions, Timestamp, options::OptionSpec,
        report::Report,
    },
    runs::{Ended, MAX_MESSAGE_CHARS, Refusal, WorkError},
    search::ROWS,
    store::{self, RunOverview, Store},
};

/// Starts a run and carries it to its report, asking the user when the model does.
pub async fn start(args: ResearchArgs, config: Config) -> Exit {
    let notices = config.notices.clone();
    let question = match asked(&args.question, args.output.out.as_deref()) {
        Ok(question) => question,
        Err(message) => return print::usage(&message),
    };
    let stop = Stop::catch();
    let (app, options) = match stop.unless_stopped(prepare(&args, config)).await {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let session = Session { app, out: args.output.out, stop };
    if args.estimate {
        let exit = session.estimate(&question, options).await;
        return session.end(exit).await;
    }
    let exit = match session.app.runs.submit(&question, options.clone()).await {
        Ok(run) => {
            notices.iter().for_each(|notice| complain(notice));
            session.converse(run, &options).await
        }
        Err(refusal) => refused(&refusal),
    };
    session.end(exit).await
}

/// Goes on with a run of an earlier process; with one that failed or was cancelled by a new run, which takes over what
/// that one had.
pub async fn resume(args: ResumeArgs, config: Config) -> Exit {
    if let Some(Err(message)) = args.output.out.as_deref().map(out::check_writable) {
        return print::usage(&message);
    }
    let stop = Stop::catch();
    let (app, run, options) = match stop.unless_stopped(reopen(config, &args)).await {
        Ok(reopened) => reopened,
        Err(exit) => return exit,
    };
    let session = Session { app, out: args.output.out, stop };
    let exit = match &run {
        run if is_question(run) => session.ask_again(run, &options).await,
        run if run.is_retryable() => session.retry(run, options).await,
        run if run.status.is_final() => session.show_final(run).await,
        run => session.converse(run.clone(), &options).await,
    };
    session.end(exit).await
}

/// Returns whether the run ended with a question to the user.
fn is_question(run: &Run) -> bool {
    run.outcome == Some(Outcome::Clarification)
}

/// Adds a message to the thread of a run, under that run's options, and carries the run that answers to its end.
pub async fn ask(args: AskArgs, config: Config) -> Exit {
    let message = match asked(&args.message, args.output.out.as_deref()) {
        Ok(message) => message,
        Err(message) => return print::usage(&message),
    };
    let stop = Stop::catch();
    let (app, run, options) = match stop.unless_stopped(follow(config, &args)).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let session = Session { app, out: args.output.out, stop };
    let exit = match session.app.runs.reply(run.thread_id, &message, options.clone()).await {
        Ok(run) => session.converse(run, &options).await,
        Err(refusal) => refused(&refusal),
    };
    session.end(exit).await
}

/// Wires the process for a message after a run, whose options and documents it takes over.
async fn follow(mut config: Config, args: &AskArgs) -> Result<(App, Run, RunOptions), Exit> {
    let (store, run) = open_run(&config, args.run_id).await?;
    remember(&mut config, &store, &run).await?;
    lay_over(&mut config, &args.settings).map_err(|message| print::usage(&message))?;
    may_ask_back(&mut config.options, &args.settings);
    let app = App::over(store, &config).await.map_err(|error| print::usage(&format!("{error:#}")))?;
    Ok((app, run, config.options))
}

/// Lays the options of the command line over those of an earlier run; the caps hold for them as for any request.
fn lay_over(config: &mut Config, settings: &SettingsArgs) -> Result<(), String> {
    if let Some(model) = &settings.model {
        config.options.set_all_models(&model.parse::<Models>().map_err(|error| error.to_string())?);
    }
    let given = given(&settings.options)?;
    let wrong = config.options.lay_over(&given, &config.caps, 1);
    wrong.first().map_or(Ok(()), |error| Err(error.to_string()))
}

/// Reads options given as `NAME=VALUE`; of several for one option the last counts.
fn given(pairs: &[String]) -> Result<Map<String, Value>, String> {
    let read = |pair: &String| {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("--set takes NAME=VALUE, not '{pair}'"))?;
        let spec = OptionSpec::find(name.trim()).map_err(|error| error.to_string())?;
        Ok((spec.name.to_owned(), spec.read(value)))
    };
    pairs.iter().map(read).collect()
}

/// Wires the process for a run of an earlier one, whose options and documents it takes over.
async fn reopen(mut config: Config, args: &ResumeArgs) -> Result<(App, Run, RunOptions), Exit> {
    let (store, run) = open_run(&config, args.run_id).await?;
    if run.is_retryable() {
        remember(&mut config, &store, &run).await?;
        lay_over(&mut config, &args.settings).map_err(|message| print::usage(&message))?;
    } else if run.status.is_final() && !is_question(&run) {
        config.options = run.options.clone();
    } else {
        remember(&mut config, &store, &run).await?;
    }
    let app = App::over(store, &config).await.map_err(|error| print::usage(&format!("{error:#}")))?;
    Ok((app, run, config.options))
}

async fn open_run(config: &Config, run_id: RunId) -> Result<(Store, Run), Exit> {
    let store = stored::existing_store(config).await?;
    let run = store.run(run_id).await.map_err(|error| unavailable(&error))?;
    let run = run.ok_or_else(|| print::usage(&format!("there is no run {run_id} in this database")))?;
    Ok((store, run))
}

/// Takes over the options of an earlier run, lowered to what is allowed by now, and its documents unless others are
/// named.
async fn remember(config: &mut Config, store: &Store, run: &Run) -> Result<(), Exit> {
    let own = std::mem::replace(&mut config.options, run.options.clone());
    config.caps.lower(&mut config.options, &own);
    if config.search.folder(ROWS).is_none()
        && let Some(documents) = store.documents(run.id).await.map_err(|error| unavailable(&error))?
    {
        config.search.set_folder(ROWS, &documents);
    }
    Ok(())
}

/// Returns the wired process and the options of its run.
async fn prepare(args: &ResearchArgs, config: Config) -> Result<(App, RunOptions), Exit> {
    let app = App::build(&config).await.map_err(|error| print::usage(&format!("{error:#}")))?;
    let mut options = config.options;
    may_ask_back(&mut options, &args.settings);
    if args.no_clarify {
        options.allow_clarification = false;
    }
    Ok((app, options))
}

/// Turns clarifying questions off where nobody can answer them, unless they were asked for.
fn may_ask_back(options: &mut RunOptions, settings: &SettingsArgs) {
    let wanted = settings.options.iter().any(|option| option.trim_start().starts_with("allow_clarification"));
    if !wanted && !can_answer() {
        options.allow_clarification = false;
    }
}

/// Returns whether somebody sees a question, which goes to standard error, and can type the answer.
fn can_answer() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the question, once it is known that the report can be written to `out`.
///
/// It may wait for standard input, so signals are not caught yet, and end the process as usual.
fn asked(argument: &str, out: Option<&Path>) -> Result<String, String> {
    out.map_or(Ok(()), out::check_writable)?;
    match argument {
        "-" => read_question(io::stdin().lock()).map_err(|error| format!("standard input: {error}")),
        question => Ok(question.to_owned()),
    }
}

/// Reads a question without its byte order mark, and a little more than is allowed, to tell that it is too long.
fn read_question(input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let limit = MAX_MESSAGE_CHARS as u64 * 4 + 4;
    input.take(limit).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// The time for what is still to be stored after an interrupt, and for the database to close.
const STOPPING: Duration = Duration::from_secs(60);

/// What a signal stops, and the screen on which it is said.
struct Stop {
    screen: Screen,
    cancel: CancellationToken,
    _signals: Option<DropGuard>,
}

impl Stop {
    /// Catches signals from here on.
    fn catch() -> Self {
        let (cancel, screen) = (CancellationToken::new(), Screen::new());
        let notices = screen.clone();
        let signals = signals::listen(cancel.clone(), move |message| notices.say(message), STOPPING);
        Self { screen, cancel, _signals: signals }
    }

    /// Prepares what a run needs; a signal ends that.
    async fn unless_stopped<T>(&self, prepared: impl Future<Output = Result<T, Exit>>) -> Result<T, Exit> {
        let prepared = self.cancel.run_until_cancelled(prepared).await;
        prepared.unwrap_or_else(|| Err(signals::before_start()))
    }
}

/// The app, the signals, and where the report goes.
struct Session {
    app: App,
    out: Option<PathBuf>,
    stop: Stop,
}

impl Session {
    async fn end(self, exit: Exit) -> Exit {
        self.app.close().await;
        exit
    }

    /// Says what a run would take.
    async fn estimate(&self, question: &str, options: RunOptions) -> Exit {
        match self.app.runs.estimate_here(question, options).await {
            Ok(estimate) => print::answer(&estimate::table(&estimate)),
            Err(refusal) => refused(&refusal),
        }
    }

    /// Works on the run, and on the runs that the user's answers start.
    async fn converse(&self, mut run: Run, options: &RunOptions) -> Exit {
        loop {
            let ended = self.work(run.id).await;
            let exit = match ended {
                Ok(Ended::Completed(Outcome::Clarification)) => match self.answer(&run, options).await {
                    Ok(next) => {
                        run = next;
                        continue;
                    }
                    Err(exit) => exit,
                },
                Ok(Ended::Completed(Outcome::Report | Outcome::Answer)) => self.finish(run.id).await,
                Ok(Ended::Failed(failure)) => {
                    complain(&format!("the research failed: {failure}"));
                    if failure.code.may_pass() {
                        complain(&format!("what it found is kept; to go on from there: fathom resume {}", run.id));
                    }
                    Exit::Failed
                }
                Ok(Ended::Cancelled) => {
                    complain("the run was cancelled");
                    Exit::Failed
                }
                Ok(Ended::Interrupted | Ended::Lost) | Err(WorkError::Interrupted) => self.interrupted(run.id).await,
                // Another process finished it while this one waited.
                Err(WorkError::Final(run)) => self.show_final(&run).await,
                Err(error @ WorkError::TakenOver) => {
                    complain(&format!("{error}; to see its result: fathom resume {}", run.id));
                    Exit::Failed
                }
                Err(error @ WorkError::Refused(_)) => print::usage(&format!("{error}; then: fathom resume {}", run.id)),
                Err(error) => {
                    complain(&format!("{error}; once it can go on: fathom resume {}", run.id));
                    Exit::Failed
                }
            };
            return exit;
        }
    }

    /// Carries the run on, with its progress on standard error.
    async fn work(&self, run_id: RunId) -> Result<Ended, WorkError> {
        let progress = progress::show(&self.stop.screen, self.app.runs.log(), run_id);
        let work = self.app.runs.work(run_id, &self.stop.cancel);
        let mut work = std::pin::pin!(work);
        let mut progress = std::pin::pin!(progress);
        tokio::select! {
            ended = &mut work => {
                if let Ok(Ended::Completed(_) | Ended::Failed(_) | Ended::Cancelled) = &ended {
                    // The last events are in the log already; showing them takes no time.
                    progress.await;
                }
                ended
            }
            () = &mut progress => work.await,
        }
    }

    /// Asks once more, since the process ended before the user answered, and goes on with the answer.
    async fn ask_again(&self, run: &Run, options: &RunOptions) -> Exit {
        let runs = match self.app.runs.store().thread_runs(run.thread_id).await {
            Ok(runs) => runs,
            Err(error) => return unavailable(&error),
        };
        match runs.first().filter(|newest| newest.id != run.id) {
            Some(newest) => {
                print::usage(&format!("its question was answered; go on with: fathom resume {}", newest.id))
            }
            None => match self.answer(run, options).await {
                Ok(next) => self.converse(next, options).await,
                Err(exit) => exit,
            },
        }
    }

    /// Asks the user, and queues the run of the answer.
    async fn answer(&self, run: &Run, options: &RunOptions) -> Result<Run, Exit> {
        let messages = self.app.runs.store().messages(run.thread_id).await.map_err(|error| unavailable(&error))?;
        let asked = messages.iter().rev().find(|message| message.role == MessageRole::Assistant);
        let question = asked.map(|message| message.content.as_str()).unwrap_or_default();
        print::error(&format!("\n{question}\n\n"));
        if !can_answer() {
            complain(
                "the model asks the question above; ask again with the answer in the question, or with --no-clarify",
            );
            return Err(Exit::Question);
        }
        let answer = read_answer(&self.stop.cancel).await.ok_or_else(|| {
            complain(&format!("not answered; to be asked again: fathom resume {}", run.id));
            Exit::Interrupted
        })?;
        self.app.runs.reply(run.thread_id, &answer, options.clone()).await.map_err(|refusal| refused(&refusal))
    }

    /// Goes on from a run that failed or was cancelled.
    async fn retry(&self, run: &Run, options: RunOptions) -> Exit {
        match self.app.runs.retry_here(run.id, options.clone()).await {
            Ok(next) => {
                complain(&format!("run {} goes on as run {}", run.id, next.id));
                self.converse(next, &options).await
            }
            Err(refusal) => refused(&refusal),
        }
    }

    async fn show_final(&self, run: &Run) -> Exit {
        match (&run.error, run.outcome) {
            (Some(failure), _) => {
                complain(&format!("the run failed: {failure}"));
                Exit::Failed
            }
            (None, Some(Outcome::Report | Outcome::Answer)) => self.print_report(run.id).await,
            (None, _) => print::usage(&format!("the run is {}; there is no report", run.status.as_str())),
        }
    }

    async fn print_report(&self, run_id: RunId) -> Exit {
        match self.app.runs.store().report(run_id).await {
            Ok(Some(report)) => out::give(&report.markdown, run_id, self.out.as_deref()),
            Ok(None) => print::usage("the run has no report"),
            Err(error) => unavailable(&error),
        }
    }

    /// Prints the report, and then what there is to know about it.
    async fn finish(&self, run_id: RunId) -> Exit {
        let exit = self.print_report(run_id).await;
        if exit == Exit::Success
            && let Some(line) = self.closing_line(run_id).await
        {
            complain(&line);
        }
        exit
    }

    /// Writes where the report is, what it rests on, what it took, and how to go on; nothing when the database has gone
    /// away meanwhile.
    async fn closing_line(&self, run_id: RunId) -> Option<String> {
        let run = self.app.runs.details(run_id).await.ok()??;
        let report = self.app.runs.store().report(run_id).await.ok()??;
        let mut parts: Vec<String> = self.out.iter().map(|path| path.display().to_string()).collect();
        parts.push(sources_cited(&report));
        let begun = run.run.started_at.unwrap_or(run.run.created_at);
        let took = run.run.finished_at.unwrap_or_else(Timestamp::now).after(begun);
        parts.push(format!("{:.1} s", took.as_secs_f64()));
        parts.extend(money(&run.usage));
        parts.push(format!("run {run_id}"));
        Some(format!("{}; follow up with: fathom ask {run_id} \"…\"", parts.join(", ")))
    }

    /// Says what becomes of the run.
    async fn interrupted(&self, run_id: RunId) -> Exit {
        let overview = self.app.runs.store().overview(run_id).await.ok().flatten();
        let fate = match &overview {
            Some(overview) if overview.is_parked() => {
                "nothing is lost, and nobody goes on with it by itself".to_owned()
            }
            Some(RunOverview { worker: Some(worker), .. }) => format!("nothing is lost, and {worker} goes on with it"),
            _ => "nothing is lost; a service on the same database may go on with it".to_owned(),
        };
        complain(&format!("interrupted; {fate}; to go on: fathom resume {run_id}"));
        Exit::Interrupted
    }
}

/// Returns what the run cost, and of which models that is not known. The offline model costs nothing.
fn money(usage: &BTreeMap<String, ModelUsage>) -> Vec<String> {
    let offline = ModelName::offline().to_string();
    let (priced, unpriced): (Vec<_>, Vec<_>) =
        usage.iter().filter(|(model, _)| **model != offline).partition(|(_, usage)| usage.tokens.cost.is_some());
    let cost = priced.iter().filter_map(|(_, usage)| usage.tokens.cost).reduce(|sum, cost| sum + cost);
    let known = cost.map(|cost| format!("{:.4} dollars", cost.dollars()));
    let names: Vec<&str> = unpriced.into_iter().map(|(model, _)| model.as_str()).collect();
    let unknown = (!names.is_empty()).then(|| format!("price of {} unknown", names.join(" and ")));
    known.into_iter().chain(unknown).collect()
}

fn sources_cited(report: &Report) -> String {
    match report.citations.iter().map(|citation| citation.number).max() {
        None => "no sources cited".to_owned(),
        Some(1) => "1 source cited".to_owned(),
        Some(count) => format!("{count} sources cited"),
    }
}

/// Reads a line that is not blank from the terminal; `None` at its end or when the process shall stop.
async fn read_answer(cancel: &CancellationToken) -> Option<String> {
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        while line.trim().is_empty() {
            print::error("> ");
            line.clear();
            io::stdin().lock().read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
        }
        Some(line)
    });
    tokio::select! {
        line = line => line.ok().flatten(),
        // The reading thread ends with the process.
        () = cancel.cancelled() => None,
    }
}

fn refused(refusal: &Refusal) -> Exit {
    match refusal {
        Refusal::Store(error) => unavailable(error),
        refusal => print::usage(&refusal.to_string()),
    }
}

fn unavailable(error: &store::Error) -> Exit {
    complain(&error.to_string());
    Exit::Failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Caps;

    /// As with a request, the order in which options are given does not matter.
    #[test]
    fn an_effort_counts_before_what_is_given_beside_it() {
        let mut caps = Caps::default();
        caps.add("max_researcher_iterations=4").unwrap();
        let laid = |pairs: &[&str]| {
            let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            let mut options = RunOptions::default();
            caps.lower(&mut options, &RunOptions::default());
            assert_eq!(options.lay_over(&given(&pairs).unwrap(), &caps, 1), []);
            (options.max_run_seconds, options.max_researcher_iterations)
        };
        let usual = RunOptions::default().max_run_seconds;
        let chosen = format!("max_run_seconds={usual}");
        assert_eq!(laid(&[&chosen, "effort=quick"]), (usual, 2));
        assert_eq!(laid(&["effort=quick", &chosen, "max_run_seconds=60"]), (60, 2));
        assert_eq!(laid(&["effort=deep"]).1, 4, "no more than the cap");
    }

    #[test]
    fn a_question_has_no_byte_order_mark_and_an_end() {
        let read = |bytes: &[u8]| read_question(bytes).unwrap();
        assert_eq!(read("\u{feff}Why? \u{feff}".as_bytes()), "Why? \u{feff}");
        assert_eq!(read(b"Why\xff?"), "Why\u{fffd}?");
        assert!(read(&vec![b'x'; 9 * MAX_MESSAGE_CHARS]).len() > MAX_MESSAGE_CHARS);
    }
}
