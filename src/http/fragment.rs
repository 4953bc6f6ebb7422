//! What is complete of a report, as HTML to be put into a page: while it is written, and afterwards.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use axum::{body::Bytes, extract::State as Shared, response::Response};
use parking_lot::Mutex;
use serde::Serialize;

use super::{
    State,
    error::ApiError,
    extract::Query,
    json::answer,
    page::{self, Pages},
    report::rendered,
};
use crate::{
    domain::{Envelope, Event, RunId, report::Citation},
    runs::OwnedRun,
};

/// Reports that are being written whose text is kept, so that no look at one reads what an earlier one has read.
const KEPT_DRAFTS: usize = 64;

#[derive(Serialize)]
struct Fragment<'a> {
    /// Which attempt at the report it is of, from 1; 0 before the first.
    attempt: u32,
    /// It is the whole report.
    complete: bool,
    /// Unicode scalar values of Markdown that it was made of.
    chars: usize,
    /// Its language, ISO 639-1; `None` where it is not certain.
    language: Option<&'a str>,
    html: &'a str,
}

/// Returns what is complete now, or was when the event `until` had come: a replay shows the report grow.
pub async fn show(Shared(state): Shared<State>, run: OwnedRun, query: Query) -> Result<Response, ApiError> {
    let until = query.number("until", i64::MAX, 0..=i64::MAX)?;
    let is_now = until == i64::MAX;
    let report = if is_now { run.report().await? } else { None };
    let (attempt, complete, chars, page) = match report {
        Some(report) => {
            state.drafts.forget(run.id());
            let (attempt, chars) = (run.report_attempts().await?.max(1), report.markdown.chars().count());
            let page = rendered(&state, run.id(), report, async || run.sources().await).await?;
            (attempt, true, chars, page)
        }
        None => {
            // What was written up to an earlier event is nobody else's question.
            let draft = if is_now { state.drafts.of(run.id()) } else { Draft::default() };
            let mut written = draft.lock().await;
            let news = run.report_events(written.seq, until).await?;
            written.take(&news);
            let page = written.page(&state.pages).await?;
            (written.attempt, false, written.settled().chars().count(), page)
        }
    };
    let html = page::main_of(&page);
    let (language, html) = (page::language_of(&page), str::from_utf8(&html).unwrap_or_default());
    answer(&Fragment { attempt, complete, chars, language, html })
}

/// The text of a report that is being written; one of its readers goes on with it, while the others wait.
type Draft = Arc<tokio::sync::Mutex<Written>>;

/// The reports that are being written, as far as somebody has read their events; the one used last stands last.
#[derive(Debug, Default)]
pub struct Drafts(Mutex<VecDeque<(RunId, Draft)>>);

impl Drafts {
    fn of(&self, run_id: RunId) -> Draft {
        let mut kept = self.0.lock();
        let draft = Self::taken(&mut kept, run_id).unwrap_or_default();
        kept.push_back((run_id, Arc::clone(&draft)));
        if kept.len() > KEPT_DRAFTS {
            kept.pop_front();
        }
        draft
    }

    fn forget(&self, run_id: RunId) {
        Self::taken(&mut self.0.lock(), run_id);
    }

    fn taken(kept: &mut VecDeque<(RunId, Draft)>, run_id: RunId) -> Option<Draft> {
        let place = kept.iter().position(|(known, _)| *known == run_id)?;
        kept.remove(place).map(|(_, draft)| draft)
    }
}

/// The report of the newest attempt, as far as it is written.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The event that it was read up to.
    seq: i64,
    attempt: u32,
    pub markdown: String,
    pub citations: Vec<Citation>,
    /// Addresses of what is cited.
    pub urls: HashSet<String>,
    /// What was rendered of it last: its readers come with the same question.
    rendered: Option<(Extent, Bytes)>,
}

/// How far a report is written: what tells apart two states of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    attempt: u32,
    settled_bytes: usize,
    /// Those of a paragraph may come after it.
    citations: usize,
}

impl Written {
    /// Goes on with the events that came next.
    fn take(&mut self, events: &[Envelope]) {
        for envelope in events {
            match &envelope.event {
                Event::ReportStarted { attempt } => *self = Self { attempt: *attempt, ..Self::default() },
                Event::ReportDelta { attempt, text, .. } if *attempt == self.attempt => self.markdown.push_str(text),
                Event::ReportCitation { number, source_id, start, end, url, .. } => {
                    let (number, source_id, start, end) = (*number, *source_id, *start, *end);
                    self.citations.push(Citation::new(number, source_id, start, end));
                    self.urls.insert(url.clone());
                }
                _ => {}
            }
            self.seq = envelope.seq;
        }
    }

    /// Returns a page of its complete paragraphs; rendered once for all who read it as far.
    async fn page(&mut self, pages: &Pages) -> Result<Bytes, ApiError> {
        if self.settled().is_empty() {
            return Ok(Bytes::new());
        }
        let extent = self.extent();
        if let Some((known, page)) = &self.rendered
            && *known == extent
        {
            return Ok(page.clone());
        }
        let text = self.settled().to_owned();
        let page = pages.part(text, self.citations.clone(), self.urls.clone()).await?;
        self.rendered = Some((extent, page.clone()));
        Ok(page)
    }

    fn extent(&self) -> Extent {
        Extent { attempt: self.attempt, settled_bytes: self.settled().len(), citations: self.citations.len() }
    }

    /// Returns its paragraphs that are complete: what follows the last empty line may still change its meaning.
    pub fn settled(&self) -> &str {
        self.markdown.rfind("\n\n").map_or("", |at| &self.markdown[..at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{RunId, Scope, SourceId, Timestamp};

    fn envelope(event: Event) -> Envelope {
        Envelope { seq: 1, ts: Timestamp::now(), run_id: RunId::new(), scope: Scope::ROOT, event }
    }

    #[test]
    fn only_the_newest_attempt_counts_and_only_complete_paragraphs() {
        let delta = |attempt, text: &str| Event::ReportDelta { attempt, offset: 0, text: text.to_owned() };
        let cited = Event::ReportCitation {
            number: 1,
            source_id: SourceId(1001),
            start: 4,
            end: 7,
            url: "https://a.test/".to_owned(),
            title: "A".to_owned(),
        };
        let events = [
            Event::ReportStarted { attempt: 1 },
            delta(1, "Dropped.\n\n"),
            Event::ReportStarted { attempt: 2 },
            delta(1, "Late."),
            delta(2, "One [1].\n\nTw"),
            cited,
        ];
        let mut written = Written::default();
        written.take(&events.map(envelope));
        assert_eq!((written.attempt, written.settled()), (2, "One [1]."));
        assert_eq!(written.citations.len(), 1);
        assert!(written.urls.contains("https://a.test/"));
    }

    #[tokio::test]
    async fn a_part_is_rendered_once_for_all_its_readers() {
        let pages = Pages::default();
        let mut draft = Written { markdown: "One [1].\n\nTw".to_owned(), ..Written::default() };
        let first = draft.page(&pages).await.unwrap();
        draft.markdown.push('o');
        assert_eq!(draft.page(&pages).await.unwrap().as_ptr(), first.as_ptr());
        draft.citations.push(Citation::new(1, SourceId(1001), 4, 7));
        let cited = draft.page(&pages).await.unwrap();
        assert!(str::from_utf8(&cited).unwrap().contains("cited-1"), "the citation came later: {cited:?}");
        draft.markdown.push_str(".\n\n");
        let longer = draft.page(&pages).await.unwrap();
        assert!(str::from_utf8(&longer).unwrap().contains("Two."), "{longer:?}");
        draft.take(&[envelope(Event::ReportStarted { attempt: 2 })]);
        assert_eq!(draft.page(&pages).await.unwrap(), "");
    }

    #[tokio::test]
    async fn readers_go_on_with_the_same_text_and_the_oldest_is_given_up() {
        let (drafts, run, other) = (Drafts::default(), RunId::new(), RunId::new());
        drafts.of(run).lock().await.take(&[envelope(Event::ReportStarted { attempt: 3 })]);
        let oldest = drafts.of(other);
        for _ in 2..KEPT_DRAFTS {
            drafts.of(RunId::new());
        }
        let again = drafts.of(run);
        assert_eq!(again.lock().await.attempt, 3, "the one used last stays");
        let newest = RunId::new();
        let newest = (newest, drafts.of(newest));
        assert_eq!(drafts.0.lock().len(), KEPT_DRAFTS);
        assert!(Arc::ptr_eq(&newest.1, &drafts.of(newest.0)) && Arc::ptr_eq(&again, &drafts.of(run)));
        assert!(!Arc::ptr_eq(&oldest, &drafts.of(other)));
        drafts.forget(run);
        assert_eq!(drafts.of(run).lock().await.seq, 0);
    }
}
