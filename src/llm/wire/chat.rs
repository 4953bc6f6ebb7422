//! Chat Completions, as OpenAI's reference of November 2026 has it and as others speak it.
//!
//! Forgiving in reading, since small servers send what no document says: calls without an id or an `index`, arguments
//! as objects, errors with status 200.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{self, Content, First, Readable, Word};
use super::{
    Encoded, Joined, Source, Strict, arguments, bounded_id, carried, incomplete, kept, short_id, tool_name, unreadable,
};
use crate::domain::{Cost, Usage};
use crate::llm::assembly::{Assembly, CallPiece, WireStop, malformed};
use crate::llm::failure::{self, Failure};
use crate::llm::quirks::{Carries, Quirks};
use crate::llm::{Message, OutputFormat, Request, ToolCall, ToolChoice, ToolSpec, thinking};

/// What a model says to results before its user speaks.
const ANSWER_TO_RESULTS: &str = "OK.";

pub(super) fn encode(request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
    let body = serde_json::to_vec(&Body::of(request, quirks, is_stream))?;
    Ok(Encoded { path: "chat/completions".into(), body })
}

/// The request as it is sent. What does not change from call to call comes first, where caches of prompts look.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    messages: Vec<SentMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    output_limit: BTreeMap<&'static str, u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<&'a serde_json::Map<String, Value>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, quirks: &Quirks, is_stream: bool) -> Self {
        let model = request.model.model.as_str();
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::Required => quirks.required,
        };
        let sending = &request.sending;
        Self {
            model,
            stream: is_stream,
            tools: request.tools.iter().map(Tool::of).collect(),
            tool_choice: (!request.tools.is_empty()).then_some(choice),
            messages: said(request, quirks),
            response_format: Format::of(&request.output),
            stream_options: (is_stream && quirks.stream_options).then_some(StreamOptions { include_usage: true }),
            output_limit: [(quirks.output_limit.field(model), request.max_tokens)].into(),
            reasoning_effort: sending.effort(),
            verbosity: sending.verbosity(),
            temperature: sending.temperature(),
            service_tier: sending.service_tier(),
            prompt_cache_key: sending.cache_key.as_deref().filter(|_| quirks.cache_key),
            further: sending.body(),
        }
    }
}

/// A message as it is sent.
#[derive(Serialize)]
struct SentMessage<'a> {
    role: &'static str,
    content: Joined<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Called<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(flatten)]
    reasoning: Option<Reasoning<'a>>,
}

/// What a turn's reasoning was, as its provider sent it.
#[derive(Serialize)]
#[serde(untagged)]
enum Reasoning<'a> {
    Text { reasoning_content: &'a RawValue },
    NoText { reasoning_content: &'static str },
    Details { reasoning_details: Vec<&'a RawValue> },
}

impl<'a> Reasoning<'a> {
    fn of(message: &'a Message, request: &Request, quirks: &Quirks) -> Option<Self> {
        let has_calls = matches!(message, Message::Assistant { tool_calls, .. } if !tool_calls.is_empty());
        match (quirks.carries, carried(message, request)) {
            (Carries::Nothing, _) | (Carries::ReasoningDetails, None) => None,
            (Carries::ReasoningDetails, Some(reasoning_details)) => Some(Self::Details { reasoning_details }),
            (Carries::ReasoningContent, items) => match items.as_deref() {
                Some([reasoning_content, ..]) => Some(Self::Text { reasoning_content }),
                // A turn of another model, which is refused without the field.
                _ => has_calls.then_some(Self::NoText { reasoning_content: "" }),
            },
        }
    }
}

/// Returns the conversation. What a user says in several messages is one: Perplexity refuses two in a row, and so do
/// the templates of some models on servers of one's own.
fn said<'a>(request: &'a Request, quirks: &Quirks) -> Vec<SentMessage<'a>> {
    let mut all: Vec<SentMessage<'a>> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let next = SentMessage::of(message, request, quirks);
        let before = all.last().map(|last| last.role);
        if before == Some("tool") && next.role == "user" && quirks.answers_results {
            all.push(SentMessage::new("assistant", Joined::One(ANSWER_TO_RESULTS)));
        }
        match all.pop_if(|last| last.role == "user" && next.role == "user") {
            Some(last) => all.push(SentMessage::new("user", last.content.and(next.content))),
            None => all.push(next),
        }
    }
    all
}

impl<'a> SentMessage<'a> {
    fn new(role: &'static str, content: Joined<'a>) -> Self {
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None, reasoning: None }
    }

    fn of(message: &'a Message, request: &Request, quirks: &Quirks) -> Self {
        match message {
            Message::System { content } => Self::new("system", Joined::Parts(content)),
            Message::User { content } => Self::new("user", Joined::Parts(content)),
            Message::Assistant { content, tool_calls, .. } => Self {
                tool_calls: called(message, tool_calls, request, quirks),
                reasoning: Reasoning::of(message, request, quirks),
                ..Self::new("assistant", Joined::One(content))
            },
            Message::Tool { call_id, content, .. } => {
                Self { tool_call_id: Some(id(call_id, quirks)), ..Self::new("tool", Joined::Parts(content)) }
            }
        }
    }
}

fn id<'a>(id: &'a str, quirks: &Quirks) -> Cow<'a, str> {
    if quirks.short_ids { short_id(id) } else { bounded_id(id, quirks.longest_id) }
}

/// A call of an earlier turn.
#[derive(Serialize)]
struct Called<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: Cow<'a, str>,
    function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    /// JSON as a text.
    arguments: &'a str,
}

/// Returns the calls of a turn, each with what came beside it from the provider that is asked.
fn called<'a>(message: &'a Message, calls: &'a [ToolCall], request: &Request, quirks: &Quirks) -> Vec<Called<'a>> {
    let items = if quirks.carries == Carries::Nothing { kept(message, request) } else { None };
    let items = items.unwrap_or_default();
    let beside = |place: usize| items.get(place).copied().filter(|item| item.get() != "null");
    calls.iter().enumerate().map(|(place, call)| Called::of(call, beside(place), quirks)).collect()
}

impl<'a> Called<'a> {
    fn of(call: &'a ToolCall, extra_content: Option<&'a RawValue>, quirks: &Quirks) -> Self {
        let function = CalledFunction { name: tool_name(&call.name), arguments: arguments(&call.arguments) };
        Self { kind: "function", id: id(&call.id, quirks), function, extra_content }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec;
        Self { kind: "function", function: Function { name, description, parameters, strict: false } }
    }
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: Schema<'a>,
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'a str,
    strict: bool,
    schema: Strict<'a>,
}

impl<'a> Format<'a> {
    fn of(output: &'a OutputFormat) -> Option<Self> {
        let OutputFormat::JsonSchema { name, schema } = output else { return None };
        let json_schema = Schema { name, strict: true, schema: Strict(schema) };
        Some(Self { kind: "json_schema", json_schema })
    }
}

/// An answer, or one chunk of a streamed one.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    choices: Option<First<Choice<'a>>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
    #[serde(borrow, default)]
    object: Word<'a>,
}

impl Answer<'_> {
    /// Returns whether it is an error whose fields stand at the top, as vLLM sends them.
    fn is_error(&self) -> bool {
        self.object.0 == "error"
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Spoken<'a>>,
    /// What chunks have in place of `message`.
    #[serde(borrow, default)]
    delta: Option<Spoken<'a>>,
    #[serde(borrow, default)]
    finish_reason: Word<'a>,
    /// A router's place for an error of the provider behind it.
    #[serde(default)]
    error: Value,
}

/// Reasoning is no part of the answer; what of it goes back with the turn is kept where the provider wants it.
#[derive(Default, Deserialize)]
struct Spoken<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    refusal: Word<'a>,
    #[serde(default)]
    tool_calls: Readable<Piece>,
    #[serde(borrow, default)]
    reasoning_content: Word<'a>,
    #[serde(default)]
    reasoning_details: Value,
}

/// What is kept of an answer while it is read.
#[derive(Debug)]
pub(in crate::llm) struct State {
    quirks: Quirks,
    /// Reasoning so far, to be carried: one text, or a list of details.
    reasoning: Vec<Value>,
    /// What came beside calls by their places, to be carried where no reasoning is.
    beside: BTreeMap<usize, Box<RawValue>>,
    is_marked: bool,
}

impl State {
    pub(super) fn new(quirks: Quirks) -> Self {
        Self { quirks, reasoning: Vec::new(), beside: BTreeMap::new(), is_marked: false }
    }

    fn think(&mut self, text: &str, details: Value, assembly: &mut Assembly) -> Result<(), Failure> {
        match self.quirks.carries {
            Carries::Nothing => {}
            Carries::ReasoningContent if text.is_empty() => {}
            Carries::ReasoningContent => {
                assembly.think(text)?;
                match self.reasoning.first_mut() {
                    Some(Value::String(before)) => before.push_str(text),
                    _ => self.reasoning.push(text.into()),
                }
            }
            Carries::ReasoningDetails => {
                let Value::Array(details) = details else { return Ok(()) };
                for detail in details {
                    self.take_detail(detail, assembly)?;
                }
            }
        }
        Ok(())
    }

    /// Takes a detail, or a further piece of the last one, of which only what is new counts: each piece repeats the
    /// rest, which is longer than a word of a thought.
    fn take_detail(&mut self, detail: Value, assembly: &mut Assembly) -> Result<(), Failure> {
        let same = |last: &Value| last["type"] == detail["type"] && last["index"] == detail["index"];
        let last = self.reasoning.last_mut().filter(|last| detail["index"].is_u64() && same(last));
        let (Some(Value::Object(last)), Value::Object(fields)) = (last, &detail) else {
            assembly.think(&detail.to_string())?;
            self.reasoning.push(detail);
            return Ok(());
        };
        for (name, value) in fields {
            match (last.get_mut(name), value) {
                (Some(Value::String(before)), Value::String(more)) if GROWS.contains(&name.as_str()) => {
                    assembly.think(more)?;
                    before.push_str(more);
                }
                (Some(before), value) if before == value => {}
                (_, Value::Null) => {}
                _ => {
                    assembly.think(name)?;
                    assembly.think(&value.to_string())?;
                    last.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(())
    }

    /// Takes what came beside a call: Gemini's door has the signature of its thoughts there, and refuses the
    /// conversation without it.
    fn keep(&mut self, place: Option<usize>, extra: Box<RawValue>, assembly: &mut Assembly) -> Result<(), Failure> {
        assembly.think(extra.get())?;
        if let Some(place) = place.filter(|_| self.quirks.carries == Carries::Nothing) {
            self.beside.insert(place, extra);
        }
        Ok(())
    }

    /// Carries what goes back: only a turn with calls has to go back as it came.
    fn carry(&mut self, assembly: &mut Assembly) {
        if self.is_marked || !assembly.has_calls() {
            return;
        }
        if !self.reasoning.is_empty() {
            assembly.carry(Value::from(std::mem::take(&mut self.reasoning)).to_string());
        }
        let beside = std::mem::take(&mut self.beside);
        if let Some((last, _)) = beside.last_key_value() {
            let all: Vec<_> = (0..=*last).map(|place| beside.get(&place).map_or("null", |extra| extra.get())).collect();
            assembly.carry(format!("[{}]", all.join(",")));
        }
    }
}

/// Fields of a detail that come in pieces.
const GROWS: [&str; 3] = ["text", "summary", "data"];

#[derive(Deserialize)]
struct Piece {
    #[serde(default, deserialize_with = "fields::count")]
    index: Option<usize>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionPiece>,
    #[serde(default)]
    extra_content: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    #[serde(default, deserialize_with = "fields::if_readable")]
    name: Option<String>,
    /// JSON text, or from some servers the object itself.
    #[serde(default)]
    arguments: Value,
}

pub(super) fn whole(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let mut answer: Answer<'_> = source.read().map_err(|problem| unreadable(json, assembly, &problem))?;
    if answer.is_error() {
        return Err(failure::of_body(assembly.model(), json));
    }
    if answer.error.is_null() && answer.choices.as_ref().is_none_or(|choices| choices.0.is_none()) {
        return Err(incomplete(json, "choices", assembly));
    }
    let choice = answer.choices.as_mut().and_then(|choices| choices.0.as_mut());
    if let Some(message) = choice.and_then(|choice| choice.message.as_mut()) {
        message.content = Content(Cow::Owned(thinking::after_unopened(&message.content.0).to_owned()));
        // Each a call of its own, whatever ids and indices the server gave them.
        for (index, piece) in message.tool_calls.0.iter_mut().enumerate() {
            piece.index = Some(index);
        }
    }
    take_in(answer, source.is_marked(), state, assembly)
}

pub(super) fn event(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let answer: Answer<'_> = source.read().map_err(|problem| malformed(assembly.model(), problem))?;
    if answer.is_error() {
        return Err(failure::of_body(assembly.model(), json));
    }
    if let Some(error) = state.quirks.error_beside.and_then(|field| error_in(field, json)) {
        return Err(failure::of_error_field(assembly.model(), &error));
    }
    take_in(answer, source.is_marked(), state, assembly)
}

/// Ends an answer that its server marks as complete without a word on why the model stopped, as some do. One in which
/// nothing stands stays without an end.
pub(super) fn done(state: &mut State, assembly: &mut Assembly) {
    if !assembly.is_finished() && assembly.says_something() {
        assembly.stop(WireStop::End);
        state.carry(assembly);
    }
}

/// Returns the error inside a field of a provider's own.
fn error_in(field: &str, json: &str) -> Option<Value> {
    let chunk: Value = serde_json::from_str(Some(json).filter(|json| json.contains(field))?).ok()?;
    chunk.get(field)?.get("error").filter(|error| !error.is_null()).cloned()
}

fn take_in(answer: Answer<'_>, is_marked: bool, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    if !answer.error.is_null() {
        return Err(failure::of_error_field(assembly.model(), &answer.error));
    }
    if let Some(usage) = usage(answer.usage, &state.quirks) {
        assembly.count(usage);
    }
    let Some(choice) = answer.choices.and_then(|choices| choices.0) else { return Ok(()) };
    if !choice.error.is_null() {
        return Err(failure::of_error_field(assembly.model(), &choice.error));
    }
    if !choice.finish_reason.0.is_empty() {
        assembly.stop(stop(&choice.finish_reason.0));
    }
    let message = choice.delta.or(choice.message).unwrap_or_default();
    state.is_marked |= is_marked;
    state.think(&message.reasoning_content.0, message.reasoning_details, assembly)?;
    assembly.refuse(&message.refusal.0)?;
    assembly.say(&message.content.0, is_marked)?;
    for piece in message.tool_calls.0 {
        let function = piece.function.unwrap_or_default();
        let arguments = match function.arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let (id, name) = (piece.id.unwrap_or_default(), function.name.unwrap_or_default());
        let place = assembly.call(CallPiece { index: piece.index, id, name, arguments: &arguments }, is_marked);
        if let Some(extra) = piece.extra_content {
            state.keep(place, extra, assembly)?;
        }
    }
    if assembly.is_finished() {
        state.carry(assembly);
    }
    Ok(())
}

fn stop(reason: &str) -> WireStop {
    match reason {
        // The last is Z.ai's, as are `sensitive` and `network_error`.
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => WireStop::Length,
        "refusal" | "safety" | "sensitive" => WireStop::Refused,
        // Gemini's door says why behind it.
        filter if filter.starts_with("content_filter") => WireStop::Refused,
        // DeepSeek's, when its machines are full, and what vLLM and SGLang say of a call that was given up.
        "error" | "network_error" | "insufficient_system_resource" | "abort" => WireStop::Broken,
        _ => WireStop::End,
    }
}

#[derive(Default, Deserialize)]
struct RawUsage {
    #[serde(default, deserialize_with = "fields::count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    prompt_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    completion_tokens_details: Option<Details>,
    /// DeepSeek's.
    #[serde(default, deserialize_with = "fields::count")]
    prompt_cache_hit_tokens: Option<u64>,
    /// OpenRouter's, in dollars; what others call so is something else.
    #[serde(default)]
    cost: Value,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "fields::count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cache_write_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    reasoning_tokens: Option<u64>,
}

/// Reads what a call used. Counts that cannot be read are no reason to lose a paid answer.
fn usage(raw: Value, quirks: &Quirks) -> Option<Usage> {
    if raw.is_null() {
        return None;
    }
    let raw: RawUsage = serde_json::from_value(raw).ok()?;
    let prompt = raw.prompt_tokens_details.unwrap_or_default();
    let output = raw.completion_tokens_details.unwrap_or_default();
    let usage = Usage {
        input_tokens: raw.prompt_tokens.unwrap_or_default(),
        cached_tokens: prompt.cached_tokens.or(raw.prompt_cache_hit_tokens).unwrap_or_default(),
        cache_write_tokens: prompt.cache_write_tokens.unwrap_or_default(),
        searches: 0,
        output_tokens: raw.completion_tokens.unwrap_or_default(),
        reasoning_tokens: output.reasoning_tokens.unwrap_or_default(),
        cost: raw.cost.as_f64().and_then(Cost::reported),
    };
    Some(if quirks.counts_beside { with_what_is_beside(usage, raw.total_tokens) } else { usage })
}

/// Adds what is counted beside input and output: more cached tokens than the prompt has, and reasoning, unless the
/// total is complete without it.
fn with_what_is_beside(usage: Usage, total: Option<u64>) -> Usage {
    let Usage { input_tokens: prompt, cached_tokens: cached, output_tokens: completion, .. } = usage;
    let input_tokens = if cached > prompt { prompt.saturating_add(cached) } else { prompt };
    let is_complete = [prompt, input_tokens].iter().any(|input| total == Some(input.saturating_add(completion)));
    let beside = if is_complete { 0 } else { usage.reasoning_tokens };
    Usage { input_tokens, output_tokens: completion.saturating_add(beside), ..usage }
}
