//! Linkup, a search for programs, with the text of pages: <https://docs.linkup.so>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    web::{Object, Problem, RawHit, Refused, Request, Web, Wire, objects},
};

const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "linkup",
    about: "the web, with the text of pages",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains],
    cost: "1 standard search",
    settings: &[
        Setting::key("search.linkup.api_key", "LINKUP_API_KEY", "key of Linkup"),
        Setting::address("search.linkup.base_url", "LINKUP_BASE_URL", "https://api.linkup.so/v1"),
    ],
    build: |row, shared| Web::keyed(row, shared, "search", |endpoint, key| Linkup { endpoint, key }),
    ..Row::WEB
};

struct Linkup {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Linkup {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "q": query,
            "depth": "standard",
            "outputType": "searchResults",
            "includeImages": false,
            "maxResults": limits.max_results.clamp(1, MAX_RESULTS),
        });
        if let Some(since) = filters.since_text() {
            body["fromDate"] = json!(since);
        }
        if !filters.include.is_empty() {
            body["includeDomains"] = json!(filters.include);
        }
        if !filters.exclude.is_empty() {
            body["excludeDomains"] = json!(filters.exclude);
        }
        Request::post(self.endpoint.clone(), body).bearer(&self.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["results"])?.iter().filter_map(found).collect())
    }

    /// Reads a refusal: no credit left is a 429 like too many requests.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let code = refused.text("/error/code");
        let used_up = matches!(code, "INSUFFICIENT_FUNDS_CREDITS" | "EXCEED_BUDGET_LIMIT");
        used_up.then(|| Problem::unpaid(refused.said))
    }

    fn is_empty(&self, refused: &Refused<'_>) -> bool {
        refused.text("/error/code") == "SEARCH_QUERY_NO_RESULT"
    }
}

/// Reads a result that is text; images stand among them.
fn found(result: &Object<'_>) -> Option<RawHit> {
    if result.text("type").is_some_and(|kind| kind != "text") {
        return None;
    }
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("name"),
        content: result.text("content"),
        ..RawHit::default()
    })
}
