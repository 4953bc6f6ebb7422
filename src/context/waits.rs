//! Waits for providers: announced to the run's readers, and not counted against the time that its agents have.
//!
//! Calls of a run that wait for the same provider share events, so that an outage writes a few of them, whatever stands
//! in it.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Cx, Error, Role, Unanswered, paid::Paid};
use crate::{
    domain::{Event, ModelName, Timestamp, Usage, Wait, WaitKind, WarningCode},
    journal::{Entry, StepKind},
    llm::{self, CallContext, Gate},
};

/// A wait that ends so much later than the announced one is announced too; so is one that ends a tenth later.
const NEWS: Duration = Duration::from_secs(1);
/// How long a model is waited for while another one stands ready.
const HURRY: Duration = Duration::from_secs(15);
/// What is kept at the end of a run for its last step, of the time that is kept for writing a tenth at most.
const FINISHING: Duration = Duration::from_secs(5);
/// How soon an agent's deadline is looked at again while it waits.
const GLANCE: Duration = Duration::from_millis(50);

/// The providers that the calls of a run wait for.
#[derive(Debug, Default)]
pub(super) struct RunWaits {
    /// By the provider's name. Locked for map access only.
    held: Mutex<HashMap<String, SharedWait>>,
}

/// A provider that is waited for.
#[derive(Debug)]
struct SharedWait {
    /// Calls that wait.
    calls: u32,
    /// As it was announced last.
    code: WarningCode,
    detail: String,
    wait: Wait,
}

impl SharedWait {
    fn event(&self) -> Event {
        Event::Warning { code: self.code, detail: self.detail.clone(), wait: Some(self.wait.clone()) }
    }
}

impl RunWaits {
    /// Begins a wait; returns its event, unless one that says as much is out.
    fn begin(&self, wait: llm::Wait, now: Timestamp) -> Option<Event> {
        let mut held = self.held.lock();
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
        let new = SharedWait {
            calls,
            code: if wait.limited { WarningCode::RateLimited } else { WarningCode::Retrying },
            detail: format!("{}; trying again in {seconds:.1} s", wait.reason),
            wait: Wait { name: wait.name, kind: wait.kind, seconds, attempt: wait.attempt, since, until },
        };
        let event = new.event();
        held.insert(new.wait.name.clone(), new);
        Some(event)
    }

    /// Ends the wait of a call; returns the events when it was the last one. A provider that is still waited for is
    /// announced again, since a run shows one at a time.
    fn end(&self, name: &str, now: Timestamp) -> Vec<Event> {
        let mut held = self.held.lock();
        let Some(one) = held.get_mut(name) else { return Vec::new() };
        one.calls = one.calls.saturating_sub(1);
        if one.calls > 0 {
            return Vec::new();
        }
        let Some(SharedWait { wait, .. }) = held.remove(name) else { return Vec::new() };
        let seconds = now.after(wait.since).as_secs_f64();
        let ended = Event::WaitEnded { name: wait.name, kind: wait.kind, seconds };
        std::iter::once(ended).chain(held.values().next().map(SharedWait::event)).collect()
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
        let mut waited = self.0.lock();
        waited.calls += 1;
        waited.since.get_or_insert(now);
    }

    fn end(&self, now: Instant) {
        let mut waited = self.0.lock();
        waited.calls = waited.calls.saturating_sub(1);
        if waited.calls == 0 {
            let since = waited.since.take();
            waited.total += since.map(|since| now - since).unwrap_or_default();
        }
    }

    /// Returns the time in which at least one of the agent's calls waited, the current wait included.
    fn total(&self, now: Instant) -> Duration {
        let waited = self.0.lock();
        waited.total + waited.since.map(|since| now - since).unwrap_or_default()
    }
}

/// The time at which an agent's work is given up. It moves by the time that the agent waits before calls are made
/// again, but not beyond the end of research, after which the report is written.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    /// What the agent had waited when it was set.
    waited: Duration,
    /// It never moves behind this.
    latest: Option<Instant>,
    /// For a call that follows a finished text: it may use what is kept for writing.
    finishes: bool,
}

impl Deadline {
    /// Returns the one of two deadlines of one agent that comes first.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        if self.comes_after(&other) { other } else { self }
    }

    /// Returns the end of a call that follows a finished text.
    pub(super) fn finish(self) -> Option<Instant> {
        self.finishes.then_some(self.at)
    }

    /// Returns whether this one comes later. Both move by the time the agent waits from now on.
    fn comes_after(&self, other: &Self) -> bool {
        self.at + other.waited > other.at + self.waited
    }
}

impl Cx {
    /// Returns the end of so much time, from now on.
    pub fn deadline(&self, time: Duration) -> Deadline {
        let now = Instant::now();
        Deadline {
            at: now + time,
            waited: self.clock.total(now),
            latest: Some(self.run.research_ends),
            finishes: false,
        }
    }

    /// Returns when calls that follow a finished text are given up, so that the run still ends with that text; `None`
    /// for a run without a time limit.
    pub fn finishing(&self) -> Option<Deadline> {
        let ends_at = self.run.journal.ends_at()?;
        let kept = (ends_at.saturating_duration_since(self.run.research_ends) / 10).min(FINISHING);
        let at = ends_at.checked_sub(kept).unwrap_or(ends_at);
        Some(Deadline { at, waited: self.clock.total(Instant::now()), latest: Some(at), finishes: true })
    }

    /// Returns whether a call that follows a finished text is not to be begun any more. That is no step: it is too late
    /// for each later life of the run as well.
    pub(super) fn is_too_late(&self, key: &str, deadline: Option<Deadline>) -> bool {
        let end = deadline.and_then(Deadline::finish);
        end.is_some_and(|end| end <= Instant::now()) && !self.run.journal.has(key)
    }

    /// Returns when notes have to be written that are begun now: with the agent's time, but not before `least`.
    pub fn notes_deadline(&self, agents: Deadline, least: Duration) -> Deadline {
        let own = self.deadline(least);
        let later = if own.comes_after(&agents) { own } else { agents };
        Deadline { latest: self.retries_end(Role::Compression), ..later }
    }

    fn end_of(&self, deadline: Deadline) -> Instant {
        let end = deadline.at + (self.clock.total(Instant::now()) - deadline.waited);
        deadline.latest.map_or(end, |latest| end.min(latest))
    }

    /// Returns the result of `work`; `None` when the deadline came first.
    ///
    /// # Cancel safety
    /// `work` is dropped when the deadline comes first, and when the future is dropped.
    pub async fn before<T>(&self, deadline: Option<Deadline>, work: impl Future<Output = T>) -> Option<T> {
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

    /// Returns the caller of a model of that role, which waits no longer than it is of use.
    pub(super) fn caller(&self, ends: Option<Instant>) -> RunCaller<'_> {
        RunCaller { cx: self, ends, bill: None }
    }

    /// Returns the same while another model stands ready: it waits no longer than for a short limit of its rate.
    pub(super) fn brief_caller(&self, ends: Option<Instant>) -> RunCaller<'_> {
        let soon = Instant::now() + HURRY;
        self.caller(Some(ends.map_or(soon, |ends| ends.min(soon))))
    }

    /// Returns the caller of a search engine.
    pub fn searching(&self) -> RunCaller<'_> {
        self.caller(self.retries_end(Role::Research))
    }

    /// Returns until when a call of this role may be made again. Findings may be compressed in half of the time that
    /// is kept for writing, the report may be waited for to the end.
    pub(super) fn retries_end(&self, role: Role) -> Option<Instant> {
        let research_ends = self.run.research_ends;
        match role {
            Role::Research | Role::Summarization => Some(research_ends),
            Role::Compression => {
                self.run.journal.ends_at().map(|end| research_ends + end.saturating_duration_since(research_ends) / 2)
            }
            Role::FinalReport => self.run.journal.ends_at(),
        }
    }

    /// Waits before the caller makes a call again that broke off: once per key and run, and as long as the provider
    /// asked.
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
        let first_within = self.run.services.llm.first_retry_within();
        let own = || llm::jittered(first_within * 2_u32.saturating_pow(attempt.min(6)));
        let wait = broken.retry_after_ms.map_or_else(own, Duration::from_millis);
        let caller = self.caller(self.retries_end(role));
        let is_late = caller.ends.is_some_and(|ends| Instant::now() + wait > ends);
        // What was waited for before is behind us, whatever the clock says.
        if is_late && !self.run.journal.has(key) {
            return Err(broken.failure.into());
        }
        let (name, reason) = (self.models(role).first().to_string(), format!("{what}: {}", broken.failure));
        let limited = broken.retry_after_ms.is_some();
        let wait = llm::Wait { name, kind: WaitKind::Model, attempt, wait, reason, limited, is_first: true };
        let pause = async {
            let length = wait.wait;
            let _waiting = Waiting::begin(&caller, wait);
            let _rest = caller.gate().rest();
            tokio::time::sleep(length).await;
            Ok(Entry::new(()))
        };
        Ok(self.run.journal.step(key, StepKind::Mark, String::new(), pause).await?)
    }
}

/// A wait in progress; it ends when dropped, also when the waiting call is given up.
struct Waiting<'a> {
    caller: &'a dyn CallContext,
    name: String,
}

impl<'a> Waiting<'a> {
    fn begin(caller: &'a dyn CallContext, wait: llm::Wait) -> Self {
        let name = wait.name.clone();
        caller.waiting(wait);
        Self { caller, name }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.caller.resumed(&self.name);
    }
}

/// A call of the run, as the rooms see it that make it.
#[derive(Debug)]
pub struct RunCaller<'a> {
    cx: &'a Cx,
    ends: Option<Instant>,
    /// Who pays for answers that cannot be used; nobody when no model is called.
    bill: Option<Bill<'a>>,
}

/// Whose answers are paid for, and into which step.
#[derive(Clone, Copy, Debug)]
struct Bill<'a> {
    model: &'a ModelName,
    paid: &'a Mutex<Paid>,
}

impl<'a> RunCaller<'a> {
    /// Returns the same for calls of that model, whose answers the step pays for, be they of use or not.
    pub(super) fn paying(self, model: &'a ModelName, paid: &'a Mutex<Paid>) -> Self {
        Self { bill: Some(Bill { model, paid }), ..self }
    }

    /// Emits from inside a call, and at its end: neither may wait.
    fn emit(&self, events: impl IntoIterator<Item = Event>) {
        let events: Vec<_> = events.into_iter().map(|event| self.cx.now(event)).collect();
        if !events.is_empty() {
            self.cx.run.journal.try_emit(events);
        }
    }
}

impl CallContext for RunCaller<'_> {
    fn waiting(&self, wait: llm::Wait) {
        if wait.is_first {
            self.cx.clock.begin(Instant::now());
        }
        self.emit(self.cx.run.waits.begin(wait, Timestamp::now()));
    }

    fn resumed(&self, name: &str) {
        self.cx.clock.end(Instant::now());
        self.emit(self.cx.run.waits.end(name, Timestamp::now()));
    }

    fn billed(&self, usage: &Usage) {
        // At once: nobody comes back to a call that is dropped.
        if let Some(Bill { model, paid }) = self.bill {
            self.cx.pay_unused(model, *usage, &mut paid.lock());
        }
    }

    fn ends(&self) -> Option<Instant> {
        self.ends
    }

    fn run(&self) -> u128 {
        self.cx.run.journal.run_id().0.as_u128()
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
    fn twenty_calls_that_wait_together_announce_it_once() {
        let waits = RunWaits::default();
        let announced = (0..20).filter_map(|_| waits.begin(wait("m", 30, true), at(0))).count();
        assert_eq!(announced, 1);
        // The next round of the same outage is one more.
        let again: Vec<_> = (0..20).filter_map(|_| waits.begin(wait("m", 30, false), at(30))).collect();
        let [Event::Warning { wait: Some(wait), .. }] = again.as_slice() else { panic!("{again:?}") };
        assert_eq!((wait.since, wait.until), (at(0), at(60)));
        let ended: Vec<_> = (0..20).flat_map(|_| waits.end("m", at(45))).collect();
        assert_eq!(ended, [Event::WaitEnded { name: "m".into(), kind: WaitKind::Model, seconds: 45.0 }]);
    }

    #[test]
    fn a_much_longer_wait_is_announced_although_another_is_in_progress() {
        let waits = RunWaits::default();
        assert!(waits.begin(wait("m", 10, true), at(0)).is_some());
        assert!(waits.begin(wait("m", 9, true), at(2)).is_none());
        assert!(waits.begin(wait("m", 400, true), at(3)).is_some());
    }

    #[test]
    fn a_provider_that_is_still_waited_for_is_announced_again() {
        let waits = RunWaits::default();
        waits.begin(wait("m", 10, true), at(0));
        waits.begin(wait("n", 20, true), at(0));
        let events = waits.end("n", at(5));
        let [Event::WaitEnded { name, .. }, Event::Warning { wait: Some(wait), .. }] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!((name.as_str(), wait.name.as_str()), ("n", "m"));
        assert!(waits.end("unknown", at(6)).is_empty());
    }

    /// The clock of an agent, as its calls move it.
    struct OfAgent(WaitClock);

    impl CallContext for OfAgent {
        fn waiting(&self, _: llm::Wait) {
            self.0.begin(Instant::now());
        }

        fn resumed(&self, _: &str) {
            self.0.end(Instant::now());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_no_longer_moves_the_deadline() {
        let agent = OfAgent(WaitClock::default());
        let pause = async {
            let _waiting = Waiting::begin(&agent, wait("m", 60, true));
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        assert!(tokio::time::timeout(Duration::from_secs(5), pause).await.is_err());
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(agent.0.total(Instant::now()).as_secs(), 5);
    }

    #[test]
    fn the_clock_counts_the_time_in_which_a_call_waits() {
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
