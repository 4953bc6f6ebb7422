//! The objects of a JSON array, taken apart as they arrive: so stream servers that do not speak in server-sent events.

/// Takes a JSON array apart, each byte once however it is cut.
#[derive(Debug)]
pub struct Elements {
    max_element: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that no element is made of any more.
    taken: usize,
    /// Bytes of the buffer that have been looked at.
    scanned: usize,
    /// Brackets that are open, that of the array included.
    depth: usize,
    is_in_text: bool,
    /// In a text, is the next byte no end of it?
    is_escaped: bool,
    /// The element.
    data: String,
}

impl Elements {
    /// Creates an empty buffer; `max_element` bounds an element in bytes.
    pub fn new(max_element: usize) -> Self {
        Self {
            max_element,
            buffer: Vec::new(),
            taken: 0,
            scanned: 0,
            depth: 0,
            is_in_text: false,
            is_escaped: false,
            data: String::new(),
        }
    }

    /// Takes in more bytes; `false` when an element gets too long.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.drain(..self.taken);
        self.scanned -= self.taken;
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() - bytes.len() <= self.max_element
    }

    /// Goes to the next element that is an object or an array; `false` when none is complete.
    pub fn advance(&mut self) -> bool {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            self.scanned += 1;
            let is_element = self.is_last_of_element(byte);
            if is_element {
                self.data = String::from_utf8_lossy(&self.buffer[self.taken..self.scanned]).into_owned();
            }
            if is_element || self.depth <= 1 {
                self.taken = self.scanned;
            }
            if is_element {
                return true;
            }
        }
        false
    }

    /// Returns the element as it came.
    pub fn data(&self) -> &str {
        &self.data
    }

    fn is_last_of_element(&mut self, byte: u8) -> bool {
        if self.is_in_text {
            let is_end = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.is_in_text = !is_end;
            return false;
        }
        match byte {
            b'"' => self.is_in_text = true,
            b'{' | b'[' => self.open(),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 1;
            }
            _ => {}
        }
        false
    }

    fn open(&mut self) {
        self.depth += 1;
        if self.depth == 2 {
            self.taken = self.scanned - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn of(chunks: &[&[u8]]) -> Vec<String> {
        let mut elements = Elements::new(1_000);
        let mut found = Vec::new();
        for chunk in chunks {
            assert!(elements.push(chunk));
            while elements.advance() {
                found.push(elements.data().to_owned());
            }
        }
        found
    }

    #[test]
    fn elements_are_the_same_however_they_are_cut() {
        let check = |array: &str, expected: &[&str]| {
            assert_eq!(of(&[array.as_bytes()]), expected, "{array}");
            let bytes: Vec<&[u8]> = array.as_bytes().chunks(1).collect();
            assert_eq!(of(&bytes), expected, "{array}, byte by byte");
        };
        check("[{\"a\": [1, {}]},\r\n{\"b\": {\"c\": \"d\"}}\n]\n", &["{\"a\": [1, {}]}", "{\"b\": {\"c\": \"d\"}}"]);
        check(r#" [ {"a": "}]\"\\"} , [1] ]"#, &[r#"{"a": "}]\"\\"}"#, "[1]"]);
        check(r#"[1, null, "{", {"é": "港"}"#, &[r#"{"é": "港"}"#]);
        check("[", &[]);
        check("[]", &[]);
        check(r#"[{"a": 1"#, &[]);
        check("]]}}", &[]);
    }

    #[test]
    fn an_element_is_bounded_and_an_array_is_not() {
        let mut elements = Elements::new(100);
        assert!(elements.push(br#"{"a": 1}, ["#) && !elements.advance(), "that is in no array");
        for _ in 0..1_000 {
            assert!(elements.push(br#" {"a": 1}, "#) && elements.advance() && !elements.advance());
        }
        assert!(elements.push(br#"{"a": ""#) && !elements.advance());
        let fits = (0..50).take_while(|_| elements.push(b"0123456789") && !elements.advance()).count();
        assert!((9..=11).contains(&fits), "{fits}");
    }

    #[test]
    fn each_byte_is_looked_at_once() {
        for shape in ["[", "{\"a\":", "\"\\", "{}", "\\\"", " ,"] {
            growth::check(shape, 16 * 1024, |text| {
                let mut elements = Elements::new(usize::MAX);
                for chunk in text.as_bytes().chunks(7) {
                    elements.push(chunk);
                    while elements.advance() {}
                }
            });
        }
    }
}
