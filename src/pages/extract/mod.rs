//! The parsers: what a document says, split where its author split it.
//!
//! Bytes in, [`Document`] out. One file per format; `passages` cuts sections to size. What comes from outside is read
//! by these in a parser process only ([`super::Parser`]); the short helpers for text are for everybody.

mod about;
mod annotations;
mod bulk;
mod cells;
mod chart;
mod columns;
pub mod date;
mod delimited;
mod depth;
mod docx;
mod encoding;
mod epub;
mod formula;
mod glyph_lines;
mod glyphs;
mod hidden;
pub mod html;
mod json;
mod links;
mod markdown;
mod markdown_marks;
mod number_format;
mod numbering;
mod odf;
mod office;
mod outline;
mod package;
pub mod passages;
mod pdf;
mod pdf_forms;
mod pdf_objects;
mod pptx;
mod predefined;
mod reading_order;
mod rst;
mod shape;
mod sheet;
mod table;
mod text;
pub mod walls;
mod widths;
mod xlsx;
mod xml;
mod xml_document;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::caught;
use crate::net;
pub use html::looks_like_html;
pub use text::{cut, one_line, raised, tidied};

/// The longest text of one document, headings included; what follows is not searched.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
/// The longest heading or title; longer ones are cut.
const MAX_HEADING_CHARS: usize = 300;
/// The longest headings above a section together, for each stands with every section below it.
const MAX_PATH_BYTES: usize = 2_000;

/// Sections in which a document says its date, or shows that its headings are those of a log.
const MOST_SECTIONS: usize = 500;

/// Lines of a sheet among which it says something of itself.
const MOST_NOTES: usize = 25;

/// Bytes among which a PDF begins: what printed or sent it may have put something before it.
const MAX_BEFORE_PDF: usize = 1_024;

/// The formats we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    Text,
    Markdown,
    /// A file of somebody's own.
    Html,
    /// The same from the web, where an article stands among menus and notes of other pages.
    WebPage,
    Pdf,
    /// DOCX, PPTX, XLSX, ODT, ODS, ODP or EPUB: which of them shows within.
    Package,
    /// Separated by what the file itself shows.
    Csv,
    Tsv,
    Json,
    Xml,
    Rst,
}

/// Endings of file names and the formats that they promise.
const ENDINGS: [(&str, Format); 29] = [
    ("txt", Format::Text),
    ("text", Format::Text),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("xhtml", Format::Html),
    ("pdf", Format::Pdf),
    ("docx", Format::Package),
    ("docm", Format::Package),
    ("dotx", Format::Package),
    ("pptx", Format::Package),
    ("pptm", Format::Package),
    ("ppsx", Format::Package),
    ("xlsx", Format::Package),
    ("xlsm", Format::Package),
    ("odt", Format::Package),
    ("ods", Format::Package),
    ("odp", Format::Package),
    ("epub", Format::Package),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("tab", Format::Tsv),
    ("json", Format::Json),
    ("jsonl", Format::Json),
    ("ndjson", Format::Json),
    ("xml", Format::Xml),
    ("rst", Format::Rst),
    ("rest", Format::Rst),
];

impl Format {
    /// Returns the format a file name's ending promises.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        ENDINGS.iter().find(|(ending, _)| *ending == extension).map(|(_, format)| *format)
    }

    /// Returns the format that the first bytes show, whatever name or header say.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if net::without_mark(bytes).trim_ascii_start().starts_with(b"%PDF-") {
            return Some(Self::Pdf);
        }
        match bytes {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => Some(Self::Package),
            _ => None,
        }
    }

    /// Returns whether a PDF begins within the first bytes, whatever stands before it. Texts may say how PDFs begin, so
    /// this counts of what is said to be one.
    pub fn holds_pdf(bytes: &[u8]) -> bool {
        bytes[..bytes.len().min(MAX_BEFORE_PDF)].windows(5).any(|window| window == b"%PDF-")
    }

    /// Returns the format as the web has it.
    pub fn of_web(self) -> Self {
        if self == Self::Html { Self::WebPage } else { self }
    }

    /// Returns whether it is text, in some encoding.
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Pdf | Self::Package)
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// As its author gave it; never empty.
    pub title: Option<String>,
    /// Who wrote it, as it says itself; never empty.
    #[serde(default)]
    pub author: Option<String>,
    /// The site that it belongs to, as a page says itself; never empty.
    #[serde(default)]
    pub site: Option<String>,
    /// The address under which a page wants to be known; perhaps relative.
    #[serde(default)]
    pub canonical: Option<String>,
    /// Where a page of the web leads on, as the header `Refresh` would say it.
    #[serde(default)]
    pub refresh: Option<String>,
    /// `YYYY-MM-DD`, when the document says so itself.
    pub published: Option<String>,
    /// The day on which its file was saved or made, which counts if nothing else is said: see [`Self::date`].
    #[serde(default)]
    pub saved: Option<String>,
    /// Whether its rows are records, each with dates of its own.
    #[serde(skip)]
    pub has_records: bool,
    /// In reading order; none has an empty text. There are some, unless a page does nothing but lead on.
    pub sections: Vec<Section>,
    /// What could not be read of it, for people.
    pub missing: Option<String>,
    /// Where its text leads to, if it is HTML or Markdown.
    #[serde(default)]
    pub links: Vec<Link>,
}

impl Document {
    /// Returns the day of the document: what it says itself, else the name of its file, else when that was saved.
    pub fn date(&self, file_name: Option<&str>) -> Option<String> {
        let named = || file_name.and_then(date::in_file_name);
        self.published.clone().or_else(named).or_else(|| self.saved.clone())
    }
}

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// On one line; not empty.
    pub text: String,
    /// As its author wrote it, perhaps relative.
    pub target: String,
}

/// A stretch of text under one heading or on one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Unreadable {
    /// The reason for a document that can be read and says nothing.
    const NO_TEXT: &str = "there is no text in it";

    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    pub(super) fn without_text() -> Self {
        Self::new(Self::NO_TEXT)
    }

    /// Returns whether it was read to its end, and has no text.
    pub(super) fn is_without_text(&self) -> bool {
        self.0 == Self::NO_TEXT
    }
}

/// Reads a document. Blocking, and bounded by nothing but the process it runs in.
///
/// # Errors
/// [`Unreadable`] when there is no text in it, or none that can be trusted to be text.
pub fn read(format: Format, bytes: Vec<u8>) -> Result<Document, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::new("it is empty"));
    }
    let format = Format::of_bytes(&bytes).unwrap_or(format);
    let document = caught::run(move || read_as(format, &bytes))??;
    if document.sections.is_empty() && document.refresh.is_none() {
        return Err(Unreadable::without_text());
    }
    Ok(bounded(document))
}

/// Returns the document with the date that it states in a field of its own, else in its text.
fn dated(format: Format, document: Document) -> Document {
    let is_text = !matches!(format, Format::Json | Format::Xml);
    let published = document.published.clone().or_else(|| is_text.then(|| stated(&document)).flatten());
    Document { published, ..document }
}

/// Returns the date that a document states in its title, its headings or its text.
fn stated(document: &Document) -> Option<String> {
    let sections = document.sections.iter().take(MOST_SECTIONS);
    // What has no path is the number of a page.
    let labelled = sections.clone().filter(|section| !section.path.is_empty());
    let is_log = date::are_entries(labelled.filter_map(|section| section.label.as_deref()));
    let texts: Vec<Cow<'_, str>> = sections
        .flat_map(|section| {
            let label = section.label.as_deref().filter(|_| !section.path.is_empty() && !is_log);
            let text =
                if document.has_records { beside_rows(&section.text).into() } else { section.text.as_str().into() };
            label.map(Cow::Borrowed).into_iter().chain([text])
        })
        .collect();
    date::stated(document.title.as_deref().into_iter().chain(texts.iter().map(|text| &**text)).flat_map(str::lines))
}

/// Returns what a sheet says of itself: the lines above its first row, and notes of several sentences that fill a row.
/// Without a table, all its lines are rows.
fn beside_rows(text: &str) -> String {
    let is_row = |line: &&str| line.starts_with('|');
    if !text.lines().any(|line| is_row(&line)) {
        return String::new();
    }
    let above = text.lines().take_while(|line| !is_row(line)).take(MOST_NOTES);
    let note = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).take(3).collect();
        cells.last().filter(|cell| cells.len() < 3 && cell.contains(". ")).map(|cell| (*cell).to_owned())
    };
    let notes = text.lines().filter(is_row).take(MOST_NOTES).filter_map(note);
    above.map(str::to_owned).chain(notes).collect::<Vec<_>>().join("\n")
}

fn read_as(format: Format, bytes: &[u8]) -> Result<Document, Unreadable> {
    let document = match format {
        Format::Text => text::read(&text::decode(bytes)?),
        Format::Markdown => markdown::read(&text::decode(bytes)?),
        Format::Html => html::read(&html::decode(bytes)?)?,
        Format::WebPage => html::read_web_page(&html::decode(bytes)?)?,
        Format::Pdf => pdf::read(bytes)?,
        Format::Package => office::read(bytes)?,
        Format::Csv => delimited::read(bytes, None)?,
        Format::Tsv => delimited::read(bytes, Some(b'\t'))?,
        Format::Json => json::read(bytes)?,
        Format::Xml => xml_document::read(bytes)?,
        Format::Rst => rst::read(&text::decode(bytes)?),
    };
    // Once sections are joined, headings are lines of their texts.
    let document = dated(format, document);
    Ok(match format {
        Format::Pdf => document,
        _ => Document { sections: passages::joined(document.sections), ..document },
    })
}

/// Converts HTML, or a piece of it, to plain text. Blocking, and bounded by nothing but the process it runs in.
///
/// # Errors
/// [`Unreadable`] when its elements are nested beyond reason.
pub fn plain(html: &str) -> Result<String, Unreadable> {
    html::plain(html)
}

/// Returns the document up to [`MAX_TEXT_BYTES`], titles and headings cut to size.
fn bounded(mut document: Document) -> Document {
    document.title = document.title.map(|title| cut(&title, MAX_HEADING_CHARS).to_owned());
    document.author = document.author.map(|author| cut(&author, MAX_HEADING_CHARS).to_owned());
    let mut room = MAX_TEXT_BYTES;
    let fits = |section: &Section| {
        let bytes = section.text.len() + section.path.len() + section.label.as_deref().map_or(0, str::len);
        room = room.checked_sub(bytes)?;
        Some(())
    };
    let kept = document.sections.iter().map_while(fits).count();
    if kept < document.sections.len() {
        if let Some(section) = document.sections.get_mut(kept) {
            section.text.truncate(section.text.floor_char_boundary(MAX_TEXT_BYTES / 2));
        }
        document.sections.truncate(kept.max(1));
        document.missing.get_or_insert_with(|| "only its first part is searched".to_owned());
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    /// The page for people offers them in the dialog that chooses files.
    #[test]
    fn every_ending_can_be_chosen_on_the_page() {
        let page = include_str!("../../../web/documents.js");
        let (_, kinds) = page.split_once("const KINDS = \"").unwrap();
        let (kinds, _) = kinds.split_once('"').unwrap();
        let endings: Vec<String> = ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
        assert_eq!(kinds.split(',').collect::<Vec<_>>(), endings);
    }

    #[test]
    fn dates_of_records_and_of_entries_are_not_the_document_s() {
        let check = |format: Format, text: &str, expected: Option<&str>| {
            assert_eq!(read(format, text.into()).unwrap().published.as_deref(), expected, "{text}");
        };
        check(Format::Csv, "status,since\napproved,2019-05-03\nopen,2030-01-01\n", None);
        check(Format::Tsv, "signed\t3 May 1950\nborn\t4 May 1951\n", None);
        check(
            Format::Csv,
            "a,b,c\n1,2,3\nNote,,Without tax. Approved by Ada Lund on 3 May 2031.\n",
            Some("2031-05-03"),
        );
        check(Format::Csv, "day\n2019-05-03\n", None);
        check(Format::Csv, "Last updated: 3 May 2031\n\nstatus,since\napproved,2019-05-03\n", Some("2031-05-03"));
        check(Format::Markdown, "# Log\n\n## 2019-05-03\n\nChecked.\n\n## 2031-02-01\n\nReplaced.\n", None);
        check(Format::Markdown, "# Log\n\n## 2019-05-03\n\nChecked.\n", Some("2019-05-03"));
        check(
            Format::Markdown,
            "# 3 May 2031\n\n## Version 1, 2019-05-03\n\na\n\n## Version 2, 2020-05-03\n\nb",
            Some("2031-05-03"),
        );
        let history = "<h1>History</h1><h2>3 May 1950</h2><p>It was built.</p><h2>5 June 2031</h2><p>It sank.</p>";
        check(Format::Html, history, None);
    }

    /// A hostile document takes a parser no longer than an innocent one of its length.
    #[test]
    fn text_is_read_in_time_that_grows_with_its_length() {
        let shapes = [
            (Format::Rst, ".. a::\n"),
            (Format::Rst, ".. a::\n   .. b::\n"),
            (Format::Rst, "* a\n"),
            (Format::Rst, "a\n=\n"),
            (Format::Rst, "a\n===\nb\n"),
            (Format::Rst, "a::\n"),
            (Format::Rst, ":a: b\n"),
            (Format::Rst, "a:b"),
            (Format::Rst, "`` ` * ** \\"),
            (Format::Rst, "== ==\n\na\n=== ==\n"),
            (Format::Rst, "== ==\na\n"),
            (Format::Rst, "+-+\n\n"),
            (Format::Rst, "+-+\n|a|\n"),
            (Format::Markdown, "* a\n"),
            (Format::Markdown, "a\n---\nb\n"),
            (Format::Markdown, "[a](b) ![ ** _ \n"),
            (Format::Markdown, "| a | b |\n"),
            (Format::Markdown, "`` a"),
            (Format::Markdown, "` `` a ```\n"),
            (Format::Markdown, "```\n**a\n"),
            (Format::Text, "a: b\n"),
            (Format::Text, "a \u{e4}\n\n\n"),
            (Format::Csv, "a,\"b\",c\n"),
            (Format::Csv, "a,"),
            (Format::Json, "{\"a\": [1, 2]}\n"),
        ];
        for (format, shape) in shapes {
            growth::check(shape, 8_000, |text| drop(read_as(format, text.as_bytes())));
        }
    }
}
