//! A thread for parsers that may panic, nest deeply or never end: their trouble costs one document, not the process.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::Unreadable;

const THREAD: &str = "fathom-extract";
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Tells a parser that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `work` and waits for it, at most `time_limit`. Blocking.
///
/// Work that ignores its [`Stop`] cannot be ended; its thread is left behind and its result dropped.
///
/// # Errors
/// [`Unreadable`] when it panicked or took too long.
pub(crate) fn run<T: Send + 'static>(
    time_limit: Duration,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, Unreadable> {
    keep_panics_off_stderr();
    let (tx, rx) = mpsc::sync_channel(1);
    let stop = Stop::default();
    let stopped = stop.clone();
    let work = move || {
        // The receiver is gone when the time is up, and then nobody misses the result.
        let _ = tx.send(catch(|| work(&stopped)));
    };
    let thread = thread::Builder::new().name(THREAD.into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Unreadable::new(format!("there is no thread to read it: {error}")))?;
    let outcome = rx.recv_timeout(time_limit);
    stop.0.store(true, Ordering::Relaxed);
    match outcome {
        Ok(Some(value)) => Ok(value),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(Unreadable::new(format!("could not read it within {} s", time_limit.as_secs())))
        }
        Ok(None) | Err(mpsc::RecvTimeoutError::Disconnected) => Err(Unreadable::new("could not read it")),
    }
}

/// Runs a piece of a parser; `None` if it panicked. Silent only within [`run`].
pub(super) fn catch<T>(piece: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(piece)).ok()
}

/// Chains a hook before the present one that is silent for our own threads: the command line draws on stderr.
fn keep_panics_off_stderr() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match thread::current().name() {
            Some(THREAD) => tracing::debug!("a parser gave up: {info}"),
            _ => usual(info),
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_stays_within() {
        let minute = Duration::from_secs(60);
        assert_eq!(run(minute, |_| 7), Ok(7));
        assert!(run(minute, |_| panic!("as parsers do")).is_err());
        let late = run(Duration::ZERO, |stop| {
            while !stop.is_set() {
                thread::yield_now()
            }
        });
        assert_eq!(late, Err(Unreadable::new("could not read it within 0 s")));
    }
}
