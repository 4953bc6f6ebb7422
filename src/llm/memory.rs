//! What this process has learnt of models by calling them. Nothing of it is certain, so nothing is kept for good: one
//! error may have been of another request, another upstream, or a server that has been restarted since.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::structured::Strategy;
use super::tuning::Tuned;
use crate::domain::ModelName;

/// Models that something is known of; when there are more, what is no longer valid goes.
const MAX_MODELS: usize = 1_000;
/// How long a number of tokens counts that one error reported.
const ONE_ERROR: Duration = Duration::from_secs(15 * 60);
/// How long it counts when the error came again after that.
const REPEATED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a form of asking is left out that a model could not answer.
const STRATEGY: Duration = Duration::from_secs(60 * 60);
/// How long it is left out what a model refused.
const REFUSAL: Duration = STRATEGY;
/// Answers that cannot be read say that a model cannot give that form when there were so many.
const MISSES: u32 = 2;

/// What servers reported in errors, and the forms of answers that models can give. Locked for map access only.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) windows: TokenLimits,
    /// The longest answers.
    pub(super) outputs: TokenLimits,
    strategies: Mutex<HashMap<ModelName, KnownStrategy>>,
    /// Models that refused a forced tool call.
    pub(super) unforced: Refusals,
    /// Models that refused to answer in one piece.
    pub(super) streamed: Refusals,
    /// Models that refused to stream.
    pub(super) unstreamed: Refusals,
    /// Models that refused such a value of what is set for a role. They may take another role's.
    pub(super) untuned: Refusals<(ModelName, Tuned, String)>,
}

/// Models that refused something, each with the time until which it is not asked of them again. Locked for map access
/// only.
#[derive(Debug)]
pub(super) struct Refusals<K = ModelName>(Mutex<HashMap<K, Instant>>);

impl<K> Default for Refusals<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Refusals<K> {
    /// Returns whether the model has refused it lately.
    pub(super) fn has(&self, model: &K, now: Instant) -> bool {
        self.0.lock().get(model).is_some_and(|until| now < *until)
    }

    pub(super) fn learn(&self, model: &K, now: Instant) {
        let mut refusals = self.0.lock();
        forget(&mut refusals, |until| now < *until);
        refusals.insert(model.clone(), now + REFUSAL);
    }
}

/// Models that want another field for the limit of their output than is usual for them. Locked for map access only.
#[derive(Debug, Default)]
pub(super) struct LimitFields(Mutex<HashMap<ModelName, LimitField>>);

#[derive(Clone, Copy, Debug)]
struct LimitField {
    is_other: bool,
    learnt: Instant,
}

impl LimitField {
    fn is_valid(self, now: Instant) -> bool {
        now < self.learnt + REFUSAL
    }
}

impl LimitFields {
    /// Returns whether the model wants the other field.
    pub(super) fn is_other(&self, model: &ModelName, now: Instant) -> bool {
        self.0.lock().get(model).is_some_and(|field| field.is_other && field.is_valid(now))
    }

    /// Notes that the model refused the field with which a call was sent that began then. When another one has been
    /// sent since, a call made beside this one was refused first.
    pub(super) fn refused(&self, model: &ModelName, begun: Instant, now: Instant) {
        let mut fields = self.0.lock();
        let known = fields.get(model).copied().filter(|field| field.is_valid(now));
        if known.is_some_and(|field| begun < field.learnt) {
            return;
        }
        forget(&mut fields, |field| field.is_valid(now));
        let is_other = !known.is_some_and(|field| field.is_other);
        fields.insert(model.clone(), LimitField { is_other, learnt: now });
    }
}

/// Numbers of tokens that servers reported in errors, by model. Locked for map access only.
#[derive(Debug, Default)]
pub(super) struct TokenLimits(Mutex<HashMap<ModelName, TokenLimit>>);

#[derive(Clone, Copy, Debug)]
struct TokenLimit {
    tokens: u32,
    until: Instant,
}

impl TokenLimits {
    pub(super) fn get(&self, model: &ModelName, now: Instant) -> Option<u32> {
        self.0.lock().get(model).filter(|limit| now < limit.until).map(|limit| limit.tokens)
    }

    /// Notes what a server reported of a model. Reported again after it had been forgotten, it is believed for a day.
    pub(super) fn learn(&self, model: &ModelName, tokens: u32, now: Instant) {
        let mut limits = self.0.lock();
        let before = limits.get(model).copied().filter(|before| before.tokens == tokens);
        let until = match before {
            // Calls made side by side fail for one and the same reason.
            Some(before) if now < before.until => before.until,
            Some(_) => now + REPEATED,
            None => now + ONE_ERROR,
        };
        forget(&mut limits, |limit| now < limit.until);
        limits.insert(model.clone(), TokenLimit { tokens, until });
    }
}

#[derive(Clone, Copy, Debug)]
struct KnownStrategy {
    strategy: Strategy,
    /// Answers that needed it, and were not had by one above it.
    misses: u32,
    until: Instant,
}

impl Memory {
    /// Returns the strategy to begin with when a model is asked for a structured answer.
    pub(super) fn strategy(&self, model: &ModelName, now: Instant) -> Strategy {
        let strategies = self.strategies.lock();
        let known = strategies.get(model).filter(|known| known.misses >= MISSES && now < known.until);
        known.map_or(Strategy::Native, |known| known.strategy)
    }

    /// Notes that a structured answer was had by `strategy`; `refused`: because the provider does not know the forms
    /// above it.
    pub(super) fn answered_by(&self, model: &ModelName, strategy: Strategy, refused: bool, now: Instant) {
        let mut strategies = self.strategies.lock();
        if strategy == Strategy::Native {
            strategies.remove(model);
            return;
        }
        let before = strategies.get(model).copied().filter(|known| known.strategy == strategy && now < known.until);
        // While nothing above it is tried, nothing new is learnt.
        if before.is_some_and(|known| known.misses >= MISSES) {
            return;
        }
        let misses = if refused { MISSES } else { before.map_or(0, |known| known.misses) + 1 };
        forget(&mut strategies, |known| now < known.until);
        strategies.insert(model.clone(), KnownStrategy { strategy, misses, until: now + STRATEGY });
    }
}

/// Makes room for one more.
fn forget<K, T>(map: &mut HashMap<K, T>, is_valid: impl Fn(&T) -> bool) {
    if map.len() >= MAX_MODELS {
        map.retain(|_, value| is_valid(value));
    }
    if map.len() >= MAX_MODELS {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ModelName {
        "ollama:qwen3:8b".parse().unwrap()
    }

    #[test]
    fn a_window_stated_once_is_forgotten_and_one_stated_again_is_kept() {
        let (windows, model, begun) = (TokenLimits::default(), model(), Instant::now());
        let at = |minutes: u64| begun + Duration::from_secs(60 * minutes);
        windows.learn(&model, 4_096, at(0));
        windows.learn(&model, 4_096, at(1));
        assert_eq!((windows.get(&model, at(14)), windows.get(&model, at(16))), (Some(4_096), None));
        windows.learn(&model, 4_096, at(20));
        assert_eq!(windows.get(&model, at(600)), Some(4_096));
        windows.learn(&model, 8_192, at(700));
        assert_eq!((windows.get(&model, at(701)), windows.get(&model, at(716))), (Some(8_192), None));
    }

    #[test]
    fn a_form_that_was_refused_is_not_asked_for_again_for_an_hour() {
        let (memory, model, begun) = (Memory::default(), model(), Instant::now());
        let at = |minutes: u64| begun + Duration::from_secs(60 * minutes);
        memory.answered_by(&model, Strategy::Prompt, true, at(0));
        assert_eq!(memory.strategy(&model, at(59)), Strategy::Prompt);
        memory.answered_by(&model, Strategy::Prompt, false, at(30));
        assert_eq!(memory.strategy(&model, at(61)), Strategy::Native, "it is tried from the top once an hour");
    }

    #[test]
    fn a_refusal_counts_for_an_hour_and_for_its_model_alone() {
        let (refusals, model, begun) = (Refusals::default(), model(), Instant::now());
        let at = |minutes: u64| begun + Duration::from_secs(60 * minutes);
        assert!(!refusals.has(&model, at(0)));
        refusals.learn(&model, at(0));
        assert_eq!([59, 61].map(|minute| refusals.has(&model, at(minute))), [true, false]);
        assert!(!refusals.has(&"ollama:other".parse().unwrap(), at(1)));
    }

    #[test]
    fn a_field_that_is_refused_gives_way_to_the_other_once_for_all_calls_made_side_by_side() {
        let (fields, model, begun) = (LimitFields::default(), model(), Instant::now());
        let at = |minutes: u64| begun + Duration::from_secs(60 * minutes);
        let is_other = |minute| fields.is_other(&model, at(minute));
        assert!(!is_other(0));
        fields.refused(&model, at(0), at(2));
        fields.refused(&model, at(1), at(3));
        assert_eq!([is_other(3), is_other(61), is_other(62)], [true, true, false]);
        assert!(!fields.is_other(&"ollama:other".parse().unwrap(), at(3)));
        fields.refused(&model, at(4), at(5));
        assert!(!is_other(5), "the other one is refused too");
        fields.refused(&model, at(6), at(7));
        assert!(is_other(7));
    }

    #[test]
    fn one_odd_answer_says_nothing_of_a_model() {
        let (memory, model, now) = (Memory::default(), model(), Instant::now());
        memory.answered_by(&model, Strategy::Tool, false, now);
        assert_eq!(memory.strategy(&model, now), Strategy::Native);
        memory.answered_by(&model, Strategy::Native, false, now);
        memory.answered_by(&model, Strategy::Tool, false, now);
        assert_eq!(memory.strategy(&model, now), Strategy::Native);
        memory.answered_by(&model, Strategy::Tool, false, now);
        assert_eq!(memory.strategy(&model, now), Strategy::Tool);
    }

    #[test]
    fn made_up_names_do_not_fill_the_memory() {
        let (memory, fields, now) = (Memory::default(), LimitFields::default(), Instant::now());
        for number in 0..3 * MAX_MODELS {
            let model = format!("openai:m{number}").parse().unwrap();
            memory.windows.learn(&model, 4_096, now);
            memory.answered_by(&model, Strategy::Tool, true, now);
            memory.streamed.learn(&model, now);
            fields.refused(&model, now, now);
        }
        assert!(fields.0.lock().len() <= MAX_MODELS);
        assert!(memory.windows.0.lock().len() <= MAX_MODELS);
        assert!(memory.streamed.0.lock().len() <= MAX_MODELS);
        assert!(memory.strategies.lock().len() <= MAX_MODELS);
    }
}
