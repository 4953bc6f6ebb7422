//! Keeps the index equal to the folder: only what changed is read, what is gone is dropped, all within a time budget.

use std::{
    collections::{HashMap, HashSet},
    io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, future, stream};
use tokio::task::spawn_blocking;

use super::{
    MAX_SKIPPED, Settings, Shared, address,
    index::{self, Entry, IndexedFile, Passage},
    walk::{self, FoundFile, Walk},
};
use crate::{
    aside::aside,
    domain::Timestamp,
    files,
    pages::{self, Document, Parser, Section, extract::passages},
    search::Skipped,
};

/// Documents that are ready together are stored together.
const MAX_BATCH: usize = 32;
/// Passages of one document; some twelve million characters.
const MAX_PASSAGES: usize = 10_000;

/// How far the index has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// When the last look at the folder began, if it ended with nothing left to do.
    complete_since: Option<Instant>,
    /// When the last look ended, whether or not something was left.
    ended: Option<Instant>,
}

impl Progress {
    pub fn is_fresh(&self, rescan_after: Duration) -> bool {
        self.complete_since.is_some_and(|since| since.elapsed() < rescan_after)
    }

    pub fn ended_since(&self, time: Instant) -> bool {
        self.ended.is_some_and(|ended| ended >= time)
    }
}

#[derive(Debug)]
pub(super) enum Error {
    Folder(io::Error),
    Index(index::Error),
}

impl From<index::Error> for Error {
    fn from(error: index::Error) -> Self {
        Self::Index(error)
    }
}

/// Looks at the folder and indexes what changed. From `end` on no document is begun; those that are left are left to
/// the next call, those that were begun are waited for.
///
/// # Cancel safety
/// What is stored stays stored; documents being read at the moment are read again next time.
pub(super) async fn run(shared: &Shared, progress: &mut Progress, end: Instant) -> Result<(), Error> {
    let began = Instant::now();
    progress.complete_since = None;
    let walk = walk_folder(shared).await?;
    let index = shared.index.read().await.clone();
    let known = index.known().await?;
    let gone = gone(&walk, &known);
    let Walk { root, found, skipped, .. } = walk;
    if !gone.is_empty() {
        index.forget(&gone).await?;
    }
    let now = Timestamp::now();
    let changed: Vec<FoundFile> = found.iter().filter(|found| !is_known(found, &known, now)).cloned().collect();
    let left = index_changed(shared, &index, root, changed, end).await?;
    let known = if left.changed { index.known().await? } else { known };
    report(shared, skipped, &found, &known, left.waiting);
    if left.waiting == 0 {
        progress.complete_since = Some(began);
    }
    progress.ended = Some(Instant::now());
    Ok(())
}

/// Returns the documents that are no longer there; those where the walk could not look are kept.
fn gone(walk: &Walk, known: &HashMap<String, IndexedFile>) -> Vec<String> {
    let present: HashSet<&str> = walk.found.iter().map(|found| found.path.as_str()).collect();
    known.keys().filter(|path| !present.contains(path.as_str()) && !walk.may_have(path)).cloned().collect()
}

/// Returns whether a document is as it was, and nothing is to be tried again.
fn is_known(found: &FoundFile, known: &HashMap<String, IndexedFile>, now: Timestamp) -> bool {
    let is_settled = |known: &IndexedFile| known.retry_at.is_none_or(|at| now < at);
    known.get(&found.path).is_some_and(|known| known.stamp == found.stamp && is_settled(known))
}

async fn walk_folder(shared: &Shared) -> Result<Walk, Error> {
    let (folder, settings) = (shared.folder.clone(), shared.settings.clone());
    let walk = spawn_blocking(move || walk::walk(&folder, &settings)).await;
    walk.map_err(io::Error::other).flatten().map_err(Error::Folder)
}

/// What [`index_changed`] leaves behind.
struct Refreshed {
    /// Whether the index is another one than before.
    changed: bool,
    /// Documents for which there was no time.
    waiting: usize,
}

/// Reads documents side by side, as many as there are processors, and stores them in groups as they come.
async fn index_changed(
    shared: &Shared,
    index: &index::Index,
    root: PathBuf,
    changed: Vec<FoundFile>,
    end: Instant,
) -> Result<Refreshed, Error> {
    let total = changed.len();
    let readers = std::thread::available_parallelism().map_or(2, NonZero::get);
    let root: Arc<Path> = root.into();
    let read = |found| read_document(Arc::clone(&root), found, &shared.parser, &shared.settings);
    // A document that takes longer than there is time would otherwise never be read; how long each takes is bounded.
    let begun = stream::iter(changed).take_while(|_| future::ready(Instant::now() < end));
    let mut batches = begun.map(read).buffer_unordered(readers).ready_chunks(MAX_BATCH);
    let mut done = 0;
    while let Some(batch) = batches.next().await {
        let mut entries = Vec::new();
        for read in batch {
            match read {
                ReadOutcome::Entry(entry) => entries.push(*entry),
                ReadOutcome::Gone => {}
                ReadOutcome::Later => continue,
            }
            done += 1;
        }
        index.put(&entries).await?;
    }
    Ok(Refreshed { changed: total > 0, waiting: total - done })
}

/// What came of reading a document.
enum ReadOutcome {
    Entry(Box<Entry>),
    /// It went away meanwhile; the next look at the folder knows.
    Gone,
    /// There was nobody to read it.
    Later,
}

async fn read_document(root: Arc<Path>, found: FoundFile, parser: &Parser, settings: &Settings) -> ReadOutcome {
    let name = address::shown(Path::new(&found.name));
    let entry = Entry { path: found.path, stamp: found.stamp, title: name, ..Entry::default() };
    let skipped = |reason| ReadOutcome::Entry(Box::new(Entry { skipped: Some(reason), ..entry.clone() }));
    let retried = |reason| {
        let retry_at = Some(Timestamp::now().plus(settings.retry_after));
        ReadOutcome::Entry(Box::new(Entry { skipped: Some(reason), retry_at, ..entry.clone() }))
    };
    let max_bytes = settings.max_file_bytes;
    let bytes = match spawn_blocking(move || files::read_beneath(&root, &found.file, max_bytes))
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
    {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return skipped("it has grown too large".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return ReadOutcome::Gone,
        // Folders of a network come back.
        Err(error) => return retried(walk::reason(&error)),
    };
    match parser.document(&found.shown, found.format, &bytes).await {
        Ok(document) => {
            let unreadable = skipped("it cannot be read".into());
            aside(move || ReadOutcome::Entry(Box::new(filled(entry, document)))).await.unwrap_or(unreadable)
        }
        Err(pages::Error::Unreadable(reason)) => skipped(reason.to_string()),
        Err(pages::Error::Unfinished(reason)) => retried(reason.to_string()),
        Err(error) => {
            tracing::warn!(document = found.shown, %error, "a document was not read");
            ReadOutcome::Later
        }
    }
}

pub(super) fn filled(entry: Entry, document: Document) -> Entry {
    let mut passages = Vec::new();
    for section in &document.sections {
        add_passages(&entry.path, section, &mut passages);
    }
    let too_long = (passages.len() > MAX_PASSAGES).then(|| "only its first part is searched".to_owned());
    passages.truncate(MAX_PASSAGES);
    Entry {
        published: document.date(Some(&entry.title)),
        title: document.title.unwrap_or(entry.title),
        author: document.author,
        skipped: document.missing.or(too_long),
        passages,
        ..entry
    }
}

fn add_passages(path: &str, section: &Section, passages: &mut Vec<Passage>) {
    for (within, body) in passages::split(&section.text).into_iter().enumerate() {
        let url = address::of_passage(path, section.anchor.as_deref(), within + 1, passages.len() + 1);
        let headings = section.path.clone();
        passages.push(Passage { url, section: section.label.clone(), headings, body });
    }
}

/// Makes the list of what cannot be found, and why.
fn report(
    shared: &Shared,
    mut skipped: Vec<Skipped>,
    found: &[FoundFile],
    known: &HashMap<String, IndexedFile>,
    waiting: usize,
) {
    let reason = |found: &FoundFile| known.get(&found.path).and_then(|known| known.skipped.clone());
    skipped
        .extend(found.iter().filter_map(|found| Some(Skipped { reason: reason(found)?, path: found.shown.clone() })));
    skipped.sort_by(|one, other| one.path.cmp(&other.path));
    if skipped.len() > MAX_SKIPPED {
        let more = skipped.len() - MAX_SKIPPED;
        skipped.truncate(MAX_SKIPPED);
        skipped.push(Skipped { path: ".".into(), reason: format!("{more} more") });
    }
    if waiting > 0 {
        skipped.push(Skipped { path: ".".into(), reason: format!("{waiting} documents are not indexed yet") });
    }
    *shared.skipped.lock() = skipped;
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_document_where_the_walk_could_not_look_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        // It fails as a share does that is away.
        std::os::unix::fs::symlink(folder.path().join("away"), folder.path().join("away")).unwrap();
        let walk = walk::walk(folder.path(), &Settings::default()).unwrap();
        let file = IndexedFile { stamp: String::new(), skipped: None, retry_at: None };
        let known = ["away/dues.txt", "dues.txt"].map(|path| (path.to_owned(), file.clone()));
        assert_eq!(gone(&walk, &known.into()), ["dues.txt"]);
    }
}
