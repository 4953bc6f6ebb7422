//! Collections of documents, each of one owner, and which of them a run may search.

use serde_json::{Map, Value};

use super::{Cursor, Page, Refusal, Runs, owned::Access};
use crate::{
    domain::{Caller, Collection, CollectionId, Owner, Reach, Run, RunOptions, Timestamp},
    store::{self, NewCollection, NewRun, Store},
};

/// Characters of all collections that one run searches: it has their texts in memory.
const MAX_CHARS: u64 = 20_000_000;

/// A collection that its caller may see and change.
#[derive(Clone, Debug)]
pub struct OwnedCollection {
    pub(super) collection: Collection,
    pub(super) access: Access,
}

/// Who names collections for a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming<'a> {
    /// Whose they may be; `None`: anybody's.
    whose: Option<&'a Owner>,
    /// Or they are named by what the request goes on from.
    by_request: bool,
}

impl Runs {
    /// Makes an empty collection.
    ///
    /// # Errors
    /// [`Refusal::TooManyCollections`], and those of the store.
    pub async fn create_collection(&self, caller: &Caller, name: &str) -> Result<Collection, Refusal> {
        let (id, created_at) = (CollectionId::new(), Timestamp::now());
        let new = NewCollection { id, owner: caller.owner.clone(), name: name.to_owned(), created_at };
        match self.parts.store.add_collection(&new).await? {
            true => Ok(Collection { id, name: new.name, documents: 0, characters: 0, created_at }),
            false => Err(Refusal::TooManyCollections { limit: store::MAX_COLLECTIONS_OF_AN_OWNER }),
        }
    }

    /// Returns a page of the caller's collections, newest first.
    ///
    /// # Errors
    /// Those of the store, as of the next.
    pub async fn collections(
        &self,
        caller: &Caller,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<Collection>, store::Error> {
        self.parts.store.collections(caller.sees_only(), after, limit).await
    }

    /// Returns a collection of the caller's; `None` when there is none.
    pub async fn collection(&self, caller: &Caller, id: CollectionId) -> Result<Option<OwnedCollection>, store::Error> {
        let found = self.parts.store.collection_of(caller.sees_only(), id).await?;
        Ok(found.map(|(collection, owner)| OwnedCollection { collection, access: self.access(caller, owner) }))
    }

    /// Returns the run with the collections that it may search; see [`Self::searchable`].
    ///
    /// # Errors
    /// As there.
    pub(super) async fn with_collections(&self, new_run: NewRun, naming: Naming<'_>) -> Result<NewRun, Refusal> {
        let collections = self.searchable(&new_run.options, naming).await?;
        Ok(NewRun { collections, ..new_run })
    }

    /// Returns the collections that options name and that are there. A missing one is refused where the request itself
    /// names it: those that its thread names, or the run that is retried, may have been deleted since.
    ///
    /// # Errors
    /// [`Refusal::NoSuchCollection`] and [`Refusal::CollectionsTooLong`].
    pub(super) async fn searchable(
        &self,
        options: &RunOptions,
        naming: Naming<'_>,
    ) -> Result<Vec<CollectionId>, Refusal> {
        let named = &options.collections;
        let found = self.parts.store.collections_named(naming.whose, named).await?;
        let missing = named.iter().find(|id| found.iter().all(|found| found.id != **id));
        if let (Some(id), true) = (missing, naming.by_request) {
            return Err(Refusal::NoSuchCollection(*id));
        }
        if found.iter().map(|found| found.characters).sum::<u64>() > MAX_CHARS {
            return Err(Refusal::CollectionsTooLong { limit: MAX_CHARS });
        }
        Ok(found.into_iter().map(|found| found.id).collect())
    }
}

impl OwnedCollection {
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    pub fn owner(&self) -> &Owner {
        self.access.owner()
    }

    /// Returns the collection under another name; `None` when it was deleted meanwhile.
    ///
    /// # Errors
    /// Those of the store, as of the next.
    pub async fn rename(&self, name: &str) -> Result<Option<Collection>, store::Error> {
        let renamed = self.access.store().rename_collection(self.collection.id, name).await?;
        Ok(renamed.then(|| Collection { name: name.to_owned(), ..self.collection.clone() }))
    }

    /// Deletes it with its documents; `false` when it was deleted meanwhile.
    pub async fn delete(&self) -> Result<bool, store::Error> {
        self.access.store().delete_collection(self.collection.id).await
    }
}

impl<'a> Naming<'a> {
    /// Names by a caller with these options of a request, for a thread of that owner. A run searches what its thread's
    /// owner has, no matter who asks for it; where users share the service, they share their collections too.
    pub(super) fn new(caller: &Caller, owner: &'a Owner, given: &Map<String, Value>) -> Self {
        let is_shared = caller.reach == Reach::Shared && caller.key.is_none();
        Self { whose: (!is_shared).then_some(owner), by_request: given.contains_key("collections") }
    }

    /// Names at the command line, which reaches the whole database, for a new thread.
    pub(super) fn here() -> Self {
        Self { whose: None, by_request: true }
    }

    /// Returns the same with options that go on from those of a run.
    pub(super) fn again_here() -> Self {
        Self { whose: None, by_request: false }
    }
}

/// Returns the collections that a run names and cannot search: deleted, or another owner's.
///
/// # Errors
/// Those of the store.
pub(super) async fn missing(store: &Store, run: &Run) -> Result<Vec<CollectionId>, store::Error> {
    if run.options.collections.is_empty() {
        return Ok(Vec::new());
    }
    let there = store.collections_of_run(run.id).await?;
    Ok(run.options.collections.iter().filter(|id| !there.contains(id)).copied().collect())
}
