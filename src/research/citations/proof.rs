//! Reads a finished report as a reader's program will, and strips the links that are none of ours.
//!
//! The stream is resolved line by line, without knowing what comes; Markdown has corners that show only in the whole.
//! So this is the net below: what it finds is rare, and then the report is published again.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::{
    address::{address_in_word, address_length, host, is_address},
    marks::is_harmless_tag,
};
use crate::domain::report::{Citation, text_alone};

/// Stripping may join what makes another link; after so many rounds, all that could mark one is escaped.
const ROUNDS: usize = 4;

/// A report from which links were stripped.
#[derive(Debug, PartialEq)]
pub struct Proof {
    pub markdown: String,
    pub citations: Vec<Citation>,
    /// Places where something was stripped.
    pub stripped: u32,
}

/// A place to change: what is taken out, and what is put there.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    with: &'static str,
}

impl Edit {
    fn cut(range: Range<usize>) -> Self {
        Self { range, with: "" }
    }

    fn escape(at: usize) -> Self {
        Self { range: at..at, with: "\\" }
    }
}

/// Returns the report without links, images and HTML; `None` when there are none, as nearly always.
pub fn proof(markdown: &str, citations: &[Citation]) -> Option<Proof> {
    let mut proof = Proof { markdown: markdown.to_owned(), citations: citations.to_vec(), stripped: 0 };
    for _ in 0..ROUNDS {
        let edits = findings(&proof.markdown);
        if edits.is_empty() {
            return (proof.stripped > 0).then_some(proof);
        }
        proof.apply(edits);
    }
    if !findings(&proof.markdown).is_empty() {
        let edits = escapes(&proof.markdown);
        proof.apply(edits);
    }
    Some(proof)
}

impl Proof {
    fn apply(&mut self, mut edits: Vec<Edit>) {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        self.stripped = self.stripped.saturating_add(u32::try_from(edits.len()).unwrap_or(u32::MAX));
        let text = std::mem::take(&mut self.markdown);
        let mut places = Places::new(&text, &self.citations);
        let mut done = 0;
        for edit in edits {
            // What overlaps with an earlier edit is met in the next round.
            if edit.range.start < done {
                continue;
            }
            places.copy(&text[done..edit.range.start]);
            places.skip(&text[edit.range.clone()], edit.with);
            done = edit.range.end;
        }
        places.copy(&text[done..]);
        (self.markdown, self.citations) = (places.text, places.moved);
    }
}

/// Carries citations along while their text is copied with changes.
struct Places<'a> {
    text: String,
    /// Characters read and written.
    read: usize,
    written: usize,
    rest: std::iter::Peekable<std::slice::Iter<'a, Citation>>,
    moved: Vec<Citation>,
}

impl<'a> Places<'a> {
    fn new(text: &str, citations: &'a [Citation]) -> Self {
        let rest = citations.iter().peekable();
        Self { text: String::with_capacity(text.len()), read: 0, written: 0, rest, moved: Vec::new() }
    }

    fn copy(&mut self, text: &str) {
        let chars = text.chars().count();
        while let Some(citation) = self.rest.next_if(|citation| citation.start < self.read + chars) {
            if citation.start >= self.read && citation.end <= self.read + chars {
                let moved = |place: usize| place - self.read + self.written;
                let (start, end) = (moved(citation.start), moved(citation.end));
                self.moved.push(Citation { start, end, ..citation.clone() });
            }
        }
        self.text.push_str(text);
        self.read += chars;
        self.written += chars;
    }

    fn skip(&mut self, text: &str, with: &str) {
        self.read += text.chars().count();
        self.text.push_str(with);
        self.written += with.chars().count();
    }
}

/// Returns what a reader's program would make a link, load or take for HTML.
fn findings(markdown: &str) -> Vec<Edit> {
    let listed = text_alone(markdown).len();
    let mut finder = Finder { markdown, listed, edits: Vec::new(), links: Vec::new(), code: 0, text: 0..0 };
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let definitions = parser.reference_definitions().iter().map(|(_, definition)| definition.span.clone());
    finder.edits.extend(definitions.map(Edit::cut));
    for (event, range) in parser.into_offset_iter() {
        finder.take(&event, range);
    }
    finder.end_text();
    finder.edits
}

struct Finder<'a> {
    markdown: &'a str,
    /// Where our own source list begins, whose addresses stay.
    listed: usize,
    edits: Vec<Edit>,
    /// Open links and images: where they are, and where their text is.
    links: Vec<(Range<usize>, Option<Range<usize>>)>,
    /// Open code blocks.
    code: usize,
    /// Text that hangs together.
    text: Range<usize>,
}

impl Finder<'_> {
    fn take(&mut self, event: &Event<'_>, range: Range<usize>) {
        if !matches!(event, Event::End(_))
            && let Some((_, text)) = self.links.last_mut()
        {
            let known = text.clone().unwrap_or(range.clone());
            *text = Some(known.start.min(range.start)..known.end.max(range.end));
        }
        match event {
            Event::Text(_) if self.code == 0 => return self.add_text(range),
            Event::Start(Tag::CodeBlock(_)) => self.code += 1,
            Event::End(TagEnd::CodeBlock) => self.code = self.code.saturating_sub(1),
            Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) => self.open(*link_type, range),
            Event::End(TagEnd::Link | TagEnd::Image) => self.close(),
            Event::InlineHtml(html) if is_harmless_tag(html) => {}
            Event::Html(_) | Event::InlineHtml(_) => self.escape_tags(range),
            _ => {}
        }
        self.end_text();
    }

    fn open(&mut self, link_type: LinkType, range: Range<usize>) {
        // A link by reference ends with its definition; an empty range keeps the pairs together.
        let inline = matches!(link_type, LinkType::Inline | LinkType::Autolink | LinkType::Email);
        self.links.push((if inline { range } else { 0..0 }, None));
    }

    /// Cuts a link down to its text, which stays.
    fn close(&mut self) {
        let Some((link, text)) = self.links.pop().filter(|(link, _)| !link.is_empty()) else { return };
        let text = text.unwrap_or(link.end..link.end);
        self.edits.push(Edit::cut(link.start..text.start));
        self.edits.push(Edit::cut(text.end..link.end));
        if let Some((_, Some(outer))) = self.links.last_mut() {
            outer.end = outer.end.max(link.end);
        }
    }

    fn escape_tags(&mut self, range: Range<usize>) {
        let tags = self.markdown[range.clone()].match_indices('<').map(|(at, _)| Edit::escape(range.start + at));
        self.edits.extend(tags);
    }

    /// Adds a part of a text. Parts of one follow each other without a gap.
    fn add_text(&mut self, range: Range<usize>) {
        if self.text.end != range.start {
            self.end_text();
            self.text = range;
        } else {
            self.text.end = range.end;
        }
    }

    /// Strips the addresses from a text that ends: many programs make links of bare addresses.
    fn end_text(&mut self) {
        let range = std::mem::replace(&mut self.text, 0..0);
        let range = range.start..range.end.min(self.listed);
        if range.is_empty() {
            return;
        }
        let text = &self.markdown[range.clone()];
        let (mut done, mut previous) = (0, ' ');
        for (at, character) in text.char_indices() {
            let starts = !previous.is_alphanumeric();
            previous = character;
            if at < done || !(character.is_ascii_alphabetic() || character == '/') {
                continue;
            }
            let rest = &text[at..];
            let web = (starts || matches!(character, 'h' | 'H')) && is_address(rest);
            let other = if starts && !web { address_in_word(rest) } else { None };
            if web || other.is_some() {
                let begin = at + other.unwrap_or(0);
                let address = &text[begin..begin + address_length(&text[begin..])];
                done = begin + address.len();
                self.strip_address(range.start + begin, address);
            }
        }
    }

    /// Leaves the host of an address.
    fn strip_address(&mut self, at: usize, address: &str) {
        let host = host(address);
        let from = at + (host.as_ptr() as usize).saturating_sub(address.as_ptr() as usize).min(address.len());
        let parts = [at..from, from + host.len()..at + address.len()];
        self.edits.extend(parts.into_iter().filter(|part| !part.is_empty()).map(Edit::cut));
    }
}

/// Returns backslashes before everything that can mark a link, HTML or code.
fn escapes(markdown: &str) -> Vec<Edit> {
    let listed = text_alone(markdown).len();
    let marks = markdown[..listed].match_indices(['\\', '[', ']', '<', '`', '~', '!']);
    marks.map(|(at, _)| Edit::escape(at)).collect()
}
