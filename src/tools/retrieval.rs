//! One query asked of the run's engine, and the pages of its results fetched where the engine sends excerpts only.
//!
//! All within the step of the query: what is fetched is part of what the journal keeps.

use std::{collections::HashSet, time::Duration};

use futures::{StreamExt as _, stream::FuturesUnordered};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Site;
use crate::{
    context::{Cx, Refusal, RunCaller},
    domain::{Usage, printable_line},
    llm::{Gate, Wait},
    pages::{KEPT_CHARS, Web, extract},
    search::{About, CallContext, Engine, Error, Hit, Limits},
};

/// The time for the pages of one search; those that are not there by then keep their excerpts.
const PAGES_TIME: Duration = Duration::from_secs(30);

/// What came of a query.
pub struct Retrieved {
    /// `None`: the researcher's time was over.
    pub answer: Option<Result<Vec<Hit>, Error>>,
    /// Names of engines, of several that were asked, that failed, and why.
    pub lost: Vec<(String, String)>,
    /// What was left out because no parser was free.
    pub unparsed: Vec<String>,
    /// Who answered in place of the engines that were asked first.
    pub stand_in: Option<StandIn>,
    /// What the model took that searched, if one did, each answer priced, whatever became of it.
    pub taken: Option<Usage>,
    /// Pages that were read, or that the engine sent.
    pub pages: usize,
    /// Addresses of results whose pages could not be read, or are walls before the page.
    pub unread: Vec<String>,
    /// Why there are not more of them, when the run may read no more.
    pub refusal: Option<Refusal>,
}

/// An engine that answered in place of others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StandIn {
    /// The others, with commas between them.
    pub of: String,
    pub by: String,
    /// Why they did not.
    pub reason: String,
}

/// Asks `engine`, then reads the pages that are missing, at most as many as the run may.
///
/// # Cancel safety
/// Dropping the future ends requests and waits.
pub async fn retrieve(
    cx: &Cx,
    engine: &Engine,
    web: Option<&Web>,
    site: Site<'_>,
    query: &str,
    limits: &Limits,
) -> Retrieved {
    let caller = Noting::new(cx);
    let mut answer = cx.before(Some(site.deadline), engine.search(query, limits, &caller)).await;
    let (mut walls, mut taken_pages) = (Vec::new(), TakenPages::default());
    if let Some(Ok(hits)) = &mut answer {
        walls = without_walls(hits);
        taken_pages = take_pages(cx, engine, web, site, hits).await;
        // A wall that the engine sent may have been asked for again here.
        let is_known = |url: &String| taken_pages.unread.contains(url);
        let is_there = |url: &String| hits.iter().any(|hit| hit.url == *url && hit.raw_content.is_some());
        walls.retain(|url| !is_known(url) && !is_there(url));
    }
    let TakenPages { read: pages, unparsed, mut unread, refusal } = taken_pages;
    unread.extend(walls);
    if unparsed > 0 {
        caller.unparsed(&format!("the pages of {unparsed} results"));
    }
    let Noting { lost, unparsed, stand_in, taken, .. } = caller;
    Retrieved {
        answer,
        lost: lost.into_inner(),
        unparsed: unparsed.into_inner(),
        stand_in: stand_in.into_inner(),
        taken: taken.into_inner(),
        pages,
        unread,
        refusal,
    }
}

#[derive(Default)]
struct TakenPages {
    /// Those that are there.
    read: usize,
    /// Those that were fetched while no parser was free.
    unparsed: usize,
    /// Addresses of those that were asked for and are not there.
    unread: Vec<String>,
    /// Why there are not more of them, when the run may read no more.
    refusal: Option<Refusal>,
}

/// Keeps the pages that the engine sent, and reads those that are missing, as many as the run may.
async fn take_pages(cx: &Cx, engine: &Engine, web: Option<&Web>, site: Site<'_>, hits: &mut [Hit]) -> TakenPages {
    let (mut sent, mut missing): (Vec<_>, Vec<_>) = hits.iter_mut().partition(|hit| hit.raw_content.is_some());
    missing.retain(|hit| engine.lacks_page(hit));
    missing.truncate(web.map_or(0, |_| cx.options().max_pages_per_search as usize));
    let room = cx.begin_pages(sent.len() + missing.len());
    missing.truncate(room.granted().saturating_sub(sent.len()));
    for hit in sent.iter_mut().skip(room.granted()) {
        hit.raw_content = None;
    }
    let wanted: HashSet<String> = missing.iter().map(|hit| hit.url.clone()).collect();
    let unparsed = match web {
        Some(web) => cx.before(Some(site.deadline), read_pages(web, missing)).await.unwrap_or(0),
        None => 0,
    };
    let (there, lacking): (Vec<_>, Vec<_>) = hits.iter().partition(|hit| hit.raw_content.is_some());
    room.read(there.len());
    let unread = lacking.into_iter().map(|hit| hit.url.clone()).filter(|url| wanted.contains(url)).collect();
    TakenPages { read: there.len(), unparsed, unread, refusal: room.refusal().cloned() }
}

/// Takes out what is no more than a wall before a page; returns the addresses of all walls.
fn without_walls(hits: &mut Vec<Hit>) -> Vec<String> {
    let mut walls = Vec::new();
    hits.retain_mut(|hit| {
        let had_text = hit.raw_content.is_some();
        let says_something = says_something(hit);
        if had_text && hit.raw_content.is_none() {
            walls.push(hit.url.clone());
        }
        says_something
    });
    walls
}

/// Takes away the text of a page that is a wall before the page; false when the excerpt is no more than that either.
fn says_something(hit: &mut Hit) -> bool {
    let is_wall = |text: &str| extract::walls::of(&hit.title, text).is_some();
    let was_wall = hit.raw_content.as_deref().is_some_and(is_wall);
    if !was_wall {
        return true;
    }
    let says = !hit.snippet.trim().is_empty() && !is_wall(&hit.snippet);
    hit.raw_content = None;
    says
}

/// Puts the texts of pages into their hits. A page that cannot be read leaves the hit as it is. Returns for how many no
/// parser was free.
async fn read_pages(web: &Web, hits: Vec<&mut Hit>) -> usize {
    let read = |hit| async move {
        let hit: &mut Hit = hit;
        match web.read(&hit.url).await {
            Ok(page) => {
                hit.raw_content = Some(extract::cut(&page.text, KEPT_CHARS).to_owned());
                // What the page says of itself counts for more than what the engine says of it.
                hit.published = page.published.clone().or_else(|| hit.published.take());
                hit.about = About {
                    author: page.author.as_deref().map(printable_line).or_else(|| hit.about.author.take()),
                    site: page.site.as_deref().map(printable_line),
                    address: Some(page.own_url.as_ref().unwrap_or(&page.url)).filter(|own| **own != hit.url).cloned(),
                    original: page.original.clone(),
                };
                false
            }
            Err(error) => {
                tracing::debug!(page = hit.url, %error, "a result's page was not read");
                error.is_busy
            }
        }
    };
    let mut reading: FuturesUnordered<_> = hits.into_iter().map(read).collect();
    let mut unparsed = 0;
    let all = async {
        while let Some(is_unparsed) = reading.next().await {
            unparsed += usize::from(is_unparsed);
        }
    };
    // What is in the hits by the end of the time stays there.
    let _ = tokio::time::timeout(PAGES_TIME, all).await;
    unparsed
}

/// A caller that notes which of several engines failed, and who answered in their place.
struct Noting<'a> {
    cx: &'a Cx,
    inner: RunCaller<'a>,
    /// Locked to add to it only, as the next.
    lost: Mutex<Vec<(String, String)>>,
    unparsed: Mutex<Vec<String>>,
    /// Locked to be set only.
    stand_in: Mutex<Option<StandIn>>,
    /// Locked to add to it only.
    taken: Mutex<Option<Usage>>,
}

impl<'a> Noting<'a> {
    fn new(cx: &'a Cx) -> Self {
        let (lost, unparsed) = (Mutex::default(), Mutex::default());
        Self { cx, inner: cx.searching(), lost, unparsed, stand_in: Mutex::default(), taken: Mutex::default() }
    }
}

impl CallContext for Noting<'_> {
    fn waiting(&self, wait: Wait) {
        self.inner.waiting(wait);
    }

    fn resumed(&self, name: &str) {
        self.inner.resumed(name);
    }

    fn ends(&self) -> Option<Instant> {
        self.inner.ends()
    }

    fn run(&self) -> u128 {
        self.inner.run()
    }

    fn gate(&self) -> &dyn Gate {
        self.inner.gate()
    }

    fn lost(&self, name: &str, reason: &str) {
        let mut lost = self.lost.lock();
        lost.push((name.to_owned(), reason.to_owned()));
    }

    fn unparsed(&self, what: &str) {
        self.unparsed.lock().push(what.to_owned());
    }

    fn replaced(&self, name: &str, by: &str, reason: &str) {
        let stand_in = StandIn { of: name.to_owned(), by: by.to_owned(), reason: reason.to_owned() };
        *self.stand_in.lock() = Some(stand_in);
    }

    fn billed(&self, usage: &Usage) {
        let priced = self.cx.priced_search(usage);
        let mut taken = self.taken.lock();
        *taken.get_or_insert_default() += priced;
    }
}
