//! The supervisor: its rounds, its delegations, and what it learns about those that fail.

use std::{collections::HashSet, time::Duration};

use fathom::domain::{Event, FailureCode, WarningCode};
use serde_json::json;
use test_case::test_case;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Reply, Script, Shape, When, World, reply},
};

fn supervisor() -> When {
    When::kind(Kind::Supervisor)
}

fn researcher() -> When {
    When::kind(Kind::Researcher)
}

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

fn delegate(topic: &str) -> Reply {
    reply::delegate([topic])
}

/// Delegates another topic in every turn, for ever.
fn delegate_for_ever(call: &Call) -> Reply {
    delegate(&format!("Topic number {}", call.turns() + 1))
}

/// Needs no summary, so that many researchers cost little.
fn one_small_page() -> Found {
    Found::Pages(vec![Page::new("https://small.test/", "Small", "The gate is paid by dues.").without_text()])
}

fn delegations(count: usize) -> Reply {
    reply::calls((1..=count).map(|n| ("ConductResearch", json!({"research_topic": format!("Topic number {n}.")}))))
}

/// The answers to the calls of the supervisor's first turn, as its second turn saw them.
fn answers(world: &World) -> Vec<String> {
    let turns = world.models.calls_of(Kind::Supervisor);
    let second = turns.iter().find(|call| call.turns() == 1).expect("there was a second turn");
    second.said_by("tool").iter().map(|text| text.to_string()).collect()
}

fn most_researchers_at_once(story: &Story) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for event in story.own() {
        match event {
            Event::ResearcherStarted { .. } => now += 1,
            Event::ResearcherFinished { .. } | Event::ResearcherFailed { .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// The original ended all research silently when one researcher failed; ours answers that topic with the failure,
/// keeps the others, and the report's writer learns what is missing.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_researcher_costs_its_topic_alone(database: TestDatabase) {
    let script = small()
        .first(supervisor(), [reply::delegate(["The broken alpha.", "The sound beta."])])
        .always(researcher().and(When::first_says("alpha")), reply::status(400));
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;

    assert!(story.markdown().contains("[1]"));
    assert_eq!(story.notes.iter().map(|note| note.topic.as_str()).collect::<Vec<_>>(), ["The sound beta."]);
    assert_eq!(story.named("researcher.failed").len(), 1);
    let answers = answers(&world);
    assert!(answers[0].contains("brought no findings") && answers[0].contains("The broken alpha."), "{}", answers[0]);
    assert!(answers[1].contains("Established"), "{}", answers[1]);
    let [report] = &world.models.calls_of(Kind::Report)[..] else { panic!("one call writes the report") };
    assert!(report.says("This topic could not be researched, for a technical failure: The broken alpha."));
    assert!(!report.says("brought no findings"), "findings are findings, nothing else");
    let limit = "- Could not be researched: “The broken alpha.” (a technical failure)";
    assert!(story.markdown().contains(limit), "{}", story.markdown());
    assert!(!story.markdown().contains("Nothing was found about"), "nobody looked");
    world.finish();
}

/// With nothing at all found there is no report, and the run says why, as the provider said it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_all_researchers_fail_the_run_fails_with_their_reason() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(researcher(), reply::status(400))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelRequest);
    assert!(story.failure().message.contains("400"), "{}", story.failure());
    assert_eq!(world.models.count(Kind::Report), 0);
    world.finish();
}

/// The original let the siblings of a failed researcher run on and threw their work away; ours waits for each and
/// uses it, also when the failure came first and the siblings are slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn siblings_of_a_failed_researcher_go_on() {
    let database = TestDatabase::sqlite();
    let slow = |topic: &'static str| researcher().and(When::first_says(topic)).and(When::turns(0));
    let search = |query: &str| reply::search([query]).after(Duration::from_millis(200));
    let script = small()
        .first(supervisor(), [reply::delegate(["First of all.", "Second of all.", "Third of all."])])
        .always(researcher().and(When::first_says("First")), reply::status(404))
        .always(slow("Second"), search("second"))
        .always(slow("Third"), search("third"));
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes.len(), 2);
    assert_eq!(story.named("researcher.finished").len(), 2);
    let names: Vec<_> = story.own().map(Event::name).collect();
    let failed = names.iter().position(|name| *name == "researcher.failed").unwrap();
    assert!(names[failed..].contains(&"researcher.finished"), "the failure came first");
    world.finish();
}

/// The original left calls of unknown tools without an answer, which strict providers reject; ours names the tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_tool_of_the_supervisor_is_answered() {
    let database = TestDatabase::sqlite();
    let calls = [("google_it", json!({"q": "x"})), ("ConductResearch", json!({"research_topic": "The real one."}))];
    let world = World::start(small().first(supervisor(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    let answers = answers(&world);
    let unknown = answers.iter().find(|answer| answer.contains("google_it")).unwrap();
    for tool in ["ConductResearch", "ResearchComplete", "think_tool"] {
        assert!(unknown.contains(tool), "{unknown}");
    }
    assert_eq!(answers.len(), 2);
    assert!(story.warned(WarningCode::ModelMisuse)[0].contains("google_it"));
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// In the original a delegation without a topic ended the research; ours tells the model what is wrong, whatever is
/// wrong, and runs the sound ones beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delegations_without_a_topic_go_back_to_the_model() {
    let database = TestDatabase::sqlite();
    let calls = [
        ("ConductResearch", json!({})),
        ("ConductResearch", json!({"research_topic": "   "})),
        ("ConductResearch", json!({"research_topic": 7})),
        ("ConductResearch", json!("a topic")),
        ("ConductResearch", json!({"research_topic": "The sound one."})),
    ];
    let world = World::start(small().first(supervisor(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    let refused: Vec<_> = answers(&world).into_iter().filter(|answer| answer.contains("cannot be used")).collect();
    assert_eq!(refused.len(), 4, "{refused:?}");
    assert!(refused[0].contains("research_topic"), "{}", refused[0]);
    assert_eq!(story.warned(WarningCode::ModelMisuse).len(), 4);
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// In the original a reflection without its text failed the whole run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reflection_that_is_missing_goes_back_to_the_model() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(supervisor(), [reply::calls([("think_tool", json!({}))])])
        .by(supervisor().and(When::turns(1)), |_| delegate("The topic."));
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert!(answers(&world)[0].contains("reflection"), "{:?}", answers(&world));
    assert!(story.report.is_some());
    assert!(story.named("thought").iter().all(|event| !matches!(event, Event::Thought { text } if text.is_empty())));
    world.finish();
}

/// The original lost all findings when the supervisor failed; ours writes the report from them and says it was cut.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_fails_leaves_a_report_of_what_was_found(database: TestDatabase) {
    let world = World::start(small().always(supervisor().and(When::turns(1)), reply::status(400))).await;
    let story = research(&world, &database, &[]).await;
    assert!(story.markdown().contains("[1]"));
    let warned = story.warned(WarningCode::ResearcherFailed);
    assert!(warned[0].contains("the supervisor failed"), "{warned:?}");
    assert!(world.models.calls_of(Kind::Report)[0].says("cut short by a technical failure"));
    world.finish();
}

/// Nothing was found before the failure: a typed failure, and no report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_never_answers_fails_the_run_when_there_is_nothing() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(supervisor(), reply::status(400))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelRequest);
    assert_eq!((world.models.count(Kind::Supervisor), world.models.count(Kind::Report)), (1, 0));
    world.finish();
}

/// A supervisor that wants to finish before anything was researched wrote, in the original, a report from nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complete_at_once_is_refused_once_then_the_brief_is_researched() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(supervisor(), reply::complete_research())).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(world.models.count(Kind::Supervisor), 2);
    assert!(answers(&world)[0].contains("before anything was researched"));
    assert_eq!(story.notes.len(), 1);
    assert_eq!(story.notes[0].topic, brief_of(&story));
    assert!(story.warned(WarningCode::ModelMisuse).iter().any(|detail| detail.contains("delegated nothing")));
    world.finish();
}

fn brief_of(story: &Story) -> &str {
    match story.named("brief.created")[..] {
        [Event::BriefCreated { brief, .. }] => brief,
        ref other => panic!("one brief, not {other:?}"),
    }
}

/// A model that cannot call tools talks instead: nudged once, never in a loop (local-llm.md, trap 4).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_only_talks_has_the_brief_researched() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(supervisor(), reply::text("I would look into the harbour."))).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Supervisor);
    assert_eq!(turns.len(), 2);
    assert!(turns[1].last_text().contains("Call `ConductResearch`"), "{}", turns[1].last_text());
    assert_eq!(turns[1].said_by("assistant"), ["I would look into the harbour."]);
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// Its findings were not worth a word yet: an empty reply is a mishap, not a decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_answers_findings_with_nothing_is_nudged_once() {
    let database = TestDatabase::sqlite();
    let replies = [delegate("The dues."), reply::empty(), delegate("The loan."), reply::complete_research()];
    let world = World::start(small().first(supervisor(), replies)).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Supervisor);
    assert_eq!(turns.len(), 4);
    assert!(turns[2].last_text().contains("Your last reply was empty"), "{}", turns[2].last_text());
    assert_eq!(story.notes.iter().map(|note| note.topic.as_str()).collect::<Vec<_>>(), ["The dues.", "The loan."]);
    assert_eq!(story.warned(WarningCode::ModelMisuse).len(), 1);
    world.finish();
}

/// The original paid for a seventh turn and threw it away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_rounds_are_six_model_turns() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().by(supervisor(), delegate_for_ever)).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(world.models.count(Kind::Supervisor), 6);
    assert_eq!(story.notes.len(), 6);
    let rounds: Vec<_> = story.named("supervisor.iteration");
    assert_eq!(rounds.first(), Some(&&Event::SupervisorIteration { n: 1, max: 6 }));
    assert_eq!(rounds.len(), 6);
    assert_eq!(story.warned(WarningCode::IterationLimit), ["the supervisor used all its 6 rounds"]);
    world.finish();
}

/// The smallest limit is one turn, and its delegations are carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_round_is_one_model_turn() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().by(supervisor(), delegate_for_ever)).await;
    let story = research(&world, &database, &["max_researcher_iterations=1"]).await;
    assert_eq!((world.models.count(Kind::Supervisor), story.notes.len()), (1, 1));
    world.finish();
}

/// The original counted tool calls in its prompt and turns in its code, and gave the model neither.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_supervisor_sees_how_many_rounds_remain() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().by(supervisor(), delegate_for_ever)).await;
    research(&world, &database, &["max_researcher_iterations=3"]).await;
    let turns = world.models.calls_of(Kind::Supervisor);
    assert!(turns[0].said_by("system")[0].contains("You have 3 rounds."));
    assert!(turns[1].last_text().ends_with("2 rounds remain."), "{}", turns[1].last_text());
    assert!(turns[2].last_text().contains("Only one round remains"), "{}", turns[2].last_text());
    world.finish();
}

/// The original only asked for reflection before delegation; with `require_think` ours insists.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delegating_beside_a_reflection_is_refused_when_reflection_is_required() {
    let database = TestDatabase::sqlite();
    let both = || {
        reply::calls([
            ("think_tool", json!({"reflection": "First the tide gate."})),
            ("ConductResearch", json!({"research_topic": "The tide gate."})),
        ])
    };
    let script = small()
        .first(supervisor(), [both(), delegate("The tide gate."), delegate("Another thing, unreflected.")])
        .by(supervisor(), |_| reply::complete_research());
    let world = World::start(script).await;
    let story = research(&world, &database, &["require_think=true"]).await;
    let turns = world.models.calls_of(Kind::Supervisor);
    let last = turns.last().unwrap().said_by("tool");
    assert_eq!(last.len(), 4);
    assert!(last[0].contains("Reflection recorded: First the tide gate."), "{}", last[0]);
    assert!(last[1].contains("was not carried out"), "{}", last[1]);
    assert!(last[2].contains("Established"), "{}", last[2]);
    assert!(last[3].contains("was not carried out"), "{}", last[3]);
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// The original dropped delegations that stood beside `ResearchComplete`.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complete_beside_delegations_runs_them_first(database: TestDatabase) {
    let calls = [
        ("ResearchComplete", json!({})),
        ("ConductResearch", json!({"research_topic": "One."})),
        ("ConductResearch", json!({"research_topic": "Two."})),
    ];
    let world = World::start(small().first(supervisor(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(world.models.count(Kind::Supervisor), 1, "complete is complete");
    assert_eq!(story.notes.iter().map(|note| note.topic.as_str()).collect::<Vec<_>>(), ["One.", "Two."]);
    world.finish();
}

/// The original refused the sixth and seventh; ours lets them wait for a place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seven_delegations_run_five_at_a_time_and_are_answered_in_order() {
    let database = TestDatabase::sqlite();
    let script = small().first(supervisor(), [delegations(7)]).latency(Duration::from_millis(15));
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes.len(), 7);
    assert_eq!(most_researchers_at_once(&story), 5);
    let names: Vec<_> = story.own().map(Event::name).filter(|name| name.starts_with("researcher.")).collect();
    assert_eq!(names[..5], ["researcher.started"; 5], "the first five start before any finishes");
    let detail = "7 topics were delegated at once; 5 are researched at a time, the others wait";
    assert_eq!(story.warned(WarningCode::DelegationsQueued), [detail]);
    let answers = answers(&world);
    assert_eq!(answers.len(), 7);
    for (n, answer) in (1..).zip(&answers) {
        assert!(answer.contains(&format!("[S{n}001]")), "the answer to call {n}: {answer}");
    }
    world.finish();
}

/// A model that delegates wildly costs what it asked for and no more at once than allowed.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_delegations_at_once_all_run(database: TestDatabase) {
    let world = World::start(small().first(supervisor(), [delegations(40)])).await;
    world.web.always("", one_small_page());
    let story = research(&world, &database, &["max_concurrent_research_units=20"]).await;
    assert_eq!((story.notes.len(), answers(&world).len()), (40, 40));
    assert!(most_researchers_at_once(&story) <= 20);
    let numbers: HashSet<_> = story.notes.iter().map(|note| note.researcher).collect();
    assert_eq!(numbers.len(), 40);
    world.finish();
}

/// Somewhere wildness has to end: the 65th topic of one reply is answered with the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_delegations_than_any_plan_needs_are_refused_by_name() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().first(supervisor(), [delegations(66)])).await;
    world.web.always("", one_small_page());
    let story = research(&world, &database, &["max_concurrent_research_units=20"]).await;
    assert_eq!(story.notes.len(), 64);
    let refused: Vec<_> = answers(&world).into_iter().filter(|answer| answer.contains("at most 64")).collect();
    assert_eq!(refused.len(), 2);
    world.finish();
}

/// The same topic word for word brings nothing new (local-llm.md, trap 6).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_delegation_again_is_not_paid_twice() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(supervisor(), [reply::delegate(["The gate.", "The gate."]), delegate("The gate.")])
        .by(supervisor(), |_| reply::complete_research());
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes.len(), 1);
    let last = world.models.calls_of(Kind::Supervisor).pop().unwrap();
    let again = last.said_by("tool").iter().filter(|text| text.contains("already called")).count();
    assert_eq!(again, 2);
    world.finish();
}

/// A failed topic is answered with "delegate it again if needed", so that must work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_failed_may_be_delegated_again() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(supervisor(), [delegate("The gate."), delegate("The gate.")])
        .by(supervisor(), |_| reply::complete_research())
        .first(researcher(), [reply::status(400)]);
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.named("researcher.failed").len(), 1);
    assert_eq!(story.notes.len(), 1);
    let report = &world.models.calls_of(Kind::Report)[0];
    assert!(
        !report.says("Nothing could be found out") && !report.says("could not be researched"),
        "what was found at last is not missing"
    );
    world.finish();
}

/// The original dropped what the supervisor said beside its calls; the model needs it to go on from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn free_text_beside_calls_stays_in_the_history() {
    let database = TestDatabase::sqlite();
    let script = small().first(supervisor(), [delegate("The gate.").saying("I start with the gate.")]);
    let world = World::start(script).await;
    research(&world, &database, &[]).await;
    assert_eq!(world.models.calls_of(Kind::Supervisor)[1].said_by("assistant"), ["I start with the gate."]);
    world.finish();
}

/// A call cut by `max_tokens` has arguments that are no JSON; echoed back as they are they would fail every later
/// request (local-llm.md, trap 3).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_cut_off_by_the_output_limit_is_asked_for_again() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(supervisor(), [delegate("A long topic that is cut in the middle.").cut_by_length(), delegate("Short.")]);
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert!(answers(&world)[0].contains("cannot be used"), "{:?}", answers(&world));
    assert_eq!(story.notes.iter().map(|note| note.topic.as_str()).collect::<Vec<_>>(), ["Short."]);
    world.finish();
}

/// That nothing was found is no failure: the same words would find nothing again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_supervisor_hears_that_nothing_was_found() {
    let alpha = || researcher().and(When::first_says("alpha"));
    let script = small()
        .first(supervisor(), [reply::delegate(["The empty alpha.", "The sound beta."]), delegate("The empty alpha.")])
        .by(supervisor(), |_| reply::complete_research())
        .first(alpha(), [reply::search(["alpha"])])
        .always(alpha(), reply::complete_research());
    let world = World::start(script).await;
    world.web.always("alpha", Found::Pages(Vec::new()));
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let last = world.models.calls_of(Kind::Supervisor).pop().unwrap();
    let answers = last.said_by("tool");
    assert!(answers[0].contains("the searches worked and found nothing"), "{}", answers[0]);
    assert!(answers[0].contains("The empty alpha.") && !answers[0].contains("failed"), "{}", answers[0]);
    assert!(answers[2].contains("already called"), "{}", answers[2]);
    assert_eq!((story.named("researcher.failed").len(), story.notes.len()), (1, 1));
    world.finish();
}

/// A delegation that nothing stood beside is not refused for what stood beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_before_any_reflection_hears_that_one_comes_first() {
    let replies =
        [delegate("The gate."), reply::think("The gate alone."), delegate("The gate."), reply::complete_research()];
    for (option, is_required) in [("require_think=true", true), ("require_think=false", false)] {
        let world = World::start(small().first(supervisor(), replies.clone())).await;
        let story = research(&world, &TestDatabase::sqlite(), &[option]).await;
        let last = world.models.calls_of(Kind::Supervisor).pop().unwrap();
        let first = &last.said_by("tool")[0];
        let hears = first.contains("a reflection comes before") && !first.contains("only call of a reply");
        assert_eq!(hears, is_required, "{first}");
        assert_eq!(last.says("delegate at once"), !is_required);
        assert_eq!(story.notes.len(), 1);
        world.finish();
    }
}
