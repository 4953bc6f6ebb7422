//! What a run may ask of its searches beside the query: how recent, from which sites, in which language, on what kind
//! of page. Which engine can do which is known by `search` alone.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};
use time::{Date, Duration};
use url::Host;

use super::name_list;

/// Sites of one list, at most.
pub(super) const MAX_DOMAINS: usize = 100;
/// Characters of a name in DNS.
const MAX_NAME_CHARS: usize = 253;

/// How old a page may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeRange {
    Day,
    Week,
    Month,
    Year,
}

impl TimeRange {
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Year];
    pub const NAMES: [&str; 4] = ["day", "week", "month", "year"];

    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the days of the longest such range.
    pub fn days(self) -> u16 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 366,
        }
    }

    /// Returns the first day of the range that ends today.
    pub fn since(self, today: Date) -> Date {
        today.checked_sub(Duration::days(i64::from(self.days()))).unwrap_or(Date::MIN)
    }
}

/// What kind of page is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    #[default]
    General,
    News,
    Finance,
}

impl Topic {
    pub const NAMES: [&str; 3] = ["general", "news", "finance"];

    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Names of sites in lower case and ASCII, each standing for its subdomains too; written with commas between them. In
/// JSON and TOML a list is taken too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains(String);

impl Domains {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split(',').filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Domains {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Domains {
    /// What would have been accepted.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names: Vec<String> = text.split(',').map(|name| ascii(name.trim())).collect();
        if names.len() > MAX_DOMAINS || !names.iter().all(|name| is_domain(name)) {
            return Err(format!("names of {MAX_DOMAINS} sites at most, such as example.org,example.com"));
        }
        Ok(Self(names.join(",")))
    }
}

/// Returns the name in lower case, an international one in its ASCII form (`xn--…`), as addresses have it; empty if
/// that is no name.
fn ascii(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    match Host::parse(name) {
        Ok(Host::Domain(name)) => name,
        _ => String::new(),
    }
}

/// Returns whether `name` is a domain: letters, digits and hyphens in at least two parts.
fn is_domain(name: &str) -> bool {
    let is_label = |label: &str| {
        let fits = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        fits && !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= MAX_NAME_CHARS && name.contains('.') && name.split('.').all(is_label)
}

impl Serialize for Domains {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Domains {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_list::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use time::macros::date;

    use super::*;

    #[test]
    fn sites_come_as_text_or_as_a_list() {
        let check = |value: Value, expected: Option<&str>| {
            let read = serde_json::from_value::<Domains>(value.clone()).ok();
            assert_eq!(read.map(|domains| domains.to_string()).as_deref(), expected, "{value}");
        };
        check(json!("Example.org, a.example.com"), Some("example.org,a.example.com"));
        check(json!(["example.org", "b.test"]), Some("example.org,b.test"));
        check(json!("Bücher.example, 例え.テスト"), Some("xn--bcher-kva.example,xn--r8jz45g.xn--zckzah"));
        check(
            json!(["www.straße.example", "XN--BCHER-KVA.example"]),
            Some("www.xn--strae-oqa.example,xn--bcher-kva.example"),
        );
        for wrong in [json!("bücher"), json!("https://bücher.example/"), json!("bü cher.example"), json!("１.２.３.４")]
        {
            check(wrong, None);
        }
        for wrong in [json!(""), json!([]), json!("https://a.test/"), json!("localhost"), json!("a..b"), json!("-a.b")]
        {
            check(wrong, None);
        }
        check(json!(vec!["a.test"; 101]), None);
    }

    #[test]
    fn names_of_ranges_and_topics_are_those_of_their_json() {
        for range in TimeRange::ALL {
            assert_eq!(json!(range), json!(range.as_str()));
        }
        for (topic, name) in [Topic::General, Topic::News, Topic::Finance].into_iter().zip(Topic::NAMES) {
            assert_eq!((json!(topic), topic.as_str()), (json!(name), name));
        }
        assert_eq!(TimeRange::Week.since(date!(2031 - 03 - 10)), date!(2031 - 03 - 03));
    }
}
