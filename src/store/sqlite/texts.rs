//! The texts of sources, which SQLite does not compress by itself.

use std::{
    io::{Read as _, Write as _},
    sync::Arc,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use sqlx::Row as _;

use crate::store::Error;

/// The column of the compressed text. Where it is null, `snapshot` has the text as it is: rows of releases before.
pub(super) const COMPRESSED: &str = "compressed";
/// What is selected of a source for [`snapshot`].
pub(super) const SNAPSHOT: &str = "snapshot, compressed";
/// The same without reading a text.
pub(super) const WITHOUT_SNAPSHOT: &str = "'' AS snapshot, NULL AS compressed";

/// No text is longer, in bytes: a damaged one must not take all memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the text in zlib's format (RFC 1950).
pub(super) fn compress(text: &str) -> Vec<u8> {
    // The first level takes little more than half the time of the usual one, and leaves a twentieth more.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// Reads the text of a row of `sources`.
///
/// # Errors
/// [`Error::Corrupt`] for bytes that are no compressed text.
pub(super) fn snapshot(row: &sqlx::sqlite::SqliteRow) -> Result<Arc<str>, Error> {
    match row.try_get::<Option<&[u8]>, _>(COMPRESSED)? {
        Some(bytes) => Ok(decompress(bytes)?.into()),
        None => Ok(row.try_get::<&str, _>("snapshot")?.into()),
    }
}

fn decompress(bytes: &[u8]) -> Result<String, Error> {
    let mut text = String::new();
    let read = ZlibDecoder::new(bytes).take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| Error::Corrupt(format!("the text of a source: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was() {
        for text in ["", "a", "Zürich 🦀", &"The dam holds 14,200 m³. ".repeat(90_000)] {
            assert_eq!(decompress(&compress(text)).unwrap(), text);
        }
    }

    #[test]
    fn a_page_takes_less_room() {
        let day = |day: u32| format!("On day {day} the mill ground {} sacks of rye. ", day * 7);
        let page: String = (0..200).map(day).collect();
        assert!(compress(&page).len() * 2 < page.len());
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let whole = compress(&"water ".repeat(400));
        let mut binary = ZlibEncoder::new(Vec::new(), Compression::fast());
        binary.write_all(b"\xff\xfe").unwrap();
        for bytes in [&whole[..whole.len() / 2], b"", b"\xff\xff\xff\xff", &binary.finish().unwrap()] {
            assert!(matches!(decompress(bytes), Err(Error::Corrupt(_))), "{bytes:?}");
        }
    }
}
