//! The model that is no model: `offline:extractive` answers every kind of call by splitting, ranking and quoting.
//!
//! It works from [`Request::task`] alone, never from the prompt, and is a pure function: no network, no clock, the same
//! answer each time. `plan` takes questions apart, `sentences` and `words` take texts apart, `rank` brings both
//! together, `orders` keeps out text that speaks to machines, `notes` and `report` put the rest together again.

mod notes;
mod orders;
mod phrases;
mod plan;
mod rank;
mod report;
mod sentences;
mod statements;
mod tables;
mod words;

use serde_json::{Value, json};

use super::limits::{estimate_request, estimate_tokens};
use super::{Completion, Delta, Request, StopReason, Task, ToolCall};
use crate::domain::Usage;
pub use notes::extract;

/// Names of the tools it calls, as `tools` offers them.
const DELEGATE: &str = "ConductResearch";
const COMPLETE: &str = "ResearchComplete";
const SEARCH: &str = "search_web";

/// Length of a page's summary, characters, and its number of excerpts.
const SUMMARY_CHARS: usize = 1_500;
const EXCERPTS: usize = 3;
/// Searches are tried again with a broader query up to this turn.
const LAST_SEARCH_TURN: u32 = 2;
/// Words of one piece of a streamed answer.
const PIECE_WORDS: usize = 6;

/// What an answer is made of.
enum Answer {
    Text(String),
    Calls(Vec<(&'static str, Value)>),
}

/// Answers `request` from its task; empty text for [`Task::Other`].
pub fn complete(request: &Request) -> Completion {
    let (text, tool_calls) = match answer(&request.task) {
        Answer::Text(text) => (text, Vec::new()),
        Answer::Calls(calls) => (String::new(), numbered(calls)),
    };
    let output = tool_calls
        .iter()
        .map(|call| estimate_tokens(&call.arguments))
        .fold(estimate_tokens(&text), u32::saturating_add);
    let usage =
        Usage { input_tokens: estimate_request(request).into(), output_tokens: output.into(), ..Usage::default() };
    let stop = if tool_calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
    Completion { text, tool_calls, stop, usage, attempts: 0 }
}

/// The same answer as a stream: its text a few words at a time, then its end.
pub(super) fn deltas(request: &Request) -> Vec<Delta> {
    let completion = complete(request);
    let words: Vec<&str> = completion.text.split_inclusive(' ').collect();
    let mut deltas: Vec<Delta> = words.chunks(PIECE_WORDS).map(|words| Delta::Text(words.concat())).collect();
    deltas.push(Delta::End(completion));
    deltas
}

fn answer(task: &Task) -> Answer {
    match task {
        Task::Other => Answer::Text(String::new()),
        Task::Clarify => Answer::Text(clear()),
        Task::Brief { question } => Answer::Text(json!({"research_brief": question.trim()}).to_string()),
        Task::Supervise { brief, round } => Answer::Calls(supervise(brief, *round)),
        Task::Research { topic, turn, retrieved } => Answer::Calls(research(topic, *turn, *retrieved)),
        Task::Summarise { question, page } => Answer::Text(summarise(question, page)),
        Task::Compress { topic, evidence } => Answer::Text(notes::compress(topic, evidence)),
        Task::Report { brief, findings, sources, limits } => {
            Answer::Text(report::write(brief, findings, sources, limits))
        }
    }
}

fn clear() -> String {
    let verification = "The question is researched as it was asked.";
    json!({"need_clarification": false, "question": "", "verification": verification}).to_string()
}

fn supervise(brief: &str, round: u32) -> Vec<(&'static str, Value)> {
    match round {
        0 | 1 => plan::topics(brief).into_iter().map(|topic| (DELEGATE, json!({"research_topic": topic}))).collect(),
        _ => vec![(COMPLETE, json!({}))],
    }
}

fn research(topic: &str, turn: u32, retrieved: bool) -> Vec<(&'static str, Value)> {
    match turn {
        _ if retrieved || turn > LAST_SEARCH_TURN => vec![(COMPLETE, json!({}))],
        0 | 1 => vec![(SEARCH, json!({"queries": plan::queries(topic)}))],
        _ => vec![(SEARCH, json!({"queries": [plan::broader_query(topic)]}))],
    }
}

fn summarise(question: &str, page: &str) -> String {
    let summary = extract(question, page, SUMMARY_CHARS);
    json!({"summary": summary, "key_excerpts": notes::excerpts(question, page, EXCERPTS)}).to_string()
}

fn numbered(calls: Vec<(&'static str, Value)>) -> Vec<ToolCall> {
    let call = |(index, (name, arguments)): (usize, (&str, Value))| ToolCall {
        id: format!("offline-{}", index + 1),
        name: name.to_owned(),
        arguments: arguments.to_string(),
    };
    calls.into_iter().enumerate().map(call).collect()
}
