//! Crossref, the register of publications by DOI: <https://www.crossref.org/documentation/retrieve-metadata/rest-api/>.

use std::time::Duration;

use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Search, Setting,
    markup::names,
    web::{Object, RawHit, Request, Shared, Web, Wire, objects},
};

/// Crossref's own bound on `rows`.
const MAX_RESULTS: usize = 1_000;
const FIELDS: &str = "DOI,URL,title,type,published,container-title,abstract,author";

const MAIL: &str = "search.crossref.mailto";

pub const ROW: Row = Row {
    name: "crossref",
    about: "the register of publications, mostly without abstracts",
    returns: Returns::Abstracts,
    filters: &[Filter::TimeRange],
    every: Duration::from_millis(200),
    settings: &[
        Setting::optional(
            MAIL,
            "CROSSREF_MAILTO",
            "a mail address by which Crossref reaches you; it answers faster then",
            "me@example.com",
        ),
        Setting::address("search.crossref.base_url", "CROSSREF_BASE_URL", "https://api.crossref.org"),
    ],
    build,
    ..Row::WEB
};

struct Crossref {
    endpoint: Url,
    mail: Option<String>,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let endpoint = shared.settings.endpoint(row, "works")?;
    Ok(Web::boxed(row, Crossref { endpoint, mail: shared.settings.text(MAIL).map(str::to_owned) }, shared))
}

impl Wire for Crossref {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let since = limits.filters.since_text().map(|since| format!("from-pub-date:{since}"));
        let mut parameters = vec![("query.bibliographic", query), ("rows", &count), ("select", FIELDS)];
        parameters.extend(since.as_deref().map(|since| ("filter", since)));
        parameters.extend(self.mail.as_deref().map(|mail| ("mailto", mail)));
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["message", "items"])?.iter().filter_map(found).collect())
    }
}

/// Reads a result. Figures and tables are registered too, as components; they are no sources.
fn found(work: &Object<'_>) -> Option<RawHit> {
    if work.text("type").as_deref() == Some("component") {
        return None;
    }
    let first = |name: &str| work.texts(name).into_iter().next();
    let pieces = first("container-title").map(|title| format!("{title}.")).into_iter().chain(work.text("abstract"));
    Some(RawHit {
        url: work.text("URL").or_else(|| work.text("DOI").map(|doi| format!("https://doi.org/{doi}")))?,
        title: first("title"),
        snippet: Some(pieces.collect::<Vec<_>>().join("\n\n")),
        published: work.object("published").and_then(|date| day(&date)),
        author: names(work.objects("author").iter().map(name)),
        ..RawHit::default()
    })
}

/// Returns a person's two names, or what a group is called.
fn name(author: &Object<'_>) -> String {
    let parts = ["given", "family", "name"].into_iter().filter_map(|part| author.text(part));
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns a date that has a day.
fn day(date: &Object<'_>) -> Option<String> {
    let parts: Vec<Vec<u32>> = date.read("date-parts")?;
    let [year, month, day] = parts.first()?.as_slice() else { return None };
    Some(format!("{year:04}-{month:02}-{day:02}"))
}
