//! Metrics: every series by name, unit and label, described once; rooms call the functions, the handler of `/metrics`
//! calls [`Metrics::render`].
//!
//! Labels are bounded: no ids, no free text, and only so many models. Before [`Metrics::install`] all of it is nothing.

use std::{collections::HashSet, sync::OnceLock, time::Duration};

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::domain::{FailureCode, ModelName, Usage};

/// The names of the series. A test holds the documentation to them.
pub mod name {
    pub const RUNS: &str = "fathom_runs_total";
    pub const RUNS_ACTIVE: &str = "fathom_runs_active";
    pub const RUNS_STUCK: &str = "fathom_runs_stuck";
    pub const RUNS_QUEUED: &str = "fathom_runs_queued";
    pub const QUEUE_WAIT: &str = "fathom_queue_wait_seconds";
    pub const RUN_DURATION: &str = "fathom_run_duration_seconds";
    pub const STEP_DURATION: &str = "fathom_step_duration_seconds";
    pub const STEP_ERRORS: &str = "fathom_step_errors_total";
    pub const MODEL_CALLS: &str = "fathom_model_calls_total";
    pub const MODEL_CALL_DURATION: &str = "fathom_model_call_duration_seconds";
    pub const TOKENS: &str = "fathom_tokens_total";
    pub const COST: &str = "fathom_cost_dollars_total";
    pub const SEARCHES: &str = "fathom_search_calls_total";
    pub const PARSERS_ENDED: &str = "fathom_parsers_ended_total";
    pub const SSE_READERS: &str = "fathom_sse_readers";
    pub const EVENT_LAG: &str = "fathom_event_lag_seconds";
    pub const READY: &str = "fathom_ready";
    pub const DB_CONNECTIONS: &str = "fathom_db_pool_connections";
    pub const HTTP_REQUESTS: &str = "fathom_http_requests_total";
    pub const HTTP_DURATION: &str = "fathom_http_request_duration_seconds";
}

/// Other models than the first so many of a process are counted together, because anybody may name any.
const MODELS: usize = 100;
const TOKEN_TYPES: [&str; 4] = ["input", "cached", "output", "reasoning"];
/// The result of a call that went well.
pub const OK: &str = "ok";
/// Histograms keep every value until they are tended or rendered.
const TENDING: Duration = Duration::from_secs(5);

/// The buckets of what takes milliseconds: requests, steps, deliveries.
const SHORT: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// The buckets of what takes seconds to hours: model calls, steps, runs, waits in the queue.
const LONG: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0];

static INSTALLED: OnceLock<Result<Metrics, String>> = OnceLock::new();

/// Why a parser process ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParserEnd {
    Timeout,
    Memory,
    Nesting,
    Crash,
    Killed,
    Nonsense,
    Stopped,
}

impl ParserEnd {
    const ALL: [Self; 7] =
        [Self::Timeout, Self::Memory, Self::Nesting, Self::Crash, Self::Killed, Self::Nonsense, Self::Stopped];

    fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Nesting => "nesting",
            Self::Crash => "crash",
            Self::Killed => "killed",
            Self::Nonsense => "nonsense",
            Self::Stopped => "stopped",
        }
    }
}

/// The metrics of this process; a cheap clone.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Metrics {
    /// Begins to count. Installed again, the first ones are returned.
    ///
    /// # Errors
    /// Another recorder was installed in this process; one sentence.
    pub fn install() -> Result<Self, String> {
        let install = || {
            let recorder = builder().map_err(|error| error.to_string())?.build_recorder();
            let handle = recorder.handle();
            metrics::set_global_recorder(recorder).map_err(|error| error.to_string())?;
            describe();
            begin_at_zero();
            Ok(Self(handle))
        };
        INSTALLED.get_or_init(install).clone()
    }

    /// Returns the metrics of this process, once they are installed.
    pub fn installed() -> Option<Self> {
        INSTALLED.get()?.clone().ok()
    }

    /// Returns all series as Prometheus reads them (text format 0.0.4).
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Keeps the memory of histograms small until `shutdown`; somebody has to, since nobody may ever ask for them.
    pub async fn tend(&self, shutdown: &CancellationToken) {
        let mut ticks = tokio::time::interval(TENDING);
        // Losing the arm loses a tick.
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            self.0.run_upkeep();
        }
    }
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    let full = |name: &str| Matcher::Full(name.to_owned());
    [name::HTTP_DURATION, name::EVENT_LAG]
        .map(|name| (name, SHORT))
        .into_iter()
        .chain(
            [name::QUEUE_WAIT, name::RUN_DURATION, name::STEP_DURATION, name::MODEL_CALL_DURATION]
                .map(|name| (name, LONG)),
        )
        .try_fold(PrometheusBuilder::new(), |builder, (name, buckets)| {
            builder.set_buckets_for_metric(full(name), buckets)
        })
}

fn describe() {
    describe_counter!(name::RUNS, "Runs that ended, by outcome and, when they failed, error");
    describe_gauge!(name::RUNS_ACTIVE, "Runs this process works on");
    describe_gauge!(name::RUNS_STUCK, "Runs of this process that are at work and have stored nothing for too long");
    describe_gauge!(name::RUNS_QUEUED, "Runs that wait, over all processes");
    describe_histogram!(name::QUEUE_WAIT, Unit::Seconds, "From a run's creation to its first claim");
    describe_histogram!(name::RUN_DURATION, Unit::Seconds, "From a run's first claim to its end, by outcome");
    describe_histogram!(
        name::STEP_DURATION,
        Unit::Seconds,
        "Work of journal steps, by kind; replayed ones do not count"
    );
    describe_counter!(name::STEP_ERRORS, "Steps that failed, by kind and code");
    describe_counter!(name::MODEL_CALLS, "Model calls, retries included, by model, role and result");
    describe_histogram!(name::MODEL_CALL_DURATION, Unit::Seconds, "Model calls, retries included, by model");
    describe_counter!(name::TOKENS, "Tokens by model and type; cached ones are input too, reasoning ones output");
    describe_gauge!(name::COST, "Dollars spent since the start, by model, as far as prices are known; only grows");
    describe_counter!(name::SEARCHES, "Searches by engine and result");
    describe_counter!(name::PARSERS_ENDED, "Parser processes that a document or page ended, by reason");
    describe_gauge!(name::SSE_READERS, "Event streams that are open");
    describe_histogram!(
        name::EVENT_LAG,
        Unit::Seconds,
        "From an event to when the readers that wait for it can have it"
    );
    describe_gauge!(name::READY, "1 when a check of /readyz is ok, by check; 0 when it is not");
    describe_gauge!(name::DB_CONNECTIONS, "Connections of the pool, by state");
    describe_counter!(name::HTTP_REQUESTS, "Requests by route, method and status");
    describe_histogram!(name::HTTP_DURATION, Unit::Seconds, "From a request to its response's head, by route");
}

/// Makes series whose labels are known before anything happens: an alert on one that is missing would otherwise speak
/// of a quiet service, and the first failure would be no increase.
fn begin_at_zero() {
    gauge!(name::RUNS_ACTIVE).set(0.0);
    gauge!(name::RUNS_STUCK).set(0.0);
    for outcome in ["report", "answer", "clarification", "cancelled"] {
        counter!(name::RUNS, "outcome" => outcome, "error" => "").absolute(0);
    }
    for error in FailureCode::ALL {
        counter!(name::RUNS, "outcome" => "failed", "error" => error.as_str()).absolute(0);
    }
    for end in ParserEnd::ALL {
        counter!(name::PARSERS_ENDED, "reason" => end.as_str()).absolute(0);
    }
}

/// Makes the series of what the service is to use: its models, each with its role, and its search engines.
pub fn expect(models: impl Iterator<Item = (&'static str, ModelName)>, engines: impl Iterator<Item = &'static str>) {
    for (role, model) in models {
        let model = bounded(&model);
        counter!(name::MODEL_CALLS, "model" => model.clone(), "role" => role, "result" => OK).absolute(0);
        for kind in TOKEN_TYPES {
            counter!(name::TOKENS, "model" => model.clone(), "type" => kind).absolute(0);
        }
    }
    for engine in engines {
        counter!(name::SEARCHES, "engine" => engine, "result" => OK).absolute(0);
    }
}

/// Counts a run as active until it is dropped.
#[derive(Debug)]
pub struct ActiveRun(());

impl ActiveRun {
    /// Counts a run that is at work; `waited` is the time since it was created, when this is its first claim.
    pub fn begin(waited: Option<Duration>) -> Self {
        gauge!(name::RUNS_ACTIVE).increment(1.0);
        if let Some(waited) = waited {
            histogram!(name::QUEUE_WAIT).record(waited);
        }
        Self(())
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        gauge!(name::RUNS_ACTIVE).decrement(1.0);
    }
}

/// Counts a run that became final; `error` is the code of a failure.
pub fn run_ended(outcome: &'static str, error: Option<&'static str>, duration: Duration) {
    counter!(name::RUNS, "outcome" => outcome, "error" => error.unwrap_or("")).increment(1);
    histogram!(name::RUN_DURATION, "outcome" => outcome).record(duration);
}

/// Sets how many runs wait, before rendering.
pub fn runs_queued(count: u64) {
    gauge!(name::RUNS_QUEUED).set(count as f64);
}

/// Sets how many runs of this process seem to be stuck.
pub fn runs_stuck(count: usize) {
    gauge!(name::RUNS_STUCK).set(count as f64);
}

/// Records whether a check of the readiness is ok; set before rendering.
pub fn ready(check: &'static str, is_ok: bool) {
    gauge!(name::READY, "check" => check).set(if is_ok { 1.0 } else { 0.0 });
}

/// Sets how many connections to the database there are now, before rendering.
pub fn db_pool(idle: u32, used: u32) {
    gauge!(name::DB_CONNECTIONS, "state" => "idle").set(idle);
    gauge!(name::DB_CONNECTIONS, "state" => "used").set(used);
}

/// Records the work of a step, whatever came of it; `kind` is one of the journal's few.
pub fn step_done(kind: &str, duration: Duration) {
    histogram!(name::STEP_DURATION, "kind" => kind.to_owned()).record(duration);
}

pub fn step_failed(kind: &str, code: &'static str) {
    counter!(name::STEP_ERRORS, "kind" => kind.to_owned(), "code" => code).increment(1);
}

/// Counts a model call; `result` is [`OK`], `cancelled` or the code of a failure.
pub fn model_called(model: &ModelName, role: &'static str, result: &'static str, duration: Duration) {
    let model = bounded(model);
    counter!(name::MODEL_CALLS, "model" => model.clone(), "role" => role, "result" => result).increment(1);
    histogram!(name::MODEL_CALL_DURATION, "model" => model).record(duration);
}

/// Counts tokens, and what they cost when that is known.
pub fn tokens(model: &ModelName, usage: &Usage) {
    if let Some(cost) = usage.cost {
        gauge!(name::COST, "model" => bounded(model)).increment(cost.dollars());
    }
    let model = bounded(model);
    let counts = [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens];
    for (kind, count) in TOKEN_TYPES.into_iter().zip(counts) {
        counter!(name::TOKENS, "model" => model.clone(), "type" => kind).increment(count);
    }
}

/// Counts a query that one engine was asked; `result` is [`OK`] or the code of a failure.
pub fn searched(engine: &'static str, result: &'static str) {
    counter!(name::SEARCHES, "engine" => engine, "result" => result).increment(1);
}

/// Counts a parser that ended before its time.
pub fn parser_ended(end: ParserEnd) {
    counter!(name::PARSERS_ENDED, "reason" => end.as_str()).increment(1);
}

/// Records how many event streams are open at the moment; set before rendering.
pub fn sse_readers(open: usize) {
    gauge!(name::SSE_READERS).set(open as f64);
}

/// Records the time from an event to when the readers that wait for it can have it.
pub fn event_delivered(lag: Duration) {
    histogram!(name::EVENT_LAG).record(lag);
}

/// Counts an answered request, and records its time; `route` is the router's pattern, never the path itself.
pub fn http_request(route: &str, method: &'static str, status: u16, duration: Duration) {
    let route = route.to_owned();
    let labels = [("route", route.clone()), ("method", method.to_owned()), ("status", status.to_string())];
    counter!(name::HTTP_REQUESTS, &labels).increment(1);
    histogram!(name::HTTP_DURATION, "route" => route).record(duration);
}

/// Returns the model as a label.
fn bounded(model: &ModelName) -> String {
    static KNOWN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    within(KNOWN.lock().get_or_insert_default(), model.to_string())
}

fn within(known: &mut HashSet<String>, name: String) -> String {
    if known.contains(&name) || known.len() < MODELS {
        known.insert(name.clone());
        return name;
    }
    "other".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Cost;

    #[test]
    fn labels_of_models_are_bounded() {
        let mut known = HashSet::new();
        for number in 0..MODELS {
            assert_eq!(within(&mut known, format!("openai:{number}")), format!("openai:{number}"));
        }
        assert_eq!(within(&mut known, "openai:one-more".to_owned()), "other");
        assert_eq!(within(&mut known, "openai:7".to_owned()), "openai:7");
    }

    #[test]
    fn metrics_are_installed_once_and_had_again() {
        let model: ModelName = "openai:priced".parse().unwrap();
        let first = Metrics::install().unwrap();
        let second = Metrics::install().unwrap();
        let cost = Cost::reported(2.5);
        let usage = Usage { input_tokens: 500_000, output_tokens: 1_000_000, cost, ..Usage::default() };
        tokens(&model, &usage);
        http_request("/api/v1/runs/{id}", "GET", 200, Duration::from_millis(3));
        for text in [first.render(), second.render()] {
            for line in [
                "fathom_tokens_total{model=\"openai:priced\",type=\"output\"} 1000000",
                "fathom_cost_dollars_total{model=\"openai:priced\"} 2.5",
                "fathom_http_requests_total{route=\"/api/v1/runs/{id}\",method=\"GET\",status=\"200\"} 1",
                "fathom_http_request_duration_seconds_bucket{route=\"/api/v1/runs/{id}\",le=\"0.005\"} 1",
            ] {
                assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
            }
        }
    }
}
