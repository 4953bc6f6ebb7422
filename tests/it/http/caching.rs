//! A report is fetched again only when it has to be, and only in a form the client takes.

use super::{Service, small_world};
use crate::database::TestDatabase;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_report_is_not_sent_again() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let path = format!("{}/report", started.run_path());
    let first = service.get(&path).await.expect(200);
    let tag = first.header("etag");
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    for known in [tag.to_owned(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
        let again = service.ask("GET", &path, &[("if-none-match", &known)], "").await.expect(304);
        assert_eq!((again.body.len(), again.header("etag")), (0, tag), "{known}");
    }
    let html = ("accept", "text/html");
    let page = service.ask("GET", &path, &[html, ("if-none-match", tag)], "").await.expect(200);
    assert_ne!(page.header("etag"), tag, "another form is another thing");
    assert_eq!(page.header("vary"), "accept");
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_comes_in_the_accepted_form_or_not_at_all() {
    let database = TestDatabase::sqlite();
    let world = small_world().await;
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    let path = format!("{}/report", started.run_path());
    let kinds = [
        ("*/*", "text/markdown; charset=utf-8"),
        ("text/*;q=0.5, application/json", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
    ];
    for (accept, kind) in kinds {
        let answer = service.ask("GET", &path, &[("accept", accept)], "").await.expect(200);
        assert_eq!(answer.header("content-type"), kind, "{accept}");
    }
    for accept in ["application/pdf", "text/markdown;q=0", "nonsense"] {
        service.ask("GET", &path, &[("accept", accept)], "").await.refused(406, "not_acceptable");
        let events = started.events_path();
        service.ask("GET", &events, &[("accept", accept)], "").await.refused(406, "not_acceptable");
    }
    service.stop().await;
    world.finish();
}
