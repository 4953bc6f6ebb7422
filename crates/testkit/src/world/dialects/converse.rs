//! Amazon's Converse: requests with blocks, answers as JSON or as a stream of binary frames.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::{Chat, SIGNATURE, Turn, called, each, object, stop_reason};
use crate::vendor;

/// What its streams call themselves.
pub(in crate::world) const STREAM: &str = "application/vnd.amazon.eventstream";

impl Chat {
    pub(super) fn converse(&mut self, body: &Value, is_stream: bool) {
        self.is_stream = is_stream;
        self.schema = self.converse_schema(&body["outputConfig"]["textFormat"]);
        let config = &body["toolConfig"];
        // Without a choice they are declared for the history's sake alone.
        let is_loop = !config["toolChoice"].is_null();
        for spec in each(&config["tools"]).map(|tool| &tool["toolSpec"]).filter(|_| is_loop) {
            let parameters = &spec["inputSchema"]["json"];
            let function = json!({"name": spec["name"], "description": spec["description"], "parameters": parameters});
            self.tools.push(json!({"type": "function", "function": function}));
        }
        each(&body["system"])
            .filter(|block| block["text"].is_string())
            .for_each(|block| self.say("system", &block["text"]));
        for message in each(&body["messages"]) {
            match message["role"].as_str() {
                Some("assistant") => self.converse_turn(&message["content"], is_loop, !config.is_null()),
                _ => self.converse_user(&message["content"]),
            }
        }
    }

    /// Returns the schema of the answer, which is a text that holds JSON.
    fn converse_schema(&mut self, format: &Value) -> Option<Value> {
        if format.is_null() {
            return None;
        }
        let text = format.pointer("/structure/jsonSchema/schema").and_then(Value::as_str);
        let schema = text.and_then(|text| serde_json::from_str(text).ok());
        if schema.is_none() || format["type"] != "json_schema" {
            self.wrong.push(format!("no form of answer: {format}"));
        }
        schema
    }

    fn converse_turn(&mut self, blocks: &Value, is_loop: bool, declares_tools: bool) {
        let calls = each(blocks).map(|block| &block["toolUse"]).filter(|call| !call.is_null());
        let calls: Vec<_> = calls.map(|call| called(&call["toolUseId"], &call["name"], &call["input"])).collect();
        let thoughts: Vec<_> =
            each(blocks).map(|block| &block["reasoningContent"]).filter(|thought| !thought.is_null()).collect();
        let are_signed = thoughts.iter().all(|thought| thought["reasoningText"]["signature"] == SIGNATURE);
        if !are_signed || (is_loop && !calls.is_empty() && thoughts.is_empty()) {
            self.wrong.push("a turn came back without its thoughts, or with others".to_owned());
        }
        if !calls.is_empty() && !declares_tools {
            self.wrong.push("a history with calls needs tools".to_owned());
        }
        self.turn(&each(blocks).filter_map(|block| block["text"].as_str()).collect::<String>(), calls);
    }

    fn converse_user(&mut self, blocks: &Value) {
        for block in each(blocks).filter(|block| block["cachePoint"].is_null()) {
            match &block["toolResult"] {
                Value::Null => self.say("user", &block["text"]),
                result => self.answer(&result["toolUseId"], &result["content"][0]["text"]),
            }
        }
    }
}

/// Returns the blocks of a turn; one that calls a tool begins with a thought.
fn content(turn: &Turn) -> Vec<Value> {
    let thought = turn.thinking.as_deref().or((!turn.calls.is_empty()).then_some("Let me see."));
    let thought =
        thought.map(|text| json!({"reasoningContent": {"reasoningText": {"text": text, "signature": SIGNATURE}}}));
    let text = turn.text.iter().filter(|text| !text.is_empty()).map(|text| json!({"text": text}));
    let calls = turn
        .calls
        .iter()
        .map(|(id, name, arguments)| json!({"toolUse": {"toolUseId": id, "name": name, "input": object(arguments)}}));
    thought.into_iter().chain(text).chain(calls).collect()
}

fn usage(turn: &Turn) -> Value {
    let (input, cached, output) = (turn.count("/prompt_tokens"), turn.cached(), turn.count("/completion_tokens"));
    json!({"inputTokens": input - cached, "cacheReadInputTokens": cached, "cacheWriteInputTokens": 0,
        "outputTokens": output, "totalTokens": input + output})
}

fn end(turn: &Turn) -> &'static str {
    match stop_reason(turn) {
        "refusal" => "content_filtered",
        other => other,
    }
}

pub(super) fn whole(turn: &Turn) -> Value {
    json!({"output": {"message": {"role": "assistant", "content": content(turn)}}, "stopReason": end(turn),
        "usage": usage(turn), "metrics": {"latencyMs": 1}})
}

/// Returns the turn as frames.
pub(in crate::world) fn frames(turn: &Turn) -> Vec<Bytes> {
    let mut frames = vec![frame("messageStart", &json!({"role": "assistant"}))];
    for (index, block) in content(turn).into_iter().enumerate() {
        let mut delta = |delta: Value| {
            frames.push(frame("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta})));
        };
        if let Some(call) = block.get("toolUse") {
            let start = json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
            frames.push(frame("contentBlockStart", &json!({"contentBlockIndex": index, "start": start})));
            let delta = json!({"toolUse": {"input": call["input"].to_string()}});
            frames.push(frame("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta})));
        } else if let Some(thought) = block.pointer("/reasoningContent/reasoningText") {
            delta(json!({"reasoningContent": {"text": thought["text"]}}));
            delta(json!({"reasoningContent": {"signature": thought["signature"]}}));
        } else {
            delta(block);
        }
        frames.push(frame("contentBlockStop", &json!({"contentBlockIndex": index})));
    }
    frames.push(frame("messageStop", &json!({"stopReason": end(turn)})));
    frames.push(frame("metadata", &json!({"usage": usage(turn), "metrics": {"latencyMs": 1}})));
    frames
}

fn frame(name: &'static str, payload: &Value) -> Bytes {
    vendor::frame(name, payload).into()
}
