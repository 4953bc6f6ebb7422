//! Numbers in brackets that count the sections of a report: `## [1] Burden`, `## [2] Vaccines`. They cite nothing.

use std::collections::{HashMap, HashSet};

use super::{address, catalogue, entries, lines, numbering::Kind, numbers::Numbers};

/// A title is shorter.
const LONGEST_TITLE: usize = 120;
/// Levels of headings, with 0 for plain lines and 7 for those in bold letters.
const LEVELS: usize = 8;

/// Returns the lines that begin with the number of a section: those of one level count from 1, or from 1 once more, and
/// say no sentence. A plain line is no title if another one follows, as in a list. Headings of which three
/// in four are titles of the entries with their numbers are those of the sources.
pub(super) fn of_sections(lines: &[&str], kinds: &[Kind]) -> HashSet<usize> {
    let mut levels: [Vec<(usize, u32)>; LEVELS] = Default::default();
    let mut last = None;
    let is_text = |(at, line): &(usize, &&str)| kinds.get(*at) == Some(&Kind::Text) && !line.trim().is_empty();
    for (at, line) in lines.iter().enumerate().filter(is_text) {
        let found = labelled(line.trim());
        if let (Some((0, _)), Some((0, _))) = (found, last) {
            levels[0].clear();
        }
        last = found;
        if let Some((level, number)) = found {
            levels[level].push((at, number));
        }
    }
    // A title stands over something.
    if last.is_some_and(|(level, _)| level == 0) {
        levels[0].clear();
    }
    let titles = titles(lines, kinds);
    let is_of_source = |&(at, number): &(usize, u32)| {
        let heads = |entry: &String| begins_with_title(entry, &title(lines[at]));
        titles.get(&number).is_some_and(|entries| entries.iter().any(heads))
    };
    let are_of_sources =
        |labels: &[(usize, u32)]| labels.iter().filter(|label| !is_of_source(label)).count() <= labels.len() / 4;
    let are_sections = |labels: &Vec<(usize, u32)>| counts(labels) && !are_of_sources(labels);
    levels.into_iter().filter(are_sections).flatten().map(|(at, _)| at).collect()
}

/// Returns what the entries of the lists say, by their numbers. A heading that says the same is that of the source.
fn titles(lines: &[&str], kinds: &[Kind]) -> HashMap<u32, Vec<String>> {
    let mut titles: HashMap<u32, Vec<String>> = HashMap::new();
    for (line, _) in lines.iter().zip(kinds).filter(|(_, kind)| **kind == Kind::Listed) {
        let found = entries::label(line);
        let number = found.label.and_then(|label| label.name.parse().ok());
        let entries = number.map(|number| titles.entry(number).or_default()).filter(|entries| entries.len() < 2);
        entries.into_iter().for_each(|entries| entries.push(plain(found.rest)));
    }
    titles
}

/// Returns the title behind the number that a line begins with.
fn title(line: &str) -> String {
    plain(line.split_once([']', '】', '］']).map_or("", |(_, title)| title))
}

fn plain(text: &str) -> String {
    text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Returns whether the entry has all of the title, with nothing but an address, a year or a publisher behind it, or a
/// long one with other words.
fn begins_with_title(entry: &str, title: &str) -> bool {
    let Some(rest) = entry.strip_prefix(title).filter(|rest| !rest.starts_with(char::is_alphanumeric)) else {
        return false;
    };
    let behind = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_whole = behind.is_empty() || behind.starts_with(|c: char| c.is_ascii_digit()) || address::is_address(behind);
    let names_publisher = || [". ", " – ", " — ", " - ", " ("].iter().any(|sign| rest.starts_with(sign));
    is_whole || names_publisher() || catalogue::is_long_title(title)
}

/// Returns whether the numbers count: each is the next one, or 1.
fn counts(labels: &[(usize, u32)]) -> bool {
    let mut last = 0;
    let follows = labels.iter().all(|&(_, number)| {
        let fits = number == last + 1 || (number == 1 && last > 0);
        last = number;
        fits
    });
    follows && labels.iter().any(|(_, number)| *number > 1)
}

/// Returns the level of a title and the number in brackets that it begins with.
fn labelled(trimmed: &str) -> Option<(usize, u32)> {
    let bold = || lines::is_title(trimmed).then_some((LEVELS - 1, trimmed));
    let (level, title) = lines::heading(trimmed).or_else(bold).unwrap_or((0, trimmed));
    let inner = title.trim_start_matches(['*', '_']).strip_prefix(['[', '【', '［'])?;
    let (inside, said) = inner.split_once([']', '】', '］'])?;
    let said = said.trim_end_matches(['*', '_', ' ']);
    let read = Numbers::read(inside).filter(|read| !read.marked)?;
    let [number] = read.numbers[..] else { return None };
    let is_title = said.starts_with([' ', '.', '*', '_', '\u{3000}']) && said.contains(char::is_alphabetic);
    let is_sentence = said.ends_with(['.', '。', '!', '?', '！', '？', ':', '：', ';', '；', ',', '，', ']']);
    let fits = is_title && !is_sentence && said.len() <= LONGEST_TITLE && !address::holds_address(said);
    fits.then_some((level, number))
}
