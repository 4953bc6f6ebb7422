//! reStructuredText: sections by their adornments, tables, directives; marks and comments left out.

use super::{Document, date, delimited, outline::Outline, table, text};

/// Directives whose content is no text of the document.
const SILENT: [&str; 12] = [
    "image",
    "figure",
    "contents",
    "toctree",
    "raw",
    "include",
    "index",
    "meta",
    "highlight",
    "role",
    "default-role",
    "sectnum",
];
/// Directives whose content is shown as it stands.
const VERBATIM: [&str; 7] = ["code", "code-block", "sourcecode", "math", "parsed-literal", "literalinclude", "doctest"];
/// Directives within directives, at most so deep.
const MAX_DEPTH: usize = 16;
/// Bytes of a role with its colons; what is longer is none.
const MAX_ROLE: usize = 100;

pub(super) fn read(source: &str) -> Document {
    let mut reader = Reader { outline: Outline::of_text(None), adornments: Vec::new(), author: None, published: None };
    let lines: Vec<&str> = source.lines().collect();
    reader.blocks(&lines, 0);
    Document { published: reader.published, author: reader.author, ..reader.outline.finish() }
}

struct Reader {
    outline: Outline,
    /// Kinds of headings in the order of their levels: the mark, and whether it stands above too.
    adornments: Vec<(char, bool)>,
    author: Option<String>,
    published: Option<String>,
}

impl Reader {
    fn blocks(&mut self, lines: &[&str], depth: usize) {
        let mut at = 0;
        while at < lines.len() {
            let rest = &lines[at..];
            at +=
                self.heading(rest).or_else(|| self.table(rest)).or_else(|| self.explicit(rest, depth)).unwrap_or_else(
                    || {
                        self.line(rest[0]);
                        1
                    },
                );
        }
    }

    /// Returns a heading, with the number of its lines.
    fn heading(&mut self, lines: &[&str]) -> Option<usize> {
        let (title, mark, is_framed) = match lines {
            [over, title, under, ..] if adornment(over).is_some() && over.trim_end() == under.trim_end() => {
                (title.trim(), adornment(over)?, true)
            }
            [title, under, ..] if !title.starts_with([' ', '\t']) => (title.trim(), adornment(under)?, false),
            _ => return None,
        };
        let is_long = !is_framed && lines[1].trim_end().chars().count() < title.chars().count().min(3);
        if is_long || !title.chars().any(char::is_alphanumeric) || adornment(title).is_some() {
            return None;
        }
        let kind = (mark, is_framed);
        let level = self.adornments.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.adornments.push(kind);
            self.adornments.len() - 1
        });
        self.outline.heading(level + 1, &inline(title));
        Some(if is_framed { 3 } else { 2 })
    }

    fn table(&mut self, lines: &[&str]) -> Option<usize> {
        let first = lines[0].trim();
        let (rows, used) = if is_border(first) {
            simple(lines)?
        } else if first.starts_with("+-") && first.ends_with('+') {
            let length = lines.iter().take_while(|line| !line.trim().is_empty()).count();
            if length < 3 {
                return None;
            }
            (grid(&lines[..length]), length)
        } else {
            return None;
        };
        self.outline.block(&table::markdown(rows));
        Some(used)
    }

    /// Reads what begins with two dots: a directive, a note, a target or a comment, with what is indented below it.
    fn explicit(&mut self, lines: &[&str], depth: usize) -> Option<usize> {
        let head = lines[0].trim_start();
        let rest = head.strip_prefix("..").filter(|rest| rest.is_empty() || rest.starts_with(' '))?.trim();
        let indent = lines[0].len() - head.len();
        let below = lines[1..].iter().take_while(|line| line.trim().is_empty() || indent_of(line) > indent).count();
        let content = &lines[1..=below];
        if let Some((name, argument)) = rest.split_once("::").filter(|(name, _)| is_name(name)) {
            self.directive(name, argument.trim(), content, depth);
        } else if let Some((number, note)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let lines = content.iter().map(|line| line.trim());
            let note: Vec<&str> = std::iter::once(note.trim()).chain(lines).collect();
            self.outline.block(&format!(
                "Note {}: {}",
                number.trim_start_matches('#'),
                inline(&text::one_line(&note.join(" ")))
            ));
        }
        Some(1 + below)
    }

    fn directive(&mut self, name: &str, argument: &str, content: &[&str], depth: usize) {
        let is_option = |line: &&&str| line.trim_start().starts_with(':') || line.trim().is_empty();
        let options = content.iter().take_while(is_option).count();
        let (options, content) = content.split_at(options);
        let least =
            content.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
        let content: Vec<&str> = content.iter().map(|line| line.get(least..).unwrap_or_default()).collect();
        if SILENT.contains(&name) || depth > MAX_DEPTH {
            return;
        }
        if VERBATIM.contains(&name) {
            return self.outline.block(&content.join("\n"));
        }
        match name {
            "list-table" | "csv-table" | "table" => {
                self.outline.block(&inline(argument));
                match name {
                    "list-table" => self.outline.block(&table::markdown(listed(&content))),
                    "csv-table" => self.outline.block(&table::markdown(separated(options, &content))),
                    _ => self.blocks(&content, depth + 1),
                }
            }
            _ => {
                self.outline.block(&inline(argument));
                self.blocks(&content, depth + 1);
                self.outline.line("");
            }
        }
    }

    fn line(&mut self, line: &str) {
        if let Some((name, value)) =
            line.strip_prefix(':').and_then(|rest| rest.split_once(": ")).filter(|(name, _)| is_name(name))
        {
            let value = inline(value.trim());
            match name.to_lowercase().as_str() {
                "author" | "authors" => self.author.get_or_insert_with(|| value.clone()),
                "date" | "updated" | "modified" => {
                    self.published.get_or_insert_with(|| date::parse(&value).unwrap_or_default())
                }
                _ => &mut String::new(),
            };
            self.published.take_if(|date| date.is_empty());
            return self.outline.line(&format!("{name}: {value}"));
        }
        match line.trim_end().strip_suffix("::") {
            // What follows stands as it is.
            Some(text) if text.trim().is_empty() => self.outline.line(""),
            Some(text) => self.outline.line(&format!("{}:", inline(text))),
            None => self.outline.line(&inline(line)),
        }
    }
}

/// Returns the mark that a line is made of.
fn adornment(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|char| char == mark)).then_some(mark)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || matches!(char, '-' | '_' | ':' | '.'))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns whether a table begins with that line whose columns stand below marks.
fn is_border(line: &str) -> bool {
    let line = line.trim();
    line.len() > 3 && line.contains(' ') && line.chars().all(|char| matches!(char, '=' | ' '))
}

/// Returns a table drawn with lines.
fn grid(lines: &[&str]) -> Vec<Vec<String>> {
    let edges: Vec<usize> =
        lines[0].trim().chars().enumerate().filter(|(_, char)| *char == '+').map(|(at, _)| at).collect();
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    for line in lines {
        let chars: Vec<char> = line.trim().chars().collect();
        if chars.first() == Some(&'+') {
            rows.extend(Some(std::mem::take(&mut row)).filter(|row| !row.is_empty()));
            continue;
        }
        // A line has as many cells as it is long.
        for (at, bounds) in edges.windows(2).take_while(|bounds| bounds[0] + 1 < chars.len()).enumerate() {
            let piece: String = chars[bounds[0] + 1..bounds[1].min(chars.len())].iter().collect();
            row.resize(row.len().max(at + 1), String::new());
            add(&mut row[at], &piece);
        }
    }
    rows
}

fn add(cell: &mut String, piece: &str) {
    let piece = inline(piece.trim());
    if !cell.is_empty() && !piece.is_empty() {
        cell.push(' ');
    }
    cell.push_str(&piece);
}

/// Returns a table whose columns stand below marks, and the number of its lines.
fn simple(lines: &[&str]) -> Option<(Vec<Vec<String>>, usize)> {
    let rule = lines[0].trim_end();
    let is_rule = |line: &&str| line.trim_end() == rule;
    // Where another table begins, this one has ended.
    let own = lines.iter().take_while(|line| is_rule(line) || !is_border(line));
    let rules: Vec<usize> = own.enumerate().filter(|(_, line)| is_rule(line)).map(|(at, _)| at).take(3).collect();
    // A head stands between the first two rules, unless the table ends with the second.
    let last = match rules.as_slice() {
        [_, second, third] if lines[*second..*third].iter().all(|line| !line.trim().is_empty()) => *third,
        [_, second, ..] => *second,
        _ => return None,
    };
    let marks: Vec<char> = rule.chars().collect();
    let begins = |at: &usize| marks[*at] == '=' && (*at == 0 || marks[*at - 1] == ' ');
    let starts: Vec<usize> = (0..marks.len()).filter(begins).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines[1..last].iter().filter(|line| !is_rule(line) && adornment(&line.replace(' ', "")).is_none()) {
        let chars: Vec<char> = line.chars().collect();
        let cell = |(at, start): (usize, &usize)| {
            let end = starts.get(at + 1).copied().unwrap_or(chars.len()).min(chars.len());
            chars.get(*start..end).unwrap_or_default().iter().collect::<String>()
        };
        let cells: Vec<String> =
            starts.iter().enumerate().take_while(|(_, start)| **start < chars.len()).map(cell).collect();
        let goes_on = cells.first().is_none_or(|first| first.trim().is_empty());
        match rows.last_mut().filter(|_| goes_on) {
            Some(row) => {
                row.resize(row.len().max(cells.len()), String::new());
                row.iter_mut().zip(&cells).for_each(|(cell, piece)| add(cell, piece));
            }
            None => rows.push(cells.iter().map(|cell| inline(cell.trim())).collect()),
        }
    }
    Some((rows, last + 1))
}

/// Returns the rows of a list of lists.
fn listed(lines: &[&str]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let line = line.trim_start();
        let (cell, is_new) =
            match (line.strip_prefix("* -"), line.strip_prefix("- ").or_else(|| line.strip_prefix('-'))) {
                (Some(cell), _) => {
                    rows.push(Vec::new());
                    (cell, true)
                }
                (None, Some(cell)) => (cell, true),
                (None, None) => (line, false),
            };
        let Some(row) = rows.last_mut() else { continue };
        if is_new {
            row.push(String::new());
        }
        if let Some(last) = row.last_mut() {
            add(last, cell);
        }
    }
    rows
}

fn separated(options: &[&str], lines: &[&str]) -> Vec<Vec<String>> {
    let header = options.iter().find_map(|line| line.trim().strip_prefix(":header:"));
    delimited::records(&header.into_iter().map(str::trim).chain(lines.iter().copied()).collect::<Vec<_>>().join("\n"))
}

/// Returns a line without the marks that readers do not see.
fn inline(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*', ':', '\\', ']']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = marked(rest, &mut plain);
    }
    plain.push_str(rest);
    plain
}

/// Handles the mark that `rest` begins with; returns what follows.
fn marked<'a>(rest: &'a str, plain: &mut String) -> &'a str {
    let between = |open: &str, close: &str| {
        let inner = rest.strip_prefix(open)?;
        let end = inner.find(close).filter(|end| *end > 0)?;
        let is_tight = !inner.starts_with(char::is_whitespace) && !inner[..end].ends_with(char::is_whitespace);
        is_tight.then(|| (&inner[..end], &inner[end + close.len()..]))
    };
    if let Some((inner, after)) = between("``", "``") {
        plain.push_str(inner);
        return after;
    }
    if let Some((inner, after)) =
        role(rest).and_then(|after| after.strip_prefix('`')?.split_once('`')).or_else(|| between("`", "`"))
    {
        plain.push_str(inner.rsplit_once(" <").filter(|_| inner.ends_with('>')).map_or(inner, |(text, _)| text));
        return after.trim_start_matches('_');
    }
    for mark in ["**", "*"] {
        if let Some((inner, after)) = between(mark, mark) {
            plain.push_str(inner);
            return after;
        }
    }
    if let Some(after) = rest.strip_prefix("]_") {
        plain.push(']');
        return after;
    }
    let mut chars = rest.chars();
    match (chars.next(), chars.clone().next()) {
        (Some('\\'), Some(next)) => {
            chars.next();
            plain.extend(Some(next).filter(|next| !next.is_whitespace()));
        }
        (Some(first), _) => plain.push(first),
        (None, _) => {}
    }
    chars.as_str()
}

/// Returns what follows a role such as `:ref:` that stands before a quoted text.
fn role(rest: &str) -> Option<&str> {
    let near = &rest[..rest.floor_char_boundary(MAX_ROLE)];
    let (name, _) = near.strip_prefix(':')?.split_once(":`")?;
    let after = &rest[name.len() + 3..];
    is_name(name).then(|| &rest[rest.len() - after.len() - 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    fn text_of(source: &str) -> String {
        let document = read(source);
        let texts = document.sections.iter().flat_map(|section| section.label.iter().chain([&section.text]));
        texts.cloned().collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn marks_go_and_words_stay() {
        let check = |line: &str, expected: &str| assert_eq!(inline(line), expected, "{line}");
        check(
            "The *gate* is **open**, see `the page <https://a.test/>`_ and :ref:`dues <x>`.",
            "The gate is open, see the page and dues.",
        );
        check("``a * b`` at 10:30, 2 * 3 * 4 [1]_", "a * b at 10:30, 2 * 3 * 4 [1]");
        check(r"re\ ``Structured`` \*", "reStructured *");
    }

    #[test]
    fn sections_tables_and_directives() {
        let source = "=====\nMills\n=====\n\n:Author: M. Tey\n:Date: 2031-03-10\n\n.. a comment\n   goes\n\nWind\n----\n\n\
            .. note:: It turns.\n\n+------+-----+\n| Boat | Due |\n+======+=====+\n| Big  | 4   |\n| one  |     |\n+------+-----+\n\n\
            ====  ===\nName  No\n====  ===\nCod   1\nLing  2\n====  ===\n\nEnd.\n";
        let document = read(source);
        assert_eq!(document.title.as_deref(), Some("Mills"));
        assert_eq!((document.author.as_deref(), document.published.as_deref()), (Some("M. Tey"), Some("2031-03-10")));
        let text = text_of(source);
        for part in
            ["Wind\nIt turns.", "| Boat | Due |\n| --- | --- |\n| Big one | 4 |", "| Cod | 1 |\n| Ling | 2 |\n\nEnd."]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("comment"), "{text}");
    }

    #[test]
    fn lists_and_values_are_tables() {
        let source = "Boats\n=====\n\n.. list-table:: Dues\n   :header-rows: 1\n\n   * - Boat\n     - Due\n   * - Big\n     - 4\n\n.. csv-table::\n   :header: \"A\", \"B\"\n\n   1, \"2\"\n";
        let text = text_of(source);
        for part in ["Dues\n\n| Boat | Due |\n| --- | --- |\n| Big | 4 |", "| A | B |\n| --- | --- |\n| 1 | 2 |"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    /// Each of them looks for its end.
    #[test]
    fn borders_without_tables_are_passed_over_in_time() {
        let border = |number: usize| {
            let marks: String = (0..16).map(|bit| if number >> bit & 1 == 1 { '=' } else { ' ' }).collect();
            format!("={marks}= =\n\n")
        };
        growth::check("x", 1_000, |text| drop(read(&(0..text.len()).map(border).collect::<String>())));
    }
}
