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
/// Characters of the names in front of a year, where no capital letters tell names.
const LONGEST_CASELESS: usize = 40;
/// The same in scripts that may write words without spaces between them, and of Russian.
const SIGNS_ANYWHERE: [&str; 22] = [
    "学报",
    "学刊",
    "期刊",
    "杂志",
    "雜誌",
    "學報",
    "出版",
    "大学",
    "大學",
    "学会",
    "論文",
    "论文",
    "誌",
    "［J］",
    "학회",
    "저널",
    "출판",
    "مجلة",
    "جامعة",
    "دار ",
    "№",
    "//",
];
/// Words of references: how something was published, and how it was found.
const SIGNS: [&str; 26] = [
    "abgerufen",
    "accessed",
    "arXiv",
    "doi",
    "editorial",
    "eds",
    "hrsg",
    "isbn",
    "изд",
    "журнал",
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

/// Returns whether the line, behind its label, is nothing but a reference: names, and a year in parentheses or several
/// signs.
pub(super) fn is_bibliographic(line: &str) -> bool {
    let entry = entries::label(line).rest.trim_end_matches(['*', '_']);
    // Without capital letters a sentence may begin like a name, but it is no item of a list.
    let has_case = entry.contains(|c: char| c.is_uppercase() || c.is_lowercase());
    let fits = entry.len() <= LONGEST_ENTRY && (has_case || entry.len() < line.trim().len());
    fits && (has_names_and_year(entry) || (begins_with_name(entry) && signs(entry) >= 2))
}

/// Returns whether the entry has names and a year, as in `Smith, J. et al. (2023). Title`.
fn has_names_and_year(entry: &str) -> bool {
    entry.match_indices(['(', '（']).any(|(open, bracket)| {
        let behind = &entry[open + bracket.len()..];
        let (inside, rest) = behind.split_once([')', '）']).unwrap_or((behind, ""));
        inside.len() <= 24 && has_year(inside) && are_names(&entry[..open]) && begins_title(rest)
    })
}

fn has_year(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        let year = word.get(..4).filter(|_| word.len() <= 5 || word[4..].starts_with(['年', '년']));
        year.and_then(|year| year.parse().ok()).is_some_and(|year: u32| (1500..2100).contains(&year))
    })
}

pub(super) fn are_names(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let is_name = |word: &str| !word.starts_with(char::is_lowercase) || BETWEEN_NAMES.contains(&word);
    text.len() <= LONGEST_NAMES && (text.contains(char::is_uppercase) || is_caseless(text)) && words.all(is_name)
}

/// Returns whether it is a short text in a script that has no capital letters.
fn is_caseless(text: &str) -> bool {
    text.chars().count() <= LONGEST_CASELESS && text.contains(char::is_alphabetic) && !text.contains(char::is_lowercase)
}

/// Returns whether what stands behind a year or a name begins like a title, rather than goes on like a sentence.
pub(super) fn begins_title(rest: &str) -> bool {
    rest.chars().find(|c| !(c.is_whitespace() || ".,:;*_-–—".contains(*c))).is_none_or(|first| !first.is_lowercase())
}

/// Returns whether the entry begins with a name, as in `Smith, John. …` or `World Bank. …`.
fn begins_with_name(entry: &str) -> bool {
    let Some(end) = entry.find(['.', ',', ':', '。', '、', '，', '：', '「', '『', '《']) else { return false };
    are_names(&entry[..end]) && !entry[..end].contains(|c: char| c.is_ascii_digit()) && begins_title(&entry[end..])
}

fn signs(entry: &str) -> usize {
    let is_sign = |word: &&str| SIGNS.iter().any(|sign| sign.eq_ignore_ascii_case(word));
    let words = entry.split(|c: char| !c.is_alphanumeric()).filter(is_sign).count();
    let parts = SIGNS_ANYWHERE.iter().filter(|sign| entry.contains(**sign)).count();
    let quoted = entry.contains(['"', '“', '„', '«', '「', '『', '《']);
    words + parts + usize::from(has_year(entry)) + usize::from(quoted)
}
