//! What a model is shown of a page or a document that it has opened: numbered passages, and where to read on.

use serde_json::{Value, json};

use super::{ToolError, ToolOutput, framed, source_id};
use crate::{
    context::Cx,
    domain::{Source, SourceId},
    pages::extract::Link,
    prompts::untrusted,
};

/// Characters shown by one call.
const SHOWN_CHARS: usize = 8_000;

/// Returns the address of a source of the run.
pub fn address_of(cx: &Cx, id: SourceId) -> Result<String, ToolError> {
    let source = cx.sources().into_iter().find(|source| source.ids().any(|known| known == id));
    let source = source.ok_or_else(|| ToolError::Model(format!("there is no source {id}")))?;
    Ok(source.url)
}

/// Returns the address that a call opens, also where its arguments name a source; `None` for a source that there is
/// not.
pub fn opened_address(cx: &Cx, arguments: &Value) -> Option<String> {
    let address = arguments["address"].as_str()?;
    match source_id(address) {
        Some(id) => address_of(cx, id).ok(),
        None => Some(address.to_owned()),
    }
}

/// Returns the number of characters that one call shows in this run.
pub fn room(cx: &Cx) -> usize {
    SHOWN_CHARS.min(cx.options().max_content_length as usize)
}

/// A passage of a page or document.
#[derive(Clone, Copy)]
pub struct Passage<'a> {
    /// From 1.
    pub number: usize,
    pub heading: Option<&'a str>,
    pub text: &'a str,
}

/// What one call shows.
pub struct ShownText<'a> {
    /// The tool that reads on.
    pub tool: &'a str,
    /// Where it lies; harmless for prompts.
    pub location: String,
    /// What could not be read of it.
    pub missing: Option<&'a str>,
    pub passages: &'a [Passage<'a>],
    /// Passages of the whole.
    pub total: usize,
    /// The number of the passage to read on from.
    pub next: Option<usize>,
    /// Where it leads to, for the same tool.
    pub links: &'a [Link],
}

impl ShownText<'_> {
    /// Returns the answer of the call: one source, whose evidence is that text.
    pub fn output(&self, cx: &Cx, source: Source, evidence: String) -> ToolOutput {
        let mut output = ToolOutput::text(framed(&self.rendered(cx, &source)));
        output.add(source, evidence);
        output
    }

    fn rendered(&self, cx: &Cx, source: &Source) -> String {
        let passage = |passage: &Passage<'_>| {
            let heading = passage.heading.map(untrusted);
            json!({"number": passage.number, "heading": heading, "text": untrusted(passage.text)})
        };
        let link = |link: &Link| json!({"text": untrusted(&link.text), "address": untrusted(&link.target)});
        let values = json!({
            "tool": self.tool,
            "id": source.id.to_string(),
            "title": untrusted(&source.title),
            "location": self.location,
            "author": source.author.as_deref().map(untrusted),
            "published": source.published.as_deref().map(untrusted),
            "missing": self.missing.map(untrusted),
            "passages": self.passages.iter().map(passage).collect::<Vec<_>>(),
            "total": self.total,
            "next": self.next,
            "links": self.links.iter().map(link).collect::<Vec<_>>(),
        });
        cx.prompts().text("page", values)
    }
}

/// Returns how many of these texts one call shows; at least one.
pub fn fitting<'a>(texts: impl IntoIterator<Item = &'a str>, mut room: usize) -> usize {
    let fits = |text: &&str| {
        let fits = room > 0;
        room = room.saturating_sub(text.chars().count());
        fits
    };
    texts.into_iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_comes_in_pieces() {
        let passage = "x".repeat(3_000);
        assert_eq!(fitting([passage.as_str(); 5], SHOWN_CHARS), 3);
        assert_eq!(fitting([passage.repeat(10).as_str()], SHOWN_CHARS), 1);
    }
}
