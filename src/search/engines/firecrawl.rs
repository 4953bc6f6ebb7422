//! Firecrawl, a search that reads its pages: <https://docs.firecrawl.dev/api-reference/endpoint/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Returns, Row, Setting, google_age,
        web::{Object, RawHit, Request, Web, Wire, objects, objects_if_any},
    },
};

const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "firecrawl",
    about: "the web, with the text of pages as a browser sees them",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    cost: "2 credits for 10 results, and 1 for each page",
    // Its own bounds (2026-08).
    max_query_chars: 500,
    settings: &[
        Setting {
            example: "fc-…",
            ..Setting::key("search.firecrawl.api_key", "FIRECRAWL_API_KEY", "key of Firecrawl")
        },
        Setting::address("search.firecrawl.base_url", "FIRECRAWL_BASE_URL", "https://api.firecrawl.dev"),
    ],
    build: |row, shared| Web::keyed(row, shared, "v2/search", |endpoint, key| Firecrawl { endpoint, key }),
    ..Row::WEB
};

struct Firecrawl {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Firecrawl {
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

    /// Reads the results, whose list is missing when it would be empty, if a server of one's own answers.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let results = objects(body, &["data", "web"]).or_else(|_| objects_if_any(body, &["data", "news"], "data"))?;
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
