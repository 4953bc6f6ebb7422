//! The soak: three services behind a balancer, many runs, and a hand that disturbs them at random. Afterwards every run
//! has its report, every reader has seen the table, and the ledgers add up.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use fathom::{
    domain::{RunId, RunStatus},
    store::Store,
};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Fleet, Reader, check_ledger, check_stream};
use crate::{
    database::TestDatabase,
    world::{Kind, Record, Script, Shape, When, World, brain},
};

const REPLICAS: usize = 3;
/// How long a client waits for an answer before it asks again.
const ANSWER: Duration = Duration::from_secs(5);
/// Twice the lease.
const LONGEST_FREEZE: Duration = Duration::from_secs(4);
/// For what is left to do when nobody disturbs any more.
const REST: Duration = Duration::from_secs(120);
/// Two researchers side by side, two searches each, two queries a search.
const SHAPE: Shape = Shape { researchers: 2, searches: 2, queries: 2, sentences: 12, reflections: 0 };

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub runs: usize,
    /// How long things are disturbed; the runs are begun within this time.
    pub duration: Duration,
    /// Time before each answer of the scripted model.
    pub latency: Duration,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Summary {
    faults: BTreeMap<&'static str, usize>,
    runs: usize,
    events: usize,
    /// Streams that readers opened after their first one.
    returns: usize,
    model_calls: usize,
    /// Of those, answered and stored.
    stored_calls: usize,
    /// Lives of runs beyond the first.
    resumed: usize,
    slowest: Duration,
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, events, returns, model_calls, stored_calls, resumed, .. } = self;
        write!(
            formatter,
            "{runs} runs succeeded, taken up again {resumed} times, the slowest after {:.1} s; {events} events, each \
             read once, over {returns} further streams; {model_calls} model calls for {stored_calls} answers; {:?}",
            self.slowest.as_secs_f64(),
            self.faults
        )
    }
}

/// One soak in progress.
pub struct Soak {
    plan: Plan,
    world: World,
    database: TestDatabase,
    store: Store,
    fleet: Fleet,
    /// Until when each service is frozen.
    frozen: [Option<Instant>; REPLICAS],
    dice: Dice,
    summary: Summary,
}

/// A small generator of numbers (splitmix64): the same seed, the same faults.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

impl Soak {
    /// Does all of it; panics at the first thing that is not as it should be.
    pub async fn run(plan: Plan) -> Summary {
        println!("soak: {plan:?}");
        let mut soak = Self::prepare(plan).await;
        let mut clients = soak.clients();
        soak.disturb().await;
        let mut seen = Vec::new();
        let deadline = tokio::time::Instant::now() + REST;
        while !clients.is_empty() {
            match tokio::time::timeout_at(deadline, clients.join_next()).await {
                Ok(Some(done)) => seen.push(done.expect("no client fails")),
                Ok(None) => break,
                Err(_) => panic!("{} runs are not over: {}", clients.len(), soak.unfinished().await),
            }
        }
        soak.check(seen).await;
        soak.summary
    }

    async fn prepare(plan: Plan) -> Self {
        let database = TestDatabase::postgres().await;
        let report = |call: &crate::world::Call| brain::reply(SHAPE, call).pace(Duration::from_millis(5));
        let script = Script::new().by(When::kind(Kind::Report), report).otherwise(|call| brain::reply(SHAPE, call));
        let world = World::recording(script, Record::Counts).await;
        world.set_latency(plan.latency, plan.latency / 2);
        let store = database.open().await;
        let fleet = Fleet::start(&world, &database.database, REPLICAS).await;
        Self {
            plan,
            world,
            database,
            store,
            fleet,
            frozen: [None; REPLICAS],
            dice: Dice(plan.seed),
            summary: Summary::default(),
        }
    }

    /// Starts one client per run, which asks until it is accepted, and reads to the end.
    fn clients(&mut self) -> JoinSet<(RunId, Vec<Value>, usize)> {
        let mut clients = JoinSet::new();
        let (url, address) = (self.fleet.balancer.url("/api/v1/threads"), self.fleet.balancer.address.clone());
        let client = Client::builder().timeout(ANSWER).no_proxy().build().expect("a client");
        let window = u64::try_from(self.plan.duration.as_millis()).expect("a soak is shorter than that");
        for n in 0..self.plan.runs {
            let begins_at = tokio::time::Instant::now() + self.dice.millis(0, window);
            let (client, url, address, rest) =
                (client.clone(), url.clone(), address.clone(), self.plan.duration + REST);
            clients.spawn(async move {
                tokio::time::sleep_until(begins_at).await;
                let id = ask(&client, &url, n).await;
                assert_eq!(ask(&client, &url, n).await, id, "the same request is the same run");
                let mut reader = Reader::start(&id, vec![address]);
                let seen = reader.ends(rest).await;
                (id.parse().expect("it is an id"), seen, reader.returns())
            });
        }
        clients
    }

    async fn disturb(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < self.plan.duration {
            let pause = self.dice.millis(300, 1_500);
            tokio::time::sleep(pause).await;
            self.thaw(Instant::now()).await;
            let dice = self.dice.below(10);
            let fault = match if self.may_harm().await { dice } else { dice.max(5) } {
                0..3 => self.kill().await,
                3 | 4 => self.freeze().await,
                5 | 6 => self.terminate().await,
                7 => self.drop_connections().await,
                _ => self.cut_streams(),
            };
            *self.summary.faults.entry(fault).or_default() += 1;
        }
        self.thaw(Instant::now() + LONGEST_FREEZE).await;
    }

    /// Returns whether a process may be killed or frozen. A run of which processes die again and again at one step is
    /// worked on alone; chance alone could do it, and then the soak would take long.
    async fn may_harm(&self) -> bool {
        let deaths = "SELECT COALESCE(MAX(deaths + unexplained), 0) FROM runs WHERE status = 'running'";
        self.database.count(deaths).await < 2
    }

    fn anybody(&mut self) -> usize {
        usize::try_from(self.dice.below(REPLICAS as u64)).expect("there are few")
    }

    async fn kill(&mut self) -> &'static str {
        let place = self.anybody();
        self.fleet.replicas[place].running.kill().await;
        self.frozen[place] = None;
        self.fleet.replace(place, &self.world, &self.database.database).await;
        "killed"
    }

    /// Freezes one of them, sometimes for longer than the lease, sometimes not; what else happens goes on meanwhile.
    async fn freeze(&mut self) -> &'static str {
        let longest = u64::try_from(LONGEST_FREEZE.as_millis()).expect("it is short");
        let (place, time) = (self.anybody(), self.dice.millis(500, longest));
        self.fleet.replicas[place].running.signal("STOP").await;
        self.frozen[place] = Some(Instant::now() + time);
        "frozen"
    }

    /// Lets those go on whose time is over by then.
    async fn thaw(&mut self, now: Instant) {
        for place in 0..REPLICAS {
            if self.frozen[place].is_some_and(|until| until <= now) {
                self.frozen[place] = None;
                self.fleet.replicas[place].running.signal("CONT").await;
            }
        }
    }

    async fn terminate(&mut self) -> &'static str {
        let place = self.anybody();
        if self.frozen[place].take().is_some() {
            self.fleet.replicas[place].running.signal("CONT").await;
        }
        let running = &mut self.fleet.replicas[place].running;
        running.terminate().await;
        let status = running.ends().await;
        assert!(status.success(), "{status}: {}", running.stderr());
        self.fleet.replace(place, &self.world, &self.database.database).await;
        "stopped"
    }

    async fn drop_connections(&mut self) -> &'static str {
        self.database.drop_connections().await;
        "database connections dropped"
    }

    fn cut_streams(&mut self) -> &'static str {
        self.fleet.balancer.cut();
        "streams cut"
    }

    async fn check(&mut self, seen: Vec<(RunId, Vec<Value>, usize)>) {
        let runs = self.store.runs(u32::MAX - 1).await.expect("the runs can be read");
        assert_eq!(runs.len(), self.plan.runs, "each request is one run");
        for (run_id, seen, returns) in seen {
            let run = runs.iter().find(|run| run.id == run_id).expect("it is one of them");
            assert_eq!(run.status, RunStatus::Completed, "{run_id}: {:?}", run.error);
            let report = self.store.report(run_id).await.expect("it can be read").expect("there is one");
            assert!(report.markdown.contains("[1]") && report.markdown.contains("## Sources"), "{}", report.markdown);
            let table = self.store.run_events_after(run_id, 0, 100_000).await.expect("the log can be read");
            check_stream(&seen, &table);
            check_ledger(&self.store, run).await;
            self.summary.runs += 1;
            self.summary.events += seen.len();
            self.summary.returns += returns.saturating_sub(2);
            self.summary.resumed += seen.iter().filter(|event| event["type"] == "run.resumed").count();
            let steps = self.store.steps(run_id).await.expect("the journal can be read");
            self.summary.stored_calls += steps.iter().filter(|step| step.call.is_some()).count();
            let took = run.finished_at.map_or(0, |finished_at| finished_at.since(run.created_at));
            self.summary.slowest = self.summary.slowest.max(Duration::from_millis(u64::try_from(took).unwrap_or(0)));
        }
        self.summary.model_calls = self.world.models.total();
    }

    async fn unfinished(&self) -> String {
        let runs = self.store.runs(u32::MAX - 1).await.expect("the runs can be read");
        let open: Vec<String> =
            runs.iter().filter(|run| !run.status.is_final()).map(|run| format!("{run:?}")).collect();
        let logs: Vec<String> = self.fleet.replicas.iter().map(|replica| replica.running.stderr()).collect();
        format!("{}\n{}", open.join("\n"), logs.join("\n---\n"))
    }
}

/// Asks until somebody accepts it; the id of the run.
async fn ask(client: &Client, url: &str, n: usize) -> String {
    let body = json!({"message": format!("How does the harbour pay for part {n} of its tide gate?")});
    loop {
        let request = client.post(url).json(&body).header("Idempotency-Key", format!("soak {n}"));
        if let Ok(response) = request.send().await {
            let status = response.status().as_u16();
            assert!([201, 409, 503].contains(&status), "{status}: {:?}", response.text().await);
            if status == 201
                && let Ok(answer) = response.json::<Value>().await
                && let Some(id) = answer["run"]["id"].as_str()
            {
                return id.to_owned();
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
