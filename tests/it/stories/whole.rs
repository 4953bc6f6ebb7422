//! A whole run as its readers see it, held still in a snapshot.

use std::collections::BTreeMap;

use fathom::domain::Event;
use serde_json::{Value, json};

use super::engine::{Story, research};
use crate::{
    database::TestDatabase,
    world::{Found, Kind, Page, Script, Shape, When, World, reply},
};

/// One researcher, so that the order is fixed; what differs from run to run is replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_log_of_a_whole_run() {
    let database = TestDatabase::sqlite();
    let script = Script::whole_run(Shape::SMALL)
        .always(When::kind(Kind::Brief), reply::brief("What pays for the tide gate of Skelderwick?"))
        .first(When::kind(Kind::Supervisor), [reply::think("One topic will do."), reply::delegate(["The tide gate."])])
        .first(When::kind(Kind::Researcher), [reply::search(["tide gate dues"])]);
    let world = World::start(script).await;
    let page = |url, title, text| Page::new(url, title, text);
    let pages = vec![
        page("https://harbour.test/dues", "Dues", "In the records of Skelderwick, dues of 4 crowns pay the gate."),
        page("https://council.test/loan", "Loan", "In the records of the council, a loan pays the rest.")
            .without_text(),
    ];
    world.web.always("", Found::Pages(pages));
    let story = research(&world, &database, &[]).await;
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("event_log_of_a_whole_run", log(&story));
        insta::assert_snapshot!("report_of_a_whole_run", story.markdown());
    });
    world.finish();
}

/// One line per event: who, type, data.
fn log(story: &Story) -> String {
    let mut ids = BTreeMap::new();
    let mut lines = String::new();
    for envelope in merged(story) {
        let mut data = envelope["data"].clone();
        settle(&mut data, &mut ids);
        let scope = envelope["scope"]["id"].as_str().or(envelope["scope"]["agent"].as_str()).unwrap_or_default();
        let name = envelope["type"].as_str().unwrap_or_default();
        lines.push_str(&format!("{scope} {name} {data}\n"));
    }
    lines
}

/// The events as JSON. How the report's text is cut depends on time: it stands in one piece, and its citations behind
/// it, where the report is finished.
fn merged(story: &Story) -> Vec<Value> {
    let (mut events, mut citations, mut delta) = (Vec::new(), Vec::new(), Value::Null);
    for envelope in story.envelopes() {
        let event = serde_json::to_value(envelope).unwrap();
        match &envelope.event {
            Event::ReportDelta { .. } if delta.is_null() => delta = event,
            Event::ReportDelta { text, .. } => {
                let whole = format!("{}{text}", delta["data"]["text"].as_str().unwrap());
                delta["data"]["text"] = json!(whole);
            }
            Event::ReportCitation { .. } => citations.push(event),
            Event::ReportFinished { .. } => {
                events.push(delta.take());
                events.append(&mut citations);
                events.push(event);
            }
            _ => events.push(event),
        }
    }
    events
}

/// Call ids become numbers in order of first use; times and sizes that depend on the date go.
fn settle(data: &mut Value, ids: &mut BTreeMap<String, usize>) {
    let Some(fields) = data.as_object_mut() else { return };
    for (name, value) in fields.iter_mut() {
        match name.as_str() {
            "tool_call_id" => {
                let next = ids.len() + 1;
                let number = *ids.entry(value.as_str().unwrap_or_default().to_owned()).or_insert(next);
                *value = json!(format!("call {number}"));
            }
            "ms" => *value = json!("(ms)"),
            "input_tokens" | "cached_tokens" => *value = json!("(tokens)"),
            _ => {}
        }
    }
}
