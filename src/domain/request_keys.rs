//! Keys of providers and search engines that come with a request.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// Keys by the name of their provider or search engine.
pub type GivenKeys = BTreeMap<String, SecretString>;

/// Whether requests may bring keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyPolicy {
    #[default]
    Refused,
    Allowed,
    /// The server's own are never used for a request.
    Required,
}
