//! The lists of words, phrases and fixed texts that the other files look things up in: the `.txt` files beside this
//! one, each line a name and what it lists.

use std::{collections::HashMap, sync::LazyLock};

use crate::text::has_phrase;

const FILES: [&str; 5] = [
    include_str!("kinds.txt"),
    include_str!("orders.txt"),
    include_str!("phrases.txt"),
    include_str!("requests.txt"),
    include_str!("words.txt"),
];

/// Returns what stands behind a name; empty if there is none.
pub(super) fn list(name: &str) -> &'static str {
    static LISTS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let lines = FILES.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(": ")).collect()
    });
    LISTS.get(name).copied().unwrap_or_default()
}

/// Returns the words or phrases of a list, which has bars between them.
pub(super) fn listed(name: &str) -> impl Iterator<Item = &'static str> {
    list(name).split('|').filter(|listed| !listed.is_empty())
}

/// Returns whether the word is one of a list.
pub(super) fn is_listed(name: &str, word: &str) -> bool {
    // Most words are in no list, which the first look shows faster.
    list(name).contains(word) && listed(name).any(|listed| listed == word)
}

/// Returns whether the text has a word or phrase of a list, in whatever case.
pub(super) fn has(name: &str, text: &str) -> bool {
    let lower = text.to_lowercase();
    listed(name).any(|phrase| has_phrase(&lower, phrase))
}
