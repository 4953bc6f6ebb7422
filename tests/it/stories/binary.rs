//! Stories of the real binary: exit codes, what stands on which stream, and files it must not harm.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use super::engine::QUESTION;
use crate::world::{Kind, Running, Script, Shape, When, World, reply};

fn small() -> Script {
    Script::whole_run(Shape::SMALL)
}

/// Runs it to its end, with nothing on its standard input.
pub async fn output(command: &mut Command) -> Output {
    let output = command.env("FATHOM_RETRY_SECONDS", "1").stdin(Stdio::null()).output();
    tokio::time::timeout(Duration::from_secs(30), output).await.expect("it ends").unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Refused with exit code 2 and one line, nothing printed as a report, nothing paid.
pub fn is_usage_error(world: &World, output: &Output, expected: &str) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stdout, "");
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].starts_with("fathom: ") && lines[0].contains(expected), "{expected:?} is not in {stderr}");
    assert_eq!((world.models.total(), world.web.total()), (0, 0));
}

/// Bad arguments and settings, each said in one line that tells what would be accepted.
#[tokio::test(flavor = "multi_thread")]
async fn bad_usage_is_one_line_and_exit_code_2() {
    let world = World::start(Script::new()).await;
    let cases: [(&[&str], &str); 10] = [
        (&["research", "q", "--set", "max_react_toolcalls=3"], "did you mean 'max_react_tool_calls'?"),
        (&["research", "q", "--set", "max_react_tool_calls=0"], "from 1 to 30"),
        (&["research", "q", "--set", "novalue"], "--set takes NAME=VALUE"),
        (&["research", "q", "--model", "acme:x"], "a model of a known provider (openai, "),
        (&["research", "q", "--model", "openrouter:x"], "OPENROUTER_API_KEY"),
        (&["research", "q", "--set", "search_api=none"], "there is nothing to search"),
        (&["research", "q", "--set", "search_api=local", "--docs", "missing"], "missing"),
        (&["research", "  "], "the question is empty"),
        (&["research", "q", "--out", "no/such/folder/report.md"], "no/such/folder/report.md cannot be written"),
        (&["resume", "00000000-0000-7000-8000-000000000000"], "there is no run"),
    ];
    for (arguments, expected) in cases {
        is_usage_error(&world, &output(&mut world.fathom(arguments)).await, expected);
    }
    world.finish();
}

/// `--estimate` says what a run would take, and starts none.
#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_costs_nothing_and_says_what_it_rests_on() {
    let world = World::start(small()).await;
    let said = output(&mut world.fathom(&["research", QUESTION, "--estimate", "--set", "max_searches=6"])).await;
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
    let table = text(&said.stdout);
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["low", "expected", "high"]);
    assert_eq!(lines[1], ["model", "calls", "26", "40", "40"]);
    assert_eq!(lines[2], ["researchers", "1", "1", "1"]);
    assert_eq!(lines[3], ["searches", "4", "6", "6"]);
    assert!(table.contains("from the preset standard") && table.contains("models are assumed"), "{table}");
    assert!(table.contains("max_searches ends the expected run early"), "{table}");
    is_usage_error(
        &world,
        &output(&mut world.fathom(&["research", "  ", "--estimate"])).await,
        "the question is empty",
    );
    let listed = output(&mut world.fathom(&["runs", "list"])).await;
    assert!(!text(&listed.stdout).contains(&QUESTION[..20]), "{}", text(&listed.stdout));
    assert_eq!(world.models.total(), 0);
    world.finish();
}

/// Everybody who reaches the service may use it, so beyond loopback it begins only when asked to; an owner that a proxy
/// names keeps nobody out.
#[tokio::test(flavor = "multi_thread")]
async fn beyond_loopback_the_service_listens_only_when_configured() {
    let world = World::start(Script::new()).await;
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut command = world.fathom(&["serve", "--listen", address]);
        command.env("FATHOM_OWNER_HEADER", "X-User");
        is_usage_error(&world, &output(&mut command).await, "--open (FATHOM_OPEN=true)");
    }
    let mut flagged = world.spawn(&["serve", "--listen", "0.0.0.0:0", "--open"]);
    flagged.says("fathom 0.1.0 on http://0.0.0.0:").await;
    let mut command = world.fathom(&["serve", "--listen", "0.0.0.0:0"]);
    command.env("FATHOM_OPEN", "true").env("FATHOM_CORS_ORIGINS", "*");
    let mut by_variable = Running::spawn(command, world.folder());
    by_variable.says("FATHOM_CORS_ORIGINS=* lets every page").await;
    let mut command = world.fathom(&["serve", "--listen", "0.0.0.0:0", "--open"]);
    command.env("FATHOM_OWNER_HEADER", "X-User");
    let mut behind_a_proxy = Running::spawn(command, world.folder());
    behind_a_proxy.says("name the proxy's in FATHOM_TRUSTED_PROXIES").await;
    for process in [&mut flagged, &mut by_variable, &mut behind_a_proxy] {
        process.kill().await;
    }
    world.finish();
}

/// What the parser of arguments refuses by itself is one line and ends with 2 as well.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_flags_and_malformed_ids_are_bad_usage() {
    let world = World::start(Script::new()).await;
    for arguments in [&["research", "q", "--wat"][..], &["resume", "12"], &["wat"], &["research"]] {
        is_usage_error(&world, &output(&mut world.fathom(arguments)).await, "; --help says more");
    }
    world.finish();
}

/// A megabyte on standard input is read far enough to say that it is too much.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_megabyte_is_bad_usage() {
    let world = World::start(Script::new()).await;
    let mut command = world.fathom(&["research", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The process may stop reading before the end, which is its right.
    let _ = stdin.write_all("why? ".repeat(1 << 18).as_bytes()).await;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    is_usage_error(&world, &output, "longer than 100000 characters");
    world.finish();
}

/// A database that cannot be used is said in one line, before anything is paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_used_is_one_line() {
    let world = World::start(Script::new()).await;
    fs::write(world.folder().join("a-file"), "not a folder").unwrap();
    let refused = output(&mut world.fathom(&["research", "q", "--data-dir", "a-file/data"])).await;
    is_usage_error(&world, &refused, "a-file");
    let mut command = world.fathom(&["research", "q"]);
    let away = output(command.env("DATABASE_URL", "postgres://me:pa55word@127.0.0.1:1/fathom")).await;
    let stderr = text(&away.stderr);
    assert_ne!(away.status.code(), Some(0));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("fathom: ") && !stderr.contains("pa55word"), "{stderr}");
    assert_eq!(world.models.total(), 0);
    world.finish();
}

/// The report on standard output, everything else on standard error; resumed, it is printed again for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_all_there_is_on_standard_output() {
    let world = World::start(small()).await;
    let first = output(&mut world.fathom(&["research", QUESTION])).await;
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let report = text(&first.stdout);
    assert!(report.starts_with("# What the sources say\n") && report.contains("\n### Sources\n\n- [1] "), "{report}");
    assert_eq!(world.models.count(Kind::Clarify), 0, "nobody is at the terminal");
    assert!(text(&first.stderr).contains("completed in"));
    world.finish();
}

/// In the original a wrong key was tried again and again, and at last hidden behind another error.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_exit_code_1_after_one_request() {
    let world = World::start(Script::new().always(When::any(), reply::status(401))).await;
    let refused = output(&mut world.fathom(&["research", QUESTION])).await;
    let stderr = text(&refused.stderr);
    assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(1), ""));
    assert!(
        stderr.lines().any(|line| line.starts_with("fathom: ") && line.contains("refused the API key")),
        "{stderr}"
    );
    assert_eq!(world.models.total(), 1);
    assert!(!stderr.contains(crate::world::openai::KEY));
    world.finish();
}

/// No provider there at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_exit_code_1() {
    let world = World::start(Script::new()).await;
    let mut command = world.fathom(&["research", QUESTION]);
    let down = output(command.env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")).await;
    let stderr = text(&down.stderr);
    assert_eq!(down.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.lines().any(|line| line.starts_with("fathom: ") && line.contains("could not be reached")),
        "{stderr}"
    );
    world.finish();
}

/// Nobody is there to answer, and the user insisted on being asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_without_a_terminal_is_exit_code_3() {
    let world =
        World::start(small().always(When::kind(Kind::Clarify), reply::ask_back("Which of the two gates?"))).await;
    let asked = output(&mut world.fathom(&["research", QUESTION, "--set", "allow_clarification=true"])).await;
    assert_eq!((asked.status.code(), text(&asked.stdout).as_str()), (Some(3), ""));
    let stderr = text(&asked.stderr);
    assert!(stderr.contains("\nWhich of the two gates?\n") && stderr.contains("--no-clarify"), "{stderr}");
    assert_eq!(world.models.total(), 1);
    world.finish();
}

/// Returns the same command with a terminal as its standard streams, but for those that are redirected.
fn at_a_terminal(command: &Command, redirected: &str) -> Command {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: String = words.map(|word| format!("'{}' ", word.to_str().unwrap())).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{line}{redirected}"), "/dev/null"]).env_clear().kill_on_drop(true);
    script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.current_dir(command.get_current_dir().unwrap());
    script
}

/// `fathom research … 2>log`: nobody would see the question, so it is not asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_into_a_log_is_not_asked() {
    let world =
        World::start(small().always(When::kind(Kind::Clarify), reply::ask_back("Which of the two gates?"))).await;
    let research = output(&mut at_a_terminal(&world.fathom(&["research", QUESTION]), "2>log")).await;
    let log = fs::read_to_string(world.folder().join("log")).unwrap();
    assert_eq!(research.status.code(), Some(0), "{log}");
    assert!(text(&research.stdout).contains("# ") && !log.contains("Which of the two gates?"), "{log}");
    world.finish();
}

/// A terminal without `TERM` draws no bars, so progress is a line per event.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_draws_nothing_shows_lines() {
    let world = World::start(small()).await;
    for term in [None, Some(("TERM", "dumb"))] {
        let mut command = at_a_terminal(&world.fathom(&["research", "--no-clarify", QUESTION]), "");
        let shown = text(&output(command.envs(term)).await.stdout);
        assert!(shown.contains("s phase: research"), "{shown}");
    }
    world.finish();
}

/// `fathom research … | head`: the reader has seen enough.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_standard_output_is_no_failure() {
    let world = World::start(small()).await;
    let mut command = world.fathom(&["research", QUESTION]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    world.finish();
}

/// A closed standard error, too, is nobody's loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_standard_error_is_no_failure() {
    let world = World::start(small()).await;
    let mut command = world.fathom(&["research", QUESTION]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("### Sources"));
    world.finish();
}

/// The id that a message offers to be resumed.
fn offered(stderr: &str) -> String {
    let rest = stderr.split("fathom runs report ").last().expect("it says how to go on");
    rest.split_whitespace().next().unwrap().to_owned()
}

/// The report is paid for and kept: said, and had again from the journal without a single call.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_under_the_report_loses_nothing() {
    let world = World::start(small()).await;
    let mut command = world.fathom(&["research", QUESTION]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let failed = child.wait_with_output().await.unwrap();
    let stderr = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("could not be written to standard output"), "{stderr}");

    let calls = world.models.total();
    let again = output(&mut world.fathom(&["runs", "report", &offered(&stderr)])).await;
    assert_eq!(again.status.code(), Some(0));
    assert!(text(&again.stdout).contains("### Sources"));
    assert_eq!(world.models.total(), calls);
    world.finish();
}

/// A plain file is replaced whole and nothing is left beside it; a link and what it leads to stay what they are.
#[tokio::test(flavor = "multi_thread")]
async fn the_report_replaces_a_file_and_nothing_else() {
    let world = World::start(small()).await;
    let path = |name: &str| -> PathBuf { world.folder().join(name) };
    for name in ["out", "elsewhere"] {
        fs::create_dir(path(name)).unwrap();
    }
    fs::write(path("out/old.md"), "an older report").unwrap();
    fs::write(path("elsewhere/target.md"), "").unwrap();
    std::os::unix::fs::symlink(path("elsewhere/target.md"), path("out/link.md")).unwrap();
    std::os::unix::fs::symlink("/dev/full", path("out/full.md")).unwrap();
    for name in ["out/new.md", "out/old.md", "out/link.md"] {
        let written = output(&mut world.fathom(&["research", QUESTION, "--out", name])).await;
        assert_eq!((written.status.code(), text(&written.stdout).as_str()), (Some(0), ""), "{name}");
        assert!(fs::read_to_string(path(name)).unwrap().starts_with("# What the sources say"), "{name}");
    }
    let full = output(&mut world.fathom(&["research", QUESTION, "--out", "out/full.md"])).await;
    assert_eq!(full.status.code(), Some(1));
    assert!(text(&full.stderr).contains("out/full.md: No space left on device"), "{}", text(&full.stderr));
    for link in ["out/link.md", "out/full.md"] {
        assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink(), "{link}");
    }
    assert_eq!(fs::read_dir(path("out")).unwrap().count(), 4);
    world.finish();
}

/// A disk with room for the schema and little more, played by a limit on the size of files: one clear line and an end;
/// with room again the same folder works.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_under_the_database_is_one_line() {
    let world = World::start(small()).await;
    let script = r#"ulimit -f 240; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(fathom_testkit::program::path()).args(["research", QUESTION]);
    command.env_clear().envs(world.environment()).current_dir(world.folder());
    let full = output(&mut command).await;
    let stderr = text(&full.stderr);
    assert!(matches!(full.status.code(), Some(1 | 2)), "{stderr}");
    assert!(stderr.lines().last().unwrap().starts_with("fathom: the database takes no writes: "), "{stderr}");
    assert_eq!((text(&full.stdout).as_str(), world.models.total()), ("", 0));

    let room = output(&mut world.fathom(&["research", QUESTION])).await;
    assert_eq!(room.status.code(), Some(0), "{}", text(&room.stderr));
    world.finish();
}

/// A log that nobody reads stops every thread that writes to it. Then nothing ends by itself, and the process ends all
/// the same when the grace is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_ends_whatever_its_threads_do() {
    let world = World::start(Script::new()).await;
    let mut command = world.fathom(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("FATHOM_LOG", "debug").env("FATHOM_GRACE_SECONDS", "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut banner = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = banner.next_line().await.unwrap().unwrap();
    let address = first.split_once(" on ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(3)).build().unwrap();
    let long = "x".repeat(128);
    let fill =
        async { while client.get(format!("{address}/healthz")).header("x-request-id", &long).send().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), fill).await.expect("the log is full at some time");

    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
    let status = tokio::time::timeout(Duration::from_secs(60), child.wait()).await.expect("it ends").unwrap();
    assert_eq!(status.code(), Some(1), "it did not end in good order");
    world.finish();
}
