//! Jina's search: <https://jina.ai/reader>. Its pages are not asked for, which makes it three times as fast.

use secrecy::SecretString;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Row, Setting,
        web::{Object, RawHit, Refused, Request, Web, Wire, objects},
    },
};

/// Its own bound (2026-05).
const MAX_RESULTS: usize = 20;

pub const ROW: Row = Row {
    name: "jina",
    about: "the web, in excerpts",
    filters: &[Filter::Domains, Filter::Language, Filter::Country, Filter::Topic],
    sites_in_query: true,
    cost: "tokens, 10,000 at least; news five times as much",
    settings: &[
        Setting::key("search.jina.api_key", "JINA_API_KEY", "key of Jina"),
        Setting::address("search.jina.base_url", "JINA_BASE_URL", "https://s.jina.ai"),
    ],
    build: |row, shared| Web::keyed(row, shared, "", |endpoint, key| Jina { endpoint, key }),
    ..Row::WEB
};

struct Jina {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Jina {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let country = filters.country.as_ref().map(|country| country.to_ascii_lowercase());
        let mut parameters = vec![("q", query), ("num", &count)];
        parameters.extend(filters.language.as_deref().map(|language| ("hl", language)));
        parameters.extend(country.as_deref().map(|country| ("gl", country)));
        if filters.topic == Topic::News {
            parameters.push(("type", "news"));
        }
        Request::get(self.endpoint.clone(), &parameters)
            .header("accept", "application/json")
            .header("x-respond-with", "no-content")
            .bearer(&self.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["data"])?.iter().filter_map(found).collect())
    }

    fn is_empty(&self, refused: &Refused<'_>) -> bool {
        refused.status == 422
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: result.text("description"),
        published: result.text("date"),
        ..RawHit::default()
    })
}
