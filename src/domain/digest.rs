//! SHA-256 of contents and requests, and hexadecimal: the one place that hashes.

use std::io;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the same, hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// SHA-256 of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Returns the SHA-256 of the JSON form of a value, in hex.
pub fn sha256_json(value: &impl Serialize) -> String {
    let mut hasher = Hasher::default();
    // A value that cannot be serialized hashes as what was written of it, which is the same each time.
    let _ = serde_json::to_writer(&mut hasher, value);
    hex(&hasher.finish())
}

/// Returns bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
    text
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_hashes_as_its_json() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        assert_eq!(sha256_json(&("a", 1)), sha256_hex(br#"["a",1]"#));
        assert_eq!(hex(&[0, 0x0f, 0xff]), "000fff");
    }
}
