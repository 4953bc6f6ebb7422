//! Answers to requests that start a run: a new thread, a message, a retry. They wait for the run if that is wanted, and
//! are kept for their repetitions.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    State, allowances,
    bodies::{RunBody, ThreadBody},
    error::{ApiError, Code},
    extract::{Preferences, negotiate},
    json::json,
    report::{JSON, MARKDOWN, content_type},
};
use crate::{
    domain::{Caller, Message, Run, RunDetails, Thread, ThreadStatus, report::Report},
    runs::{Accepted, FirstAnswer, Key, NewThread, OwnedRun},
};

/// The form in which the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// What was created.
    Data,
    /// The report itself, as Markdown, once there is one.
    Report,
}

impl Form {
    fn of(headers: &HeaderMap) -> Self {
        if negotiate(headers, &[JSON, MARKDOWN]) == Some(MARKDOWN) { Self::Report } else { Self::Data }
    }
}

/// What a request started.
#[derive(Debug)]
pub enum Started {
    /// A thread, made with this.
    Thread(NewThread),
    Message,
    Retry,
}

/// What was created beside the run.
enum Created {
    Thread(Thread),
    Message(Message),
    /// A run that is tried again.
    Nothing,
}

#[derive(Serialize)]
struct ThreadStarted {
    thread: ThreadBody,
    run: RunBody,
}

#[derive(Serialize)]
struct MessageStarted {
    message: Message,
    run: RunBody,
}

/// Who asked for a run, and how they want to be answered.
#[derive(Clone, Debug)]
pub struct Starter {
    pub caller: Caller,
    preferences: Preferences,
    form: Form,
}

impl FromRequestParts<State> for Starter {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let Ok::<_, Infallible>(caller) = Caller::from_request_parts(parts, state).await;
        let preferences = Preferences::from_request_parts(parts, state).await?;
        Ok(Self { caller, preferences, form: Form::of(&parts.headers) })
    }
}

impl Starter {
    /// Returns the idempotency key for a request of that operation with that body.
    pub fn key(&self, operation: &str, body: &[u8]) -> Option<Key> {
        self.preferences.idempotency_key.clone().map(|key| Key::new(operation, key, body))
    }

    /// Returns the answer to what was accepted: the first one that its idempotency key got, if it was used before.
    ///
    /// # Errors
    /// None that is for later once the run is new: a client that tries again without a key would start a second one.
    pub async fn answer(
        &self,
        state: &State,
        started: Started,
        key: Option<&Key>,
        accepted: Accepted,
    ) -> Result<Response, ApiError> {
        match accepted {
            Accepted::New { run, message, position, allowances } => {
                let queued = || Created::queued(&started, run.run(), &message).body(just_queued(run.run(), position));
                let answered = match self.preferences.wait {
                    Some(limit) => unless_later(settled(state, &started, &run, &message, limit).await)?,
                    None => Some(queued()?),
                };
                // Where there is none, a repetition waits as this request was to wait.
                if let (Some(key), Some(body)) = (key, &answered) {
                    state.runs.keep_answer(&self.caller, key, body).await;
                }
                let body = answered.map_or_else(queued, Ok)?;
                let report = unless_later(self.report(&run).await)?.flatten();
                let mut response = response(&started, &run, body, report);
                allowances::append(response.headers_mut(), &allowances);
                Ok(self.preferences.applied(response))
            }
            Accepted::Before(first) => self.repeated(state, &started, first).await,
        }
    }

    /// Returns the answer that the first request with this key got, or had got. Waits as it would have waited, unless
    /// that answer is kept and is what is wanted; behind a wait stands what is known then.
    async fn repeated(&self, state: &State, started: &Started, first: FirstAnswer) -> Result<Response, ApiError> {
        let run = state.runs.run(&self.caller, first.run_id).await?.ok_or_else(gone)?;
        let is_answered = first.response.is_some() && self.form == Form::Data;
        let limit = self.preferences.wait.filter(|_| !is_answered);
        if let Some(limit) = limit {
            waited(state, &run, limit).await?;
        }
        // Behind a wait, the run as it is now.
        let body = match first.response.filter(|_| limit.is_none()) {
            Some(body) => body,
            None => {
                let details = run.details().await?.ok_or_else(gone)?;
                let created = match started {
                    Started::Thread(_) => Created::Thread(current_thread(&run).await?.ok_or_else(gone)?),
                    Started::Message => Created::Message(run.message(first.message_id).await?.ok_or_else(gone)?),
                    Started::Retry => Created::Nothing,
                };
                created.body(details)?
            }
        };
        let report = self.report(&run).await?;
        let mut response = response(started, &run, body, report);
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        Ok(if limit.is_some() { self.preferences.applied(response) } else { response })
    }

    /// Returns the report of the run if that is wanted and there.
    async fn report(&self, run: &OwnedRun) -> Result<Option<Report>, ApiError> {
        Ok(match self.form {
            Form::Report => run.report().await?,
            Form::Data => None,
        })
    }
}

impl Created {
    /// Returns what was created, as it was when its run was queued.
    fn queued(started: &Started, run: &Run, message: &Message) -> Self {
        match started {
            Started::Thread(new_thread) => Self::Thread(busy_thread(run, message, new_thread)),
            Started::Message => Self::Message(message.clone()),
            Started::Retry => Self::Nothing,
        }
    }

    fn body(self, details: RunDetails) -> Result<String, ApiError> {
        let run = RunBody::from(details);
        match self {
            Self::Thread(thread) => json(&ThreadStarted { thread: thread.into(), run }),
            Self::Message(message) => json(&MessageStarted { message, run }),
            Self::Nothing => json(&run),
        }
    }
}

/// Returns what was created and its run, once that is final or the time is over.
async fn settled(
    state: &State,
    started: &Started,
    run: &OwnedRun,
    message: &Message,
    limit: Duration,
) -> Result<String, ApiError> {
    let details = waited(state, run, limit).await?;
    let created = match started {
        Started::Thread(_) => Created::Thread(current_thread(run).await?.ok_or_else(|| ApiError::no_such("thread"))?),
        Started::Message | Started::Retry => Created::queued(started, run.run(), message),
    };
    created.body(details)
}

/// Returns `None` for an error that will have passed later.
fn unless_later<T>(result: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match result {
        Err(error) if error.is_for_later() => Ok(None),
        result => result.map(Some),
    }
}

/// Answers with the report if there is one, else with `data`.
fn response(started: &Started, run: &OwnedRun, data: String, report: Option<Report>) -> Response {
    let (media_type, body) = report.map_or((JSON, data), |report| (MARKDOWN, report.markdown));
    let (status, location) = match started {
        Started::Thread(_) => (StatusCode::CREATED, format!("/api/v1/threads/{}", run.run().thread_id)),
        Started::Message | Started::Retry => (StatusCode::ACCEPTED, format!("/api/v1/runs/{}", run.id())),
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(media_type));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    if let Ok(location) = HeaderValue::from_str(&location) {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// Returns the run once it is final, or as it is when the time is over.
pub async fn waited(state: &State, run: &OwnedRun, limit: Duration) -> Result<RunDetails, ApiError> {
    tokio::select! {
        result = run.wait(limit) => result?,
        // A stopping service answers with what there is.
        () = state.shutdown.cancelled() => {}
    }
    run.details().await?.ok_or_else(|| ApiError::no_such("run"))
}

async fn current_thread(run: &OwnedRun) -> Result<Option<Thread>, ApiError> {
    Ok(run.thread().await?.map(|thread| thread.into_thread()))
}

/// Returns the run as it was when it was queued.
fn just_queued(run: &Run, position: u64) -> RunDetails {
    RunDetails { run: run.clone(), usage: Default::default(), queue_position: Some(position) }
}

/// Returns the thread as it was when its run was queued.
fn busy_thread(run: &Run, message: &Message, new_thread: &NewThread) -> Thread {
    Thread {
        id: run.thread_id,
        title: Thread::title_of(&message.content),
        status: ThreadStatus::Busy,
        created_at: run.created_at,
        last_seq: 1,
        latest_run_id: Some(run.id),
        metadata: new_thread.metadata.clone(),
        options: new_thread.options.clone(),
    }
}

fn gone() -> ApiError {
    ApiError::new(Code::NotFound, "what the first request with this idempotency key created has been deleted")
}
