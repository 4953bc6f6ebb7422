//! OpenAI's Responses, as the vendor's reference of November 2026 has it.
//!
//! Nothing is stored at the vendor's. What a model reasoned comes back encrypted and goes back with its turn, so the
//! items of such a turn are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{self, Word};
use super::{
    Encoded, Joined, Source, Strict, arguments, bounded_id, carried, incomplete, reasons, tool_name, unreadable,
};
use crate::domain::Usage;
use crate::llm::assembly::{Assembly, CallPiece, WireStop, malformed};
use crate::llm::failure::{self, Failure};
use crate::llm::quirks::Quirks;
use crate::llm::{Message, OutputFormat, Part, Request, Text, ToolChoice, ToolSpec};

/// The smallest output limit that is taken.
const LEAST_OUTPUT: u32 = 16;

pub(super) fn encode(request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
    let body = serde_json::to_vec(&Body::of(request, quirks, is_stream))?;
    Ok(Encoded { path: "responses".into(), body })
}

/// The request as it is sent. What does not change from call to call comes first, where caches of prompts look.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<&'a serde_json::Map<String, Value>>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// When it is left out, the schema is changed to a strict one.
    strict: bool,
}

#[derive(Serialize)]
struct TextConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    strict: bool,
    schema: Strict<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Said {
        role: &'static str,
        content: Joined<'a>,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    Output {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: Cow<'a, str>,
        output: Joined<'a>,
    },
    /// As it came.
    Carried(&'a RawValue),
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, quirks: &Quirks, is_stream: bool) -> Self {
        let model = request.model.model.as_str();
        let reasons = reasons(model) && !model.starts_with("gpt-5-chat");
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::Required => quirks.required,
        };
        let format = match &request.output {
            OutputFormat::Text => None,
            OutputFormat::JsonSchema { name, schema } => {
                Some(Format { kind: "json_schema", name, strict: true, schema: Strict(schema) })
            }
        };
        let sending = &request.sending;
        let verbosity = sending.verbosity();
        Self {
            model,
            stream: is_stream,
            store: false,
            max_output_tokens: request.max_tokens.max(LEAST_OUTPUT),
            include: if reasons { &["reasoning.encrypted_content"] } else { &[] },
            tools: request.tools.iter().map(Tool::of).collect(),
            tool_choice: (!request.tools.is_empty()).then_some(choice),
            text: (format.is_some() || verbosity.is_some()).then_some(TextConfig { format, verbosity }),
            reasoning: sending.effort().map(|effort| Reasoning { effort }),
            temperature: sending.temperature(),
            service_tier: sending.service_tier(),
            prompt_cache_key: sending.cache_key.as_deref().filter(|_| quirks.cache_key),
            further: sending.body(),
            input: request.messages.iter().flat_map(|message| items(message, request, quirks)).collect(),
        }
    }
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec;
        Self { kind: "function", name, description, parameters, strict: false }
    }
}

fn items<'a>(message: &'a Message, request: &Request, quirks: &Quirks) -> Vec<Item<'a>> {
    let id = |id: &'a str| bounded_id(id, quirks.longest_id);
    match message {
        Message::System { content } => said("developer", content),
        Message::User { content } => said("user", content),
        Message::Assistant { content, tool_calls, .. } => {
            // Items that came with longer ids are refused as they came.
            let fits = tool_calls.iter().all(|call| call.id.len() <= quirks.longest_id);
            if let Some(items) = carried(message, request).filter(|_| fits) {
                return items.into_iter().map(Item::Carried).collect();
            }
            let text = (!content.is_empty()).then_some(Item::Said { role: "assistant", content: Joined::One(content) });
            let calls = tool_calls.iter().map(|call| Item::Call {
                kind: "function_call",
                call_id: id(&call.id),
                name: tool_name(&call.name),
                arguments: arguments(&call.arguments),
            });
            text.into_iter().chain(calls).collect()
        }
        Message::Tool { call_id, content, .. } => {
            vec![Item::Output { kind: "function_call_output", call_id: id(call_id), output: Joined::Parts(content) }]
        }
    }
}

fn said<'a>(role: &'static str, content: &'a Text) -> Vec<Item<'a>> {
    let is_empty = content.0.iter().map(Part::as_str).all(str::is_empty);
    if is_empty { Vec::new() } else { vec![Item::Said { role, content: Joined::Parts(content) }] }
}

/// What is kept of a stream while it is read.
#[derive(Debug, Default)]
pub(in crate::llm) struct State {
    /// The items so far, to be carried.
    items: Vec<Value>,
    /// Whether any item has come as a whole, and whether text has come in pieces since the last one did.
    has_items: bool,
    has_pieces: bool,
    is_marked: bool,
}

#[derive(Default, Deserialize)]
struct Answer {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    output: Option<Vec<Value>>,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    incomplete_details: Value,
    #[serde(default)]
    usage: Value,
}

pub(super) fn whole(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let mut answer: Answer = source.read().map_err(|problem| unreadable(json, assembly, &problem))?;
    let is_marked = source.is_marked();
    if answer.error.is_null() && answer.output.is_none() {
        return Err(incomplete(json, "output", assembly));
    }
    state.is_marked = is_marked;
    state.take_output(&mut answer, assembly)?;
    state.end(answer, assembly)
}

/// Takes in the texts of a message, and its refusals.
fn say(item: &Value, is_marked: bool, assembly: &mut Assembly) -> Result<(), Failure> {
    let parts = item["content"].as_array().filter(|_| item["type"] == "message");
    for part in parts.into_iter().flatten() {
        match part["type"].as_str() {
            Some("output_text") => assembly.say(part["text"].as_str().unwrap_or_default(), is_marked)?,
            Some("refusal") => assembly.refuse(part["refusal"].as_str().unwrap_or_default())?,
            _ => {}
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Word<'a>,
    #[serde(default)]
    output_index: usize,
    #[serde(borrow, default)]
    delta: Word<'a>,
    #[serde(default)]
    item: Value,
    #[serde(default)]
    response: Option<Answer>,
    #[serde(default)]
    error: Value,
}

pub(super) fn event(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let event: Event<'_> = source.read().map_err(|problem| malformed(assembly.model(), problem))?;
    let is_marked = source.is_marked();
    state.is_marked |= is_marked;
    if !event.error.is_null() {
        return Err(failure::of_error_field(assembly.model(), &event.error));
    }
    let delta = &*event.delta.0;
    match &*event.kind.0 {
        "response.output_text.delta" => {
            state.has_pieces = true;
            assembly.say(delta, is_marked)
        }
        "response.refusal.delta" => {
            state.has_pieces = true;
            assembly.refuse(delta)
        }
        // Its fields stand at the top.
        "error" => {
            let error: Value = serde_json::from_str(json).unwrap_or_default();
            Err(failure::of_error_field(assembly.model(), &error))
        }
        "response.output_item.done" => {
            // A gateway that streams what its provider gave it as a whole may leave the pieces out.
            if event.item["type"] == "message" && !std::mem::take(&mut state.has_pieces) {
                say(&event.item, is_marked, assembly)?;
            }
            state.take_item(event.output_index, event.item, is_marked, assembly)
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            let mut answer = event.response.unwrap_or_default();
            // Or the items as well: then all of it comes at the end. What was cut off after pieces of it is no call.
            let is_whole = match &*event.kind.0 {
                "response.completed" => true,
                kind => kind == "response.incomplete" && !state.has_pieces,
            };
            if is_whole && !state.has_items {
                state.take_output(&mut answer, assembly)?;
            }
            state.end(answer, assembly)
        }
        _ => Ok(()),
    }
}

impl State {
    /// Takes in the items of a whole answer.
    fn take_output(&mut self, answer: &mut Answer, assembly: &mut Assembly) -> Result<(), Failure> {
        for (index, item) in answer.output.take().into_iter().flatten().enumerate() {
            if !self.has_pieces {
                say(&item, self.is_marked, assembly)?;
            }
            self.take_item(index, item, self.is_marked, assembly)?;
        }
        Ok(())
    }

    /// Takes in an item that is complete. A call that was cut off is none.
    fn take_item(
        &mut self,
        index: usize,
        item: Value,
        is_marked: bool,
        assembly: &mut Assembly,
    ) -> Result<(), Failure> {
        self.has_items = true;
        let word = |name: &str| item[name].as_str().unwrap_or_default();
        if word("type") == "function_call" {
            let (id, name) = (word("call_id").to_owned(), word("name").to_owned());
            assembly.call(CallPiece { index: Some(index), id, name, arguments: word("arguments") }, is_marked);
        }
        // What goes back to no use stays here.
        if word("type") == "reasoning" && item["encrypted_content"].as_str().is_none_or(str::is_empty) {
            return Ok(());
        }
        assembly.think(word("encrypted_content"))?;
        self.items.push(item);
        Ok(())
    }

    fn end(&mut self, answer: Answer, assembly: &mut Assembly) -> Result<(), Failure> {
        if let Some(usage) = usage(answer.usage) {
            assembly.count(usage);
        }
        if !answer.error.is_null() {
            return Err(failure::of_error_field(assembly.model(), &answer.error).paid(assembly.usage()));
        }
        let reason = answer.incomplete_details["reason"].as_str();
        assembly.stop(match (answer.status.as_deref(), reason) {
            (Some("incomplete"), Some("content_filter")) => WireStop::Refused,
            (Some("incomplete"), _) => WireStop::Length,
            (Some("failed" | "cancelled"), _) => WireStop::Broken,
            _ => WireStop::End,
        });
        if self.items.iter().any(|item| item["type"] == "reasoning") && !self.is_marked {
            assembly.carry(Value::from(std::mem::take(&mut self.items)).to_string());
        }
        Ok(())
    }
}

#[derive(Default, Deserialize)]
struct RawUsage {
    #[serde(default, deserialize_with = "fields::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    input_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "fields::if_readable")]
    output_tokens_details: Option<Details>,
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
fn usage(raw: Value) -> Option<Usage> {
    let raw: RawUsage = serde_json::from_value(Some(raw).filter(Value::is_object)?).ok()?;
    let input = raw.input_tokens_details.unwrap_or_default();
    Some(Usage {
        input_tokens: raw.input_tokens.unwrap_or_default(),
        cached_tokens: input.cached_tokens.unwrap_or_default(),
        cache_write_tokens: input.cache_write_tokens.unwrap_or_default(),
        searches: 0,
        output_tokens: raw.output_tokens.unwrap_or_default(),
        reasoning_tokens: raw.output_tokens_details.unwrap_or_default().reasoning_tokens.unwrap_or_default(),
        cost: None,
    })
}
