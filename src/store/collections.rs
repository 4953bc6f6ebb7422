//! Collections of documents: made, listed, renamed, deleted, and found by those who name them for a run.

use super::{
    Cursor, Error, Page, Store,
    attempts::{ask, attempt, change, ensure, remove},
};
use crate::domain::{Collection, CollectionId, Owner, RunId, Timestamp};

/// Collections that an owner may have.
pub const MAX_COLLECTIONS_OF_AN_OWNER: u64 = 100;

/// A collection to be stored.
#[derive(Clone, Debug)]
pub struct NewCollection {
    pub id: CollectionId,
    pub owner: Owner,
    pub name: String,
    pub created_at: Timestamp,
}

impl Store {
    /// Adds a collection; `false` when its owner has [`MAX_COLLECTIONS_OF_AN_OWNER`] of them.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn add_collection(&self, new: &NewCollection) -> Result<bool, Error> {
        change!(self, engine => engine.add_collection(new).await)
    }

    /// Returns a page of the collections, of that owner if one is given, newest first.
    pub async fn collections(
        &self,
        owner: Option<&Owner>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Collection>, Error> {
        ask!(self, engine => engine.collections(owner, after, limit).await)
    }

    /// Returns a collection of that owner, or of anybody when none is given, and whose it is; `None` when there is
    /// none.
    pub async fn collection_of(
        &self,
        owner: Option<&Owner>,
        id: CollectionId,
    ) -> Result<Option<(Collection, Owner)>, Error> {
        ask!(self, engine => engine.collection_of(owner, id).await)
    }

    /// Gives a collection another name; `false` when there is none.
    pub async fn rename_collection(&self, id: CollectionId, name: &str) -> Result<bool, Error> {
        ensure!(self, engine => engine.rename_collection(id, name).await)
    }

    /// Deletes a collection with its documents; `false` when there was none.
    pub async fn delete_collection(&self, id: CollectionId) -> Result<bool, Error> {
        remove!(self, engine => engine.delete_collection(id).await)
    }

    /// Returns which of these collections are there, of that owner if one is given.
    pub async fn collections_named(
        &self,
        owner: Option<&Owner>,
        ids: &[CollectionId],
    ) -> Result<Vec<Collection>, Error> {
        ask!(self, engine => engine.collections_named(owner, ids).await)
    }

    /// Returns the collections that a run searches, but for those that were deleted since it was created.
    pub async fn collections_of_run(&self, run_id: RunId) -> Result<Vec<CollectionId>, Error> {
        ask!(self, engine => engine.collections_of_run(run_id).await)
    }
}
