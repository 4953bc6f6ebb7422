//! Every provider of models: one row each, from which settings, `fathom doctor`, the banner, `fathom config` and the
//! example files follow. A provider that speaks a dialect of [`wire`](super::wire) is a row here and nothing else.
//!
//! Facts are the vendors' own, of November 2026.

use super::catalogue::Facts;
use super::structured::Strategy;
use super::wire::Wire;

/// One provider.
#[derive(Debug)]
pub struct Provider {
    /// As in `provider:model`.
    pub name: &'static str,
    /// As people call it.
    pub title: &'static str,
    pub wire: Wire,
    /// Where its API begins; `None` when each user has an address of their own.
    pub base_url: Option<&'static str>,
    pub variables: Variables,
    pub key: Key,
    pub auth: Auth,
    pub lists: Lists,
    /// The provider whose settings it uses, when those are not its own: another dialect of the same vendor.
    pub settings_of: Option<&'static str>,
    /// What is used when its key is all that is set.
    pub defaults: Option<Defaults>,
    pub quirks: Quirks,
}

/// The models of a provider that are used unless others are named.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Researches and writes.
    pub large: &'static str,
    /// Summarises pages.
    pub small: &'static str,
}

/// The environment variables of a provider's settings.
#[derive(Clone, Copy, Debug)]
pub struct Variables {
    pub api_key: &'static str,
    pub base_url: &'static str,
    pub headers: &'static str,
}

/// Does a call need a key? Servers at another address than the provider's own never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Needed,
    Optional,
}

/// How the key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in this header.
    Header(&'static str),
}

/// What `GET models` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// There is no list.
    Nothing,
    /// Names alone; the windows are known here.
    Names,
    /// The context window of each model too.
    Windows,
}

/// The name of the field that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimit {
    MaxTokens,
    MaxCompletionTokens,
    /// The newer one for OpenAI's newer models, which refuse the old one.
    ByModel,
}

/// Where a provider differs from its dialect.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    pub output_limit: OutputLimit,
    /// The word that forces a tool call; `auto` where that is refused or ignored.
    pub required: &'static str,
    /// Is `stream_options` known?
    pub stream_options: bool,
    /// The surest form of asking for a structured answer.
    pub structured: Strategy,
    /// Ids of tool calls have exactly nine letters and digits.
    pub short_ids: bool,
    /// Reasoning tokens are counted beside the output tokens.
    pub reasoning_beside: bool,
    /// Sent with every request.
    pub headers: &'static [(&'static str, &'static str)],
}

impl Quirks {
    pub const NONE: Self = Self {
        output_limit: OutputLimit::MaxTokens,
        required: "required",
        stream_options: true,
        structured: Strategy::Native,
        short_ids: false,
        reasoning_beside: false,
        headers: &[],
    };
    /// The same for a model of which this is known.
    pub fn of_model(mut self, facts: &Facts) -> Self {
        if facts.forced_calls == Some(false) {
            self.required = Self::UNFORCED;
        }
        let weaker = match (facts.schema, facts.tools) {
            (Some(false), Some(false)) => Strategy::Prompt,
            (Some(false), _) => Strategy::Tool,
            _ => Strategy::Native,
        };
        self.structured = self.structured.max(weaker);
        self
    }

    /// In place of the word that forces a call.
    pub const UNFORCED: &'static str = "auto";

    const LIKE_OPENAI: Self = Self { output_limit: OutputLimit::ByModel, ..Self::NONE };
    const NEW_LIMIT: Self = Self { output_limit: OutputLimit::MaxCompletionTokens, ..Self::NONE };
}

macro_rules! variables {
    ($prefix:literal) => {
        Variables {
            api_key: concat!($prefix, "_API_KEY"),
            base_url: concat!($prefix, "_BASE_URL"),
            headers: concat!($prefix, "_HEADERS"),
        }
    };
}

/// A provider in the cloud that speaks Chat Completions, wants a key, and lists its models.
const fn cloud(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    variables: Variables,
    quirks: Quirks,
) -> Provider {
    Provider {
        name,
        title,
        wire: Wire::ChatCompletions,
        base_url: Some(base_url),
        variables,
        key: Key::Needed,
        auth: Auth::Bearer,
        lists: Lists::Names,
        settings_of: None,
        defaults: None,
        quirks,
    }
}

/// A server of one's own that speaks Chat Completions.
const fn local(name: &'static str, title: &'static str, base_url: &'static str, variables: Variables) -> Provider {
    Provider { key: Key::Optional, lists: Lists::Windows, ..cloud(name, title, base_url, variables, Quirks::NONE) }
}

/// All of them, in the order in which they are shown.
pub const PROVIDERS: &[Provider] = &[
    cloud("openai", "OpenAI", "https://api.openai.com/v1", variables!("OPENAI"), Quirks::LIKE_OPENAI),
    // The same account, by the dialect that keeps a model's reasoning between its turns.
    Provider {
        wire: Wire::Responses,
        settings_of: Some("openai"),
        ..cloud("openai-responses", "OpenAI Responses", "https://api.openai.com/v1", variables!("OPENAI"), Quirks::NONE)
    },
    Provider {
        wire: Wire::Messages,
        auth: Auth::Header("x-api-key"),
        defaults: Some(Defaults { large: "claude-sonnet-5-5", small: "claude-haiku-5-5" }),
        ..cloud(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            variables!("ANTHROPIC"),
            Quirks { required: "any", ..Quirks::NONE },
        )
    },
    Provider {
        wire: Wire::Gemini,
        auth: Auth::Header("x-goog-api-key"),
        lists: Lists::Windows,
        defaults: Some(Defaults { large: "gemini-3.1-pro-preview", small: "gemini-3.6-flash" }),
        ..cloud(
            "google",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            variables!("GEMINI"),
            Quirks { required: "ANY", ..Quirks::NONE },
        )
    },
    // The resource's name is part of the address; `model` is the name of the deployment. An older address with an
    // `api-version` works too, since the query of a base URL is kept.
    Provider {
        base_url: None,
        auth: Auth::Header("api-key"),
        ..cloud("azure", "Azure OpenAI", "", variables!("AZURE_OPENAI"), Quirks::LIKE_OPENAI)
    },
    Provider {
        lists: Lists::Windows,
        defaults: Some(Defaults { large: "openai/gpt-4.1", small: "openai/gpt-4.1-mini" }),
        ..cloud("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", variables!("OPENROUTER"), Quirks::NONE)
    },
    local("ollama", "Ollama", "http://127.0.0.1:11434/v1", variables!("OLLAMA")),
    local("vllm", "vLLM", "http://127.0.0.1:8000/v1", variables!("VLLM")),
    local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", variables!("LLAMACPP")),
    local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", variables!("LMSTUDIO")),
    // It thinks, and then refuses forced tool calls; it knows no schema of answers; unknown fields count as not there.
    cloud(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        variables!("DEEPSEEK"),
        Quirks { structured: Strategy::Prompt, required: "auto", ..Quirks::NONE },
    ),
    // Unknown fields are errors, and so are ids of another length.
    cloud(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        variables!("MISTRAL"),
        Quirks { required: "any", stream_options: false, short_ids: true, ..Quirks::NONE },
    ),
    cloud("groq", "Groq", "https://api.groq.com/openai/v1", variables!("GROQ"), Quirks::NEW_LIMIT),
    cloud(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        variables!("XAI"),
        Quirks { reasoning_beside: true, ..Quirks::NEW_LIMIT },
    ),
    cloud("together", "Together", "https://api.together.xyz/v1", variables!("TOGETHER"), Quirks::NONE),
    cloud("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", variables!("FIREWORKS"), Quirks::NONE),
    cloud("cerebras", "Cerebras", "https://api.cerebras.ai/v1", variables!("CEREBRAS"), Quirks::NEW_LIMIT),
    // Forced tool calls are refused.
    cloud(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        variables!("MOONSHOT"),
        Quirks { required: "auto", ..Quirks::NONE },
    ),
    // Its models search by themselves and take no tools: for reports and summaries.
    Provider {
        lists: Lists::Nothing,
        ..cloud("perplexity", "Perplexity", "https://api.perplexity.ai", variables!("PERPLEXITY"), Quirks::NONE)
    },
    Provider {
        quirks: Quirks::LIKE_OPENAI,
        ..local("litellm", "LiteLLM", "http://127.0.0.1:4000/v1", variables!("LITELLM"))
    },
    Provider {
        base_url: None,
        key: Key::Optional,
        lists: Lists::Windows,
        ..cloud("compatible", "any server of OpenAI's API", "", variables!("COMPATIBLE"), Quirks::LIKE_OPENAI)
    },
];

impl Provider {
    /// The name under which its settings stand.
    pub fn settings(&self) -> &'static str {
        self.settings_of.unwrap_or(self.name)
    }
}

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// The names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use url::Url;

    use super::*;

    #[test]
    fn rows_are_told_apart_by_name_and_variables() {
        let (mut names, mut variables) = (BTreeSet::new(), BTreeSet::new());
        for provider in PROVIDERS {
            assert!(names.insert(provider.name), "{} stands here twice", provider.name);
            let is_own = variables.insert(provider.variables.api_key);
            assert_eq!(is_own, provider.settings_of.is_none(), "{}", provider.variables.api_key);
            let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(provider.name.bytes().all(is_name), "{}", provider.name);
        }
    }

    #[test]
    fn addresses_are_addresses() {
        for address in PROVIDERS.iter().filter_map(|provider| provider.base_url) {
            let url = Url::parse(address).unwrap();
            assert!(url.scheme() == "https" || url.host_str() == Some("127.0.0.1"), "{address}");
        }
    }
}
