//! A run that failed or was cancelled is tried again: a new run goes on from what it had.

use axum::{extract::State as Shared, response::Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    State,
    error::ApiError,
    extract::{OptionalBody, keys},
    started::{Started, Starter},
};
use crate::{domain::GivenKeys, runs::OwnedRun};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryBody {
    #[serde(default)]
    options: Map<String, Value>,
    #[serde(default, deserialize_with = "keys")]
    api_keys: GivenKeys,
}

pub async fn retry(
    Shared(state): Shared<State>,
    run: OwnedRun,
    starter: Starter,
    body: OptionalBody<RetryBody>,
) -> Result<Response, ApiError> {
    let key = starter.key(&format!("POST /api/v1/runs/{}/retry", run.id()), &body.bytes);
    drop(body.bytes);
    let accepted = run.retry(&body.value.options, &body.value.api_keys, key.as_ref()).await;
    let accepted = accepted.map_err(|refusal| ApiError::refused(refusal, ""))?;
    starter.answer(&state, Started::Retry, key.as_ref(), accepted).await
}
