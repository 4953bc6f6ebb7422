//! Hostile input: whatever a page, a model, a file or a client sends, it costs its own run, never the service.
//!
//! [`Bench`] runs the real binary in 2 GB of address space, with an innocent run beside the hostile input and a probe
//! of `/healthz` throughout. Inputs are generated where they are used; none is stored.

#![allow(dead_code, reason = "each kind of input uses its part of the bench")]

mod documents;
mod health;
mod innocent;
mod models;
mod mutations;
mod pages;
mod questions;
mod reports;
mod shapes;
mod terminals;

use std::{path::PathBuf, time::Duration};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::process::Command;

use self::health::Health;
use crate::{
    database::TestDatabase,
    world::{Found, Page, Running, Script, Shape, World, brain},
};

/// Address space of the process, in KiB, as `ulimit -v` takes it.
const ADDRESS_SPACE_KIB: u64 = 2 * 1024 * 1024;
/// How long any condition may take to come about; generous, since it is no measurement.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// In the question of the innocent run, and so in whatever it asks the world.
const INNOCENT: &str = "How does the harbour of Skelderwick pay for its tide gate?";
/// Before each answer of the world, so that the innocent run lasts for a while.
const LATENCY: Duration = Duration::from_millis(100);

/// The service under test, its world, and the probe.
///
/// ```ignore
/// let bench = Bench::start(Script::new().always(When::says("HOSTILE"), reply)).await;
/// let run = bench.beside(async { bench.ended(&bench.ask("HOSTILE", json!({})).await).await }).await;
/// assert_eq!(run["status"], "failed");
/// bench.finish().await;
/// ```
pub struct Bench {
    pub world: World,
    pub client: Client,
    /// `http://127.0.0.1:PORT`
    pub base_url: String,
    /// The embedded database of this bench; its folder is the service's data folder.
    pub database: TestDatabase,
    process: Running,
    health: Health,
}

impl Bench {
    /// Starts the service; calls that `script` has no rule for are answered as an innocent model would.
    pub async fn start(script: Script) -> Self {
        Self::with(script, &[], &[]).await
    }

    /// The same, with more arguments of `fathom serve` and more variables.
    pub async fn with(script: Script, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let script = script.otherwise(|call| brain::reply(Shape::SMALL, call)).latency(LATENCY);
        let world = World::start(script).await;
        Self::over(world, arguments, variables).await
    }

    /// The same, over a world that is prepared already.
    pub async fn over(world: World, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let pages = (0..3).map(|n| Page::new(&format!("https://example.org/{n}"), "The gate", &page(n)));
        world.web.always("Skelderwick", Found::Pages(pages.collect()));
        let database = TestDatabase::sqlite();
        let mut command = limited(&world);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        command.env("FATHOM_DATA_DIR", data_folder(&database)).env("FATHOM_RETRY_SECONDS", "2");
        command.envs(variables.iter().copied());
        let process = Running::spawn(command, world.folder());
        let line = starts(&process).await;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.unwrap_or_else(|| panic!("no address in {line}")).to_owned();
        let client = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let health = Health::watch(address.clone());
        Self { world, client, base_url: format!("http://{address}"), database, process, health }
    }

    /// Does `hostile` while an innocent run works, which has to succeed.
    pub async fn beside<T>(&self, hostile: impl Future<Output = T>) -> T {
        let run = self.ask(INNOCENT, json!({"search_api": "tavily", "allow_clarification": false})).await;
        let (outcome, innocent) = tokio::join!(hostile, self.ended(&run));
        assert_eq!(innocent["status"], "completed", "the innocent run: {innocent:#}\n{}", self.said());
        outcome
    }

    /// Asks a question in a thread of its own; the run's id.
    pub async fn ask(&self, question: &str, options: Value) -> String {
        let (status, body) = self.post("/api/v1/threads", &json!({"message": question, "options": options})).await;
        assert_eq!(status, 201, "{body:#}");
        body["run"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.post(format!("{}{path}", self.base_url)).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await;
        let response = response.unwrap_or_else(|error| panic!("POST {path}: {error:?}\n{}", self.said()));
        (response.status().as_u16(), serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
    }

    /// Status and body of a GET.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let response = self.client.get(format!("{}{path}", self.base_url)).send().await;
        let response = response.unwrap_or_else(|error| panic!("GET {path}: {error:?}\n{}", self.said()));
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// The run when it is final.
    pub async fn ended(&self, run: &str) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let (status, body) = self.get(&format!("/api/v1/runs/{run}")).await;
            assert_eq!(status, 200, "{body}");
            let body: Value = serde_json::from_str(&body).unwrap();
            if ["completed", "failed", "cancelled"].contains(&body["status"].as_str().unwrap_or_default()) {
                return body;
            }
            assert!(tokio::time::Instant::now() < deadline, "it does not end: {body:#}\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A series of `/metrics` by the start of its line, summed over its labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").await;
        let values = text.lines().filter(|line| line.starts_with(name)).filter_map(|line| line.rsplit_once(' '));
        values.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
    }

    /// Everything the service has printed and logged.
    pub fn said(&self) -> String {
        format!("{}\n{}", self.process.stdout(), self.process.stderr())
    }

    /// The most memory the service has had at once, in bytes; its children not counted.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Folders in `/proc` of the service's children whose command line has that word.
    pub fn children(&self, word: &str) -> Vec<PathBuf> {
        let parent = format!("PPid:\t{}\n", self.process.id().unwrap());
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let has = |path: &PathBuf, file: &str, text: &str| {
            std::fs::read(path.join(file)).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        };
        processes.filter(|path| has(path, "status", &parent) && has(path, "cmdline", word)).collect()
    }

    /// The process is the one that was started, it answered every probe in time, and it stops when asked to.
    pub async fn finish(mut self) {
        self.health.assert_good(&self.process.stderr());
        self.process.terminate().await;
        let status = self.process.ends().await;
        assert!(status.success(), "{status}: {}", self.said());
    }
}

/// What it prints when it listens; documents are read before.
async fn starts(process: &Running) -> String {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(line) = process.stdout().lines().find(|line| line.contains(" on http://")) {
            return line.to_owned();
        }
        let late = tokio::time::Instant::now() > deadline;
        assert!(!late, "it does not start:\n{}\n{}", process.stdout(), process.stderr());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The binary in this world with bounded address space.
fn limited(world: &World) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" \"$@\"")])
        .arg(fathom_testkit::program::path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(world.environment())
        .current_dir(world.folder())
        .kill_on_drop(true);
    command
}

fn data_folder(database: &TestDatabase) -> PathBuf {
    match &database.database {
        fathom::store::Database::Sqlite { path, .. } => path.parent().unwrap().to_owned(),
        fathom::store::Database::Postgres { .. } => unreachable!("the bench has the embedded database"),
    }
}

fn page(n: usize) -> String {
    format!("The tide gate of Skelderwick is paid for by harbour dues, says page {n}. It opened in 1931. ").repeat(20)
}
