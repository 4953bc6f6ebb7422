//! The sub-questions of a brief: what the findings, and then the report, say to each.
//!
//! The supervisor judges them when it ends the research, naming sources; what it does not judge, the words of the notes
//! decide, and where these say nothing (the notes may be in another language), those of the report. Nothing counts as
//! answered without a source that the notes name and the report cites.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Serialize;

use super::{citations, contradictions::without_citations, earlier::own_ids, statements};
use crate::{
    aside::Panicked,
    context::Cx,
    domain::{
        AnswerStatus, Note, Source, SourceId, SubQuestion, WarningCode, admission,
        report::{Citation, Report, text_alone},
    },
    journal::{Entry, StepKind, Stop},
    offline::{self, WordMatch},
    tools::{complete::Judgement, delegate::Delegations},
};

/// Sub-questions of a brief, and the characters of one.
const MOST: usize = 12;
const CHARS: usize = 300;

/// Returns a question as events and the limits of a report show it.
pub fn shortened(question: &str) -> String {
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Returns the questions that a model lists, each once; the user's own when it lists none.
pub fn listed(questions: Vec<String>, own: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let shown = questions.iter().map(|question| shortened(question));
    let mut listed: Vec<String> =
        shown.filter(|question| !question.is_empty() && seen.insert(question.to_lowercase())).take(MOST).collect();
    if listed.is_empty() {
        listed.push(shortened(own));
    }
    listed
}

/// A sub-question and what is known of its answer.
#[derive(Clone, Debug)]
pub struct Judged {
    pub question: String,
    pub status: AnswerStatus,
    /// The sources that answer it, of those that the notes cite; empty when nobody named them.
    ids: Vec<SourceId>,
    /// Nobody said how far it is answered, and the words of the notes say nothing either: those of the report decide.
    is_open: bool,
    /// Nobody said how far it is answered.
    is_assumed: bool,
}

/// What the supervisor said of the sub-questions, by their numbers from 1. Locked for map access only.
pub type Judgements = Arc<Mutex<BTreeMap<usize, Judgement>>>;

/// The sub-questions of a brief, of which the supervisor hears between its rounds how far they are answered.
#[derive(Debug)]
pub struct SubQuestions<'a> {
    questions: &'a [String],
    delegations: Arc<Delegations>,
}

impl<'a> SubQuestions<'a> {
    /// Returns the sub-questions for the supervisor; `None` where nobody reads it, and of a single question, which
    /// the supervisor has before its eyes.
    pub fn of(cx: &Cx, questions: &'a [String], delegations: &Arc<Delegations>) -> Option<Self> {
        let is_read = questions.len() > 1 && !cx.options().research_model.first().is_offline();
        is_read.then(|| Self { questions, delegations: Arc::clone(delegations) })
    }

    /// Returns how far the words of all notes so far answer those of which they say something; a step of the journal,
    /// as a prompt shows it. Empty after a defect and without notes.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn so_far(&self, cx: &Cx, path: &str) -> Result<Vec<SoFar>, Stop> {
        let work = async {
            let notes = self.delegations.notes();
            let places = if notes.is_empty() { Vec::new() } else { (0..self.questions.len()).collect() };
            let found = by_words(places, self.questions, &notes).await.unwrap_or_default();
            Ok(Entry::new(found.into_iter().map(|(_, matched)| matched.certain()).collect::<Vec<_>>()))
        };
        let key = format!("{path}/questions");
        let matched: Vec<Option<AnswerStatus>> = cx.journal().step(&key, StepKind::Mark, String::new(), work).await?;
        let numbered = (1..).zip(matched).filter_map(|(number, status)| Some(SoFar { number, status: status? }));
        Ok(numbered.collect())
    }
}

/// How far the findings seem to answer a sub-question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SoFar {
    /// From 1.
    number: usize,
    status: AnswerStatus,
}

impl Judged {
    /// Returns what is known of a question of an earlier report, whose sources nobody names any more.
    pub fn before(SubQuestion { question, status }: &SubQuestion) -> Self {
        let (question, status) = (question.clone(), *status);
        Self { question, status, ids: Vec::new(), is_open: false, is_assumed: false }
    }

    /// Returns how far it is answered by the findings, as far as that is known.
    pub fn by_findings(&self) -> Option<AnswerStatus> {
        (!self.is_open).then_some(self.status)
    }
}

/// Returns how far the notes answer each question.
///
/// # Errors
/// [`Stop`].
pub async fn judged(
    cx: &Cx,
    questions: &[String],
    judgements: &Judgements,
    notes: &[Note],
) -> Result<Vec<Judged>, Stop> {
    let said = judgements.lock().clone();
    // A note may cite a page by the id of another researcher who met it, too.
    let own = own_ids(&cx.sources());
    let own = |id: SourceId| own.get(&id).copied().unwrap_or(id);
    let cited: BTreeSet<_> = notes.iter().flat_map(|note| citations::cited_ids(&note.text)).map(own).collect();
    // Whose only question is the whole conversation, the words of it decide little: what is cited counts.
    let is_offline = cx.options().research_model.first().is_offline();
    let is_whole = questions.len() == 1 && !is_offline;
    let mut open = Vec::new();
    let judge = |(place, question): (usize, &String)| {
        let said = said.get(&(place + 1));
        let ids: Vec<SourceId> =
            said.iter().flat_map(|said| &said.ids).copied().map(own).filter(|id| cited.contains(id)).collect();
        let (at_best, is_open) = match said.map(|said| said.status) {
            // Without a source that somebody read, it is a guess.
            Some(AnswerStatus::Answered) if ids.is_empty() => (AnswerStatus::Partly, true),
            Some(status) => (status, false),
            None => (AnswerStatus::Answered, !is_whole),
        };
        open.extend(is_open.then_some(place));
        let is_assumed = said.is_none() && is_whole;
        Judged { question: question.clone(), status: at_best, ids, is_open: false, is_assumed }
    };
    let mut judged: Vec<Judged> = questions.iter().enumerate().map(judge).collect();
    match by_words(open, questions, notes).await {
        Ok(found) => found.into_iter().for_each(|(place, matched)| {
            let one = &mut judged[place];
            // The report of the offline model rests on the same words, and says nothing more.
            match matched.certain().or_else(|| is_offline.then_some(matched.status)) {
                Some(status) => one.status = one.status.max(status),
                None => one.is_open = one.status == AnswerStatus::Answered,
            }
        }),
        Err(panicked) => {
            let detail = format!("the notes were not held against the sub-questions: {panicked}");
            cx.warn("lead/questions/failed", WarningCode::CheckFailed, detail).await?;
        }
    }
    Ok(judged)
}

/// Returns how far the words of the notes answer the questions at some places. Reading the notes takes time, so it is
/// not done for none.
async fn by_words(
    places: Vec<usize>,
    questions: &[String],
    notes: &[Note],
) -> Result<Vec<(usize, WordMatch)>, Panicked> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let asked = places.iter().map(|place| questions[*place].clone()).collect();
    let texts = notes.iter().map(statements::without_unheld).collect();
    let found = offline::answered(asked, texts).await?;
    Ok(places.into_iter().zip(found).collect())
}

/// Returns them with the words of the finished report, which is in the language of the questions, for those of which
/// nothing else is known. Where these say nothing, the question counts as answered unless the report admits in its
/// opening that it is not.
///
/// # Errors
/// [`Stop`].
pub async fn by_report(cx: &Cx, name: &str, judged: &[Judged], report: &Report) -> Result<Vec<Judged>, Stop> {
    let mut judged = judged.to_vec();
    let open: Vec<&mut Judged> = judged.iter_mut().filter(|one| one.is_open).collect();
    if open.is_empty() {
        return Ok(judged);
    }
    let asked = open.iter().map(|one| one.question.clone()).collect();
    match offline::answered(asked, vec![without_citations(report)]).await {
        Ok(matched) => open.into_iter().zip(matched).for_each(|(one, matched)| match matched.certain() {
            Some(status) => one.status = status,
            None => one.is_assumed = true,
        }),
        Err(panicked) => {
            let detail = format!("the {name} was not held against the sub-questions: {panicked}");
            cx.warn(&format!("{name}/questions/failed"), WarningCode::CheckFailed, detail).await?;
        }
    }
    Ok(judged)
}

/// Returns what the report makes of them: one whose sources it does not cite is answered only in part, and so is
/// everything in a report that cites nothing. What nobody judged is no better answered than the report says in its
/// opening.
pub fn in_report(judged: &[Judged], report: &Report, sources: &[Source]) -> Vec<SubQuestion> {
    let cited: BTreeSet<SourceId> = report.citations.iter().map(|citation: &Citation| citation.source_id).collect();
    let own = |id: &SourceId| {
        let source = sources.iter().find(|source| source.ids().any(|known| known == *id));
        source.map_or(*id, |source| source.id)
    };
    let status = |one: &Judged| {
        let is_cited = !cited.is_empty() && (one.ids.is_empty() || one.ids.iter().any(|id| cited.contains(&own(id))));
        let is_missing = || one.is_assumed && admission::admits_first(text_alone(&report.markdown));
        match one.status {
            AnswerStatus::Answered if !is_cited || is_missing() => AnswerStatus::Partly,
            status => status,
        }
    };
    judged.iter().map(|one| SubQuestion { question: one.question.clone(), status: status(one) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_tidied_and_never_empty() {
        let given = ["Who  paid?", "", "who paid?", "When?"].map(str::to_owned).to_vec();
        assert_eq!(listed(given, "x"), ["Who paid?", "When?"]);
        assert_eq!(listed(Vec::new(), "Who\npaid?"), ["Who paid?"]);
        assert_eq!(listed(vec!["x".repeat(999)], "").pop().map(|one| one.chars().count()), Some(CHARS + 1));
        assert_eq!(listed((0..99).map(|n| n.to_string()).collect(), "").len(), MOST);
    }

    #[test]
    fn an_answer_needs_a_citation() {
        let one = |status, ids: &[u32]| Judged {
            question: "Q".to_owned(),
            status,
            ids: ids.iter().map(|id| SourceId(*id)).collect(),
            is_open: false,
            is_assumed: false,
        };
        let source = Source { aliases: vec![SourceId(2001)], ..Source::example(1001, "a", "A") };
        let report = |cited: &[u32]| Report {
            citations: cited.iter().map(|id| Citation::new(1, SourceId(*id), 0, 3)).collect(),
            ..Report::default()
        };
        let check = |judged: Judged, cited: &[u32], expected| {
            let found = in_report(&[judged], &report(cited), std::slice::from_ref(&source));
            assert_eq!(found[0].status, expected);
        };
        use AnswerStatus::{Answered, NotFound, Partly};
        check(one(Answered, &[2001]), &[1001], Answered);
        check(one(Answered, &[3001]), &[1001], Partly);
        check(one(Answered, &[]), &[1001], Answered);
        check(one(Answered, &[]), &[], Partly);
        check(one(NotFound, &[]), &[1001], NotFound);
    }

    #[test]
    fn a_report_that_admits_that_the_answer_is_missing_gives_a_part_of_it() {
        let check = |markdown: &str, is_assumed, expected| {
            let judged = Judged {
                question: "Q".to_owned(),
                status: AnswerStatus::Answered,
                ids: Vec::new(),
                is_open: false,
                is_assumed,
            };
            let citations = vec![Citation::new(1, SourceId(1001), 0, 3)];
            let report = Report { markdown: markdown.to_owned(), citations, ..Report::default() };
            assert_eq!(in_report(&[judged], &report, &[])[0].status, expected, "{markdown}");
        };
        let admits = "# Mayor\n\nThe sources do not say who was mayor in 1850. The nearest is a captain [1].\n";
        check(admits, true, AnswerStatus::Partly);
        check(admits, false, AnswerStatus::Answered);
        check("# Mayor\n\nIt was Tregarrow [1]. The sources do not say since when.\n", true, AnswerStatus::Answered);
    }
}
