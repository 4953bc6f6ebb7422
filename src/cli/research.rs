//! `fathom research` and `fathom resume`: one run, from the question to the printed report.

use std::{
    io::{self, BufRead, IsTerminal, Read, Write},
    path::{Path, PathBuf},
};

use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{Exit, ResearchArgs, ResumeArgs, SettingsArgs, complain, progress, signals};
use crate::{
    app::App,
    config::Config,
    domain::{MessageRole, OptionError, Outcome, Run, RunId, RunOptions, options::MODEL_OPTIONS},
    runs::{Ended, MAX_MESSAGE_CHARS, Refusal, WorkError},
    store::{self, Store},
};

/// Starts a run and carries it to its report, asking the user when the model does.
pub async fn start(args: ResearchArgs, config: Config) -> Exit {
    let notices = config.notices.clone();
    let (app, options) = match prepare(&args, config).await {
        Ok(prepared) => prepared,
        Err(message) => return usage(&message),
    };
    let session = Session::new(app, args.output.out);
    let question = match question(&args.question) {
        Ok(question) => question,
        Err(message) => return session.end(usage(&message)).await,
    };
    let exit = match session.app.runs.submit(&question, options.clone()).await {
        Ok(run) => {
            notices.iter().for_each(|notice| complain(notice));
            session.converse(run, &options).await
        }
        Err(refusal) => refused(&refusal),
    };
    session.end(exit).await
}

/// Goes on with a run of an earlier process; with one that failed or was cancelled by a new run, which takes over what that
/// one had.
pub async fn resume(args: ResumeArgs, config: Config) -> Exit {
    if let Some(Err(message)) = args.output.out.as_deref().map(check_writable) {
        return usage(&message);
    }
    let (app, run, options) = match reopen(config, &args).await {
        Ok(reopened) => reopened,
        Err(exit) => return exit,
    };
    let session = Session::new(app, args.output.out);
    let exit = match &run {
        run if is_question(run) => session.ask_again(run).await,
        run if run.is_retryable() => session.retry(run, options).await,
        run if run.status.is_final() => session.show_final(run).await,
        run => session.converse(run.clone(), &run.options).await,
    };
    session.end(exit).await
}

/// Did the run end with a question to the user?
fn is_question(run: &Run) -> bool {
    run.outcome == Some(Outcome::Clarification)
}

/// Wires the process for a run of an earlier one, whose options and documents it takes over.
async fn reopen(mut config: Config, args: &ResumeArgs) -> Result<(App, Run, RunOptions), Exit> {
    let run_id = args.run_id;
    let store = Store::open(&config.database).await.map_err(|error| usage(&error.to_string()))?;
    let run = store.run(run_id).await.map_err(|error| unavailable(&error))?;
    let run = run.ok_or_else(|| usage(&format!("there is no run {run_id} in this database")))?;
    config.options = run.options.clone();
    if run.is_retryable() {
        change(&mut config.options, &args.settings).map_err(|error| usage(&error.to_string()))?;
    }
    if run.status.is_final() && !is_question(&run) && !run.is_retryable() {
        config.documents = None;
    } else if config.documents.is_none() {
        let documents = store.documents(run_id).await.map_err(|error| unavailable(&error))?;
        config.documents = documents.map(PathBuf::from);
    }
    let app = App::over(store, &config).await.map_err(|error| usage(&format!("{error:#}")))?;
    Ok((app, run, config.options))
}

/// What this command line wants otherwise than the run had it. Settings from elsewhere change no run.
fn change(options: &mut RunOptions, settings: &SettingsArgs) -> Result<(), OptionError> {
    if let Some(model) = &settings.model {
        MODEL_OPTIONS.iter().try_for_each(|name| options.set_text(name, model))?;
    }
    let pairs = settings.options.iter().filter_map(|pair| pair.split_once('='));
    pairs.into_iter().try_for_each(|(name, value)| options.set_text(name.trim(), value))
}

/// The wired process and the options of its run.
async fn prepare(args: &ResearchArgs, config: Config) -> Result<(App, RunOptions), String> {
    args.output.out.as_deref().map_or(Ok(()), check_writable)?;
    let app = App::build(&config).await.map_err(|error| format!("{error:#}"))?;
    let mut options = config.options;
    let wanted = args.settings.options.iter().any(|option| option.trim_start().starts_with("allow_clarification"));
    if args.no_clarify || (!wanted && !io::stdin().is_terminal()) {
        options.allow_clarification = false;
    }
    Ok((app, options))
}

/// The report's place is tried before anything is paid for.
fn check_writable(out: &Path) -> Result<(), String> {
    let existed = out.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(out);
    opened.map_err(|error| format!("{} cannot be written: {error}", out.display()))?;
    if !existed {
        // Only the try is undone; the report is written at the end.
        let _ = std::fs::remove_file(out);
    }
    Ok(())
}

/// The question as given, or all of standard input for `-`; a little more than allowed is read, to tell it is too long.
fn question(argument: &str) -> Result<String, String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut bytes = Vec::new();
    let limit = MAX_MESSAGE_CHARS as u64 * 4 + 4;
    io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(|error| format!("standard input: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The app, the signals, and where the report goes.
struct Session {
    app: App,
    out: Option<PathBuf>,
    cancel: CancellationToken,
    _signals: AbortOnDropHandle<()>,
}

impl Session {
    fn new(app: App, out: Option<PathBuf>) -> Self {
        let cancel = CancellationToken::new();
        let signals = signals::listen(cancel.clone(), complain);
        Self { app, out, cancel, _signals: signals }
    }

    async fn end(self, exit: Exit) -> Exit {
        self.app.close().await;
        exit
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
                Ok(Ended::Completed(Outcome::Report | Outcome::Answer)) => self.print_report(run.id).await,
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
                Ok(Ended::Interrupted | Ended::Lost) | Err(WorkError::Interrupted) => interrupted(run.id),
                // Another process finished it while this one waited.
                Err(WorkError::Final(run)) => self.show_final(&run).await,
                Err(error @ WorkError::TakenOver) => {
                    complain(&format!("{error}; to see its result: fathom resume {}", run.id));
                    Exit::Failed
                }
                Err(error @ WorkError::Refused(_)) => usage(&format!("{error}; then: fathom resume {}", run.id)),
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
        let progress = progress::show(self.app.runs.log(), run_id);
        let work = self.app.runs.work(run_id, &self.cancel);
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

    /// The process ended before the user answered: asks once more, and goes on with the answer.
    async fn ask_again(&self, run: &Run) -> Exit {
        let runs = match self.app.runs.store().thread_runs(run.thread_id).await {
            Ok(runs) => runs,
            Err(error) => return unavailable(&error),
        };
        match runs.first().filter(|newest| newest.id != run.id) {
            Some(newest) => usage(&format!("its question was answered; go on with: fathom resume {}", newest.id)),
            None => match self.answer(run, &run.options).await {
                Ok(next) => self.converse(next, &run.options).await,
                Err(exit) => exit,
            },
        }
    }

    /// Asks the user, and queues the run of the answer.
    async fn answer(&self, run: &Run, options: &RunOptions) -> Result<Run, Exit> {
        let messages = self.app.runs.store().messages(run.thread_id).await.map_err(|error| unavailable(&error))?;
        let asked = messages.iter().rev().find(|message| message.role == MessageRole::Assistant);
        let question = asked.map(|message| message.content.as_str()).unwrap_or_default();
        let _ = writeln!(io::stderr(), "\n{question}\n");
        if !io::stdin().is_terminal() {
            complain(
                "the model asks the question above; ask again with the answer in the question, or with --no-clarify",
            );
            return Err(Exit::Question);
        }
        let answer = read_answer(&self.cancel).await.ok_or_else(|| interrupted(run.id))?;
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
            (None, _) => usage(&format!("the run is {}; there is no report", run.status.as_str())),
        }
    }

    async fn print_report(&self, run_id: RunId) -> Exit {
        let report = match self.app.runs.store().report(run_id).await {
            Ok(Some(report)) => report,
            Ok(None) => return usage("the run has no report"),
            Err(error) => return unavailable(&error),
        };
        let written = match &self.out {
            Some(path) => write_whole(path, &report.markdown),
            None => print(&report.markdown),
        };
        match written {
            Ok(()) => Exit::Success,
            // The reader of a pipe has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Err(error) => {
                let place = self.out.as_ref().map_or("standard output".to_owned(), |path| path.display().to_string());
                complain(&format!(
                    "the report could not be written to {place}: {error}; it is kept: fathom resume {run_id}"
                ));
                Exit::Failed
            }
        }
    }
}

/// Writes beside the file and renames, so that a full disk never leaves half a report. What is no plain file (a pipe, a
/// device, a link to something) is written to as it is, since a rename would put a file in its place.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        return std::fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// A line from the terminal; `None` at its end or when the process shall stop.
async fn read_answer(cancel: &CancellationToken) -> Option<String> {
    let line = tokio::task::spawn_blocking(|| {
        let _ = write!(io::stderr(), "> ");
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).ok().filter(|&bytes| bytes > 0).map(|_| line)
    });
    tokio::select! {
        line = line => line.ok().flatten(),
        // The reading thread ends with the process.
        () = cancel.cancelled() => None,
    }
}

fn interrupted(run_id: RunId) -> Exit {
    complain(&format!("interrupted; nothing is lost, go on with: fathom resume {run_id}"));
    Exit::Interrupted
}

fn refused(refusal: &Refusal) -> Exit {
    match refusal {
        Refusal::Store(error) => unavailable(error),
        refusal => usage(&refusal.to_string()),
    }
}

fn usage(message: &str) -> Exit {
    complain(message);
    Exit::Usage
}

fn unavailable(error: &store::Error) -> Exit {
    complain(&error.to_string());
    Exit::Failed
}
