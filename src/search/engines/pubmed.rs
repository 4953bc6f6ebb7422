//! The articles of PubMed with their abstracts, asked of Europe PMC, which answers in one request:
//! <https://europepmc.org/RestfulWebService>.

use url::Url;

use crate::search::{
    Error, Filter, Limits, Returns, Row, Setting,
    web::{Object, RawHit, Request, Web, Wire, objects},
};

/// Europe PMC's own bound on `pageSize`.
const MAX_RESULTS: usize = 1_000;

pub const ROW: Row = Row {
    name: "pubmed",
    about: "biomedical articles of PubMed, by their abstracts, asked of Europe PMC",
    returns: Returns::Abstracts,
    filters: &[Filter::TimeRange],
    every: std::time::Duration::from_millis(200),
    settings: &[Setting::address(
        "search.pubmed.base_url",
        "PUBMED_BASE_URL",
        "https://www.ebi.ac.uk/europepmc/webservices/rest",
    )],
    build: |row, shared| Web::open(row, shared, "search", |endpoint, _| Pubmed { endpoint }),
    ..Row::WEB
};

struct Pubmed {
    endpoint: Url,
}

impl Wire for Pubmed {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        // Brackets and colons would make fields of words.
        let words = query.replace(['(', ')', '[', ']', ':', '"'], " ");
        let since = limits.filters.since_text().map(|since| format!(" AND FIRST_PDATE:[{since} TO 3000-12-31]"));
        let query = format!("({}) AND SRC:MED{}", words.trim(), since.unwrap_or_default());
        let parameters = [("query", query.as_str()), ("format", "json"), ("resultType", "core"), ("pageSize", &count)];
        Request::get(self.endpoint.clone(), &parameters)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        Ok(objects(body, &["resultList", "result"])?.iter().filter_map(found).collect())
    }
}

fn found(article: &Object<'_>) -> Option<RawHit> {
    let id = article.text("pmid").filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))?;
    let journal = article.object("journalInfo").and_then(|info| info.object("journal")?.text("title"));
    let pieces = journal.map(|title| format!("{title}.")).into_iter().chain(article.text("abstractText"));
    Some(RawHit {
        url: format!("https://pubmed.ncbi.nlm.nih.gov/{id}/"),
        title: article.text("title"),
        snippet: Some(pieces.collect::<Vec<_>>().join("\n\n")),
        published: article.text("firstPublicationDate"),
        author: article.text("authorString"),
        ..RawHit::default()
    })
}
