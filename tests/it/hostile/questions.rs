//! Questions and pages that are nothing but work for the offline model, which answers on any server when it is asked.

use std::{fs, time::Duration};

use fathom::{
    domain::{Evidence, Finding, SourceId},
    offline::{self, Task},
};
use serde_json::json;

use super::Bench;
use crate::world::Script;

/// What is repeated to make a text; each was, or could be, more work than its length tells.
const PIECES: [&str; 28] = [
    "a,",
    "a, and ",
    "what? ",
    "who, and when, ",
    "几点,",
    ". ",
    "1. ",
    "a. B ",
    "[",
    "](",
    "[S1] ",
    "<",
    "<a",
    "< a>",
    "*",
    "|",
    "| a | 1 |\n",
    "name 12 13\n",
    "name 12\n\n",
    "# heading\n",
    "> ",
    "Aa-Bb ",
    "Yours sincerely\n",
    "- item one\n",
    "word\n",
    "Mill (",
    "\"",
    "中",
];

/// Posts of nonsense, more of them than there are processors, to a server that has other models.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_does_not_silence_the_service() {
    let bench = Bench::start(Script::new()).await;
    let offline = json!({
        "search_api": "tavily", "allow_clarification": false, "research_model": "offline:extractive",
        "summarization_model": "offline:extractive", "compression_model": "offline:extractive",
        "final_report_model": "offline:extractive",
    });
    let questions = ["a,", "what, and ", "[", "1. ", "Aa-Bb "].map(|piece| repeated(piece, 99_900));
    let hostile = async {
        let mut runs = Vec::new();
        for question in &questions {
            runs.push(bench.ask(question, offline.clone()).await);
        }
        for run in runs {
            bench.ended(&run).await;
        }
    };
    bench.beside(hostile).await;
    bench.finish().await;
}

/// Eight times the text takes at most twenty times the time of a processor, whatever the text is: square growth would
/// take 64 times, and a busy machine costs caches.
#[test]
fn work_grows_with_its_input() {
    let mut steep = Vec::new();
    for piece in PIECES {
        for (name, task) in TASKS {
            let once = |bytes| cpu(|| drop(offline::answer(&task(&repeated(piece, bytes)), 0)));
            let is_steep = || {
                let eight = once(20_000);
                // What takes no time at all has no ratio.
                eight > Duration::from_millis(25) && eight > 20 * once(2_500)
            };
            // Once more, since a busy machine may have disturbed the first time, or a table that is made once.
            if is_steep() && is_steep() {
                steep.push(format!("{name} of {piece:?}"));
            }
        }
    }
    assert!(steep.is_empty(), "{steep:#?}");
}

type MakeTask = fn(&str) -> Task;

const QUESTION: &str = "When was the mill destroyed, and by whom?";

const TASKS: [(&str, MakeTask); 8] = [
    ("brief", |text| Task::Brief { question: text.to_owned() }),
    ("topics", |text| Task::Supervise { brief: text.to_owned(), round: 1 }),
    ("queries", |text| Task::Research { topic: text.to_owned(), turn: 1, retrieved: false }),
    ("broader query", |text| Task::Research { topic: text.to_owned(), turn: 2, retrieved: false }),
    ("summary", |text| Task::Summarise { question: QUESTION.to_owned(), page: text.into() }),
    ("notes", |text| Task::Compress { topic: QUESTION.to_owned(), evidence: vec![evidence(text)] }),
    ("report", |text| Task::Report {
        brief: QUESTION.to_owned(),
        findings: vec![Finding { topic: QUESTION.to_owned(), text: text.to_owned() }],
        sources: vec![evidence(text)],
        limits: Vec::new(),
    }),
    ("report on it", |text| Task::Report {
        brief: text.to_owned(),
        findings: vec![Finding { topic: text.to_owned(), text: "- The mill was destroyed in 1911. [S1001]".into() }],
        sources: Vec::new(),
        limits: vec![text.to_owned()],
    }),
];

fn evidence(text: &str) -> Evidence {
    Evidence {
        source_id: SourceId(1001),
        title: "A page".into(),
        url: "a".into(),
        published: None,
        text: text.to_owned(),
    }
}

/// So many bytes of `piece` after `piece`, each sixteenth with a number, so that they do not all say the same.
fn repeated(piece: &str, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + piece.len() + 8);
    for number in 0_usize.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(piece);
        if number % 16 == 15 {
            text.push_str(&number.to_string());
        }
    }
    text
}

/// The time this thread spends on a processor, which other work on the machine does not change much.
pub fn cpu(work: impl FnOnce()) -> Duration {
    let spent = || {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    };
    let before = spent();
    work();
    spent() - before
}
