//! The settings file: TOML, every name known, every value checked, whether something else overrides it or not.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use serde_json::Value;
use toml::Table;

use super::{ConfigError, settings};
use crate::domain::{ModelName, Price, nearest::nearest};
use crate::files;
use crate::llm::{Facts, KnownModels, Tuning, Tunings};

/// The tables whose names are those of models: what is known of them, and their prices alone.
const MODELS: &str = "models";
const PRICES: &str = "prices";
/// The table whose names are those of roles.
const ROLES: &str = "roles";
/// The list of MCP servers, or a table of them by name.
const MCP: &str = "mcp";

/// The longest settings file, and file of MCP servers.
pub(super) const MAX_BYTES: u64 = 1024 * 1024;

/// A file that was read and checked; empty when there is none.
#[derive(Default)]
pub struct File {
    pub path: PathBuf,
    /// By key of the table of settings. Secrets stand here in plain: neither shown nor kept.
    pub values: HashMap<&'static str, Value>,
    pub models: KnownModels,
    pub roles: Tunings,
    /// As it stands in the file, secrets included; null when it names no MCP servers.
    pub mcp: Value,
}

impl File {
    /// Reads the settings file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, names something unknown, or has a value that cannot be used.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = files::read_text(path, MAX_BYTES).map_err(|error| ConfigError::File {
            path: path.to_owned(),
            problem: format!("cannot be read: {error}"),
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a settings file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        let table = Table::from_str(text).map_err(|error| file.problem(syntax(text, &error)))?;
        for (name, value) in table {
            match (name.as_str(), value) {
                (MODELS, toml::Value::Table(models)) => file.take_models(models)?,
                (ROLES, toml::Value::Table(roles)) => file.take_roles(roles)?,
                (PRICES, toml::Value::Table(prices)) => file.take_prices(prices)?,
                (MCP, servers) => file.mcp = serde_json::to_value(servers).unwrap_or_default(),
                (name, value) => file.take(name, value)?,
            }
        }
        Ok(file)
    }

    /// Takes a value, or each value of a table.
    fn take(&mut self, key: &str, value: toml::Value) -> Result<(), ConfigError> {
        if let Some(setting) = settings::find(key) {
            let value = serde_json::to_value(value).unwrap_or_default();
            // As with variables, an empty text is no value.
            if value.as_str().is_none_or(|text| !text.trim().is_empty()) {
                let value = setting.kind.check(value).map_err(|expected| self.wrong(key, &expected))?;
                self.values.insert(&setting.key, value);
            }
            return Ok(());
        }
        match value {
            toml::Value::Table(table) if is_section(key) => {
                table.into_iter().try_for_each(|(name, value)| self.take(&format!("{key}.{name}"), value))
            }
            _ if is_section(key) || [MODELS, PRICES, ROLES].contains(&key) => Err(self.wrong(key, "a table")),
            value => Err(self.problem(unknown(key, value.is_table()))),
        }
    }

    fn take_prices(&mut self, prices: Table) -> Result<(), ConfigError> {
        for (model, price) in prices {
            let key = format!("{PRICES}.\"{model}\"");
            ModelName::from_str(&model).map_err(|expected| self.wrong(&key, &expected))?;
            let price = price.try_into().ok().filter(Price::is_sound).ok_or_else(|| {
                self.wrong(&key, "a table of input, output and perhaps cached, in dollars per million tokens")
            })?;
            self.models.entry(model).or_default().price.get_or_insert(price);
        }
        Ok(())
    }

    fn take_models(&mut self, models: Table) -> Result<(), ConfigError> {
        for (model, facts) in models {
            let key = format!("{MODELS}.\"{model}\"");
            ModelName::from_str(&model).map_err(|expected| self.wrong(&key, &expected))?;
            let facts: Facts = facts
                .try_into()
                .map_err(|error: toml::de::Error| self.problem(format!("{key}: {}", in_words(error.message()))))?;
            facts.check().map_err(|expected| self.wrong(&key, expected))?;
            let priced = self.models.get(&model).copied().unwrap_or_default();
            self.models.insert(model, facts.or(priced));
        }
        Ok(())
    }

    fn take_roles(&mut self, roles: Table) -> Result<(), ConfigError> {
        for (role, tuning) in roles {
            let key = format!("{ROLES}.{role}");
            if !Tuning::ROLES.contains(&role.as_str()) {
                return Err(self.problem(format!("unknown role '{role}': there are {}", Tuning::ROLES.join(", "))));
            }
            let tuning: Tuning = tuning
                .try_into()
                .map_err(|error: toml::de::Error| self.problem(format!("{key}: {}", in_words(error.message()))))?;
            tuning.check().map_err(|expected| self.wrong(&key, &expected))?;
            self.roles.insert(role, Arc::new(tuning));
        }
        Ok(())
    }

    fn wrong(&self, key: &str, expected: &str) -> ConfigError {
        self.problem(format!("{key} must be {expected}"))
    }

    fn problem(&self, problem: String) -> ConfigError {
        ConfigError::File { path: self.path.clone(), problem }
    }
}

/// Returns what is wrong with the TOML, and in which line; one line without the text itself, which may hold a secret.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    format!("line {line}: {}", error.message().lines().next().unwrap_or_default())
}

fn is_section(key: &str) -> bool {
    sections().any(|section| section == key)
}

/// Lists the tables of every key, `providers` and `providers.openai`; some several times.
fn sections() -> impl Iterator<Item = &'static str> {
    settings::all().iter().flat_map(|setting| setting.key.match_indices('.').map(|(end, _)| &setting.key[..end]))
}

/// Returns what is wrong with a name that nobody knows. Keys are compared with keys and tables with tables.
fn unknown(key: &str, is_table: bool) -> String {
    let meant = match is_table {
        true => nearest(key, sections().chain([MODELS, PRICES, ROLES, MCP])),
        false => nearest(key, settings::all().iter().map(|setting| &*setting.key)),
    };
    let hint = meant.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
    format!("unknown {} '{key}'{hint}", if is_table { "table" } else { "setting" })
}

/// Returns what a value should have been, without the names of our types.
fn in_words(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.split_once("struct ") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|char: char| char.is_alphanumeric() || char == '_');
            format!("{before}a table{rest}")
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<File, String> {
        File::parse(Path::new("f.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_found_under_their_keys() {
        let file = parse(
            "listen = '0.0.0.0:80'\ndocs = ''\n[providers.openai]\nheaders = {A = '1'}\n[options]\nmax_react_tool_calls = 5\n\
             [prices]\n'openai:gpt-4.1' = {input = 2, output = 8.5}\n[models.'openai:gpt-4.1']\nwindow = 9000\n",
        )
        .unwrap();
        let expected = [
            ("listen", json!("0.0.0.0:80")),
            ("providers.openai.headers", json!({"A": "1"})),
            ("options.max_react_tool_calls", json!(5)),
        ];
        assert_eq!(file.values, HashMap::from(expected));
        let price = Some(Price { input: 2.0, output: 8.5, ..Price::default() });
        let facts = Facts { price, window: Some(9_000), ..Facts::default() };
        assert_eq!(file.models, KnownModels::from([("openai:gpt-4.1".to_owned(), facts)]));
        assert!(parse("").unwrap().values.is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse(text).err().as_deref(), Some(&*format!("f.toml: {expected}")), "{text}");
        };
        check("lisen = 'a'", "unknown setting 'lisen'; did you mean 'listen'?");
        check("cors_origins = '*'", "unknown setting 'cors_origins'; did you mean 'http.cors_origins'?");
        check("[http]\nmax_stream = 1", "unknown setting 'http.max_stream'; did you mean 'http.max_streams'?");
        check("[provider.openai]\nx = 1", "unknown table 'provider'; did you mean 'providers'?");
        check("zzzzzz = 1", "unknown setting 'zzzzzz'");
        check("http = 3", "http must be a table");
        check("prices = 3", "prices must be a table");
        check("[http]\nmax_streams = '5'", "http.max_streams must be a whole number from 1 to 1000000");
        check(
            "[options]\nmax_react_tool_calls = 31",
            "options.max_react_tool_calls must be an integer from 1 to 30, not 31",
        );
        check("[log]\nformat = 1979-05-27", "log.format must be one of text, json");
        check(
            "[prices]\n'openai:m' = {input = -1, output = 1}",
            "prices.\"openai:m\" must be a table of input, output and perhaps cached, in dollars per million tokens",
        );
        check("[prices]\nm = {input = 1, output = 1}", "prices.\"m\" must be a model name of the form provider:model");
        check(
            "[roles.writer]\ntemperature = 1",
            "unknown role 'writer': there are research, summarization, compression, final_report",
        );
        check("[roles.research]\ntemperature = 3", "roles.research must be a temperature from 0 to 2");
        check(
            "[roles.research]\nbody = { model = 'x' }",
            "roles.research must be fields of the body that Fathom does not write itself, which model is",
        );
        check(
            "[roles.research]\nservice_tier = 'flex'\nbody = { serviceTier = {} }",
            "roles.research must be fields of the body that Fathom does not write itself, which serviceTier is",
        );
        check("[models.'openai:m']\nprice = 3", "models.\"openai:m\": invalid type: integer `3`, expected a table");
        check("[models]\nm = {}", "models.\"m\" must be a model name of the form provider:model");
        check(
            "[models.'openai:m']\nwindows = 9",
            "models.\"openai:m\": unknown field `windows`, expected one of `window`, `max_output`, `price`, `tools`, `forced_calls`, `schema`, `streaming`, `whole_answers`, `tokenizer`",
        );
        check(
            "[models.'openai:m']\nwindow = 0",
            "models.\"openai:m\" must be a number of tokens from 1 to 100000000 as window and max_output",
        );
        let broken = parse("listen = 'x'\nkey = 'secret").err().unwrap();
        assert!(broken.starts_with("f.toml: line 2: ") && !broken.contains("secret"), "{broken}");
    }
}
