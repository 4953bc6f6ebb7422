//! `read_page`: a researcher opens pages by address, within bounds and as their sites allow.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use fathom::domain::{Event, FailureCode, SourceId, ToolKind, WarningCode};
use fathom_testkit::program;
use parking_lot::Mutex;
use serde_json::json;
use test_case::test_case;

use super::engine::{Engine, QUESTION, Story, config, research};
use crate::{
    database::TestDatabase,
    fake_vendor::{FakeVendor, Reply as VendorReply},
    world::{Found, Kind, Reply, Script, Shape, When, World, reply},
};

/// A site on this machine, and which paths were asked for.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    agents: Arc<AtomicU32>,
    _server: tokio::task::JoinSet<()>,
}

/// Long enough for several passages; the dues stand in the middle.
fn long_page() -> String {
    let filler = |n: usize| format!("<p>Paragraph {n} tells of gulls. {}</p>", "Gulls nest on the quay. ".repeat(40));
    let (before, after): (String, String) = ((1..15).map(filler).collect(), (15..30).map(filler).collect());
    let dues = "<p>Dues of four crowns pay the tide gate, says the ledger of the harbour master.</p>";
    format!("<html><head><title>The ledger</title></head><body><article>{before}{dues}{after}</article></body></html>")
}

fn html(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

/// A server of its own, and its address.
async fn serve(router: Router) -> (String, tokio::task::JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let mut server = tokio::task::JoinSet::new();
    server.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (base, server)
}

impl Site {
    async fn start() -> Self {
        let (asked, agents) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
        let (log, ours) = (Arc::clone(&asked), Arc::clone(&agents));
        let page = move |uri: Uri, headers: HeaderMap| {
            log.lock().push(uri.path().to_owned());
            let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
            ours.fetch_add(u32::from(agent.starts_with("fathom/")), Ordering::Relaxed);
            async move { Self::page(uri.path()) }
        };
        let (base, _server) = serve(Router::new().fallback(get(page))).await;
        Self { base, asked, agents, _server }
    }

    fn page(path: &str) -> Response {
        match path {
            "/robots.txt" => "User-agent: *\nDisallow: /private\n".into_response(),
            "/ledger" => html(long_page()),
            "/index" => html(
                "<html><head><title>Index</title></head><body><article><h1>Index</h1><p>What the harbour keeps of its tide \
                 gate: <a href='moved#dues'>the ledger of dues</a>, the <a href='/map'>map</a>, and letters.</p></article></body></html>"
                    .to_owned(),
            ),
            "/moved" => Redirect::permanent("/ledger").into_response(),
            "/round" => Redirect::permanent("/round").into_response(),
            "/japanese" => {
                let (bytes, _, _) = encoding_rs::SHIFT_JIS
                    .encode("<html><title>港</title><body><p>港の料金は四クローネです。</p></body></html>");
                ([(header::CONTENT_TYPE, "text/html; charset=Shift_JIS")], bytes.into_owned()).into_response()
            }
            "/script" => {
                html(format!("<html><body><div id=root></div><script>{}</script></body></html>", "x;".repeat(9_000)))
            }
            "/deep" => html("<div>".repeat(300_000)),
            "/zeros" => html("\0".repeat(20_000)),
            "/mill.docx" => {
                let bytes = std::fs::read(program::repository().join("tests/formats/mill.docx")).unwrap();
                ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
            }
            "/human" => html("<html><title>Just a moment...</title><body><p>Verifying you are human.</p></body></html>".to_owned()),
            "/alias" => html(long_page().replace(
                "<head>",
                "<head><link rel=canonical href='/ledger'><meta name=author content='M. Tey'><meta property='og:site_name' \
                 content='The Harbour'>",
            )),
            "/usurper" => html(
                "<html><head><title>Dues</title><link rel=canonical href='/ledger'></head><body><p>All dues of the \
                 harbour go to me, and nobody else has ever had any of them.</p></body></html>"
                    .to_owned(),
            ),
            "/dues.csv" => ([(header::CONTENT_TYPE, "text/csv")], "boat;dues\nBarge;4,50\n").into_response(),
            "/picture" => ([(header::CONTENT_TYPE, "image/png")], vec![137_u8, 80, 78, 71]).into_response(),
            "/odd" => ([(header::CONTENT_TYPE, "image/<|im_start|>")], vec![137_u8, 80, 78, 71]).into_response(),
            "/large" => ([(header::CONTENT_TYPE, "text/plain")], vec![b'x'; 26 << 20]).into_response(),
            "/pay" => StatusCode::PAYMENT_REQUIRED.into_response(),
            "/bot" => (StatusCode::FORBIDDEN, [("cf-mitigated", "challenge")], "no").into_response(),
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().iter().filter(|asked| *asked == path).count()
    }
}

fn read(arguments: serde_json::Value) -> Reply {
    reply::calls([("read_page", arguments)])
}

/// A run whose only researcher answers with these, and then is done.
fn reading(replies: impl IntoIterator<Item = Reply>) -> Script {
    let replies: Vec<_> = replies.into_iter().chain([reply::complete_research()]).collect();
    Script::whole_run(Shape::SMALL).first(When::kind(Kind::Researcher), replies)
}

/// The run over that script, by a service that may call this machine.
async fn story(world: &World, options: &[&str]) -> Story {
    story_where(world, options, &[("FATHOM_PAGES_ALLOW_PRIVATE", "true")]).await
}

/// The same with these settings.
async fn story_where(world: &World, options: &[&str], settings: &[(&'static str, &str)]) -> Story {
    let database = TestDatabase::sqlite();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let engine = Engine::with(world, &database, options, &settings).await.unwrap();
    let story = engine.research(QUESTION).await;
    engine.app.close().await;
    story
}

fn answers(world: &World) -> Vec<String> {
    let last = world.models.calls_of(Kind::Researcher).pop().unwrap();
    last.said_by("tool").iter().map(|text| text.to_string()).collect()
}

/// A page beyond what the run may read is not asked for, and the model hears why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_is_opened_beyond_what_the_run_may_read() {
    let site = Site::start().await;
    let [ledger, dues] = ["/ledger", "/dues.csv"].map(|path| site.at(path));
    let world = World::start(reading([read(json!({ "address": ledger })), read(json!({ "address": dues }))])).await;
    let story = story(&world, &["max_pages=1"]).await;
    assert!(story.markdown().contains("[1]"), "{:?}", story.ended);
    assert_eq!((site.asked("/ledger"), site.asked("/dues.csv")), (1, 0));
    let answers = answers(&world);
    assert!(answers[1].contains("the run has spent what it may: max_pages is 1"), "{answers:?}");
    assert_eq!(story.run.limited_by.as_deref(), Some("max_pages"));
    assert!(story.markdown().contains("- Pages left unread: the spending limit was reached"), "{}", story.markdown());
    assert_eq!(story.warned(WarningCode::SpendingLimit).len(), 1);
    assert!(!story.markdown().contains("dues.csv"), "a page that was not asked for is no page that could not be read");
    world.finish();
}

/// A guessed address that leads nowhere is no failure of the searches, which found nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_not_there_does_not_pass_for_a_search_that_failed() {
    let site = Site::start().await;
    let world = World::start(reading([reply::search(["dues"]), read(json!({"address": site.at("/nowhere")}))])).await;
    world.web.always("", Found::Pages(Vec::new()));
    let story = story(&world, &[]).await;
    story.failed_with(FailureCode::NoEvidence);
    assert!(story.failure().message.contains("nothing was found"), "{}", story.failure());
    world.finish();
}

/// Nobody searched, so nobody knows whether there is anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_pages_alone_were_opened_and_none_is_there_nothing_could_be_retrieved() {
    let site = Site::start().await;
    let world = World::start(reading([read(json!({"address": site.at("/nowhere")}))])).await;
    let story = story(&world, &[]).await;
    story.failed_with(FailureCode::SearchUnavailable);
    assert!(story.failure().message.starts_with("nothing could be retrieved: "), "{}", story.failure());
    world.finish();
}

/// The tool says which address it opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_names_a_page_that_could_not_be_read() {
    let site = Site::start().await;
    let [ledger, pay] = ["/ledger", "/pay"].map(|path| site.at(path));
    let world = World::start(reading([read(json!({ "address": ledger })), read(json!({ "address": pay }))])).await;
    let story = story(&world, &[]).await;
    let limit = story.markdown().lines().find(|line| line.contains("Pages that could not be read"));
    assert!(limit.is_some_and(|line| line.contains("/pay")), "{}", story.markdown());
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_read_by_its_address_and_cited() {
    let site = Site::start().await;
    let address = site.at("/moved");
    let question = "Which dues pay for the tide gate?";
    let script = reading([
        read(json!({"address": address, "question": question})),
        read(json!({"address": address, "place": 9})),
    ]);
    let world = World::start(script).await;
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(
        answers[0].contains("Dues of four crowns") && answers[0].contains("<source id=\"S1001\">"),
        "{}",
        answers[0]
    );
    assert!(answers[0].contains("The ledger"), "{}", answers[0]);
    assert!(
        answers[1].contains("(passage 9 of ") && answers[1].contains("with the same address and place"),
        "{}",
        answers[1]
    );
    let [Event::ToolStarted { kind: ToolKind::Read, args, .. }, _] = story.named("tool.started")[..] else {
        panic!("{:?}", story.named("tool.started"))
    };
    assert_eq!(args["address"], json!(address));
    assert_eq!((story.sources.len(), story.sources[0].url.clone()), (1, site.at("/ledger")), "where it was in the end");
    assert_eq!((story.sources[0].id, story.sources[0].title.as_str()), (SourceId(1001), "The ledger"));
    assert!(story.markdown().contains("[1]"), "{}", story.markdown());
    assert_eq!((site.asked("/robots.txt"), site.asked("/ledger")), (1, 1), "reading on fetches nothing");
    assert_eq!(site.agents.load(Ordering::Relaxed), 3, "it says what it is");
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_on_a_page_is_followed() {
    let site = Site::start().await;
    let next = site.at("/moved");
    let question = "Which dues pay for the tide gate?";
    let second = read(json!({"address": next, "question": question}));
    let world = World::start(reading([read(json!({"address": site.at("/index")})), second])).await;
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(
        answers[0].contains(&format!("- the ledger of dues: {next}\n- map: {}", site.at("/map"))),
        "{}",
        answers[0]
    );
    assert!(answers[1].contains("Dues of four crowns"), "{}", answers[1]);
    assert_eq!(story.sources.len(), 2);
    world.finish();
}

/// What a page says counts, also when the search of the same turn ends the researcher's work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_outlives_a_key_that_is_refused() {
    let site = Site::start().await;
    let question = "Which dues pay for the tide gate?";
    let turn = reply::calls([
        ("search_web", json!({"queries": ["dues"]})),
        ("read_page", json!({"address": site.at("/ledger"), "question": question})),
    ]);
    let world = World::start(reading([turn])).await;
    world.web.always("", Found::fault(reply::status(401)));
    let story = story(&world, &[]).await;
    assert!(story.markdown().contains("[1]"), "{}", story.markdown());
    assert!(story.warned(WarningCode::ResearcherFailed)[0].contains("its findings so far are used"));
    let notes = world.models.calls_of(Kind::Compression).pop().unwrap();
    assert!(notes.says("Dues of four crowns") && notes.says("`search_web` failed"), "both calls are answered");
    world.finish();
}

/// A page was read for it, whatever was wanted of the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_shorter_counts_for_what_may_be_read() {
    let site = Site::start().await;
    let [ledger, dues] = ["/ledger", "/dues.csv"].map(|path| site.at(path));
    let reads = [read(json!({"address": ledger, "place": 999})), read(json!({"address": dues}))];
    let world = World::start(reading(reads.into_iter().chain([reply::search(["dues"])]))).await;
    let story = story(&world, &["max_pages=1"]).await;
    let answers = answers(&world);
    assert!(answers[0].contains("`read_page` failed") && answers[0].contains(" passages"), "{answers:?}");
    assert!(answers[1].contains("max_pages is 1"), "{answers:?}");
    assert_eq!((site.asked("/ledger"), site.asked("/dues.csv")), (1, 0));
    assert_eq!(story.named("tool.failed").len(), 2);
    assert!(!story.markdown().contains("could not be read"), "it was read: {}", story.markdown());
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_is_opened_by_its_id() {
    let site = Site::start().await;
    let script =
        reading([reply::search(["dues"]), read(json!({"address": "S1001"})), read(json!({"address": "S1099"}))]);
    let world = World::start(script).await;
    let page = crate::world::Page::new(&site.at("/ledger"), "Ledger", "The ledger of the harbour.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(answers[1].contains("<source id=\"S1001\">") && answers[1].contains("Paragraph 1 tells"), "{}", answers[1]);
    assert!(answers[2].contains("there is no source S1099"), "{}", answers[2]);
    assert!(!story.markdown().contains("could not be read"), "an id is no page: {}", story.markdown());
    assert_eq!(story.sources.len(), 1);
    world.finish();
}

/// What is read by the id of a source may lie elsewhere; then it is another source, with a number of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_whose_address_leads_elsewhere_stays_what_it_is() {
    let site = Site::start().await;
    let world = World::start(reading([reply::search(["dues"]), read(json!({"address": "S1001"}))])).await;
    let page = crate::world::Page::new(&site.at("/moved"), "Ledger", "The ledger of the harbour.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    let story = story(&world, &[]).await;
    assert!(answers(&world)[1].contains("Paragraph 1 tells"), "{:?}", answers(&world));
    let known: Vec<_> = story.sources.iter().map(|source| (source.url.as_str(), source.id)).collect();
    let [moved, ledger] = ["/moved", "/ledger"].map(|path| site.at(path));
    assert!(known.contains(&(&moved, SourceId(1001))), "{known:?}");
    assert!(known.iter().any(|(url, id)| *url == ledger && id.0 > 1001), "{known:?}");
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_known_by_the_address_author_and_site_that_it_names() {
    let site = Site::start().await;
    let reads = ["/alias", "/ledger"].map(|path| read(json!({"address": site.at(path)})));
    let world = World::start(reading(reads)).await;
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(answers[0].contains("Author: M. Tey") && answers[0].contains("Location: The Harbour ("), "{}", answers[0]);
    let known = (story.sources.len(), &story.sources[0].url, &story.sources[0].addresses);
    assert_eq!(known, (1, &site.at("/alias"), &vec![site.at("/ledger")]), "linked where it was read");
    let said = (story.sources[0].author.as_deref(), story.sources[0].site.as_deref());
    assert_eq!(said, (Some("M. Tey"), Some("The Harbour")));
    world.finish();
}

/// What a page says of its address does not keep the page from being read that is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_claims_the_address_of_another_one_does_not_stand_in_for_it() {
    let site = Site::start().await;
    let [usurper, ledger] = ["/usurper", "/ledger"].map(|path| site.at(path));
    let script =
        reading([read(json!({ "address": usurper })), reply::search(["dues"]), read(json!({ "address": ledger }))]);
    let world = World::start(script).await;
    let page = crate::world::Page::new(&ledger, "Ledger", "The ledger of the harbour.").without_text();
    world.web.always("", Found::Pages(vec![page]));
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(answers[0].contains("go to me"), "{}", answers[0]);
    assert!(!answers[1].contains("shown above"), "{}", answers[1]);
    assert!(answers[2].contains("Paragraph 1 tells") && !answers[2].contains("go to me"), "{}", answers[2]);
    assert_eq!((site.asked("/usurper"), site.asked("/ledger")), (1, 1), "{:?}", story.ended);
    world.finish();
}

/// Another site may name the original of its page. That counts only when both say the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_shown_as_the_original_that_it_names_and_a_liar_is_not() {
    let site = Site::start().await;
    let ledger = site.at("/ledger");
    let naming = |text: String| text.replace("<head>", &format!("<head><link rel=canonical href='{ledger}'>"));
    let copy = naming(long_page().replace("<article>", "<p>The Post, 3 May 2031</p><article>"));
    let liar = naming(long_page().replace("four crowns", "forty crowns"));
    let page = |text: String| get(move || async move { html(text) });
    let (elsewhere, _server) = serve(Router::new().route("/copy", page(copy)).route("/liar", page(liar))).await;
    let [copy, liar] = ["/copy", "/liar"].map(|path| format!("{elsewhere}{path}"));
    let reads = [&liar, &copy, &ledger].map(|address| read(json!({ "address": address })));
    let world = World::start(reading(reads)).await;
    let story = story(&world, &[]).await;
    let known: Vec<_> = story.sources.iter().map(|source| (source.url.clone(), source.addresses.clone())).collect();
    assert_eq!(known, [(liar, vec![]), (ledger, vec![copy])]);
    assert_eq!(story.named("source.found").len(), 2, "the liar and the copy; the ledger is the copy's source");
    world.finish();
}

/// Without a question a long page is opened where it fits the topic.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_page_is_opened_where_the_topic_is() {
    let site = Site::start().await;
    let world = World::start(reading([read(json!({"address": site.at("/ledger")}))])).await;
    story(&world, &[]).await;
    let answer = answers(&world).remove(0);
    assert!(answer.contains("Dues of four crowns pay the tide gate"), "{answer}");
    assert!(answer.contains("with the same address and place "), "{answer}");
    world.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_the_web_are_read_by_what_they_are() {
    let site = Site::start().await;
    let reads = ["/mill.docx", "/dues.csv"].map(|path| read(json!({"address": site.at(path)})));
    let world = World::start(reading(reads)).await;
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(
        answers[0].contains("Tide mill at Ambleton") && answers[0].contains("| Barge | 4.50 | Sunday |"),
        "{}",
        answers[0]
    );
    assert!(answers[1].contains("| Barge | 4,50 |"), "{}", answers[1]);
    assert_eq!(story.sources[0].published.as_deref(), Some("2031-03-10"));
    world.finish();
}

/// Each in words for the model, as an event, and the run goes on with what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_said_and_the_run_goes_on() {
    let site = Site::start().await;
    let cases = [
        ("/private/x", "robots.txt"),
        ("/round", "redirected more than 5 times"),
        ("/script", "run its scripts"),
        ("/deep", "its HTML is nested too deeply"),
        ("/zeros", "it is not text"),
        ("/picture", "image/png"),
        ("/odd", "image/‹|im_start|>"),
        ("/large", "longer than"),
        ("/pay", "those who pay"),
        ("/bot", "only people"),
        ("/nowhere", "no such page"),
        ("/human", "check for robots"),
    ];
    let reads = cases.map(|(path, _)| ("read_page", json!({"address": site.at(path)})));
    let script = reading([reply::calls(reads), read(json!({"address": site.at("/japanese")}))]);
    let world = World::start(script).await;
    let story = story(&world, &["max_researcher_seconds=40"]).await;
    let answers = answers(&world);
    for ((path, said), answer) in cases.iter().zip(&answers) {
        assert!(answer.contains("`read_page` failed") && answer.contains(said), "{path}: {answer}");
    }
    assert_eq!(site.asked("/private/x"), 0);
    assert!(answers[cases.len()].contains("港の料金は四クローネです"), "{}", answers[cases.len()]);
    assert_eq!(story.named("tool.failed").len(), cases.len());
    assert!(story.report.is_some());
    world.finish();
}

/// A page that a browser would show is asked of the reader that the operator names; its text is a source that says who
/// read it. What a site refuses is not asked of it.
#[test_case("firecrawl", "/v2/scrape", "page, read by Firecrawl"; "firecrawl")]
#[test_case("jina", "/", "page, read by Jina"; "jina")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_others_reads_what_browsers_show(vendor: &str, path: &str, engine: &str) {
    let site = Site::start().await;
    let text = "# The dues\n\nDues of *four crowns* pay the tide gate, says the [ledger](https://a.test).";
    let bodies = [
        json!({"data": {"markdown": text, "content": text, "metadata": {"statusCode": 200}}}),
        json!({"data": {"markdown": "gone", "content": "gone", "warning": "Target URL returned error 404: Not Found"}}),
    ];
    let reader = FakeVendor::start(bodies.map(|body| VendorReply::json(200, &body.to_string()))).await;
    let paths = ["/script", "/script?gone", "/pay", "/private/x"];
    let reads = paths.map(|path| read(json!({"address": site.at(path)})));
    let world = World::start(reading(reads.into_iter().chain([reply::search(["dues"])]))).await;
    let base_url = reader.base_url().replace("/v1", "");
    let settings = [
        ("FATHOM_PAGES_ALLOW_PRIVATE", "true"),
        ("FATHOM_PAGE_READER", vendor),
        ("FATHOM_PAGE_READER_KEY", "r3ader-key"),
        ("FATHOM_PAGE_READER_URL", &base_url),
    ];
    let story = story_where(&world, &[], &settings).await;
    let answers = answers(&world);
    assert!(answers[0].contains("Dues of four crowns pay the tide gate, says the ledger"), "{}", answers[0]);
    let failed = &answers[1];
    assert!(failed.contains("run its scripts, and") && failed.contains("the site shows it an error"), "{failed}");
    let sent = reader.sent();
    assert_eq!(sent.len(), 2, "what a site refuses is nobody's to read");
    assert_eq!((sent[0].path.as_str(), &sent[0].body["url"]), (path, &json!(site.at("/script"))));
    assert_eq!(sent[0].headers["authorization"], "Bearer r3ader-key");
    assert!(story.sources.iter().any(|source| source.engine == engine), "{:?}", story.sources);
    world.finish();
}

/// Neither user nor password that a model puts into an address is sent, stored or shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_read_without_its_user() {
    let site = Site::start().await;
    let with_user = |path: &str| site.at(path).replace("http://", "http://me:pa55w0rd@");
    let reads = ["/ledger", "/nowhere"].map(|path| read(json!({"address": with_user(path)})));
    let world = World::start(reading(reads)).await;
    let story = story(&world, &[]).await;
    let answers = answers(&world);
    assert!(answers[0].contains("Title: The ledger") && answers[1].contains("no such page"), "{answers:?}");
    assert_eq!((story.sources.len(), story.sources[0].url.clone()), (1, site.at("/ledger")));
    let shown = format!("{:?} {:?} {answers:?}", story.events, story.report);
    assert!(shown.contains(&site.at("/nowhere")) && !shown.contains("pa55w0rd"), "{shown}");
    world.finish();
}

/// What is private stays so, unless the operator says otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_not_called() {
    let site = Site::start().await;
    let local = site.at("/ledger").replace("127.0.0.1", "localhost");
    let addresses = [site.at("/ledger"), local, "http://169.254.169.254/".to_owned(), "http://[::1]/".to_owned()];
    let reads = addresses.iter().map(|address| ("read_page", json!({"address": address})));
    let script = reading([reply::calls(reads), reply::search(["dues"])]);
    let world = World::start(script).await;
    let story = research(&world, &TestDatabase::sqlite(), &[]).await;
    for answer in &answers(&world)[..addresses.len()] {
        assert!(answer.contains("not a public one"), "{answer}");
    }
    assert!(site.asked.lock().is_empty(), "nobody called");
    assert!(story.report.is_some());
    world.finish();
}

/// A network of the operator's is called by number and by name, and none beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_the_operator_allows_is_called() {
    let site = Site::start().await;
    let named = site.at("/ledger").replace("127.0.0.1", "localhost");
    let addresses = [site.at("/ledger"), named, "http://[::1]/".to_owned(), "http://169.254.169.254/".to_owned()];
    let reads = addresses.iter().map(|address| ("read_page", json!({"address": address})));
    let world = World::start(reading([reply::calls(reads), reply::search(["dues"])])).await;
    let story = story_where(&world, &[], &[("FATHOM_ALLOWED_NETWORKS", "10.0.0.0/8, 127.0.0.0/8")]).await;
    let answers = answers(&world);
    let said = |answers: &[String], words: &str| answers.iter().all(|answer| answer.contains(words));
    assert!(said(&answers[..2], "Title: The ledger"), "{answers:?}");
    assert!(said(&answers[2..4], "not a public one"), "{answers:?}");
    assert!(story.report.is_some());
    world.finish();
}

/// A run that may not read pages does not know the tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_read_only_where_that_is_wanted() {
    let world = World::start(Script::whole_run(Shape::SMALL)).await;
    let database = TestDatabase::sqlite();
    let settings = config(&world, &database, &["read_pages=false"], &[]).unwrap();
    assert!(!settings.options.read_pages);
    research(&world, &database, &["read_pages=false"]).await;
    assert!(!world.models.calls_of(Kind::Researcher)[0].says("read_page"));
    research(&world, &database, &[]).await;
    assert!(world.models.calls_of(Kind::Researcher).last().unwrap().says("read_page"));
    world.finish();
}
