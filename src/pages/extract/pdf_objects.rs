//! What the objects of a PDF say: values behind references, and texts.

use pdf_extract::{Document as Pdf, Object};

use super::text;

/// Returns a text of the document's objects on one line, when it says something.
pub(super) fn decoded(bytes: &[u8]) -> Option<String> {
    let decoded = match bytes {
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] | [0xef, 0xbb, 0xbf, ..] => text::decode(bytes).ok()?,
        _ => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    };
    Some(text::one_line(&decoded)).filter(|value| value.chars().any(char::is_alphanumeric))
}

/// Returns an object, or the one that it refers to.
pub(super) fn resolve<'a>(pdf: &'a Pdf, object: &'a Object) -> Option<&'a Object> {
    pdf.dereference(object).ok().map(|(_, object)| object)
}
