//! The command line: parse, call a handle, show. What it shows while a run works comes from the run's events.

mod config;
mod doctor;
mod estimate;
mod eval;
mod health;
mod judging;
mod keys;
mod open_files;
mod out;
mod print;
mod probe;
mod progress;
mod research;
mod runs;
mod serve;
mod signals;
mod stored;
mod usage;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use self::print::complain;
use clap::{Args, Parser, Subcommand};
use jiff::tz::TimeZone;

use crate::{
    config::{
        Config, Flags,
        help::{flag_help, option_values},
    },
    domain::{
        Cost, ModelName, RunId, RunStatus,
        options::{OPTIONS, OptionSpec},
    },
    pages,
    search::join_folders,
    telemetry,
};

/// The time for threads that are about to end by themselves.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// How the process ends; documented in `--help` and docs/guide.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    /// The research failed, something `doctor` checked is broken, or what was asked for did not happen.
    Failed = 1,
    /// Settings, arguments or the question cannot be used. Nothing was started.
    Usage = 2,
    /// The run ended with a question to the user, and nobody was there to answer.
    Question = 3,
    /// Ctrl-C or a termination signal: the run waits to be resumed.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

const EXIT_CODES: &str = "Exit codes:
  0    success
  1    the research failed, or what was asked for did not happen
  2    bad usage: an argument, a setting or the question cannot be used; nothing was started
  3    the model asked a question and nobody was there to answer (see --no-clarify)
  130  interrupted; `fathom resume RUN_ID` goes on";

/// Open Deep Research: a question goes in, a cited report comes out, and a run survives the process.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// Without one: serve
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

impl Cli {
    /// Returns what is to be done; settings that stand before the command count as those behind it do.
    ///
    /// # Errors
    /// A flag that the command has no use for.
    fn into_command(self) -> Result<Command, String> {
        let before = self.serve;
        let Some(mut command) = self.command else { return Ok(Command::Serve(before)) };
        match &mut command {
            Command::Serve(args) | Command::Health(args) => {
                args.listen = args.listen.take().or(before.listen);
                args.open |= before.open;
            }
            _ if before.listen.is_some() => return Err("--listen is for fathom serve and fathom health".to_owned()),
            _ if before.open => return Err("--open is for fathom serve".to_owned()),
            _ => {}
        }
        let settings = command.settings_mut();
        *settings = std::mem::take(settings).over(before.settings);
        Ok(command)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the service: REST and event streams over HTTP (the default)
    Serve(ServeArgs),
    /// Ask a running service whether it is ready; the exit code says so
    Health(ServeArgs),
    /// Research a question and print the cited report
    #[command(after_help = EXIT_CODES, after_long_help = research_help())]
    Research(ResearchArgs),
    /// Go on with a run that was interrupted, failed or was cancelled, or whose process died
    #[command(after_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// Follow up on a run: ask more in its thread, or reply to its question
    #[command(after_help = EXIT_CODES)]
    Ask(AskArgs),
    /// Look at the runs of the database, and stop or go on with one, whichever process it belongs to
    #[command(after_help = EXIT_CODES)]
    Runs(RunsArgs),
    /// Check settings, database, documents, keys and reachability, and say what to do
    Doctor(DoctorArgs),
    /// Ask questions whose answers are known, and score the reports
    #[command(after_help = EXIT_CODES)]
    Eval(EvalArgs),
    /// Make, list and revoke keys of the API, for a service with FATHOM_AUTHENTICATION=keys
    #[command(after_help = EXIT_CODES)]
    Keys(keys::KeysArgs),
    /// Show what was used by day or month: runs, searches, calls, tokens and money, by owner and model
    #[command(after_help = EXIT_CODES)]
    Usage(usage::UsageArgs),
    /// Print every setting as it counts, and where it comes from; secrets are masked
    Config(ConfigArgs),
}

impl Command {
    fn settings_mut(&mut self) -> &mut SettingsArgs {
        match self {
            Self::Serve(args) | Self::Health(args) => &mut args.settings,
            Self::Research(args) => &mut args.settings,
            Self::Resume(args) => &mut args.settings,
            Self::Ask(args) => &mut args.settings,
            Self::Runs(args) => args.command.settings_mut(),
            Self::Doctor(args) => &mut args.settings,
            Self::Eval(args) => &mut args.settings,
            Self::Keys(args) => args.settings_mut(),
            Self::Usage(args) => &mut args.settings,
            Self::Config(args) => &mut args.settings,
        }
    }

    /// Returns what is logged unless the settings say otherwise: the command itself speaks to people at a terminal. The
    /// audit log is in it whatever it says: changes of keys are logged as those are that come through the API.
    fn log_filter(&self) -> &'static str {
        match self {
            Self::Serve(_) => "info",
            _ => "error",
        }
    }

    fn flags(&mut self) -> Flags {
        let (listen, open) = match self {
            Self::Serve(args) | Self::Health(args) => (args.listen.clone(), args.open),
            _ => (None, false),
        };
        // Who asks here is where this machine is; who asks a service says it.
        let timezone = match self {
            Self::Research(_) => TimeZone::system().iana_name().map(str::to_owned),
            _ => None,
        };
        Flags { listen, open, timezone, ..self.settings_mut().flags() }
    }
}

#[derive(Debug, Args)]
struct ServeArgs {
    #[arg(long, value_name = "ADDRESS:PORT", help = flag_help("listen"))]
    listen: Option<String>,
    #[arg(long, help = flag_help("http.open"))]
    open: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct ResearchArgs {
    /// The question, or `-` to read it from standard input
    question: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Start without a clarifying question (the default when nobody is at the terminal)
    #[arg(long)]
    no_clarify: bool,
    /// Start nothing: say what it is expected to take, by finished runs like it or by the size of its effort
    #[arg(long)]
    estimate: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct ResumeArgs {
    /// As printed when the run ended. --model and --set count only for one that failed or was cancelled: an interrupted
    /// run keeps its options
    run_id: RunId,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct AskArgs {
    /// A run of the thread, as printed when it ended
    run_id: RunId,
    /// The follow-up question or the reply, or `-` to read it from standard input
    message: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List runs, newest first
    List(RunsListArgs),
    /// Show what is known of a run: how far it is, what it used, who has it
    Show(RunsShowArgs),
    /// Print the report of a run that ended with one, or its answer
    Report(RunsReportArgs),
    /// Stop a run wherever it is, and wait a few seconds for its end; what it found is kept
    Cancel(RunsCancelArgs),
    /// Go on with a run; the same as `fathom resume`
    Resume(ResumeArgs),
}

impl RunsCommand {
    fn settings_mut(&mut self) -> &mut SettingsArgs {
        match self {
            Self::List(args) => &mut args.settings,
            Self::Show(args) => &mut args.settings,
            Self::Report(args) => &mut args.settings,
            Self::Cancel(args) => &mut args.settings,
            Self::Resume(args) => &mut args.settings,
        }
    }
}

#[derive(Debug, Args)]
struct RunsListArgs {
    /// Only runs that stand so: queued, running, completed, failed, cancelled
    #[arg(long, value_parser = run_status)]
    status: Option<RunStatus>,
    /// At most so many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct RunsShowArgs {
    run_id: RunId,
    /// Print a JSON object instead of lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct RunsReportArgs {
    run_id: RunId,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct RunsCancelArgs {
    run_id: RunId,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn run_status(name: &str) -> Result<RunStatus, String> {
    let names = RunStatus::ALL.map(RunStatus::as_str);
    RunStatus::parse(name).ok_or_else(|| format!("it must be one of {}", names.join(", ")))
}

#[derive(Debug, Args)]
struct DoctorArgs {
    #[command(flatten)]
    settings: SettingsArgs,
    /// Find out by a handful of calls what this model can do, and print a table for the settings file
    #[arg(long, value_name = "PROVIDER:MODEL")]
    probe: Option<ModelName>,
}

#[derive(Debug, Args)]
struct EvalArgs {
    /// The questions, a JSON object per line, such as examples/questions.jsonl
    #[arg(required_unless_present_any = ["compare", "show", "export"])]
    questions: Option<PathBuf>,
    /// Where the results go; an evaluation that stopped goes on with them [default: NAME.results.jsonl here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Ask each question so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// Ask so many questions at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    at_once: u32,
    /// Ask these questions only
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    only: Vec<String>,
    /// Ask no further question once all together cost so much, judges included; needs the prices of the models
    #[arg(long, value_name = "DOLLARS", value_parser = keys::dollars)]
    max_cost: Option<Cost>,
    /// Ask no further question once all together used so many tokens, judges included
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Have each report judged by this model too: its quality, and whether its claims stand in its sources. Reports in
    /// the file of results that are not judged yet are judged as well
    #[arg(long, value_name = "PROVIDER:MODEL")]
    judge_model: Option<ModelName>,
    /// Show what changed between two files of results, and whether chance explains it
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "questions")]
    compare: Vec<PathBuf>,
    /// Show the figures of a file of results
    #[arg(long, value_name = "RESULTS", conflicts_with = "questions")]
    show: Option<PathBuf>,
    /// Print the reports in a file of results as Deep Research Bench takes them
    #[arg(long, value_name = "RESULTS", conflicts_with = "questions")]
    export: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct ConfigArgs {
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// Write the report to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Default, Args)]
struct SettingsArgs {
    /// Settings file, TOML (default: fathom.toml in this folder, if it is there) [env: FATHOM_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[arg(long, value_name = "DIR", help = flag_help("docs"))]
    docs: Vec<PathBuf>,
    #[arg(long, value_name = "PROVIDER:MODEL", help = flag_help("model"))]
    model: Option<String>,
    /// Set a research option; may be repeated (`fathom research --help` lists all)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    options: Vec<String>,
    #[arg(long, value_name = "DIR", help = flag_help("data_dir"))]
    data_dir: Option<PathBuf>,
}

impl SettingsArgs {
    /// Takes `before` where this says nothing.
    fn over(self, before: Self) -> Self {
        Self {
            config: self.config.or(before.config),
            docs: if self.docs.is_empty() { before.docs } else { self.docs },
            model: self.model.or(before.model),
            // Of several for one option the last counts.
            options: [before.options, self.options].concat(),
            data_dir: self.data_dir.or(before.data_dir),
        }
    }

    fn flags(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            listen: None,
            open: false,
            data_dir: self.data_dir.clone(),
            documents: (!self.docs.is_empty()).then(|| join_folders(&self.docs)),
            model: self.model.clone(),
            options: self.options.clone(),
            timezone: None,
        }
    }
}

/// Runs the program. This stands here and not in `main.rs`, so that the code of what is awaited below is made
/// once, with the library, and not once more with the program.
pub fn main() -> ExitCode {
    // Before there is a runtime: its threads would be a large part of the memory a parser process may have.
    parse_worker().unwrap_or_else(with_runtime)
}

/// Works as a parser process when this one was started as one (`pages`); `None` when it was not.
fn parse_worker() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == pages::SUBCOMMAND && arguments.next().is_none()).then(pages::work)
}

fn with_runtime() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("the threads of the process cannot be started: {error}"));
            return Exit::Failed.into();
        }
    };
    let exit = runtime.block_on(async {
        signals::outlive_file_limits();
        run().await
    });
    // Threads that still read or compute end with the process; waiting for them could take for ever.
    runtime.shutdown_timeout(LAST_WAIT);
    exit
}

/// Parses the arguments, reads the settings, starts the log, and does what was asked.
async fn run() -> ExitCode {
    let parsed = match Cli::try_parse() {
        Ok(parsed) => parsed,
        Err(error) => return print::arguments(&error).into(),
    };
    let mut command = match parsed.into_command() {
        Ok(command) => command,
        Err(message) => {
            complain(&message);
            return Exit::Usage.into();
        }
    };
    if let Command::Health(_) = command {
        return health::run(&command.flags()).await.into();
    }
    let config = match Config::from_process(&command.flags()) {
        Ok(config) => config,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage.into();
        }
    };
    let (telemetry, traces) = telemetry::start(&config.log, &config.telemetry, command.log_filter());
    if let Err(trouble) = traces {
        complain(&format!("there will be no traces: {trouble}"));
    }
    let files = open_files::raise_limit();
    let exit = match command {
        Command::Serve(_) => serve::run(config, files).await,
        Command::Health(_) => unreachable!("it was answered without the settings"),
        Command::Research(args) => research::start(args, config).await,
        Command::Resume(args) => research::resume(args, config).await,
        Command::Ask(args) => research::ask(args, config).await,
        Command::Runs(args) => runs::run(args.command, config).await,
        Command::Doctor(DoctorArgs { probe: Some(model), .. }) => probe::run(&config, &model).await,
        Command::Doctor(_) => doctor::run(config).await,
        Command::Eval(args) => eval::run(args, config).await,
        Command::Keys(args) => keys::run(args, config).await,
        Command::Usage(args) => usage::run(args, config).await,
        Command::Config(args) => config::run(&config, args.json),
    };
    telemetry.finish().await;
    exit.into()
}

/// Returns the option table as `research --help` shows it.
fn research_help() -> String {
    let mut help = String::from("Research options (--set NAME=VALUE, or FATHOM_NAME in the environment):\n");
    for spec in OPTIONS {
        help.push_str(&format!(
            "  {} ({}, default {})\n      {}\n",
            spec.name,
            option_values(spec.kind),
            default(spec),
            spec.meaning
        ));
    }
    help.push('\n');
    help.push_str(EXIT_CODES);
    help
}

/// Returns the default as it turns out for most.
fn default(spec: &OptionSpec) -> &str {
    match spec.name {
        "search_api" => "auto: the first of them whose key, address or folder is set",
        _ => spec.default.trim_matches('"'),
    }
}
