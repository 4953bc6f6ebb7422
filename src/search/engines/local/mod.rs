//! A folder of documents as a search engine: read, cut into passages, indexed, ranked; no network, no key.
//!
//! `refresh` keeps the index equal to the folder (`walk`, then `pages` for what changed, then `index`); a search is
//! `query` → `index` → `rank`. Nothing here writes into the folder.

mod address;
mod documents;
mod index;
mod query;
mod rank;
mod refresh;
mod uploads;
mod walk;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{sync::RwLock, task::spawn_blocking};

pub use self::{
    documents::ROW,
    uploads::{ReadUpload, UploadError},
};
use self::{index::Index, query::Query, rank::Candidate, refresh::Progress};
use crate::{
    files,
    pages::Parser,
    search::{Error, Hit, Limits, Opened, Skipped},
};

/// How many passages the index offers for ranking.
const MAX_CANDIDATES: usize = 100;
/// A list of skipped documents is for reading; the rest of it is counted.
const MAX_SKIPPED: usize = 1_000;

/// What is read of a folder, and how long that may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Larger files are skipped unread.
    pub max_file_bytes: u64,
    /// Further documents are skipped.
    pub max_files: usize,
    /// Of all documents together; further ones are skipped.
    pub max_total_bytes: u64,
    /// The folder is looked at again before a search, but not more often than this.
    pub rescan_after: Duration,
    /// How long [`Local::open`] begins with further documents before it goes on with what it has.
    pub open_budget: Duration,
    /// The same for the look before a search.
    pub refresh_budget: Duration,
    /// When a document that could not be read because of the machine is tried again.
    pub retry_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_file_bytes: 50 * 1024 * 1024,
            max_files: 20_000,
            max_total_bytes: 4 * 1024 * 1024 * 1024,
            rescan_after: Duration::from_secs(2),
            open_budget: Duration::from_secs(300),
            refresh_budget: Duration::from_secs(10),
            retry_after: Duration::from_secs(15 * 60),
        }
    }
}

/// A searchable folder; clones share one index.
#[derive(Clone)]
pub struct Local {
    shared: Arc<Shared>,
}

struct Shared {
    /// Absolute.
    folder: PathBuf,
    index_file: PathBuf,
    settings: Settings,
    parser: Parser,
    /// Written only to put a new index in place of a damaged one.
    index: RwLock<Index>,
    /// Held while the index is brought up to date, so that only one search at a time does it and the others wait.
    progress: tokio::sync::Mutex<Progress>,
    /// Held only to copy or replace the list.
    skipped: Mutex<Vec<Skipped>>,
}

impl fmt::Debug for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl Local {
    /// Opens the folder and indexes what is new or changed since the index in `index_dir` was written.
    ///
    /// `index_dir` is made if it is missing. What does not fit into [`Settings::open_budget`] is indexed by the next
    /// searches; until then [`Local::skipped`] says so.
    ///
    /// # Errors
    /// [`Error::Documents`] when the folder cannot be listed or no index can be kept in `index_dir`.
    pub async fn open(folder: &Path, index_dir: &Path, settings: Settings, parser: Parser) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(|error| failed(folder, &error))?;
        let index_file = index::file_of(&folder, index_dir);
        prepared(folder.clone(), index_dir.to_owned()).await?;
        let index = Index::open(&index_file).await.map_err(|error| failed(&index_file, &error))?;
        let shared = Shared {
            folder,
            index_file,
            index: RwLock::new(index),
            progress: tokio::sync::Mutex::default(),
            skipped: Mutex::default(),
            settings,
            parser,
        };
        let local = Self { shared: Arc::new(shared) };
        local.refresh(local.shared.settings.open_budget).await?;
        Ok(local)
    }

    /// Returns the folder, as an absolute path.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Returns the documents that are in the folder but cannot be found, and why; ordered by path, about 1,000 at
    /// most.
    pub fn skipped(&self) -> Vec<Skipped> {
        self.shared.skipped.lock().clone()
    }

    /// Closes the index file, for an orderly end; searches after that fail.
    pub async fn close(&self) {
        self.shared.index.read().await.close().await;
    }

    async fn find_hits(&self, query: &str, limits: &Limits) -> Result<Vec<Hit>, Error> {
        let query = Query::parse(query);
        let Some(expression) = query.expression() else {
            return Err(Error::BadQuery("there is no word in it".into()));
        };
        let candidates = self.find(&expression).await.map_err(without_path)?;
        let picked = rank::pick(&query, candidates, limits.max_results);
        Ok(picked.into_iter().map(|(score, candidate)| hit(score, candidate)).collect())
    }

    async fn find(&self, expression: &str) -> Result<Vec<Candidate>, Error> {
        self.refresh(self.shared.settings.refresh_budget).await?;
        let candidates = match self.candidates(expression).await {
            Err(index::Error::Unusable) => {
                self.start_over().await?;
                self.candidates(expression).await
            }
            candidates => candidates,
        };
        candidates.map_err(|error| failed(&self.shared.index_file, &error))
    }

    /// Returns the document that has the passage of that address.
    async fn opened(&self, address: &str) -> Result<Option<Opened>, Error> {
        let path = address.split('#').next().unwrap_or_default();
        let opened = self.shared.index.read().await.document(path).await;
        let opened = opened.map_err(|error| without_path(failed(&self.shared.index_file, &error)))?;
        Ok(opened.map(|opened| Opened { engine: ROW.name.to_owned(), ..opened }))
    }

    async fn candidates(&self, expression: &str) -> Result<Vec<Candidate>, index::Error> {
        self.shared.index.read().await.search(expression, MAX_CANDIDATES).await
    }

    /// Brings the index up to date with the folder, unless that was done a moment ago; begins no document after
    /// `budget`. Who waits for another search to do it goes on with what that one left.
    async fn refresh(&self, budget: Duration) -> Result<(), Error> {
        let called = Instant::now();
        let mut progress = self.shared.progress.lock().await;
        if progress.is_fresh(self.shared.settings.rescan_after) || progress.ended_since(called) {
            return Ok(());
        }
        let end = Instant::now() + budget;
        match refresh::run(&self.shared, &mut progress, end).await {
            Err(refresh::Error::Index(index::Error::Unusable)) => {
                self.renew_index().await?;
                refresh::run(&self.shared, &mut progress, end).await
            }
            done => done,
        }
        .map_err(|error| match error {
            refresh::Error::Folder(error) => failed(&self.shared.folder, &error),
            refresh::Error::Index(error) => failed(&self.shared.index_file, &error),
        })
    }

    /// Makes a new index after damage met in the middle of a search, filled as at the start.
    async fn start_over(&self) -> Result<(), Error> {
        {
            let mut progress = self.shared.progress.lock().await;
            self.renew_index().await?;
            *progress = Progress::default();
        }
        self.refresh(self.shared.settings.open_budget).await
    }

    async fn renew_index(&self) -> Result<(), Error> {
        let file = &self.shared.index_file;
        tracing::warn!(file = %file.display(), "the index of the documents folder is damaged and is rebuilt");
        let mut index = self.shared.index.write().await;
        index.close().await;
        *index = Index::renew(file).await.map_err(|error| failed(file, &error))?;
        Ok(())
    }
}

/// Makes the folder of the index, and looks whether the documents can be listed: both may take long on a network.
async fn prepared(folder: PathBuf, index_dir: PathBuf) -> Result<(), Error> {
    let prepare = move || {
        std::fs::read_dir(&folder).map_err(|error| failed(&folder, &error))?;
        files::create_private_folder(&index_dir).map_err(|error| failed(&index_dir, &error))
    };
    spawn_blocking(prepare).await.unwrap_or_else(|error| Err(Error::Documents(error.to_string())))
}

fn failed(what: &Path, why: &dyn fmt::Display) -> Error {
    Error::Documents(format!("{}: {why}", what.display()))
}

/// Replaces an error that names a path, and logs it. A failed search becomes an event of its run, which any client
/// reads; where things lie is for the log alone.
fn without_path(error: Error) -> Error {
    match error {
        Error::Documents(detail) => {
            tracing::warn!(detail, "the documents folder cannot be searched");
            Error::Documents("it or its index cannot be read; the log of the service says why".into())
        }
        other => other,
    }
}

fn hit(score: f64, candidate: Candidate) -> Hit {
    Hit {
        url: candidate.url,
        title: candidate.title,
        section: candidate.section,
        snippet: candidate.body,
        raw_content: None,
        score: Some((score * 1000.0).round() / 1000.0),
        published: candidate.published,
        engine: ROW.name.into(),
        about: super::super::About::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pages;

    /// What a parser process says first, as the shell says it.
    const HELLO: &str = r#"printf '\042\000\000\000{"fathom_parser":2,"unlimited":[]}'"#;

    /// Creates a folder with so many documents, and a parser that says hello and then does that; it has 2 s for each.
    async fn folder(documents: usize, then: &str, budget: Duration) -> (Local, [tempfile::TempDir; 2]) {
        let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for number in 0..documents {
            std::fs::write(folder.path().join(format!("{number}.txt")), format!("Dues of {number} crowns")).unwrap();
        }
        let (text, program) = (aside.path().join("text"), aside.path().join("parser"));
        std::fs::write(&text, format!("#!/bin/sh\n{HELLO}\n{then}\nexec sleep 60\n")).unwrap();
        // Copied by another process, since a program that this one has open for writing cannot be started.
        assert!(std::process::Command::new("install").arg("-m755").args([&text, &program]).status().unwrap().success());
        let document_time = Duration::from_secs(2);
        let parser = Parser::new(pages::Settings { program: Some(program), document_time, ..Default::default() });
        let (open_budget, retry_after) = (Duration::ZERO, Duration::from_secs(3));
        let settings = Settings { open_budget, refresh_budget: budget, retry_after, ..Settings::default() };
        let local = Local::open(folder.path(), &aside.path().join("index"), settings, parser).await.unwrap();
        (local, [folder, aside])
    }

    /// A parser that never answers leaves the index incomplete.
    #[tokio::test]
    async fn searches_that_wait_for_another_do_not_index_in_turn() {
        let budget = Duration::from_secs(1);
        let (local, _folders) = folder(200, "", budget).await;
        let begun = Instant::now();
        let looks = futures::future::join_all((0..8).map(|_| local.refresh(budget))).await;
        assert!(looks.iter().all(Result::is_ok), "{looks:?}");
        assert!(begun.elapsed() < 8 * budget, "{:?}", begun.elapsed());
        assert!(local.skipped().iter().any(|skipped| skipped.reason.ends_with("are not indexed yet")), "they wait");
    }

    /// Returns the line of a shell script that answers with a document.
    fn answer() -> String {
        let answer = json!({"Document": {"title": "Ledger", "published": null, "missing": null,
            "sections": [{"label": null, "path": "", "anchor": null, "text": "Dues of crowns."}]}});
        let answer = answer.to_string();
        format!("printf '\\{:03o}\\000\\000\\000{answer}'", answer.len())
    }

    #[tokio::test]
    async fn what_the_system_ended_is_tried_again_later() {
        let aside = tempfile::tempdir().unwrap();
        let starts = aside.path().join("starts");
        let first = format!("echo >>'{0}'\n[ $(wc -l <'{0}') -gt 1 ] || kill -KILL $$", starts.display());
        let (local, _folders) = folder(1, &format!("{first}\n{}", answer()), Duration::from_secs(5)).await;
        let titles = async || {
            let found = local.find_hits("dues", &Limits::default()).await.unwrap();
            found.into_iter().map(|hit| hit.title).collect::<Vec<_>>()
        };
        let started = || std::fs::read_to_string(&starts).unwrap().lines().count();
        assert_eq!((titles().await, started()), (vec![], 1));
        assert!(local.skipped()[0].reason.contains("ended its parser"), "{:?}", local.skipped());
        *local.shared.progress.lock().await = Progress::default();
        assert_eq!((titles().await, started()), (vec![], 1), "not yet");
        tokio::time::sleep(local.shared.settings.retry_after).await;
        assert_eq!((titles().await, started()), (vec!["Ledger".to_owned()], 2));
        assert_eq!(local.skipped(), []);
    }

    #[tokio::test]
    async fn a_document_is_read_however_long_it_takes() {
        let then = format!("sleep 1\n{}", answer());
        let (local, _folders) = folder(1, &then, Duration::from_millis(100)).await;
        let found = local.find_hits("dues", &Limits::default()).await.unwrap();
        assert_eq!(found.iter().map(|hit| &*hit.title).collect::<Vec<_>>(), ["Ledger"], "{:?}", local.skipped());
    }
}
