//! Holds the cited statements of a report against the texts they cite, without a model.
//!
//! Every number, date, time, code, name and quotation of a statement has to stand in the text of a source it cites, in
//! whatever spelling, or to follow from what stands there: as a sum, a difference, a share, in another unit, rounded.
//!
//! - **Statements**: `statements.rs` tells which one a citation stands behind, `stated.rs` what it says.
//! - **Figures**: `figures.rs` finds them in a text (`tokens.rs`, `reader.rs`, `readings.rs`, `dates.rs`,
//!   `compounds.rs`, `powers.rs`, `measures.rs`, `units.rs`, `signs.rs`, `identifiers.rs`, `words.rs`, `phrases.rs`,
//!   `quarters.rs`), `figure.rs` has what they are, `bounds.rs` how exact a number is, `versions.rs` which are no
//!   amounts. `names.rs` and `quotations.rs` find the rest of what is checked, `spelled.rs` tells whether a
//!   name stands in a page.
//! - **Sources**: `texts.rs` has all that are cited, `page.rs` reads one once
//!   (`plain.rs`, `lower.rs`, `borders.rs`, `keys.rs`, `heads.rs`, `shares.rs`, `lookup.rs`, `acronyms.rs`);
//!   `around.rs` has its title, date and address.
//! - **Comparing**: `check.rs` holds a statement against a page (`hours.rs`), `equality.rs` says when two numbers are
//!   the same, `derived.rs` computes (`ratios.rs`), `years.rs` knows the year before, `verbatim.rs` finds whole
//!   sentences, `across.rs` compares statements in different languages.
//! - **The right matter**: `ordinals.rs` tells numbers that number something from those that count, `roles.rs` the
//!   number that is meant from the same one of another matter, `parts.rs` which words of a sentence belong to which
//!   number; by these `swaps.rs` finds numbers that were exchanged, and `rows.rs` those of another row.
//!
//! Everything takes time that grows with the length of the texts alone, but that each quotation is looked for in all of
//! what it cites.

mod acronyms;
mod across;
mod around;
mod borders;
mod bounds;
mod check;
mod compounds;
mod dates;
mod derived;
mod equality;
mod figure;
mod figures;
mod heads;
mod hours;
mod identifiers;
mod keys;
mod lookup;
mod lower;
mod measures;
mod names;
mod ordinals;
mod page;
mod parts;
mod phrases;
mod plain;
mod powers;
mod quarters;
mod quotations;
mod ratios;
mod reader;
mod readings;
mod roles;
mod rows;
mod shares;
mod signs;
mod spelled;
mod stated;
mod statements;
mod swaps;
mod texts;
mod tokens;
mod units;
mod verbatim;
mod versions;
mod words;
mod years;

use std::collections::HashSet;

pub use across::differing_across_languages;
pub use plain::{plain, without_marks};
pub use statements::{Cited, cited};
pub use texts::Texts;

use self::{
    derived::Derivation,
    figure::Figure,
    keys::{WordKey, word_keys},
    page::Page,
    quotations::Quotation,
    spelled::NameWord,
    stated::{Standing, Statement},
    texts::CitedPage,
    tokens::{Token, tokens},
};
use crate::domain::{
    claim::{Claim, Verdict},
    report::Citation,
    wording,
};

/// Characters of a statement that are kept.
const CLAIM_CHARS: usize = 600;

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
        lacking(text, [self]).pop().unwrap_or_default()
    }
}

/// Returns the same for each of several texts; the statement is read once.
pub fn lacking<'r>(text: &str, references: impl IntoIterator<Item = &'r Reference>) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let statement = Statement::read(text, &tokens);
    let lacking = |reference: &Reference| {
        let figures = statement.figures.iter().zip(statement.standings(&reference.0));
        let missing = figures.filter(|(_, standing)| matches!(standing, Standing::Missing | Standing::Swapped));
        missing.map(|(found, _)| text[found.start..found.end].to_owned()).collect()
    };
    references.into_iter().map(lacking).collect()
}

/// Checks all cited statements of a text; each citation gets its verdict and passage. What the words of `question`
/// name or quote need not stand in a source.
pub fn check(text: &str, citations: &mut [Citation], texts: &Texts, question: &str) -> Vec<Claim> {
    let asked = keys(question);
    let language = wording::any_language_code(text);
    let names = Names { asked, language, known: names::always_capitalised(language, text) };
    let quoting = Quoting {
        asked: quotations::letters(question),
        language: language.or_else(|| wording::language_code_of_few(text)),
    };
    let cited = cited(text, citations);
    let mut chars = CharCount::new(text);
    let claims = cited.into_iter().map(|cited| {
        let place = (chars.at(cited.place.start), chars.at(cited.place.end));
        let own = &mut citations[cited.citations.clone()];
        let (verdict, missing) = checked(&cited, own, texts, &names, &quoting);
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
    /// Of what is checked, figures first, then names, then quotations.
    found: HashSet<usize>,
    /// Of these, what the page says of another matter.
    swapped: HashSet<usize>,
    /// Whether the statement is a sentence of the page.
    is_verbatim: bool,
    /// The sentence that is nearest to the statement.
    best: Option<usize>,
}

/// A name in a statement.
struct Name {
    /// As it is shown.
    label: String,
    /// The keys of its telling words.
    keys: Vec<WordKey>,
    /// These words as they are spelled.
    words: Vec<NameWord>,
    /// What a source may call it.
    short: Vec<String>,
}

impl Name {
    fn stands_in(&self, page: &Page) -> bool {
        let is_spelled = || self.words.iter().all(|word| word.stands_in(page));
        self.keys.iter().all(|key| page.has_word(*key)) && is_spelled()
            || names::is_acronym(&self.label) && page.spells(&self.label)
            || self.short.iter().any(|short| page.has_written(short))
    }
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
    /// Returns those of a statement. Names of one word may be many things: they count where there is nothing else to be
    /// checked.
    fn of(&self, tokens: &[Token<'_>], has_figures: bool) -> Vec<Name> {
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

/// What tells the quotations in a text that have to stand in its sources.
struct Quoting {
    /// The letters of the question, whose words need not stand in a source.
    asked: String,
    /// ISO 639-1 of the text, or a guess.
    language: Option<&'static str>,
}

impl Quoting {
    /// Returns those of a statement that are checked against what it cites, each with the places of the citations
    /// whose pages hold it. One that stands nowhere may be a translation of what a page in another language says, or
    /// from a page without a text: it is left out.
    fn of(&self, cited: &Cited, citations: &[Citation], texts: &Texts) -> Vec<(Quotation, Vec<usize>)> {
        let pages: Vec<Option<&CitedPage>> =
            citations.iter().map(|citation| texts.pages.get(&citation.source_id)).collect();
        let held = |quotation: Quotation| {
            let holds = |at: &usize| pages[*at].is_some_and(|page| page.quotes(&quotation));
            let holding: Vec<usize> = (0..pages.len()).filter(holds).collect();
            let is_checked =
                |page: &Option<&CitedPage>| page.is_some_and(|page| page.has_language_of(&quotation, self.language));
            (!holding.is_empty() || pages.iter().all(is_checked)).then_some((quotation, holding))
        };
        let is_own = |quotation: &Quotation| !quotation.stands_in(&self.asked);
        cited.quotations.iter().filter(|quotation| is_own(quotation)).cloned().filter_map(held).collect()
    }
}

/// Checks one statement against the sources behind its citations.
fn checked(
    cited: &Cited,
    citations: &mut [Citation],
    texts: &Texts,
    all: &Names,
    quoting: &Quoting,
) -> (Verdict, Vec<String>) {
    let text = &cited.text;
    let tokens = tokens(text);
    let statement = Statement::read(text, &tokens);
    let names = all.of(&tokens, statement.has_figures());
    let mut checkable = HashSet::new();
    let held = citations.iter().map(|citation| {
        let cited = texts.pages.get(&citation.source_id)?;
        let names = if !names.is_empty() && cited.page.language() == all.language { names.as_slice() } else { &[] };
        Some(held_against(&cited.page, &statement, names, &mut checkable))
    });
    let mut held: Vec<Option<PageMatch<'_>>> = held.collect();
    add_derived(&statement, &checkable, &mut held);
    let quoted = quoting.of(cited, citations, texts);
    let first_quoted = statement.figures.len() + names.len();
    for (number, (_, holding)) in (first_quoted..).zip(&quoted) {
        checkable.insert(number);
        for at in holding {
            held[*at].iter_mut().for_each(|held| _ = held.found.insert(number));
        }
    }
    // Who said what is not half right.
    let is_misquoted = quoted.iter().any(|(_, holding)| holding.is_empty());
    let verdict = |found: usize| if is_misquoted { Verdict::NotSupported } else { verdict(found, checkable.len()) };
    for (citation, held) in citations.iter_mut().zip(&held) {
        let own =
            held.as_ref().map(|held| if held.is_verbatim { Verdict::Supported } else { verdict(held.found.len()) });
        citation.verdict = Some(own.unwrap_or(Verdict::NotCheckable));
        citation.passage = held.as_ref().and_then(|held| held.page.passage(held.best?));
    }
    if held.iter().flatten().any(|held| held.is_verbatim) {
        return (Verdict::Supported, Vec::new());
    }
    let found: HashSet<usize> = held.iter().flatten().flat_map(|held| held.found.iter().copied()).collect();
    let figures = statement.figures.iter().map(|found| text[found.start..found.end].to_owned());
    let labels = figures.chain(names.iter().map(|name| name.label.clone()));
    let labels = labels.chain(quoted.iter().map(|(quotation, _)| quotation.text.clone()));
    let is_missing = |number: &usize| checkable.contains(number) && !found.contains(number);
    let missing = (0..).zip(labels).filter(|(number, _)| is_missing(number)).map(|(_, label)| label);
    (verdict(found.len()), missing.collect())
}

fn held_against<'a>(
    page: &'a Page,
    statement: &Statement<'_>,
    names: &[Name],
    checkable: &mut HashSet<usize>,
) -> PageMatch<'a> {
    let (mut found, mut swapped, mut sentences) = (HashSet::new(), HashSet::new(), Vec::new());
    for (number, standing) in statement.standings(page).into_iter().enumerate() {
        match standing {
            Standing::Free => continue,
            Standing::Missing => {}
            Standing::Swapped => _ = swapped.insert(number),
            Standing::In(sentence) => {
                found.insert(number);
                sentences.push(sentence);
            }
        }
        checkable.insert(number);
    }
    for (number, name) in (statement.figures.len()..).zip(names) {
        checkable.insert(number);
        if name.stands_in(page) {
            found.insert(number);
        }
    }
    let is_whole = !found.is_empty() && found.len() == checkable.len();
    let is_verbatim = !is_whole && page.states(statement.text, &statement.keys);
    PageMatch { page, found, swapped, is_verbatim, best: page.best_sentence(&statement.keys, &sentences) }
}

/// Adds what stands nowhere, but follows from what stands in all of the pages together: to those from each of which it
/// follows, or else to all.
fn add_derived<'a>(statement: &'a Statement<'a>, checkable: &HashSet<usize>, held: &mut [Option<PageMatch<'a>>]) {
    let pages: Vec<(&'a Page, Option<usize>)> = held.iter().flatten().map(|held| (held.page, held.best)).collect();
    let apart: Vec<Derivation<'_>> = pages.iter().map(|page| Derivation::of(statement, vec![*page])).collect();
    let derivation = Derivation::of(statement, pages);
    for (number, figure) in statement.figures.iter().enumerate().filter(|(number, _)| checkable.contains(number)) {
        let is_found = held.iter().flatten().any(|held| held.found.contains(&number) || held.swapped.contains(&number));
        let place = figure.start..figure.end;
        if let Figure::Number(value) = &figure.figure
            && !is_found
            && derivation.has(value, &place)
        {
            let suffice: Vec<bool> = apart.iter().map(|page| apart.len() == 1 || page.has(value, &place)).collect();
            let any_suffices = suffice.contains(&true);
            let credited = held.iter_mut().flatten().zip(suffice).filter(|(_, suffices)| *suffices || !any_suffices);
            credited.for_each(|(held, _)| _ = held.found.insert(number));
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

/// Returns the names that the question does not have.
fn telling(tokens: &[Token<'_>], names: Vec<Vec<usize>>, asked: &HashSet<WordKey>) -> Vec<Name> {
    let names = names.into_iter().map(|name| {
        let words: Vec<&str> = name.iter().map(|at| tokens[*at].text).collect();
        let is_own = |at: &&usize| names::is_telling(tokens[**at].text) && !names::opens_sentence(tokens, **at);
        let own = || name.iter().filter(is_own);
        let keys =
            own().flat_map(|at| word_keys(&tokens[*at..=*at]).map(|(key, _)| key)).filter(|key| !asked.contains(key));
        let keys: Vec<WordKey> = keys.collect();
        let spelled = own().filter_map(|at| NameWord::of(tokens, *at)).filter(|word| keys.contains(&word.key()));
        let label = names::without_article(&words).join(" ");
        Name { label, words: spelled.collect(), keys, short: names::short_forms(tokens, &name) }
    });
    names.filter(|name| !name.keys.is_empty()).collect()
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

#[cfg(test)]
mod amounts;
#[cfg(test)]
mod chance;
#[cfg(test)]
mod exchanged;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod labelled;
