//! PDF fonts whose codes are Unicode already. The parser knows no such encoding by its name, so it gets them described
//! in its own terms.

use pdf_extract::{Dictionary, Document as Pdf, Object, ObjectId, Stream};

/// Each code is the character of that number.
const TO_UNICODE: &[u8] = b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n\
    1 beginbfrange <0000> <FFFF> <0000> endbfrange";
/// Codes of ASCII, which are half as wide as the rest. The font itself gives the widths by other numbers.
const NARROW: [i64; 3] = [0x20, 0x7e, 500];

/// Describes the encodings of such fonts.
pub(super) fn describe(pdf: &mut Pdf) {
    let fonts = pdf.objects.iter().filter(|(_, font)| is_unicode(font)).map(|(id, _)| *id).collect::<Vec<_>>();
    if fonts.is_empty() {
        return;
    }
    let map = pdf.add_object(Stream::new(Dictionary::new(), TO_UNICODE.to_vec()));
    let mut descendants = Vec::new();
    for id in fonts {
        let Some(Object::Dictionary(font)) = pdf.objects.get_mut(&id) else { continue };
        font.set("Encoding", Object::Name(b"Identity-H".to_vec()));
        font.set("ToUnicode", map);
        match font.get_mut(b"DescendantFonts") {
            Ok(Object::Array(fonts)) => narrow(fonts, &mut descendants),
            Ok(Object::Reference(id)) => descendants.push(*id),
            _ => {}
        }
    }
    // The list may be an object of its own, and so may each font in it.
    for _ in 0..2 {
        for id in std::mem::take(&mut descendants) {
            match pdf.objects.get_mut(&id) {
                Some(Object::Array(fonts)) => narrow(fonts, &mut descendants),
                Some(Object::Dictionary(font)) => set_widths(font),
                _ => {}
            }
        }
    }
}

/// Returns whether it is a font in an encoding such as `UniJIS-UCS2-H`.
fn is_unicode(font: &Object) -> bool {
    let encoding = font.as_dict().and_then(|font| font.get(b"Encoding")).and_then(Object::as_name);
    let name = encoding.ok().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
    name.starts_with("Uni") && (name.contains("-UCS2-") || name.contains("-UTF16-"))
}

/// Sets the widths of fonts; `elsewhere` are the ids of those that are objects of their own.
fn narrow(fonts: &mut [Object], elsewhere: &mut Vec<ObjectId>) {
    for font in fonts {
        match font {
            Object::Dictionary(font) => set_widths(font),
            Object::Reference(id) => elsewhere.push(*id),
            _ => {}
        }
    }
}

fn set_widths(font: &mut Dictionary) {
    font.set("W", NARROW.map(Object::Integer).to_vec());
}
