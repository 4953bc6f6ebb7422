//! Answers that come with a good status and that nobody can use: how often they are asked for, and who pays for them.

use std::{collections::BTreeMap, time::Duration};

use fathom::{
    domain::Usage,
    llm::{
        BrokenOff, CallContext, Completion, Delta, Endpoint, Error, Failed, Llm, Message, Request, Settings,
        StopReason, ToolCall, Wait,
    },
};
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{DONE, FakeVendor, Reply, chunk, frame},
    requests::{after, question, with_search as request},
};

const CHAT: &str = "openai:gpt-4.1";
const GEMINI: &str = "google:gemini-3.6-flash";
const BEDROCK: &str = "bedrock:us.amazon.nova-pro-v1:0";
const GROQ: &str = "groq:openai/gpt-oss-120b";
/// A model of each dialect.
const MODELS: [&str; 5] = [CHAT, "openai-responses:gpt-5.4", "anthropic:claude-sonnet-5", GEMINI, BEDROCK];

/// Keeps what is billed to it, and how long it waited.
#[derive(Default)]
struct Patient {
    billed: Mutex<Vec<Usage>>,
    waits: Mutex<Vec<Duration>>,
}

impl CallContext for Patient {
    fn waiting(&self, wait: Wait) {
        self.waits.lock().push(wait.wait);
    }

    fn billed(&self, usage: &Usage) {
        self.billed.lock().push(*usage);
    }
}

fn llm(vendor: &FakeVendor, model: &str) -> Llm {
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    let others = BTreeMap::from([("region", "us-east-1".into())]);
    let endpoint = Endpoint { base_url, api_key: Some("key-0123456789".into()), others, ..Endpoint::default() };
    let (retry_for, first_retry_within) = (Duration::from_secs(60), Duration::from_millis(2));
    let mut settings = Settings { retry_for, first_retry_within, ..Settings::default() };
    let provider = settings.providers.iter().find(|provider| model.starts_with(&format!("{}:", provider.name)));
    settings.endpoints.insert(provider.unwrap().name, endpoint);
    Llm::new(settings).unwrap()
}

/// What became of a call, what was sent for it, and what its caller saw.
struct Asked {
    done: Result<Completion, Failed>,
    bodies: Vec<Value>,
    caller: Patient,
}

async fn ask(request: &Request, replies: impl IntoIterator<Item = Reply>) -> Asked {
    let (vendor, caller) = (FakeVendor::start(replies).await, Patient::default());
    let done = llm(&vendor, &request.model.to_string()).complete(request, &caller).await;
    Asked { done, bodies: vendor.sent().into_iter().map(|sent| sent.body).collect(), caller }
}

fn gemini(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason}],
        "usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 2}})
}

fn chat(reason: &str) -> Reply {
    Reply::message(json!({"role": "assistant", "content": "Half a rep"}), reason)
}

fn converse(reason: &str) -> Reply {
    let body = json!({"output": {"message": {"role": "assistant", "content": []}}, "stopReason": reason,
        "usage": {"inputTokens": 40, "outputTokens": 2, "totalTokens": 42}});
    Reply::json(200, &body.to_string())
}

fn whole_gemini(reason: &str) -> Reply {
    Reply::json(200, &gemini(reason).to_string())
}

#[tokio::test]
async fn a_broken_answer_is_asked_for_three_times_and_each_is_billed() {
    let cases = [
        (GEMINI, whole_gemini("MALFORMED_FUNCTION_CALL")),
        (GEMINI, whole_gemini("TOO_MANY_TOOL_CALLS")),
        (GEMINI, whole_gemini("OTHER")),
        (CHAT, chat("error")),
        (CHAT, chat("insufficient_system_resource")),
        (CHAT, chat("network_error")),
        (CHAT, chat("abort")),
        (BEDROCK, converse("malformed_tool_use")),
        (BEDROCK, converse("malformed_model_output")),
    ];
    for (model, reply) in cases {
        let asked = ask(&request(model), vec![reply; 5]).await;
        let failed = asked.done.unwrap_err();
        assert!(matches!(failed.error, Error::Overloaded { .. }), "{model}: {failed:?}");
        assert_eq!((failed.attempts, asked.bodies.len()), (3, 3), "{model}");
        let billed = asked.caller.billed.into_inner();
        let tokens: Vec<_> = billed.iter().map(|usage| (usage.input_tokens, usage.output_tokens)).collect();
        assert_eq!(tokens, [(40, 2); 3], "{model}");
    }
}

#[tokio::test]
async fn a_broken_stream_is_billed_and_the_next_answer_is_taken() {
    let broken = Reply::stream([format!("data: {}\n\n", gemini("MALFORMED_FUNCTION_CALL"))]);
    let good = json!({"candidates": [{"content": {"parts": [{"text": "Deep."}]}, "finishReason": "STOP"}]});
    let vendor = FakeVendor::start([broken, Reply::stream([format!("data: {good}\n\n")])]).await;
    let caller = Patient::default();
    let stream = llm(&vendor, GEMINI).stream(&request(GEMINI), &caller).await.unwrap();
    let pieces: Vec<_> = stream.map(Result::unwrap).collect().await;
    assert_eq!((pieces.len(), vendor.sent().len()), (2, 2));
    assert_eq!(caller.billed.into_inner().iter().map(Usage::total).collect::<Vec<_>>(), [42]);
}

/// vLLM's, whose fields stand at the top of a chunk, with the mark of a good end behind it.
#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_makes_no_whole_answer() {
    let engine = json!({"object": "error", "message": "EngineCore encountered an issue.", "type": "InternalServerError",
        "code": 500});
    let data = |value: &Value| format!("data: {value}\n\n");
    let pieces = [chunk(json!({"content": "Half a rep"}), None), data(&engine), DONE.to_owned()];
    let vendor = FakeVendor::start([Reply::stream(pieces)]).await;
    let stream = llm(&vendor, CHAT).stream(&question(CHAT), &Patient::default()).await.unwrap();
    let pieces: Vec<_> = stream.collect().await;
    let [Ok(Delta::Text(_)), Err(BrokenOff { error: Error::Overloaded { detail, .. }, .. })] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert_eq!(detail, "500 EngineCore encountered an issue.");
    for reply in [Reply::stream([data(&engine), DONE.to_owned()]), Reply::json(200, &engine.to_string())] {
        let asked = ask(&request(CHAT), [reply, Reply::says("Deep.")]).await;
        assert_eq!(asked.done.map(|done| (done.text, done.attempts)), Ok(("Deep.".to_owned(), 2)));
    }
}

/// What Z.ai says of a filter and of a full window.
#[tokio::test]
async fn reasons_of_one_vendor_are_known() {
    for (reason, expected) in
        [("sensitive", StopReason::Refused), ("model_context_window_exceeded", StopReason::Length)]
    {
        assert_eq!(ask(&request(CHAT), [chat(reason)]).await.done.unwrap().stop, expected, "{reason}");
    }
}

/// Its text has been passed on, so it is not asked for again here; what it took is known all the same.
#[tokio::test]
async fn an_answer_that_breaks_after_its_first_text_says_what_it_took() {
    let begun = json!({"candidates": [{"content": {"parts": [{"text": "Deep."}]}}]});
    let pieces = [begun, gemini("MALFORMED_FUNCTION_CALL")].map(|piece| format!("data: {piece}\n\n"));
    let vendor = FakeVendor::start([Reply::stream(pieces)]).await;
    let stream = llm(&vendor, GEMINI).stream(&question(GEMINI), &Patient::default()).await.unwrap();
    let pieces: Vec<_> = stream.collect().await;
    let [Ok(Delta::Text(text)), Err(BrokenOff { used, .. })] = &pieces[..] else { panic!("{pieces:?}") };
    assert_eq!((text.as_str(), used.total()), ("Deep.", 42));
}

/// The stream ends before the model does: what its provider had said by then counts, whatever had been shown.
#[tokio::test]
async fn an_answer_that_ends_early_says_what_it_took() {
    let piece = |part: Value| {
        let mut piece = gemini("STOP");
        piece["candidates"][0] = json!({"content": {"parts": [part]}});
        Reply::stream([format!("data: {piece}\n\n")])
    };
    let vendor = FakeVendor::start([piece(json!({"text": "Deep."}))]).await;
    let stream = llm(&vendor, GEMINI).stream(&question(GEMINI), &Patient::default()).await.unwrap();
    let pieces: Vec<_> = stream.collect().await;
    let [Ok(Delta::Text(_)), Err(BrokenOff { used, error: Error::Transport { .. } })] = &pieces[..] else {
        panic!("{pieces:?}")
    };
    assert_eq!(used.total(), 42);

    let good = json!({"candidates": [{"content": {"parts": [{"text": "Deep."}]}, "finishReason": "STOP"}]});
    let thought = piece(json!({"text": "Hm.", "thought": true}));
    let vendor = FakeVendor::start([thought, Reply::stream([format!("data: {good}\n\n")])]).await;
    let caller = Patient::default();
    let stream = llm(&vendor, GEMINI).stream(&question(GEMINI), &caller).await.unwrap();
    assert_eq!(stream.map(Result::unwrap).count().await, 2);
    assert_eq!(caller.billed.into_inner().iter().map(Usage::total).collect::<Vec<_>>(), [42]);
}

/// Amazon's status for it. The provider is not taken to be away, so that other calls are not held up.
#[tokio::test]
async fn a_model_that_fails_is_asked_three_times() {
    let failed = || Reply::json(424, r#"{"message": "The model failed.", "originalStatusCode": 500}"#);
    let vendor = FakeVendor::start([failed(), failed(), failed(), converse("end_turn")]).await;
    let (llm, caller) = (llm(&vendor, BEDROCK), Patient::default());
    let error = llm.complete(&request(BEDROCK), &caller).await.unwrap_err();
    assert!(matches!(error.error, Error::Overloaded { .. }) && error.attempts == 3, "{error:?}");
    assert!(!llm.is_away(&BEDROCK.parse().unwrap()));
    assert!(llm.complete(&request(BEDROCK), &caller).await.is_ok());
}

/// No wait of ours heals that.
#[tokio::test]
async fn a_plan_that_is_used_up_is_not_asked_again() {
    let error = json!({"code": "1308", "message": "Usage limit reached for 5 hour. Your limit will reset soon."});
    let asked = ask(&request(CHAT), vec![Reply::json(429, &json!({ "error": error }).to_string()); 3]).await;
    let failed = asked.done.unwrap_err();
    assert!(matches!(failed.error, Error::Quota { .. }), "{failed:?}");
    assert_eq!(asked.bodies.len(), 1);
}

#[tokio::test]
async fn an_error_of_the_server_is_asked_again_as_before() {
    let error = || Reply::json(500, r#"{"error": {"message": "oops"}}"#);
    let replies = (0..5).map(|_| error()).chain([Reply::says("Deep.")]);
    let asked = ask(&request(CHAT), replies).await;
    assert_eq!(asked.done.unwrap().attempts, 6);
    assert_eq!(asked.caller.billed.into_inner(), []);
}

/// It would be missing the next time as well.
#[tokio::test]
async fn a_missing_signature_is_not_asked_for_again() {
    let asked = ask(&request(GEMINI), vec![whole_gemini("MISSING_THOUGHT_SIGNATURE"); 3]).await;
    assert!(matches!(asked.done.unwrap_err().error, Error::BadRequest { .. }));
    assert_eq!(asked.bodies.len(), 1);
}

fn unreadable(written: &str) -> Reply {
    let error = json!({"message": "Failed to call a function. See 'failed_generation' for the tool.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": written});
    Reply::json(400, &json!({ "error": error }).to_string())
}

#[tokio::test]
async fn a_call_that_its_server_cannot_read_is_asked_for_again_or_read() {
    let written = r#"<tool_call>{"name": "search_web", "arguments": {"q": "depth"}}</tool_call>"#;
    let asked = ask(&request(GROQ), [unreadable(written)]).await;
    let calls = asked.done.unwrap().tool_calls;
    assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("search_web", r#"{"q":"depth"}"#));
    // Its server says that it is a call: who makes it hears what is wrong with the name, or that stands for a tool.
    for (name, expected) in [("rm", "rm"), ("functions.search_web<|channel|>commentary", "search_web")] {
        let asked = ask(&request(GROQ), [unreadable(&json!({"name": name, "arguments": {}}).to_string())]).await;
        assert_eq!(asked.done.unwrap().tool_calls[0].name, expected);
    }
    for written in ["", "I will search.", r#"{"name": "search_web"}"#] {
        let asked = ask(&request(GROQ), vec![unreadable(written); 5]).await;
        // No complaint about a tool of the run's, which would go on without it then.
        let failed = asked.done.unwrap_err();
        assert!(matches!(failed.error, Error::Malformed { .. }), "{failed:?}");
        assert_eq!(asked.bodies.len(), 3, "{written}");
        let asked = ask(&request(GROQ), [unreadable(written), Reply::says("Deep.")]).await;
        assert_eq!(asked.done.unwrap().text, "Deep.");
    }
}

#[tokio::test]
async fn a_call_that_a_server_of_ones_own_cannot_read_is_asked_for_three_times() {
    let message = "Failed to parse input at pos 12: </tool_call>";
    let unread = || Reply::json(500, &json!({"error": {"code": 500, "message": message}}).to_string());
    let asked = ask(&request(CHAT), vec![unread(); 5]).await;
    assert!(matches!(asked.done.unwrap_err().error, Error::Malformed { .. }));
    assert_eq!(asked.bodies.len(), 3);
    assert_eq!(ask(&request(CHAT), [unread(), Reply::says("Deep.")]).await.done.unwrap().text, "Deep.");
}

/// What was written of it has been paid for each time.
#[tokio::test]
async fn a_stream_that_breaks_off_after_words_which_nobody_reads_is_begun_three_times() {
    let begun = || chunk(json!({"content": "Ye"}), None);
    for cut in [Reply::stream([begun()]).then_cut(), Reply::stream([begun()])] {
        let asked = ask(&request("fireworks:m"), vec![cut; 5]).await;
        let failed = asked.done.unwrap_err();
        assert!(matches!(failed.error, Error::Transport { .. }), "{failed:?}");
        assert_eq!(asked.bodies.len(), 3);
    }
    // Before a word, the provider may be away.
    let cut = Reply::stream([": ping\n\n"]).then_cut();
    let replies = std::iter::repeat_n(cut, 4).chain([Reply::streams(&["Deep."])]);
    assert_eq!(ask(&request("fireworks:m"), replies).await.done.unwrap().attempts, 5);
}

/// Groq's place for the errors of a stream.
#[tokio::test]
async fn an_error_beside_the_choices_of_a_chunk_is_read() {
    let refused = json!({"choices": [{"delta": {}, "finish_reason": null}],
        "x_groq": {"id": "req_1", "error": {"code": "rate_limit_exceeded", "message": "Try again in 3ms."}}});
    let reply = || Reply::stream([format!("data: {refused}\n\n"), DONE.to_owned()]);
    let caller = Patient::default();
    let vendor = FakeVendor::start([reply(), Reply::streams(&["Deep."])]).await;
    let stream = llm(&vendor, GROQ).stream(&request(GROQ), &caller).await.unwrap();
    assert!(stream.collect::<Vec<_>>().await.iter().all(Result::is_ok));
    assert_eq!((vendor.sent().len(), caller.waits.into_inner()), (2, vec![Duration::from_millis(3)]));
    let vendor = FakeVendor::start([reply()]).await;
    let end = llm(&vendor, CHAT).stream(&request(CHAT), &Patient::default()).await.err().unwrap();
    assert!(!matches!(end.error, Error::RateLimited { .. }), "another provider's field says nothing: {end:?}");
}

/// Azure and OpenRouter answer 200 with the headers of a refusal, which follows in the body or stream.
#[tokio::test]
async fn a_wait_in_the_headers_of_a_good_status_is_kept() {
    let error = json!({"error": {"code": 429, "message": "slow down"}});
    let in_stream = format!("data: {error}\n\n");
    for reply in [Reply::json(200, &error.to_string()), Reply::stream([in_stream])] {
        let limited = reply.header("retry-after-ms", "7");
        let asked = ask(&request(CHAT), [limited.clone(), Reply::says("Deep.")]).await;
        assert!(asked.done.is_ok());
        assert_eq!(asked.caller.waits.into_inner(), [Duration::from_millis(7)]);
        let vendor = FakeVendor::start([limited.clone(), Reply::streams(&["Deep."])]).await;
        let caller = Patient::default();
        llm(&vendor, CHAT).stream(&request(CHAT), &caller).await.unwrap();
        assert_eq!(caller.waits.into_inner(), [Duration::from_millis(7)]);
        let asked = ask(&request(CHAT), [limited.header("x-should-retry", "false"), Reply::says("Deep.")]).await;
        let failed = asked.done.unwrap_err();
        let wait = Some(Duration::from_millis(7));
        assert!(matches!(failed.error, Error::RateLimited { retry_after, .. } if retry_after == wait), "{failed:?}");
        assert_eq!(asked.bodies.len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_without_a_word_is_one_for_length_where_its_vendor_does_so() {
    let silent = |model: &'static str| async move { ask(&request(model), [Reply::json(400, " ")]).await.done };
    let long = silent("cerebras:gpt-oss-120b").await.unwrap_err().error;
    assert!(matches!(long, Error::ContextWindow { limit: None, .. }), "{long:?}");
    assert!(matches!(silent(CHAT).await.unwrap_err().error, Error::BadRequest { .. }));
}

/// Models of OpenAI's open line, at any host.
#[tokio::test]
async fn marks_of_templates_are_cut_off_names() {
    for (name, expected) in [
        ("search_web<|channel|>commentary", "search_web"),
        ("functions.search_web<|channel|>commentary", "search_web"),
        ("functions.search_web", "search_web"),
        (" functions.search_web <|constrain|>json", "search_web"),
        ("functions.rm<|channel|>", "functions.rm"),
        ("serch_web", "serch_web"),
    ] {
        let call = json!({"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}});
        let whole = Reply::message(json!({"content": null, "tool_calls": [call]}), "tool_calls");
        let pieces = [chunk(json!({"tool_calls": [call]}), Some("tool_calls")), DONE.to_owned()];
        for reply in [whole, Reply::stream(pieces)] {
            assert_eq!(ask(&request(CHAT), [reply]).await.done.unwrap().tool_calls[0].name, expected, "{name}");
        }
    }
}

/// A turn with such a name is not carried: its vendor would refuse what it sent itself.
#[tokio::test]
async fn a_turn_with_marks_in_a_name_goes_back_in_our_words() {
    let frames = |name: &str| {
        let thought = json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm", "signature": "s"}}});
        let start = json!({"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": name}}});
        vec![
            frame("contentBlockDelta", &thought),
            frame("contentBlockStart", &start),
            frame("messageStop", &json!({"stopReason": "tool_use"})),
        ]
    };
    for (name, is_carried) in [("search_web", true), ("functions.search_web<|channel|>commentary", false)] {
        let reply = Reply::bytes("application/vnd.amazon.eventstream", frames(name));
        let done = ask(&request(BEDROCK), [reply]).await.done.unwrap();
        assert_eq!((done.tool_calls[0].name.as_str(), done.carry.is_some()), ("search_web", is_carried));
    }
}

/// Models make up names that vendors refuse in a history, also in one of another model.
#[tokio::test]
async fn names_in_the_history_are_ones_that_every_vendor_takes() {
    let call =
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into(), problem: None };
    let (long, names) = ("x".repeat(80), ["search_web", "sea rch.wéb<|x", ""]);
    for model in MODELS {
        let mut turn = ask(&request(CHAT), [Reply::says("Looking.")]).await.done.unwrap();
        turn.tool_calls = names
            .iter()
            .copied()
            .chain([&*long])
            .enumerate()
            .map(|(n, name)| call(&format!("call{n}"), name))
            .collect();
        for tools in [request(model).tools, Vec::new()] {
            let mut history = after(&request(model), &turn);
            history.messages.push(Message::user("Go on."));
            let asked = ask(&Request { tools, ..history }, [Reply::json(400, r#"{"error": "enough"}"#)]).await;
            let mut found = Vec::new();
            names_in(&asked.bodies[0], &mut found);
            let expected = ["search_web", "sea_rch_w_b__x", "unknown", &long[..64]];
            assert!(expected.iter().all(|name| found.iter().any(|found| found == name)), "{model}: {found:?}");
            assert!(found.iter().all(|name| expected.contains(&name.as_str())), "{model}: {found:?}");
        }
    }
}

/// All texts in fields called `name`.
fn names_in(body: &Value, found: &mut Vec<String>) {
    match body {
        Value::Object(fields) => {
            found.extend(fields.get("name").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| names_in(value, found));
        }
        Value::Array(all) => all.iter().for_each(|value| names_in(value, found)),
        _ => {}
    }
}

/// The model has been paid for each of them.
#[tokio::test]
async fn an_answer_that_is_packed_wrongly_is_asked_for_as_one_that_nobody_can_read() {
    let packed = || Reply::bytes("application/json", vec![b"\x1f\x8b\x08 no archive at all".to_vec()]);
    let asked = ask(&request(CHAT), vec![packed().header("content-encoding", "gzip"); 9]).await;
    let failed = asked.done.unwrap_err();
    assert!(
        matches!(&failed.error, Error::Malformed { detail, .. } if detail.contains("cannot be unpacked")),
        "{failed:?}"
    );
    assert_eq!(asked.bodies.len(), 8);
}

#[tokio::test]
async fn a_mark_of_the_encoding_before_an_answer_says_nothing() {
    let answer = json!({"choices": [{"message": {"content": "Fifteen metres."}, "finish_reason": "stop"}]});
    let whole = Reply::text(200, "application/json", format!("\u{feff}{answer}"));
    assert_eq!(ask(&question(CHAT), [whole]).await.done.unwrap().text, "Fifteen metres.");
    let chunks = [chunk(json!({"content": "Fifteen"}), None), chunk(json!({"content": " metres."}), Some("stop"))];
    let streamed = Reply::text(200, "text/event-stream", format!("\u{feff}{}{DONE}", chunks.concat()));
    assert_eq!(ask(&question(CHAT), [streamed]).await.done.unwrap().text, "Fifteen metres.");
    let error = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let refused = Reply::text(429, "application/json", format!("\u{feff}{error}"));
    let error = ask(&question(CHAT), [refused]).await.done.unwrap_err().error;
    assert!(matches!(error, Error::Quota { .. }), "{error:?}");
}

/// MiniMax's errors come so, with status 200.
#[tokio::test]
async fn an_answer_without_what_all_have_is_shown() {
    let body = json!({"choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}});
    let asked = ask(&request(CHAT), vec![Reply::json(200, &body.to_string()); 8]).await;
    let failed = asked.done.unwrap_err();
    let is_said =
        |detail: &str| detail.starts_with("an answer without choices") && detail.contains("insufficient balance");
    assert!(matches!(&failed.error, Error::Malformed { detail, .. } if is_said(detail)), "{failed:?}");
}

/// One field of another kind than documented costs nothing else.
#[tokio::test]
async fn fields_of_another_kind_cost_no_answer() {
    let function = json!({"name": "search_web", "arguments": "{\"q\":\"depth\"}"});
    let body = json!({
        "choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "refusal": false,
            "content": ["Look", {"type": "text", "text": "ing."}, null],
            "tool_calls": [{"id": 7, "index": "0", "type": "function", "function": function}, null, "none"]}}],
        "usage": {"prompt_tokens": 40.0, "completion_tokens": "2", "prompt_tokens_details": [],
            "completion_tokens_details": {"reasoning_tokens": 1.0}},
    });
    let asked = ask(&request(CHAT), [Reply::json(200, &body.to_string())]).await;
    let completion = asked.done.unwrap();
    assert_eq!((&*completion.text, completion.tool_calls.len()), ("Looking.", 1));
    assert_eq!(completion.tool_calls[0].arguments, "{\"q\":\"depth\"}");
    let usage = completion.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.reasoning_tokens), (40, 2, 1));
}

/// No wait heals it, so a report is not begun again.
#[tokio::test]
async fn a_quota_that_ends_in_the_middle_of_a_stream_is_known() {
    let error = json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let body = chunk(json!({"content": "Fifteen"}), None) + &format!("data: {error}\n\n");
    let vendor = FakeVendor::start([Reply::text(200, "text/event-stream", body)]).await;
    let model = llm(&vendor, CHAT);
    let mut stream = model.stream(&question(CHAT), &Patient::default()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(Delta::Text("Fifteen".to_owned()))));
    let Some(Err(BrokenOff { error, .. })) = stream.next().await else { panic!("it goes on") };
    assert!(matches!(error, Error::Quota { .. }), "{error:?}");
}
