//! The commands of README.md and docs/guide.md, run as they are printed but for the address of the service.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::process::Command;

use super::service::{Service, without_keys};
use crate::world::{Script, World};

const PAGES: [&str; 2] = [include_str!("../../../README.md"), include_str!("../../../docs/guide.md")];
const ADDRESS: &str = "http://127.0.0.1:8080";

/// The first block of shell commands that holds `needle`.
fn block(needle: &str) -> &'static str {
    let blocks = PAGES.iter().flat_map(|page| page.split("```sh\n").skip(1)).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| block).find(|block| block.contains(needle)).expect("one of the pages has such a block")
}

/// Runs the commands in `folder` to their end; what they print.
async fn run(world: &World, commands: &str, folder: &Path) -> String {
    both(world, commands, folder).await.0
}

/// As [`run`], with what is printed beside.
async fn both(world: &World, commands: &str, folder: &Path) -> (String, String) {
    let binaries = fathom_testkit::program::path().parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", commands]).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    shell.env_clear().envs(world.environment()).env("PATH", format!("{binaries}:{path}"));
    without_keys(&mut shell);
    let output = tokio::time::timeout(Duration::from_secs(120), shell.output()).await.expect("it ends").unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{commands}\n{stdout}\n{stderr}");
    (stdout.into_owned(), stderr.into_owned())
}

/// The lines of the first block of that kind in the README which are not empty.
fn excerpt(kind: &str) -> Vec<&'static str> {
    let (_, rest) = PAGES[0].split_once(&format!("```{kind}\n")).expect("the README has such a block");
    rest.split_once("```").unwrap().0.lines().filter(|line| !line.is_empty()).collect()
}

/// Holds that the lines of an excerpt stand in `text`, in their order, but for what `seen` leaves out of a line.
fn stands_in(excerpt: &[&str], text: &str, seen: impl Fn(&str) -> &str) {
    let mut lines = text.lines();
    for line in excerpt {
        let wanted = seen(line);
        assert!(
            lines.any(|line| seen(line) == wanted),
            "README.md says {line:?}, which is not in its place in:\n{text}"
        );
    }
}

/// A line of the terminal without its time, and without the id of a source: which of two queries at the same time finds
/// a page first is chance.
fn untimed(line: &str) -> &str {
    let time = line.trim_start().split_once("s ");
    let line = time.filter(|(seconds, _)| seconds.parse::<f64>().is_ok()).map_or(line, |(_, rest)| rest);
    line.split_once(" source S").and_then(|(_, source)| source.split_once(": ")).map_or(line, |(_, title)| title)
}

/// The answer stands at the beginning of the report, and is the one that holds today.
fn is_right(report: &str) {
    let short: Vec<&str> = report.lines().skip_while(|line| *line != "## In short").skip(2).take(2).collect();
    assert!(report.starts_with("# How much energy will the Saltbox battery store"), "{report}");
    // What an older document says too is not out of date for that.
    let (_, older) = report.split_once("## Older or superseded statements").expect("the first outline was another one");
    let (older, _) = older.split_once("\n### Sources").unwrap();
    assert!(older.contains("1.8 MWh") && !older.contains("EUR 1.35 million"), "{older}");
    // Nor is what something else costs, and a line that only names what is asked about answers nothing.
    assert!(!older.contains("A share costs"), "{older}");
    let opening = report.split("\n## ").nth(1).unwrap();
    assert!(!opening.contains("What comes next"), "{opening}");
    assert!(short[0].contains("2.4 MWh") && short[1].contains("EUR 1.35 million"), "{report}");
    assert!(report.contains("\n### Sources\n") && report.contains("battery.html"), "{report}");
}

async fn service(world: &World) -> Service {
    let start = block("cargo run --release -- ").trim();
    let arguments: Vec<&str> = start.split_once(" -- ").unwrap().1.split_whitespace().collect();
    Service::without_keys(world, &arguments).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_question_is_answered_by_a_report_that_is_right() {
    let world = World::start(Script::new()).await;
    let service = service(&world).await;
    let ask = block("Accept: text/markdown").replace(ADDRESS, &service.url(""));
    is_right(&run(&world, &ask, world.folder()).await);
    service.stop().await;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (report, progress) = both(&world, block("fathom research \"How much"), sources).await;
    is_right(&report);
    stands_in(&excerpt("text"), &progress, untimed);
    stands_in(&excerpt("markdown"), &report, |line| line);
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_a_thread_goes_as_it_is_printed() {
    let world = World::start(Script::new()).await;
    let service = service(&world).await;
    let commands = block("THREAD=$(jq").replace(ADDRESS, &service.url(""));
    let output = run(&world, &commands, world.folder()).await;
    is_right(output.split_once("\n}\n# How").map(|(_, report)| format!("# How{report}")).unwrap().as_str());
    for line in ["event: run.completed", r#"  "outcome": "report","#, "user: How much energy", "user: Who proposed"] {
        assert!(output.contains(line), "{line} is not in:\n{output}");
    }
    assert!(output.ends_with("\"completed\"\n204\n"), "{output}");
    let page = std::fs::read_to_string(world.folder().join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("2.4 MWh"));
    service.stop().await;
    world.finish();
}
