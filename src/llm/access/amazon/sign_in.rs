//! Credentials of people who signed in to IAM Identity Center with `aws sso login`, which leaves a token in a file
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html>).
//!
//! A token of a session is renewed shortly before its end and written back: a renewal may replace what the next one
//! needs, and Amazon's own programs read the same file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::sync::OwnedMutexGuard;
use tokio_util::task::TaskTracker;
use url::Url;

use super::remote::{COUNTS, MAX_BYTES, TIME, body, unreadable};
use super::timed::TimedCredentials;
use crate::domain::digest::hex;
use crate::files;
use crate::llm::access::Refused;
use crate::llm::endpoint::Endpoint;
use crate::net::ApiClients;

/// How long before its end a token is renewed, as Amazon's own programs do it.
const AHEAD: Duration = Duration::from_secs(15 * 60);
/// The folder of the files in the home folder.
const CACHE: &str = ".aws/sso/cache";

/// What a profile says of a sign-in.
pub(super) struct SignIn {
    /// The name of the session; profiles of the older form have none, and their tokens are not renewed.
    pub session: Option<String>,
    pub start_url: String,
    pub region: String,
    pub account: String,
    pub role: String,
}

/// The file that a sign-in leaves.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    access_token: String,
    expires_at: String,
    #[serde(flatten)]
    renewal: Option<Renewal>,
    /// What else is in it.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What a token is renewed with.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Renewal {
    refresh_token: String,
    client_id: String,
    client_secret: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renewed {
    access_token: SecretString,
    expires_in: u32,
    refresh_token: Option<SecretString>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfRole {
    role_credentials: RoleCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: SecretString,
    session_token: SecretString,
    /// Milliseconds since 1970.
    expiration: i64,
}

/// The servers of IAM Identity Center, and the files of those who signed in.
#[derive(Debug)]
pub(super) struct Portal {
    /// Where credentials are had; `None`: at the server of the region.
    address: Option<String>,
    /// Where tokens are renewed.
    renewals: Option<String>,
    cache: Option<PathBuf>,
    clients: ApiClients,
    /// Held by who looks at the files, and until a renewal is written.
    looking: Arc<tokio::sync::Mutex<()>>,
    /// Renewals under way: each is written even if the call is gone that began it.
    renewing: TaskTracker,
}

/// A token that is to be renewed.
struct Renewing {
    request: reqwest::RequestBuilder,
    renewal: Renewal,
    others: Map<String, Value>,
    file: PathBuf,
}

impl Portal {
    pub fn new(endpoint: &Endpoint, clients: &ApiClients) -> Self {
        let text = |name: &str| endpoint.other(name).map(str::to_owned);
        Self {
            address: text("sso_url"),
            renewals: text("sso_oidc_url"),
            cache: endpoint.in_home(CACHE),
            clients: clients.clone(),
            looking: Arc::default(),
            renewing: TaskTracker::new(),
        }
    }

    /// Returns the credentials of the role that the sign-in entitles to.
    pub async fn credentials(&self, sign_in: &SignIn) -> Result<TimedCredentials, Refused> {
        let who = "IAM Identity Center";
        let token = self.token(sign_in).await?;
        let mut url = address(self.address.as_deref(), "portal.sso", &sign_in.region, "federation/credentials")?;
        url.query_pairs_mut().append_pair("role_name", &sign_in.role).append_pair("account_id", &sign_in.account);
        let request = self.clients.for_url(&url).get(url).header("x-amz-sso_bearer_token", token.expose_secret());
        let answer = body(request, TIME, who).await?;
        let found: OfRole = serde_json::from_slice(&answer).map_err(|_| unreadable(who))?;
        let found = found.role_credentials;
        let end = OffsetDateTime::from_unix_timestamp_nanos(i128::from(found.expiration) * 1_000_000);
        let end = end.map_err(|_| unreadable(who))?;
        let (secret, session) = (found.secret_access_key.expose_secret(), found.session_token.expose_secret());
        let credentials =
            Credentials::new(found.access_key_id, secret, Some(session.to_owned()), Some(end.into()), "sign-in");
        Ok(TimedCredentials { credentials, counts_for: COUNTS })
    }

    /// Returns the token of the sign-in, renewed where that is due. One that cannot be renewed is used to its end.
    async fn token(&self, sign_in: &SignIn) -> Result<SecretString, Refused> {
        let over = || Refused::Credentials("the sign-in of the profile is over: run `aws sso login`".to_owned());
        let file = self.file(sign_in).ok_or_else(over)?;
        let looking = Arc::clone(&self.looking).lock_owned().await;
        let text = files::read_text_aside(&file, MAX_BYTES as u64).await.map_err(|_| over())?;
        let token: Token = serde_json::from_str(&text).map_err(|_| over())?;
        let left = token.left().ok_or_else(over)?;
        let renewal = token.renewal.as_ref().filter(|_| sign_in.session.is_some() && left < AHEAD);
        let problem = match renewal {
            Some(renewal) => match self.renew(renewal, &token, sign_in, file, looking).await {
                Ok(renewed) => return Ok(renewed),
                Err(problem) => Some(problem),
            },
            None => None,
        };
        match (left > Duration::ZERO, problem) {
            (true, _) => Ok(token.access_token.into()),
            (false, Some(Refused::Unreachable(detail))) => Err(Refused::Unreachable(detail)),
            (false, _) => Err(over()),
        }
    }

    /// Returns the file of a sign-in. Its name is a hash, by which nobody is kept out.
    fn file(&self, sign_in: &SignIn) -> Option<PathBuf> {
        let name = sign_in.session.as_deref().unwrap_or(&sign_in.start_url);
        let name = hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, name.as_bytes()).as_ref());
        Some(self.cache.as_ref()?.join(format!("{name}.json")))
    }

    /// Renews the token and writes it back, to the end whatever becomes of this call: what the answer replaces is worth
    /// nothing any more.
    async fn renew(
        &self,
        renewal: &Renewal,
        token: &Token,
        sign_in: &SignIn,
        file: PathBuf,
        looking: OwnedMutexGuard<()>,
    ) -> Result<SecretString, Refused> {
        let url = address(self.renewals.as_deref(), "oidc", &sign_in.region, "token")?;
        let asked = json!({"grantType": "refresh_token", "clientId": renewal.client_id,
            "clientSecret": renewal.client_secret, "refreshToken": renewal.refresh_token});
        let request = self.clients.for_url(&url).post(url).json(&asked);
        let renewing = Renewing { request, renewal: renewal.clone(), others: token.others.clone(), file };
        let done = self.renewing.spawn(async move {
            let _looking = looking;
            renewing.kept().await
        });
        done.await.map_err(|_| Refused::Unreachable("the sign-in could not be renewed".to_owned()))?
    }
}

impl Renewing {
    async fn kept(self) -> Result<SecretString, Refused> {
        let Self { request, renewal, others, file } = self;
        let renewed = Self::renewed(request, renewal, others).await?;
        keep(file, &renewed).await;
        Ok(renewed.access_token.into())
    }

    async fn renewed(
        request: reqwest::RequestBuilder,
        renewal: Renewal,
        others: Map<String, Value>,
    ) -> Result<Token, Refused> {
        let who = "the token service of IAM Identity Center";
        let answer = body(request, TIME, who).await?;
        let renewed: Renewed = serde_json::from_slice(&answer).map_err(|_| unreadable(who))?;
        let end = OffsetDateTime::now_utc() + Duration::from_secs(renewed.expires_in.into());
        let end = end.replace_nanosecond(0).ok().and_then(|end| end.format(&Rfc3339).ok());
        let refresh_token = renewed.refresh_token.as_ref().map(|next| next.expose_secret().to_owned());
        let refresh_token = refresh_token.unwrap_or_else(|| renewal.refresh_token.clone());
        Ok(Token {
            access_token: renewed.access_token.expose_secret().to_owned(),
            expires_at: end.ok_or_else(|| unreadable(who))?,
            renewal: Some(Renewal { refresh_token, ..renewal }),
            others,
        })
    }
}

impl Token {
    /// Returns how long it counts; zero once it is over, `None` when that cannot be read.
    fn left(&self) -> Option<Duration> {
        // Older programs write the zone as a word.
        let end = self.expires_at.replace("UTC", "Z");
        let end = OffsetDateTime::parse(&end, &Rfc3339).ok()?;
        Some(Duration::try_from(end - OffsetDateTime::now_utc()).unwrap_or_default())
    }
}

/// Writes the token back. Where that is not possible, as on a disk that is read-only, it is renewed again next time.
async fn keep(file: PathBuf, token: &Token) {
    let Ok(text) = serde_json::to_vec(token) else { return };
    let written = tokio::task::spawn_blocking(move || files::replace_private(&file, &text)).await;
    if let Err(problem) = written.map_err(std::io::Error::other).flatten() {
        tracing::warn!(%problem, "the renewed sign-in to IAM Identity Center could not be written back");
    }
}

/// Returns a path at the server that the settings name, or at that of the region.
fn address(named: Option<&str>, server: &str, region: &str, path: &str) -> Result<Url, Refused> {
    let base = named.map(str::to_owned).or_else(|| super::address(server, region));
    let url = base.and_then(|base| Url::parse(&format!("{}/{path}", base.trim_end_matches('/'))).ok());
    url.ok_or_else(|| Refused::Credentials("the sso_region of the profile is none".to_owned()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::net::Timeouts;

    /// What the server has given counts, and what it replaced does not.
    #[tokio::test]
    async fn a_renewal_is_written_back_though_its_call_is_gone() {
        let (listener, home) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), tempfile::tempdir().unwrap());
        let address = format!("http://{}", listener.local_addr().unwrap());
        let endpoint = Endpoint {
            others: [("sso_oidc_url", address.into())].into_iter().collect(),
            home: Some(home.path().to_owned()),
            ..Endpoint::default()
        };
        let portal = Portal::new(&endpoint, &ApiClients::new(Timeouts::default()).unwrap());
        let [session, start_url, region, account, role] =
            ["office", "", "eu-west-1", "1", "r"].map(|text| text.to_owned());
        let sign_in = SignIn { session: Some(session), start_url, region, account, role };
        let file = portal.file(&sign_in).unwrap();
        let over = json!({"accessToken": "old", "expiresAt": "2020-01-01T00:00:00Z", "refreshToken": "first",
            "clientId": "c", "clientSecret": "s"});
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, over.to_string()).unwrap();

        let given_up = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            stream
        };
        let mut stream = tokio::select! {
            stream = given_up => stream,
            token = portal.token(&sign_in) => panic!("{:?}", token.map(drop)),
        };
        // The next call waits for what the one before has begun.
        let next = portal.token(&sign_in);
        let body = json!({"accessToken": "new", "expiresIn": 3_600, "refreshToken": "second"}).to_string();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let (token, written) = tokio::join!(next, stream.write_all(answer.as_bytes()));
        written.unwrap();
        assert_eq!(token.unwrap().expose_secret(), "new");
        let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(kept["refreshToken"], "second");
    }
}
