//! Pages read lately, so that reading on in one fetches nothing.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::WebPage;

const MAX_PAGES: usize = 200;
/// Of all texts.
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The newest last, by the address that was asked for. Locked for looking and inserting only.
    pages: Mutex<VecDeque<(String, Arc<WebPage>, Instant)>>,
}

impl Cache {
    pub(super) fn get(&self, address: &str) -> Option<Arc<WebPage>> {
        let pages = self.pages.lock();
        let fits = |(asked, page, at): &&(String, Arc<WebPage>, Instant)| {
            (asked == address || page.url == address) && at.elapsed() < MAX_AGE
        };
        pages.iter().rev().find(fits).map(|(_, page, _)| Arc::clone(page))
    }

    pub(super) fn insert(&self, address: &str, page: &Arc<WebPage>) {
        let mut pages = self.pages.lock();
        pages.retain(|(asked, _, at)| asked != address && at.elapsed() < MAX_AGE);
        pages.push_back((address.to_owned(), Arc::clone(page), Instant::now()));
        let mut bytes: usize = pages.iter().map(|(_, page, _)| page.text.len()).sum();
        while pages.len() > MAX_PAGES || bytes > MAX_BYTES {
            let Some((_, oldest, _)) = pages.pop_front() else { break };
            bytes -= oldest.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, bytes: usize) -> Arc<WebPage> {
        let text = "x".repeat(bytes);
        Arc::new(WebPage {
            url: url.to_owned(),
            title: "T".to_owned(),
            published: None,
            author: None,
            site: None,
            text,
            missing: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn pages_are_kept_for_a_while_and_within_bounds() {
        let cache = Cache::default();
        cache.insert("https://a.test/old", &page("https://a.test/new", 1));
        assert!(cache.get("https://a.test/old").is_some() && cache.get("https://a.test/new").is_some());
        assert!(cache.get("https://a.test/").is_none());
        for n in 0..3 {
            cache.insert(&format!("https://b.test/{n}"), &page("https://b.test/", MAX_BYTES / 2));
        }
        assert_eq!(cache.pages.lock().len(), 2);
        tokio::time::advance(MAX_AGE).await;
        assert!(cache.get("https://b.test/2").is_none());
    }
}
