//! The run's sources and pages: each page is one source, and is read once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::sync::OnceCell;

use super::Cx;
use crate::domain::{Source, digest};

/// What a researcher is shown of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageText {
    pub summary: String,
    /// Verbatim, verified against the page.
    pub excerpts: Vec<String>,
}

/// Room for a page's summary and its retries.
pub const SUMMARY_TIME: Duration = Duration::from_secs(60);

/// Texts of one address that are kept beside its source's.
const MOST_OTHER_TEXTS: usize = 4;

impl Cx {
    /// Adds a retrieved source (bare, since texts are kept elsewhere), or its id to the one of the same URL; the first one of a URL decides its title and the
    /// rest, also after a restart.
    pub fn register(&self, source: Source) -> Registered {
        let mut sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        match sources.get_mut(&source.url) {
            Some(known) => {
                Source::join_ids(&mut known.id, &mut known.aliases, [source.id]);
                if known.content_hash == source.content_hash { Registered::Known } else { Registered::OtherText }
            }
            None => {
                sources.insert(source.url.clone(), source);
                Registered::New
            }
        }
    }

    /// All sources so far, ordered by id.
    pub fn sources(&self) -> Vec<Source> {
        let sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sources: Vec<_> = sources.values().cloned().collect();
        sources.sort_by_key(|source| source.id);
        sources
    }

    /// The place where what is shown of a page is kept once somebody has read it.
    pub fn page(&self, key: &str) -> Arc<OnceCell<PageText>> {
        let mut pages = self.run.pages.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pages.entry(key.to_owned()).or_default())
    }

    /// Keeps a page's text until it is summarised; not needed afterwards.
    pub fn keep_text(&self, key: &str, text: &str) {
        if !self.page(key).initialized() {
            let mut texts = self.run.texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts.entry(key.to_owned()).or_insert_with(|| text.to_owned());
        }
    }

    /// Keeps a text that was seen under an address whose source is stored with another one.
    pub fn keep_other_text(&self, url: &str, text: &str) {
        let mut texts = self.run.other_texts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.entry(url.to_owned()).or_default();
        // Those with the smallest hashes, in their order: researchers work side by side, and what is kept must not depend
        // on who was first.
        let hash = digest::sha256_hex(text.as_bytes());
        if let Err(place) = known.binary_search_by(|(known, _)| known.cmp(&hash)) {
            known.insert(place, (hash, text.to_owned()));
            known.truncate(MOST_OTHER_TEXTS);
        }
    }

    /// The texts kept by [`Cx::keep_other_text`], by address.
    pub fn other_texts(&self) -> HashMap<String, Vec<String>> {
        let texts = self.run.other_texts.lock().unwrap_or_else(PoisonError::into_inner);
        let without_hashes = |known: &[(String, String)]| known.iter().map(|(_, text)| text.clone()).collect();
        texts.iter().map(|(url, known)| (url.clone(), without_hashes(known))).collect()
    }

    /// The kept text of a page; taken out.
    pub fn take_text(&self, key: &str) -> Option<String> {
        self.run.texts.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// The text of a page as a run saw it that this one retries.
    pub fn inherited_text(&self, key: &str) -> Option<&str> {
        self.run.inherited_texts.get(key).map(String::as_str)
    }

    /// The title under which the run met that URL first.
    pub fn title(&self, url: &str) -> Option<String> {
        let sources = self.run.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.get(url).map(|source| source.title.clone())
    }
}

/// Names a page with a certain text, in the journal too: engines may return one address with different texts.
pub fn page_key(url: &str, text_hash: &str) -> String {
    format!("page/{}", &digest::sha256_json(&(url, text_hash))[..16])
}

/// What a run knew of a source that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    New,
    Known,
    /// The page is known with another text.
    OtherText,
}
