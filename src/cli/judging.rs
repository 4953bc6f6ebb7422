//! The judges of `fathom eval`: whether the model that was named can be one, and what of a run it gets to see.

use std::sync::Arc;

use super::complain;
use crate::{
    app::App,
    config::Config,
    domain::{
        Event, ModelName, RunId, Source,
        report::{Report, source_ids},
    },
    eval::{Judges, RunRecord},
    llm::Llm,
    store::{self, Store},
};

/// Events that are read at once; the brief is among the first.
const PAGE: u32 = 500;

/// Checks that `model` can judge.
///
/// # Errors
/// Why it cannot, and what to do.
pub fn check(model: &ModelName, llm: &Llm, config: &Config) -> Result<(), String> {
    if model.is_offline() {
        return Err(format!("--judge-model: {model} quotes and cannot judge; name a model of a provider"));
    }
    if llm.key_name(model).is_none() {
        return Err(format!("--judge-model: there is no provider '{}'; docs/providers.md lists them", model.provider));
    }
    if let Some(variable) = llm.missing(model) {
        return Err(format!("--judge-model: {model} needs {variable}"));
    }
    if config.options.models().any(|writer| writer == model) {
        complain(&format!("{model} writes the reports that it judges, and models favour their own; name another one"));
    }
    Ok(())
}

/// Returns judges that are `model`; their calls and those of the runs keep to the limits of a provider together.
pub fn judges(app: &App, model: ModelName, config: &Config) -> Judges {
    let (llm, prompts) = (app.runs.llm().clone(), Arc::clone(app.runs.prompts()));
    Judges::new(llm, model, prompts, config.options.max_structured_output_retries)
}

/// Returns what a run kept that judges need; `None` when it is not in this database.
pub async fn kept(app: &App, run_id: Option<RunId>) -> Option<Arc<RunRecord>> {
    let store = app.runs.store();
    match load(store, run_id?).await {
        Ok(kept) => kept.map(Arc::new),
        Err(error) => {
            complain(&error.to_string());
            None
        }
    }
}

async fn load(store: &Store, run_id: RunId) -> Result<Option<RunRecord>, store::Error> {
    let Some(report) = store.report(run_id).await? else { return Ok(None) };
    let (sources, brief) = (cited(store, run_id, &report).await?, brief(store, run_id).await?);
    Ok(Some(RunRecord { report, sources, brief }))
}

/// Returns the sources that the report cites, with their texts.
async fn cited(store: &Store, run_id: RunId, report: &Report) -> Result<Vec<Source>, store::Error> {
    store.snapshots_of(run_id, &source_ids(&report.citations)).await
}

/// Returns the brief of a run; empty when it made none.
async fn brief(store: &Store, run_id: RunId) -> Result<String, store::Error> {
    let mut after = 0;
    loop {
        let events = store.run_events_after(run_id, after, PAGE).await?;
        let Some(last) = events.last().map(|envelope| envelope.seq) else { return Ok(String::new()) };
        let found = events.into_iter().find_map(|envelope| match envelope.event {
            Event::BriefCreated { brief, .. } => Some(brief),
            _ => None,
        });
        if let Some(brief) = found {
            return Ok(brief);
        }
        after = last;
    }
}
