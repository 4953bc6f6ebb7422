//! A report in another language than the question is translated once, or says so.

use std::path::Path;

use fathom::domain::WarningCode;

use super::engine::{Engine, Story};
use crate::{
    contract::without_keys,
    database::TestDatabase,
    world::{Kind, Reply, Script, Shape, When, World, reply},
};

const ASKED: &str = "Womit bezahlt der Hafen von Skelderwick sein neues Tor und wer setzt die Gebühren fest?";
const TRANSLATE: &str = "Translate the report below into German";

fn report(sentence: &str) -> String {
    format!("# Skelderwick\n\n{}", format!("{sentence} [S1001] ").repeat(8))
}

fn english() -> String {
    report("The gate is paid by harbour dues, which the council sets every year after a hearing.")
}

fn german() -> String {
    report("Das Tor wird aus Hafengebühren bezahlt, die der Rat jedes Jahr nach einer Anhörung festsetzt.")
}

async fn story(asked: &str, written: String, translation: Reply) -> (Story, World) {
    let script = Script::whole_run(Shape::SMALL)
        .always(When::says(TRANSLATE), translation)
        .always(When::kind(Kind::Report), reply::text(written));
    let world = World::start(script).await;
    let engine = Engine::start(&world, &TestDatabase::sqlite(), &[]).await;
    let story = engine.research(asked).await;
    engine.app.close().await;
    (story, world)
}

fn translations(world: &World) -> usize {
    world.models.calls_of(Kind::Report).iter().filter(|call| call.says(TRANSLATE)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_in_another_language_is_translated() {
    let (story, world) = story(ASKED, english(), reply::text(german())).await;
    assert!(story.markdown().contains("Das Tor wird aus Hafengebühren bezahlt"), "{}", story.markdown());
    assert!(!story.markdown().contains("harbour dues") && story.report().citations.len() == 8);
    assert_eq!((translations(&world), story.warned(WarningCode::OtherLanguage).len()), (1, 0));
    world.finish();
}

/// It did not work: the report says so, in its own language.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_stays_in_another_language_says_so() {
    let (story, world) = story(ASKED, english(), reply::text(english())).await;
    assert!(story.markdown().contains("- Not in the language of the question: de → en\n"), "{}", story.markdown());
    assert_eq!(translations(&world), 1);
    let [detail] = story.warned(WarningCode::OtherLanguage)[..] else { panic!("{:?}", story.warnings()) };
    assert!(detail.contains("(en)") && detail.contains("(de)"), "{detail}");
    world.finish();
}

/// What lost its citations is no translation, and a provider that fails costs the run nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_translation_without_citations_is_not_taken() {
    for translation in [reply::text(german().replace("[S1001]", "")), reply::status(400)] {
        let (story, world) = story(ASKED, english(), translation).await;
        assert!(story.markdown().contains("harbour dues") && story.report().citations.len() == 8);
        assert_eq!(story.warned(WarningCode::OtherLanguage).len(), 1);
        world.finish();
    }
}

/// The right language, a wish for another one, and a report too short to tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_no_false_alarm() {
    let short = "# Tor\n\nPaid by dues [S1001].".to_owned();
    let wish = format!("{ASKED} Antworte auf Englisch.");
    for (asked, written) in [(ASKED, german()), (wish.as_str(), english()), (ASKED, short)] {
        let (story, world) = story(asked, written, reply::text("never")).await;
        assert_eq!((translations(&world), story.warned(WarningCode::OtherLanguage).len()), (0, 0), "{asked}");
        world.finish();
    }
}

/// Whatever language the sources are in that the offline model quotes, all headings are of the question's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_code_writes_offline_is_of_the_language_of_the_question() {
    let world = World::start(Script::new()).await;
    let questions = [
        ("谁批准了 Saltbox 电池项目, Heron 涡轮机的油漆花了多少钱?", ["概要", "来源"]),
        ("كم تبلغ تكلفة بطارية Saltbox، ومن دفع ثمن طلاء Heron؟", ["باختصار", "المصادر"]),
        ("Combien coûte la batterie Saltbox, et qui a peint la turbine Heron ?", ["En bref", "Sources"]),
    ];
    for (question, ours) in questions {
        let mut command = world.fathom(&["research", question, "--docs"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/library"));
        without_keys(&mut command);
        let output = command.output().await.unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let headings: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert!(ours.iter().all(|one| report.contains(&format!("# {one}\n"))), "{question}: {headings:?}");
        let english = [
            "In short",
            "More from the sources",
            "Older or superseded",
            "Where the sources differ",
            "Limits of this report",
        ];
        let mixed: Vec<&&str> = headings.iter().filter(|one| english.iter().any(|of| one.starts_with(of))).collect();
        assert!(output.status.success() && mixed.is_empty(), "{question}: {mixed:?}");
    }
    world.finish();
}
