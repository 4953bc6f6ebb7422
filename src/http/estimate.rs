//! What a run would take, before it is started.

use axum::{extract::State as Shared, response::Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    State,
    error::ApiError,
    extract::{JsonBody, keys},
    json::answer,
};
use crate::domain::{Caller, GivenKeys};

/// The request of an estimate, as of a new thread. The words of the question do not matter yet, so it may be left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateBody {
    message: Option<String>,
    #[serde(default)]
    options: Map<String, Value>,
    #[serde(default, deserialize_with = "keys")]
    api_keys: GivenKeys,
}

pub async fn show(
    Shared(state): Shared<State>,
    caller: Caller,
    body: JsonBody<EstimateBody>,
) -> Result<Response, ApiError> {
    let EstimateBody { message, options, api_keys } = body.value;
    let estimate = state.runs.estimate(&caller, message.as_deref(), &options, &api_keys).await;
    answer(&estimate.map_err(|refusal| ApiError::refused(refusal, "/message"))?)
}
