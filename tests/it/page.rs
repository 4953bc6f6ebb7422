//! The page in a real browser, driven by the stories of `tests/page`; the service behind it is real, its models
//! scripted.

use std::{process::Stdio, time::Duration};

use fathom::domain::{KeyScope, Timestamp};
use fathom_testkit::program::tool;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use crate::{
    database::TestDatabase,
    fleet::Balancer,
    http::{Service, sign_in},
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

/// No story takes longer, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

fn script(name: &str) -> String {
    format!("{}/tests/page/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a story with its arguments, separated by spaces; at each point that it reaches, `help` does what the browser
/// cannot.
async fn tell(name: &str, arguments: &str, world: &World, mut help: impl AsyncFnMut(&str)) {
    let mut story = Command::new("node")
        .arg(script(name))
        .args(arguments.split(' '))
        .env("PAGE_TOOLS", tool("page"))
        .current_dir(world.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node is installed (scripts/test.sh does it)");
    let (mut hand, out) = (story.stdin.take().unwrap(), story.stdout.take().unwrap());
    let mut out = BufReader::new(out);
    let ended = async {
        loop {
            let mut line = String::new();
            let length = out.read_line(&mut line).await.unwrap();
            match line.trim_end().split_once(' ') {
                Some(("REACHED", point)) => {
                    help(point).await;
                    hand.write_all(b"\n").await.unwrap();
                }
                _ if line == "DONE\n" => return,
                _ => {
                    assert!(length > 0, "{name} ended without a word");
                    out.read_to_string(&mut line).await.unwrap();
                    panic!("{name}: {line}");
                }
            }
        }
    };
    tokio::time::timeout(LIMIT, ended).await.unwrap_or_else(|_| panic!("{name} does not end"));
}

/// Plays the story on a service that nothing disturbs.
async fn on_a_service(story: &str, world: &World) {
    let service = Service::start(world, &TestDatabase::sqlite()).await;
    tell(story, &service.url(""), world, async |_| {}).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_lives_from_its_question_to_its_end() {
    let script = Script::whole_run(Shape { researchers: 3, ..Shape::SMALL })
        .by(When::kind(Kind::Clarify).but_not(When::says("The one of Skelderwick")), |_| {
            reply::ask_back("Which harbour is meant?")
        })
        .first(When::kind(Kind::FollowUp), [reply::follow_up("revise")])
        .first(When::kind(Kind::Revision), [reply::text("Four crowns [S1001].")]);
    let world = World::start(script).await;
    on_a_service("life.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyboard_is_enough_in_every_language() {
    let script = Script::whole_run(Shape::SMALL).first(When::kind(Kind::FollowUp), [reply::follow_up("answer")]);
    let world = World::start(script).await;
    on_a_service("keyboard.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_watched_through_a_cut_connection_and_a_restart() {
    let world = World::start(Script::whole_run(Shape::default())).await;
    world.set_latency(Duration::from_millis(700), Duration::from_millis(100));
    let database = TestDatabase::postgres().await;
    let front = Balancer::start().await;
    let mut service = Some(Service::start(&world, &database).await);
    front.serve(vec![service.as_ref().unwrap().address.to_string()]);
    tell("watch.mjs", &front.url(""), &world, async |point| match point {
        "watching" => {
            front.serve(Vec::new());
            front.cut();
        }
        "cut" => {
            service.take().unwrap().stop().await;
            let next = Service::start(&world, &database).await;
            front.serve(vec![next.address.to_string()]);
            service = Some(next);
        }
        _ => world.set_latency(Duration::from_millis(50), Duration::from_millis(20)),
    })
    .await;
    service.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_text_stays_text() {
    const ATTACK: &str =
        "</p><script>alert(3)</script><img src=x onerror=alert(4)> [x](javascript:alert(5)) \u{202E}txet";
    let long = "unbroken".repeat(1_250);
    let world = World::start(
        Script::whole_run(Shape::SMALL)
            .first(When::offers("ConductResearch"), [reply::delegate([ATTACK])])
            .first(When::offers("search_web"), [reply::search([ATTACK])]),
    )
    .await;
    let text = format!("The gate is paid by dues of 4 crowns. {ATTACK} {long}");
    let pages = [
        Page::new("https://harbour.test/a b<c>[1]", ATTACK, &text),
        Page::new("javascript:alert(6)", &long, &text),
        Page::new("https://harbour.test/dues", "Dues", "The gate is paid by harbour dues of 4 crowns."),
    ];
    world.web.always("", Found::Pages(pages.to_vec()));
    on_a_service("hostile.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_in_arabic_reads_from_the_right() {
    const PAID: &str = "تدفع السفن رسوم الميناء التي تبلغ 4 كرونات لكل متر من طولها، ويقرر المجلس في الرسوم كل سنة.";
    let report = format!(
        "# بوابة المد في سكلدرويك\n\n{PAID} [S1001]\n\nThe council of Skelderwick calls this the gate fund.\n\n## من \
         يدفع\n\n- {PAID} [S1001]\n- {PAID} [S1001]\n\n## الجدول\n\n| السنة | الرسوم |\n|---|---|\n| 2031 | أربع كرونات \
         |\n\n## الحساب\n\n```\ndues = length * 4\n```\n\n{PAID} [S1001]\n"
    );
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(report));
    let world = World::start(script).await;
    world.web.always("", Found::Pages(vec![Page::new("https://mina.test/rusum", "رسوم الميناء", PAID)]));
    on_a_service("right-to-left.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wide_scrolls_and_is_whole_on_paper() {
    let row = |cells: &str| format!("| {} |\n", cells.replace(' ', " | "));
    let head = row("Gate Council Authority Commissioning Superintendent Maintenance Neighbourhood Efficiency Papers");
    let rule = row(&["---"; 9].join(" "));
    let line = "let dues = length * 4; ".repeat(12);
    let table = [head.as_str(), &rule, &head, &head].concat();
    let report = format!("# Gates\n\nDues of 4 crowns pay. [S1001]\n\n{table}\n```\n{line}\n```\n");
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(report));
    let world = World::start(script).await;
    on_a_service("wide.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tabs_that_nobody_looks_at_leave_their_connections_to_others() {
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::FollowUp), reply::follow_up("answer"));
    let world = World::start(script).await;
    on_a_service("tabs.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_signs_in_with_a_key_and_out_again() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let database = TestDatabase::sqlite();
    let variables = [("FATHOM_AUTHENTICATION", "keys"), ("FATHOM_EFFORT", "quick")];
    let service = Service::with(&world, &database, &variables).await;
    let key = service.key("ann", KeyScope::Write, None).await;
    tell("sign-in.mjs", &format!("{} {key}", service.url("")), &world, async |_| {}).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_sees_and_types_is_not_the_next_ones() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::with(&world, &TestDatabase::sqlite(), &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let (ann, bob) = (service.key("ann", KeyScope::Write, None).await, service.key("bob", KeyScope::Write, None).await);
    tell("owners.mjs", &format!("{} {ann} {bob}", service.url("")), &world, async |_| {}).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_citation_opens_its_own_passage() {
    let report = "# Gates\n\n| Year | Dues |\n|---|---|\n\
                  | 2031 | Dues of 4 crowns pay. [S1001] | Weed clogs the sill of the gate. [S1002] |\n\n\
                  Dues of 4 crowns pay for the gate. [S1001]\n";
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::Report), reply::text(report));
    let world = World::start(script).await;
    let pages = [
        Page::new("https://harbour.test/dues", "Dues", "Dues of 4 crowns pay for the gate."),
        Page::new("https://harbour.test/weed", "Weed", "Weed clogs the sill of the gate."),
    ];
    world.web.always("", Found::Pages(pages.to_vec()));
    on_a_service("citations.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_ended_early_says_so() {
    let world = World::start(Script::new()).await;
    on_a_service("stopped.mjs", &world).await;
}

/// The provider sends browsers to a fixed address, so the way back is walked in `http::sign_in`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_is_sent_to_the_provider() {
    let world = World::start(Script::new()).await;
    let (database, provider) = (TestDatabase::sqlite(), sign_in::Provider::start(0));
    let service = sign_in::service(&world, &database, &provider).await;
    tell("provider.mjs", &format!("{} {}", service.url(""), provider.url("")), &world, async |_| {}).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_shared_by_a_link_that_ends() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let service = Service::with(&world, &TestDatabase::sqlite(), &[("FATHOM_AUTHENTICATION", "keys")]).await;
    let key = service.key("ann", KeyScope::Write, None).await;
    tell("share.mjs", &format!("{} {key}", service.url("")), &world, async |_| {}).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_loaded_is_asked_for_now_and_then() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    on_a_service("failing.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_threads_keeps_up_on_a_slow_line() {
    let world = World::start(Script::new()).await;
    on_a_service("list.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_a_thread_that_is_left_and_an_unseen_one_goes_on() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    on_a_service("elsewhere.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_whose_events_were_removed_is_shown_and_goes_on() {
    let script = Script::whole_run(Shape::SMALL).always(When::kind(Kind::FollowUp), reply::follow_up("revise"));
    let (world, database) = (World::start(script).await, TestDatabase::sqlite());
    let service = Service::start(&world, &database).await;
    let store = database.open().await;
    tell("old.mjs", &service.url(""), &world, async |_| {
        let removed = store.prune_events(Timestamp::now(), 10_000).await.unwrap();
        assert!(removed.threads == 1 && removed.events > 10, "{removed:?}");
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_shown_as_they_ended_whose_events_were_removed_meanwhile() {
    let world = World::start(Script::new()).await;
    on_a_service("gap.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_attached_and_removed() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    on_a_service("documents.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collections_are_made_filled_picked_and_deleted() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    on_a_service("collections.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wide_run_is_taken_in_smoothly() {
    let world = World::start(Script::new()).await;
    on_a_service("smooth.mjs", &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_to_its_budget() {
    let world = World::start(Script::new()).await;
    on_a_service("budget.mjs", &world).await;
}

/// The parts that need no browser, and the types.
#[tokio::test(flavor = "multi_thread")]
async fn its_parts_fold_compare_and_find_and_its_types_fit() {
    let world = World::start(Script::new()).await;
    tell("pure.mjs", "", &world, async |_| {}).await;
    let project = format!("{}/web/tsconfig.json", env!("CARGO_MANIFEST_DIR"));
    let checked = Command::new(tool("page/node_modules/.bin/tsc")).args(["-p", &project]).output().await.unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
