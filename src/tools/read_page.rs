//! `read_page`: opens a page by its address, or by the id of a source, and shows the passages that matter.
//!
//! A call is one step of the journal. Reading on in a page is another call, which usually finds the page among those
//! read lately (`pages::Web`).

use std::sync::Arc;

use futures::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Admitted, Refusal, Site, Tool, ToolError, ToolFuture, ToolOutput, admitted, arguments,
    opened::{self, Passage, ShownText, address_of, fitting},
    place_in, source_id, spec,
};
use crate::{
    aside::aside,
    context::Cx,
    domain::{Source, SourceId, ToolKind, printable_line},
    llm::{ToolCall, ToolSpec},
    pages::{
        KEPT_CHARS, Web, WebPage,
        extract::{self, Link, passages},
    },
    prompts::{Prompts, untrusted},
    search::Corpus,
};

const NAME: &str = "read_page";
/// Links that are shown of a page, and characters of those that fit a question.
const SHOWN_LINKS: usize = 12;
const LINK_CHARS: usize = 300;
/// The engine of sources that were found by reading them.
const ENGINE: &str = "page";

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

impl ReadPage {
    /// Offers the tool; `None` when the run reads no pages: it may not, or searches documents only.
    pub fn offered(cx: &Cx, web: &Web) -> Option<Self> {
        let may = cx.options().read_pages && cx.search().is_some_and(|engine| engine.corpus() == Corpus::Web);
        may.then(|| Self { spec: specification(cx.prompts()), web: web.clone() })
    }

    async fn read(&self, cx: &Cx, site: Site<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
        let known = source_id(&arguments.address).map(|id| address_of(cx, id).map(|url| (id, url))).transpose()?;
        let address = known.as_ref().map_or(&arguments.address, |(_, url)| url).clone();
        let room = cx.begin_pages(1);
        if let Some(refusal) = room.refusal() {
            return Err(ToolError::Limit(refusal.clone()));
        }
        let page = self.web.read(&address).await.map_err(|error| ToolError::Model(format!("{address}: {error}")))?;
        // Read is read, whatever is wanted of it.
        room.read(1);
        // Where the address leads elsewhere, or a server spoke of the page, what is read is a source of its own.
        let is_it = |(_, url): &(SourceId, String)| *url == crate::net::canonical_url(&page.url);
        let id = known.filter(is_it).map_or(site.first_source, |(id, _)| id);
        let looked_for = LookedFor {
            question: arguments.question,
            place: arguments.place,
            topic: site.topic.to_owned(),
            room: opened::room(cx),
        };
        let text = Arc::clone(&page);
        let work = move || chosen(&text, &looked_for).map(|chosen| (chosen, source(id, &text)));
        let output = match aside(work).await {
            Ok(Ok((chosen, source))) => chosen.output(cx, source, &page),
            Ok(Err(total)) => ToolOutput::failed(cx, NAME, format!("{address} has {total} passages")),
            Err(panicked) => ToolOutput::failed(cx, NAME, format!("{address}: {panicked}")),
        };
        Ok(ToolOutput { pages: 1, ..output })
    }
}

/// The passages of a page that are shown.
struct Chosen {
    /// With their numbers, from 1.
    passages: Vec<(usize, String)>,
    /// Of the whole page.
    total: usize,
    /// The number of the passage to read on from.
    next: Option<usize>,
    links: Vec<Link>,
}

/// What is looked for on a page.
struct LookedFor {
    question: Option<String>,
    /// From 1.
    place: Option<usize>,
    /// What the agent works on.
    topic: String,
    /// Characters that are shown.
    room: usize,
}

/// Returns those from that place on, or those that fit the question; without either all, or of a long page those that
/// fit the topic. The number of all when there are none at that place. Pages are long, so this takes time.
fn chosen(page: &WebPage, looked_for: &LookedFor) -> Result<Chosen, usize> {
    let LookedFor { question, place, topic, room } = looked_for;
    let question = question.as_deref();
    let all = passages::split(&page.text);
    let (first, total) = (place.unwrap_or(1), all.len());
    if first > total {
        return Err(total);
    }
    let numbered: Vec<_> = (1..).zip(&all).map(|(number, text)| Passage { number, heading: None, text }).collect();
    let (shown, next) = match (place, question) {
        (None, Some(question)) => (best(&numbered, question, *room), None),
        (None, None) if page.text.chars().nth(*room).is_some() => {
            let shown = best(&numbered, topic, *room);
            let next = (1..=total).find(|number| shown.iter().all(|passage| passage.number != *number));
            (shown, next)
        }
        _ => following(&numbered[first - 1..], *room),
    };
    let links = links(&page.links, &shown, question);
    let passages = shown.into_iter().map(|passage| (passage.number, passage.text.to_owned())).collect();
    Ok(Chosen { passages, total, next, links })
}

/// Returns the links that fit the question, then those in the passages that are shown.
fn links(all: &[Link], shown: &[Passage<'_>], question: Option<&str>) -> Vec<Link> {
    let texts: Vec<&str> = all.iter().map(|link| link.text.as_str()).collect();
    let fitting = question.map(|question| super::passages::best(&texts, &[question], LINK_CHARS)).unwrap_or_default();
    let is_shown = |place: &usize| shown.iter().any(|passage| passage.text.contains(texts[*place]));
    let others = (0..all.len()).filter(|place| !fitting.contains(place)).filter(is_shown);
    fitting.iter().copied().chain(others).take(SHOWN_LINKS).map(|place| all[place].clone()).collect()
}

impl Chosen {
    fn output(&self, cx: &Cx, source: Source, page: &WebPage) -> ToolOutput {
        let passages: Vec<_> =
            self.passages.iter().map(|(number, text)| Passage { number: *number, heading: None, text }).collect();
        let evidence = passages.iter().map(|passage| passage.text).collect::<Vec<_>>().join("\n\n");
        let shown = ShownText {
            tool: NAME,
            location: location(page),
            missing: page.missing.as_deref(),
            passages: &passages,
            total: self.total,
            next: self.next,
            links: &self.links,
        };
        shown.output(cx, source, evidence)
    }
}

/// Returns as many passages as are shown at once, and the number of the next one.
fn following<'a>(passages: &[Passage<'a>], room: usize) -> (Vec<Passage<'a>>, Option<usize>) {
    let (shown, rest) = passages.split_at(fitting(passages.iter().map(|passage| passage.text), room));
    (shown.to_vec(), rest.first().map(|passage| passage.number))
}

/// Returns the passages that fit a question best, in reading order; the beginning when none does.
fn best<'a>(passages: &[Passage<'a>], question: &str, room: usize) -> Vec<Passage<'a>> {
    let texts: Vec<&str> = passages.iter().map(|passage| passage.text).collect();
    let chosen = super::passages::best(&texts, &[question], room);
    if chosen.is_empty() {
        following(passages, room).0
    } else {
        chosen.into_iter().map(|place| passages[place]).collect()
    }
}

fn location(page: &WebPage) -> String {
    let host = page.url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    match &page.site {
        Some(site) => format!("{} ({})", untrusted(site), untrusted(host)),
        None => untrusted(host),
    }
}

fn source(id: SourceId, page: &WebPage) -> Source {
    let snapshot = extract::cut(&page.text, KEPT_CHARS);
    let addresses = std::iter::once(&*page.url).chain(page.own_url.as_deref());
    let engine = page.read_by.map_or_else(|| ENGINE.to_owned(), |reader| format!("{ENGINE}, read by {reader}"));
    Source {
        published: page.published.clone(),
        author: page.author.as_deref().map(printable_line),
        site: page.site.as_deref().map(printable_line),
        keys: super::keys_of(addresses, page.original.as_deref(), Some(snapshot)),
        ..Source::retrieved(id, crate::net::canonical_url(&page.url), page.title.clone(), engine, snapshot)
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

    fn opened_address(&self, cx: &Cx, arguments: &Value) -> Option<String> {
        opened::opened_address(cx, arguments)
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let mut given: Arguments = arguments(call)?;
        // Before it is announced, kept or shown: what a model knows of users and passwords is nobody else's.
        given.address = crate::net::without_user(&given.address).into_owned();
        place_in(&given.address, given.place)?;
        Ok(Admitted { source_ids: 1, ..Admitted::new(json!(given)) })
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
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
        let passages: Vec<_> = (1..).zip(texts).map(|(number, text)| Passage { number, heading: None, text }).collect();
        let numbers =
            |question: &str| best(&passages, question, 8_000).iter().map(|passage| passage.number).collect::<Vec<_>>();
        assert_eq!(numbers("Which loan and dues are there?"), [2, 4]);
        assert_eq!(numbers("Zebras?"), [1, 2, 3, 4], "nothing fits, so it is read from the beginning");
    }

    #[test]
    fn links_that_fit_the_question_come_first() {
        let link = |text: &str| Link { text: text.to_owned(), target: format!("https://a.test/{text}") };
        let all = ["Home", "Minutes", "The loan of 1931", "Dues", "Gulls"].map(link);
        let passage = Passage { number: 1, heading: None, text: "Dues are in the Minutes." };
        let texts = |question: Option<&str>| -> Vec<String> {
            links(&all, &[passage], question).into_iter().map(|link| link.text).collect()
        };
        assert_eq!(texts(Some("Which loan was it?")), ["The loan of 1931", "Minutes", "Dues"]);
        assert_eq!(texts(None), ["Minutes", "Dues"]);
        let many: Vec<Link> = (0..100).map(|_| link("Dues")).collect();
        assert_eq!(links(&many, &[passage], Some("dues")).len(), SHOWN_LINKS);
    }

    #[test]
    fn a_long_page_is_read_in_pieces() {
        let text = "x".repeat(3_000);
        let passages: Vec<_> = (1..=5).map(|number| Passage { number, heading: None, text: &text }).collect();
        let (shown, next) = following(&passages, 8_000);
        assert_eq!((shown.len(), next), (3, Some(4)));
        let (shown, next) = following(&passages[3..], 8_000);
        assert_eq!((shown.len(), next), (2, None));
    }
}
