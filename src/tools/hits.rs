//! Hits of a search as the journal keeps them, and the sources that they are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    context::{Cx, Registered, page_key},
    domain::{Event, Source, SourceId, same},
    journal::Entry,
    search::Hit,
};

/// A hit as the journal keeps it: its text is in the stored source, unless that one was stored with another text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredHit {
    pub source_id: SourceId,
    /// SHA-256 of the text to summarise, hex; absent when the engine sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<String>,
    /// The text that the stored source does not have. Not shared through the sources, because which of two texts is
    /// stored depends on which query was answered first, and replay must find again what was summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_text: Option<Arc<str>>,
    /// The key of the text, if it has one (`domain::same`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_key: Option<String>,
    #[serde(flatten)]
    pub hit: Hit,
}

impl StoredHit {
    /// Names the page with its text; `None` when there is none. A text with a key is named alike wherever it stands,
    /// unless its source is stored with another one: then other runs of the program could not find it by its key.
    pub fn page_key(&self) -> Option<String> {
        let is_anywhere = self.text_key.is_some() && self.own_text.is_none();
        let url = if is_anywhere { "" } else { &self.hit.url };
        self.text_hash.as_ref().map(|hash| page_key(url, hash))
    }

    /// What tells whether an agent has read the text.
    pub fn text(&self) -> Option<&String> {
        self.text_key.as_ref().or(self.text_hash.as_ref())
    }
}

/// The hits with their ids and sources, as one step.
pub fn stored(cx: &Cx, query: &str, first: u32, hits: Vec<Hit>) -> Entry<Result<Vec<StoredHit>, String>> {
    let mut entry = Entry::new(Ok(Vec::new()));
    let mut all = Vec::new();
    for (number, mut hit) in (first..).zip(hits.into_iter().take(cx.options().effort.results() as usize)) {
        let source_id = SourceId(number);
        let text: Option<Arc<str>> = hit.raw_content.take().filter(|text| !text.trim().is_empty()).map(Arc::from);
        let mut source = source(&hit, source_id, text.as_ref());
        let text_hash = text.is_some().then(|| source.content_hash.clone());
        let text_key = source.keys.iter().find(|key| same::is_of_text(key)).cloned();
        let registered = cx.register(&mut source);
        if registered == Registered::New {
            entry = entry.event(cx.scope(), Event::source_found(&source, &hit.snippet, query));
        }
        entry.sources.push(source);
        let own_text = text.as_ref().filter(|_| registered == Registered::OtherText).cloned();
        let stored = StoredHit { source_id, text_hash, own_text, text_key, hit };
        if let (Some(key), Some(text)) = (stored.page_key(), &text) {
            cx.keep_text(&key, text);
        }
        all.push(stored);
    }
    entry.value = Ok(all);
    entry
}

/// The source of a hit with the text of its page, or with its excerpt.
pub fn source(hit: &Hit, id: SourceId, text: Option<&Arc<str>>) -> Source {
    let snapshot = text.map_or_else(|| Arc::from(hit.snippet.as_str()), Arc::clone);
    let addresses = std::iter::once(hit.url.as_str()).chain(hit.about.address.as_deref());
    Source {
        section: hit.section.clone(),
        score: hit.score,
        published: hit.published.clone(),
        author: hit.about.author.clone(),
        site: hit.about.site.clone(),
        keys: super::keys_of(addresses, text.map(|text| &**text)),
        ..Source::retrieved(id, hit.url.clone(), hit.title.clone(), hit.engine.clone(), snapshot)
    }
}
