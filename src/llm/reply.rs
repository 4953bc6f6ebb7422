//! Reads Chat Completions answers, whole ones and streamed ones, into a [`Completion`].
//!
//! Forgiving, since small servers send what no document says: tool calls that the output limit cut off, calls without an
//! id or an `index`, error bodies with status 200, halves of characters. Bounded, whatever comes. Pure: JSON in, our words
//! out.

use serde::Deserialize;
use serde_json::Value;

use super::failure::{self, Failure};
use super::surrogates::{self, Joiner};
use super::thinking::{self, Filter};
use super::{Completion, Error, Request, StopReason, ToolCall, text_calls, wire};
use crate::domain::{ModelName, Usage};

/// Bytes of text that an answer may have for each token asked for: four times what text usually has.
const TEXT_BYTES_PER_TOKEN: usize = 16;
/// Bytes of text that any answer may have.
const MIN_TEXT: usize = 1024 * 1024;
/// Calls of one turn that are carried out; one more is kept to tell the model.
const MAX_CALLS: usize = 128;
/// Bytes of the arguments of one call.
const MAX_ARGUMENTS: usize = 256 * 1024;
/// Bytes of the arguments of all calls of a turn.
const MAX_TURN_ARGUMENTS: usize = 1024 * 1024;
/// So much of arguments that are too long is kept for people.
const SHOWN_ARGUMENTS: usize = 200;

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
    joiner: Joiner,
    filter: Filter,
    text: String,
    /// Bytes of text that have come, thinking included, and how many may.
    text_bytes: usize,
    max_text: usize,
    calls: Vec<OpenCall>,
    /// Calls that are not kept.
    left_out: usize,
    /// Index and id of the last of them.
    last_left_out: Option<(Option<usize>, String)>,
    /// Bytes of the arguments of all calls.
    argument_bytes: usize,
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
    joiner: Joiner,
    /// Bytes of arguments, those that are not kept included; none are for calls beyond the limits.
    bytes: usize,
    is_too_long: bool,
}

impl OpenCall {
    /// Adds a piece of the arguments, unless there is no room for it.
    fn take(&mut self, piece: &str, is_marked: bool, is_turn_full: bool) {
        self.bytes += piece.len();
        self.is_too_long |= is_turn_full || self.bytes > MAX_ARGUMENTS;
        if !self.is_too_long {
            self.arguments.push_str(&self.joiner.push(piece, is_marked));
        }
    }

    /// Why it is not carried out.
    fn problem(&self) -> Option<String> {
        let limits = format!("one call takes {MAX_ARGUMENTS} bytes, all calls of a turn {MAX_TURN_ARGUMENTS}");
        self.is_too_long.then(|| format!("the arguments are too long: {limits}"))
    }
}

impl From<text_calls::TextCall> for OpenCall {
    fn from(call: text_calls::TextCall) -> Self {
        let mut open = Self { name: call.name, ..Self::default() };
        open.take(&call.arguments, false, false);
        open
    }
}

/// Reads an answer that came in one piece.
///
/// # Errors
/// What the `error` field tells, [`Error::Refused`], or [`Error::Malformed`] for JSON that is no answer.
pub(super) fn read(mut assembly: Assembly, body: Vec<u8>) -> Result<Completion, Failure> {
    let body = String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let (mut body, is_marked) = parse(&body).map_err(|problem| wire::not_json(&assembly.model, &body, &problem))?;
    if body.error.is_null() && body.choices.as_ref().is_none_or(Vec::is_empty) {
        return Err(malformed(&assembly.model, "an answer without choices").into());
    }
    for message in body.choices.iter_mut().flatten().filter_map(|choice| choice.message.as_mut()) {
        let text = std::mem::take(&mut message.content).into_text();
        message.content = Content::Text(thinking::after_unopened(&text).to_owned());
        // Each a call of its own, whatever ids and indices the server gave them.
        for (index, piece) in message.tool_calls.iter_mut().flatten().enumerate() {
            piece.index = Some(index);
        }
    }
    assembly.add(body, is_marked)?;
    assembly.finish().map(|(completion, _)| completion)
}

/// The body, and whether it holds stand-ins for halves of characters.
fn parse(json: &str) -> serde_json::Result<(Body, bool)> {
    match surrogates::mark(json) {
        None => Ok((serde_json::from_str(json)?, false)),
        Some(marked) => Ok((serde_json::from_str(&marked)?, true)),
    }
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
            joiner: Joiner::default(),
            filter: Filter::default(),
            text: String::new(),
            text_bytes: 0,
            max_text: MIN_TEXT.max(TEXT_BYTES_PER_TOKEN.saturating_mul(request.max_tokens as usize)),
            calls: Vec::new(),
            left_out: 0,
            last_left_out: None,
            argument_bytes: 0,
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
    pub(super) fn add_chunk(&mut self, json: &str) -> Result<String, Failure> {
        let (body, is_marked) = parse(json).map_err(|problem| malformed(&self.model, problem))?;
        self.add(body, is_marked)
    }

    /// Has the model said that it is done?
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn add(&mut self, body: Body, is_marked: bool) -> Result<String, Failure> {
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
        let (refusal, content) = (message.refusal.unwrap_or_default(), message.content.into_text());
        self.text_bytes += refusal.len() + content.len();
        if self.text_bytes > self.max_text {
            let problem = format!("its text is longer than {} bytes", self.max_text);
            return Err(malformed(&self.model, problem).into());
        }
        self.refusal.push_str(&refusal);
        for piece in message.tool_calls.into_iter().flatten() {
            self.add_call(piece, is_marked);
        }
        let text = self.filter.push(&self.joiner.push(&content, is_marked));
        Ok(self.pass(text))
    }

    /// With tools on offer text is kept back to the end, since it may turn out to be a call.
    fn pass(&mut self, text: String) -> String {
        self.text.push_str(&text);
        if self.tools.is_empty() { text } else { String::new() }
    }

    fn add_call(&mut self, piece: CallPiece, is_marked: bool) {
        let id = piece.id.unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let call = match self.position(piece.index, &id, &name) {
            Some(position) => &mut self.calls[position],
            None if self.calls.len() > MAX_CALLS => return self.leave_out(piece.index, id, &name),
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
        let arguments = match function.arguments {
            Value::String(text) => text,
            Value::Null => return,
            other => other.to_string(),
        };
        self.argument_bytes += arguments.len();
        call.take(&arguments, is_marked, self.argument_bytes > MAX_TURN_ARGUMENTS);
    }

    /// Counts a call for which there is no room, once for all its pieces.
    fn leave_out(&mut self, index: Option<usize>, id: String, name: &str) {
        let begins = !id.is_empty() || !name.is_empty();
        let call = (index, id);
        if begins && self.last_left_out.as_ref() != Some(&call) {
            self.left_out += 1;
            self.last_left_out = Some(call);
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
    pub(super) fn finish_stream(self) -> Result<(Completion, usize), Failure> {
        let model = &self.model;
        match (self.is_finished(), self.chunks) {
            (true, _) => self.finish(),
            (false, 0) => Err(malformed(model, "the answer is no event stream").into()),
            (false, _) => {
                Err(Error::Transport { model: model.clone(), detail: "the stream ended early".to_owned() }.into())
            }
        }
    }

    /// The answer, and how many bytes of its text have been passed on.
    ///
    /// # Errors
    /// [`Error::Refused`] with the model's own words.
    fn finish(mut self) -> Result<(Completion, usize), Failure> {
        if self.finish.as_deref() == Some("error") {
            return Err(failure::broken_off(&self.model));
        }
        let passed = if self.tools.is_empty() { self.text.len() } else { 0 };
        self.text.push_str(&self.filter.push(self.joiner.finish()));
        self.text.push_str(&self.filter.finish());
        if !self.refusal.is_empty() && self.calls.is_empty() {
            return Err(Error::Refused { model: self.model, detail: self.refusal }.into());
        }
        if !self.tools.is_empty() && self.calls.is_empty() {
            let found = text_calls::take(&mut self.text, |name| self.tools.iter().any(|tool| tool == name));
            self.calls = found.into_iter().map(OpenCall::from).collect();
        }
        let tool_calls = closed(self.calls, self.turn, self.left_out);
        let stop = stop_reason(self.finish.as_deref(), !tool_calls.is_empty());
        Ok((Completion { text: self.text, tool_calls, stop, usage: self.usage, attempts: 1 }, passed))
    }
}

/// Calls with names trimmed and an id each that no other call of the conversation has. `turn` is the number of
/// messages before, so that the same answer gets the same ids again. The one that is too many says so.
fn closed(calls: Vec<OpenCall>, turn: usize, left_out: usize) -> Vec<ToolCall> {
    let mut closed: Vec<ToolCall> = Vec::with_capacity(calls.len());
    for mut call in calls {
        call.arguments.push_str(call.joiner.finish());
        if call.name.trim().is_empty() && call.arguments.trim().is_empty() && !call.is_too_long {
            continue;
        }
        let mut problem = call.problem();
        if problem.is_some() {
            call.arguments = call.arguments.chars().take(SHOWN_ARGUMENTS).collect();
        }
        if closed.len() == MAX_CALLS {
            let others = if left_out > 0 { format!(", and neither are {left_out} more") } else { String::new() };
            problem = Some(format!("one turn takes {MAX_CALLS} calls; this one is not carried out{others}"));
        }
        let taken = call.id.is_empty() || closed.iter().any(|earlier| earlier.id == call.id);
        let id = if taken { format!("call_{turn}_{}", closed.len()) } else { call.id };
        let arguments = surrogates::mend(&call.arguments).into_owned();
        closed.push(ToolCall { id, name: call.name.trim().to_owned(), arguments, problem });
        if closed.len() > MAX_CALLS {
            break;
        }
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
