//! Pages read lately, so that reading on in one fetches nothing, and what is needed to ask later whether they have
//! changed.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use reqwest::header::{ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use tokio::time::Instant;
use url::Url;

use super::WebPage;

const MAX_PAGES: usize = 200;
/// The bytes of all texts together.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The age up to which a page is taken without a question.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

/// The marks by which a server says whether a page has changed (RFC 9110, 8.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Validators {
    /// Who sent them, behind redirects.
    url: Url,
    /// As they are sent back.
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Validators {
    /// Reads the validators of an answer of that address; `None` when it has none.
    pub(super) fn of(url: &Url, answer: &HeaderMap) -> Option<Self> {
        let sent_back = [(ETAG, IF_NONE_MATCH), (LAST_MODIFIED, IF_MODIFIED_SINCE)];
        let headers: Vec<_> =
            sent_back.into_iter().filter_map(|(from, to)| Some((to, answer.get(from)?.clone()))).collect();
        (!headers.is_empty()).then(|| Self { url: url.clone(), headers })
    }

    /// Returns what a request for that address asks by; nothing for another one.
    pub(super) fn for_url(&self, url: &Url) -> HeaderMap {
        let headers = if *url == self.url { &self.headers[..] } else { &[] };
        headers.iter().cloned().collect()
    }
}

/// A page that was read.
#[derive(Clone, Debug)]
pub(super) struct CachedPage {
    pub page: Arc<WebPage>,
    pub validators: Option<Validators>,
    /// It need not be asked for again.
    pub is_fresh: bool,
}

#[derive(Debug)]
struct Entry {
    /// The address that was asked for.
    asked: String,
    page: Arc<WebPage>,
    validators: Option<Validators>,
    at: Instant,
}

#[derive(Debug)]
pub(super) struct Cache {
    /// The newest last. Locked for looking and inserting only.
    pages: Mutex<VecDeque<Entry>>,
    max_age: Duration,
}

impl Default for Cache {
    fn default() -> Self {
        Self::fresh_for(MAX_AGE)
    }
}

impl Cache {
    pub(super) fn fresh_for(max_age: Duration) -> Self {
        Self { pages: Mutex::default(), max_age }
    }

    pub(super) fn get(&self, address: &str) -> Option<CachedPage> {
        let pages = self.pages.lock();
        let entry = pages.iter().rev().find(|entry| entry.asked == address || entry.page.url == address)?;
        let is_fresh = entry.at.elapsed() < self.max_age;
        let Entry { page, validators, .. } = entry;
        // Without validators it can only be read again.
        let is_of_use = is_fresh || validators.is_some();
        is_of_use.then(|| CachedPage { page: Arc::clone(page), validators: validators.clone(), is_fresh })
    }

    pub(super) fn insert(&self, address: &str, page: &Arc<WebPage>, validators: Option<Validators>) {
        let mut pages = self.pages.lock();
        pages.retain(|entry| {
            entry.asked != address && (entry.validators.is_some() || entry.at.elapsed() < self.max_age)
        });
        pages.push_back(Entry { asked: address.to_owned(), page: Arc::clone(page), validators, at: Instant::now() });
        let mut bytes: usize = pages.iter().map(|entry| size(&entry.page)).sum();
        while pages.len() > MAX_PAGES || bytes > MAX_BYTES {
            let Some(oldest) = pages.pop_front() else { break };
            bytes -= size(&oldest.page);
        }
    }
}

fn size(page: &WebPage) -> usize {
    page.text.len() + page.links.iter().map(|link| link.text.len() + link.target.len()).sum::<usize>()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn page(url: &str, bytes: usize) -> Arc<WebPage> {
        let text = "x".repeat(bytes);
        Arc::new(WebPage {
            url: url.to_owned(),
            own_url: None,
            original: None,
            title: "T".to_owned(),
            published: None,
            author: None,
            site: None,
            text,
            missing: None,
            read_by: None,
            links: Vec::new(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn pages_are_kept_for_a_while_and_within_bounds() {
        let cache = Cache::default();
        cache.insert("https://a.test/old", &page("https://a.test/new", 1), None);
        assert!(cache.get("https://a.test/old").is_some() && cache.get("https://a.test/new").is_some());
        assert!(cache.get("https://a.test/").is_none());
        for n in 0..3 {
            cache.insert(&format!("https://b.test/{n}"), &page("https://b.test/", MAX_BYTES / 2), None);
        }
        assert_eq!(cache.pages.lock().len(), 2);
        tokio::time::advance(MAX_AGE).await;
        assert!(cache.get("https://b.test/2").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_page_is_known_by_what_its_server_said_of_it() {
        let url: Url = "https://a.test/new".parse().unwrap();
        let answer = [(ETAG, HeaderValue::from_static("\"7\""))].into_iter().collect();
        let validators = Validators::of(&url, &answer);
        assert_eq!(Validators::of(&url, &HeaderMap::new()), None);
        let cache = Cache::default();
        cache.insert("https://a.test/old", &page(url.as_str(), 1), validators);
        assert!(cache.get("https://a.test/old").unwrap().is_fresh);
        tokio::time::advance(MAX_AGE).await;
        let known = cache.get("https://a.test/old").unwrap();
        assert!(!known.is_fresh);
        let validators = known.validators.unwrap();
        assert_eq!(validators.for_url(&url)[IF_NONE_MATCH], "\"7\"");
        assert!(validators.for_url(&"https://a.test/old".parse().unwrap()).is_empty());
    }
}
