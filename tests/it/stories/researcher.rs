//! A researcher: its turns, its searches, and the compression of what it found.

use fathom::domain::{Event, WarningCode};
use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, Story, research};
use crate::{
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Reply, Script, Shape, When, World, reply},
};

fn researcher() -> When {
    When::kind(Kind::Researcher)
}

fn compression() -> When {
    When::kind(Kind::Compression)
}

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

/// A new query in every turn, for ever.
fn search_for_ever(call: &Call) -> Reply {
    reply::calls([("search_web", json!({"queries": [format!("query {}", call.turns() + 1)]}))])
}

fn page() -> Page {
    Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues of 4 crowns.").without_text()
}

/// A world with one page, which needs no summary.
async fn world_of_one_page(script: Script) -> World {
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![page()]));
    world
}

/// The tool answers in the last request a researcher sent.
fn answers(world: &World) -> Vec<String> {
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    last.said_by("tool").iter().map(|text| text.to_string()).collect()
}

/// In the original 12 turns and more ran into the graph's recursion limit after everything had been paid for.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_turns_end_in_one_compression(database: TestDatabase) {
    let world = world_of_one_page(small().by(researcher(), search_for_ever)).await;
    let story = research(&world, &database, &["max_react_tool_calls=30"]).await;
    assert_eq!((world.models.count(Kind::Researcher), world.models.count(Kind::Compression)), (30, 1));
    assert_eq!(world.web.total(), 30);
    assert_eq!(story.warned(WarningCode::IterationLimit), ["a researcher used all its 30 turns"]);
    assert!(story.report.is_some());
    world.finish();
}

/// The documented default: ten turns, each carried out, none paid for and thrown away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_turns_are_the_default_and_then_one_compression() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().by(researcher(), search_for_ever)).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Researcher), world.models.count(Kind::Compression)), (10, 1));
    assert_eq!(world.web.queries().last().unwrap(), "query 10");
    let [Event::ResearcherFinished { turns: 10, sources: 1, .. }] = story.named("researcher.finished")[..] else {
        panic!("{:?}", story.named("researcher.finished"));
    };
    world.finish();
}

/// With a limit of one the only turn's search is carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_turn_is_one_turn() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().by(researcher(), search_for_ever)).await;
    research(&world, &database, &["max_react_tool_calls=1"]).await;
    assert_eq!((world.models.count(Kind::Researcher), world.web.total()), (1, 1));
    world.finish();
}

/// One hallucinated name ended all research in the original.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_tool_is_answered_with_the_names_of_the_real_ones() {
    let database = TestDatabase::sqlite();
    let calls = [("browse", json!({"url": "x"})), ("search_web", json!({"queries": ["gate"]}))];
    let world = world_of_one_page(small().first(researcher(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    let answers = answers(&world);
    for name in ["browse", "search_web", "think_tool", "ResearchComplete"] {
        assert!(answers[0].contains(name), "{}", answers[0]);
    }
    assert!(answers[1].contains("[S1001]"));
    assert_eq!(story.warned(WarningCode::ModelMisuse), ["the model called 'browse', which is not a tool"]);
    world.finish();
}

/// Whatever is wrong with the arguments, the model hears of it and the turn goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_are_no_json_go_back_to_the_model() {
    let database = TestDatabase::sqlite();
    let script = small().first(
        researcher(),
        [
            reply::raw_call("search_web", "{\"queries\": [\"ga"),
            reply::raw_call("search_web", ""),
            reply::raw_call("search_web", "[]"),
            reply::raw_call("search_web", "{\"queries\": []}"),
            reply::raw_call("think_tool", "{\"reflection\": null}"),
            reply::search(["gate"]),
            reply::complete_research(),
        ],
    );
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    let answers = answers(&world);
    assert!(answers[..5].iter().all(|answer| answer.contains("cannot be used")), "{answers:?}");
    assert_eq!(story.warned(WarningCode::ModelMisuse).len(), 5);
    assert_eq!(world.web.total(), 1);
    world.finish();
}

/// The original had no limit on queries. Those that one turn has no room for are named as not run, so that the model
/// can send them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_beyond_a_turns_room_are_answered_as_not_run() {
    let database = TestDatabase::sqlite();
    let queries: Vec<_> = (1..=40).map(|n| format!("query number {n}")).collect();
    let script = small().first(
        researcher(),
        [reply::calls([("search_web", json!({"queries": queries}))]), reply::search(["query number 40"])],
    );
    let world = world_of_one_page(script).await;
    research(&world, &database, &[]).await;
    assert_eq!(world.web.total(), 19, "18 in the first turn, one in the second");
    let answers = answers(&world);
    assert!(answers[0].contains("query number 40") && answers[0].contains("at most 18"), "{}", answers[0]);
    assert!(answers[1].contains("[S1"), "{}", answers[1]);
    world.finish();
}

/// There is nothing to correct in a call that an earlier one of its turn has left no room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_without_room_in_its_turn_is_answered_as_not_run() {
    let queries: Vec<_> = (1..=18).map(|n| format!("query number {n}")).collect();
    let calls = [("search_web", json!({"queries": queries})), ("search_web", json!({"queries": ["one too many"]}))];
    let script = small().first(researcher(), [reply::calls(calls), reply::search(["one too many"])]);
    let world = world_of_one_page(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let answers = answers(&world);
    assert!(answers[1].contains("at most 18") && answers[1].contains("one too many"), "{}", answers[1]);
    assert!(!answers[1].contains("cannot be used"), "{}", answers[1]);
    assert_eq!((world.web.total(), story.warned(WarningCode::ModelMisuse).len()), (19, 0), "it runs in the next turn");
    world.finish();
}

/// The model can plan only with what it knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_researcher_sees_how_many_turns_remain() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().by(researcher(), search_for_ever)).await;
    research(&world, &database, &["max_react_tool_calls=3"]).await;
    let turns = world.models.calls_of(Kind::Researcher);
    assert!(turns[0].said_by("system")[0].contains("You have 3 turns."));
    assert!(turns[1].last_text().ends_with("2 turns remain."), "{}", turns[1].last_text());
    assert!(turns[2].last_text().contains("Only one turn remains"), "{}", turns[2].last_text());
    world.finish();
}

/// In the original reflections, refusals and error texts counted as findings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_are_findings_only() {
    let database = TestDatabase::sqlite();
    let script = small().first(
        When::kind(Kind::Supervisor),
        [reply::think("Secret plan: begin with dues."), reply::delegate(["The dues.", "The dues."])],
    );
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    let report = &world.models.calls_of(Kind::Report)[0];
    for noise in ["Reflection recorded", "Secret plan", "already called", "rounds remain", "turns remain"] {
        assert!(!report.says(noise), "the writer was shown {noise:?}");
    }
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// The original never looked at the stop reason: what the limit cut off was lost silently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compression_cut_by_the_output_limit_is_continued() {
    let database = TestDatabase::sqlite();
    // Half of it is sent: "- The gate is paid by harbour du".
    let cut = reply::text("- The gate is paid by harbour dues, they say; nobody knows more.").cut_by_length();
    let script = small().first(compression(), [cut, reply::text("dues and by a loan [S1001].")]);
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes[0].text, "- The gate is paid by harbour dues and by a loan [S1001].");
    let again = &world.models.calls_of(Kind::Compression)[1];
    assert_eq!(again.said_by("assistant").last().unwrap(), "- The gate is paid by harbour ");
    assert!(again.last_text().contains("Continue exactly where it stopped"));
    world.finish();
}

/// Four pieces are enough of one note.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_never_end_are_cut_with_a_warning() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(compression(), reply::text("word [S1001] ").cut_by_length())).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(world.models.count(Kind::Compression), 4);
    assert_eq!(story.warned(WarningCode::OutputCut), ["the notes were cut off by the output limit"]);
    let limit = format!("- Cut off at the model's output limit: “{}", beginning(&story.notes[0].topic));
    assert!(story.markdown().contains(&limit), "{}", story.markdown());
    world.finish();
}

/// With `require_think` a second search waits for the reflection on the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searching_unreflected_is_refused_when_reflection_is_required() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(When::kind(Kind::Supervisor), [reply::think("One topic will do."), reply::delegate(["The dues."])])
        .first(
            researcher(),
            [
                reply::search(["first"]),
                reply::search(["second"]),
                reply::think("The first was good."),
                reply::search(["third"]),
                reply::complete_research(),
            ],
        );
    let world = world_of_one_page(script).await;
    research(&world, &database, &["require_think=true"]).await;
    assert_eq!(world.web.queries(), ["first", "third"]);
    let refused = &answers(&world)[1];
    assert!(refused.contains("was not carried out") && !refused.contains("only call of a reply"), "{refused}");
    world.finish();
}

/// The original let a researcher finish from memory; ours refuses once, and takes it at its word after a search.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complete_before_any_search_is_refused() {
    let database = TestDatabase::sqlite();
    let script =
        small().first(researcher(), [reply::complete_research(), reply::search(["dues"]), reply::complete_research()]);
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert!(answers(&world)[0].contains("nothing has been retrieved"));
    assert_eq!((world.models.count(Kind::Researcher), world.web.total()), (3, 1));
    assert!(story.report.is_some());
    world.finish();
}

/// A model that cannot or will not call tools costs two turns; then its topic itself is searched.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_researcher_that_never_searches_has_its_topic_searched(database: TestDatabase) {
    let world = world_of_one_page(small().always(researcher(), reply::text("The gate was paid by the king."))).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Researcher);
    assert_eq!(turns.len(), 2);
    assert!(turns[1].last_text().contains("do not answer from memory"));
    assert_eq!(world.web.queries(), [turns[0].first_text().chars().take(400).collect::<String>()]);
    assert!(
        story.warned(WarningCode::ModelMisuse).iter().any(|detail| detail.contains("the topic itself is searched"))
    );
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// A word is an end; nothing at all is a mishap, and the same conversation would bring the same again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_reply_to_results_is_nudged_once() {
    let database = TestDatabase::sqlite();
    let replies = [reply::search(["dues"]), reply::empty(), reply::search(["loan"]), reply::empty()];
    let world = world_of_one_page(small().first(researcher(), replies)).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Researcher);
    assert_eq!((turns.len(), world.web.queries()), (4, vec!["dues".to_owned(), "loan".to_owned()]));
    assert!(turns[2].last_text().contains("Your last reply was empty"), "{}", turns[2].last_text());
    assert_eq!(turns[2].said_by("assistant").len(), turns[1].said_by("assistant").len(), "nothing was said");
    let silent = "the model answered the results of its tools with nothing";
    assert_eq!(story.warned(WarningCode::ModelMisuse), [silent], "the second silence is an end");
    assert!(story.report.is_some());
    world.finish();
}

/// So is one that was cut off before it called anything; what it said stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_that_was_cut_off_before_a_call_is_nudged_once() {
    let database = TestDatabase::sqlite();
    let cut = || reply::text("Next I want to know who lends, and").cut_by_length();
    let replies = [reply::search(["dues"]), cut(), reply::search(["loan"]), cut()];
    let world = world_of_one_page(small().first(researcher(), replies)).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Researcher);
    assert_eq!((turns.len(), world.web.queries()), (4, vec!["dues".to_owned(), "loan".to_owned()]));
    assert!(turns[2].last_text().contains("Your last reply was cut off"), "{}", turns[2].last_text());
    assert!(turns[2].said_by("assistant").iter().any(|text| text.contains("Next I want")));
    let [warned] = &story.warned(WarningCode::ModelMisuse)[..] else { panic!("{:?}", story.warnings()) };
    assert!(warned.contains("was cut off by the output limit"), "{warned}");
    assert!(story.report.is_some());
    world.finish();
}

/// Nobody can answer any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_reply_in_the_last_turn_is_an_end() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().first(researcher(), [reply::search(["dues"]), reply::empty()])).await;
    let story = research(&world, &database, &["max_react_tool_calls=2"]).await;
    assert_eq!(world.models.count(Kind::Researcher), 2);
    assert!(story.warned(WarningCode::ModelMisuse).is_empty() && story.warned(WarningCode::IterationLimit).is_empty());
    world.finish();
}

/// What a filter let through of an answer, half a sentence perhaps, is no note: the evidence itself stands in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_a_filter_withheld_are_not_taken() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().first(compression(), [withheld("- The gate is not pa")])).await;
    let story = research(&world, &database, &[]).await;
    let [note] = &story.notes[..] else { panic!("{:?}", story.notes) };
    assert!(note.text.contains("harbour dues of 4 crowns") && !note.text.contains("not pa"), "{}", note.text);
    let failed = story.warned(WarningCode::CompressionFailed);
    assert!(failed[0].ends_with("the provider's filter withheld the notes"), "{failed:?}");
    assert_eq!(world.models.count(Kind::Compression), 1);
    world.finish();
}

/// What came before the withheld piece was whole up to there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_whose_continuation_a_filter_withheld_end_before_it() {
    let database = TestDatabase::sqlite();
    let cut = reply::text("- By harbour dues [S1001], they say; nobody else knows more.").cut_by_length();
    let world = world_of_one_page(small().first(compression(), [cut, withheld("fines and by")])).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes[0].text, "- By harbour dues [S1001], ");
    assert_eq!(story.warned(WarningCode::OutputCut), ["the notes were cut off by the output limit"]);
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_filter_withheld_of_a_turn_is_no_part_of_the_conversation() {
    let database = TestDatabase::sqlite();
    let replies = [withheld("I would beg"), reply::search(["dues"]), withheld("The dues ar")];
    let world = world_of_one_page(small().first(researcher(), replies)).await;
    let story = research(&world, &database, &[]).await;
    let turns = world.models.calls_of(Kind::Researcher);
    assert_eq!(turns.len(), 3, "a refusal after results is an end");
    assert!(turns[1].last_text().contains("do not answer from memory"), "{}", turns[1].last_text());
    assert!(!turns[2].says("I would beg") && !world.models.calls_of(Kind::Compression)[0].says("The dues ar"));
    assert!(story.report.is_some());
    world.finish();
}

/// Half an answer that the provider's filter stopped.
fn withheld(text: &str) -> Reply {
    let message = json!({"role": "assistant", "content": text});
    let choices = json!([{"index": 0, "message": message, "finish_reason": "content_filter"}]);
    reply::body(200, &json!({"id": "c", "object": "chat.completion", "choices": choices}).to_string())
}

/// The original asked the research model's provider what an error of the compression model meant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compression_is_judged_by_its_own_model() {
    let database = TestDatabase::sqlite();
    let overflow = reply::body(
        400,
        r#"{"error":{"code":400,"message":"request (40034 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40034,"n_ctx":4096}}"#,
    );
    let script = small()
        .first(researcher(), [reply::search(["a", "b"]), reply::search(["c", "d"]), reply::complete_research()])
        .first(compression().and(When::model("small-local")), [overflow]);
    let world = World::start(script).await;
    let story = research(&world, &database, &["compression_model=openai:small-local"]).await;
    let calls = world.models.calls_of(Kind::Compression);
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.model() == "small-local"));
    assert!(calls[1].size_bytes < calls[0].size_bytes);
    assert_eq!(story.warned(WarningCode::Shortened).len(), 1);
    world.finish();
}

/// The original's recovery cut off the newest turn and the instruction itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shortening_keeps_the_instruction_and_every_message() {
    let database = TestDatabase::sqlite();
    let script = small()
        .first(researcher(), [reply::search(["a", "b"]), reply::search(["c", "d"]), reply::complete_research()])
        .first(compression(), [reply::context_overflow(4_096, 9_000)]);
    let world = World::start(script).await;
    research(&world, &database, &[]).await;
    let [before, after] = &world.models.calls_of(Kind::Compression)[..] else { panic!("one new try") };
    assert_eq!(before.messages().len(), after.messages().len());
    assert_eq!(before.last_text(), after.last_text());
    assert_eq!(before.said_by("system"), after.said_by("system"));
    assert_eq!(before.first_text(), after.first_text());
    assert!(after.said_by("tool").iter().any(|text| text.contains("characters left out")));
    let [whole, cut] = [before, after].map(|call| {
        let tags = |text: &str| ["<source id=", "</source>"].map(|tag| text.matches(tag).count());
        call.said_by("tool").iter().map(|text| tags(text)).collect::<Vec<_>>()
    });
    assert_eq!(whole, cut, "each page stands between its own tags");
    assert!(after.size_bytes < before.size_bytes);
    world.finish();
}

/// The original's notes doubled from turn to turn of a thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_turn_of_the_thread_has_records_of_its_own() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small()).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let first = engine.research(QUESTION).await;
    let next = engine.app.runs.reply(first.run.thread_id, "And who keeps the gate?", engine.options.clone()).await;
    let second = engine.tell(next.unwrap()).await;
    let next = engine.app.runs.reply(first.run.thread_id, "And who built it?", engine.options.clone()).await;
    let third = engine.tell(next.unwrap()).await;
    let authors = |story: &Story| story.notes.iter().map(|note| note.researcher).collect::<Vec<_>>();
    assert_eq!([&first, &second, &third].map(authors), [vec![1], vec![1, 2], vec![1, 2, 3]], "each note once");
    assert_eq!([&first, &second, &third].map(|story| story.sources.len()), [1, 1, 1]);
    let supervisors = world.models.calls_of(Kind::Supervisor);
    let firsts: Vec<_> = supervisors.iter().filter(|call| call.turns() == 0).collect();
    assert_eq!(firsts.iter().map(|call| call.messages().len()).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!(third.messages.len(), 6);
    engine.app.close().await;
    world.finish();
}

/// The last search counts, as in the original.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complete_beside_a_search_runs_the_search_first() {
    let database = TestDatabase::sqlite();
    let calls = [("ResearchComplete", json!({})), ("search_web", json!({"queries": ["dues"]}))];
    let world = world_of_one_page(small().first(researcher(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Researcher), world.web.total(), story.sources.len()), (1, 1, 1));
    world.finish();
}

/// A loop of equal calls (local-llm.md, trap 6) ends at the limit, and is paid to the search engine once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_repeated_for_ever_is_made_once() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(researcher(), reply::search(["dues"]))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Researcher), world.web.total()), (10, 1));
    assert!(answers(&world)[1..].iter().all(|answer| answer.contains("already called")));
    assert_eq!(story.notes.len(), 1);
    world.finish();
}

/// Models trained on the original call its tool by its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_other_systems_search_tools_are_understood() {
    let database = TestDatabase::sqlite();
    let calls = ["tavily_search", "web_search", "search"].map(|name| (name, json!({"queries": [name]})));
    let world = world_of_one_page(small().first(researcher(), [reply::calls(calls)])).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(world.web.total(), 3);
    assert!(story.warnings().is_empty());
    world.finish();
}

/// The original waited for its slowest researcher, however long. Ours gives each a time, and uses what it has by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_researcher_whose_time_is_over_keeps_what_it_has() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(researcher().and(When::turns(1)), reply::silence())).await;
    let story = research(&world, &database, &["max_researcher_seconds=1"]).await;
    assert!(story.markdown().contains("https://harbour.test/dues"));
    assert!(story.warned(WarningCode::ResearcherFailed)[0].contains("its findings so far are used"));
    world.finish();
}

/// A model call that fails for good after something was retrieved costs the rest of the search, not what is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_researcher_that_fails_in_the_middle_keeps_what_it_has() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(researcher().and(When::turns(1)), reply::status(400))).await;
    let story = research(&world, &database, &[]).await;
    assert!(story.markdown().contains("https://harbour.test/dues"));
    assert!(story.warned(WarningCode::ResearcherFailed)[0].contains("its findings so far are used"));
    world.finish();
}

/// Nothing is not a note: what was retrieved goes on as it is, with its ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compression_that_answers_with_nothing_leaves_the_evidence_itself() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(compression(), reply::text(" \n"))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes[0].text, "- Dues: The gate is paid by harbour dues of 4 crowns. [S1001]");
    assert!(story.warnings()[0].1.contains("used as they are"), "{:?}", story.warnings());
    world.finish();
}

/// A call in words, a refusal, an id of nothing that was found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_cite_nothing_leave_the_evidence_itself() {
    let call = r#"<tool_call>{"name": "search_web", "arguments": {"queries": ["dues"]}}</tool_call>"#;
    for text in [call, "I'm sorry, I can't help with that.", "The gate is paid by dues [S9009]."] {
        let world = world_of_one_page(small().always(compression(), reply::text(text))).await;
        let story = research(&world, &TestDatabase::sqlite(), &[]).await;
        assert_eq!(story.notes[0].text, "- Dues: The gate is paid by harbour dues of 4 crowns. [S1001]", "{text}");
        let failed = story.warned(WarningCode::CompressionFailed);
        assert!(failed[0].ends_with("the notes cite none of what was found"), "{failed:?}");
        world.finish();
    }
}

/// The original passed "Maximum retries exceeded" on as findings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compression_that_fails_leaves_the_evidence_itself() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(compression(), reply::status(503))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes[0].text, "- Dues: The gate is paid by harbour dues of 4 crowns. [S1001]");
    assert!(!world.models.calls_of(Kind::Report)[0].says("overloaded"), "an error is never a finding");
    world.finish();
}

/// What was paid for is not lost by a request that the provider does not take, nor by a model that it does not know.
#[test_case(400)]
#[test_case(404)]
#[test_case(422)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compression_that_is_refused_twice_leaves_the_evidence_itself(status: u16) {
    let database = TestDatabase::sqlite();
    let as_text = When::says("search_web answered:");
    let script = small().always(compression(), reply::status(status)).always(as_text, reply::status(status));
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.notes[0].text, "- Dues: The gate is paid by harbour dues of 4 crowns. [S1001]");
    let [detail] = story.warned(WarningCode::CompressionFailed)[..] else { panic!("{:?}", story.warnings()) };
    assert!(detail.contains("used as they are"), "{detail}");
    assert!(
        story.markdown().contains("- Made of excerpts, as the notes could not be written: "),
        "{}",
        story.markdown()
    );
    world.finish();
}

/// Some providers refuse the answers of tools in a request that offers none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_refuses_tool_messages_gets_the_same_as_text() {
    let has_tools =
        |call: &Call| call.body["messages"].as_array().is_some_and(|all| all.iter().any(|m| m["role"] == "tool"));
    // llama.cpp's status for what a template of Mistral's says.
    let template = json!({"error": {"code": 500, "message": "Jinja Exception: conversation roles must alternate."}});
    for refusal in [reply::status(400), reply::body(500, &template.to_string())] {
        let refuses = When::kind(Kind::Compression).and(When::matching(has_tools));
        let world = world_of_one_page(small().always(refuses, refusal)).await;
        let story = research(&world, &TestDatabase::sqlite(), &[]).await;
        assert!(story.warned(WarningCode::CompressionFailed).is_empty());
        assert_eq!((story.notes.len(), world.models.count(Kind::Compression)), (1, 1));
        let plain = world.models.calls_of(Kind::Report);
        let is_asked = plain.iter().any(|call| call.first_text().contains("search_web answered:"));
        assert!(is_asked, "asked once more, as text");
        world.finish();
    }
}

/// As the limits of a report begin to name a topic.
fn beginning(topic: &str) -> String {
    topic.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
