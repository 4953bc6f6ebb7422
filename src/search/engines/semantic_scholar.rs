//! Semantic Scholar, papers of all fields: <https://api.semanticscholar.org/api-docs/graph>.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    markup::names,
    web::{Object, RawHit, Request, Web, Wire, objects_if_any},
};

/// Its own bound on `limit` (2026-07).
const MAX_RESULTS: usize = 100;
const FIELDS: &str = "title,abstract,url,publicationDate,tldr,venue,openAccessPdf,authors";

pub const ROW: Row = Row {
    name: "semantic_scholar",
    about: "papers of all fields, by their abstracts",
    returns: Returns::Abstracts,
    filters: &[Filter::TimeRange],
    cost: "nothing; without a key a pool that all share",
    every: Duration::from_secs(1),
    max_query_chars: 500,
    forbids_wrong_keys: true,
    settings: &[
        Setting::optional_key(
            "search.semantic_scholar.api_key",
            "SEMANTIC_SCHOLAR_API_KEY",
            "key of Semantic Scholar, for one search a second",
        ),
        Setting::address(
            "search.semantic_scholar.base_url",
            "SEMANTIC_SCHOLAR_BASE_URL",
            "https://api.semanticscholar.org/graph/v1",
        ),
    ],
    build: |row, shared| Web::open(row, shared, "paper/search", |endpoint, key| SemanticScholar { endpoint, key }),
    ..Row::WEB
};

struct SemanticScholar {
    endpoint: Url,
    key: Option<SecretString>,
}

impl Wire for SemanticScholar {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        // It finds nothing for words with a hyphen.
        let query = query.replace('-', " ");
        let since = limits.filters.since_text().map(|since| format!("{since}:"));
        let mut parameters = vec![("query", query.as_str()), ("limit", &count), ("fields", FIELDS)];
        parameters.extend(since.as_deref().map(|since| ("publicationDateOrYear", since)));
        let request = Request::get(self.endpoint.clone(), &parameters);
        match &self.key {
            Some(key) => request.header("x-api-key", key.clone()),
            None => request,
        }
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects_if_any(body, &["data"], "total")?.iter().filter_map(found).collect())
    }
}

/// Reads a result. Publishers keep many abstracts back; then one sentence of a model's stands in.
fn found(paper: &Object<'_>) -> Option<RawHit> {
    let summary = || paper.object("tldr").and_then(|tldr| tldr.text("text"));
    Some(RawHit {
        url: paper.text("url")?,
        title: paper.text("title"),
        snippet: paper.text("abstract").or_else(summary),
        published: paper.text("publicationDate"),
        author: names(paper.objects("authors").iter().filter_map(|author| author.text("name"))),
        ..RawHit::default()
    })
}
