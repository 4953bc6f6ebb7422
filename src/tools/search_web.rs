//! `search_web`: queries in, sources out.
//!
//! Each query is a step of the journal, so one that fails does not fail the others and none is paid for twice. Each
//! page is read (summarised for the run's question) once per run, whoever meets it first.

use std::{cell::LazyCell, collections::HashSet, sync::Arc};

use futures::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    context::{Cx, Error, Form, PageText, Registered, Role, SUMMARY_TIME, page_key},
    domain::{Event, Failure, FailureCode, Source, SourceId, Timestamp, WarningCode, event::ResultLink},
    journal::{self, Asked, Entry},
    llm::{Message, Part, Text, ToolSpec},
    offline::{self, Task},
    prompts::{Flexible, Prompts, untrusted},
    search::{self, Hit, Limits},
    telemetry::metrics,
};

/// Results asked for per query.
pub const MAX_RESULTS: u32 = 5;
/// Pages of one call that are summarised at the same time.
const SUMMARIES_AT_ONCE: usize = 10;
/// Characters of a page that stand in for its summary when that fails.
const EXCERPT_CHARS: usize = 1_500;

/// Arguments of `search_web`; a single string is taken as one query.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    #[serde(deserialize_with = "one_or_many", alias = "query")]
    pub queries: Vec<String>,
}

/// One search call of a researcher's turn.
#[derive(Debug)]
pub struct Call<'a> {
    /// The journal path of the turn.
    pub path: &'a str,
    pub queries: Vec<String>,
    /// The number of its first query within the turn.
    pub first_query: usize,
    /// The source id of the first result of its first query; each query has room for [`MAX_RESULTS`].
    pub first_source: SourceId,
    /// What the whole run wants to know: pages are summarised for it.
    pub question: &'a str,
}

/// What a call brought.
#[derive(Debug)]
pub struct Found {
    /// For the model.
    pub text: Text,
    /// In the order shown.
    pub links: Vec<ResultLink>,
    /// Pieces of evidence for the offline model and as a fallback for compression; one per link, in the same order.
    pub evidence: Vec<offline::Evidence>,
    /// Why queries failed, if any did.
    pub failures: Vec<String>,
}

/// A hit as the journal keeps it: its text is in the stored source, unless that one was stored with another text.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    source_id: SourceId,
    /// SHA-256 of the text to summarise, hex; absent when the engine sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_hash: Option<String>,
    /// The text that the stored source does not have. Not shared through the sources, because which of two texts is
    /// stored depends on which query was answered first, and replay must find again what was summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_text: Option<String>,
    #[serde(flatten)]
    hit: Hit,
}

/// A failed query as templates show it.
#[derive(Serialize)]
struct FailedQuery {
    query: String,
    reason: String,
}

/// A page's summary as the model answers it.
#[derive(Debug, Deserialize)]
struct Summary {
    summary: String,
    #[serde(default)]
    key_excerpts: Vec<String>,
}

/// The tool as models see it.
pub fn spec(prompts: &Prompts, kind: &str) -> ToolSpec {
    let queries = json!({"type": "array", "items": {"type": "string"}, "description": prompts.text("tools/search_web.queries", ())});
    ToolSpec {
        name: super::SEARCH.to_owned(),
        description: prompts.text("tools/search_web", json!({"kind": kind, "max_results": MAX_RESULTS})),
        parameters: json!({"type": "object", "properties": {"queries": queries}, "required": ["queries"], "additionalProperties": false}),
    }
}

/// Runs the queries side by side, reads their pages, and puts the results together.
///
/// # Errors
/// [`journal::Stop`] only; failed queries are part of the result.
pub async fn run(cx: &Cx, call: Call<'_>) -> Result<Found, Error> {
    let searches = call.queries.iter().enumerate().map(|(index, query)| one_query(cx, &call, index, query));
    let outcomes = futures::future::join_all(searches).await;
    let mut seen = HashSet::new();
    let (mut kept, mut failures) = (Vec::new(), Vec::new());
    for (query, outcome) in call.queries.iter().zip(outcomes) {
        match outcome? {
            Ok(hits) => kept.extend(hits.into_iter().filter(|hit| seen.insert(hit.hit.url.clone()))),
            Err(reason) => failures.push(FailedQuery { query: query.clone(), reason }),
        }
    }
    // Boxed: each is 13 KB, and would be kept twice, here and where it runs.
    let reading: Vec<_> = kept.iter().map(|hit| page_text(cx, hit, call.question).boxed()).collect();
    let pages: Vec<_> = stream::iter(reading).buffered(SUMMARIES_AT_ONCE).collect().await;
    let pages = pages.into_iter().collect::<Result<Vec<PageText>, _>>()?;
    Ok(found(cx, &call, &kept, &pages, failures))
}

/// Searches once per run and place, and stores the sources with their texts.
async fn one_query(cx: &Cx, call: &Call<'_>, index: usize, query: &str) -> Result<Result<Vec<Kept>, String>, Error> {
    let key = format!("{}/search/{}", call.path, call.first_query + index);
    let Some(engine) = cx.search() else { return Ok(Err("no search engine is configured".to_owned())) };
    let limits =
        Limits { max_results: MAX_RESULTS as usize, max_content_length: cx.options().max_content_length as usize };
    let hash = journal::hash_of(&(query, limits.max_results, limits.max_content_length));
    let first = call.first_source.0 + MAX_RESULTS * u32::try_from(index).unwrap_or(u32::MAX / MAX_RESULTS);
    let asked = Asked::from(hash);
    let work = async {
        if let Some((hits, at)) = inherited(cx, &key, &asked) {
            return Ok(Entry { inherited: Some(at), ..kept(cx, query, first, hits) });
        }
        if let Err(refused) = cx.begin_search() {
            return Ok(*refused);
        }
        let answer = engine.search(query, &limits, &cx.searching()).await;
        metrics::searched(engine.name(), answer.as_ref().map_or_else(search::Error::code, |_| "ok"));
        Ok(match answer {
            Ok(hits) => kept(cx, query, first, hits),
            Err(error @ search::Error::Auth(_)) => {
                metrics::step_failed("search", error.code());
                Entry::new(Err(error.to_string()))
            }
            Err(error) => {
                metrics::step_failed("search", error.code());
                let detail = format!("the search for '{query}' failed: {error}");
                Entry::new(Err(error.to_string())).event(cx.scope(), Event::warning(WarningCode::SearchFailed, detail))
            }
        })
    };
    let outcome: Result<Vec<Kept>, String> = cx.journal().step(&key, "search", asked.clone(), work).await?;
    // Every other search would end in the same way, and so would each later one.
    if let Err(reason) = &outcome
        && reason.starts_with(search::KEY_REFUSED)
    {
        return Err(Failure::new(FailureCode::SearchAuth, format!("{reason}; see fathom doctor")).into());
    }
    for kept in outcome.iter().flatten() {
        let content_hash = kept.text_hash.clone().unwrap_or_default();
        cx.register(Source { content_hash, ..source(&kept.hit, kept.source_id, String::new()) });
        if let (Some(hash), Some(text)) = (&kept.text_hash, &kept.own_text) {
            cx.keep_text(&page_key(&kept.hit.url, hash), text);
        }
    }
    Ok(outcome)
}

/// What a run that this one retries found, with the texts of its pages; `None` when there is no such run, or not all of
/// them are there.
fn inherited(cx: &Cx, key: &str, asked: &Asked) -> Option<(Vec<Hit>, (Timestamp, Timestamp))> {
    let inherited = cx.journal().inherited::<Result<Vec<Kept>, String>>(key, asked)?;
    let whole = |kept: Kept| {
        let raw_content = match (kept.own_text, kept.text_hash) {
            (Some(text), _) => Some(text),
            (None, Some(hash)) => Some(cx.inherited_text(&page_key(&kept.hit.url, &hash))?.to_owned()),
            (None, None) => None,
        };
        Some(Hit { raw_content, ..kept.hit })
    };
    let hits: Option<Vec<Hit>> = inherited.value.ok()?.into_iter().map(whole).collect();
    Some((hits?, inherited.at))
}

fn kept(cx: &Cx, query: &str, first: u32, hits: Vec<Hit>) -> Entry<Result<Vec<Kept>, String>> {
    let mut entry = Entry::new(Ok(Vec::new()));
    let mut all = Vec::new();
    for (number, mut hit) in (first..).zip(hits.into_iter().take(MAX_RESULTS as usize)) {
        let source_id = SourceId(number);
        let text = hit.raw_content.take().filter(|text| !text.trim().is_empty());
        let source = source(&hit, source_id, text.clone().unwrap_or_else(|| hit.snippet.clone()));
        let text_hash = text.is_some().then(|| source.content_hash.clone());
        if let Some(text) = &text {
            cx.keep_text(&page_key(&source.url, &source.content_hash), text);
        }
        let registered = cx.register(source.clone());
        if registered == Registered::New {
            entry = entry.event(cx.scope(), Event::source_found(&source, &hit.snippet, query));
        }
        entry.sources.push(source);
        let own_text = text.filter(|_| registered == Registered::OtherText);
        all.push(Kept { source_id, text_hash, own_text, hit });
    }
    entry.value = Ok(all);
    entry
}

fn source(hit: &Hit, id: SourceId, snapshot: String) -> Source {
    Source {
        id,
        aliases: Vec::new(),
        url: hit.url.clone(),
        title: hit.title.clone(),
        section: hit.section.clone(),
        engine: hit.engine.clone(),
        score: hit.score,
        published: hit.published.clone(),
        fetched_at: Timestamp::now(),
        content_hash: journal::sha256(snapshot.as_bytes()),
        snapshot,
    }
}

/// What is shown of a page; read once per run.
async fn page_text(cx: &Cx, kept: &Kept, question: &str) -> Result<PageText, Error> {
    let Some(text_hash) = &kept.text_hash else {
        return Ok(PageText { summary: kept.hit.snippet.clone(), excerpts: Vec::new() });
    };
    let key = page_key(&kept.hit.url, text_hash);
    let cell = cx.page(&key);
    cell.get_or_try_init(|| read_page(cx, &key, &kept.hit, question)).await.cloned()
}

async fn read_page(cx: &Cx, key: &str, hit: &Hit, question: &str) -> Result<PageText, Error> {
    // The one copy while the model works: shared by the request and its retries, and what excerpts are checked against.
    let page: Arc<str> = untrusted(&cx.take_text(key).unwrap_or_else(|| hit.snippet.clone())).into();
    let result = summarise(cx, key, hit, &page, question).await;
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
            Ok(PageText { summary: offline::extract(question, page, EXCERPT_CHARS).await, excerpts: Vec::new() })
        }
    }
}

async fn summarise(cx: &Cx, key: &str, hit: &Hit, page: &Arc<str>, question: &str) -> Result<Summary, Error> {
    let mut flexible = Flexible::default();
    let values = json!({
        "date": cx.date().await?,
        "question": untrusted(question),
        // Not the hit's own, so that it does not matter which of several hits is read first.
        "title": untrusted(&cx.title(&hit.url).unwrap_or_else(|| hit.title.clone())),
        "webpage_content": flexible.mark(Arc::clone(page)),
    });
    let message = Message::User { content: cx.prompts().parts("summary", values, flexible) };
    let task = Task::Summarise { question: question.to_owned(), page: Arc::clone(page) };
    let request = cx.request(Role::Summarization, vec![message], task);
    let deadline = cx.deadline(SUMMARY_TIME);
    cx.ask_structured(key, Role::Summarization, request, summary_form(), Some(deadline)).await
}

fn summary_form() -> Form {
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
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let plain_page = LazyCell::new(|| plain(page));
    let stands = |excerpt: &&String| {
        let excerpt = excerpt.trim();
        !excerpt.is_empty() && (page.contains(excerpt) || plain_page.contains(&plain(excerpt)))
    };
    excerpts.iter().filter(stands).take(5).cloned().collect()
}

fn found(cx: &Cx, call: &Call<'_>, kept: &[Kept], pages: &[PageText], failures: Vec<FailedQuery>) -> Found {
    let reasons = failures.iter().map(|failed| format!("'{}': {}", failed.query, failed.reason)).collect();
    let shown: Vec<_> = kept.iter().zip(pages).map(|(kept, page)| shown(kept, page)).collect();
    let text = if kept.is_empty() && failures.is_empty() {
        cx.prompts().text("no_results", json!({"queries": call.queries})).into()
    } else {
        let text = cx.prompts().text("search_results", json!({"results": shown, "failures": failures}));
        Text(vec![Part::Flexible(text.into())])
    };
    let link = |kept: &Kept| ResultLink {
        source_id: kept.source_id,
        url: kept.hit.url.clone(),
        title: kept.hit.title.clone(),
    };
    let evidence = kept.iter().zip(pages).map(|(kept, page)| offline::Evidence {
        source_id: kept.source_id,
        title: kept.hit.title.clone(),
        url: kept.hit.url.clone(),
        published: kept.hit.published.clone(),
        text: std::iter::once(&page.summary).chain(&page.excerpts).cloned().collect::<Vec<_>>().join("\n"),
    });
    Found { text, links: kept.iter().map(link).collect(), evidence: evidence.collect(), failures: reasons }
}

fn shown(kept: &Kept, page: &PageText) -> serde_json::Value {
    let excerpts: Vec<_> = page.excerpts.iter().map(|excerpt| untrusted(excerpt)).collect();
    json!({
        "id": kept.source_id.to_string(),
        "title": untrusted(&kept.hit.title),
        "location": location(&kept.hit),
        "published": kept.hit.published.as_deref().map(untrusted),
        "summary": untrusted(&page.summary),
        "excerpts": excerpts,
    })
}

/// Where a source is, without an address that a model could copy as a link.
fn location(hit: &Hit) -> String {
    let place = hit.url.split_once("://").map_or(hit.url.as_str(), |(_, rest)| rest);
    let place = if hit.engine == "local" { place.split('#').next() } else { place.split('/').next() };
    let place = untrusted(place.unwrap_or_default());
    match &hit.section {
        Some(section) => format!("{place}, {}", untrusted(section)),
        None => place,
    }
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    let queries = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(query) => vec![query],
        OneOrMany::Many(queries) => queries,
    };
    let queries: Vec<_> =
        queries.iter().map(|query| query.trim().to_owned()).filter(|query| !query.is_empty()).collect();
    if queries.is_empty() {
        return Err(serde::de::Error::custom("queries must hold at least one text"));
    }
    Ok(queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d31_only_excerpts_that_stand_in_the_page_survive() {
        let page = "The turbine was\n  repaired in May.  It cost 5 crowns.";
        let given = ["The turbine was repaired in May.", "It cost 6 crowns.", " "].map(str::to_owned);
        assert_eq!(verified(&given, page), ["The turbine was repaired in May."]);
    }

    #[test]
    fn queries_come_as_a_list_or_as_one_text() {
        let read = |text: &str| serde_json::from_str::<Arguments>(text).map(|arguments| arguments.queries);
        assert_eq!(read(r#"{"queries":["a"," b "]}"#).unwrap(), ["a", "b"]);
        assert_eq!(read(r#"{"queries":"a"}"#).unwrap(), ["a"]);
        assert_eq!(read(r#"{"query":"a"}"#).unwrap(), ["a"]);
        assert!(read(r#"{"queries":[" "]}"#).is_err());
    }
}
