//! Requests that are answered before their body was read: the connection reads on for a while.
//!
//! Who closes a connection while the other side still sends resets it, and the answer may be lost with that: the client
//! sees a broken pipe where the answer was that its body is too large. So what is left of the body is read and thrown
//! away beside the sending of the answer, within bounds.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody as _},
    extract::Request,
    http::header,
    middleware::Next,
    response::Response,
};
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use parking_lot::Mutex;

use super::clients::Client;

/// What is read of a body that nobody wants, at most.
const DRAINED_BYTES: usize = 16 << 20;
/// A client that sends nothing for this long has seen its answer, or never will. It is also left that much time to see
/// it when it sends more than is read.
const SILENCE: Duration = Duration::from_secs(1);

/// Keeps hold of the request's body, and leaves what was not read of it to the connection.
pub async fn keep_reading(request: Request, next: Next) -> Response {
    // A client that waits for `100 Continue` sends nothing when it is refused instead.
    let waits = request.headers().contains_key(header::EXPECT);
    let client = request.extensions().get::<Arc<Client>>().filter(|_| !waits && !request.body().is_end_stream());
    let Some(client) = client.cloned() else { return next.run(request).await };
    let (parts, body) = request.into_parts();
    let shared = Arc::new(Mutex::new(Some(body)));
    let lent = Body::new(Lent(Arc::clone(&shared)));
    let response = next.run(Request::from_parts(parts, lent)).await;
    let left = shared.lock().take();
    if let Some(body) = left {
        client.leave_body(body);
    }
    response
}

/// Reads until the end of the body, or until one of the bounds.
pub async fn drain(mut body: Body, limit: Duration) {
    let reading = async {
        let mut left = DRAINED_BYTES;
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return tokio::time::sleep(SILENCE).await;
            }
        }
    };
    // Whether it came to its end makes no difference to the answer.
    let _ = tokio::time::timeout(limit, reading).await;
}

/// A body that its handler may drop unread.
///
/// `None` when it has ended. Locked by one side at a time: by the handler, then to take out what is left.
struct Lent(Arc<Mutex<Option<Body>>>);

impl hyper::body::Body for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut shared = self.0.lock();
        let Some(body) = shared.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            *shared = None;
        }
        polled
    }
}
