//! Marks in a segment that are no brackets: code spans, tags and comments, formulas.

use super::{
    address::{behind_scheme, is_address},
    grammar::{DEPTH, Piece, Reader, tail},
    numbering::Target,
    numbers::{self, Numbers},
    scan::FORMULA_BYTES,
};

/// One of these stands between two dollar signs that are no prices.
const FORMULA_SIGNS: [char; 12] = ['\\', '^', '_', '=', '{', '∈', '≤', '≥', '<', '>', '+', '∪'];
/// HTML tags that link, load or imitate our own markers; they are removed, their content stays.
const REMOVED_TAGS: [&str; 12] =
    ["a", "img", "script", "style", "iframe", "link", "object", "embed", "form", "source", "sources", "svg"];
/// HTML tags that stay when they have no attribute and stand inside a line.
const HARMLESS_TAGS: [&str; 15] =
    ["b", "br", "del", "em", "i", "ins", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u", "wbr"];

impl Reader<'_, '_> {
    /// `\\(…\\)` and `\\[…\\]` with a sign of mathematics are formulas.
    pub(super) fn displayed(&mut self, at: usize, rest: &str) {
        let Some(close) =
            [("\\(", "\\)"), ("\\[", "\\]")].iter().find_map(|(open, close)| rest.strip_prefix(open).map(|_| close))
        else {
            return;
        };
        let limit = rest.floor_char_boundary(FORMULA_BYTES);
        let found = rest[2..limit.max(2)].find(close).map(|found| found + 2);
        if let Some(found) = found.filter(|&found| rest[2..found].contains(FORMULA_SIGNS)) {
            self.formula = self.formula.max(at + found);
        }
    }

    /// Code stays as it is; a span that is not closed on its line, by as many ticks, is no code. Neither is one with a
    /// bar in it, which ends a table's cell.
    pub(super) fn code_span(&mut self, at: usize, to: usize) -> usize {
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

    pub(super) fn angle(&mut self, at: usize, to: usize, depth: usize) -> usize {
        let close = self.last_angle.filter(|&last| last > at).and_then(|_| self.text[at..to].find('>'));
        let Some(close) = close.map(|close| at + close) else { return self.less_than(at, to) };
        if let Some(end) = self.raised(at, to) {
            return end;
        }
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

    /// `<sup>1</sup>`, where the model numbers its sources so.
    fn raised(&mut self, at: usize, to: usize) -> Option<usize> {
        if !self.numbering.superscripts || !numbers::may_carry_superscript(&self.behind(at)) {
            return None;
        }
        let inner = self.text[at..to].strip_prefix("<sup>")?;
        let close = inner[..inner.floor_char_boundary(64)].find("</sup>")?;
        let read = Numbers::read(&inner[..close])?;
        let targets = read.numbers.iter().map(|n| self.numbering.target(&n.to_string(), self.before.line));
        let targets: Vec<Target> = targets.collect::<Option<_>>()?;
        let known = |target: &Target| if let Target::Source(index) = target { Some(*index) } else { None };
        let indices: Vec<usize> = targets.iter().filter_map(known).collect();
        self.parsed.dropped += u32::try_from(targets.len() - indices.len()).unwrap_or(u32::MAX);
        let end = at + "<sup>".len() + close + "</sup>".len();
        Some(self.replace(at, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced: false })))
    }

    /// What stands before a place, as far as one looks back.
    pub(super) fn behind(&self, at: usize) -> String {
        format!("{}{}", self.before.text, tail(&self.text[..at]))
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
    pub(super) fn dollar(&mut self, at: usize, to: usize) -> usize {
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
}

/// Is this one HTML tag that only marks text, without an attribute?
pub(super) fn is_harmless_tag(html: &str) -> bool {
    let Some(inside) = html.strip_prefix('<').and_then(|html| html.strip_suffix('>')) else { return false };
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let name = name.strip_suffix('/').unwrap_or(name).trim_end_matches(' ');
    HARMLESS_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}
