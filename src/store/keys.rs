//! Keys of the API and the sessions of browsers that signed in with one. Secrets are not stored, only their SHA-256.

use super::{
    Cursor, Error, Page, Store,
    attempts::{ask, attempt, change},
};
use crate::domain::{ApiKey, ApiKeyId, Timestamp};

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub key: ApiKey,
    /// SHA-256.
    pub secret_hash: [u8; 32],
}

/// A session to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewSession {
    pub id: ApiKeyId,
    pub key_id: ApiKeyId,
    /// SHA-256.
    pub secret_hash: [u8; 32],
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Store {
    /// Stores a key. One that was made at a sign-in through others takes those of its kind away that have expired.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn add_key(&self, new: &NewKey) -> Result<(), Error> {
        change!(self, engine => engine.add_key(new).await)
    }

    /// Returns a page of the keys, newest first, those that are not taken any more included.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn keys(&self, after: Option<Cursor>, limit: u32) -> Result<Page<ApiKey>, Error> {
        ask!(self, engine => engine.keys(after, limit).await)
    }

    /// Returns a key and the SHA-256 of its secret.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn key(&self, id: ApiKeyId) -> Result<Option<(ApiKey, Vec<u8>)>, Error> {
        ask!(self, engine => engine.key(id).await)
    }

    /// Ends a key and its sessions; `None` when there is no such key. The first time counts.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn revoke_key(&self, id: ApiKeyId, now: Timestamp) -> Result<Option<ApiKey>, Error> {
        change!(self, engine => engine.revoke_key(id, now).await)
    }

    /// Notes that a key was used, unless a use was noted after `before`.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn key_used(&self, id: ApiKeyId, now: Timestamp, before: Timestamp) -> Result<(), Error> {
        change!(self, engine => engine.key_used(id, now, before).await)
    }

    /// Stores a session, and takes away those that have expired.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn add_session(&self, new: &NewSession) -> Result<(), Error> {
        change!(self, engine => engine.add_session(new).await)
    }

    /// Returns the key that a session was begun with, the SHA-256 of the session's secret, and when the session ends.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn session(&self, id: ApiKeyId) -> Result<Option<(ApiKey, Vec<u8>, Timestamp)>, Error> {
        ask!(self, engine => engine.session(id).await)
    }

    /// Lets a session end at that time, if it would end later.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn shorten_session(&self, id: ApiKeyId, ends: Timestamp) -> Result<(), Error> {
        change!(self, engine => engine.shorten_session(id, ends).await)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Those of every method here.
    pub async fn end_session(&self, id: ApiKeyId) -> Result<(), Error> {
        change!(self, engine => engine.end_session(id).await)
    }
}
