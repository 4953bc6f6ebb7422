//! Clients generated from the contract, as others would: each drives a whole thread against the real binary.
//!
//! The programs are in `tests/clients`; scripts/test.sh installs what generates and runs them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use fathom_testkit::program::tool;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Contract, service::Service};
use crate::world::{Script, World};

const PATIENCE: Duration = Duration::from_secs(240);

/// Runs a tool in `folder` to its end, and returns what it said.
async fn run(mut command: Command, folder: &Path) -> String {
    command.current_dir(folder).stdin(Stdio::null()).env("HOME", folder).env("NO_COLOR", "1").kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let (said, complaints) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{said}\n{complaints}");
    said.into_owned()
}

fn sources(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(language)
}

/// The contract as the service gives it, in a folder of its own.
async fn contract(service: &Service, folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join("openapi.json");
    fs::write(&path, service.text("/openapi.json").await).unwrap();
    path
}

/// What a client saw is what there is.
async fn compare(service: &Service, seen: &str) {
    let seen: Value = serde_json::from_str(seen).unwrap();
    let types = async |run: &Value| {
        let path = format!("/api/v1/runs/{}/events?event=message", run.as_str().unwrap());
        let text = service.text(&path).await;
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
        events.iter().map(|event| event["type"].clone()).collect::<Vec<_>>()
    };
    let research = &seen["research"];
    assert_eq!(research["types"], json!(types(&seen["run"]).await));
    assert_eq!(research["outcome"], "report");
    let report = service.text(&format!("/api/v1/runs/{}/report", seen["run"].as_str().unwrap())).await;
    assert!(research["report"] == report && research["by_client"] == report, "{research}\n{report}");
    assert!(research["sources"].as_array().is_some_and(|titles| !titles.is_empty()), "{research}");
    assert_eq!(seen["problem"], "/options/max_researcher_iterations");
    assert_eq!(seen["follow_up"]["types"], json!(types(&seen["follow_up"]["run"]).await));
    assert!(seen["follow_up"]["outcome"].is_string(), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_drives_a_thread() {
    let world = World::start(Script::new()).await;
    let service = Service::offline(&world).await;
    let folder = world.folder().join("python");
    let contract = contract(&service, &folder).await;
    let mut generate = Command::new(tool("venv/bin/openapi-python-client"));
    generate.args(["generate", "--meta=none", "--output-path=fathom_client", "--path"]).arg(contract);
    generate.arg("--config").arg(sources("python").join("config.yaml"));
    let said = run(generate, &folder).await;
    assert!(!said.contains("WARNING") && !said.contains("Warning"), "something is left out: {said}");
    let mapping = &Contract::get().document["components"]["schemas"]["Envelope"]["discriminator"]["mapping"];
    let models = fs::read_to_string(folder.join("fathom_client/models/__init__.py")).unwrap();
    for target in mapping.as_object().unwrap().values() {
        let name = target.as_str().unwrap().rsplit('/').next().unwrap();
        assert!(models.contains(&format!("import {name}\n")), "the client has no {name}");
    }
    let mut program = Command::new(tool("venv/bin/python"));
    program.arg(sources("python").join("thread.py")).arg(service.url("")).env("PYTHONPATH", &folder);
    compare(&service, &run(program, &folder).await).await;
    service.stop().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typescript_client_drives_a_thread() {
    let world = World::start(Script::new()).await;
    let service = Service::offline(&world).await;
    let folder = world.folder().join("typescript");
    let contract = contract(&service, &folder).await;
    for name in ["package.json", "tsconfig.json", "thread.ts"] {
        fs::copy(sources("typescript").join(name), folder.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(tool("node/node_modules"), folder.join("node_modules")).unwrap();
    let mut generate = Command::new(tool("node/node_modules/.bin/openapi-typescript"));
    generate.arg(contract).args(["--output", "schema.d.ts"]);
    run(generate, &folder).await;
    run(Command::new(tool("node/node_modules/.bin/tsc")), &folder).await;
    let mut program = Command::new("node");
    program.args(["thread.js", &service.url("")]);
    compare(&service, &run(program, &folder).await).await;
    service.stop().await;
    world.finish();
}
