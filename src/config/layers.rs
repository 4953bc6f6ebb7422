//! Where values come from: flags, then environment, then file, then the table's default; the first that says something
//! wins. In the environment a setting's own variable wins over the name that others have for it. An empty variable says
//! nothing.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use url::Url;

use super::{
    ConfigError, Environment, Flags,
    file::File,
    kind::Kind,
    settings::{self, Fallback, Setting},
};
use crate::{
    domain::options::{MODEL_OPTIONS, OptionKind, OptionSpec},
    llm::providers,
};

/// Who said a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag(&'static str),
    Variable(String),
    /// `name` is what Open Deep Research or the vendor calls `own`.
    OtherVariable {
        name: String,
        own: String,
    },
    File(PathBuf),
    /// Nobody, but it follows from this setting.
    Follows(&'static str),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(formatter, "flag {name}"),
            Self::Variable(name) => write!(formatter, "environment variable {name}"),
            Self::OtherVariable { name, own } => write!(formatter, "environment variable {name}, read as {own}"),
            Self::File(path) => write!(formatter, "file {}", path.display()),
            Self::Follows(key) => write!(formatter, "follows from {key}"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl Origin {
    /// Returns the rank of an origin; the greater one wins.
    fn rank(&self) -> u8 {
        match self {
            Self::Default | Self::Follows(_) => 0,
            Self::File(_) => 1,
            Self::OtherVariable { .. } => 2,
            Self::Variable(_) => 3,
            Self::Flag(_) => 4,
        }
    }

    /// Returns whether a value from here counts although `other` gives one for several settings, this one among them.
    pub fn counts_beside(&self, other: &Self) -> bool {
        self.rank() >= other.rank()
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value that somebody gave.
pub struct SettingValue {
    pub value: Value,
    pub origin: Origin,
}

/// All that was given, checked. Secrets stand here in plain, so it is neither shown nor kept.
pub struct Layers<'a> {
    given: HashMap<&'static str, SettingValue>,
    environment: Environment<'a>,
}

impl<'a> Layers<'a> {
    /// Reads all settings from flags, environment and file.
    ///
    /// # Errors
    /// The first value that cannot be used, among those that win.
    pub fn read(flags: &Flags, environment: Environment<'a>, file: &File) -> Result<Self, ConfigError> {
        Self::of(settings::all().iter(), flags, environment, file)
    }

    /// Reads one setting alone, as [`Self::read`] reads all; nothing is known of the others.
    ///
    /// # Errors
    /// Its value cannot be used.
    pub fn of_one(key: &str, flags: &Flags, environment: Environment<'a>, file: &File) -> Result<Self, ConfigError> {
        Self::of(settings::find(key).into_iter(), flags, environment, file)
    }

    fn of(
        settings: impl Iterator<Item = &'static Setting>,
        flags: &Flags,
        environment: Environment<'a>,
        file: &File,
    ) -> Result<Self, ConfigError> {
        let mut layers = Self { given: HashMap::new(), environment };
        let flags = on_command_line(flags)?;
        for setting in settings {
            let flag = flags.get(&*setting.key).map(String::as_str);
            if let Some(given) = layers.one(setting, flag, file)? {
                layers.given.insert(&setting.key, given);
            }
        }
        Ok(layers)
    }

    fn one(&self, setting: &Setting, flag: Option<&str>, file: &File) -> Result<Option<SettingValue>, ConfigError> {
        let Some((text, origin)) = said(setting, flag, |name| self.variable(name)) else {
            let given = |value: &Value| SettingValue { value: value.clone(), origin: Origin::File(file.path.clone()) };
            return Ok(file.values.get(&*setting.key).map(given));
        };
        let checked = setting.kind.check(setting.kind.read(&text));
        let value = checked.map_err(|expected| ConfigError::Value { place: place(setting, &origin), expected })?;
        Ok(Some(SettingValue { value, origin }))
    }

    /// Returns a variable of the environment that says something.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.trim().is_empty())
    }

    /// Returns what somebody said; `None` when the default counts.
    pub fn given(&self, key: &str) -> Option<&SettingValue> {
        self.given.get(key)
    }

    /// Returns what somebody said of a research option. `model` speaks for the models of all roles: it wins over one of
    /// them that stands in a lower layer.
    pub fn option(&self, name: &str) -> Option<&SettingValue> {
        let given = self.given(&format!("options.{name}"))?;
        let of_all = self.given("model").filter(|_| MODEL_OPTIONS.contains(&name));
        of_all.is_none_or(|all| given.origin.counts_beside(&all.origin)).then_some(given)
    }

    /// Returns the value that counts; `None` when there is no default either, or one that has to be found out.
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

    /// Returns the value that counts, as a type of ours.
    ///
    /// # Errors
    /// The table has no value for it, or one of another form: a row that is wrong.
    pub fn typed<T: DeserializeOwned>(&self, key: &str) -> Result<T, ConfigError> {
        from(key, self.value(key).unwrap_or_default())
    }

    /// Returns all values of one table of the file.
    ///
    /// # Errors
    /// As [`Self::typed`].
    pub fn section<T: DeserializeOwned>(&self, name: &str) -> Result<T, ConfigError> {
        let within = |key: &'static str| Some((key, key.strip_prefix(name)?.strip_prefix('.')?));
        let keys = settings::all().iter().filter_map(|setting| within(&setting.key));
        let values: Map<_, _> = keys.filter_map(|(key, name)| Some((name.to_owned(), self.value(key)?))).collect();
        from(name, Value::Object(values))
    }

    pub fn headers(&self, key: &str) -> Vec<(String, SecretString)> {
        let Some(Value::Object(pairs)) = self.value(key) else { return Vec::new() };
        let text = |value: Value| SecretString::from(value.as_str().unwrap_or_default());
        pairs.into_iter().map(|(name, value)| (name, text(value))).collect()
    }
}

fn from<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, ConfigError> {
    serde_json::from_value(value).map_err(|error| ConfigError::Place(format!("{name} cannot be used: {error}")))
}

/// Returns what a flag or a variable says, and which.
fn said(setting: &Setting, flag: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<(String, Origin)> {
    if let (Some(name), Some(text)) = (setting.flag, flag) {
        return Some((text.to_owned(), Origin::Flag(name)));
    }
    if let Some(text) = variable(&setting.variable) {
        return Some((text, Origin::Variable(setting.variable.to_string())));
    }
    let name = setting.other_variable.as_deref()?;
    let (text, own) = (variable(name)?, setting.variable.to_string());
    Some((as_ours(setting.kind, text), Origin::OtherVariable { name: name.to_owned(), own }))
}

/// Translates a value of Open Deep Research, which has other words for true and false, and other names of some
/// providers.
fn as_ours(kind: Kind, text: String) -> String {
    match kind {
        Kind::Research(spec) if spec.kind == OptionKind::Model => providers::from_original(text.trim()),
        Kind::Research(spec) if spec.kind == OptionKind::Boolean => match &*text.trim().to_ascii_lowercase() {
            "true" | "t" | "yes" | "y" | "on" | "1" => "true".to_owned(),
            "false" | "f" | "no" | "n" | "off" | "0" => "false".to_owned(),
            _ => text,
        },
        _ => text,
    }
}

/// Returns what the command line said, by key; of several `--set` of one option the last counts.
fn on_command_line(flags: &Flags) -> Result<HashMap<String, String>, ConfigError> {
    let single = [
        ("listen", flags.listen.clone()),
        ("http.open", flags.open.then(|| "true".to_owned())),
        ("data_dir", text("--data-dir", flags.data_dir.as_deref())?),
        ("docs", text("--docs", flags.documents.as_deref())?),
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

/// Returns a path as the settings have it: a text.
fn text(flag: &str, path: Option<&Path>) -> Result<Option<String>, ConfigError> {
    let refused = || ConfigError::Value { place: flag.to_owned(), expected: "a path in UTF-8".to_owned() };
    path.map(|path| path.to_str().map(str::to_owned).ok_or_else(refused)).transpose()
}

/// Returns the setting as who gave it knows it.
fn place(setting: &Setting, origin: &Origin) -> String {
    match origin {
        Origin::Flag("--set") => format!("option '{}'", setting.key.trim_start_matches("options.")),
        Origin::Flag(name) => (*name).to_owned(),
        Origin::Variable(name) => name.clone(),
        Origin::OtherVariable { name, own } => format!("{name} (read as {own})"),
        Origin::File(_) | Origin::Follows(_) | Origin::Default => setting.key.to_string(),
    }
}
