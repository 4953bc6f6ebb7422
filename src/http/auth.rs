//! Who a request comes from, where the service asks: a key in a header, or the cookie of a browser that signed in.
//!
//! Handlers below `/api/` run only for a request with a key that allows its method; what it may see follows from the
//! key's owner (`owned.rs`). Probes, the contract and the page itself need none: they show nothing of anybody.

use std::time::Duration;

use axum::{
    extract::{FromRequestParts, Request, State as Shared},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};

use super::{
    State, audit,
    cookies::{self, cookie, is_over_tls, set_session_cookie},
    error::{ApiError, Code, Place},
    extract::JsonBody,
    json, sign_in,
};
use crate::{
    auth::{Kind, Principal, SESSION, Session, Unverified},
    config::Authentication,
    domain::{ApiKey, Caller, KeyScope, Owner, Timestamp},
};

/// How often it is looked whether who reads a stream may still do so.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
const API: &str = "/api/";
/// The path where browsers sign in, which needs no key before.
const SESSIONS: &str = "/api/v1/session";
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Lets a request through that needs no key, or has one that allows it.
pub async fn check(Shared(state): Shared<State>, mut request: Request, next: Next) -> Response {
    if state.settings.authentication == Authentication::None || !request.uri().path().starts_with(API) {
        return next.run(request).await;
    }
    let signs_in = request.uri().path() == SESSIONS && request.method() == Method::POST;
    let principal = match identified(&state, request.headers()).await {
        Ok(principal) => principal,
        Err(error) => return error.into_response(),
    };
    match principal {
        Some(principal) if may(&principal, &request) => _ = request.extensions_mut().insert(principal),
        Some(principal) => return not_permitted(&principal).into_response(),
        None if signs_in => {}
        None => return unauthenticated(&state, request.headers()),
    }
    next.run(request).await
}

async fn identified(state: &State, headers: &HeaderMap) -> Result<Option<Principal>, ApiError> {
    Ok(match sent(headers) {
        Some((text, kind)) => state.keys.verify(text, kind).await?,
        None => None,
    })
}

/// Waits until the key or session of a request counts no more; for ever where none has to be sent. While nobody can
/// say, it counts.
pub async fn refused(state: State, headers: HeaderMap) {
    if state.settings.authentication == Authentication::None {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        if matches!(identified(&state, &headers).await, Ok(None)) {
            return;
        }
    }
}

/// Returns the headers that say who sent a request.
pub fn credentials(headers: &HeaderMap) -> HeaderMap {
    let of = |name: HeaderName| headers.get_all(&name).iter().map(move |value| (name.clone(), value.clone()));
    [header::AUTHORIZATION, API_KEY, header::COOKIE].into_iter().flat_map(of).collect()
}

/// Returns the key or session of a request; a header counts before the cookie, which browsers send unasked.
fn sent(headers: &HeaderMap) -> Option<(&str, Kind)> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(authorization) = text(&header::AUTHORIZATION) {
        let (scheme, key) = authorization.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some((key.trim(), Kind::Key));
    }
    if let Some(key) = text(&API_KEY) {
        return Some((key.trim(), Kind::Key));
    }
    cookie(headers, cookies::SESSION.name).map(|value| (value, Kind::Session))
}

/// Returns whether the scope of the principal's key allows the request. Reading needs the least. Everybody who is
/// signed in may sign out.
fn may(principal: &Principal, request: &Request) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD) || request.uri().path() == SESSIONS;
    principal.key.scope >= if reads { KeyScope::Read } else { KeyScope::Write }
}

/// Refuses a request without a key: says what a browser or program has to do, and not why a key is refused, which is
/// for its holder alone.
fn unauthenticated(state: &State, headers: &HeaderMap) -> Response {
    let detail = match sent(headers) {
        Some(_) => "the key or session is unknown, has expired or was revoked",
        None => "send a key of this service as Authorization: Bearer KEY, or sign in at /",
    };
    let mut response = ApiError::new(Code::Unauthenticated, detail).into_response();
    // The page offers the second way where there is one.
    let ways = match sign_in::is_offered(state) {
        true => "Bearer realm=\"fathom\", login_uri=\"/auth/login\"",
        false => "Bearer realm=\"fathom\"",
    };
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(ways));
    response
}

impl From<Unverified> for ApiError {
    fn from(error: Unverified) -> Self {
        match error {
            Unverified::Store(error) => error.into(),
            Unverified::Issuer(_) => sign_in::issuer_unavailable(),
        }
    }
}

fn not_permitted(principal: &Principal) -> ApiError {
    let scope = principal.key.scope.as_str();
    ApiError::new(Code::NotPermitted, format!("the key has the scope {scope}, which does not allow this"))
}

/// An administrator: for what nobody else may do, and nobody at all where the service does not ask who comes.
pub struct Administrator(pub Principal);

impl FromRequestParts<State> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, ApiError> {
        match parts.extensions.get::<Principal>() {
            Some(principal) if principal.key.scope == KeyScope::Admin => Ok(Self(principal.clone())),
            Some(principal) => Err(not_permitted(principal)),
            None => {
                let detail = "this service takes no keys: FATHOM_AUTHENTICATION=keys changes that";
                Err(ApiError::new(Code::NotPermitted, detail))
            }
        }
    }
}

/// Who is signed in.
#[derive(Serialize)]
struct SessionBody<'a> {
    authentication: &'static str,
    owner: &'a Owner,
    /// `None` where the service does not ask who comes.
    key: Option<&'a ApiKey>,
    /// When the browser has to sign in again.
    expires_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    key: String,
}

/// Returns who the request comes from. A browser's session is renewed once half of it is over, unless it ends with its
/// key: a new one would end then, too.
pub async fn show(Shared(state): Shared<State>, caller: Caller, request: Request) -> Result<Response, ApiError> {
    let Some(principal) = request.extensions().get::<Principal>() else {
        return json::answer(&SessionBody {
            authentication: "none",
            owner: &caller.owner,
            key: None,
            expires_at: None,
        });
    };
    let half = Timestamp::now().plus(SESSION / 2);
    let is_to_be_renewed = |session: &Session| session.ends < half && Some(session.ends) != principal.key.expires_at;
    match principal.session.filter(is_to_be_renewed) {
        Some(old) => {
            let (cookie, session) = state.keys.renew(principal, old).await?;
            signed_in(&principal.key, session, &cookie, request.headers())
        }
        None => json::answer(&body(&principal.key, principal.session)),
    }
}

/// Begins a browser's session with a key, which the page then forgets.
pub async fn sign_in(
    Shared(state): Shared<State>,
    headers: HeaderMap,
    JsonBody { value: SignIn { key }, .. }: JsonBody<SignIn>,
) -> Result<Response, ApiError> {
    let refused = |detail: &str| ApiError::invalid(Place::Pointer("/key".to_owned()), detail);
    if state.settings.authentication == Authentication::None {
        return Err(refused("this service takes no keys, and needs none"));
    }
    // A token of the issuer is no key of this service: there is nothing that its session could belong to.
    let known = state.keys.verify(key.trim(), Kind::Key).await?;
    let Some(principal) = known.filter(|principal| principal.key.issuer.is_none()) else {
        audit::sign_in_refused();
        return Err(refused("the key is unknown, has expired or was revoked"));
    };
    let (cookie, session) = state.keys.sign_in(&principal.key).await?;
    audit::signed_in(&principal.key, session);
    signed_in(&principal.key, session, &cookie, &headers)
}

/// Ends the browser's session, and takes its cookie away.
pub async fn sign_out(Shared(state): Shared<State>, request: Request) -> Result<Response, ApiError> {
    let principal = request.extensions().get::<Principal>();
    if let Some((principal, session)) = principal.and_then(|principal| Some((principal, principal.session?))) {
        state.keys.sign_out(session).await?;
        audit::signed_out(principal, session);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    cookies::SESSION.set(&mut response, "", 0, is_over_tls(request.headers()));
    Ok(response)
}

fn body(key: &ApiKey, session: Option<Session>) -> SessionBody<'_> {
    let expires_at = session.map_or(key.expires_at, |session| Some(session.ends));
    SessionBody { authentication: "keys", owner: &key.owner, key: Some(key), expires_at }
}

fn signed_in(key: &ApiKey, session: Session, cookie: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let mut response = json::answer(&body(key, Some(session)))?;
    set_session_cookie(&mut response, session, cookie, is_over_tls(headers));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_key_is_found_wherever_clients_send_it() {
        let sent =
            |pairs: &[(&'static str, &'static str)]| sent(&headers(pairs)).map(|(text, kind)| (text.to_owned(), kind));
        let key = Some(("k".to_owned(), Kind::Key));
        assert_eq!(sent(&[("authorization", "Bearer k")]), key);
        assert_eq!(sent(&[("authorization", "bearer  k ")]), key);
        assert_eq!(sent(&[("x-api-key", "k")]), key);
        assert_eq!(sent(&[("cookie", "a=b; fathom_session=k; c=d")]), Some(("k".to_owned(), Kind::Session)));
        assert_eq!(sent(&[("authorization", "Basic k"), ("x-api-key", "k")]), None, "the first place decides");
        assert_eq!(sent(&[("cookie", "xfathom_session=k")]), None);
        assert_eq!(sent(&[]), None);
    }
}
