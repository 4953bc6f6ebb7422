//! Work on long texts, off the runtime's threads.

use std::{
    num::NonZero,
    sync::{Arc, LazyLock},
    thread,
};

use tokio::sync::Semaphore;

use crate::domain::{Failure, FailureCode};

/// Does `work` on a thread for heavy work; of all runs, as much at the same time as there are processors. More would
/// take more memory and no less time.
///
/// # Errors
/// [`FailureCode::Internal`]: it panicked. What the panic said stays in the log, since it may hold anything.
///
/// # Cancel safety
/// Work that has begun goes on to its end, and keeps its place until then; its result is dropped.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    static PLACES: LazyLock<Arc<Semaphore>> =
        LazyLock::new(|| Arc::new(Semaphore::new(thread::available_parallelism().map_or(1, NonZero::get))));
    // Never closed; without a permit the work would merely go uncounted.
    let permit = Arc::clone(&PLACES).acquire_owned().await.ok();
    let work = move || {
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Ok(value),
        Err(error) if error.is_panic() => {
            tracing::error!(%error, "reading a report panicked");
            Err(Failure::new(FailureCode::Internal, "a defect while reading the report"))
        }
        // The runtime is being shut down, and this future with it.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_failure_without_its_words() {
        let failure = aside(|| -> u8 { panic!("key 123 leaked") }).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Internal);
        assert!(!failure.message.contains("leaked"));
        assert_eq!(aside(|| 7).await.ok(), Some(7));
    }
}
