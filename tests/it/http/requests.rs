//! What may be said with a request: options, idempotency keys, and the wish to wait.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fathom::store::{Claimant, Claimed, Clock, NewRun};
use serde_json::{Value, json};
use test_case::test_case;

use super::{
    JSON, PATIENCE, Service, Started,
    cancelling::{pending, silent_at},
    small_world,
};
use crate::{
    crash::until,
    database::TestDatabase,
    store::{created, finish_of, new_run},
    stories::engine::QUESTION,
    world::{Call, Ended, Kind, Script, Shape, When, World, reply},
};

const THREADS: &str = "/api/v1/threads";
const WAIT: (&str, &str) = ("prefer", "wait=30");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_of_the_request_win_over_the_threads_over_the_servers() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let server = [
        ("FATHOM_MAX_REACT_TOOL_CALLS", "7"),
        ("FATHOM_MAX_CONCURRENT_RESEARCH_UNITS", "3"),
        ("FATHOM_MAX_RESEARCHER_ITERATIONS", "4"),
    ];
    let service = Service::with(&world, &database, &server).await;
    let thread = json!({ "max_react_tool_calls": 5, "max_concurrent_research_units": 2 });
    let started = service.create(&json!({ "message": QUESTION, "options": thread })).await;
    let three = |run: &Value| {
        let option = |name: &str| run["options"][name].as_u64().unwrap();
        [option("max_react_tool_calls"), option("max_concurrent_research_units"), option("max_researcher_iterations")]
    };
    assert_eq!(three(&service.ended(&started.run).await), [5, 2, 4]);
    let path = format!("{}/messages", started.thread_path());
    let body = json!({ "content": "More.", "options": { "max_react_tool_calls": 6 } });
    let run = service.post(&path, &body).await.expect(202).json()["run"].clone();
    assert_eq!(three(&run), [6, 2, 4]);
    service.ended(run["id"].as_str().unwrap()).await;
    let run = service.say(&started.thread, "And more.").await;
    assert_eq!(three(&service.ended(&run).await), [5, 2, 4], "a message's options are its own");
    assert_eq!(service.thread(&started.thread).await["options"], thread);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_cap_what_is_asked_for() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let caps = "max_researcher_iterations=2,max_react_tool_calls=4";
    let service = Service::with(&world, &database, &[("FATHOM_OPTION_CAPS", caps)]).await;
    let offer = service.get("/api/v1/options").await.expect(200).json();
    for (name, most) in [("max_researcher_iterations", 2), ("max_react_tool_calls", 4)] {
        let property = &offer["schema"]["properties"][name];
        assert_eq!((&property["maximum"], &property["default"]), (&json!(most), &json!(most)));
    }
    assert_eq!(offer["defaults"]["max_react_tool_calls"], 4, "the built-in default is ten");
    let preset = |place: usize| &offer["presets"][place]["options"];
    assert_eq!((&preset(0)["max_react_tool_calls"], preset(1)), (&json!(3), &json!({ "effort": "standard" })));
    assert_eq!(preset(2).get("max_react_tool_calls"), None, "no more than there is");
    let ask = async |turns: u32| {
        let options = json!({ "max_react_tool_calls": turns });
        service.post(THREADS, &json!({ "message": QUESTION, "options": options })).await
    };
    let problem = ask(5).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/options/max_react_tool_calls");
    assert!(problem["detail"].as_str().unwrap().contains("4 at most on this server"), "{problem}");
    service.ended(&ask(4).await.expect(201).started().run).await;
    service.stop().await;
    world.finish();
}

/// In whatever order its options stand, and whatever was only brought down to a cap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_as_deep_in_its_later_runs_as_in_its_first() {
    let world = small_world().await;
    let caps = [("FATHOM_OPTION_CAPS", "max_run_seconds=3600")];
    let service = Service::with(&world, &TestDatabase::sqlite(), &caps).await;
    let options = json!({ "max_react_tool_calls": 10, "effort": "quick" });
    let started = service.create(&json!({ "message": QUESTION, "options": options })).await;
    let two = |run: &Value| ["max_react_tool_calls", "max_run_seconds"].map(|name| run["options"][name].clone());
    assert_eq!(two(&service.ended(&started.run).await), [10, 900]);
    let run = service.say(&started.thread, "And more.").await;
    assert_eq!(two(&service.ended(&run).await), [10, 900]);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_names_the_models_that_requests_may_name() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_ALLOWED_MODELS", "openai:small-*")]).await;
    let offer = service.get("/api/v1/options").await.expect(200).json();
    let property = &offer["schema"]["properties"]["research_model"];
    assert!(property["pattern"].as_str().is_some_and(|pattern| pattern.contains("small-")), "{property}");
    let named: Vec<&str> = property["examples"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(named.contains(&offer["defaults"]["research_model"].as_str().unwrap()), "{named:?}");
    assert!(!named.contains(&"openai:gpt-5.6"), "requests may not name it: {named:?}");
    let ask = async |model: &str| {
        let options = json!({ "research_model": model });
        service.post(THREADS, &json!({ "message": QUESTION, "options": options })).await
    };
    for model in ["openai:large-1", "offline:extractive", "ollama:small-1"] {
        let problem = ask(model).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/options/research_model");
        assert!(problem["detail"].as_str().unwrap().contains("openai:small-*"), "{problem}");
    }
    let own = offer["defaults"]["research_model"].as_str().unwrap();
    for model in ["openai:small-1", own] {
        service.ended(&ask(model).await.expect(201).started().run).await;
    }
    service.stop().await;
    world.finish();
}

/// For who picks: those that can be called here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_name_the_models_and_engines_that_are_known() {
    let world = small_world().await;
    let service = Service::start(&world, &TestDatabase::sqlite()).await;
    let offer = service.get("/api/v1/options").await.expect(200).json();
    let models = &offer["schema"]["properties"]["research_model"]["examples"];
    let models: Vec<&str> = models.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(models.contains(&"openai:gpt-5.6") && models.is_sorted(), "{models:?}");
    assert!(!models.iter().any(|model| model.starts_with("anthropic:")), "there is no key for it: {models:?}");
    for option in ["search_api", "search_fallback"] {
        let [text, engines] = offer["schema"]["properties"][option]["oneOf"].as_array().unwrap().as_slice() else {
            panic!("{offer}")
        };
        assert_eq!((&text["type"], &text["enum"], &engines["type"]), (&json!("string"), &Value::Null, &json!("array")));
        let has = |list: &str, name: &str| engines["items"][list].as_array().unwrap().contains(&json!(name));
        assert!(["tavily", "wikipedia", "brave"].iter().all(|name| has("enum", name)), "{engines}");
        assert!(has("examples", "tavily") && has("examples", "wikipedia"), "{engines}");
        assert!(!has("examples", "brave") && !has("enum", "auto"), "there is no key for Brave: {engines}");
    }
    let options = json!({ "search_api": ["wikipedia", "arxiv"], "search_fallback": ["tavily"] });
    let estimate = service.post("/api/v1/estimate", &json!({ "options": options })).await.expect(200).json();
    assert_ne!(estimate["pages"]["high"], 0, "a list of names is taken: {estimate}");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_options_are_named_with_what_was_meant() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let options = json!({ "max_react_toolcalls": 1, "a/b~c": 1, "search_api": "bing", "search_fallback": "auto", "max_run_seconds": "long", "require_think": 3 });
    let problem = service.post(THREADS, &json!({ "message": QUESTION, "options": options })).await;
    let problem = problem.refused(422, "validation_failed");
    let errors = problem["errors"].as_array().unwrap();
    let detail = |pointer: &str| {
        let error = errors.iter().find(|error| error["pointer"] == pointer);
        error.unwrap_or_else(|| panic!("{pointer} is not in {errors:#?}"))["detail"].as_str().unwrap()
    };
    assert!(detail("/options/max_react_toolcalls").contains("did you mean 'max_react_tool_calls'?"));
    assert!(detail("/options/a~1b~0c").contains("unknown option"));
    assert!(detail("/options/search_api").contains("tavily"));
    assert!(detail("/options/search_fallback").contains("must be none, or the names of 8 different search engines"));
    detail("/options/max_run_seconds");
    detail("/options/require_think");
    assert_eq!(errors.len(), 6);
    let options = json!({ "search_api": "arxiv", "search_fallback": ["wikipedia", "bing"] });
    let problem = service.post(THREADS, &json!({ "message": QUESTION, "options": options })).await;
    let problem = problem.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/options/search_fallback");
    assert_eq!(service.list(THREADS).await.len(), 0);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_key_is_named() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::with(&world, &database, &[("TAVILY_API_KEY", "")]).await;
    let refused = async |options: Value| {
        let answer = service.post(THREADS, &json!({ "message": QUESTION, "options": options })).await;
        let problem = answer.refused(422, "not_configured");
        let pointer = problem["errors"][0]["pointer"].as_str().unwrap().to_owned();
        (pointer, problem["detail"].as_str().unwrap().to_owned())
    };
    let (pointer, detail) = refused(json!({ "final_report_model": "openrouter:x/y" })).await;
    assert!(pointer == "/options/final_report_model" && detail.contains("OPENROUTER_API_KEY"), "{pointer}: {detail}");
    let (pointer, detail) = refused(json!({ "search_api": "tavily" })).await;
    assert!(pointer == "/options/search_api" && detail.contains("TAVILY_API_KEY"), "{pointer}: {detail}");
    let (pointer, detail) = refused(json!({ "search_api": "arxiv", "search_fallback": "brave" })).await;
    assert!(pointer == "/options/search_fallback" && detail.contains("BRAVE_API_KEY"), "{pointer}: {detail}");
    let (pointer, detail) = refused(json!({ "search_api": "local" })).await;
    assert!(pointer == "/options/search_api" && detail.contains("FATHOM_DOCS"), "{pointer}: {detail}");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_options_tell_what_may_be_set() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new()).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_REACT_TOOL_CALLS", "7")]).await;
    let options = service.get("/api/v1/options").await.expect(200).json();
    assert_eq!(options["defaults"]["max_react_tool_calls"], 7);
    let documented: Vec<_> = options["schema"]["properties"].as_object().unwrap().keys().collect();
    let effective: Vec<_> = options["defaults"].as_object().unwrap().keys().collect();
    assert_eq!(documented.len(), effective.len());
    assert!(effective.iter().all(|name| documented.contains(name)));
    for (name, property) in options["schema"]["properties"].as_object().unwrap() {
        assert_eq!(property["default"], options["defaults"][name], "{name}: what this server uses");
    }
    service.stop().await;
    world.finish();
}

async fn with_key(service: &Service, path: &str, key: &str, body: &Value) -> super::Answer {
    service.ask("POST", path, &[JSON, ("idempotency-key", key)], body.to_string()).await
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_gets_the_first_answer_byte_for_byte(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION, "metadata": { "n": 1 } });
    let first = with_key(&service, THREADS, "k 1", &body).await.expect(201);
    service.ended(&first.started().run).await;
    for _ in 0..2 {
        let again = with_key(&service, THREADS, "k 1", &body).await.expect(201);
        assert_eq!((again.text(), again.header("idempotent-replayed")), (first.text(), "true"));
        assert_eq!(again.header("location"), first.header("location"));
    }
    assert_eq!(first.header("idempotent-replayed"), "");
    with_key(&service, THREADS, "k 1", &json!({ "message": "Another" })).await.refused(422, "idempotency_key_reused");
    let messages = format!("{}/messages", first.started().thread_path());
    let body = json!({ "content": "And then?" });
    let said = with_key(&service, &messages, "k 1", &body).await.expect(202);
    let again = with_key(&service, &messages, "k 1", &body).await.expect(202);
    assert_eq!((again.text(), again.header("idempotent-replayed")), (said.text(), "true"));
    let other = json!({ "content": "And now?" });
    with_key(&service, &messages, "k 1", &other).await.refused(422, "idempotency_key_reused");
    assert_eq!((service.list(THREADS).await.len(), service.list("/api/v1/runs").await.len()), (1, 2));
    for key in ["", &"x".repeat(256), "caf\u{e9}"] {
        let problem = with_key(&service, THREADS, key, &body).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["header"], "Idempotency-Key");
    }
    service.ended(said.json()["run"]["id"].as_str().unwrap()).await;
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_with_the_same_key_at_the_same_time_start_one_run(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION });
    let answers = futures::future::join_all((0..8).map(|_| with_key(&service, THREADS, "once", &body))).await;
    let started: Vec<Started> = answers.into_iter().map(|answer| answer.expect(201).started()).collect();
    assert!(started.iter().all(|one| one.run == started[0].run && one.thread == started[0].thread), "{started:?}");
    assert_eq!((service.list(THREADS).await.len(), service.list("/api/v1/runs").await.len()), (1, 1));
    service.ended(&started[0].run).await;
    service.stop().await;
    world.finish();
}

/// Who lost the connection while they waited asks again in the same words, and gets what they had waited for.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_waits_as_it_asks(database: TestDatabase) {
    let slow = reply::brief("How the tide gate is paid.").after(Duration::from_millis(400));
    let world = World::start(Script::whole_run(Shape::SMALL).always(When::kind(Kind::Brief), slow)).await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION }).to_string();
    let ask = |key: &'static str, further: &'static [(&str, &str)]| {
        let headers = [&[JSON, ("idempotency-key", key)][..], further].concat();
        let (service, body) = (&service, body.clone());
        async move { service.ask("POST", THREADS, &headers, body).await.expect(201) }
    };
    let (first, second) = tokio::join!(ask("both", &[WAIT]), ask("both", &[WAIT]));
    for answer in [&first, &second] {
        assert_eq!(answer.json()["run"]["status"], "completed", "both wait for the one run");
        assert_eq!(answer.header("preference-applied"), "wait=30");
    }
    assert_eq!(first.started().run, second.started().run);
    let at_once = ask("later", &[]).await;
    assert_eq!(at_once.json()["run"]["status"], "queued");
    let report = ask("later", &[WAIT, ("accept", "text/markdown")]).await;
    assert!(report.header("content-type").starts_with("text/markdown"), "{}", report.text());
    assert_eq!((report.header("idempotent-replayed"), report.header("preference-applied")), ("true", "wait=30"));
    let data = ask("later", &[WAIT]).await;
    assert_eq!((data.text(), data.header("preference-applied")), (at_once.text(), ""), "the first answer, at once");
    let begun = ask("ended", &[]).await;
    let cancel = format!("{}/cancel", begun.started().run_path());
    service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.expect(202);
    let ended = ask("ended", &[WAIT, ("accept", "text/markdown")]).await;
    assert_eq!(ended.json()["run"]["status"], "cancelled", "what is known then: {}", ended.text());
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_on_a_busy_thread_leaves_nothing_behind(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    pending(&world, Kind::Clarify).await;
    let messages = format!("{}/messages", started.thread_path());
    with_key(&service, &messages, "k", &json!({ "content": "Too early" })).await.refused(409, "thread_busy");
    let cancel = format!("{}/cancel", started.run_path());
    service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.expect(202);
    world.models.follow(Script::whole_run(Shape::SMALL));
    let answer = with_key(&service, &messages, "k", &json!({ "content": "Now" })).await.expect(202);
    assert_eq!(answer.header("idempotent-replayed"), "");
    service.ended(answer.json()["run"]["id"].as_str().unwrap()).await;
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_whose_thread_was_deleted_starts_nothing_and_keeps_nothing(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": "Something private" });
    let started = with_key(&service, THREADS, "k", &body).await.expect(201).started();
    service.ended(&started.run).await;
    service.delete(&started.thread_path()).await.expect(204);
    with_key(&service, THREADS, "k", &body).await.refused(404, "not_found");
    with_key(&service, THREADS, "k", &json!({ "message": "x" })).await.refused(422, "idempotency_key_reused");
    assert_eq!(service.list("/api/v1/runs").await.len(), 0);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_with_the_run_or_with_the_patience(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION }).to_string();
    let wait = ("prefer", "respond-async, wait=30");
    let keyed = [JSON, wait, ("idempotency-key", "waited")];
    let answer = service.ask("POST", THREADS, &keyed, body.clone()).await.expect(201);
    let (thread, run) = (answer.json()["thread"].clone(), answer.json()["run"].clone());
    assert_eq!((&run["status"], &thread["status"]), (&json!("completed"), &json!("idle")));
    assert_eq!(answer.header("preference-applied"), "wait=30");
    assert_eq!(service.ask("POST", THREADS, &keyed, body).await.expect(201).text(), answer.text());
    let path = run["links"]["self"].as_str().unwrap();
    let again = service.ask("GET", path, &[("prefer", "wait=60")], "").await.expect(200);
    assert_eq!(
        (again.json(), again.header("preference-applied")),
        (run.clone(), "wait=60"),
        "a final run is not waited for"
    );
    world.models.follow(silent_at(Kind::Clarify));
    let messages = thread["links"]["messages"].as_str().unwrap();
    let began = Instant::now();
    let body = json!({ "content": "And now?" }).to_string();
    let answer = service.ask("POST", messages, &[JSON, ("prefer", "wait=1")], body).await.expect(202);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(answer.json()["run"]["status"], "running");
    let cancel = format!("{}/cancel", answer.json()["run"]["links"]["self"].as_str().unwrap());
    let cancelled = service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.expect(202);
    assert_eq!(cancelled.json()["status"], "cancelled");
    for ignored in ["wait=-1", "wait=soon", "wait", "", "return=minimal"] {
        let answer = service.ask("GET", path, &[("prefer", ignored)], "").await.expect(200);
        assert_eq!(answer.header("preference-applied"), "", "{ignored}");
    }
    service.stop().await;
    world.finish();
}

/// A newer release that works beside this one writes events that this one does not know.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_waited_for_whatever_events_it_has(database: TestDatabase) {
    const UNKNOWN: &str = "UPDATE threads SET last_seq = last_seq + 1; \
        INSERT INTO events (thread_id, seq, run_id, ts, agent, name, body) \
        SELECT threads.id, threads.last_seq, runs.id, 1, 'root', 'run.pondered', \
        '{\"type\":\"run.pondered\",\"data\":{}}' FROM threads JOIN runs ON runs.thread_id = threads.id";
    let world = World::start(Script::new()).await;
    let service = Service::start(&world, &database).await;
    let newer = database.open().await;
    let claimant = Claimant { worker: "newer".to_owned(), lease: PATIENCE, clock: Clock::Database };
    let run = created(&newer, &NewRun { reserved: Some(claimant.clone()), ..new_run() }).await;
    let Claimed::Yes { lease, .. } = newer.claim(run.id, &claimant).await.unwrap() else { panic!("not claimed") };
    let path = format!("/api/v1/runs/{}", run.id);
    let work = async {
        // The wait begins beside them.
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(30)).await;
            database.execute(UNKNOWN).await;
        }
        newer.commit(vec![finish_of(lease)]).await.remove(0).unwrap();
    };
    let (answer, ()) = tokio::join!(service.ask("GET", &path, &[WAIT], ""), work);
    assert_eq!(answer.expect(200).json()["status"], "completed");
    service.stop().await;
    world.finish();
}

/// A refusal would have the client start a second run, which costs money as the first one does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_let_in_is_named_also_when_the_database_goes_away_while_it_is_waited_for() {
    let (world, database) = (World::start(silent_at(Kind::Clarify)).await, TestDatabase::postgres().await);
    let service = Service::start(&world, &database).await;
    let cancelled = service.start_run().await;
    service.ask("POST", &format!("{}/cancel", cancelled.run_path()), &[("prefer", "wait=20")], "").await.expect(202);
    let messages = format!("{}/messages", cancelled.thread_path());
    let headers = [JSON, ("prefer", "wait=3"), ("accept", "text/markdown, application/json")];
    let waits = async |path: &str, body: Value| service.ask("POST", path, &headers, body.to_string()).await;
    let outage = async {
        let asked = |call: &Arc<Call>| call.ended() == Ended::Pending;
        let both = async || {
            (world.models.calls_of(Kind::Clarify).iter().filter(|call| asked(call)).count() == 2).then_some(())
        };
        until("both runs are at work", both).await;
        database.outage().await
    };
    let (begun, said) = (json!({ "message": QUESTION }), json!({ "content": QUESTION }));
    let (begun, said, outage) = tokio::join!(waits(THREADS, begun), waits(&messages, said), outage);
    let (begun, said) = (begun.expect(201), said.expect(202));
    let started = begun.started();
    assert_eq!(begun.header("location"), started.thread_path());
    let run = begun.json()["run"].clone();
    assert_eq!((&run["status"], &begun.json()["thread"]["status"]), (&json!("queued"), &json!("busy")));
    assert_eq!(said.header("location"), said.json()["run"]["links"]["self"]);
    outage.end().await;
    let there = async || (service.get(&started.run_path()).await.status == 200).then_some(());
    until("the database is there again", there).await;
    assert_eq!(service.list(&format!("{}/runs", started.thread_path())).await.len(), 1);
    service.stop().await;
}
