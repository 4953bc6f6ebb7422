//! What calls of models took: priced one by one, counted against the run's limits, and written into the step they were
//! made for.

use super::{Cx, Role, spending::SEARCH_TOKENS, unanswered::Outcome};
use crate::{
    domain::{Event, ModelName, Usage},
    journal::{CallRecord, Entry},
    llm::{ANSWER_TOKENS, Completion},
    search::Engine,
    telemetry::metrics,
};

/// Whose tokens those of a search by a model are, beside the roles that options name.
const SEARCH_ROLE: &str = "search";

/// What the answered calls of one step took together.
#[derive(Debug, Default)]
pub(super) struct Paid {
    /// The one that answered last; the offline model's answers take no attempt.
    model: Option<ModelName>,
    usage: Usage,
    attempts: u32,
    /// Those of the calls before the one under way.
    before: u32,
}

impl Paid {
    /// Begins another call of the step.
    pub(super) fn begin_call(&mut self) {
        self.before = self.attempts;
    }
}

impl Cx {
    /// Prices and counts an answer that could not be used; its call was made again, or failed.
    pub(super) fn pay_unused(&self, model: &ModelName, usage: Usage, paid: &mut Paid) {
        let mut usage = usage.plausible_or(ANSWER_TOKENS, ANSWER_TOKENS);
        usage.cost = self.run.services.llm.cost(model, &usage);
        self.run.spending.end_call(&usage);
        metrics::tokens(model, &usage);
        paid.model = Some(model.clone());
        paid.usage += usage;
        paid.attempts = paid.attempts.saturating_add(1);
    }

    /// Prices one answer, since prices depend on how long a prompt is, and counts it. Afterwards its usage is that of
    /// all calls of the step.
    pub(super) fn pay(&self, model: &ModelName, completion: &mut Completion, paid: &mut Paid) {
        completion.usage.cost = self.run.services.llm.cost(model, &completion.usage);
        self.run.spending.end_call(&completion.usage);
        metrics::tokens(model, &completion.usage);
        paid.model = Some(model.clone());
        paid.usage += completion.usage;
        // Those whose answers could not be used are among them.
        paid.attempts = paid.before.saturating_add(completion.attempts);
        (completion.usage, completion.attempts) = (paid.usage, paid.attempts);
    }

    /// Returns the step with what its answered calls took, the unusable ones included, also when the last call
    /// failed.
    pub(super) fn with_usage(&self, role: Role, paid: &Paid, entry: Entry<Outcome>) -> Entry<Outcome> {
        let Some(model) = &paid.model else { return entry };
        let (model, role, tokens) = (model.to_string(), role.as_str().to_owned(), paid.usage);
        let call = CallRecord { model: model.clone(), role: role.clone(), attempts: paid.attempts, usage: paid.usage };
        Entry { call: Some(call), ..entry.event(&self.scope, Event::Usage { model, role, tokens }) }
    }

    /// Prices one answer of the model that searches, since prices depend on how long a prompt is.
    pub fn priced_search(&self, usage: &Usage) -> Usage {
        let usage = usage.plausible_or(SEARCH_TOKENS, ANSWER_TOKENS);
        let model = self.search().and_then(Engine::model);
        Usage { cost: model.and_then(|model| self.run.services.llm.cost(model, &usage)), ..usage }
    }

    /// Returns the step of a search with what the model took that made it, each answer priced.
    pub fn with_search<T>(&self, usage: Usage, entry: Entry<T>) -> Entry<T> {
        let Some(model) = self.search().and_then(Engine::model) else { return entry };
        self.run.spending.end_search(&usage);
        metrics::tokens(model, &usage);
        let (model, role) = (model.to_string(), SEARCH_ROLE.to_owned());
        let event = Event::Usage { model: model.clone(), role: role.clone(), tokens: usage };
        Entry { call: Some(CallRecord { model, role, attempts: 1, usage }), ..entry.event(&self.scope, event) }
    }
}
