//! What was used: by day or month, and by what it was for; for administrators by owner.

use axum::{extract::State as Shared, http::Uri, response::Response};
use serde::Serialize;

use super::{State, audit, error::ApiError, extract::Query, json::answer};
use crate::{
    domain::{Caller, Owner, Timestamp},
    runs::{OwnerUsage, Period, PeriodBreakdown, UsageFilter},
};

#[derive(Serialize)]
struct UsageBody {
    by: &'static str,
    from: String,
    to: String,
    data: Vec<OwnerUsage>,
}

#[derive(Serialize)]
struct BreakdownBody {
    from: String,
    to: String,
    #[serde(flatten)]
    used: PeriodBreakdown,
}

pub async fn show(Shared(state): Shared<State>, caller: Caller, uri: Uri, query: Query) -> Result<Response, ApiError> {
    let by = match query.text("by") {
        None => Period::default(),
        Some(name) => Period::parse(name).ok_or_else(|| ApiError::parameter("by", "by must be day or month"))?,
    };
    let Days { from, to } = Days::asked(&query, by)?;
    let filter = UsageFilter { owner: owner(&query)?, from, to: to.next_day() };
    audit::list(&caller, filter.owner.as_ref(), &uri);
    let data = state.runs.usage(&caller, filter, by).await?.ok_or_else(too_much)?;
    answer(&UsageBody { by: by.as_str(), from: from.to_date(), to: to.to_date(), data })
}

pub async fn breakdown(
    Shared(state): Shared<State>,
    caller: Caller,
    uri: Uri,
    query: Query,
) -> Result<Response, ApiError> {
    let Days { from, to } = Days::asked(&query, Period::default())?;
    let filter = UsageFilter { owner: owner(&query)?, from, to: to.next_day() };
    audit::list(&caller, filter.owner.as_ref(), &uri);
    let used = state.runs.breakdown(&caller, filter).await?.ok_or_else(too_much)?;
    answer(&BreakdownBody { from: from.to_date(), to: to.to_date(), used })
}

fn too_much() -> ApiError {
    ApiError::parameter("from", "that is too much to be summed up at once; ask for a shorter time")
}

/// The first day and the last.
struct Days {
    from: Timestamp,
    to: Timestamp,
}

impl Days {
    fn asked(query: &Query, by: Period) -> Result<Self, ApiError> {
        let to = date(query, "to")?.unwrap_or_else(|| Timestamp::now().day());
        let from = date(query, "from")?.unwrap_or_else(|| by.usual_start(to));
        match from > to {
            true => Err(ApiError::parameter("from", "from must not be later than to")),
            false => Ok(Self { from, to }),
        }
    }
}

/// Returns whose use is asked for.
fn owner(query: &Query) -> Result<Option<Owner>, ApiError> {
    let owner = query.text("owner");
    if owner.is_some_and(|name| name.chars().count() > Owner::MAX_CHARS) {
        return Err(ApiError::parameter("owner", format!("owner may have {} characters", Owner::MAX_CHARS)));
    }
    Ok(owner.map(str::trim).filter(|name| !name.is_empty()).map(Owner::named))
}

/// Returns the beginning of the day that a parameter names.
fn date(query: &Query, name: &str) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = query.text(name) else { return Ok(None) };
    let date = Timestamp::of_date(text).filter(|date| (0..253_402_300_800_000).contains(&date.0));
    let detail = || format!("{name} must be a date such as 2026-11-21, from 1970-01-01 to 9999-12-31");
    date.map(Some).ok_or_else(|| ApiError::parameter(name, detail()))
}
