//! A page's text to what a researcher is shown of it: a summary for the run's question, and excerpts; or, without a
//! model call, the passages that fit the question best.
//!
//! Of a long page the model reads such passages too, chosen from all of it: always for the run's question, so that it
//! does not matter which researcher meets a page first. The model's excerpts are checked against the page. A page that
//! cannot be summarised is shown by an extract.

use std::{
    cell::LazyCell,
    sync::{Arc, LazyLock},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Site, passages};
use crate::{
    aside::aside,
    context::{Cx, Error, Form, PageText, Role, SUMMARY_TIME},
    domain::{Event, PageReading, WarningCode},
    llm::Message,
    offline::{self, Task},
    pages::extract,
    prompts::{Flexible, untrusted},
    search::Hit,
};

/// Characters of a page that stand in for its summary when that fails.
const EXCERPT_CHARS: usize = 1_500;

/// Characters of a page that are shown instead of a summary.
const SHOWN_CHARS: usize = 6_000;
/// Bytes of a page whose passages are chosen at once: less than a millisecond's work.
const CHOSEN_HERE: usize = 32 * 1024;
/// Excerpts of a page that are shown, and those that a model names and that are looked for in it.
const MOST_EXCERPTS: usize = 5;
const MOST_LOOKED_AT: usize = 50;
/// Stands for what is left out between passages.
const GAP: &str = "\n\n[…]\n\n";

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
    let shown = cell.get_or_try_init(|| read(cx, key, hit, site)).await.cloned()?;
    // Another search may have brought the text again meanwhile.
    cx.take_text(key);
    Ok(shown)
}

async fn read(cx: &Cx, key: &str, hit: &Hit, site: Site<'_>) -> Result<PageText, Error> {
    // The one copy while the model works: shared by the request and its retries, and what excerpts are checked against.
    let page: Arc<str> = untrusted(&cx.take_text(key).unwrap_or_else(|| hit.snippet.as_str().into())).into();
    if cx.options().page_reading == PageReading::Passages {
        let shown = bearing(&page, site.question, SHOWN_CHARS).await;
        cx.mark(&format!("{key}/finished"), read_event(hit, &page, &shown)).await?;
        return Ok(PageText { summary: shown.to_string(), excerpts: Vec::new() });
    }
    let turn = cx.summary_turn().await;
    let result = summarise(cx, key, hit, &page, site).await;
    drop(turn);
    match result {
        Ok(summary) => {
            let excerpts = verified(&summary.key_excerpts, &page);
            cx.mark(&format!("{key}/finished"), read_event(hit, &page, &summary.summary)).await?;
            Ok(PageText { summary: summary.summary, excerpts })
        }
        Err(Error::Stop(stop)) => Err(stop.into()),
        Err(Error::Failed(failure)) => {
            let detail = format!("{}: {failure}; an excerpt stands in", hit.url);
            cx.warn(&format!("{key}/failed"), WarningCode::SummaryFailed, detail).await?;
            let extract = offline::extract(site.question, Arc::clone(&page), EXCERPT_CHARS).await;
            let summary = extract.unwrap_or_else(|_| extract::cut(&page, EXCERPT_CHARS).to_owned());
            Ok(PageText { summary, excerpts: Vec::new() })
        }
    }
}

fn read_event(hit: &Hit, page: &str, shown: &str) -> Event {
    let (chars_in, chars_out) = (page.chars().count(), shown.chars().count());
    Event::SummaryFinished { url: hit.url.clone(), chars_in, chars_out }
}

/// The passages of a page that bear on a question, in reading order, as many as there is room for; its beginning when
/// none does. Chosen off the runtime's threads when the page is long.
async fn bearing(page: &Arc<str>, question: &str, room: usize) -> Arc<str> {
    if page.chars().nth(room).is_none() {
        return Arc::clone(page);
    }
    if page.len() <= CHOSEN_HERE {
        return chosen(page, question, room).into();
    }
    let (text, question) = (Arc::clone(page), question.to_owned());
    let chosen = aside(move || chosen(&text, &question, room)).await;
    chosen.map_or_else(|_| extract::cut(page, room).into(), Arc::from)
}

fn chosen(page: &str, question: &str, room: usize) -> String {
    let all = extract::passages::split(page);
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    let places = passages::best(&texts, question, room);
    let mut shown = String::new();
    for (index, place) in places.iter().enumerate() {
        let follows = index > 0 && places[index - 1] + 1 == *place;
        shown.push_str(if index == 0 {
            ""
        } else if follows {
            "\n\n"
        } else {
            GAP
        });
        shown.push_str(texts[*place]);
    }
    if shown.is_empty() { extract::cut(page, room).to_owned() } else { shown }
}

async fn summarise(cx: &Cx, key: &str, hit: &Hit, page: &Arc<str>, site: Site<'_>) -> Result<Summary, Error> {
    let mut flexible = Flexible::default();
    let values = json!({
        "date": cx.date().await?,
        "question": untrusted(site.question),
        // Not the hit's own, so that it does not matter which of several hits is read first.
        "title": untrusted(&cx.title(&hit.url).unwrap_or_else(|| hit.title.clone())),
        "webpage_content": flexible.mark(bearing(page, site.question, cx.options().effort.chars_read()).await),
    });
    let message = Message::User { content: cx.prompts().parts("summary", values, flexible) };
    let task = Task::Summarise { question: site.question.to_owned(), page: Arc::clone(page) };
    let request = cx.request(Role::Summarization, vec![message], task);
    let deadline = cx.deadline(SUMMARY_TIME).earlier(site.deadline);
    cx.ask_structured(key, Role::Summarization, request, form(), Some(deadline)).await
}

/// Of one schema, since many pages are read at the same time.
fn form() -> Form {
    static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
        let schema = json!({
            "type": "object",
            "properties": {
                "summary": {"type": "string"},
                "key_excerpts": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["summary", "key_excerpts"],
            "additionalProperties": false,
        });
        schema.into()
    });
    Form { name: "Summary", schema: Arc::clone(&SCHEMA) }
}

/// Excerpts that really stand in the page, whatever its white space; at most five, of those looked at.
fn verified(excerpts: &[String], page: &str) -> Vec<String> {
    let plain_page = LazyCell::new(|| plain(page));
    let stands = |excerpt: &&String| {
        let excerpt = excerpt.trim();
        !excerpt.is_empty() && (contains(page, excerpt) || contains(&plain_page, &plain(excerpt)))
    };
    excerpts.iter().take(MOST_LOOKED_AT).filter(stands).take(MOST_EXCERPTS).cloned().collect()
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
    fn of_a_long_page_the_passages_that_bear_on_the_question_are_read() {
        let filler = "The weather was mild and the sea was calm, as on most days of that long year.\n\n".repeat(1_000);
        let page = format!("{filler}The gate cost 412,000 crowns.\n\n{filler}");
        let shown = chosen(&page, "What did the gate cost?", 2_000);
        assert!(shown.contains("412,000") && shown.chars().count() < 4_000, "{shown}");
        assert!(chosen(&page, "Zebras?", 100).starts_with("The weather"));
    }

    #[tokio::test]
    async fn a_page_in_a_script_without_spaces_is_read_where_it_answers() {
        let filler = "天气温和，海面平静，与那一年的大多数日子一样。\n\n".repeat(1_000);
        let page: Arc<str> = format!("{filler}潮汐水闸耗资412,000克朗，由港口税支付。\n\n{filler}").into();
        let shown = bearing(&page, "水闸花了多少钱？", 2_000).await;
        assert!(shown.contains("412,000") && shown.chars().count() < 4_000, "{shown}");
        let whole: Arc<str> = format!("{}\n\n水闸很贵。", extract::cut(&filler, 1_800)).into();
        assert_eq!(bearing(&whole, "水闸花了多少钱？", 2_000).await, whole, "room is counted in characters");
    }

    #[test]
    fn only_excerpts_that_stand_in_the_page_survive() {
        let page = "The turbine was\n  repaired in May.  It cost 5 crowns.";
        let given = ["The turbine was repaired in May.", "It cost 6 crowns.", " "].map(str::to_owned);
        assert_eq!(verified(&given, page), ["The turbine was repaired in May."]);
        let invented = vec!["Nobody wrote this.".to_owned(); MOST_LOOKED_AT];
        assert_eq!(verified(&[&invented[..], &given].concat(), page), [""; 0], "a model that invents is not followed");
    }
}
