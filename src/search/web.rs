//! What all engines on the web share: the client with its limits and retries, and the way from an answer to hits.
//!
//! An engine says how a query becomes a request and how an answer is read ([`Wire`]), both without a network. A result
//! without an address is left out; every other missing field is tolerated.

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use reqwest::{
    Method,
    header::{HeaderMap, WWW_AUTHENTICATE},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use time::OffsetDateTime;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout_at,
};
use url::Url;

pub use super::objects::{Object, objects, objects_if_any};
use super::{
    Error, Filter, Hit, Limits, Results, Row, Search, Settings,
    markup::{author, unmarked},
    objects::{MAX_LOOKED_AT, beginning},
    pace::Pace,
};
use crate::{
    aside::aside,
    domain::WaitKind,
    net::{self, ApiClients, Attempt, CallContext, Circuit, RetryAdvice, Trouble, canonical_url, without_last_slash},
    pages::{self, Parser, extract},
};

/// The longest excerpt; more is a page.
const MAX_SNIPPET_CHARS: usize = 4_000;
/// Answers of one engine read at the same time, from the body to its texts, over all runs: each is large. Others wait
/// in the network's buffers.
const READ_AT_ONCE: usize = 32;
/// Characters of a page that stand in for an excerpt.
const EXCERPT_CHARS: usize = 300;
/// How many times the results are asked for of an engine that cannot restrict all sites itself.
const SIFTED: usize = 4;
/// A longer wait that an engine asks for is not begun.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The time of one attempt at a search by a model, and how many may end without an answer: each may be billed.
const MODEL_TIMEOUT: Duration = Duration::from_secs(180);
const MODEL_TIMEOUTS: u32 = 2;
/// Characters of what an engine says about a refusal.
const MAX_COMPLAINT_CHARS: usize = 200;
/// Where engines say what is wrong (JSON pointers).
const COMPLAINTS: [&str; 10] = [
    "/detail/error",
    "/detail",
    "/error/message",
    "/error/detail",
    "/error",
    "/message",
    "/error/0/message",
    "/error_message",
    "/errMsg",
    "/readableMessage",
];
/// The same in answers that have results otherwise.
const ERRORS: [&str; 4] = ["/error/message", "/error/detail", "/error", "/error/0/message"];
/// Where they name it in a word, with a space between two places.
const CODES: &str = "/code /detail/code /error/code /error/type /error/status /error/0/code /error_name /name /tag";
/// The words of a refusal that is of the key, or of what its account may do.
const OF_KEYS: &str = "account apikey authentication billing credential credentials key keys permission plan \
                       subscription token tokens unauthenticated unauthorized";

/// What engines are built from.
#[derive(Clone, Debug)]
pub struct Shared {
    pub settings: Settings,
    /// Reads the pages that come with results.
    pub parser: Parser,
    pub clients: ApiClients,
}

/// How one engine is spoken to: one request for each query, and no second page of results.
pub trait Wire: Send + Sync + 'static {
    /// Returns the request for a query, which is neither empty nor longer than the row says.
    fn request(&self, query: &str, limits: &Limits) -> Request;

    /// Returns the results of an answer with status 200. Called on a blocking thread, since answers may be megabytes.
    ///
    /// # Errors
    /// What is wrong with it; what the engine says may stand in it as it came.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error>;

    /// Returns what an answer with another status means, where that differs from what is usual.
    fn refusal(&self, _refused: &Refused<'_>) -> Option<Problem> {
        None
    }

    /// Returns whether that is the engine's way of saying that there is nothing to be found.
    fn is_empty(&self, _refused: &Refused<'_>) -> bool {
        false
    }

    /// Returns how long the engine asks not to be asked again, in an answer with results.
    fn pause(&self, _body: &[u8]) -> Option<Duration> {
        None
    }
}

/// A request, not sent yet.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(&'static str, SecretString)>,
    pub json: Option<Value>,
}

impl Request {
    /// Returns a question whose parameters stand in the address.
    pub fn get(mut url: Url, query: &[(&str, &str)]) -> Self {
        url.query_pairs_mut().extend_pairs(query);
        Self { method: Method::GET, url, headers: Vec::new(), json: None }
    }

    pub fn post(url: Url, json: Value) -> Self {
        Self { method: Method::POST, url, headers: Vec::new(), json: Some(json) }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<SecretString>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds authorization by a key.
    pub fn bearer(self, key: &SecretString) -> Self {
        let value = format!("Bearer {}", key.expose_secret());
        self.header("authorization", value)
    }
}

/// A result as an engine sends it; texts may be HTML.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawHit {
    pub url: String,
    pub title: Option<String>,
    /// An excerpt.
    pub snippet: Option<String>,
    /// The page's text.
    pub content: Option<String>,
    pub published: Option<String>,
    pub author: Option<String>,
    pub score: Option<f64>,
}

/// An answer with a status other than 200.
#[derive(Debug)]
pub struct Refused<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: &'a Value,
    /// The body is a web page: of a firewall, most likely, and not of the engine.
    pub is_page: bool,
    /// The wait that the engine asked for.
    pub after: Option<Duration>,
    /// The status, and what the engine said, one short line without keys.
    pub said: &'a str,
}

impl Refused<'_> {
    /// Returns the text at that place of the body (a JSON pointer).
    pub fn text(&self, place: &str) -> &str {
        self.body.pointer(place).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the engine says that it is the key which is wrong, or what its account may do.
    fn is_of_key(&self) -> bool {
        let is_of_key = |said: &str| {
            said.split(|letter: char| !letter.is_alphanumeric())
                .any(|word| OF_KEYS.split(' ').any(|known| word.eq_ignore_ascii_case(known)))
        };
        self.headers.contains_key(WWW_AUTHENTICATE)
            || COMPLAINTS.into_iter().chain(CODES.split(' ')).any(|place| is_of_key(self.text(place)))
    }

    /// Returns the number that begins this header.
    pub fn number(&self, header: &str) -> Option<f64> {
        let text = self.headers.get(header)?.to_str().ok()?;
        text.split(',').next()?.trim().parse().ok()
    }

    /// Returns a rate limit whose header says when it ends, in seconds since 1970, unless it says how long to wait.
    pub fn limited_until(&self, header: &str) -> Problem {
        let now = OffsetDateTime::now_utc().unix_timestamp() as f64;
        let until = || net::asked_wait((self.number(header)? - now).max(0.0));
        Problem::limited(self.after.or_else(until))
    }
}

/// An engine on the web.
pub struct Web<W> {
    row: &'static Row,
    wire: Arc<W>,
    pub(super) clients: ApiClients,
    settings: Settings,
    permits: Semaphore,
    reading: Semaphore,
    pace: Pace,
    circuit: Circuit,
    parser: Parser,
}

impl<W> fmt::Debug for Web<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Web").field("name", &self.row.name).finish_non_exhaustive()
    }
}

impl<W: Wire> Search for Web<W> {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.ask(query, limits, caller))
    }

    fn place(&self) -> String {
        let url = self.wire.request("", &Limits::default()).url;
        net::shown_url(&url)
    }

    fn is_away(&self) -> bool {
        self.is_waiting()
    }
}

impl<W: Wire> Web<W> {
    /// Returns an engine that has one address and cannot do without its key. One is built once that is given.
    ///
    /// # Errors
    /// As [`Settings::endpoint`].
    pub fn keyed(
        row: &'static Row,
        shared: &Shared,
        path: &str,
        wire: impl FnOnce(Url, SecretString) -> W,
    ) -> Result<Box<dyn Search>, Error> {
        Self::open(row, shared, path, |endpoint, key| wire(endpoint, key.unwrap_or_default()))
    }

    /// Returns an engine that has one address and needs no key.
    ///
    /// # Errors
    /// As [`Settings::endpoint`].
    pub fn open(
        row: &'static Row,
        shared: &Shared,
        path: &str,
        wire: impl FnOnce(Url, Option<SecretString>) -> W,
    ) -> Result<Box<dyn Search>, Error> {
        let endpoint = shared.settings.endpoint(row, path)?;
        Ok(Self::boxed(row, wire(endpoint, shared.settings.key_of(row).cloned()), shared))
    }

    pub fn boxed(row: &'static Row, wire: W, shared: &Shared) -> Box<dyn Search> {
        Box::new(Self::new(row, wire, shared))
    }

    pub(super) fn new(row: &'static Row, wire: W, shared: &Shared) -> Self {
        let mut settings = shared.settings.clone();
        if row.by_model {
            settings.timeout = settings.timeout.max(MODEL_TIMEOUT);
            settings.retry.timeouts = settings.retry.timeouts.min(MODEL_TIMEOUTS);
        }
        Self {
            row,
            wire: Arc::new(wire),
            clients: shared.clients.clone(),
            permits: Semaphore::new(shared.settings.max_concurrent.min(row.at_once.unwrap_or(usize::MAX)).max(1)),
            reading: Semaphore::new(READ_AT_ONCE),
            pace: Pace::new(row.every),
            circuit: Circuit::new(row.name, WaitKind::Search),
            parser: shared.parser.clone(),
            settings,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.circuit.is_waiting()
    }

    pub(super) fn wire(&self) -> &W {
        &self.wire
    }

    async fn ask(&self, query: &str, limits: &Limits, caller: &dyn CallContext) -> Result<Vec<Hit>, Error> {
        let request = self.asks(query, limits)?;
        let Some(Answer { body, _permit }) = self.answer(&request, caller).await? else { return Ok(Vec::new()) };
        let read = move |wire: &W| {
            let found = wire.read(&body);
            let is_nothing = found.as_ref().map_or(true, Vec::is_empty);
            (found, is_nothing.then(|| beginning(&body)).flatten())
        };
        let found = match self.found(move |wire| Ok(read(wire))).await? {
            (Err(error), answer) => return Err(self.explained(error, &answer.unwrap_or_default())),
            // What failed is not for nothing to be found.
            (Ok(_), Some(answer)) if let Some(said) = self.said(&ERRORS, &answer) => {
                return Err(Error::Unavailable(said));
            }
            (Ok(found), _) => found,
        };
        Ok(self.hits(found, limits, caller).await)
    }

    /// Returns the error with what the engine says in an answer of status 200 that has no results. What its [`Wire`]
    /// took from there is one short line without keys afterwards.
    pub(super) fn explained(&self, error: Error, answer: &Value) -> Error {
        let error = match error {
            Error::Auth(said) => Error::Auth(self.line(&said)),
            Error::Quota(said) => Error::Quota(self.line(&said)),
            Error::BadQuery(said) => Error::BadQuery(self.line(&said)),
            Error::Unavailable(said) => Error::Unavailable(self.line(&said)),
            other @ (Error::RateLimited { .. } | Error::Documents(_)) => other,
        };
        match (error, self.complaint(answer)) {
            (Error::Unavailable(problem), Some(said)) if !problem.contains(&said) => {
                Error::Unavailable(format!("{problem}: {said}"))
            }
            (error, _) => error,
        }
    }

    /// Returns the request for a query.
    ///
    /// # Errors
    /// [`Error::BadQuery`] when it is empty, or longer than the engine takes: the model that wrote it knows best what
    /// of it can go.
    pub(super) fn asks(&self, query: &str, limits: &Limits) -> Result<Request, Error> {
        let query = query.trim();
        if query.is_empty() {
            return Err(Error::BadQuery("it is empty".into()));
        }
        let (chars, words) = (query.chars().count(), query.split_whitespace().count());
        for (what, count, most) in
            [("characters", chars, self.row.max_query_chars), ("words", words, self.row.max_query_words)]
        {
            if count > most {
                let detail =
                    format!("it has {count} {what}, and {} takes {most} at most; ask in fewer words", self.row.name);
                return Err(Error::BadQuery(detail));
            }
        }
        let (query, limits) = self.asked(query, limits);
        Ok(self.wire.request(&query, &limits))
    }

    /// Makes a request until it is answered or must be given up; `None` when nothing is to be found.
    pub(super) async fn answer(
        &self,
        request: &Request,
        caller: &dyn CallContext,
    ) -> Result<Option<Answer<'_>>, Error> {
        let attempt = || async {
            let _permit = self.turn(caller).await?;
            caller.gate().pass().await;
            self.ask_once(request).await
        };
        let done = Box::pin(net::retry(&self.circuit, &self.settings.retry, caller, attempt)).await;
        done.map(|(answer, _)| answer).map_err(|end| end.error.error)
    }

    /// Waits until the engine may be asked once more.
    ///
    /// # Errors
    /// The caller's time ends before it. Nobody was asked, so this says nothing of the engine.
    async fn turn(&self, caller: &dyn CallContext) -> Result<Option<SemaphorePermit<'_>>, Problem> {
        let _rest = caller.gate().rest();
        let turn = async {
            // Never closed, so this is never an error; without a permit the query would merely go uncounted.
            let permit = self.permits.acquire().await.ok();
            self.pace.wait().await;
            permit
        };
        let Some(ends) = caller.ends() else { return Ok(turn.await) };
        timeout_at(ends, turn).await.map_err(|_| Problem::crowded(self.row.name))
    }

    /// Returns what is asked for: the query, with its sites where the engine takes them as words of it, and more
    /// results than are wanted where those of other sites are thrown away afterwards.
    fn asked(&self, query: &str, limits: &Limits) -> (String, Limits) {
        let filters = &limits.filters;
        let (query, is_restricted) = if self.row.sites_in_query {
            filters.with_sites(query, self.row)
        } else {
            (query.to_owned(), !filters.has_domains() || self.row.filters.contains(&Filter::Domains))
        };
        let times = if is_restricted { 1 } else { SIFTED };
        (query, Limits { max_results: limits.max_results * times, ..limits.clone() })
    }

    /// Makes one attempt; `None` when nothing is to be found. It ends with the last byte of the answer: what is made of
    /// it is no reason to ask, and pay, again.
    async fn ask_once(&self, request: &Request) -> Result<Option<Answer<'_>>, Problem> {
        let response = self.in_time(self.send(request)).await?.map_err(Problem::unsent)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // Never closed, so this is never an error; without a permit the reading would merely go uncounted.
        let permit = self.reading.acquire().await.ok();
        let body = self.in_time(net::read_body(response, self.settings.max_answer_bytes)).await?;
        let body = body.map(net::body_without_mark).map(net::surrogates::repair_body);
        if status != 200 {
            return self.refused(status, &headers, &body.unwrap_or_default()).map_or(Ok(None), Err);
        }
        let body = body.map_err(|error| match error {
            net::Error::TooLarge { .. } => Problem::lasting(Error::Unavailable(error.to_string())),
            net::Error::Garbled(problem) => Problem::passing(Error::Unavailable(problem), Trouble::Unreadable, None),
            other => Problem::broken_off(other),
        })?;
        if let Some(pause) = self.wire.pause(&body) {
            self.pace.hold(pause.min(LONGEST_PAUSE));
        }
        Ok(Some(Answer { body, _permit: permit }))
    }

    async fn send(&self, request: &Request) -> reqwest::Result<reqwest::Response> {
        let http = self.clients.for_url(&request.url);
        let mut builder = http.request(request.method.clone(), request.url.clone());
        for (name, value) in &request.headers {
            builder = builder.header(*name, value.expose_secret());
        }
        match &request.json {
            Some(json) => builder.json(json).send().await,
            None => builder.send().await,
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::time::timeout(self.settings.timeout, work).await.map_err(|_| Problem::slow(self.settings.timeout))
    }

    /// Reads a refusal; `None` when it only says that nothing is to be found.
    fn refused(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Option<Problem> {
        let is_page = body.trim_ascii_start().starts_with(b"<");
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let said = match self.complaint(&body) {
            Some(said) => format!("{said} (status {status})"),
            None if (300..400).contains(&status) => format!("it is at another address now (status {status})"),
            None => format!("status {status}"),
        };
        let after = net::retry_after(headers);
        let refused = Refused { status, headers, body: &body, is_page, after, said: &said };
        if self.wire.is_empty(&refused) {
            return None;
        }
        Some(self.wire.refusal(&refused).unwrap_or_else(|| self.usual(&refused)))
    }

    /// Returns what a refusal means for most engines. A 403 without a word of keys is of somebody before the engine.
    fn usual(&self, refused: &Refused<'_>) -> Problem {
        let is_of_key = || refused.is_of_key() || (self.row.forbids_wrong_keys && !refused.is_page);
        match refused.status {
            403 if !is_of_key() => Problem::blocked(refused),
            // Nobody was asked for a key.
            401 | 403 if self.secrets().next().is_none() => {
                Problem::lasting(Error::Unavailable(refused.said.to_owned()))
            }
            _ => Problem::of_status(refused),
        }
    }

    /// Returns the keys that are set.
    fn secrets(&self) -> impl Iterator<Item = &str> {
        self.row.keys().filter_map(|setting| self.settings.text(setting.key))
    }

    /// Returns what the body of a refusal says, as [`Self::line`] does.
    fn complaint(&self, body: &Value) -> Option<String> {
        self.said(&COMPLAINTS, body)
    }

    /// Returns the first text at one of these places of a body, as [`Self::complaint`] does.
    fn said(&self, places: &[&str], body: &Value) -> Option<String> {
        let detail = places.iter().find_map(|place| body.pointer(place)?.as_str())?;
        Some(self.line(detail)).filter(|line| !line.is_empty())
    }

    /// Returns one short line without the engine's keys, and the secrets of its addresses, should they be quoted there.
    fn line(&self, detail: &str) -> String {
        let addresses = self.row.addresses().filter_map(|setting| self.settings.text(setting.key));
        let of_addresses: Vec<String> = addresses.flat_map(net::secrets_of_address).collect();
        let long = of_addresses.iter().map(String::as_str).filter(|secret| secret.len() >= net::MIN_SECRET_BYTES);
        let line = extract::one_line(&net::redact(detail, self.secrets().chain(long)));
        extract::cut(&line, MAX_COMPLAINT_CHARS).to_owned()
    }

    /// Reads answers off the runtime's threads.
    pub(super) async fn found<T: Send + 'static>(
        &self,
        read: impl FnOnce(&W) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let wire = Arc::clone(&self.wire);
        aside(move || read(&wire)).await.unwrap_or_else(|_| Err(Error::unreadable("its answer could not be read")))
    }

    /// Returns the results that are wanted. The caller learns of texts for which no parser was free.
    pub(super) async fn hits(&self, found: Vec<RawHit>, limits: &Limits, caller: &dyn CallContext) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut addresses = HashSet::new();
        let unparsed = AtomicUsize::new(0);
        for found in found.into_iter().take(MAX_LOOKED_AT) {
            if hits.len() == limits.max_results {
                break;
            }
            if let Some(hit) = self.hit(found, &unparsed).await.and_then(Hit::bounded)
                && limits.filters.allow(&hit)
                && addresses.insert(without_last_slash(&hit.url))
            {
                hits.push(hit);
            }
        }
        match unparsed.into_inner() {
            0 => {}
            texts => caller.unparsed(&format!("{texts} texts of {}", self.row.name)),
        }
        hits
    }

    /// Returns a result with the text of its page; one whose page cannot be read keeps its excerpt.
    async fn hit(&self, found: RawHit, unparsed: &AtomicUsize) -> Option<Hit> {
        let address = Url::parse(found.url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let url = canonical_url(&found.url);
        let title = extract::one_line(&unmarked(&self.text(&url, found.title, unparsed).await));
        let title = Some(title).filter(|title| !title.is_empty());
        let raw_content = extract::cut(&self.text(&url, found.content, unparsed).await, pages::KEPT_CHARS).to_owned();
        let snippet = extract::tidied(&unmarked(&self.text(&url, found.snippet, unparsed).await));
        let snippet = if snippet.is_empty() { extract::cut(&raw_content, EXCERPT_CHARS) } else { &snippet };
        Some(Hit {
            title: title.or_else(|| address.host_str().map(str::to_owned))?,
            section: None,
            snippet: extract::cut(snippet, MAX_SNIPPET_CHARS).to_owned(),
            raw_content: Some(raw_content).filter(|content| !content.is_empty()),
            score: found.score,
            published: found.published.as_deref().map(extract::one_line).filter(|date| !date.is_empty()),
            engine: self.row.name.into(),
            about: super::About { author: found.author.as_deref().and_then(author), ..super::About::default() },
            url,
        })
    }

    /// Returns plain text; none when it cannot be read. Counts what was not, since no parser was free.
    async fn text(&self, url: &str, text: Option<String>, unparsed: &AtomicUsize) -> String {
        let Some(text) = text else { return String::new() };
        match self.parser.plain_text(url, &text).await {
            Ok(plain) => plain,
            Err(pages::Error::Unreadable(_) | pages::Error::Unfinished(_)) => String::new(),
            Err(pages::Error::Busy { .. }) => {
                unparsed.fetch_add(1, Ordering::Relaxed);
                String::new()
            }
            Err(error) => {
                tracing::warn!(page = %net::shown_name(url), %error, "a page was not read");
                String::new()
            }
        }
    }
}

/// An answer that was received, with the right to read it.
pub(super) struct Answer<'a> {
    pub(super) body: Vec<u8>,
    pub(super) _permit: Option<SemaphorePermit<'a>>,
}

/// A failed attempt and whether another one may do better.
#[derive(Debug)]
pub struct Problem {
    error: Error,
    advice: RetryAdvice,
}

impl Attempt for Problem {
    fn advice(&self) -> RetryAdvice {
        self.advice
    }

    fn reason(&self) -> String {
        self.error.to_string()
    }
}

impl Problem {
    /// Creates a problem that lasts: asking again would end in the same way.
    pub fn lasting(error: Error) -> Self {
        Self { error, advice: RetryAdvice::Final }
    }

    fn passing(error: Error, trouble: Trouble, after: Option<Duration>) -> Self {
        Self { error, advice: RetryAdvice::Again { trouble, after } }
    }

    /// Creates a problem of too many queries, which is waited for.
    pub fn limited(after: Option<Duration>) -> Self {
        Self::passing(Error::RateLimited { retry_after: after }, Trouble::Limited, after)
    }

    /// Creates a problem of a key that cannot pay for the query.
    pub fn unpaid(said: &str) -> Self {
        Self::lasting(Error::Quota(said.to_owned()))
    }

    /// Creates the problem of a request that a firewall before the engine turned away.
    fn blocked(refused: &Refused<'_>) -> Self {
        Self::passing(Error::Unavailable(refused.said.to_owned()), Trouble::Blocked, refused.after)
    }

    fn broken_off(error: net::Error) -> Self {
        Self::passing(Error::Unavailable(error.to_string()), Trouble::Away, None)
    }

    fn unsent(error: reqwest::Error) -> Self {
        // All else of a request is of our own making.
        if error.is_builder() {
            return Self::lasting(Error::Auth("it has characters that no HTTP header may have".to_owned()));
        }
        let trouble = if error.is_timeout() && !error.is_connect() { Trouble::Slow } else { Trouble::Away };
        Self::passing(Error::Unavailable(net::Error::from(&error).to_string()), trouble, None)
    }

    fn slow(limit: Duration) -> Self {
        Self::passing(Error::Unavailable(format!("no answer within {} s", limit.as_secs())), Trouble::Slow, None)
    }

    fn crowded(engine: &str) -> Self {
        Self::passing(Error::Unavailable(format!("too many searches wait for {engine}")), Trouble::Slow, None)
    }

    /// Returns what status codes mean for most engines.
    fn of_status(refused: &Refused<'_>) -> Self {
        let (said, after) = (refused.said.to_owned(), refused.after);
        match refused.status {
            401 | 403 => Self::lasting(Error::Auth(said)),
            402 => Self::unpaid(&said),
            429 => Self::limited(after),
            500 => Self::passing(Error::Unavailable(said), Trouble::Failing, after),
            408 | 425 | 501..=599 => Self::passing(Error::Unavailable(said), Trouble::Away, after),
            400 | 413 | 414 | 422 => Self::lasting(Error::BadQuery(said)),
            _ => Self::lasting(Error::Unavailable(said)),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::{net::TcpListener, time::Instant};

    use super::*;
    use crate::net::{Timeouts, Wait};

    static ROW: Row = Row { name: "rare", every: Duration::from_secs(30), ..Row::WEB };

    /// Asks there, with a key.
    struct At(String);

    impl Wire for At {
        fn request(&self, _: &str, _: &Limits) -> Request {
            Request::get(Url::parse(&self.0).unwrap(), &[]).header("x-api-key", "s3cret")
        }

        fn read(&self, _: &[u8]) -> Result<Vec<RawHit>, Error> {
            Ok(Vec::new())
        }
    }

    fn web(address: String) -> Web<At> {
        let (settings, parser) = (Settings::default(), Parser::new(pages::Settings::default()));
        Web::new(
            &ROW,
            At(address),
            &Shared { settings, parser, clients: ApiClients::new(Timeouts::default()).unwrap() },
        )
    }

    /// Has time until then.
    struct Until(Instant);

    impl CallContext for Until {
        fn waiting(&self, _: Wait) {}

        fn ends(&self) -> Option<Instant> {
            Some(self.0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_turn_is_waited_for_beyond_the_callers_time() {
        let web = web("http://127.0.0.1:1/".to_owned());
        web.pace.wait().await;
        let (begun, time) = (Instant::now(), Duration::from_secs(5));
        let error = web.ask("pumps", &Limits::default(), &Until(begun + time)).await.unwrap_err();
        assert_eq!(error, Error::Unavailable("too many searches wait for rare".to_owned()));
        assert_eq!(begun.elapsed().as_secs(), time.as_secs());
    }

    #[tokio::test]
    async fn what_an_engine_says_is_one_short_line() {
        let web = web("http://127.0.0.1:1/".to_owned());
        for error in [Error::Auth, Error::Quota, Error::BadQuery, Error::Unavailable] {
            let said = web.explained(error("no\n".repeat(500)), &Value::Null).to_string();
            assert!(!said.contains('\n') && said.chars().count() < MAX_COMPLAINT_CHARS + 60, "{said}");
        }
    }

    #[tokio::test]
    async fn a_key_that_no_header_may_have_is_not_sent_again() {
        let clients = ApiClients::new(Timeouts::default()).unwrap();
        let request = clients.direct().get("http://127.0.0.1:1/").header("x-api-key", "s3c\nret");
        let problem = Problem::unsent(request.build().unwrap_err());
        assert!(matches!(problem.error, Error::Auth(_)), "{:?}", problem.error);
        assert_eq!(problem.advice, RetryAdvice::Final);
    }

    #[tokio::test]
    async fn a_redirect_takes_no_key_elsewhere() {
        let [listener, elsewhere] = [TcpListener::bind("127.0.0.1:0").await, TcpListener::bind("127.0.0.1:0").await];
        let (listener, elsewhere) = (listener.unwrap(), elsewhere.unwrap());
        let to = elsewhere.local_addr().unwrap();
        let answer = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = stream.read(&mut [0; 4096]).await.unwrap();
            let found =
                format!("HTTP/1.1 302 Found\r\nLocation: http://localhost:{}/\r\nContent-Length: 0\r\n\r\n", to.port());
            stream.write_all(found.as_bytes()).await.unwrap();
            asked
        };
        let web = web(format!("http://{}/", listener.local_addr().unwrap()));
        let (limits, caller) = (Limits::default(), net::Open);
        let taken = async { elsewhere.accept().await.map(drop) };
        tokio::select! {
            taken = taken => panic!("it was asked: {taken:?}"),
            (asked, _) = futures::future::join(web.ask("pumps", &limits, &caller), answer) => {
                let error = asked.unwrap_err().to_string();
                assert!(error.contains("at another address now (status 302)"), "{error}");
            }
        }
        assert!(elsewhere.accept().now_or_never().is_none());
    }
}
