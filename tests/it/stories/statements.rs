//! The statements of a note are data, and what their sources do not hold is marked before anybody relies on it.

use fathom::domain::claim::Verdict;
use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

const PAGE: &str = "The gate cost 412,000 crowns and was opened on 14 November 2030. Harbour dues pay for it.";
const NOTES: &str = "## Findings\n\n### The gate\n- The gate cost 413,000 crowns [S1001]\n\
    - It was opened on 14 November 2030 [S1001]\n\n## Sources used\n- [S1001] Gate: all of it";
const REMARKED: &str = "- The gate cost 413,000 crowns [S1001] (not found in its sources: 413,000)";
const REPORT: &str = "# Gate\n\nIt was opened on 14 November 2030 [S1001].";

fn script(notes: &str) -> Script {
    Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Compression), reply::text(notes))
        .always(When::kind(Kind::Report), reply::text(REPORT))
}

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![Page::new("https://harbour.test/gate", "Gate", PAGE)]));
    world
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_source_does_not_hold_is_marked_before_the_writer_sees_it(database: TestDatabase) {
    let world = world(script(NOTES)).await;
    let story = research(&world, &database, &[]).await;
    let [note] = &story.notes[..] else { panic!("{:?}", story.notes) };
    let [cost, opened] = &note.statements[..] else { panic!("{:?}", note.statements) };
    assert_eq!((cost.verdict, &cost.missing[..]), (Verdict::NotSupported, &["413,000".to_owned()][..]));
    assert_eq!((opened.verdict, opened.section.as_deref()), (Verdict::Supported, Some("The gate")));
    let passage = opened.sources[0].passage.as_ref().unwrap();
    assert_eq!(passage.text, PAGE.split_inclusive("2030.").next().unwrap());
    assert!(story.steps.iter().any(|step| step.key == "statements/r1"));

    let supervisor = world.models.calls_of(Kind::Supervisor).pop().unwrap();
    let shown = format!("### The gate\n{REMARKED}\n- It was opened on 14 November 2030 [S1001]\n");
    assert!(supervisor.said_by("tool").concat().starts_with(&shown), "{:?}", supervisor.said_by("tool"));
    let writer = world.models.calls_of(Kind::Report).remove(0);
    assert!(writer.says(REMARKED) && writer.says("never repeat such a remark"), "{}", writer.last_text());
    assert_eq!(writer.last_text().matches("<card id=\"S1001\"").count(), 1, "{}", writer.last_text());
    assert_eq!(world.models.count(Kind::Repair), 0);
    world.finish();
}

/// A prompt says nothing of remarks that are not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_say_what_their_sources_say_stay_as_they_are() {
    let notes = "It was opened on 14 November 2030 [S1001]. Harbour dues pay [S1001].";
    let world = world(script(notes)).await;
    research(&world, &TestDatabase::sqlite(), &[]).await;
    let writer = world.models.calls_of(Kind::Report).remove(0);
    assert!(writer.says(notes) && !writer.says("such a remark"), "{}", writer.last_text());
    world.finish();
}

/// The next run of the thread has them without another look at the sources.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_are_taken_over_with_their_notes() {
    let world = world(script(NOTES).always(When::kind(Kind::FollowUp), reply::follow_up("research"))).await;
    let engine = Engine::start(&world, &TestDatabase::sqlite(), &[]).await;
    let first = engine.research(QUESTION).await;
    let run = engine.app.runs.reply(first.run.thread_id, "And the bridge?", engine.options.clone()).await.unwrap();
    let next = engine.tell(run).await;
    assert_eq!(next.notes[0], first.notes[0]);
    assert_eq!(next.notes[0].statements.len(), 2);
    let writer = world.models.calls_of(Kind::Report).pop().unwrap();
    assert_eq!(writer.last_text().matches(REMARKED).count(), 2, "{}", writer.last_text());
    world.finish();
}

/// Between its rounds the supervisor hears what is open, of all notes together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_supervisor_hears_how_far_the_findings_answer_the_sub_questions() {
    let questions = ["What did the gate cost?", "Who was the mayor of Norderwarf?"];
    let brief = reply::json(json!({"research_brief": "All about the gate.", "sub_questions": questions}));
    let script = script("- The gate cost 412,000 crowns [S1001]").always(When::kind(Kind::Brief), brief);
    let world = world(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let supervisor = world.models.calls_of(Kind::Supervisor).pop().unwrap();
    let shown = supervisor.said_by("tool").concat();
    assert!(shown.contains("answer the sub-questions so: 1 answered; 2 not found."), "{shown}");
    assert!(story.steps.iter().any(|step| step.key == "lead/1/questions"));
    world.finish();
}

/// What its source does not hold answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_not_held_answers_no_sub_question() {
    let questions = ["What did the gate cost?", "When was it opened?"];
    let brief = reply::json(json!({"research_brief": "All about the gate.", "sub_questions": questions}));
    let notes = "- The gate cost 413,000 crowns [S1001]\n- The gate was opened on 14 November 2030 [S1001]";
    let world = world(script(notes).always(When::kind(Kind::Brief), brief)).await;
    research(&world, &TestDatabase::sqlite(), &[]).await;
    let supervisor = world.models.calls_of(Kind::Supervisor).pop().unwrap();
    let shown = supervisor.said_by("tool").concat();
    assert!(!shown.contains("so: 1 answered") && shown.contains("2 answered."), "{shown}");
    world.finish();
}
