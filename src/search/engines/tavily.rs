//! Tavily, a web search for machines: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::search::{
    Corpus, Error, Limits, Need, Row, Search, Setting, Value,
    web::{Found, Problem, Refused, Request, Shared, Web, Wire, objects},
};

/// Tavily answers 400 to a longer query (2026-07).
const MAX_QUERY_CHARS: usize = 400;
/// Tavily's own bound on `max_results` (2026-07).
const MAX_RESULTS: usize = 20;

const KEY: &str = "search.tavily.api_key";
const URL: &str = "search.tavily.base_url";

pub const ROW: Row = Row {
    name: "tavily",
    about: "the web, with the text of pages",
    corpus: Corpus::Web,
    settings: &[
        Setting {
            key: KEY,
            variable: "TAVILY_API_KEY",
            flag: None,
            value: Value::Secret,
            need: Need::Required,
            meaning: "key of Tavily; the web is searched when it is set",
            example: "tvly-…",
        },
        Setting {
            key: URL,
            variable: "TAVILY_BASE_URL",
            flag: None,
            value: Value::Url,
            need: Need::Default("https://api.tavily.com"),
            meaning: "address of Tavily",
            example: "",
        },
    ],
    build,
};

struct Tavily {
    endpoint: Url,
    key: SecretString,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let mut endpoint = shared.settings.url(row, URL)?;
    endpoint.set_path(&format!("{}/search", endpoint.path().trim_end_matches('/')));
    let key = shared.settings.secret(KEY).cloned().unwrap_or_default();
    Ok(Web::boxed(row, Tavily { endpoint, key }, shared))
}

impl Wire for Tavily {
    fn max_query_chars(&self) -> usize {
        MAX_QUERY_CHARS
    }

    fn request(&self, query: &str, limits: &Limits) -> Request {
        let body = json!({
            "query": query,
            "topic": "general",
            "search_depth": "basic",
            "max_results": limits.max_results.clamp(1, MAX_RESULTS),
            "include_raw_content": true,
            "include_answer": false,
            "include_images": false,
        });
        Request::post(self.endpoint.clone(), body).bearer(&self.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Found>, Error> {
        parse(body)
    }

    /// As Tavily's reference has it (2026-07): 432 is the plan's limit, 433 the pay-as-you-go limit.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        matches!(refused.status, 432 | 433).then(|| Problem::unpaid(refused.said))
    }
}

/// The results of an answer, those without an address left out.
fn parse(body: &[u8]) -> Result<Vec<Found>, Error> {
    let results = objects(body, &["results"])?;
    let found = |result: crate::search::web::Object<'_>| {
        Some(Found {
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
            Found { url: "https://a.test".into(), title: Some(" ".into()), ..Found::default() },
            Found {
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
