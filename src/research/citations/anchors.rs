//! Links within the report: which of them lead to an entry of a list of sources, as `#ref-2` does, and which to a part
//! of the text, as `#section-two`.

use super::{lines, numbers::is_citing_word};

/// Parts of the names of anchors over sources, in lower case, beside words for a source.
const PARTS: [&str; 10] = ["bib", "cit", "content", "endnote", "fnref", "ftn", "note", "r", "src", "user"];
/// What stands before the name of an anchor in an entry.
const NAMING: [&str; 5] = [" id=\"", " id='", " name=\"", " name='", "{#"];
/// Bytes of the name of an anchor.
const LONGEST: usize = 80;

/// Returns whether the name of an anchor says that it is the source of one of these numbers, or the list of sources.
pub(super) fn is_of_source(anchor: &str, numbers: &[u32]) -> bool {
    if anchor.len() > LONGEST {
        return false;
    }
    let between = ['-', '_', ':', '.'];
    let anchor = anchor.to_lowercase();
    let front = anchor.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_number = anchor[front.len()..].parse().is_ok_and(|number| numbers.contains(&number));
    let is_part = |part: &str| part.is_empty() || PARTS.contains(&part) || is_citing_word(part);
    let is_list = || lines::source_heading(&anchor.replace(between, " ")).is_some_and(|heading| heading.certain);
    (is_number && front.split(between).all(is_part)) || is_list()
}

/// Returns the names of the anchors in a line, in lower case.
pub(super) fn in_line(line: &str) -> impl Iterator<Item = String> {
    let of = move |naming: &'static str| line.match_indices(naming).map(move |(at, _)| &line[at + naming.len()..]);
    NAMING.into_iter().flat_map(of).filter_map(|rest| {
        let bounded = &rest[..rest.floor_char_boundary(LONGEST)];
        bounded.split_once(['"', '\'', '}']).map(|(name, _)| name.to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_of_sources_are_kept_apart_from_those_of_the_text() {
        for anchor in
            ["ref-2", "fn2", "source_2", "cite_note-2", "user-content-fn-2", "_ftn2", "r2", "2", "sources", "Quellen"]
        {
            assert!(is_of_source(anchor, &[1, 2]), "{anchor}");
        }
        for anchor in ["section-2", "section-two", "ref-3", "2-method", "step2", "sources-of-error", ""] {
            assert!(!is_of_source(anchor, &[1, 2]), "{anchor}");
        }
        let line = "1. <a id=\"Smith\"></a>T <span class='x' name='b'> {#c} id=\"";
        assert_eq!(in_line(line).collect::<Vec<_>>(), ["smith", "b", "c"]);
    }
}
