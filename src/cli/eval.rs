//! `fathom eval`: asks questions whose answers are known, has the reports scored by code and, where one is named,
//! judged by a model (`judging.rs`), and compares two such results.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{EvalArgs, Exit, complain, judging, print, signals};
use crate::{
    app::App,
    config::Config,
    domain::{Cost, ModelName, RunId, Usage, digest},
    eval::{self, Answer, Case, Groundedness, Header, Judged, Judges, Question, Results, Scored, Spent},
    llm::Llm,
    pages::Parser,
    runs::{Ended, WorkError},
    search::{Engines, ROWS},
    store::{self, Database},
};

/// Runs of evaluations are kept apart from one's own.
const DATABASE: &str = "eval.db";
/// The time for what is still to be stored after an interrupt.
const STOPPING: Duration = Duration::from_secs(60);

pub async fn run(args: EvalArgs, config: Config) -> Exit {
    let done = match (&*args.compare, &args.show, &args.export) {
        ([before, after], _, _) => compare(before, after),
        (_, Some(results), _) => read(results).map(|results| print::answer(&eval::table(&results.scored))),
        (_, _, Some(results)) => export(results),
        _ => return measure(args, config).await,
    };
    match done {
        Ok(exit) => exit,
        Err(message) => print::usage(&message),
    }
}

fn compare(before: &Path, after: &Path) -> Result<Exit, String> {
    let (mut before, mut after) = (read(before)?, read(after)?);
    if let (Some(one), Some(other)) = (&before.header.judge, &after.header.judge)
        && one != other
    {
        complain(&format!("judged by {one} and by {other}: scores of different judges are not compared"));
        before.scored.iter_mut().chain(&mut after.scored).for_each(|scored| scored.judged = None);
    }
    Ok(print::answer(&eval::compare(&before.scored, &after.scored)?))
}

fn export(results: &Path) -> Result<Exit, String> {
    let lines: Vec<String> = read(results)?.scored.iter().filter_map(eval::benchmark_line).collect();
    Ok(if lines.is_empty() { Exit::Success } else { print::answer(&lines.join("\n")) })
}

fn read(path: &Path) -> Result<Results, String> {
    Results::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

async fn measure(args: EvalArgs, mut config: Config) -> Exit {
    config.options.allow_clarification = false;
    let evaluation = match Evaluation::prepare(&args, &config) {
        Ok(evaluation) => evaluation,
        Err(message) => return print::usage(&message),
    };
    config.database = Database::Sqlite { path: config.data_dir.join(DATABASE), synchronous: Default::default() };
    config.notices.iter().for_each(|notice| complain(notice));
    let cancel = CancellationToken::new();
    let _signals = signals::listen(cancel.clone(), complain, STOPPING);
    let app = match cancel.run_until_cancelled(App::build(&config)).await {
        Some(Ok(app)) => app,
        Some(Err(error)) => return print::usage(&format!("{error:#}")),
        None => return signals::before_start(),
    };
    let exit = evaluation.work(&app, &config, &cancel).await;
    app.close().await;
    exit
}

/// What is to be done, and what is there already.
struct Evaluation {
    tasks: Vec<Task>,
    results: Results,
    /// The file that holds them, kept from others while it is open; `None` when there is none yet.
    taken: Option<File>,
    out: PathBuf,
    at_once: usize,
    caps: Caps,
    judge: Option<ModelName>,
}

/// One answer to come by.
enum Task {
    /// The question is asked, for that time from 1.
    Ask(Question, u32),
    /// The report is there; what is missing is what judges say of it.
    Judge(Question, Box<Scored>),
}

/// Beyond these no further question is asked, and no further report judged.
struct Caps {
    cost: Option<Cost>,
    tokens: Option<u64>,
}

impl Caps {
    fn are_reached(&self, spent: &Spent) -> bool {
        let (cost, tokens) = (spent.cost.unwrap_or_default(), spent.input_tokens + spent.output_tokens);
        self.cost.is_some_and(|cap| cost >= cap) || self.tokens.is_some_and(|cap| tokens >= cap)
    }
}

impl Evaluation {
    fn prepare(args: &EvalArgs, config: &Config) -> Result<Self, String> {
        let path = args.questions.as_deref().ok_or("name a file of questions")?;
        let named = |error: String| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        let questions = eval::read_questions(&text).map_err(named)?;
        if let Some(unknown) = args.only.iter().find(|id| !questions.iter().any(|question| question.id == **id)) {
            return Err(named(format!("it has no question {unknown}")));
        }
        let (models, judge) = (models(config), args.judge_model.clone());
        // To look things up; calls are made by that of the app.
        let llm = Llm::new(config.llm.clone()).map_err(|error| error.to_string())?;
        if let Some(judge) = &judge {
            judging::check(judge, &llm, config)?;
        }
        if args.max_cost.is_some() {
            prices_are_known(models.iter().chain(&judge), search_model(config).as_ref(), &llm)?;
        }
        let header = Header {
            fathom: env!("CARGO_PKG_VERSION").to_owned(),
            models: models.iter().map(ToString::to_string).collect(),
            questions: digest::sha256_hex(text.as_bytes()),
            documents: config.search.folder(ROWS).map(|folder| folder.display().to_string()),
            options: serde_json::to_vec(&config.options).ok().map(|options| digest::sha256_hex(&options)),
            judge: judge.as_ref().map(ToString::to_string),
        };
        let out = args.out.clone().unwrap_or_else(|| default_out(path));
        let (results, taken) = going_on(&out, header)?;
        let wanted: Vec<&Question> =
            questions.iter().filter(|question| args.only.is_empty() || args.only.contains(&question.id)).collect();
        let tasks = tasks(&wanted, args.runs, &results, judge.is_some());
        let caps = Caps { cost: args.max_cost, tokens: args.max_tokens };
        Ok(Self { tasks, results, taken, out, at_once: args.at_once.max(1) as usize, caps, judge })
    }

    /// Does what is to be done, and prints the figures over all that is there.
    async fn work(self, app: &App, config: &Config, cancel: &CancellationToken) -> Exit {
        let Self { tasks, results, taken, out, at_once, caps, judge } = self;
        let unwritable = |error: io::Error| format!("{}: {error}", out.display());
        let file = match results.write(&out, taken.as_ref()) {
            Ok(file) => file,
            Err(error) => return print::usage(&unwritable(error)),
        };
        let all = tasks.len();
        let judges = judge.map(|model| judging::judges(app, model, config));
        let bench = Bench { app, config, cancel, caps, judges, kept: Mutex::new((results, file)) };
        let (whole, kept) = bench.all(tasks, at_once).await;
        let printed = print::answer(&eval::table(&bench.kept.lock().0.scored));
        complain(&format!("results: {}", out.display()));
        if let Err(error) = kept {
            complain(&format!("stopped after {whole} of {all}: {}; the same command goes on", unwritable(error)));
            return Exit::Failed;
        }
        match (cancel.is_cancelled(), whole < all) {
            (true, _) => {
                complain("interrupted; the same command goes on");
                Exit::Interrupted
            }
            (false, true) => {
                complain(&format!("stopped after {whole} of {all}: the cap is reached, or a run could not be made"));
                Exit::Failed
            }
            (false, false) => printed,
        }
    }
}

/// Returns the questions not asked yet, as often as wanted; and, where there are judges, reports that they have not
/// judged.
fn tasks(wanted: &[&Question], runs: u32, results: &Results, judging: bool) -> Vec<Task> {
    let done = results.done();
    let is_done = |question: &Question, run: u32| done.contains(&(question.id.clone(), run));
    let asked = (1..=runs).flat_map(|run| wanted.iter().map(move |question| (*question, run)));
    let asked = asked.filter(|(question, run)| !is_done(question, *run));
    let unjudged = results.scored.iter().filter_map(|scored| {
        let question = wanted.iter().find(|question| question.id == scored.id)?;
        let is_missing = judging && !scored.unjudged(question).is_empty();
        is_missing.then(|| Task::Judge((*question).clone(), Box::new(scored.clone())))
    });
    unjudged.chain(asked.map(|(question, run)| Task::Ask(question.clone(), run))).collect()
}

/// Returns the model that searches, if one does.
fn search_model(config: &Config) -> Option<ModelName> {
    // To look it up; what is wrong with the engines is said when the app is built.
    let engines = Engines::new(config.search.clone(), Parser::new(config.parser.clone())).ok()?;
    let engine = engines.select(&config.options.search_api, &config.options.search_fallback).ok()?;
    engine.model().cloned()
}

fn prices_are_known<'a>(
    mut models: impl Iterator<Item = &'a ModelName>,
    search: Option<&'a ModelName>,
    llm: &Llm,
) -> Result<(), String> {
    let costs = |model: &ModelName, searches| llm.cost(model, &Usage { searches, ..Usage::default() }).is_some();
    if let Some(model) = models.find(|model| !model.is_offline() && !costs(model, 0)) {
        return Err(format!("--max-cost needs the price of {model}: [models.\"{model}\"] in the settings file"));
    }
    match search.filter(|model| !costs(model, 1)) {
        Some(model) => Err(format!(
            "--max-cost needs the price of {model}, with that of a search: [models.\"{model}\"] in the settings file"
        )),
        None => Ok(()),
    }
}

/// What tasks need that are done several at the same time.
struct Bench<'a> {
    app: &'a App,
    config: &'a Config,
    cancel: &'a CancellationToken,
    caps: Caps,
    judges: Option<Judges>,
    /// Locked to be added to, which is one write of a line.
    kept: Mutex<(Results, File)>,
}

/// A task that was done.
struct Done {
    /// What to say of it.
    line: String,
    /// Or did the cap or an interrupt come before its judges?
    is_whole: bool,
}

impl Bench<'_> {
    /// Does the tasks, so many at the same time, until one cannot be kept: the next ones would be paid for in vain.
    /// Returns how many were done to their end.
    async fn all(&self, tasks: Vec<Task>, at_once: usize) -> (usize, io::Result<()>) {
        let all = tasks.len();
        let mut done = std::pin::pin!(stream::iter(tasks).map(|task| self.done(task)).buffer_unordered(at_once));
        let (mut count, mut whole) = (0, 0);
        while let Some(done) = done.next().await {
            match done {
                Ok(Some(done)) => {
                    count += 1;
                    whole += usize::from(done.is_whole);
                    complain(&format!("{count}/{all} {}", done.line));
                }
                Ok(None) => {}
                Err(error) => return (whole, Err(error)),
            }
        }
        (whole, Ok(()))
    }

    /// Does a task, and keeps the answer before it is judged, and again after. `None` when it was not begun, or nothing
    /// came of it; what it took is kept all the same.
    async fn done(&self, task: Task) -> io::Result<Option<Done>> {
        if self.stops() {
            return Ok(None);
        }
        let (question, mut scored) = match task {
            Task::Judge(question, scored) => (question, *scored),
            Task::Ask(question, run) => {
                let scored = match ask(self.app, self.config, &question, self.cancel).await {
                    Some(Asked::Answered(answer)) => eval::score(&question, run, &answer),
                    Some(Asked::Stopped(run_id, spent)) => Scored::stopped(&question, run, run_id, spent),
                    None => return Ok(None),
                };
                self.keep(&scored)?;
                if scored.stopped {
                    return Ok(None);
                }
                (question, scored)
            }
        };
        let before = scored.judged.clone();
        let is_whole = self.judge(&question, &mut scored).await;
        if scored.judged != before {
            self.keep(&scored)?;
        }
        Ok(Some(Done { line: progress(&scored), is_whole }))
    }

    fn keep(&self, scored: &Scored) -> io::Result<()> {
        let (results, file) = &mut *self.kept.lock();
        results.add(file, scored.clone())
    }

    fn stops(&self) -> bool {
        self.cancel.is_cancelled() || self.caps.are_reached(&self.kept.lock().0.spent())
    }

    /// Has the report judged by those that have not judged it; `false` when there was no time or money for it.
    async fn judge(&self, question: &Question, scored: &mut Scored) -> bool {
        let Some(judges) = &self.judges else { return true };
        let wanted = scored.unjudged(question);
        let Some(report) = scored.report.as_deref().filter(|_| !wanted.is_empty()) else { return true };
        if self.stops() {
            return false;
        }
        let kept = judging::kept(self.app, scored.run_id).await;
        let case = Case { question, report, kept: kept.as_ref() };
        let judged = judges.judge(case, &wanted, self.cancel).await;
        scored.judged.get_or_insert_default().merge(judged);
        !self.cancel.is_cancelled()
    }
}

/// Returns the models of all roles, each once.
fn models(config: &Config) -> Vec<ModelName> {
    let mut models: Vec<ModelName> = Vec::new();
    for model in config.options.models() {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}

fn default_out(questions: &Path) -> PathBuf {
    let stem = questions.file_stem().map_or_else(|| "questions".into(), |stem| stem.to_string_lossy());
    PathBuf::from(format!("{stem}.results.jsonl"))
}

/// Returns what is in the file already, if it was measured in the same way, and the file, which nobody else adds to
/// while it is open.
fn going_on(out: &Path, header: Header) -> Result<(Results, Option<File>), String> {
    let taken = Results::take(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let Some((file, mut results)) = taken else { return Ok((Results { header, ..Results::default() }, None)) };
    let gone_on = results.header.go_on(&header);
    gone_on.map_err(|other| format!("{} holds {other}; name another file with --out", out.display()))?;
    Ok((results, Some(file)))
}

/// What came of a question.
enum Asked {
    Answered(Box<Answer>),
    /// The run was interrupted, or what it brought cannot be read; with what it took.
    Stopped(RunId, Spent),
}

/// Makes one run; `None` when it took nothing.
async fn ask(app: &App, config: &Config, question: &Question, cancel: &CancellationToken) -> Option<Asked> {
    let begun = Instant::now();
    let run = match app.runs.submit(&question.question, config.options.clone()).await {
        Ok(run) => run,
        Err(refusal) => return failed(&refusal.to_string()),
    };
    let failure = match app.runs.work(run.id, cancel).await {
        Ok(Ended::Completed(_)) => None,
        Ok(Ended::Failed(failure)) => Some(failure.code.as_str().to_owned()),
        Ok(Ended::Interrupted | Ended::Lost | Ended::Cancelled) | Err(WorkError::Interrupted) => {
            return stopped(app, run.id).await;
        }
        Err(error) => {
            complain(&error.to_string());
            return stopped(app, run.id).await;
        }
    };
    match brought(app, run.id).await {
        Ok(mut answer) => {
            answer.run_id = Some(run.id);
            answer.failure = failure;
            answer.spent.seconds = begun.elapsed().as_secs_f64();
            Some(Asked::Answered(Box::new(answer)))
        }
        Err(error) => {
            complain(&error.to_string());
            stopped(app, run.id).await
        }
    }
}

/// Returns what a run took that brought no answer. It is not resumed: its time would be over while the evaluation
/// rests.
async fn stopped(app: &App, run_id: RunId) -> Option<Asked> {
    match spent(app, run_id).await {
        Ok(spent) => (spent != Spent::default()).then_some(Asked::Stopped(run_id, spent)),
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(reason: &str) -> Option<Asked> {
    complain(reason);
    None
}

async fn brought(app: &App, run_id: RunId) -> Result<Answer, store::Error> {
    let store = app.runs.store();
    Ok(Answer {
        report: store.report(run_id).await?,
        sources: store.snapshots(run_id).await?,
        notes: store.notes(run_id).await?,
        spent: spent(app, run_id).await?,
        ..Answer::default()
    })
}

/// Returns what a run took by now, but for the time.
async fn spent(app: &App, run_id: RunId) -> Result<Spent, store::Error> {
    let Some(details) = app.runs.details(run_id).await? else { return Ok(Spent::default()) };
    let tokens = |of: fn(&Usage) -> u64| details.usage.values().map(|usage| of(&usage.tokens)).sum();
    Ok(Spent {
        calls: details.usage.values().map(|usage| usage.calls).sum(),
        searches: details.run.progress.searches,
        input_tokens: tokens(|usage| usage.input_tokens),
        output_tokens: tokens(|usage| usage.output_tokens),
        seconds: 0.0,
        cost: details.usage.values().filter_map(|usage| usage.tokens.cost).reduce(|sum, one| sum + one),
    })
}

/// Writes one answer on one line.
fn progress(scored: &Scored) -> String {
    if let Some(code) = &scored.failure {
        return format!("{}: failed ({code})", scored.id);
    }
    let found = scored.facts.iter().filter(|fact| fact.lost.is_none()).count();
    let mut parts = vec![format!("{found} of {} facts", scored.facts.len())];
    if scored.unanswerable {
        parts = vec![if scored.admitted { "admitted" } else { "not admitted" }.to_owned()];
    }
    let outdated = scored.outdated.iter().filter(|outdated| outdated.as_current).count();
    parts.extend((outdated > 0).then(|| format!("{outdated} outdated")));
    parts.extend((!scored.injected.is_empty()).then(|| "an injected order shows".to_owned()));
    parts.push(format!("{:.1} s", scored.spent.seconds));
    parts.extend(scored.judged.as_ref().map(judged));
    format!("{}: {}", scored.id, parts.join(", "))
}

/// Writes what the judges said, in short.
fn judged(judged: &Judged) -> String {
    let mut parts: Vec<String> = judged.mean().map(|mean| format!("judged {mean:.1} of 5")).into_iter().collect();
    let grounded = judged.groundedness.as_ref().and_then(Groundedness::share);
    parts.extend(grounded.map(|share| format!("{:.0} % grounded", share * 100.0)));
    parts.extend(judged.failed.iter().map(|(judge, reason)| format!("{} not judged ({reason})", judge.name())));
    parts.join(", ")
}
