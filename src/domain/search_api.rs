//! The values of `search_api` and `search_fallback`: where researchers search, and where else should that fail. Which
//! engines there are is known by `search` alone.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

use super::name_list;

const AUTO: &str = "auto";
const NONE: &str = "none";
/// Engines of one run, at most.
pub(super) const MAX_ENGINES: usize = 8;
const MAX_NAME_CHARS: usize = 40;

/// `auto`, `none`, or the names of engines in order; written with commas between them. In JSON and TOML a list is taken
/// too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchApi(String);

impl SearchApi {
    /// Returns the first engine that is configured.
    pub fn auto() -> Self {
        Self(AUTO.to_owned())
    }

    pub fn none() -> Self {
        Self(NONE.to_owned())
    }

    pub fn engine(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn is_auto(&self) -> bool {
        self.0 == AUTO
    }

    pub fn is_none(&self) -> bool {
        self.0 == NONE
    }

    /// Returns the engines named; none for `auto` and `none`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let named = !self.is_auto() && !self.is_none();
        self.0.split(',').filter(move |_| named)
    }
}

impl fmt::Display for SearchApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for SearchApi {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names: Vec<_> = text.split(',').map(str::trim).collect();
        let is_name = |name: &&str| {
            let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.bytes().all(fits)
        };
        let alone = names.len() == 1 || !names.iter().any(|name| [AUTO, NONE].contains(name));
        let distinct = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
        if !names.iter().all(is_name) || !alone || !distinct || names.len() > MAX_ENGINES {
            return Err(format!("auto, none, or the names of {MAX_ENGINES} different search engines at most"));
        }
        Ok(Self(names.join(",")))
    }
}

impl Serialize for SearchApi {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SearchApi {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_list::deserialize(deserializer)
    }
}

/// `none`, or the names of engines in the order in which they stand in; written as [`SearchApi`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFallback(SearchApi);

impl SearchFallback {
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the engines named; none for `none`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names()
    }

    /// Leaves out the engines that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let wanted: Vec<_> = self.names().filter(|name| is_wanted(name)).collect();
        *self = if wanted.is_empty() { Self::default() } else { Self(SearchApi(wanted.join(","))) };
    }
}

impl Default for SearchFallback {
    fn default() -> Self {
        Self(SearchApi::none())
    }
}

impl fmt::Display for SearchFallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for SearchFallback {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.parse::<SearchApi>().ok().filter(|named| !named.is_auto());
        named.map(Self).ok_or_else(|| format!("none, or the names of {MAX_ENGINES} different search engines at most"))
    }
}

impl Serialize for SearchFallback {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SearchFallback {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_list::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn names_come_as_text_or_as_a_list() {
        let check = |value: Value, expected: Option<&str>| {
            let read = serde_json::from_value::<SearchApi>(value.clone()).ok();
            assert_eq!(read.map(|api| api.to_string()).as_deref(), expected, "{value}");
        };
        check(json!("tavily"), Some("tavily"));
        check(json!(" tavily, arxiv "), Some("tavily,arxiv"));
        check(json!(["tavily", "arxiv"]), Some("tavily,arxiv"));
        check(json!("auto"), Some("auto"));
        for wrong in [json!(""), json!([]), json!("auto,arxiv"), json!("a,a"), json!("A"), json!(3), json!(["a", 3])] {
            check(wrong, None);
        }
        check(json!("a,b,c,d,e,f,g,h,i"), None);
        let names = |text: &str| text.parse::<SearchApi>().unwrap().names().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names("b,a"), ["b", "a"]);
        assert!(names("auto").is_empty() && names("none").is_empty());
    }

    #[test]
    fn what_stands_in_is_named() {
        let read = |value: Value| serde_json::from_value::<SearchFallback>(value).ok().map(|read| read.to_string());
        assert_eq!(read(json!(" none")).as_deref(), Some("none"));
        assert_eq!(read(json!(["arxiv", "brave"])).as_deref(), Some("arxiv,brave"));
        for wrong in [json!("auto"), json!("none,brave"), json!("a,a"), json!(""), json!(null)] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
        let mut fallback: SearchFallback = "a,b,c".parse().unwrap();
        fallback.retain(|name| name != "b");
        assert_eq!(fallback.to_string(), "a,c");
        fallback.retain(|_| false);
        assert!(fallback.is_none());
    }
}
