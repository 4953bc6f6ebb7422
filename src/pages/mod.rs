//! Files and pages to text, in processes of their own: foreign bytes harm a parser there, and not the service.
//!
//! [`Parser`] is all that other rooms hold. `pool` keeps parser processes, `protocol` is what is said to them, `worker`
//! is what they do, and `extract` holds the parsers themselves: one file per format. `web` fetches pages by their
//! address. Knows no folder and no index.

mod caught;
pub mod extract;
mod pool;
mod protocol;
mod turns;
mod web;
mod worker;

use std::{num::NonZero, path::PathBuf, sync::Arc, thread, time::Duration};

pub use extract::{Document, Format, Section, Unreadable};
pub use web::{NotRead, READERS, ReaderSettings, Vendor, Web, WebPage, WebSettings};
pub use worker::run as work;

use self::{
    pool::{Pool, Request},
    protocol::{Answer, Job},
    turns::Reader,
};
use crate::{
    aside::aside_above,
    domain::{Owner, digest},
};

/// The hidden subcommand of the program that starts a parser process.
pub const SUBCOMMAND: &str = "parse-worker";
/// Characters that are kept of a page or an answer, and searched for what fits a question: a thousand printed pages.
pub const KEPT_CHARS: usize = 2_000_000;
/// Of a page that a search engine sends, perhaps with its markup.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that are hashed in one go; about a millisecond.
const HASHED_AT_ONCE: usize = 512 * 1024;
/// Text that is tidied at once, wherever it is asked for.
const SHORT_BYTES: usize = 64 * 1024;

/// The program of parser processes, and how long they may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that has [`SUBCOMMAND`]; `None`: this process's own.
    pub program: Option<PathBuf>,
    /// Parser processes at once; further documents wait.
    pub processes: usize,
    /// How long what runs read waits for one: less than runs wait for the pages of a search.
    pub run_wait: Duration,
    /// The same for what is given to a thread.
    pub upload_wait: Duration,
    /// For one document; its process is killed when it takes longer.
    pub document_time: Duration,
    /// The same for a page of a search result.
    pub page_time: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: None,
            processes: thread::available_parallelism().map_or(2, NonZero::get).max(2),
            run_wait: Duration::from_secs(20),
            upload_wait: Duration::from_secs(30),
            document_time: Duration::from_secs(20),
            page_time: Duration::from_secs(10),
        }
    }
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document's own fault; it will be the same next time.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It ended its parser or took too long, perhaps because the machine was short of memory or busy; it may be read
    /// later.
    #[error("{0}")]
    Unfinished(Unreadable),
    /// Nothing was learnt about the document; try again later.
    #[error("no parser could be started: {0}")]
    Unavailable(String),
    /// The same: all parsers were at other documents.
    #[error("no parser was free within {seconds} s")]
    Busy { seconds: u64 },
}

/// Parsers in processes of their own, started when first needed; clones share them.
#[derive(Clone, Debug)]
pub struct Parser {
    pool: Arc<Pool>,
}

impl Parser {
    pub fn new(settings: Settings) -> Self {
        Self { pool: Arc::new(Pool::new(settings)) }
    }

    /// Reads a document for a run or an index; `name` stands in warnings.
    ///
    /// # Errors
    /// See [`Error`]. A document that takes more memory than a parser may have is unreadable.
    ///
    /// # Cancel safety
    /// Dropping the future ends the process that reads.
    pub async fn document(&self, name: &str, format: Format, bytes: &[u8]) -> Result<Document, Error> {
        self.read(name, format, bytes, Reader::Run).await
    }

    /// Reads a document that its owner gives; owners take turns.
    ///
    /// # Errors
    /// As [`Parser::document`].
    ///
    /// # Cancel safety
    /// The same.
    pub async fn upload(&self, owner: &Owner, name: &str, format: Format, bytes: &[u8]) -> Result<Document, Error> {
        self.read(name, format, bytes, Reader::Upload(owner)).await
    }

    async fn read(&self, name: &str, format: Format, bytes: &[u8], reader: Reader<'_>) -> Result<Document, Error> {
        let (job, limit) = (Job::Document(format), self.pool.settings().document_time);
        match self.pool.ask(Request { name, job, bytes, limit, reader }).await? {
            Answer::Document(document) => Ok(*document),
            Answer::Unreadable(unreadable) => Err(unreadable.into()),
            Answer::Plain(_) => Err(Error::Unavailable("it answers something else".into())),
        }
    }

    /// Converts text of unknown make to plain text: HTML loses its tags, everything is tidied. What is no HTML is
    /// tidied here, in time that grows with its length; `name` stands in warnings.
    ///
    /// # Errors
    /// See [`Error`]. A page that ended its parser once is not tried again.
    ///
    /// # Cancel safety
    /// As [`Parser::document`].
    pub async fn plain_text(&self, name: &str, text: &str) -> Result<String, Error> {
        let text = &text[..text.floor_char_boundary(MAX_PAGE_BYTES)];
        if !extract::looks_like_html(text) {
            return tidied(text.to_owned()).await;
        }
        let (bytes, limit) = (text.as_bytes(), self.pool.settings().page_time);
        match self.pool.ask(Request { name, job: Job::Plain, bytes, limit, reader: Reader::Run }).await? {
            Answer::Plain(text) => Ok(text),
            Answer::Unreadable(unreadable) => Err(unreadable.into()),
            Answer::Document(_) => Err(Error::Unavailable("it answers something else".into())),
        }
    }
}

/// Returns the SHA-256 of bytes, which may be many: others on this thread have their turn between two pieces.
pub async fn hashed(bytes: &[u8]) -> [u8; 32] {
    let mut hasher = digest::Hasher::default();
    for (number, piece) in bytes.chunks(HASHED_AT_ONCE).enumerate() {
        if number > 0 {
            tokio::task::yield_now().await;
        }
        hasher.update(piece);
    }
    hasher.finish()
}

/// Tidies plain text; a long one off the runtime's threads.
async fn tidied(text: String) -> Result<String, Error> {
    aside_above(SHORT_BYTES, text.len(), move || extract::tidied(&text))
        .await
        .map_err(|panicked| Error::Unavailable(panicked.to_string()))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn many_bytes_are_hashed_piece_by_piece() {
        for length in [0, 7, HASHED_AT_ONCE, HASHED_AT_ONCE + 1, 3 * HASHED_AT_ONCE] {
            let bytes = vec![7; length];
            assert_eq!(hashed(&bytes).await, digest::sha256(&bytes), "{length}");
            assert_eq!(hashed(&bytes).now_or_never().is_none(), length > HASHED_AT_ONCE, "{length}");
        }
    }

    #[tokio::test]
    async fn text_of_any_make_is_cut_to_what_a_page_may_have() {
        let parser = Parser::new(Settings::default());
        let text = "tide ".repeat(MAX_PAGE_BYTES / 4);
        let read = parser.plain_text("long", &text).await.unwrap();
        assert!(read.len() <= MAX_PAGE_BYTES && read.len() > MAX_PAGE_BYTES - 16, "{}", read.len());
        assert_eq!(parser.plain_text("short", "a  b").await.unwrap(), extract::tidied("a  b"));
    }
}
