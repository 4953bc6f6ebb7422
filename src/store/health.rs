//! When the database was last in trouble, and whether it takes writes.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Error;

/// How long an answer is repeated.
const FRESH: Duration = Duration::from_secs(1);
/// How long a disk counts as full after it had no room for a write: a probe, which is small, would still fit.
const FULL: Duration = Duration::from_secs(30);

/// What a process has seen of its database.
#[derive(Debug, Default)]
pub struct Health {
    /// Locked for access only.
    trouble: Mutex<Option<Instant>>,
    /// The last try of a write. Locked while one is under way, so that many who ask at once try it once.
    writes: tokio::sync::Mutex<Option<(Instant, Result<(), Error>)>>,
    /// The last write for which there was no room, until a message was taken. Locked for access only.
    no_room: Mutex<Option<(Instant, Error)>>,
}

impl Health {
    pub fn note_trouble(&self) {
        *self.trouble.lock() = Some(Instant::now());
    }

    /// Returns the time since the last trouble; `None` when there was none.
    pub fn since_trouble(&self) -> Option<Duration> {
        self.trouble.lock().map(|at| at.elapsed())
    }

    /// Notes that there was no room for a write.
    pub fn note_no_room(&self, error: &Error) {
        *self.no_room.lock() = Some((Instant::now(), error.clone()));
    }

    /// Notes that there was room for a message. What runs store says less: a small commit may still fit.
    pub fn note_room(&self) {
        *self.no_room.lock() = None;
    }

    fn had_no_room(&self) -> Option<Error> {
        self.no_room.lock().as_ref().filter(|(at, _)| at.elapsed() < FULL).map(|(_, error)| error.clone())
    }

    /// Checks whether writes are taken, as `probe` finds out unless it did a moment ago, or there was no room for a
    /// write lately.
    pub async fn takes_writes(&self, probe: impl AsyncFnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let mut last = self.writes.lock().await;
        if let Some(error) = self.had_no_room() {
            return Err(error);
        }
        if let Some((_, answer)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return answer.clone();
        }
        let answer = probe().await;
        // A refusal speaks for itself, also where it found no room: the next probe is made soon. One that found room
        // says nothing of a larger write that failed meanwhile.
        if answer.is_err() {
            self.note_room();
        }
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A probe is so small that it still fits on a disk where nothing else does.
    #[tokio::test]
    async fn a_disk_without_room_for_a_write_takes_none_whatever_a_probe_says() {
        let (health, full) = (Health::default(), Error::TakesNoWrites("full".to_owned()));
        let asked = async || health.takes_writes(async || Ok(())).await;
        assert_eq!(asked().await, Ok(()));
        health.note_no_room(&full);
        assert_eq!(asked().await, Err(full.clone()), "also where a probe has just been taken");
        health.note_room();
        assert_eq!(asked().await, Ok(()));
        health.note_no_room(&full);
        let noted = Instant::now().checked_sub(FULL).unwrap();
        health.no_room.lock().as_mut().unwrap().0 = noted;
        assert_eq!(asked().await, Ok(()), "who has no more to write is probed again");
    }

    #[tokio::test]
    async fn a_write_without_room_while_a_probe_is_under_way_is_not_forgotten() {
        let (health, full) = (Health::default(), Error::TakesNoWrites("full".to_owned()));
        let probe = async || {
            health.note_no_room(&full);
            Ok(())
        };
        assert_eq!(health.takes_writes(probe).await, Ok(()));
        assert_eq!(health.takes_writes(async || Ok(())).await, Err(full.clone()));
    }

    #[tokio::test]
    async fn a_probe_that_finds_no_room_is_made_again_soon() {
        let (health, full) = (Health::default(), Error::TakesNoWrites("full".to_owned()));
        let probe = async || {
            health.note_no_room(&full);
            Err(full.clone())
        };
        assert_eq!(health.takes_writes(probe).await, Err(full.clone()));
        health.writes.lock().await.as_mut().unwrap().0 = Instant::now().checked_sub(FRESH).unwrap();
        assert_eq!(health.takes_writes(async || Ok(())).await, Ok(()));
    }
}
