//! A whole run over each dialect, with faults: the same script, asked and answered in the vendor's own form.

use fathom::{
    domain::{Outcome, WarningCode},
    runs::Ended,
};

use super::engine::{Engine, QUESTION};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, When, World, openai::KEY, reply},
};

/// A rate limit, a cut stream and a refused attempt on the way; signed thoughts come back, usage adds up, and every
/// call has its answer, which the world checks.
async fn a_whole_run(model: &str, variables: [&'static str; 2], further: &[(&'static str, &str)]) {
    let database = TestDatabase::sqlite();
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Clarify), [reply::status(503)])
        .first(When::kind(Kind::Supervisor), [reply::status(429).retry_after(0), reply::delegate(["The tide gate."])])
        .first(When::kind(Kind::Researcher), [reply::search(["tide gate dues"])]);
    let world = World::start(script).await;
    let roles = ["summarization_model", "research_model", "compression_model", "final_report_model"];
    let options: Vec<_> = roles.iter().map(|role| format!("{role}={model}")).collect();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let mut variables = vec![(variables[0], world.models.base_url()), (variables[1], KEY.to_owned())];
    variables.extend(further.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let engine = Engine::with(&world, &database, &options, &variables).await.unwrap();
    let story = engine.research(QUESTION).await;
    let (ended, warnings) = (&story.ended, story.warnings());
    assert!(matches!(ended, Ended::Completed(Outcome::Report)), "{ended:?}, {warnings:?}");
    assert!(!story.report().citations.is_empty());
    assert!(story.usage.input_tokens > 0 && story.usage.output_tokens > 0, "{:?}", story.usage);
    assert!(!story.warned(WarningCode::Retrying).is_empty(), "{:?}", story.warnings());
    for kind in [Kind::Clarify, Kind::Brief, Kind::Supervisor, Kind::Researcher, Kind::Compression, Kind::Report] {
        assert!(world.models.count(kind) > 0, "{kind:?}");
    }
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_messages() {
    a_whole_run("anthropic:claude-sonnet-5", ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_responses() {
    a_whole_run("openai-responses:gpt-5.4", ["OPENAI_BASE_URL", "OPENAI_API_KEY"], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_gemini() {
    a_whole_run("google:gemini-3.6-flash", ["GEMINI_BASE_URL", "GEMINI_API_KEY"], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_over_converse() {
    a_whole_run(
        "bedrock:us.anthropic.claude-sonnet-5-5",
        ["BEDROCK_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK"],
        &[("AWS_REGION", "us-east-1")],
    )
    .await;
}
