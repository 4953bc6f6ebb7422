//! Evidence cards: what the notes state, with the words of the source that it rests on.
//!
//! Made by code from the statements of notes (`statements.rs`), so the writer sees what a source says and not only what
//! a model made of it. Statements of different sources that differ in a figure are paired.

use std::collections::HashMap;

use super::claims;
use crate::{
    aside::aside,
    domain::{
        Note, Source, SourceId,
        claim::{Statement, Verdict},
    },
    offline,
};

/// Cards of a report.
const MOST: usize = 30;
/// Characters of a statement and of a quotation.
const CHARS: usize = 300;
/// Pairs that differ.
const MOST_DIFFERING: usize = 8;

/// A statement and the words that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub id: SourceId,
    pub statement: String,
    pub quotation: String,
    /// What of the statement its sources do not hold.
    pub missing: Vec<String>,
    /// The host of a page, the path of a document.
    pub host: String,
    pub title: String,
    pub date: Option<String>,
}

impl Card {
    /// Returns whether the quotation holds the statement, word for word.
    pub fn is_quotation(&self) -> bool {
        self.quotation.contains(self.statement.trim_end_matches(['.', '…']))
    }
}

/// What the writer sees of the evidence.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub cards: Vec<Card>,
    /// Places of cards that say the same but for a figure.
    pub differing: Vec<(usize, usize)>,
}

/// Returns the cards of the notes; a defect on the way leaves them out.
pub async fn of_notes(notes: &[Note], sources: &[Source]) -> Evidence {
    let by_id: HashMap<SourceId, &Source> =
        sources.iter().flat_map(|source| source.ids().map(move |id| (id, source))).collect();
    // What matters most comes first in notes, and each has its share.
    let share = (MOST / notes.len().max(1)).max(1);
    let of_note = |note: &Note| -> Vec<Card> {
        note.statements.iter().filter_map(|statement| card(statement, &by_id)).take(share).collect()
    };
    let mut cards: Vec<Card> = notes.iter().flat_map(of_note).collect();
    cards.truncate(MOST);
    let paired = aside(move || Evidence { differing: differing(&cards), cards });
    paired.await.unwrap_or_default()
}

/// Returns the pairs of statements, held by their sources as a whole, that say the same but for a figure, in one
/// language or two.
fn differing(cards: &[Card]) -> Vec<(usize, usize)> {
    let texts: Vec<&str> = cards.iter().map(|card| card.statement.as_str()).collect();
    let said: Vec<(&str, &str)> = cards.iter().map(|card| (card.title.as_str(), card.statement.as_str())).collect();
    let is_held = |place: usize| cards[place].missing.is_empty();
    let mut differing = offline::differing(&said);
    differing.extend(claims::differing_across_languages(&texts));
    differing.retain(|(one, other)| cards[*one].id != cards[*other].id && is_held(*one) && is_held(*other));
    differing.truncate(MOST_DIFFERING);
    differing
}

/// Returns the card of a statement of which a source was found to say something of the kind.
fn card(statement: &Statement, sources: &HashMap<SourceId, &Source>) -> Option<Card> {
    let mut own = statement.sources.iter().filter(|support| support.verdict != Verdict::NotSupported);
    let (source, passage) = own.find_map(|own| Some((sources.get(&own.source_id)?, own.passage.as_ref()?)))?;
    Some(Card {
        id: source.id,
        statement: statement.text.chars().take(CHARS).collect(),
        quotation: passage.text.chars().take(CHARS).collect(),
        missing: statement.missing.clone(),
        host: host(&source.url).to_owned(),
        title: source.title.clone(),
        date: source.published.clone(),
    })
}

fn host(url: &str) -> &str {
    let place = url.split_once("://").map_or(url, |(_, rest)| rest.split('/').next().unwrap_or(rest));
    place.split('#').next().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::claim::{Passage, Support};

    fn statement(text: &str, missing: &[&str], verdict: Verdict, id: u32, quotation: &str) -> Statement {
        let passage = Passage { text: quotation.to_owned(), start: 0, end: quotation.len() };
        Statement {
            text: text.to_owned(),
            section: None,
            start: 0,
            end: text.len(),
            verdict,
            missing: missing.iter().map(|missing| (*missing).to_owned()).collect(),
            sources: vec![Support { source_id: SourceId(id), verdict, passage: Some(passage) }],
        }
    }

    fn note(statements: Vec<Statement>) -> Note {
        Note { researcher: 1, topic: String::new(), text: String::new(), statements }
    }

    #[tokio::test]
    async fn a_card_has_the_words_of_the_source() {
        let quotation = "Dues of 4 crowns a boat pay for the gate.";
        let source = Source {
            aliases: vec![SourceId(2001)],
            published: Some("2030-11-14".to_owned()),
            ..Source::example(1001, "https://harbour.test/gate", "Gate")
        };
        let notes = [note(vec![
            statement("Dues of 4 crowns pay", &[], Verdict::Supported, 2001, quotation),
            statement("It took 77 days", &["77 days"], Verdict::NotSupported, 1001, "Gulls nest here."),
            statement("Dues of 4 crowns pay in May", &["May"], Verdict::Partly, 9001, quotation),
        ])];
        let expected = Card {
            id: SourceId(1001),
            statement: "Dues of 4 crowns pay".to_owned(),
            quotation: quotation.to_owned(),
            missing: Vec::new(),
            host: "harbour.test".to_owned(),
            title: "Gate".to_owned(),
            date: Some("2030-11-14".to_owned()),
        };
        let evidence = of_notes(&notes, &[source]).await;
        assert_eq!(evidence.cards, [expected], "what its source does not hold is no evidence");
    }

    #[tokio::test]
    async fn a_statement_that_is_not_held_contradicts_nothing() {
        let says = |crowns: &str| format!("The northern tide gate of the harbour cost {crowns} crowns in all.");
        let pairs = async |missing: &[&str]| {
            let stated = |crowns: &str, missing: &[&str], id| {
                statement(&says(crowns), missing, Verdict::Partly, id, "The gate was dear.")
            };
            let notes = [note(vec![stated("412,000", &[], 1001), stated("421,000", missing, 1002)])];
            let sources = [1001, 1002].map(|id| Source::example(id, &format!("https://{id}.test/"), "Gate"));
            of_notes(&notes, &sources).await.differing
        };
        assert_eq!(pairs(&[]).await, [(0, 1)]);
        assert_eq!(pairs(&["421,000"]).await, []);
    }

    #[tokio::test]
    async fn statements_in_two_languages_may_differ() {
        let stated = |text: &str, id| statement(text, &[], Verdict::Supported, id, text);
        let english = stated("The harbour of Skelderwick cost 1,234.5 crowns in 2030.", 1001);
        let german = "Der Hafen von Skelderwick kostete im Jahr 2030 genau 1.243,5 Kronen.";
        let sources = [1001, 1002].map(|id| Source::example(id, &format!("https://{id}.test/"), "Gate"));
        for (id, expected) in [(1002, vec![(0, 1)]), (1001, Vec::new())] {
            let notes = [note(vec![english.clone(), stated(german, id)])];
            assert_eq!(of_notes(&notes, &sources).await.differing, expected);
        }
    }

    #[tokio::test]
    async fn each_note_has_its_share() {
        let one = statement("Dues of 4 crowns pay", &[], Verdict::Supported, 1001, "Dues of 4 crowns pay.");
        let notes = [50, 1].map(|count| note(vec![one.clone(); count]));
        let source = Source::example(1001, "minutes/april.pdf#page=3", "April");
        let cards = of_notes(&notes, &[source]).await.cards;
        assert_eq!((cards.len(), cards[0].host.as_str()), (MOST / 2 + 1, "minutes/april.pdf"));
    }
}
