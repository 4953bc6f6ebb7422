//! Cookies of browsers: read, and written so that no script gets at them.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, header, uri::Authority},
    response::Response,
};

use super::origin;
use crate::{auth::Session, domain::Timestamp};

/// A cookie that this service gives.
#[derive(Clone, Copy, Debug)]
pub struct Cookie {
    pub name: &'static str,
    /// Sent with requests below it.
    pub path: &'static str,
    pub same_site: &'static str,
}

/// The cookie of a session: no other site's page sends it.
pub const SESSION: Cookie = Cookie { name: "fathom_session", path: "/", same_site: "Strict" };
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns the cookie of that name.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Gives a browser its session.
pub fn set_session_cookie(response: &mut Response, session: Session, cookie: &str, is_over_tls: bool) {
    SESSION.set(response, cookie, session.ends.after(Timestamp::now()).as_secs(), is_over_tls);
}

/// Returns whether the browser speaks TLS. Proxies in front say so, of several in a row the outermost one first; so
/// does the address of the page that a change comes from; and so does what browsers add to requests (`Sec-Fetch-Site`),
/// as they do over TLS and on their own machine alone.
pub fn is_over_tls(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let forwarded = text(&FORWARDED_PROTO).split(',').next().unwrap_or_default();
    forwarded.trim().eq_ignore_ascii_case("https")
        || text(&header::ORIGIN).starts_with("https://")
        || headers.contains_key(&SEC_FETCH_SITE) && is_elsewhere(text(&header::HOST))
}

/// Returns whether a host, which may have a port, is known to be another machine than the browser's own.
fn is_elsewhere(host: &str) -> bool {
    let authority = host.parse::<Authority>().ok();
    match authority.and_then(|authority| url::Host::parse(authority.host()).ok()) {
        Some(url::Host::Domain(name)) => !origin::is_this_machine(&name),
        Some(url::Host::Ipv4(address)) => !address.is_loopback(),
        Some(url::Host::Ipv6(address)) => !address.is_loopback(),
        None => false,
    }
}

impl Cookie {
    /// Gives it to the browser for so many seconds; no script reads it. Over TLS only, where the browser is known to
    /// speak it.
    pub fn set(self, response: &mut Response, value: &str, seconds: u64, is_over_tls: bool) {
        let Self { name, path, same_site } = self;
        let secure = if is_over_tls { "; Secure" } else { "" };
        let cookie = format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn proxies_and_pages_say_that_a_browser_speaks_tls() {
        let check = |name, value, expected| assert_eq!(is_over_tls(&headers(&[(name, value)])), expected, "{value}");
        check("x-forwarded-proto", "https", true);
        check("x-forwarded-proto", "HTTPS", true);
        check("x-forwarded-proto", "https, http", true);
        check("x-forwarded-proto", "http, https", false);
        check("x-forwarded-proto", "", false);
        check("origin", "https://research.example.com", true);
        check("origin", "http://research.example.com", false);
        check("referer", "https://research.example.com/", false);
    }

    /// A browser renews its session by a request without `Origin`.
    #[test]
    fn what_browsers_add_over_tls_says_so_but_on_their_own_machine() {
        let of_host = |host| is_over_tls(&headers(&[("sec-fetch-site", "same-origin"), ("host", host)]));
        for host in ["research.example.com", "research:8443", "10.0.0.7:8080", "[2001:db8::1]:443"] {
            assert!(of_host(host), "{host}");
        }
        for host in ["localhost:8080", "a.localhost", "127.0.0.1:8080", "127.0.0.2", "[::1]:8080", "", "a b"] {
            assert!(!of_host(host), "{host}");
        }
        assert!(!is_over_tls(&headers(&[("host", "research.example.com")])));
    }
}
