//! Signals, and what `fathom resume` says to runs in every state.

use std::time::{Duration, Instant};

use fathom::{
    domain::{Event, Run, RunId},
    store::{Claimant, Claimed, Clock},
};

use super::{Engine, QUESTION, Site, Undisturbed, few_pages, script, until};
use crate::{
    fleet::Replica,
    world::{Ended, Kind, Running, Script, When, brain, reply},
};

/// An interrupted process ends within this time, also on a busy machine; the models would be silent for minutes.
const AT_ONCE: Duration = Duration::from_secs(10);

/// The whole run, but that kind of call is not answered until another script is followed.
fn never_answering(kind: Kind) -> Script {
    Script::new().always(When::kind(kind), reply::silence()).otherwise(|call| brain::reply(super::SHAPE, call))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_is_finished_by_resume() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    for (signal, kind) in [("INT", Kind::Summary), ("TERM", Kind::Report), ("INT", Kind::Researcher)] {
        let site = Site::new(Engine::Sqlite, never_answering(kind)).await;
        let mut process = site.research();
        site.is_asked(kind).await;
        let run = site.run().await;
        interrupt(&mut process, signal, &run).await;
        site.is_quiet().await;
        let asked = site.world.models.calls_of(kind);
        assert!(asked.iter().all(|call| call.ended() == Ended::Aborted), "{asked:?}");
        assert_is_free(&site, &run).await;
        site.world.models.follow(script());
        let calls = site.world.models.total();
        let left = undisturbed.calls_left(&site.steps(run.id).await);
        let mut next = site.resume(run.id);
        assert!(next.ends().await.success(), "{}", next.stderr());
        assert_eq!(next.stdout(), undisturbed.report);
        assert_eq!(site.world.models.total() - calls, left);
        undisturbed.is_matched_by(&site, &run).await;
        site.world.finish();
    }
}

async fn interrupt(process: &mut Running, signal: &str, run: &Run) {
    let asked = Instant::now();
    process.signal(signal).await;
    let status = process.ends().await;
    assert!(asked.elapsed() < AT_ONCE, "it took {:?}", asked.elapsed());
    assert_eq!(status.code(), Some(130), "{}", process.stderr());
    assert!(process.stderr().contains(&format!("fathom resume {}", run.id)), "{}", process.stderr());
    assert_eq!(process.stdout(), "");
}

/// Anybody may claim the run at once: nobody waits for a lease to end. Gives it back.
async fn assert_is_free(site: &Site, run: &Run) {
    let lease = Duration::from_secs(60);
    let claimant = Claimant { worker: "the test".to_owned(), lease, clock: Clock::Database };
    match site.store.claim(run.id, &claimant).await.unwrap() {
        Claimed::Yes { lease, .. } => {
            site.store.release(lease.run_id, lease.epoch, None, Duration::ZERO, Clock::Database).await.unwrap();
        }
        other => panic!("the lease was not released: {other:?}"),
    }
}

/// The database is away, so the first signal cannot be obeyed at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_interrupt_stops_at_once() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    let site = Site::new(Engine::Sqlite, never_answering(Kind::Summary)).await;
    let mut process = site.research();
    site.is_asked(Kind::Summary).await;
    let run = site.run().await;
    let outage = site.database.outage().await;
    process.signal("INT").await;
    process.says("once more to stop at once").await;
    let asked = Instant::now();
    process.signal("INT").await;
    assert_eq!(process.ends().await.code(), Some(130), "{}", process.stderr());
    assert!(asked.elapsed() < Duration::from_secs(5), "it took {:?}", asked.elapsed());
    outage.end().await;
    site.is_quiet().await;
    site.world.models.follow(script());
    let mut next = site.resume(run.id);
    assert!(next.ends().await.success(), "{}", next.stderr());
    assert_eq!(next.stdout(), undisturbed.report);
    site.world.finish();
}

/// The first one would let it wait for the call under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_service_at_once() {
    let site = Site::new(Engine::Sqlite, never_answering(Kind::Summary)).await;
    let patient = [("FATHOM_GRACE_SECONDS", "60")];
    let mut service = Replica::start_with(&site.world, &site.database.database, &patient).await;
    service.ask(QUESTION).await;
    site.is_asked(Kind::Summary).await;
    service.running.terminate().await;
    service.running.says("once more to stop at once").await;
    service.running.terminate().await;
    assert_eq!(service.running.ends().await.code(), Some(130), "{}", service.running.stderr());
    site.is_quiet().await;
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_run_prints_its_report_again_and_asks_nobody() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let mut process = site.research();
    assert!(process.ends().await.success(), "{}", process.stderr());
    let run = site.run().await;
    let (calls, events) = (site.world.models.total(), site.events(&run).await.len());
    let mut again = site.resume(run.id);
    assert_eq!(again.ends().await.code(), Some(0), "{}", again.stderr());
    assert_eq!(again.stdout(), process.stdout());
    assert_eq!((site.world.models.total(), site.events(&run).await.len()), (calls, events));
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_goes_on_unless_its_reason_does_not_pass() {
    let script = Script::new().always(When::any(), reply::status(401));
    let site = Site::with_pages(Engine::Sqlite, script, few_pages).await;
    let mut process = site.research();
    assert_eq!(process.ends().await.code(), Some(1), "{}", process.stderr());
    let run = site.run().await;
    assert!(process.stderr().contains(&format!("fathom resume {}", run.id)), "{}", process.stderr());
    let calls = site.world.models.total();
    site.database.execute("UPDATE runs SET error_code = 'no_evidence'").await;
    let mut again = site.resume(run.id);
    assert_eq!(again.ends().await.code(), Some(1), "{}", again.stderr());
    assert!(again.stderr().contains("the run failed"), "{}", again.stderr());
    assert_eq!((again.stdout().as_str(), site.world.models.total()), ("", calls));
    // The key is corrected, and another model chosen on the way.
    site.database.execute("UPDATE runs SET error_code = 'model_auth'").await;
    site.world.models.follow(super::script());
    let id = run.id.to_string();
    let mut again = site.spawn(&["resume", &id, "--set", "final_report_model=openai:another"]);
    assert_eq!(again.ends().await.code(), Some(0), "{}", again.stderr());
    assert!(again.stdout().contains("### Sources"), "{}", again.stdout());
    assert_eq!(site.world.models.calls_of(Kind::Report)[0].model(), "another");
    let next = site.run().await;
    assert_eq!((next.retry_of, next.thread_id), (Some(run.id), run.thread_id));
    site.world.finish();
}

/// Nobody is at the terminal, so it ends with the question again; the model is not asked for it a second time.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_nobody_answered_is_asked_again() {
    let script = Script::new().always(When::kind(Kind::Clarify), reply::ask_back("Which of the two gates?"));
    let site = Site::new(Engine::Sqlite, script).await;
    let mut process = site.research();
    assert_eq!(process.ends().await.code(), Some(3), "{}", process.stderr());
    let run = site.run().await;
    let mut again = site.resume(run.id);
    assert_eq!(again.ends().await.code(), Some(3), "{}", again.stderr());
    assert!(again.stderr().contains("Which of the two gates?"), "{}", again.stderr());
    assert_eq!(site.world.models.total(), 1);
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_nobody_gave_are_refused() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let unknown = RunId::new().to_string();
    for (id, message) in [(unknown.as_str(), "there is no run"), ("run-7", "invalid value 'run-7'")] {
        let mut process = site.spawn(&["resume", id]);
        assert_eq!(process.ends().await.code(), Some(2), "{}", process.stderr());
        assert!(process.stderr().contains(message), "{}", process.stderr());
    }
    assert_eq!(site.world.models.total(), 0);
    site.world.finish();
}

/// While the first process lives, the second one waits, watches, and prints what the first one wrote.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_waits_for_the_process_that_still_works() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    let site = Site::new(Engine::Sqlite, script()).await;
    let mut process = site.research();
    let run = site.has_steps(5).await;
    let mut other = site.resume(run.id);
    assert!(process.ends().await.success(), "{}", process.stderr());
    assert!(other.ends().await.success(), "{}", other.stderr());
    assert_eq!((process.stdout(), other.stdout()), (undisturbed.report.clone(), undisturbed.report.clone()));
    undisturbed.is_matched_by(&site, &run).await;
    assert_eq!(site.world.models.total(), undisturbed.fingerprints.len(), "nobody worked twice");
    site.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_process_is_overtaken_and_writes_nothing_more() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    // Both researchers, the pages of their first searches, the one report.
    for (kind, at_once) in [(Kind::Researcher, 2), (Kind::Summary, 3), (Kind::Report, 1)] {
        overtake(kind, at_once, &undisturbed).await;
    }
}

async fn overtake(kind: Kind, at_once: usize, undisturbed: &Undisturbed) {
    // The answer is on its way when the process freezes, so it finds it when it wakes up.
    let slow = reply_after(kind, Duration::from_millis(500));
    let site = Site::new(Engine::Sqlite, slow).await;
    let lease = [("FATHOM_LEASE_SECONDS", "2")];
    let mut frozen = site.spawn_with(&["research", QUESTION, "--set", "allow_clarification=true"], &lease);
    until("all of them are asked", async || (site.world.models.count(kind) >= at_once).then_some(())).await;
    freeze(&site, &frozen).await;
    let run = site.run().await;
    site.is_quiet().await;
    let calls = site.world.models.total();
    let stored = site.steps(run.id).await;
    let mut next = site.spawn_with(&["resume", &run.id.to_string()], &lease);
    // Wakes up while the other one is at work, and is refused by the lease; had the other one finished, it would be
    // refused by the status alone.
    until("it was taken over", async || {
        let resumed = |event: &Event| matches!(event, Event::RunResumed { .. });
        site.events(&run).await.iter().any(|envelope| resumed(&envelope.event)).then_some(())
    })
    .await;
    frozen.signal("CONT").await;
    assert!(next.ends().await.success(), "{}", next.stderr());
    assert_eq!(next.stdout(), undisturbed.report);
    assert_eq!(frozen.ends().await.code(), Some(1), "{}", frozen.stderr());
    assert!(frozen.stderr().contains("another process took the run over"), "{}", frozen.stderr());
    assert_eq!(frozen.stdout(), "");
    undisturbed.is_matched_by(&site, &run).await;
    assert_eq!(site.world.models.total() - calls, undisturbed.calls_left(&stored), "after a freeze at {kind:?}");
    site.world.finish();
}

/// Stops the process, but not while it holds the one write lock that SQLite has: nobody could go on then.
async fn freeze(site: &Site, process: &Running) {
    loop {
        process.signal("STOP").await;
        let some_write = site.store.request_cancel(RunId::new(), Clock::Database);
        if tokio::time::timeout(Duration::from_millis(500), some_write).await.is_ok() {
            return;
        }
        process.signal("CONT").await;
    }
}

fn reply_after(kind: Kind, latency: Duration) -> Script {
    Script::new()
        .by(When::kind(kind), move |call| brain::reply(super::SHAPE, call).after(latency))
        .otherwise(|call| brain::reply(super::SHAPE, call))
        .latency(super::LATENCY)
}

/// A run that cannot go on here is not failed: it could go on elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_without_the_keys_names_them_and_the_run_waits() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    let site = Site::new(Engine::Sqlite, script()).await;
    let mut killed = site.research();
    let run = site.has_steps(20).await;
    killed.kill().await;
    site.is_quiet().await;
    for missing in ["OPENAI_API_KEY", "TAVILY_API_KEY"] {
        let mut process = site.spawn_with(&["resume", &run.id.to_string()], &[(missing, ""), ("OPENAI_BASE_URL", "")]);
        assert_eq!(process.ends().await.code(), Some(2), "{}", process.stderr());
        assert!(process.stderr().contains(&format!("set {missing}")), "{}", process.stderr());
    }
    let mut next = site.resume(run.id);
    assert!(next.ends().await.success(), "{}", next.stderr());
    assert_eq!(next.stdout(), undisturbed.report);
    undisturbed.is_matched_by(&site, &run).await;
    site.world.finish();
}

/// The run remembers its folder: nobody has to name it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_over_documents_needs_no_folder_again() {
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/library");
    let arguments = ["research", "Who pays for the tide gate?", "--docs", library, "--set", "search_api=local"];
    let reference = Site::new(Engine::Sqlite, script()).await;
    let mut process = reference.spawn(&arguments);
    assert!(process.ends().await.success(), "{}", process.stderr());
    let run = reference.run().await;
    let all = reference.steps(run.id).await.len();
    for n in [1, all / 2, all - 2] {
        let site = Site::new(Engine::Sqlite, script()).await;
        let mut killed = site.spawn(&arguments);
        let run = site.has_steps(n).await;
        killed.kill().await;
        let mut next = site.resume(run.id);
        assert!(next.ends().await.success(), "{}", next.stderr());
        assert_eq!(next.stdout(), process.stdout());
        site.is_quiet().await;
        assert_eq!(site.world.web.total(), 0, "the web was not searched");
        site.world.finish();
    }
    reference.world.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_has_gone_is_named_and_the_run_waits() {
    let site = Site::new(Engine::Sqlite, never_answering(Kind::Report)).await;
    let folder = site.world.folder().join("papers");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("gate.md"), "# Gate\n\nIn the records of Skelderwick, the gate is paid by dues.\n")
        .unwrap();
    let arguments = ["research", "Who pays for the gate?", "--docs", "papers", "--set", "search_api=local"];
    let mut killed = site.spawn(&arguments);
    site.is_asked(Kind::Report).await;
    let run = site.run().await;
    killed.kill().await;
    site.is_quiet().await;
    site.world.models.follow(script());
    let moved = site.world.folder().join("moved");
    std::fs::rename(&folder, &moved).unwrap();
    let mut without = site.resume(run.id);
    assert_eq!(without.ends().await.code(), Some(2), "{}", without.stderr());
    assert!(without.stderr().contains(&folder.display().to_string()), "{}", without.stderr());
    let mut with = site.spawn(&["resume", &run.id.to_string(), "--docs", "moved"]);
    assert!(with.ends().await.success(), "{}", with.stderr());
    assert!(with.stdout().contains("gate.md"), "{}", with.stdout());
    site.world.finish();
}
