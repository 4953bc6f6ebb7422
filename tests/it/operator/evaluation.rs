//! `fathom eval` on the example library: what it measures, how it goes on, and what the offline model has to reach.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use fathom::eval::{Results, Scored};
use tokio::process::Command;

use crate::{
    contract::without_keys,
    world::{Script, World},
};

/// A hundred questions take a minute or two, on a busy machine more.
const LIMIT: Duration = Duration::from_secs(600);

/// A limit on the size of files that is more than the database takes.
const LIMIT_BYTES: usize = 8 * 1024 * 1024;
/// What a shell counts such a limit in.
const BLOCK: usize = 512;

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// What `fathom eval` with these arguments says, and how it ends.
pub async fn eval(world: &World, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = world.fathom(&[&["eval"][..], arguments].concat());
    without_keys(&mut command);
    ended(command).await
}

/// The same, knowing the servers of the world.
pub async fn eval_with_keys(world: &World, arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(world.fathom(&[&["eval"][..], arguments].concat())).await
}

async fn ended(mut command: Command) -> (Option<i32>, String, String) {
    let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it ends").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_goes_on_compares_and_exports() {
    let world = World::start(Script::new()).await;
    let (questions, library) = (examples().join("questions.jsonl"), examples().join("library"));
    let (questions, library) = (questions.to_str().unwrap(), library.to_str().unwrap());
    let at = |name: &str| world.folder().join(name).to_str().unwrap().to_owned();
    let (one, two) = (at("one.jsonl"), at("two.jsonl"));
    let measure = |out: &str, more: &[&str]| {
        let fixed = [questions, "--docs", library, "--only", "q01,q02,n13", "--out", out];
        [&fixed[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let run =
        async |arguments: Vec<String>| eval(&world, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;

    let (code, stdout, stderr) = run(measure(&one, &["--max-tokens", "1"])).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.starts_with("| 1 answers |") && stderr.contains("stopped after 1 of 3"), "{stdout}{stderr}");
    let (code, stdout, stderr) = run(measure(&one, &[])).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("2/2 ") && stdout.contains("| facts found | 100 %"), "{stdout}{stderr}");
    let (code, _, stderr) = run(measure(&one, &["--model", "openai:gpt-4.1"])).await;
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("name another file with --out"), "{stderr}");
    let (code, _, stderr) = run(measure(&one, &["--set", "max_searches=7"])).await;
    assert!(code == Some(2) && stderr.contains("name another file with --out"), "{stderr}");
    let (code, _, stderr) = run(measure(&two, &["--runs", "2", "--at-once", "2"])).await;
    assert_eq!(code, Some(0), "{stderr}");

    let results = Results::read(Path::new(&two)).unwrap();
    assert_eq!(results.scored.len(), 6);
    let unanswerable = results.scored.iter().find(|scored| scored.id == "n13").unwrap();
    assert!(unanswerable.admitted && unanswerable.report.as_ref().unwrap().starts_with("# "));
    let (code, stdout, _) = eval(&world, &["--compare", &one, &two]).await;
    assert_eq!(code, Some(0));
    assert!(stdout.contains("| facts found | 100 % | 100 % | 0 % | 0 % to 0 % |"), "{stdout}");
    let (_, shown, _) = eval(&world, &["--show", &two]).await;
    assert!(shown.starts_with("| 6 answers |"), "{shown}");
    let (_, exported, _) = eval(&world, &["--export", &one]).await;
    let line: serde_json::Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!(line["id"], "q01");
    assert!(line["article"].as_str().unwrap().contains("### Sources"));
    world.finish();
}

/// What the first one has asked and not written yet, the second would ask once more and then overwrite.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_evaluation_on_the_same_results_is_refused() {
    let world = World::start(Script::new()).await;
    let out = world.folder().join("one.jsonl");
    let questions = examples().join("questions.jsonl");
    let arguments = [questions.to_str().unwrap(), "--only", "q01", "--out", out.to_str().unwrap()];
    let first = Results::default().write(&out, None).unwrap();
    let (code, stdout, stderr) = eval(&world, &arguments).await;
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("another evaluation is writing to it") && stderr.lines().count() == 1, "{stderr}");
    drop(first);
    let (code, _, stderr) = eval(&world, &arguments).await;
    assert!(code == Some(2) && stderr.contains("holds results of other questions"), "{stderr}");
    world.finish();
}

/// A full disk, played by a limit on the size of files that the results reach before the database does.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_can_no_longer_be_written_end_with_the_figures_so_far() {
    let world = World::start(Script::new()).await;
    let (questions, library) = (examples().join("questions.jsonl"), examples().join("library"));
    let out = world.folder().join("one.jsonl");
    let arguments = [questions.to_str().unwrap(), "--docs", library.to_str().unwrap(), "--only", "q01,q02"];
    let limited = |blocks: usize, more: &[&str]| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(fathom_testkit::program::path()).arg("eval").args(arguments).args(more);
        command.env_clear().envs(world.environment()).current_dir(world.folder());
        without_keys(&mut command);
        command
    };
    let whole = ["--out", out.to_str().unwrap()];
    let (code, _, stderr) = ended(limited(1_000_000, &whole)).await;
    assert_eq!(code, Some(0), "{stderr}");
    // The database has what it needs; the results are close to the limit before they are added to.
    let results = Results::read(&out).unwrap();
    let mut padded = Results { scored: results.scored[..1].to_vec(), ..results };
    for room in [None, Some(100)] {
        let size = room.map_or(0, |room| LIMIT_BYTES - room - fs::read(&out).unwrap().len());
        fs::remove_file(&out).unwrap();
        padded.scored[0].report = Some("x".repeat(size));
        drop(padded.write(&out, None).unwrap());
    }
    let (code, stdout, stderr) = ended(limited(LIMIT_BYTES / BLOCK, &whole)).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.starts_with("| 1 answers |") && stderr.contains("the same command goes on"), "{stdout}{stderr}");
    let (code, stdout, stderr) = ended(limited(1_000_000, &whole)).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("| 2 answers |"), "{stdout}{stderr}");
    world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_on_money_is_a_sum_of_money() {
    let world = World::start(Script::new()).await;
    let questions = examples().join("questions.jsonl");
    for wrong in ["nan", "inf", "-1", "0"] {
        let (code, _, stderr) = eval(&world, &[questions.to_str().unwrap(), &format!("--max-cost={wrong}")]).await;
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("it must be from 0.01 to ") && stderr.lines().count() == 1, "{stderr}");
    }
    world.finish();
}

/// A search may be a call of a model, too; at another address than the vendor's own, nobody knows what it costs.
#[tokio::test(flavor = "multi_thread")]
async fn a_cap_on_money_needs_the_price_of_a_model_that_searches() {
    let world = World::start(Script::new()).await;
    let questions = examples().join("questions.jsonl");
    let offline = ["--model", "offline:extractive", "--set", "search_api=openai", "--max-cost", "1"];
    let (code, _, stderr) = eval_with_keys(&world, &[&[questions.to_str().unwrap()], &offline[..]].concat()).await;
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--max-cost needs the price of openai:"), "{stderr}");
    world.finish();
}

/// The smaller libraries are plain text, so what their questions expect can be looked up.
#[test]
fn the_smaller_libraries_hold_what_their_questions_expect() {
    for name in ["vellmouth", "orla", "brannock", "tessenow", "quillon", "corrin", "hollin", "pellow"] {
        let text = fs::read_to_string(examples().join(format!("{name}.jsonl"))).unwrap();
        let questions = fathom::eval::read_questions(&text).unwrap();
        assert!(questions.len() >= 25 && questions.iter().filter(|one| one.unanswerable).count() >= 5, "{name}");
        for question in &questions {
            let read = |document: &String| fs::read_to_string(examples().join(name).join(document)).unwrap();
            let held = question.documents.iter().map(read).collect::<String>().to_lowercase();
            for fact in &question.facts {
                let found = fact.alternatives().iter().any(|fact| held.contains(&fact.to_lowercase()));
                assert!(found, "{}: {fact:?}", question.id);
            }
        }
    }
}

/// A floor under what the offline model reaches on all questions; the figures themselves are in docs/evaluation.md.
#[tokio::test(flavor = "multi_thread")]
async fn the_offline_model_stays_above_its_floor() {
    let world = World::start(Script::new()).await;
    let (questions, library, out) =
        (examples().join("questions.jsonl"), examples().join("library"), world.folder().join("all.jsonl"));
    let arguments =
        [&questions, Path::new("--docs"), &library, Path::new("--at-once"), Path::new("2"), Path::new("--out"), &out];
    let (code, _, stderr) = eval(&world, &arguments.map(|argument| argument.to_str().unwrap())).await;
    assert_eq!(code, Some(0), "{stderr}");
    let scored = Results::read(&out).unwrap().scored;
    assert!(scored.len() >= 60, "{}", scored.len());
    let share = |of: &str, found: fn(&Scored) -> usize, all: fn(&Scored) -> usize| {
        let of_set = scored.iter().filter(|one| one.set.as_deref().unwrap_or_default().starts_with(of));
        let (found, all) = of_set.fold((0, 0), |sum, one| (sum.0 + found(one), sum.1 + all(one)));
        100 * found / all.max(1)
    };
    let found: fn(&Scored) -> usize = |one| one.facts.iter().filter(|fact| fact.lost.is_none()).count();
    let opening: fn(&Scored) -> usize = |one| one.facts.iter().filter(|fact| fact.in_opening).count();
    let facts: fn(&Scored) -> usize = |one| one.facts.len();
    let reached = [
        ("known", share("known", found, facts), 92),
        ("paraphrases", share("paraphrase", found, facts), 85),
        ("new", share("new", found, facts), 90),
        ("opening", share("", opening, facts), 80),
        ("admitted", share("", |one| (one.unanswerable && one.admitted).into(), |one| one.unanswerable.into()), 80),
    ];
    let failed: Vec<_> = reached.iter().filter(|(_, reached, wanted)| reached < wanted).collect();
    assert!(failed.is_empty(), "{failed:?}\n{}", fathom::eval::table(&scored));
    let outdated: usize =
        scored.iter().map(|one| one.outdated.iter().filter(|outdated| outdated.as_current).count()).sum();
    let known: usize = scored.iter().map(|one| one.outdated_known).sum();
    assert!(outdated * 20 <= known, "{outdated} of {known}\n{}", fathom::eval::table(&scored));
    for one in &scored {
        let practised = one.set.as_deref() != Some("injection-2");
        assert!(one.injected.is_empty() || !practised, "{}: {:?}", one.id, one.injected);
        assert!(
            one.violations.is_empty() && one.failure.is_none(),
            "{}: {:?} {:?}",
            one.id,
            one.violations,
            one.failure
        );
    }
    world.finish();
}
