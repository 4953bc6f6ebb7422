//! Every setting: where it comes from, its unit and default; checked once, at start. Nothing reads the environment
//! later.
//!
//! Precedence: command line, then environment, then the TOML file, then the built-in default. An empty variable counts
//! as not set. `settings.rs` is the table and `kind.rs` the forms of its values; `environment.rs`, `file.rs` and
//! `layers.rs` find what was said; `choice.rs` chooses options from what can be used; `rooms.rs` makes the settings of
//! each room; `shown.rs` shows what counts, `help.rs` says what a flag takes, and `reference.rs` writes the example
//! files and the documentation, in tests alone.

mod choice;
mod environment;
mod file;
pub mod help;
pub mod kind;
mod layers;
#[cfg(test)]
mod reference;
mod rooms;
pub mod settings;
mod shown;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::IpNet;
use reqwest::header::HeaderName;
use secrecy::SecretString;
use serde::Deserialize;

use crate::{
    auth,
    domain::{Caps, KeyPolicy, OptionError, RunOptions, options::OPTIONS},
    llm, mcp, pages,
    pages::WebSettings,
    runs::QueueSettings,
    search,
    store::Database,
    telemetry, webhooks,
};
use choice::Choice;
use file::File;
use layers::Layers;
pub use layers::Origin;
pub use shown::{Effective, Usable, shown_database};

/// Read when no other file is named, and only if it is there.
const USUAL_FILE: &str = "fathom.toml";

/// A key says whose it is, so nothing else does.
const KEYS_NAME_OWNERS: &str = "with FATHOM_AUTHENTICATION=keys each key names its owner; FATHOM_OWNER_HEADER and FATHOM_SEPARATE_OWNERS have no effect";

const ISSUER_WITHOUT_KEYS: &str = "FATHOM_ISSUER has no effect without FATHOM_AUTHENTICATION=keys";

const LOCAL_PROXY: &str = "FATHOM_OWNER_HEADER is taken from this machine alone and refused from other addresses; name the proxy's in FATHOM_TRUSTED_PROXIES";

const ANY_PAGE: &str =
    "FATHOM_CORS_ORIGINS=* lets every page in a user's browser read everything here and start runs; name the origins";

const TOOLS_ALONE: &str = "offline:extractive calls no MCP tools, and runs have nothing else to search: without documents of their own they end with no_evidence (name a language model with --model PROVIDER:MODEL, or choose search_api)";

/// All settings of a process.
#[derive(Clone, Debug)]
pub struct Config {
    pub database: Database,
    /// How long threads are kept in which nothing happens; `None`: until somebody deletes them.
    pub thread_retention: Option<Duration>,
    /// How long events of final runs are kept; `None`: as long as their thread.
    pub event_retention: Option<Duration>,
    /// Holds the embedded database and the document index.
    pub data_dir: PathBuf,
    /// Not among the settings people make: tests, whose own program is another one, name ours.
    pub parser: pages::Settings,
    pub llm: llm::Settings,
    pub search: search::Settings,
    /// What a run uses unless it says otherwise.
    pub options: RunOptions,
    /// The most that requests may ask for; `options` keep to it.
    pub caps: Caps,
    /// How long a silent worker keeps its runs.
    pub lease: Duration,
    /// A run that kills processes is given up when it has done so for this long.
    pub crash_loop: Duration,
    pub http: HttpSettings,
    /// Who vouches for users beside keys.
    pub sign_in: Option<auth::Settings>,
    pub queue: QueueSettings,
    /// Whether requests may bring keys of providers and search engines.
    pub request_keys: RequestKeySettings,
    pub webhooks: webhooks::Settings,
    pub web: WebSettings,
    pub mcp: mcp::Settings,
    pub log: telemetry::LogSettings,
    pub telemetry: telemetry::TraceSettings,
    /// What the user should know about how settings were combined; one sentence each.
    pub notices: Vec<String>,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Every setting as it counts, and who said it; nothing secret.
    pub effective: Vec<Effective>,
}

/// How the service speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    /// Whether everybody who reaches an address beyond loopback may use the service.
    pub open: bool,
    pub allowed_hosts: AllowedHosts,
    pub cors_origins: CorsOrigins,
    /// HTTP/2 without TLS, for clients that begin with it.
    pub http2: bool,
    /// Bytes of requests and answers that are held for clients at the same time, over all connections.
    pub max_buffered_bytes: usize,
    pub max_body_bytes: usize,
    /// Of a document that is given to a thread.
    pub max_upload_bytes: usize,
    /// Connections open at the same time; idle ones give way.
    pub max_connections: usize,
    /// Event streams open at the same time.
    pub max_streams: usize,
    /// For requests and runs to settle at shutdown.
    pub grace: Duration,
    pub authentication: Authentication,
    /// The request header that names the owner; `None`: there is one owner.
    pub owner_header: Option<HeaderName>,
    /// The addresses that may say who the owner is.
    pub trusted_proxies: TrustedProxies,
    /// Each owner sees only their own threads and runs.
    pub separate_owners: bool,
}

impl HttpSettings {
    /// Returns whether the service is for this machine alone.
    pub fn is_local(&self) -> bool {
        self.listen.ip().to_canonical().is_loopback()
    }
}

/// How the service knows who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// It does not: everybody who reaches it may use it, and a proxy may name users (`owner_header`).
    None,
    /// By keys of the API.
    Keys,
}

/// Whose pages may call the API from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    None,
    All,
    /// As browsers write them: scheme, host and port, no slash at the end.
    Only(Vec<String>),
}

/// The names under which the service may be reached, beside addresses and `localhost`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedHosts {
    All,
    /// In lower case, without ports.
    Only(Vec<String>),
}

/// Which keys requests may bring.
#[derive(Clone, Debug, Default)]
pub struct RequestKeySettings {
    pub policy: KeyPolicy,
    /// The first one seals them, each of them opens them; there is one unless no keys are taken.
    pub secrets: Vec<SecretString>,
}

/// Ranges of addresses from which a header is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Returns whether `peer` is a trusted proxy. An IPv4 address is the same in the form that IPv6 has for it.
    pub fn contain(&self, peer: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&peer.to_canonical()))
    }

    /// Returns whether nobody on another machine is among them.
    fn are_local(&self) -> bool {
        self.0.iter().all(|network| network.network().is_loopback() && network.broadcast().is_loopback())
    }
}

/// What the command line said.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The settings file.
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
    /// Serve everybody, also beyond loopback.
    pub open: bool,
    pub data_dir: Option<PathBuf>,
    pub documents: Option<PathBuf>,
    /// For all roles.
    pub model: Option<String>,
    /// `NAME=VALUE`, in order.
    pub options: Vec<String>,
    /// The IANA name of the time zone that counts where no setting names one.
    pub timezone: Option<String>,
}

/// A setting that cannot be used; one line that says what would be accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("--set takes NAME=VALUE, not '{0}'")]
    NotAPair(String),
    /// `place` is the setting as who gave it knows it: a flag, a variable.
    #[error("{place} must be {expected}")]
    Value { place: String, expected: String },
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    /// `nearest` is what was most likely meant.
    #[error("{name} is not a setting{}", nearest.map(|n| format!("; did you mean {n}?")).unwrap_or_default())]
    Variable { name: String, nearest: Option<&'static str> },
    #[error("{0}")]
    Place(String),
}

/// The environment, or a test's idea of it.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Config {
    /// Reads the process's environment, and `fathom.toml` in the working directory if no other file is named.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn from_process(flags: &Flags) -> Result<Self, ConfigError> {
        let usual = Path::new(USUAL_FILE);
        environment::check_names(std::env::vars_os().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name))?;
        environment::of_process(|variables| Self::combine(flags, variables, usual.exists().then_some(usual)))
    }

    /// Returns whether anybody set what stands under that key of the file, or its default counts.
    pub fn is_set(&self, key: &str) -> bool {
        self.effective.iter().any(|setting| setting.key == key && setting.source != Origin::Default)
    }

    /// Returns the address on which a service with these settings listens, whatever else is set: who only asks it
    /// something needs no folder and no keys, and is not kept from it by a setting of another kind.
    ///
    /// # Errors
    /// The address cannot be used, or the file cannot in which it may stand.
    pub fn listen_address(flags: &Flags) -> Result<SocketAddr, ConfigError> {
        let usual = Path::new(USUAL_FILE);
        environment::of_process(|variables| Self::address(flags, variables, usual.exists().then_some(usual)))
    }

    fn address(flags: &Flags, environment: Environment<'_>, usual: Option<&Path>) -> Result<SocketAddr, ConfigError> {
        let said = Layers::of_one("listen", flags, environment, &File::default())?;
        if said.given("listen").is_some() {
            return said.typed("listen");
        }
        let (file, _) = file(flags, environment, usual)?;
        Layers::of_one("listen", flags, environment, &file)?.typed("listen")
    }

    /// Combines flags, environment, the file that one of them names, and defaults.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn read(flags: &Flags, environment: Environment<'_>) -> Result<Self, ConfigError> {
        Self::combine(flags, environment, None)
    }

    // table of contents: every part of the settings, in the order of the fields
    fn combine(flags: &Flags, environment: Environment<'_>, usual: Option<&Path>) -> Result<Self, ConfigError> {
        let (file, found) = file(flags, environment, usual)?;
        let layers = Layers::read(flags, environment, &file)?;
        let data_dir = match flags.data_dir.clone().or_else(|| layers.path("data_dir")) {
            Some(folder) => folder,
            None => rooms::platform_data_dir(&layers)?,
        };
        let (timeouts, limits) = (layers.section("timeouts")?, layers.section("limits")?);
        let llm = llm::Settings { models: file.models, roles: file.roles, ..rooms::llm(&layers, &timeouts, &limits)? };
        let search = rooms::search(&layers, &timeouts, &limits, &data_dir);
        let mut notices = Vec::new();
        if found {
            notices.push(format!("settings are also read from {}, found in this folder", file.path.display()));
        }
        let choice = Choice { layers: &layers, llm: &llm, search: &search };
        let mut options = choice.options(&mut notices)?;
        if let Some(zone) = flags.timezone.as_deref().filter(|_| layers.option("timezone").is_none()) {
            // One that is not known here is as none.
            let _ = options.set_text("timezone", zone);
        }
        let mut caps = limits.caps()?;
        let networks = kind::networks(&limits.allowed_networks);
        let mcp = rooms::mcp(&layers, &file.mcp, &file.path, &options, networks.clone())?;
        let names = mcp.servers.iter().map(|server| server.name.clone()).collect();
        caps.know_cost(&options);
        caps.know_mcp(names, limits.request_mcp, &options);
        // So that what is offered by default is what runs will have.
        caps.resolve(&mut options);
        caps.check_value(&options, "mcp_servers")?;
        keep_to(&caps, &layers, &mut options, &mut notices)?;
        caps.know_providers(kind::provider_names(), llm::providers::other_names().collect());
        let queue = limits.queue();
        caps.allow_models(limits.allowed_models, &options);
        let http = layers.section::<rooms::Http>("http")?.settings(layers.typed("listen")?)?;
        let sign_in = layers.section::<rooms::SignIn>("sign_in")?.settings()?;
        notices.extend(notices_on(&http, sign_in.is_some()).map(str::to_owned));
        notices.extend(has_tools_alone(&options).then(|| TOOLS_ALONE.to_owned()));
        let stored: rooms::Stored = layers.section("database")?;
        notices.extend(stored.left_aside(&data_dir));
        let mut config = Self {
            thread_retention: stored.thread_retention_days.map(crate::domain::time::days),
            event_retention: stored.event_retention_days.map(crate::domain::time::days),
            database: stored.settings(&data_dir),
            data_dir,
            parser: pages::Settings::default(),
            llm,
            search,
            options,
            caps,
            lease: timeouts.lease_seconds,
            crash_loop: timeouts.crash_loop_seconds,
            http,
            sign_in,
            queue,
            request_keys: layers.section::<rooms::RequestKeys>("request_keys")?.settings()?,
            webhooks: layers.section::<rooms::Webhooks>("webhooks")?.settings(&networks),
            web: layers.section::<rooms::Pages>("pages")?.settings(&networks),
            mcp,
            log: layers.section::<rooms::Log>("log")?.settings(&layers),
            telemetry: layers.section::<rooms::Telemetry>("telemetry")?.into(),
            notices,
            file: Some(file.path).filter(|path| !path.as_os_str().is_empty()),
            effective: Vec::new(),
        };
        config.effective = shown::effective(&config, &layers);
        Ok(config)
    }
}

/// Returns what an operator should know of settings that are dangerous, or have no effect beside the others.
fn notices_on(http: &HttpSettings, sign_in: bool) -> impl Iterator<Item = &'static str> + use<> {
    let by_keys = http.authentication == Authentication::Keys;
    let from_local_proxy = http.owner_header.is_some() && !http.is_local() && http.trusted_proxies.are_local();
    let notices = [
        (http.cors_origins == CorsOrigins::All, ANY_PAGE),
        (by_keys && (http.owner_header.is_some() || http.separate_owners), KEYS_NAME_OWNERS),
        (from_local_proxy, LOCAL_PROXY),
        (sign_in && !by_keys, ISSUER_WITHOUT_KEYS),
    ];
    notices.into_iter().filter_map(|(holds, notice)| holds.then_some(notice))
}

/// Returns whether runs have tools of MCP servers alone, and a model that calls none.
fn has_tools_alone(options: &RunOptions) -> bool {
    let searches = options.search_api.names().next().is_some();
    options.has_mcp() && !searches && options.research_model.first().is_offline()
}

/// Holds options to the caps: what the command line asks for beyond them is refused, as it would be of a request; what
/// stands elsewhere is lowered, and said.
fn keep_to(
    caps: &Caps,
    layers: &Layers<'_>,
    options: &mut RunOptions,
    notices: &mut Vec<String>,
) -> Result<(), ConfigError> {
    for spec in OPTIONS {
        let given = layers.given(&format!("options.{}", spec.name));
        if let Some(given) = given.filter(|given| matches!(given.origin, Origin::Flag(_))) {
            caps.check(spec.name, &given.value)?;
        }
    }
    let own = options.clone();
    for name in caps.lower(options, &own) {
        if layers.given(&format!("options.{name}")).is_some() {
            notices.push(format!("{name} is lowered to what limits.option_caps (FATHOM_OPTION_CAPS) allows"));
        }
    }
    Ok(())
}

/// Returns the file that the command line or the environment names, which must be there, else the usual one, else
/// none; and whether it was only found. Who starts Fathom in a folder of somebody else's does not want that one's
/// addresses to get the keys of the environment, nor the service opened.
fn file(flags: &Flags, environment: Environment<'_>, usual: Option<&Path>) -> Result<(File, bool), ConfigError> {
    let named = || environment(settings::FILE_VARIABLE).filter(|path| !path.trim().is_empty()).map(PathBuf::from);
    if let Some(path) = flags.config.clone().or_else(named) {
        return Ok((File::read(&path)?, false));
    }
    let Some(usual) = usual else { return Ok((File::default(), false)) };
    let file = File::read(usual)?;
    let mut keys: Vec<_> =
        file.values.keys().filter(|key| settings::find(key).is_some_and(|s| s.leads_out())).collect();
    keys.sort();
    if !file.mcp.is_null() {
        keys.push(&"mcp");
    }
    match keys.first() {
        Some(key) => {
            let problem = format!(
                "{key} is not taken from a file that was merely found here: name the file (--config {} or FATHOM_CONFIG) if you trust it",
                usual.display()
            );
            Err(ConfigError::File { path: usual.to_owned(), problem })
        }
        None => Ok((file, true)),
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{ModelName, SearchApi, UseLimits};

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
        assert_eq!(config.options.research_model, ModelName::offline().into());
        assert!(config.notices[0].contains("offline:extractive"));
        assert_eq!(config.options.search_api, SearchApi::auto());
    }

    #[test]
    fn the_machines_time_zone_counts_where_no_setting_names_one() {
        let zone = |variables: &[(&str, &str)], zone: &str| {
            let flags = Flags { timezone: Some(zone.to_owned()), ..Flags::default() };
            read(&flags, variables).unwrap().options.timezone
        };
        assert_eq!(zone(&[], "Asia/Tokyo"), "Asia/Tokyo");
        assert_eq!(zone(&[("FATHOM_TIMEZONE", "UTC")], "Asia/Tokyo"), "UTC");
        assert_eq!(zone(&[], "Mars/Olympus"), "UTC");
    }

    #[test]
    fn a_key_or_an_address_makes_openai_the_default() {
        for variable in [("OPENAI_API_KEY", "sk-1"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")] {
            let config = read(&Flags::default(), &[variable]).unwrap();
            // There are no MCP servers, so none are used.
            let mut expected = RunOptions::default();
            expected.set("mcp_servers", "none".into()).unwrap();
            assert_eq!(config.options, expected);
            assert!(config.notices.is_empty());
        }
    }

    /// Two while one takes the place of the other; what is too short to be two is one with blanks in it.
    #[test]
    fn one_secret_or_several_seal_the_keys_of_requests() {
        use secrecy::ExposeSecret as _;
        let secrets = |text: &str| -> Vec<String> {
            let variables = [("FATHOM_REQUEST_KEYS", "allowed"), ("FATHOM_REQUEST_KEYS_SECRET", text)];
            let config = read(&Flags::default(), &variables).unwrap();
            config.request_keys.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect()
        };
        let (new, old, words) = ("n".repeat(32), "o".repeat(32), "a secret of the server, long enough");
        assert_eq!(secrets(&new).concat(), new);
        assert_eq!(secrets(words), [words]);
        assert_eq!(secrets(&format!("{new} {old}")), [new, old]);
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let variables = [("FATHOM_MAX_REACT_TOOL_CALLS", "4"), ("FATHOM_MODEL", "ollama:a")];
        let config = read(&set(&["max_react_tool_calls=5", "research_model=ollama:b"]), &variables).unwrap();
        assert_eq!(config.options.max_react_tool_calls, 5);
        assert_eq!(config.options.research_model.to_string(), "ollama:b");
        assert_eq!(config.options.compression_model.to_string(), "ollama:a");
    }

    /// The names of Open Deep Research mean the same here, below our own names and above the file.
    #[test]
    fn the_names_of_the_original_are_understood() {
        let original = [
            ("RESEARCH_MODEL", "ollama:theirs"),
            ("SUMMARIZATION_MODEL", " google_genai:small"),
            ("MAX_CONCURRENT_RESEARCH_UNITS", "3"),
            ("ALLOW_CLARIFICATION", "False"),
            ("SEARCH_API", "tavily"),
            ("TAVILY_API_KEY", "tvly-1"),
            ("GOOGLE_API_KEY", "k"),
            ("MAX_TOKENS", "7"),
            ("TIMEZONE", "nowhere"),
        ];
        let toml = "[options]\nmax_concurrent_research_units = 2\nmax_react_tool_calls = 4";
        let config = layered(&Flags::default(), &original, toml);
        assert_eq!(config.options.research_model.to_string(), "ollama:theirs");
        assert_eq!(config.options.summarization_model.to_string(), "google:small");
        assert_eq!(config.options.max_concurrent_research_units, 3);
        assert_eq!(config.options.max_react_tool_calls, 4);
        assert!(!config.options.allow_clarification);
        assert_eq!(config.options.max_tokens, RunOptions::default().max_tokens, "an option of ours alone");
        assert!(config.llm.endpoints.get("google").unwrap().is_set());
        let shown = |key: &str| config.effective.iter().find(|setting| setting.key == key).unwrap().source.to_string();
        let expected = "environment variable RESEARCH_MODEL, read as FATHOM_RESEARCH_MODEL";
        assert_eq!(shown("options.research_model"), expected);
        assert_eq!(shown("providers.google.api_key"), "environment variable GOOGLE_API_KEY, read as GEMINI_API_KEY");
        let own = [&original[..], &[("FATHOM_RESEARCH_MODEL", "ollama:ours"), ("GEMINI_API_KEY", "own")]].concat();
        let config = read(&Flags::default(), &own).unwrap();
        assert_eq!(config.options.research_model.to_string(), "ollama:ours");
        for (name, value, expected) in [
            ("MAX_REACT_TOOL_CALLS", "99", "MAX_REACT_TOOL_CALLS (read as FATHOM_MAX_REACT_TOOL_CALLS) must be"),
            ("SEARCH_API", "nowhere", "SEARCH_API (read as FATHOM_SEARCH_API) must be"),
            ("ALLOW_CLARIFICATION", "maybe", "ALLOW_CLARIFICATION (read as "),
        ] {
            let error = read(&Flags::default(), &[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A list of all names is what a run is created with, and it holds no more of them.
    #[test]
    fn mcp_servers_of_both_files_are_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        let (settings, theirs) = (folder.path().join("fathom.toml"), folder.path().join("mcp.json"));
        let own: String = (0..9).map(|at| format!("[[mcp]]\nname = 'own-{at}'\ncommand = 'x'\n")).collect();
        std::fs::write(&settings, own).unwrap();
        let variables = [("FATHOM_MCP_FILE", theirs.to_str().unwrap())];
        let read_with = |count: usize| {
            let servers: Vec<_> = (0..count).map(|at| format!("\"their-{at}\": {{\"command\": \"x\"}}")).collect();
            std::fs::write(&theirs, format!("{{\"mcpServers\": {{{}}}}}", servers.join(","))).unwrap();
            read(&Flags { config: Some(settings.clone()), ..Flags::default() }, &variables)
        };
        assert_eq!(read_with(7).unwrap().mcp.servers.len(), 16);
        let error = read_with(8).unwrap_err().to_string();
        assert!(error.contains("mcp.json") && error.contains("more than 16 MCP servers"), "{error}");
    }

    #[test]
    fn what_the_file_says_of_roles_reaches_the_models() {
        let config = layered(&Flags::default(), &[], "[roles.final_report]\nreasoning_effort = 'high'");
        let tuning = config.llm.roles.get("final_report").expect("the file names the role");
        assert_eq!(tuning.reasoning_effort.as_deref(), Some("high"));
        assert!(config.effective.iter().any(|setting| setting.key == "roles.final_report"));
    }

    /// One model for all roles, said where more counts than where the model of a role was said.
    #[test]
    fn a_model_for_all_roles_wins_over_roles_in_lower_layers() {
        let role = |flags: &Flags, variables: &[(&str, &str)], toml: &str| {
            let config = layered(flags, variables, toml);
            (config.options.research_model.to_string(), source(&config, "options.research_model"))
        };
        let flag = Flags { model: Some("ollama:all".to_owned()), ..Flags::default() };
        let all = |source: &str| ("ollama:all".to_owned(), source.to_owned());
        assert_eq!(role(&flag, &[("FATHOM_RESEARCH_MODEL", "ollama:role")], ""), all("flag"));
        assert_eq!(role(&flag, &[("RESEARCH_MODEL", "ollama:role")], ""), all("flag"));
        let variable = [("FATHOM_MODEL", "ollama:all"), ("RESEARCH_MODEL", "ollama:role")];
        assert_eq!(role(&Flags::default(), &variable, ""), all("environment"));
        let file = "[options]\nresearch_model = 'ollama:role'";
        assert_eq!(role(&Flags::default(), &variable[..1], file), all("environment"));
        let beside = [("FATHOM_MODEL", "ollama:all"), ("FATHOM_RESEARCH_MODEL", "ollama:role")];
        assert_eq!(role(&Flags::default(), &beside, "").0, "ollama:role");
    }

    #[test]
    fn the_web_is_searched_when_its_key_is_set_unless_the_command_line_names_documents() {
        let documents = Flags { documents: Some("docs".into()), ..Flags::default() };
        let keys = [("TAVILY_API_KEY", "tvly-1"), ("OPENAI_API_KEY", "k"), ("FATHOM_DOCS", "docs")];
        let check = |flags: &Flags, variables: &[(&str, &str)], expected: &str, noticed: &str| {
            let config = read(flags, variables).unwrap();
            assert_eq!(config.options.search_api.to_string(), expected);
            assert!(config.notices.iter().any(|notice| notice.contains(noticed)), "{:?}", config.notices);
        };
        assert_eq!(read(&documents, &[]).unwrap().options.search_api.to_string(), "local");
        check(&documents, &keys[..2], "local", "not tavily (--set search_api=tavily, or tavily,local for both)");
        check(&Flags::default(), &keys, "tavily", "--set search_api=local, or tavily,local for both");
        let auto = [&keys[..2], &[("FATHOM_SEARCH_API", "auto")]].concat();
        check(&documents, &auto, "tavily", "--set search_api=local");
        let chosen = read(&documents, &[&keys[..2], &[("SEARCH_API", "tavily")]].concat()).unwrap();
        assert_eq!(chosen.options.search_api.to_string(), "tavily");
        assert!(!chosen.notices.iter().any(|notice| notice.contains("searched and not")), "{:?}", chosen.notices);
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
        assert!(message(&set(&["research_model=acme:x"]), &[]).contains("a model of a known provider ("));
        assert!(message(&set(&["research_model=google_genai:x"]), &[]).contains("; google_genai is google here"));
    }

    #[cfg(unix)]
    #[test]
    fn paths_that_are_no_text_are_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let path = PathBuf::from(std::ffi::OsString::from_vec(b"/srv/caf\xe9".to_vec()));
        for (flags, name) in [
            (Flags { documents: Some(path.clone()), ..Flags::default() }, "--docs"),
            (Flags { data_dir: Some(path.clone()), ..Flags::default() }, "--data-dir"),
        ] {
            let error = read(&flags, &[]).unwrap_err().to_string();
            assert_eq!(error, format!("{name} must be a path in UTF-8"));
        }
    }

    /// Its address may hold a password, and what is wrong with it may be in another part of it.
    #[test]
    fn a_refused_address_of_an_mcp_server_is_not_shown() {
        let secret = "pa55";
        let config = format!(r#"{{"url": "https://u:{secret}@h/mcp?key={secret}"}}"#);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fathom.toml");
        std::fs::write(&path, format!("[options]\nmcp_config = {{ url = 'https://u:{secret}@h/mcp' }}")).unwrap();
        let named = Flags { config: Some(path), ..Flags::default() };
        let pair = format!("mcp_config={config}");
        for (flags, variables) in [
            (Flags::default(), vec![("FATHOM_MCP_CONFIG", &*config)]),
            (Flags::default(), vec![("FATHOM_MCP_CONFIG", &config[..config.len() - 1])]),
            (set(&[&pair]), Vec::new()),
            (named, Vec::new()),
        ] {
            let error = read(&flags, &variables).unwrap_err().to_string();
            assert!(error.contains("mcp_config") || error.contains("FATHOM_MCP_CONFIG"), "{error}");
            assert!(!error.contains(secret), "{error}");
        }
    }

    #[test]
    fn caps_lower_what_is_configured_and_refuse_what_the_command_line_asks_for() {
        let caps = ("FATHOM_OPTION_CAPS", "max_react_tool_calls=3,max_run_seconds=60");
        let config = read(&Flags::default(), &[caps, ("FATHOM_MAX_REACT_TOOL_CALLS", "5")]).unwrap();
        assert_eq!((config.options.max_react_tool_calls, config.options.max_run_seconds), (3, 60));
        let lowered: Vec<_> = config.notices.iter().filter(|notice| notice.contains("lowered")).collect();
        assert!(lowered.len() == 1 && lowered[0].starts_with("max_react_tool_calls "), "{lowered:?}");
        let error = read(&set(&["max_react_tool_calls=5"]), &[caps]).unwrap_err().to_string();
        assert_eq!(error, "option 'max_react_tool_calls' must be 3 at most on this server, not 5");
    }

    /// Wrong as the other settings may be; the file is read only if nobody else says where the service listens.
    #[test]
    fn the_address_is_read_without_the_other_settings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fathom.toml");
        let address = |flags: &Flags, variables: &[(&str, &str)]| {
            let environment =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let address = Config::address(flags, &environment, path.exists().then_some(&*path));
            address.map(|address| address.to_string()).map_err(|error| error.to_string())
        };
        let wrong = ("FATHOM_LEASE_SECONDS", "never");
        assert_eq!(address(&Flags::default(), &[wrong]), Ok("127.0.0.1:8080".to_owned()));
        std::fs::write(&path, "listen = '127.0.0.1:9'").unwrap();
        assert_eq!(address(&Flags::default(), &[wrong]), Ok("127.0.0.1:9".to_owned()));
        std::fs::write(&path, "listen = ").unwrap();
        assert!(address(&Flags::default(), &[wrong]).unwrap_err().contains("fathom.toml"));
        assert_eq!(address(&Flags::default(), &[("FATHOM_LISTEN", "[::1]:7")]), Ok("[::1]:7".to_owned()));
        let flags = Flags { listen: Some("127.0.0.1:6".to_owned()), ..Flags::default() };
        assert_eq!(address(&flags, &[("FATHOM_LISTEN", "[::1]:7")]), Ok("127.0.0.1:6".to_owned()));
        for name in ["::1:80", "localhost:80"] {
            let refused = address(&Flags::default(), &[("FATHOM_LISTEN", name)]).unwrap_err();
            assert!(refused.contains("not a name") && refused.contains("[::1]:8080"), "{refused}");
        }
    }

    #[test]
    fn a_found_file_sets_no_address_and_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fathom.toml");
        let environment = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
        for (toml, key) in [
            ("[providers.openai]\nbase_url = 'https://evil.test/v1'", "providers.openai.base_url"),
            ("[providers.openai]\nheaders = { A = '1' }", "providers.openai.headers"),
            ("[search.tavily]\nbase_url = 'https://evil.test'", "search.tavily.base_url"),
            ("[telemetry]\nendpoint = 'https://evil.test'", "telemetry.endpoint"),
            ("[database]\nurl = 'postgres://evil.test/x'", "database.url"),
            ("[http]\nopen = true", "http.open"),
            ("[providers.vertex]\ncredentials = '/tmp/x'", "providers.vertex.credentials"),
            ("[providers.bedrock]\nconfig = '/tmp/x'", "providers.bedrock.config"),
            ("[providers.bedrock]\nsts_url = 'https://evil.test'", "providers.bedrock.sts_url"),
            ("[http]\ncors_origins = ['*']", "http.cors_origins"),
            ("[pages]\nreader = 'jina'", "pages.reader"),
            ("[pages]\nallow_private = true", "pages.allow_private"),
        ] {
            std::fs::write(&path, toml).unwrap();
            let error = Config::combine(&Flags::default(), &environment, Some(&path)).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("--config"), "{error}");
            let named = Flags { config: Some(path.clone()), ..Flags::default() };
            assert!(Config::combine(&named, &environment, None).is_ok());
        }
        std::fs::write(&path, "[options]\nmax_react_tool_calls = 3").unwrap();
        let config = Config::combine(&Flags::default(), &environment, Some(&path)).unwrap();
        assert_eq!(config.options.max_react_tool_calls, 3);
        assert!(config.notices.iter().any(|notice| notice.contains("fathom.toml")), "{:?}", config.notices);
    }

    /// Reads the settings from flags, variables and a file.
    fn layered(flags: &Flags, variables: &[(&str, &str)], toml: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.toml");
        std::fs::write(&path, toml).unwrap();
        let flags = Flags { config: Some(path), ..flags.clone() };
        read(&flags, variables).unwrap()
    }

    /// Returns who said it: the first word of the source.
    fn source(config: &Config, key: &str) -> String {
        let setting = config.effective.iter().find(|setting| setting.key == key).unwrap();
        setting.source.to_string().split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn flags_win_over_variables_over_the_file_over_defaults() {
        let toml = "listen = '127.0.0.1:3'\nmodel = 'ollama:file'\n[options]\nmax_react_tool_calls = 3\nmax_content_length = 3000\n";
        let variables = [("FATHOM_LISTEN", "127.0.0.1:2"), ("FATHOM_MAX_REACT_TOOL_CALLS", "2")];
        let flags = Flags { listen: Some("127.0.0.1:1".to_owned()), ..Flags::default() };
        let config = layered(&flags, &variables, toml);
        assert_eq!(config.http.listen.port(), 1);
        assert_eq!(config.options.max_react_tool_calls, 2);
        assert_eq!(config.options.max_content_length, 3_000);
        assert_eq!(config.options.max_researcher_iterations, 6);
        assert_eq!(config.options.compression_model.to_string(), "ollama:file");
        let sources = ["listen", "options.max_react_tool_calls", "options.max_content_length", "options.require_think"]
            .map(|key| source(&config, key));
        assert_eq!(sources, ["flag", "environment", "file", "default"]);
        assert_eq!(source(&config, "options.compression_model"), "file", "it follows from `model`");
    }

    #[test]
    fn the_file_is_named_by_flag_or_variable_and_must_be_there_then() {
        let missing = Flags { config: Some("missing.toml".into()), ..Flags::default() };
        assert!(read(&missing, &[]).unwrap_err().to_string().starts_with("missing.toml: cannot be read: "));
        let error = read(&Flags::default(), &[("FATHOM_CONFIG", "gone.toml")]).unwrap_err();
        assert!(error.to_string().starts_with("gone.toml: "));
    }

    #[test]
    fn the_log_has_no_colours_where_the_terminal_has_none_or_nobody_wants_them() {
        let plain = [("NO_COLOR", ""), ("TERM", "xterm"), ("NO_COLOR", "1"), ("TERM", "dumb")]
            .map(|variable| read(&Flags::default(), &[variable]).unwrap().log.is_plain);
        assert_eq!(plain, [false, false, true, true]);
    }

    #[test]
    fn the_table_and_the_rooms_agree_on_defaults() {
        let config = read(&Flags::default(), &[]).unwrap();
        assert_eq!(format!("{:?}", config.llm), format!("{:?}", llm::Settings::default()));
        let search = search::Settings { index: config.data_dir.join("index"), ..search::Settings::default() };
        assert_eq!(format!("{:?}", config.search), format!("{search:?}"));
    }

    #[test]
    fn settings_of_the_service_have_their_defaults_and_types() {
        let config = read(&Flags::default(), &[]).unwrap();
        let http = HttpSettings {
            listen: "127.0.0.1:8080".parse().unwrap(),
            open: false,
            allowed_hosts: AllowedHosts::Only(Vec::new()),
            cors_origins: CorsOrigins::None,
            http2: false,
            max_buffered_bytes: 268_435_456,
            max_body_bytes: 2_097_152,
            max_upload_bytes: 26_214_400,
            max_connections: 24_000,
            max_streams: 20_000,
            grace: Duration::from_secs(10),
            authentication: Authentication::None,
            owner_header: None,
            trusted_proxies: TrustedProxies(["127.0.0.0/8", "::1/128"].map(|text| text.parse().unwrap()).into()),
            separate_owners: false,
        };
        assert_eq!(config.http, http);
        let queue = QueueSettings {
            max_concurrent_runs: 50,
            max_queued_runs: 1_000,
            max_queued_runs_per_owner: 100,
            max_threads_per_owner: 10_000,
            max_documents_per_thread: 20,
            of_owner: UseLimits::default(),
        };
        assert_eq!(config.queue, queue);
        assert_eq!((config.event_retention, config.thread_retention, config.telemetry.endpoint), (None, None, None));
        let variables = [
            ("FATHOM_CORS_ORIGINS", "https://a.test, https://b.test"),
            ("FATHOM_OWNER_HEADER", "X-User"),
            ("FATHOM_EVENT_RETENTION_DAYS", "2"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
        ];
        let config = read(&Flags::default(), &variables).unwrap();
        assert_eq!(
            config.http.cors_origins,
            CorsOrigins::Only(vec!["https://a.test".to_owned(), "https://b.test".to_owned()])
        );
        assert_eq!(config.http.owner_header.unwrap().as_str(), "x-user");
        assert_eq!(config.event_retention, Some(Duration::from_secs(172_800)));
        assert_eq!(config.telemetry.endpoint.unwrap().as_str(), "http://127.0.0.1:4318/v1/traces");
    }
}
