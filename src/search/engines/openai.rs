//! OpenAI's web search, by a model of the Responses API: <https://platform.openai.com/docs/guides/tools-web-search>.
//!
//! An excerpt is what the model says where it cites a page, since no text of the page comes.

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
    name: "openai",
    about: "the web by OpenAI's own search, in excerpts",
    cost: "1 search and the tokens of the model",
    settings: &[
        Setting::key("providers.openai.api_key", "OPENAI_API_KEY", "key of OpenAI"),
        Setting::address("providers.openai.base_url", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        native::model_setting("search.openai.model", "OPENAI_SEARCH_MODEL", "gpt-5.4-mini"),
    ],
    build,
    ..native::ROW
};

struct OpenAi(Access);

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let access = Access::new(row, shared, |_| "responses".to_owned())?;
    Ok(Searcher::boxed(row, OpenAi(access), shared))
}

impl Wire for OpenAi {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        // Without a place the user is taken to be in the United States.
        let mut tool = json!({"type": "web_search", "user_location": {"type": "approximate"}});
        if !filters.include.is_empty() {
            let sites: Vec<_> = filters.include.iter().take(native::MAX_DOMAINS).collect();
            tool["filters"] = json!({"allowed_domains": sites});
        }
        if let Some(country) = &filters.country {
            tool["user_location"]["country"] = json!(country);
        }
        let body = json!({
            "model": self.0.model.model,
            "store": false,
            "instructions": self.0.instruction,
            "input": query,
            "tools": [tool],
            "tool_choice": "required",
            "max_tool_calls": 1,
            "max_output_tokens": native::MAX_OUTPUT,
            "include": ["web_search_call.action.sources"],
        });
        Request::post(self.0.endpoint.clone(), body).bearer(&self.0.key)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        native::read(self, body)
    }

    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        native::quota(refused)
    }
}

impl Native for OpenAi {
    fn model(&self) -> &ModelName {
        &self.0.model
    }

    fn usage(&self, body: &Value) -> Usage {
        let counted = body.pointer("/tool_usage/web_search/num_requests").and_then(Value::as_u64);
        Usage {
            input_tokens: count(body, "/usage/input_tokens"),
            cached_tokens: count(body, "/usage/input_tokens_details/cached_tokens"),
            cache_write_tokens: count(body, "/usage/input_tokens_details/cache_write_tokens"),
            output_tokens: count(body, "/usage/output_tokens"),
            reasoning_tokens: count(body, "/usage/output_tokens_details/reasoning_tokens"),
            searches: counted.unwrap_or_else(|| searches(body).count() as u64),
            cost: None,
        }
    }

    fn read_all(&self, bodies: &[Value]) -> Result<Vec<RawHit>, Error> {
        let body = bodies.first().filter(|body| body["output"].is_array());
        let body = body.ok_or_else(|| Error::unreadable("its answer has no output"))?;
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(failure(error));
        }
        let has_searched = list(body, "/output").any(|item| item["type"] == "web_search_call");
        if !has_searched {
            return Err(Error::unreadable("its model answered without searching"));
        }
        let mut pages = Pages::default();
        for item in list(body, "/output").filter(|item| item["type"] == "message") {
            list(item, "/content").for_each(|part| take_citations(&mut pages, part));
        }
        for source in searches(body).flat_map(|item| list(item, "/action/sources")) {
            if let Some(url) = text(source, "url") {
                pages.add(url, text(source, "title"), None, None);
            }
        }
        Ok(pages.into_found())
    }
}

fn searches(body: &Value) -> impl Iterator<Item = &Value> {
    list(body, "/output").filter(|item| item["type"] == "web_search_call" && item["action"]["type"] == "search")
}

/// Takes the pages that a text cites, each with the words before the link. Places are counted in characters and are
/// those of the link, which stands in the text.
fn take_citations(pages: &mut Pages, part: &Value) {
    let letters: Vec<char> = part["text"].as_str().unwrap_or_default().chars().collect();
    let (mut end, mut claim) = (0, None);
    for citation in list(part, "/annotations").filter(|one| one["type"] == "url_citation") {
        let place = |name: &str| usize::try_from(count(citation, name)).unwrap_or(usize::MAX).min(letters.len());
        let start = place("/start_index");
        // Several links in a row stand behind the same words.
        claim = said(letters.get(end..start).unwrap_or_default()).or(claim);
        end = end.max(place("/end_index"));
        if let Some(url) = text(citation, "url") {
            pages.add(url, text(citation, "title"), claim.as_deref(), None);
        }
    }
}

/// Returns the last paragraph of the text, if it has words.
fn said(letters: &[char]) -> Option<String> {
    let text: String = letters.iter().collect();
    let is_mark = |letter: char| letter.is_whitespace() || "().,;:[]-*•".contains(letter);
    let claim = text.trim_end().rsplit('\n').next().unwrap_or_default().trim_matches(is_mark);
    claim.chars().any(char::is_alphanumeric).then(|| claim.to_owned())
}

/// Returns what an answer says that failed after all.
fn failure(error: &Value) -> Error {
    let said = text(error, "message").unwrap_or("its answer failed").to_owned();
    match error["code"].as_str().unwrap_or_default() {
        "rate_limit_exceeded" => Error::RateLimited { retry_after: None },
        "invalid_prompt" => Error::BadQuery(said),
        code if net::is_used_up([code], &said) => Error::Quota(said),
        _ => Error::Unavailable(said),
    }
}
