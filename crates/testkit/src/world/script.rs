//! What the model answers to which call: rules in order, and a brain for the rest.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::{Call, Kind, Reply, Shape, brain};

/// Which calls a rule is for.
#[derive(Clone)]
pub struct When(Arc<dyn Fn(&Call) -> bool + Send + Sync>);

impl When {
    pub fn matching(test: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }

    pub fn any() -> Self {
        Self::matching(|_| true)
    }

    pub fn kind(kind: Kind) -> Self {
        Self::matching(move |call| call.kind == kind)
    }

    pub fn offers(tool: &'static str) -> Self {
        Self::matching(move |call| call.tools().contains(&tool))
    }

    pub fn schema(name: &'static str) -> Self {
        Self::matching(move |call| call.schema_name() == Some(name))
    }

    pub fn model(name: &'static str) -> Self {
        Self::matching(move |call| call.model() == name)
    }

    /// Matches when `needle` is anywhere in the messages.
    pub fn says(needle: &'static str) -> Self {
        Self::matching(move |call| call.says(needle))
    }

    /// Matches when `needle` is in the first message that is not the system's: a researcher's topic, a supervisor's
    /// brief.
    pub fn first_says(needle: &'static str) -> Self {
        Self::matching(move |call| call.first_text().contains(needle))
    }

    pub fn last_says(needle: &'static str) -> Self {
        Self::matching(move |call| call.last_text().contains(needle))
    }

    /// Matches when the model has had this many turns in the conversation.
    pub fn turns(turns: usize) -> Self {
        Self::matching(move |call| call.turns() == turns)
    }

    pub fn and(self, other: Self) -> Self {
        Self::matching(move |call| self.is_met(call) && other.is_met(call))
    }

    pub fn but_not(self, other: Self) -> Self {
        Self::matching(move |call| self.is_met(call) && !other.is_met(call))
    }

    /// Returns the `n`-th call, from 1, of those that match.
    pub fn nth(self, n: usize) -> Self {
        let seen = AtomicUsize::new(0);
        Self::matching(move |call| self.is_met(call) && seen.fetch_add(1, Ordering::Relaxed) + 1 == n)
    }

    fn is_met(&self, call: &Call) -> bool {
        (self.0)(call)
    }
}

type Brain = Arc<dyn Fn(&Call) -> Reply + Send + Sync>;

/// Rules in the order they were added; the first that matches and has a reply left answers.
#[derive(Default)]
pub struct Script {
    rules: Vec<Rule>,
    brain: Option<Brain>,
    latency: Duration,
}

struct Rule {
    when: When,
    replies: Replies,
}

enum Replies {
    Always(Brain),
    UsedUp(Mutex<VecDeque<Reply>>),
}

impl Script {
    /// Knows no answer at all: add rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Plays every role of a run of that shape; rules come before it.
    pub fn whole_run(shape: Shape) -> Self {
        Self::new().otherwise(move |call| brain::reply(shape, call))
    }

    /// Answers each matching call with `reply`.
    pub fn always(self, when: When, reply: Reply) -> Self {
        self.by(when, move |_| reply.clone())
    }

    /// Answers the first matching calls with `replies` in turn, one each; later rules answer the rest.
    pub fn first(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: Replies::UsedUp(Mutex::new(replies.into_iter().collect())) });
        self
    }

    /// Answers each matching call with what `answer` makes of it.
    pub fn by(mut self, when: When, answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        self.rules.push(Rule { when, replies: Replies::Always(Arc::new(answer)) });
        self
    }

    /// Answers what no rule did.
    pub fn otherwise(mut self, answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        self.brain = Some(Arc::new(answer));
        self
    }

    /// Sets the time before every answer that names none.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Returns the answer, its latency filled in; `None` when no rule has one.
    pub(super) fn reply(&self, call: &Call) -> Option<Reply> {
        let by_rule = self.rules.iter().filter(|rule| rule.when.is_met(call)).find_map(|rule| match &rule.replies {
            Replies::Always(answer) => Some(answer(call)),
            Replies::UsedUp(left) => left.lock().pop_front(),
        });
        let mut reply = by_rule.or_else(|| self.brain.as_ref().map(|brain| brain(call)))?;
        reply.latency.get_or_insert(self.latency);
        Some(reply)
    }

    pub(super) fn set_latency(&mut self, latency: Duration) {
        self.latency = latency;
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a script of {} rules", self.rules.len())
    }
}
