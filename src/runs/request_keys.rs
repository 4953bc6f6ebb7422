//! Keys of providers and search engines that come with a request: for its run alone, sealed in the database until the
//! run ends, and never mixed with those of the server.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Weak},
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    hkdf::{HKDF_SHA256, Salt},
};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};

use super::{Means, Refusal};
use crate::domain::{GivenKeys, KeyPolicy, RunId, digest::sha256_hex};

/// The longest key.
const MAX_CHARS: usize = 4_096;
/// Keys that one request may bring.
const MAX_KEYS: usize = 40;
const NO_KEYS: &str = "this service takes no keys with requests: its operator has to set FATHOM_REQUEST_KEYS=allowed and \
    FATHOM_REQUEST_KEYS_SECRET";
const CANNOT_BE_READ: &str =
    "the keys of the run cannot be read: FATHOM_REQUEST_KEYS_SECRET is not the one they were sealed with";

/// Takes keys in, and keeps what is made of them while runs use it.
pub struct RequestKeys {
    policy: KeyPolicy,
    /// The first one seals. The others open what was sealed before it took their place.
    sealers: Vec<Sealer>,
    /// By a digest of the keys: runs with the same ones share their connections and limits.
    used: Mutex<HashMap<String, Weak<Means>>>,
}

impl fmt::Debug for RequestKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestKeys").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl RequestKeys {
    /// Creates the handling of keys in requests. Without a secret that seals them, no keys are taken.
    pub fn new(policy: KeyPolicy, secrets: &[SecretString]) -> Self {
        Self { policy, sealers: secrets.iter().filter_map(Sealer::new).collect(), used: Mutex::default() }
    }

    /// Returns what a request calls that brings these keys: without any, what the server has.
    ///
    /// # Errors
    /// [`Refusal::Keys`] when such keys are not taken, or none are given and the server's own are not for requests.
    pub fn means(&self, server: &Arc<Means>, keys: &GivenKeys) -> Result<Arc<Means>, Refusal> {
        match (self.policy, keys.is_empty()) {
            (KeyPolicy::Required, true) => Err(refused("this service wants the keys of its users: send yours")),
            (_, true) => Ok(Arc::clone(server)),
            (KeyPolicy::Refused, false) => Err(refused(NO_KEYS)),
            (_, false) if self.sealers.is_empty() => Err(refused(NO_KEYS)),
            (_, false) => {
                check(server, keys)?;
                self.made_of(server, keys)
            }
        }
    }

    /// Returns the keys as they are stored for that run; `None` when there are none.
    ///
    /// # Errors
    /// [`Refusal::Keys`] when they cannot be sealed.
    pub fn seal(&self, run_id: RunId, keys: &GivenKeys) -> Result<Option<Vec<u8>>, Refusal> {
        if keys.is_empty() {
            return Ok(None);
        }
        let sealed = self.sealers.first().and_then(|sealer| sealer.seal(run_id, keys));
        sealed.map(Some).ok_or_else(|| refused("the keys cannot be sealed"))
    }

    /// Returns what a run calls whose keys are stored like this.
    ///
    /// # Errors
    /// [`Refusal::Keys`] when they cannot be read here.
    pub fn opened(&self, server: &Arc<Means>, run_id: RunId, sealed: &[u8]) -> Result<Arc<Means>, Refusal> {
        self.made_of(server, &self.unsealed(run_id, sealed).ok_or_else(|| refused(CANNOT_BE_READ))?)
    }

    fn unsealed(&self, run_id: RunId, sealed: &[u8]) -> Option<GivenKeys> {
        self.sealers.iter().find_map(|sealer| sealer.open(run_id, sealed))
    }

    fn made_of(&self, server: &Arc<Means>, keys: &GivenKeys) -> Result<Arc<Means>, Refusal> {
        let name = fingerprint(keys);
        let mut used = self.used.lock();
        if let Some(means) = used.get(&name).and_then(Weak::upgrade) {
            return Ok(means);
        }
        let means = Arc::new(server.with_keys(keys)?);
        used.retain(|_, means| means.strong_count() > 0);
        used.insert(name, Arc::downgrade(&means));
        Ok(means)
    }
}

/// Refuses names that nobody has, and what is no key.
fn check(server: &Means, keys: &GivenKeys) -> Result<(), Refusal> {
    let known = server.key_names();
    if keys.len() > MAX_KEYS {
        return Err(refused(format!("at most {MAX_KEYS} keys can be sent")));
    }
    for (name, key) in keys {
        let wrong = |problem: String| Refusal::Keys { name: Some(name.clone()), problem };
        if !known.contains(&name.as_str()) {
            return Err(wrong(format!(
                "no provider or search engine of that name takes a key; there are {}",
                known.join(", ")
            )));
        }
        let key = key.expose_secret().trim();
        if key.is_empty() || key.chars().count() > MAX_CHARS || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong(format!("a key has 1 to {MAX_CHARS} visible ASCII characters")));
        }
    }
    Ok(())
}

fn refused(problem: impl Into<String>) -> Refusal {
    Refusal::Keys { name: None, problem: problem.into() }
}

fn fingerprint(keys: &GivenKeys) -> String {
    // Neither holds a line break.
    let lines = keys.iter().map(|(name, key)| format!("{name}\n{}\n", key.expose_secret().trim()));
    sha256_hex(lines.collect::<String>().as_bytes())
}

/// AES-256-GCM with a key derived from the server's secret; what is sealed for one run opens for no other.
struct Sealer(RandomizedNonceKey);

impl Sealer {
    fn new(secret: &SecretString) -> Option<Self> {
        let derived = Salt::new(HKDF_SHA256, b"fathom").extract(secret.expose_secret().as_bytes());
        let mut key = [0; 32];
        derived.expand(&[b"keys of requests"], HKDF_SHA256).ok()?.fill(&mut key).ok()?;
        RandomizedNonceKey::new(&AES_256_GCM, &key).ok().map(Self)
    }

    /// Returns the nonce, and behind it the keys as JSON, encrypted, with their tag.
    fn seal(&self, run_id: RunId, keys: &GivenKeys) -> Option<Vec<u8>> {
        let plain: BTreeMap<&str, &str> =
            keys.iter().map(|(name, key)| (name.as_str(), key.expose_secret().trim())).collect();
        let mut bytes = serde_json::to_vec(&plain).ok()?;
        let nonce = self.0.seal_in_place_append_tag(Aad::from(run_id.0.as_bytes()), &mut bytes).ok()?;
        Some([nonce.as_ref().as_slice(), &bytes].concat())
    }

    fn open(&self, run_id: RunId, sealed: &[u8]) -> Option<GivenKeys> {
        let (nonce, bytes) = sealed.split_at_checked(NONCE_LEN)?;
        let mut bytes = bytes.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let plain = self.0.open_in_place(nonce, Aad::from(run_id.0.as_bytes()), &mut bytes).ok()?;
        serde_json::from_slice(plain).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(secret: &str) -> Sealer {
        Sealer::new(&secret.into()).unwrap()
    }

    fn keys() -> GivenKeys {
        [("openai", "sk-s3cret-0123"), ("tavily", " tvly-1 ")]
            .map(|(name, key)| (name.to_owned(), SecretString::from(key)))
            .into()
    }

    #[test]
    fn what_is_sealed_for_a_run_opens_for_it_alone() {
        let (own, run) = (sealer("a secret of the server, long enough"), RunId::new());
        let sealed = own.seal(run, &keys()).unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains("s3cret"));
        let opened = own.open(run, &sealed).unwrap();
        let shown: Vec<_> = opened.iter().map(|(name, key)| (name.as_str(), key.expose_secret())).collect();
        assert_eq!(shown, [("openai", "sk-s3cret-0123"), ("tavily", "tvly-1")]);
        assert!(own.open(RunId::new(), &sealed).is_none());
        assert!(sealer("another secret of the server, as long").open(run, &sealed).is_none());
        assert!(own.open(run, &sealed[..8]).is_none());
        let mut changed = sealed.clone();
        changed[20] ^= 1;
        assert!(own.open(run, &changed).is_none());
        assert_ne!(own.seal(run, &keys()).unwrap(), sealed, "no nonce is used twice");
    }

    #[test]
    fn one_secret_takes_the_place_of_another() {
        let run = RunId::new();
        let with = |secrets: &[&str]| {
            let secrets: Vec<SecretString> = secrets.iter().map(|secret| SecretString::from(*secret)).collect();
            RequestKeys::new(KeyPolicy::Allowed, &secrets)
        };
        let (old, both, new) = (with(&["old"]), with(&["new", "old"]), with(&["new"]));
        let sealed = |by: &RequestKeys| by.seal(run, &keys()).unwrap().unwrap();
        assert!(both.unsealed(run, &sealed(&old)).is_some());
        assert!(new.unsealed(run, &sealed(&old)).is_none());
        assert!(new.unsealed(run, &sealed(&both)).is_some(), "the first one seals");
        assert!(old.unsealed(run, &sealed(&both)).is_none());
    }

    #[test]
    fn the_same_keys_have_the_same_fingerprint_and_others_another() {
        assert_eq!(fingerprint(&keys()), fingerprint(&keys()));
        let mut other = keys();
        other.insert("exa".to_owned(), "e".into());
        assert_ne!(fingerprint(&other), fingerprint(&keys()));
    }
}
