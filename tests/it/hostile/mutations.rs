//! The documents of the example library, damaged: our own parsers say what is wrong, or read on; they never panic.

use std::{fs, path::Path};

use fathom::pages::extract::{Format, passages, read};

/// Damaged copies of each document; each is another one.
const COPIES: u64 = 12;

#[test]
fn damaged_documents_are_read_or_refused() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/library");
    let mut tried = 0;
    for (name, format, bytes) in documents(&library) {
        for copy in 0..COPIES {
            match read(format, damaged(&bytes, copy)) {
                Ok(document) => {
                    let cut = document.sections.iter().flat_map(|section| passages::split(&section.text));
                    assert!(cut.map(|passage| passage.chars().count()).all(|chars| chars <= passages::MAX_CHARS));
                }
                // What is said of a panic.
                Err(reason) => assert_ne!(reason.to_string(), "could not read it", "{name}, copy {copy}"),
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

fn documents(folder: &Path) -> Vec<(String, Format, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if let Some(format) = path.extension().and_then(|ending| Format::of_extension(ending.to_str()?)) {
            found.push((path.display().to_string(), format, fs::read(&path).unwrap()));
        }
    }
    found
}

/// Bytes changed, repeated, removed and moved at places that depend on `copy` alone.
fn damaged(bytes: &[u8], copy: u64) -> Vec<u8> {
    let mut state = copy.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let mut bytes = bytes.to_vec();
    for _ in 0..20 {
        let at = next(bytes.len());
        let end = (at + next(40)).min(bytes.len());
        match next(5) {
            0 => bytes[at..end].fill(b"<>[](){}#|*_`\\\"'&\n\0\xff"[next(20)]),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = next(bytes.len());
                bytes.splice(to..to, piece.repeat(1 + next(50)));
            }
            3 => bytes.truncate(bytes.len() - next(bytes.len() / 8)),
            _ => bytes[at] = bytes[at].wrapping_add(u8::try_from(1 + next(255)).unwrap()),
        }
    }
    bytes
}
