//! Hits of a search as the journal keeps them, and the sources that they are.

use std::{
    collections::{HashMap, hash_map::Entry as MapEntry},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::summary::{self, Reading, Wanted};
use crate::{
    aside::{Panicked, aside_above},
    context::{Cx, Registered, text_path},
    domain::{Event, Source, SourceId, same},
    journal::Entry,
    net::without_last_slash,
    search::Hit,
};

/// Bytes of texts that are looked at on the runtime's threads: about a millisecond's work.
const LOOKED_AT_HERE: usize = 128 * 1024;

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
    /// Is the text longer than what is read of a page?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_long: bool,
    /// The text, until its page is read, in the process that retrieved it.
    #[serde(skip)]
    text: Option<Arc<str>>,
    #[serde(flatten)]
    pub hit: Hit,
}

impl StoredHit {
    /// Names the page with its text; `None` when there is none. A text with a key is named alike wherever it stands,
    /// unless its source is stored with another one: then other runs of the program could not find it by its key.
    fn text_path(&self) -> Option<String> {
        let is_anywhere = self.text_key.is_some() && self.own_text.is_none();
        let url = if is_anywhere { "" } else { &self.hit.url };
        self.text_hash.as_ref().map(|hash| text_path(url, hash))
    }

    /// Returns the text of the page, if this process or the journal has it; taken out, so that it goes with who reads
    /// it.
    pub fn take_text(&mut self) -> Option<Arc<str>> {
        self.text.take().or_else(|| self.own_text.clone())
    }

    /// Returns what is to be read of the page, with that text of it. A text that is read whole is read once, for the
    /// run's question; of a long one each topic and query chooses what fits them.
    pub fn reading<'a>(&'a self, text: Option<Arc<str>>, wanted: Wanted<'a>) -> Option<Reading<'a>> {
        let page = self.text_path()?;
        let key = if self.is_long { format!("{page}/for/{}", wanted.key()) } else { page.clone() };
        Some(Reading { key, page, text, hit: &self.hit, is_long: self.is_long, wanted })
    }

    /// Returns what tells whether an agent has read the text.
    pub fn name_of_text(&self) -> Option<&String> {
        self.text_key.as_ref().or(self.text_hash.as_ref())
    }
}

/// What several queries of a call found: each page once, at the place of the first that found it.
#[derive(Debug, Default)]
pub struct PagesOfCall<'a> {
    pub hits: Vec<StoredHit>,
    /// The query of each hit.
    pub queries: Vec<&'a str>,
    /// Places by addresses.
    places: HashMap<String, usize>,
}

impl<'a> PagesOfCall<'a> {
    /// Adds what a query found. The text of a page takes the place of another query's excerpt of it.
    pub fn add(&mut self, query: &'a str, hits: Vec<StoredHit>) {
        for hit in hits {
            match self.places.entry(without_last_slash(&hit.hit.url)) {
                MapEntry::Vacant(free) => {
                    free.insert(self.hits.len());
                    self.hits.push(hit);
                    self.queries.push(query);
                }
                MapEntry::Occupied(known) => {
                    let place = *known.get();
                    if hit.text_hash.is_some() && self.hits[place].text_hash.is_none() {
                        (self.hits[place], self.queries[place]) = (hit, query);
                    }
                }
            }
        }
    }
}

/// Returns the hits with their ids and sources, as one step.
pub async fn stored(cx: &Cx, query: &str, first: u32, hits: Vec<Hit>) -> Entry<Result<Vec<StoredHit>, String>> {
    let hits: Vec<Hit> = hits.into_iter().take(cx.options().effort.results() as usize).collect();
    let found = match found(first, hits, summary::room(cx.options())).await {
        Ok(found) => found,
        Err(panicked) => return Entry::new(Err(panicked.to_string())),
    };
    let mut entry = Entry::new(Ok(Vec::new()));
    let mut all = Vec::new();
    for SourcedHit { hit, text, mut source, is_long } in found {
        let text_hash = text.is_some().then(|| source.content_hash.clone());
        let text_key = source.keys.iter().find(|key| same::is_of_text(key)).cloned();
        let registered = cx.register(&mut source);
        if registered == Registered::New {
            entry = entry.event(cx.scope(), Event::source_found(&source, &hit.snippet, query));
        }
        let source_id = source.id;
        entry.sources.push(source);
        let own_text = text.as_ref().filter(|_| registered == Registered::OtherText).cloned();
        all.push(StoredHit { source_id, text_hash, own_text, text_key, is_long, text, hit });
    }
    entry.value = Ok(all);
    entry
}

/// A hit with the text of its page, and the source that they are.
struct SourcedHit {
    hit: Hit,
    text: Option<Arc<str>>,
    source: Source,
    is_long: bool,
}

/// Returns the sources of hits, numbered from `first`. Each text is looked at as a whole, off the runtime's threads
/// when they are long.
async fn found(first: u32, hits: Vec<Hit>, room: usize) -> Result<Vec<SourcedHit>, Panicked> {
    let bytes: usize = hits.iter().filter_map(|hit| hit.raw_content.as_ref()).map(String::len).sum();
    let found = move || {
        let of = |(number, mut hit): (u32, Hit)| {
            let text: Option<Arc<str>> = hit.raw_content.take().filter(|text| !text.trim().is_empty()).map(Arc::from);
            let source = source(&hit, SourceId(number), text.as_ref());
            let is_long = text.as_ref().is_some_and(|text| text.chars().nth(room).is_some());
            SourcedHit { hit, text, source, is_long }
        };
        (first..).zip(hits).map(of).collect()
    };
    aside_above(LOOKED_AT_HERE, bytes, found).await
}

/// Returns the source of a hit with the text of its page, or with its excerpt.
pub fn source(hit: &Hit, id: SourceId, text: Option<&Arc<str>>) -> Source {
    let snapshot = text.map_or_else(|| Arc::from(hit.snippet.as_str()), Arc::clone);
    let addresses = std::iter::once(hit.url.as_str()).chain(hit.about.address.as_deref());
    Source {
        section: hit.section.clone(),
        score: hit.score,
        published: hit.published.clone(),
        author: hit.about.author.clone(),
        site: hit.about.site.clone(),
        keys: super::keys_of(addresses, hit.about.original.as_deref(), text.map(|text| &**text)),
        ..Source::retrieved(id, hit.url.clone(), hit.title.clone(), hit.engine.clone(), snapshot)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hit(url: &str, id: u32, text_hash: Option<&str>) -> StoredHit {
        let hit = json!({
            "source_id": id, "text_hash": text_hash, "url": url, "title": "Dues", "section": null, "snippet": "Dues",
            "score": null, "raw_content": null, "published": null, "engine": "one",
        });
        serde_json::from_value(hit).unwrap()
    }

    #[test]
    fn the_text_of_a_page_beats_an_excerpt_that_another_query_found() {
        let [gate, lock] = ["https://ledger.test/gate", "https://ledger.test/lock"];
        let mut pages = PagesOfCall::default();
        pages.add("dues", vec![hit(lock, 1001, Some("a")), hit(gate, 1002, None)]);
        pages.add("gate", vec![hit("https://ledger.test/gate/", 1006, Some("b")), hit(lock, 1007, Some("c"))]);
        pages.add("cost", vec![hit(gate, 1011, None)]);
        let ids: Vec<u32> = pages.hits.iter().map(|hit| hit.source_id.0).collect();
        assert_eq!((ids, pages.queries), (vec![1001, 1006], vec!["dues", "gate"]));
    }

    #[tokio::test]
    async fn a_text_goes_with_who_reads_it_and_not_into_the_journal() {
        let hit = json!({
            "url": "https://ledger.test/dues", "title": "Dues", "section": null, "snippet": "Dues", "score": null,
            "raw_content": "Dues of four crowns pay the gate.", "published": null, "engine": "one",
        });
        let hit = serde_json::from_value(hit).unwrap();
        let SourcedHit { hit, text, source, is_long } = found(1001, vec![hit], 10).await.unwrap().remove(0);
        let (held, text_hash) = (Arc::downgrade(text.as_ref().unwrap()), Some(source.content_hash.clone()));
        drop(source);
        let mut stored =
            StoredHit { source_id: SourceId(1001), text_hash, own_text: None, text_key: None, is_long, text, hit };
        assert!(!serde_json::to_string(&stored).unwrap().contains("four crowns"));
        let taken = stored.take_text();
        assert_eq!(taken.as_deref(), Some("Dues of four crowns pay the gate."));
        drop(taken);
        assert_eq!((held.strong_count(), stored.take_text()), (0, None), "nobody else holds it");
        stored.own_text = Some("Another text.".into());
        let of_journal = stored.take_text();
        assert_eq!((of_journal, stored.own_text.is_some()), (Some("Another text.".into()), true));
    }
}
