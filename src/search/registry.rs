//! [`Engines`]: all that are configured here, and what is missing for the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use secrecy::SecretString;

use super::{
    Corpus, Engine, Error, Row, Setting, Settings,
    engines::{ROWS, ReadUpload, UploadError},
    web::Shared,
};
use crate::{
    domain::{
        OptionError, Owner, RunOptions, SearchApi, SearchFallback,
        options::{SEARCH_API, SEARCH_FALLBACK},
    },
    net::{ApiClients, Timeouts},
    pages::Parser,
};

/// The engines of a process; clones share connections, limits and indices.
#[derive(Clone, Debug)]
pub struct Engines {
    all: Arc<[Slot]>,
    /// What they were built from.
    shared: Arc<Shared>,
    automatic: Option<&'static str>,
}

/// Why an engine that takes no key cannot be used with the keys of a request.
const FOREIGN_CREDENTIALS: &str =
    "its address has the server's credentials, which runs with keys of their own do not use; choose another engine";

#[derive(Clone, Debug)]
struct Slot {
    row: &'static Row,
    engine: Result<Engine, Missing>,
}

/// Why a run cannot search as it wants to; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("{option}={name} cannot be used: {remedy}")]
    Setting { option: &'static str, name: &'static str, remedy: String },
    #[error("{option}={name} is not a search engine; there are {}", known.join(", "))]
    Unknown { option: &'static str, name: String, known: Vec<&'static str> },
    /// None is configured, or none is wanted.
    #[error("there is nothing to search: {remedy}")]
    Nothing { remedy: String },
}

impl Missing {
    /// Returns the option that asks for it.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Setting { option, .. } | Self::Unknown { option, .. } => option,
            Self::Nothing { .. } => SEARCH_API,
        }
    }

    /// Blames the option that names engines that stand in.
    fn of_fallback(mut self) -> Self {
        if let Self::Setting { option, .. } | Self::Unknown { option, .. } = &mut self {
            *option = SEARCH_FALLBACK;
        }
        self
    }
}

impl Engines {
    /// Builds what `settings` suffice for.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no HTTP client can be built here.
    pub fn new(settings: Settings, parser: Parser) -> Result<Self, Error> {
        Self::of(ROWS, settings, parser)
    }

    /// Builds engines as [`Engines::new`] does, from other rows than those of this build.
    ///
    /// # Errors
    /// As [`Engines::new`].
    pub fn of(rows: &[&'static Row], settings: Settings, parser: Parser) -> Result<Self, Error> {
        // The time of an attempt is kept where attempts are made.
        let timeouts = Timeouts { total: None, ..Timeouts::default() };
        let clients = ApiClients::new(timeouts).map_err(|error| Error::Unavailable(error.to_string()))?;
        let shared = Shared { settings, parser, clients };
        let all: Result<Vec<_>, Error> = rows.iter().map(|row| Slot::new(row, &shared, Setting::remedy)).collect();
        Ok(Self::with(all?, shared))
    }

    fn with(all: Vec<Slot>, shared: Shared) -> Self {
        let rows: Vec<_> = all.iter().map(|slot| slot.row).collect();
        Self { automatic: automatic(&rows, &shared.settings), all: all.into(), shared: Arc::new(shared) }
    }

    /// Returns the same with these keys, by the name of their engine or of the provider whose model searches, and no
    /// others, nor credentials in addresses; an engine that takes no key cannot be used then if its address has any.
    /// Engines for which neither side has a key are shared, with their limits.
    ///
    /// # Errors
    /// As [`Engines::new`].
    pub fn with_keys(&self, keys: &BTreeMap<String, SecretString>) -> Result<Self, Error> {
        let mut shared = Shared::clone(&self.shared);
        for setting in self.all.iter().flat_map(|slot| slot.row.keys()) {
            match keys.get(setting.holder()) {
                Some(key) => shared.settings.given.insert(setting.key, key.clone()),
                None => shared.settings.given.remove(setting.key),
            };
        }
        let addresses = self.all.iter().flat_map(|slot| slot.row.addresses());
        let bared: BTreeSet<_> = addresses.filter(|setting| shared.settings.bare(setting)).map(|own| own.key).collect();
        let remedy = |setting: &Setting| format!("send a key of {} in api_keys", setting.holder());
        let own = &self.shared.settings.given;
        let has_key = |key: &Setting| own.contains_key(key.key) || keys.contains_key(key.holder());
        let slots = self.all.iter().map(|slot| {
            let has_credentials = slot.row.addresses().any(|address| bared.contains(address.key));
            match slot.row.keys().next() {
                Some(_) if slot.engine.is_err() || has_credentials || slot.row.keys().any(has_key) => {
                    Slot::new(slot.row, &shared, remedy)
                }
                None if has_credentials => Ok(slot.lacking(FOREIGN_CREDENTIALS)),
                _ => Ok(slot.clone()),
            }
        });
        let all: Result<Vec<_>, Error> = slots.collect();
        Ok(Self::with(all?, shared))
    }

    /// Returns the names under which engines take keys.
    pub fn key_names(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().flat_map(|slot| slot.row.keys()).map(Setting::holder)
    }

    /// Returns the names under which the engines of a run take keys.
    pub fn key_names_of<'a>(&'a self, options: &'a RunOptions) -> impl Iterator<Item = &'static str> + 'a {
        let is_named = move |slot: &&Slot| options.engines().any(|name| name == slot.row.name);
        self.all.iter().filter(is_named).flat_map(|slot| slot.row.keys()).map(Setting::holder)
    }

    /// Reads a document that its owner gives to a thread.
    ///
    /// # Errors
    /// [`UploadError`].
    pub async fn read_upload(&self, owner: &Owner, name: &str, bytes: &[u8]) -> Result<ReadUpload, UploadError> {
        ReadUpload::of(&self.shared.parser, owner, name, bytes).await
    }

    /// Returns the engine of that name.
    ///
    /// # Errors
    /// [`Missing`] with the setting to make, or the names there are.
    pub fn get(&self, name: &str) -> Result<&Engine, Missing> {
        let slot = self.all.iter().find(|slot| slot.row.name == name);
        let unknown = || Missing::Unknown { option: SEARCH_API, name: name.to_owned(), known: self.names().collect() };
        slot.ok_or_else(unknown)?.engine.as_ref().map_err(Clone::clone)
    }

    /// Puts the engine in place of `auto`, so that a run stored with it searches the same later.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn resolve(&self, search_api: &SearchApi) -> Result<SearchApi, Missing> {
        if search_api.is_none() {
            return Err(not_wanted(self.automatic, self.usable()));
        }
        match self.automatic {
            Some(name) if search_api.is_auto() => Ok(SearchApi::engine(name)),
            None if search_api.is_auto() => Err(self.nothing()),
            _ => Ok(search_api.clone()),
        }
    }

    /// Returns whether an engine may be asked that finds pages of the web.
    pub fn reads_web(&self, search_api: &SearchApi) -> bool {
        let is_folder =
            |name: &str| self.all.iter().any(|slot| slot.row.name == name && slot.row.corpus == Corpus::Documents);
        search_api.is_auto() || search_api.names().any(|name| !is_folder(name))
    }

    /// Returns the engine of a run. One that is named does not stand in, and none of the web for documents alone: who
    /// searches these sends no question to anybody.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn select(&self, search_api: &SearchApi, fallback: &SearchFallback) -> Result<Engine, Missing> {
        let resolved = self.resolve(search_api)?;
        let named: Result<Vec<_>, _> = resolved.names().map(|name| self.get(name).cloned()).collect();
        let others = fallback.names().filter(|name| resolved.names().all(|named| named != *name));
        let others: Result<Vec<_>, _> =
            others.map(|name| self.get(name).cloned().map_err(Missing::of_fallback)).collect();
        let (named, mut others) = (named?, others?);
        if named.iter().all(|engine| engine.corpus() == Corpus::Documents) {
            others.retain(|engine| engine.corpus() == Corpus::Documents);
        }
        Ok(Engine::merged(named, others))
    }

    /// Refuses names that nobody has.
    ///
    /// # Errors
    /// [`OptionError::Invalid`] with those there are.
    pub fn check(&self, search_api: &SearchApi) -> Result<(), OptionError> {
        check_names(search_api, self.all.iter().map(|slot| slot.row))
    }

    /// Checks the engines that stand in, as [`Engines::check`].
    ///
    /// # Errors
    /// As [`check_fallback`].
    pub fn check_fallback(&self, fallback: &SearchFallback, search_api: &SearchApi) -> Result<(), OptionError> {
        check_fallback(fallback, search_api, self.all.iter().map(|slot| slot.row))
    }

    /// Returns whether the engine of that name is a model.
    pub fn is_model(&self, name: &str) -> bool {
        self.all.iter().any(|slot| slot.row.name == name && slot.row.by_model)
    }

    /// Returns the names of all engines that can be used here.
    pub fn usable(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.all.iter().filter(|slot| slot.engine.is_ok()).map(|slot| slot.row.name)
    }

    /// Returns the names of all engines there are.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.all.iter().map(|slot| slot.row.name)
    }

    fn nothing(&self) -> Missing {
        nothing(self.all.iter().map(|slot| slot.row))
    }
}

impl Slot {
    /// Returns the engine of that row, or what is missing for it.
    fn new(row: &'static Row, shared: &Shared, remedy: impl Fn(&Setting) -> String) -> Result<Self, Error> {
        let engine = match shared.settings.missing(row) {
            Some(setting) => Err(Missing::Setting { option: SEARCH_API, name: row.name, remedy: remedy(setting) }),
            None => Ok(Engine::new(row, (row.build)(row, shared)?)),
        };
        Ok(Self { row, engine })
    }

    /// Returns the engine as one that cannot be used.
    fn lacking(&self, remedy: &str) -> Self {
        let (row, remedy) = (self.row, remedy.to_owned());
        Self { row, engine: Err(Missing::Setting { option: SEARCH_API, name: row.name, remedy }) }
    }
}

/// Returns the engine that `auto` stands for: the first that is configured.
pub fn automatic(rows: &[&'static Row], settings: &Settings) -> Option<&'static str> {
    rows.iter().find(|row| settings.is_configured(row)).map(|row| row.name)
}

/// Refuses names that are not among those of all engines, whether they can be used here or not, and several engines
/// that are models.
///
/// # Errors
/// [`OptionError::Invalid`] with those there are.
pub fn check_names(
    search_api: &SearchApi,
    rows: impl Iterator<Item = &'static Row> + Clone,
) -> Result<(), OptionError> {
    let given = NamedEngines { option: SEARCH_API, names: search_api.names().collect(), beside: Vec::new() };
    given.check(rows, "auto, none, or one or several of ", &search_api.to_string())
}

/// Checks engines that stand in for those of `search_api`, as [`check_names`]: one of all these may be a model.
///
/// # Errors
/// [`OptionError::Invalid`] with those there are.
pub fn check_fallback(
    fallback: &SearchFallback,
    search_api: &SearchApi,
    rows: impl Iterator<Item = &'static Row> + Clone,
) -> Result<(), OptionError> {
    let beside = search_api.names().filter(|name| fallback.names().all(|own| own != *name)).collect();
    let given = NamedEngines { option: SEARCH_FALLBACK, names: fallback.names().collect(), beside };
    given.check(rows, "none, or one or several of ", &fallback.to_string())
}

/// Names of engines as an option has them.
struct NamedEngines<'a> {
    option: &'static str,
    names: Vec<&'a str>,
    /// Those that the run asks, too.
    beside: Vec<&'a str>,
}

impl NamedEngines<'_> {
    /// Refuses names that cannot be used; `expected` stands before the names there are.
    fn check(
        &self,
        rows: impl Iterator<Item = &'static Row> + Clone,
        expected: &str,
        given: &str,
    ) -> Result<(), OptionError> {
        let known: Vec<_> = rows.clone().map(|row| row.name).collect();
        let by_model: Vec<_> = rows.filter(|row| row.by_model).map(|row| row.name).collect();
        let are_known = self.names.iter().all(|name| known.contains(name));
        let models = |names: &[&str]| names.iter().filter(|name| by_model.contains(name)).count();
        if are_known && (models(&self.names) == 0 || models(&self.names) + models(&self.beside) <= 1) {
            return Ok(());
        }
        let mut expected = format!("{expected}{}", known.join(", "));
        if are_known {
            let all = if self.beside.is_empty() { "" } else { ", those of search_api included" };
            expected.push_str(&format!(", but one of {} at most{all}", by_model.join(", ")));
        }
        if let Some((_, instead)) = super::ELSEWHERE.iter().find(|(other, _)| self.names.contains(other)) {
            expected.push_str(&format!(" ({instead})"));
        }
        Err(OptionError::Invalid { name: self.option, expected, given: Some(format!("\"{given}\"")) })
    }
}

/// What can be searched without an engine.
const OWN_DOCUMENTS: &str = "add documents to the thread, or name collections of them (collections)";

/// Returns what to say when there is nothing to search and something is to be.
pub fn nothing(rows: impl Iterator<Item = &'static Row> + Clone) -> Missing {
    let by_model: Vec<_> = rows.clone().filter(|row| row.by_model).map(|row| row.name).collect();
    let rows = rows.filter(|row| !row.by_model);
    let required = rows.clone().filter_map(|row| row.settings.iter().find(|s| s.need == super::Need::Required));
    let mut remedies: Vec<_> = required.map(Setting::remedy).collect();
    // What belongs to nobody else comes first: one's own documents.
    remedies.sort_by_key(|remedy| remedy.starts_with("set "));
    let free: Vec<_> = rows.filter(|row| row.settings.iter().all(|s| s.need != super::Need::Required)).collect();
    if !free.is_empty() {
        let names: Vec<_> = free.iter().map(|row| row.name).collect();
        remedies.push(format!("choose an engine that needs no key (search_api={})", names.join(", ")));
    }
    if !by_model.is_empty() {
        remedies.push(format!("let a model's provider search (search_api={})", by_model.join(", ")));
    }
    remedies.push(OWN_DOCUMENTS.to_owned());
    Missing::Nothing { remedy: remedies.join(", or ") }
}

/// Returns what to say when `search_api` is `none` and there are no documents to search; `usable` are the engines that
/// can be used, one of which `auto` stands for.
pub fn not_wanted<'a>(automatic: Option<&'a str>, usable: impl Iterator<Item = &'a str>) -> Missing {
    let choices: Vec<_> = automatic.map(|_| "auto").into_iter().chain(usable).collect();
    let choices = choices.join(", ");
    Missing::Nothing {
        remedy: format!("search_api is none: choose what can be used here (search_api={choices}), or {OWN_DOCUMENTS}"),
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name, self.about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages;

    /// What bounds queries to an engine bounds those of all runs.
    #[test]
    fn engines_without_keys_are_shared_with_runs_that_bring_keys() {
        let own = Engines::new(Settings::default(), Parser::new(pages::Settings::default())).unwrap();
        let with = |name: &str| own.with_keys(&[(name.to_owned(), "k".into())].into()).unwrap();
        let is_shared =
            |with: &Engines, name: &str| Arc::ptr_eq(&own.get(name).unwrap().search, &with.get(name).unwrap().search);
        let (other, its) = (with("tavily"), with("semantic_scholar"));
        for name in ["semantic_scholar", "wikipedia"] {
            assert!(is_shared(&other, name), "{name}");
        }
        assert!(!is_shared(&its, "semantic_scholar"), "its key is the run's");
        let server = Settings::default().with("search.semantic_scholar.api_key", "s");
        let server = Engines::new(server, Parser::new(pages::Settings::default())).unwrap();
        let without = server.with_keys(&[("tavily".to_owned(), "k".into())].into()).unwrap();
        let [own, without] = [&server, &without].map(|engines| engines.get("semantic_scholar").unwrap());
        assert!(!Arc::ptr_eq(&own.search, &without.search), "its key is the server's");
    }

    #[test]
    fn documents_alone_are_no_pages_of_the_web() {
        let engines = Engines::new(Settings::default(), Parser::new(pages::Settings::default())).unwrap();
        let reads_web = |names: &str| engines.reads_web(&names.parse().unwrap());
        assert!(["auto", "tavily", "local,tavily", "wikipedia"].into_iter().all(reads_web));
        assert!(!["local", "none"].into_iter().any(reads_web));
    }

    #[test]
    fn credentials_in_addresses_are_not_used_with_the_keys_of_others() {
        let server = Settings::default()
            .with("search.searxng.base_url", "https://me:pa55@search.test")
            .with("search.brave.base_url", "https://me:pa55@brave.test/v1?key=s3cret&n=1");
        let server = Engines::new(server, Parser::new(pages::Settings::default())).unwrap();
        assert!(server.get("searxng").is_ok());
        let with = server.with_keys(&[("brave".to_owned(), "k".into())].into()).unwrap();
        let refused = with.get("searxng").unwrap_err().to_string();
        assert_eq!(refused, format!("search_api=searxng cannot be used: {FOREIGN_CREDENTIALS}"));
        assert!(with.get("brave").is_ok());
        assert_eq!(with.shared.settings.text("search.brave.base_url"), Some("https://brave.test/v1?n=1"));
    }
}
