//! Repositories on GitHub: <https://docs.github.com/rest/search/search>.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Row, Setting,
    web::{Object, Problem, RawHit, Refused, Request, Web, Wire, objects},
};

/// The characters kept for the date behind a query.
const DATE_CHARS: usize = 20;
const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "github",
    about: "repositories on GitHub",
    filters: &[Filter::TimeRange],
    cost: "nothing; 10 a minute without a token, 30 with one",
    every: Duration::from_secs(2),
    // Longer queries are refused.
    max_query_chars: 256 - DATE_CHARS,
    settings: &[
        Setting::optional_key(
            "search.github.token",
            "GITHUB_SEARCH_TOKEN",
            "token of GitHub without any rights, for more searches a minute",
        ),
        Setting::address("search.github.base_url", "GITHUB_SEARCH_BASE_URL", "https://api.github.com"),
    ],
    build: |row, shared| Web::open(row, shared, "search/repositories", |endpoint, token| GitHub { endpoint, token }),
    ..Row::WEB
};

struct GitHub {
    endpoint: Url,
    token: Option<SecretString>,
}

impl Wire for GitHub {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let since = limits.filters.since_text().map(|since| format!(" pushed:>={since}"));
        let query = format!("{query}{}", since.unwrap_or_default());
        let request = Request::get(self.endpoint.clone(), &[("q", query.as_str()), ("per_page", &count)])
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        match &self.token {
            Some(token) => request.bearer(token),
            None => request,
        }
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["items"])?.iter().filter_map(found).collect())
    }

    /// Reads a refusal. Both limits may come as 403: the one of a minute says when it ends, the other how long to wait.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let used_up = refused.number("x-ratelimit-remaining") == Some(0.0) || refused.after.is_some();
        let limited = matches!(refused.status, 403 | 429) && (used_up || refused.said.contains("rate limit"));
        limited.then(|| refused.limited_until("x-ratelimit-reset"))
    }
}

fn found(repository: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: repository.text("html_url")?,
        title: repository.text("full_name"),
        snippet: repository.text("description"),
        published: repository.text("pushed_at"),
        score: repository.read("score"),
        ..RawHit::default()
    })
}
