//! Documents that are packages: one of each kind, of which one part is replaced; the parts are stored as they are, so
//! that what is changed reaches the readers behind the unpacking. Every fourth input is a package by itself.

#![no_main]

use std::io::{Cursor, Read as _, Write as _};

use fathom::pages::extract::{Format, read};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

const SAMPLES: [&[u8]; 7] = [
    include_bytes!("../../tests/formats/mill.docx"),
    include_bytes!("../../tests/formats/mill.pptx"),
    include_bytes!("../../tests/formats/mill.xlsx"),
    include_bytes!("../../tests/formats/mill.odt"),
    include_bytes!("../../tests/formats/mill.ods"),
    include_bytes!("../../tests/formats/mill.odp"),
    include_bytes!("../../tests/formats/mill.epub"),
];

libfuzzer_sys::fuzz_target!(|input: (u8, u8, &[u8])| {
    let (sample, part, bytes) = input;
    let package = match sample % 4 {
        0 => bytes.to_vec(),
        _ => with_part(SAMPLES[usize::from(sample / 4) % SAMPLES.len()], usize::from(part), bytes),
    };
    if let Err(reason) = read(Format::Package, package) {
        assert_ne!(reason.to_string(), "could not read it", "it panicked");
    }
});

/// The package with other bytes for one of its parts.
fn with_part(sample: &[u8], part: usize, bytes: &[u8]) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(sample)).unwrap();
    let mut changed = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let part = part % archive.len();
    for place in 0..archive.len() {
        let mut file = archive.by_index(place).unwrap();
        changed.start_file(file.name().unwrap().into_owned(), stored).unwrap();
        let mut own = Vec::new();
        file.read_to_end(&mut own).unwrap();
        changed.write_all(if place == part { bytes } else { &own }).unwrap();
    }
    changed.finish().unwrap().into_inner()
}
