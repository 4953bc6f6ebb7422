//! The finished report held against its sources: figures by code, and, where it is asked for, statements by a model.
//!
//! A statement with a figure that its sources do not hold goes back to the writer once; what is still wrong then is
//! marked. A check that cannot be made is a warning, and costs the run nothing else.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    citations::cited_ids,
    claims::{self, Texts},
    draft::{Draft, rewritten, with_ids},
    earlier::{by_address, texts_of_sources},
};
use crate::{
    aside::{aside, aside_with},
    context::{Cx, Error, Form, Role},
    domain::{
        SourceId, Verify, WarningCode, admission,
        claim::{Claim, Verdict},
        report::{Citation, Report, source_ids, text_alone},
    },
    llm::Message,
    offline::Task,
    prompts::untrusted,
};

/// Statements that are repaired, and that are judged in one call and in all.
const MOST_REPAIRED: usize = 24;
const JUDGED_AT_ONCE: usize = 12;
const MOST_JUDGED: usize = 120;
/// Characters of a clause that says that nothing is known.
const SHORT_CHARS: usize = 120;
/// Characters around a passage that a judge sees.
const AROUND: usize = 600;

#[derive(Debug, Deserialize)]
struct Repairs {
    statements: Vec<Repair>,
}

#[derive(Debug, Deserialize)]
struct Repair {
    number: usize,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Judgements {
    verdicts: Vec<Judgement>,
}

#[derive(Debug, Deserialize)]
struct Judgement {
    number: usize,
    verdict: Verdict,
    /// Ids of the sources whose passages hold the statement, or a part of it.
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    reason: String,
}

/// Returns the draft with what its sources say about its statements; `name` is the journal key of the text, and what
/// `question` names need not stand in a source.
///
/// # Errors
/// [`Error::Stop`].
pub async fn verified(cx: &Cx, name: &'static str, question: &str, mut draft: Draft) -> Result<Draft, Error> {
    if cx.options().verify == Verify::Off || draft.report.citations.is_empty() {
        return Ok(draft);
    }
    match verify(cx, name, question, &mut draft).await {
        Err(Error::Failed(failure)) => {
            let detail = format!("the {name} was not held against its sources: {failure}");
            cx.warn(&format!("{name}/check/failed"), WarningCode::CheckFailed, detail).await?;
        }
        done => done?,
    }
    Ok(draft)
}

async fn verify(cx: &Cx, name: &'static str, question: &str, draft: &mut Draft) -> Result<(), Error> {
    let options = cx.options();
    let may_repair = !options.final_report_model.first().is_offline();
    let may_judge = options.verify == Verify::Claims && !options.research_model.first().is_offline();
    let Some(texts) = first_check(cx, question, draft, (may_repair, may_judge)).await? else { return Ok(()) };
    let is_repairable = may_repair && wrong(&draft.report).next().is_some();
    if is_repairable && let Some(mut repaired) = repaired(cx, name, draft, &texts).await? {
        let (unchecked, texts) = (Unchecked::of(&repaired, question), Arc::clone(&texts));
        let others = wrong(&draft.report).count().saturating_sub(repaired.repaired);
        (repaired.report.claims, repaired.report.citations) = aside(move || unchecked.check(&texts)).await?;
        // What was not repaired is as wrong as it was.
        repaired.still_wrong = wrong(&repaired.report).count().saturating_sub(others).min(repaired.repaired);
        *draft = repaired;
    }
    if may_judge {
        judge(cx, name, draft, &texts).await?;
    }
    Ok(())
}

/// Checks by code; a draft that cannot be checked stays as it is. Returns the texts when there is more to do with them.
async fn first_check(
    cx: &Cx,
    question: &str,
    draft: &mut Draft,
    (may_repair, may_judge): (bool, bool),
) -> Result<Option<Arc<Texts>>, Error> {
    let ids = source_ids(&draft.report.citations);
    let load = async {
        let sources = cx.snapshots(ids).await?;
        let others = by_address(texts_of_sources(cx.other_texts(), &sources));
        Ok::<_, Error>((sources, others))
    };
    let unchecked = Unchecked::of(draft, question);
    let (checked, texts) = aside_with(load, move |(sources, others)| {
        let texts = Texts::read(sources, &others);
        let checked = unchecked.check(&texts);
        let is_wanted = may_judge || (may_repair && checked.0.iter().any(is_wrong));
        (checked, is_wanted.then(|| Arc::new(texts)))
    })
    .await?;
    (draft.report.claims, draft.report.citations) = checked;
    Ok(texts)
}

/// What is checked by code.
struct Unchecked {
    text: String,
    citations: Vec<Citation>,
    question: String,
}

impl Unchecked {
    fn of(draft: &Draft, question: &str) -> Self {
        let Report { markdown, citations, .. } = &draft.report;
        Self { text: text_alone(markdown).to_owned(), citations: citations.clone(), question: question.to_owned() }
    }

    fn check(mut self, texts: &Texts) -> (Vec<Claim>, Vec<Citation>) {
        let claims = claims::check(&self.text, &mut self.citations, texts, &self.question);
        (claims, self.citations)
    }
}

fn is_wrong(claim: &Claim) -> bool {
    !claim.missing.is_empty()
}

fn wrong(report: &Report) -> impl Iterator<Item = &Claim> {
    report.claims.iter().filter(|claim| is_wrong(claim))
}

/// Returns the draft with its wrong statements written once more; `None` when the model cannot.
async fn repaired(cx: &Cx, name: &'static str, draft: &Draft, texts: &Texts) -> Result<Option<Draft>, Error> {
    let report = &draft.report;
    let wrong: Vec<&Claim> = wrong(report).take(MOST_REPAIRED).collect();
    let written: Vec<String> = wrong.iter().map(|claim| as_written(claim, report)).collect();
    let shown =
        (1..).zip(&wrong).zip(&written).map(|((number, claim), text)| shown(number, claim, text, report, texts));
    let values = json!({"statements": shown.collect::<Vec<Value>>()});
    let task = Task::Verify { statements: wrong.iter().map(|claim| claim.text.clone()).collect() };
    let request = cx.request(Role::FinalReport, vec![Message::user(cx.prompts().text("repair", values))], task);
    let answer =
        cx.ask_structured(&format!("{name}/repair"), Role::FinalReport, request, repairs_form(), cx.finishing()).await;
    let repairs: Repairs = match answer {
        Ok(repairs) => repairs,
        Err(Error::Failed(failure)) => {
            let detail = format!("{} statements were not repaired, and are marked: {failure}", wrong.len());
            cx.warn(&format!("{name}/repair/failed"), WarningCode::CheckFailed, detail).await?;
            return Ok(None);
        }
        Err(stop) => return Err(stop),
    };
    let of = |repair: Repair| {
        let place = repair.number.checked_sub(1)?;
        let claim = wrong.get(place)?;
        let passages = report.citations_of(claim).iter().filter_map(|citation| passage(citation, claim, texts));
        let (written, passages) = (written.get(place)?, passages.collect::<Vec<String>>());
        let text = fitting(&repair.text, written).filter(|text| is_of(text, written, &passages))?;
        Some((claim.start, claim.end, text))
    };
    let mut edits: Vec<(usize, usize, String)> = repairs.statements.into_iter().filter_map(of).collect();
    if edits.is_empty() {
        return Ok(None);
    }
    edits.sort();
    edits.dedup_by_key(|(start, ..)| *start);
    let text = with_ids(text_alone(&report.markdown), &report.citations, &edits);
    let repaired = edits.len();
    Ok(Some(Draft { repaired, ..rewritten(cx, text, report.dropped_citations).await? }))
}

fn repairs_form() -> Form {
    let schema = json!({
        "type": "object",
        "properties": {"statements": {"type": "array", "items": {
            "type": "object",
            "properties": {"number": {"type": "integer"}, "text": {"type": "string"}},
            "required": ["number", "text"],
            "additionalProperties": false,
        }}},
        "required": ["statements"],
        "additionalProperties": false,
    });
    Form { name: "RepairedStatements", schema: schema.into() }
}

/// Returns a statement as the prompts show it.
fn shown(number: usize, claim: &Claim, text: &str, report: &Report, texts: &Texts) -> Value {
    let shown = |citation: &Citation| {
        let text = passage(citation, claim, texts)?;
        Some(json!({"id": citation.source_id.to_string(), "text": untrusted(&text)}))
    };
    json!({
        "number": number,
        "text": untrusted(text),
        "missing": claim.missing.iter().map(|missing| untrusted(missing)).collect::<Vec<_>>(),
        "passages": report.citations_of(claim).iter().filter_map(shown).collect::<Vec<_>>(),
    })
}

/// Returns what of a source stands for a statement, as the prompts show it.
fn passage(citation: &Citation, claim: &Claim, texts: &Texts) -> Option<String> {
    texts.around(citation.source_id, citation.passage.as_ref(), &claim.text, AROUND)
}

/// Returns a statement as it stands in the report, Markdown and all, with ids for numbers.
fn as_written(claim: &Claim, report: &Report) -> String {
    let place = claim.start..claim.end;
    let text: String = report.markdown.chars().skip(place.start).take(place.len()).collect();
    let inside = report.citations.iter().filter(|citation| place.contains(&citation.start)).cloned();
    let shifted = |citation: Citation| Citation {
        start: citation.start - place.start,
        end: citation.end.saturating_sub(place.start),
        ..citation
    };
    with_ids(&text, &inside.map(shifted).collect::<Vec<_>>(), &[])
}

/// Returns a repaired statement in the form in which it can take the place of `written`: one line, without the marks
/// of a list or row around it, with as many bars of a table in it, citing sources of the old one and no others.
/// `None` when it cannot: without a citation nobody would hold it against a source again.
fn fitting(repaired: &str, written: &str) -> Option<String> {
    let line = repaired.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = claims::without_marks(&line);
    let bars = |text: &str| text.matches('|').count();
    let (cited, known) = (cited_ids(text), cited_ids(written));
    let is_cited = !cited.is_empty() && cited.iter().all(|id| known.contains(id));
    (is_cited && bars(text) == bars(written)).then(|| text.to_owned())
}

/// Returns whether a repaired statement is still about what it was: it has words of the old one, and mostly such as
/// stand there or in the passages, or says in short that the sources do not state it.
fn is_of(repaired: &str, written: &str, passages: &[String]) -> bool {
    let is_short = repaired.chars().count() <= SHORT_CHARS.max(written.chars().count());
    claims::keeps_to(repaired, written, passages) || is_short && admission::admits(repaired)
}

/// Has the model judge each statement by its passages. What nobody could judge is not checkable, unless code has found
/// something wrong with it; what the model is not asked about keeps the verdict of code.
async fn judge(cx: &Cx, name: &'static str, draft: &mut Draft, texts: &Texts) -> Result<(), Error> {
    let mut failed = None;
    let report = &draft.report;
    let has_passage = |claim: &Claim| report.citations_of(claim).iter().any(|one| passage(one, claim, texts).is_some());
    let mut asked: Vec<usize> = (0..report.claims.len()).filter(|place| has_passage(&report.claims[*place])).collect();
    let beyond = asked.len().saturating_sub(MOST_JUDGED);
    asked.truncate(MOST_JUDGED);
    for (batch, places) in (1..).zip(asked.chunks(JUDGED_AT_ONCE)) {
        let verdicts = match failed {
            None => judged(cx, name, batch, places, draft, texts).await,
            Some(_) => Ok(Vec::new()),
        };
        let verdicts = verdicts.or_else(|error| match error {
            Error::Failed(failure) => {
                failed = Some(failure);
                Ok(Vec::new())
            }
            stop => Err(stop),
        })?;
        for (index, place) in places.iter().enumerate() {
            let own = verdicts.iter().find(|verdict: &&Judgement| verdict.number == index + 1);
            apply(&mut draft.report.claims[*place], &mut draft.report.citations, own);
        }
    }
    if beyond > 0 {
        let detail =
            format!("{beyond} statements beyond the first {MOST_JUDGED} were held against their sources by code alone");
        cx.warn(&format!("{name}/claims/beyond"), WarningCode::CheckFailed, detail).await?;
    }
    if let Some(failure) = failed {
        let detail = format!("not all statements could be judged: {failure}");
        cx.warn(&format!("{name}/claims/failed"), WarningCode::CheckFailed, detail).await?;
    }
    Ok(())
}

async fn judged(
    cx: &Cx,
    name: &'static str,
    batch: u32,
    places: &[usize],
    draft: &Draft,
    texts: &Texts,
) -> Result<Vec<Judgement>, Error> {
    let claims = places.iter().map(|place| &draft.report.claims[*place]);
    let shown: Vec<Value> = (1..)
        .zip(claims.clone())
        .map(|(number, claim)| shown(number, claim, &claim.text, &draft.report, texts))
        .collect();
    let verdicts = ["supported", "partly", "not_supported", "not_checkable"];
    let schema = json!({
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "verdict": {"type": "string", "enum": verdicts},
                "sources": {"type": "array", "items": {"type": "string"}},
                "reason": {"type": "string"},
            },
            "required": ["number", "verdict", "sources", "reason"],
            "additionalProperties": false,
        }}},
        "required": ["verdicts"],
        "additionalProperties": false,
    });
    let task = Task::Verify { statements: claims.map(|claim| claim.text.clone()).collect() };
    let prompt = cx.prompts().text("claims", json!({"statements": shown}));
    let request = cx.request(Role::Research, vec![Message::user(prompt)], task);
    let form = Form { name: "JudgedStatements", schema: schema.into() };
    let key = format!("{name}/claims/{batch}");
    let judgements: Judgements = cx.ask_structured(&key, Role::Research, request, form, cx.finishing()).await?;
    Ok(judgements.verdicts)
}

/// Applies a judgement to a claim: the worse of what code and model say counts. Of several citations those
/// stand as the claim does that the judge names, or in which code has found all; nobody knows of the others.
fn apply(claim: &mut Claim, citations: &mut [Citation], judgement: Option<&Judgement>) {
    let verdict = match (claim.verdict, judgement.map(|judgement| judgement.verdict)) {
        (
            by_code @ (Verdict::NotSupported | Verdict::Partly),
            None | Some(Verdict::Supported | Verdict::NotCheckable),
        ) => by_code,
        (Verdict::NotSupported, Some(_)) => Verdict::NotSupported,
        (_, None) => Verdict::NotCheckable,
        (by_code, Some(Verdict::NotCheckable)) => by_code,
        (_, Some(by_model)) => by_model,
    };
    claim.reason = judgement.map(|judgement| judgement.reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    claim.verdict = verdict;
    let own = claim.among_mut(citations);
    let is_named =
        |citation: &Citation| judgement.is_some_and(|judgement| named(judgement).any(|id| id == citation.source_id));
    let is_of_all = own.len() == 1 || judgement.is_none() || verdict == Verdict::NotSupported;
    for citation in own.iter_mut().filter(|citation| citation.verdict != Some(Verdict::NotSupported)) {
        citation.verdict = Some(match citation.verdict {
            _ if is_of_all => verdict,
            Some(Verdict::Partly) => Verdict::Partly,
            Some(Verdict::Supported) => verdict,
            _ if is_named(citation) => verdict,
            _ => Verdict::NotCheckable,
        });
    }
}

/// Returns the sources that a judge names.
fn named(judgement: &Judgement) -> impl Iterator<Item = SourceId> {
    judgement.sources.iter().flat_map(|source| cited_ids(&format!("[{}]", source.trim().trim_matches(['[', ']']))))
}

#[cfg(test)]
mod tests {
    use Verdict::{NotCheckable, NotSupported, Partly, Supported};

    use super::*;

    fn claim(verdict: Verdict) -> Claim {
        Claim {
            text: String::new(),
            start: 0,
            end: 0,
            verdict,
            missing: Vec::new(),
            reason: None,
            first_citation: 0,
            citations: 0,
        }
    }

    #[test]
    fn a_repair_fits_into_its_place() {
        let check = |repaired: &str, written: &str, expected: Option<&str>| {
            assert_eq!(fitting(repaired, written).as_deref(), expected, "{repaired}");
        };
        check("- It cost\n 4 [S7].", "It cost 5 [S7].", Some("It cost 4 [S7]."));
        check("2. **Dues** are 4 [S7]", "**Dues** are 5 [S7, S8]", Some("**Dues** are 4 [S7]"));
        check("| Day | 18.7 [S7] |", "Day | 18.9 [S7]", Some("Day | 18.7 [S7]"));
        check("Day 18.7 [S7]", "Day | 18.9 [S7]", None);
        check("a | b [S7]", "a [S7]", None);
        check(" \n", "a [S7]", None);
        check("It cost 4.", "It cost 5 [S7].", None);
        check("It cost 4 [S7][S9].", "It cost 5 [S7].", None);
    }

    #[test]
    fn a_repair_stays_with_its_matter() {
        let passages = ["The loan runs until May 2041; the town pays it from harbour dues.".to_owned()];
        let check = |repaired: &str, expected: bool| {
            assert_eq!(is_of(repaired, "The loan runs to 2099 [S7].", &passages), expected, "{repaired}");
        };
        check("The loan runs until May 2041 [S7].", true);
        check("The loan is paid by the town from harbour dues [S7].", true);
        check("The sources do not state when it ends [S7].", true);
        check("The mayor is a crook and the harbour sank [S7]", false);
        check("The loan makes every mayor a crook, says the angry sailor [S7]", false);
        assert!(is_of("12 [S7]", "13 [S7]", &[]) && is_of("gostó 412 [S7]", "5 [S7]", &["gostó 412".to_owned()]));
    }

    /// A citation that stands beside the one that holds the statement is no better for it.
    #[test]
    fn of_several_citations_those_are_supported_that_the_judge_names() {
        let check = |by_code: [Option<Verdict>; 2], sources: &[&str], expected: [Verdict; 2]| {
            let cite = |number, verdict| Citation { verdict, ..Citation::new(number, SourceId(1000 + number), 0, 3) };
            let mut citations = [cite(1, by_code[0]), cite(2, by_code[1])];
            let mut claim = Claim { citations: 2, ..claim(NotCheckable) };
            let sources = sources.iter().map(|id| (*id).to_owned()).collect();
            let judgement = Judgement { number: 1, verdict: Supported, sources, reason: String::new() };
            apply(&mut claim, &mut citations, Some(&judgement));
            assert_eq!(claim.verdict, Supported);
            assert_eq!(citations.map(|citation| citation.verdict), expected.map(Some), "{judgement:?}");
        };
        let unknown = [Some(NotCheckable); 2];
        check(unknown, &["S1001"], [Supported, NotCheckable]);
        check(unknown, &["[S1002]", "S1001"], [Supported, Supported]);
        check(unknown, &[], [NotCheckable, NotCheckable]);
        check([Some(Supported), Some(Partly)], &["S7"], [Supported, Partly]);
        check([Some(NotSupported), Some(Supported)], &["S1001"], [NotSupported, Supported]);
        // Each holds a part.
        check([Some(Partly), Some(Partly)], &["S1001", "S1002"], [Partly, Partly]);
    }

    #[test]
    fn the_worse_verdict_counts() {
        let judged = |by_code, by_model: Option<Verdict>| {
            let mut claim = claim(by_code);
            let judgement =
                by_model.map(|verdict| Judgement { number: 1, verdict, sources: Vec::new(), reason: String::new() });
            apply(&mut claim, &mut [], judgement.as_ref());
            claim.verdict
        };
        assert_eq!(judged(Supported, Some(NotSupported)), NotSupported);
        assert_eq!(judged(NotSupported, Some(Supported)), NotSupported);
        assert_eq!(judged(Supported, None), NotCheckable);
        assert_eq!(judged(Partly, None), Partly);
        assert_eq!(judged(NotCheckable, Some(Partly)), Partly);
        assert_eq!(judged(Supported, Some(NotCheckable)), Supported);
    }
}
