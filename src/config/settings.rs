//! The table of settings: one row each, from which reading, `fathom config`, the hints about unknown names and the
//! tests of `.env.example` and `fathom.example.toml` follow. A new setting begins with a row here.

use std::{borrow::Cow, net::SocketAddr, str::FromStr, sync::LazyLock};

use reqwest::header::HeaderName;
use serde::Deserialize as _;
use serde_json::Value;
use url::Url;

use crate::{
    domain::{
        Caps, ModelName, SearchApi,
        caps::unknown_provider,
        options::{OPTIONS, OptionError, OptionKind, OptionSpec},
    },
    llm::{
        ProviderLimits,
        providers::{self, Provider},
    },
    search, telemetry, webhooks,
};

/// The variable that names the file; the one setting that cannot stand in it.
pub const FILE_VARIABLE: &str = "FATHOM_CONFIG";

/// One row.
#[derive(Debug)]
pub struct Setting {
    /// Its path in the TOML file: `http.max_streams`.
    pub key: Cow<'static, str>,
    /// Its environment variable.
    pub variable: Cow<'static, str>,
    /// Its command line flag.
    pub flag: Option<&'static str>,
    pub kind: Kind,
    pub default: Fallback,
    /// What it is for, units included.
    pub meaning: &'static str,
}

/// What counts when nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// A value, written as in a variable.
    Value(&'static str),
    /// Found out at start; how, in words.
    Computed(&'static str),
    Unset,
}

/// How a value looks, and whether it may be shown.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    /// Never shown.
    Secret,
    /// The same, in the form of Standard Webhooks.
    SigningSecret,
    /// The address of a Postgres database; shown without its user and password.
    Database,
    Path,
    /// Shown without user, password and query.
    Url,
    /// A table in the file, `Name=value,Name=value` in a variable. Values are never shown.
    Headers,
    /// Both ends are allowed.
    Number {
        min: u64,
        max: u64,
    },
    Boolean,
    Choice(&'static [&'static str]),
    /// Where to listen.
    Address,
    /// A list in the file, separated by commas in a variable.
    Origins,
    /// Names of hosts, without ports: a list in the file, separated by commas in a variable.
    Hosts,
    /// Names of models, in which `*` stands for any text: a list in the file, separated by commas in a variable.
    Models,
    /// A list in the file, separated by commas in a variable: `NAME=NUMBER` of research options.
    Caps,
    /// A list in the file, separated by commas in a variable: `PROVIDER.NAME=NUMBER`.
    ProviderLimits,
    HeaderName,
    /// Directives of the log.
    Filter,
    Model,
    /// A research option.
    Research(&'static OptionSpec),
}

/// Every setting but the file's own place and its tables of models, in the order they are shown.
pub fn all() -> &'static [Setting] {
    static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let (before, behind) = TABLE.split_at(TABLE.iter().position(|row| row.0.starts_with("timeouts.")).unwrap_or(0));
        let mut all: Vec<Setting> = before.iter().map(Setting::of).collect();
        let own = providers::PROVIDERS.iter().filter(|provider| provider.settings_of.is_none());
        all.extend(own.flat_map(Setting::of_provider));
        all.extend(search::ROWS.iter().flat_map(|row| row.settings).map(Setting::of_engine));
        all.extend(behind.iter().map(Setting::of));
        all.extend(OPTIONS.iter().map(Setting::of_option));
        all
    });
    &ALL
}

/// The row of that key.
pub fn find(key: &str) -> Option<&'static Setting> {
    all().iter().find(|setting| setting.key == key)
}

/// Key, variable, flag, kind, default, meaning.
type Row = (&'static str, &'static str, Option<&'static str>, Kind, Fallback, &'static str);

impl Setting {
    /// Does it say where requests with keys and questions go, or who may come in?
    pub fn leads_out(&self) -> bool {
        let opens = matches!(
            &*self.key,
            "http.open"
                | "http.owner_header"
                | "http.separate_owners"
                | "mcp_file"
                | "limits.request_mcp"
                | "options.mcp_config"
        );
        opens || matches!(self.kind, Kind::Url | Kind::Headers | Kind::Database | Kind::Origins | Kind::Hosts)
    }

    fn of(&(key, variable, flag, kind, default, meaning): &Row) -> Self {
        Self { key: key.into(), variable: variable.into(), flag, kind, default, meaning }
    }

    fn of_engine(setting: &'static search::Setting) -> Self {
        Self {
            key: setting.key.into(),
            variable: setting.variable.into(),
            flag: setting.flag,
            kind: match setting.value {
                search::Value::Secret => Kind::Secret,
                search::Value::Url => Kind::Url,
                search::Value::Folder => Kind::Path,
                search::Value::Text => Kind::Text,
            },
            default: match setting.need {
                search::Need::Default(text) => Computed(text),
                search::Need::Required | search::Need::Optional => Unset,
            },
            meaning: setting.meaning,
        }
    }

    fn of_provider(provider: &Provider) -> [Self; 3] {
        let setting = |name: &str, variable: &'static str, kind, default, meaning| Self {
            key: format!("providers.{}.{name}", provider.name).into(),
            variable: variable.into(),
            flag: None,
            kind,
            default,
            meaning,
        };
        let variables = provider.variables;
        let address = provider.base_url.map_or(Unset, Computed);
        [
            setting("api_key", variables.api_key, Kind::Secret, Unset, "key of the provider, where it wants one"),
            setting(
                "base_url",
                variables.base_url,
                Kind::Url,
                address,
                "address of its API, with /v1 where it has one",
            ),
            setting("headers", variables.headers, Kind::Headers, Unset, "sent with every request"),
        ]
    }

    fn of_option(spec: &'static OptionSpec) -> Self {
        let default = match spec.default {
            "null" => Unset,
            text => Is(text.trim_matches('"')),
        };
        Self {
            key: format!("options.{}", spec.name).into(),
            variable: format!("FATHOM_{}", spec.name.to_uppercase()).into(),
            flag: Some("--set"),
            kind: Kind::Research(spec),
            default,
            meaning: spec.meaning,
        }
    }
}

const SECONDS: Kind = Kind::Number { min: 1, max: 86_400 };
const CALLS: Kind = Kind::Number { min: 1, max: 100_000 };
const RUNS: Kind = Kind::Number { min: 1, max: 1_000_000 };

use Fallback::{Computed, Unset, Value as Is};

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("listen", "FATHOM_LISTEN", Some("--listen"), Kind::Address, Is("127.0.0.1:8080"), "where the service listens"),
    ("data_dir", "FATHOM_DATA_DIR", Some("--data-dir"), Kind::Path, Computed("the platform's data folder"), "holds the embedded database, the document index and the marks of processes"),
    ("model", "FATHOM_MODEL", Some("--model"), Kind::Model, Unset, "model for every role, PROVIDER:MODEL"),

    ("mcp_file", "FATHOM_MCP_FILE", None, Kind::Path, Unset, "JSON file of MCP servers in the form of other programs (mcpServers), beside those in the settings file"),

    ("database.url", "DATABASE_URL", None, Kind::Database, Computed("SQLite in the data folder"), "the Postgres database to use"),
    ("database.connections", "FATHOM_DB_CONNECTIONS", None, Kind::Number { min: 1, max: 1_000 }, Is("8"), "connections to Postgres per process, beside three that commit, wake others and listen"),
    ("database.sqlite_synchronous", "FATHOM_SQLITE_SYNCHRONOUS", None, Kind::Choice(&["full", "normal"]), Is("full"), "does the embedded database wait for the disk at each commit (full), or may a loss of power cost the last ones (normal)?"),
    ("database.event_retention_days", "FATHOM_EVENT_RETENTION_DAYS", None, Kind::Number { min: 1, max: 36_500 }, Unset, "how long events of final runs are kept; unset: as long as the thread"),

    ("http.cors_origins", "FATHOM_CORS_ORIGINS", None, Kind::Origins, Unset, "pages of these origins may call the API from a browser; * for all"),
    ("http.open", "FATHOM_OPEN", Some("--open"), Kind::Boolean, Is("false"), "may the service listen beyond loopback, where everybody who reaches it may use it?"),
    ("http.allowed_hosts", "FATHOM_ALLOWED_HOSTS", None, Kind::Hosts, Unset, "names under which the service is reached, beside addresses and localhost; * for any"),
    ("http.http2", "FATHOM_HTTP2", None, Kind::Boolean, Is("false"), "HTTP/2 without TLS, for proxies and programs that begin with it"),
    ("http.max_buffered_bytes", "FATHOM_MAX_BUFFERED_BYTES", None, Kind::Number { min: 1 << 20, max: 1 << 31 }, Is("268435456"), "bytes of request bodies and unread answers held at the same time, over all connections"),
    ("http.max_body_bytes", "FATHOM_MAX_BODY_BYTES", None, Kind::Number { min: 1_024, max: 1 << 30 }, Is("2097152"), "longest request body, bytes"),
    ("http.owner_header", "FATHOM_OWNER_HEADER", None, Kind::HeaderName, Unset, "request header that names the owner, set by a trusted proxy; unset: one owner"),
    ("http.separate_owners", "FATHOM_SEPARATE_OWNERS", None, Kind::Boolean, Is("false"), "does each owner see only their own threads and runs? Otherwise owners only take turns"),
    ("http.max_connections", "FATHOM_MAX_CONNECTIONS", None, RUNS, Is("24000"), "connections open at the same time; idle ones give way to new ones"),
    ("http.max_streams", "FATHOM_MAX_STREAMS", None, RUNS, Is("20000"), "event streams open at the same time"),
    ("http.grace_seconds", "FATHOM_GRACE_SECONDS", None, Kind::Number { min: 0, max: 3_600 }, Is("10"), "time for requests and runs to settle at shutdown"),

    ("timeouts.connect_seconds", "FATHOM_CONNECT_SECONDS", None, SECONDS, Is("10"), "for opening a connection to a model"),
    ("timeouts.model_seconds", "FATHOM_MODEL_SECONDS", None, SECONDS, Is("600"), "for a whole answer that is not streamed"),
    ("timeouts.model_idle_seconds", "FATHOM_MODEL_IDLE_SECONDS", None, SECONDS, Is("300"), "until the first piece of a streamed answer, and between any two"),
    ("timeouts.model_stream_seconds", "FATHOM_MODEL_STREAM_SECONDS", None, SECONDS, Is("3600"), "for a streamed answer in all, however steadily it comes"),
    ("timeouts.retry_seconds", "FATHOM_RETRY_SECONDS", None, SECONDS, Is("14400"), "how long one call to a model or a search engine waits in all for being made again; a run's own time ends it sooner"),
    ("timeouts.lease_seconds", "FATHOM_LEASE_SECONDS", None, Kind::Number { min: 2, max: 3_600 }, Is("15"), "how long a silent process keeps its runs"),
    ("timeouts.crash_loop_seconds", "FATHOM_CRASH_LOOP_SECONDS", None, SECONDS, Is("600"), "a run that processes die of is given up after five deaths over this time"),

    ("limits.max_concurrent_runs", "FATHOM_MAX_CONCURRENT_RUNS", None, Kind::Number { min: 1, max: 10_000 }, Is("50"), "runs a process works on at the same time"),
    ("limits.max_queued_runs", "FATHOM_MAX_QUEUED_RUNS", None, RUNS, Is("1000"), "runs that may wait"),
    ("limits.max_queued_runs_per_owner", "FATHOM_MAX_QUEUED_RUNS_PER_OWNER", None, RUNS, Is("100"), "runs of one owner that may wait"),
    ("limits.max_threads_per_owner", "FATHOM_MAX_THREADS_PER_OWNER", None, Kind::Number { min: 1, max: 100_000_000 }, Is("10000"), "threads stored of one owner; further ones are refused until some are deleted"),
    ("limits.allowed_models", "FATHOM_ALLOWED_MODELS", None, Kind::Models, Unset, "models that requests may name, * for any text, beside those that the server uses; unset: all"),
    ("limits.option_caps", "FATHOM_OPTION_CAPS", None, Kind::Caps, Unset, "the most that runs of the service may ask for, by research option"),
    ("limits.request_mcp", "FATHOM_REQUEST_MCP", None, Kind::Boolean, Is("false"), "may requests name the address of an MCP server (mcp_config)? Only public ones are called for them"),
    ("limits.model_concurrency", "FATHOM_MODEL_CONCURRENCY", None, CALLS, Is("10000"), "calls of one provider's models at the same time, over all runs"),
    ("limits.providers", "FATHOM_PROVIDER_LIMITS", None, Kind::ProviderLimits, Unset, "what providers of models may be asked: PROVIDER.in_flight, .requests_per_minute or .tokens_per_minute=NUMBER, over all runs"),
    ("limits.search_concurrency", "FATHOM_SEARCH_CONCURRENCY", None, CALLS, Is("2000"), "web searches at the same time, over all runs"),

    ("webhooks.secret", "FATHOM_WEBHOOK_SECRET", None, Kind::SigningSecret, Unset, "signs webhooks (whsec_ and base64 of 24 to 64 bytes); unset: there are none"),
    ("webhooks.allow_private", "FATHOM_WEBHOOK_ALLOW_PRIVATE", None, Kind::Boolean, Is("false"), "may webhooks go to private addresses, such as those of this machine?"),

    ("pages.enabled", "FATHOM_PAGES_ENABLED", None, Kind::Boolean, Is("true"), "may runs open pages by their address?"),
    ("pages.allow_private", "FATHOM_PAGES_ALLOW_PRIVATE", None, Kind::Boolean, Is("false"), "may pages be at private addresses, such as those of this machine?"),
    ("pages.robots", "FATHOM_PAGES_ROBOTS", None, Kind::Boolean, Is("true"), "are pages left alone that a site's robots.txt asks to leave alone?"),

    ("log.filter", "FATHOM_LOG", None, Kind::Filter, Computed("info for serve, error for other commands"), "error, warn, info, debug, or per module (fathom=debug)"),
    ("log.format", "FATHOM_LOG_FORMAT", None, Kind::Choice(&["text", "json"]), Is("text"), "how lines of the log look"),

    ("telemetry.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", None, Kind::Url, Unset, "collector of traces (OTLP over HTTP); /v1/traces is appended"),
    ("telemetry.traces_endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None, Kind::Url, Unset, "the same, nothing appended; wins over the other"),
    ("telemetry.headers", "OTEL_EXPORTER_OTLP_HEADERS", None, Kind::Headers, Unset, "sent to the collector"),
    ("telemetry.service_name", "OTEL_SERVICE_NAME", None, Kind::Text, Is("fathom"), "the service as traces name it"),
    ("telemetry.content", "FATHOM_TRACE_CONTENT", None, Kind::Boolean, Is("false"), "may traces hold prompts, answers and tool results?"),
];

impl Kind {
    /// A value given as text, not checked yet.
    pub fn read(self, text: &str) -> Value {
        let trimmed = text.trim();
        match self {
            Self::Path => Value::String(text.to_owned()),
            Self::Number { .. } | Self::Boolean => serde_json::from_str(trimmed).unwrap_or_else(|_| trimmed.into()),
            Self::Headers => pairs(trimmed).unwrap_or_else(|| trimmed.into()),
            Self::Origins | Self::Hosts | Self::Models | Self::Caps | Self::ProviderLimits => {
                trimmed.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(Value::from).collect()
            }
            Self::Research(spec) => spec.read(text),
            _ => trimmed.into(),
        }
    }

    /// The value again, when it is of the right type and in range.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn check(self, value: Value) -> Result<Value, String> {
        match self {
            Self::Research(spec) => return checked_option(spec, value),
            Self::Origins => return self.list(&value, origin),
            Self::Models => return self.list(&value, model_pattern),
            Self::Hosts => return self.list(&value, host),
            Self::Caps => return caps(value),
            Self::ProviderLimits => return provider_limits(value),
            _ => {}
        }
        let text = value.as_str();
        let fits = match self {
            Self::Text | Self::Secret | Self::Path => text.is_some(),
            Self::Database => text.is_some_and(is_database),
            Self::Url => text.is_some_and(is_url),
            Self::Headers => value.as_object().is_some_and(|pairs| pairs.values().all(Value::is_string)),
            Self::Number { min, max } => value.as_u64().is_some_and(|number| (min..=max).contains(&number)),
            Self::Boolean => value.is_boolean(),
            Self::Choice(names) => text.is_some_and(|text| names.contains(&text)),
            Self::SigningSecret => text.is_some_and(webhooks::is_secret),
            Self::Address => text.is_some_and(|text| SocketAddr::from_str(text).is_ok()),
            Self::HeaderName => text.is_some_and(|text| HeaderName::from_str(text).is_ok()),
            Self::Filter => text.is_some_and(telemetry::is_filter),
            Self::Model => {
                let model = text.map(ModelName::from_str).ok_or_else(|| self.expected())??;
                known(&model)?;
                true
            }
            Self::Origins | Self::Hosts | Self::Models | Self::Caps | Self::ProviderLimits | Self::Research(_) => {
                unreachable!("returned above")
            }
        };
        if fits { Ok(value) } else { Err(self.expected()) }
    }

    /// A list of what `item` makes of each text; a single text stands for a list of one.
    fn list(self, value: &Value, item: impl Fn(&str) -> Option<String>) -> Result<Value, String> {
        let one = [value.clone()];
        let given = value.as_array().map_or(&one[..], Vec::as_slice);
        let items: Option<Value> = given.iter().map(|value| item(value.as_str()?).map(Value::from)).collect();
        items.ok_or_else(|| self.expected())
    }

    /// What is accepted, in words.
    fn expected(self) -> String {
        match self {
            Self::Number { min, max } => return format!("a whole number from {min} to {max}"),
            Self::Choice(names) => return format!("one of {}", names.join(", ")),
            Self::Text | Self::Secret => "a text",
            Self::Database => {
                "an address of Postgres such as postgres://user:password@host:5432/name (special characters of a password as %40, %2F, %23)"
            }
            Self::SigningSecret => "whsec_ and the base64 of 24 to 64 bytes (openssl rand -base64 32 makes them)",
            Self::Path => "a path",
            Self::Url => "an address such as http://127.0.0.1:8080/v1",
            Self::Headers => "Name=value pairs, separated by commas (in a file: a table of texts)",
            Self::Boolean => "true or false",
            Self::Address => "an address and a port such as 127.0.0.1:8080 or 0.0.0.0:8080",
            Self::Origins => "origins such as https://app.example.com, separated by commas (in a file: a list), or *",
            Self::Models => "model names such as openai:gpt-4.1*, separated by commas (in a file: a list)",
            Self::Hosts => "names of hosts such as research.example.com, separated by commas (in a file: a list), or *",
            Self::Caps => "NAME=NUMBER of research options, separated by commas (in a file: a list)",
            Self::ProviderLimits => {
                "PROVIDER.NAME=NUMBER of in_flight, requests_per_minute or tokens_per_minute, separated by commas (in a file: a list)"
            }
            Self::HeaderName => "the name of a header such as X-Forwarded-User",
            Self::Filter => "error, warn, info, debug, trace or directives such as info,fathom=debug",
            Self::Model | Self::Research(_) => "a model name of the form provider:model",
        }
        .to_owned()
    }
}

/// Names of providers, the offline model's included.
pub fn provider_names() -> Vec<&'static str> {
    providers::names().chain([ModelName::OFFLINE]).collect()
}

/// Refuses a model whose provider is none.
fn known(model: &ModelName) -> Result<(), String> {
    let names = provider_names();
    if names.contains(&&*model.provider) { Ok(()) } else { Err(unknown_provider(&model.provider, &names)) }
}

fn checked_option(spec: &OptionSpec, value: Value) -> Result<Value, String> {
    if let (OptionKind::Model, Some(Ok(model))) = (spec.kind, value.as_str().map(ModelName::from_str)) {
        known(&model).map_err(|expected| format!("{expected}, not {value}"))?;
    }
    let searches = |value: Value| match (spec.kind, SearchApi::deserialize(&value)) {
        (OptionKind::Engines, Ok(named)) => {
            search::check_names(&named, search::ROWS.iter().map(|row| row.name)).map(|()| value)
        }
        _ => Ok(value),
    };
    spec.check(value).and_then(searches).map_err(|error| match error {
        OptionError::Invalid { expected, given, .. } => format!("{expected}, not {given}"),
        other => other.to_string(),
    })
}

/// `Name=value,Name=value`, as OpenTelemetry's variables have it.
fn pairs(text: &str) -> Option<Value> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), Value::from(value.trim())))
    };
    pairs.map(pair).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
}

/// One of Postgres, whose parts are where they seem to be: a password with characters that mean something in addresses
/// would end up in the name of the host or of the database.
fn is_database(text: &str) -> bool {
    Url::from_str(text.trim()).is_ok_and(|url| {
        let name = url.path().strip_prefix('/').unwrap_or(url.path());
        matches!(url.scheme(), "postgres" | "postgresql")
            && !url.cannot_be_a_base()
            && url.fragment().is_none()
            && !name.contains(['/', '@', ':'])
    })
}

fn is_url(text: &str) -> bool {
    Url::from_str(text.trim()).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// An origin as browsers write it.
fn origin(text: &str) -> Option<String> {
    if text == "*" {
        return Some(text.to_owned());
    }
    let url = Url::from_str(text).ok().filter(|url| is_url(text) && url.path() == "/" && url.query().is_none());
    url.map(|url| url.origin().ascii_serialization())
}

/// A model with its provider, or one that any text stands for.
fn model_pattern(name: &str) -> Option<String> {
    let provider = name.split_once(':').map(|(provider, _)| provider);
    let known = |provider: &str| provider_names().contains(&provider);
    let fits = name == "*" || provider.is_some_and(|provider| provider == "*" || known(provider));
    fits.then(|| name.to_owned())
}

/// The name of a host in lower case.
fn host(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches('.').to_ascii_lowercase();
    let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    (fits || name == "*").then_some(name)
}

fn caps(value: Value) -> Result<Value, String> {
    let given = value.as_array().ok_or_else(|| Kind::Caps.expected())?;
    let mut caps = Caps::default();
    given.iter().try_for_each(|cap| caps.add(cap.as_str().unwrap_or_default()))?;
    Ok(value)
}

fn provider_limits(value: Value) -> Result<Value, String> {
    let given = value.as_array().ok_or_else(|| Kind::ProviderLimits.expected())?;
    let mut limits = ProviderLimits::default();
    given.iter().try_for_each(|limit| limits.add(limit.as_str().unwrap_or_default()))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_default_is_a_value_its_kind_accepts() {
        for setting in all() {
            if let Is(text) = setting.default {
                setting.kind.check(setting.kind.read(text)).unwrap_or_else(|error| panic!("{}: {error}", setting.key));
            }
        }
    }

    #[test]
    fn no_two_settings_share_a_name() {
        for name in [|setting: &Setting| setting.key.to_string(), |setting: &Setting| setting.variable.to_string()] {
            let mut names: Vec<_> = all().iter().map(name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all().len());
        }
    }

    #[test]
    fn values_are_read_from_text_and_checked() {
        let check = |kind: Kind, text: &str, expected: Option<Value>| {
            assert_eq!(kind.check(kind.read(text)).ok(), expected, "{kind:?} {text}");
        };
        let number = Kind::Number { min: 1, max: 5 };
        check(number, " 5 ", Some(json!(5)));
        check(number, "6", None);
        check(number, "-1", None);
        check(number, "1.5", None);
        check(Kind::Boolean, "true", Some(json!(true)));
        check(Kind::Boolean, "yes", None);
        check(Kind::Address, "0.0.0.0:80", Some(json!("0.0.0.0:80")));
        check(Kind::Address, "[::1]:0", Some(json!("[::1]:0")));
        check(Kind::Address, ":8080", None);
        check(Kind::Headers, "A=1, B=x=y,", Some(json!({"A": "1", "B": "x=y"})));
        check(Kind::Headers, "A", None);
        check(Kind::Origins, "https://a.test/, http://b.test:81", Some(json!(["https://a.test", "http://b.test:81"])));
        check(Kind::Origins, "*", Some(json!(["*"])));
        check(Kind::Origins, "a.test", None);
        check(Kind::Origins, "https://a.test/path", None);
        check(Kind::Hosts, "Research.example, fathom", Some(json!(["research.example", "fathom"])));
        check(Kind::Hosts, "*", Some(json!(["*"])));
        check(Kind::Hosts, "https://research.example", None);
        check(Kind::Hosts, "research.example:8080", None);
        check(
            Kind::Caps,
            "max_run_seconds=60, max_react_tool_calls=3",
            Some(json!(["max_run_seconds=60", "max_react_tool_calls=3"])),
        );
        check(Kind::Caps, "max_run_seconds=1", None);
        check(Kind::HeaderName, "X-User", Some(json!("X-User")));
        check(Kind::HeaderName, "X User", None);
        check(Kind::Filter, "info,fathom=debug", Some(json!("info,fathom=debug")));
        check(Kind::Filter, "fathom=loud", None);
        check(Kind::Choice(&["text", "json"]), "xml", None);
        check(Kind::Model, "acme:x", None);
        for good in [
            "postgres://me:pa%2F55@host:5432/fathom?sslmode=require",
            "postgresql://host/db",
            "postgres:///db?host=/run",
        ] {
            check(Kind::Database, good, Some(json!(good)));
        }
        for wrong in [
            "mysql://me:pa55@host/db",
            "sqlite:fathom.db",
            "me:pa55@host/db",
            "postgres:me:pa55@host/db",
            "postgres://me:1/pa55@host/db",
            "postgres://me:pa#55@host/db",
            "postgres://me:pa55@host:port/db",
            "",
        ] {
            check(Kind::Database, wrong, None);
            let error = Kind::Database.check(json!(wrong)).unwrap_err();
            assert!(!error.contains("pa55") && error.contains("postgres://"), "{error}");
        }
    }
}
