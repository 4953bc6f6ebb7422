//! Threads that are shared by a link: who has it reads the reports, without a key, until it ends.

use fathom::domain::{KeyScope, Timestamp};
use serde_json::{Value, json};
use test_case::test_case;

use super::{Answer, JSON, NOBODY, Service, Started, small_world};
use crate::{database::TestDatabase, stories::engine::QUESTION};

async fn ask(service: &Service, key: &str, method: &str, path: &str, body: &str) -> Answer {
    service.ask(method, path, &[JSON, ("x-api-key", key)], body.to_owned()).await
}

/// A thread of that key's owner with a report.
async fn with_report(service: &Service, key: &str) -> Started {
    let body = json!({ "message": QUESTION }).to_string();
    let started = ask(service, key, "POST", "/api/v1/threads", &body).await.expect(201).started();
    let wait = [("x-api-key", key), ("prefer", "wait=30")];
    let run = service.ask("GET", &started.run_path(), &wait, "").await.expect(200).json();
    assert_eq!(run["outcome"], "report");
    started
}

async fn shared(service: &Service, key: &str, started: &Started, body: &str) -> Value {
    let path = format!("{}/shares", started.thread_path());
    ask(service, key, "POST", &path, body).await.expect(201).json()
}

/// The path whose last id has no hyphens.
fn simple(path: &str) -> String {
    let (before, id) = path.rsplit_once('/').unwrap();
    format!("{before}/{}", id.replace('-', ""))
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_the_link_reads_the_report_until_it_is_revoked(database: TestDatabase) {
    let world = small_world().await;
    let service = Service::with(&world, &database, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let (ann, bob) = (service.key("ann", KeyScope::Write, None).await, service.key("bob", KeyScope::Write, None).await);
    let (started, other) = (with_report(&service, &ann).await, with_report(&service, &bob).await);
    let share = shared(&service, &ann, &started, "").await;
    let url = share["url"].as_str().unwrap();
    let page = service.ask("GET", url, &[("accept", "text/html,*/*;q=0.8")], "").await.expect(200);
    assert!(page.text().contains("id=\"source-1\"") && !page.text().contains("<script"), "{}", page.text());
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert_eq!((page.header("x-robots-tag"), page.header("referrer-policy")), ("noindex", "no-referrer"));
    let list = service.ask("GET", url, &[("accept", "application/json")], "").await.expect(200).json();
    assert_eq!(
        (&list["reports"][0]["run_id"], &list["reports"][0]["question"]),
        (&json!(started.run), &json!(QUESTION))
    );
    let report = list["reports"][0]["url"].as_str().unwrap();
    let own = ask(&service, &ann, "GET", &format!("{}/report", started.run_path()), "").await.expect(200);
    let read = service.ask("GET", report, &[("accept", "text/markdown")], "").await.expect(200);
    assert_eq!((read.text(), read.header("etag")), (own.text(), own.header("etag")));
    service.ask("GET", report, &[("if-none-match", own.header("etag"))], "").await.expect(304);
    let data = service.ask("GET", report, &[("accept", "application/json")], "").await.expect(200).json();
    assert!(!data["sources"].as_array().unwrap().is_empty());
    // Nothing else is reached by it.
    let of_other = report.replace(&started.run, &other.run);
    for missing in [of_other.as_str(), &report.replace(&started.run, NOBODY), &url[..url.len() - 1], &format!("{url}A")]
    {
        service.get(missing).await.refused(404, "not_found");
    }
    let secret = url.rsplit('/').next().unwrap();
    ask(&service, secret, "GET", &started.thread_path(), "").await.refused(401, "unauthenticated");

    let shares = format!("{}/shares", started.thread_path());
    let listed = ask(&service, &ann, "GET", &shares, "").await.expect(200);
    assert!(!listed.text().contains(secret) && listed.json()["data"][0]["id"] == share["id"], "{}", listed.text());
    let revoke = format!("{shares}/{}", share["id"].as_str().unwrap());
    ask(&service, &bob, "DELETE", &revoke, "").await.refused(404, "not_found");
    let of_bob = format!("{}/shares/{}", other.thread_path(), share["id"].as_str().unwrap());
    ask(&service, &bob, "DELETE", &of_bob, "").await.refused(404, "not_found");
    service.get(url).await.expect(200);
    // The same ids, not as the service writes them.
    ask(&service, &ann, "DELETE", &simple(&revoke), "").await.refused(422, "validation_failed");
    service.get(&simple(report)).await.refused(404, "not_found");
    let revoked = ask(&service, &ann, "DELETE", &revoke, "").await.expect(200).json();
    assert!(revoked["revoked_at"].is_string());
    // Revoking it twice says the same, whatever was made in between, and what shows nothing is not listed.
    let second = shared(&service, &ann, &started, "{}").await;
    assert_eq!(ask(&service, &ann, "DELETE", &revoke, "").await.expect(200).json(), revoked);
    let listed = ask(&service, &ann, "GET", &shares, "").await.expect(200).json();
    assert_eq!((listed["data"].as_array().unwrap().len(), &listed["data"][0]["id"]), (1, &second["id"]));
    for path in [url, report] {
        service.get(path).await.refused(404, "not_found");
        let page = service.ask("GET", path, &[("accept", "text/html,*/*;q=0.8")], "").await.expect(404);
        assert_eq!((page.header("content-type"), page.header("x-robots-tag")), ("text/html; charset=utf-8", "noindex"));
        assert!(page.text().contains("<main><h1>Nothing here</h1>"), "{}", page.text());
        let german = [("accept", "text/html"), ("accept-language", "de-AT, en;q=0.5")];
        let page = service.ask("GET", path, &german, "").await.expect(404);
        assert!(page.text().contains("<html lang=\"de\">") && page.text().contains("Bitte fragen"), "{}", page.text());
        assert_eq!(page.header("vary"), "accept, accept-language");
    }
    service.stop().await;
    world.finish();
}

/// Several reports are listed, what is in them is text, and the link ends with its time and with the thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_shows_every_report_and_ends_with_its_thread() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.create(&json!({ "message": format!("<b>{QUESTION}</b>") })).await;
    service.ended(&started.run).await;
    let long = format!("And who repairs it? {}", "ü".repeat(5_000));
    let second = service.say(&started.thread, &long).await;
    service.ended(&second).await;
    let path = format!("{}/shares", started.thread_path());
    let for_ever = service.post(&path, &json!({ "expires_in_days": null })).await.expect(201).json();
    assert_eq!(for_ever["expires_at"], Value::Null);
    let url = for_ever["url"].as_str().unwrap();
    let page = service.ask("GET", url, &[("accept", "text/html")], "").await.expect(200);
    assert_eq!(page.header("vary"), "accept, accept-language");
    let page = page.text();
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    let beside = url.trim_start_matches("/shared/");
    assert_eq!(page.matches(&format!("href=\"{beside}/runs/")).count(), 2, "also below a prefix of a proxy: {page}");
    assert!(page.starts_with("<!doctype html><html lang=\""), "{page}");
    let list = service.ask("GET", url, &[("accept", "application/json")], "").await.expect(200).json();
    let beginning: String = long.chars().take(1_000).collect();
    assert_eq!(
        list["reports"][0]["question"], beginning,
        "the newest is first, and nobody reads a message of megabytes"
    );
    let brief = service.post(&path, &json!({ "expires_in_days": 1 })).await.expect(201).json();
    let ends: Timestamp = serde_json::from_value(brief["expires_at"].clone()).unwrap();
    assert!(ends > Timestamp::now() && ends <= Timestamp::now().plus(fathom::domain::time::days(1)));
    service.get(brief["url"].as_str().unwrap()).await.expect(200);
    database.rows("UPDATE shares SET expires_at = 1 WHERE expires_at IS NOT NULL".to_owned()).await.unwrap();
    service.get(brief["url"].as_str().unwrap()).await.refused(404, "not_found");
    service.get(url).await.expect(200);
    for (wrong, pointer) in [
        (json!({ "expires_in_days": 0 }), "/expires_in_days"),
        (json!({ "forever": true }), "/forever"),
        (json!([]), ""),
        (json!(null), ""),
    ] {
        let problem = service.post(&path, &wrong).await.refused(422, "validation_failed");
        assert!(
            problem["errors"][0]["pointer"] == pointer || problem["detail"].as_str().unwrap().contains("forever"),
            "{problem}"
        );
    }
    let mut made = 1;
    while service.post(&path, &json!({})).await.status == 201 {
        made += 1;
        assert!(made <= 100, "links have no end");
    }
    assert_eq!(made, 100, "the expired one is gone, and one is there already");
    service.delete(&started.thread_path()).await.expect(204);
    service.get(url).await.refused(404, "not_found");
    service.stop().await;
    world.finish();
}
