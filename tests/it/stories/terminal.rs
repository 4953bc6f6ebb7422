//! `fathom research` on a terminal: what stands on the screen in the end, and what a user may type.

use std::time::Duration;

use fathom_testkit::program;
use serde::Deserialize;
use serde_json::json;

use super::{binary::text, engine::QUESTION};
use crate::world::{Found, Kind, Script, Shape, When, World, reply};

/// The screen when the command has ended.
#[derive(Debug, Deserialize)]
struct Screen {
    status: i32,
    /// What was never asked for.
    untyped: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Screen {
    fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Without the breaks that the width of the screen makes, and so without any space.
    fn unbroken(&self) -> String {
        self.lines.concat().split_whitespace().collect()
    }

    /// No line looks as if something still went on.
    fn is_tidy(&self) {
        let dead = self.lines.iter().find(|line| line.chars().any(|char| "⠁⠂⠄⡀⢀⠠⠐⠈⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(char)));
        assert_eq!(dead, None, "{}", self.text());
    }
}

/// Runs the binary on a terminal; types the second text of each pair once the first one is on the screen.
async fn on_a_terminal(world: &World, arguments: &[&str], types: &[(&str, &str)]) -> Screen {
    let fathom = program::path().display().to_string();
    let command = [&[fathom.as_str()], arguments].concat();
    let wanted = json!({"command": command, "types": types}).to_string();
    let mut terminal = world.fathom(&[]).as_std().get_envs().fold(
        tokio::process::Command::new(program::tool("venv/bin/python")),
        |mut command, (name, value)| {
            command.env(name, value.unwrap_or_default());
            command
        },
    );
    terminal
        .args(["-c", include_str!("terminal.py"), &wanted])
        .env("TERM", "xterm-256color")
        .env("FATHOM_GRACE_SECONDS", "1")
        .current_dir(world.folder());
    let output = tokio::time::timeout(Duration::from_secs(90), terminal.kill_on_drop(true).output()).await;
    let output = output.expect("it ends").unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let screen: Screen = serde_json::from_slice(&output.stdout).unwrap();
    assert!(screen.untyped.is_empty(), "{screen:#?}");
    screen
}

/// The user is asked, answers, and gets the report; then one line says where things stand.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_asked_and_answered() {
    let asks = [reply::ask_back("Which of the two gates?")];
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Clarify), asks)).await;
    world.set_latency(Duration::from_millis(30), Duration::from_millis(10));
    let screen = on_a_terminal(&world, &["research", QUESTION], &[("\n> ", "The old one.\r")]).await;
    let shown = screen.text();
    assert_eq!(screen.status, 0, "{shown}");
    assert!(shown.contains("\nWhich of the two gates?\n\n> The old one.\n"), "{shown}");
    assert!(shown.contains("\n# What the sources say\n") && shown.contains("\n- [1] "), "{shown}");
    assert!(world.models.calls().iter().any(|call| call.last_text().contains("The old one.")));
    let unbroken = screen.unbroken();
    let closing = unbroken.rsplit_once("fathom:").unwrap().1;
    assert!(closing.contains("sourcescited,") && closing.contains(";followupwith:fathomask"), "{closing}");
    screen.is_tidy();
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_moves_after_an_interrupt() {
    let world = World::start(Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::silence())).await;
    let screen = on_a_terminal(&world, &["research", QUESTION, "--no-clarify"], &[("report · ", "\u{3}")]).await;
    assert_eq!(screen.status, 130, "{}", screen.text());
    assert!(
        screen.text().contains("fathom: stopping; once more to stop at once\nfathom: interrupted; "),
        "{screen:#?}"
    );
    assert!(screen.unbroken().contains("nobodygoesonwithitbyitself;togoon:fathomresume"), "{screen:#?}");
    // The terminal's own `^C` may break the line that was being drawn; what comes after it is tidy.
    let after = screen.lines.into_iter().skip_while(|line| !line.starts_with("fathom: stopping")).collect();
    Screen { lines: after, ..screen }.is_tidy();
    world.finish();
}

/// A line of totals, and one per working researcher: they say what is being done, and nothing of them stays behind.
#[tokio::test(flavor = "multi_thread")]
async fn progress_shows_totals_and_each_researcher() {
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Supervisor), [reply::delegate(["The dues.", "The loan."])])
        .first(When::kind(Kind::Researcher).and(When::first_says("The dues.")), [reply::search(["dues", "tolls"])])
        .always(When::kind(Kind::Compression).and(When::says("The dues.")), reply::silence())
        .always(When::kind(Kind::Researcher).and(When::first_says("The loan.")), reply::status(401));
    let world = World::start(script).await;
    let types =
        [("r2 failed: ", ""), ("r1 compressing findings", ""), ("research · 1 search · ", ""), (" tokens", "\u{3}")];
    let screen = on_a_terminal(&world, &["research", QUESTION, "--no-clarify"], &types).await;
    assert_eq!(screen.status, 130, "{}", screen.text());
    let shown = screen.text();
    assert!(shown.contains("brief: ") && shown.contains("  r2 failed: "), "what is over stays: {shown}");
    let after = screen.lines.into_iter().skip_while(|line| !line.starts_with("fathom: stopping")).collect();
    Screen { lines: after, ..screen }.is_tidy();
    world.finish();
}

/// A failed search is shown where the user looks, and the run goes on.
#[tokio::test(flavor = "multi_thread")]
async fn progress_shows_what_went_wrong() {
    let script = Script::whole_run(Shape::SMALL)
        .first(When::kind(Kind::Researcher), [reply::search(["locked"]), reply::search(["dues"])]);
    let world = World::start(script).await;
    world.web.always("locked", Found::fault(reply::status(400)));
    let screen = on_a_terminal(&world, &["research", QUESTION, "--no-clarify"], &[]).await;
    let shown = screen.unbroken();
    assert_eq!(screen.status, 0, "{shown}");
    assert!(shown.contains("r1warning:thesearchfor'locked'failed:"), "{shown}");
    screen.is_tidy();
    world.finish();
}

/// Enter alone is no answer, and the end of the input is none either: the question can be answered later.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_an_answer() {
    let asks = [reply::ask_back("Which of the two gates?")];
    let world = World::start(Script::whole_run(Shape::SMALL).first(When::kind(Kind::Clarify), asks)).await;
    let twice = format!("\n> {}\n> ", " ".repeat(98));
    let screen = on_a_terminal(&world, &["research", QUESTION], &[("\n> ", "\r"), (&twice, "\u{4}")]).await;
    assert_eq!(screen.status, 130, "{}", screen.text());
    let shown = screen.unbroken();
    let run_id = shown.rsplit_once("fathomresume").unwrap().1.to_owned();
    assert!(shown.contains("notanswered;tobeaskedagain:fathomresume"), "{shown}");
    let screen = on_a_terminal(&world, &["resume", &run_id], &[("\n> ", "The old one.\r")]).await;
    assert_eq!(screen.status, 0, "{}", screen.text());
    assert!(screen.text().contains("\nWhich of the two gates?\n\n> The old one.\n"), "{}", screen.text());
    world.finish();
}
