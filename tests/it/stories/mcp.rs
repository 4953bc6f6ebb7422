//! MCP servers: what they offer is called, cited and replayed, and whatever they do costs their own answers alone.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use fathom::domain::{Event, FailureCode, Outcome, ToolKind, WarningCode};
use fathom::runs::Ended;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, QUESTION, Story, config};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Call, FakeMcp, Kind, Reply, Script, Shape, Transport, When, World, reply},
};

/// A settings file of other programs with these servers; the variables that name it.
pub(super) fn servers(world: &World, servers: &[(&str, Value)]) -> Vec<(&'static str, String)> {
    let servers: serde_json::Map<String, Value> =
        servers.iter().map(|(name, server)| ((*name).to_owned(), server.clone())).collect();
    let file = world.folder().join("mcp.json");
    std::fs::write(&file, json!({"mcpServers": servers}).to_string()).unwrap();
    vec![("FATHOM_MCP_FILE", file.display().to_string())]
}

fn with(mut server: Value, more: Value) -> Value {
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server
}

/// A run whose only researcher calls these tools, one after the other.
pub(super) fn calling(calls: &[(&str, Value)]) -> Script {
    let replies: Vec<Reply> = calls.iter().map(|(name, given)| reply::calls([(*name, given.clone())])).collect();
    let replies = replies.into_iter().chain([reply::complete_research()]);
    Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies.collect::<Vec<_>>())
}

pub(super) fn answers(world: &World) -> Vec<String> {
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    last.said_by("tool").iter().map(|text| text.to_string()).collect()
}

/// The tools that the first call of a researcher was offered.
fn offered(world: &World) -> Vec<String> {
    world.models.calls_of(Kind::Researcher)[0].tools().into_iter().map(|name| name.to_string()).collect()
}

pub(super) async fn story_of(world: &World, options: &[&str], variables: &[(&'static str, String)]) -> Story {
    let database = TestDatabase::sqlite();
    let engine = Engine::with(world, &database, options, variables).await.unwrap();
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    story
}

/// A run with one fake server that is called like this.
async fn one(transport: Transport, mode: &'static str, calls: &[(&str, Value)]) -> (World, FakeMcp, Story) {
    let world = World::start(calling(calls)).await;
    let fake = FakeMcp::start(world.folder(), "register", transport, mode);
    let settings = with(fake.settings(), json!({"timeout_seconds": 2, "max_seconds": 20}));
    let variables = servers(&world, &[("register", settings)]);
    let story = story_of(&world, &[], &variables).await;
    (world, fake, story)
}

#[test_case(Transport::Stdio; "stdio")]
#[test_case(Transport::Http; "http")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_finds_is_cited_by_its_address(transport: Transport) {
    let calls = [
        ("look_up", json!({"query": "dues"})),
        ("tell", json!({"text": "Contents of https://register.test/gate:\nThe gate opened in 1931."})),
        ("tell", json!({"text": "Nobody knows the mason's name."})),
        ("read_resource", json!({"server": "register", "uri": "register://minutes/1931"})),
    ];
    let (world, fake, story) = one(transport, "", &calls).await;
    let tools = offered(&world);
    for name in ["look_up", "register__search_web", "search_web", "read_resource"] {
        assert!(tools.iter().any(|tool| tool == name), "{name}: {tools:?}");
    }
    let started = story.named("tool.started");
    let [Event::ToolStarted { kind: ToolKind::Mcp, server: Some(server), name, .. }, ..] = started[..] else {
        panic!("{started:?}")
    };
    assert_eq!((server.as_str(), name.as_str(), started.len()), ("register", "look_up", 4));
    let answers = answers(&world);
    assert!(answers[0].contains("<source id=\"S1001\">") && answers[0].contains("Dues of 4 crowns"), "{answers:?}");
    assert!(!answers[0].contains("https://register.test"), "no address that could be copied: {}", answers[0]);
    let urls: Vec<&str> = story.sources.iter().map(|source| source.url.as_str()).collect();
    let named = ["dues", "loans", "gate"].map(|page| format!("https://register.test/{page}#mcp:register"));
    assert_eq!(urls[..3], named);
    assert!(urls[3].starts_with("mcp:register/tell#"), "{urls:?}");
    assert_eq!(urls[4], "mcp:register/register://minutes/1931");
    assert_eq!(story.sources[3].title, "tell of register (text: Nobody knows the mason's name.)");
    assert!(story.sources.iter().all(|source| source.engine == "mcp:register"));
    assert!(story.markdown().contains("https://register.test/dues#mcp:register"), "{}", story.markdown());
    assert_eq!(fake.count("tools/list"), 1, "asked once per run");
    assert_eq!((fake.count("tools/call"), fake.count("resources/read")), (3, 1));
    world.finish();
}

/// It lists none, since it makes their addresses from templates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_followed_to_a_resource_that_no_list_has() {
    let read = ("read_resource", json!({"server": "register", "uri": "register://minutes/1932"}));
    let (world, fake, story) = one(Transport::Http, "templates", &[("look_up", json!({"query": "x"})), read]).await;
    let tools = world.models.calls_of(Kind::Researcher)[0].body["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "read_resource").unwrap();
    let described = tool["function"]["description"].as_str().unwrap();
    assert!(described.ends_with("by its server and address."), "{described}");
    assert!(answers(&world)[1].contains("raised the dues"), "{:?}", answers(&world));
    assert_eq!(fake.count("resources/read"), 1);
    assert!(story.sources.iter().any(|source| source.url == "mcp:register/register://minutes/1932"));
    world.finish();
}

/// A search engine is not asked for where there are tools; a server may be asked the same in a later turn, since its
/// answer may be another one, and not twice in one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_alone_are_researched_with() {
    let look_up = ("look_up", json!({"query": "dues"}));
    let replies =
        [reply::calls([look_up.clone(), look_up.clone()]), reply::calls([look_up.clone()]), reply::complete_research()];
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Stdio, "");
    let variables = servers(&world, &[("register", fake.settings())]);
    let story = story_of(&world, &["search_api=none"], &variables).await;
    let tools = offered(&world);
    assert!(tools.iter().any(|tool| tool == "look_up"), "{tools:?}");
    for name in ["read_page", "open_document", "register__search_web"] {
        assert!(tools.iter().all(|tool| tool != name), "{name}: {tools:?}");
    }
    assert_eq!(fake.count("tools/call"), 2);
    assert!(answers(&world)[1].contains("already called"), "{:?}", answers(&world));
    assert!(story.report.is_some() && story.markdown().contains("https://register.test/dues"), "{}", story.markdown());
    world.finish();
}

/// The process ends after the call; the next one sees the same tools and has the answer, though the server is gone.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_asks_no_server(database: TestDatabase) {
    let script = calling(&[("look_up", json!({"query": "dues"}))]);
    let world = World::start(script.always(When::kind(Kind::Compression), reply::silence())).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let variables = servers(&world, &[("register", fake.settings())]);
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    assert_eq!(run.options.mcp_servers.to_string(), "register", "all that there are, by name");
    let stop = CancellationToken::new();
    let stopping = async {
        until("the notes are asked for", async || (world.models.count(Kind::Compression) > 0).then_some(())).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &stop), stopping);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
    engine.app.close().await;
    let asked = fake.asked().len();
    assert_eq!(fake.count("tools/call"), 1);
    drop(fake);
    world.models.follow(calling(&[]));
    let engine = Engine::with(&world, &database, &[], &[]).await.unwrap();
    let story = engine.tell(run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert!(asked > 0 && story.warned(WarningCode::McpServerFailed).is_empty(), "{:?}", story.warnings());
    assert_eq!((story.named("tool.started").len(), story.sources.len()), (1, 2));
    engine.app.close().await;
    world.finish();
}

/// The report could not be written, and then the server is gone: what it said is in the journal of the run before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_asks_no_server_for_what_it_said() {
    let database = TestDatabase::sqlite();
    let script = calling(&[("look_up", json!({"query": "dues"}))]);
    let world = World::start(script.always(When::kind(Kind::Report), reply::status(500))).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let variables = servers(&world, &[("register", fake.settings())]);
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let first = engine.research(QUESTION).await;
    first.failed_with(FailureCode::ModelUnavailable);
    assert_eq!(fake.count("tools/call"), 1);
    drop(fake);
    world.models.follow(calling(&[]));
    let calls = world.models.total();
    let run = engine.app.runs.retry_here(first.run.id, engine.options.clone()).await.unwrap();
    let story = engine.tell(run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!((world.models.total() - calls, &story.sources), (1, &first.sources), "the report alone is missing");
    assert!(story.warned(WarningCode::McpServerFailed)[0].contains("the run goes on without it"));
    engine.app.close().await;
    world.finish();
}

/// Each misbehaviour of a call is reported to the model, shown, and bounded; the server's next call works.
#[test_case(Transport::Stdio; "stdio")]
#[test_case(Transport::Http; "http")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_goes_wrong_costs_itself_alone(transport: Transport) {
    let names: &[(&str, &str)] = match transport {
        Transport::Stdio => &[
            ("fail", "No such volume."),
            ("error", "the query is missing"),
            ("hang", "took longer than 2 s"),
            ("die", "its program ended (exit status: 3)"),
            ("flood", "far more notices than it may"),
            ("long_line", "sent a message of more than 4 MiB"),
        ],
        Transport::Http => {
            &[("fail", "No such volume."), ("error", "the query is missing"), ("hang", "took longer than 2 s")]
        }
    };
    let mut calls: Vec<(&str, Value)> = names.iter().map(|(name, _)| (*name, json!({}))).collect();
    calls.push(("garbage", json!({})));
    calls.push(("look_up", json!({"query": "dues"})));
    let (world, _fake, story) = one(transport, "", &calls).await;
    let answers = answers(&world);
    for ((name, said), answer) in names.iter().zip(&answers) {
        assert!(answer.contains(said) && answer.contains("failed"), "{name}: {answer}");
        assert!(transport == Transport::Http || !answer.contains("hunter2"), "{name}: {answer}");
    }
    assert!(answers[names.len()].contains("After the garbage."), "{}", answers[names.len()]);
    assert!(answers[names.len() + 1].contains("Dues of 4 crowns"), "{}", answers[names.len() + 1]);
    assert_eq!(story.named("tool.failed").len(), names.len());
    assert!(story.report.is_some());
    world.finish();
}

/// A server that cannot be used is a warning, and the run goes on without its tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_used_is_a_warning() {
    let world = World::start(calling(&[("look_up", json!({"query": "dues"}))])).await;
    let fake = |name: &str, transport, mode| FakeMcp::start(world.folder(), name, transport, mode);
    let good = fake("good", Transport::Stdio, "");
    let exits = fake("exits", Transport::Stdio, "exit");
    let loud = fake("loud", Transport::Stdio, "loud");
    let html = fake("html", Transport::Http, "garbage");
    let token = fake("token", Transport::Http, "token");
    let variables = servers(
        &world,
        &[
            ("exits", exits.settings()),
            ("loud", loud.settings()),
            ("html", html.settings()),
            ("token", token.settings()),
            ("absent", json!({"command": "no-such-program-anywhere"})),
            ("away", json!({"url": "http://127.0.0.1:1/mcp"})),
            ("good", good.settings()),
        ],
    );
    let story = story_of(&world, &[], &variables).await;
    let warnings = story.warned(WarningCode::McpServerFailed).join("\n");
    for (server, said) in [
        ("exits", "the register is closed"),
        ("loud", "it sent a message of more than 4 MiB, so it was cut off"),
        ("html", "content of the type text/html"),
        ("token", "refuses the sign-in"),
        ("absent", "could not be started"),
        ("away", "onnection refused"),
    ] {
        let line = warnings.lines().find(|line| line.contains(&format!("server {server}:")));
        assert!(line.is_some_and(|line| line.contains(said)), "{server}: {warnings}");
    }
    assert_eq!((warnings.lines().count(), warnings.contains("rmcp")), (6, false), "{warnings}");
    assert!(offered(&world).contains(&"look_up".to_owned()));
    assert!(answers(&world)[0].contains("Dues of 4 crowns"));
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bearer_token_is_sent_and_never_shown() {
    let world = World::start(calling(&[("error", json!({})), ("look_up", json!({"query": "dues"}))])).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "token");
    let settings =
        with(fake.settings(), json!({"headers": {"Authorization-Note": "hunter2-secret"}, "bearer": "${TOKEN}"}));
    let mut variables = servers(&world, &[("register", settings)]);
    variables.push(("TOKEN", "hunter2-secret".to_owned()));
    let story = story_of(&world, &[], &variables).await;
    assert!(answers(&world)[1].contains("Dues of 4 crowns"), "{:?}", answers(&world));
    let everything = format!("{:?} {:?} {:?}", story.events, story.steps, answers(&world));
    assert!(!everything.contains("hunter2"), "a secret got out");
    world.finish();
}

/// Tokens of the fake are good for six requests, so the run renews them; a wrong secret costs the tools alone.
#[test_case("client_secret", 1; "client credentials")]
#[test_case("subject_token", 0; "token exchange")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_had_from_the_authorization_server(grant: &str, discoveries: usize) {
    let look_up = |query: &str| ("look_up", json!({"query": query}));
    // Two of the tools repeat the token that they were given.
    let (slow, environment) = (("slow", json!({"steps": 4})), ("environment", json!({})));
    let calls = [look_up("dues"), look_up("loans"), look_up("gates"), look_up("tides"), slow, environment];
    let world = World::start(calling(&calls)).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "oauth");
    let settings = |secret: &str| {
        with(fake.settings(), json!({"oauth": {"client_id": "fathom", grant: secret, "scopes": ["read"]}}))
    };
    let mut variables = servers(&world, &[("register", settings("${TOKEN}")), ("other", settings("wrong-hunter2"))]);
    variables.push(("TOKEN", "hunter2-secret".to_owned()));
    let story = story_of(&world, &[], &variables).await;
    let said = answers(&world);
    assert!(said[..4].iter().all(|answer| answer.contains("Dues of 4 crowns")), "{said:?}");
    assert!(said[5].contains("Bearer (hidden)"), "{}", said[5]);
    let seen = story.named("tool.progress");
    assert!(format!("{seen:?}").contains("Bearer (hidden)"), "{seen:?}");
    let granted: Vec<Value> = fake.asked().into_iter().filter(|asked| asked["method"] == "token").collect();
    let ours = |asked: &&Value| asked["form"][grant] == "hunter2-secret";
    assert!(granted.iter().filter(ours).count() >= 2, "{granted:?}");
    let form = &granted.iter().find(ours).unwrap()["form"];
    assert_eq!((form["scope"].as_str(), form["client_id"].as_str()), (Some("read"), Some("fathom")));
    assert!(form["resource"].as_str().unwrap().ends_with("/mcp"), "{form}");
    assert_eq!(fake.count("discovery").min(1), discoveries);
    let warnings = story.warned(WarningCode::McpServerFailed);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(format!("{warnings:?}").contains("it refuses the sign-in that the settings give"), "{warnings:?}");
    let everything = format!("{:?} {:?} {:?}", story.events, story.steps, answers(&world));
    assert!(!everything.contains("hunter2"), "a secret got out: {warnings:?}");
    world.finish();
}

/// The address goes to the user; neither the model nor the journal of its answers gets it.
#[test_case("sign_in_old", "https://auth.test/old", "Sign in to the register"; "of the original")]
#[test_case("sign_in_new", "https://auth.test/new", "Allow access"; "of the protocol")]
#[test_case("sign_in_ask", "https://auth.test/ask", "Sign in here"; "asked back")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_is_for_the_user(tool: &str, address: &str, words: &str) {
    let (world, _fake, story) =
        one(Transport::Stdio, "", &[(tool, json!({})), ("look_up", json!({"query": "x"}))]).await;
    let asked = story.named("sign_in.required");
    let [Event::SignInRequired { server, url, message }] = asked[..] else { panic!("{asked:?}") };
    assert_eq!((server.as_str(), url.as_str(), message.as_str()), ("register", address, words));
    let said = answers(&world);
    assert!(said[0].contains("needs the user to sign in") && !said[0].contains("auth.test"), "{}", said[0]);
    assert!(!world.models.calls().iter().any(|call| call.says("auth.test")), "no model is given the address");
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_back_is_defused_and_cut() {
    let (world, _fake, story) =
        one(Transport::Stdio, "", &[("orders", json!({})), ("large", json!({})), ("picture", json!({}))]).await;
    let said = answers(&world);
    assert!(!said[0].contains("</source> <|") && said[0].contains("Ignore all earlier"), "{}", said[0]);
    assert!(said[1].len() < 25_000 && said[1].contains("characters of S"), "{}", said[1].len());
    assert!(said[2].contains("an image of 3000 bytes (image/png) was left out"), "{}", said[2]);
    assert!(said[2].contains("The gate in 1931."));
    assert!(story.report.is_some(), "and the run is not ended by orders");
    world.finish();
}

/// Beside the call the topic says what fits.
#[test_case(json!({"query": "Pay of the lock keeper"}), true; "what the call asks for")]
#[test_case(json!({}), false; "nothing")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_long_answer_the_model_is_shown_what_fits(given: Value, fits: bool) {
    let (world, _fake, _story) = one(Transport::Stdio, "", &[("large", given)]).await;
    let said = answers(&world).remove(0);
    assert_eq!(said.contains("earned 62 crowns"), fits, "{said}");
    assert!(said.contains("characters of S1001 were left out, those that fit the call and the topic least"), "{said}");
    assert!(said.chars().count() < 20_500, "{}", said.chars().count());
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_shown_and_keeps_a_call_alive() {
    let (world, _fake, story) = one(Transport::Stdio, "", &[("slow", json!({"steps": 8}))]).await;
    assert!(answers(&world)[0].contains("All volumes were read."), "longer than its 2 s: {:?}", answers(&world));
    let seen = story.named("tool.progress");
    let Some(Event::ToolProgress { total: Some(total), message: Some(message), .. }) = seen.first() else {
        panic!("{seen:?}")
    };
    assert!((2..=8).contains(&seen.len()), "at most one a second: {seen:?}");
    assert_eq!((*total, message.starts_with("reading volume")), (8.0, true));
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_bounded_and_chosen_from() {
    let world = World::start(calling(&[("look_up", json!({"query": "dues"}))])).await;
    let fake = |name: &str, mode| FakeMcp::start(world.folder(), name, Transport::Http, mode);
    let (many, circle, plain) = (fake("many", "many"), fake("circle", "circle"), fake("plain", ""));
    let variables = servers(
        &world,
        &[
            ("plain", with(plain.settings(), json!({"tools": ["look_*", "missing"]}))),
            ("circle", circle.settings()),
            ("many", many.settings()),
        ],
    );
    let story = story_of(&world, &["mcp_prompt=Ask the register before the web."], &variables).await;
    let tools = offered(&world);
    assert_eq!(tools.iter().collect::<HashSet<_>>().len(), tools.len());
    assert!(tools.contains(&"look_up".to_owned()) && tools.contains(&"circle__look_up".to_owned()), "{tools:?}");
    assert_eq!(tools.iter().filter(|name| name.starts_with('t') && name[1..].parse::<u32>().is_ok()).count(), 64);
    assert!(!tools.iter().any(|name| name == "die"), "{tools:?}");
    let warnings = story.warned(WarningCode::McpServerFailed).join("\n");
    assert!(
        warnings.contains("plain: it has no tool missing") && warnings.contains("many: it has more tools"),
        "{warnings}"
    );
    assert!(world.models.calls_of(Kind::Researcher)[0].says("Ask the register before the web."));
    world.finish();
}

/// OpenAI takes 128 tools in a request at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tools_of_all_servers_are_bounded_together() {
    let world = World::start(calling(&[("look_up", json!({"query": "dues"}))])).await;
    let fake = |name: &str, mode| FakeMcp::start(world.folder(), name, Transport::Http, mode);
    let (many, more, plain) = (fake("many", "many"), fake("more", "many"), fake("plain", ""));
    let only = with(plain.settings(), json!({"tools": ["look_up"]}));
    let variables = servers(&world, &[("many", many.settings()), ("more", more.settings()), ("plain", only)]);
    let story = story_of(&world, &[], &variables).await;
    let tools = offered(&world);
    let of = |server: &str| tools.iter().filter(|name| name.starts_with(server)).count();
    assert_eq!((of("t"), of("more__t")), (50 + 1, 49), "`think`, too: {tools:?}");
    let warnings = story.warned(WarningCode::McpServerFailed);
    let said: Vec<_> = warnings.iter().filter(|said| said.contains("than 100 together")).collect();
    assert!(said.len() == 1 && said[0].contains("(14 of many, 15 of more)"), "{warnings:?}");
    assert!(answers(&world)[0].contains("Dues of 4 crowns"), "{:?}", answers(&world));
    world.finish();
}

/// OpenAI and Azure refuse a longer description; the run goes on without `read_resource` where that is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptions_are_no_longer_than_providers_take() {
    let refused = r#"{"error": {"message": "Invalid schema for function 'read_resource': no", "code": "x"}}"#;
    let script = Script::whole_run(Shape::SMALL)
        .always(When::offers("read_resource"), reply::body(400, refused))
        .first(When::kind(Kind::Researcher), [reply::complete_research()]);
    let world = World::start(script).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "wordy");
    let story = story_of(&world, &[], &servers(&world, &[("register", fake.settings())])).await;
    let asked = world.models.calls_of(Kind::Researcher);
    let described = |name: &str| {
        let tools = asked[0].body["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["function"]["name"] == name).unwrap();
        tool["function"]["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(described("look_up").chars().count(), 1_024);
    let list = described("read_resource");
    let listed = list.matches("register://").count();
    assert!((900..=1_024).contains(&list.chars().count()) && list.contains("meeting 0"), "{list}");
    assert!(list.ends_with(&format!("- and {} more", 50 - listed)), "{list}");
    assert!(!asked[1].tools().contains(&"read_resource"), "{:?}", asked[1].tools());
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    world.finish();
}

/// As in the original: one server by its address, and the tools that may be called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_original_form_is_understood() {
    let world = World::start(calling(&[("look_up", json!({"query": "dues"}))])).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let given = format!("mcp_config={}", json!({"url": fake.origin(), "tools": ["look_up"]}));
    story_of(&world, &[&given], &[]).await;
    assert!(answers(&world)[0].contains("Dues of 4 crowns"), "{:?}", answers(&world));
    let tools = offered(&world);
    assert!(tools.contains(&"look_up".to_owned()) && !tools.contains(&"tell".to_owned()), "{tools:?}");
    world.finish();
}

/// A request names an address only where the operator allows it, and then no private one is called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_reaches_no_private_server() {
    let world = World::start(calling(&[])).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let database = TestDatabase::sqlite();
    let asked = json!({"url": fake.origin(), "tools": ["look_up"]});
    let caps =
        |config: &fathom::config::Config| config.caps.check("mcp_config", &asked).map_err(|error| error.to_string());
    let closed = config(&world, &database, &[], &[]).unwrap();
    assert!(caps(&closed).unwrap_err().contains("limits.request_mcp is off"));
    let variables = [("FATHOM_REQUEST_MCP", "true".to_owned())];
    let open = config(&world, &database, &[], &variables).unwrap();
    caps(&open).unwrap();
    let mut engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    engine.options.set("mcp_config", asked).unwrap();
    let story = engine.research(QUESTION).await;
    let warnings = story.warned(WarningCode::McpServerFailed).join("\n");
    assert!(warnings.contains("not a public one"), "{warnings}");
    assert_eq!(fake.asked().len(), 0);
    engine.app.close().await;
    world.finish();
}

/// A program gets its own variables and a few plain ones, and ends with its run, whatever its children do.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_little_and_ends_with_its_run() {
    let world = World::start(calling(&[("environment", json!({}))])).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Stdio, "");
    let mut settings = fake.settings();
    let (mark, script) =
        (format!("fathom-mcp-{}", std::process::id()), settings["args"][0].as_str().unwrap().to_owned());
    // A shell that starts the server and a child that never ends.
    settings["command"] = json!("sh");
    settings["args"] = json!(["-c", format!("sleep 3600 & exec python3 {script} stdio"), mark]);
    let mut variables = servers(&world, &[("register", settings)]);
    variables.push(("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()));
    story_of(&world, &[], &variables).await;
    let answer = answers(&world)[0].clone();
    assert!(answer.contains("REGISTER_KEY") && answer.contains("PATH"), "{answer}");
    assert!(!answer.contains("CARGO") && !answer.contains("hunter2") && answer.contains("(hidden)"), "{answer}");
    let left = || {
        let folders = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = folders.filter_map(|folder| std::fs::read(folder.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(&mark)).count()
    };
    until("its group is gone", async || (left() == 0).then_some(())).await;
    world.finish();
}

/// A folder with a text, a PDF and a database, whose path is returned.
async fn shelf(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("minutes.txt"), "The board met in April.").unwrap();
    let register = folder.join("register.db");
    let options = SqliteConnectOptions::new().filename(&register).create_if_missing(true);
    let mut database = SqliteConnection::connect_with(&options).await.unwrap();
    database.execute("CREATE TABLE dues (year INT, crowns INT); INSERT INTO dues VALUES (1931, 4177)").await.unwrap();
    database.close().await.unwrap();
    let handbook = fathom_testkit::program::repository().join("examples/library/handbook.pdf");
    std::fs::copy(handbook, folder.join("handbook.pdf")).unwrap();
    register
}

/// Servers that others wrote, from npm and PyPI, in one run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_others_work_in_a_run() {
    let tool = |name: &str| fathom_testkit::program::tool(&format!("mcp/{name}")).display().to_string();
    let page = "<html><head><title>Ledger</title></head><body><article><p>Dues of four crowns pay the gate.</p></article></body></html>";
    let router =
        axum::Router::new().route("/ledger", axum::routing::get(move || async move { axum::response::Html(page) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ledger = format!("http://{}/ledger", listener.local_addr().unwrap());
    let mut site = tokio::task::JoinSet::new();
    site.spawn(async { axum::serve(listener, router).await.unwrap() });
    let world = World::start(Script::new()).await;
    let folder = world.folder().join("shelf");
    let register = shelf(&folder).await;
    world.models.follow(calling(&[
        ("echo", json!({"message": "The gate opened in 1931."})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("fetch", json!({"url": ledger})),
        ("convert_time", json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"})),
        ("read_text_file", json!({"path": folder.join("minutes.txt")})),
        ("pdf_extract_text", json!({"ref": folder.join("handbook.pdf")})),
        ("execute_sql", json!({"sql": "SELECT crowns FROM dues WHERE year = 1931"})),
    ]));
    let everything = tool("node_modules/.bin/mcp-server-everything");
    let files = tool("node_modules/.bin/mcp-server-filesystem");
    let mut variables = servers(
        &world,
        &[
            ("everything", json!({"command": everything, "args": ["stdio"], "tools": ["echo", "get-*"]})),
            ("files", json!({"command": files, "args": [folder], "tools": ["read_text_file", "list_*"]})),
            (
                "fetch",
                json!({"command": tool("venv/bin/mcp-server-fetch"), "args": ["--allow-private-ips", "--ignore-robots-txt"]}),
            ),
            ("time", json!({"command": tool("venv/bin/mcp-server-time")})),
            ("pdf", json!({"command": tool("venv/bin/benspdf-mcp"), "tools": ["pdf_*"]})),
            ("data", json!({"command": tool("venv/bin/database-mcp-sqlite"), "args": ["--dsn", register]})),
        ],
    );
    variables.push(("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()));
    let story = story_of(&world, &[], &variables).await;
    let (said, tools) = (answers(&world), offered(&world));
    assert!(story.warned(WarningCode::McpServerFailed).is_empty(), "{:?}", story.warnings());
    assert!(tools.contains(&"read_text_file".to_owned()) && !tools.contains(&"write_file".to_owned()), "{tools:?}");
    for (answer, expected) in said.iter().zip([
        "The gate opened in 1931.",
        "42",
        "an image of",
        "temperature",
        "Dues of four crowns",
        "21:00",
        "The board met in April.",
        "the rotor is locked",
        "4177",
    ]) {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
    assert!(
        story.sources.iter().any(|source| source.url == format!("{ledger}#mcp:fetch")),
        "what was fetched is cited by its address"
    );
    world.finish();
}

/// `fathom doctor` names each server with its tools, or with what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_lists_servers_with_their_tools_or_errors() {
    let world = World::start(Script::new()).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Stdio, "");
    let settings = with(fake.settings(), json!({"tools": ["look_up", "tell"]}));
    let away = json!({"url": "http://127.0.0.1:1/mcp", "bearer": "hunter2-secret"});
    let variables = servers(&world, &[("register", settings), ("away", away)]);
    let mut command = world.fathom(&["doctor"]);
    let output = command.envs(variables).env("FATHOM_DATA_DIR", world.folder()).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("ok    mcp        register at python3: look_up, tell; 1 resource"), "{text}");
    assert!(text.contains("FAIL  mcp        away at http://127.0.0.1:1/mcp: ") && !text.contains("hunter2"), "{text}");
    assert!(!output.status.success() && !text.contains("no_evidence"), "{text}");
    let alone = ["--model", "offline:extractive", "--set", "search_api=none"];
    let output = command.args(alone).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let note = "note  settings   offline:extractive calls no MCP tools, and runs have nothing else to search";
    assert!(text.contains(note), "{text}");
}

/// One call more is made, the first that offers the tool; from then on it is offered to nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_whose_schema_a_provider_refuses_costs_itself_alone() {
    let refused = r#"{"error": {"message": "Invalid schema for function 'look_up': In context=('properties', 'query'), array schema missing items.", "type": "invalid_request_error", "param": "tools[3].function.parameters", "code": "invalid_function_parameters"}}"#;
    let calls = [reply::calls([("tell", json!({"text": "The gate opened in 1931."}))]), reply::complete_research()];
    let script = Script::whole_run(Shape::SMALL)
        .always(When::offers("look_up"), reply::body(400, refused))
        .first(When::kind(Kind::Researcher), calls);
    let world = World::start(script).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let story = story_of(&world, &[], &servers(&world, &[("register", fake.settings())])).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    let warned = story.warned(WarningCode::McpServerFailed);
    assert!(warned.len() == 1 && warned[0].contains("(look_up)") && warned[0].contains("missing items"), "{warned:?}");
    let asked = world.models.calls_of(Kind::Researcher);
    let offers = |call: &Call| call.tools().into_iter().any(|name| name == "look_up");
    assert_eq!(asked.iter().map(|call| offers(call)).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(fake.count("tools/call"), 1, "its other tool is called");
    world.finish();
}
