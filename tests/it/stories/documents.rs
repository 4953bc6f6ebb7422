//! `open_document`: a researcher of documents reads on where a passage breaks off.

use std::fs;

use fathom::domain::{Event, ToolKind};
use fathom_testkit::program;
use serde_json::json;

use super::engine::{Engine, QUESTION, Story};
use crate::{
    database::TestDatabase,
    world::{Kind, Reply, Script, Shape, When, World, reply},
};

/// Three chapters, the second one with several passages.
fn ledger() -> String {
    let paragraph = |n: usize| format!("Entry {n}: the gate was kept. {}\n\n", "Gulls nest on the quay. ".repeat(45));
    let entries: String = (1..=12).map(paragraph).collect();
    let long = |about: &str| format!("{about} {}", "It is written at length. ".repeat(60));
    format!(
        "# The ledger\n\n{}\n\n## Entries\n\n{entries}\n## Dues\n\nHarbour dues of four crowns pay the tide gate. {}\n",
        long("What the keeper wrote."),
        long("So it was agreed.")
    )
}

fn open(arguments: serde_json::Value) -> Reply {
    reply::calls([("open_document", arguments)])
}

async fn story(replies: impl IntoIterator<Item = Reply>) -> (World, Story, Vec<String>) {
    let replies: Vec<_> = replies.into_iter().chain([reply::complete_research()]).collect();
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)).await;
    let folder = world.folder().join("docs");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("ledger.md"), ledger()).unwrap();
    fs::copy(program::repository().join("tests/formats/mill.docx"), folder.join("mill.docx")).unwrap();
    let variables = [("FATHOM_DOCS", folder.display().to_string())];
    let engine = Engine::with(&world, &TestDatabase::sqlite(), &["search_api=local"], &variables).await.unwrap();
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    let answers = last.said_by("tool").iter().map(|text| text.to_string()).collect();
    (world, story, answers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_is_read_around_a_passage_by_section_and_whole() {
    let (world, story, answers) = story([
        reply::search(["harbour dues of four crowns"]),
        open(json!({"address": "S1001"})),
        open(json!({"address": "S1001", "part": "document"})),
        open(json!({"address": "S1001", "place": 9})),
        open(json!({"address": "S1001", "part": "section"})),
        open(json!({"address": "ledger.md#passage=7", "part": "section"})),
    ])
    .await;
    assert!(answers[0].contains("four crowns") && answers[0].contains("S1001"), "{}", answers[0]);
    assert!(answers[1].contains("Entry 12:") && answers[1].contains("four crowns"), "its neighbours: {}", answers[1]);
    assert!(!answers[1].contains("Entry 1:"), "{}", answers[1]);
    assert!(answers[2].contains("What the keeper wrote") && !answers[2].contains("four crowns"), "{}", answers[2]);
    assert!(answers[2].contains("call `open_document` with the same address and place"), "{}", answers[2]);
    assert!(answers[3].contains("(passage 9 of ") && !answers[3].contains("(passage 8 of "), "{}", answers[3]);
    assert!(answers[4].contains("four crowns") && !answers[4].contains("Entry 12:"), "{}", answers[4]);
    let section = (answers[5].contains("Entry 1:"), answers[5].contains("What the keeper wrote"));
    assert_eq!(section, (true, false), "from its beginning: {}", answers[5]);
    let started = story.named("tool.started");
    let opened = started.iter().filter(|event| matches!(event, Event::ToolStarted { kind: ToolKind::Read, .. }));
    assert_eq!(opened.count(), 5);
    assert!(story.sources.iter().any(|source| source.url == "ledger.md#passage=12"), "{:?}", story.sources);
    assert!(story.markdown().contains("ledger.md"), "{}", story.markdown());
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_document_is_said() {
    let (world, story, answers) = story([
        reply::search(["tide mill at Ambleton dues of a barge"]),
        open(json!({"address": "S1099"})),
        open(json!({"address": "elsewhere.md"})),
        open(json!({"address": "mill.docx", "place": 99})),
        open(json!({"address": "mill.docx", "part": "document"})),
    ])
    .await;
    assert!(answers[1].contains("there is no source S1099"), "{}", answers[1]);
    assert!(answers[2].contains("elsewhere.md is none of the documents"), "{}", answers[2]);
    assert!(answers[3].contains("so there is none at 99"), "{}", answers[3]);
    assert!(answers[4].contains("| Barge | 4.50 | Sunday |") && answers[4].contains("Marta Tey"), "{}", answers[4]);
    assert!(story.report.is_some());
    world.finish();
}
