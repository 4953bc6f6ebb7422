//! What an agent sees of the results of a search, in short and in full.

use serde::Serialize;
use serde_json::{Value, json};

use super::{ToolOutput, framed, hits::StoredHit};
use crate::{
    context::{Cx, PageText},
    domain::{Evidence, SourceId, event::ResultLink},
    llm::Text,
    prompts::untrusted,
    search::Hit,
};

/// A failed query as templates show it.
#[derive(Serialize)]
pub struct FailedQuery {
    pub query: String,
    pub reason: String,
}

impl FailedQuery {
    /// Makes it fit for the model. Engines say in their own words why they failed.
    fn harmless(&self) -> Self {
        Self { query: untrusted(&self.query), reason: untrusted(&self.reason) }
    }
}

/// What an agent sees of a page.
pub enum PageShown {
    /// It has seen the page before, as this source.
    Before(SourceId),
    Now(PageText),
}

impl PageShown {
    fn text(&self) -> String {
        match self {
            Self::Before(_) => String::new(),
            Self::Now(page) => {
                std::iter::once(&page.summary).chain(&page.excerpts).cloned().collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Returns what the call brought.
pub fn output(
    cx: &Cx,
    queries: &[String],
    hits: &[StoredHit],
    pages: &[PageShown],
    failures: Vec<FailedQuery>,
) -> ToolOutput {
    let results = || hits.iter().zip(pages);
    let failed = failures.iter().map(|failed| format!("'{}': {}", failed.query, failed.reason)).collect();
    let failures: Vec<FailedQuery> = failures.iter().map(FailedQuery::harmless).collect();
    let text = if hits.is_empty() && failures.is_empty() {
        cx.prompts().text("no_results", json!({"queries": queries})).into()
    } else {
        let results: Vec<_> = results().map(|(stored, page)| in_short(stored, page)).collect();
        rendered(cx, json!({"results": results, "failures": failures}))
    };
    let in_full: Vec<_> = results().filter_map(|(stored, page)| in_full(stored, page)).collect();
    let in_full = (!in_full.is_empty()).then(|| rendered(cx, json!({"results": in_full, "failures": []})));
    let link = |stored: &StoredHit| ResultLink {
        source_id: stored.source_id,
        url: stored.hit.url.clone(),
        title: stored.hit.title.clone(),
    };
    let evidence = results().map(|(stored, page)| Evidence {
        source_id: stored.source_id,
        title: stored.hit.title.clone(),
        url: stored.hit.url.clone(),
        published: stored.hit.published.clone(),
        text: page.text(),
    });
    ToolOutput {
        text,
        in_full,
        links: hits.iter().map(link).collect(),
        evidence: evidence.collect(),
        texts: hits.iter().map(|stored| stored.name_of_text().cloned()).collect(),
        failed,
        pages: 0,
        sources: Vec::new(),
    }
}

fn rendered(cx: &Cx, values: Value) -> Text {
    framed(&cx.prompts().text("search_results", values))
}

/// Returns a result as the agent sees it in each of its turns from now on: word for word it stands in [`in_full`].
fn in_short(stored: &StoredHit, page: &PageShown) -> Value {
    match page {
        PageShown::Before(id) => {
            let title = untrusted(&stored.hit.title);
            json!({"id": id.to_string(), "title": title, "is_known": true, "is_long": stored.is_long})
        }
        PageShown::Now(page) => shown(stored, page, &[]),
    }
}

/// Returns a result as notes are made of it, with the excerpts that its summary does not hold; `None` when it is
/// nothing new.
fn in_full(stored: &StoredHit, page: &PageShown) -> Option<Value> {
    let PageShown::Now(page) = page else { return None };
    let own = |excerpt: &&String| !page.summary.contains(excerpt.trim());
    let excerpts: Vec<String> = page.excerpts.iter().filter(own).map(|excerpt| untrusted(excerpt)).collect();
    Some(shown(stored, page, &excerpts))
}

fn shown(stored: &StoredHit, page: &PageText, excerpts: &[String]) -> Value {
    json!({
        "id": stored.source_id.to_string(),
        "is_known": false,
        "title": untrusted(&stored.hit.title),
        "location": location(&stored.hit),
        "published": stored.hit.published.as_deref().map(untrusted),
        "summary": untrusted(&page.summary),
        "excerpts": excerpts,
    })
}

/// Names the place of a source, without an address that a model could copy as a link.
fn location(hit: &Hit) -> String {
    let place = hit.url.split_once("://").map_or(hit.url.as_str(), |(_, rest)| rest);
    let place = if hit.url.contains("://") { place.split('/').next() } else { place.split('#').next() };
    let place = untrusted(place.unwrap_or_default());
    match &hit.section {
        Some(section) => format!("{place}, {}", untrusted(section)),
        None => place,
    }
}
