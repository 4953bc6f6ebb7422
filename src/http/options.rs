//! What may be set for a run, and what this server sets by default.

use axum::{extract::State as Shared, response::Response};
use serde::Serialize;
use serde_json::Value;

use super::{State, error::ApiError, json::answer};
use crate::domain::{RunOptions, presets::Preset};

#[derive(Serialize)]
struct OptionsBody {
    /// JSON Schema, draft 2020-12.
    schema: Value,
    defaults: RunOptions,
    presets: Vec<Preset>,
}

pub async fn show(Shared(state): Shared<State>) -> Result<Response, ApiError> {
    let (schema, presets) = (state.runs.options_schema(), state.runs.presets());
    answer(&OptionsBody { schema, defaults: state.runs.default_options().clone(), presets })
}
