//! Events as clients read them: live, again, in part, a page at a time.

use std::collections::BTreeMap;

use fathom::http::Timeouts;
use serde_json::{Value, json};
use test_case::test_case;

use super::{
    NOBODY, Service,
    cancelling::{pending, silent_at},
    names, seqs, small_world,
};
use crate::{
    database::TestDatabase,
    stories::engine::{self, QUESTION},
    world::{Found, Kind, Script, Shape, World, reply},
};

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_live(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    for (name, value) in [("cache-control", "no-store"), ("x-accel-buffering", "no")] {
        assert_eq!(stream.response.headers()[name], value);
    }
    assert_eq!(stream.response.headers()["content-type"], "text/event-stream; charset=utf-8");
    stream.until("report.started").await;
    pending(&world, Kind::Report).await;
    assert_eq!(service.run(&started.run).await["status"], "running", "the events came before the end");
    let mut thread = service.stream(&format!("{}/events", started.thread_path()), &[]).await;
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
    stream.until("run.cancelled").await;
    assert_eq!(stream.next().await, None, "a run's stream ends with the run");
    thread.until("run.cancelled").await;
    world.models.follow(Script::whole_run(Shape::SMALL));
    let next = service.say(&started.thread, "Again, please.").await;
    let event = thread.until("run.completed").await.pop().unwrap();
    assert_eq!(event["run_id"], json!(next), "a thread's stream goes on with its next run");
    drop(thread);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_was_cut_off_goes_on_where_it_was(database: TestDatabase) {
    let world = small_world().await;
    world.set_latency(std::time::Duration::from_millis(5), Default::default());
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let path = started.events_path();
    let mut events: Vec<Value> = Vec::new();
    let mut connections = 0;
    loop {
        let id = events.last().map_or(0, |event| event["seq"].as_i64().unwrap()).to_string();
        // The header wins over the parameter, which a browser repeats unchanged.
        let mut stream = service.stream(&format!("{path}?after=0"), &[("last-event-id", &id)]).await;
        for _ in 0..7 {
            events.extend(stream.next().await);
        }
        connections += 1;
        if names(&events).last() == Some(&"run.completed") {
            break;
        }
    }
    assert!(connections > 3);
    assert_eq!(events, service.events(&path).await);
    let last = events.last().unwrap()["seq"].as_i64().unwrap();
    for after in [last, last + 1, i64::MAX] {
        let answer = service.ask("GET", &path, &[("last-event-id", &after.to_string())], "").await.expect(204);
        assert!(answer.body.is_empty());
        service.get(&format!("{path}?after={after}")).await.expect(204);
    }
    let mut tail = service.stream(&format!("{path}?after={}", last - 2), &[]).await;
    assert_eq!(seqs(&tail.rest().await), [last - 1, last]);
    service.ask("GET", &path, &[("last-event-id", "99999999999999999999999999")], "").await.expect(204);
    // Readers that cannot set headers say it in the address, beside what it had from the start.
    let accept = ("accept", "text/event-stream");
    service.ask("GET", &format!("{path}?after=0&lastEventId={last}"), &[accept], "").await.expect(204);
    let mut tail = service.stream(&format!("{path}?after=0&lastEventId=5"), &[]).await;
    assert_eq!(seqs(&tail.rest().await)[0], 6);
    let mut tail = service.stream(&format!("{path}?lastEventId=1"), &[("last-event-id", "5")]).await;
    assert_eq!(seqs(&tail.rest().await)[0], 6, "the header wins");
    let mut tail = service.stream(&format!("{path}?after=5&lastEventId="), &[]).await;
    assert_eq!(seqs(&tail.rest().await)[0], 6, "an empty one is none");
    service.stop().await;
    world.finish();
}

/// The process that works on the run.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_every_replica_see_the_same(database: TestDatabase) {
    let world = small_world().await;
    let (here, there) = (Service::start(&world, &database).await, Service::start(&world, &database).await);
    for (maker, reader) in [(&here, &there), (&there, &here)] {
        let started = maker.start_run().await;
        let mut streams = Vec::new();
        for service in [maker, reader] {
            streams.push(service.stream(&started.events_path(), &[]).await);
        }
        let read = futures::future::join_all(streams.iter_mut().map(|stream| stream.rest())).await;
        assert_eq!(read[0], read[1]);
        assert_eq!(names(&read[0]).last(), Some(&"run.completed"));
        assert_eq!(reader.ended(&started.run).await, maker.run(&started.run).await);
    }
    here.stop().await;
    there.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_wanted_types_are_sent() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&format!("{}?types=run.*,source.found", started.events_path()), &[]).await;
    let events = stream.rest().await;
    let all = service.events(&started.events_path()).await;
    let wanted = |event: &&Value| {
        let name = event["type"].as_str().unwrap();
        name.starts_with("run.") || name == "source.found"
    };
    assert_eq!(events, all.iter().filter(wanted).cloned().collect::<Vec<_>>());
    assert!(events.len() > 3 && events.len() < all.len());
    let none = service.ask("GET", &format!("{}?types=nothing.such", started.events_path()), &[], "").await;
    assert!(none.expect(204).body.is_empty(), "nothing of the kind can come any more");
    for types in ["", ",", "RUN", "a%20b", &"x".repeat(65), &["a"; 33].join(",")] {
        let path = format!("{}?types={types}", started.events_path());
        let problem = service.get(&path).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["parameter"], "types");
    }
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_come_without_names_if_wanted() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&format!("{}?event=message", started.events_path()), &[]).await;
    let events = stream.rest().await;
    assert_eq!(events, service.events(&started.events_path()).await);
    let text = service.get(&format!("{}?event=message", started.events_path())).await.expect(200).text();
    assert!(text.starts_with("retry: 3000\nid: 1\ndata: {") && !text.contains("\nevent: "), "{text}");
    let problem = service.get(&format!("{}?event=text", started.events_path())).await;
    assert_eq!(problem.refused(422, "validation_failed")["errors"][0]["parameter"], "event");
    service.stop().await;
    world.finish();
}

/// A page that follows only the report is asked to stop when it has come back after the end.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_nothing_wanted_left_is_over(database: TestDatabase) {
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let path = format!("{}?types=report.*", started.events_path());
    let mut stream = service.stream(&path, &[]).await;
    let begun = stream.until("report.started").await.pop().unwrap()["seq"].to_string();
    let waits = service.stream(&path, &[("last-event-id", &begun)]).await;
    assert_eq!(waits.response.status(), 200, "more may come while the run goes on");
    drop(waits);
    service.post(&format!("{}/cancel", started.run_path()), &json!({})).await.expect(202);
    assert_eq!(stream.rest().await.len(), 0, "it ends with the run");
    service.ask("GET", &path, &[("last-event-id", &begun)], "").await.expect(204);
    let mut again = service.stream(&path, &[]).await;
    assert_eq!(names(&again.rest().await), ["report.started"], "there is something left for others");
    let mut end = service.stream(&format!("{}?types=run.*", started.events_path()), &[("last-event-id", &begun)]).await;
    assert_eq!(names(&end.rest().await), ["run.cancelled"]);
    // A thread goes on, so it may always have more.
    let thread = format!("{}/events?types=nothing.such", started.thread_path());
    assert_eq!(service.stream(&thread, &[]).await.response.status(), 200);
    service.stop().await;
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_word_of_a_deleted_thread(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let path = format!("{}/events", started.thread_path());
    let mut all = service.stream(&path, &[]).await;
    let last = all.until("run.completed").await.pop().unwrap();
    let at_the_end = [("last-event-id", last["seq"].to_string())];
    let at_the_end = at_the_end.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut some = service.stream(&format!("{path}?types=report.*"), &at_the_end).await;
    let mut unnamed = service.stream(&format!("{path}?event=message"), &at_the_end).await;
    service.ask("DELETE", &started.thread_path(), &[], "").await.expect(204);
    for stream in [&mut all, &mut some, &mut unnamed] {
        let rest = stream.rest().await;
        assert_eq!(names(&rest), ["thread.deleted"]);
        assert_eq!((&rest[0]["seq"], &rest[0]["run_id"]), (&last["seq"], &last["run_id"]));
    }
    let header = ("accept", "text/event-stream");
    service.ask("GET", &path, &[header], "").await.refused(404, "not_found");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_events_tell_when_there_are_no_more() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Report)).await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    pending(&world, Kind::Report).await;
    let thread = format!("{}/events", started.thread_path());
    let page = async |path: &str, after: i64| {
        let path = format!("{path}?limit=10&after={after}");
        service.ask("GET", &path, &[("accept", "application/json")], "").await.expect(200).json()
    };
    for path in [&started.events_path(), &thread] {
        let (mut after, mut seen) = (0, Vec::new());
        loop {
            let page = page(path, after).await;
            let events = page["data"].as_array().unwrap().clone();
            assert!(page["done"] == false && events.len() <= 10);
            after = page["next_after"].as_i64().unwrap();
            seen.extend(seqs(&events));
            if events.is_empty() {
                break;
            }
        }
        assert!(seen.iter().copied().eq(1..=after), "{seen:?}");
    }
    let cancel = format!("{}/cancel", started.run_path());
    service.ask("POST", &cancel, &[("prefer", "wait=20")], "").await.expect(202);
    for path in [&started.events_path(), &thread] {
        let whole = service.events(path).await;
        let last = whole.last().unwrap()["seq"].as_i64().unwrap();
        let end = page(path, last - 1).await;
        assert_eq!((names(end["data"].as_array().unwrap()), &end["done"]), (vec!["run.cancelled"], &json!(true)));
        let beyond = page(path, last).await;
        assert_eq!(beyond, json!({ "data": [], "next_after": last, "done": true }));
        let far = page(path, i64::MAX).await;
        assert_eq!((&far["data"], &far["done"]), (&json!([]), &json!(true)));
    }
    for limit in ["0", "1001", "x"] {
        let path = format!("{thread}?limit={limit}");
        let answer = service.ask("GET", &path, &[("accept", "application/json")], "").await;
        answer.refused(422, "validation_failed");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_starting_point_that_is_no_number_is_refused() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    for path in [started.events_path(), format!("{}/events", started.thread_path())] {
        for garbage in ["-1", "1.5", "abc", "", "1e3", "0x10", "1 2", "+1", "NaN", "\u{661}"] {
            // An empty header is none: some readers send it before their first event.
            if !garbage.is_empty() {
                let answer = service.ask("GET", &path, &[("last-event-id", garbage)], "").await;
                let problem = answer.refused(422, "validation_failed");
                assert_eq!(problem["errors"][0]["header"], "Last-Event-ID", "{garbage:?}");
            }
            let encoded: String = url::form_urlencoded::byte_serialize(garbage.as_bytes()).collect();
            let problem = service.get(&format!("{path}?after={encoded}")).await.refused(422, "validation_failed");
            assert_eq!(problem["errors"][0]["parameter"], "after", "{garbage:?}");
        }
    }
    for path in [format!("/api/v1/runs/{NOBODY}/events"), format!("/api/v1/threads/{NOBODY}/events")] {
        service.get(&path).await.refused(404, "not_found");
        service.ask("GET", &path, &[("accept", "application/json")], "").await.refused(404, "not_found");
    }
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_so_many_streams_are_open() {
    let database = TestDatabase::sqlite();
    let world = World::start(silent_at(Kind::Clarify)).await;
    let service = Service::with(&world, &database, &[("FATHOM_MAX_STREAMS", "2")]).await;
    let started = service.start_run().await;
    let path = started.events_path();
    let (mut first, mut second) = (service.stream(&path, &[]).await, service.stream(&path, &[]).await);
    first.next().await;
    second.next().await;
    let refusal = service.get(&path).await;
    refusal.refused(503, "too_many_streams");
    assert!(!refusal.header("retry-after").is_empty());
    service.ask("GET", &path, &[("accept", "application/json")], "").await.expect(200);
    let head = service.client.head(service.url(&path)).send().await.unwrap();
    assert_eq!(head.status(), 503, "a question about a stream is no way round");
    drop(first);
    let opened = async || {
        let answer = service.client.get(service.url(&path)).send().await.unwrap();
        (answer.status() == 200).then_some(answer)
    };
    let third = crate::crash::until("there is room again", opened).await;
    drop((second, third));
    service.stop().await;
}

/// A run as a page can draw it from its events.
#[derive(Default)]
struct Drawn {
    question: Value,
    options: Value,
    status: &'static str,
    outcome: Value,
    phase: Value,
    iterations: u64,
    researchers: BTreeMap<&'static str, u64>,
    searches: u64,
    warnings: u64,
    /// URL, title and date by id.
    sources: BTreeMap<u64, [Value; 3]>,
    /// Topic by researcher.
    topics: BTreeMap<String, Value>,
    /// As the API lists them.
    notes: BTreeMap<String, Value>,
    asked: u64,
    usage: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// Billionths of a dollar.
    cost: BTreeMap<String, u64>,
    report: String,
    attempt: u64,
    /// Number, start and end, by place in the text.
    citations: Vec<Value>,
    total: Value,
}

const TOKENS: [&str; 4] = ["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

impl Drawn {
    fn see(&mut self, event: &Value) {
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "run.created" => {
                self.status = "queued";
                self.question = data["question"].clone();
                self.options = data["options"].clone();
            }
            "run.started" | "run.resumed" => self.status = "running",
            "phase.started" => self.phase = data["phase"].clone(),
            "supervisor.iteration" => self.iterations = data["n"].as_u64().unwrap(),
            "model.started" => self.asked += 1,
            "researcher.started" => {
                *self.researchers.entry("running").or_default() += 1;
                self.topics.insert(event["scope"]["id"].to_string(), data["topic"].clone());
            }
            "researcher.finished" => {
                self.researcher_ended("finished");
                let id = event["scope"]["id"].to_string();
                let number: u64 = id.trim_matches(['"', 'r']).parse().unwrap();
                let note = json!({ "researcher": number, "topic": self.topics[&id], "text": data["note"] });
                self.notes.insert(id, note);
            }
            "researcher.failed" => self.researcher_ended("failed"),
            "tool.started" => self.searches += u64::from(data["name"] == "search_web"),
            "warning" => self.warnings += 1,
            "source.found" => {
                assert!(
                    data["snippet"].as_str().is_some_and(|text| (1..=300).contains(&text.chars().count())),
                    "{data}"
                );
                let host = reqwest::Url::parse(data["url"].as_str().unwrap()).unwrap().host_str().map(str::to_owned);
                assert_eq!(data["site"], json!(host));
                let link = ["url", "title", "published"].map(|name| data[name].clone());
                self.sources.insert(data["source_id"].as_u64().unwrap(), link);
            }
            "usage" => self.spend(data),
            "report.started" => {
                self.attempt = data["attempt"].as_u64().unwrap();
                self.report.clear();
                self.citations.clear();
            }
            "report.delta" => {
                assert_eq!(data["offset"], json!(self.report.chars().count()), "deltas follow one another");
                self.report.push_str(data["text"].as_str().unwrap());
            }
            "report.citation" => {
                let field = |name: &str| data[name].clone();
                self.citations.push(json!({ "number": field("number"), "source_id": field("source_id"), "start": field("start"), "end": field("end") }));
            }
            "run.completed" => {
                self.status = "completed";
                self.outcome = data["outcome"].clone();
                self.total = data.clone();
            }
            _ => {}
        }
    }

    fn researcher_ended(&mut self, how: &'static str) {
        *self.researchers.entry("running").or_default() -= 1;
        *self.researchers.entry(how).or_default() += 1;
    }

    fn spend(&mut self, data: &Value) {
        let model = self.usage.entry(data["model"].as_str().unwrap().to_owned()).or_default();
        *model.entry("calls").or_default() += 1;
        *self.cost.entry(data["model"].as_str().unwrap().to_owned()).or_default() += billionths(&data["cost"]);
        for name in TOKENS {
            *model.entry(name).or_default() += data[name].as_u64().unwrap();
        }
    }

    fn progress(&self) -> Value {
        let count = |name| self.researchers.get(name).copied().unwrap_or_default();
        json!({
            "phase": self.phase,
            "iterations": self.iterations,
            "researchers": { "running": count("running"), "finished": count("finished"), "failed": count("failed") },
            "searches": self.searches,
            "sources": self.sources.len(),
            "warnings": self.warnings,
            "waiting_for": null,
        })
    }
}

/// Of a dollar; 0 where nothing is said.
fn billionths(dollars: &Value) -> u64 {
    (dollars.as_f64().unwrap_or_default() * 1e9).round() as u64
}

/// Warnings included: one search fails. One of the models has no price.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_alone_tells_the_whole_run(database: TestDatabase) {
    let shape = Shape { researchers: 2, searches: 2, queries: 2, ..Shape::SMALL };
    let world = World::start(Script::whole_run(shape)).await;
    world.web.first("", [Found::fault(reply::status(400))]);
    let mut config = engine::config(&world, &database, &[], &[]).unwrap();
    let price = fathom::domain::Price { input: 2.0, cached: Some(0.5), output: 8.0, ..Default::default() };
    let facts = fathom::llm::Facts { price: Some(price), ..Default::default() };
    config.llm.models.insert("openai:gpt-4.1".to_owned(), facts);
    let service = Service::of(&config, &database, Timeouts::default()).await;
    let started = service.start_run().await;
    let mut stream = service.stream(&started.events_path(), &[]).await;
    let mut drawn = Drawn::default();
    while let Some(event) = stream.next().await {
        drawn.see(&event);
    }
    let run = service.run(&started.run).await;
    assert_eq!((&json!(drawn.status), &drawn.outcome), (&run["status"], &run["outcome"]));
    assert_eq!(drawn.progress(), run["progress"]);
    assert_eq!((&drawn.question, &drawn.options), (&json!(QUESTION), &run["options"]));
    let mut by_model = run["usage"]["by_model"].clone();
    for (model, usage) in by_model.as_object_mut().unwrap() {
        let cost = usage.as_object_mut().unwrap().remove("cost");
        assert_eq!(cost.is_some(), model == "openai:gpt-4.1", "{model}: only what has a price costs");
        assert_eq!(drawn.cost[model], billionths(&cost.unwrap_or_default()), "{model}");
    }
    assert_eq!(json!(drawn.usage), by_model);
    assert_eq!(json!(drawn.asked), run["usage"]["calls"]);
    for name in TOKENS.into_iter().chain(["cost"]) {
        assert_eq!(drawn.total[name], run["usage"][name], "{name}");
    }
    let ledger = service.list(&format!("{}/steps", started.run_path())).await;
    let paid: u64 = ledger.iter().map(|step| billionths(&step["usage"]["cost"])).sum();
    assert!(paid > 0 && paid == billionths(&run["usage"]["cost"]), "{paid}");
    // What the checks found is there once they are done; the stream gives notes and citations as they are written.
    let mut notes = service.list(&format!("{}/notes", started.run_path())).await;
    for note in &mut notes {
        note.as_object_mut().unwrap().retain(|name, _| name != "statements");
    }
    assert_eq!(drawn.notes.into_values().collect::<Vec<_>>(), notes);
    let path = format!("{}/report", started.run_path());
    let report = service.ask("GET", &path, &[("accept", "application/json")], "").await.expect(200).json();
    assert_eq!(json!(drawn.report), report["markdown"]);
    let mut citations = report["citations"].clone();
    for citation in citations.as_array_mut().unwrap() {
        citation.as_object_mut().unwrap().retain(|name, _| !["verdict", "passage"].contains(&&**name));
    }
    assert_eq!(json!(drawn.citations), citations);
    let sources = service.list(&format!("{}/sources", started.run_path())).await;
    let listed = sources.iter().map(|source| {
        let link = ["url", "title", "published"].map(|name| source[name].clone());
        (source["id"].as_u64().unwrap(), link)
    });
    assert_eq!(drawn.sources, listed.collect());
    assert!(drawn.warnings > 0 && drawn.attempt == 1 && !drawn.citations.is_empty() && drawn.sources.len() > 3);
    service.stop().await;
    world.finish();
}
