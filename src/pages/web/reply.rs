//! What an answer says it is, and what it is.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use percent_encoding::{CONTROLS, percent_encode};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, LOCATION, REFRESH},
};
use url::Url;

use super::NotRead;
use crate::pages::{Format, extract::looks_like_html};

/// A page with fewer characters of text may be one that scripts have to write.
pub(super) const LITTLE_TEXT: usize = 200;
/// The markup around little text from which on a page is a program.
const MUCH_MARKUP: usize = 10 * 1024;

/// The longest delay, in seconds, after which a page that only leads to another one does so.
const SHORT_DELAY: f64 = 5.0;

/// Returns where the answer redirects to. Servers send addresses as they are written, in UTF-8 or an older encoding.
pub(super) fn location(from: &Url, answer: &Response) -> Option<Url> {
    from.join(&address(answer.headers().get(LOCATION)?.as_bytes())).ok()
}

fn address(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| Cow::from(percent_encode(bytes, CONTROLS)), Cow::Borrowed)
}

/// Returns what the answer says by the header of that name, as browsers read it.
pub(super) fn refresh(answer: &Response) -> Option<String> {
    answer.headers().get(REFRESH).map(|said| address(said.as_bytes()).into_owned())
}

/// Returns the address that `0; url=/next` leads to, if the delay is short (HTML, 4.2.5.3).
pub(super) fn target(from: &Url, said: &str) -> Option<Url> {
    let (delay, rest) = said.split_once([';', ','])?;
    let is_short = delay.trim().parse::<f64>().is_ok_and(|delay| (0.0..=SHORT_DELAY).contains(&delay));
    let named = rest.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("url"));
    let address = named.map_or(rest, |(_, address)| address).trim().trim_matches(['"', '\'']);
    (is_short && !address.is_empty()).then(|| from.join(address).ok())?
}

/// Checks that the answer may have the page's text.
///
/// # Errors
/// The answer is none that has the page's text.
pub(super) fn check(answer: &Response) -> Result<(), NotRead> {
    let status = answer.status();
    let has = |name: &str| answer.headers().contains_key(name);
    if has("cf-mitigated") || has("x-amzn-waf-action") {
        return Err(NotRead::new("its site lets only people in (a challenge for browsers)"));
    }
    let reason = match status {
        StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => return Ok(()),
        StatusCode::UNAUTHORIZED => "it is shown only after sign-in",
        StatusCode::PAYMENT_REQUIRED => "it is shown only to those who pay",
        StatusCode::FORBIDDEN => "its site refuses to show it",
        StatusCode::NOT_FOUND | StatusCode::GONE => "there is no such page",
        StatusCode::TOO_MANY_REQUESTS => "its site asks to come back later",
        status if status.is_server_error() => "its site fails",
        _ => "its site does not show it",
    };
    Err(NotRead::new(format!("{reason} (status {})", status.as_u16())))
}

pub(super) fn content_type(answer: &Response) -> String {
    let value = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

/// Returns the format: by the first bytes, else by the header, else, where that says little, by the ending of the
/// address. Markdown often begins with a tag of HTML, so the ending of a text counts more than that.
///
/// # Errors
/// It is of a kind that is not read.
pub(super) fn format(content_type: &str, url: &Url, body: &[u8]) -> Result<Format, NotRead> {
    if let Some(format) = Format::of_bytes(body) {
        return Ok(format);
    }
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let start = String::from_utf8_lossy(&body[..body.len().min(2_048)]);
    let ending = || Format::of_extension(url.path().rsplit('/').next()?.rsplit_once('.')?.1).filter(|it| it.is_text());
    let says_little = matches!(kind, "" | "text/plain" | "application/octet-stream");
    if let Some(format) = ending().filter(|format| says_little && *format != Format::Html) {
        return Ok(format);
    }
    match kind {
        "text/markdown" | "text/x-markdown" => Ok(Format::Markdown),
        "text/html" | "application/xhtml+xml" => Ok(Format::Html),
        _ if looks_like_html(&start) => Ok(Format::Html),
        "text/csv" | "application/csv" => Ok(Format::Csv),
        "text/tab-separated-values" => Ok(Format::Tsv),
        "text/x-rst" | "text/prs.fallenstein.rst" => Ok(Format::Rst),
        "application/json" | "application/x-ndjson" | "application/jsonl" => Ok(Format::Json),
        "application/xml" | "text/xml" => Ok(Format::Xml),
        kind if kind.ends_with("+json") => Ok(Format::Json),
        kind if kind.ends_with("+xml") && kind != "image/svg+xml" => Ok(Format::Xml),
        "" | "text/plain" | "application/octet-stream" => ending()
            .or_else(|| (kind != "application/octet-stream").then_some(Format::Text))
            .ok_or_else(|| NotRead::new("it is a file of a kind that is not read")),
        "application/yaml" => Ok(Format::Text),
        kind if kind.starts_with("text/") => Ok(Format::Text),
        "application/pdf" if Format::holds_pdf(body) => Ok(Format::Pdf),
        "application/pdf" => Err(NotRead::new("it says it is a PDF file, and is none")),
        kind => Err(NotRead::new(format!(
            "it is a file of a kind that is not read ({})",
            kind.chars().take(80).collect::<String>()
        ))),
    }
}

/// Returns the bytes in UTF-8, marked as such, when the header names another encoding, unless they are UTF-8 beyond
/// ASCII: hardly any text of another encoding is. What a page says of itself is looked at later.
pub(super) fn utf8(content_type: &str, format: Format, body: &[u8]) -> Vec<u8> {
    let label = content_type.split("charset=").nth(1).map(|label| label.trim_matches(['"', '\'', ' ']));
    let label = label.map(|label| label.split(';').next().unwrap_or_default());
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).filter(|known| *known != UTF_8);
    let is_utf8 = || !body.is_ascii() && std::str::from_utf8(body).is_ok();
    match encoding {
        Some(encoding) if format.is_text() && Encoding::for_bom(body).is_none() && !is_utf8() => {
            ["\u{feff}", &encoding.decode(body).0].concat().into_bytes()
        }
        _ => body.to_vec(),
    }
}

/// Returns whether scripts may have to write the text of a page that has none.
pub(super) fn needs_script(format: Format, body: &[u8]) -> bool {
    let has_script = || body.windows(7).any(|window| window.eq_ignore_ascii_case(b"<script"));
    is_mostly_markup(format, body) || (format == Format::Html && has_script())
}

/// Returns whether a page with little text is so large that its scripts have to write the rest.
pub(super) fn is_mostly_markup(format: Format, body: &[u8]) -> bool {
    format == Format::Html && body.len() > MUCH_MARKUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_written_in_any_encoding() {
        let joined = |bytes: &[u8]| Url::parse("http://a.test/x").unwrap().join(&address(bytes)).unwrap().to_string();
        assert_eq!(joined("/über".as_bytes()), "http://a.test/%C3%BCber");
        assert_eq!(joined(b"/\xfcber?a=1"), "http://a.test/%FCber?a=1");
    }

    #[test]
    fn a_page_leads_on_after_a_short_delay() {
        let from = Url::parse("https://a.test/old/").unwrap();
        let check = |said: &str, expected: Option<&str>| {
            assert_eq!(target(&from, said).as_ref().map(Url::as_str), expected, "{said}");
        };
        check("0; url=https://a.test/new?a=1&b=2", Some("https://a.test/new?a=1&b=2"));
        check("1;URL='../latest/'", Some("https://a.test/latest/"));
        check("0, /new", Some("https://a.test/new"));
        check("0;url=#/home", Some("https://a.test/old/#/home"));
        check("30; url=/next", None);
        check("5", None);
        check("0; url=", None);
        check("soon; url=/next", None);
    }

    #[test]
    fn bytes_count_more_than_the_header() {
        let url = |name: &str| Url::parse("https://a.test/").unwrap().join(name).unwrap();
        let check = |kind: &str, body: &str, expected: Option<Format>| {
            assert_eq!(format(kind, &url("x"), body.as_bytes()).ok(), expected, "{kind} {body}");
        };
        check("text/html; charset=utf-8", "x", Some(Format::Html));
        check("text/html", "%PDF-1.7", Some(Format::Pdf));
        check("application/pdf", "\r\n%PDF-1.7", Some(Format::Pdf));
        check("application/pdf", "@PJL JOB\r\n%PDF-1.7", Some(Format::Pdf));
        check("application/octet-stream", "\u{feff}%PDF-1.7", Some(Format::Pdf));
        check("text/html", "\n%PDF-1.7", Some(Format::Pdf));
        check("text/plain", "A file that begins with %PDF- is a PDF.", Some(Format::Text));
        check("application/pdf", &format!("{}%PDF-1.7", "x".repeat(2_000)), None);
        check("text/plain", "<!doctype html><html><body>x</body></html>", Some(Format::Html));
        check("text/plain", "x", Some(Format::Text));
        check("", "x", Some(Format::Text));
        check("application/ld+json", "{}", Some(Format::Json));
        check("application/octet-stream", "PK\u{3}\u{4}", Some(Format::Package));
        check("text/html", "PK\u{3}\u{4}", Some(Format::Package));
        check("text/csv; charset=utf-8", "a,b", Some(Format::Csv));
        check("application/octet-stream", "a,b", None);
        check("text/markdown", "# x", Some(Format::Markdown));
        check("image/png", "\u{fffd}PNG", None);
        check("application/pdf", "x", None);
        let readme = |kind: &str, name: &str| format(kind, &url(name), b"<p align=center>x</p>\n\n# Tide").ok();
        for kind in ["text/plain; charset=utf-8", "", "application/octet-stream"] {
            assert_eq!(readme(kind, "README.md"), Some(Format::Markdown), "{kind}");
            assert_eq!(readme(kind, "notes.txt?raw=1"), Some(Format::Text), "{kind}");
            assert_eq!(readme(kind, "index.htm"), Some(Format::Html), "{kind}");
            assert_eq!(readme(kind, "README"), Some(Format::Html), "{kind}");
        }
        assert_eq!(readme("text/html", "README.md"), Some(Format::Html));
        let named = |kind: &str, name: &str| format(kind, &url(name), b"a,b").ok();
        assert_eq!(named("text/plain", "readme.rst?raw=1"), Some(Format::Rst));
        assert_eq!(named("application/octet-stream", "dues.csv"), Some(Format::Csv));
        assert_eq!(named("application/octet-stream", "dues.docx"), None, "its bytes are none");
    }

    #[test]
    fn the_header_names_the_encoding() {
        let (japanese, _, _) = encoding_rs::SHIFT_JIS.encode("潮");
        let decoded = utf8("text/html; charset=Shift_JIS", Format::Html, &japanese);
        assert_eq!(String::from_utf8(decoded).unwrap(), "\u{feff}潮");
        assert_eq!(utf8("text/html; charset=utf-8", Format::Html, "ü".as_bytes()), "ü".as_bytes());
        assert_eq!(utf8("text/html; charset=nothing", Format::Html, b"x"), b"x");
        let said = "text/html; charset=iso-8859-1";
        assert_eq!(utf8(said, Format::Html, "ü".as_bytes()), "ü".as_bytes(), "the bytes are UTF-8");
        assert_eq!(utf8(said, Format::Html, b"\xfc"), "\u{feff}ü".as_bytes());
    }
}
