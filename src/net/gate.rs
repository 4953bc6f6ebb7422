//! Asked before each attempt at an outbound call.

use futures::future::BoxFuture;

/// The payer of outbound calls, who may have to wait before making one more: a first attempt that stood in a queue,
/// or a further one after a wait.
pub trait Gate: Send + Sync {
    /// Waits until a call may be made.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    fn pass(&self) -> BoxFuture<'_, ()>;

    /// Returns what a call holds while it waits with nothing under way: for its turn, or to be made again.
    fn rest(&self) -> Rest {
        Rest::until_dropped(())
    }
}

/// A guard: while it lives, its call waits with nothing under way.
pub struct Rest(#[expect(dead_code, reason = "it is held for what its end does")] Box<dyn Send>);

impl Rest {
    /// Holds a value until it is dropped.
    pub fn until_dropped(value: impl Send + 'static) -> Self {
        Self(Box::new(value))
    }
}

/// A gate that is always open.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Gate for Open {
    fn pass(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
