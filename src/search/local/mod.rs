//! A folder of documents as a search engine: read, cut into passages, indexed, ranked; no network, no key.

use std::{path::Path, time::Duration};

use super::{Error, Hit, Limits, Skipped};

/// What is read of a folder, and how long that may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Larger files are skipped unread.
    pub max_file_bytes: u64,
    /// Further documents are skipped, in order of their paths.
    pub max_files: usize,
    /// Of all documents together; further ones are skipped.
    pub max_total_bytes: u64,
    /// For one PDF.
    pub pdf_time_limit: Duration,
    /// The folder is looked at again before a search, but not more often than this.
    pub rescan_after: Duration,
    /// How long [`Local::open`] indexes before it goes on with what it has.
    pub open_budget: Duration,
    /// The same for the look before a search.
    pub refresh_budget: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_file_bytes: 50 * 1024 * 1024,
            max_files: 20_000,
            max_total_bytes: 4 * 1024 * 1024 * 1024,
            pdf_time_limit: Duration::from_secs(20),
            rescan_after: Duration::from_secs(2),
            open_budget: Duration::from_secs(300),
            refresh_budget: Duration::from_secs(10),
        }
    }
}

/// A searchable folder; clones share one index.
#[derive(Clone, Debug)]
pub struct Local {}

impl Local {
    /// Opens the folder and indexes what is new or changed since the index in `index_dir` was written.
    ///
    /// # Errors
    /// [`Error::Documents`] when the folder cannot be listed or no index can be kept in `index_dir`.
    pub async fn open(folder: &Path, _index_dir: &Path, _settings: Settings) -> Result<Self, Error> {
        Err(Error::Documents(format!("{} cannot be searched yet", folder.display())))
    }

    pub(super) async fn search(&self, _query: &str, _limits: &Limits) -> Result<Vec<Hit>, Error> {
        Ok(Vec::new())
    }

    /// Documents that are in the folder but cannot be found, and why; ordered by path, at most 1,000.
    pub fn skipped(&self) -> Vec<Skipped> {
        Vec::new()
    }
}
