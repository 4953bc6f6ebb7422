//! When a failed call is made again: one policy for models and searches.
//!
//! By the kind of trouble, with waits as `backoff.rs` has them, and no longer than the caller has time. Each wait is
//! reported before it begins.

use std::time::Duration;

use tokio::time::Instant;

use super::backoff::{RetryPolicy, Trouble, jittered, length, longer};
use super::circuit::{Circuit, Turn};
use super::clock::{now, sleep, sleep_until};
use super::gate::{Gate, Open};
use crate::domain::{Usage, WaitKind};

/// Answers nobody can read may have been paid for, and may be a proxy's trouble, which passes: half a minute of
/// attempts.
const UNREADABLE_ATTEMPTS: u32 = 8;
/// Answers that were paid for and that nobody can use: their prompt is, each time.
const BROKEN_ATTEMPTS: u32 = 3;
/// An error of the provider's own may be the request's fault: then no wait heals it.
const FAILING_LIMIT: Duration = Duration::from_secs(20 * 60);
/// A block that lasts longer is not waited for.
const BLOCKED_LIMIT: Duration = Duration::from_secs(5 * 60);
/// The attempts at a call that fails while others get answers.
const LONE_ATTEMPTS: u32 = 8;
/// The same for calls that get no answer in time.
const LONE_TIMEOUTS: u32 = 3;

/// What a failure means for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Trying again would fail the same way.
    Final,
    /// It may pass, after the wait the server asked for, if it asked.
    Again { trouble: Trouble, after: Option<Duration> },
    /// The same, but the server asks for no other attempt at this call.
    Refrain { trouble: Trouble, after: Option<Duration> },
}

/// An attempt that failed.
pub trait Attempt {
    fn advice(&self) -> RetryAdvice;

    /// Returns the reason for people, without secrets.
    fn reason(&self) -> String;
}

/// A wait that is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The provider, as its [`Circuit`] is called.
    pub name: String,
    pub kind: WaitKind,
    /// Attempts made; 0 when others found the provider away.
    pub attempt: u32,
    pub wait: Duration,
    pub reason: String,
    /// The provider limits our rate.
    pub limited: bool,
    /// This call has not waited before.
    pub is_first: bool,
}

/// What a call tells the one it is made for, and learns from it. A closure that takes a [`Wait`] is one whose calls may
/// always be made.
pub trait CallContext: Send + Sync {
    /// Hears of each wait before it begins.
    fn waiting(&self, wait: Wait);

    /// Hears that a call that had waited does not any more: it got through, failed for good, or was dropped.
    fn resumed(&self, _name: &str) {}

    /// Hears that one of several that were asked failed; the call goes on without it.
    fn lost(&self, _name: &str, _reason: &str) {}

    /// Hears what was left out because no parser was free; the call goes on without it.
    fn unparsed(&self, _what: &str) {}

    /// Hears that what was named failed, for that reason, and that `by` answered in its place.
    fn replaced(&self, _name: &str, _by: &str, _reason: &str) {}

    /// Hears that a model made the call and used that, whatever becomes of its answer.
    fn billed(&self, _usage: &Usage) {}

    /// Returns the end of the time for waiting; no wait may end later.
    fn ends(&self) -> Option<Instant> {
        None
    }

    /// Returns the run on whose behalf the call is made: calls of different runs take turns.
    fn run(&self) -> u128 {
        0
    }

    /// Returns the gate that is passed right before each attempt, the first included.
    fn gate(&self) -> &dyn Gate {
        &Open
    }
}

/// Waits in silence.
impl CallContext for Open {
    fn waiting(&self, _: Wait) {}
}

/// A caller that has no time to wait.
#[derive(Clone, Copy, Debug)]
pub struct NoWait;

impl CallContext for NoWait {
    fn waiting(&self, _: Wait) {}

    fn ends(&self) -> Option<Instant> {
        Some(now())
    }
}

impl<F: Fn(Wait) + Send + Sync> CallContext for F {
    fn waiting(&self, wait: Wait) {
        self(wait);
    }
}

/// The end of all attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct GaveUp<E> {
    /// The last attempt's.
    pub error: E,
    pub attempts: u32,
    /// The wait that would have been next, had there been time for it.
    pub too_long: Option<Duration>,
}

/// Calls `operation` until it succeeds, its error is final, or there is no more time to wait; returns the number of
/// attempts with its result. While `circuit` is open, waits for the call that tries.
///
/// # Errors
/// [`GaveUp`] with the last error.
///
/// # Cancel safety
/// Dropping the future drops the attempt or the wait in progress.
pub async fn retry<T, E: Attempt, Out: Future<Output = Result<T, E>>>(
    circuit: &Circuit,
    policy: &RetryPolicy,
    caller: &dyn CallContext,
    mut operation: impl FnMut() -> Out,
) -> Result<(T, u32), GaveUp<E>> {
    let mut waits = Waits { policy, bound: policy.first_within, waited: Duration::ZERO, attempts: 0, broken: 0 };
    let mut reporter = Reporter { circuit, caller, has_waited: false };
    let mut answers = circuit.answers();
    let mut others_answered = false;
    let mut last = None;
    loop {
        turn(&mut waits, &mut reporter, last.take()).await?;
        let begun = now();
        let error = match operation().await {
            Ok(value) => {
                circuit.answered();
                return Ok((value, waits.attempts + 1));
            }
            Err(error) => error,
        };
        waits.attempts += 1;
        let (advice, reason) = (error.advice(), error.reason());
        // Looked at before this attempt's own outcome is noted, and that one left out.
        others_answered |= answers.has_changed().unwrap_or(false);
        match advice {
            RetryAdvice::Final => circuit.answered(),
            RetryAdvice::Again { trouble, after } | RetryAdvice::Refrain { trouble, after } => {
                circuit.note(begun, trouble, after, &reason, policy);
            }
        }
        answers.mark_unchanged();
        match waits.next(advice, others_answered) {
            None => return Err(GaveUp { error, attempts: waits.attempts, too_long: None }),
            // The wait that all share stands in for this call's own, unless the server asked for that one.
            Some(_) if is_shared(advice) && circuit.is_open() => {}
            Some(wait) if !waits.has_time(wait, caller) => {
                return Err(GaveUp { error, attempts: waits.attempts, too_long: Some(wait) });
            }
            Some(wait) => {
                reporter.tell(waits.attempts, wait, reason, is_limit(advice));
                let _rest = caller.gate().rest();
                sleep(wait).await;
                waits.waited += wait;
            }
        }
        last = Some(error);
    }
}

/// Returns whether it concerns all calls to the provider, and names no wait of this one.
fn is_shared(advice: RetryAdvice) -> bool {
    let RetryAdvice::Again { trouble: Trouble::Away | Trouble::Blocked, after } = advice else { return false };
    after.is_none_or(|after| after.is_zero())
}

fn is_limit(advice: RetryAdvice) -> bool {
    matches!(advice, RetryAdvice::Again { trouble: Trouble::Limited, .. })
}

/// Waits until the circuit lets this call go. A call that has no time for it is made all the same if it was never made,
/// so that there is an error to tell.
async fn turn<E>(waits: &mut Waits<'_>, reporter: &mut Reporter<'_>, last: Option<E>) -> Result<(), GaveUp<E>> {
    loop {
        let mut answers = reporter.circuit.answers();
        let Turn::Wait { until, reason } = reporter.circuit.turn() else { return Ok(()) };
        let begun = now();
        let wait = until.saturating_duration_since(begun);
        if !waits.has_time(wait, reporter.caller) {
            return match last {
                Some(error) => Err(GaveUp { error, attempts: waits.attempts, too_long: Some(wait) }),
                None => Ok(()),
            };
        }
        reporter.tell(waits.attempts, wait, reason, false);
        let _rest = reporter.caller.gate().rest();
        tokio::select! {
            () = sleep_until(until) => {}
            // Not all at the same moment.
            Ok(()) = answers.changed() => sleep(jittered(waits.policy.first_within)).await,
        }
        waits.waited += now() - begun;
    }
}

/// Tells the caller of waits, and of their end.
struct Reporter<'a> {
    circuit: &'a Circuit,
    caller: &'a dyn CallContext,
    has_waited: bool,
}

impl Reporter<'_> {
    fn tell(&mut self, attempt: u32, wait: Duration, reason: String, limited: bool) {
        let is_first = !std::mem::replace(&mut self.has_waited, true);
        let (name, kind) = (self.circuit.name().to_owned(), self.circuit.kind());
        self.caller.waiting(Wait { name, kind, attempt, wait, reason, limited, is_first });
    }
}

impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        if self.has_waited {
            self.caller.resumed(self.circuit.name());
        }
    }
}

/// The waits of one call.
struct Waits<'a> {
    policy: &'a RetryPolicy,
    bound: Duration,
    waited: Duration,
    /// Attempts made so far.
    attempts: u32,
    /// Those of them whose answers were paid for and are of no use.
    broken: u32,
}

impl Waits<'_> {
    /// Returns how long to wait before trying again; `None` when that is pointless. To be called once after each failed
    /// attempt.
    fn next(&mut self, advice: RetryAdvice, others_answered: bool) -> Option<Duration> {
        let RetryAdvice::Again { trouble, after } = advice else { return None };
        self.broken += u32::from(trouble == Trouble::Broken);
        if self.is_hopeless(trouble, others_answered) {
            return None;
        }
        let own = jittered(self.bound);
        self.bound = longer(self.bound);
        Some(length(after, own, self.attempts))
    }

    fn is_hopeless(&self, trouble: Trouble, others_answered: bool) -> bool {
        let is_lone = others_answered && self.attempts >= LONE_ATTEMPTS;
        match trouble {
            Trouble::Away | Trouble::Limited => false,
            Trouble::Blocked => is_lone || self.waited >= BLOCKED_LIMIT,
            Trouble::Failing => is_lone || self.waited >= FAILING_LIMIT,
            Trouble::Slow => {
                self.attempts >= self.policy.timeouts || (others_answered && self.attempts >= LONE_TIMEOUTS)
            }
            Trouble::Unreadable => self.attempts >= UNREADABLE_ATTEMPTS,
            Trouble::Broken => self.broken >= BROKEN_ATTEMPTS,
        }
    }

    fn has_time(&self, wait: Duration, caller: &dyn CallContext) -> bool {
        let in_time = caller.ends().is_none_or(|ends| now() + wait <= ends);
        in_time && self.waited + wait <= self.policy.max_wait
    }
}

#[cfg(test)]
mod tests {

    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use parking_lot::Mutex;

    use super::super::LONGEST_BACKOFF;
    use super::super::clock::run;
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Failure(RetryAdvice);

    impl Attempt for Failure {
        fn advice(&self) -> RetryAdvice {
            self.0
        }

        fn reason(&self) -> String {
            "it is away".to_owned()
        }
    }

    fn policy() -> RetryPolicy {
        RetryPolicy { max_wait: 4 * HOUR, first_within: Duration::from_millis(500), timeouts: 3 }
    }

    fn again(trouble: Trouble, after: Option<Duration>) -> Failure {
        Failure(RetryAdvice::Again { trouble, after })
    }

    fn circuit() -> Circuit {
        Circuit::new("tavily", WaitKind::Search)
    }

    /// Whose time is over then.
    struct Until(Instant);

    impl CallContext for Until {
        fn waiting(&self, _: Wait) {}

        fn ends(&self) -> Option<Instant> {
            Some(self.0)
        }
    }

    fn quietly(_: Wait) {}

    /// Makes one call to a provider that fails for that long, and returns the attempts it took, and the time.
    fn outage(failure: Failure, lasting: Duration) -> (Result<u32, GaveUp<Failure>>, Duration) {
        run(async {
            let back = now() + lasting;
            let call = || async move { if now() < back { Err(failure) } else { Ok(()) } };
            retry(&circuit(), &policy(), &quietly, call).await.map(|((), attempts)| attempts)
        })
    }

    #[test]
    fn outages_of_minutes_and_an_hour_are_waited_for() {
        for trouble in [Trouble::Away, Trouble::Limited] {
            for lasting in [Duration::from_secs(60), Duration::from_secs(600), HOUR] {
                let (attempts, time) = outage(again(trouble, None), lasting);
                let (attempts, late) = (attempts.unwrap(), time - lasting);
                assert!(late <= LONGEST_BACKOFF, "noticed {late:?} late");
                // A wait is 15 s on the average; that it is below 3 s again and again does not happen.
                assert!(u64::from(attempts) < 20 + lasting.as_secs() / 3, "{attempts} attempts in {lasting:?}");
            }
        }
    }

    #[test]
    fn what_the_server_asks_is_honoured_exactly() {
        for seconds in [2, 30, 400, 3_000] {
            let asked = Duration::from_secs(seconds);
            for trouble in [Trouble::Away, Trouble::Limited] {
                let calls = AtomicU32::new(0);
                let call = || {
                    let first = calls.fetch_add(1, Relaxed) == 0;
                    std::future::ready(if first { Err(again(trouble, Some(asked))) } else { Ok(()) })
                };
                let reporter = Mutex::new(Vec::new());
                let tell = |wait: Wait| reporter.lock().push((wait.attempt, wait.wait));
                let (done, time) = run(retry(&circuit(), &policy(), &tell, call));
                assert_eq!((done.unwrap().1, time), (2, asked));
                assert_eq!(reporter.into_inner(), [(1, asked)]);
            }
        }
    }

    #[test]
    fn a_wait_beyond_the_callers_time_is_not_begun() {
        let asked = Duration::from_secs(400);
        let until = Duration::from_secs(300);
        let end = |failure: Failure| {
            run(async {
                let call = || std::future::ready(Err::<(), _>(failure));
                retry(&circuit(), &policy(), &Until(now() + until), call).await.unwrap_err()
            })
        };
        let (gave_up, time) = end(again(Trouble::Limited, Some(asked)));
        assert_eq!((gave_up.attempts, gave_up.too_long, time), (1, Some(asked), Duration::ZERO));
        // Waits of its own end in time, too.
        let (_, time) = end(again(Trouble::Away, None));
        assert!(time <= until && time > until - LONGEST_BACKOFF, "{time:?}");
    }

    #[test]
    fn final_errors_are_not_retried() {
        assert_eq!(outage(Failure(RetryAdvice::Final), HOUR).0.unwrap_err().attempts, 1);
    }

    #[test]
    fn an_outage_stays_one_when_no_other_attempt_is_asked_for() {
        let circuit = circuit();
        let refrain = Failure(RetryAdvice::Refrain { trouble: Trouble::Away, after: None });
        for _ in 0..3 {
            let call = || std::future::ready(Err::<(), _>(refrain));
            let (done, _) = run(retry(&circuit, &policy(), &quietly, call));
            assert_eq!(done.unwrap_err().attempts, 1);
        }
        assert!(circuit.is_open());
    }

    #[test]
    fn timeouts_are_tried_again_a_few_times() {
        assert_eq!(outage(again(Trouble::Slow, None), 4 * HOUR).0.unwrap_err().attempts, 3);
        let (circuit, patient) = (circuit(), RetryPolicy { timeouts: 2 * LONE_TIMEOUTS, ..policy() });
        let call = || {
            circuit.answered();
            std::future::ready(Err::<(), _>(again(Trouble::Slow, None)))
        };
        let (done, _) = run(retry(&circuit, &patient, &quietly, call));
        assert_eq!(done.unwrap_err().attempts, LONE_TIMEOUTS, "others get answers");
    }

    #[test]
    fn unreadable_answers_are_waited_for_and_not_paid_for_without_end() {
        let (done, time) = outage(again(Trouble::Unreadable, None), 4 * HOUR);
        assert_eq!(done.unwrap_err().attempts, UNREADABLE_ATTEMPTS);
        // Half a minute on the average, the sum of seven random waits.
        assert!(time > Duration::from_secs(3), "{time:?}");
    }

    #[test]
    fn broken_answers_are_paid_for_three_times() {
        assert_eq!(outage(again(Trouble::Broken, None), 4 * HOUR).0.unwrap_err().attempts, BROKEN_ATTEMPTS);
    }

    /// A provider that limited the call before has been paid for none of it.
    #[test]
    fn only_broken_answers_count_as_such() {
        let troubles =
            Mutex::new(vec![Trouble::Broken, Trouble::Limited, Trouble::Broken, Trouble::Limited, Trouble::Away]);
        let call = || {
            let trouble = troubles.lock().pop();
            std::future::ready(trouble.map_or(Ok(()), |trouble| Err(again(trouble, None))))
        };
        let (done, _) = run(retry(&circuit(), &policy(), &quietly, call));
        assert_eq!(done.unwrap().1, 6);
    }

    #[test]
    fn errors_of_the_providers_own_are_waited_for_twenty_minutes_and_less_when_others_get_answers() {
        assert!(outage(again(Trouble::Failing, None), Duration::from_secs(900)).0.is_ok());
        let (given_up, time) = outage(again(Trouble::Failing, None), 4 * HOUR);
        assert!(given_up.is_err() && (FAILING_LIMIT..=FAILING_LIMIT + LONGEST_BACKOFF).contains(&time), "{time:?}");
        let circuit = circuit();
        let call = || {
            circuit.answered();
            std::future::ready(Err::<(), _>(again(Trouble::Failing, None)))
        };
        let (done, _) = run(retry(&circuit, &policy(), &quietly, call));
        assert_eq!(done.unwrap_err().attempts, LONE_ATTEMPTS);
    }

    #[test]
    fn a_block_is_waited_for_five_minutes_by_all_calls_together() {
        let blocked = again(Trouble::Blocked, None);
        assert!(outage(blocked, Duration::from_secs(200)).0.is_ok());
        let (given_up, time) = outage(blocked, HOUR);
        assert!(given_up.is_err() && (BLOCKED_LIMIT..=BLOCKED_LIMIT + LONGEST_BACKOFF).contains(&time), "{time:?}");
        let (shared, asked) = (circuit(), AtomicU32::new(0));
        let call = || {
            asked.fetch_add(1, Relaxed);
            std::future::ready(Err::<(), _>(blocked))
        };
        let policy = policy();
        let (done, _) = run(futures::future::join_all((0..100).map(|_| retry(&shared, &policy, &quietly, call))));
        assert!(done.iter().all(Result::is_err));
        assert!(asked.load(Relaxed) < 500, "{asked:?}");
        let circuit = circuit();
        let lone = || {
            circuit.answered();
            std::future::ready(Err::<(), _>(blocked))
        };
        let (done, _) = run(retry(&circuit, &policy, &quietly, lone));
        assert_eq!(done.unwrap_err().attempts, LONE_ATTEMPTS, "others get answers");
    }

    #[test]
    fn a_provider_that_asks_for_no_wait_is_not_asked_without_end() {
        for trouble in [Trouble::Limited, Trouble::Away] {
            for asked in [Duration::ZERO, Duration::from_millis(1)] {
                let attempts = outage(again(trouble, Some(asked)), HOUR).0.unwrap();
                assert!(attempts < 1_500, "{attempts} attempts, {trouble:?}, {asked:?}");
            }
        }
    }

    #[test]
    fn waits_asked_of_one_call_are_no_answer_to_others() {
        let attempts = AtomicU32::new(0);
        let call = || {
            let limited = attempts.fetch_add(1, Relaxed) == 0;
            let trouble = if limited { Trouble::Limited } else { Trouble::Failing };
            std::future::ready(Err::<(), _>(again(trouble, None)))
        };
        let (done, time) = run(retry(&circuit(), &policy(), &quietly, call));
        assert!(done.unwrap_err().attempts > LONE_ATTEMPTS && time >= FAILING_LIMIT, "{time:?}");
    }

    #[test]
    fn a_hundred_calls_ask_a_provider_that_is_away_as_one() {
        let (circuit, asked, lasting) = (circuit(), AtomicU32::new(0), Duration::from_secs(600));
        let work = async {
            let back = now() + lasting;
            let call = || {
                asked.fetch_add(1, Relaxed);
                std::future::ready(if now() < back { Err(again(Trouble::Away, None)) } else { Ok(()) })
            };
            let (policy, circuit) = (policy(), &circuit);
            let calls = (0..100).map(|_| retry(circuit, &policy, &quietly, call));
            assert!(futures::future::join_all(calls).await.iter().all(Result::is_ok));
        };
        let ((), time) = run(work);
        assert!(time < lasting + LONGEST_BACKOFF + Duration::from_secs(1), "{time:?}");
        // The first attempts until it was known, one at a time since, and the ones that got through.
        assert!(asked.load(Relaxed) < 400, "{asked:?}");
    }

    #[test]
    fn an_answer_to_others_shortens_no_wait_that_was_asked_for() {
        let (circuit, asked, attempts) = (circuit(), Duration::from_secs(60), Mutex::new(Vec::new()));
        let work = async {
            let policy = policy();
            (0..3).for_each(|_| circuit.found_nobody(now(), None, "away", &policy));
            let call = || {
                let mut attempts = attempts.lock();
                attempts.push(now());
                let is_first = attempts.len() == 1;
                std::future::ready(if is_first { Err(again(Trouble::Away, Some(asked))) } else { Ok(()) })
            };
            let other = async {
                sleep(asked / 2).await;
                assert!(circuit.is_open() && attempts.lock().len() == 1);
                circuit.answered();
            };
            let (done, ()) = futures::future::join(retry(&circuit, &policy, &quietly, call), other).await;
            assert!(done.is_ok());
        };
        run(work);
        let attempts = attempts.into_inner();
        assert_eq!(attempts[1] - attempts[0], asked);
    }

    #[test]
    fn a_call_that_never_ends_does_not_keep_others_from_asking() {
        let circuit = circuit();
        let work = async {
            for _ in 0..3 {
                circuit.found_nobody(now(), None, "away", &policy());
            }
            let policy = policy();
            let stuck = retry(&circuit, &policy, &quietly, std::future::pending::<Result<(), Failure>>);
            let other = async {
                sleep(Duration::from_millis(1)).await;
                retry(&circuit, &policy, &quietly, || std::future::ready(Ok::<_, Failure>(()))).await
            };
            tokio::select! {
                _ = stuck => unreachable!("it never ends"),
                done = other => assert!(done.is_ok()),
            }
        };
        run(work);
        assert!(!circuit.is_open());
    }

    #[derive(Default)]
    struct Log(Mutex<Vec<&'static str>>);

    impl CallContext for Log {
        fn waiting(&self, wait: Wait) {
            self.0.lock().push(if wait.is_first { "first" } else { "more" });
        }

        fn resumed(&self, _: &str) {
            self.0.lock().push("resumed");
        }
    }

    #[test]
    fn the_end_of_waiting_is_reported_however_it_ends() {
        let log = Log::default();
        let call = || std::future::ready(Err::<(), _>(again(Trouble::Slow, None)));
        run(retry(&circuit(), &policy(), &log, call)).0.unwrap_err();
        assert_eq!(*log.0.lock(), ["first", "more", "resumed"]);
        let log = Log::default();
        let call = || std::future::ready(Err::<(), _>(again(Trouble::Away, Some(HOUR))));
        let dropped = async {
            let (circuit, policy) = (circuit(), policy());
            tokio::select! {
                _ = retry(&circuit, &policy, &log, call) => unreachable!("it waits for an hour"),
                () = sleep(Duration::from_secs(1)) => {}
            }
        };
        run(dropped);
        assert_eq!(*log.0.lock(), ["first", "resumed"]);
    }
}
