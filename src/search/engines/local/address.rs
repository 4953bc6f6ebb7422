//! Addresses of passages: a relative path that is safe in links and prompts, and a fragment.

use std::path::Path;

/// What the addresses of uploads begin with.
pub(super) const OF_UPLOADS: &str = "upload";

/// Returns a relative path as an address: `/` between names; everything that could end a link, start a scheme or hide
/// something is percent-encoded, letters and digits of all scripts stay.
pub(super) fn of_path(path: &Path) -> String {
    let names = path.components().map(|name| encode(name.as_os_str().as_encoded_bytes()));
    let address = names.collect::<Vec<_>>().join("/");
    // What was uploaded has addresses that begin so.
    match address.strip_prefix(OF_UPLOADS) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("%75pload{rest}"),
        _ => address,
    }
}

/// Returns the address of the `ordinal`-th passage of a document, from 1.
///
/// `anchor` is its section's, `within` its number there, from 1: the first passage of a section is the section's own
/// address; later ones count on, since an address stands for one passage only.
pub(super) fn of_passage(path: &str, anchor: Option<&str>, within: usize, ordinal: usize) -> String {
    let anchor = anchor.map(|anchor| if is_page(anchor) { anchor.to_owned() } else { encode(anchor.as_bytes()) });
    match (anchor, within) {
        (None, 1) if ordinal == 1 => path.to_owned(),
        (Some(anchor), 1) => format!("{path}#{anchor}"),
        (Some(page), within) if is_page(&page) => format!("{path}#{page}&passage={within}"),
        _ => format!("{path}#passage={ordinal}"),
    }
}

/// Returns whether it is `page=3`, at which viewers open a PDF (RFC 8118), so that it is kept as it is.
fn is_page(anchor: &str) -> bool {
    anchor.strip_prefix("page=").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns a relative path for people: names as they are, control characters and torn encodings replaced.
pub(super) fn shown(path: &Path) -> String {
    let names = path.components().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let shown = names.collect::<Vec<_>>().join("/");
    shown.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

fn encode(name: &[u8]) -> String {
    let mut encoded = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match is_plain(char) {
                true => encoded.push(char),
                false => escape(char.encode_utf8(&mut [0; 4]).as_bytes(), &mut encoded),
            }
        }
        escape(chunk.invalid(), &mut encoded);
    }
    encoded
}

fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '-' | '.' | '_' | '~' | '+' | ',' | '=' | '@')
}

fn escape(bytes: &[u8], encoded: &mut String) {
    for byte in bytes {
        encoded.push_str(&format!("%{byte:02X}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_safe_in_links() {
        let check = |path: &str, expected: &str| assert_eq!(of_path(Path::new(path)), expected, "{path}");
        check("minutes/2030-06-18-board.md", "minutes/2030-06-18-board.md");
        check("a b/c#d?.txt", "a%20b/c%23d%3F.txt");
        check("javascript:alert(1).md", "javascript%3Aalert%281%29.md");
        check("100%\n.txt", "100%25%0A.txt");
        check("größe/游客.md", "größe/游客.md");
        check("a\u{202e}b.md", "a%E2%80%AEb.md");
        // Below it stands what was uploaded.
        check("upload/dues.txt", "%75pload/dues.txt");
        check("uploads/dues.txt", "uploads/dues.txt");
    }

    #[test]
    fn each_passage_has_its_own_address() {
        let check = |anchor: Option<&str>, within, ordinal, expected: &str| {
            assert_eq!(of_passage("f", anchor, within, ordinal), expected);
        };
        check(None, 1, 1, "f");
        check(None, 2, 2, "f#passage=2");
        check(None, 1, 7, "f#passage=7");
        check(Some("what-it-costs"), 1, 3, "f#what-it-costs");
        check(Some("what-it-costs"), 2, 4, "f#passage=4");
        check(Some("page=3"), 1, 3, "f#page=3");
        check(Some("page=3"), 2, 4, "f#page=3&passage=2");
    }
}
