//! The same answer in each dialect, with the fields that the vendors' own streams have.

use fathom_testkit::vendor::frame;
use serde_json::{Value, json};

/// Pieces of text in an answer.
const PIECES: usize = 100;
const PIECE: &str = "the dues of 2031, which ";

/// What the model says.
pub fn text() -> &'static str {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXT.get_or_init(|| PIECE.repeat(PIECES).trim_end().to_owned())
}

/// An answer in pieces, each a chunk of HTTP's.
fn http(content_type: &str, pieces: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes();
    for piece in pieces {
        answer.extend(format!("{:x}\r\n", piece.len()).bytes());
        answer.extend(piece);
        answer.extend(b"\r\n");
    }
    answer.extend(b"0\r\n\r\n");
    answer
}

/// Events that have a name where their data have a type, as their vendors send them.
fn events(events: impl IntoIterator<Item = Value>, end: Option<&str>) -> Vec<u8> {
    let written = |event: Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n").into_bytes(),
        None => format!("data: {event}\n\n").into_bytes(),
    };
    let end = end.map(|end| format!("data: {end}\n\n").into_bytes());
    http("text/event-stream; charset=utf-8", events.into_iter().map(written).chain(end))
}

/// The pieces, each within what a dialect says around it.
fn pieces(around: impl Fn(&str) -> Value) -> impl Iterator<Item = Value> {
    std::iter::repeat_n(PIECE, PIECES).map(around)
}

pub fn chat() -> Vec<u8> {
    let chunk = |choices: Value, usage: Value| {
        json!({"id": "chatcmpl-CbGNAkVwpXPJ3xQ6oYgHTlR5YzX1c", "object": "chat.completion.chunk", "created": 1_795_000_000,
            "model": "gpt-4.1-2025-04-14", "service_tier": "default", "system_fingerprint": "fp_1a97b5aa6c",
            "choices": choices, "usage": usage, "obfuscation": "mZp2R"})
    };
    let said = |delta: Value, finish: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]), Value::Null)
    };
    let usage = json!({"prompt_tokens": 4_000, "completion_tokens": 600, "total_tokens": 4_600,
        "prompt_tokens_details": {"cached_tokens": 3_072, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0}});
    let first = said(json!({"role": "assistant", "content": "", "refusal": null}), None);
    let end = [said(json!({}), Some("stop")), chunk(json!([]), usage)];
    let deltas = pieces(|piece| said(json!({"content": piece}), None));
    events([first].into_iter().chain(deltas).chain(end), Some("[DONE]"))
}

pub fn responses() -> Vec<u8> {
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let item = |status: &str, content: Value| json!({"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": content});
    let whole = PIECE.repeat(PIECES);
    // It repeats what was asked, tools and all.
    let response = |status: &str, output: Value, usage: Value| {
        let tool = json!({"type": "function", "name": "search_web", "description": PIECE.repeat(13), "strict": false,
            "parameters": {"type": "object", "properties": {"queries": {"type": "array", "items": {"type": "string"}}}}});
        json!({"id": "resp_1", "object": "response", "created_at": 1_795_000_000, "status": status, "error": null,
            "incomplete_details": null, "instructions": null, "max_output_tokens": 8_192, "model": "gpt-5.4",
            "output": output, "parallel_tool_calls": true, "previous_response_id": null, "store": false,
            "reasoning": {"effort": "medium", "summary": null}, "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto", "tools": [tool, tool, tool], "top_p": 1.0, "truncation": "disabled", "usage": usage})
    };
    let started = |kind: &str| json!({"type": kind, "sequence_number": 0, "response": response("in_progress", json!([]), Value::Null)});
    let begin = [
        started("response.created"),
        started("response.in_progress"),
        json!({"type": "response.output_item.added", "sequence_number": 2, "output_index": 0, "item": item("in_progress", json!([]))}),
        json!({"type": "response.content_part.added", "sequence_number": 3, "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part("")}),
    ];
    let delta = |piece: &str| {
        json!({"type": "response.output_text.delta", "sequence_number": 4, "item_id": "msg_1", "output_index": 0,
            "content_index": 0, "delta": piece, "logprobs": [], "obfuscation": "mZp2R"})
    };
    let usage = json!({"input_tokens": 4_000, "input_tokens_details": {"cached_tokens": 3_072}, "output_tokens": 600,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 4_600});
    let done = item("completed", json!([part(&whole)]));
    let end = [
        json!({"type": "response.output_text.done", "sequence_number": 104, "item_id": "msg_1", "output_index": 0, "content_index": 0, "text": whole, "logprobs": []}),
        json!({"type": "response.content_part.done", "sequence_number": 105, "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part(&whole)}),
        json!({"type": "response.output_item.done", "sequence_number": 106, "output_index": 0, "item": done}),
        json!({"type": "response.completed", "sequence_number": 107, "response": response("completed", json!([done]), usage)}),
    ];
    events(begin.into_iter().chain(pieces(delta)).chain(end), None)
}

pub fn messages() -> Vec<u8> {
    let usage = json!({"input_tokens": 928, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 3_072,
        "output_tokens": 1, "service_tier": "standard"});
    let start = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let begin = [
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
    ];
    let delta = |piece: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}});
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 600}}),
        json!({"type": "message_stop"}),
    ];
    events(begin.into_iter().chain(pieces(delta)).chain(end), None)
}

pub fn gemini() -> Vec<u8> {
    let said = |piece: &str, reason: Option<&str>| {
        let mut candidate = json!({"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0});
        if let Some(reason) = reason {
            candidate["finishReason"] = reason.into();
        }
        json!({"candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 4_000, "candidatesTokenCount": 600, "totalTokenCount": 4_600,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 4_000}], "cachedContentTokenCount": 3_072,
                "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 3_072}]},
            "modelVersion": "gemini-3.6-flash", "responseId": "aBcDeFgHiJkLmNoPqRsTuVw"})
    };
    events(pieces(|piece| said(piece, None)).chain([said("", Some("STOP"))]), None)
}

pub fn converse() -> Vec<u8> {
    let delta = |piece: &str| json!({"contentBlockIndex": 0, "delta": {"text": piece}, "p": "abcdefghijkl"});
    let mut frames = vec![frame("messageStart", &json!({"role": "assistant", "p": "abcdefgh"}))];
    frames.extend(pieces(delta).map(|payload| frame("contentBlockDelta", &payload)));
    let usage = json!({"inputTokens": 928, "cacheReadInputTokens": 3_072, "cacheWriteInputTokens": 0,
        "outputTokens": 600, "totalTokens": 4_600});
    frames.extend([
        frame("contentBlockStop", &json!({"contentBlockIndex": 0, "p": "abcd"})),
        frame("messageStop", &json!({"stopReason": "end_turn", "p": "abcdef"})),
        frame("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 7}, "p": "abc"})),
    ]);
    http("application/vnd.amazon.eventstream", frames)
}
