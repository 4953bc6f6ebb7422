//! Documents that are given to a thread: read at once, searched in it alone, gone with it.

use std::time::Duration;

use fathom::{http::Timeouts, pages};
use fathom_testkit::program;
use serde_json::{Value, json};
use test_case::test_case;

use super::{Answer, NOBODY, Service, small_world};
use crate::{
    database::TestDatabase,
    stories::engine::{self, QUESTION},
    world::{Kind, Script, Shape, When, World, reply},
};

pub const FILE: (&str, &str) = ("content-type", "application/octet-stream");
pub const DUES: &str = "# Dues\n\nThe tide gate is paid by harbour dues of four crowns.\n";

pub async fn give(service: &Service, path: &str, body: impl Into<reqwest::Body>) -> Answer {
    service.ask("POST", path, &[FILE], body).await
}

async fn names(service: &Service, thread: &str) -> Vec<String> {
    let list = service.get(&format!("/api/v1/threads/{thread}/documents")).await.expect(200).json();
    list["data"].as_array().unwrap().iter().map(|document| document["name"].as_str().unwrap().to_owned()).collect()
}

/// A world whose researcher looks for the dues, and opens what it found.
pub async fn searching_world() -> World {
    let replies = [
        reply::search(["harbour dues of the tide gate"]),
        reply::calls([("open_document", json!({"address": "S1001", "part": "document"}))]),
        reply::complete_research(),
    ];
    World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)).await
}

/// What the tools answered the last researcher.
pub fn found(world: &World) -> String {
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    last.said_by("tool").iter().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_that_somebody_chose_stays(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::start(&world, &database).await;
    let begun = give(&service, "/api/v1/documents?name=dues.md", DUES).await.expect(201).json();
    let thread = begun["thread"]["id"].as_str().unwrap();
    let path = format!("/api/v1/threads/{thread}");
    let typed = [("content-type", "application/json")];
    service.ask("PATCH", &path, &typed, r#"{"title": "Harbour"}"#).await.expect(200);
    service.ended(&service.say(thread, QUESTION).await).await;
    assert_eq!(service.thread(thread).await["title"], "Harbour");
    // The name of a document that was removed is nobody's.
    let begun = give(&service, "/api/v1/documents?name=wrong.md", DUES).await.expect(201).json();
    let [thread, document] = ["thread", "document"].map(|name| begun[name]["id"].as_str().unwrap());
    let path = format!("/api/v1/threads/{thread}/documents");
    service.ask("DELETE", &format!("{path}/{document}"), &[], "").await.expect(204);
    give(&service, &format!("{path}?name=right.md"), DUES).await.expect(201);
    service.ended(&service.say(thread, QUESTION).await).await;
    assert_eq!(service.thread(thread).await["title"], QUESTION);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_begins_with_a_document_searches_it(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::start(&world, &database).await;
    let begun = give(&service, "/api/v1/documents?name=harbour%2Fdues.md", DUES).await.expect(201).json();
    let thread = begun["thread"]["id"].as_str().unwrap();
    assert_eq!(begun["thread"]["title"], "dues.md");
    assert_eq!(begun["thread"]["status"], "idle");
    assert_eq!((&begun["document"]["name"], &begun["document"]["title"]), (&json!("dues.md"), &json!("Dues")));
    let path = format!("/api/v1/threads/{thread}/documents");
    let mill = std::fs::read(program::repository().join("tests/formats/mill.docx")).unwrap();
    let given = give(&service, &format!("{path}?name=mill.docx"), mill.clone()).await.expect(201).json();
    assert_eq!((&given["author"], &given["published"]), (&json!("Marta Tey"), &json!("2031-03-10")));
    let again = give(&service, &format!("{path}?name=mill.docx"), mill).await.expect(200).json();
    assert_eq!(again["id"], given["id"], "a repeated request adds nothing");
    assert_eq!(names(&service, thread).await, ["dues.md", "mill.docx"]);

    // Nothing else is searched.
    let message = json!({"content": QUESTION, "options": {"search_api": "none"}});
    let run = service.post(&format!("/api/v1/threads/{thread}/messages"), &message).await.expect(202).json();
    let run = service.ended(run["run"]["id"].as_str().unwrap()).await;
    assert_eq!(run["outcome"], "report", "{run:#}");
    let said = found(&world);
    assert!(said.contains("four crowns") && said.contains("upload/dues.md"), "{said}");
    let sources = service.list(&format!("/api/v1/runs/{}/sources", run["id"].as_str().unwrap())).await;
    assert!(sources.iter().any(|source| source["url"] == "upload/dues.md"), "{sources:#?}");
    assert_eq!(service.thread(thread).await["title"], QUESTION, "the first question gives it its title");
    let report = service.get(&format!("/api/v1/runs/{}/report", run["id"].as_str().unwrap())).await.expect(200);
    assert!(report.text().contains("upload/"), "{}", report.text());
    // The options of the first message are the thread's, those of later ones are not.
    let message = json!({"content": "And who pays the dues?", "options": {"max_react_tool_calls": 4}});
    let later = service.post(&format!("/api/v1/threads/{thread}/messages"), &message).await.expect(202).json();
    let later = service.ended(later["run"]["id"].as_str().unwrap()).await;
    assert_eq!(later["options"]["search_api"], "none");
    assert_eq!(service.thread(thread).await["options"], json!({"search_api": "none"}));
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_searched_beside_the_web_in_their_thread_alone_until_they_are_removed(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::start(&world, &database).await;
    let begun = give(&service, "/api/v1/documents?name=dues.md", DUES).await.expect(201).json();
    let thread = begun["thread"]["id"].as_str().unwrap();
    let run = service.say(thread, QUESTION).await;
    service.ended(&run).await;
    let said = found(&world);
    assert!(said.contains("upload/dues.md"), "{said}");
    assert!(said.contains("https://") || world.web.queries().len() == 1, "the web was searched too: {said}");

    let other = service.start_run().await;
    service.ended(&other.run).await;
    assert!(!found(&world).contains("upload/dues.md"), "another thread's document");
    let given = format!("/api/v1/threads/{}/documents?name=rope.md", other.thread);
    give(&service, &given, "# Rope\n\nRope is bought each spring.\n").await.expect(201);
    let run = service.say(&other.thread, "Which harbour dues pay for the gate?").await;
    service.ended(&run).await;
    assert!(!found(&world).contains("upload/dues.md"), "although it has documents of its own: {}", found(&world));

    let document = format!("/api/v1/threads/{thread}/documents/{}", begun["document"]["id"].as_str().unwrap());
    let elsewhere = format!("/api/v1/threads/{}/documents/{}", other.thread, begun["document"]["id"].as_str().unwrap());
    service.delete(&elsewhere).await.refused(404, "not_found");
    service.delete(&document).await.expect(204);
    service.delete(&document).await.refused(404, "not_found");
    assert!(names(&service, thread).await.is_empty());
    let run = service.say(thread, "And which dues pay for the gate now?.").await;
    service.ended(&run).await;
    service.delete(&format!("/api/v1/threads/{thread}")).await.expect(204);
    service.get(&format!("/api/v1/threads/{thread}/documents")).await.refused(404, "not_found");
    service.stop().await;
    world.finish();
}

/// The only parser never answers: of two documents one gets it, and the other is to come back.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_for_which_no_parser_is_free_is_to_come_back() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let mut config = engine::config(&world, &database, &[], &[]).unwrap();
    config.parser = pages::Settings {
        program: Some(engine::parser_that_hangs(world.folder())),
        processes: 1,
        upload_wait: Duration::from_millis(200),
        ..config.parser
    };
    let service = Service::of(&config, &database, Timeouts::default()).await;
    let [one, other] = ["a.md", "b.md"].map(|name| {
        let path = format!("/api/v1/documents?name={name}");
        let service = &service;
        Box::pin(async move { give(service, &path, DUES).await })
    });
    let (refused, hangs) = futures::future::select(one, other).await.factor_first();
    assert_eq!(refused.header("retry-after"), "2");
    let problem = refused.refused(503, "overloaded");
    assert!(problem["retryable"] == true && problem["detail"].as_str().unwrap().contains("no parser"), "{problem}");
    drop(hangs);
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_given_is_refused() {
    let world = small_world().await;
    let limits = [("FATHOM_MAX_DOCUMENTS_PER_THREAD", "2"), ("FATHOM_MAX_UPLOAD_BYTES", "100000")];
    let service = Service::with(&world, &TestDatabase::sqlite(), &limits).await;
    let begun = give(&service, "/api/v1/documents?name=a.txt", "a text").await.expect(201).json();
    let thread = begun["thread"]["id"].as_str().unwrap();
    let path = |name: &str| format!("/api/v1/threads/{thread}/documents?name={name}");
    give(&service, &path(""), "x").await.refused(422, "validation_failed");
    give(&service, &path("a.txt"), "").await.refused(422, "validation_failed");
    // `curl -F`, and `curl -d`, which takes the line ends out.
    for form in ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"] {
        let form = [("content-type", form)];
        service.ask("POST", &path("a.txt"), &form, "--x--").await.refused(415, "unsupported_media_type");
    }
    let packed = [("content-type", "application/octet-stream"), ("content-encoding", "gzip")];
    service.ask("POST", &path("a.txt"), &packed, "packed").await.refused(415, "unsupported_media_type");
    give(&service, &path("picture.png"), "x").await.refused(422, "document_unreadable");
    give(&service, &path("broken.pdf"), "%PDF-1.7 x").await.refused(422, "document_unreadable");
    let problem = give(&service, &path("old.docx"), "no package").await.refused(422, "document_unreadable");
    assert!(problem["detail"].as_str().unwrap().starts_with("old.docx: "), "{problem}");
    give(&service, &path("long.txt"), "x".repeat(100_001)).await.refused(413, "payload_too_large");
    give(&service, &path(&format!("{}.txt", "b".repeat(400))), "another text").await.expect(201);
    give(&service, &path("c.txt"), "a third text").await.refused(403, "too_many_documents");
    give(&service, &path("a.txt"), "a text").await.expect(200);
    let nobody = format!("/api/v1/threads/{NOBODY}/documents?name=a.txt");
    give(&service, &nobody, "a text").await.refused(404, "not_found");
    for wrong in ["x", &NOBODY.replace('-', "")] {
        service.delete(&format!("/api/v1/threads/{thread}/documents/{wrong}")).await.refused(422, "validation_failed");
    }
    // An empty thread has nothing to show, and no events.
    let messages: Vec<Value> = service.list(&format!("/api/v1/threads/{thread}/messages")).await;
    assert!(messages.is_empty());
    service.stop().await;
    world.finish();
}
