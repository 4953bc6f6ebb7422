//! Time as waits see it. In tests it may pass by itself, so that an outage of an hour takes no time.

#[cfg(not(test))]
pub use tokio::time::sleep_until;

#[cfg(not(test))]
pub fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

#[cfg(test)]
pub use simulated::{now, run, sleep_until};

pub async fn sleep(time: std::time::Duration) {
    sleep_until(now() + time).await;
}

/// One thread's own time, which goes on to the next timer whenever nothing else is left to do.
#[cfg(test)]
mod simulated {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::task::{Context, Poll, Wake, Waker};
    use std::time::Duration;

    use futures::FutureExt as _;
    use futures::future::poll_fn;
    use tokio::time::Instant;

    thread_local! {
        static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
        static TIMERS: RefCell<BTreeMap<Instant, Vec<Waker>>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub fn now() -> Instant {
        NOW.get().unwrap_or_else(Instant::now)
    }

    pub async fn sleep_until(until: Instant) {
        if NOW.get().is_none() {
            return tokio::time::sleep_until(until).await;
        }
        poll_fn(|cx| {
            if now() >= until {
                return Poll::Ready(());
            }
            TIMERS.with_borrow_mut(|timers| timers.entry(until).or_default().push(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Runs `future` to its end in simulated time; returns how much passed.
    pub fn run<T>(future: impl Future<Output = T>) -> (T, Duration) {
        let begun = Instant::now();
        NOW.set(Some(begun));
        let mut future = pin!(future);
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        loop {
            woken.0.store(false, Relaxed);
            if let Poll::Ready(done) = future.poll_unpin(&mut Context::from_waker(&waker)) {
                return (done, now() - begun);
            }
            if !woken.0.load(Relaxed) {
                let (next, wakers) = TIMERS.with_borrow_mut(BTreeMap::pop_first).expect("it waits for nothing");
                NOW.set(Some(now().max(next)));
                wakers.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Whether anything has happened since the last poll.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }
}
