//! OpenAlex, works of research with their abstracts: <https://developers.openalex.org>. Data are CC0.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value as Json;
use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    markup::names,
    web::{Object, Problem, RawHit, Refused, Request, Web, Wire, objects},
};

/// OpenAlex's own bound on `per_page` (2026-07).
const MAX_RESULTS: usize = 100;
/// Words of an abstract that are laid out; a longer one is no abstract.
const MAX_WORDS: usize = 5_000;

pub const ROW: Row = Row {
    name: "openalex",
    about: "works of research, by their abstracts",
    returns: Returns::Abstracts,
    filters: &[Filter::TimeRange, Filter::Language],
    cost: "0.001 $; about 100 a day are free without a key",
    settings: &[
        Setting::optional_key(
            "search.openalex.api_key",
            "OPENALEX_API_KEY",
            "key of OpenAlex, for more than a hundred searches a day",
        ),
        Setting::address("search.openalex.base_url", "OPENALEX_BASE_URL", "https://api.openalex.org"),
    ],
    build: |row, shared| Web::open(row, shared, "works", |endpoint, key| OpenAlex { endpoint, key }),
    ..Row::WEB
};

struct OpenAlex {
    endpoint: Url,
    key: Option<SecretString>,
}

impl Wire for OpenAlex {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let fields =
            "display_name,doi,id,publication_date,primary_location,is_retracted,abstract_inverted_index,authorships";
        let mut parameters = vec![("search", query), ("per_page", &count), ("select", fields)];
        let since = limits.filters.since_text().map(|since| format!("from_publication_date:{since}"));
        let language = limits.filters.language.as_ref().map(|language| format!("language:{language}"));
        let filter = since.into_iter().chain(language).collect::<Vec<_>>().join(",");
        if !filter.is_empty() {
            parameters.push(("filter", &filter));
        }
        if let Some(key) = &self.key {
            parameters.push(("api_key", key.expose_secret()));
        }
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["results"])?.iter().filter_map(found).collect())
    }

    /// Reads a refusal: what a day may cost is used up.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        let is_budget = refused.status == 429 && refused.said.to_ascii_lowercase().contains("budget");
        is_budget.then(|| Problem::unpaid(refused.said))
    }
}

fn found(work: &Object<'_>) -> Option<RawHit> {
    let place = work.object("primary_location");
    let landing = place.and_then(|place| place.text("landing_page_url"));
    let retracted = if work.read("is_retracted") == Some(true) { " (retracted)" } else { "" };
    Some(RawHit {
        url: landing.or_else(|| work.text("doi")).or_else(|| work.text("id"))?,
        title: work.text("display_name").map(|title| title + retracted),
        snippet: work.read::<Json>("abstract_inverted_index").map(|index| laid_out(&index)),
        published: work.text("publication_date"),
        author: names(work.objects("authorships").iter().filter_map(|one| one.object("author")?.text("display_name"))),
        ..RawHit::default()
    })
}

/// Returns the text of an index from words to their places.
fn laid_out(index: &Json) -> String {
    let words = index.as_object().into_iter().flatten();
    let places = words.flat_map(|(word, places)| {
        places.as_array().into_iter().flatten().filter_map(Json::as_u64).map(move |place| (place, word.as_str()))
    });
    let mut placed: Vec<_> = places.take(MAX_WORDS).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(" ")
}
