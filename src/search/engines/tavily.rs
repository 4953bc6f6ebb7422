//! Tavily, a web search for machines: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    web::{Problem, RawHit, Refused, Request, Web, Wire, objects},
};

/// Tavily's own bound on `max_results` (2026-07).
const MAX_RESULTS: usize = 20;
/// Tavily's own bounds on lists of sites (2026-07).
const MAX_INCLUDED: usize = 300;
const MAX_EXCLUDED: usize = 150;

const ADDRESS: &str = "https://api.tavily.com";

pub const ROW: Row = Row {
    name: "tavily",
    about: "the web, with the text of pages",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Topic],
    cost: "1 credit",
    // Tavily answers 400 to a longer query (2026-07).
    max_query_chars: 400,
    settings: &[
        Setting {
            example: "tvly-…",
            ..Setting::key(
                "search.tavily.api_key",
                "TAVILY_API_KEY",
                "key of Tavily; the web is searched when it is set",
            )
        },
        Setting {
            meaning: "address of Tavily",
            ..Setting::address("search.tavily.base_url", "TAVILY_BASE_URL", ADDRESS)
        },
    ],
    build: |row, shared| Web::open(row, shared, "search", |endpoint, key| Tavily { endpoint, key }),
    ..Row::WEB
};

/// Tavily's official way in for who has no key yet; how many searches it allows is not published.
pub const KEYLESS: Row = Row {
    name: "tavily_keyless",
    about: "the web by Tavily without a key, a few searches for a first look",
    cost: "nothing; limited",
    settings: &[Setting::address("search.tavily_keyless.base_url", "TAVILY_KEYLESS_BASE_URL", ADDRESS)],
    ..ROW
};

struct Tavily {
    endpoint: Url,
    /// Without one, the keyless mode.
    key: Option<SecretString>,
}

impl Wire for Tavily {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": query,
            "topic": filters.topic,
            "search_depth": "basic",
            "max_results": limits.max_results.clamp(1, MAX_RESULTS),
            "include_raw_content": true,
            "include_answer": false,
            "include_images": false,
        });
        if let Some(range) = filters.time_range {
            body["time_range"] = json!(range);
        }
        if !filters.include.is_empty() {
            body["include_domains"] = json!(filters.include.iter().take(MAX_INCLUDED).collect::<Vec<_>>());
        }
        if !filters.exclude.is_empty() {
            body["exclude_domains"] = json!(filters.exclude.iter().take(MAX_EXCLUDED).collect::<Vec<_>>());
        }
        let request = Request::post(self.endpoint.clone(), body);
        match &self.key {
            Some(key) => request.bearer(key),
            None => request.header("x-tavily-access-mode", "keyless").header("x-client-source", "fathom"),
        }
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        parse(body)
    }

    /// As Tavily's reference has it (2026-07): 432 is the plan's limit, 433 the pay-as-you-go limit; without a key the
    /// wait stands in the body.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        match refused.status {
            432 | 433 => Some(Problem::unpaid(refused.said)),
            429 => {
                let seconds = refused.body.pointer("/error/retry_after_seconds").and_then(serde_json::Value::as_f64);
                Some(Problem::limited(refused.after.or_else(|| crate::net::asked_wait(seconds?))))
            }
            _ => None,
        }
    }
}

/// The results of an answer, those without an address left out.
fn parse(body: &[u8]) -> Result<Vec<RawHit>, Error> {
    let results = objects(body, &["results"])?;
    let found = |result: crate::search::web::Object<'_>| {
        Some(RawHit {
            url: result.text("url")?,
            title: result.text("title"),
            snippet: result.text("content"),
            content: result.text("raw_content"),
            published: result.text("published_date"),
            score: result.read("score"),
        })
    };
    Ok(results.into_iter().filter_map(found).collect())
}

/// For the fuzz targets (docs/fuzzing.md); not part of any other build.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub fn answer(body: &[u8]) {
        let _ = super::parse(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_survive_missing_and_odd_fields() {
        let answer = json!({"results": [
            {"title": "No address"},
            {"url": 7},
            "no result",
            {"url": "https://a.test", "title": " ", "content": null, "raw_content": 3, "score": "high"},
            {"url": "https://b.test", "title": "B", "content": "plain", "raw_content": "# B", "score": 0.5,
             "published_date": "Mon, 10 Mar 2031", "more": [[{}]]},
        ]});
        let expected = [
            RawHit { url: "https://a.test".into(), title: Some(" ".into()), ..RawHit::default() },
            RawHit {
                url: "https://b.test".into(),
                title: Some("B".into()),
                snippet: Some("plain".into()),
                content: Some("# B".into()),
                published: Some("Mon, 10 Mar 2031".into()),
                score: Some(0.5),
            },
        ];
        assert_eq!(parse(answer.to_string().as_bytes()).unwrap(), expected);
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        let check = |body: &str, expected: &str| {
            assert_eq!(parse(body.as_bytes()).unwrap_err(), Error::unreadable(expected), "{body}");
        };
        check("<html>", "its answer is not JSON");
        check("{}", "its answer has no results");
        check(r#"{"results": null}"#, "its answer has no results");
        check(r#"{"results": {"url": "https://example.com"}}"#, "its answer has no results");
        check(&format!(r#"{{"results": {}"#, "[".repeat(1_000_000)), "its answer is not JSON");
        assert_eq!(parse(br#"{"results": []}"#).unwrap(), []);
    }
}
