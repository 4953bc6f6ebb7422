//! A page's text to what a researcher is shown of it: a summary, and excerpts; or, without a model call, the passages
//! that fit best.
//!
//! A page that is read whole is summarised once, for the run's question, so that it does not matter which researcher
//! meets it first. Of a long one the model reads passages, chosen from all of it by the researcher's topic and the
//! query that found it, which also name what is read. The model's excerpts are checked against the whole page. A page
//! that cannot be summarised is shown by an extract.

use std::{
    cell::LazyCell,
    sync::{Arc, LazyLock},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Site, passages};
use crate::{
    aside::aside_above,
    context::{Cx, Deadline, Error, Form, PageText, Role},
    domain::{Event, PageReading, RunOptions, WarningCode, digest},
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
/// Characters of a page that the offline model and extracts are made from.
const READ_BY_CODE: usize = 200_000;
/// Bytes of a page that are read on the runtime's threads: less than a millisecond's work.
pub const READ_HERE: usize = 32 * 1024;
/// Excerpts of a page that are shown, and those that a model names and that are looked for in it.
const MOST_EXCERPTS: usize = 5;
const MOST_LOOKED_AT: usize = 50;

/// A page's summary as the model answers it.
#[derive(Debug, Deserialize)]
struct Summary {
    summary: String,
    #[serde(default)]
    key_excerpts: Vec<String>,
}

/// What is looked for in a page, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What the whole run wants to know.
    question: &'a str,
    topic: &'a str,
    /// What found the page.
    pub query: &'a str,
    deadline: Deadline,
}

impl<'a> Wanted<'a> {
    /// Returns what the agent there looks for by that query.
    pub fn of(site: Site<'a>, query: &'a str) -> Self {
        Self { question: site.question, topic: site.topic, query, deadline: site.deadline }
    }

    /// Names topic and query.
    pub fn key(&self) -> String {
        digest::sha256_json(&(self.topic, self.query))[..16].to_owned()
    }
}

/// What is to be read of a page.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// Names it in the run.
    pub key: String,
    /// Names the page with its text.
    pub page: String,
    /// `None` when an earlier life of the run retrieved it.
    pub text: Option<Arc<str>>,
    pub hit: &'a Hit,
    /// Is only a part of the page read?
    pub is_long: bool,
    pub wanted: Wanted<'a>,
}

impl<'a> Reading<'a> {
    fn question(&self) -> &'a str {
        if self.is_long { self.wanted.topic } else { self.wanted.question }
    }

    /// Returns the texts by which passages are chosen. All of a short page fits, unless an earlier release has stored
    /// it so.
    fn chosen_by(&self) -> Vec<&'a str> {
        if self.is_long { vec![self.wanted.query, self.wanted.topic] } else { vec![self.wanted.question] }
    }

    /// Returns the text, as it may stand in a prompt: the one copy while the model works, shared by the request and
    /// its retries, and what excerpts are checked against.
    async fn take_text(&mut self, cx: &Cx) -> Arc<str> {
        let text = self.text.take().or_else(|| cx.earlier_text(&self.page));
        let text = text.unwrap_or_else(|| self.hit.snippet.as_str().into());
        let bytes = text.len();
        let harmless = move || Arc::<str>::from(untrusted(&text));
        aside_above(READ_HERE, bytes, harmless).await.unwrap_or_default()
    }
}

/// Returns the number of characters that are read of a page.
pub fn room(options: &RunOptions) -> usize {
    let most = match options.page_reading {
        PageReading::Passages => SHOWN_CHARS,
        PageReading::Summarize => options.effort.chars_read(),
    };
    most.min(options.max_content_length as usize)
}

/// Returns what is shown of the page, whose text the run has; made once per run and key, by the first that needs it.
///
/// # Errors
/// [`Error::Stop`].
pub async fn of_page(cx: &Cx, reading: Reading<'_>) -> Result<PageText, Error> {
    let key = reading.key.clone();
    let shown = cx.page(&key).get_or_try_init(|| read(cx, reading)).await.cloned()?;
    // Of a short page; other passages of a long one may be wanted.
    cx.release_earlier_text(&key);
    Ok(shown)
}

async fn read(cx: &Cx, mut reading: Reading<'_>) -> Result<PageText, Error> {
    let page = reading.take_text(cx).await;
    let Reading { key, hit, .. } = &reading;
    if cx.options().page_reading == PageReading::Passages {
        let [shown] = bearing(&page, &reading.chosen_by(), [room(cx.options())]).await;
        cx.mark(&format!("{key}/finished"), read_event(hit, &page, &shown)).await?;
        return Ok(PageText { summary: shown.to_string(), excerpts: Vec::new() });
    }
    let turn = cx.summary_turn().await;
    let [shown, read_by_code] = bearing(&page, &reading.chosen_by(), [room(cx.options()), READ_BY_CODE]).await;
    let result = summarise(cx, &reading, shown, Arc::clone(&read_by_code)).await;
    drop(turn);
    match result {
        Ok(Summary { summary, key_excerpts }) => {
            let looked_in = Arc::clone(&page);
            let excerpts = aside_above(READ_HERE, page.len(), move || verified(&key_excerpts, &looked_in)).await;
            cx.mark(&format!("{key}/finished"), read_event(hit, &page, &summary)).await?;
            Ok(PageText { summary, excerpts: excerpts.unwrap_or_default() })
        }
        Err(Error::Stop(stop)) => Err(stop.into()),
        Err(Error::Failed(failure)) => {
            let detail = format!("{}: {failure}; an excerpt stands in", hit.url);
            cx.warn(&format!("{key}/failed"), WarningCode::SummaryFailed, detail).await?;
            let extract = offline::extract(reading.question(), read_by_code, EXCERPT_CHARS).await;
            let summary = extract.unwrap_or_else(|_| extract::cut(&page, EXCERPT_CHARS).to_owned());
            Ok(PageText { summary, excerpts: Vec::new() })
        }
    }
}

fn read_event(hit: &Hit, page: &str, shown: &str) -> Event {
    let (chars_in, chars_out) = (page.chars().count(), shown.chars().count());
    Event::SummaryFinished { url: hit.url.clone(), chars_in, chars_out }
}

/// Returns the passages of a page that bear on what is asked, in reading order, as many as there is room for, for
/// each room; its beginning when none does.
async fn bearing<const N: usize>(page: &Arc<str>, asked: &[&str], rooms: [usize; N]) -> [Arc<str>; N] {
    if rooms.iter().all(|room| page.chars().nth(*room).is_none()) {
        return rooms.map(|_| Arc::clone(page));
    }
    let text = Arc::clone(page);
    let asked: Vec<String> = asked.iter().map(|asked| (*asked).to_owned()).collect();
    let choice = move || {
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        passages::extracts(&text, &asked, rooms)
    };
    let chosen = aside_above(READ_HERE, page.len(), choice).await;
    chosen.unwrap_or_else(|_| rooms.map(|room| extract::cut(page, room).into()))
}

/// Asks for a summary of what is shown of a page; a model that is none reads more of it.
async fn summarise(cx: &Cx, reading: &Reading<'_>, shown: Arc<str>, read_by_code: Arc<str>) -> Result<Summary, Error> {
    let Reading { key, hit, wanted, .. } = reading;
    let question = reading.question();
    let mut flexible = Flexible::default();
    let values = json!({
        "date": cx.date().await?,
        "question": untrusted(question),
        // Not the hit's own, so that it does not matter which of several hits is read first.
        "title": untrusted(&cx.title(&hit.url).unwrap_or_else(|| hit.title.clone())),
        "webpage_content": flexible.mark(shown),
    });
    let message = Message::User { content: cx.prompts().parts("summary", values, flexible) };
    let task = Task::Summarise { question: question.to_owned(), page: read_by_code };
    let request = cx.request(Role::Summarization, vec![message], task);
    // A page that is read whole is read once for all researchers: the time that one of them has left does not count.
    let own = cx.summary_deadline();
    let deadline = if reading.is_long { own.earlier(wanted.deadline) } else { own };
    cx.ask_structured(key, Role::Summarization, request, form(), Some(deadline)).await
}

/// Returns the form of a summary, of one schema, since many pages are read at the same time.
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

/// Returns the excerpts that really stand in the page, whatever its white space; at most five, of those looked at.
fn verified(excerpts: &[String], page: &str) -> Vec<String> {
    let plain_page = LazyCell::new(|| plain(page));
    let stands = |excerpt: &&String| {
        let excerpt = excerpt.trim();
        !excerpt.is_empty() && (contains(page, excerpt) || contains(&plain_page, &plain(excerpt)))
    };
    excerpts.iter().take(MOST_LOOKED_AT).filter(stands).take(MOST_EXCERPTS).cloned().collect()
}

/// Returns whether `text` contains `part`, as [`str::contains`] does, many bytes at a time: pages are long.
fn contains(text: &str, part: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Returns the text in lower case, with one space between words.
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
        let page = Arc::from(page);
        let cost = ["What did the gate cost?"];
        let [shown, more, whole] = passages::extracts(&page, &cost, [2_000, 20_000, usize::MAX]);
        assert!(shown.contains("412,000") && shown.chars().count() < 4_000, "{shown}");
        assert!(more.contains("412,000") && more.chars().count() > 10_000, "{}", more.chars().count());
        assert_eq!(whole, page);
        assert!(passages::extracts(&page, &["Zebras?"], [100])[0].starts_with("The weather"));
        assert_eq!(passages::extracts(&page, &cost, [20]), [Arc::from("The weather was mild")]);
    }

    #[tokio::test]
    async fn a_page_in_a_script_without_spaces_is_read_where_it_answers() {
        let filler = "天气温和，海面平静，与那一年的大多数日子一样。\n\n".repeat(1_000);
        let page: Arc<str> = format!("{filler}潮汐水闸耗资412,000克朗，由港口税支付。\n\n{filler}").into();
        let [shown] = bearing(&page, &["水闸花了多少钱？"], [2_000]).await;
        assert!(shown.contains("412,000") && shown.chars().count() < 4_000, "{shown}");
        let whole: Arc<str> = format!("{}\n\n水闸很贵。", extract::cut(&filler, 1_800)).into();
        let [shown] = bearing(&whole, &["水闸花了多少钱？"], [2_000]).await;
        assert_eq!(shown, whole, "room is counted in characters");
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
