//! Who may send requests from a browser: only pages that the service itself, or an allowed origin, has sent.
//!
//! A browser sends what any page asks it to send, also to a service on loopback. Two checks keep foreign pages out: the
//! request must name this service (a page whose name was made to point at this machine, by DNS rebinding, names
//! itself), and a change must come from a page of this service or of an allowed origin. Programs that are no browsers
//! send no `Origin` and pass.

use std::net::Ipv6Addr;

use axum::{
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderValue, Method, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::{
    State,
    error::{ApiError, Code},
};
use crate::config::{AllowedHosts, CorsOrigins, HttpSettings};

/// Lets a request through that is meant for this service and, if it changes something, comes from a page that may.
pub async fn check(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let checked = named(&state.settings.allowed_hosts, request.uri(), request.headers())
        .and_then(|host| may_change(&state.settings, request.method(), host.as_deref(), request.headers()));
    match checked {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// Returns the host and port that the request names, in its target or its `Host`; `None` when it names none, which no
/// browser does. Where it names several, each has to be a name of this service.
fn named(allowed: &AllowedHosts, uri: &Uri, headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let target = uri.authority().map(|authority| Ok(authority.as_str()));
    let names = target.into_iter().chain(headers.get_all(header::HOST).into_iter().map(HeaderValue::to_str));
    let mut first = None;
    for name in names {
        let name = name.map_err(|_| foreign("what its Host header says"))?;
        if !name.is_empty() && !is_allowed(allowed, name) {
            return Err(foreign(name));
        }
        first = first.or(Some(name).filter(|name| !name.is_empty()));
    }
    Ok(first.map(str::to_owned))
}

fn foreign(name: &str) -> ApiError {
    let detail = format!("this service is not {name}; its operator can add the name to FATHOM_ALLOWED_HOSTS");
    ApiError::new(Code::HostNotAllowed, detail)
}

/// Returns whether this name of the service may be used. Addresses may: what an attacker can point at this machine is
/// a name, and a page loaded from an address is a page of that address. So do probes that know nothing but the
/// address of a container.
fn is_allowed(allowed: &AllowedHosts, name: &str) -> bool {
    let AllowedHosts::Only(names) = allowed else { return true };
    let Ok(authority) = name.parse::<Authority>() else { return false };
    // A host and perhaps a port, nothing else: no user before it, nothing behind an address in brackets.
    let port = name.strip_prefix(authority.host());
    if !port.is_some_and(|port| port.is_empty() || port.starts_with(':')) {
        return false;
    }
    let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
    is_address(&host) || is_this_machine(&host) || names.contains(&host)
}

/// Returns whether it is `localhost` or a name below it (RFC 6761, section 6.3), in lower case.
pub fn is_this_machine(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn is_address(host: &str) -> bool {
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match in_brackets {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<std::net::Ipv4Addr>().is_ok(),
    }
}

/// Refuses a change that a page of another origin asks for. Browsers say where a request comes from: in
/// `Sec-Fetch-Site` on trustworthy origins, in `Origin` on all changes.
fn may_change(
    settings: &HttpSettings,
    method: &Method,
    host: Option<&str>,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("an unreadable origin"));
    let (site, origin) = (text("sec-fetch-site"), text("origin"));
    let same = match (site, origin) {
        (Some("same-origin" | "none"), _) | (None, None) => true,
        (None, Some(origin)) => host.is_some_and(|host| is_same(origin, host)),
        (Some(_), _) => false,
    };
    if same || origin.is_some_and(|origin| is_trusted(&settings.cors_origins, origin)) {
        return Ok(());
    }
    let page = origin.unwrap_or("another site");
    let detail = format!("pages of {page} may not change anything here; FATHOM_CORS_ORIGINS names those that may");
    Err(ApiError::new(Code::OriginNotAllowed, detail))
}

/// Returns whether the origin is that of `host`. The scheme is not compared: whether a proxy in front speaks TLS is
/// not known here.
fn is_same(origin: &str, host: &str) -> bool {
    let Some((scheme, page)) = origin.split_once("://") else { return false };
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let bare = |name: &str| name.strip_suffix(usual).unwrap_or(name).to_ascii_lowercase();
    bare(page) == bare(host)
}

fn is_trusted(origins: &CorsOrigins, origin: &str) -> bool {
    match origins {
        CorsOrigins::None => false,
        CorsOrigins::All => true,
        CorsOrigins::Only(origins) => origins.iter().any(|trusted| trusted == origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_service_are_allowed_and_others_are_not() {
        let allowed = AllowedHosts::Only(vec!["research.example".to_owned()]);
        for name in [
            "localhost:8080",
            "LOCALHOST",
            "fathom.localhost",
            "127.0.0.1:8080",
            "10.1.2.3",
            "[::1]:8080",
            "research.example",
            "Research.Example.:443",
        ] {
            assert!(is_allowed(&allowed, name), "{name}");
        }
        for name in [
            "evil.test",
            "evil.test:8080",
            "127.0.0.1.evil.test",
            "localhost.evil.test",
            "xlocalhost",
            "localhost@evil.test",
            "evil@localhost",
            "more.research.example",
            "2130706433",
            "[::1].evil.test",
            "",
            " ",
            "a b",
        ] {
            assert!(!is_allowed(&allowed, name), "{name}");
        }
        assert!(is_allowed(&AllowedHosts::All, "evil.test"));
    }

    #[test]
    fn an_origin_is_this_service_whatever_its_usual_port() {
        assert!(is_same("http://localhost:8080", "localhost:8080"));
        assert!(is_same("https://research.example", "research.example"));
        assert!(is_same("https://research.example", "research.example:443"));
        assert!(is_same("http://Research.example:80", "research.example"));
        assert!(!is_same("http://localhost:3000", "localhost:8080"));
        assert!(!is_same("null", "localhost"));
        assert!(!is_same("file://localhost", "localhost"));
        assert!(!is_same("http://evil.test", "localhost"));
    }
}
