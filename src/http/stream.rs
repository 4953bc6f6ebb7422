//! Placeholder.
use super::{State, error::ApiError};
use axum::{extract::State as Shared, response::Response};
pub async fn thread_events(Shared(_state): Shared<State>) -> Result<Response, ApiError> {
    Err(ApiError::no_such("path"))
}
pub async fn run_events(Shared(_state): Shared<State>) -> Result<Response, ApiError> {
    Err(ApiError::no_such("path"))
}
