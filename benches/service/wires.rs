//! What a model call costs us beside its HTTP, each dialect: a request of 16 KB, and its answer as a stream of 100
//! pieces of text.
//!
//! A thread that does nothing else makes the calls by [`Llm`], and then the same ones by a bare client that throws
//! away what it reads. The difference of its processor time is ours: the queue, the request as bytes, the stream taken
//! apart, read and put together.

use std::{collections::BTreeMap, time::Duration};

use fathom::llm::{
    Delta, Endpoint, Llm, Message, OutputFormat, Request, Sending, Settings, ToolCall, ToolChoice, ToolSpec, Wait,
};
use fathom_testkit::vendor::{FakeVendor, Reply, Sent, frame};
use futures::StreamExt as _;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::figures::{Aim, Figures};

/// Calls that are measured of each dialect, by either client, and those before them.
const CALLS: usize = 300;
const FIRST: usize = 30;
/// Pieces of text in an answer, and one of them.
const PIECES: usize = 100;
const PIECE: &str = " the dues of 2031, which";
/// Bytes of a request.
const REQUEST: usize = 16 * 1024;

type Others = &'static [(&'static str, &'static str)];

/// A dialect: the name of its row, a model of it, its answer, and the further settings it is called with; a key where
/// there are none.
const DIALECTS: [(&str, &str, fn() -> Reply, Others); 6] = [
    ("Chat Completions", "openai:gpt-4.1", chat, &[]),
    ("Responses", "openai-responses:gpt-5.4", responses, &[]),
    ("Messages", "anthropic:claude-sonnet-5-5", messages, &[]),
    ("Gemini", "google:gemini-3.6-flash", gemini, &[]),
    ("Converse", "bedrock:us.anthropic.claude-sonnet-5-5", converse, &[]),
    (
        "Converse, signed",
        "bedrock:us.anthropic.claude-sonnet-5-5",
        converse,
        &[("region", "us-east-1"), ("access_key_id", "AKIABENCH"), ("secret_access_key", "secret")],
    ),
];

pub async fn wires(figures: &mut Figures) -> anyhow::Result<()> {
    for (title, model, reply, others) in DIALECTS {
        let (ours, http) = tokio::task::spawn_blocking(move || measured(model, reply, others)).await??;
        // The calculation of signatures is none of a dialect's.
        let aim = if others.is_empty() { Aim::AtMost(150.0) } else { Aim::None };
        figures.add(&format!("{title}: our layer"), "µs", aim, ours);
        figures.add(&format!("{title}: its HTTP"), "µs", Aim::None, http);
    }
    Ok(())
}

/// Microseconds of a call that are ours, and those of its HTTP.
fn measured(model: &'static str, reply: fn() -> Reply, others: Others) -> anyhow::Result<(f64, f64)> {
    // The server works on a thread of its own.
    let server = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let replies = std::iter::repeat_n(reply(), 2 * (FIRST + CALLS));
    let vendor = server.block_on(FakeVendor::start(replies));
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let all = client.block_on(by_our_layer(&vendor, model, others))?;
    let sent = vendor.sent().pop().ok_or_else(|| anyhow::anyhow!("nothing was sent"))?;
    anyhow::ensure!(sent.text.len() >= REQUEST, "the request has {} bytes", sent.text.len());
    let http = client.block_on(by_http_alone(&vendor, &sent))?;
    Ok((all - http, http))
}

/// Microseconds of this thread that a call takes.
async fn each(mut call: impl AsyncFnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    for _ in 0..FIRST {
        call().await?;
    }
    let begun = processor_time();
    for _ in 0..CALLS {
        call().await?;
    }
    Ok((processor_time() - begun).as_secs_f64() * 1e6 / CALLS as f64)
}

/// Of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

async fn by_our_layer(vendor: &FakeVendor, model: &str, others: Others) -> anyhow::Result<f64> {
    let (provider, _) = model.split_once(':').ok_or_else(|| anyhow::anyhow!("{model} names no provider"))?;
    let endpoint = Endpoint {
        base_url: Some(vendor.base_url().parse()?),
        api_key: others.is_empty().then(|| "key".into()),
        others: others.iter().map(|(name, value)| (*name, (*value).into())).collect::<BTreeMap<_, _>>(),
        ..Endpoint::default()
    };
    let mut settings = Settings::default();
    let provider = settings.providers.iter().find(|row| row.name == provider);
    let provider = provider.ok_or_else(|| anyhow::anyhow!("{model} is of no provider"))?;
    settings.endpoints.insert(provider.name, endpoint);
    let (llm, request) = (Llm::new(settings)?, request(model)?);
    each(async || {
        let mut stream = llm.stream(&request, &|_: Wait| {}).await?;
        while let Some(delta) = stream.next().await {
            if let Delta::End(completion) = delta? {
                // The space before the first word goes.
                anyhow::ensure!(completion.text.len() + 1 == PIECES * PIECE.len(), "{completion:?}");
                return Ok(());
            }
        }
        anyhow::bail!("the stream has no end")
    })
    .await
}

async fn by_http_alone(vendor: &FakeVendor, sent: &Sent) -> anyhow::Result<f64> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = url::Url::parse(&vendor.base_url())?.join(&sent.path)?;
    each(async || {
        let request = client.post(url.clone()).headers(sent.headers.clone()).body(sent.text.clone());
        let mut body = request.send().await?.error_for_status()?.bytes_stream();
        while let Some(piece) = body.next().await {
            piece?;
        }
        Ok(())
    })
    .await
}

/// A researcher's turn: instructions, a topic, two searches with their results, and the tools.
fn request(model: &str) -> anyhow::Result<Request> {
    let prose = |bytes: usize| "The harbour board let the repair, and paid it from the dues. ".repeat(bytes / 61 + 1);
    let mut messages = vec![Message::system(prose(3_000)), Message::user(prose(1_000))];
    for turn in 0..2 {
        let (id, name) = (format!("call_{turn}"), "search_web".to_owned());
        let arguments = json!({"queries": ["harbour dues", "tide gate repair"]}).to_string();
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments, problem: None };
        messages.push(Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None });
        messages.push(Message::Tool { call_id: id, name, content: prose(6_000).into() });
    }
    let tool = |name: &str| {
        let queries = json!({"type": "array", "items": {"type": "string"}, "description": "What to look for."});
        let parameters = json!({"type": "object", "properties": {"queries": queries}, "required": ["queries"]});
        ToolSpec { name: name.to_owned(), description: prose(300), parameters, dispensable: false }
    };
    Ok(Request {
        model: model.parse().map_err(|_| anyhow::anyhow!("{model} is no model"))?,
        messages,
        tools: ["search_web", "read_page", "think"].map(tool).into(),
        tool_choice: ToolChoice::Auto,
        output: OutputFormat::Text,
        max_tokens: 8_192,
        sending: Sending::default(),
    })
}

fn chat() -> Reply {
    Reply::streams(&[PIECE; PIECES])
}

/// A stream of these events.
fn events(events: impl IntoIterator<Item = Value>) -> Reply {
    Reply::stream(events.into_iter().map(|event| format!("data: {event}\n\n")))
}

/// The pieces, each within what a dialect says around it.
fn pieces(around: impl Fn(&str) -> Value) -> impl Iterator<Item = Value> {
    std::iter::repeat_n(PIECE, PIECES).map(move |piece| around(piece))
}

fn responses() -> Reply {
    let part = json!({"type": "output_text", "text": PIECE.repeat(PIECES), "annotations": []});
    let item = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [part]});
    let usage = json!({"input_tokens": 4_000, "output_tokens": 600, "total_tokens": 4_600});
    let end = json!({"id": "r", "object": "response", "status": "completed", "output": [item], "usage": usage});
    let begin = [
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}),
    ];
    let delta = |piece: &str| {
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0,
            "delta": piece, "logprobs": [], "obfuscation": "mZp2R"})
    };
    let done = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": end}),
    ];
    events(begin.into_iter().chain(pieces(delta)).chain(done))
}

fn messages() -> Reply {
    let start = json!({"id": "m", "type": "message", "role": "assistant", "content": [],
        "usage": {"input_tokens": 4_000, "output_tokens": 1}});
    let begin = [
        json!({"type": "message_start", "message": start}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let delta = |piece: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}});
    let done = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 600}}),
        json!({"type": "message_stop"}),
    ];
    events(begin.into_iter().chain(pieces(delta)).chain(done))
}

fn gemini() -> Reply {
    let said = |piece: &str, reason: Option<&str>| {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}, "finishReason": reason, "index": 0}],
            "usageMetadata": {"promptTokenCount": 4_000, "candidatesTokenCount": 600, "totalTokenCount": 4_600},
            "modelVersion": "gemini-3.6-flash", "responseId": "r"})
    };
    let chunk = move |piece: &str| said(piece, None);
    events(pieces(chunk).chain([said("", Some("STOP"))]))
}

fn converse() -> Reply {
    let delta = |piece: &str| json!({"contentBlockIndex": 0, "delta": {"text": piece}, "p": "abcdefghijkl"});
    let mut frames = vec![frame("messageStart", &json!({"role": "assistant"}))];
    frames.extend(pieces(delta).map(|payload| frame("contentBlockDelta", &payload)));
    let usage = json!({"inputTokens": 4_000, "outputTokens": 600, "totalTokens": 4_600});
    frames.extend([
        frame("contentBlockStop", &json!({"contentBlockIndex": 0})),
        frame("messageStop", &json!({"stopReason": "end_turn"})),
        frame("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 7}})),
    ]);
    Reply::bytes("application/vnd.amazon.eventstream", frames)
}
