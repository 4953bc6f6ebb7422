//! What a reader learns about a run that waits: its place in the queue, whenever that has changed.
//!
//! Nothing of it is stored: who is not there does not need it. Readers of waiting runs cost looks, and one that begins
//! in the middle of a busy thread costs one.

use std::{sync::Arc, time::Duration};

use async_stream::stream;
use futures::StreamExt as _;

use crate::{
    domain::{Event, RunId},
    events::{Frame, Frames},
    runs::OwnedEvents,
};

/// The time between two looks at the queue.
const PAUSE: Duration = Duration::from_secs(2);

/// A run that waits, and what its reader knows.
struct Waiting {
    run_id: RunId,
    last_seq: i64,
    place: Option<u64>,
}

/// Returns the frames, which begin after that number, and between them a `run.queued` whenever the run they are of
/// has moved in the queue.
pub fn with_places(log: OwnedEvents, after_seq: i64, mut frames: Frames) -> Frames {
    // Its first event may be the one that its reader has. Read from the start, it comes by.
    let known = log.waiting().filter(|_| after_seq > 0);
    let mut waiting = known.map(|run_id| Waiting { run_id, last_seq: after_seq, place: None });
    Box::pin(stream! {
        loop {
            // Losing the first arm loses nothing: a frame that has not come stays in the stream.
            let next = tokio::select! {
                biased;
                next = frames.next() => Some(next),
                () = tokio::time::sleep(PAUSE), if waiting.is_some() => None,
            };
            match next {
                Some(Some(next)) => {
                    waiting = next.as_ref().ok().and_then(|frame| still_waiting(frame));
                    yield next;
                }
                Some(None) => return,
                None => {
                    if let Some(frame) = look(&log, &mut waiting).await {
                        yield Ok(frame);
                    }
                }
            }
        }
    })
}

/// Returns the run that waits: it does after its first event, until the next one.
fn still_waiting(frame: &Frame) -> Option<Waiting> {
    (*frame.name == *"run.created").then(|| {
        let created = frame.envelope().ok().map(|envelope| envelope.event);
        let place = if let Some(Event::RunCreated { position, .. }) = created { position } else { None };
        Waiting { run_id: frame.run_id, last_seq: frame.seq, place }
    })
}

/// Returns what its reader gets about a run that has moved. Once it has begun its events will tell. A look that fails
/// is none: the place is a comfort.
async fn look(log: &OwnedEvents, waiting: &mut Option<Waiting>) -> Option<Arc<Frame>> {
    let run = waiting.as_mut()?;
    match log.place_in_queue(run.run_id).await {
        Ok(None) => {
            *waiting = None;
            None
        }
        Ok(place) if place != run.place => {
            run.place = place;
            let event = Event::RunQueued { position: place };
            Frame::unstored(&event, run.last_seq, run.run_id).ok().map(Arc::new)
        }
        Ok(_) | Err(_) => None,
    }
}
