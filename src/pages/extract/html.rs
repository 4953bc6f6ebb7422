//! HTML to text: the article a page is about, or, when it is about none, all of it but its furniture.

use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::Encoding;

use super::{
    Document, Unreadable,
    about::{self, About},
    bulk, depth, formula, hidden, links, markdown, markdown_marks,
    outline::Outline,
    shape, text,
};

/// What is never the text of a page, and what is hidden from its readers; `hidden.rs` knows styles that hide.
const FURNITURE: &str = "script, style, noscript, template, svg, canvas, iframe, object, nav, button, select, input, \
    textarea, dialog, [role=dialog], [role=navigation], [role=search], [aria-hidden=true], [hidden]";

/// What names what is beside or below it, and may be a button that sorts by it or folds it out.
const NAMES: [&str; 9] = ["h1", "h2", "h3", "h4", "h5", "h6", "th", "dt", "summary"];

/// Links of what is a menu, or is called one.
const MENU_LINKS: &str = "nav a[href], [role=navigation] a[href], [class*=menu] a[href], [id*=menu] a[href], \
    [class*=nav] a[href], [id*=nav] a[href]";

/// What a link to its own place says, as makers of pages put behind headings.
const LINK_MARKS: [&str; 3] = ["¶", "#", "🔗"];

/// Elements nested deeper than this are no page; parsing them costs time that grows with the square of the depth.
const MAX_DEPTH: usize = 512;

/// Reads a file that somebody keeps: all of it but its furniture, or the article of a page saved from a site.
///
/// # Errors
/// [`Unreadable`] when its elements are nested beyond reason.
pub(super) fn read(source: &str) -> Result<Document, Unreadable> {
    let page = page(source).ok_or_else(too_deep)?;
    let is_article = page.has_menu && tables(&page.article) >= tables(&page.whole);
    let text = if is_article { page.fuller() } else { &page.whole };
    Ok(page.document(text, Outline::new(page.title.as_deref(), markdown_marks::plain)))
}

/// Reads a page of the web: its article, when it has one.
///
/// # Errors
/// [`Unreadable`] when its elements are nested beyond reason.
pub(super) fn read_web_page(source: &str) -> Result<Document, Unreadable> {
    let page = page(source).ok_or_else(too_deep)?;
    let document = page.document(page.fuller(), Outline::of_web_page(page.title.as_deref(), markdown_marks::plain));
    Ok(Document { refresh: page.about.refresh, ..document })
}

/// A page as Markdown, with what its head says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Page {
    title: Option<String>,
    about: About,
    /// What it seems to be about; what surrounds that is left out.
    article: String,
    whole: String,
    /// Whether it leads to other pages by a menu, as those of sites do.
    has_menu: bool,
}

impl Page {
    /// Returns the article, unless it left most of the page's text out: then it took a side note for the article.
    /// Letters are counted, since not all languages set spaces between words.
    fn fuller(&self) -> &str {
        let spoken = |text: &str| bulk::spoken(&markdown_marks::plain(text));
        match spoken(&self.article) * 2 < spoken(&self.whole) {
            true => &self.whole,
            false => &self.article,
        }
    }

    /// Returns one of its texts, split at its headings.
    fn document(&self, text: &str, mut outline: Outline) -> Document {
        markdown::add(text, &mut outline);
        let About { published, author, site, canonical, .. } = self.about.clone();
        Document { published, author, site, canonical, links: links::of(text), ..outline.finish() }
    }
}

/// Counts the tables of Markdown.
fn tables(markdown: &str) -> usize {
    markdown.lines().filter(|line| line.trim_start_matches([' ', '>']).starts_with("| --- ")).count()
}

/// Returns all text of a page as Markdown, nothing judged unimportant but scripts and the like.
///
/// # Errors
/// [`Unreadable`] when its elements are nested beyond reason.
pub(super) fn whole(source: &str) -> Result<String, Unreadable> {
    if depth::of(source, MAX_DEPTH) > MAX_DEPTH {
        return Err(too_deep());
    }
    let page = dom_query::Document::from(source);
    clear(&page);
    Ok(page.body().map(|body| with_short_rules(&body.md(None))).unwrap_or_default())
}

/// Reads the texts of a page; `None` when its elements are nested beyond reason. Blocking: up to 0.1 s a megabyte.
fn page(source: &str) -> Option<Page> {
    if depth::of(source, MAX_DEPTH) > MAX_DEPTH {
        return None;
    }
    let config = Config { text_mode: TextMode::Markdown, ..Config::default() };
    let mut readability = Readability::new(source, None, Some(config)).ok()?;
    let about = about::of(&readability.doc);
    let has_menu = has_menu(&readability.doc);
    clear(&readability.doc);
    let title = title(&readability);
    let whole = readability.doc.body().map(|body| with_short_rules(&body.md(None))).unwrap_or_default();
    let article = readability.parse().map(|article| with_short_rules(&article.text_content)).unwrap_or_default();
    Some(Page { title, about, article, whole, has_menu })
}

/// Returns whether a page leads to others by a menu; a table of contents leads to places of the page itself.
fn has_menu(page: &dom_query::Document) -> bool {
    let links = page.select(MENU_LINKS);
    links.iter().any(|link| link.attr("href").is_some_and(|target| !target.starts_with('#')))
}

/// Takes away what is no text of a page, and says in words what its shape says.
fn clear(page: &dom_query::Document) {
    keep_names(page);
    remove_link_marks(page);
    formula::show_pictured(page);
    shape::leave_out(&page.select(FURNITURE));
    hidden::remove(page);
    leave_out_forms(page);
    shape::spell_out(page);
}

/// Makes buttons text that are all that a heading or the like says.
fn keep_names(page: &dom_query::Document) {
    let buttons = page.select("button");
    if !buttons.exists() {
        return;
    }
    let lengths = bulk::lengths(page);
    for button in buttons.nodes() {
        let is_name = |node: &dom_query::NodeRef<'_>| NAMES.iter().any(|name| node.has_name(name));
        let name = button.ancestors_it(None).find(is_name).and_then(|name| lengths.get(&name.id));
        if name.is_some() && name == lengths.get(&button.id) {
            button.rename("span");
        }
    }
}

/// Takes away links that only lead to where they stand.
fn remove_link_marks(page: &dom_query::Document) {
    for link in page.select("a[href^='#']").nodes() {
        if LINK_MARKS.contains(&link.text().trim()) {
            link.remove_from_parent();
        }
    }
}

/// Takes away forms, but for one around most of the page's text: some servers put all of a page into one.
fn leave_out_forms(page: &dom_query::Document) {
    let forms = page.select("form");
    if !forms.exists() {
        return;
    }
    let most = bulk::with_most(page);
    for form in forms.iter() {
        match form.nodes().iter().any(|node| most.contains(&node.id)) {
            true => form.rename("div"),
            false => shape::leave_out(&form),
        }
    }
}

/// Shortens the rules of tables in Markdown: the converter makes each as wide as the cell above it, which doubles a
/// table of layout.
fn with_short_rules(markdown: &str) -> String {
    let mut short = String::with_capacity(markdown.len());
    let mut rows = 0;
    for line in markdown.split_inclusive('\n') {
        let marks = line.len() - line.trim_start_matches([' ', '>']).len();
        let row = &line[marks..];
        rows = if row.starts_with("| ") { rows + 1 } else { 0 };
        let is_whole = row.trim_end().ends_with(" |");
        if rows == 2 && is_whole && row.trim_end().bytes().all(|byte| matches!(byte, b'|' | b'-' | b' ')) {
            short.push_str(&line[..marks]);
            short.push_str(&"| --- ".repeat(row.matches('|').count().saturating_sub(1)));
            short.push_str("|\n");
        } else {
            short.push_str(line);
        }
    }
    short
}

fn title(readability: &Readability) -> Option<String> {
    let of = |selector: &str| text::one_line(&readability.doc.select_single(selector).text());
    let headings = readability.doc.select("h1");
    let heading = Some(text::one_line(&headings.text())).filter(|_| headings.length() == 1);
    heading.into_iter().chain([of("head title"), of("title")]).find(|title| !title.is_empty())
}

/// Converts HTML or a fragment of it to plain text without its tags; nothing is judged unimportant but scripts and
/// the like.
pub(super) fn plain(source: &str) -> Result<String, Unreadable> {
    let page = page(source).ok_or_else(too_deep)?;
    Ok(text::tidied(&markdown_marks::plain(page.fuller())))
}

fn too_deep() -> Unreadable {
    Unreadable::new("its HTML is nested too deeply")
}

/// Returns whether `text` begins like HTML; Markdown that merely shows some does not.
pub fn looks_like_html(text: &str) -> bool {
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

/// Returns the encoding named by `<meta charset>` or `http-equiv` in the first 2 kB.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let (_, after) = head.split_once("charset")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = value
        .find(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '_' | ':'))
        .unwrap_or(value.len());
    Encoding::for_label(&value.as_bytes()[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

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

    const STORY: &str = "<p>The tide gate of the harbour was built in 1840 and repaired several times by the \
        municipality, because the mechanism suffered from corrosion, as the board said.</p>";
    const FIGURES: &str = "<div class=figures><h2>Figures</h2><table><tr><th>Boat<th>Dues</tr><tr><td>Barge<td>4</tr>\
        <tr><td>Ferry<td>12</tr></table></div>";

    fn said(document: Document) -> String {
        document.sections.into_iter().map(|section| section.text + "\n").collect()
    }

    #[test]
    fn a_file_of_its_owner_is_read_whole() {
        let story = STORY.repeat(8);
        let page = |menu: &str, rest: &str| {
            format!(
                "<body>{menu}<h1>Dues</h1><div class=header>Quarter 3</div><div class=summary>{story}</div>{rest}\
                    <aside>Paid at the gate.</aside></body>"
            )
        };
        let contents = "<nav><a href='#figures'>Figures</a></nav>";
        let menu = "<nav><a href='news.html'>News</a></nav>";
        let check = |source: &str, has: &[&str], lacks: &[&str]| {
            let text = said(read(source).unwrap());
            assert!(has.iter().all(|part| text.contains(part)), "{text}");
            assert!(!lacks.iter().any(|part| text.contains(part)), "{text}");
        };
        check(&page("", FIGURES), &["Quarter 3", "| Ferry | 12 |", "Paid at the gate."], &[]);
        check(&page(contents, FIGURES), &["Quarter 3", "| Ferry | 12 |", "Paid at the gate."], &[]);
        check(&page(menu, FIGURES), &["| Ferry | 12 |"], &["News"]);
        check(&page(menu, ""), &["tide gate"], &["News", "Paid at the gate."]);
        check(&page("<div class=menu><a href='news.html'>News</a></div>", ""), &["tide gate"], &["News"]);
        assert!(!said(read_web_page(&page("", "")).unwrap()).contains("Paid at the gate."));
    }

    #[test]
    fn a_heading_alone_is_a_text_in_a_file_of_its_owner() {
        let page = "<h1>Minutes</h1><h2>Rejected: new roof</h2><h2>Dues</h2><p>Four crowns.</p>";
        assert!(said(read(page).unwrap()).contains("Rejected: new roof"));
        assert!(!said(read_web_page(page).unwrap()).contains("Rejected: new roof"));
    }

    #[test]
    fn marks_that_lead_to_a_heading_are_no_part_of_it() {
        let page = "<h1>Gates<a class=headerlink href='#gates'>¶</a></h1><p>Two.</p><h2>Dues<a href='#dues'>#</a></h2>\
            <p>Four crowns, see <a href='#gates'>Gates</a>.</p>";
        let document = read(page).unwrap();
        assert_eq!(document.title.as_deref(), Some("Gates"));
        assert_eq!(document.sections[1].label.as_deref(), Some("Dues"));
        assert_eq!(document.sections[1].text, "Four crowns, see Gates.");
    }

    #[test]
    fn a_form_around_the_page_is_the_page() {
        let check = |page: &str, expected: &str| {
            assert_eq!(plain(page).unwrap(), expected, "{page}");
            assert_eq!(text::tidied(&whole(page).unwrap()), expected, "{page}");
        };
        check(
            "<body><script>var aVeryLongScript = 'that nobody reads, and that is no text of the page';</script>\
                <form id=aspnetForm><p>The gate opens at noon.</p><input value=x><select><option>Norway</select></form>",
            "The gate opens at noon.",
        );
        check("<p>The gate opens at noon.</p><form><label>Your name</label></form>", "The gate opens at noon.");
    }

    #[test]
    fn buttons_that_are_names_are_text() {
        let check = |page: &str, expected: &str| assert_eq!(plain(page).unwrap(), expected, "{page}");
        check(
            "<table><tr><th><button>City <svg></svg></button> ▲<th><div><button>Dues</button></div></tr>\
                <tr><td>Ambleton<td>4</tr></table>",
            "| City ▲ | Dues |\n| --- | --- |\n| Ambleton | 4 |",
        );
        check(
            "<h3><button>What does it cost?</button></h3><p>Four crowns.</p>",
            "### What does it cost?\n\nFour crowns.",
        );
        check("<dl><dt><button>Dues</button><dd>4</dl>", "- Dues: 4");
        check("<h2>Dues<button>Copy link</button></h2><p>Four.<button>Buy</button></p>", "## Dues\n\nFour.");
    }

    #[test]
    fn a_page_is_cleared_in_time_that_grows_with_its_length() {
        let shapes = [
            "<form>a</form>",
            "<h3><button>a</button></h3>",
            "<button>a",
            "<p style='opacity:0'>a</p>",
            "<table><caption>a</caption><tr><td>b</td></tr><tr></tr><tr><td>c</td><td>d</td></tr></table>",
            "<table><tr><td>a<td>b</tr>",
        ];
        for shape in shapes {
            growth::check(shape, 8_000, |text| clear(&dom_query::Document::from(text)));
        }
    }

    #[test]
    fn html_differs_from_markdown() {
        let check = |text: &str, expected: bool| assert_eq!(looks_like_html(text), expected, "{text}");
        check("  <!DOCTYPE html><p>x", true);
        check("<div class=a>x</div>", true);
        check("# Title\n<div>x</div>", false);
        check("<3 is a heart > x", false);
        check("<https://example.com>", false);
        check("", false);
    }

    #[test]
    fn the_rule_of_a_table_is_as_short_as_can_be() {
        let words = "The gate is paid by dues. ".repeat(60);
        let page = format!("<table><tr><td>{words}</td><td>4</td></tr><tr><td>-</td><td>-</td></tr></table>");
        assert_eq!(plain(&page).unwrap(), format!("| {words}| 4 |\n| --- | --- |\n| - | - |"));
        assert!(whole(&page).unwrap().contains("| 4 |\n| --- | --- |\n| "));
        let code = "<pre>| a\n| -----\n| b</pre>";
        assert!(plain(code).unwrap().contains("| -----"), "not of a table");
    }

    #[test]
    fn code_keeps_its_signs() {
        assert!(plain("<pre>mask = 2**32 - 1</pre>").unwrap().contains("mask = 2**32 - 1"));
        assert!(plain("<blockquote><pre>f[a](b)</pre></blockquote>").unwrap().contains("f[a](b)"));
        assert!(plain("<ul><li>It is <pre>2**32</pre></li></ul>").unwrap().contains("2**32"));
        assert!(plain("<p>See <code>__init__</code> and <b>10</b></p>").unwrap().contains("See `__init__` and 10"));
    }

    #[test]
    fn an_article_without_spaces_is_found_beside_headlines() {
        let article: String =
            (1..=8).map(|at| format!("<p>{}第{at}段。</p>", "潮汐闸门每天中午开放,".repeat(12))).collect();
        let links: String = (1..=30).map(|at| format!("<li><a href='/n/{at}'>头条新闻{at}</a></li>")).collect();
        let read = plain(&format!("<html><body><article>{article}</article><ul>{links}</ul></body></html>")).unwrap();
        assert!(read.contains("第8段"), "{read}");
        assert!(!read.contains("头条新闻"), "{read}");
    }

    #[test]
    fn what_closes_itself_holds_nothing() {
        let paths = format!("<p>x<svg><g>{}</g></svg>y", "<path d='M0 > 1'/>".repeat(2_000));
        assert!(page(&paths).is_some());
        assert!(page(&"<a name=x>y".repeat(2_000)).is_some());
    }

    #[test]
    fn hostile_nesting_is_refused_in_time() {
        assert_eq!(page(&"<div>".repeat(200_000)), None);
        assert_eq!(plain(&"<b>".repeat(200_000)), Err(too_deep()));
        assert_eq!(page(&"<div></x>".repeat(200_000)), None, "what closes nothing does not count");
        assert_eq!(page(&"<i><b></i>".repeat(200_000)), None, "nor what leaves another one open");
        for shape in ["<path/>", "<p-x>", "<svg><g>", "<svg><path d=x/>", "<svg><title><div>", "<div title='<svg>'>"] {
            assert_eq!(page(&shape.repeat(200_000)), None, "{shape}");
        }
        let starts = ["<svg><p>", "<!-- <svg> -->", "<p title='<svg>'>", "<!-- <script> -->", "<p><svg></p>"];
        let declared = ["<?x <!-- >", "<!x <script>", "</ <!-- >", "<svg><![CDATA[<!--]]></svg>"];
        for start in starts.into_iter().chain(declared) {
            assert_eq!(page(&format!("{start}{}</script>", "<x/>".repeat(200_000))), None, "{start}");
        }
        assert!(page(&"<p>x<li>y".repeat(20_000)).is_some());
        assert!(page(&"<div><i>x</i></div>".repeat(2_000)).is_some());
        assert!(page(&format!("<script>{}</script>x", "'<div>' ".repeat(1_000))).is_some(), "a script has no elements");
    }

    #[test]
    fn the_declared_encoding_is_believed_unless_the_bytes_are_utf_8() {
        let check = |bytes: &[u8], expected: &str| assert!(decode(bytes).unwrap().contains(expected), "{expected}");
        check(b"<meta http-equiv=Content-Type content='text/html; charset=windows-1252'>5 \x80", "5 €");
        check(b"<meta charset=\"koi8-r\">\xf0\xd2\xc9", "При");
        check("<meta charset=latin1>Größe".as_bytes(), "Größe");
        check(&encoding_rs::ISO_2022_JP.encode("<meta charset=iso-2022-jp>潮汐").0, "潮汐");
        check("<meta charset=iso-2022-jp>潮汐".as_bytes(), "潮汐");
    }
}
