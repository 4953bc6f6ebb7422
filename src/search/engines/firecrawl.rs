//! Firecrawl, a search that reads its pages: <https://docs.firecrawl.dev/api-reference/endpoint/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Returns, Row, Search, Setting, google_age,
        web::{Object, RawHit, Request, Shared, Web, Wire, objects},
    },
};

/// Its own bounds (2026-08).
const MAX_QUERY_CHARS: usize = 500;
const MAX_RESULTS: usize = 100;

const KEY: &str = "search.firecrawl.api_key";
const URL: &str = "search.firecrawl.base_url";

pub const ROW: Row = Row {
    name: "firecrawl",
    about: "the web, with the text of pages as a browser sees them",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    cost: "2 credits for 10 results, and 1 for each page",
    settings: &[
        Setting { example: "fc-…", ..Setting::key(KEY, "FIRECRAWL_API_KEY", "key of Firecrawl") },
        Setting::address(URL, "FIRECRAWL_BASE_URL", "https://api.firecrawl.dev"),
    ],
    build,
    ..Row::WEB
};

struct Firecrawl {
    endpoint: Url,
    key: SecretString,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let key = shared.settings.secret(KEY).cloned().unwrap_or_default();
    Ok(Web::boxed(row, Firecrawl { endpoint: shared.settings.endpoint(row, URL, "v2/search")?, key }, shared))
}

impl Wire for Firecrawl {
    fn max_query_chars(&self) -> usize {
        MAX_QUERY_CHARS
    }

    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let source = if filters.topic == Topic::News { "news" } else { "web" };
        let mut body = json!({
            "query": query,
            "limit": limits.max_results.clamp(1, MAX_RESULTS),
            "sources": [source],
            "scrapeOptions": {"formats": ["markdown"], "onlyMainContent": true},
        });
        if let Some(range) = filters.time_range {
            body["tbs"] = json!(google_age(range));
        }
        // One or the other; the rest is checked on the results.
        if !filters.include.is_empty() {
            body["includeDomains"] = json!(filters.include);
        } else if !filters.exclude.is_empty() {
            body["excludeDomains"] = json!(filters.exclude);
        }
        if let Some(country) = &filters.country {
            body["country"] = json!(country);
        }
        Request::post(self.endpoint.clone(), body).bearer(&self.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let results = objects(body, &["data", "web"]).or_else(|_| objects(body, &["data", "news"]))?;
        Ok(results.iter().filter_map(found).collect())
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: result.text("description").or_else(|| result.text("snippet")),
        content: result.text("markdown"),
        published: result.text("date"),
        ..RawHit::default()
    })
}
