//! Says what a run is expected to take before it starts: nothing is stored, and nobody is asked.

use serde_json::{Map, Value};

use super::{Means, Refusal, Runs, collections::Naming};
use crate::{
    domain::{
        Caller, Cost, Estimate, GivenKeys, ModelName, ModelUsage, Outcome, Owner, Run, RunDetails, RunOptions,
        RunStatus, ThreadId, Timestamp, Usage,
        estimate::{Cap, Measure, Size},
    },
    store::{self, RunFilter},
};

/// The newest completed runs of the owner that are looked through, and how many of those that are alike count.
const LOOKED_THROUGH: u32 = 200;
const COUNTED: usize = 50;

impl Runs {
    /// Returns what a run of a new thread would take with the options and keys of a request, checked as that request
    /// would be.
    ///
    /// # Errors
    /// [`Refusal`]: such a run would not be let in.
    pub async fn estimate(
        &self,
        caller: &Caller,
        message: Option<&str>,
        options: &Map<String, Value>,
        keys: &GivenKeys,
    ) -> Result<Estimate, Refusal> {
        let naming = Naming::new(caller, &caller.owner, options);
        let options = self.options_over(self.default_options().clone(), options, keys)?;
        self.searchable(&options, naming).await?;
        let budgets = self.budgets(caller).await?;
        self.estimate_by(&caller.owner, &budgets, message, options, &*self.means(keys)?).await
    }

    /// Estimates a run with these options that this process works on itself, as [`Self::estimate`].
    ///
    /// # Errors
    /// As [`Self::estimate`].
    pub async fn estimate_here(&self, question: &str, options: RunOptions) -> Result<Estimate, Refusal> {
        self.searchable(&options, Naming::here()).await?;
        self.estimate_by(&Owner::local(), &[], Some(question), options, &self.parts.means).await
    }

    /// Returns what the caller may still spend in the day and the month.
    async fn budgets(&self, caller: &Caller) -> Result<Vec<Cap>, Refusal> {
        let now = Timestamp::now();
        let admission = self.admission(None, caller, now);
        let allowances = self.parts.store.allowances((&caller.owner, caller.key_id()), &admission, now).await?;
        Ok(Cap::of_budgets(&allowances))
    }

    async fn estimate_by(
        &self,
        owner: &Owner,
        budgets: &[Cap],
        message: Option<&str>,
        options: RunOptions,
        means: &Means,
    ) -> Result<Estimate, Refusal> {
        let run = match message {
            Some(message) => self.new_run(ThreadId::new(), message, options, false, means)?,
            None => self.run_without_words(ThreadId::new(), options, false, means)?,
        };
        let mut sizes = self.sizes_of_runs_like(owner, &run.options).await?;
        if budgets.iter().any(|cap| cap.of == Measure::Money) {
            // As where the options bound money.
            sizes.retain(|size| size.cost.is_some());
        }
        let price = |model: &ModelName, usage: &Usage| match model.is_offline() {
            true => Some(Cost::default()),
            false => means.llm.cost(model, usage),
        };
        let by_runs = Estimate::of_runs(&run.options, budgets, &sizes);
        let reads_web = means.engines.reads_web(&run.options.search_api);
        Ok(by_runs.unwrap_or_else(|| Estimate::of_preset(&run.options, reads_web, budgets, price)))
    }

    /// Returns the sizes of runs like this one. The owner's alone, whatever else the caller may see: what others ask
    /// for is nobody's business, and differs.
    async fn sizes_of_runs_like(&self, owner: &Owner, options: &RunOptions) -> Result<Vec<Size>, store::Error> {
        let filter =
            RunFilter { owner: Some(owner.clone()), status: Some(RunStatus::Completed), ..RunFilter::default() };
        let newest = self.parts.store.runs_page(&filter, None, LOOKED_THROUGH).await?.items;
        let alike: Vec<_> = newest.into_iter().filter(|run| is_alike(run, options)).take(COUNTED).collect();
        let queries = self.parts.store.queries_of(&alike).await?;
        let size = |details: RunDetails| self.size(&details, queries.get(&details.run.id).copied());
        let sizes = self.parts.store.details(alike).await?.into_iter().map(size);
        // What nobody knows the cost of says nothing about a run whose money is bounded.
        Ok(sizes.filter(|size| options.max_cost_usd.is_none() || size.cost.is_some()).collect())
    }

    /// Returns what a run took, which searched for so many queries if its journal is still there.
    fn size(&self, details: &RunDetails, queries: Option<u64>) -> Size {
        let RunDetails { run, usage, .. } = details;
        let milliseconds = run.finished_at.zip(run.started_at).map_or(0, |(end, begin)| end.since(begin));
        let sum = |of: fn(&ModelUsage) -> u64| usage.values().map(of).sum();
        // Of each model: the sum of those whose price is known is not what the run cost.
        let cost = usage.iter().map(|(model, used)| cost(model, used)).sum::<Option<u64>>();
        Size {
            model_calls: sum(|usage| usage.calls),
            // Presets and `max_searches` count queries; a run's progress counts calls, of one query or more. Queries
            // beyond the limit were refused.
            searches: queries.unwrap_or_default().max(run.progress.searches).min(run.options.max_searches.into()),
            // Each page that was read is a source.
            pages: if self.parts.means.engines.reads_web(&run.options.search_api) { run.progress.sources } else { 0 },
            researchers: run.progress.researchers.finished + run.progress.researchers.failed,
            input_tokens: sum(|usage| usage.tokens.input_tokens),
            output_tokens: sum(|usage| usage.tokens.output_tokens),
            seconds: u64::try_from(milliseconds / 1_000).unwrap_or_default(),
            cost: cost.map(Cost),
        }
    }
}

/// Returns whether the run researched a question from its beginning to its report, as one with these options would.
fn is_alike(run: &Run, options: &RunOptions) -> bool {
    let researched = run.progress.researchers.finished + run.progress.researchers.failed > 0;
    let is_whole = run.outcome == Some(Outcome::Report) && run.retry_of.is_none() && researched;
    is_whole
        && work(&run.options) == work(options)
        && (run.limited_by.is_none() || limits(&run.options) == limits(options))
}

/// Returns what decides how much work a run is.
fn work(options: &RunOptions) -> impl PartialEq + '_ {
    (
        (options.effort, options.max_researcher_iterations, options.max_react_tool_calls),
        (&options.search_api, options.max_pages_per_search, options.read_pages, options.page_reading),
        (options.verify, options.roles()),
    )
}

/// Returns what may end a run early.
fn limits(options: &RunOptions) -> impl PartialEq + '_ {
    (
        (options.max_model_calls, options.max_searches, options.max_run_seconds),
        (options.max_pages, options.max_researchers),
        (options.max_tokens, options.max_cost_usd),
    )
}

/// Returns the cost in billionths of a dollar.
fn cost(model: &str, used: &ModelUsage) -> Option<u64> {
    let is_offline = model.parse().is_ok_and(|model: ModelName| model.is_offline());
    if is_offline { Some(0) } else { used.tokens.cost.map(|cost| cost.0) }
}
