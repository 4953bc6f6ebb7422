//! HTML to text: the article a page is about, or, when it is about none, all of it but its furniture.

use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::Encoding;

use super::{Document, Unreadable, date, markdown, text};

/// What is never the text of a page, and what its author hid from readers: words for machines alone are no evidence.
const FURNITURE: &str = "script, style, noscript, template, svg, canvas, iframe, object, nav, form, button, select, \
    input, textarea, dialog, [role=dialog], [role=navigation], [role=search], [aria-hidden=true], [hidden], [style*='display:none'], [style*='display: none'], [style*='visibility:hidden'], \
    [style*='visibility: hidden'], [style*='font-size:0'], [style*='font-size: 0']";

/// Elements nested deeper than this are no page; parsing them costs time that grows with the square of the depth.
const MAX_DEPTH: usize = 512;

/// Reads a page.
///
/// # Errors
/// [`Unreadable`] when its elements are nested beyond reason.
pub(super) fn read(source: &str) -> Result<Document, Unreadable> {
    let page = page(source).ok_or_else(|| Unreadable::new("its HTML is nested too deeply"))?;
    let mut document = markdown::sections(&page.markdown, page.title.as_deref());
    document.published = page.published.or_else(|| date::stated(&page.markdown));
    Ok(document)
}

/// A page as Markdown, with what its head says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub title: Option<String>,
    /// `YYYY-MM-DD`.
    pub published: Option<String>,
    pub markdown: String,
}

/// Finds the article of a page; `None` when its elements are nested beyond reason. Blocking: up to 0.1 s a megabyte.
pub fn page(source: &str) -> Option<Page> {
    if depth(source) > MAX_DEPTH {
        return None;
    }
    let config = Config { text_mode: TextMode::Markdown, ..Config::default() };
    let mut readability = Readability::new(source, None, Some(config)).ok()?;
    readability.doc.select(FURNITURE).remove();
    let title = title(&readability);
    let published = published(&readability);
    let whole = readability.doc.body().map(|body| body.md(None).to_string()).unwrap_or_default();
    let article = readability.parse().map(|article| article.text_content.to_string()).unwrap_or_default();
    Some(Page { title, published, markdown: fuller(article, whole) })
}

/// The article, unless it left most of the page's words out: then it took a side note for the article.
fn fuller(article: String, whole: String) -> String {
    let words = |text: &str| text.split_whitespace().count();
    match words(&article) * 2 < words(&whole) {
        true => whole,
        false => article,
    }
}

fn title(readability: &Readability) -> Option<String> {
    let of = |selector: &str| text::one_line(&readability.doc.select_single(selector).text());
    let headings = readability.doc.select("h1");
    let heading = Some(text::one_line(&headings.text())).filter(|_| headings.length() == 1);
    heading.into_iter().chain([of("head title"), of("title")]).find(|title| !title.is_empty())
}

fn published(readability: &Readability) -> Option<String> {
    const NAMES: [&str; 8] = [
        "article:modified_time",
        "article:published_time",
        "og:updated_time",
        "date",
        "dcterms.modified",
        "dcterms.date",
        "dc.date",
        "last-modified",
    ];
    let metas: Vec<_> = readability
        .doc
        .select("meta[content]")
        .iter()
        .filter_map(|meta| {
            let name = meta.attr("property").or_else(|| meta.attr("name"))?.to_ascii_lowercase();
            Some((name, meta.attr("content")?))
        })
        .collect();
    let value = |wanted: &&str| metas.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| date::parse(value));
    NAMES.iter().find_map(value)
}

/// HTML or a fragment of it to plain text without its tags; nothing is judged unimportant but scripts and the like.
pub(super) fn plain(source: &str) -> String {
    match page(source) {
        Some(page) => text::tidy(&markdown::plain(&page.markdown)).trim().to_owned(),
        None => String::new(),
    }
}

/// Whether `text` begins like HTML; Markdown that merely shows some does not.
pub(super) fn looks_like_html(text: &str) -> bool {
    const TAGS: [&str; 30] = [
        "!doctype", "html", "head", "body", "div", "p", "span", "article", "section", "main", "table", "ul", "ol",
        "li", "h1", "h2", "h3", "h4", "a", "b", "i", "em", "strong", "br", "img", "script", "style", "meta", "header",
        "!--",
    ];
    let Some(tag) = text.trim_start().strip_prefix('<') else { return false };
    let end = tag.find(|char: char| char.is_whitespace() || matches!(char, '>' | '/')).unwrap_or(tag.len());
    let name = tag.get(..end.min(12)).unwrap_or_default().to_ascii_lowercase();
    TAGS.contains(&name.as_str()) && text.contains('>')
}

/// Decodes a page: byte order mark, then what its `meta` says, then a guess.
pub(super) fn decode(bytes: &[u8]) -> Result<String, Unreadable> {
    text::decode_as(bytes, declared_encoding(bytes))
}

/// The encoding named by `<meta charset>` or `http-equiv` in the first 2 kB.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let (_, after) = head.split_once("charset")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value
        .find(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '_' | ':'))
        .unwrap_or(value.len());
    Encoding::for_label(&value.as_bytes()[..end])
}

/// A bound on how deep elements nest: opening tags minus closing ones, void elements not counted.
fn depth(source: &str) -> usize {
    const VOID: [&str; 14] =
        ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr", "p", "li"];
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for tag in source.split('<').skip(1) {
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if tag.starts_with(|char: char| char.is_ascii_alphabetic()) {
            let end = tag.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(tag.len());
            let is_void = VOID.iter().any(|name| name.eq_ignore_ascii_case(&tag[..end]));
            depth += usize::from(!is_void);
            deepest = deepest.max(depth);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<html><head><title>Fish | Site</title><meta property='article:modified_time' content='2031-03-10T08:00'>\
        <style>p{}</style></head><body><nav><a href=x>Home</a></nav><h1>Fish</h1><p>Cod is a <b>fish</b> &amp; so is ling.</p>\
        <h2>Prices</h2><p>Cod costs 3 <a href='eur'>euro</a>.</p><script>alert(1)</script></body></html>";

    #[test]
    fn a_page_has_title_date_and_sections() {
        let document = read(PAGE).unwrap();
        assert_eq!(document.title.as_deref(), Some("Fish"));
        assert_eq!(document.published.as_deref(), Some("2031-03-10"));
        let texts: Vec<_> =
            document.sections.iter().map(|section| (section.label.as_deref(), &*section.text)).collect();
        assert_eq!(texts, [(None, "Cod is a fish & so is ling."), (Some("Prices"), "Cod costs 3 euro.")]);
    }

    #[test]
    fn html_is_told_from_markdown() {
        let check = |text: &str, expected: bool| assert_eq!(looks_like_html(text), expected, "{text}");
        check("  <!DOCTYPE html><p>x", true);
        check("<div class=a>x</div>", true);
        check("# Title\n<div>x</div>", false);
        check("<3 is a heart > x", false);
        check("<https://example.com>", false);
        check("", false);
    }

    #[test]
    fn hostile_nesting_is_refused_in_time() {
        assert_eq!(page(&"<div>".repeat(200_000)), None);
        assert_eq!(plain(&"<b>".repeat(200_000)), "");
        assert!(page(&"<p>x<li>y".repeat(20_000)).is_some());
    }

    #[test]
    fn the_declared_encoding_is_believed_unless_the_bytes_are_utf_8() {
        let check = |bytes: &[u8], expected: &str| assert!(decode(bytes).unwrap().contains(expected), "{expected}");
        check(b"<meta http-equiv=Content-Type content='text/html; charset=windows-1252'>5 \x80", "5 €");
        check(b"<meta charset=\"koi8-r\">\xf0\xd2\xc9", "При");
        check("<meta charset=latin1>Größe".as_bytes(), "Größe");
    }
}
