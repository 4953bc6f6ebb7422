//! Calls that providers limit: who goes next, and who stands in.

use std::time::Duration;

use fathom::domain::{Event, WaitKind, WarningCode};

use super::engine::{Engine, QUESTION};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, World},
};

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
