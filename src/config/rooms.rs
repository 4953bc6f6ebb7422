//! The settings of each room, from the values that count. A table of the file is a type here, so that a row which
//! nobody reads, and a row without a default that is needed, are errors of every start, and of every test.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use reqwest::header::HeaderName;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::{
    AllowedHosts, Authentication, ConfigError, CorsOrigins, HttpSettings, RequestKeySettings, TrustedProxies,
    file::MAX_BYTES, kind::network, layers::Layers,
};
use crate::{
    auth,
    domain::{Caps, Cost, KeyPolicy, KeyScope, RunOptions, UseLimits},
    files,
    llm::{
        self, Endpoint,
        providers::{Auth, Other, PROVIDERS, Provider},
    },
    mcp,
    net::{Networks, Reach},
    pages::{ReaderSettings, Vendor, WebSettings},
    runs::QueueSettings,
    search::{self, ROWS},
    store::{self, Database, Synchronous},
    telemetry, webhooks,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    #[serde(deserialize_with = "seconds")]
    pub connect_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub model_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub model_idle_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub model_stream_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub retry_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub lease_seconds: Duration,
    #[serde(deserialize_with = "seconds")]
    pub crash_loop_seconds: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    max_concurrent_runs: usize,
    max_queued_runs: u64,
    max_queued_runs_per_owner: u64,
    max_threads_per_owner: u64,
    max_documents_per_thread: u64,
    runs_at_once_per_owner: Option<u64>,
    runs_per_day_per_owner: Option<u64>,
    requests_per_minute_per_owner: Option<u64>,
    tokens_per_day_per_owner: Option<u64>,
    tokens_per_month_per_owner: Option<u64>,
    cost_per_day_per_owner: Option<Cost>,
    cost_per_month_per_owner: Option<Cost>,
    #[serde(default)]
    pub allowed_models: Vec<String>,
    #[serde(default)]
    option_caps: Vec<String>,
    #[serde(default)]
    providers: Vec<String>,
    pub request_mcp: bool,
    #[serde(default)]
    pub allowed_networks: Vec<String>,
    model_concurrency: usize,
    search_concurrency: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    #[serde(default)]
    cors_origins: Vec<String>,
    open: bool,
    #[serde(default)]
    allowed_hosts: Vec<String>,
    http2: bool,
    max_buffered_bytes: usize,
    max_body_bytes: usize,
    max_upload_bytes: usize,
    authentication: Authentication,
    owner_header: Option<String>,
    trusted_proxies: Vec<String>,
    separate_owners: bool,
    max_connections: usize,
    max_streams: usize,
    #[serde(deserialize_with = "seconds")]
    grace_seconds: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    issuer: Option<String>,
    audiences: Option<String>,
    jwks_url: Option<Url>,
    owner_claim: String,
    roles_claim: String,
    default_scope: String,
    client_id: Option<String>,
    client_secret: Option<String>,
    redirect_url: Option<Url>,
    scopes: String,
}

/// The table `database`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    url: Option<String>,
    connections: u32,
    sqlite_synchronous: String,
    pub thread_retention_days: Option<u64>,
    pub event_retention_days: Option<u64>,
}

/// Characters that the secret has at least which seals keys of requests.
const MIN_SECRET_CHARS: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestKeys {
    policy: String,
    secret: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    secret: Option<String>,
    allow_private: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    enabled: bool,
    allow_private: bool,
    robots: bool,
    reader: String,
    reader_key: Option<String>,
    reader_url: Option<Url>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    filter: Option<String>,
    format: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    endpoint: Option<String>,
    traces_endpoint: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    service_name: String,
    content: bool,
}

/// Returns the settings of the `llm` room.
///
/// # Errors
/// A limit of a provider that is none.
pub fn llm(layers: &Layers<'_>, timeouts: &Timeouts, limits: &Limits) -> Result<llm::Settings, ConfigError> {
    let endpoints = PROVIDERS.iter().map(|provider| (provider.name, endpoint(layers, provider)));
    Ok(llm::Settings {
        endpoints: endpoints
            .filter(|(_, endpoint)| endpoint.is_set() || !endpoint.headers.is_empty() || !endpoint.others.is_empty())
            .collect(),
        connect_timeout: timeouts.connect_seconds,
        total_timeout: timeouts.model_seconds,
        total_timeout_is_given: layers.given("timeouts.model_seconds").is_some(),
        idle_timeout: timeouts.model_idle_seconds,
        stream_timeout: timeouts.model_stream_seconds,
        retry_for: timeouts.retry_seconds,
        max_concurrent_calls: limits.model_concurrency,
        limits: limits.of_providers()?,
        ..llm::Settings::default()
    })
}

/// Returns the MCP servers of the settings file and of the file of other programs, and the operator's own
/// `mcp_config`; `given` is what stands in the settings file at `path`.
///
/// # Errors
/// A server that cannot be used.
pub fn mcp(
    layers: &Layers<'_>,
    given: &Value,
    path: &Path,
    options: &RunOptions,
    networks: Networks,
) -> Result<mcp::Settings, ConfigError> {
    let variables = |name: &str| layers.variable(name);
    let wrong = |path: &Path, problem: String| ConfigError::File { path: path.to_owned(), problem };
    let mut servers = Vec::new();
    if !given.is_null() {
        servers = mcp::read(given, &variables).map_err(|problem| wrong(path, problem))?;
        servers.iter_mut().for_each(|server| server.file = Some(path.to_owned()));
    }
    if let Some(path) = layers.path("mcp_file") {
        let text =
            files::read_text(&path, MAX_BYTES).map_err(|error| wrong(&path, format!("cannot be read: {error}")))?;
        for mut server in mcp::read_json(&text, &variables).map_err(|problem| wrong(&path, problem))? {
            if servers.iter().any(|known| known.name == server.name) {
                return Err(wrong(&path, format!("the MCP server {} is in the settings file, too", server.name)));
            }
            server.file = Some(path.clone());
            servers.push(server);
        }
        mcp::check_count(servers.len())
            .map_err(|problem| wrong(&path, format!("with the settings file, {problem}")))?;
    }
    Ok(mcp::Settings { servers, own: options.mcp_config.clone(), networks })
}

fn endpoint(layers: &Layers<'_>, provider: &Provider) -> Endpoint {
    let key = |name: &str| format!("providers.{}.{name}", provider.settings());
    let other = |other: &Other| {
        let given = layers.given(&key(other.name))?;
        Some((other.name, SecretString::from(given.value.as_str()?)))
    };
    Endpoint {
        others: provider.others.iter().filter_map(other).collect(),
        home: layers.variable("HOME").map(PathBuf::from).filter(|_| !provider.others.is_empty()),
        environment: match provider.auth {
            Auth::Amazon => of_programs(layers, provider),
            _ => Vec::new(),
        },
        base_url: layers.url(&key("base_url")),
        api_key: layers.secret(&key("api_key")),
        headers: layers.headers(&key("headers")),
        needs_key: false,
    }
}

/// What a program that prints credentials may need beside what every program gets, and no key of anybody else.
const OF_CREDENTIALS: [&str; 8] = [
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "AWS_CA_BUNDLE",
];

fn of_programs(layers: &Layers<'_>, provider: &Provider) -> Vec<(&'static str, String)> {
    let own = provider.others.iter().filter(|other| !other.is_secret);
    let own = own.flat_map(|other| [Some(other.variable), other.other_variable]).flatten();
    mcp::INHERITED
        .into_iter()
        .chain(OF_CREDENTIALS)
        .chain(own)
        .filter_map(|name| Some((name, layers.variable(name)?)))
        .collect()
}

pub fn search(layers: &Layers<'_>, timeouts: &Timeouts, limits: &Limits, data_dir: &Path) -> search::Settings {
    let mut settings = search::Settings { index: data_dir.join("index"), ..search::Settings::default() };
    settings.retry.max_wait = timeouts.retry_seconds;
    settings.max_concurrent = limits.search_concurrency;
    let keys = ROWS.iter().flat_map(|row| row.settings).map(|setting| setting.key);
    keys.fold(settings, |settings, key| match layers.given(key).map(|given| &given.value) {
        Some(Value::String(text)) => settings.with(key, text.as_str()),
        Some(number) => settings.with(key, number.to_string()),
        None => settings,
    })
}

impl Limits {
    /// Returns the caps on options.
    ///
    /// # Errors
    /// A cap that is none.
    pub fn caps(&self) -> Result<Caps, ConfigError> {
        let mut caps = Caps::default();
        for cap in &self.option_caps {
            caps.add(cap).map_err(|expected| wrong("limits.option_caps", expected))?;
        }
        Ok(caps)
    }

    fn of_providers(&self) -> Result<llm::ProviderLimits, ConfigError> {
        let mut limits = llm::ProviderLimits::default();
        for limit in &self.providers {
            limits.add(limit).map_err(|expected| wrong("limits.providers", expected))?;
        }
        Ok(limits)
    }

    pub fn queue(&self) -> QueueSettings {
        QueueSettings {
            max_concurrent_runs: self.max_concurrent_runs,
            max_queued_runs: self.max_queued_runs,
            max_queued_runs_per_owner: self.max_queued_runs_per_owner,
            max_threads_per_owner: self.max_threads_per_owner,
            max_documents_per_thread: self.max_documents_per_thread,
            of_owner: UseLimits {
                runs_at_once: self.runs_at_once_per_owner,
                // Those have a default of their own.
                queued_runs: None,
                runs_per_day: self.runs_per_day_per_owner,
                requests_per_minute: self.requests_per_minute_per_owner,
                tokens_per_day: self.tokens_per_day_per_owner,
                tokens_per_month: self.tokens_per_month_per_owner,
                cost_per_day_usd: self.cost_per_day_per_owner,
                cost_per_month_usd: self.cost_per_month_per_owner,
            },
        }
    }
}

impl Http {
    pub fn settings(self, listen: SocketAddr) -> Result<HttpSettings, ConfigError> {
        if self.separate_owners && self.owner_header.is_none() && self.authentication != Authentication::Keys {
            return Err(missing(
                "FATHOM_SEPARATE_OWNERS needs FATHOM_OWNER_HEADER or FATHOM_AUTHENTICATION=keys; without them nobody has a name",
            ));
        }
        let has_any = |list: &[String]| list.iter().any(|item| item == "*");
        Ok(HttpSettings {
            listen,
            open: self.open,
            allowed_hosts: match has_any(&self.allowed_hosts) {
                true => AllowedHosts::All,
                false => AllowedHosts::Only(self.allowed_hosts),
            },
            cors_origins: match &self.cors_origins[..] {
                [] => CorsOrigins::None,
                all if has_any(all) => CorsOrigins::All,
                _ => CorsOrigins::Only(self.cors_origins),
            },
            http2: self.http2,
            max_buffered_bytes: self.max_buffered_bytes,
            max_body_bytes: self.max_body_bytes,
            max_upload_bytes: self.max_upload_bytes,
            max_connections: self.max_connections,
            max_streams: self.max_streams,
            grace: self.grace_seconds,
            authentication: self.authentication,
            owner_header: self.owner_header.and_then(|name| HeaderName::from_str(&name).ok()),
            trusted_proxies: TrustedProxies(self.trusted_proxies.iter().filter_map(|text| network(text)).collect()),
            separate_owners: self.separate_owners,
        })
    }
}

impl SignIn {
    /// Returns the settings of sign-in; `None` when nothing of it is set.
    ///
    /// # Errors
    /// What is missing for what is set.
    pub fn settings(self) -> Result<Option<auth::Settings>, ConfigError> {
        let client = self.client()?;
        let audiences = self.audiences.unwrap_or_default();
        let audiences: Vec<_> =
            audiences.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect();
        match self.issuer {
            None if client.is_some() || !audiences.is_empty() => {
                Err(missing("FATHOM_AUDIENCES and FATHOM_CLIENT_ID need FATHOM_ISSUER"))
            }
            None => Ok(None),
            Some(_) if client.is_none() && audiences.is_empty() => Err(missing(
                "FATHOM_ISSUER needs FATHOM_AUDIENCES (for tokens), FATHOM_CLIENT_ID (for browsers) or both",
            )),
            Some(issuer) => Ok(Some(auth::Settings {
                issuer,
                audiences,
                jwks_url: self.jwks_url,
                owner_claim: self.owner_claim,
                roles_claim: self.roles_claim,
                default_scope: KeyScope::parse(&self.default_scope),
                client,
            })),
        }
    }

    /// Makes the client through which browsers sign in.
    fn client(&self) -> Result<Option<auth::Client>, ConfigError> {
        let Some(id) = self.client_id.clone() else { return Ok(None) };
        let Some(redirect_url) = self.redirect_url.clone() else {
            return Err(missing(
                "FATHOM_CLIENT_ID needs FATHOM_REDIRECT_URL, as in https://research.example.com/auth/callback",
            ));
        };
        if redirect_url.path() != "/auth/callback" {
            return Err(missing("FATHOM_REDIRECT_URL must end with /auth/callback"));
        }
        let secret = self.client_secret.clone().map(SecretString::from);
        Ok(Some(auth::Client { id, secret, redirect_url, scopes: self.scopes.clone() }))
    }
}

fn missing(text: &str) -> ConfigError {
    ConfigError::Place(text.to_owned())
}

/// Returns the file of the embedded database.
fn embedded(data_dir: &Path) -> PathBuf {
    data_dir.join("fathom.db")
}

impl Stored {
    /// Returns what has to be known of a database in the data folder that is not used, and of what is not used of the
    /// address.
    pub fn left_aside(&self, data_dir: &Path) -> impl Iterator<Item = String> {
        let path = embedded(data_dir);
        let unused = self.url.as_ref().map(|url| store::unused_parameters(url)).unwrap_or_default();
        let is_there = self.url.is_some() && path.exists();
        let file =
            is_there.then(|| format!("DATABASE_URL is used; the threads and keys in {} are not", path.display()));
        let parameters =
            (!unused.is_empty()).then(|| format!("{} in DATABASE_URL has no effect here", unused.join(", ")));
        file.into_iter().chain(parameters)
    }

    pub fn settings(self, data_dir: &Path) -> Database {
        match self.url {
            Some(url) => Database::Postgres { url: url.into(), max_connections: self.connections },
            None => Database::Sqlite {
                path: embedded(data_dir),
                synchronous: match &*self.sqlite_synchronous {
                    "normal" => Synchronous::Normal,
                    _ => Synchronous::Full,
                },
            },
        }
    }
}

impl RequestKeys {
    /// Returns the settings for keys that requests bring.
    ///
    /// # Errors
    /// The secret is missing, or too short to keep anything.
    pub fn settings(self) -> Result<RequestKeySettings, ConfigError> {
        let policy = match &*self.policy {
            "allowed" => KeyPolicy::Allowed,
            "required" => KeyPolicy::Required,
            _ => KeyPolicy::Refused,
        };
        let secrets = self.secret.as_deref().map(each_secret).unwrap_or_default();
        if policy != KeyPolicy::Refused && secrets.is_empty() {
            let text = format!(
                "FATHOM_REQUEST_KEYS needs FATHOM_REQUEST_KEYS_SECRET, {MIN_SECRET_CHARS} characters or more \
                 (openssl rand -base64 32 makes them): the keys are stored sealed until their run ends"
            );
            return Err(ConfigError::Place(text));
        }
        Ok(RequestKeySettings { policy, secrets })
    }
}

/// Returns the secrets that are long enough: several with blanks between them while one takes the place of another, or
/// one that has blanks in it.
fn each_secret(text: &str) -> Vec<SecretString> {
    let is_secret = |text: &&str| text.chars().count() >= MIN_SECRET_CHARS;
    let words: Vec<&str> = text.split_whitespace().collect();
    let secrets = if words.iter().all(is_secret) { words } else { vec![text] };
    secrets.into_iter().filter(is_secret).map(SecretString::from).collect()
}

impl Webhooks {
    pub fn settings(self, networks: &Networks) -> webhooks::Settings {
        let reach = Reach::new(self.allow_private, networks);
        webhooks::Settings { secret: self.secret.map(SecretString::from), reach }
    }
}

impl Pages {
    pub fn settings(self, networks: &Networks) -> WebSettings {
        let reader = Vendor::named(&self.reader).map(|vendor| ReaderSettings {
            vendor,
            key: self.reader_key.map(SecretString::from),
            base_url: self.reader_url,
        });
        let reach = Reach::new(self.allow_private, networks);
        WebSettings { enabled: self.enabled, reach, robots: self.robots, reader }
    }
}

impl Log {
    /// Returns them with what the environment says of the terminal (no-color.org).
    pub fn settings(self, layers: &Layers<'_>) -> telemetry::LogSettings {
        let format = match &*self.format {
            "json" => telemetry::LogFormat::Json,
            _ => telemetry::LogFormat::Text,
        };
        let is_dumb = layers.variable("TERM").is_some_and(|term| term == "dumb");
        let is_plain = is_dumb || layers.variable("NO_COLOR").is_some();
        telemetry::LogSettings { filter: self.filter, format, is_plain }
    }
}

impl From<Telemetry> for telemetry::TraceSettings {
    fn from(table: Telemetry) -> Self {
        let url = |text: Option<String>| text.and_then(|text| Url::parse(&text).ok());
        let below = |mut base: Url| {
            base.set_path(&format!("{}/v1/traces", base.path().trim_end_matches('/')));
            base
        };
        Self {
            endpoint: url(table.traces_endpoint).or_else(|| url(table.endpoint).map(below)),
            headers: table.headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
            service_name: table.service_name,
            content: table.content,
        }
    }
}

fn wrong(key: &str, expected: String) -> ConfigError {
    ConfigError::Value { place: key.to_owned(), expected }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

/// Returns the platform's folder for a program's data.
///
/// # Errors
/// There is none.
pub fn platform_data_dir(layers: &Layers<'_>) -> Result<PathBuf, ConfigError> {
    let variable = |name: &str| layers.variable(name).map(PathBuf::from);
    let home = || variable("HOME");
    let folder = if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        variable("APPDATA")
    } else {
        variable("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    };
    folder.map(|folder| folder.join("fathom")).ok_or_else(|| {
        ConfigError::Place("there is no home folder to keep data in: set --data-dir or FATHOM_DATA_DIR".to_owned())
    })
}
