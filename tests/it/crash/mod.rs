//! Crashes, interruptions and outages: the real binary over the scripted world, ended in the middle of a run.
//!
//! [`Site`] is where a run lives: a world, a database, and the binary pointed at both. [`Undisturbed`] is the same run
//! when nothing happens to it; what a disturbed one leaves behind is held against it.

mod follow_ups;
mod interruptions;
mod journal;
mod kills;
mod mcp;
mod outages;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use fathom::{
    domain::{Envelope, Event, Run, RunId, Timestamp, Usage},
    store::{Database, Step, Store},
};
use secrecy::ExposeSecret as _;

use crate::{
    database::TestDatabase,
    world::{Call, Ended, Found, Kind, Page, Running, Script, Shape, When, World, brain, prose},
};

pub const QUESTION: &str = "How does the harbour of Skelderwick pay for its tide gate?";
/// How long any condition may take to come about.
const PATIENCE: Duration = Duration::from_secs(90);
/// Before each answer of the world, so that there is a moment in which to end a process.
const LATENCY: Duration = Duration::from_millis(15);
/// Two researchers side by side, two searches each, two queries a search.
pub const SHAPE: Shape = Shape { researchers: 2, searches: 2, queries: 2, sentences: 12, reflections: 0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// Returns whether to kill after every entry of the journal also where the test command samples them.
pub fn kills_everywhere() -> bool {
    std::env::var_os("FATHOM_KILL_EVERYWHERE").is_some()
}

/// A script of the whole run whose report comes in pieces.
pub fn script() -> Script {
    script_with_pace(Duration::from_millis(3))
}

/// The same, with so much time between the pieces of the report.
pub fn script_with_pace(pace: Duration) -> Script {
    let report = move |call: &Call| brain::reply(SHAPE, call).pace(pace);
    Script::new().by(When::kind(Kind::Report), report).otherwise(|call| brain::reply(SHAPE, call)).latency(LATENCY)
}

/// A world, a database, and what it takes to run the binary on them.
pub struct Site {
    pub world: World,
    pub database: TestDatabase,
    pub store: Store,
}

impl Site {
    pub async fn new(engine: Engine, script: Script) -> Self {
        Self::with_pages(engine, script, few_pages).await
    }

    /// A site whose web holds other pages.
    pub async fn with_pages(engine: Engine, script: Script, pages: fn(&World)) -> Self {
        let database = match engine {
            Engine::Sqlite => TestDatabase::sqlite(),
            Engine::Postgres => TestDatabase::postgres().await,
        };
        let world = World::start(script).await;
        world.set_latency(LATENCY, LATENCY);
        pages(&world);
        let store = database.open().await;
        Self { world, database, store }
    }

    pub fn data_dir(&self) -> PathBuf {
        match &self.database.database {
            Database::Sqlite { path, .. } => path.parent().unwrap().to_owned(),
            Database::Postgres { .. } => self.world.folder().join("data"),
        }
    }

    /// Starts the binary on this site.
    pub fn spawn(&self, arguments: &[&str]) -> Running {
        self.spawn_with(arguments, &[])
    }

    /// The same, with more in its environment.
    pub fn spawn_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = self.world.fathom(arguments);
        command.env("FATHOM_DATA_DIR", self.data_dir()).env("FATHOM_GRACE_SECONDS", "1");
        if let Database::Postgres { url, .. } = &self.database.database {
            command.env("DATABASE_URL", url.expose_secret());
        }
        command.envs(variables.iter().copied());
        Running::spawn(command, self.world.folder())
    }

    pub fn research(&self) -> Running {
        self.spawn(&["research", QUESTION, "--set", "allow_clarification=true"])
    }

    pub fn resume(&self, run_id: RunId) -> Running {
        self.spawn(&["resume", &run_id.to_string()])
    }

    /// The one run of this site, once there is one.
    pub async fn run(&self) -> Run {
        until("there is a run", async || self.store.runs(1).await.unwrap().pop()).await
    }

    /// Makes a finished run look as if its process had died just before the end.
    pub async fn reopen(&self) {
        self.database
            .execute(
                "UPDATE runs SET status = 'running', outcome = NULL, finished_at = NULL, report = NULL; \
                 DELETE FROM messages WHERE role = 'assistant'",
            )
            .await;
    }

    pub async fn steps(&self, run_id: RunId) -> Vec<Step> {
        self.store.steps(run_id).await.unwrap()
    }

    pub async fn events(&self, run: &Run) -> Vec<Envelope> {
        self.store.events_after(run.thread_id, 0, 100_000).await.unwrap()
    }

    /// Waits until so many steps are stored, or the run has come to its end before.
    pub async fn has_steps(&self, n: usize) -> Run {
        let run = self.run().await;
        // The next step comes soon.
        until_every(Duration::from_millis(5), "enough steps are stored", async || {
            let overview = self.store.overview(run.id).await.unwrap().unwrap();
            let enough = overview.run.status.is_final() || overview.steps as usize >= n;
            enough.then_some(overview.run)
        })
        .await
    }

    /// Waits until the model is being asked for that, and the answer has not been sent.
    pub async fn is_asked(&self, kind: Kind) {
        let open = |call: &Call| call.kind == kind && call.ended() == Ended::Pending;
        until_every(Duration::from_millis(1), "the model is asked", async || {
            (!self.world.models.calls_matching(open).is_empty()).then_some(())
        })
        .await;
    }

    /// Waits until no model call is open any more: the world has noticed who left.
    pub async fn is_quiet(&self) {
        let open = |call: &Call| call.ended() == Ended::Pending;
        until("all calls ended", async || self.world.models.calls_matching(open).is_empty().then_some(())).await;
    }
}

/// Two pages a query at most; one page is found by two queries, and all of them by both researchers.
fn few_pages(world: &World) {
    let page = |name: &str| {
        let text: String = prose::page(name, prose::seed(name)).chars().take(3_000).collect();
        Page::new(&format!("https://example.test/{name}"), &format!("Minutes on {name}"), &text)
    };
    for (needle, names) in [
        ("origins 1.1", ["gates", "dues"].as_slice()),
        ("present state 1.2", &["tides"]),
        ("costs 2.1", &["dues", "loans"]),
        ("critics 2.2", &["petitions"]),
    ] {
        world.web.always(needle, Found::Pages(names.iter().map(|name| page(name)).collect()));
    }
}

/// Polls until the condition holds, less and less often, since it may be a query on a connection of its own.
pub async fn until<T>(what: &str, condition: impl AsyncFnMut() -> Option<T>) -> T {
    until_every(Duration::from_millis(20), what, condition).await
}

/// The same, with no longer pauses than these.
async fn until_every<T>(longest: Duration, what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let mut pause = Duration::from_millis(1);
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < deadline, "it never came about that {what}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// A run to which nothing happened.
#[derive(Debug)]
pub struct Undisturbed {
    pub report: String,
    /// Kind and request hash by key.
    pub journal: BTreeMap<String, (String, String)>,
    /// Of the bodies of all model calls.
    pub fingerprints: BTreeSet<u64>,
    /// Sorted.
    pub queries: Vec<String>,
    pub usage: Usage,
}

impl Undisturbed {
    pub async fn of(engine: Engine) -> Self {
        let site = Site::new(engine, script()).await;
        let mut process = site.research();
        assert!(process.ends().await.success(), "{}", process.stderr());
        let run = site.run().await;
        let calls = site.world.models.calls();
        let fingerprints: BTreeSet<u64> = calls.iter().map(|call| call.fingerprint).collect();
        assert_eq!(fingerprints.len(), calls.len(), "no call is made twice");
        let report = process.stdout();
        assert!(report.contains("[1]") && report.contains("## Sources"), "{report}");
        let this = Self {
            report,
            journal: journal_of(&site.steps(run.id).await),
            fingerprints,
            queries: sorted(site.world.web.queries()),
            usage: site.store.usage(run.id).await.unwrap(),
        };
        this.is_matched_by(&site, &run).await;
        site.world.finish();
        this
    }

    /// Checks that the run of `site` ended as this one did, whatever came in between.
    pub async fn is_matched_by(&self, site: &Site, run: &Run) {
        let report = site.store.report(run.id).await.unwrap().expect("there is a report");
        assert_eq!(report.markdown, self.report);
        let (journal, events) = (journal_of(&site.steps(run.id).await), site.events(run).await);
        assert_eq!(journal, self.journal);
        let asked: BTreeSet<u64> = site.world.models.calls().iter().map(|call| call.fingerprint).collect();
        assert_eq!(asked, self.fingerprints, "the same requests were made, byte for byte");
        let usage = site.store.usage(run.id).await.unwrap();
        assert_eq!(usage, self.usage);
        check_log(&events, &self.report, usage);
    }

    /// Model calls that are not answered in these steps.
    pub fn calls_left(&self, steps: &[Step]) -> usize {
        self.fingerprints.len() - count(steps, "model")
    }

    /// Searches that are not answered in these steps.
    pub fn searches_left(&self, steps: &[Step]) -> usize {
        self.queries.len() - count(steps, "search")
    }
}

/// Steps of a kind.
pub fn count(steps: &[Step], kind: &str) -> usize {
    steps.iter().filter(|step| step.kind.as_str() == kind).count()
}

fn journal_of(steps: &[Step]) -> BTreeMap<String, (String, String)> {
    steps.iter().map(|step| (step.key.clone(), (step.kind.as_str().to_owned(), step.request_hash.clone()))).collect()
}

pub fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

/// Steps that were stored before that time.
pub fn stored_before(steps: Vec<Step>, time: Timestamp) -> Vec<Step> {
    steps.into_iter().filter(|step| step.finished_at <= time).collect()
}

/// The log has no gap and one end, which tells the usage of all lives; the last attempt at the report is the report.
pub fn check_log(events: &[Envelope], report: &str, usage: Usage) {
    let numbers: Vec<i64> = events.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, Vec::from_iter(1..=events.len() as i64), "numbers without gaps");
    let ends: Vec<_> = events.iter().filter(|envelope| envelope.event.is_terminal()).collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0].seq, events.len() as i64, "the end is the last event");
    assert!(matches!(&ends[0].event, Event::RunCompleted { usage: reported, .. } if *reported == usage), "{ends:?}");
    let mut reported = Usage::default();
    let (mut attempts, mut text) = (Vec::new(), String::new());
    for envelope in events {
        match &envelope.event {
            Event::Usage { tokens, .. } => reported += *tokens,
            Event::ReportStarted { attempt } => {
                attempts.push(*attempt);
                text.clear();
            }
            Event::ReportDelta { attempt, offset, text: delta } => {
                assert_eq!(Some(attempt), attempts.last());
                assert_eq!(*offset, text.chars().count(), "deltas follow one another");
                text.push_str(delta);
            }
            _ => {}
        }
    }
    assert_eq!(reported, usage, "the events of single calls add up");
    assert_eq!(text, report);
    assert_eq!(attempts, Vec::from_iter(1..=attempts.len() as u32));
}
