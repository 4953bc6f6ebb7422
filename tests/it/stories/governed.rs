//! Calls that providers limit: who goes next, and who stands in.

use std::time::Duration;

use fathom::domain::{Event, FailureCode, WaitKind, WarningCode};

use serde_json::{Value, json};

use super::engine::{Engine, QUESTION, research};
use crate::{
    database::TestDatabase,
    world::{Call, Kind, Script, Shape, When, World, reply},
};

const ROLES: [&str; 4] = ["summarization_model", "research_model", "compression_model", "final_report_model"];

/// Two runs with room for one call in all: never two at a time, both get on by turns, and both say that they wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_share_what_a_provider_may_be_asked() {
    let database = TestDatabase::sqlite();
    let shape = Shape { researchers: 2, ..Shape::SMALL };
    let world = World::start(Script::whole_run(shape)).await;
    world.set_latency(Duration::from_millis(60), Duration::ZERO);
    let limits = [("FATHOM_PROVIDER_LIMITS", "openai.in_flight=1".to_owned())];
    let engine = Engine::with(&world, &database, &["max_researcher_seconds=3600"], &limits).await.unwrap();
    let (one, other) = tokio::join!(engine.research(QUESTION), engine.research("Who pays for the tide gate?"));
    let mut calls = world.models.calls();
    calls.sort_by_key(|call| call.received_at);
    for pair in calls.windows(2) {
        assert!(pair[0].ended_at() <= Some(pair[1].received_at), "{} and {} overlap", pair[0].number, pair[1].number);
    }
    // Neither run has to wait for the other's end.
    let of = |words: &str| calls.iter().rposition(|call| call.says(words)).unwrap();
    assert!(of("tide gate?").min(of("Skelderwick")) > calls.len() / 2);
    for story in [one, other] {
        assert!(story.report.is_some());
        let waits = story.own().filter_map(|event| match event {
            Event::Warning { code, wait: Some(wait), .. } => Some((*code, wait.kind)),
            _ => None,
        });
        let waits: Vec<_> = waits.collect();
        assert!(waits.contains(&(WarningCode::RateLimited, WaitKind::Model)), "{waits:?}");
        assert!(!story.named("wait.ended").is_empty());
        assert_eq!(story.run.progress.waiting_for, None);
    }
    assert!(world.models.count(Kind::Report) == 2);
    engine.app.close().await;
    world.finish();
}

/// Away, without quota, or behind a key that is refused: the second model answers, which events, ledger and usage say,
/// and the first one is not asked again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_stands_in_for_one_that_cannot_be_used() {
    let quota =
        r#"{"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded it"}}"#;
    let refusals = [("503", reply::status(503)), ("401", reply::status(401)), ("quota", reply::body(429, quota))];
    for (name, refusal) in refusals {
        let script = Script::whole_run(Shape::SMALL).always(When::model("first"), refusal);
        let world = World::start(script).await;
        let options = ROLES.map(|role| format!("{role}=openai:first, openai:second"));
        let story = research(&world, &TestDatabase::sqlite(), &options.each_ref().map(String::as_str)).await;
        assert!(story.report.is_some(), "{name}");
        assert_eq!(story.run.options.research_model.to_string(), "openai:first,openai:second");
        let models: Vec<_> = story.steps.iter().filter_map(|step| Some(step.call.as_ref()?.model.as_str())).collect();
        assert!(!models.is_empty() && models.iter().all(|model| *model == "openai:second"), "{name}: {models:?}");
        let warned = story.warned(WarningCode::ModelReplaced);
        assert_eq!(warned.len(), ROLES.len(), "{name}: once for each role: {warned:?}");
        assert!(warned.iter().all(|detail| detail.starts_with("openai:second stands in for ")), "{warned:?}");
        world.finish();
    }
}

/// What is wrong with the request would be wrong with any model's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_model_is_asked_what_the_first_one_refuses_to_answer() {
    let script = Script::whole_run(Shape::SMALL).always(When::model("first"), reply::status(404));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["research_model=openai:first,openai:second"]).await;
    story.failed_with(FailureCode::ModelRequest);
    assert!(world.models.calls().iter().all(|call| call.model() != "second"));
    world.finish();
}

/// The first one answers the next call again as soon as it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_model_is_used_again_when_it_is_back() {
    let away = When::model("first").and(When::kind(Kind::Clarify));
    let script = Script::whole_run(Shape::SMALL).always(away, reply::status(402));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["research_model=openai:first,openai:second"]).await;
    assert!(story.report.is_some());
    let of = |model: &str| {
        world.models.calls().iter().filter(|call| call.model() == model).map(|call| call.kind).collect::<Vec<_>>()
    };
    assert_eq!(of("second"), [Kind::Clarify]);
    assert!(of("first").contains(&Kind::Researcher));
    world.finish();
}

/// Most of what a researcher reads, it has read before: instructions, tools and earlier turns stay as they were, so
/// that vendors have them in their caches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn most_of_a_researchers_prompts_is_a_repeated_beginning() {
    let shape = Shape { researchers: 2, searches: 4, queries: 2, ..Shape::SMALL };
    let world = World::start(Script::whole_run(shape)).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert!(story.report.is_some());
    let prompt = |call: &Call| {
        let tools = call.body["tools"].to_string();
        std::iter::once(tools).chain(call.messages().iter().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let prompts: Vec<Vec<String>> = world.models.calls_of(Kind::Researcher).iter().map(|call| prompt(call)).collect();
    let (mut all, mut repeated) = (0, 0);
    for (place, prompt) in prompts.iter().enumerate() {
        let shared = |earlier: &Vec<String>| -> usize {
            earlier.iter().zip(prompt).take_while(|(one, other)| one == other).map(|(one, _)| one.len()).sum()
        };
        all += prompt.iter().map(String::len).sum::<usize>();
        repeated += prompts[..place].iter().map(shared).max().unwrap_or_default();
    }
    let share = repeated as f64 / all as f64;
    assert!(prompts.len() > 6 && share >= 0.7, "{share:.2} of {} prompts", prompts.len());
    world.finish();
}

/// It says so once, and every later call is streamed, whatever its answer is for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_through_with_a_model_that_only_streams() {
    let refusal = json!({"error": {"code": "invalid_parameter_error", "type": "invalid_request_error", "param": null,
        "message": "This model only support stream mode, please enable the stream parameter to access the model. "}});
    let is_whole = When::matching(|call| !call.is_streamed());
    let script = Script::whole_run(Shape::SMALL).always(is_whole, reply::body(400, &refusal.to_string()));
    let world = World::start(script).await;
    let options = ROLES.map(|role| format!("{role}=openai:qwq-plus"));
    let story = research(&world, &TestDatabase::sqlite(), &options.each_ref().map(String::as_str)).await;
    assert!(story.markdown().contains("[1]"));
    let whole = world.models.calls().iter().filter(|call| !call.is_streamed()).count();
    assert_eq!(whole, 1, "of {} calls", world.models.total());
    world.finish();
}

/// What the settings file says of a role is sent with that role's calls, and with no others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_settings_file_says_of_a_role_is_sent() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let file = world.folder().join("roles.toml");
    std::fs::write(&file, "[roles.research]\nservice_tier = 'flex'\nbody = { seed = 7 }\n").unwrap();
    let variables = [("FATHOM_CONFIG", file.display().to_string())];
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let story = engine.research(QUESTION).await;
    assert!(story.markdown().contains("[1]"));
    for call in world.models.calls_of(Kind::Researcher) {
        assert_eq!((&call.body["service_tier"], &call.body["seed"]), (&"flex".into(), &7.into()));
    }
    assert!(world.models.count(Kind::Researcher) > 0);
    for call in world.models.calls_of(Kind::Report) {
        assert_eq!((&call.body["service_tier"], &call.body["seed"]), (&Value::Null, &Value::Null));
    }
    engine.app.close().await;
    world.finish();
}

/// What an endpoint can do is found out by a handful of calls, and printed as the settings file takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_probes_a_model() {
    let script = Script::new()
        .always(When::offers("report_depth"), reply::calls([("report_depth", json!({"metres": 7}))]))
        .always(When::schema("depth"), reply::status(400))
        .always(When::any(), reply::text("Yes."));
    let world = World::start(script).await;
    let output = world.fathom(&["doctor", "--probe", "openai:local-7b"]).output().await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "[models.\"openai:local-7b\"]",
        "tools = true",
        "forced_calls = true",
        "schema = false",
        "streaming = true",
        "whole_answers = true",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line} is not in\n{printed}");
    }
    assert!(world.models.total() <= 6, "{} calls", world.models.total());
    std::fs::write(world.folder().join("probed.toml"), &printed).unwrap();
    let config = world.fathom(&["config", "--config", "probed.toml"]).output().await.unwrap();
    let config = String::from_utf8(config.stdout).unwrap();
    assert!(config.contains("models.\"openai:local-7b\" = {\"tools\":true"), "{config}");
    let refused = world.fathom(&["doctor", "--probe", "anthropic:x"]).output().await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("ANTHROPIC_API_KEY"));
    world.finish();
}
