//! Answers as JSON, and lists a page at a time.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{error::ApiError, extract::write_cursor};
use crate::runs::Page;

/// A part of a list.
#[derive(Serialize)]
pub struct ListBody<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

impl<T> ListBody<T> {
    /// A list that is always whole.
    pub fn whole(data: Vec<T>) -> Self {
        Self { data, next_cursor: None }
    }

    /// A page of the list of that name.
    pub fn page<D>(list: &str, page: Page<D>, body: impl FnMut(D) -> T) -> Self {
        let next_cursor = page.next.map(|cursor| write_cursor(list, cursor));
        Self { data: page.items.into_iter().map(body).collect(), next_cursor }
    }
}

pub fn json(body: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(body).map_err(|error| ApiError::defect(&error))
}

/// A JSON answer with status 200.
pub fn answer(body: &impl Serialize) -> Result<Response, ApiError> {
    Ok(([(header::CONTENT_TYPE, "application/json")], json(body)?).into_response())
}
