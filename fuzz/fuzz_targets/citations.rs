//! What a model writes as a report. How it was cut into pieces never changes what becomes of it.

#![no_main]

use fathom::research::fuzzing::resolved;

libfuzzer_sys::fuzz_target!(|input: (u8, &str)| {
    let (piece, text) = input;
    let whole = resolved(text, usize::MAX);
    assert_eq!(resolved(text, usize::from(piece).max(1)), whole);
});
