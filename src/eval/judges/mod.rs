//! Judges: what a model thinks of a report, beside what code counts.
//!
//! Each judge has a prompt and a form of its own, sees what it judges, and may fail without the others: then its score
//! is missing, and the reason is kept. `ask.rs` makes the calls, `claims.rs` holds statements against the texts that
//! the run kept. They score as those of the original project do, whose faults docs/evaluation.md lists with the ways
//! around them.

mod ask;
mod claims;

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Question, Spent,
    judged::{Dimension, Groundedness, Judge, Judged, Opinion},
};
use crate::{
    domain::{ModelName, Source, printable_line, report::Report},
    llm::{Llm, structured::Form},
    prompts::{Prompts, untrusted},
};
use ask::Asker;

/// Judges of one report that are asked at the same time.
const AT_ONCE: usize = 3;

/// The judges, all of them one model.
#[derive(Debug)]
pub struct Judges {
    asker: Asker,
}

/// A report that is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub question: &'a Question,
    /// Markdown.
    pub report: &'a str,
    /// `None` when it is not there any more: what needs it fails.
    pub kept: Option<&'a Arc<RunRecord>>,
}

/// What the run kept of its work.
#[derive(Debug)]
pub struct RunRecord {
    pub report: Report,
    /// The cited ones, with their texts.
    pub sources: Vec<Source>,
    pub brief: String,
}

/// Scores in six respects, in one answer.
#[derive(Deserialize)]
struct Quality {
    research_depth: Opinion,
    source_quality: Opinion,
    analytical_rigor: Opinion,
    practical_value: Opinion,
    balance_and_objectivity: Opinion,
    writing_quality: Opinion,
}

impl From<Quality> for BTreeMap<Dimension, Opinion> {
    fn from(quality: Quality) -> Self {
        Self::from([
            (Dimension::ResearchDepth, quality.research_depth),
            (Dimension::SourceQuality, quality.source_quality),
            (Dimension::AnalyticalRigor, quality.analytical_rigor),
            (Dimension::PracticalValue, quality.practical_value),
            (Dimension::BalanceAndObjectivity, quality.balance_and_objectivity),
            (Dimension::WritingQuality, quality.writing_quality),
        ])
    }
}

/// What a judge found.
enum Judgement {
    Scores(BTreeMap<Dimension, Opinion>),
    Claims(Groundedness),
}

impl Judges {
    /// Returns judges that are that model; an answer that is not of the asked form is asked for as often.
    pub fn new(llm: Llm, model: ModelName, prompts: Arc<Prompts>, attempts: u32) -> Self {
        Self { asker: Asker::new(llm, model, prompts, attempts) }
    }

    /// Has a report judged by `wanted`. A judge that fails is named in the result with its reason, and so is one that
    /// has not answered when `cancel` ends the waiting; what its answered calls took is counted all the same.
    pub async fn judge(&self, case: Case<'_>, wanted: &[Judge], cancel: &CancellationToken) -> Judged {
        // Outside of the judges, which an interrupt drops. Locked to be added to.
        let spent = &Mutex::new(Spent::default());
        let ask = |judge: Judge| async move { (judge, self.found(judge, case, spent).await) };
        let mut asked = std::pin::pin!(stream::iter(wanted.iter().copied()).map(ask).buffer_unordered(AT_ONCE));
        let failed = wanted.iter().map(|judge| (*judge, "interrupted".to_owned())).collect();
        let mut judged = Judged { failed, ..Judged::default() };
        while let Some(Some((judge, found))) = cancel.run_until_cancelled(asked.next()).await {
            judged.failed.remove(&judge);
            match found {
                Ok(Judgement::Scores(scores)) => judged.scores.extend(scores),
                Ok(Judgement::Claims(groundedness)) => judged.groundedness = Some(groundedness),
                Err(reason) => _ = judged.failed.insert(judge, printable_line(&reason)),
            }
        }
        judged.spent = spent.lock().clone();
        judged
    }

    async fn found(&self, judge: Judge, case: Case<'_>, spent: &Mutex<Spent>) -> Result<Judgement, String> {
        let one = |dimension| (dimension, json!({}));
        let (dimension, more) = match judge {
            Judge::Quality => {
                let prompt = self.prompt("judges/quality", case, json!({}));
                let quality: Quality = self.asker.ask(&prompt, quality_form(), spent).await?;
                return Ok(Judgement::Scores(quality.into()));
            }
            Judge::Groundedness => {
                let claims = claims::judged(&self.asker, kept(case)?, spent).await?;
                return Ok(Judgement::Claims(claims));
            }
            Judge::Relevance => one(Dimension::Relevance),
            Judge::Structure => one(Dimension::StructureAndCohesiveness),
            Judge::Correctness => (Dimension::Correctness, known_answer(case.question)),
            Judge::Completeness => (Dimension::Completeness, json!({"brief": untrusted(&kept(case)?.brief)})),
        };
        let prompt = self.prompt(&format!("judges/{}", judge.name()), case, more);
        let opinion: Opinion = self.asker.ask(&prompt, opinion_form(), spent).await?;
        Ok(Judgement::Scores(BTreeMap::from([(dimension, opinion)])))
    }

    /// Returns the template with question and report, and what else it is filled with.
    fn prompt(&self, template: &str, case: Case<'_>, mut values: Value) -> String {
        values["question"] = untrusted(&case.question.question).into();
        values["report"] = untrusted(case.report).into();
        self.asker.prompts().text(template, values)
    }
}

fn kept(case: Case<'_>) -> Result<&Arc<RunRecord>, String> {
    case.kept.ok_or_else(|| "what the run kept is not in the database of evaluations".to_owned())
}

/// Returns what a good report says, and what it does not state.
fn known_answer(question: &Question) -> Value {
    let facts: Vec<String> = question.facts.iter().map(|fact| fact.alternatives().join(" / ")).collect();
    json!({"facts": facts, "outdated": question.outdated, "unanswerable": question.unanswerable})
}

fn opinion_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
        "required": ["reason", "score"],
        "additionalProperties": false,
    })
}

fn opinion_form() -> Form {
    Form { name: "ReportScore", schema: opinion_schema().into() }
}

fn quality_form() -> Form {
    let names = [
        "research_depth",
        "source_quality",
        "analytical_rigor",
        "practical_value",
        "balance_and_objectivity",
        "writing_quality",
    ];
    let properties: BTreeMap<&str, Value> = names.into_iter().map(|name| (name, opinion_schema())).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
    Form { name: "ReportQuality", schema: schema.into() }
}
