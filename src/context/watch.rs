//! A model call as telemetry sees it: the call in its words, and its content as the conventions for generative AI
//! write messages, made only when it is wanted.

use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing::instrument::Instrumented;

use super::{Role, unanswered::Outcome};
use crate::{
    llm::{Completion, Message, Request, StopReason, ToolCall},
    telemetry::{
        metrics,
        spans::{CallEnd, CallStart, ModelCall},
    },
};

/// The call of a step that is under way: none while the run may not make it, and one after the other when another model
/// stands in. Locked for a look or a change only.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Option<ModelCall>>);

impl Watch {
    /// Returns the work as a part of the call, which begins with its first attempt.
    pub fn over<F: Future>(&self, (key, role): (&str, Role), request: &Request, work: F) -> Instrumented<F> {
        self.0.lock().get_or_insert_with(|| begin(key, role, request)).over(work)
    }

    /// Ends the call to one model, if it was made.
    pub fn end(&self, outcome: &Outcome) {
        let call = self.0.lock().take();
        if let Some(call) = call {
            end(call, outcome);
        }
    }

    /// Ends the step, and with it the call that is under way.
    pub fn end_step(&self, outcome: &Outcome) {
        self.end(outcome);
        if let Err(unanswered) = outcome {
            metrics::step_failed("model", unanswered.failure.code.as_str());
        }
    }
}

fn begin(key: &str, role: Role, request: &Request) -> ModelCall {
    let start = CallStart { model: &request.model, role: role.as_str(), key, max_tokens: request.max_tokens };
    ModelCall::begin(start, || request.messages.iter().map(message).collect::<Value>().to_string())
}

fn end(call: ModelCall, outcome: &Outcome) {
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
