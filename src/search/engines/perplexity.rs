//! Perplexity's search, with long extracts of pages: <https://docs.perplexity.ai/docs/search/quickstart>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    web::{Object, RawHit, Request, Web, Wire, objects},
};

/// Its own bounds (2026-07).
const MAX_RESULTS: usize = 20;
const MAX_DOMAINS: usize = 20;
/// The tokens of one page; more costs more of a model's window than it brings.
const TOKENS_PER_PAGE: usize = 2_048;

pub const ROW: Row = Row {
    name: "perplexity",
    about: "the web, with long extracts of pages",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Language, Filter::Country],
    cost: "1 request",
    settings: &[
        Setting {
            example: "pplx-…",
            sent_as: Some("perplexity_search"),
            ..Setting::key(
                "search.perplexity.api_key",
                "PERPLEXITY_SEARCH_API_KEY",
                "key of Perplexity, for searching; its models have a setting of their own",
            )
        },
        Setting::address("search.perplexity.base_url", "PERPLEXITY_SEARCH_BASE_URL", "https://api.perplexity.ai"),
    ],
    build: |row, shared| Web::keyed(row, shared, "search", |endpoint, key| Perplexity { endpoint, key }),
    ..Row::WEB
};

struct Perplexity {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Perplexity {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": query,
            "max_results": limits.max_results.clamp(1, MAX_RESULTS),
            "max_tokens_per_page": TOKENS_PER_PAGE,
        });
        if let Some(range) = filters.time_range {
            body["search_recency_filter"] = json!(range);
        }
        // One list, of sites that are wanted or of such that are not; the rest is checked on the results.
        let excluded = filters.exclude.iter().map(|name| format!("-{name}"));
        let sites: Vec<_> = match filters.include.is_empty() {
            true => excluded.take(MAX_DOMAINS).collect(),
            false => filters.include.iter().take(MAX_DOMAINS).cloned().collect(),
        };
        if !sites.is_empty() {
            body["search_domain_filter"] = json!(sites);
        }
        if let Some(language) = &filters.language {
            body["search_language_filter"] = json!([language]);
        }
        if let Some(country) = &filters.country {
            body["country"] = json!(country);
        }
        Request::post(self.endpoint.clone(), body).bearer(&self.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["results"])?.iter().filter_map(found).collect())
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        content: result.text("snippet"),
        published: result.text("date").or_else(|| result.text("last_updated")),
        ..RawHit::default()
    })
}
