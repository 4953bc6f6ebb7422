//! Documents of threads: given, listed, removed, and read by the runs that may search them.

use std::time::Instant;

use super::{
    Error, Store,
    attempts::{AGAIN_WITHIN, ask, attempt, change},
};
use crate::domain::{DocumentId, Owner, RunId, ThreadId, Timestamp, Upload};

/// A document that is given to a thread.
#[derive(Clone, Debug)]
pub struct NewUpload {
    pub thread_id: ThreadId,
    pub upload: Upload,
    /// SHA-256 of the file, hex.
    pub content_hash: String,
    /// JSON.
    pub sections: String,
    /// Documents that the thread may have.
    pub limit: u64,
    /// The thread is made for it.
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
    /// The thread has this one, with the same name and content.
    Before(Upload),
    TooMany,
    NoSuchThread,
}

impl Store {
    /// Adds a document to a thread, unless it has as many as it may, or this one.
    pub async fn add_upload(&self, new: &NewUpload) -> Result<Uploaded, Error> {
        change!(self, engine => engine.add_upload(new).await)
    }

    /// The documents of a thread, oldest first.
    pub async fn uploads(&self, thread_id: ThreadId) -> Result<Vec<Upload>, Error> {
        ask!(self, engine => engine.uploads(thread_id).await)
    }

    /// Removes a document and its text; `false` when the thread has none of that id.
    pub async fn remove_upload(&self, thread_id: ThreadId, id: DocumentId, now: Timestamp) -> Result<bool, Error> {
        let begun = Instant::now();
        match change!(self, engine => engine.remove_upload(thread_id, id, now).await) {
            // Then it was there, or nothing says that it was not.
            Err(Error::Unavailable(_)) if begun.elapsed() < AGAIN_WITHIN => {
                change!(self, engine => engine.remove_upload(thread_id, id, now).await).map(|_| true)
            }
            answer => answer,
        }
    }

    /// Were there documents in the thread when the run was created? So it stays, whatever is removed since.
    pub async fn has_uploads(&self, run_id: RunId) -> Result<bool, Error> {
        ask!(self, engine => engine.has_uploads(run_id).await)
    }

    /// The documents that a run may search, with their sections as JSON, oldest first; without those removed since.
    pub async fn uploads_of_run(&self, run_id: RunId) -> Result<Vec<(Upload, String)>, Error> {
        ask!(self, engine => engine.uploads_of_run(run_id).await)
    }
}
