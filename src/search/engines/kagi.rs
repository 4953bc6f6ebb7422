//! Kagi's search: <https://help.kagi.com/kagi/api/search.html>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Row, Search, Setting,
        web::{Object, RawHit, Request, Shared, Web, Wire, objects, objects_if_any},
    },
};

const MAX_QUERY_CHARS: usize = 1_000;
/// Its own bound (2026-05).
const MAX_RESULTS: usize = 1_024;

const KEY: &str = "search.kagi.api_key";
const URL: &str = "search.kagi.base_url";

pub const ROW: Row = Row {
    name: "kagi",
    about: "the web, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    cost: "1 search",
    settings: &[
        Setting::key(KEY, "KAGI_API_KEY", "key of Kagi"),
        Setting::address(URL, "KAGI_BASE_URL", "https://kagi.com/api/v1"),
    ],
    build,
    ..Row::WEB
};

struct Kagi {
    endpoint: Url,
    key: SecretString,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let key = shared.settings.secret(KEY).cloned().unwrap_or_default();
    Ok(Web::boxed(row, Kagi { endpoint: shared.settings.endpoint(row, URL, "search")?, key }, shared))
}

impl Wire for Kagi {
    fn max_query_chars(&self) -> usize {
        MAX_QUERY_CHARS
    }

    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": filters.with_sites(query, MAX_QUERY_CHARS),
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

    /// The list is missing when it would be empty.
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
