//! The nearest valid name, for errors that help: what was most likely meant by a name that does not exist.

/// Longer texts are no slips of anybody's pen, and looking for what they mean would take time.
const LONGEST: usize = 100;

/// The name that `given` most likely meant; `None` when nothing is close.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let limit = 1 + given.len() / 4;
    names
        .map(|name| (edit_distance(given, name), name))
        .filter(|(distance, name)| *distance <= limit || name.contains(given))
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance in bytes; both texts are short.
fn edit_distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let check = |given: &str, expected: Option<&str>| {
            let names = ["listen", "data_dir", "docs", "http.cors_origins", "FATHOM_HTTP2"];
            assert_eq!(nearest(given, names.into_iter()), expected, "{given}");
        };
        check("lisen", Some("listen"));
        check("datadir", Some("data_dir"));
        check("cors_origins", Some("http.cors_origins"));
        check("zzzzzz", None);
        check("nope", None);
        check("FATHOM_TYPO", None);
        check(&"listen".repeat(1_000_000), None);
    }
}
