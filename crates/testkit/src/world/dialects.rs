//! The scripted provider's other doors: the same script, asked and answered in other vendors' dialects.
//!
//! A request is translated to Chat Completions, so that rules, kinds and the checks of the wire are the same for all;
//! what only a dialect knows (its key's header, signed thoughts that have to come back) is checked here.

pub mod converse;

use std::collections::VecDeque;

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::turn::Turn;

/// The only key the provider accepts.
pub const KEY: &str = "sk-scripted-world";

/// The signature of every thought.
const SIGNATURE: &str = "c2lnbmVk";

/// A dialect, known by the path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
    Messages,
    /// Whether its answer is streamed.
    Gemini(bool),
    /// The same.
    Converse(bool),
}

impl Dialect {
    /// Returns the dialect whose requests go to that path; `None` for a path of none.
    pub(super) fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Self::Chat,
            "/v1/responses" => Self::Responses,
            "/v1/messages" => Self::Messages,
            path if path.starts_with("/v1/model/") => Self::Converse(path.ends_with("-stream")),
            path if path.starts_with("/v1/models/") => Self::Gemini(path.contains(":stream")),
            _ => return None,
        })
    }

    pub(super) fn has_key(self, headers: &HeaderMap) -> bool {
        let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match self {
            Self::Chat | Self::Responses | Self::Converse(_) => {
                sent("authorization").strip_prefix("Bearer ") == Some(KEY)
            }
            Self::Messages => sent("x-api-key") == KEY && sent("anthropic-version") == "2023-06-01",
            Self::Gemini(_) => sent("x-goog-api-key") == KEY,
        }
    }

    /// Returns the request as Chat Completions has it, and what is wrong with its own form.
    pub(super) fn translated(self, body: Value) -> (Value, Vec<String>) {
        let mut chat = Chat::default();
        match self {
            Self::Chat => return (body, Vec::new()),
            Self::Responses => chat.responses(&body),
            Self::Messages => chat.messages(&body),
            Self::Gemini(is_stream) => chat.gemini(&body, is_stream),
            Self::Converse(is_stream) => chat.converse(&body, is_stream),
        }
        if body["tool_choice"]["type"] == "none" {
            chat.tools.clear();
        }
        (chat.body(&body), chat.wrong)
    }

    /// Returns the turn as a whole answer.
    pub(super) fn whole(self, turn: &Turn, model: &str) -> Value {
        match self {
            Self::Chat => Value::Null,
            Self::Responses => json!({"id": turn.id, "object": "response", "status": turn.status(), "error": null,
                "incomplete_details": turn.details(), "model": model, "output": items(turn), "usage": responses_usage(turn)}),
            Self::Messages => json!({"id": turn.id, "type": "message", "role": "assistant", "model": model,
                "content": blocks(turn), "stop_reason": stop_reason(turn), "stop_sequence": null, "usage": messages_usage(turn)}),
            Self::Gemini(_) => gemini(&parts(turn), Some(turn)),
            Self::Converse(_) => converse::whole(turn),
        }
    }

    /// Returns the turn as events; those of Converse are binary.
    pub(super) fn frames(self, turn: &Turn, model: &str) -> Vec<Value> {
        match self {
            Self::Chat | Self::Converse(_) => Vec::new(),
            Self::Responses => response_events(turn, model),
            Self::Messages => message_events(turn),
            Self::Gemini(_) => {
                let mut chunks: Vec<_> = parts(turn).chunks(1).map(|part| gemini(part, None)).collect();
                chunks.push(gemini(&[], Some(turn)));
                chunks
            }
        }
    }
}

/// A request on its way to Chat Completions.
#[derive(Default)]
struct Chat {
    messages: Vec<Value>,
    tools: Vec<Value>,
    schema: Option<Value>,
    is_stream: bool,
    wrong: Vec<String>,
}

impl Chat {
    fn body(&mut self, body: &Value) -> Value {
        let mut chat = json!({"model": body["model"].as_str().unwrap_or("gemini"), "stream": self.is_stream,
            "messages": self.messages});
        if !self.tools.is_empty() {
            chat["tools"] = self.tools.clone().into();
        }
        if let Some(schema) = &self.schema {
            let name = schema_name(schema);
            chat["response_format"] = json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}});
        }
        chat
    }

    fn say(&mut self, role: &str, text: &Value) {
        self.messages.push(json!({"role": role, "content": text}));
    }

    fn tool(&mut self, tool: &Value, parameters: &str) {
        let function =
            json!({"name": tool["name"], "description": tool["description"], "parameters": tool[parameters]});
        self.tools.push(json!({"type": "function", "function": function}));
    }

    /// Adds a turn of the model with its calls.
    fn turn(&mut self, text: &str, calls: Vec<Value>) {
        let mut message = json!({"role": "assistant", "content": text});
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        self.messages.push(message);
    }

    fn messages(&mut self, body: &Value) {
        self.is_stream = body["stream"] == true;
        self.schema = body.pointer("/output_config/format/schema").cloned();
        each(&body["tools"]).for_each(|tool| self.tool(tool, "input_schema"));
        each(&body["system"]).for_each(|block| self.say("system", &block["text"]));
        let is_loop = body["tool_choice"]["type"] != "none";
        for message in each(&body["messages"]) {
            let blocks = &message["content"];
            if message["role"] == "assistant" {
                let calls =
                    of_kind(blocks, "tool_use").map(|block| called(&block["id"], &block["name"], &block["input"]));
                let calls: Vec<_> = calls.collect();
                let signed = of_kind(blocks, "thinking").all(|block| block["signature"] == SIGNATURE);
                let bare = !calls.is_empty() && of_kind(blocks, "thinking").count() == 0;
                if !calls.is_empty() && self.tools.is_empty() {
                    self.wrong.push("a history with calls needs tools".to_owned());
                }
                if !signed || (bare && is_loop) {
                    self.wrong.push("a turn came back without its thoughts, or with others".to_owned());
                }
                self.turn(
                    &of_kind(blocks, "text").filter_map(|block| block["text"].as_str()).collect::<String>(),
                    calls,
                );
                continue;
            }
            for block in each(blocks) {
                match block["type"].as_str() {
                    Some("tool_result") => self.answer(&block["tool_use_id"], &block["content"]),
                    _ => self.say("user", &block["text"]),
                }
            }
        }
    }

    fn answer(&mut self, id: &Value, content: &Value) {
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }

    fn responses(&mut self, body: &Value) {
        self.is_stream = body["stream"] == true;
        self.schema = body.pointer("/text/format/schema").cloned();
        if body["store"] != false {
            self.wrong.push("the answer would be stored".to_owned());
        }
        each(&body["tools"]).for_each(|tool| self.tool(tool, "parameters"));
        for item in each(&body["input"]) {
            match (item["type"].as_str(), item["role"].as_str()) {
                (Some("function_call"), _) => self.called(item),
                (Some("function_call_output"), _) => self.answer(&item["call_id"], &item["output"]),
                (Some("reasoning"), _) => {
                    if item["encrypted_content"] != SIGNATURE {
                        self.wrong.push("reasoning came back changed".to_owned());
                    }
                    self.turn("", Vec::new());
                }
                (Some("message"), _) => {
                    let text: String = each(&item["content"]).filter_map(|part| part["text"].as_str()).collect();
                    match self.messages.last_mut().filter(|last| last["role"] == "assistant") {
                        Some(last) => last["content"] = text.into(),
                        None => self.turn(&text, Vec::new()),
                    }
                }
                (_, Some("developer")) => self.say("system", &item["content"]),
                (_, Some(role)) => self.say(role, &item["content"]),
                _ => self.wrong.push(format!("an item of no kind: {item}")),
            }
        }
    }

    fn called(&mut self, item: &Value) {
        if self.messages.last().is_none_or(|last| last["role"] != "assistant") {
            self.turn("", Vec::new());
        }
        let function = json!({"name": item["name"], "arguments": item["arguments"]});
        let call = json!({"id": item["call_id"], "type": "function", "function": function});
        if let Some(last) = self.messages.last_mut() {
            match last["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => last["tool_calls"] = json!([call]),
            }
        }
    }

    fn gemini(&mut self, body: &Value, is_stream: bool) {
        self.is_stream = is_stream;
        self.schema = body.pointer("/generationConfig/responseJsonSchema").cloned();
        let declared = each(&body["tools"]).flat_map(|tools| each(&tools["functionDeclarations"]));
        declared.for_each(|tool| self.tool(tool, "parametersJsonSchema"));
        each(&body["systemInstruction"]["parts"]).for_each(|part| self.say("system", &part["text"]));
        let (mut open, mut number) = (VecDeque::new(), 0);
        for content in each(&body["contents"]) {
            let parts = &content["parts"];
            if content["role"] == "model" {
                let first = each(parts).find(|part| !part["functionCall"].is_null());
                let is_loop = !self.tools.is_empty();
                if first.is_some_and(|part| is_loop && part["thoughtSignature"] != SIGNATURE) {
                    self.wrong.push("a call came back without its signature".to_owned());
                }
                let mut calls = Vec::new();
                for call in each(parts).map(|part| &part["functionCall"]).filter(|call| !call.is_null()) {
                    number += 1;
                    let id = json!(format!("g{number}"));
                    calls.push(called(&id, &call["name"], &call["args"]));
                    open.push_back((id, call["name"].clone()));
                }
                let said = each(parts).filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
                self.turn(&said.collect::<String>(), calls);
                continue;
            }
            for part in each(parts) {
                match &part["functionResponse"] {
                    Value::Null => self.say("user", &part["text"]),
                    response => {
                        let (id, name) = open.pop_front().unwrap_or_default();
                        if name != response["name"] {
                            self.wrong.push(format!("{} is answered where {name} was called", response["name"]));
                        }
                        self.answer(&id, &response["response"]["output"]);
                    }
                }
            }
        }
    }
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn of_kind<'a>(blocks: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    each(blocks).filter(move |block| block["type"] == kind)
}

fn called(id: &Value, name: &Value, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

/// Returns the name of a schema by its fields, since these dialects do not send the name.
fn schema_name(schema: &Value) -> &'static str {
    let has = |field: &str| schema["properties"].get(field).is_some();
    match () {
        () if has("need_clarification") => "ClarifyWithUser",
        () if has("research_brief") => "ResearchQuestion",
        () if has("action") => "FollowUp",
        () => "Summary",
    }
}

impl Turn {
    fn status(&self) -> &'static str {
        if self.finish_reason == "length" { "incomplete" } else { "completed" }
    }

    fn details(&self) -> Value {
        if self.finish_reason == "length" { json!({"reason": "max_output_tokens"}) } else { Value::Null }
    }

    fn count(&self, pointer: &str) -> u64 {
        self.usage.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
    }

    fn cached(&self) -> u64 {
        self.count("/prompt_tokens_details/cached_tokens")
    }

    fn reasoning(&self) -> u64 {
        self.count("/completion_tokens_details/reasoning_tokens")
    }
}

/// Returns arguments as the object they should be.
fn object(arguments: &str) -> Value {
    serde_json::from_str::<Map<String, Value>>(arguments).unwrap_or_default().into()
}

fn stop_reason(turn: &Turn) -> &'static str {
    match turn.finish_reason {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        _ if turn.refusal.is_some() => "refusal",
        _ => "end_turn",
    }
}

/// Returns the blocks of a turn; one that calls a tool begins with a thought.
fn blocks(turn: &Turn) -> Vec<Value> {
    let thought = turn.thinking.as_deref().or((!turn.calls.is_empty()).then_some("Let me see."));
    let thought = thought.map(|text| json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}));
    let text = turn.text.iter().filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
    let calls = turn
        .calls
        .iter()
        .map(|(id, name, arguments)| json!({"type": "tool_use", "id": id, "name": name, "input": object(arguments)}));
    thought.into_iter().chain(text).chain(calls).collect()
}

fn messages_usage(turn: &Turn) -> Value {
    let cached = turn.cached();
    json!({"input_tokens": turn.count("/prompt_tokens") - cached, "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0, "output_tokens": turn.count("/completion_tokens"),
        "output_tokens_details": {"thinking_tokens": turn.reasoning()}})
}

fn message_events(turn: &Turn) -> Vec<Value> {
    let start =
        json!({"id": turn.id, "type": "message", "role": "assistant", "content": [], "usage": messages_usage(turn)});
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, mut block) in blocks(turn).into_iter().enumerate() {
        let field = match block["type"].as_str() {
            Some("text") => "text",
            Some("thinking") => "thinking",
            _ => "input",
        };
        let value = block[field].take();
        block[field] = if field == "input" { json!({}) } else { json!("") };
        let signature = block.get("signature").cloned();
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = match field {
            "input" => json!({"type": "input_json_delta", "partial_json": value.to_string()}),
            _ => json!({"type": format!("{field}_delta"), field: value}),
        };
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        if let Some(signature) = signature {
            let delta = json!({"type": "signature_delta", "signature": signature});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(turn)}, "usage": messages_usage(turn)}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn items(turn: &Turn) -> Vec<Value> {
    let mut items = Vec::new();
    if !turn.calls.is_empty() {
        items.push(json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SIGNATURE}));
    }
    if let Some(text) = turn.text.as_ref().filter(|text| !text.is_empty()) {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        items.push(json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content}));
    }
    if let Some(words) = &turn.refusal {
        let content = json!([{"type": "refusal", "refusal": words}]);
        items.push(json!({"id": "msg_2", "type": "message", "role": "assistant", "content": content}));
    }
    for (id, name, arguments) in &turn.calls {
        items.push(json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name,
            "arguments": arguments, "status": "completed"}));
    }
    items
}

fn responses_usage(turn: &Turn) -> Value {
    let (input, output) = (turn.count("/prompt_tokens"), turn.count("/completion_tokens"));
    json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": turn.cached()}, "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": turn.reasoning()}, "total_tokens": input + output})
}

fn response_events(turn: &Turn, model: &str) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.created", "response": {"id": turn.id, "status": "in_progress"}})];
    for (index, item) in items(turn).into_iter().enumerate() {
        events
            .push(json!({"type": "response.output_item.added", "output_index": index, "item": {"type": item["type"]}}));
        for part in each(&item["content"]) {
            let event = match part["type"].as_str() {
                Some("refusal") => {
                    json!({"type": "response.refusal.delta", "output_index": index, "delta": part["refusal"]})
                }
                _ => json!({"type": "response.output_text.delta", "output_index": index, "delta": part["text"]}),
            };
            events.push(event);
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let kind = format!("response.{}", turn.status());
    events.push(json!({"type": kind, "response": Dialect::Responses.whole(turn, model)}));
    events
}

fn parts(turn: &Turn) -> Vec<Value> {
    let thought = turn.thinking.iter().map(|text| json!({"text": text, "thought": true}));
    let text = turn.text.iter().filter(|text| !text.is_empty()).map(|text| json!({"text": text}));
    let calls = turn.calls.iter().enumerate().map(|(index, (_, name, arguments))| {
        let mut part = json!({"functionCall": {"name": name, "args": object(arguments)}});
        if index == 0 {
            part["thoughtSignature"] = json!(SIGNATURE);
        }
        part
    });
    thought.chain(text).chain(calls).collect()
}

/// Returns an answer of these parts; of a turn, its end.
fn gemini(parts: &[Value], end: Option<&Turn>) -> Value {
    let reason = end.map(|turn| match turn.finish_reason {
        "length" => "MAX_TOKENS",
        _ if turn.refusal.is_some() => "SAFETY",
        _ => "STOP",
    });
    let mut answer = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]});
    if let Some(turn) = end {
        let (input, output) = (turn.count("/prompt_tokens"), turn.count("/completion_tokens"));
        answer["usageMetadata"] = json!({"promptTokenCount": input, "cachedContentTokenCount": turn.cached(),
            "candidatesTokenCount": output - turn.reasoning(), "thoughtsTokenCount": turn.reasoning(),
            "totalTokenCount": input + output});
    }
    answer
}
