//! Where the models are, and the time limits and retries of calls to them.
//!
//! Plain data, filled by `config` and checked there; `server.rs` makes the running parts of it.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;

use super::catalogue::KnownModels;
use super::endpoint::{Endpoint, Endpoints};
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

impl Endpoint {
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
    /// Whether somebody has set that.
    pub total_timeout_is_given: bool,
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
            total_timeout_is_given: false,
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

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use url::Url;

    use super::*;

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
