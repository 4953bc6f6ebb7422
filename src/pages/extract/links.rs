//! Where a text leads to: the links of its Markdown, in reading order.

use super::{Link, markdown_marks, text};

/// Links of one text.
const MAX_LINKS: usize = 200;
/// The longest text of a link; what is longer is no link.
const MAX_TEXT_BYTES: usize = 300;
/// The longest address.
const MAX_TARGET_BYTES: usize = 1_000;

/// Returns the links of Markdown; pictures are none, and neither is what has no text.
pub(super) fn of(source: &str) -> Vec<Link> {
    let seams = source.match_indices("](").map(|(at, _)| at);
    seams.filter_map(|seam| link(source, seam)).take(MAX_LINKS).collect()
}

/// Returns the link whose text ends at `seam`, before `](`.
fn link(source: &str, seam: usize) -> Option<Link> {
    let before = &source[source.floor_char_boundary(seam.saturating_sub(MAX_TEXT_BYTES))..seam];
    let (outside, inner) = before.rsplit_once('[')?;
    let text = text::one_line(&markdown_marks::plain(inner));
    let is_shown = !outside.ends_with('!') && !inner.contains("](") && text.chars().any(char::is_alphanumeric);
    let target = target(&source[seam + 2..])?;
    is_shown.then_some(Link { text, target })
}

/// Returns the address up to its bracket; it may hold a pair of brackets, and a title may follow. Entities stand for
/// their characters there, too: what writes pages as Markdown makes `&amp;` of each `&`.
fn target(rest: &str) -> Option<String> {
    let rest = &rest[..rest.floor_char_boundary(MAX_TARGET_BYTES)];
    let mut depth = 0_u32;
    let end = rest.char_indices().find_map(|(at, char)| {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })?;
    let target = rest[..end].split_whitespace().next()?.trim_matches(['<', '>']);
    let target = html_escape::decode_html_entities(target).into_owned();
    (!target.is_empty() && !target.starts_with('#')).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = of(source).into_iter().map(|link| (link.text, link.target)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(text, target)| ((*text).to_owned(), (*target).to_owned())).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn links_are_found_with_their_texts() {
        check(
            "See [the *ledger*](/ledger?y=1931 \"Dues\") and [gate](<gate.html>).",
            &[("the ledger", "/ledger?y=1931"), ("gate", "gate.html")],
        );
        check(
            "[Tide (sea)](https://w.test/Tide_(sea)) [a](b)",
            &[("Tide (sea)", "https://w.test/Tide_(sea)"), ("a", "b")],
        );
        check(
            "[a](/show?id=7&amp;year=2031) [b](/x?a=1&copy=2&amp;amp;)",
            &[("a", "/show?id=7&year=2031"), ("b", "/x?a=1&copy=2&amp;")],
        );
        check("![map](map.png) [](empty) [x](#part) [—](dash) [open](", &[]);
        check("[![map](map.png)](map.html) a[1](b) ](c)", &[("1", "b")]);
        check(&format!("[ä{}](a)", "x".repeat(MAX_TEXT_BYTES)), &[]);
    }

    #[test]
    fn no_more_are_found_than_are_kept() {
        assert_eq!(of(&"[a](b) ".repeat(1_000)).len(), MAX_LINKS);
    }

    #[test]
    fn a_text_full_of_brackets_takes_no_longer_than_others() {
        for shape in ["[](", "](", "[a](b"] {
            crate::domain::growth::check(shape, 6_000, |text| drop(of(text)));
        }
    }
}
