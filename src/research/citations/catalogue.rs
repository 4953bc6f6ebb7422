//! The sources that may be cited, by their ids, addresses and titles.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{address, ids, scan};
use crate::domain::Source;

/// Bytes of a title.
const LONGEST_TITLE: usize = 1_200;
/// Words of a title that is known by itself among others, or signs of one in a script without spaces.
const WORDS_OF_TITLE: usize = 4;
const SIGNS_OF_TITLE: usize = 8;
/// Places of an entry where a title may begin.
const PLACES_OF_TITLE: usize = 8;
/// Ids of a line that may show that it says something.
const IDS_LOOKED_AT: usize = 8;

/// The sources that may be cited.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) sources: Arc<[Source]>,
    /// Index into `sources` by id and alias.
    pub(super) by_id: HashMap<u32, usize>,
    by_url: HashMap<String, usize>,
    /// The source of each title, as [`words`] has them; `None` where several have it.
    titles: HashMap<String, Option<usize>>,
    /// Titles that are long enough to be known among other words, by their first word.
    long_titles: HashMap<String, Vec<String>>,
}

impl Catalogue {
    pub(super) fn new(sources: Arc<[Source]>) -> Self {
        let ids = |(index, source): (usize, &Source)| {
            let all = source.ids();
            all.map(move |id| (id.0, index)).collect::<Vec<_>>()
        };
        let own = sources.iter().enumerate().map(|(index, source)| (address::normal(&source.url), index));
        let others = sources
            .iter()
            .enumerate()
            .flat_map(|(index, source)| source.addresses.iter().map(move |address| (address::normal(address), index)));
        let mut addresses: Vec<_> = own.chain(others).collect();
        // A page that was read before what a server says of its address.
        addresses.sort_by_key(|(_, index)| sources[*index].is_of_server());
        addresses.reverse();
        let titles = titles(&sources);
        Self {
            by_id: sources.iter().enumerate().flat_map(ids).collect(),
            // Of two spellings of one address the first is meant, and a source's own one before what it is an alias of.
            by_url: addresses.into_iter().collect(),
            long_titles: long_titles(titles.keys()),
            titles,
            sources,
        }
    }

    pub(super) fn by_url(&self, address: &str) -> Option<usize> {
        self.by_url.get(&address::normal(address)).copied()
    }

    /// Returns whether the text is the title of a source, whatever its case and punctuation.
    pub(super) fn is_title(&self, text: &str) -> bool {
        self.titles.contains_key(&words(text))
    }

    /// Returns the only source with that title, whatever its case and punctuation.
    pub(super) fn by_title(&self, text: &str) -> Option<usize> {
        let text = Some(text).filter(|text| text.len() <= LONGEST_TITLE)?;
        self.titles.get(&words(text)).copied().flatten()
    }

    /// Returns the only source whose title an entry has among other words: at its front or behind a colon, a quotation
    /// mark or a date in parentheses. What stands before a colon may be a publisher, whose own page is not meant.
    pub(super) fn by_title_in(&self, entry: &str) -> Option<usize> {
        let entry = Some(entry).filter(|entry| entry.len() <= LONGEST_TITLE)?;
        let begins = |(at, sign): (usize, &str)| at + sign.len();
        let inner = entry.match_indices([':', '：', ')', '）', '"', '“', '„', '«', '「', '『', '《']).map(begins);
        let places = [0].into_iter().chain(inner).take(PLACES_OF_TITLE);
        let found: BTreeSet<&String> = places.filter_map(|at| self.title_at_front(&entry[at..])).collect();
        let mut found = found.into_iter();
        let title = found.next().filter(|_| found.next().is_none())?;
        self.titles.get(title).copied().flatten()
    }

    /// Returns the longest title that the text begins with, unless a colon or a full stop follows.
    fn title_at_front(&self, text: &str) -> Option<&String> {
        let all = words(text);
        let titles = self.long_titles.get(all.split(' ').next()?)?;
        let title = titles.iter().filter(|title| all.starts_with(title.as_str())).max_by_key(|title| title.len())?;
        let behind = behind_words(text, title.split_whitespace().count());
        let next = behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_')).chars().next();
        next.is_none_or(|next| !matches!(next, ':' | '：' | '.' | '。')).then_some(title)
    }

    /// Returns whether a line has the id of a source.
    pub(super) fn has_id(&self, line: &str) -> bool {
        ids::ids_in(line).into_iter().take(IDS_LOOKED_AT).any(|(_, _, id)| self.by_id.contains_key(&id))
    }

    /// Returns whether a line says something for which it cites a source by its id: more than what the source is
    /// called, which an entry of a list says.
    pub(super) fn states(&self, line: &str) -> bool {
        ids::ids_in(line).into_iter().take(IDS_LOOKED_AT).any(|(start, end, id)| {
            let (before, behind) =
                (&line[..start], line[end..].trim_start_matches(scan::CLOSING).trim_start_matches(')'));
            let behind = behind.trim_start_matches([' ', ':', '-', '–', '—', '(', '<', '：']);
            let cites = (before.ends_with(scan::OPENING) || before.ends_with('('))
                && !address::holds_address(before)
                && !address::is_address(behind);
            cites && self.by_id.get(&id).is_some_and(|&index| !is_name_of(&self.sources[index], before))
        })
    }

    /// Returns the source that a link leads to: by address, or by id.
    pub(super) fn by_target(&self, target: &str) -> Option<usize> {
        let by_id = || self.by_id.get(&target.strip_prefix(['S', 's'])?.parse().ok()?).copied();
        let bare = || self.by_url(&address::without_scheme(target)?);
        self.by_url(target).or_else(by_id).or_else(bare)
    }
}

fn titles(sources: &[Source]) -> HashMap<String, Option<usize>> {
    let mut titles = HashMap::new();
    for (index, source) in sources.iter().enumerate() {
        titles.entry(words(&source.title)).and_modify(|known| *known = None).or_insert(Some(index));
    }
    titles.remove("");
    titles
}

/// Returns whether a title is long enough to be known among other words.
pub(super) fn is_long_title(title: &str) -> bool {
    let signs = title.chars().filter(|c| *c >= '\u{2E80}' && c.is_alphabetic()).count();
    title.split_whitespace().count() >= WORDS_OF_TITLE || signs >= SIGNS_OF_TITLE
}

fn long_titles<'a>(titles: impl Iterator<Item = &'a String>) -> HashMap<String, Vec<String>> {
    let mut long: HashMap<String, Vec<String>> = HashMap::new();
    for title in titles.filter(|title| is_long_title(title)) {
        let first = title.split(' ').next().unwrap_or_default();
        long.entry(first.to_owned()).or_default().push(title.clone());
    }
    long
}

/// Returns what stands behind so many words.
fn behind_words(text: &str, count: usize) -> &str {
    let mut rest = text;
    for _ in 0..count {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_start_matches(char::is_alphanumeric);
    }
    rest
}

/// Returns the words of a text in lower case, with one space behind each.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(|word| [word.to_lowercase(), " ".to_owned()]).collect()
}

/// Returns whether a text has no word but those in a source's title, author and address, and the word "source".
fn is_name_of(source: &Source, text: &str) -> bool {
    let (author, site) = (source.author.as_deref(), source.site.as_deref());
    let names = [Some("source sources quelle id"), Some(&source.title), author, site, Some(&source.url)];
    let names = names.into_iter().flatten().collect::<Vec<_>>().join(" ").to_lowercase();
    let is_word = |word: &&str| word.contains(char::is_alphabetic);
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).filter(is_word).map(str::to_owned).collect();
    let (names, text): (BTreeSet<String>, BTreeSet<String>) = (words(&names), words(&text.to_lowercase()));
    text.is_subset(&names)
}
