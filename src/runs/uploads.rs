//! Documents of a thread: read to text when they are given, searched by the runs that begin afterwards.

use super::{OwnedThread, Parts, Refusal, Runs};
use crate::{
    domain::{Caller, DocumentId, RunId, Thread, ThreadId, Timestamp, Upload},
    search::{self, ReadUpload},
    store::{self, NewUpload, ThreadOf, Uploaded},
};

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
        let new = NewUpload { thread: Some(thread), ..parts.new_upload(thread_id, read) };
        parts.store.add_upload(&new).await?;
        let thread = parts.store.thread(thread_id).await?.ok_or(Refusal::NoSuchThread)?;
        Ok((thread, new.upload))
    }
}

impl OwnedThread {
    /// Reads a document and keeps its text with the thread; one that the thread has is returned as it is, with `false`.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn add_document(&self, name: &str, bytes: &[u8]) -> Result<(Upload, bool), Refusal> {
        let parts = self.access.parts();
        let read = parts.means.engines.read_upload(self.owner(), name, bytes).await?;
        let new = parts.new_upload(self.thread.id, read);
        match parts.store.add_upload(&new).await? {
            Uploaded::New => Ok((new.upload, true)),
            Uploaded::Before(upload) => Ok((upload, false)),
            Uploaded::TooMany => Err(Refusal::TooManyDocuments { limit: new.limit }),
            Uploaded::NoSuchThread => Err(Refusal::NoSuchThread),
        }
    }

    /// Its documents, oldest first.
    ///
    /// # Errors
    /// Those of the store, as of the next.
    pub async fn documents(&self) -> Result<Vec<Upload>, store::Error> {
        self.access.parts().store.uploads(self.thread.id).await
    }

    /// Removes a document; `false` when the thread has none of that id.
    pub async fn remove_document(&self, id: DocumentId) -> Result<bool, store::Error> {
        self.access.parts().store.remove_upload(self.thread.id, id, Timestamp::now()).await
    }
}

impl Parts {
    fn new_upload(&self, thread_id: ThreadId, read: ReadUpload) -> NewUpload {
        NewUpload {
            thread_id,
            upload: read.upload,
            content_hash: read.content_hash,
            sections: read.sections,
            limit: self.settings.queue.max_documents_per_thread,
            thread: None,
        }
    }

    /// Has a thread documents of its own?
    pub(super) async fn has_documents(&self, thread_id: ThreadId) -> Result<bool, store::Error> {
        Ok(!self.store.uploads(thread_id).await?.is_empty())
    }
}

pub(super) async fn load(store: store::Store, run_id: RunId) -> Result<Vec<(Upload, String)>, search::Error> {
    store.uploads_of_run(run_id).await.map_err(|error| search::Error::Documents(error.to_string()))
}
