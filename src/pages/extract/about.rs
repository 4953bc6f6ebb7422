//! What the head of a page says about it: date, author, site, and its own address.

use dom_query::Document;
use serde_json::Value;

use super::{date, text};

/// Scripts with data about a page, and bytes of one.
const MAX_SCRIPTS: usize = 10;
const MAX_SCRIPT_BYTES: usize = 256 * 1024;
/// Levels of such data.
const MAX_DEPTH: usize = 6;
const MAX_CHARS: usize = 200;

const DATES: [&str; 11] = [
    "article:modified_time",
    "article:published_time",
    "og:updated_time",
    "datemodified",
    "datepublished",
    "citation_publication_date",
    "date",
    "dcterms.modified",
    "dcterms.date",
    "dc.date",
    "last-modified",
];
const AUTHORS: [&str; 5] = ["author", "article:author", "citation_author", "dc.creator", "dcterms.creator"];

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    /// `YYYY-MM-DD`.
    pub published: Option<String>,
    pub author: Option<String>,
    pub site: Option<String>,
    /// As it stands there; perhaps relative.
    pub canonical: Option<String>,
    /// What it says in place of the header `Refresh`, as `0; url=/next`.
    pub refresh: Option<String>,
}

/// Reads what a page says of itself; to be called before scripts are removed.
pub(super) fn of(page: &Document) -> About {
    let metas = metas(page);
    let data = linked_data(page);
    let meta = |names: &[&str]| {
        let value = |wanted: &&str| metas.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
        names.iter().filter_map(value).collect::<Vec<_>>()
    };
    let stated = meta(&DATES).into_iter().chain(found(&data, &["dateModified", "datePublished"]));
    let canonical = page.select_single("link[rel='canonical'][href]").attr("href").map(|href| href.trim().to_owned());
    About {
        published: stated.chain(times(page)).find_map(|value| date::parse(&value)),
        author: meta(&AUTHORS).into_iter().chain(found(&data, &["author"])).find_map(|name| line(&name)),
        site: meta(&["og:site_name"]).into_iter().find_map(|name| line(&name)),
        canonical: canonical.filter(|href| !href.is_empty()),
        refresh: refresh(page),
    }
}

/// Returns what the page says in place of the header, but to those without scripts: they see another page than others.
fn refresh(page: &Document) -> Option<String> {
    let metas = page.select("meta[http-equiv][content]");
    let is_refresh = |meta: &dom_query::Selection<'_>| {
        let name = meta.attr("http-equiv").unwrap_or_default();
        name.trim().eq_ignore_ascii_case("refresh") && !meta.ancestors(None).is("noscript")
    };
    metas.iter().find(is_refresh)?.attr("content").map(|said| said.to_string())
}

/// Names in lower case, with their values.
fn metas(page: &Document) -> Vec<(String, String)> {
    let of = |meta: dom_query::Selection<'_>| {
        let name = ["property", "name", "itemprop"].iter().find_map(|name| meta.attr(name))?;
        Some((name.to_ascii_lowercase(), meta.attr("content")?.to_string()))
    };
    page.select("meta[content]").iter().filter_map(of).collect()
}

/// Returns the time that an article gives itself.
fn times(page: &Document) -> Vec<String> {
    const PLACES: [&str; 3] = ["time[itemprop][datetime]", "article header time[datetime]", "article time[datetime]"];
    PLACES.iter().filter_map(|place| page.select_single(place).attr("datetime")).map(|time| time.to_string()).collect()
}

fn linked_data(page: &Document) -> Vec<Value> {
    let scripts = page.select("script[type='application/ld+json']");
    let texts = scripts.iter().take(MAX_SCRIPTS).map(|script| script.text());
    texts.filter(|text| text.len() <= MAX_SCRIPT_BYTES).filter_map(|text| serde_json::from_str(&text).ok()).collect()
}

/// Returns the values that the data has by those names, the outermost of each first.
fn found(data: &[Value], names: &[&str]) -> Vec<String> {
    let mut values = Vec::new();
    for name in names {
        data.iter().for_each(|value| collect(value, name, 0, &mut values));
    }
    values
}

fn collect(value: &Value, name: &str, depth: usize, values: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, name, depth + 1, values)),
        Value::Object(fields) => {
            values.extend(fields.get(name).and_then(said));
            if let Some(graph) = fields.get("@graph").or_else(|| fields.get("mainEntity")) {
                collect(graph, name, depth + 1, values);
            }
        }
        _ => {}
    }
}

/// Returns a text, the name of a thing, or the names of several.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => fields.get("name")?.as_str().map(str::to_owned),
        Value::Array(items) => {
            let names: Vec<String> = items.iter().take(5).filter_map(said).collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        _ => None,
    }
}

/// Returns a name on one line; an address is none.
fn line(name: &str) -> Option<String> {
    let name = text::one_line(text::cut(name, MAX_CHARS));
    (!name.is_empty() && !name.contains("://")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: [Option<&str>; 4]) {
        let about = of(&Document::from(format!("<html><head>{head}</head><body></body></html>")));
        let found = [&about.published, &about.author, &about.site, &about.canonical].map(Option::as_deref);
        assert_eq!(found, expected, "{head}");
    }

    #[test]
    fn a_page_leads_on_where_it_says_so_itself() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(of(&Document::from(source)).refresh.as_deref(), expected, "{source}");
        };
        check("<title>x</title><META content='0;URL=/a?b=1&amp;c=2' http-equiv=Refresh>", Some("0;URL=/a?b=1&c=2"));
        check("<body><p>Moved.</p><meta http-equiv=refresh content='1; url=/b'>", Some("1; url=/b"));
        check("<!-- <meta http-equiv=refresh content='0; url=/b'> --><p>Here.", None);
        check("<script>x = \"<meta http-equiv=refresh content='0; url=/b'>\"</script><p>Here.", None);
        check("<noscript><meta http-equiv=refresh content='0; url=/b'></noscript><p>Here.", None);
        check("<body><noscript><meta http-equiv=refresh content='0; url=/b'></noscript><p>Here.", None);
        check("<template><meta http-equiv=refresh content='0; url=/b'></template><p>Here.", None);
        check("<meta name=refresh content='0; url=/b'><meta http-equiv=refresh>", None);
    }

    #[test]
    fn a_page_says_who_wrote_it_and_when() {
        check(
            "<meta name=author content='M. Tey'><meta property='og:site_name' content='The Ledger'>\
             <meta property='article:published_time' content='2031-03-10T08:00'><link rel=canonical href='/a'>",
            [Some("2031-03-10"), Some("M. Tey"), Some("The Ledger"), Some("/a")],
        );
        check(
            r#"<script type="application/ld+json">{"@graph":[{"@type":"WebSite","name":"x"},{"@type":"Article",
            "datePublished":"2031-03-01","author":[{"name":"M. Tey"},{"name":"R. Poe"}]}]}</script>"#,
            [Some("2031-03-01"), Some("M. Tey, R. Poe"), None, None],
        );
        check(
            "<meta property='article:author' content='https://a.test/tey'><script type='application/ld+json'>{</script>",
            [None; 4],
        );
    }
}
