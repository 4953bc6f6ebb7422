//! Documents that users give to a thread.

use serde::Serialize;

use super::{DocumentId, Timestamp};

/// A document of a thread, without its text.
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
