//! `fathom doctor` and `fathom health` as scripts see them: exit codes, what is said and where, and no secret in it.

use std::process::{Output, Stdio};

use secrecy::ExposeSecret as _;
use test_case::test_case;
use tokio::process::Command;

use crate::{
    database::TestDatabase,
    fake_vendor::{FakeVendor, Reply},
    world::{Found, Script, World, reply},
};

const SECRET: &str = "sk-s3cret";

/// Runs it to its end; the exit code, standard output and standard error.
async fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let running = command.env("FATHOM_RETRY_SECONDS", "1").stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } =
        tokio::time::timeout(std::time::Duration::from_secs(60), running).await.expect("it ends").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// What the doctor says of models at this address, and its exit code; the search engine is fine.
async fn doctor(world: &World, base_url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = world.fathom(&[&["doctor"], arguments].concat());
    command.env("OPENAI_BASE_URL", base_url).env("OPENAI_API_KEY", SECRET);
    let (code, stdout, stderr) = run(&mut command).await;
    assert_eq!(stderr, "");
    assert!(!stdout.contains(SECRET), "{stdout}");
    (code, stdout)
}

/// The one line that begins with `FAIL`.
fn failure(report: &str) -> &str {
    let failures: Vec<_> = report.lines().filter(|line| line.starts_with("FAIL")).collect();
    assert_eq!(failures.len(), 1, "{report}");
    assert!(report.ends_with("\n1 problem to fix first.\n"), "{report}");
    failures[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_that_finds_nothing_says_what_to_do_next() {
    let world = World::start(Script::new()).await;
    let listed = r#"{"data": [{"id": "gpt-4.1-mini"}, {"id": "gpt-4.1"}]}"#;
    let fine = FakeVendor::start([Reply::json(200, listed)]).await;
    let (code, report) = doctor(&world, &fine.base_url(), &[]).await;
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("key accepted, 2 models (gpt-4.1-mini, gpt-4.1…)"), "{report}");
    assert!(report.ends_with("\nReady: fathom research \"QUESTION\"\n"), "{report}");
    assert!(report.contains(", empty; the first start creates its tables\n"), "{report}");
    assert!(!world.folder().join("data/fathom.db").exists(), "it looks, and leaves all as it is");
    assert_eq!(fine.sent()[0].headers["authorization"], format!("Bearer {SECRET}"));
    let named: Vec<_> = report.lines().filter(|line| line.contains("not usable")).collect();
    assert!(named.len() == 1 && named[0].ends_with("docs/providers.md, docs/settings.md"), "{report}");
    world.finish();
}

/// Lists leave out aliases and deployments, so one small call says whether a model is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_asks_models_that_are_not_listed_whether_they_are_there() {
    let world = World::start(Script::new()).await;
    let listed = Reply::json(200, r#"{"data": [{"id": "gpt-4.1"}, {"id": "gpt-4.1-nano"}]}"#);
    let absent = r#"{"error": {"message": "The model does not exist", "code": "model_not_found"}}"#;
    for (answer, code, expected) in [
        (Reply::says("Yes."), 0, "ok    models     openai:gpt-4.1-mini answers, although it is not listed"),
        (Reply::json(404, absent), 1, "; did you mean gpt-4.1-nano?"),
    ] {
        let vendor = FakeVendor::start([listed.clone(), answer]).await;
        let (exit, report) = doctor(&world, &vendor.base_url(), &[]).await;
        assert_eq!(exit, Some(code), "{report}");
        assert!(report.lines().any(|line| line.contains("gpt-4.1-mini") && line.ends_with(expected)), "{report}");
        assert_eq!(vendor.sent().len(), 2);
    }
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_names_what_is_wrong_with_a_model_server() {
    let world = World::start(Script::new()).await;
    let refusal = r#"{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}"#;
    let page = "<!doctype html><title>Sign in</title>";
    for (answer, expected) in [
        (Reply::json(401, refusal), "refused the API key: 401 invalid_api_key: Incorrect API key provided"),
        (Reply::text(200, "text/html", page), "it answers something that is no JSON, such as a web page"),
        (Reply::text(404, "text/html", page), "check OPENAI_BASE_URL"),
        (Reply::json(500, "{}"), "check OPENAI_BASE_URL"),
        (Reply::json(200, r#"{"data": ["#).then_cut(), "no JSON"),
    ] {
        let vendor = FakeVendor::start([answer]).await;
        let (code, report) = doctor(&world, &vendor.base_url(), &[]).await;
        let line = failure(&report);
        assert_eq!(code, Some(1), "{report}");
        assert!(line.contains(expected) && line.ends_with("check OPENAI_BASE_URL and OPENAI_API_KEY"), "{line}");
    }
    let (code, report) = doctor(&world, "http://127.0.0.1:1/v1", &[]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).contains("openai:gpt-4.1-mini could not be reached"), "{report}");
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_names_what_is_wrong_with_search_and_storage() {
    let world = World::start(Script::new()).await;
    let models = r#"{"data": [{"id": "gpt-4.1-mini"}, {"id": "gpt-4.1"}]}"#;
    let vendor = FakeVendor::start((0..5).map(|_| Reply::json(200, models))).await;
    world.web.first("", [Found::fault(reply::status(401))]);
    let (code, report) = doctor(&world, &vendor.base_url(), &[]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).ends_with("check TAVILY_API_KEY"), "{report}");

    let (code, report) = doctor(&world, &vendor.base_url(), &["--set", "search_api=local"]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).contains("name a documents folder with --docs DIR or FATHOM_DOCS"), "{report}");

    let (code, report) = doctor(&world, &vendor.base_url(), &["--set", "search_fallback=brave"]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).contains("search_fallback=brave cannot be used: set BRAVE_API_KEY"), "{report}");

    let (code, report) = doctor(&world, &vendor.base_url(), &["--data-dir", "/proc/fathom"]).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).ends_with("choose another with --data-dir or FATHOM_DATA_DIR"), "{report}");

    let mut command = world.fathom(&["doctor"]);
    command.env("OPENAI_BASE_URL", vendor.base_url()).env("DATABASE_URL", "postgres://me:s3cret@127.0.0.1:1/fathom");
    let (code, report, _) = run(&mut command).await;
    assert_eq!(code, Some(1), "{report}");
    assert!(failure(&report).contains("database   Postgres at 127.0.0.1:1/fathom: "), "{report}");
    assert!(!report.contains("s3cret"), "{report}");
    world.finish();
}

/// Where requests bring all keys, the operator's own are not missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_does_not_miss_keys_that_requests_bring() {
    let world = World::start(Script::new()).await;
    let mut command = world.fathom(&["doctor"]);
    command.env_remove("TAVILY_API_KEY").env("FATHOM_SEARCH_API", "tavily").env("FATHOM_MODEL", "groq:m");
    let (code, report, _) = run(&mut command).await;
    assert_eq!((code, report.matches("FAIL").count()), (Some(1), 2), "{report}");
    command.env("FATHOM_REQUEST_KEYS", "required").env("FATHOM_REQUEST_KEYS_SECRET", "k".repeat(32));
    let (code, report, _) = run(&mut command).await;
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("groq:m needs GROQ_API_KEY here") && report.contains("set TAVILY_API_KEY"), "{report}");
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_that_sent_no_key_says_of_none_that_it_is_good() {
    let world = World::start(Script::new()).await;
    let github = FakeVendor::start((0..2).map(|_| Reply::json(200, r#"{"items": []}"#))).await;
    let mut command = world.fathom(&["doctor", "--model", "offline:extractive"]);
    command.env_remove("TAVILY_API_KEY").env("FATHOM_SEARCH_API", "github");
    command.env("GITHUB_SEARCH_BASE_URL", github.base_url());
    let (_, report, _) = run(&mut command).await;
    assert!(report.contains(": answered one search"), "{report}");
    let (_, report, _) = run(command.env("GITHUB_SEARCH_TOKEN", SECRET)).await;
    assert!(report.contains(": key accepted by one search"), "{report}");
    world.finish();
}

/// Has the server's sessions from now on read alone.
const READS_ALONE: &str = "DO $$ BEGIN EXECUTE \
    format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$";

/// A server that only reads answers all questions. What is tried leaves nothing behind.
#[test_case(false; "an empty database")]
#[test_case(true; "a database with tables")]
#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_tries_whether_postgres_takes_writes(filled: bool) {
    let (world, database) = (World::start(Script::new()).await, TestDatabase::postgres().await);
    let fathom::store::Database::Postgres { url, .. } = &database.database else { panic!("not Postgres") };
    if filled {
        database.open().await.close().await;
    }
    let on_database = async || {
        let mut command = world.fathom(&["doctor"]);
        let (_, report, _) = run(command.env("DATABASE_URL", url.expose_secret())).await;
        report.lines().find(|line| line.contains("  database ")).expect("it looks at the database").to_owned()
    };
    let tables = "SELECT COUNT(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    let before = database.count(tables).await;
    let fine = on_database().await;
    assert!(fine.starts_with("ok "), "{fine}");
    database.execute(READS_ALONE).await;
    let line = on_database().await;
    assert!(line.starts_with("FAIL ") && line.contains("takes no writes: "), "{line}");
    assert!(line.ends_with("or switch its default_transaction_read_only off"), "{line}");
    assert_eq!(database.count(tables).await, before);
    world.finish();
}

/// Silent when all is well; otherwise one line and exit code 1, since container checks look at the code alone.
#[tokio::test(flavor = "multi_thread")]
async fn health_is_said_by_the_exit_code() {
    let world = World::start(Script::new()).await;
    let health = async |address: &str| run(&mut world.fathom(&["health", "--listen", address])).await;
    let mut service = world.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let line = service.says(" on http://").await;
    let address = line.split_once(" on http://").unwrap().1.split_whitespace().next().unwrap().to_owned();
    for _ in 0..600 {
        if health(&address).await.0 == Some(0) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(health(&address).await, (Some(0), String::new(), String::new()));
    // As a container's check may be run, beside a service that has what it needs.
    let mut bare = Command::new(fathom_testkit::program::path());
    bare.env_clear().env("FATHOM_LISTEN", &address).env("FATHOM_LEASE_SECONDS", "never").arg("health");
    assert_eq!(run(&mut bare).await, (Some(0), String::new(), String::new()));
    service.terminate().await;
    service.ends().await;

    let not_ready = r#"{"status": "not ready", "checks": {"database": "does not answer"}}"#;
    let page = "<!doctype html><title>Welcome</title>".to_owned();
    for (answer, expected) in [
        (Reply::json(503, not_ready), r#""database": "does not answer""#),
        (Reply::json(200, not_ready), r#""database": "does not answer""#),
        (Reply::text(200, "text/html", page.clone()), "it answers 200 OK with something else"),
        (Reply::text(200, "text/html", page.repeat(10_000)), "it answers 200 OK with something else"),
        (Reply::text(401, "text/plain", "who are you?"), "it answers 401 Unauthorized with something else"),
        (Reply::silence(), "no answer"),
    ] {
        let other = FakeVendor::start([answer]).await;
        let base_url = other.base_url();
        let address = base_url.trim_start_matches("http://").trim_end_matches("/v1");
        let (code, stdout, stderr) = health(address).await;
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.starts_with(&format!("fathom: the service at {address} is not ready: ")), "{stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{expected:?} is not in {stderr}");
        assert_eq!(other.sent()[0].path, "/readyz");
    }
    let (code, _, stderr) = health("127.0.0.1:1").await;
    assert_eq!((code, stderr.contains("no connection")), (Some(1), true), "{stderr}");
    world.finish();
}
