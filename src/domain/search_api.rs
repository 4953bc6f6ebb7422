//! The value of `search_api`: where researchers search. Which engines there are is known by `search` alone.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

use super::name_list;

const AUTO: &str = "auto";
const NONE: &str = "none";
/// Engines of one run, at most.
const MAX_ENGINES: usize = 8;
const MAX_NAME_CHARS: usize = 40;

/// `auto`, `none`, or the names of engines in order; written with commas between them. In JSON and TOML a list is taken
/// too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchApi(String);

impl SearchApi {
    /// The first engine that is configured.
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

    /// May an engine be asked that finds pages of the web?
    pub fn reads_web(&self) -> bool {
        self.is_auto() || self.names().any(|name| name != "local")
    }

    /// The engines named; none for `auto` and `none`.
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
}
