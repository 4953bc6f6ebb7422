//! Fills the tails from the table with what this process did not write itself: one task reads what is new, another
//! looks once a second whether anything was missed.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Frame, Shared, spawn_part,
    tail::{End, Tail},
};
use crate::{
    domain::{ThreadId, Timestamp},
    store::{Error, EventRow, EventRows, PageLimit},
    telemetry::metrics,
};

/// How often the table is looked at for wake-ups that were lost.
const POLL: Duration = Duration::from_secs(1);
/// Tails filled at the same time; the pool has other users too.
const FILLS: usize = 4;
/// What one query of a fill reads.
const FILL: PageLimit = PageLimit { rows: 256, bytes: 512 * 1024 };
/// How long a query may take before the database counts as away.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Starts both tasks on `tasks`; they end when `stopped` is cancelled, and with them all readers.
pub(super) fn start(shared: &Arc<Shared>, stopped: &CancellationToken, tasks: &TaskTracker) {
    spawn_part(tasks, stopped, fill_tails(Arc::clone(shared), stopped.clone()));
    spawn_part(tasks, stopped, poll_tails(Arc::clone(shared), stopped.clone()));
}

/// Fills whichever tails are due, a few at a time.
async fn fill_tails(shared: Arc<Shared>, stopped: CancellationToken) {
    let mut fills = FuturesUnordered::new();
    loop {
        while fills.len() < FILLS
            && let Some(tail) = shared.tails.next_due()
        {
            fills.push(fill(&shared, tail));
        }
        tokio::select! {
            // Fills that are lost here would have had no readers.
            () = stopped.cancelled() => break,
            // Losing one of these is safe: the permit stays, and so do the fills.
            () = shared.tails.work.notified() => {}
            Some(()) = fills.next() => {}
        }
    }
    shared.tails.stop(&End::Failed(Error::Unavailable("the event log has stopped".to_owned())));
}

/// Reads what follows a tail's newest event, for all its readers at once.
async fn fill(shared: &Shared, tail: Arc<Tail>) {
    let more = match read(shared, &tail).await {
        Ok(more) => more,
        // The poll brings it, or ends the tail when that takes too long.
        Err(error) if error.may_pass() => false,
        Err(error) => {
            tracing::error!(thread_id = %tail.thread_id, %error, "the events of a thread cannot be read");
            shared.tails.end(&tail, End::Failed(error));
            false
        }
    };
    shared.tails.filled(&tail, more);
}

/// Reads a page of events into the tail, and returns whether there is more than a page.
async fn read(shared: &Shared, tail: &Arc<Tail>) -> Result<bool, Error> {
    if tail.is_doubted() {
        return look_back(shared, tail).await;
    }
    let EventRows { rows, more } = limited(shared.store.event_rows(tail.thread_id, tail.head(), FILL)).await?;
    if rows.is_empty() {
        // Woken for nothing: it may have been deleted.
        if limited(shared.store.last_seqs(&[tail.thread_id])).await?.is_empty() {
            shared.tails.end(tail, End::Gone);
        }
        return Ok(false);
    }
    tail.extend(frames(&rows)?);
    note_delivery(&rows);
    Ok(more)
}

/// Ends a tail that has events which the database has lost, as a standby server that was behind when it took over. A
/// server that stands by may itself be behind, so the one that takes writes is asked. Returns whether the tail is still
/// to be filled, since nothing is lost.
async fn look_back(shared: &Shared, tail: &Arc<Tail>) -> Result<bool, Error> {
    let Some(last_seq) = limited(shared.store.last_seq_for_update(tail.thread_id)).await? else {
        shared.tails.end(tail, End::Gone);
        return Ok(false);
    };
    let stored = limited(shared.store.event_rows(tail.thread_id, tail.base(), FILL)).await?.rows;
    let through = tail.common(&frames(&stored)?).min(last_seq);
    if through >= tail.head() {
        tail.trust();
        return Ok(true);
    }
    tracing::warn!(thread_id = %tail.thread_id, through, "the database has lost events that readers had; they go back");
    shared.tails.end(tail, End::Rewound(through));
    Ok(false)
}

/// Counts how long these events took to reach their readers.
pub(super) fn note_delivery(rows: &[EventRow]) {
    let now = Timestamp::now();
    rows.iter().for_each(|row| metrics::event_delivered(now.after(row.ts)));
}

/// Returns the frames of a page.
pub(super) fn frames(rows: &[EventRow]) -> Result<Vec<Arc<Frame>>, Error> {
    rows.iter().map(|row| Frame::new(row).map(Arc::new)).collect()
}

/// Looks once a second, or when notified, at all threads that have readers; sleeps while none has.
async fn poll_tails(shared: Arc<Shared>, stopped: CancellationToken) {
    let polls = async {
        let mut away_since = None;
        loop {
            while shared.tails.is_empty() {
                away_since = None;
                shared.tails.readers.notified().await;
            }
            tokio::select! {
                // Losing either arm is safe: the table is read next in both cases.
                () = tokio::time::sleep(POLL) => {}
                () = shared.look_now.notified() => {}
            }
            poll(&shared, &mut away_since).await;
        }
    };
    // Losing the polls loses nothing: the other task ends the readers.
    stopped.run_until_cancelled(polls).await.unwrap_or(());
}

/// Looks once for all threads. `away_since` is when the database last went away.
async fn poll(shared: &Shared, away_since: &mut Option<Instant>) {
    let tails = shared.tails.all();
    let (thread_ids, heads): (Vec<_>, Vec<_>) = tails.iter().map(|tail| (tail.thread_id, tail.head())).unzip();
    match limited(shared.store.last_seqs(&thread_ids)).await {
        Ok(found) => {
            *away_since = None;
            let found = found.into_iter().collect();
            tails.iter().zip(heads).for_each(|(tail, head)| compare(shared, tail, head, &found));
        }
        Err(error)
            if error.may_pass() && away_since.get_or_insert_with(Instant::now).elapsed() < super::OUTAGE_LIMIT => {}
        Err(error) => {
            tracing::warn!(%error, readers_of = tails.len(), "the event log cannot be read; its readers are sent away");
            tails.iter().for_each(|tail| shared.tails.end(tail, End::Failed(error.clone())));
        }
    }
}

/// Compares a tail, and what its head was before the query, with what was found.
fn compare(shared: &Shared, tail: &Arc<Tail>, head: i64, found: &HashMap<ThreadId, i64>) {
    tail.age();
    match found.get(&tail.thread_id) {
        None => shared.tails.end(tail, End::Gone),
        Some(last_seq) => {
            if *last_seq < head {
                tail.doubt();
            }
            if tail.is_doubted() || *last_seq > tail.head() {
                shared.tails.mark_due(tail.thread_id);
            }
        }
    }
}

/// Bounds the time of a query; a database that does not answer counts as away.
pub(super) async fn limited<T>(query: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_LIMIT, query)
        .await
        .unwrap_or_else(|_| Err(Error::Unavailable(format!("no answer within {} s", ANSWER_LIMIT.as_secs()))))
}
