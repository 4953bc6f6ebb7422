//! How fast and how small the engine is: whole runs against fake servers on loopback, on both databases.
//!
//! `cargo bench --bench runs -- [--table] [--database sqlite|postgres|both] [--json] [one|ten|many …]`
//!
//! This program starts itself twice for each measurement, as the fake servers (`fakes.rs`) and as the engine
//! (`engine.rs`), so that time and memory of the engine's process alone are read from `/proc` (`child.rs`; Linux only).
//! A child ends when its standard input closes, however this process ends, and after [`LIMIT`] in any case.
//! The figures we keep are in README.md beside this folder.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it stops at the first surprise"
)]

mod child;
mod engine;
mod fakes;
mod table;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use child::Child;
use database::Cluster;
use fathom_testkit::{database, world};
use world::Shape;

/// No measurement takes longer; a child that does ends itself.
pub const LIMIT: Duration = Duration::from_secs(180);
/// The run of the benchmark: about 80 model calls, 12 searches.
pub const SHAPE: Shape = Shape { reflections: 1, researchers: 3, searches: 2, queries: 2, sentences: 40 };
const SQLITE: &str = "sqlite";
/// Over TCP with TLS, as tests and most deployments have it.
const POSTGRES: &str = "postgres";
const POSTGRES_PLAIN: &str = "postgres without TLS";
/// The engine rests this long before its idle memory is read.
const REST: Duration = Duration::from_secs(1);

/// Measures whole runs of the engine against fake model and search servers.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// What to measure; all when nothing is named.
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    #[arg(long, value_enum, default_value = "both")]
    database: Databases,
    /// Runs at once in the scenario `many`.
    #[arg(long, default_value_t = 200)]
    many: usize,
    /// Measure everything that has an aim, and print it beside the aims.
    #[arg(long, conflicts_with = "scenarios")]
    table: bool,
    /// Print one JSON array instead of the table.
    #[arg(long)]
    json: bool,
    /// Added by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// What this program is when it has started itself.
#[derive(Subcommand)]
enum Role {
    #[command(hide = true)]
    Fakes(fakes::Arguments),
    #[command(hide = true)]
    Engine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// One run at a time, 50 ms model calls, 20 ms searches.
    One,
    /// Ten at once, same latencies.
    Ten,
    /// Very many at once, 2 s model calls, 0.5 s searches.
    Many,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Databases {
    Sqlite,
    Postgres,
    Both,
}

/// One measurement to be made.
struct Plan {
    name: &'static str,
    model_ms: u64,
    search_ms: u64,
    work: Work,
}

/// What the engine has to do: `rounds` times `at_once` runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Work {
    pub at_once: usize,
    pub rounds: usize,
}

/// What became of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub wall_ms: f64,
    /// From the submission to the first event in a reader's hands.
    pub first_event_ms: f64,
    pub prompt_tokens: u64,
    pub failure: Option<String>,
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub scenario: &'static str,
    pub database: &'static str,
    pub at_once: usize,
    pub runs: usize,
    pub failed: usize,
    pub failures: Vec<String>,
    /// Processor time of the database server per run.
    pub database_cpu_per_run_ms: Option<f64>,
    /// The latencies that follow one another in a run: no engine can be faster.
    pub chain_ms: u64,
    pub median_ms: f64,
    pub max_ms: f64,
    /// Median to chain.
    pub ratio: f64,
    /// By how much a call to the fakes takes longer than its latency when nothing else happens.
    pub fake_excess_ms: f64,
    pub first_event_ms: f64,
    pub cpu_per_run_ms: f64,
    pub fake_cpu_per_run_ms: f64,
    pub start_ms: f64,
    pub idle_mb: f64,
    pub peak_mb: f64,
    pub model_calls_per_run: f64,
    pub searches_per_run: f64,
    pub prompt_tokens_per_run: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match &arguments.role {
        Some(Role::Fakes(settings)) => fakes::serve(settings),
        Some(Role::Engine) => engine::serve(),
        None if arguments.table => measure_table(),
        None => measure_all(&arguments),
    }
}

fn measure_all(arguments: &Arguments) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for scenario in [Scenario::One, Scenario::Ten, Scenario::Many] {
        if !arguments.scenarios.is_empty() && !arguments.scenarios.contains(&scenario) {
            continue;
        }
        for database in [SQLITE, POSTGRES] {
            let wanted = match arguments.database {
                Databases::Sqlite => database == SQLITE,
                Databases::Postgres => database == POSTGRES,
                Databases::Both => true,
            };
            if wanted {
                let line = measure(&plan(scenario, arguments.many), database)?;
                if !arguments.json {
                    table::print(&line, lines.is_empty());
                }
                lines.push(line);
            }
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&lines)?);
    }
    Ok(())
}

/// What has an aim, line by line; takes about four minutes.
fn measure_table() -> anyhow::Result<()> {
    table::print_aims_head();
    for (database, all) in [(SQLITE, true), (POSTGRES, true), (POSTGRES_PLAIN, false)] {
        table::print_aims(&measure(&plan(Scenario::One, 1), database)?);
        table::print_aims(&measure(&plan(Scenario::Ten, 10), database)?);
        if all {
            table::print_aims(&measure(&plan(Scenario::Many, 50), database)?);
            table::print_aims(&measure(&plan(Scenario::Many, 200), database)?);
        }
    }
    println!("\nload average at the end: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    Ok(())
}

fn plan(scenario: Scenario, many: usize) -> Plan {
    match scenario {
        Scenario::One => Plan { name: "one", model_ms: 50, search_ms: 20, work: Work { at_once: 1, rounds: 20 } },
        Scenario::Ten => Plan { name: "ten", model_ms: 50, search_ms: 20, work: Work { at_once: 10, rounds: 10 } },
        Scenario::Many => {
            Plan { name: "many", model_ms: 2_000, search_ms: 500, work: Work { at_once: many, rounds: 1 } }
        }
    }
}

fn measure(plan: &Plan, database: &'static str) -> anyhow::Result<Line> {
    let mut fakes = Child::start(
        &["fakes", "--model-ms", &plan.model_ms.to_string(), "--search-ms", &plan.search_ms.to_string()],
        Vec::new(),
    )?;
    let fakes::Ready { mut environment, excess_ms } = fakes.hear().context("the fake servers")?;
    let folder = tempfile::tempdir()?;
    environment.push(("FATHOM_DATA_DIR".to_owned(), folder.path().display().to_string()));
    let cluster = (database != SQLITE).then(Cluster::durable);
    if let Some(cluster) = &cluster {
        let url = cluster.url("postgres");
        let url = if database == POSTGRES { url } else { url.replace("sslmode=require", "sslmode=disable") };
        environment.push(("DATABASE_URL".to_owned(), url));
    }
    let database_cpu_ms = || cluster.as_ref().map(Cluster::cpu_ms);

    let started = Instant::now();
    let mut engine = Child::start(&["engine"], environment)?;
    let engine::Ready {} = engine.hear().context("the engine did not start")?;
    let start_ms = started.elapsed().as_secs_f64() * 1_000.0;
    std::thread::sleep(REST);
    let idle_mb = engine.memory_mb("VmRSS")?;
    let before = (engine.cpu_ms()?, fakes.cpu_ms()?, database_cpu_ms());
    let outcomes: Vec<Outcome> = engine.ask(&plan.work).context("the engine")?;
    let after = (engine.cpu_ms()?, fakes.cpu_ms()?, database_cpu_ms());
    let peak_mb = engine.memory_mb("VmHWM")?;
    engine.end()?;
    let seen: fakes::Seen = fakes.ask(&()).context("the fake servers")?;
    fakes.end()?;
    anyhow::ensure!(seen.violations.is_empty(), "the engine broke rules of the wire: {:?}", seen.violations);

    let (models, searches) = SHAPE.chain();
    let chain_ms = u64::from(models) * plan.model_ms + u64::from(searches) * plan.search_ms;
    let per_run = |total: f64| total / outcomes.len() as f64;
    let walls = sorted(outcomes.iter().map(|outcome| outcome.wall_ms));
    let failures: Vec<String> = outcomes.iter().filter_map(|outcome| outcome.failure.clone()).collect();
    Ok(Line {
        scenario: plan.name,
        database,
        at_once: plan.work.at_once,
        runs: outcomes.len(),
        failed: failures.len(),
        failures: failures.into_iter().take(3).collect(),
        database_cpu_per_run_ms: after.2.zip(before.2).map(|(after, before)| per_run(after - before)),
        chain_ms,
        median_ms: median(&walls),
        max_ms: walls.last().copied().unwrap_or_default(),
        ratio: median(&walls) / chain_ms as f64,
        fake_excess_ms: excess_ms,
        first_event_ms: median(&sorted(outcomes.iter().map(|outcome| outcome.first_event_ms))),
        cpu_per_run_ms: per_run(after.0 - before.0),
        fake_cpu_per_run_ms: per_run(after.1 - before.1),
        start_ms,
        idle_mb,
        peak_mb,
        model_calls_per_run: per_run(seen.model_calls as f64),
        searches_per_run: per_run(seen.searches as f64),
        prompt_tokens_per_run: outcomes.iter().map(|outcome| outcome.prompt_tokens).sum::<u64>()
            / outcomes.len() as u64,
    })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
