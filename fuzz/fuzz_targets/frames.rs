//! The binary stream of Amazon's model servers. How it was cut into pieces never changes what is read.

#![no_main]

use fathom::net::frames::Frames;

libfuzzer_sys::fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    assert_eq!(events(bytes, usize::from(piece).max(1)), events(bytes, usize::MAX));
});

fn events(bytes: &[u8], piece: usize) -> Vec<Result<String, String>> {
    let mut frames = Frames::new(bytes.len());
    let mut all = Vec::new();
    for piece in bytes.chunks(piece) {
        if !frames.push(piece) {
            break;
        }
        loop {
            match frames.advance() {
                Ok(true) => all.push(Ok(frames.data().to_owned())),
                Ok(false) => break,
                Err(problem) => {
                    all.push(Err(problem));
                    return all;
                }
            }
        }
    }
    all
}
