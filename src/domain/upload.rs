//! Documents that users give to a thread, or to a collection of theirs.

use serde::Serialize;
use uuid::Uuid;

use super::{CollectionId, DocumentId, ThreadId, Timestamp};

/// A document, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Upload {
    pub id: DocumentId,
    /// As its file was called.
    pub name: String,
    pub size_bytes: u64,
    /// Of its text.
    pub characters: u64,
    pub title: Option<String>,
    pub author: Option<String>,
    /// `YYYY-MM-DD`.
    pub published: Option<String>,
    /// What could not be read of it, for people.
    pub missing: Option<String>,
    pub created_at: Timestamp,
}

/// Documents that an owner keeps together, for runs of any of their threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collection {
    pub id: CollectionId,
    pub name: String,
    /// How many it has.
    pub documents: u64,
    /// Of their texts.
    pub characters: u64,
    pub created_at: Timestamp,
}

/// What documents are given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentSet {
    Thread(ThreadId),
    Collection(CollectionId),
}

impl DocumentSet {
    pub fn id(self) -> Uuid {
        match self {
            Self::Thread(id) => id.0,
            Self::Collection(id) => id.0,
        }
    }

    pub fn thread_id(self) -> Option<ThreadId> {
        match self {
            Self::Thread(id) => Some(id),
            Self::Collection(_) => None,
        }
    }

    pub fn collection_id(self) -> Option<CollectionId> {
        match self {
            Self::Thread(_) => None,
            Self::Collection(id) => Some(id),
        }
    }
}
