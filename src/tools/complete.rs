//! `ResearchComplete`: the agent says that it is done; taken at its word once it has worked. The supervisor says beside
//! how far the findings answer the sub-questions of the brief.

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt as _;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Admitted, Refusal, Site, Tool, ToolFuture, ToolOutput, no_arguments, source_id, spec};
use crate::{
    context::Cx,
    domain::{AnswerStatus, SourceId, ToolKind},
    llm::{ToolCall, ToolSpec},
    prompts::Prompts,
};

const NAME: &str = "ResearchComplete";

/// What the supervisor says of a sub-question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub status: AnswerStatus,
    /// The sources that answer it.
    pub ids: Vec<SourceId>,
}

/// What was said last of each sub-question, by its number. Locked for map access only.
type Judgements = Arc<Mutex<BTreeMap<usize, Judgement>>>;

#[derive(Debug)]
pub struct Complete {
    spec: ToolSpec,
    /// The answer to an agent with empty hands.
    nudge: String,
    judgements: Judgements,
}

#[derive(Deserialize)]
struct SubQuestionStatus {
    sub_question: usize,
    status: AnswerStatus,
    #[serde(default)]
    ids: Vec<String>,
}

impl Complete {
    /// Returns the one of an agent that judges sub-questions, into `judgements`.
    pub fn of_supervisor(prompts: &Prompts, judgements: Judgements) -> Self {
        let item = json!({
            "type": "object",
            "properties": {
                "sub_question": {"type": "integer"},
                "status": {"type": "string", "enum": AnswerStatus::NAMES},
                "ids": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["sub_question", "status", "ids"],
            "additionalProperties": false,
        });
        let description = prompts.text("tools/research_complete_supervisor.answers", ());
        let answers = json!({"type": "array", "items": item, "description": description});
        let parameters = json!({"type": "object", "properties": {"answers": answers}, "additionalProperties": false});
        let made = Self::new(prompts, "tools/research_complete_supervisor", "nudge_supervisor");
        Self { spec: ToolSpec { parameters: parameters.into(), ..made.spec }, judgements, ..made }
    }

    pub fn of_researcher(prompts: &Prompts) -> Self {
        Self::new(prompts, "tools/research_complete_researcher", "nudge_researcher")
    }

    fn new(prompts: &Prompts, description: &str, nudge: &str) -> Self {
        let spec = spec(NAME, prompts.text(description, ()), no_arguments());
        Self { spec, nudge: prompts.text(nudge, ()), judgements: Judgements::default() }
    }
}

impl Tool for Complete {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Complete
    }

    fn is_one_step(&self) -> bool {
        false
    }

    /// Admits every call: whatever else the arguments are, they mean the same. What is said of sub-questions counts
    /// even if the rest cannot be read, and a replay, which admits the same calls, hears it again.
    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let said = read(&call.arguments);
        self.judgements.lock().extend(said);
        Ok(Admitted::new(Value::Null))
    }

    fn call<'a>(&'a self, _cx: &'a Cx, site: Site<'a>, _arguments: Value) -> ToolFuture<'a> {
        let text = if site.has_worked { "" } else { &self.nudge };
        async move { Ok(ToolOutput::text(text)) }.boxed()
    }
}

/// Returns what a call says of sub-questions, as far as it can be read.
fn read(arguments: &str) -> Vec<(usize, Judgement)> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let answers = arguments["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |answer: &Value| {
        let SubQuestionStatus { sub_question, status, ids } = SubQuestionStatus::deserialize(answer).ok()?;
        Some((sub_question, Judgement { status, ids: ids.iter().filter_map(|id| source_id(id)).collect() }))
    };
    answers.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_sub_questions_is_read_as_far_as_it_can_be() {
        let said = read(
            r#"{"answers": [{"sub_question": 1, "status": "answered", "ids": ["S1001", "[S7]", "x"]}, {"sub_question": 2},
                {"sub_question": 3, "status": "not_found"}]}"#,
        );
        let judgement = |status, ids: &[u32]| Judgement { status, ids: ids.iter().map(|id| SourceId(*id)).collect() };
        let expected =
            [(1, judgement(AnswerStatus::Answered, &[1001, 7])), (3, judgement(AnswerStatus::NotFound, &[]))];
        assert_eq!(said, expected);
        for nothing in ["", "{}", "[]", "{\"answers\": 7}", "no JSON"] {
            assert_eq!(read(nothing), [], "{nothing}");
        }
    }
}
