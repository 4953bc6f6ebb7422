//! What happens around every handler: request ids, CORS, panics, problems with their bodies, a line in the log.

use std::{
    any::Any,
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{MatchedPath, Request, State as Shared},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};
use tracing::Instrument as _;
use uuid::Uuid;

use super::{
    State, auth,
    changes::{self, is_change},
    compression,
    error::{ApiError, Code, Problem, WriteProblem},
    extract, limits, linger, origin, outgoing, proxy,
    stream::{self, Refused},
};
use crate::{config::CorsOrigins, telemetry::metrics};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_CHARS: usize = 128;
/// How long the answer to a request that only reads may take to begin, beside the time it asks to wait.
const READING: Duration = Duration::from_secs(5);

/// How long the database has to answer when something was slow.
const DIAGNOSIS: Duration = Duration::from_millis(500);

/// Returns the router with everything around it, its problems written in its own way; the last is the outermost, so
/// that preflights get their ids too.
pub fn around(router: Router, state: &State, write: WriteProblem) -> Router {
    let router = router
        .layer(from_fn_with_state(state.clone(), compression::choose))
        .layer(from_fn_with_state(state.clone(), changes::carry_out))
        .layer(from_fn_with_state(state.clone(), limits::count))
        .layer(from_fn_with_state(state.clone(), proxy::check))
        .layer(from_fn_with_state(state.clone(), auth::check))
        .layer(from_fn_with_state(state.clone(), in_time))
        .layer(CatchPanicLayer::custom(defect))
        // Behind CORS: its refusal is for pages of other origins, too.
        .layer(from_fn_with_state(state.clone(), outgoing::count));
    let router = match cors(&state.settings.cors_origins) {
        Some(layer) => router.layer(layer),
        None => router,
    };
    router
        // Before CORS, which answers preflights: a foreign name gets none either.
        .layer(from_fn_with_state(state.clone(), origin::check))
        .layer(from_fn(linger::keep_reading))
        .layer(from_fn(stream::not_now))
        .layer(from_fn_with_state(write, complete))
}

/// Limits the time of requests that read. Reading waits for little, and who reads can ask again; a stream is not
/// limited once it has begun. A browser that signs in cannot ask again: its code is used up, and the time of the
/// issuer has limits of its own.
async fn in_time(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    if is_change(&request) {
        return next.run(request).await;
    }
    let limit = READING + extract::wait(request.headers()).unwrap_or_default();
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            tracing::warn!(seconds = limit.as_secs(), "a reading request was given up");
            too_slow(&state).await.into_response()
        }
    }
}

/// Returns the error for an answer that took too long. The database is named only if it is the one that does not
/// answer.
async fn too_slow(state: &State) -> ApiError {
    match tokio::time::timeout(DIAGNOSIS, state.runs.ping()).await {
        Ok(Ok(())) => ApiError::new(Code::Overloaded, "the answer took too long; try again"),
        _ => ApiError::new(Code::StorageUnavailable, "the database does not answer in time; try again"),
    }
}

/// Gives the request its id and the response its headers; writes the body of problems; logs one line, and of refusals
/// another.
async fn complete(Shared(write): Shared<WriteProblem>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let request_id = request_id(request.headers().get(&REQUEST_ID));
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    // Of the highest level, so that its id is on the lines of every filter.
    let span = tracing::error_span!("request", request_id, %method, route = route.as_deref());
    let mut response = next.run(request).instrument(span.clone()).await;
    let problem = response.extensions_mut().remove::<Problem>();
    let refused = match &problem {
        Some(problem) => Some(Refused { status: response.status(), code: problem.code() }),
        None => response.extensions().get::<Refused>().copied(),
    };
    if let Some(Refused { status, code }) = refused {
        span.in_scope(|| tracing::info!(status = status.as_u16(), code, "refused"));
    }
    if let Some(problem) = problem {
        problem.into_body(&mut response, write, &path, &request_id);
    }
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    protect(response.headers_mut());
    let status = refused.map_or(response.status(), |refused| refused.status);
    let (status, ms) = (status.as_u16(), began.elapsed().as_secs_f64() * 1_000.0);
    span.in_scope(|| tracing::debug!(status, ms, "answered"));
    metrics::http_request(route.as_deref().unwrap_or("none"), method_label(&method), status, began.elapsed());
    response
}

/// Sets the headers of every answer, unless a handler said something more exact: what it says is private, it is no
/// page to be framed, and where its links lead to learns nothing of it.
fn protect(headers: &mut HeaderMap) {
    let usual = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in usual {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// Returns the method as metrics name it: clients may invent others.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Returns the client's own id if it is fit to be logged, else a new one.
fn request_id(given: Option<&HeaderValue>) -> String {
    let fit = |text: &&str| (1..=REQUEST_ID_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let given = given.and_then(|value| value.to_str().ok()).filter(fit);
    given.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// Logs a panic in a handler, and answers that it is a defect. What the panic says may hold anything, so it stays in
/// the log.
fn defect(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("(no text)"), "a handler panicked");
    ApiError::new(Code::Internal, "a defect of this service; its log says more").into_response()
}

/// Makes the CORS layer. Without origins there is none, and no page of another origin can read an answer.
fn cors(origins: &CorsOrigins) -> Option<CorsLayer> {
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::CONTENT_TYPE,
            header::ACCEPT,
            header::AUTHORIZATION,
            HeaderName::from_static("x-api-key"),
            header::IF_NONE_MATCH,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("prefer"),
            REQUEST_ID,
        ])
        .expose_headers([
            header::LOCATION,
            header::ETAG,
            header::RETRY_AFTER,
            HeaderName::from_static("ratelimit"),
            HeaderName::from_static("ratelimit-policy"),
            HeaderName::from_static("idempotent-replayed"),
            HeaderName::from_static("preference-applied"),
            REQUEST_ID,
        ])
        .max_age(Duration::from_secs(600));
    let allowed = match origins {
        CorsOrigins::None => return None,
        CorsOrigins::All => AllowOrigin::any(),
        CorsOrigins::Only(origins) => {
            AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
        }
    };
    Some(layer.allow_origin(allowed))
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, routing::get};
    use tower::ServiceExt as _;

    use super::*;
    use crate::http::{error::problem_json, logged::Logged, shares, sign_in};

    #[tokio::test]
    async fn a_refusal_is_logged_with_its_code_however_it_is_answered() {
        let logged = Logged::begin();
        let router: Router = Router::new()
            .route("/events", get(async || ApiError::new(Code::TooManyStreams, "2 streams are open")))
            .route("/auth/login", get(async || sign_in::issuer_unavailable()).layer(from_fn(sign_in::for_people)))
            .route("/shared/x", get(async || ApiError::no_such("link")).layer(from_fn(shares::for_people)))
            .layer(from_fn(stream::not_now))
            .layer(from_fn_with_state(problem_json as WriteProblem, complete));
        for (path, accept, status, named) in [
            ("/events", "text/event-stream", 200, "refused status=503 code=\"too_many_streams\""),
            ("/events", "application/json", 503, "refused status=503 code=\"too_many_streams\""),
            ("/auth/login", "text/html", 503, "refused status=503 code=\"issuer_unavailable\""),
            ("/shared/x", "text/html", 404, "refused status=404 code=\"not_found\""),
        ] {
            let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            let says_when = answer.headers().contains_key(header::RETRY_AFTER);
            assert_eq!((answer.status().as_u16(), says_when), (status, status == 503), "{path} {accept}");
            let logged = logged.take();
            assert_eq!(logged.lines().filter(|line| line.contains(named)).count(), 1, "{path} {accept}: {logged}");
        }
    }
}
