//! Access tokens of Google's cloud: by a service account's file, by the credentials of a user, or from the metadata
//! server of the machine (<https://cloud.google.com/docs/authentication/application-default-credentials>).

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::{rand::SystemRandom, rsa::KeyPair, signature::RSA_PKCS1_SHA256};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures::FutureExt as _;
use rustls_pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use url::Url;

use super::credential_cache::{CredentialCache, Fresh};
use super::{Refused, is_name};
use crate::files;
use crate::llm::endpoint::Endpoint;
use crate::net::{self, ApiClients};

/// What tokens are for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The address where users' credentials are exchanged, which do not say it themselves.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// Models run wherever there is room, unless a location is set.
const GLOBAL: &str = "global";
/// The time for one exchange.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const MAX_BYTES: usize = 64 * 1024;
/// Bytes of a file of credentials.
const MAX_FILE: u64 = 64 * 1024;
/// The longest life of a token that is believed.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3_600);

/// The tokens of one account, fetched when they are needed and kept while they count.
#[derive(Debug)]
pub struct Tokens {
    /// The file that the operator names.
    file: Option<PathBuf>,
    /// Where such a file usually is.
    usual_file: Option<PathBuf>,
    /// The address of the machine's metadata server.
    metadata: String,
    clients: ApiClients,
    kept: CredentialCache<SecretString>,
}

/// A file of credentials.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Credentials {
    ServiceAccount {
        client_email: String,
        private_key: SecretString,
        private_key_id: Option<String>,
        token_uri: String,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: SecretString,
        refresh_token: SecretString,
        token_uri: Option<String>,
    },
    #[serde(other)]
    Unknown,
}

/// What a token is exchanged for.
#[derive(Deserialize)]
struct Answer {
    access_token: SecretString,
    #[serde(default)]
    expires_in: u64,
}

impl Tokens {
    pub fn new(endpoint: &Endpoint, clients: &ApiClients) -> Self {
        let metadata = endpoint.other("metadata_host").unwrap_or("metadata.google.internal");
        Self {
            file: endpoint.other("credentials").map(PathBuf::from),
            usual_file: endpoint.in_home(".config/gcloud/application_default_credentials.json"),
            metadata: metadata.to_owned(),
            clients: clients.clone(),
            kept: CredentialCache::default(),
        }
    }

    /// Returns the token that counts.
    pub async fn token(&self) -> Result<SecretString, Refused> {
        self.kept.current(self.fresh()).await
    }

    /// Ends the use of the token, and returns whether there was one.
    pub fn forget(&self) -> bool {
        self.kept.forget()
    }

    pub fn secrets(&self) -> Vec<String> {
        self.kept.last().iter().map(|token| token.expose_secret().to_owned()).collect()
    }

    async fn fresh(&self) -> Result<Fresh<SecretString>, Refused> {
        let late = |_| Refused::Unreachable("no access token came in time".to_owned());
        let answer = tokio::time::timeout(TIMEOUT, self.fetch().boxed()).await.map_err(late).flatten()?;
        let life = Duration::from_secs(answer.expires_in).min(LONGEST_LIFE);
        Ok(Fresh::ending_in(answer.access_token, life))
    }

    async fn fetch(&self) -> Result<Answer, Refused> {
        match self.credentials().await? {
            Some(Credentials::ServiceAccount { client_email, private_key, private_key_id, token_uri }) => {
                let assertion = assertion(&client_email, &private_key, private_key_id.as_deref(), &token_uri)?;
                let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
                self.exchange(&token_uri, &[("grant_type", grant), ("assertion", &assertion)]).await
            }
            Some(Credentials::AuthorizedUser { client_id, client_secret, refresh_token, token_uri }) => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("client_id", &client_id),
                    ("client_secret", client_secret.expose_secret()),
                    ("refresh_token", refresh_token.expose_secret()),
                ];
                self.exchange(token_uri.as_deref().unwrap_or(TOKEN_URI), &form).await
            }
            Some(Credentials::Unknown) => {
                Err(Refused::Credentials("its file of credentials is of a kind that is not supported".to_owned()))
            }
            None => self.of_machine().await,
        }
    }

    /// Returns the credentials of the first file that is there; one that is named has to be.
    async fn credentials(&self) -> Result<Option<Credentials>, Refused> {
        let unusable = |path: &Path, problem: &dyn std::fmt::Display| {
            Refused::Credentials(format!("the credentials in {} cannot be used: {problem}", path.display()))
        };
        let (path, text) = match (&self.file, &self.usual_file) {
            (Some(path), _) => {
                (path, files::read_text_aside(path, MAX_FILE).await.map_err(|problem| unusable(path, &problem))?)
            }
            (None, Some(path)) => match files::read_text_aside(path, MAX_FILE).await {
                Ok(text) => (path, text),
                Err(_) => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        // What is wrong with it may quote a secret.
        serde_json::from_str(&text).map(Some).map_err(|_| unusable(path, &"it is no file of credentials"))
    }

    async fn exchange(&self, token_uri: &str, form: &[(&str, &str)]) -> Result<Answer, Refused> {
        let url = Url::parse(token_uri).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let url =
            url.ok_or_else(|| Refused::Credentials("the token_uri of its credentials is no address".to_owned()))?;
        answer(net::form(self.clients.for_url(&url).post(url), form)).await
    }

    /// Returns a token of the account that the machine itself has.
    async fn of_machine(&self) -> Result<Answer, Refused> {
        let address = format!("http://{}/computeMetadata/v1/instance/service-accounts/default/token", self.metadata);
        // It is on the machine's own network, where no proxy is.
        let request = self.clients.direct().get(address).header("metadata-flavor", "Google");
        answer(request).await.map_err(|refused| match refused {
            // A machine that never answered has most likely no such server: waiting would not help.
            Refused::Unreachable(problem) if self.kept.last().is_none() => Refused::Credentials(format!(
                "there is no file of credentials, and no metadata server of the machine answers ({problem})"
            )),
            other => other,
        })
    }
}

/// Returns the location where models run.
fn location(endpoint: &Endpoint) -> &str {
    endpoint.other("location").unwrap_or(GLOBAL)
}

/// Returns whether models run wherever there is room.
pub fn is_global(endpoint: &Endpoint) -> bool {
    location(endpoint) == GLOBAL
}

/// Returns the base of the API that is nearest to the models' location.
pub fn base(endpoint: &Endpoint) -> Option<String> {
    let location = location(endpoint);
    is_name(location).then(|| match location {
        GLOBAL => "https://aiplatform.googleapis.com/v1".to_owned(),
        continent @ ("us" | "eu") => format!("https://aiplatform.{continent}.rep.googleapis.com/v1"),
        region => format!("https://{region}-aiplatform.googleapis.com/v1"),
    })
}

/// Returns what stands before the path of a call of Google's own models.
pub fn gemini(endpoint: &Endpoint) -> String {
    publisher(endpoint, "google")
}

/// Returns the same of Anthropic's.
pub fn claude(endpoint: &Endpoint) -> String {
    publisher(endpoint, "anthropic")
}

fn publisher(endpoint: &Endpoint, name: &str) -> String {
    let project = endpoint.other("project").unwrap_or_default();
    format!("projects/{project}/locations/{}/publishers/{name}/", location(endpoint))
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Answer, Refused> {
    let unreachable = |problem: net::Error| Refused::Unreachable(format!("no access token could be had: {problem}"));
    let response = request.send().await.map_err(|problem| unreachable(net::Error::from(&problem)))?;
    let status = response.status();
    let body = net::read_body(response, MAX_BYTES).await.map_err(unreachable)?;
    if status.is_success() {
        let unreadable = |_| Refused::Unreachable("the answer with the access token cannot be read".to_owned());
        return serde_json::from_slice(&body).map_err(unreadable);
    }
    let code = net::refusal_code(&body).unwrap_or_else(|| "no reason".to_owned());
    let detail = format!("the token server answers {}: {code}", status.as_u16());
    match status.is_server_error() || status.as_u16() == 429 {
        true => Err(Refused::Unreachable(detail)),
        false => Err(Refused::Credentials(detail)),
    }
}

/// Returns what a service account says of itself, signed (RFC 7523).
fn assertion(email: &str, key: &SecretString, key_id: Option<&str>, audience: &str) -> Result<String, Refused> {
    let unusable = || Refused::Credentials("the private key of the service account cannot be used".to_owned());
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
    let claims = json!({"iss": email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + 3_600});
    let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(header), encode(claims));
    let der = PrivatePkcs8KeyDer::from_pem_slice(key.expose_secret().as_bytes()).map_err(|_| unusable())?;
    let key = KeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| unusable())?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).map_err(|_| unusable())?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::net::Timeouts;

    /// Returns the tokens of a metadata server at that address.
    fn tokens(metadata: &str) -> Tokens {
        let others = [("metadata_host", metadata.into())].into_iter().collect();
        Tokens::new(&Endpoint { others, ..Endpoint::default() }, &ApiClients::new(Timeouts::default()).unwrap())
    }

    #[tokio::test]
    async fn a_token_that_cannot_be_renewed_is_used_to_its_end() {
        let tokens = tokens("127.0.0.1:1");
        let ends_in = Duration::from_secs(60);
        tokens.kept.keep(Fresh { value: "ya29.old".into(), renew_in: Duration::ZERO, ends_in });
        assert_eq!(tokens.token().await.unwrap().expose_secret(), "ya29.old");
        tokens.forget();
        assert!(matches!(tokens.token().await, Err(Refused::Unreachable(_))), "what was refused is not used");
        assert_eq!(tokens.secrets(), ["ya29.old"], "and stays hidden");
    }

    #[tokio::test]
    async fn those_who_wait_together_fail_together() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tokens = tokens(&listener.local_addr().unwrap().to_string());
        // Each connection is closed at once.
        let refusing = async {
            let mut asked = 0;
            while let Ok(accepted) = tokio::time::timeout(Duration::from_millis(300), listener.accept()).await {
                drop(accepted.unwrap());
                asked += 1;
            }
            asked
        };
        let calls = futures::future::join_all((0..20).map(|_| tokens.token()));
        let (answers, asked) = futures::join!(calls, refusing);
        assert!(answers.iter().all(Result::is_err));
        assert!((1..=2).contains(&asked), "{asked}: the client may try a broken connection once more");
    }
}
