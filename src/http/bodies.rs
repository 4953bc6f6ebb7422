//! Runs and threads as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::{
    Failure, ModelUsage, Outcome, Progress, RunDetails, RunId, RunOptions, RunStatus, Thread, ThreadId, ThreadStatus,
    Timestamp, options::OptionSpec,
};

/// A run, with what it took and where its parts are.
#[derive(Serialize)]
pub struct RunBody {
    id: RunId,
    thread_id: ThreadId,
    status: RunStatus,
    outcome: Option<Outcome>,
    error: Option<Failure>,
    options: RunOptions,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    cancel_requested: bool,
    limited_by: Option<String>,
    queue_position: Option<u64>,
    retry_of: Option<RunId>,
    progress: Progress,
    usage: UsageBody,
    links: RunLinks,
}

#[derive(Serialize)]
struct UsageBody {
    #[serde(flatten)]
    total: ModelUsage,
    by_model: BTreeMap<String, ModelUsage>,
}

#[derive(Serialize)]
struct RunLinks {
    #[serde(rename = "self")]
    own: String,
    thread: String,
    events: String,
    report: String,
    notes: String,
    sources: String,
    steps: String,
    usage: String,
    cancel: String,
    retry: String,
}

impl From<RunDetails> for RunBody {
    fn from(details: RunDetails) -> Self {
        let RunDetails { run, usage, queue_position } = details;
        Self {
            links: RunLinks::of(run.id, run.thread_id),
            id: run.id,
            thread_id: run.thread_id,
            status: run.status,
            outcome: run.outcome,
            error: run.error,
            options: run.options,
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            cancel_requested: run.cancel_requested,
            limited_by: run.limited_by,
            queue_position,
            retry_of: run.retry_of,
            progress: run.progress,
            usage: UsageBody { total: total(&usage), by_model: usage },
        }
    }
}

impl RunLinks {
    fn of(run_id: RunId, thread_id: ThreadId) -> Self {
        let path = format!("/api/v1/runs/{run_id}");
        Self {
            thread: format!("/api/v1/threads/{thread_id}"),
            events: format!("{path}/events"),
            report: format!("{path}/report"),
            notes: format!("{path}/notes"),
            sources: format!("{path}/sources"),
            steps: format!("{path}/steps"),
            usage: format!("{path}/usage"),
            cancel: format!("{path}/cancel"),
            retry: format!("{path}/retry"),
            own: path,
        }
    }
}

fn total(by_model: &BTreeMap<String, ModelUsage>) -> ModelUsage {
    by_model.values().fold(ModelUsage::default(), |mut total, usage| {
        total.calls += usage.calls;
        total.tokens += usage.tokens;
        total
    })
}

/// A thread, with the options that its runs begin with and where its parts are.
#[derive(Serialize)]
pub struct ThreadBody {
    id: ThreadId,
    status: ThreadStatus,
    title: String,
    created_at: Timestamp,
    last_seq: i64,
    latest_run_id: Option<RunId>,
    metadata: Map<String, Value>,
    options: Map<String, Value>,
    links: ThreadLinks,
}

#[derive(Serialize)]
struct ThreadLinks {
    #[serde(rename = "self")]
    own: String,
    messages: String,
    events: String,
    runs: String,
}

/// Returns options as given with a thread, each in the one form that answers have: requests may write a list of names
/// as one, or as a text.
fn spelled(given: Map<String, Value>) -> Map<String, Value> {
    let spelled = |name: &str, value: &Value| OptionSpec::find(name).and_then(|spec| spec.check(value.clone()));
    let each = given.into_iter().map(|(name, value)| (spelled(&name, &value).unwrap_or(value), name));
    each.map(|(value, name)| (name, value)).collect()
}

impl From<Thread> for ThreadBody {
    fn from(thread: Thread) -> Self {
        let path = format!("/api/v1/threads/{}", thread.id);
        let links = ThreadLinks {
            messages: format!("{path}/messages"),
            events: format!("{path}/events"),
            runs: format!("{path}/runs"),
            own: path,
        };
        Self {
            id: thread.id,
            status: thread.status,
            title: thread.title,
            created_at: thread.created_at,
            last_seq: thread.last_seq,
            latest_run_id: thread.latest_run_id,
            metadata: thread.metadata,
            options: spelled(thread.options),
            links,
        }
    }
}
