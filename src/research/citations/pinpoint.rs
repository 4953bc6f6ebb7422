//! A place in a source behind its number: `[1, p. 3]`, `[2, § 7; 3, pp. 4–9]`, `[1a]`.

use super::numbers::Numbers;

/// Words for a place in a source, in lower case.
const PLACES: [&str; 47] = [
    "p",
    "pp",
    "pg",
    "page",
    "pages",
    "s",
    "seite",
    "seiten",
    "ch",
    "chap",
    "chapter",
    "chapters",
    "kap",
    "kapitel",
    "sec",
    "sect",
    "section",
    "sections",
    "abschnitt",
    "§",
    "§§",
    "para",
    "paras",
    "paragraph",
    "abs",
    "art",
    "article",
    "artikel",
    "fig",
    "figure",
    "abb",
    "table",
    "tab",
    "tabelle",
    "appendix",
    "anhang",
    "line",
    "lines",
    "pág",
    "págs",
    "cap",
    "pag",
    "blz",
    "стр",
    "с",
    "ص",
    "第",
];
/// What may stand among the numbers of a place.
const AMONG: [&str; 10] = ["f", "ff", "and", "und", "et", "y", "to", "bis", "页", "頁"];
/// A place is shorter.
const LONGEST_PLACE: usize = 60;
/// Words before a bracket whose `[1a]` is theirs, in lower case.
const LETTERED: [&str; 16] = [
    "abbildung",
    "abb",
    "appendix",
    "compound",
    "compounds",
    "example",
    "fig",
    "figure",
    "figures",
    "panel",
    "panels",
    "step",
    "tab",
    "table",
    "variant",
    "verbindung",
];

/// Reads numbers with a place behind one of them at least; `None` when there is anything else.
pub(super) fn numbers_with_places(inside: &str) -> Option<Numbers> {
    let mut all = Numbers { marked: true, ..Numbers::default() };
    let mut placed = false;
    for part in inside.split([';', '；']) {
        let number = match Numbers::read(part) {
            Some(read) => read,
            None => {
                placed = true;
                before_place(part)?
            }
        };
        all.footnote |= number.footnote;
        all.numbers.extend(number.numbers);
    }
    (placed && !all.footnote).then_some(all)
}

/// Returns the numbers in front of a place.
fn before_place(part: &str) -> Option<Numbers> {
    let mut seams = part.match_indices([',', ' ', ':', '，', '：']);
    seams.find_map(|(at, sign)| Numbers::read(&part[..at]).filter(|_| is_place(&part[at + sign.len()..])))
}

/// Returns whether this is nothing but a place in a source: `p. 3`, `pp. 12–14 and 20`, `Seite 7 f.`, `第3页`.
pub(super) fn is_place(text: &str) -> bool {
    let text = text.trim();
    let is_known = |list: &[&str], word: &str| list.contains(&word.to_lowercase().as_str());
    let mut words = pieces(text).into_iter();
    let begins = words.next().is_some_and(|word| is_known(&PLACES, word));
    let rest: Vec<&str> = words.collect();
    let is_number = |word: &str| word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = |word: &str| word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let fits = |word: &&str| is_number(word) || is_letter(word) || is_known(&PLACES, word) || is_known(&AMONG, word);
    begins && text.len() <= LONGEST_PLACE && rest.iter().any(|word| is_number(word)) && rest.iter().all(fits)
}

/// Returns the runs of digits, of letters and of section signs; what is no separator between them is a piece too.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_ascii_digit() => 0,
        c if c.is_alphabetic() => 1,
        '§' => 2,
        c if c.is_whitespace() || ".,-–—&".contains(c) => 3,
        _ => 4,
    };
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
        if kind(first) != 3 {
            pieces.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    pieces
}

/// Returns the numbers of `1a` and `2b, 3`, of which one at least has a letter, unless `before` says that they are of
/// something else, such as a figure.
pub(super) fn lettered(inside: &str, before: &str) -> Option<Vec<u32>> {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    if LETTERED.contains(&word.as_str()) || !before.ends_with(|c: char| c.is_whitespace() || !c.is_alphanumeric()) {
        return None;
    }
    let parts: Vec<&str> = inside.split([',', ';']).map(str::trim).collect();
    let bare = |part: &str| part.strip_suffix(|c: char| ('a'..='h').contains(&c)).map(str::len);
    let any = parts.iter().any(|part| bare(part).is_some());
    let number = |part: &&str| {
        let digits = &part[..bare(part).unwrap_or(part.len())];
        let is_number = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    };
    parts.iter().map(number).collect::<Option<Vec<u32>>>().filter(|_| any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_behind_numbers_are_read() {
        let check = |inside: &str, expected: &[u32]| {
            let read = numbers_with_places(inside).map(|read| read.numbers).unwrap_or_default();
            assert_eq!(read, expected, "{inside}");
        };
        check("1, p. 3", &[1]);
        check("1 p. 3", &[1]);
        check("12, pp. 4–9 and 11", &[12]);
        check("Source 2, S. 7 f.", &[2]);
        check("2, § 7; 3", &[2, 3]);
        check("1, 2, p. 7", &[1, 2]);
        check("1, 第3页", &[1]);
        for none in ["1", "1, 2", "p. 3", "1, p.", "1, paid 3", "1, 3 p", "^1, p. 3", "1, p. 3 or so", "S. 3", ""] {
            check(none, &[]);
        }
    }

    #[test]
    fn letters_behind_numbers_are_read() {
        let check = |inside: &str, before: &str, expected: &[u32]| {
            assert_eq!(lettered(inside, before).unwrap_or_default(), expected, "{before}[{inside}]");
        };
        check("1a", "It is so ", &[1]);
        check("1a, 2", "It is so. ", &[1, 2]);
        check("1a", "See figure ", &[]);
        check("1a", "See fig. ", &[]);
        check("1a", "x", &[]);
        check("1", "It is so ", &[]);
        check("1am", "It is so ", &[]);
        check("a", "It is so ", &[]);
        check("1x", "It is so ", &[]);
    }
}
