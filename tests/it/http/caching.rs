//! A report is fetched again only when it has to be, and only in a form the client takes.

use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::{Method, Response, header::HeaderMap};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_texts_are_compressed_and_streams_are_not() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    let ask = async |path: &str, headers: &[(&str, &str)]| {
        as_it_comes(&service, Method::GET, path, &[&[("accept-encoding", "br, gzip")], headers].concat()).await
    };
    let script = "/web/thread.js";
    let plain = service.ask("GET", script, &[("accept-encoding", "identity")], "").await.expect(200);
    let packed = ask(script, &[]).await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(packed.headers().get_all("vary").iter().any(|by| by == "accept-encoding"), "{:?}", packed.headers());
    let tag = packed.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(tag, format!("W/{}", plain.header("etag")));
    let length = packed.headers()["content-length"].to_str().unwrap().to_owned();
    let (packed, mut text) = (packed.bytes().await.unwrap(), Vec::new());
    assert_eq!(length, packed.len().to_string(), "it was whole before it was sent");
    GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.body);
    assert!(packed.len() * 2 < text.len(), "{} of {}", packed.len(), text.len());
    assert!(!ask("/healthz", &[]).await.headers().contains_key("content-encoding"), "that is too short");
    let stream = ask(&started.events_path(), &[("accept", "text/event-stream")]).await;
    assert!(!stream.headers().contains_key("content-encoding"), "events leave at once");
    service.ended(&started.run).await;
    service.stop().await;
    world.finish();
}

/// Asks, and takes the answer as it comes.
async fn as_it_comes(service: &Service, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let client = reqwest::Client::builder().no_proxy().no_gzip().no_brotli().build().unwrap();
    let request = client.request(method, service.url(path));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

/// A cache that goes on with what it has takes these headers for it (RFC 9110, 15.4.5).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_sent_again_has_the_headers_of_what_would_be_sent() {
    fn about(headers: &HeaderMap) -> Vec<String> {
        let named = ["etag", "vary", "cache-control"];
        named.iter().flat_map(|name| headers.get_all(*name)).map(|value| value.to_str().unwrap().to_owned()).collect()
    }
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let started = service.start_run().await;
    service.ended(&started.run).await;
    // A long text, a short one, one that is no text, one that is larger than what is compressed at once, and a report.
    let report = format!("{}/report", started.run_path());
    for path in ["/web/thread.js", "/web/problems.js", "/favicon.ico", "/openapi.json", report.as_str()] {
        for encoding in ["gzip", "identity"] {
            let asked = [("accept-encoding", encoding)];
            let sent = as_it_comes(&service, Method::GET, path, &asked).await;
            assert_eq!(sent.status(), 200, "{path}");
            let (head, length) = (sent.headers().clone(), sent.bytes().await.unwrap().len());
            let tag = head["etag"].to_str().unwrap();
            for method in [Method::GET, Method::HEAD] {
                let again = as_it_comes(&service, method, path, &[asked[0], ("if-none-match", tag)]).await;
                assert_eq!(
                    (again.status().as_u16(), about(again.headers())),
                    (304, about(&head)),
                    "{path}, {encoding}"
                );
                assert!(!again.headers().contains_key("content-length"), "{path}: none, or that of the 200");
                assert!(again.bytes().await.unwrap().is_empty());
            }
            let alone = as_it_comes(&service, Method::HEAD, path, &asked).await;
            assert_eq!(about(alone.headers()), about(&head), "{path}, {encoding}");
            assert_eq!(alone.headers()["content-length"], length.to_string().as_str(), "{path}, {encoding}");
        }
    }
    service.stop().await;
    world.finish();
}
