//! Which options count: what was given, and for the rest what can be used here.

use std::str::FromStr;

use super::{ConfigError, layers::Layers};
use crate::{
    domain::{
        ModelName, RunOptions, SearchApi,
        options::{MODEL_OPTIONS, OPTIONS},
    },
    llm::{
        self, Endpoint,
        providers::{PROVIDERS, Provider},
    },
};

/// Chooses options and says why.
pub struct Choice<'a> {
    pub layers: &'a Layers<'a>,
    pub llm: &'a llm::Settings,
    pub tavily: bool,
    pub documents: bool,
}

impl Choice<'_> {
    /// # Errors
    /// None as long as the layers were checked.
    pub fn options(&self, notices: &mut Vec<String>) -> Result<RunOptions, ConfigError> {
        let mut options = RunOptions::default();
        self.default_models(&mut options, notices)?;
        options.search_api = self.default_search(notices);
        for spec in OPTIONS {
            if let Some(given) = self.layers.given(&key(spec.name)) {
                options.set(spec.name, given.value.clone())?;
            }
        }
        Ok(options)
    }

    /// `model` for all roles; else the built-in ones if their provider can be used; else what can.
    fn default_models(&self, options: &mut RunOptions, notices: &mut Vec<String>) -> Result<(), ConfigError> {
        let is_set = |provider: &&Provider| self.llm.endpoints.get(provider.name).is_some_and(Endpoint::is_set);
        let mut set = PROVIDERS.iter().filter(is_set).filter_map(|provider| Some((provider.name, provider.defaults?)));
        let built_in = options.research_model.provider.clone();
        if let Some(model) = self.model("model") {
            options.set_all_models(&model);
        } else if self.llm.endpoints.get(&built_in).is_some_and(Endpoint::is_set) {
            // The built-in ones can be used.
        } else if let Some(model) = self.model(&key("research_model")) {
            options.set_all_models(&model);
        } else if let Some((provider, defaults)) = set.next() {
            for name in MODEL_OPTIONS {
                let model = if name == "summarization_model" { defaults.small } else { defaults.large };
                options.set_text(name, &format!("{provider}:{model}"))?;
            }
        } else if MODEL_OPTIONS.iter().all(|name| self.layers.given(&key(name)).is_none()) {
            options.set_all_models(&ModelName::offline());
            notices.push(
                "no model is configured and no key is set: offline:extractive stands in, which quotes the best passages and writes nothing of its own (set OPENAI_API_KEY, or --model PROVIDER:MODEL)"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn model(&self, key: &str) -> Option<ModelName> {
        ModelName::from_str(self.layers.given(key)?.value.as_str()?).ok()
    }

    fn default_search(&self, notices: &mut Vec<String>) -> SearchApi {
        let chosen = self.layers.given(&key("search_api")).is_some();
        if self.tavily && self.documents && !chosen {
            notices.push(
                "TAVILY_API_KEY is set, so the web is searched and not the documents folder (--set search_api=local)"
                    .to_owned(),
            );
        }
        match (self.tavily, self.documents) {
            (true, _) => SearchApi::Tavily,
            (false, true) => SearchApi::Local,
            (false, false) => SearchApi::None,
        }
    }
}

/// The key of a research option.
fn key(option: &str) -> String {
    format!("options.{option}")
}
