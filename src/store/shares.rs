//! Links by which anybody may read a thread. Secrets are not stored, only their SHA-256.

use super::{
    Error, Store,
    attempts::{ask, attempt, change},
};
use crate::domain::{Share, ShareId, ThreadId, Timestamp};

/// Links that a thread may have at the same time.
pub const MAX_SHARES: u32 = 100;

/// A link to be stored.
#[derive(Clone, Debug)]
pub struct NewShare {
    pub share: Share,
    pub thread_id: ThreadId,
    /// SHA-256.
    pub secret_hash: [u8; 32],
}

impl Store {
    /// Stores a link, and takes away those of its thread that show nothing any more; `false` when the thread is gone,
    /// or has as many links as it may have.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn add_share(&self, new: &NewShare) -> Result<bool, Error> {
        change!(self, engine => engine.add_share(new).await)
    }

    /// Returns the links by which a thread can be read now, newest first.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn shares(&self, thread_id: ThreadId, now: Timestamp) -> Result<Vec<Share>, Error> {
        ask!(self, engine => engine.shares(thread_id, now).await)
    }

    /// Returns a link with the thread that it shows and the SHA-256 of its secret.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn share(&self, id: ShareId) -> Result<Option<(Share, ThreadId, Vec<u8>)>, Error> {
        ask!(self, engine => engine.share(id).await)
    }

    /// Ends a link of that thread; `None` when there is none. The first time counts.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn revoke_share(&self, thread_id: ThreadId, id: ShareId, now: Timestamp) -> Result<Option<Share>, Error> {
        change!(self, engine => engine.revoke_share(thread_id, id, now).await)
    }
}
