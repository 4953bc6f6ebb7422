//! What exactly do we look for?

use serde::Deserialize;
use serde_json::json;

use super::{Conversation, earlier::EarlierFindings};
use crate::{
    context::{Cx, Error, Form, Role},
    domain::{Event, FailureCode, WarningCode},
    llm::Message,
    offline::Task,
    prompts::{Flexible, untrusted},
};

#[derive(Debug, Deserialize)]
struct ResearchQuestion {
    research_brief: String,
}

/// Turns the conversation into one detailed research question. Never empty.
///
/// A model that cannot answer in the asked form costs the brief, not the run: the user's own words take its place.
///
/// # Errors
/// Model calls that fail for other reasons.
pub async fn write(
    cx: &Cx,
    conversation: &Conversation,
    verification: Option<&str>,
    known: Option<&EarlierFindings>,
) -> Result<String, Error> {
    let brief = match ask(cx, conversation, verification, known).await {
        Ok(answer) if !answer.research_brief.trim().is_empty() => answer.research_brief,
        Ok(_) => conversation.question(),
        Err(Error::Failed(failure)) if failure.code == FailureCode::ModelOutput => {
            cx.warn("brief/failed", WarningCode::StructuredOutputFailed, failure.message).await?;
            conversation.question()
        }
        Err(error) => return Err(error),
    };
    cx.mark("brief/created", Event::BriefCreated { brief: brief.clone() }).await?;
    Ok(brief)
}

async fn ask(
    cx: &Cx,
    conversation: &Conversation,
    verification: Option<&str>,
    known: Option<&EarlierFindings>,
) -> Result<ResearchQuestion, Error> {
    let mut flexible = Flexible::default();
    let mut messages = conversation.flattened(&mut flexible);
    if let Some(verification) = verification {
        messages.push_str(&format!("\nAI: {}", untrusted(verification)));
    }
    let values = json!({"date": cx.date().await?, "messages": messages, "follow_up": known.is_some_and(|known| !known.report().is_empty())});
    let message = Message::User { content: cx.prompts().parts("brief", values, flexible) };
    let task = Task::Brief { question: conversation.question() };
    let request = cx.request(Role::Research, vec![message], task);
    let schema = json!({
        "type": "object",
        "properties": {
            "research_brief": {"type": "string", "description": "the one question that guides all research"},
        },
        "required": ["research_brief"],
        "additionalProperties": false,
    });
    cx.ask_structured("brief", Role::Research, request, Form { name: "ResearchQuestion", schema }, None).await
}
