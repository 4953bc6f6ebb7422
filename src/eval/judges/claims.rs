//! Groundedness: every statement of a report held against the texts of the sources it cites, as the run kept them.
//!
//! Code takes the report apart and finds the passages, so that what is counted does not depend on the judge: it gives
//! a verdict for each statement, and nothing else.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RunRecord, Spent, ask::Asker};
use crate::{
    aside::aside,
    domain::{
        Source, SourceId,
        claim::{Passage, Verdict},
        report::{Report, text_alone},
    },
    eval::judged::{Groundedness, JudgedClaim},
    llm::structured::Form,
    prompts::untrusted,
    research::claims::{self, Texts},
    text::{is_fence, is_unspaced, sentences},
};

/// Statements in one call, and in all.
const IN_ONE_CALL: usize = 12;
const MOST_STATEMENTS: usize = 240;
/// Sources of which a statement that cites none is shown a passage.
const SEARCHED: usize = 3;
/// Characters around a passage that the judge sees.
const AROUND: usize = 600;
/// Words, or letters of a script without spaces, of the shortest statement.
const SHORTEST: usize = 3;

/// A statement of a report.
#[derive(Debug, PartialEq)]
struct Statement {
    /// One line, without Markdown and citations.
    text: String,
    /// The heading above; may be empty.
    section: String,
    /// Empty when it cites nothing.
    cites: Vec<SourceId>,
}

/// A statement with what its sources say.
struct JudgedStatement {
    statement: Statement,
    passages: Vec<(SourceId, String)>,
}

#[derive(Deserialize)]
struct Answer {
    verdicts: Vec<RawVerdict>,
}

#[derive(Deserialize)]
struct RawVerdict {
    number: usize,
    verdict: GivenVerdict,
    #[serde(default)]
    reason: String,
}

/// A verdict in the words of the prompt.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GivenVerdict {
    Supported,
    Partly,
    NotSupported,
    NoClaim,
}

impl From<GivenVerdict> for Verdict {
    fn from(given: GivenVerdict) -> Self {
        match given {
            GivenVerdict::Supported => Self::Supported,
            GivenVerdict::Partly => Self::Partly,
            GivenVerdict::NotSupported => Self::NotSupported,
            GivenVerdict::NoClaim => Self::NotCheckable,
        }
    }
}

/// Has the statements of a report judged.
///
/// # Errors
/// Why there are no verdicts, or not those of all calls, for people.
pub async fn judged(asker: &Asker, kept: &Arc<RunRecord>, spent: &Mutex<Spent>) -> Result<Groundedness, String> {
    let kept = Arc::clone(kept);
    let (held, left_out) =
        aside(move || held(&kept.report, &kept.sources)).await.map_err(|panicked| panicked.to_string())?;
    let mut found = Groundedness { claims: Vec::new(), left_out };
    for batch in held.chunks(IN_ONE_CALL) {
        let answer = asker.ask(&prompt(asker, batch), form(), spent).await?;
        take(&mut found, batch, answer);
    }
    match found.claims.is_empty() && found.left_out > 0 {
        true => Err("it gave no verdict".to_owned()),
        false => Ok(found),
    }
}

fn prompt(asker: &Asker, batch: &[JudgedStatement]) -> String {
    let shown = |(number, held): (usize, &JudgedStatement)| {
        let passage = |(id, text): &(SourceId, String)| json!({"id": id.to_string(), "text": untrusted(text)});
        json!({
            "number": number,
            "section": untrusted(&held.statement.section),
            "text": untrusted(&held.statement.text),
            "passages": held.passages.iter().map(passage).collect::<Vec<Value>>(),
        })
    };
    let statements: Vec<Value> = (1..).zip(batch).map(shown).collect();
    asker.prompts().text("judges/groundedness", json!({"statements": statements}))
}

fn form() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "reason": {"type": "string"},
                "verdict": {"type": "string", "enum": ["supported", "partly", "not_supported", "no_claim"]},
            },
            "required": ["number", "reason", "verdict"],
            "additionalProperties": false,
        }}},
        "required": ["verdicts"],
        "additionalProperties": false,
    });
    Form { name: "GroundedStatements", schema: schema.into() }
}

/// Takes the verdicts of a batch in; of two for the same statement the first counts.
fn take(found: &mut Groundedness, batch: &[JudgedStatement], answer: Answer) {
    let mut given: HashMap<usize, RawVerdict> = HashMap::new();
    for verdict in answer.verdicts {
        given.entry(verdict.number).or_insert(verdict);
    }
    for (number, JudgedStatement { statement, .. }) in (1..).zip(batch) {
        let Some(RawVerdict { verdict, reason, .. }) = given.remove(&number) else {
            found.left_out += 1;
            continue;
        };
        let (text, cited) = (statement.text.clone(), !statement.cites.is_empty());
        found.claims.push(JudgedClaim { text, cited, verdict: verdict.into(), reason });
    }
}

/// Returns the first statements of a report with their passages, and how many more there are.
fn held(report: &Report, sources: &[Source]) -> (Vec<JudgedStatement>, usize) {
    let mut statements = statements(report);
    let left_out = statements.len().saturating_sub(MOST_STATEMENTS);
    statements.truncate(MOST_STATEMENTS);
    let texts = Texts::read(sources.to_vec(), &HashMap::new());
    let held = |statement: Statement| {
        let passages = passages(&statement, &texts);
        JudgedStatement { statement, passages }
    };
    (statements.into_iter().map(held).collect(), left_out)
}

/// Finds the passages that a statement is held against: of each cited source the nearest, unless none may be about the
/// statement; of the nearest sources when none is cited.
fn passages(statement: &Statement, texts: &Texts) -> Vec<(SourceId, String)> {
    let wanted: Vec<(SourceId, Option<Passage>)> = if statement.cites.is_empty() {
        let nearest = texts.nearest(&statement.text, texts.ids()).into_iter();
        nearest.take(SEARCHED).map(|(id, passage)| (id, Some(passage))).collect()
    } else {
        let cited = texts.nearest(&statement.text, statement.cites.iter().copied());
        let mut nearest: HashMap<SourceId, Passage> = cited.into_iter().collect();
        statement.cites.iter().map(|id| (*id, nearest.remove(id))).collect()
    };
    let around = |(id, passage): (SourceId, Option<Passage>)| {
        Some((id, texts.around(id, passage.as_ref(), &statement.text, AROUND)?))
    };
    wanted.into_iter().filter_map(around).collect()
}

/// Returns the statements of a report in order: those that cite, and every other sentence of its text that says
/// something.
fn statements(report: &Report) -> Vec<Statement> {
    let text = text_alone(&report.markdown);
    let cited = claims::cited(text, &report.citations);
    let mut found: Vec<(usize, String, Vec<SourceId>)> = uncited(text, &cited);
    found.extend(cited.into_iter().map(|cited| {
        let mut ids: Vec<SourceId> =
            report.citations[cited.citations].iter().map(|citation| citation.source_id).collect();
        ids.sort_unstable();
        ids.dedup();
        (cited.place.start, cited.text, ids)
    }));
    found.sort_by_key(|(start, ..)| *start);
    let mut headings = headings(text).peekable();
    let mut section = String::new();
    let statement = |(start, text, cites)| {
        while let Some((_, heading)) = headings.next_if(|(at, _)| *at < start) {
            section = claims::plain(heading);
        }
        Statement { section: section.clone(), text, cites }
    };
    found.into_iter().map(statement).collect()
}

/// Returns the lines of headings, each with its first byte.
fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(|line| (line.as_ptr() as usize - text.as_ptr() as usize, line));
    lines.filter(|(_, line)| line.starts_with('#'))
}

/// Returns the sentences that no citation stands behind, each with its first byte.
fn uncited(text: &str, cited: &[claims::Cited]) -> Vec<(usize, String, Vec<SourceId>)> {
    let is_cited = |start: usize, end: usize| {
        let next = cited.partition_point(|cited| cited.place.end <= start);
        cited.get(next).is_some_and(|cited| cited.place.start < end)
    };
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        is_code ^= is_fence(line);
        if is_code || is_fence(line) || line.starts_with('#') {
            continue;
        }
        for sentence in sentences(line) {
            let start = sentence.as_ptr() as usize - text.as_ptr() as usize;
            let plain = claims::plain(sentence);
            if says_something(&plain) && !is_cited(start, start + sentence.len()) {
                found.push((start, plain, Vec::new()));
            }
        }
    }
    found
}

fn says_something(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    words >= SHORTEST || text.chars().filter(|char| is_unspaced(*char)).count() > SHORTEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::report::Citation;

    fn report(markdown: &str) -> Report {
        let chars: Vec<char> = markdown.chars().collect();
        let is_one = |at: &usize| chars[*at] == '[' && chars.get(at + 2) == Some(&']');
        let cite = |at: usize| {
            let number = chars[at + 1].to_digit(10).unwrap();
            Citation::new(number, SourceId(1000 + number), at, at + 3)
        };
        let citations = (0..chars.len()).filter(is_one).map(cite).collect();
        Report { markdown: markdown.to_owned(), citations, ..Report::default() }
    }

    #[test]
    fn every_statement_is_found_once() {
        let text = "# The gate\n\nIt cost 5 crowns. It was built in 1911 [1][2]. Dues pay for it.\n\n## Costs and dues\n\n\
            - Dues are 4 crowns [2].\n- Loans. More loans.\n\n```\nlet it = be code;\n```\n\n~~~\nthis is code too\n~~~\n\n| Day | Dues |\n|---|---|\n| Monday | 4 crowns [1] |\n\n\
            ### Sources\n\n- [1] A: a.md\n- [2] B: b.md\n";
        let found: Vec<_> = statements(&report(text))
            .into_iter()
            .map(|found| (found.section, found.text, found.cites.iter().map(|id| id.0).collect::<Vec<_>>()))
            .collect();
        let expected = [
            ("The gate", "It cost 5 crowns.", vec![]),
            ("The gate", "It was built in 1911", vec![1001, 1002]),
            ("The gate", "Dues pay for it.", vec![]),
            ("Costs and dues", "Dues are 4 crowns", vec![1002]),
            ("Costs and dues", "Monday 4 crowns", vec![1001]),
        ];
        let expected = expected.map(|(section, text, ids)| (section.to_owned(), text.to_owned(), ids));
        assert_eq!(found, expected);
        assert_eq!(statements(&report("水闸耗资四亿元。它在2030年建成[1]。")).len(), 2);
    }

    /// The note of a researcher may be wrong: a claim is shown what the page itself says.
    #[test]
    fn passages_are_those_of_the_sources() {
        let source = |id: u32, text: &str| Source {
            snapshot: text.into(),
            ..Source::example(id, &format!("{id}.md"), "A page")
        };
        let far = "Gulls nest on the roof. ".repeat(200);
        let sources =
            [source(1001, &format!("{far}The gate cost 412,000 crowns.{far}")), source(1002, "Nothing else is here.")];
        let (held, left_out) =
            held(&report("The gate cost 412,000 crowns [1][2]. The gate is not free of cost."), &sources);
        assert_eq!((held.len(), left_out), (2, 0));
        let ids: Vec<u32> = held[0].passages.iter().map(|(id, _)| id.0).collect();
        assert_eq!(ids, [1001, 1002], "a cited source without a likeness is shown from its beginning");
        assert!(held[0].passages[0].1.contains("412,000") && held[0].passages[0].1.len() < 2_000);
        assert!(held[1].passages[0].1.contains("412,000"), "what cites nothing is looked for in all of them");
        assert_eq!(held[1].passages.len(), 1);
    }

    #[test]
    fn what_cites_nothing_is_held_against_few_of_the_sources() {
        let source = |id: u32| Source {
            snapshot: format!("The gate cost {id} crowns.").into(),
            ..Source::example(id, &format!("{id}.md"), "A page")
        };
        let sources: Vec<Source> = (1..=5).map(source).collect();
        let (held, _) = held(&report("The gate cost 4 crowns."), &sources);
        let ids: Vec<u32> = held[0].passages.iter().map(|(id, _)| id.0).collect();
        assert_eq!((ids.len(), ids[0]), (SEARCHED, 4), "{ids:?}");
    }

    #[test]
    fn of_a_report_that_states_more_the_rest_is_counted_as_left_out() {
        let statement = |number: usize| format!("The gate has {number} doors.\n");
        let markdown: String = (0..MOST_STATEMENTS + 3).map(statement).collect();
        let (held, left_out) = held(&report(&markdown), &[]);
        let last = held.last().map(|held| held.statement.text.clone());
        assert_eq!((held.len(), left_out), (MOST_STATEMENTS, 3));
        assert_eq!(last, Some(statement(MOST_STATEMENTS - 1).trim().to_owned()));
    }

    #[test]
    fn a_statement_without_a_verdict_is_left_out() {
        let held: Vec<JudgedStatement> =
            statements(&report("One two three [1]. Four five six [1]. Seven eight nine [1]."))
                .into_iter()
                .map(|statement| JudgedStatement { statement, passages: Vec::new() })
                .collect();
        let answer = r#"{"verdicts": [
            {"number": 2, "verdict": "partly", "reason": "six"}, {"number": 2, "verdict": "supported", "reason": ""},
            {"number": 3, "verdict": "no_claim"}, {"number": 9, "verdict": "supported"}]}"#;
        let mut found = Groundedness::default();
        take(&mut found, &held, serde_json::from_str(answer).unwrap());
        let verdicts: Vec<Verdict> = found.claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!((verdicts.as_slice(), found.left_out), (&[Verdict::Partly, Verdict::NotCheckable][..], 1));
    }
}
