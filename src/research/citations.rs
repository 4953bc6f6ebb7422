//! Citations are real because of this file, not because of a prompt.
//!
//! The writer cites source ids (`[S1003]`). [`Resolver`] reads its text as it streams, turns ids of retrieved sources
//! into numbers in order of first use, and removes whatever else claims to be a citation: unknown ids, numbers the
//! model made up, links and addresses that this run did not retrieve, and a source list of the model's own. At the end
//! it writes the list itself. How the text was cut into chunks never changes the result.

use std::collections::HashMap;

use super::source_list;
use crate::domain::{Source, SourceId, report::Citation};

/// Text that might still become a citation is held back up to this many bytes; longer, it is ordinary text.
const HELD_BYTES: usize = 2_048;
/// Headings under which models list sources, lower case.
const SOURCE_HEADINGS: [&str; 20] = [
    "sources",
    "source list",
    "sources used",
    "sources cited",
    "references",
    "reference list",
    "bibliography",
    "works cited",
    "citations",
    "quellen",
    "quellenverzeichnis",
    "literatur",
    "références",
    "fuentes",
    "referencias",
    "fonti",
    "来源",
    "参考文献",
    "参考资料",
    "資料來源",
];
/// HTML tags that link, load or imitate our own markers; they are removed, their content stays.
const REMOVED_TAGS: [&str; 12] =
    ["a", "img", "script", "style", "iframe", "link", "object", "embed", "form", "source", "sources", "svg"];

/// Resolves the citations of one report as it streams.
#[derive(Debug)]
pub struct Resolver {
    sources: Vec<Source>,
    /// Index into `sources` by id and alias.
    by_id: HashMap<u32, usize>,
    by_url: HashMap<String, usize>,
    /// Indices into `sources` in order of first use: position plus one is the number.
    order: Vec<usize>,
    citations: Vec<Citation>,
    dropped: u32,
    /// Input not yet decided on.
    pending: String,
    /// Unicode scalar values emitted so far.
    written: usize,
    /// The last emitted character, and the one before it.
    tail: [char; 2],
    /// What the citations that end at `group_end`, one right after the other, cite.
    group: Vec<usize>,
    group_end: usize,
    line: Line,
}

/// What kind of line the scanner is in.
#[derive(Debug, PartialEq)]
enum Line {
    /// At its first character.
    Start,
    Middle,
    /// Inside a fenced code block opened by this many of this character.
    Fence(char, usize),
    /// Inside a source list of the model's own, under a heading of this level.
    Skipped {
        level: usize,
    },
}

/// What the scanner does with the front of the pending text.
enum Token {
    /// Replace so many bytes by these pieces.
    Replace(usize, Vec<Piece>),
    /// What this is depends on text that has not come yet.
    Undecided,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Cite(usize),
}

impl Token {
    fn literal(text: &str) -> Self {
        Self::Replace(text.len(), vec![Piece::Text(text.to_owned())])
    }

    fn dropped(bytes: usize) -> Self {
        Self::Replace(bytes, Vec::new())
    }
}

impl Resolver {
    /// A resolver for a report that may cite `sources`.
    pub fn new(sources: Vec<Source>) -> Self {
        let ids = |(index, source): (usize, &Source)| {
            let all = std::iter::once(source.id).chain(source.aliases.iter().copied());
            all.map(move |id| (id.0, index)).collect::<Vec<_>>()
        };
        Self {
            by_id: sources.iter().enumerate().flat_map(ids).collect(),
            by_url: sources.iter().enumerate().map(|(index, source)| (normal(&source.url), index)).collect(),
            sources,
            order: Vec::new(),
            citations: Vec::new(),
            dropped: 0,
            pending: String::new(),
            written: 0,
            tail: ['\n', '\n'],
            group: Vec::new(),
            group_end: usize::MAX,
            line: Line::Start,
        }
    }

    /// Takes more of the model's text; returns what is settled by it, which may be nothing.
    pub fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        self.advance(false)
    }

    /// Settles the rest and appends the source list.
    pub fn finish(&mut self) -> String {
        let mut out = self.advance(true);
        let cited: Vec<_> = self.order.iter().map(|&index| &self.sources[index]).collect();
        let list = source_list::render(&cited, &self.sources);
        if !list.is_empty() {
            let gap = match self.tail {
                ['\n', '\n'] => "",
                [_, '\n'] => "\n",
                _ => "\n\n",
            };
            self.emit(&mut out, gap);
            self.emit(&mut out, &list);
        }
        out
    }

    /// Every citation so far, in order of appearance.
    pub fn citations(&self) -> &[Citation] {
        &self.citations
    }

    /// The source behind a number.
    pub fn source(&self, number: u32) -> Option<&Source> {
        let position = usize::try_from(number).ok()?.checked_sub(1)?;
        self.order.get(position).map(|&index| &self.sources[index])
    }

    /// Sources cited so far.
    pub fn cited(&self) -> usize {
        self.order.len()
    }

    /// Citations removed because nothing retrieved stands behind them.
    pub fn dropped(&self) -> u32 {
        self.dropped
    }

    fn advance(&mut self, end: bool) -> String {
        let mut out = String::new();
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        while !rest.is_empty() {
            match self.token(rest, end) {
                Token::Replace(bytes, pieces) => {
                    rest = &rest[bytes..];
                    pieces.into_iter().for_each(|piece| self.emit_piece(&mut out, piece));
                }
                Token::Undecided => break,
            }
        }
        self.pending = rest.to_owned();
        out
    }

    fn emit_piece(&mut self, out: &mut String, piece: Piece) {
        match piece {
            Piece::Text(text) => self.emit(out, &text),
            Piece::Cite(index) if self.just_cited(index) => {}
            Piece::Cite(index) => {
                if self.written != self.group_end {
                    self.group.clear();
                }
                self.group.push(index);
                let number = self.number(index);
                let (start, mark) = (self.written, format!("[{number}]"));
                self.emit(out, &mark);
                let source_id = self.sources[index].id;
                self.citations.push(Citation { number, source_id, start, end: self.written });
                self.group_end = self.written;
            }
        }
    }

    /// Does a citation of the same source stand right here already? Two ids may mean one page.
    fn just_cited(&self, index: usize) -> bool {
        self.written == self.group_end && self.group.contains(&index)
    }

    fn emit(&mut self, out: &mut String, text: &str) {
        for character in text.chars() {
            self.written += 1;
            self.tail = [self.tail[1], character];
        }
        out.push_str(text);
    }

    fn number(&mut self, index: usize) -> u32 {
        let position = self.order.iter().position(|&used| used == index).unwrap_or_else(|| {
            self.order.push(index);
            self.order.len() - 1
        });
        u32::try_from(position + 1).unwrap_or(u32::MAX)
    }

    /// Decides what the front of `rest` is.
    fn token(&mut self, rest: &str, end: bool) -> Token {
        if self.line != Line::Middle
            && let Some(token) = self.line_token(rest, end)
        {
            return token;
        }
        self.line = Line::Middle;
        let word_starts = !self.tail[1].is_alphanumeric();
        match rest.as_bytes()[0] {
            b'\n' => {
                self.line = Line::Start;
                Token::literal("\n")
            }
            b' ' => self.space(rest, end),
            b'[' => self.bracket(rest, '[', ']', end),
            0xE3 if rest.starts_with('【') => self.bracket(rest, '【', '】', end),
            b']' => self.loose_end(rest, end),
            b'!' => self.image(rest, end),
            b'`' => code_span(rest, end),
            b'<' => self.angle(rest, end),
            b'S' | b's' if word_starts => self.bare_id(rest, end),
            b'h' | b'H' => self.address(rest, end),
            b'w' | b'W' if word_starts => self.address(rest, end),
            _ => Token::literal(plain_run(rest)),
        }
    }

    /// Headings, fences and lines of a source list need their whole line; `None` for an ordinary line.
    fn line_token(&mut self, rest: &str, end: bool) -> Option<Token> {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let whole = end || line.ends_with('\n');
        if !whole && line.len() > HELD_BYTES {
            return None;
        }
        let trimmed = line.trim();
        match self.line {
            Line::Fence(mark, count) => return Some(self.fenced(line, trimmed, mark, count, whole)),
            Line::Skipped { level } => return self.skipped(line, trimmed, level, whole),
            Line::Start | Line::Middle => {}
        }
        if may_be_special(trimmed) && !whole {
            return Some(Token::Undecided);
        }
        if let Some((mark, count)) = fence(trimmed) {
            self.line = Line::Fence(mark, count);
            return Some(Token::literal(line));
        }
        let level = source_heading(trimmed)?;
        self.line = Line::Skipped { level };
        Some(Token::dropped(line.len()))
    }

    fn fenced(&mut self, line: &str, trimmed: &str, mark: char, count: usize, whole: bool) -> Token {
        if !whole {
            return Token::Undecided;
        }
        if fence(trimmed)
            .is_some_and(|(closing, length)| closing == mark && length >= count && trimmed.chars().all(|c| c == mark))
        {
            self.line = Line::Start;
        }
        Token::literal(line)
    }

    fn skipped(&mut self, line: &str, trimmed: &str, level: usize, whole: bool) -> Option<Token> {
        if !whole {
            return Some(Token::Undecided);
        }
        let ends = match heading(trimmed) {
            Some((other, _)) => other <= level && source_heading(trimmed).is_none(),
            None => level > 6 && !is_list_line(trimmed),
        };
        if ends {
            self.line = Line::Start;
            return None;
        }
        Some(Token::dropped(line.len()))
    }

    /// `](` whose beginning was too far away to be held back still makes a link; a space takes it apart.
    fn loose_end(&mut self, rest: &str, end: bool) -> Token {
        if rest.len() == 1 && !end {
            return Token::Undecided;
        }
        if !rest[1..].starts_with('(') {
            return Token::literal("]");
        }
        self.dropped += 1;
        Token::Replace(1, vec![Piece::Text("] ".to_owned())])
    }

    /// A space before a bracket belongs to it, so that a removed citation leaves no gap.
    fn space(&mut self, rest: &str, end: bool) -> Token {
        let after = &rest[1..];
        if after.is_empty() && !end {
            return Token::Undecided;
        }
        if !after.starts_with(['[', '【']) {
            return Token::literal(" ");
        }
        let (open, close) = if after.starts_with('[') { ('[', ']') } else { ('【', '】') };
        match self.bracket(after, open, close, end) {
            Token::Replace(bytes, pieces) if pieces.is_empty() => Token::dropped(bytes + 1),
            Token::Replace(bytes, pieces) if pieces.iter().all(|piece| self.repeats(piece)) => {
                Token::dropped(bytes + 1)
            }
            Token::Replace(bytes, mut pieces) => {
                pieces.insert(0, Piece::Text(" ".to_owned()));
                Token::Replace(bytes + 1, pieces)
            }
            Token::Undecided => Token::Undecided,
        }
    }

    fn repeats(&self, piece: &Piece) -> bool {
        matches!(piece, Piece::Cite(index) if self.just_cited(*index))
    }

    fn bracket(&mut self, rest: &str, open: char, close: char, end: bool) -> Token {
        let literal = Token::literal(&rest[..open.len_utf8()]);
        let inside = match enclosed(rest, open, close) {
            Enclosed::Text(inside) => inside,
            Enclosed::Open if !end => return Token::Undecided,
            Enclosed::Open | Enclosed::Never => return literal,
        };
        let bytes = open.len_utf8() + inside.len() + close.len_utf8();
        let after = &rest[bytes..];
        if after.is_empty() && !end {
            return Token::Undecided;
        }
        if after.starts_with('(') {
            return match enclosed(after, '(', ')') {
                Enclosed::Text(target) => self.link(bytes + target.len() + 2, inside, target),
                Enclosed::Open if !end => Token::Undecided,
                Enclosed::Open | Enclosed::Never => self.citation(bytes, inside).unwrap_or(literal),
            };
        }
        self.citation(bytes, inside).unwrap_or(literal)
    }

    /// `[inside](target)`: stays as text, with a citation when the target was retrieved.
    fn link(&mut self, bytes: usize, inside: &str, target: &str) -> Token {
        if let Some(token) = self.citation(bytes, inside) {
            return token;
        }
        let mut pieces = self.inner(inside);
        let address = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        match self.by_url.get(&normal(address)) {
            Some(&index) => pieces.extend([Piece::Text(" ".to_owned()), Piece::Cite(index)]),
            None => self.dropped += 1,
        }
        Token::Replace(bytes, pieces)
    }

    /// What a bracket's content cites; `None` when it is no citation at all.
    fn citation(&mut self, bytes: usize, inside: &str) -> Option<Token> {
        if is_own_number(inside) {
            self.dropped += 1;
            return Some(Token::dropped(bytes));
        }
        let ids = ids_in(inside);
        if ids.is_empty() {
            return None;
        }
        if !only_ids(inside, &ids) {
            let mut pieces = self.inner(inside);
            pieces.insert(0, Piece::Text("(".to_owned()));
            pieces.push(Piece::Text(")".to_owned()));
            return Some(Token::Replace(bytes, pieces));
        }
        let mut cited = Vec::new();
        for (_, _, id) in ids {
            match self.by_id.get(&id) {
                Some(&index) if !cited.contains(&index) => cited.push(index),
                Some(_) => {}
                None => self.dropped += 1,
            }
        }
        Some(Token::Replace(bytes, cited.into_iter().map(Piece::Cite).collect()))
    }

    /// Text inside a bracket, resolved as text outside is: a link in a link is a link too.
    fn inner(&mut self, text: &str) -> Vec<Piece> {
        let tail = std::mem::replace(&mut self.tail, [' ', ' ']);
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(Token::Replace(bytes, found)) = (!rest.is_empty()).then(|| self.token(rest, true)) {
            self.tail[1] = rest[..bytes].chars().last().unwrap_or(' ');
            pieces.extend(found);
            rest = &rest[bytes..];
        }
        self.tail = tail;
        pieces
    }

    /// `![alt](target)` keeps its alternative text: an image loads from where the model wants.
    fn image(&mut self, rest: &str, end: bool) -> Token {
        match rest.as_bytes().get(1) {
            None if !end => Token::Undecided,
            Some(b'[') => match self.bracket(&rest[1..], '[', ']', end) {
                Token::Replace(bytes, pieces) if bytes > 1 => Token::Replace(bytes + 1, pieces),
                Token::Replace(..) => Token::literal("!"),
                Token::Undecided => Token::Undecided,
            },
            _ => Token::literal("!"),
        }
    }

    fn angle(&mut self, rest: &str, end: bool) -> Token {
        let name_starts = rest[1..].chars().next();
        if name_starts.is_none() && !end {
            return Token::Undecided;
        }
        if !name_starts.is_some_and(|first| first.is_ascii_alphabetic() || first == '/') {
            return Token::literal("<");
        }
        let Some(close) = rest.find('>') else {
            let undecided = !end && rest.len() < HELD_BYTES;
            return if undecided { Token::Undecided } else { Token::literal("<") };
        };
        let inside = &rest[1..close];
        if is_address(inside) {
            let pieces = vec![self.addressed(inside)];
            return Token::Replace(close + 1, pieces);
        }
        if let Some(rest) = behind_scheme(inside) {
            self.dropped += 1;
            return Token::Replace(close + 1, self.inner(rest));
        }
        let name: String = inside.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        if REMOVED_TAGS.contains(&name.to_ascii_lowercase().as_str()) {
            return Token::dropped(close + 1);
        }
        Token::literal("<")
    }

    fn bare_id(&mut self, rest: &str, end: bool) -> Token {
        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = 1 + digits;
        if rest.len() == whole && !end && digits < 10 {
            return Token::Undecided;
        }
        let ends = !rest[whole..].starts_with(|next: char| next.is_alphanumeric());
        match rest[1..whole].parse().ok().and_then(|id: u32| self.by_id.get(&id)) {
            Some(&index) if ends => Token::Replace(whole, vec![Piece::Cite(index)]),
            _ => Token::literal(&rest[..whole]),
        }
    }

    fn address(&mut self, rest: &str, end: bool) -> Token {
        let could_become = ["http://", "https://", "www."]
            .iter()
            .any(|scheme| rest.len() < scheme.len() && scheme[..rest.len()].eq_ignore_ascii_case(rest));
        if could_become && !end {
            return Token::Undecided;
        }
        if !is_address(rest) {
            return Token::literal(plain_run(rest));
        }
        let stop = address_length(rest);
        if stop == rest.len() && !end && stop < HELD_BYTES {
            return Token::Undecided;
        }
        let address = rest[..stop].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
        let piece = self.addressed(address);
        Token::Replace(address.len(), vec![piece])
    }

    fn addressed(&mut self, address: &str) -> Piece {
        if let Some(&index) = self.by_url.get(&normal(address)) {
            return Piece::Cite(index);
        }
        self.dropped += 1;
        Piece::Text(host(address).to_owned())
    }
}

/// Text up to the next character that could begin something.
fn plain_run(rest: &str) -> &str {
    let special = |c: char| matches!(c, '\n' | ' ' | '[' | ']' | '【' | '!' | '`' | '<' | 'h' | 'H');
    let mut previous = '\0';
    for (at, character) in rest.char_indices() {
        let word = !previous.is_alphanumeric() && matches!(character, 'S' | 's' | 'w' | 'W');
        if at > 0 && (special(character) || word) {
            return &rest[..at];
        }
        previous = character;
    }
    rest
}

enum Enclosed<'a> {
    Text(&'a str),
    /// The closing character has not come yet.
    Open,
    /// It cannot come any more: the line ended, or the text is too long.
    Never,
}

fn enclosed(rest: &str, open: char, close: char) -> Enclosed<'_> {
    let mut depth = 0;
    for (at, character) in rest.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return Enclosed::Text(&rest[open.len_utf8()..at]);
            }
        } else if character == '\n' || at > HELD_BYTES {
            return Enclosed::Never;
        }
    }
    Enclosed::Open
}

/// Code stays as it is; a span that is not closed on its line, by as many ticks, is no code.
fn code_span(rest: &str, end: bool) -> Token {
    let run = |text: &str| text.bytes().take_while(|&byte| byte == b'`').count();
    let line = rest.split('\n').next().unwrap_or(rest);
    let undecided = line.len() == rest.len() && !end && rest.len() < HELD_BYTES;
    let ticks = run(rest);
    let mut at = ticks;
    while let Some(next) = line[at..].find('`') {
        let length = run(&line[at + next..]);
        at += next + length;
        if length == ticks && !(undecided && at == line.len()) {
            return Token::literal(&rest[..at]);
        }
    }
    if undecided { Token::Undecided } else { Token::literal(&rest[..ticks]) }
}

fn may_be_special(trimmed: &str) -> bool {
    trimmed.is_empty() || trimmed.starts_with(['#', '`', '~']) || may_be_title(trimmed)
}

/// Could the line, once whole, be a title like `**Sources:**`?
fn may_be_title(trimmed: &str) -> bool {
    let title = trimmed.trim_start_matches(['*', '_', ' ']).to_lowercase();
    title.is_empty()
        || SOURCE_HEADINGS.iter().any(|heading| heading.starts_with(title.as_str()) || title.starts_with(heading))
}

fn fence(trimmed: &str) -> Option<(char, usize)> {
    let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = trimmed.chars().take_while(|&character| character == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Level and title of a Markdown heading.
fn heading(trimmed: &str) -> Option<(usize, &str)> {
    let level = trimmed.bytes().take_while(|&byte| byte == b'#').count();
    (1..=6).contains(&level).then(|| (level, trimmed[level..].trim()))
}

/// The level of a heading over a source list; 7 for a bold or plain line that serves as one.
fn source_heading(trimmed: &str) -> Option<usize> {
    let (level, title) = heading(trimmed).unwrap_or((7, trimmed));
    let marked = level < 7 || title.starts_with(['*', '_']) || title.ends_with([':', '：']);
    // A plain line is held back only while it can become a title, so no more is forgiven here than there.
    let around = |c: char| if level < 7 { !c.is_alphabetic() } else { matches!(c, '*' | '_' | ' ' | ':' | '：') };
    let title = title.trim_matches(around).to_lowercase();
    (marked && SOURCE_HEADINGS.contains(&title.as_str())).then_some(level)
}

fn is_list_line(trimmed: &str) -> bool {
    let first = trimmed.chars().next();
    first.is_none_or(|first| matches!(first, '-' | '*' | '+' | '[' | '【' | '•') || first.is_ascii_digit())
        || ids_in(trimmed).first().is_some_and(|(start, _, _)| *start == 0)
        || is_address(trimmed)
}

/// `1`, `^2`, `1, 3` or `2-4`: numbers that only our code may give.
fn is_own_number(inside: &str) -> bool {
    let digits = |part: &str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    inside.trim().trim_start_matches('^').split([',', ';', '-', '–', '，']).map(str::trim).all(digits)
}

/// Ids in `text` as (start, end, number), each a word of its own.
fn ids_in(text: &str) -> Vec<(usize, usize, u32)> {
    let mut found = Vec::new();
    let mut previous = '\0';
    for (at, character) in text.char_indices() {
        if matches!(character, 'S' | 's') && !previous.is_alphanumeric() {
            let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let stop = at + 1 + digits;
            let ends = !text[stop..].starts_with(|next: char| next.is_alphanumeric());
            if let (true, Ok(number)) = (ends, text[at + 1..stop].parse()) {
                found.push((at, stop, number));
            }
        }
        previous = character;
    }
    found
}

/// Is there nothing beside the ids but separators and words like "Source"?
fn only_ids(inside: &str, ids: &[(usize, usize, u32)]) -> bool {
    let mut from = 0;
    let mut between = String::new();
    for (start, stop, _) in ids {
        between.push_str(&inside[from..*start]);
        between.push(' ');
        from = *stop;
    }
    between.push_str(&inside[from..]);
    let mut words = between.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| matches!(word.to_lowercase().as_str(), "source" | "sources" | "and" | "see" | "und" | "et" | "id"))
}

fn is_address(text: &str) -> bool {
    let starts = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("http://") || starts("https://") || starts("www.")
}

/// What follows the scheme of an address of any other kind (`mailto:`, `ftp://`), which angle brackets make a link.
fn behind_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let fits = scheme.len() >= 2 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    (fits && !rest.contains(char::is_whitespace)).then(|| rest.trim_start_matches('/'))
}

fn address_length(text: &str) -> usize {
    let mut depth = 0_i32;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            '<' | '>' | '"' | '[' | ']' | '`' | '|' | '\\' => return at,
            c if c.is_whitespace() || matches!(c, '，' | '。' | '、' | '；' | '）' | '】' | '」') => return at,
            _ => {}
        }
    }
    text.len()
}

/// The host of an address, without what would make it a link again.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    host.get(..4).filter(|start| start.eq_ignore_ascii_case("www.")).map_or(host, |start| &host[start.len()..])
}

/// Addresses that differ only in scheme, case of the host, `www.` or a trailing slash are the same page.
fn normal(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/');
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    format!("{}/{path}", host.to_lowercase())
}

/// The ids a note or report uses, each once, in order of first use.
pub fn cited_ids(text: &str) -> Vec<SourceId> {
    let mut ids = Vec::new();
    for (_, _, id) in ids_in(text) {
        if !ids.contains(&SourceId(id)) {
            ids.push(SourceId(id));
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Timestamp;

    fn source(id: u32, aliases: &[u32], url: &str, title: &str) -> Source {
        Source {
            id: SourceId(id),
            aliases: aliases.iter().copied().map(SourceId).collect(),
            url: url.to_owned(),
            title: title.to_owned(),
            section: None,
            engine: "tavily".to_owned(),
            score: None,
            published: None,
            fetched_at: Timestamp(0),
            content_hash: String::new(),
            snapshot: String::new(),
        }
    }

    fn sources() -> Vec<Source> {
        vec![
            source(1001, &[2003], "https://harbour.test/tariff", "Tariff"),
            source(1002, &[], "https://museum.test/", "Museum"),
        ]
    }

    fn body(resolver: &mut Resolver, chunks: &[&str]) -> String {
        let mut out: String = chunks.iter().map(|chunk| resolver.push(chunk)).collect();
        out.push_str(&resolver.finish());
        out.split("\n\n### Sources").next().unwrap().to_owned()
    }

    fn check(input: &str, expected: &str, dropped: u32) {
        let mut resolver = Resolver::new(sources());
        assert_eq!(body(&mut resolver, &[input]), expected, "for {input:?}");
        assert_eq!(resolver.dropped(), dropped, "dropped in {input:?}");
    }

    #[test]
    fn ids_become_numbers_in_order_of_first_use() {
        check("Open [S1002]. Cheap [S1001]. Old [S1002].", "Open [1]. Cheap [2]. Old [1].", 0);
        check("Both [S1001][S1002] and [S1001, S1002].", "Both [1][2] and [1][2].", 0);
        check("Same page [S1001] [S2003].", "Same page [1].", 0);
        check("[S1001][S2003][S1002][S2003] and [S1001]", "[1][2] and [1]", 0);
        check("中文【S1001】。", "中文[1]。", 0);
        check("Named (Source S1001) and S1002 bare.", "Named (Source [1]) and [2] bare.", 0);
        check("[Source: S1001] [sources S1001 and S1002]", "[1] [1][2]", 0);
        check("[see the tariff, S1001]", "(see the tariff, [1])", 0);
    }

    #[test]
    fn what_was_never_retrieved_is_no_citation() {
        check("Bold claim [S9999].", "Bold claim.", 1);
        check("Half [S1001, S9999].", "Half [1].", 1);
        check("Own number [3] and [1, 2] and [^4].", "Own number and and.", 3);
        check("A year [2031] and a box [ ] stay.", "A year [2031] and a box [ ] stay.", 0);
    }

    #[test]
    fn links_are_cut_unless_their_page_was_retrieved() {
        check("See [the tariff](https://www.harbour.test/tariff/).", "See the tariff [1].", 0);
        check("See [this](https://evil.test/x?y=1).", "See this.", 1);
        check("[S1001](https://evil.test)", "[1]", 0);
        check("![logo](https://evil.test/pixel.png) text", "logo text", 1);
        check("At https://harbour.test/tariff, or https://evil.test/a(b)c.", "At [1], or evil.test.", 1);
        check("<https://evil.test> <a href=\"https://evil.test\">x</a> 1 < 2", "evil.test x 1 < 2", 1);
        check("www.evil.test (https://evil.test/a)", "evil.test (evil.test)", 2);
        check("[a [b](https://evil.test) c](https://evil.test)", "a b c", 2);
        check("[see [b](https://evil.test/x), s1001]", "(see b, [1])", 1);
        check("![a <img src=x> [3]](https://evil.test)", "a ", 2);
        check("xhttps://evil.test/a", "xevil.test", 1);
        check("<ftp://evil.test/a> <b: c>", "evil.test/a <b: c>", 1);
    }

    #[test]
    fn links_too_long_to_be_held_back_are_taken_apart() {
        let far = format!("[{}](u)", "x".repeat(3_000));
        check(&far, &far.replace("](", "] ("), 1);
        let mut resolver = Resolver::new(sources());
        let deep = "[".repeat(2_000) + "x" + &"](u)".repeat(2_000);
        assert!(!body(&mut resolver, &[&deep]).contains("]("));
    }

    #[test]
    fn code_is_left_alone() {
        check("`a[1]` and ``b`[2]``", "`a[1]` and ``b`[2]``", 0);
        check("one ` tick [S1001]\nnext", "one ` tick [1]\nnext", 0);
        check("```\nx[1] https://evil.test\n```\n[S1001]", "```\nx[1] https://evil.test\n```\n[1]", 0);
    }

    #[test]
    fn a_source_list_of_the_models_own_is_removed() {
        check("Text [S1001].\n\n## Sources\n- [S1002] https://evil.test\n", "Text [1].", 0);
        check("A [S1001]\n\n**Sources:**\n1. https://evil.test\n\nAfter.", "A [1]\n\nAfter.", 0);
        check("## References\n[1] x\n## Next\ny", "## Next\ny", 0);
        check("Sources of error are few.", "Sources of error are few.", 0);
        check("## Sources of error\nfew", "## Sources of error\nfew", 0);
    }

    #[test]
    fn the_list_numbers_every_cited_source_once() {
        let mut resolver = Resolver::new(sources());
        let text = resolver.push("Old [S1002], cheap [S2003].") + &resolver.finish();
        assert_eq!(
            text,
            "Old [1], cheap [2].\n\n### Sources\n\n- [1] Museum: https://museum.test/\n- [2] Tariff: https://harbour.test/tariff\n"
        );
        assert_eq!(resolver.written, text.chars().count());
        let places: Vec<_> = resolver.citations().iter().map(|c| &text[c.start..c.end]).collect();
        assert_eq!(places, ["[1]", "[2]"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        #[test]
        fn chunks_never_change_the_result(
            words in prop::collection::vec(prop::sample::select(vec![
                "[S1001]", "[S1002, S9]", "[", "]", "(", ")", "`", "``", "\n", " ", "S1001", "S1", "https://evil.test/a",
                "http", "www.", "【S1001】", "#", "## Sources", "Sources:", "**", "```", "- x", "![a](b)", "[t](https://museum.test)", "[t](https://evil.test/a)", "](https://evil.test/a)",
                "<a href=x>", "<", ">", "[1]", "!", "é", "。", "\\",
            ]), 0..24),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let text = words.concat();
            let mut whole = Resolver::new(sources());
            let expected = whole.push(&text) + &whole.finish();
            prop_assert!(text.contains('`') || !expected.contains("//evil.test"), "only code may hold the address: {}", expected);
            let mut borders: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).filter(|&cut| text.is_char_boundary(cut)).collect();
            borders.extend([0, text.len()]);
            borders.sort_unstable();
            let mut pieces = Resolver::new(sources());
            let mut actual: String = borders.windows(2).map(|pair| pieces.push(&text[pair[0]..pair[1]])).collect();
            actual.push_str(&pieces.finish());
            prop_assert_eq!(&actual, &expected);
            prop_assert_eq!(pieces.written, actual.chars().count());
        }
    }
}
