//! What a report cannot say, and why: facts that code has, written under the report in its language.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    AnswerStatus, FailureCode, SubQuestion,
    citation::Citation,
    claim::{Claim, Contradiction, Stated, Verdict},
    limit_wording::LimitWording,
    wording::Wording,
};

/// Characters of a topic or question.
const TEXT_CHARS: usize = 200;
/// Topics, statements and the like that are named; the rest is counted.
const MOST_NAMED: usize = 12;

/// Why the research, or that of a topic, ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    Time,
    Budget,
    Failure,
    Rounds,
}

impl EndedBy {
    /// Returns what ends research that failed so.
    pub fn of(code: FailureCode) -> Self {
        match code {
            FailureCode::Timeout => Self::Time,
            FailureCode::SpendingLimit => Self::Budget,
            _ => Self::Failure,
        }
    }

    fn said(self, words: &LimitWording) -> &'static str {
        match self {
            Self::Time => words.out_of_time,
            Self::Budget => words.out_of_budget,
            Self::Failure => words.failure,
            Self::Rounds => words.out_of_rounds,
        }
    }
}

/// What is known of the limits of a run's research.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Topics about which nothing was found.
    pub empty_topics: Vec<String>,
    /// Topics about which something may well be found: their research failed.
    pub unresearched: Vec<(String, EndedBy)>,
    /// Topics whose notes the output limit cut off.
    pub cut_notes: BTreeSet<String>,
    /// Topics of which only excerpts were kept, since their notes could not be written.
    pub excerpts_only: BTreeSet<String>,
    /// The output limit cut off the text itself.
    pub is_cut: bool,
    /// The provider's filter withheld the rest of the text itself.
    pub is_withheld: bool,
    pub ended_by: Option<EndedBy>,
    /// Engines, with the number of searches of each that failed.
    pub failed_searches: Vec<(String, usize)>,
    /// Engines and those that answered in their place, with the number of searches.
    pub replaced_engines: Vec<((String, String), usize)>,
    /// Pages that could not be read, by the key under which spellings of an address meet; another agent, or the same
    /// one at another time, may have read some of them.
    pub unread_pages: BTreeMap<String, String>,
    /// The keys of those that were read.
    pub read_pages: BTreeSet<String>,
    /// Whether pages were left unread because the run might read no more.
    pub pages_left_out: bool,
    /// Collections of documents that were not there any more.
    pub missing_collections: usize,
    /// Parts of the question without an answer, and those with only a part of one.
    pub unanswered: Vec<String>,
    pub partly_answered: Vec<String>,
    /// What sources state otherwise, and the report leaves open.
    pub open_contradictions: Vec<Contradiction>,
    /// Statements that the writer wrote once more, and those of them whose sources still do not hold them.
    pub repaired: usize,
    pub still_unsupported: usize,
    /// ISO 639-1 codes of the question's language and of the report's, when they differ.
    pub other_language: Option<(String, String)>,
}

impl Limits {
    /// Counts a search of that engine that failed.
    pub fn search_failed(&mut self, engine: &str) {
        count(&mut self.failed_searches, engine.to_owned());
    }

    /// Notes research that was given up for want of time.
    pub fn time_over(&mut self) {
        self.ended_by.get_or_insert(EndedBy::Time);
    }

    /// Counts a search that `by` answered in place of that engine.
    pub fn engine_replaced(&mut self, engine: &str, by: &str) {
        count(&mut self.replaced_engines, (engine.to_owned(), by.to_owned()));
    }

    /// Names a page that could not be read, by its key and its address.
    pub fn page_unread(&mut self, key: String, address: &str) {
        self.unread_pages.entry(key).or_insert_with(|| address.to_owned());
    }

    /// Notes a page that was read. If others could not read it, before or afterwards, its text is there all the same.
    pub fn page_read(&mut self, key: String) {
        self.read_pages.insert(key);
    }

    /// Returns what of it holds of every text that is made of the same research, in whatever words.
    #[must_use]
    pub fn of_research(&self) -> Self {
        let unread = self.unread_pages.iter().filter(|(key, _)| !self.read_pages.contains(*key));
        Self {
            unread_pages: unread.map(|(key, address)| (key.clone(), address.clone())).collect(),
            read_pages: BTreeSet::new(),
            unanswered: Vec::new(),
            partly_answered: Vec::new(),
            open_contradictions: Vec::new(),
            repaired: 0,
            still_unsupported: 0,
            other_language: None,
            ..self.clone()
        }
    }

    /// Returns these limits of a text with those of the research that it rests on, which an earlier run made.
    #[must_use]
    pub fn resting_on(self, research: &Self) -> Self {
        Self {
            is_cut: self.is_cut,
            is_withheld: self.is_withheld,
            missing_collections: self.missing_collections.max(research.missing_collections),
            repaired: self.repaired,
            still_unsupported: self.still_unsupported,
            ..research.clone()
        }
    }

    /// Returns whether there is nothing of which to speak.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what the report does not answer, or not wholly.
    pub fn add_questions(&mut self, questions: &[SubQuestion]) {
        let with = |status| questions.iter().filter(move |one| one.status == status).map(|one| one.question.clone());
        self.unanswered.extend(with(AnswerStatus::NotFound));
        self.partly_answered.extend(with(AnswerStatus::Partly));
    }

    /// Returns the section under a report, heading included; empty when there is nothing to say.
    pub fn section(&self, claims: &[Claim], citations: &[Citation], wording: &Wording) -> String {
        let words = wording.limits;
        let unresearched =
            self.unresearched.iter().map(|(topic, by)| format!("{} ({})", quoted(topic), by.said(words)));
        let unanswered = if self.unresearched.is_empty() { words.unanswered } else { words.left_open };
        let cut = self.is_cut.then(|| words.the_end.to_owned());
        let searches = self.failed_searches.iter().map(|(engine, count)| format!("{engine} ({count})"));
        let replaced = self.replaced_engines.iter().map(|((engine, by), count)| format!("{engine} → {by} ({count})"));
        let collections = (self.missing_collections > 0).then_some(self.missing_collections);
        let unread = self.unread_pages.iter().filter(|(key, _)| !self.read_pages.contains(*key));
        let lines = [
            line(words.cut_off, cut.into_iter().chain(self.cut_notes.iter().map(|text| quoted(text)))),
            line(words.withheld, self.is_withheld.then(|| words.the_end.to_owned())),
            line(unanswered, self.unanswered.iter().map(|text| quoted(text))),
            line(words.partly, self.partly_answered.iter().map(|text| quoted(text))),
            line(words.nothing_found, self.empty_topics.iter().map(|text| quoted(text))),
            line(words.not_researched, unresearched),
            line(words.excerpts_only, self.excerpts_only.iter().map(|text| quoted(text))),
            line(words.repaired, repaired(self.repaired, self.still_unsupported, words)),
            line(words.unsupported, doubtful(claims, citations, is_unsupported)),
            line(words.partly_supported, doubtful(claims, citations, is_partly_supported)),
            line(words.contradictory, self.open_contradictions.iter().map(contradiction)),
            line(
                words.other_language,
                self.other_language.as_ref().map(|(asked, written)| format!("{asked} → {written}")),
            ),
            line(words.ended_early, self.ended_by.map(|by| by.said(words).to_owned())),
            line(words.failed_searches, searches),
            line(words.replaced_engines, replaced),
            line(words.missing_collections, collections.map(|number| number.to_string())),
            line(words.unread_pages, unread.map(|(_, page)| text(without_scheme(page)))),
            line(words.pages_left_out, self.pages_left_out.then(|| words.out_of_budget.to_owned())),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        if lines.is_empty() { String::new() } else { format!("{}{}\n", heading(wording), lines.join("\n")) }
    }
}

/// Counts one more of these.
fn count<T: PartialEq>(counts: &mut Vec<(T, usize)>, what: T) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}

/// Returns what stands above the limits.
pub fn heading(wording: &Wording) -> String {
    format!("## {}\n\n", wording.limits.heading)
}

/// Returns whether the sources of a statement hold nothing of it, or lack figures, names or quotations of it.
fn is_unsupported(claim: &Claim) -> bool {
    let is_lacking = || claim.verdict == Verdict::Partly && !claim.missing.is_empty();
    claim.verdict == Verdict::NotSupported || is_lacking()
}

/// Returns whether a statement goes further than its sources, without a figure of which that can be said.
fn is_partly_supported(claim: &Claim) -> bool {
    claim.verdict == Verdict::Partly && claim.missing.is_empty()
}

/// Returns what a report says that its sources do not: the figure, or else the statement, and the numbers of the
/// sources.
fn doubtful(claims: &[Claim], citations: &[Citation], is_such: impl Fn(&Claim) -> bool) -> Vec<String> {
    let of_claim = |claim: &Claim| {
        let numbers: Vec<String> = claim.among(citations).iter().map(|citation| citation.number.to_string()).collect();
        let what = match claim.missing.is_empty() {
            true => quoted(&claim.text),
            false => claim.missing.iter().map(|missing| text(missing)).collect::<Vec<_>>().join(", "),
        };
        format!("{what} ({})", numbers.join(", "))
    };
    claims.iter().filter(|claim| is_such(claim)).map(of_claim).collect()
}

/// Says how many statements were repaired, and how many of them are wrong all the same.
fn repaired(repaired: usize, still: usize, words: &LimitWording) -> Option<String> {
    let still = if still > 0 { format!(" ({}: {still})", words.still_unsupported) } else { String::new() };
    (repaired > 0).then(|| format!("{repaired}{still}"))
}

fn contradiction(Contradiction { one, other, .. }: &Contradiction) -> String {
    let figures = |stated: &Stated| stated.figures.iter().map(|figure| text(figure)).collect::<Vec<_>>().join(", ");
    let place = |stated: &Stated| text(&stated.host);
    format!("{} ({}) / {} ({}): {}", figures(one), place(one), figures(other), place(other), quoted(&one.text))
}

fn line(label: &str, items: impl IntoIterator<Item = String>) -> Option<String> {
    let mut items: Vec<String> = items.into_iter().collect();
    let more = items.len().saturating_sub(MOST_NAMED);
    items.truncate(MOST_NAMED);
    if more > 0 {
        items.push(format!("+{more}"));
    }
    (!items.is_empty()).then(|| format!("- {label}: {}", items.join("; ")))
}

fn quoted(words: &str) -> String {
    format!("“{}”", text(words))
}

/// Returns the address of a page without the beginning by which programs take it for a link.
fn without_scheme(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.strip_prefix("www.").unwrap_or(rest)
}

/// Puts text from elsewhere on one line, without what could make a link, a citation or other markup of it.
fn text(text: &str) -> String {
    let plain: String =
        text.chars().map(|char| if "[]<>`\\*_|#{}".contains(char) || char.is_control() { ' ' } else { char }).collect();
    let plain = plain.replace("://", ": ").replace("www.", "www. ").split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.chars().count() <= TEXT_CHARS {
        return plain;
    }
    format!("{}…", plain.chars().take(TEXT_CHARS).collect::<String>().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    #[test]
    fn what_is_missing_is_named_in_the_language_of_the_report() {
        let claim = Claim {
            text: "It cost 413,000 crowns".to_owned(),
            start: 0,
            end: 22,
            verdict: Verdict::NotSupported,
            missing: vec!["413,000".to_owned()],
            reason: None,
            first_citation: 0,
            citations: 1,
        };
        let stated = |figure: &str, host: &str| Stated {
            text: format!("It cost {figure} crowns"),
            figures: vec![figure.to_owned()],
            source_id: SourceId(1001),
            host: host.to_owned(),
        };
        let limits = Limits {
            empty_topics: vec!["The [loan](https://evil.test)".to_owned()],
            ended_by: Some(EndedBy::Budget),
            failed_searches: vec![("tavily".to_owned(), 2)],
            replaced_engines: vec![(("brave".to_owned(), "searxng".to_owned()), 3)],
            open_contradictions: vec![Contradiction {
                one: stated("412,000", "a.test"),
                other: stated("421,000", "b.test"),
                settled: false,
            }],
            other_language: Some(("de".to_owned(), "en".to_owned())),
            missing_collections: 2,
            repaired: 4,
            still_unsupported: 3,
            ..Limits::default()
        };
        let section =
            limits.section(std::slice::from_ref(&claim), &[Citation::new(3, SourceId(1001), 23, 26)], Wording::of(""));
        let expected = "## Limits of this report\n\n\
            - Nothing was found about: “The loan (https: evil.test)”\n\
            - Statements written once more, as their sources did not hold them: 4 (still not found there: 3)\n\
            - Stated here, but not found in the cited sources: 413,000 (3)\n\
            - Sources disagree, and the report does not settle it: 412,000 (a.test) / 421,000 (b.test): “It cost 412,000 crowns”\n\
            - Not in the language of the question: de → en\n\
            - The research ended early: the spending limit was reached\n\
            - Searches that failed: tavily (2)\n\
            - Searched with another engine, as the chosen one failed: brave → searxng (3)\n\
            - Collections of documents that are not there any more: 2\n";
        assert_eq!(section, expected);
        assert_eq!(Limits::default().section(&[], &[], Wording::of("")), "");
        let further = Claim { verdict: Verdict::Partly, missing: Vec::new(), ..claim.clone() };
        let section =
            Limits::default().section(&[further], &[Citation::new(3, SourceId(1001), 23, 26)], Wording::of(""));
        let expected = "- Held only in part by the cited sources: “It cost 413,000 crowns” (3)\n";
        assert!(section.ends_with(expected) && !section.contains("not found"), "{section}");
        let all_held = Limits { repaired: 4, ..Limits::default() };
        let section = all_held.section(&[claim], &[Citation::new(3, SourceId(1001), 23, 26)], Wording::of(""));
        assert!(section.contains("did not hold them: 4\n"), "another statement is wrong: {section}");
    }

    #[test]
    fn what_holds_of_the_research_is_kept_with_a_report() {
        let mut limits = Limits {
            unresearched: vec![("The loan".to_owned(), EndedBy::Budget)],
            cut_notes: BTreeSet::from(["The dues".to_owned()]),
            replaced_engines: vec![(("brave".to_owned(), "searxng".to_owned()), 3)],
            unanswered: vec!["Who pays?".to_owned()],
            other_language: Some(("de".to_owned(), "en".to_owned())),
            repaired: 2,
            ..Limits::default()
        };
        limits.page_unread("a".to_owned(), "https://a.test/");
        limits.page_unread("b".to_owned(), "https://b.test/");
        limits.page_read("b".to_owned());
        let kept = limits.of_research();
        let read: Limits = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        assert_eq!(read, kept);
        let own = Limits { is_cut: true, ..Limits::default() };
        let section = own.resting_on(&read).section(&[], &[], Wording::of_code("de"));
        for said in ["The loan", "The dues", "brave → searxng (3)", "a.test"] {
            assert!(section.contains(said), "{section}");
        }
        assert!(!section.contains("Who pays?") && !section.contains("b.test") && !section.contains("de → en"));
        assert!(Limits::default().of_research().is_none() && !kept.is_none());
    }

    #[test]
    fn a_page_is_named_once_unless_it_was_read_after_all() {
        let mut limits = Limits::default();
        limits.page_read("c".to_owned());
        for (key, address) in [
            ("b", "https://b.test/"),
            ("a", "https://www.a.test/x"),
            ("a", "http://a.test/x"),
            ("c", "https://c.test/"),
        ] {
            limits.page_unread(key.to_owned(), address);
        }
        limits.page_read("b".to_owned());
        let section = limits.section(&[], &[], Wording::of(""));
        assert!(section.ends_with("- Pages that could not be read: a.test/x\n"), "{section}");
    }

    #[test]
    fn what_failed_is_not_called_what_sources_lack() {
        let limits = Limits {
            unanswered: vec!["Who pays?".to_owned()],
            empty_topics: vec!["The moon".to_owned()],
            unresearched: vec![("The loan".to_owned(), EndedBy::Failure), ("The gate".to_owned(), EndedBy::Time)],
            cut_notes: BTreeSet::from(["The dues".to_owned()]),
            excerpts_only: BTreeSet::from(["The quay".to_owned()]),
            is_cut: true,
            is_withheld: true,
            ..Limits::default()
        };
        let section = limits.section(&[], &[], Wording::of(""));
        let expected = "## Limits of this report\n\n\
            - Cut off at the model's output limit: the end of this report; “The dues”\n\
            - Withheld by the provider's filter: the end of this report\n\
            - Left open, as part of the research is missing: “Who pays?”\n\
            - Nothing was found about: “The moon”\n\
            - Could not be researched: “The loan” (a technical failure); “The gate” (the time was over)\n\
            - Made of excerpts, as the notes could not be written: “The quay”\n";
        assert_eq!(section, expected);
    }
}
