//! Wikipedia, or another wiki on MediaWiki: <https://www.mediawiki.org/wiki/API:Search>. Text is CC BY-SA.

use url::Url;

use crate::{
    search::{
        Error, Filter, Limits, Row, Search, Setting,
        web::{Object, Problem, RawHit, Refused, Request, Shared, Web, Wire, objects_if_any},
    },
    text::is_in,
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

/// Languages of two letters that have a Wikipedia. Names of others lead to another address, or nowhere.
const LANGUAGES: &str = "ab am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el \
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi hr ht hu hy ia id ie ig ik io is it iu ja jv ka kg ki \
    kk kl km kn ko ks ku kv kw ky la lb lg li ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no nv ny oc om or os pa pi \
    pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts \
    tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let contact = shared.settings.text(CONTACT).map(|contact| format!(" ({contact})")).unwrap_or_default();
    let user_agent = format!("fathom/{}{contact}", env!("CARGO_PKG_VERSION"));
    let endpoint = shared.settings.endpoint(row, "w/api.php")?;
    Ok(Web::boxed(row, Wikipedia { endpoint, user_agent }, shared))
}

impl Wikipedia {
    /// Returns the wiki of that language, if there is one and this is Wikipedia's own.
    fn endpoint(&self, language: Option<&str>) -> Url {
        let mut url = self.endpoint.clone();
        let language = match language {
            Some("nb") => Some("no"),
            other => other.filter(|code| is_in(LANGUAGES, code)),
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_without_a_wiki_is_searched_in_the_one_that_is_configured() {
        let check = |endpoint: &str, language: Option<&str>, expected: &str| {
            let engine = Wikipedia { endpoint: Url::parse(endpoint).unwrap(), user_agent: String::new() };
            assert_eq!(engine.endpoint(language).host_str(), Some(expected), "{language:?}");
        };
        let own = "https://en.wikipedia.org/w/api.php";
        check(own, Some("de"), "de.wikipedia.org");
        check(own, Some("nb"), "no.wikipedia.org");
        for language in [None, Some("gr"), Some("cn"), Some("xx")] {
            check(own, language, "en.wikipedia.org");
        }
        check("https://wiki.test/w/api.php", Some("de"), "wiki.test");
    }
}
