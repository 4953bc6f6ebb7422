//! What a reader learns about a run that waits: its place in the queue, whenever that has changed.
//!
//! Nothing of it is stored: who is not there does not need it. Only readers of waiting runs cost a look.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, StreamExt as _, stream::unfold};

use super::State;
use crate::{
    domain::{Event, RunId},
    events::{Error, Frame, Frames},
};

/// Between two looks at the queue.
const PAUSE: Duration = Duration::from_secs(2);

/// A run that waits, and what its reader knows.
struct Waiting {
    run_id: RunId,
    last_seq: i64,
    place: Option<u64>,
}

/// The frames, and between them a `run.queued` whenever the run they are of has moved in the queue.
pub fn with_places(
    state: &State,
    frames: Frames,
    waiting: Option<RunId>,
) -> Pin<Box<dyn Stream<Item = Result<Arc<Frame>, Error>> + Send>> {
    let waiting = waiting.map(|run_id| Waiting { run_id, last_seq: 0, place: None });
    Box::pin(unfold((state.clone(), frames, waiting), async |(state, mut frames, mut waiting)| {
        let next = next(&state, &mut frames, &mut waiting).await?;
        Some((next, (state, frames, waiting)))
    }))
}

async fn next(state: &State, frames: &mut Frames, waiting: &mut Option<Waiting>) -> Option<Result<Arc<Frame>, Error>> {
    while let Some(run) = waiting {
        tokio::select! {
            biased;
            // Losing it loses nothing: a frame that has not come stays in the stream.
            next = frames.next() => {
                let next = next?;
                *waiting = next.as_ref().ok().and_then(|frame| still_waiting(frame));
                return Some(next);
            }
            () = tokio::time::sleep(PAUSE) => match moved(state, run).await {
                Look::Moved(frame) => return Some(Ok(frame)),
                Look::Same => {}
                Look::Started => *waiting = None,
            }
        }
    }
    let next = frames.next().await?;
    *waiting = next.as_ref().ok().and_then(|frame| still_waiting(frame));
    Some(next)
}

/// After the first event of a run it waits, until the next one.
fn still_waiting(frame: &Frame) -> Option<Waiting> {
    (*frame.name == *"run.created").then(|| {
        let created = frame.envelope().ok().map(|envelope| envelope.event);
        let place = if let Some(Event::RunCreated { position, .. }) = created { position } else { None };
        Waiting { run_id: frame.run_id, last_seq: frame.seq, place }
    })
}

enum Look {
    Moved(Arc<Frame>),
    Same,
    /// Its events will tell.
    Started,
}

/// A look that fails is none: the place is a comfort.
async fn moved(state: &State, run: &mut Waiting) -> Look {
    match state.runs.store().place_in_queue(run.run_id).await {
        Ok(None) => Look::Started,
        Ok(place) if place != run.place => {
            run.place = place;
            let event = Event::RunQueued { position: place };
            Frame::unstored(&event, run.last_seq, run.run_id).map_or(Look::Same, |frame| Look::Moved(Arc::new(frame)))
        }
        Ok(_) | Err(_) => Look::Same,
    }
}
