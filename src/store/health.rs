//! When the database was last in trouble, and whether it takes writes.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Error;

/// How long an answer is repeated.
const FRESH: Duration = Duration::from_secs(1);

/// What a process has seen of its database.
#[derive(Debug, Default)]
pub struct Health {
    /// Locked for access only.
    trouble: Mutex<Option<Instant>>,
    /// The last try of a write. Locked while one is under way, so that many who ask at once try it once.
    writes: tokio::sync::Mutex<Option<(Instant, Result<(), Error>)>>,
}

impl Health {
    pub fn note_trouble(&self) {
        *self.trouble.lock() = Some(Instant::now());
    }

    /// The time since the last trouble; `None` when there was none.
    pub fn since_trouble(&self) -> Option<Duration> {
        self.trouble.lock().map(|at| at.elapsed())
    }

    /// Whether writes are taken, as `probe` finds out unless it did a moment ago.
    pub async fn takes_writes(&self, probe: impl AsyncFnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let mut last = self.writes.lock().await;
        if let Some((_, answer)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return answer.clone();
        }
        let answer = probe().await;
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}
