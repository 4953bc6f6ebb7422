//! Asked before each attempt at an outbound call.

use futures::future::BoxFuture;

/// Whoever pays for outbound calls, and may have to wait before making one more: a first attempt that stood in a queue,
/// or a further one after a wait.
pub trait Gate: Send + Sync {
    /// Waits until a call may be made.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    fn pass(&self) -> BoxFuture<'_, ()>;
}

/// A gate that is always open.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Gate for Open {
    fn pass(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
