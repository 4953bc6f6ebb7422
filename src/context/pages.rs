//! The run's sources and pages: each page and each text is one source, and is read once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::OnceCell;

use super::{Cx, Deadline};
use crate::{
    domain::{Source, SourceId, digest, same},
    journal::Stop,
};

/// What a researcher is shown of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageText {
    pub summary: String,
    /// Verbatim, verified against the page.
    pub excerpts: Vec<String>,
}

/// Texts that are not those of their sources, by address.
pub type OtherTexts = HashMap<String, Vec<Arc<str>>>;

/// The least room for a page's summary and its retries.
const SUMMARY_TIME: Duration = Duration::from_secs(60);

/// Bytes of texts of one address that are kept beside its source's, and one text in any case: a long page is read on in
/// pieces of 8,000 characters.
const OTHER_TEXT_BYTES: usize = 256 * 1024;

/// Returns the room for a page's summary: where somebody has said how long a model may take for an answer, it may do so
/// for this one too. Otherwise one that hangs must not hold up all who wait for the page.
fn summary_time(given: Option<Duration>) -> Duration {
    given.unwrap_or_default().max(SUMMARY_TIME)
}

impl Cx {
    /// Returns the end of a page's summary that is begun now.
    pub fn summary_deadline(&self) -> Deadline {
        self.deadline(summary_time(self.run.services.llm.given_answer_time()))
    }

    /// Adds a retrieved source (without its text, which is kept elsewhere), or its id to the one of the same URL; the
    /// first one of a URL decides its title and the rest, also after a restart. The first one with a text decides the
    /// title of all that have it: the page is read under that title, so it must not depend on who reads it.
    pub fn register(&self, source: &mut Source) -> Registered {
        self.run.sources.lock().register(source)
    }

    /// Returns all sources so far, ordered by id.
    pub fn sources(&self) -> Vec<Source> {
        let known = self.run.sources.lock();
        let rows: Vec<Source> = known.by_url.values().cloned().collect();
        drop(known);
        same::joined(rows)
    }

    /// Returns sources of the run without their texts, by any of their ids.
    pub fn sources_of(&self, ids: &[SourceId]) -> Vec<Source> {
        let mut wanted = self.sources();
        wanted.retain(|source| source.ids().any(|id| ids.contains(&id)));
        wanted
    }

    /// Returns sources of the run with their texts, by any of their ids.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn snapshots(&self, ids: Vec<SourceId>) -> Result<Vec<Source>, Stop> {
        let wanted = self.sources_of(&ids);
        let rows = self.run.services.snapshots.load(wanted.iter().flat_map(Source::ids).collect()).await?;
        Ok(wanted.into_iter().map(|source| same::with_texts(source, &rows)).collect())
    }

    /// Returns the place where what is shown of a page is kept once somebody has read it.
    pub fn page(&self, key: &str) -> Arc<OnceCell<PageText>> {
        let mut pages = self.run.pages.lock();
        Arc::clone(pages.entry(key.to_owned()).or_default())
    }

    /// Keeps a text that was seen under an address whose source is stored with another one. `hash` is its SHA-256, hex.
    pub fn keep_other_text(&self, url: &str, hash: String, text: Arc<str>) {
        let mut texts = self.run.other_texts.lock();
        keep(texts.entry(url.to_owned()).or_default(), hash, text);
    }

    /// Returns the texts kept by [`Cx::keep_other_text`], by address.
    pub fn other_texts(&self) -> OtherTexts {
        let texts = self.run.other_texts.lock();
        let without_hashes = |known: &[(String, Arc<str>)]| known.iter().map(|(_, text)| Arc::clone(text)).collect();
        texts.iter().map(|(url, known)| (url.clone(), without_hashes(known))).collect()
    }

    /// Returns the text of a page that an earlier life of the run retrieved, by [`text_path`].
    pub fn earlier_text(&self, key: &str) -> Option<Arc<str>> {
        self.run.earlier_texts.lock().get(key).cloned()
    }

    /// Lets go of such a text: nobody reads that page again.
    pub fn release_earlier_text(&self, key: &str) {
        self.run.earlier_texts.lock().remove(key);
    }

    /// Lets go of all of them: no more pages are read.
    pub fn release_earlier_texts(&self) {
        *self.run.earlier_texts.lock() = HashMap::new();
    }

    /// Returns the text of a page as a run saw it that this one retries.
    pub fn inherited_text(&self, key: &str) -> Option<&str> {
        self.run.inherited_texts.get(key).map(|text| &**text)
    }

    /// Returns the source at an address, with its text, as a run knew it that this one retries: the one with that id,
    /// or else the newest.
    pub fn inherited_source(&self, url: &str, id: SourceId) -> Option<&Source> {
        let known = self.run.inherited_sources.get(url)?;
        known.iter().find(|source| source.ids().any(|known| known == id)).or_else(|| known.first())
    }

    /// Returns the title under which the run met that URL first.
    pub fn title(&self, url: &str) -> Option<String> {
        let sources = self.run.sources.lock();
        sources.by_url.get(url).map(|source| source.title.clone())
    }
}

/// Adds a text. Those with the smallest hashes are kept, in their order: researchers work side by side, and what is
/// kept must not depend on who was first.
fn keep(known: &mut Vec<(String, Arc<str>)>, hash: String, text: Arc<str>) {
    let Err(place) = known.binary_search_by(|(known, _)| known.cmp(&hash)) else { return };
    known.insert(place, (hash, text));
    let mut bytes = 0;
    known.retain(|(_, text)| {
        let is_first = bytes == 0;
        bytes += text.len();
        is_first || bytes <= OTHER_TEXT_BYTES
    });
}

/// The sources of a run, without snapshots.
#[derive(Debug, Default)]
pub struct KnownSources {
    /// By canonical URL.
    by_url: HashMap<String, Source>,
    /// The title of the first one with a key that joins.
    titles: HashMap<String, String>,
}

impl KnownSources {
    /// Registers a source; see [`Cx::register`].
    pub fn register(&mut self, source: &mut Source) -> Registered {
        if let Some(known) = self.by_url.get_mut(&source.url) {
            Source::join_ids(&mut known.id, &mut known.aliases, source.ids());
            let is_same = known.content_hash == source.content_hash;
            return if is_same { Registered::Known } else { Registered::OtherText };
        }
        let mut same_text = source.keys.iter().filter(|key| same::is_of_text(key));
        if let Some(title) = same_text.find_map(|key| self.titles.get(key)) {
            source.title.clone_from(title);
        }
        let joining = || source.keys.iter().filter(|key| same::joins(key));
        let is_known = joining().any(|key| self.titles.contains_key(key));
        for key in joining() {
            self.titles.entry(key.clone()).or_insert_with(|| source.title.clone());
        }
        self.by_url.insert(source.url.clone(), source.bare());
        if is_known { Registered::Known } else { Registered::New }
    }
}

/// Names the page of a stored source with its text, as [`text_path`] does.
pub fn text_path_of(source: &Source) -> String {
    let has_key = source.keys.iter().any(|key| same::is_of_text(key));
    text_path(if has_key { "" } else { &source.url }, &source.content_hash)
}

/// Names a page with a certain text, in the journal too: engines may return one address with different texts. Without
/// an address it names the text wherever it stands.
pub fn text_path(url: &str, text_hash: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_model_has_its_time_for_a_summary() {
        assert_eq!(summary_time(Some(Duration::from_secs(600))), Duration::from_secs(600));
        assert_eq!(summary_time(Some(Duration::from_secs(5))), SUMMARY_TIME, "retries have room");
        assert_eq!(summary_time(None), SUMMARY_TIME, "nobody has said that it is slow");
    }

    #[test]
    fn pieces_of_a_page_are_kept_in_any_order() {
        let pieces: Vec<(String, Arc<str>)> = (10..60).map(|n| (n.to_string(), "x".repeat(8_000).into())).collect();
        let kept = |pieces: &mut dyn Iterator<Item = &(String, Arc<str>)>| {
            let mut known = Vec::new();
            pieces.for_each(|(hash, text)| keep(&mut known, hash.clone(), Arc::clone(text)));
            known
        };
        let forwards = kept(&mut pieces.iter());
        assert_eq!(forwards, pieces[..32]);
        assert_eq!(kept(&mut pieces.iter().rev()), forwards);
    }

    /// Anybody may name an original: pages that name the same one are no less different for it.
    #[test]
    fn a_claim_makes_no_page_known() {
        let original = same::original_key("ledger.test/dues");
        let mut known = KnownSources::default();
        let mut register = |id: u32, url: &str, keys: &[&str]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            let mut source = Source { keys, ..Source::example(id, url, url) };
            (known.register(&mut source), source.title)
        };
        let named = |title: &str, registered: Registered| (registered, title.to_owned());
        assert_eq!(register(1, "a", &["text:a", &original]), named("a", Registered::New));
        assert_eq!(register(2, "b", &["text:b", &original]), named("b", Registered::New));
        assert_eq!(register(3, "c", &["text:b"]), named("b", Registered::Known));
    }
}
