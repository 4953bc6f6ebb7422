//! Books (EPUB): the chapters in the order of their spine, each read as the HTML that it is.

use std::collections::HashMap;

use super::{
    Document, Unreadable, html, markdown,
    outline::Outline,
    package::{self, Package, Properties, resolve},
    xml::{self, Element},
};

const MAX_CHAPTERS: usize = 3_000;

/// Reads an EPUB book.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, or too much.
pub(super) fn read(package: &mut Package<'_>) -> Result<Document, Unreadable> {
    let container = package.required("META-INF/container.xml")?;
    let name =
        container.root.find("rootfile").and_then(|file| file.attribute("full-path")).ok_or_else(package::damaged)?;
    let name = resolve("", name);
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let tree = package.required(&name)?;
    let metadata = tree.root.child("metadata");
    let properties = metadata.map(|metadata| Properties::of(metadata, &["date"], &["creator"])).unwrap_or_default();
    let locked = locked(package)?;
    let mut outline = Outline::new(properties.title.as_deref(), markdown::plain);
    for chapter in chapters(&tree.root, &folder) {
        if locked.contains(&chapter) {
            return Err(package::encrypted());
        }
        let Some(bytes) = package.optional(&chapter)? else { continue };
        markdown::add(&html::whole(&xml::decode(&bytes)?)?, &mut outline);
    }
    Ok(properties.of_document(outline.finish()))
}

/// Returns the names of the chapters, in reading order.
fn chapters(root: &Element, folder: &str) -> Vec<String> {
    let items = root.child("manifest").into_iter().flat_map(Element::elements);
    let targets: HashMap<&str, &str> =
        items.filter_map(|item| Some((item.attribute("id")?, item.attribute("href")?))).collect();
    let spine = root.child("spine").into_iter().flat_map(Element::elements);
    let read = spine.filter(|item| item.attribute("linear") != Some("no"));
    let names = read.filter_map(|item| targets.get(item.attribute("idref")?));
    names.take(MAX_CHAPTERS).map(|target| resolve(folder, &decoded(target))).collect()
}

/// Decodes `%20` and its like to what they stand for.
fn decoded(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.split('#').next().unwrap_or_default().as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the parts that only the shop's own reader can read; fonts are not among those that are read.
fn locked(package: &mut Package<'_>) -> Result<Vec<String>, Unreadable> {
    let Some(tree) = package.xml("META-INF/encryption.xml")? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    tree.root.each("CipherReference", &mut |part| {
        names.extend(part.attribute("URI").map(|name| resolve("", &decoded(name))))
    });
    Ok(names)
}
