//! Amazon's binary event streams (`application/vnd.amazon.eventstream`) taken apart: each frame becomes JSON of one
//! field, the name of its event.
//!
//! A frame is its length and that of its headers (four bytes each), their checksum, the headers, the payload, and the
//! checksum of all that; numbers are big-endian, checksums those of gzip. So has it smithy.io's specification of
//! Amazon's event streams (November 2026).

use serde_json::{Value, json};

/// What such streams call themselves.
pub const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";

/// Bytes before the headers, and behind the payload.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// The frames of one stream.
#[derive(Debug)]
pub struct Frames {
    max_frame: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer whose frames have been taken.
    taken: usize,
    /// The event.
    data: String,
}

impl Frames {
    /// Begins a reader; no frame may be longer than `max_frame` bytes.
    pub fn new(max_frame: usize) -> Self {
        Self { max_frame, buffer: Vec::new(), taken: 0, data: String::new() }
    }

    /// Takes in more bytes; `false` when a frame is too long.
    pub fn push(&mut self, chunk: &[u8]) -> bool {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(chunk);
        self.buffer.len() - chunk.len() <= self.max_frame
    }

    /// Goes to the next frame; `false` when none is complete.
    ///
    /// # Errors
    /// What is wrong with it: a checksum, most likely.
    pub fn advance(&mut self) -> Result<bool, String> {
        let bytes = &self.buffer[self.taken..];
        let Some(length) = length(bytes)? else { return Ok(false) };
        let Some((frame, checksum)) = bytes.get(..length).and_then(<[u8]>::split_last_chunk::<CHECKSUM>) else {
            return Ok(false);
        };
        if crc32fast::hash(frame) != u32::from_be_bytes(*checksum) {
            return Err("the checksum of a frame is wrong".to_owned());
        }
        let too_short = "the headers of a frame are longer than the frame";
        let (headers, payload) = frame[PRELUDE..].split_at_checked(number(frame, 4)).ok_or(too_short)?;
        self.data.clear();
        write(&Headers::read(headers).ok_or("the headers of a frame cannot be read")?, payload, &mut self.data);
        self.taken += length;
        Ok(true)
    }

    /// Returns the frame as JSON, if its payload is that: `{"NAME":payload}`, or for an exception
    /// `{"exception":NAME,"message":what it says}`.
    pub fn data(&self) -> &str {
        &self.data
    }
}

/// Returns the length of the frame that begins here; `None` when too little of it is there to know.
fn length(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    if crc32fast::hash(&prelude[..8]) as usize != number(prelude, 8) {
        return Err("the checksum of the beginning of a frame is wrong".to_owned());
    }
    let length = number(prelude, 0);
    if length < PRELUDE + CHECKSUM {
        return Err("a frame is shorter than its own beginning and end".to_owned());
    }
    Ok(Some(length))
}

/// Returns the number of four bytes at that place; zero where there are none.
fn number(bytes: &[u8], at: usize) -> usize {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
    u32::from_be_bytes(bytes) as usize
}

/// The headers of a frame that are read; empty where it has none.
#[derive(Default)]
struct Headers<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl<'a> Headers<'a> {
    fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut headers = Self::default();
        while let Some((length, rest)) = bytes.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(*length))?;
            let (kind, rest) = rest.split_first()?;
            let (value, rest) = value(*kind, rest)?;
            if let Some(place) = headers.place(name).filter(|_| *kind == TEXT) {
                *place = std::str::from_utf8(value).ok()?;
            }
            bytes = rest;
        }
        Some(headers)
    }

    fn place(&mut self, name: &[u8]) -> Option<&mut &'a str> {
        match name {
            b":message-type" => Some(&mut self.message_type),
            b":event-type" => Some(&mut self.event_type),
            b":exception-type" => Some(&mut self.exception_type),
            b":error-code" => Some(&mut self.error_code),
            b":error-message" => Some(&mut self.error_message),
            _ => None,
        }
    }
}

/// The kind of header whose value is a text.
const TEXT: u8 = 7;

/// Returns the value of a header of that kind, and what follows it.
fn value(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match kind {
        // True and false.
        0 | 1 => Some((&[], bytes)),
        // Numbers of one, two, four and eight bytes; then a time and an id.
        2 => bytes.split_at_checked(1),
        3 => bytes.split_at_checked(2),
        4 => bytes.split_at_checked(4),
        5 | 8 => bytes.split_at_checked(8),
        9 => bytes.split_at_checked(16),
        // Bytes and text.
        6 | TEXT => {
            let (length, rest) = bytes.split_first_chunk()?;
            rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
        }
        _ => None,
    }
}

fn write(headers: &Headers<'_>, payload: &[u8], out: &mut String) {
    if matches!(headers.message_type, "exception" | "error") {
        out.push_str(&exception(headers, payload).to_string());
        return;
    }
    // Not each character by itself, as most names need no escapes.
    match headers.event_type.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => out.extend(["{\"", headers.event_type, "\":"]),
        false => out.extend(["{", &Value::from(headers.event_type).to_string(), ":"]),
    }
    match std::str::from_utf8(payload) {
        Ok(payload) if !payload.is_empty() => out.push_str(payload),
        _ => out.push_str("null"),
    }
    out.push('}');
}

fn exception(headers: &Headers<'_>, payload: &[u8]) -> Value {
    let payload: Value = serde_json::from_slice(payload).unwrap_or_default();
    let name = if headers.exception_type.is_empty() { headers.error_code } else { headers.exception_type };
    let said = payload.get("message").cloned().unwrap_or_else(|| headers.error_message.into());
    json!({"exception": name, "message": said})
}

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::DateTime;
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
    use proptest::prelude::*;

    use super::*;

    /// Writes a frame as the vendor's own library does.
    fn frame(headers: Vec<(String, HeaderValue)>, payload: &str) -> Vec<u8> {
        let headers = headers.into_iter().map(|(name, value)| Header::new(name, value));
        let message = headers.fold(Message::new(payload.to_owned()), Message::add_header);
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    fn text(name: &str, value: &str) -> (String, HeaderValue) {
        (name.to_owned(), HeaderValue::String(value.to_owned().into()))
    }

    fn event(name: &str, payload: &str) -> Vec<u8> {
        frame(vec![text(":message-type", "event"), text(":event-type", name)], payload)
    }

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, String> {
        let (mut frames, mut all) = (Frames::new(1_000_000), Vec::new());
        for piece in pieces {
            assert!(frames.push(piece));
            while frames.advance()? {
                all.push(frames.data().to_owned());
            }
        }
        Ok(all)
    }

    #[test]
    fn frames_become_json() {
        fn check(bytes: &[u8], expected: &str) {
            assert_eq!(read([bytes]), Ok(vec![expected.to_owned()]));
        }
        check(&event("messageStop", r#"{"a":"ä"}"#), r#"{"messageStop":{"a":"ä"}}"#);
        check(&event("initial-response", ""), r#"{"initial-response":null}"#);
        check(&event("a\"b", "1"), r#"{"a\"b":1}"#);
        let exception = |name: &str| vec![text(":message-type", "exception"), text(":exception-type", name)];
        check(&frame(exception("slow"), r#"{"message":"Wait."}"#), r#"{"exception":"slow","message":"Wait."}"#);
        let error =
            ["error", "broken", "It broke."].into_iter().zip([":message-type", ":error-code", ":error-message"]);
        check(
            &frame(error.map(|(value, name)| text(name, value)).collect(), ""),
            r#"{"exception":"broken","message":"It broke."}"#,
        );
    }

    #[test]
    fn headers_of_every_kind_are_passed_over() {
        let others = [
            HeaderValue::Bool(true),
            HeaderValue::Bool(false),
            HeaderValue::Byte(-1),
            HeaderValue::Int16(7),
            HeaderValue::Int32(-7),
            HeaderValue::Int64(1 << 40),
            HeaderValue::ByteArray(vec![1, 2, 3].into()),
            HeaderValue::String("other".to_owned().into()),
            HeaderValue::Timestamp(DateTime::from_secs(1_795_000_000)),
            HeaderValue::Uuid(7),
        ];
        let mut headers: Vec<_> = others.into_iter().map(|value| ("other".to_owned(), value)).collect();
        headers.push(text(":event-type", "metadata"));
        assert_eq!(read([&*frame(headers, "{}")]), Ok(vec![r#"{"metadata":{}}"#.to_owned()]));
    }

    #[test]
    fn a_length_is_not_believed_without_its_checksum() {
        let mut wrong = event("metadata", "{}");
        wrong[0] = 1;
        assert!(read([&wrong[..PRELUDE]]).unwrap_err().contains("checksum"));
        assert_eq!(read([&event("metadata", "{}")[..PRELUDE]]), Ok(Vec::new()));
    }

    #[test]
    fn a_frame_without_end_is_not_kept() {
        let prelude = 2_000_000_000_u64.to_be_bytes();
        let mut frames = Frames::new(1_000);
        assert!(frames.push(&[&prelude[4..], &[0; 4]].concat()));
        let checksum = crc32fast::hash(&[&prelude[4..], &[0; 4]].concat()).to_be_bytes();
        assert!(frames.push(&checksum));
        let pushed = (0..20).take_while(|_| frames.advance() == Ok(false) && frames.push(&[b'x'; 100])).count();
        assert_eq!(pushed, 10, "of 100 bytes each");
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(payloads in prop::collection::vec("[a-zä€]{0,20}", 1..5), size in 1_usize..40) {
            let bytes: Vec<u8> = payloads.iter().flat_map(|payload| event("metadata", &format!("\"{payload}\""))).collect();
            let expected: Vec<_> = payloads.iter().map(|payload| format!("{{\"metadata\":\"{payload}\"}}")).collect();
            prop_assert_eq!(read(bytes.chunks(size)), Ok(expected));
        }

        #[test]
        fn no_changed_bit_is_overlooked(at in 0_usize..1_000, bit in 0_u8..8) {
            let mut bytes = event("contentBlockDelta", r#"{"delta":{"text":"the dues of 2031"}}"#);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let read = read([&*bytes]);
            prop_assert!(read.is_err(), "{read:?}");
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), headers in 0_u32..90) {
            let length = u32::try_from(PRELUDE + CHECKSUM + bytes.len()).unwrap();
            let mut frame = [length.to_be_bytes(), headers.to_be_bytes()].concat();
            frame.extend(crc32fast::hash(&frame).to_be_bytes());
            frame.extend(&bytes);
            frame.extend(crc32fast::hash(&frame).to_be_bytes());
            let fits = headers as usize <= bytes.len();
            prop_assert!(fits || read([&*frame]).is_err());
        }
    }
}
