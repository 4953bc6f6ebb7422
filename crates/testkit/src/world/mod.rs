//! The scripted world: a model provider and a search engine on loopback that do what a script says, and the real
//! binary pointed at them.
//!
//! Nothing here knows the crate under test; it speaks the wires alone. Start at [`World`]; what to answer is in
//! [`script`] and [`reply`]; a brain that can play a whole run is in [`brain`].

pub mod brain;
pub mod call;
mod dialects;
pub mod mcp;
pub mod openai;
pub mod otlp;
pub mod process;
pub mod prose;
pub mod reply;
pub mod script;
pub mod tavily;
mod turn;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::process::Command;

pub use brain::Shape;
pub use call::{Call, Ended, Kind};
pub use mcp::{FakeMcp, Transport};
pub use openai::FakeOpenAi;
pub use otlp::FakeCollector;
pub use process::Running;
pub use reply::Reply;
pub use script::{Script, When};
pub use tavily::{FakeTavily, Found, Page};

/// Both servers and a folder of one's own.
///
/// Dropping it stops the servers and removes the folder, and fails the test when a captured request broke a rule of
/// the wire (see [`Call::violations`]) or no rule of the script knew an answer.
pub struct World {
    pub models: FakeOpenAi,
    pub web: FakeTavily,
    folder: TempDir,
}

/// Waits until `latency` after `since`. Timers go off at whole milliseconds, at the first one after their time; half of
/// one is taken off, so that latencies are right on the average.
async fn sleep(since: Instant, latency: Duration) {
    let rounded = latency.saturating_sub(Duration::from_micros(500));
    tokio::time::sleep_until((since + rounded).into()).await;
}

/// How a world keeps what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Record {
    /// Every request, whole.
    #[default]
    Calls,
    /// Numbers alone, for benchmarks; the rules of the wire are still checked.
    Counts,
}

impl World {
    /// Returns a world whose models follow `script`.
    pub async fn start(script: Script) -> Self {
        Self::recording(script, Record::Calls).await
    }

    /// Returns the same, choosing what is kept.
    pub async fn recording(script: Script, record: Record) -> Self {
        Self {
            models: FakeOpenAi::start(script, record).await,
            web: FakeTavily::start(record).await,
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
        }
    }

    /// Returns a folder that lives as long as the world; the binary's `HOME` and working directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Answers every model call and search after this time, unless its reply names its own.
    pub fn set_latency(&self, models: Duration, web: Duration) {
        self.models.set_latency(models);
        self.web.set_latency(web);
    }

    /// Returns what the binary needs to know to live in this world.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_BASE_URL", self.models.base_url()),
            ("OPENAI_API_KEY", openai::KEY.to_owned()),
            ("TAVILY_BASE_URL", self.web.base_url()),
            ("TAVILY_API_KEY", tavily::KEY.to_owned()),
            ("HOME", self.folder().display().to_string()),
        ]
    }

    /// Returns the real binary in this world, its environment emptied but for `PATH` and [`Self::environment`];
    /// killed when its handle is dropped.
    pub fn fathom(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::program::path());
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            .envs(self.environment())
            .current_dir(self.folder())
            .kill_on_drop(true);
        command
    }

    /// Starts the binary in the background, its output kept in files; see [`Running`].
    pub fn spawn(&self, arguments: &[&str]) -> Running {
        Running::spawn(self.fathom(arguments), self.folder())
    }

    /// Returns what went wrong on the wires so far.
    pub fn violations(&self) -> Vec<String> {
        self.models.violations()
    }

    /// Checks what a good test leaves behind: no broken rule, and no call still being answered.
    pub fn finish(self) {
        let pending: Vec<_> = self.models.calls().into_iter().filter(|call| call.ended() == Ended::Pending).collect();
        assert!(pending.is_empty(), "{} model calls are still open: {pending:?}", pending.len());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let violations = self.violations();
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "the world saw:\n{}", violations.join("\n"));
        }
    }
}
