//! The name of a model, as settings and requests write it.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize, de::Error as _};

use super::distinct;

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

    /// Returns a name whose parts are known to be good.
    pub fn new(provider: &str, model: &str) -> Self {
        Self { provider: provider.into(), model: model.to_owned() }
    }

    /// Returns the extractive stand-in that needs no key.
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
        if model.len() > Self::LONGEST || model.chars().any(|c| c.is_control() || c == ',') {
            return Err(format!(
                "a model name of at most {} bytes, without control characters or commas",
                Self::LONGEST
            ));
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

/// The models of a role: the first is asked, and the others stand in for it, in this order. Never empty, and none
/// twice.
///
/// As text they are separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Models(Vec<ModelName>);

impl Models {
    /// The most models of a role. More would only delay the failure of a call.
    const MOST: usize = 8;

    /// Returns the one that is asked.
    pub fn first(&self) -> &ModelName {
        &self.0[0]
    }

    /// Counts the models; there is at least one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns all of them, the first one first.
    pub fn iter(&self) -> std::slice::Iter<'_, ModelName> {
        self.0.iter()
    }
}

impl From<ModelName> for Models {
    fn from(model: ModelName) -> Self {
        Self(vec![model])
    }
}

impl fmt::Display for Models {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, model) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(formatter, "{comma}{model}")?;
        }
        Ok(())
    }
}

impl FromStr for Models {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let models: Vec<ModelName> = text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>()?;
        let models = distinct(models);
        if models.len() > Self::MOST {
            return Err(format!("at most {} models, separated by commas", Self::MOST));
        }
        Ok(Self(models))
    }
}

impl Serialize for Models {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_in_their_order_and_each_once() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let read = text.parse::<Models>().map(|models| models.to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
        };
        check("openai:a", Ok("openai:a"));
        check("openai:a, anthropic:b ,openai:a", Ok("openai:a,anthropic:b"));
        let form = Err("a model name of the form provider:model");
        check("", form);
        check("openai:a,", form);
        check("openai:a,b", form);
        let many: Vec<_> = (0..9).map(|number| format!("openai:{number}")).collect();
        check(&many.join(","), Err("at most 8 models, separated by commas"));
        assert_eq!(serde_json::from_str::<Models>("\"openai:a,x:b\"").unwrap().first().to_string(), "openai:a");
    }
}
