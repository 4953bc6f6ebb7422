//! The table of settings: one row each, from which reading, `fathom config`, the hints about unknown names, the help of
//! flags, `.env.example`, `fathom.example.toml` and `docs/settings.md` follow.

use std::{borrow::Cow, sync::LazyLock};

use super::kind::Kind;
use crate::{
    domain::options::{OPTIONS, ORIGINAL, OptionSpec},
    llm::providers::{self, Provider},
    pages::READERS,
    search,
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
    /// Another variable that is read when that one is not set: the name that Open Deep Research or the vendor has for
    /// it.
    pub other_variable: Option<Cow<'static, str>>,
    /// Its command line flag.
    pub flag: Option<&'static str>,
    pub kind: Kind,
    pub default: Fallback,
    /// What it is for, units included.
    pub meaning: &'static str,
    /// What stands in the example files where there is no default; empty: what the kind has.
    pub example: &'static str,
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

/// Returns every setting but the file's own place and its tables of models, in the order they are shown.
pub fn all() -> &'static [Setting] {
    static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let (before, behind) = TABLE.split_at(TABLE.iter().position(|row| row.0.starts_with("timeouts.")).unwrap_or(0));
        let mut all: Vec<Setting> = before.iter().map(Setting::of).collect();
        let own = providers::PROVIDERS.iter().filter(|provider| provider.settings_of.is_none());
        all.extend(own.flat_map(Setting::of_provider));
        let of_engines = search::ROWS.iter().flat_map(|row| row.settings);
        all.extend(of_engines.filter(|setting| setting.is_own()).map(Setting::of_engine));
        all.extend(behind.iter().map(Setting::of));
        all.extend(OPTIONS.iter().map(Setting::of_option));
        all
    });
    &ALL
}

/// Returns the row of that key.
pub fn find(key: &str) -> Option<&'static Setting> {
    all().iter().find(|setting| setting.key == key)
}

/// Key, variable, flag, kind, default, meaning.
type Row = (&'static str, &'static str, Option<&'static str>, Kind, Fallback, &'static str);

impl Setting {
    /// Returns whether it says where requests with keys and questions go, or who may come in.
    pub fn leads_out(&self) -> bool {
        let opens = matches!(
            &*self.key,
            "http.open"
                | "http.authentication"
                | "http.owner_header"
                | "http.trusted_proxies"
                | "http.separate_owners"
                | "mcp_file"
                | "limits.request_mcp"
                | "limits.allowed_networks"
                | "pages.allow_private"
                | "pages.reader"
                | "webhooks.allow_private"
                | "sign_in.audiences"
                | "sign_in.owner_claim"
                | "sign_in.roles_claim"
                | "sign_in.default_scope"
                | "options.mcp_config"
        );
        let of_clouds =
            || providers::PROVIDERS.iter().flat_map(|provider| provider.others.iter().map(move |one| (provider, one)));
        let leads = of_clouds()
            .any(|(provider, one)| one.leads_out && self.key == format!("providers.{}.{}", provider.name, one.name));
        opens || leads || matches!(self.kind, Kind::Url | Kind::Headers | Kind::Database | Kind::Origins | Kind::Hosts)
    }

    fn of(&(key, variable, flag, kind, default, meaning): &Row) -> Self {
        let example = EXAMPLES.iter().find(|(of, _)| *of == key).map_or("", |(_, example)| example);
        let (key, variable) = (key.into(), variable.into());
        Self { key, variable, other_variable: None, flag, kind, default, meaning, example }
    }

    fn of_engine(setting: &'static search::Setting) -> Self {
        Self {
            key: setting.key.into(),
            variable: setting.variable.into(),
            other_variable: None,
            flag: setting.flag,
            kind: match setting.value {
                search::Value::Secret => Kind::Secret,
                search::Value::Url => Kind::Url,
                search::Value::Folders => Kind::Folders,
                search::Value::Number { min, max } => Kind::Number { min, max },
                search::Value::Choice(words) => Kind::Choice(words),
                search::Value::Text => Kind::Text,
            },
            default: match setting.need {
                search::Need::Default(text) => match setting.value {
                    search::Value::Number { .. } | search::Value::Choice(_) => Is(text),
                    _ => Computed(text),
                },
                search::Need::Required | search::Need::Optional => Unset,
            },
            meaning: setting.meaning,
            example: setting.example,
        }
    }

    fn of_provider(provider: &'static Provider) -> Vec<Self> {
        let setting = |name: &str, variable: &'static str, kind, default, meaning| Self {
            key: format!("providers.{}.{name}", provider.name).into(),
            variable: variable.into(),
            other_variable: None,
            flag: None,
            kind,
            default,
            meaning,
            example: "",
        };
        let variables = provider.variables;
        let key = setting("api_key", variables.api_key, Kind::Secret, Unset, "key of the provider, where it wants one");
        let address = provider.base_url.map_or(Unset, Computed);
        let about = "address of its API, with /v1 where it has one";
        let further = provider.others.iter().map(|other| {
            let kind = match other.name {
                _ if other.is_secret => Kind::Secret,
                name if name.ends_with("_url") => Kind::Url,
                _ => Kind::Text,
            };
            let further = setting(other.name, other.variable, kind, Unset, other.meaning);
            Self { other_variable: other.other_variable.map(Cow::from), ..further }
        });
        let usual = [
            Self { other_variable: provider.other_key.map(Cow::from), ..key },
            setting("base_url", variables.base_url, Kind::Url, address, about),
            setting("headers", variables.headers, Kind::Headers, Unset, "sent with every request"),
        ];
        usual.into_iter().chain(further).collect()
    }

    fn of_option(spec: &'static OptionSpec) -> Self {
        let default = match spec.default {
            "null" => Unset,
            text => Is(text.trim_matches('"')),
        };
        let variable = spec.name.to_uppercase();
        Self {
            key: format!("options.{}", spec.name).into(),
            variable: format!("FATHOM_{variable}").into(),
            other_variable: ORIGINAL.contains(&spec.name).then(|| variable.into()),
            flag: Some("--set"),
            kind: Kind::Research(spec),
            default,
            meaning: spec.meaning,
            example: "",
        }
    }
}

const SECONDS: Kind = Kind::Number { min: 1, max: 86_400 };
const CALLS: Kind = Kind::Number { min: 1, max: 100_000 };
const RUNS: Kind = Kind::Number { min: 1, max: 1_000_000 };
const TOKENS: Kind = Kind::Number { min: 100_000, max: 1_000_000_000_000 };

/// Examples of settings for which the one of their kind would be refused.
const EXAMPLES: &[(&str, &str)] =
    &[("mcp_file", "/etc/fathom/mcp.json"), ("sign_in.redirect_url", "https://research.example.com/auth/callback")];

use Fallback::{Computed, Unset, Value as Is};

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("listen", "FATHOM_LISTEN", Some("--listen"), Kind::Address, Is("127.0.0.1:8080"), "where the service listens"),
    ("data_dir", "FATHOM_DATA_DIR", Some("--data-dir"), Kind::Path, Computed("the platform's data folder"), "holds the embedded database, the document index, and notes on what each process works on"),
    ("model", "FATHOM_MODEL", Some("--model"), Kind::Model, Unset, "model for every role, such as openai:gpt-4.1, ollama:qwen3:8b or offline:extractive"),

    ("mcp_file", "FATHOM_MCP_FILE", None, Kind::Path, Unset, "JSON file of MCP servers as other programs have it (mcpServers), besides those in the settings file"),

    ("database.url", "DATABASE_URL", None, Kind::Database, Computed("SQLite in the data folder"), "the Postgres database to use"),
    ("database.connections", "FATHOM_DB_CONNECTIONS", None, Kind::Number { min: 1, max: 1_000 }, Is("8"), "connections to Postgres in the pool of each process; it opens four more, to commit, to wake others, to listen and for probes"),
    ("database.sqlite_synchronous", "FATHOM_SQLITE_SYNCHRONOUS", None, Kind::Choice(&["full", "normal"]), Is("full"), "whether the embedded database waits for the disk at each commit (full), or a loss of power may cost the last commits (normal)"),
    ("database.thread_retention_days", "FATHOM_THREAD_RETENTION_DAYS", None, Kind::Number { min: 1, max: 36_500 }, Unset, "days without a run or a new document after which a thread is deleted, with all that belongs to it; unset: never"),
    ("database.event_retention_days", "FATHOM_EVENT_RETENTION_DAYS", None, Kind::Number { min: 1, max: 36_500 }, Unset, "days for which the events of a finished run are kept; unset: as long as the thread"),

    ("http.cors_origins", "FATHOM_CORS_ORIGINS", None, Kind::Origins, Unset, "pages of these origins may call the API from a browser; * for all"),
    ("http.open", "FATHOM_OPEN", Some("--open"), Kind::Boolean, Is("false"), "lets the service listen beyond loopback without keys; everybody who reaches it may then use it"),
    ("http.allowed_hosts", "FATHOM_ALLOWED_HOSTS", None, Kind::Hosts, Unset, "host names of the service; IP addresses and localhost always count; * for any"),
    ("http.http2", "FATHOM_HTTP2", None, Kind::Boolean, Is("false"), "accepts HTTP/2 without TLS, for proxies and programs that use it from the start"),
    ("http.max_buffered_bytes", "FATHOM_MAX_BUFFERED_BYTES", None, Kind::Number { min: 1 << 20, max: 1 << 31 }, Is("268435456"), "bytes of request bodies and unread answers held at the same time, over all connections"),
    ("http.max_body_bytes", "FATHOM_MAX_BODY_BYTES", None, Kind::Number { min: 1_024, max: 1 << 30 }, Is("2097152"), "longest request body, bytes"),
    ("http.max_upload_bytes", "FATHOM_MAX_UPLOAD_BYTES", None, Kind::Number { min: 1_024, max: 50 << 20 }, Is("26214400"), "longest document that may be given to a thread or collection, bytes"),
    ("http.authentication", "FATHOM_AUTHENTICATION", None, Kind::Choice(&["none", "keys"]), Is("none"), "whether requests to the API must carry a key (fathom keys create); with keys, each owner sees only their own"),
    ("http.owner_header", "FATHOM_OWNER_HEADER", None, Kind::HeaderName, Unset, "request header in which a trusted proxy names the owner; unset: there is one owner"),
    ("http.trusted_proxies", "FATHOM_TRUSTED_PROXIES", None, Kind::Networks, Is("127.0.0.0/8,::1"), "addresses, as this service sees them, of the proxies that may name the owner; from all others that header is refused"),
    ("http.separate_owners", "FATHOM_SEPARATE_OWNERS", None, Kind::Boolean, Is("false"), "each owner sees only their own threads and runs; otherwise owners share them and only take turns"),
    ("http.max_connections", "FATHOM_MAX_CONNECTIONS", None, RUNS, Is("24000"), "connections open at the same time; idle ones give way to new ones; the default is lower where the process may open fewer files"),
    ("http.max_streams", "FATHOM_MAX_STREAMS", None, RUNS, Is("20000"), "event streams open at the same time; the default is at most five for each six connections"),
    ("http.grace_seconds", "FATHOM_GRACE_SECONDS", None, Kind::Number { min: 0, max: 3_600 }, Is("10"), "time for requests and runs to settle at shutdown"),

    ("sign_in.issuer", "FATHOM_ISSUER", None, Kind::Url, Unset, "the issuer (iss) that vouches for users: its tokens (JWT) are accepted in place of keys, and browsers sign in there (OpenID Connect)"),
    ("sign_in.audiences", "FATHOM_AUDIENCES", None, Kind::Text, Unset, "audiences (aud) that tokens must have one of, separated by commas; unset: no tokens are accepted, but browsers may sign in"),
    ("sign_in.jwks_url", "FATHOM_JWKS_URL", None, Kind::Url, Unset, "address of the issuer's public keys (JWKS); by default the one in its discovery document"),
    ("sign_in.owner_claim", "FATHOM_OWNER_CLAIM", None, Kind::Text, Is("sub"), "the claim that names the owner"),
    ("sign_in.roles_claim", "FATHOM_ROLES_CLAIM", None, Kind::Text, Is("roles"), "the claim with roles, among them fathom:read, fathom:write or fathom:admin; a path such as realm_access.roles"),
    ("sign_in.default_scope", "FATHOM_DEFAULT_SCOPE", None, Kind::Choice(&["none", "read", "write"]), Is("write"), "what users without such a role may do"),
    ("sign_in.client_id", "FATHOM_CLIENT_ID", None, Kind::Text, Unset, "the id of this service at the issuer, for browsers that sign in there"),
    ("sign_in.client_secret", "FATHOM_CLIENT_SECRET", None, Kind::Secret, Unset, "its secret there; unset: a public client"),
    ("sign_in.redirect_url", "FATHOM_REDIRECT_URL", None, Kind::Url, Unset, "where the issuer sends browsers back to: the address of this service with /auth/callback"),
    ("sign_in.scopes", "FATHOM_SIGN_IN_SCOPES", None, Kind::Text, Is("openid"), "scopes that are asked for at the issuer, separated by spaces"),

    ("timeouts.connect_seconds", "FATHOM_CONNECT_SECONDS", None, SECONDS, Is("10"), "for opening a connection to a model"),
    ("timeouts.model_seconds", "FATHOM_MODEL_SECONDS", None, SECONDS, Is("600"), "for an answer of a model that is not streamed to a reader"),
    ("timeouts.model_idle_seconds", "FATHOM_MODEL_IDLE_SECONDS", None, SECONDS, Is("300"), "until the first piece of a streamed answer, and between any two"),
    ("timeouts.model_stream_seconds", "FATHOM_MODEL_STREAM_SECONDS", None, SECONDS, Is("3600"), "for a streamed answer in all, however steadily it comes"),
    ("timeouts.retry_seconds", "FATHOM_RETRY_SECONDS", None, SECONDS, Is("14400"), "for all waits between the attempts of one call to a model or a search engine; the run's own time may end them sooner"),
    ("timeouts.lease_seconds", "FATHOM_LEASE_SECONDS", None, Kind::Number { min: 2, max: 3_600 }, Is("15"), "time after which the runs of a silent process are taken over"),
    ("timeouts.crash_loop_seconds", "FATHOM_CRASH_LOOP_SECONDS", None, SECONDS, Is("600"), "a run of which processes die is given up after five deaths over at least this time"),

    ("limits.max_concurrent_runs", "FATHOM_MAX_CONCURRENT_RUNS", None, Kind::Number { min: 1, max: 10_000 }, Is("50"), "runs a process works on at the same time"),
    ("limits.max_queued_runs", "FATHOM_MAX_QUEUED_RUNS", None, RUNS, Is("1000"), "runs that may wait"),
    ("limits.max_queued_runs_per_owner", "FATHOM_MAX_QUEUED_RUNS_PER_OWNER", None, RUNS, Is("100"), "runs of one owner that may wait"),
    ("limits.max_threads_per_owner", "FATHOM_MAX_THREADS_PER_OWNER", None, Kind::Number { min: 1, max: 100_000_000 }, Is("10000"), "stored threads of one owner; further ones are refused until some are deleted"),
    ("limits.max_documents_per_thread", "FATHOM_MAX_DOCUMENTS_PER_THREAD", None, Kind::Number { min: 1, max: 200 }, Is("20"), "documents that may be given to one thread or collection"),
    ("limits.runs_at_once_per_owner", "FATHOM_RUNS_AT_ONCE_PER_OWNER", None, RUNS, Unset, "runs of one owner that may be queued or at work at the same time"),
    ("limits.runs_per_day_per_owner", "FATHOM_RUNS_PER_DAY_PER_OWNER", None, RUNS, Unset, "runs that one owner may start in a day (UTC)"),
    ("limits.requests_per_minute_per_owner", "FATHOM_REQUESTS_PER_MINUTE_PER_OWNER", None, RUNS, Unset, "requests that one owner may send to each process in a minute"),
    ("limits.tokens_per_day_per_owner", "FATHOM_TOKENS_PER_DAY_PER_OWNER", None, TOKENS, Unset, "tokens, read and written, that the runs of one owner may use, by the day (UTC) on which they were created"),
    ("limits.tokens_per_month_per_owner", "FATHOM_TOKENS_PER_MONTH_PER_OWNER", None, TOKENS, Unset, "the same for a calendar month (UTC)"),
    ("limits.cost_per_day_per_owner", "FATHOM_COST_PER_DAY_PER_OWNER", None, Kind::Dollars, Unset, "dollars that the runs of one owner may cost, by the day (UTC) on which they were created; models without a known price are then not called"),
    ("limits.cost_per_month_per_owner", "FATHOM_COST_PER_MONTH_PER_OWNER", None, Kind::Dollars, Unset, "the same for a calendar month (UTC)"),
    ("limits.allowed_models", "FATHOM_ALLOWED_MODELS", None, Kind::Models, Unset, "models that requests may name, besides those that the server uses; * stands for any text; unset: all"),
    ("limits.option_caps", "FATHOM_OPTION_CAPS", None, Kind::Caps, Unset, "the highest value that a run may ask for, by research option"),
    ("limits.request_mcp", "FATHOM_REQUEST_MCP", None, Kind::Boolean, Is("false"), "lets requests name the address of an MCP server (mcp_config), if it is public or in allowed_networks"),
    ("limits.allowed_networks", "FATHOM_ALLOWED_NETWORKS", None, Kind::Networks, Unset, "private networks, such as 10.20.0.0/16, in which pages, webhooks and MCP servers of requests may be, on any port; unset: none"),
    ("limits.model_concurrency", "FATHOM_MODEL_CONCURRENCY", None, CALLS, Is("10000"), "calls to one provider's models at the same time, over all runs"),
    ("limits.providers", "FATHOM_PROVIDER_LIMITS", None, Kind::ProviderLimits, Unset, "limits for providers of models, over all runs: PROVIDER.in_flight, .requests_per_minute or .tokens_per_minute=NUMBER"),
    ("limits.search_concurrency", "FATHOM_SEARCH_CONCURRENCY", None, CALLS, Is("2000"), "web searches at the same time, over all runs"),

    ("request_keys.policy", "FATHOM_REQUEST_KEYS", None, Kind::Choice(&["refused", "allowed", "required"]), Is("refused"), "whether requests may, or must, bring keys of providers and search engines (api_keys); their run then uses no others"),
    ("request_keys.secret", "FATHOM_REQUEST_KEYS_SECRET", None, Kind::Secret, Unset, "encrypts these keys in the database until their run ends; 32 characters or more, the same for all processes; several, separated by spaces: the first one encrypts, and each decrypts"),

    ("webhooks.secret", "FATHOM_WEBHOOK_SECRET", None, Kind::SigningSecret, Unset, "signs webhooks: whsec_ and base64 of 24 to 64 bytes; up to four, separated by spaces, sign side by side, so that receivers can change from one to the next; unset: there are no webhooks"),
    ("webhooks.allow_private", "FATHOM_WEBHOOK_ALLOW_PRIVATE", None, Kind::Boolean, Is("false"), "lets webhooks go to private addresses, such as those of this machine"),

    ("pages.enabled", "FATHOM_PAGES_ENABLED", None, Kind::Boolean, Is("true"), "lets runs open pages by their address"),
    ("pages.allow_private", "FATHOM_PAGES_ALLOW_PRIVATE", None, Kind::Boolean, Is("false"), "lets pages be at private addresses, such as those of this machine"),
    ("pages.robots", "FATHOM_PAGES_ROBOTS", None, Kind::Boolean, Is("true"), "leaves pages alone that a site's robots.txt asks to leave alone"),
    ("pages.reader", "FATHOM_PAGE_READER", None, Kind::Choice(READERS), Is("none"), "service that reads pages which show their text only to browsers that run their scripts; it learns their addresses"),
    ("pages.reader_key", "FATHOM_PAGE_READER_KEY", None, Kind::Secret, Unset, "its key"),
    ("pages.reader_url", "FATHOM_PAGE_READER_URL", None, Kind::Url, Unset, "its address if it is not the vendor's own, such as a Firecrawl of yours"),

    ("log.filter", "FATHOM_LOG", None, Kind::Filter, Computed("info for serve, error for other commands"), "level of the log: error, warn, info or debug, also per module (fathom=debug)"),
    ("log.format", "FATHOM_LOG_FORMAT", None, Kind::Choice(&["text", "json"]), Is("text"), "format of the log"),

    ("telemetry.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", None, Kind::Url, Unset, "collector of traces (OTLP over HTTP); /v1/traces is appended"),
    ("telemetry.traces_endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None, Kind::Url, Unset, "full address of the collector of traces, to which nothing is appended; wins over endpoint"),
    ("telemetry.headers", "OTEL_EXPORTER_OTLP_HEADERS", None, Kind::Headers, Unset, "headers that are sent to the collector"),
    ("telemetry.service_name", "OTEL_SERVICE_NAME", None, Kind::Text, Is("fathom"), "name of the service in traces"),
    ("telemetry.content", "FATHOM_TRACE_CONTENT", None, Kind::Boolean, Is("false"), "puts prompts, answers and tool results into traces"),
];

#[cfg(test)]
mod tests {
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

    /// A folder of documents stands at the top, where people look for it; all else of an engine in its own table.
    #[test]
    fn the_settings_of_an_engine_stand_under_its_name() {
        for row in search::ROWS {
            for setting in row.settings.iter().filter(|setting| setting.value != search::Value::Folders) {
                if !setting.is_own() {
                    assert!(find(setting.key).is_some(), "{} is no setting of a provider", setting.key);
                    continue;
                }
                let table = format!("search.{}.", row.name);
                assert!(setting.key.starts_with(&table), "{} is not under {table}", setting.key);
            }
        }
    }

    #[test]
    fn names_of_other_programs_are_nobodys_own() {
        for other in all().iter().filter_map(|setting| setting.other_variable.as_deref()) {
            assert!(all().iter().all(|setting| setting.variable != other), "{other}");
        }
    }
}
