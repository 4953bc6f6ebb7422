//! What was verified a moment ago, by the SHA-256 of what was sent.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::Principal;

/// How long an answer counts.
const COUNTS: Duration = Duration::from_secs(5);
/// All are forgotten when there are more.
const MAX_ANSWERS: usize = 10_000;

/// Answers of the database. Locked for a look or a change only.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    by_hash: HashMap<[u8; 32], (Option<Principal>, Instant)>,
    generation: Generation,
}

/// Which answers a look into the database belongs to: those from before all were forgotten are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl Remembered {
    /// Returns the answer that counts.
    ///
    /// # Errors
    /// There is none; the generation of the one that is to be found, before it is looked for.
    pub(super) fn get(&self, hash: &[u8; 32]) -> Result<Option<Principal>, Generation> {
        let answers = self.0.lock();
        let known = answers.by_hash.get(hash).filter(|(_, since)| since.elapsed() < COUNTS);
        known.map(|(principal, _)| principal.clone()).ok_or(answers.generation)
    }

    /// Keeps an answer, unless all were forgotten since it was looked for: a key that it shows may be revoked.
    pub(super) fn insert(&self, hash: [u8; 32], principal: Option<Principal>, generation: Generation) {
        let mut answers = self.0.lock();
        if answers.generation != generation {
            return;
        }
        if answers.by_hash.len() >= MAX_ANSWERS {
            answers.by_hash.clear();
        }
        answers.by_hash.insert(hash, (principal, Instant::now()));
    }

    pub(super) fn forget_all(&self) {
        let mut answers = self.0.lock();
        answers.by_hash.clear();
        answers.generation.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_revocation_is_not_remembered_after_it() {
        let (remembered, hash) = (Remembered::default(), [7; 32]);
        let before = remembered.get(&hash).unwrap_err();
        // The database has been read, and the key is revoked before its answer is kept.
        remembered.forget_all();
        remembered.insert(hash, None, before);
        let after = remembered.get(&hash).unwrap_err();
        remembered.insert(hash, None, after);
        assert_eq!(remembered.get(&hash), Ok(None));
    }
}
