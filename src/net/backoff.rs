//! How long to wait before the next attempt: exponential waits with full jitter (a random time between zero and a
//! doubling bound), unless the provider says how long.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The doubling of waits stops here, so that a provider that is back is noticed soon.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The attempts after which a provider that asks for short waits gets those of an exponential backoff.
const ASKED_WAITS: u32 = 10;

/// How long a call is tried again.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// The sum of a call's waits.
    pub max_wait: Duration,
    /// The first wait is random between zero and this; it doubles from attempt to attempt.
    pub first_within: Duration,
    /// Attempts that may end without an answer in time.
    pub timeouts: u32,
}

/// What is wrong, when trying again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody is there, or says that it cannot serve anybody now.
    Away,
    /// Somebody before the provider, such as a firewall, turns us away; or this request alone.
    Blocked,
    /// An error of the provider's own (500).
    Failing,
    /// Too many calls of ours.
    Limited,
    /// No answer in time.
    Slow,
    /// Its answer cannot be read.
    Unreadable,
    /// Its answer is one, and the model or its provider gave up on it.
    Broken,
}

/// Returns the length of the wait after so many attempts: what the provider asked for, else `own`. A provider that
/// goes on asking for less than `own` does not get it.
pub(super) fn length(asked: Option<Duration>, own: Duration, attempts: u32) -> Duration {
    match asked.filter(|asked| !asked.is_zero()) {
        Some(asked) if attempts > ASKED_WAITS => asked.max(own),
        Some(asked) => asked,
        None => own,
    }
}

/// Returns the next bound of an exponential backoff.
pub(super) fn longer(bound: Duration) -> Duration {
    (bound * 2).min(LONGEST_BACKOFF)
}

/// Returns a random time from zero to `bound`. The hasher's keys are the standard library's only source of
/// randomness.
pub fn jittered(bound: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) >> 32;
    bound.mul_f64(random as f64 / f64::from(u32::MAX))
}
