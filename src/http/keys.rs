//! Keys of the API: listed, made and revoked by administrators.

use axum::{
    extract::State as Shared,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    State, audit,
    auth::Administrator,
    error::{ApiError, Place, escaped},
    extract::{JsonBody, Query, line},
    json::{self, ListBody},
};
use crate::{
    auth::Wanted,
    domain::{ApiKey, ApiKeyId, Caller, KeyScope, Owner, Timestamp, UseLimits, time},
};

const MAX_DAYS: u64 = 3_650;

/// What a new key is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    name: String,
    owner: String,
    #[serde(default = "write")]
    scope: KeyScope,
    #[serde(default)]
    expires_in_days: Option<u64>,
    #[serde(default)]
    limits: Map<String, Value>,
}

fn write() -> KeyScope {
    KeyScope::Write
}

/// A new key, with its secret, which is shown this once.
#[derive(Serialize)]
struct NewKeyBody {
    #[serde(flatten)]
    key: ApiKey,
    secret: String,
}

pub async fn list(
    _by: Administrator,
    Shared(state): Shared<State>,
    caller: Caller,
    uri: Uri,
    query: Query,
) -> Result<Response, ApiError> {
    audit::list(&caller, None, &uri);
    let (cursor, limit) = (query.cursor("keys")?, query.number("limit", 20, 1..=100)?);
    json::answer(&ListBody::page("keys", state.keys.list(cursor, limit).await?, |key| key))
}

pub async fn create(
    Administrator(by): Administrator,
    Shared(state): Shared<State>,
    JsonBody { value: request, .. }: JsonBody<KeyRequest>,
) -> Result<Response, ApiError> {
    let (key, secret) = state.keys.create(wanted(&request)?).await?;
    audit::key(&by, &key, "a key was made");
    let body = json::json(&NewKeyBody { key, secret })?;
    Ok((StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

pub async fn revoke(
    Administrator(by): Administrator,
    Shared(state): Shared<State>,
    id: ApiKeyId,
) -> Result<Response, ApiError> {
    let revoked = state.keys.revoke(id).await?.ok_or_else(|| ApiError::no_such("key"))?;
    if revoked.is_new {
        audit::key(&by, &revoked.what, "a key was revoked");
    }
    json::answer(&revoked.what)
}

fn wanted(request: &KeyRequest) -> Result<Wanted, ApiError> {
    let text = |pointer: &str, text: &str| line(pointer, text, "it must have");
    let days = |days: u64| match days {
        1..=MAX_DAYS => Ok(Timestamp::now().plus(time::days(days))),
        _ => {
            let detail = format!("it must be 1 to {MAX_DAYS}");
            Err(ApiError::invalid(Place::Pointer("/expires_in_days".to_owned()), detail))
        }
    };
    Ok(Wanted {
        name: text("/name", &request.name)?,
        owner: Owner::named(&text("/owner", &request.owner)?),
        scope: request.scope,
        expires_at: request.expires_in_days.map(days).transpose()?,
        limits: limits(&request.limits)?,
    })
}

/// Reads limits, each of them known and in its range.
fn limits(given: &Map<String, Value>) -> Result<UseLimits, ApiError> {
    let wrong =
        |name: &str, detail: String| ApiError::invalid(Place::Pointer(format!("/limits/{}", escaped(name))), detail);
    let mut limits = UseLimits::default();
    for (name, value) in given {
        limits.set(name, value).map_err(|expected| wrong(name, expected))?;
    }
    Ok(limits)
}
