//! The documents that users gave to a thread, or to collections that a run names, as an engine of the run: an index
//! that lives as long as its work.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use super::{
    address,
    index::{Entry, Index},
    query::Query,
    rank, refresh,
};
use crate::{
    aside::aside_with,
    domain::{DocumentId, Owner, Timestamp, Upload, digest, printable_line, shortened},
    pages::{self, Document, Format, Parser, Section},
    search::{CallContext, Corpus, Engine, Error, Hit, Limits, Opened, Results, Returns, Row, Search},
};

/// Text that is kept of one document, headings included.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Characters of the name of a file.
const MAX_NAME_CHARS: usize = 200;
/// The name of the engine, and the folder that the documents seem to lie in.
const NAME: &str = address::OF_UPLOADS;

/// No engine to choose: runs have it when their thread or their collections have documents.
static ROW: Row = Row {
    name: NAME,
    about: "documents that were given to it",
    corpus: Corpus::Documents,
    returns: Returns::Pages,
    ..Row::WEB
};

/// A document with its sections as JSON.
type StoredDocument = (Upload, String);

type Load = dyn Fn() -> BoxFuture<'static, Result<Vec<StoredDocument>, Error>> + Send + Sync;

/// See the module.
struct Uploads {
    load: Arc<Load>,
    index: OnceCell<Index>,
}

impl fmt::Debug for Uploads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Uploads")
    }
}

impl Engine {
    /// Returns the engine of a run that has documents of its own, which `load` brings when they are first searched;
    /// beside another one, if there is one.
    pub fn of_uploads<F>(beside: Option<Self>, load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<StoredDocument>, Error>> + Send + 'static,
    {
        let load: Arc<Load> = Arc::new(move || Box::pin(load()));
        let own = Self::new(&ROW, Box::new(Uploads { load, index: OnceCell::new() }));
        Self::merged(beside.into_iter().chain([own]).collect(), Vec::new())
    }
}

impl Uploads {
    async fn index(&self) -> Result<&Index, Error> {
        self.index.get_or_try_init(|| self.indexed()).await
    }

    async fn indexed(&self) -> Result<Index, Error> {
        // They may be a hundred megabytes.
        let entries = aside_with((self.load)(), entries).await??;
        let index = Index::temporary().await.map_err(broken)?;
        index.put(&entries).await.map_err(broken)?;
        Ok(index)
    }

    async fn find(&self, query: &str, limits: &Limits) -> Result<Vec<Hit>, Error> {
        let query = Query::parse(query);
        let Some(expression) = query.expression() else {
            return Err(Error::BadQuery("there is no word in it".into()));
        };
        let candidates = self.index().await?.search(&expression, super::MAX_CANDIDATES).await.map_err(broken)?;
        let picked = rank::pick(&query, candidates, limits.max_results);
        Ok(picked.into_iter().map(|(score, found)| Hit { engine: NAME.into(), ..super::hit(score, found) }).collect())
    }

    async fn opened(&self, address: &str) -> Result<Option<Opened>, Error> {
        let path = address.split('#').next().unwrap_or_default();
        let opened = self.index().await?.document(path).await.map_err(broken)?;
        Ok(opened.map(|opened| Opened { engine: NAME.to_owned(), ..opened }))
    }
}

/// Returns the documents cut into passages, with addresses of their own.
fn entries(given: Vec<StoredDocument>) -> Result<Vec<Entry>, Error> {
    let mut entries: Vec<Entry> = Vec::new();
    for (number, (upload, sections)) in (1..).zip(given) {
        let sections: Vec<Section> =
            serde_json::from_str(&sections).map_err(|error| Error::Documents(error.to_string()))?;
        let name = address::of_path(std::path::Path::new(&upload.name));
        let path = format!("{NAME}/{name}");
        let is_taken = entries.iter().any(|entry| entry.path == path);
        let entry = Entry {
            path: if is_taken { format!("{NAME}/{number}/{name}") } else { path },
            title: upload.name,
            ..Entry::default()
        };
        let document = Document {
            title: upload.title,
            author: upload.author,
            published: upload.published,
            sections,
            ..Document::default()
        };
        entries.push(refresh::filled(entry, document));
    }
    Ok(entries)
}

fn broken(error: super::index::Error) -> Error {
    Error::Documents(error.to_string())
}

impl Search for Uploads {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.find(query, limits))
    }

    fn place(&self) -> String {
        "documents of the thread".to_owned()
    }

    fn document<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
        Box::pin(self.opened(address))
    }
}

/// A document that is given to a thread or a collection, read.
#[derive(Clone, Debug)]
pub struct ReadUpload {
    pub upload: Upload,
    /// SHA-256 of the file, hex.
    pub content_hash: String,
    /// JSON, for the database.
    pub sections: String,
}

/// Why a document cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    #[error("it has no name")]
    NoName,
    /// Its own fault.
    #[error("{0}")]
    Unreadable(String),
    /// It may be read later.
    #[error("no parser could be started: {0}")]
    Unavailable(String),
    /// The same, and nothing is wrong.
    #[error("{name}: {reason}; give it again a little later")]
    Busy { name: String, reason: String },
}

impl ReadUpload {
    /// Reads a file; what its bytes show counts more than its name.
    pub(in crate::search) async fn of(
        parser: &Parser,
        owner: &Owner,
        path: &str,
        bytes: &[u8],
    ) -> Result<Self, UploadError> {
        let name = file_name(path).ok_or(UploadError::NoName)?;
        let unreadable = |reason: &str| UploadError::Unreadable(format!("{name}: {reason}"));
        // Of the whole name: the one that is shown may have lost its ending.
        let format =
            format_of(&printable_line(path), bytes).ok_or_else(|| unreadable("files of this kind are not read"))?;
        let document = parser.upload(owner, &name, format, bytes).await.map_err(|error| match error {
            pages::Error::Unreadable(reason) | pages::Error::Unfinished(reason) => unreadable(&reason.0),
            pages::Error::Unavailable(reason) => UploadError::Unavailable(reason),
            pages::Error::Busy { .. } => UploadError::Busy { name: name.clone(), reason: error.to_string() },
        })?;
        let published = document.date(Some(&name));
        let (sections, is_cut) = fitting(document.sections);
        let characters: usize = sections.iter().map(|section| section.text.chars().count()).sum();
        let upload = Upload {
            id: DocumentId::new(),
            size_bytes: bytes.len() as u64,
            characters: characters as u64,
            title: document.title,
            author: document.author,
            published,
            missing: document.missing.or_else(|| is_cut.then(|| "only its first part is searched".to_owned())),
            created_at: Timestamp::now(),
            name,
        };
        let sections = serde_json::to_string(&sections).map_err(|error| UploadError::Unavailable(error.to_string()))?;
        Ok(Self { upload, content_hash: digest::hex(&pages::hashed(bytes).await), sections })
    }
}

/// Returns the last part of a path, fit to be shown.
fn file_name(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = shortened(&printable_line(name), MAX_NAME_CHARS).trim().to_owned();
    (!name.is_empty() && !name.chars().all(|char| char == '.')).then_some(name)
}

fn format_of(name: &str, bytes: &[u8]) -> Option<Format> {
    let promised = name.rsplit_once('.').and_then(|(_, ending)| Format::of_extension(ending));
    Format::of_bytes(bytes).or(promised)
}

/// Returns the sections up to [`MAX_TEXT_BYTES`], and whether any is missing.
fn fitting(mut sections: Vec<Section>) -> (Vec<Section>, bool) {
    let mut room = MAX_TEXT_BYTES;
    let mut is_cut = false;
    sections.retain_mut(|section| {
        if is_cut {
            return false;
        }
        let head = section.path.len() + section.label.as_deref().map_or(0, str::len);
        if head + section.text.len() > room {
            is_cut = true;
            let end = section.text.floor_char_boundary(room.saturating_sub(head));
            section.text.truncate(end);
        }
        room = room.saturating_sub(head + section.text.len());
        !section.text.is_empty()
    });
    (sections, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_name() {
        assert_eq!(file_name("C:\\papers\\dues.pdf").as_deref(), Some("dues.pdf"));
        assert_eq!(file_name("../../etc/passwd").as_deref(), Some("passwd"));
        assert_eq!(file_name("dues\u{202e}\n.pdf").as_deref().map(str::len), Some("dues .pdf".len()));
        assert_eq!(["", "..", "a/"].map(file_name), [None, None, None]);
    }

    #[test]
    fn text_is_bounded() {
        let section =
            |bytes: usize| Section { label: None, path: String::new(), anchor: None, text: "x".repeat(bytes) };
        let (kept, is_cut) = fitting(vec![section(10), section(MAX_TEXT_BYTES), section(1)]);
        assert_eq!((kept.len(), kept[1].text.len(), is_cut), (2, MAX_TEXT_BYTES - 10, true));
        assert!(!fitting(vec![section(10)]).1);
    }
}
