//! Changes are carried out to their end, also when their client hangs up.
//!
//! hyper drops the future of a request whose client is gone. What was dropped between a change and its line in the
//! audit log would have left none, so a change is a task of the process, and the client waits for its answer alone. A
//! body that is still being read breaks off with its connection, and ends the change before it has begun.

use std::{panic::resume_unwind, sync::Arc};

use axum::{
    extract::{Request, State as Shared},
    http::Method,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

use super::{
    State,
    error::{ApiError, Code},
};

/// The path where browsers sign in at an issuer and come back, by GET.
const SIGN_IN: &str = "/auth/";

/// The changes under way.
#[derive(Debug)]
pub struct Changes {
    tasks: TaskTracker,
    /// Who hangs up makes room for another connection, but not for another change.
    room: Arc<Semaphore>,
    /// The grace is over.
    cut: CancellationToken,
}

impl Changes {
    pub fn new(at_once: usize) -> Self {
        let room = Arc::new(Semaphore::new(at_once));
        Self { tasks: TaskTracker::new(), room, cut: CancellationToken::new() }
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Works on a change to its end, in a task that its client's connection does not end.
    ///
    /// # Panics
    /// As the work does: panics are caught and logged where those of all handlers are.
    async fn carry(&self, work: impl Future<Output = Response> + Send + 'static) -> Response {
        // Never closed, so this is never an error; without a permit the change would merely go uncounted.
        let permit = Arc::clone(&self.room).acquire_owned().await.ok();
        let cut = self.cut.clone();
        let task = self.tasks.spawn(async move {
            let answer = cut.run_until_cancelled(work).await;
            drop(permit);
            answer
        });
        match task.await {
            Ok(Some(answer)) => answer,
            Ok(None) => ApiError::new(Code::ShuttingDown, "the service stops; try again").into_response(),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(error) => ApiError::defect(&error).into_response(),
            },
        }
    }

    /// Waits until all have ended.
    ///
    /// # Cancel safety
    /// They go on when it is dropped.
    pub async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Gives up those that are left.
    pub async fn cut(&self) {
        self.cut.cancel();
        self.ended().await;
    }
}

/// Returns whether the request may change something, or waits for others than the database.
pub fn is_change(request: &Request) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD) || request.uri().path().starts_with(SIGN_IN)
}

/// Hands a change to a task of its own, and waits for its answer.
pub async fn carry_out(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    if !is_change(&request) {
        return next.run(request).await;
    }
    state.changes.carry(next.run(request).in_current_span()).await
}

#[cfg(test)]
mod tests {
    use std::{future::pending, panic::AssertUnwindSafe};

    use axum::http::StatusCode;
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_panic_goes_on_in_who_waits_and_leaves_its_room_to_others() {
        let changes = Changes::new(1);
        let panicking = changes.carry(async { panic!("a defect") });
        let panic = AssertUnwindSafe(panicking).catch_unwind().await.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a defect"));
        let next = changes.carry(async { StatusCode::CREATED.into_response() }).await;
        assert_eq!((next.status(), changes.len()), (StatusCode::CREATED, 0));
        changes.ended().await;
    }

    #[tokio::test]
    async fn what_is_given_up_says_that_the_service_stops() {
        let changes = Changes::new(1);
        let (answer, ()) = tokio::join!(changes.carry(pending()), changes.cut());
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
