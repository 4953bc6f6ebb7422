//! Answers as models write them that are not quite what was asked for, in each dialect, whole and streamed: what is
//! read of them is the same everywhere.

use std::{collections::BTreeMap, time::Duration};

use fathom::llm::{
    Completion, Delta, Endpoint, Llm, Settings,
    structured::{Form, Strategies},
    wire::Wire,
};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{DONE, FakeVendor, Reply, USAGE_CHUNK, chunk, frame},
    requests::with_search as request,
};

/// What a model says, before a dialect writes it.
struct Said {
    text: Option<&'static str>,
    /// Name and arguments, which should be an object.
    call: Option<(&'static str, Value)>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Brief {
    question: String,
}

/// What has to be read.
enum Read {
    /// That text, and no call.
    Text(&'static str),
    /// The call of that tool with those arguments, and that text beside it.
    Call(&'static str, &'static str, &'static str),
    /// A structured answer.
    Brief(&'static str),
    /// No structured answer; the model hears why.
    NoBrief(&'static str),
}

const FENCED: &str = "```json\n{\"name\": \"search_web\", \"arguments\": {\"q\": \"depth\"}}\n```";
const MISSPELT: &str = "```json\n{\"name\": \"serch_web\", \"arguments\": {\"q\": \"depth\"}}\n```";
const DEPTH: &str = r#"{"q":"depth"}"#;

fn text(text: &'static str) -> Said {
    Said { text: Some(text), call: None }
}

fn call(name: &'static str, arguments: Value) -> Said {
    Said { text: None, call: Some((name, arguments)) }
}

// table of contents: what models get wrong
fn cases() -> Vec<(&'static str, Said, Read)> {
    let both = Said { text: Some("I will search."), call: Some(("search_web", json!({"q": "depth"}))) };
    vec![
        ("thinking tags", text("<think>hm, a brief</think>\n\nDeep."), Read::Text("Deep.")),
        ("thinking that never ends", text("<think>hm"), Read::Text("")),
        ("nothing", Said { text: None, call: None }, Read::Text("")),
        ("empty text", text(""), Read::NoBrief("the answer was empty")),
        ("prose", text("I cannot say."), Read::NoBrief("there is no JSON object")),
        ("prose around JSON", text("Here it is: {\"question\": \"How deep?\"} Good?"), Read::Brief("How deep?")),
        ("fenced JSON", text("```json\n{\"question\": \"How deep?\"}\n```"), Read::Brief("How deep?")),
        (
            "thoughts before JSON",
            text("<think>{\"question\": \"No.\"}</think>\n{\"question\": \"Yes?\"}"),
            Read::Brief("Yes?"),
        ),
        ("a trailing comma", text("{\"question\": \"How deep?\",}"), Read::NoBrief("trailing comma")),
        (
            "wrong nesting",
            text("{\"brief\": {\"question\": \"How deep?\"}}"),
            Read::NoBrief("missing field `question`"),
        ),
        ("a list", text("[{\"question\": \"How deep?\"}]"), Read::Brief("How deep?")),
        (
            "the answer as a call in the text",
            text("{\"name\": \"answer\", \"arguments\": {\"question\": \"How deep?\"}}"),
            Read::Brief("How deep?"),
        ),
        (
            "the same, its arguments a text",
            text("{\"name\": \"answer\", \"arguments\": \"{\\\"question\\\": \\\"How deep?\\\"}\"}"),
            Read::Brief("How deep?"),
        ),
        ("a call", call("search_web", json!({"q": "depth"})), Read::Call("search_web", DEPTH, "")),
        ("words and a call", both, Read::Call("search_web", DEPTH, "I will search.")),
        ("a fenced call", text(FENCED), Read::Call("search_web", DEPTH, "")),
        ("a fenced call of no tool", text(MISSPELT), Read::Text(MISSPELT)),
        ("a misspelt tool", call("serch_web", json!({"q": "depth"})), Read::Call("serch_web", DEPTH, "")),
        ("arguments as a text", call("search_web", json!(DEPTH)), Read::Call("search_web", DEPTH, "")),
        (
            "arguments that are a list",
            call("search_web", json!(["depth"])),
            Read::Call("search_web", r#"["depth"]"#, ""),
        ),
    ]
}

fn model(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::ChatCompletions => ("openai", "openai:gpt-4.1"),
        Wire::Responses => ("openai-responses", "openai-responses:gpt-5.4"),
        Wire::Messages => ("anthropic", "anthropic:claude-sonnet-5"),
        Wire::Gemini => ("google", "google:gemini-3.6-flash"),
        Wire::Converse => ("bedrock", "bedrock:us.amazon.nova-pro-v1:0"),
    }
}

fn llm(wire: Wire, vendor: &FakeVendor) -> Llm {
    let others = match wire {
        Wire::Converse => BTreeMap::from([("region", "us-east-1".into())]),
        _ => BTreeMap::new(),
    };
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    let endpoint = Endpoint { base_url, api_key: Some("key-0123456789".into()), others, ..Endpoint::default() };
    let (retry_for, first_retry_within) = (Duration::ZERO, Duration::from_secs(1));
    let mut settings = Settings { retry_for, first_retry_within, ..Settings::default() };
    settings.endpoints.insert(model(wire).0, endpoint);
    Llm::new(settings).unwrap()
}

impl Said {
    fn whole(&self, wire: Wire) -> Reply {
        let body = match wire {
            Wire::ChatCompletions => return self.chat(),
            Wire::Responses => json!({"id": "r", "object": "response", "status": "completed", "output": self.items()}),
            Wire::Messages => {
                json!({"type": "message", "role": "assistant", "content": self.blocks(), "stop_reason": "end_turn"})
            }
            Wire::Gemini => {
                json!({"candidates": [{"content": {"role": "model", "parts": self.parts()}, "finishReason": "STOP"}]})
            }
            Wire::Converse => {
                json!({"output": {"message": {"role": "assistant", "content": self.content()}}, "stopReason": "end_turn"})
            }
        };
        Reply::json(200, &body.to_string())
    }

    fn streamed(&self, wire: Wire) -> Reply {
        match wire {
            Wire::ChatCompletions => self.chat_stream(),
            Wire::Responses => self.response_stream(),
            Wire::Messages => self.message_stream(),
            Wire::Gemini => events(&self.gemini_chunks()),
            Wire::Converse => self.converse_stream(),
        }
    }

    fn gemini_chunks(&self) -> Vec<Value> {
        let chunk = |parts: Value, end: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": end}]});
        let parts = self.parts().into_iter().map(|part| chunk(json!([part]), Value::Null));
        parts.chain([chunk(json!([]), json!("STOP"))]).collect()
    }

    /// The call as Chat Completions has it, whose arguments are JSON text.
    fn function(&self) -> Vec<Value> {
        let call = self.call.iter().map(|(name, arguments)| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"index": 0, "id": "call_1", "type": "function", "function": function})
        });
        call.collect()
    }

    fn chat(&self) -> Reply {
        let mut message = json!({"role": "assistant", "content": self.text});
        if self.call.is_some() {
            message["tool_calls"] = self.function().into();
        }
        Reply::message(message, "stop")
    }

    fn chat_stream(&self) -> Reply {
        let mut chunks = vec![chunk(json!({"role": "assistant", "content": null}), None)];
        chunks.extend(pieces(self.text).map(|piece| chunk(json!({"content": piece}), None)));
        if self.call.is_some() {
            chunks.push(chunk(json!({"tool_calls": self.function()}), None));
        }
        chunks.extend([chunk(json!({}), Some("stop")), USAGE_CHUNK.to_owned(), DONE.to_owned()]);
        Reply::stream(chunks)
    }

    fn items(&self) -> Vec<Value> {
        let text = self.text.map(|text| {
            json!({"id": "m", "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
        });
        let call = self.call.iter().map(|(name, arguments)| {
            json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": name,
                "arguments": arguments.to_string()})
        });
        text.into_iter().chain(call).collect()
    }

    fn response_stream(&self) -> Reply {
        let mut all = vec![json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}})];
        for (index, item) in self.items().into_iter().enumerate() {
            all.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": {"type": item["type"]}}),
            );
            if item["type"] == "message" {
                let delta =
                    |piece| json!({"type": "response.output_text.delta", "output_index": index, "delta": piece});
                all.extend(pieces(self.text).map(delta));
            }
            all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        let response = json!({"id": "r", "object": "response", "status": "completed", "output": self.items()});
        all.push(json!({"type": "response.completed", "response": response}));
        events(&all)
    }

    fn blocks(&self) -> Vec<Value> {
        let text = self.text.map(|text| json!({"type": "text", "text": text}));
        let call = self
            .call
            .iter()
            .map(|(name, input)| json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input}));
        text.into_iter().chain(call).collect()
    }

    fn message_stream(&self) -> Reply {
        let mut all =
            vec![json!({"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}})];
        for (index, mut block) in self.blocks().into_iter().enumerate() {
            let deltas: Vec<Value> = match block["type"] == "text" {
                true => pieces(self.text).map(|piece| json!({"type": "text_delta", "text": piece})).collect(),
                false => vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})],
            };
            match block["type"] == "text" {
                true => block["text"] = json!(""),
                false => block["input"] = json!({}),
            }
            all.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
            let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            all.extend(deltas.into_iter().map(delta));
            all.push(json!({"type": "content_block_stop", "index": index}));
        }
        all.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}));
        all.push(json!({"type": "message_stop"}));
        events(&all)
    }

    fn parts(&self) -> Vec<Value> {
        let text = self.text.map(|text| json!({"text": text}));
        let call = self.call.iter().map(|(name, args)| json!({"functionCall": {"name": name, "args": args}}));
        text.into_iter().chain(call).collect()
    }

    fn content(&self) -> Vec<Value> {
        let text = self.text.map(|text| json!({"text": text}));
        let call = self
            .call
            .iter()
            .map(|(name, input)| json!({"toolUse": {"toolUseId": "tooluse_1", "name": name, "input": input}}));
        text.into_iter().chain(call).collect()
    }

    fn converse_stream(&self) -> Reply {
        let mut all = vec![frame("messageStart", &json!({"role": "assistant"}))];
        for (index, block) in self.content().into_iter().enumerate() {
            let delta = |delta: Value| frame("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta}));
            match block.get("toolUse") {
                None => all.extend(pieces(self.text).map(|piece| delta(json!({"text": piece})))),
                Some(call) => {
                    let start = json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
                    all.push(frame("contentBlockStart", &json!({"contentBlockIndex": index, "start": start})));
                    all.push(delta(json!({"toolUse": {"input": call["input"].to_string()}})));
                }
            }
            all.push(frame("contentBlockStop", &json!({"contentBlockIndex": index})));
        }
        all.push(frame("messageStop", &json!({"stopReason": "end_turn"})));
        let usage = json!({"inputTokens": 4, "outputTokens": 2, "totalTokens": 6});
        all.push(frame("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 7}})));
        Reply::bytes("application/vnd.amazon.eventstream", all)
    }
}

/// Three letters each, so that tags and fences are cut.
fn pieces(text: Option<&'static str>) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.unwrap_or_default().chars().collect();
    letters.chunks(3).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

fn events(events: &[Value]) -> Reply {
    Reply::stream(events.iter().map(|event| format!("data: {event}\n\n")))
}

/// What is read of that answer to a call that did not ask for a stream.
async fn whole(wire: Wire, reply: Reply) -> Completion {
    let vendor = FakeVendor::start([reply]).await;
    llm(wire, &vendor).complete(&request(model(wire).1), &|_| {}).await.unwrap()
}

/// What is read of it as an answer to one that did.
async fn streamed(wire: Wire, reply: Reply) -> Completion {
    let vendor = FakeVendor::start([reply]).await;
    let mut stream = llm(wire, &vendor).stream(&request(model(wire).1), &|_| {}).await.unwrap();
    while let Some(delta) = stream.next().await {
        if let Delta::End(completion) = delta.unwrap() {
            return completion;
        }
    }
    panic!("no end")
}

fn check(place: &str, completion: &Completion, read: &Read) {
    let calls: Vec<_> =
        completion.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    let form = Form { name: "brief", schema: json!({}).into() };
    let brief = Strategies::new(form, &|name: &str, _| name.to_owned()).read::<Brief>(completion);
    match read {
        Read::Text(text) => assert_eq!((completion.text.as_str(), &calls[..]), (*text, &[][..]), "{place}"),
        Read::Call(name, arguments, text) => {
            assert_eq!((&calls[..], completion.text.as_str()), (&[(*name, *arguments)][..], *text), "{place}");
        }
        Read::Brief(question) => assert_eq!(brief, Ok(Brief { question: (*question).to_owned() }), "{place}"),
        Read::NoBrief(problem) => {
            let said = brief.expect_err(place).to_string();
            assert!(said.contains(problem), "{place}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_answers_are_read_alike_in_every_dialect() {
    for (name, said, read) in &cases() {
        for wire in Wire::ALL {
            let place = format!("{name}, {}", wire.title());
            check(&place, &whole(wire, said.whole(wire)).await, read);
            check(&format!("{place}, streamed"), &streamed(wire, said.streamed(wire)).await, read);
        }
    }
}

/// Gateways stream what was not to be streamed, and the other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_counts_in_whichever_form_it_comes() {
    let both = Said { text: Some("I will search."), call: Some(("search_web", json!({"q": "depth"}))) };
    for said in [text("<think>hm</think>Deep."), both] {
        for wire in Wire::ALL {
            let place = wire.title();
            let (in_pieces, in_one) = (|| said.streamed(wire), || said.whole(wire));
            assert_eq!(whole(wire, in_pieces()).await, streamed(wire, in_pieces()).await, "{place}");
            assert_eq!(streamed(wire, in_one()).await, whole(wire, in_one()).await, "{place}");
            if wire != Wire::Converse {
                let misnamed = || in_pieces().called("application/json");
                assert_eq!(whole(wire, misnamed()).await, whole(wire, in_pieces()).await, "{place}, as JSON");
                assert_eq!(streamed(wire, misnamed()).await, streamed(wire, in_pieces()).await, "{place}, as JSON");
            }
        }
    }
}

/// Google streams a JSON array to who does not ask for events, and gateways strip the query that asks for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_of_gemini_is_the_stream_that_it_stands_for() {
    let both = Said { text: Some("I will [search]."), call: Some(("search_web", json!({"q": "depth"}))) };
    let array = |said: &Said, end: &str| {
        let all = said.gemini_chunks();
        let text = all.iter().map(Value::to_string).collect::<Vec<_>>().join("\r\n,\r\n");
        let bytes = format!("[{text}{end}").into_bytes();
        Reply::bytes("application/json; charset=UTF-8", bytes.chunks(5).map(<[u8]>::to_vec).collect())
    };
    for said in [text("Deep."), both] {
        let expected = streamed(Wire::Gemini, said.streamed(Wire::Gemini)).await;
        assert_eq!(streamed(Wire::Gemini, array(&said, "\n]\n")).await, expected);
        assert_eq!(streamed(Wire::Gemini, array(&said, "")).await, expected, "its end has come");
        assert_eq!(whole(Wire::Gemini, array(&said, "]")).await, expected);
    }
    for wire in Wire::ALL.into_iter().filter(|wire| *wire != Wire::Gemini) {
        let vendor = FakeVendor::start([Reply::json(200, "[{}]"), Reply::json(200, "[{}]")]).await;
        let failed = llm(wire, &vendor).stream(&request(model(wire).1), &|_| {}).await.err().unwrap();
        assert!(matches!(failed.error, fathom::llm::Error::Malformed { .. }), "{}: {failed:?}", wire.title());
    }
    let cut = || Reply::bytes("application/json", vec![br#"[{"candidates": [{"content": {"parts": [{"te"#.to_vec()]);
    let vendor = FakeVendor::start([cut()]).await;
    let failed = llm(Wire::Gemini, &vendor).stream(&request(model(Wire::Gemini).1), &|_| {}).await.err().unwrap();
    assert!(matches!(failed.error, fathom::llm::Error::Malformed { .. }), "{failed:?}");
    let refused =
        r#"[{"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}]"#;
    for status in [200, 400] {
        let vendor = FakeVendor::start([Reply::json(status, refused)]).await;
        let failed = llm(Wire::Gemini, &vendor).stream(&request(model(Wire::Gemini).1), &|_| {}).await.err().unwrap();
        assert!(matches!(failed.error, fathom::llm::Error::Auth { .. }), "{status}: {failed:?}");
    }
}
