//! Where the models are, and the time limits and retries of calls to them.
//!
//! Plain data, filled by `config` and checked there; `server.rs` makes the running parts of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::catalogue::KnownModels;
use super::providers::{PROVIDERS, Provider};
use super::tuning::Tunings;
use crate::domain::nearest::nearest;
use crate::net::{self, Limits, RetryPolicy, Timeouts};

/// Attempts that may end without an answer in time: each may be billed.
const TIMEOUTS: u32 = 3;

/// Headers that certainly do not say who asks, in lower case. Any other may be how a gateway knows its clients.
const HARMLESS: [&str; 9] = [
    "accept",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "http-referer",
    "openai-beta",
    "referer",
    "user-agent",
    "x-title",
];

/// How to reach one provider.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// Where its API begins, as `OPENAI_BASE_URL` means it: `https://host/v1`, a trailing slash or not. A URL without
    /// a path gets the provider's usual one. `None` is the provider's own address.
    pub base_url: Option<Url>,
    /// Sent as the provider's row says ([`super::providers::Auth`]). `None` and the empty key are not sent at all,
    /// which is what local servers expect.
    pub api_key: Option<SecretString>,
    /// Sent with every request, after our own, so that they may replace them.
    pub headers: Vec<(String, SecretString)>,
    /// The further settings of a cloud, by their names in its row.
    pub others: BTreeMap<&'static str, SecretString>,
    /// The home folder of who runs the service, where programs of clouds keep credentials.
    pub home: Option<PathBuf>,
    /// What programs are given that print credentials: names and values of the environment.
    pub environment: Vec<(&'static str, String)>,
    /// Whether a key is needed, although the server could do without one.
    pub needs_key: bool,
}

/// How to reach providers, by name; others are at their own addresses, without a key.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(BTreeMap<&'static str, Endpoint>);

impl Endpoints {
    pub fn get(&self, provider: &str) -> Option<&Endpoint> {
        self.0.get(provider)
    }

    pub fn insert(&mut self, provider: &'static str, endpoint: Endpoint) {
        self.0.insert(provider, endpoint);
    }
}

impl FromIterator<(&'static str, Endpoint)> for Endpoints {
    fn from_iter<I: IntoIterator<Item = (&'static str, Endpoint)>>(endpoints: I) -> Self {
        Self(endpoints.into_iter().collect())
    }
}

impl Endpoint {
    /// Returns the key, unless it is blank.
    pub fn key(&self) -> Option<&SecretString> {
        self.api_key.as_ref().filter(|key| !key.expose_secret().trim().is_empty())
    }

    /// Returns the further setting of that name, unless it is blank.
    pub fn other(&self, name: &str) -> Option<&str> {
        let value = self.others.get(name)?.expose_secret().trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns the same place with another key and none of the server's credentials; without a key it cannot be used
    /// if the server has any there.
    pub(super) fn of_request(&self, provider: &Provider, key: Option<&SecretString>) -> Self {
        let is_public = |name: &str| provider.others.iter().any(|other| other.name == name && !other.is_secret);
        let is_harmless = |name: &str| HARMLESS.contains(&&*name.to_ascii_lowercase());
        let others = self.others.iter().filter(|(name, _)| is_public(name));
        let headers = self.headers.iter().filter(|(name, _)| is_harmless(name));
        let public = Self {
            base_url: self.base_url.as_ref().map(net::without_credentials),
            api_key: None,
            headers: headers.cloned().collect(),
            others: others.map(|(name, value)| (*name, value.clone())).collect(),
            home: None,
            environment: Vec::new(),
            needs_key: false,
        };
        let has_credentials = self.key().is_some()
            || public.base_url != self.base_url
            || public.headers.len() < self.headers.len()
            || public.others.len() < self.others.len();
        Self { api_key: key.cloned(), needs_key: has_credentials || provider.place.is_some(), ..public }
    }

    /// Returns whether nothing is sent there that says who asks, and nothing needed.
    pub(super) fn is_keyless(&self) -> bool {
        self.key().is_none() && !self.needs_key
    }

    /// Returns a file in the home folder.
    pub(super) fn in_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }

    /// Returns whether anything is set for it.
    pub fn is_set(&self) -> bool {
        self.api_key.is_some() || self.base_url.is_some()
    }
}

/// What one provider may be asked, where the operator bounds it: `openai.requests_per_minute=500`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderLimits(BTreeMap<&'static str, BTreeMap<&'static str, u64>>);

impl ProviderLimits {
    const NAMES: [&str; 3] = ["in_flight", "requests_per_minute", "tokens_per_minute"];

    /// Adds one from `PROVIDER.NAME=NUMBER`.
    ///
    /// # Errors
    /// What would have been accepted.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let form = || format!("PROVIDER.NAME=NUMBER with a NAME of {}", Self::NAMES.join(", "));
        let (name, number) = text.split_once('=').ok_or_else(form)?;
        let (provider, name) = name.trim().split_once('.').ok_or_else(form)?;
        let own = || PROVIDERS.iter().filter(|provider| provider.settings_of.is_none()).map(|provider| provider.name);
        let provider = own().find(|known| *known == provider).ok_or_else(|| {
            let meant = nearest(provider, own()).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            format!("{} of a known provider{meant}", form())
        })?;
        let name = Self::NAMES.into_iter().find(|known| *known == name).ok_or_else(form)?;
        let number = number.trim().parse().ok().filter(|number| (1..=1_000_000_000_000).contains(number));
        self.0.entry(provider).or_default().insert(name, number.ok_or_else(|| format!("{}, from 1", form()))?);
        Ok(())
    }

    fn get(&self, provider: &str, name: &str) -> Option<u64> {
        self.0.get(provider)?.get(name).copied()
    }
}

/// Everything [`Llm`](super::Llm) needs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The providers there are.
    pub providers: &'static [Provider],
    pub endpoints: Endpoints,
    /// What the operator says of models; counts before the catalogue.
    pub models: KnownModels,
    /// What is sent with the calls of each role.
    pub roles: Tunings,
    /// For the TCP and TLS handshakes.
    pub connect_timeout: Duration,
    /// For an answer that nobody reads before its end, from sending the request to its last byte.
    pub total_timeout: Duration,
    /// For a streamed answer: until its headers, and between any two pieces of it (comments count).
    pub idle_timeout: Duration,
    /// For a streamed answer in all, however steadily it comes.
    pub stream_timeout: Duration,
    /// How long a call may wait in all between its attempts.
    pub retry_for: Duration,
    /// The wait before the second attempt is random between zero and this; it doubles from attempt to attempt.
    pub first_retry_within: Duration,
    /// Calls in flight per provider and key; more wait for their turn, run by run.
    pub max_concurrent_calls: usize,
    /// Less than that, by provider.
    pub limits: ProviderLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            providers: PROVIDERS,
            endpoints: Endpoints::default(),
            models: KnownModels::default(),
            roles: Tunings::default(),
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            stream_timeout: Duration::from_secs(3_600),
            retry_for: Duration::from_secs(4 * 3_600),
            first_retry_within: Duration::from_millis(500),
            max_concurrent_calls: 10_000,
            limits: ProviderLimits::default(),
        }
    }
}

impl Settings {
    /// Returns the longest that an attempt at a call may take without a word of its answer.
    pub fn longest_silence(&self) -> Duration {
        self.total_timeout.max(self.idle_timeout)
    }

    /// Returns what the provider of these settings may be asked.
    pub(super) fn limits_of(&self, provider: &str) -> Limits {
        let own = |name| self.limits.get(provider, name);
        let in_flight = own("in_flight").and_then(|calls| usize::try_from(calls).ok()).unwrap_or(usize::MAX);
        Limits {
            requests_per_minute: own("requests_per_minute"),
            tokens_per_minute: own("tokens_per_minute"),
            ..Limits::in_flight(in_flight.min(self.max_concurrent_calls))
        }
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        // Every request is made within a limit of ours, and every piece of an answer waited for within one.
        Timeouts { connect: self.connect_timeout, total: None, idle: None }
    }

    pub(super) fn policy(&self) -> RetryPolicy {
        RetryPolicy { max_wait: self.retry_for, first_within: self.first_retry_within, timeouts: TIMEOUTS }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Endpoint")
            .field("base_url", &self.base_url.as_ref().map(net::shown_url))
            .field("api_key", &self.api_key.as_ref().map(|_| "(hidden)"))
            .field("headers", &names)
            .field("others", &self.others.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let endpoint = Endpoint {
            base_url: Some(Url::parse("https://me:pa55@host/v1").unwrap()),
            api_key: Some("sk-secret".into()),
            headers: vec![("X-Token".into(), "t0ken".into())],
            others: BTreeMap::from([("secret_access_key", "s3cret-key".into())]),
            environment: vec![("PATH", "t0ken".to_owned())],
            home: None,
            needs_key: false,
        };
        let settings = Settings { endpoints: [("acme", endpoint)].into_iter().collect(), ..Settings::default() };
        let shown = format!("{settings:?}");
        for secret in ["sk-secret", "t0ken", "pa55", "s3cret-key"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("X-Token") && shown.contains("https://host/v1"), "{shown}");
    }

    #[test]
    fn what_a_request_calls_has_none_of_the_servers_credentials() {
        let own = Endpoint {
            base_url: Some(Url::parse("https://me:pa55@gateway.test/v1?api-version=1&key=k3y").unwrap()),
            api_key: Some("sk-server".into()),
            headers: [("X-Title", "a"), ("Authorization", "Bearer server"), ("Api-Key", "server"), ("X-Team", "b")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            others: BTreeMap::from([("region", "eu-1".into()), ("secret_access_key", "server".into())]),
            environment: vec![("PATH", "/bin".to_owned())],
            home: Some("/root".into()),
            needs_key: false,
        };
        let provider = |has_secret: bool| {
            PROVIDERS.iter().find(|row| row.others.iter().any(|other| other.is_secret) == has_secret).unwrap()
        };
        let names = |endpoint: &Endpoint| endpoint.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let with = own.of_request(provider(true), Some(&"sk-user".into()));
        assert_eq!(
            (with.key().unwrap().expose_secret(), names(&with), with.home.clone()),
            ("sk-user", vec!["X-Title".to_owned()], None)
        );
        assert_eq!(with.base_url.as_ref().map(Url::as_str), Some("https://gateway.test/v1?api-version=1"));
        assert_eq!((with.other("region"), with.other("secret_access_key")), (Some("eu-1"), None));
        assert_eq!(super::super::server::missing(provider(true), &with), None);
        let without = own.of_request(provider(false), None);
        assert!(without.key().is_none() && super::super::server::missing(provider(false), &without).is_some());
        // A server of one's own that nobody needs a key for, and two that know their clients in another way.
        let at = |url: &str| Endpoint { base_url: Some(Url::parse(url).unwrap()), ..Endpoint::default() };
        let named = Endpoint { headers: vec![("X-Team".into(), "b".into())], ..at("https://gateway.test/v1") };
        for (own, is_free) in [
            (at("https://gateway.test/v1"), true),
            (at("https://me:pa55@gateway.test/v1"), false),
            (at("https://gateway.test/v1?key=k3y"), false),
            (named, false),
        ] {
            let endpoint = own.of_request(provider(false), None);
            let missing = super::super::server::missing(provider(false), &endpoint);
            assert_eq!((missing.is_none(), endpoint.is_keyless()), (is_free, is_free), "{own:?}");
        }
    }
}
