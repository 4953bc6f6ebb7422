//! What a server says of its models (`GET /models`).

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OnceCell;

/// How long a server is not asked again that would not say.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// The models a server listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed(pub Vec<Model>);

/// The list of a server: asked for when it is needed, and again a while after it could not be had.
#[derive(Debug, Default)]
pub(super) struct Listing {
    listed: OnceCell<Listed>,
    /// When it could not be had. Locked for a look or a change only.
    failed: Mutex<Option<Instant>>,
}

impl Listing {
    /// Returns the list; `ask` is called once at a time, and gives `None` when the server would not say.
    pub(super) async fn get(&self, now: Instant, ask: impl AsyncFnOnce() -> Option<Listed>) -> Option<&Listed> {
        let asked = async || {
            if self.failed.lock().is_some_and(|failed| now.saturating_duration_since(failed) < ASK_AGAIN) {
                return Err(());
            }
            ask().await.ok_or_else(|| *self.failed.lock() = Some(now))
        };
        self.listed.get_or_try_init(asked).await.ok()
    }

    /// Returns the list, if it was had.
    pub(super) fn known(&self) -> Option<&Listed> {
        self.listed.get()
    }
}

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

    /// Returns the window of `model`. A server with one model serves that one under any name (llama.cpp).
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

    #[tokio::test]
    async fn a_server_that_would_not_say_is_asked_again_after_a_minute() {
        let (listing, begun) = (Listing::default(), Instant::now());
        let listed = Listed::default();
        assert_eq!(listing.get(begun, async || None).await, None);
        let soon = begun + ASK_AGAIN - Duration::from_secs(1);
        assert_eq!(listing.get(soon, async || Some(listed.clone())).await, None, "nobody is asked");
        assert_eq!(listing.get(begun + ASK_AGAIN, async || Some(listed.clone())).await, Some(&listed));
        assert_eq!(listing.get(begun + ASK_AGAIN, async || None).await, listing.known(), "once is enough");
    }

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
