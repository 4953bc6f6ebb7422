//! SIGKILL after every entry of the journal in turn, in the middle of the report, and twice in one run.
//!
//! On Postgres the test command kills after every third entry; `FATHOM_KILL_EVERYWHERE=1 cargo test --test it kill` kills
//! after each.

use std::time::{Duration, Instant};

use fathom::domain::{Event, Timestamp};
use futures::{StreamExt, stream};

use super::{
    Engine, Site, Undisturbed, count, kills_everywhere, script, script_with_pace, sorted, stored_before, until,
};
use crate::world::{Found, Kind, Page, Running, World, prose};

/// Disturbed runs at the same time.
const AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_after_any_step_goes_on_in_sqlite() {
    kill_after_every_step(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_after_any_step_goes_on_in_postgres() {
    kill_after_every_step(Engine::Postgres).await;
}

async fn kill_after_every_step(engine: Engine) {
    let started = Instant::now();
    let undisturbed = Undisturbed::of(engine).await;
    let entries = undisturbed.journal.len();
    // What follows from the journal alone is the same in both, so Postgres is asked less often.
    let step = if engine == Engine::Sqlite || kills_everywhere() { 1 } else { 3 };
    let kills = stream::iter((0..=entries).step_by(step)).map(|n| kill_after(engine, n, &undisturbed));
    let kills = kills.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let seconds = started.elapsed().as_secs_f64();
    println!("{engine:?}: killed after {} of {entries} entries, {seconds:.1} s", kills.len());
}

async fn kill_after(engine: Engine, n: usize, undisturbed: &Undisturbed) {
    let site = Site::new(engine, script()).await;
    let mut process = site.research();
    site.has_steps(n).await;
    let lives = kill_and_resume(&site, &mut process, undisturbed).await;
    assert!(lives.stored >= n, "the kill came too early");
    site.world.finish();
}

/// What the first life left behind.
struct Lives {
    /// Steps.
    stored: usize,
}

/// Kills the process, has another one finish the run, and holds both lives against the undisturbed run.
async fn kill_and_resume(site: &Site, process: &mut Running, undisturbed: &Undisturbed) -> Lives {
    process.kill().await;
    let killed_at = Timestamp::now();
    site.is_quiet().await;
    let (calls, searches) = (site.world.models.total(), site.world.web.total());
    let run = site.run().await;
    let mut next = site.resume(run.id);
    let status = next.ends().await;
    assert!(status.success(), "{}", next.stderr());
    assert_eq!(next.stdout(), undisturbed.report);
    let stored = stored_before(site.steps(run.id).await, killed_at);
    undisturbed.is_matched_by(site, &run).await;
    let again = &site.world.models.calls()[calls..];
    assert_eq!(again.len(), undisturbed.calls_left(&stored), "only what was not stored is asked again: {again:?}");
    let searched = site.world.web.total() - searches;
    assert_eq!(searched, undisturbed.searches_left(&stored), "only what was not stored is searched again");
    Lives { stored: stored.len() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_killed_while_it_is_written_is_written_again() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    let undisturbed = &undisturbed;
    let kill = |deltas: usize| async move {
        let site = Site::new(Engine::Sqlite, script_with_pace(Duration::from_millis(25))).await;
        let mut process = site.research();
        let run = site.run().await;
        until("the report grows", async || {
            let events = site.events(&run).await;
            let grown = events.iter().filter(|envelope| matches!(envelope.event, Event::ReportDelta { .. })).count();
            (grown >= deltas).then_some(())
        })
        .await;
        kill_and_resume(&site, &mut process, undisturbed).await;
        let events = site.events(&run).await;
        let starts = events.iter().filter(|envelope| matches!(envelope.event, Event::ReportStarted { .. })).count();
        assert_eq!(starts, 2);
        site.world.finish();
    };
    stream::iter([1, 2, 4]).map(kill).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_be_killed_again_and_again() {
    let undisturbed = Undisturbed::of(Engine::Sqlite).await;
    let site = Site::new(Engine::Sqlite, script()).await;
    let mut process = site.research();
    let run = site.has_steps(undisturbed.journal.len() / 4).await;
    process.kill().await;
    for quarter in [2, 3] {
        let mut process = site.resume(run.id);
        site.has_steps(undisturbed.journal.len() * quarter / 4).await;
        process.kill().await;
    }
    let mut process = site.resume(run.id);
    site.is_asked(Kind::Report).await;
    kill_and_resume(&site, &mut process, &undisturbed).await;
    let events = site.events(&run).await;
    let resumed: Vec<i64> = events
        .iter()
        .filter_map(|envelope| match envelope.event {
            Event::RunResumed { attempt } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(resumed, [2, 3, 4, 5]);
    assert_eq!(count(&site.steps(run.id).await, "search"), site.world.web.total().min(undisturbed.queries.len()));
    assert!(sorted(site.world.web.queries()).len() >= undisturbed.queries.len());
    site.world.finish();
}

/// One address, found by several queries under other titles, with other texts, with none, or with a NUL in it: which
/// of them a run goes by depends on who is first, and must not change when it is resumed.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_many_faces_keeps_the_first_one() {
    let started = Instant::now();
    let kills = stream::iter((1..=40).step_by(2)).map(|n| kill_among(faces, n)).buffer_unordered(AT_ONCE);
    kills.collect::<Vec<()>>().await;
    println!("a page with many faces: {:.1} s", started.elapsed().as_secs_f64());
}

/// One text at many addresses, under other titles: who reads it, and as what, must not change when the run is resumed.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_at_many_addresses_is_read_once_whichever_process_is_killed() {
    let kills = stream::iter((1..=40).step_by(3)).map(|n| kill_among(mirrors, n)).buffer_unordered(AT_ONCE);
    kills.collect::<Vec<()>>().await;
}

async fn kill_among(pages: fn(&World), n: usize) {
    let site = Site::with_pages(Engine::Sqlite, script(), pages).await;
    let mut process = site.research();
    let run = site.has_steps(n).await;
    process.kill().await;
    let killed_at = Timestamp::now();
    site.is_quiet().await;
    let calls = site.world.models.total();
    let mut next = site.resume(run.id);
    let status = next.ends().await;
    assert!(status.success(), "after {n} steps: {}", next.stderr());
    let steps = site.steps(run.id).await;
    let (all, stored) = (count(&steps, "model"), count(&stored_before(steps, killed_at), "model"));
    assert_eq!(site.world.models.total() - calls, all - stored, "only what was not stored is asked again");
    // Once more, from the whole journal: every request has to come out the same as when it was made.
    site.reopen().await;
    let calls = site.world.models.total();
    let mut replay = site.resume(run.id);
    assert!(replay.ends().await.success(), "after {n} steps: {}", replay.stderr());
    assert_eq!((replay.stdout(), site.world.models.total()), (next.stdout(), calls));
    site.world.finish();
}

fn faces(world: &World) {
    let address = "https://example.test/dues";
    let text = |face: &str| format!("{}{face}, the dues were raised. They pay for the gate. \0 End.\n", prose::MARK);
    let page = |face: &str| Page::new(address, &format!("Dues, {face}"), &text(face).repeat(20));
    let renamed = |face: &str| Page { title: "Dues once more".to_owned(), ..page(face) };
    let mirror = |face: &str| Page { url: format!("{address}/mirror"), ..page(face) };
    let other = |name: &str| Page::new(&format!("https://example.test/{name}"), name, &text(name));
    for (needle, pages) in [
        ("origins 1.1", vec![page("excerpt only").without_text(), other("gates")]),
        ("present state 1.2", vec![other("tides"), page("second")]),
        ("costs 2.1", vec![page("third"), mirror("third"), other("tides").without_text()]),
        ("critics 2.2", vec![other("gates").without_text(), renamed("second")]),
    ] {
        world.web.always(needle, Found::Pages(pages));
    }
}

fn mirrors(world: &World) {
    let text = format!("{}, the dues were raised. They pay for the gate.\n", prose::MARK).repeat(20);
    let mirror = |host: &str| Page::new(&format!("https://{host}.test/dues"), &format!("Dues in the {host}"), &text);
    for (needle, hosts) in [
        ("origins 1.1", ["ledger", "wire"].as_slice()),
        ("present state 1.2", &["wire", "m.ledger", "herald"]),
        ("costs 2.1", &["herald", "post"]),
        ("critics 2.2", &["post", "ledger", "echo"]),
    ] {
        let other =
            Page::new(&format!("https://{}.test/tides", hosts[0]), needle, &format!("{} {needle}.", prose::MARK));
        world.web.always(needle, Found::Pages(hosts.iter().map(|host| mirror(host)).chain([other]).collect()));
    }
}
