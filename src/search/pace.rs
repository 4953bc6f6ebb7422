//! The least time between two requests to one engine.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time when the next request may go out.
pub(super) struct Pace {
    every: Duration,
    /// Held by who waits for it; the others wait in line, and who gives up leaves the line.
    turn: tokio::sync::Mutex<()>,
    /// Locked for a look or a change only.
    next: Mutex<Instant>,
}

impl Pace {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, turn: tokio::sync::Mutex::default(), next: Mutex::new(Instant::now()) }
    }

    /// Waits until a request may go out, which is then taken to have gone.
    ///
    /// # Cancel safety
    /// Dropping the future takes nobody's time.
    pub(super) async fn wait(&self) {
        let _turn = self.turn.lock().await;
        loop {
            let at = *self.next.lock();
            if at <= Instant::now() {
                break;
            }
            tokio::time::sleep_until(at).await;
        }
        *self.next.lock() = Instant::now() + self.every;
    }

    /// Lets nobody ask before `pause` is over.
    pub(super) fn hold(&self, pause: Duration) {
        let mut next = self.next.lock();
        *next = (*next).max(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::time::timeout;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn requests_keep_their_distance() {
        let (pace, begun) = (Pace::new(3 * SECOND), Instant::now());
        join_all((0..4).map(|_| pace.wait())).await;
        assert_eq!(begun.elapsed().as_secs(), 9);
        pace.hold(10 * SECOND);
        pace.wait().await;
        assert_eq!(begun.elapsed().as_secs(), 19);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_takes_nobodys_time() {
        let (pace, begun) = (Pace::new(3 * SECOND), Instant::now());
        pace.wait().await;
        let given_up = join_all((0..100).map(|_| timeout(SECOND, pace.wait()))).await;
        assert!(given_up.iter().all(Result::is_err));
        pace.wait().await;
        assert_eq!(begun.elapsed().as_secs(), 3);
    }
}
