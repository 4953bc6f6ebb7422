//! Which options count: what was given, and for the rest what can be used here.

use std::str::FromStr;

use super::{
    ConfigError,
    layers::{Layers, Origin, SettingValue},
};
use crate::{
    domain::{
        ModelName, Models, RunOptions, SearchApi,
        options::{EFFORT, MODEL_OPTIONS, OPTIONS, OptionSpec},
    },
    llm::{
        self, Endpoint,
        providers::{PROVIDERS, Provider},
    },
    search::{self, ROWS},
};

/// Chooses options and says why.
pub struct Choice<'a> {
    pub layers: &'a Layers<'a>,
    pub llm: &'a llm::Settings,
    pub search: &'a search::Settings,
}

impl Choice<'_> {
    /// Returns the run options that the layers give, with defaults for the rest.
    ///
    /// # Errors
    /// Engines that cannot be of one run; none else as long as the layers were checked.
    pub fn options(&self, notices: &mut Vec<String>) -> Result<RunOptions, ConfigError> {
        let mut options = RunOptions::default();
        self.default_models(&mut options, notices)?;
        options.search_api = self.default_search(notices);
        // First, since what is chosen beside it wins.
        let is_effort = |spec: &&OptionSpec| spec.name == EFFORT;
        let (effort, others) = (OPTIONS.iter().filter(is_effort), OPTIONS.iter().filter(|spec| !is_effort(spec)));
        for spec in effort.chain(others) {
            if let Some(given) = self.layers.option(spec.name) {
                let is_auto = spec.name == "search_api" && given.value == "auto";
                if !is_auto {
                    options.set(spec.name, given.value.clone())?;
                }
            }
        }
        search::check_fallback(&options.search_fallback, &options.search_api, ROWS.iter().copied())?;
        Ok(options)
    }

    /// Chooses the models: `model` for all roles; else the built-in ones if their provider can be used; else what can.
    fn default_models(&self, options: &mut RunOptions, notices: &mut Vec<String>) -> Result<(), ConfigError> {
        let is_set = |provider: &&Provider| self.llm.endpoints.get(provider.name).is_some_and(Endpoint::is_set);
        let mut set = PROVIDERS.iter().filter(is_set).filter_map(|provider| Some((provider.name, provider.defaults?)));
        let built_in = options.research_model.first().provider.clone();
        if let Some(model) = self.layers.given("model").and_then(model) {
            options.set_all_models(&model);
        } else if self.llm.endpoints.get(&built_in).is_some_and(Endpoint::is_set) {
            // The built-in ones can be used.
        } else if let Some(model) = self.layers.option("research_model").and_then(model) {
            options.set_all_models(&model);
        } else if let Some((provider, defaults)) = set.next() {
            for name in MODEL_OPTIONS {
                let model = if name == "summarization_model" { defaults.small } else { defaults.large };
                options.set_text(name, &format!("{provider}:{model}"))?;
            }
        } else if MODEL_OPTIONS.iter().all(|name| self.layers.option(name).is_none()) {
            options.set_all_models(&ModelName::offline().into());
            notices.push(
                "no model is named, and no key is set that would choose one: offline:extractive stands in, which quotes the best passages and writes nothing of its own (set OPENAI_API_KEY, or --model PROVIDER:MODEL)"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Chooses the first engine that is configured; the documents folder, if the command line names it and nothing an
    /// engine: a key may be exported for something else.
    fn default_search(&self, notices: &mut Vec<String>) -> SearchApi {
        let Some(name) = search::automatic(ROWS, self.search) else { return SearchApi::auto() };
        let given = self.layers.option("search_api").and_then(|given| given.value.as_str());
        let documents = ROWS.iter().find(|row| row.reads_folders() && self.search.is_configured(row));
        let documents = documents.filter(|row| row.name != name && given.is_none_or(|given| given == "auto"));
        let Some(documents) = documents.map(|row| row.name) else { return SearchApi::engine(name) };
        let is_asked_for = given.is_none() && self.layers.given("docs").is_some_and(is_of_command_line);
        let both = format!("or {name},{documents} for both");
        let (chosen, notice) = if is_asked_for {
            let why = "--docs names documents, so they are searched";
            (documents, format!("{why} and not {name} (--set search_api={name}, {both})"))
        } else {
            let why = format!("{name} is configured, so it is searched");
            (name, format!("{why} and not the documents folder (--set search_api={documents}, {both})"))
        };
        notices.push(notice);
        SearchApi::engine(chosen)
    }
}

fn is_of_command_line(given: &SettingValue) -> bool {
    matches!(given.origin, Origin::Flag(_))
}

fn model(given: &SettingValue) -> Option<Models> {
    Models::from_str(given.value.as_str()?).ok()
}
