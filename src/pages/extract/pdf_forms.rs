//! What the pages of a PDF draw beside their own text: forms, which may draw further ones, and images. Pages share what
//! they draw, so each answer is remembered, and the work is in proportion to the document.

use std::{collections::HashMap, ptr};

use pdf_extract::{Dictionary, Document as Pdf, Object, ObjectId, Stream};

use super::pdf_objects::resolve;

/// Levels of forms within forms; the parser follows them without a bound of its own.
pub(super) const MAX_NESTING: usize = 32;

/// Forms that a page may draw in all, each as often as it is named, for the parser draws it as often.
const MAX_FORMS: usize = 2_000;

/// What resources name, by where it stands in the document.
type Objects = *const Dictionary;

/// The forms of a document, and what is known of them.
pub(super) struct Forms<'a> {
    pdf: &'a Pdf,
    sizes: HashMap<Objects, Option<Size>>,
    pictures: HashMap<Objects, bool>,
    /// Whether a form draws others.
    drawing: HashMap<ObjectId, bool>,
}

/// How many forms are drawn, and how deeply they stand within each other.
#[derive(Clone, Copy, Default)]
struct Size {
    levels: usize,
    forms: usize,
}

impl<'a> Forms<'a> {
    pub fn new(pdf: &'a Pdf) -> Self {
        Self { pdf, sizes: HashMap::new(), pictures: HashMap::new(), drawing: HashMap::new() }
    }

    /// Returns whether the forms that these resources name come to an end, and soon.
    pub fn end(&mut self, resources: &'a Dictionary) -> bool {
        self.size(resources, 0).is_some()
    }

    /// Returns the size of the forms that draw others; none if they go in circles, or there are too many.
    fn size(&mut self, resources: &'a Dictionary, depth: usize) -> Option<Size> {
        let Some(objects) = objects(self.pdf, resources) else { return Some(Size::default()) };
        if let Some(known) = self.sizes.get(&ptr::from_ref(objects)) {
            return *known;
        }
        // Until it is known: what leads back to here goes in a circle.
        self.sizes.insert(objects, None);
        let (pdf, mut size) = (self.pdf, Size::default());
        for (id, form) in objects.iter().filter_map(|(_, object)| stream(pdf, object)) {
            if !*self.drawing.entry(id).or_insert_with(|| draws_others(form)) {
                continue;
            }
            let within = own_resources(pdf, &form.dict).unwrap_or(resources);
            let inner = if depth < MAX_NESTING { self.size(within, depth + 1)? } else { return None };
            size = Size { levels: size.levels.max(inner.levels + 1), forms: size.forms + inner.forms + 1 };
            if size.levels > MAX_NESTING || size.forms > MAX_FORMS {
                return None;
            }
        }
        self.sizes.insert(objects, Some(size));
        Some(size)
    }

    /// Returns whether these resources name an image, by themselves or in a form.
    pub fn have_image(&mut self, resources: &'a Dictionary) -> bool {
        self.have_image_below(resources, 0)
    }

    fn have_image_below(&mut self, resources: &'a Dictionary, depth: usize) -> bool {
        let Some(objects) = objects(self.pdf, resources) else { return false };
        if let Some(known) = self.pictures.get(&ptr::from_ref(objects)) {
            return *known;
        }
        // Until it is known: a circle shows nothing new.
        self.pictures.insert(objects, false);
        let pdf = self.pdf;
        let mut streams = objects.iter().filter_map(|(_, object)| stream(pdf, object));
        let has_image = streams.any(|(_, object)| match object.dict.get(b"Subtype").and_then(Object::as_name) {
            Ok(b"Image") => true,
            _ => own_resources(pdf, &object.dict)
                .is_some_and(|own| depth < MAX_NESTING && self.have_image_below(own, depth + 1)),
        });
        self.pictures.insert(objects, has_image);
        has_image
    }
}

pub(super) fn own_resources<'a>(pdf: &'a Pdf, dictionary: &'a Dictionary) -> Option<&'a Dictionary> {
    resolve(pdf, dictionary.get(b"Resources").ok()?)?.as_dict().ok()
}

/// Returns the objects that resources name for content to draw.
fn objects<'a>(pdf: &'a Pdf, resources: &'a Dictionary) -> Option<&'a Dictionary> {
    resolve(pdf, resources.get(b"XObject").ok()?)?.as_dict().ok()
}

/// Returns a stream, which always has a number of its own.
fn stream<'a>(pdf: &'a Pdf, object: &'a Object) -> Option<(ObjectId, &'a Stream)> {
    let (id, object) = pdf.dereference(object).ok()?;
    Some((id?, object.as_stream().ok()?))
}

/// Returns whether it is a form (an image is none) whose content uses the operator `Do`.
fn draws_others(stream: &Stream) -> bool {
    let is_form = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form");
    let draws = |content: &[u8]| memchr::memmem::find(content, b"Do").is_some();
    is_form && stream.decompressed_content().map_or_else(|_| draws(&stream.content), |content| draws(&content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    /// Creates forms, each of which names others by their places in the list, and returns their resources. What is no
    /// place is an image.
    fn document(forms: &[Vec<usize>]) -> (Pdf, Vec<ObjectId>) {
        let mut pdf = Pdf::new();
        let form = |resources: ObjectId, kind: &[u8]| {
            let named = [("Subtype", Object::Name(kind.to_vec())), ("Resources", Object::Reference(resources))];
            Object::Stream(Stream::new(named.into_iter().collect::<Dictionary>(), b"/X Do".to_vec()))
        };
        let resources: Vec<ObjectId> = forms.iter().map(|_| pdf.new_object_id()).collect();
        let ids: Vec<ObjectId> = resources.iter().map(|own| pdf.add_object(form(*own, b"Form"))).collect();
        let image = pdf.add_object(form((1, 0), b"Image"));
        for (own, names) in resources.iter().zip(forms) {
            let id = |at: &usize| Object::Reference(ids.get(*at).copied().unwrap_or(image));
            let objects = names.iter().enumerate().map(|(name, at)| (format!("X{name}"), id(at)));
            let objects = Object::Dictionary(objects.collect::<Dictionary>());
            pdf.set_object(*own, [("XObject", objects)].into_iter().collect::<Dictionary>());
        }
        (pdf, resources)
    }

    fn check(forms: &[Vec<usize>], ends: bool, has_image: bool) {
        let (pdf, resources) = document(forms);
        let first = pdf.get_dictionary(resources[0]).unwrap();
        assert_eq!((Forms::new(&pdf).end(first), Forms::new(&pdf).have_image(first)), (ends, has_image), "{forms:?}");
    }

    #[test]
    fn circles_and_crowds_are_found_and_images_within_forms() {
        check(&[vec![1, 1], vec![]], true, false);
        check(&[vec![1, 2], vec![], vec![9]], true, true);
        check(&[vec![0]], false, false);
        check(&[vec![1], vec![2], vec![1, 9]], false, true);
        let chain = |length: usize| (0..=length).map(|at| vec![at + 1]).collect::<Vec<_>>();
        check(&chain(MAX_NESTING - 1), true, true);
        check(&chain(MAX_NESTING + 2), false, false);
        let crowd = |each: usize| vec![vec![1; each], vec![2; each], vec![3; each], vec![]];
        check(&crowd(10), true, false);
        check(&crowd(13), false, false);
    }

    #[test]
    fn what_pages_share_is_looked_through_once() {
        growth::check("x", 100, |text| {
            let count = text.len();
            let next = |at: usize| (at + 1..count.min(at + 20)).collect::<Vec<_>>();
            let crowded: Vec<_> = (0..count).map(next).collect();
            let shared: Vec<_> = (0..count).map(|at| if at == 0 { (1..count).collect() } else { Vec::new() }).collect();
            for (forms, is_shared) in [(crowded, false), (shared, true)] {
                let (pdf, resources) = document(&forms);
                let mut forms = Forms::new(&pdf);
                for own in &resources {
                    let own = pdf.get_dictionary(if is_shared { resources[0] } else { *own }).unwrap();
                    assert_eq!((forms.end(own) || !is_shared, forms.have_image(own)), (true, false));
                }
            }
        });
    }
}
