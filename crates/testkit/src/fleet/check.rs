//! What holds of every run that came to its end, whatever happened on the way.

use std::collections::BTreeMap;

use fathom::{
    domain::{Envelope, Event, ModelUsage, Run},
    store::Store,
};
use serde_json::Value;

/// Checks that the sums beside the run, those in its last event and those of the single calls are the sum of the
/// journal.
pub async fn check_ledger(store: &Store, run: &Run) {
    let steps = store.steps(run.id).await.expect("the journal can be read");
    let mut by_model: BTreeMap<String, ModelUsage> = BTreeMap::new();
    for call in steps.into_iter().filter(|step| !step.inherited).filter_map(|step| step.call) {
        let sum = by_model.entry(call.model).or_default();
        sum.calls += 1;
        sum.tokens += call.usage;
    }
    let details = store.details(vec![run.clone()]).await.expect("the run can be read").remove(0);
    assert_eq!(details.usage, by_model, "{}: the ledger is the sum of the journal", run.id);
    let mut total = fathom::domain::Usage::default();
    by_model.values().for_each(|of_model| total += of_model.tokens);
    let (mut counted, mut last) = (fathom::domain::Usage::default(), None);
    for envelope in store.run_events_after(run.id, 0, 100_000).await.expect("the log can be read") {
        match envelope.event {
            Event::Usage { tokens, .. } => counted += tokens,
            Event::RunCompleted { usage, .. } => last = Some(usage),
            _ => {}
        }
    }
    assert_eq!((counted, last), (total, Some(total)), "{}: the events add up", run.id);
}

/// Checks that what a reader saw is the table: from 1 on without a gap, each event once, with one end.
pub fn check_stream(seen: &[Value], table: &[Envelope]) {
    let table: Vec<Value> =
        table.iter().map(|envelope| serde_json::to_value(envelope).expect("it has a form")).collect();
    let numbers: Vec<_> = seen.iter().map(|event| event["seq"].as_i64()).collect();
    let expected: Vec<_> = (1..=table.len()).map(|seq| i64::try_from(seq).ok()).collect();
    assert_eq!(numbers, expected, "numbers without gaps");
    assert_eq!(seen, table);
    let is_end =
        |event: &&Value| ["run.completed", "run.failed", "run.cancelled"].iter().any(|end| event["type"] == *end);
    let ends: Vec<&Value> = seen.iter().filter(is_end).collect();
    assert!(ends.len() == 1 && ends.first() == seen.last().as_ref(), "one end, and it is last: {ends:?}");
}

/// Returns the process id in a worker's name (`machine/pid/start/nonce`).
pub fn worker_pid(worker: &str) -> Option<u32> {
    worker.split('/').nth(1)?.parse().ok()
}
