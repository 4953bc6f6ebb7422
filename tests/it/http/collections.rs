//! Collections of documents: made, filled, searched by the runs that name them, and gone.

use std::time::Duration;

use fathom::{domain::KeyScope, http::Timeouts, pages, store::Database};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection};
use test_case::test_case;

use super::{
    Answer, JSON, NOBODY, Service,
    documents::{DUES, FILE, found, give, searching_world},
    small_world,
};
use crate::{
    crash::until,
    database::TestDatabase,
    stories::engine::{self, QUESTION},
};

const COLLECTIONS: &str = "/api/v1/collections";

/// A new collection's id.
async fn collection(service: &Service, name: &str) -> String {
    let made = service.post(COLLECTIONS, &json!({ "name": name })).await.expect(201);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), format!("{COLLECTIONS}/{id}"));
    id
}

/// Asks in a thread of its own, which searches these collections; the run at its end.
async fn asked(service: &Service, options: Value) -> Value {
    let started = service.create(&json!({ "message": QUESTION, "options": options })).await;
    service.ended(&started.run).await
}

/// Its deletion has begun, and ends while the run is created.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collection_that_is_being_deleted_does_not_fail_the_run_that_names_it() {
    let (world, database) = (small_world().await, TestDatabase::postgres().await);
    let service = Service::start(&world, &database).await;
    let id = collection(&service, "Ropes").await;
    let Database::Postgres { url, .. } = &database.database else { unreachable!() };
    let mut other = PgConnection::connect(url.expose_secret()).await.unwrap();
    other.execute("BEGIN; DELETE FROM collections").await.unwrap();
    let asking = asked(&service, json!({ "collections": [id] }));
    let deleting = async {
        until("the run waits for it", async || {
            let waits = "SELECT COUNT(*) FROM pg_stat_activity \
                WHERE datname = current_database() AND wait_event_type = 'Lock'";
            (database.count(waits).await > 0).then_some(())
        })
        .await;
        other.execute("COMMIT").await.unwrap();
    };
    let (run, ()) = tokio::join!(asking, deleting);
    assert_eq!((&run["status"], warnings(&service, run["id"].as_str().unwrap()).await.len()), (&json!("completed"), 1));
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_for_a_collection_that_was_deleted_meanwhile_finds_none() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let mut config = engine::config(&world, &database, &[], &[]).unwrap();
    let program = engine::parser_that_takes(Duration::from_secs(2), world.folder());
    config.parser = pages::Settings { program: Some(program), ..config.parser };
    let service = Service::of(&config, &database, Timeouts::default()).await;
    let path = format!("{COLLECTIONS}/{}", collection(&service, "Ropes").await);
    let deleting = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        service.delete(&path).await.expect(204);
    };
    let documents = format!("{path}/documents?name=dues.md");
    let (given, ()) = tokio::join!(give(&service, &documents, DUES), deleting);
    given.refused(404, "not_found");
    service.stop().await;
    world.finish();
}

/// What the run was warned of.
async fn warnings(service: &Service, run: &str) -> Vec<Value> {
    let events = service.events(&format!("/api/v1/runs/{run}/events")).await;
    let warnings = events.into_iter().filter(|event| event["type"] == "warning");
    warnings.map(|event| event["data"].clone()).filter(|data| data["code"] == "collection_missing").collect()
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collection_is_filled_renamed_and_searched_by_who_names_it(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::start(&world, &database).await;
    let harbour = collection(&service, " Harbour\n papers ").await;
    let path = format!("{COLLECTIONS}/{harbour}");
    let given = give(&service, &format!("{path}/documents?name=dues.md"), DUES).await.expect(201).json();
    let again = give(&service, &format!("{path}/documents?name=dues.md"), DUES).await.expect(200).json();
    assert_eq!(again["id"], given["id"], "a repeated request adds nothing");
    let shown = service.get(&path).await.expect(200).json();
    assert_eq!((&shown["name"], &shown["documents"]), (&json!("Harbour papers"), &json!(1)));
    assert_eq!(shown["characters"], given["characters"]);
    let change = json!({ "name": "The harbour" }).to_string();
    let renamed = service.ask("PATCH", &path, &[JSON], change).await.expect(200).json();
    assert_eq!((&renamed["name"], &renamed["documents"]), (&json!("The harbour"), &json!(1)));
    let other = collection(&service, "Ropes").await;
    let listed = service.list(COLLECTIONS).await;
    assert_eq!(listed.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["Ropes", "The harbour"]);
    let first = service.get(&format!("{COLLECTIONS}?limit=1")).await.expect(200).json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = service.list(&format!("{COLLECTIONS}?limit=1&cursor={next}")).await;
    assert_eq!((&first["data"][0]["id"], &second[0]["id"]), (&json!(other), &json!(harbour)));

    // Nothing else is searched.
    let run = asked(&service, json!({ "search_api": "none", "collections": [other, harbour] })).await;
    assert_eq!((&run["outcome"], &run["options"]["collections"]), (&json!("report"), &json!([other, harbour])));
    assert!(found(&world).contains("upload/dues.md"), "{}", found(&world));
    let id = run["id"].as_str().unwrap();
    let report = service.get(&format!("/api/v1/runs/{id}/report")).await.expect(200).text();
    assert!(report.contains("upload/"), "{report}");
    assert_eq!(warnings(&service, id).await, Vec::<Value>::new());
    for options in [json!({}), json!({ "collections": [other] })] {
        asked(&service, options).await;
        assert!(!found(&world).contains("upload/dues.md"), "a collection that nobody named: {}", found(&world));
    }

    let document = format!("{path}/documents/{}", given["id"].as_str().unwrap());
    service.delete(&document.replace(&harbour, &other)).await.refused(404, "not_found");
    service.delete(&document).await.expect(204);
    service.delete(&document).await.refused(404, "not_found");
    assert!(service.list(&format!("{path}/documents")).await.is_empty());
    asked(&service, json!({ "collections": [harbour] })).await;
    assert!(!found(&world).contains("upload/dues.md"), "it was removed");
    service.stop().await;
    world.finish();
}

/// A collection is searched beside the documents of the thread; when it is deleted, those who name it learn of it, by
/// the refusal of a new request and by a warning and the limits of a thread's next report.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_without_a_collection_that_was_deleted(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::start(&world, &database).await;
    let harbour = collection(&service, "Harbour").await;
    give(&service, &format!("{COLLECTIONS}/{harbour}/documents?name=dues.md"), DUES).await.expect(201);
    let body = json!({ "message": QUESTION, "options": { "collections": [harbour], "follow_up": "research" } });
    let started = service.create(&body).await;
    service.ended(&started.run).await;
    assert!(found(&world).contains("upload/dues.md"), "{}", found(&world));
    let given = format!("{}/documents?name=gate.md", started.thread_path());
    give(&service, &given, "# Gate\n\nHarbour dues of five crowns pay for the tide gate.\n").await.expect(201);
    let both = service.say(&started.thread, "Which harbour dues pay for it?").await;
    service.ended(&both).await;
    assert!(found(&world).contains("upload/dues.md") && found(&world).contains("upload/gate.md"), "{}", found(&world));

    service.delete(&format!("{COLLECTIONS}/{harbour}")).await.expect(204);
    for method in ["GET", "DELETE"] {
        service.ask(method, &format!("{COLLECTIONS}/{harbour}"), &[], "").await.refused(404, "not_found");
    }
    let problem = service.post("/api/v1/threads", &body).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/options/collections", "{problem}");
    let estimate = json!({ "message": QUESTION, "options": { "collections": [harbour] } });
    service.post("/api/v1/estimate", &estimate).await.refused(422, "validation_failed");
    let next = service.say(&started.thread, "And which dues pay for the gate now?").await;
    assert_eq!(service.ended(&next).await["outcome"], "report");
    assert!(!found(&world).contains("upload/dues.md"), "{}", found(&world));
    let warned = warnings(&service, &next).await;
    assert!(warned.len() == 1 && warned[0]["detail"].as_str().unwrap().contains(&harbour), "{warned:?}");
    let report = service.get(&format!("/api/v1/runs/{next}/report")).await.expect(200).text();
    assert!(report.contains("Collections of documents that are not there any more: 1"), "{report}");
    service.stop().await;
    world.finish();
}

async fn ask(service: &Service, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    service.ask(method, path, &[JSON, ("x-api-key", key)], body.to_string()).await
}

/// Another owner's collection is as one that never was; an administrator may look at it, and searches it in a thread of
/// its owner alone.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_searches_the_collections_of_its_threads_owner(database: TestDatabase) {
    let world = searching_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let [ann, bob] = [service.key("ann", KeyScope::Write, None).await, service.key("bob", KeyScope::Write, None).await];
    let root = service.key("root", KeyScope::Admin, None).await;
    let made = ask(&service, &ann, "POST", COLLECTIONS, &json!({ "name": "Anns" })).await.expect(201).json();
    let id = made["id"].as_str().unwrap();
    let path = format!("{COLLECTIONS}/{id}/documents?name=dues.md");
    service.ask("POST", &path, &[FILE, ("x-api-key", &*ann)], DUES).await.expect(201);
    for (key, sees) in [(&ann, 1), (&bob, 0), (&root, 1)] {
        let listed = ask(&service, key, "GET", COLLECTIONS, &Value::Null).await.expect(200).json();
        assert_eq!(listed["data"].as_array().unwrap().len(), sees);
    }
    ask(&service, &root, "GET", &format!("{COLLECTIONS}/{id}"), &Value::Null).await.expect(200);
    let naming = |id: &str| json!({ "message": QUESTION, "options": { "collections": [id] } });
    let refusal = async |key: &str, id: &str| {
        let mut problem =
            ask(&service, key, "POST", "/api/v1/threads", &naming(id)).await.refused(422, "validation_failed");
        problem.as_object_mut().unwrap().remove("request_id");
        serde_json::from_str::<Value>(&problem.to_string().replace(id, NOBODY)).unwrap()
    };
    for key in [&bob, &root] {
        assert_eq!(refusal(key, id).await, refusal(key, NOBODY).await);
    }
    let started = ask(&service, &ann, "POST", "/api/v1/threads", &naming(id)).await.expect(201).started();
    let ended = async |run: &str| {
        let wait = [("x-api-key", &*root), ("prefer", "wait=25")];
        service.ask("GET", &format!("/api/v1/runs/{run}"), &wait, "").await.expect(200).json()
    };
    assert_eq!(ended(&started.run).await["outcome"], "report");
    let message = json!({ "content": "Which harbour dues are paid?", "options": { "collections": [id], "follow_up": "research" } });
    let messages = format!("{}/messages", started.thread_path());
    let run = ask(&service, &root, "POST", &messages, &message).await.expect(202).json();
    assert_eq!(ended(run["run"]["id"].as_str().unwrap()).await["outcome"], "report");
    assert!(found(&world).contains("upload/dues.md"), "{}", found(&world));
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_collection_cannot_be_is_refused() {
    let world = small_world().await;
    let limits = [("FATHOM_MAX_DOCUMENTS_PER_THREAD", "1")];
    let service = Service::with(&world, &TestDatabase::sqlite(), &limits).await;
    for name in [json!(""), json!(" \n"), json!("x".repeat(201)), json!(7), Value::Null] {
        let problem = service.post(COLLECTIONS, &json!({ "name": name })).await.refused(422, "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/name", "{problem}");
    }
    service.post(COLLECTIONS, &json!({ "name": "a", "more": 1 })).await.refused(422, "validation_failed");
    let id = collection(&service, &"ü".repeat(200)).await;
    let documents = format!("{COLLECTIONS}/{id}/documents");
    give(&service, &format!("{documents}?name=a.txt"), "a text").await.expect(201);
    give(&service, &format!("{documents}?name=b.txt"), "another").await.refused(403, "too_many_documents");
    give(&service, &format!("{documents}?name=p.png"), "x").await.refused(422, "document_unreadable");
    let nobody = format!("{COLLECTIONS}/{NOBODY}/documents?name=a.txt");
    give(&service, &nobody, "a text").await.refused(404, "not_found");
    for wrong in [json!("x"), json!(["x"]), json!([id.replace('-', "")]), json!(vec![NOBODY; 9]), json!(id)] {
        let body = json!({ "message": QUESTION, "options": { "collections": wrong } });
        service.post("/api/v1/threads", &body).await.refused(422, "validation_failed");
    }
    for number in 1..100 {
        collection(&service, &format!("number {number}")).await;
    }
    let problem = service.post(COLLECTIONS, &json!({ "name": "one more" })).await.refused(403, "too_many_collections");
    assert!(problem["detail"].as_str().unwrap().contains("100 collections"), "{problem}");
    service.delete(&format!("{COLLECTIONS}/{id}")).await.expect(204);
    collection(&service, "in its place").await;
    service.stop().await;
    world.finish();
}
