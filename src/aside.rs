//! Heavy work on texts of all runs together, off the runtime's threads and within bounds. Knows nothing of what is
//! worked on.

use std::{
    num::NonZero,
    sync::{Arc, LazyLock},
    thread,
};

use tokio::sync::Semaphore;

use crate::domain::{Failure, FailureCode};

/// The work panicked. What the panic said stays in the log, since it may hold anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a defect while reading a text")]
pub struct Panicked;

impl From<Panicked> for Failure {
    fn from(panicked: Panicked) -> Self {
        Self::new(FailureCode::Internal, panicked.to_string())
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` on a thread for heavy work, as much at the same time as there are processors. More would take more
/// memory and no less time.
///
/// # Errors
/// [`Panicked`]: the caller goes on without the result, or fails.
///
/// # Cancel safety
/// Work that has begun goes on to its end, and keeps its place until then; its result is dropped.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
    static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(processors())));
    // Never closed; without a permit the work would merely go uncounted.
    let permit = Arc::clone(&PLACES).acquire_owned().await.ok();
    let work = move || {
        let _permit = permit;
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Ok(value),
        Err(error) if error.is_panic() => {
            tracing::error!(%error, "reading a text panicked");
            Err(Panicked)
        }
        // The runtime is being shut down, and this future with it.
        Err(_) => std::future::pending().await,
    }
}

/// Runs `work` on so many bytes of text: on the runtime's own threads when they are no more than `here`, else as
/// [`aside`] does.
///
/// # Errors
/// As [`aside`].
pub async fn aside_above<T: Send + 'static>(
    here: usize,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    if bytes <= here { Ok(work()) } else { aside(work).await }
}

/// Runs `work` as [`aside`] does, on what `load` brings. Texts are loaded by few runs at a time, twice as many as may
/// work on theirs: those that wait for their turn hold none.
///
/// # Errors
/// As [`aside`], and those of `load`.
pub async fn aside_with<L: Send + 'static, T: Send + 'static, E: From<Panicked>>(
    load: impl Future<Output = Result<L, E>>,
    work: impl FnOnce(L) -> T + Send + 'static,
) -> Result<T, E> {
    static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2 * processors()));
    // Never closed; without a turn the texts would merely go uncounted.
    let _turn = TURNS.acquire().await.ok();
    let loaded = load.await?;
    Ok(aside(move || work(loaded)).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn few_runs_hold_texts_at_the_same_time() {
        static HELD: AtomicUsize = AtomicUsize::new(0);
        let one = || {
            let load = async {
                let held = HELD.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::task::yield_now().await;
                Ok::<_, Panicked>(held)
            };
            aside_with(load, |held| {
                HELD.fetch_sub(1, Ordering::SeqCst);
                held
            })
        };
        let most = futures::future::join_all((0..20 * processors()).map(|_| one())).await;
        let most = most.into_iter().map(Result::unwrap).max();
        assert!(most <= Some(2 * processors()), "{most:?} of {}", processors());
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_without_its_words() {
        let panicked = aside(|| -> u8 { panic!("key 123 leaked") }).await;
        assert_eq!(panicked, Err(Panicked));
        let failure = Failure::from(Panicked);
        assert_eq!((failure.code, failure.message.contains("leaked")), (FailureCode::Internal, false));
        assert_eq!(aside(|| 7).await, Ok(7));
    }
}
