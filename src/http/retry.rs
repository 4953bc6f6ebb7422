//! A run that failed or was cancelled is tried again: a new run goes on from what it had.

use axum::{extract::State as Shared, http::StatusCode, response::Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    State,
    error::ApiError,
    extract::{Id, OptionalBody, Wishes},
    runs::RunBody,
    threads::{Form, created, gone, json, keep, queued, waited},
};
use crate::{
    domain::RunId,
    runs::{Accepted, FirstAnswer, Retry},
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryBody {
    #[serde(default)]
    options: Map<String, Value>,
}

pub async fn retry(
    Shared(state): Shared<State>,
    Id(run_id): Id<RunId>,
    wishes: Wishes,
    form: Form,
    body: OptionalBody<RetryBody>,
) -> Result<Response, ApiError> {
    let key = wishes.key(&format!("POST /api/v1/runs/{run_id}/retry"), &body.bytes);
    let retry = Retry { run_id, options: body.value.options, owner: wishes.owner.clone(), key: key.clone() };
    match state.runs.retry(retry).await.map_err(|refusal| ApiError::refused(refusal, ""))? {
        Accepted::New { run, position, .. } => {
            let mut details = queued(*run, position);
            if let Some(patience) = wishes.wait {
                details = waited(&state, details, patience).await?;
            }
            let id = details.run.id;
            let body = json(&RunBody::from(details))?;
            keep(&state, &wishes, key.as_ref(), &body).await;
            Ok(wishes.applied(answered(&state, form, id, body, false).await?))
        }
        Accepted::Before(first) => retried_before(&state, form, first).await,
    }
}

async fn retried_before(state: &State, form: Form, first: FirstAnswer) -> Result<Response, ApiError> {
    let body = match first.response {
        Some(body) => body,
        None => json(&RunBody::from(state.runs.details(first.run_id).await?.ok_or_else(gone)?))?,
    };
    answered(state, form, first.run_id, body, true).await
}

async fn answered(
    state: &State,
    form: Form,
    run_id: RunId,
    body: String,
    replayed: bool,
) -> Result<Response, ApiError> {
    let body = form.of(state, run_id, body).await?;
    Ok(created(StatusCode::ACCEPTED, &format!("/api/v1/runs/{run_id}"), body, replayed))
}
