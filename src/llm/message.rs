//! Conversations with models in our own words; every provider's wire is a translation of these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Sending, thinking};
use crate::domain::{ModelName, Usage};

/// Tokens that an answer is taken to have before one of its kind is there: most are shorter, reports are longer.
pub const ANSWER_TOKENS: u64 = 1_000;

/// The bytes of a token, about, in an answer whose tokens are not known.
const BYTES_PER_TOKEN: u64 = 4;

/// Text of a message, in parts: what must stay as it is, and what may be shortened when the model's context window
/// is too small (tool results, findings, page text; see `context::fit`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Text(pub Vec<Part>);

/// One part of a [`Text`]. Shared, since one page or prompt stands in several requests at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Instructions and questions: never shortened.
    Fixed(Arc<str>),
    /// Evidence: shortened when it must be.
    Flexible(Arc<str>),
}

impl Part {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Fixed(text) | Self::Flexible(text) => text,
        }
    }
}

impl Text {
    /// Returns the parts put together, as the model sees them.
    pub fn joined(&self) -> String {
        self.0.iter().map(Part::as_str).collect()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(vec![Part::Fixed(text.into())])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(vec![Part::Fixed(text.into())])
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        content: Text,
    },
    User {
        content: Text,
    },
    Assistant {
        content: String,
        tool_calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carry: Option<Carry>,
    },
    /// The answer to the tool call `call_id`; every call gets one.
    Tool {
        call_id: String,
        name: String,
        content: Text,
    },
}

impl Message {
    pub fn system(content: impl Into<Text>) -> Self {
        Self::System { content: content.into() }
    }

    pub fn user(content: impl Into<Text>) -> Self {
        Self::User { content: content.into() }
    }

    /// Creates a message of text that a model wrote.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::Assistant { content: content.into(), tool_calls: Vec::new(), carry: None }
    }

    /// Returns a turn of a model, to be answered.
    pub fn turn_of(completion: &Completion) -> Self {
        let Completion { text, tool_calls, carry, .. } = completion.clone();
        Self::Assistant { content: text, tool_calls, carry }
    }
}

/// A turn as its provider sent it, to go back verbatim with the conversation: reasoning in it is encrypted or signed,
/// and some providers refuse a conversation without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    /// Whose it is: nobody else is sent it.
    pub provider: Arc<str>,
    /// JSON of that provider's dialect, a list.
    pub items: Arc<str>,
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Never empty and unique within its message; made up by us when the provider sends none.
    pub id: String,
    pub name: String,
    /// JSON text as the model wrote it; may be empty, cut off or not JSON at all.
    pub arguments: String,
    /// Why the call is not carried out, in a sentence for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Arc<Value>,
    /// The run can do without it, as it can where a provider refuses the schema of a tool of others.
    #[serde(skip)]
    pub dispensable: bool,
}

/// Whether the model must call a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
}

/// The form of answer asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    #[default]
    Text,
    /// One JSON value of this schema; strict where the provider can.
    JsonSchema { name: String, schema: Arc<Value> },
}

/// One model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub model: ModelName,
    pub messages: Vec<Message>,
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    #[serde(default)]
    pub tool_choice: ToolChoice,
    #[serde(default)]
    pub output: OutputFormat,
    /// Output limit in tokens.
    pub max_tokens: u32,
    /// No part of what is asked.
    #[serde(skip)]
    pub sending: Sending,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    End,
    /// The output limit was reached: the text, or the arguments of the last tool call, are cut off.
    Length,
    ToolCalls,
    /// The provider's filter withheld the answer.
    Refused,
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Without thinking text; may be empty.
    pub text: String,
    /// In the model's order; may be empty.
    pub tool_calls: Vec<ToolCall>,
    pub stop: StopReason,
    /// As the provider reports it; zero when it reports none.
    pub usage: Usage,
    /// HTTP requests made for this answer, retries included.
    #[serde(default)]
    pub attempts: u32,
    /// What has to go back with this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry: Option<Carry>,
}

impl Completion {
    /// Returns what the answer to a prompt of so many tokens took, by our own estimate where its server tells nonsense
    /// or nothing.
    pub fn plausible_usage(&self, prompt_tokens: u32) -> Usage {
        let calls: usize = self.tool_calls.iter().map(|call| call.arguments.len()).sum();
        let written = (self.text.len() + calls) as u64 / BYTES_PER_TOKEN;
        match self.usage.total() {
            0 => Usage { input_tokens: prompt_tokens.into(), output_tokens: written, ..self.usage },
            _ => self.usage.plausible_or(prompt_tokens.into(), ANSWER_TOKENS.max(written)),
        }
    }

    /// Returns whether there is no word in it but what the model thought before a closing tag that nothing opened.
    pub fn is_without_words(&self) -> bool {
        thinking::after_unopened(&self.text).trim().is_empty()
    }

    /// Drops what the model thought before a closing tag that nothing opened; returns whether there was any. Of a
    /// streamed answer it has been passed on as text by then.
    pub fn drop_unopened_thinking(&mut self) -> bool {
        let kept = thinking::after_unopened(&self.text);
        if kept.len() == self.text.len() {
            return false;
        }
        self.text = kept.trim_start().to_owned();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_counts_is_estimated() {
        let usage = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        let call = ToolCall { id: "1".to_owned(), name: "x".to_owned(), arguments: "7".repeat(80), problem: None };
        let mut answer = Completion {
            text: "word ".repeat(40),
            tool_calls: vec![call],
            stop: StopReason::End,
            usage: Usage::default(),
            attempts: 1,
            carry: None,
        };
        assert_eq!(answer.plausible_usage(300), usage(300, 70));
        answer.usage = usage(7, 0);
        assert_eq!(answer.plausible_usage(300), usage(7, 0), "what is counted stays");
        answer.usage = usage(7, u64::MAX);
        assert_eq!(answer.plausible_usage(300), usage(300, ANSWER_TOKENS));
    }
}
