//! Where values come from: flags, then environment, then file, then the table's default; the first that says something
//! wins. An empty variable says nothing.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::{
    ConfigError, Environment, Flags,
    file::File,
    settings::{self, Fallback, Setting},
};
use crate::domain::options::OptionSpec;

/// Who said a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag(&'static str),
    Variable(String),
    File(PathBuf),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(formatter, "flag {name}"),
            Self::Variable(name) => write!(formatter, "environment variable {name}"),
            Self::File(path) => write!(formatter, "file {}", path.display()),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value that somebody gave.
pub struct Given {
    pub value: Value,
    pub origin: Origin,
}

/// All that was given, checked. Secrets stand here in plain, so it is neither shown nor kept.
pub struct Layers<'a> {
    given: HashMap<&'static str, Given>,
    environment: Environment<'a>,
}

impl<'a> Layers<'a> {
    /// # Errors
    /// The first value that cannot be used, among those that win.
    pub fn read(flags: &Flags, environment: Environment<'a>, file: &File) -> Result<Self, ConfigError> {
        let mut layers = Self { given: HashMap::new(), environment };
        let flags = on_command_line(flags)?;
        for setting in settings::all() {
            let flag = flags.get(&*setting.key).map(String::as_str);
            if let Some(given) = layers.one(setting, flag, file)? {
                layers.given.insert(&setting.key, given);
            }
        }
        Ok(layers)
    }

    fn one(&self, setting: &Setting, flag: Option<&str>, file: &File) -> Result<Option<Given>, ConfigError> {
        let variable = || self.variable(&setting.variable);
        let (text, origin) = match (setting.flag, flag, variable()) {
            (Some(name), Some(text), _) => (text.to_owned(), Origin::Flag(name)),
            (_, _, Some(text)) => (text, Origin::Variable(setting.variable.to_string())),
            _ => {
                let given = |value: &Value| Given { value: value.clone(), origin: Origin::File(file.path.clone()) };
                return Ok(file.values.get(&*setting.key).map(given));
            }
        };
        let checked = setting.kind.check(setting.kind.read(&text));
        let value = checked.map_err(|expected| ConfigError::Value { place: place(setting, &origin), expected })?;
        Ok(Some(Given { value, origin }))
    }

    /// A variable of the environment that says something.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    /// What somebody said; `None` when the default counts.
    pub fn given(&self, key: &str) -> Option<&Given> {
        self.given.get(key)
    }

    /// What counts; `None` when there is no default either, or one that has to be found out.
    pub fn value(&self, key: &str) -> Option<Value> {
        if let Some(given) = self.given(key) {
            return Some(given.value.clone());
        }
        let setting = settings::find(key)?;
        match setting.default {
            Fallback::Value(text) => Some(setting.kind.read(text)),
            Fallback::Computed(_) | Fallback::Unset => None,
        }
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(str::to_owned)
    }

    pub fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    pub fn secret(&self, key: &str) -> Option<SecretString> {
        self.text(key).map(SecretString::from)
    }

    pub fn url(&self, key: &str) -> Option<Url> {
        self.text(key)?.parse().ok()
    }

    pub fn flag(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| value == true)
    }

    /// A number that has no default.
    pub fn optional_number(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    /// A number of the table, which has a default.
    pub fn number(&self, key: &str) -> u64 {
        self.optional_number(key).expect("a test reads every number there is")
    }

    pub fn count(&self, key: &str) -> usize {
        usize::try_from(self.number(key)).unwrap_or(usize::MAX)
    }

    pub fn seconds(&self, key: &str) -> Duration {
        Duration::from_secs(self.number(key))
    }

    pub fn headers(&self, key: &str) -> Vec<(String, SecretString)> {
        let Some(Value::Object(pairs)) = self.value(key) else { return Vec::new() };
        let text = |value: Value| SecretString::from(value.as_str().unwrap_or_default());
        pairs.into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    pub fn list(&self, key: &str) -> Vec<String> {
        let Some(Value::Array(values)) = self.value(key) else { return Vec::new() };
        values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// What the command line said, by key; of several `--set` of one option the last counts.
fn on_command_line(flags: &Flags) -> Result<HashMap<String, String>, ConfigError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let single = [
        ("listen", flags.listen.clone()),
        ("http.open", flags.open.then(|| "true".to_owned())),
        ("data_dir", flags.data_dir.as_deref().map(text)),
        ("docs", flags.documents.as_deref().map(text)),
        ("model", flags.model.clone()),
    ];
    let mut given: HashMap<_, _> =
        single.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    for pair in &flags.options {
        let (name, value) = pair.split_once('=').ok_or_else(|| ConfigError::NotAPair(pair.clone()))?;
        let spec = OptionSpec::find(name.trim())?;
        given.insert(format!("options.{}", spec.name), value.to_owned());
    }
    Ok(given)
}

/// The setting as who gave it knows it.
fn place(setting: &Setting, origin: &Origin) -> String {
    match origin {
        Origin::Flag("--set") => format!("option '{}'", setting.key.trim_start_matches("options.")),
        Origin::Flag(name) => (*name).to_owned(),
        Origin::Variable(name) => name.clone(),
        Origin::File(_) | Origin::Default => setting.key.to_string(),
    }
}
