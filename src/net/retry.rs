//! A small retry loop: exponential waits with jitter, a server's own wish first, and a bound on all waiting.

use std::{future::Future, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};

use super::Gate;

/// How often and how long to try again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Calls in all, the first included.
    pub max_attempts: usize,
    /// The first wait is between this and twice this; each further one doubles.
    pub min_delay: Duration,
    /// What may be spent on waiting in all; a server that asks for more ends the retries.
    pub max_total_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: 4, min_delay: Duration::from_millis(500), max_total_wait: Duration::from_secs(20) }
    }
}

/// What a failure means for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Trying again would fail the same way.
    Final,
    /// It may pass, after the wait the server asked for, if it asked.
    Again { after: Option<Duration> },
}

/// Calls `operation` until it succeeds, `judge` calls its error final, or the policy is used up; then the last error.
/// `gate` learns of the waits in between.
///
/// # Cancel safety
/// Dropping the future drops the attempt or the wait in progress.
pub async fn retry<T, E, Op, Out>(
    policy: Retry,
    gate: &dyn Gate,
    judge: impl Fn(&E) -> Verdict,
    mut operation: Op,
) -> Result<T, E>
where
    Op: FnMut() -> Out,
    Out: Future<Output = Result<T, E>>,
{
    let mut waits = Waits::new(policy);
    loop {
        let error = match operation().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        match waits.next(judge(&error)) {
            Some(wait) => {
                let _rest = gate.rest();
                tokio::time::sleep(wait).await;
            }
            None => return Err(error),
        }
    }
}

/// The waits of one call, none of them beyond what is left of the budget.
struct Waits {
    delays: backon::ExponentialBackoff,
    left: Duration,
}

impl Waits {
    fn new(policy: Retry) -> Self {
        let delays = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(policy.min_delay)
            .with_max_delay(policy.max_total_wait)
            .with_max_times(policy.max_attempts.saturating_sub(1))
            .build();
        Self { delays, left: policy.max_total_wait }
    }

    fn next(&mut self, verdict: Verdict) -> Option<Duration> {
        let Verdict::Again { after } = verdict else { return None };
        let own = self.delays.next()?;
        let wait = after.map_or(own, |after| after.max(Duration::from_millis(10)));
        self.left = self.left.checked_sub(wait)?;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Retry {
        Retry { max_attempts: 3, min_delay: Duration::from_millis(100), max_total_wait: Duration::from_secs(2) }
    }

    #[test]
    fn a_server_s_wish_goes_first_within_the_budget() {
        let mut waits = Waits::new(policy());
        let second = Duration::from_secs(1);
        assert_eq!(waits.next(Verdict::Again { after: Some(second) }), Some(second));
        assert_eq!(waits.next(Verdict::Again { after: Some(2 * second) }), None);
    }

    #[test]
    fn attempts_are_counted() {
        let mut waits = Waits::new(policy());
        for _ in 0..2 {
            assert!(waits.next(Verdict::Again { after: None }).is_some());
        }
        assert_eq!(waits.next(Verdict::Again { after: None }), None);
    }

    #[test]
    fn a_final_error_ends_it() {
        assert_eq!(Waits::new(policy()).next(Verdict::Final), None);
    }

    #[tokio::test]
    async fn success_after_failure_is_success() {
        let policy = Retry { min_delay: Duration::from_millis(1), ..policy() };
        let mut calls = 0;
        let result = retry(
            policy,
            &super::super::Open,
            |_: &&str| Verdict::Again { after: None },
            || {
                calls += 1;
                std::future::ready(if calls < 3 { Err("busy") } else { Ok(calls) })
            },
        )
        .await;
        assert_eq!(result, Ok(3));
    }
}
