//! What may be set for a run, and what this server sets unless told otherwise.

use axum::{extract::State as Shared, response::Response};
use serde::Serialize;
use serde_json::Value;

use super::{State, error::ApiError, threads::answer};
use crate::domain::RunOptions;

#[derive(Serialize)]
struct OptionsBody {
    /// JSON Schema, draft 2020-12.
    schema: Value,
    defaults: RunOptions,
}

pub async fn show(Shared(state): Shared<State>) -> Result<Response, ApiError> {
    answer(&OptionsBody { schema: state.runs.options_schema(), defaults: state.runs.default_options().clone() })
}
