//! Exa, a search by meaning, with the text of pages: <https://exa.ai/docs/reference/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Returns, Row, Setting,
        web::{Object, Problem, RawHit, Refused, Request, Web, Wire, objects},
    },
};

/// The most results of the plans that anybody can have (2026-07).
const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "exa",
    about: "the web by meaning, with the text of pages",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    cost: "1 search and the text of each result",
    // No bound is published.
    max_query_chars: 2_000,
    settings: &[
        Setting::key("search.exa.api_key", "EXA_API_KEY", "key of Exa"),
        Setting::address("search.exa.base_url", "EXA_BASE_URL", "https://api.exa.ai"),
    ],
    build: |row, shared| Web::keyed(row, shared, "search", |endpoint, key| Exa { endpoint, key }),
    ..Row::WEB
};

struct Exa {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Exa {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": query,
            "type": "auto",
            "numResults": limits.max_results.clamp(1, MAX_RESULTS),
            // All of it; else it is cut to a number of characters.
            "contents": {"text": true},
        });
        // Pages whose date is not known fall out as well.
        if let Some(since) = filters.since_text() {
            body["startPublishedDate"] = json!(format!("{since}T00:00:00.000Z"));
        }
        // One or the other; the rest is checked on the results.
        if !filters.include.is_empty() {
            body["includeDomains"] = json!(filters.include);
        } else if !filters.exclude.is_empty() {
            body["excludeDomains"] = json!(filters.exclude);
        }
        if let Some(country) = &filters.country {
            body["userLocation"] = json!(country);
        }
        match filters.topic {
            Topic::General => {}
            Topic::News => body["category"] = json!("news"),
            Topic::Finance => body["category"] = json!("financial report"),
        }
        Request::post(self.endpoint.clone(), body).header("x-api-key", self.key.clone())
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["results"])?.iter().filter_map(found).collect())
    }

    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let used_up = matches!(refused.text("/tag"), "NO_MORE_CREDITS" | "API_KEY_BUDGET_EXCEEDED");
        used_up.then(|| Problem::unpaid(refused.said))
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: None,
        content: result.text("text"),
        published: result.text("publishedDate"),
        author: result.text("author"),
        score: result.read("score"),
    })
}
