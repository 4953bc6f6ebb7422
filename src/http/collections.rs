//! Collections of documents: made, listed, renamed, deleted. `documents.rs` has what is in them.

use axum::{
    extract::State as Shared,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;

use super::{
    State, audit,
    error::ApiError,
    extract::{JsonBody, Query, line},
    json::{self, ListBody, answer},
};
use crate::{domain::Caller, runs::OwnedCollection};

/// What a collection is called.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameBody {
    name: String,
}

impl NameBody {
    fn name(&self) -> Result<String, ApiError> {
        line("/name", &self.name, "a name has")
    }
}

pub async fn create(
    Shared(state): Shared<State>,
    caller: Caller,
    body: JsonBody<NameBody>,
) -> Result<Response, ApiError> {
    let created = state.runs.create_collection(&caller, &body.value.name()?).await;
    let collection = created.map_err(|refusal| ApiError::refused(refusal, "/name"))?;
    let location = format!("/api/v1/collections/{}", collection.id);
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::LOCATION, location)];
    Ok((StatusCode::CREATED, headers, json::json(&collection)?).into_response())
}

pub async fn list(Shared(state): Shared<State>, caller: Caller, uri: Uri, query: Query) -> Result<Response, ApiError> {
    audit::list(&caller, None, &uri);
    let (cursor, limit) = (query.cursor("collections")?, query.number("limit", 20, 1..=100)?);
    let page = state.runs.collections(&caller, cursor, limit).await?;
    answer(&ListBody::page("collections", page, |collection| collection))
}

pub async fn show(collection: OwnedCollection) -> Result<Response, ApiError> {
    answer(collection.collection())
}

pub async fn rename(collection: OwnedCollection, body: JsonBody<NameBody>) -> Result<Response, ApiError> {
    let renamed = collection.rename(&body.value.name()?).await?;
    answer(&renamed.ok_or_else(|| ApiError::no_such("collection"))?)
}

pub async fn delete(collection: OwnedCollection, caller: Caller) -> Result<StatusCode, ApiError> {
    if !collection.delete().await? {
        return Err(ApiError::no_such("collection"));
    }
    audit::collection_deleted(&caller, collection.owner(), collection.collection().id);
    Ok(StatusCode::NO_CONTENT)
}
