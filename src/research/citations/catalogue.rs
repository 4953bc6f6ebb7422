//! The sources that may be cited, by their ids, addresses and titles.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{address, ids, lines, scan};
use crate::domain::Source;

/// Bytes of a title.
const LONGEST_TITLE: usize = 1_200;
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
        Self {
            by_id: sources.iter().enumerate().flat_map(ids).collect(),
            // Of two spellings of one address the first is meant, and a source's own one before what it is an alias of.
            by_url: addresses.into_iter().collect(),
            titles: titles(&sources),
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
                && !lines::holds_address(before)
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
