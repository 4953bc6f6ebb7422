//! Markdown and HTML inside a line: taken away, so that nothing of it is read as a link, an image or a citation; and
//! the lines around code.

/// Converts inline markup to plain text on one line: emphasis, tags, links and addresses go, brackets become
/// parentheses.
pub fn plain(text: &str) -> String {
    let text = without_links(&without_tags(text));
    let text = text.replace("**", "").replace("__", "").replace('`', "").replace("\\|", "|");
    let text: String = text
        .chars()
        .map(|char| match char {
            '[' => '(',
            ']' => ')',
            char if char.is_control() => ' ',
            char => char,
        })
        .collect();
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words.map(without_stars).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns whether a line of Markdown begins or ends a block of code.
pub fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Removes the stars of emphasis: `*word*` is emphasis, `3*4` is not.
fn without_stars(word: &str) -> String {
    let inner = word.trim_matches('*');
    match inner.split_once('*') {
        Some((head, tail)) if !tail.starts_with(char::is_alphanumeric) => format!("{head}{tail}"),
        _ => inner.to_owned(),
    }
}

fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut closable = true;
    while let Some((head, tail)) = rest.split_once('<') {
        kept.push_str(head);
        let is_tag = tail.starts_with(|char: char| char.is_ascii_alphabetic() || "/!".contains(char));
        // Where none closes, none will.
        let end = if is_tag && closable { tail.find('>') } else { None };
        closable &= !is_tag || end.is_some();
        match end {
            Some(end) => rest = &tail[end + 1..],
            None => {
                kept.push('<');
                rest = tail;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Replaces `[text](target)` with `text`; an image, whose text nobody reads, goes.
fn without_links(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let (Some(open), Some(close)) = (rest[..middle].rfind('['), rest[middle..].find(')')) else { break };
        let is_image = rest[..open].ends_with('!');
        kept.push_str(rest[..open].trim_end_matches('!'));
        if !is_image {
            kept.push_str(&rest[open + 1..middle]);
        }
        rest = &rest[middle + close + 1..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_pass_for_markup_or_a_citation() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
        check("so [S1][99] it ![is](http://a/b) at https://x.y <b>now</b>", "so (S1)(99) it at now");
        check("*Oline*, 3*4 and a < b", "Oline, 3*4 and a < b");
    }
}
