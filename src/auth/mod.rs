//! Who may use a service that knows its users: keys of the API, and sessions of browsers that signed in with one.
//!
//! A key is shown once and stored as a hash. What was verified is remembered for seconds, so that a request costs no
//! look into the database; a key that is revoked elsewhere is taken that much longer, here not at all.
//!
//! `issuer.rs` takes tokens that others signed, `key_set.rs` follows their keys, `code.rs` signs browsers in there.

mod code;
mod issuer;
mod key_set;
mod refused;
mod remembered;
mod token;

use std::{sync::Arc, time::Duration};

use subtle::ConstantTimeEq as _;
use tokio::{sync::Mutex, task::JoinSet};

pub use code::Begun;
use issuer::LEEWAY;
pub use issuer::{Client, Issuer, Settings};
pub use refused::Refused;
use remembered::Remembered;
pub use token::{Kind, Token};

use crate::{
    domain::{ApiKey, ApiKeyId, KeyScope, Owner, Revoked, Timestamp, UseLimits, digest},
    store::{Cursor, Error, NewKey, NewSession, Page, Store},
};

/// The time between two notes that a key was used.
const USE_NOTED: Duration = Duration::from_secs(60);
/// How long a request waits for that; a database may read and not write.
const NOTE_LIMIT: Duration = Duration::from_millis(500);
/// How long a browser stays signed in.
pub const SESSION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a session's old secret is taken after it got a new one, for requests that were on their way.
const HANDOVER: Duration = Duration::from_secs(60);

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub key: Arc<ApiKey>,
    /// Set when it came with a session's cookie and not with the key.
    pub session: Option<Session>,
}

/// A browser that signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: ApiKeyId,
    pub ends: Timestamp,
}

impl Principal {
    pub fn owner(&self) -> &Owner {
        &self.key.owner
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.key.is_valid(now) && self.session.is_none_or(|session| now < session.ends)
    }
}

/// Why it is not known who sent something. Trying again may help.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the issuer of a token cannot be asked: {0}")]
    Issuer(String),
}

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    pub owner: Owner,
    pub scope: KeyScope,
    pub expires_at: Option<Timestamp>,
    pub limits: UseLimits,
}

/// The keys of a service; a cheap clone.
#[derive(Clone, Debug)]
pub struct Keys {
    store: Store,
    /// Whose tokens are taken beside keys.
    issuer: Option<Issuer>,
    remembered: Arc<Remembered>,
    /// The note that is being written, one at a time: those of a database that hangs would take all its connections.
    noting: Arc<Mutex<JoinSet<()>>>,
}

impl Keys {
    pub fn new(store: Store) -> Self {
        Self { store, issuer: None, remembered: Arc::default(), noting: Arc::default() }
    }

    /// Returns the same, which takes tokens of that issuer, too.
    pub fn trusting(self, issuer: Option<Issuer>) -> Self {
        Self { issuer, ..self }
    }

    /// Returns the issuer whose tokens are accepted.
    pub fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_ref()
    }

    /// Returns who sent this text; `None` when it is no key or session that is taken now.
    ///
    /// # Errors
    /// [`Unverified`].
    pub async fn verify(&self, text: &str, kind: Kind) -> Result<Option<Principal>, Unverified> {
        let Some(token) = Token::parse(text, kind) else { return self.verify_token(text, kind).await };
        let (hash, now) = (digest::sha256(text.as_bytes()), Timestamp::now());
        let known = match self.remembered.get(&hash) {
            Ok(known) => known,
            Err(generation) => {
                let found = self.look_up(&token, kind).await?;
                self.remembered.insert(hash, found.clone(), generation);
                found
            }
        };
        Ok(known.filter(|principal| principal.is_valid(now)))
    }

    /// Returns who sent this text, if it is a token of the issuer. Why one is refused is for the log.
    async fn verify_token(&self, text: &str, kind: Kind) -> Result<Option<Principal>, Unverified> {
        let issuer = self.issuer.as_ref().filter(|_| kind == Kind::Key && Issuer::is_token(text));
        let Some(issuer) = issuer else { return Ok(None) };
        let hash = digest::sha256(text.as_bytes());
        let known = match self.remembered.get(&hash) {
            Ok(known) => known,
            Err(generation) => match issuer.verify(text).await {
                Ok(key) => {
                    let principal = Some(Principal { key: Arc::new(key), session: None });
                    self.remembered.insert(hash, principal.clone(), generation);
                    principal
                }
                Err(Refused::Unreachable(why)) => return Err(Unverified::Issuer(why)),
                Err(error) => {
                    tracing::info!(target: "audit", %error, "a token was refused");
                    None
                }
            },
        };
        Ok(known.filter(|principal| principal.is_valid(Timestamp::now().minus(LEEWAY))))
    }

    async fn look_up(&self, token: &Token, kind: Kind) -> Result<Option<Principal>, Error> {
        let found = match kind {
            Kind::Key => self.store.key(token.id).await?.map(|(key, hash)| (key, hash, None)),
            Kind::Session => self
                .store
                .session(token.id)
                .await?
                .map(|(key, hash, ends)| (key, hash, Some(Session { id: token.id, ends }))),
            // It shows a thread, and signs nobody in.
            Kind::Share => None,
        };
        let Some((key, hash, session)) = found else { return Ok(None) };
        if !bool::from(hash[..].ct_eq(&token.hash()[..])) {
            return Ok(None);
        }
        let now = Timestamp::now();
        let principal = Principal { key: Arc::new(key), session };
        let is_noted = principal.key.last_used_at.is_some_and(|used| used > now.minus(USE_NOTED));
        if principal.is_valid(now) && !is_noted {
            self.note_use(principal.key.id, now).await;
        }
        Ok(Some(principal))
    }

    /// Notes that a key was used. What takes longer than a request waits goes on by itself.
    async fn note_use(&self, id: ApiKeyId, now: Timestamp) {
        let note = async {
            let mut noting = self.noting.lock().await;
            while noting.join_next().await.is_some() {}
            let store = self.store.clone();
            // That it is not noted refuses nobody.
            noting.spawn(async move { _ = store.key_used(id, now, now.minus(USE_NOTED)).await });
            noting.join_next().await;
        };
        let _ = tokio::time::timeout(NOTE_LIMIT, note).await;
    }

    /// Makes a key. The text is the only copy of its secret.
    ///
    /// # Errors
    /// Those of the store, as everywhere below.
    pub async fn create(&self, wanted: Wanted) -> Result<(ApiKey, String), Error> {
        let token = Token::new();
        let Wanted { name, owner, scope, expires_at, limits } = wanted;
        let created_at = Timestamp::now();
        let (revoked_at, last_used_at) = (None, None);
        let key = ApiKey {
            id: token.id,
            name,
            owner,
            scope,
            created_at,
            expires_at,
            revoked_at,
            last_used_at,
            limits,
            issuer: None,
        };
        self.store.add_key(&NewKey { key: key.clone(), secret_hash: token.hash() }).await?;
        Ok((key, token.text(Kind::Key)))
    }

    /// Returns a page of the keys, newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn list(&self, after: Option<Cursor>, limit: u32) -> Result<Page<ApiKey>, Error> {
        self.store.keys(after, limit).await
    }

    /// Ends a key and its sessions; `None` when there is no such key.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn revoke(&self, id: ApiKeyId) -> Result<Option<Revoked<ApiKey>>, Error> {
        let now = Timestamp::now();
        let revoked = self.store.revoke_key(id, now).await?;
        self.remembered.forget_all();
        Ok(revoked.map(|key| Revoked { is_new: key.revoked_at == Some(now), what: key }))
    }

    /// Begins a session; the text is its cookie. It ends with the key at the latest.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sign_in(&self, key: &ApiKey) -> Result<(String, Session), Error> {
        let (token, now) = (Token::new(), Timestamp::now());
        let ends = now.plus(SESSION).min(key.expires_at.unwrap_or(Timestamp(i64::MAX)));
        let new =
            NewSession { id: token.id, key_id: key.id, secret_hash: token.hash(), created_at: now, expires_at: ends };
        self.store.add_session(&new).await?;
        Ok((token.text(Kind::Session), Session { id: token.id, ends }))
    }

    /// Begins a session of somebody for whom an issuer vouches: with a key of its own, whose secret nobody gets.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sign_in_through(&self, bearer: ApiKey) -> Result<(ApiKey, String, Session), Error> {
        let (token, now) = (Token::new(), Timestamp::now());
        let key = ApiKey { id: token.id, created_at: now, expires_at: Some(now.plus(SESSION)), ..bearer };
        self.store.add_key(&NewKey { key: key.clone(), secret_hash: token.hash() }).await?;
        let (cookie, session) = self.sign_in(&key).await?;
        Ok((key, cookie, session))
    }

    /// Gives a browser a new session for its old one, which is taken a little longer.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn renew(&self, principal: &Principal, old: Session) -> Result<(String, Session), Error> {
        let renewed = self.sign_in(&principal.key).await?;
        self.store.shorten_session(old.id, Timestamp::now().plus(HANDOVER)).await?;
        Ok(renewed)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sign_out(&self, session: Session) -> Result<(), Error> {
        self.store.end_session(session.id).await?;
        self.remembered.forget_all();
        Ok(())
    }
}
