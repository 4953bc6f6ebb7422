//! Amazon's binary event streams (`application/vnd.amazon.eventstream`) taken apart: each frame becomes JSON of one
//! field, the name of its event.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use bytes::BytesMut;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What such streams call themselves.
pub const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";

/// The frames of one stream.
#[derive(Debug)]
pub struct Frames {
    decoder: MessageFrameDecoder,
    bytes: BytesMut,
    max_frame: usize,
}

impl Frames {
    /// No frame may be longer than `max_frame` bytes.
    pub fn new(max_frame: usize) -> Self {
        Self { decoder: MessageFrameDecoder::new(), bytes: BytesMut::new(), max_frame }
    }

    /// Takes in more bytes; `false` when a frame is too long.
    pub fn push(&mut self, chunk: &[u8]) -> bool {
        self.bytes.extend_from_slice(chunk);
        // What is complete has been taken out before.
        self.bytes.len() <= self.max_frame + chunk.len()
    }

    /// The next frame that is complete.
    ///
    /// # Errors
    /// What is wrong with it: a checksum, most likely.
    pub fn event(&mut self) -> Result<Option<String>, String> {
        match self.decoder.decode_frame(&mut self.bytes) {
            Ok(DecodedFrame::Complete(message)) => Ok(Some(event(&message))),
            Ok(DecodedFrame::Incomplete) => Ok(None),
            Err(problem) => Err(problem.to_string()),
        }
    }
}

/// `{"NAME": payload}`, or for an exception `{"exception": NAME, "message": payload}`.
fn event(message: &Message) -> String {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name);
        found.and_then(|header| header.value().as_string().ok()).map(|text| text.as_str())
    };
    match header(":message-type") {
        Some("exception" | "error") => {
            let payload: Value = serde_json::from_slice(message.payload()).unwrap_or_default();
            let name = header(":exception-type").or_else(|| header(":error-code")).unwrap_or_default();
            let said = payload.get("message").cloned().or_else(|| header(":error-message").map(Value::from));
            json!({"exception": name, "message": said}).to_string()
        }
        _ => {
            let payload = serde_json::from_slice::<&RawValue>(message.payload()).map_or("null", RawValue::get);
            format!("{{{}:{payload}}}", Value::from(header(":event-type").unwrap_or_default()))
        }
    }
}
