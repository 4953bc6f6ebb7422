//! `fathom runs`: the real binary over the database alone, and over runs that another process holds.

use std::time::Duration;

use fathom::{
    domain::{RunId, RunStatus},
    store::NewRun,
};
use reqwest::Client;
use serde_json::Value;

use crate::{
    crash::{Engine, QUESTION, Site, script, script_with_pace, until},
    store::{created, new_run},
    world::{Kind, Running, Script, When, reply},
};

/// Runs a command to its end: exit code, standard output, standard error.
async fn output(site: &Site, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut process: Running = site.spawn(arguments);
    let status = process.ends().await;
    (status.code(), process.stdout(), process.stderr())
}

async fn json(site: &Site, arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = output(site, arguments).await;
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_and_shown_on_sqlite() {
    runs_are_listed_and_shown(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_and_shown_on_postgres() {
    runs_are_listed_and_shown(Engine::Postgres).await;
}

async fn runs_are_listed_and_shown(engine: Engine) {
    let site = Site::new(engine, script()).await;
    let (code, stdout, _) = output(&site, &["runs", "list"]).await;
    assert_eq!((code, stdout.lines().count()), (Some(0), 1), "a heading and no run: {stdout}");
    assert!(site.research().ends().await.success());
    let run = site.run().await;
    // Of the characters that are not printed, one that ends a line for some, and others.
    let strange = "What did\u{85}the minutes\u{2028}decide\u{9b}31m\u{202e}?".to_owned();
    let queued = created(&site.store, &NewRun { content: strange.clone(), ..new_run() }).await;

    let (_, stdout, _) = output(&site, &["runs", "list"]).await;
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    let line = lines.iter().find(|line| line.starts_with(&run.id.to_string())).unwrap();
    for word in ["completed", "report", QUESTION] {
        assert!(line.contains(word), "{word} is not in {line}");
    }
    let (_, stdout, _) = output(&site, &["runs", "list", "--status", "queued"]).await;
    assert!(stdout.contains(&queued.id.to_string()) && !stdout.contains(&run.id.to_string()), "{stdout}");
    let listed = json(&site, &["runs", "list", "--json", "--limit", "1"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let listed = json(&site, &["runs", "list", "--json", "--status", "queued"]).await;
    assert_eq!(listed[0]["question"], strange, "printed so that it is still JSON, and the same");

    let (code, stdout, _) = output(&site, &["runs", "show", &run.id.to_string()]).await;
    assert_eq!(code, Some(0));
    let steps = site.steps(run.id).await.len();
    for fact in [format!("steps      {steps}\n"), "outcome    report".to_owned(), "PROMPT TOK.".to_owned()] {
        assert!(stdout.contains(&fact), "{fact} is not in\n{stdout}");
    }
    assert!(!stdout.contains("worker"), "nobody holds a final run:\n{stdout}");
    let shown = json(&site, &["runs", "show", "--json", &run.id.to_string()]).await;
    assert_eq!((&shown["steps"], &shown["status"]), (&steps.into(), &"completed".into()));
    let tokens: u64 = shown["usage"].as_object().unwrap().values().map(|of| of["input_tokens"].as_u64().unwrap()).sum();
    assert_eq!(tokens, site.store.usage(run.id).await.unwrap().input_tokens);
    assert_eq!(json(&site, &["runs", "show", "--json", &queued.id.to_string()]).await["queue_position"], 1);

    let calls = site.world.models.total();
    let (code, stdout, _) = output(&site, &["runs", "resume", &run.id.to_string()]).await;
    assert_eq!((code, stdout), (Some(0), site.store.report(run.id).await.unwrap().unwrap().markdown));
    assert_eq!(site.world.models.total(), calls, "a finished run is printed again for nothing");
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_process_is_cancelled_on_sqlite() {
    a_run_of_another_process_is_cancelled(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_process_is_cancelled_on_postgres() {
    a_run_of_another_process_is_cancelled(Engine::Postgres).await;
}

async fn a_run_of_another_process_is_cancelled(engine: Engine) {
    let site = Site::new(engine, script_with_pace(Duration::from_secs(5))).await;
    let mut process = site.research();
    site.is_asked(Kind::Report).await;
    let run = site.run().await;
    let shown = json(&site, &["runs", "show", "--json", &run.id.to_string()]).await;
    assert!(shown["owner"].is_string() && shown["newest_event_at"].is_string(), "{shown}");
    for expected in ["is cancelled", "is cancelled"] {
        let (code, stdout, stderr) = output(&site, &["runs", "cancel", &run.id.to_string()]).await;
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains(expected), "{stdout}");
    }
    assert_eq!(process.ends().await.code(), Some(1), "its process says that it was cancelled");
    assert!(process.stderr().contains("the run was cancelled"), "{}", process.stderr());
    assert!(!site.store.notes(run.id).await.unwrap().is_empty(), "what it found is kept");
    site.is_quiet().await;
    site.world.finish();
}

/// Nobody works on it, or its process was killed: no service is needed to end it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_process_is_cancelled() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let queued = created(&site.store, &new_run()).await;
    let (code, stdout, _) = output(&site, &["runs", "cancel", &queued.id.to_string()]).await;
    assert!(code == Some(0) && stdout.contains("is cancelled"), "{stdout}");

    let mut process =
        site.spawn_with(&["research", QUESTION, "--set", "allow_clarification=true"], &[("FATHOM_LEASE_SECONDS", "2")]);
    site.is_asked(Kind::Report).await;
    process.kill().await;
    let run = site.run().await;
    let (code, stdout, stderr) = output(&site, &["runs", "cancel", &run.id.to_string()]).await;
    assert!(code == Some(0) && stdout.contains("is cancelled"), "{stdout}{stderr}");
    let run = site.store.run(run.id).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Cancelled);
    let events = site.events(&run).await;
    assert_eq!(events.iter().filter(|envelope| envelope.event.is_terminal()).count(), 1);
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_bad_usage() {
    let site = Site::new(Engine::Sqlite, Script::new()).await;
    let unknown = RunId::new().to_string();
    let cases: [&[&str]; 6] = [
        &["runs"],
        &["runs", "show", &unknown],
        &["runs", "cancel", &unknown],
        &["runs", "resume", &unknown],
        &["runs", "show", "12"],
        &["runs", "list", "--status", "lost"],
    ];
    for arguments in cases {
        let (code, stdout, stderr) = output(&site, arguments).await;
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
    }
    // A folder whose name was mistyped is none with an empty database.
    let mistyped = site.world.folder().join("mistyped");
    let of_runs: [&[&str]; 4] = [&["runs", "list"], &["runs", "show", &unknown], &["usage"], &["resume", &unknown]];
    let of_keys: [&[&str]; 2] = [&["keys", "list"], &["keys", "revoke", &unknown]];
    for command in of_runs.into_iter().chain(of_keys) {
        let arguments = [command, &["--data-dir", mistyped.to_str().unwrap()]].concat();
        let (code, stdout, stderr) = output(&site, &arguments).await;
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains("there is no database at"), "{stderr}");
        assert!(!mistyped.exists());
    }
    // One that cannot be looked into is not called empty.
    let (code, _, stderr) = output(&site, &["runs", "list", "--data-dir", "/dev/null"]).await;
    assert!(code == Some(2) && stderr.contains("cannot be read"), "{stderr}");
    site.world.finish();
}

/// It waits for a model that says nothing, and nothing was stored for longer than any wait may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_run_is_logged_once_and_counted() {
    const AGE: &str = "UPDATE events SET ts = ts - 7200000";
    let site = Site::new(Engine::Postgres, script().always(When::kind(Kind::Brief), reply::silence())).await;
    let mut service = site.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let line = service.says(" on http://").await;
    let url = format!("http://{}", line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap());
    let client = Client::builder().no_proxy().build().unwrap();
    let body = serde_json::json!({ "message": QUESTION, "options": { "allow_clarification": false } }).to_string();
    let post = client.post(format!("{url}/api/v1/threads")).header("content-type", "application/json").body(body);
    assert_eq!(post.send().await.unwrap().status(), 201);
    site.is_asked(Kind::Brief).await;
    let run = site.run().await;
    let (_, stdout, _) = output(&site, &["runs", "list"]).await;
    assert!(stdout.contains("running") && !stdout.contains("stuck"), "{stdout}");

    site.database.execute(AGE).await;
    service.says("a run seems to be stuck").await;
    let stuck = async |count: u32| {
        until("the gauge says so", async || {
            let text = client.get(format!("{url}/metrics")).send().await.unwrap().text().await.unwrap();
            text.lines().any(|line| line == format!("fathom_runs_stuck {count}")).then_some(())
        })
        .await;
    };
    stuck(1).await;
    let (_, stdout, _) = output(&site, &["runs", "list"]).await;
    assert!(stdout.contains("  stuck  "), "{stdout}");
    assert_eq!(json(&site, &["runs", "show", "--json", &run.id.to_string()]).await["stuck"], true);
    assert!(output(&site, &["runs", "cancel", &run.id.to_string()]).await.1.contains("is cancelled"));
    stuck(0).await;
    let output = format!("{}{}", service.stdout(), service.stderr());
    assert_eq!(output.matches("a run seems to be stuck").count(), 1, "{output}");
    service.terminate().await;
    assert!(service.ends().await.success());
}
