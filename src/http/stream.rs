//! The events of a thread or run: as a stream, or a page at a time. `sse/` has the wire.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State as Shared},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt as _;

use super::{
    State, auth,
    error::{ApiError, Code, Problem},
    extract::{Query, negotiate},
    queue,
    sse::{self, BadInput, Naming, Native, Types, page_json, starting_point},
};
use crate::{
    events::{Opening, Subject},
    runs::{OwnedEvents, OwnedRun, OwnedThread},
};

const EVENT_STREAM: &str = "text/event-stream";
/// The same with what it is in anyway: some clients take text that does not say so for Latin-1.
const EVENT_STREAM_UTF_8: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";
/// Events of a page, unless the client asks for fewer or more.
const PAGE: u32 = 500;
const LARGEST_PAGE: u32 = 1_000;

pub async fn thread_events(
    Shared(state): Shared<State>,
    thread: OwnedThread,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiError> {
    events(&state, thread.events(), &headers, &query).await
}

pub async fn run_events(
    Shared(state): Shared<State>,
    run: OwnedRun,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiError> {
    events(&state, run.events(), &headers, &query).await
}

async fn events(state: &State, log: OwnedEvents, headers: &HeaderMap, query: &Query) -> Result<Response, ApiError> {
    let after = starting_point(headers, query.text("lastEventId"), query.text("after"))?;
    let types = Types::parse(query.text("types"))?;
    let naming = Naming::parse(query.text("event"))?;
    let mut response = match negotiate(headers, &[EVENT_STREAM, JSON]) {
        Some(JSON) => {
            let limit = query.number("limit", PAGE, 1..=LARGEST_PAGE)?;
            page(&log, after, limit, &types).await?
        }
        Some(_) => stream(state, log, after, (types, naming), auth::credentials(headers)).await?,
        None => return Err(ApiError::new(Code::NotAcceptable, format!("offered are {EVENT_STREAM} and {JSON}"))),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

async fn page(log: &OwnedEvents, after: i64, limit: u32, types: &Types) -> Result<Response, ApiError> {
    let page = log.page(after, limit).await?.ok_or_else(|| unknown(log.subject()))?;
    Ok(([(header::CONTENT_TYPE, JSON)], page_json(&page, types)).into_response())
}

async fn stream(
    state: &State,
    log: OwnedEvents,
    after: i64,
    (types, naming): (Types, Naming),
    credentials: HeaderMap,
) -> Result<Response, ApiError> {
    if state.shutdown.is_cancelled() {
        return Err(ApiError::new(Code::ShuttingDown, "the service is stopping; another one will have the events"));
    }
    let permit = Arc::clone(&state.streams)
        .try_acquire_owned()
        .map_err(|_| ApiError::new(Code::TooManyStreams, format!("{} streams are open", state.settings.max_streams)))?;
    let want = |name: &str| types.want(name);
    let wanted: Option<&(dyn Fn(&str) -> bool + Sync)> = if types.are_all() { None } else { Some(&want) };
    let frames = match log.open(after, wanted).await? {
        Opening::Unknown => return Err(unknown(log.subject())),
        // What a reconnecting EventSource takes as the end.
        Opening::Over => return Ok(StatusCode::NO_CONTENT.into_response()),
        Opening::Frames(frames) => frames,
    };
    let permitted = queue::with_places(log, after, frames).inspect(move |_| _ = &permit);
    let permitted = permitted.take_until(Box::pin(auth::refused(state.clone(), credentials)));
    Ok(answer(sse::body(permitted, Native { types, naming }, state.shutdown.clone())))
}

/// Answers with a stream of events. The last header is for proxies of nginx's kind, which would hold events back.
fn answer(body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE.as_str(), EVENT_STREAM_UTF_8), ("x-accel-buffering", "no")];
    (headers, body).into_response()
}

/// Turns refusals that may pass into streams for readers of streams: one that ends after the hint when to come back,
/// since a browser's `EventSource` gives up for good on every status but 200. What will not be different later stays a
/// problem.
pub async fn not_now(request: Request, next: Next) -> Response {
    let reads_streams = reads_streams(&request);
    let response = next.run(request).await;
    let for_later = response.extensions().get::<Problem>().filter(|problem| reads_streams && problem.is_for_later());
    let Some(code) = for_later.map(Problem::code) else { return response };
    let status = response.status();
    let (mut parts, _) = response.into_parts();
    parts.extensions.remove::<Problem>();
    parts.extensions.insert(Refused { status, code });
    parts.status = StatusCode::OK;
    let wait = parts.headers.remove(header::RETRY_AFTER);
    let seconds = wait.and_then(|wait| wait.to_str().ok()?.parse().ok()).unwrap_or_default();
    for (name, value) in [
        (header::CONTENT_TYPE, EVENT_STREAM_UTF_8),
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        parts.headers.insert(name, HeaderValue::from_static(value));
    }
    parts.headers.append(header::VARY, HeaderValue::from_static("accept"));
    Response::from_parts(parts, Body::from(sse::not_now(seconds)))
}

/// The status and code of a refusal that was answered as a stream or a page; the log names both, metrics the status.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub code: &'static str,
}

/// Returns whether this is a request for events that names the type of streams: who takes just anything is better
/// served with a status.
fn reads_streams(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let named = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains(EVENT_STREAM));
    route.ends_with("/events")
        && request.headers().get_all(header::ACCEPT).iter().any(named)
        && negotiate(request.headers(), &[EVENT_STREAM, JSON]) == Some(EVENT_STREAM)
}

fn unknown(subject: Subject) -> ApiError {
    ApiError::no_such(match subject {
        Subject::Thread(_) => "thread",
        Subject::Run(_) => "run",
    })
}

impl From<BadInput> for ApiError {
    fn from(error: BadInput) -> Self {
        let detail = error.to_string();
        match error {
            BadInput::LastEventId => Self::header("Last-Event-ID", detail),
            BadInput::LastEventIdParameter => Self::parameter("lastEventId", detail),
            BadInput::After => Self::parameter("after", detail),
            BadInput::Types => Self::parameter("types", detail),
            BadInput::Event => Self::parameter("event", detail),
        }
    }
}
