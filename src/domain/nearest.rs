//! The nearest valid name, for errors that help: what was most likely meant by a name that does not exist.

use strsim::osa_distance;

/// The length up to which a text is taken for a slip of the pen; comparing longer ones would take time.
const LONGEST: usize = 100;
/// A part of a name means it from this length on.
const SHORTEST_PART: usize = 3;

/// Returns the name that `given` most likely meant; `None` when nothing is close.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let limit = 1 + given.len() / 6;
    names
        .map(|name| (osa_distance(given, name), name))
        .filter(|(distance, name)| *distance <= limit || given.len() >= SHORTEST_PART && name.contains(given))
        .min()
        .map(|(_, name)| name)
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
        check("lsiten", Some("listen"));
        check("datadir", Some("data_dir"));
        check("cors_origins", Some("http.cors_origins"));
        check("zzzzzz", None);
        check("o", None);
        check("nope", None);
        check("FATHOM_TYPO", None);
        check(&"listen".repeat(1_000_000), None);
    }
}
