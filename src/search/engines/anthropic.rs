//! Anthropic's web search, by a model of the Messages API:
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool>.
//!
//! The text of results comes encrypted; what an answer cites comes in the words of the page.

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::{
    domain::{ModelName, Usage},
    net,
    search::{
        Error, Limits, Row, Search, Setting,
        native::{self, Access, Native, Pages, Searcher, count, list, text},
        web::{Problem, RawHit, Refused, Request, Shared, Wire},
    },
};

pub const ROW: Row = Row {
    name: "anthropic",
    about: "the web by Anthropic's own search, in excerpts",
    cost: "1 search and the tokens of the model",
    settings: &[
        Setting::key("providers.anthropic.api_key", "ANTHROPIC_API_KEY", "key of Anthropic"),
        Setting::address("providers.anthropic.base_url", "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"),
        native::model_setting("search.anthropic.model", "ANTHROPIC_SEARCH_MODEL", "claude-haiku-5-5"),
    ],
    build,
    ..native::ROW
};

struct Anthropic(Access);

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let mut access = Access::new(row, shared, |_| "messages".to_owned())?;
    // As for its models, whose address this is.
    let base = access.endpoint.path().trim_end_matches("/messages");
    let path = format!("{}/messages", net::with_version(base));
    access.endpoint.set_path(&path);
    Ok(Searcher::boxed(row, Anthropic(access), shared))
}

impl Anthropic {
    fn post(&self, body: Value) -> Request {
        Request::post(self.0.endpoint.clone(), body)
            .header("x-api-key", self.0.key.expose_secret())
            .header("anthropic-version", "2023-06-01")
    }
}

impl Wire for Anthropic {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 1});
        // One list or the other; the rest is checked on the results.
        let (field, sites) = match filters.include.is_empty() {
            true => ("blocked_domains", &filters.exclude),
            false => ("allowed_domains", &filters.include),
        };
        if !sites.is_empty() {
            tool[field] = sites.iter().take(native::MAX_DOMAINS).cloned().collect();
        }
        if let Some(country) = &filters.country {
            tool["user_location"] = json!({"type": "approximate", "country": country});
        }
        let mut body = json!({
            "model": self.0.model.model,
            "max_tokens": native::MAX_OUTPUT,
            "tools": [tool],
            "messages": [{"role": "user", "content": query}],
        });
        // Empty texts are refused.
        if !self.0.instruction.is_empty() {
            body["system"] = json!(self.0.instruction);
        }
        self.post(body)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        native::read(self, body)
    }

    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        native::quota(refused)
    }
}

impl Native for Anthropic {
    fn model(&self) -> &ModelName {
        &self.0.model
    }

    fn usage(&self, body: &Value) -> Usage {
        let read = count(body, "/usage/cache_read_input_tokens");
        let written = count(body, "/usage/cache_creation_input_tokens");
        let input = count(body, "/usage/input_tokens");
        Usage {
            // Cached tokens are counted beside the others.
            input_tokens: input.saturating_add(read).saturating_add(written),
            cached_tokens: read,
            cache_write_tokens: written,
            output_tokens: count(body, "/usage/output_tokens"),
            reasoning_tokens: count(body, "/usage/output_tokens_details/thinking_tokens"),
            searches: count(body, "/usage/server_tool_use/web_search_requests"),
            cost: None,
        }
    }

    /// Returns the request that goes on after a pause: the paused content goes back as it came, with the same tools.
    fn next(&self, request: &Request, body: &Value) -> Option<Request> {
        if body["stop_reason"] != "pause_turn" {
            return None;
        }
        let mut json = request.json.clone()?;
        let turn = json!({"role": "assistant", "content": body["content"]});
        json["messages"].as_array_mut()?.push(turn);
        Some(self.post(json))
    }

    fn read_all(&self, bodies: &[Value]) -> Result<Vec<RawHit>, Error> {
        if bodies.is_empty() || bodies.iter().any(|body| !body["content"].is_array()) {
            return Err(Error::unreadable("its answer has no content"));
        }
        let (mut pages, mut failed, mut has_searched) = (Pages::default(), None, false);
        for block in bodies.iter().flat_map(|body| list(body, "/content")) {
            match block["type"].as_str() {
                Some("web_search_tool_result") => {
                    has_searched = true;
                    failed = failed.or_else(|| failure(&block["content"]));
                    list(block, "/content").for_each(|result| take(&mut pages, result, None));
                }
                Some("text") => {
                    list(block, "/citations").for_each(|one| take(&mut pages, one, text(one, "cited_text")));
                }
                _ => {}
            }
        }
        let found = pages.into_found();
        match failed {
            Some(error) if found.is_empty() => Err(error),
            _ if !has_searched => Err(Error::unreadable("its model answered without searching")),
            _ => Ok(found),
        }
    }
}

fn take(pages: &mut Pages, result: &Value, excerpt: Option<&str>) {
    if let Some(url) = text(result, "url") {
        let published = text(result, "page_age").map(str::to_owned);
        pages.add(url, text(result, "title"), excerpt, published);
    }
}

/// Returns the failure that stands in place of results.
fn failure(content: &Value) -> Option<Error> {
    let code = content["error_code"].as_str()?;
    Some(match code {
        // It wanted to search once more, having found nothing.
        "max_uses_exceeded" => return None,
        "too_many_requests" => Error::RateLimited { retry_after: None },
        "invalid_tool_input" | "query_too_long" | "request_too_large" => Error::BadQuery(code.to_owned()),
        other => Error::Unavailable(other.to_owned()),
    })
}
