//! A search engine's row: its name, what it needs, and how it is built. Settings, `fathom config`, `fathom doctor`, the
//! banner, the accepted values of `search_api` and the example files follow from the rows.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{Error, Filter, Search, web::Shared};
use crate::net::{self, RetryPolicy};

/// Attempts that may end without an answer in time: with the time limit of each, ten minutes. They cost nothing.
const TIMEOUTS: u32 = 10;

/// All that the rest of the crate has to know of an engine.
#[derive(Debug)]
pub struct Row {
    /// As `search_api` has it: `[a-z0-9_]+`.
    pub name: &'static str,
    /// What it searches, for people; goes on after the name and a colon.
    pub about: &'static str,
    pub corpus: Corpus,
    pub returns: Returns,
    /// What it restricts by itself. Sites and dates of results are checked for every engine.
    pub filters: &'static [Filter],
    /// A longer query is refused with that reason, which the model reads; of Unicode scalar values.
    pub max_query_chars: usize,
    /// The same of its words, between spaces.
    pub max_query_words: usize,
    /// Whether it is given sites as words of the query, such as `site:example.org`.
    pub sites_in_query: bool,
    /// What one search costs, for people.
    pub cost: &'static str,
    /// The least time between two requests of a process.
    pub every: Duration,
    /// Requests at once, where the engine takes fewer than the settings allow.
    pub at_once: Option<usize>,
    /// Whether a model of its vendor searches, billed by tokens and searches. Then `auto` never stands for it, and a
    /// run has one such engine at most.
    pub by_model: bool,
    /// Whether it answers a wrong key with a 403 that says nothing of keys; one that is a web page is a firewall's all
    /// the same.
    pub forbids_wrong_keys: bool,
    pub settings: &'static [Setting],
    /// Called once the required settings are there.
    pub build: Build,
}

impl Row {
    /// An engine of the web of which nothing is known yet; rows are written on it.
    pub const WEB: Self = Self {
        name: "",
        about: "",
        corpus: Corpus::Web,
        returns: Returns::Excerpts,
        filters: &[],
        max_query_chars: 1_000,
        max_query_words: usize::MAX,
        sites_in_query: false,
        cost: "nothing",
        every: Duration::ZERO,
        at_once: None,
        by_model: false,
        forbids_wrong_keys: false,
        settings: &[],
        build: |_, _| Err(Error::Unavailable(String::new())),
    };
}

impl Row {
    /// Returns its settings that are keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Setting> + use<> {
        self.settings.iter().filter(|setting| setting.value == Value::Secret)
    }

    /// Returns whether it searches folders of this machine, which are indexed here; all others are asked.
    pub fn reads_folders(&self) -> bool {
        self.settings.iter().any(|setting| setting.value == Value::Folders)
    }

    /// Returns its settings that are addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &'static Setting> + use<> {
        self.settings.iter().filter(|setting| setting.value == Value::Url)
    }
}

/// How much text comes with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Returns {
    /// That of the page.
    Pages,
    /// A few lines; the page is fetched.
    Excerpts,
    /// All there is to read without the paper itself, or a whole post; nothing is fetched.
    Abstracts,
}

impl Returns {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Excerpts => "excerpts",
            Self::Abstracts => "abstracts",
        }
    }
}

/// Makes the engine of a row out of what all engines share.
pub type Build = fn(&'static Row, &Shared) -> Result<Box<dyn Search>, Error>;

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    Web,
    /// Documents of the operator's own, in a folder or behind an address; a run that searches these alone asks nobody
    /// else.
    Documents,
}

impl Corpus {
    /// Returns the word that the description of `search_web` knows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Documents => "documents",
        }
    }
}

/// A setting of one engine.
#[derive(Debug)]
pub struct Setting {
    /// Its path in the TOML file: `search.NAME.api_key`.
    pub key: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its command line flag.
    pub flag: Option<&'static str>,
    pub value: Value,
    pub need: Need,
    /// What it is for.
    pub meaning: &'static str,
    /// What stands in the example file.
    pub example: &'static str,
    /// The name under which requests bring it, when a provider of models has the engine's.
    pub sent_as: Option<&'static str>,
}

/// How the value of a setting looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Never shown.
    Secret,
    /// Shown without user, password and query.
    Url,
    /// Folders, written as in `PATH`.
    Folders,
    Number {
        min: u64,
        max: u64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    Text,
}

/// What an engine does without the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot be used.
    Required,
    Optional,
    /// It uses this.
    Default(&'static str),
}

impl Setting {
    /// Returns whether it is the engine's own, and not one of the provider of models whose search it is.
    pub fn is_own(&self) -> bool {
        !self.key.starts_with("providers.")
    }

    /// Returns the name under which requests bring it: of the engine or of the provider of models that it belongs to
    /// (`tavily` of `search.tavily.api_key`).
    pub fn holder(&self) -> &'static str {
        self.sent_as.or_else(|| self.key.split('.').nth(1)).unwrap_or_default()
    }

    /// Returns a key without which the engine cannot be used.
    pub const fn key(key: &'static str, variable: &'static str, meaning: &'static str) -> Self {
        Self { value: Value::Secret, need: Need::Required, ..Self::optional(key, variable, meaning, "…") }
    }

    /// Returns a key that the engine can do without.
    pub const fn optional_key(key: &'static str, variable: &'static str, meaning: &'static str) -> Self {
        Self { need: Need::Optional, ..Self::key(key, variable, meaning) }
    }

    /// Returns the engine's address, with that default.
    pub const fn address(key: &'static str, variable: &'static str, default: &'static str) -> Self {
        Self { value: Value::Url, need: Need::Default(default), ..Self::optional(key, variable, "its address", "") }
    }

    /// Returns a text that it can do without; the others begin with it, so that a row names what is particular.
    pub const fn optional(
        key: &'static str,
        variable: &'static str,
        meaning: &'static str,
        example: &'static str,
    ) -> Self {
        Self { key, variable, flag: None, value: Value::Text, need: Need::Optional, meaning, example, sent_as: None }
    }

    /// Returns what to do when it is missing.
    pub fn remedy(&self) -> String {
        match (self.value, self.flag) {
            (Value::Folders, Some(flag)) => format!("name a documents folder with {flag} DIR or {}", self.variable),
            _ => format!("set {}", self.variable),
        }
    }
}

/// What the operator said about search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The instruction of models that search.
    pub instruction: Arc<str>,
    /// Values of the rows' settings, by key.
    pub given: BTreeMap<&'static str, SecretString>,
    /// Where an index of documents is kept.
    pub index: PathBuf,
    /// For one attempt at a query.
    pub timeout: Duration,
    pub retry: RetryPolicy,
    /// Queries of one engine at once, over all runs of this process.
    pub max_concurrent: usize,
    pub max_answer_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let retry = RetryPolicy {
            max_wait: Duration::from_secs(4 * 3_600),
            first_within: Duration::from_millis(500),
            timeouts: TIMEOUTS,
        };
        Self {
            instruction: "".into(),
            given: BTreeMap::new(),
            index: PathBuf::from("index"),
            timeout: Duration::from_secs(60),
            retry,
            max_concurrent: 2_000,
            max_answer_bytes: 20 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// Gives a value to the setting of that key.
    pub fn with(mut self, key: &'static str, value: impl Into<SecretString>) -> Self {
        self.given.insert(key, value.into());
        self
    }

    pub fn secret(&self, key: &str) -> Option<&SecretString> {
        self.given.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.secret(key).map(ExposeSecret::expose_secret)
    }

    /// Takes user, password and secret parameters out of the address that was given; `false` when it has none.
    pub(super) fn bare(&mut self, address: &Setting) -> bool {
        let Some(url) = self.text(address.key).and_then(|text| Url::parse(text).ok()) else { return false };
        let bare = net::without_credentials(&url);
        let has_credentials = bare != url;
        if has_credentials {
            self.given.insert(address.key, String::from(bare).into());
        }
        has_credentials
    }

    /// Returns the engine's key, if one is given.
    pub fn key_of(&self, row: &Row) -> Option<&SecretString> {
        self.secret(row.keys().next()?.key)
    }

    /// Returns the value of a setting, or its default.
    pub fn value<'a>(&'a self, setting: &'a Setting) -> Option<&'a str> {
        self.text(setting.key).or(match setting.need {
            Need::Default(text) => Some(text),
            Need::Required | Need::Optional => None,
        })
    }

    /// Returns the engine's address, with a path behind it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it is none.
    pub fn endpoint(&self, row: &Row, path: &str) -> Result<Url, Error> {
        let setting = row.settings.iter().find(|setting| setting.value == Value::Url);
        let text = setting.and_then(|setting| self.value(setting)).unwrap_or_default();
        let mut url = Url::parse(text.trim_end_matches('/')).map_err(|error| {
            let key = setting.map_or(row.name, |setting| setting.key);
            Error::Unavailable(format!("{key} is not an address: {error}"))
        })?;
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
        Ok(url)
    }

    /// Returns the first setting that the engine lacks.
    pub fn missing(&self, row: &Row) -> Option<&'static Setting> {
        let required = |setting: &&Setting| setting.need == Need::Required;
        row.settings.iter().filter(required).find(|setting| !self.given.contains_key(setting.key))
    }

    /// Returns whether the operator set the engine up. One that needs nothing is merely usable, and so is one that
    /// has the key of a provider of models.
    pub fn is_configured(&self, row: &Row) -> bool {
        let required = !row.by_model && row.settings.iter().any(|setting| setting.need == Need::Required);
        required && self.missing(row).is_none()
    }

    /// Returns the folders of documents, if any is named; several are written as in `PATH`.
    pub fn folder(&self, rows: &[&'static Row]) -> Option<&Path> {
        self.text(folder_key(rows)?).map(Path::new)
    }

    /// Sets the folders of documents that are searched, written likewise.
    pub fn set_folder(&mut self, rows: &[&'static Row], folder: &str) {
        if let Some(key) = folder_key(rows) {
            self.given.insert(key, folder.into());
        }
    }
}

/// Returns folders as one text, as in `PATH`.
pub fn join_folders(folders: &[PathBuf]) -> PathBuf {
    let separator = if cfg!(windows) { ";" } else { ":" };
    folders.iter().map(|path| path.as_os_str()).collect::<Vec<_>>().join(separator.as_ref()).into()
}

/// Returns the folders of such a text; one that is a folder as a whole is that one.
pub fn split_folders(text: &Path) -> Vec<PathBuf> {
    if text.is_dir() {
        return vec![text.to_owned()];
    }
    std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty()).collect()
}

fn folder_key(rows: &[&'static Row]) -> Option<&'static str> {
    rows.iter().flat_map(|row| row.settings).find(|setting| setting.value == Value::Folders).map(|setting| setting.key)
}
