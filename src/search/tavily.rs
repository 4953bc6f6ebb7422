//! Tavily, a web search for machines: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.
//!
//! Its JSON lives and dies here. A result without an address is left out; every other missing field is tolerated.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;

use super::{Error, Hit, Limits, canonical_url};
use crate::{
    domain::WaitKind,
    net::{self, Attempt, Caller, Circuit, RetryPolicy, Timeouts, Trouble, Verdict},
    pages::{self, Parser, extract},
};

/// Tavily answers 400 to a longer query (2026-07).
const MAX_QUERY_CHARS: usize = 400;
/// Tavily's own bound on `max_results` (2026-07).
const MAX_RESULTS: usize = 20;
/// Attempts that may end without an answer in time: with the time limit of each, ten minutes. They cost nothing.
const TIMEOUTS: u32 = 10;
/// More excerpt than this is a page, not an excerpt.
const MAX_SNIPPET_CHARS: usize = 4_000;

/// Answers read at the same time, from the body to its texts, over all runs: each is large. Others wait in the
/// network's buffers.
const READ_AT_ONCE: usize = 32;
/// Results looked at in an answer that has more than were asked for.
const MAX_LOOKED_AT: usize = 50;

/// How to reach Tavily.
#[derive(Clone)]
pub struct Settings {
    /// Without `/search`.
    pub base_url: String,
    pub api_key: SecretString,
    /// For one attempt at a query.
    pub timeout: Duration,
    pub retry: RetryPolicy,
    /// Queries at once, over all runs of this process.
    pub max_concurrent: usize,
    pub max_answer_bytes: usize,
}

impl Settings {
    pub const BASE_URL: &str = "https://api.tavily.com";

    pub fn new(api_key: SecretString) -> Self {
        Self {
            base_url: Self::BASE_URL.to_owned(),
            api_key,
            timeout: Duration::from_secs(60),
            retry: RetryPolicy {
                patience: Duration::from_secs(4 * 3_600),
                first_within: Duration::from_millis(500),
                timeouts: TIMEOUTS,
            },
            max_concurrent: 2_000,
            max_answer_bytes: 20 * 1024 * 1024,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Url::parse(&self.base_url).map(|url| net::shown_url(&url));
        formatter
            .debug_struct("Settings")
            .field("base_url", &address.unwrap_or_default())
            .field("timeout", &self.timeout)
            .field("retry", &self.retry)
            .field("max_concurrent", &self.max_concurrent)
            .finish_non_exhaustive()
    }
}

/// A client of Tavily; clones share its connections and its limit of queries at once.
#[derive(Clone)]
pub struct Tavily {
    client: reqwest::Client,
    endpoint: Url,
    settings: Arc<Settings>,
    permits: Arc<Semaphore>,
    reading: Arc<Semaphore>,
    circuit: Arc<Circuit>,
    parser: Parser,
}

impl fmt::Debug for Tavily {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tavily").field("endpoint", &net::shown_url(&self.endpoint)).finish_non_exhaustive()
    }
}

impl Tavily {
    /// `parser` reads the pages that come with results.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the base URL is none or no HTTP client can be built.
    pub fn new(settings: Settings, parser: Parser) -> Result<Self, Error> {
        let endpoint = format!("{}/search", settings.base_url.trim_end_matches('/'));
        let endpoint = Url::parse(&endpoint)
            .map_err(|error| Error::Unavailable(format!("TAVILY_BASE_URL is not an address: {error}")))?;
        // The time of an attempt is kept here: waiting for room to read its answer in is not part of it.
        let timeouts = Timeouts { total: None, ..Timeouts::default() };
        let client = net::client(timeouts).map_err(|error| Error::Unavailable(error.to_string()))?;
        let permits = Arc::new(Semaphore::new(settings.max_concurrent.max(1)));
        let reading = Arc::new(Semaphore::new(READ_AT_ONCE));
        let circuit = Arc::new(Circuit::new("tavily", WaitKind::Search));
        Ok(Self { client, endpoint, settings: Arc::new(settings), permits, reading, circuit, parser })
    }

    /// Asks for nothing much, to see whether the service is there and takes the key; costs what a search costs.
    ///
    /// # Errors
    /// As a search.
    pub async fn probe(&self) -> Result<(), Error> {
        self.search("Fathom", &Limits { max_results: 1, max_content_length: 1_000 }, &net::AtOnce).await.map(drop)
    }

    pub(super) async fn search(&self, query: &str, limits: &Limits, caller: &dyn Caller) -> Result<Vec<Hit>, Error> {
        let query = extract::cut(query.trim(), MAX_QUERY_CHARS).to_owned();
        if query.is_empty() {
            return Err(Error::BadQuery("it is empty".into()));
        }
        let body = request(&query, limits.max_results);
        let attempt = || async {
            // Never closed, so this is never an error; without a permit the query would merely go uncounted.
            let rest = caller.gate().rest();
            let _permit = self.permits.acquire().await.ok();
            drop(rest);
            caller.gate().pass().await;
            self.ask_once(&body).await
        };
        match Box::pin(net::retry(&self.circuit, &self.settings.retry, caller, attempt)).await {
            Ok((Answer { body, _permit }, _)) => self.read(body, *limits).await,
            Err(end) => Err(end.error.error),
        }
    }

    /// One attempt. It ends with the last byte of the answer: what is made of it is no reason to ask, and pay, again.
    async fn ask_once(&self, body: &Value) -> Result<Answer<'_>, Problem> {
        let request = self.client.post(self.endpoint.clone()).bearer_auth(self.settings.api_key.expose_secret());
        let response = self.in_time(request.json(body).send()).await?.map_err(Problem::unsent)?;
        let status = response.status().as_u16();
        let retry_after = net::retry_after(response.headers());
        // Never closed, so this is never an error; without a permit the reading would merely go uncounted.
        let permit = self.reading.acquire().await.ok();
        let body = self.in_time(net::read_body(response, self.settings.max_answer_bytes)).await?;
        if status != 200 {
            let said = self.complaint(&body.unwrap_or_default());
            return Err(Problem::of_status(status, retry_after, said));
        }
        let body = body.map_err(|error| match error {
            net::Error::TooLarge { .. } => Problem::lasting(Error::Unavailable(error.to_string())),
            other => Problem::passing(other),
        })?;
        Ok(Answer { body, _permit: permit })
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::time::timeout(self.settings.timeout, work).await.map_err(|_| Problem::slow(self.settings.timeout))
    }

    /// Turns an answer into hits. Its JSON is read on a blocking thread, since it may be megabytes.
    async fn read(&self, body: Vec<u8>, limits: Limits) -> Result<Vec<Hit>, Error> {
        let found = tokio::task::spawn_blocking(move || parse(&body)).await;
        let found = found
            .unwrap_or(Err("its answer could not be read"))
            .map_err(|problem| Error::Unavailable(problem.into()))?;
        let mut hits: Vec<Hit> = Vec::new();
        for found in found {
            if hits.len() == limits.max_results {
                break;
            }
            if let Some(hit) = self.hit(found, limits.max_content_length).await
                && hits.iter().all(|other| other.url != hit.url)
            {
                hits.push(hit);
            }
        }
        Ok(hits)
    }

    /// A result whose page cannot be read keeps its excerpt.
    async fn hit(&self, found: Found, max_content_length: usize) -> Option<Hit> {
        let address = Url::parse(found.url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let url = canonical_url(&found.url);
        let title = extract::one_line(&self.text(&url, found.title).await);
        let title = Some(title).filter(|title| !title.is_empty());
        let raw_content = extract::cut(&self.text(&url, found.raw_content).await, max_content_length).to_owned();
        Some(Hit {
            title: title.or_else(|| address.host_str().map(str::to_owned))?,
            section: None,
            snippet: extract::cut(&self.text(&url, found.content).await, MAX_SNIPPET_CHARS).to_owned(),
            raw_content: Some(raw_content).filter(|content| !content.is_empty()),
            score: found.score,
            published: found.published_date.as_deref().map(extract::one_line).filter(|date| !date.is_empty()),
            engine: "tavily".into(),
            url,
        })
    }

    /// Plain text; none when it cannot be read.
    async fn text(&self, url: &str, text: Option<String>) -> String {
        let Some(text) = text else { return String::new() };
        match self.parser.plain_text(url, &text).await {
            Ok(plain) => plain,
            Err(pages::Error::Unreadable(_)) => String::new(),
            Err(error) => {
                tracing::warn!(page = url, %error, "a page was not read");
                String::new()
            }
        }
    }

    /// What the body of a refusal says, one short line, without the key should it be quoted there.
    fn complaint(&self, body: &[u8]) -> Option<String> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let detail = [&body["detail"]["error"], &body["detail"], &body["error"], &body["message"]]
            .into_iter()
            .find_map(Value::as_str)?;
        let line = extract::one_line(&net::redact(detail, [self.settings.api_key.expose_secret()]));
        (!line.is_empty()).then(|| extract::cut(&line, 200).to_owned())
    }
}

fn request(query: &str, max_results: usize) -> Value {
    json!({
        "query": query,
        "topic": "general",
        "search_depth": "basic",
        "max_results": max_results.clamp(1, MAX_RESULTS),
        "include_raw_content": true,
        "include_answer": false,
        "include_images": false,
    })
}

/// An answer that was received, with the right to read it.
struct Answer<'a> {
    body: Vec<u8>,
    _permit: Option<SemaphorePermit<'a>>,
}

/// A failed attempt and whether another one may do better.
struct Problem {
    error: Error,
    verdict: Verdict,
}

impl Attempt for Problem {
    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn reason(&self) -> String {
        self.error.to_string()
    }
}

impl Problem {
    fn lasting(error: Error) -> Self {
        Self { error, verdict: Verdict::Final }
    }

    fn passing(error: net::Error) -> Self {
        let verdict = Verdict::Again { trouble: Trouble::Away, after: None };
        Self { error: Error::Unavailable(error.to_string()), verdict }
    }

    fn unsent(error: reqwest::Error) -> Self {
        let problem = Self::passing(net::Error::from(&error));
        let slow = Verdict::Again { trouble: Trouble::Slow, after: None };
        if error.is_timeout() && !error.is_connect() { Self { verdict: slow, ..problem } } else { problem }
    }

    fn slow(limit: Duration) -> Self {
        let error = Error::Unavailable(format!("no answer within {} s", limit.as_secs()));
        Self { error, verdict: Verdict::Again { trouble: Trouble::Slow, after: None } }
    }

    /// Status codes as Tavily's reference lists them (2026-07): 432 the plan's limit, 433 the pay-as-you-go limit.
    fn of_status(status: u16, after: Option<Duration>, said: Option<String>) -> Self {
        let text = match said {
            Some(said) => format!("{said} (status {status})"),
            None => format!("status {status}"),
        };
        let again = |trouble| Verdict::Again { trouble, after };
        match status {
            401 | 403 => Self::lasting(Error::Auth(text)),
            402 | 432 | 433 => Self::lasting(Error::Auth(format!("the plan's credits are used up: {text}"))),
            429 => Self { error: Error::RateLimited { retry_after: after }, verdict: again(Trouble::Limited) },
            500 => Self { error: Error::Unavailable(text), verdict: again(Trouble::Failing) },
            408 | 425 | 501..=599 => Self { error: Error::Unavailable(text), verdict: again(Trouble::Away) },
            400 | 413 | 414 | 422 => Self::lasting(Error::BadQuery(text)),
            _ => Self::lasting(Error::Unavailable(text)),
        }
    }
}

/// A result as Tavily sends it; what is missing or of another kind than documented is none.
#[derive(Debug, PartialEq)]
struct Found {
    url: String,
    title: Option<String>,
    content: Option<String>,
    raw_content: Option<String>,
    published_date: Option<String>,
    score: Option<f64>,
}

/// The results of an answer, those without an address left out.
fn parse(body: &[u8]) -> Result<Vec<Found>, &'static str> {
    /// Nothing else is kept of the answer, whatever else it holds.
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        results: Option<&'a RawValue>,
    }
    let answer: Answer<'_> = serde_json::from_slice(body).map_err(|_| "its answer is not JSON")?;
    let results = answer.results.ok_or("its answer has no results")?;
    let results: Vec<&RawValue> = serde_json::from_str(results.get()).map_err(|_| "its answer has no results")?;
    Ok(results.into_iter().take(MAX_LOOKED_AT).filter_map(found).collect())
}

fn found(result: &RawValue) -> Option<Found> {
    let fields: HashMap<String, &RawValue> = serde_json::from_str(result.get()).ok()?;
    let text = |name: &str| fields.get(name).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
    Some(Found {
        url: text("url")?,
        title: text("title"),
        content: text("content"),
        raw_content: text("raw_content"),
        published_date: text("published_date"),
        score: fields.get("score").and_then(|value| serde_json::from_str(value.get()).ok()),
    })
}

/// For the fuzz targets (docs/fuzzing.md); not part of any other build.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub fn answer(body: &[u8]) {
        let _ = super::parse(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn results_survive_missing_and_odd_fields() {
        let answer = json!({"results": [
            {"title": "No address"},
            {"url": 7},
            "no result",
            {"url": "javascript:alert(1)", "title": "No page"},
            {"url": "https://Example.com/a?utm_source=t", "title": " ", "content": null, "raw_content": " \n", "score": "high"},
            {"url": "https://example.com/a#again", "title": "Twice"},
            {"url": "https://example.com/b", "title": "B\n b", "content": "plain",
             "raw_content": "# B\n\nText", "score": 0.5, "published_date": "Mon, 10 Mar 2031", "more": [[{}]]},
        ]});
        let tavily = Tavily::new(Settings::new(SecretString::from("key")), Parser::new(Default::default())).unwrap();
        let limits = Limits { max_results: 5, max_content_length: 6 };
        let hits = tavily.read(answer.to_string().into_bytes(), limits).await.unwrap();
        let expected = [
            Hit {
                url: "https://example.com/a".into(),
                title: "example.com".into(),
                section: None,
                snippet: String::new(),
                raw_content: None,
                score: None,
                published: None,
                engine: "tavily".into(),
            },
            Hit {
                url: "https://example.com/b".into(),
                title: "B b".into(),
                section: None,
                snippet: "plain".into(),
                raw_content: Some("# B".into()),
                score: Some(0.5),
                published: Some("Mon, 10 Mar 2031".into()),
                engine: "tavily".into(),
            },
        ];
        assert_eq!(hits, expected);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let check = |body: &str, expected: &str| assert_eq!(parse(body.as_bytes()).unwrap_err(), expected, "{body}");
        check("<html>", "its answer is not JSON");
        check("{}", "its answer has no results");
        check(r#"{"results": null}"#, "its answer has no results");
        check(r#"{"results": {"url": "https://example.com"}}"#, "its answer has no results");
        check(&format!(r#"{{"results": {}"#, "[".repeat(1_000_000)), "its answer is not JSON");
        assert_eq!(parse(br#"{"results": []}"#).unwrap(), []);
    }

    #[test]
    fn a_key_is_never_shown() {
        let settings = Settings::new(SecretString::from("tvly-secret"));
        assert!(!format!("{settings:?}").contains("tvly-secret"));
        let settings = Settings { base_url: "https://me:pa55@tavily.test".into(), ..settings };
        let tavily = Tavily::new(settings, Parser::new(Default::default())).unwrap();
        let shown = format!("{tavily:?}");
        assert!(!shown.contains("tvly-secret") && !shown.contains("pa55") && shown.contains("tavily.test"), "{shown}");
        let said = tavily.complaint(br#"{"detail":{"error":"key tvly-secret is unknown"}}"#);
        assert_eq!(said.as_deref(), Some("key (hidden) is unknown"));
    }
}
