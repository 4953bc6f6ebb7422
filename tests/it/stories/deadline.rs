//! The time of a whole run: research ends before it, so that the report can still be written; at its end the run fails.
//! And the time of a researcher, which bounds all that it does.

use std::time::{Duration, Instant};

use fathom::{
    app::App,
    domain::{FailureCode, Run, WarningCode},
};

use serde_json::json;
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, QUESTION, Story, config};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

/// A run may take ten seconds at least, so it is stored as begun some time ago: 7.5 s are for research.
const OPTIONS: [&str; 1] = ["max_run_seconds=10"];

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    let page = Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    world
}

/// A run that began so many milliseconds ago, as if its first process had died.
async fn begun(engine: &Engine, database: &TestDatabase, ago_ms: u64) -> Run {
    let run = engine.submit(QUESTION).await.unwrap();
    match ago_ms {
        4_000 => database.execute("UPDATE runs SET started_at = created_at - 4000").await,
        6_500 => database.execute("UPDATE runs SET started_at = created_at - 6500").await,
        7_994_000 => database.execute("UPDATE runs SET started_at = created_at - 7994000").await,
        9_500 => database.execute("UPDATE runs SET started_at = created_at - 9500").await,
        _ => database.execute("UPDATE runs SET started_at = created_at - 60000").await,
    }
    run
}

/// The run goes on as if its process had died before it stored the end, long after all its time: every step is in the
/// journal, so it ends in the same report without a call.
async fn replays_late(world: &World, engine: &Engine, database: &TestDatabase, story: &Story) {
    let calls = world.models.total();
    database
        .execute(
            "UPDATE runs SET status = 'running', outcome = NULL, finished_at = NULL, report = NULL, \
             started_at = created_at - 60000000; DELETE FROM messages WHERE role = 'assistant'",
        )
        .await;
    engine.app.runs.work(story.run.id, &CancellationToken::new()).await.unwrap();
    let replayed = engine.app.runs.store().report(story.run.id).await.unwrap();
    assert_eq!((replayed.as_ref(), world.models.total()), (story.report.as_ref(), calls));
}

/// One of two researchers never comes back: what the other found is reported, and what is missing said. What was given
/// up is in the journal: a replay goes the same way, though its clock says something else.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn research_that_takes_too_long_is_ended_and_reported(database: TestDatabase) {
    let script = small()
        .first(When::kind(Kind::Supervisor), [reply::delegate(["The dues.", "The luck."])])
        .always(When::kind(Kind::Researcher).and(When::first_says("The luck.")), reply::silence());
    let world = world(script).await;
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let run = begun(&engine, &database, 4_000).await;
    let story = engine.tell(run).await;
    assert!(story.markdown().contains("[1]") && story.notes.len() == 1);
    let cut = story.warned(WarningCode::ResearcherFailed);
    assert!(cut.iter().any(|detail| detail.starts_with("the supervisor failed")), "{cut:?}");
    let report = world.models.calls_of(Kind::Report).pop().unwrap();
    assert!(report.says("The research was cut short by a lack of time."));
    assert!(report.says("This topic could not be researched, for a lack of time: The luck."));
    assert_eq!(story.run.limited_by.as_deref(), Some("max_run_seconds"));
    replays_late(&world, &engine, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// From four fifths of a run's time on nobody begins to research; what is under way goes on, and so does a replay,
/// whose clock says that all the time is over.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_new_research_starts_in_the_last_fifth_of_the_time(database: TestDatabase) {
    let delegations = [reply::delegate(["The dues."]), reply::delegate(["The luck."]), reply::complete_research()];
    let script = small()
        .first(When::kind(Kind::Supervisor), delegations)
        .first(When::kind(Kind::Researcher), [reply::search(["dues"]).after(Duration::from_secs(7))]);
    let world = world(script).await;
    let engine = Engine::start(&world, &database, &["max_run_seconds=10000"]).await;
    let run = begun(&engine, &database, 7_994_000).await;
    let story = engine.tell(run).await;
    assert_eq!(story.notes.len(), 1, "{:?}", story.warnings());
    assert_eq!(story.run.limited_by.as_deref(), Some("max_run_seconds"));
    let report = story.markdown();
    assert!(report.contains("[1]") && report.contains("the time was over"), "{report}");
    let supervisor = world.models.calls_of(Kind::Supervisor);
    assert!(supervisor[1].says("About 80 % of what this research may spend is used"));
    assert!(supervisor[2].says("80 % of max_run_seconds are used, so no new research starts"));
    replays_late(&world, &engine, &database, &story).await;
    let limited_by = engine.app.runs.store().run(story.run.id).await.unwrap().unwrap().limited_by;
    assert_eq!(limited_by.as_deref(), Some("max_run_seconds"));
    engine.app.close().await;
    world.finish();
}

/// A report that was written again after a pause: a replay, whose clock says that all the time is over, passes that
/// pause too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_that_was_made_is_over() {
    let text = "The gate is paid by harbour dues [S1001]. ".repeat(60);
    let script = small().first(When::kind(Kind::Report), [reply::text(&text).cut_after(8_000), reply::text(&text)]);
    let (world, database) = (world(script).await, TestDatabase::sqlite());
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let run = engine.submit(QUESTION).await.unwrap();
    let story = engine.tell(run).await;
    assert!(story.steps.iter().any(|step| step.key == "report/again"), "it was written again");
    replays_late(&world, &engine, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// What follows a finished report costs it nothing when the time is over: it stands as it was written, which is said.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_outlives_a_repair_for_which_there_is_no_time(database: TestDatabase) {
    let report = reply::text("# Gate\n\nThe gate cost 413,000 crowns [S1001]. Harbour dues pay [S1001].");
    let script = small().always(When::kind(Kind::Report), report).always(When::kind(Kind::Repair), reply::silence());
    let world = world(script).await;
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let run = begun(&engine, &database, 4_000).await;
    let story = engine.tell(run).await;
    assert!(story.markdown().contains("413,000 crowns [1]"), "{}", story.markdown());
    let unrepaired = story.warned(WarningCode::CheckFailed);
    assert!(unrepaired[0].contains("were not repaired, and are marked"), "{unrepaired:?}");
    assert_eq!(world.models.count(Kind::Repair), 1);
    replays_late(&world, &engine, &database, &story).await;
    engine.app.close().await;
    world.finish();
}

/// Judges are asked when research has ended, so they are waited for as the report is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_busy_is_asked_again_after_the_end_of_research() {
    let report = reply::text("# Gate\n\nThe gate is paid by harbour dues [S1001].");
    let verdicts = json!({"verdicts": [{"number": 1, "verdict": "supported", "reason": "It says so."}]});
    let script = small()
        .first(When::kind(Kind::Supervisor), [reply::delegate(["The dues.", "The luck."])])
        .always(When::kind(Kind::Researcher).and(When::first_says("The luck.")), reply::silence())
        .always(When::kind(Kind::Report), report)
        .first(When::kind(Kind::Judgement), [reply::status(429), reply::json(verdicts)]);
    let (world, database) = (world(script).await, TestDatabase::sqlite());
    let engine = Engine::start(&world, &database, &["max_run_seconds=10", "verify=claims"]).await;
    let run = begun(&engine, &database, 4_000).await;
    let story = engine.tell(run).await;
    assert_eq!(world.models.count(Kind::Judgement), 2, "{:?} {:?}", story.warnings(), story.report().claims);
    assert_eq!(story.report().claims[0].reason.as_deref(), Some("It says so."), "{:?}", story.warnings());
    engine.app.close().await;
    world.finish();
}

/// The writer never answers: its call is closed, and notes and sources stay.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_time_is_over_fails_and_keeps_what_it_found(database: TestDatabase) {
    let world = world(small().always(When::kind(Kind::Report), reply::silence())).await;
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let begin = Instant::now();
    let run = begun(&engine, &database, 6_500).await;
    let story = engine.tell(run).await;
    story.failed_with(FailureCode::Timeout);
    assert!(story.failure().message.contains("max_run_seconds"), "{}", story.failure());
    assert!((Duration::from_secs(3)..Duration::from_secs(7)).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    assert_eq!((story.notes.len(), story.sources.len()), (1, 1));
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_findings_fails_when_its_time_is_over() {
    let database = TestDatabase::sqlite();
    let world = world(small().always(When::kind(Kind::Brief), reply::silence())).await;
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let run = begun(&engine, &database, 9_500).await;
    let story = engine.tell(run).await;
    story.failed_with(FailureCode::Timeout);
    assert!(story.notes.is_empty());
    engine.app.close().await;
    world.finish();
}

/// Nothing is begun by a process that finds the time over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_does_not_stop_the_clock() {
    let database = TestDatabase::sqlite();
    let world = world(small()).await;
    let engine = Engine::start(&world, &database, &OPTIONS).await;
    let run = begun(&engine, &database, 60_000).await;
    let story = engine.tell(run).await;
    story.failed_with(FailureCode::Timeout);
    assert_eq!(world.models.total(), 0);
    engine.app.close().await;
    world.finish();
}

/// Models and search that never answer, and would be waited for for longer than any story takes.
async fn with_long_timeouts(world: &World, database: &TestDatabase) -> Engine {
    let mut config = config(world, database, &["max_researcher_seconds=2"], &[]).unwrap();
    config.llm.idle_timeout = Duration::from_secs(300);
    config.search.timeout = Duration::from_secs(300);
    Engine {
        app: App::build(&config).await.unwrap(),
        options: config.options,
        http: config.http,
        _database: database.clone(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_ends_with_the_researchers_time() {
    let world = World::start(small()).await;
    world.web.always("", Found::fault(reply::silence()));
    let database = TestDatabase::sqlite();
    let engine = with_long_timeouts(&world, &database).await;
    let story = engine.research(QUESTION).await;
    story.failed_with(FailureCode::Timeout);
    assert!(story.failure().message.ends_with("the researcher's time is over"), "{}", story.failure());
    assert!(!story.warned(WarningCode::SearchFailed).is_empty());
    engine.app.close().await;
    world.finish();
}

/// Of a call that brought something, the part that was given up is a limit of the report, and no fault of the engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_was_given_up_is_no_failure_of_its_engine() {
    let world = World::start(small().first(When::kind(Kind::Researcher), [reply::search(["dues", "silent"])])).await;
    world.web.always("silent", Found::fault(reply::silence()));
    let database = TestDatabase::sqlite();
    let engine = with_long_timeouts(&world, &database).await;
    let story = engine.research(QUESTION).await;
    let report = story.markdown();
    assert!(report.contains("- The research ended early: the time was over"), "{report}");
    assert!(!report.contains("Searches that failed"), "{report}");
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_ends_with_the_researchers_time() {
    let world = World::start(small().always(When::kind(Kind::Summary), reply::silence())).await;
    let database = TestDatabase::sqlite();
    let engine = with_long_timeouts(&world, &database).await;
    let story = engine.research(QUESTION).await;
    assert!(!story.warned(WarningCode::SummaryFailed).is_empty());
    assert!(story.report.is_some(), "excerpts stand in");
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_end_with_the_researchers_time() {
    let world = world(small().always(When::kind(Kind::Compression), reply::silence())).await;
    let database = TestDatabase::sqlite();
    let engine = with_long_timeouts(&world, &database).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(story.warned(WarningCode::CompressionFailed).len(), 1);
    let limit = "- Made of excerpts, as the notes could not be written: “";
    assert!(story.markdown().contains(limit), "{}", story.markdown());
    assert!(story.notes[0].text.contains("harbour dues"), "the evidence stands in: {}", story.notes[0].text);
    engine.app.close().await;
    world.finish();
}
