//! Wikipedia, or another wiki on MediaWiki: <https://www.mediawiki.org/wiki/API:Search>. Text is CC BY-SA.

use url::Url;

use crate::search::{
    Error, Filter, Limits, Row, Search, Setting,
    web::{Object, Problem, RawHit, Refused, Request, Shared, Web, Wire, objects_if_any},
};

/// The most titles of one request for beginnings of articles.
const MAX_RESULTS: usize = 20;

const WHO_ASKS: &str = "Wikimedia refuses programs that do not say who runs them; set WIKIPEDIA_CONTACT";

const CONTACT: &str = "search.wikipedia.contact";

pub const ROW: Row = Row {
    name: "wikipedia",
    about: "the encyclopaedia, in the language asked for",
    filters: &[Filter::Language],
    // Wikimedia asks for requests one after the other.
    at_once: Some(1),
    // Of a search in MediaWiki.
    max_query_chars: 300,
    settings: &[
        Setting::optional(
            CONTACT,
            "WIKIPEDIA_CONTACT",
            "a page or mail address by which Wikimedia reaches you; its policy asks for one",
            "https://example.com/contact",
        ),
        Setting::address("search.wikipedia.base_url", "WIKIPEDIA_BASE_URL", "https://en.wikipedia.org"),
    ],
    build,
    ..Row::WEB
};

struct Wikipedia {
    endpoint: Url,
    user_agent: String,
}

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let contact = shared.settings.text(CONTACT).map(|contact| format!(" ({contact})")).unwrap_or_default();
    let user_agent = format!("fathom/{}{contact}", env!("CARGO_PKG_VERSION"));
    let endpoint = shared.settings.endpoint(row, "w/api.php")?;
    Ok(Web::boxed(row, Wikipedia { endpoint, user_agent }, shared))
}

impl Wikipedia {
    /// Returns the wiki of that language, if this is Wikipedia's own.
    fn endpoint(&self, language: Option<&str>) -> Url {
        let mut url = self.endpoint.clone();
        let host = language.filter(|_| url.host_str().is_some_and(|host| host.ends_with(".wikipedia.org")));
        if let Some(language) = host {
            // Two letters make a valid name.
            let _ = url.set_host(Some(&format!("{language}.wikipedia.org")));
        }
        url
    }
}

impl Wire for Wikipedia {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let count = limits.max_results.clamp(1, MAX_RESULTS).to_string();
        let parameters = [
            ("action", "query"),
            ("generator", "search"),
            ("gsrsearch", query),
            ("gsrlimit", &count),
            ("prop", "extracts|info"),
            ("exintro", "1"),
            ("explaintext", "1"),
            ("exlimit", "20"),
            ("inprop", "url"),
            ("redirects", "1"),
            ("format", "json"),
            ("formatversion", "2"),
        ];
        let url = self.endpoint(limits.filters.language.as_deref());
        Request::get(url, &parameters).header("user-agent", self.user_agent.clone())
    }

    /// Reads the pages, which come by their numbers, each with its rank. Lists of what a word may mean are no source.
    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        let mut pages = objects_if_any(body, &["query", "pages"], "batchcomplete")?;
        pages.sort_by_key(|page| page.read("index").unwrap_or(u32::MAX));
        Ok(pages.iter().filter_map(found).collect())
    }

    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        (refused.status == 403).then(|| Problem::lasting(Error::Unavailable(WHO_ASKS.to_owned())))
    }
}

fn found(page: &Object<'_>) -> Option<RawHit> {
    let extract = page.text("extract");
    if extract.as_deref().is_some_and(|text| text.trim_end().ends_with("may refer to:")) {
        return None;
    }
    Some(RawHit {
        url: page.text("canonicalurl").or_else(|| page.text("fullurl"))?,
        title: page.text("title"),
        snippet: extract,
        ..RawHit::default()
    })
}
