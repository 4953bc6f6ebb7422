//! The report: what can go wrong while it is written, and that an error is never its text.

use fathom::domain::{Event, FailureCode, WarningCode};
use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Reply, Script, Shape, When, World, reply},
};

fn writer() -> When {
    When::kind(Kind::Report)
}

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

/// The attempts at the report that readers saw begin.
fn attempts(story: &super::engine::Story) -> Vec<u32> {
    let attempt = |event: &&Event| match event {
        Event::ReportStarted { attempt } => Some(*attempt),
        _ => None,
    };
    story.named("report.started").iter().filter_map(attempt).collect()
}

/// One page, cited as S1001, so that a scripted report can cite it.
async fn world_of_one_page(script: Script) -> World {
    let world = World::start(script).await;
    let page = Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    world
}

/// A report without its list of sources.
fn body(story: &super::engine::Story) -> &str {
    story.markdown().split("\n\n### Sources").next().unwrap()
}

/// The original stored "Error generating final report" as the report of a successful run, and cleared the notes.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_cannot_be_written_fails_the_run_and_keeps_the_notes(database: TestDatabase) {
    let world = world_of_one_page(small().always(writer(), reply::status(503))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelUnavailable);
    assert_eq!((story.notes.len(), story.sources.len()), (1, 1));
    assert!(story.warned(WarningCode::Retrying).len() >= 3);
    assert!(story.named("report.delta").is_empty());
    world.finish();
}

/// An empty text is no report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_of_nothing_is_asked_for_again_and_then_a_failure() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(writer(), reply::text("  \n"))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelOutput);
    assert_eq!((world.models.count(Kind::Report), attempts(&story).len()), (3, 3));
    world.finish();

    let again = world_of_one_page(small().first(writer(), [reply::empty()])).await;
    let story = research(&again, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(attempts(&story), [1, 2]);
    assert!(story.markdown().contains("[1]"));
    again.finish();
}

/// In the original a single 500 after all the work was the end of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_error_costs_a_moment() {
    let database = TestDatabase::sqlite();
    let world =
        world_of_one_page(small().first(writer(), [reply::status(500), reply::html(), reply::status(502)])).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Report), attempts(&story)), (4, vec![1]));
    assert_eq!(story.warned(WarningCode::Retrying).len(), 3);
    world.finish();
}

/// Retry-After is a promise: no sooner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_is_waited_out_as_asked() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().first(writer(), [reply::status(429).retry_after(1)])).await;
    let story = research(&world, &database, &[]).await;
    let calls = world.models.calls_of(Kind::Report);
    assert!((calls[1].received_at - calls[0].received_at).as_millis() >= 1_000);
    assert!(story.warned(WarningCode::RateLimited)[0].contains("trying again in 1.0 s"));
    world.finish();
}

/// Readers have seen half a text: a new attempt tells them to drop it, and the deltas of that attempt are the report.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_is_written_again(database: TestDatabase) {
    let text = "The gate is paid by harbour dues [S1001]. ".repeat(60);
    let script = small().first(writer(), [reply::text(&text).cut_after(8_000), reply::text(&text)]);
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Report), attempts(&story)), (2, vec![1, 2]));
    assert!(story.warned(WarningCode::Retrying)[0].contains("written again"));
    assert_eq!(story.report().citations.len(), 60);
    world.finish();
}

/// A provider that is overloaded for a while says so in the stream, and costs a pause and not the run. An empty answer
/// in between is another trouble, which has a bound of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_four_times_loses_no_run() {
    let database = TestDatabase::sqlite();
    let text = "The gate is paid by harbour dues [S1001]. ".repeat(60);
    let broken = (0..4).map(|_| reply::text(&text).cut_after(8_000));
    let script = small().first(writer(), broken.chain([reply::empty(), reply::text(&text)]));
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((world.models.count(Kind::Report), attempts(&story)), (6, vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(story.report().citations.len(), 60);
    world.finish();
}

/// The original delivered what fitted into 10,000 tokens as if it were the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_cut_by_the_output_limit_is_continued() {
    let database = TestDatabase::sqlite();
    let sent = "# Dues\n\nThe gate is paid by du";
    let first = reply::text(format!("{sent}{}", "x".repeat(sent.len()))).cut_by_length();
    let rest = reply::text("dues [S1001]. It is enough.");
    let script = small().first(writer(), [first]).always(When::last_says("Continue exactly where it stopped"), rest);
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(body(&story), "# Dues\n\nThe gate is paid by dues [1]. It is enough.");
    assert_eq!(attempts(&story), [1]);
    let again = &world.models.calls_of(Kind::Compression).pop().unwrap();
    assert_eq!(again.said_by("assistant"), ["# Dues\n\nThe gate is paid by "]);
    world.finish();
}

/// Models send a few characters at a time: what ends in the middle of a word or citation is not shown, and comes whole.
#[test_case("The gate is dear, unbeliev", "unbelievable [S1001].", "The gate is dear, unbelievable [1]."; "word")]
#[test_case("The gate is paid by dues [S100", "[S1001]. More.", "The gate is paid by dues [1]. More."; "citation")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_word_cut_by_the_output_limit_is_written_once(sent: &str, rest: &str, expected: &str) {
    let two = sent.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).unwrap());
    let script = small()
        .first(writer(), [streamed(two, "length")])
        .always(When::last_says("Continue exactly where it stopped"), reply::text(rest));
    let world = world_of_one_page(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!((body(&story), attempts(&story)), (expected, vec![1]));
    world.finish();
}

/// The pieces that are finished are not written again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continuation_that_breaks_starts_again_with_what_is_written() {
    let database = TestDatabase::sqlite();
    let continues = || When::last_says("Continue exactly where it stopped");
    let script = small()
        .first(writer(), [reply::text("One two three four five six seven eight nine ten.").cut_by_length()])
        .first(continues(), [reply::text("five six [S1001]. ".repeat(30)).cut_after(3_000)])
        .always(continues(), reply::text("five six [S1001]."));
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(body(&story), "One two three four five six [1].");
    assert_eq!(attempts(&story), [1, 2]);
    assert_eq!(world.models.count(Kind::Report), 1);
    world.finish();
}

/// Six pieces are a book already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_never_ends_is_cut_with_a_warning() {
    let database = TestDatabase::sqlite();
    let endless = || reply::text("dues and dues and dues and dues ").cut_by_length();
    let script = small().always(writer(), endless()).always(When::last_says("Continue exactly"), endless());
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.warned(WarningCode::OutputCut), ["the report was cut off by the output limit"]);
    let limit = "- Cut off at the model's output limit: the end of this report\n";
    assert!(story.markdown().contains(limit), "{}", story.markdown());
    let calls = world.models.calls_matching(|call| call.is_streamed());
    assert_eq!(calls.len(), 6);
    world.finish();
}

/// The original took a wrong key for a text too long, tried four times and reported "Maximum retries exceeded".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_at_the_report_is_called_so_at_once() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(writer(), reply::status(401))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelAuth);
    assert!(story.failure().message.contains("refused the API key"), "{}", story.failure());
    assert_eq!((world.models.count(Kind::Report), story.notes.len()), (1, 1));
    world.finish();
}

/// The model's own reason, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_refused_by_the_model_fails_the_run_in_its_words() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(writer(), reply::refusal("I do not write about gates."))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelRefused);
    assert!(story.failure().message.contains("I do not write about gates."));
    assert_eq!(world.models.count(Kind::Report), 1);
    world.finish();
}

/// A stream of these pieces of text, which ends for that reason.
fn streamed<'a>(pieces: impl IntoIterator<Item = &'a str>, reason: &str) -> Reply {
    let chunk = |delta: serde_json::Value, finish: Option<&str>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": choices}))
    };
    let text: String =
        pieces.into_iter().map(|text| chunk(json!({"role": "assistant", "content": text}), None)).collect();
    reply::events(&format!("{text}{}data: [DONE]\n\n", chunk(json!({}), Some(reason))))
}

/// A stream of that text which the provider's filter ends.
fn filtered(text: &str) -> Reply {
    streamed([text], "content_filter")
}

/// What is there is shown, with the warning that the rest was withheld; nothing at all is a failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_cut_off_by_the_providers_filter_says_so() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small().always(writer(), filtered("The gate is paid by dues [S1001]. And"))).await;
    let story = research(&world, &database, &[]).await;
    assert!(body(&story).starts_with("The gate is paid by dues [1]."));
    assert_eq!(story.warned(WarningCode::OutputCut), ["the report was cut off by the provider's filter"]);
    let said = "- Withheld by the provider's filter: the end of this report\n";
    assert!(story.markdown().contains(said), "its readers do not see the events: {}", story.markdown());
    world.finish();

    let nothing = world_of_one_page(small().always(writer(), filtered(""))).await;
    let story = research(&nothing, &TestDatabase::sqlite(), &[]).await;
    story.failed_with(FailureCode::ModelRefused);
    assert_eq!(nothing.models.count(Kind::Report), 1);
    nothing.finish();
}

/// An idle time limit ends it; the report is written again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_stalls_is_no_hang() {
    let database = TestDatabase::sqlite();
    let text = "The gate is paid by harbour dues [S1001]. ".repeat(60);
    let script = small().first(writer(), [reply::text(&text).stall_after(8_000), reply::text(&text)]);
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(attempts(&story), [1, 2]);
    world.finish();
}

/// Each silence costs minutes: the third is the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_always_stalls_is_given_up() {
    let database = TestDatabase::sqlite();
    let text = "The gate is paid by harbour dues [S1001]. ".repeat(60);
    let world = world_of_one_page(small().always(writer(), reply::text(text).stall_after(8_000))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::Timeout);
    assert_eq!((attempts(&story), story.notes.len()), (vec![1, 2, 3], 1));
    world.finish();
}

/// llama.cpp's, where calls share the room for their tokens: it may be there once the others are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_room_for_the_rest_of_a_report_is_asked_again() {
    let full = || {
        let begun = json!({"choices": [{"index": 0, "delta": {"content": "The gate is paid by"}}]});
        let error = json!({"code": 500, "message": "Context size has been exceeded.", "type": "server_error"});
        reply::events(&format!("data: {begun}\n\ndata: {}\n\n", json!({ "error": error })))
    };
    let whole = reply::text("The gate is paid by dues [S1001].");
    let world = world_of_one_page(small().first(writer(), [full(), full(), whole])).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!((body(&story), attempts(&story)), ("The gate is paid by dues [1].", vec![1, 2, 3]));
    world.finish();

    let world = world_of_one_page(small().always(writer(), full())).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    story.failed_with(FailureCode::ContextWindow);
    assert_eq!(attempts(&story), [1, 2, 3]);
    world.finish();
}

/// Thinking text is neither shown nor kept, in whichever of its forms it comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_thinks_and_nobody_sees_it() {
    let database = TestDatabase::sqlite();
    let text = "<think>\nThe user wants S1001.\n</think>\n\nPaid by dues [S1001].";
    let world = world_of_one_page(small().always(writer(), reply::text(text).thinking("Hmm, dues."))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(body(&story), "Paid by dues [1].");
    world.finish();
}

/// Some templates put the opening tag into the prompt: what comes before the closing one has been shown as it came, so
/// the text begins again without it, also where an output limit cuts it in two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_that_nothing_opened_is_taken_back() {
    let database = TestDatabase::sqlite();
    let thoughts = "The user wants S1001, in one sentence.\n</think>\n\n";
    let half = format!("{thoughts}Paid by dues [S1001], and half");
    let script = small().first(writer(), [streamed([half.as_str()], "length")]).always(
        When::last_says("Continue exactly where it stopped"),
        reply::text(format!("{thoughts}by nobody else.")),
    );
    let world = world_of_one_page(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!((body(&story), attempts(&story)), ("Paid by dues [1], and by nobody else.", vec![1, 2, 3]));
    let again = world.models.calls_of(Kind::Compression).pop().unwrap();
    assert_eq!(again.said_by("assistant"), ["Paid by dues [S1001], and "], "it goes on from the text alone");
    world.finish();

    let goes_on = || When::last_says("Continue exactly where it stopped");
    let script = small().first(writer(), [streamed(["The user wants S1001, and"], "length")]);
    let script = script.first(goes_on(), [streamed([half.as_str()], "length")]);
    let world = world_of_one_page(script.always(goes_on(), reply::text(format!("{thoughts}by nobody else.")))).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(body(&story), "Paid by dues [1], and by nobody else.", "the first piece began that thinking");
    let again = world.models.calls_of(Kind::Compression).pop().unwrap();
    assert_eq!(again.said_by("assistant"), ["Paid by dues [S1001], and "]);
    world.finish();
}

/// A report may be about such tags: what begins with a title is none of it thinking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_about_closing_tags_keeps_its_first_half() {
    let goes_on = || When::last_says("Continue exactly where it stopped");
    let script = small().first(writer(), [streamed(["# Tags\n\nPaid by dues [S1001], and"], "length")]);
    let world = world_of_one_page(script.always(goes_on(), reply::text(" closed by\n</think>\nas a rule."))).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let written = story.markdown();
    assert!(written.starts_with("# Tags\n\nPaid by dues [1], closed by\n\\</think>\nas a rule.\n"), "{written}");
    assert_eq!(attempts(&story), [1], "nothing is taken back");
    world.finish();
}

/// A retry does not take over what was no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_alone_is_no_answer_to_a_retry_either() {
    let thoughts = "The user wants S1001, in one sentence.\n</think>\n\n";
    let world = world_of_one_page(small().always(writer(), reply::text(thoughts))).await;
    let database = TestDatabase::sqlite();
    let engine = Engine::start(&world, &database, &[]).await;
    let failed = engine.research(QUESTION).await;
    failed.failed_with(FailureCode::ModelOutput);
    world.models.follow(small().always(writer(), reply::text("Paid by dues [S1001].")));
    let next = engine.app.runs.retry_here(failed.run.id, engine.options.clone()).await.unwrap();
    let story = engine.tell(next).await;
    assert_eq!(body(&story), "Paid by dues [1].");
    engine.app.close().await;
    world.finish();
}

/// All the writer needs, in one message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_gets_brief_chat_findings_and_date() {
    let database = TestDatabase::sqlite();
    let world = world_of_one_page(small()).await;
    let story = research(&world, &database, &[]).await;
    let [call] = &world.models.calls_of(Kind::Report)[..] else { panic!("one call") };
    assert_eq!(call.messages().len(), 1);
    let brief = match story.named("brief.created")[..] {
        [Event::BriefCreated { brief, .. }] => brief,
        _ => panic!("one brief"),
    };
    let note = story.notes[0].text.lines().last().unwrap();
    for part in ["Human: How does the harbour", brief, note, "[S1001] Dues", "Today is "] {
        assert!(call.says(part), "{part:?} is missing");
    }
    assert!(!call.says("https://"), "the writer sees ids, never addresses");
    world.finish();
}
