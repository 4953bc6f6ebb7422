//! What the operator sees: traces as a collector gets them, the log as a machine reads it, metrics.

use std::time::Duration;

use fathom::{domain::FailureCode, telemetry::metrics::Metrics};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{
    binary::{output, text},
    engine::{QUESTION, Story, research},
};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Call, FakeCollector, Kind, Running, Script, Shape, When, World, otlp::Span, reply},
};

/// A run in the real binary whose spans go to `collector`.
fn traced(world: &World, collector: &FakeCollector, arguments: &[&str]) -> Command {
    let mut command = world.fathom(arguments);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint()).env("FATHOM_GRACE_SECONDS", "1");
    command
}

/// The id of the one run that any span belongs to, as a trace id.
fn one_trace(spans: &[Span]) -> &str {
    let id = &spans.first().expect("there are spans").trace_id;
    assert!(spans.iter().all(|span| span.trace_id == *id), "{spans:#?}");
    id
}

/// The tree in lines: two blanks of indent per level, siblings in the order of their names.
fn tree(spans: &[Span]) -> String {
    fn below(spans: &[Span], parent: &str, depth: usize, lines: &mut Vec<String>) {
        let mut children: Vec<_> = spans.iter().filter(|span| span.parent == parent).collect();
        children.sort_by(|a, b| a.name.cmp(&b.name));
        for child in children {
            lines.push(format!("{}{}", "  ".repeat(depth), child.name));
            below(spans, &child.id, depth + 1, lines);
        }
    }
    let mut lines = Vec::new();
    below(spans, "", 0, &mut lines);
    lines.join("\n")
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in\n{}", tree(spans)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_that_shows_agents_calls_and_tools() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let collector = FakeCollector::start().await;
    let mut command = traced(&world, &collector, &["research", QUESTION]);
    let process = output(command.env("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20t0ken")).await;
    assert_eq!(process.status.code(), Some(0), "{}", text(&process.stderr));
    let spans = collector.spans();
    let trace = one_trace(&spans);
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("trace_of_a_whole_run", tree(&spans));
    });
    let root = named(&spans, "invoke_agent fathom");
    assert_eq!(root.service, "fathom");
    let run_id = root.attributes["fathom.run.id"].as_str().unwrap();
    assert_eq!(run_id.replace('-', ""), trace, "the trace is found by the id of the run");
    assert_eq!(root.attributes["fathom.run.outcome"], "report");
    let call = spans.iter().find(|span| span.attributes.get("fathom.role") == Some(&json!("final_report"))).unwrap();
    let usage = world.models.calls().into_iter().find(|call| call.kind == Kind::Report).expect("a report was written");
    assert_eq!(call.attributes["gen_ai.operation.name"], "chat");
    assert_eq!(call.attributes["gen_ai.provider.name"], "openai");
    assert_eq!(call.attributes["gen_ai.request.model"], usage.body["model"]);
    assert_eq!(call.attributes["gen_ai.request.max_tokens"], 10_000);
    assert_eq!(call.attributes["gen_ai.response.finish_reasons"], json!(["stop"]));
    assert!(call.attributes["gen_ai.usage.input_tokens"].as_i64().unwrap() > 0);
    assert!(call.attributes["gen_ai.usage.output_tokens"].as_i64().unwrap() > 0);
    let tool = named(&spans, "execute_tool search_web");
    assert_eq!(tool.attributes["gen_ai.tool.name"], "search_web");
    assert!(tool.attributes["gen_ai.tool.call.id"].is_string());
    assert!(spans.iter().all(|span| !span.failed));
    assert!(collector.authorizations().iter().all(|given| given.as_deref() == Some("Bearer t0ken")));
    for content in [QUESTION, "messages", "arguments"] {
        assert!(!collector.holds(content), "a trace holds {content:?} without being asked to");
    }
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_traced_when_it_is_asked_for() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let collector = FakeCollector::start().await;
    let mut command = traced(&world, &collector, &["research", QUESTION]);
    let process = output(command.env("FATHOM_TRACE_CONTENT", "true")).await;
    assert_eq!(process.status.code(), Some(0), "{}", text(&process.stderr));
    let spans = collector.spans();
    let json =
        |span: &Span, name: &str| serde_json::from_str::<Value>(span.attributes[name].as_str().unwrap()).unwrap();
    let call = spans.iter().find(|span| span.attributes.get("fathom.step") == Some(&json!("brief"))).unwrap();
    let input = json(call, "gen_ai.input.messages");
    assert!(input[0]["parts"][0]["content"].as_str().unwrap().contains(QUESTION), "{input}");
    assert_eq!(json(call, "gen_ai.output.messages")[0]["role"], "assistant");
    let tool = named(&spans, "execute_tool search_web");
    assert!(json(tool, "gen_ai.tool.call.arguments")["queries"].is_array());
    assert!(tool.attributes["gen_ai.tool.call.result"].is_string());
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_marked_with_their_codes() {
    let world = World::start(Script::new().always(When::any(), reply::status(401))).await;
    let collector = FakeCollector::start().await;
    let process = output(&mut traced(&world, &collector, &["research", QUESTION])).await;
    assert_eq!(process.status.code(), Some(1));
    let spans = collector.spans();
    for name in ["invoke_agent fathom", "brief", "chat gpt-4.1"] {
        let span = named(&spans, name);
        assert!(span.failed && span.attributes["error.type"] == "model_auth", "{span:?}");
    }
    assert_eq!(named(&spans, "invoke_agent fathom").attributes["fathom.run.outcome"], "failed");
    world.finish();
}

/// Neither one that refuses, nor one that is not there, nor one that never answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_collector_disturbs_no_run() {
    let refusing = FakeCollector::refusing(503).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for endpoint in [refusing.endpoint(), "http://127.0.0.1:1".to_owned(), silent] {
        let world = World::start(Script::whole_run(Shape::SMALL)).await;
        let mut command = world.fathom(&["research", QUESTION]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint);
        let process = output(&mut command).await;
        assert_eq!(process.status.code(), Some(0), "{endpoint}: {}", text(&process.stderr));
        assert!(text(&process.stdout).contains("### Sources"), "{endpoint}");
        world.finish();
    }
}

/// Both lives of a run stand in one trace.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_goes_on_in_its_trace() {
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Report), [reply::silence()]);
    let world = World::start(script).await;
    let collector = FakeCollector::start().await;
    let mut first = Running::spawn(traced(&world, &collector, &["research", QUESTION]), world.folder());
    until("the report is asked for", async || (world.models.count(Kind::Report) > 0).then_some(())).await;
    first.terminate().await;
    first.ends().await;
    let stderr = first.stderr();
    let run_id = stderr.split("fathom resume ").last().unwrap().split_whitespace().next().unwrap();
    let process = output(&mut traced(&world, &collector, &["resume", run_id])).await;
    assert_eq!(process.status.code(), Some(0), "{}", text(&process.stderr));
    let spans = collector.spans();
    assert_eq!(one_trace(&spans), run_id.replace('-', ""));
    let mut lives: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "invoke_agent fathom")
        .map(|root| (root.attributes["fathom.run.attempt"].as_i64(), root.attributes["fathom.run.outcome"].clone()))
        .collect();
    lives.sort_by_key(|(attempt, _)| *attempt);
    assert_eq!(lives, [(Some(1), json!("interrupted")), (Some(2), json!("report"))]);
}

/// One object a line, each of a run with its id; no secret, whatever the level.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_as_json_is_one_object_a_line() {
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Brief), [reply::status(500)]);
    let world = World::start(script).await;
    let collector = FakeCollector::start().await;
    let mut command = traced(&world, &collector, &["research", QUESTION, "--out", "report.md"]);
    command.env("FATHOM_LOG_FORMAT", "json").env("FATHOM_LOG", "trace");
    let process = output(&mut command).await;
    let stderr = text(&process.stderr);
    assert_eq!(process.status.code(), Some(0), "{stderr}");
    let lines: Vec<Value> =
        stderr.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = lines.iter().find(|line| line["fields"]["message"] == "work on a run ended").expect("it is logged");
    assert_eq!(ended["level"], "INFO");
    assert_eq!(ended["fields"]["outcome"], "report");
    assert!(ended["fields"]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(ended["spans"][0]["run_id"].as_str().map(str::len), Some(36));
    let secrets = world.environment().into_iter().filter(|(name, _)| name.ends_with("_KEY"));
    for (name, value) in secrets {
        assert!(!stderr.contains(&value), "the log holds {name}");
    }
    assert!(!stderr.contains("gen_ai."), "spans of traces are not for the log");
    world.finish();
}

/// The recorder counts for all tests of this process: what can be distinguished is compared exactly, the rest is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_counted() {
    let database = TestDatabase::sqlite();
    let metrics = Metrics::install().unwrap();
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let models =
        ["research", "summarization", "compression", "final_report"].map(|role| format!("{role}_model=openai:counted"));
    let story = research(&world, &database, &models.each_ref().map(String::as_str)).await;
    let text = metrics.render();
    let value = |series: &str| {
        let line =
            text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("no {series} in\n{text}"));
        line.trim().parse::<f64>().unwrap()
    };
    let counted = |kind: &str| value(&format!("fathom_tokens_total{{model=\"openai:counted\",type=\"{kind}\"}}"));
    assert_eq!(counted("input"), story.usage.input_tokens as f64);
    assert_eq!(counted("output"), story.usage.output_tokens as f64);
    let calls = value("fathom_model_call_duration_seconds_count{model=\"openai:counted\"}");
    assert_eq!(calls, world.models.total() as f64);
    let reports = "fathom_model_calls_total{model=\"openai:counted\",role=\"final_report\",result=\"ok\"}";
    assert_eq!(value(reports), 1.0);
    for series in [
        "fathom_runs_total{outcome=\"report\",error=\"\"}",
        "fathom_run_duration_seconds_count{outcome=\"report\"}",
        "fathom_queue_wait_seconds_count",
        "fathom_step_duration_seconds_count{kind=\"model\"}",
        "fathom_step_duration_seconds_count{kind=\"search\"}",
        "fathom_search_calls_total{engine=\"tavily\",result=\"ok\"}",
    ] {
        assert!(value(series) >= 1.0, "{series}");
    }
    assert!(!text.contains(&story.run.id.to_string()));
    tokio::time::timeout(Duration::from_secs(1), metrics.tend(&stopped())).await.expect("it ends when it is asked to");
    world.finish();
}

/// A run by models of no other test, and all that was counted until its end.
async fn counted(script: Script, models: &str, limit: &str) -> (World, Story, String) {
    let metrics = Metrics::install().unwrap();
    let world = World::start(script).await;
    let roles = ["research", "summarization", "compression", "final_report"];
    let mut options = roles.map(|role| format!("{role}_model={models}")).to_vec();
    options.push(limit.to_owned());
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let story = research(&world, &TestDatabase::sqlite(), &options).await;
    (world, story, metrics.render())
}

/// The sum of all series that begin like this.
fn sum(text: &str, beginning: &str) -> f64 {
    let lines = text.lines().filter(|line| line.starts_with(beginning));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

/// A model whose key is refused shows that; the calls and the tokens are those of the one that stands in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_counted_for_the_model_that_was_asked() {
    let script = Script::whole_run(Shape::SMALL).always(When::model("refusing"), reply::status(401));
    let (world, story, text) = counted(script, "openai:refusing,openai:standing-in", "max_model_calls=100").await;
    let calls = |model: &str| sum(&text, &format!("fathom_model_calls_total{{model=\"openai:{model}\""));
    let mut refused =
        text.lines().filter(|line| line.starts_with("fathom_model_calls_total{model=\"openai:refusing\""));
    assert!(refused.all(|line| line.contains("result=\"model_auth\"") || line.ends_with(" 0")), "{text}");
    let asked = |model: &str| world.models.calls().iter().filter(|call| call.model() == model).count() as f64;
    assert!(asked("refusing") >= 1.0 && calls("refusing") >= 1.0, "{text}");
    assert_eq!(calls("standing-in"), asked("standing-in"));
    let report = "fathom_model_calls_total{model=\"openai:standing-in\",role=\"final_report\",result=\"ok\"}";
    assert_eq!(sum(&text, report), 1.0);
    let input = |model: &str| sum(&text, &format!("fathom_tokens_total{{model=\"openai:{model}\",type=\"input\"}}"));
    assert_eq!((input("refusing"), input("standing-in")), (0.0, story.usage.input_tokens as f64));
    world.finish();
}

/// Answers that were paid for and could not be used are counted, though the call fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failed_call_took_is_counted() {
    let broken = json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": 70_000, "completion_tokens": 5_000},
    });
    let script =
        Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::body(200, &broken.to_string()));
    let (world, story, text) = counted(script, "openai:breaking", "max_model_calls=100").await;
    assert!(story.usage.input_tokens > 200_000, "{:?}", story.usage);
    let input = sum(&text, "fathom_tokens_total{model=\"openai:breaking\",type=\"input\"}");
    assert_eq!(input, story.usage.input_tokens as f64);
    world.finish();
}

/// A call that the run's own limit refuses is no call of the model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_calls_are_not_counted() {
    let idle = |call: &Call| reply::think(&format!("Thought {}.", call.turns()));
    let script = Script::whole_run(Shape::SMALL).by(When::kind(Kind::Researcher), idle);
    let (world, story, text) = counted(script, "openai:limited", "max_model_calls=10").await;
    story.failed_with(FailureCode::SpendingLimit);
    let durations = sum(&text, "fathom_model_call_duration_seconds_count{model=\"openai:limited\"}");
    let calls = sum(&text, "fathom_model_calls_total{model=\"openai:limited\"");
    assert_eq!((durations, calls), (world.models.total() as f64, world.models.total() as f64));
    world.finish();
}

fn stopped() -> tokio_util::sync::CancellationToken {
    let token = tokio_util::sync::CancellationToken::new();
    token.cancel();
    token
}

/// What the service says by itself: the life of a run in the log, and everything it counts under `/metrics`.
#[tokio::test(flavor = "multi_thread")]
async fn the_service_tells_its_operator_what_it_does() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let mut command = world.fathom(&["serve", "--listen", "127.0.0.1:0"]);
    let prices = "[prices]\n'openai:gpt-4.1' = {input = 2, output = 8}\n";
    std::fs::write(world.folder().join("fathom.toml"), prices).unwrap();
    command.env("FATHOM_LOG_FORMAT", "json");
    let mut service = Running::spawn(command, world.folder());
    let line = service.says("http://127.0.0.1:").await;
    let address = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    let client = reqwest::Client::new();
    let quiet = client.get(format!("{address}/metrics")).send().await.unwrap().text().await.unwrap();
    for series in [
        "fathom_runs_stuck 0",
        "fathom_search_calls_total{engine=\"tavily\",result=\"ok\"} 0",
        "fathom_model_calls_total{model=\"openai:gpt-4.1\",role=\"final_report\",result=\"ok\"} 0",
    ] {
        assert!(quiet.lines().any(|line| line == series), "{series} is not in\n{quiet}");
    }
    let question = json!({"message": QUESTION, "options": {"allow_clarification": false}});
    let threads = client.post(format!("{address}/api/v1/threads")).header("Prefer", "wait=30").json(&question);
    let created: Value = threads.send().await.unwrap().json().await.unwrap();
    let run_id = created["run"]["id"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    until("the end of the run is logged", async || service.stderr().contains("work on a run ended").then_some(()))
        .await;
    let metrics = client.get(format!("{address}/metrics")).send().await.unwrap().text().await.unwrap();
    for series in [
        "fathom_runs_total{outcome=\"report\",error=\"\"} 1",
        "fathom_runs_active 0",
        "fathom_runs_queued 0",
        "fathom_sse_readers 0",
        "fathom_ready{check=\"database\"} 1",
        "fathom_ready{check=\"claim_loop\"} 1",
        "fathom_runs_total{outcome=\"failed\",error=\"model_unavailable\"} 0",
        "fathom_parsers_ended_total{reason=\"memory\"} 0",
        "fathom_queue_wait_seconds_count 1",
        "fathom_http_requests_total{route=\"/api/v1/threads\",method=\"POST\",status=\"201\"} 1",
    ] {
        assert!(metrics.lines().any(|line| line == series), "{series} is not in\n{metrics}");
    }
    for name in ["fathom_cost_dollars_total{model=\"openai:gpt-4.1\"} ", "fathom_db_pool_connections{state=\"idle\"} "]
    {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
    service.terminate().await;
    service.ends().await;
    let log: Vec<Value> = service.stderr().lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    for message in ["a run was queued", "a run was claimed", "work on a run ended"] {
        let count = log.iter().filter(|line| line["fields"]["message"] == message).count();
        assert_eq!(count, 1, "{message}");
    }
    assert!(log.iter().filter(|line| line.to_string().contains(&run_id)).count() >= 3);
    world.finish();
}
