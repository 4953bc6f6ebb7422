//! The name of a model, as settings and requests write it.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize, de::Error as _};

/// A model and who serves it, written `provider:model`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName {
    /// The provider's name: small letters, digits, `-` and `_`. Whether there is such a provider is for `llm` to say.
    pub provider: Arc<str>,
    /// As the provider knows it; not empty.
    pub model: String,
}

impl ModelName {
    /// Bytes of the model's own name; it is stored with each of its calls and shown in many places.
    const LONGEST: usize = 200;

    /// The provider of the extractive stand-in.
    pub const OFFLINE: &str = "offline";

    /// A name whose parts are known to be good.
    pub fn new(provider: &str, model: &str) -> Self {
        Self { provider: provider.into(), model: model.to_owned() }
    }

    /// The extractive stand-in that needs no key.
    pub fn offline() -> Self {
        Self::new(Self::OFFLINE, "extractive")
    }

    pub fn is_offline(&self) -> bool {
        &*self.provider == Self::OFFLINE
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.provider, self.model)
    }
}

impl FromStr for ModelName {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || "a model name of the form provider:model".to_owned();
        let (provider, model) = text.split_once(':').ok_or_else(form)?;
        let model = model.trim();
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if model.is_empty() || provider.is_empty() || provider.len() > 40 || !provider.bytes().all(is_name) {
            return Err(form());
        }
        if model.len() > Self::LONGEST || model.chars().any(char::is_control) {
            return Err(format!("a model name of at most {} bytes, without control characters", Self::LONGEST));
        }
        if provider == Self::OFFLINE && model != "extractive" {
            return Err("offline:extractive, the only offline model".to_owned());
        }
        Ok(Self::new(provider, model))
    }
}

impl Serialize for ModelName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
