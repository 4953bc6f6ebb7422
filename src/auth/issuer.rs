//! Sign-in through others: tokens (JWT, RFC 7519) that an issuer signed, and what is read off them. `key_set` follows
//! its public keys.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;
use uuid::Uuid;

use super::{
    key_set::{Endpoints, KeySet},
    refused::Refused,
};
use crate::{
    domain::{ApiKey, ApiKeyId, KeyScope, Owner, Timestamp, UseLimits, digest},
    net::{self, ApiClients, Timeouts},
};

/// Signatures by public keys alone: with a shared secret, a key that everybody may read would sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// Clocks may differ by so much.
pub(super) const LEEWAY: Duration = Duration::from_secs(60);
const MAX_TOKEN_BYTES: usize = 16 * 1024;
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(5), total: Some(Duration::from_secs(10)), idle: None };

/// Whose tokens are taken, and what is read off them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As tokens name it, to the letter.
    pub issuer: String,
    /// Tokens of the API must be meant for one of these; without any, none is taken.
    pub audiences: Vec<String>,
    /// Where its keys are; `None`: its discovery document says so.
    pub jwks_url: Option<Url>,
    /// The claim that names the owner.
    pub owner_claim: String,
    /// The claim with the roles; parts of a path are separated by dots.
    pub roles_claim: String,
    /// What those may do whose token names no role of Fathom; `None`: nothing.
    pub default_scope: Option<KeyScope>,
    /// For browsers that sign in there.
    pub client: Option<Client>,
}

/// The client that this service is to the issuer.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: String,
    /// `None`: a public client.
    pub secret: Option<SecretString>,
    /// Where the issuer sends browsers back to.
    pub redirect_url: Url,
    /// Words separated by spaces; `openid` is among them.
    pub scopes: String,
}

/// An issuer with the keys that are known of it; a cheap clone.
#[derive(Clone, Debug)]
pub struct Issuer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: Settings,
    clients: ApiClients,
    keys: KeySet,
}

impl Issuer {
    /// Creates an issuer from its settings.
    ///
    /// # Errors
    /// No HTTP client can be built.
    pub fn new(settings: Settings) -> Result<Self, net::Error> {
        let clients = ApiClients::new(TIMEOUTS)?;
        let keys = KeySet::new(&settings.issuer, settings.jwks_url.clone(), &clients);
        Ok(Self(Arc::new(Shared { settings, clients, keys })))
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(super) fn client_for(&self, url: &Url) -> &reqwest::Client {
        self.0.clients.for_url(url)
    }

    /// Returns whether it looks like a token, and not like a key of this service.
    pub fn is_token(text: &str) -> bool {
        text.len() <= MAX_TOKEN_BYTES && text.split('.').count() == 3
    }

    /// Returns the bearer of a token for the API, as a key that ends with it.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn verify(&self, token: &str) -> Result<ApiKey, Refused> {
        let claims = self.claims(token, &self.0.settings.audiences).await?;
        self.key_of(&claims)
    }

    /// Returns what a token says that the issuer signed for one of these audiences and that counts now.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn claims(&self, token: &str, audiences: &[String]) -> Result<Value, Refused> {
        let header = decode_header(token).map_err(|error| Refused::Malformed(error.to_string()))?;
        if !ALGORITHMS.contains(&header.alg) || audiences.is_empty() {
            return Err(Refused::Malformed(format!("{:?} for this audience", header.alg)));
        }
        let key = self.0.keys.signing_key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.0.settings.issuer]);
        validation.set_audience(audiences);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let decoded = decode::<Value>(token, &key, &validation);
        decoded.map(|token| token.claims).map_err(|error| Refused::Invalid(error.to_string()))
    }

    /// Returns a key for whom a token names. Its id is the same for each token of the same person.
    ///
    /// # Errors
    /// No owner is named, or nothing is allowed to them.
    pub fn key_of(&self, claims: &Value) -> Result<ApiKey, Refused> {
        let Settings { issuer, owner_claim, roles_claim, default_scope, .. } = &self.0.settings;
        let owner = Owner::of_person(claims[owner_claim.as_str()].as_str().unwrap_or_default())
            .map_err(|bad| Refused::Invalid(format!("{owner_claim}: {bad}")))?;
        let scope = scope(claims, roles_claim).or(*default_scope);
        let scope = scope.ok_or_else(|| Refused::Invalid(format!("{roles_claim} names no role of Fathom")))?;
        let hash = digest::sha256(format!("{issuer}\n{owner}").as_bytes());
        let id = hash.first_chunk::<16>().copied().unwrap_or_default();
        let time = |name: &str| milliseconds(&claims[name]).map(Timestamp);
        Ok(ApiKey {
            id: ApiKeyId(Uuid::from_bytes(id)),
            name: "signed in".to_owned(),
            owner,
            scope,
            created_at: time("iat").unwrap_or(Timestamp(0)),
            expires_at: Some(time("exp").unwrap_or(Timestamp(0))),
            revoked_at: None,
            last_used_at: None,
            limits: UseLimits::default(),
            issuer: Some(issuer.clone()),
        })
    }

    /// Returns the endpoints of the issuer.
    ///
    /// # Errors
    /// [`Refused::Unreachable`].
    pub async fn endpoints(&self) -> Result<Endpoints, Refused> {
        self.0.keys.endpoints().await
    }
}

/// Returns a time, which may have fractions of a second (RFC 7519, 2).
fn milliseconds(time: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "what is beyond the range becomes its end")]
    let rounded = |seconds: f64| (seconds * 1_000.0) as i64;
    time.as_i64().map(|seconds| seconds.saturating_mul(1_000)).or_else(|| time.as_f64().map(rounded))
}

/// Returns the highest role of Fathom among those of the claim, a list or words separated by spaces.
fn scope(claims: &Value, path: &str) -> Option<KeyScope> {
    // A name of its own first: some issuers want addresses, which have dots.
    let claim = claims.get(path).or_else(|| path.split('.').try_fold(claims, |value, part| value.get(part)))?;
    let words: Vec<&str> = match claim {
        Value::Array(roles) => roles.iter().filter_map(Value::as_str).collect(),
        Value::String(roles) => roles.split_whitespace().collect(),
        _ => return None,
    };
    let role = |word: &&str| KeyScope::parse(word.strip_prefix("fathom:").or_else(|| word.strip_prefix("fathom-"))?);
    words.iter().filter_map(role).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_highest_role_counts() {
        let check = |claims: Value, path: &str, expected: Option<KeyScope>| {
            assert_eq!(scope(&claims, path), expected, "{claims}")
        };
        check(json!({ "roles": ["staff", "fathom:read", "fathom-admin"] }), "roles", Some(KeyScope::Admin));
        check(json!({ "scope": "openid fathom:write" }), "scope", Some(KeyScope::Write));
        check(json!({ "realm_access": { "roles": ["fathom:read"] } }), "realm_access.roles", Some(KeyScope::Read));
        let name = "https://fathom.example.com/roles";
        check(json!({ name: ["fathom:admin"] }), name, Some(KeyScope::Admin));
        check(json!({ "roles": ["admin", "fathom:root"] }), "roles", None);
        check(json!({ "roles": 7 }), "roles", None);
        check(json!({}), "roles", None);
    }

    #[test]
    fn times_may_have_fractions() {
        let read = |time: Value| milliseconds(&time);
        assert_eq!(read(json!(1_795_654_969)), Some(1_795_654_969_000));
        assert_eq!(read(json!(1_795_654_969.5)), Some(1_795_654_969_500));
        assert_eq!((read(json!(i64::MAX)), read(json!(1e300))), (Some(i64::MAX), Some(i64::MAX)));
        assert_eq!((read(json!("1795654969")), read(json!(null))), (None, None));
    }

    #[test]
    fn tokens_look_like_tokens() {
        assert!(Issuer::is_token("a.b.c") && !Issuer::is_token("fathom_00_x") && !Issuer::is_token("a.b.c.d"));
        assert!(!Issuer::is_token(&format!("{}.b.c", "a".repeat(MAX_TOKEN_BYTES))));
    }
}
