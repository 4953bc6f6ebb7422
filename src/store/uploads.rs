//! Documents of threads and of collections: given, listed, removed, and read by the runs that may search them.

use super::{
    Error, Store,
    attempts::{ask, attempt, change, remove},
};
use crate::domain::{DocumentId, DocumentSet, Owner, RunId, Timestamp, Upload};

/// A document that is given to a thread or a collection.
#[derive(Clone, Debug)]
pub struct NewUpload {
    pub set: DocumentSet,
    pub upload: Upload,
    /// SHA-256 of the file, hex.
    pub content_hash: String,
    /// JSON.
    pub sections: String,
    /// Documents that the set may have.
    pub limit: u64,
    /// Its thread is made for it.
    pub thread: Option<ThreadOf>,
}

/// Whose a new thread is.
#[derive(Clone, Debug)]
pub struct ThreadOf {
    pub owner: Owner,
    /// Threads that the owner may have.
    pub limit: u64,
}

/// What became of a document that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uploaded {
    New,
    /// The set has this one, with the same name and content.
    Before(Upload),
    TooMany,
    NoSuchSet,
}

impl Store {
    /// Adds a document to a set, unless it has as many as it may, or this one.
    pub async fn add_upload(&self, new: &NewUpload) -> Result<Uploaded, Error> {
        change!(self, engine => engine.add_upload(new).await)
    }

    /// Returns the documents of a set, oldest first.
    pub async fn uploads(&self, set: DocumentSet) -> Result<Vec<Upload>, Error> {
        ask!(self, engine => engine.uploads(set).await)
    }

    /// Removes a document and its text; `false` when the set has none of that id.
    pub async fn remove_upload(&self, set: DocumentSet, id: DocumentId, now: Timestamp) -> Result<bool, Error> {
        remove!(self, engine => engine.remove_upload(set, id, now).await)
    }

    /// Returns whether there were documents in what the run searches when it was created, whatever was removed since.
    pub async fn has_uploads(&self, run_id: RunId) -> Result<bool, Error> {
        ask!(self, engine => engine.has_uploads(run_id).await)
    }

    /// Returns the documents that a run may search, with their sections as JSON, oldest first; without those removed
    /// since.
    pub async fn uploads_of_run(&self, run_id: RunId) -> Result<Vec<(Upload, String)>, Error> {
        ask!(self, engine => engine.uploads_of_run(run_id).await)
    }
}
