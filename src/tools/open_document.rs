//! `open_document`: opens a document of the user's own at a passage that a search found, and shows its neighbours, its
//! section, or the whole document, piece by piece.
//!
//! A call is one step of the journal. Everything comes from the index of the engine that found the document.

use futures::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Admitted, Refusal, Site, Tool, ToolError, ToolFuture, ToolOutput, admitted, arguments,
    opened::{self, address_of},
    place_in, source_id, spec,
};
use crate::{
    context::Cx,
    domain::{Source, SourceId, ToolKind},
    llm::{ToolCall, ToolSpec},
    prompts::{Prompts, untrusted},
    search::{Opened, Passage},
};

const NAME: &str = "open_document";
/// Passages on each side of the one that was found.
const NEIGHBOURS: usize = 2;

pub struct OpenDocument {
    spec: ToolSpec,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Share {
    #[default]
    Around,
    Section,
    Document,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "source", alias = "source_id", alias = "id")]
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Share>,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
}

impl OpenDocument {
    /// Offers the tool; `None` when the run searches no documents.
    pub fn offered(cx: &Cx) -> Option<Self> {
        let has_documents = cx.search().is_some_and(crate::search::Engine::has_documents);
        has_documents.then(|| Self { spec: specification(cx.prompts()) })
    }

    async fn open(cx: &Cx, site: Site<'_>, given: Arguments) -> Result<ToolOutput, ToolError> {
        let address = match source_id(&given.address) {
            Some(id) => address_of(cx, id)?,
            None => given.address,
        };
        let Some(engine) = cx.search() else { return Err(no_document(&address)) };
        let opened = engine.document(&address).await;
        let opened = opened.map_err(|error| ToolError::Model(format!("{address}: {error}")))?;
        let opened = opened.filter(|opened| !opened.passages.is_empty()).ok_or_else(|| no_document(&address))?;
        let total = opened.passages.len();
        if let Some(place) = given.place.filter(|place| *place > total) {
            return Err(ToolError::Model(format!("{address} has {total} passages, so there is none at {place}")));
        }
        let at = opened.passages.iter().position(|passage| passage.url == address).unwrap_or(0);
        let wanted = match (given.place, given.part.unwrap_or_default()) {
            (Some(place), _) => place - 1..total,
            (None, Share::Document) => 0..total,
            (None, Share::Section) => section(&opened.passages, at),
            (None, Share::Around) => at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(total),
        };
        let first = wanted.start;
        let texts = opened.passages[wanted].iter().map(|passage| passage.text.as_str());
        let shown = opened::fitting(texts, opened::room(cx));
        Ok(output(cx, site.first_source, &opened, first, shown))
    }
}

fn no_document(address: &str) -> ToolError {
    ToolError::Model(format!("{address} is none of the documents that are searched; give the id of a source"))
}

/// Returns the passages of the section that has the one at that place.
fn section(passages: &[Passage], at: usize) -> std::ops::Range<usize> {
    let is_same = |passage: &&Passage| passage.section == passages[at].section;
    let before = passages[..at].iter().rev().take_while(is_same).count();
    let after = passages[at..].iter().take_while(is_same).count();
    at - before..at + after
}

fn output(cx: &Cx, id: SourceId, opened: &Opened, first: usize, count: usize) -> ToolOutput {
    let found = &opened.passages[first..first + count];
    let numbered = (first + 1..).zip(found);
    let passages: Vec<_> = numbered
        .map(|(number, passage)| opened::Passage { number, heading: passage.section.as_deref(), text: &passage.text })
        .collect();
    let total = opened.passages.len();
    let source = source(id, opened, found);
    let evidence = source.snapshot.to_string();
    let shown = opened::ShownText {
        tool: NAME,
        location: untrusted(source.url.split('#').next().unwrap_or_default()),
        missing: None,
        passages: &passages,
        total,
        next: Some(first + count + 1).filter(|next| *next <= total),
        links: &[],
    };
    shown.output(cx, source, evidence)
}

/// Returns what was shown, under the address of its first passage.
fn source(id: SourceId, opened: &Opened, shown: &[Passage]) -> Source {
    let text = |passage: &Passage| match &passage.section {
        Some(section) => format!("{section}\n{}", passage.text),
        None => passage.text.clone(),
    };
    let snapshot = shown.iter().map(text).collect::<Vec<_>>().join("\n\n");
    let first = shown.first();
    let url = first.map(|passage| passage.url.clone()).unwrap_or_default();
    Source {
        section: first.and_then(|passage| passage.section.clone()),
        published: opened.published.clone(),
        author: opened.author.as_deref().map(crate::domain::printable_line),
        ..Source::retrieved(id, url, opened.title.clone(), opened.engine.clone(), snapshot)
    }
}

fn specification(prompts: &Prompts) -> ToolSpec {
    let described = |name: &str| prompts.text(&format!("tools/open_document.{name}"), ());
    let properties = json!({
        "address": {"type": "string", "description": described("address")},
        "part": {"type": "string", "enum": ["around", "section", "document"], "description": described("part")},
        "place": {"type": "integer", "description": described("place")},
    });
    let parameters =
        json!({"type": "object", "properties": properties, "required": ["address"], "additionalProperties": false});
    spec(NAME, prompts.text("tools/open_document", ()), parameters)
}

impl Tool for OpenDocument {
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
        let given: Arguments = arguments(call)?;
        place_in(&given.address, given.place)?;
        Ok(Admitted { source_ids: 1, ..Admitted::new(json!(given)) })
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move { Self::open(cx, site, admitted(arguments)?).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(sections: &[Option<&str>]) -> Vec<Passage> {
        let passage = |section: &Option<&str>| Passage {
            url: "x".to_owned(),
            section: section.map(str::to_owned),
            text: "x".to_owned(),
        };
        sections.iter().map(passage).collect()
    }

    #[test]
    fn a_section_is_what_hangs_together() {
        let all = passages(&[None, Some("a"), Some("a"), Some("b"), Some("a")]);
        assert_eq!(section(&all, 2), 1..3);
        assert_eq!(section(&all, 4), 4..5);
        assert_eq!(section(&all, 0), 0..1);
    }
}
