//! Every provider of models: one row each, from which settings, `fathom doctor`, the banner, `fathom config` and the
//! example files follow. A provider that speaks a dialect of [`super::wire`] is a row here and nothing else.
//!
//! Facts are the vendors' own, of November 2026.

use super::access;
pub use super::cloud_settings::Other;
use super::cloud_settings::{AMAZON_CLOUD, GOOGLE_CLOUD};
pub use super::endpoint::Auth;
use super::endpoint::Endpoint;
pub use super::quirks::{Carries, OutputLimit, Quirks};
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
    /// What an address of the user's gets that has no path; `None`: that of `base_url`, else `/v1`.
    pub usual_path: Option<&'static str>,
    pub variables: Variables,
    /// The name that Open Deep Research has for it, as in `provider:model`, where that is another one.
    pub original: Option<&'static str>,
    /// Further settings, of clouds that want more than a key.
    pub others: &'static [Other],
    /// Where a cloud is whose address follows from its settings.
    pub place: Option<Place>,
    /// Another variable that may hold the key, where that of `variables` is not set.
    pub other_key: Option<&'static str>,
    pub key: Key,
    pub auth: Auth,
    pub lists: Lists,
    /// The provider whose settings it uses, when those are not its own: another dialect of the same vendor.
    pub settings_of: Option<&'static str>,
    /// What is used when its key is all that is set.
    pub defaults: Option<Defaults>,
    pub quirks: Quirks,
    /// A model of it, as in `provider:model`; for the documentation, as the next.
    pub example: &'static str,
    /// What its users should know; Markdown.
    pub note: &'static str,
}

/// The place of a provider, by its further settings.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The further setting without which it is nowhere.
    pub needs: &'static str,
    /// Where its API begins; `None` when what its address is made of is no name.
    pub base: fn(&Endpoint) -> Option<String>,
    /// What stands between that and the path of a dialect; ends with a slash unless it is empty.
    pub path: fn(&Endpoint) -> String,
    /// Whether models are called wherever there is room. Where they are kept to a place, they may cost more than the
    /// catalogue says.
    pub is_anywhere: fn(&Endpoint) -> bool,
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

/// Whether a call needs a key. Servers at another address than the provider's own never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Needed,
    Optional,
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

macro_rules! variables {
    ($prefix:literal) => {
        Variables {
            api_key: concat!($prefix, "_API_KEY"),
            base_url: concat!($prefix, "_BASE_URL"),
            headers: concat!($prefix, "_HEADERS"),
        }
    };
}

/// Returns a provider in the cloud that speaks Chat Completions, wants a key, and lists its models.
const fn cloud(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    variables: Variables,
    example: &'static str,
    quirks: Quirks,
) -> Provider {
    Provider {
        name,
        title,
        wire: Wire::ChatCompletions,
        base_url: Some(base_url),
        usual_path: None,
        variables,
        original: None,
        others: &[],
        place: None,
        other_key: None,
        key: Key::Needed,
        auth: Auth::Bearer,
        lists: Lists::Names,
        settings_of: None,
        defaults: None,
        quirks,
        example,
        note: "",
    }
}

/// Returns a server of one's own that speaks Chat Completions.
const fn local(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    variables: Variables,
    example: &'static str,
) -> Provider {
    Provider {
        key: Key::Optional,
        lists: Lists::Windows,
        ..cloud(name, title, base_url, variables, example, Quirks::NONE)
    }
}

/// All of them, in the order in which they are shown.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        note: "the default; `OPENAI_BASE_URL` may be any server of this dialect",
        ..cloud("openai", "OpenAI", "https://api.openai.com/v1", variables!("OPENAI"), "gpt-4.1", Quirks::OPENAI)
    },
    // The same account, by the dialect that keeps a model's reasoning between its turns.
    Provider {
        wire: Wire::Responses,
        settings_of: Some("openai"),
        note: "the same key; keeps a model's reasoning between its turns; answers are not stored at OpenAI",
        ..cloud(
            "openai-responses",
            "OpenAI Responses",
            "https://api.openai.com/v1",
            variables!("OPENAI"),
            "gpt-5.4",
            Quirks { cache_key: true, longest_id: 64, ..Quirks::NONE },
        )
    },
    Provider {
        wire: Wire::Messages,
        auth: Auth::Header("x-api-key"),
        defaults: Some(Defaults { large: "claude-sonnet-5-5", small: "claude-haiku-5-5" }),
        note: "prompts are cached in loops; thoughts go back signed; newer models take no forced tool call, so structured answers use schemas; an address that does not end in a version gets `/v1`, as with Anthropic's own tools",
        ..cloud(
            "anthropic",
            "Anthropic",
            "https://api.anthropic.com/v1",
            variables!("ANTHROPIC"),
            "claude-sonnet-5-5",
            Quirks { required: "any", ..Quirks::NONE },
        )
    },
    Provider {
        wire: Wire::Gemini,
        original: Some("google_genai"),
        other_key: Some("GOOGLE_API_KEY"),
        auth: Auth::Header("x-goog-api-key"),
        lists: Lists::Windows,
        defaults: Some(Defaults { large: "gemini-3.1-pro-preview", small: "gemini-3.6-flash" }),
        note: "needs a key of AI Studio; signatures of thoughts go back",
        ..cloud(
            "google",
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            variables!("GEMINI"),
            "gemini-3.6-flash",
            Quirks { required: "ANY", ..Quirks::NONE },
        )
    },
    // The same models and others in Google's cloud. Thoughts signed by one are refused by the other.
    Provider {
        wire: Wire::Gemini,
        original: Some("google_vertexai"),
        base_url: None,
        others: GOOGLE_CLOUD,
        place: Some(Place {
            needs: "project",
            base: access::google_base,
            path: access::google_gemini,
            is_anywhere: access::google_is_global,
        }),
        auth: Auth::Google,
        key: Key::Optional,
        lists: Lists::Nothing,
        note: "a service account's file, the credentials of `gcloud auth application-default login`, or the machine's metadata server",
        ..cloud(
            "vertex",
            "Google Vertex AI",
            "",
            variables!("VERTEX"),
            "gemini-3.6-flash",
            Quirks { required: "ANY", ..Quirks::NONE },
        )
    },
    Provider {
        wire: Wire::Messages,
        original: Some("google_anthropic_vertex"),
        base_url: None,
        others: GOOGLE_CLOUD,
        place: Some(Place {
            needs: "project",
            base: access::google_base,
            path: access::google_claude,
            is_anywhere: access::google_is_global,
        }),
        auth: Auth::Google,
        key: Key::Optional,
        lists: Lists::Nothing,
        settings_of: Some("vertex"),
        note: "the same settings as Vertex AI",
        ..cloud(
            "vertex-anthropic",
            "Anthropic on Vertex AI",
            "",
            variables!("VERTEX"),
            "claude-sonnet-5-5",
            Quirks { required: "any", versioned: Some("vertex-2023-10-16"), ..Quirks::NONE },
        )
    },
    Provider {
        wire: Wire::Converse,
        original: Some("bedrock_converse"),
        base_url: None,
        variables: Variables {
            api_key: "AWS_BEARER_TOKEN_BEDROCK",
            base_url: "BEDROCK_BASE_URL",
            headers: "BEDROCK_HEADERS",
        },
        others: AMAZON_CLOUD,
        place: Some(Place {
            needs: "region",
            base: access::amazon_base,
            path: access::amazon_path,
            is_anywhere: |_| true,
        }),
        auth: Auth::Amazon,
        key: Key::Optional,
        lists: Lists::Nothing,
        note: "a key of Bedrock, or the credentials that Amazon's own programs would use, also roles of machines and containers; most models need the id of an inference profile",
        ..cloud(
            "bedrock",
            "Amazon Bedrock",
            "",
            variables!("BEDROCK"),
            "us.anthropic.claude-sonnet-5-5",
            Quirks { required: "any", ..Quirks::NONE },
        )
    },
    // The resource's name is part of the address, which the portal shows without a path; `model` is the name of the
    // deployment. An older address with an `api-version` works too, since the query of a base URL is kept.
    Provider {
        original: Some("azure_openai"),
        base_url: None,
        usual_path: Some("/openai/v1"),
        auth: Auth::Header("api-key"),
        note: "the address is the endpoint that the portal shows, such as `https://NAME.openai.azure.com` or `https://NAME.services.ai.azure.com`: one without a path gets `/openai/v1`; the model is the name of the deployment; an older address with `?api-version=` works too",
        ..cloud("azure", "Azure OpenAI", "", variables!("AZURE_OPENAI"), "MY-DEPLOYMENT", Quirks::OF_OPENAI)
    },
    Provider {
        lists: Lists::Windows,
        defaults: Some(Defaults { large: "openai/gpt-4.1", small: "openai/gpt-4.1-mini" }),
        note: "reports the windows of its models",
        ..cloud(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            variables!("OPENROUTER"),
            "openai/gpt-4.1",
            Quirks { carries: Carries::ReasoningDetails, ..Quirks::NONE },
        )
    },
    Provider {
        note: "start it with `OLLAMA_CONTEXT_LENGTH=64000`: it cuts longer prompts silently",
        ..local("ollama", "Ollama", "http://127.0.0.1:11434/v1", variables!("OLLAMA"), "qwen3:8b")
    },
    Provider {
        note: "start it with `--enable-auto-tool-choice` and a tool parser",
        ..local("vllm", "vLLM", "http://127.0.0.1:8000/v1", variables!("VLLM"), "Qwen/Qwen3-32B")
    },
    Provider {
        note: "reports its window",
        ..local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", variables!("LLAMACPP"), "local")
    },
    local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", variables!("LMSTUDIO"), "openai/gpt-oss-20b"),
    // It thinks, and then refuses forced tool calls; it knows no schema of answers; unknown fields count as not there.
    Provider {
        note: "takes no schemas and no forced tool calls, so structured answers are asked for in the prompt",
        ..cloud(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com",
            variables!("DEEPSEEK"),
            "deepseek-flash",
            Quirks {
                structured: Strategy::Prompt,
                required: "auto",
                carries: Carries::ReasoningContent,
                ..Quirks::NONE
            },
        )
    },
    // Unknown fields are errors, and so are ids of another length, and a user who speaks right after a tool.
    Provider {
        original: Some("mistralai"),
        ..cloud(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            variables!("MISTRAL"),
            "mistral-large-latest",
            Quirks { required: "any", stream_options: false, short_ids: true, answers_results: true, ..Quirks::NONE },
        )
    },
    cloud(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        variables!("GROQ"),
        "openai/gpt-oss-120b",
        Quirks { error_beside: Some("x_groq"), ..Quirks::NEW_LIMIT },
    ),
    cloud(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        variables!("XAI"),
        "grok-4.7",
        // Each of its servers has a cache of its own: calls with the same key go to the same one.
        Quirks { counts_beside: true, cache_header: Some("x-grok-conv-id"), ..Quirks::NEW_LIMIT },
    ),
    cloud(
        "together",
        "Together",
        "https://api.together.xyz/v1",
        variables!("TOGETHER"),
        "openai/gpt-oss-120b",
        Quirks::NONE,
    ),
    // "Requests with max_tokens > 4096 must have stream=true".
    Provider {
        note: "Fathom always streams, since longer answers are refused otherwise",
        ..cloud(
            "fireworks",
            "Fireworks",
            "https://api.fireworks.ai/inference/v1",
            variables!("FIREWORKS"),
            "accounts/fireworks/models/MODEL",
            Quirks { whole_answers: false, ..Quirks::NONE },
        )
    },
    cloud(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        variables!("CEREBRAS"),
        "gpt-oss-120b",
        Quirks { silent_overflow: true, ..Quirks::NEW_LIMIT },
    ),
    // Forced tool calls are refused.
    Provider {
        note: "refuses forced tool calls",
        ..cloud(
            "moonshot",
            "Moonshot",
            "https://api.moonshot.ai/v1",
            variables!("MOONSHOT"),
            "kimi-k2.6",
            Quirks { required: "auto", carries: Carries::ReasoningContent, ..Quirks::NONE },
        )
    },
    // Its models search by themselves and take no tools: for reports and summaries.
    Provider {
        lists: Lists::Nothing,
        note: "no tools: for `final_report_model` and `summarization_model` only",
        ..cloud(
            "perplexity",
            "Perplexity",
            "https://api.perplexity.ai",
            variables!("PERPLEXITY"),
            "sonar-pro",
            Quirks::NONE,
        )
    },
    Provider {
        quirks: Quirks { cost_header: Some("x-litellm-response-cost"), ..Quirks::LIKE_OPENAI },
        note: "reports the windows of its models, and what a call cost where it knows the price",
        ..local("litellm", "LiteLLM", "http://127.0.0.1:4000/v1", variables!("LITELLM"), "MODEL")
    },
    Provider {
        base_url: None,
        key: Key::Optional,
        lists: Lists::Windows,
        note: "any other server that speaks OpenAI's Chat Completions",
        ..cloud("compatible", "any server of OpenAI's API", "", variables!("COMPATIBLE"), "MODEL", Quirks::LIKE_OPENAI)
    },
];

impl Provider {
    /// Returns the name under which its settings stand.
    pub fn settings(&self) -> &'static str {
        self.settings_of.unwrap_or(self.name)
    }
}

/// Returns the row of that name.
pub fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// Returns the model as it is called here, from the name that Open Deep Research has for it.
pub fn from_original(model: &str) -> String {
    let ours = |(prefix, name): (&str, &str)| {
        let provider = PROVIDERS.iter().find(|provider| provider.original == Some(prefix))?;
        Some(format!("{}:{name}", provider.name))
    };
    model.split_once(':').and_then(ours).unwrap_or_else(|| model.to_owned())
}

/// Returns the names that Open Deep Research has for providers, each with ours.
pub fn other_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.iter().filter_map(|provider| Some((provider.original?, provider.name)))
}

/// Returns the names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use url::Url;

    use super::*;

    #[test]
    fn rows_differ_in_name_and_variables() {
        let (mut names, mut variables) = (BTreeSet::new(), BTreeSet::new());
        for provider in PROVIDERS {
            assert!(names.insert(provider.name), "{} stands here twice", provider.name);
            let is_own = variables.insert(provider.variables.api_key);
            assert_eq!(is_own, provider.settings_of.is_none(), "{}", provider.variables.api_key);
            let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(provider.name.bytes().all(is_name), "{}", provider.name);
        }
    }

    #[test]
    fn calls_are_forced_in_the_words_of_the_dialect() {
        for provider in PROVIDERS {
            let words: &[&str] = match provider.wire {
                Wire::ChatCompletions => &["required", "any"],
                Wire::Responses => &["required"],
                Wire::Messages | Wire::Converse => &["any"],
                Wire::Gemini => &["ANY"],
            };
            let word = provider.quirks.required;
            assert!(Wire::ALL.contains(&provider.wire), "`Wire::ALL` lacks {:?}", provider.wire);
            let is_known = word == Quirks::UNFORCED || words.contains(&word);
            assert!(is_known, "{}: `required` is {word}; its dialect has {words:?}", provider.name);
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
