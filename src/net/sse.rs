//! Server-sent events of others, taken apart as they arrive.

use std::ops::Range;

use super::without_mark;

/// Takes server-sent events apart, each byte once however they are cut.
#[derive(Debug)]
pub struct Events {
    max_line: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer whose lines have been taken.
    taken: usize,
    /// Bytes of the buffer behind which no end of a line has been looked for.
    scanned: usize,
    /// The last line ended with a carriage return: a line feed right behind it ends no other one.
    after_return: bool,
    /// The `data` of the event in progress, or of the one that is complete.
    data: String,
    has_data: bool,
    is_complete: bool,
    /// Whether a line has been taken: the first one may begin with the mark of the encoding.
    has_begun: bool,
}

impl Events {
    /// Begins a reader; `max_line` bounds a line in bytes.
    pub fn new(max_line: usize) -> Self {
        Self {
            max_line,
            buffer: Vec::new(),
            taken: 0,
            scanned: 0,
            after_return: false,
            data: String::new(),
            has_data: false,
            is_complete: false,
            has_begun: false,
        }
    }

    /// Takes in more bytes; `false` when a line gets too long.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.drain(..self.taken);
        self.scanned -= self.taken;
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() - bytes.len() <= self.max_line
    }

    /// Goes to the next event; `false` when none is complete.
    pub fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.is_complete) {
            self.data.clear();
            self.has_data = false;
        }
        while let Some(line) = self.line() {
            if line.is_empty() {
                self.is_complete = self.has_data;
            } else if let Some(value) = self.buffer[line].strip_prefix(b"data:") {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                add(&mut self.data, value.strip_prefix(b" ").unwrap_or(value));
            }
            if self.is_complete {
                return true;
            }
        }
        false
    }

    /// Returns the data of the event.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// Finds the next complete line; it ends with a line feed, a carriage return, or both.
    fn line(&mut self) -> Option<Range<usize>> {
        loop {
            let Some(length) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return None;
            };
            let (from, to) = (self.taken, self.scanned + length);
            let end = self.buffer[to];
            self.taken = to + 1;
            self.scanned = self.taken;
            let is_second = std::mem::replace(&mut self.after_return, end == b'\r') && end == b'\n';
            let is_first = !std::mem::replace(&mut self.has_begun, true);
            if !(is_second && from == to) {
                let line = &self.buffer[from..to];
                let mark = if is_first { line.len() - without_mark(line).len() } else { 0 };
                return Some(from + mark..to);
            }
        }
    }

    /// Goes to what came before the end without an empty line behind it, if anything did; half a line is nothing.
    pub fn finish(&mut self) -> bool {
        self.has_data && !std::mem::replace(&mut self.is_complete, true)
    }
}

fn add(data: &mut String, value: &[u8]) {
    // Checked at once, which is faster than character by character.
    match std::str::from_utf8(value) {
        Ok(text) => data.push_str(text),
        Err(_) => data.push_str(&String::from_utf8_lossy(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX_LINE: usize = 4 * 1024 * 1024;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut lines = Events::new(MAX_LINE);
        let mut events = Vec::new();
        for piece in pieces {
            assert!(lines.push(piece));
            while lines.advance() {
                events.push(lines.data().to_owned());
            }
        }
        if lines.finish() {
            events.push(lines.data().to_owned());
        }
        events
    }

    #[test]
    fn events_are_taken_apart() {
        fn check(text: &str, expected: &[&str]) {
            assert_eq!(events([text.as_bytes()]), expected, "{text:?}");
        }
        check("data: a\n\ndata:b\r\n\r\n: ping\n\n", &["a", "b"]);
        check("event: x\ndata: a\ndata: b\nid: 7\n\n", &["a\nb"]);
        check("data: a\n", &["a"]);
        check("data: a\rdata: b\r\rdata: c\r\n\rdata: d\n\r\n", &["a\nb", "c", "d"]);
        check("data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", &["a\nb", "c"]);
        check("data: half", &[]);
        check("<html>\n\n", &[]);
        check("\n\n\ndata:\n\n", &[""]);
        check("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: \u{feff}c\n\n", &["a", "\u{feff}c"]);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(text in "\u{feff}?(data: ?[aä€]{0,3}|:|\r?\n|\r|[x ]){0,20}", size in 1_usize..9) {
            prop_assert_eq!(events(text.as_bytes().chunks(size)), events([text.as_bytes()]));
        }
    }

    #[test]
    fn an_endless_line_is_not_kept() {
        let mut lines = Events::new(MAX_LINE);
        let piece = [b'a'; 65_536];
        let mut kept = 0;
        while lines.push(&piece) {
            assert!(!lines.advance());
            kept += piece.len();
        }
        assert!(kept <= MAX_LINE + 2 * piece.len(), "{kept}");
    }
}
