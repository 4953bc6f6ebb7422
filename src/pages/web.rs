//! Pages of the web, by address: fetched politely, within bounds, from public addresses, and read to text.
//!
//! What a page does to its parser happens in a parser process. Addresses come from models and pages, so the client is
//! the guarded one, redirects are followed here, and each hop is checked like the first. Knows no runs and no sources.

mod cache;
mod flights;
mod host;
mod reader;
mod reply;
mod robots;

use std::{collections::HashSet, net::IpAddr, ops::RangeInclusive, sync::Arc, time::Duration};

use reqwest::{StatusCode, header::ACCEPT};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;

pub use self::reader::{READERS, ReaderSettings, Vendor};
use self::{
    cache::{Cache, Validators},
    flights::Flights,
    host::Hosts,
    reader::Reader,
};
use super::{
    Document, Format, Parser, Unreadable,
    extract::{self, Link},
};
use crate::{
    domain::{Timestamp, printable_line, shortened},
    net::{self, GuardedClients, Networks, Reach, Timeouts, Uncalled},
};

/// The largest page or document, unpacked.
const MAX_BYTES: usize = 25 * 1024 * 1024;
const MAX_REDIRECTS: usize = 5;
/// Pages at a time, of all hosts.
const AT_ONCE: usize = 32;
/// Characters of an address.
const MAX_ADDRESS_CHARS: usize = 2_000;
const MAX_TITLE_CHARS: usize = 300;
/// Letters and digits of a page that does no more than lead to another one.
const LETTERS_OF_FORWARD: usize = 200;
/// Ports that are called, of addresses that are public and no more.
const PORTS: [u16; 4] = [80, 443, 8_080, 8_443];
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    total: Some(Duration::from_secs(25)),
    idle: Some(Duration::from_secs(10)),
};
const ACCEPTED: &str =
    "text/markdown, text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1";

/// How pages are fetched.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Whether pages may be read at all.
    pub enabled: bool,
    /// Which addresses are called.
    pub reach: Reach,
    /// Are pages left alone that robots.txt asks to leave alone?
    pub robots: bool,
    /// Who is asked for pages that show their text to browsers alone.
    pub reader: Option<ReaderSettings>,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self { enabled: true, reach: Reach::new(false, &Networks::default()), robots: true, reader: None }
    }
}

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebPage {
    /// Where it was in the end, behind redirects; without fragment.
    pub url: String,
    /// The address that it gives itself, another one of the same site: for nothing but to tell copies.
    pub own_url: Option<String>,
    /// The address on another site that it names as the original's: anybody may name one.
    pub original: Option<String>,
    /// Never empty.
    pub title: String,
    /// `YYYY-MM-DD`.
    pub published: Option<String>,
    /// As the page says itself.
    pub author: Option<String>,
    /// The name of its site, as the page says itself.
    pub site: Option<String>,
    /// Plain text, headings on lines of their own; never empty.
    pub text: String,
    /// What could not be read of it, for people.
    pub missing: Option<String>,
    /// Whose reader it was, when not ours.
    pub read_by: Option<&'static str>,
    /// Where its text leads to, each address once and absolute; in reading order.
    pub links: Vec<Link>,
}

/// Why a page has no text; a sentence without its full stop, for the model and for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotRead {
    reason: String,
    /// A browser would show it.
    is_for_browsers: bool,
    /// Whether it was only that no parser was free.
    pub is_busy: bool,
}

impl NotRead {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_for_browsers: false, is_busy: false }
    }

    fn without_scripts() -> Self {
        let reason = "it shows its text only to browsers that run its scripts";
        Self { is_for_browsers: true, ..Self::new(reason) }
    }
}

/// The reader of pages; clones share connections, limits and the pages read lately.
#[derive(Clone, Debug)]
pub struct Web {
    inner: Arc<Inner>,
    reader: Option<Arc<Reader>>,
}

#[derive(Debug)]
struct Inner {
    clients: GuardedClients,
    parser: Parser,
    robots: bool,
    hosts: Hosts,
    cache: Cache,
    flights: Flights,
    places: Semaphore,
}

/// An answer that is no redirect.
enum Answer<'a> {
    Page(Box<Fetched<'a>>),
    /// The page is as it was when its server sent the validators.
    Unchanged,
}

struct Fetched<'a> {
    url: Url,
    /// Held until it is read, since it is large.
    _place: Option<SemaphorePermit<'a>>,
    /// Who sent it.
    from: Option<IpAddr>,
    validators: Option<Validators>,
    content_type: String,
    /// Where the header `Refresh` leads on, as it says it.
    refresh: Option<String>,
    body: Vec<u8>,
}

/// What came of reading an answer.
struct Reading {
    page: Result<WebPage, NotRead>,
    /// The page that it shows next to nothing but the way to.
    next: Option<Url>,
    /// Where it was, and who sent it.
    url: Url,
    from: Option<IpAddr>,
    validators: Option<Validators>,
}

impl Web {
    /// Creates the client for pages of the web.
    ///
    /// # Errors
    /// [`net::Error::Client`] when TLS cannot be set up.
    pub fn new(settings: WebSettings, parser: Parser) -> Result<Self, net::Error> {
        let inner = Inner {
            clients: GuardedClients::new(TIMEOUTS, settings.reach, &PORTS)?,
            parser,
            robots: settings.robots,
            hosts: Hosts::default(),
            cache: Cache::default(),
            flights: Flights::default(),
            places: Semaphore::new(AT_ONCE),
        };
        let reader = settings.reader.map(Reader::new).transpose()?.map(Arc::new);
        Ok(Self { inner: Arc::new(inner), reader })
    }

    /// Returns the same without the reader of others, which the operator's key pays for.
    pub fn without_reader(self) -> Self {
        Self { reader: None, ..self }
    }

    /// Reads a page, or takes it from those read lately; an older one is asked for only if it has changed. Who asks for
    /// one that is being read waits for that.
    ///
    /// # Errors
    /// [`NotRead`] says why, in words for a model.
    ///
    /// # Cancel safety
    /// When all who wait for a page drop the future, the connection is closed and the parser's work ends.
    pub async fn read(&self, address: &str) -> Result<Arc<WebPage>, NotRead> {
        let url = parse(address)?;
        let key = (url.as_str().to_owned(), self.reader.is_some());
        let web = self.clone();
        self.inner.flights.join(key, async move { web.read_url(url).await }).await
    }

    async fn read_url(&self, url: Url) -> Result<Arc<WebPage>, NotRead> {
        let known = self.inner.cache.get(url.as_str());
        if let Some(known) = known.as_ref().filter(|known| known.is_fresh) {
            return Ok(Arc::clone(&known.page));
        }
        let old = known.and_then(|known| Some((known.page, known.validators?)));
        let validators = old.as_ref().map(|(_, validators)| validators);
        let (page, validators) = match (self.follow(url.clone(), validators).await?, old) {
            (None, Some((page, validators))) => (page, Some(validators)),
            (None, None) => return Err(NotRead::new("its site does not show it (status 304)")),
            (Some(reading), _) => self.page_of(reading).await?,
        };
        self.inner.cache.insert(url.as_str(), &page, validators);
        Ok(page)
    }

    /// Reads the page at an address, or the one that it leads to; `None` when it is as it was when its server sent the
    /// validators. Where pages lead in a circle (one that shows itself again, a series of slides) or too far, the first
    /// that has text is meant, also where they end in redirects.
    async fn follow(&self, mut url: Url, known: Option<&Validators>) -> Result<Option<Reading>, NotRead> {
        let (mut seen, mut calls, mut first) = (HashSet::new(), 0..=MAX_REDIRECTS, None::<Reading>);
        loop {
            seen.insert(url.clone());
            let fetched = match self.fetch(url, known, &mut calls).await {
                Err(_) if calls.is_empty() && first.as_ref().is_some_and(|first| first.page.is_ok()) => {
                    return Ok(first);
                }
                answer => answer?,
            };
            let Answer::Page(fetched) = fetched else { return Ok(None) };
            seen.insert(fetched.url.clone());
            let mut reading = self.reading(*fetched).await;
            let Some(next) = reading.next.take() else { return Ok(Some(reading)) };
            let is_better = first.as_ref().is_none_or(|first| first.page.is_err() && reading.page.is_ok());
            first = if is_better { Some(reading) } else { first };
            if calls.is_empty() || seen.contains(&next) {
                return Ok(first);
            }
            url = next;
        }
    }

    /// Returns the page that was read, or what the reader of others reads in its place.
    async fn page_of(&self, reading: Reading) -> Result<(Arc<WebPage>, Option<Validators>), NotRead> {
        match reading.page {
            // What its server says of it is not about the text that its scripts write.
            Err(unread) if unread.is_for_browsers => {
                Ok((Arc::new(self.by_reader(reading.url, reading.from, unread).await?), None))
            }
            page => Ok((Arc::new(page?), reading.validators)),
        }
    }

    /// Asks the reader of others for a page that we could not read.
    async fn by_reader(&self, url: Url, from: Option<IpAddr>, unread: NotRead) -> Result<WebPage, NotRead> {
        let may_see = |reader: &&Arc<Reader>| from.is_some_and(|ip| reader.may_see(ip));
        let Some(reader) = self.reader.as_ref().filter(may_see) else { return Err(unread) };
        let either = |failed: NotRead| NotRead::new(format!("{unread}, and {failed}"));
        let read = reader.read(&url).await.map_err(&either)?;
        let document = self.inner.parser.document(url.as_str(), Format::Markdown, read.markdown.as_bytes()).await;
        let mut document = document.map_err(|error| either(NotRead::new(format!("its text is none: {error}"))))?;
        document.title = read.title.or(document.title);
        document.published = read.published.as_deref().and_then(day).or(document.published);
        let page = made_of(url, document).map_err(either)?;
        Ok(WebPage { read_by: Some(reader.name()), ..page })
    }

    /// Follows redirects to the page itself, in the calls that are left; `known` is said of one that was read before.
    async fn fetch(
        &self,
        mut url: Url,
        known: Option<&Validators>,
        calls: &mut RangeInclusive<usize>,
    ) -> Result<Answer<'_>, NotRead> {
        for _ in calls {
            let client = self.client_for(&url)?;
            let host = self.inner.hosts.of(&url);
            if self.inner.robots {
                host.follow_robots(&url, |url| self.client_for(url).ok()).await?;
            }
            let turn = host.turn().await?;
            // Last, so that those who wait for a slow host keep nobody from another one. The semaphore is never closed.
            let place = self.inner.places.acquire().await.ok();
            let asked = client.get(url.clone()).header(ACCEPT, ACCEPTED);
            let asked = asked.headers(known.map(|known| known.for_url(&url)).unwrap_or_default());
            let answer = match asked.send().await {
                Ok(answer) => answer,
                Err(error) => {
                    turn.failed();
                    return Err(NotRead::new(format!("it could not be fetched: {}", net::Error::from(error))));
                }
            };
            turn.answered(&answer);
            if answer.status() == StatusCode::NOT_MODIFIED {
                return Ok(Answer::Unchanged);
            }
            let next = match answer.status().is_redirection() {
                true => reply::location(&url, &answer),
                false => return Ok(Answer::Page(Box::new(fetched(url, place, answer).await?))),
            };
            url = bare(next.ok_or_else(|| NotRead::new("it is redirected to nowhere"))?)?;
        }
        Err(NotRead::new(format!("it is redirected more than {MAX_REDIRECTS} times")))
    }

    /// Returns the client that may call an address.
    fn client_for(&self, url: &Url) -> Result<&reqwest::Client, NotRead> {
        self.inner.clients.for_url(url).map_err(|uncalled| {
            NotRead::new(match uncalled {
                Uncalled::Private => "its address is not a public one",
                Uncalled::Port => "its port is none of those that are called (80, 443, 8080 and 8443)",
            })
        })
    }

    async fn reading(&self, fetched: Fetched<'_>) -> Reading {
        let (page, next) = match reply::format(&fetched.content_type, &fetched.url, &fetched.body) {
            Ok(format) => self.page(&fetched, format).await,
            Err(unread) => (Err(unread), None),
        };
        let Fetched { url, from, validators, .. } = fetched;
        Reading { page, next, url, from, validators }
    }

    /// Returns the page, and the one that it leads to when it shows next to no text of its own.
    async fn page(&self, fetched: &Fetched<'_>, format: Format) -> (Result<WebPage, NotRead>, Option<Url>) {
        let (url, body) = (&fetched.url, &fetched.body);
        let bytes = reply::utf8(&fetched.content_type, format, body);
        let document = self.inner.parser.document(url.as_str(), format.of_web(), &bytes).await;
        let says_more = document.as_ref().is_ok_and(|document| letters(document) > LETTERS_OF_FORWARD);
        let of_page = || document.as_ref().ok()?.refresh.as_deref();
        let said = fetched.refresh.as_deref().or_else(of_page).filter(|_| !says_more);
        let next = said.and_then(|said| bare(reply::target(url, said)?).ok());
        let document = match document {
            Ok(document) if document.sections.is_empty() => Err(Unreadable::without_text().into()),
            document => document,
        };
        let page = document.map_err(|error| unread(error, format, body)).and_then(|document| {
            let is_little = text_of(&document).chars().count() < reply::LITTLE_TEXT;
            match is_little && reply::is_mostly_markup(format, body) {
                true => Err(NotRead::without_scripts()),
                false => made_of(url.clone(), document),
            }
        });
        (page, next)
    }
}

/// Reads an answer that is no redirect.
async fn fetched<'a>(
    url: Url,
    place: Option<SemaphorePermit<'a>>,
    answer: reqwest::Response,
) -> Result<Fetched<'a>, NotRead> {
    reply::check(&answer)?;
    let (content_type, refresh) = (reply::content_type(&answer), reply::refresh(&answer));
    let from = answer.remote_addr().map(|address| address.ip());
    let validators = Validators::of(&url, answer.headers());
    let body = net::read_body(answer, MAX_BYTES).await;
    let body = body.map_err(|error| NotRead::new(format!("it could not be fetched: {error}")))?;
    Ok(Fetched { url, _place: place, from, validators, content_type, refresh, body })
}

/// Says why there is no text in what a server sent.
fn unread(error: super::Error, format: Format, body: &[u8]) -> NotRead {
    match error {
        super::Error::Unreadable(why) if why.is_without_text() && reply::needs_script(format, body) => {
            NotRead::without_scripts()
        }
        super::Error::Busy { .. } => NotRead { is_busy: true, ..NotRead::new(error.to_string()) },
        error => NotRead::new(format!("it could not be read: {error}")),
    }
}

fn letters(document: &Document) -> usize {
    text_of(document).chars().filter(|char| char.is_alphanumeric()).count()
}

/// Returns the page that a document is, unless it is one that stands before a page.
fn made_of(url: Url, document: Document) -> Result<WebPage, NotRead> {
    let (text, published) = (text_of(&document), document.date(None));
    let title = document.title.map(|title| shortened(&printable_line(&title), MAX_TITLE_CHARS).into_owned());
    let title = title.filter(|title| !title.trim().is_empty());
    let title = title.unwrap_or_else(|| url.host_str().unwrap_or("page").to_owned());
    if let Some(what) = extract::walls::of(&title, &text) {
        return Err(NotRead::new(what));
    }
    let named = document.canonical.as_deref().and_then(|own| named_address(&url, own)).filter(|own| *own != url);
    let (own_url, original) = named.map_or((None, None), |named| match is_of_same_site(&url, &named) {
        true => (Some(named), None),
        false => (None, Some(named)),
    });
    Ok(WebPage {
        title,
        links: links_of(&url, document.links),
        own_url: own_url.map(Into::into),
        original: original.map(Into::into),
        url: url.into(),
        author: document.author,
        site: document.site,
        published,
        text,
        missing: document.missing,
        read_by: None,
    })
}

/// Returns the links that lead to other pages.
fn links_of(url: &Url, links: Vec<Link>) -> Vec<Link> {
    let mut known = HashSet::from([without_fragment(url.clone())]);
    let absolute = |link: Link| {
        let target = bare(url.join(&link.target).ok()?).ok()?;
        let is_new = target.as_str().len() <= MAX_ADDRESS_CHARS && known.insert(target.clone());
        is_new.then(|| Link { target: target.into(), ..link })
    };
    links.into_iter().filter_map(absolute).collect()
}

/// Returns the address that a model gave.
fn parse(address: &str) -> Result<Url, NotRead> {
    if address.chars().count() > MAX_ADDRESS_CHARS {
        return Err(NotRead::new(format!("its address has more than {MAX_ADDRESS_CHARS} characters")));
    }
    let url = Url::parse(address.trim()).map_err(|_| NotRead::new("that is no address of a page"))?;
    bare(url)
}

/// Returns the address without its fragment, when it is one that may be called.
fn bare(url: Url) -> Result<Url, NotRead> {
    if url.as_str().len() > 4 * MAX_ADDRESS_CHARS {
        return Err(NotRead::new("its address is too long"));
    }
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return Err(NotRead::new("only addresses with http or https and without a user are read"));
    }
    Ok(without_fragment(url))
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// Returns the address that a page gives itself: one that names a page as much as the present one does.
fn named_address(url: &Url, own: &str) -> Option<Url> {
    let own = bare(url.join(own).ok()?).ok()?;
    let is_as_precise = own.path() != "/" || url.path() == "/";
    (is_as_precise && own.as_str().len() <= MAX_ADDRESS_CHARS).then_some(own)
}

/// Returns whether the URL is one of the same site, reached in the same way. What came without TLS may be anybody's.
fn is_of_same_site(url: &Url, own: &Url) -> bool {
    let site = |url: &Url| {
        let host = url.host_str().unwrap_or_default().to_owned();
        let host = ["www.", "m.", "amp.", "mobile."]
            .iter()
            .find_map(|start| host.strip_prefix(start))
            .unwrap_or(&host)
            .to_owned();
        (url.scheme().to_owned(), host, url.port())
    };
    site(own) == site(url)
}

/// Returns the day of a time that begins as RFC 3339 has it.
fn day(time: &str) -> Option<String> {
    Timestamp::of_date(time.get(..10)?).map(Timestamp::to_date)
}

/// Returns the text of all sections, each under its heading.
fn text_of(document: &Document) -> String {
    let mut text = String::new();
    for section in &document.sections {
        for piece in section.label.iter().chain([&section.text]) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(piece);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Section;

    #[test]
    fn a_page_has_one_address() {
        let check = |url: &str, own: &str, expected: Option<&str>| {
            let url = Url::parse(url).unwrap();
            let found = named_address(&url, own).filter(|own| is_of_same_site(&url, own));
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{url} {own}");
        };
        check("https://m.a.test/x?ref=1", "https://www.a.test/x", Some("https://www.a.test/x"));
        check("http://a.test/x?ref=1", "https://a.test/x", None);
        check("https://a.test/x?page=2", "/x", Some("https://a.test/x"));
        check("https://a.test/x", "https://b.test/x", None);
        check("https://a.test/x", "/", None);
        check("https://a.test/x", "javascript:alert(1)", None);
    }

    #[test]
    fn only_plain_addresses_are_read() {
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(parse(address).ok().as_ref().map(Url::as_str), expected, "{address}");
        };
        check(" https://a.test/x#part ", Some("https://a.test/x"));
        check("http://a.test", Some("http://a.test/"));
        check("ftp://a.test/", None);
        check("file:///etc/passwd", None);
        check("https://me:secret@a.test/", None);
        check("a.test/x", None);
        check(&format!("https://a.test/{}", "x".repeat(2_000)), None);
    }

    /// A name of a public address, whose server this test is.
    struct Public(std::net::SocketAddr);

    impl reqwest::dns::Resolve for Public {
        fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
            let addresses: reqwest::dns::Addrs = Box::new(std::iter::once(self.0));
            Box::pin(async move { Ok(addresses) })
        }
    }

    /// Returns a reader of pages whose names all lead to `server`, with these pages read before.
    #[expect(clippy::disallowed_methods, reason = "it asks this test alone")]
    fn leading_to(server: std::net::SocketAddr, cache: Cache) -> Web {
        let web = Web::new(WebSettings { robots: false, ..WebSettings::default() }, Parser::new(Default::default()));
        let mut inner = Arc::into_inner(web.unwrap().inner).unwrap();
        let policy = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(policy).no_proxy().dns_resolver(Arc::new(Public(server)));
        inner.clients = inner.clients.with_usual(client.build().unwrap());
        inner.cache = cache;
        Web { inner: Arc::new(inner), reader: None }
    }

    /// Answers one request, and returns what it said.
    async fn answer_with(listener: &tokio::net::TcpListener, answer: &str) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let called = tokio::time::timeout(Duration::from_secs(10), listener.accept()).await;
        let (mut stream, _) = called.expect("it is called").unwrap();
        let mut said = [0; 4096];
        let length = stream.read(&mut said).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&said[..length]).to_lowercase()
    }

    /// The address that a page is redirected to is checked like the one that was asked for.
    #[tokio::test]
    async fn no_redirect_leads_to_a_private_address() {
        for target in
            ["http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://2130706433/", "http://10.1/x"]
        {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let web = leading_to(listener.local_addr().unwrap(), Cache::default());
            let answer =
                format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let serve = answer_with(&listener, &answer);
            let (read, _) = futures::join!(web.read("http://public.test/page"), serve);
            assert_eq!(read.unwrap_err().to_string(), "its address is not a public one", "{target}");
        }
    }

    #[test]
    fn other_ports_are_called_in_allowed_networks_alone() {
        let of = |networks: &[&str]| {
            let networks = networks.iter().map(|text| text.parse().unwrap()).collect();
            let settings = WebSettings { reach: Reach::new(false, &networks), ..WebSettings::default() };
            Web::new(settings, Parser::new(Default::default())).unwrap()
        };
        let check = |web: &Web, url: &str, expected: Option<&str>| {
            let refused = web.client_for(&Url::parse(url).unwrap()).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), expected, "{url}");
        };
        let port = Some("its port is none of those that are called (80, 443, 8080 and 8443)");
        let (public, near) = (of(&[]), of(&["10.20.0.0/16"]));
        for url in ["http://1.1.1.1:22/", "https://[2606:4700::1111]:9200/"] {
            check(&public, url, port);
            check(&near, url, port);
        }
        check(&public, "http://a.test:5432/", port);
        // Which network a name is of shows when it is called.
        check(&near, "http://a.test:5432/", None);
        check(&near, "http://10.20.0.1:5432/", None);
        check(&near, "http://1.1.1.1:8443/", None);
        check(&near, "http://10.21.0.1:80/", Some("its address is not a public one"));
    }

    /// The address may be written as it is read.
    #[tokio::test]
    async fn redirects_are_followed_however_they_are_written() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let web = leading_to(listener.local_addr().unwrap(), Cache::default());
        let answers = [
            "HTTP/1.1 302 Found\r\nLocation: /über\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ];
        let serve = async {
            let mut asked = Vec::new();
            for answer in answers {
                asked.push(answer_with(&listener, answer).await.lines().next().unwrap_or_default().to_owned());
            }
            asked
        };
        let (read, asked) = futures::join!(web.read("http://public.test/"), serve);
        assert_eq!(asked, ["get / http/1.1", "get /%c3%bcber http/1.1"]);
        assert_eq!(read.unwrap_err().to_string(), "there is no such page (status 404)");
    }

    /// A host that does nothing but redirect answers, too.
    #[tokio::test]
    async fn a_redirect_ends_a_row_of_failures() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let web = leading_to(listener.local_addr().unwrap(), Cache::default());
        let host = web.inner.hosts.of(&Url::parse("http://public.test/").unwrap());
        let fail_twice = async || {
            let turn = host.turn().await.unwrap();
            turn.failed();
            turn.failed();
        };
        fail_twice().await;
        let answer = "HTTP/1.1 302 Found\r\nLocation: http://10.1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let (read, _) = futures::join!(web.read("http://public.test/"), answer_with(&listener, answer));
        assert!(read.is_err());
        tokio::time::pause();
        fail_twice().await;
        assert!(host.turn().await.is_ok(), "it did not fail three times in a row");
    }

    /// Sites keep the rules of all their names at one of them.
    #[tokio::test]
    async fn rules_are_followed_to_another_host() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut web = leading_to(listener.local_addr().unwrap(), Cache::default());
        Arc::get_mut(&mut web.inner).unwrap().robots = true;
        let rules = "User-agent: *\nDisallow: /private\n";
        let answers = [
            "HTTP/1.1 301 Moved Permanently\r\nLocation: http://www.public.test/robots.txt\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
                .to_owned(),
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{rules}", rules.len()),
        ];
        let serve = async {
            let mut asked = Vec::new();
            for answer in &answers {
                asked.push(answer_with(&listener, answer).await);
            }
            asked
        };
        let (read, asked) = futures::join!(web.read("http://public.test/private/x"), serve);
        assert!(asked[1].contains("host: www.public.test"), "{}", asked[1]);
        assert_eq!(read.unwrap_err().to_string(), "its site asks programs not to read it (robots.txt)");
    }

    #[test]
    fn links_lead_to_other_pages() {
        let link = |target: &str| Link { text: "Dues".to_owned(), target: target.to_owned() };
        let given = ["../dues?y=1#top", "//b.test/x", "mailto:me@a.test", "javascript:x()", "", "/a/b", "/dues?y=1"];
        let found = links_of(&Url::parse("https://a.test/a/b").unwrap(), given.map(link).to_vec());
        let found: Vec<&str> = found.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(found, ["https://a.test/dues?y=1", "https://b.test/x"]);
    }

    /// What is kept of a page for others is found where it was, and not where it says it was.
    #[tokio::test]
    async fn a_page_does_not_stand_in_for_another_one() {
        let at = Url::parse("https://a.test/its-own").unwrap();
        let section = Section { label: None, path: String::new(), anchor: None, text: "Pay me.".to_owned() };
        let canonical = Some("https://a.test/bank".to_owned());
        let document = Document { canonical, sections: vec![section], ..Document::default() };
        let page = made_of(at, document).unwrap();
        assert_eq!((&*page.url, page.own_url.as_deref()), ("https://a.test/its-own", Some("https://a.test/bank")));
        let cache = Cache::default();
        cache.insert("https://a.test/shared", &Arc::new(page), None);
        assert!(cache.get("https://a.test/its-own").is_some() && cache.get("https://a.test/shared").is_some());
        assert!(cache.get("https://a.test/bank").is_none());
    }

    #[tokio::test]
    async fn a_host_that_never_answers_takes_no_place_of_others() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let web = leading_to(listener.local_addr().unwrap(), Cache::default());
        let mut slow: tokio::task::JoinSet<_> = (0..2 * AT_ONCE)
            .map(|page| {
                let web = web.clone();
                async move { web.read(&format!("http://slow.test/{page}")).await }
            })
            .collect();
        let other = async {
            // Its two calls are there, and the others wait for theirs.
            let held = [listener.accept().await.unwrap(), listener.accept().await.unwrap()];
            let gone = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let (read, _) = futures::join!(web.read("http://public.test/"), answer_with(&listener, gone));
            drop(held);
            read.unwrap_err()
        };
        let refused = tokio::time::timeout(Duration::from_secs(10), other).await.unwrap();
        assert_eq!(refused.to_string(), "there is no such page (status 404)");
        slow.shutdown().await;
    }

    /// An old page is asked for if it has changed, and is taken as it was when it has not.
    #[tokio::test]
    async fn a_page_that_has_not_changed_is_not_read_again() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let cache = Cache::fresh_for(Duration::ZERO);
        let (url, page) =
            (Url::parse("http://public.test/page").unwrap(), cache::tests::page("http://public.test/", 9));
        let headers = [(reqwest::header::ETAG, "\"7\"".parse().unwrap())].into_iter().collect();
        cache.insert(url.as_str(), &page, Validators::of(&url, &headers));
        let web = leading_to(listener.local_addr().unwrap(), cache);
        let unchanged = "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n";
        let (read, asked) = futures::join!(web.read(url.as_str()), answer_with(&listener, unchanged));
        assert_eq!(read.unwrap(), page);
        assert!(asked.contains("if-none-match: \"7\""), "{asked}");
    }
}
