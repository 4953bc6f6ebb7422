//! Works by their authors and year: `(Smith et al., 2023)` in the text, `Smith, J. et al. (2023). Title. https://…` in
//! the model's own list.

use std::collections::HashMap;

use super::bibliography::{are_names, begins_title};

/// Bytes of an entry in which its names and its year stand.
const LONGEST_ENTRY: usize = 600;
/// Words of the name of an author or an institution.
const LONGEST_NAME: usize = 5;
/// Works that one pair of parentheses cites.
const MOST_WORKS: usize = 8;
/// Works of one author and year that are kept apart by the other authors.
const MOST_ALIKE: usize = 8;
/// Words before a citation.
const BEFORE: [&str; 10] =
    ["see ", "see also ", "e.g., ", "e.g. ", "cf. ", "vgl. ", "siehe ", "voir ", "source: ", "sources: "];
/// What stands between two authors.
const BETWEEN: [&str; 5] = [" and ", " & ", " und ", " et ", " y "];
/// How more authors are left out.
const OTHERS: [&str; 6] = [" et al.", " et al", " and others", " u. a.", " u.a.", " and colleagues"];

/// A work as a text cites it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cited {
    /// The first author's surname, or an institution, in lower case.
    first: String,
    /// The other author's surname, where the text has it.
    second: Option<String>,
    /// With the letter that tells works of one year apart.
    year: String,
    /// A sentence names it, as in `Smith (2023) says`.
    in_sentence: bool,
}

/// A work as an entry of a list names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// What its first author may be called, in lower case.
    first: Vec<String>,
    /// All words of the names, in lower case.
    names: Vec<String>,
    year: String,
    /// A sentence may name it. Where numbers cite, `Germany (2023)` is a place, whatever the title of an entry says.
    in_sentence: bool,
}

impl Work {
    /// Reads the front of an entry: names, and a year in parentheses behind them, or the only year there is.
    pub(super) fn read(entry: &str) -> Option<Self> {
        let entry = entry[..entry.floor_char_boundary(LONGEST_ENTRY)].trim_start_matches(['*', '_', ' ']);
        let entry = &entry[..entry.find("http").unwrap_or(entry.len())];
        let found = year_in_parentheses(entry);
        let in_sentence = found.is_some();
        let (names, year) = match found {
            Some(found) => found,
            None => (entry.split(['.', ':', '"', '“']).find(|part| part.len() > 3)?, only_year(entry)?),
        };
        let first = first_author(names).filter(|_| are_names(names))?;
        let last = first.rsplit(' ').next().filter(|last| **last != first).map(str::to_owned);
        let names = words(names).map(str::to_lowercase).collect();
        Some(Self { first: last.into_iter().chain([first]).collect(), names, year, in_sentence })
    }

    /// Returns the work as one that a sentence may name, wherever its entry has the year.
    pub(super) fn named_in_sentences(self) -> Self {
        Self { in_sentence: true, ..self }
    }

    /// Returns what it may be called: each name of its first author, with its year.
    fn keys(&self) -> impl Iterator<Item = Key> {
        self.first.iter().map(|first| (first.clone(), self.year.clone()))
    }
}

/// The first author's name, and the year.
type Key = (String, String);

/// The works of a model's own lists, and what each leads to.
#[derive(Debug)]
pub(super) struct Works<T> {
    by_key: HashMap<Key, Vec<(Work, T)>>,
}

impl<T> Default for Works<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

impl<T: Copy + PartialEq> Works<T> {
    pub(super) fn add(&mut self, work: &Work, target: T) {
        for key in work.keys() {
            let alike = self.by_key.entry(key).or_default();
            if alike.len() < MOST_ALIKE {
                alike.push((work.clone(), target));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Returns where the work leads that a text cites; `None` when there is none, or when it is not clear which one is
    /// meant.
    pub(super) fn target(&self, cited: &Cited) -> Option<T> {
        let alike = self.by_key.get(&(cited.first.clone(), cited.year.clone()))?;
        let is_meant = |work: &Work| {
            (work.in_sentence || !cited.in_sentence)
                && cited.second.as_ref().is_none_or(|second| work.names.contains(second))
        };
        let mut meant = alike.iter().filter(|(work, _)| is_meant(work)).map(|(_, target)| *target);
        let first = meant.next()?;
        meant.all(|target| target == first).then_some(first)
    }
}

/// Returns the works that `Smith et al., 2023; Doe & Roe 2024, p. 7` cites; `None` when it says anything else.
pub(super) fn cited(inside: &str) -> Option<Vec<Cited>> {
    if inside.len() > super::scan::LONGEST_CITATION {
        return None;
    }
    let lower = inside.to_ascii_lowercase();
    let before = BEFORE.iter().filter(|words| lower.starts_with(**words)).map(|words| words.len()).max();
    let works: Vec<&str> = inside[before.unwrap_or_default()..].split(';').collect();
    if works.len() > MOST_WORKS {
        return None;
    }
    works.into_iter().map(one).collect()
}

/// Returns the work that `Smith et al.` in front of a year cites: the names are the last words of `before`.
pub(super) fn named_before(before: &str, year: &str) -> Option<Cited> {
    let year = year_of(year)?;
    let names = before.strip_suffix(' ')?;
    let names = OTHERS.iter().find_map(|others| names.strip_suffix(others)).unwrap_or(names);
    let surname = |text: &str| -> Option<String> { text.rsplit([' ', '(', '*', '_']).next().and_then(name) };
    let pair = BETWEEN.iter().find_map(|between| names.rsplit_once(between));
    let pair = pair.and_then(|(first, second)| Some((surname(first)?, Some(name(second)?))));
    let (first, second) = pair.or_else(|| Some((surname(names)?, None)))?;
    Some(Cited { first, second, year, in_sentence: true })
}

/// Reads one cited work, as in `Smith et al., 2023`, with or without the comma, and a page behind it.
fn one(text: &str) -> Option<Cited> {
    let text = text.trim();
    let at = text.char_indices().find(|(_, c)| c.is_ascii_digit())?.0;
    let (names, rest) = text.split_at(at);
    let (year, place) = rest.split_once(',').map_or((rest, None), |(year, place)| (year, Some(place)));
    if !place.is_none_or(super::pinpoint::is_place) {
        return None;
    }
    let names = names.trim_end().trim_end_matches(',');
    let names = OTHERS.iter().find_map(|others| names.strip_suffix(others)).unwrap_or(names);
    let pair = BETWEEN.iter().find_map(|between| names.split_once(between));
    let (first, second) = pair.map_or((names, None), |(first, second)| (first, Some(second)));
    let first = name(first.trim_end_matches(','))?;
    let second = match second {
        Some(second) => Some(name(second)?),
        None => None,
    };
    Some(Cited { first, second, year: year_of(year.trim())?, in_sentence: false })
}

/// Returns a name of a few words, in lower case: each begins with a capital but for those like `van`.
fn name(text: &str) -> Option<String> {
    const SMALL: [&str; 10] = ["van", "von", "der", "den", "de", "del", "di", "da", "la", "of"];
    let is_part = |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-' | '.');
    let is_word =
        |word: &str| (word.starts_with(char::is_uppercase) || SMALL.contains(&word)) && word.chars().all(is_part);
    let count = text.split(' ').count();
    let fits = text.contains(char::is_uppercase) && count <= LONGEST_NAME && text.split(' ').all(is_word);
    fits.then(|| text.to_lowercase())
}

/// Reads a year, as in `2023` or `2023a`.
fn year_of(text: &str) -> Option<String> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let letter = &text[4..];
    let is_year = digits.parse().is_ok_and(|year: u32| (1500..2100).contains(&year));
    let ends = letter.is_empty() || letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_year && ends).then(|| text.to_owned())
}

/// Returns the text in front of the first year in parentheses, and the year.
fn year_in_parentheses(entry: &str) -> Option<(&str, String)> {
    entry.match_indices('(').find_map(|(open, _)| {
        let inside = entry[open + 1..].split(')').next()?;
        let year = inside.split([',', ' ']).next().and_then(year_of)?;
        let rest = entry[open + 1 + inside.len()..].strip_prefix(')')?;
        begins_title(rest).then_some((&entry[..open], year))
    })
}

fn only_year(entry: &str) -> Option<String> {
    let mut years = words(entry).filter_map(year_of);
    let first = years.next()?;
    years.all(|year| year == first).then_some(first)
}

/// Returns the first author, in lower case: `smith` of `Smith, J.` and `Smith J, Doe A`, `john smith` of `John Smith
/// and Doe`.
fn first_author(names: &str) -> Option<String> {
    let ends = [",", " and ", " & ", " und ", " et ", " y ", " (", ";"];
    let end = ends.iter().filter_map(|end| names.find(end)).min().unwrap_or(names.len());
    let is_initial = |word: &&str| word.trim_end_matches('.').chars().nth(1).is_none() || word.contains(".-");
    let words: Vec<&str> = names[..end].split_whitespace().filter(|word| !is_initial(word)).collect();
    name(words.join(" ").trim_end_matches('.'))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-'))).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_known_again_by_names_and_year() {
        let entries = [
            "Smith, J., & Doe, A. (2023). The Turbine Book. https://a.test/2019",
            "J. Smith and A. Doe (2023), The Turbine Book",
            "Smith J, Doe A. The Turbine Book. Tide Press, 2023.",
            "*John Smith, Ann Doe* (2023, May). The Turbine Book.",
        ];
        let is = |entry: &str, text: &str| {
            let work = Work::read(entry).unwrap_or_else(|| panic!("{entry}"));
            let mut works = Works::default();
            works.add(&work, ());
            cited(text).is_some_and(|cited| cited.len() == 1 && works.target(&cited[0]).is_some())
        };
        for entry in entries {
            for text in [
                "Smith et al., 2023",
                "Smith & Doe, 2023",
                "see Smith 2023",
                "Smith and Doe (2023",
                "Smith, 2023, p. 7",
            ] {
                let expected = !text.contains('(');
                assert_eq!(is(entry, text), expected, "{entry} {text}");
            }
            for text in
                ["Doe et al., 2023", "Smith, 2022", "Smith & Roe, 2023", "Smith, 2023a", "in 2023", "Smith, 2023, so"]
            {
                assert!(!is(entry, text), "{entry} {text}");
            }
        }
        assert!(
            is("World Bank (2030). Tides.", "World Bank, 2030")
                && is("van der Berg, K. (2030b). T", "van der Berg 2030b")
        );
        assert_eq!(cited("Smith, 2020; Doe, 2021").map(|works| works.len()), Some(2));
        assert_eq!(Work::read("The storm of 1911. Tide Press, 2023."), None, "which year is meant?");
        assert_eq!(Work::read("Smith (2023) found that turbines fail."), None, "a sentence");
        assert_eq!(Work::read("Smith said in 2023 that turbines fail."), None, "a sentence");
    }

    #[test]
    fn names_in_the_sentence_are_read_too() {
        let check = |before: &str, expected: Option<(&str, Option<&str>)>| {
            let found = named_before(before, "2023").map(|cited| (cited.first, cited.second));
            let expected = expected.map(|(first, second)| (first.to_owned(), second.map(str::to_owned)));
            assert_eq!(found, expected, "{before}");
        };
        check("As found by Smith et al. ", Some(("smith", None)));
        check("As Smith and Doe ", Some(("smith", Some("doe"))));
        check("the town ", None);
        check("Smith", None);
    }
}
