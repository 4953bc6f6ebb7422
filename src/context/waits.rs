//! Waiting for providers: told to the run's readers, and not counted against the time that its agents have.
//!
//! Calls of a run that wait for the same provider share events, so that an outage writes a few of them, whatever stands
//! in it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Cx, Error, Role, Unanswered};
use crate::{
    domain::{Event, Timestamp, Wait, WaitKind, WarningCode},
    journal::{Entry, StepKind},
    llm::{self, Caller, Gate},
};

/// The bound of the first wait before a call is made again that broke off; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A wait that ends so much later than what was told last is news; so is one that ends a tenth later.
const NEWS: Duration = Duration::from_secs(1);
/// How soon an agent's deadline is looked at again while it waits.
const GLANCE: Duration = Duration::from_millis(50);

/// Whom the calls of a run wait for.
#[derive(Debug, Default)]
pub(super) struct RunWaits {
    /// By the provider's name. Locked for map access only.
    held: Mutex<HashMap<String, Held>>,
}

/// A provider that is waited for.
#[derive(Debug)]
struct Held {
    /// Calls that wait.
    calls: u32,
    /// As it was told last.
    code: WarningCode,
    detail: String,
    wait: Wait,
}

impl Held {
    fn event(&self) -> Event {
        Event::Warning { code: self.code, detail: self.detail.clone(), wait: Some(self.wait.clone()) }
    }
}

impl RunWaits {
    /// A wait begins; the event that tells it, unless another has told as much.
    fn begin(&self, wait: llm::Wait, now: Timestamp) -> Option<Event> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.get(&wait.name);
        let calls = before.map_or(0, |held| held.calls) + u32::from(wait.is_first);
        let until = now.plus(wait.wait);
        if let Some(before) = before.filter(|before| now < before.wait.until) {
            let leeway = NEWS.max(before.wait.until.after(now) / 10);
            if until <= before.wait.until.plus(leeway) {
                held.entry(wait.name).and_modify(|held| held.calls = calls);
                return None;
            }
        }
        let since = before.map_or(now, |before| before.wait.since);
        let seconds = wait.wait.as_secs_f64();
        let new = Held {
            calls,
            code: if wait.limited { WarningCode::RateLimited } else { WarningCode::Retrying },
            detail: format!("{}; trying again in {seconds:.1} s", wait.reason),
            wait: Wait { name: wait.name, kind: wait.kind, seconds, attempt: wait.attempt, since, until },
        };
        let event = new.event();
        held.insert(new.wait.name.clone(), new);
        Some(event)
    }

    /// A call waits no longer; what to tell when it was the last one. Another provider that is still waited for is told
    /// again, since a run shows one at a time.
    fn end(&self, name: &str, now: Timestamp) -> Vec<Event> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(one) = held.get_mut(name) else { return Vec::new() };
        one.calls = one.calls.saturating_sub(1);
        if one.calls > 0 {
            return Vec::new();
        }
        let Some(Held { wait, .. }) = held.remove(name) else { return Vec::new() };
        let seconds = now.after(wait.since).as_secs_f64();
        let ended = Event::WaitEnded { name: wait.name, kind: wait.kind, seconds };
        std::iter::once(ended).chain(held.values().next().map(Held::event)).collect()
    }
}

/// How long an agent has waited for providers.
#[derive(Debug, Default)]
pub(super) struct WaitClock(Mutex<Waited>);

#[derive(Debug, Default)]
struct Waited {
    calls: u32,
    since: Option<Instant>,
    total: Duration,
}

impl WaitClock {
    fn begin(&self, now: Instant) {
        let mut waited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waited.calls += 1;
        waited.since.get_or_insert(now);
    }

    fn end(&self, now: Instant) {
        let mut waited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waited.calls = waited.calls.saturating_sub(1);
        if waited.calls == 0 {
            let since = waited.since.take();
            waited.total += since.map(|since| now - since).unwrap_or_default();
        }
    }

    /// The time in which at least one call waited.
    fn total(&self, now: Instant) -> Duration {
        let waited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waited.total + waited.since.map(|since| now - since).unwrap_or_default()
    }
}

/// When an agent's work is given up. Waiting for a provider that is away does not use up an agent's time, but never
/// takes what the run needs to write its report.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    /// What the agent had waited when it was set.
    waited: Duration,
}

impl Cx {
    /// The end of so much time, from now on.
    pub fn deadline(&self, time: Duration) -> Deadline {
        let now = Instant::now();
        Deadline { at: now + time, waited: self.clock.total(now) }
    }

    fn end_of(&self, deadline: Deadline) -> Instant {
        (deadline.at + (self.clock.total(Instant::now()) - deadline.waited)).min(self.run.research_ends)
    }

    /// The result of `work`; `None` when the deadline came first.
    pub(super) async fn before<T>(&self, deadline: Option<Deadline>, work: impl Future<Output = T>) -> Option<T> {
        let Some(deadline) = deadline else { return Some(work.await) };
        let mut work = std::pin::pin!(work);
        loop {
            let end = self.end_of(deadline);
            if let Ok(done) = tokio::time::timeout_at(end, &mut work).await {
                return Some(done);
            }
            // It moves while the agent waits.
            if self.end_of(deadline) <= Instant::now() {
                return None;
            }
            if let Ok(done) = tokio::time::timeout(GLANCE, &mut work).await {
                return Some(done);
            }
        }
    }

    /// Who makes a call of that role, and waits no longer than it is of use.
    pub(super) fn patient(&self, role: Role) -> Patient<'_> {
        Patient { cx: self, ends: self.patience_ends(role) }
    }

    /// Who searches.
    pub fn searching(&self) -> Patient<'_> {
        self.patient(Role::Research)
    }

    /// Findings may be compressed in half of the time that is kept for writing, the report may be waited for to the end.
    fn patience_ends(&self, role: Role) -> Option<Instant> {
        let research_ends = self.run.research_ends;
        match role {
            Role::Research | Role::Summarization => Some(research_ends),
            Role::Compression => {
                self.run.journal.ends_at().map(|end| research_ends + end.saturating_duration_since(research_ends) / 2)
            }
            Role::FinalReport => self.run.journal.ends_at(),
        }
    }

    /// Waits, once per key and run, before the caller makes a call again that broke off; as long as the provider asked.
    ///
    /// # Errors
    /// The call's own failure when there is no time for the wait; [`crate::journal::Stop`].
    pub async fn pause(
        &self,
        key: &str,
        role: Role,
        attempt: u32,
        broken: Unanswered,
        what: &str,
    ) -> Result<(), Error> {
        let own = || llm::jittered(FIRST_PAUSE * 2_u32.saturating_pow(attempt.min(6)));
        let wait = broken.retry_after_ms.map_or_else(own, Duration::from_millis);
        let patient = self.patient(role);
        if patient.ends.is_some_and(|ends| Instant::now() + wait > ends) {
            return Err(broken.failure.into());
        }
        let (name, reason) = (self.model(role).to_string(), format!("{what}: {}", broken.failure));
        let limited = broken.retry_after_ms.is_some();
        let wait = llm::Wait { name, kind: WaitKind::Model, attempt, wait, reason, limited, is_first: true };
        let pause = async {
            let (name, length) = (wait.name.clone(), wait.wait);
            patient.waiting(wait);
            let _rest = patient.gate().rest();
            tokio::time::sleep(length).await;
            patient.resumed(&name);
            Ok(Entry::new(()))
        };
        Ok(self.run.journal.step(key, StepKind::Mark, String::new(), pause).await?)
    }
}

/// A call of the run, as those see it who make it.
#[derive(Debug)]
pub struct Patient<'a> {
    cx: &'a Cx,
    ends: Option<Instant>,
}

impl Patient<'_> {
    /// Called from inside a call, and by its end: neither may wait.
    fn tell(&self, events: impl IntoIterator<Item = Event>) {
        let events: Vec<_> = events.into_iter().map(|event| self.cx.now(event)).collect();
        if !events.is_empty() {
            self.cx.run.journal.try_emit(events);
        }
    }
}

impl Caller for Patient<'_> {
    fn waiting(&self, wait: llm::Wait) {
        if wait.is_first {
            self.cx.clock.begin(Instant::now());
        }
        self.tell(self.cx.run.waits.begin(wait, Timestamp::now()));
    }

    fn resumed(&self, name: &str) {
        self.cx.clock.end(Instant::now());
        self.tell(self.cx.run.waits.end(name, Timestamp::now()));
    }

    fn ends(&self) -> Option<Instant> {
        self.ends
    }

    fn gate(&self) -> &dyn Gate {
        self.cx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &str, seconds: u64, is_first: bool) -> llm::Wait {
        llm::Wait {
            name: name.to_owned(),
            kind: WaitKind::Model,
            attempt: 1,
            wait: Duration::from_secs(seconds),
            reason: "it is away".to_owned(),
            limited: false,
            is_first,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    #[test]
    fn twenty_calls_that_wait_together_tell_it_once() {
        let waits = RunWaits::default();
        let told = (0..20).filter_map(|_| waits.begin(wait("m", 30, true), at(0))).count();
        assert_eq!(told, 1);
        // The next round of the same outage is one more.
        let again: Vec<_> = (0..20).filter_map(|_| waits.begin(wait("m", 30, false), at(30))).collect();
        let [Event::Warning { wait: Some(told), .. }] = again.as_slice() else { panic!("{again:?}") };
        assert_eq!((told.since, told.until), (at(0), at(60)));
        let ended: Vec<_> = (0..20).flat_map(|_| waits.end("m", at(45))).collect();
        assert_eq!(ended, [Event::WaitEnded { name: "m".into(), kind: WaitKind::Model, seconds: 45.0 }]);
    }

    #[test]
    fn a_much_longer_wait_is_told_although_another_is_in_progress() {
        let waits = RunWaits::default();
        assert!(waits.begin(wait("m", 10, true), at(0)).is_some());
        assert!(waits.begin(wait("m", 9, true), at(2)).is_none());
        assert!(waits.begin(wait("m", 400, true), at(3)).is_some());
    }

    #[test]
    fn who_is_still_waited_for_is_told_again() {
        let waits = RunWaits::default();
        waits.begin(wait("m", 10, true), at(0));
        waits.begin(wait("n", 20, true), at(0));
        let told = waits.end("n", at(5));
        let [Event::WaitEnded { name, .. }, Event::Warning { wait: Some(wait), .. }] = told.as_slice() else {
            panic!("{told:?}")
        };
        assert_eq!((name.as_str(), wait.name.as_str()), ("n", "m"));
        assert!(waits.end("unknown", at(6)).is_empty());
    }

    #[test]
    fn the_clock_counts_the_time_in_which_anybody_waits() {
        let (clock, begun) = (WaitClock::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        clock.begin(at(0));
        clock.begin(at(1));
        clock.end(at(2));
        assert_eq!(clock.total(at(3)), Duration::from_secs(3));
        clock.end(at(3));
        assert_eq!(clock.total(at(9)), Duration::from_secs(3));
    }
}
