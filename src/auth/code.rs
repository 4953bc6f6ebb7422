//! Signing a browser in at an issuer: OpenID Connect's authorisation code flow with PKCE (RFC 7636), whose requests the
//! `oauth2` crate makes and reads.
//!
//! What is needed when the browser comes back stands in a cookie of its own, so any replica can go on.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures::{FutureExt as _, future::BoxFuture};
use oauth2::{
    AccessToken, AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest,
    HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    StandardRevocableToken, TokenResponse, TokenUrl,
    basic::{self, BasicTokenType},
};
use reqwest::{Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use subtle::ConstantTimeEq as _;
use url::Url;

use super::{
    issuer::{Client, Issuer},
    refused::Refused,
    token::random,
};
use crate::net;

const MAX_ANSWER_BYTES: usize = 256 << 10;

/// A sign-in that has begun. Shape as text: state, nonce and verifier, separated by dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    state: String,
    nonce: String,
    verifier: String,
}

impl Begun {
    fn new() -> Self {
        let text = || URL_SAFE_NO_PAD.encode(random());
        Self { state: text(), nonce: text(), verifier: text() }
    }

    /// Writes it as the value of a cookie.
    pub fn text(&self) -> String {
        format!("{}.{}.{}", self.state, self.nonce, self.verifier)
    }

    /// Reads what [`Self::text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(str::to_owned);
        let begun = Self { state: parts.next()?, nonce: parts.next()?, verifier: parts.next()? };
        (parts.next().is_none() && begun.verifier.len() == 43).then_some(begun)
    }
}

/// The answer with the tokens. Nothing but `id_token` is needed, so nothing else has to be as the standard says: some
/// issuers write the seconds of `expires_in` as a text.
#[derive(Debug, Serialize, Deserialize)]
struct Tokens {
    id_token: String,
    #[serde(skip, default = "no_token")]
    access_token: AccessToken,
}

fn no_token() -> AccessToken {
    AccessToken::new(String::new())
}

impl TokenResponse for Tokens {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    fn token_type(&self) -> &BasicTokenType {
        &BasicTokenType::Bearer
    }

    fn expires_in(&self) -> Option<Duration> {
        None
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        None
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        None
    }
}

type OAuth = oauth2::Client<
    basic::BasicErrorResponse,
    Tokens,
    basic::BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    basic::BasicRevocationErrorResponse,
>;

impl Client {
    fn oauth(&self) -> OAuth {
        let oauth = OAuth::new(ClientId::new(self.id.clone()));
        let oauth = oauth.set_redirect_uri(RedirectUrl::from_url(self.redirect_url.clone()));
        match &self.secret {
            Some(secret) => oauth.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned())),
            None => oauth,
        }
    }

    fn scopes(&self) -> impl Iterator<Item = Scope> {
        self.scopes.split_whitespace().map(|scope| Scope::new(scope.to_owned()))
    }
}

impl Issuer {
    /// Begins a sign-in: returns where the browser is sent, and what it has to bring back.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn begin(&self, client: &Client) -> Result<(Url, Begun), Refused> {
        let begun = Begun::new();
        let url = self.endpoints().await?.authorization_endpoint;
        let url = url.ok_or_else(|| Refused::Unreachable("it signs no browsers in".to_owned()))?;
        let verifier = PkceCodeVerifier::new(begun.verifier.clone());
        let oauth = client.oauth().set_auth_uri(AuthUrl::from_url(url));
        let request = oauth.authorize_url(|| CsrfToken::new(begun.state.clone())).add_scopes(client.scopes());
        let request = request.add_extra_param("nonce", begun.nonce.clone());
        let (url, _) = request.set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier)).url();
        Ok((url, begun))
    }

    /// Returns who has signed in: the claims of the token that the code gives.
    ///
    /// # Errors
    /// [`Refused`], also for an answer to another browser's sign-in.
    pub async fn finish(&self, client: &Client, begun: &Begun, state: &str, code: &str) -> Result<Value, Refused> {
        if !bool::from(begun.state.as_bytes().ct_eq(state.as_bytes())) {
            return Err(Refused::Invalid("the answer belongs to another sign-in".to_owned()));
        }
        let endpoints = self.endpoints().await?;
        let way = if endpoints.want_secret_in_body() { AuthType::RequestBody } else { AuthType::BasicAuth };
        let url = endpoints.token_endpoint.ok_or_else(|| Refused::Unreachable("it gives no tokens".to_owned()))?;
        let oauth = client.oauth().set_token_uri(TokenUrl::from_url(url)).set_auth_type(way);
        let exchange = oauth
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(begun.verifier.clone()));
        let tokens = exchange.request_async(self).await.map_err(|error| match error {
            RequestTokenError::Request(refused) => refused,
            _ => Refused::Invalid("the issuer gave no id_token".to_owned()),
        })?;
        let claims = self.claims(&tokens.id_token, std::slice::from_ref(&client.id)).await?;
        match claims["nonce"].as_str().is_some_and(|nonce| bool::from(nonce.as_bytes().ct_eq(begun.nonce.as_bytes()))) {
            true => Ok(claims),
            false => Err(Refused::Invalid("the token belongs to another sign-in".to_owned())),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for Issuer {
    type Error = Refused;
    type Future = BoxFuture<'c, Result<HttpResponse, Refused>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.sent(request).boxed()
    }
}

impl Issuer {
    async fn sent(&self, request: HttpRequest) -> Result<HttpResponse, Refused> {
        let request = reqwest::Request::try_from(request)?;
        let client = self.client_for(request.url());
        Ok(HttpResponse::new(granted(client.execute(request).await?).await?))
    }
}

/// Returns what the token endpoint gives. A code that is used up and a secret that is wrong are no better the next
/// time.
async fn granted(response: Response) -> Result<Vec<u8>, Refused> {
    let status = response.status();
    let answer = net::read_body(response, MAX_ANSWER_BYTES).await?;
    if status.is_success() {
        return Ok(answer);
    }
    let code = net::refusal_code(&answer).unwrap_or_else(|| "no reason".to_owned());
    let detail = format!("its token endpoint answers {}: {code}", status.as_u16());
    match status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
        true => Err(Refused::Invalid(detail)),
        false => Err(Refused::Unreachable(detail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_that_has_begun_is_read_from_its_cookie() {
        let begun = Begun::new();
        assert_eq!(Begun::parse(&begun.text()), Some(begun.clone()));
        assert_ne!(Begun::new(), begun);
        for wrong in ["", "a.b", "a.b.c", &format!("{}.x", begun.text())] {
            assert_eq!(Begun::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_the_tokens_only_the_one_that_names_the_user_has_to_be_right() {
        let read = |answer: &str| serde_json::from_str::<Tokens>(answer).ok().map(|tokens| tokens.id_token);
        let by_microsoft =
            r#"{"id_token": "a.b.c", "token_type": "Bearer", "expires_in": "3599", "scope": ["openid"]}"#;
        assert_eq!([read(by_microsoft), read(r#"{"id_token": "a.b.c"}"#)].map(Option::unwrap), ["a.b.c"; 2]);
        assert_eq!(read(r#"{"access_token": "a", "token_type": "Bearer"}"#), None);
    }

    /// A code that is used up is no failure of the issuer, and the log says what it was.
    #[tokio::test]
    async fn what_the_token_endpoint_refuses_is_invalid() {
        let check = async |status: u16, body: &'static str, expected: &str| {
            let answer = http::Response::builder().status(status).body(body).unwrap();
            assert_eq!(format!("{:?}", granted(answer.into()).await.unwrap_err()), expected);
        };
        let used_up = r#"{"error": "invalid_grant", "error_description": "hunter2 was used"}"#;
        check(400, used_up, r#"Invalid("its token endpoint answers 400: invalid_grant")"#).await;
        check(401, r#"{"error": "invalid_client"}"#, r#"Invalid("its token endpoint answers 401: invalid_client")"#)
            .await;
        check(404, "<html>", r#"Invalid("its token endpoint answers 404: no reason")"#).await;
        check(429, "", r#"Unreachable("its token endpoint answers 429: no reason")"#).await;
        check(503, "", r#"Unreachable("its token endpoint answers 503: no reason")"#).await;
        let granted = granted(http::Response::new("{}").into()).await;
        assert_eq!(granted.unwrap(), b"{}");
    }
}
