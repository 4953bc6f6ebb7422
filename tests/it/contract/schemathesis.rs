//! schemathesis reads the document, makes up requests, good and bad, and looks whether the running service keeps to it:
//! no server error, no status, header or body that is not documented, no bad request that is let through.

use std::{path::Path, process::Stdio, time::Duration};

use fathom_testkit::program::tool;
use tokio::process::Command;

use super::service::Service;
use crate::world::{Script, World};

/// Three times what an idle machine takes; when it is used up, what is left is not tried.
const BUDGET_SECONDS: &str = "150";

#[tokio::test(flavor = "multi_thread")]
async fn made_up_requests_are_answered_as_documented() {
    let world = World::start(Script::new()).await;
    let service = Service::offline(&world).await;
    // Something to be found by those who only read.
    let started = service.ask("Why did the turbine Petrel stop in November 2030, and what did it cost?").await;
    let run = format!("/api/v1/runs/{}", started["run"]["id"].as_str().unwrap());
    service.until(&run, |text| text.contains(r#""status":"completed""#)).await;

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(tool("venv/bin/schemathesis"));
    command
        .arg(format!("--config-file={}", root.join("schemathesis.toml").display()))
        .args(["run", "--seed=1", "--max-examples=15", "--max-time", BUDGET_SECONDS, "--continue-on-failure"])
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
    assert!(said.contains("Stateful") && said.contains(" passed"), "{said}");
    assert_eq!(service.client.get(service.url("/healthz")).send().await.unwrap().status(), 200);
    service.stop().await;
    world.finish();
}
