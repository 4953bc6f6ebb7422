//! A message in a thread that has a report: is it answered from what is there, the report revised, or more researched?

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Conversation, citations,
    earlier::{EarlierFindings, LeftOpen},
    material,
    questions::Judged,
    writer::{self, About},
};
use crate::{
    context::{Cx, Error, Form, Role},
    domain::{Event, FailureCode, FollowUpAction, Message, MessageRole, Source, SourceId, WarningCode, report::Report},
    llm::{self, Text},
    offline::{self, Task},
    prompts::{Flexible, untrusted},
};

#[derive(Debug, Deserialize)]
struct FollowUp {
    action: FollowUpAction,
    #[serde(default)]
    reason: String,
}

/// Has the model decide what the newest message needs.
///
/// A model that cannot answer in the asked form costs research, not the run.
///
/// # Errors
/// Model calls that fail for other reasons.
pub async fn decide(cx: &Cx, conversation: &Conversation, known: &EarlierFindings) -> Result<FollowUpAction, Error> {
    if cx.options().final_report_model.first().is_offline() {
        let (action, reason) = match offline::declined(newest(conversation)) {
            Some(_) => (FollowUpAction::Answer, "The offline model cannot do this, and says so."),
            None => (
                FollowUpAction::Research,
                "The offline model can neither answer nor rewrite; it quotes what is searched.",
            ),
        };
        return decided(cx, action, Some(reason.to_owned())).await;
    }
    let (action, reason) = match ask(cx, conversation, known).await {
        Ok(FollowUp { action, reason }) => (action, Some(reason).filter(|reason| !reason.trim().is_empty())),
        Err(Error::Failed(failure)) if failure.code == FailureCode::ModelOutput => {
            let detail = format!("what the message needs could not be decided, so it is researched: {failure}");
            cx.warn("follow_up/failed", WarningCode::StructuredOutputFailed, detail).await?;
            (FollowUpAction::Research, None)
        }
        Err(error) => return Err(error),
    };
    decided(cx, action, reason).await
}

async fn decided(cx: &Cx, action: FollowUpAction, reason: Option<String>) -> Result<FollowUpAction, Error> {
    cx.mark("follow_up/decided", Event::FollowUpDecided { action, reason }).await?;
    Ok(action)
}

async fn ask(cx: &Cx, conversation: &Conversation, known: &EarlierFindings) -> Result<FollowUp, Error> {
    let message = llm::Message::User { content: prompt(cx, "follow_up", conversation, known).await? };
    let request = cx.request(Role::Research, vec![message], Task::FollowUp);
    let schema = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["answer", "revise", "research"]},
            "reason": {"type": "string"},
        },
        "required": ["action", "reason"],
        "additionalProperties": false,
    });
    cx.ask_structured("follow_up", Role::Research, request, Form { name: "FollowUp", schema: schema.into() }, None)
        .await
}

/// Answers the newest message from the earlier findings.
///
/// # Errors
/// As [`writer::write`].
pub async fn answer(cx: &Cx, conversation: &Conversation, known: &EarlierFindings) -> Result<Report, Error> {
    let prompt = prompt(cx, "answer", conversation, known).await?;
    let message = newest(conversation);
    let about = About { question: message, asked: None, sub_questions: &[], contradictions: &[], before: None };
    writer::compose(cx, "answer", about, prompt, Task::Answer { message: message.to_owned() }).await
}

/// Rewrites the report as the newest message asks. What the report could not say, the new one cannot say either: code
/// takes that over and writes it under the text, of which the model knows nothing.
///
/// # Errors
/// As [`writer::write`].
pub async fn revise(cx: &Cx, conversation: &Conversation, known: &EarlierFindings) -> Result<Report, Error> {
    let prompt = prompt(cx, "revise", conversation, known).await?;
    let LeftOpen { sub_questions, contradictions, limits } = &known.standing;
    let about = About {
        question: newest(conversation),
        asked: None,
        sub_questions: &sub_questions.iter().map(Judged::before).collect::<Vec<_>>(),
        contradictions,
        before: Some(limits),
    };
    writer::compose(cx, "report", about, prompt, Task::Other).await
}

/// Returns what the user wrote last.
fn newest(conversation: &Conversation) -> &str {
    conversation.messages.last().map_or("", |message| message.content.as_str())
}

/// Renders one of the three prompts. All show the same: the conversation, the report, what it rests on, and the
/// message.
async fn prompt(cx: &Cx, name: &str, conversation: &Conversation, known: &EarlierFindings) -> Result<Text, Error> {
    let mut flexible = Flexible::default();
    let (newest, before) = conversation
        .messages
        .split_last()
        .map_or(("", [].as_slice()), |(newest, before)| (newest.content.as_str(), before));
    let report = known.texts.first().map(|(run_id, _)| *run_id);
    let line = |message: &Message| {
        let is_report = message.run_id == report && message.role == MessageRole::Assistant;
        if is_report { "AI: (the report below)".to_owned() } else { super::line(message, &mut flexible) }
    };
    let messages = before.iter().map(line).collect::<Vec<_>>().join("\n");
    let values = json!({
        "date": cx.date().await?,
        "messages": messages,
        "report": flexible.mark(untrusted(known.report())),
        "findings": material::shown(cx.prompts(), &known.notes, &mut flexible),
        "sources": sources(known),
        "message": untrusted(newest),
    });
    Ok(cx.prompts().parts(name, values, flexible))
}

/// Returns the sources under their own ids, which the report uses, and under the others that the notes use.
fn sources(known: &EarlierFindings) -> Vec<Value> {
    let noted: HashSet<SourceId> = known.notes.iter().flat_map(|note| citations::cited_ids(&note.text)).collect();
    let line = |source: &Source, id: SourceId| {
        json!({
            "id": id.to_string(),
            "number": known.numbers.get(&source.id),
            "title": untrusted(&source.title),
            "published": source.published.as_deref().map(untrusted),
        })
    };
    let lines = |source: &Source| {
        let ids = source.ids().filter(|id| *id == source.id || noted.contains(id));
        ids.map(|id| line(source, id)).collect::<Vec<_>>()
    };
    known.sources.iter().flat_map(lines).collect()
}
