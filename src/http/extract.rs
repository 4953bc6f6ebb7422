//! Requests taken apart: bodies, ids, parameters and headers become typed values or a problem that names the place.

use std::{collections::BTreeMap, fmt::Display, ops::RangeInclusive, str::FromStr, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Request, path::ErrorKind, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::Response,
};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    State,
    cursor::read_cursor,
    error::{ApiError, Code, Place},
    json::Unambiguous,
    outgoing::{self, Buffers},
};
use crate::{
    domain::{GivenKeys, printable_line, shows_nothing},
    runs::Cursor,
};

/// The longest wait a client may ask for.
const LONGEST_WAIT: u64 = 60;
const KEY_LENGTH: RangeInclusive<usize> = 1..=255;

/// Returns the part of the path that has this name; empty when there is none.
///
/// # Errors
/// The path is no text.
pub async fn path_text(parts: &mut Parts, name: &str) -> Result<String, ApiError> {
    let path = Path::<BTreeMap<String, String>>::from_request_parts(parts, &()).await;
    let Path(mut path) = path
        .map_err(|rejection| ApiError::parameter(unreadable(&rejection).unwrap_or(name), "the path cannot be read"))?;
    Ok(path.remove(name).unwrap_or_default())
}

/// Returns the part of the path that is no text.
fn unreadable(rejection: &PathRejection) -> Option<&str> {
    match rejection {
        PathRejection::FailedToDeserializePathParams(failed) => match failed.kind() {
            ErrorKind::InvalidUtf8InPathParam { key } => Some(key),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the id of this name in the path. Only in the form that the service writes: 36 characters with hyphens.
///
/// # Errors
/// It is no such id.
pub async fn path_id(parts: &mut Parts, name: &str) -> Result<Uuid, ApiError> {
    let text = path_text(parts, name).await?;
    let parsed = Uuid::try_parse(&text).ok().filter(|_| text.len() == 36);
    parsed.ok_or_else(|| ApiError::parameter(name, format!("{name} must be a UUID")))
}

/// A JSON body and its bytes.
#[derive(Debug)]
pub struct JsonBody<T> {
    pub value: T,
    pub bytes: Bytes,
}

impl<T: DeserializeOwned> FromRequest<State> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &State) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(not_json());
        }
        let bytes = read(request, state).await?;
        Ok(Self { value: parsed(true, &bytes)?, bytes })
    }
}

/// A JSON body that may be missing, and its bytes.
#[derive(Debug)]
pub struct OptionalBody<T> {
    pub value: T,
    pub bytes: Bytes,
}

impl<T: DeserializeOwned + Default> FromRequest<State> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &State) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let bytes = read(request, state).await?;
        match bytes.is_empty() {
            true => Ok(Self { value: T::default(), bytes }),
            false => Ok(Self { value: parsed(is_json, &bytes)?, bytes }),
        }
    }
}

/// Characters of names and titles.
const MAX_LINE_CHARS: usize = 200;

/// Returns a name or title in the member at `pointer`, as one printable line; `it_has` begins the sentence that
/// refuses it.
pub fn line(pointer: &str, text: &str, it_has: &str) -> Result<String, ApiError> {
    let printable = printable_line(text);
    match text.chars().count() {
        1..=MAX_LINE_CHARS if !shows_nothing(text) => Ok(printable),
        _ => {
            let detail = format!("{it_has} 1 to {MAX_LINE_CHARS} characters");
            Err(ApiError::invalid(Place::Pointer(pointer.to_owned()), detail))
        }
    }
}

/// Returns the keys of a body. What is no such thing is not quoted: it may be a key all the same.
pub fn keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GivenKeys, D::Error> {
    let given = Value::deserialize(deserializer)?;
    serde_json::from_value(given).map_err(|_| D::Error::custom("it must be an object with a text for each name"))
}

fn parsed<T: DeserializeOwned>(is_json: bool, bytes: &Bytes) -> Result<T, ApiError> {
    if !is_json {
        return Err(not_json());
    }
    let value = unambiguous(bytes)?;
    // A struct could be read from a list of its fields, too.
    if !value.is_object() {
        return Err(ApiError::invalid(Place::Pointer(String::new()), "the body must be a JSON object"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| misshapen(&error))
}

/// What some editors and shells write before UTF-8 text; a parser may pass over it (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns the value that a body is for every reader: of a name that is given twice some take the first value, others
/// the last.
fn unambiguous(bytes: &[u8]) -> Result<Value, ApiError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let not_json =
        |error: &serde_json::Error| ApiError::new(Code::MalformedJson, format!("the body is not JSON: {error}"));
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let Unambiguous(value) =
        serde_path_to_error::deserialize(&mut json).map_err(|error| match error.inner().is_data() {
            true => misshapen(&error),
            false => not_json(error.inner()),
        })?;
    json.end().map_err(|error| not_json(&error))?;
    Ok(value)
}

fn not_json() -> ApiError {
    ApiError::new(
        Code::UnsupportedMediaType,
        "send the body with Content-Type: application/json, in UTF-8 and without Content-Encoding",
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let value = value.to_ascii_lowercase();
    let (essence, parameters) = value.split_once(';').unwrap_or((&value, ""));
    let charset = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("charset="));
    let is_utf8 = charset.is_none_or(|charset| matches!(charset.trim_matches('"'), "utf-8" | "utf8" | "us-ascii"));
    let essence = essence.trim();
    let is_json = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    is_json && is_plain(headers) && is_utf8
}

/// Returns whether the body is sent without compression.
pub fn is_plain(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity")
}

/// Returns the whole body, with its place among the bytes that are held for clients.
async fn read(request: Request, state: &State) -> Result<Bytes, ApiError> {
    let broke_off = || ApiError::new(Code::MalformedJson, BROKE_OFF);
    read_within(request, state, state.settings.max_body_bytes, |_| state.timeouts.body, broke_off).await
}

/// What is said of a body whose end did not come.
const BROKE_OFF: &str = "the body broke off";
/// The slowest line over which a file still arrives, bytes per second.
const SLOW_LINE: usize = 64 << 10;

/// Returns the same of a file, which has a limit of its own, and more time the longer it is.
pub async fn read_file(request: Request, state: &State) -> Result<Bytes, ApiError> {
    let time = |length: usize| state.timeouts.body + Duration::from_secs((length / SLOW_LINE) as u64);
    let broke_off = || ApiError::invalid(Place::Pointer(String::new()), BROKE_OFF);
    read_within(request, state, state.settings.max_upload_bytes, time, broke_off).await
}

/// Reads within the time for a body of the announced length, or of the longest one.
async fn read_within(
    request: Request,
    state: &State,
    limit: usize,
    time: impl Fn(usize) -> Duration,
    broke_off: fn() -> ApiError,
) -> Result<Bytes, ApiError> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let length = announced.unwrap_or(limit);
    if length > limit {
        return Err(too_large(limit));
    }
    let time = time(length);
    let reading = collect(request.into_body(), limit, &state.buffers, broke_off);
    let late = || ApiError::new(Code::RequestTimeout, format!("the body took longer than {time:?}"));
    tokio::time::timeout(time, reading).await.map_err(|_| late())?
}

async fn collect(
    mut body: Body,
    limit: usize,
    buffers: &Buffers,
    broke_off: fn() -> ApiError,
) -> Result<Bytes, ApiError> {
    let (mut bytes, mut room): (_, Option<OwnedSemaphorePermit>) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| broke_off())?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        let more = buffers.take(data.len()).ok_or_else(outgoing::overloaded)?;
        match &mut room {
            Some(room) => room.merge(more),
            None => room = Some(more),
        }
        bytes.extend_from_slice(&data);
    }
    Ok(outgoing::held(bytes.freeze(), room))
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(Code::PayloadTooLarge, format!("a body may have {limit} bytes"))
}

/// Names the place in the body where the shape is wrong.
fn misshapen(error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in error.path() {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
            }
            Segment::Unknown => {}
        }
    }
    ApiError::invalid(Place::Pointer(pointer), error.inner().to_string())
}

/// The parameters of the query; of a repeated one the last counts, unknown ones are ignored.
#[derive(Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        Ok(Self(pairs.into_owned().collect()))
    }
}

impl Query {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the parameters whose names begin so, without that beginning.
    pub fn below(&self, beginning: &str) -> impl Iterator<Item = (String, String)> {
        let named =
            move |(name, value): (&String, &String)| Some((name.strip_prefix(beginning)?.to_owned(), value.clone()));
        self.0.iter().filter_map(named)
    }

    /// Returns a whole number in `range`, or `default` when it is not given.
    pub fn number<T: FromStr + PartialOrd + Display>(
        &self,
        name: &str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, ApiError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let detail = format!("{name} must be a whole number from {} to {}", range.start(), range.end());
            ApiError::parameter(name, detail)
        })
    }

    /// Reads where the page begins; an empty cursor means the first one. `list` names the list, so that a cursor of
    /// another one is noticed.
    pub fn cursor(&self, list: &str) -> Result<Option<Cursor>, ApiError> {
        let Some(text) = self.text("cursor").filter(|text| !text.is_empty()) else { return Ok(None) };
        read_cursor(list, text).map(Some).ok_or_else(|| {
            let detail = "cursor must be the next_cursor of an earlier page of this list";
            ApiError::at(Code::InvalidCursor, Place::Parameter("cursor".to_owned()), detail)
        })
    }
}

/// What the headers of a request say about its handling.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub idempotency_key: Option<String>,
    /// `Prefer: wait=N`.
    pub wait: Option<Duration>,
}

impl Preferences {
    /// Says that the preference to wait was applied.
    pub fn applied(&self, mut response: Response) -> Response {
        if let Some(wait) = self.wait
            && let Ok(value) = HeaderValue::from_str(&format!("wait={}", wait.as_secs()))
        {
            response.headers_mut().insert("preference-applied", value);
        }
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Preferences {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self { idempotency_key: idempotency_key(&parts.headers)?, wait: wait(&parts.headers) })
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    const NAME: &str = "Idempotency-Key";
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let printable = |text: &&str| KEY_LENGTH.contains(&text.len()) && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    match value.to_str().ok().filter(printable) {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(ApiError::header(NAME, "Idempotency-Key must have 1 to 255 printable ASCII characters")),
    }
}

/// Returns how long the caller is ready to wait. Preferences that cannot be read are ignored, as RFC 7240 has it.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").into_iter().filter_map(|value| value.to_str().ok());
    let seconds = preferences.flat_map(|value| value.split(',')).find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        // What is no number of this size is more than the longest wait.
        (is_number && name.trim().eq_ignore_ascii_case("wait")).then(|| value.parse::<u64>().unwrap_or(u64::MAX))
    });
    seconds.map(|seconds| Duration::from_secs(seconds.min(LONGEST_WAIT)))
}

/// Returns whether the client has this version (RFC 9110, 13.1.2), be it in another encoding.
pub fn has_version(headers: &HeaderMap, tag: &str) -> bool {
    fn opaque(tag: &str) -> &str {
        tag.strip_prefix("W/").unwrap_or(tag)
    }
    let given = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|value| value.to_str().ok());
    given.flat_map(|value| value.split(',')).map(str::trim).any(|given| given == "*" || opaque(given) == opaque(tag))
}

/// Returns the best of the offered media types for an Accept header; `None` when none will do. Of equal weights, that
/// of the more specific range wins: who names a type and adds `*/*` wants that type. The first offered one wins ties.
pub fn negotiate<'a>(headers: &HeaderMap, offered: &[&'a str]) -> Option<&'a str> {
    let ranges: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|range| !range.is_empty())
        .collect();
    if ranges.is_empty() {
        return offered.first().copied();
    }
    let mut best: Option<(&str, Quality)> = None;
    for &media_type in offered {
        let Some(quality) = quality(media_type, &ranges).filter(|quality| quality.thousandths > 0) else { continue };
        if best.is_none_or(|(_, before)| quality > before) {
            best = Some((media_type, quality));
        }
    }
    best.map(|(media_type, _)| media_type)
}

/// How much a type is wanted; the larger, the more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Quality {
    thousandths: u32,
    /// Of the range that says so: 2 names the type, 1 the first half of it, 0 nothing.
    specific: u8,
}

/// Returns what the most specific range says that covers the type; `None` when none does (RFC 9110, 12.5.1).
fn quality(media_type: &str, ranges: &[&str]) -> Option<Quality> {
    let main = media_type.split('/').next().unwrap_or_default();
    let mut found: Option<Quality> = None;
    for range in ranges {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let specific = match name.as_str() {
            exact if exact == media_type => 2,
            wide if wide.strip_suffix("/*") == Some(main) => 1,
            "*/*" => 0,
            _ => continue,
        };
        if found.is_none_or(|before| specific > before.specific) {
            found = Some(Quality { thousandths: weight(parts), specific });
        }
    }
    found
}

/// Returns the weight, in thousandths, that the parameters of an item of a list give it; 1 when they do not (RFC 9110,
/// 12.4.2).
fn weight<'a>(parameters: impl Iterator<Item = &'a str>) -> u32 {
    let is_weight = |name: &str| name.trim().eq_ignore_ascii_case("q");
    let given = parameters.filter_map(|part| part.split_once('=')).find(|(name, _)| is_weight(name));
    let given = given.and_then(|(_, text)| text.trim().parse::<f32>().ok());
    // As many digits as the grammar allows: three, of numbers from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=1000")]
    let thousandths = (given.unwrap_or(1.0).clamp(0.0, 1.0) * 1_000.0).round() as u32;
    thousandths
}

/// Returns whether an Accept-Encoding header names gzip, and does not like better what is not compressed (RFC 9110,
/// 12.5.3). Who takes just anything may not say so in earnest.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    let (mut gzip, mut identity) = (0, 0);
    for item in given.flat_map(|value| value.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "gzip" | "x-gzip" => gzip = weight(parts),
            "identity" => identity = weight(parts),
            _ => {}
        }
    }
    gzip > 0 && gzip >= identity
}

/// Returns the offered language that an Accept-Language header likes best, whatever country it names with it; `None`
/// when it names none of them.
pub fn preferred_language<'a>(headers: &HeaderMap, offered: &[&'a str]) -> Option<&'a str> {
    let given = headers.get_all(header::ACCEPT_LANGUAGE).into_iter().filter_map(|value| value.to_str().ok());
    let mut best: Option<(&str, u32)> = None;
    for item in given.flat_map(|value| value.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let tag = parts.next().unwrap_or_default();
        let language = tag.split('-').next().unwrap_or_default();
        let Some(known) = offered.iter().find(|known| known.eq_ignore_ascii_case(language)) else { continue };
        let weight = weight(parts);
        if weight > best.map_or(0, |(_, weight)| weight) {
            best = Some((known, weight));
        }
    }
    best.map(|(language, _)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        negotiate(&headers, &["text/markdown", "text/html", "application/json"])
    }

    #[test]
    fn gzip_is_taken_by_those_who_name_it() {
        fn check(value: &'static str, expected: bool) {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(takes_gzip(&headers), expected, "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
        for value in ["gzip", "br, GZIP;q=0.5", "x-gzip", "gzip, identity", "identity;q=0.5, gzip;q=1.0"] {
            check(value, true);
        }
        for value in ["", "br", "*", "gzip;q=0", "gzip;q=0.5, identity", "identity", "gzipped"] {
            check(value, false);
        }
    }

    #[test]
    fn the_best_accepted_type_is_chosen() {
        assert_eq!(negotiate(&HeaderMap::new(), &["a/b"]), Some("a/b"));
        assert_eq!(accept("*/*"), Some("text/markdown"));
        assert_eq!(accept("text/html,application/xhtml+xml,*/*;q=0.8"), Some("text/html"));
        assert_eq!(accept("application/json;q=0.5, text/*;q=0.4"), Some("application/json"));
        assert_eq!(accept("text/html;Q=0.1, application/json; Q=0.2"), Some("application/json"));
        assert_eq!(accept("text/*, text/markdown;q=0"), Some("text/html"));
        assert_eq!(accept("image/png"), None);
        // What programs send that want JSON and do not say so by weights.
        assert_eq!(accept("application/json, text/plain, */*"), Some("application/json"));
        assert_eq!(accept("text/*, application/json"), Some("application/json"));
        assert_eq!(accept("*/*, text/html"), Some("text/html"));
        assert_eq!(accept("application/*;q=0.9, */*"), Some("text/markdown"));
        assert_eq!(accept("application/json;q=nonsense"), Some("application/json"));
    }

    #[test]
    fn the_language_that_is_liked_best_is_chosen() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(value));
            preferred_language(&headers, &["en", "de", "zh"])
        };
        assert_eq!(preferred_language(&HeaderMap::new(), &["en"]), None);
        assert_eq!(of("de-CH, de;q=0.9, en;q=0.8"), Some("de"));
        assert_eq!(of("fr, en;q=0.3, zh-Hans-CN;q=0.7"), Some("zh"));
        assert_eq!(of("DE;q=0, EN;q=0.1"), Some("en"));
        assert_eq!([of("fr"), of("*"), of(""), of("den"), of("de;q=0")], [None; 5]);
    }

    #[test]
    fn a_wait_is_read_and_bounded() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", HeaderValue::from_static(value));
            wait(&headers).map(|wait| wait.as_secs())
        };
        assert_eq!(of("wait=5"), Some(5));
        assert_eq!(of("respond-async, Wait = \"7\"; x=1"), Some(7));
        assert_eq!(of("wait=100000"), Some(60));
        assert_eq!(of("wait=99999999999999999999"), Some(60));
        assert_eq!(of("wait=-1"), None);
        assert_eq!(of("respond-async"), None);
    }
}
