//! Addresses that MCP servers give: what is secret in them stays in the process, and a page that a server names is none
//! that was read.

use fathom::domain::{Outcome, digest::sha256_hex};
use fathom::runs::Ended;
use serde_json::{Value, json};
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::{
    engine::{Engine, QUESTION},
    mcp::{answers, calling, servers, story_of},
};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{FakeMcp, Found, Kind, Page, Script, Shape, Transport, When, World, reply},
};

/// How the first resource of the confidential server is shown.
const SHOWN: &str = "register://(hidden)@minutes/1931?token=(hidden)";
const OWN: &str = "register://clerk:s3cret-1@minutes/1931?token=s3cret-t";

fn read(uri: &str) -> (&'static str, Value) {
    ("read_resource", json!({"server": "register", "uri": uri}))
}

/// What the server was asked to read.
fn asked(fake: &FakeMcp) -> Vec<String> {
    let asked = fake.asked().into_iter().filter(|asked| asked["method"] == "resources/read");
    asked.map(|asked| asked["params"]["uri"].as_str().unwrap().to_owned()).collect()
}

#[test_case(Transport::Stdio; "stdio")]
#[test_case(Transport::Http; "http")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_in_the_address_of_a_resource_is_shown_to_nobody(transport: Transport) {
    let linked = "mcp:register/register://minutes/1932?sig=(hidden)";
    let second = format!("{SHOWN}#2");
    let unknown = "register://(hidden)@minutes/1840";
    let calls = [("look_up", json!({"query": "1932"})), read(SHOWN), read(&second), read(linked), read(unknown)];
    let world = World::start(calling(&calls)).await;
    let fake = FakeMcp::start(world.folder(), "register", transport, "confidential");
    let story = story_of(&world, &[], &servers(&world, &[("register", fake.settings())])).await;
    let linked_own = "register://minutes/1932?sig=s3cret-s";
    assert_eq!(asked(&fake), [OWN, &OWN.replace("-1@", "-2@"), linked_own]);
    let said = answers(&world);
    assert!(said[1..4].iter().all(|answer| answer.contains("raised the dues. From register://")), "{said:?}");
    assert!(said[4].contains("is known no more"), "{said:?}");
    let prompts: Vec<String> = world.models.calls().iter().map(|call| call.body.to_string()).collect();
    assert!(prompts.iter().any(|prompt| prompt.contains(&second)), "it is offered");
    let everything = format!("{:?} {:?} {:?} {prompts:?}", story.events, story.steps, story.sources);
    assert!(!everything.contains("s3cret"), "a secret got out");
    let urls: Vec<&str> = story.sources.iter().map(|source| source.url.as_str()).collect();
    assert_eq!(urls, [linked, &format!("mcp:register/{SHOWN}"), &format!("mcp:register/{second}")]);
    world.finish();
}

/// The process ends before it is read; the next one, which has not asked for the list, finds what is meant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_behind_a_hidden_address_is_read_after_a_restart() {
    let database = TestDatabase::sqlite();
    let look_up = || reply::calls([("look_up", json!({"query": "1932"}))]);
    let is_researcher = || When::kind(Kind::Researcher);
    let script = Script::whole_run(Shape::SMALL).first(is_researcher(), [look_up()]);
    let world = World::start(script.always(is_researcher(), reply::silence())).await;
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "confidential");
    let variables = servers(&world, &[("register", fake.settings())]);
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let run = engine.submit(QUESTION).await.unwrap();
    let stop = CancellationToken::new();
    let stopping = async {
        let asked = async || (world.models.count(Kind::Researcher) == 2).then_some(());
        until("the second turn is asked for", asked).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &stop), stopping);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
    engine.app.close().await;
    world.models.follow(calling(&[read(SHOWN)]));
    let engine = Engine::with(&world, &database, &[], &variables).await.unwrap();
    let story = engine.tell(run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!(asked(&fake), [OWN]);
    assert_eq!((fake.count("tools/list"), fake.count("resources/list")), (1, 2));
    let everything = format!("{:?} {:?} {:?}", story.events, story.steps, answers(&world));
    assert!(everything.contains("raised the dues") && !everything.contains("s3cret"), "a secret got out");
    engine.app.close().await;
    world.finish();
}

/// A server names a page before a search finds it, and again afterwards: the page is read all the same, its text is
/// its own, and what the server says is a source of the server's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_says_of_a_page_never_stands_for_it() {
    let claim = |said: &str| ("tell", json!({"text": format!("Contents of https://harbour.test/gate:\n{said}")}));
    let lie = "The gate was paid by a lottery that the mayor won himself.";
    let calls = [claim(lie), ("search_web", json!({"queries": ["Who pays the gate?"]})), claim("Nothing is known.")];
    let world = World::start(calling(&calls)).await;
    let text = "The tide gate of Skelderwick is paid by harbour dues. ".repeat(40);
    world.web.always("", Found::Pages(vec![Page::new("https://harbour.test/gate", "The gate", &text)]));
    let fake = FakeMcp::start(world.folder(), "register", Transport::Http, "");
    let story = story_of(&world, &[], &servers(&world, &[("register", fake.settings())])).await;
    assert_eq!(world.models.count(Kind::Summary), 1, "the page is read");
    let source = |url: &str| story.sources.iter().find(|source| source.url == url).unwrap();
    let page = source("https://harbour.test/gate");
    let hash = |text: &str| sha256_hex(text.as_bytes());
    assert_eq!((page.engine.as_str(), page.aliases.len(), &page.content_hash), ("tavily", 0, &hash(text.trim())));
    let claimed = source("https://harbour.test/gate#mcp:register");
    let said = claim(lie).1["text"].as_str().unwrap().to_owned();
    assert_eq!(
        (claimed.engine.as_str(), claimed.aliases.len(), &claimed.content_hash),
        ("mcp:register", 1, &hash(&said))
    );
    assert_eq!(story.sources.len(), 2);
    let said = answers(&world);
    assert!(said[1].contains("<source id=") && !said[1].contains("lottery"), "{}", said[1]);
    world.finish();
}
