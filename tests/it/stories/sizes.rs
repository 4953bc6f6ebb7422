//! The sizes that estimates begin with, held to runs of the scripted world: one of each effort, with pages of 9,500
//! characters.

use fathom::domain::{Estimate, RunOptions};
use fathom_testkit::program;
use test_case::test_case;

use super::engine::{Engine, research};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, World},
};

/// Hundredths by which an estimate may differ from what was measured.
const APART: u64 = 5;

/// Prompt tokens of the calls of each role, in the order of the options' models, and how many calls these are.
fn by_role(world: &World) -> [(usize, u64); 4] {
    let role = |kind: Kind| match kind {
        Kind::Summary => 0,
        Kind::Compression => 2,
        Kind::Report => 3,
        _ => 1,
    };
    let mut roles = [(0, 0); 4];
    for kind in Kind::ALL {
        for call in world.models.calls_of(kind) {
            let (calls, tokens) = &mut roles[role(kind)];
            *calls += 1;
            *tokens += call.size_bytes as u64 / 4;
        }
    }
    roles
}

#[test_case("quick", Shape { reflections: 0, researchers: 2, searches: 1, queries: 2, sentences: 8 }; "quick")]
#[test_case("standard", Shape::default(); "standard")]
#[test_case("deep", Shape { reflections: 3, researchers: 6, searches: 3, queries: 2, ..Shape::default() }; "deep")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usual_run_is_one_that_was_measured(effort: &str, shape: Shape) {
    let world = World::start(Script::whole_run(shape)).await;
    let story = research(&world, &TestDatabase::sqlite(), &[&format!("effort={effort}")]).await;
    let mut options = RunOptions::default();
    options.set_text("effort", effort).unwrap();
    let usual = Estimate::of_preset(&options, true, &[], |_, _| None);
    println!("{effort}: {:?}, {} searches", by_role(&world), world.web.total());
    let near = |what: &str, said: u64, measured: u64| {
        assert!(said.abs_diff(measured) * 100 <= measured * APART, "{what}: {said} is said, {measured} measured");
    };
    near("model calls", usual.model_calls.expected, world.models.total() as u64);
    near("prompt tokens", usual.input_tokens.expected, story.usage.input_tokens);
    near("searches", usual.searches.expected, world.web.total() as u64);
    near("pages", usual.pages.expected, world.models.calls_of(Kind::Summary).len() as u64);
    assert_eq!(usual.researchers.expected, shape.researchers as u64);
    world.finish();
}

/// The model that is none has sizes of its own: the mean of these questions, within a fifth.
#[test_case("quick"; "quick")]
#[test_case("standard"; "standard")]
#[test_case("deep"; "deep")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usual_run_without_a_model_is_one_that_was_measured(effort: &str) {
    const QUESTIONS: [&str; 3] = [
        "How much energy will the Saltbox battery store, and what will it cost?",
        "Who sits on the board, when did they last meet, what did they decide and what does it cost members?",
        "What went wrong with the turbine Petrel in November 2030?",
    ];
    let world = World::start(Script::new()).await;
    let roles = ["summarization_model", "research_model", "compression_model", "final_report_model"];
    let mut set = roles.map(|role| format!("{role}=offline:extractive")).to_vec();
    set.extend([format!("effort={effort}"), "search_api=local".to_owned()]);
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let library = program::repository().join("examples/library").display().to_string();
    let engine = Engine::with(&world, &TestDatabase::sqlite(), &set, &[("FATHOM_DOCS", library)]).await.unwrap();
    let usual = Estimate::of_preset(&engine.options, false, &[], |_, _| None);
    let (mut calls, mut read, mut written) = (0, 0, 0);
    for question in QUESTIONS {
        let story = engine.research(question).await;
        calls += story.named("usage").len() as u64;
        read += story.usage.input_tokens;
        written += story.usage.output_tokens;
    }
    engine.app.close().await;
    println!("{effort}: {calls} calls, {read} tokens read and {written} written by {} runs", QUESTIONS.len());
    let near = |what: &str, said: u64, measured: u64| {
        let mean = measured / QUESTIONS.len() as u64;
        assert!(said.abs_diff(mean) * 5 <= mean, "{what}: {said} is said, {mean} measured");
    };
    near("model calls", usual.model_calls.expected, calls);
    near("prompt tokens", usual.input_tokens.expected, read);
    near("output tokens", usual.output_tokens.expected, written);
    world.finish();
}
