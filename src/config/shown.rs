//! The settings as they count, and where each comes from, and what can be used. Nothing secret leaves this file.

use std::sync::Arc;

use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    Config, Origin,
    kind::Kind,
    layers::Layers,
    settings::{self, Fallback, Setting},
};
use crate::{
    domain::{
        ModelName, distinct,
        options::{MODEL_OPTIONS, OptionSpec},
    },
    llm::{
        self, Endpoint, Tuning,
        providers::{PROVIDERS, Provider},
    },
    net,
    search::{self, ROWS, Row},
    store::Database,
};

/// What stands for a secret.
const HIDDEN: &str = "***";

/// A setting as it counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effective {
    /// As in the TOML file.
    pub key: String,
    /// Fit to be shown; null when it is not set.
    pub value: Value,
    pub source: Origin,
}

/// A provider or search engine, and whether runs can use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usable {
    /// As in `provider:model`, or as `search_api` has it.
    pub name: &'static str,
    pub usable: bool,
    /// The variable that would make it usable.
    pub missing: Option<&'static str>,
    /// Some of its settings are made, or an option names it.
    #[serde(skip)]
    pub wanted: bool,
}

impl Config {
    /// Returns which providers, then which search engines, can be used by runs of this process.
    pub fn usable(&self) -> Vec<Usable> {
        let unset = Endpoint::default();
        let missing =
            |provider: &Provider| llm::missing(provider, self.llm.endpoints.get(provider.name).unwrap_or(&unset));
        let used = |name: &str| self.options.models().any(|model| *model.provider == *name);
        let wanted = |name| self.llm.endpoints.get(name).is_some() || used(name);
        let mut all: Vec<_> =
            PROVIDERS.iter().map(|one| Usable::unless(one.name, missing(one), wanted(one.name))).collect();
        all.push(Usable::unless(ModelName::OFFLINE, None, true));
        let missing = |row| self.search.missing(row).map(|setting| setting.variable);
        let wanted = |row: &Row| {
            let is_named = self.options.engines().any(|name| name == row.name);
            let is_set = |setting: &search::Setting| setting.is_own() && self.search.given.contains_key(setting.key);
            is_named || row.settings.iter().any(is_set)
        };
        all.extend(ROWS.iter().map(|row| Usable::unless(row.name, missing(row), wanted(row))));
        all
    }

    /// Returns the names of what can be used, separated by commas.
    pub fn usable_names(&self) -> String {
        // The search of a provider has that one's name.
        distinct(self.usable().into_iter().filter(|one| one.usable).map(|one| one.name)).join(", ")
    }

    /// Returns what to do about runs that have nothing to search.
    pub fn nothing_to_search(&self) -> search::Missing {
        if !self.options.search_api.is_none() {
            return search::nothing(ROWS.iter().copied());
        }
        let usable = ROWS.iter().filter(|row| self.search.missing(row).is_none());
        search::not_wanted(search::automatic(ROWS, &self.search), usable.map(|row| row.name))
    }

    /// Names what cannot be used here, in one line: by name only what somebody meant to use.
    pub fn not_usable(&self) -> Option<String> {
        let (wanted, others): (Vec<_>, Vec<_>) =
            self.usable().into_iter().filter(|one| !one.usable).partition(|one| one.wanted);
        let named = wanted.iter().filter_map(|one| Some(format!("{} (set {})", one.name, one.missing?)));
        let count = others.len();
        let more = if wanted.is_empty() { "" } else { " more" };
        let rest = (count > 0)
            .then(|| format!("{count}{more} without a key or an address: docs/providers.md, docs/settings.md"));
        let parts: Vec<_> = named.chain(rest).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Usable {
    fn unless(name: &'static str, missing: Option<&'static str>, wanted: bool) -> Self {
        Self { name, usable: missing.is_none(), missing, wanted }
    }
}

/// Returns every setting as it counts in `config`, in the order of the table, then the models and roles of the file.
pub fn effective(config: &Config, layers: &Layers<'_>) -> Vec<Effective> {
    let options = serde_json::to_value(&config.options).unwrap_or_default();
    let one = |setting: &Setting| Effective {
        key: setting.key.to_string(),
        value: match setting.kind {
            Kind::Research(spec) => options[spec.name].clone(),
            _ => value(config, layers, setting),
        },
        source: match setting.kind {
            Kind::Research(spec) => option_source(config, layers, spec, &options[spec.name]),
            _ => layers.given(&setting.key).map_or(Origin::Default, |given| given.origin.clone()),
        },
    };
    let mut all: Vec<_> = settings::all().iter().map(one).collect();
    let mut models: Vec<_> = config.llm.models.iter().collect();
    models.sort_by_key(|(model, _)| *model);
    let source = config.file.clone().map_or(Origin::Default, Origin::File);
    let known =
        |(model, facts)| Effective { key: format!("models.\"{model}\""), value: json!(facts), source: source.clone() };
    all.extend(models.into_iter().map(known));
    let mut roles: Vec<_> = config.llm.roles.iter().collect();
    roles.sort_by_key(|(role, _)| *role);
    let tuned = |(role, tuning): (&String, &Arc<Tuning>)| Effective {
        key: format!("roles.{role}"),
        value: json!(**tuning),
        source: source.clone(),
    };
    all.extend(roles.into_iter().map(tuned));
    // Of a server's settings, where it is; the rest may be secret.
    let server = |server: &crate::mcp::Server| Effective {
        key: format!("mcp.{}", server.name),
        value: json!(server.place()),
        source: server.file.clone().map_or(Origin::Default, Origin::File),
    };
    all.extend(config.mcp.servers.iter().map(server));
    all
}

fn value(config: &Config, layers: &Layers<'_>, setting: &Setting) -> Value {
    match (&*setting.key, setting.default) {
        ("data_dir", _) => json!(config.data_dir),
        ("database.url", _) => json!(shown_database(&config.database)),
        (key, Fallback::Computed(text)) => {
            layers.value(key).map_or_else(|| json!(text), |value| fit_to_be_shown(setting.kind, value))
        }
        (key, _) => layers.value(key).map_or(Value::Null, |value| fit_to_be_shown(setting.kind, value)),
    }
}

/// Returns where the value of an option comes from. A role's model may follow from `model` or `research_model`, others
/// from the effort, and each may be brought down to a cap.
fn option_source(config: &Config, layers: &Layers<'_>, spec: &OptionSpec, value: &Value) -> Origin {
    let all = layers.given("model").filter(|_| MODEL_OPTIONS.contains(&spec.name));
    let most = config.caps.most(spec.name).map(u64::from);
    let is_above = |given: &Value| most.zip(given.as_u64()).is_some_and(|(most, given)| given > most);
    if let Some(given) = layers.option(spec.name).or(all) {
        return if is_above(&given.value) { Origin::Follows("limits.option_caps") } else { given.origin.clone() };
    }
    let research = layers.option("research_model").filter(|_| MODEL_OPTIONS.contains(&spec.name));
    if research.is_some_and(|given| given.value == *value && *value != spec.default_value()) {
        return Origin::Follows("options.research_model");
    }
    if most.is_some_and(|most| *value == most && *value != spec.default_value()) {
        return Origin::Follows("limits.option_caps");
    }
    match config.options.effort.options().get(spec.name) {
        Some(usual) if usual == value => Origin::Follows("options.effort"),
        _ => Origin::Default,
    }
}

fn fit_to_be_shown(kind: Kind, value: Value) -> Value {
    match (kind, value) {
        (Kind::Secret | Kind::SigningSecret | Kind::Database, _) => HIDDEN.into(),
        (Kind::Headers, Value::Object(pairs)) => {
            pairs.into_iter().map(|(name, _)| (name, Value::from(HIDDEN))).collect()
        }
        (Kind::Url, Value::String(text)) => {
            Url::parse(text.trim()).map_or_else(|_| HIDDEN.to_owned(), |url| net::shown_url(&url)).into()
        }
        (_, value) => value,
    }
}

/// Returns the address of a database as it may be shown.
pub fn shown_database(database: &Database) -> String {
    match database {
        Database::Sqlite { path, .. } => format!("SQLite in {}", path.display()),
        Database::Postgres { url, .. } => match Url::parse(url.expose_secret()) {
            Ok(url) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                // A path that is more than a name may be the rest of a password.
                let name = Some(url.path()).filter(|path| !path[1.min(path.len())..].contains(['/', '@', ':']));
                format!("Postgres at {}{port}{}", url.host_str().unwrap_or("a local socket"), name.unwrap_or_default())
            }
            Err(_) => "Postgres".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::{super::Flags, *};

    /// Returns the settings of somebody with these variables.
    fn config_of(variables: &[(&str, &str)]) -> Config {
        let environment = |name: &str| {
            let given = variables.iter().chain(&[("HOME", "/home/ada")]).find(|(key, _)| *key == name);
            given.map(|(_, value)| (*value).to_owned())
        };
        Config::read(&Flags::default(), &environment).unwrap()
    }

    #[test]
    fn a_shown_database_has_no_password() {
        let url = SecretString::from("postgres://me:pa55@db.test:5433/fathom");
        assert_eq!(shown_database(&Database::Postgres { url, max_connections: 1 }), "Postgres at db.test:5433/fathom");
    }

    #[test]
    fn what_follows_from_another_setting_says_so() {
        let caps = "max_run_seconds=3600,max_searches=20,max_react_tool_calls=5";
        let config = config_of(&[
            ("FATHOM_EFFORT", "quick"),
            ("FATHOM_OPTION_CAPS", caps),
            ("FATHOM_MAX_PAGES", "7"),
            ("FATHOM_MAX_REACT_TOOL_CALLS", "9"),
            ("FATHOM_RESEARCH_MODEL", "ollama:b"),
        ]);
        let source = |name: &str| {
            let key = format!("options.{name}");
            config.effective.iter().find(|one| one.key == key).unwrap().source.to_string()
        };
        assert_eq!(source("max_run_seconds"), "follows from options.effort");
        assert_eq!(source("max_searches"), "follows from limits.option_caps");
        assert_eq!(source("max_pages"), "environment variable FATHOM_MAX_PAGES");
        assert_eq!(source("max_tokens"), "default");
        assert_eq!(source("max_react_tool_calls"), "follows from limits.option_caps");
        assert_eq!(source("research_model"), "environment variable FATHOM_RESEARCH_MODEL");
        assert_eq!(source("compression_model"), "follows from options.research_model");
    }

    #[test]
    fn what_is_missing_is_named_by_its_variable() {
        let config = config_of(&[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]);
        let missing = |name: &str| config.usable().into_iter().find(|one| one.name == name).unwrap().missing;
        for free in ["openai", "ollama", "offline"] {
            assert_eq!(missing(free), None, "{free}");
        }
        assert_eq!((missing("tavily"), missing("local")), (Some("TAVILY_API_KEY"), Some("FATHOM_DOCS")));
        assert_eq!(missing("groq"), Some("GROQ_API_KEY"));
        assert_eq!(missing("azure"), Some("AZURE_OPENAI_BASE_URL"));
    }

    #[test]
    fn what_to_do_about_nothing_to_search_depends_on_why() {
        let remedy = |variables: &[(&str, &str)]| config_of(variables).nothing_to_search().to_string();
        let nothing = remedy(&[]);
        assert!(nothing.contains("set TAVILY_API_KEY") && nothing.contains("add documents"), "{nothing}");
        let none = remedy(&[("FATHOM_SEARCH_API", "none"), ("TAVILY_API_KEY", "tvly-0123456789")]);
        assert!(none.contains("search_api is none") && none.contains("(search_api=auto, tavily, "), "{none}");
        assert!(!none.contains("TAVILY_API_KEY"), "it is set: {none}");
        let without_keys = remedy(&[("FATHOM_SEARCH_API", "none")]);
        assert!(!without_keys.contains("auto,") && without_keys.contains("wikipedia"), "{without_keys}");
    }

    /// What is shown as usable is what calls can be made to.
    #[test]
    fn what_is_shown_as_missing_is_what_calls_lack() {
        let settings: [&[(&str, &str)]; 5] = [
            &[],
            &[("AZURE_OPENAI_BASE_URL", "https://x.openai.azure.com/openai/v1")],
            &[("AZURE_OPENAI_API_KEY", "key-0123456789")],
            &[("OPENAI_BASE_URL", "https://api.openai.com/v1")],
            &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("GROQ_API_KEY", "  ")],
        ];
        for variables in settings {
            let config = config_of(variables);
            let calls = llm::Llm::new(config.llm.clone()).unwrap();
            let shown = config.usable();
            for provider in PROVIDERS {
                let shown = shown.iter().find(|one| one.name == provider.name).unwrap().missing;
                assert_eq!(
                    shown,
                    calls.missing(&ModelName::new(provider.name, "m")),
                    "{} {variables:?}",
                    provider.name
                );
            }
        }
    }

    /// Dozens that nobody asked for are a number; what is set up halfway is named.
    #[test]
    fn only_what_somebody_meant_to_use_is_named_as_not_usable() {
        let not_usable = |variables: &[(&str, &str)]| config_of(variables).not_usable().unwrap();
        let nothing = not_usable(&[]);
        assert!(nothing.ends_with(" without a key or an address: docs/providers.md, docs/settings.md"), "{nothing}");
        assert!(!nothing.contains("_KEY") && !nothing.contains("more"), "{nothing}");
        let half = [("AZURE_OPENAI_API_KEY", "k"), ("TAVILY_BASE_URL", "https://web.test"), ("FATHOM_MODEL", "groq:m")];
        let half = not_usable(&half);
        for expected in
            ["azure (set AZURE_OPENAI_BASE_URL), ", "groq (set GROQ_API_KEY), ", "tavily (set TAVILY_API_KEY), "]
        {
            assert!(half.contains(expected), "{half}");
        }
        assert!(half.contains(" more without a key"), "{half}");
    }
}
