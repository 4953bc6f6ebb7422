//! Markdown and plain text, cut into passages.

#![no_main]

use fathom::pages::extract::{Format, passages, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Markdown, Format::Text] {
        match read(format, bytes.to_vec()) {
            Ok(document) => {
                for section in &document.sections {
                    assert!(!section.text.is_empty());
                    assert!(passages::split(&section.text).iter().all(|passage| passage.chars().count() <= passages::MAX_CHARS));
                }
            }
            Err(reason) => assert_ne!(reason.to_string(), "could not read it", "it panicked"),
        }
    }
});
