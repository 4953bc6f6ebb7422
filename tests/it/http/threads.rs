//! Threads are renamed, marked, and found again.

use fathom::store::Database;
use serde_json::json;
use test_case::test_case;

use super::{JSON, NOBODY, Service, small_world};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, When, World, reply},
};

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_renamed_and_its_metadata_merged(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started =
        service.create(&json!({"message": "Tide?", "metadata": {"draft": true, "team": {"a": 1, "b": 2}}})).await;
    let path = started.thread_path();
    let change = async |body: &serde_json::Value| service.ask("PATCH", &path, &[JSON], body.to_string()).await;
    let body =
        json!({"title": "  The tide\n gate ", "metadata": {"draft": null, "team": {"b": null, "c": 3}, "n": [1]}});
    let changed = change(&body).await.expect(200).json();
    assert_eq!(changed["title"], "The tide gate");
    assert_eq!(changed["metadata"], json!({"team": {"a": 1, "c": 3}, "n": [1]}));
    assert_eq!(service.thread(&started.thread).await["metadata"], changed["metadata"]);
    assert_eq!(change(&json!({})).await.expect(200).json()["title"], "The tide gate");
    let patch = [("content-type", "application/merge-patch+json")];
    let turned = change(&json!({"title": "Gate\u{202e}fdp"})).await.expect(200).json();
    assert_eq!(turned["title"], "Gatefdp");
    let typed = service.ask("PATCH", &path, &patch, r#"{"title": "Gate"}"#).await.expect(200).json();
    assert_eq!(typed["title"], "Gate");

    for wrong in [
        json!({"title": ""}),
        json!({"title": "\u{200b}\u{2060}"}),
        json!({"title": "x".repeat(201)}),
        json!({"title": format!("x{}", " ".repeat(200))}),
        json!({"title": null}),
        json!({"status": "idle"}),
    ] {
        change(&wrong).await.refused(422, "validation_failed");
    }
    let problem = change(&json!({"metadata": {"big": "x".repeat(17_000)}})).await.refused(422, "validation_failed");
    assert_eq!(problem["errors"][0]["pointer"], "/metadata");
    assert_eq!(service.thread(&started.thread).await["metadata"], changed["metadata"], "nothing changed");
    service.ask("PATCH", &format!("/api/v1/threads/{NOBODY}"), &[JSON], "{}").await.refused(404, "not_found");
    service.ended(&started.run).await;
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_given_as_lists_are_answered_as_texts() {
    let world = small_world().await;
    let service = Service::start(&world, &TestDatabase::sqlite()).await;
    let given = json!({
        "exclude_domains": "C.example, d.example",
        "include_domains": ["a.example", "b.example"],
        "search_api": ["tavily"],
        "max_react_tool_calls": 4,
    });
    let spelled = json!({
        "exclude_domains": "c.example,d.example",
        "include_domains": "a.example,b.example",
        "search_api": "tavily",
        "max_react_tool_calls": 4,
    });
    let answer = service.post("/api/v1/threads", &json!({ "message": "Tide?", "options": given })).await.expect(201);
    assert_eq!(answer.json()["thread"]["options"], spelled);
    let started = answer.started();
    assert_eq!(service.thread(&started.thread).await["options"], spelled);
    assert_eq!(service.list("/api/v1/threads").await[0]["options"], spelled);
    let run = service.ended(&started.run).await;
    assert_eq!(run["options"]["include_domains"], spelled["include_domains"]);
    service.stop().await;
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_are_found_by_text_status_and_metadata(database: TestDatabase) {
    let asks = [reply::ask_back("Which of the two gates?")];
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Clarify), asks)).await;
    let service = Service::start(&world, &database).await;
    let mut threads = Vec::new();
    for (message, metadata) in [
        ("The old gate: what of 100% of it?", json!({"project": "gate", "year": 2030})),
        ("Wann schließt die Städtepartnerschaft?", json!({"project": "town", "open": true})),
        ("The harbour_dues", json!({"project": "town"})),
    ] {
        let started = service.create(&json!({"message": message, "metadata": metadata})).await;
        service.ended(&started.run).await;
        threads.push(started.thread);
    }
    let check = async |query: &str, expected: &[usize]| {
        let found = service.list(&format!("/api/v1/threads?{query}")).await;
        let found: Vec<&str> = found.iter().map(|thread| thread["id"].as_str().unwrap()).collect();
        let expected: Vec<&str> = expected.iter().map(|&at| threads[at].as_str()).collect();
        assert_eq!(found, expected, "{query}");
    };
    check("q=OLD+gate", &[0]).await;
    check("q=which+of+the+two", &[0]).await;
    check("q=100%25", &[0]).await;
    check("q=%25", &[0]).await;
    check("q=r_dues", &[2]).await;
    check("q=st%C3%A4dtepartnerschaft", &[1]).await;
    check("q=ST%C3%84DTEPARTNERSCHAFT", &[1]).await;
    check("q=sources", &[2, 1]).await;
    check("q=nowhere%27%20OR%201=1--", &[]).await;
    check("q=", &[2, 1, 0]).await;
    check("metadata.project=town", &[2, 1]).await;
    check("metadata.project=town&metadata.open=true", &[1]).await;
    check("metadata.year=2030&q=gate", &[0]).await;
    check("metadata.year=203", &[]).await;
    check("status=awaiting_input", &[0]).await;
    check("status=idle", &[2, 1]).await;
    check("status=busy", &[]).await;
    check("status=idle&limit=1", &[2]).await;
    let first = service.get("/api/v1/threads?metadata.project=town&limit=1").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    check(&format!("metadata.project=town&limit=1&cursor={cursor}"), &[1]).await;
    service.get("/api/v1/threads?status=running").await.refused(422, "validation_failed");
    service.get(&format!("/api/v1/threads?q={}", "x".repeat(201))).await.refused(422, "validation_failed");
    service.stop().await;
    world.finish();
}

/// More threads than one page of a search looks at: pages may be empty, but they lead to the one that fits, and end.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_finds_nothing_ends(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let id = || match &database.database {
        Database::Postgres { .. } => format!("'{}'", uuid::Uuid::now_v7()),
        Database::Sqlite { .. } => format!("x'{}'", uuid::Uuid::now_v7().simple()),
    };
    let rows: Vec<String> = (0..1_500).map(|n| format!("({}, {}, 0, 'T')", id(), 4_000_000_000_000_i64 + n)).collect();
    let insert = format!("INSERT INTO threads (id, created_at, last_seq, title) VALUES {}", rows.join(", "));
    database.rows(insert).await.unwrap();
    for (words, expected) in [("tide+gate", 1), ("nowhere", 0)] {
        let (mut found, mut pages, mut cursor) = (0, 0, String::new());
        loop {
            let page = service.get(&format!("/api/v1/threads?q={words}{cursor}")).await.expect(200).json();
            (found, pages) = (found + page["data"].as_array().unwrap().len(), pages + 1);
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!((found, pages), (expected, 2), "{words}");
    }
    service.stop().await;
    world.finish();
}
