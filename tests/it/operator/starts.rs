//! How commands begin and end: signals while they start, answers that cannot be written, settings that are no text.

use std::{
    fs::{self, File},
    os::unix::{ffi::OsStringExt as _, process::ExitStatusExt as _},
    process::Stdio,
    time::Duration,
};

use fathom::eval::Results;
use serde_json::Value;
use tokio::{net::TcpListener, process::Command};

use crate::{
    crash::{QUESTION, until},
    stories::binary::{is_usage_error, output, text},
    world::{Running, Script, World},
};

/// A database that takes the connection and never answers, so that a start lasts; the process is ended meanwhile.
async fn ended_while_it_starts(world: &World, arguments: &[&str], signal: &str) -> (Option<i32>, String) {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut command = world.fathom(arguments);
    command.env("DATABASE_URL", format!("postgres://u@{}/fathom", silent.local_addr().unwrap()));
    let mut process = Running::spawn(command, world.folder());
    let _asked = tokio::time::timeout(Duration::from_secs(30), silent.accept()).await.expect("it starts").unwrap();
    process.signal(signal).await;
    (process.ends().await.code(), process.stderr())
}

/// The first process of a container never hears of a signal that it does not catch.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_it_starts_ends_the_start() {
    let world = World::start(Script::new()).await;
    let (code, said) = ended_while_it_starts(&world, &["serve", "--listen", "127.0.0.1:0"], "TERM").await;
    assert_eq!(code, Some(0), "{said}");
    let id = "00000000-0000-7000-8000-000000000000";
    for arguments in [&["research", QUESTION][..], &["resume", id], &["ask", id, "Why?"]] {
        let (code, said) = ended_while_it_starts(&world, arguments, "INT").await;
        assert_eq!(code, Some(130), "{said}");
        assert!(said.contains("interrupted; nothing was started"), "{said}");
    }
    world.finish();
}

/// Nothing is prepared while it waits for its standard input, and a signal ends it as it ends any program.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_wait_for_a_question() {
    let world = World::start(Script::new()).await;
    let mut command = world.fathom(&["research", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let id = child.id().unwrap();
    until("it reads its standard input", async || {
        let call = fs::read_to_string(format!("/proc/{id}/syscall")).unwrap();
        (call.split_whitespace().nth(1) == Some("0x0")).then_some(())
    })
    .await;
    assert!(!world.folder().join(".local").exists(), "no data folder is made");
    // Not an interrupt, which programs ignore that a shell has started in the background.
    let kill = Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status().await.unwrap();
    assert!(kill.success());
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await.expect("it ends").unwrap();
    assert_eq!(ended.signal(), Some(15), "{ended}");
    world.finish();
}

/// Runs it to its end with that standard output.
async fn to(stdout: impl Into<Stdio>, mut command: Command) -> (Option<i32>, String) {
    let child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
    let ended = ended.await.expect("it ends").unwrap();
    (ended.status.code(), text(&ended.stderr))
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_written_is_a_failure() {
    let world = World::start(Script::new()).await;
    let results = world.folder().join("some.jsonl");
    drop(Results::default().write(&results, None).unwrap());
    assert!(output(&mut world.fathom(&["keys", "create", "--owner", "ann"])).await.status.success());
    for arguments in [
        &["config"][..],
        &["config", "--json"],
        &["keys", "list"],
        &["runs", "list"],
        &["usage"],
        &["eval", "--show", "some.jsonl"],
        &["--version"],
        &["research", "--help"],
    ] {
        let (code, said) = to(full(), world.fathom(arguments)).await;
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.starts_with("fathom: standard output cannot be written to: No space left"), "{said}");
    }
    world.finish();
}

/// Only its hash is kept, so it is lost: nobody shall wonder whose it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_could_not_be_shown_is_revoked() {
    let world = World::start(Script::new()).await;
    let create = || world.fathom(&["keys", "create", "--owner", "ann"]);
    let (code, said) = to(full(), create()).await;
    assert_eq!(code, Some(1), "{said}");
    let (pipe, unread) = std::io::pipe().unwrap();
    drop(pipe);
    let (code, unread) = to(unread, create()).await;
    assert_eq!(code, Some(1), "{unread}");
    let listed = text(&output(&mut world.fathom(&["keys", "list", "--json"])).await.stdout);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for (key, said) in listed.as_array().unwrap().iter().zip([unread, said]) {
        assert!(key["revoked_at"].is_string(), "{listed}");
        let named = format!("key {} could not be written to standard output", key["id"].as_str().unwrap());
        assert!(said.contains(&named) && said.contains("it is revoked"), "{said}");
    }
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_are_no_text_are_refused() {
    let world = World::start(Script::new()).await;
    let wrong = || std::ffi::OsString::from_vec(b"/srv/caf\xe9".to_vec());
    for name in ["FATHOM_DATA_DIR", "FATHOM_CONFIG", "OPENAI_API_KEY"] {
        let mut command = world.fathom(&["research", "q"]);
        command.env(name, wrong());
        is_usage_error(&world, &output(&mut command).await, &format!("{name} must be a text in UTF-8"));
    }
    let mut command = world.fathom(&["research", "q", "--docs"]);
    command.arg(wrong());
    is_usage_error(&world, &output(&mut command).await, "--docs must be a path in UTF-8");
    world.finish();
}

/// What a pod is given for a Service that is named as we are.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_kubernetes_may_be_named_fathom() {
    let world = World::start(Script::new()).await;
    let of_service =
        [("FATHOM_SERVICE_HOST", "10.0.0.7"), ("FATHOM_PORT", "tcp://10.0.0.7:80"), ("FATHOM_PORT_80_TCP_PORT", "80")];
    let mut command = world.fathom(&["config"]);
    command.envs(of_service);
    let started = output(&mut command).await;
    assert_eq!(started.status.code(), Some(0), "{}", text(&started.stderr));
    let mut command = world.fathom(&["config"]);
    command.env("FATHOM_PORT", "80");
    is_usage_error(&world, &output(&mut command).await, "did you mean FATHOM_LISTEN?");
    world.finish();
}
