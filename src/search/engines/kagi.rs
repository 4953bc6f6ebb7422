//! Kagi's search: <https://help.kagi.com/kagi/api/search.html>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Row, Setting,
        web::{Object, RawHit, Request, Web, Wire, objects, objects_if_any},
    },
};

/// Its own bound (2026-05).
const MAX_RESULTS: usize = 1_024;

pub const ROW: Row = Row {
    name: "kagi",
    about: "the web, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    sites_in_query: true,
    cost: "1 search",
    settings: &[
        Setting::key("search.kagi.api_key", "KAGI_API_KEY", "key of Kagi"),
        Setting::address("search.kagi.base_url", "KAGI_BASE_URL", "https://kagi.com/api/v1"),
    ],
    build: |row, shared| Web::keyed(row, shared, "search", |endpoint, key| Kagi { endpoint, key }),
    ..Row::WEB
};

struct Kagi {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Kagi {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": query,
            "workflow": if filters.topic == Topic::News { "news" } else { "search" },
            "limit": limits.max_results.clamp(1, MAX_RESULTS),
        });
        if let Some(since) = filters.since_text() {
            body["filters"]["after"] = json!(since);
        }
        if let Some(country) = &filters.country {
            body["filters"]["region"] = json!(country.to_ascii_lowercase());
        }
        Request::post(self.endpoint.clone(), body).bearer(&self.key)
    }

    /// Reads the results, whose list is missing when it would be empty.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let results =
            objects(body, &["data", "search"]).or_else(|_| objects_if_any(body, &["data", "news"], "data"))?;
        Ok(results.iter().filter_map(found).collect())
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: result.text("snippet"),
        published: result.text("time"),
        ..RawHit::default()
    })
}
