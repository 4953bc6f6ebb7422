//! The texts of sources, which SQLite does not compress by itself.

use std::{
    io::{Read as _, Write as _},
    sync::Arc,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use sqlx::Row as _;

use crate::{
    domain::digest::hex,
    store::{Error, off_runtime, values::clean},
};

/// The column of the compressed text. Where it is null, `snapshot` has the text as it is: rows of releases before.
pub(super) const COMPRESSED: &str = "compressed";
/// What is selected of a source for [`snapshot`].
pub(super) const SNAPSHOT: &str = "snapshot, compressed";
/// The same without reading a text.
pub(super) const WITHOUT_SNAPSHOT: &str = "'' AS snapshot, NULL AS compressed";

/// No text is longer, in bytes: a damaged one must not take all memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// So many bytes are compressed where their commit is written; more would keep others from that thread.
const HERE_BYTES: usize = 64 * 1024;

/// Returns each text compressed, hexadecimal.
///
/// # Errors
/// As [`off_runtime`].
pub(super) async fn packed(texts: Vec<Arc<str>>) -> Result<Vec<String>, Error> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let work = move || texts.iter().map(|text| hex(&compress(&clean(text)))).collect();
    if bytes <= HERE_BYTES { Ok(work()) } else { off_runtime(work).await }
}

/// Returns the text in zlib's format (RFC 1950).
fn compress(text: &str) -> Vec<u8> {
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
    let read = ZlibDecoder::new(bytes).take(MAX_BYTES + 1).read_to_string(&mut text);
    let read = read.map_err(|error| Error::Corrupt(format!("the text of a source: {error}")))?;
    if read as u64 > MAX_BYTES {
        return Err(Error::Corrupt(format!("the text of a source has more than {MAX_BYTES} bytes")));
    }
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
        let long = compress(&" ".repeat(MAX_BYTES as usize + 1));
        for bytes in [&long[..], &whole[..whole.len() / 2], b"", b"\xff\xff\xff\xff", &binary.finish().unwrap()] {
            assert!(matches!(decompress(bytes), Err(Error::Corrupt(_))), "{}", bytes.len());
        }
    }
}
