//! A run that this process is not set up for: given back for a while, with what is missing where waits are shown.

use std::time::Duration;

use super::{Parts, Refusal, ended::root};
use crate::{
    domain::{Event, Moment, Timestamp, Wait, WaitKind, Waiting, WarningCode},
    journal::Journal,
    search::Missing,
    store::{Clock, Lease},
};

/// Gives the run back; after `pause` anybody may try. Its readers get one event for as long as the same is missing:
/// `shown` is what they see it wait for.
pub async fn give_back(parts: &Parts, lease: Lease, refusal: &Refusal, shown: Option<Waiting>, pause: Duration) {
    let (kind, name) = missing(refusal);
    let (reason, now) = (refusal.to_string(), Timestamp::now());
    let before = shown.filter(|shown| (&shown.name, &shown.reason) == (&name, &reason));
    let since = before.as_ref().map_or(now, |before| before.since);
    let wait = Wait { name, kind, seconds: pause.as_secs_f64(), attempt: 0, since, until: now.plus(pause) };
    let waiting = Waiting::of(&wait, &reason);
    // Best effort, all of it: the log says it too, and a lease that is not given back runs out by itself.
    if before.is_none() {
        let event = Event::Warning { code: WarningCode::NotConfigured, detail: reason, wait: Some(wait) };
        let journal = Journal::new(lease, Moment::now(), Vec::new(), parts.writer.clone());
        let _ = journal.emit(vec![root(event)]).await;
    }
    let _ = parts.store.release(lease.run_id, lease.epoch, Some(&waiting), pause, Clock::Database).await;
}

/// Returns what has to be set before the run can go on: something of a model, or of a search engine.
fn missing(refusal: &Refusal) -> (WaitKind, String) {
    match refusal {
        Refusal::MissingKey { model, .. } => (WaitKind::Model, model.to_string()),
        Refusal::Search(Missing::Setting { name, .. }) => (WaitKind::Search, (*name).to_owned()),
        Refusal::Search(Missing::Unknown { name, .. }) => (WaitKind::Search, name.clone()),
        Refusal::Search(Missing::Nothing { .. }) => (WaitKind::Search, "search_api".to_owned()),
        Refusal::Keys { name: Some(name), .. } => (WaitKind::Model, name.clone()),
        _ => (WaitKind::Model, "api_keys".to_owned()),
    }
}
