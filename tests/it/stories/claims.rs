//! What a report says is held against what its sources say.

use fathom::domain::{Event, WarningCode, claim::Verdict};
use serde_json::json;
use test_case::test_case;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

const PAGE: &str = "The gate cost 412,000 crowns and was opened on 14 November 2030. Harbour dues pay for it.";
const TRUE: &str = "# Gate\n\nThe gate cost 412,000 crowns [S1001]. Harbour dues pay [S1001].";
const ALTERED: &str = "# Gate\n\nThe gate cost 413,000 crowns [S1001]. Harbour dues pay [S1001].";

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![Page::new("https://harbour.test/gate", "Gate", PAGE)]));
    world
}

fn script(report: &str) -> Script {
    Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(report))
}

fn body(story: &Story) -> &str {
    story.markdown().split("\n\n### Sources").next().unwrap()
}

fn verdicts(story: &Story) -> Vec<Verdict> {
    story.report().claims.iter().map(|claim| claim.verdict).collect()
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_says_what_its_sources_say_is_supported(database: TestDatabase) {
    let world = world(script(TRUE)).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(verdicts(&story), [Verdict::Supported, Verdict::NotCheckable]);
    let citation = &story.report().citations[0];
    assert_eq!(citation.verdict, Some(Verdict::Supported));
    assert!(citation.passage.as_ref().unwrap().text.starts_with("The gate cost 412,000 crowns"));
    assert_eq!(world.models.count(Kind::Repair), 0);
    assert!(!story.markdown().contains("Limits of this report"));
    let [Event::ClaimsChecked { counts, .. }] = story.named("claims.checked")[..] else { panic!("not checked once") };
    assert_eq!((counts.supported, counts.not_checkable), (1, 1));
    world.finish();
}

/// One digit is wrong, and the writer gets one chance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_figure_is_written_once_more() {
    let database = TestDatabase::sqlite();
    let repair = reply::json(json!({"statements": [
        {"number": 1, "text": "The gate cost 412,000 crowns [S1001]."},
        {"number": 7, "text": "Nobody asked [S1001]."},
    ]}));
    let world = world(script(ALTERED).always(When::kind(Kind::Repair), repair)).await;
    let story = research(&world, &database, &[]).await;
    let limits = "## Limits of this report\n\n- Statements written once more, as their sources did not hold them: 1";
    let text = "# Gate\n\nThe gate cost 412,000 crowns [1]. Harbour dues pay [1].";
    assert_eq!(body(&story), format!("{text}\n\n{limits}"));
    assert_eq!(verdicts(&story), [Verdict::Supported, Verdict::NotCheckable]);
    let [Event::ClaimsChecked { repaired: 1, .. }] = story.named("claims.checked")[..] else { panic!("not counted") };
    let prompt = world.models.calls_of(Kind::Repair).pop().unwrap();
    assert!(prompt.last_text().contains("Not found in its sources: 413,000") && prompt.last_text().contains(PAGE));
    world.finish();
}

/// Of two wrong figures the writer writes one once more, right or wrong.
#[test_case("412,000", "1\n- Stated here, but not found in the cited sources: 77 (1)\n"; "right")]
#[test_case("414,000", "1 (still not found there: 1)\n- Stated here, but not found in the cited sources: 414,000 (1); 77"; "wrong")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limits_say_how_many_statements_were_repaired_and_how_many_were_not(crowns: &str, expected: &str) {
    let report = format!("{ALTERED} It has 77 towers [S1001].");
    let text = format!("The gate cost {crowns} crowns [S1001].");
    let repair = reply::json(json!({"statements": [{"number": 1, "text": text}]}));
    let world = world(script(&report).always(When::kind(Kind::Repair), repair)).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let limits = format!("did not hold them: {expected}");
    assert!(story.markdown().contains(&limits), "{}", story.markdown());
    world.finish();
}

/// A statement that no longer cites what it was held against is the fault once more, out of sight.
#[test_case("The gate cost 413,000 crowns."; "without its source")]
#[test_case("The gate cost 413,000 crowns [S1002]."; "with another source")]
#[test_case("The mayor is a crook and the harbour sank [S1001]."; "with another matter")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_that_cites_otherwise_repairs_nothing(text: &str) {
    let repair = reply::json(json!({"statements": [{"number": 1, "text": text}]}));
    let world = world(script(ALTERED).always(When::kind(Kind::Repair), repair)).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(verdicts(&story), [Verdict::NotSupported, Verdict::NotCheckable]);
    assert!(story.markdown().contains("not found in the cited sources: 413,000 (1)"), "{}", story.markdown());
    world.finish();
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_wrong_is_marked(database: TestDatabase) {
    let world = world(script(ALTERED).always(When::kind(Kind::Repair), reply::status(400))).await;
    let story = research(&world, &database, &[]).await;
    assert_eq!(verdicts(&story), [Verdict::NotSupported, Verdict::NotCheckable]);
    assert_eq!(story.report().claims[0].missing, ["413,000"]);
    let limits =
        "## Limits of this report\n\n- Stated here, but not found in the cited sources: 413,000 (1)\n\n### Sources";
    assert!(story.markdown().contains(limits), "{}", story.markdown());
    assert!(story.warned(WarningCode::CheckFailed)[0].contains("marked"));
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_checked_when_nobody_wants_it() {
    let world = world(script(ALTERED)).await;
    let story = research(&world, &TestDatabase::sqlite(), &["verify=off"]).await;
    assert_eq!((story.report().claims.len(), world.models.count(Kind::Repair)), (0, 0));
    assert!(story.named("claims.checked").is_empty());
    world.finish();
}

/// A long report has more statements than a model is asked about; what code says of the rest stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_beyond_those_that_are_judged_keep_the_verdict_of_code() {
    let report = format!("# Gate\n\n{}", "- The gate cost 412,000 crowns [S1001].\n".repeat(125));
    let verdicts: Vec<_> =
        (1..=12).map(|number| json!({"number": number, "verdict": "supported", "reason": ""})).collect();
    let judged = reply::json(json!({"verdicts": verdicts}));
    let world = world(script(&report).always(When::kind(Kind::Judgement), judged)).await;
    let story = research(&world, &TestDatabase::sqlite(), &["verify=claims"]).await;
    assert_eq!(world.models.count(Kind::Judgement), 10);
    let claims = &story.report().claims;
    assert_eq!((claims.len(), claims.iter().all(|claim| claim.verdict == Verdict::Supported)), (125, true));
    assert!(story.warned(WarningCode::CheckFailed)[0].starts_with("5 statements beyond the first 120"));
    world.finish();
}

/// The right figure of another matter: only a reader, or a model, sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_judges_statements_by_their_passages() {
    let swapped = "# Gate\n\nThe dues are 412,000 crowns [S1001]. Harbour dues pay [S1001].";
    let judged = reply::json(json!({"verdicts": [
        {"number": 1, "verdict": "not_supported", "reason": "It is the cost of the gate."},
        {"number": 2, "verdict": "supported", "reason": ""},
    ]}));
    let world_judging = world(script(swapped).always(When::kind(Kind::Judgement), judged)).await;
    let claims = ["verify=claims"];
    let story = research(&world_judging, &TestDatabase::sqlite(), &claims).await;
    assert_eq!(verdicts(&story), [Verdict::NotSupported, Verdict::Supported]);
    assert_eq!(story.report().claims[0].reason.as_deref(), Some("It is the cost of the gate."));
    assert!(story.markdown().contains("not found in the cited sources: “The dues are 412,000 crowns” (1)"));
    world_judging.finish();

    // Who cannot be asked has not said no.
    let world_away = world(script(TRUE).always(When::kind(Kind::Judgement), reply::status(400))).await;
    let story = research(&world_away, &TestDatabase::sqlite(), &claims).await;
    assert_eq!(verdicts(&story), [Verdict::NotCheckable, Verdict::NotCheckable]);
    assert!(!story.warned(WarningCode::CheckFailed).is_empty());
    world_away.finish();
}
