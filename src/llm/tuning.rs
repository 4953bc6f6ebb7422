//! How models are asked, beside what they are asked: what the operator sets for a role, and a key for the vendor's
//! cache.
//!
//! None of it is part of what the journal recognises a call by: a run goes on when the operator has changed it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is sent with the calls of one role; only what is set is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// The vendor's own word: `low`, `medium`, `high`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// How much the model writes: OpenAI's `low`, `medium`, `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    /// Many newer models refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The vendor's own word: `flex`, `priority`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Further fields of the body, as the vendor names them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
}

/// The tunings by the name of the role: `research`, `summarization`, `compression`, `final_report`.
pub type Tunings = HashMap<String, Arc<Tuning>>;

/// How one call is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sending {
    pub tuning: Option<Arc<Tuning>>,
    /// Calls with the same key begin alike.
    pub cache_key: Option<Arc<str>>,
}

/// What of a [`Tuning`] each vendor may know or not, and says so by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tuned {
    Effort,
    Verbosity,
    Temperature,
    ServiceTier,
}

impl Tuned {
    pub(super) const ALL: [Self; 4] = [Self::Effort, Self::Verbosity, Self::Temperature, Self::ServiceTier];
}

/// Fields of bodies that are ours in one dialect or another.
const OWN: &[&str] = &[
    "model",
    "messages",
    "input",
    "contents",
    "system",
    "systemInstruction",
    "instructions",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "toolConfig",
    "response_format",
    "text",
    "output_config",
    "outputConfig",
    "generationConfig",
    "inferenceConfig",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "store",
    "include",
    "reasoning",
    "reasoning_effort",
    "verbosity",
    "temperature",
    "service_tier",
    "prompt_cache_key",
    "anthropic_version",
];

impl Tuning {
    pub const ROLES: [&str; 4] = ["research", "summarization", "compression", "final_report"];

    /// Checks that the values can be used.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn check(&self) -> Result<(), String> {
        let words = [&self.reasoning_effort, &self.verbosity, &self.service_tier];
        let is_word = |word: &String| {
            (1..=40).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        if !words.into_iter().flatten().all(is_word) {
            return Err("words such as low or flex as reasoning_effort, verbosity and service_tier".to_owned());
        }
        if self.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return Err("a temperature from 0 to 2".to_owned());
        }
        // Gemini's tier has no setting of its own; Converse's is `service_tier`.
        let is_own = |name: &str| OWN.contains(&name) || (name == "serviceTier" && self.service_tier.is_some());
        match self.body.keys().find(|name| is_own(name)) {
            Some(name) => Err(format!("fields of the body that Fathom does not write itself, which {name} is")),
            None => Ok(()),
        }
    }
}

impl Sending {
    pub(super) fn effort(&self) -> Option<&str> {
        self.tuning.as_ref()?.reasoning_effort.as_deref()
    }

    pub(super) fn verbosity(&self) -> Option<&str> {
        self.tuning.as_ref()?.verbosity.as_deref()
    }

    pub(super) fn temperature(&self) -> Option<f64> {
        self.tuning.as_ref()?.temperature
    }

    pub(super) fn service_tier(&self) -> Option<&str> {
        self.tuning.as_ref()?.service_tier.as_deref()
    }

    /// Returns what that is set to.
    pub(super) fn value(&self, field: Tuned) -> Option<String> {
        match field {
            Tuned::Effort => self.effort().map(str::to_owned),
            Tuned::Verbosity => self.verbosity().map(str::to_owned),
            Tuned::Temperature => self.temperature().map(|temperature| temperature.to_string()),
            Tuned::ServiceTier => self.service_tier().map(str::to_owned),
        }
    }

    /// Returns the same without that.
    pub(super) fn without(&self, field: Tuned) -> Self {
        let mut tuning = self.tuning.as_deref().cloned().unwrap_or_default();
        match field {
            Tuned::Effort => tuning.reasoning_effort = None,
            Tuned::Verbosity => tuning.verbosity = None,
            Tuned::Temperature => tuning.temperature = None,
            Tuned::ServiceTier => tuning.service_tier = None,
        }
        Self { tuning: Some(Arc::new(tuning)), cache_key: self.cache_key.clone() }
    }

    /// Returns further fields of the body.
    pub(super) fn body(&self) -> Option<&Map<String, Value>> {
        self.tuning.as_ref().map(|tuning| &tuning.body).filter(|body| !body.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::{Message, OutputFormat, Request, ToolChoice, ToolSpec, providers::PROVIDERS};

    /// Returns a request that has all there is in one.
    fn request() -> Request {
        let tool = ToolSpec {
            name: "search_web".to_owned(),
            description: "Searches.".to_owned(),
            parameters: json!({"type": "object", "properties": {}}).into(),
            dispensable: false,
        };
        let word = || Some("low".to_owned());
        let tuning = Tuning {
            reasoning_effort: word(),
            verbosity: word(),
            temperature: Some(0.5),
            service_tier: word(),
            body: Map::new(),
        };
        Request {
            model: "openai:m".parse().unwrap(),
            messages: vec![Message::system("Answer."), Message::user("Why?")],
            tools: vec![tool],
            tool_choice: ToolChoice::Required,
            output: OutputFormat::JsonSchema { name: "answer".to_owned(), schema: json!({"type": "object"}).into() },
            max_tokens: 100,
            sending: Sending { tuning: Some(Arc::new(tuning)), cache_key: Some("key".into()) },
        }
    }

    /// Two fields of one name in a body mean what its reader likes.
    #[test]
    fn no_field_that_a_dialect_writes_can_be_set_beside_it() {
        for provider in PROVIDERS {
            let bodies = [false, true].map(|is_stream| provider.wire.encode(&request(), &provider.quirks, is_stream));
            for body in bodies.map(|encoded| serde_json::from_slice::<Map<String, Value>>(&encoded.unwrap().body)) {
                for name in body.unwrap().keys() {
                    let beside = Tuning::clone(request().sending.tuning.as_deref().unwrap());
                    let set = Tuning { body: [(name.clone(), json!(1))].into_iter().collect(), ..beside };
                    assert!(set.check().is_err(), "`OWN` lacks {name}, which requests to {} have", provider.name);
                }
            }
        }
    }
}
