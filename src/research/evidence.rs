//! Evidence cards: what the notes state, with the words of the source that it rests on.
//!
//! Made by code from notes and snapshots, in the way in which the finished report is checked, so the writer sees what a
//! source says and not only what a model made of it. Statements of different sources that differ in a figure are
//! paired.

use std::collections::{BTreeMap, HashMap};

use super::claims::{self, Texts};
use crate::{
    aside::aside_with,
    context::{Cx, Error},
    domain::{Note, Source, SourceId, claim::Verdict, report::Citation},
    journal::Stop,
    offline,
};

/// Cards of a report, and so the sources that are read for them.
const MOST: usize = 30;
/// Characters of a statement and of a quotation.
const CHARS: usize = 300;
/// Bytes of an id in its brackets.
const LONGEST_ID: usize = 16;
/// Pairs that differ.
const MOST_DIFFERING: usize = 8;

/// A statement and the words that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub id: SourceId,
    pub statement: String,
    pub quotation: String,
    /// The host of a page, the path of a document.
    pub host: String,
    pub date: Option<String>,
}

impl Card {
    /// Does the quotation hold the statement, word for word?
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

/// The cards of the notes; a defect on the way leaves them out.
///
/// # Errors
/// [`Stop`].
pub async fn of_notes(cx: &Cx, notes: &[Note], question: &str, sources: &[Source]) -> Result<Evidence, Stop> {
    let own: HashMap<SourceId, SourceId> =
        sources.iter().flat_map(|source| source.ids().map(|id| (id, source.id))).collect();
    // What matters most comes first in notes, and each has its share.
    let share = (MOST / notes.len().max(1)).max(1);
    let first = |note: &Note| (note.clone(), citations(&note.text, &own, share));
    let cited: Vec<(Note, Vec<Citation>)> = notes.iter().map(first).collect();
    let mut ids: Vec<SourceId> =
        cited.iter().flat_map(|(_, citations)| citations.iter().map(|citation| citation.source_id)).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Evidence::default());
    }
    let question = question.to_owned();
    let load = async { Ok::<_, Error>((cx.snapshots(ids).await?, cx.other_texts())) };
    let made = aside_with(load, move |(sources, others)| {
        let by_id: BTreeMap<SourceId, Source> = sources.iter().map(|source| (source.id, source.bare())).collect();
        let texts = Texts::read(sources, &others);
        let of_note =
            |(note, mut citations): (Note, Vec<Citation>)| cards(&note.text, &mut citations, &texts, &by_id, &question);
        let mut cards: Vec<Card> = cited.into_iter().flat_map(of_note).collect();
        cards.truncate(MOST);
        let stated: Vec<(&str, SourceId)> = cards.iter().map(|card| (card.statement.as_str(), card.id)).collect();
        let mut differing = offline::differing(&stated);
        differing.truncate(MOST_DIFFERING);
        Evidence { cards, differing }
    });
    match made.await {
        Err(Error::Stop(stop)) => Err(stop),
        made => Ok(made.unwrap_or_default()),
    }
}

/// The first ids in a note as citations of the sources' own ids, so many at most.
fn citations(text: &str, own: &HashMap<SourceId, SourceId>, most: usize) -> Vec<Citation> {
    let (mut citations, mut chars, mut at) = (Vec::new(), 0, 0);
    for (open, _) in text.match_indices("[S") {
        if citations.len() == most {
            break;
        }
        let Some(length) = text.as_bytes()[open..].iter().take(LONGEST_ID).position(|byte| *byte == b']') else {
            continue;
        };
        let id = text[open + 2..open + length].parse().ok().map(SourceId);
        let Some(own) = id.and_then(|id| own.get(&id)) else { continue };
        chars += text[at..open].chars().count();
        at = open;
        // The brackets and the id are of one byte each.
        citations.push(Citation::new(1, *own, chars, chars + length + 1));
    }
    citations
}

/// The statements of a note whose source was found to say something of the kind.
fn cards(
    text: &str,
    citations: &mut [Citation],
    texts: &Texts,
    sources: &BTreeMap<SourceId, Source>,
    question: &str,
) -> Vec<Card> {
    let claims = claims::check(text, citations, texts, question);
    let card = |claim: &crate::domain::claim::Claim| {
        let mut own = claim.among(citations).iter().filter(|one| one.verdict != Some(Verdict::NotSupported));
        let (id, passage) = own.find_map(|one| Some((one.source_id, one.passage.as_ref()?)))?;
        let source = sources.get(&id)?;
        Some(Card {
            id,
            statement: claim.text.chars().take(CHARS).collect(),
            quotation: passage.text.chars().take(CHARS).collect(),
            host: host(&source.url).to_owned(),
            date: source.published.clone(),
        })
    };
    claims.iter().filter_map(card).collect()
}

fn host(url: &str) -> &str {
    let place = url.split_once("://").map_or(url, |(_, rest)| rest.split('/').next().unwrap_or(rest));
    place.split('#').next().unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    #[test]
    fn a_card_has_the_words_of_the_source() {
        let text = "## Findings\n\n- Ünder the gate, dues of 4 crowns pay [S2001]. [S9999]\n- It took 77 days [S1001].";
        let page = "Gulls nest here.\n\nDues of 4 crowns a boat pay for the gate.";
        let source = Source {
            snapshot: page.into(),
            aliases: vec![SourceId(2001)],
            published: Some("2030-11-14".to_owned()),
            ..Source::example(1001, "https://harbour.test/gate", "Gate")
        };
        let own = HashMap::from([(SourceId(1001), SourceId(1001)), (SourceId(2001), SourceId(1001))]);
        let mut citations = citations(text, &own, 9);
        let chars: Vec<char> = text.chars().collect();
        let shown: Vec<String> = citations.iter().map(|one| chars[one.start..one.end].iter().collect()).collect();
        assert_eq!(shown, ["[S2001]", "[S1001]"]);
        let sources = BTreeMap::from([(source.id, source.bare())]);
        let texts = Texts::read(vec![source], &HashMap::new());
        let cards = cards(text, &mut citations, &texts, &sources, "");
        let expected = Card {
            id: SourceId(1001),
            statement: "Ünder the gate, dues of 4 crowns pay".to_owned(),
            quotation: "Dues of 4 crowns a boat pay for the gate.".to_owned(),
            host: "harbour.test".to_owned(),
            date: Some("2030-11-14".to_owned()),
        };
        assert_eq!(cards, [expected], "what its source does not hold is no evidence");
    }

    #[test]
    fn ids_are_looked_for_as_long_as_they_may_be_and_are_wanted() {
        let own = HashMap::from([(SourceId(1001), SourceId(1001))]);
        let found = |text: &str, most: usize| -> Vec<usize> {
            citations(text, &own, most).iter().map(|citation| citation.start).collect()
        };
        assert_eq!(found("[S is open. Paid [S1001] [S1001].", 9), [17, 25]);
        assert_eq!(found("Paid [S1001] [S1001].", 1), [5]);
        growth::check("[S", 64_000, |text| drop(citations(text, &own, 9)));
        growth::check("[S1001]", 64_000, |text| drop(citations(text, &own, 9)));
    }
}
