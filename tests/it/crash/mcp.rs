//! SIGKILL in the middle of a run with MCP servers: what they answered is never asked again, and none of their programs
//! stays.

use fathom::domain::Timestamp;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{Engine, LATENCY, QUESTION, Site, kills_everywhere, stored_before, until};
use crate::world::{Call, FakeMcp, Kind, Running, Script, Shape, Transport, When, brain, reply};

/// Calls of the only researcher, one a turn.
const CALLS: usize = 4;
/// Disturbed runs at the same time.
const AT_ONCE: usize = 4;

/// The n-th turn calls one server, then the other; each call has an argument of its own.
fn turn(call: &Call) -> crate::world::Reply {
    match call.said_by("tool").len() {
        n if n < CALLS => reply::calls([(if n % 2 == 0 { "look_up" } else { "other__look_up" }, asked_in(n))]),
        _ => reply::complete_research(),
    }
}

/// The end of the key of its call in the journal.
fn key_of(turn: usize) -> String {
    format!("/r1/turn/{}/call/0", turn + 1)
}

fn asked_in(turn: usize) -> Value {
    json!({"query": format!("dues of turn {turn}")})
}

fn script(researcher: fn(&Call) -> crate::world::Reply) -> Script {
    let others = |call: &Call| brain::reply(Shape::SMALL, call);
    Script::new().by(When::kind(Kind::Researcher), researcher).otherwise(others).latency(LATENCY)
}

/// A site with a server on standard streams and one over HTTP.
struct Place {
    site: Site,
    servers: [FakeMcp; 2],
    file: String,
    /// Stands in the command line of the program and of its child.
    mark: String,
}

impl Place {
    async fn new(script: Script, name: &str, mode: &'static str) -> Self {
        let site = Site::new(Engine::Sqlite, script).await;
        let start = |name, transport| FakeMcp::start(site.world.folder(), name, transport, mode);
        let servers = [start("register", Transport::Stdio), start("other", Transport::Http)];
        let mark = format!("fathom-killed-{}-{name}", std::process::id());
        let mut program = servers[0].settings();
        let words: Vec<String> = serde_json::from_value(program["args"].clone()).unwrap();
        // A shell that starts the server and a child that never ends.
        let line = format!("sh -c 'sleep 3600; true' {mark} & exec python3 '{}'", words.join("' '"));
        (program["command"], program["args"]) = (json!("sh"), json!(["-c", line, mark]));
        let settings = json!({"mcpServers": {"register": program, "other": servers[1].settings()}});
        let path = site.world.folder().join("mcp.json");
        std::fs::write(&path, settings.to_string()).unwrap();
        Self { file: path.display().to_string(), site, servers, mark }
    }

    fn spawn(&self, arguments: &[&str]) -> Running {
        self.site.spawn_with(arguments, &[("FATHOM_MCP_FILE", &self.file), ("PATH", "/usr/local/bin:/usr/bin:/bin")])
    }

    fn research(&self) -> Running {
        self.spawn(&["research", QUESTION])
    }

    /// How often the servers were asked that, by method and argument.
    fn count(&self, method: &str, argument: &Value) -> usize {
        let asked = self.servers.iter().flat_map(FakeMcp::asked);
        asked.filter(|asked| asked["method"] == method && asked["params"]["arguments"] == *argument).count()
    }

    /// Processes of the program that are there.
    fn left(&self) -> usize {
        let folders = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = folders.filter_map(|folder| std::fs::read(folder.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(&self.mark)).count()
    }

    /// Kills the process and has another one finish the run: what was stored is not asked again.
    async fn kill_and_resume(&self, process: &mut Running) {
        process.kill().await;
        let killed_at = Timestamp::now();
        self.site.is_quiet().await;
        let run = self.site.run().await;
        let lists = self.count("tools/list", &Value::Null);
        let mut next = self.spawn(&["resume", &run.id.to_string()]);
        assert!(next.ends().await.success(), "{}", next.stderr());
        let stored = stored_before(self.site.steps(run.id).await, killed_at);
        let has = |key: &str| stored.iter().any(|step| step.key.ends_with(key));
        for turn in 0..CALLS {
            let count = self.count("tools/call", &asked_in(turn));
            let bound = if has(&key_of(turn)) { 1..=1 } else { 0..=1 };
            assert!(bound.contains(&count), "turn {turn}: asked {count} times, {stored:?}");
        }
        if has("mcp/tools") {
            assert_eq!(self.count("tools/list", &Value::Null), lists, "what servers offer is asked once");
        }
        until("no program is left", async || (self.left() == 0).then_some(())).await;
        assert!(self.site.store.report(run.id).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_after_any_step_asks_no_server_twice() {
    let undisturbed = Place::new(script(turn), "whole", "").await;
    assert!(undisturbed.research().ends().await.success());
    let run = undisturbed.site.run().await;
    let steps = undisturbed.site.steps(run.id).await;
    let is_stored = |turn: usize| steps.iter().any(|step| step.key.ends_with(&key_of(turn)));
    assert!((0..CALLS).all(is_stored), "{:?}", steps.iter().map(|step| &step.key).collect::<Vec<_>>());
    let kill = |n: usize| async move {
        let place = Place::new(script(turn), &format!("after-{n}"), "").await;
        let mut process = place.research();
        place.site.has_steps(n).await;
        place.kill_and_resume(&mut process).await;
        place.site.world.finish();
    };
    let step = if kills_everywhere() { 1 } else { 2 };
    stream::iter((0..=steps.len()).step_by(step)).map(kill).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    undisturbed.site.world.finish();
}

/// The first turn's call takes its time.
fn slow_turn(call: &Call) -> crate::world::Reply {
    match call.said_by("tool").len() {
        0 => reply::calls([("slow", json!({"steps": 5})), ("other__slow", json!({"steps": 5}))]),
        n if n < CALLS + 2 => reply::calls([("look_up", asked_in(n - 2))]),
        _ => reply::complete_research(),
    }
}

/// In the middle of a list, and of a call; the program does not stop when its input ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_while_servers_work_goes_on() {
    for (method, argument, mode) in [("tools/list", Value::Null, "late"), ("tools/call", json!({"steps": 5}), "deaf")] {
        let place = Place::new(script(slow_turn), method.trim_start_matches("tools/"), mode).await;
        let mut process = place.research();
        until("both servers are asked", async || (place.count(method, &argument) == 2).then_some(())).await;
        assert!(place.left() > 0, "the program works");
        // From here on any `fathom` that starts on this machine ends the program, also one of another test.
        process.kill().await;
        let run = place.site.run().await;
        let mut next = place.spawn(&["resume", &run.id.to_string()]);
        assert!(next.ends().await.success(), "{}", next.stderr());
        let is_call = method == "tools/call";
        let asked = if is_call { 2 } else { 4 };
        assert_eq!(place.count(method, &argument), asked, "no answer was stored, so lists are asked again, not calls");
        let calls = place.site.world.models.calls_of(Kind::Researcher);
        let lost =
            calls.last().unwrap().said_by("tool").iter().filter(|said| said.contains("its answer is lost")).count();
        assert_eq!(lost, if is_call { 2 } else { 0 });
        until("no program is left", async || (place.left() == 0).then_some(())).await;
        place.site.world.finish();
    }
}
