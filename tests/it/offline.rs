//! How well the offline model answers the questions of the example library, given passages but no search engine.

use std::{fs, path::Path};

use fathom::domain::{Evidence, Finding, SourceId};
use fathom::llm::Completion;
use fathom::offline::{self, Task};
use fathom::pages::extract::{self, Format, passages};
use serde::Deserialize;

#[derive(Deserialize)]
struct Question {
    id: String,
    question: String,
    documents: Vec<String>,
    facts: Vec<String>,
    #[serde(default)]
    injected: Vec<String>,
}

impl Question {
    fn all() -> Vec<Self> {
        let text = fs::read_to_string(examples().join("questions.jsonl")).unwrap();
        let known = text.lines().filter(|line| line.contains(r#""set": "known""#));
        known.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The facts that `report` lacks.
    fn missing(&self, report: &str) -> Vec<&str> {
        self.facts.iter().map(String::as_str).filter(|fact| !report.contains(fact)).collect()
    }
}

/// 13 of 14 when this was written. Missing: an answer (q14) whose question ends the passage before it.
#[test]
fn reports_from_the_right_documents_hold_the_facts() {
    let (answered, missing) = answered(|question| passages_of(&question.documents));
    assert!(answered >= 12, "{answered} of 14; missing: {missing:#?}");
}

/// The same among all passages of the library, which no search engine has sifted: 11 of 14 when this was written.
#[test]
fn facts_are_found_among_many_passages() {
    let library = passages_of(&library());
    let (answered, missing) = answered(|_| library.clone());
    assert!(answered >= 10, "{answered} of 14; missing: {missing:#?}");
}

#[test]
fn orders_to_machine_readers_are_not_quoted() {
    let library = passages_of(&library());
    for question in Question::all().iter().filter(|question| question.id == "q07") {
        for evidence in [passages_of(&question.documents), library.clone()] {
            let report = report(&question.question, &evidence);
            for injected in &question.injected {
                assert!(!report.contains(injected), "{injected} in:\n{report}");
            }
        }
    }
}

fn answered(evidence: impl Fn(&Question) -> Vec<Evidence>) -> (usize, Vec<String>) {
    let mut missing = Vec::new();
    let answerable: Vec<_> = Question::all().into_iter().filter(|question| !question.facts.is_empty()).collect();
    assert_eq!(answerable.len(), 14);
    for question in &answerable {
        let report = report(&question.question, &evidence(question));
        let lacks = question.missing(&report);
        if !lacks.is_empty() {
            missing.push(format!("{}: {lacks:?}", question.id));
        }
    }
    (answerable.len() - missing.len(), missing)
}

/// What the pipeline does: topics, notes on each, a report.
fn report(question: &str, evidence: &[Evidence]) -> String {
    let topics = ask(Task::Supervise { brief: question.to_owned(), round: 1 }).tool_calls;
    let finding = |topic: String| {
        let task = Task::Compress { topic: topic.clone(), evidence: evidence.to_vec() };
        Finding { topic, text: ask(task).text }
    };
    let topic = |arguments: &str| {
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        arguments["research_topic"].as_str().unwrap().to_owned()
    };
    let findings = topics.iter().map(|call| finding(topic(&call.arguments))).collect();
    let task = Task::Report { brief: question.to_owned(), findings, sources: Vec::new(), limits: Vec::new() };
    ask(task).text
}

fn ask(task: Task) -> Completion {
    offline::answer(&task, 0)
}

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// All documents of the library, relative to it.
fn library() -> Vec<String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, root, found),
                false => found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned()),
            }
        }
    }
    let root = examples().join("library");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    found.sort();
    found
}

/// The documents cut into passages, each a source of its own.
fn passages_of(documents: &[String]) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for name in documents {
        let path = examples().join("library").join(name);
        let format = Format::of_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
        let document = extract::read(format, fs::read(&path).unwrap()).unwrap();
        let title = document.title.unwrap_or_else(|| name.clone());
        for text in document.sections.iter().flat_map(|section| passages::split(&section.text)) {
            let source_id = SourceId::of(1, u32::try_from(evidence.len()).unwrap() + 1);
            evidence.push(Evidence {
                source_id,
                title: title.clone(),
                url: name.clone(),
                published: document.published.clone(),
                text,
            });
        }
    }
    evidence
}
