//! What judges say of a report, as the file of results keeps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Question, Spent};
use crate::domain::claim::Verdict;

/// One question about a report, put to the judge's model by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// How good is it, in six respects?
    Quality,
    Relevance,
    Structure,
    /// Whether it says what is known to be true.
    Correctness,
    Completeness,
    /// Which of its claims do its sources hold?
    Groundedness,
}

impl Judge {
    /// Lists those that can judge a report on `question`: the correctness of an answer only where the right one is
    /// known.
    pub fn of(question: &Question) -> Vec<Self> {
        let is_known = !question.facts.is_empty() || question.unanswerable;
        let all = [
            Self::Quality,
            Self::Relevance,
            Self::Structure,
            Self::Correctness,
            Self::Completeness,
            Self::Groundedness,
        ];
        all.into_iter().filter(|judge| is_known || *judge != Self::Correctness).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Quality => "quality",
            Self::Relevance => "relevance",
            Self::Structure => "structure",
            Self::Correctness => "correctness",
            Self::Completeness => "completeness",
            Self::Groundedness => "groundedness",
        }
    }
}

/// What is scored from 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    ResearchDepth,
    SourceQuality,
    AnalyticalRigor,
    PracticalValue,
    BalanceAndObjectivity,
    WritingQuality,
    Relevance,
    StructureAndCohesiveness,
    Correctness,
    Completeness,
}

/// A score, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Scale")]
pub struct Opinion {
    pub reason: String,
    /// From 1, poor, to 5, excellent.
    pub score: u8,
}

/// An opinion before it is known to be on the scale.
#[derive(Deserialize)]
struct Scale {
    reason: String,
    score: f64,
}

impl TryFrom<Scale> for Opinion {
    type Error = String;

    fn try_from(Scale { reason, score }: Scale) -> Result<Self, Self::Error> {
        let on_scale = (1..=5_u8).find(|step| f64::from(*step) == score);
        on_scale
            .map(|score| Self { reason, score })
            .ok_or_else(|| format!("the score {score} is none of 1, 2, 3, 4, 5"))
    }
}

/// A statement of the report, held against the sources that it cites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// One line, without Markdown.
    pub text: String,
    pub cited: bool,
    /// [`Verdict::NotCheckable`] when it claims nothing.
    pub verdict: Verdict,
    /// Empty when there is nothing to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The claims of a report, one by one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Groundedness {
    pub claims: Vec<JudgedClaim>,
    /// Statements without a verdict: the judge left them out, or there were too many.
    #[serde(default)]
    pub left_out: usize,
}

impl Groundedness {
    /// Returns the share of claims that the sources hold as a whole; `None` when the report claims nothing.
    pub fn share(&self) -> Option<f64> {
        let count = |wanted: fn(Verdict) -> bool| self.claims.iter().filter(|claim| wanted(claim.verdict)).count();
        let all = count(|verdict| verdict != Verdict::NotCheckable);
        (all > 0).then(|| count(|verdict| verdict == Verdict::Supported) as f64 / all as f64)
    }
}

/// All that was judged of one report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub scores: BTreeMap<Dimension, Opinion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groundedness: Option<Groundedness>,
    /// Judges that gave no score, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<Judge, String>,
    /// What the judges took, apart from the run.
    pub spent: Spent,
}

impl Judged {
    /// Takes in what was judged later: what that has, it has instead.
    pub fn merge(&mut self, later: Self) {
        self.failed = later.failed;
        self.scores.extend(later.scores);
        self.groundedness = later.groundedness.or(self.groundedness.take());
        self.spent += later.spent;
    }

    /// Returns how many judges gave what they were asked for; one of them gives several scores.
    pub fn judges_heard(&self) -> usize {
        let of_quality = usize::from(self.scores.contains_key(&Dimension::ResearchDepth));
        let single = self.scores.keys().filter(|dimension| **dimension >= Dimension::Relevance).count();
        of_quality + single + usize::from(self.groundedness.is_some())
    }

    /// Returns the mean of the scores; `None` without one.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.scores.values().map(|opinion| f64::from(opinion.score)).sum();
        (!self.scores.is_empty()).then(|| sum / self.scores.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_on_the_scale_or_it_is_none() {
        let check = |json: &str, expected: Option<u8>| {
            let opinion: Result<Opinion, _> = serde_json::from_str(json);
            assert_eq!(opinion.ok().map(|opinion| opinion.score), expected, "{json}");
        };
        check(r#"{"reason": "r", "score": 4}"#, Some(4));
        check(r#"{"reason": "r", "score": 1.0}"#, Some(1));
        check(r#"{"reason": "r", "score": 0}"#, None);
        check(r#"{"reason": "r", "score": 6}"#, None);
        check(r#"{"reason": "r", "score": 3.5}"#, None);
        check(r#"{"score": 3}"#, None);
    }

    #[test]
    fn a_report_that_claims_nothing_has_no_share() {
        let claim = |verdict| JudgedClaim { text: "t".into(), cited: true, verdict, reason: String::new() };
        let check = |verdicts: &[Verdict], expected: Option<f64>| {
            let claims = verdicts.iter().copied().map(claim).collect();
            assert_eq!(Groundedness { claims, left_out: 0 }.share(), expected, "{verdicts:?}");
        };
        check(&[], None);
        check(&[Verdict::NotCheckable], None);
        check(&[Verdict::Supported, Verdict::NotCheckable, Verdict::Partly, Verdict::NotSupported], Some(1.0 / 3.0));
    }

    #[test]
    fn what_is_judged_later_takes_the_place_of_failures() {
        let opinion = |score| Opinion { reason: "r".into(), score };
        let spent = |calls| Spent { calls, ..Spent::default() };
        let mut judged = Judged { spent: spent(2), ..Judged::default() };
        judged.scores.insert(Dimension::Relevance, opinion(5));
        judged.failed.insert(Judge::Structure, "away".into());
        let mut later = Judged { spent: spent(1), ..Judged::default() };
        later.scores.insert(Dimension::StructureAndCohesiveness, opinion(2));
        judged.merge(later);
        assert_eq!((judged.mean(), judged.failed.len(), judged.spent.calls), (Some(3.5), 0, 3));
    }
}
