//! Google's search, by a model of Gemini: <https://ai.google.dev/gemini-api/docs/google-search>.
//!
//! An excerpt is what the model says where it rests on a page, since no text of the page comes; results stand behind
//! addresses of Google's, which are followed to the pages' own.

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use url::Url;

use crate::{
    domain::{ModelName, Usage},
    search::{
        Error, Filter, Limits, Row, Search, Setting,
        native::{self, Access, Native, Pages, Searcher, count, list, text},
        today,
        web::{Problem, RawHit, Refused, Request, Shared, Wire},
    },
};

/// The host and path that addresses of results lead through.
const REDIRECTS: (&str, &str) = ("vertexaisearch.cloud.google.com", "/grounding-api-redirect/");

pub const ROW: Row = Row {
    name: "google",
    about: "the web by Google's search, in excerpts",
    filters: &[Filter::TimeRange],
    cost: "each search that the model makes and its tokens",
    settings: &[
        Setting::key("providers.google.api_key", "GEMINI_API_KEY", "key of Google's AI Studio"),
        Setting::address(
            "providers.google.base_url",
            "GEMINI_BASE_URL",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        native::model_setting("search.google.model", "GEMINI_SEARCH_MODEL", "gemini-3.6-flash"),
    ],
    build,
    ..native::ROW
};

struct Google(Access);

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let access = Access::new(row, shared, |model| format!("models/{model}:generateContent"))?;
    Ok(Searcher::boxed(row, Google(access), shared))
}

impl Wire for Google {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let mut tool = json!({});
        if let Some(since) = limits.filters.since_text() {
            tool["timeRangeFilter"] =
                json!({"startTime": format!("{since}T00:00:00Z"), "endTime": format!("{}T23:59:59Z", today())});
        }
        let mut body = json!({
            "contents": [{"role": "user", "parts": [{"text": query}]}],
            "tools": [{"googleSearch": tool}],
            "generationConfig": {"maxOutputTokens": native::MAX_OUTPUT},
        });
        if !self.0.instruction.is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": self.0.instruction}]});
        }
        Request::post(self.0.endpoint.clone(), body).header("x-goog-api-key", self.0.key.expose_secret())
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        native::read(self, body)
    }

    /// Returns what a refusal means. A wrong key is a 400; a quota of days is a 429 like a limit of minutes.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let details = || list(refused.body, "/error/details");
        if details().any(|detail| detail["reason"] == "API_KEY_INVALID") {
            return Some(Problem::lasting(Error::Auth(refused.said.to_owned())));
        }
        let violations = details().flat_map(|detail| list(detail, "/violations"));
        let is_daily = |violation: &Value| text(violation, "quotaId").is_some_and(|id| id.contains("PerDay"));
        if violations.into_iter().any(is_daily) {
            return Some(Problem::unpaid(refused.said));
        }
        let delay = details().find_map(|detail| text(detail, "retryDelay")?.strip_suffix('s')?.parse().ok());
        let wait = refused.after.or_else(|| crate::net::asked_wait(delay?));
        (refused.status == 429).then(|| Problem::limited(wait))
    }
}

impl Native for Google {
    fn model(&self) -> &ModelName {
        &self.0.model
    }

    fn usage(&self, body: &Value) -> Usage {
        let counted = |name: &str| count(body, &format!("/usageMetadata/{name}"));
        let mut queries: Vec<_> = list(body, "/candidates/0/groundingMetadata/webSearchQueries").collect();
        queries.sort_by_key(|query| query.as_str());
        queries.dedup();
        Usage {
            input_tokens: counted("promptTokenCount").saturating_add(counted("toolUsePromptTokenCount")),
            cached_tokens: counted("cachedContentTokenCount"),
            // Thoughts are counted beside the output.
            output_tokens: counted("candidatesTokenCount").saturating_add(counted("thoughtsTokenCount")),
            reasoning_tokens: counted("thoughtsTokenCount"),
            searches: queries.len() as u64,
            ..Usage::default()
        }
    }

    fn read_all(&self, bodies: &[Value]) -> Result<Vec<RawHit>, Error> {
        let body = bodies.first().filter(|body| body.is_object());
        let body = body.ok_or_else(|| Error::unreadable("its answer is no object"))?;
        if let Some(reason) = body.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return Err(Error::BadQuery(format!("it was blocked: {reason}")));
        }
        let metadata = body.pointer("/candidates/0/groundingMetadata");
        let metadata = metadata.ok_or_else(|| Error::unreadable("its model answered without searching"))?;
        let answer: String = list(body, "/candidates/0/content/parts")
            .filter(|part| part["thought"] != true)
            .filter_map(|part| part["text"].as_str())
            .collect();
        let addresses: Vec<_> = list(metadata, "/groundingChunks").map(|chunk| page(&chunk["web"])).collect();
        let mut pages = Pages::default();
        for support in list(metadata, "/groundingSupports") {
            let claim = claim(&support["segment"], &answer);
            let cited =
                list(support, "/groundingChunkIndices").filter_map(|place| usize::try_from(place.as_u64()?).ok());
            for (url, title) in cited.filter_map(|place| addresses.get(place).copied().flatten()) {
                pages.add(url, title, claim, None);
            }
        }
        addresses.into_iter().flatten().for_each(|(url, title)| pages.add(url, title, None, None));
        Ok(pages.into_found())
    }

    fn is_redirect(&self, url: &Url) -> bool {
        let (host, path) = REDIRECTS;
        let is_known = url.host_str() == Some(host) || url.origin() == self.0.endpoint.origin();
        is_known && url.path().contains(path)
    }
}

/// Returns the address and title of a page; none for Google's own pages of results, such as a weather forecast.
fn page(web: &Value) -> Option<(&str, Option<&str>)> {
    let url = text(web, "uri")?;
    let is_widget = url.contains("google.com/search?");
    (!is_widget).then(|| (url, text(web, "title")))
}

/// Returns the words that rest on a page: themselves, or by their place in the answer, in bytes.
fn claim<'a>(segment: &'a Value, answer: &'a str) -> Option<&'a str> {
    let place = |name: &str| usize::try_from(count(segment, name)).ok();
    let by_place = || answer.get(place("/startIndex")?..place("/endIndex")?).map(str::trim);
    text(segment, "text").or_else(by_place).filter(|text| !text.is_empty())
}
