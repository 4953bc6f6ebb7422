//! Marks in a segment that are no brackets: code spans, tags and comments, formulas, raised numbers, addresses, and the
//! marks of other programs.

use super::{
    address::{address_length, behind_scheme, has_numeric_host, host, is_address, paper, without_unspaced},
    grammar::{DEPTH, Piece, Reader, tail},
    ids::{ids_in_bracket, only_ids},
    numbers::{self, Numbers},
    raised,
    scan::{FORMULA_BYTES, PARENTHESES, RAISED_BYTES},
    target::Target,
};

/// One of these stands between two dollar signs that are no prices.
const FORMULA_SIGNS: [char; 12] = ['\\', '^', '_', '=', '{', '∈', '≤', '≥', '<', '>', '+', '∪'];
/// HTML tags that link, load or imitate our own markers; they are removed, their content stays.
const REMOVED_TAGS: [&str; 12] =
    ["a", "img", "script", "style", "iframe", "link", "object", "embed", "form", "source", "sources", "svg"];
/// HTML tags that stay when they have no attribute and stand inside a line.
const HARMLESS_TAGS: [&str; 15] =
    ["b", "br", "del", "em", "i", "ins", "kbd", "mark", "s", "small", "strong", "sub", "sup", "u", "wbr"];

impl<'a> Reader<'a, '_> {
    /// Notes the end of a formula: `\\(…\\)` and `\\[…\\]` with a sign of mathematics are formulas.
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

    /// Reads a span of code, which stays as it is; a span that is not closed on its line, by as many ticks, is no
    /// code. Neither is one with a bar in it in a row of a table, whose cell the bar ends.
    pub(super) fn code_span(&mut self, at: usize, to: usize) -> usize {
        let run = |from: usize| self.text[from..to].bytes().take_while(|&byte| byte == b'`').count();
        let ticks = run(at);
        let mut next = at + ticks;
        while self.before.spans && !self.parsed.odd_ticks {
            let Some(found) = self.text[next..to].find('`') else { break };
            let length = run(next + found);
            let end = next + found + length;
            if length == ticks && !(self.before.in_row && self.text[at..end].contains('|')) {
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
        // Where a mark stands in it, the bracket that closes is that of another one.
        if is_address(inside) && !inside.contains(['<', '[']) {
            return self.addressed(inside, (at, close + 1), to);
        }
        let is_mail = || inside.contains('@') && !inside.contains(char::is_whitespace);
        if let Some(rest) = behind_scheme(inside).or_else(|| is_mail().then_some(inside)) {
            self.parsed.dropped += 1;
            self.flush(at);
            self.range(close - rest.len(), close, (depth + 1).min(DEPTH));
            self.plain = close + 1;
            return close + 1;
        }
        let name: String = inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if name == "a"
            && let Some(end) = self.anchor((at, close), to)
        {
            return end;
        }
        if REMOVED_TAGS.contains(&name.as_str()) || (inside.starts_with("!--") && inside.ends_with("--")) {
            self.parsed.removed += 1;
            return self.replace(at, close + 1, []);
        }
        let inside_line = self.before.inside_line
            || self.text[..at].contains(|c: char| c.is_alphabetic() || c == '|')
            || self.previous(at).is_some_and(|previous| previous.is_ascii_digit());
        if inside_line && let Some(end) = self.raised_bracket(at, to, depth) {
            return end;
        }
        if inside_line && is_harmless_tag(&self.text[at..=close]) {
            return self.replace(at, close + 1, [Piece::Raw(&self.text[at..=close])]);
        }
        self.less_than(at, to)
    }

    /// Reads `<a href="https://…">text</a>`: the text stays, with a citation when the page was retrieved. A number as
    /// its text is the citation.
    fn anchor(&mut self, (at, close): (usize, usize), to: usize) -> Option<usize> {
        let inside = &self.text[at + 1..close];
        if inside.starts_with('/') {
            let index = self.parsed.anchor.take()?;
            return Some(self.replace(at, close + 1, [Piece::Cite { indices: vec![index], spaced: true }]));
        }
        let found = href(inside).and_then(|href| self.catalogue.by_target(href));
        let behind = &self.text[close + 1..to];
        let content = behind[..behind.floor_char_boundary(RAISED_BYTES)].split_once("</a>").map(|(content, _)| content);
        let read = content.and_then(|content| Numbers::read(content.trim_matches(['[', ']'])));
        let end = close + 1 + content.map_or(0, |content| content.len() + "</a>".len());
        match (found, read) {
            (Some(index), Some(_)) => {
                Some(self.replace(at, end, [Piece::Cite { indices: vec![index], spaced: false }]))
            }
            (None, Some(read)) => self.numbered(at, &Numbers { marked: true, ..read }, end),
            (Some(index), None) => {
                self.parsed.anchor = Some(index);
                Some(self.replace(at, close + 1, []))
            }
            (None, None) => None,
        }
    }

    /// Reads `<sup>1</sup>`, where the model numbers its sources so.
    fn raised(&mut self, at: usize, to: usize) -> Option<usize> {
        if !self.numbering.raised {
            return None;
        }
        let inner = self.text[at..to].strip_prefix("<sup>")?;
        let close = inner[..inner.floor_char_boundary(64)].find("</sup>")?;
        let read = Numbers::read(&inner[..close])?;
        let end = at + "<sup>".len() + close + "</sup>".len();
        if !raised::may_cite(&self.behind(at), &read.numbers, &self.text[end..]) {
            return None;
        }
        let targets = self.targets(&read.numbers)?;
        Some(self.cite_targets(at, end, &targets))
    }

    /// Reads `<sup>[1]</sup>`: where nothing stays of the citation, the tags go too.
    fn raised_bracket(&mut self, at: usize, to: usize, depth: usize) -> Option<usize> {
        let inner = self.text[at..to].strip_prefix("<sup>").filter(|inner| inner.starts_with('['))?;
        let length = inner[..inner.floor_char_boundary(RAISED_BYTES)].find("</sup>")?;
        let (start, end) = (at + "<sup>".len(), at + "<sup>".len() + length);
        let close = end + "</sup>".len();
        let tag = at - usize::from(self.text[self.plain..at].ends_with(' '));
        self.flush(tag);
        let first = self.parsed.pieces.len();
        self.range(start, end, (depth + 1).min(DEPTH));
        if self.parsed.pieces.len() > first {
            self.parsed.pieces.insert(first, Piece::Raw(&self.text[tag..start]));
            self.parsed.pieces.push(Piece::Raw(&self.text[end..close]));
        }
        self.plain = close;
        Some(close)
    }

    /// Reads `\\cite{S1001}` or `\\citep{S1001,S1002}`.
    pub(super) fn command(&mut self, at: usize, rest: &str) -> Option<usize> {
        let (variant, inner) = rest.strip_prefix("\\cite")?.split_once('{')?;
        let (inside, _) = inner.split_once('}').filter(|_| matches!(variant, "" | "p" | "t" | "author" | "*"))?;
        let ids = ids_in_bracket(inside);
        if ids.is_empty() || !only_ids(inside, &ids) {
            return None;
        }
        let cited = self.cited(&ids, false);
        Some(self.put_citation(at, at + rest.len() - inner.len() + inside.len() + 1, cited))
    }

    /// Returns the mark of a chat program, which leads nowhere, or a paper by its number.
    pub(super) fn foreign_name(&mut self, at: usize, to: usize) -> Option<usize> {
        let rest = &self.text[at..to];
        if let Some(length) = numbers::tool_mark(rest) {
            return Some(self.remove(at, at + length, to));
        }
        let (length, address) = paper(rest)?;
        match self.catalogue.by_url(&address) {
            Some(index) => Some(self.replace(at, at + length, [Piece::Cite { indices: vec![index], spaced: false }])),
            None => Some(self.remove(at, at + length, to)),
        }
    }

    /// Takes out a reference to nothing that was retrieved, with the parentheses and the space around it.
    pub(super) fn remove(&mut self, at: usize, end: usize, to: usize) -> usize {
        let is_around = |&(open, close): &(char, char)| {
            self.text[self.plain..at].ends_with(open) && self.text[end..to].starts_with(close)
        };
        let around = PARENTHESES.into_iter().chain([('[', ']')]).find(is_around);
        let around = around.map_or(0, |(open, _)| open.len_utf8());
        let (from, end) = (at - around, end + around);
        let space = usize::from(self.text[self.plain..from].ends_with(' '));
        self.parsed.dropped += 1;
        self.put_citation(from - space, end, None)
    }

    /// Reads a citation in parentheses; `¹` and `(1)`, where the model numbers its sources so.
    pub(super) fn unbracketed(&mut self, at: usize, to: usize) -> Option<usize> {
        let rest = &self.text[at..to];
        if rest.starts_with(['(', '（'])
            && let Some(end) = self.parenthesis(at, to)
        {
            return Some(end);
        }
        if self.numbering.raised
            && at >= self.formula
            && let Some(end) = self.superscript(at, rest)
        {
            return Some(end);
        }
        if self.numbering.parentheses && at >= self.formula && !self.behind(at).trim().is_empty() {
            let inner = rest.strip_prefix('(')?;
            let inside = &inner[..inner[..inner.floor_char_boundary(64)].find(')')?];
            let indices = self.all_known(&Numbers::read(inside)?.numbers)?;
            return Some(self.replace(at, at + inside.len() + 2, [Piece::Cite { indices, spaced: false }]));
        }
        None
    }

    /// Takes the numbers in superscript digits, or one between carets, `^1^`.
    fn superscript(&mut self, at: usize, rest: &str) -> Option<usize> {
        let all = raised::superscripts(rest).or_else(|| raised::in_carets(rest))?;
        let before = self.behind(at);
        // The rest of a run that is no citation is none either.
        if !rest.starts_with('^') && self.previous(at).is_some_and(raised::is_superscript) {
            return None;
        }
        let may_cite = |(numbers, bytes): &(Vec<u32>, usize)| raised::may_cite(&before, numbers, &rest[*bytes..]);
        let whole = raised::superscript(rest);
        let one = whole.map(|(number, bytes)| (vec![number], bytes));
        let listed = [Some(all), one].into_iter().flatten().filter(may_cite).find_map(|(numbers, bytes)| {
            let targets = self.targets(&numbers).filter(|targets| !targets.contains(&Target::Remark))?;
            Some((targets, bytes))
        });
        let (targets, bytes) = listed.or_else(|| self.single_digits(&before, rest, whole?.1))?;
        Some(self.cite_targets(at, at + bytes, &targets))
    }

    /// Returns what `¹²` cites as two numbers of one digit each, if each of them can be a citation.
    fn single_digits(&self, before: &str, rest: &str, bytes: usize) -> Option<(Vec<Target>, usize)> {
        let digit = |sign: char| raised::superscript(sign.encode_utf8(&mut [0; 4])).map(|(number, _)| number);
        let numbers: Vec<u32> = rest[..bytes].chars().map(digit).collect::<Option<_>>()?;
        let fits = |number: &u32| raised::may_cite(before, &[*number], &rest[bytes..]);
        let targets = self.targets(&numbers).filter(|targets| !targets.contains(&Target::Remark))?;
        numbers.iter().all(fits).then_some((targets, bytes))
    }

    /// Returns an address in the text: a citation when it was retrieved, else its host, unless that is nothing but
    /// numbers. A sentence without spaces goes on behind it (`https://host.test/dues的数据`).
    pub(super) fn address(&mut self, at: usize, to: usize) -> usize {
        let mut address = &self.text[at..at + address_length(&self.text[at..to]).max(1)];
        if self.catalogue.by_url(address).is_none()
            && let Some(length) = without_unspaced(address)
        {
            address = &address[..length];
        }
        self.addressed(address, (at, at + address.len()), to)
    }

    /// Puts what an address stands for in the place of the text around it.
    fn addressed(&mut self, address: &'a str, (at, end): (usize, usize), to: usize) -> usize {
        if let Some(index) = self.catalogue.by_url(address) {
            return self.replace(at, end, [Piece::Cite { indices: vec![index], spaced: false }]);
        }
        if has_numeric_host(address) {
            return self.remove(at, end, to);
        }
        self.parsed.dropped += 1;
        self.replace(at, end, [Piece::Text(host(address))])
    }

    /// Returns what stands before a place, as far as one looks back.
    pub(super) fn behind(&self, at: usize) -> String {
        format!("{}{}", self.before.text, tail(&self.text[..at]))
    }

    /// Reads a `<`: one that might begin a tag, a comment or an address is shown; any other is text. In a formula a
    /// space keeps it from beginning one, since a backslash would be a command there.
    fn less_than(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at + 1..to];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let length = name.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(byte)).count();
        let after = name[length..].chars().next();
        let scheme = after == Some(':') && name[length + 1..].starts_with(|c: char| !c.is_whitespace());
        let ends = scheme || after.is_none_or(|c| c.is_whitespace() || matches!(c, '/' | '>' | '@'));
        let tag = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && ends;
        if !(tag || rest.starts_with(['!', '?'])) {
            return at + 1;
        }
        let piece = if at < self.formula { Piece::Text("< ") } else { Piece::Angle };
        self.replace(at, at + 1, [piece])
    }

    /// Takes a formula as a whole, since numbers in brackets stay inside one.
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
        let is_indexed = |body: &str| {
            body.starts_with(|c: char| c.is_ascii_alphabetic())
                && (body.ends_with(']') || (body.ends_with(')') && body.contains("](")))
                && !body.contains(char::is_whitespace)
        };
        let is_formula =
            |body: &str| !body.starts_with(char::is_whitespace) && (body.contains(FORMULA_SIGNS) || is_indexed(body));
        if let Some(close) = close.filter(|&close| is_formula(&body[..close])) {
            self.formula = from + close + 1;
        }
        from
    }
}

/// Returns where an `<a>` of this content leads.
fn href(inside: &str) -> Option<&str> {
    const NAME: &str = "href";
    let lower = inside.to_ascii_lowercase();
    let value = lower.match_indices(NAME).find_map(|(at, _)| {
        let is_whole = !lower[..at].ends_with(|char: char| char.is_alphanumeric() || char == '-');
        inside[at + NAME.len()..].trim_start().strip_prefix('=').filter(|_| is_whole)
    });
    let value = value?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    match quote {
        Some(quote) => value[1..].split(quote).next().map(str::trim),
        None => value.split_whitespace().next(),
    }
}

/// Returns whether this is one HTML tag that only marks text, without an attribute.
pub(super) fn is_harmless_tag(html: &str) -> bool {
    let Some(inside) = html.strip_prefix('<').and_then(|html| html.strip_suffix('>')) else { return false };
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let name = name.strip_suffix('/').unwrap_or(name).trim_end_matches(' ');
    HARMLESS_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}
