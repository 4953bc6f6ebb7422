//! Tokens from an authorization server, for MCP servers that want OAuth and know no users: client credentials by the
//! SDK (MCP's extension for programs), or the exchange of a token for one of the server's (RFC 8693), as Open Deep
//! Research does it. What may go wrong costs that server's tools alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::{Method, StatusCode};
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, ClientCredentialsConfig, OAuthHttpClient, OAuthHttpClientFuture,
    OAuthHttpRequest,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{Error, error::chain};
use crate::net::{self, ApiClients, Timeouts};

/// The largest answer of an authorization server.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// The time for all that it takes to get a token: up to six documents are looked for on the way.
const TIME: Duration = Duration::from_secs(20);
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// How a server's token is had.
#[derive(Clone, Debug)]
pub struct OAuth {
    pub client_id: String,
    pub grant: Grant,
    pub scopes: Vec<String>,
    /// Where tokens are had; `None`: what the server's own documents say (RFC 9728 and 8414), or `/oauth/token` for an
    /// exchange.
    pub token_url: Option<Url>,
}

#[derive(Clone, Debug)]
pub enum Grant {
    /// With this secret of the client.
    ClientSecret(SecretString),
    /// For this token.
    Exchange(SecretString),
}

impl OAuth {
    /// Returns what must not be shown.
    pub fn secret(&self) -> &SecretString {
        match &self.grant {
            Grant::ClientSecret(secret) | Grant::Exchange(secret) => secret,
        }
    }

    /// Returns a token for the server at `url`.
    ///
    /// # Errors
    /// [`Error::NeedsToken`] when it is refused, [`Error::Unavailable`] for everything else; the text may hold what the
    /// authorization server said.
    pub async fn token(&self, url: &Url) -> Result<SecretString, Error> {
        let timeouts = Timeouts { connect: Duration::from_secs(10), total: Some(TIME), idle: None };
        let clients = ApiClients::new(timeouts).map_err(|error| unavailable(&error))?;
        let work = async {
            match &self.grant {
                Grant::ClientSecret(secret) => self.by_secret(url, secret, clients).await,
                Grant::Exchange(token) => self.exchanged(url, token, &clients).await,
            }
        };
        let late = |_| Error::Unavailable(format!("its authorization server took longer than {} s", TIME.as_secs()));
        tokio::time::timeout(TIME, work).await.map_err(late)?
    }

    async fn by_secret(&self, url: &Url, secret: &SecretString, clients: ApiClients) -> Result<SecretString, Error> {
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: self.client_id.clone(),
            client_secret: secret.expose_secret().to_owned(),
            scopes: self.scopes.clone(),
            resource: Some(url.to_string()),
        };
        let http = Arc::new(OAuthTransport { clients, refused: AtomicBool::new(false) });
        let transport = Arc::clone(&http);
        // The SDK keeps the words of a refusal, and neither its status nor its code.
        let failed = |error| match http.refused.load(Ordering::Relaxed) {
            true => Error::NeedsToken,
            false => unavailable(&error),
        };
        let manager = AuthorizationManager::new_with_oauth_http_client(url.as_str(), transport).await;
        let mut manager = manager.map_err(failed)?;
        manager.set_metadata(match &self.token_url {
            Some(token_url) => endpoint(token_url)?,
            None => manager.resolve_metadata().await.map_err(failed)?.metadata,
        });
        manager.validate_client_credentials_metadata(&config).map_err(failed)?;
        manager.configure_client_credentials(&config).map_err(failed)?;
        manager.exchange_client_credentials(&config).await.map_err(failed)?;
        manager.get_access_token().await.map(SecretString::from).map_err(failed)
    }

    async fn exchanged(&self, url: &Url, token: &SecretString, clients: &ApiClients) -> Result<SecretString, Error> {
        #[derive(Deserialize)]
        struct Granted {
            access_token: String,
        }
        let token_url = self.token_url.clone().unwrap_or_else(|| beside(url));
        let scopes = self.scopes.join(" ");
        let mut form = vec![
            ("client_id", self.client_id.as_str()),
            ("subject_token", token.expose_secret()),
            ("grant_type", EXCHANGE),
            ("resource", url.as_str()),
            ("subject_token_type", ACCESS_TOKEN),
        ];
        form.extend((!scopes.is_empty()).then_some(("scope", scopes.as_str())));
        let request = net::form(clients.for_url(&token_url).post(token_url), &form);
        let response = request.send().await.map_err(|error| unavailable(&error))?;
        let status = response.status();
        let body = net::read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| unavailable(&error))?;
        match status.as_u16() {
            200 => {
                let granted: Granted = serde_json::from_slice(&body)
                    .map_err(|_| Error::Unavailable("its authorization server answers without a token".to_owned()))?;
                Ok(granted.access_token.into())
            }
            // The token that is given up is refused with 400 (RFC 8693, 2.2.2).
            400 | 401 | 403 => Err(Error::NeedsToken),
            _ => Err(Error::Unavailable(format!("its authorization server answered {status}"))),
        }
    }
}

/// Returns whether the client or its secret is refused, so that the settings have to change.
fn is_refusal(status: StatusCode, body: &[u8]) -> bool {
    let codes = ["invalid_client", "unauthorized_client", "access_denied"];
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        StatusCode::BAD_REQUEST => net::refusal_code(body).is_some_and(|code| codes.contains(&code.as_str())),
        _ => false,
    }
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Error {
    Error::Unavailable(format!("its authorization server: {}", chain(error)))
}

/// Turns `https://host/mcp` into `https://host/oauth/token`.
fn beside(url: &Url) -> Url {
    let mut beside = url.clone();
    let folder = url.path().trim_end_matches('/').trim_end_matches("/mcp").to_owned();
    beside.set_path(&format!("{folder}/oauth/token"));
    beside.set_query(None);
    beside
}

/// Returns what would be discovered, when it is written down.
fn endpoint(token_url: &Url) -> Result<AuthorizationMetadata, Error> {
    let given = json!({"token_endpoint": token_url, "authorization_endpoint": token_url});
    serde_json::from_value(given).map_err(|error| unavailable(&error))
}

/// The SDK's requests, over our clients and within our bounds. No redirect is followed.
struct OAuthTransport {
    clients: ApiClients,
    /// Whether a request for a token has been refused.
    refused: AtomicBool,
}

impl OAuthHttpClient for OAuthTransport {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            // Documents are fetched, tokens are asked for.
            let for_token = request.method() == Method::POST;
            let response = self.clients.for_url(request.url()).execute(request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = net::read_body(response, MAX_ANSWER_BYTES).await?;
            if for_token && is_refusal(status, &body) {
                self.refused.store(true, Ordering::Relaxed);
            }
            let mut answer = http::Response::new(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_client_is_none_that_could_not_be_asked() {
        let check = |status: u16, body: &str, expected: bool| {
            assert_eq!(is_refusal(StatusCode::from_u16(status).unwrap(), body.as_bytes()), expected, "{status} {body}");
        };
        check(401, "", true);
        check(403, "<html>", true);
        check(400, r#"{"error": "invalid_client"}"#, true);
        check(400, r#"{"error": "invalid_scope"}"#, false);
        check(503, r#"{"error": "invalid_client"}"#, false);
        check(200, r#"{"access_token": "t"}"#, false);
    }

    #[test]
    fn an_exchange_happens_beside_the_server() {
        let check = |url: &str, expected: &str| assert_eq!(beside(&Url::parse(url).unwrap()).as_str(), expected);
        check("https://tools.example/mcp", "https://tools.example/oauth/token");
        check("https://tools.example/team/mcp/?a=b", "https://tools.example/team/oauth/token");
        check("https://tools.example", "https://tools.example/oauth/token");
    }
}
