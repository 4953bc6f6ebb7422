//! The dialect of this API: each record has its type, its number as `id`, and its envelope as one `data` line.
//!
//! A body begins with `retry: 3000`. Only records that are sent carry an id: a reader of some types only that comes
//! back goes on after the last one sent, and is not sent those in between again, since they are not wanted. Only
//! records end with an empty line: some clients take a hint or a comment with one behind it for an event without data.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::{
    Dialect, hint,
    request::{Naming, Types},
};
use crate::events::{Frame, FramePage};

/// How long a client should wait before it comes back, in milliseconds; the first bytes of every stream.
const HELLO: Bytes = Bytes::from_static(b"retry: 3000\n");
/// The hint at the end when the process stops, in milliseconds: another replica takes over at once, but not all readers
/// in the same moment.
pub(super) const GOODBYE_MS: Range<u64> = 500..1_500;

/// The dialect of a reader of these types, who wants them named so.
#[derive(Clone, Debug)]
pub struct Native {
    pub types: Types,
    pub naming: Naming,
}

impl Dialect for Native {
    fn hello(&mut self) -> Bytes {
        HELLO
    }

    fn record(&mut self, frame: &Frame) -> Option<Bytes> {
        let wanted = self.types.want(&frame.name);
        wanted.then(|| match self.naming {
            Naming::ByType => frame.sse.clone(),
            Naming::Message => frame.unnamed(),
        })
    }

    fn goodbye(&mut self) -> Bytes {
        hint(GOODBYE_MS)
    }

    fn end(&mut self) -> Option<Bytes> {
        None
    }
}

/// Returns a page as JSON: `{"data": […], "next_after": …, "done": …}`. Unwanted types are left out, and still
/// counted by `next_after`.
pub fn page_json(page: &FramePage, types: &Types) -> Bytes {
    let mut json = BytesMut::from(&b"{\"data\":["[..]);
    let wanted = page.frames.iter().filter(|frame| types.want(&frame.name));
    for (place, frame) in wanted.enumerate() {
        if place > 0 {
            json.extend_from_slice(b",");
        }
        json.extend_from_slice(&frame.json);
    }
    json.extend_from_slice(format!("],\"next_after\":{},\"done\":{}}}", page.next_after, page.done).as_bytes());
    json.freeze()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::tests::frame, *};

    #[test]
    fn a_page_is_json() {
        let json = |seq: i64, name: &str| {
            let json = Bytes::from(format!("{{\"seq\":{seq}}}"));
            Arc::new(Frame { json, ..Frame::clone(&frame(seq, name, 1)) })
        };
        let page = FramePage { frames: vec![json(4, "a"), json(5, "b"), json(6, "a")], next_after: 6, done: false };
        assert_eq!(
            page_json(&page, &Types::ALL),
            r#"{"data":[{"seq":4},{"seq":5},{"seq":6}],"next_after":6,"done":false}"#
        );
        let only_b = Types::parse(Some("b")).unwrap();
        assert_eq!(page_json(&page, &only_b), r#"{"data":[{"seq":5}],"next_after":6,"done":false}"#);
        let empty = FramePage { frames: Vec::new(), next_after: 9, done: true };
        assert_eq!(page_json(&empty, &only_b), r#"{"data":[],"next_after":9,"done":true}"#);
    }
}
