//! How deep the elements of a page nest, counted before a parser builds them: the time it takes grows with the square
//! of the depth.

/// Elements without an end tag, or whose next one ends them.
const UNCLOSED: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr", "p", "li", "dd", "dt",
    "option", "tr", "td", "th", "thead", "tbody", "tfoot",
];
/// Elements whose content is no markup.
const RAW: &[&str] = &["script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"];
const FORMATTING: &[&str] =
    &["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements of HTML that end the drawings and formulas around them.
const BREAKOUT: &[&str] = &[
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];
/// Elements of drawings and of formulas whose content is HTML.
const HTML_IN_SVG: &[&str] = &["foreignobject", "desc", "title"];
const HTML_IN_MATH: &[&str] = &["mi", "mo", "mn", "ms", "mtext", "annotation-xml"];

/// Returns how deep elements nest, roughly as a browser has it: a closing tag closes what it names and all within, or
/// nothing. More than `most` is not counted on.
pub(super) fn of(source: &str, most: usize) -> usize {
    let mut open = Open::default();
    let mut deepest = 0;
    let mut rest = source;
    while let Some((_, markup)) = rest.split_once('<') {
        rest = open.read(markup);
        deepest = deepest.max(open.0.len());
        if deepest > most {
            break;
        }
    }
    deepest
}

/// Elements whose end has not come, from the outermost on, each with what its content is.
#[derive(Default)]
struct Open<'a>(Vec<(&'a str, Content)>);

/// The language that the content of an element is in.
#[derive(Clone, Copy, Default, PartialEq)]
enum Content {
    #[default]
    Html,
    /// Where `/>` closes an element.
    Svg,
    Math,
}

impl<'a> Open<'a> {
    /// Reads what begins behind a `<`; returns what follows it.
    fn read(&mut self, markup: &'a str) -> &'a str {
        if let Some(comment) = markup.strip_prefix("!--") {
            return after_comment(comment);
        }
        let closes = markup.starts_with('/');
        let tag = markup.strip_prefix('/').unwrap_or(markup);
        let name = element(tag);
        if name.is_empty() {
            return self.after_no_element(markup);
        }
        let (rest, is_self_closed) = after_tag(&tag[name.len()..]);
        if closes {
            self.close(name);
            return rest;
        }
        if self.content() == Content::Html && is_one_of(name, RAW) {
            return after_raw(rest, name);
        }
        self.open(name, is_self_closed);
        rest
    }

    /// Returns what follows a `<` behind which no element begins: a declaration, which ends at the next `>`, characters
    /// of a drawing or formula, or a mere sign.
    fn after_no_element(&self, markup: &'a str) -> &'a str {
        let (declared, end) = match markup.strip_prefix("![CDATA[") {
            Some(characters) if self.content() != Content::Html => (characters, "]]>"),
            _ if markup.starts_with(['!', '?', '/']) => (markup, ">"),
            _ => return markup,
        };
        declared.split_once(end).map_or("", |(_, rest)| rest)
    }

    fn open(&mut self, name: &'a str, is_self_closed: bool) {
        if is_one_of(name, BREAKOUT) {
            while self.content() != Content::Html {
                self.0.pop();
            }
        } else if name.eq_ignore_ascii_case("font") {
            // As those, with some attributes.
            self.doubt();
        }
        let around = self.content();
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        let content = match around {
            Content::Html if is("svg") => Content::Svg,
            Content::Html if is("math") => Content::Math,
            Content::Svg if is_one_of(name, HTML_IN_SVG) => Content::Html,
            Content::Math if is_one_of(name, HTML_IN_MATH) => Content::Html,
            around => around,
        };
        let is_html = around == Content::Html && content == Content::Html;
        if is_html && is("a") {
            // It ends the one before it.
            self.close(name);
        }
        let holds = if is_html { !is_one_of(name, UNCLOSED) } else { !is_self_closed };
        if holds {
            self.0.push((name, content));
        }
    }

    fn close(&mut self, name: &str) {
        if is_one_of(name, UNCLOSED) {
            self.doubt();
            return;
        }
        let Some(at) = self.0.iter().rposition(|(open, _)| open.eq_ignore_ascii_case(name)) else { return };
        // What a formatting element closes within others is opened again in them.
        if is_one_of(name, FORMATTING) {
            self.0.remove(at);
        } else {
            self.0.truncate(at);
        }
    }

    /// Takes what comes next for HTML, since this may have ended the drawing or formula it would stand in: then nothing
    /// in it closes itself.
    fn doubt(&mut self) {
        for (_, content) in self.0.iter_mut().rev().take_while(|(_, content)| *content != Content::Html) {
            *content = Content::Html;
        }
    }

    /// Returns the language of what comes next.
    fn content(&self) -> Content {
        self.0.last().map(|(_, content)| *content).unwrap_or_default()
    }
}

/// Returns the name a tag begins with; empty when it is none.
fn element(tag: &str) -> &str {
    if !tag.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return "";
    }
    &tag[..tag.find(|char: char| char.is_ascii_whitespace() || matches!(char, '/' | '>')).unwrap_or(tag.len())]
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Where in a tag a byte stands.
#[derive(Clone, Copy)]
enum Place {
    Between,
    /// In a name, or behind it.
    Name,
    /// Behind `=`.
    Value,
    Bare,
    Quoted(u8),
    Slash,
}

/// Returns what follows a tag, of which `rest` is all but its name, and whether it closes itself: a `>` in a quoted
/// value does not end it, and the slash of a value without quotes is a part of that.
fn after_tag(rest: &str) -> (&str, bool) {
    let mut place = Place::Between;
    for (at, byte) in rest.bytes().enumerate() {
        place = match (place, byte) {
            (Place::Quoted(quote), _) => {
                if byte == quote {
                    Place::Between
                } else {
                    place
                }
            }
            (_, b'>') => return (&rest[at + 1..], matches!(place, Place::Slash)),
            (Place::Value, b'"' | b'\'') => Place::Quoted(byte),
            (Place::Value, _) if byte.is_ascii_whitespace() => Place::Value,
            (Place::Bare, _) if byte.is_ascii_whitespace() => Place::Between,
            (Place::Value | Place::Bare, _) => Place::Bare,
            (_, b'/') => Place::Slash,
            (Place::Name, b'=') => Place::Value,
            (Place::Between | Place::Slash, _) if byte.is_ascii_whitespace() => Place::Between,
            _ => Place::Name,
        };
    }
    ("", false)
}

/// Returns what follows a comment, of which `rest` is all but its beginning; nothing when it has no end.
fn after_comment(rest: &str) -> &str {
    if let Some(rest) = rest.strip_prefix('>').or_else(|| rest.strip_prefix("->")) {
        return rest;
    }
    let ends = |at: &usize| rest[..*at].ends_with("--") || rest[..*at].ends_with("--!");
    rest.match_indices('>').map(|(at, _)| at).find(ends).map_or("", |at| &rest[at + 1..])
}

/// Returns what follows an element whose content is no markup, and of which `rest` is all but the start tag; nothing
/// when it is not closed.
fn after_raw<'a>(rest: &'a str, name: &str) -> &'a str {
    let closes = |at: &usize| element(&rest[at + 2..]).eq_ignore_ascii_case(name);
    rest.match_indices("</").map(|(at, _)| at).find(closes).map_or("", |at| after_tag(&rest[at + 2 + name.len()..]).0)
}
