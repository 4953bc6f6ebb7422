//! What engines share that are models with a search of their vendor's: one call for each query, its results and
//! citations read into hits, and what it took reported to the caller.
//!
//! A model that is asked to search on the way of a conversation could do the same; but then each later call would have
//! to carry the vendor's own blocks, and a search would be no step of the journal. So it is one more engine: the text
//! that the model writes is thrown away, and the pages are read like those of any engine that sends excerpts.

use std::{fmt, time::Duration};

use futures::future::{BoxFuture, FutureExt as _, join_all};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::{
    Error, Filter, Hit, Limits, Results, Row, Search, Setting, Value as Kind,
    web::{Answer, Problem, RawHit, Refused, Request, Shared, Web, Wire},
};
use crate::{
    domain::{ModelName, Usage},
    net::{self, CallContext},
};

/// Answers that are put together when a vendor pauses in the middle of one.
const MAX_PARTS: usize = 5;
/// The time for looking up the addresses behind a vendor's own.
const REDIRECT_TIME: Duration = Duration::from_secs(10);
/// Addresses of one answer that are looked up.
const MAX_REDIRECTS: usize = 20;
/// Tokens of an answer, which is thrown away but for what it cites; thoughts count too.
pub const MAX_OUTPUT: u32 = 4_096;
/// Sites that one search may be restricted to, by the vendors' references (2026-11).
pub const MAX_DOMAINS: usize = 100;

/// How one vendor's search is spoken to.
pub trait Native: Wire {
    fn model(&self) -> &ModelName;

    /// Returns what one answer took.
    fn usage(&self, body: &Value) -> Usage;

    /// Returns the request by which an answer goes on that the vendor has paused.
    fn next(&self, _request: &Request, _body: &Value) -> Option<Request> {
        None
    }

    /// Returns the results of an answer and of its continuations.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read_all(&self, bodies: &[Value]) -> Result<Vec<RawHit>, Error>;

    /// Returns whether it is an address of the vendor's that leads to the page's own.
    fn is_redirect(&self, _url: &Url) -> bool {
        false
    }
}

/// A model that searches.
pub struct Searcher<W> {
    web: Web<W>,
}

impl<W> fmt::Debug for Searcher<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.web.fmt(formatter)
    }
}

impl<W: Native> Search for Searcher<W> {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.ask(query, limits, caller))
    }

    fn place(&self) -> String {
        self.web.place()
    }

    fn is_away(&self) -> bool {
        self.web.is_waiting()
    }

    fn model(&self) -> Option<&ModelName> {
        Some(self.web.wire().model())
    }
}

impl<W: Native> Searcher<W> {
    pub fn boxed(row: &'static Row, wire: W, shared: &Shared) -> Box<dyn Search> {
        Box::new(Self { web: Web::new(row, wire, shared) })
    }

    async fn ask(&self, query: &str, limits: &Limits, caller: &dyn CallContext) -> Result<Vec<Hit>, Error> {
        let mut request = Some(self.web.asks(query, limits)?);
        let mut bodies: Vec<Value> = Vec::new();
        while let Some(next) = request.take().filter(|_| bodies.len() < MAX_PARTS) {
            let Some(Answer { body, _permit }) = self.web.answer(&next, caller).await? else { break };
            let (body, usage) = self
                .web
                .found(move |wire| {
                    let body = json(&body)?;
                    let usage = wire.usage(&body);
                    Ok((body, usage))
                })
                .await?;
            caller.billed(&usage.believed());
            request = self.web.wire().next(&next, &body);
            bodies.push(body);
        }
        let read = move |wire: &W| {
            let found = wire.read_all(&bodies);
            Ok((found, bodies.pop().unwrap_or_default()))
        };
        let (found, answer) = self.web.found(read).await?;
        let found = found.map_err(|error| self.web.explained(error, &answer))?;
        let found = self.resolved(found).await?;
        Ok(self.web.hits(found, limits, caller).await)
    }

    /// Returns the results under the addresses of their pages; without those whose address the vendor does not tell.
    async fn resolved(&self, found: Vec<RawHit>) -> Result<Vec<RawHit>, Error> {
        let count = found.len();
        let looked_up = found.into_iter().take(MAX_REDIRECTS).map(|found| self.at_its_address(found));
        let resolved: Vec<RawHit> = join_all(looked_up).await.into_iter().flatten().collect();
        if resolved.is_empty() && count > 0 {
            return Err(Error::unreadable("the addresses of its results lead nowhere"));
        }
        Ok(resolved)
    }

    fn at_its_address(&self, found: RawHit) -> BoxFuture<'_, Option<RawHit>> {
        async move {
            let url = Url::parse(&found.url).ok()?;
            if !self.web.wire().is_redirect(&url) {
                return Some(found);
            }
            let request = self.web.clients.for_url(&url).head(url.clone()).send();
            let response = timeout(REDIRECT_TIME, request).await.ok()?.ok()?;
            let location = response.headers().get("location")?.to_str().ok()?;
            let target = url.join(location).ok().filter(|target| !self.web.wire().is_redirect(target))?;
            Some(RawHit { url: target.into(), ..found })
        }
        .boxed()
    }
}

/// What the rows of such engines have in common.
pub const ROW: Row =
    Row { by_model: true, max_query_chars: 2_000, filters: &[Filter::Domains, Filter::Country], ..Row::WEB };

/// Returns the model that searches, with that default.
pub const fn model_setting(key: &'static str, variable: &'static str, default: &'static str) -> Setting {
    Setting { value: Kind::Text, meaning: "the model that searches", ..Setting::address(key, variable, default) }
}

/// What each such engine asks with.
pub struct Access {
    pub endpoint: Url,
    pub key: SecretString,
    pub model: ModelName,
    /// The system prompt; it may be empty.
    pub instruction: String,
}

impl Access {
    /// Makes it from the row's settings; the path below the base URL may depend on the model.
    ///
    /// # Errors
    /// The base URL is none.
    pub fn new(row: &'static Row, shared: &Shared, path: impl FnOnce(&str) -> String) -> Result<Self, Error> {
        // The one that `model_setting` made.
        let setting = row.settings.iter().find(|setting| setting.value == Kind::Text);
        let model = setting.and_then(|setting| shared.settings.value(setting)).unwrap_or_default();
        let model = ModelName::new(row.name, model.trim());
        Ok(Self {
            endpoint: shared.settings.endpoint(row, &path(&model.model))?,
            // It is a setting of the provider of models.
            key: shared.settings.key_of(row).cloned().unwrap_or_default(),
            instruction: shared.settings.instruction.to_string(),
            model,
        })
    }
}

/// Returns an answer of one part.
///
/// # Errors
/// What is wrong with it.
pub fn read(wire: &impl Native, body: &[u8]) -> Result<Vec<RawHit>, Error> {
    wire.read_all(&[json(body)?])
}

fn json(body: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(body).map_err(|_| Error::unreadable("its answer is not JSON"))
}

/// Returns a refusal of which only its codes or words say that no wait heals it.
pub fn quota(refused: &Refused<'_>) -> Option<Problem> {
    let codes = ["/error/code", "/error/type", "/error/details/error_code"].map(|place| refused.text(place));
    net::is_used_up(codes, refused.said).then(|| Problem::unpaid(refused.said))
}

/// Returns a number of an answer.
pub fn count(body: &Value, place: &str) -> u64 {
    body.pointer(place).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns the list at that place of an answer.
pub fn list<'a>(body: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> {
    body.pointer(place).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the text of a field.
pub fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Results in the order in which they came, each page once, with all that was said of it.
#[derive(Debug, Default)]
pub struct Pages(Vec<RawHit>);

impl Pages {
    /// Adds a result, or what is said of one that is there.
    pub fn add(&mut self, url: &str, title: Option<&str>, excerpt: Option<&str>, published: Option<String>) {
        let place = self.0.iter().position(|found| found.url == url).unwrap_or_else(|| {
            self.0.push(RawHit { url: url.to_owned(), ..RawHit::default() });
            self.0.len() - 1
        });
        let Some(found) = self.0.get_mut(place) else { return };
        found.title = found.title.take().or_else(|| title.map(str::to_owned));
        found.published = found.published.take().or(published);
        if let Some(excerpt) = excerpt {
            let known = found.snippet.get_or_insert_default();
            if !known.contains(excerpt) {
                known.push_str(if known.is_empty() { "" } else { "\n\n" });
                known.push_str(excerpt);
            }
        }
    }

    /// Returns the results; those of which something was said come first.
    pub fn into_found(mut self) -> Vec<RawHit> {
        self.0.sort_by_key(|found| found.snippet.is_none());
        self.0
    }
}
