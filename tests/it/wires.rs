//! The dialects beside Chat Completions over loopback, in the vendors' documented forms: what is sent, what is read,
//! and what each kind of failure means.

use futures::StreamExt;
use serde_json::{Value, json};
use url::Url;

use crate::{
    fake_vendor::{FakeVendor, Reply, Sent},
    requests::{self, question as request, search_tool},
};
use fathom::domain::{ModelName, Usage};
use fathom::llm::{
    Completion, Delta, Endpoint, Error, Failed, Llm, Message, OutputFormat, Request, Settings, StopReason, ToolCall,
    ToolChoice, Wait,
};

const KEY: &str = "key-test-0123456789";
const USAGE: Usage = Usage {
    input_tokens: 40,
    cached_tokens: 30,
    cache_write_tokens: 0,
    searches: 0,
    output_tokens: 12,
    reasoning_tokens: 5,
    cost: None,
};

fn quietly(_: Wait) {}

fn llm(vendor: &FakeVendor, provider: &'static str) -> Llm {
    let base_url = Some(Url::parse(&vendor.base_url()).unwrap());
    let mut settings = Settings {
        // One attempt: no wait is short enough for another.
        retry_for: std::time::Duration::ZERO,
        first_retry_within: std::time::Duration::from_secs(1),
        ..Settings::default()
    };
    settings.endpoints.insert(provider, Endpoint { base_url, api_key: Some(KEY.into()), ..Endpoint::default() });
    Llm::new(settings).unwrap()
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), problem: None }
}

fn with_tools(model: &str) -> Request {
    Request { tools: vec![search_tool("search_web"), search_tool("think_tool")], ..request(model) }
}

/// The conversation after a turn of two calls that the model made itself, or another one.
fn after(request: &Request, completion: &Completion) -> Request {
    let mut next = requests::after(request, completion);
    next.messages.push(Message::user("Go on."));
    next
}

async fn complete(provider: &'static str, reply: Reply, request: &Request) -> (Result<Completion, Failed>, Vec<Sent>) {
    let vendor = FakeVendor::start([reply]).await;
    let done = llm(&vendor, provider).complete(request, &quietly).await;
    (done, vendor.sent())
}

async fn streamed(provider: &'static str, reply: Reply, request: &Request) -> (String, Result<Completion, Error>) {
    let vendor = FakeVendor::start([reply]).await;
    let mut stream = match llm(&vendor, provider).stream(request, &quietly).await {
        Ok(stream) => stream,
        Err(failed) => return (String::new(), Err(failed.error)),
    };
    let mut text = String::new();
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(Delta::Text(more)) => text.push_str(&more),
            Ok(Delta::End(completion)) => return (text, Ok(completion)),
            Err(broken_off) => return (text, Err(broken_off.error)),
        }
    }
    panic!("no end after {text:?}")
}

/// What a request of these messages is written as.
async fn body(provider: &'static str, request: &Request) -> Value {
    let (_, sent) = complete(provider, Reply::json(200, "{}"), request).await;
    sent[0].body.clone()
}

fn events(events: &[Value]) -> Reply {
    let frame = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    Reply::stream(events.iter().map(frame))
}

fn ids(completion: &Completion) -> Vec<(&str, &str, &str)> {
    completion.tool_calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect()
}

mod messages {
    use super::*;

    const MODEL: &str = "anthropic:claude-sonnet-5";
    /// What was written into the cache is counted as input, and costs more.
    const USAGE: Usage = Usage { cache_write_tokens: 2, ..super::USAGE };

    fn usage() -> Value {
        json!({"input_tokens": 8, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 30,
            "output_tokens": 12, "output_tokens_details": {"thinking_tokens": 5}})
    }

    fn blocks() -> Value {
        json!([
            {"type": "thinking", "thinking": "It is deep.", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "search_web", "input": {"q": "depth"}},
            {"type": "tool_use", "id": "toolu_2", "name": "think_tool", "input": {}},
        ])
    }

    fn turn() -> Reply {
        let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5",
            "content": blocks(), "stop_reason": "tool_use", "stop_sequence": null, "usage": usage()});
        Reply::json(200, &body.to_string())
    }

    fn stream_of_turn() -> Vec<Value> {
        vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                "content": [], "usage": {"input_tokens": 8, "cache_creation_input_tokens": 2,
                "cache_read_input_tokens": 30, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "It is "}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "deep."}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Look"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ing."}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "search_web", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"q\":"}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"depth\"}"}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "toolu_2", "name": "think_tool", "input": {}}}),
            json!({"type": "content_block_stop", "index": 3}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                "usage": {"output_tokens": 12, "output_tokens_details": {"thinking_tokens": 5}}}),
            json!({"type": "message_stop"}),
        ]
    }

    #[tokio::test]
    async fn a_request_is_sent_in_the_vendors_form() {
        let (done, sent) = complete("anthropic", turn(), &with_tools(MODEL)).await;
        assert!(done.is_ok(), "{done:?}");
        assert_eq!((&*sent[0].path, &sent[0].headers["x-api-key"]), ("/v1/messages", &KEY.parse().unwrap()));
        assert_eq!(sent[0].headers["anthropic-version"], "2023-06-01");
        assert!(!sent[0].headers.contains_key("authorization"));
        let mark = json!({"type": "ephemeral"});
        let schema = search_tool("").parameters;
        let expected = json!({
            "model": "claude-sonnet-5", "max_tokens": 100, "stream": false,
            "tools": [{"name": "search_web", "description": "Searches.", "input_schema": schema},
                {"name": "think_tool", "description": "Searches.", "input_schema": schema}],
            "tool_choice": {"type": "auto"},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "How deep is it?", "cache_control": mark}]}],
        });
        assert_eq!(sent[0].body, expected);
    }

    #[tokio::test]
    async fn turns_are_read_whole_and_streamed_alike() {
        let request = with_tools(MODEL);
        let whole = complete("anthropic", turn(), &request).await.0.unwrap();
        let (_, stream) = streamed("anthropic", events(&stream_of_turn()), &request).await;
        let stream = stream.unwrap();
        for completion in [&whole, &stream] {
            assert_eq!(
                (&*completion.text, completion.stop, completion.usage),
                ("Looking.", StopReason::ToolCalls, USAGE)
            );
            let expected = [("toolu_1", "search_web", r#"{"q":"depth"}"#), ("toolu_2", "think_tool", "{}")];
            assert_eq!(ids(completion), expected);
            let carried: Value = serde_json::from_str(&completion.carry.as_ref().unwrap().items).unwrap();
            assert_eq!(carried, blocks());
        }
    }

    #[tokio::test]
    async fn a_turn_goes_back_as_it_came_with_all_results_in_one_message() {
        let request = with_tools(MODEL);
        let completion = complete("anthropic", turn(), &request).await.0.unwrap();
        let messages = body("anthropic", &after(&request, &completion)).await["messages"].clone();
        assert_eq!(messages[1], json!({"role": "assistant", "content": blocks()}));
        let expected = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "found"},
            {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}]});
        assert_eq!(messages[2], expected);
        assert_eq!(messages.as_array().unwrap().len(), 3);
    }

    /// They are bound to the conversation that they came from, which is shortened when it no longer fits.
    #[tokio::test]
    async fn thoughts_that_are_refused_are_left_out() {
        let request = with_tools(MODEL);
        let completion = complete("anthropic", turn(), &request).await.0.unwrap();
        let message = "messages.1.content.0: Invalid `signature` in `thinking` block";
        let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        let vendor = FakeVendor::start([Reply::json(400, &refusal.to_string()), turn()]).await;
        let done = llm(&vendor, "anthropic").complete(&after(&request, &completion), &quietly).await.unwrap();
        assert_eq!(done.attempts, 2);
        let sent = vendor.sent();
        assert!(sent[0].body.to_string().contains("thinking\""));
        assert_eq!(sent[1].body["messages"][1]["content"][0], json!({"type": "text", "text": "Looking."}));
    }

    #[tokio::test]
    async fn a_turn_of_another_provider_is_written_in_our_words() {
        let request = with_tools(MODEL);
        let mut completion = complete("anthropic", turn(), &request).await.0.unwrap();
        completion.carry.as_mut().unwrap().provider = "google".into();
        completion.tool_calls[1].id = "functions.think:0".into();
        completion.tool_calls[1].arguments = "{\"cut".into();
        let messages = body("anthropic", &after(&request, &completion)).await["messages"].clone();
        let id = messages[1]["content"][2]["id"].as_str().unwrap().to_owned();
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        let expected = json!([
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "search_web", "input": {"q": "depth"}},
            {"type": "tool_use", "id": id, "name": "think_tool", "input": {}}]);
        assert_eq!(messages[1]["content"], expected);
        assert_eq!(messages[2]["content"][1]["tool_use_id"], id);
    }

    /// Of servers that speak the dialect and make ids of their own: a call and its result have the same one.
    #[tokio::test]
    async fn a_turn_whose_ids_are_written_otherwise_is_not_carried() {
        let request = with_tools(MODEL);
        let mut completion = complete("anthropic", turn(), &request).await.0.unwrap();
        completion.tool_calls[1].id = "functions.think:0".into();
        let messages = body("anthropic", &after(&request, &completion)).await["messages"].clone();
        assert_eq!(messages[1]["content"][0], json!({"type": "text", "text": "Looking."}));
        assert_eq!(messages[1]["content"][2]["id"], messages[2]["content"][1]["tool_use_id"]);
    }

    /// As findings are compressed: a history with calls is refused without tools.
    #[tokio::test]
    async fn tools_of_the_history_are_declared_when_none_is_on_offer() {
        let request = with_tools(MODEL);
        let completion = complete("anthropic", turn(), &request).await.0.unwrap();
        let body = body("anthropic", &Request { tools: Vec::new(), ..after(&request, &completion) }).await;
        let declared = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
        assert_eq!(body["tools"], json!([declared("search_web"), declared("think_tool")]));
        assert_eq!(body["tool_choice"], json!({"type": "none"}));
        assert_eq!(body["messages"][1]["content"][0], json!({"type": "text", "text": "Looking."}));
    }

    #[tokio::test]
    async fn a_call_is_forced_only_where_that_is_no_error() {
        for (model, expected) in [
            ("anthropic:claude-sonnet-5", "any"),
            ("anthropic:claude-haiku-4-5", "any"),
            ("anthropic:claude-opus-5-5", "auto"),
            ("anthropic:claude-fable-5-1", "auto"),
            ("anthropic:claude-opus-9", "auto"),
        ] {
            let forced = Request { tool_choice: ToolChoice::Required, ..with_tools(model) };
            assert_eq!(body("anthropic", &forced).await["tool_choice"]["type"], expected, "{model}");
        }
    }

    #[tokio::test]
    async fn a_form_of_answer_is_asked_for() {
        let output = OutputFormat::JsonSchema { name: "brief".into(), schema: search_tool("").parameters };
        let body = body("anthropic", &Request { output, ..request(MODEL) }).await;
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"],
            "additionalProperties": false});
        assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}));
        assert_eq!(body["system"], json!([{"type": "text", "text": "Be brief."}]), "nothing to cache in a single call");
    }

    #[tokio::test]
    async fn stop_reasons_are_distinguished() {
        for (reason, expected) in [
            ("end_turn", StopReason::End),
            ("stop_sequence", StopReason::End),
            ("max_tokens", StopReason::Length),
            ("model_context_window_exceeded", StopReason::Length),
            ("refusal", StopReason::Refused),
            ("one_of_tomorrow", StopReason::End),
        ] {
            let body = json!({"content": [{"type": "text", "text": "Yes."}, {"type": "of_tomorrow"}], "stop_reason": reason, "usage": usage()});
            let completion =
                complete("anthropic", Reply::json(200, &body.to_string()), &request(MODEL)).await.0.unwrap();
            assert_eq!((completion.stop, &*completion.text, &completion.carry), (expected, "Yes.", &None), "{reason}");
        }
    }

    #[tokio::test]
    async fn a_call_cut_by_the_limit_is_not_carried() {
        let mut cut = stream_of_turn();
        cut.truncate(14);
        cut.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 12}}),
        );
        cut.push(json!({"type": "message_stop"}));
        let completion = streamed("anthropic", events(&cut), &with_tools(MODEL)).await.1.unwrap();
        assert_eq!((completion.stop, completion.carry.is_none()), (StopReason::Length, true));
        assert_eq!(ids(&completion), [("toolu_1", "search_web", "{\"q\":")]);
    }

    #[tokio::test]
    async fn failures_are_known_by_the_vendors_words() {
        let failure_of = async |status: u16, kind: &str, message: &str| {
            let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
            complete("anthropic", Reply::json(status, &body.to_string()), &request(MODEL)).await.0.unwrap_err().error
        };
        assert!(matches!(failure_of(401, "authentication_error", "invalid x-api-key").await, Error::Auth { .. }));
        assert!(matches!(failure_of(404, "not_found_error", "model: x").await, Error::BadRequest { .. }));
        assert!(matches!(failure_of(429, "rate_limit_error", "slow").await, Error::RateLimited { .. }));
        assert!(matches!(failure_of(529, "overloaded_error", "Overloaded").await, Error::Overloaded { .. }));
        let low = "Your credit balance is too low to access the API.";
        assert!(matches!(failure_of(400, "invalid_request_error", low).await, Error::Quota { .. }));
        let spent = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down.",
            "details": {"error_code": "enforced_spend_limit_reached"}}});
        let spent = complete("anthropic", Reply::json(429, &spent.to_string()), &request(MODEL)).await.0.unwrap_err();
        assert!(matches!(spent.error, Error::Quota { .. }), "{spent:?}");
        let long = failure_of(400, "invalid_request_error", "prompt is too long: 210034 tokens > 200000 maximum").await;
        assert!(matches!(long, Error::ContextWindow { limit: Some(200_000), .. }), "{long:?}");
        let html = complete("anthropic", Reply::text(200, "text/html", "<html>"), &request(MODEL)).await.0.unwrap_err();
        assert!(matches!(html.error, Error::Malformed { .. }), "{html:?}");
    }

    #[tokio::test]
    async fn an_error_in_a_stream_is_one_of_its_status() {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let (text, end) = streamed("anthropic", events(std::slice::from_ref(&error)), &request(MODEL)).await;
        assert!(text.is_empty() && matches!(end, Err(Error::Overloaded { .. })), "{end:?}");
        let mut late = stream_of_turn();
        late.truncate(10);
        late.push(error);
        let (text, end) = streamed("anthropic", events(&late), &request(MODEL)).await;
        assert_eq!(text, "Looking.");
        assert!(matches!(end, Err(Error::Overloaded { .. })), "{end:?}");
        let (_, end) = streamed("anthropic", events(&stream_of_turn()[..10]), &request(MODEL)).await;
        assert!(matches!(end, Err(Error::Transport { .. })), "cut before its end: {end:?}");
    }
}

mod responses {
    use super::*;

    const MODEL: &str = "openai-responses:gpt-5.4";

    fn usage() -> Value {
        json!({"input_tokens": 40, "input_tokens_details": {"cached_tokens": 30}, "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 52})
    }

    fn items() -> Vec<Value> {
        vec![
            json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]}),
            json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
                "name": "search_web", "arguments": "{\"q\":\"depth\"}"}),
            json!({"id": "fc_2", "type": "function_call", "status": "completed", "call_id": "call_2",
                "name": "think_tool", "arguments": "{}"}),
        ]
    }

    fn answer(status: &str, output: &[Value], details: Value) -> Value {
        json!({"id": "resp_1", "object": "response", "status": status, "error": null, "incomplete_details": details,
            "model": "gpt-5.4", "output": output, "usage": usage()})
    }

    fn turn() -> Reply {
        Reply::json(200, &answer("completed", &items(), Value::Null).to_string())
    }

    fn stream_of_turn() -> Vec<Value> {
        let mut all = vec![
            json!({"type": "response.created", "sequence_number": 0, "response": answer("in_progress", &[], Value::Null)}),
        ];
        for (index, item) in items().into_iter().enumerate() {
            all.push(json!({"type": "response.output_item.added", "output_index": index, "item": {"id": item["id"], "type": item["type"]}}));
            if item["type"] == "message" {
                for delta in ["Look", "ing."] {
                    all.push(json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": delta}));
                }
            }
            all.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        all.push(json!({"type": "response.completed", "response": answer("completed", &items(), Value::Null)}));
        all
    }

    #[tokio::test]
    async fn a_request_is_sent_in_the_vendors_form() {
        let (done, sent) = complete("openai-responses", turn(), &with_tools(MODEL)).await;
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(sent[0].path, "/v1/responses");
        assert_eq!(sent[0].headers["authorization"], format!("Bearer {KEY}"));
        let schema = search_tool("").parameters;
        let function = |name: &str| json!({"type": "function", "name": name, "description": "Searches.", "parameters": schema, "strict": false});
        let expected = json!({
            "model": "gpt-5.4", "stream": false, "store": false, "max_output_tokens": 100,
            "include": ["reasoning.encrypted_content"],
            "tools": [function("search_web"), function("think_tool")], "tool_choice": "auto",
            "input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "How deep is it?"}],
        });
        assert_eq!(sent[0].body, expected);
        let plain = body("openai-responses", &Request { max_tokens: 1, ..request("openai-responses:gpt-4.1") }).await;
        assert_eq!((plain.get("include"), &plain["max_output_tokens"]), (None, &json!(16)));
    }

    #[tokio::test]
    async fn turns_are_read_whole_and_streamed_alike() {
        let request = with_tools(MODEL);
        let whole = complete("openai-responses", turn(), &request).await.0.unwrap();
        let stream = streamed("openai-responses", events(&stream_of_turn()), &request).await.1.unwrap();
        for completion in [&whole, &stream] {
            assert_eq!(
                (&*completion.text, completion.stop, completion.usage),
                ("Looking.", StopReason::ToolCalls, USAGE)
            );
            let expected = [("call_1", "search_web", r#"{"q":"depth"}"#), ("call_2", "think_tool", "{}")];
            assert_eq!(ids(completion), expected);
        }
        let input = body("openai-responses", &after(&request, &stream)).await["input"].clone();
        let mut expected = vec![
            json!({"role": "developer", "content": "Be brief."}),
            json!({"role": "user", "content": "How deep is it?"}),
        ];
        expected.extend(items());
        for id in ["call_1", "call_2"] {
            expected.push(json!({"type": "function_call_output", "call_id": id, "output": "found"}));
        }
        expected.push(json!({"role": "user", "content": "Go on."}));
        assert_eq!(input, Value::from(expected));
    }

    #[tokio::test]
    async fn a_turn_of_another_provider_is_written_in_our_words() {
        let request = with_tools(MODEL);
        let mut completion = complete("openai-responses", turn(), &request).await.0.unwrap();
        completion.carry = None;
        let input = body("openai-responses", &after(&request, &completion)).await["input"].clone();
        assert_eq!(input[2], json!({"role": "assistant", "content": "Looking."}));
        let call = json!({"type": "function_call", "call_id": "call_1", "name": "search_web", "arguments": "{\"q\":\"depth\"}"});
        assert_eq!(input[3], call);
    }

    /// Of gateways that stream what their provider gave them as a whole: LiteLLM's first had but the last event.
    #[tokio::test]
    async fn a_stream_without_pieces_or_items_is_read_from_what_there_is() {
        let is = |event: &Value, word: &str| event["type"].as_str().is_some_and(|kind| kind.contains(word));
        let without = |words: &'static [&'static str]| -> Vec<Value> {
            stream_of_turn().into_iter().filter(|event| !words.iter().any(|word| is(event, word))).collect()
        };
        for words in [&[][..], &["delta"], &["item"], &["delta", "item"]] {
            let (text, end) = streamed("openai-responses", events(&without(words)), &with_tools(MODEL)).await;
            let completion = end.unwrap();
            assert_eq!((&*text, completion.tool_calls.len()), ("Looking.", 2), "without {words:?}");
            assert!(completion.carry.is_some(), "without {words:?}");
        }
        let cut = answer("incomplete", &items()[1..2], json!({"reason": "max_output_tokens"}));
        let only = [json!({"type": "response.incomplete", "response": cut})];
        let (text, end) = streamed("openai-responses", events(&only), &request(MODEL)).await;
        assert_eq!((&*text, end.unwrap().stop), ("Looking.", StopReason::Length));
    }

    #[tokio::test]
    async fn reports_stream_and_forms_are_asked_for() {
        let (text, end) = streamed("openai-responses", events(&stream_of_turn()), &request(MODEL)).await;
        assert_eq!((&*text, end.is_ok()), ("Looking.", true));
        let output = OutputFormat::JsonSchema { name: "brief".into(), schema: search_tool("").parameters };
        let body = body("openai-responses", &Request { output, ..request(MODEL) }).await;
        let format = &body["text"]["format"];
        assert_eq!(
            (&format["type"], &format["name"], &format["strict"]),
            (&json!("json_schema"), &json!("brief"), &json!(true))
        );
        assert_eq!(format["schema"]["additionalProperties"], false);
    }

    #[tokio::test]
    async fn stop_reasons_are_distinguished() {
        let said = &items()[1..2];
        for (status, reason, expected) in [
            ("completed", Value::Null, StopReason::End),
            ("incomplete", json!({"reason": "max_output_tokens"}), StopReason::Length),
            ("incomplete", json!({"reason": "content_filter"}), StopReason::Refused),
        ] {
            let reply = Reply::json(200, &answer(status, said, reason).to_string());
            assert_eq!(complete("openai-responses", reply, &request(MODEL)).await.0.unwrap().stop, expected);
        }
        let refusal =
            json!({"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]});
        let reply = Reply::json(200, &answer("completed", &[refusal], Value::Null).to_string());
        let failed = complete("openai-responses", reply, &request(MODEL)).await.0.unwrap_err();
        assert!(matches!(failed.error, Error::Refused { .. }), "{failed:?}");
    }

    #[tokio::test]
    async fn failures_in_a_stream_are_known_by_their_code() {
        let limited = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null});
        let (_, end) = streamed("openai-responses", events(&[limited]), &request(MODEL)).await;
        assert!(matches!(end, Err(Error::RateLimited { .. })), "{end:?}");
        for (code, expected) in [
            ("server_error", "overloaded"),
            ("context_length_exceeded", "window"),
            ("insufficient_quota", "quota"),
            ("content_filter", "refused"),
            ("content_policy_violation", "refused"),
            ("invalid_prompt", "refused"),
            ("cyber_policy", "refused"),
            ("bio_policy", "refused"),
            ("misalignment_policy_violation", "refused"),
            ("one_of_tomorrow", "overloaded"),
        ] {
            let mut failed = answer("failed", &[], Value::Null);
            failed["error"] = json!({"code": code, "message": "…"});
            let (_, end) = streamed(
                "openai-responses",
                events(&[json!({"type": "response.failed", "response": failed})]),
                &request(MODEL),
            )
            .await;
            let is_so = match end.unwrap_err() {
                Error::Overloaded { .. } => expected == "overloaded",
                Error::ContextWindow { .. } => expected == "window",
                Error::Quota { .. } => expected == "quota",
                Error::Refused { detail, .. } => expected == "refused" && detail == format!("400 {code}: …"),
                _ => false,
            };
            assert!(is_so, "{code}");
        }
        let (_, end) = streamed("openai-responses", events(&stream_of_turn()[..5]), &request(MODEL)).await;
        assert!(matches!(end, Err(Error::Transport { .. })), "cut before its end: {end:?}");
    }
}

mod gemini {
    use super::*;

    const MODEL: &str = "google:gemini-3.6-flash";

    fn usage() -> Value {
        json!({"promptTokenCount": 38, "toolUsePromptTokenCount": 2, "cachedContentTokenCount": 30,
            "candidatesTokenCount": 7, "thoughtsTokenCount": 5, "totalTokenCount": 52})
    }

    fn parts() -> Vec<Value> {
        vec![
            json!({"text": "It is deep.", "thought": true}),
            json!({"text": "Looking."}),
            json!({"functionCall": {"id": "fc-1", "name": "search_web", "args": {"q": "depth"}}, "thoughtSignature": "c2ln"}),
            json!({"functionCall": {"name": "think_tool", "args": {}}}),
        ]
    }

    fn answer(parts: &[Value], reason: Option<&str>) -> Value {
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}],
            "usageMetadata": usage(), "modelVersion": "gemini-3.6-flash", "responseId": "r1"})
    }

    fn turn() -> Reply {
        Reply::json(200, &answer(&parts(), Some("STOP")).to_string())
    }

    fn stream_of_turn() -> Reply {
        let mut chunks: Vec<_> = parts().chunks(1).map(|part| answer(part, None)).collect();
        chunks.push(json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage()}));
        events(&chunks)
    }

    #[tokio::test]
    async fn a_request_is_sent_in_the_vendors_form() {
        let (done, sent) =
            complete("google", turn(), &Request { tool_choice: ToolChoice::Required, ..with_tools(MODEL) }).await;
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(sent[0].path, "/v1/models/gemini-3.6-flash:generateContent");
        assert_eq!(sent[0].headers["x-goog-api-key"], KEY);
        let schema = search_tool("").parameters;
        let function = |name: &str| json!({"name": name, "description": "Searches.", "parametersJsonSchema": schema});
        let expected = json!({
            "tools": [{"functionDeclarations": [function("search_web"), function("think_tool")]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": "How deep is it?"}]}],
            "generationConfig": {"maxOutputTokens": 100},
        });
        assert_eq!(sent[0].body, expected);
        let vendor = FakeVendor::start([stream_of_turn()]).await;
        let mut stream = llm(&vendor, "google").stream(&request("google:../x?y/z"), &quietly).await.unwrap();
        while stream.next().await.is_some() {}
        assert_eq!(vendor.sent()[0].path, "/v1/models/%2E%2E%2Fx%3Fy%2Fz:streamGenerateContent?alt=sse");
    }

    #[tokio::test]
    async fn turns_are_read_whole_and_streamed_alike() {
        let request = with_tools(MODEL);
        let whole = complete("google", turn(), &request).await.0.unwrap();
        let stream = streamed("google", stream_of_turn(), &request).await.1.unwrap();
        for completion in [&whole, &stream] {
            assert_eq!(
                (&*completion.text, completion.stop, completion.usage),
                ("Looking.", StopReason::ToolCalls, USAGE)
            );
            let calls = ids(completion);
            assert_eq!((calls[0], calls[1].1), (("fc-1", "search_web", r#"{"q":"depth"}"#), "think_tool"));
            assert_eq!(calls[1].0.len(), 9, "an id of ours where there was none");
        }
        let contents = body("google", &after(&request, &stream)).await["contents"].clone();
        assert_eq!(contents[1], json!({"role": "model", "parts": parts()}));
        let response = |id: Option<&str>, name: &str| {
            let mut response = json!({"name": name, "response": {"output": "found"}});
            if let Some(id) = id {
                response["id"] = json!(id);
            }
            json!({"functionResponse": response})
        };
        let expected =
            json!({"role": "user", "parts": [response(Some("fc-1"), "search_web"), response(None, "think_tool")]});
        assert_eq!(contents[2], expected);
        assert_eq!(contents[3], json!({"role": "user", "parts": [{"text": "Go on."}]}));
    }

    /// They are of all that had come, and the last chunk may have none.
    #[tokio::test]
    async fn the_counts_that_came_last_count() {
        let mut first = answer(&[json!({"text": "Seven "})], None);
        first["usageMetadata"] = json!({"promptTokenCount": 1, "candidatesTokenCount": 1});
        let second = answer(&[json!({"text": "metres."})], None);
        let end = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": null});
        let done = streamed("google", events(&[first, second, end]), &request(MODEL)).await.1.unwrap();
        assert_eq!((&*done.text, done.usage), ("Seven metres.", USAGE));
    }

    #[tokio::test]
    async fn a_turn_of_another_provider_is_written_in_our_words() {
        let request = with_tools(MODEL);
        let mut completion = complete("google", turn(), &request).await.0.unwrap();
        completion.carry = None;
        let contents = body("google", &after(&request, &completion)).await["contents"].clone();
        let expected = json!([{"text": "Looking."},
            {"functionCall": {"name": "search_web", "args": {"q": "depth"}}, "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": {"name": "think_tool", "args": {}}}]);
        assert_eq!(contents[1]["parts"], expected);
    }

    #[tokio::test]
    async fn a_form_of_answer_is_asked_for() {
        let output = OutputFormat::JsonSchema { name: "brief".into(), schema: search_tool("").parameters };
        let config = body("google", &Request { output, ..request(MODEL) }).await["generationConfig"].clone();
        assert_eq!(
            (&config["responseMimeType"], &config["responseJsonSchema"]["required"]),
            (&json!("application/json"), &json!(["q"]))
        );
    }

    #[tokio::test]
    async fn stop_reasons_are_distinguished() {
        for (reason, expected) in [
            ("STOP", StopReason::End),
            ("MAX_TOKENS", StopReason::Length),
            ("CONTINUATION", StopReason::Length),
            ("SAFETY", StopReason::Refused),
        ] {
            let reply = Reply::json(200, &answer(&parts()[1..2], Some(reason)).to_string());
            assert_eq!(complete("google", reply, &request(MODEL)).await.0.unwrap().stop, expected, "{reason}");
        }
        let broken = Reply::json(200, &answer(&[], Some("MALFORMED_FUNCTION_CALL")).to_string());
        let failed = complete("google", broken, &request(MODEL)).await.0.unwrap_err();
        assert!(matches!(failed.error, Error::Overloaded { .. }), "{failed:?}");
        let blocked =
            Reply::json(200, r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}"#);
        let failed = complete("google", blocked, &request(MODEL)).await.0.unwrap_err();
        assert!(matches!(failed.error, Error::Refused { .. }), "{failed:?}");
    }

    #[tokio::test]
    async fn failures_are_known_by_the_vendors_words() {
        let failure_of = async |status: u16, error: Value| {
            let body = json!({"error": error}).to_string();
            complete("google", Reply::json(status, &body), &request(MODEL)).await.0.unwrap_err().error
        };
        let key = json!({"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]});
        assert!(matches!(failure_of(400, key).await, Error::Auth { .. }));
        let day = json!({"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]});
        let day = failure_of(429, day).await;
        assert!(matches!(&day, Error::Quota { .. }), "{day:?}");
        let minute = json!({"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "14s"}]});
        let wait = Some(std::time::Duration::from_secs(14));
        let minute = failure_of(429, minute).await;
        assert!(matches!(minute, Error::RateLimited { retry_after, .. } if retry_after == wait), "{minute:?}");
        let long = "The input token count (1200034) exceeds the maximum number of tokens allowed (1048576).";
        let long = failure_of(400, json!({"code": 400, "message": long, "status": "INVALID_ARGUMENT"})).await;
        assert!(matches!(long, Error::ContextWindow { limit: Some(1_048_576), .. }), "{long:?}");
        let late = events(&[json!({"error": {"status": "UNAVAILABLE", "message": "overloaded"}})]);
        let (_, end) = streamed("google", late, &request(MODEL)).await;
        assert!(matches!(end, Err(Error::Overloaded { .. })), "{end:?}");
    }
}

/// What Chat Completions' servers refuse although its vendor takes it: a user who speaks twice in a row, and, at
/// Mistral, right after a tool.
#[tokio::test]
async fn roles_take_turns() {
    let sent = async |provider: &'static str, model: &str| {
        let mut request = with_tools(model);
        request.messages.extend([Message::user("In metres."), Message::user("And in feet.")]);
        let turn = vec![call("t00000001", "search_web", "{}")];
        request.messages.push(Message::Assistant { content: String::new(), tool_calls: turn, carry: None });
        let (call_id, name, content) = ("t00000001".into(), "search_web".into(), "found".into());
        request.messages.extend([Message::Tool { call_id, name, content }, Message::user("Go on.")]);
        body(provider, &request).await["messages"].clone()
    };
    let roles = |messages: &Value| -> Vec<String> {
        messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let perplexity = sent("perplexity", "perplexity:sonar-pro").await;
    assert_eq!(roles(&perplexity), ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(perplexity[1]["content"], "How deep is it?\n\nIn metres.\n\nAnd in feet.");
    let mistral = sent("mistral", "mistral:mistral-large-latest").await;
    assert_eq!(roles(&mistral), ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(mistral[4], json!({"role": "assistant", "content": "OK."}));
}

/// Chat Completions of vendors whose models want their reasoning back after a tool call.
mod reasoning {
    use super::*;

    fn answer(message: Value) -> Reply {
        let usage = json!({"prompt_tokens": 40, "completion_tokens": 12});
        let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage});
        Reply::json(200, &body.to_string())
    }

    fn chunks(deltas: &[Value]) -> Reply {
        let frame = |delta: &Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
        let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
        Reply::stream(deltas.iter().map(frame).chain([format!("data: {end}\n\n"), "data: [DONE]\n\n".to_owned()]))
    }

    fn calls() -> Value {
        json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "search_web", "arguments": "{}"}}])
    }

    /// The turn as it is sent back to `model`.
    async fn sent_back(provider: &'static str, model: &str, completion: &Completion) -> Value {
        let conversation = after(&with_tools(model), completion);
        body(provider, &conversation).await["messages"][2].clone()
    }

    #[tokio::test]
    async fn the_text_goes_back_with_its_turn_and_to_nobody_else() {
        for (provider, model) in [("deepseek", "deepseek:deepseek-flash"), ("moonshot", "moonshot:kimi-k2.6")] {
            let whole = answer(json!({"content": "", "reasoning_content": "It is deep.", "tool_calls": calls()}));
            let whole = complete(provider, whole, &with_tools(model)).await.0.unwrap();
            let pieces = [
                json!({"reasoning_content": "It is "}),
                json!({"reasoning_content": "deep."}),
                json!({"tool_calls": calls()}),
            ];
            let (text, streamed) = streamed(provider, chunks(&pieces), &with_tools(model)).await;
            assert_eq!((&*text, streamed.unwrap().carry), ("", whole.carry.clone()));
            let sent = sent_back(provider, model, &whole).await;
            assert_eq!(sent["reasoning_content"], "It is deep.", "{sent}");
            assert_eq!(sent["tool_calls"][0]["id"], "call_1");
            let elsewhere = sent_back("openai", "openai:gpt-4.1", &whole).await;
            assert_eq!(elsewhere.get("reasoning_content"), None, "{elsewhere}");
            // A turn of another model is refused without the field.
            let foreign = Completion { carry: None, ..whole };
            assert_eq!(sent_back(provider, model, &foreign).await["reasoning_content"], "");
        }
    }

    #[tokio::test]
    async fn details_go_back_put_together() {
        const MODEL: &str = "openrouter:anthropic/claude-sonnet-5";
        let details = json!([
            {"type": "reasoning.text", "index": 0, "text": "It is deep.", "signature": "c2ln"},
            {"type": "reasoning.encrypted", "index": 1, "data": "gAAA"},
        ]);
        let pieces = [
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "It is "}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "deep.", "signature": null}]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}]}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "gAAA"}]}),
            json!({"tool_calls": calls()}),
        ];
        let whole = answer(json!({"content": null, "reasoning_details": details, "tool_calls": calls()}));
        let whole = complete("openrouter", whole, &with_tools(MODEL)).await.0.unwrap();
        let (_, streamed) = streamed("openrouter", chunks(&pieces), &with_tools(MODEL)).await;
        for completion in [whole, streamed.unwrap()] {
            assert_eq!(sent_back("openrouter", MODEL, &completion).await["reasoning_details"], details);
        }
    }

    /// Each token of a thought comes with half a line of JSON around it, which is no part of the thought.
    #[tokio::test]
    async fn what_is_around_the_words_of_a_thought_does_not_make_it_too_long() {
        const MODEL: &str = "openrouter:anthropic/claude-sonnet-5";
        let detail = |text: &str| {
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text, "id": null,
                "format": "anthropic-claude-v1"}]})
        };
        let thought = vec![detail(" so"); 16_000];
        let call = || [json!({"tool_calls": calls()})];
        let (_, done) = streamed("openrouter", chunks(&[&thought[..], &call()].concat()), &with_tools(MODEL)).await;
        let sent = sent_back("openrouter", MODEL, &done.unwrap()).await;
        assert_eq!(sent["reasoning_details"][0]["text"], " so".repeat(16_000));

        let endless = vec![detail(&"so ".repeat(100)); 4_000];
        let (_, done) = streamed("openrouter", chunks(&endless), &with_tools(MODEL)).await;
        assert!(matches!(done, Err(Error::TooLong { .. })), "{done:?}");
    }
}

/// Gemini's OpenAI-compatible door signs the first call of a turn beside it, and refuses the next turn without that.
mod beside_calls {
    use super::*;

    const MODEL: &str = "compatible:gemini-3.6-flash";

    fn extra() -> Value {
        json!({"google": {"thought_signature": "c2ln"}})
    }

    fn calls() -> Value {
        let function = |name: &str| json!({"name": name, "arguments": "{}"});
        json!([
            {"index": 0, "id": "", "type": "function", "function": function("search_web"), "extra_content": extra()},
            {"index": 1, "id": "call_2", "type": "function", "function": function("think_tool")},
        ])
    }

    /// The turn, whole and in pieces.
    async fn turns() -> [Completion; 2] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls()});
        let whole = complete("compatible", Reply::message(message, "tool_calls"), &with_tools(MODEL)).await.0.unwrap();
        let chunks = [json!({"tool_calls": [calls()[0]]}), json!({"tool_calls": [calls()[1]]})];
        let frame = |delta: Value| json!({"choices": [{"delta": delta}]});
        let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
        let pieces = events(&chunks.map(frame).into_iter().chain([end]).collect::<Vec<_>>());
        [whole, streamed("compatible", pieces, &with_tools(MODEL)).await.1.unwrap()]
    }

    #[tokio::test]
    async fn what_came_goes_back_on_its_call() {
        for turn in turns().await {
            let conversation = after(&with_tools(MODEL), &turn);
            // Also when the conversation is asked about: the call stands in it all the same.
            for tools in [conversation.tools.clone(), Vec::new()] {
                let sent = body("compatible", &Request { tools, ..conversation.clone() }).await;
                let calls = &sent["messages"][2]["tool_calls"];
                assert_eq!((&calls[0]["id"], &calls[0]["extra_content"]), (&json!(turn.tool_calls[0].id), &extra()));
                assert_eq!((&calls[1]["id"], calls[1].get("extra_content")), (&json!("call_2"), None));
            }
        }
    }

    #[tokio::test]
    async fn nobody_else_is_sent_it() {
        let [turn, _] = turns().await;
        let sent = body("openai", &after(&with_tools("openai:gpt-4.1"), &turn)).await.to_string();
        assert!(!sent.contains("extra_content"), "{sent}");
        let plain = Reply::message(json!({"tool_calls": [calls()[1]]}), "tool_calls");
        let plain = complete("compatible", plain, &with_tools(MODEL)).await.0.unwrap();
        assert_eq!(plain.carry, None, "a server that sends nothing gets nothing");
    }
}

/// Each vendor refuses a forced call in words of its own; the call is made without, and so are the next ones.
#[tokio::test]
async fn a_refused_forced_call_is_made_unforced() {
    let refusals = [
        ("openai", "openai:gpt-4.1", "Thinking mode does not support this tool_choice"),
        ("openai-responses", "openai-responses:gpt-5.4", "Unsupported value: 'required' for tool_choice"),
        ("anthropic", "anthropic:claude-sonnet-5", "Thinking may not be enabled when tool_choice forces tool use."),
        ("google", "google:gemini-3.6-flash", "Invalid value at 'tool_config.function_calling_config.mode'"),
    ];
    for (provider, model, words) in refusals {
        let refusal = json!({"error": {"type": "invalid_request_error", "message": words}}).to_string();
        let done = Reply::json(400, r#"{"error": {"message": "enough"}}"#);
        let vendor = FakeVendor::start([Reply::json(400, &refusal), done.clone(), done]).await;
        let llm = llm(&vendor, provider);
        let forced = Request { tool_choice: ToolChoice::Required, ..with_tools(model) };
        for _ in 0..2 {
            llm.complete(&forced, &quietly).await.unwrap_err();
        }
        let unforced = body(provider, &with_tools(model)).await;
        let sent = vendor.sent();
        assert_eq!(sent.len(), 3, "{provider}");
        assert_ne!(sent[0].body, unforced, "{provider}");
        assert_eq!((&sent[1].body, &sent[2].body), (&unforced, &unforced), "{provider}");
    }
}

/// A router that says what a call cost is believed; a model at another address than its provider's has no known price.
#[tokio::test]
async fn what_a_call_cost_is_known_or_said_to_be_unknown() {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.25});
    let body = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}], "usage": usage});
    let vendor = FakeVendor::start([Reply::json(200, &body.to_string())]).await;
    let llm = llm(&vendor, "openrouter");
    let done = llm.complete(&request("openrouter:acme/x"), &quietly).await.unwrap();
    let model = |name: &str| name.parse().unwrap();
    let litellm = async |cost: &str| {
        let reply = Reply::says("Hi.").header("x-litellm-response-cost", cost);
        complete("litellm", reply, &request("litellm:x")).await.0.unwrap().usage.cost.map(|cost| cost.dollars())
    };
    let reply = Reply::says("Hi.").header("x-litellm-response-cost", "0.5");
    let in_one_piece = streamed("litellm", reply, &request("litellm:x")).await.1.unwrap();
    assert_eq!(in_one_piece.usage.cost.map(|cost| cost.dollars()), Some(0.5), "though it was to be streamed");
    assert_eq!((litellm("0.000245").await, litellm("None").await, litellm("-1").await), (Some(0.000245), None, None));
    assert_eq!(llm.cost(&model("openrouter:acme/x"), &done.usage).unwrap().dollars(), 0.25);
    assert_eq!(llm.cost(&model("openrouter:openai/gpt-4.1"), &USAGE), None);
    assert_eq!(llm.cost(&model("acme:x"), &USAGE), None);
    // The catalogue has it at 2, 0.5 and 8 dollars.
    let cost = llm.cost(&model("openai:gpt-4.1"), &USAGE).unwrap();
    assert_eq!(cost.dollars(), (10.0 * 2.0 + 30.0 * 0.5 + 12.0 * 8.0) / 1e6);
}

/// No dialect sends what belongs to another provider, and all take up the same conversation.
#[tokio::test]
async fn a_conversation_moves_between_all_of_them() {
    let turn = Completion {
        text: "Looking.".into(),
        tool_calls: vec![call("t0003c000", "search_web", "{}")],
        stop: StopReason::ToolCalls,
        usage: Usage::default(),
        attempts: 1,
        carry: None,
    };
    for provider in ["anthropic", "openai-responses", "google", "mistral", "openai"] {
        let request = Request { model: ModelName::new(provider, "m"), ..with_tools("openai:m") };
        let body = body(provider, &after(&request, &turn)).await.to_string();
        for part in ["Be brief.", "How deep is it?", "search_web", "found", "Go on."] {
            assert!(body.contains(part), "{provider}: {body}");
        }
        assert_eq!(body.contains("t0003c000"), provider != "google", "{provider}");
    }
}
