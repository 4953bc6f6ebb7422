//! When a failed call is made again, and after how long.
//!
//! Exponential with full jitter (a random wait between zero and a doubling bound), unless the server says how long.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::Error;
use super::failure::Failure;
use super::settings::Settings;

/// The doubling of waits stops here.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Rate limits pass by themselves, so waiting for them is worth more.
const RATE_LIMIT_PATIENCE: u32 = 5;
/// Stops what would go round in no time: a server that answers at once and asks for no wait.
const MOST_ATTEMPTS: u32 = 30;
/// Answers nobody can read rarely get better.
const MALFORMED_ATTEMPTS: u32 = 3;
/// A second wait of minutes in silence is the most a caller should bear.
const TIMEOUT_ATTEMPTS: u32 = 2;

/// The waits of one call.
pub(super) struct Waits {
    retry_for: Duration,
    bound: Duration,
    waited: Duration,
    /// Attempts made so far.
    attempts: u32,
}

impl Waits {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { retry_for: settings.retry_for, bound: settings.first_retry_within, waited: Duration::ZERO, attempts: 0 }
    }

    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long to wait before trying again; `None` means give up. To be called once after each failed attempt.
    pub(super) fn after(&mut self, failure: &Failure) -> Option<Duration> {
        self.attempts += 1;
        let patience = self.patience(&failure.error)?;
        let asked = failure.retry_after.filter(|wait| !wait.is_zero());
        let wait = asked.unwrap_or_else(|| jittered(self.bound));
        if self.waited + wait > patience || self.attempts >= MOST_ATTEMPTS {
            return None;
        }
        self.waited += wait;
        self.bound = (self.bound * 2).min(LONGEST_WAIT);
        Some(wait)
    }

    /// The sum of all waits that is allowed; `None` when trying again is pointless.
    fn patience(&self, error: &Error) -> Option<Duration> {
        let attempts = match error {
            Error::RateLimited { .. } => return Some(self.retry_for * RATE_LIMIT_PATIENCE),
            Error::Overloaded { .. } | Error::Transport { .. } => u32::MAX,
            Error::Malformed { .. } => MALFORMED_ATTEMPTS,
            Error::Timeout { .. } => TIMEOUT_ATTEMPTS,
            Error::ContextWindow { .. } | Error::Auth { .. } | Error::BadRequest { .. } | Error::Refused { .. } => 0,
        };
        (self.attempts < attempts).then_some(self.retry_for)
    }
}

impl Settings {
    /// The longest that a call may wait before it is made again.
    pub fn longest_wait(&self) -> Duration {
        self.retry_for * RATE_LIMIT_PATIENCE
    }
}

/// A random time from zero to `bound`. The hasher's keys are the standard library's only source of randomness.
fn jittered(bound: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) >> 32;
    bound.mul_f64(random as f64 / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ModelName;

    fn model() -> ModelName {
        "openai:m".parse().unwrap()
    }

    fn waits() -> Waits {
        Waits::new(&Settings::default())
    }

    fn overloaded(retry_after: Option<Duration>) -> Failure {
        Failure { error: Error::Overloaded { model: model(), detail: String::new() }, retry_after }
    }

    fn rate_limited(seconds: u64) -> Failure {
        Error::RateLimited { model: model(), retry_after: Some(Duration::from_secs(seconds)) }.into()
    }

    #[test]
    fn waits_double_up_to_a_bound_and_end_with_the_patience() {
        let mut waits = waits();
        let mut total = Duration::ZERO;
        let mut bound = Duration::from_millis(500);
        while let Some(wait) = waits.after(&overloaded(None)) {
            assert!(wait <= bound, "{wait:?} > {bound:?}");
            bound = (bound * 2).min(LONGEST_WAIT);
            total += wait;
        }
        assert!(total <= Duration::from_secs(60));
        assert!(waits.attempts() > 6, "{}", waits.attempts());
    }

    #[test]
    fn what_the_server_asks_is_honoured_exactly_or_not_at_all() {
        let mut waits = waits();
        assert_eq!(waits.after(&overloaded(Some(Duration::from_secs(59)))), Some(Duration::from_secs(59)));
        assert_eq!(waits.after(&overloaded(Some(Duration::from_secs(2)))), None);
    }

    #[test]
    fn rate_limits_are_waited_for_five_times_as_long() {
        let mut waits = waits();
        assert_eq!(waits.after(&rate_limited(200)), Some(Duration::from_secs(200)));
        assert_eq!(waits.after(&rate_limited(100)), Some(Duration::from_secs(100)));
        assert_eq!(waits.after(&rate_limited(1)), None);
    }

    #[test]
    fn d_10_final_errors_are_not_retried() {
        let detail = String::new();
        for error in [
            Error::Auth { model: model(), detail: detail.clone() },
            Error::BadRequest { model: model(), detail: detail.clone() },
            Error::Refused { model: model(), detail },
            Error::ContextWindow { model: model(), limit: None },
        ] {
            assert_eq!(waits().after(&error.into()), None);
        }
    }

    #[test]
    fn timeouts_and_unreadable_answers_are_tried_again_a_few_times() {
        fn tries(error: Error) -> u32 {
            let mut waits = waits();
            while waits.after(&error.clone().into()).is_some() {}
            waits.attempts()
        }
        assert_eq!(tries(Error::Timeout { model: model() }), 2);
        assert_eq!(tries(Error::Malformed { model: model(), detail: String::new() }), 3);
    }
}
