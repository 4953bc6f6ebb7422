//! Entries of a bibliography, which may have no address: `Smith, J. (2023). The Turbine Book. Nowhere Press.`

use super::entries;

/// A longer line says more than where something was published.
const LONGEST_ENTRY: usize = 600;
/// Bytes of the names in front of a year.
const LONGEST_NAMES: usize = 160;
/// Words in lower case that stand between names.
const BETWEEN_NAMES: [&str; 22] = [
    "et", "al", "and", "und", "y", "e", "von", "vom", "van", "der", "den", "de", "del", "di", "da", "du", "la", "le",
    "of", "for", "the", "on",
];
/// Words of references: how something was published, and how it was found.
const SIGNS: [&str; 24] = [
    "abgerufen",
    "accessed",
    "arXiv",
    "doi",
    "editorial",
    "eds",
    "hrsg",
    "isbn",
    "issn",
    "journal",
    "pp",
    "press",
    "proceedings",
    "publisher",
    "publishers",
    "publishing",
    "retrieved",
    "revue",
    "thesis",
    "university",
    "verlag",
    "vol",
    "volume",
    "zeitschrift",
];

/// Is the line, behind its label, nothing but a reference: names, and a year in parentheses or several signs?
pub(super) fn is_bibliographic(line: &str) -> bool {
    let entry = entries::label(line).rest.trim_end_matches(['*', '_']);
    entry.len() <= LONGEST_ENTRY && (has_names_and_year(entry) || (begins_with_name(entry) && signs(entry) >= 2))
}

/// `Smith, J. et al. (2023). Title`
fn has_names_and_year(entry: &str) -> bool {
    entry.match_indices('(').any(|(open, _)| {
        let inside = entry[open + 1..].split(')').next().unwrap_or_default();
        let rest = &entry[(open + 2 + inside.len()).min(entry.len())..];
        inside.len() <= 24 && has_year(inside) && are_names(&entry[..open]) && begins_title(rest)
    })
}

fn has_year(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        let year = word.get(..4).filter(|_| word.len() <= 5);
        year.and_then(|year| year.parse().ok()).is_some_and(|year: u32| (1500..2100).contains(&year))
    })
}

pub(super) fn are_names(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let is_name = |word: &str| !word.starts_with(char::is_lowercase) || BETWEEN_NAMES.contains(&word);
    text.len() <= LONGEST_NAMES && text.contains(char::is_uppercase) && words.all(is_name)
}

/// Does what stands behind a year or a name begin like a title, rather than go on like a sentence?
pub(super) fn begins_title(rest: &str) -> bool {
    rest.chars().find(|c| !(c.is_whitespace() || ".,:;*_-–—".contains(*c))).is_none_or(|first| !first.is_lowercase())
}

/// `Smith, John. …`, `World Bank. …`
fn begins_with_name(entry: &str) -> bool {
    let Some(end) = entry.find(['.', ',', ':']) else { return false };
    are_names(&entry[..end]) && !entry[..end].contains(|c: char| c.is_ascii_digit()) && begins_title(&entry[end..])
}

fn signs(entry: &str) -> usize {
    let is_sign = |word: &&str| SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(word));
    let words = entry.split(|c: char| !c.is_alphanumeric()).filter(is_sign).count();
    let quoted = entry.contains(['"', '“', '„', '«']);
    words + usize::from(has_year(entry)) + usize::from(quoted)
}
