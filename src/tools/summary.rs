//! A page's text to what a researcher is shown of it: a summary for the run's question, and excerpts.
//!
//! The model's excerpts are checked against the page. A page that cannot be summarised is shown by an extract.

use std::{cell::LazyCell, sync::Arc};

use serde::Deserialize;
use serde_json::json;

use super::Site;
use crate::{
    context::{Cx, Error, Form, PageText, Role, SUMMARY_TIME},
    domain::{Event, WarningCode},
    llm::Message,
    offline::{self, Task},
    prompts::{Flexible, untrusted},
    search::Hit,
};

/// Characters of a page that stand in for its summary when that fails.
const EXCERPT_CHARS: usize = 1_500;

/// A page's summary as the model answers it.
#[derive(Debug, Deserialize)]
struct Summary {
    summary: String,
    #[serde(default)]
    key_excerpts: Vec<String>,
}

/// What is shown of the page, whose text the run has; made once per run, by the first that needs it.
///
/// # Errors
/// [`Error::Stop`].
pub async fn of_page(cx: &Cx, key: &str, hit: &Hit, site: Site<'_>) -> Result<PageText, Error> {
    let cell = cx.page(key);
    cell.get_or_try_init(|| read(cx, key, hit, site)).await.cloned()
}

async fn read(cx: &Cx, key: &str, hit: &Hit, site: Site<'_>) -> Result<PageText, Error> {
    // The one copy while the model works: shared by the request and its retries, and what excerpts are checked against.
    let page: Arc<str> = untrusted(&cx.take_text(key).unwrap_or_else(|| hit.snippet.clone())).into();
    let result = summarise(cx, key, hit, &page, site).await;
    match result {
        Ok(summary) => {
            let excerpts = verified(&summary.key_excerpts, &page);
            let chars_out = summary.summary.chars().count();
            let event = Event::SummaryFinished { url: hit.url.clone(), chars_in: page.chars().count(), chars_out };
            cx.mark(&format!("{key}/finished"), event).await?;
            Ok(PageText { summary: summary.summary, excerpts })
        }
        Err(Error::Stop(stop)) => Err(stop.into()),
        Err(Error::Failed(failure)) => {
            let detail = format!("{}: {failure}; an excerpt stands in", hit.url);
            cx.warn(&format!("{key}/failed"), WarningCode::SummaryFailed, detail).await?;
            Ok(PageText { summary: offline::extract(site.question, page, EXCERPT_CHARS).await, excerpts: Vec::new() })
        }
    }
}

async fn summarise(cx: &Cx, key: &str, hit: &Hit, page: &Arc<str>, site: Site<'_>) -> Result<Summary, Error> {
    let mut flexible = Flexible::default();
    let values = json!({
        "date": cx.date().await?,
        "question": untrusted(site.question),
        // Not the hit's own, so that it does not matter which of several hits is read first.
        "title": untrusted(&cx.title(&hit.url).unwrap_or_else(|| hit.title.clone())),
        "webpage_content": flexible.mark(Arc::clone(page)),
    });
    let message = Message::User { content: cx.prompts().parts("summary", values, flexible) };
    let task = Task::Summarise { question: site.question.to_owned(), page: Arc::clone(page) };
    let request = cx.request(Role::Summarization, vec![message], task);
    let deadline = cx.deadline(SUMMARY_TIME).earlier(site.deadline);
    cx.ask_structured(key, Role::Summarization, request, form(), Some(deadline)).await
}

fn form() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "key_excerpts": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["summary", "key_excerpts"],
        "additionalProperties": false,
    });
    Form { name: "Summary", schema }
}

/// Excerpts that really stand in the page, whatever its white space; at most five.
fn verified(excerpts: &[String], page: &str) -> Vec<String> {
    let plain_page = LazyCell::new(|| plain(page));
    let stands = |excerpt: &&String| {
        let excerpt = excerpt.trim();
        !excerpt.is_empty() && (contains(page, excerpt) || contains(&plain_page, &plain(excerpt)))
    };
    excerpts.iter().filter(stands).take(5).cloned().collect()
}

/// As [`str::contains`], many bytes at a time: pages are long.
fn contains(text: &str, part: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// In lower case, with one space between words.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        if word.is_ascii() {
            let start = plain.len();
            plain.push_str(word);
            plain[start..].make_ascii_lowercase();
        } else {
            plain.push_str(&word.to_lowercase());
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_excerpts_that_stand_in_the_page_survive() {
        let page = "The turbine was\n  repaired in May.  It cost 5 crowns.";
        let given = ["The turbine was repaired in May.", "It cost 6 crowns.", " "].map(str::to_owned);
        assert_eq!(verified(&given, page), ["The turbine was repaired in May."]);
    }
}
