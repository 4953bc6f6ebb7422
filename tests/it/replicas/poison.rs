//! Processes that die: a run that waited then has nothing to do with it, and only the run that our own code was working
//! on may be why. Such a run is held back, then worked on alone, and in the end given up with what it found.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use fathom::domain::{Event, FailureCode, RunId, RunStatus, Timestamp};

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, Undisturbed, script, until},
    fleet::{Fleet, Replica, check_ledger},
    world::{Call, Ended, Kind, Script, When, brain, reply},
};

/// Begins the question of the run that is not like the others.
const POISON: &str = "How is the poisoned well";
/// How often a process is looked at until it is caught at work.
const LOOKS: usize = 20_000;

/// Waits until the report is asked for by one more process, and all that came before is stored; the place of that one.
async fn works_on_the_report(site: &Site, fleet: &Fleet, entries: usize) -> usize {
    site.is_asked(Kind::Report).await;
    site.has_steps(entries).await;
    site.holder(fleet).await
}

fn stuck_at_the_report() -> Script {
    Script::new().always(When::kind(Kind::Report), reply::silence()).otherwise(|call| brain::reply(SHAPE, call))
}

/// What the processes on this data folder say of a run: whether our own code is at work on it.
fn is_in_own_work(data_dir: &Path, run_id: RunId) -> bool {
    let files = fs::read_dir(data_dir.join("processes")).into_iter().flatten().flatten();
    let marks = files.filter_map(|file| fs::read(file.path()).ok());
    let is_its_mark = |slot: &[u8]| slot.len() == 32 && slot[..16] == run_id.0.into_bytes() && slot[24] == 2;
    marks.into_iter().any(|marks| marks.get(512..).is_some_and(|slots| slots.chunks(32).any(is_its_mark)))
}

/// Kills the process in the middle of its own work on that run. `false` when the run was over before.
async fn kill_in_own_work(site: &Site, replica: &mut Replica, run_id: RunId) -> bool {
    let data_dir: PathBuf = site.data_dir();
    for look in 0..LOOKS {
        replica.running.signal("STOP").await;
        if is_in_own_work(&data_dir, run_id) {
            replica.running.kill().await;
            return true;
        }
        replica.running.signal("CONT").await;
        if look % 20 == 0 && site.store.run(run_id).await.unwrap().unwrap().status.is_final() {
            return false;
        }
    }
    panic!("it never works on {run_id}:\n{}", replica.running.stderr());
}

/// Its report of the poisoned well comes in so many pieces that it never ends; all others behave.
fn with_an_endless_report() -> Script {
    let endless = |_: &Call| reply::text("The well is deep. ".repeat(20_000)).pace(Duration::from_millis(2));
    Script::new()
        .by(When::kind(Kind::Report).and(When::says(POISON)), endless)
        .otherwise(|call| brain::reply(SHAPE, call))
        .latency(Duration::from_millis(15))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_processes_die_of_is_given_up_and_its_bystanders_are_not() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let site = Site::new(engine, with_an_endless_report()).await;
        let start = || Replica::start_with(&site.world, &site.database.database, &[("FATHOM_CRASH_LOOP_SECONDS", "2")]);
        let mut replica = start().await;
        let poison = run_id(&replica.ask(&format!("{POISON} of Skelderwick to be cleaned?")).await);
        let mut bystanders = Vec::new();
        for n in 0..5 {
            bystanders.push(run_id(&replica.ask(&format!("{QUESTION} ({n})")).await));
        }
        let (mut deaths, mut first_kill) = (0, None);
        until_async(async || {
            let begun = async || {
                let run = site.store.run(poison).await.unwrap().unwrap();
                let phase = run.progress.phase.map(|phase| phase.as_str());
                (run.status.is_final() || phase == Some("report")).then_some(run.status)
            };
            let status = until("it writes, or is over", begun).await;
            let over = status.is_final() || !kill_in_own_work(&site, &mut replica, poison).await;
            if !over {
                deaths += 1;
                first_kill.get_or_insert_with(Timestamp::now);
                replica = start().await;
            }
            over
        })
        .await;
        let run = site.is_final(poison).await;
        assert_eq!(run.error.as_ref().map(|error| error.code), Some(FailureCode::CrashLoop), "{run:?}");
        assert!(deaths >= 5, "given up after {deaths} deaths");
        let suspected_ms = run.finished_at.unwrap().since(first_kill.unwrap());
        assert!(suspected_ms >= 2_000, "given up after {suspected_ms} ms, before FATHOM_CRASH_LOOP_SECONDS had passed");
        assert_eq!(site.store.notes(poison).await.unwrap().len(), 2, "what was found is kept");
        assert!(!site.store.sources(poison).await.unwrap().is_empty());
        let events = site.events(&run).await;
        let ends: Vec<_> = events.iter().filter(|envelope| envelope.event.is_terminal()).collect();
        assert!(matches!(ends.as_slice(), [end] if matches!(end.event, Event::RunFailed { .. })), "{ends:?}");
        for bystander in bystanders {
            let run = site.is_final(bystander).await;
            assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
            check_ledger(&site.store, &run).await;
        }
        replica.stop().await;
        site.world.finish();
    }
}

/// Repeats until it says that it is over.
async fn until_async(mut turn: impl AsyncFnMut() -> bool) {
    for _ in 0..50 {
        if turn().await {
            return;
        }
    }
    panic!("it is never over");
}

/// Twenty runs that wait for models, and a service that is killed three times in a row: nothing is blamed on them.
#[tokio::test(flavor = "multi_thread")]
async fn kills_in_a_row_are_nobodys_fault_who_waits() {
    const RUNS: usize = 20;
    for (engine, kind) in [(Engine::Sqlite, Kind::Report), (Engine::Postgres, Kind::Researcher)] {
        let stuck =
            Script::new().always(When::kind(kind), reply::silence()).otherwise(|call| brain::reply(SHAPE, call));
        let site = Site::new(engine, stuck).await;
        let mut fleet = site.fleet(1).await;
        let mut ids = Vec::new();
        for n in 0..RUNS {
            ids.push(run_id(&fleet.replicas[0].ask(&format!("{QUESTION} ({n})")).await));
        }
        let open = |call: &Call| call.kind == kind && call.ended() == Ended::Pending;
        for _ in 0..4 {
            until("all of them wait", async || (site.world.models.calls_matching(open).len() >= RUNS).then_some(()))
                .await;
            fleet.replicas[0].running.kill().await;
            site.is_quiet().await;
            fleet.replace(0, &site.world, &site.database.database).await;
        }
        until("all of them wait", async || (site.world.models.calls_matching(open).len() >= RUNS).then_some(())).await;
        site.world.models.follow(script());
        fleet.replicas[0].running.kill().await;
        fleet.replace(0, &site.world, &site.database.database).await;
        for id in ids {
            let run = site.is_final(id).await;
            assert_eq!(run.status, RunStatus::Completed, "{engine:?}: {:?}", run.error);
            check_ledger(&site.store, &run).await;
        }
        site.world.finish();
    }
}

/// Nor is a process dead that was frozen and wakes up to find its run with somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_outlive_the_naps_of_its_workers() {
    let entries = Undisturbed::of(Engine::Postgres).await.journal.len() - 2;
    let site = Site::new(Engine::Postgres, stuck_at_the_report()).await;
    let fleet = site.fleet(2).await;
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    for nap in 1..=4 {
        let place = works_on_the_report(&site, &fleet, entries).await;
        fleet.replicas[place].running.signal("STOP").await;
        let run = site.run().await;
        until("another one has taken it over", async || (site.resumed_at(&run).await.len() == nap).then_some(())).await;
        until("an end is counted that nobody has explained", async || (site.blamed().await == 1).then_some(())).await;
        fleet.replicas[place].running.signal("CONT").await;
        until("it says that it lives", async || (site.blamed().await == 0).then_some(())).await;
        until("its call ended", async || {
            let open = |call: &Call| call.kind == Kind::Report && call.ended() == Ended::Pending;
            (site.world.models.calls_matching(open).len() <= 1).then_some(())
        })
        .await;
    }
    let place = works_on_the_report(&site, &fleet, entries).await;
    site.world.models.follow(script());
    fleet.replicas[place].running.terminate().await;
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    site.world.finish();
}

/// Orderly ends are not deaths, however many.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_be_handed_over_as_often_as_one_likes() {
    let entries = Undisturbed::of(Engine::Postgres).await.journal.len() - 2;
    let site = Site::new(Engine::Postgres, stuck_at_the_report()).await;
    // The report is silent, so each end lasts as long as it may.
    let brief = &[("FATHOM_GRACE_SECONDS", "1")];
    let mut fleet = Fleet::start_with(&site.world, &site.database.database, 2, brief).await;
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    for _ in 0..5 {
        let place = works_on_the_report(&site, &fleet, entries).await;
        assert_eq!(site.blamed().await, 0, "a process that was asked to stop has not died");
        fleet.replicas[place].running.terminate().await;
        let status = fleet.replicas[place].running.ends().await;
        assert!(status.success(), "{}", fleet.replicas[place].running.stderr());
        fleet.replace(place, &site.world, &site.database.database).await;
    }
    let place = works_on_the_report(&site, &fleet, entries).await;
    assert_eq!(site.blamed().await, 0);
    site.world.models.follow(script());
    fleet.replicas[place].running.terminate().await;
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    site.world.finish();
}
