//! A report as a page of its own: rendered once, off the runtime's threads, and kept for a while.
//!
//! Nothing runs in it, nothing is loaded by it, and it links to nothing but the sources that the run retrieved. What it
//! costs grows with the length of the report alone: what is nested too deep is shown flat.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, LazyLock},
};

use axum::{body::Bytes, http::HeaderValue};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};
use tokio::sync::{OnceCell, Semaphore};
use uuid::Uuid;

use super::error::ApiError;
use crate::domain::{
    RunId, Source,
    claim::{Claim, Verdict},
    digest::sha256,
    printable_line,
    report::{Citation, Report},
    wording,
};

/// Pages kept; their bytes are bounded too.
const KEPT_PAGES: usize = 64;
const KEPT_BYTES: usize = 32 << 20;
/// What is nested deeper is shown at this depth.
const DEPTH: usize = 32;
/// Stand around the number of a citation between Markdown and HTML. Aegean word separators, since only in front of
/// punctuation, as brackets are, emphasis ends behind a sign (`**12%**[1]`) and before no space (`_Nature_[1]`). Behind
/// the first one stands the secret of the rendering, since a text may come by these characters through entities.
const MARKS: [char; 2] = ['\u{10100}', '\u{10101}'];

/// What is read beyond CommonMark.
const MARKUP: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// How the columns of a table may be aligned.
const ALIGNMENTS: [&str; 3] = ["left", "center", "right"];

/// What is kept of a page: filled by the first who asks, while the others wait.
type Cell = Arc<OnceCell<Bytes>>;

/// The pages rendered last.
#[derive(Debug)]
pub struct Pages {
    kept: Mutex<VecDeque<(RunId, Cell)>>,
    /// One page is rendered at a time, so that a processor is left for everything else.
    rendering: Arc<Semaphore>,
}

impl Default for Pages {
    fn default() -> Self {
        Self { kept: Mutex::default(), rendering: Arc::new(Semaphore::new(1)) }
    }
}

impl Pages {
    /// Returns the page of a run's report; `load` is asked for what it is made of unless the page is there already.
    pub async fn get<L>(&self, run_id: RunId, load: L) -> Result<Bytes, ApiError>
    where
        L: AsyncFnOnce() -> Result<(Report, Vec<Source>), ApiError>,
    {
        let cell = self.cell(run_id);
        let page = cell
            .get_or_try_init(|| async {
                let (report, sources) = load().await?;
                self.alone(move || Bytes::from(render(&report, &sources))).await
            })
            .await
            .cloned();
        self.trim();
        page
    }

    /// Returns a page of the complete paragraphs of a report that is being written.
    ///
    /// `urls` are the addresses of what is cited.
    pub async fn part(&self, text: String, citations: Vec<Citation>, urls: HashSet<String>) -> Result<Bytes, ApiError> {
        let render = move || {
            let urls = urls.iter().map(String::as_str).collect();
            let (article, _) = article(&text, &citations, &HashMap::new(), &urls);
            Bytes::from(framed("", &attributes(wording::any_language_code(&text), &text), &article))
        };
        self.alone(render).await
    }

    /// Renders off the runtime's threads, one page at a time. The permit moves into the work: a client that goes away
    /// does not end what has begun.
    async fn alone(&self, work: impl FnOnce() -> Bytes + Send + 'static) -> Result<Bytes, ApiError> {
        // Never closed, so this is never an error; without a permit the rendering would merely go uncounted.
        let permit = Arc::clone(&self.rendering).acquire_owned().await.ok();
        let rendered = tokio::task::spawn_blocking(move || {
            let page = work();
            drop(permit);
            page
        });
        rendered.await.map_err(|error| ApiError::defect(&error))
    }

    /// Returns the place of a page; it becomes the one used last.
    fn cell(&self, run_id: RunId) -> Cell {
        let mut kept = self.kept.lock();
        let place = kept.iter().position(|(known, _)| *known == run_id);
        let cell = place.and_then(|place| kept.remove(place)).map_or_else(Arc::default, |(_, cell)| cell);
        kept.push_back((run_id, Arc::clone(&cell)));
        cell
    }

    /// Forgets what was used the longest ago, as far as there is too much.
    fn trim(&self) {
        let mut kept = self.kept.lock();
        let size = |(_, cell): &(RunId, Cell)| cell.get().map_or(0, Bytes::len);
        let mut bytes: usize = kept.iter().map(size).sum();
        while kept.len() > KEPT_PAGES || bytes > KEPT_BYTES {
            let Some(oldest) = kept.pop_front() else { return };
            bytes -= size(&oldest);
        }
    }
}

/// Returns the whole page.
pub fn render(report: &Report, sources: &[Source]) -> String {
    let (text, list) = report.parts();
    let urls: HashSet<&str> = sources.iter().map(|source| source.url.as_str()).collect();
    let doubts = doubts(report);
    let (article, title) = article(text, &report.citations, &doubts, &urls);
    let title = if title.trim().is_empty() { "Report" } else { title.trim() };
    let attributes = attributes(language(report), text);
    let list = if list.is_empty() { String::new() } else { source_list(report, sources) };
    framed(title, &attributes, &format!("{article}{list}"))
}

/// Returns the ISO 639-1 code of a report's language: that of the words which code put into it, whatever it quotes.
/// English ones also stand in reports in languages for which there are no words.
fn language(report: &Report) -> Option<&'static str> {
    let (text, list) = report.parts();
    let code = report.wording().code;
    let found = || wording::any_language_code(text);
    match () {
        () if list.is_empty() => found(),
        () if code == "en" => {
            Some(found().filter(|found| wording::Wording::of_code(found).code == code).unwrap_or(code))
        }
        () => Some(code),
    }
}

/// Writes the attributes of a page in this language.
pub fn attributes(language: Option<&str>, text: &str) -> String {
    let language = language.map(|code| format!(" lang=\"{code}\"")).unwrap_or_default();
    let direction = if wording::is_right_to_left(text) { " dir=\"rtl\"" } else { "" };
    format!("{language}{direction}")
}

/// Returns a whole page around what it shows; `attributes` are those of the page.
pub fn framed(title: &str, attributes: &str, main: &str) -> String {
    format!(
        "<!doctype html><html{attributes}><head>{META}<title>{}</title><style>{STYLE}</style></head>\
         <body><main>{main}</main></body></html>\n",
        escaped(title)
    )
}

/// Returns the content security policy of the page, which holds text that models and web pages had a hand in: no
/// script runs in it, nothing is loaded, and no style but ours counts.
pub fn policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
        let style = BASE64.encode(sha256(STYLE.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
    });
    POLICY.clone()
}

/// Returns the language of a rendered page.
pub fn language_of(page: &Bytes) -> Option<&str> {
    let (tag, _) = str::from_utf8(page).ok()?.split_once("<head")?;
    Some(tag.split_once("lang=\"")?.1.split_once('"')?.0)
}

/// Returns what stands in `main` of a rendered page.
pub fn main_of(page: &Bytes) -> Bytes {
    let text = str::from_utf8(page).unwrap_or_default();
    let main = text.split_once("<main").and_then(|(_, rest)| rest.split_once('>')).map_or("", |(_, main)| main);
    page.slice_ref(main.rsplit_once("</main>").map_or(main, |(main, _)| main).as_bytes())
}

/// Returns what stands behind the last citation of a statement that its sources do not hold, by where that citation
/// begins.
fn doubts(report: &Report) -> HashMap<usize, &'static str> {
    let words = report.wording().limits;
    let doubt = |claim: &Claim| {
        let words = match claim.verdict {
            Verdict::NotSupported => words.mark_unsupported,
            Verdict::Partly => words.mark_partly,
            Verdict::Supported | Verdict::NotCheckable => return None,
        };
        Some((report.citations_of(claim).last()?.start, words))
    };
    report.claims.iter().filter_map(doubt).collect()
}

/// Returns a text with its citations as links, and the words of its first heading.
fn article(
    text: &str,
    citations: &[Citation],
    doubts: &HashMap<usize, &str>,
    urls: &HashSet<&str>,
) -> (String, String) {
    let secret = Uuid::new_v4().simple().to_string();
    let marked = marked(text, citations, doubts, &secret);
    let (body, title) = body(&with_surplus(&flattened(&marked)), urls, &secret);
    // What scrolls can be reached by the keyboard.
    let body = body
        .replace("<table>", "<div class=\"wide\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>")
        .replace("<pre>", "<pre tabindex=\"0\">");
    (linked(&body, &secret), title)
}

/// Returns the text with marks in place of the brackets of citations.
fn marked(text: &str, citations: &[Citation], doubts: &HashMap<usize, &str>, secret: &str) -> String {
    let starts: HashMap<usize, &Citation> = citations.iter().map(|citation| (citation.start, citation)).collect();
    let (mut out, mut skip) = (String::with_capacity(text.len()), 0);
    for (at, character) in text.chars().enumerate() {
        if at < skip || MARKS.contains(&character) {
            continue;
        }
        match starts.get(&at).filter(|citation| citation.end > at && character == '[') {
            Some(citation) => {
                let doubt = doubts.get(&at).map(|words| format!(" {words}")).unwrap_or_default();
                out.push_str(&format!("{}{secret}{}:{at}{doubt}{}", MARKS[0], citation.number, MARKS[1]));
                skip = citation.end;
            }
            None => out.push(character),
        }
    }
    out
}

/// Links each citation to its source, and says where the citation begins, which tells it from others; the
/// first one of a source is where its entry leads back to.
fn linked(body: &str, secret: &str) -> String {
    let mut seen = HashSet::new();
    let mut pieces = body.split(MARKS[0]);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = split_mark(piece, secret).unwrap_or(("", piece));
        let (number, doubt) = number.split_once(' ').unwrap_or((number, ""));
        if let Some((number, start)) = cited(number) {
            let id = if seen.insert(number) { format!(" id=\"cited-{number}\"") } else { String::new() };
            out.push_str(&format!(
                "<a class=\"cite\"{id} href=\"#source-{number}\" data-start=\"{start}\">[{number}]</a>"
            ));
            if !doubt.is_empty() {
                out.push_str(&format!(" <small class=\"doubt\">({doubt})</small>"));
            }
        }
        out.push_str(rest);
    }
    out
}

/// Returns the number of a citation and where it begins.
fn cited(mark: &str) -> Option<(u32, usize)> {
    let (number, start) = mark.split_once(':')?;
    Some((number.parse().ok()?, start.parse().ok()?))
}

/// Returns what stands in a mark, and what follows it; `piece` follows the character that begins one. `None`: it is the
/// text's.
fn split_mark<'a>(piece: &'a str, secret: &str) -> Option<(&'a str, &'a str)> {
    piece.strip_prefix(secret)?.split_once(MARKS[1])
}

/// Returns the cited sources, each with a link to itself and back to where it is cited first; all, if none is cited.
fn source_list(report: &Report, sources: &[Source]) -> String {
    let wording = report.wording();
    let cited = report.cited(sources);
    let entries: String = match report.is_degraded() {
        true => (1..).zip(sources).map(|(number, source)| entry(number, source, false)).collect(),
        false => cited.into_iter().map(|(number, source)| entry(number, source, true)).collect(),
    };
    let uncited = if report.is_degraded() { format!("<p>{}</p>\n", wording.uncited) } else { String::new() };
    format!("<h2>{}</h2>\n{uncited}<ul class=\"sources\">\n{entries}</ul>\n", wording.sources)
}

fn entry(number: u32, source: &Source, is_cited: bool) -> String {
    let title = match &source.section {
        Some(section) if *section != source.title => format!("{}, {section}", source.title),
        _ => source.title.clone(),
    };
    let (title, address) = (escaped(&title), escaped(&source.url));
    let is_web = source.url.starts_with("https://") || source.url.starts_with("http://");
    let place = match is_web {
        true => format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">{address}</a>"),
        false => document(&source.url),
    };
    let mark = match is_cited {
        true => format!("<a class=\"cite\" href=\"#cited-{number}\">[{number}]</a>"),
        false => format!("[{number}]"),
    };
    format!("<li id=\"source-{number}\">{mark} <bdi>{title}</bdi><br><bdi>{place}</bdi></li>\n")
}

/// Names a document by its file and place, as a page shows them. There is no link: the page may be saved or sent to
/// somebody else, and it knows no address of the service that would count there.
fn document(address: &str) -> String {
    escaped(&printable_line(&percent_decode_str(address).decode_utf8_lossy()))
}

/// Escapes text, as it stands in a page.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character if MARKS.contains(&character) => {}
            character => out.push(character),
        }
    }
    out
}

/// Returns the text as HTML, and the words of its first heading. Markup in it is shown as text, and what is left is
/// cleaned all the same.
fn body(markdown: &str, urls: &HashSet<&str>, secret: &str) -> (String, String) {
    let parser = Parser::new_ext(markdown, MARKUP);
    let mut flat = Flat { urls, secret, open: Vec::new(), title: Title::Before };
    let events: Vec<_> = parser.filter_map(|event| flat.take(event)).collect();
    let mut body = String::with_capacity(markdown.len() * 3 / 2);
    html::push_html(&mut body, events.into_iter());
    let mut cleaner = ammonia::Builder::default();
    cleaner.rm_tags(["img"]);
    for side in ALIGNMENTS {
        for cell in ["td", "th"] {
            // A `<` of the text is an entity here, so this is the writer's own.
            let (styled, classed) =
                (format!("<{cell} style=\"text-align: {side}\">"), format!("<{cell} class=\"{side}\">"));
            body = body.replace(&styled, &classed);
            cleaner.add_allowed_classes(cell, [side]);
        }
    }
    let body = cleaner.clean(&body).to_string();
    let title = match flat.title {
        Title::Before => String::new(),
        Title::Inside(title) | Title::Known(title) => title,
    };
    (body, title)
}

/// Lets events through as far as their nesting is bearable and their links are known.
struct Flat<'a> {
    urls: &'a HashSet<&'a str>,
    secret: &'a str,
    /// Whether each open tag is shown.
    open: Vec<bool>,
    title: Title,
}

enum Title {
    Before,
    Inside(String),
    Known(String),
}

impl Flat<'_> {
    fn take<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        self.read_title(&event);
        match event {
            Event::Start(tag) => {
                let shown = self.open.len() < DEPTH && self.is_allowed(&tag);
                self.open.push(shown);
                shown.then_some(Event::Start(tag))
            }
            Event::End(tag) => match self.open.pop() {
                Some(false) => ends_block(tag).then_some(Event::SoftBreak),
                _ => Some(Event::End(tag)),
            },
            Event::InlineHtml(text) if is_harmless(&text) => Some(Event::InlineHtml(text)),
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::TaskListMarker(is_done) => Some(Event::Text(if is_done { "☑ " } else { "☐ " }.into())),
            event => Some(event),
        }
    }

    fn is_allowed(&self, tag: &Tag<'_>) -> bool {
        match tag {
            Tag::Image { .. } => false,
            Tag::Link { dest_url, .. } => {
                let is_web = dest_url.starts_with("https://") || dest_url.starts_with("http://");
                is_web && self.urls.contains(dest_url.as_ref())
            }
            _ => true,
        }
    }

    fn read_title(&mut self, event: &Event<'_>) {
        match (event, &mut self.title) {
            (Event::Start(Tag::Heading { .. }), title @ Title::Before) => *title = Title::Inside(String::new()),
            (Event::Text(text) | Event::Code(text), Title::Inside(title)) if title.len() < 200 => title.push_str(text),
            (Event::End(TagEnd::Heading(_)), Title::Inside(title)) => {
                self.title = Title::Known(without_marks(title, self.secret));
            }
            _ => {}
        }
    }
}

/// Returns a heading without its citations.
fn without_marks(title: &str, secret: &str) -> String {
    let mut pieces = title.split(MARKS[0]);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |title, piece| title + split_mark(piece, secret).map_or(piece, |(_, rest)| rest))
}

fn ends_block(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::TableRow)
}

/// Returns whether it is a tag that only marks text, without attributes.
fn is_harmless(html: &str) -> bool {
    let name = html.trim_matches(['<', '>', '/', ' ']).to_ascii_lowercase();
    matches!(name.as_str(), "br" | "sub" | "sup" | "b" | "i" | "em" | "strong" | "s" | "del" | "ins" | "small" | "wbr")
}

/// Keeps the cells that a row has beyond those of its table's head, which renderers drop: they stand in the last
/// column.
fn with_surplus(markdown: &str) -> Cow<'_, str> {
    let (mut columns, mut kept, mut out) = (0, 0, String::new());
    for (event, place) in Parser::new_ext(markdown, MARKUP).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(alignments)) => columns = alignments.len(),
            Event::Start(Tag::TableRow) => {
                for pipe in surplus_pipes(&markdown[place.clone()], columns) {
                    out.push_str(&markdown[kept..place.start + pipe]);
                    out.push('\\');
                    kept = place.start + pipe;
                }
            }
            _ => {}
        }
    }
    if kept == 0 {
        return Cow::Borrowed(markdown);
    }
    out.push_str(&markdown[kept..]);
    Cow::Owned(out)
}

/// Returns the places of the pipes of a row that begin cells beyond its columns.
fn surplus_pipes(row: &str, columns: usize) -> Vec<usize> {
    let (begin, end) = (row.len() - row.trim_start().len(), row.trim_end().len());
    let bytes = row.as_bytes();
    let is_pipe = |at: &usize| bytes[*at] == b'|' && (*at == 0 || bytes[at - 1] != b'\\');
    // One at the end of a row ends its last cell, and one at its begin begins the first.
    (begin + 1..end.saturating_sub(1)).filter(is_pipe).skip(columns.saturating_sub(1)).collect()
}

/// Turns markers of quotations and lists beyond the depth into text: parsers need time that grows with the square of
/// their number on one line.
fn flattened(markdown: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        if let Some(cut) = too_deep(line) {
            out.push_str(&markdown[kept..at + cut]);
            out.push('\\');
            kept = at + cut;
        }
        at += line.len();
    }
    if kept == 0 && out.is_empty() {
        return Cow::Borrowed(markdown);
    }
    out.push_str(&markdown[kept..]);
    Cow::Owned(out)
}

/// Returns the bytes before the first marker of a line that is one too many.
fn too_deep(line: &str) -> Option<usize> {
    let mut markers = 0;
    let mut previous = b' ';
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'>' => markers += 1,
            b'-' | b'+' | b'*' if previous != byte => markers += 1,
            b'.' | b')' if previous.is_ascii_digit() => markers += 1,
            b'-' | b'+' | b'*' | b' ' | b'\t' | b'0'..=b'9' => {}
            _ => return None,
        }
        if markers > DEPTH {
            return Some(at);
        }
        previous = byte;
    }
    None
}

const META: &str = "<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
<meta name=\"color-scheme\" content=\"light dark\">";

pub const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--mark:#ffec9e}\
body{font:1.0625rem/1.65 system-ui,sans-serif;margin:0}\
main{max-width:44rem;margin:2.5rem auto;padding:0 1.25rem;overflow-wrap:break-word}\
h1,h2,h3,h4{line-height:1.25;margin:2em 0 .6em;text-wrap:balance}h1{font-size:1.9rem;margin-top:0}h2{font-size:1.4rem}\
h3{font-size:1.15rem}a{color:#0b57d0}.cite{text-decoration:none;font-size:.85em;white-space:nowrap}\
.cite:hover{text-decoration:underline}:target{background:var(--mark)}\
.wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse}\
td,th{border:1px solid var(--line);padding:.35rem .7rem;vertical-align:top;text-align:start}\
.left{text-align:left}.center{text-align:center}.right{text-align:right}th{background:var(--soft)}\
pre,code{direction:ltr;unicode-bidi:isolate}\
pre{text-align:left;overflow-x:auto;padding:.8rem 1rem;background:var(--soft);border-radius:.4rem}\
code{font:.9em/1.5 ui-monospace,monospace}:not(pre)>code{background:var(--soft);padding:.1em .3em;border-radius:.25rem}\
blockquote{margin:1rem 0;padding:.1rem 1rem;border-inline-start:.25rem solid var(--line)}\
hr{border:0;border-top:1px solid var(--line)}\
.doubt{border-bottom:1px dotted currentColor}\
.sources{list-style:none;padding:0;font-size:.95rem}.sources li{margin:.6rem 0}\
@media(prefers-color-scheme:dark){:root{--mark:#4a4215}body{background:#16181c;color:#e6e6e6}a{color:#8ab4f8}}\
@media print{main{max-width:none;margin:0}a{color:inherit}pre{white-space:pre-wrap}.wide{overflow:visible}td,th{overflow-wrap:anywhere}\
h1,h2,h3{break-after:avoid}li,tr,blockquote{break-inside:avoid}:target{background:none}}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{SourceId, growth};

    fn page(markdown: &str, cited: &[(u32, usize)]) -> String {
        let source = Source::example(1001, "https://a.test/x?b=1&c=2", "A: <b>");
        let citation = |(number, start): &(u32, usize)| Citation::new(*number, SourceId(1001), *start, *start + 3);
        let citations = cited.iter().map(citation).collect();
        render(&Report { markdown: markdown.to_owned(), citations, ..Report::default() }, &[source])
    }

    fn main_of(page: &str) -> &str {
        page.split_once("<main>").unwrap().1
    }

    #[tokio::test]
    async fn what_is_rendered_keeps_its_permit_when_its_client_has_gone() {
        let pages = Arc::new(Pages::default());
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let work = move || {
            begin.send(()).unwrap();
            _ = gate.recv();
            Bytes::new()
        };
        let mut clients = tokio::task::JoinSet::new();
        let its_pages = Arc::clone(&pages);
        clients.spawn(async move { its_pages.alone(work).await });
        begun.await.unwrap();
        clients.shutdown().await;
        assert_eq!(pages.rendering.available_permits(), 0, "the work goes on");
        drop(go);
        assert_eq!(pages.alone(|| Bytes::from_static(b"second")).await.unwrap(), "second");
    }

    /// What a panic says may hold anything of the report.
    #[tokio::test]
    async fn a_rendering_that_panics_says_nothing_of_it() {
        let error = Pages::default().alone(|| panic!("hunter2")).await.unwrap_err();
        let said = format!("{error:?}");
        assert!(said.contains("Internal") && !said.contains("hunter2"), "{said}");
    }

    /// Entities become characters after the marks were set.
    #[test]
    fn a_text_sets_no_marks_of_its_own() {
        for (begin, end) in [
            ("&#x10100;", "&#x10101;"),
            ("&#65792;", "&#65793;"),
            ("\u{10100}", "\u{10101}"),
            ("&#X10100;", "\u{10101}"),
        ] {
            let forged = ["1", "2 any words", "not"].map(|inside| format!("{begin}{inside}{end}")).join(" and ");
            let text = format!("# Dues {begin}1{end} [1]\n\nPaid {forged}, `{begin}1{end}` [1].\n");
            let starts: Vec<_> = text.chars().enumerate().filter(|(_, c)| *c == '[').map(|(at, _)| (1, at)).collect();
            let page = page(&text, &starts);
            let (article, _) = main_of(&page).split_once("<h2>").unwrap_or((main_of(&page), ""));
            assert_eq!(article.matches("<a ").count(), 2, "only the real ones: {article}");
            assert!(!article.contains("doubt") && article.contains("any words"), "{article}");
            assert!(page.contains("<title>Dues 1"), "its words stay: {page}");
        }
    }

    #[test]
    fn a_page_runs_nothing_and_loads_nothing() {
        let page = page(
            "# A <script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://a.test/p.png) [e](//evil.test) \
             [f](https://evil.test)\n\n<img src=x onerror=y> H<sub>2</sub>O\n\n[c]\n\n[c]: https://evil.test\n",
            &[],
        );
        let body = main_of(&page);
        assert!(!body.contains("<script") && !body.contains("javascript:") && !body.contains("<img"), "{body}");
        assert!(!body.contains("href=\"") && !body.contains("src=\""), "{body}");
        assert!(body.contains("&lt;script&gt;") && body.contains("H<sub>2</sub>O"), "{body}");
        assert!(page.contains("<title>A alert(1)</title>"), "{page}");
    }

    #[test]
    fn citations_lead_to_their_sources_and_back() {
        let text = "# Dues [1]\n\nPaid [1] by a[1].\n\n| a |\n|---|\n| [x](https://a.test/x?b=1&c=2) |\n\n\
                    ### Sources\n\n- [1] A: <b>: https://a.test/x?b=1&c=2\n";
        let page = page(text, &[(1, 7), (1, 17)]);
        let body = main_of(&page);
        assert!(page.contains("<title>Dues</title>"), "{page}");
        assert!(
            body.contains("<a class=\"cite\" id=\"cited-1\" href=\"#source-1\" data-start=\"7\">[1]</a>"),
            "{body}"
        );
        let second = "Paid <a class=\"cite\" href=\"#source-1\" data-start=\"17\">[1]</a> by a[1].";
        assert!(body.contains(second), "{body}");
        assert!(
            body.contains(
                "<li id=\"source-1\"><a class=\"cite\" href=\"#cited-1\">[1]</a> <bdi>A: &lt;b&gt;</bdi><br>"
            ),
            "{body}"
        );
        assert!(body.contains("<a href=\"https://a.test/x?b=1&amp;c=2\" rel="), "{body}");
        assert!(body.contains("<div class=\"wide\" tabindex=\"0\"><table>"), "{body}");
    }

    #[tokio::test]
    async fn emphasis_ends_right_before_a_citation() {
        let text = "It rose **12%**[1]. As _Nature_[1] says. **增长12%。**[1]而";
        let starts: Vec<_> = text.chars().enumerate().filter(|(_, c)| *c == '[').map(|(at, _)| (1, at)).collect();
        let whole = page(text, &starts);
        let citations = starts.iter().map(|(number, at)| Citation::new(*number, SourceId(1001), *at, at + 3)).collect();
        let part = Pages::default().part(text.to_owned(), citations, HashSet::new()).await.unwrap();
        for shown in [whole.as_str(), str::from_utf8(&part).unwrap()] {
            for emphasis in ["<strong>12%</strong><a ", "<em>Nature</em><a ", "<strong>增长12%。</strong><a "] {
                assert!(shown.contains(emphasis), "{emphasis} in {shown}");
            }
        }
    }

    #[test]
    fn cells_beyond_the_columns_stand_in_the_last_one() {
        let text = "| a | b |\n|---|---|\n| 1 | 2 | three [1] |\n> no row\n\n> | c |\n> |---|\n\
                    > 4 | `x | y` \\| z |  \n> 5 \n\n\
                    - | d | e |\n  |:-:|--|\n  | 6 | 7 |\n  | | 8 || 9\n\nPaid [1].\n";
        let starts: Vec<_> = text.chars().enumerate().filter(|(_, c)| *c == '[').map(|(at, _)| (1, at)).collect();
        let page = page(text, &starts);
        let body = main_of(&page);
        let first = format!(
            "<td>1</td><td>2 | three <a class=\"cite\" id=\"cited-1\" href=\"#source-1\" data-start=\"{}\">",
            starts[0].1
        );
        assert!(body.contains(&first) && body.contains(&format!("data-start=\"{}\"", starts[1].1)), "{body}");
        assert!(body.contains("<td>4 | <code>x | y</code> | z</td>"), "{body}");
        assert!(
            body.contains("<td>5</td>") && body.contains("<td>7</td>") && body.contains("<td>8 || 9</td>"),
            "{body}"
        );
    }

    #[test]
    fn documents_are_named_by_their_file_and_place() {
        let named = |address: &str| {
            let source = Source::example(1001, address, "Minutes");
            let markdown = "# Dues\n\nPaid [1].\n\n### Sources\n\n- [1] Minutes\n".to_owned();
            let citations = vec![Citation::new(1, SourceId(1001), 13, 16)];
            let page = render(&Report { markdown, citations, ..Report::default() }, &[source]);
            let (_, list) = page.split_once("<br><bdi>").unwrap();
            list.split_once("</bdi>").unwrap().0.to_owned()
        };
        assert_eq!(named("minutes/Mai%202031.pdf#page=3"), "minutes/Mai 2031.pdf#page=3");
        assert_eq!(named("a%3Cb%3E.md#gr%C3%B6%C3%9Fe"), "a&lt;b&gt;.md#größe");
        assert!(!named("a%0A%E2%80%AEb.md").contains(['\n', '\u{202e}']), "no text steers the page");
        assert!(named("https://a.test/x%20y").starts_with("<a href=\"https://a.test/x%20y\""));
    }

    #[test]
    fn columns_keep_their_alignment_and_tasks_their_marks() {
        let text =
            "| a | b | c |\n|:--|:-:|--:|\n| x | y | ` style=\"text-align: left\"` |\n\n- [x] done\n- [ ] open\n";
        let page = page(text, &[]);
        let body = main_of(&page);
        for cell in
            ["<td class=\"left\">x", "<th class=\"center\">b", "<td class=\"right\"><code> style=\"text-align: left\"<"]
        {
            assert!(body.contains(cell), "{cell} in {body}");
        }
        assert!(body.contains("<li>☑ done") && body.contains("<li>☐ open"), "{body}");
    }

    #[test]
    fn language_and_direction_are_the_texts_own() {
        let german = "# Wer zahlt die Schleuse?\n\nDie Schleuse wird aus Hafengebühren bezahlt, die der Rat jedes Jahr \
                      neu festsetzt [1]. Niemand sonst zahlt dafür.\n\n### Quellen\n\n- [1] A: https://a.test\n";
        let at = german.chars().position(|c| c == '[').unwrap();
        let german = page(german, &[(1, at)]);
        assert!(german.starts_with("<!doctype html><html lang=\"de\"><head>"), "{german}");
        assert!(german.contains("<h2>Quellen</h2>\n<ul"), "{german}");
        let arabic = "تُدفع تكاليف البوابة من رسوم الميناء التي يحددها المجلس كل عام. ".repeat(3);
        assert!(page(&arabic, &[]).contains("<html lang=\"ar\" dir=\"rtl\">"));
        let chinese = "# 谁付钱\n\n## 概要\n\nThe gate is paid by harbour dues, which the council of the town sets every year \
                       for all who moor there [1].\n\n### 来源\n\n- [1] A: https://a.test\n";
        assert!(page(chinese, &[]).contains("<html lang=\"zh\">"), "whatever it quotes");
        let quoting = "Die Schleuse wird aus Hafengebühren bezahlt, die der Rat jedes Jahr neu festsetzt [1]. Niemand \
                       sonst zahlt dafür.\n\n### Sources\n\n- [1] A: https://a.test\n";
        assert!(page(quoting, &[]).contains("<html lang=\"en\">"), "in the language of its list");
        let polish = "Śluza jest opłacana z opłat portowych, które rada miasta ustala co roku na nowo dla wszystkich \
                      łodzi.\n\n### Sources\n\n- [1] A: https://a.test\n";
        assert!(page(polish, &[]).contains("<html lang=\"pl\">"));
        let uncited = page(
            "Paid by dues.\n\n### Sources\n\nThe text above does not say which source stands behind \
            which statement. It was written from:\n\n- [1] A: https://a.test\n",
            &[],
        );
        assert!(uncited.contains("It was written from:</p>") && uncited.contains("<li id=\"source-1\">[1] <bdi>A: "));
    }

    #[test]
    fn the_policy_lets_only_our_style_count() {
        let policy = policy();
        let policy = policy.to_str().unwrap();
        assert!(policy.contains("style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
        assert!(page("a", &[]).contains(&format!("<style>{STYLE}</style>")));
    }

    #[test]
    fn depth_is_shown_flat_and_its_text_stays() {
        for shape in ["> ", "- ", "1. ", "* > "] {
            let page = page(&format!("{}deep\n", shape.repeat(20_000)), &[]);
            assert!(page.contains("deep") && page.matches("<blockquote>").count() <= DEPTH, "{shape}");
        }
        let nested: String = (0..200).map(|depth| format!("{}- item\n", "  ".repeat(depth))).collect();
        let page = page(&nested, &[]);
        assert!(page.matches("<ul>").count() <= DEPTH && page.matches("item").count() == 200, "{page}");
    }

    #[test]
    fn work_grows_with_the_length() {
        let shapes = [
            "> ", "- ", "* ", "1. ", "*", "**a ", "*a **b ", "_", "[", "![", "`", "<", "<b>", "~~a ", "| a ", "> a\n",
            "- a\n  ", "[x](y)", "- > ", "#", "&lt;", "\\", "> - a\n", "a\n===\n", "[a]: b\n", "|-|\n", "```\n",
            "<sub>", "<!--",
        ];
        for shape in shapes {
            growth::check(shape, 3_000, |text| drop(page(text, &[])));
        }
    }
}
