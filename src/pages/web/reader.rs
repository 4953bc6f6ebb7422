//! Readers of others, asked for pages that show their text to browsers alone: a service runs the page's scripts and
//! sends its text as Markdown (<https://jina.ai/reader>, <https://docs.firecrawl.dev/api-reference/endpoint/scrape>).
//!
//! It learns the address of the page, so the operator has to name it, and pages of private networks are only shown to a
//! reader that is in one itself.

use std::{net::IpAddr, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::Url;

use super::{MAX_BYTES, NotRead};
use crate::net::{self, ApiClients, Networks, Reach, Timeouts};

/// A page's scripts need their time.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(5), total: Some(Duration::from_secs(60)), idle: None };
/// Pages at a time, of all runs.
const AT_ONCE: usize = 4;

/// The readers as settings name them: nobody's first.
pub const READERS: &[&str] = &["none", "jina", "firecrawl"];

/// Whose reader it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Jina,
    Firecrawl,
}

impl Vendor {
    /// Returns the reader of that name; `None` for `none`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "jina" => Some(Self::Jina),
            "firecrawl" => Some(Self::Firecrawl),
            _ => None,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Jina => "Jina",
            Self::Firecrawl => "Firecrawl",
        }
    }

    fn base(self) -> &'static str {
        match self {
            Self::Jina => "https://r.jina.ai",
            Self::Firecrawl => "https://api.firecrawl.dev",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Jina => "/",
            Self::Firecrawl => "/v2/scrape",
        }
    }
}

/// The reader that the operator names.
#[derive(Clone, Debug)]
pub struct ReaderSettings {
    pub vendor: Vendor,
    pub key: Option<SecretString>,
    /// Where it is, when not at its vendor's.
    pub base_url: Option<Url>,
}

/// A text that it sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageRead {
    pub title: Option<String>,
    pub published: Option<String>,
    pub markdown: String,
}

#[derive(Debug)]
pub(super) struct Reader {
    vendor: Vendor,
    url: Url,
    key: Option<SecretString>,
    clients: ApiClients,
    places: Semaphore,
}

impl Reader {
    /// Creates the client of a service that reads pages.
    ///
    /// # Errors
    /// [`net::Error::Client`] when TLS cannot be set up, or the address is none.
    pub fn new(settings: ReaderSettings) -> Result<Self, net::Error> {
        let ReaderSettings { vendor, key, base_url } = settings;
        let base = base_url.map_or_else(|| vendor.base().to_owned(), String::from);
        let url = Url::parse(&format!("{}{}", base.trim_end_matches('/'), vendor.path()));
        let url = url.map_err(|_| net::Error::Client("the address of the reader of pages is none".to_owned()))?;
        Ok(Self { vendor, url, key, clients: ApiClients::new(TIMEOUTS)?, places: Semaphore::new(AT_ONCE) })
    }

    /// Returns the name that sources have for it.
    pub fn name(&self) -> &'static str {
        self.vendor.title()
    }

    /// Returns whether it may learn of a page that is there.
    pub fn may_see(&self, page: IpAddr) -> bool {
        net::is_public(page) || !Reach::Public(Networks::default()).covers(&self.url)
    }

    /// Reads a page through the service.
    ///
    /// # Errors
    /// Why it has no text of the page.
    pub async fn read(&self, page: &Url) -> Result<PageRead, NotRead> {
        let _place = self.places.acquire().await.ok();
        let body = match self.vendor {
            Vendor::Jina => json!({"url": page.as_str()}),
            Vendor::Firecrawl => json!({"url": page.as_str(), "formats": ["markdown"], "onlyMainContent": true}),
        };
        let request = self.clients.for_url(&self.url).post(self.url.clone()).json(&body);
        let request = request.header(reqwest::header::ACCEPT, "application/json");
        let request = match &self.key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        };
        let answer = request.send().await.map_err(|error| self.failed(net::Error::from(error)))?;
        if !answer.status().is_success() {
            return Err(self.failed(format!("it answers {}", answer.status())));
        }
        let body = net::read_body(answer, MAX_BYTES).await.map_err(|error| self.failed(error))?;
        self.text_of(&body)
    }

    fn text_of(&self, body: &[u8]) -> Result<PageRead, NotRead> {
        let answer: Answer = serde_json::from_slice(body).map_err(|_| self.failed("its answer cannot be read"))?;
        let Data { title, warning, published_time, content, markdown, metadata } = answer.data;
        let metadata = metadata.unwrap_or_default();
        // It read what the site said in place of the page.
        let refused = metadata.status_code.is_some_and(|status| status >= 400)
            || warning.is_some_and(|warning| warning.contains("returned error"));
        if refused {
            return Err(self.failed("the site shows it an error"));
        }
        let markdown = markdown.or(content).filter(|text| !text.trim().is_empty());
        let markdown = markdown.ok_or_else(|| self.failed("it found no text"))?;
        Ok(PageRead {
            title: title.or(metadata.title),
            published: published_time.or(metadata.published_time),
            markdown,
        })
    }

    fn failed(&self, why: impl std::fmt::Display) -> NotRead {
        NotRead::new(format!("{} could not read it either: {why}", self.name()))
    }
}

/// An answer of either.
#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    title: Option<String>,
    warning: Option<String>,
    published_time: Option<String>,
    content: Option<String>,
    markdown: Option<String>,
    metadata: Option<Metadata>,
}

/// What the page says of itself; Firecrawl sends a list of texts where the page says it more than once.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    #[serde(deserialize_with = "first_text")]
    title: Option<String>,
    #[serde(deserialize_with = "first_text")]
    published_time: Option<String>,
    status_code: Option<u16>,
}

/// Reads a text, or the first of several; nothing of another kind loses the page.
fn first_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        Value::Array(values) => values.into_iter().find_map(|value| value.as_str().map(str::to_owned)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(vendor: Vendor, base_url: Option<&str>) -> Reader {
        let base_url = base_url.map(|url| url.parse().unwrap());
        Reader::new(ReaderSettings { vendor, key: None, base_url }).unwrap()
    }

    #[test]
    fn answers_are_read_as_their_vendors_send_them() {
        let jina = reader(Vendor::Jina, None);
        let check = |body: Value, expected: Result<&str, &str>| {
            let read = jina.text_of(body.to_string().as_bytes());
            match (read, expected) {
                (Ok(read), Ok(text)) => assert_eq!(read.markdown, text),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (read, expected) => panic!("{read:?}, not {expected:?}"),
            }
        };
        check(json!({"code": 200, "status": 20_000, "data": {"title": "T", "url": "u", "content": "# T"}}), Ok("# T"));
        check(json!({"success": true, "data": {"markdown": "# M", "metadata": {"statusCode": 200}}}), Ok("# M"));
        let warned = "Target URL returned error 404: Not Found";
        check(json!({"data": {"content": "# Not found", "warning": warned}}), Err("shows it an error"));
        check(json!({"data": {"markdown": "x", "metadata": {"statusCode": 403}}}), Err("shows it an error"));
        check(json!({"data": {"content": " \n"}}), Err("found no text"));
        check(json!({"data": null}), Err("cannot be read"));
        check(json!("<html>"), Err("cannot be read"));
    }

    #[test]
    fn what_a_page_says_of_itself_does_not_lose_its_text() {
        let check = |metadata: Value, title: Option<&str>| {
            let body = json!({"data": {"markdown": "# M", "metadata": metadata}}).to_string();
            let read = reader(Vendor::Firecrawl, None).text_of(body.as_bytes()).unwrap();
            assert_eq!((read.title.as_deref(), &*read.markdown), (title, "# M"), "{metadata}");
        };
        check(json!({"title": "Tide", "statusCode": 200}), Some("Tide"));
        check(json!({"title": ["Tide", "Gate"], "publishedTime": ["2031-05-03"]}), Some("Tide"));
        check(json!({"title": {"og": "Tide"}, "publishedTime": 7}), None);
        check(json!({"title": null}), None);
        check(Value::Null, None);
    }

    #[test]
    fn private_pages_are_shown_to_private_readers_alone() {
        let [public, private]: [IpAddr; 2] = ["1.1.1.1", "10.0.0.7"].map(|ip| ip.parse().unwrap());
        let vendors = reader(Vendor::Firecrawl, None);
        assert_eq!((vendors.may_see(public), vendors.may_see(private)), (true, false));
        for own in ["http://127.0.0.1:3002", "http://localhost:3002/", "http://192.168.1.9"] {
            assert!(reader(Vendor::Firecrawl, Some(own)).may_see(private), "{own}");
        }
        assert!(!reader(Vendor::Firecrawl, Some("https://reader.example")).may_see(private));
    }
}
