//! Is the question clear enough to start?

use serde::Deserialize;
use serde_json::json;

use super::Conversation;
use crate::{
    context::{Cx, Error, Form, Role},
    domain::{Event, FailureCode, WarningCode},
    llm::Message,
    offline::Task,
    prompts::Flexible,
};

/// What came out.
#[derive(Debug)]
pub enum Clarity {
    /// The run ends with this question.
    Unclear(String),
    /// Go on; with the model's restatement when it was asked.
    Clear(Option<String>),
}

#[derive(Debug, Deserialize)]
struct ClarifyWithUser {
    need_clarification: bool,
    #[serde(default)]
    question: String,
    #[serde(default)]
    verification: String,
}

/// Asks the model whether to ask the user, if the options allow a (further) question.
///
/// A model that cannot answer in the asked form costs the question, not the run.
///
/// # Errors
/// Model calls that fail for other reasons.
pub async fn clarify(cx: &Cx, conversation: &Conversation) -> Result<Clarity, Error> {
    let options = cx.options();
    if !options.allow_clarification || conversation.clarifications >= options.max_clarifications {
        return Ok(Clarity::Clear(None));
    }
    match ask(cx, conversation).await {
        Ok(answer) if answer.need_clarification && !answer.question.trim().is_empty() => {
            cx.mark("clarify/question", Event::InputRequired { question: answer.question.clone() }).await?;
            Ok(Clarity::Unclear(answer.question))
        }
        Ok(answer) => {
            let verification = answer.verification;
            cx.mark("clarify/verification", Event::ClarificationSkipped { verification: verification.clone() }).await?;
            Ok(Clarity::Clear(Some(verification).filter(|text| !text.trim().is_empty())))
        }
        Err(Error::Failed(failure)) if failure.code == FailureCode::ModelOutput => {
            cx.warn("clarify/failed", WarningCode::StructuredOutputFailed, failure.message).await?;
            Ok(Clarity::Clear(None))
        }
        Err(error) => Err(error),
    }
}

async fn ask(cx: &Cx, conversation: &Conversation) -> Result<ClarifyWithUser, Error> {
    let mut flexible = Flexible::default();
    let values = json!({"date": cx.date().await?, "messages": conversation.flattened(&mut flexible)});
    let message = Message::User { content: cx.prompts().parts("clarify", values, flexible) };
    let request = cx.request(Role::Research, vec![message], Task::Clarify);
    let schema = json!({
        "type": "object",
        "properties": {
            "need_clarification": {"type": "boolean"},
            "question": {"type": "string"},
            "verification": {"type": "string"},
        },
        "required": ["need_clarification", "question", "verification"],
        "additionalProperties": false,
    });
    cx.ask_structured("clarify", Role::Research, request, Form { name: "ClarifyWithUser", schema: schema.into() }, None)
        .await
}
