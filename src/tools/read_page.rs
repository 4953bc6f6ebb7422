//! `read_page`: opens a page by its address, or by the id of a source, and shows the passages that matter.
//!
//! A call is one step of the journal. Reading on in a page is another call, which usually finds the page among those
//! read lately (`pages::Web`).

use futures::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admitted, Refusal, Site, Tool, ToolError, ToolOutput, admitted, arguments, place_in, source_id, spec};
use crate::{
    context::Cx,
    domain::{Source, SourceId, Timestamp, ToolKind, digest, event::ResultLink, printable_line},
    llm::{Part, Text, ToolCall, ToolSpec},
    offline::Evidence,
    pages::{Web, WebPage, extract::passages},
    prompts::{Prompts, untrusted},
};

const NAME: &str = "read_page";
/// The engine of sources that were found by reading them.
const ENGINE: &str = "page";
/// Characters shown of a page by one call.
const SHOWN_CHARS: usize = 8_000;

pub struct ReadPage {
    spec: ToolSpec,
    web: Web,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "url")]
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
}

/// A passage of a page.
struct Passage<'a> {
    /// From 1.
    number: usize,
    text: &'a str,
}

impl ReadPage {
    /// `None` when the run reads no pages: it may not, or searches documents only.
    pub fn offered(cx: &Cx, web: &Web) -> Option<Self> {
        let may = cx.options().read_pages && super::search_web::kind(cx) == "web";
        may.then(|| Self { spec: specification(cx.prompts()), web: web.clone() })
    }

    async fn read(&self, cx: &Cx, site: Site<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
        let (address, id) = match source_id(&arguments.address) {
            Some(id) => (address_of(cx, id)?, id),
            None => (arguments.address.clone(), site.first_source),
        };
        let room = cx.begin_pages(1);
        if let Some(refusal) = room.refusal() {
            return Err(ToolError::Limit(refusal.clone()));
        }
        let page = self.web.read(&address).await.map_err(|error| ToolError::Model(format!("{address}: {error}")))?;
        let all = passages::split(&page.text);
        let first = arguments.place.unwrap_or(1);
        if first > all.len() {
            return Err(ToolError::Model(format!("{address} has {} passages", all.len())));
        }
        let numbered: Vec<_> = (1..).zip(&all).map(|(number, text)| Passage { number, text }).collect();
        let (shown, next) = match arguments.question.as_deref().filter(|_| arguments.place.is_none()) {
            Some(question) => (best(&numbered, question), None),
            None => following(&numbered[first - 1..]),
        };
        room.read(1);
        Ok(output(cx, id, &page, &shown, all.len(), next))
    }
}

pub(super) fn address_of(cx: &Cx, id: SourceId) -> Result<String, ToolError> {
    let source = cx.sources().into_iter().find(|source| source.ids().any(|known| known == id));
    let source = source.ok_or_else(|| ToolError::Model(format!("there is no source {id}")))?;
    Ok(source.url)
}

/// As many as are shown at once, and the number of the next one.
fn following<'a>(passages: &'a [Passage<'a>]) -> (Vec<&'a Passage<'a>>, Option<usize>) {
    let mut room = SHOWN_CHARS;
    let fits = |passage: &&Passage<'_>| {
        let fits = room > 0;
        room = room.saturating_sub(passage.text.chars().count());
        fits
    };
    let shown: Vec<_> = passages.iter().take_while(fits).collect();
    let next = passages.get(shown.len()).map(|passage| passage.number);
    (shown, next)
}

/// The passages that fit a question best, in reading order; the beginning when none does.
fn best<'a>(passages: &'a [Passage<'a>], question: &str) -> Vec<&'a Passage<'a>> {
    let texts: Vec<&str> = passages.iter().map(|passage| passage.text).collect();
    let chosen = super::passages::best(&texts, question, SHOWN_CHARS);
    if chosen.is_empty() { following(passages).0 } else { chosen.into_iter().map(|place| &passages[place]).collect() }
}

fn output(
    cx: &Cx,
    id: SourceId,
    page: &WebPage,
    shown: &[&Passage<'_>],
    total: usize,
    next: Option<usize>,
) -> ToolOutput {
    let host = page.url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let location = match &page.site {
        Some(site) => format!("{} ({})", untrusted(site), untrusted(host)),
        None => untrusted(host),
    };
    let texts: Vec<_> = shown
        .iter()
        .map(|passage| json!({"number": passage.number, "heading": null, "text": untrusted(passage.text)}))
        .collect();
    let values = json!({
        "tool": NAME,
        "id": id.to_string(),
        "title": untrusted(&page.title),
        "location": location,
        "author": page.author.as_deref().map(untrusted),
        "published": page.published.as_deref().map(untrusted),
        "missing": page.missing.as_deref().map(untrusted),
        "passages": texts,
        "total": total,
        "next": next,
    });
    let evidence = shown.iter().map(|passage| passage.text).collect::<Vec<_>>().join("\n\n");
    let source = source(cx, id, page);
    ToolOutput {
        text: Text(vec![Part::Flexible(cx.prompts().text("page", values).into())]),
        links: vec![ResultLink { source_id: id, url: source.url.clone(), title: source.title.clone() }],
        evidence: vec![Evidence {
            source_id: id,
            title: source.title.clone(),
            url: source.url.clone(),
            published: source.published.clone(),
            text: evidence,
        }],
        pages: 1,
        sources: vec![source],
        ..ToolOutput::default()
    }
}

fn source(cx: &Cx, id: SourceId, page: &WebPage) -> Source {
    let snapshot: String = page.text.chars().take(cx.options().max_content_length as usize).collect();
    Source {
        id,
        aliases: Vec::new(),
        url: crate::net::canonical_url(&page.url),
        title: page.title.clone(),
        section: None,
        engine: ENGINE.to_owned(),
        score: None,
        published: page.published.clone(),
        author: page.author.as_deref().map(printable_line),
        site: page.site.as_deref().map(printable_line),
        fetched_at: Timestamp::now(),
        content_hash: digest::sha256_hex(snapshot.as_bytes()),
        addresses: Vec::new(),
        keys: super::keys_of([page.url.as_str()], Some(&snapshot)),
        snapshot,
    }
}

fn specification(prompts: &Prompts) -> ToolSpec {
    let described = |name: &str, kind: &str| json!({"type": kind, "description": prompts.text(&format!("tools/read_page.{name}"), ())});
    let properties = json!({
        "address": described("address", "string"),
        "question": described("question", "string"),
        "place": described("place", "integer"),
    });
    let parameters =
        json!({"type": "object", "properties": properties, "required": ["address"], "additionalProperties": false});
    spec(NAME, prompts.text("tools/read_page", ()), parameters)
}

impl Tool for ReadPage {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let given: Arguments = arguments(call)?;
        place_in(&given.address, given.place)?;
        let source_ids = u32::from(source_id(&given.address).is_none());
        Ok(Admitted { source_ids, ..Admitted::new(json!(given)) })
    }

    fn call<'a>(
        &'a self,
        cx: &'a Cx,
        site: Site<'a>,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move { self.read(cx, site, admitted(arguments)?).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_by_its_id() {
        assert_eq!(
            ["S1003", "[S7]", " S2 "].map(source_id),
            [Some(SourceId(1003)), Some(SourceId(7)), Some(SourceId(2))]
        );
        assert_eq!(["https://a.test/S1", "S", "1003", "Sx"].map(source_id), [None; 4]);
    }

    #[test]
    fn a_question_gets_the_passages_that_fit_it() {
        let texts =
            ["The harbour is old.", "Dues of four crowns pay the gate.", "Gulls nest here.", "The loan pays too."];
        let passages: Vec<_> = (1..).zip(texts).map(|(number, text)| Passage { number, text }).collect();
        let numbers =
            |question: &str| best(&passages, question).iter().map(|passage| passage.number).collect::<Vec<_>>();
        assert_eq!(numbers("Which loan and dues are there?"), [2, 4]);
        assert_eq!(numbers("Zebras?"), [1, 2, 3, 4], "nothing fits, so it is read from the beginning");
    }

    #[test]
    fn a_long_page_is_read_in_pieces() {
        let text = "x".repeat(3_000);
        let passages: Vec<_> = (1..=5).map(|number| Passage { number, text: &text }).collect();
        let (shown, next) = following(&passages);
        assert_eq!((shown.len(), next), (3, Some(4)));
        let (shown, next) = following(&passages[3..]);
        assert_eq!((shown.len(), next), (2, None));
    }
}
