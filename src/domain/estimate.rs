//! What a run is expected to take, before it starts: by finished runs like it, or by the size of a usual run of its
//! effort. This is the one place that knows how large a usual run is.

use serde::Serialize;

use super::{Allowance, Cost, Effort, Limited, ModelName, PageReading, RunOptions, Usage, UseLimits};

/// Fewer finished runs say less than the preset does.
pub const FEWEST_RUNS: usize = 3;

/// The factor by which a run of a preset may be smaller or larger than the usual one: questions differ, and models too.
const SPREAD: u64 = 3;

/// What one run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub model_calls: u64,
    pub searches: u64,
    /// Of the web; at most so many.
    pub pages: u64,
    pub researchers: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub seconds: u64,
    /// `None`: a price is not known.
    pub cost: Option<Cost>,
}

/// The span from a small to a large run. Nothing is promised: one run of ten is smaller, and one larger.
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

/// What a limit is a limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    ModelCalls,
    Searches,
    Pages,
    Researchers,
    /// Read and written.
    Tokens,
    Seconds,
    /// Billionths of a dollar.
    Money,
}

/// The most that a run may take of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The option, or the limit of the owner or key.
    pub name: &'static str,
    pub of: Measure,
    pub most: u64,
}

impl Cap {
    /// Returns the limits that the options of the run set.
    fn of_options(options: &RunOptions) -> impl Iterator<Item = Self> {
        let cap = |name, of, most| Self { name, of, most };
        let caps = [
            cap("max_model_calls", Measure::ModelCalls, options.max_model_calls.into()),
            cap("max_searches", Measure::Searches, options.max_searches.into()),
            cap("max_pages", Measure::Pages, options.max_pages.into()),
            cap("max_researchers", Measure::Researchers, options.max_researchers.into()),
            cap("max_tokens", Measure::Tokens, options.max_tokens.into()),
            cap("max_run_seconds", Measure::Seconds, options.max_run_seconds.into()),
        ];
        caps.into_iter().chain(options.max_cost_usd.map(|most| cap("max_cost_usd", Measure::Money, most.0)))
    }

    /// Returns what is left of the budgets of its owner and key when a run is created; 0 when none would be let in.
    pub fn of_budgets(allowances: &[Allowance]) -> Vec<Self> {
        let budgets = allowances.iter().filter_map(|one| Some((budget(one.limited, one.of_key)?, one)));
        let cap = |(name, allowance): (&'static str, &Allowance)| {
            let of = if allowance.limited.is_money() { Measure::Money } else { Measure::Tokens };
            let half = allowance.for_one_run();
            let is_too_small = of == Measure::Tokens && half < UseLimits::FEWEST_TOKENS;
            let most = if allowance.is_used_up() || is_too_small { 0 } else { half };
            Self { name, of, most }
        };
        budgets.map(cap).collect()
    }
}

/// Returns the name that the settings and keys have for a budget.
fn budget(limited: Limited, of_key: bool) -> Option<&'static str> {
    let name = match (limited, of_key) {
        (Limited::TokensPerDay, false) => "tokens_per_day",
        (Limited::TokensPerDay, true) => "key_tokens_per_day",
        (Limited::TokensPerMonth, false) => "tokens_per_month",
        (Limited::TokensPerMonth, true) => "key_tokens_per_month",
        (Limited::CostPerDay, false) => "cost_per_day_usd",
        (Limited::CostPerDay, true) => "key_cost_per_day_usd",
        (Limited::CostPerMonth, false) => "cost_per_month_usd",
        (Limited::CostPerMonth, true) => "key_cost_per_month_usd",
        (Limited::RunsAtOnce | Limited::RunsPerDay | Limited::RequestsPerMinute, _) => return None,
    };
    Some(name)
}

/// The limit of a run that is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// An option, or a budget of the owner or key.
    pub option: &'static str,
    /// The smallest size that reaches it.
    pub at: Level,
}

/// What a run is expected to take; never more than its limits, and what its owner has left, allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub basis: Basis,
    pub model_calls: Range<u64>,
    pub searches: Range<u64>,
    pub pages: Range<u64>,
    pub researchers: Range<u64>,
    pub input_tokens: Range<u64>,
    pub output_tokens: Range<u64>,
    pub minutes: Range<f64>,
    /// `None`: a price is not known.
    pub cost_usd: Option<Range<Cost>>,
    pub limited_by: Option<Binding>,
}

impl Estimate {
    /// Estimates by what runs like it took; `None` when these are too few. Their order does not matter. `budgets` bound
    /// it beside the options.
    pub fn of_runs(options: &RunOptions, budgets: &[Cap], runs: &[Size]) -> Option<Self> {
        if runs.len() < FEWEST_RUNS {
            return None;
        }
        let costs: Option<Vec<_>> = runs.iter().map(|run| run.cost.map(|cost| cost.0)).collect();
        let of = |each: fn(&Size) -> u64| tenths(runs.iter().map(each).collect());
        let (calls, searches) = (of(|run| run.model_calls), of(|run| run.searches));
        let (pages, researchers) = (of(|run| run.pages), of(|run| run.researchers));
        let (input, output, seconds) = (of(|run| run.input_tokens), of(|run| run.output_tokens), of(|run| run.seconds));
        let cost = costs.map(tenths);
        let size = |pick: fn(&Range<u64>) -> u64| Size {
            model_calls: pick(&calls),
            searches: pick(&searches),
            pages: pick(&pages),
            researchers: pick(&researchers),
            input_tokens: pick(&input),
            output_tokens: pick(&output),
            seconds: pick(&seconds),
            cost: cost.as_ref().map(pick).map(Cost),
        };
        let sizes = Range { low: size(|all| all.low), expected: size(|all| all.expected), high: size(|all| all.high) };
        let basis = Basis { from: Grounds::Runs, runs: runs.len(), effort: options.effort };
        Some(Self::of(basis, &sizes, options, budgets))
    }

    /// Estimates by the usual run of the effort, as far as the options and `budgets` allow it. A run that `reads_web`
    /// opens pages. `price` says what one call costs; `None`: nobody knows.
    pub fn of_preset(
        options: &RunOptions,
        reads_web: bool,
        budgets: &[Cap],
        price: impl Fn(&ModelName, &Usage) -> Option<Cost>,
    ) -> Self {
        let usual = Usual::with(options, reads_web);
        let (less, more) = usual.allowed(options);
        let expected = usual.scaled(less).size(options, price);
        let high = expected.part((SPREAD, 1)).part(more);
        let sizes = Range { low: expected.part((1, SPREAD)).at_least(usual.used_roles()), expected, high };
        Self::of(Basis { from: Grounds::Preset, runs: 0, effort: options.effort }, &sizes, options, budgets)
    }

    fn of(basis: Basis, sizes: &Range<Size>, options: &RunOptions, budgets: &[Cap]) -> Self {
        let caps: Vec<Cap> = Cap::of_options(options).chain(budgets.iter().copied()).collect();
        let binds = |level: Level, size: &Size| Some(Binding { option: size.tightest(&caps)?.name, at: level });
        let limited_by = binds(Level::Low, &sizes.low)
            .or_else(|| binds(Level::Expected, &sizes.expected))
            .or_else(|| binds(Level::High, &sizes.high));
        let sizes = sizes.map(|size| size.bounded(&caps));
        let cost = |size: &Size| size.cost.unwrap_or_default();
        let is_known = [sizes.low, sizes.expected, sizes.high].iter().all(|size| size.cost.is_some());
        Self {
            basis,
            model_calls: sizes.map(|size| size.model_calls),
            searches: sizes.map(|size| size.searches),
            pages: sizes.map(|size| size.pages),
            researchers: sizes.map(|size| size.researchers),
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
    /// Returns how much it has of that measure; `None`: nobody knows.
    fn of(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::ModelCalls => Some(self.model_calls),
            Measure::Searches => Some(self.searches),
            Measure::Pages => Some(self.pages),
            Measure::Researchers => Some(self.researchers),
            Measure::Tokens => Some(self.input_tokens + self.output_tokens),
            Measure::Seconds => Some(self.seconds),
            Measure::Money => self.cost.map(|cost| cost.0),
        }
    }

    /// Returns the cap that the size passes by most.
    fn tightest(&self, caps: &[Cap]) -> Option<Cap> {
        // A model without a known price is not called at all where money is bounded.
        let known = |cap: &Cap| if self.of(cap.of).is_none() { Cap { most: 0, ..*cap } } else { *cap };
        let passed = caps.iter().map(known).filter(|cap| self.has(cap) > cap.most);
        passed.min_by(|one, other| {
            (u128::from(one.most) * u128::from(self.has(other)))
                .cmp(&(u128::from(other.most) * u128::from(self.has(one))))
        })
    }

    /// Returns what it has of what the cap bounds; 1 where nobody knows.
    fn has(&self, cap: &Cap) -> u64 {
        self.of(cap.of).unwrap_or(1)
    }

    /// Returns what is left of it under the caps: a run that ends early takes as much less of everything.
    fn bounded(&self, caps: &[Cap]) -> Self {
        self.tightest(caps).map_or(*self, |cap| self.part((cap.most, self.has(&cap))))
    }

    /// Returns the same with so many calls at least.
    fn at_least(self, model_calls: u64) -> Self {
        Self { model_calls: self.model_calls.max(model_calls), ..self }
    }

    /// Returns a part of everything, rounded down.
    fn part(&self, (dividend, divisor): (u64, u64)) -> Self {
        let part = |whole: u64| {
            let part = u128::from(whole) * u128::from(dividend) / u128::from(divisor.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        Self {
            model_calls: part(self.model_calls),
            searches: part(self.searches),
            pages: part(self.pages),
            researchers: part(self.researchers),
            input_tokens: part(self.input_tokens),
            output_tokens: part(self.output_tokens),
            seconds: part(self.seconds),
            cost: self.cost.map(|cost| Cost(part(cost.0))),
        }
    }
}

/// Returns the first tenth, the middle and the last tenth of some numbers.
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

impl RoleSize {
    /// Returns the size of so many calls of the role.
    fn with_calls(&self, calls: u64) -> Self {
        let part = |whole| part_up(whole, (calls, self.calls));
        Self { calls, input_tokens: part(self.input_tokens), output_tokens: part(self.output_tokens) }
    }
}

/// Returns a part of a number, rounded up: something of what is used at all is always used.
fn part_up(whole: u64, (dividend, divisor): (u64, u64)) -> u64 {
    let part = (u128::from(whole) * u128::from(dividend)).div_ceil(u128::from(divisor.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// Calls of the research model that every run takes, however few turns and rounds it has: the brief, the first and the
/// last turn of the lead, and one of a researcher.
const FIXED_CALLS: u64 = 4;

/// The usual run of an effort, with a hosted model that answers within a few seconds.
///
/// Calls, searches, pages and prompt tokens are those of runs of the tests' scripted world
/// (`cargo test --test it stories::sizes -- --nocapture` prints them, and holds these to them within a twentieth):
/// of the standard one, which is the benchmark's, three topics with two searches of two queries each. How long answers
/// and how many minutes they take is assumed, by what hosted models usually need: the scripted ones answer at once and
/// briefly (docs/guide.md says so, too).
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    /// In the order of `MODEL_OPTIONS`: summaries, research, notes, report.
    roles: [RoleSize; 4],
    pub searches: u64,
    pages: u64,
    researchers: u64,
    seconds: u64,
}

impl Usual {
    pub fn minutes(&self) -> u64 {
        self.seconds / 60
    }

    /// Returns the usual run of the offline model over a folder of documents: the mean of runs of three questions on
    /// the example library. A test compares it with them.
    fn offline(effort: Effort) -> Self {
        let role = |calls, input_tokens, output_tokens| RoleSize { calls, input_tokens, output_tokens };
        let [research, notes, report] = match effort {
            Effort::Quick => [role(6, 18_600, 200), role(2, 6_400, 3_300), role(1, 4_900, 1_500)],
            Effort::Standard => [role(6, 19_900, 200), role(2, 7_300, 3_800), role(1, 5_400, 1_600)],
            Effort::Deep => [role(6, 24_000, 200), role(2, 10_200, 4_900), role(1, 6_600, 1_700)],
        };
        Self {
            roles: [RoleSize::default(), research, notes, report],
            searches: 2,
            pages: 0,
            researchers: 2,
            seconds: 2,
        }
    }

    pub fn of(effort: Effort) -> Self {
        let role = |calls, input_tokens, output_tokens| RoleSize { calls, input_tokens, output_tokens };
        let (roles, [searches, pages, researchers, minutes]) = match effort {
            Effort::Quick => {
                let roles =
                    [role(16, 30_400, 3_200), role(10, 21_000, 1_500), role(2, 4_700, 1_500), role(1, 5_600, 1_000)];
                (roles, [4, 16, 2, 2])
            }
            Effort::Standard => {
                let roles = [
                    role(60, 114_000, 12_000),
                    role(16, 54_000, 5_000),
                    role(3, 13_300, 5_000),
                    role(1, 11_200, 4_000),
                ];
                (roles, [12, 60, 3, 6])
            }
            Effort::Deep => {
                let roles = [
                    role(288, 809_000, 58_000),
                    role(37, 225_000, 18_000),
                    role(6, 55_000, 12_000),
                    role(1, 30_000, 10_000),
                ];
                (roles, [36, 288, 6, 20])
            }
        };
        Self { roles, searches, pages, researchers, seconds: minutes * 60 }
    }

    pub fn model_calls(&self) -> u64 {
        self.roles.iter().map(|role| role.calls).sum()
    }

    /// Returns the number of tokens, read and written.
    pub fn tokens(&self) -> u64 {
        self.roles.iter().map(|role| role.input_tokens + role.output_tokens).sum()
    }

    /// Returns the usual run without the work that the options leave out.
    fn with(options: &RunOptions, reads_web: bool) -> Self {
        let is_offline = options.roles().iter().all(|models| models.first().is_offline());
        let mut usual = if is_offline { Self::offline(options.effort) } else { Self::of(options.effort) };
        if options.search_api.is_none() {
            usual.searches = 0;
        }
        if !reads_web {
            usual.pages = 0;
        }
        if options.search_api.is_none() || options.page_reading == PageReading::Passages {
            usual.roles[0] = RoleSize::default();
        }
        usual
    }

    /// Returns what the options allow of the turns and rounds that the effort sets: as a part of the usual run, and how
    /// much larger than one a large run may get.
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

    /// Returns the run with a part of its turns and rounds: what they multiply are summaries, turns of researchers,
    /// searches and pages. The brief, the notes and the report are written all the same.
    fn scaled(&self, part: (u64, u64)) -> Self {
        let [summaries, research, notes, report] = self.roles;
        let fixed = research.calls.min(FIXED_CALLS);
        let turns = part_up(research.calls - fixed, part);
        let summaries = summaries.with_calls(part_up(summaries.calls, part));
        let mut scaled = Self {
            roles: [summaries, research.with_calls(fixed + turns), notes, report],
            searches: part_up(self.searches, part),
            pages: part_up(self.pages, part),
            ..*self
        };
        scaled.seconds = part_up(self.seconds, (scaled.model_calls(), self.model_calls()));
        scaled
    }

    /// Returns the number of roles that are called at all.
    fn used_roles(&self) -> u64 {
        self.roles.iter().map(|role| role.calls.min(1)).sum()
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
            pages: self.pages,
            researchers: self.researchers,
            input_tokens: self.roles.iter().map(|role| role.input_tokens).sum(),
            output_tokens: self.roles.iter().map(|role| role.output_tokens).sum(),
            seconds: self.seconds,
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
        Estimate::of_preset(&options(set), true, &[], cent)
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
        assert_eq!(Estimate::of_preset(&options(&[]), true, &[], |_, _| None).cost_usd, None);
    }

    /// As soon as one role is another model's, the run is a usual one.
    #[test]
    fn without_a_model_a_run_is_small_and_quick() {
        let roles = ["summarization_model", "research_model", "compression_model", "final_report_model"];
        let mut set = roles.map(|role| (role, "offline:extractive")).to_vec();
        let estimate = by_preset(&set);
        assert_eq!((estimate.model_calls.expected, estimate.searches.expected), (9, 2));
        assert!(estimate.minutes.high < 1.0, "{estimate:?}");
        set[3].1 = "openai:gpt-4.1";
        assert_eq!(by_preset(&set).model_calls.expected, 80);
    }

    /// Prices of long prompts are for long prompts, not for many short ones.
    #[test]
    fn money_is_that_of_calls_of_the_usual_length() {
        let long = Some(super::super::LongPrompt { above: 100_000, input: 100.0, output: 100.0 });
        let price = Price { input: 1.0, output: 10.0, long, ..Price::default() };
        let estimate = Estimate::of_preset(&options(&[]), true, &[], |_, usage| price.cost(usage));
        let dollars = estimate.cost_usd.unwrap().expected.dollars();
        assert!((0.44..0.46).contains(&dollars), "0.19 for reading and 0.26 for writing, not {dollars}");
    }

    #[test]
    fn options_make_the_run_smaller_or_let_it_grow() {
        let usual = by_preset(&[]);
        let half = by_preset(&[("max_react_tool_calls", "5")]);
        assert_eq!((half.model_calls.expected, half.model_calls.high), (44, 132), "the report is written all the same");
        let twice = by_preset(&[("max_react_tool_calls", "20")]);
        assert_eq!((twice.model_calls.expected, twice.model_calls.high), (80, 480));
        let passages = by_preset(&[("page_reading", "passages")]);
        assert_eq!((passages.model_calls.expected, passages.searches), (20, usual.searches));
        let quick = by_preset(&[("effort", "quick")]);
        assert_eq!((quick.model_calls.expected, quick.minutes.expected), (29, 2.0));
        assert_eq!(by_preset(&[("effort", "deep")]).model_calls.expected, 332);
        assert_eq!(by_preset(&[("search_api", "none")]).searches.high, 0);
        assert_eq!(Estimate::of_preset(&options(&[]), false, &[], cent).pages.high, 0);
    }

    /// Such runs of the offline model took 7 calls, of a hosted one 11 and two searches.
    #[test]
    fn the_smallest_run_is_no_less_than_it_takes() {
        let smallest = [("max_researcher_iterations", "1"), ("max_react_tool_calls", "2")];
        let hosted = by_preset(&smallest);
        assert!(hosted.model_calls.low >= 4 && hosted.model_calls.high >= 11, "{hosted:?}");
        assert!((8..=14).contains(&hosted.model_calls.expected) && hosted.searches.high >= 2, "{hosted:?}");
        let roles = ["summarization_model", "research_model", "compression_model", "final_report_model"];
        let offline = by_preset(&[&roles.map(|role| (role, "offline:extractive"))[..], &smallest].concat());
        assert!(offline.model_calls.low >= 3 && offline.model_calls.high >= 7, "{offline:?}");
        assert!((6..=8).contains(&offline.model_calls.expected) && offline.searches.expected > 0, "{offline:?}");
    }

    #[test]
    fn no_estimate_passes_a_limit_and_it_says_which_one_binds() {
        let check = |set: &[(&str, &str)], option, at| {
            let options = options(set);
            let estimate = Estimate::of_preset(&options, true, &[], cent);
            assert_eq!(estimate.limited_by, Some(Binding { option, at }), "{set:?}");
            let levels: [fn(&Range<u64>) -> u64; 3] = [|all| all.low, |all| all.expected, |all| all.high];
            for level in levels {
                assert!(level(&estimate.model_calls) <= options.max_model_calls.into(), "{estimate:?}");
                assert!(level(&estimate.searches) <= options.max_searches.into(), "{estimate:?}");
                assert!(level(&estimate.pages) <= options.max_pages.into(), "{estimate:?}");
                assert!(level(&estimate.researchers) <= options.max_researchers.into(), "{estimate:?}");
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
        check(&[("max_pages", "40")], "max_pages", Level::Expected);
        check(&[("max_researchers", "6")], "max_researchers", Level::High);
        check(&[("max_tokens", "60000")], "max_tokens", Level::Low);
        check(&[("max_run_seconds", "600")], "max_run_seconds", Level::High);
        check(&[("max_cost_usd", "0.5")], "max_cost_usd", Level::Expected);
        check(&[("max_cost_usd", "0.5"), ("max_searches", "1")], "max_searches", Level::Low);
    }

    /// Half of what is left of a day or month is a run's; what is used up lets none in.
    #[test]
    fn no_estimate_passes_what_its_owner_and_key_have_left() {
        let allowance = |limited, of_key, quota, left| {
            let at = crate::domain::Timestamp(0);
            Allowance { limited, of_key, quota, left, at }
        };
        let check = |allowances: &[Allowance], option, at| {
            let estimate = Estimate::of_preset(&options(&[]), true, &Cap::of_budgets(allowances), cent);
            assert_eq!(estimate.limited_by, Some(Binding { option, at }), "{allowances:?}");
            estimate
        };
        let tokens = allowance(Limited::TokensPerDay, false, 1_000_000, 300_000);
        let estimate = check(&[tokens], "tokens_per_day", Level::Expected);
        assert!(estimate.input_tokens.high + estimate.output_tokens.high <= 150_000, "{estimate:?}");
        let money = allowance(Limited::CostPerMonth, true, 10_000_000_000, 400_000_000);
        let estimate = check(&[tokens, money], "key_cost_per_month_usd", Level::Low);
        assert!(estimate.cost_usd.unwrap().high.dollars() <= 0.2);
        for left in [0, 15_000] {
            let none = check(&[Allowance { left, ..tokens }], "tokens_per_day", Level::Low);
            assert_eq!((none.model_calls.high, none.minutes.high), (0, 0.0), "no run with so little is let in");
        }
        let runs = allowance(Limited::RunsPerDay, false, 1, 0);
        assert_eq!(Cap::of_budgets(&[runs]), [], "that counts runs, not what they take");
    }

    /// Such a run ends before its first call.
    #[test]
    fn a_model_without_a_price_takes_nothing_where_money_is_bounded() {
        let estimate = Estimate::of_preset(&options(&[("max_cost_usd", "5")]), true, &[], |_, _| None);
        assert_eq!((estimate.model_calls.high, estimate.cost_usd), (0, None));
        assert_eq!(estimate.limited_by, Some(Binding { option: "max_cost_usd", at: Level::Low }));
    }

    #[test]
    fn finished_runs_say_more_than_the_preset() {
        let run = |calls: u64| Size {
            model_calls: calls,
            searches: calls / 10,
            pages: calls / 2,
            researchers: 3,
            input_tokens: calls * 1_000,
            output_tokens: calls * 10,
            seconds: calls * 3,
            cost: Some(Cost(calls)),
        };
        let own = options(&[]);
        assert_eq!(Estimate::of_runs(&own, &[], &[run(10), run(20)]), None, "too few");
        let estimate = Estimate::of_runs(&own, &[], &[run(30), run(10), run(20)]).unwrap();
        assert_eq!(estimate.basis, Basis { from: Grounds::Runs, runs: 3, effort: Effort::Standard });
        assert_eq!(estimate.model_calls, Range { low: 10, expected: 20, high: 30 });
        assert_eq!(estimate.minutes, Range { low: 0.5, expected: 1.0, high: 1.5 });
        assert_eq!(estimate.cost_usd, Some(Range { low: Cost(10), expected: Cost(20), high: Cost(30) }));
        let many: Vec<_> = (0..=100).map(run).collect();
        let estimate = Estimate::of_runs(&own, &[], &many).unwrap();
        assert_eq!(estimate.model_calls, Range { low: 10, expected: 50, high: 90 });
        let unpriced = [run(10), Size { cost: None, ..run(20) }, run(30)];
        assert_eq!(Estimate::of_runs(&own, &[], &unpriced).unwrap().cost_usd, None);
        let bounded = Estimate::of_runs(&options(&[("max_searches", "1")]), &[], &[run(30), run(10), run(20)]).unwrap();
        assert_eq!((bounded.searches.high, bounded.model_calls.high), (1, 10));
        assert_eq!(bounded.limited_by, Some(Binding { option: "max_searches", at: Level::Expected }));
    }
}
