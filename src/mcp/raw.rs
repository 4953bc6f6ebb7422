//! What servers send, before the SDK reads it: repaired where the SDK would drop a message in silence, and its call
//! would wait for the whole time limit.
//!
//! An answer over HTTP that is JSON and no stream of events is read by the SDK itself, which refuses at once what it
//! cannot read.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::{StreamExt as _, TryFutureExt as _, TryStreamExt as _, stream::BoxStream};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use serde::{Deserialize, de::IgnoredAny};
use sse_stream::Sse;
use tokio::time::timeout;

use super::{connection::MAX_MESSAGE_BYTES, listed};
use crate::net::surrogates;

/// The time for the answer to whether a server over HTTP has the newest protocol. It is shorter than the SDK's own: its
/// greeting by the older protocol waits behind this question, and would take a later answer for its own.
pub(super) const DISCOVERY_TIME: Duration = Duration::from_secs(9);

/// Returns the message without halves of surrogate pairs, as programs write them that cut texts without looking, and
/// with what the SDK would lose of it.
pub(super) fn readable(message: Vec<u8>) -> Vec<u8> {
    listed::marked(surrogates::repair_body(message))
}

/// Returns whether the message answers the first request of a connection, whose number is 0.
pub(super) fn is_answer_to_first(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Numbered {
        id: Option<serde_json::Value>,
        method: Option<IgnoredAny>,
    }
    // A request of the server has a method, and a number of its own.
    let is_it = |message: Numbered| message.method.is_none() && message.id == Some(0.into());
    serde_json::from_slice(message).is_ok_and(is_it)
}

type Events = BoxStream<'static, Result<Sse, SseError>>;
type HttpError = StreamableHttpError<reqwest::Error>;

/// The SDK's client, whose events are made readable.
#[derive(Clone)]
pub(super) struct Client(pub reqwest::Client);

/// Returns the number of the question whether a server has the newest protocol.
fn discovery(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
}

/// Returns the error; a redirect that is not followed is an answer that is none of MCP.
fn answered(error: HttpError) -> HttpError {
    match error {
        StreamableHttpError::Client(error) if error.is_redirect() => {
            let said = std::error::Error::source(&error).map(|cause| cause.to_string()).unwrap_or_default();
            StreamableHttpError::UnexpectedServerResponse(said.into())
        }
        other => other,
    }
}

fn readable_events(events: Events) -> Events {
    let readable = |data: String| String::from_utf8(readable(data.into_bytes())).ok();
    events.map_ok(move |event| Sse { data: event.data.and_then(readable), ..event }).boxed()
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post_message_with_max_sse_event_size(uri, message, session, bearer, headers, MAX_MESSAGE_BYTES).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        largest: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let discovery = discovery(&message);
        let sent = self.0.post_message_with_max_sse_event_size(uri, message, session, bearer, headers, largest);
        let answer = sent.map_err(answered).map_ok(|answer| match answer {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(readable_events(events), session)
            }
            answer => answer,
        });
        let Some(id) = discovery else { return answer.await };
        let answer = answer.and_then(StreamableHttpPostResponse::expect_initialized::<reqwest::Error>);
        let (answer, session) = timeout(DISCOVERY_TIME, answer).await.unwrap_or_else(|_| {
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "it did not answer in time", None);
            Ok((ServerJsonRpcMessage::error(error, Some(id)), None))
        })?;
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.0.delete_session(uri, session, bearer, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, bearer, headers, MAX_MESSAGE_BYTES).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        bearer: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        largest: usize,
    ) -> Result<Events, HttpError> {
        let opened = self.0.get_stream_with_max_sse_event_size(uri, session, last_event, bearer, headers, largest);
        opened.await.map(readable_events)
    }
}
