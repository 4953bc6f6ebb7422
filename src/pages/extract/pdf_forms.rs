//! What the pages of a PDF draw beside their own text: forms, which may draw further ones, and images. Pages share what
//! they draw, so each answer is remembered, and the work is in proportion to the document.

use std::{collections::HashMap, ptr, rc::Rc};

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
    /// By what the form may draw, too: without resources of its own it takes those of what draws it.
    sizes: HashMap<(ObjectId, Objects), Option<Size>>,
    pictures: HashMap<Objects, bool>,
    /// The names that a form draws.
    drawn: HashMap<ObjectId, Rc<[Vec<u8>]>>,
}

/// How many forms are drawn, and how deeply they stand within each other.
#[derive(Clone, Copy, Default)]
struct Size {
    levels: usize,
    forms: usize,
}

impl<'a> Forms<'a> {
    pub fn new(pdf: &'a Pdf) -> Self {
        Self { pdf, sizes: HashMap::new(), pictures: HashMap::new(), drawn: HashMap::new() }
    }

    /// Returns whether the forms that this content draws come to an end, and soon.
    pub fn end(&mut self, content: &[u8], resources: &'a Dictionary) -> bool {
        self.size(&names_drawn(content), resources, 0).is_some()
    }

    /// Returns the size of the forms of these names that draw others; none if they go in circles, or are too many.
    fn size(&mut self, names: &[Vec<u8>], resources: &'a Dictionary, depth: usize) -> Option<Size> {
        let (pdf, mut size) = (self.pdf, Size::default());
        let Some(objects) = objects(pdf, resources) else { return Some(size) };
        for (id, form) in names.iter().filter_map(|name| stream(pdf, objects.get(name).ok()?)) {
            let drawn = self.drawn.entry(id).or_insert_with(|| drawn_by(form).into());
            if drawn.is_empty() {
                continue;
            }
            let inner =
                if depth < MAX_NESTING { self.size_of_form(id, form, resources, depth + 1)? } else { return None };
            size = Size { levels: size.levels.max(inner.levels + 1), forms: size.forms + inner.forms + 1 };
            if size.levels > MAX_NESTING || size.forms > MAX_FORMS {
                return None;
            }
        }
        Some(size)
    }

    fn size_of_form(&mut self, id: ObjectId, form: &'a Stream, around: &'a Dictionary, depth: usize) -> Option<Size> {
        let within = own_resources(self.pdf, &form.dict).unwrap_or(around);
        let Some(objects) = objects(self.pdf, within) else { return Some(Size::default()) };
        let key = (id, ptr::from_ref(objects));
        if let Some(known) = self.sizes.get(&key) {
            return *known;
        }
        // Until it is known: what leads back to here goes in a circle.
        self.sizes.insert(key, None);
        let names = Rc::clone(self.drawn.get(&id)?);
        let size = self.size(&names, within, depth)?;
        self.sizes.insert(key, Some(size));
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

/// Returns the names that a form draws, and nothing of an image.
fn drawn_by(stream: &Stream) -> Vec<Vec<u8>> {
    let is_form = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form");
    match stream.decompressed_content() {
        _ if !is_form => Vec::new(),
        Ok(content) => names_drawn(&content),
        Err(_) => names_drawn(&stream.content),
    }
}

/// Returns the names before the operator `Do`, each as often as it is drawn.
fn names_drawn(content: &[u8]) -> Vec<Vec<u8>> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let name_before = |at: usize| {
        let before = content[..at].trim_ascii_end();
        let slash = before.iter().rposition(|byte| *byte == b'/' || is_space(byte))?;
        let ends = before.len() < at && content.get(at + 2).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        (ends && before[slash] == b'/').then(|| unescaped(&before[slash + 1..]))
    };
    memchr::memmem::find_iter(content, b"Do").filter_map(name_before).collect()
}

/// Returns a name without its escapes, `#20` for a space.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'#') {
            Some(byte) => {
                plain.push(byte);
                rest = &behind[2..];
            }
            None => {
                plain.push(*first);
                rest = behind;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn content(names: &[usize]) -> Vec<u8> {
        (0..names.len()).map(|name| format!("q /X{name} Do Q ")).collect::<String>().into_bytes()
    }

    /// Creates forms, each of which names others by their places in the list, and returns their resources. What is no
    /// place is an image.
    fn document(forms: &[Vec<usize>]) -> (Pdf, Vec<ObjectId>) {
        let mut pdf = Pdf::new();
        let form = |resources: ObjectId, kind: &[u8], names: &[usize]| {
            let named = [("Subtype", Object::Name(kind.to_vec())), ("Resources", Object::Reference(resources))];
            Object::Stream(Stream::new(named.into_iter().collect::<Dictionary>(), content(names)))
        };
        let resources: Vec<ObjectId> = forms.iter().map(|_| pdf.new_object_id()).collect();
        let made = resources.iter().zip(forms).map(|(own, names)| form(*own, b"Form", names));
        let ids: Vec<ObjectId> = made.map(|form| pdf.add_object(form)).collect();
        let image = pdf.add_object(form((1, 0), b"Image", &[0]));
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
        let found = (Forms::new(&pdf).end(&content(&forms[0]), first), Forms::new(&pdf).have_image(first));
        assert_eq!(found, (ends, has_image), "{forms:?}");
    }

    /// What writes a document may leave one dictionary to all that it draws.
    #[test]
    fn forms_may_share_the_resources_of_their_page() {
        let check = |drawn: [&str; 2], ends: bool| {
            let mut pdf = Pdf::new();
            let stream = |kind: &[u8], content: &str| {
                let named = [("Subtype", Object::Name(kind.to_vec()))];
                Object::Stream(Stream::new(named.into_iter().collect::<Dictionary>(), content.as_bytes().to_vec()))
            };
            let [first, second] = drawn.map(|content| Object::Reference(pdf.add_object(stream(b"Form", content))));
            let image = Object::Reference(pdf.add_object(stream(b"Image", "/Tr1 Do")));
            let objects = [("Tr1", first), ("Tr2", second), ("Im 1", image)].into_iter().collect::<Dictionary>();
            let own = [("XObject", Object::Dictionary(objects))].into_iter().collect::<Dictionary>();
            assert_eq!(Forms::new(&pdf).end(b"q\n/Tr1 Do Q", &own), ends, "{drawn:?}");
        };
        check(["/Im#201 Do", "/Im#201\nDo (Document)Tj"], true);
        check(["/Tr2 Do", "/Im#201 Do"], true);
        check(["/Tr2 Do", "/Tr1 Do"], false);
        check(["/Tr1 Do", ""], false);
        check(["(/Tr1 Down)Tj /Tr1 DoNot", "/Tr1 Do"], true);
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
        let crowd = |each: usize| vec![vec![1; each], vec![2; each], vec![3; each], vec![9]];
        check(&crowd(10), true, true);
        check(&crowd(13), false, true);
    }

    #[test]
    fn what_pages_share_is_looked_through_once() {
        growth::check("x", 100, |text| {
            let count = text.len();
            let next = |at: usize| (at + 1..count.min(at + 20)).collect::<Vec<_>>();
            let crowded: Vec<_> = (0..count).map(next).collect();
            let shared: Vec<_> = (0..count).map(|at| if at == 0 { (1..count).collect() } else { Vec::new() }).collect();
            for (named, is_shared) in [(crowded, false), (shared, true)] {
                let (pdf, resources) = document(&named);
                let mut forms = Forms::new(&pdf);
                for (own, names) in resources.iter().zip(&named) {
                    let (own, names) = if is_shared { (&resources[0], &named[0][..1]) } else { (own, &names[..]) };
                    let own = pdf.get_dictionary(*own).unwrap();
                    assert_eq!((forms.end(&content(names), own) || !is_shared, forms.have_image(own)), (true, false));
                }
            }
        });
    }
}
