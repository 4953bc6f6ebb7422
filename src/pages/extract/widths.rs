//! Widths of a PDF's glyphs, in the one form that the parser reads.
//!
//! A font says `19 [636 636]` or, for a range with one width, `19 20 636`. The parser takes nothing from the latter, so
//! such glyphs have no width, and what stands behind them seems to stand apart: browsers write figures so.

use pdf_extract::{Document as Pdf, Object, ObjectId};

/// Glyphs of a font; there are no more.
const MOST_GLYPHS: usize = 65_536;
/// Levels of arrays and dictionaries in which a font may stand.
const MAX_DEPTH: usize = 4;

/// Writes all ranges out.
pub(super) fn write_out(pdf: &mut Pdf) {
    let mut elsewhere = Vec::new();
    for object in pdf.objects.values_mut() {
        in_fonts(object, 0, &mut elsewhere);
    }
    for id in elsewhere {
        if let Some(Object::Array(widths)) = pdf.objects.get_mut(&id) {
            *widths = written_out(std::mem::take(widths));
        }
    }
}

/// Writes out the widths of the fonts in an object; `elsewhere` are the ids of those that are objects of their own.
fn in_fonts(object: &mut Object, depth: usize, elsewhere: &mut Vec<ObjectId>) {
    if depth > MAX_DEPTH {
        return;
    }
    match object {
        Object::Array(items) => items.iter_mut().for_each(|item| in_fonts(item, depth + 1, elsewhere)),
        Object::Dictionary(dictionary) => {
            let kind = dictionary.get(b"Subtype").and_then(Object::as_name);
            let is_font = kind.is_ok_and(|kind| kind.starts_with(b"CIDFont"));
            match dictionary.get_mut(b"W") {
                Ok(Object::Array(widths)) if is_font => *widths = written_out(std::mem::take(widths)),
                Ok(Object::Reference(id)) if is_font => elsewhere.push(*id),
                _ => {}
            }
            if let Ok(inner) = dictionary.get_mut(b"DescendantFonts") {
                in_fonts(inner, depth + 1, elsewhere);
            }
        }
        _ => {}
    }
}

fn written_out(widths: Vec<Object>) -> Vec<Object> {
    let (mut written, mut room) = (Vec::new(), MOST_GLYPHS);
    let mut rest = widths.into_iter();
    while let (Some(first), Some(next)) = (rest.next(), rest.next()) {
        if matches!(next, Object::Array(_)) {
            written.extend([first, next]);
            continue;
        }
        let range =
            first.as_i64().ok().zip(next.as_i64().ok()).and_then(|(from, to)| to.checked_sub(from)?.checked_add(1));
        let count = range.and_then(|count| usize::try_from(count).ok()).unwrap_or(0).min(room);
        let Some(width) = rest.next() else { break };
        room -= count;
        written.extend([first, Object::Array(vec![width; count])]);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_lists() {
        let check = |widths: Vec<Object>, expected: Vec<Object>| assert_eq!(written_out(widths), expected);
        let list = |width: f32, count: usize| Object::Array(vec![Object::Real(width); count]);
        check(
            vec![
                3.into(),
                5.into(),
                Object::Real(317.5),
                9.into(),
                list(1.0, 2),
                19.into(),
                19.into(),
                Object::Real(6.0),
            ],
            vec![3.into(), list(317.5, 3), 9.into(), list(1.0, 2), 19.into(), list(6.0, 1)],
        );
        check(vec![5.into(), 3.into(), Object::Real(1.0)], vec![5.into(), list(1.0, 0)]);
        check(vec![0.into(), 10_000_000.into(), Object::Real(1.0)], vec![0.into(), list(1.0, MOST_GLYPHS)]);
        check(vec![3.into(), 4.into()], Vec::new());
        check(vec![3.into()], Vec::new());
    }
}
