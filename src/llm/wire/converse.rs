//! Amazon Bedrock's Converse, as the vendor's reference of November 2026 has it: one dialect for the models of many
//! vendors.
//!
//! A stream is made of binary frames, which [`transport`](crate::llm::transport) takes apart: what is read here is JSON
//! with one field, the frame's name.

use std::borrow::Cow;

use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::fields::{self, Word};
use super::turns::{self, Turn, called, instructions, turns};
use super::{
    Encoded, Joined, RawObject, Source, Strict, incomplete, object, segment, short_id, tool_name, unreadable, written,
};
use crate::domain::Usage;
use crate::llm::assembly::{Assembly, CallPiece, WireStop, malformed};
use crate::llm::failure::{self, Failure};
use crate::llm::quirks::Quirks;
use crate::llm::{OutputFormat, Request, ToolCall, ToolChoice, ToolSpec};

pub(super) fn encode(request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
    let method = if is_stream { "converse-stream" } else { "converse" };
    let path = format!("model/{}/{method}", segment(&request.model.model));
    let body = serde_json::to_vec(&Body::of(request, quirks))?;
    Ok(Encoded { path: path.into(), body })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<Block<'a>>>,
    inference_config: Inference,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<Named<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<Cow<'a, Map<String, Value>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inference {
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct Named<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
}

/// How the answer looks, and how much thought it gets. Models that know neither say so.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    structure: Structure<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Structure<'a> {
    JsonSchema { name: &'a str, schema: InText<'a> },
}

/// A schema as a text that holds JSON.
struct InText<'a>(Strict<'a>);

impl Serialize for InText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(&self.0).map_err(S::Error::custom)?)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    #[serde(rename_all = "camelCase")]
    ToolSpec { name: Cow<'a, str>, description: &'a str, input_schema: Schema<'a> },
}

#[derive(Serialize)]
struct Schema<'a> {
    json: Cow<'a, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Own(Own<'a>),
    /// As it came.
    Carried(&'a RawValue),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Own<'a> {
    Text(Joined<'a>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: RawObject<'a>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Own<'a>>,
    },
    CachePoint(Named<'a>),
}

impl<'a> turns::Block<'a> for Block<'a> {
    fn text(text: Joined<'a>) -> Self {
        Self::Own(Own::Text(text))
    }

    fn call(call: &'a ToolCall) -> Self {
        let (tool_use_id, input) = (id(&call.id), RawObject(&call.arguments));
        Self::Own(Own::ToolUse { tool_use_id, name: tool_name(&call.name), input })
    }

    fn takes_id(given: &str) -> bool {
        id(given) == given
    }

    fn result(call_id: &'a str, content: Joined<'a>) -> Self {
        Self::Own(Own::ToolResult { tool_use_id: id(call_id), content: vec![Own::Text(content)] })
    }

    fn carried(block: &'a RawValue) -> Self {
        Self::Carried(block)
    }
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, quirks: &Quirks) -> Self {
        let mut system: Vec<Block<'a>> = instructions(request);
        let mut messages: Vec<Turn<Block<'a>>> = turns(request);
        // A loop sends the same beginning again and again. Other models than these refuse the mark, or know none.
        if !request.tools.is_empty() && is_claude(request) {
            mark(&mut system);
            if let Some(last) = messages.last_mut() {
                mark(&mut last.content);
            }
        }
        let tools = tools(request);
        let is_closed = request.tools.is_empty() && !tools.is_empty();
        let choice = match request.tool_choice {
            _ if request.tools.is_empty() => None,
            ToolChoice::Required => Some(json!({ quirks.required: {} })),
            ToolChoice::Auto => Some(json!({"auto": {}})),
        };
        Self {
            tool_config: (!tools.is_empty()).then_some(ToolConfig { tools, tool_choice: choice }),
            system,
            messages,
            inference_config: Inference { max_tokens: request.max_tokens, temperature: request.sending.temperature() },
            service_tier: request.sending.service_tier().map(|kind| Named { kind }),
            output_config: OutputConfig::of(request),
            further: further(request, is_closed),
        }
    }
}

fn is_claude(request: &Request) -> bool {
    request.model.model.contains("anthropic.claude")
}

/// Returns what the operator has set of the body. `is_closed` says that tools are declared for the history alone: the
/// dialect has no word for that none may be called, and Claude's own is sent beside.
fn further(request: &Request, is_closed: bool) -> Option<Cow<'_, Map<String, Value>>> {
    let set = request.sending.body();
    if !is_closed || !is_claude(request) {
        return set.map(Cow::Borrowed);
    }
    let mut all = set.cloned().unwrap_or_default();
    let own = all.entry("additionalModelRequestFields").or_insert_with(|| json!({}));
    *field(own, "tool_choice") = json!({"type": "none"});
    Some(Cow::Owned(all))
}

impl<'a> OutputConfig<'a> {
    fn of(request: &'a Request) -> Option<Self> {
        let text_format = match &request.output {
            OutputFormat::Text => None,
            OutputFormat::JsonSchema { name, schema } => {
                let structure = Structure::JsonSchema { name, schema: InText(Strict(schema)) };
                Some(Format { kind: "json_schema", structure })
            }
        };
        let effort = request.sending.effort();
        (text_format.is_some() || effort.is_some()).then_some(Self { text_format, effort })
    }
}

/// Lets the cache keep everything up to here.
fn mark(blocks: &mut Vec<Block<'_>>) {
    if !blocks.is_empty() {
        blocks.push(Block::Own(Own::CachePoint(Named { kind: "default" })));
    }
}

/// Returns the tools on offer; where there are none, those that the conversation has calls of.
fn tools(request: &Request) -> Vec<Tool<'_>> {
    if !request.tools.is_empty() {
        return request.tools.iter().map(Tool::of).collect();
    }
    let any = |name| Tool::ToolSpec {
        name,
        description: "Not to be called any more.",
        input_schema: Schema { json: Cow::Owned(json!({"type": "object"})) },
    };
    called(request).into_iter().map(any).collect()
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        // An empty description is refused.
        let description = if spec.description.is_empty() { &spec.name } else { &spec.description };
        Self::ToolSpec {
            name: (&spec.name).into(),
            description,
            input_schema: Schema { json: Cow::Borrowed(&*spec.parameters) },
        }
    }
}

/// Returns the id as this dialect takes it: of letters, digits and some marks, at most 64 of them.
fn id(id: &str) -> Cow<'_, str> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    let fits = (1..=64).contains(&id.len()) && id.bytes().all(is_letter);
    if fits { id.into() } else { short_id(id) }
}

/// What is kept of a stream while it is read.
#[derive(Debug, Default)]
pub(in crate::llm) struct State {
    /// The blocks so far, to be carried, by their index; arguments of calls as text.
    blocks: Vec<(usize, Value, String)>,
    is_marked: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    #[serde(default)]
    output: Value,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
}

pub(super) fn whole(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let mut answer: Whole = source.read().map_err(|problem| unreadable(json, assembly, &problem))?;
    let Value::Array(blocks) = answer.output["message"]["content"].take() else {
        return Err(incomplete(json, "content", assembly));
    };
    state.is_marked = source.is_marked();
    for (index, block) in blocks.into_iter().enumerate() {
        state.take_block(index, block, assembly)?;
    }
    if let Some(usage) = usage(answer.usage) {
        assembly.count(usage);
    }
    state.stop(answer.stop_reason.as_deref().unwrap_or("end_turn"), assembly);
    Ok(())
}

/// A frame under its name, or what the vendor calls an exception.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    content_block_start: Option<Start>,
    #[serde(borrow)]
    content_block_delta: Option<Piece<'a>>,
    message_stop: Option<End>,
    metadata: Option<Metadata>,
    exception: Option<String>,
    #[serde(default)]
    message: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    content_block_index: usize,
    #[serde(default)]
    start: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(default)]
    content_block_index: usize,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Word<'a>>,
    #[serde(borrow)]
    tool_use: Option<Arguments<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Thought<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    input: Word<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thought<'a> {
    #[serde(borrow)]
    text: Option<Word<'a>>,
    #[serde(borrow)]
    signature: Option<Word<'a>>,
    #[serde(borrow)]
    redacted_content: Option<Word<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct End {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    usage: Value,
}

pub(super) fn event(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let event: Event<'_> = source.read().map_err(|problem| malformed(assembly.model(), problem))?;
    state.is_marked |= source.is_marked();
    if let Some(exception) = &event.exception {
        return Err(failure::of_exception(assembly.model(), exception, &event.message));
    }
    if let Some(Start { content_block_index, start }) = event.content_block_start {
        state.take_block(content_block_index, start, assembly)?;
    }
    if let Some(Piece { content_block_index, delta }) = event.content_block_delta {
        state.add(content_block_index, delta.unwrap_or_default(), assembly)?;
    }
    if let Some(usage) = event.metadata.and_then(|metadata| usage(metadata.usage)) {
        assembly.count(usage);
    }
    if let Some(End { stop_reason }) = event.message_stop {
        state.stop(stop_reason.as_deref().unwrap_or("end_turn"), assembly);
    }
    Ok(())
}

impl State {
    /// Takes in a block, whole or at its beginning.
    fn take_block(&mut self, index: usize, block: Value, assembly: &mut Assembly) -> Result<(), Failure> {
        let mut arguments = String::new();
        if let Some(text) = block["text"].as_str() {
            assembly.say(text, self.is_marked)?;
        } else if let Some(call) = block.get("toolUse") {
            let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
            arguments = call.get("input").map(written).unwrap_or_default();
            let (id, name) = (word("toolUseId"), word("name"));
            assembly.call(CallPiece { index: Some(index), id, name, arguments: &arguments }, self.is_marked);
        } else {
            assembly.think(&block.to_string())?;
        }
        self.blocks.push((index, block, arguments));
        Ok(())
    }

    /// Takes in a piece of a block; only those of calls are announced before.
    fn add(&mut self, index: usize, delta: Delta<'_>, assembly: &mut Assembly) -> Result<(), Failure> {
        let place = self.blocks.iter().position(|(known, ..)| *known == index).unwrap_or_else(|| {
            self.blocks.push((index, json!({}), String::new()));
            self.blocks.len() - 1
        });
        let Some((_, block, arguments)) = self.blocks.get_mut(place) else { return Ok(()) };
        if let Some(Word(text)) = delta.text {
            assembly.say(&text, self.is_marked)?;
            append(field(block, "text"), &text);
        }
        if let Some(Arguments { input: Word(piece) }) = delta.tool_use {
            let (id, name) = (String::new(), String::new());
            assembly.call(CallPiece { index: Some(index), id, name, arguments: &piece }, self.is_marked);
            assembly.think(&piece)?;
            arguments.push_str(&piece);
        }
        if let Some(Thought { text, signature, redacted_content }) = delta.reasoning_content {
            for (name, piece) in [("text", text), ("signature", signature)] {
                if let Some(Word(piece)) = piece {
                    assembly.think(&piece)?;
                    append(field(field(field(block, "reasoningContent"), "reasoningText"), name), &piece);
                }
            }
            if let Some(Word(piece)) = redacted_content {
                assembly.think(&piece)?;
                append(field(field(block, "reasoningContent"), "redactedContent"), &piece);
            }
        }
        Ok(())
    }

    fn stop(&mut self, reason: &str, assembly: &mut Assembly) {
        assembly.stop(match reason {
            "max_tokens" | "model_context_window_exceeded" => WireStop::Length,
            "guardrail_intervened" | "content_filtered" => WireStop::Refused,
            "malformed_model_output" | "malformed_tool_use" => WireStop::Broken,
            _ => WireStop::End,
        });
        let thinks = self.blocks.iter().any(|(_, block, _)| block.get("reasoningContent").is_some());
        if thinks && !self.is_marked {
            let blocks: Vec<Value> = std::mem::take(&mut self.blocks).into_iter().map(closed).collect();
            assembly.carry(Value::from(blocks).to_string());
        }
    }
}

/// Returns a block as it goes back: the arguments of a call are an object.
fn closed((_, mut block, arguments): (usize, Value, String)) -> Value {
    if let Some(call) = block.get_mut("toolUse") {
        *field(call, "input") = object(&arguments);
    }
    block
}

/// Returns the field of that name; what is no object becomes one, since a server may send anything.
fn field<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[name]
}

fn append(value: &mut Value, more: &str) {
    match value {
        Value::String(text) => text.push_str(more),
        other => *other = more.into(),
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawUsage {
    #[serde(default, deserialize_with = "fields::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cache_write_input_tokens: Option<u64>,
}

/// Reads what a call used. Counts that cannot be read are no reason to lose a paid answer. Cached tokens are counted
/// beside the others.
fn usage(raw: Value) -> Option<Usage> {
    let raw: RawUsage = serde_json::from_value(Some(raw).filter(Value::is_object)?).ok()?;
    let counts = [raw.input_tokens, raw.cache_read_input_tokens, raw.cache_write_input_tokens];
    Some(Usage {
        input_tokens: counts.into_iter().flatten().fold(0, u64::saturating_add),
        cached_tokens: raw.cache_read_input_tokens.unwrap_or_default(),
        cache_write_tokens: raw.cache_write_input_tokens.unwrap_or_default(),
        output_tokens: raw.output_tokens.unwrap_or_default(),
        ..Usage::default()
    })
}
