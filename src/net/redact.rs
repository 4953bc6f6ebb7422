//! What may be a secret goes before an address or a text of somebody else's is shown, stored or logged.

use std::borrow::Cow;

use url::{Url, form_urlencoded};

/// What stands for a secret.
pub const HIDDEN: &str = "(hidden)";

/// What else names of parameters end in whose values are secrets: `X-Amz-Signature`, `tavilyApiKey`.
const ENDINGS: [&str; 9] =
    ["apikey", "_key", "-key", "token", "secret", "password", "passwd", "signature", "credential"];

/// Names of parameters whose values are secrets.
const NAMES: [&str; 13] = [
    "key",
    "api_key",
    "apikey",
    "api-key",
    "x-api-key",
    "token",
    "access_token",
    "auth",
    "authorization",
    "password",
    "secret",
    "client_secret",
    "sig",
];

/// Returns the address without user, password, query and fragment.
pub fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    remove_user(&mut url);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Returns the name of a page or file for the log: addresses as [`shown_url`] has them, other names as they are.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    match Url::parse(name) {
        Ok(url) if url.has_host() => Cow::Owned(shown_url(&url)),
        _ => Cow::Borrowed(name),
    }
}

/// Returns the address of a page as somebody else wrote it, without user and password; what has none is left as it
/// is.
pub fn without_user(address: &str) -> Cow<'_, str> {
    match Url::parse(address) {
        Ok(url) if url.username().is_empty() && url.password().is_none() => Cow::Borrowed(address),
        Ok(mut url) => {
            remove_user(&mut url);
            Cow::Owned(url.into())
        }
        Err(_) => cut_user(address, ""),
    }
}

/// Returns the address without what says who asks: user, password, and parameters with the names of secrets.
pub fn without_credentials(url: &Url) -> Url {
    let mut bare = url.clone();
    remove_user(&mut bare);
    let is_secret = |pair: &&str| is_secret_parameter(pair.split('=').next().unwrap_or_default());
    if let Some(query) = url.query().filter(|query| query.split('&').any(|pair| is_secret(&pair))) {
        let kept: Vec<&str> = query.split('&').filter(|pair| !is_secret(pair)).collect();
        bare.set_query(Some(kept.join("&")).filter(|query| !query.is_empty()).as_deref());
    }
    bare
}

/// Returns the address with its secrets hidden: users and passwords, and parameters with the names of secrets.
pub fn hidden_address(address: &str) -> Cow<'_, str> {
    match cut_user(address, HIDDEN) {
        Cow::Borrowed(_) if !address.contains('=') => Cow::Borrowed(address),
        cut => Cow::Owned(without_parameters(&cut)),
    }
}

/// Bytes of the shortest secret that is looked for in what others say. Shorter keys (`ollama`, `none`) are
/// placeholders, and hiding them would garble messages.
pub const MIN_SECRET_BYTES: usize = 8;

/// Returns the passwords of an address, users without one who are long enough to be a token, and the values of
/// parameters with the names of secrets; as they are written and as they are meant.
pub fn secrets_of_address(address: &str) -> Vec<String> {
    let users = address.match_indices("://").filter_map(|(at, mark)| {
        let rest = &address[at + mark.len()..];
        let user = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?.0;
        user.split_once(':').filter(|(_, password)| !password.is_empty()).or_else(|| {
            let token = user.trim_end_matches(':');
            (token.len() >= MIN_SECRET_BYTES).then_some(("", token))
        })
    });
    let pairs = address.split(['?', '&', ';', '#']).filter_map(|pair| pair.split_once('='));
    let values = users.chain(pairs.filter(|(name, _)| is_secret_parameter(name))).map(|(_, value)| value.to_owned());
    let mut secrets: Vec<String> = values.flat_map(|value| [unescaped(&value), value]).collect();
    secrets.retain(|secret| !secret.is_empty());
    secrets.dedup();
    secrets
}

fn unescaped(value: &str) -> String {
    let pair = format!("={}", value.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

pub(super) fn remove_user(url: &mut Url) {
    // These fail only for addresses that have no host, and so nobody at it.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// Returns the text without these secrets.
pub fn without<'a>(text: String, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let mut secrets: Vec<&str> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
    // One may be the beginning of another, which is to go as a whole.
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
        .into_iter()
        .fold(text, |text, secret| if text.contains(secret) { text.replace(secret, HIDDEN) } else { text })
}

/// Returns the text without these secrets, and without what looks like one: users and passwords of addresses, values
/// of parameters such as `key=`, and what stands behind `Bearer` and `Basic`.
pub fn redact<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let text = without(text.to_owned(), secrets);
    let (mut shown, mut before, mut last) = (String::with_capacity(text.len()), Before::Nothing, String::new());
    for piece in text.split_inclusive(is_between) {
        let end =
            piece.char_indices().next_back().filter(|(_, last)| is_between(*last)).map_or(piece.len(), |(at, _)| at);
        let (word, between) = piece.split_at(end);
        if before != Before::Nothing && is_credential(word, before) {
            shown.push_str(HIDDEN);
        } else {
            shown.push_str(&hidden_address(word));
        }
        before = match (word, before) {
            ("", before) => before,
            // The credential itself is still to come.
            (word, Before::Name) if is_scheme(word) => Before::Name,
            (word, Before::Authorization) if is_scheme(word) || word.chars().all(|c| c.is_ascii_alphabetic()) => {
                Before::Name
            }
            // In JSON the name ends before its quote, and the colon is a word of its own.
            (":", _) if is_secret_name(&last) => Before::of_name(&last),
            (word, _) => Before::of(word),
        };
        if !word.is_empty() {
            last = word.to_ascii_lowercase();
        }
        shown.push_str(between);
    }
    shown
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || "\"'`<>,(){}[]".contains(character)
}

/// What the word before says about the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// `Bearer`, `Basic`, `key:`; what follows may be a credential or just the next word.
    Scheme,
    /// `"api_key":`, `x-api-key:`.
    Name,
    /// `Authorization:`; what follows is a scheme, which need not be one we know, or a credential.
    Authorization,
}

impl Before {
    fn of_name(name: &str) -> Self {
        if name.starts_with("auth") { Self::Authorization } else { Self::Name }
    }

    fn of(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        let name = lower.trim_end_matches([':', '=']);
        match name.rsplit(['=', ':']).next().unwrap_or_default() {
            scheme if is_scheme(scheme) => Self::Scheme,
            // "a key: see the manual" is prose, "x-api-key: abc" is not.
            _ if word.len() > name.len() && is_secret_name(name) => match Self::of_name(name) {
                Self::Name if !name.contains(['-', '_']) => Self::Scheme,
                named => named,
            },
            _ => Self::Nothing,
        }
    }
}

fn is_credential(word: &str, before: Before) -> bool {
    match before {
        Before::Nothing => false,
        // "Basic research" is none.
        Before::Scheme => {
            word.len() >= 8 && word.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || b == b'=')
        }
        Before::Name | Before::Authorization => !is_scheme(word) && !matches!(word, "" | "null" | ":"),
    }
}

/// Returns whether a credential follows this word.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_secret_name(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Returns whether it is the name of a parameter whose value is a secret.
fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    is_secret_name(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Writes `https://user:password@host/` with `instead` before the host; without the `@` when that is nothing. Does so
/// in each address of the word, be it a parameter of another one.
fn cut_user<'a>(word: &'a str, instead: &str) -> Cow<'a, str> {
    let (mut shown, mut kept) = (String::new(), 0);
    for (at, mark) in word.match_indices("://") {
        let start = at + mark.len();
        let end = word[start..].find(['/', '?', '#']).map_or(word.len(), |at| start + at);
        let Some(user_end) = word[start..end].rfind('@').map(|at| start + at) else { continue };
        shown.push_str(&word[kept..start]);
        shown.push_str(instead);
        kept = if instead.is_empty() { user_end + 1 } else { user_end };
    }
    if kept == 0 { Cow::Borrowed(word) } else { Cow::Owned(shown + &word[kept..]) }
}

/// Writes `?key=value&more` with the values of secret names hidden.
fn without_parameters(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    for part in word.split_inclusive(['?', '&', ';', '#']) {
        let end = part.trim_end_matches(['?', '&', ';', '#']).len();
        let (pair, mark) = part.split_at(end);
        match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret_parameter(name) => {
                shown.push_str(&format!("{name}={HIDDEN}"));
            }
            _ => shown.push_str(pair),
        }
        shown.push_str(mark);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        let check = |given: &str, expected: &str| assert_eq!(shown_url(&Url::parse(given).unwrap()), expected);
        check("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1");
        check("https://me:pa55@host/v1?key=s3cret#t", "https://host/v1");
        check("https://t0ken@host/", "https://host/");
    }

    #[test]
    fn pages_are_logged_without_their_queries_and_files_by_their_names() {
        let check = |given: &str, expected: &str| assert_eq!(shown_name(given), expected);
        check("https://me:pa55@host/minutes?key=s3cret#t", "https://host/minutes");
        check("minutes 2026?.pdf", "minutes 2026?.pdf");
        check("/docs/minutes?.pdf", "/docs/minutes?.pdf");
        check("C:\\docs\\dues#2.pdf", "C:\\docs\\dues#2.pdf");
    }

    #[test]
    fn addresses_lose_their_credentials_alone() {
        let check = |given: &str, expected: &str| {
            assert_eq!(without_credentials(&Url::parse(given).unwrap()).as_str(), expected);
        };
        check("https://me:pa55@host/v1?api-version=1&KEY=s3cret&n=%20", "https://host/v1?api-version=1&n=%20");
        check("https://host/v1?token=s3cret", "https://host/v1");
        check("https://host/v1?api-version=1#t", "https://host/v1?api-version=1#t");
    }

    #[test]
    fn addresses_lose_their_users_alone() {
        let check = |given: &str, expected: &str| assert_eq!(without_user(given), expected);
        check("https://me:pa55@a.test/x?q=1#t", "https://a.test/x?q=1#t");
        check("http:me:pa55@a.test", "http://a.test/");
        check("http://me:pa55@a.test:99999/x", "http://a.test:99999/x");
        check("http://a:b@a.test:99999/?u=http://me:pa55@b.test", "http://a.test:99999/?u=http://b.test");
        for address in ["HTTPS://A.test/me@x", "S1001", "minutes/me@april.pdf#page=3", "mailto:me@a.test", ""] {
            check(address, address);
        }
        assert_eq!(crate::net::canonical_url("https://me:pa55@a.test/x"), "https://a.test/x");
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        let check = |given: &str, expected: &str| assert_eq!(redact(given, ["known-s3cret"]), expected);
        check("the key known-s3cret is wrong", "the key (hidden) is wrong");
        check("Authorization: Basic bWU6cGE1NXdvcmQ=", "Authorization: Basic (hidden)");
        check("got 'Bearer tok3n-abcdef'.", "got 'Bearer (hidden)'.");
        check(
            r#"{"headers":{"authorization":"Bearer tok3n-abcdef"}}"#,
            r#"{"headers":{"authorization":"Bearer (hidden)"}}"#,
        );
        check(r#"{"api_key": "abc", "model": "m"}"#, r#"{"api_key": "(hidden)", "model": "m"}"#);
        check(
            "POST https://api.test/v1?key=abc&model=m failed",
            "POST https://api.test/v1?key=(hidden)&model=m failed",
        );
        check("api_key=abc123 was refused", "api_key=(hidden) was refused");
        check("x-api-key: abc123", "x-api-key: (hidden)");
        check("Authorization: Bearer abc", "Authorization: Bearer (hidden)");
        check("Authorization: Token abc was refused", "Authorization: (hidden) (hidden) was refused");
        check(r#"{"authorization":"Token abc"}"#, r#"{"authorization":"(hidden) (hidden)"}"#);
        check("authorization: abc123 was refused", "authorization: (hidden) was refused");
        check("https://me:pa55@host/v1: refused", "https://(hidden)@host/v1: refused");
        check("https://gw/?u=https://me:pa55@host/&v=x", "https://gw/?u=https://(hidden)@host/&v=x");
        check("https://a:b@gw/https://me:pa55@host", "https://(hidden)@gw/https://(hidden)@host");
    }

    #[test]
    fn addresses_can_be_shown_with_their_secrets_hidden() {
        let check = |given: &str, shown: &str, secrets: &[&str]| {
            assert_eq!(
                (&*hidden_address(given), secrets_of_address(given)),
                (shown, secrets.iter().map(|s| s.to_string()).collect())
            );
        };
        check("register://minutes/1931?page=2#x", "register://minutes/1931?page=2#x", &[]);
        check("postgres://app:pa%2B55@h:5432/db", "postgres://(hidden)@h:5432/db", &["pa+55", "pa%2B55"]);
        check("ssh://git@h/x", "ssh://(hidden)@h/x", &[]);
        check("https://t0ken-abcdef@h/x", "https://(hidden)@h/x", &["t0ken-abcdef"]);
        check("s3://b/a?X-Amz-Signature=1f&n=2", "s3://b/a?X-Amz-Signature=(hidden)&n=2", &["1f"]);
        check("file:///a?token=a+b&tavilyApiKey=", "file:///a?token=(hidden)&tavilyApiKey=", &["a+b"]);
    }

    #[test]
    fn a_secret_that_another_one_begins_with_leaves_none_of_it() {
        assert_eq!(without("abc-def abc".to_owned(), ["abc", "abc-def"]), "(hidden) (hidden)");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "The model `gpt-9` does not exist",
            "Basic research needs a key: see the manual",
            "max_tokens=5 is too large; 2+2=4, ä=ö",
            "https://host/path?model=m&n=1#x",
            "mail me@host.test",
            "This model's maximum context length is 8192 tokens.",
        ] {
            assert_eq!(redact(text, []), text);
        }
    }
}
