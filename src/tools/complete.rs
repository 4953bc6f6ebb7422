//! `ResearchComplete`: the agent says that it is done; taken at its word once it has worked. The supervisor says beside
//! how far the findings answer the sub-questions of the brief.

use std::{collections::BTreeMap, slice, sync::Arc};

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
    ids: Value,
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

    /// Admits every call: whatever else the arguments are, they mean the same.
    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        Ok(Admitted::new(Value::String(call.arguments.clone())))
    }

    /// Takes an agent that has worked at its word. What it says of sub-questions counts then, as far as it can be
    /// read; a replay, which makes the same calls, hears it again.
    fn call<'a>(&'a self, _cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        if site.has_worked {
            self.judgements.lock().extend(arguments.as_str().map(read).unwrap_or_default());
        }
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
        Some((sub_question, Judgement { status, ids: source_ids(&ids) }))
    };
    answers.iter().filter_map(one).collect()
}

/// Returns the ids in a text or a list of texts, of which each may hold several: `[S1001][S1002]`.
fn source_ids(given: &Value) -> Vec<SourceId> {
    let texts = given.as_array().map_or(slice::from_ref(given), Vec::as_slice).iter().filter_map(Value::as_str);
    texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter_map(source_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(status: AnswerStatus, ids: &[u32]) -> Judgement {
        Judgement { status, ids: ids.iter().map(|id| SourceId(*id)).collect() }
    }

    #[test]
    fn ids_are_read_as_models_write_them() {
        let check = |ids: &str, expected: &[u32]| {
            let said = read(&format!(r#"{{"answers": [{{"sub_question": 1, "status": "answered", "ids": {ids}}}]}}"#));
            assert_eq!(said, [(1, judgement(AnswerStatus::Answered, expected))], "{ids}");
        };
        check(r#"["S1001", "[S2]"]"#, &[1001, 2]);
        check(r#"["[S1001][S1002]", "S7, S8"]"#, &[1001, 1002, 7, 8]);
        check(r#""S1001""#, &[1001]);
        check(r#""[S1001], [S7]""#, &[1001, 7]);
        check("null", &[]);
    }

    #[test]
    fn what_is_said_of_sub_questions_is_read_as_far_as_it_can_be() {
        let said = read(
            r#"{"answers": [{"sub_question": 1, "status": "answered", "ids": ["S1001", "[S7]", "x", 7]}, {"sub_question": 2},
                {"sub_question": 3, "status": "not_found"}]}"#,
        );
        let expected =
            [(1, judgement(AnswerStatus::Answered, &[1001, 7])), (3, judgement(AnswerStatus::NotFound, &[]))];
        assert_eq!(said, expected);
        for nothing in ["", "{}", "[]", "{\"answers\": 7}", "no JSON"] {
            assert_eq!(read(nothing), [], "{nothing}");
        }
    }
}
