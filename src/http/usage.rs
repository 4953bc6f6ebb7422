//! What was used: by day or month, and for administrators by owner.

use axum::{extract::State as Shared, http::Uri, response::Response};
use serde::Serialize;

use super::{State, audit, error::ApiError, extract::Query, json::answer};
use crate::{
    domain::{Caller, Owner, Timestamp},
    runs::{OwnerUsage, Period, UsageFilter},
};

#[derive(Serialize)]
struct UsageBody {
    by: &'static str,
    from: String,
    to: String,
    data: Vec<OwnerUsage>,
}

pub async fn show(Shared(state): Shared<State>, caller: Caller, uri: Uri, query: Query) -> Result<Response, ApiError> {
    let by = match query.text("by") {
        None => Period::default(),
        Some(name) => Period::parse(name).ok_or_else(|| ApiError::parameter("by", "by must be day or month"))?,
    };
    let to = date(&query, "to")?.unwrap_or_else(|| Timestamp::now().day());
    let from = date(&query, "from")?.unwrap_or_else(|| by.usual_start(to));
    if from > to {
        return Err(ApiError::parameter("from", "from must not be later than to"));
    }
    let owner = query.text("owner");
    if owner.is_some_and(|name| name.chars().count() > Owner::MAX_CHARS) {
        return Err(ApiError::parameter("owner", format!("owner may have {} characters", Owner::MAX_CHARS)));
    }
    let owner = owner.map(str::trim).filter(|name| !name.is_empty()).map(Owner::named);
    audit::list(&caller, owner.as_ref(), &uri);
    let data = state.runs.usage(&caller, UsageFilter { owner, from, to: to.next_day() }, by).await?;
    let too_much = || ApiError::parameter("from", "that is too much to be summed up at once; ask for a shorter time");
    let data = data.ok_or_else(too_much)?;
    answer(&UsageBody { by: by.as_str(), from: from.to_date(), to: to.to_date(), data })
}

/// The beginning of the day that a parameter names.
fn date(query: &Query, name: &str) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = query.text(name) else { return Ok(None) };
    let date = Timestamp::of_date(text).filter(|date| (0..253_402_300_800_000).contains(&date.0));
    date.map(Some).ok_or_else(|| ApiError::parameter(name, format!("{name} must be a date such as 2026-11-21")))
}
