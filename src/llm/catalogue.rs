//! What is known of models: `catalogue.toml`, embedded, and what the operator's settings say beyond it or against it.
//!
//! Nothing here is needed to call a model: of an unknown one the window is assumed, its abilities are tried, and its
//! price stays unknown.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::limits::Tokenizer;
use crate::domain::{ModelName, Price};

/// What is known of one model; what is `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Tokens of a request and its answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether it can call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether a tool call may be demanded of it. Some models answer 400 to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_calls: Option<bool>,
    /// Whether it takes a JSON schema of its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<bool>,
    /// Whether it can stream its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// Whether it answers in one piece. Some models, and some long answers of others, are had as streams alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_answers: Option<bool>,
    /// How its tokens are counted or estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Tokenizer>,
}

/// What the operator says, by `provider:model`.
pub type KnownModels = HashMap<String, Facts>;

impl Facts {
    /// Takes the facts of `others` where these say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            window: self.window.or(others.window),
            max_output: self.max_output.or(others.max_output),
            price: self.price.or(others.price),
            tools: self.tools.or(others.tools),
            forced_calls: self.forced_calls.or(others.forced_calls),
            schema: self.schema.or(others.schema),
            streaming: self.streaming.or(others.streaming),
            whole_answers: self.whole_answers.or(others.whole_answers),
            tokenizer: self.tokenizer.or(others.tokenizer),
        }
    }

    /// Checks that the facts can be used.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn check(&self) -> Result<(), &'static str> {
        let windows = [self.window, self.max_output].into_iter().flatten();
        if !windows.into_iter().all(|tokens| (1..=100_000_000).contains(&tokens)) {
            return Err("a number of tokens from 1 to 100000000 as window and max_output");
        }
        if (self.streaming, self.whole_answers) == (Some(false), Some(false)) {
            return Err("one of streaming and whole_answers");
        }
        match self.price.is_none_or(|price| price.is_sound()) {
            true => Ok(()),
            false => Err("a price of numbers that are not below zero, in dollars per million tokens"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    families: HashMap<String, Facts>,
    /// By the beginning of the name, as families are.
    tokenizers: HashMap<String, Tokenizer>,
    models: KnownModels,
    /// By the provider that sells them.
    resold: HashMap<String, Resold>,
}

/// One vendor's models that another provider sells, under names that lead to the vendor's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resold {
    of: String,
    /// What stands before the vendor's name for a model, and how many times the vendor's price the model costs then.
    prefixes: BTreeMap<String, f64>,
}

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| toml::from_str(include_str!("catalogue.toml")).expect("a test reads the embedded catalogue"));

/// Returns what the embedded catalogue knows of `model`. `settings_of` is the provider whose account it is,
/// `is_own_cloud` whether the model is called at that provider's own address: what stands at another one may be
/// anything, at any price.
pub(super) fn facts(model: &ModelName, settings_of: &str, is_own_cloud: bool) -> Facts {
    let family = of_family(&model.model);
    if !is_own_cloud {
        return family;
    }
    let known = known(&format!("{settings_of}:{}", model.model)).or_else(|| resold(model));
    known.map_or(family, |known| known.or(family))
}

/// Returns what stands under the name of a model, or under it without its date.
fn known(name: &str) -> Option<Facts> {
    CATALOGUE.models.get(name).or_else(|| CATALOGUE.models.get(undated(name)?)).copied()
}

fn resold(model: &ModelName) -> Option<Facts> {
    let sold = CATALOGUE.resold.get(&*model.provider)?;
    let after = |(prefix, factor): (&String, &f64)| Some((model.model.strip_prefix(prefix.as_str())?, *factor));
    let (name, factor) = sold.prefixes.iter().find_map(after)?;
    let facts = known(&format!("{}:{}", sold.of, unversioned(name)))?;
    Some(Facts { price: facts.price.map(|price| price.times(factor)), ..facts })
}

/// Returns the name without what clouds put behind it: `@20251001` or `@default` (Google), `-v1:0` or `-v1` (Amazon).
fn unversioned(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    match name.rsplit_once("-v") {
        Some((rest, version)) if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') => rest,
        _ => name,
    }
}

/// Returns the models that have an entry of their own, as `provider:model`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.models.keys().map(String::as_str)
}

/// Returns what is known of the family whose name the model's begins with.
pub fn of_family(model: &str) -> Facts {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let tokenizer = by_beginning(&CATALOGUE.tokenizers, &name);
    Facts { tokenizer, ..by_beginning(&CATALOGUE.families, &name).unwrap_or_default() }
}

/// Returns what stands under the longest beginning of `name`.
fn by_beginning<T: Copy>(known: &HashMap<String, T>, name: &str) -> Option<T> {
    // Clouds put a region and the vendor before the name: `us.anthropic.claude-…`.
    let tails = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
    let longest = |name: &str| (1..=name.len()).rev().find_map(|end| known.get(name.get(..end)?)).copied();
    std::iter::once(name).chain(tails).find_map(longest)
}

/// Returns the name without the date behind it, as `-2026-03-05` or `-20260305`; `None` when it has none.
fn undated(name: &str) -> Option<&str> {
    let end = name.len().checked_sub(8).filter(|end| name.is_char_boundary(*end))?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(&name[end..]) {
        return name[..end].strip_suffix('-');
    }
    let (rest, day) = name.rsplit_once('-')?;
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (is_digits(day) && is_digits(month) && day.len() == 2 && month.len() == 2 && year.len() == 4 && is_digits(year))
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::providers;
    use super::*;

    fn own(model: &str) -> Facts {
        let model: ModelName = model.parse().unwrap();
        let settings = providers::find(&model.provider).unwrap().settings();
        facts(&model, settings, true)
    }

    #[test]
    fn the_embedded_catalogue_is_sound() {
        for (name, facts) in &CATALOGUE.models {
            let model: ModelName = name.parse().unwrap();
            assert!(providers::find(&model.provider).is_some(), "{name}");
            assert_eq!(facts.check(), Ok(()), "{name}");
            assert!(facts.price.is_some() && facts.window.is_some(), "{name}");
            let price = facts.price.unwrap();
            assert!(price.cached.is_none_or(|cached| cached <= price.input) && price.input <= price.output, "{name}");
            let family = of_family(&model.model).window;
            assert!(family.is_none_or(|family| Some(family) <= facts.window), "{name}: {family:?}");
        }
        for (provider, sold) in &CATALOGUE.resold {
            assert!(providers::find(provider).is_some() && providers::find(&sold.of).is_some(), "{provider}");
            assert!(sold.prefixes.values().all(|factor| (1.0..2.0).contains(factor)), "{provider}");
        }
        for (name, facts) in &CATALOGUE.families {
            assert!(facts.price.is_none() && *name == name.to_ascii_lowercase(), "{name}");
            assert_eq!(facts.tokenizer, None, "{name}: it stands among the tokenizers");
        }
        assert!(CATALOGUE.tokenizers.keys().all(|name| *name == name.to_ascii_lowercase()));
    }

    /// Of OpenAI's models as its own package `tiktoken` 0.14 says; what it does not say is estimated.
    #[test]
    fn the_name_of_a_model_says_how_it_counts() {
        use Tokenizer::{Careful, Cl100k, Frugal, O200k, Qwen2, Tekken};
        fn check(models: &[&str], expected: Tokenizer) {
            for model in models {
                assert_eq!(of_family(model).tokenizer.unwrap_or_default(), expected, "{model}");
            }
        }
        check(
            &["gpt-4.1", "gpt-4o-mini", "gpt-5.4-mini", "o3", "o4-mini", "chatgpt-4o-latest", "ft:gpt-4o:acme::7"],
            O200k,
        );
        check(&["openai/gpt-5.4", "openai/gpt-oss-120b:free", "gpt-oss:20b", "openai.gpt-oss-120b-1:0"], O200k);
        check(&["gpt-4", "gpt-4-turbo-2024-04-09", "gpt-4-32k", "gpt-3.5-turbo", "gpt-35-turbo"], Cl100k);
        check(&["qwen3:8b", "Qwen/Qwen2.5-72B-Instruct", "qwen3-coder", "qwq"], Qwen2);
        check(&["mistralai/mistral-nemo", "ministral-8b-2410", "magistral-small-2509"], Tekken);
        check(&["gpt-6-sol", "gemini-3.6-flash", "deepseek-v4-pro", "qwen3.5-plus", "qwen-max", "glm-5"], Frugal);
        check(&["claude-opus-5-5", "us.anthropic.claude-opus-5-5", "llama3.1", "mistral-large-2411", "x"], Careful);
    }

    #[test]
    fn what_the_operator_says_of_a_tokenizer_counts() {
        let own: Facts = toml::from_str("tokenizer = 'cl100k_base'").unwrap();
        assert_eq!(own.or(of_family("gpt-4.1")).tokenizer, Some(Tokenizer::Cl100k));
        assert!(toml::from_str::<Facts>("tokenizer = 'o300k'").unwrap_err().message().contains("o200k_base"));
    }

    #[test]
    fn a_model_answers_in_one_way_at_least() {
        let check = |streaming, whole_answers| Facts { streaming, whole_answers, ..Facts::default() }.check().is_ok();
        assert!(check(Some(false), None) && check(None, Some(false)) && check(Some(false), Some(true)));
        assert!(!check(Some(false), Some(false)));
    }

    #[test]
    fn prices_are_of_one_model_and_never_guessed() {
        let input = |model: &str| own(model).price.map(|price| price.input);
        assert_eq!(input("openai:gpt-4.1"), Some(2.0));
        assert_eq!(input("openai-responses:gpt-4.1-2025-04-14"), Some(2.0));
        assert_eq!(input("anthropic:claude-haiku-4-5-20251001"), Some(1.0));
        assert_eq!(input("openai:gpt-5-pro"), None, "a larger model of the family costs more");
        assert_eq!(input("openai:gpt-9"), None);
        assert_eq!(input("ollama:gpt-oss"), None);
        let elsewhere = facts(&"openai:gpt-4.1".parse().unwrap(), "openai", false);
        assert_eq!((elsewhere.price, elsewhere.window), (None, Some(1_047_576)), "a gateway has prices of its own");
    }

    /// The expected prices are those of LiteLLM 1.106.
    #[test]
    fn models_in_clouds_have_the_prices_of_their_names_there() {
        let check = |model: &str, input: f64, output: f64, cached: f64| {
            let price = own(model).price.unwrap_or_else(|| panic!("{model}"));
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            let fits = near(price.input, input) && near(price.output, output) && near(price.cached.unwrap(), cached);
            assert!(fits, "{model}: {price:?}");
        };
        check("bedrock:global.anthropic.claude-opus-5-5", 4.0, 20.0, 0.2);
        check("bedrock:us.anthropic.claude-opus-5-5", 4.4, 22.0, 0.22);
        check("bedrock:eu.anthropic.claude-opus-4-6-v1", 5.5, 27.5, 0.55);
        check("bedrock:jp.anthropic.claude-sonnet-4-5-20250929-v1:0", 3.3, 16.5, 0.33);
        check("bedrock:us-gov.anthropic.claude-opus-4-8", 6.0, 30.0, 0.6);
        check("bedrock:us.amazon.nova-2-lite-v1:0", 0.33, 2.75, 0.0825);
        check("vertex:gemini-3.6-flash", 0.75, 3.75, 0.075);
        check("vertex-anthropic:claude-haiku-4-5@20251001", 1.0, 5.0, 0.1);
        check("vertex-anthropic:claude-sonnet-5-5@default", 2.0, 10.0, 0.1);
        for model in ["bedrock:anthropic.claude-opus-5-5", "bedrock:us.anthropic.claude-opus-9", "azure:gpt-4.1"] {
            assert_eq!(own(model).price, None, "{model}");
        }
        assert_eq!(own("bedrock:us.anthropic.claude-opus-5-5").max_output, Some(128_000));
        let elsewhere = facts(&"vertex:gemini-3.6-flash".parse().unwrap(), "vertex", false);
        assert_eq!((elsewhere.price, elsewhere.window), (None, Some(1_048_576)));
    }

    #[test]
    fn well_known_models_have_a_window() {
        fn check(model: &str, expected: impl Into<Option<u32>>) {
            assert_eq!(of_family(model).window, expected.into(), "{model}");
        }
        check("gpt-4.1-mini", 1_047_576);
        check("gpt-5", 400_000);
        check("o3", 200_000);
        check("openai/gpt-4o-mini", 128_000);
        check("openai/gpt-5.4-mini", 400_000);
        check("openai/gpt-6-sol", 1_050_000);
        check("anthropic/claude-sonnet-4", 200_000);
        check("claude-opus-4-6", 1_000_000);
        check("claude-opus-7", 1_000_000);
        check("google/gemini-2.5-flash:free", 1_048_576);
        check("meta-llama/Llama-3.3-70B", 131_072);
        check("grok-4.7", 500_000);
        check("deepseek-v4-pro", 1_000_000);
        check("qwen3:8b", 40_960);
        check("local", None);
        check("模型", None);
    }

    #[test]
    fn models_that_refuse_forced_calls_are_known_and_their_successors_assumed_to() {
        fn check(model: &str, expected: impl Into<Option<bool>>) {
            assert_eq!(of_family(model).forced_calls, expected.into(), "{model}");
        }
        for model in
            ["claude-opus-5-5", "claude-sonnet-5-5-20261001", "claude-fable-5-1", "claude-mythos-5", "claude-opus-7"]
        {
            check(model, false);
        }
        for model in ["claude-3-5-sonnet", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5-5"] {
            check(model, true);
        }
        check("gpt-4.1", None);
    }
}
