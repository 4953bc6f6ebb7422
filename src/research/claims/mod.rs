//! Holds the cited statements of a report against the texts they cite, without a model.
//!
//! Every number, date, time, code and name of a statement has to stand in the text of a source it cites, in whatever
//! spelling, or to follow from what stands there: as a sum, a difference, a share, in another unit, rounded.
//! `statements.rs` tells which statement a citation stands behind, `figures.rs` what is to be checked in it
//! (`tokens.rs`, `dates.rs`, `words.rs`, `names.rs`), `page.rs` reads a source once, `check.rs` compares, `roles.rs`
//! tells the number that is meant from the same one of another matter, `derived.rs` computes, `across.rs` compares
//! statements in different languages. Everything takes time that grows with the length of the texts alone.

mod across;
mod check;
mod dates;
mod derived;
mod figures;
mod names;
mod page;
mod roles;
mod statements;
mod tokens;
mod words;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

pub use across::differing_across_languages;
pub use statements::{Cited, cited, plain, without_marks};

use self::{
    check::{Standing, Statement},
    figures::Figure,
    page::{Page, WordKey, word_keys},
    tokens::{Token, tokens},
};
use crate::{
    domain::{
        Source, SourceId,
        claim::{Claim, Passage, Verdict},
        report::Citation,
        wording,
    },
    text::{self, Language},
};

/// Bytes of a source by which its language is recognised.
const LANGUAGE_BYTES: usize = 4_000;
/// Characters of a statement that are kept.
const CLAIM_CHARS: usize = 600;

/// The sources that a report cites, with their texts.
#[derive(Debug, Default)]
pub struct Texts {
    pages: HashMap<SourceId, CitedPage>,
}

#[derive(Debug)]
struct CitedPage {
    page: Page,
    language: OnceLock<Option<&'static str>>,
}

impl CitedPage {
    /// Returns the ISO 639-1 code of the text, as far as its beginning tells. Few statements depend on it, and
    /// telling takes time.
    fn language(&self) -> Option<&'static str> {
        let text = self.page.text();
        *self.language.get_or_init(|| wording::language_code(&text[..text.floor_char_boundary(LANGUAGE_BYTES)]))
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
            let addresses = std::iter::once(&source.url).chain(&source.addresses);
            let more: Vec<&Arc<str>> = addresses.filter_map(|address| others.get(address)).flatten().collect();
            let text = match more.as_slice() {
                [] => source.snapshot,
                more => std::iter::once(&source.snapshot)
                    .chain(more.iter().copied())
                    .map(|text| &**text)
                    .collect::<Vec<_>>()
                    .join("\n")
                    .into(),
            };
            (source.id, CitedPage { page: Page::read(text, &around), language: OnceLock::new() })
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
fn related_words(statement: &str) -> impl Iterator<Item = &'static str> {
    let language = Language::of(statement);
    let related = move |term: String| {
        let of_word = text::related(&term, language);
        if of_word.is_empty() { text::related_in_compound(&term, language) } else { of_word }
    };
    text::terms(statement, language).into_iter().flat_map(related).map(|(word, _)| word)
}

/// Returns whether a text keeps to a statement: it has a word of it, if the statement has any, and half of its words
/// stand there or in the passages.
pub fn keeps_to(text: &str, statement: &str, passages: &[String]) -> bool {
    let (own, stated) = (keys(text), keys(statement));
    let known: HashSet<WordKey> = passages.iter().flat_map(|passage| keys(passage)).collect();
    let count = own.iter().filter(|key| stated.contains(key) || known.contains(key)).count();
    (stated.is_empty() || own.is_empty() || !own.is_disjoint(&stated)) && count * 2 >= own.len()
}

/// Returns whether a text has a word of the statement.
pub fn has_word_of(text: &str, statement: &str) -> bool {
    !keys(text).is_disjoint(&keys(statement))
}

fn keys(text: &str) -> HashSet<WordKey> {
    word_keys(&tokens(text)).map(|(key, _)| key).collect()
}

/// A text in which the figures of others are looked for, in any spelling.
#[derive(Debug)]
pub struct Reference(Page);

impl Reference {
    pub fn of(text: &str) -> Self {
        Self(Page::read(text.into(), ""))
    }

    /// Returns the figures and dates of a statement, as written there, that the text does not hold.
    pub fn lacks(&self, text: &str) -> Vec<String> {
        let tokens = tokens(text);
        let statement = Statement::read(text, &tokens);
        let standings = statement.standings(&self.0);
        let missing = statement.figures.iter().zip(standings).filter(|(_, standing)| *standing == Standing::Missing);
        missing.map(|(found, _)| text[found.start..found.end].to_owned()).collect()
    }
}

/// Checks all cited statements of a text; each citation gets its verdict and passage. What the words of `question` name
/// need not stand in a source.
pub fn check(text: &str, citations: &mut [Citation], texts: &Texts, question: &str) -> Vec<Claim> {
    let asked = keys(question);
    let language = wording::language_code(text);
    let names = Names { asked, language, known: names::always_capitalised(language, text) };
    let cited = cited(text, citations);
    let mut chars = CharCount::new(text);
    let claims = cited.into_iter().map(|cited| {
        let place = (chars.at(cited.place.start), chars.at(cited.place.end));
        let own = &mut citations[cited.citations.clone()];
        let (verdict, missing) = checked(&cited.text, own, texts, &names);
        Claim {
            text: cited.text.chars().take(CLAIM_CHARS).collect(),
            start: place.0,
            end: place.1,
            verdict,
            missing,
            reason: None,
            first_citation: cited.citations.start,
            citations: cited.citations.len(),
        }
    });
    claims.collect()
}

/// A page that a statement cites, and what of the statement stands there.
struct PageMatch<'a> {
    page: &'a Page,
    /// Of what is checked, figures first, then names.
    found: HashSet<usize>,
    /// The sentence that is nearest to the statement.
    best: Option<usize>,
}

/// What tells the names in a text.
struct Names {
    /// The words of the question, whose names need not stand in a source.
    asked: HashSet<WordKey>,
    /// ISO 639-1 of the text.
    language: Option<&'static str>,
    /// Words that are names wherever they stand; in lower case.
    known: HashSet<String>,
}

impl Names {
    /// Returns those of a statement, with the keys of their telling words. Names of one word may be many things: they
    /// count where there is nothing else to be checked.
    fn of(&self, tokens: &[Token<'_>], has_figures: bool) -> Vec<(String, Vec<WordKey>)> {
        if !names::has_names(self.language) {
            return Vec::new();
        }
        let found = telling(tokens, names::names(tokens), &self.asked);
        match found.is_empty() && !has_figures {
            true => telling(tokens, names::single(tokens, &self.known), &self.asked),
            false => found,
        }
    }
}

/// Checks one statement against the sources behind its citations.
fn checked(text: &str, citations: &mut [Citation], texts: &Texts, all: &Names) -> (Verdict, Vec<String>) {
    let tokens = tokens(text);
    let statement = Statement::read(text, &tokens);
    let names = all.of(&tokens, !statement.figures.is_empty());
    let mut checkable = HashSet::new();
    let held = citations.iter().map(|citation| {
        let cited = texts.pages.get(&citation.source_id)?;
        let names = if !names.is_empty() && cited.language() == all.language { names.as_slice() } else { &[] };
        Some(held_against(&cited.page, &statement, names, &mut checkable))
    });
    let mut held: Vec<Option<PageMatch<'_>>> = held.collect();
    add_derived(&statement, &checkable, &mut held);
    for (citation, held) in citations.iter_mut().zip(&held) {
        let verdict = held.as_ref().map(|held| verdict(held.found.len(), checkable.len()));
        citation.verdict = Some(verdict.unwrap_or(Verdict::NotCheckable));
        citation.passage = held.as_ref().and_then(|held| held.page.passage(held.best?));
    }
    let found: HashSet<usize> = held.iter().flatten().flat_map(|held| held.found.iter().copied()).collect();
    let label = |number: &usize| match statement.figures.get(*number) {
        Some(found) => text[found.start..found.end].to_owned(),
        None => names[*number - statement.figures.len()].0.clone(),
    };
    let mut missing: Vec<usize> = checkable.difference(&found).copied().collect();
    missing.sort_unstable();
    (verdict(found.len(), checkable.len()), missing.iter().map(label).collect())
}

fn held_against<'a>(
    page: &'a Page,
    statement: &Statement<'_>,
    names: &[(String, Vec<WordKey>)],
    checkable: &mut HashSet<usize>,
) -> PageMatch<'a> {
    let (mut found, mut sentences) = (HashSet::new(), Vec::new());
    for (number, standing) in statement.standings(page).into_iter().enumerate() {
        match standing {
            Standing::Free => continue,
            Standing::Missing => {}
            Standing::In(sentence) => {
                found.insert(number);
                sentences.push(sentence);
            }
        }
        checkable.insert(number);
    }
    for (number, (name, keys)) in (statement.figures.len()..).zip(names) {
        checkable.insert(number);
        if keys.iter().all(|key| page.has_word(*key)) || names::is_acronym(name) && page.spells(name) {
            found.insert(number);
        }
    }
    PageMatch { page, found, best: page.best_sentence(&statement.keys, &sentences) }
}

/// Adds what stands nowhere, but follows from what stands in all of the pages together.
fn add_derived(statement: &Statement<'_>, checkable: &HashSet<usize>, held: &mut [Option<PageMatch<'_>>]) {
    let pages: Vec<(&Page, Option<usize>)> = held.iter().flatten().map(|held| (held.page, held.best)).collect();
    for (number, figure) in statement.figures.iter().enumerate().filter(|(number, _)| checkable.contains(number)) {
        let is_found = held.iter().flatten().any(|held| held.found.contains(&number));
        if let Figure::Number(value) = &figure.figure
            && !is_found
            && derived::is_derived(statement, value, &pages)
        {
            held.iter_mut().flatten().for_each(|held| _ = held.found.insert(number));
        }
    }
}

fn verdict(found: usize, checkable: usize) -> Verdict {
    match found {
        _ if checkable == 0 => Verdict::NotCheckable,
        found if found == checkable => Verdict::Supported,
        0 => Verdict::NotSupported,
        _ => Verdict::Partly,
    }
}

/// Returns the names that the question does not have, with the keys of their telling words.
fn telling(tokens: &[Token<'_>], names: Vec<Vec<usize>>, asked: &HashSet<WordKey>) -> Vec<(String, Vec<WordKey>)> {
    let names = names.into_iter().map(|name| {
        let words: Vec<&str> = name.iter().map(|at| tokens[*at].text).collect();
        let own = name.iter().filter(|at| names::is_telling(tokens[**at].text));
        let keys =
            own.flat_map(|at| word_keys(&tokens[*at..=*at]).map(|(key, _)| key)).filter(|key| !asked.contains(key));
        (words.join(" "), keys.collect::<Vec<_>>())
    });
    names.filter(|(_, keys)| !keys.is_empty()).collect()
}

/// Turns ascending bytes of a text into characters, in one pass.
struct CharCount<'a> {
    text: &'a str,
    byte: usize,
    chars: usize,
}

impl<'a> CharCount<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, byte: 0, chars: 0 }
    }

    fn at(&mut self, byte: usize) -> usize {
        if byte < self.byte {
            (self.byte, self.chars) = (0, 0);
        }
        self.chars += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        self.chars
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod spellings;
