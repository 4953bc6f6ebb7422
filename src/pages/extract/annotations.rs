//! What was written into a PDF page afterwards: values of the fields of its form, and text typed onto it.

use std::collections::HashMap;

use pdf_extract::{Dictionary, Document as Pdf, Object, ObjectId};

use super::{
    pdf_objects::{decoded, resolve},
    text,
};

/// Annotations of a page; further ones are not read.
const MAX_ANNOTATIONS: usize = 1_000;
/// Options of a field to choose from; what is chosen of further ones is named as programs name it.
const MAX_OPTIONS: usize = 300;
/// The longest value of a field, in characters.
const MAX_VALUE_CHARS: usize = 10_000;
/// Levels of fields within fields.
const MAX_NESTING: usize = 32;

/// Flags of annotations and fields (ISO 32000-1, tables 165, 226 and 228).
const HIDDEN: i64 = 1 << 1;
const PASSWORD: i64 = 1 << 13;

/// Returns a line for each field with a value and each typed text, in the order of the page.
pub(super) fn of_page(pdf: &Pdf, page: ObjectId) -> String {
    let annotations = pdf.get_dictionary(page).and_then(|page| page.get(b"Annots")).ok();
    let annotations = annotations.and_then(|annotations| resolve(pdf, annotations)?.as_array().ok());
    let annotations = annotations.into_iter().flatten().take(MAX_ANNOTATIONS);
    let lines = annotations.filter_map(|annotation| line(pdf, resolve(pdf, annotation)?.as_dict().ok()?));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(pdf: &Pdf, annotation: &Dictionary) -> Option<String> {
    let field = Field { pdf, widget: annotation };
    if field.flags(b"F") & HIDDEN != 0 {
        return None;
    }
    match annotation.get(b"Subtype").and_then(Object::as_name).ok()? {
        b"FreeText" => value(pdf, annotation.get(b"Contents").ok()?),
        b"Widget" => {
            let value = field.value()?;
            Some(field.name().map_or_else(|| value.clone(), |name| format!("{name}: {value}")))
        }
        _ => None,
    }
}

/// A field of a form as a page shows it. What it does not say itself, the fields around it say.
struct Field<'a> {
    pdf: &'a Pdf,
    widget: &'a Dictionary,
}

impl<'a> Field<'a> {
    fn get(&self, key: &[u8]) -> Option<&'a Object> {
        let parent = |field: &&'a Dictionary| resolve(self.pdf, field.get(b"Parent").ok()?)?.as_dict().ok();
        let mut fields = std::iter::successors(Some(self.widget), parent).take(MAX_NESTING);
        fields.find_map(|field| field.get(key).ok()).and_then(|object| resolve(self.pdf, object))
    }

    fn flags(&self, key: &[u8]) -> i64 {
        self.get(key).and_then(|flags| flags.as_i64().ok()).unwrap_or(0)
    }

    /// Returns what people read beside it, or else what programs call it.
    fn name(&self) -> Option<String> {
        [b"TU".as_slice(), b"T"].iter().find_map(|key| value(self.pdf, self.get(key)?))
    }

    /// Returns what was entered or chosen; of a button, what it stands for when it is on.
    fn value(&self) -> Option<String> {
        match self.get(b"FT")?.as_name().ok()? {
            b"Btn" => {
                let state = self.widget.get(b"AS").and_then(Object::as_name).ok()?;
                let option = || self.options()?.get(std::str::from_utf8(state).ok()?.parse::<usize>().ok()?);
                let option = || value(self.pdf, option()?);
                (state != b"Off").then(|| option().or_else(|| decoded(state)))?
            }
            b"Ch" => self.chosen(),
            _ if self.flags(b"Ff") & PASSWORD != 0 => None,
            _ => value(self.pdf, self.get(b"V")?),
        }
    }

    fn options(&self) -> Option<&'a Vec<Object>> {
        self.get(b"Opt")?.as_array().ok()
    }

    /// Returns what people read of that which was chosen. An option is that alone, or stands behind what programs call
    /// it.
    fn chosen(&self) -> Option<String> {
        let shown = |option| match resolve(self.pdf, option)?.as_array().ok()?.as_slice() {
            [name, shown] => Some((resolve(self.pdf, name)?.as_str().ok()?, shown)),
            _ => None,
        };
        let options = self.options().into_iter().flatten().take(MAX_OPTIONS);
        let options: HashMap<&[u8], &Object> = options.filter_map(shown).collect();
        let name = |object: &'a Object| {
            let name = resolve(self.pdf, object)?.as_str().ok()?;
            value(self.pdf, options.get(name).copied().unwrap_or(object))
        };
        match self.get(b"V")? {
            Object::Array(chosen) => {
                let names: Vec<String> = chosen.iter().take(MAX_ANNOTATIONS).filter_map(name).collect();
                Some(text::cut(&names.join(", "), MAX_VALUE_CHARS).to_owned()).filter(|names| !names.is_empty())
            }
            object => name(object),
        }
    }
}

/// Returns a text on one line.
fn value(pdf: &Pdf, object: &Object) -> Option<String> {
    let value = decoded(resolve(pdf, object)?.as_str().ok()?)?;
    Some(text::cut(&value, MAX_VALUE_CHARS).to_owned()).filter(|value| !value.is_empty())
}
