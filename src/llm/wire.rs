//! The genai crate, met only here: our requests to its types, its transport, its errors to ours.
//!
//! All three providers speak Chat Completions, so every call goes through genai's OpenAI adapter to an address of ours;
//! no model name is ever routed elsewhere. What it must be kept from doing is said at each place (`genai 0.7.2`).
//! Answers are read by `reply.rs`, which says why.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatFrameSink, ChatMessage, ChatOptions, ChatRequest, ChatStream, ContentPart, FrameCtx, JsonSpec,
    MessageContent, RawFrameRef, ReasoningEffort, Tool, ToolName, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::webc::StreamTimeout;
use genai::{Headers, ModelIden, ServiceTarget};
use serde_json::{Map, Value};

use super::failure::{self, Failure, is_html};
use super::reply::malformed;
use super::server::Server;
use super::{Error, Message, OutputFormat, Part, Request, Text, ToolCall, ToolChoice, ToolSpec};
use crate::domain::ModelName;

/// Carries requests to servers; cheap to clone, as all clones share one pool of connections.
#[derive(Clone)]
pub(super) struct Carrier {
    client: genai::Client,
}

impl Carrier {
    /// # Errors
    /// When genai refuses the client, which it has no reason to.
    pub(super) fn new(http: reqwest::Client) -> Result<Self, String> {
        let client = genai::Client::builder().with_reqwest(http).build().map_err(|problem| problem.to_string())?;
        Ok(Self { client })
    }

    /// Makes one call and returns the body of its answer.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub(super) async fn call(&self, server: &Server, request: &Request) -> Result<Value, Failure> {
        // The answer is read from the raw body, which genai keeps beside its own reading, also when that fails.
        let options = options(request).with_capture_raw_body(true);
        match self.client.exec_chat(target(server, &request.model), chat_request(request), Some(&options)).await {
            Ok(response) => Ok(response.captured_raw_body.unwrap_or_default()),
            Err(genai::Error::ChatResponseGeneration { response_body, .. }) => Ok(*response_body),
            Err(problem) => Err(failure_of(&request.model, problem)),
        }
    }

    /// Begins a streamed call. Nothing is sent before the first poll.
    pub(super) async fn stream(&self, server: &Server, request: &Request, idle: Duration) -> Result<Frames, Failure> {
        let queue = FrameQueue::default();
        let options = options(request)
            .with_capture_usage(true)
            .with_stream_header_timeout(idle)
            .with_stream_read_timeout(idle)
            .with_raw_frame_sink(queue.clone());
        let target = target(server, &request.model);
        match self.client.exec_chat_stream(target, chat_request(request), Some(&options)).await {
            Ok(response) => Ok(Frames { inner: response.stream, queue, model: request.model.clone() }),
            Err(problem) => Err(failure_of(&request.model, problem)),
        }
    }
}

/// The chunks of one streamed answer as they came, without `[DONE]`.
pub(super) struct Frames {
    inner: ChatStream,
    queue: FrameQueue,
    model: ModelName,
}

/// Keeps every chunk that passes through genai, whose own events lose what `reply.rs` needs. Both ends are polled by
/// one task, so the lock is never waited for; it holds the few chunks of one read at most.
#[derive(Clone, Default)]
struct FrameQueue(Arc<Mutex<VecDeque<String>>>);

impl FrameQueue {
    fn pop(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl ChatFrameSink for FrameQueue {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if !matches!(frame.data, "" | "[DONE]") {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(frame.data.to_owned());
        }
    }
}

impl Stream for Frames {
    type Item = Result<String, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.queue.pop() {
                return Poll::Ready(Some(Ok(frame)));
            }
            match std::task::ready!(Pin::new(&mut self.inner).poll_next(cx)) {
                // The error is told by the queued chunk itself, where `"error": null` is none; genai sees one there.
                Some(Ok(_) | Err(genai::Error::ChatResponse { .. } | genai::Error::StreamParse { .. })) => {}
                Some(Err(problem)) => return Poll::Ready(Some(Err(failure_of(&self.model, problem)))),
                None => return Poll::Ready(self.queue.pop().map(Ok)),
            }
        }
    }
}

fn target(server: &Server, model: &ModelName) -> ServiceTarget {
    // The override is the only way to send no `Authorization` header; otherwise a key is demanded.
    let headers: Vec<_> = server
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    ServiceTarget {
        // Read, although never called: it must parse as a URL.
        endpoint: Endpoint::from_owned(server.url("")),
        auth: AuthData::RequestOverride { url: server.url("chat/completions"), headers: Headers::from(headers) },
        // Everything up to the first `::` is cut off as a namespace. Ours is, so that none in the name will be.
        model: ModelIden::new(AdapterKind::OpenAI, format!("fathom::{}", model.model)),
    }
}

fn options(request: &Request) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_max_tokens(request.max_tokens)
        // Without an effort of ours, a model name ending in one is cut: `qwen/qwen-max` becomes `qwen/qwen` with
        // `reasoning_effort: max`. A budget is the one effort that is not sent.
        .with_reasoning_effort(ReasoningEffort::Budget(0))
        // Without a wish of ours, `gpt-5.6` and later are told not to cache. This one says nothing on the wire.
        .with_cache_control(CacheControl::Ephemeral5m);
    if !request.tools.is_empty() {
        options = options.with_tool_choice(match request.tool_choice {
            ToolChoice::Auto => genai::chat::ToolChoice::Auto,
            ToolChoice::Required => genai::chat::ToolChoice::Required,
        });
    }
    match &request.output {
        OutputFormat::Text => options,
        OutputFormat::JsonSchema { name, schema } => {
            options.with_response_format(JsonSpec::new(name.clone(), schema.clone()))
        }
    }
}

fn chat_request(request: &Request) -> ChatRequest {
    let chat = ChatRequest::from_messages(request.messages.iter().map(chat_message).collect());
    if request.tools.is_empty() { chat } else { chat.with_tools(request.tools.iter().map(tool).collect::<Vec<_>>()) }
}

fn chat_message(message: &Message) -> ChatMessage {
    match message {
        Message::System { content } => ChatMessage::system(joined(content)),
        Message::User { content } => ChatMessage::user(joined(content)),
        Message::Assistant { content, tool_calls } => {
            let mut parts = MessageContent::from_text(content.as_str());
            parts.extend(tool_calls.iter().map(|call| ContentPart::ToolCall(history_call(call))));
            ChatMessage::assistant(parts)
        }
        Message::Tool { call_id, name, content } => {
            ChatMessage::from(ToolResponse::new(call_id.as_str(), joined(content)).with_fn_name(name.as_str()))
        }
    }
}

/// The text in one piece: several would be joined by blank lines.
fn joined(text: &Text) -> String {
    let mut joined = String::with_capacity(text.0.iter().map(|part| part.as_str().len()).sum());
    joined.extend(text.0.iter().map(Part::as_str));
    joined
}

/// A call of an earlier turn. Arguments that are no JSON object are replaced by `{}`, since llama.cpp answers 500 to
/// every request whose history has one.
fn history_call(call: &ToolCall) -> genai::chat::ToolCall {
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
    genai::chat::ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: Value::Object(arguments),
        thought_signatures: None,
    }
}

fn tool(spec: &ToolSpec) -> Tool {
    // Always a custom one: a tool of ours named `web_search` must stay ours.
    Tool::new(ToolName::Custom(spec.name.clone()))
        .with_description(spec.description.as_str())
        .with_schema(spec.parameters.clone())
}

/// What genai reports, in our words.
fn failure_of(model: &ModelName, problem: genai::Error) -> Failure {
    match problem {
        genai::Error::WebModelCall { webc_error, .. } => of_call(model, webc_error),
        genai::Error::WebStream { error, .. } => of_stream(model, error),
        other => Error::BadRequest { model: model.clone(), detail: other.to_string() }.into(),
    }
}

fn of_call(model: &ModelName, problem: genai::webc::Error) -> Failure {
    use genai::webc::Error as Problem;
    match problem {
        Problem::ResponseFailedStatus { status, body, headers } => {
            failure::of_status(model, status.as_u16(), &headers, &body)
        }
        Problem::ResponseFailedNotJson { content_type, body } => {
            let what = if is_html(&body) { "an HTML page".to_owned() } else { format!("'{body}'") };
            malformed(model, format!("content type '{content_type}', {what}")).into()
        }
        Problem::ResponseFailedInvalidJson { cause, .. } => malformed(model, cause).into(),
        Problem::Reqwest(problem) => of_reqwest(model, &problem),
        Problem::JsonValueExt(problem) => malformed(model, problem).into(),
    }
}

/// While streaming, status and headers answer nothing; they are inside the boxed error.
fn of_stream(model: &ModelName, problem: genai::BoxError) -> Failure {
    if problem.is::<StreamTimeout>() {
        return Error::Timeout { model: model.clone() }.into();
    }
    if let Some(genai::Error::HttpError { status, body, headers, .. }) = problem.downcast_ref() {
        return failure::of_status(model, status.as_u16(), headers, body);
    }
    match problem.downcast_ref::<reqwest::Error>() {
        Some(problem) => of_reqwest(model, problem),
        None => malformed(model, problem).into(),
    }
}

/// A request that got no answer. Its URL is left out: a base URL may have a password in it.
pub(super) fn of_reqwest(model: &ModelName, problem: &reqwest::Error) -> Failure {
    let mut causes = Vec::new();
    let mut next = std::error::Error::source(problem);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    let model = model.clone();
    let what = if problem.is_connect() { "no connection" } else { "the connection broke" };
    Error::Transport { model, detail: format!("{what}: {}", causes.join(": ")) }.into()
}
