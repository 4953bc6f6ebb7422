//! What runs call: models and search engines, with the keys of the server or with those that came with a request.

use super::Refusal;
use crate::{
    domain::{GivenKeys, ModelName, RunId, RunOptions, SearchApi, SearchFallback, options::MODEL_OPTIONS},
    llm::{self, Llm},
    search::{self, Engine, Engines},
    store::Store,
};

/// Models and search engines that belong together.
#[derive(Clone, Debug)]
pub struct Means {
    pub llm: Llm,
    pub engines: Engines,
    /// Whose keys a request brought: names of providers and search engines; none when the keys are the server's.
    given: Vec<String>,
}

impl Means {
    /// Uses the keys of the server.
    pub fn new(llm: Llm, engines: Engines) -> Self {
        Self { llm, engines, given: Vec::new() }
    }

    /// Uses these keys and no others.
    ///
    /// # Errors
    /// [`Refusal::Keys`] for a key with which no request can be made.
    pub(super) fn with_keys(&self, keys: &GivenKeys) -> Result<Self, Refusal> {
        let bad =
            |error: llm::BadSetting| Refusal::Keys { name: Some(error.provider.to_owned()), problem: error.problem };
        let none = |error: search::Error| Refusal::Keys { name: None, problem: error.to_string() };
        let llm = self.llm.with_keys(keys).map_err(bad)?;
        let given = keys.keys().cloned().collect();
        Ok(Self { llm, engines: self.engines.with_keys(keys).map_err(none)?, given })
    }

    /// Returns whether these are keys of a request. Then nothing is used that the server pays for.
    pub(super) fn are_of_request(&self) -> bool {
        !self.given.is_empty()
    }

    /// Returns the providers and search engines that take a key.
    pub(super) fn key_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.llm.key_names().chain(self.engines.key_names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks that a run with these options can work with them.
    ///
    /// # Errors
    /// [`Refusal`] that says what is missing.
    pub(super) fn check(&self, options: &RunOptions, has_other_sources: bool) -> Result<(), Refusal> {
        for (option, models) in MODEL_OPTIONS.into_iter().zip(options.roles()) {
            for model in models.iter() {
                let Some(variable) = self.llm.missing(model) else { continue };
                return Err(Refusal::MissingKey { option, model: model.clone(), remedy: self.remedy(model, variable) });
            }
        }
        match self.resolve(&options.search_api, has_other_sources || options.has_mcp())? {
            resolved if resolved.is_none() => Ok(()),
            resolved => Ok(self.engines.select(&resolved, &options.search_fallback).map(drop)?),
        }
    }

    /// Checks that a run with these options would use any of the keys that came with its request, and any of those of
    /// models. Who sends keys expects it.
    ///
    /// # Errors
    /// [`Refusal::Keys`] that says what to choose.
    pub(super) fn check_use(&self, options: &RunOptions) -> Result<(), Refusal> {
        let of_engines: Vec<_> = self.engines.key_names_of(options).collect();
        let of_models: Vec<_> = options.models().filter_map(|model| self.llm.key_name(model)).collect();
        let given = || self.given.iter().map(String::as_str);
        let is_used = |name: &str| of_models.contains(&name) || of_engines.contains(&name);
        let for_models: Vec<_> =
            given().filter(|name| self.llm.key_names().any(|own| own == *name) && !of_engines.contains(name)).collect();
        if self.are_of_request() && !given().any(is_used) {
            let problem = format!(
                "this run would use none of these keys ({}): choose a model or a search engine of theirs (options: {}, search_api)",
                self.given.join(", "),
                MODEL_OPTIONS.join(", ")
            );
            return Err(Refusal::Keys { name: None, problem });
        }
        if !for_models.is_empty() && !for_models.iter().any(|name| of_models.contains(name)) {
            let problem = format!(
                "this run would use no model of these keys ({}): choose one (option research_model)",
                for_models.join(", ")
            );
            return Err(Refusal::Keys { name: None, problem });
        }
        Ok(())
    }

    /// Leaves out those engines that are to stand in for `search_api` and cannot: for want of a key of the request, or
    /// because one model of a run is enough.
    pub(super) fn without_unusable(&self, mut fallback: SearchFallback, search_api: &SearchApi) -> SearchFallback {
        if self.engines.check_fallback(&fallback, search_api).is_err() {
            fallback.retain(|name| !self.engines.is_model(name));
        }
        if self.are_of_request() {
            fallback.retain(|name| self.engines.get(name).is_ok());
        }
        fallback
    }

    fn remedy(&self, model: &ModelName, variable: &str) -> String {
        match (self.are_of_request(), self.llm.key_name(model)) {
            (true, Some(name)) => format!("send a key of {name} in api_keys"),
            _ => format!("set {variable}"),
        }
    }

    /// Resolves as [`Engines::resolve`] does; with documents of the thread, or tools of MCP servers, a run can do
    /// without an engine.
    ///
    /// # Errors
    /// [`search::Missing`].
    pub(super) fn resolve(
        &self,
        search_api: &SearchApi,
        has_other_sources: bool,
    ) -> Result<SearchApi, search::Missing> {
        match self.engines.resolve(search_api) {
            Err(search::Missing::Nothing { .. }) if has_other_sources => Ok(SearchApi::none()),
            Err(search::Missing::Nothing { .. }) if self.are_of_request() && search_api.is_auto() => {
                let usable: Vec<_> = self.engines.usable().collect();
                let remedy = format!(
                    "send a key of a search engine in api_keys, or choose what can be used with these (search_api={})",
                    usable.join(", ")
                );
                Err(search::Missing::Nothing { remedy })
            }
            resolved => resolved,
        }
    }

    /// Returns the engine of a run: that of its options, beside the documents of its thread, if it may search any;
    /// `None` where it has the tools of MCP servers alone.
    ///
    /// # Errors
    /// [`search::Missing`].
    pub(super) fn engine_of(
        &self,
        options: &RunOptions,
        uploads_of: Option<RunId>,
        store: &Store,
    ) -> Result<Option<Engine>, search::Missing> {
        let fallback = &options.search_fallback;
        let beside = match self.resolve(&options.search_api, uploads_of.is_some() || options.has_mcp())? {
            resolved if resolved.is_none() => None,
            resolved => Some(self.engines.select(&resolved, fallback)?),
        };
        let Some(run_id) = uploads_of else { return Ok(beside) };
        let store = store.clone();
        Ok(Some(Engine::of_uploads(beside, move || super::uploads::load(store.clone(), run_id))))
    }
}
