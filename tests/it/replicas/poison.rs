//! A run that kills whoever works on it: three deaths at one step and it is given up, with what it found.

use fathom::domain::{Event, FailureCode, RunStatus};

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site, Undisturbed, script},
    fleet::Fleet,
    world::{Kind, Script, When, brain, reply},
};

/// Waits until the report is asked for by one more process, and all that came before is stored; the place of that one.
async fn works_on_the_report(site: &Site, fleet: &Fleet, entries: usize) -> usize {
    site.is_asked(Kind::Report).await;
    site.has_steps(entries).await;
    site.holder(fleet).await
}

fn stuck_at_the_report() -> Script {
    Script::new().always(When::kind(Kind::Report), reply::silence()).otherwise(|call| brain::reply(SHAPE, call))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_kills_three_processes_at_one_step_is_given_up() {
    // All but the report and the end of its phase.
    for (engine, replicas) in [(Engine::Postgres, 2), (Engine::Sqlite, 1)] {
        let entries = Undisturbed::of(engine).await.journal.len() - 2;
        let site = Site::new(engine, stuck_at_the_report()).await;
        let mut fleet = site.fleet(replicas).await;
        let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
        for _ in 0..3 {
            let place = works_on_the_report(&site, &fleet, entries).await;
            fleet.replicas[place].running.kill().await;
            site.is_quiet().await;
            fleet.replace(place, &site.world, &site.database.database).await;
        }
        let run = site.is_final(id).await;
        assert_eq!(run.status, RunStatus::Failed);
        assert_eq!(run.error.as_ref().map(|error| error.code), Some(FailureCode::CrashLoop), "{run:?}");
        assert_eq!(site.world.models.count(Kind::Report), 3, "nobody tried a fourth time");
        assert_eq!(site.store.notes(id).await.unwrap().len(), 2, "what was found is kept");
        assert!(!site.store.sources(id).await.unwrap().is_empty());
        let events = site.events(&run).await;
        let ends: Vec<_> = events.iter().filter(|envelope| envelope.event.is_terminal()).collect();
        assert!(matches!(ends.as_slice(), [end] if matches!(end.event, Event::RunFailed { .. })), "{ends:?}");
        // The services are none the worse.
        site.world.models.follow(script());
        let next = site.is_final(run_id(&fleet.replicas[0].ask(QUESTION).await)).await;
        assert_eq!(next.status, RunStatus::Completed);
        site.world.finish();
    }
}

/// Orderly ends are not deaths, however many.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_be_handed_over_as_often_as_one_likes() {
    let entries = Undisturbed::of(Engine::Postgres).await.journal.len() - 2;
    let site = Site::new(Engine::Postgres, stuck_at_the_report()).await;
    let mut fleet = site.fleet(2).await;
    let id = run_id(&fleet.replicas[0].ask(QUESTION).await);
    for _ in 0..5 {
        let place = works_on_the_report(&site, &fleet, entries).await;
        fleet.replicas[place].running.terminate().await;
        let status = fleet.replicas[place].running.ends().await;
        assert!(status.success(), "{}", fleet.replicas[place].running.stderr());
        fleet.replace(place, &site.world, &site.database.database).await;
    }
    works_on_the_report(&site, &fleet, entries).await;
    site.world.models.follow(script());
    let place = site.holder(&fleet).await;
    fleet.replicas[place].running.terminate().await;
    let run = site.is_final(id).await;
    assert_eq!(run.status, RunStatus::Completed, "{:?}", run.error);
    site.world.finish();
}
