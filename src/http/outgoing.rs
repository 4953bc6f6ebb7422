//! Bytes held for clients: counted over all connections, and watched whether they are taken.
//!
//! A piece of a body carries its place in the count until the connection has sent it, however hyper keeps it meanwhile.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes, HttpBody as _},
    extract::{Request, State as Shared},
    http::Response as HttpResponse,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

use super::{
    State,
    changes::is_change,
    clients::{Client, Reader},
    compression::ToCompress,
    error::{ApiError, Code},
};

/// Larger pieces are cut, so that a reader shows by each of them that it takes something.
const PIECE_BYTES: usize = 16 * 1024;
/// Answers that are no larger are not counted before they are sent, and not compressed.
pub const SMALL_BYTES: u64 = 4 * 1024;

/// How many bytes may be held at the same time.
#[derive(Clone, Debug)]
pub struct Buffers {
    room: Arc<Semaphore>,
    total: usize,
}

impl Buffers {
    pub fn new(total: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(total)), total }
    }

    /// Takes room for so many bytes; `None` when there is not as much left. What is larger than all room takes all of
    /// it.
    pub fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_many_owned(self.permits(bytes)).ok()
    }

    /// Takes room as [`Self::take`] does, once there is as much left. Readers that take nothing are cut off, so there
    /// will be.
    ///
    /// # Cancel safety
    /// It loses its place in the line when it is dropped.
    async fn wait(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).acquire_many_owned(self.permits(bytes)).await.ok()
    }

    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.total)).unwrap_or(u32::MAX)
    }
}

/// Returns the bytes with their place in the count.
pub fn held(bytes: Bytes, room: Option<OwnedSemaphorePermit>) -> Bytes {
    Bytes::from_owner(CountedBytes { bytes, _room: room, reader: None })
}

struct CountedBytes {
    bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
    reader: Option<Arc<Reader>>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.sent();
        }
    }
}

/// Counts the answer. When too much is on its way already, who reads is refused; the answer to a change waits for room,
/// since what it tells has happened.
pub async fn count(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let reader = request.extensions().get::<Arc<Client>>().map(Client::reader);
    let waits = is_change(&request);
    let response = next.run(request).await;
    let (response, room) = match response.body().size_hint().exact() {
        None => (response, Room::ByPiece(PollSemaphore::new(Arc::clone(&state.buffers.room)), state.buffers.clone())),
        Some(size) if size <= SMALL_BYTES => (response, Room::Whole(None)),
        Some(size) => match whole(&state, response, usize::try_from(size).unwrap_or(usize::MAX), waits).await {
            Ok((response, room)) => (response, Room::Whole(Some(room))),
            Err(error) => return error.into_response(),
        },
    };
    let (parts, inner) = response.into_parts();
    HttpResponse::from_parts(parts, Body::new(Outgoing { inner, piece: Bytes::new(), room, reader }))
}

/// Returns an answer of a known size with its room. While it is compressed, that is room for the text and for what
/// becomes of it.
async fn whole(
    state: &State,
    mut response: Response,
    size: usize,
    waits: bool,
) -> Result<(Response, OwnedSemaphorePermit), ApiError> {
    let compresses = response.extensions_mut().remove::<ToCompress>().is_some();
    let held = if compresses { size.saturating_mul(2) } else { size };
    let room = if waits { state.buffers.wait(held).await } else { state.buffers.take(held) };
    let room = room.ok_or_else(overloaded)?;
    if compresses { state.compression.finish(response, room).await } else { Ok((response, room)) }
}

pub fn overloaded() -> ApiError {
    ApiError::new(Code::Overloaded, "too many answers wait to be read by slow clients; try again")
}

/// How the pieces of a body get their room.
enum Room {
    /// Taken before, as the size was known.
    Whole(Option<OwnedSemaphorePermit>),
    /// Each waits for its own.
    ByPiece(PollSemaphore, Buffers),
}

/// A body on its way to a client.
struct Outgoing {
    inner: Body,
    /// Not handed over yet.
    piece: Bytes,
    room: Room,
    reader: Option<Arc<Reader>>,
}

impl Outgoing {
    fn room(&mut self, bytes: usize, cx: &mut Context<'_>) -> Poll<Option<OwnedSemaphorePermit>> {
        match &mut self.room {
            Room::Whole(room) => Poll::Ready(room.as_mut().and_then(|room| room.split(bytes.min(room.num_permits())))),
            Room::ByPiece(semaphore, buffers) => semaphore.poll_acquire_many(cx, buffers.permits(bytes)),
        }
    }
}

impl hyper::body::Body for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.piece.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.piece.len().min(PIECE_BYTES);
        let room = ready!(self.room(length, cx));
        let bytes = self.piece.split_to(length);
        let reader = self.reader.clone();
        if let Some(reader) = &reader {
            reader.handed();
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(CountedBytes { bytes, _room: room, reader })))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, held) = (self.inner.size_hint(), self.piece.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(held));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(held));
        }
        hint
    }
}
