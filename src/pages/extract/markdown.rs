//! Markdown to sections: one per heading, with the marks a reader does not need taken away.

use super::{Document, date, links, outline::Outline, text};

/// Fields of a front matter with the document's date, the surest first.
const DATES: [&str; 6] = ["date", "updated", "last_modified", "published", "valid_from", "effective"];

/// Fields of a front matter that are said of the document elsewhere.
const NAMED: [&str; 3] = ["title", "author", "date"];

/// Reads a Markdown file; the title is the front matter's, else the first heading. Other fields of the front matter
/// are text at the end: at the front, what follows would stand under them.
pub(super) fn read(source: &str) -> Document {
    let (matter, body) = front_matter(source);
    let fields = fields(matter);
    let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let mut outline = Outline::new(field("title").as_deref(), plain);
    add(body, &mut outline);
    outline.part(1, "Front matter");
    // A date that is no day is said nowhere else.
    let is_named = |name: &str, value: &str| NAMED.contains(&name) && (name != "date" || date::parse(value).is_some());
    for (name, value) in fields.iter().filter(|(name, value)| !is_named(name, value)) {
        outline.line(&format!("{name}: {value}"));
    }
    let published = DATES.iter().filter_map(|name| field(name)).find_map(|value| date::parse(&value));
    let published = published.or_else(|| date::stated(body));
    Document { published, author: field("author"), links: links::of(body), ..outline.finish() }
}

/// Adds Markdown to an outline that knows its marks.
pub(super) fn add(body: &str, outline: &mut Outline) {
    let mut fence = None;
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        if is_code(line, &mut fence) {
            outline.line(line);
        } else if let Some((level, heading)) = atx_heading(line) {
            outline.heading(level, heading);
        } else if let Some(level) = lines.peek().and_then(|next| underline(line, next)) {
            lines.next();
            outline.heading(level, line.trim());
        } else {
            outline.line(line);
        }
    }
}

/// Returns whether a heading stands above all text.
pub(super) fn begins_with_heading(body: &str) -> bool {
    let mut lines = body.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    atx_heading(first).is_some() || lines.next().is_some_and(|next| underline(first, next).is_some())
}

/// Returns the front matter between `---` lines at the very beginning, and what follows.
fn front_matter(source: &str) -> (&str, &str) {
    let Some(rest) = source.strip_prefix("---\n") else { return ("", source) };
    let ends = rest.split_once("\n---\n").or_else(|| Some((rest.strip_suffix("\n---")?, "")));
    match ends {
        Some((matter, body)) if matter.lines().all(|line| line.contains(':') || line.starts_with([' ', '-', '#'])) => {
            (matter, body)
        }
        _ => ("", source),
    }
}

/// Returns the fields of a front matter that say something; lines below a field belong to it.
fn fields(matter: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, Vec<String>)> = Vec::new();
    let mut is_block = false;
    for line in matter.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let value = match (line.split_once(':'), fields.last_mut()) {
            (Some((name, value)), _) if !line.starts_with([' ', '-']) => {
                is_block = matches!(value.trim(), "|" | ">" | "|-" | ">-" | "|+" | ">+");
                fields.push((name.trim(), Vec::new()));
                if is_block { "" } else { value }
            }
            (colon, Some((_, said))) => {
                let line = line.trim();
                let is_entry = line.starts_with("- ") || colon.is_some();
                // A text goes on in the next line.
                if let Some(text) = said.last_mut().filter(|_| is_block || !is_entry) {
                    *text += &format!(" {line}");
                    continue;
                }
                line.strip_prefix("- ").filter(|_| !is_block).unwrap_or(line)
            }
            _ => continue,
        };
        let values = value.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        let values = values.map_or_else(|| vec![value], |list| list.split(',').collect());
        let values = values.into_iter().map(|value| text::one_line(value.trim().trim_matches(['"', '\''])));
        if let Some((_, said)) = fields.last_mut() {
            said.extend(values.filter(|value| !value.is_empty()));
        }
    }
    fields.retain(|(_, values)| !values.is_empty());
    fields.into_iter().map(|(name, values)| (name, values.join(", "))).collect()
}

/// Returns whether the line belongs to a block of code, in which nothing is a mark; `fence` is what opened the block
/// that is open. Only a fence of the same mark, as long at least and with nothing behind it, closes it.
fn is_code<'a>(line: &'a str, fence: &mut Option<&'a str>) -> bool {
    let line = line.trim();
    if let Some(open) = *fence {
        let is_fence = line.bytes().all(|byte| open.as_bytes().first() == Some(&byte));
        fence.take_if(|open| is_fence && line.len() >= open.len());
        return true;
    }
    let opens = |mark: char| {
        let (run, behind) = line.split_at(line.len() - line.trim_start_matches(mark).len());
        (run.len() >= 3 && !(mark == '`' && behind.contains(mark))).then_some(run)
    };
    *fence = opens('`').or_else(|| opens('~'));
    fence.is_some()
}

fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start_matches(' ').trim_start_matches('#');
    let level = line.len() - indent - rest.len();
    let is_heading = indent < 4 && (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Returns the level of a heading that is underlined with `=` or `-`.
fn underline(line: &str, next: &str) -> Option<usize> {
    let is_text = line.trim().chars().any(char::is_alphanumeric) && !line.starts_with([' ', '\t', '|', '>', '-', '*']);
    let next = next.trim_end();
    let all = |mark: char| next.len() >= 3 && next.chars().all(|char| char == mark);
    match is_text {
        true if all('=') => Some(1),
        true if all('-') => Some(2),
        _ => None,
    }
}

/// Converts Markdown to what a reader would see, roughly: links and images to their text, no emphasis, no escapes. Code
/// stays as it is, with its fences and backticks: what would be a mark elsewhere is a part of it.
pub(super) fn plain(markdown: &str) -> String {
    let mut plain = String::with_capacity(markdown.len());
    let mut fence = None;
    let (mut unread, mut at) = (0, 0);
    for line in markdown.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if is_code(line, &mut fence) {
            unmark(&markdown[unread..start], &mut plain);
            plain.push_str(line);
            unread = at;
        }
    }
    unmark(&markdown[unread..], &mut plain);
    plain
}

/// Appends text without blocks of code, its marks taken away.
fn unmark(markdown: &str, plain: &mut String) {
    let mut rest = markdown;
    // A bar in a cell of a table stays escaped, else it would end the cell.
    // Where the next link may be; looked for once, whatever the number of brackets before it.
    let mut seam = Some(0);
    while let Some(at) = rest.find(['[', '!', '*', '\\', '_', '`', '<']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let here = markdown.len() - rest.len();
        if seam.is_some_and(|seam| seam < here) {
            seam = rest.find("](").map(|found| here + found);
        }
        let is_near = seam.is_some_and(|seam| seam - here <= MAX_LINK_TEXT);
        rest = mark(rest, is_near, plain);
    }
    plain.push_str(rest);
}

/// Handles the mark `rest` begins with; returns what follows.
fn mark<'a>(rest: &'a str, may_link: bool, plain: &mut String) -> &'a str {
    let link = may_link.then(|| link(rest.strip_prefix('!').unwrap_or(rest))).flatten();
    if let Some((inner, after)) = link {
        plain.push_str(&self::plain(inner));
        return after;
    }
    let escaped = rest
        .strip_prefix('\\')
        .and_then(|after| after.chars().next())
        .filter(|char| char.is_ascii_punctuation() && *char != '|');
    if let Some(char) = escaped {
        plain.push(char);
        return &rest[1 + char.len_utf8()..];
    }
    let code = code(rest);
    if code > 0 {
        plain.push_str(&rest[..code]);
        return &rest[code..];
    }
    if let Some(after) = rest.strip_prefix("**").or_else(|| emphasis(rest, plain)) {
        return after;
    }
    let Some(first) = rest.chars().next() else { return "" };
    plain.push(first);
    &rest[first.len_utf8()..]
}

/// Returns how long the code is that `rest` begins with, from backticks to as many of them; where there is no such
/// code, how many backticks. Looks no further ahead than for the text of a link.
fn code(rest: &str) -> usize {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let opening = run(rest);
    let near = &rest[opening..rest.floor_char_boundary(opening + MAX_LINK_TEXT)];
    let paragraph = near.split("\n\n").next().unwrap_or_default();
    let mut at = 0;
    while let Some(found) = paragraph[at..].find('`').filter(|_| opening > 0) {
        let closing = run(&paragraph[at + found..]);
        at += found + closing;
        if closing == opening {
            return opening + at;
        }
    }
    opening
}

/// Returns what follows a `__`, or a single `*` or `_`, that opens or closes emphasis.
fn emphasis<'a>(rest: &'a str, before: &str) -> Option<&'a str> {
    let mark = rest.chars().next().filter(|char| matches!(char, '*' | '_'))?;
    let run = rest.chars().take(3).take_while(|char| *char == mark).count();
    let after = &rest[run..];
    (run <= 2 && side(before.chars().next_back()) != side(after.chars().next())).then_some(after)
}

/// Returns what stands beside a mark: space, punctuation or a letter; emphasis has different things on its sides.
fn side(char: Option<char>) -> u8 {
    match char {
        None => 0,
        Some(char) if char.is_whitespace() => 0,
        Some(char) if char.is_ascii_punctuation() => 1,
        Some(_) => 2,
    }
}

/// Bytes of the text of a link, or of code within a line; what is longer is none.
const MAX_LINK_TEXT: usize = 500;

/// Returns the text of `[text](address)` and what follows; addresses may hold a pair of brackets, not one in another.
/// Looks ahead only so far that a text full of brackets takes no longer than others.
fn link(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix('[')?;
    let text = &rest[..closing(&rest[..rest.floor_char_boundary(MAX_LINK_TEXT)])?];
    let after = rest[text.len()..].strip_prefix("](")?;
    let mut depth = 0_usize;
    for (at, char) in after.char_indices().take(2_000) {
        match char {
            ')' if depth == 0 => return Some((text, &after[at + 1..])),
            ')' => depth -= 1,
            '(' if depth == 0 => depth = 1,
            '(' | '\n' | '[' => return None,
            _ => {}
        }
    }
    None
}

/// Finds where the bracket closes that was opened just before `near`; not beyond the end of a paragraph.
fn closing(near: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in near.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 0 => return Some(at),
            b']' => depth -= 1,
            b'\n' if near[at..].starts_with("\n\n") => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(source: &str) -> Vec<(Option<String>, Option<String>, String)> {
        read(source).sections.into_iter().map(|section| (section.label, section.anchor, section.text)).collect()
    }

    #[test]
    fn headings_make_sections() {
        let source = "# Title\n\nFirst.\n\n## A thing\ntext\n```\n# no heading\n```\n## A thing\nmore\n\nUnder\n---\nlast\n## Empty\n";
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            (None, None, "First.".to_owned()),
            (some("A thing"), some("a-thing"), "text\n```\n# no heading\n```".to_owned()),
            (some("A thing"), some("a-thing-1"), "more".to_owned()),
            (some("Under"), some("under"), "last".to_owned()),
            (some("Empty"), some("empty"), "Empty".to_owned()),
        ];
        assert_eq!(outline(source), expected);
        assert_eq!(read(source).title, some("Title"));
        assert_eq!(read(source).sections[1].path, "Title A thing");
    }

    #[test]
    fn headings_alone_are_a_text() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(outline("# The gate opened in 1931\n"), [(None, None, "The gate opened in 1931".to_owned())]);
        assert_eq!(outline("# The *gate*\n\n## Dues\n"), [(some("Dues"), some("dues"), "Dues".to_owned())]);
        assert_eq!(outline("---\ntitle: Gate\n---"), []);
        let mut page = Outline::of_web_page(None, plain);
        add("# Loading", &mut page);
        assert_eq!(page.finish().sections, [], "scripts may write the rest of a page");
    }

    #[test]
    fn front_matter_gives_title_and_date() {
        let document = read("---\ntitle: \"The real one\"\ndate: 2031-03-10\ntags: [a]\n---\n# Other\ntext");
        assert_eq!(document.title.as_deref(), Some("The real one"));
        assert_eq!(document.published.as_deref(), Some("2031-03-10"));
        assert_eq!(document.sections[0].label.as_deref(), Some("Other"));
    }

    #[test]
    fn fields_of_a_front_matter_are_text() {
        let matter = "title: Gate\nauthor: [Ann, \"Bob\"]\ntags: [tide, gate]\n# none\naliases:\n  - Old gate\n  - 'Lock'\n\
            empty:\nbudget: 5000000\n";
        let document = read(&format!("---\n{matter}---\n# Dues\ntext"));
        assert_eq!(document.author.as_deref(), Some("Ann, Bob"));
        let texts: Vec<_> =
            document.sections.iter().map(|section| (section.label.as_deref(), &*section.text)).collect();
        let fields = "tags: tide, gate\naliases: Old gate, Lock\nbudget: 5000000";
        assert_eq!(texts, [(Some("Dues"), "text"), (Some("Front matter"), fields)]);
    }

    #[test]
    fn a_field_of_several_lines_is_one_text() {
        let check = |matter: &str, expected: &str| {
            let document = read(&format!("---\n{matter}\n---\n# Dues\ntext"));
            assert_eq!(document.sections[1].text, expected, "{matter}");
        };
        check("about: >-\n  The gate cost 5\n  million: too much", "about: The gate cost 5 million: too much");
        check("about: It cost 5\n  million crowns\nlimit: >5", "about: It cost 5 million crowns\nlimit: >5");
        check("size:\n  wide: 4 m\n  high: 7 m", "size: wide: 4 m, high: 7 m");
        check("tags:\n- tide\n- gate of\n  oak", "tags: tide, gate of oak");
        check("date: Spring 2031", "date: Spring 2031");
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        assert_eq!(outline("---\nJust words here\n---\nmore").len(), 2);
    }

    #[test]
    fn marks_go_and_words_stay() {
        let check = |markdown: &str, expected: &str| assert_eq!(plain(markdown), expected, "{markdown}");
        check("**Decided** by 7 to 2", "Decided by 7 to 2");
        check("see [the *page*](a_(b).html \"t\") now", "see the page now");
        check("![a map](map.png)", "a map");
        check("the barge *Oline*, late", "the barge Oline, late");
        check("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4");
        check(r"1\. not a list \* [", "1. not a list * [");
        check("[1] and [open](", "[1] and [open](");
        check("*Signed R. P.*\n* one\n* two", "Signed R. P.\n* one\n* two");
        check("[![logo](l.png)](x)", "logo");
        check(r"| Q1 | 4 \| 100 |", r"| Q1 | 4 \| 100 |");
        check("__strong__ `code_x`", "strong `code_x`");
        check("", "");
    }

    #[test]
    fn code_stands_as_its_author_wrote_it() {
        let same = |markdown: &str| assert_eq!(plain(markdown), markdown, "{markdown}");
        same("```\nx = 2**32\nf[a](b)\n```");
        same("~~~ python\n__init__\n```\n10**6\n~~~\n");
        same("````\n```\n2**3\n```\n2**4\n````");
        same("see `10**6`, `` a`b__c__ ``, `\\d+\\.\\d+` and `handlers[name](event)`");
        same("a `` b ` c ``` d");
        let check = |markdown: &str, expected: &str| assert_eq!(plain(markdown), expected, "{markdown}");
        check("```\n2**3\n```\n**So** be it", "```\n2**3\n```\nSo be it");
        check("```2**3``` is **eight**", "```2**3``` is eight");
        check("one ` alone\n\nand **another** `", "one ` alone\n\nand another `");
        check("[the `a**b`](c)", "the `a**b`");
        check(r"\`**not** code`", "`not code`");
        check("```\na\n``` b\n**c**", "```\na\n``` b\n**c**");
    }

    #[test]
    fn a_longer_fence_holds_shorter_ones() {
        let source = "````\n```\n# none\n```\n# none either\n````\n# Heading\ntext";
        assert_eq!(outline(source).len(), 2);
        assert_eq!(outline("```x``` is code\n# Heading\ntext").len(), 2);
    }
}
