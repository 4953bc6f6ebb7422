//! XML: a bounded tree of its elements, for the formats made of it.
//!
//! Entities that a document defines itself are never resolved, and nothing outside it is read.

use std::borrow::Cow;

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_html5_entity,
    events::{BytesRef, BytesStart, Event},
};

use super::{Unreadable, text};

/// Elements nested deeper than this are no document.
const MAX_DEPTH: usize = 256;
/// Elements and texts; what follows is not read.
const MAX_NODES: usize = 2_000_000;
/// Names of elements whose text stands raised, as in JATS and in DocBook.
const RAISED: [&str; 2] = ["sup", "superscript"];

/// An element without its namespace.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub name: Box<str>,
    /// Names as they are written, prefix included.
    pub attributes: Vec<(Box<str>, Box<str>)>,
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
                    text.push_str(&text::with_raised(&element.text()));
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

pub(super) fn damaged() -> Unreadable {
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
