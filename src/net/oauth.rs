//! What all requests for tokens share (RFC 6749): how they are sent, and what is shown of a refusal.

use reqwest::{RequestBuilder, header::CONTENT_TYPE};
use url::form_urlencoded;

/// Returns the request with these pairs as its body.
pub fn form(request: RequestBuilder, pairs: &[(&str, &str)]) -> RequestBuilder {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
}

/// Returns the `error` of a refusal, one of the short names that RFC 6749 has; what else an answer says may quote
/// what was sent.
pub fn refusal_code(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body["error"].as_str().filter(|code| is_code(code)).map(str::to_owned)
}

fn is_code(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_refusal_is_shown() {
        let check = |body: &str, expected: Option<&str>| {
            assert_eq!(refusal_code(body.as_bytes()).as_deref(), expected, "{body}");
        };
        check(r#"{"error": "invalid_grant", "error_description": "hunter2 is used up"}"#, Some("invalid_grant"));
        check(r#"{"error": "no such secret: hunter2"}"#, None);
        check(r#"{"error": {"code": 4}}"#, None);
        check("<html>invalid_grant</html>", None);
    }

    #[test]
    fn pairs_are_sent_as_a_form() {
        let clients = crate::net::ApiClients::new(crate::net::Timeouts::default()).unwrap();
        let request = form(clients.direct().post("http://a.test"), &[("a", "1 & 2"), ("b", "ä")]).build().unwrap();
        assert_eq!(request.headers()[CONTENT_TYPE], "application/x-www-form-urlencoded");
        assert_eq!(request.body().unwrap().as_bytes(), Some(&b"a=1+%26+2&b=%C3%A4"[..]));
    }
}
