//! Serper, results of Google as data: <https://serper.dev>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Row, Search, Setting, google_age,
        web::{Object, Problem, RawHit, Refused, Request, Shared, Web, Wire, objects},
    },
};

/// The most results of one request. More than ten cost twice as much.
const MAX_RESULTS: usize = 100;

pub const ROW: Row = Row {
    name: "serper",
    about: "the web by Google's results, in excerpts",
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Language, Filter::Country, Filter::Topic],
    sites_in_query: true,
    cost: "1 credit, 2 for more than 10 results",
    // Google reads no longer ones.
    max_query_chars: 2_000,
    forbids_wrong_keys: true,
    settings: &[
        Setting::key("search.serper.api_key", "SERPER_API_KEY", "key of Serper"),
        Setting::address("search.serper.base_url", "SERPER_BASE_URL", "https://google.serper.dev"),
    ],
    build,
    ..Row::WEB
};

struct Serper {
    web: Url,
    news: Url,
    key: SecretString,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let endpoint = |path| shared.settings.endpoint(row, path);
    let key = shared.settings.key_of(row).cloned().unwrap_or_default();
    Ok(Web::boxed(row, Serper { web: endpoint("search")?, news: endpoint("news")?, key }, shared))
}

impl Wire for Serper {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "q": query,
            "num": limits.max_results.clamp(1, MAX_RESULTS),
        });
        if let Some(range) = filters.time_range {
            body["tbs"] = json!(google_age(range));
        }
        if let Some(language) = &filters.language {
            body["hl"] = json!(language);
        }
        if let Some(country) = &filters.country {
            body["gl"] = json!(country.to_ascii_lowercase());
        }
        let url = if filters.topic == Topic::News { &self.news } else { &self.web };
        Request::post(url.clone(), body).header("x-api-key", self.key.clone())
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let results = objects(body, &["organic"]).or_else(|_| objects(body, &["news"]))?;
        Ok(results.iter().filter_map(found).collect())
    }

    /// Returns what a refusal means. A used-up account is a bad request that says so.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let used_up = refused.status == 400 && refused.said.to_ascii_lowercase().contains("not enough credits");
        used_up.then(|| Problem::unpaid(refused.said))
    }
}

fn found(result: &Object<'_>) -> Option<RawHit> {
    Some(RawHit {
        url: result.text("link")?,
        title: result.text("title"),
        snippet: result.text("snippet"),
        published: result.text("date"),
        ..RawHit::default()
    })
}
