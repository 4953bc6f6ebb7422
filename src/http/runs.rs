//! Runs: listed, read, cancelled; their notes, sources and ledger.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use axum::{
    extract::{FromRequestParts, State as Shared},
    http::{StatusCode, Uri, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    State, audit,
    bodies::RunBody,
    error::ApiError,
    extract::{Preferences, Query, path_text},
    json::{ListBody, answer},
    started::waited,
};
use crate::{
    domain::{Caller, RunDetails, RunStatus, Source, SourceId, Timestamp, Usage},
    runs::{Cancelling, OwnedRun, RunFilter, Step},
};

pub async fn list(Shared(state): Shared<State>, caller: Caller, uri: Uri, query: Query) -> Result<Response, ApiError> {
    audit::list(&caller, None, &uri);
    let filter = RunFilter { status: status(&query)?, ..RunFilter::default() };
    let (cursor, limit) = (query.cursor("runs")?, query.number("limit", 20, 1..=100)?);
    let page = state.runs.list(&caller, filter, cursor, limit).await?;
    answer(&ListBody::page("runs", page, RunBody::from))
}

fn status(query: &Query) -> Result<Option<RunStatus>, ApiError> {
    let Some(name) = query.text("status") else { return Ok(None) };
    let status = RunStatus::parse(name);
    status
        .map(Some)
        .ok_or_else(|| ApiError::parameter("status", "status must be queued, running, completed, failed or cancelled"))
}

pub async fn show(Shared(state): Shared<State>, run: OwnedRun, preferences: Preferences) -> Result<Response, ApiError> {
    let details = details(&state, &run, &preferences).await?;
    answer(&RunBody::from(details)).map(|response| preferences.applied(response))
}

pub async fn cancel(
    Shared(state): Shared<State>,
    run: OwnedRun,
    preferences: Preferences,
) -> Result<Response, ApiError> {
    let cancelling = run.cancel().await?.ok_or_else(|| ApiError::no_such("run"))?;
    let details = details(&state, &run, &preferences).await?;
    let status = match cancelling {
        Cancelling::Final(_) => StatusCode::OK,
        Cancelling::Requested(_) | Cancelling::Done(_) => StatusCode::ACCEPTED,
    };
    let response = (status, answer(&RunBody::from(details))?).into_response();
    Ok(preferences.applied(response))
}

/// Returns the run as it is now, or once it is final, if that is wanted.
async fn details(state: &State, run: &OwnedRun, preferences: &Preferences) -> Result<RunDetails, ApiError> {
    match preferences.wait {
        Some(limit) => waited(state, run, limit).await,
        None => run.details().await?.ok_or_else(|| ApiError::no_such("run")),
    }
}

pub async fn notes(run: OwnedRun) -> Result<Response, ApiError> {
    answer(&ListBody::whole(run.notes().await?))
}

#[derive(Serialize)]
struct SourceBody {
    #[serde(flatten)]
    source: Source,
    /// Scopes of the researchers that met it.
    found_by: Vec<String>,
    /// Its number in the report.
    cited_as: Option<u32>,
}

pub async fn sources(run: OwnedRun) -> Result<Response, ApiError> {
    let numbers = numbers(&run).await?;
    let sources = run.sources().await?;
    answer(&ListBody::whole(sources.into_iter().map(|source| shown(source, &numbers)).collect()))
}

/// A source with its text, also where that is empty: of itself it is left out then.
#[derive(Serialize)]
struct SourceWithText {
    #[serde(flatten)]
    source: SourceBody,
    snapshot: Arc<str>,
}

/// Returns a source with the text the run saw of it, by one of its ids, with or without the `S`.
pub async fn source(SourceParameter(source_id): SourceParameter, run: OwnedRun) -> Result<Response, ApiError> {
    let mut source = run.source(source_id).await?.ok_or_else(|| ApiError::no_such("source in this run"))?;
    let snapshot = mem::take(&mut source.snapshot);
    answer(&SourceWithText { source: shown(source, &numbers(&run).await?), snapshot })
}

/// The source in the path.
#[derive(Clone, Copy, Debug)]
pub struct SourceParameter(SourceId);

impl<S: Send + Sync> FromRequestParts<S> for SourceParameter {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let text = path_text(parts, "source_id").await?;
        let digits = text.strip_prefix('S').unwrap_or(&text);
        let is_written_so = !digits.starts_with(['0', '+']);
        let number = digits.parse().ok().filter(|_| is_written_so);
        let number = number.ok_or_else(|| ApiError::parameter("source_id", "source_id must look like S1003"))?;
        Ok(Self(SourceId(number)))
    }
}

/// Returns the numbers under which the report cites its sources.
async fn numbers(run: &OwnedRun) -> Result<BTreeMap<SourceId, u32>, ApiError> {
    let citations = run.report().await?.map(|report| report.citations).unwrap_or_default();
    Ok(citations.into_iter().map(|citation| (citation.source_id, citation.number)).collect())
}

fn shown(source: Source, numbers: &BTreeMap<SourceId, u32>) -> SourceBody {
    let ids = source.ids();
    let found_by: BTreeSet<u32> = ids.map(SourceId::researcher).collect();
    SourceBody {
        found_by: found_by.into_iter().map(|number| format!("r{number}")).collect(),
        cited_as: numbers.get(&source.id).copied(),
        source,
    }
}

#[derive(Serialize)]
struct StepBody {
    key: String,
    kind: &'static str,
    request_hash: String,
    inherited: bool,
    started_at: Timestamp,
    finished_at: Timestamp,
    ms: i64,
    model: Option<String>,
    role: Option<String>,
    attempts: Option<u32>,
    usage: Option<Usage>,
}

impl From<Step> for StepBody {
    fn from(step: Step) -> Self {
        let call = step.call;
        Self {
            key: step.key,
            kind: step.kind.as_str(),
            request_hash: step.request_hash,
            inherited: step.inherited,
            started_at: step.started_at,
            finished_at: step.finished_at,
            ms: step.finished_at.since(step.started_at),
            attempts: call.as_ref().map(|call| call.attempts),
            usage: call.as_ref().map(|call| call.usage),
            role: call.as_ref().map(|call| call.role.clone()),
            model: call.map(|call| call.model),
        }
    }
}

/// Returns what its model calls took, by what they were made for.
pub async fn usage(run: OwnedRun) -> Result<Response, ApiError> {
    answer(&run.breakdown().await?)
}

pub async fn steps(run: OwnedRun) -> Result<Response, ApiError> {
    answer(&ListBody::whole(run.steps().await?.into_iter().map(StepBody::from).collect()))
}
