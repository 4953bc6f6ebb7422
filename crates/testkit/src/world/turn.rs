//! What a scripted model says in one turn, and how Chat Completions writes it; `dialects.rs` writes it as others do.

use std::fmt::Write as _;

use axum::body::Bytes;
use serde_json::{Value, json};

use super::{
    Call, Reply,
    reply::{Tokens, What},
};

/// Characters of text, or of arguments, in one streamed delta.
const PIECE: usize = 24;

/// The time every answer is stamped with, so that equal requests get equal answers.
pub(super) const CREATED: u64 = 1_795_000_000;

/// A model's turn, ready to be written in either form.
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) refusal: Option<String>,
    /// Id, name, arguments.
    pub(super) calls: Vec<(String, String, String)>,
    pub(super) finish_reason: &'static str,
    pub(super) usage: Value,
}

impl Turn {
    pub(super) fn of(reply: &Reply, call: &Call) -> Self {
        let (mut text, thinking, refusal, mut calls) = match reply.what.clone() {
            What::Turn { text, thinking, refusal, calls } => (text, thinking, refusal, calls),
            What::Structured(value) => match (call.schema_name(), call.tools().as_slice()) {
                (None, [tool]) => (None, None, None, vec![((*tool).to_owned(), value.to_string())]),
                _ => (Some(value.to_string()), None, None, Vec::new()),
            },
            _ => unreachable!("only turns are rendered as turns"),
        };
        let mut finish_reason = if calls.is_empty() { "stop" } else { "tool_calls" };
        if reply.cut_by_length {
            finish_reason = "length";
            match calls.last_mut() {
                Some((_, arguments)) => halve(arguments),
                None => halve(text.get_or_insert_default()),
            }
        }
        let calls: Vec<_> = calls
            .into_iter()
            .enumerate()
            .map(|(n, (name, arguments))| (format!("call_{:016x}{n:08x}", call.fingerprint), name, arguments))
            .collect();
        let output: usize = text.iter().chain(&thinking).chain(&refusal).map(String::len).sum::<usize>()
            + calls.iter().map(|(_, name, arguments)| name.len() + arguments.len()).sum::<usize>();
        let usage = usage(reply.tokens.unwrap_or_else(|| estimate(call.size_bytes, output)));
        let id = format!("chatcmpl-{:016x}", call.fingerprint);
        Self { id, text, thinking, refusal, calls, finish_reason, usage }
    }

    pub(super) fn whole(&self, call: &Call) -> Value {
        let mut message =
            json!({ "role": "assistant", "content": self.text, "refusal": self.refusal, "annotations": [] });
        if let Some(thinking) = &self.thinking {
            message["reasoning_content"] = json!(thinking);
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|(id, name, arguments)| {
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
            });
            message["tool_calls"] = calls.collect();
        }
        json!({
            "id": self.id, "object": "chat.completion", "created": CREATED, "model": call.model(),
            "choices": [
                { "index": 0, "message": message, "logprobs": null, "finish_reason": self.finish_reason }
            ],
            "usage": self.usage, "service_tier": "default", "system_fingerprint": "fp_scripted",
        })
    }

    pub(super) fn frames(&self, call: &Call, pings: bool) -> Vec<Bytes> {
        let with_usage = call.body["stream_options"]["include_usage"] == true;
        let mut out =
            Frames { turn: self, model: json!(call.model()).to_string(), with_usage, pings, done: Vec::new() };
        out.delta(r#"{"role":"assistant","content":null,"refusal":null}"#);
        out.pieces("reasoning_content", self.thinking.as_deref());
        out.pieces("content", self.text.as_deref());
        out.pieces("refusal", self.refusal.as_deref());
        for (index, (id, name, arguments)) in self.calls.iter().enumerate() {
            let start = json!({ "tool_calls": [{
                "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" }
            }] });
            out.delta(&start.to_string());
            for piece in pieces(arguments) {
                let text = Value::from(piece).to_string();
                out.delta(&format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{text}}}}}]}}"#));
            }
        }
        out.end();
        out.done
    }
}

/// Writes the events of a streamed turn.
struct Frames<'a> {
    turn: &'a Turn,
    /// As JSON.
    model: String,
    with_usage: bool,
    pings: bool,
    done: Vec<Bytes>,
}

impl Frames<'_> {
    fn pieces(&mut self, field: &str, text: Option<&str>) {
        for piece in text.map(pieces).unwrap_or_default() {
            self.delta(&format!(r#"{{"{field}":{}}}"#, Value::from(piece)));
        }
    }

    fn delta(&mut self, delta: &str) {
        self.chunk(&format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}]"#), None);
    }

    fn end(&mut self) {
        let reason = self.turn.finish_reason;
        self.chunk(&format!(r#"[{{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"{reason}"}}]"#), None);
        if self.with_usage {
            self.chunk("[]", Some(&self.turn.usage.to_string()));
        }
        self.done.push(Bytes::from_static(b"data: [DONE]\n\n"));
    }

    fn chunk(&mut self, choices: &str, usage: Option<&str>) {
        let mut frame = String::with_capacity(choices.len() + 256);
        if self.pings {
            frame.push_str(":\n\n");
        }
        let (id, model) = (&self.turn.id, &self.model);
        let _ = write!(
            frame,
            r#"data: {{"id":"{id}","object":"chat.completion.chunk","created":{CREATED},"model":{model},"service_tier":"default","system_fingerprint":"fp_scripted","choices":{choices}"#
        );
        if self.with_usage {
            let _ = write!(frame, r#","usage":{}"#, usage.unwrap_or("null"));
        }
        frame.push_str("}\n\n");
        self.done.push(frame.into());
    }
}

/// Cuts `text` into pieces of [`PIECE`] characters; none when it is empty.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces
}

fn halve(text: &mut String) {
    let middle = text.floor_char_boundary(text.len() / 2);
    text.truncate(middle);
}

/// Returns about four bytes a token; of a long prompt, half is cached in blocks of 128.
fn estimate(input_bytes: usize, output_bytes: usize) -> Tokens {
    let input = input_bytes as u64 / 4;
    let cached = if input < 1024 { 0 } else { input / 2 / 128 * 128 };
    Tokens { input, cached, output: output_bytes as u64 / 4 + 1, reasoning: 0 }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.input, "completion_tokens": tokens.output,
        "total_tokens": tokens.input.saturating_add(tokens.output),
        "prompt_tokens_details": { "cached_tokens": tokens.cached, "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}
