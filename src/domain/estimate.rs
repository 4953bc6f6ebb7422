//! What a run is expected to take, before it starts: by finished runs like it, or by the size of a usual run of its
//! effort. This is the one place that knows how large a usual run is.

use serde::Serialize;

use super::{Cost, Effort, ModelName, PageReading, RunOptions, Usage};

/// Fewer finished runs say less than the preset does.
pub const FEWEST_RUNS: usize = 3;

/// By how much a run of a preset may be smaller or larger than the usual one: questions differ, and models too.
const SPREAD: u64 = 3;

/// What one run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub model_calls: u64,
    pub searches: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub seconds: u64,
    /// `None`: a price is not known.
    pub cost: Option<Cost>,
}

/// From a small to a large run. Nothing is promised: one run of ten is smaller, and one larger.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range<T> {
    pub low: T,
    pub expected: T,
    pub high: T,
}

impl<T> Range<T> {
    fn map<U>(&self, of: impl Fn(&T) -> U) -> Range<U> {
        Range { low: of(&self.low), expected: of(&self.expected), high: of(&self.high) }
    }
}

/// What an estimate is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Basis {
    pub from: Grounds,
    /// Finished runs that were looked at; 0 for a preset.
    pub runs: usize,
    pub effort: Effort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grounds {
    /// The owner's finished runs with such options and models.
    Runs,
    /// The usual run of the effort.
    Preset,
}

/// One of the sizes of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Low,
    Expected,
    High,
}

/// The limit of a run that is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    pub option: &'static str,
    /// The smallest size that reaches it.
    pub at: Level,
}

/// What a run is expected to take; never more than its limits allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub basis: Basis,
    pub model_calls: Range<u64>,
    pub searches: Range<u64>,
    pub input_tokens: Range<u64>,
    pub output_tokens: Range<u64>,
    pub minutes: Range<f64>,
    /// `None`: a price is not known.
    pub cost_usd: Option<Range<Cost>>,
    pub limited_by: Option<Binding>,
}

impl Estimate {
    /// By what runs like it took; `None` when these are too few. Their order does not matter.
    pub fn of_runs(options: &RunOptions, runs: &[Size]) -> Option<Self> {
        if runs.len() < FEWEST_RUNS {
            return None;
        }
        let costs: Option<Vec<_>> = runs.iter().map(|run| run.cost.map(|cost| cost.0)).collect();
        let of = |each: fn(&Size) -> u64| tenths(runs.iter().map(each).collect());
        let (calls, searches) = (of(|run| run.model_calls), of(|run| run.searches));
        let (input, output, seconds) = (of(|run| run.input_tokens), of(|run| run.output_tokens), of(|run| run.seconds));
        let cost = costs.map(tenths);
        let size = |pick: fn(&Range<u64>) -> u64| Size {
            model_calls: pick(&calls),
            searches: pick(&searches),
            input_tokens: pick(&input),
            output_tokens: pick(&output),
            seconds: pick(&seconds),
            cost: cost.as_ref().map(pick).map(Cost),
        };
        let sizes = Range { low: size(|all| all.low), expected: size(|all| all.expected), high: size(|all| all.high) };
        Some(Self::of(Basis { from: Grounds::Runs, runs: runs.len(), effort: options.effort }, &sizes, options))
    }

    /// By the usual run of the effort, as far as the options allow it. `price` says what one call costs; `None`: nobody
    /// knows.
    pub fn of_preset(options: &RunOptions, price: impl Fn(&ModelName, &Usage) -> Option<Cost>) -> Self {
        let usual = Usual::with(options);
        let (less, more) = usual.allowed(options);
        let expected = usual.size(options, price).part(less);
        let sizes = Range { low: expected.part((1, SPREAD)), expected, high: expected.part((SPREAD, 1)).part(more) };
        Self::of(Basis { from: Grounds::Preset, runs: 0, effort: options.effort }, &sizes, options)
    }

    fn of(basis: Basis, sizes: &Range<Size>, options: &RunOptions) -> Self {
        let binds = |level: Level, size: &Size| Some(Binding { option: size.tightest(options)?.0, at: level });
        let limited_by = binds(Level::Low, &sizes.low)
            .or_else(|| binds(Level::Expected, &sizes.expected))
            .or_else(|| binds(Level::High, &sizes.high));
        let sizes = sizes.map(|size| size.bounded(options));
        let cost = |size: &Size| size.cost.unwrap_or_default();
        let is_known = [sizes.low, sizes.expected, sizes.high].iter().all(|size| size.cost.is_some());
        Self {
            basis,
            model_calls: sizes.map(|size| size.model_calls),
            searches: sizes.map(|size| size.searches),
            input_tokens: sizes.map(|size| size.input_tokens),
            output_tokens: sizes.map(|size| size.output_tokens),
            // Hundredths, cut, so that no limit is passed.
            minutes: sizes.map(|size| (size.seconds * 100 / 60) as f64 / 100.0),
            cost_usd: is_known.then(|| sizes.map(cost)),
            limited_by,
        }
    }
}

impl Size {
    /// The limit of the run that the size passes by most: its option, what it allows, and what the size has.
    fn tightest(&self, options: &RunOptions) -> Option<(&'static str, u64, u64)> {
        let money = options.max_cost_usd.map(|most| match self.cost {
            Some(cost) => ("max_cost_usd", most.0, cost.0),
            // A model without a known price is not called at all where money is bounded.
            None => ("max_cost_usd", 0, 1),
        });
        let limits = [
            ("max_model_calls", options.max_model_calls.into(), self.model_calls),
            ("max_searches", options.max_searches.into(), self.searches),
            ("max_tokens", options.max_tokens.into(), self.input_tokens + self.output_tokens),
            ("max_run_seconds", options.max_run_seconds.into(), self.seconds),
        ];
        let passed = limits.into_iter().chain(money).filter(|(_, most, has)| has > most);
        passed.min_by(|(_, most, has), (_, other_most, other)| {
            (u128::from(*most) * u128::from(*other)).cmp(&(u128::from(*other_most) * u128::from(*has)))
        })
    }

    /// What is left of it under the run's limits: a run that ends early takes as much less of everything.
    fn bounded(&self, options: &RunOptions) -> Self {
        self.tightest(options).map_or(*self, |(_, most, has)| self.part((most, has)))
    }

    /// A part of everything, rounded down.
    fn part(&self, (dividend, divisor): (u64, u64)) -> Self {
        let part = |whole: u64| {
            let part = u128::from(whole) * u128::from(dividend) / u128::from(divisor.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        Self {
            model_calls: part(self.model_calls),
            searches: part(self.searches),
            input_tokens: part(self.input_tokens),
            output_tokens: part(self.output_tokens),
            seconds: part(self.seconds),
            cost: self.cost.map(|cost| Cost(part(cost.0))),
        }
    }
}

/// The first tenth, the middle and the last tenth of some numbers.
fn tenths(mut numbers: Vec<u64>) -> Range<u64> {
    numbers.sort_unstable();
    let last = numbers.len().saturating_sub(1);
    let at = |percent: usize| numbers.get((last * percent + 50) / 100).copied().unwrap_or_default();
    Range { low: at(10), expected: at(50), high: at(90) }
}

/// Calls of one role, with the tokens of all of them.
#[derive(Clone, Copy, Debug, Default)]
struct RoleSize {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// The usual run of an effort, with a hosted model that answers within a few seconds.
///
/// The standard one is the run of the benchmark (three topics, 81 model calls, 12 searches, 304,000 prompt tokens); the
/// others are scaled with the turns and rounds that they allow.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// In the order of `MODEL_OPTIONS`: summaries, research, notes, report.
    roles: [RoleSize; 4],
    pub searches: u64,
    pub minutes: u64,
}

impl Usual {
    pub fn of(effort: Effort) -> Self {
        let role = |calls, input_tokens, output_tokens| RoleSize { calls, input_tokens, output_tokens };
        let (roles, searches, minutes) = match effort {
            Effort::Quick => {
                let roles =
                    [role(14, 44_000, 3_000), role(8, 26_000, 1_500), role(2, 9_000, 1_500), role(1, 4_000, 1_000)];
                (roles, 4, 2)
            }
            Effort::Standard => {
                let roles = [
                    role(56, 168_000, 12_000),
                    role(19, 92_000, 5_000),
                    role(3, 30_000, 5_000),
                    role(2, 14_000, 4_000),
                ];
                (roles, 12, 6)
            }
            Effort::Deep => {
                let roles = [
                    role(180, 540_000, 40_000),
                    role(60, 420_000, 18_000),
                    role(8, 110_000, 16_000),
                    role(2, 46_000, 10_000),
                ];
                (roles, 40, 20)
            }
        };
        Self { roles, searches, minutes }
    }

    pub fn model_calls(&self) -> u64 {
        self.roles.iter().map(|role| role.calls).sum()
    }

    /// Read and written.
    pub fn tokens(&self) -> u64 {
        self.roles.iter().map(|role| role.input_tokens + role.output_tokens).sum()
    }

    /// Without the work that the options leave out.
    fn with(options: &RunOptions) -> Self {
        let mut usual = Self::of(options.effort);
        if options.search_api.is_none() {
            usual.searches = 0;
        }
        if options.search_api.is_none() || options.page_reading == PageReading::Passages {
            usual.roles[0] = RoleSize::default();
        }
        usual
    }

    /// What the options allow of the turns and rounds that the effort sets: as a part of the usual run, and how much
    /// larger than one a large run may get.
    fn allowed(&self, options: &RunOptions) -> ((u64, u64), (u64, u64)) {
        let mut own = RunOptions::default();
        for (name, value) in options.effort.options() {
            // The table of options holds the effort's own values, which a test sees to.
            let _ = own.set(&name, value);
        }
        let turns = (u64::from(options.max_react_tool_calls), u64::from(own.max_react_tool_calls));
        let rounds = (u64::from(options.max_researcher_iterations), u64::from(own.max_researcher_iterations));
        let less = (turns.0.min(turns.1) * rounds.0.min(rounds.1), turns.1 * rounds.1);
        let more = (turns.0.max(turns.1) * rounds.0.max(rounds.1), turns.1 * rounds.1);
        (less, more)
    }

    fn size(&self, options: &RunOptions, price: impl Fn(&ModelName, &Usage) -> Option<Cost>) -> Size {
        let of_role = |(role, model): (&RoleSize, &ModelName)| {
            let call = role.input_tokens.checked_div(role.calls).zip(role.output_tokens.checked_div(role.calls));
            let Some((input_tokens, output_tokens)) = call else { return Some(0) };
            let one = price(model, &Usage { input_tokens, output_tokens, ..Usage::default() })?;
            Some(one.0.saturating_mul(role.calls))
        };
        let models = options.roles().map(super::Models::first);
        let cost = self.roles.iter().zip(models).map(of_role).sum::<Option<u64>>();
        Size {
            model_calls: self.model_calls(),
            searches: self.searches,
            input_tokens: self.roles.iter().map(|role| role.input_tokens).sum(),
            output_tokens: self.roles.iter().map(|role| role.output_tokens).sum(),
            seconds: self.minutes * 60,
            cost: cost.map(Cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Price;

    fn cent(_: &ModelName, _: &Usage) -> Option<Cost> {
        Cost::reported(0.01)
    }

    fn options(set: &[(&str, &str)]) -> RunOptions {
        let mut options = RunOptions::default();
        for (name, value) in set {
            options.set_text(name, value).unwrap();
        }
        options
    }

    fn by_preset(set: &[(&str, &str)]) -> Estimate {
        Estimate::of_preset(&options(set), cent)
    }

    #[test]
    fn the_usual_run_is_what_the_preset_says() {
        let estimate = by_preset(&[]);
        assert_eq!(estimate.basis, Basis { from: Grounds::Preset, runs: 0, effort: Effort::Standard });
        assert_eq!(estimate.model_calls, Range { low: 26, expected: 80, high: 240 });
        assert_eq!(estimate.searches, Range { low: 4, expected: 12, high: 36 });
        assert_eq!(estimate.minutes, Range { low: 2.0, expected: 6.0, high: 18.0 });
        assert_eq!(estimate.cost_usd.unwrap().expected.dollars(), 0.8);
        assert_eq!(estimate.limited_by, None);
        assert_eq!(Estimate::of_preset(&options(&[]), |_, _| None).cost_usd, None);
    }

    /// Prices of long prompts are for long prompts, not for many short ones.
    #[test]
    fn money_is_that_of_calls_of_the_usual_length() {
        let long = Some(super::super::LongPrompt { above: 100_000, input: 100.0, output: 100.0 });
        let price = Price { input: 1.0, output: 10.0, long, ..Price::default() };
        let estimate = Estimate::of_preset(&options(&[]), |_, usage| price.cost(usage));
        let dollars = estimate.cost_usd.unwrap().expected.dollars();
        assert!((0.55..0.57).contains(&dollars), "0.304 for reading and 0.26 for writing, not {dollars}");
    }

    #[test]
    fn options_make_the_run_smaller_or_let_it_grow() {
        let usual = by_preset(&[]);
        let half = by_preset(&[("max_react_tool_calls", "5")]);
        assert_eq!((half.model_calls.expected, half.model_calls.high), (40, 120));
        let twice = by_preset(&[("max_react_tool_calls", "20")]);
        assert_eq!((twice.model_calls.expected, twice.model_calls.high), (80, 480));
        let passages = by_preset(&[("page_reading", "passages")]);
        assert_eq!((passages.model_calls.expected, passages.searches), (24, usual.searches));
        let quick = by_preset(&[("effort", "quick")]);
        assert_eq!((quick.model_calls.expected, quick.minutes.expected), (25, 2.0));
        assert_eq!(by_preset(&[("effort", "deep")]).model_calls.expected, 250);
        assert_eq!(by_preset(&[("search_api", "none")]).searches.high, 0);
    }

    #[test]
    fn no_estimate_passes_a_limit_and_it_says_which_one_binds() {
        let check = |set: &[(&str, &str)], option, at| {
            let options = options(set);
            let estimate = Estimate::of_preset(&options, cent);
            assert_eq!(estimate.limited_by, Some(Binding { option, at }), "{set:?}");
            let levels: [fn(&Range<u64>) -> u64; 3] = [|all| all.low, |all| all.expected, |all| all.high];
            for level in levels {
                assert!(level(&estimate.model_calls) <= options.max_model_calls.into(), "{estimate:?}");
                assert!(level(&estimate.searches) <= options.max_searches.into(), "{estimate:?}");
                let tokens = level(&estimate.input_tokens) + level(&estimate.output_tokens);
                assert!(tokens <= options.max_tokens.into(), "{estimate:?}");
            }
            assert!(estimate.minutes.high * 60.0 <= f64::from(options.max_run_seconds), "{estimate:?}");
            let dollars = options.max_cost_usd.map_or(f64::MAX, Cost::dollars);
            assert!(estimate.cost_usd.unwrap().high.dollars() <= dollars, "{estimate:?}");
        };
        check(&[("max_model_calls", "100")], "max_model_calls", Level::High);
        check(&[("max_model_calls", "20")], "max_model_calls", Level::Low);
        check(&[("max_searches", "6")], "max_searches", Level::Expected);
        check(&[("max_tokens", "100000")], "max_tokens", Level::Low);
        check(&[("max_run_seconds", "600")], "max_run_seconds", Level::High);
        check(&[("max_cost_usd", "0.5")], "max_cost_usd", Level::Expected);
        check(&[("max_cost_usd", "0.5"), ("max_searches", "1")], "max_searches", Level::Low);
    }

    /// Such a run ends before its first call.
    #[test]
    fn a_model_without_a_price_takes_nothing_where_money_is_bounded() {
        let estimate = Estimate::of_preset(&options(&[("max_cost_usd", "5")]), |_, _| None);
        assert_eq!((estimate.model_calls.high, estimate.cost_usd), (0, None));
        assert_eq!(estimate.limited_by, Some(Binding { option: "max_cost_usd", at: Level::Low }));
    }

    #[test]
    fn finished_runs_say_more_than_the_preset() {
        let run = |calls: u64| Size {
            model_calls: calls,
            searches: calls / 10,
            input_tokens: calls * 1_000,
            output_tokens: calls * 10,
            seconds: calls * 3,
            cost: Some(Cost(calls)),
        };
        let own = options(&[]);
        assert_eq!(Estimate::of_runs(&own, &[run(10), run(20)]), None, "too few");
        let estimate = Estimate::of_runs(&own, &[run(30), run(10), run(20)]).unwrap();
        assert_eq!(estimate.basis, Basis { from: Grounds::Runs, runs: 3, effort: Effort::Standard });
        assert_eq!(estimate.model_calls, Range { low: 10, expected: 20, high: 30 });
        assert_eq!(estimate.minutes, Range { low: 0.5, expected: 1.0, high: 1.5 });
        assert_eq!(estimate.cost_usd, Some(Range { low: Cost(10), expected: Cost(20), high: Cost(30) }));
        let many: Vec<_> = (0..=100).map(run).collect();
        let estimate = Estimate::of_runs(&own, &many).unwrap();
        assert_eq!(estimate.model_calls, Range { low: 10, expected: 50, high: 90 });
        let unpriced = [run(10), Size { cost: None, ..run(20) }, run(30)];
        assert_eq!(Estimate::of_runs(&own, &unpriced).unwrap().cost_usd, None);
        let bounded = Estimate::of_runs(&options(&[("max_searches", "1")]), &[run(30), run(10), run(20)]).unwrap();
        assert_eq!((bounded.searches.high, bounded.model_calls.high), (1, 10));
        assert_eq!(bounded.limited_by, Some(Binding { option: "max_searches", at: Level::Expected }));
    }
}
