//! A search engine that speaks Tavily's `POST /search`, on loopback, and finds pages that never were.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::post,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Record, Reply, openai, prose,
    reply::{self, What},
};

/// The only key the engine accepts.
pub const KEY: &str = "tvly-scripted-world";

/// Results of a query that asks for no number.
const RESULTS: usize = 5;

/// The server and everything it has seen; stops when dropped.
pub struct FakeTavily {
    state: Arc<Engine>,
    address: SocketAddr,
    /// Owns the server.
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Engine {
    rules: Mutex<Vec<Rule>>,
    latency: Mutex<Duration>,
    searches: Mutex<Vec<Value>>,
    total: AtomicUsize,
    record: Record,
}

struct Rule {
    /// Part of the query; the empty one is part of every query.
    needle: String,
    answers: VecDeque<Found>,
    /// The last answer is kept for good.
    repeat: bool,
}

/// What a query brings.
#[derive(Clone, Debug)]
pub enum Found {
    Pages(Vec<Page>),
    Fault(Box<Reply>),
}

impl Found {
    /// Makes the engine fail with this reply.
    pub fn fault(reply: Reply) -> Self {
        Self::Fault(Box::new(reply))
    }
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    pub title: String,
    pub url: String,
    /// The engine's excerpt.
    pub content: String,
    pub score: f64,
    /// Sent only when asked for.
    pub raw_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_date: Option<String>,
}

impl Page {
    /// Returns a page whose excerpt is its beginning.
    pub fn new(url: &str, title: &str, text: &str) -> Self {
        Self {
            title: title.to_owned(),
            url: url.to_owned(),
            content: text.chars().take(300).collect(),
            score: 0.9,
            raw_content: Some(text.to_owned()),
            published_date: None,
        }
    }

    /// Returns a page of which the engine has its excerpt only.
    pub fn without_text(mut self) -> Self {
        self.raw_content = None;
        self
    }
}

impl FakeTavily {
    /// Serves on a port of its own; knows something about everything.
    pub async fn start(record: Record) -> Self {
        let state = Arc::new(Engine { record, ..Engine::default() });
        let router = Router::new().route("/search", post(search)).with_state(Arc::clone(&state));
        let (address, server) = openai::serve(router).await;
        Self { state, address, _server: server }
    }

    /// Returns the base URL without a path, as `TAVILY_BASE_URL` wants it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers queries that contain `needle` with these pages, always.
    pub fn always(&self, needle: &str, found: Found) {
        self.add(needle, [found], true);
    }

    /// Answers queries that contain `needle` with these in turn, one each; afterwards as they would be anyway.
    pub fn first(&self, needle: &str, found: impl IntoIterator<Item = Found>) {
        self.add(needle, found, false);
    }

    /// Forgets all rules: from now on it knows something about everything.
    pub fn forget(&self) {
        self.state.rules.lock().clear();
    }

    pub fn set_latency(&self, latency: Duration) {
        *self.state.latency.lock() = latency;
    }

    /// Returns the bodies of all searches so far, in order of arrival; empty when only counts are kept.
    pub fn searches(&self) -> Vec<Value> {
        self.state.searches.lock().clone()
    }

    pub fn queries(&self) -> Vec<String> {
        self.searches().iter().map(|search| search["query"].as_str().unwrap_or("").to_owned()).collect()
    }

    pub fn total(&self) -> usize {
        self.state.total.load(Ordering::Relaxed)
    }

    fn add(&self, needle: &str, found: impl IntoIterator<Item = Found>, repeat: bool) {
        let rule = Rule { needle: needle.to_owned(), answers: found.into_iter().collect(), repeat };
        self.state.rules.lock().push(rule);
    }
}

impl Engine {
    fn find(&self, query: &str, results: usize) -> Found {
        let mut rules = self.rules.lock();
        for rule in rules.iter_mut().filter(|rule| query.contains(&rule.needle)) {
            let answer = if rule.repeat { rule.answers.front().cloned() } else { rule.answers.pop_front() };
            if let Some(answer) = answer {
                return answer;
            }
        }
        drop(rules);
        Found::Pages(pages(query, results))
    }
}

/// Returns what the engine knows about `query`: always the same, and different from what it knows about any other.
pub fn pages(query: &str, results: usize) -> Vec<Page> {
    let seed = prose::seed(query);
    let page = |rank: usize| {
        let seed = seed.wrapping_add((rank as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = prose::page(query, seed);
        Page {
            title: format!("File {:08x}: {}", seed as u32, query.chars().take(60).collect::<String>()),
            url: format!("https://example.test/{seed:016x}/{rank}"),
            content: text.chars().take(300).collect(),
            score: 0.95 - 0.07 * rank as f64,
            raw_content: Some(text),
            published_date: seed.is_multiple_of(3).then(|| format!("2026-{:02}-{:02}", 1 + seed % 12, 1 + seed % 28)),
        }
    };
    (0..results).map(page).collect()
}

async fn search(State(engine): State<Arc<Engine>>, headers: HeaderMap, bytes: Bytes) -> Response {
    let received_at = Instant::now();
    if !openai::has_key(&headers, KEY) {
        return render(&reply::status(401), "");
    }
    let Ok(asked) = serde_json::from_slice::<Value>(&bytes) else {
        return render(&reply::status(400), "");
    };
    engine.total.fetch_add(1, Ordering::Relaxed);
    if engine.record == Record::Calls {
        engine.searches.lock().push(asked.clone());
    }
    let query = asked["query"].as_str().unwrap_or("");
    let results = asked["max_results"].as_u64().map_or(RESULTS, |number| number as usize);
    let latency = *engine.latency.lock();
    match engine.find(query, results) {
        Found::Pages(mut pages) => {
            super::sleep(received_at, latency).await;
            if !asks_for_text(&asked["include_raw_content"]) {
                pages.iter_mut().for_each(|page| page.raw_content = None);
            }
            let body = answer(query, &pages);
            reply::text("").send(StatusCode::OK, "application/json", vec![body.into()], None)
        }
        Found::Fault(fault) => {
            super::sleep(received_at, fault.latency.unwrap_or(latency)).await;
            if matches!(fault.what, What::Silence) {
                std::future::pending::<()>().await;
            }
            render(&fault, query)
        }
    }
}

/// Returns whether the value asks for text: `true`, `"markdown"` or `"text"`.
fn asks_for_text(value: &Value) -> bool {
    value == true || value.is_string()
}

fn answer(query: &str, pages: &[Page]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Answer<'a> {
        query: &'a str,
        follow_up_questions: Option<()>,
        answer: Option<()>,
        images: [(); 0],
        results: &'a [Page],
        response_time: f64,
        request_id: &'static str,
    }
    let answer = Answer {
        query,
        follow_up_questions: None,
        answer: None,
        images: [],
        results: pages,
        response_time: 0.42,
        request_id: "00000000-0000-4000-8000-000000000000",
    };
    serde_json::to_vec(&answer).expect("strings and numbers become JSON")
}

/// Returns a fault in Tavily's form.
fn render(fault: &Reply, query: &str) -> Response {
    match &fault.what {
        What::Status(status) => {
            let message = match status.as_u16() {
                400 => "The request is invalid.",
                401 => "Unauthorized: missing or invalid API key.",
                429 => "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
                432 => "This request exceeds your plan's set usage limit.",
                _ => "Internal Server Error",
            };
            let body = json!({ "detail": { "error": message } }).to_string();
            fault.send(*status, "application/json", vec![body.into()], None)
        }
        What::Verbatim { status, content_type, body } => fault.send(*status, content_type, vec![body.clone()], None),
        // A turn makes no sense here, but its limits do: an answer that is cut or stalls half-way.
        _ => {
            let body = answer(query, &pages(query, RESULTS));
            fault.send(StatusCode::OK, "application/json", vec![body.into()], None)
        }
    }
}
