//! What exactly do we look for?

use serde::Deserialize;
use serde_json::json;

use super::{Conversation, earlier::EarlierFindings, questions};
use crate::{
    context::{Cx, Error, Form, Role},
    domain::{Event, FailureCode, WarningCode},
    llm::Message,
    offline::Task,
    prompts::{Flexible, untrusted},
};

#[derive(Debug, Default, Deserialize)]
struct ResearchQuestion {
    research_brief: String,
    /// Weaker models, and those asked by older releases, list none.
    #[serde(default)]
    sub_questions: Vec<String>,
}

/// What a run is to find out.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Never empty.
    pub text: String,
    /// What it wants to know, one by one; at least one.
    pub questions: Vec<String>,
}

/// Turns the conversation into one detailed research question with its sub-questions.
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
) -> Result<Brief, Error> {
    let answer = match ask(cx, conversation, verification, known).await {
        Ok(answer) => answer,
        Err(Error::Failed(failure)) if failure.code == FailureCode::ModelOutput => {
            cx.warn("brief/failed", WarningCode::StructuredOutputFailed, failure.message).await?;
            ResearchQuestion::default()
        }
        Err(error) => return Err(error),
    };
    let own = conversation.question();
    let questions = questions::listed(answer.sub_questions, &own);
    let text = if answer.research_brief.trim().is_empty() { own } else { answer.research_brief };
    let created = Event::BriefCreated { brief: text.clone(), sub_questions: questions.clone() };
    cx.mark("brief/created", created).await?;
    Ok(Brief { text, questions })
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
            "sub_questions": {
                "type": "array",
                "items": {"type": "string"},
                "description": "what has to be known to answer it, one by one",
            },
        },
        "required": ["research_brief", "sub_questions"],
        "additionalProperties": false,
    });
    cx.ask_structured("brief", Role::Research, request, Form { name: "ResearchQuestion", schema: schema.into() }, None)
        .await
}
