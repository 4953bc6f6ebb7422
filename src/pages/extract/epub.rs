//! Books (EPUB): the chapters in the order of their spine, each read as the HTML that it is.

use std::collections::HashMap;

use super::{
    Document, Unreadable, html, markdown, markdown_marks,
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
    let names = contents(package, &tree.root, &folder)?;
    let mut outline = Outline::new(properties.title.as_deref(), markdown_marks::plain);
    let (mut read, mut unread, mut refused) = (0_usize, 0_usize, None);
    for chapter in chapters(&tree.root, &folder) {
        if locked.contains(&chapter) {
            return Err(package::encrypted());
        }
        let text = match chapter_text(package, &chapter) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                unread += 1;
                refused.get_or_insert(error);
                continue;
            }
        };
        read += 1;
        // What no heading and no table of contents names goes on with the chapter before it.
        if let Some(name) = names.get(&chapter).filter(|_| !markdown::begins_with_heading(&text)) {
            outline.part(1, name);
        }
        markdown::add(&text, &mut outline);
    }
    if let Some(error) = refused.filter(|_| read == 0) {
        return Err(error);
    }
    let missing = (unread > 0).then(|| format!("could not read {unread} of its chapters"));
    Ok(properties.of_document(Document { missing, ..outline.finish() }))
}

/// Returns the Markdown of a chapter, if there is one of that name.
fn chapter_text(package: &mut Package<'_>, chapter: &str) -> Result<Option<String>, Unreadable> {
    let Some(bytes) = package.optional(chapter)? else { return Ok(None) };
    html::whole(&xml::decode(&bytes)?).map(Some)
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

/// Returns the names that the book's table of contents gives its chapters. Books that have both kinds of it say the
/// same in both; the older kind holds nothing else.
fn contents(package: &mut Package<'_>, root: &Element, folder: &str) -> Result<HashMap<String, String>, Unreadable> {
    let items = || root.child("manifest").into_iter().flat_map(Element::elements);
    let is_old = |item: &&Element| item.attribute("media-type") == Some("application/x-dtbncx+xml");
    let is_new =
        |item: &&Element| item.attribute("properties").is_some_and(|all| all.split(' ').any(|one| one == "nav"));
    let target = items().find(is_old).or_else(|| items().find(is_new)).and_then(|item| item.attribute("href"));
    let mut names = HashMap::new();
    let Some(part) = target.map(|target| resolve(folder, &decoded(target))) else { return Ok(names) };
    let Some(bytes) = package.optional(&part)? else { return Ok(names) };
    // A book whose table of contents is damaged is read without it.
    if let Ok(tree) = xml::decode(&bytes).and_then(|source| xml::parse(&source)) {
        let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
        name_chapters(&tree.root, folder, &mut names);
    }
    Ok(names)
}

/// Adds the names of the chapters that a part of a table of contents leads to; the first name of each counts.
fn name_chapters(parent: &Element, folder: &str, names: &mut HashMap<String, String>) {
    for element in parent.elements() {
        let (target, name) = match &*element.name {
            "navPoint" => (element.child("content").and_then(|it| it.attribute("src")), element.child("navLabel")),
            "a" => (element.attribute("href"), Some(element)),
            _ => (None, None),
        };
        if let (Some(target), Some(name)) = (target, name.and_then(Element::line)) {
            names.entry(resolve(folder, &decoded(target))).or_insert(name);
        }
        name_chapters(element, folder, names);
    }
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

#[cfg(test)]
mod tests {
    use super::{super::Format, *};

    #[test]
    fn a_chapter_without_a_heading_is_named_by_the_table_of_contents() {
        let container = "<container><rootfiles><rootfile full-path='b/book.opf'/></rootfiles></container>";
        let item = |id: &str| format!("<item id='{id}' href='{id}.xhtml'/>");
        let spine = |id: &str| format!("<itemref idref='{id}'/>");
        let ids = ["one", "two%20b", "three"];
        let read = |contents: &str, target: &str| {
            let book = format!(
                "<package><metadata><title>Tides</title></metadata><manifest>{}{contents}</manifest><spine>{}</spine></package>",
                ids.map(item).concat(),
                ids.map(spine).concat()
            );
            let long = "<p>The gate opens at noon, and it closes at night.</p>".repeat(40);
            let chapter = |start: &str| format!("<html><body>{start}{long}</body></html>");
            let (one, two, three) = (chapter("<h1>First</h1>"), chapter(""), chapter(""));
            let ncx = "<ncx><navMap><navPoint><navLabel><text>Beginning</text></navLabel><content src='one.xhtml'/><navPoint>\
                <navLabel><text>Part X</text></navLabel><content src='two%20b.xhtml#a'/></navPoint></navPoint></navMap></ncx>";
            let nav = "<html><body><nav><ol><li><a href='../two%20b.xhtml'>Part X</a></li></ol></nav></body></html>";
            let parts = [
                ("mimetype", "application/epub+zip"),
                ("META-INF/container.xml", container),
                ("b/book.opf", &book),
                ("b/one.xhtml", &one),
                ("b/two b.xhtml", &two),
                ("b/three.xhtml", &three),
                (target, if target.ends_with("ncx") { ncx } else { nav }),
            ];
            let document = super::super::read(Format::Package, package::zipped(&parts)).unwrap();
            document.sections.into_iter().map(|section| section.label.unwrap_or_default()).collect::<Vec<_>>()
        };
        let old = "<item id='ncx' media-type='application/x-dtbncx+xml' href='toc.ncx'/>";
        assert_eq!(read(old, "b/toc.ncx"), ["First", "Part X"]);
        let new = "<item id='nav' properties='nav' href='n/nav.xhtml'/>";
        assert_eq!(read(new, "b/n/nav.xhtml"), ["First", "Part X"]);
        assert_eq!(read("", "none"), ["First"]);
    }

    #[test]
    fn a_chapter_that_cannot_be_read_leaves_the_others() {
        let read = |ids: &[&str]| {
            let items: String = ids.iter().map(|id| format!("<item id='{id}' href='{id}.xhtml'/>")).collect();
            let spine: String = ids.iter().map(|id| format!("<itemref idref='{id}'/>")).collect();
            let book = format!("<package><manifest>{items}</manifest><spine>{spine}</spine></package>");
            let deep = format!("<html><body>{}x</body></html>", "<div>".repeat(5_000));
            let parts = [
                ("mimetype", "application/epub+zip"),
                (
                    "META-INF/container.xml",
                    "<container><rootfiles><rootfile full-path='book.opf'/></rootfiles></container>",
                ),
                ("book.opf", &book),
                ("one.xhtml", &deep),
                ("two.xhtml", "<html><body><h1>Second</h1><p>The gate opens at noon.</p></body></html>"),
            ];
            super::super::read(Format::Package, package::zipped(&parts))
        };
        let document = read(&["one", "two"]).unwrap();
        assert_eq!(document.missing.as_deref(), Some("could not read 1 of its chapters"));
        assert!(document.sections.iter().any(|section| section.text.contains("The gate opens at noon.")));
        assert_eq!(read(&["one"]), Err(Unreadable::new("its HTML is nested too deeply")));
    }
}
