//! Structured answers (clarification, brief): models that give none, broken ones, or none of the asked form; and the
//! clarifying question itself.

use fathom::{
    domain::{Event, FailureCode, MessageRole, Outcome, WarningCode},
    runs::Ended,
};
use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, research};
use crate::{
    database::TestDatabase,
    world::{Kind, Script, Shape, When, World, reply},
};

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

/// Any form in which the question may be put: schema, tool, or prompt.
fn asks_for(kind: Kind, words: &'static str) -> When {
    When::matching(move |call| call.kind == kind || call.first_text().contains(words))
}

fn clarify() -> When {
    asks_for(Kind::Clarify, "must the user be asked something first?")
}

fn brief() -> When {
    asks_for(Kind::Brief, "Turn it into one detailed, concrete research question.")
}

/// A brief whose one question is the user's.
fn brief_of(text: &str) -> Event {
    Event::BriefCreated { brief: text.to_owned(), sub_questions: vec![QUESTION.to_owned()] }
}

/// The original tried a wrong key three times, with waits between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_costs_one_request() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new().always(When::any(), reply::status(401))).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelAuth);
    assert_eq!(world.models.total(), 1);
    assert!(story.warnings().is_empty());
    world.finish();
}

/// What is wrong stays wrong: each form of asking once, and no waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_request_is_not_repeated() {
    let database = TestDatabase::sqlite();
    let body = r#"{"error":{"message":"The model `gpt-9` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
    let world = World::start(Script::new().always(When::any(), reply::body(404, body))).await;
    let story = research(&world, &database, &["allow_clarification=false"]).await;
    assert!(story.failure().message.contains("gpt-9"), "{}", story.failure());
    assert!(world.models.total() <= 4, "{} requests", world.models.total());
    assert!(story.warned(WarningCode::Retrying).is_empty());
    world.finish();
}

/// Down at the start: said after the time that the settings allow, and the run can be asked again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_provider_is_given_up_in_time() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::new().always(When::any(), reply::status(503))).await;
    let begin = std::time::Instant::now();
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelUnavailable);
    assert!(begin.elapsed().as_secs() < 10);
    assert!(story.warned(WarningCode::Retrying)[0].contains("trying again in"));
    world.finish();
}

/// The original crashed on a model that gave no structured value. A question is worth less than a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clarification_of_nothing_is_skipped() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(clarify(), reply::empty())).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.warned(WarningCode::StructuredOutputFailed).len(), 1);
    assert_eq!(world.models.calls()[..4].iter().filter(|call| call.says("asked something first?")).count(), 3);
    assert!(story.report.is_some());
    world.finish();
}

/// The user's words guide the research when no model can better them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_brief_of_nothing_is_the_users_own_words() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(brief(), reply::text("I cannot answer in JSON, sorry."))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.named("brief.created"), [&brief_of(QUESTION)]);
    assert!(story.warned(WarningCode::StructuredOutputFailed)[0].contains("no JSON object"));
    assert_eq!(world.models.calls_of(Kind::Supervisor)[0].first_text(), QUESTION);
    world.finish();
}

/// Of the right form, and still nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_brief_is_the_users_own_words() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(brief(), reply::brief("  "))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.named("brief.created"), [&brief_of(QUESTION)]);
    world.finish();
}

/// The model sees what it wrote and what is wrong with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_json_is_shown_to_the_model_and_repaired() {
    let database = TestDatabase::sqlite();
    let broken = reply::text("{\"research_brief\": \"Half a brief");
    let script = small().first(brief(), [broken, reply::brief("The whole brief.")]);
    let world = World::start(script).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(story.named("brief.created"), [&brief_of("The whole brief.")]);
    let repaired = world.models.calls_matching(|call| call.says("Half a brief"));
    assert_eq!(repaired.len(), 1);
    assert!(repaired[0].last_text().contains("the JSON is broken"), "{}", repaired[0].last_text());
    assert!(story.warnings().is_empty(), "what was repaired is nobody's loss");
    world.finish();
}

/// A server that knows no `response_format` knows tools.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_json_schema_is_asked_by_tool() {
    let database = TestDatabase::sqlite();
    let script = small()
        .always(When::matching(|call| call.schema_name().is_some()), reply::status(400))
        .by(brief().and(When::offers("answer")), |_| reply::brief("By tool."))
        .by(When::offers("answer"), |_| reply::json(json!({"summary": "Dues.", "key_excerpts": []})));
    let world = World::start(script).await;
    let story = research(&world, &database, &["allow_clarification=false"]).await;
    assert_eq!(story.named("brief.created"), [&brief_of("By tool.")]);
    assert!(story.warned(WarningCode::SummaryFailed).is_empty());
    world.finish();
}

/// One that knows neither reads, and is not asked in the other ways again. Requests that it refuses are no attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_tools_for_answers_is_asked_by_prompt() {
    let database = TestDatabase::sqlite();
    let script = small()
        .always(When::matching(|call| call.schema_name().is_some()), reply::status(400))
        .by(When::offers("answer"), |_| reply::status(400))
        .by(clarify(), |_| reply::text(r#"{"need_clarification": false, "question": "", "verification": "Clear."}"#))
        .by(brief(), |_| reply::text(r#"{"research_brief": "By prompt."}"#));
    let world = World::start(script).await;
    let story = research(&world, &database, &["max_structured_output_retries=1"]).await;
    let skipped = Event::ClarificationSkipped { verification: "Clear.".to_owned() };
    assert_eq!(story.named("clarification.skipped"), [&skipped]);
    assert_eq!(story.named("brief.created"), [&brief_of("By prompt.")]);
    assert_eq!(world.models.calls_matching(|call| call.says("research_brief")).len(), 1, "the way is known by then");
    world.finish();
}

/// `max_structured_output_retries` counts attempts in all, as in the original.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_those_of_the_option() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(brief(), reply::empty())).await;
    let options = ["allow_clarification=false", "max_structured_output_retries=5"];
    research(&world, &database, &options).await;
    assert_eq!(world.models.calls_matching(|call| call.says("one detailed, concrete research question")).len(), 5);
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clarification_switched_off_begins_with_the_brief() {
    let database = TestDatabase::sqlite();
    let world = World::start(small()).await;
    let story = research(&world, &database, &["allow_clarification=false"]).await;
    assert_eq!(world.models.calls()[0].kind, Kind::Brief);
    assert_eq!(world.models.count(Kind::Clarify), 0);
    assert!(story.named("clarification.skipped").is_empty());
    world.finish();
}

/// One call, one question, no brief; the answer starts a run that asks no more.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clarifying_question_ends_the_run_and_its_answer_starts_the_next(database: TestDatabase) {
    let world = World::start(small().always(clarify(), reply::ask_back("Which of its two gates?"))).await;
    let engine = Engine::start(&world, &database, &[]).await;
    let asked = engine.research(QUESTION).await;
    assert!(matches!(asked.ended, Ended::Completed(Outcome::Clarification)));
    assert_eq!(world.models.total(), 1);
    let last = asked.messages.last().unwrap();
    assert_eq!((last.role, last.content.as_str()), (MessageRole::Assistant, "Which of its two gates?"));
    assert_eq!(asked.named("input.required").len(), 1);
    assert!(asked.named("brief.created").is_empty());

    let next = engine.app.runs.reply(asked.run.thread_id, "The northern one.", engine.options.clone()).await;
    let answered = engine.tell(next.unwrap()).await;
    assert!(answered.report.is_some());
    assert_eq!(world.models.count(Kind::Clarify), 1, "one question per thread");
    let brief = world.models.calls_of(Kind::Brief)[0].last_text().into_owned();
    let conversation = format!("Human: {QUESTION}\nAI: Which of its two gates?\nHuman: The northern one.");
    assert!(brief.contains(&conversation), "{brief}");
    assert!(world.models.calls_of(Kind::Report)[0].says(&conversation));
    engine.app.close().await;
    world.finish();
}

/// Nobody could answer it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_empty_is_no_question() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(clarify(), reply::ask_back(" "))).await;
    let story = research(&world, &database, &[]).await;
    assert!(story.report.is_some());
    world.finish();
}

/// `max_clarifications=0` is as good as switching it off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_question_is_asked_when_none_is_allowed() {
    let database = TestDatabase::sqlite();
    let world = World::start(small()).await;
    research(&world, &database, &["max_clarifications=0"]).await;
    assert_eq!(world.models.calls()[0].kind, Kind::Brief);
    world.finish();
}

/// As in the original, the brief is written from the chat and the verification behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_is_part_of_the_conversation_the_brief_is_made_of() {
    let database = TestDatabase::sqlite();
    let world = World::start(small()).await;
    let story = research(&world, &database, &[]).await;
    let brief = world.models.calls_of(Kind::Brief)[0].last_text().into_owned();
    assert!(brief.contains(&format!("Human: {QUESTION}\nAI: The question is clear; research starts now.")), "{brief}");
    assert_eq!(story.messages.len(), 2, "the verification is an event, the report the answer");
    world.finish();
}
