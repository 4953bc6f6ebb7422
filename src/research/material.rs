//! What the writer of a report is given: notes, cards, the sources that may be cited, and what is open.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    Conversation, Findings, citations,
    earlier::EarlierFindings,
    evidence::{self, Card},
    questions::Judged,
    statements,
};
use crate::{
    context::{Cx, Error},
    domain::{Evidence, Finding, Note, Source, SourceId},
    llm::Text,
    offline::Task,
    prompts::{Flexible, Prompts, untrusted},
};

/// Renders the one message the writer gets.
///
/// # Errors
/// [`crate::journal::Stop`].
pub async fn prompt(
    cx: &Cx,
    conversation: &Conversation,
    brief: &str,
    findings: &Findings,
    known: Option<&EarlierFindings>,
    (sources, evidence): (&[Source], &evidence::Evidence),
) -> Result<Text, Error> {
    let mut flexible = Flexible::default();
    // The offline model reads no prompt.
    let has_cards = !evidence.cards.is_empty() && !cx.options().final_report_model.first().is_offline();
    let cards = has_cards.then(|| flexible.mark(cx.prompts().text("cards", shown_cards(evidence))));
    let values = json!({
        "date": cx.date().await?,
        "cards": cards,
        "brief": untrusted(brief),
        "messages": conversation.flattened(&mut flexible),
        "findings": shown(cx.prompts(), &findings.notes, &mut flexible),
        "earlier": known.map(|known| shown(cx.prompts(), &known.notes, &mut flexible)).unwrap_or_default(),
        "is_marked": statements::are_marked(notes(findings, known)),
        "sources": citable(notes(findings, known), if has_cards { evidence.cards.as_slice() } else { &[] }, sources),
        "questions": findings.questions.iter().map(shown_question).collect::<Vec<_>>(),
        "words": {"least": cx.options().effort.words().0, "most": cx.options().effort.words().1},
        "limits": findings.limits.iter().map(|limit| untrusted(limit)).collect::<Vec<_>>(),
    });
    Ok(cx.prompts().parts("report", values, flexible))
}

fn shown_cards(evidence: &evidence::Evidence) -> Value {
    let card = |card: &Card| {
        let statement = if card.is_quotation() { "" } else { &card.statement };
        json!({
            "id": card.id.to_string(),
            "statement": untrusted(statement),
            "quotation": untrusted(&card.quotation),
            "missing": card.missing.iter().map(|missing| untrusted(missing)).collect::<Vec<_>>(),
            "host": untrusted(&card.host).replace('"', " "),
            "date": card.date.as_deref().map(|date| untrusted(date).replace('"', " ")),
        })
    };
    let pair = |(one, other): &(usize, usize)| {
        let (one, other) = (&evidence.cards[*one], &evidence.cards[*other]);
        json!({
            "one": untrusted(&one.statement), "one_id": one.id.to_string(),
            "other": untrusted(&other.statement), "other_id": other.id.to_string(),
        })
    };
    json!({
        "cards": evidence.cards.iter().map(card).collect::<Vec<_>>(),
        "differing": evidence.differing.iter().map(pair).collect::<Vec<_>>(),
    })
}

fn shown_question(judged: &Judged) -> Value {
    json!({"text": untrusted(&judged.question), "status": judged.by_findings()})
}

/// Notes as templates show them, with remarks behind statements that their sources do not hold.
pub fn shown(prompts: &Prompts, notes: &[Note], flexible: &mut Flexible) -> Vec<Value> {
    let shown = |note: &Note| {
        let text = untrusted(&statements::marked(prompts, note));
        json!({"topic": untrusted(&note.topic), "text": flexible.mark(text)})
    };
    notes.iter().map(shown).collect()
}

/// Returns all that the report is made of, the newest first.
pub fn notes<'a>(findings: &'a Findings, known: Option<&'a EarlierFindings>) -> impl Iterator<Item = &'a Note> {
    findings.notes.iter().chain(known.into_iter().flat_map(|known| &known.notes))
}

/// Returns the sources that the notes cite, under the ids that notes and cards use; all when they cite none.
fn citable<'a>(notes: impl Iterator<Item = &'a Note>, cards: &[Card], sources: &[Source]) -> Vec<Value> {
    let line = |id: SourceId, source: &Source| json!({"id": id.to_string(), "title": untrusted(&source.title), "published": source.published.as_deref().map(untrusted)});
    let ids = |source: &'_ Source| source.ids().collect::<Vec<_>>();
    let by_id: HashMap<SourceId, &Source> =
        sources.iter().flat_map(|source| ids(source).into_iter().map(move |id| (id, source))).collect();
    let mut seen = HashSet::new();
    let noted = notes.flat_map(|note| citations::cited_ids(&note.text));
    let cited = noted.chain(cards.iter().map(|card| card.id)).filter(|id| seen.insert(*id));
    let lines: Vec<_> = cited.filter_map(|id| Some(line(id, by_id.get(&id)?))).collect();
    if lines.is_empty() { sources.iter().map(|source| line(source.id, source)).collect() } else { lines }
}

/// Returns the same for the offline model.
pub fn task(brief: &str, findings: &Findings, known: Option<&EarlierFindings>, sources: &[Source]) -> Task {
    let finding = |note: &Note| Finding { topic: note.topic.clone(), text: statements::without_unheld(note) };
    let evidence = |source_id: SourceId, source: &Source| Evidence {
        source_id,
        title: source.title.clone(),
        url: source.url.clone(),
        published: source.published.clone(),
        text: String::new(),
    };
    Task::Report {
        brief: brief.to_owned(),
        findings: notes(findings, known).map(finding).collect(),
        // Notes cite a page that two researchers met under either of its ids.
        sources: sources.iter().flat_map(|source| source.ids().map(move |id| evidence(id, source))).collect(),
        limits: findings.limits.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_notes_and_cards_name_may_be_cited_by_that_id() {
        let gate = Source { aliases: vec![SourceId(2001)], ..Source::example(1001, "https://harbour.test/", "Gate") };
        let sources = [gate, Source::example(1002, "https://bank.test/", "Loan")];
        let ids = |text: &str, cards: &[Card]| -> Vec<String> {
            let note = Note { researcher: 2, topic: String::new(), text: text.to_owned(), statements: Vec::new() };
            let lines = citable(std::iter::once(&note), cards, &sources);
            lines.iter().map(|line| line["id"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let card = Card {
            id: SourceId(1001),
            statement: "Dues pay.".to_owned(),
            quotation: "Dues pay.".to_owned(),
            missing: Vec::new(),
            host: "harbour.test".to_owned(),
            title: "Gate".to_owned(),
            date: None,
        };
        assert_eq!(ids("- Dues pay [S2001]", &[]), ["S2001"]);
        assert_eq!(ids("- Dues pay [S2001]", &[card]), ["S2001", "S1001"], "the card has the source's own id");
        assert_eq!(ids("- Dues pay", &[]), ["S1001", "S1002"]);
    }
}
