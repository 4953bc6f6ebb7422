//! What is complete of a report, as HTML to be put into a page: while it is written, and afterwards.

use std::collections::HashSet;

use axum::{extract::State as Shared, response::Response};
use serde::Serialize;

use super::{State, error::ApiError, extract::Query, json::answer, page, report::rendered};
use crate::{
    domain::{Envelope, Event, report::Citation},
    runs::OwnedRun,
};

#[derive(Serialize)]
struct Fragment<'a> {
    /// Which attempt at the report it is of, from 1; 0 before the first.
    attempt: u32,
    /// It is the whole report.
    complete: bool,
    /// Unicode scalar values of Markdown that it was made of.
    chars: usize,
    html: &'a str,
}

/// What is complete now, or was when the event `until` had come: a replay shows the report grow.
pub async fn show(Shared(state): Shared<State>, run: OwnedRun, query: Query) -> Result<Response, ApiError> {
    let until = query.number("until", i64::MAX, 0..=i64::MAX)?;
    let report = if until == i64::MAX { run.report().await? } else { None };
    let (attempt, complete, chars, html) = match report {
        Some(report) => {
            let (attempt, chars) = (run.report_attempts().await?.max(1), report.markdown.chars().count());
            let page = rendered(&state, run.id(), report, async || run.sources().await).await?;
            (attempt, true, chars, page::main_of(&page))
        }
        None => {
            let written = Written::of(&run.report_events(until).await?);
            (written.attempt, false, written.settled().chars().count(), state.pages.part(run.id(), written).await?)
        }
    };
    answer(&Fragment { attempt, complete, chars, html: str::from_utf8(&html).unwrap_or_default() })
}

/// The report of the newest attempt, as far as it is written.
#[derive(Debug, Default)]
pub struct Written {
    attempt: u32,
    pub markdown: String,
    pub citations: Vec<Citation>,
    /// Addresses of what is cited.
    pub urls: HashSet<String>,
}

/// How far a report is written: what tells apart two states of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    attempt: u32,
    settled_bytes: usize,
    /// Those of a paragraph may come after it.
    citations: usize,
}

impl Written {
    fn of(events: &[Envelope]) -> Self {
        let mut written = Self::default();
        for envelope in events {
            match &envelope.event {
                Event::ReportStarted { attempt } => written = Self { attempt: *attempt, ..Self::default() },
                Event::ReportDelta { attempt, text, .. } if *attempt == written.attempt => {
                    written.markdown.push_str(text);
                }
                Event::ReportCitation { number, source_id, start, end, url, .. } => {
                    let (number, source_id, start, end) = (*number, *source_id, *start, *end);
                    written.citations.push(Citation::new(number, source_id, start, end));
                    written.urls.insert(url.clone());
                }
                _ => {}
            }
        }
        written
    }

    pub fn extent(&self) -> Extent {
        Extent { attempt: self.attempt, settled_bytes: self.settled().len(), citations: self.citations.len() }
    }

    /// Its paragraphs that are complete: what follows the last empty line may still change its meaning.
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
        let written = Written::of(&events.map(envelope));
        assert_eq!((written.attempt, written.settled()), (2, "One [1]."));
        assert_eq!(written.citations.len(), 1);
        assert!(written.urls.contains("https://a.test/"));
    }
}
