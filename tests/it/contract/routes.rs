//! The document against the router: each knows what the other has, and every answer is as documented.

use std::collections::BTreeSet;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderName, Method, Request, StatusCode},
};
use fathom::{
    config::HttpSettings,
    http::{Code, State, paths, router},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::{Contract, agree, checker::Operation};
use crate::{
    database::TestDatabase,
    stories::engine::Engine,
    world::{Script, World},
};

/// Served beside the API, and not in its table.
const PAGES: [&str; 3] = ["/openapi.yaml", "/openapi.json", "/docs/"];

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn problem(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let method: Method = method.parse().unwrap();
    let mut request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// The router over an empty database, without sockets.
async fn with_router(test: impl AsyncFnOnce(Router)) {
    let world = World::start(Script::new()).await;
    let engine = Engine::start(&world, &TestDatabase::sqlite(), &[]).await;
    let settings = HttpSettings { max_streams: 10, ..engine.http.clone() };
    let state = State::new(engine.app.runs.clone(), engine.app.keys.clone(), settings, CancellationToken::new());
    test(router(&state)).await;
    drop(state);
    engine.app.close().await;
    world.finish();
}

#[test]
fn the_router_and_the_document_have_the_same_operations() {
    let routed: BTreeSet<Operation> = paths()
        .into_iter()
        .flat_map(|(path, methods)| {
            methods.iter().map(|method| Operation { method: (*method).to_owned(), path: path.to_owned() })
        })
        .chain(PAGES.map(|path| Operation { method: "GET".to_owned(), path: path.to_owned() }))
        .collect();
    let documented: BTreeSet<Operation> = Contract::get().operations().into_iter().collect();
    agree("operations", &documented, &routed);
}

#[test]
fn the_document_has_the_codes_of_the_service() {
    let schema = &Contract::get().document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    let documented: BTreeSet<&str> = schema.as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    agree("codes of problems", &documented, &Code::ALL.into_iter().map(Code::as_str).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_there_and_answers_as_documented() {
    with_router(async |router| {
        for operation in Contract::get().operations() {
            let path = operation
                .path
                .replace("{id}", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d")
                .replace("{source_id}", "7")
                .replace("{key_id}", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d")
                .replace("{token}", &format!("fathomlink_019aa56a5c1b7a3e9f0e6a1d2f3b4c5d_{}", "A".repeat(43)))
                .replace("{share_id}", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d")
                .replace("{document_id}", "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d");
            assert!(!path.contains('{'), "{path}");
            let answer = ask(&router, &operation.method, &path, &[("content-type", "application/json")], "{}").await;
            Contract::get().check(&operation.method, &path, answer.status.as_u16(), &answer.headers, &answer.body);
            assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{operation:?}");
            assert_ne!(answer.problem()["detail"], "there is no such path", "{operation:?}");
        }
    })
    .await;
}

/// Method, path, headers and body; status and code of the answer.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str);

/// What every API gets to hear some day: wrong ids, wrong parameters, wrong bodies, wrong types.
#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_answered_as_documented() {
    const ID: &str = "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d";
    let json = ("content-type", "application/json");
    let cases: [Case<'_>; 14] = [
        ("POST", "/api/v1/threads", &[json], "{", 400, "malformed_json"),
        ("POST", "/api/v1/threads", &[json], "[]", 422, "validation_failed"),
        ("POST", "/api/v1/threads", &[json], r#"{"message":" "}"#, 422, "validation_failed"),
        ("POST", "/api/v1/threads", &[json], r#"{"message":"a","more":1}"#, 422, "validation_failed"),
        ("POST", "/api/v1/threads", &[json], r#"{"message":"a","options":{"x":1}}"#, 422, "validation_failed"),
        ("POST", "/api/v1/threads", &[("content-type", "text/plain")], "a", 415, "unsupported_media_type"),
        ("POST", "/api/v1/threads", &[json, ("idempotency-key", "")], "{}", 422, "validation_failed"),
        ("GET", "/api/v1/threads?limit=101", &[], "", 422, "validation_failed"),
        ("GET", "/api/v1/threads?cursor=x", &[], "", 422, "invalid_cursor"),
        ("GET", "/api/v1/threads/7", &[], "", 422, "validation_failed"),
        ("GET", "/api/v1/threads/%ff", &[], "", 422, "validation_failed"),
        ("GET", "/api/v1/runs?status=late", &[], "", 422, "validation_failed"),
        ("GET", &format!("/api/v1/runs/{ID}/report"), &[("accept", "image/png")], "", 406, "not_acceptable"),
        ("GET", &format!("/api/v1/runs/{ID}/sources/x"), &[], "", 422, "validation_failed"),
    ];
    with_router(async |router| {
        for (method, path, headers, body, status, code) in cases {
            let answer = ask(&router, method, path, headers, body).await;
            assert_eq!((answer.status.as_u16(), answer.problem()["code"].as_str()), (status, Some(code)), "{path}");
            Contract::get().check(method, path, status, &answer.headers, &answer.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_do_not_exist_are_problems_too() {
    with_router(async |router| {
        for path in ["/nowhere", "/api/v1", "/api/v1/threads/", "/docs/nothing.js"] {
            let answer = ask(&router, "GET", path, &[], "").await;
            assert_eq!((answer.status.as_u16(), &answer.problem()["code"]), (404, &"not_found".into()), "{path}");
            Contract::get().check_problem(404, &answer.headers, &answer.body);
        }
        for operation in Contract::get().operations() {
            let path = operation.path.replace(['{', '}'], "");
            let answer = ask(&router, "PUT", &path, &[], "").await;
            assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
            let allowed = answer.headers["allow"].to_str().unwrap();
            assert!(allowed.contains(&operation.method), "{path}: {allowed}");
            Contract::get().check_problem(405, &answer.headers, &answer.body);
        }
    })
    .await;
}
