//! The sub-questions of a brief, from its making to the limits of the report; and how deep a run goes.

use fathom::domain::{AnswerStatus, Event, SubQuestion};
use serde_json::json;
use test_case::test_case;

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

const PAGE: &str = "The gate cost 412,000 crowns and was opened on 14 November 2030. Harbour dues pay for it.";
const REPORT: &str = "# Gate\n\nThe gate cost 412,000 crowns [S1001]. Harbour dues pay for it [S1001].";

async fn world(script: Script) -> World {
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![Page::new("https://harbour.test/gate", "Gate", PAGE)]));
    world
}

fn script() -> Script {
    Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(REPORT))
}

fn statuses(story: &Story) -> Vec<(&str, AnswerStatus)> {
    let [Event::SubQuestionsDecided { sub_questions }] = story.named("sub_questions.decided")[..] else {
        panic!("not decided once")
    };
    assert_eq!(*sub_questions, story.report().sub_questions);
    sub_questions.iter().map(|SubQuestion { question, status }| (question.as_str(), *status)).collect()
}

/// The supervisor judges three of four, one of them without a source that anybody read; words decide the fourth.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sub_question_ends_answered_or_not(database: TestDatabase) {
    let questions = ["What did the gate cost?", "Who lent the money?", "Who built it?", "What pays for the gate?"];
    let brief = reply::json(json!({"research_brief": "All about the gate.", "sub_questions": questions}));
    let judged = reply::calls([(
        "ResearchComplete",
        json!({"answers": [
            {"sub_question": 1, "status": "answered", "ids": ["S1001"]},
            {"sub_question": 2, "status": "not_found", "ids": []},
            {"sub_question": 3, "status": "answered", "ids": ["S9999"]},
        ]}),
    )]);
    let notes = "- The gate cost 412,000 crowns [S1001]\n- Harbour dues pay for the gate [S1001]";
    let script = script()
        .always(When::kind(Kind::Brief), brief)
        .always(When::kind(Kind::Supervisor).and(When::turns(1)), judged)
        .always(When::kind(Kind::Compression), reply::text(notes));
    let world = world(script).await;
    let story = research(&world, &database, &[]).await;
    let [Event::BriefCreated { sub_questions, .. }] = story.named("brief.created")[..] else { panic!("no brief") };
    assert_eq!(*sub_questions, questions);
    use AnswerStatus::{Answered, NotFound};
    let found = statuses(&story);
    let [first, second, third, fourth] = found[..] else { panic!("{found:?}") };
    assert_eq!([first, second], [(questions[0], Answered), (questions[1], NotFound)]);
    assert!(third.1 > Answered, "nobody read what is said to answer it");
    assert_eq!(fourth, (questions[3], Answered));
    assert!(story.markdown().contains("- Not answered by the sources: “Who lent the money?”"), "{}", story.markdown());
    let lead = world.models.calls_of(Kind::Supervisor).remove(0);
    assert!(lead.says("2. Who lent the money?"));
    let writer = world.models.calls_of(Kind::Report).remove(0);
    assert!(writer.says("- Who lent the money? (not found)") && writer.says("- What did the gate cost? (answered)"));
    world.finish();
}

/// What is said before anything was researched is said of nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judgement_that_was_refused_does_not_count() {
    let too_early = json!({"answers": [{"sub_question": 1, "status": "not_found", "ids": []}]});
    let replies =
        [reply::calls([("ResearchComplete", too_early)]), reply::delegate(["The gate."]), reply::text("Done.")];
    let script = script()
        .first(When::kind(Kind::Supervisor), replies)
        .always(When::kind(Kind::Compression), reply::text("- The gate cost 412,000 crowns [S1001]"));
    let world = world(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(statuses(&story), [(super::engine::QUESTION, AnswerStatus::Answered)]);
    assert!(!story.markdown().contains("Not answered"), "{}", story.markdown());
    world.finish();
}

/// A model that gives a brief and nothing else has one question: the user's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_brief_without_sub_questions_has_one() {
    let world = world(script()).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(statuses(&story), [(super::engine::QUESTION, AnswerStatus::Answered)]);
    assert!(!story.markdown().contains("Limits of this report"), "{}", story.markdown());
    world.finish();
}

/// The supervisor says nothing of the only question, and the report that it has no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_that_admits_that_the_answer_is_missing_is_not_counted_as_an_answer() {
    let brief = reply::json(json!({"research_brief": "Who was mayor in 1850?", "sub_questions": ["Who was mayor?"]}));
    let report = "# Mayor\n\nThe sources do not say who was mayor. Harbour dues pay for the gate [S1001].";
    let script = Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Brief), brief)
        .always(When::kind(Kind::Report), reply::text(report));
    let world = world(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    assert_eq!(statuses(&story), [("Who was mayor?", AnswerStatus::Partly)]);
    assert!(story.markdown().contains("“Who was mayor?”"), "{}", story.markdown());
    world.finish();
}

/// Nobody judges the questions, which are in another language than the notes: the words of the report decide.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_in_another_language_leave_no_question_unanswered() {
    let check = async |brief: &str, questions: [&str; 3], report: &str| {
        let notes = "- The gate cost 412,000 crowns [S1001]\n- Harbour dues pay for the gate [S1001]\n\
            - The gate was opened on 14 November 2030 [S1001]";
        let brief = reply::json(json!({"research_brief": brief, "sub_questions": questions}));
        let script = script()
            .always(When::kind(Kind::Brief), brief)
            .always(When::kind(Kind::Compression), reply::text(notes))
            .always(When::kind(Kind::Report), reply::text(report));
        let world = world(script).await;
        let story = research(&world, &TestDatabase::sqlite(), &[]).await;
        let heard = world.models.calls_of(Kind::Supervisor).pop().unwrap().said_by("tool").concat();
        assert!(!heard.contains("By their words alone"), "{heard}");
        let writer = world.models.calls_of(Kind::Report).remove(0);
        assert!(writer.says(&format!("- {}\n", questions[1])), "nobody knows: {}", writer.last_text());
        assert_eq!(statuses(&story), questions.map(|question| (question, AnswerStatus::Answered)));
        assert!(!story.markdown().contains(&format!("“{}”", questions[2])), "{}", story.markdown());
        world.finish();
    };
    let german = "# Sperrwerk\n\nDas Sperrwerk kostete 412.000 Kronen [S1001]. Die Hafengebühren bezahlen das Sperrwerk \
        [S1001]. Das Sperrwerk wurde am 14. November 2030 eröffnet [S1001].";
    let asked = ["Was kostet das Sperrwerk?", "Wer bezahlt das Sperrwerk?", "Wann wurde das Sperrwerk eröffnet?"];
    check("Was kostet das Sperrwerk, und wer bezahlt es?", asked, german).await;
    let chinese =
        "# 水闸\n\n水闸花费412,000克朗 [S1001]。港口税支付水闸费用 [S1001]。水闸于2030年11月14日启用 [S1001]。";
    check("潮汐水闸花费多少，由谁支付？", ["水闸花费多少？", "由谁支付？", "何时建成？"], chinese).await;
}

/// A statement with all words of a short question is no proof that it is not answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_question_is_not_unanswered_for_want_of_a_name() {
    let questions = ["What did the gate cost?", "Who pays for the gate?"];
    let brief = reply::json(json!({"research_brief": "All about the gate.", "sub_questions": questions}));
    let notes = "- The gate cost 412,000 crowns [S1001]\n- The harbour dues pay for the gate [S1001]";
    let script =
        script().always(When::kind(Kind::Brief), brief).always(When::kind(Kind::Compression), reply::text(notes));
    let world = world(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    let heard = world.models.calls_of(Kind::Supervisor).pop().unwrap().said_by("tool").concat();
    assert!(heard.contains("answer the sub-questions so: 1 answered."), "{heard}");
    assert_eq!(statuses(&story), questions.map(|question| (question, AnswerStatus::Answered)));
    assert!(!story.markdown().contains("Limits of this report"), "{}", story.markdown());
    world.finish();
}

/// What the prompts say of searches, sources and length are the run's own numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effort_decides_what_agents_are_asked_for() {
    let check = async |options: &[&str], rounds: &str, searches: &str, words: &str| {
        let world = world(script()).await;
        research(&world, &TestDatabase::sqlite(), options).await;
        let calls = |kind| world.models.calls_of(kind).remove(0);
        assert!(calls(Kind::Supervisor).says(rounds), "{}", calls(Kind::Supervisor).first_text());
        assert!(calls(Kind::Researcher).says(searches), "{options:?}");
        assert!(calls(Kind::Report).says(words), "{options:?}");
        world.finish();
    };
    check(&[], "You have 6 rounds.", "After 5 searches always stop", "about 1000 to 2500 words").await;
    check(&["effort=quick"], "You have 2 rounds.", "After 2 searches always stop", "about 300 to 700 words").await;
    let deep = ["max_researcher_iterations=4", "effort=deep"];
    check(&deep, "You have 4 rounds.", "After 10 searches always stop", "about 2500 to 6000 words").await;
}
