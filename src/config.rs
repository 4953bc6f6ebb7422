//! Every setting: where it comes from, its unit and default; checked once, at start. Nothing reads the environment later.
//!
//! Precedence: command line, then environment, then built-in default. An empty variable counts as not set.

use std::{path::PathBuf, str::FromStr, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::{
    domain::{ModelName, OptionError, RunOptions, SearchApi, options::OPTIONS},
    llm::{self, Endpoint},
    search::tavily,
    store::Database,
};

/// Connections to Postgres per process.
const POSTGRES_CONNECTIONS: u32 = 8;
/// The shortest lease: heartbeats come three times as often.
const SHORTEST_LEASE: u64 = 2;

/// All settings of a process.
#[derive(Clone, Debug)]
pub struct Config {
    pub database: Database,
    /// Holds the embedded database and the document index.
    pub data_dir: PathBuf,
    /// The folder that `search_api=local` searches.
    pub documents: Option<PathBuf>,
    pub llm: llm::Settings,
    pub tavily: Option<tavily::Settings>,
    /// What a run uses unless it says otherwise.
    pub options: RunOptions,
    /// A silent owner keeps its runs for so long.
    pub lease: Duration,
    /// What the user should know about how settings were combined; one sentence each.
    pub notices: Vec<String>,
}

/// What the command line said.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub data_dir: Option<PathBuf>,
    pub documents: Option<PathBuf>,
    /// For all roles.
    pub model: Option<String>,
    /// `NAME=VALUE`, in order.
    pub options: Vec<String>,
}

/// A setting that cannot be used; one line that says what would be accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("--set takes NAME=VALUE, not '{0}'")]
    NotAPair(String),
    #[error("{variable} must be {expected}")]
    Variable { variable: String, expected: String },
    #[error("{0}")]
    Place(String),
}

/// The environment, or a test's idea of it.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Config {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn from_process(flags: &Flags) -> Result<Self, ConfigError> {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
        Self::read(flags, &|name| std::env::var(name).ok())
    }

    /// Combines flags, environment and defaults.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn read(flags: &Flags, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let source = Source { environment };
        let data_dir = match flags.data_dir.clone().or_else(|| source.text("FATHOM_DATA_DIR").map(PathBuf::from)) {
            Some(folder) => folder,
            None => source.platform_data_dir()?,
        };
        let documents = flags.documents.clone().or_else(|| source.text("FATHOM_DOCS").map(PathBuf::from));
        let llm = source.llm()?;
        let tavily = source.tavily()?;
        let mut notices = Vec::new();
        let options =
            Choice { source: &source, flags, llm: &llm, tavily: tavily.is_some(), documents: documents.is_some() }
                .options(&mut notices)?;
        Ok(Self {
            database: source.database(&data_dir),
            data_dir,
            documents,
            llm,
            tavily,
            options,
            lease: Duration::from_secs(source.number("FATHOM_LEASE_SECONDS", 15, SHORTEST_LEASE..=3_600)?),
            notices,
        })
    }
}

/// Reads and checks single variables.
struct Source<'a> {
    environment: Environment<'a>,
}

impl Source<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    fn secret(&self, name: &str) -> Option<SecretString> {
        self.text(name).map(|value| SecretString::from(value.trim().to_owned()))
    }

    fn number(&self, name: &str, default: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.trim().parse().ok().filter(|number| range.contains(number)).ok_or_else(|| ConfigError::Variable {
            variable: name.to_owned(),
            expected: format!("a whole number from {} to {}", range.start(), range.end()),
        })
    }

    fn seconds(&self, name: &str, default: Duration) -> Result<Duration, ConfigError> {
        self.number(name, default.as_secs(), 1..=86_400).map(Duration::from_secs)
    }

    fn url(&self, name: &str) -> Result<Option<Url>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let url =
            Url::from_str(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let expected = "an address such as http://127.0.0.1:8080/v1".to_owned();
        url.map(Some).ok_or_else(|| ConfigError::Variable { variable: name.to_owned(), expected })
    }

    /// `Name=value,Name=value`, as OpenTelemetry's variables have it.
    fn headers(&self, name: &str) -> Result<Vec<(String, SecretString)>, ConfigError> {
        let text = self.text(name).unwrap_or_default();
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (header, value) = pair.split_once('=')?;
            Some((header.trim().to_owned(), SecretString::from(value.trim().to_owned())))
        };
        let expected = || "Name=value pairs, separated by commas".to_owned();
        pairs
            .map(|text| {
                pair(text).ok_or_else(|| ConfigError::Variable { variable: name.to_owned(), expected: expected() })
            })
            .collect()
    }

    fn endpoint(&self, provider: &str) -> Result<Endpoint, ConfigError> {
        Ok(Endpoint {
            base_url: self.url(&format!("{provider}_BASE_URL"))?,
            api_key: self.secret(&format!("{provider}_API_KEY")),
            headers: self.headers(&format!("{provider}_HEADERS"))?,
        })
    }

    fn llm(&self) -> Result<llm::Settings, ConfigError> {
        let defaults = llm::Settings::default();
        let endpoints = llm::Endpoints {
            openai: self.endpoint("OPENAI")?,
            ollama: self.endpoint("OLLAMA")?,
            openrouter: self.endpoint("OPENROUTER")?,
        };
        let calls = self.number("FATHOM_MODEL_CONCURRENCY", defaults.max_concurrent_calls as u64, 1..=100_000)?;
        Ok(llm::Settings {
            endpoints,
            connect_timeout: self.seconds("FATHOM_CONNECT_SECONDS", defaults.connect_timeout)?,
            total_timeout: self.seconds("FATHOM_MODEL_SECONDS", defaults.total_timeout)?,
            idle_timeout: self.seconds("FATHOM_MODEL_IDLE_SECONDS", defaults.idle_timeout)?,
            retry_for: self.seconds("FATHOM_RETRY_SECONDS", defaults.retry_for)?,
            max_concurrent_calls: usize::try_from(calls).unwrap_or(usize::MAX),
            ..defaults
        })
    }

    fn tavily(&self) -> Result<Option<tavily::Settings>, ConfigError> {
        let Some(api_key) = self.secret("TAVILY_API_KEY") else { return Ok(None) };
        let mut settings = tavily::Settings::new(api_key);
        if let Some(url) = self.url("TAVILY_BASE_URL")? {
            settings.base_url = url.to_string();
        }
        let searches = self.number("FATHOM_SEARCH_CONCURRENCY", settings.max_concurrent as u64, 1..=100_000)?;
        settings.max_concurrent = usize::try_from(searches).unwrap_or(usize::MAX);
        Ok(Some(settings))
    }

    fn database(&self, data_dir: &std::path::Path) -> Database {
        match self.secret("DATABASE_URL") {
            Some(url) => Database::Postgres { url, max_connections: POSTGRES_CONNECTIONS },
            None => Database::Sqlite { path: data_dir.join("fathom.db") },
        }
    }

    /// The platform's folder for a program's data.
    fn platform_data_dir(&self) -> Result<PathBuf, ConfigError> {
        let home = || self.text("HOME").map(PathBuf::from);
        let folder = if cfg!(target_os = "macos") {
            home().map(|home| home.join("Library/Application Support"))
        } else if cfg!(windows) {
            self.text("APPDATA").map(PathBuf::from)
        } else {
            self.text("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home().map(|home| home.join(".local/share")))
        };
        folder.map(|folder| folder.join("fathom")).ok_or_else(|| {
            ConfigError::Place("there is no home folder to keep data in: set --data-dir or FATHOM_DATA_DIR".to_owned())
        })
    }
}

/// Chooses options and says why.
struct Choice<'a> {
    source: &'a Source<'a>,
    flags: &'a Flags,
    llm: &'a llm::Settings,
    tavily: bool,
    documents: bool,
}

impl Choice<'_> {
    fn options(&self, notices: &mut Vec<String>) -> Result<RunOptions, ConfigError> {
        let given = self.given()?;
        let mut options = RunOptions::default();
        self.default_models(&given, &mut options, notices)?;
        options.search_api = self.default_search(&given, notices);
        for (name, value) in &given {
            options.set_text(name, value)?;
        }
        Ok(options)
    }

    /// Options set by variables, then by `--set`, in this order; the later one wins.
    fn given(&self) -> Result<Vec<(String, String)>, ConfigError> {
        let variable = |name: &str| self.source.text(&format!("FATHOM_{}", name.to_uppercase()));
        let variables = OPTIONS.iter().filter_map(|spec| Some((spec.name.to_owned(), variable(spec.name)?)));
        let mut given: Vec<_> = variables.collect();
        for pair in &self.flags.options {
            let (name, value) = pair.split_once('=').ok_or_else(|| ConfigError::NotAPair(pair.clone()))?;
            given.push((name.trim().to_owned(), value.to_owned()));
        }
        Ok(given)
    }

    /// `--model` for all roles; else the built-in ones if their provider can be used; else what can.
    fn default_models(
        &self,
        given: &[(String, String)],
        options: &mut RunOptions,
        notices: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        if let Some(model) = self.flags.model.clone().or_else(|| self.source.text("FATHOM_MODEL")) {
            options.set_all_models(&self.model("--model", &model)?);
            return Ok(());
        }
        let endpoints = &self.llm.endpoints;
        if endpoints.openai.api_key.is_some() || endpoints.openai.base_url.is_some() {
            return Ok(());
        }
        let named = given.iter().rev().find(|(name, _)| name == "research_model");
        if let Some((_, model)) = named {
            options.set_all_models(&self.model("research_model", model)?);
        } else if endpoints.openrouter.api_key.is_some() {
            for name in crate::domain::options::MODEL_OPTIONS {
                let model = if name == "summarization_model" { "gpt-4.1-mini" } else { "gpt-4.1" };
                options.set_text(name, &format!("openrouter:openai/{model}"))?;
            }
        } else if !given.iter().any(|(name, _)| name.ends_with("_model")) {
            options.set_all_models(&ModelName::offline());
            notices.push(
                "no model is configured and no key is set: offline:extractive stands in, which quotes the best passages and writes nothing of its own (set OPENAI_API_KEY, or --model PROVIDER:MODEL)"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn model(&self, name: &str, text: &str) -> Result<ModelName, ConfigError> {
        text.trim().parse().map_err(|expected| ConfigError::Variable { variable: name.to_owned(), expected })
    }

    fn default_search(&self, given: &[(String, String)], notices: &mut Vec<String>) -> SearchApi {
        let chosen = given.iter().any(|(name, _)| name == "search_api");
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

/// The address of a database as it may be shown.
pub fn shown_database(database: &Database) -> String {
    match database {
        Database::Sqlite { path } => format!("SQLite in {}", path.display()),
        Database::Postgres { url, .. } => match Url::parse(url.expose_secret()) {
            Ok(url) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                format!("Postgres at {}{port}{}", url.host_str().unwrap_or("a local socket"), url.path())
            }
            Err(_) => "Postgres".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: &Flags, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let environment = |name: &str| {
            let home = [("HOME", "/home/ada")];
            variables.iter().chain(&home).find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Config::read(flags, &environment)
    }

    fn set(options: &[&str]) -> Flags {
        Flags { options: options.iter().map(|&option| option.to_owned()).collect(), ..Flags::default() }
    }

    #[test]
    fn without_any_key_the_offline_model_stands_in_and_says_so() {
        let config = read(&Flags::default(), &[("OPENAI_API_KEY", " ")]).unwrap();
        assert_eq!(config.options.research_model, ModelName::offline());
        assert!(config.notices[0].contains("offline:extractive"));
        assert_eq!(config.options.search_api, SearchApi::None);
    }

    #[test]
    fn a_key_or_an_address_makes_openai_the_default() {
        for variable in [("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")] {
            let config = read(&Flags::default(), &[variable]).unwrap();
            assert_eq!(config.options, RunOptions::default());
            assert!(config.notices.is_empty());
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let variables = [("FATHOM_MAX_REACT_TOOL_CALLS", "4"), ("FATHOM_MODEL", "ollama:a")];
        let config = read(&set(&["max_react_tool_calls=5", "research_model=ollama:b"]), &variables).unwrap();
        assert_eq!(config.options.max_react_tool_calls, 5);
        assert_eq!(config.options.research_model.to_string(), "ollama:b");
        assert_eq!(config.options.compression_model.to_string(), "ollama:a");
    }

    #[test]
    fn the_web_is_searched_when_its_key_is_set_else_the_documents() {
        let documents = Flags { documents: Some("docs".into()), ..Flags::default() };
        assert_eq!(read(&documents, &[]).unwrap().options.search_api, SearchApi::Local);
        let both = read(&documents, &[("TAVILY_API_KEY", "tvly-1"), ("OPENAI_API_KEY", "k")]).unwrap();
        assert_eq!(both.options.search_api, SearchApi::Tavily);
        assert!(both.notices[0].contains("not the documents folder"));
    }

    #[test]
    fn bad_settings_are_named() {
        let message = |flags: &Flags, variables: &[(&str, &str)]| read(flags, variables).unwrap_err().to_string();
        assert_eq!(message(&set(&["max_react_tool_calls"]), &[]), "--set takes NAME=VALUE, not 'max_react_tool_calls'");
        assert_eq!(
            message(&Flags::default(), &[("OPENAI_BASE_URL", "localhost")]),
            "OPENAI_BASE_URL must be an address such as http://127.0.0.1:8080/v1"
        );
        assert_eq!(
            message(&Flags::default(), &[("FATHOM_LEASE_SECONDS", "1")]),
            "FATHOM_LEASE_SECONDS must be a whole number from 2 to 3600"
        );
        assert!(message(&set(&["research_model=acme:x"]), &[]).contains("openai, ollama, openrouter, offline"));
    }

    #[test]
    fn a_shown_database_has_no_password() {
        let url = SecretString::from("postgres://me:pa55@db.test:5433/fathom");
        assert_eq!(shown_database(&Database::Postgres { url, max_connections: 1 }), "Postgres at db.test:5433/fathom");
    }
}
