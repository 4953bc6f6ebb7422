//! Replicas that tell nobody anything, as if they died each time between commit and notify, or sat behind a pooler that
//! does not pass notifications on: the others look by themselves, and are a second late.

use std::time::Duration;

use fathom::{
    domain::{Run, RunStatus, Timestamp},
    store::Database,
};
use futures::FutureExt as _;
use secrecy::ExposeSecret as _;

use super::run_id;
use crate::{
    crash::{Engine, QUESTION, SHAPE, Site},
    fleet::{Reader, Replica, check_stream},
    world::{Ended, Kind, Script, When, brain, reply},
};

const PATIENCE: Duration = Duration::from_secs(30);
/// The poll of a second, and a machine with other work; a lease lasts longer.
const A_POLL: Duration = Duration::from_secs(4);

/// A replica that works on the site's run and whose words nobody hears.
async fn mute(site: &Site) -> (Replica, Run) {
    // Found before the real one, where the search path says so.
    site.database.execute("CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT'").await;
    let Database::Postgres { url, .. } = &site.database.database else { panic!("only on Postgres") };
    let url = format!("{}&options=-c%20search_path%3Dpublic%2Cpg_catalog", url.expose_secret());
    let replica = Replica::start_with(&site.world, &site.database.database, &[("DATABASE_URL", &url)]).await;
    let id = run_id(&replica.ask(QUESTION).await);
    let run = crate::crash::until("it is worked on", async || {
        let run = site.store.run(id).await.unwrap().unwrap();
        (run.status == RunStatus::Running).then_some(run)
    })
    .await;
    (replica, run)
}

/// A script of the whole run in which every answer takes a while.
fn slow() -> Script {
    Script::new().otherwise(|call| brain::reply(SHAPE, call).after(Duration::from_millis(200)))
}

/// A script of the whole run, but this kind of call is never answered.
fn stuck(kind: Kind) -> Script {
    Script::new().always(When::kind(kind), reply::silence()).otherwise(|call| brain::reply(SHAPE, call))
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_elsewhere_get_every_event_without_notifications() {
    let site = Site::new(Engine::Postgres, slow()).await;
    let (silent, run) = mute(&site).await;
    let other = Replica::start(&site.world, &site.database.database).await;
    let mut reader = Reader::start(&run.id.to_string(), vec![other.address.clone()]);
    let since = Timestamp::now();
    let seen = reader.ends(PATIENCE).await;
    check_stream(&seen, &site.events(&run).await);
    let delays = reader.delays_ms(since);
    let longest = delays.iter().max().copied().unwrap_or(0);
    assert!(delays.len() > 10 && longest <= A_POLL.as_millis() as i64, "{longest} ms, of {}", delays.len());
    assert!(longest > 100, "heard after all: at most {longest} ms");
    drop(silent);
    site.world.finish();
}

/// The one that is asked tells nobody, so the one that works finds out by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_nobody_tells_is_found() {
    let cancelled = stopped_by(|replica, run| {
        async move { assert_eq!(replica.post(&format!("/api/v1/runs/{}/cancel", run.id)).await, 202) }.boxed()
    });
    let run = cancelled.await.expect("it is still there");
    assert_eq!(run.status, RunStatus::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_nobody_tells_is_found() {
    let deleted = stopped_by(|replica, run| {
        async move { assert_eq!(replica.delete(&format!("/api/v1/threads/{}", run.thread_id)).await, 204) }.boxed()
    });
    assert!(deleted.await.is_none());
}

/// Lets a mute replica stop the run of another one, and returns what is left of the run.
async fn stopped_by(stop: impl FnOnce(Replica, Run) -> futures::future::BoxFuture<'static, ()>) -> Option<Run> {
    let site = Site::new(Engine::Postgres, stuck(Kind::Brief)).await;
    let worker = Replica::start(&site.world, &site.database.database).await;
    let id = run_id(&worker.ask(QUESTION).await);
    site.is_asked(Kind::Brief).await;
    let run = site.store.run(id).await.unwrap().unwrap();
    let (silent, own) = mute(&site).await;
    crate::crash::until("both are asked for", async || {
        (site.world.models.calls_of(Kind::Brief).len() == 2).then_some(())
    })
    .await;
    let asked = tokio::time::Instant::now();
    stop(silent, run.clone()).await;
    drop(own);
    // The call of the mute replica ended with it.
    site.is_quiet().await;
    assert!(asked.elapsed() <= A_POLL, "outbound calls ended after {:?}", asked.elapsed());
    let calls = site.world.models.calls_of(Kind::Brief);
    assert!(calls.iter().all(|call| call.ended() == Ended::Aborted));
    let left = crate::crash::until("the run has ended", async || {
        let run = site.store.run(run.id).await.unwrap();
        run.as_ref().is_none_or(|run| run.status.is_final()).then_some(run)
    });
    let left = left.await;
    site.world.finish();
    left
}
