//! Gemini's `generateContent`, as the vendor's reference of November 2026 has it (of AI Studio and of Vertex AI).
//!
//! Parts of an answer may be signed, and the signatures have to go back on the very parts they came with, so the parts
//! of such a turn are carried as they came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{self, First};
use super::{
    Encoded, Joined, RawObject, Source, Strict, carried, incomplete, object, segment, tool_name, unreadable, written,
};
use crate::domain::Usage;
use crate::llm::assembly::{Assembly, CallPiece, WireStop, malformed};
use crate::llm::failure::{self, Failure};
use crate::llm::quirks::Quirks;
use crate::llm::{Error, Message, OutputFormat, Request, ToolChoice, ToolSpec};

/// Stands in for the signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The end of an answer to a conversation that lacks one: it would be given again.
const UNSIGNED_CALL: &str = "MISSING_THOUGHT_SIGNATURE";

pub(super) fn encode(request: &Request, quirks: &Quirks, is_stream: bool) -> serde_json::Result<Encoded> {
    let method = if is_stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let path = format!("models/{}:{method}", segment(&request.model.model));
    let body = serde_json::to_vec(&Body::of(request, quirks))?;
    Ok(Encoded { path: path.into(), body })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    contents: Vec<Content<'a>>,
    generation_config: Config<'a>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    further: Option<&'a serde_json::Map<String, Value>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: CallingMode,
}

#[derive(Serialize)]
struct CallingMode {
    mode: &'static str,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Text {
        text: Joined<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'static str>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: Response<'a>,
    },
    /// As it came.
    Carried(&'a RawValue),
}

#[derive(Serialize)]
struct Call<'a> {
    name: Cow<'a, str>,
    args: RawObject<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    /// Only when the call came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    output: Joined<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Strict<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    thinking_level: String,
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, quirks: &Quirks) -> Self {
        let mode = match request.tool_choice {
            ToolChoice::Auto => "AUTO",
            ToolChoice::Required => quirks.required,
        };
        let system: Vec<Part<'a>> = request.messages.iter().filter_map(instruction).collect();
        let declarations: Vec<_> = request.tools.iter().map(Declaration::of).collect();
        let schema = match &request.output {
            OutputFormat::Text => None,
            OutputFormat::JsonSchema { schema, .. } => Some(Strict(schema)),
        };
        Self {
            tool_config: (!declarations.is_empty())
                .then_some(ToolConfig { function_calling_config: CallingMode { mode } }),
            tools: if declarations.is_empty() {
                Vec::new()
            } else {
                vec![Tools { function_declarations: declarations }]
            },
            system_instruction: (!system.is_empty()).then_some(Instruction { parts: system }),
            contents: contents(request),
            generation_config: Config {
                max_output_tokens: request.max_tokens,
                response_mime_type: schema.as_ref().map(|_| "application/json"),
                response_json_schema: schema,
                temperature: request.sending.temperature(),
                // Gemini 2.5 knows no levels, and refuses them.
                thinking_config: request
                    .sending
                    .effort()
                    .filter(|_| !request.model.model.contains("gemini-2."))
                    .map(|effort| Thinking { thinking_level: effort.to_ascii_uppercase() }),
            },
            further: request.sending.body(),
        }
    }
}

impl<'a> Declaration<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self { name: &spec.name, description: &spec.description, parameters_json_schema: &spec.parameters }
    }
}

fn instruction(message: &Message) -> Option<Part<'_>> {
    match message {
        Message::System { content } => text(Joined::Parts(content)),
        _ => None,
    }
}

fn text(text: Joined<'_>) -> Option<Part<'_>> {
    let is_empty = text.all(str::is_empty);
    (!is_empty).then_some(Part::Text { text })
}

/// Returns the conversation in turns. All results of a turn's calls stand in one content, which holds nothing else.
fn contents(request: &Request) -> Vec<Content<'_>> {
    let mut contents: Vec<Content<'_>> = Vec::with_capacity(request.messages.len());
    let mut carried_ids = None;
    let mut answers = false;
    for message in &request.messages {
        let is_answer = matches!(message, Message::Tool { .. });
        let (role, parts) = match message {
            Message::System { .. } => continue,
            Message::User { content } => ("user", text(Joined::Parts(content)).into_iter().collect()),
            Message::Assistant { carry, .. } => {
                carried_ids = carry.as_ref().filter(|_| carried(message, request).is_some());
                ("model", turn(message, request))
            }
            Message::Tool { call_id, name, content } => {
                let has_id = carried_ids.is_some_and(|carry| carry.items.contains(&format!("\"{call_id}\"")));
                let response = Output { output: Joined::Parts(content) };
                let response = Response { id: has_id.then_some(call_id.as_str()), name: tool_name(name), response };
                ("user", vec![Part::Response { function_response: response }])
            }
        };
        match contents.last_mut() {
            _ if parts.is_empty() => continue,
            Some(last) if is_answer && answers => last.parts.extend(parts),
            _ => contents.push(Content { role, parts }),
        }
        answers = is_answer;
    }
    contents
}

fn turn<'a>(message: &'a Message, request: &Request) -> Vec<Part<'a>> {
    let Message::Assistant { content, tool_calls, .. } = message else { return Vec::new() };
    if let Some(parts) = carried(message, request) {
        return parts.into_iter().map(Part::Carried).collect();
    }
    let calls = tool_calls.iter().enumerate().map(|(index, call)| Part::Call {
        function_call: Call { name: tool_name(&call.name), args: RawObject(&call.arguments) },
        thought_signature: (index == 0).then_some(UNSIGNED),
    });
    text(Joined::One(content)).into_iter().chain(calls).collect()
}

/// What is kept of a stream while it is read.
#[derive(Debug, Default)]
pub(in crate::llm) struct State {
    /// The parts so far, to be carried, with a comma behind each.
    parts: String,
    calls: usize,
    is_signed: bool,
    is_marked: bool,
    /// The counts that came last, of all that had come by then.
    usage: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow, default)]
    candidates: Option<First<Candidate<'a>>>,
    #[serde(default)]
    prompt_feedback: Value,
    #[serde(borrow, default)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Spoken<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<&'a RawValue>>,
}

/// A part that is text and nothing else, as most are: read without making values of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextAlone<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Returns the text of a part that has nothing else.
fn text_alone(part: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<TextAlone<'_>>(part.get()).ok().map(|part| part.text)
}

pub(super) fn whole(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let answer: Answer<'_> = source.read().map_err(|problem| unreadable(json, assembly, &problem))?;
    let is_nothing = answer.error.is_null() && answer.candidates.is_none() && answer.prompt_feedback.is_null();
    if is_nothing {
        return Err(incomplete(json, "candidates", assembly));
    }
    state.take_in(answer, source.is_marked(), assembly)
}

pub(super) fn event(json: &str, state: &mut State, assembly: &mut Assembly) -> Result<(), Failure> {
    let source = Source::new(json);
    let answer = source.read().map_err(|problem| malformed(assembly.model(), problem))?;
    state.take_in(answer, source.is_marked(), assembly)
}

impl State {
    fn take_in(&mut self, answer: Answer<'_>, is_marked: bool, assembly: &mut Assembly) -> Result<(), Failure> {
        self.is_marked |= is_marked;
        if !answer.error.is_null() {
            return Err(failure::of_error_field(assembly.model(), &answer.error));
        }
        if let Some(usage) = answer.usage_metadata {
            self.usage.clear();
            self.usage.push_str(usage.get());
        }
        if let Some(reason) = answer.prompt_feedback["blockReason"].as_str() {
            let detail = format!("the request was blocked: {reason}");
            return Err(Error::Refused { model: assembly.model().clone(), detail }.into());
        }
        if let Some(candidate) = answer.candidates.and_then(|candidates| candidates.0) {
            self.take_candidate(candidate, is_marked, assembly)?;
        }
        // They come with each piece, and count with the last ones.
        if assembly.is_finished() {
            self.count(assembly);
        }
        Ok(())
    }

    /// Counts what came last.
    pub(super) fn count(&self, assembly: &mut Assembly) {
        assembly.count(usage(&self.usage).unwrap_or_default());
    }

    fn take_candidate(
        &mut self,
        candidate: Candidate<'_>,
        is_marked: bool,
        assembly: &mut Assembly,
    ) -> Result<(), Failure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.take_part(part, is_marked, assembly)?;
        }
        if let Some(reason) = candidate.finish_reason {
            if reason == UNSIGNED_CALL {
                let detail = format!("a call went back without the signature of its thought ({reason})");
                return Err(Error::BadRequest { model: assembly.model().clone(), detail }.into());
            }
            assembly.stop(stop(&reason));
            self.carry(assembly);
        }
        Ok(())
    }

    fn take_part(&mut self, raw: &RawValue, is_marked: bool, assembly: &mut Assembly) -> Result<(), Failure> {
        if let Some(text) = text_alone(raw) {
            assembly.say(&text, is_marked)?;
            self.keep(raw.get());
            return Ok(());
        }
        let mut part: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let text = part["text"].as_str().unwrap_or_default();
        match part["thought"] == true {
            true => assembly.think(text)?,
            false => assembly.say(text, is_marked)?,
        }
        self.is_signed |= part.get("thoughtSignature").is_some();
        assembly.think(part["thoughtSignature"].as_str().unwrap_or_default())?;
        self.take_call(&mut part, is_marked, assembly);
        self.keep(&part.to_string());
        Ok(())
    }

    fn keep(&mut self, part: &str) {
        self.parts.push_str(part);
        self.parts.push(',');
    }

    /// Takes the call of a part, if it is one; its arguments go back as an object.
    fn take_call(&mut self, part: &mut Value, is_marked: bool, assembly: &mut Assembly) {
        let Some(call) = part.get_mut("functionCall") else { return };
        let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let arguments = call.get("args").filter(|args| !args.is_null()).map_or_else(|| "{}".to_owned(), written);
        let piece = CallPiece { index: Some(self.calls), id: word("id"), name: word("name"), arguments: &arguments };
        assembly.call(piece, is_marked);
        if let Some(args) = call.get_mut("args").filter(|args| !args.is_object()) {
            *args = object(&arguments);
        }
        self.calls += 1;
    }

    /// Carries the reasoning that goes back: only turns with calls have to go back as they came.
    fn carry(&mut self, assembly: &mut Assembly) {
        if self.calls > 0 && self.is_signed && !self.is_marked {
            assembly.carry(format!("[{}]", self.parts.trim_end_matches(',')));
        }
    }
}

fn stop(reason: &str) -> WireStop {
    match reason {
        // Long answers come in several pieces, each asked for by itself.
        "MAX_TOKENS" | "CONTINUATION" => WireStop::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" | "MODEL_ARMOR" => {
            WireStop::Refused
        }
        image if image.starts_with("IMAGE_") => WireStop::Refused,
        "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "OTHER" => {
            WireStop::Broken
        }
        _ => WireStop::End,
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawUsage {
    #[serde(default, deserialize_with = "fields::count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "fields::count")]
    thoughts_token_count: Option<u64>,
}

/// Reads what a call used. Counts that cannot be read are no reason to lose a paid answer. Thoughts are counted
/// beside the output.
fn usage(json: &str) -> Option<Usage> {
    let raw: RawUsage = serde_json::from_str(Some(json).filter(|json| json.starts_with('{'))?).ok()?;
    let sum = |counts: [Option<u64>; 2]| counts.into_iter().flatten().fold(0, u64::saturating_add);
    Some(Usage {
        input_tokens: sum([raw.prompt_token_count, raw.tool_use_prompt_token_count]),
        cached_tokens: raw.cached_content_token_count.unwrap_or_default(),
        output_tokens: sum([raw.candidates_token_count, raw.thoughts_token_count]),
        reasoning_tokens: raw.thoughts_token_count.unwrap_or_default(),
        ..Usage::default()
    })
}
