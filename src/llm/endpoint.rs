//! Where a provider is, and what is sent there to be let in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::net;

/// How the key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone, in this header.
    Header(&'static str),
    /// A token of Google's cloud; a key, where one is set, in a header.
    Google,
    /// A signature of Amazon's cloud; a key, where one is set, as a bearer token.
    Amazon,
}

/// How to reach one provider.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// Where its API begins, as `OPENAI_BASE_URL` means it: `https://host/v1`, a trailing slash or not. A URL without
    /// a path gets the provider's usual one. `None` is the provider's own address.
    pub base_url: Option<Url>,
    /// Sent as the provider's row says ([`Auth`]). `None` and the empty key are not sent at all,
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
    use crate::llm::Settings;

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
}
