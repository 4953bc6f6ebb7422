//! Chat Completions over HTTP: our requests to bytes, a server's bytes to the JSON texts that `reply.rs` reads.
//!
//! All three providers speak it. Whatever a server sends is counted after decompression, line by line and in all, so that
//! no answer takes more memory or time than it may.

use std::fmt;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::failure::{self, Failure, is_html};
use super::reply::malformed;
use super::server::Server;
use super::{Error, Message, OutputFormat, Part, Request, Text, ToolCall, ToolChoice, ToolSpec};
use crate::domain::ModelName;
use crate::net;

/// Bytes of a whole answer.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// Bytes of an error that are read; the rest says nothing new.
const MAX_ERROR: usize = 1024 * 1024;
/// For reading an error, which need not be complete.
const ERROR_TIME: Duration = Duration::from_secs(10);
/// Bytes of one line of a stream.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Bytes of a stream for each token that the model may write: servers wrap each in half a kilobyte of JSON.
const STREAM_BYTES_PER_TOKEN: usize = 1024;

/// Makes one call and returns the body of its answer.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(super) async fn call(server: &Server, request: &Request) -> Result<Vec<u8>, Failure> {
    let response = send(server, request, false).await?;
    net::read_body(response, MAX_ANSWER).await.map_err(|problem| match problem {
        net::Error::TooLarge { max_bytes } => too_long(&request.model, "its answer", max_bytes),
        other => unreachable_server(&request.model, other),
    })
}

/// Begins a streamed call, which ends at `ends` and never pauses for longer than `idle`.
pub(super) async fn stream(
    server: &Server,
    request: &Request,
    idle: Duration,
    ends: Instant,
) -> Result<Frames, Failure> {
    let begun = tokio::time::timeout_at(ends.min(Instant::now() + idle), send(server, request, true)).await;
    let response = begun.map_err(|_| Error::Timeout { model: request.model.clone() })??;
    let max_bytes = MAX_ANSWER.max(STREAM_BYTES_PER_TOKEN.saturating_mul(request.max_tokens as usize));
    Ok(Frames {
        response,
        lines: Lines::default(),
        left: max_bytes,
        max_bytes,
        idle,
        ends,
        model: request.model.clone(),
    })
}

/// The first `max` bytes of a body, or what of it came in time.
pub(super) async fn beginning(response: &mut reqwest::Response, max: usize, time: Duration) -> reqwest::Result<String> {
    let mut body = Vec::new();
    let read = async {
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk[..chunk.len().min(max - body.len())]);
            if body.len() >= max {
                break;
            }
        }
        Ok(())
    };
    match tokio::time::timeout(time, read).await {
        Ok(Err(problem)) if body.is_empty() => Err(problem),
        _ => Ok(String::from_utf8_lossy(&body).into_owned()),
    }
}

async fn send(server: &Server, request: &Request, is_stream: bool) -> Result<reqwest::Response, Failure> {
    let model = &request.model;
    // Numbers, strings and maps with string keys: always JSON.
    let body = serde_json::to_vec(&Body::of(request, is_stream)).map_err(|problem| malformed(model, problem))?;
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.extend(server.headers().iter().map(|(name, value)| (name.clone(), value.clone())));
    let request = server.http.post(server.url("chat/completions")).headers(headers).body(body);
    let mut response = request.send().await.map_err(|problem| of_reqwest(model, &problem))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = std::mem::take(response.headers_mut());
    // An error that breaks off is still the error its status says.
    let body = beginning(&mut response, MAX_ERROR, ERROR_TIME).await.unwrap_or_default();
    Err(failure::of_status(model, status.as_u16(), &headers, &body))
}

fn too_long(model: &ModelName, what: &str, max: usize) -> Failure {
    Failure::lasting(malformed(model, format!("{what} is longer than {max} bytes")))
}

/// What is wrong with a body that is no JSON.
pub(super) fn not_json(model: &ModelName, body: &str, problem: &serde_json::Error) -> Error {
    if is_html(body) { malformed(model, "an HTML page") } else { malformed(model, problem) }
}

/// The chunks of one streamed answer as they came, without `[DONE]`.
pub(super) struct Frames {
    response: reqwest::Response,
    lines: Lines,
    /// Bytes that may come in all, and still.
    max_bytes: usize,
    left: usize,
    idle: Duration,
    ends: Instant,
    model: ModelName,
}

impl Frames {
    /// The next chunk; `None` at the end.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub(super) async fn next(&mut self) -> Option<Result<String, Failure>> {
        loop {
            match self.lines.event() {
                Some(data) if says_nothing(&data) => continue,
                Some(data) => return Some(Ok(data)),
                None => {}
            }
            match self.more().await {
                Ok(true) => {}
                Ok(false) => return self.lines.last_event().map(Ok),
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Takes in more bytes; `false` at the end.
    async fn more(&mut self) -> Result<bool, Failure> {
        let end = self.ends.min(Instant::now() + self.idle);
        let read = tokio::time::timeout_at(end, self.response.chunk()).await;
        let read = read.map_err(|_| Error::Timeout { model: self.model.clone() })?;
        let Some(chunk) = read.map_err(|problem| of_reqwest(&self.model, &problem))? else { return Ok(false) };
        let Some(left) = self.left.checked_sub(chunk.len()) else {
            return Err(too_long(&self.model, "its stream", self.max_bytes));
        };
        self.left = left;
        if self.lines.push(&chunk) { Ok(true) } else { Err(too_long(&self.model, "a line of its stream", MAX_LINE)) }
    }
}

/// Takes server-sent events apart, each byte once however they are cut.
#[derive(Default)]
struct Lines {
    buffer: BytesMut,
    /// Bytes of the buffer that are known to hold no end of a line.
    scanned: usize,
    /// The `data` of the event in progress; `None` when it has none yet.
    data: Option<String>,
}

impl Lines {
    /// Takes in more bytes; `false` when a line gets too long.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() - bytes.len() <= MAX_LINE
    }

    /// The data of the next event that is complete.
    fn event(&mut self) -> Option<String> {
        loop {
            let Some(length) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.buffer.len();
                return None;
            };
            let mut line = self.buffer.split_to(self.scanned + length);
            self.buffer.advance(1);
            self.scanned = 0;
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Some(data);
                }
            } else if let Some(value) = line.strip_prefix(b"data:") {
                self.add(value.strip_prefix(b" ").unwrap_or(value));
            }
        }
    }

    fn add(&mut self, value: &[u8]) {
        let value = String::from_utf8_lossy(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&value);
            }
            None => self.data = Some(value.into_owned()),
        }
    }

    /// What came before the end without an empty line behind it; half a line is nothing.
    fn last_event(&mut self) -> Option<String> {
        self.data.take().filter(|data| !says_nothing(data))
    }
}

/// Is it an empty event, or the mark of the end?
fn says_nothing(data: &str) -> bool {
    matches!(data, "" | "[DONE]")
}

/// The request as it is sent. What does not change from call to call comes first, where caches of prompts look.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    messages: Vec<Said<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, is_stream: bool) -> Self {
        let model = request.model.model.as_str();
        // OpenAI's newer models refuse the old name; most other servers know no other.
        let is_new = ["gpt-5", "gpt-6", "o1", "o3", "o4"].iter().any(|family| model.starts_with(family));
        Self {
            model,
            stream: is_stream,
            tools: request.tools.iter().map(tool).collect(),
            tool_choice: (!request.tools.is_empty()).then_some(request.tool_choice),
            messages: request.messages.iter().map(Said::of).collect(),
            response_format: response_format(&request.output),
            stream_options: is_stream.then(|| json!({"include_usage": true})),
            max_tokens: (!is_new).then_some(request.max_tokens),
            max_completion_tokens: is_new.then_some(request.max_tokens),
        }
    }
}

/// A message as it is sent.
#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Joined<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn of(message: &'a Message) -> Self {
        let said = |role, content| Self { role, content, tool_calls: Vec::new(), tool_call_id: None };
        match message {
            Message::System { content } => said("system", Joined::Parts(content)),
            Message::User { content } => said("user", Joined::Parts(content)),
            Message::Assistant { content, tool_calls } => Self {
                tool_calls: tool_calls.iter().map(history_call).collect(),
                ..said("assistant", Joined::One(content))
            },
            Message::Tool { call_id, content, .. } => {
                Self { tool_call_id: Some(call_id), ..said("tool", Joined::Parts(content)) }
            }
        }
    }
}

/// Text that is written in one piece without being copied.
enum Joined<'a> {
    One(&'a str),
    Parts(&'a Text),
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(text) => formatter.write_str(text),
            Self::Parts(text) => text.0.iter().map(Part::as_str).try_for_each(|part| formatter.write_str(part)),
        }
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A call of an earlier turn. Arguments that are no JSON object are replaced by `{}`, since llama.cpp answers 500 to
/// every request whose history has one.
fn history_call(call: &ToolCall) -> Value {
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
    let arguments = Value::Object(arguments).to_string();
    json!({"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}})
}

fn tool(spec: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = spec;
    let function = json!({"name": name, "description": description, "parameters": parameters, "strict": false});
    json!({"type": "function", "function": function})
}

fn response_format(output: &OutputFormat) -> Option<Value> {
    let OutputFormat::JsonSchema { name, schema } = output else { return None };
    let schema = strict(schema.clone());
    Some(json!({"type": "json_schema", "json_schema": {"name": name, "strict": true, "schema": schema}}))
}

/// The schema as strict servers want it: objects with all their properties and no others. Ours are shallow.
fn strict(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let names: Vec<_> = properties.keys().cloned().map(Value::String).collect();
        properties.values_mut().for_each(|property| *property = strict(property.take()));
        schema["required"] = Value::Array(names);
        schema["additionalProperties"] = Value::Bool(false);
    }
    if let Some(items) = schema.get_mut("items") {
        *items = strict(items.take());
    }
    schema
}

/// A request that got no answer. Its URL is left out: a base URL may have a password in it.
pub(super) fn of_reqwest(model: &ModelName, problem: &reqwest::Error) -> Failure {
    unreachable_server(model, net::Error::from(problem))
}

fn unreachable_server(model: &ModelName, problem: net::Error) -> Failure {
    Error::Transport { model: model.clone(), detail: problem.to_string() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for piece in pieces {
            assert!(lines.push(piece));
            events.extend(std::iter::from_fn(|| lines.event()));
        }
        events.extend(lines.last_event());
        events
    }

    #[test]
    fn events_are_taken_apart() {
        fn check(text: &str, expected: &[&str]) {
            assert_eq!(events([text.as_bytes()]), expected, "{text:?}");
        }
        check("data: a\n\ndata:b\r\n\r\n: ping\n\n", &["a", "b"]);
        check("event: x\ndata: a\ndata: b\nid: 7\n\n", &["a\nb"]);
        check("data: a\n", &["a"]);
        check("data: half", &[]);
        check("<html>\n\n", &[]);
        check("\n\n\ndata:\n\n", &[""]);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(text in "(data: ?[aä€]{0,3}|:|\r?\n|[x ]){0,20}", size in 1_usize..9) {
            prop_assert_eq!(events(text.as_bytes().chunks(size)), events([text.as_bytes()]));
        }
    }

    #[test]
    fn an_endless_line_is_not_kept() {
        let mut lines = Lines::default();
        let piece = [b'a'; 65_536];
        let mut kept = 0;
        while lines.push(&piece) {
            assert_eq!(lines.event(), None);
            kept += piece.len();
        }
        assert!(kept <= MAX_LINE + 2 * piece.len(), "{kept}");
    }

    #[test]
    fn nested_schemas_become_strict() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}}});
        let inner = json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false});
        let expected = json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"], "additionalProperties": false});
        assert_eq!(strict(schema), expected);
    }
}
