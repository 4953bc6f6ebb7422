//! What a server says of its models (`GET /models`).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

/// How long a server is not asked again that would not say.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// How long a list counts: a local server may be started again with another model or window.
const LIST_COUNTS: Duration = Duration::from_secs(3_600);

/// The models a server listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed(pub Vec<Model>);

/// The list of a server: asked for when it is needed, and again when it is old, or a while after it could not be had.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Held by the call that asks, so that one does.
    asking: tokio::sync::Mutex<()>,
    /// Locked for a look or a change only.
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// What was listed last.
    listed: Option<Arc<Listed>>,
    /// When to ask again; at once if nobody has asked.
    ask_at: Option<Instant>,
}

impl Listing {
    /// Returns the list; `ask` is called once at a time, and gives `None` when the server would not say. Then the old
    /// list still counts.
    ///
    /// # Cancel safety
    /// Dropping the future gives up asking; the next one begins again.
    pub(super) async fn get(&self, now: Instant, ask: impl AsyncFnOnce() -> Option<Listed>) -> Option<Arc<Listed>> {
        if self.is_due(now) {
            let _asking = self.asking.lock().await;
            if self.is_due(now) {
                let answer = ask().await;
                self.take(now, answer);
            }
        }
        self.known()
    }

    /// Returns the list, if it was had.
    pub(super) fn known(&self) -> Option<Arc<Listed>> {
        self.held.lock().listed.clone()
    }

    fn is_due(&self, now: Instant) -> bool {
        self.held.lock().ask_at.is_none_or(|ask_at| now >= ask_at)
    }

    fn take(&self, now: Instant, answer: Option<Listed>) {
        let mut held = self.held.lock();
        held.ask_at = Some(now + if answer.is_some() { LIST_COUNTS } else { ASK_AGAIN });
        if let Some(listed) = answer {
            held.listed = Some(Arc::new(listed));
        }
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
    #[serde(default)]
    data: Option<Vec<Value>>,
    /// So Gemini calls it; llama.cpp sends both, this one in Ollama's form.
    #[serde(default)]
    models: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    id: Option<String>,
    /// So Gemini calls it, and puts `models/` before it. Of others that send both it is a title.
    #[serde(default)]
    name: Option<String>,
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
    /// Reads a list, without what of it cannot be read; `None` when the text is none.
    pub(super) fn read(json: &str) -> Option<Self> {
        let body: Body = serde_json::from_str(json).ok()?;
        let entries = body.data.or(body.models)?.into_iter();
        Some(Self(entries.filter_map(|entry| Entry::deserialize(entry).ok()?.into_model()).collect()))
    }

    /// Returns the window of `model`. A server with one model serves that one under any name (llama.cpp).
    pub(super) fn context_window(&self, model: &str) -> Option<u32> {
        let listed = self.0.iter().find(|listed| listed.id == model);
        let only = || self.0.first().filter(|_| self.0.len() == 1);
        listed.or_else(only)?.context_window
    }
}

impl Entry {
    fn into_model(self) -> Option<Model> {
        let listed = self.max_model_len.or(self.context_length).or(self.input_token_limit).or(self.max_input_tokens);
        let tokens = self.meta["n_ctx"].as_u64().or(listed);
        let context_window = tokens.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0);
        let id = self.id.or(self.name)?;
        let id = id.strip_prefix("models/").map(str::to_owned).unwrap_or(id);
        Some(Model { id, context_window })
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
        let had = listing.get(begun + ASK_AGAIN, async || Some(listed.clone())).await;
        assert_eq!(had.as_deref(), Some(&listed));
    }

    /// As a local server that is started again with a larger context.
    #[tokio::test]
    async fn a_list_is_asked_for_again_when_it_is_an_hour_old() {
        let (listing, begun) = (Listing::default(), Instant::now());
        let list = |tokens: u32| Listed(vec![Model { id: "m".to_owned(), context_window: Some(tokens) }]);
        let window = async |after: Duration, answer: Option<Listed>| {
            listing.get(begun + after, async || answer).await.and_then(|listed| listed.context_window("m"))
        };
        assert_eq!(window(Duration::ZERO, Some(list(4_096))).await, Some(4_096));
        let soon = LIST_COUNTS - Duration::from_secs(1);
        assert_eq!(window(soon, Some(list(8_192))).await, Some(4_096), "nobody is asked");
        assert_eq!(window(LIST_COUNTS, None).await, Some(4_096), "the old one stays");
        assert_eq!(window(LIST_COUNTS + ASK_AGAIN, Some(list(8_192))).await, Some(8_192));
        assert_eq!(listing.known().and_then(|listed| listed.context_window("m")), Some(8_192));
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
        let two = r#"{"data":[{"id":"a/b","name":"A: B","context_length":131072},{"id":["e/f"]},
            {"id":"c/d","name":"C: D","context_length":200000}]}"#;
        check(two, "c/d", Some(200_000));
        let llama = r#"{"models":[{"name":"m.gguf","model":"m.gguf","capabilities":["completion"]}],"object":"list",
            "data":[{"id":"m.gguf","object":"model","meta":{"n_ctx_train":40960,"n_ctx":16384}}]}"#;
        check(llama, "any", Some(16_384));
        check(two, "e/f", None);
        check(r#"{"object":"list","data":[{"id":"gpt-4.1","object":"model"}]}"#, "gpt-4.1", None);
        check("<html>", "m", None);
    }
}
