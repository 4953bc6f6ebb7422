//! Anthropic Messages, as the vendor's reference of November 2026 has it; other servers speak it too.
//!
//! What a model thought has to go back unchanged with its turn, so the blocks of such a turn are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

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

const HEADERS: &[(&str, &str)] = &[("anthropic-version", "2023-06-01")];

/// Returns the headers of the dialect. Where the body names the version, no header does.
pub(super) fn headers(quirks: &Quirks) -> &'static [(&'static str, &'static str)] {
    if quirks.versioned.is_none() { HEADERS } else { &[] }
}

pub(super) fn encode(request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
    let body = serde_json::to_vec(&Body::of(request, quirks, is_stream))?;
    if quirks.versioned.is_none() {
        return Ok(Encoded { path: "messages".into(), body });
    }
    let method = if is_stream { "streamRawPredict" } else { "rawPredict" };
    let path = format!("models/{}:{method}", segment(&request.model.model));
    Ok(Encoded { path: path.into(), body })
}

/// The request as it is sent: what caches of prompts look at stands in the order in which they look.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<Block<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
struct Choice {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: InputSchema<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputSchema<'a> {
    Known(&'a Value),
    Any {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: Strict<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Own(OwnBlock<'a>),
    /// As it came.
    Carried(&'a RawValue),
}

#[derive(Serialize)]
struct OwnBlock<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text { text: Joined<'a> },
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: RawObject<'a> },
    ToolResult { tool_use_id: Cow<'a, str>, content: Joined<'a> },
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> turns::Block<'a> for Block<'a> {
    fn text(text: Joined<'a>) -> Self {
        Self::own(Kind::Text { text })
    }

    fn call(call: &'a ToolCall) -> Self {
        Self::own(Kind::ToolUse { id: id(&call.id), name: tool_name(&call.name), input: RawObject(&call.arguments) })
    }

    fn takes_id(given: &str) -> bool {
        id(given) == given
    }

    fn result(call_id: &'a str, content: Joined<'a>) -> Self {
        Self::own(Kind::ToolResult { tool_use_id: id(call_id), content })
    }

    fn carried(block: &'a RawValue) -> Self {
        Self::Carried(block)
    }
}

impl<'a> Block<'a> {
    fn own(kind: Kind<'a>) -> Self {
        Self::Own(OwnBlock { kind, cache_control: None })
    }
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, quirks: &Quirks, is_stream: bool) -> Self {
        let mut system: Vec<Block<'a>> = instructions(request);
        let mut messages: Vec<Turn<Block<'a>>> = turns(request);
        // A loop sends the same beginning again and again; a call that is made once would only pay for the mark.
        if !request.tools.is_empty() {
            mark(system.last_mut());
            mark(messages.last_mut().and_then(|turn| turn.content.last_mut()));
        }
        let tools = tools(request);
        let choice = match request.tool_choice {
            _ if request.tools.is_empty() => "none",
            ToolChoice::Required => quirks.required,
            ToolChoice::Auto => "auto",
        };
        let format = match &request.output {
            OutputFormat::Text => None,
            OutputFormat::JsonSchema { schema, .. } => Some(Format { kind: "json_schema", schema: Strict(schema) }),
        };
        let effort = request.sending.effort();
        Self {
            model: quirks.versioned.is_none().then_some(&request.model.model),
            anthropic_version: quirks.versioned,
            max_tokens: request.max_tokens,
            stream: is_stream,
            tool_choice: (!tools.is_empty()).then_some(Choice { kind: choice }),
            tools,
            system,
            messages,
            output_config: (format.is_some() || effort.is_some()).then_some(OutputConfig { format, effort }),
            temperature: request.sending.temperature(),
            service_tier: request.sending.service_tier(),
            further: request.sending.body(),
        }
    }
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let input_schema = InputSchema::Known(&spec.parameters);
        Self { name: (&spec.name).into(), description: &spec.description, input_schema }
    }
}

/// Returns the tools on offer; where there are none, those that the conversation has calls of.
fn tools(request: &Request) -> Vec<Tool<'_>> {
    if !request.tools.is_empty() {
        return request.tools.iter().map(Tool::of).collect();
    }
    let any = |name| Tool { name, description: "", input_schema: InputSchema::Any { kind: "object" } };
    called(request).into_iter().map(any).collect()
}

/// Lets the cache keep everything up to here. Blocks that were carried stay as they are.
fn mark(block: Option<&mut Block<'_>>) {
    if let Some(Block::Own(block)) = block {
        block.cache_control = Some(CacheControl { kind: "ephemeral" });
    }
}

/// Returns the id as this dialect takes it: of letters, digits, `_` and `-`.
fn id(id: &str) -> Cow<'_, str> {
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if fits { id.into() } else { short_id(id) }
}

/// What is kept of a stream while it is read.
#[derive(Debug, Default)]
pub(in crate::llm) struct State {
    /// The blocks so far, to be carried; arguments of calls as text.
    blocks: Vec<(Value, String)>,
    usage: RawUsage,
    is_marked: bool,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    content: Option<Vec<Value>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

pub(super) fn whole(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let answer: Whole = source.read().map_err(|problem| unreadable(json, assembly, &problem))?;
    let is_marked = source.is_marked();
    if !answer.error.is_null() {
        return Err(failure::of_error_field(assembly.model(), &answer.error));
    }
    let Some(blocks) = answer.content else {
        return Err(incomplete(json, "content", assembly));
    };
    state.is_marked = is_marked;
    for (index, block) in blocks.into_iter().enumerate() {
        state.begin(index, block, is_marked, assembly)?;
        state.end(index, assembly);
    }
    state.count(answer.usage, assembly);
    state.stop(answer.stop_reason.as_deref().unwrap_or("end_turn"), assembly);
    Ok(())
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Word<'a>,
    #[serde(default)]
    index: usize,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    content_block: Value,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

/// What comes to a block, or to the message.
#[derive(Default, Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Word<'a>,
    #[serde(borrow, default)]
    text: Word<'a>,
    #[serde(borrow, default)]
    thinking: Word<'a>,
    #[serde(borrow, default)]
    signature: Word<'a>,
    #[serde(borrow, default)]
    partial_json: Word<'a>,
    #[serde(borrow, default)]
    stop_reason: Word<'a>,
}

pub(super) fn event(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let mut event: Event<'_> = source.read().map_err(|problem| malformed(assembly.model(), problem))?;
    let is_marked = source.is_marked();
    let delta = event.delta.unwrap_or_default();
    state.is_marked |= is_marked;
    if !event.error.is_null() {
        return Err(failure::of_error_field(assembly.model(), &event.error));
    }
    match &*event.kind.0 {
        "message_start" => state.count(event.message["usage"].take(), assembly),
        "content_block_start" => state.begin(event.index, event.content_block, is_marked, assembly)?,
        "content_block_delta" => state.add(event.index, &delta, is_marked, assembly)?,
        "content_block_stop" => state.end(event.index, assembly),
        "message_delta" => {
            state.count(event.usage, assembly);
            if !delta.stop_reason.0.is_empty() {
                state.stop(&delta.stop_reason.0, assembly);
            }
        }
        // `ping`, `message_stop`, and whatever comes to be.
        _ => {}
    }
    Ok(())
}

impl State {
    /// Begins a block. Those that nobody knows are carried and say nothing.
    fn begin(&mut self, index: usize, block: Value, is_marked: bool, assembly: &mut Assembly) -> Result<(), Failure> {
        // Blocks come one behind another; what counts otherwise is no answer.
        if index != self.blocks.len() {
            return Err(malformed(assembly.model(), "blocks out of order").into());
        }
        let word = |name: &str| block[name].as_str().unwrap_or_default();
        match word("type") {
            "text" => assembly.say(word("text"), is_marked)?,
            "thinking" => assembly.think(word("thinking"))?,
            "tool_use" => {
                let (id, name) = (word("id").to_owned(), word("name").to_owned());
                // A stream begins with an empty one, and says what is in it piece by piece.
                let is_empty = block["input"].as_object().is_some_and(Map::is_empty);
                let arguments = if is_empty { String::new() } else { written(&block["input"]) };
                assembly.call(CallPiece { index: Some(index), id, name, arguments: &arguments }, is_marked);
                self.blocks.push((block, arguments));
                return Ok(());
            }
            _ => assembly.think(&block.to_string())?,
        }
        self.blocks.push((block, String::new()));
        Ok(())
    }

    fn add(
        &mut self,
        index: usize,
        delta: &Piece<'_>,
        is_marked: bool,
        assembly: &mut Assembly,
    ) -> Result<(), Failure> {
        let Some((block, arguments)) = self.blocks.get_mut(index) else { return Ok(()) };
        match &*delta.kind.0 {
            "text_delta" => {
                assembly.say(&delta.text.0, is_marked)?;
                append(block, "text", &delta.text.0);
            }
            "thinking_delta" => {
                assembly.think(&delta.thinking.0)?;
                append(block, "thinking", &delta.thinking.0);
            }
            "signature_delta" => {
                assembly.think(&delta.signature.0)?;
                append(block, "signature", &delta.signature.0);
            }
            "input_json_delta" => {
                let (id, name) = (String::new(), String::new());
                let piece = &*delta.partial_json.0;
                assembly.call(CallPiece { index: Some(index), id, name, arguments: piece }, is_marked);
                assembly.think(piece)?;
                arguments.push_str(piece);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, index: usize, assembly: &mut Assembly) {
        let Some((block, arguments)) = self.blocks.get_mut(index) else { return };
        if block["type"] != "tool_use" {
            return;
        }
        if arguments.is_empty() {
            let piece = CallPiece { index: Some(index), id: String::new(), name: String::new(), arguments: "{}" };
            assembly.call(piece, false);
        } else {
            block["input"] = object(arguments);
        }
    }

    /// Takes counts, which are running totals: the later one replaces the earlier one, where it is given.
    fn count(&mut self, usage: Value, assembly: &mut Assembly) {
        let Ok(later) = serde_json::from_value::<RawUsage>(usage) else { return };
        let own = &mut self.usage;
        own.input_tokens = later.input_tokens.or(own.input_tokens);
        own.cache_read_input_tokens = later.cache_read_input_tokens.or(own.cache_read_input_tokens);
        own.cache_creation_input_tokens = later.cache_creation_input_tokens.or(own.cache_creation_input_tokens);
        own.output_tokens = later.output_tokens.or(own.output_tokens);
        own.output_tokens_details = later.output_tokens_details.or(own.output_tokens_details);
        let (read, written) = (own.cache_read_input_tokens, own.cache_creation_input_tokens);
        // Cached tokens are counted beside the others.
        let input = [own.input_tokens, read, written].into_iter().flatten().fold(0, u64::saturating_add);
        assembly.count(Usage {
            input_tokens: input,
            cached_tokens: read.unwrap_or_default(),
            cache_write_tokens: written.unwrap_or_default(),
            searches: 0,
            output_tokens: own.output_tokens.unwrap_or_default(),
            reasoning_tokens: own.output_tokens_details.and_then(|details| details.thinking_tokens).unwrap_or_default(),
            cost: None,
        });
    }

    fn stop(&mut self, reason: &str, assembly: &mut Assembly) {
        assembly.stop(match reason {
            "max_tokens" | "model_context_window_exceeded" => WireStop::Length,
            "refusal" => WireStop::Refused,
            _ => WireStop::End,
        });
        let thinks =
            |block: &(Value, String)| matches!(block.0["type"].as_str(), Some("thinking" | "redacted_thinking"));
        if self.blocks.iter().any(thinks) && !self.is_marked {
            let blocks: Vec<Value> = std::mem::take(&mut self.blocks).into_iter().map(|(block, _)| block).collect();
            assembly.carry(Value::from(blocks).to_string());
        }
    }
}

fn append(block: &mut Value, field: &str, more: &str) {
    match &mut block[field] {
        Value::String(text) => text.push_str(more),
        other => *other = more.into(),
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct RawUsage {
    #[serde(default, deserialize_with = "fields::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "fields::count")]
    thinking_tokens: Option<u64>,
}
