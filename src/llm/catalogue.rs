//! What is known of models: `catalogue.toml`, embedded, and what the operator's settings say beyond it or against it.
//!
//! Nothing here is needed to call a model: of an unknown one the window is assumed, its abilities are tried, and its
//! price stays unknown.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

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
    /// Can it call tools?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// May a tool call be demanded of it? Some models answer 400 to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_calls: Option<bool>,
    /// Does it take a JSON schema of its answer?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<bool>,
    /// Can it stream its answer?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
}

/// What the operator says, by `provider:model`.
pub type KnownModels = HashMap<String, Facts>;

impl Facts {
    /// These facts, and those of `others` where these say nothing.
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
        }
    }

    /// # Errors
    /// What would have been accepted.
    pub fn check(&self) -> Result<(), &'static str> {
        let windows = [self.window, self.max_output].into_iter().flatten();
        if !windows.into_iter().all(|tokens| (1..=100_000_000).contains(&tokens)) {
            return Err("a number of tokens from 1 to 100000000 as window and max_output");
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
    models: KnownModels,
}

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| toml::from_str(include_str!("catalogue.toml")).expect("a test reads the embedded catalogue"));

/// What the embedded catalogue knows of `model`. `settings_of` is the provider whose account it is, `is_own_cloud` whether
/// the model is called at that provider's own address: what stands at another one may be anything, at any price.
pub(super) fn facts(model: &ModelName, settings_of: &str, is_own_cloud: bool) -> Facts {
    let family = of_family(&model.model);
    if !is_own_cloud {
        return family;
    }
    let name = format!("{settings_of}:{}", model.model);
    let known = CATALOGUE.models.get(&name).or_else(|| CATALOGUE.models.get(undated(&name)?));
    known.map_or(family, |known| known.or(family))
}

/// The models that have an entry of their own, as `provider:model`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.models.keys().map(String::as_str)
}

/// What is known of the family whose name the model's begins with.
pub fn of_family(model: &str) -> Facts {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    // Clouds put a region and the vendor before the name: `us.anthropic.claude-…`.
    let tails = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
    std::iter::once(&*name).chain(tails).find_map(family).unwrap_or_default()
}

fn family(name: &str) -> Option<Facts> {
    let known = |end: usize| name.get(..end).and_then(|prefix| CATALOGUE.families.get(prefix));
    (1..=name.len()).rev().find_map(known).copied()
}

/// The name without the date behind it, as `-2026-03-05` or `-20260305`; `None` when it has none.
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
        for (name, facts) in &CATALOGUE.families {
            assert!(facts.price.is_none() && *name == name.to_ascii_lowercase(), "{name}");
        }
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
