//! `search_web`: queries in, sources out.
//!
//! Each query is a step of the journal, so one that fails does not fail the others and none is paid for twice. Each
//! page is read once per run, and a long one once for each search that it answers (`summary.rs`).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Admitted, LeftOut, Refusal, Site, TIME_OVER, Tool, ToolFuture, ToolOutput, admitted, arguments,
    hits::{PagesOfCall, StoredHit, source, stored},
    narrowing::{self, GivenNarrowing, Narrowing},
    property,
    results::{FailedQuery, PageShown, output},
    retrieval::{self, Retrieved, StandIn},
    summary::{self, Reading, Wanted},
};
use crate::{
    context::{Cx, Error, PageText, Registered, is_refusal, text_path},
    domain::{Event, Failure, FailureCode, Source, SourceId, Timestamp, ToolKind, WarningCode, digest},
    journal::{Entry, Fingerprint, StepKind},
    llm::{ToolCall, ToolSpec},
    net::same_page,
    pages::Web,
    search::{self, Corpus, Engine, Filters, Hit, Limits},
    telemetry::metrics,
};

const NAME: &str = "search_web";
/// Pages of one call that are summarised at the same time.
const SUMMARIES_AT_ONCE: usize = 10;

/// Names that models trained on other systems use for it.
const ALIASES: [&str; 3] = ["tavily_search", "web_search", "search"];
/// Characters of a task that stand in for a query: as many as every engine takes.
const QUERY_CHARS: usize = 200;

/// Arguments of `search_web`; a single string is taken as one query.
#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(deserialize_with = "one_or_many", alias = "query")]
    queries: Vec<String>,
    #[serde(flatten)]
    said: GivenNarrowing,
}

/// The same, as it was admitted.
#[derive(Debug, Serialize, Deserialize)]
struct AdmittedArguments {
    queries: Vec<String>,
    #[serde(flatten)]
    narrowing: Narrowing,
}

/// A call, as its queries share it.
struct Search<'a> {
    site: Site<'a>,
    web: Option<&'a Web>,
    limits: Limits,
}

/// The search of one researcher.
#[derive(Debug)]
pub struct SearchWeb {
    spec: ToolSpec,
    /// Fetches pages of results; `None` when the run fetches none.
    web: Option<Web>,
    /// Results asked for per query.
    results: u32,
    /// Queries that one turn may run, so that source ids never run out.
    queries_per_turn: usize,
    /// The path of the current turn, and the queries it may still run.
    turn: (String, usize),
    /// Queries of all turns, in lower case.
    asked: HashSet<String>,
}

impl SearchWeb {
    /// Offers the tool; `None` when there is nothing that it could search.
    pub fn offered(cx: &Cx, web: Option<&Web>) -> Option<Self> {
        cx.search().map(|_| Self::new(cx, web))
    }

    fn new(cx: &Cx, web: Option<&Web>) -> Self {
        let results = cx.options().effort.results();
        let per_turn = SourceId::PER_RESEARCHER / results / (cx.options().max_react_tool_calls + 1);
        Self {
            spec: spec(cx, results),
            results,
            web: web.filter(|_| cx.options().read_pages).cloned(),
            queries_per_turn: per_turn as usize,
            turn: Default::default(),
            asked: HashSet::new(),
        }
    }

    fn left_out(&self, cx: &Cx, queries: &[String]) -> LeftOut {
        let limit = self.queries_per_turn;
        let detail = format!("{} queries were not run; one turn runs at most {limit}", queries.len());
        LeftOut { detail, note: cx.prompts().text("queries_left_out", json!({"queries": queries, "limit": limit})) }
    }
}

impl Tool for SearchWeb {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn aliases(&self) -> &[&str] {
        &ALIASES
    }

    /// Returns `false`: each query is a step, so that none is paid for twice because another one failed.
    fn is_one_step(&self) -> bool {
        false
    }

    fn for_task(&self, task: &str) -> Option<Value> {
        let query: String = task.chars().take(QUERY_CHARS).collect();
        Some(json!({"queries": [query]}))
    }

    /// Returns the queries that are new, as far as there is room for them.
    fn admit(&mut self, cx: &Cx, turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        if self.turn.0 != turn {
            self.turn = (turn.to_owned(), self.queries_per_turn);
        }
        let given: Arguments = arguments(call)?;
        let narrowing = given.said.offered(cx, self.results);
        let queries = given.queries;
        let narrowed = narrowing.in_words();
        let known = |query: &String| format!("{}{narrowed}", query.to_lowercase());
        let mut queries: Vec<_> = queries.into_iter().filter(|query| self.asked.insert(known(query))).collect();
        if queries.is_empty() {
            return Err(Refusal::Answer(cx.prompts().text("repeated_call", json!({"name": NAME}))));
        }
        let left_out = queries.split_off(queries.len().min(self.turn.1));
        for query in &left_out {
            self.asked.remove(&known(query));
        }
        if queries.is_empty() {
            return Err(Refusal::Answer(self.left_out(cx, &left_out).note));
        }
        self.turn.1 -= queries.len();
        Ok(Admitted {
            source_ids: self.results.saturating_mul(u32::try_from(queries.len()).unwrap_or(u32::MAX)),
            left_out: (!left_out.is_empty()).then(|| self.left_out(cx, &left_out)),
            arguments: json!(AdmittedArguments { queries, narrowing }),
        })
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move {
            let given: AdmittedArguments = admitted(arguments)?;
            let max_results = given.narrowing.results(self.results);
            let filters = given.narrowing.over(Filters::from(cx.options()));
            let limits = Limits { max_results, filters };
            Ok(search(cx, Search { site, web: self.web.as_ref(), limits }, &given.queries).await?)
        }
        .boxed()
    }
}

/// What the journal keeps of a query.
#[derive(Debug, Serialize, Deserialize)]
struct Searched {
    #[serde(flatten)]
    outcome: Result<Vec<StoredHit>, String>,
    /// Who answered it in place of the engines that were asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stand_in: Option<StandIn>,
    /// The searches that a model made for it, which is not always one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    searches: Option<u64>,
    /// Pages that it read, or that the engine sent: what the run counts.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pages: usize,
    /// Whether there are pages that were not read because the run may read no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pages_left_out: bool,
    /// Of several engines those that failed, while others answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
    /// Addresses of results whose pages could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

impl From<Result<Vec<StoredHit>, String>> for Searched {
    fn from(outcome: Result<Vec<StoredHit>, String>) -> Self {
        let (lost, unread) = (Vec::new(), Vec::new());
        Self { outcome, stand_in: None, searches: None, pages: 0, pages_left_out: false, lost, unread }
    }
}

impl Searched {
    /// Notes what the report has to say of the search by that engine.
    fn note_limits(&self, cx: &Cx, engine: &str) {
        let reason = self.outcome.as_ref().err();
        cx.limit(|limits| {
            match reason {
                Some(reason) if reason == TIME_OVER => limits.time_over(),
                Some(reason) if !is_refusal(reason) => limits.search_failed(engine),
                _ => {}
            }
            if let Some(StandIn { of, by, .. }) = &self.stand_in {
                limits.engine_replaced(of, by);
            }
            limits.pages_left_out |= self.pages_left_out;
            self.lost.iter().for_each(|engine| limits.search_failed(engine));
            self.unread.iter().for_each(|page| limits.page_unread(same_page(page), page));
            let read = self.outcome.iter().flatten().filter(|stored| stored.text_hash.is_some());
            read.for_each(|stored| limits.page_read(same_page(&stored.hit.url)));
        });
    }
}

/// Returns the tool as models see it.
fn spec(cx: &Cx, results: u32) -> ToolSpec {
    let prompts = cx.prompts();
    let description = prompts.text("tools/search_web.queries", ());
    let mut parameters = property("queries", description, json!({"type": "array", "items": {"type": "string"}}));
    for (name, schema) in narrowing::properties(cx, results) {
        parameters["properties"][name] = schema;
    }
    let has_documents = cx.search().is_some_and(Engine::has_documents);
    let values = json!({"kind": corpus(cx).as_str(), "has_documents": has_documents, "max_results": results});
    super::spec(NAME, prompts.text("tools/search_web", values), parameters)
}

/// Returns the kind of what is searched.
pub(super) fn corpus(cx: &Cx) -> Corpus {
    cx.search().map_or(Corpus::Web, Engine::corpus)
}

/// Runs the queries side by side, reads their pages, and puts the results together.
///
/// # Errors
/// A refused key, and [`Error::Stop`]; failed queries are part of the result.
async fn search(cx: &Cx, search: Search<'_>, queries: &[String]) -> Result<ToolOutput, Error> {
    let site = search.site;
    let searches = queries.iter().enumerate().map(|(index, query)| one_query(cx, &search, index, query));
    let outcomes = futures::future::join_all(searches).await;
    let (mut found, mut failures) = (PagesOfCall::default(), Vec::new());
    for (query, outcome) in queries.iter().zip(outcomes) {
        match outcome? {
            Ok(hits) => found.add(query, hits),
            Err(reason) => failures.push(FailedQuery { query: query.clone(), reason }),
        }
    }
    let PagesOfCall { mut hits, queries: found_by, .. } = found;
    let known = known(&hits, site);
    // A text goes with its reading, so that none is held for longer.
    let texts: Vec<_> = hits.iter_mut().map(StoredHit::take_text).collect();
    let reading = hits.iter().zip(texts).zip(found_by).zip(&known);
    let reading = reading.map(|(((hit, text), query), known)| {
        known.is_none().then(|| hit.reading(text, Wanted::of(site, query))).flatten()
    });
    let reading: Vec<_> = reading.collect();
    let reading = hits.iter().zip(reading).zip(known);
    // Boxed: each is 13 KB, and would be kept twice, here and where it runs.
    let reading: Vec<_> = reading.map(|((hit, reading), known)| page_shown(cx, hit, reading, known).boxed()).collect();
    let pages: Vec<_> = stream::iter(reading).buffered(SUMMARIES_AT_ONCE).collect().await;
    let pages = pages.into_iter().collect::<Result<Vec<PageShown>, _>>()?;
    Ok(output(cx, queries, &hits, &pages, failures))
}

/// Searches once per run and place, and stores the sources with their texts.
async fn one_query(
    cx: &Cx,
    search: &Search<'_>,
    index: usize,
    query: &str,
) -> Result<Result<Vec<StoredHit>, String>, Error> {
    let Search { site, limits, .. } = search;
    let results = cx.options().effort.results();
    let key = format!("{}/search/{}", site.turn, (site.reserved_before / results) as usize + index);
    let Some(engine) = cx.search() else { return Ok(Err("no search engine is configured".to_owned())) };
    let first = site.first_source.0 + results.saturating_mul(u32::try_from(index).unwrap_or(u32::MAX));
    let fingerprint = Fingerprint::from(asked_for(cx, query, limits));
    let work = async {
        if let Some(TakenOver { hits, searched, at }) = inherited(cx, &key, &fingerprint) {
            let entry = announced(cx, searched.stand_in.as_ref(), stored(cx, query, first, hits).await);
            let entry = Entry { inherited: Some(at), ..entry };
            return Ok(entry.map(|outcome| Searched { outcome, ..searched }));
        }
        Ok(searched(cx, engine, search, query, first).await)
    };
    let searched: Searched = cx.journal().step(&key, StepKind::Search, fingerprint.clone(), work).await?;
    searched.note_limits(cx, engine.name());
    let Searched { outcome, stand_in, .. } = searched;
    if let Some(StandIn { by, .. }) = &stand_in {
        // A replay goes on where the announcements ended.
        cx.is_first_answer_of(by);
    }
    // Every other search would end in the same way, and so would each later one.
    if let Err(reason) = &outcome
        && search::is_lasting(reason)
    {
        return Err(Failure::new(FailureCode::SearchAuth, format!("{reason}; see fathom doctor")).into());
    }
    keep(cx, outcome.iter().flatten());
    Ok(outcome)
}

/// Asks the engine, within what the run may still use.
async fn searched(cx: &Cx, engine: &Engine, search: &Search<'_>, query: &str, first: u32) -> Entry<Searched> {
    let _reserved = match cx.begin_search() {
        Ok(reserved) => reserved,
        Err(refused) => return refused.map(|message| Searched::from(Err(message))),
    };
    let retrieved = retrieval::retrieve(cx, engine, search.web, search.site, query, &search.limits).await;
    let (taken, pages, refusal) = (retrieved.taken, retrieved.pages, retrieved.refusal.clone());
    let (stand_in, unread) = (retrieved.stand_in.clone(), retrieved.unread.clone());
    let lost = if matches!(retrieved.answer, Some(Ok(_))) {
        retrieved.lost.iter().map(|(engine, _)| engine.clone()).collect()
    } else {
        Vec::new()
    };
    let mut entry = announced(cx, stand_in.as_ref(), entry(cx, query, first, retrieved).await);
    if let Some(taken) = taken {
        entry = cx.with_search(taken, entry);
    }
    if let Some(refusal) = &refusal {
        entry = cx.with_refusal(refusal, entry);
    }
    let (searches, pages_left_out) = (taken.map(|taken| taken.searches), refusal.is_some());
    entry.map(|outcome| Searched { outcome, stand_in, searches, pages, pages_left_out, lost, unread })
}

/// Says of an engine, once in the run, in whose place it answers.
fn announced<T>(cx: &Cx, stand_in: Option<&StandIn>, entry: Entry<T>) -> Entry<T> {
    match stand_in.filter(|stand_in| cx.is_first_answer_of(&stand_in.by)) {
        Some(StandIn { of, by, reason }) => {
            let detail = format!("{by} stands in for {of}: {reason}");
            entry.event(cx.scope(), Event::warning(WarningCode::EngineReplaced, detail))
        }
        None => entry,
    }
}

/// Makes the results sources of the run, and keeps the texts that their sources do not have.
fn keep<'a>(cx: &Cx, hits: impl Iterator<Item = &'a StoredHit>) {
    for stored in hits {
        let by_excerpt = source(&stored.hit, stored.source_id, None);
        let content_hash = stored.text_hash.clone().unwrap_or_else(|| by_excerpt.content_hash.clone());
        let excerpt = Arc::clone(&by_excerpt.snapshot);
        let registered = cx.register(&mut Source { content_hash: content_hash.clone(), ..by_excerpt });
        match (&stored.text_hash, &stored.own_text) {
            (Some(_), Some(text)) => cx.keep_other_text(&stored.hit.url, content_hash, Arc::clone(text)),
            (None, _) if registered == Registered::OtherText => {
                cx.keep_other_text(&stored.hit.url, content_hash, excerpt);
            }
            _ => {}
        }
    }
}

/// Returns what came of a query as one step, with its warnings.
async fn entry(
    cx: &Cx,
    query: &str,
    first: u32,
    Retrieved { answer, lost, unparsed, .. }: Retrieved,
) -> Entry<Result<Vec<StoredHit>, String>> {
    let warning = |detail: String| Event::warning(WarningCode::SearchFailed, detail);
    let Some(answer) = answer else {
        metrics::step_failed("search", "timeout");
        let detail = format!("the search for '{query}' was given up: {TIME_OVER}");
        return Entry::new(Err(TIME_OVER.to_owned())).event(cx.scope(), warning(detail));
    };
    let entry = match answer {
        Ok(hits) => stored(cx, query, first, hits).await,
        Err(error) => {
            metrics::step_failed("search", error.code());
            let failed = Entry::new(Err(error.to_string()));
            let detail = || format!("the search for '{query}' failed: {error}");
            if error.is_lasting() { failed } else { failed.event(cx.scope(), warning(detail())) }
        }
    };
    let unparsed = unparsed.into_iter().map(|what| (what, "no parser was free".to_owned()));
    lost.into_iter().chain(unparsed).fold(entry, |entry, (name, reason)| {
        let detail = format!("the search for '{query}' goes on without {name}: {reason}");
        entry.event(cx.scope(), warning(detail))
    })
}

/// Returns the hash of what is searched for. Without filters it is the one of releases that had none.
fn asked_for(cx: &Cx, query: &str, limits: &Limits) -> String {
    let basic = (query, limits.max_results, cx.options().max_content_length);
    if limits.filters == Filters::default() {
        digest::sha256_json(&basic)
    } else {
        digest::sha256_json(&(basic, &limits.filters))
    }
}

/// What a run that this one retries found.
struct TakenOver {
    /// With the texts of their pages.
    hits: Vec<Hit>,
    /// All but these, which are not taken over as they are.
    searched: Searched,
    /// When it began and ended.
    at: (Timestamp, Timestamp),
}

/// Returns what a run that this one retries found; `None` when there is no such run, or not all of its texts are there.
fn inherited(cx: &Cx, key: &str, fingerprint: &Fingerprint) -> Option<TakenOver> {
    let inherited = cx.journal().inherited::<Searched>(key, fingerprint)?;
    let Searched { outcome, stand_in, lost, unread, pages_left_out, .. } = inherited.value;
    let whole = |stored: StoredHit| {
        let raw_content = match (stored.own_text, stored.text_hash) {
            (Some(text), _) => Some(text.to_string()),
            (None, Some(hash)) => Some(cx.inherited_text(&text_path(&stored.hit.url, &hash))?.to_owned()),
            (None, None) => None,
        };
        Some(Hit { raw_content, ..stored.hit })
    };
    let hits: Option<Vec<Hit>> = outcome.ok()?.into_iter().map(whole).collect();
    let searched = Searched { stand_in, lost, unread, pages_left_out, ..Searched::from(Ok(Vec::new())) };
    Some(TakenOver { hits: hits?, searched, at: inherited.at })
}

/// Returns what the agent knows of each hit, by the source as which it does: a text that it has read, a page that it
/// has opened, the same text further up, or, for a hit without a text, a page that it has read or whose excerpt it has
/// seen: excerpts depend on the query.
fn known(hits: &[StoredHit], site: Site<'_>) -> Vec<Option<SourceId>> {
    let mut above = HashMap::new();
    let of = |stored: &StoredHit| {
        let url = &stored.hit.url;
        let Some(text) = stored.name_of_text() else {
            let is_read = |place: usize| site.read.values().any(|read| *read == place);
            let seen = site.evidence.iter().enumerate().find(|(place, known)| {
                known.url == *url && (is_read(*place) || known.text.contains(stored.hit.snippet.trim()))
            });
            return seen.map(|(_, known)| known.source_id);
        };
        let place = site.read.get(text).or_else(|| site.read.get(url));
        let before = place.and_then(|place| site.evidence.get(*place)).map(|known| known.source_id);
        let first = *above.entry(text.clone()).or_insert(stored.source_id);
        before.or(Some(first).filter(|first| *first != stored.source_id))
    };
    hits.iter().map(of).collect()
}

/// Returns what is shown of a page. What the agent knows is not read again.
async fn page_shown(
    cx: &Cx,
    stored: &StoredHit,
    reading: Option<Reading<'_>>,
    known: Option<SourceId>,
) -> Result<PageShown, Error> {
    let shown = match (known, reading) {
        (Some(known), _) => return Ok(PageShown::Before(known)),
        (None, Some(reading)) => summary::of_page(cx, reading).await?,
        (None, None) => PageText { summary: stored.hit.snippet.clone(), excerpts: Vec::new() },
    };
    Ok(PageShown::Now(shown))
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    let queries = match OneOrMany::deserialize(deserializer)? {
        // Some models send the list as a text.
        OneOrMany::One(query) => serde_json::from_str(&query).unwrap_or_else(|_| vec![query]),
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
    fn queries_come_as_a_list_or_as_one_text() {
        let read = |text: &str| serde_json::from_str::<Arguments>(text).map(|arguments| arguments.queries);
        assert_eq!(read(r#"{"queries":["a"," b "]}"#).unwrap(), ["a", "b"]);
        assert_eq!(read(r#"{"queries":"a"}"#).unwrap(), ["a"]);
        assert_eq!(read(r#"{"query":"a"}"#).unwrap(), ["a"]);
        assert_eq!(read(r#"{"queries":"[\"a\", \"b\"]"}"#).unwrap(), ["a", "b"]);
        assert_eq!(read(r#"{"queries":"[gate] cost"}"#).unwrap(), ["[gate] cost"]);
        assert!(read(r#"{"queries":[" "]}"#).is_err());
    }
}
