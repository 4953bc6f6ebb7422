//! `fathom eval`: asks questions whose answers are known, has the reports scored by code, and compares two such
//! results.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{EvalArgs, Exit, complain, print, signals};
use crate::{
    app::App,
    config::Config,
    domain::{Cost, ModelName, RunId, Usage, digest},
    eval::{self, Answer, Header, Question, Results, Scored, Spent},
    llm::Llm,
    runs::{Ended, WorkError},
    search::ROWS,
    store::{self, Database},
};

/// Runs of evaluations are kept apart from one's own.
const DATABASE: &str = "eval.db";
/// For what is still to be stored after an interrupt.
const STOPPING: Duration = Duration::from_secs(60);

pub async fn run(args: EvalArgs, config: Config) -> Exit {
    let done = match (&*args.compare, &args.show, &args.export) {
        ([before, after], _, _) => compare(before, after),
        (_, Some(results), _) => read(results).map(|results| print::line(&eval::table(&results.scored))),
        (_, _, Some(results)) => export(results),
        _ => return measure(args, config).await,
    };
    match done {
        Ok(()) => Exit::Success,
        Err(message) => print::usage(&message),
    }
}

fn compare(before: &Path, after: &Path) -> Result<(), String> {
    let table = eval::compare(&read(before)?.scored, &read(after)?.scored)?;
    print::line(&table);
    Ok(())
}

fn export(results: &Path) -> Result<(), String> {
    let lines: Vec<String> = read(results)?.scored.iter().filter_map(eval::benchmark_line).collect();
    lines.iter().for_each(|line| print::line(line));
    Ok(())
}

fn read(path: &Path) -> Result<Results, String> {
    Results::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

async fn measure(args: EvalArgs, mut config: Config) -> Exit {
    let evaluation = match Evaluation::prepare(&args, &config) {
        Ok(evaluation) => evaluation,
        Err(message) => return print::usage(&message),
    };
    config.options.allow_clarification = false;
    config.database = Database::Sqlite { path: config.data_dir.join(DATABASE), synchronous: Default::default() };
    config.notices.iter().for_each(|notice| complain(notice));
    let app = match App::build(&config).await {
        Ok(app) => app,
        Err(error) => return print::usage(&format!("{error:#}")),
    };
    let cancel = CancellationToken::new();
    let _signals = signals::listen(cancel.clone(), complain, STOPPING);
    let exit = evaluation.work(&app, &config, &cancel).await;
    app.close().await;
    exit
}

/// What is to be asked, and what is there already.
struct Evaluation {
    pending: Vec<(Question, u32)>,
    results: Results,
    out: PathBuf,
    at_once: usize,
    caps: Caps,
}

/// Beyond these no further question is asked.
struct Caps {
    cost: Option<f64>,
    tokens: Option<u64>,
}

impl Caps {
    fn are_reached(&self, results: &[Scored]) -> bool {
        let cost = results.iter().filter_map(|one| one.spent.cost).fold(Cost::default(), |sum, one| sum + one);
        let tokens: u64 = results.iter().map(|one| one.spent.input_tokens + one.spent.output_tokens).sum();
        self.cost.is_some_and(|cap| cost.dollars() >= cap) || self.tokens.is_some_and(|cap| tokens >= cap)
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
        let models = models(config);
        if args.max_cost.is_some() {
            let llm = Llm::new(config.llm.clone()).map_err(|error| error.to_string())?;
            let unpriced = models.iter().find(|model| !model.is_offline() && llm.facts(model).price.is_none());
            unpriced.map_or(Ok(()), |model| {
                Err(format!("--max-cost needs the price of {model}: [models.\"{model}\"] in the settings file"))
            })?;
        }
        let header = Header {
            fathom: env!("CARGO_PKG_VERSION").to_owned(),
            models: models.iter().map(ToString::to_string).collect(),
            questions: digest::sha256_hex(text.as_bytes()),
            documents: config.search.folder(ROWS).map(|folder| folder.display().to_string()),
        };
        let out = args.out.clone().unwrap_or_else(|| default_out(path));
        let results = going_on(&out, header)?;
        let done = results.done();
        let wanted = |question: &&Question| args.only.is_empty() || args.only.contains(&question.id);
        let pending = (1..=args.runs)
            .flat_map(|run| questions.iter().filter(wanted).map(move |question| (question.clone(), run)))
            .filter(|(question, run)| !done.contains(&(question.id.clone(), *run)))
            .collect();
        let caps = Caps { cost: args.max_cost, tokens: args.max_tokens };
        Ok(Self { pending, results, out, at_once: args.at_once.max(1) as usize, caps })
    }

    /// Asks what is pending, and prints the figures over all that is there.
    async fn work(self, app: &App, config: &Config, cancel: &CancellationToken) -> Exit {
        let Self { pending, mut results, out, at_once, caps } = self;
        let mut file = match results.write(&out) {
            Ok(file) => file,
            Err(error) => return print::usage(&format!("{}: {error}", out.display())),
        };
        let (all, capped) = (pending.len(), AtomicBool::new(caps.are_reached(&results.scored)));
        let stops = || cancel.is_cancelled() || capped.load(Ordering::Relaxed);
        let ask = |(question, run): (Question, u32)| async move {
            let answer = if stops() { None } else { ask(app, config, &question, cancel).await };
            answer.map(|answer| eval::score(&question, run, &answer))
        };
        let mut answers = std::pin::pin!(stream::iter(pending).map(ask).buffer_unordered(at_once));
        let mut count = 0;
        while let Some(scored) = answers.next().await {
            let Some(scored) = scored else { continue };
            count += 1;
            complain(&format!("{count}/{all} {}", progress(&scored)));
            if let Err(error) = results.add(&mut file, scored) {
                return print::usage(&format!("{}: {error}", out.display()));
            }
            capped.store(caps.are_reached(&results.scored), Ordering::Relaxed);
        }
        print::line(&eval::table(&results.scored));
        complain(&format!("results: {}", out.display()));
        match (cancel.is_cancelled(), count < all) {
            (true, _) => {
                complain("interrupted; the same command goes on");
                Exit::Interrupted
            }
            (false, true) => {
                complain(&format!("stopped after {count} of {all}: the cap is reached, or a run could not be made"));
                Exit::Failed
            }
            (false, false) => Exit::Success,
        }
    }
}

/// The models of all roles, each once.
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

/// What is in the file already, if it was measured in the same way.
fn going_on(out: &Path, header: Header) -> Result<Results, String> {
    if !out.exists() {
        return Ok(Results { header, scored: Vec::new() });
    }
    let results = read(out)?;
    if results.header == header {
        return Ok(results);
    }
    Err(format!(
        "{} holds results of other questions, models, documents or of another version; name another file with --out",
        out.display()
    ))
}

/// Makes one run; `None` when it was interrupted or nothing can be stored.
async fn ask(app: &App, config: &Config, question: &Question, cancel: &CancellationToken) -> Option<Answer> {
    let begun = Instant::now();
    let run = match app.runs.submit(&question.question, config.options.clone()).await {
        Ok(run) => run,
        Err(refusal) => return failed(&refusal.to_string()),
    };
    let failure = match app.runs.work(run.id, cancel).await {
        Ok(Ended::Completed(_)) => None,
        Ok(Ended::Failed(failure)) => Some(failure.code.as_str().to_owned()),
        Ok(Ended::Interrupted | Ended::Lost | Ended::Cancelled) | Err(WorkError::Interrupted) => return None,
        Err(error) => return failed(&error.to_string()),
    };
    match brought(app, run.id).await {
        Ok(mut answer) => {
            answer.failure = failure;
            answer.spent.seconds = begun.elapsed().as_secs_f64();
            Some(answer)
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(reason: &str) -> Option<Answer> {
    complain(reason);
    None
}

async fn brought(app: &App, run_id: RunId) -> Result<Answer, store::Error> {
    let store = app.runs.store();
    let mut answer = Answer {
        report: store.report(run_id).await?,
        sources: store.snapshots(run_id).await?,
        notes: store.notes(run_id).await?,
        ..Answer::default()
    };
    if let Some(details) = app.runs.details(run_id).await? {
        let calls = details.usage.values().map(|usage| usage.calls).sum();
        let tokens = |of: fn(&Usage) -> u64| details.usage.values().map(|usage| of(&usage.tokens)).sum();
        answer.spent = Spent {
            calls,
            searches: details.run.progress.searches,
            input_tokens: tokens(|usage| usage.input_tokens),
            output_tokens: tokens(|usage| usage.output_tokens),
            seconds: 0.0,
            cost: details.usage.values().filter_map(|usage| usage.tokens.cost).reduce(|sum, one| sum + one),
        };
    }
    Ok(answer)
}

/// One answer on one line.
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
    format!("{}: {}, {:.1} s", scored.id, parts.join(", "), scored.spent.seconds)
}
