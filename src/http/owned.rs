//! Who asks, and the threads, runs and collections that are theirs: handlers name what they touch, and what belongs to
//! another owner is not found. No handler takes a bare id of these; other ids mean something beside their thread, or
//! to administrators.

use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use super::{State, audit, error::ApiError, extract::path_id, proxy::Named};
use crate::{
    auth::Principal,
    config::Authentication,
    domain::{ApiKeyId, Caller, CollectionId, DocumentId, KeyScope, Owner, Reach, RunId, ShareId, ThreadId},
    runs::{OwnedCollection, OwnedRun, OwnedThread},
};

impl FromRequestParts<State> for Caller {
    type Rejection = Infallible;

    /// Returns the owner of the key that came, or the user that a trusted proxy named. Without either it is the one
    /// user of this machine.
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Infallible> {
        if let Some(principal) = parts.extensions.get::<Principal>() {
            let reach = if principal.key.scope == KeyScope::Admin { Reach::Shared } else { Reach::Own };
            return Ok(Self { owner: principal.owner().clone(), reach, key: Some(Arc::clone(&principal.key)) });
        }
        let owner = parts.extensions.get::<Named>().map_or_else(Owner::local, |named| named.0.clone());
        let reach = keyless_reach(state.settings.authentication, state.settings.separate_owners);
        Ok(Self { owner, reach, key: None })
    }
}

/// Returns what a caller without a key may see. Keys are asked for below `/api/` alone (`auth.rs`): a route beside it
/// must not show everybody's.
fn keyless_reach(authentication: Authentication, separate_owners: bool) -> Reach {
    match authentication {
        Authentication::None if !separate_owners => Reach::Shared,
        Authentication::None | Authentication::Keys => Reach::Own,
    }
}

/// The thread in the path, if it is the caller's.
impl FromRequestParts<State> for OwnedThread {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let thread_id = ThreadId(path_id(parts, "id").await?);
        let Ok(caller) = Caller::from_request_parts(parts, state).await;
        let thread = state.runs.thread(&caller, thread_id).await?.ok_or_else(|| ApiError::no_such("thread"))?;
        audit::foreign(parts, &caller, thread.owner());
        Ok(thread)
    }
}

/// The run in the path, if it is the caller's.
impl FromRequestParts<State> for OwnedRun {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let run_id = RunId(path_id(parts, "id").await?);
        let Ok(caller) = Caller::from_request_parts(parts, state).await;
        let run = state.runs.run(&caller, run_id).await?.ok_or_else(|| ApiError::no_such("run"))?;
        audit::foreign(parts, &caller, run.owner());
        Ok(run)
    }
}

/// The collection in the path, if it is the caller's.
impl FromRequestParts<State> for OwnedCollection {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let id = CollectionId(path_id(parts, "id").await?);
        let Ok(caller) = Caller::from_request_parts(parts, state).await;
        let collection = state.runs.collection(&caller, id).await?.ok_or_else(|| ApiError::no_such("collection"))?;
        audit::foreign(parts, &caller, collection.owner());
        Ok(collection)
    }
}

impl FromRequestParts<State> for DocumentId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, ApiError> {
        path_id(parts, "document_id").await.map(Self)
    }
}

impl FromRequestParts<State> for ShareId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, ApiError> {
        path_id(parts, "share_id").await.map(Self)
    }
}

impl FromRequestParts<State> for ApiKeyId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, ApiError> {
        path_id(parts, "key_id").await.map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_key_where_one_is_asked_for_nobody_sees_what_others_have() {
        for separate_owners in [false, true] {
            assert_eq!(keyless_reach(Authentication::Keys, separate_owners), Reach::Own);
        }
        assert_eq!(keyless_reach(Authentication::None, true), Reach::Own);
        assert_eq!(keyless_reach(Authentication::None, false), Reach::Shared);
    }
}
