//! What we send to models, held against the shapes in the vendors' own Python packages (tests/wires): each dialect with
//! tools, forced calls, schemas, results, turns that go back as they came, tuning and streams.

use std::{collections::BTreeMap, process::Stdio, sync::Arc, time::Duration};

use fathom_testkit::program::tool;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, process::Command};
use url::Url;

use crate::{
    fake_vendor::{FakeVendor, Reply},
    requests::question,
};
use fathom::llm::{
    Endpoint, Llm, Message, OutputFormat, Request, Sending, Settings, ToolCall, ToolChoice, ToolSpec, Tuning,
    wire::Wire,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wires/validate.py");

/// A dialect at the vendor that made it.
struct Dialect {
    wire: &'static str,
    provider: &'static str,
    models: &'static [&'static str],
    /// A turn with thoughts, words and a call, as the vendor answers.
    turn: fn() -> Value,
    tier: &'static str,
    /// `None` where the vendor's package has none any more: it is sent only where an operator sets it, for models that
    /// still take it.
    temperature: Option<f64>,
    /// What must not pass: a place in the body of the forced call, and what is put there.
    wrong: &'static [(&'static str, &'static str)],
}

const DIALECTS: [Dialect; 5] = [
    Dialect {
        wire: "Chat Completions",
        provider: "openai",
        models: &["gpt-4.1", "gpt-5.4"],
        turn: chat_turn,
        tier: "flex",
        temperature: Some(0.5),
        wrong: &[
            ("/messages/0/role", "\"boss\""),
            ("/tools/0/function/name", "7"),
            ("/tool_choice", "\"sometimes\""),
            ("/max_token", "100"),
        ],
    },
    Dialect {
        wire: "Responses",
        provider: "openai-responses",
        models: &["gpt-4.1", "gpt-5.4"],
        turn: responses_turn,
        tier: "flex",
        temperature: Some(0.5),
        wrong: &[("/input/0/role", "\"boss\""), ("/tools/0/parameters", "7"), ("/max_tokens", "100")],
    },
    Dialect {
        wire: "Messages",
        provider: "anthropic",
        models: &["claude-haiku-4-5", "claude-sonnet-5"],
        turn: messages_turn,
        tier: "standard_only",
        temperature: None,
        wrong: &[
            ("/max_tokens", "\"100\""),
            ("/tools/0/input_schema", "[]"),
            ("/messages/0/content", "7"),
            ("/instructions", "\"\""),
        ],
    },
    Dialect {
        wire: "Gemini",
        provider: "google",
        models: &["gemini-2.5-flash", "gemini-3.6-flash"],
        turn: gemini_turn,
        tier: "",
        temperature: Some(0.5),
        wrong: &[
            ("/contents/0/parts/0/text", "7"),
            ("/toolConfig/functionCallingConfig/mode", "\"SOMETIMES\""),
            ("/maxOutputTokens", "100"),
        ],
    },
    Dialect {
        wire: "Converse",
        provider: "bedrock",
        models: &["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-pro-v1:0"],
        turn: converse_turn,
        tier: "flex",
        temperature: Some(0.5),
        wrong: &[
            ("/inferenceConfig/maxTokens", "\"100\""),
            ("/messages/0/role", "\"boss\""),
            ("/toolConfig/toolChoice", "\"any\""),
            ("/maxTokens", "100"),
        ],
    },
];

/// Dialects, by their titles, whose vendors publish no package to hold them against.
const UNPUBLISHED: &[&str] = &[];

fn chat_turn() -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "search_web", "arguments": "{\"queries\": [\"a\"]}"}});
    let message =
        json!({"role": "assistant", "content": "Looking.", "refusal": null, "annotations": [], "tool_calls": [call]});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})
}

fn responses_turn() -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2ln"},
        {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
        {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "search_web",
            "arguments": "{\"queries\": [\"a\"]}"}]})
}

fn messages_turn() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "It is deep.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2ln"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "search_web", "input": {"queries": ["a"]}}],
        "usage": {"input_tokens": 4, "output_tokens": 2}})
}

fn gemini_turn() -> Value {
    json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "It is deep.", "thought": true},
        {"text": "Looking."},
        {"functionCall": {"id": "f1", "name": "search_web", "args": {"queries": ["a"]}}, "thoughtSignature": "c2ln"}]}}]})
}

fn converse_turn() -> Value {
    json!({"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "It is deep.", "signature": "c2ln"}}},
        {"text": "Looking."},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "search_web", "input": {"queries": ["a"]}}}]}},
        "stopReason": "tool_use", "usage": {"inputTokens": 4, "outputTokens": 2, "totalTokens": 6}})
}

fn schema() -> Value {
    json!({"type": "object", "required": ["queries", "range"], "additionalProperties": false, "properties": {
        "queries": {"type": "array", "items": {"type": "string"}, "description": "What to look for."},
        "range": {"anyOf": [{"type": "string", "enum": ["day", "year"]}, {"type": "null"}]}}})
}

fn tools() -> Vec<ToolSpec> {
    let spec = |name: &str, parameters: Value| ToolSpec {
        name: name.into(),
        description: "It helps.".into(),
        parameters: parameters.into(),
        dispensable: false,
    };
    vec![spec("search_web", schema()), spec("finish", json!({"type": "object", "properties": {}}))]
}

fn plain(model: &str) -> Request {
    Request { max_tokens: 2_000, ..question(model) }
}

/// Turns of another vendor's model: two calls at once, one of which is no JSON, and a turn without words.
fn results(model: &str) -> Request {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "search_web".into(),
        arguments: arguments.into(),
        problem: None,
    };
    let result = |id: &str| Message::Tool { call_id: id.into(), name: "search_web".into(), content: "found".into() };
    let calls = vec![call("a.foreign/id", "{\"queries\": []}"), call("other", "not JSON")];
    let turn = Message::Assistant { content: "Looking.".into(), tool_calls: calls, carry: None };
    let silent = Message::Assistant { content: String::new(), tool_calls: vec![call("third", "")], carry: None };
    let further = [turn, result("a.foreign/id"), result("other"), silent, result("third"), Message::user("Go on.")];
    let base = plain(model);
    Request { messages: base.messages.into_iter().chain(further).collect(), tools: tools(), ..plain(model) }
}

fn cases(model: &str, tier: &str, temperature: Option<f64>) -> Vec<(&'static str, Request)> {
    let output = OutputFormat::JsonSchema { name: "brief".into(), schema: schema().into() };
    let tuning = Tuning {
        reasoning_effort: Some("low".into()),
        temperature,
        service_tier: Some(tier.to_owned()).filter(|tier| !tier.is_empty()),
        ..Tuning::default()
    };
    let sending = Sending { tuning: Some(Arc::new(tuning)), cache_key: Some("run-1".into()) };
    vec![
        ("plain", plain(model)),
        ("tools", Request { tools: tools(), ..plain(model) }),
        ("forced", Request { tools: tools(), tool_choice: ToolChoice::Required, ..plain(model) }),
        ("schema", Request { output, ..plain(model) }),
        ("results", results(model)),
        ("results without tools", Request { tools: Vec::new(), ..results(model) }),
        ("tuned", Request { sending, tools: tools(), ..plain(model) }),
    ]
}

impl Dialect {
    fn llm(&self, vendor: &FakeVendor) -> Llm {
        let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
        let others = match self.provider {
            "bedrock" => BTreeMap::from([("region", "us-east-1".into())]),
            _ => BTreeMap::new(),
        };
        let endpoint = Endpoint { base_url, api_key: Some("key-0123456789".into()), others, ..Endpoint::default() };
        let mut settings =
            Settings { retry_for: Duration::ZERO, first_retry_within: Duration::from_secs(1), ..Settings::default() };
        settings.endpoints.insert(self.provider, endpoint);
        Llm::new(settings).unwrap()
    }

    /// The body of the request, sent whole and streamed.
    async fn bodies(&self, request: &Request) -> [Value; 2] {
        let vendor = FakeVendor::start([Reply::json(200, "{}"), Reply::json(200, "{}")]).await;
        let llm = self.llm(&vendor);
        // What comes back is no answer, and none is needed.
        let _ = llm.complete(request, &|_| {}).await;
        let _ = self.llm(&vendor).stream(request, &|_| {}).await;
        let [whole, streamed] = &vendor.sent()[..] else { panic!("two requests were sent") };
        [whole.body.clone(), streamed.body.clone()]
    }

    /// The conversation after a turn that this vendor's model made.
    async fn carried(&self, model: &str) -> Request {
        let vendor = FakeVendor::start([Reply::json(200, &(self.turn)().to_string())]).await;
        let request = Request { tools: tools(), ..plain(model) };
        let completion = self.llm(&vendor).complete(&request, &|_| {}).await.unwrap();
        let [call] = &completion.tool_calls[..] else { panic!("{completion:?}") };
        let result = Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content: "found".into() };
        let further = [Message::turn_of(&completion), result];
        Request { messages: request.messages.clone().into_iter().chain(further).collect(), ..request }
    }

    /// Every request that this dialect writes, by its name.
    async fn requests(&self) -> Vec<(String, Value)> {
        let mut requests = Vec::new();
        for name in self.models {
            let model = format!("{}:{name}", self.provider);
            let mut cases = cases(&model, self.tier, self.temperature);
            cases.push(("carried", self.carried(&model).await));
            for (case, request) in cases {
                let [whole, streamed] = self.bodies(&request).await;
                let name = format!("{}, {name}, {case}", self.wire);
                requests.push((format!("{name}, streamed"), streamed));
                requests.push((name, whole));
            }
        }
        requests
    }

    async fn wrong_requests(&self) -> Vec<(String, Value)> {
        let model = format!("{}:{}", self.provider, self.models[0]);
        let forced = Request { tools: tools(), tool_choice: ToolChoice::Required, ..plain(&model) };
        let [body, _] = self.bodies(&forced).await;
        let wrong = self.wrong.iter().map(|(place, value)| {
            let mut body = body.clone();
            let value: Value = serde_json::from_str(value).unwrap();
            match body.pointer_mut(place) {
                Some(there) => *there = value,
                None => body[&place[1..]] = value,
            }
            (format!("{}, wrong {place}", self.wire), body)
        });
        wrong.collect()
    }
}

/// What the packages say of each line `{"wire": …, "name": …, "body": …}`, by its name.
pub async fn problems(lines: String) -> BTreeMap<String, Vec<String>> {
    let mut command = Command::new(tool("wires/venv/bin/python"));
    command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let written = tokio::spawn(async move { stdin.write_all(lines.as_bytes()).await });
    let output =
        tokio::time::timeout(Duration::from_secs(120), child.wait_with_output()).await.expect("it ends").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    written.await.unwrap().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answer = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let problems = serde_json::from_value(answer["problems"].clone()).unwrap();
        (answer["name"].as_str().unwrap().to_owned(), problems)
    };
    said.lines().map(answer).collect()
}

#[test]
fn every_dialect_is_held_against_its_vendor() {
    let held: Vec<_> = DIALECTS.iter().map(|dialect| dialect.wire).chain(UNPUBLISHED.iter().copied()).collect();
    let lacking: Vec<_> = Wire::ALL.map(Wire::title).into_iter().filter(|title| !held.contains(title)).collect();
    assert!(lacking.is_empty(), "neither `DIALECTS` nor `UNPUBLISHED` has {lacking:?} of `Wire::ALL`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_the_shapes_that_vendors_publish() {
    let (mut lines, mut right, mut wrong) = (String::new(), Vec::new(), Vec::new());
    for dialect in &DIALECTS {
        for (requests, names) in [(dialect.requests().await, &mut right), (dialect.wrong_requests().await, &mut wrong)]
        {
            for (name, body) in requests {
                lines += &format!("{}\n", json!({"wire": dialect.wire, "name": name, "body": body}));
                names.push(name);
            }
        }
    }
    assert_eq!(right.len(), DIALECTS.len() * 2 * 2 * 8);
    let problems = problems(lines).await;
    let refused: Vec<_> =
        right.iter().map(|name| (name, &problems[name])).filter(|(_, found)| !found.is_empty()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    // The check is only worth something if it refuses.
    for name in wrong {
        assert!(!problems[&name].is_empty(), "{name} passes");
    }
}
