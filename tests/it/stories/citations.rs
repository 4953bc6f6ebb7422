//! Citations of whole runs: whatever the writer writes, what readers get is real.

use fathom::domain::{Event, WarningCode};
use test_case::test_case;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

/// The story of a report in exactly these words, over two pages (S1001, S1002).
async fn story_of(report: &str, database: &TestDatabase) -> Story {
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(report));
    let world = World::start(script).await;
    let page = |url, title| Page::new(url, title, "The gate is paid by harbour dues.").without_text();
    let pages = vec![page("https://harbour.test/dues", "Dues"), page("https://council.test/loan", "Loan")];
    world.web.always("", Found::Pages(pages));
    let story = research(&world, database, &[]).await;
    world.finish();
    story
}

/// The original asked for links and for numbers in the same prompt, and got both. Beside ids a number is the text's
/// own: shown as none of ours, and looked for in the source as any other figure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_the_writers_own_are_removed_and_its_numbers_are_no_citations() {
    let database = TestDatabase::sqlite();
    let report = "Paid by dues [the tariff](https://harbour.test/dues), a loan [S1002] and luck \
                  [7] (https://made-up.test/x), see [here](https://made-up.test).";
    let story = story_of(report, &database).await;
    assert_eq!(
        story.markdown(),
        "Paid by dues the tariff [1], a loan [2] and luck \\[7] (made-up.test), see here.\n\n\
         ## Limits of this report\n\n- Stated here, but not found in the cited sources: 7 (2)\n\n### Sources\n\n\
         - [1] Dues: https://harbour.test/dues\n- [2] Loan: https://council.test/loan\n"
    );
    assert_eq!((story.report().citations.len(), story.report().dropped_citations), (2, 2));
    assert_eq!(story.warned(WarningCode::CitationsDropped).len(), 1);
}

/// Invented citations were, in the original, indistinguishable from real ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_cites_only_unknown_ids_lists_what_was_retrieved() {
    let database = TestDatabase::sqlite();
    let story = story_of("Paid by dues [S9001], by a loan [S1003] and by [S77].", &database).await;
    let markdown = story.markdown();
    // What nothing is cited for is answered in part at best.
    let limits = "Paid by dues, by a loan and by.\n\n## Limits of this report\n\n- Answered only in part: ";
    assert!(markdown.starts_with(limits), "{markdown}");
    assert!(markdown.contains("\n### Sources\n\nThe text above does not say"), "{markdown}");
    assert!(markdown.contains("https://harbour.test/dues") && markdown.contains("https://council.test/loan"));
    assert_eq!((story.report().citations.len(), story.report().dropped_citations), (0, 3));
    let detail = "3 citations or links pointed to nothing this run retrieved and were removed";
    assert_eq!(story.warned(WarningCode::CitationsDropped), [detail]);
}

/// Said plainly, rather than as if the list belonged to the statements.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_cites_nothing_lists_what_was_retrieved() {
    let database = TestDatabase::sqlite();
    let story = story_of("Paid by dues.", &database).await;
    assert!(story.markdown().contains("does not say which source stands behind which statement"));
    assert!(story.markdown().contains("https://council.test/loan"));
    assert!(story.warned(WarningCode::CitationsDropped).is_empty());
    let [Event::ReportFinished { degraded: true, .. }] = story.named("report.finished")[..] else { panic!() };
}

/// The list is written by code, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_list_of_the_writers_own_is_replaced() {
    let database = TestDatabase::sqlite();
    let report = "# Dues\n\nPaid by dues [S1001].\n\n### Sources\n[1] Dues: https://elsewhere.test\n[2] More: https://more.test\n";
    let story = story_of(report, &database).await;
    let list = "### Sources\n\n- [1] Dues: https://harbour.test/dues\n";
    assert_eq!(story.markdown(), format!("# Dues\n\nPaid by dues [1].\n\n{list}"));
}

/// A reader can show a source beside the text while it is still being written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_citation_is_an_event_as_it_is_written() {
    let database = TestDatabase::sqlite();
    let story = story_of("Dues [S1001]. Loan [S1002]. Dues again [S1001].", &database).await;
    let sent = story.named("report.citation");
    assert_eq!(sent.len(), 3);
    let Event::ReportCitation { number: 2, url, title, .. } = sent[1] else { panic!("{:?}", sent[1]) };
    assert_eq!((url.as_str(), title.as_str()), ("https://council.test/loan", "Loan"));
}

/// The text is settled once it is there, as a new attempt, without another call.
#[tokio::test]
async fn a_writer_that_numbers_its_sources_itself_keeps_its_citations() {
    let report = "# Dues\n\nPaid by dues [2], a loan [1, 2] and luck [3].\n\n### Sources\n\
                  [1] Loan: http://www.council.test/loan/?utm_source=model\n[2] Dues: https://harbour.test/dues#top\n\
                  [3] Luck: https://made-up.test/luck\n";
    let story = story_of(report, &TestDatabase::sqlite()).await;
    let list = "### Sources\n\n- [1] Dues: https://harbour.test/dues\n- [2] Loan: https://council.test/loan\n";
    assert_eq!(story.markdown(), format!("# Dues\n\nPaid by dues [1], a loan [2][1] and luck.\n\n{list}"));
    assert_eq!((story.report().citations.len(), story.report().dropped_citations), (3, 1));
    assert_eq!(story.named("report.started").len(), 2, "what was streamed before is dropped");
    let [Event::ReportFinished { attempt: 2, degraded: false, .. }] = story.named("report.finished")[..] else {
        panic!("{:?}", story.named("report.finished"))
    };
    assert!(story.warned(WarningCode::CitationsDropped)[0].contains("3 lines or tags were removed"));
}

/// In the original every researcher numbered its sources from 1, and the writer had to guess whose 1 was meant.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn researchers_that_met_the_same_page_share_its_number(database: TestDatabase) {
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Supervisor), [reply::delegate(["One.", "Two."])])
        .always(When::kind(Kind::Report), reply::text("First [S1001]. Second [S2001]. Third [S2002]."));
    let world = World::start(script).await;
    let page = |url| Page::new(url, url, "The gate is paid by harbour dues.").without_text();
    world.web.always("", Found::Pages(vec![page("https://harbour.test/dues"), page("https://council.test/loan")]));
    let story = research(&world, &database, &[]).await;
    assert!(story.markdown().starts_with("First [1]. Second [1]. Third [2]."), "{}", story.markdown());
    world.finish();
}
