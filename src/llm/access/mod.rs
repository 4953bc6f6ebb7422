//! How a cloud knows who calls, where that is more than a key in a header: tokens that are fetched and renewed, and
//! requests that are signed.
//!
//! What is needed for it comes from files and from servers beside the one that is called. Nothing of it is logged, and
//! it is hidden in what others say.

mod amazon;
mod credential_cache;
mod google;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use super::Error;
use super::endpoint::{Auth, Endpoint};
use crate::domain::ModelName;
use crate::net::ApiClients;

pub(super) use amazon::{base as amazon_base, path as amazon_path};
pub(super) use google::{
    base as google_base, claude as google_claude, gemini as google_gemini, is_global as google_is_global,
};

/// How requests to one server are authorised, beside what its headers say.
#[derive(Debug)]
pub(super) enum Access {
    /// The headers say all.
    Headers,
    Google(Box<google::Tokens>),
    Amazon(Box<amazon::Signer>),
}

/// Why a request could not be authorised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Fix the credentials.
    Credentials(String),
    /// Nobody who could give a token answers.
    Unreachable(String),
}

impl Access {
    /// Chooses how requests are authorised; a key wins over all else.
    pub(super) fn new(auth: Auth, endpoint: &Endpoint, clients: &ApiClients) -> Self {
        match auth {
            _ if endpoint.key().is_some() => Self::Headers,
            Auth::Google => Self::Google(Box::new(google::Tokens::new(endpoint, clients))),
            Auth::Amazon => Self::Amazon(Box::new(amazon::Signer::new(endpoint, clients))),
            Auth::Bearer | Auth::Header(_) => Self::Headers,
        }
    }

    /// Adds what the request needs to `headers`; `body` is what will be sent.
    ///
    /// # Errors
    /// [`Error::Auth`] for credentials that are missing, unusable or refused, [`Error::Transport`] when a token cannot
    /// be fetched.
    ///
    /// # Cancel safety
    /// Dropping the future gives up fetching; the next request begins again.
    pub(super) async fn authorise(
        &self,
        model: &ModelName,
        url: &str,
        headers: &mut HeaderMap,
        body: &[u8],
    ) -> Result<(), Error> {
        let done = match self {
            Self::Headers => Ok(()),
            Self::Google(tokens) => tokens.token().await.and_then(|token| bearer(headers, &token)),
            Self::Amazon(signer) => signer.sign(url, headers, body).await,
        };
        done.map_err(|refused| match refused {
            Refused::Credentials(detail) => Error::Auth { model: model.clone(), detail },
            Refused::Unreachable(detail) => Error::Transport { model: model.clone(), detail },
        })
    }

    /// Takes in that a request was refused with 401 or 403: what is kept is fetched again next time, unless the answer
    /// says that its sender is known, and may only not do this (a model that is not enabled). Returns whether the next
    /// request is authorised by something that is fetched again.
    pub(super) fn refused(&self, status: u16, headers: &HeaderMap) -> bool {
        match self {
            Self::Google(tokens) if status == 401 => tokens.forget(),
            Self::Amazon(signer) if !amazon::knows_sender(headers) => signer.forget(),
            Self::Headers | Self::Google(_) | Self::Amazon(_) => false,
        }
    }

    /// Returns what must not be shown, should somebody say it.
    pub(super) fn secrets(&self) -> Vec<String> {
        match self {
            Self::Headers => Vec::new(),
            Self::Google(tokens) => tokens.secrets(),
            Self::Amazon(signer) => signer.secrets(),
        }
    }
}

/// Returns whether `text` can be part of a cloud's address, and is nothing that would lead elsewhere.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.len() <= 100 && text.bytes().all(fits)
}

fn bearer(headers: &mut HeaderMap, token: &SecretString) -> Result<(), Refused> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut value = value.map_err(|_| Refused::Credentials("the token has characters no header may have".into()))?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(())
}
