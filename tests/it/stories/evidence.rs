//! What of a page reaches the writer, in whose words, and what it costs.

use fathom::domain::{Event, claim::Verdict};
use serde_json::json;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Script, Shape, When, World, reply},
};

const FACT: &str = "The tide gate cost 412,000 crowns, which the harbour dues of Skelderwick pay.";
const DEEP: &str = "max_content_length=200000";

/// A page of 160,000 characters with one fact behind the first 80,000.
fn page() -> Page {
    let filler = "The weather was mild and the sea was calm, as on most days of that long and quiet year.\n\n";
    let half = filler.repeat(80_000 / filler.len() + 1);
    Page::new("https://island.test/chronicle", "Chronicle", &format!("{half}{FACT}\n\n{half}"))
}

/// Agents that know what they are shown, and nothing else.
fn script() -> Script {
    let knows = |call: &Call| call.says("412,000 crowns");
    Script::whole_run(Shape::SMALL)
        .by(When::kind(Kind::Summary), move |call| {
            let summary = if knows(call) { FACT } else { "Nothing." };
            reply::json(json!({"summary": summary, "key_excerpts": [summary]}))
        })
        .by(When::kind(Kind::Compression), move |call| {
            reply::text(if knows(call) { "- The gate cost 412,000 crowns [S1001]" } else { "- Nothing [S1001]" })
        })
        .by(When::kind(Kind::Report), move |call| {
            let quoted = call.says(&format!("Source: \"{FACT}\""));
            reply::text(if quoted {
                "# Gate\n\nThe gate cost 412,000 crowns [S1001]."
            } else {
                "# Gate\n\nNothing [S1001]."
            })
        })
}

async fn story(options: &[&str]) -> (Story, World) {
    let world = World::start(script()).await;
    world.web.always("", Found::Pages(vec![page()]));
    let story = research(&world, &TestDatabase::sqlite(), options).await;
    (story, world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fact_deep_in_a_page_reaches_the_report_with_its_quotation() {
    let (story, world) = story(&[DEEP]).await;
    assert!(story.markdown().contains("The gate cost 412,000 crowns [1]."), "{}", story.markdown());
    let citation = &story.report().citations[0];
    let passage = citation.passage.as_ref().unwrap();
    assert_eq!((citation.verdict, passage.text.as_str()), (Some(Verdict::Supported), FACT));
    assert!(passage.start > 80_000, "{passage:?}");
    let read = world.models.calls_of(Kind::Summary).remove(0);
    assert!(read.last_text().chars().count() < 20_000, "the whole page was sent");
    let [Event::SummaryFinished { chars_in, .. }] = story.named("summary.finished")[..] else {
        panic!("not read once")
    };
    assert!(*chars_in > 160_000);
    world.finish();
}

/// The same without a call for the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_need_no_model() {
    let (story, world) = story(&[DEEP, "page_reading=passages"]).await;
    assert_eq!(world.models.count(Kind::Summary), 0);
    assert!(story.markdown().contains("The gate cost 412,000 crowns [1]."), "{}", story.markdown());
    assert_eq!(story.named("summary.finished").len(), 1);
    world.finish();
}

/// Two sources that state a figure otherwise are a matter that the writer has to settle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sources_state_otherwise_is_put_to_the_writer() {
    let says = |crowns: &str| format!("The northern tide gate of the harbour cost {crowns} crowns in all.");
    let (one, other) = (says("412,000"), says("421,000"));
    let notes = format!("- {one} [S1001]\n- {other} [S1002]");
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Compression), reply::text(notes));
    let world = World::start(script).await;
    let pages = [("https://a.test/", &one), ("https://b.test/", &other)];
    world.web.always("", Found::Pages(pages.map(|(url, text)| Page::new(url, "Gate", text)).to_vec()));
    research(&world, &TestDatabase::sqlite(), &[]).await;
    let prompt = world.models.calls_of(Kind::Report).remove(0);
    assert!(prompt.says("<card id=\"S1001\" from=\"a.test\">"), "{}", prompt.last_text());
    assert!(prompt.says(&format!("- S1001: {one} Against S1002: {other}")), "{}", prompt.last_text());
    world.finish();
}

/// The benchmark's run, for which the original reads 330,000 prompt tokens. Its pages are short: 9,500 characters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_reads_fewer_tokens_than_the_originals() {
    let world = World::start(Script::whole_run(Shape::default())).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(world.models.total(), Shape::default().model_calls(5));
    assert!(story.usage.input_tokens < 280_000, "{}", story.usage.input_tokens);
    world.finish();
}
