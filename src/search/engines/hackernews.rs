//! Hacker News: what is discussed there, and the pages that discussions are about: <https://hn.algolia.com/api>.

use url::Url;

use crate::search::{
    Error, Filter, Limits, Row, Setting,
    web::{Object, RawHit, Request, Web, Wire, objects},
};

const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "hackernews",
    about: "pages discussed on Hacker News",
    filters: &[Filter::TimeRange],
    // Algolia reads no more.
    max_query_chars: 512,
    settings: &[Setting::address("search.hackernews.base_url", "HACKERNEWS_BASE_URL", "https://hn.algolia.com/api/v1")],
    build: |row, shared| Web::open(row, shared, "search", |endpoint, _| HackerNews { endpoint }),
    ..Row::WEB
};

struct HackerNews {
    endpoint: Url,
}

impl Wire for HackerNews {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let since = limits.filters.since_epoch().map(|since| format!("created_at_i>={since}"));
        let mut parameters = vec![("query", query), ("tags", "story"), ("hitsPerPage", &count)];
        parameters.extend(since.as_deref().map(|since| ("numericFilters", since)));
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["hits"])?.iter().filter_map(found).collect())
    }
}

/// Reads a story. A question has no page but its own.
fn found(story: &Object<'_>) -> Option<RawHit> {
    let own = || story.text("objectID").map(|id| format!("https://news.ycombinator.com/item?id={id}"));
    Some(RawHit {
        url: story.text("url").filter(|url| !url.is_empty()).or_else(own)?,
        title: story.text("title"),
        snippet: story.text("story_text"),
        published: story.text("created_at"),
        ..RawHit::default()
    })
}
