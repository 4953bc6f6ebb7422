//! PDF to text, page by page, behind every guard a parser that panics by design needs.

use std::time::Duration;

use super::{Document, Unreadable};

pub(super) fn read(_bytes: Vec<u8>, _time_limit: Duration) -> Result<Document, Unreadable> {
    Err(Unreadable::new("PDF is not read yet"))
}
