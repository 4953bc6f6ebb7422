//! PDF files. The library that reads them panics on purpose, which is caught; what this looks for is what cannot be:
//! overflowed stacks, exhausted memory, and work without an end.

#![no_main]

use fathom::pages::extract::{Format, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read(Format::Pdf, bytes.to_vec());
});
