//! Browsers that sign in at an issuer: sent there, and taken back with a session.

use axum::{
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::{
    State, audit,
    cookies::{self, Cookie},
    error::{ApiError, Code},
    extract::Query,
    shares::{self, Words},
};
use crate::{
    auth::{Begun, Client, Issuer, Refused},
    config::Authentication,
};

/// Holds what the browser has to bring back. Sent with navigations from the issuer, so it is not strict as the
/// session's.
const LOGIN: Cookie = Cookie { name: "fathom_login", path: "/auth", same_site: "Lax" };
/// How long somebody may take to sign in.
const SECONDS: u64 = 600;
const HOME: &str = "/";

/// Shows browsers a page with a way back where a sign-in was refused; everybody else gets a problem, as everywhere.
pub async fn for_people(request: Request, next: Next) -> Response {
    let (wants_page, words) = (shares::wants_page(request.headers()), Words::of(request.headers()));
    let response = next.run(request).await;
    let is_refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::SERVICE_UNAVAILABLE);
    if !wants_page || !is_refused {
        return response;
    }
    let back = format!("<a href=\"{HOME}\">{}</a>", words.try_again);
    shares::refusal(response, words, words.not_signed_in, &back)
}

/// Sends the browser to the issuer.
pub async fn begin(Shared(state): Shared<State>, headers: HeaderMap) -> Result<Response, ApiError> {
    let (issuer, client) = configured(&state)?;
    let (url, begun) = issuer.begin(client).await.map_err(|error| failed(&error))?;
    let mut response = redirect(url.as_str());
    // The address that it comes back to does not count: a browser that is here without TLS would drop the cookie.
    LOGIN.set(&mut response, &begun.text(), SECONDS, cookies::is_over_tls(&headers));
    Ok(response)
}

/// Takes the browser back: the code that it brings gives a token, and that a session.
pub async fn finish(Shared(state): Shared<State>, headers: HeaderMap, query: Query) -> Result<Response, ApiError> {
    let (issuer, client) = configured(&state)?;
    let begun = cookies::cookie(&headers, LOGIN.name).and_then(Begun::parse);
    let (Some(begun), Some(code), Some(brought)) = (begun, query.text("code"), query.text("state")) else {
        return Err(refused("the issuer did not sign you in, or it took too long; begin again at /"));
    };
    let claims = issuer.finish(client, &begun, brought, code).await.map_err(|error| failed(&error))?;
    let bearer = issuer.key_of(&claims).map_err(|error| failed(&error))?;
    let (key, cookie, session) = state.keys.sign_in_through(bearer).await?;
    audit::signed_in(&key, session);
    let is_over_tls = client.redirect_url.scheme() == "https" || cookies::is_over_tls(&headers);
    let mut response = redirect(HOME);
    LOGIN.set(&mut response, "", 0, is_over_tls);
    cookies::set_session_cookie(&mut response, session, &cookie, is_over_tls);
    Ok(response)
}

/// Returns whether browsers can sign in at an issuer.
pub fn is_offered(state: &State) -> bool {
    configured(state).is_ok()
}

fn configured(state: &State) -> Result<(&Issuer, &Client), ApiError> {
    let issuer = state.keys.issuer().filter(|_| state.settings.authentication == Authentication::Keys);
    let client = issuer.and_then(|issuer| Some((issuer, issuer.settings().client.as_ref()?)));
    client.ok_or_else(|| ApiError::new(Code::NotConfigured, "this service signs nobody in through others"))
}

fn failed(error: &Refused) -> ApiError {
    tracing::warn!(target: "audit", %error, "a sign-in through the issuer failed");
    match error {
        Refused::Unreachable(_) => issuer_unavailable(),
        _ => refused("the sign-in failed; the service's log says why. Begin again at /"),
    }
}

pub fn issuer_unavailable() -> ApiError {
    ApiError::new(Code::IssuerUnavailable, "the issuer did not answer; try again")
}

fn refused(detail: &str) -> ApiError {
    ApiError::new(Code::Unauthenticated, detail)
}

fn redirect(to: &str) -> Response {
    let mut response = StatusCode::FOUND.into_response();
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}
