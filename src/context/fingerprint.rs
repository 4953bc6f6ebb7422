//! How the journal knows a model call again.

use serde_json::json;

use super::Role;
use crate::{
    domain::{Evidence, digest},
    journal::Fingerprint,
    llm::{self, OutputFormat, Request},
    offline::Task,
};

/// Makes the fingerprint by which the journal recognises a model call: by the whole request, and by what it is about.
/// The latter leaves out our own words, the model and its limits, and for an agent's turn also what came before: that
/// turn was answered once, and its answer counts although another one might be given today. What is made of the
/// findings has to rest on the same ones.
pub(super) fn of(role: Role, request: &Request, task: &Task) -> Fingerprint {
    let form = match &request.output {
        OutputFormat::Text => None,
        OutputFormat::JsonSchema { name, .. } => Some(name),
    };
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let about = match task {
        Task::Other | Task::Clarify | Task::FollowUp => json!(null),
        Task::Answer { message } => json!({"answer": message}),
        Task::Brief { question } => json!({"brief": question}),
        Task::Supervise { brief, round } => json!({"supervise": brief, "round": round}),
        Task::Research { topic, turn, .. } => json!({"research": topic, "turn": turn}),
        Task::Summarise { question, page } => {
            json!({"summarise": digest::sha256_hex(page.as_bytes()), "for": question})
        }
        Task::Verify { statements } => json!({"verify": statements}),
        Task::Compress { topic, evidence } => json!({"compress": topic, "evidence": shown(evidence)}),
        Task::Report { brief, findings, sources, limits } => {
            let findings: Vec<_> = findings.iter().map(|finding| (&finding.topic, &finding.text)).collect();
            json!({"report": brief, "findings": findings, "sources": shown(sources), "limits": limits})
        }
    };
    let is_text = matches!(task, Task::Other | Task::Answer { .. } | Task::Compress { .. } | Task::Report { .. });
    let said: Vec<&str> = if is_text { request.messages.iter().filter_map(said).collect() } else { Vec::new() };
    Fingerprint {
        request: digest::sha256_json(request),
        inputs: digest::sha256_json(&(role.as_str(), form, request.tool_choice, tools, about, said)),
    }
}

fn shown(evidence: &[Evidence]) -> Vec<(String, &str)> {
    evidence.iter().map(|evidence| (evidence.source_id.to_string(), evidence.text.as_str())).collect()
}

/// Returns what the model said before: pieces of the text that is being written, or what a researcher's notes are made
/// of.
fn said(message: &llm::Message) -> Option<&str> {
    match message {
        llm::Message::Assistant { content, .. } => Some(content),
        _ => None,
    }
}
