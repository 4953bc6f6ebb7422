//! A folder of documents.

use std::{path::Path, time::Duration};

use fathom::search::{Engine, Hit, Limits, Local, local::Settings};
use tempfile::TempDir;

/// A documents folder and the folder of its index.
struct Folder {
    documents: TempDir,
    index: TempDir,
}

#[tokio::test]
async fn the_example_questions_find_their_documents() {
    let library = std::env::var("LIB").unwrap();
    let index = TempDir::new().unwrap();
    let t = std::time::Instant::now();
    let local = Local::open(Path::new(&library), index.path(), Settings::default()).await.unwrap();
    println!("cold {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let local = Local::open(Path::new(&library), index.path(), Settings::default()).await.unwrap();
    println!("warm {:?}", t.elapsed());
    println!("{:?}", local.skipped());
    let engine = Engine::Local(local);
    for line in std::fs::read_to_string(Path::new(&library).join("../questions.jsonl")).unwrap().lines() {
        let q: serde_json::Value = serde_json::from_str(line).unwrap();
        let t = std::time::Instant::now();
        let hits = engine.search(q["question"].as_str().unwrap(), &Limits::default()).await.unwrap();
        println!("{} {:?} want {}", q["id"], t.elapsed(), q["documents"]);
        for hit in hits {
            println!(
                "   {:?} {} | {} | {:?} | {:?} | {}",
                hit.score,
                hit.url,
                hit.title,
                hit.section,
                hit.published,
                hit.snippet.len()
            );
        }
    }
}
