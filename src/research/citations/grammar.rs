//! What a finished segment says: text, code, harmless tags, citations. A pure function of the segment and of what
//! stands before it; linear in its length.

use std::collections::HashMap;

use super::{
    Catalogue,
    address::{address_in_word, address_length, behind_scheme, host, is_address},
    ids::{ids_in_bracket, is_own_number, only_ids},
    scan::FORMULA_BYTES,
};

/// Brackets in brackets that are looked into; deeper ones are text.
const DEPTH: usize = 16;
/// One of these stands between two dollar signs that are no prices.
const FORMULA_SIGNS: [char; 12] = ['\\', '^', '_', '=', '{', '∈', '≤', '≥', '<', '>', '+', '∪'];
/// HTML tags that link, load or imitate our own markers; they are removed, their content stays.
const REMOVED_TAGS: [&str; 12] =
    ["a", "img", "script", "style", "iframe", "link", "object", "embed", "form", "source", "sources", "svg"];
/// HTML tags that stay when they bear no attribute and stand inside a line.
const HARMLESS_TAGS: [&str; 15] =
    ["b", "br", "del", "em", "i", "ins", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u", "wbr"];

/// A part of the resolved text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text, which may still have to be kept from becoming a link.
    Text(&'a str),
    /// A code span or a harmless tag, which stays as it is.
    Raw(&'a str),
    /// A `<` that must not begin a tag.
    Angle,
    /// Citations of the sources of these indices; `spaced` by a space that goes with them.
    Cite { indices: Vec<usize>, spaced: bool },
}

/// What stands before a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before<'a> {
    /// The end of the line's text so far.
    pub text: &'a str,
    /// Does a backslash take its meaning from the segment's first character?
    pub escaped: bool,
    /// Are code spans recognised?
    pub spans: bool,
    /// Is there a word on the line already? Only then a tag cannot begin a block of HTML.
    pub inside_line: bool,
}

/// A segment, read.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub pieces: Vec<Piece<'a>>,
    /// Citations and links to nothing that was retrieved.
    pub dropped: u32,
    /// Tags taken out.
    pub removed: u32,
    /// A run of backticks has no partner in this segment, and may find one on a later line.
    pub odd_ticks: bool,
}

/// Reads a segment.
pub(super) fn parse<'a>(text: &'a str, catalogue: &Catalogue, before: Before<'a>) -> Parsed<'a> {
    let mut reader = Reader {
        text,
        catalogue,
        before,
        closing: closing(text),
        last_angle: text.rfind('>'),
        formula: 0,
        parsed: Parsed::default(),
        plain: 0,
    };
    reader.range(0, text.len(), 0);
    reader.parsed
}

struct Reader<'a, 'b> {
    text: &'a str,
    catalogue: &'b Catalogue,
    before: Before<'a>,
    /// Where brackets and parentheses are closed, by where they are opened.
    closing: HashMap<usize, usize>,
    /// Behind it no tag is closed.
    last_angle: Option<usize>,
    /// Up to here the text is a formula.
    formula: usize,
    parsed: Parsed<'a>,
    /// Where the text begins that is not yet among the pieces.
    plain: usize,
}

impl<'a> Reader<'a, '_> {
    /// Reads the text between two places; brackets lie `depth` deep.
    fn range(&mut self, from: usize, to: usize, depth: usize) {
        let mut at = from;
        self.plain = from;
        if from == 0 && self.before.escaped {
            at = self.text.chars().next().map_or(0, char::len_utf8);
        }
        while at < to {
            at = match self.text.as_bytes()[at] {
                b'\\' => self.backslash(at, to),
                b' ' if self.text[at + 1..to].starts_with(['[', '【']) => self.spaced_bracket(at, to, depth),
                b'[' => self.bracket(at, to, depth, at),
                0xE3 if self.text[at..].starts_with('【') => self.bracket(at, to, depth, at),
                b'!' if self.text[at + 1..to].starts_with('[') => self.image(at, to, depth),
                b'`' => self.code_span(at, to),
                b'<' => self.angle(at, to, depth),
                b'$' => self.dollar(at, to),
                _ => self.word(at, to),
            };
        }
        self.flush(to);
    }

    /// Puts the text up to `at` among the pieces.
    fn flush(&mut self, at: usize) {
        if self.plain < at {
            self.parsed.pieces.push(Piece::Text(&self.text[self.plain..at]));
        }
        self.plain = at;
    }

    /// Puts a piece in the place of the text between `at` and `end`.
    fn replace(&mut self, at: usize, end: usize, piece: impl IntoIterator<Item = Piece<'a>>) -> usize {
        self.flush(at);
        self.parsed.pieces.extend(piece);
        self.plain = end;
        end
    }

    fn is_space(&self, at: usize) -> bool {
        self.text.as_bytes()[at] == b' '
    }

    fn next_char(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }

    fn previous(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back().or_else(|| self.before.text.chars().next_back())
    }

    /// An escaped character is itself; only an id in escaped brackets is a citation all the same.
    fn backslash(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at..to];
        if let Some((inside, _)) =
            rest.strip_prefix("\\[").and_then(|rest| rest.get(..rest.len().min(64)).unwrap_or(rest).split_once("\\]"))
        {
            let ids = ids_in_bracket(inside);
            if !ids.is_empty() && only_ids(inside, &ids) {
                let end = at + 2 + inside.len() + 2;
                let cited = self.cited(&ids, false);
                return self.replace(at, end, cited);
            }
        }
        let punctuation = rest.as_bytes().get(1).is_some_and(u8::is_ascii_punctuation);
        if punctuation { at + 2 } else { at + 1 }
    }

    /// A space before a bracket belongs to it, so that a removed citation leaves no gap.
    fn spaced_bracket(&mut self, at: usize, to: usize, depth: usize) -> usize {
        self.bracket(at + 1, to, depth, at)
    }

    /// Reads a bracket; what it is replaced by takes the place of the text from `from` on, which is the bracket, or
    /// the space or exclamation mark before it.
    fn bracket(&mut self, at: usize, to: usize, depth: usize, from: usize) -> usize {
        let open = self.next_char(at);
        let Some(&close) = self.closing.get(&at).filter(|&&close| close < to && depth < DEPTH) else { return open };
        let end = self.next_char(close);
        let target = self.closing.get(&end).filter(|&&paren| paren < to && self.text[end..].starts_with('('));
        if let Some(&paren) = target {
            return self.link(from, (at, open, close), paren, depth);
        }
        let inside = &self.text[open..close];
        self.citation(from, at, inside, (open, end), depth).unwrap_or(open)
    }

    /// `[inside](target)`: stays as text, with a citation when the target was retrieved.
    fn link(&mut self, from: usize, (at, open, close): (usize, usize, usize), paren: usize, depth: usize) -> usize {
        let end = paren + 1;
        let inside = &self.text[open..close];
        let target = &self.text[self.next_char(close) + 1..paren];
        let address = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        let cited = self.catalogue.by_target(address);
        let own_number = is_own_number(inside, "", usize::MAX);
        if let (Some(index), true) = (cited, own_number) {
            return self.replace(from, end, [Piece::Cite { indices: vec![index], spaced: self.is_space(from) }]);
        }
        if let Some(after) = self.citation(from, at, inside, (open, end), depth) {
            return after;
        }
        self.replace(from, at, self.is_space(from).then_some(Piece::Text(" ")));
        self.plain = open;
        self.range(open, close, depth + 1);
        match cited {
            Some(index) => self.parsed.pieces.push(Piece::Cite { indices: vec![index], spaced: true }),
            None => self.parsed.dropped += 1,
        }
        self.plain = end;
        end
    }

    /// What a bracket's content cites; `None` when it is no citation at all.
    fn citation(
        &mut self,
        from: usize,
        at: usize,
        inside: &'a str,
        (open, end): (usize, usize),
        depth: usize,
    ) -> Option<usize> {
        if self.is_own_number(at, inside) {
            self.parsed.dropped += 1;
            return Some(self.replace(from, end, []));
        }
        let ids = ids_in_bracket(inside);
        if ids.is_empty() {
            return None;
        }
        if only_ids(inside, &ids) {
            let cited = self.cited(&ids, self.is_space(from));
            return Some(self.replace(from, end, cited));
        }
        if !ids.iter().any(|(_, _, id)| self.catalogue.by_id.contains_key(id)) {
            return None;
        }
        self.replace(from, open, [Piece::Text(if self.is_space(from) { " (" } else { "(" })]);
        self.range(open, open + inside.len(), depth + 1);
        Some(self.replace(open + inside.len(), end, [Piece::Text(")")]))
    }

    fn is_own_number(&self, at: usize, inside: &str) -> bool {
        if at < self.formula || !inside.bytes().all(|byte| byte.is_ascii_digit() || !byte.is_ascii_alphabetic()) {
            return false;
        }
        let here = tail(&self.text[..at]);
        let before = if here.trim().is_empty() { format!("{}{here}", self.before.text) } else { here.to_owned() };
        is_own_number(inside, &before, self.catalogue.sources.len())
    }

    fn cited(&mut self, ids: &[(usize, usize, u32)], spaced: bool) -> Option<Piece<'a>> {
        let mut cited: Vec<usize> = Vec::new();
        for (_, _, id) in ids {
            match self.catalogue.by_id.get(id) {
                Some(&index) if !cited.contains(&index) => cited.push(index),
                Some(_) => {}
                None => self.parsed.dropped += 1,
            }
        }
        (!cited.is_empty()).then_some(Piece::Cite { indices: cited, spaced })
    }

    /// `![alt](target)` keeps its alternative text: an image loads from where the model wants.
    fn image(&mut self, at: usize, to: usize, depth: usize) -> usize {
        let close = self.closing.get(&(at + 1)).copied();
        match close.filter(|&close| self.text[close + 1..].starts_with('(')) {
            Some(_) => self.bracket(at + 1, to, depth, at),
            None => at + 1,
        }
    }

    /// Code stays as it is; a span that is not closed on its line, by as many ticks, is no code. Neither is one with a
    /// bar in it, which ends a table's cell.
    fn code_span(&mut self, at: usize, to: usize) -> usize {
        let run = |from: usize| self.text[from..to].bytes().take_while(|&byte| byte == b'`').count();
        let ticks = run(at);
        let mut next = at + ticks;
        while self.before.spans && !self.parsed.odd_ticks {
            let Some(found) = self.text[next..to].find('`') else { break };
            let length = run(next + found);
            let end = next + found + length;
            if length == ticks && !self.text[at..end].contains('|') {
                return self.replace(at, end, [Piece::Raw(&self.text[at..end])]);
            }
            if length == ticks {
                break;
            }
            next = end;
        }
        self.parsed.odd_ticks = true;
        at + ticks
    }

    fn angle(&mut self, at: usize, to: usize, depth: usize) -> usize {
        let close = self.last_angle.filter(|&last| last > at).and_then(|_| self.text[at..to].find('>'));
        let Some(close) = close.map(|close| at + close) else { return self.less_than(at, to) };
        let inside = &self.text[at + 1..close];
        if is_address(inside) {
            let piece = self.addressed(inside);
            return self.replace(at, close + 1, [piece]);
        }
        if let Some(rest) = behind_scheme(inside) {
            self.parsed.dropped += 1;
            self.flush(at);
            self.range(close - rest.len(), close, (depth + 1).min(DEPTH));
            self.plain = close + 1;
            return close + 1;
        }
        if inside.contains('@') && !inside.contains(char::is_whitespace) {
            self.parsed.dropped += 1;
            return self.replace(at, close + 1, [Piece::Text(inside)]);
        }
        let name: String = inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if REMOVED_TAGS.contains(&name.as_str()) || (inside.starts_with("!--") && inside.ends_with("--")) {
            self.parsed.removed += 1;
            return self.replace(at, close + 1, []);
        }
        let inside_line = self.before.inside_line || self.text[..at].contains(char::is_alphabetic);
        if inside_line && is_harmless_tag(&self.text[at..=close]) {
            return self.replace(at, close + 1, [Piece::Raw(&self.text[at..=close])]);
        }
        self.less_than(at, to)
    }

    /// A `<` that might begin a tag, a comment or an address is shown; any other is text.
    fn less_than(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at + 1..to];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let length = name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(byte)).count();
        let after = name[length..].chars().next();
        let scheme = after == Some(':') && name[length + 1..].starts_with(|c: char| !c.is_whitespace());
        let ends = scheme || after.is_none_or(|c| c.is_whitespace() || matches!(c, '/' | '>' | '@'));
        let tag = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && ends;
        if tag || rest.starts_with(['!', '?']) { self.replace(at, at + 1, [Piece::Angle]) } else { at + 1 }
    }

    /// Numbers in brackets stay inside a formula.
    fn dollar(&mut self, at: usize, to: usize) -> usize {
        if at < self.formula {
            return at + 1;
        }
        let from = at + self.text[at..to].bytes().take(2).take_while(|&byte| byte == b'$').count();
        let mut limit = to.min(from + FORMULA_BYTES);
        while !self.text.is_char_boundary(limit) {
            limit -= 1;
        }
        let body = &self.text[from..limit];
        let close = body.find('$').filter(|&close| {
            let after = self.text[from + close + 1..].chars().next();
            let double = from - at == 2;
            double || !(body[..close].ends_with(char::is_whitespace) || after.is_some_and(|c| c.is_ascii_digit()))
        });
        let is_formula = |body: &str| !body.starts_with(char::is_whitespace) && body.contains(FORMULA_SIGNS);
        if let Some(close) = close.filter(|&close| is_formula(&body[..close])) {
            self.formula = from + close + 1;
        }
        from
    }

    /// Ordinary text, a bare id or an address.
    fn word(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at..to];
        let next = self.next_char(at);
        let starts = !self.previous(at).is_some_and(char::is_alphanumeric);
        let web = matches!(rest.as_bytes()[0], b'h' | b'H') && is_address(rest);
        if web {
            return self.address(at, to);
        }
        if !starts || !(rest.as_bytes()[0].is_ascii_alphabetic() || rest.starts_with("//")) {
            return next;
        }
        if is_address(rest) {
            return self.address(at, to);
        }
        if let Some(skipped) = address_in_word(rest) {
            return self.address(at + skipped, to);
        }
        self.bare_id(at, to).unwrap_or(next)
    }

    fn bare_id(&mut self, at: usize, to: usize) -> Option<usize> {
        let rest = &self.text[at..to];
        let digits = rest.strip_prefix(['S', 's'])?.bytes().take(11).take_while(u8::is_ascii_digit).count();
        let whole = 1 + digits;
        let ends = !rest[whole..].starts_with(|next: char| next.is_alphanumeric());
        let index = *self.catalogue.by_id.get(&rest[1..whole].parse().ok()?).filter(|_| ends)?;
        Some(self.replace(at, at + whole, [Piece::Cite { indices: vec![index], spaced: false }]))
    }

    fn address(&mut self, at: usize, to: usize) -> usize {
        let address = &self.text[at..at + address_length(&self.text[at..to]).max(1)];
        let piece = self.addressed(address);
        self.replace(at, at + address.len(), [piece])
    }

    fn addressed(&mut self, address: &'a str) -> Piece<'a> {
        if let Some(index) = self.catalogue.by_url(address) {
            return Piece::Cite { indices: vec![index], spaced: false };
        }
        self.parsed.dropped += 1;
        Piece::Text(host(address))
    }
}

/// Is this one HTML tag that only marks text, without an attribute?
pub(super) fn is_harmless_tag(html: &str) -> bool {
    let Some(inside) = html.strip_prefix('<').and_then(|html| html.strip_suffix('>')) else { return false };
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let name = name.strip_suffix('/').unwrap_or(name).trim_end_matches(' ');
    HARMLESS_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}

/// Where each bracket and parenthesis is closed, by its own kind alone.
fn closing(text: &str) -> HashMap<usize, usize> {
    let mut open: [Vec<usize>; 3] = Default::default();
    let mut closing = HashMap::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        let kind = match character {
            '[' | ']' => 0,
            '【' | '】' => 1,
            '(' | ')' => 2,
            _ => {
                escaped = character == '\\' && !escaped;
                continue;
            }
        };
        if !std::mem::take(&mut escaped) {
            match character {
                '[' | '【' | '(' => open[kind].push(at),
                _ => drop(open[kind].pop().map(|start| closing.insert(start, at))),
            }
        }
    }
    closing
}

/// The end of a text, as far as one looks back.
fn tail(text: &str) -> &str {
    let from = text.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    &text[from..]
}
