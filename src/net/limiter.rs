//! Who may call a provider next: one limiter for each provider and key, shared by all runs of the process.
//!
//! It bounds calls in flight and, where the operator says so, requests and tokens a minute. A provider that answers
//! "too many" is asked by half as many calls at the same time, and by one more for each answer since; one whose headers
//! say that nothing is left is asked again when something is. Calls that wait are let go in turn by run, so that a run
//! with a hundred calls does not keep another one's only call waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::clock::{now, sleep_until};
use super::quota::Quota;
use super::retry::{CallContext, Wait};
use crate::domain::WaitKind;

/// Shorter waits are not worth an event.
const SILENT: Duration = Duration::from_millis(250);
/// How long a wait is taken to be whose end nobody knows: until a call in flight ends.
const GUESS: Duration = Duration::from_secs(10);
/// Calls in flight are not halved again within it: those begun before say nothing new.
const SETTLING: Duration = Duration::from_secs(1);
/// What headers ask for is not believed beyond it.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a provider may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls at the same time.
    pub in_flight: usize,
    pub requests_per_minute: Option<u64>,
    /// Read and written.
    pub tokens_per_minute: Option<u64>,
}

impl Limits {
    /// Bounds the calls at the same time, and nothing else.
    pub fn in_flight(in_flight: usize) -> Self {
        Self { in_flight: in_flight.max(1), requests_per_minute: None, tokens_per_minute: None }
    }
}

/// One provider's limiter.
#[derive(Debug)]
pub struct Limiter {
    limits: Limits,
    /// Locked for a look or a change only, never across an `.await`.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    in_flight: usize,
    /// Calls in flight that the provider seems to take.
    taken: usize,
    halved: Option<Instant>,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    /// Nothing is left until then, by the provider's own words.
    paused_until: Option<Instant>,
    /// Runs with calls that wait, in turn.
    runs: VecDeque<(u128, VecDeque<Waiting>)>,
}

/// A call that waits.
#[derive(Debug)]
struct Waiting {
    tokens: u64,
    turn: oneshot::Sender<Permit>,
}

/// Whether calls may go on, or when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Room {
    Now,
    At(Instant),
    /// When a call ends.
    Later,
}

/// Leave to make one call; it ends with the call.
#[derive(Debug)]
pub struct Permit {
    limiter: Option<Arc<Limiter>>,
    tokens: u64,
}

impl Permit {
    /// Counts the tokens that the call really took.
    pub fn used(&mut self, tokens: u64) {
        let Some(limiter) = &self.limiter else { return };
        let mut state = limiter.state.lock();
        if let Some(bucket) = &mut state.tokens {
            bucket.correct(self.tokens, tokens);
        }
        self.tokens = tokens;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(limiter) = self.limiter.take() {
            limiter.state.lock().in_flight -= 1;
            limiter.let_go();
        }
    }
}

impl Limiter {
    pub fn new(limits: Limits) -> Arc<Self> {
        let state = State {
            in_flight: 0,
            taken: limits.in_flight,
            halved: None,
            requests: limits.requests_per_minute.map(Bucket::per_minute),
            tokens: limits.tokens_per_minute.map(Bucket::per_minute),
            paused_until: None,
            runs: VecDeque::new(),
        };
        Arc::new(Self { limits, state: Mutex::new(state) })
    }

    /// Returns whether tokens are counted.
    pub fn counts_tokens(&self) -> bool {
        self.limits.tokens_per_minute.is_some()
    }

    /// Waits for leave to make a call of about `tokens` tokens. `name` is how events call the provider.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue.
    pub async fn permit(self: &Arc<Self>, name: &str, tokens: u64, caller: &dyn CallContext) -> Permit {
        let mut turn = match self.queue(caller.run(), tokens) {
            Ok(permit) => return permit,
            Err(turn) => turn,
        };
        let silent_until = now() + SILENT;
        let mut announced: Option<Announced<'_>> = None;
        let mut until = silent_until;
        loop {
            let room = self.let_go();
            let look = match room {
                Room::At(at) if at > now() => at.min(until),
                // The end of a call may find that the provider asked for a pause, of whose end nobody tells this call.
                _ => until.min(now() + SETTLING),
            };
            tokio::select! {
                // Never an error: a waiting call's sender is dropped with the limiter alone, which this call holds.
                Ok(permit) = &mut turn => return permit,
                () = sleep_until(look) => {}
            }
            if now() >= until {
                let wait = match self.let_go() {
                    Room::At(at) => at.saturating_duration_since(now()).max(Duration::from_secs(1)),
                    Room::Now | Room::Later => GUESS,
                };
                let is_first = announced.is_none();
                announced.get_or_insert_with(|| Announced { caller, name }).wait(wait, self.reason(), is_first);
                until = now() + wait;
            }
        }
    }

    /// Notes that a call got an answer: the provider takes as many as there were, and one more.
    pub fn answered(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.taken < self.limits.in_flight {
            state.taken += 1;
            drop(state);
            self.let_go();
        }
    }

    /// Notes that the provider said that there are too many calls.
    pub fn refused(&self) {
        let mut state = self.state.lock();
        let is_settled = state.halved.is_none_or(|halved| now() >= halved + SETTLING);
        if is_settled {
            state.taken = (state.taken.min(state.in_flight) / 2).max(1);
            state.halved = Some(now());
        }
    }

    /// Takes in what the headers of an answer say of the provider's own limits.
    pub fn observe(&self, quota: &Quota) {
        if let Some(pause) = quota.pause() {
            let until = now() + pause.min(LONGEST_PAUSE);
            let mut state = self.state.lock();
            state.paused_until = Some(state.paused_until.map_or(until, |before| before.max(until)));
        }
    }

    /// Takes a place in the queue, or leave at once.
    fn queue(self: &Arc<Self>, run: u128, tokens: u64) -> Result<Permit, oneshot::Receiver<Permit>> {
        let mut state = self.state.lock();
        if state.runs.is_empty() && self.room(&mut state, tokens) == Room::Now {
            state.begin(tokens);
            return Ok(Permit { limiter: Some(Arc::clone(self)), tokens });
        }
        let (turn, permit) = oneshot::channel();
        let waiting = Waiting { tokens, turn };
        match state.runs.iter_mut().find(|(other, _)| *other == run) {
            Some((_, calls)) => calls.push_back(waiting),
            None => state.runs.push_back((run, VecDeque::from([waiting]))),
        }
        Err(permit)
    }

    /// Lets calls go for which there is room, run by run; says when there is room for the next one.
    fn let_go(self: &Arc<Self>) -> Room {
        let mut state = self.state.lock();
        loop {
            let Some(tokens) = state.next() else { return Room::Later };
            match self.room(&mut state, tokens) {
                Room::Now => {}
                other => return other,
            }
            let Some(waiting) = state.pop() else { return Room::Later };
            state.begin(waiting.tokens);
            let permit = Permit { limiter: Some(Arc::clone(self)), tokens: waiting.tokens };
            // Given up in this moment: its permit must not come back through its end, since the lock is held.
            if let Err(mut unwanted) = waiting.turn.send(permit) {
                unwanted.limiter = None;
                state.undo(waiting.tokens);
            }
        }
    }

    fn room(&self, state: &mut State, tokens: u64) -> Room {
        if state.in_flight >= state.taken.min(self.limits.in_flight) {
            return Room::Later;
        }
        let now = now();
        let of_requests = state.requests.as_mut().and_then(|bucket| bucket.full_for(1, now));
        let of_tokens = state.tokens.as_mut().and_then(|bucket| bucket.full_for(tokens, now));
        let at = [state.paused_until, of_requests, of_tokens].into_iter().flatten().max();
        match at.filter(|at| *at > now) {
            Some(at) => Room::At(at),
            None => Room::Now,
        }
    }

    fn reason(&self) -> String {
        let state = self.state.lock();
        let waiting: usize = state.runs.iter().map(|(_, calls)| calls.len()).sum();
        format!("{} calls are in flight and {waiting} wait for their turn", state.in_flight)
    }
}

impl State {
    fn begin(&mut self, tokens: u64) {
        self.in_flight += 1;
        self.requests.iter_mut().for_each(|bucket| bucket.take(1));
        self.tokens.iter_mut().for_each(|bucket| bucket.take(tokens));
    }

    fn undo(&mut self, tokens: u64) {
        self.in_flight -= 1;
        self.requests.iter_mut().for_each(|bucket| bucket.give_back(1));
        self.tokens.iter_mut().for_each(|bucket| bucket.give_back(tokens));
    }

    /// Returns the tokens of the next call, those that were given up being passed over.
    fn next(&mut self) -> Option<u64> {
        while let Some((_, calls)) = self.runs.front_mut() {
            match calls.front() {
                Some(call) if !call.turn.is_closed() => return Some(call.tokens),
                Some(_) => _ = calls.pop_front(),
                None => _ = self.runs.pop_front(),
            }
        }
        None
    }

    /// Returns the next call; its run is the last one then.
    fn pop(&mut self) -> Option<Waiting> {
        let (run, mut calls) = self.runs.pop_front()?;
        let call = calls.pop_front();
        if !calls.is_empty() {
            self.runs.push_back((run, calls));
        }
        call
    }
}

/// A wait that was announced; its end is when it is dropped.
struct Announced<'a> {
    caller: &'a dyn CallContext,
    name: &'a str,
}

impl Announced<'_> {
    fn wait(&self, wait: Duration, reason: String, is_first: bool) {
        let (name, kind) = (self.name.to_owned(), WaitKind::Model);
        self.caller.waiting(Wait { name, kind, attempt: 0, wait, reason, limited: true, is_first });
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.caller.resumed(self.name);
    }
}

/// A token bucket, by the minute. It holds six seconds' worth, so that no minute has more than a tenth too much; what
/// is larger is let go when it is full, and paid off afterwards.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    most: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    fn per_minute(count: u64) -> Self {
        let count = count.max(1) as f64;
        let most = (count / 10.0).max(1.0);
        Self { per_second: count / 60.0, most, level: most, at: now() }
    }

    fn take(&mut self, count: u64) {
        self.level -= count as f64;
    }

    fn give_back(&mut self, count: u64) {
        self.level = (self.level + count as f64).min(self.most);
    }

    /// Puts what a call really took in the place of what was taken for it: in one step, so that nothing that came in
    /// meanwhile is lost at the most.
    fn correct(&mut self, taken: u64, really: u64) {
        self.level = (self.level + taken as f64 - really as f64).min(self.most);
    }

    /// Returns when there is enough for `count`; `None` when there is.
    fn full_for(&mut self, count: u64, now: Instant) -> Option<Instant> {
        self.level =
            (self.level + now.saturating_duration_since(self.at).as_secs_f64() * self.per_second).min(self.most);
        self.at = now;
        let missing = (count as f64).min(self.most) - self.level;
        // Not a hair too soon, since rounding would let it be looked at again and again.
        (missing > 1e-6).then(|| now + Duration::from_secs_f64(missing / self.per_second) + Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {

    use futures::future::join_all;
    use parking_lot::Mutex;

    use super::super::clock::{run, sleep};
    use super::super::gate::Open;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits(in_flight: usize, requests: Option<u64>, tokens: Option<u64>) -> Limits {
        Limits { in_flight, requests_per_minute: requests, tokens_per_minute: tokens }
    }

    /// A call of one run.
    struct Of(u128);

    impl CallContext for Of {
        fn waiting(&self, _: Wait) {}

        fn run(&self) -> u128 {
            self.0
        }
    }

    #[test]
    fn a_run_with_many_calls_does_not_hold_up_another_one() {
        let limiter = Limiter::new(Limits::in_flight(2));
        let order = Mutex::new(Vec::new());
        let call = |run: u128| {
            let (limiter, order) = (&limiter, &order);
            async move {
                let _permit = limiter.permit("p", 0, &Of(run)).await;
                order.lock().push(run);
                sleep(SECOND).await;
            }
        };
        let many = join_all((0..40).map(|_| call(1)));
        let late = async {
            sleep(SECOND / 2).await;
            join_all([call(2), call(3)]).await;
        };
        run(async { futures::join!(many, late) });
        let order = order.into_inner();
        let place = |run| order.iter().position(|other| *other == run).unwrap();
        assert!(place(2) < 6 && place(3) < 6, "{order:?}");
        assert_eq!((order.len(), limiter.state.lock().in_flight), (42, 0));
    }

    #[test]
    fn no_minute_has_many_more_requests_or_tokens_than_it_may() {
        for (limits, tokens) in [(limits(100, Some(60), None), 5), (limits(100, None, Some(60_000)), 1_000)] {
            let limiter = Limiter::new(limits);
            let call = |_| async { drop(limiter.permit("p", tokens, &Open).await) };
            let (_, time) = run(join_all((0..126).map(call)));
            assert!(time >= 119 * SECOND && time <= 122 * SECOND, "{time:?}");
        }
    }

    #[test]
    fn a_call_larger_than_the_bucket_is_let_go_and_paid_off() {
        let limiter = Limiter::new(limits(9, None, Some(60_000)));
        let call = |_| async { drop(limiter.permit("p", 30_000, &Open).await) };
        let (_, time) = run(join_all((0..3).map(call)));
        assert!(time >= 59 * SECOND && time <= 62 * SECOND, "{time:?}");
        // What was asked for too much is given back.
        let (_, time) = run(async {
            let mut permit = limiter.permit("p", 30_000, &Open).await;
            permit.used(0);
            drop(permit);
            limiter.permit("p", 6_000, &Open).await;
        });
        assert!(time <= 31 * SECOND, "{time:?}");
    }

    #[test]
    fn calls_that_last_take_no_more_than_their_tokens() {
        let limiter = Limiter::new(limits(99, None, Some(30_000)));
        let call = |_| async {
            let mut permit = limiter.permit("p", 10_000, &Open).await;
            sleep(15 * SECOND).await;
            permit.used(10_000);
        };
        // One every 20 seconds; the first one at once, the last one over after 15.
        let (_, time) = run(join_all((0..8).map(call)));
        assert!(time >= 153 * SECOND && time <= 158 * SECOND, "{time:?}");
    }

    #[test]
    fn too_many_means_half_as_many_and_each_answer_one_more() {
        let limiter = Limiter::new(Limits::in_flight(100));
        run(async {
            let mut held: Vec<Permit> = join_all((0..16).map(|_| limiter.permit("p", 0, &Open))).await;
            limiter.refused();
            // Those that were begun before say the same.
            limiter.refused();
            assert_eq!(limiter.state.lock().taken, 8);
            held.truncate(8);
            let next = limiter.permit("p", 0, &Open);
            let mut next = std::pin::pin!(next);
            assert!(futures::poll!(&mut next).is_pending());
            limiter.answered();
            next.await;
        });
    }

    #[test]
    fn a_wait_is_announced_and_its_end_too_also_when_it_is_given_up() {
        #[derive(Default)]
        struct Log(Mutex<Vec<(&'static str, bool)>>);
        impl CallContext for Log {
            fn waiting(&self, wait: Wait) {
                self.0.lock().push(("waiting", wait.is_first));
            }

            fn resumed(&self, _: &str) {
                self.0.lock().push(("resumed", false));
            }
        }
        let (limiter, log) = (Limiter::new(Limits::in_flight(1)), Log::default());
        run(async {
            let first = limiter.permit("p", 0, &Open).await;
            let given_up = async {
                tokio::select! {
                    _ = limiter.permit("p", 0, &log) => unreachable!("the first is held"),
                    () = sleep(15 * SECOND) => {}
                }
            };
            given_up.await;
            drop(first);
            drop(limiter.permit("p", 0, &log).await);
        });
        assert_eq!(*log.0.lock(), [("waiting", true), ("waiting", false), ("resumed", false)]);
        assert_eq!(limiter.state.lock().in_flight, 0);
    }

    /// A call that waits for another one's end learns of a pause only then.
    #[test]
    fn a_pause_that_begins_while_a_call_waits_ends_on_time() {
        let limiter = Limiter::new(Limits::in_flight(1));
        let (_, time) = run(async {
            let first = limiter.permit("p", 0, &Open).await;
            let ends = async {
                sleep(SECOND).await;
                limiter.observe(&Quota { waits: vec![2 * SECOND] });
                drop(first);
            };
            futures::join!(limiter.permit("p", 0, &Open), ends);
        });
        assert!(time >= 3 * SECOND && time <= 5 * SECOND, "{time:?}");
    }

    #[test]
    fn calls_wait_while_the_provider_says_that_nothing_is_left() {
        let limiter = Limiter::new(Limits::in_flight(9));
        limiter.observe(&Quota::default());
        let (_, time) = run(async {
            limiter.observe(&Quota { waits: vec![3 * SECOND, 9_999 * SECOND] });
            drop(limiter.permit("p", 0, &Open).await);
        });
        assert!(time >= LONGEST_PAUSE && time <= LONGEST_PAUSE + SECOND, "{time:?}");
    }
}
