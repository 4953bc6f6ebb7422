//! The binary stream of Amazon's model servers. How it was cut into pieces never changes what is read.

#![no_main]

use fathom::net::frames::Frames;

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    assert_eq!(events(bytes, usize::from(piece).max(1)), events(bytes, usize::MAX));
});

fn events(bytes: &[u8], piece: usize) -> Vec<Result<Option<String>, String>> {
    let mut frames = Frames::new(bytes.len());
    let mut all = Vec::new();
    for piece in bytes.chunks(piece) {
        if !frames.push(piece) {
            break;
        }
        loop {
            match frames.event() {
                Ok(None) => break,
                Err(problem) => {
                    all.push(Err(problem));
                    return all;
                }
                event => all.push(event),
            }
        }
    }
    all
}
