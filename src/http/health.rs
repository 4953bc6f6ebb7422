//! For those who operate the service: is it alive, can it work, how is it doing.

use std::time::Duration;

use axum::{
    extract::State as Shared,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{State, error::ApiError, json::answer};
use crate::{
    runs::Database,
    telemetry::metrics::{self, Metrics},
};

/// The claim loop looks every second; silent for this long it is stuck, or the database is away.
const CLAIM_SILENCE: Duration = Duration::from_secs(10);
/// Readiness is asked for often, so the database is not waited for long.
const PING_TIME: Duration = Duration::from_secs(2);

const OK: &str = "ok";

#[derive(Serialize)]
struct AliveBody {
    status: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct ReadyBody {
    status: &'static str,
    checks: Checks,
}

/// Each `ok`, or what is wrong.
#[derive(Serialize)]
struct Checks {
    database: String,
    claim_loop: String,
    shutdown: String,
}

pub async fn alive() -> Result<Response, ApiError> {
    answer(&AliveBody { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

pub async fn ready(Shared(state): Shared<State>) -> Result<Response, ApiError> {
    let checks = checks(&state).await;
    let ready = checks.by_name().into_iter().all(|(_, check)| check == OK);
    let (code, status) = if ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "not ready") };
    Ok((code, answer(&ReadyBody { status, checks })?).into_response())
}

/// Makes the checks, and shows in the metrics what came of them.
async fn checks(state: &State) -> Checks {
    let database = in_time(database(state)).await;
    let claim_loop = match state.runs.last_look() {
        Some(age) if age < CLAIM_SILENCE => OK.to_owned(),
        Some(age) => format!("silent for {} s", age.as_secs()),
        None => "not started".to_owned(),
    };
    let shutdown = if state.shutdown.is_cancelled() { "stopping" } else { OK };
    let checks = Checks { database: database.to_owned(), claim_loop, shutdown: shutdown.to_owned() };
    checks.by_name().into_iter().for_each(|(name, check)| metrics::ready(name, check == OK));
    checks
}

/// Returns what the check of the database finds, or in time that it does not answer.
async fn in_time(check: impl Future<Output = &'static str>) -> &'static str {
    tokio::time::timeout(PING_TIME, check).await.unwrap_or_else(|_| {
        let error = format!("no answer, or no free connection, within {} s", PING_TIME.as_secs());
        tracing::warn!(%error, "the database does not answer");
        "does not answer"
    })
}

impl Checks {
    fn by_name(&self) -> [(&'static str, &str); 3] {
        [("database", &self.database), ("claim_loop", &self.claim_loop), ("shutdown", &self.shutdown)]
    }
}

async fn database(state: &State) -> &'static str {
    match state.runs.database().await {
        Database::Fine => OK,
        Database::Away => "does not answer",
        Database::LacksMigrations => "migrations are missing",
        Database::TooNew => "needs a newer release",
        Database::ReadOnly => "takes no writes",
        Database::Displaced => "its file is not in its place",
    }
}

/// Answers with the metrics in Prometheus' text format.
pub async fn metrics(Shared(state): Shared<State>) -> Response {
    let streams = state.settings.max_streams - state.streams.available_permits();
    metrics::sse_readers(streams);
    let (idle, used) = state.runs.connections();
    metrics::db_pool(idle, used);
    // A database that is away has no queue to count; the last number stays.
    let load = tokio::time::timeout(PING_TIME, state.runs.load());
    if let (Ok(Ok(load)), _) = tokio::join!(load, checks(&state)) {
        metrics::runs_queued(load.queued);
    }
    let text = Metrics::installed().map(|metrics| metrics.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::logged::Logged;

    #[tokio::test(start_paused = true)]
    async fn a_database_that_does_not_answer_in_time_is_logged_with_the_reason() {
        let logged = Logged::begin();
        assert_eq!((in_time(std::future::ready(OK)).await, logged.take()), (OK, String::new()));
        assert_eq!(in_time(std::future::pending()).await, "does not answer");
        let expected = "the database does not answer error=no answer, or no free connection, within 2 s\n";
        let logged = logged.take();
        assert!(logged.contains(" WARN ") && logged.ends_with(expected), "{logged}");
    }
}
