//! Hostile files in the folder of documents: the service starts, names them, and searches the others.

use std::{fs, path::Path};

use serde_json::json;

use super::{Bench, LATENCY, shapes};
use crate::world::{Script, Shape, World, brain};

/// Files that end their parser.
fn killers() -> [(&'static str, Vec<u8>); 4] {
    [
        ("deep.html", shapes::deep_html().into_bytes()),
        ("parentheses.pdf", shapes::pdf_of_parentheses()),
        ("codes.pdf", shapes::pdf_of_all_codes()),
        ("packed.pdf", shapes::pdf_packed_twice()),
    ]
}

/// What is said of them; which of it depends on how fast the build is.
const REASONS: [&str; 3] = ["nested too deeply", "too much memory", "within 20 s"];

/// Files that are hard and can be read all the same.
fn hard() -> [(&'static str, String); 4] {
    [
        ("headings.md", shapes::markdown_of_headings()),
        ("lists.md", shapes::deep_lists()),
        ("brackets.md", shapes::brackets()),
        ("table.html", shapes::huge_table()),
    ]
}

fn fill(folder: &Path) {
    for (name, content) in killers() {
        fs::write(folder.join(name), content).unwrap();
    }
    for (name, content) in hard() {
        fs::write(folder.join(name), content).unwrap();
    }
    fs::write(folder.join("mill.md"), "# The mill\n\nThe mill at Ambleton was destroyed by a storm in 1911.").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_named_and_the_others_are_found() {
    let world = World::start(Script::new().otherwise(|call| brain::reply(Shape::SMALL, call)).latency(LATENCY)).await;
    let documents = world.folder().join("documents");
    fs::create_dir(&documents).unwrap();
    fill(&documents);
    let arguments = ["--docs", documents.to_str().unwrap(), "--set", "search_api=local"];
    let bench = Bench::over(world, &arguments, &[]).await;
    let ask = async |question: &str| {
        let options = json!({"search_api": "local", "research_model": "offline:extractive",
            "summarization_model": "offline:extractive", "compression_model": "offline:extractive",
            "final_report_model": "offline:extractive", "allow_clarification": false});
        bench.ended(&bench.ask(question, options).await).await
    };
    let run = bench.beside(ask("When was the mill at Ambleton destroyed?")).await;
    assert_eq!(run["status"], "completed", "{run:#}\n{}", bench.said());
    let (_, report) = bench.get(&format!("/api/v1/runs/{}/report", run["id"].as_str().unwrap())).await;
    assert!(report.contains("destroyed by a storm in 1911. [1]"), "{report}");
    // Looked at again before a later search, and not tried again.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    ask("Who destroyed the mill at Ambleton?").await;
    let log = bench.said();
    for (name, _) in killers() {
        let named: Vec<_> = log.lines().filter(|line| line.contains(name)).collect();
        let is_explained = REASONS.iter().any(|reason| named.iter().all(|line| line.contains(reason)));
        assert!(named.len() == 1 && is_explained, "{name}: {named:?}\n{log}");
    }
    for (name, _) in hard() {
        assert!(!log.contains(name), "{name} ended its parser: {log}");
    }
    assert!(bench.metric("fathom_parsers_ended_total").await >= 4.0);
    parsers_are_confined(&bench);
    assert!(bench.peak_memory() < 512 * 1024 * 1024, "{}", bench.peak_memory());
    bench.finish().await;
}

/// As the system sees them: what they may use, and that they know nothing.
fn parsers_are_confined(bench: &Bench) {
    let parsers = bench.children("parse-worker");
    assert!(!parsers.is_empty(), "one is kept for the next document");
    for process in parsers {
        let limits = fs::read_to_string(process.join("limits")).unwrap();
        let limit = |name: &str| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
        };
        for (name, value) in [
            ("Max address space", 1024 * 1024 * 1024_u64),
            ("Max cpu time", 90),
            ("Max open files", 16),
            ("Max file size", 0),
            ("Max core file size", 0),
        ] {
            assert_eq!(limit(name), [value.to_string(), value.to_string()], "{name}: soft and hard");
        }
        assert_eq!(fs::read(process.join("environ")).unwrap(), b"", "keys are in the environment of the service");
        assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    }
}
