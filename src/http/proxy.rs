//! The user whom a proxy in front names in a header: believed of the addresses that the operator has listed and of no
//! others, since all that reach the port can send the header.
//!
//! A request that names a user from elsewhere is refused rather than taken as one of nobody: behind a proxy that was
//! forgotten in the list, all users would be the same one and see each other's threads.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderName},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::{
    State,
    clients::Client,
    error::{ApiError, Code},
};
use crate::{
    config::{Authentication, HttpSettings},
    domain::Owner,
};

/// The user whom a trusted proxy named.
#[derive(Clone, Debug)]
pub struct Named(pub Owner);

/// Keeps who was named for the handlers, which do not look at the header.
pub async fn check(Shared(state): Shared<State>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Arc<Client>>().map(|client| client.peer);
    match named(&state.settings, peer, request.headers()) {
        Ok(Some(owner)) => _ = request.extensions_mut().insert(Named(owner)),
        Ok(None) => {}
        Err(refused) => return refused.into_response(),
    }
    next.run(request).await
}

/// Returns the user that the request names, if it comes from where users may be named. With keys it is each key that
/// names one.
fn named(settings: &HttpSettings, peer: Option<IpAddr>, headers: &HeaderMap) -> Result<Option<Owner>, ApiError> {
    let Some(header) = settings.owner_header.as_ref().filter(|_| settings.authentication == Authentication::None)
    else {
        return Ok(None);
    };
    let mut names = headers.get_all(header).into_iter();
    let Some(name) = names.next() else { return Ok(None) };
    if !peer.is_some_and(|peer| settings.trusted_proxies.contain(peer)) {
        let peer = peer.map_or("an unknown address".to_owned(), |peer| peer.to_canonical().to_string());
        tracing::warn!(target: "audit", peer, "a user named from there is not believed; FATHOM_TRUSTED_PROXIES names the proxies that may");
        let detail =
            format!("{peer} may not name users in {header}; the operator can add it to FATHOM_TRUSTED_PROXIES");
        return Err(ApiError::new(Code::ProxyNotTrusted, detail));
    }
    // A proxy that adds its header behind one that a client sent would let the client choose.
    if names.next().is_some() {
        tracing::warn!(target: "audit", "a proxy passed on several users; it has to replace the header");
        let detail = format!("{header} came more than once; the proxy has to replace what clients send");
        return Err(ApiError::new(Code::ProxyNotTrusted, detail));
    }
    // Spaces and tabs around a value are no part of it (RFC 9110, 5.5), but over HTTP/2 they arrive.
    match str::from_utf8(name.as_bytes()).map(|name| name.trim_matches([' ', '\t'])) {
        Ok("") => Ok(None),
        Ok(name) => Owner::of_person(name).map(Some).map_err(|bad| not_allowed(header, &bad.to_string())),
        Err(_) => Err(not_allowed(header, "a user's name is text in UTF-8")),
    }
}

/// Returns a name that would have to be changed could become another user's.
fn not_allowed(header: &HeaderName, why: &str) -> ApiError {
    tracing::warn!(target: "audit", why, "a proxy named a user whom nobody can be");
    ApiError::new(Code::OwnerNotAllowed, format!("{header}: {why}"))
}
