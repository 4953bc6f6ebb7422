//! The public keys of an issuer: read from it (RFC 8414, RFC 7517), kept, and read again by a task of their own when
//! they are old or a token names another. So an issuer that hangs holds up nobody whose key is known.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{Jwk, PublicKeyUse},
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::watch, task::JoinSet, time::Instant};
use url::Url;

use super::refused::Refused;
use crate::net::{ApiClients, read_body};

/// How long keys count before they are read again.
const FRESH: Duration = Duration::from_secs(600);
/// The time between the end of a reading and the next one, whatever tokens name.
const PAUSE: Duration = Duration::from_secs(5);
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct KeySet {
    source: Arc<Source>,
    /// The last one that began. Locked to look, or to begin another.
    reading: Mutex<Option<Reading>>,
}

/// The place that keys are read from, and what was read.
#[derive(Debug)]
struct Source {
    /// As tokens name it.
    issuer: String,
    /// `None`: the discovery document says so.
    jwks_url: Option<Url>,
    clients: ApiClients,
    /// Locked for a look or a change only.
    known: Mutex<CachedKeys>,
}

#[derive(Debug, Default)]
struct CachedKeys {
    endpoints: Option<Endpoints>,
    keys: Arc<[Jwk]>,
    read_at: Option<Instant>,
}

/// What the discovery document says.
#[derive(Clone, Debug, Deserialize)]
pub struct Endpoints {
    issuer: String,
    jwks_uri: Url,
    pub authorization_endpoint: Option<Url>,
    pub token_endpoint: Option<Url>,
    /// How a client says its secret there; without it, in a header.
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Endpoints {
    /// Returns whether the secret has to be in the body of a request for tokens, since no header with it is taken.
    pub fn want_secret_in_body(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|taken| taken == method);
        takes("client_secret_post") && !takes("client_secret_basic")
    }
}

#[derive(Debug)]
struct Reading {
    /// One task, which ends with this value.
    task: JoinSet<()>,
    ended: watch::Receiver<Option<Ended>>,
}

#[derive(Debug)]
struct Ended {
    at: Instant,
    result: Result<(), Refused>,
}

impl Reading {
    /// Returns whether the reading is under way, or so young that no other one may begin.
    fn counts(&mut self) -> bool {
        let ended = self.ended.borrow().as_ref().map(|ended| ended.at);
        match ended {
            Some(at) => at.elapsed() < PAUSE,
            None => self.task.try_join_next().is_none(),
        }
    }
}

impl KeySet {
    pub(super) fn new(issuer: &str, jwks_url: Option<Url>, clients: &ApiClients) -> Self {
        let source = Source { issuer: issuer.to_owned(), jwks_url, clients: clients.clone(), known: Mutex::default() };
        Self { source: Arc::new(source), reading: Mutex::default() }
    }

    /// Returns the key of that id, or of a token without one the only key that signs with that algorithm. One that is
    /// known is given at once, however old it is; only for another is the issuer waited for.
    pub(super) async fn signing_key(&self, id: Option<&str>, algorithm: Algorithm) -> Result<DecodingKey, Refused> {
        let (keys, is_fresh) = self.source.keys();
        if let Some(key) = find(&keys, id, algorithm) {
            if !is_fresh {
                self.reading();
            }
            return decoding(key);
        }
        let mut reading = self.reading();
        let ended = reading.wait_for(Option::is_some).await;
        let ended = ended.map_err(|_| Refused::Unreachable("its keys could not be read".to_owned()))?;
        ended.as_ref().map_or(Ok(()), |ended| ended.result.clone())?;
        let (keys, _) = self.source.keys();
        decoding(find(&keys, id, algorithm).ok_or(Refused::UnknownKey)?)
    }

    /// Returns the endpoints of the issuer.
    pub(super) async fn endpoints(&self) -> Result<Endpoints, Refused> {
        let known = self.source.known.lock().endpoints.clone();
        match known {
            Some(endpoints) => Ok(endpoints),
            None => self.source.discover().await,
        }
    }

    /// Returns the end of the reading that is under way or has just ended, or of one that begins.
    fn reading(&self) -> watch::Receiver<Option<Ended>> {
        let mut reading = self.reading.lock();
        if let Some(reading) = reading.as_mut()
            && reading.counts()
        {
            return reading.ended.clone();
        }
        let (done, ended) = watch::channel(None);
        let (source, mut task) = (Arc::clone(&self.source), JoinSet::new());
        task.spawn(async move {
            let result = source.read_keys().await;
            if let Err(error) = &result {
                tracing::warn!(%error, "the issuer's keys could not be read; those that are known go on counting");
            }
            done.send_replace(Some(Ended { at: Instant::now(), result }));
        });
        *reading = Some(Reading { task, ended: ended.clone() });
        ended
    }
}

impl Source {
    /// Returns the keys, and whether they need not be read again yet.
    fn keys(&self) -> (Arc<[Jwk]>, bool) {
        let known = self.known.lock();
        (Arc::clone(&known.keys), known.read_at.is_some_and(|at| at.elapsed() < FRESH))
    }

    async fn read_keys(&self) -> Result<(), Refused> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?.jwks_uri,
        };
        // One at a time: a key of a kind that nobody here knows must not hide the others.
        let set: Value = self.document(&url).await?;
        let keys = set["keys"].as_array().cloned().unwrap_or_default();
        let keys: Arc<[Jwk]> = keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect();
        tracing::debug!(keys = keys.len(), "the issuer's keys were read");
        let mut known = self.known.lock();
        (known.keys, known.read_at) = (keys, Some(Instant::now()));
        Ok(())
    }

    async fn discover(&self) -> Result<Endpoints, Refused> {
        let url = Url::parse(&format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/')));
        let url = url.map_err(|error| Refused::Unreachable(error.to_string()))?;
        let endpoints: Endpoints = self.document(&url).await?;
        if endpoints.issuer != self.issuer {
            return Err(Refused::Unreachable(format!("its discovery document names {}", endpoints.issuer)));
        }
        self.known.lock().endpoints = Some(endpoints.clone());
        Ok(endpoints)
    }

    async fn document<T: for<'de> Deserialize<'de>>(&self, url: &Url) -> Result<T, Refused> {
        let response = self.clients.for_url(url).get(url.clone()).send().await?.error_for_status()?;
        let body = read_body(response, MAX_DOCUMENT_BYTES).await?;
        serde_json::from_slice(&body).map_err(|error| Refused::Unreachable(format!("{}: {error}", url.path())))
    }
}

fn decoding(key: &Jwk) -> Result<DecodingKey, Refused> {
    DecodingKey::from_jwk(key).map_err(|error| Refused::Invalid(error.to_string()))
}

/// Returns the key that signs with that algorithm: the one of that id, or of a token without one the only one.
fn find<'a>(keys: &'a [Jwk], id: Option<&str>, algorithm: Algorithm) -> Option<&'a Jwk> {
    let signs = |jwk: &&Jwk| {
        let is_for_signing = !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption));
        let named = jwk.common.key_algorithm.map(|named| named.to_string().parse::<Algorithm>());
        let fits = DecodingKey::from_jwk(jwk).is_ok_and(|key| key.family() == algorithm.family());
        is_for_signing && fits && named.is_none_or(|named| named.ok() == Some(algorithm))
    };
    let mut fitting = keys.iter().filter(signs);
    match id {
        Some(id) => fitting.find(|jwk| jwk.common.key_id.as_deref() == Some(id)),
        None => fitting.next().filter(|_| fitting.next().is_none()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use axum::{Json, Router, routing::get};
    use serde_json::json;

    use super::*;
    use crate::net::Timeouts;

    /// Returns an issuer with the key `a` that answers so many requests, and after that lets everybody wait.
    async fn issuer(answers: usize) -> (KeySet, Arc<AtomicUsize>, JoinSet<()>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let keys = move || async move {
            if counted.fetch_add(1, SeqCst) >= answers {
                std::future::pending::<()>().await;
            }
            Json(
                json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}),
            )
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/keys", listener.local_addr().unwrap())).unwrap();
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, Router::new().route("/keys", get(keys))).await.unwrap() });
        let clients = ApiClients::new(Timeouts::default()).unwrap();
        (KeySet::new("https://issuer.test", Some(url), &clients), asked, server)
    }

    async fn later(time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    /// Returns what is answered within a second; `None` when somebody has to wait for longer.
    async fn at_once(keys: &KeySet, id: &str) -> Option<Result<DecodingKey, Refused>> {
        tokio::time::timeout(Duration::from_secs(1), keys.signing_key(Some(id), Algorithm::EdDSA)).await.ok()
    }

    async fn until(asked: &AtomicUsize, times: usize) {
        while asked.load(SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_issuer_that_hangs_holds_up_nobody_whose_key_is_known() {
        let (keys, asked, _server) = issuer(1).await;
        assert!(at_once(&keys, "a").await.unwrap().is_ok());
        // It is time to read them again, for which this request does not wait, nor for a stranger's.
        later(FRESH).await;
        assert!(at_once(&keys, "a").await.expect("nobody waits").is_ok());
        until(&asked, 2).await;
        assert!(at_once(&keys, "unknown").await.is_none(), "it waits for the issuer");
        assert!(at_once(&keys, "a").await.expect("nobody waits").is_ok());
        assert_eq!(asked.load(SeqCst), 2, "all of them by one reading");
    }

    #[tokio::test]
    async fn keys_are_read_again_a_pause_after_the_last_reading_ended() {
        let (keys, asked, _server) = issuer(usize::MAX).await;
        let unknown = async || matches!(at_once(&keys, "unknown").await.unwrap(), Err(Refused::UnknownKey));
        assert!(unknown().await && unknown().await);
        assert_eq!(asked.load(SeqCst), 1);
        later(PAUSE).await;
        assert!(unknown().await);
        assert_eq!(asked.load(SeqCst), 2);
    }

    #[tokio::test]
    async fn a_reading_that_failed_counts_from_its_end() {
        let (keys, asked, _server) = issuer(0).await;
        assert!(at_once(&keys, "a").await.is_none());
        until(&asked, 1).await;
        later(Timeouts::default().total.unwrap()).await;
        for _ in 0..3 {
            let answer = at_once(&keys, "a").await.expect("the reading has ended");
            assert!(matches!(answer, Err(Refused::Unreachable(_))), "it is said of the issuer, not of the key");
        }
        assert_eq!(asked.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn a_refusal_says_its_status() {
        let (keys, _asked, _server) = issuer(1).await;
        let nowhere = keys.source.jwks_url.as_ref().unwrap().join("/nowhere").unwrap();
        let keys = KeySet::new("https://issuer.test", Some(nowhere), &keys.source.clients);
        let refused = at_once(&keys, "a").await.unwrap().err().unwrap();
        assert_eq!(refused.to_string(), "the issuer cannot be asked: it answers 404 Not Found");
    }
}
