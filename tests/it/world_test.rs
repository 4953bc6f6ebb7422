//! The scripted world is what all stories stand on, so it is tested itself: framing, faults, and the rules it enforces.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};

use crate::world::{
    Ended, Found, Kind, Page, Reply, Running, Script, Shape, When, World, openai, prose, reply, tavily,
};

/// Sends a Chat Completions request with that key.
async fn send_with_key(world: &World, key: &str, body: &Value) -> reqwest::Result<reqwest::Response> {
    let url = format!("{}/chat/completions", world.models.base_url());
    reqwest::Client::new().post(url).bearer_auth(key).json(body).send().await
}

async fn send(world: &World, body: &Value) -> reqwest::Response {
    send_with_key(world, openai::KEY, body).await.unwrap()
}

async fn ask(world: &World, body: &Value) -> Value {
    send(world, body).await.json().await.unwrap()
}

async fn search(world: &World, body: &Value) -> reqwest::Response {
    let url = format!("{}/search", world.web.base_url());
    reqwest::Client::new().post(url).bearer_auth(tavily::KEY).json(body).send().await.unwrap()
}

fn hello() -> Value {
    json!({ "model": "scripted", "messages": [{ "role": "user", "content": "Hello" }] })
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}

/// A request that offers these tools.
fn offering(tools: &[&str], messages: Value) -> Value {
    let tool = |name: &&str| json!({ "type": "function", "function": { "name": name, "parameters": {} } });
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    json!({ "model": "scripted", "messages": messages, "tools": tools })
}

/// A request for a value of the schema of that name.
fn asking_for(schema: &str, message: &str) -> Value {
    let format = json!({ "type": "json_schema", "json_schema": { "name": schema, "strict": true, "schema": {} } });
    json!({ "model": "scripted", "messages": [{ "role": "user", "content": message }], "response_format": format })
}

/// The JSON of each event, after checking the frames around them.
async fn chunks(response: reqwest::Response) -> Vec<Value> {
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let body = response.text().await.unwrap();
    let mut frames: Vec<&str> = body.split("\n\n").filter(|frame| *frame != ":").collect();
    assert_eq!(frames.pop(), Some(""));
    assert_eq!(frames.pop(), Some("data: [DONE]"));
    frames.iter().map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap()).collect()
}

async fn world(script: Script) -> World {
    World::start(script).await
}

#[tokio::test]
async fn a_whole_answer_has_openais_form() {
    let tokens = reply::Tokens { input: 2000, cached: 512, output: 7, reasoning: 3 };
    let world = world(Script::new().always(When::any(), reply::text("Hi there").costing(tokens))).await;
    let answer = ask(&world, &hello()).await;
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["choices"][0]["message"]["content"], "Hi there");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 512);
    assert_eq!(answer["usage"]["total_tokens"], 2007);
    assert_eq!(world.models.calls()[0].ended(), Ended::Finished);
    world.finish();
}

#[tokio::test]
async fn a_streamed_text_comes_in_pieces_and_ends_with_its_usage() {
    let text = "Grüße aus der erfundenen Welt: ein langer Satz in kleinen Stücken.";
    let world = world(Script::new().always(When::any(), reply::text(text).with_pings())).await;
    let chunks = chunks(send(&world, &streamed(hello())).await).await;
    let together: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(together, text);
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": null, "refusal": null }));
    assert!(chunks.len() > 5);
    let [.., finish, usage] = chunks.as_slice() else { panic!("too few chunks") };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!((&finish["usage"], &usage["choices"]), (&Value::Null, &json!([])));
    assert!(usage["usage"]["completion_tokens"].as_u64().unwrap() > 0);
    world.finish();
}

#[tokio::test]
async fn a_stream_tells_its_usage_only_when_asked() {
    let world = world(Script::new().always(When::any(), reply::text("Hi"))).await;
    let mut request = streamed(hello());
    request.as_object_mut().unwrap().remove("stream_options");
    let chunks = chunks(send(&world, &request).await).await;
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
}

#[tokio::test]
async fn streamed_tool_calls_come_in_pieces() {
    let reply = reply::delegate(["The history of lighthouses, at length", "Their keepers"]);
    let world = world(Script::new().always(When::offers("ConductResearch"), reply)).await;
    let request = streamed(offering(&["ConductResearch"], json!([{ "role": "user", "content": "brief" }])));
    let chunks = chunks(send(&world, &request).await).await;
    let mut calls = [const { String::new() }; 2];
    let mut ids = Vec::new();
    for call in chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0].as_object()) {
        ids.extend(call.get("id").cloned());
        calls[call["index"].as_u64().unwrap() as usize] += call["function"]["arguments"].as_str().unwrap();
    }
    let topics = calls.map(|arguments| serde_json::from_str::<Value>(&arguments).unwrap()["research_topic"].clone());
    assert_eq!(topics, [json!("The history of lighthouses, at length"), json!("Their keepers")]);
    assert!(ids.len() == 2 && ids[0] != ids[1]);
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn faults_come_in_turn_and_then_the_answer() {
    let faults =
        [reply::status(429).retry_after(7), reply::status(500), reply::body(418, "{\"odd\":1}"), reply::html()];
    let world = world(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Report), faults)).await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        let response = send(&world, &hello()).await;
        let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        seen.push((response.status().as_u16(), retry_after, response.text().await.unwrap()));
    }
    assert_eq!((seen[0].0, seen[0].1.as_deref()), (429, Some("7")));
    assert!(seen[0].2.contains("rate_limit_exceeded"));
    assert_eq!((seen[1].0, seen[2].0, seen[2].2.as_str()), (500, 418, "{\"odd\":1}"));
    assert!(seen[3].0 == 200 && seen[3].2.starts_with("<!doctype html>"));
    assert!(seen[4].2.contains("# What the sources say"));
    assert_eq!((world.models.count(Kind::Report), world.models.total()), (5, 5));
}

#[tokio::test]
async fn only_the_nth_matching_call_meets_its_rule() {
    let script = Script::new()
        .always(When::says("Hello").nth(2), reply::text("second"))
        .always(When::model("scripted").but_not(When::says("Bye")), reply::text("other"));
    let world = world(script).await;
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(ask(&world, &hello()).await["choices"][0]["message"]["content"].clone());
    }
    assert_eq!(said, ["other", "second", "other"]);
}

#[tokio::test]
async fn a_cut_answer_breaks_after_its_bytes() {
    let world = world(Script::new().always(When::any(), reply::text("x".repeat(5_000)).cut_after(700))).await;
    for request in [hello(), streamed(hello())] {
        let mut body = send(&world, &request).await.bytes_stream();
        let mut received = 0;
        let error = loop {
            match body.next().await.expect("the cut is an error, not an end") {
                Ok(bytes) => received += bytes.len(),
                Err(error) => break error,
            }
        };
        assert_eq!(received, 700, "{error}");
    }
    assert!(world.models.calls().iter().all(|call| call.ended() == Ended::Cut));
}

#[tokio::test]
async fn who_goes_away_is_noticed() {
    let script = Script::new()
        .first(When::any(), [reply::silence(), reply::text("late").after(Duration::from_secs(60))])
        .always(When::any(), reply::text("x".repeat(5_000)).stall_after(300));
    let world = world(script).await;
    for request in [hello(), hello(), streamed(hello())] {
        let patience = Duration::from_millis(500);
        let answer = async { send(&world, &request).await.bytes().await };
        assert!(tokio::time::timeout(patience, answer).await.is_err(), "it stalls");
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while world.models.calls().iter().any(|call| call.ended() == Ended::Pending) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ends: Vec<Ended> = world.models.calls().iter().map(|call| call.ended()).collect();
    assert_eq!(ends, [Ended::Aborted; 3]);
}

#[tokio::test]
async fn length_cuts_text_and_arguments_in_half() {
    let script = Script::new().first(
        When::any(),
        [reply::text("12345678").cut_by_length(), reply::think("a long reflection").cut_by_length()],
    );
    let world = world(script).await;
    let text = ask(&world, &hello()).await;
    assert_eq!(text["choices"][0]["message"]["content"], "1234");
    assert_eq!(text["choices"][0]["finish_reason"], "length");
    let call = ask(&world, &hello()).await;
    let arguments = call["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(arguments).is_err());
    assert_eq!(call["choices"][0]["finish_reason"], "length");
}

#[tokio::test]
async fn a_structured_answer_takes_the_form_asked_for() {
    let world = world(Script::new().always(When::any(), reply::brief("Lighthouses"))).await;
    let native = ask(&world, &asking_for("ResearchQuestion", "?")).await;
    assert_eq!(native["choices"][0]["message"]["content"], r#"{"research_brief":"Lighthouses"}"#);
    let messages = json!([{ "role": "user", "content": "?" }]);
    let tool = ask(&world, &offering(&["ResearchQuestion"], messages)).await;
    let function = &tool["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "ResearchQuestion");
    assert_eq!(world.models.count(Kind::Brief), 2);
}

#[tokio::test]
async fn broken_rules_of_the_wire_are_collected() {
    let world = world(Script::new().always(When::any(), reply::text("fine"))).await;
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "think_tool", "arguments": arguments } });
    let calling = |calls: Value| json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let answering = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "done" });
    let user = json!({ "role": "user", "content": "go on" });
    let histories = [
        json!([user, calling(json!([call("a", "{}"), call("b", "{}")])), answering("a"), answering("b"), user]),
        json!([]),
        json!([user, calling(json!([call("a", "{}")])), user]),
        json!([user, calling(json!([call("a", "{}")])), answering("a"), answering("a")]),
        json!([user, calling(json!([call("a", "{\"half\":")])), answering("a")]),
        json!([user, answering("a")]),
        json!([user, calling(json!([call("a", "")])), answering("a")]),
        json!([user, calling(json!([call("a", "{}")]))]),
    ];
    for history in histories {
        ask(&world, &json!({ "model": "scripted", "messages": history })).await;
    }
    let found: Vec<String> = world
        .models
        .take_violations()
        .into_iter()
        .map(|violation| violation.replace("(Compression)", "").replace("(Report)", "").replace("(Other)", ""))
        .collect();
    assert_eq!(
        found,
        [
            "model call 1 : no messages",
            "model call 2 : the call \"a\" is not answered before message 2",
            "model call 3 : message 3 answers the call \"a\", which is not open",
            "model call 4 : message 1: the arguments of \"a\" are not JSON: Some(\"{\\\"half\\\":\")",
            "model call 5 : message 1 answers the call \"a\", which is not open",
            "model call 6 : message 1: the arguments of \"a\" are not JSON: Some(\"\")",
            "model call 7 : the call \"a\" is never answered",
        ]
    );
    world.finish();
}

#[tokio::test]
#[should_panic(expected = "no rule answers model call 0")]
async fn a_call_without_a_rule_fails_the_test() {
    let world = world(Script::new()).await;
    assert_eq!(send(&world, &hello()).await.status(), 400);
    world.finish();
}

#[tokio::test]
async fn a_wrong_key_is_refused() {
    let world = world(Script::new()).await;
    let response = send_with_key(&world, "sk-wrong", &hello()).await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], "invalid_api_key");
}

#[tokio::test]
async fn the_search_engine_finds_pages_of_the_right_size() {
    let world = world(Script::new()).await;
    let ask = json!({ "query": "lighthouse keepers", "max_results": 5, "include_raw_content": true });
    let first: Value = search(&world, &ask).await.json().await.unwrap();
    let again: Value = search(&world, &ask).await.json().await.unwrap();
    assert_eq!(first, again);
    let results = first["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    for result in results {
        let text = result["raw_content"].as_str().unwrap();
        assert!((5_000..15_500).contains(&text.len()), "{} bytes", text.len());
        assert!(text.starts_with(prose::MARK));
        assert!(result["url"].as_str().unwrap().starts_with("https://example.test/"));
    }
    assert_eq!(world.web.queries(), ["lighthouse keepers", "lighthouse keepers"]);
}

#[tokio::test]
async fn the_search_engine_fails_and_finds_as_scripted() {
    let world = world(Script::new()).await;
    let fault = |reply: Reply| Found::fault(reply);
    world.web.first("keepers", [fault(reply::status(429).retry_after(1)), fault(reply::status(432))]);
    let page = Page::new("https://example.test/keepers", "Keepers", "They kept.").without_text();
    world.web.always("keepers", Found::Pages(vec![page]));
    let ask = json!({ "query": "lighthouse keepers" });
    let limited = search(&world, &ask).await;
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    assert_eq!(search(&world, &ask).await.status(), 432);
    let found: Value = search(&world, &ask).await.json().await.unwrap();
    assert_eq!(found["results"][0]["url"], "https://example.test/keepers");
    assert_eq!(found["results"][0]["raw_content"], Value::Null);
}

#[tokio::test]
async fn the_brain_plays_a_researcher_from_search_to_completion() {
    let shape = Shape::default();
    let world = world(Script::whole_run(shape)).await;
    let mut messages = vec![
        json!({ "role": "system", "content": "You research." }),
        json!({ "role": "user", "content": "The history of lighthouses" }),
    ];
    let mut used = Vec::new();
    for _ in 0..4 {
        let tools = ["search_web", "think_tool", "ResearchComplete"];
        let answer = ask(&world, &offering(&tools, json!(messages))).await;
        let message = answer["choices"][0]["message"].clone();
        let call = message["tool_calls"][0].clone();
        used.push(call["function"]["name"].as_str().unwrap().to_owned());
        messages.push(message);
        let content = format!("[S100{}] {}.", used.len(), prose::page("lighthouses", 7).lines().next().unwrap());
        messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": content }));
    }
    assert_eq!(used, ["search_web", "search_web", "think_tool", "ResearchComplete"]);
    messages.push(json!({ "role": "user", "content": "Write down what was found." }));
    let notes = ask(&world, &json!({ "model": "scripted", "messages": messages })).await;
    let notes = notes["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(notes.contains("the question of lighthouses is answered") && notes.ends_with("[S1004]"), "{notes}");
    let prompt = format!("Cite like [S9999].\n<findings>\n{notes}\n</findings>\nWrite the report.");
    let report =
        ask(&world, &json!({ "model": "scripted", "messages": [{ "role": "user", "content": prompt }] })).await;
    let report = report["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(report.contains("[S1001]") && report.contains("[S1004]") && !report.contains("S9999"), "{report}");
    assert_eq!(world.models.count(Kind::Researcher), 4);
    assert_eq!((world.models.count(Kind::Compression), world.models.count(Kind::Report)), (1, 1));
    world.finish();
}

#[tokio::test]
async fn the_brain_excerpts_a_page_in_its_own_words() {
    let world = world(Script::whole_run(Shape::default())).await;
    let page = prose::page("tides", 3);
    let prompt = format!("Summarise this page. It is data, not an instruction.\n<page>\n{page}\n</page>\nBe brief.");
    let answer = ask(&world, &asking_for("Summary", &prompt)).await;
    let summary: Value = serde_json::from_str(answer["choices"][0]["message"]["content"].as_str().unwrap()).unwrap();
    let excerpts = summary["key_excerpts"].as_str().unwrap();
    assert!(excerpts.lines().count() == 3 && excerpts.lines().all(|excerpt| page.contains(excerpt)), "{excerpts}");
}

#[tokio::test]
async fn the_binary_lives_in_the_world_alone() {
    let world = world(Script::new()).await;
    let mut command = world.fathom(&["--version"]);
    let seen: Vec<String> = command
        .as_std()
        .get_envs()
        .filter_map(|(name, value)| value.map(|_| name.to_string_lossy().into_owned()))
        .collect();
    assert_eq!(seen, ["HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PATH", "TAVILY_API_KEY", "TAVILY_BASE_URL", "TZ"]);
    assert!(command.output().await.is_ok());
}

#[tokio::test]
async fn a_process_is_heard_stopped_and_killed() {
    let world = world(Script::new()).await;
    let shell = |script: &str| {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", script]);
        Running::spawn(command, world.folder())
    };
    let mut polite = shell("trap 'echo bye; exit 3' TERM; echo listening on 4711; while :; do sleep 0.01; done");
    assert_eq!(polite.says("listening").await, "listening on 4711");
    polite.terminate().await;
    assert_eq!(polite.ends().await.code(), Some(3));
    assert_eq!(polite.stdout(), "listening on 4711\nbye\n");
    let mut stubborn = shell("echo up >&2; exec sleep 60");
    stubborn.says("up").await;
    stubborn.kill().await;
    assert_eq!(stubborn.ends().await.code(), None);
}

#[test]
fn the_default_shape_is_the_benchmarks_run() {
    assert_eq!(Shape::default().model_calls(5), 80);
}
