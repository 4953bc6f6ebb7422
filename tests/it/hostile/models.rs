//! Hostile model servers: bombs, answers without end, calls without number. Each costs its own run at most.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::Bench;
use crate::world::{Kind, Reply, Script, When, reply};

const MIB: usize = 1024 * 1024;
/// The service with its innocent run stays far below it, and an answer that is kept whole does not.
const MEMORY: u64 = 600 * 1024 * 1024;

/// 256 MB of an answer in a quarter of a megabyte.
fn gzip_bomb() -> Reply {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(br#"{"choices":[{"finish_reason":"stop","message":{"content":""#).unwrap();
    for _ in 0..256 {
        packed.write_all(&[b'a'; MIB]).unwrap();
    }
    packed.write_all(br#""}}]}"#).unwrap();
    reply::bytes(200, "application/json", packed.finish().unwrap()).header("content-encoding", "gzip")
}

fn endless(code: u16) -> Reply {
    let begin = br#"{"choices":[{"finish_reason":"stop","message":{"content":""#;
    reply::bytes(code, "application/json", begin.as_slice()).then_for_ever(vec![b'a'; 64 * 1024])
}

fn endless_stream() -> Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "The gate is paid by dues. ".repeat(40)}}]});
    reply::bytes(200, "text/event-stream", "").then_for_ever(format!("data: {chunk}\n\n"))
}

fn hundred_megabytes() -> Reply {
    let text = "a".repeat(100 * MIB);
    reply::bytes(200, "application/json", json!({"choices": [{"message": {"content": text}}]}).to_string())
}

fn many_calls() -> Reply {
    let search = |n: usize| ("search_web", json!({"queries": [format!("query {n}")]}));
    reply::calls((0..16_000).map(search))
}

fn options() -> Value {
    json!({"search_api": "tavily", "allow_clarification": false})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_without_end_cost_their_own_run_alone() {
    let script = Script::new()
        .always(When::says("GZIPBOMB"), gzip_bomb())
        .always(When::says("ENDLESSBODY"), endless(200))
        .always(When::says("ENDLESSERROR"), endless(400))
        .always(When::says("HUNDREDMEGABYTES"), hundred_megabytes())
        .always(When::says("ENDLESSSTREAM").and(When::kind(Kind::Report)), endless_stream());
    let bench = Bench::start(script).await;
    let hostile = async {
        for name in ["GZIPBOMB", "ENDLESSBODY", "ENDLESSERROR", "HUNDREDMEGABYTES", "ENDLESSSTREAM"] {
            let run = bench.ended(&bench.ask(&format!("{name}?"), options()).await).await;
            assert_eq!(run["status"], "failed", "{name}: {run:#}");
        }
    };
    bench.beside(hostile).await;
    assert!(bench.peak_memory() < MEMORY, "{} MiB", bench.peak_memory() / MIB as u64);
    bench.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_without_number_are_answered_and_not_carried_out() {
    let first_turn = When::says("MANYCALLS").and(When::kind(Kind::Researcher)).and(When::turns(0));
    let long = reply::raw_call("search_web", &json!({"queries": ["x".repeat(300 * 1024)]}).to_string());
    let second_turn = When::says("MANYCALLS").and(When::kind(Kind::Researcher)).and(When::turns(1));
    let bench = Bench::start(Script::new().always(first_turn, many_calls()).always(second_turn, long)).await;
    let run = bench.beside(async { bench.ended(&bench.ask("MANYCALLS?", options()).await).await }).await;
    assert_eq!(run["status"], "completed", "{run:#}");
    let turns = bench.world.models.calls_of(Kind::Researcher);
    let says = |words: &str| turns.iter().any(|call| call.says("MANYCALLS") && call.says(words));
    assert!(says("one turn takes 128 calls"), "the model learns of the calls that are too many");
    assert!(says("the arguments are too long"), "and of arguments");
    bench.finish().await;
}
