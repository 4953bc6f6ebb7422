//! A model call as telemetry sees it: the call in its words, and its content as the conventions for generative AI
//! write messages, made only when it is wanted.

use serde_json::{Value, json};

use super::{Role, unanswered::Outcome};
use crate::{
    llm::{Completion, Message, Request, StopReason, ToolCall},
    telemetry::spans::{CallEnd, CallStart, ModelCall},
};

pub fn begin(key: &str, role: Role, request: &Request) -> ModelCall {
    let start = CallStart { model: &request.model, role: role.as_str(), key, max_tokens: request.max_tokens };
    ModelCall::begin(start, || request.messages.iter().map(message).collect::<Value>().to_string())
}

pub fn end(call: ModelCall, outcome: &Outcome) {
    match outcome {
        Err(broken) => call.end(CallEnd::Failed(broken.failure.code.as_str()), String::new),
        Ok(completion) => {
            let finish = finish(completion.stop);
            let end = CallEnd::Answered { usage: completion.usage, finish, attempts: completion.attempts };
            call.end(end, || json!([answer(completion, finish)]).to_string());
        }
    }
}

fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::Length => "length",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Refused => "content_filter",
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "parts": [text(&content.joined())]}),
        Message::User { content } => json!({"role": "user", "parts": [text(&content.joined())]}),
        Message::Assistant { content, tool_calls, .. } => {
            json!({"role": "assistant", "parts": parts(content, tool_calls)})
        }
        Message::Tool { call_id, content, .. } => {
            let response = json!({"type": "tool_call_response", "id": call_id, "response": content.joined()});
            json!({"role": "tool", "parts": [response]})
        }
    }
}

fn answer(completion: &Completion, finish: &str) -> Value {
    json!({"role": "assistant", "parts": parts(&completion.text, &completion.tool_calls), "finish_reason": finish})
}

fn parts(content: &str, tool_calls: &[ToolCall]) -> Vec<Value> {
    let call = |call: &ToolCall| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(call.arguments.as_str()));
        json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    };
    let written = (!content.is_empty()).then(|| text(content));
    written.into_iter().chain(tool_calls.iter().map(call)).collect()
}

fn text(content: &str) -> Value {
    json!({"type": "text", "content": content})
}
