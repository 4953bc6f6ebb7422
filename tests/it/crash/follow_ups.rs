//! SIGKILL after the entries of a follow-up's journal: what was taken over from the earlier run is the same in every
//! life, and nothing is asked twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use fathom::{
    domain::{FollowUpAction, MessageId, Run, RunId, Source, Timestamp},
    store::{Admission, NewRun, Step},
};
use futures::{StreamExt, stream};

use super::{Engine, SHAPE, Site, check_log, count, journal_of, script, stored_before};
use crate::world::{Call, Kind, Script, When, brain, reply};

/// Disturbed runs at the same time.
const AT_ONCE: usize = 4;

/// What the message is, as the scripted model understands it.
fn script_of(action: FollowUpAction) -> Script {
    let report = |call: &Call| brain::reply(SHAPE, call).pace(Duration::from_millis(3));
    Script::new()
        .always(When::kind(Kind::FollowUp), reply::follow_up(action.as_str()))
        .by(When::kind(Kind::Report), report)
        .otherwise(|call| brain::reply(SHAPE, call))
        .latency(super::LATENCY)
}

/// A site with a finished first run, and the next message's run waiting.
async fn with_follow_up(engine: Engine, action: FollowUpAction) -> (Site, Run) {
    let site = Site::new(engine, script()).await;
    let mut first = site.research();
    assert!(first.ends().await.success(), "{}", first.stderr());
    let first = site.run().await;
    let new_run = NewRun {
        thread_id: first.thread_id,
        run_id: RunId::new(),
        message_id: MessageId::new(),
        content: "What about the loans for the gate?".to_owned(),
        options: first.options,
        given_options: serde_json::Map::new(),
        documents: None,
        owner: fathom::domain::Owner::local(),
        key: None,
        reserved: None,
        webhook_url: None,
        sealed_keys: None,
        retry: None,
        collections: Vec::new(),
        now: Timestamp::now(),
    };
    site.store.add_run(&new_run, &Admission::default()).await.unwrap().unwrap();
    site.world.models.follow(script_of(action));
    let run = site.store.run(new_run.run_id).await.unwrap().unwrap();
    (site, run)
}

/// The follow-up to which nothing happened.
struct Reference {
    text: String,
    journal: BTreeMap<String, (String, String)>,
    sources: Vec<Source>,
    /// Model calls and searches.
    calls: usize,
    searches: usize,
}

/// What is taken over is named by its run, and so differs from site to site.
fn journal(steps: &[Step]) -> BTreeMap<String, (String, String)> {
    let mut journal = journal_of(steps);
    journal.entry("earlier".to_owned()).and_modify(|(_, hash)| hash.clear());
    journal
}

/// Times differ from site to site.
async fn sources(site: &Site, run: &Run) -> Vec<Source> {
    let sources = site.store.snapshots(run.id).await.unwrap();
    sources.into_iter().map(|source| Source { fetched_at: Timestamp(0), ..source }).collect()
}

async fn reference(engine: Engine, action: FollowUpAction) -> Reference {
    let (site, run) = with_follow_up(engine, action).await;
    let (calls, searches) = (site.world.models.total(), site.world.web.total());
    let mut process = site.resume(run.id);
    assert!(process.ends().await.success(), "{}", process.stderr());
    let steps = site.steps(run.id).await;
    let reference = Reference {
        text: process.stdout(),
        journal: journal(&steps),
        sources: sources(&site, &run).await,
        calls: site.world.models.total() - calls,
        searches: site.world.web.total() - searches,
    };
    assert_eq!((count(&steps, "model"), count(&steps, "search")), (reference.calls, reference.searches));
    assert!(reference.text.contains("[1]") && reference.text.contains("## Sources"), "{}", reference.text);
    let known: BTreeSet<u32> = reference.sources.iter().map(|source| source.id.researcher()).collect();
    assert!(known.contains(&1) && reference.sources.iter().all(|source| !source.snapshot.is_empty()));
    assert!(reference.journal.contains_key("earlier"));
    site.world.finish();
    reference
}

async fn kill_after(engine: Engine, action: FollowUpAction, n: usize, reference: &Reference) {
    let (site, run) = with_follow_up(engine, action).await;
    let mut process = site.resume(run.id);
    super::until("enough steps are stored", async || {
        let status = site.store.run(run.id).await.unwrap().unwrap().status;
        (status.is_final() || site.steps(run.id).await.len() >= n).then_some(())
    })
    .await;
    process.kill().await;
    let killed_at = Timestamp::now();
    site.is_quiet().await;
    let (calls, searches) = (site.world.models.total(), site.world.web.total());
    let mut next = site.resume(run.id);
    assert!(next.ends().await.success(), "{action:?} after {n} steps: {}", next.stderr());
    assert_eq!(next.stdout(), reference.text, "{action:?} after {n} steps");
    let steps = site.steps(run.id).await;
    assert_eq!(journal(&steps), reference.journal);
    assert_eq!(sources(&site, &run).await, reference.sources);
    let stored = stored_before(steps, killed_at);
    assert_eq!(site.world.models.total() - calls, reference.calls - count(&stored, "model"));
    assert_eq!(site.world.web.total() - searches, reference.searches - count(&stored, "search"));
    replay(&site, &run, reference).await;
    site.world.finish();
}

/// From the whole journal nothing is asked at all, and the log has one end of each run.
async fn replay(site: &Site, run: &Run, reference: &Reference) {
    let usage = site.store.usage(run.id).await.unwrap();
    let events = site.store.run_events_after(run.id, 0, 100_000).await.unwrap();
    let first = events[0].seq;
    let mut renumbered = events;
    renumbered.iter_mut().for_each(|envelope| envelope.seq -= first - 1);
    check_log(&renumbered, &reference.text, usage);
    site.database
        .execute(
            "DELETE FROM messages WHERE role = 'assistant' AND run_id = (SELECT id FROM runs ORDER BY created_at DESC, id DESC LIMIT 1); \
             UPDATE runs SET status = 'running', outcome = NULL, finished_at = NULL, report = NULL \
             WHERE id = (SELECT id FROM runs ORDER BY created_at DESC, id DESC LIMIT 1)",
        )
        .await;
    let calls = site.world.models.total();
    let mut again = site.resume(run.id);
    assert!(again.ends().await.success(), "{}", again.stderr());
    assert_eq!((again.stdout(), site.world.models.total()), (reference.text.clone(), calls));
}

async fn kill_along(engine: Engine, action: FollowUpAction, every: usize) {
    let reference = &reference(engine, action).await;
    let entries = (0..=reference.journal.len()).step_by(every);
    let kills = stream::iter(entries).map(|n| kill_after(engine, action, n, reference)).buffer_unordered(AT_ONCE);
    kills.collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_killed_after_any_step_goes_on_in_sqlite() {
    kill_along(Engine::Sqlite, FollowUpAction::Answer, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_killed_now_and_then_goes_on_in_postgres() {
    kill_along(Engine::Postgres, FollowUpAction::Revise, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_research_killed_now_and_then_goes_on_in_sqlite() {
    kill_along(Engine::Sqlite, FollowUpAction::Research, 7).await;
}

/// A run that has everything is brought to its end, however late: nothing more has to be done for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_finished_journal_is_not_too_late() {
    let site = Site::new(Engine::Sqlite, script()).await;
    let mut process = site.research();
    assert!(process.ends().await.success(), "{}", process.stderr());
    site.reopen().await;
    site.database.execute("UPDATE runs SET started_at = 1").await;
    let calls = site.world.models.total();
    let run = site.run().await;
    let mut again = site.resume(run.id);
    assert!(again.ends().await.success(), "{}", again.stderr());
    assert_eq!((again.stdout(), site.world.models.total()), (process.stdout(), calls));
    site.world.finish();
}
