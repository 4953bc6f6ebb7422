//! The log of who did what: a line each, with the target `audit`, for sign-ins, changes of keys, links, deletions, and
//! what administrators see or change of others. Ids and names alone: no key, cookie, token or link is in it.
//!
//! `by` is who acts and `by_key` the key they use; the rest is what it is about, `owner` whose it is.

use axum::http::{Uri, request::Parts};
use tracing::field::{DisplayValue, display};

use crate::{
    auth::{Principal, Session},
    domain::{ApiKey, ApiKeyId, Caller, CollectionId, DocumentId, DocumentSet, Owner, ShareId, ThreadId},
};

pub fn signed_in(key: &ApiKey, session: Session) {
    let (key_id, scope) = (key.id, key.scope.as_str());
    match &key.issuer {
        None => {
            tracing::info!(target: "audit", by = %key.owner, by_key = %key_id, scope, session = %session.id, "signed in");
        }
        Some(issuer) => {
            tracing::info!(target: "audit", by = %key.owner, by_key = %key_id, scope, session = %session.id, issuer, "signed in through the issuer");
        }
    }
}

/// Logs a sign-in with a key that is not accepted.
pub fn sign_in_refused() {
    tracing::info!(target: "audit", "a sign-in was refused");
}

pub fn signed_out(principal: &Principal, session: Session) {
    let (key, owner) = (principal.key.id, principal.owner());
    tracing::info!(target: "audit", by = %owner, by_key = %key, session = %session.id, "signed out");
}

pub fn key(by: &Principal, key: &ApiKey, what: &str) {
    let (by, by_key) = (by.owner(), by.key.id);
    tracing::info!(target: "audit", %by, %by_key, owner = %key.owner, key = %key.id, scope = key.scope.as_str(), "{what}");
}

/// Logs what is done to a key on the command line: who reaches the database needs no key, and so has no name here.
pub fn key_by_hand(key: &ApiKey, what: &str) {
    tracing::info!(target: "audit", by = "command line", owner = %key.owner, key = %key.id, scope = key.scope.as_str(), "{what}");
}

pub fn share(by: &Caller, owner: &Owner, thread_id: ThreadId, share: ShareId, what: &str) {
    tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), %owner, %thread_id, %share, "{what}");
}

pub fn thread_deleted(by: &Caller, owner: &Owner, thread_id: ThreadId) {
    tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), %owner, %thread_id, "a thread was deleted");
}

pub fn collection_deleted(by: &Caller, owner: &Owner, collection: CollectionId) {
    tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), %owner, %collection, "a collection was deleted");
}

pub fn document_removed(by: &Caller, owner: &Owner, from: DocumentSet, document: DocumentId) {
    let (thread_id, collection) = (from.thread_id().map(display), from.collection_id().map(display));
    tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), %owner, thread_id, collection, %document, "a document was removed");
}

/// Logs that an administrator lists what is another's, or everybody's (`owner` is `None`). What others list is their
/// own.
pub fn list(by: &Caller, owner: Option<&Owner>, uri: &Uri) {
    if by.key.is_some() && by.sees_only().is_none() && owner != Some(&by.owner) {
        let (owner, path) = (owner.map_or("all", Owner::as_str), uri.path());
        tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), owner, path, "an administrator's list");
    }
}

/// Logs that an administrator looks at or changes what is another's. Without keys nobody is one.
pub fn foreign(parts: &Parts, by: &Caller, owner: &Owner) {
    if by.key.is_some() && by.owner != *owner {
        let (method, path) = (&parts.method, parts.uri.path());
        tracing::info!(target: "audit", by = %by.owner, by_key = key_of(by), %owner, %method, path, "an administrator's access");
    }
}

/// Returns the caller's key; `None` where the service asks for no keys.
fn key_of(caller: &Caller) -> Option<DisplayValue<ApiKeyId>> {
    caller.key_id().map(display)
}
