//! Threads and their messages: started, listed, read, replied to, deleted.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::{FromRequestParts, State as Shared},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    State,
    error::{ApiError, Code, Place},
    extract::{Id, JsonBody, Query, Wishes, negotiate, write_cursor},
    report::{JSON, MARKDOWN, content_type},
    runs::RunBody,
};
use crate::{
    domain::{Message, Run, RunDetails, RunId, Thread, ThreadId, ThreadStatus, Timestamp},
    runs::{Accepted, FirstAnswer, Key, NewThread, Page, RunFilter, Submission, ThreadChange, ThreadFilter},
};

/// JSON text of the metadata a thread may carry.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Characters of a title that a client gives, and of the text it looks for.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SEARCH_CHARS: usize = 200;
const MAX_METADATA_FILTERS: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewThreadBody {
    message: String,
    #[serde(default)]
    options: Map<String, Value>,
    #[serde(default)]
    metadata: Map<String, Value>,
    webhook_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMessageBody {
    content: String,
    #[serde(default)]
    options: Map<String, Value>,
    webhook_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadChangeBody {
    #[serde(default, deserialize_with = "given")]
    title: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Something, not null: a title cannot be taken away.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

#[derive(Serialize)]
pub struct ThreadBody {
    id: ThreadId,
    status: ThreadStatus,
    title: String,
    created_at: Timestamp,
    last_seq: i64,
    latest_run_id: Option<RunId>,
    metadata: Map<String, Value>,
    options: Map<String, Value>,
    links: ThreadLinks,
}

#[derive(Serialize)]
struct ThreadLinks {
    #[serde(rename = "self")]
    own: String,
    messages: String,
    events: String,
    runs: String,
}

impl From<Thread> for ThreadBody {
    fn from(thread: Thread) -> Self {
        let path = format!("/api/v1/threads/{}", thread.id);
        let links = ThreadLinks {
            messages: format!("{path}/messages"),
            events: format!("{path}/events"),
            runs: format!("{path}/runs"),
            own: path,
        };
        Self {
            id: thread.id,
            status: thread.status,
            title: thread.title,
            created_at: thread.created_at,
            last_seq: thread.last_seq,
            latest_run_id: thread.latest_run_id,
            metadata: thread.metadata,
            options: thread.options,
            links,
        }
    }
}

/// A part of a list.
#[derive(Serialize)]
pub struct ListBody<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

impl<T> ListBody<T> {
    /// A list that is always whole.
    pub fn whole(data: Vec<T>) -> Self {
        Self { data, next_cursor: None }
    }

    /// A page of the list of that name.
    pub fn page<D>(list: &str, page: Page<D>, body: impl FnMut(D) -> T) -> Self {
        let next_cursor = page.next.map(|cursor| write_cursor(list, cursor));
        Self { data: page.items.into_iter().map(body).collect(), next_cursor }
    }
}

#[derive(Serialize)]
struct StartedBody {
    thread: ThreadBody,
    run: RunBody,
}

#[derive(Serialize)]
struct RepliedBody {
    message: Message,
    run: RunBody,
}

pub async fn create(
    Shared(state): Shared<State>,
    wishes: Wishes,
    form: Form,
    body: JsonBody<NewThreadBody>,
) -> Result<Response, ApiError> {
    let NewThreadBody { message, options, metadata, webhook_url } = body.value;
    if serde_json::to_string(&metadata).is_ok_and(|text| text.len() > MAX_METADATA_BYTES) {
        let detail = format!("metadata may have {MAX_METADATA_BYTES} bytes as JSON");
        return Err(ApiError::invalid(Place::Pointer("/metadata".to_owned()), detail));
    }
    let at = |refusal| ApiError::refused(refusal, "/message");
    let submission = Submission {
        options: options.clone(),
        content: message,
        owner: wishes.owner.clone(),
        key: wishes.key("POST /api/v1/threads", &body.bytes),
        webhook_url,
    };
    // A request that waits for its run holds it no longer.
    drop(body.bytes);
    let key = submission.key.clone();
    let new_thread = NewThread { metadata: metadata.clone(), options: options.clone() };
    match state.runs.create_thread(submission, new_thread).await.map_err(at)? {
        Accepted::New { run, message, position } => {
            let thread = Thread {
                id: run.thread_id,
                title: Thread::title_of(&message.content),
                status: ThreadStatus::Busy,
                created_at: run.created_at,
                last_seq: 1,
                latest_run_id: Some(run.id),
                metadata,
                options,
            };
            let details = queued(*run, position);
            started(&state, &wishes, form, key.as_ref(), thread, details).await
        }
        Accepted::Before(first) => started_before(&state, form, first).await,
    }
}

async fn started(
    state: &State,
    wishes: &Wishes,
    form: Form,
    key: Option<&Key>,
    mut thread: Thread,
    mut details: RunDetails,
) -> Result<Response, ApiError> {
    if let Some(patience) = wishes.wait {
        details = waited(state, details, patience).await?;
        thread = state.runs.store().thread(thread.id).await?.ok_or_else(|| ApiError::no_such("thread"))?;
    }
    let (location, run_id) = (format!("/api/v1/threads/{}", thread.id), details.run.id);
    let body = json(&StartedBody { thread: thread.into(), run: details.into() })?;
    keep(state, wishes, key, &body).await;
    let body = form.of(state, run_id, body).await?;
    Ok(wishes.applied(created(StatusCode::CREATED, &location, body, false)))
}

/// The answer that the first request with this key got, or had got.
async fn started_before(state: &State, form: Form, first: FirstAnswer) -> Result<Response, ApiError> {
    let location = format!("/api/v1/threads/{}", first.thread_id);
    let body = match first.response {
        Some(body) => body,
        None => {
            let thread = state.runs.store().thread(first.thread_id).await?;
            let (thread, run) = thread.zip(state.runs.details(first.run_id).await?).ok_or_else(gone)?;
            json(&StartedBody { thread: thread.into(), run: run.into() })?
        }
    };
    let body = form.of(state, first.run_id, body).await?;
    Ok(created(StatusCode::CREATED, &location, body, true))
}

pub async fn add_message(
    Shared(state): Shared<State>,
    Id(thread_id): Id<ThreadId>,
    wishes: Wishes,
    form: Form,
    body: JsonBody<NewMessageBody>,
) -> Result<Response, ApiError> {
    let NewMessageBody { content, options, webhook_url } = body.value;
    let thread = state.runs.store().thread(thread_id).await?.ok_or_else(|| ApiError::no_such("thread"))?;
    let at = |refusal| ApiError::refused(refusal, "/content");
    let submission = Submission {
        options,
        content,
        owner: wishes.owner.clone(),
        key: wishes.key(&format!("POST /api/v1/threads/{thread_id}/messages"), &body.bytes),
        webhook_url,
    };
    drop(body.bytes);
    let key = submission.key.clone();
    match state.runs.add_message(thread_id, &thread.options, submission).await.map_err(at)? {
        Accepted::New { run, message, position } => {
            replied(&state, &wishes, form, key.as_ref(), message, queued(*run, position)).await
        }
        Accepted::Before(first) => replied_before(&state, form, first).await,
    }
}

async fn replied(
    state: &State,
    wishes: &Wishes,
    form: Form,
    key: Option<&Key>,
    message: Message,
    mut details: RunDetails,
) -> Result<Response, ApiError> {
    if let Some(patience) = wishes.wait {
        details = waited(state, details, patience).await?;
    }
    let (location, run_id) = (format!("/api/v1/runs/{}", details.run.id), details.run.id);
    let body = json(&RepliedBody { message, run: details.into() })?;
    keep(state, wishes, key, &body).await;
    let body = form.of(state, run_id, body).await?;
    Ok(wishes.applied(created(StatusCode::ACCEPTED, &location, body, false)))
}

async fn replied_before(state: &State, form: Form, first: FirstAnswer) -> Result<Response, ApiError> {
    let location = format!("/api/v1/runs/{}", first.run_id);
    let body = match first.response {
        Some(body) => body,
        None => {
            let message = state.runs.store().message(first.message_id).await?;
            let (message, run) = message.zip(state.runs.details(first.run_id).await?).ok_or_else(gone)?;
            json(&RepliedBody { message, run: run.into() })?
        }
    };
    let body = form.of(state, first.run_id, body).await?;
    Ok(created(StatusCode::ACCEPTED, &location, body, true))
}

pub fn gone() -> ApiError {
    ApiError::new(Code::NotFound, "what the first request with this idempotency key created has been deleted")
}

pub async fn list(Shared(state): Shared<State>, query: Query) -> Result<Response, ApiError> {
    let (cursor, limit) = (query.cursor("threads")?, query.number("limit", 20, 1..=100)?);
    let filter = filter(&query)?;
    let page = match filter == ThreadFilter::default() {
        true => state.runs.store().threads(cursor, limit).await?,
        false => state.runs.store().search(&filter, cursor, limit).await?,
    };
    answer(&ListBody::page("threads", page, ThreadBody::from))
}

fn filter(query: &Query) -> Result<ThreadFilter, ApiError> {
    let words = query.text("q").map(str::trim).filter(|words| !words.is_empty());
    if words.is_some_and(|words| words.chars().count() > MAX_SEARCH_CHARS) {
        return Err(ApiError::parameter("q", format!("q may have {MAX_SEARCH_CHARS} characters")));
    }
    let named = |name: &str| ThreadStatus::ALL.into_iter().find(|status| status.as_str() == name);
    let status = query.text("status").map(|name| {
        let names = ThreadStatus::ALL.map(ThreadStatus::as_str).join(", ");
        named(name).ok_or_else(|| ApiError::parameter("status", format!("status must be one of {names}")))
    });
    let metadata: Vec<_> = query.below("metadata.").collect();
    if metadata.len() > MAX_METADATA_FILTERS {
        let detail = format!("at most {MAX_METADATA_FILTERS} members of the metadata can be asked for at once");
        return Err(ApiError::parameter("metadata", detail));
    }
    Ok(ThreadFilter { words: words.map(str::to_owned), status: status.transpose()?, metadata })
}

pub async fn change(
    Shared(state): Shared<State>,
    Id(thread_id): Id<ThreadId>,
    body: JsonBody<ThreadChangeBody>,
) -> Result<Response, ApiError> {
    let ThreadChangeBody { title, metadata } = body.value;
    let title = title.map(|title| {
        let words = title.split(|letter: char| letter.is_whitespace() || letter.is_control());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let fits = |title: &String| (1..=MAX_TITLE_CHARS).contains(&title.chars().count());
    if title.as_ref().is_some_and(|title| !fits(title)) {
        let detail = format!("a title has 1 to {MAX_TITLE_CHARS} characters");
        return Err(ApiError::invalid(Place::Pointer("/title".to_owned()), detail));
    }
    let change = ThreadChange { title, metadata, max_metadata_bytes: MAX_METADATA_BYTES };
    let thread = state.runs.store().change_thread(thread_id, &change).await?;
    answer(&ThreadBody::from(thread.ok_or_else(|| ApiError::no_such("thread"))?))
}

pub async fn show(Shared(state): Shared<State>, Id(thread_id): Id<ThreadId>) -> Result<Response, ApiError> {
    answer(&ThreadBody::from(existing(&state, thread_id).await?))
}

pub async fn delete(Shared(state): Shared<State>, Id(thread_id): Id<ThreadId>) -> Result<StatusCode, ApiError> {
    let deleted = state.runs.delete_thread(thread_id).await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::no_such("thread")) }
}

pub async fn messages(
    Shared(state): Shared<State>,
    Id(thread_id): Id<ThreadId>,
    query: Query,
) -> Result<Response, ApiError> {
    let (cursor, limit) = (query.cursor("messages")?, query.number("limit", 100, 1..=200)?);
    existing(&state, thread_id).await?;
    let page = state.runs.store().messages_page(thread_id, cursor, limit).await?;
    answer(&ListBody::page("messages", page, |message| message))
}

pub async fn runs(
    Shared(state): Shared<State>,
    Id(thread_id): Id<ThreadId>,
    query: Query,
) -> Result<Response, ApiError> {
    existing(&state, thread_id).await?;
    super::runs::page(&state, RunFilter { thread_id: Some(thread_id), status: None }, &query).await
}

async fn existing(state: &State, thread_id: ThreadId) -> Result<Thread, ApiError> {
    state.runs.store().thread(thread_id).await?.ok_or_else(|| ApiError::no_such("thread"))
}

/// A run that was just queued.
pub fn queued(run: Run, position: u64) -> RunDetails {
    RunDetails { run, usage: Default::default(), queue_position: Some(position) }
}

/// The run once it is final, or as it is when patience is over.
pub async fn waited(state: &State, details: RunDetails, patience: Duration) -> Result<RunDetails, ApiError> {
    tokio::select! {
        result = state.runs.wait(&details.run, patience) => result?,
        // A stopping service answers with what there is.
        () = state.shutdown.cancelled() => {}
    }
    state.runs.details(details.run.id).await?.ok_or_else(|| ApiError::no_such("run"))
}

pub async fn keep(state: &State, wishes: &Wishes, key: Option<&Key>, body: &str) {
    if let Some(key) = key {
        state.runs.keep_answer(key, &wishes.owner, body).await;
    }
}

/// The form in which the answer to a message is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What was created.
    Data,
    /// The report itself, as Markdown, once there is one.
    Report,
}

impl<S: Send + Sync> FromRequestParts<S> for Form {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let report = negotiate(&parts.headers, &[JSON, MARKDOWN]) == Some(MARKDOWN);
        Ok(if report { Self::Report } else { Self::Data })
    }
}

impl Form {
    /// The report of the run if that is wanted and there, else `data`.
    pub async fn of(self, state: &State, run_id: RunId, data: String) -> Result<Body, ApiError> {
        let report = match self {
            Self::Report => state.runs.store().report(run_id).await?,
            Self::Data => None,
        };
        Ok(report.map_or(Body::Data(data), |report| Body::Report(report.markdown)))
    }
}

/// A body in its form.
pub enum Body {
    Data(String),
    Report(String),
}

pub fn created(status: StatusCode, location: &str, body: Body, replayed: bool) -> Response {
    let (media_type, body) = match body {
        Body::Data(json) => (JSON, json),
        Body::Report(markdown) => (MARKDOWN, markdown),
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(media_type));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    if let Ok(location) = HeaderValue::from_str(location) {
        headers.insert(header::LOCATION, location);
    }
    if replayed {
        headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

pub fn json(body: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(body).map_err(|error| ApiError::defect(&error))
}

/// A JSON answer with status 200.
pub fn answer(body: &impl Serialize) -> Result<Response, ApiError> {
    Ok(([(header::CONTENT_TYPE, "application/json")], json(body)?).into_response())
}
