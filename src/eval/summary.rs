//! Figures over many answers, and how far they can be trusted: intervals by drawing questions again, with a fixed seed.

use std::collections::BTreeMap;

use super::{Dimension, Judged, Lost, Scored, score::FactScore};

/// Drawings for an interval.
const DRAWINGS: usize = 2_000;

/// A figure: what it is called, and how it is written.
struct Metric {
    name: &'static str,
    percent: bool,
    of: Of,
}

/// The origin of a figure.
enum Of {
    /// What an answer adds to its numerator and denominator.
    Answer(fn(&Scored) -> (f64, f64)),
    /// What the judges say of a report, if they do; the mean is over those that they judged.
    Judges(fn(&Judged) -> Option<f64>),
}

const METRICS: &[Metric] = &[
    share("facts found", |one| (count(one, |fact| fact.lost.is_none()), number(one.facts.len()))),
    share("facts in the opening section", |one| (count(one, |fact| fact.in_opening), number(one.facts.len()))),
    share("outdated facts stated as current", |one| {
        (number(one.outdated.iter().filter(|outdated| outdated.as_current).count()), number(one.outdated_known))
    }),
    share("unanswerable admitted first", |one| (flag(one.unanswerable && one.admitted), flag(one.unanswerable))),
    share("answerable, yet admitted first", |one| (flag(!one.unanswerable && one.admitted), flag(!one.unanswerable))),
    share("injected orders obeyed or quoted", |one| (number(one.injected.len()), number(one.injected_known))),
    share("expected documents cited", |one| (number(one.documents_found), number(one.documents_expected))),
    share("reports with a structural fault", |one| (flag(!one.violations.is_empty()), flag(one.failure.is_none()))),
    share("reports in the right language", |one| match &one.language_expected {
        Some(expected) if one.failure.is_none() => (flag(*expected == one.language), 1.0),
        _ => (0.0, 0.0),
    }),
    share("runs that failed", |one| (flag(one.failure.is_some()), 1.0)),
    mean("sources cited", |one| (number(one.sources_cited), 1.0)),
    mean("model calls", |one| (one.spent.calls as f64, 1.0)),
    mean("searches", |one| (one.spent.searches as f64, 1.0)),
    mean("prompt tokens", |one| (one.spent.input_tokens as f64, 1.0)),
    mean("answer tokens", |one| (one.spent.output_tokens as f64, 1.0)),
    mean("seconds", |one| (one.spent.seconds, 1.0)),
    judged("judge: research depth", false, |judged| opinion(judged, Dimension::ResearchDepth)),
    judged("judge: source quality", false, |judged| opinion(judged, Dimension::SourceQuality)),
    judged("judge: analytical rigor", false, |judged| opinion(judged, Dimension::AnalyticalRigor)),
    judged("judge: practical value", false, |judged| opinion(judged, Dimension::PracticalValue)),
    judged("judge: balance and objectivity", false, |judged| opinion(judged, Dimension::BalanceAndObjectivity)),
    judged("judge: writing quality", false, |judged| opinion(judged, Dimension::WritingQuality)),
    judged("judge: relevance", false, |judged| opinion(judged, Dimension::Relevance)),
    judged("judge: structure and cohesiveness", false, |judged| opinion(judged, Dimension::StructureAndCohesiveness)),
    judged("judge: correctness", false, |judged| opinion(judged, Dimension::Correctness)),
    judged("judge: completeness", false, |judged| opinion(judged, Dimension::Completeness)),
    judged("judge: claims grounded", true, |judged| judged.groundedness.as_ref()?.share()),
    judged("judge: judgements missing", true, |judged| Some(missing(judged))),
    judged("judge: tokens", false, |judged| Some((judged.spent.input_tokens + judged.spent.output_tokens) as f64)),
];

const fn share(name: &'static str, of: fn(&Scored) -> (f64, f64)) -> Metric {
    Metric { name, percent: true, of: Of::Answer(of) }
}

const fn mean(name: &'static str, of: fn(&Scored) -> (f64, f64)) -> Metric {
    Metric { name, percent: false, of: Of::Answer(of) }
}

const fn judged(name: &'static str, percent: bool, of: fn(&Judged) -> Option<f64>) -> Metric {
    Metric { name, percent, of: Of::Judges(of) }
}

fn opinion(judged: &Judged, dimension: Dimension) -> Option<f64> {
    judged.scores.get(&dimension).map(|opinion| f64::from(opinion.score))
}

/// Returns the share of the judges that gave no score.
fn missing(judged: &Judged) -> f64 {
    let given = judged.judges_heard();
    number(judged.failed.len()) / number((judged.failed.len() + given).max(1))
}

fn count(one: &Scored, wanted: fn(&FactScore) -> bool) -> f64 {
    number(one.facts.iter().filter(|fact| wanted(fact)).count())
}

fn number(count: usize) -> f64 {
    count as f64
}

fn flag(flag: bool) -> f64 {
    if flag { 1.0 } else { 0.0 }
}

impl Metric {
    /// Computes the figure over all of them; `None` when none of them counts.
    fn value<'a>(&self, answers: impl IntoIterator<Item = &'a Scored>) -> Option<f64> {
        let all = answers.into_iter().map(|one| self.of(one));
        let sums = all.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (sums.1 > 0.0).then(|| sums.0 / sums.1)
    }

    fn of(&self, one: &Scored) -> (f64, f64) {
        match self.of {
            Of::Answer(of) => of(one),
            Of::Judges(of) => one.judged.as_ref().and_then(of).map_or((0.0, 0.0), |value| (value, 1.0)),
        }
    }

    /// Returns whether a question can be compared: what a judge did not judge on one of the sides cannot.
    fn counts(&self, (before, after): &Pair<'_>) -> bool {
        let has_value = |side: &[&Scored]| self.value(side.iter().copied()).is_some();
        matches!(self.of, Of::Answer(_)) || has_value(before) && has_value(after)
    }

    /// Returns its name; of a judge's figure also over how many it is, since a judge may fail.
    fn label(&self, counted: usize) -> String {
        match self.of {
            Of::Answer(_) => self.name.to_owned(),
            Of::Judges(_) => format!("{} (n = {counted})", self.name),
        }
    }

    fn written(&self, value: f64) -> String {
        if self.percent { format!("{:.0} %", value * 100.0) } else { plain(value) }
    }
}

fn plain(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Answers by question: what is drawn for an interval, since runs of one question are not independent.
type ByQuestion<'a> = BTreeMap<&'a str, Vec<&'a Scored>>;

fn by_question(scored: &[Scored]) -> ByQuestion<'_> {
    let mut by_question = ByQuestion::new();
    for one in scored {
        by_question.entry(&one.id).or_default().push(one);
    }
    by_question
}

/// Returns the figures as a Markdown table: all questions with an interval, then each set, then the facts that were
/// lost.
pub fn table(scored: &[Scored]) -> String {
    let mut sets: Vec<&str> = scored.iter().filter_map(|one| one.set.as_deref()).collect();
    sets.sort_unstable();
    sets.dedup();
    let mut text = format!("| {} answers | all (95 % interval) |", scored.len());
    sets.iter().for_each(|set| text.push_str(&format!(" {set} |")));
    text.push_str(&format!("\n|---|---|{}\n", "---|".repeat(sets.len())));
    let questions = by_question(scored);
    for metric in METRICS {
        let Some(value) = metric.value(scored) else { continue };
        let interval =
            interval(&questions.values().map(Vec::as_slice).collect::<Vec<_>>(), |drawn| metric.value(drawn));
        let interval = interval
            .map_or_else(String::new, |(low, high)| format!(" ({} to {})", metric.written(low), metric.written(high)));
        let counted = scored.iter().filter(|one| metric.of(one).1 > 0.0).count();
        text.push_str(&format!("| {} | {}{interval} |", metric.label(counted), metric.written(value)));
        for set in &sets {
            let value = metric.value(scored.iter().filter(|one| one.set.as_deref() == Some(set)));
            text.push_str(&format!(" {} |", value.map_or_else(String::new, |value| metric.written(value))));
        }
        text.push('\n');
    }
    text + &faults(scored)
}

/// Lists what went wrong, question by question.
fn faults(scored: &[Scored]) -> String {
    let mut lines = Vec::new();
    for one in scored {
        let mut faults: Vec<String> = one.facts.iter().filter_map(|fact| Some(lost(&fact.fact, fact.lost?))).collect();
        faults.extend(
            one.outdated.iter().filter(|outdated| outdated.as_current).map(|it| format!("outdated: {}", it.text)),
        );
        faults.extend(one.injected.iter().map(|text| format!("injected: {text}")));
        faults.extend(one.failure.iter().map(|code| format!("failed: {code}")));
        faults.extend(one.violations.iter().cloned());
        let unheard = one.judged.iter().flat_map(|judged| &judged.failed);
        faults.extend(unheard.map(|(judge, reason)| format!("{} not judged: {reason}", judge.name())));
        if one.unanswerable && !one.admitted && one.failure.is_none() {
            faults.push("not admitted that there is no answer".to_owned());
        }
        if !faults.is_empty() {
            lines.push(format!("- {}: {}\n", one.id, faults.join("; ")));
        }
    }
    if lines.is_empty() { String::new() } else { format!("\nFaults:\n\n{}", lines.concat()) }
}

fn lost(fact: &str, lost: Lost) -> String {
    match lost {
        Lost::Search => format!("{fact} was not retrieved"),
        Lost::Notes => format!("{fact} was retrieved, but is in no note"),
        Lost::Report => format!("{fact} is in a note, but not in the report"),
    }
}

/// Compares two sets of answers side by side, over the questions that both have: each figure, its change, and the
/// interval in which the change lies with 95 % certainty. `*` marks changes that chance does not explain.
///
/// # Errors
/// When they have no question in common.
pub fn compare(before: &[Scored], after: &[Scored]) -> Result<String, String> {
    let (before, after) = (by_question(before), by_question(after));
    let pairs: Vec<_> =
        before.iter().filter_map(|(id, one)| Some((one.as_slice(), after.get(id)?.as_slice()))).collect();
    if pairs.is_empty() {
        return Err("they have no question in common".to_owned());
    }
    let mut text =
        format!("| {} questions | before | after | change | 95 % interval |\n|---|---|---|---|---|\n", pairs.len());
    for metric in METRICS {
        let pairs: Vec<_> = pairs.iter().copied().filter(|pair| metric.counts(pair)).collect();
        text.push_str(&change_of(metric, &pairs).unwrap_or_default());
    }
    Ok(text)
}

/// The answers to one question, before and after.
type Pair<'a> = (&'a [&'a Scored], &'a [&'a Scored]);

/// Returns the line of a figure; `None` when one of the sides does not have it.
fn change_of(metric: &Metric, pairs: &[Pair<'_>]) -> Option<String> {
    let before = |drawn: &[usize]| metric.value(drawn.iter().flat_map(|place| pairs[*place].0).copied());
    let after = |drawn: &[usize]| metric.value(drawn.iter().flat_map(|place| pairs[*place].1).copied());
    let all: Vec<usize> = (0..pairs.len()).collect();
    let (left, right) = (before(&all)?, after(&all)?);
    let (low, high) = drawn(pairs.len(), |places| Some(after(places)? - before(places)?))?;
    let certain = if low > 0.0 || high < 0.0 { " *" } else { "" };
    let [left, right, change, low, high] = [left, right, right - left, low, high].map(|value| metric.written(value));
    let label = metric.label(pairs.len());
    Some(format!("| {label} | {left} | {right} | {change}{certain} | {low} to {high} |\n"))
}

fn interval<'a>(questions: &[&[&'a Scored]], value: impl Fn(Vec<&'a Scored>) -> Option<f64>) -> Option<(f64, f64)> {
    drawn(questions.len(), |places| value(places.iter().flat_map(|place| questions[*place]).copied().collect()))
}

/// Returns the middle 95 % of the values of so many drawings with replacement.
fn drawn(count: usize, value: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    let mut random = SplitMix(2_031);
    let mut values: Vec<f64> = (0..DRAWINGS)
        .filter_map(|_| {
            let places: Vec<usize> = (0..count).map(|_| random.below(count)).collect();
            value(&places)
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 40], values[last - last / 40]))
}

/// A generator of numbers that look random: SplitMix64, the same in each process.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % count.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{Judge, Opinion};

    fn answers(found: &[bool]) -> Vec<Scored> {
        let one = |(number, found): (usize, &bool)| Scored {
            id: number.to_string(),
            run: 1,
            set: Some(if number % 2 == 0 { "even" } else { "odd" }.to_owned()),
            facts: vec![FactScore { fact: "f".into(), in_opening: *found, lost: (!found).then_some(Lost::Notes) }],
            ..Scored::default()
        };
        found.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_table_has_all_questions_and_each_set() {
        let table = table(&answers(&[true, false, true, false]));
        assert!(table.starts_with("| 4 answers | all (95 % interval) | even | odd |\n"), "{table}");
        assert!(table.contains("| facts found | 50 % (0 % to 100 %) | 100 % | 0 % |"), "{table}");
        assert!(table.contains("- 1: f was retrieved, but is in no note\n"), "{table}");
        assert!(!table.contains("unanswerable"), "what no question asks for is left out: {table}");
    }

    /// Returns an answer whose report was judged relevant so much; `None` when that judge failed.
    fn judged(id: usize, relevance: Option<u8>) -> Scored {
        let mut judged = Judged::default();
        match relevance {
            Some(score) => _ = judged.scores.insert(Dimension::Relevance, Opinion { reason: String::new(), score }),
            None => _ = judged.failed.insert(Judge::Relevance, "it was away".into()),
        }
        Scored { id: id.to_string(), run: 1, judged: Some(judged), ..Scored::default() }
    }

    #[test]
    fn a_judge_that_failed_is_left_out_of_the_mean() {
        let scores = [Some(5), Some(2), None, Some(2)];
        let mut all: Vec<Scored> = scores.into_iter().enumerate().map(|(id, score)| judged(id, score)).collect();
        all.push(Scored { id: "unjudged".into(), run: 1, ..Scored::default() });
        let table = table(&all);
        assert!(table.contains("| judge: relevance (n = 3) | 3.0 (2.0 to 5.0) |"), "{table}");
        assert!(table.contains("| judge: judgements missing (n = 4) | 25 % "), "{table}");
        assert!(table.contains("- 2: relevance not judged: it was away\n"), "{table}");
        assert!(!table.contains("judge: correctness"), "{table}");
    }

    #[test]
    fn judged_reports_are_compared_where_both_are() {
        let before: Vec<Scored> = (0..20).map(|id| judged(id, (id > 0).then_some(2))).collect();
        let after: Vec<Scored> =
            (0..20).map(|id| judged(id, (id != 1).then_some(if id == 0 { 1 } else { 4 }))).collect();
        let text = compare(&before, &after).unwrap();
        assert!(text.contains("| judge: relevance (n = 18) | 2.0 | 4.0 | 2.0 * | 2.0 to 2.0 |"), "{text}");
    }

    #[test]
    fn a_change_is_certain_or_it_is_not() {
        let line = |before: &[bool], after: &[bool]| {
            let text = compare(&answers(before), &answers(after)).unwrap();
            text.lines().find(|line| line.starts_with("| facts found")).unwrap().to_owned()
        };
        assert!(line(&[false; 20], &[true; 20]).contains("| 100 % * |"));
        let (mut before, mut after) = ([true; 20], [true; 20]);
        (before[0], after[1], after[2]) = (false, false, false);
        assert!(line(&before, &after).contains("| -5 % |"));
        assert!(compare(&answers(&[true]), &[]).is_err());
    }
}
