//! The page that shows the contract, in a real browser: everything on it comes from this service.

use std::{net::SocketAddr, time::Duration};

use reqwest::{StatusCode, header};
use tokio::{net::TcpListener, task::JoinSet};

use super::Contract;
use crate::{
    browser::{Browser, INSTALL},
    database::TestDatabase,
    http::{Service, small_world},
};

/// Serves the pages alone; ends when dropped.
async fn serve(tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async { axum::serve(listener, fathom::http::docs::router()).await.unwrap() });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_shows_every_operation_and_asks_nobody_else() {
    let mut tasks = JoinSet::new();
    let address = serve(&mut tasks).await;
    let mut browser = Browser::new();
    browser.command.args(["--virtual-time-budget=20000", "--dump-dom", &format!("http://{address}/docs")]);
    let output =
        tokio::time::timeout(Duration::from_secs(90), browser.command.output()).await.expect("the browser ends");
    let output = output.expect(INSTALL);
    let (page, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let document = &Contract::get().document;
    for operation in Contract::get().operations() {
        let text = &document["paths"][&operation.path][operation.method.to_lowercase()];
        let (tag, id) = (text["tags"][0].as_str().unwrap(), text["operationId"].as_str().unwrap());
        let anchor = format!("operations-{tag}-{id}");
        assert!(page.contains(&anchor), "{anchor} is not on the page:\n{page}\n{log}");
    }
    assert!(page.contains("<title>Fathom: the HTTP API</title>") && !page.contains("topbar"), "{page}");
    for word in ["CONSOLE", "Content Security Policy"] {
        let complaint = log.lines().find(|line| line.contains(word));
        assert_eq!(complaint, None, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_with_a_policy_and_are_not_sent_twice() {
    let (world, database) = (small_world().await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
    let get = async |path: &str, etag: Option<&str>| {
        let request = client.get(service.url(path));
        let request = etag.into_iter().fold(request, |request, etag| request.header(header::IF_NONE_MATCH, etag));
        request.send().await.unwrap()
    };
    let kinds = [
        ("/docs/", "text/html; charset=utf-8"),
        ("/docs/swagger-ui.css", "text/css"),
        ("/docs/swagger-ui-bundle.js", "text/javascript"),
        ("/docs/fathom.js", "text/javascript; charset=utf-8"),
        ("/favicon.ico", "image/x-icon"),
        ("/openapi.yaml", "application/yaml"),
        ("/openapi.json", "application/json"),
    ];
    for (path, kind) in kinds {
        let whole = get(path, None).await;
        assert_eq!((whole.status(), &whole.headers()["content-type"]), (StatusCode::OK, &kind.parse().unwrap()));
        assert_eq!(whole.headers()["cache-control"], "no-cache");
        let policy = whole.headers()["content-security-policy"].to_str().unwrap();
        assert_eq!(policy.contains("script-src 'self'"), path.starts_with("/docs"), "{path}: {policy}");
        let etag = whole.headers()["etag"].to_str().unwrap().to_owned();
        let again = get(path, Some(&format!("\"other\", W/{}", etag.trim_start_matches("W/")))).await;
        assert_eq!((again.status(), again.headers()["etag"].to_str().unwrap()), (StatusCode::NOT_MODIFIED, &*etag));
        assert_eq!(get(path, Some("\"other\"")).await.status(), StatusCode::OK);
    }
    assert_eq!(get("/openapi.yaml", None).await.text().await.unwrap(), super::checker::text());
    let json: serde_json::Value = get("/openapi.json", None).await.json().await.unwrap();
    assert_eq!(json, Contract::get().document, "the same content");
    assert_eq!(get("/docs/../Cargo.toml", None).await.status(), StatusCode::NOT_FOUND);
    for path in ["/docs/%2e%2e%2fCargo.toml", "/docs/%ff", "/web/%ff"] {
        let none = get(path, None).await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(none.headers()["content-type"], "application/problem+json", "{path}");
    }
    service.stop().await;
    world.finish();
}

/// What the page fills in is sent as it stands, so it may not claim anything that differs from request to request.
#[test]
fn nothing_is_filled_in_that_need_not_be_there() {
    let document = &Contract::get().document;
    let shared = document["components"]["parameters"].as_object().unwrap().values();
    let own = document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let own = own.flat_map(|operation| operation["parameters"].as_array().into_iter().flatten());
    for parameter in shared.chain(own).filter(|parameter| parameter["required"] != true) {
        let schema = &parameter["schema"];
        for place in [parameter, schema] {
            let filled = ["example", "examples"].iter().find(|name| place.get(**name).is_some());
            assert_eq!(filled, None, "{parameter:#}");
        }
    }
}
