//! Mojeek, a search with an index of its own: <https://www.mojeek.com/support/api/search/request_parameters.html>.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value as Json;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Row, Setting,
    web::{Object, RawHit, Request, Web, Wire, objects_if_any},
};

const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "mojeek",
    about: "the web by Mojeek's own index, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Language, Filter::Country],
    sites_in_query: true,
    cost: "1 request",
    forbids_wrong_keys: true,
    settings: &[
        Setting::key("search.mojeek.api_key", "MOJEEK_API_KEY", "key of Mojeek"),
        Setting::address("search.mojeek.base_url", "MOJEEK_BASE_URL", "https://api.mojeek.com"),
    ],
    build: |row, shared| Web::keyed(row, shared, "search", |endpoint, key| Mojeek { endpoint, key }),
    ..Row::WEB
};

struct Mojeek {
    endpoint: Url,
    key: SecretString,
}

impl Wire for Mojeek {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let since = filters.since_text().map(|since| since.replace('-', ""));
        let language = filters.language.as_ref().map(|language| language.to_ascii_uppercase());
        let mut parameters = vec![("api_key", self.key.expose_secret()), ("fmt", "json"), ("q", query), ("t", &count)];
        parameters.extend(since.as_deref().map(|since| ("since", since)));
        parameters.extend(language.as_deref().map(|language| ("lb", language)));
        parameters.extend(filters.country.as_deref().map(|country| ("rb", country)));
        Request::get(self.endpoint.clone(), &parameters)
    }

    /// Reads the results, or the error. Errors have status 200, too.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        problem(body).map_or(Ok(()), Err)?;
        Ok(objects_if_any(body, &["response", "results"], "response")?.iter().filter_map(found).collect())
    }
}

/// Returns what is wrong, such as `ERROR: Daily Limit Reached`.
fn problem(body: &[u8]) -> Option<Error> {
    let answer: Json = serde_json::from_slice(body).ok()?;
    let said = answer["response"]["status"].as_str()?.strip_prefix("ERROR")?;
    let said = said.trim_start_matches([':', ' ']).to_owned();
    let has = |word: &str| said.to_ascii_lowercase().contains(word);
    Some(match () {
        () if has("limit") => Error::Quota(said),
        () if has("key") => Error::Auth(said),
        () => Error::Unavailable(said),
    })
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: result.text("desc"),
        published: result.text("pdate").or_else(|| result.text("date")),
        score: result.read("score"),
        ..RawHit::default()
    })
}
