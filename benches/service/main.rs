//! How fast and how small the service is: the real `fathom serve` against fake model and search servers on loopback.
//!
//! `cargo bench --bench service -- [--database sqlite|postgres|both] [--rounds N] [MODE …]`
//!
//! The fakes and the clients live in this process, each on threads of their own; time and memory of the service alone
//! are read from `/proc` (Linux only). The service dies with this process. The figures we keep are in README.md beside
//! this folder.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it stops at the first surprise"
)]

mod cancel;
mod client;
mod fanout;
mod figures;
mod idle;
mod journal;
mod keys;
mod readers;
mod replicas;
mod requests;
mod scene;
mod start;

use std::{io::Write as _, path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use fathom_testkit::{database, world};
use figures::Figures;
use world::Shape;

/// Nothing that is waited for takes longer.
pub const LIMIT: Duration = Duration::from_secs(120);
/// As in the benchmark of runs: 81 model calls, 12 searches.
pub const SHAPE: Shape = Shape { reflections: 1, researchers: 3, searches: 2, queries: 2, sentences: 40 };

/// Measures the service.
#[derive(Parser)]
struct Arguments {
    /// What to measure; all when nothing is named.
    #[arg(value_enum)]
    modes: Vec<Mode>,
    #[arg(long, value_enum, default_value = "both")]
    database: Databases,
    /// How often each mode is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Readers in the modes `fanout` and `events`.
    #[arg(long, default_value_t = 1_000)]
    readers: usize,
    /// Runs in the modes `claims` and `many`.
    #[arg(long, default_value_t = 500)]
    runs: usize,
    /// Another build of the service, to be compared with; the mode `journal` is always of this build.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Added by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// From exec to ready, and memory when idle.
    Start,
    /// The first event of a new thread.
    First,
    /// Memory of 1,000 and 10,000 idle readers.
    Idle,
    /// Deltas of one run to many readers.
    Fanout,
    /// `GET /runs/{id}` while 50 runs are in flight, the service on one core.
    Requests,
    /// The check of a request's key.
    Keys,
    /// From a cancel to the end of the model call.
    Cancel,
    /// Waiting for the journal, step by step, alone and with 50 runs.
    Journal,
    /// Events to readers of two replicas; Postgres only.
    Events,
    /// Claims by two replicas of a long queue; Postgres only.
    Claims,
    /// Very many runs at once on two replicas; Postgres only.
    Many,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Databases {
    Sqlite,
    Postgres,
    Both,
}

/// Which engine the service is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    rlimit::increase_nofile_limit(u64::MAX)?;
    scene::choose_program(arguments.program.clone());
    // The service ends with the thread that started it, which therefore has to be this one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut out = std::io::stdout();
    writeln!(out, "| mode | database | what | best | median | aim | verdict |\n|---|---|---|---|---|---|---|")?;
    for mode in Mode::value_variants() {
        if !arguments.modes.is_empty() && !arguments.modes.contains(mode) {
            continue;
        }
        for kind in [Kind::Sqlite, Kind::Postgres] {
            if !wanted(arguments.database, kind) || (kind == Kind::Sqlite && mode.needs_postgres()) {
                continue;
            }
            let mut figures = Figures::default();
            for _ in 0..arguments.rounds {
                runtime.block_on(measure(*mode, kind, &arguments, &mut figures))?;
            }
            figures.print(&format!("{mode:?}").to_lowercase(), &format!("{kind:?}"));
        }
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    writeln!(out, "\nload average at the end: {}", load.trim())?;
    Ok(())
}

impl Mode {
    fn needs_postgres(self) -> bool {
        matches!(self, Self::Events | Self::Claims | Self::Many)
    }
}

fn wanted(databases: Databases, kind: Kind) -> bool {
    match databases {
        Databases::Sqlite => kind == Kind::Sqlite,
        Databases::Postgres => kind == Kind::Postgres,
        Databases::Both => true,
    }
}

async fn measure(mode: Mode, kind: Kind, arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    match mode {
        Mode::Start => start::start(kind, figures).await,
        Mode::First => start::first(kind, figures).await,
        Mode::Idle => idle::idle(kind, figures).await,
        Mode::Fanout => fanout::fanout(kind, arguments.readers, figures).await,
        Mode::Requests => requests::requests(kind, figures).await,
        Mode::Keys => keys::keys(kind, figures).await,
        Mode::Cancel => cancel::cancel(kind, figures).await,
        Mode::Journal => journal::journal(kind, figures).await,
        Mode::Events => replicas::events(arguments.readers, figures).await,
        Mode::Claims => replicas::claims(arguments.runs, figures).await,
        Mode::Many => replicas::many(arguments.runs, figures).await,
    }
}
