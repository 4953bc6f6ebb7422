//! Every engine on the web against the same trials: what its vendor's answers become, what it sends for each filter,
//! and what its refusals mean. An engine adds one [`Case`] (in `cases.rs`).

mod cases;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderName, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use fathom::{
    net::RetryPolicy,
    search::{Engine, Engines, Error, Filter, Filters, Hit, Limits, Open, ROWS, Returns, Row, Settings},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::local::parser;

/// The value of every secret setting; never shown.
const KEY: &str = "k3y-of-a-test";

/// Status, headers, body, and what it means.
type Refused = (u16, &'static [(&'static str, &'static str)], &'static str, Meaning);
/// Filters, and what stands in the request then.
type Sent = (fn() -> Filters, &'static [&'static str]);

/// What is particular about one engine.
struct Case {
    name: &'static str,
    /// The setting of its address; requests go to the fake under `/base`.
    address: &'static str,
    /// Settings beside that, all of them secret.
    keys: &'static [&'static str],
    /// An answer in the vendor's form, with what is missing or odd in some of its results.
    reply: &'static str,
    /// What the answer becomes: address, title, excerpt, text, date. The text of engines that send none is empty.
    hits: &'static [(&'static str, &'static str, &'static str, &'static str, Option<&'static str>)],
    /// The vendor's ways to say that nothing was found.
    empty: &'static [(u16, &'static str)],
    /// Status, headers, body, and what it means.
    refusals: &'static [Refused],
    /// Filters, and what stands in the request then.
    sent: &'static [Sent],
}

/// Who wrote the first hit, as the answers of these engines say; those of all others say nothing of authors.
const AUTHORS: &[(&str, &str)] = &[
    ("arxiv", "A. Quill, B. Tey"),
    ("crossref", "Ada Quill, The Pump Group"),
    ("exa", "A. Quill"),
    ("openalex", "A. Quill, B. Tey"),
    ("pubmed", "Quill A, Tey B."),
    ("semantic_scholar", "A. Quill"),
    ("stackexchange", "Ada & Co"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Auth,
    Quota,
    /// Seconds that the engine asked for.
    Limited(Option<u64>),
    BadQuery,
    Unavailable,
}

fn meaning(error: &Error) -> Meaning {
    match error {
        Error::Auth(_) => Meaning::Auth,
        Error::Quota(_) => Meaning::Quota,
        Error::RateLimited { retry_after } => Meaning::Limited(retry_after.map(|wait| wait.as_secs())),
        Error::BadQuery(_) => Meaning::BadQuery,
        Error::Unavailable(_) | Error::Documents(_) => Meaning::Unavailable,
    }
}

/// An answer of the fake.
#[derive(Clone)]
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    fn new(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: body.to_owned() }
    }
}

#[derive(Default)]
struct Seen {
    replies: Mutex<VecDeque<Reply>>,
    last: Mutex<Option<Reply>>,
    requests: Mutex<Vec<String>>,
}

/// A server that answers whatever it is asked with the reply that is next; the last one is kept.
struct Fake {
    address: String,
    seen: Arc<Seen>,
    _server: JoinSet<()>,
}

impl Fake {
    async fn start() -> Self {
        let seen: Arc<Seen> = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/base/", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&seen));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, seen, _server: server }
    }

    fn next(&self, reply: Reply) {
        self.seen.replies.lock().push_back(reply);
    }

    /// The last request in one text: method and address decoded, headers, body.
    fn asked(&self) -> String {
        self.seen.requests.lock().last().unwrap().clone()
    }

    fn engine(&self, case: &Case) -> Engine {
        self.try_engine(case).unwrap()
    }

    /// `None` without the keys that it needs.
    fn try_engine(&self, case: &Case) -> Option<Engine> {
        let retry =
            RetryPolicy { max_wait: Duration::from_millis(3), first_within: Duration::from_millis(1), timeouts: 1 };
        let mut settings = Settings { retry, max_answer_bytes: 200_000, ..Settings::default() };
        settings = settings.with(case.address, self.address.clone());
        for key in case.keys {
            settings = settings.with(key, KEY);
        }
        let row = ROWS.iter().find(|row| row.name == case.name).unwrap();
        // Not in the engine's own time.
        let row: &'static Row = Box::leak(Box::new(Row { every: Duration::ZERO, ..**row }));
        Engines::of(&[row], settings, parser()).unwrap().get(case.name).ok().cloned()
    }
}

async fn answer(State(seen): State<Arc<Seen>>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let query: Vec<_> = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).collect();
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or_default())).collect();
    let body = String::from_utf8_lossy(&body);
    let asked = format!("{method} {} {}\n{}\n{body}", uri.path(), query.join(" "), headers.join("\n"));
    seen.requests.lock().push(asked);
    let next = seen.replies.lock().pop_front();
    let mut last = seen.last.lock();
    let reply = next.or_else(|| last.clone()).unwrap_or_else(|| Reply::new(500, "{}"));
    *last = Some(reply.clone());
    let mut response = (StatusCode::from_u16(reply.status).unwrap(), reply.body).into_response();
    for (name, value) in reply.headers {
        response.headers_mut().insert(HeaderName::from_static(name), value.parse().unwrap());
    }
    response
}

fn filtered(filters: Filters) -> Limits {
    Limits { max_results: 5, filters }
}

async fn search(fake: &Fake, case: &Case, limits: &Limits) -> Result<Vec<Hit>, Error> {
    fake.engine(case).search("pump noise limits", limits, &Open).await
}

/// An engine without trials is one nobody knows to work. Folders have tests of their own.
#[test]
fn every_engine_that_is_asked_has_a_case() {
    let missing: Vec<_> = ROWS
        .iter()
        .filter(|row| !row.reads_folders() && cases::ALL.iter().all(|case| case.name != row.name))
        .map(|row| row.name)
        .collect();
    assert!(missing.is_empty(), "no `Case` in `ALL` of cases.rs: {missing:?}");
}

#[tokio::test]
async fn answers_become_hits() {
    for case in cases::ALL {
        let fake = Fake::start().await;
        fake.next(Reply::new(200, case.reply));
        let hits =
            search(&fake, case, &filtered(Filters::default())).await.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let seen: Vec<_> = hits
            .iter()
            .map(|hit| {
                let text = hit.raw_content.as_deref().unwrap_or_default();
                (&*hit.url, &*hit.title, &*hit.snippet, text, hit.published.as_deref())
            })
            .collect();
        assert_eq!(seen, case.hits, "{}", case.name);
        assert!(hits.iter().all(|hit| hit.engine == case.name));
        let author = AUTHORS.iter().find(|(name, _)| *name == case.name).map(|(_, author)| *author);
        let found = hits[0].about.author.as_deref();
        assert_eq!(found, author, "{}: `AUTHORS` must say who wrote its first hit", case.name);
        let row = ROWS.iter().find(|row| row.name == case.name).unwrap();
        let has_pages = hits.iter().any(|hit| hit.raw_content.is_some());
        assert_eq!(has_pages, row.returns == Returns::Pages, "{} says that it returns {:?}", case.name, row.returns);
        assert!(fake.asked().contains(" /base"), "{}: {}", case.name, fake.asked());
        assert_eq!(fake.asked().contains(KEY), !case.keys.is_empty(), "{}", case.name);
    }
}

#[tokio::test]
async fn nothing_found_is_no_error() {
    for case in cases::ALL {
        for (status, body) in case.empty {
            let fake = Fake::start().await;
            fake.next(Reply::new(*status, body));
            let found = search(&fake, case, &filtered(Filters::default())).await;
            assert_eq!(found, Ok(Vec::new()), "{}: {body}", case.name);
        }
    }
}

#[tokio::test]
async fn refusals_say_what_to_do_and_never_the_key() {
    for case in cases::ALL {
        for (status, headers, body, expected) in case.refusals {
            let fake = Fake::start().await;
            let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            fake.next(Reply { headers, ..Reply::new(*status, &body.replace("{key}", KEY)) });
            let error = search(&fake, case, &filtered(Filters::default())).await.unwrap_err();
            assert_eq!(meaning(&error), *expected, "{}, {status}, {body}: {error}", case.name);
            assert!(!error.to_string().contains(KEY), "{}: {error}", case.name);
        }
    }
}

/// Waits are asked for in seconds or as a date, in the header of HTTP, by every engine.
#[tokio::test]
async fn rate_limits_and_outages_mean_the_same_everywhere() {
    for case in cases::ALL {
        let check = async |reply: Reply, expected: Meaning| {
            let fake = Fake::start().await;
            fake.next(reply.clone());
            let error = search(&fake, case, &filtered(Filters::default())).await.unwrap_err();
            assert_eq!(meaning(&error), expected, "{}, {}: {error}", case.name, reply.status);
        };
        let after = |value: &str| vec![("retry-after", value.to_owned())];
        check(Reply { headers: after("90"), ..Reply::new(429, "{}") }, Meaning::Limited(Some(90))).await;
        check(Reply::new(429, "slow down"), Meaning::Limited(None)).await;
        let keyless = case.keys.is_empty();
        check(Reply::new(401, "{}"), if keyless { Meaning::Unavailable } else { Meaning::Auth }).await;
        check(Reply::new(402, "{}"), Meaning::Quota).await;
        check(Reply::new(500, "<html>oops</html>"), Meaning::Unavailable).await;
        check(Reply::new(503, ""), Meaning::Unavailable).await;
        check(Reply::new(404, "{}"), Meaning::Unavailable).await;
    }
}

/// Whose key is wrong when none is set?
#[tokio::test]
async fn an_engine_that_has_a_key_and_goes_without_is_refused_no_key() {
    for row in ROWS.iter().filter(|row| !row.reads_folders()) {
        // Another test says of one that has none.
        let Some(case) = cases::ALL.iter().find(|case| case.name == row.name) else { continue };
        let keyless = Case { keys: &[], ..*case };
        let fake = Fake::start().await;
        let Some(engine) = fake.try_engine(&keyless) else { continue };
        fake.next(Reply::new(403, "{}"));
        let error = engine.search("pump noise limits", &filtered(Filters::default()), &Open).await.unwrap_err();
        assert_eq!(meaning(&error), Meaning::Unavailable, "{}: {error}", case.name);
    }
}

/// A captive portal, a proxy's page, an answer cut in the middle, another one's answer, one that does not end.
#[tokio::test]
async fn what_is_no_answer_is_an_error() {
    for case in cases::ALL {
        let cut: String = case.reply.chars().take(case.reply.chars().count() / 2).collect();
        let endless = "x".repeat(300_000);
        for body in ["<!doctype html><html><h1>Welcome to the hotel</h1></html>", &cut, "", "null", "[1]", &endless] {
            let fake = Fake::start().await;
            fake.next(Reply::new(200, body));
            let error = search(&fake, case, &filtered(Filters::default())).await;
            let text: String = body.chars().take(40).collect();
            assert_eq!(error.as_ref().map_err(meaning), Err(Meaning::Unavailable), "{}: {text}", case.name);
        }
    }
}

/// What an engine says is wrong is said, and is not taken for nothing to be found.
#[tokio::test]
async fn an_error_with_status_200_says_what_is_wrong() {
    for case in cases::ALL {
        let fake = Fake::start().await;
        fake.next(Reply::new(200, r#"{"data": null, "error": {"message": "the index is being built"}}"#));
        let error = search(&fake, case, &filtered(Filters::default())).await;
        let is_said = matches!(&error, Err(Error::Unavailable(said)) if said.contains("the index is being built"));
        assert!(is_said, "{}: {error:?}", case.name);
    }
}

/// Half a character, as programs send it that cut texts without looking, costs no hit.
#[tokio::test]
async fn half_a_surrogate_pair_costs_nothing_else() {
    for case in cases::ALL.iter().filter(|case| case.reply.starts_with('{')) {
        let hits = async |reply: &str| {
            let fake = Fake::start().await;
            fake.next(Reply::new(200, reply));
            search(&fake, case, &filtered(Filters::default())).await.unwrap_or_else(|e| panic!("{}: {e}", case.name))
        };
        let word = case.hits[0].1.split(' ').next().unwrap_or_default();
        let cut = case.reply.replacen(&format!("\"{word}"), &format!("\"\\ud83d{word}"), 1);
        assert_ne!(cut, case.reply, "{}: its first title stands in its answer", case.name);
        let titles = |hits: Vec<Hit>| Vec::from_iter(hits.into_iter().map(|hit| hit.title.replace('\u{fffd}', "")));
        assert_eq!(titles(hits(&cut).await), titles(hits(case.reply).await), "{}", case.name);
    }
}

#[tokio::test]
async fn a_mark_of_the_encoding_before_an_answer_says_nothing() {
    for case in cases::ALL.iter().filter(|case| case.reply.starts_with('{')) {
        let fake = Fake::start().await;
        fake.next(Reply::new(200, &format!("\u{feff}{}", case.reply)));
        assert!(
            search(&fake, case, &filtered(Filters::default())).await.is_ok_and(|hits| !hits.is_empty()),
            "{}",
            case.name
        );
    }
}

#[tokio::test]
async fn filters_are_passed_on_in_the_engines_words() {
    for case in cases::ALL {
        for (filters, expected) in case.sent {
            let fake = Fake::start().await;
            fake.next(Reply::new(case.empty[0].0, case.empty[0].1));
            search(&fake, case, &filtered(filters())).await.unwrap();
            let asked = fake.asked();
            for piece in *expected {
                assert!(asked.contains(piece), "{} does not send {piece} for {:?}:\n{asked}", case.name, filters());
            }
        }
    }
}

/// Whatever an engine makes of them.
#[tokio::test]
async fn sites_are_checked_on_the_results() {
    for case in cases::ALL {
        let first = url::Url::parse(case.hits[0].0).unwrap().host_str().unwrap().to_owned();
        let fake = Fake::start().await;
        fake.next(Reply::new(200, case.reply));
        let only = Filters { include: vec![first.clone()], ..Filters::default() };
        let hits = search(&fake, case, &filtered(only)).await.unwrap();
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.url.contains(&first)), "{}", case.name);
        let without = Filters { exclude: vec![first.clone()], ..Filters::default() };
        let hits = search(&fake, case, &filtered(without)).await.unwrap();
        assert!(hits.iter().all(|hit| !hit.url.contains(&format!("//{first}"))), "{}: {hits:?}", case.name);
    }
}

/// A query that is too long is refused with the reason, and nothing is sent; one as long as what stands in for a task
/// is taken by every engine.
#[tokio::test]
async fn long_queries_are_refused_and_not_cut() {
    for case in cases::ALL {
        let fake = Fake::start().await;
        fake.next(Reply::new(200, case.reply));
        let engine = fake.engine(case);
        let refused = engine.search(&"word ".repeat(600), &Limits::default(), &Open).await;
        let Err(Error::BadQuery(why)) = &refused else { panic!("{}: {refused:?}", case.name) };
        assert!(why.contains(&format!("and {} takes ", case.name)) && why.contains("at most"), "{why}");
        assert!(fake.seen.requests.lock().is_empty(), "{}", case.name);
        let query = format!("{}ab", "pump noise ".repeat(18));
        let asked = engine.search(&query, &Limits::default(), &Open).await;
        assert!(query.len() == 200 && !matches!(asked, Err(Error::BadQuery(_))), "{}: {asked:?}", case.name);
    }
}

/// A row says no more than what is sent.
#[test]
fn rows_name_the_filters_that_are_sent() {
    for case in cases::ALL {
        let row = ROWS.iter().find(|row| row.name == case.name).unwrap();
        assert_eq!(row.filters.is_empty(), case.sent.is_empty(), "{}: `sent` of its case", case.name);
        for filter in row.filters {
            let is_sent = case.sent.iter().any(|(filters, _)| sets(&filters(), *filter));
            assert!(is_sent, "{}: its row names {filter:?}, and `sent` of its case has none with it", case.name);
        }
        assert!(!row.about.is_empty() && !row.cost.is_empty(), "{}", case.name);
    }
}

fn sets(filters: &Filters, filter: Filter) -> bool {
    match filter {
        Filter::TimeRange => filters.time_range.is_some(),
        Filter::Domains => filters.has_domains(),
        Filter::Language => filters.language.is_some(),
        Filter::Country => filters.country.is_some(),
        Filter::Topic => filters.topic != Default::default(),
    }
}

/// For the cases: shorter than an object in Rust.
fn filters(value: Value) -> Filters {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let texts = |name: &str| {
        value[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Filters {
        time_range: serde_json::from_value(value["range"].clone()).unwrap(),
        include: texts("include"),
        exclude: texts("exclude"),
        language: text("language"),
        country: text("country"),
        topic: if value["topic"].is_null() {
            Default::default()
        } else {
            serde_json::from_value(value["topic"].clone()).unwrap()
        },
    }
}

fn of_last_week() -> Filters {
    filters(json!({"range": "week"}))
}

fn of_one_site() -> Filters {
    filters(json!({"include": ["example.org"]}))
}

fn without_a_site() -> Filters {
    filters(json!({"exclude": ["example.net"]}))
}

/// More than there is room for in a query.
fn of_many_sites() -> Filters {
    filters(json!({"include": many_sites()}))
}

fn without_many_sites() -> Filters {
    filters(json!({"exclude": many_sites()}))
}

fn many_sites() -> Vec<String> {
    (0..60).map(|at| format!("s{at}.eu")).collect()
}

fn in_taiwan() -> Filters {
    filters(json!({"language": "zh", "country": "TW"}))
}

fn in_german() -> Filters {
    filters(json!({"language": "de", "country": "DE"}))
}

fn news() -> Filters {
    filters(json!({"topic": "news"}))
}
