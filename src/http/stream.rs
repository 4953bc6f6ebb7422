//! The events of a thread or run: as a stream, or a page at a time. `sse.rs` has the wire.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State as Shared,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::StreamExt as _;

use super::{
    State,
    error::{ApiError, Code},
    extract::{Id, Query, negotiate},
    sse::{BadInput, Types, page_json, sse, starting_point},
};
use crate::{
    domain::{RunId, ThreadId},
    events::{Opening, Subject},
};

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Events of a page, unless the client asks for fewer or more.
const PAGE: u32 = 500;
const LARGEST_PAGE: u32 = 1_000;

pub async fn thread_events(
    Shared(state): Shared<State>,
    Id(thread_id): Id<ThreadId>,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiError> {
    events(&state, Subject::Thread(thread_id), &headers, &query).await
}

pub async fn run_events(
    Shared(state): Shared<State>,
    Id(run_id): Id<RunId>,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiError> {
    events(&state, Subject::Run(run_id), &headers, &query).await
}

async fn events(state: &State, subject: Subject, headers: &HeaderMap, query: &Query) -> Result<Response, ApiError> {
    let after = starting_point(headers, query.text("after"))?;
    let types = Types::parse(query.text("types"))?;
    let mut response = match negotiate(headers, &[EVENT_STREAM, JSON]) {
        Some(JSON) => {
            let limit = query.number("limit", PAGE, 1..=LARGEST_PAGE)?;
            page(state, subject, after, limit, &types).await?
        }
        Some(_) => stream(state, subject, after, types).await?,
        None => return Err(ApiError::new(Code::NotAcceptable, format!("offered are {EVENT_STREAM} and {JSON}"))),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

async fn page(state: &State, subject: Subject, after: i64, limit: u32, types: &Types) -> Result<Response, ApiError> {
    let page = state.runs.log().page(subject, after, limit).await?.ok_or_else(|| unknown(subject))?;
    Ok(([(header::CONTENT_TYPE, JSON)], page_json(&page, types)).into_response())
}

async fn stream(state: &State, subject: Subject, after: i64, types: Types) -> Result<Response, ApiError> {
    if state.shutdown.is_cancelled() {
        return Err(ApiError::new(Code::ShuttingDown, "the service is stopping; another one will have the events"));
    }
    let permit = Arc::clone(&state.streams)
        .try_acquire_owned()
        .map_err(|_| ApiError::new(Code::TooManyStreams, format!("{} streams are open", state.settings.max_streams)))?;
    let frames = match state.runs.log().open(subject, after).await? {
        Opening::Unknown => return Err(unknown(subject)),
        // What a reconnecting EventSource takes as the end.
        Opening::Over => return Ok(StatusCode::NO_CONTENT.into_response()),
        Opening::Frames(frames) => frames,
    };
    let permitted = frames.inspect(move |_| _ = &permit);
    Ok(answer(sse(permitted, types, state.shutdown.clone())))
}

/// The last header is for proxies of nginx's kind, which would hold events back.
fn answer(body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE.as_str(), EVENT_STREAM), ("x-accel-buffering", "no")];
    (headers, body).into_response()
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
            BadInput::After => Self::parameter("after", detail),
            BadInput::Types => Self::parameter("types", detail),
        }
    }
}
