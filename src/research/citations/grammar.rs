//! What a finished segment says: text, code, harmless tags, citations. A pure function of the segment and of what
//! stands before it; linear in its length.

use std::collections::{BTreeSet, HashMap};

use super::{
    Catalogue,
    address::{address_in_word, is_address},
    anchors,
    ids::{ids_in_bracket, only_ids},
    lines,
    numbering::Numbering,
    numbers::Numbers,
    scan::{CLOSING, OPENING, PARENTHESES},
    target::Target,
};

/// Brackets in brackets that are looked into; deeper ones are text.
pub(super) const DEPTH: usize = 16;

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
    /// Whether a backslash takes its meaning from the segment's first character.
    pub escaped: bool,
    /// Whether code spans are recognised.
    pub spans: bool,
    /// Whether there is a word or a bar on the line already. Only then, or right behind a digit, a tag cannot begin a
    /// block of HTML.
    pub inside_line: bool,
    /// Whether the segment stands in a formula that takes several lines.
    pub in_formula: bool,
    /// Whether the line is a row of a table.
    pub in_row: bool,
    /// The number of the line in the model's text, from 0.
    pub line: usize,
    /// The retrieved source to which an `<a>` leads that is still open.
    pub anchor: Option<usize>,
}

/// A segment, read.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub pieces: Vec<Piece<'a>>,
    /// Citations and links to nothing that was retrieved.
    pub dropped: u32,
    /// Tags taken out.
    pub removed: u32,
    /// Numbers of the model's own.
    pub numbers: Vec<u32>,
    /// Whether a retrieved source is cited by its id.
    pub by_id: bool,
    /// The retrieved source to which an `<a>` leads that is still open.
    pub anchor: Option<usize>,
    /// A run of backticks has no partner in this segment, and may find one on a later line.
    pub odd_ticks: bool,
}

/// Reads a segment.
pub(super) fn parse<'a>(text: &'a str, catalogue: &Catalogue, numbering: &Numbering, before: Before<'a>) -> Parsed<'a> {
    let mut reader = Reader {
        text,
        catalogue,
        numbering,
        before,
        closing: closing(text),
        last_angle: text.rfind('>'),
        formula: if before.in_formula { text.len() } else { 0 },
        parsed: Parsed { anchor: before.anchor, ..Parsed::default() },
        plain: 0,
        apart: BTreeSet::new(),
    };
    reader.range(0, text.len(), 0);
    reader.parsed
}

pub(super) struct Reader<'a, 'b> {
    pub(super) text: &'a str,
    pub(super) catalogue: &'b Catalogue,
    pub(super) numbering: &'b Numbering,
    pub(super) before: Before<'a>,
    /// Where brackets and parentheses are closed, by where they are opened.
    pub(super) closing: HashMap<usize, usize>,
    /// Behind it no tag is closed.
    pub(super) last_angle: Option<usize>,
    /// Up to here the text is a formula.
    pub(super) formula: usize,
    pub(super) parsed: Parsed<'a>,
    /// Where the text begins that is not yet among the pieces.
    pub(super) plain: usize,
    /// Where parentheses begin that are no target of the bracket before them, and must not look like one.
    apart: BTreeSet<usize>,
}

impl<'a> Reader<'a, '_> {
    /// Reads the text between two places; brackets lie `depth` deep.
    pub(super) fn range(&mut self, from: usize, to: usize, depth: usize) {
        let mut at = from;
        self.plain = from;
        if from == 0 && self.before.escaped {
            at = self.text.chars().next().map_or(0, char::len_utf8);
        }
        while at < to {
            at = match self.text.as_bytes()[at] {
                b'\\' => self.backslash(at, to),
                b' ' if self.text[at + 1..to].starts_with(OPENING) => self.spaced_bracket(at, to, depth),
                b'[' => self.bracket(at, to, depth, at),
                0xE2 | 0xE3 | 0xEF if self.text[at..].starts_with(OPENING) => self.bracket(at, to, depth, at),
                b'!' if self.text[at + 1..to].starts_with('[') => self.image(at, to, depth),
                b'`' => self.code_span(at, to),
                b'<' => self.angle(at, to, depth),
                b'$' => self.dollar(at, to),
                _ => self.word(at, to),
            };
        }
        self.flush(to);
    }

    /// Puts the text up to `at` among the pieces, with a space before what stands apart.
    pub(super) fn flush(&mut self, at: usize) {
        while let Some(place) = self.apart.first().copied().filter(|place| *place < at) {
            self.apart.pop_first();
            if place >= self.plain {
                self.push_text(place);
                self.parsed.pieces.push(Piece::Text(" "));
            }
        }
        self.push_text(at);
    }

    fn push_text(&mut self, at: usize) {
        if self.plain < at {
            self.parsed.pieces.push(Piece::Text(&self.text[self.plain..at]));
        }
        self.plain = at;
    }

    /// Puts a piece in the place of the text between `at` and `end`.
    pub(super) fn replace(&mut self, at: usize, end: usize, piece: impl IntoIterator<Item = Piece<'a>>) -> usize {
        self.flush(at);
        self.parsed.pieces.extend(piece);
        self.plain = end;
        end
    }

    /// Puts a citation in the place of the text between `at` and `end`. Where nothing is left of it, the words around
    /// it stay apart.
    pub(super) fn put_citation(&mut self, at: usize, end: usize, citation: Option<Piece<'a>>) -> usize {
        let is_spaced = |c: char| c.is_alphanumeric() && c < '\u{2E80}';
        let before = self.is_space(at) || self.previous(at).is_some_and(is_spaced);
        let parts = citation.is_none() && before && self.text[end..].starts_with(is_spaced);
        self.replace(at, end, citation.or(parts.then_some(Piece::Text(" "))))
    }

    pub(super) fn is_space(&self, at: usize) -> bool {
        self.text.as_bytes()[at] == b' '
    }

    pub(super) fn next_char(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }

    pub(super) fn previous(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back().or_else(|| self.before.text.chars().next_back())
    }

    /// Reads an escaped character, which is itself; only an id or a known number in escaped brackets is a citation
    /// all the same.
    fn backslash(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at..to];
        self.displayed(at, rest);
        if let Some((inside, _)) =
            rest.strip_prefix("\\[").and_then(|rest| rest.get(..rest.len().min(64)).unwrap_or(rest).split_once("\\]"))
        {
            let ids = ids_in_bracket(inside);
            if !ids.is_empty() && only_ids(inside, &ids) {
                let end = at + 2 + inside.len() + 2;
                let cited = self.cited(&ids, false);
                return self.put_citation(at, end, cited);
            }
            if let Some(indices) = Numbers::read(inside).and_then(|read| self.all_known(&read.numbers)) {
                let end = at + 2 + inside.len() + 2;
                return self.replace(at, end, [Piece::Cite { indices, spaced: false }]);
            }
        }
        if let Some(end) = self.command(at, rest) {
            return end;
        }
        let punctuation = rest.as_bytes().get(1).is_some_and(u8::is_ascii_punctuation);
        if punctuation { at + 2 } else { at + 1 }
    }

    /// Reads a bracket with a space before it. The space belongs to it, so that a removed citation leaves no gap.
    fn spaced_bracket(&mut self, at: usize, to: usize, depth: usize) -> usize {
        self.bracket(at + 1, to, depth, at)
    }

    /// Reads a bracket; what it is replaced by takes the place of the text from `from` on, which is the bracket, or
    /// the space or exclamation mark before it.
    fn bracket(&mut self, at: usize, to: usize, depth: usize, from: usize) -> usize {
        let open = self.next_char(at);
        let Some(&close) = self.closing.get(&at).filter(|&&close| close < to && depth < DEPTH) else {
            return self.unclosed(from, at, to).unwrap_or(open);
        };
        let end = self.next_char(close);
        let target = self.closing.get(&end).filter(|&&paren| paren < to && self.text[end..].starts_with('('));
        let may_link = self.text[at..].starts_with(['[', '【']);
        if let Some(&paren) = target.filter(|_| may_link) {
            if self.leads_to(from, &self.text[end + 1..paren]) {
                return self.link(from, (at, open, close), paren, depth);
            }
            self.apart.insert(end);
        }
        if let Some(after) = self.reference(from, at, (open, close, end), to, depth) {
            return after;
        }
        let inside = &self.text[open..close];
        if let Some(after) = self.named(from, at, inside, end) {
            return after;
        }
        self.citation(from, at, inside, (open, end), depth).or_else(|| self.shown(at, end)).unwrap_or(open)
    }

    /// Returns whether what stands between parentheses behind a bracket is the target of a link, rather than words or a
    /// part of a formula, as in `[1](in prices of 2031)` and `f[x](t)`. An image has a target, whatever it is.
    fn leads_to(&self, from: usize, inside: &str) -> bool {
        let word = inside.split_whitespace().next().unwrap_or_default();
        let is_place = || {
            from >= self.formula
                && (inside.trim().is_empty()
                    || lines::target(inside).is_some_and(lines::is_place)
                    || lines::ends_with_file(inside))
        };
        self.text.as_bytes()[from] == b'!'
            || is_address(word.trim_start_matches('<'))
            || is_place()
            || self.catalogue.by_target(word.trim_matches(['<', '>'])).is_some()
    }

    /// Reads `[text][label]`, `[text][]` and `[label]`, where a definition says that the label is a retrieved page.
    /// Of another page the text stays.
    fn reference(
        &mut self,
        from: usize,
        at: usize,
        (open, close, end): (usize, usize, usize),
        to: usize,
        depth: usize,
    ) -> Option<usize> {
        let inside = &self.text[open..close];
        if self.text.as_bytes()[at] != b'[' || Numbers::read(inside).is_some() || inside.len() > 512 {
            return None;
        }
        let second = self.closing.get(&end).copied().filter(|&second| second < to && self.text[end..].starts_with('['));
        let label = second.map(|second| &self.text[end + 1..second]).filter(|label| !label.trim().is_empty());
        let piece = match (self.numbering.linked(label.unwrap_or(inside), self.before.line)?, second) {
            (Target::Source(index), _) => Some(Piece::Cite { indices: vec![index], spaced: true }),
            (Target::Foreign, Some(_)) => None,
            (Target::Foreign | Target::Remark, _) => return None,
        };
        self.parsed.dropped += u32::from(piece.is_none());
        let after = second.map_or(end, |second| second + 1);
        self.replace(from, at, self.is_space(from).then_some(Piece::Text(" ")));
        self.plain = open;
        let first = self.parsed.pieces.len();
        self.range(open, close, depth + 1);
        self.keep_in_cell(first);
        Some(self.replace(close, after, piece))
    }

    /// Escapes the bars in the text of a link, whose pieces these are from `first` on, so that it stays in its cell
    /// when the link around it is gone.
    fn keep_in_cell(&mut self, first: usize) {
        let is_cut = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if text.contains('|'));
        if !self.before.in_row || !self.parsed.pieces[first..].iter().any(is_cut) {
            return;
        }
        // A part of it may have been seen to already.
        let mut escaped = false;
        for piece in self.parsed.pieces.split_off(first) {
            match piece {
                Piece::Text(text) => self.parsed.pieces.extend(with_escaped_bars(text, &mut escaped)),
                piece => {
                    escaped = false;
                    self.parsed.pieces.push(piece);
                }
            }
        }
    }

    /// Reads `[inside](target)`, which stays as text, with a citation when the target was retrieved. What the model's
    /// own list calls by that text is not asked for: the target says what is meant.
    fn link(&mut self, from: usize, (at, open, close): (usize, usize, usize), paren: usize, depth: usize) -> usize {
        let end = paren + 1;
        let inside = &self.text[open..close];
        let target = &self.text[self.next_char(close) + 1..paren];
        let address = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        let cited = self.catalogue.by_target(address);
        let number = inside.trim_matches(['[', ']', '【', '】', '\\']);
        if let (Some(index), true) = (cited, Numbers::read(number).is_some()) {
            return self.replace(from, end, [Piece::Cite { indices: vec![index], spaced: self.is_space(from) }]);
        }
        // Authors and a year cite, whatever part of the page the link leads to.
        if address.starts_with('#')
            && !self.starts_line(from)
            && let Some(after) = self.work_in_brackets(from, inside, end)
        {
            return after;
        }
        if !self.is_within_page(inside, address)
            && let Some(after) = self.link_that_cites(from, (at, open, end), inside, depth)
        {
            return after;
        }
        self.replace(from, at, self.is_space(from).then_some(Piece::Text(" ")));
        self.plain = open;
        let first = self.parsed.pieces.len();
        self.range(open, close, depth + 1);
        self.keep_in_cell(first);
        match cited {
            Some(index) => self.parsed.pieces.push(Piece::Cite { indices: vec![index], spaced: true }),
            None => self.parsed.dropped += 1,
        }
        self.plain = end;
        end
    }

    /// Returns whether it is a number that leads to a part of the report that is no source, as in
    /// `section [2](#section-two)`.
    fn is_within_page(&self, inside: &str, address: &str) -> bool {
        let Some(anchor) = address.strip_prefix('#') else { return false };
        Numbers::read(inside).is_some_and(|read| {
            !read.marked && !anchors::is_of_source(anchor, &read.numbers) && !self.numbering.has_anchor(anchor)
        })
    }

    /// Reads what the text of a link cites, whatever its target.
    fn link_that_cites(
        &mut self,
        from: usize,
        (at, open, end): (usize, usize, usize),
        inside: &'a str,
        depth: usize,
    ) -> Option<usize> {
        // A number with a link cites, be it a page that was not retrieved.
        let number = inside.trim_matches(['[', ']', '【', '】', '\\']);
        if let Some(read) = self.own_numbers(at, number, end)
            && let Some(after) = self.numbered(from, &Numbers { marked: true, ..read }, end)
        {
            return Some(after);
        }
        if let Some(after) = self.cite_names(from, inside, end, Self::spaced_id) {
            return Some(after);
        }
        self.citation(from, at, inside, (open, end), depth)
    }

    /// Returns what a bracket's content cites; `None` when it is no citation at all.
    fn citation(
        &mut self,
        from: usize,
        at: usize,
        inside: &'a str,
        (open, end): (usize, usize),
        depth: usize,
    ) -> Option<usize> {
        if marks_cited_text(inside) {
            self.parsed.removed += 1;
            return Some(self.replace(at, end, []));
        }
        let named = inside.split_once('†').and_then(|(_, name)| self.catalogue.by_target(name.trim()));
        if let Some(index) = named {
            let spaced = self.is_space(from);
            return Some(self.replace(from, end, [Piece::Cite { indices: vec![index], spaced }]));
        }
        if let Some(read) = self.own_numbers(at, inside, end) {
            let (read, end) = self.range_of_brackets(&read, end).unwrap_or((read, end));
            return self.numbered(from, &read, end);
        }
        if let Some(indices) = self.lettered(from, at, inside) {
            let spaced = self.is_space(from);
            return Some(self.replace(from, end, [Piece::Cite { indices, spaced }]));
        }
        let ids = ids_in_bracket(inside);
        if let Some(name) = inside.strip_prefix('^').filter(|_| ids.is_empty()) {
            return self.footnote(from, name, end);
        }
        if ids.is_empty() {
            return None;
        }
        if only_ids(inside, &ids) {
            let cited = self.cited(&ids, self.is_space(from));
            return Some(self.put_citation(from, end, cited));
        }
        if !self.are_known(&ids) {
            return None;
        }
        self.replace(from, open, [Piece::Text(if self.is_space(from) { " (" } else { "(" })]);
        let first = self.parsed.pieces.len();
        self.range(open, open + inside.len(), depth + 1);
        self.keep_in_cell(first);
        Some(self.replace(open + inside.len(), end, [Piece::Text(")")]))
    }

    fn are_known(&self, ids: &[(usize, usize, u32)]) -> bool {
        ids.iter().any(|(_, _, id)| self.catalogue.by_id.contains_key(id))
    }

    /// Reads `[Smith 2021]` and `[A; B]`, names that the model's own list has for its sources, and `[S 1001]`, an id.
    fn named(&mut self, from: usize, at: usize, inside: &str, end: usize) -> Option<usize> {
        if at < self.formula || self.are_known(&ids_in_bracket(inside)) {
            return None;
        }
        let name =
            |reader: &Self, name: &str| reader.numbering.named(name, reader.before.line).or(reader.spaced_id(name));
        if let Some(after) = self.cite_names(from, inside, end, name) {
            return Some(after);
        }
        if self.starts_line(from) { None } else { self.work_in_brackets(from, inside, end) }
    }

    /// Returns the source of an id with a space in it.
    fn spaced_id(&self, name: &str) -> Option<Target> {
        let id = name.trim().strip_prefix(['S', 's'])?.strip_prefix(' ')?.parse().ok()?;
        self.catalogue.by_id.get(&id).map(|&index| Target::Source(index))
    }

    /// Puts sources in the place of a bracket that holds one name or several, if each of them leads anywhere.
    fn cite_names(
        &mut self,
        from: usize,
        inside: &str,
        end: usize,
        find: impl Fn(&Self, &str) -> Option<Target>,
    ) -> Option<usize> {
        let each = || inside.split([';', ',']).map(|name| find(self, name)).collect::<Option<Vec<_>>>();
        let targets = find(self, inside).map(|target| vec![target]).or_else(each)?;
        if self.starts_line(from) {
            return None;
        }
        let sources =
            targets.iter().filter_map(|target| if let Target::Source(index) = target { Some(*index) } else { None });
        let mut indices: Vec<usize> = sources.collect();
        self.parsed.dropped += u32::try_from(targets.len() - indices.len()).unwrap_or(u32::MAX);
        indices.dedup();
        let spaced = self.is_space(from);
        Some(self.put_citation(from, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced })))
    }

    pub(super) fn cited(&mut self, ids: &[(usize, usize, u32)], spaced: bool) -> Option<Piece<'a>> {
        let mut cited: Vec<usize> = Vec::new();
        for (start, stop, id) in ids {
            match self.catalogue.by_id.get(id) {
                Some(&index) if !cited.contains(&index) => cited.push(index),
                Some(_) => {}
                // A range may leave out an id that was never given out.
                None if start == stop => {}
                None => self.parsed.dropped += 1,
            }
        }
        self.parsed.by_id |= !cited.is_empty();
        (!cited.is_empty()).then_some(Piece::Cite { indices: cited, spaced })
    }

    /// Reads `![alt](target)`, and keeps its alternative text: an image loads from where the model wants.
    fn image(&mut self, at: usize, to: usize, depth: usize) -> usize {
        let close = self.closing.get(&(at + 1)).copied();
        match close.filter(|&close| self.text[close + 1..].starts_with('(')) {
            Some(_) => self.bracket(at + 1, to, depth, at),
            None => at + 1,
        }
    }

    /// Reads ordinary text, a bare id or an address.
    fn word(&mut self, at: usize, to: usize) -> usize {
        let rest = &self.text[at..to];
        let next = self.next_char(at);
        if matches!(rest.as_bytes()[0], b'(' | b'^' | 0xC2 | 0xE2 | 0xEF)
            && let Some(end) = self.unbracketed(at, to)
        {
            return end;
        }
        let starts = !self.previous(at).is_some_and(char::is_alphanumeric);
        let may_number = || starts || self.previous(at).is_some_and(|previous| previous == '源');
        if rest.as_bytes()[0].is_ascii_digit()
            && may_number()
            && let Some(end) = self.number_of_source(at, to)
        {
            return end;
        }
        let web = matches!(rest.as_bytes()[0], b'h' | b'H') && is_address(rest);
        if web {
            return self.address(at, to);
        }
        let may_name = |first: u8| first.is_ascii_alphabetic() || rest.starts_with(['/', '\u{E200}']);
        if !starts || !(may_name(rest.as_bytes()[0]) || rest.starts_with("10.")) {
            return next;
        }
        if is_address(rest) {
            return self.address(at, to);
        }
        if let Some(skipped) = address_in_word(rest) {
            return self.address(at + skipped, to);
        }
        self.bare_id(at, to).or_else(|| self.foreign_name(at, to)).unwrap_or(next)
    }

    fn bare_id(&mut self, at: usize, to: usize) -> Option<usize> {
        let (index, end) = self.id_at(at, to)?;
        self.parsed.by_id = true;
        Some(self.replace(at, end, [Piece::Cite { indices: vec![index], spaced: false }]))
    }

    /// Returns a bracket that is opened before an id and never closed.
    fn unclosed(&mut self, from: usize, at: usize, to: usize) -> Option<usize> {
        let (index, end) = self.id_at(self.next_char(at), to).filter(|_| !self.closing.contains_key(&at))?;
        self.parsed.by_id = true;
        let spaced = self.is_space(from);
        Some(self.replace(from, end, [Piece::Cite { indices: vec![index], spaced }]))
    }

    /// Returns the source whose id stands at this place, and where the id ends.
    fn id_at(&self, at: usize, to: usize) -> Option<(usize, usize)> {
        let rest = &self.text[at..to];
        let digits = rest.strip_prefix(['S', 's'])?.bytes().take(11).take_while(u8::is_ascii_digit).count();
        let whole = 1 + digits;
        let ends = !rest[whole..].starts_with(|next: char| next.is_alphanumeric());
        let index = *self.catalogue.by_id.get(&rest[1..whole].parse().ok()?).filter(|_| ends)?;
        Some((index, at + whole))
    }
}

/// Returns the parts of a text, with a backslash before each bar that has none. `escaped` tells whether one stands
/// right before it, and then whether one is its end.
fn with_escaped_bars<'a>(text: &'a str, escaped: &mut bool) -> Vec<Piece<'a>> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    for (at, character) in text.char_indices() {
        if character == '|' && !*escaped {
            pieces.extend([Piece::Text(&text[done..at]), Piece::Text("\\")]);
            done = at;
        }
        *escaped = character == '\\' && !*escaped;
    }
    pieces.push(Piece::Text(&text[done..]));
    pieces
}

/// Returns whether a bracket marks where text begins or ends that is cited behind it, as `[cite_start]`.
fn marks_cited_text(inside: &str) -> bool {
    matches!(inside, "cite_start" | "cite_end")
}

/// Finds where each bracket and parenthesis is closed, by its own kind alone.
fn closing(text: &str) -> HashMap<usize, usize> {
    let mut open: [Vec<usize>; PARENTHESES.len() + OPENING.len()] = Default::default();
    let mut closing = HashMap::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        let opens = OPENING.iter().copied().chain(PARENTHESES.map(|(open, _)| open)).position(|open| open == character);
        let closes = CLOSING.iter().copied().chain(PARENTHESES.map(|(_, close)| close)).position(|c| c == character);
        match (opens, closes) {
            (None, None) => {
                escaped = character == '\\' && !escaped;
                continue;
            }
            _ if std::mem::take(&mut escaped) => {}
            (Some(kind), _) => open[kind].push(at),
            (None, Some(kind)) => drop(open[kind].pop().map(|start| closing.insert(start, at))),
        }
    }
    closing
}

/// Returns the end of a text, as far as one looks back.
pub(super) fn tail(text: &str) -> &str {
    let from = text.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    &text[from..]
}
