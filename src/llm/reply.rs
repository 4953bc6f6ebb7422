//! Reads Chat Completions answers, whole ones and streamed ones, into a [`Completion`].
//!
//! Our own reading, since genai's drops or refuses what small servers really send: a tool call cut off by the output
//! limit makes its whole answer an error (`serde_json::from_str(&arguments)?`), so does a call without an id;
//! streamed calls without an `index` vanish; `refusal` is not read; an error body with status 200 is an empty answer.
//! Pure: JSON in, our words out.

use serde::Deserialize;
use serde_json::Value;

use super::failure;
use super::thinking::{self, Filter};
use super::{Completion, Error, Request, StopReason, ToolCall, text_calls};
use crate::domain::{ModelName, Usage};

/// An answer, or one chunk of a streamed one.
#[derive(Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    message: Option<Message>,
    /// What chunks have in place of `message`.
    #[serde(default)]
    delta: Option<Message>,
    #[serde(default)]
    finish_reason: Option<String>,
    /// OpenRouter's place for an error of the provider behind it.
    #[serde(default)]
    error: Value,
}

/// Reasoning fields (`reasoning`, `reasoning_content`, `reasoning_details`) are not listed, and so skipped.
#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// Mistral's typed chunks; those of type `thinking` have no `text`.
    Parts(Vec<ContentPart>),
    #[default]
    None,
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    #[serde(default)]
    name: Option<String>,
    /// JSON text, or from some servers the object itself.
    #[serde(default)]
    arguments: Value,
}

#[derive(Default, Deserialize)]
struct RawUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
            Self::None => String::new(),
        }
    }
}

/// Builds one answer from its pieces.
pub(super) struct Assembly {
    model: ModelName,
    /// Names of the tools on offer.
    tools: Vec<String>,
    /// Messages in the request.
    turn: usize,
    filter: Filter,
    text: String,
    calls: Vec<OpenCall>,
    refusal: String,
    finish: Option<String>,
    usage: Usage,
    chunks: u32,
}

/// A tool call still growing.
#[derive(Default)]
struct OpenCall {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl From<text_calls::TextCall> for OpenCall {
    fn from(call: text_calls::TextCall) -> Self {
        Self { name: call.name, arguments: call.arguments, ..Self::default() }
    }
}

/// Reads an answer that came in one piece.
///
/// # Errors
/// What the `error` field tells, [`Error::Refused`], or [`Error::Malformed`] for JSON that is no answer.
pub(super) fn read(request: &Request, body: Value) -> Result<Completion, Error> {
    let model = &request.model;
    let mut body: Body = serde_json::from_value(body).map_err(|problem| malformed(model, problem))?;
    if body.error.is_null() && body.choices.as_ref().is_none_or(Vec::is_empty) {
        return Err(malformed(model, "an answer without choices"));
    }
    for message in body.choices.iter_mut().flatten().filter_map(|choice| choice.message.as_mut()) {
        let text = std::mem::take(&mut message.content).into_text();
        message.content = Content::Text(thinking::after_unopened(&text).to_owned());
        // Each a call of its own, whatever ids and indices the server gave them.
        for (index, piece) in message.tool_calls.iter_mut().flatten().enumerate() {
            piece.index = Some(index);
        }
    }
    let mut assembly = Assembly::new(request);
    assembly.add(body)?;
    assembly.finish().map(|(completion, _)| completion)
}

pub(super) fn malformed(model: &ModelName, problem: impl ToString) -> Error {
    Error::Malformed { model: model.clone(), detail: problem.to_string() }
}

impl Assembly {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            model: request.model.clone(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            turn: request.messages.len(),
            filter: Filter::default(),
            text: String::new(),
            calls: Vec::new(),
            refusal: String::new(),
            finish: None,
            usage: Usage::default(),
            chunks: 0,
        }
    }

    /// Adds one chunk of a stream and returns the text that may be passed on; often empty.
    ///
    /// # Errors
    /// What an error chunk tells, or [`Error::Malformed`].
    pub(super) fn add_chunk(&mut self, json: &str) -> Result<String, Error> {
        let body = serde_json::from_str(json).map_err(|problem| malformed(&self.model, problem))?;
        self.add(body)
    }

    /// Has the model said that it is done?
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn add(&mut self, body: Body) -> Result<String, Error> {
        self.chunks += 1;
        if !body.error.is_null() {
            return Err(failure::of_error_field(&self.model, &body.error));
        }
        if let Some(usage) = read_usage(body.usage) {
            self.usage = usage;
        }
        let Some(choice) = body.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(String::new());
        };
        if !choice.error.is_null() {
            return Err(failure::of_error_field(&self.model, &choice.error));
        }
        self.finish = choice.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        let message = choice.delta.or(choice.message).unwrap_or_default();
        self.refusal.push_str(&message.refusal.unwrap_or_default());
        for piece in message.tool_calls.into_iter().flatten() {
            self.add_call(piece);
        }
        let text = self.filter.push(&message.content.into_text());
        Ok(self.pass(text))
    }

    /// With tools on offer text is kept back to the end, since it may turn out to be a call.
    fn pass(&mut self, text: String) -> String {
        self.text.push_str(&text);
        if self.tools.is_empty() { text } else { String::new() }
    }

    fn add_call(&mut self, piece: CallPiece) {
        let id = piece.id.unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let call = match self.position(piece.index, &id, &name) {
            Some(position) => &mut self.calls[position],
            None => {
                self.calls.push(OpenCall { index: piece.index, ..OpenCall::default() });
                let last = self.calls.len() - 1;
                &mut self.calls[last]
            }
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match function.arguments {
            Value::String(text) => call.arguments.push_str(&text),
            Value::Null => {}
            other => call.arguments.push_str(&other.to_string()),
        }
    }

    /// Which call a piece goes on with; `None` when it begins one. Gemini's door sends several calls under index 0
    /// and tells them apart by id; others send no index.
    fn position(&self, index: Option<usize>, id: &str, name: &str) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() && name.is_empty() => last,
            None => self.calls.iter().rposition(|call| !id.is_empty() && call.id == id)?,
        };
        let known = &self.calls[position].id;
        let another = !id.is_empty() && !known.is_empty() && known != id && !name.is_empty();
        (!another).then_some(position)
    }

    /// As [`finish`](Self::finish), for a stream that has ended.
    ///
    /// # Errors
    /// Also when the chunks stopped before the model did, or were none: a cut connection, or a page of a proxy.
    pub(super) fn finish_stream(self) -> Result<(Completion, String), Error> {
        let model = &self.model;
        match (self.is_finished(), self.chunks) {
            (true, _) => self.finish(),
            (false, 0) => Err(malformed(model, "the answer is no event stream")),
            (false, _) => Err(Error::Transport { model: model.clone(), detail: "the stream ended early".to_owned() }),
        }
    }

    /// The answer, and what of its text has not been passed on yet.
    ///
    /// # Errors
    /// [`Error::Refused`] with the model's own words.
    fn finish(mut self) -> Result<(Completion, String), Error> {
        if self.finish.as_deref() == Some("error") {
            let detail = "the provider broke off".to_owned();
            return Err(Error::Overloaded { model: self.model, detail });
        }
        let rest = self.filter.finish();
        self.text.push_str(&rest);
        if !self.refusal.is_empty() && self.calls.is_empty() {
            return Err(Error::Refused { model: self.model, detail: self.refusal });
        }
        if !self.tools.is_empty() && self.calls.is_empty() {
            let found = text_calls::take(&mut self.text, |name| self.tools.iter().any(|tool| tool == name));
            self.calls = found.into_iter().map(OpenCall::from).collect();
        }
        let tool_calls = closed(self.calls, self.turn);
        let rest = if self.tools.is_empty() { rest } else { self.text.clone() };
        let stop = stop_reason(self.finish.as_deref(), !tool_calls.is_empty());
        Ok((Completion { text: self.text, tool_calls, stop, usage: self.usage, attempts: 1 }, rest))
    }
}

/// Calls with names trimmed and an id each that no other call of the conversation has. `turn` is the number of
/// messages before, so that the same answer gets the same ids again.
fn closed(calls: Vec<OpenCall>, turn: usize) -> Vec<ToolCall> {
    let mut closed: Vec<ToolCall> = Vec::with_capacity(calls.len());
    for call in calls.into_iter().filter(|call| !call.name.trim().is_empty() || !call.arguments.trim().is_empty()) {
        let taken = call.id.is_empty() || closed.iter().any(|earlier| earlier.id == call.id);
        let id = if taken { format!("call_{turn}_{}", closed.len()) } else { call.id };
        closed.push(ToolCall { id, name: call.name.trim().to_owned(), arguments: call.arguments });
    }
    closed
}

fn stop_reason(finish: Option<&str>, has_calls: bool) -> StopReason {
    match finish {
        Some("length" | "max_tokens" | "model_length") => StopReason::Length,
        Some("content_filter" | "refusal" | "safety") => StopReason::Refused,
        _ if has_calls => StopReason::ToolCalls,
        _ => StopReason::End,
    }
}

/// Counts that cannot be read are no reason to lose a paid answer.
fn read_usage(raw: Value) -> Option<Usage> {
    if raw.is_null() {
        return None;
    }
    let raw: RawUsage = serde_json::from_value(raw).ok()?;
    let prompt = raw.prompt_tokens_details.unwrap_or_default();
    let output = raw.completion_tokens_details.unwrap_or_default();
    let usage = Usage {
        input_tokens: raw.prompt_tokens.unwrap_or_default(),
        cached_tokens: prompt.cached_tokens.unwrap_or_default(),
        output_tokens: raw.completion_tokens.unwrap_or_default(),
        reasoning_tokens: output.reasoning_tokens.unwrap_or_default(),
        cost: None,
    };
    Some(usage.believed())
}
