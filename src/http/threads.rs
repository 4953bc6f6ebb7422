//! Threads and their messages: started, listed, read, replied to, deleted.

use axum::{
    extract::State as Shared,
    http::{StatusCode, Uri},
    response::Response,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{
    State, audit,
    bodies::{RunBody, ThreadBody},
    error::{ApiError, Place},
    extract::{JsonBody, Query, keys, line},
    json::{ListBody, answer},
    started::{Started, Starter},
};
use crate::{
    domain::{Caller, GivenKeys, ThreadStatus},
    runs::{NewThread, OwnedThread, Submission, ThreadChange, ThreadFilter},
};

/// JSON text of the metadata a thread may carry.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Characters of the text that a client looks for.
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
    #[serde(default, deserialize_with = "keys")]
    api_keys: GivenKeys,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMessageBody {
    content: String,
    #[serde(default)]
    options: Map<String, Value>,
    webhook_url: Option<String>,
    #[serde(default, deserialize_with = "keys")]
    api_keys: GivenKeys,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadChangeBody {
    #[serde(default, deserialize_with = "given")]
    title: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Reads a value that may be missing but not null: a title cannot be taken away.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

pub async fn create(
    Shared(state): Shared<State>,
    starter: Starter,
    body: JsonBody<NewThreadBody>,
) -> Result<Response, ApiError> {
    let NewThreadBody { message, options, metadata, webhook_url, api_keys } = body.value;
    if serde_json::to_string(&metadata).is_ok_and(|text| text.len() > MAX_METADATA_BYTES) {
        let detail = format!("metadata may have {MAX_METADATA_BYTES} bytes as JSON");
        return Err(ApiError::invalid(Place::Pointer("/metadata".to_owned()), detail));
    }
    let key = starter.key("POST /api/v1/threads", &body.bytes);
    // A request that waits for its run holds it no longer.
    drop(body.bytes);
    let submission = Submission { options: options.clone(), content: message, key: key.clone(), webhook_url, api_keys };
    let new_thread = NewThread { metadata, options };
    let accepted = state.runs.create_thread(&starter.caller, submission, new_thread.clone()).await;
    let accepted = accepted.map_err(|refusal| ApiError::refused(refusal, "/message"))?;
    starter.answer(&state, Started::Thread(new_thread), key.as_ref(), accepted).await
}

pub async fn add_message(
    Shared(state): Shared<State>,
    thread: OwnedThread,
    starter: Starter,
    body: JsonBody<NewMessageBody>,
) -> Result<Response, ApiError> {
    let NewMessageBody { content, options, webhook_url, api_keys } = body.value;
    let key = starter.key(&format!("POST /api/v1/threads/{}/messages", thread.thread().id), &body.bytes);
    drop(body.bytes);
    let accepted = thread.add_message(Submission { options, content, key: key.clone(), webhook_url, api_keys }).await;
    let accepted = accepted.map_err(|refusal| ApiError::refused(refusal, "/content"))?;
    starter.answer(&state, Started::Message, key.as_ref(), accepted).await
}

pub async fn list(Shared(state): Shared<State>, caller: Caller, uri: Uri, query: Query) -> Result<Response, ApiError> {
    audit::list(&caller, None, &uri);
    let (cursor, limit) = (query.cursor("threads")?, query.number("limit", 20, 1..=100)?);
    let page = state.runs.threads(&caller, &filter(&query)?, cursor, limit).await?;
    answer(&ListBody::page("threads", page, ThreadBody::from))
}

fn filter(query: &Query) -> Result<ThreadFilter, ApiError> {
    let words = query.text("q");
    if words.is_some_and(|words| words.chars().count() > MAX_SEARCH_CHARS) {
        return Err(ApiError::parameter("q", format!("q may have {MAX_SEARCH_CHARS} characters")));
    }
    let words = words.map(str::trim).filter(|words| !words.is_empty());
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

pub async fn change(owned: OwnedThread, body: JsonBody<ThreadChangeBody>) -> Result<Response, ApiError> {
    let ThreadChangeBody { title, metadata } = body.value;
    let title = title.map(|title| line("/title", &title, "a title has")).transpose()?;
    let change = ThreadChange { title, metadata, max_metadata_bytes: MAX_METADATA_BYTES };
    let thread = owned.change(&change).await?;
    answer(&ThreadBody::from(thread.ok_or_else(|| ApiError::no_such("thread"))?))
}

pub async fn show(thread: OwnedThread) -> Result<Response, ApiError> {
    answer(&ThreadBody::from(thread.into_thread()))
}

pub async fn delete(thread: OwnedThread, caller: Caller) -> Result<StatusCode, ApiError> {
    if !thread.delete().await? {
        return Err(ApiError::no_such("thread"));
    }
    audit::thread_deleted(&caller, thread.owner(), thread.thread().id);
    Ok(StatusCode::NO_CONTENT)
}

pub async fn messages(thread: OwnedThread, query: Query) -> Result<Response, ApiError> {
    let (cursor, limit) = (query.cursor("messages")?, query.number("limit", 100, 1..=200)?);
    answer(&ListBody::page("messages", thread.messages(cursor, limit).await?, |message| message))
}

pub async fn runs(thread: OwnedThread, query: Query) -> Result<Response, ApiError> {
    let (cursor, limit) = (query.cursor("runs")?, query.number("limit", 20, 1..=100)?);
    answer(&ListBody::page("runs", thread.runs(cursor, limit).await?, RunBody::from))
}
