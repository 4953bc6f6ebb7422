//! What model calls took, by what they were made for: sums of the ledger, of a run or of all runs of some days.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{OwnedRun, Runs, Step};
use crate::{
    domain::{Caller, ModelUsage, RunId, event::Phase},
    store::{self, Store, UsageFilter},
};

/// The most runs that are summed up at once: the journal of each is read.
pub const MAX_RUNS: u32 = 2_000;

/// Finished calls and their tokens and money, in all and by what they were for. Calls that a run took over from the one
/// that it retries are not among them: that one has paid for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    #[serde(flatten)]
    pub total: ModelUsage,
    pub by_stage: BTreeMap<&'static str, ModelUsage>,
    /// As in the options, and `search` for models that search.
    pub by_role: BTreeMap<String, ModelUsage>,
    /// By `provider:model`.
    pub by_model: BTreeMap<String, ModelUsage>,
}

impl Sums {
    fn add(&mut self, key: &str, role: &str, model: &str, used: &ModelUsage) {
        let sums = [
            &mut self.total,
            self.by_stage.entry(stage(key).as_str()).or_default(),
            self.by_role.entry(role.to_owned()).or_default(),
            self.by_model.entry(model.to_owned()).or_default(),
        ];
        for sum in sums {
            sum.calls += used.calls;
            sum.tokens += used.tokens;
        }
    }
}

/// What the runs of some days took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PeriodBreakdown {
    /// Created in these days, and not deleted since.
    pub runs: u64,
    #[serde(flatten)]
    pub sums: Sums,
}

/// What one run took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Breakdown {
    #[serde(flatten)]
    pub sums: Sums,
    /// By scope (`r1`): turns, searches by models and notes. A page is summarised for all researchers, and so for none
    /// of them.
    pub by_researcher: BTreeMap<String, ModelUsage>,
}

impl Breakdown {
    fn of(steps: &[Step]) -> Self {
        let mut breakdown = Self::default();
        for step in steps.iter().filter(|step| !step.inherited) {
            let Some(call) = &step.call else { continue };
            let used = ModelUsage { calls: 1, tokens: call.usage };
            breakdown.sums.add(&step.key, &call.role, &call.model, &used);
            if let Some(name) = researcher(&step.key) {
                let sum = breakdown.by_researcher.entry(name.to_owned()).or_default();
                sum.calls += 1;
                sum.tokens += call.usage;
            }
        }
        breakdown
    }
}

/// Returns what a run's model calls took so far, by what they were made for; nothing, for a run that there is not.
///
/// # Errors
/// Those of the store.
pub async fn breakdown(store: &Store, run_id: RunId) -> Result<Breakdown, store::Error> {
    Ok(Breakdown::of(&store.steps(run_id).await?))
}

/// Returns what runs took, by what it was for; `None` when there are more runs than can be summed up at once.
///
/// # Errors
/// Those of the store.
pub async fn breakdown_of_period(store: &Store, filter: &UsageFilter) -> Result<Option<PeriodBreakdown>, store::Error> {
    let Some(used) = store.usage_by_place(filter, MAX_RUNS).await? else { return Ok(None) };
    let mut all = PeriodBreakdown { runs: used.runs, ..PeriodBreakdown::default() };
    for place in &used.places {
        all.sums.add(&place.place, &place.role, &place.model, &place.used);
    }
    Ok(Some(all))
}

impl Runs {
    /// Returns what the caller may see of what runs took: of their own, or of everybody's for who sees everybody's.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn breakdown(
        &self,
        caller: &Caller,
        filter: UsageFilter,
    ) -> Result<Option<PeriodBreakdown>, store::Error> {
        match filter.seen_by(caller) {
            Some(filter) => breakdown_of_period(&self.parts.store, &filter).await,
            None => Ok(Some(PeriodBreakdown::default())),
        }
    }
}

/// Returns the stage of a step, by the journal's path.
fn stage(key: &str) -> Phase {
    match key.split('/').next() {
        Some("follow_up") => Phase::FollowUp,
        Some("clarify") => Phase::Clarify,
        Some("brief") => Phase::Brief,
        Some("lead" | "page") => Phase::Research,
        _ => Phase::Report,
    }
}

/// Returns the researcher whose step it is.
fn researcher(key: &str) -> Option<&str> {
    let is_researcher = |part: &&str| part.strip_prefix('r').is_some_and(|number| number.parse::<u32>().is_ok());
    key.strip_prefix("lead/")?.split('/').find(is_researcher)
}

impl OwnedRun {
    /// Returns what its model calls took so far, by what they were made for.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn breakdown(&self) -> Result<Breakdown, store::Error> {
        Ok(Breakdown::of(&self.steps().await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_whose_step_it_is() {
        let check = |key: &str, expected: (&str, Option<&str>)| {
            assert_eq!((stage(key).as_str(), researcher(key)), expected, "{key}");
        };
        check("clarify", ("clarify", None));
        check("brief/2", ("brief", None));
        check("follow_up", ("follow_up", None));
        check("lead/3", ("research", None));
        check("lead/3/r12/turn/2", ("research", Some("r12")));
        check("lead/brief/r1/turn/1/search/0", ("research", Some("r1")));
        check("page/0123456789abcdef", ("research", None));
        check("report/2", ("report", None));
        check("answer/repair", ("report", None));
    }
}
