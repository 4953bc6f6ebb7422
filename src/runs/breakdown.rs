//! What a run's model calls took, by what they were made for: sums of its ledger.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{OwnedRun, Step};
use crate::{
    domain::{ModelUsage, RunId, event::Phase},
    store::{self, Store},
};

/// Finished calls and their tokens and money, in all and by what they were for. Calls that a run took over from the one
/// that it retries are not among them: that one has paid for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Breakdown {
    #[serde(flatten)]
    pub total: ModelUsage,
    pub by_stage: BTreeMap<&'static str, ModelUsage>,
    /// As in the options, and `search` for models that search.
    pub by_role: BTreeMap<String, ModelUsage>,
    /// By `provider:model`.
    pub by_model: BTreeMap<String, ModelUsage>,
    /// By scope (`r1`): turns, searches by models and notes. A page is summarised for all researchers, and so for none of
    /// them.
    pub by_researcher: BTreeMap<String, ModelUsage>,
}

impl Breakdown {
    fn of(steps: &[Step]) -> Self {
        let mut breakdown = Self::default();
        for step in steps.iter().filter(|step| !step.inherited) {
            let Some(call) = &step.call else { continue };
            let researcher = researcher(&step.key).map(str::to_owned);
            let sums = [
                Some(&mut breakdown.total),
                Some(breakdown.by_stage.entry(stage(&step.key).as_str()).or_default()),
                Some(breakdown.by_role.entry(call.role.clone()).or_default()),
                Some(breakdown.by_model.entry(call.model.clone()).or_default()),
                researcher.map(|name| breakdown.by_researcher.entry(name).or_default()),
            ];
            for sum in sums.into_iter().flatten() {
                sum.calls += 1;
                sum.tokens += call.usage;
            }
        }
        breakdown
    }
}

/// What a run's model calls took so far, by what they were made for; nothing, for a run that there is not.
///
/// # Errors
/// Those of the store.
pub async fn breakdown(store: &Store, run_id: RunId) -> Result<Breakdown, store::Error> {
    Ok(Breakdown::of(&store.steps(run_id).await?))
}

/// The stage of a step, by the journal's path.
fn stage(key: &str) -> Phase {
    match key.split('/').next() {
        Some("follow_up") => Phase::FollowUp,
        Some("clarify") => Phase::Clarify,
        Some("brief") => Phase::Brief,
        Some("lead" | "page") => Phase::Research,
        _ => Phase::Report,
    }
}

/// The researcher whose step it is.
fn researcher(key: &str) -> Option<&str> {
    let is_researcher = |part: &&str| part.strip_prefix('r').is_some_and(|number| number.parse::<u32>().is_ok());
    key.strip_prefix("lead/")?.split('/').find(is_researcher)
}

impl OwnedRun {
    /// What its model calls took so far, by what they were made for.
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
