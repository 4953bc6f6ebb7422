//! Tables, JSON, XML and reStructuredText, of any encoding.

#![no_main]

use fathom::pages::extract::{Format, read};

const FORMATS: [Format; 5] = [Format::Csv, Format::Tsv, Format::Json, Format::Xml, Format::Rst];

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (format, bytes) = input;
    if let Err(reason) = read(FORMATS[usize::from(format) % FORMATS.len()], bytes.to_vec()) {
        assert_ne!(reason.to_string(), "could not read it", "it panicked");
    }
});
