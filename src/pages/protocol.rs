//! What the service and its parser processes say to each other: frames of a length and so many bytes.
//!
//! A request is two frames, a [`Job`] as JSON and the bytes it is about; its answer is one. Lengths are checked before
//! anything is allocated.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::extract::{Document, Format, Unreadable};

/// A document of the largest size, and some room.
pub(super) const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// The text of a document of the largest size as JSON.
pub(super) const MAX_ANSWER_BYTES: usize = 48 * 1024 * 1024;
/// Raised when a frame changes: a program replaced under a running service may speak another version.
pub(super) const VERSION: u32 = 2;

/// The first frame of a parser process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub fathom_parser: u32,
    /// Limits of the process that the system did not let it set.
    pub unlimited: Vec<String>,
}

/// What to make of the bytes that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    Document(Format),
    /// The plain text of a page or of a piece of one, as UTF-8.
    Plain,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Document(Box<Document>),
    Plain(String),
    Unreadable(Unreadable),
}

/// Reads a frame; `None` at the end of input between frames.
pub(super) fn read_frame(from: &mut impl Read, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut frame = vec![0; checked(length, max)?];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

pub(super) fn write_frame(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(&header(frame)?)?;
    to.write_all(frame)?;
    to.flush()
}

/// Reads a frame as [`read_frame`] does; here the end of input is an error.
pub(super) async fn receive(from: &mut (impl AsyncRead + Unpin), max: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).await?;
    let mut frame = vec![0; checked(length, max)?];
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    to.write_all(&header(frame)?).await?;
    to.write_all(frame).await
}

fn checked(length: [u8; 4], max: usize) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    Ok(length)
}

fn header(frame: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(frame.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(length.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_back_and_bounded() {
        let mut wire = Vec::new();
        write_frame(&mut wire, b"one").unwrap();
        write_frame(&mut wire, b"").unwrap();
        let mut read = wire.as_slice();
        assert_eq!(read_frame(&mut read, 3).unwrap(), Some(b"one".to_vec()));
        assert_eq!(read_frame(&mut read, 3).unwrap(), Some(Vec::new()));
        assert_eq!(read_frame(&mut read, 3).unwrap(), None);
        assert!(read_frame(&mut wire.as_slice(), 2).is_err());
        assert!(read_frame(&mut [255; 64].as_slice(), MAX_ANSWER_BYTES).is_err());
        assert!(read_frame(&mut &wire[..5], 3).is_err());
    }
}
