//! What sources state otherwise: pairs of cards that differ in a figure, and whether the finished report deals with
//! them.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    claims::{self, Reference},
    evidence::{Card, Evidence},
};
use crate::{
    aside::aside,
    context::Cx,
    domain::{
        SourceId, WarningCode,
        claim::{Contradiction, Stated},
        report::{Report, text_alone},
    },
    journal::Stop,
    text::sentences,
};

/// Returns the pairs of cards whose figures are really apart: `1,000 m` and `1 km` are not.
pub fn of_evidence(evidence: &Evidence) -> Vec<Contradiction> {
    let pair = |(one, other): &(usize, usize)| Some((evidence.cards.get(*one)?, evidence.cards.get(*other)?));
    evidence.differing.iter().filter_map(pair).filter_map(|(one, other)| apart(one, other)).collect()
}

fn apart(one: &Card, other: &Card) -> Option<Contradiction> {
    let stated = |card: &Card, against: &Card| {
        let figures = Reference::of(&against.statement).lacks(&card.statement);
        let (text, host) = (card.statement.clone(), card.host.clone());
        (!figures.is_empty()).then_some(Stated { text, figures, source_id: card.id, host })
    };
    Some(Contradiction { one: stated(one, other)?, other: stated(other, one)?, settled: false })
}

/// Returns the same, held against the report of that name: settled is what it names both figures of in one place,
/// citing one of the sources at least. After a defect nothing is.
///
/// # Errors
/// [`Stop`].
pub async fn in_report(
    cx: &Cx,
    name: &str,
    contradictions: &[Contradiction],
    report: &Report,
) -> Result<Vec<Contradiction>, Stop> {
    if contradictions.is_empty() {
        return Ok(Vec::new());
    }
    let (all, markdown, citations) = (contradictions.to_vec(), report.markdown.clone(), report.citations.clone());
    let held = aside(move || held_against(&all, &Report { markdown, citations, ..Report::default() })).await;
    if let Err(panicked) = held {
        let detail = format!("the {name} was not held against what its sources state otherwise: {panicked}");
        cx.warn(&format!("{name}/contradictions/failed"), WarningCode::CheckFailed, detail).await?;
    }
    Ok(held.unwrap_or_else(|_| contradictions.to_vec()))
}

fn held_against(contradictions: &[Contradiction], report: &Report) -> Vec<Contradiction> {
    let cited: BTreeSet<SourceId> = report.citations.iter().map(|citation| citation.source_id).collect();
    let text = without_citations(report);
    let parts: Vec<Part<'_>> = text.split("\n\n").map(Part::of).collect();
    let settled = |Contradiction { one, other, .. }: &Contradiction| {
        let is_cited = cited.contains(&one.source_id) || cited.contains(&other.source_id);
        let is_settled = || {
            let is_dated = |one: &Stated, other: &Stated| states_dated(&text, one) && states(&text, other);
            sets_beside(&parts, one, other) || is_dated(one, other) || is_dated(other, one)
        };
        is_cited && is_settled()
    };
    contradictions.iter().map(|one| Contradiction { settled: settled(one), ..one.clone() }).collect()
}

/// Returns whether the text names the figures of a statement.
fn names(text: &Reference, stated: &Stated) -> bool {
    are_named(stated, &text.lacks(&stated.text))
}

/// Returns whether none of the figures of a statement is among those that a text lacks.
fn are_named(stated: &Stated, lacking: &[String]) -> bool {
    stated.figures.iter().all(|figure| !lacking.contains(figure))
}

/// Returns whether the text names the figures of a statement, and what they are of.
fn states(text: &str, stated: &Stated) -> bool {
    says(text, &Reference::of(text), stated)
}

/// Returns the same of a text that was read.
fn says(text: &str, read: &Reference, stated: &Stated) -> bool {
    names(read, stated) && claims::has_word_of(text, &stated.text)
}

/// Returns whether a line states it as what held at a date: `2032-06: The fare is 3 crowns`.
fn states_dated(text: &str, stated: &Stated) -> bool {
    let is_date = |label: &str| label.len() >= 4 && label.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let dated = text.lines().filter_map(|line| line.trim_start_matches(['-', '*', ' ']).split_once(": "));
    dated.filter(|(label, _)| is_date(label)).any(|(_, line)| states(line, stated))
}

/// Returns whether one of the parts names the figures of both statements, and says what they are of.
fn sets_beside(parts: &[Part<'_>], one: &Stated, other: &Stated) -> bool {
    let of_one = naming(parts.iter().collect(), one);
    naming(of_one, other).into_iter().any(|part| part.sets_beside(one, other))
}

/// Returns those of the parts that name the figures of a statement.
fn naming<'p, 'a>(mut parts: Vec<&'p Part<'a>>, stated: &Stated) -> Vec<&'p Part<'a>> {
    let mut lacking = claims::lacking(&stated.text, parts.iter().map(|part| &part.read)).into_iter();
    parts.retain(|_| lacking.next().is_some_and(|lacking| are_named(stated, &lacking)));
    parts
}

/// A paragraph, a list or a table, read once for all pairs that are looked for in it.
struct Part<'a> {
    text: &'a str,
    read: Reference,
    /// Its sentences, read on first use.
    sentences: OnceCell<Vec<(&'a str, Reference)>>,
}

impl<'a> Part<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, read: Reference::of(text), sentences: OnceCell::new() }
    }

    fn sentences(&self) -> &[(&'a str, Reference)] {
        let all = || self.text.lines().flat_map(sentences);
        self.sentences.get_or_init(|| all().map(|sentence| (sentence, Reference::of(sentence))).collect())
    }

    /// Returns whether the figures of both, which it has, stand in one sentence, or in several that say what they are
    /// of.
    fn sets_beside(&self, one: &Stated, other: &Stated) -> bool {
        let is_said = |stated: &Stated| self.sentences().iter().any(|(text, read)| says(text, read, stated));
        let in_one = |(_, read): &(&str, Reference)| names(read, one) && names(read, other);
        self.sentences().iter().any(in_one) || is_said(one) && is_said(other)
    }
}

/// Returns the text without the numbers of sources, which are no figures.
pub fn without_citations(report: &Report) -> String {
    let mut places = report.citations.iter().map(|citation| citation.start..citation.end).peekable();
    let mut text = String::new();
    for (at, char) in text_alone(&report.markdown).chars().enumerate() {
        while places.next_if(|place| place.end <= at).is_some() {}
        if !places.peek().is_some_and(|place| place.contains(&at)) {
            text.push(char);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::report::Citation;

    fn card(id: u32, statement: &str) -> Card {
        Card {
            id: SourceId(id),
            statement: statement.to_owned(),
            quotation: statement.to_owned(),
            missing: Vec::new(),
            host: "harbour.test".to_owned(),
            title: "Gate".to_owned(),
            date: None,
        }
    }

    fn pair(one: &str, other: &str) -> Vec<Contradiction> {
        of_evidence(&Evidence { cards: vec![card(1001, one), card(1002, other)], differing: vec![(0, 1)] })
    }

    #[test]
    fn figures_that_are_the_same_in_other_words_are_no_contradiction() {
        let found = pair("The gate cost 412,000 crowns.", "The gate cost 421,000 crowns.");
        assert_eq!(
            (found[0].one.figures.join(";"), found[0].other.figures.join(";")),
            ("412,000".into(), "421,000".into())
        );
        assert_eq!(pair("The channel is 1,000 m long.", "The channel is 1 km long."), []);
        assert_eq!(pair("It cost 4.2 million crowns.", "It cost 4,200,000 crowns."), []);
    }

    #[test]
    fn a_report_that_names_both_figures_settles_it() {
        let pair = pair("The gate cost 412,000 crowns.", "The gate cost 421,000 crowns.");
        let check = |markdown: &str, cited: &[u32], expected: bool| {
            let citations = cited.iter().map(|id| Citation::new(1, SourceId(*id), 0, 0)).collect();
            let report = Report { markdown: markdown.to_owned(), citations, ..Report::default() };
            assert_eq!(held_against(&pair, &report)[0].settled, expected, "{markdown}");
        };
        check("It cost 412,000 crowns by one count and 421.000 by another.", &[1001], true);
        check("It cost 412,000 crowns by one count and 421.000 by another.", &[3001], false);
        check("It cost 412,000 crowns.", &[1001, 1002], false);
        check("Nobody knows.", &[1001], false);
        check("One page says that the gate cost 412,000. By another, its cost was 421,000.", &[1001], true);
        check("The gate cost 412,000 crowns.\n\nThe gate of another town cost 421,000 crowns.", &[1001], false);
        check("The gate cost 412,000 crowns. The bridge far away has 421,000 rivets.", &[1001], false);
        check("The gate cost 421,000 crowns.\n\n## Older\n\n- 2030-05: The gate cost 412,000 crowns.", &[1001], true);
        check("Paid.\n\n## Older\n\n- 2030-05: The gate cost 412,000 crowns.", &[1001], false);
        check("| Gate, one count | 412,000 |\n| Gate, another | 421,000 |", &[1001], true);
    }
}
