//! Brave Search: <https://api-dashboard.search.brave.com/documentation>.

use secrecy::SecretString;
use url::Url;

use crate::{
    domain::{TimeRange, Topic},
    search::{
        Error, Filter, Limits, Row, Search, Setting,
        web::{Object, Problem, RawHit, Refused, Request, Shared, Web, Wire, objects},
    },
};

/// Brave's own bound on `count` (2026-07).
const MAX_RESULTS: usize = 20;
/// The languages and countries that it has (2026-11): a query with another one is refused. Some languages have names of
/// its own ([`language`]).
const LANGUAGES: &str = "ar eu bn bg ca hr cs da nl en et fi fr gl de gu he hi hu is it kn ko lv lt ms ml mr nb pl pa \
                         ro ru sr sk sl es sv ta te th tr uk vi";
const COUNTRIES: &str = "AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE \
                         CH TW TR GB US";

pub const ROW: Row = Row {
    name: "brave",
    about: "the web by Brave's own index, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Language, Filter::Country, Filter::Topic],
    sites_in_query: true,
    cost: "1 request",
    // Longer queries are refused (2026-07).
    max_query_chars: 400,
    max_query_words: 50,
    settings: &[
        Setting::key("search.brave.api_key", "BRAVE_API_KEY", "key of Brave Search"),
        Setting::address("search.brave.base_url", "BRAVE_BASE_URL", "https://api.search.brave.com/res/v1"),
    ],
    build,
    ..Row::WEB
};

struct Brave {
    web: Url,
    news: Url,
    key: SecretString,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let endpoint = |path| shared.settings.endpoint(row, path);
    let key = shared.settings.key_of(row).cloned().unwrap_or_default();
    Ok(Web::boxed(row, Brave { web: endpoint("web/search")?, news: endpoint("news/search")?, key }, shared))
}

impl Wire for Brave {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let mut parameters =
            vec![("q", query), ("count", &count), ("text_decorations", "false"), ("extra_snippets", "true")];
        let freshness = filters.time_range.map(|range| match range {
            TimeRange::Day => "pd",
            TimeRange::Week => "pw",
            TimeRange::Month => "pm",
            TimeRange::Year => "py",
        });
        parameters.extend(freshness.map(|freshness| ("freshness", freshness)));
        let country = filters.country.as_deref();
        let language = filters.language.as_deref().and_then(|code| language(code, country));
        parameters.extend(language.map(|language| ("search_lang", language)));
        parameters.extend(country.and_then(known_country).map(|country| ("country", country)));
        let url = if filters.topic == Topic::News {
            &self.news
        } else {
            parameters.push(("result_filter", "web"));
            &self.web
        };
        Request::get(url.clone(), &parameters)
            .header("accept", "application/json")
            .header("x-subscription-token", self.key.clone())
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        // News stand at the top; a web search without results has no `web`.
        let results = objects(body, &["web", "results"]).or_else(|_| objects(body, &["results"]));
        match results {
            Ok(results) => Ok(results.iter().filter_map(found).collect()),
            Err(_) if is_answer(body) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns what a refusal means. A wrong key is 422 with a code of its own; a used-up month is 429 like a used-up
    /// second, which its headers tell apart where its body does not: behind the comma, nothing remains of the month.
    /// Plans that are billed by use have none (its limit is 0).
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let number = |name: &str| refused.body.pointer(&format!("/error/meta/{name}"))?.as_u64();
        let of_month = |name| refused.headers.get(name)?.to_str().ok()?.split(',').nth(1)?.trim().parse::<u64>().ok();
        let is_used_up = of_month("x-ratelimit-remaining") == Some(0);
        match (refused.status, refused.text("/error/code")) {
            (429, _) if is_used_up && of_month("x-ratelimit-limit") > Some(0) => Some(Problem::unpaid(refused.said)),
            // The second one says what the plan of the key lacks, which no other query changes.
            (_, "SUBSCRIPTION_TOKEN_INVALID" | "OPTION_NOT_IN_PLAN") => {
                Some(Problem::lasting(Error::Auth(refused.said.to_owned())))
            }
            (429, _) => match (number("quota_current"), number("quota_limit")) {
                (Some(current), Some(limit)) if limit > 0 && current >= limit => Some(Problem::unpaid(refused.said)),
                // Seconds until this second's window, then until the month's, separated by a comma.
                _ => {
                    let reset = || crate::net::asked_wait(refused.number("x-ratelimit-reset")?);
                    Some(Problem::limited(refused.after.or_else(reset)))
                }
            },
            _ => None,
        }
    }
}

/// Returns Brave's name of a language, as it is written in that country.
fn language(code: &str, country: Option<&str>) -> Option<&'static str> {
    match (code, country) {
        ("ja", _) => Some("jp"),
        ("no", _) => Some("nb"),
        ("pt", Some("BR")) => Some("pt-br"),
        ("pt", _) => Some("pt-pt"),
        ("zh", Some("TW" | "HK" | "MO")) => Some("zh-hant"),
        ("zh", _) => Some("zh-hans"),
        _ => LANGUAGES.split(' ').find(|known| *known == code),
    }
}

fn known_country(code: &str) -> Option<&'static str> {
    COUNTRIES.split(' ').find(|known| *known == code)
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    let pieces: Vec<_> = result.text("description").into_iter().chain(result.texts("extra_snippets")).collect();
    Some(RawHit {
        url: result.text("url")?,
        title: result.text("title"),
        snippet: Some(pieces.join("\n\n")),
        published: result.text("page_age"),
        ..RawHit::default()
    })
}

/// Returns whether it says what kind of answer it is.
fn is_answer(body: &[u8]) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    answer["type"] == "search" && answer["web"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_and_countries_that_are_not_there_are_left_out() {
        let check = |code: &str, country: Option<&str>, expected: Option<&str>| {
            assert_eq!(language(code, country), expected, "{code} {country:?}");
        };
        check("de", Some("IE"), Some("de"));
        check("ja", None, Some("jp"));
        check("no", None, Some("nb"));
        check("pt", Some("BR"), Some("pt-br"));
        check("pt", None, Some("pt-pt"));
        check("zh", Some("TW"), Some("zh-hant"));
        check("zh", None, Some("zh-hans"));
        check("fa", None, None);
        check("el", Some("GR"), None);
        assert_eq!(["DE", "IE", "UA"].map(known_country), [Some("DE"), None, None]);
    }
}
