//! Files and pages to text: what a document says, split where its author split it.
//!
//! Knows no folder, index or network; bytes in, [`Document`] out. One file per format; `passages` cuts sections to size.

pub(super) mod date;
pub(crate) mod guarded;
pub mod html;
mod markdown;
pub mod passages;
mod pdf;
mod text;

use std::time::Duration;

pub use text::{clean, cut, one_line};

/// The formats we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
}

impl Format {
    /// The format a file name's ending promises.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "txt" | "text" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// As its author gave it; never empty.
    pub title: Option<String>,
    /// `YYYY-MM-DD`, when the document says so itself.
    pub published: Option<String>,
    /// In reading order; none has an empty text.
    pub sections: Vec<Section>,
    /// What could not be read of it, for people.
    pub missing: Option<String>,
}

/// A stretch of text under one heading or on one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `page 3` or the heading; none for what comes before the first heading.
    pub label: Option<String>,
    /// The headings above `label`, outermost first, for finding rather than showing.
    pub path: String,
    /// What follows `#` in a link to it.
    pub anchor: Option<String>,
    /// Plain text; paragraphs are separated by an empty line.
    pub text: String,
}

/// Why a file cannot be searched; the text is for people and follows the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Unreadable {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Reads a document on a guarded thread. Blocking, at most `time_limit`.
///
/// # Errors
/// [`Unreadable`] when there is no text in it, none that can be trusted to be text, or none within `time_limit`.
pub fn read(format: Format, bytes: Vec<u8>, time_limit: Duration) -> Result<Document, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::new("it is empty"));
    }
    let document = guarded::run(time_limit, move |stop| read_as(format, &bytes, stop))??;
    if document.sections.is_empty() {
        return Err(Unreadable::new("there is no text in it"));
    }
    Ok(document)
}

fn read_as(format: Format, bytes: &[u8], stop: &guarded::Stop) -> Result<Document, Unreadable> {
    let document = match format {
        Format::Text => text::read(&text::decode(bytes)?),
        Format::Markdown => markdown::read(&text::decode(bytes)?),
        Format::Html => html::read(&html::decode(bytes)?)?,
        Format::Pdf => return pdf::read(bytes, stop),
    };
    Ok(Document { sections: passages::joined(document.sections), ..document })
}
