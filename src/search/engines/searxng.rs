//! SearXNG, a metasearch engine of one's own: <https://docs.searxng.org/dev/search_api.html>.
//!
//! Its instance has to offer JSON (`search: formats: [html, json]` in its settings), else it answers 403.

use serde_json::Value as Json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Need, Row, Setting, Value,
        web::{Problem, RawHit, Refused, Request, Web, Wire, objects},
    },
};

const JSON_IS_OFF: &str =
    "this instance of SearXNG does not offer JSON: add json to search.formats in its settings.yml";

pub const ROW: Row = Row {
    name: "searxng",
    about: "the web by a SearXNG of your own, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Language, Filter::Topic],
    sites_in_query: true,
    settings: &[Setting {
        value: Value::Url,
        need: Need::Required,
        ..Setting::optional(
            "search.searxng.base_url",
            "SEARXNG_BASE_URL",
            "address of a SearXNG whose settings allow JSON; user and password may stand in it",
            "http://127.0.0.1:8888",
        )
    }],
    build: |row, shared| Web::open(row, shared, "search", |endpoint, _| Searxng { endpoint }),
    ..Row::WEB
};

struct Searxng {
    endpoint: Url,
}

impl Wire for Searxng {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let language = match (&filters.language, &filters.country) {
            (Some(language), Some(country)) => format!("{language}-{country}"),
            (Some(language), None) => language.clone(),
            (None, _) => "all".to_owned(),
        };
        let category = if filters.topic == Topic::News { "news" } else { "general" };
        let mut parameters = vec![("q", query), ("format", "json"), ("categories", category), ("language", &language)];
        parameters.extend(filters.time_range.map(|range| ("time_range", range.as_str())));
        // Its limiter refuses requests without these.
        Request::get(self.endpoint.clone(), &parameters)
            .header("accept", "application/json")
            .header("accept-language", "en;q=0.8, *;q=0.5")
    }

    /// Reads the results. No results from engines that do not answer is no answer.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let found = parse(body)?;
        let silent = if found.is_empty() { unresponsive(body) } else { Vec::new() };
        if silent.is_empty() {
            return Ok(found);
        }
        Err(Error::Unavailable(format!("none of its engines answers: {}", silent.join(", "))))
    }

    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        (refused.status == 403).then(|| Problem::lasting(Error::Unavailable(JSON_IS_OFF.to_owned())))
    }
}

fn parse(body: &[u8]) -> Result<Vec<RawHit>, Error> {
    let found = |result: crate::search::web::Object<'_>| {
        Some(RawHit {
            url: result.text("url")?,
            title: result.text("title"),
            snippet: result.text("content"),
            published: result.text("publishedDate"),
            score: result.read("score"),
            ..RawHit::default()
        })
    };
    Ok(objects(body, &["results"])?.into_iter().filter_map(found).collect())
}

/// Returns the names of engines that failed, with the reasons.
fn unresponsive(body: &[u8]) -> Vec<String> {
    let answer: Json = serde_json::from_slice(body).unwrap_or_default();
    let all = answer["unresponsive_engines"].as_array().cloned().unwrap_or_default();
    let named = |one: &Json| Some(format!("{} ({})", one[0].as_str()?, one[1].as_str().unwrap_or("no reason")));
    all.iter().take(10).filter_map(named).collect()
}
