//! schemathesis reads the document, makes up requests, good and bad, and looks whether the running service keeps to it:
//! no server error, no status, header or body that is not documented, no bad request that is let through. Once where
//! nobody is asked who they are, and once where everybody needs a key.

use std::{path::Path, process::Stdio, time::Duration};

use fathom_testkit::program::tool;
use tokio::process::Command;

use super::service::Service;
use crate::world::{Script, World};

/// Sequences of requests, and what is repeated with them, go on until it is used up; what comes before takes an idle
/// machine half of it.
const BUDGET: &str = "--max-time=100";

/// All but sequences of requests. Without a budget nothing is repeated.
const ONE_BY_ONE: &str = "--phases=examples,coverage,fuzzing";

#[tokio::test(flavor = "multi_thread")]
async fn made_up_requests_are_answered_as_documented() {
    let world = World::start(Script::new()).await;
    let service = Service::offline(&world).await;
    let said = keeps_to_the_contract(&world, &service, &["--max-examples=15", BUDGET]).await;
    assert!(said.contains("✅ Stateful"), "sequences were left out: {said}");
    service.stop().await;
    world.finish();
}

/// What holds with a key that may write; requests without one are among those that are made up. Sequences of requests
/// are left to the other test.
#[tokio::test(flavor = "multi_thread")]
async fn made_up_requests_with_a_key_are_answered_as_documented() {
    let world = World::start(Script::new()).await;
    let mut create = world.spawn(&["keys", "create", "--owner", "ann", "--scope", "write"]);
    assert!(create.ends().await.success(), "{}", create.stderr());
    let authorization = format!("Bearer {}", create.stdout().trim_end());
    let service = Service::offline_with(&world, &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let refused = service.client.get(service.url("/api/v1/threads")).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let service = service.authorized(&authorization);
    let header = format!("Authorization: {authorization}");
    keeps_to_the_contract(&world, &service, &["--max-examples=5", ONE_BY_ONE, "-H", &header]).await;
    service.stop().await;
    world.finish();
}

/// What schemathesis said.
async fn keeps_to_the_contract(world: &World, service: &Service, arguments: &[&str]) -> String {
    // Something to be found by those who only read.
    let started = service.ask("Why did the turbine Petrel stop in November 2030, and what did it cost?").await;
    let run = format!("/api/v1/runs/{}", started["run"]["id"].as_str().unwrap());
    service.until(&run, |text| text.contains(r#""status":"completed""#)).await;

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(tool("venv/bin/schemathesis"));
    command
        .arg(format!("--config-file={}", root.join("schemathesis.toml").display()))
        .args(["run", "--seed=1", "--continue-on-failure"])
        .args(arguments)
        .arg(format!("--url=http://{}", service.address))
        .arg(root.join("openapi.yaml"))
        // It keeps what it found in the folder where it is started.
        .current_dir(world.folder())
        .env("HOME", world.folder())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(300), command.output()).await.expect("it ends").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(" passed"), "{said}");
    assert_eq!(service.client.get(service.url("/healthz")).send().await.unwrap().status(), 200);
    said.into_owned()
}
