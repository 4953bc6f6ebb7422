//! The life of a thread, from its first question on, and of runs that end in other ways.

use std::time::Duration;

use serde_json::{Value, json};
use test_case::test_case;

use super::{NOBODY, Service, cancelling::silent_at, names, seqs, small_world};
use crate::{
    database::TestDatabase,
    stories::engine::QUESTION,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_becomes_a_report(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let body = json!({ "message": QUESTION, "metadata": { "ticket": 7 }, "options": { "max_react_tool_calls": 4 } });
    let answer = service.post("/api/v1/threads", &body).await.expect(201);
    let (started, made) = (answer.started(), answer.json());
    assert_eq!(answer.header("location"), started.thread_path());
    assert_eq!((&made["thread"]["status"], &made["run"]["status"]), (&json!("busy"), &json!("queued")));
    let mut stream = service.stream(&started.events_path(), &[]).await;
    let events = stream.rest().await;
    assert_eq!(stream.retry, Some(3000));
    assert!(seqs(&events).into_iter().eq(1..=events.len() as i64), "{:?}", seqs(&events));
    assert_eq!((names(&events)[0], *names(&events).last().unwrap()), ("run.created", "run.completed"));
    let run = service.run(&started.run).await;
    assert_eq!((&run["status"], &run["outcome"], &run["error"]), (&json!("completed"), &json!("report"), &Value::Null));
    assert_eq!((&run["queue_position"], &run["options"]["max_react_tool_calls"]), (&Value::Null, &json!(4)));
    let thread = service.thread(&started.thread).await;
    assert_eq!((&thread["status"], &thread["title"]), (&json!("idle"), &json!(QUESTION)));
    assert_eq!(thread["last_seq"], events.last().unwrap()["seq"]);
    assert_eq!((&thread["metadata"], &thread["options"]), (&body["metadata"], &body["options"]));
    assert_eq!(thread["latest_run_id"], run["id"]);
    what_it_found(&service, &run).await;
    let messages = service.list(thread["links"]["messages"].as_str().unwrap()).await;
    let said: Vec<_> = messages.iter().map(|message| (&message["role"], &message["run_id"])).collect();
    assert_eq!(said, [(&json!("user"), &run["id"]), (&json!("assistant"), &run["id"])]);
    let runs = service.list(thread["links"]["runs"].as_str().unwrap()).await;
    assert_eq!(runs, [run]);
    service.stop().await;
    world.finish();
}

/// The report as a piece of a page: whole, and as it was while it was written.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_is_shown_as_it_was_at_an_event(database: TestDatabase) {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let events = service.events(&started.events_path()).await;
    let seq = |event: &Value| event["seq"].as_u64().unwrap();
    let deltas: Vec<u64> = events.iter().filter(|event| event["type"] == "report.delta").map(seq).collect();
    let begins = events.iter().find(|event| event["type"] == "report.started").map(seq).unwrap();
    let path = format!("{}/report/fragment", started.run_path());
    let at = async |seq: u64| service.get(&format!("{path}?until={seq}")).await.expect(200).json();
    let whole = service.get(&path).await.expect(200).json();
    assert!(whole["complete"] == true && whole["html"].as_str().unwrap().contains("id=\"source-1\""), "{whole}");
    assert_eq!(
        at(begins - 1).await,
        json!({ "attempt": 0, "complete": false, "chars": 0, "language": null, "html": "" })
    );
    let shown: Vec<Value> = futures::future::join_all(deltas.iter().map(|seq| at(*seq))).await;
    let chars: Vec<u64> = shown.iter().map(|fragment| fragment["chars"].as_u64().unwrap()).collect();
    assert!(chars.is_sorted() && *chars.last().unwrap() > 0, "{chars:?}");
    assert!(shown.iter().all(|fragment| fragment["complete"] == false && fragment["attempt"] == 1));
    service.get(&format!("{path}?until=-1")).await.refused(422, "validation_failed");
    service.stop().await;
    world.finish();
}

/// While it is written, two readers see it grow, each time as it was at one of its events.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_is_shown_while_it_is_written(database: TestDatabase) {
    let report = format!("# Dues\n\n{}", "The tide gate is paid by harbour dues. [S1001]\n\n".repeat(12));
    let report = reply::text(report).pace(Duration::from_millis(10));
    let world = World::start(Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let path = format!("{}/report/fragment", started.run_path());
    let read = async || service.get(&path).await.expect(200).json();
    let mut seen: Vec<Value> = Vec::new();
    let whole = loop {
        let mut both: [Value; 2] = tokio::join!(read(), read()).into();
        // Which of the two was answered first is left open.
        both.sort_by_key(|fragment| fragment["chars"].as_u64());
        if both[1]["complete"] == true {
            let [_, whole] = both;
            break whole;
        }
        seen.extend(both);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    service.ended(&started.run).await;
    let mut states = Vec::new();
    for event in service.events(&started.events_path()).await {
        let at = format!("{path}?until={}", event["seq"]);
        states.push(service.get(&at).await.expect(200).json());
    }
    seen.dedup();
    let strange: Vec<_> = seen.iter().filter(|fragment| !states.contains(fragment)).collect();
    assert_eq!(strange, Vec::<&Value>::new());
    let chars: Vec<_> = seen.iter().filter_map(|fragment| fragment["chars"].as_u64()).collect();
    assert!(chars.is_sorted() && seen.iter().filter(|one| one["html"] != "").count() > 1, "it grows: {chars:?}");
    assert!(whole["chars"].as_u64() > chars.last().copied());
    service.stop().await;
    world.finish();
}

/// What a run took is the same however it is summed up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_took_is_there_by_what_it_was_for() {
    let world = World::start(Script::whole_run(Shape { researchers: 2, ..Shape::SMALL })).await;
    let service = Service::start(&world, &TestDatabase::sqlite()).await;
    let started = service.start_run().await;
    let run = service.ended(&started.run).await;
    let used = service.get(&format!("{}/usage", started.run_path())).await.expect(200).json();
    for (name, total) in run["usage"].as_object().unwrap() {
        assert_eq!(&used[name], total, "{name}");
    }
    let calls = |name: &str| -> Vec<(String, u64)> {
        let by = used[name].as_object().unwrap();
        by.iter().map(|(what, sums)| (what.clone(), sums["calls"].as_u64().unwrap())).collect()
    };
    let made = |kind: Kind| world.models.calls_of(kind).len() as u64;
    let research = made(Kind::Supervisor) + made(Kind::Researcher) + made(Kind::Summary) + made(Kind::Compression);
    let expected = [("brief", 1), ("clarify", 1), ("report", 1), ("research", research)];
    assert_eq!(calls("by_stage"), expected.map(|(name, calls)| (name.to_owned(), calls)));
    let agents = 2 + made(Kind::Supervisor) + made(Kind::Researcher);
    let expected = [
        ("compression", made(Kind::Compression)),
        ("final_report", 1),
        ("research", agents),
        ("summarization", made(Kind::Summary)),
    ];
    assert_eq!(calls("by_role"), expected.map(|(name, calls)| (name.to_owned(), calls)));
    let of_researchers = made(Kind::Researcher) + made(Kind::Compression);
    assert_eq!(calls("by_researcher").iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["r1", "r2"]);
    assert_eq!(calls("by_researcher").iter().map(|(_, calls)| calls).sum::<u64>(), of_researchers);
    service.stop().await;
    world.finish();
}

/// The report, notes, sources and steps that the run's links lead to.
async fn what_it_found(service: &Service, run: &Value) {
    let link = |name: &str| run["links"][name].as_str().unwrap();
    let markdown = service.get(link("report")).await.expect(200);
    assert!(markdown.header("content-type").starts_with("text/markdown") && markdown.text().contains("[1]"));
    let page = service.ask("GET", link("report"), &[("accept", "text/html")], "").await.expect(200);
    assert!(page.text().starts_with("<!doctype html>") && page.text().contains("<h1>"), "{}", page.text());
    let data = service.ask("GET", link("report"), &[("accept", "application/json")], "").await.expect(200).json();
    assert_eq!((&data["markdown"], &data["outcome"]), (&json!(markdown.text()), &json!("report")));
    let sources = service.list(link("sources")).await;
    let cited: Vec<&Value> = sources.iter().filter(|source| !source["cited_as"].is_null()).collect();
    assert_eq!(cited.len(), data["sources"].as_array().unwrap().len());
    assert!(!cited.is_empty() && sources.iter().all(|source| source["found_by"] == json!(["r1"])), "{sources:?}");
    for line in data["sources"].as_array().unwrap() {
        let source = service.get(&format!("{}/{}", link("sources"), line["source_id"])).await.expect(200).json();
        assert_eq!((&source["cited_as"], &source["url"]), (&line["number"], &line["url"]));
        for fact in ["published", "author", "site", "addresses"] {
            assert!(line.get(fact).is_some() && source[fact] == line[fact], "{fact}: {line}");
        }
        assert_eq!(source.get("keys"), None, "what joins them is nobody's business");
        assert!(source["snapshot"].as_str().is_some_and(|text| !text.is_empty()), "{source}");
        let named = service.get(&format!("{}/S{}", link("sources"), line["source_id"])).await.expect(200).json();
        assert_eq!(named, source);
    }
    service.get(&format!("{}/S999999", link("sources"))).await.refused(404, "not_found");
    let notes = service.list(link("notes")).await;
    assert!(notes.len() == 1 && !notes[0]["text"].as_str().unwrap().is_empty(), "{notes:?}");
    let steps = service.list(link("steps")).await;
    let calls = steps.iter().filter(|step| !step["model"].is_null()).count();
    assert!(calls > 5 && json!(calls) == run["usage"]["calls"], "{calls} calls of {}", run["usage"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_of_which_nothing_was_seen_has_an_empty_text() {
    let world = small_world().await;
    let bare = Page { content: String::new(), ..Page::new("https://harbour.test/bare", "Bare", "").without_text() };
    world.web.always("", Found::Pages(vec![bare]));
    let service = Service::start(&world, &TestDatabase::sqlite()).await;
    let body = json!({ "message": QUESTION, "options": { "max_pages_per_search": 0 } });
    let run = service.ended(&service.create(&body).await.run).await;
    let path = run["links"]["sources"].as_str().unwrap();
    let sources = service.list(path).await;
    assert_eq!(sources.len(), 1, "{sources:?}");
    let source = service.get(&format!("{path}/{}", sources[0]["id"])).await.expect(200).json();
    assert_eq!((&source["url"], &source["snapshot"]), (&json!("https://harbour.test/bare"), &json!("")));
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clarifying_question_is_answered_by_a_message(database: TestDatabase) {
    let script =
        Script::whole_run(Shape::SMALL).first(When::kind(Kind::Clarify), [reply::ask_back("Which of the two gates?")]);
    let world = World::start(script).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let run = service.ended(&started.run).await;
    assert_eq!((&run["status"], &run["outcome"]), (&json!("completed"), &json!("clarification")));
    assert_eq!(service.thread(&started.thread).await["status"], "awaiting_input");
    service.get(run["links"]["report"].as_str().unwrap()).await.refused(409, "no_report");
    let messages = service.list(&format!("{}/messages", started.thread_path())).await;
    assert_eq!(
        (&messages[1]["role"], &messages[1]["content"]),
        (&json!("assistant"), &json!("Which of the two gates?"))
    );
    world.set_latency(Duration::from_millis(50), Default::default());
    let next = service.say(&started.thread, "The northern one.").await;
    assert_eq!(service.thread(&started.thread).await["status"], "busy");
    assert_eq!(service.ended(&next).await["outcome"], "report");
    assert_eq!(service.thread(&started.thread).await["status"], "idle");
    let asked = world.models.calls_of(Kind::Brief);
    assert!(asked[0].says("The northern one.") && asked[0].says("Which of the two gates?"));
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_after_the_report_starts_the_next_run(database: TestDatabase) {
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::FollowUp), [reply::follow_up("answer")]);
    let world = World::start(script).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let path = format!("{}/messages", started.thread_path());
    let answer = service.post(&path, &json!({ "content": "  And who decided that? " })).await.expect(202);
    let (message, run) = (answer.json()["message"].clone(), answer.json()["run"].clone());
    assert_eq!(answer.header("location"), run["links"]["self"]);
    assert_eq!((&message["content"], &message["run_id"]), (&json!("And who decided that?"), &run["id"]));
    let run = service.ended(run["id"].as_str().unwrap()).await;
    assert_eq!(run["outcome"], "answer");
    let messages = service.list(&path).await;
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(messages[2], message);
    let text = service.get(run["links"]["report"].as_str().unwrap()).await.expect(200).text();
    assert_eq!(messages[3]["content"], text);
    let runs = service.list(&format!("{}/runs", started.thread_path())).await;
    assert_eq!((&runs[0]["id"], runs.len()), (&run["id"], 2), "the newest first");
    let events = service.events(&format!("{}/events", started.thread_path())).await;
    assert!(seqs(&events).into_iter().eq(1..=events.len() as i64), "one numbering for both runs");
    let own = service.events(run["links"]["events"].as_str().unwrap()).await;
    assert_eq!(own, events.iter().filter(|event| event["run_id"] == run["id"]).cloned().collect::<Vec<_>>());
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_thread_takes_no_message(database: TestDatabase) {
    let world = World::start(Script::new().always(When::any(), reply::silence())).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let refusal = service.post(&format!("{}/messages", started.thread_path()), &json!({ "content": "And?" })).await;
    let problem = refusal.refused(409, "thread_busy");
    assert_eq!((&problem["retryable"], refusal.header("retry-after").is_empty()), (&json!(true), false));
    assert_eq!(service.list(&format!("{}/messages", started.thread_path())).await.len(), 1);
    let early = service.get(&format!("{}/report", started.run_path())).await;
    early.refused(409, "not_finished");
    assert!(early.header("retry-after").parse::<u32>().unwrap() > 0);
    service
        .post(&format!("/api/v1/threads/{NOBODY}/messages"), &json!({ "content": "And?" }))
        .await
        .refused(404, "not_found");
    service.delete(&started.thread_path()).await.expect(204);
    service.stop().await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_messages_at_once_one_is_taken(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let path = format!("{}/messages", started.thread_path());
    world.models.follow(silent_at(Kind::FollowUp));
    let bodies = ["One", "Two", "Three", "Four"].map(|text| json!({ "content": text }));
    let asked = bodies.iter().map(|body| service.post(&path, body));
    let answers = futures::future::join_all(asked).await;
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 202);
    assert_eq!(taken.len(), 1);
    refused.iter().for_each(|answer| _ = answer.refused(409, "thread_busy"));
    assert_eq!(service.list(&path).await[2..], [taken[0].json()["message"].clone()]);
    service.delete(&started.thread_path()).await.expect(204);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sources_state_otherwise_stands_beside_the_claims(database: TestDatabase) {
    let says = |crowns: &str| format!("The northern tide gate of the harbour cost {crowns} crowns in all.");
    let (one, other) = (says("412,000"), says("421,000"));
    let script = Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Compression), reply::text(format!("- {one} [S1001]\n- {other} [S1002]")))
        .always(When::kind(Kind::Report), reply::text("# Gate\n\nThe gate cost 412,000 crowns [S1001]."));
    let world = World::start(script).await;
    let pages = [("https://a.test/", &one), ("https://b.test/", &other)];
    world.web.always("", Found::Pages(pages.map(|(url, text)| Page::new(url, "Gate", text)).to_vec()));
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let claims = service.get(&format!("{}/claims", started.run_path())).await.expect(200).json();
    assert_eq!(claims["data"][0]["text"], "The gate cost 412,000 crowns");
    let stated = |text: &str, figure: &str, id: u32, host: &str| json!({"text": text, "figures": [figure], "source_id": id, "host": host});
    let expected = json!([{
        "one": stated(&one, "412,000", 1001, "a.test"),
        "other": stated(&other, "421,000", 1002, "b.test"),
        "settled": false,
    }]);
    assert_eq!(claims["contradictions"], expected);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_run_has_no_report(database: TestDatabase) {
    let world = World::start(Script::new().always(When::any(), reply::status(401))).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let run = service.ended(&started.run).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("model_auth")));
    let refusal = service.get(&format!("{}/report", started.run_path())).await;
    assert_eq!(
        (refusal.refused(409, "no_report")["retryable"].clone(), refusal.header("retry-after")),
        (json!(false), "")
    );
    assert_eq!(service.thread(&started.thread).await["status"], "idle");
    assert_eq!(service.list(&format!("{}/notes", started.run_path())).await, Vec::<Value>::new());
    world.models.follow(Script::whole_run(Shape::SMALL));
    let next = service.say(&started.thread, "Try again.").await;
    assert_eq!(service.ended(&next).await["outcome"], "report", "the thread is as good as before");
    service.stop().await;
    world.finish();
}
