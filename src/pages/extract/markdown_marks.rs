//! Text without the marks of Markdown, as far as a reader does not need them.

/// Bytes of the text of a link, or of code within a line; what is longer is none.
const MAX_LINK_TEXT: usize = 500;

/// Returns whether the line belongs to a block of code, in which nothing is a mark; `fence` is what opened the block
/// that is open. Only a fence of the same mark, as long at least and with nothing behind it, closes it.
pub(super) fn is_code<'a>(line: &'a str, fence: &mut Option<&'a str>) -> bool {
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
}
