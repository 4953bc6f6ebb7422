//! What a model may ask of a search beside its queries: how recent, from which sites, in which language, for which
//! country, what kind of page, and how many results. It is offered what an engine knows and the run leaves open; what
//! it says narrows what the run allows and never widens it, and what cannot be meant counts as not said.

use serde::{Deserialize, Serialize, de::IntoDeserializer as _};
use serde_json::{Value, json};

use crate::{
    context::Cx,
    domain::{Domains, RunOptions, TimeRange, Topic},
    search::{Engine, Filter, Filters},
};

/// Sites that one call may name, and as many that it may leave out.
const MAX_SITES: usize = 10;

/// An argument beside the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    TimeRange,
    Sites,
    ExcludeSites,
    Language,
    Country,
    Topic,
    Count,
}

/// What a call said, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Narrowing {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_range: Option<TimeRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sites: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclude_sites: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<Topic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
}

/// The arguments of a model, whatever they are; also under the names that engines have for them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct GivenNarrowing {
    time_range: Value,
    sites: Value,
    include_domains: Value,
    exclude_sites: Value,
    exclude_domains: Value,
    language: Value,
    country: Value,
    topic: Value,
    count: Value,
    max_results: Value,
}

impl GivenNarrowing {
    /// Returns what of it the run offers, whose queries have `results` at most: as many or more is nothing said.
    pub fn offered(&self, cx: &Cx, results: u32) -> Narrowing {
        let offered = offered(cx);
        let said = |argument, value| if offered.contains(&argument) { value } else { &Value::Null };
        Narrowing {
            time_range: name(said(Argument::TimeRange, &self.time_range)),
            sites: sites(said(Argument::Sites, either(&self.sites, &self.include_domains))),
            exclude_sites: sites(said(Argument::ExcludeSites, either(&self.exclude_sites, &self.exclude_domains))),
            language: code(said(Argument::Language, &self.language)).map(str::to_ascii_lowercase),
            country: code(said(Argument::Country, &self.country)).map(str::to_ascii_uppercase),
            topic: name(said(Argument::Topic, &self.topic)).filter(|topic| *topic != Topic::General),
            count: number(said(Argument::Count, either(&self.count, &self.max_results)))
                .filter(|count| *count < results),
        }
    }
}

impl Narrowing {
    /// Tells calls with equal queries apart; empty when nothing was said.
    pub fn in_words(&self) -> String {
        if *self == Self::default() { String::new() } else { format!(" {}", json!(self)) }
    }

    /// Returns how many results to ask for by a query, of which the run allows `most`.
    pub fn results(&self, most: u32) -> usize {
        self.count.map_or(most, |count| count.clamp(1, most)) as usize
    }

    /// Returns the filters of the run with these.
    pub fn over(self, filters: Filters) -> Filters {
        let sites: Vec<_> = self.sites.into_iter().filter(|site| filters.allow_site(site)).collect();
        let further = self.exclude_sites.into_iter().filter(|site| !filters.exclude.contains(site)).collect();
        Filters {
            time_range: narrower(filters.time_range, self.time_range),
            include: if sites.is_empty() { filters.include } else { sites },
            exclude: [filters.exclude, further].concat(),
            language: filters.language.or(self.language),
            country: filters.country.or(self.country),
            topic: if filters.topic == Topic::General { self.topic.unwrap_or_default() } else { filters.topic },
        }
    }
}

/// Returns the properties of the tool's schema; `results` are the most of a query.
pub fn properties(cx: &Cx, results: u32) -> impl Iterator<Item = (&'static str, Value)> {
    offered(cx).into_iter().map(move |argument| {
        let mut schema = argument.schema(cx.options(), results);
        let name = argument.name();
        schema["description"] = cx.prompts().text(&format!("tools/search_web.{name}"), ()).into();
        (name, schema)
    })
}

/// Returns what an engine of the run knows and its options leave open.
fn offered(cx: &Cx) -> Vec<Argument> {
    let known = |filter| cx.search().is_some_and(|engine: &Engine| engine.knows(filter));
    let offers = |argument: &Argument| argument.filter().is_none_or(known) && argument.is_open(cx.options());
    Argument::ALL.into_iter().filter(offers).collect()
}

impl Argument {
    const ALL: [Self; 7] =
        [Self::TimeRange, Self::Sites, Self::ExcludeSites, Self::Language, Self::Country, Self::Topic, Self::Count];

    fn name(self) -> &'static str {
        match self {
            Self::TimeRange => "time_range",
            Self::Sites => "sites",
            Self::ExcludeSites => "exclude_sites",
            Self::Language => "language",
            Self::Country => "country",
            Self::Topic => "topic",
            Self::Count => "count",
        }
    }

    /// Returns what an engine has to know for it; every engine knows how many results it sends.
    fn filter(self) -> Option<Filter> {
        match self {
            Self::TimeRange => Some(Filter::TimeRange),
            Self::Sites | Self::ExcludeSites => Some(Filter::Domains),
            Self::Language => Some(Filter::Language),
            Self::Country => Some(Filter::Country),
            Self::Topic => Some(Filter::Topic),
            Self::Count => None,
        }
    }

    /// Returns whether the options leave anything to choose.
    fn is_open(self, options: &RunOptions) -> bool {
        match self {
            Self::TimeRange => ranges(options).next().is_some(),
            Self::Sites | Self::ExcludeSites | Self::Count => true,
            Self::Language => options.search_language.is_none(),
            Self::Country => options.search_country.is_none(),
            Self::Topic => options.search_topic == Topic::General,
        }
    }

    fn schema(self, options: &RunOptions, results: u32) -> Value {
        match self {
            Self::TimeRange => {
                let names: Vec<_> = ranges(options).map(TimeRange::as_str).collect();
                json!({"type": "string", "enum": names})
            }
            Self::Sites | Self::ExcludeSites => json!({"type": "array", "items": {"type": "string"}}),
            Self::Language | Self::Country => json!({"type": "string"}),
            Self::Topic => json!({"type": "string", "enum": Topic::NAMES}),
            Self::Count => json!({"type": "integer", "minimum": 1, "maximum": results}),
        }
    }
}

/// Lists the ranges that are narrower than the run's.
fn ranges(options: &RunOptions) -> impl Iterator<Item = TimeRange> + use<> {
    let most = options.search_time_range.map_or(u16::MAX, TimeRange::days);
    TimeRange::ALL.into_iter().filter(move |range| range.days() < most)
}

fn narrower(one: Option<TimeRange>, other: Option<TimeRange>) -> Option<TimeRange> {
    one.into_iter().chain(other).min_by_key(|range| range.days())
}

/// Returns the argument, or what another name of it says.
fn either<'a>(one: &'a Value, other: &'a Value) -> &'a Value {
    if one.is_null() { other } else { one }
}

/// Reads one of a closed set, by its name.
fn name<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<T> {
    let name = value.as_str()?.trim().to_lowercase();
    T::deserialize(name.into_deserializer()).map_err(|_: serde::de::value::Error| ()).ok()
}

/// Returns the two letters of a language or country.
fn code(value: &Value) -> Option<&str> {
    let code = value.as_str()?.trim();
    (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(code)
}

fn number(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
    u32::try_from(number).ok().filter(|number| *number > 0)
}

/// Returns the names of sites, one or several, also out of addresses.
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
        assert_eq!([number(&json!(3)), number(&json!(" 3 ")), number(&json!(0))], [Some(3), Some(3), None]);
        let twice: GivenNarrowing =
            serde_json::from_value(json!({"sites": ["a.test"], "include_domains": ["b.test"]})).unwrap();
        assert_eq!(sites(either(&twice.sites, &twice.include_domains)), ["a.test"]);
        let other: GivenNarrowing = serde_json::from_value(json!({"include_domains": ["b.test"]})).unwrap();
        assert_eq!(sites(either(&other.sites, &other.include_domains)), ["b.test"]);
        assert_eq!([number(&json!(-1)), number(&json!(2.5)), number(&json!("few"))], [None; 3]);
    }

    fn said() -> Narrowing {
        Narrowing {
            time_range: Some(TimeRange::Week),
            sites: vec!["docs.a.test".to_owned(), "b.test".to_owned()],
            exclude_sites: vec!["c.test".to_owned(), "d.test".to_owned()],
            language: Some("de".to_owned()),
            country: None,
            topic: Some(Topic::News),
            count: Some(2),
        }
    }

    #[test]
    fn what_the_run_leaves_open_the_model_chooses() {
        let open = said().over(Filters::default());
        let expected = Filters {
            time_range: Some(TimeRange::Week),
            include: said().sites,
            exclude: said().exclude_sites,
            language: Some("de".to_owned()),
            country: None,
            topic: Topic::News,
        };
        assert_eq!(open, expected);
        assert_eq!(Narrowing::default().over(expected.clone()), expected);
    }

    #[test]
    fn what_the_run_sets_the_model_narrows_and_never_widens() {
        let of_run = Filters {
            time_range: Some(TimeRange::Day),
            include: vec!["a.test".to_owned()],
            exclude: vec!["c.test".to_owned()],
            language: Some("fr".to_owned()),
            country: Some("FR".to_owned()),
            topic: Topic::Finance,
        };
        let narrowed = Filters {
            include: vec!["docs.a.test".to_owned()],
            exclude: vec!["c.test".to_owned(), "d.test".to_owned()],
            ..of_run.clone()
        };
        assert_eq!(said().over(of_run.clone()), narrowed);
        let elsewhere = Narrowing { sites: vec!["b.test".to_owned()], ..Narrowing::default() };
        assert_eq!(elsewhere.over(of_run.clone()), of_run);
        let year = Filters { time_range: Some(TimeRange::Year), ..Filters::default() };
        assert_eq!(said().over(year).time_range, Some(TimeRange::Week));
        assert_eq!([said().results(5), said().results(1), Narrowing::default().results(5)], [2, 1, 5]);
    }

    #[test]
    fn only_narrower_ranges_are_offered() {
        let of = |range| {
            let options = RunOptions { search_time_range: range, ..RunOptions::default() };
            ranges(&options).map(TimeRange::as_str).collect::<Vec<_>>()
        };
        assert_eq!(of(None), TimeRange::NAMES);
        assert_eq!(of(Some(TimeRange::Month)), ["day", "week"]);
        assert_eq!(of(Some(TimeRange::Day)), Vec::<&str>::new());
    }
}
