//! A tool that is written in one file and registered in one line has all that tools have: it is offered, its calls are
//! steps of the journal, readers hear of them, and the model hears what went wrong.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use fathom::{
    app::App,
    context::Cx,
    domain::{Caller, Event, FailureCode, Outcome, Source, SourceId, ToolKind, WarningCode},
    llm::{Part, Text, ToolSpec},
    prompts::untrusted,
    research::Toolbox,
    runs::{Accepted, Ended, NewThread, Submission},
    store::Store,
    tools::{Admitted, Refusal, Site, Tool, ToolError, ToolFuture, ToolOutput, arguments},
};
use futures::FutureExt as _;
use serde_json::{Value, json};
use test_case::test_case;
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, QUESTION, Story, config};
use crate::{
    crash::until,
    database::TestDatabase,
    world::{Kind, Reply, Script, Shape, When, World, reply},
};

/// An archive, which is asked by signature.
struct Archive {
    asked: Arc<AtomicU32>,
    is_paid: bool,
}

impl Archive {
    fn answer(&self, site: Site<'_>, signature: &str) -> Result<ToolOutput, ToolError> {
        match signature {
            "lost" => return Err(ToolError::Model("nobody knows where it is".to_owned())),
            "burnt" => {
                let failure = fathom::domain::Failure::new(FailureCode::NoEvidence, "the archive has burnt down");
                return Err(ToolError::Ends(failure.into()));
            }
            _ => {}
        }
        let (url, text) = (format!("https://archive.test/{signature}"), "The gate is paid by dues of 4 crowns.");
        let id = site.first_source;
        let (place, shown) = (format!("[{id}] "), untrusted(text));
        let mut output = ToolOutput::text(Text(vec![Part::Fixed(place.into()), Part::Flexible(shown.into())]));
        output.add(Source::retrieved(id, url, "Archive".to_owned(), "archive".to_owned(), text), text.to_owned());
        Ok(output)
    }
}

impl Tool for Archive {
    fn spec(&self) -> ToolSpec {
        let signature = json!({"type": "string"});
        ToolSpec {
            name: "ask_archive".to_owned(),
            description: "Look into the archive.".to_owned(),
            parameters: json!({"type": "object", "properties": {"signature": signature}, "required": ["signature"]})
                .into(),
            dispensable: false,
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::External
    }

    fn is_paid(&self) -> bool {
        self.is_paid
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &fathom::llm::ToolCall) -> Result<Admitted, Refusal> {
        let given: Value = arguments(call)?;
        match given["signature"].as_str() {
            Some("everything") => Ok(Admitted { source_ids: SourceId::PER_RESEARCHER, ..Admitted::new(given) }),
            Some(_) => Ok(Admitted { source_ids: 1, ..Admitted::new(given) }),
            None => Err(Refusal::Arguments("there is no signature".to_owned())),
        }
    }

    fn call<'a>(&'a self, _cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        async move {
            match arguments["signature"].as_str() {
                Some("endless") => std::future::pending().await,
                signature => self.answer(site, signature.unwrap_or_default()),
            }
        }
        .boxed()
    }
}

/// The service with the archive in it, and how often that was asked.
async fn with_archive(world: &World, database: &TestDatabase, options: &[&str]) -> (Engine, Arc<AtomicU32>) {
    archive_of(world, database, options, &[], false).await
}

async fn archive_of(
    world: &World,
    database: &TestDatabase,
    options: &[&str],
    variables: &[(&'static str, String)],
    is_paid: bool,
) -> (Engine, Arc<AtomicU32>) {
    let config = config(world, database, options, variables).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let toolbox = Toolbox::default().with(move |cx| {
        // Any option will do.
        cx.options().read_pages.then(|| Archive { asked: Arc::clone(&counted), is_paid })
    });
    let store = Store::open(&config.database).await.unwrap();
    let app = App::with_tools(store, &config, toolbox).await.unwrap();
    (Engine { app, options: config.options, http: config.http, _database: database.clone() }, asked)
}

fn ask(signature: &str) -> Reply {
    reply::calls([("ask_archive", json!({"signature": signature}))])
}

/// A run whose only researcher asks the archive for these, one after the other.
fn asking<const N: usize>(signatures: [&str; N]) -> Script {
    let replies: Vec<_> = signatures.into_iter().map(ask).chain([reply::complete_research()]).collect();
    Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)
}

fn answers(world: &World) -> Vec<String> {
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    last.said_by("tool").iter().map(|text| text.to_string()).collect()
}

fn tool_events(story: &Story) -> Vec<&Event> {
    story.own().filter(|event| event.name().starts_with("tool.")).collect()
}

#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registered_tool_works_in_a_whole_run(database: TestDatabase) {
    let world = World::start(asking(["B-12"])).await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let [Event::ToolStarted { kind: ToolKind::External, args, .. }, Event::ToolFinished { results, .. }] =
        tool_events(&story)[..]
    else {
        panic!("{:?}", tool_events(&story))
    };
    assert_eq!((args, results[0].source_id), (&json!({"signature": "B-12"}), SourceId(1001)));
    assert_eq!(story.named("source.found").len(), 1);
    assert_eq!(story.sources[0].url, "https://archive.test/B-12");
    let step = story.steps.iter().find(|step| step.kind.as_str() == "tool").unwrap();
    assert_eq!(step.key, "lead/1/r1/turn/1/call/0");
    assert!(story.markdown().contains("[1]") && story.markdown().contains("archive.test"), "{}", story.markdown());
    let offered = world.models.calls_of(Kind::Researcher)[0].said_by("system")[0].to_string();
    assert!(offered.contains("`ask_archive`: Look into the archive."), "{offered}");
    engine.app.close().await;
    world.finish();
}

/// A tool that is not in every run says itself whether it is in this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_may_be_in_some_runs_alone() {
    let database = TestDatabase::sqlite();
    let world = World::start(asking(["B-12"])).await;
    let (engine, asked) = with_archive(&world, &database, &["read_pages=false"]).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert!(answers(&world)[0].contains("There is no tool named `ask_archive`"), "{:?}", answers(&world));
    assert!(story.report.is_some());
    engine.app.close().await;
    world.finish();
}

/// A run with keys of its user has every tool but those that the operator pays for; a run without them has all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_keys_of_its_own_has_no_tool_that_the_operator_pays_for() {
    let database = TestDatabase::sqlite();
    let secret = "a secret of the server, long enough".to_owned();
    let variables = [("FATHOM_REQUEST_KEYS", "allowed".to_owned()), ("FATHOM_REQUEST_KEYS_SECRET", secret)];
    for (is_paid, has_keys, calls) in [(true, true, 0), (true, false, 1), (false, true, 1)] {
        let world = World::start(asking(["B-12"])).await;
        let (engine, asked) = archive_of(&world, &database, &[], &variables, is_paid).await;
        let given = [("openai", "sk-scripted-world"), ("tavily", "tvly-scripted-world")];
        let keys = given.into_iter().filter(|_| has_keys).map(|(name, key)| (name.to_owned(), key.into()));
        let submission = Submission {
            content: QUESTION.to_owned(),
            options: Default::default(),
            key: None,
            webhook_url: None,
            api_keys: keys.collect(),
        };
        let accepted = engine.app.runs.create_thread(&Caller::local(), submission, NewThread::default()).await.unwrap();
        // What it holds of the service would keep that open.
        let run = if let Accepted::New { run, .. } = accepted { run.run().clone() } else { panic!("it is new") };
        let story = engine.tell(run).await;
        assert_eq!(asked.load(Ordering::Relaxed), calls, "paid: {is_paid}, keys: {has_keys}");
        assert!(story.report.is_some());
        engine.app.close().await;
        world.finish();
    }
}

/// The process ends while the notes are written; the next one has the archive's answer in its journal.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_made_is_not_made_again(database: TestDatabase) {
    let script = asking(["B-12"]).always(When::kind(Kind::Compression), reply::silence());
    let world = World::start(script).await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let run = engine.submit(QUESTION).await.unwrap();
    let stop = CancellationToken::new();
    let stopping = async {
        let asked = || world.models.count(Kind::Compression) > 0;
        until("the notes are asked for", async || asked().then_some(())).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(engine.app.runs.work(run.id, &stop), stopping);
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
    engine.app.close().await;
    world.models.follow(asking([]));
    let (engine, again) = with_archive(&world, &database, &[]).await;
    let story = engine.tell(run).await;
    assert!(matches!(story.ended, Ended::Completed(Outcome::Report)), "{:?}", story.ended);
    assert_eq!((asked.load(Ordering::Relaxed), again.load(Ordering::Relaxed)), (1, 0));
    assert_eq!((tool_events(&story).len(), story.sources.len()), (2, 1));
    engine.app.close().await;
    world.finish();
}

/// The report could not be written. A retry has the archive's answer with its source from the run before; only without
/// the source the archive is asked again.
#[test_case(TestDatabase::sqlite(); "sqlite")]
#[test_case(TestDatabase::postgres().await; "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_takes_over_what_a_tool_found(database: TestDatabase) {
    let world = World::start(asking(["B-12"]).always(When::kind(Kind::Report), reply::status(500))).await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let first = engine.research(QUESTION).await;
    first.failed_with(FailureCode::ModelUnavailable);
    let retried = async || {
        let next = engine.app.runs.retry_here(first.run.id, engine.options.clone()).await.unwrap();
        engine.tell(next).await
    };
    let again = retried().await;
    again.failed_with(FailureCode::ModelUnavailable);
    assert_eq!((&again.sources, asked.load(Ordering::Relaxed)), (&first.sources, 1));
    world.models.follow(asking([]));
    let next = engine.app.runs.retry_here(again.run.id, engine.options.clone()).await.unwrap();
    let story = engine.tell(next).await;
    assert!(story.markdown().contains("[1] Archive: https://archive.test/B-12"), "{}", story.markdown());
    assert_eq!((&story.sources, asked.load(Ordering::Relaxed)), (&first.sources, 1));
    assert_eq!((story.named("source.found").len(), story.named("tool.finished").len()), (1, 1));
    let store = engine.app.runs.store();
    let text = async |run| store.source(run, SourceId(1001)).await.unwrap().unwrap().snapshot;
    assert_eq!(text(story.run.id).await, text(first.run.id).await);
    let step = story.steps.iter().find(|step| step.kind.as_str() == "tool").unwrap();
    assert!(step.inherited, "{step:?}");
    engine.app.close().await;
    world.finish();
}

/// A source is gone: what it rests on is retrieved again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_without_a_source_calls_the_tool_again() {
    let database = TestDatabase::sqlite();
    let world = World::start(asking(["B-12"]).always(When::kind(Kind::Report), reply::status(500))).await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let first = engine.research(QUESTION).await;
    database.execute("DELETE FROM sources").await;
    world.models.follow(asking([]));
    let next = engine.app.runs.retry_here(first.run.id, engine.options.clone()).await.unwrap();
    let story = engine.tell(next).await;
    assert!(story.markdown().contains("[1] Archive: https://archive.test/B-12"), "{}", story.markdown());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_hears_what_went_wrong_and_may_try_again() {
    let database = TestDatabase::sqlite();
    let world = World::start(Script::whole_run(Shape::SMALL).first(
        When::kind(Kind::Researcher),
        [
            reply::raw_call("ask_archive", "{\"signature\": 7}"),
            ask("lost"),
            ask("lost"),
            ask("B-12"),
            ask("B-12"),
            reply::complete_research(),
        ],
    ))
    .await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    let answers = answers(&world);
    assert!(answers[0].contains("cannot be used: there is no signature"), "{answers:?}");
    for answer in &answers[1..=2] {
        assert!(answer.contains("`ask_archive` failed: nobody knows where it is"), "{answers:?}");
    }
    assert!(answers[4].contains("already called"), "what did not fail is not called twice: {answers:?}");
    let failed = story.named("tool.failed");
    let [Event::ToolFailed { problem, kind: ToolKind::External, .. }, _] = failed[..] else { panic!("{failed:?}") };
    assert_eq!(problem, "nobody knows where it is");
    assert!(story.report.is_some());
    engine.app.close().await;
    world.finish();
}

/// The arguments are not to blame where a researcher has no ids left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_hears_that_no_more_can_be_retrieved() {
    let database = TestDatabase::sqlite();
    let world = World::start(asking(["everything", "B-12"])).await;
    let (engine, asked) = with_archive(&world, &database, &[]).await;
    let story = engine.research(QUESTION).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let answers = answers(&world);
    assert!(answers[1].contains("was not carried out") && answers[1].contains("`ResearchComplete`"), "{answers:?}");
    assert!(!answers[1].contains("cannot be used"), "{answers:?}");
    assert!(story.report.is_some() && story.warned(WarningCode::ModelMisuse).is_empty(), "{:?}", story.warnings());
    engine.app.close().await;
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_of_the_tool_itself_ends_the_researcher() {
    let database = TestDatabase::sqlite();
    let world = World::start(asking(["burnt"])).await;
    let (engine, _) = with_archive(&world, &database, &[]).await;
    let story = engine.research(QUESTION).await;
    story.failed_with(FailureCode::NoEvidence);
    assert_eq!(story.failure().message, "the archive has burnt down");
    assert_eq!((story.named("tool.failed").len(), story.named("researcher.failed").len()), (1, 1));
    engine.app.close().await;
    world.finish();
}

/// What hangs is given up with the researcher's time, and the rest of the run goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_outlives_no_researcher() {
    let database = TestDatabase::sqlite();
    let world = World::start(asking(["B-12", "endless"])).await;
    let (engine, _) = with_archive(&world, &database, &["max_researcher_seconds=2"]).await;
    let story = engine.research(QUESTION).await;
    let failed = story.named("tool.failed");
    let [Event::ToolFailed { problem, .. }] = failed[..] else { panic!("{failed:?}") };
    assert_eq!(problem, "the researcher's time is over");
    assert!(story.report.is_some() && story.notes.len() == 1);
    engine.app.close().await;
    world.finish();
}
