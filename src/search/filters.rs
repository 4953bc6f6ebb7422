//! What a search may find beside what its query says, and what of that is checked on the results here.

use serde::Serialize;
use time::{Date, OffsetDateTime, format_description::well_known::Iso8601};
use url::{Host, Url};

use super::{Hit, Row};
use crate::domain::{Domains, RunOptions, TimeRange, Topic};

/// Restrictions of one search. Engines get them in words of their own where they have any ([`super::Row::filters`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Filters {
    pub time_range: Option<TimeRange>,
    /// Names in lower case, each standing for its subdomains too; empty: all.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// ISO 639-1, lower case.
    pub language: Option<String>,
    /// ISO 3166-1, upper case.
    pub country: Option<String>,
    pub topic: Topic,
}

/// A restriction that an engine may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    TimeRange,
    Domains,
    Language,
    Country,
    Topic,
}

impl Filter {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TimeRange => "time range",
            Self::Domains => "domains",
            Self::Language => "language",
            Self::Country => "country",
            Self::Topic => "topic",
        }
    }
}

impl From<&RunOptions> for Filters {
    fn from(options: &RunOptions) -> Self {
        let names =
            |domains: &Option<Domains>| domains.iter().flat_map(Domains::names).map(str::to_owned).collect::<Vec<_>>();
        Self {
            time_range: options.search_time_range,
            include: names(&options.include_domains),
            exclude: names(&options.exclude_domains),
            language: options.search_language.clone(),
            country: options.search_country.clone(),
            topic: options.search_topic,
        }
    }
}

impl Filters {
    /// Returns the first day that results may be of.
    pub fn since(&self) -> Option<Date> {
        self.time_range.map(|range| range.since(today()))
    }

    /// Returns the same as `YYYY-MM-DD`.
    pub fn since_text(&self) -> Option<String> {
        self.since().and_then(|date| date.format(&Iso8601::DATE).ok())
    }

    /// Returns the same as the seconds between 1970 and its midnight, UTC.
    pub fn since_epoch(&self) -> Option<i64> {
        self.since().map(|date| date.midnight().assume_utc().unix_timestamp())
    }

    pub fn has_domains(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Returns the query with the sites as operators that most engines know, as many as there is room for in a query of
    /// that engine; and whether they keep away all results of other sites.
    pub fn with_sites(&self, query: &str, row: &Row) -> (String, bool) {
        let fits = |text: &str| {
            let words = text.split_whitespace().count();
            text.chars().count() <= row.max_query_chars && words <= row.max_query_words
        };
        let mut text = query.to_owned();
        let mut included = Vec::new();
        for name in &self.include {
            included.push(format!("site:{name}"));
            let longer = match included.as_slice() {
                [one] => format!("{query} {one}"),
                several => format!("{query} ({})", several.join(" OR ")),
            };
            if fits(&longer) {
                text = longer;
            } else {
                included.pop();
            }
        }
        let mut is_restricted = included.is_empty() == self.include.is_empty();
        for name in &self.exclude {
            let longer = format!("{text} -site:{name}");
            if fits(&longer) {
                text = longer;
            } else {
                is_restricted = false;
            }
        }
        (text, is_restricted)
    }

    /// Returns whether a result with that address and date may be kept. What has no site is a document of the user's
    /// own, which was given to be searched, whatever its age; what has no date may be of any.
    pub fn allow(&self, hit: &Hit) -> bool {
        let Some(site) = site_of(&hit.url) else { return true };
        let recent = match (self.since_text(), &hit.published) {
            (Some(since), Some(published)) => *published >= since,
            _ => true,
        };
        recent && self.allow_site(&site)
    }

    /// Returns whether results may come from the site of that name, which is in lower case.
    pub fn allow_site(&self, name: &str) -> bool {
        let within = |domain: &String| {
            name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        (self.include.is_empty() || self.include.iter().any(within)) && !self.exclude.iter().any(within)
    }
}

/// Returns the name of the site of a page, in lower case.
fn site_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
        other => other.to_string(),
    })
}

/// Returns the value of Google's `tbs`, which several engines have taken over.
pub fn google_age(range: TimeRange) -> &'static str {
    match range {
        TimeRange::Day => "qdr:d",
        TimeRange::Week => "qdr:w",
        TimeRange::Month => "qdr:m",
        TimeRange::Year => "qdr:y",
    }
}

/// Returns the day, UTC.
pub fn today() -> Date {
    OffsetDateTime::now_utc().date()
}

/// Returns the date of text such as `3 days ago`, seen from `today`, as `YYYY-MM-DD`.
pub fn days_ago(text: &str, today: Date) -> Option<String> {
    let text = text.trim().to_lowercase();
    let days = match text.as_str() {
        "today" => 0,
        "yesterday" => 1,
        other => {
            let (number, unit) = other.strip_suffix(" ago")?.split_once(' ')?;
            let number: i64 = number.parse().ok().filter(|number| (0..=10_000).contains(number))?;
            match unit.trim_end_matches('s') {
                "second" | "sec" | "minute" | "min" => 0,
                "hour" => number / 24,
                "day" => number,
                "week" => number * 7,
                // No closer than that.
                "month" => number * 30,
                "year" => number * 365,
                _ => return None,
            }
        }
    };
    today.checked_sub(time::Duration::days(days))?.format(&Iso8601::DATE).ok()
}

/// Returns the date of seconds since 1970, as `YYYY-MM-DD`.
pub fn date_of_epoch(seconds: i64) -> Option<String> {
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.date().format(&Iso8601::DATE).ok()
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    fn hit(url: &str, published: Option<&str>) -> Hit {
        Hit {
            url: url.to_owned(),
            title: "A".to_owned(),
            section: None,
            snippet: String::new(),
            raw_content: None,
            score: None,
            published: published.map(str::to_owned),
            engine: "almanac".to_owned(),
            about: super::super::About::default(),
        }
    }

    #[test]
    fn results_are_kept_by_site() {
        let include = Filters { include: vec!["example.org".into()], ..Filters::default() };
        let exclude = Filters { exclude: vec!["example.org".into()], ..Filters::default() };
        let check = |address: &str, expected: (bool, bool)| {
            let hit = hit(address, None);
            assert_eq!((include.allow(&hit), exclude.allow(&hit)), expected, "{address}");
        };
        check("https://example.org/a", (true, false));
        check("https://docs.Example.org:8443/a", (true, false));
        check("https://example.org./a", (true, false));
        check("https://notexample.org/", (false, true));
        check("https://example.org.evil.test/", (false, true));
        check("https://evil.test/?example.org", (false, true));
        check("https://[::1]/", (false, true));
        check("minutes/april.pdf#page=3", (true, true));
    }

    #[test]
    fn results_are_kept_by_date_when_they_have_one() {
        let filters = Filters { time_range: Some(TimeRange::Week), ..Filters::default() };
        let check = |published: Option<&str>, expected: bool| {
            assert_eq!(filters.allow(&hit("https://a.test/", published)), expected, "{published:?}");
        };
        check(None, true);
        check(Some("2001-01-01"), false);
        check(Some("2999-01-01"), true);
        assert!(Filters::default().allow(&hit("https://a.test/", Some("2001-01-01"))));
        assert!(filters.allow(&hit("minutes/april.pdf#page=3", Some("2001-01-01"))), "a document of the user's own");
    }

    #[test]
    fn sites_become_operators_as_far_as_there_is_room() {
        let filters = Filters {
            include: vec!["a.test".into(), "b.test".into()],
            exclude: vec!["c.test".into()],
            ..Filters::default()
        };
        let check = |filters: &Filters, (chars, words): (usize, usize), expected: (&str, bool)| {
            let row = Row { max_query_chars: chars, max_query_words: words, ..Row::WEB };
            let (text, is_restricted) = filters.with_sites("cod", &row);
            assert_eq!((&*text, is_restricted), expected, "{chars} {words}");
        };
        check(&filters, (100, 100), ("cod (site:a.test OR site:b.test) -site:c.test", true));
        check(&filters, (100, 4), ("cod (site:a.test OR site:b.test)", false));
        check(&filters, (100, 3), ("cod site:a.test -site:c.test", true));
        check(&filters, (20, 100), ("cod site:a.test", false));
        check(&filters, (10, 100), ("cod", false));
        check(&Filters::default(), (3, 1), ("cod", true));
    }

    #[test]
    fn dates_are_reckoned_from_today() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(days_ago(text, date!(2031 - 03 - 10)).as_deref(), expected, "{text}");
        };
        check("3 days ago", Some("2031-03-07"));
        check("1 hour ago", Some("2031-03-10"));
        check("2 weeks ago", Some("2031-02-24"));
        check("Yesterday", Some("2031-03-09"));
        check("99999999999999999999 days ago", None);
        check("Mar 10, 2031", None);
        assert_eq!(date_of_epoch(1_930_000_000).as_deref(), Some("2031-02-27"));
    }
}
