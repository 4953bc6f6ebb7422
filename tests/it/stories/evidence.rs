//! What of a page reaches the writer, in whose words, and what it costs.

use std::time::Duration;

use fathom::domain::{Event, claim::Verdict};
use serde_json::json;
use test_case::test_case;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Call, Found, Kind, Page, Reply, Script, Shape, When, World, brain, prose, reply},
};

const FACT: &str = "The tide gate cost 412,000 crowns, which the harbour dues of Skelderwick pay.";

/// So many characters of weather, at least.
fn weather(chars: usize) -> String {
    let filler = "The weather was mild and the sea was calm, as on most days of that long and quiet year.\n\n";
    filler.repeat(chars / filler.len() + 1)
}

/// A page with one fact behind so many characters, and 80,000 behind it.
fn page(before: usize) -> Page {
    let text = format!("{}{FACT}\n\n{}", weather(before), weather(80_000));
    Page::new("https://island.test/chronicle", "Chronicle", &text)
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

async fn story(before: usize, options: &[&str]) -> (Story, World) {
    let world = World::start(script()).await;
    world.web.always("", Found::Pages(vec![page(before)]));
    let story = research(&world, &TestDatabase::sqlite(), options).await;
    (story, world)
}

#[test_case(80_000)]
#[test_case(1_800_000)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fact_deep_in_a_page_reaches_the_report_with_its_quotation(before: usize) {
    let (story, world) = story(before, &[]).await;
    assert!(story.markdown().contains("The gate cost 412,000 crowns [1]."), "{}", story.markdown());
    let citation = &story.report().citations[0];
    let passage = citation.passage.as_ref().unwrap();
    assert_eq!((citation.verdict, passage.text.as_str()), (Some(Verdict::Supported), FACT));
    assert!(passage.start > before, "{passage:?}");
    let read = world.models.calls_of(Kind::Summary).remove(0);
    assert!(read.last_text().chars().count() < 20_000, "the whole page was sent");
    let [Event::SummaryFinished { chars_in, .. }] = story.named("summary.finished")[..] else {
        panic!("not read once")
    };
    assert!(*chars_in > before + 80_000);
    world.finish();
}

const STATION: &str = "The pumping station took 77 days to build.";
const KEEPER: &str = "The lighthouse keeper earned nine crowns a week.";

/// A long page with both facts, far apart.
fn year() -> Page {
    let harbour =
        "The harbour of Skelderwick pays for its tide gate by dues, as the harbour office says.\n\n".repeat(900);
    Page::new("https://island.test/year", "Year", &format!("{harbour}{STATION}\n\n{harbour}{KEEPER}\n\n{harbour}"))
}

/// Sums a page up by the facts in what is shown of it.
fn facts_seen(call: &Call) -> Reply {
    let seen: Vec<&str> = [STATION, KEEPER].into_iter().filter(|fact| call.says(fact)).collect();
    reply::json(json!({"summary": seen.join(" "), "key_excerpts": seen}))
}

/// Two researchers meet the same long page. One has what matters in its topic, the other in its query.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_long_page_each_researcher_is_shown_what_its_topic_and_query_ask_for() {
    let researcher = |call: &Call| match (call.turns(), call.first_text().contains("pumping")) {
        (0, true) => reply::search(["works of Skelderwick"]),
        (0, false) => reply::search(["lighthouse keeper earnings"]),
        _ => reply::complete_research(),
    };
    let delegation = reply::delegate(["How long the pumping station took", "What people of the island lived on"]);
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Supervisor), [delegation, reply::complete_research()])
        .by(When::kind(Kind::Researcher), researcher)
        .by(When::kind(Kind::Summary), facts_seen);
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![year()]));
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let of = |topic: &str| {
        let calls = world.models.calls_of(Kind::Compression);
        calls.iter().find(|call| call.says(topic)).map(|call| call.said_by("tool").join("\n")).unwrap()
    };
    let (station, keeper) = (of("How long the pumping"), of("What people of the island"));
    assert!(station.contains(STATION) && !station.contains(KEEPER), "{station}");
    assert!(keeper.contains(KEEPER) && !keeper.contains(STATION), "{keeper}");
    assert_eq!((world.models.count(Kind::Summary), story.sources.len()), (2, 1), "one source, read for each");
    world.finish();
}

/// Two searches of one turn meet the same long page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_long_page_each_search_of_a_turn_shows_what_its_query_asks_for() {
    let searches = ["days of the pumping station", "lighthouse keeper earnings"];
    let searches = reply::calls(searches.map(|query| ("search_web", json!({"queries": [query]}))));
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Researcher), [searches, reply::complete_research()])
        .by(When::kind(Kind::Summary), facts_seen);
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![year()]));
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let call = world.models.calls_of(Kind::Researcher).pop().unwrap();
    let answers = call.said_by("tool");
    assert!(answers[0].contains(STATION) && !answers[0].contains(KEEPER), "{answers:?}");
    assert!(answers[1].contains(KEEPER) && !answers[1].contains(STATION), "{answers:?}");
    assert_eq!((world.models.count(Kind::Summary), story.sources.len()), (2, 1));
    world.finish();
}

/// A search finds a long page again, of which an earlier one has shown what fitted its own query.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_page_found_again_is_said_to_be_shown_in_part() {
    let searches = ["days of the pumping station", "lighthouse keeper earnings"].map(|query| reply::search([query]));
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Researcher), searches.into_iter().chain([reply::complete_research()]))
        .by(When::kind(Kind::Summary), facts_seen);
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![year()]));
    research(&world, &TestDatabase::sqlite(), &[]).await;
    let call = world.models.calls_of(Kind::Researcher).pop().unwrap();
    let again = &call.said_by("tool")[1];
    assert!(again.contains("[S1001] Year: shown above, but of this long page only"), "{again}");
    assert!(!again.contains(KEEPER), "{again}");
    world.finish();
}

/// A fact deep in a page, without a call for the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_need_no_model() {
    let (story, world) = story(80_000, &["page_reading=passages"]).await;
    assert_eq!(world.models.count(Kind::Summary), 0);
    assert!(story.markdown().contains("The gate cost 412,000 crowns [1]."), "{}", story.markdown());
    assert_eq!(story.named("summary.finished").len(), 1);
    world.finish();
}

/// A run over two sources that state a figure otherwise, and whose writer answers so.
async fn contradicted(report: &str) -> (Story, World) {
    let says = |crowns: &str| format!("The northern tide gate of the harbour cost {crowns} crowns in all.");
    let (one, other) = (says("412,000"), says("421,000"));
    let notes = format!("- {one} [S1001]\n- {other} [S1002]");
    let script = Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Compression), reply::text(notes))
        .always(When::kind(Kind::Report), reply::text(report));
    let world = World::start(script).await;
    let pages = [("https://a.test/", &one), ("https://b.test/", &other)];
    world.web.always("", Found::Pages(pages.map(|(url, text)| Page::new(url, "Gate", text)).to_vec()));
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    (story, world)
}

/// Two sources that state a figure otherwise are a matter that the writer has to settle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sources_state_otherwise_is_put_to_the_writer() {
    let report = "# Gate\n\nOne office says 412,000 crowns [S1001], the other 421,000 [S1002].";
    let (story, world) = contradicted(report).await;
    let [contradiction] = &story.report().contradictions[..] else { panic!("{:?}", story.report().contradictions) };
    assert!(contradiction.settled);
    assert!(!story.markdown().contains("Limits of this report"), "{}", story.markdown());
    let (one, other) = (&contradiction.one.text, &contradiction.other.text);
    let prompt = world.models.calls_of(Kind::Report).remove(0);
    assert!(prompt.says("<card id=\"S1001\" from=\"a.test\">"), "{}", prompt.last_text());
    assert!(prompt.says(&format!("- S1001: {one} Against S1002: {other}")), "{}", prompt.last_text());
    world.finish();
}

/// A report that follows one source without a word about the other says so among its limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contradiction_that_the_report_leaves_open_is_a_limit_of_it() {
    let (story, world) = contradicted("# Gate\n\nThe gate cost 412,000 crowns [S1001].").await;
    let [contradiction] = &story.report().contradictions[..] else { panic!("{:?}", story.report().contradictions) };
    let (one, other) = (&contradiction.one, &contradiction.other);
    assert_eq!((&one.figures[..], &other.figures[..]), (&["412,000".to_owned()][..], &["421,000".to_owned()][..]));
    assert!(!contradiction.settled);
    let line = "## Limits of this report\n\n- Sources disagree, and the report does not settle it: 412,000 (a.test) / \
        421,000 (b.test): “The northern tide gate of the harbour cost 412,000 crowns in all.”\n";
    assert!(story.markdown().contains(line), "{}", story.markdown());
    world.finish();
}

/// What the original reads in the benchmark's run, in prompt tokens.
const ORIGINAL: u64 = 330_000;

/// The benchmark's run. Its pages are short: 9,500 characters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_reads_three_fifths_of_what_the_original_reads() {
    let world = World::start(Script::whole_run(Shape::default())).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(world.models.total(), Shape::default().model_calls(5));
    let by_kind = tokens_by_kind(&world);
    println!("{by_kind:?}");
    assert_eq!(story.usage.input_tokens, by_kind.iter().map(|(_, tokens)| tokens).sum::<u64>());
    let (read, most) = (story.usage.input_tokens, ORIGINAL * 60 / 100);
    assert!(
        read <= most,
        "{read} tokens are read, {most} may be: say less in prompts and descriptions of tools; {by_kind:?}"
    );
    world.finish();
}

/// The prompt tokens of each kind of call, by the world's estimate: four bytes of a request each.
fn tokens_by_kind(world: &World) -> Vec<(Kind, u64)> {
    let of = |kind: Kind| world.models.calls_of(kind).iter().map(|call| call.size_bytes as u64 / 4).sum();
    Kind::ALL.into_iter().map(|kind| (kind, of(kind))).filter(|(_, tokens)| *tokens > 0).collect()
}

/// The fact that page `n` of a planted run has somewhere in its midst.
fn planted(n: usize) -> String {
    format!("For part {n} of the tide gate the harbour of Skelderwick paid {} crowns.", 1_000 + 37 * n)
}

/// The planted facts in a text.
fn facts(text: &str) -> Vec<&str> {
    let starts = text.match_indices("For part ").map(|(at, _)| &text[at..]);
    starts.filter_map(|rest| Some(&rest[..rest.find(" crowns.")? + " crowns.".len()])).collect()
}

/// Each of 60 pages holds a fact, at another place, and each agent passes on what it is shown and nothing else: one
/// summary in two has the fact in an excerpt alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_run_reads_less_costs_no_fact() {
    let shape = Shape { sentences: 60, ..Shape::default() };
    let summary = |call: &Call| {
        let prompt = call.last_text();
        let found = facts(&prompt);
        let in_summary = found.first().is_some_and(|fact| prose::seed(fact).is_multiple_of(2));
        let summary = "The page deals with the harbour and its works, year by year and at some length. ".repeat(4);
        let summary = if in_summary { format!("{summary}{}", found.join(" ")) } else { summary };
        reply::json(json!({"summary": summary, "key_excerpts": found}))
    };
    let notes = |call: &Call| {
        let results = call.said_by("tool").join("\n");
        let of_source = |source: &str| -> Option<String> {
            let id = source.split('"').next()?;
            Some(format!("- Established: {} [{id}]", facts(source).first()?))
        };
        let lines: Vec<String> = results.split("<source id=\"").skip(1).filter_map(of_source).collect();
        reply::text(lines.join("\n"))
    };
    let script =
        Script::whole_run(shape).by(When::kind(Kind::Summary), summary).by(When::kind(Kind::Compression), notes);
    let world = World::start(script).await;
    for search in 0..12 {
        let pages = (0..5).map(|rank| planted_page(search * 5 + rank));
        world.web.first("", [Found::Pages(pages.collect())]);
    }
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let markdown = story.markdown();
    let lost: Vec<String> =
        (0..60).map(planted).filter(|fact| !markdown.contains(fact.trim_end_matches('.'))).collect();
    assert!(lost.is_empty(), "{} lost: {lost:#?}", lost.len());
    assert!(story.usage.input_tokens <= ORIGINAL * 60 / 100, "{:?}", tokens_by_kind(&world));
    world.finish();
}

/// A page of 5,000 to 14,000 characters of prose about other things.
fn planted_page(n: usize) -> Page {
    let prose = prose::page("another matter", prose::seed(&n.to_string()));
    let mut paragraphs: Vec<String> = prose.split("\n\n").map(str::to_owned).collect();
    let place = (n * 7) % paragraphs.len();
    paragraphs[place].push(' ');
    paragraphs[place].push_str(&planted(n));
    Page::new(&format!("https://island.test/{n}"), &format!("Chronicle {n}"), &paragraphs.join("\n\n"))
}

/// A page that another search of the same researcher finds again is named, and not shown or read a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_found_again_is_not_shown_again() {
    let shape = Shape { searches: 2, ..Shape::SMALL };
    let world = World::start(Script::whole_run(shape)).await;
    let page = |n: u32| Page::new(&format!("https://island.test/{n}"), &format!("Page {n}"), &format!("{FACT} {n}"));
    world.web.first("", [Found::Pages(vec![page(1), page(2)]), Found::Pages(vec![page(2), page(3)])]);
    research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(world.models.count(Kind::Summary), 3);
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    let results = last.said_by("tool");
    assert!(results[1].contains("[S1002] Page 2: shown above."), "{}", results[1]);
    assert_eq!(results[1].matches("<source id=").count(), 1);
    let notes = world.models.calls_of(Kind::Compression).remove(0);
    let sources: usize = notes.said_by("tool").iter().map(|result| result.matches("<source id=").count()).sum();
    assert_eq!(sources, 3);
    world.finish();
}

/// However many searches find pages at the same time, no more of these are in memory and at the model than is allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_pages_are_summarised_at_the_same_time() {
    let pace = Duration::from_millis(500);
    let shape = Shape { researchers: 2, ..Shape::SMALL };
    let slow = move |call: &Call| brain::reply(shape, call).after(pace);
    for (allowed, least) in [(2, 2), (50, 3)] {
        let world = World::start(Script::whole_run(shape).by(When::kind(Kind::Summary), slow)).await;
        research(&world, &TestDatabase::sqlite(), &[&format!("max_concurrent_summaries={allowed}")]).await;
        let begun: Vec<_> = world.models.calls_of(Kind::Summary).iter().map(|call| call.received_at).collect();
        assert!(begun.len() >= 6, "{}", begun.len());
        let most =
            begun.iter().map(|at| begun.iter().filter(|other| **other <= *at && *at - **other < pace).count()).max();
        assert!(most <= Some(allowed) && most >= Some(least), "{most:?} at once, {allowed} allowed");
        world.finish();
    }
}
