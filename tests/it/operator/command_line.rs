//! The command line beside a service, and what it says at the end of a run.

use fathom::domain::RunId;
use serde_json::Value;

use crate::{
    contract::without_keys,
    crash::{Engine, QUESTION, Site, script},
    world::{Kind, Running, Script, When, World, brain, reply},
};

fn ends_well(running: &Running, code: Option<i32>) -> String {
    assert_eq!(code, Some(0), "{}", running.stderr());
    running.stdout()
}

async fn output(site: &Site, arguments: &[&str]) -> String {
    let mut process = site.spawn(arguments);
    let status = process.ends().await;
    ends_well(&process, status.code())
}

/// A user who presses Ctrl-C does not want a service on the same database to go on paying.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_is_left_alone_until_somebody_asks_for_it() {
    let silent = Script::new()
        .always(When::kind(Kind::Report), reply::silence())
        .otherwise(|call| brain::reply(crate::crash::SHAPE, call));
    let site = Site::new(Engine::Postgres, silent).await;
    let mut process = site.research();
    site.is_asked(Kind::Report).await;
    let run = site.run().await;
    process.signal("INT").await;
    assert_eq!(process.ends().await.code(), Some(130), "{}", process.stderr());
    let said = process.stderr();
    assert!(said.contains("nobody goes on with it by itself; to go on: fathom resume "), "{said}");
    site.is_quiet().await;
    site.world.models.follow(script());
    let (calls, events) = (site.world.models.total(), site.events(&run).await.len());

    let mut service = site.spawn(&["--listen", "127.0.0.1:0"]);
    let line = service.says(" on http://").await;
    let address = line.split_once(" on ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = client.post(format!("{address}/api/v1/threads")).header("prefer", "wait=30");
    let other = ask.header("content-type", "application/json").body(r#"{"message": "And the harbour dues?"}"#);
    let other: Value = other.send().await.unwrap().json().await.unwrap();
    assert_eq!(other["run"]["status"], "completed", "the service works: {other:#}");
    assert_eq!(site.events(&run).await.len(), events, "and leaves the interrupted run alone");
    let listed: Value = serde_json::from_str(&output(&site, &["runs", "list", "--json"]).await).unwrap();
    let parked: Vec<&Value> = listed.as_array().unwrap().iter().filter(|run| run["interrupted"] == true).collect();
    assert_eq!(parked.len(), 1, "{listed:#}");
    assert_eq!(parked[0]["id"], run.id.to_string());
    assert!(output(&site, &["runs", "list"]).await.contains("  interrupted  "));

    let mut next = site.resume(run.id);
    assert!(next.ends().await.success(), "{}", next.stderr());
    assert!(next.stdout().contains("### Sources") && site.world.models.total() > calls);
    service.terminate().await;
    service.ends().await;
    site.world.finish();
}

/// File, sources, time and run in one line; from there the report can be had again and asked about.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_tells_how_to_go_on() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let prices =
        "[prices]\n'openai:gpt-4.1' = {input = 2, output = 8}\n'openai:gpt-4.1-mini' = {input = 1, output = 4}\n";
    std::fs::write(site.world.folder().join("fathom.toml"), prices).unwrap();
    let mut process = site.spawn(&["research", QUESTION, "--out", "report.md"]);
    assert!(process.ends().await.success(), "{}", process.stderr());
    let run = site.run().await;
    let (stderr, id) = (process.stderr(), run.id.to_string());
    let last = stderr.lines().last().unwrap();
    for part in
        ["fathom: report.md, ", " sources cited, ", " s, 0.", " dollars, run ", &id, &format!("fathom ask {id} ")]
    {
        assert!(last.contains(part), "{part:?} is not in {last:?}");
    }
    let report = std::fs::read_to_string(site.world.folder().join("report.md")).unwrap();
    assert_eq!(output(&site, &["runs", "report", &id]).await, report);

    // A second question in the same thread, under the first run's options and this one.
    let mut ask = site.spawn(&["ask", &id, "And who pays the dues?", "--set", "max_researcher_iterations=1"]);
    let status = ask.ends().await;
    ends_well(&ask, status.code());
    let runs = site.store.thread_runs(run.thread_id).await.unwrap();
    assert_eq!((runs.len(), runs[0].options.max_researcher_iterations), (2, 1));
    assert_eq!(runs[0].options.research_model, run.options.research_model);
    assert!(ask.stderr().lines().last().unwrap().contains(&format!("fathom ask {} ", runs[0].id)), "{}", ask.stderr());

    let mut unknown = site.spawn(&["ask", &RunId::new().to_string(), "Hm?"]);
    assert_eq!(unknown.ends().await.code(), Some(2), "{}", unknown.stderr());
    site.world.finish();
}

/// `fathom --data-dir X research` does what `fathom research --data-dir X` does.
#[tokio::test(flavor = "multi_thread")]
async fn settings_may_stand_before_the_command() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let before = ["--set", "max_researcher_iterations=2", "--set", "max_react_tool_calls=3", "--data-dir", "elsewhere"];
    let after = ["research", QUESTION, "--set", "max_researcher_iterations=1"];
    output(&site, &[&before[..], &after].concat()).await;
    assert!(site.store.runs(1).await.unwrap().is_empty(), "the run is elsewhere");
    let id = output(&site, &["--data-dir", "elsewhere", "runs", "list"]).await;
    let id = id.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let shown = output(&site, &["runs", "show", "--json", &id, "--data-dir", "elsewhere"]).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let options = &shown["options"];
    assert_eq!((&options["max_researcher_iterations"], &options["max_react_tool_calls"]), (&1.into(), &3.into()));

    let mut wrong = site.spawn(&["--listen", "127.0.0.1:0", "runs", "list"]);
    assert_eq!(wrong.ends().await.code(), Some(2));
    assert_eq!(wrong.stderr(), "fathom: --listen is for fathom serve and fathom health\n");
    let mut wrong = site.spawn(&["--open", "research", QUESTION]);
    assert_eq!(wrong.ends().await.code(), Some(2));
    assert_eq!(wrong.stderr(), "fathom: --open is for fathom serve\n");
    let mut open = site.spawn(&["--open", "--listen", "0.0.0.0:0", "serve"]);
    open.says(" on http://0.0.0.0:").await;
    open.kill().await;
    site.world.finish();
}

/// A log is read later and elsewhere: its lines are as long as what they tell.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_log_are_not_cut() {
    let world = World::start(Script::new()).await;
    let question = format!("How much energy will the Saltbox battery store, {}?", "really ".repeat(60).trim());
    let library = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/library");
    let mut command = world.fathom(&["research", &question, "--docs"]);
    command.arg(library);
    without_keys(&mut command);
    let mut process = Running::spawn(command, world.folder());
    assert!(process.ends().await.success(), "{}", process.stderr());
    assert!(process.stderr().contains(&format!("brief: {question}\n")), "{}", process.stderr());
    world.finish();
}

/// Its address may hold a password or a key.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_mcp_server_of_a_follow_up_is_not_shown() {
    let site = Site::new(Engine::Sqlite, script()).await;
    output(&site, &["research", QUESTION]).await;
    let id = site.run().await.id.to_string();
    for address in ["https://u:pa55@h.example/mcp?key=pa55", "pa55"] {
        let pair = format!(r#"mcp_config={{"url": "{address}"}}"#);
        let mut refused = site.spawn(&["ask", &id, "And the dues?", "--set", &pair]);
        assert_eq!(refused.ends().await.code(), Some(2), "{}", refused.stderr());
        assert!(refused.stderr().contains("mcp_config") && !refused.stderr().contains("pa55"), "{}", refused.stderr());
    }
    site.world.finish();
}
