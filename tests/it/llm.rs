//! Calls of models over loopback: what is sent, what becomes of each kind of answer, and of each kind of failure.

use std::time::Duration;

use futures::StreamExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{DONE, FakeVendor, Reply, USAGE_CHUNK, chunk},
    requests::bare_question,
};
use fathom::domain::{ModelName, Usage};
use fathom::llm::providers::{Auth, Key, Lists, OutputLimit, PROVIDERS, Provider, Quirks, Variables};
use fathom::llm::wire::Wire;
use fathom::llm::{
    BrokenOff, Completion, Delta, Endpoint, Error, Facts, Failed, Llm, Message, OutputFormat, Part, Request, Sending,
    Settings, StopReason, Text, ToolCall, ToolChoice, ToolSpec, Tuning, Wait,
};

const USAGE: Usage = Usage {
    input_tokens: 40,
    cached_tokens: 30,
    cache_write_tokens: 0,
    searches: 0,
    output_tokens: 2,
    reasoning_tokens: 1,
    cost: None,
};
const KEY: &str = "sk-test-0123456789";

fn settings(vendor: &FakeVendor) -> Settings {
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    let headers = vec![("X-Title".into(), "Fathom".into())];
    let endpoint = Endpoint { base_url, api_key: Some(KEY.into()), headers, ..Endpoint::default() };
    Settings {
        endpoints: PROVIDERS.iter().map(|provider| (provider.name, endpoint.clone())).collect(),
        total_timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_secs(5),
        retry_for: Duration::from_secs(1),
        first_retry_within: Duration::from_millis(2),
        ..Settings::default()
    }
}

async fn world(script: impl IntoIterator<Item = Reply>) -> (FakeVendor, Llm) {
    let vendor = FakeVendor::start(script).await;
    let llm = Llm::new(settings(&vendor)).unwrap();
    (vendor, llm)
}

fn request() -> Request {
    bare_question("openai:local")
}

fn model(name: &str) -> ModelName {
    name.parse().unwrap()
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"queries": {"type": "array"}}});
    ToolSpec { name: name.into(), description: "Searches.".into(), parameters: parameters.into(), dispensable: false }
}

fn answer(text: &str) -> Completion {
    Completion {
        text: text.into(),
        tool_calls: Vec::new(),
        stop: StopReason::End,
        usage: USAGE,
        attempts: 1,
        carry: None,
    }
}

fn quietly(_: Wait) {}

async fn complete(reply: Reply, request: &Request) -> Result<Completion, Failed> {
    let (_vendor, llm) = world([reply]).await;
    llm.complete(request, &quietly).await
}

/// All deltas of a streamed answer, and the error that ended it.
async fn stream(reply: Reply, request: &Request) -> (Vec<Delta>, Option<Error>) {
    let (_vendor, llm) = world([reply]).await;
    let mut stream = match llm.stream(request, &quietly).await {
        Ok(stream) => stream,
        Err(failed) => return (Vec::new(), Some(failed.error)),
    };
    let mut deltas = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(delta) => deltas.push(delta),
            Err(broken_off) => {
                assert!(stream.next().await.is_none(), "an error ends the stream");
                return (deltas, Some(broken_off.error));
            }
        }
    }
    (deltas, None)
}

/// The text of a stream that ended well, and its completion; checks that they agree.
async fn streamed(reply: Reply, request: &Request) -> Completion {
    let (mut deltas, error) = stream(reply, request).await;
    assert_eq!(error, None, "{deltas:?}");
    let Some(Delta::End(completion)) = deltas.pop() else { panic!("no end: {deltas:?}") };
    let text: String = deltas
        .into_iter()
        .map(|delta| match delta {
            Delta::Text(text) => text,
            Delta::End(_) => panic!("two ends"),
        })
        .collect();
    if completion.tool_calls.is_empty() {
        assert_eq!(text, completion.text);
    }
    completion
}

/// The body that `request` becomes.
async fn sent(request: &Request) -> Value {
    let (vendor, llm) = world([Reply::says("ok")]).await;
    llm.complete(request, &quietly).await.unwrap();
    vendor.sent().remove(0).body
}

// What is sent.

#[tokio::test]
async fn a_request_is_sent_as_chat_completions() {
    let (vendor, llm) = world([Reply::says("Very.")]).await;
    let content = Text(vec![Part::Fixed("Read:\n".into()), Part::Flexible("evidence".into())]);
    let request = Request { messages: vec![Message::system("Be brief."), Message::User { content }], ..request() };
    assert_eq!(llm.complete(&request, &quietly).await, Ok(answer("Very.")));
    let sent = vendor.sent().remove(0);
    assert_eq!(sent.path, "/v1/chat/completions");
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(sent.headers["x-title"], "Fathom");
    let expected = json!({"model": "local", "stream": false, "max_tokens": 100, "messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Read:\nevidence"}]});
    assert_eq!(sent.body, expected);
}

#[tokio::test]
async fn model_names_arrive_as_they_are() {
    for name in [
        "openai:gpt-5",
        "openai:o3",
        "openai:local",
        "ollama:qwen3:8b",
        "openrouter:qwen/qwen-max",
        "openrouter:mistralai/mistral-medium",
        "openai:gpt-5.1-high",
        "openrouter:deepseek/deepseek-r1:free",
        "openai:a::b",
        "openai:ollama::x",
        "openai:claude-x",
        "openai:gpt-4o-pro",
        "openai:gpt-6",
        "openai:x-none",
    ] {
        let model = model(name);
        let (vendor, llm) = world([Reply::says("ok")]).await;
        llm.complete(&Request { model: model.clone(), ..request() }, &quietly).await.unwrap();
        let sent = vendor.sent().remove(0);
        assert_eq!((sent.path.as_str(), &sent.body["model"]), ("/v1/chat/completions", &json!(model.model)), "{name}");
        let limit = if ["gpt-5", "gpt-6", "o3"].iter().any(|new| model.model.starts_with(new)) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let fields: Vec<_> = sent.body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["model", "stream", "messages", limit], "{name}");
    }
}

#[tokio::test]
async fn tools_and_history_are_sent_in_order() {
    let calls = vec![
        ToolCall {
            id: "c1".into(),
            name: "search_web".into(),
            arguments: r#"{"queries":["b","a"]}"#.into(),
            problem: None,
        },
        ToolCall { id: "c2".into(), name: "think_tool".into(), arguments: "{}".into(), problem: None },
    ];
    let reply = |id: &str, text: &str| Message::Tool { call_id: id.into(), name: "n".into(), content: text.into() };
    let body = sent(&Request {
        messages: vec![
            Message::user("q"),
            Message::Assistant { content: "Looking.".into(), tool_calls: calls, carry: None },
            reply("c1", "found"),
            reply("c2", "thought"),
        ],
        tools: vec![tool("search_web"), tool("think_tool")],
        tool_choice: ToolChoice::Required,
        ..request()
    })
    .await;
    assert_eq!(body["tool_choice"], "required");
    assert_eq!(body["tools"][0]["function"]["name"], "search_web");
    assert_eq!(body["tools"][0]["function"]["description"], "Searches.");
    assert_eq!(body["tools"][0]["function"]["parameters"], *tool("").parameters);
    assert_eq!(body["tools"][1]["function"]["name"], "think_tool");
    let expected = json!([
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [
            {"type": "function", "id": "c1", "function": {"name": "search_web", "arguments": r#"{"queries":["b","a"]}"#}},
            {"type": "function", "id": "c2", "function": {"name": "think_tool", "arguments": "{}"}}]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "tool", "content": "thought", "tool_call_id": "c2"},
    ]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn a_schema_is_sent_strict() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}}).into();
    let body = sent(&Request { output: OutputFormat::JsonSchema { name: "brief".into(), schema }, ..request() }).await;
    let expected = json!({"type": "json_schema", "json_schema": {"name": "brief", "strict": true, "schema":
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}});
    assert_eq!(body["response_format"], expected);
}

#[tokio::test]
async fn without_a_key_no_authorization_is_sent() {
    let vendor = FakeVendor::start([Reply::says("ok")]).await;
    let mut settings = settings(&vendor);
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    settings.endpoints.insert("openai", Endpoint { base_url, ..Endpoint::default() });
    let llm = Llm::new(settings).unwrap();
    assert_eq!(llm.missing(&model("openai:local")), None);
    llm.complete(&request(), &quietly).await.unwrap();
    assert!(!vendor.sent()[0].headers.contains_key("authorization"));
}

/// A provider that nobody has: no line of code knows it, its row is enough.
static INVENTED: [Provider; 1] = [Provider {
    name: "acme",
    title: "Acme",
    wire: Wire::ChatCompletions,
    base_url: Some("https://models.acme.test/v9"),
    usual_path: None,
    variables: Variables { api_key: "ACME_API_KEY", base_url: "ACME_BASE_URL", headers: "ACME_HEADERS" },
    original: None,
    others: &[],
    place: None,
    other_key: None,
    key: Key::Needed,
    auth: Auth::Header("x-acme-key"),
    lists: Lists::Nothing,
    settings_of: None,
    defaults: None,
    quirks: Quirks {
        output_limit: OutputLimit::Named("max_new_tokens"),
        required: "any",
        stream_options: false,
        short_ids: true,
        headers: &[("x-acme-version", "9")],
        ..Quirks::NONE
    },
    example: "m",
    note: "",
}];

#[tokio::test]
async fn a_new_provider_is_a_row_alone() {
    let acme = model("acme:m");
    let llm = Llm::new(Settings { providers: &INVENTED, ..Settings::default() }).unwrap();
    assert_eq!(llm.missing(&acme), Some("ACME_API_KEY"));

    let vendor = FakeVendor::start([Reply::says("Yes."), Reply::streams(&["Yes."])]).await;
    let mut own = settings(&vendor);
    own.providers = &INVENTED;
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    own.endpoints.insert("acme", Endpoint { base_url, api_key: Some(KEY.into()), ..Endpoint::default() });
    let llm = Llm::new(own).unwrap();
    let call = ToolCall { id: "toolu_01".into(), name: "think_tool".into(), arguments: "{}".into(), problem: None };
    let request = Request {
        model: acme.clone(),
        messages: vec![
            Message::user("q"),
            Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None },
            Message::Tool { call_id: "toolu_01".into(), name: "think_tool".into(), content: "ok".into() },
        ],
        tools: vec![tool("think_tool")],
        tool_choice: ToolChoice::Required,
        ..request()
    };
    assert_eq!(llm.complete(&request, &quietly).await, Ok(answer("Yes.")));
    let mut stream = llm.stream(&request, &quietly).await.unwrap();
    while stream.next().await.is_some() {}
    for sent in vendor.sent() {
        assert_eq!((&*sent.path, &sent.headers["x-acme-key"]), ("/v1/chat/completions", &KEY.parse().unwrap()));
        assert_eq!(sent.headers["x-acme-version"], "9");
        assert!(!sent.headers.contains_key("authorization"));
        assert_eq!((&sent.body["tool_choice"], &sent.body["max_new_tokens"]), (&json!("any"), &json!(100)));
        assert_eq!(sent.body.get("stream_options"), None);
        let id = sent.body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!((id.len(), &sent.body["messages"][2]["tool_call_id"]), (9, &json!(id)));
    }
}

/// Each row's own request, as far as the row says it.
#[tokio::test]
async fn every_provider_is_called_as_its_row_says() {
    for provider in PROVIDERS.iter().filter(|provider| provider.wire == Wire::ChatCompletions) {
        let reply = if provider.quirks.whole_answers { Reply::says("ok") } else { Reply::streams(&["ok"]) };
        let (vendor, llm) = world([reply]).await;
        llm.complete(&Request { model: ModelName::new(provider.name, "m"), ..request() }, &quietly).await.unwrap();
        let sent = vendor.sent().remove(0);
        let (header, value) = match provider.auth {
            Auth::Bearer | Auth::Amazon => ("authorization", format!("Bearer {KEY}")),
            Auth::Header(name) => (name, KEY.to_owned()),
            Auth::Google => ("x-goog-api-key", KEY.to_owned()),
        };
        assert_eq!((&*sent.path, sent.headers[header].to_str().unwrap()), ("/v1/chat/completions", &*value));
        let limit = match provider.quirks.output_limit {
            OutputLimit::MaxCompletionTokens => "max_completion_tokens",
            OutputLimit::MaxTokens | OutputLimit::ByModel => "max_tokens",
            OutputLimit::Named(field) => field,
        };
        assert_eq!(sent.body[limit], 100, "{}", provider.name);
        assert_eq!(sent.body["stream"], !provider.quirks.whole_answers, "{}", provider.name);
    }
}

#[tokio::test]
async fn a_missing_key_is_named_before_anything_is_sent() {
    let llm = Llm::new(Settings::default()).unwrap();
    assert_eq!(llm.missing(&model("openai:gpt-5")), Some("OPENAI_API_KEY"));
    assert_eq!(llm.missing(&model("openrouter:a/b")), Some("OPENROUTER_API_KEY"));
    assert_eq!(llm.missing(&model("ollama:qwen3")), None);
    assert_eq!(llm.missing(&ModelName::offline()), None);
    let failed = llm.complete(&Request { model: model("openai:gpt-5"), ..request() }, &quietly).await.unwrap_err();
    let detail = "OPENAI_API_KEY is not set".into();
    assert_eq!(
        failed,
        Failed { error: Error::Auth { model: model("openai:gpt-5"), detail }, attempts: 0, too_long: None }
    );
}

/// Other dialects swap such a tool for the provider's own.
#[tokio::test]
async fn a_tool_named_web_search_stays_ours() {
    let body = sent(&Request { tools: vec![tool("web_search")], ..request() }).await;
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(body["tools"][0]["function"]["name"], "web_search");
    assert_eq!(body["tools"][0]["function"]["description"], "Searches.");
}

/// llama.cpp answers 500 to every request with such a history.
#[tokio::test]
async fn arguments_that_do_not_parse_are_replaced_before_history_is_sent() {
    for broken in [r#"{"queries": ["cut"#, "", "[1]", "text"] {
        let call = ToolCall { id: "c1".into(), name: "search_web".into(), arguments: broken.into(), problem: None };
        let messages = vec![Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None }];
        let body = sent(&Request { messages, ..request() }).await;
        assert_eq!(body["messages"][0]["tool_calls"][0]["function"]["arguments"], "{}", "{broken}");
    }
}

// What comes back.

#[tokio::test]
async fn tool_calls_are_read() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": " search_web ", "arguments": "{\"queries\": [\"a\"]}"}},
        {"type": "function", "function": {"name": "think_tool", "arguments": {"reflection": "r"}}},
        {"id": "x", "type": "function", "function": {"name": "search_web", "arguments": ""}}]});
    let completion = complete(Reply::message(message, "tool_calls"), &request()).await.unwrap();
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        problem: None,
    };
    let expected = [
        call("x", "search_web", r#"{"queries": ["a"]}"#),
        call("t0001c001", "think_tool", r#"{"reflection":"r"}"#),
        call("t0001c002", "search_web", ""),
    ];
    assert_eq!((completion.tool_calls.as_slice(), completion.stop), (expected.as_slice(), StopReason::ToolCalls));
}

#[tokio::test]
async fn a_tool_call_cut_off_by_the_output_limit_is_an_answer() {
    let message = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "think_tool", "arguments": "{\"reflection\": \"The"}}]});
    let completion = complete(Reply::message(message, "length"), &request()).await.unwrap();
    assert_eq!(completion.stop, StopReason::Length);
    assert_eq!(completion.tool_calls[0].arguments, "{\"reflection\": \"The");
}

#[tokio::test]
async fn required_is_no_promise() {
    let request = Request { tools: vec![tool("search_web")], tool_choice: ToolChoice::Required, ..request() };
    let message = json!({"role": "assistant", "content": "Prose"});
    let completion = complete(Reply::message(message, "length"), &request).await.unwrap();
    assert_eq!(completion, Completion { stop: StopReason::Length, ..answer("Prose") });
    let message = json!({"role": "assistant", "content": ""});
    assert_eq!(complete(Reply::message(message, "stop"), &request).await.unwrap(), answer(""));
}

#[tokio::test]
async fn a_fenced_call_of_an_offered_tool_is_a_call() {
    let fenced = "```json\n{\"name\": \"search_web\", \"arguments\": {\"queries\": [\"a\"]}}\n```";
    let offered = Request { tools: vec![tool("search_web")], ..request() };
    for completion in [
        complete(Reply::says(fenced), &offered).await.unwrap(),
        streamed(Reply::streams(&[&fenced[..9], &fenced[9..30], &fenced[30..]]), &offered).await,
    ] {
        let call = ToolCall {
            id: "t0001c000".into(),
            name: "search_web".into(),
            arguments: r#"{"queries":["a"]}"#.into(),
            problem: None,
        };
        assert_eq!(completion, Completion { tool_calls: vec![call], stop: StopReason::ToolCalls, ..answer("") });
    }
    assert_eq!(complete(Reply::says(fenced), &request()).await.unwrap(), answer(fenced));
}

#[tokio::test]
async fn more_calls_than_asked_for_are_all_read() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "think_tool", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [call, call, call]});
    let completion = complete(Reply::message(message, "tool_calls"), &request()).await.unwrap();
    let ids: Vec<_> = completion.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "t0001c001", "t0001c002"]);
}

#[tokio::test]
async fn thinking_never_reaches_the_text() {
    for content in ["<think>hm</think>\n\nYes.", "hm\n</think>\n\nYes.", " Yes. "] {
        assert_eq!(complete(Reply::says(content), &request()).await.unwrap(), answer("Yes."), "{content}");
    }
    assert_eq!(complete(Reply::says("<think>never closed"), &request()).await.unwrap(), answer(""));
    let message = json!({"role": "assistant", "content": "Yes.", "reasoning_content": "hm", "reasoning": "hm"});
    assert_eq!(complete(Reply::message(message, "stop"), &request()).await.unwrap(), answer("Yes."));
    let pieces = ["<th", "ink>h", "m</thi", "nk>", "\n\nYe", "s."];
    assert_eq!(streamed(Reply::streams(&pieces), &request()).await, answer("Yes."));
    let reasoned = Reply::stream([
        chunk(json!({"role": "assistant", "content": null, "reasoning_content": "hm"}), None),
        chunk(json!({"reasoning": "hm"}), None),
        chunk(json!({"content": "Yes."}), Some("stop")),
        USAGE_CHUNK.into(),
        DONE.into(),
    ]);
    assert_eq!(streamed(reasoned, &request()).await, answer("Yes."));
}

#[tokio::test]
async fn a_refusal_is_an_error_with_the_models_words() {
    let expected = Error::Refused { model: model("openai:local"), detail: "I cannot.".into() };
    let message = json!({"role": "assistant", "content": null, "refusal": "I cannot."});
    assert_eq!(complete(Reply::message(message, "stop"), &request()).await.unwrap_err().error, expected);
    let chunks =
        [chunk(json!({"refusal": "I can"}), None), chunk(json!({"refusal": "not."}), Some("stop")), DONE.into()];
    assert_eq!(stream(Reply::stream(chunks), &request()).await, (Vec::new(), Some(expected)));
    for reason in ["content_filter", "content_filter: SAFETY"] {
        let message = json!({"role": "assistant", "content": "Half"});
        let completion = complete(Reply::message(message, reason), &request()).await.unwrap();
        assert_eq!(completion, Completion { stop: StopReason::Refused, ..answer("Half") });
    }
}

// Streams.

#[tokio::test]
async fn a_stream_is_pulled_piece_by_piece() {
    let (deltas, error) = stream(Reply::streams(&["Ver", "y de", "ep."]), &request()).await;
    let texts = ["Ver", "y de", "ep."].map(|text| Delta::Text(text.into()));
    assert_eq!((&deltas[..3], &deltas[3..], error), (&texts[..], &[Delta::End(answer("Very deep."))][..], None));
}

#[tokio::test]
async fn a_stream_asks_for_usage() {
    let (vendor, llm) = world([Reply::streams(&["ok"])]).await;
    llm.stream(&request(), &quietly).await.unwrap();
    let body = vendor.sent().remove(0).body;
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[tokio::test]
async fn streamed_tool_calls_are_put_together() {
    let piece = |index: Option<u32>, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
        call.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        call["function"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
        chunk(json!({"tool_calls": [call]}), None)
    };
    let end = || [chunk(json!({}), Some("tool_calls")), DONE.to_owned()];
    let openai = [
        piece(Some(0), Some("a"), Some("search_web"), ""),
        piece(Some(0), None, None, "{\"q\":"),
        piece(Some(1), Some("b"), Some("think_tool"), "{"),
        piece(Some(0), None, None, "1}"),
        piece(Some(1), None, None, "}"),
    ];
    let gemini = [
        piece(Some(0), Some("a"), Some("search_web"), "{\"q\":1}"),
        piece(Some(0), Some("b"), Some("think_tool"), "{}"),
    ];
    let without_index = [
        piece(None, Some("a"), Some("search_web"), "{\"q\":1"),
        piece(None, None, None, "}"),
        piece(None, Some("b"), Some("think_tool"), "{}"),
    ];
    let from_one = [
        piece(Some(1), Some("a"), Some("search_web"), "{\"q\":1}"),
        piece(Some(2), Some("b"), Some("think_tool"), "{}"),
    ];
    for chunks in [openai.to_vec(), gemini.to_vec(), without_index.to_vec(), from_one.to_vec()] {
        let offered = Request { tools: vec![tool("search_web"), tool("think_tool")], ..request() };
        let completion = streamed(Reply::stream(chunks.into_iter().chain(end())), &offered).await;
        let calls: Vec<_> =
            completion.tool_calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
        assert_eq!(calls, [("a", "search_web", "{\"q\":1}"), ("b", "think_tool", "{}")]);
    }
}

#[tokio::test]
async fn comments_null_content_and_chunks_without_choices_are_no_trouble() {
    let reply = Reply::stream([
        ":\n\n:\n\n",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"created\":1,\"id\":\"x\",\"model\":\"local\",\"system_fingerprint\":\"b11434\",\"object\":\"chat.completion.chunk\",\"error\":null}\r\n\r\n",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"Yes.\"}}],\"timings\":{\"cache_n\":1}}\n\n:\n\n",
        "data: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}]}\n\n",
        USAGE_CHUNK,
        DONE,
    ]);
    assert_eq!(streamed(reply, &request()).await, answer("Yes."));
}

#[tokio::test]
async fn a_character_cut_in_two_by_the_network_is_whole_again() {
    // Each piece is valid text for the script; the cut is in the JSON escape and between lines.
    let body = chunk(json!({"content": "Tiefe: 10 m ✓"}), Some("stop")) + DONE;
    let pieces: Vec<_> = body.split_inclusive(|_| true).collect();
    let completion = streamed(Reply::stream(pieces), &request()).await;
    assert_eq!(completion.text, "Tiefe: 10 m ✓");
}

#[tokio::test]
async fn a_stream_without_done_is_complete_when_the_model_said_so() {
    let reply = Reply::stream([chunk(json!({"content": "Yes."}), None), chunk(json!({}), Some("stop"))]);
    let no_usage = Completion { usage: Usage::default(), ..answer("Yes.") };
    assert_eq!(streamed(reply.clone(), &request()).await, no_usage);
    assert_eq!(streamed(reply.then_cut(), &request()).await, no_usage);
}

/// Some servers leave the reason out for which the model stopped, some also in what they stream unasked.
#[tokio::test]
async fn the_mark_of_the_end_ends_an_answer_that_has_something_in_it() {
    let done = |delta: Value| Reply::stream([chunk(delta, None), USAGE_CHUNK.into(), DONE.into()]);
    for reply in [done(json!({"content": "Yes."})), done(json!({"content": "Yes."})).then_cut()] {
        assert_eq!(streamed(reply.clone(), &request()).await, answer("Yes."));
        assert_eq!(complete(reply, &request()).await.unwrap(), answer("Yes."));
    }
    let call = json!({"index": 0, "id": "a", "function": {"name": "search_web", "arguments": "{}"}});
    let completion = streamed(done(json!({"tool_calls": [call]})), &request()).await;
    assert_eq!((completion.stop, &*completion.tool_calls[0].id), (StopReason::ToolCalls, "a"));
    let (_, refused) = stream(done(json!({"refusal": "I cannot."})), &request()).await;
    assert!(matches!(refused, Some(Error::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn the_mark_of_the_end_makes_no_answer_of_nothing() {
    let error_of = async |reply: Reply| {
        let vendor = FakeVendor::start([reply]).await;
        let (retry_for, first_retry_within) = (Duration::ZERO, Duration::from_secs(1));
        let once = Settings { retry_for, first_retry_within, ..settings(&vendor) };
        Llm::new(once).unwrap().stream(&request(), &quietly).await.err().unwrap().error
    };
    for empty in [json!({"content": ""}), json!({"content": "<think>hm"}), json!({"tool_calls": []})] {
        let error = error_of(Reply::stream([chunk(empty.clone(), None), DONE.into()])).await;
        assert!(matches!(error, Error::Transport { .. }), "{empty}: {error:?}");
    }
    let Error::Malformed { detail, .. } = error_of(Reply::stream([DONE])).await else { panic!() };
    assert_eq!(detail, "the answer is no event stream");
}

/// In another dialect the mark is a gateway's and says nothing.
#[tokio::test]
async fn the_mark_of_the_end_ends_no_answer_of_another_dialect() {
    let begun = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Ye"}]}}]});
    let reply = Reply::stream([format!("data: {begun}\n\n"), DONE.into()]);
    let (deltas, error) = stream(reply, &bare_question("google:gemini-3.6-flash")).await;
    assert_eq!(deltas, [Delta::Text("Ye".into())]);
    assert!(matches!(error, Some(Error::Transport { .. })), "{error:?}");
}

#[tokio::test]
async fn a_stream_cut_after_its_first_text_is_an_error_and_no_retry() {
    for reply in [
        Reply::stream([chunk(json!({"content": "Ye"}), None)]),
        Reply::stream([chunk(json!({"content": "Ye"}), None)]).then_cut(),
    ] {
        let (vendor, llm) = world([reply, Reply::streams(&["Yes."])]).await;
        let mut stream = llm.stream(&request(), &quietly).await.unwrap();
        assert_eq!(stream.next().await, Some(Ok(Delta::Text("Ye".into()))));
        assert!(matches!(stream.next().await, Some(Err(BrokenOff { error: Error::Transport { .. }, .. }))));
        assert!(stream.next().await.is_none());
        assert_eq!(vendor.sent().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_fails_before_its_first_text_is_begun_again() {
    let role = || chunk(json!({"role": "assistant", "content": ""}), None);
    let script = [
        Reply::json(503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#),
        Reply::stream([role()]).then_cut(),
        Reply::stream([role(), "data: {\"error\":{\"code\":502,\"message\":\"upstream\"},\"choices\":[]}\n\n".into()]),
        Reply::streams(&["Yes."]),
    ];
    let (vendor, llm) = world(script).await;
    let deltas: Vec<_> = llm.stream(&request(), &quietly).await.unwrap().map(Result::unwrap).collect().await;
    assert_eq!(deltas, [Delta::Text("Yes.".into()), Delta::End(Completion { attempts: 4, ..answer("Yes.") })]);
    assert_eq!(vendor.sent().len(), 4);
}

#[tokio::test]
async fn an_error_inside_a_stream_is_known_by_its_code() {
    let error = "data: {\"id\":\"gen-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"maximum context length is 8192 tokens\"}}\n\n";
    let reply = Reply::stream([chunk(json!({"content": "Ye"}), None), error.into(), DONE.into()]);
    let (deltas, error) = stream(reply, &request()).await;
    assert_eq!(deltas, [Delta::Text("Ye".into())]);
    assert_eq!(error, Some(Error::ContextWindow { model: model("openai:local"), limit: Some(8192) }));
}

#[tokio::test]
async fn status_and_retry_after_of_a_stream_are_known() {
    let reply = Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "7");
    let (_, error) = stream(reply, &request()).await;
    let retry_after = Some(Duration::from_secs(7));
    assert_eq!(error, Some(Error::RateLimited { model: model("openai:local"), retry_after }));
    let body = r#"{"error":{"code":400,"message":"request (40034 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40034,"n_ctx":4096}}"#;
    let (_, error) = stream(Reply::json(400, body), &request()).await;
    assert_eq!(error, Some(Error::ContextWindow { model: model("openai:local"), limit: Some(4096) }));
}

#[tokio::test]
async fn a_proxys_page_is_no_stream() {
    let page = || Reply::text(200, "text/html", "<html>Sign in</html>");
    let (vendor, llm) = world([page(), page(), page(), page(), Reply::streams(&["Yes."])]).await;
    let mut stream = llm.stream(&request(), &quietly).await.expect("the page has gone");
    assert_eq!(stream.next().await, Some(Ok(Delta::Text("Yes.".into()))));
    assert_eq!(vendor.sent().len(), 5);
}

/// What a server calls its answer says little.
#[tokio::test]
async fn answers_are_known_by_their_bytes() {
    let body = json!({"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}).to_string();
    let bare = Completion { usage: Usage::default(), ..answer("Yes.") };
    for kind in ["application/json", "text/event-stream", "text/plain"] {
        let late = Reply::bytes(kind, vec![b"\n \n".to_vec(), body[..9].into(), body[9..].into()]);
        assert_eq!(streamed(late.clone(), &request()).await, bare, "{kind}");
        assert_eq!(complete(late, &request()).await.as_ref(), Ok(&bare), "{kind}");
    }
    let error = r#"{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}"#;
    let (_, refused) = stream(Reply::json(200, error), &request()).await;
    assert!(matches!(refused, Some(Error::Auth { .. })), "{refused:?}");
    let (_vendor, llm) =
        world([Reply::json(200, "{").then_cut(), Reply::json(200, "{}}"), Reply::streams(&["Yes."])]).await;
    let mut begun_again = llm.stream(&request(), &quietly).await.unwrap();
    assert_eq!(begun_again.next().await, Some(Ok(Delta::Text("Yes.".into()))));
}

/// In one piece it may be as long as one event.
#[tokio::test]
async fn an_answer_in_one_piece_is_bounded() {
    let long = |megabytes: usize| {
        let content = "x".repeat(megabytes << 20);
        let body = json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).to_string();
        Reply::json(200, &body)
    };
    let wide = Request { max_tokens: 1_000_000, ..request() };
    assert_eq!(streamed(long(3), &wide).await.text.len(), 3 << 20);
    let vendor = FakeVendor::start([long(5)]).await;
    let llm = Llm::new(Settings { retry_for: Duration::ZERO, ..settings(&vendor) }).unwrap();
    let failed = llm.stream(&wide, &quietly).await.err().unwrap();
    assert!(failed.error.to_string().contains("its answer"), "{failed:?}");
}

async fn complete_after(first: Reply, second: Reply) -> Completion {
    let (_vendor, llm) = world([first, second]).await;
    llm.complete(&request(), &quietly).await.unwrap()
}

/// A stream that nobody asked for may take its time, but not fall silent, and what is cut off is begun again.
#[tokio::test]
async fn a_stream_that_nobody_asked_for_is_bounded() {
    let silent = || Reply::stream([chunk(json!({"content": "Ye"}), None)]).then_stall();
    let vendor = FakeVendor::start([silent(), Reply::streams(&["No."]).then_cut(), Reply::streams(&["Yes."])]).await;
    let idle_timeout = Duration::from_millis(100);
    let llm = Llm::new(Settings { idle_timeout, total_timeout: 600 * idle_timeout, ..settings(&vendor) }).unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(Completion { attempts: 2, ..answer("No.") }));
    assert!(begun.elapsed() < 300 * idle_timeout, "silence ends it: {:?}", begun.elapsed());
    let unnamed = Reply::stream([chunk(json!({"content": "Ye"}), None)]).called("application/json");
    let whole = complete_after(unnamed, Reply::says("Yes.")).await;
    assert_eq!(whole, Completion { attempts: 2, ..answer("Yes.") }, "half a stream is no answer");
    let vendor = FakeVendor::start([silent(), silent(), silent()]).await;
    let llm = Llm::new(Settings { total_timeout: Duration::from_millis(100), ..settings(&vendor) }).unwrap();
    let failed = llm.complete(&request(), &quietly).await.unwrap_err();
    assert!(matches!(failed.error, Error::Timeout { .. }), "{failed:?}");
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection() {
    let (vendor, llm) = world([Reply::stream([chunk(json!({"content": "Ye"}), None)]).then_stall()]).await;
    let mut stream = llm.stream(&request(), &quietly).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    vendor.closed().await;
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let (vendor, llm) = world([Reply::json(200, "{").then_stall()]).await;
    let request = request();
    let call = llm.complete(&request, &quietly);
    tokio::select! {
        result = call => panic!("{result:?}"),
        () = async { while vendor.sent().is_empty() { tokio::task::yield_now().await } } => {}
    }
    vendor.closed().await;
}

/// Callers run calls in tasks of their own.
#[tokio::test]
async fn calls_may_move_between_threads() {
    fn check(_: impl Send) {}
    let (llm, request) = (Llm::new(Settings::default()).unwrap(), request());
    check(llm.complete(&request, &quietly));
    check(llm.stream(&request, &quietly));
    check(llm.context_window(&request.model));
    check(llm.probe(&model("ollama:any")));
}

// What fails.

#[tokio::test]
async fn passing_failures_are_tried_again_and_reported() {
    let script = [
        Reply::json(500, r#"{"error":{"message":"oops","type":"server_error","code":500}}"#),
        Reply::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after-ms", "30"),
        Reply::json(200, "{\"choices\": [").then_cut(),
        Reply::says("Yes."),
    ];
    let (vendor, llm) = world(script).await;
    let retries = Mutex::new(Vec::new());
    let completion = llm.complete(&request(), &|retry: Wait| retries.lock().push(retry)).await.unwrap();
    assert_eq!(completion, Completion { attempts: 4, ..answer("Yes.") });
    let retries = retries.into_inner();
    let model = model("openai:local");
    assert_eq!(retries.iter().map(|retry| retry.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(retries[0].reason, Error::Overloaded { model: model.clone(), detail: "500 oops".into() }.to_string());
    assert_eq!((retries[1].wait, retries[1].limited), (Duration::from_millis(30), true));
    assert!(retries[2].reason.contains("could not be reached"), "{:?}", retries[2].reason);
    assert_eq!(vendor.sent().len(), 4);
}

#[tokio::test]
async fn a_server_loading_its_model_is_waited_for() {
    let loading = || Reply::json(503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#);
    let (_vendor, llm) = world([loading(), loading(), loading(), loading(), Reply::says("Yes.")]).await;
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(Completion { attempts: 5, ..answer("Yes.") }));
}

#[tokio::test]
async fn final_failures_are_not_tried_again() {
    let script = |status, body| [Reply::json(status, body), Reply::says("no")];
    for (status, body) in [
        (401, r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#),
        (404, r#"{"error":{"message":"no such model","code":"model_not_found"}}"#),
        (400, r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#),
        (429, r#"{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}"#),
        (402, r#"{"error":{"message":"no money","code":402}}"#),
        (302, ""),
    ] {
        let (vendor, llm) = world(script(status, body)).await;
        let failed = llm.complete(&request(), &|retry: Wait| panic!("{retry:?}")).await.unwrap_err();
        assert_eq!((failed.attempts, vendor.sent().len()), (1, 1), "{failed:?}");
    }
}

#[tokio::test]
async fn an_error_body_with_status_200_is_an_error() {
    let reply = Reply::json(200, r#"{"error":{"code":402,"message":"Insufficient credits"},"user_id":"u"}"#);
    let detail = "402 Insufficient credits".into();
    let error = Error::Quota { model: model("openai:local"), detail };
    assert_eq!(complete(reply, &request()).await.unwrap_err().error, error);
    let message =
        r#"{"choices":[{"message":{"content":""},"finish_reason":"error","error":{"code":403,"message":"no"}}]}"#;
    let error = Error::Auth { model: model("openai:local"), detail: "403 no".into() };
    assert_eq!(complete(Reply::json(200, message), &request()).await.unwrap_err().error, error);
    let limited = Reply::json(200, r#"{"error":{"code":429,"message":"Rate limit exceeded"}}"#);
    let (_vendor, llm) = world([limited, Reply::says("Yes.")]).await;
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(Completion { attempts: 2, ..answer("Yes.") }));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_tried_again_seven_times() {
    for reply in [
        Reply::json(200, "not json"),
        Reply::json(200, "{}"),
        Reply::json(200, r#"{"choices":[]}"#),
        Reply::json(200, r#"{"choices":"x"}"#),
    ] {
        let (vendor, llm) = world(vec![reply; 8]).await;
        let failed = llm.complete(&request(), &quietly).await.unwrap_err();
        assert!(matches!(failed, Failed { error: Error::Malformed { .. }, attempts: 8, .. }), "{failed:?}");
        assert_eq!(vendor.sent().len(), 8);
    }
}

#[tokio::test]
async fn waiting_ends_with_the_patience() {
    let vendor = FakeVendor::start([Reply::json(529, "{}").header("retry-after", "3600")]).await;
    let llm = Llm::new(settings(&vendor)).unwrap();
    let failed = llm.complete(&request(), &|retry: Wait| panic!("{retry:?}")).await.unwrap_err();
    assert!(matches!(failed, Failed { error: Error::Overloaded { .. }, attempts: 1, too_long: Some(_) }), "{failed:?}");
}

#[tokio::test]
async fn errors_never_show_the_key() {
    let long = format!("{}{KEY}", "Bad key ".repeat(36));
    for body in [format!("bad key '{KEY}'"), long] {
        let reply = Reply::json(401, &json!({"error": {"message": body}}).to_string());
        let failed = complete(reply.clone(), &request()).await.unwrap_err();
        let (_, error) = stream(reply, &request()).await;
        for shown in [format!("{failed:?}"), failed.to_string(), format!("{error:?}")] {
            assert!(!shown.contains("sk-test"), "{shown}");
        }
    }
    let late = format!("data: {{\"error\":{{\"message\":\"bad key {KEY}\"}}}}\n\n");
    let (_, error) = stream(Reply::stream([chunk(json!({"content": "a"}), None), late]), &request()).await;
    assert!(!format!("{error:?}").contains("sk-test"), "{error:?}");
}

#[tokio::test]
async fn a_call_beyond_the_limit_is_counted_once_however_many_pieces_it_has() {
    let piece = |index: usize, id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        chunk(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}), None)
    };
    let mut chunks: Vec<_> = (0..131).map(|n| piece(n, &format!("c{n}"), "think_tool", "")).collect();
    chunks.extend((0..131).map(|n| piece(n, "", "", "{}")));
    chunks.extend([chunk(json!({}), Some("tool_calls")), DONE.to_owned()]);
    let offered = Request { tools: vec![tool("think_tool")], ..request() };
    let completion = streamed(Reply::stream(chunks), &offered).await;
    let problem = completion.tool_calls[128].problem.clone().unwrap();
    assert!(problem.ends_with("and neither are 2 more"), "{problem}");
}

#[tokio::test]
async fn nobody_listening_is_a_transport_error() {
    let vendor = FakeVendor::start([]).await;
    let mut settings = settings(&vendor);
    settings.retry_for = Duration::from_millis(5);
    drop(vendor);
    let failed = Llm::new(settings).unwrap().complete(&request(), &quietly).await.unwrap_err();
    let Error::Transport { detail, .. } = &failed.error else { panic!("{failed:?}") };
    assert!(detail.starts_with("no connection ("), "{detail}");
    assert!(failed.attempts > 1);
}

// Models that only stream.

/// What a model that only streams answers to other calls.
fn wants_stream(message: &str) -> Reply {
    let error = json!({"code": "invalid_parameter_error", "param": null, "message": message,
        "type": "invalid_request_error"});
    Reply::json(400, &json!({"error": error}).to_string())
}

const WANTS_STREAM: &str =
    "This model only support stream mode, please enable the stream parameter to access the model. ";

/// Whether a stream was asked for, call by call.
fn streamed_calls(vendor: &FakeVendor) -> Vec<bool> {
    vendor.sent().iter().map(|sent| sent.body["stream"] == true).collect()
}

#[tokio::test]
async fn a_model_that_says_it_only_streams_is_asked_for_streams_from_then_on() {
    for words in [
        WANTS_STREAM,
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "enable thinking can not be support when `stream=False`.",
        "Requests with max_tokens > 4096 must have stream=true",
        "Stream must be set to true",
    ] {
        let script = [wants_stream(words), Reply::streams(&["Ye", "s."]), Reply::streams(&["No."]), Reply::says("So.")];
        let (vendor, llm) = world(script).await;
        assert_eq!(
            llm.complete(&request(), &quietly).await,
            Ok(Completion { attempts: 2, ..answer("Yes.") }),
            "{words}"
        );
        assert_eq!(llm.clone().complete(&request(), &quietly).await, Ok(answer("No.")));
        let other = Request { model: model("openai:other"), ..request() };
        assert_eq!(llm.complete(&other, &quietly).await, Ok(answer("So.")));
        assert_eq!(streamed_calls(&vendor), [false, true, true, false], "{words}");
    }
}

#[tokio::test]
async fn what_the_operator_says_of_whole_answers_counts() {
    let vendor = FakeVendor::start([Reply::streams(&["Yes."]), Reply::says("No."), Reply::says("Nor.")]).await;
    let mut own = settings(&vendor);
    own.models.insert("fireworks:cannot".to_owned(), Facts { streaming: Some(false), ..Facts::default() });
    for (name, is_whole) in [("openai:local", false), ("fireworks:m", true)] {
        own.models.insert(name.to_owned(), Facts { whole_answers: Some(is_whole), ..Facts::default() });
    }
    let llm = Llm::new(own).unwrap();
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(answer("Yes.")));
    for (name, reply) in [("fireworks:m", "No."), ("fireworks:cannot", "Nor.")] {
        let fireworks = Request { model: model(name), ..request() };
        assert_eq!(llm.complete(&fireworks, &quietly).await, Ok(answer(reply)));
    }
    assert_eq!(streamed_calls(&vendor), [true, false, false]);
}

/// Nobody has read what came of it.
#[tokio::test]
async fn a_stream_that_nobody_reads_is_begun_again_when_it_breaks() {
    let cut = Reply::stream([chunk(json!({"content": "Ye"}), None)]).then_cut();
    let (vendor, llm) = world([wants_stream(WANTS_STREAM), cut, Reply::streams(&["Yes."])]).await;
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(Completion { attempts: 3, ..answer("Yes.") }));
    assert_eq!(streamed_calls(&vendor), [false, true, true]);
}

#[tokio::test]
async fn a_model_may_refuse_one_thing_after_another_but_none_twice() {
    let forced = Request { tools: vec![tool("search_web")], tool_choice: ToolChoice::Required, ..request() };
    let choice = || wants_stream("tool_choice is not supported in thinking mode");
    let (vendor, llm) = world([wants_stream(WANTS_STREAM), choice(), Reply::streams(&["Yes."])]).await;
    assert_eq!(
        llm.complete(&forced, &quietly).await.map(|done| (done.text, done.attempts)),
        Ok(("Yes.".to_owned(), 3))
    );
    let choices: Vec<_> = vendor.sent().iter().map(|sent| sent.body["tool_choice"].clone()).collect();
    assert_eq!(choices, ["required", "required", "auto"]);
    let (vendor, llm) = world([wants_stream(WANTS_STREAM), wants_stream(WANTS_STREAM)]).await;
    let failed = llm.complete(&request(), &quietly).await.unwrap_err();
    assert!(matches!(failed, Failed { error: Error::BadRequest { .. }, attempts: 2, .. }), "{failed:?}");
    assert_eq!(streamed_calls(&vendor), [false, true]);
}

/// OpenAI's words to an organization that has not been verified, and a proxy's.
#[tokio::test]
async fn a_model_that_refuses_to_stream_is_asked_for_whole_answers_from_then_on() {
    for words in [
        "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings.",
        "Streaming is not supported for this deployment.",
    ] {
        let script = [refuses_field(400, words), Reply::says("Yes."), Reply::says("No."), Reply::streams(&["So."])];
        let (vendor, llm) = world(script).await;
        for (text, attempts) in [("Yes.", 2), ("No.", 1)] {
            let pieces = llm.stream(&request(), &quietly).await.unwrap().map(Result::unwrap);
            let end = Delta::End(Completion { attempts, ..answer(text) });
            assert_eq!(pieces.collect::<Vec<_>>().await, [Delta::Text(text.into()), end], "{words}");
        }
        let other = Request { model: model("openai:other"), ..request() };
        assert_eq!(llm.stream(&other, &quietly).await.unwrap().count().await, 2);
        assert_eq!(streamed_calls(&vendor), [true, false, false, true], "{words}");
    }
    // One that streams alone has no other way.
    let refusal = || refuses_field(400, "Streaming is not supported.");
    let (vendor, llm) = world([refusal(), refusal()]).await;
    let streamed = Request { model: model("fireworks:m"), ..request() };
    assert_eq!(llm.stream(&streamed, &quietly).await.err().unwrap().attempts, 1);
    let (other, llm) = world([refuses_field(400, "The upstream does not know the model."), refusal()]).await;
    assert_eq!(llm.stream(&request(), &quietly).await.err().unwrap().attempts, 1);
    assert_eq!((vendor.sent().len(), other.sent().len()), (1, 1));
}

// What is set for a role.

/// A model that stands in for another one gets what is set for that one's role.
#[tokio::test]
async fn what_is_set_for_a_role_is_left_out_where_it_is_refused_by_name() {
    for (words, refused) in [
        ("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature"),
        ("property 'verbosity' is unsupported", "verbosity"),
        ("Invalid service_tier argument", "service_tier"),
    ] {
        let script = [refuses_field(400, words), Reply::says("Yes."), Reply::says("No."), Reply::says("So.")];
        let (vendor, llm) = world(script.into_iter().chain([Reply::says("Ah.")])).await;
        let word = || Some("low".to_owned());
        let (reasoning_effort, verbosity, service_tier) = (word(), word(), word());
        let body = serde_json::Map::new();
        let tuning = Tuning { reasoning_effort, verbosity, temperature: Some(0.5), service_tier, body };
        let sending = Sending { tuning: Some(tuning.into()), cache_key: None };
        let tuned = Request { sending, ..request() };
        assert_eq!(llm.complete(&tuned, &quietly).await, Ok(Completion { attempts: 2, ..answer("Yes.") }), "{words}");
        assert_eq!(llm.complete(&tuned, &quietly).await, Ok(answer("No.")));
        let other = Request { model: model("openai:other"), ..tuned.clone() };
        assert_eq!(llm.complete(&other, &quietly).await, Ok(answer("So.")));
        // Another role's, of which nothing was refused.
        let word = || Some("high".to_owned());
        let (reasoning_effort, verbosity, service_tier) = (word(), word(), word());
        let tuning = Tuning { reasoning_effort, verbosity, temperature: Some(1.0), service_tier, ..Tuning::default() };
        let sending = Sending { tuning: Some(tuning.into()), cache_key: None };
        assert_eq!(llm.complete(&Request { sending, ..request() }, &quietly).await, Ok(answer("Ah.")));
        for field in ["reasoning_effort", "verbosity", "temperature", "service_tier"] {
            let sent: Vec<_> = vendor.sent().iter().map(|sent| sent.body.get(field).is_some()).collect();
            assert_eq!(sent, [true, field != refused, field != refused, true, true], "{words}: {field}");
        }
        let (vendor, llm) = world([refuses_field(400, words)]).await;
        assert_eq!(llm.complete(&request(), &quietly).await.unwrap_err().attempts, 1, "nothing of it was sent");
        assert_eq!(vendor.sent().len(), 1);
    }
}

// The field that limits the output.

fn refuses_field(status: u16, message: &str) -> Reply {
    let error = json!({"code": "unsupported_parameter", "message": message, "type": "invalid_request_error"});
    Reply::json(status, &json!({"error": error}).to_string())
}

const WANTS_NEW: &str =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

/// Whether the newer field was sent, call by call; never both.
fn newer_fields(vendor: &FakeVendor) -> Vec<bool> {
    let is_newer = |body: &Value| {
        let [old, new] = ["max_tokens", "max_completion_tokens"].map(|field| body.get(field));
        assert!(old.is_some() != new.is_some(), "{body}");
        assert_eq!(old.or(new), Some(&json!(100)));
        new.is_some()
    };
    vendor.sent().iter().map(|sent| is_newer(&sent.body)).collect()
}

/// Deployments of Azure, aliases of LiteLLM, models behind proxies: their names say nothing.
#[tokio::test]
async fn a_model_that_wants_the_other_field_gets_it_from_then_on() {
    for (name, words, usual) in [
        ("azure:our-deployment", WANTS_NEW, false),
        ("litellm:alias", WANTS_NEW, false),
        ("azure:gpt-5-of-ours", "Unrecognized request argument supplied: max_completion_tokens", true),
        ("groq:m", "'max_completion_tokens' is not known, use 'max_tokens'", true),
        ("compatible:m", "body.max_tokens: Extra inputs are not permitted", false),
    ] {
        let script = [refuses_field(400, words), Reply::says("Yes."), Reply::says("No."), Reply::streams(&["So."])];
        let (vendor, llm) = world(script).await;
        let asked = Request { model: model(name), ..request() };
        assert_eq!(llm.complete(&asked, &quietly).await, Ok(Completion { attempts: 2, ..answer("Yes.") }), "{words}");
        assert_eq!(llm.clone().complete(&asked, &quietly).await, Ok(answer("No.")));
        assert_eq!(llm.stream(&asked, &quietly).await.unwrap().count().await, 2);
        assert_eq!(newer_fields(&vendor), [usual, !usual, !usual, !usual], "{name}");
    }
}

#[tokio::test]
async fn a_stream_is_begun_again_with_the_other_field() {
    let script = [refuses_field(400, WANTS_NEW), Reply::streams(&["Yes."]), Reply::says("No."), Reply::says("So.")];
    let (vendor, llm) = world(script).await;
    let deltas: Vec<_> = llm.stream(&request(), &quietly).await.unwrap().map(Result::unwrap).collect().await;
    let end = Delta::End(Completion { attempts: 2, ..answer("Yes.") });
    assert_eq!(deltas, [Delta::Text("Yes.".into()), end]);
    assert_eq!(llm.complete(&request(), &quietly).await, Ok(answer("No.")));
    let other = Request { model: model("openai:other"), ..request() };
    llm.complete(&other, &quietly).await.unwrap();
    assert_eq!(newer_fields(&vendor), [false, true, true, false]);
}

/// And what is no refusal of a field changes nothing.
#[tokio::test]
async fn who_refuses_both_fields_is_asked_twice_and_one_that_is_too_large_once() {
    for (words, expected) in [(WANTS_NEW, vec![false, true]), ("max_tokens is too large: 100.", vec![false])] {
        let (vendor, llm) = world([refuses_field(400, words), refuses_field(400, words)]).await;
        let failed = llm.complete(&request(), &quietly).await.unwrap_err();
        assert!(matches!(failed.error, Error::BadRequest { .. }), "{failed:?}");
        assert_eq!((failed.attempts as usize, newer_fields(&vendor)), (expected.len(), expected.clone()));
        let (vendor, llm) = world([refuses_field(400, words), refuses_field(400, words)]).await;
        let failed = llm.stream(&request(), &quietly).await.err().unwrap();
        assert_eq!((failed.attempts as usize, newer_fields(&vendor)), (expected.len(), expected));
    }
}

#[tokio::test]
async fn an_answer_is_no_longer_than_its_model_says_it_writes() {
    for words in [
        "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model",
        "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.",
        "max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens for m",
        "max_tokens is too large: 20000. This model supports at most 8192 completion tokens, whereas you provided 20000.",
    ] {
        let refused = || refuses_field(400, words);
        let script =
            [refused(), Reply::says("Yes."), Reply::says("No."), Reply::streams(&["So."]), Reply::says("Nor.")];
        let (vendor, llm) = world(script).await;
        let asked = Request { max_tokens: 20_000, ..request() };
        assert_eq!(llm.facts(&asked.model).max_output, None);
        assert_eq!(llm.complete(&asked, &quietly).await, Ok(Completion { attempts: 2, ..answer("Yes.") }), "{words}");
        assert_eq!(llm.facts(&asked.model).max_output, Some(8_192));
        assert_eq!(llm.clone().complete(&asked, &quietly).await, Ok(answer("No.")));
        assert_eq!(llm.stream(&asked, &quietly).await.unwrap().count().await, 2);
        let other = Request { model: model("openai:other"), ..asked };
        llm.complete(&other, &quietly).await.unwrap();
        let limits: Vec<_> = vendor.sent().iter().map(|sent| sent.body["max_tokens"].clone()).collect();
        assert_eq!(limits, [20_000, 8_192, 8_192, 8_192, 20_000], "{words}");

        let (vendor, llm) = world([refused(), Reply::streams(&["So."])]).await;
        let asked = Request { max_tokens: 20_000, ..request() };
        assert_eq!(llm.stream(&asked, &quietly).await.unwrap().count().await, 2);
        assert_eq!(vendor.sent()[1].body["max_tokens"], 8_192);
        let (vendor, llm) = world([refused(), refused()]).await;
        assert_eq!(llm.complete(&asked, &quietly).await.unwrap_err().attempts, 2, "asked again once");
        assert_eq!(vendor.sent().len(), 2);
    }
}

// What counts a stream.

#[tokio::test]
async fn a_stream_is_begun_again_without_being_counted_where_that_is_refused() {
    for words in [
        "Unrecognized request argument supplied: stream_options",
        "Unknown parameter: 'stream_options'.",
        "body.stream_options: Extra inputs are not permitted",
    ] {
        let uncounted = || Reply::stream([chunk(json!({"content": "Yes."}), Some("stop")), DONE.to_owned()]);
        let script = [refuses_field(400, words), uncounted(), uncounted(), Reply::streams(&["So."])];
        let (vendor, llm) = world(script).await;
        let deltas: Vec<_> = llm.stream(&request(), &quietly).await.unwrap().map(Result::unwrap).collect().await;
        let end = Delta::End(Completion { attempts: 2, usage: Usage::default(), ..answer("Yes.") });
        assert_eq!(deltas, [Delta::Text("Yes.".into()), end], "{words}");
        assert_eq!(llm.stream(&request(), &quietly).await.unwrap().count().await, 2);
        let other = Request { model: model("openai:other"), ..request() };
        assert_eq!(llm.stream(&other, &quietly).await.unwrap().count().await, 2);
        let asked: Vec<_> = vendor.sent().iter().map(|sent| sent.body.get("stream_options").is_some()).collect();
        assert_eq!(asked, [true, false, false, true], "{words}");
    }
    let words = "Unknown parameter: 'stream_options'.";
    let (vendor, llm) = world([refuses_field(400, words), Reply::streams(&["Yes."])]).await;
    let streamed = Request { model: model("fireworks:m"), ..request() };
    assert_eq!(llm.complete(&streamed, &quietly).await, Ok(Completion { attempts: 2, ..answer("Yes.") }));
    assert_eq!(vendor.sent()[1].body.get("stream_options"), None);
    let (vendor, llm) = world([refuses_field(400, words), refuses_field(400, words)]).await;
    assert_eq!(llm.stream(&request(), &quietly).await.err().unwrap().attempts, 2);
    assert_eq!(vendor.sent().len(), 2);
}

// What is counted.

/// Input and output as they are billed, of which some is cached and some reasoning.
async fn counted(name: &str, usage: Value) -> [u64; 4] {
    let body = json!({"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}], "usage": usage});
    let asked = Request { model: model(name), ..request() };
    let usage = complete(Reply::json(200, &body.to_string()), &asked).await.unwrap().usage;
    [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens]
}

/// xAI counts in several ways; the total tells them apart.
#[tokio::test]
async fn what_xai_counts_beside_is_added_once() {
    let usage = |prompt: u64, cached: u64, completion: u64, reasoning: u64, total: Option<u64>| {
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning}})
    };
    let cached_inside = usage(37, 8, 530, 233, Some(800));
    assert_eq!(counted("xai:m", cached_inside.clone()).await, [37, 8, 763, 233]);
    let cached_beside = usage(37, 160, 530, 233, Some(960));
    assert_eq!(counted("xai:m", cached_beside).await, [197, 160, 763, 233]);
    let reasoning_inside = usage(37, 8, 530, 233, Some(567));
    assert_eq!(counted("xai:m", reasoning_inside).await, [37, 8, 530, 233]);
    for total in [197 + 530, 37 + 530] {
        let all_but_cached_inside = usage(37, 160, 530, 233, Some(total));
        assert_eq!(counted("xai:m", all_but_cached_inside).await, [197, 160, 530, 233], "{total}");
    }
    assert_eq!(counted("xai:m", usage(37, 8, 530, 233, None)).await, [37, 8, 763, 233]);
    assert_eq!(counted("openai:m", cached_inside).await, [37, 8, 530, 233], "others count inside");
}

// Time limits.

#[tokio::test]
async fn a_connection_is_not_waited_for_longer_than_its_limit() {
    // A full accept queue leaves the handshake open.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(connection) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
        queued.push(connection);
    }
    let vendor = FakeVendor::start([]).await;
    let mut settings = settings(&vendor);
    let base_url = Some(Url::parse(&format!("http://{address}/v1")).unwrap());
    settings.endpoints.insert("openai", Endpoint { base_url, ..Endpoint::default() });
    settings.connect_timeout = Duration::from_millis(30);
    settings.retry_for = Duration::ZERO;
    let failed = Llm::new(settings).unwrap().complete(&request(), &quietly).await.unwrap_err();
    assert!(matches!(failed.error, Error::Transport { .. }), "{failed:?}");
}

#[tokio::test]
async fn a_whole_answer_is_not_waited_for_longer_than_its_limit() {
    for reply in [Reply::silence(), Reply::json(200, "{").then_stall()] {
        let vendor = FakeVendor::start([reply.clone(), reply.clone(), reply]).await;
        let llm = Llm::new(Settings { total_timeout: Duration::from_millis(30), ..settings(&vendor) }).unwrap();
        let failed = llm.complete(&request(), &quietly).await.unwrap_err();
        assert_eq!(
            failed,
            Failed { error: Error::Timeout { model: model("openai:local") }, attempts: 3, too_long: None }
        );
    }
}

#[tokio::test]
async fn a_stream_may_take_its_time_but_not_fall_silent() {
    let error = Error::Timeout { model: model("openai:local") };
    for reply in [Reply::silence(), Reply::stream([":\n\n"]).then_stall()] {
        let vendor = FakeVendor::start([reply.clone(), reply.clone(), reply]).await;
        let llm = Llm::new(Settings { idle_timeout: Duration::from_millis(30), ..settings(&vendor) }).unwrap();
        let failed = llm.stream(&request(), &quietly).await.err().unwrap();
        assert_eq!(failed, Failed { error: error.clone(), attempts: 3, too_long: None });
    }
    let vendor = FakeVendor::start([Reply::stream([chunk(json!({"content": "Ye"}), None)]).then_stall()]).await;
    // Long enough for the first piece on a busy machine: there is one answer only.
    let settings =
        Settings { idle_timeout: Duration::from_millis(500), total_timeout: Duration::ZERO, ..settings(&vendor) };
    let mut stream = Llm::new(settings).unwrap().stream(&request(), &quietly).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(Delta::Text("Ye".into()))));
    assert_eq!(stream.next().await.unwrap().unwrap_err().error, error);
}

#[tokio::test]
async fn calls_wait_for_their_turn() {
    let vendor = FakeVendor::start([Reply::streams(&["one"]).then_stall(), Reply::says("two")]).await;
    let llm = Llm::new(Settings { max_concurrent_calls: 1, ..settings(&vendor) }).unwrap();
    let first = llm.stream(&request(), &quietly).await.unwrap();
    let (request, second) = (request(), llm.clone());
    let second = second.complete(&request, &quietly);
    tokio::pin!(second);
    assert!(futures::poll!(&mut second).is_pending());
    assert_eq!(vendor.sent().len(), 1, "the place is taken");
    drop(first);
    assert_eq!(second.await, Ok(answer("two")));
}

// What the server is asked beside calls.

#[tokio::test]
async fn a_window_is_asked_of_the_server_once() {
    let list = r#"{"object":"list","data":[{"id":"local","object":"model","meta":{"n_vocab":151936,"n_ctx":8192}}]}"#;
    let (vendor, llm) = world([Reply::json(200, list)]).await;
    assert_eq!(llm.context_window(&model("openai:local")).await, 8192);
    assert_eq!(llm.clone().context_window(&model("openai:other")).await, 8192);
    assert_eq!(vendor.sent().iter().map(|sent| sent.path.as_str()).collect::<Vec<_>>(), ["/v1/models"]);
}

/// Anthropic refuses whatever names no version of its API.
#[tokio::test]
async fn the_list_is_asked_for_with_the_headers_of_the_dialect() {
    let (vendor, llm) = world([Reply::json(200, r#"{"data": [{"id": "claude-sonnet-5-5"}]}"#)]).await;
    let probed = llm.probe(&model("anthropic:claude-sonnet-5-5")).await.unwrap();
    let sent = vendor.sent().remove(0);
    assert_eq!((&*sent.path, probed.models.len()), ("/v1/models", 1));
    assert_eq!(["anthropic-version", "x-api-key"].map(|name| &sent.headers[name]), ["2023-06-01", KEY]);
}

#[tokio::test]
async fn without_a_list_the_name_or_caution_decides() {
    let (_vendor, llm) = world([Reply::json(404, "{}")]).await;
    assert_eq!(llm.context_window(&model("openai:gpt-4o-mini")).await, 128_000);
    assert_eq!(llm.context_window(&model("openai:unheard-of")).await, 32_768);
    assert_eq!(llm.context_window(&ModelName::offline()).await, 32_768);
}

#[tokio::test]
async fn a_window_stated_in_an_error_is_remembered() {
    let overflow = r#"{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":4096}}"#;
    let (_vendor, llm) = world([Reply::json(400, overflow)]).await;
    llm.complete(&request(), &quietly).await.unwrap_err();
    assert_eq!(llm.context_window(&model("openai:local")).await, 4096);
}

#[tokio::test]
async fn a_probe_tells_whether_the_server_is_there_and_takes_the_key() {
    let list = r#"{"object":"list","data":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"},{"id":"e"},{"id":"f"}]}"#;
    let denied = r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#;
    let (vendor, llm) = world([Reply::json(200, list), Reply::json(401, denied)]).await;
    let report = llm.probe(&model("openai:any")).await.unwrap();
    assert_eq!(report.models, ["a", "b", "c", "d", "e", "f"]);
    assert_eq!((report.base_url, report.with_key), (format!("{}/", vendor.base_url()), true));
    assert!(matches!(llm.probe(&model("openai:any")).await, Err(Error::Auth { .. })));
    assert!(matches!(llm.probe(&ModelName::offline()).await, Err(Error::BadRequest { .. })));
}

// Halves and heaps.

/// Servers that escape everything cut between the halves of a character.
#[tokio::test]
async fn halves_of_characters_are_joined_across_chunks_and_fail_nothing() {
    let raw = |delta: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    let end = || [chunk(json!({}), Some("stop")), DONE.to_owned()];
    let text = [raw(r#"{"content":"a\ud83d"}"#), raw(r#"{"content":"\ude00b\ude00"}"#), raw(r#"{"content":"\ud83d"}"#)];
    let completion = streamed(Reply::stream(text.into_iter().chain(end())), &request()).await;
    assert_eq!(completion.text, "a😀b\u{FFFD}\u{FFFD}");
    let call = |arguments: &str| {
        raw(&format!(
            r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"n","arguments":"{arguments}"}}}}]}}"#
        ))
    };
    let calls = [call(r#"{\"a\":\"\ud83d"#), call(r#"\ude00 \ud83d"#), call(r#"!\\ud83d\"}"#)];
    let completion = streamed(Reply::stream(calls.into_iter().chain(end())), &request()).await;
    let read: Value = serde_json::from_str(&completion.tool_calls[0].arguments).unwrap();
    assert_eq!(read, json!({"a": "😀 \u{FFFD}!\u{FFFD}"}));
    let whole = r#"{"choices":[{"finish_reason":"stop","message":{"content":"\ud83d \ud83d\ude00"}}]}"#;
    assert_eq!(complete(Reply::json(200, whole), &request()).await.unwrap().text, "\u{FFFD} 😀");
}

#[tokio::test]
async fn of_too_many_calls_the_first_are_kept_and_the_model_is_notified() {
    let call = |n: usize| json!({"id": format!("c{n}"), "type": "function", "function": {"name": "search_web", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": (0..200).map(call).collect::<Vec<_>>()});
    let calls = complete(Reply::message(message, "tool_calls"), &request()).await.unwrap().tool_calls;
    assert_eq!((calls.len(), calls.iter().filter(|call| call.problem.is_some()).count()), (129, 1));
    assert!(calls[128].problem.as_ref().unwrap().contains("71 more"), "{:?}", calls[128].problem);
    let long = json!({"id": "c", "function": {"name": "search_web", "arguments": "x".repeat(300_000)}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [long, call(1)]});
    let calls = complete(Reply::message(message, "tool_calls"), &request()).await.unwrap().tool_calls;
    assert!(calls[0].problem.as_ref().unwrap().contains("too long") && calls[0].arguments.len() < 1_000);
    assert_eq!(calls[1].problem, None);
}

#[tokio::test]
async fn a_text_without_end_is_refused() {
    let reply = Reply::says(&"a".repeat(2 * 1024 * 1024));
    let (_vendor, llm) = world([reply.clone()]).await;
    let failed = llm.complete(&request(), &quietly).await.unwrap_err();
    assert!(matches!(failed, Failed { error: Error::TooLong { .. }, attempts: 1, .. }), "{failed:?}");
    let larger = Request { max_tokens: 200_000, ..request() };
    assert_eq!(complete(reply, &larger).await.unwrap().text.len(), 2 * 1024 * 1024);
}
