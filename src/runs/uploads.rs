//! Documents of threads and of collections: read to text when they are given, searched by the runs that begin
//! afterwards.

use super::{OwnedCollection, OwnedThread, Parts, Refusal, Runs, owned::Access};
use crate::{
    domain::{Caller, DocumentId, DocumentSet, Owner, RunId, Thread, ThreadId, Timestamp, Upload},
    search::{self, ReadUpload},
    store::{self, NewUpload, ThreadOf, Uploaded},
};

/// What has documents of its own.
pub trait HasDocuments {
    fn documents(&self) -> OwnedDocuments;
}

/// The documents of a thread or a collection that its caller may see and change.
#[derive(Clone, Debug)]
pub struct OwnedDocuments {
    pub(super) set: DocumentSet,
    pub(super) access: Access,
}

impl HasDocuments for OwnedThread {
    fn documents(&self) -> OwnedDocuments {
        OwnedDocuments { set: DocumentSet::Thread(self.thread.id), access: self.access.clone() }
    }
}

impl HasDocuments for OwnedCollection {
    fn documents(&self) -> OwnedDocuments {
        OwnedDocuments { set: DocumentSet::Collection(self.collection.id), access: self.access.clone() }
    }
}

impl Runs {
    /// Reads a document and makes a thread for it, whose first message is still to come.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn create_thread_with(
        &self,
        caller: &Caller,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Thread, Upload), Refusal> {
        let (parts, thread_id) = (&self.parts, ThreadId::new());
        let read = parts.means.engines.read_upload(&caller.owner, name, bytes).await?;
        let thread = ThreadOf { owner: caller.owner.clone(), limit: parts.settings.queue.max_threads_per_owner };
        let new = NewUpload { thread: Some(thread), ..parts.new_upload(DocumentSet::Thread(thread_id), read) };
        let (upload, _) = added(parts.store.add_upload(&new).await?, new)?;
        let thread = parts.store.thread(thread_id).await?.ok_or(Refusal::NoSuchThread)?;
        Ok((thread, upload))
    }
}

impl OwnedDocuments {
    pub fn set(&self) -> DocumentSet {
        self.set
    }

    /// Returns the owner of the documents.
    pub fn owner(&self) -> &Owner {
        self.access.owner()
    }

    /// Reads a document and keeps its text; one that is there is returned as it is, with `false`.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn add(&self, name: &str, bytes: &[u8]) -> Result<(Upload, bool), Refusal> {
        let parts = self.access.parts();
        let read = parts.means.engines.read_upload(self.owner(), name, bytes).await?;
        let new = parts.new_upload(self.set, read);
        added(parts.store.add_upload(&new).await?, new)
    }

    /// Returns all of them, oldest first.
    ///
    /// # Errors
    /// Those of the store, as of the next.
    pub async fn list(&self) -> Result<Vec<Upload>, store::Error> {
        self.access.store().uploads(self.set).await
    }

    /// Removes a document; `false` when there is none of that id.
    pub async fn remove(&self, id: DocumentId) -> Result<bool, store::Error> {
        self.access.store().remove_upload(self.set, id, Timestamp::now()).await
    }
}

/// Returns the document that its set has, and whether it is new.
fn added(uploaded: Uploaded, new: NewUpload) -> Result<(Upload, bool), Refusal> {
    match uploaded {
        Uploaded::New => Ok((new.upload, true)),
        Uploaded::Before(upload) => Ok((upload, false)),
        Uploaded::TooMany => Err(Refusal::TooManyDocuments { limit: new.limit }),
        Uploaded::NoSuchSet => Err(match new.set {
            DocumentSet::Thread(_) => Refusal::NoSuchThread,
            DocumentSet::Collection(id) => Refusal::NoSuchCollection(id),
        }),
    }
}

impl Parts {
    fn new_upload(&self, set: DocumentSet, read: ReadUpload) -> NewUpload {
        NewUpload {
            set,
            upload: read.upload,
            content_hash: read.content_hash,
            sections: read.sections,
            limit: self.settings.queue.max_documents_per_thread,
            thread: None,
        }
    }

    /// Returns whether a thread has documents of its own.
    pub(super) async fn has_documents(&self, thread_id: ThreadId) -> Result<bool, store::Error> {
        Ok(!self.store.uploads(DocumentSet::Thread(thread_id)).await?.is_empty())
    }
}

pub(super) async fn load(store: store::Store, run_id: RunId) -> Result<Vec<(Upload, String)>, search::Error> {
    store.uploads_of_run(run_id).await.map_err(|error| search::Error::Documents(error.to_string()))
}
