//! XML: a bounded tree of its elements for the formats made of it, and generic XML to text.
//!
//! Entities that a document defines itself are never resolved, and nothing outside it is read.

use std::{borrow::Cow, fmt::Write as _};

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_html5_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{Document, Unreadable, date, html, outline::Outline, package, table, text};

/// Elements nested deeper than this are no document.
const MAX_DEPTH: usize = 256;
/// Elements and texts; what follows is not read.
const MAX_NODES: usize = 2_000_000;
/// Names of elements that hold a heading of the element around them.
const HEADINGS: [&str; 4] = ["title", "head", "heading", "headline"];
/// Names of elements whose text is a paragraph, not a value.
const PARAGRAPHS: [&str; 8] = ["p", "para", "simpara", "paragraph", "text", "body", "abstract", "description"];
/// Names of elements whose text stands raised, as in JATS and in DocBook.
const RAISED: [&str; 2] = ["sup", "superscript"];
/// Rows of a table are made of elements with at least so many alike.
const MIN_ROWS: usize = 2;
const MAX_COLUMNS: usize = 24;

/// An element without its namespace.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub name: Box<str>,
    /// Names as they are written, prefix included.
    attributes: Vec<(Box<str>, Box<str>)>,
    pub children: Vec<Node>,
}

#[derive(Debug)]
pub(super) enum Node {
    Element(Element),
    Text(Box<str>),
}

impl Element {
    /// Returns the value of the first attribute of that name, whatever its prefix.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let is_it = |key: &str| key.rsplit(':').next() == Some(name);
        self.attributes.iter().find(|(key, _)| is_it(key)).map(|(_, value)| &**value)
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(_, value)| &**value)
    }

    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    pub fn child(&self, name: &str) -> Option<&Self> {
        self.elements().find(|element| &*element.name == name)
    }

    /// Returns the element that a path of names leads to.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    /// Returns what a child says as Office Open XML does: `<start val="5"/>`.
    pub fn value(&self, child: &str) -> Option<&str> {
        self.child(child)?.attribute("val")
    }

    /// Returns whether a child switches something on there: it does by standing there, unless it says otherwise.
    pub fn has_switched_on(&self, child: &str) -> bool {
        self.child(child).is_some_and(|switch| !matches!(switch.attribute("val"), Some("0" | "false" | "off")))
    }

    /// Returns the first element of that name below this one.
    pub fn find(&self, name: &str) -> Option<&Self> {
        self.elements().find_map(|element| if &*element.name == name { Some(element) } else { element.find(name) })
    }

    /// Calls `visit` for all elements of that name below this one that are not within another of them.
    pub fn each<'a>(&'a self, name: &str, visit: &mut impl FnMut(&'a Self)) {
        for element in self.elements() {
            if &*element.name == name { visit(element) } else { element.each(name, visit) }
        }
    }

    /// Returns all text below, as it stands.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.say(&mut text);
        text
    }

    fn say(&self, text: &mut String) {
        for node in &self.children {
            match node {
                Node::Element(element) if RAISED.contains(&&*element.name) => {
                    text.push_str(&package::raised(&element.text()));
                }
                Node::Element(element) => element.say(text),
                Node::Text(piece) => text.push_str(piece),
            }
        }
    }

    /// Returns all text below on one line, when there is any.
    pub fn line(&self) -> Option<String> {
        Some(text::one_line(&self.text())).filter(|line| !line.is_empty())
    }
}

/// The root element, and whether the document goes on behind what was read.
#[derive(Debug)]
pub(super) struct Tree {
    pub root: Element,
    pub is_cut: bool,
}

/// Parses XML.
///
/// # Errors
/// [`Unreadable`]: no XML, or nested beyond reason.
pub(super) fn parse(source: &str) -> Result<Tree, Unreadable> {
    let mut reader = Reader::from_str(source);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.allow_dangling_amp = true;
    let mut open: Vec<Element> = Vec::new();
    let mut nodes = 0;
    loop {
        let event = reader.read_event().map_err(|_| damaged())?;
        match event {
            Event::Start(tag) => {
                open.push(element(&tag));
                nodes += 1;
            }
            Event::End(_) => {
                if let Some(root) = close(&mut open)? {
                    return Ok(Tree { root, is_cut: false });
                }
            }
            Event::Text(text) => say(&mut open, &text, &mut nodes),
            Event::CData(text) => say(&mut open, &text, &mut nodes),
            Event::GeneralRef(entity) => {
                if let Some(meaning) = meaning(&entity) {
                    say(&mut open, &meaning, &mut nodes);
                }
            }
            Event::Eof => return Err(damaged()),
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            return Err(Unreadable::new("its XML is nested too deeply"));
        }
        if nodes > MAX_NODES {
            return cut(open);
        }
    }
}

fn damaged() -> Unreadable {
    Unreadable::new("could not read it: its XML is damaged")
}

fn element(tag: &BytesStart<'_>) -> Element {
    let mut written = tag.attributes();
    let attributes = written.with_checks(false).filter_map(Result::ok).filter_map(|attribute| {
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?;
        Some((attribute.key.as_ref().into(), value.into()))
    });
    Element { name: tag.local_name().as_ref().into(), attributes: attributes.collect(), children: Vec::new() }
}

/// Closes the innermost element; returns it if it was the outermost.
fn close(open: &mut Vec<Element>) -> Result<Option<Element>, Unreadable> {
    let closed = open.pop().ok_or_else(damaged)?;
    match open.last_mut() {
        Some(parent) => {
            parent.children.push(Node::Element(closed));
            Ok(None)
        }
        None => Ok(Some(closed)),
    }
}

fn cut(mut open: Vec<Element>) -> Result<Tree, Unreadable> {
    loop {
        if let Some(root) = close(&mut open)? {
            return Ok(Tree { root, is_cut: true });
        }
    }
}

fn say(open: &mut [Element], text: &str, nodes: &mut usize) {
    let Some(element) = open.last_mut() else { return };
    match element.children.last_mut() {
        // An entity splits a text in three.
        Some(Node::Text(before)) => {
            let mut whole = std::mem::take(before).into_string();
            whole.push_str(text);
            *before = whole.into();
        }
        _ => {
            element.children.push(Node::Text(text.into()));
            *nodes += 1;
        }
    }
}

/// Returns what an entity stands for: one of XML's own or of HTML, or a character by its number.
fn meaning(entity: &BytesRef<'_>) -> Option<Cow<'static, str>> {
    if let Some(char) = entity.resolve_char_ref().ok().flatten() {
        return Some(char.to_string().into());
    }
    match &**entity {
        "nbsp" => Some(" ".into()),
        name => resolve_html5_entity(name).map(Cow::Borrowed),
    }
}

/// Turns bytes to text: byte order mark, else what the declaration says, else UTF-8.
pub(super) fn decode(bytes: &[u8]) -> Result<String, Unreadable> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let declared = head.split_once("encoding=").and_then(|(_, rest)| {
        let quote = rest.chars().next().filter(|char| matches!(char, '"' | '\''))?;
        encoding_rs::Encoding::for_label(rest[1..].split(quote).next()?.as_bytes())
    });
    text::decoded(bytes, declared)
}

/// Reads any XML document: feeds item by item, HTML as such, everything else by its elements.
///
/// # Errors
/// [`Unreadable`] when it is nested beyond reason. What is no XML after all is read as text.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unreadable> {
    let source = decode(bytes)?;
    let tree = match parse(&source) {
        Ok(tree) => tree,
        Err(error) if error == damaged() => return Ok(text::read(&source)),
        Err(error) => return Err(error),
    };
    let root = &tree.root;
    let document = match &*root.name {
        "html" => html::read(&source)?,
        "rss" | "feed" | "RDF" if is_feed(root) => feed(root)?,
        _ => records(root),
    };
    let missing = tree.is_cut.then(|| "only its first part is searched".to_owned());
    Ok(Document { missing: document.missing.or(missing), ..document })
}

fn is_feed(root: &Element) -> bool {
    root.find("item").or_else(|| root.find("entry")).is_some()
}

/// Reads RSS or Atom: a section for each item.
fn feed(root: &Element) -> Result<Document, Unreadable> {
    let channel = root.child("channel").unwrap_or(root);
    let title = channel.child("title").and_then(Element::line);
    let mut outline = Outline::of_text(title.as_deref());
    if let Some(about) = channel.child("description").or_else(|| channel.child("subtitle")).and_then(Element::line) {
        outline.block(&about);
    }
    let mut items = Vec::new();
    for name in ["item", "entry"] {
        root.each(name, &mut |item| items.push(item));
    }
    for item in items {
        outline.heading(2, &item.child("title").and_then(Element::line).unwrap_or_else(|| "Entry".to_owned()));
        for (name, label) in
            [("pubDate", "Published"), ("published", "Published"), ("updated", "Updated"), ("link", "Link")]
        {
            let value =
                item.child(name).and_then(|value| value.line().or_else(|| Some(value.attribute("href")?.to_owned())));
            if let Some(value) = value {
                outline.line(&format!("{label}: {value}"));
            }
        }
        let body = ["encoded", "content", "description", "summary"]
            .iter()
            .find_map(|name| item.child(name)?.line().map(|_| item.child(name))?);
        if let Some(body) = body {
            outline.block(&html::plain(&body.text())?);
        }
    }
    let dates = ["lastBuildDate", "updated", "pubDate"];
    let published = dates.iter().find_map(|name| date::parse(without_weekday(&channel.child(name)?.line()?)));
    let author = ["author", "managingEditor", "creator"].iter().find_map(|name| channel.child(name)?.line());
    Ok(Document { published, author, ..outline.finish() })
}

fn without_weekday(date: &str) -> &str {
    date.split_once(", ").map_or(date, |(_, rest)| rest)
}

/// Returns elements as headings, paragraphs, tables, and values behind their names.
fn records(root: &Element) -> Document {
    let mut outline = Outline::of_text(None);
    records_of(root, 1, &mut outline);
    let value = |names: &[&str]| names.iter().find_map(|name| root.find(name)?.line());
    let published =
        value(&["date", "published", "pubdate", "updated", "modified"]).and_then(|value| date::parse(&value));
    let author = value(&["author", "creator"]).filter(|author| author.len() < 200);
    Document { published, author, ..outline.finish() }
}

fn records_of(element: &Element, level: usize, outline: &mut Outline) {
    if let Some(rows) = rows_of(element) {
        return outline.block(&table::markdown(rows));
    }
    for node in &element.children {
        match node {
            Node::Text(text) => outline.block(&text::one_line(text)),
            Node::Element(child) => record(child, level, outline),
        }
    }
}

fn record(element: &Element, level: usize, outline: &mut Outline) {
    let name = element.name.to_lowercase();
    let is_mixed = element.children.iter().any(|node| matches!(node, Node::Text(text) if !text.trim().is_empty()));
    let is_leaf = is_mixed || element.children.is_empty();
    if is_leaf && HEADINGS.contains(&&*name) {
        return outline.heading(level, &element.text());
    }
    let attributes = described(element);
    if !is_leaf {
        if !attributes.is_empty() {
            outline.line("");
            outline.line(&format!("{}: {attributes}", element.name));
        }
        return records_of(element, (level + 1).min(6), outline);
    }
    let text = text::one_line(&element.text());
    match (PARAGRAPHS.contains(&&*name), attributes.is_empty()) {
        (true, _) => outline.block(&text),
        (false, true) if text.is_empty() => {}
        (false, true) => outline.line(&format!("{}: {text}", element.name)),
        (false, false) => outline.line(&format!("{} ({attributes}): {text}", element.name)),
    }
}

/// Returns the attributes that say something.
fn described(element: &Element) -> String {
    let mut described = String::new();
    for (key, value) in &element.attributes {
        if !key.starts_with("xml") && !key.contains(":schemaLocation") && !value.trim().is_empty() {
            let between = if described.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(described, "{between}{key} {}", text::one_line(value));
        }
    }
    described
}

/// Reads children alike that hold nothing but values as rows.
fn rows_of(element: &Element) -> Option<Vec<Vec<String>>> {
    let records: Vec<_> = element.elements().collect();
    let first = records.first().filter(|_| records.len() >= MIN_ROWS)?;
    let mut columns: Vec<&str> = Vec::new();
    for record in &records {
        let is_flat = record.name == first.name && record.elements().all(|value| value.elements().next().is_none());
        let has_text = record.children.iter().any(|node| matches!(node, Node::Text(text) if !text.trim().is_empty()));
        if !is_flat || has_text {
            return None;
        }
        let names = record.attributes.iter().map(|(key, _)| &**key).chain(record.elements().map(|value| &*value.name));
        for name in names {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        if columns.len() > MAX_COLUMNS {
            return None;
        }
    }
    (columns.len() >= 2).then(|| {
        let head = columns.iter().map(ToString::to_string).collect();
        std::iter::once(head).chain(records.iter().map(|record| row(record, &columns))).collect()
    })
}

fn row(record: &Element, columns: &[&str]) -> Vec<String> {
    let value = |name: &&str| {
        let attribute = record.attributes.iter().find(|(key, _)| &**key == *name).map(|(_, value)| value.to_string());
        let values = record.elements().filter(|value| &*value.name == *name).filter_map(Element::line);
        attribute.unwrap_or_else(|| values.collect::<Vec<_>>().join("; "))
    };
    columns.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(source: &str) -> String {
        let document = read(source.as_bytes()).unwrap();
        let texts = document.sections.iter().flat_map(|section| section.label.iter().chain([&section.text]));
        texts.cloned().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn records_become_rows_and_chapters_sections() {
        let rows = "<list><item id='1'><name>Cod</name></item><item id='2'><name>Ling &amp; co</name></item></list>";
        assert_eq!(text_of(rows), "| id | name |\n| --- | --- |\n| 1 | Cod |\n| 2 | Ling & co |");
        let book =
            "<book><title>Mills</title><chapter><title>Wind</title><para>It <em>turns</em>.</para></chapter></book>";
        assert_eq!(text_of(book), "Wind\nIt turns.");
    }

    #[test]
    fn raised_digits_stay_raised() {
        let article = "<article><p>In 2021<sup>3</sup> it bore 10<superscript>-6</superscript> t on the 5<sup>th</sup>.</p></article>";
        assert_eq!(text_of(article), "In 2021³ it bore 10⁻⁶ t on the 5th.");
    }

    #[test]
    fn entities_of_a_document_are_not_resolved() {
        let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;&b;'>]><a><p>A &c; B &#x41;&lt;</p></a>";
        assert_eq!(text_of(bomb), "A B A<");
        assert_eq!(text_of("<a><p>&minus;5&nbsp;&deg;C &c; &#x41;</p></a>"), "−5 °C A", "those of HTML are known");
        let outside = "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a><p>x &f; y</p></a>";
        assert_eq!(text_of(outside), "x y");
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused() {
        let deep = format!("{}x{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert_eq!(read(deep.as_bytes()), Err(Unreadable::new("its XML is nested too deeply")));
    }

    #[test]
    fn a_feed_has_a_section_for_each_item() {
        let feed = "<rss><channel><title>News</title><lastBuildDate>Mon, 10 Mar 2031 08:00:00 GMT</lastBuildDate>\
            <item><title>Cod</title><description>&lt;p>Cod is &lt;b>dear&lt;/b>.&lt;/p></description></item></channel></rss>";
        let document = read(feed.as_bytes()).unwrap();
        assert_eq!((document.title.as_deref(), document.published.as_deref()), (Some("News"), Some("2031-03-10")));
        assert_eq!(document.sections[0].label.as_deref(), Some("Cod"));
        assert_eq!(document.sections[0].text, "Cod is dear.");
    }
}
