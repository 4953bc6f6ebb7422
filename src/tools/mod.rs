//! What a model may call: specs for the wire, argument types for us, answers for the model.
//!
//! `search_web` does its work here; the supervisor's and the researcher's other tools change what the agent does next
//! and are carried out by it (`research::supervisor`, `research::researcher`).

pub mod search_web;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    llm::{ToolCall, ToolSpec},
    prompts::Prompts,
};

pub const THINK: &str = "think_tool";
pub const SEARCH: &str = "search_web";
pub const DELEGATE: &str = "ConductResearch";
pub const COMPLETE: &str = "ResearchComplete";

/// Arguments of `think_tool`.
#[derive(Debug, Deserialize)]
pub struct Think {
    pub reflection: String,
}

/// Arguments of `ConductResearch`.
#[derive(Debug, Deserialize)]
pub struct Delegate {
    pub research_topic: String,
}

/// The tools of the supervisor.
pub fn supervisor(prompts: &Prompts) -> Vec<ToolSpec> {
    let topic = property(
        "research_topic",
        prompts.text("tools/conduct_research.research_topic", ()),
        json!({"type": "string"}),
    );
    vec![
        spec(DELEGATE, prompts.text("tools/conduct_research", ()), topic),
        spec(COMPLETE, prompts.text("tools/research_complete_supervisor", ()), no_arguments()),
        think(prompts),
    ]
}

/// The tools of a researcher. `kind` is `web` or `local`.
pub fn researcher(prompts: &Prompts, kind: &str) -> Vec<ToolSpec> {
    vec![
        search_web::spec(prompts, kind),
        think(prompts),
        spec(COMPLETE, prompts.text("tools/research_complete_researcher", ()), no_arguments()),
    ]
}

/// The arguments of a call, or what is wrong with them in one sentence for the model.
///
/// # Errors
/// The sentence; the model may repair the call.
pub fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, String> {
    if let Some(problem) = &call.problem {
        return Err(problem.clone());
    }
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn think(prompts: &Prompts) -> ToolSpec {
    let reflection = property("reflection", prompts.text("tools/think_tool.reflection", ()), json!({"type": "string"}));
    spec(THINK, prompts.text("tools/think_tool", ()), reflection)
}

fn spec(name: &str, description: String, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description, parameters }
}

fn property(name: &str, description: String, mut schema: Value) -> Value {
    schema["description"] = Value::String(description);
    json!({"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": false})
}

fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}
