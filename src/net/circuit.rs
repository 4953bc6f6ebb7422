//! What this process knows of one provider: whether it answers, and when it is asked again.
//!
//! Calls fail alone first. When several in a row found nobody, the provider is taken to be away: then one call at a
//! time asks again, after growing waits that all callers share, and the first answer lets all go on that were not asked
//! to wait themselves. So a dead provider costs a few requests a minute, whatever waits for it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::{RetryPolicy, Trouble, jittered, length, longer};
use super::clock::now;
use crate::domain::WaitKind;

/// The calls in a row that must find nobody before others wait for one that tries.
const FAILURES: u32 = 3;

/// One provider, as all calls to it share it.
#[derive(Debug)]
pub struct Circuit {
    name: String,
    kind: WaitKind,
    /// Locked for a look or a change only, never across an `.await`.
    state: Mutex<State>,
    /// Answers so far; a change ends waiting.
    answers: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// Calls in a row that found nobody.
    failures: u32,
    away: Option<Away>,
}

/// The provider is away.
#[derive(Debug)]
struct Away {
    /// When the wait in progress was decided: failures of calls begun before it are no news.
    decided: Instant,
    until: Instant,
    bound: Duration,
    reason: String,
}

/// Whether a call may be made.
#[derive(Debug, PartialEq)]
pub(super) enum Turn {
    Go,
    Wait { until: Instant, reason: String },
}

impl Circuit {
    /// Makes a circuit that is closed; `name` is how events call the provider.
    pub fn new(name: impl Into<String>, kind: WaitKind) -> Self {
        Self { name: name.into(), kind, state: Mutex::default(), answers: watch::Sender::new(0) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn kind(&self) -> WaitKind {
        self.kind
    }

    /// Returns whether the provider is taken to be away.
    pub fn is_open(&self) -> bool {
        self.state.lock().away.is_some()
    }

    /// Returns whether a call would have to wait at this moment.
    pub fn is_waiting(&self) -> bool {
        self.state.lock().away.as_ref().is_some_and(|away| now() < away.until)
    }

    /// Returns whether a call may go or has to wait. While the provider is away, the call that may go asks it for
    /// all; the next one may after another wait, so that a call that gets no answer at all holds nobody up.
    pub(super) fn turn(&self) -> Turn {
        let now = now();
        match &mut self.state.lock().away {
            Some(away) if now < away.until => Turn::Wait { until: away.until, reason: away.reason.clone() },
            Some(away) => {
                away.decided = now;
                away.until = now + away.bound;
                Turn::Go
            }
            None => Turn::Go,
        }
    }

    /// Counts the answers from now on: it changes when somebody gets one.
    pub(super) fn answers(&self) -> watch::Receiver<u64> {
        self.answers.subscribe()
    }

    /// Notes that a call got an answer, be it a refusal.
    pub(super) fn answered(&self) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.away = None;
        drop(state);
        self.answers.send_modify(|answers| *answers += 1);
    }

    /// Notes that a call begun then found nobody, and was asked to leave the provider alone for that long.
    pub(super) fn found_nobody(&self, begun: Instant, asked: Option<Duration>, reason: &str, policy: &RetryPolicy) {
        let now = now();
        let mut state = self.state.lock();
        state.failures = state.failures.saturating_add(1);
        let failures = state.failures;
        let bound = match &mut state.away {
            Some(away) if begun < away.decided => {
                away.until = away.until.max(now + asked.unwrap_or_default());
                return;
            }
            Some(away) => longer(away.bound),
            None if failures < FAILURES => return,
            None => longer(policy.first_within),
        };
        let wait = length(asked, jittered(bound), failures);
        state.away = Some(Away { decided: now, until: now + wait, bound, reason: reason.to_owned() });
    }

    /// Notes what the outcome of an attempt says of the provider.
    pub(super) fn note(
        &self,
        begun: Instant,
        trouble: Trouble,
        asked: Option<Duration>,
        reason: &str,
        policy: &RetryPolicy,
    ) {
        match trouble {
            Trouble::Away | Trouble::Blocked => self.found_nobody(begun, asked, reason, policy),
            Trouble::Limited => self.answered(),
            // They may be the request's fault, and say nothing of others.
            Trouble::Failing | Trouble::Slow | Trouble::Unreadable | Trouble::Broken => {}
        }
    }
}
