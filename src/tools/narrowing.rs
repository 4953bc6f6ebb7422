//! What a model may ask of a search beside its queries: how recent, from which sites, in which language, for which
//! country, what kind of page. It is offered what an engine knows and the run leaves open; what it says that cannot be
//! meant counts as not said.

use serde::{Deserialize, Serialize, de::IntoDeserializer as _};
use serde_json::{Value, json};

use crate::{
    context::Cx,
    domain::{Domains, TimeRange, Topic},
    search::{Engine, Filter, Filters},
};

/// Sites that one call may name.
const MAX_SITES: usize = 10;

/// What a call said, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_range: Option<TimeRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sites: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<Topic>,
}

/// The arguments of a model, whatever they are.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Said {
    time_range: Value,
    sites: Value,
    language: Value,
    country: Value,
    topic: Value,
}

impl Said {
    /// What of it the run offers.
    pub fn offered(&self, cx: &Cx) -> Narrowing {
        let offered = offered(cx);
        let offers = |filter| offered.contains(&filter);
        Narrowing {
            time_range: name(&self.time_range).filter(|_| offers(Filter::TimeRange)),
            sites: if offers(Filter::Domains) { sites(&self.sites) } else { Vec::new() },
            language: code(&self.language).filter(|_| offers(Filter::Language)).map(str::to_ascii_lowercase),
            country: code(&self.country).filter(|_| offers(Filter::Country)).map(str::to_ascii_uppercase),
            topic: name(&self.topic).filter(|topic| *topic != Topic::General && offers(Filter::Topic)),
        }
    }
}

impl Narrowing {
    /// Tells calls with equal queries apart; empty when nothing was said.
    pub fn in_words(&self) -> String {
        if *self == Self::default() { String::new() } else { format!(" {}", json!(self)) }
    }

    /// The filters of the run with these.
    pub fn over(self, filters: Filters) -> Filters {
        Filters {
            time_range: filters.time_range.or(self.time_range),
            include: if filters.include.is_empty() { self.sites } else { filters.include },
            language: filters.language.or(self.language),
            country: filters.country.or(self.country),
            topic: if filters.topic == Topic::General { self.topic.unwrap_or_default() } else { filters.topic },
            ..filters
        }
    }
}

/// The properties of the tool's schema.
pub fn properties(cx: &Cx) -> impl Iterator<Item = (&'static str, Value)> {
    offered(cx).into_iter().map(|filter| {
        let (name, mut schema) = match filter {
            Filter::TimeRange => ("time_range", json!({"type": "string", "enum": TimeRange::NAMES})),
            Filter::Domains => ("sites", json!({"type": "array", "items": {"type": "string"}})),
            Filter::Language => ("language", json!({"type": "string"})),
            Filter::Country => ("country", json!({"type": "string"})),
            Filter::Topic => ("topic", json!({"type": "string", "enum": Topic::NAMES})),
        };
        schema["description"] = cx.prompts().text(&format!("tools/search_web.{name}"), ()).into();
        (name, schema)
    })
}

/// What an engine of the run knows and its options leave open.
fn offered(cx: &Cx) -> Vec<Filter> {
    let options = cx.options();
    let open = [
        (Filter::TimeRange, options.search_time_range.is_none()),
        (Filter::Domains, options.include_domains.is_none()),
        (Filter::Language, options.search_language.is_none()),
        (Filter::Country, options.search_country.is_none()),
        (Filter::Topic, options.search_topic == Topic::General),
    ];
    let known = |filter| cx.search().is_some_and(|engine: &Engine| engine.knows(filter));
    open.into_iter().filter(|(filter, is_open)| *is_open && known(*filter)).map(|(filter, _)| filter).collect()
}

/// One of a closed set, by its name.
fn name<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<T> {
    let name = value.as_str()?.trim().to_lowercase();
    T::deserialize(name.into_deserializer()).map_err(|_: serde::de::value::Error| ()).ok()
}

/// The two letters of a language or country.
fn code(value: &Value) -> Option<&str> {
    let code = value.as_str()?.trim();
    (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(code)
}

/// Names of sites, one or several, also out of addresses.
fn sites(value: &Value) -> Vec<String> {
    let several = value.as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(value));
    let name = |site: &Value| {
        let text = site.as_str()?.trim();
        let host = text.split_once("://").map_or(text, |(_, rest)| rest).split('/').next()?;
        let name = host.strip_prefix("www.").unwrap_or(host);
        name.parse::<Domains>().ok().map(|name| name.to_string())
    };
    several.iter().filter_map(name).take(MAX_SITES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_not_said() {
        assert_eq!(sites(&json!("https://www.Example.org/path")), ["example.org"]);
        assert_eq!(sites(&json!(["a.test", "not a site", 7, "b.test"])), ["a.test", "b.test"]);
        assert_eq!(sites(&Value::Null), Vec::<String>::new());
        assert_eq!([code(&json!(" de ")), code(&json!("German")), code(&json!(1))], [Some("de"), None, None]);
        assert_eq!(name::<TimeRange>(&json!("Week")), Some(TimeRange::Week));
        assert_eq!((name::<Topic>(&json!("news")), name::<Topic>(&json!("sport"))), (Some(Topic::News), None));
    }

    #[test]
    fn the_run_wins_over_the_model() {
        let said = Narrowing {
            time_range: Some(TimeRange::Day),
            sites: vec!["a.test".to_owned()],
            language: Some("de".to_owned()),
            country: None,
            topic: Some(Topic::News),
        };
        let open = said.clone().over(Filters { exclude: vec!["c.test".to_owned()], ..Filters::default() });
        assert_eq!((open.include, open.exclude), (vec!["a.test".to_owned()], vec!["c.test".to_owned()]));
        assert_eq!((open.time_range, open.topic), (Some(TimeRange::Day), Topic::News));
        let fixed = Filters {
            time_range: Some(TimeRange::Year),
            include: vec!["b.test".to_owned()],
            language: Some("fr".to_owned()),
            topic: Topic::Finance,
            ..Filters::default()
        };
        assert_eq!(said.over(fixed.clone()), fixed);
        assert_eq!(Narrowing::default().over(Filters::default()), Filters::default());
    }
}
