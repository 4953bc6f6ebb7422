//! How values look: read from text, checked, and said in words what would be accepted.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use ipnet::IpNet;
use reqwest::header::HeaderName;
use serde::Deserialize as _;
use serde_json::Value;
use url::Url;

use crate::{
    domain::{
        Caps, ModelName, Models, SearchApi, SearchFallback, UseLimits,
        options::{OptionError, OptionKind, OptionSpec, unknown_provider},
    },
    llm::{ProviderLimits, providers},
    net::Networks,
    search, store, telemetry, webhooks,
};

/// How a value looks, and whether it may be shown.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    /// Never shown.
    Secret,
    /// The same, in the form of Standard Webhooks; or several.
    SigningSecret,
    /// The address of a Postgres database; shown without its user and password.
    Database,
    Path,
    /// Folders: a text as in `PATH`, or a list.
    Folders,
    /// Shown without user, password and query.
    Url,
    /// A table in the file, `Name=value,Name=value` in a variable. Values are never shown.
    Headers,
    /// Both ends are allowed.
    Number {
        min: u64,
        max: u64,
    },
    /// A sum of money in dollars.
    Dollars,
    Boolean,
    Choice(&'static [&'static str]),
    /// Where to listen.
    Address,
    /// A list in the file, separated by commas in a variable.
    Origins,
    /// Names of hosts, without ports: a list in the file, separated by commas in a variable.
    Hosts,
    /// Addresses and ranges of them (CIDR): a list in the file, separated by commas in a variable.
    Networks,
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

impl Kind {
    /// Returns a value given as text, not checked yet.
    pub fn read(self, text: &str) -> Value {
        let trimmed = text.trim();
        match self {
            Self::Path | Self::Folders => Value::String(text.to_owned()),
            Self::Number { .. } | Self::Dollars | Self::Boolean => {
                serde_json::from_str(trimmed).unwrap_or_else(|_| trimmed.into())
            }
            Self::Headers => pairs(trimmed).unwrap_or_else(|| trimmed.into()),
            Self::Origins | Self::Hosts | Self::Networks | Self::Models | Self::Caps | Self::ProviderLimits => {
                trimmed.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(Value::from).collect()
            }
            Self::Research(spec) => spec.read(text),
            _ => trimmed.into(),
        }
    }

    /// Returns the value again, when it is of the right type and in range.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn check(self, value: Value) -> Result<Value, String> {
        let text = value.as_str();
        let fits = match self {
            Self::Text | Self::Secret | Self::Path => text.is_some(),
            Self::Database => match text.filter(|text| is_database(text)) {
                Some(address) => return store::check_parameters(address).map(|()| value),
                None => false,
            },
            Self::Url => text.is_some_and(is_url),
            Self::Headers => value.as_object().is_some_and(|pairs| pairs.values().all(Value::is_string)),
            Self::Number { min, max } => value.as_u64().is_some_and(|number| (min..=max).contains(&number)),
            Self::Dollars => value.as_f64().is_some_and(|sum| (0.01..=UseLimits::MOST_DOLLARS).contains(&sum)),
            Self::Boolean => value.is_boolean(),
            Self::Choice(names) => text.is_some_and(|text| names.contains(&text)),
            Self::SigningSecret => text.is_some_and(webhooks::is_secret),
            Self::Address => text.is_some_and(|text| SocketAddr::from_str(text).is_ok()),
            Self::HeaderName => text.is_some_and(|text| HeaderName::from_str(text).is_ok()),
            Self::Filter => text.is_some_and(telemetry::is_filter),
            Self::Model => {
                let value = joined(value);
                let models = value.as_str().map(Models::from_str).ok_or_else(|| self.expected())??;
                models.iter().try_for_each(known)?;
                return Ok(value);
            }
            Self::Research(spec) => return checked_option(spec, value),
            Self::Folders => return folders(&value).ok_or_else(|| self.expected()),
            Self::Origins => return self.list(&value, origin),
            Self::Models => return self.list(&value, model_pattern),
            Self::Hosts => return self.list(&value, host),
            Self::Networks => return self.list(&value, |text| network(text).map(|_| text.to_owned())),
            Self::Caps => return caps(value),
            Self::ProviderLimits => return provider_limits(value),
        };
        if fits { Ok(value) } else { Err(self.expected()) }
    }

    /// Returns a list of what `item` makes of each text; a single text stands for a list of one.
    fn list(self, value: &Value, item: impl Fn(&str) -> Option<String>) -> Result<Value, String> {
        let one = [value.clone()];
        let given = value.as_array().map_or(&one[..], Vec::as_slice);
        let items: Option<Value> = given.iter().map(|value| item(value.as_str()?).map(Value::from)).collect();
        items.ok_or_else(|| self.expected())
    }

    /// Returns a value that is accepted, as in a variable; for the example files.
    #[cfg(test)]
    pub fn example(self) -> String {
        match self {
            Self::Text | Self::Secret => "…",
            Self::SigningSecret => "whsec_YSBzZWNyZXQgb2YgeW91ciBvd24gaGVyZQ==",
            Self::Database => "postgres://fathom:secret@127.0.0.1:5432/fathom",
            Self::Path => "/var/lib/fathom",
            Self::Folders => "documents",
            Self::Url => "https://host.example.com",
            Self::Headers => "X-Team=research",
            Self::Number { min, max } => return 30.clamp(min, max).to_string(),
            Self::Dollars => "20",
            Self::Boolean => "true",
            Self::Choice(names) => names.first().copied().unwrap_or_default(),
            Self::Address => "127.0.0.1:8080",
            Self::Origins => "https://app.example.com",
            Self::Hosts => "research.example.com",
            Self::Networks => "127.0.0.0/8,::1",
            Self::Models => "openai:gpt-4.1*",
            Self::Caps => "max_run_seconds=3600,max_researcher_iterations=4",
            Self::ProviderLimits => "openai.requests_per_minute=500,openai.tokens_per_minute=200000,ollama.in_flight=2",
            Self::HeaderName => "X-Forwarded-User",
            Self::Filter => "info,fathom=debug",
            Self::Model => "openai:gpt-4.1",
            Self::Research(spec) => return spec.example(),
        }
        .to_owned()
    }

    /// Returns what is accepted, in words.
    pub fn expected(self) -> String {
        match self {
            Self::Number { min, max } => return format!("a whole number from {min} to {max}"),
            Self::Choice(names) => return format!("one of {}", names.join(", ")),
            Self::Text | Self::Secret => "a text",
            Self::Database => {
                "an address of Postgres such as postgres://user:password@host:5432/name (special characters of a password as %40, %2F, %23)"
            }
            Self::SigningSecret => "whsec_ and the base64 of 24 to 64 bytes (openssl rand -base64 32 makes them), or up to four of these with spaces between them",
            Self::Path => "a path",
            Self::Folders => "a folder, or several with : between them",
            Self::Url => "an address such as http://127.0.0.1:8080/v1",
            Self::Headers => "Name=value pairs, separated by commas (in a file: a table of texts)",
            Self::Dollars => "a number of dollars from 0.01 to 1000000",
            Self::Boolean => "true or false",
            Self::Address => "an IP address and a port, not a name, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080",
            Self::Origins => "origins such as https://app.example.com, separated by commas (in a file: a list), or *",
            Self::Models => "model names such as openai:gpt-4.1*, separated by commas (in a file: a list)",
            Self::Hosts => "names of hosts such as research.example.com, separated by commas (in a file: a list), or *",
            Self::Networks => {
                "addresses such as 10.0.0.7 or ranges such as 10.0.0.0/24 and fd00::/8, separated by commas (in a file: a list)"
            }
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

/// Returns the names of providers, the offline model's included.
pub fn provider_names() -> Vec<&'static str> {
    providers::names().chain([ModelName::OFFLINE]).collect()
}

/// Refuses a model whose provider is none.
fn known(model: &ModelName) -> Result<(), String> {
    let names = provider_names();
    let others: Vec<_> = providers::other_names().collect();
    if names.contains(&&*model.provider) { Ok(()) } else { Err(unknown_provider(&model.provider, &names, &others)) }
}

/// Returns a list of texts, as a file has several models, as one text.
fn joined(value: Value) -> Value {
    let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match texts {
        Some(texts) => texts.join(",").into(),
        None => value,
    }
}

/// Refuses names that no engine has, where they are names of engines.
fn of_engines(kind: OptionKind) -> impl Fn(Value) -> Result<Value, OptionError> {
    let rows = || search::ROWS.iter().copied();
    move |value| {
        match (kind, SearchApi::deserialize(&value), SearchFallback::deserialize(&value)) {
            (OptionKind::Engines, Ok(named), _) => search::check_names(&named, rows())?,
            (OptionKind::Fallback, _, Ok(named)) => search::check_fallback(&named, &SearchApi::none(), rows())?,
            _ => {}
        }
        Ok(value)
    }
}

fn checked_option(spec: &OptionSpec, value: Value) -> Result<Value, String> {
    let value = if spec.kind == OptionKind::Model { joined(value) } else { value };
    if let (OptionKind::Model, Some(Ok(models))) = (spec.kind, value.as_str().map(Models::from_str)) {
        models.iter().try_for_each(known).map_err(|expected| format!("{expected}, not {value}"))?;
    }
    spec.check(value).and_then(of_engines(spec.kind)).map_err(|error| match error {
        OptionError::Invalid { expected, given: Some(given), .. } => format!("{expected}, not {given}"),
        OptionError::Invalid { expected, given: None, .. } => expected,
        other => other.to_string(),
    })
}

/// Reads `Name=value,Name=value`, as OpenTelemetry's variables have it.
fn pairs(text: &str) -> Option<Value> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), Value::from(value.trim())))
    };
    pairs.map(pair).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
}

/// Returns whether it is an address of Postgres whose parts are where they seem to be: a password with characters that
/// mean something in addresses would end up in the name of the host or of the database.
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

/// Returns an origin as browsers write it.
fn origin(text: &str) -> Option<String> {
    if text == "*" {
        return Some(text.to_owned());
    }
    let url = Url::from_str(text).ok().filter(|url| is_url(text) && url.path() == "/" && url.query().is_none());
    url.map(|url| url.origin().ascii_serialization())
}

/// Returns a model with its provider, or one that any text stands for.
fn model_pattern(name: &str) -> Option<String> {
    let provider = name.split_once(':').map(|(provider, _)| provider);
    let known = |provider: &str| provider_names().contains(&provider);
    let fits = name == "*" || provider.is_some_and(|provider| provider == "*" || known(provider));
    fits.then(|| name.to_owned())
}

/// Returns the name of a host in lower case.
fn host(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches('.').to_ascii_lowercase();
    let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    (fits || name == "*").then_some(name)
}

/// Returns a range of addresses, or the one of that address.
pub fn network(text: &str) -> Option<IpNet> {
    let one = || text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    text.parse().ok().or_else(one)
}

/// Returns all of them; what is none was refused before.
pub fn networks(given: &[String]) -> Networks {
    given.iter().filter_map(|text| network(text)).collect()
}

fn provider_limits(value: Value) -> Result<Value, String> {
    let given = value.as_array().ok_or_else(|| Kind::ProviderLimits.expected())?;
    let mut limits = ProviderLimits::default();
    given.iter().try_for_each(|limit| limits.add(limit.as_str().unwrap_or_default()))?;
    Ok(value)
}

fn caps(value: Value) -> Result<Value, String> {
    let given = value.as_array().ok_or_else(|| Kind::Caps.expected())?;
    let mut caps = Caps::default();
    given.iter().try_for_each(|cap| caps.add(cap.as_str().unwrap_or_default()))?;
    Ok(value)
}

/// Joins folders to one text, as in `PATH`.
fn folders(value: &Value) -> Option<Value> {
    let Some(list) = value.as_array() else { return value.is_string().then(|| value.clone()) };
    let paths: Option<Vec<PathBuf>> = list.iter().map(|path| path.as_str().map(PathBuf::from)).collect();
    let joined = search::join_folders(&paths.filter(|paths| !paths.is_empty())?);
    Some(Value::String(joined.to_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        check(Kind::Dollars, "2.50", Some(json!(2.5)));
        check(Kind::Dollars, "20", Some(json!(20)));
        check(Kind::Dollars, "0", None);
        check(Kind::Dollars, "$5", None);
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
        check(Kind::Networks, "10.0.0.7, fd00::/8,", Some(json!(["10.0.0.7", "fd00::/8"])));
        check(Kind::Networks, "*", None);
        check(Kind::Networks, "10.0.0.7/33", None);
        check(Kind::Networks, "10.0.0.7:80", None);
        check(Kind::Networks, "proxy.example", None);
        check(
            Kind::Caps,
            "max_run_seconds=60, max_react_tool_calls=3",
            Some(json!(["max_run_seconds=60", "max_react_tool_calls=3"])),
        );
        check(Kind::Caps, "max_run_seconds=1", None);
        check(Kind::HeaderName, "X-User", Some(json!("X-User")));
        check(Kind::HeaderName, "X User", None);
        check(Kind::Filter, "info,fathom=debug", Some(json!("info,fathom=debug")));
        check(Kind::Filter, "DEBUG,hyper=off,fathom::llm,audit,", Some(json!("DEBUG,hyper=off,fathom::llm,audit,")));
        for wrong in ["fathom=loud", "loud", "warning", "info,verbose"] {
            check(Kind::Filter, wrong, None);
        }
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
        let misspelt = Kind::Database.check(json!("postgres://me:pa55@host/db?ssl_mode=require")).unwrap_err();
        assert!(misspelt.ends_with("did you mean sslmode?") && !misspelt.contains("pa55"), "{misspelt}");
    }
}
