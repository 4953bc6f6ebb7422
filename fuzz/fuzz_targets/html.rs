//! HTML pages and pieces of them, of any encoding.

#![no_main]

use fathom::pages::extract::{Format, plain, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(reason) = read(Format::Html, bytes.to_vec()) {
        assert_ne!(reason.to_string(), "could not read it", "it panicked");
    }
    let _ = plain(&String::from_utf8_lossy(bytes));
});
