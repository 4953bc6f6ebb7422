//! Context windows: measured before a call, recognised in every vendor's words, and nothing else taken for one.

use fathom::{
    domain::{FailureCode, LongPrompt, Price, WarningCode},
    llm::Facts,
};
use serde_json::json;
use test_case::test_case;

use super::{
    binary::{output, text},
    engine::{QUESTION, Story, research},
    spending::{known, priced},
};
use crate::{
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Script, Shape, When, World, brain, reply, reply::Tokens},
};

const ROLES: [Kind; 7] =
    [Kind::Clarify, Kind::Brief, Kind::Supervisor, Kind::Researcher, Kind::Summary, Kind::Compression, Kind::Report];

/// OpenAI; Anthropic, older and newer; llama.cpp; vLLM; Gemini; Mistral; OpenRouter; Together; Moonshot; TGI; Ollama;
/// LM Studio.
const WORDINGS: [(u16, &str); 13] = [
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140012 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length or `max_tokens` and try again"}}"#,
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"request (140034 tokens) exceeds the available context size (131072 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":140034,"n_ctx":131072}}"#,
    ),
    (
        400,
        r#"{"object":"error","message":"This model's maximum context length is 131072 tokens. However, you requested 140192 tokens (132000 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#,
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
    ),
    (
        422,
        r#"{"object":"error","message":"Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}"#,
    ),
    (
        400,
        r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (132000 of text input, 8000 in the output). Please reduce the length of either one.","code":400}}"#,
    ),
    (
        400,
        r#"{"error":{"message":"The input (140000 tokens) is longer than the model's context length (131072 tokens).","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)","type":"invalid_request_error"}}"#,
    ),
    (
        422,
        r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 131072. Given: 132000 `inputs` tokens and 8000 `max_new_tokens`","error_type":"validation"}"#,
    ),
    (400, r#"{"error":"prompt too long; exceeded max context length by 8928 tokens"}"#),
    (
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}"#,
    ),
];

/// OpenAI's and Azure's.
const WANTS_THE_NEWER_FIELD: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

/// Everything overflows for ever that is of this kind.
async fn always_overflowing(kind: Kind, database: &TestDatabase) -> (World, Story) {
    let world = World::start(small().always(When::kind(kind), reply::context_overflow(128_000, 140_000))).await;
    let story = research(&world, database, &[]).await;
    (world, story)
}

/// The original took any 400 of OpenAI that said "token" or "length" for an overflow, parameters included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_parameter_is_no_overflow() {
    let database = TestDatabase::sqlite();
    let refusal = reply::body(400, WANTS_THE_NEWER_FIELD);
    let world = World::start(small().always(When::kind(Kind::Report), refusal)).await;
    let story = research(&world, &database, &[]).await;
    story.failed_with(FailureCode::ModelRequest);
    assert!(story.failure().message.contains("max_completion_tokens"), "{}", story.failure());
    let sent = world.models.calls_of(Kind::Report);
    let fields: Vec<_> = sent.iter().map(|call| call.body.get("max_tokens").is_some()).collect();
    assert_eq!(fields, [true, false], "the other field is tried once");
    assert!(story.warned(WarningCode::Shortened).is_empty());
    world.finish();
}

/// The name of a deployment says nothing of its model: a run whose model refuses the usual field has its report, and
/// pays for one refused request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_wants_the_newer_field_is_refused_once() {
    let old = || When::matching(|call| call.body.get("max_tokens").is_some());
    let script = small().always(old(), reply::body(400, WANTS_THE_NEWER_FIELD));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert!(story.report.is_some(), "{:?}", story.ended);
    let refused =
        |kind| world.models.calls_of(kind).iter().filter(|call| call.body.get("max_tokens").is_some()).count();
    // Those of the first model; pages are summarised by another one.
    let kinds = [Kind::Clarify, Kind::Brief, Kind::Supervisor, Kind::Researcher, Kind::Compression, Kind::Report];
    assert_eq!(kinds.map(refused), [1, 0, 0, 0, 0, 0]);
    world.finish();
}

/// Nor is a model that does not exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_model_is_no_overflow() {
    let database = TestDatabase::sqlite();
    let world = World::start(small().always(When::kind(Kind::Report), reply::status(404))).await;
    let story = research(&world, &database, &["final_report_model=openai:gpt-9"]).await;
    story.failed_with(FailureCode::ModelRequest);
    assert!(story.failure().message.starts_with("openai:gpt-9 rejected the request"), "{}", story.failure());
    assert_eq!(world.models.count(Kind::Report), 1);
    world.finish();
}

/// The original missed Anthropic's newer words, took Gemini's quota for an overflow, and knew no other vendor. Every
/// role overflows once, in each vendor's words, and the run still ends with its report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_vendors_overflow_is_recognised_in_every_role() {
    for (status, body) in WORDINGS {
        let overflow = reply::body(status, body);
        let once = |script: Script, kind| script.first(When::kind(kind), [overflow.clone()]);
        let world = World::start(ROLES.into_iter().fold(small(), once)).await;
        let story = research(&world, &TestDatabase::sqlite(), &[]).await;
        assert!(story.report.is_some(), "{body}");
        for kind in ROLES {
            assert!(world.models.count(kind) >= 2, "{kind:?} was not tried again after {body}");
        }
        let odd: Vec<_> = story.warnings().into_iter().filter(|(code, _)| *code != WarningCode::Shortened).collect();
        assert!(odd.is_empty(), "{odd:?} after {body}");
        world.finish();
    }
}

/// In the original a model missing from its table meant an error text for a report, at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_model_has_a_cautious_window() {
    let database = TestDatabase::sqlite();
    let script = small().first(When::kind(Kind::Report), [reply::context_overflow(8_000, 9_000)]);
    let world = World::start(script).await;
    let model = "openai:made-up-for-this-test";
    let options = ["research_model", "final_report_model", "compression_model", "summarization_model"]
        .map(|option| format!("{option}={model}"));
    let story = research(&world, &database, &options.each_ref().map(String::as_str)).await;
    assert!(story.report.is_some());
    assert_eq!(world.models.count(Kind::Report), 2);
    world.finish();
}

/// Tokens of a text in which each Chinese character is one and four Latin ones are one: less than any tokenizer says.
fn least_tokens(call: &Call) -> usize {
    let text: String = ["system", "user", "assistant", "tool"].iter().flat_map(|role| call.said_by(role)).collect();
    let wide = text.chars().filter(|character| *character >= '\u{2E80}').count();
    wide + (text.chars().count() - wide) / 5
}

/// The original counted four characters a token, which for Chinese is wrong by a factor of four to six, and cut only
/// after the provider had refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chinese_findings_fit_before_they_are_sent() {
    let database = TestDatabase::sqlite();
    let note = format!("- {} [S1001]", "潮汐闸门由港口税支付。".repeat(900));
    let script = small()
        .first(When::kind(Kind::Supervisor), [reply::delegate(["一。", "二。", "三。"])])
        .always(When::kind(Kind::Compression), reply::text(note));
    let world = World::start(script).await;
    let text = "潮汐闸门由港口税支付。".repeat(2_000);
    world.web.always("", Found::Pages(vec![Page::new("https://harbour.test/zh", "港口", &text)]));
    let story = research(&world, &database, &["model_context_window=8192"]).await;
    for call in world.models.calls() {
        assert!(least_tokens(&call) <= 8_192, "{call:?} has {} tokens", least_tokens(&call));
    }
    assert!(!story.warned(WarningCode::Shortened).is_empty());
    assert_eq!(world.models.count(Kind::Report), 1);
    world.finish();
}

/// A run whose one note repeats `phrase`, with a window of 16,000 tokens; was that note in the writer's request, whole?
async fn noting(phrase: &str, times: usize, model: &str) -> (bool, Story) {
    let phrases = phrase.repeat(times);
    let script =
        small().always(When::kind(Kind::Compression), reply::text(format!("- {} [S1001]", phrases.trim_end())));
    let world = World::start(script).await;
    let model = format!("final_report_model={model}");
    let story = research(&world, &TestDatabase::sqlite(), &["model_context_window=16000", &model]).await;
    assert_eq!(world.models.count(Kind::Report), 1);
    let whole = world.models.calls_of(Kind::Report)[0].says(phrases.trim_end());
    world.finish();
    (whole, story)
}

fn shortened_reports(story: &Story) -> usize {
    story.warned(WarningCode::Shortened).iter().filter(|detail| detail.starts_with("report: ")).count()
}

/// Long common words are one token each, and estimated as three or four: 18,000 for 5,000.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_that_only_estimates_call_too_long_are_sent_whole() {
    let words = "International administration responsible government development ";
    let (whole, story) = noting(words, 1_000, "openai:gpt-4.1").await;
    assert!(whole && story.warned(WarningCode::Shortened).is_empty(), "{:?}", story.warnings());
    let (whole, story) = noting(words, 1_000, "openai:no-such-tokenizer").await;
    assert!(!whole && shortened_reports(&story) == 1, "{:?}", story.warnings());
}

/// These pictures are eleven tokens, and estimated as two: 27,500 in all, which no provider has to refuse first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_that_only_estimates_call_short_are_shortened_before_they_are_sent() {
    let (whole, story) = noting("🛟🪝🧭🚢 ", 2_500, "openai:gpt-4.1").await;
    assert!(!whole && shortened_reports(&story) == 1, "{:?}", story.warnings());
    let (whole, _) = noting("🛟🪝🧭🚢 ", 2_500, "openai:no-such-tokenizer").await;
    assert!(whole, "an estimate sees nothing to shorten");
}

/// Tables take time to load and stay in memory; a run far from its window needs none, however much it calls.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_run_near_its_window_loads_a_table() {
    let shape = Shape { researchers: 3, searches: 4, queries: 2, ..Shape::SMALL };
    for (options, loaded) in [(&[][..], 0), (&["--set", "model_context_window=6000"], 1)] {
        let world = World::start(Script::whole_run(shape)).await;
        let mut command = world.fathom(&[&["research", QUESTION][..], options].concat());
        let process = output(command.env("FATHOM_LOG", "fathom=debug")).await;
        let log = text(&process.stderr);
        assert_eq!(process.status.code(), Some(0), "{log}");
        assert!(world.models.total() > 20 && log.contains("DEBUG"), "{log}");
        assert_eq!(log.matches("loading the table of a tokenizer").count(), loaded, "{options:?}: {log}");
        world.finish();
    }
}

/// The original kept the head of all findings together: the last topics were lost completely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_topic_is_cut_off_whole() {
    let database = TestDatabase::sqlite();
    let topics = ["The first.", "The second.", "The third."];
    let script = small().first(When::kind(Kind::Supervisor), [reply::delegate(topics)]).by(
        When::kind(Kind::Compression),
        move |call| {
            let topic = call.first_text().into_owned();
            let source = topics.iter().position(|known| topic.contains(known)).map_or(0, |at| at + 1);
            let dues = "The gate is paid by harbour dues. ".repeat(400);
            reply::text(format!("- About {topic} {dues} [S{source}001]"))
        },
    );
    let world = World::start(script).await;
    let story = research(&world, &database, &["model_context_window=8192"]).await;
    let report = &world.models.calls_of(Kind::Report)[0];
    for topic in topics {
        assert!(report.says(&format!("- About {topic}")), "{topic} is gone");
    }
    assert!(report.says("# Citations"), "the instruction stays whole");
    assert!(story.warned(WarningCode::Shortened).iter().any(|detail| detail.starts_with("report: ")));
    world.finish();
}

/// The original sent whatever had gathered, and ended the research when it was too much. The smallest window with
/// which our prompts work at all is small, and no call exceeds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_window_never_overflows() {
    let database = TestDatabase::sqlite();
    let mut turn = 0..;
    let searches = std::array::from_fn::<_, 6, _>(|_| {
        let turn = turn.next().unwrap();
        reply::calls([("search_web", json!({"queries": [format!("a {turn}"), format!("b {turn}")]}))])
    });
    let world = World::start(small().first(When::kind(Kind::Researcher), searches)).await;
    let story = research(&world, &database, &["model_context_window=6000"]).await;
    for call in world.models.calls() {
        assert!(least_tokens(&call) <= 6_000, "{call:?} has {} tokens", least_tokens(&call));
    }
    assert!(story.warned(WarningCode::Shortened).iter().any(|detail| detail.starts_with("lead/1/r1/turn/")));
    assert!(story.report.is_some());
    world.finish();
}

/// Five tries, each shorter, then the reason: "use a larger model".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overflow_that_never_ends_is_a_typed_failure() {
    let database = TestDatabase::sqlite();
    let (world, story) = always_overflowing(Kind::Supervisor, &database).await;
    story.failed_with(FailureCode::ContextWindow);
    assert_eq!(world.models.count(Kind::Supervisor), 5);
    world.finish();
}

/// The same after all the work: nothing of it is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overflow_at_the_report_that_never_ends_keeps_the_notes() {
    let database = TestDatabase::sqlite();
    let (world, story) = always_overflowing(Kind::Report, &database).await;
    story.failed_with(FailureCode::ContextWindow);
    assert_eq!((world.models.count(Kind::Report), story.notes.len()), (5, 1));
    world.finish();
}

/// One refusal teaches all later calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_a_server_tells_is_remembered() {
    let database = TestDatabase::sqlite();
    let overflow = reply::context_overflow(4_000, 9_000);
    let script = small().first(
        When::kind(Kind::Researcher).and(When::turns(1)),
        [overflow, reply::search(["more"]), reply::complete_research()],
    );
    let world = World::start(script).await;
    let story = research(&world, &database, &["research_model=openai:m", "compression_model=openai:m"]).await;
    let later = world.models.calls_of(Kind::Compression);
    assert!(later.iter().all(|call| least_tokens(call) <= 4_000));
    assert!(story.warned(WarningCode::Shortened).len() >= 2);
    world.finish();
}

/// A gateway that tells nonsense: as large as the database can count, larger, and again in every call, so that the sums
/// would be larger still.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_that_no_model_can_have_used_end_no_run(database: TestDatabase) {
    for count in [i64::MAX as u64, u64::MAX] {
        let cost = Tokens { input: count, cached: count, output: count, reasoning: count };
        let script = Script::new().otherwise(move |call| brain::reply(Shape::SMALL, call).costing(cost));
        let world = World::start(script).await;
        let story = research(&world, &database, &[]).await;
        assert!(story.markdown().contains("[1]"));
        let calls = story.steps.iter().filter(|step| step.call.is_some()).count() as u64;
        assert_eq!(calls, world.models.total() as u64, "each was asked once");
        // Estimated: what the owner's budget counts, too.
        let counted = story.usage.input_tokens + story.usage.output_tokens;
        assert!((calls * 1_000..calls * 100_000).contains(&counted), "{counted} tokens of {calls} calls");
        world.finish();
    }
}

/// A model that thinks until its output limit and says nothing gets a higher one, twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_thinking_used_up_is_raised() {
    let silent = || reply::empty().cut_by_length();
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Report), [silent(), silent()]);
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["final_report_model_max_tokens=1000"]).await;
    assert_eq!(limits(&world, Kind::Report), [1_000, 2_000, 4_000]);
    assert!(story.warned(WarningCode::OutputCut)[0].contains("final_report_model_max_tokens"));
    assert_eq!(story.named("report.started").len(), 1);
    world.finish();
}

/// What one turn taught is known to the next ones, of the same role alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raised_limit_is_known_for_the_rest_of_the_run() {
    let silent = || reply::empty().cut_by_length();
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), [silent(), silent()]);
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["research_model_max_tokens=1000"]).await;
    let turns = limits(&world, Kind::Researcher);
    assert_eq!(turns[..3], [1_000, 2_000, 4_000]);
    assert!(turns.len() > 3 && turns[3..].iter().all(|limit| *limit == 4_000), "{turns:?}");
    assert_eq!(story.warned(WarningCode::OutputCut).len(), 2);
    assert!(limits(&world, Kind::Report).iter().all(|limit| *limit == 10_000), "it is another role");
    world.finish();
}

/// A report that is never begun costs few calls, and its failure names the option.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_of_thoughts_alone_fails_with_the_option_to_raise() {
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::empty().cut_by_length());
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["final_report_model_max_tokens=1000"]).await;
    story.failed_with(FailureCode::ModelOutput);
    assert!(story.failure().message.contains("final_report_model_max_tokens"), "{}", story.failure());
    assert_eq!(limits(&world, Kind::Report), [1_000, 2_000, 4_000, 4_000, 4_000]);
    world.finish();
}

/// The model cannot write more than that, however often the limit is raised: the same call is not paid for twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_is_raised_to_the_models_own_at_most() {
    let silent = || reply::empty().cut_by_length();
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), [silent(), silent()]);
    let world = World::start(script).await;
    let facts = Facts { max_output: Some(32_768), ..Facts::default() };
    let story = known(&world, &TestDatabase::sqlite(), &["research_model_max_tokens=20000"], facts).await;
    let turns = limits(&world, Kind::Researcher);
    assert!(turns[0] == 20_000 && turns[1..].iter().all(|limit| *limit == 32_768), "{turns:?}");
    let cut = story.warned(WarningCode::OutputCut);
    assert!(cut[0].contains("it gets more") && cut[1].contains("used its 32768 tokens"), "{cut:?}");
    assert!(!cut[1].contains("it gets more"), "{cut:?}");
    world.finish();
}

/// The same of a model of which that is not known: its provider says it when it refuses more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_is_raised_to_what_the_provider_says_at_most() {
    let error = json!({"type": "invalid_request_error", "message": "max_tokens is too large: 20000. This model supports \
        at most 16384 completion tokens, whereas you provided 20000."});
    let refused = reply::body(400, &json!({ "error": error }).to_string());
    let script =
        Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), [refused, reply::empty().cut_by_length()]);
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["research_model_max_tokens=20000"]).await;
    let turns = limits(&world, Kind::Researcher);
    assert!(turns[0] == 20_000 && turns[1..].iter().all(|limit| *limit == 16_384), "{turns:?}");
    let cut = story.warned(WarningCode::OutputCut);
    assert!(cut[0].contains("used its 16384 tokens") && !cut[0].contains("it gets more"), "{cut:?}");
    assert!(story.markdown().contains("[1]"));
    world.finish();
}

/// What one model would have needed says nothing of the one that stands in for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_stands_in_has_the_limit_that_was_set() {
    let replies = [reply::empty().cut_by_length(), reply::status(401)];
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies);
    let world = World::start(script).await;
    let options = ["research_model=openai:gpt-4.1,openai:gpt-4o", "research_model_max_tokens=1000"];
    let story = research(&world, &TestDatabase::sqlite(), &options).await;
    assert_eq!(story.warned(WarningCode::ModelReplaced).len(), 1);
    assert_eq!(limits(&world, Kind::Researcher)[..3], [1_000, 2_000, 1_000]);
    world.finish();
}

/// The output limits of the calls of a kind.
fn limits(world: &World, kind: Kind) -> Vec<u64> {
    let limit = |call: &Call| call.body["max_completion_tokens"].as_u64().or(call.body["max_tokens"].as_u64()).unwrap();
    world.models.calls_of(kind).iter().map(|call| limit(call)).collect()
}

/// A price that rises with the length of a prompt holds for each call: three short ones are no long one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_with_a_raised_limit_has_its_own_price() {
    const CALL: Tokens = Tokens { input: 1_000, cached: 0, output: 100, reasoning: 0 };
    let silent = || reply::empty().cut_by_length();
    let script = Script::new()
        .first(When::kind(Kind::Report), [silent().costing(CALL), silent().costing(CALL)])
        .otherwise(|call| brain::reply(Shape::SMALL, call).costing(CALL));
    let world = World::start(script).await;
    let long = LongPrompt { above: 1_500, input: 1_000.0, output: 1_000.0 };
    let price = Price { input: 1.0, output: 10.0, long: Some(long), ..Price::default() };
    let story = priced(&world, &TestDatabase::sqlite(), &[], price).await;
    assert!(story.markdown().contains("[1]"));
    // A thousand tokens at a millionth of a dollar each and a hundred at ten of them: two thousandths.
    let expected = world.models.total() as f64 * 0.002;
    let cost = story.usage.cost.expect("each model has a price").dollars();
    assert!((cost - expected).abs() < 1e-6, "{cost} of {expected}");
    world.finish();
}

/// What was written and paid for is a report, though its continuation cannot be had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_whose_continuation_fails_is_kept_as_far_as_it_came() {
    let text = format!("# Dues\n\nFour crowns pay for the gate [S1001]. {}", "The rest is a loan. ".repeat(4));
    let begun = reply::text(&text).cut_by_length();
    let continued = When::matching(|call| call.says("Four crowns pay") && call.turns() > 0);
    let script =
        Script::whole_run(Shape::SMALL).first(When::kind(Kind::Report), [begun]).always(continued, reply::status(400));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert!(story.markdown().contains("Four crowns pay for the gate [1]."), "{}", story.markdown());
    let cut = story.warned(WarningCode::OutputCut);
    assert!(cut.iter().any(|detail| detail.contains("could not be continued")), "{cut:?}");
    assert!(story.markdown().contains("Limits of this report"), "{}", story.markdown());
    world.finish();
}

/// The researcher's time ends while the model is asked again with more room: what it had answered is paid for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_raised_repetition_comes_too_late_is_paid_for() {
    const CALL: Tokens = Tokens { input: 1_000, cached: 0, output: 100, reasoning: 0 };
    let script = Script::new()
        .first(When::kind(Kind::Researcher), [reply::empty().cut_by_length().costing(CALL), reply::silence()])
        .otherwise(|call| brain::reply(Shape::SMALL, call).costing(CALL));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["max_researcher_seconds=2"]).await;
    let answered = (world.models.total() - 1) as u64;
    assert_eq!((story.usage.input_tokens, story.usage.output_tokens), (answered * 1_000, answered * 100));
    world.finish();
}

/// Research ends while an answer that its provider gave up on is asked for again: that one is paid for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_broken_answer_is_asked_for_again_too_late_is_paid_for() {
    const CALL: Tokens = Tokens { input: 1_000, cached: 0, output: 100, reasoning: 0 };
    let broken = json!({
        "choices": [{"message": {"role": "assistant", "content": "Deep"}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 100},
    });
    let script = Script::new()
        .first(When::kind(Kind::Researcher), [reply::body(200, &broken.to_string()), reply::silence()])
        .otherwise(|call| brain::reply(Shape::SMALL, call).costing(CALL));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &["max_run_seconds=10"]).await;
    assert!(world.models.count(Kind::Researcher) >= 2, "it was asked for again");
    let answered = (world.models.total() - 1) as u64;
    assert_eq!((story.usage.input_tokens, story.usage.output_tokens), (answered * 1_000, answered * 100));
    world.finish();
}

/// What a call took stays in the books when its repetition with a higher limit fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_raised_repetition_fails_is_paid_for() {
    const CALL: Tokens = Tokens { input: 1_000, cached: 0, output: 100, reasoning: 0 };
    let script = Script::new()
        .first(When::kind(Kind::Report), [reply::empty().cut_by_length().costing(CALL)])
        .always(When::kind(Kind::Report), reply::status(400))
        .otherwise(|call| brain::reply(Shape::SMALL, call).costing(CALL));
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    story.failed_with(FailureCode::ModelRequest);
    let refused = world.models.count(Kind::Report) - 1;
    let answered = (world.models.total() - refused) as u64;
    assert_eq!((story.usage.input_tokens, story.usage.output_tokens), (answered * 1_000, answered * 100));
    world.finish();
}
