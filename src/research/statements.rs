//! The statements of a note as data: what it says, citing which sources, and whether these hold it.
//!
//! Code takes the note apart and holds each statement against its sources, in the way in which the finished report is
//! checked. What came of it is a step of the journal, so that supervisor, writer and readers of the API see the same,
//! however often the run is replayed.

use std::{collections::HashMap, ops::Range};

use serde_json::{Value, json};

use super::{
    citations, claims,
    claims::Texts,
    draft::with_ids,
    earlier::{by_address, kept, own_ids, texts_of_sources},
};
use crate::{
    aside::aside_with,
    context::{Cx, Error, OtherTexts},
    domain::{
        Note, Source, SourceId,
        claim::{Claim, Statement, Support, Verdict},
        report::{Citation, source_ids},
    },
    journal::{Entry, StepKind, Stop},
    prompts::{Prompts, untrusted},
};

/// Citations of a note whose statements are kept; what matters most comes first in notes.
const MOST_CITATIONS: usize = 48;
/// Characters of a statement that the supervisor sees.
const SHOWN_CHARS: usize = 240;
/// The heading of the findings in notes, which says nothing (`prompts/compress_system.md`).
const FINDINGS: &str = "Findings";

/// Returns the statements of a note that has none yet, but for its list of sources; what `about` names need not stand
/// in a source.
///
/// # Errors
/// [`Stop`].
pub async fn of_note(cx: &Cx, note: &Note, about: String) -> Result<Vec<Statement>, Stop> {
    let work = async {
        match held(cx, note, about).await {
            Ok(statements) => Ok(Entry::new(statements)),
            Err(Error::Stop(stop)) => Err(stop),
            // A defect, which is in the log. The note is read as it is.
            Err(Error::Failed(_)) => Ok(Entry::new(Vec::new())),
        }
    };
    cx.journal().step(&Note::statements_key(note.researcher), StepKind::Mark, String::new(), work).await
}

async fn held(cx: &Cx, note: &Note, about: String) -> Result<Vec<Statement>, Error> {
    let text = note.findings().to_owned();
    let known = own_ids(&cx.sources());
    let citations = cited(&text, &known);
    let ids = source_ids(&citations);
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let load = async {
        let sources = cx.snapshots(ids).await?;
        let others = other_texts(cx, note.researcher, &sources).await?;
        Ok::<_, Error>((sources, others))
    };
    aside_with(load, move |(sources, others)| statements(&text, citations, &read(sources, &others), &about)).await
}

/// Returns what else the run has seen under the addresses of these sources until now. It is kept, since passages are
/// places of it, too.
async fn other_texts(cx: &Cx, researcher: u32, sources: &[Source]) -> Result<OtherTexts, Stop> {
    let known = texts_of_sources(cx.other_texts(), sources);
    kept(cx, &Note::other_texts_key(researcher), known).await.map(by_address)
}

/// Returns the texts of the sources that have any: without one, nobody can say what it holds.
fn read(mut sources: Vec<Source>, others: &OtherTexts) -> Texts {
    sources.retain(|source| !source.snapshot.trim().is_empty() || others.contains_key(&source.url));
    Texts::read(sources, others)
}

/// Returns the first ids in brackets as citations of the sources' own ids.
fn cited(text: &str, known: &HashMap<SourceId, SourceId>) -> Vec<Citation> {
    let (mut at, mut chars) = (0, 0);
    // A place before the last one is left out.
    let mut char_at = |byte: usize| {
        chars += text.get(at..byte)?.chars().count();
        at = byte;
        Some(chars)
    };
    let cite = |(place, id): (Range<usize>, SourceId)| {
        let own = *known.get(&id)?;
        Some(Citation::new(1, own, char_at(place.start)?, char_at(place.end)?))
    };
    citations::bracketed_ids(text).filter_map(cite).take(MOST_CITATIONS).collect()
}

fn statements(text: &str, mut citations: Vec<Citation>, texts: &Texts, about: &str) -> Vec<Statement> {
    let claims = claims::check(text, &mut citations, texts, about);
    let headings = headings(text);
    let statement = |claim: Claim| {
        let above = headings.partition_point(|(at, _)| *at <= claim.start);
        let section = above.checked_sub(1).map(|last| headings[last].1.clone());
        let supports = claim.among(&citations).iter().map(support).collect();
        let Claim { text, start, end, verdict, missing, .. } = claim;
        Statement {
            text,
            section: section.filter(|name| name != FINDINGS),
            start,
            end,
            verdict,
            missing,
            sources: supports,
        }
    };
    claims.into_iter().map(statement).collect()
}

fn support(citation: &Citation) -> Support {
    let verdict = citation.verdict.unwrap_or(Verdict::NotCheckable);
    Support { source_id: citation.source_id, verdict, passage: citation.passage.clone() }
}

/// Returns the headings of a text, each with the character at which it begins.
fn headings(text: &str) -> Vec<(usize, String)> {
    let mut chars = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = chars;
        chars += line.chars().count();
        (start, line)
    });
    lines.filter(|(_, line)| line.starts_with('#')).map(|(start, line)| (start, claims::plain(line))).collect()
}

/// Returns the findings of a note, with a remark behind each statement that its sources do not hold as a whole.
pub fn marked(prompts: &Prompts, note: &Note) -> String {
    let wrong = note.statements.iter().filter(|statement| !statement.missing.is_empty());
    let remarks: Vec<_> = wrong.map(|wrong| (wrong.end, wrong.end, format!(" {}", remark(prompts, wrong)))).collect();
    with_ids(note.findings(), &[], &remarks)
}

/// Returns the text of a note without the statements that its sources do not hold at all.
pub fn without_unheld(note: &Note) -> String {
    let unheld = note.statements.iter().filter(|statement| statement.verdict == Verdict::NotSupported);
    with_ids(&note.text, &[], &unheld.map(|one| (one.start, one.end, String::new())).collect::<Vec<_>>())
}

/// Has one of the notes a statement that [`marked`] remarks on?
pub fn are_marked<'a>(mut notes: impl Iterator<Item = &'a Note>) -> bool {
    notes.any(|note| note.statements.iter().any(|statement| !statement.missing.is_empty()))
}

fn remark(prompts: &Prompts, statement: &Statement) -> String {
    prompts.text("not_held", json!({"missing": statement.missing}))
}

/// Returns what the supervisor sees of a note: its statements; the findings as they are when they are mostly
/// something else.
pub fn shown(prompts: &Prompts, note: &Note) -> String {
    let (statements, findings) = (&note.statements, note.findings());
    let stated: usize = statements.iter().map(|statement| statement.end - statement.start).sum();
    if stated * 2 < findings.chars().count() {
        return untrusted(&marked(prompts, note));
    }
    let mut section = None;
    let line = |statement: &Statement| {
        let is_new = statement.section != section;
        section.clone_from(&statement.section);
        let ids: String = statement.sources.iter().map(|support| format!("[{}]", support.source_id)).collect();
        let remark =
            if statement.missing.is_empty() { String::new() } else { format!(" {}", remark(prompts, statement)) };
        json!({
            "section": section.as_deref().filter(|_| is_new).map(untrusted),
            "text": untrusted(&shortened(&statement.text)),
            "ids": ids,
            "remark": untrusted(&remark),
        })
    };
    let lines: Vec<Value> = statements.iter().map(line).collect();
    prompts.text("statements", json!({"statements": lines}))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

    const PAGE: &str = "Gulls nest here.\n\nDues of 4 crowns a boat pay for the gate. It was built in 1911.";

    fn note(text: &str) -> Note {
        let source = Source {
            snapshot: PAGE.into(),
            aliases: vec![SourceId(2001)],
            ..Source::example(1001, "https://harbour.test/gate", "Gate")
        };
        let empty = Source::example(1002, "https://harbour.test/empty", "Empty");
        let known = HashMap::from([1001, 2001].map(|id| (SourceId(id), SourceId(1001))));
        let known = known.into_iter().chain([(SourceId(1002), SourceId(1002))]).collect();
        let texts = read(vec![source, empty], &HashMap::new());
        let statements = statements(text, cited(text, &known), &texts, "");
        Note { researcher: 1, topic: "The gate".to_owned(), text: text.to_owned(), statements }
    }

    fn prompts() -> Prompts {
        Prompts::new().unwrap()
    }

    #[test]
    fn a_statement_has_its_sources_with_their_words() {
        let text = "## Findings\n\nFew know it.\n\n### Ünder\n- **Dues** of 4 crowns pay [S2001]. [S9999]";
        let note = note(text);
        let passage = "Dues of 4 crowns a boat pay for the gate.";
        let start = PAGE.find(passage).unwrap();
        let expected = Statement {
            text: "Dues of 4 crowns pay".to_owned(),
            section: Some("Ünder".to_owned()),
            start: 39,
            end: 71,
            verdict: Verdict::Supported,
            missing: Vec::new(),
            sources: vec![Support {
                source_id: SourceId(1001),
                verdict: Verdict::Supported,
                passage: Some(crate::domain::claim::Passage {
                    text: passage.to_owned(),
                    start,
                    end: start + passage.len(),
                }),
            }],
        };
        assert_eq!(note.statements, [expected]);
        let stated: String = text.chars().skip(39).take(32).collect();
        assert_eq!(stated, "**Dues** of 4 crowns pay [S2001]");
    }

    #[test]
    fn ids_share_their_bracket() {
        let note = note("## Findings\nIt was built in 1911 [S1001, S1002]. Nothing is known of 77 gulls [S1002].");
        let [one, other] = &note.statements[..] else { panic!("{:?}", note.statements) };
        let ids: Vec<u32> = one.sources.iter().map(|support| support.source_id.0).collect();
        assert_eq!((ids, one.verdict, &one.section), (vec![1001, 1002], Verdict::Supported, &None));
        assert_eq!(other.verdict, Verdict::NotCheckable, "nobody has the text");
    }

    #[test]
    fn what_its_sources_do_not_hold_is_remarked_on_or_left_out() {
        let note = note("- Dues of 5 crowns pay since 1911 [S1001].\n- It has 77 gulls [S1001].\n- So it is [S1001].");
        let expected = "- Dues of 5 crowns pay since 1911 [S1001] (not found in its sources: 5 crowns).\n\
            - It has 77 gulls [S1001] (not found in its sources: 77 gulls).\n- So it is [S1001].";
        assert_eq!(marked(&prompts(), &note), expected.replace("5 crowns)", "5)").replace("77 gulls)", "77)"));
        assert_eq!(without_unheld(&note), "- Dues of 5 crowns pay since 1911 [S1001].\n- .\n- So it is [S1001].");
        assert!(are_marked([&note].into_iter()));
    }

    #[test]
    fn the_supervisor_sees_statements_or_the_prose_they_are_lost_in() {
        let noted = note(
            "## Findings\n\n### Dues\n- Dues of 4 crowns pay [S1001]\n- It has 77 gulls [S1001]\n### Age\nBuilt in 1911 [S1001].",
        );
        let expected = "### Dues\n- Dues of 4 crowns pay [S1001]\n- It has 77 gulls [S1001] (not found in its sources: 77)\n\n\
            ### Age\n- Built in 1911 [S1001]";
        assert_eq!(shown(&prompts(), &noted), expected);
        let prose = format!("{}\nBuilt in 1911 [S1001].", "Much can be said of it in general. ".repeat(9));
        assert_eq!(shown(&prompts(), &note(&prose)), prose);
    }

    #[test]
    fn ids_are_looked_for_as_long_as_they_may_be_and_are_wanted() {
        let known = HashMap::from([(SourceId(1001), SourceId(1001))]);
        let found = |text: &str| -> Vec<(usize, usize)> {
            cited(text, &known).iter().map(|citation| (citation.start, citation.end)).collect()
        };
        assert_eq!(found("[S is open. Päid [S1001] [S1001]."), [(17, 24), (25, 32)]);
        assert_eq!(found("Paid [see S1001; S9] [S1001 says so]"), [(5, 17)]);
        // The ids of brackets in brackets are those of the inner ones.
        assert_eq!(found("Dues rose [[S1001]]."), [(11, 18)]);
        assert_eq!(found("[see [S1001]]"), [(5, 12)]);
        assert_eq!(found("[[S1001], [S1001]]"), [(1, 8), (10, 17)]);
        assert_eq!(found("[[S1001][S1001]]"), [(1, 8), (8, 15)]);
        assert_eq!(found("上涨【S1001】，［S1001; S1001］, [S1001】"), [(2, 9), (10, 18), (18, 24)]);
        assert_eq!(found(&"[S1001]".repeat(100)).len(), MOST_CITATIONS);
        growth::check("【[S", 64_000, |text| drop(found(text)));
        growth::check("[S", 64_000, |text| drop(found(text)));
        growth::check("[S1001]", 64_000, |text| drop(found(text)));
    }
}
