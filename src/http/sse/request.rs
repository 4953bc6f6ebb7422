//! What a client may ask of a stream, and how it says so.

use std::sync::Arc;

use axum::http::HeaderMap;

use crate::domain::{
    event::{STREAM_GAP, STREAM_REWOUND, THREAD_DELETED},
    wildcard,
};

/// Patterns of types, and characters of one.
pub(super) const MAX_PATTERNS: usize = 32;
pub(super) const MAX_PATTERN: usize = 64;

/// What is wrong with a request for events; each names its header or parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadInput {
    #[error("Last-Event-ID must be a whole number from 0, the id of an event")]
    LastEventId,
    #[error("lastEventId must be a whole number from 0, the id of an event")]
    LastEventIdParameter,
    #[error("after must be a whole number from 0, the number of an event")]
    After,
    #[error(
        "types must be a comma-separated list of at most {MAX_PATTERNS} event types, where * stands for any text: \
         report.*,run.completed"
    )]
    Types,
    #[error("event must be message, which sends all types under that name, or type, which is also meant without it")]
    Event,
}

/// Returns the number after which the client wants to go on, the start if it says none: in the header, else in
/// `?lastEventId=`, which replacements of `EventSource` that cannot set headers add to their first address, else in
/// `?after=`. An empty header or `lastEventId` is none. Numbers beyond what can be stored stand for the end.
///
/// # Errors
/// [`BadInput`] when one of them is not a whole number, also one that does not count.
pub fn starting_point(headers: &HeaderMap, last_event_id: Option<&str>, after: Option<&str>) -> Result<i64, BadInput> {
    let after = after.map(|text| whole_number(text).ok_or(BadInput::After)).transpose()?;
    let last_event_id = last_event_id
        .filter(|text| !text.is_empty())
        .map(|text| whole_number(text).ok_or(BadInput::LastEventIdParameter))
        .transpose()?;
    let header = headers
        .get("last-event-id")
        .filter(|value| !value.as_bytes().trim_ascii().is_empty())
        .map(|value| value.to_str().ok().and_then(whole_number).ok_or(BadInput::LastEventId))
        .transpose()?;
    Ok(header.or(last_event_id).or(after).unwrap_or(0))
}

fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim_matches(' ');
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(i64::MAX))
}

/// Which types of events a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    /// `None` wants all.
    patterns: Option<Arc<[Box<str>]>>,
}

impl Types {
    /// Every type there is or will be.
    pub const ALL: Self = Self { patterns: None };

    /// Reads `?types=`; all without it. A type that does not exist is no error, since types are added over time.
    ///
    /// # Errors
    /// [`BadInput::Types`] when it is empty, too long, or has characters no type has.
    pub fn parse(text: Option<&str>) -> Result<Self, BadInput> {
        let Some(text) = text else { return Ok(Self::ALL) };
        let patterns: Vec<Box<str>> = text.split(',').map(|pattern| pattern.trim_matches(' ').into()).collect();
        let fine = |pattern: &str| {
            let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._*".contains(&byte);
            (1..=MAX_PATTERN).contains(&pattern.len()) && pattern.bytes().all(letter)
        };
        if patterns.len() > MAX_PATTERNS || !patterns.iter().all(|pattern| fine(pattern)) {
            return Err(BadInput::Types);
        }
        Ok(Self { patterns: Some(patterns.into()) })
    }

    /// Returns whether all types are wanted.
    pub fn are_all(&self) -> bool {
        self.patterns.is_none()
    }

    /// Returns whether an event of this type is wanted. What is said about the stream itself always is: what was
    /// removed may have been.
    pub fn want(&self, name: &str) -> bool {
        [STREAM_GAP, STREAM_REWOUND, THREAD_DELETED].contains(&name)
            || self
                .patterns
                .as_deref()
                .is_none_or(|patterns| patterns.iter().any(|pattern| wildcard::matches(pattern, name)))
    }
}

/// The `event` field of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Each has its type.
    ByType,
    /// None has one, so a browser calls all of them `message`, also those of types added later.
    Message,
}

impl Naming {
    /// Reads `?event=`.
    ///
    /// # Errors
    /// [`BadInput::Event`] for any other word.
    pub fn parse(text: Option<&str>) -> Result<Self, BadInput> {
        match text {
            None | Some("type") => Ok(Self::ByType),
            Some("message") => Ok(Self::Message),
            Some(_) => Err(BadInput::Event),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_starting_point_is_read_strictly() {
        let check = |header: Option<&'static str>, last_event_id, after, expected| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("last-event-id", HeaderValue::from_str(header).unwrap());
            }
            let found = starting_point(&headers, last_event_id, after);
            assert_eq!(found, expected, "{header:?} {last_event_id:?} {after:?}");
        };
        check(None, None, None, Ok(0));
        check(None, None, Some("0"), Ok(0));
        check(None, None, Some("17"), Ok(17));
        check(None, Some("9"), Some("17"), Ok(9));
        check(Some("5"), Some("9"), Some("17"), Ok(5));
        check(Some("5"), Some("9"), Some("nonsense"), Err(BadInput::After));
        check(None, None, Some("99999999999999999999999"), Ok(i64::MAX));
        for bad in ["", "-1", "+1", "1.0", "1e3", "0x1", "abc", "1 2", "٣"] {
            check(None, None, Some(bad), Err(BadInput::After));
        }
        check(Some(""), Some(""), Some("17"), Ok(17));
        check(Some(" "), None, None, Ok(0));
        for bad in ["-1", "abc"] {
            check(Some(bad), Some("1"), Some("1"), Err(BadInput::LastEventId));
            check(Some("1"), Some(bad), Some("1"), Err(BadInput::LastEventIdParameter));
        }
    }

    #[test]
    fn types_are_names_or_patterns() {
        let check = |text, name, expected| {
            assert_eq!(Types::parse(Some(text)).unwrap().want(name), expected, "{text} {name}");
        };
        check("report.*,run.completed", "report.delta", true);
        check("report.*, run.completed", "run.completed", true);
        check("report.*,run.completed", "run.failed", false);
        check("report.*", "report", false);
        check("*", "anything.new", true);
        check("*.failed", "tool.failed", true);
        check("*.failed", "tool.failed.twice", false);
        check("r*r*.d*a", "report.delta", true);
        check("a*a", "a", false);
        check("r**t.*", "report.", true);
        check("report.*", "stream.gap", true);
        check("tomorrow", "today", false);
        assert!(Types::parse(None).unwrap().want("x"));
        let many = ["a"; MAX_PATTERNS + 1].join(",");
        let long = "a".repeat(MAX_PATTERN + 1);
        for bad in ["", ",", "a,", "a,,b", "A", "a b", "ü", "a\nb", &many, &long] {
            assert_eq!(Types::parse(Some(bad)), Err(BadInput::Types), "{bad:?}");
        }
    }

    #[test]
    fn names_are_by_type_or_message() {
        assert_eq!((Naming::parse(None), Naming::parse(Some("type"))), (Ok(Naming::ByType), Ok(Naming::ByType)));
        assert_eq!(Naming::parse(Some("message")), Ok(Naming::Message));
        assert_eq!(Naming::parse(Some("")), Err(BadInput::Event));
    }
}
