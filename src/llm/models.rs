//! What a server says of its models (`GET /models`).

use serde::Deserialize;
use serde_json::Value;

/// The models a server listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed(pub Vec<Model>);

/// One model of the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    pub id: String,
    /// Tokens per request, when the server tells.
    pub context_window: Option<u32>,
}

#[derive(Deserialize)]
struct Body {
    /// Gemini calls it `models`.
    #[serde(alias = "models")]
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    /// Gemini calls it `name`, and puts `models/` before it.
    #[serde(default, alias = "name")]
    id: String,
    /// llama.cpp: `n_ctx` is the window of one request.
    #[serde(default)]
    meta: Value,
    /// vLLM.
    #[serde(default)]
    max_model_len: Option<u64>,
    /// OpenRouter.
    #[serde(default)]
    context_length: Option<u64>,
    /// Gemini.
    #[serde(default, rename = "inputTokenLimit")]
    input_token_limit: Option<u64>,
    /// Anthropic.
    #[serde(default)]
    max_input_tokens: Option<u64>,
}

impl Listed {
    /// Reads a list; `None` when the text is none.
    pub(super) fn read(json: &str) -> Option<Self> {
        let body: Body = serde_json::from_str(json).ok()?;
        Some(Self(body.data.into_iter().map(Entry::into_model).collect()))
    }

    /// The window of `model`. A server with one model serves that one under any name (llama.cpp).
    pub(super) fn context_window(&self, model: &str) -> Option<u32> {
        let listed = self.0.iter().find(|listed| listed.id == model);
        let only = || self.0.first().filter(|_| self.0.len() == 1);
        listed.or_else(only)?.context_window
    }
}

impl Entry {
    fn into_model(self) -> Model {
        let listed = self.max_model_len.or(self.context_length).or(self.input_token_limit).or(self.max_input_tokens);
        let tokens = self.meta["n_ctx"].as_u64().or(listed);
        let context_window = tokens.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0);
        let id = self.id.strip_prefix("models/").map(str::to_owned).unwrap_or(self.id);
        Model { id, context_window }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, model: &str, expected: Option<u32>) {
        assert_eq!(Listed::read(json).and_then(|listed| listed.context_window(model)), expected, "{json}");
    }

    #[test]
    fn windows_are_read_in_every_dialect() {
        check(
            r#"{"object":"list","data":[{"id":"local","meta":{"n_ctx_train":32768,"n_ctx":8192}}]}"#,
            "any",
            Some(8192),
        );
        check(r#"{"data":[{"id":"m","max_model_len":4096}]}"#, "m", Some(4096));
        check(r#"{"models":[{"name":"models/gemini-x","inputTokenLimit":1048576}]}"#, "gemini-x", Some(1_048_576));
        check(r#"{"data":[{"id":"claude-x","type":"model","max_input_tokens":1000000}]}"#, "claude-x", Some(1_000_000));
        let two = r#"{"data":[{"id":"a/b","context_length":131072},{"id":"c/d","context_length":200000}]}"#;
        check(two, "c/d", Some(200_000));
        check(two, "e/f", None);
        check(r#"{"object":"list","data":[{"id":"gpt-4.1","object":"model"}]}"#, "gpt-4.1", None);
        check("<html>", "m", None);
    }
}
