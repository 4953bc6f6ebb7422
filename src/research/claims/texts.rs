//! The texts that statements are held against, each read once.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use super::{
    keys,
    keys::WordKey,
    page::Page,
    quotations::{self, Letters, Quotation},
    stated::{Standing, Statement},
    tokens::tokens,
};
use crate::{
    domain::{Source, SourceId, claim::Passage, same, wording},
    text::{self, Language},
};

/// The sources that a report cites, with their texts.
#[derive(Debug, Default)]
pub struct Texts {
    pub(super) pages: HashMap<SourceId, CitedPage>,
}

/// A source as statements are held against it.
#[derive(Debug, Default)]
pub struct CitedPage {
    pub(super) page: Page,
    /// What else is known of it.
    around: String,
    /// The letters of its text and of what is known of it.
    letters: OnceLock<[Letters; 2]>,
    /// What tells its language where its letters alone do not.
    guess: OnceLock<Guess>,
}

/// What the beginning of a text tells of its language.
#[derive(Debug)]
struct Guess {
    /// ISO 639-1, of a few letters.
    code: Option<&'static str>,
    /// Its words in lower case.
    words: HashSet<String>,
    /// Which forms of Chinese it is in.
    chinese: [bool; 2],
}

impl CitedPage {
    pub(super) fn read(text: Arc<str>, around: String) -> Self {
        Self { page: Page::read(text, &around), around, ..Self::default() }
    }

    /// Returns what is guessed of its language, read on first use.
    fn guess(&self) -> &Guess {
        self.guess.get_or_init(|| {
            let words = text::lower_words(self.page.beginning()).into_iter().collect();
            let chinese = quotations::chinese(self.page.beginning());
            Guess { code: wording::language_code_of_few(self.page.beginning()), words, chinese }
        })
    }

    /// Returns whether the quotation stands there word for word.
    pub(super) fn quotes(&self, quotation: &Quotation) -> bool {
        let read = || [self.page.text(), &self.around].map(Letters::of);
        self.letters.get_or_init(read).iter().any(|letters| letters.hold(quotation))
    }

    /// Returns whether a quotation is in the language of this page, so that it is no translation: as far as its letters
    /// tell, or else the language of the `report` around it, or because most of its words stand here. Names, and small
    /// words of the report's language, tell nothing.
    pub(super) fn has_language_of(&self, quotation: &Quotation, report: Option<&str>) -> bool {
        if let (of_quotation @ ([true, false] | [false, true]), of_page) =
            (quotations::chinese(&quotation.text), self.guess().chinese)
            && of_page == of_quotation.map(|has| !has)
        {
            return false;
        }
        let there = self.page.language().or_else(|| self.guess().code);
        let shares_words = || {
            let language = |code: Option<&str>| code.and_then(Language::of_code);
            let (here, around) = (language(there), language(report).filter(|_| report != there));
            let is_small = |word: &str, of: Option<Language>| of.is_some_and(|of| text::is_stop_word(word, of));
            let words = text::words(&quotation.text).into_iter().filter(|word| !word.starts_with(char::is_uppercase));
            let words: Vec<String> = words.map(str::to_lowercase).filter(|word| !is_small(word, around)).collect();
            let is_known = |word: &&String| is_small(word, here) || self.guess().words.contains(*word);
            words.iter().filter(is_known).count() * 2 > words.len()
        };
        let Some(own) = wording::language_code_of_few(&quotation.text) else {
            return there.is_some() && report == there || shares_words();
        };
        there == Some(own)
    }
}

impl Texts {
    /// Reads the snapshots of `sources`, and what else the run saw under their addresses.
    pub fn read(sources: Vec<Source>, others: &HashMap<String, Vec<Arc<str>>>) -> Self {
        let read = |source: Source| {
            let around = [
                source.title.as_str(),
                source.section.as_deref().unwrap_or_default(),
                source.published.as_deref().unwrap_or_default(),
                &source.url,
            ];
            let around = around.join("\n");
            let of_address = |address: &str| others.get(address).into_iter().flatten().map(|text| &**text).collect();
            let Source { id, snapshot, .. } = same::with_other_texts(source, of_address);
            (id, CitedPage::read(snapshot, around))
        };
        Self { pages: sources.into_iter().map(read).collect() }
    }

    /// Returns a passage with so many characters before and behind it. Without one, the place that has words related
    /// to those of the statement, in whatever language, or all of a text that is no longer than that; else nothing.
    pub fn around(&self, id: SourceId, passage: Option<&Passage>, statement: &str, chars: usize) -> Option<String> {
        let page = &self.pages.get(&id)?.page;
        let related = || page.passage(page.best_sentence(&related_keys(statement), &[])?);
        let (start, end) = match passage.cloned().or_else(related) {
            Some(passage) => (passage.start, passage.end),
            None if page.text().chars().nth(2 * chars).is_none() => (0, chars),
            None => return None,
        };
        let from = start.saturating_sub(chars);
        let text: String = page.text().chars().skip(from).take(end + chars - from).collect();
        (!text.trim().is_empty()).then_some(text)
    }

    /// Returns the sources, in no order.
    pub fn ids(&self) -> impl Iterator<Item = SourceId> {
        self.pages.keys().copied()
    }

    /// Finds where these sources come nearest to a statement: of each that shares a word or figure with it one passage,
    /// the nearest first.
    pub fn nearest(&self, statement: &str, ids: impl Iterator<Item = SourceId>) -> Vec<(SourceId, Passage)> {
        let tokens = tokens(statement);
        let statement = Statement::read(statement, &tokens);
        let nearest_in = |id: SourceId| {
            let page = &self.pages.get(&id)?.page;
            let places: Vec<usize> = statement.standings(page).into_iter().filter_map(Standing::place).collect();
            let (sentence, shared) = page.nearest_sentence(&statement.keys, &places)?;
            Some((shared, id, page.passage(sentence)?))
        };
        let mut found: Vec<(f64, SourceId, Passage)> = ids.filter_map(nearest_in).collect();
        found.sort_by(|(a, one, _), (b, other, _)| b.total_cmp(a).then(one.cmp(other)));
        found.into_iter().map(|(_, id, passage)| (id, passage)).collect()
    }
}

fn related_keys(statement: &str) -> BTreeSet<WordKey> {
    related_words(statement).flat_map(keys).collect()
}

/// Returns the words in any language that stand for what the statement's words do.
pub(super) fn related_words(statement: &str) -> impl Iterator<Item = &'static str> {
    let language = Language::of(statement);
    let related = move |term: String| {
        let of_word = text::related(&term, language);
        if of_word.is_empty() { text::related_in_compound(&term, language) } else { of_word }
    };
    text::terms(statement, language).into_iter().flat_map(related).map(|(word, _)| word)
}
