//! Stack Overflow, or another site of Stack Exchange: <https://api.stackexchange.com/docs/advanced-search>. Text is CC
//! BY-SA.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value as Json;
use url::Url;

use crate::{
    net,
    search::{
        Error, Filter, Limits, Need, Row, Search, Setting, date_of_epoch,
        web::{Object, Problem, RawHit, Refused, Request, Shared, Web, Wire, objects},
    },
};

/// Its own bound on `pagesize`.
const MAX_RESULTS: usize = 100;

const SITE: Setting = Setting {
    need: Need::Default("stackoverflow"),
    ..Setting::optional(
        "search.stackexchange.site",
        "STACKEXCHANGE_SITE",
        "the site that is searched, as its address begins",
        "",
    )
};

pub const ROW: Row = Row {
    name: "stackexchange",
    about: "questions and answers of Stack Overflow or a sister site",
    filters: &[Filter::TimeRange],
    cost: "nothing; 300 a day without a key",
    max_query_chars: 240,
    settings: &[
        Setting::optional_key(
            "search.stackexchange.api_key",
            "STACKEXCHANGE_API_KEY",
            "key of Stack Exchange, for more than 300 searches a day",
        ),
        SITE,
        Setting::address(
            "search.stackexchange.base_url",
            "STACKEXCHANGE_BASE_URL",
            "https://api.stackexchange.com/2.3",
        ),
    ],
    build,
    ..Row::WEB
};

struct StackExchange {
    endpoint: Url,
    site: String,
    key: Option<SecretString>,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let endpoint = shared.settings.endpoint(row, "search/advanced")?;
    let site = shared.settings.value(&SITE).unwrap_or_default().to_owned();
    Ok(Web::boxed(row, StackExchange { endpoint, site, key: shared.settings.key_of(row).cloned() }, shared))
}

impl Wire for StackExchange {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let since = limits.filters.since_epoch().map(|since| since.to_string());
        let mut parameters = vec![
            ("q", query),
            ("site", self.site.as_str()),
            ("pagesize", &count),
            ("sort", "relevance"),
            ("order", "desc"),
            ("filter", "withbody"),
        ];
        parameters.extend(since.as_deref().map(|since| ("fromdate", since)));
        parameters.extend(self.key.as_ref().map(|key| ("key", key.expose_secret())));
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["items"])?.iter().filter_map(found).collect())
    }

    /// Returns what a refusal means. Too many requests are a bad one, whose sentence says for how long; a day's worth
    /// is not waited for.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        match refused.text("/error_name") {
            "throttle_violation" => Some(Problem::limited(refused.after.or_else(|| seconds(refused.said)))),
            "bad_parameter" if refused.said.starts_with("`key`") => {
                Some(Problem::lasting(Error::Auth(refused.said.to_owned())))
            }
            "key_required" | "invalid_key" => Some(Problem::lasting(Error::Auth(refused.said.to_owned()))),
            _ => None,
        }
    }

    fn pause(&self, body: &[u8]) -> Option<Duration> {
        let answer: Json = serde_json::from_slice(body).ok()?;
        net::asked_wait(answer["backoff"].as_f64()?)
    }
}

/// Reads the time to wait, as in `… more requests available in 30 seconds`.
fn seconds(said: &str) -> Option<Duration> {
    let (_, rest) = said.split_once("available in ")?;
    net::asked_wait(rest.split_once(" second")?.0.parse().ok()?)
}

fn found(question: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: question.text("link")?,
        title: question.text("title"),
        snippet: question.text("body"),
        published: question.read("creation_date").and_then(date_of_epoch),
        author: question.object("owner").and_then(|owner| owner.text("display_name")),
        ..RawHit::default()
    })
}
