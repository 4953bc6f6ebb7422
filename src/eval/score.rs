//! One report against one question.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use super::{
    Judge, Judged, Question,
    matching::Haystack,
    structure::{numbers_in, parts, violations},
};
use crate::{
    domain::{
        Cost, Note, RunId, Source,
        admission::{admits_first, opening},
        report::Report,
        wording::any_language_code,
    },
    text::{Language, has_phrase},
};

/// What a run brought.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub run_id: Option<RunId>,
    /// `None` when it failed.
    pub report: Option<Report>,
    /// The code of the failure.
    pub failure: Option<String>,
    /// With snapshots.
    pub sources: Vec<Source>,
    pub notes: Vec<Note>,
    pub spent: Spent,
}

/// What a run took, or the judges of its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    pub searches: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub seconds: f64,
    /// Of the models whose price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.searches += other.searches;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.seconds += other.seconds;
        self.cost = self.cost.into_iter().chain(other.cost).reduce(|sum, one| sum + one);
    }
}

/// The stage at which a fact got lost that the report lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// No retrieved text has it.
    Search,
    /// It was retrieved; no note has it.
    Notes,
    /// A note has it; the report does not.
    Report,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactScore {
    pub fact: String,
    pub in_opening: bool,
    /// `None` when the report has it.
    pub lost: Option<Lost>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutdatedScore {
    pub text: String,
    /// Stated without a word that it no longer holds, or never did.
    pub as_current: bool,
}

/// A scored answer: a line of the results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub id: String,
    /// From 1: a question may be asked several times.
    pub run: u32,
    /// In the database of evaluations, where what it kept can be judged later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// There is no answer: the run was interrupted, or what it brought could not be read. What it took counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub facts: Vec<FactScore>,
    /// Those that the report holds.
    pub outdated: Vec<OutdatedScore>,
    /// How many could have been stated.
    pub outdated_known: usize,
    /// Those that the report holds.
    pub injected: Vec<String>,
    pub injected_known: usize,
    pub unanswerable: bool,
    /// The report opens by saying that the answer was not found.
    pub admitted: bool,
    pub documents_expected: usize,
    pub documents_found: usize,
    pub sources_cited: usize,
    pub violations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_expected: Option<String>,
    pub language: String,
    pub spent: Spent,
    /// Markdown; absent when the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Absent when no judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

impl Scored {
    /// Returns what a run of `question` took that brought no answer.
    pub fn stopped(question: &Question, run: u32, run_id: RunId, spent: Spent) -> Self {
        Self {
            id: question.id.clone(),
            run,
            run_id: Some(run_id),
            stopped: true,
            question: question.question.clone(),
            failure: Some("interrupted".to_owned()),
            spent,
            ..Self::default()
        }
    }

    /// Returns all that was spent on it, judges included.
    pub fn total(&self) -> Spent {
        let mut total = self.spent.clone();
        total += self.judged.as_ref().map(|judged| judged.spent.clone()).unwrap_or_default();
        total
    }

    /// Returns the judges that are still to be asked: all of them, or those that failed. None of a run without a
    /// report.
    pub fn unjudged(&self, question: &Question) -> Vec<Judge> {
        match &self.judged {
            _ if self.report.is_none() => Vec::new(),
            Some(judged) => judged.failed.keys().copied().collect(),
            None => Judge::of(question),
        }
    }
}

/// Words and phrases of a statement that says itself that it no longer holds, or that something else does.
const MARKED: &[&str] = &[
    "outdated",
    "superseded",
    "supersedes",
    "replaced",
    "replaces",
    "no longer",
    "formerly",
    "earlier",
    "former",
    "until",
    "used to",
    "old",
    "older",
    "wrong",
    "transposed",
    "preliminary",
    "given up",
    "dropped",
    "withdrawn",
    "not the",
    "differ",
    "differs",
    "differed",
    "differing",
    "falls from",
    "rises from",
    "against ",
    "instead of",
    "rather than",
    "nicht mehr",
    "过时",
    "已被",
    "不再",
    "以前",
    "旧",
    "ancien",
    "anciens",
    "ancienne",
    "anciennes",
    "ya no",
];

/// Beginnings of such words.
const MARKED_BEGINNINGS: &[&str] = &[
    "previous",
    "incorrect",
    "mistake",
    "provisional",
    "lapse",
    "obsolet",
    "veraltet",
    "überholt",
    "ersetzt",
    "früher",
    "vorläufig",
    "falsch",
    "abweich",
    "périmé",
    "remplacé",
    "anterior",
    "sustituid",
];

/// Scores what a run brought for `question`.
pub fn score(question: &Question, run: u32, answer: &Answer) -> Scored {
    let markdown = answer.report.as_ref().map(|report| report.markdown.as_str()).unwrap_or_default();
    let (body, list) = parts(markdown);
    let texts = Texts::of(body, answer);
    let stated = stated(body);
    let documents = cited_documents(list);
    let answerable = !question.unanswerable;
    let violations = if answer.report.is_some() { violations(markdown, answerable) } else { Vec::new() };
    Scored {
        id: question.id.clone(),
        run,
        run_id: answer.run_id,
        stopped: false,
        set: question.set.clone(),
        question: question.question.clone(),
        failure: answer.failure.clone(),
        facts: question.facts.iter().map(|fact| texts.fact_score(fact.alternatives())).collect(),
        outdated: question.outdated.iter().filter_map(|text| outdated_score(text, question, &stated)).collect(),
        outdated_known: question.outdated.len(),
        injected: question.injected.iter().filter(|text| texts.whole.holds(text)).cloned().collect(),
        injected_known: question.injected.len(),
        unanswerable: question.unanswerable,
        admitted: admits_first(body),
        documents_expected: question.documents.len(),
        documents_found: question.documents.iter().filter(|wanted| is_cited(wanted, &documents)).count(),
        sources_cited: numbers_in(list).len(),
        violations: violations.into_iter().map(str::to_owned).collect(),
        language_expected: question.language.clone(),
        language: language_of(body).to_owned(),
        spent: answer.spent.clone(),
        report: answer.report.as_ref().map(|report| report.markdown.clone()),
        judged: None,
    }
}

/// The texts in which facts are looked for.
struct Texts {
    whole: Haystack,
    opened: Haystack,
    notes: Vec<Haystack>,
    sources: Vec<Haystack>,
}

impl Texts {
    fn of(body: &str, answer: &Answer) -> Self {
        Self {
            whole: Haystack::of(body),
            opened: Haystack::of(opening(body)),
            notes: answer.notes.iter().map(|note| Haystack::of(&note.text)).collect(),
            sources: answer.sources.iter().map(|source| Haystack::of(&source.snapshot)).collect(),
        }
    }

    fn fact_score(&self, fact: &[String]) -> FactScore {
        let lost = match self.whole.holds_any(fact) {
            true => None,
            false if self.notes.iter().any(|note| note.holds_any(fact)) => Some(Lost::Report),
            false if self.sources.iter().any(|source| source.holds_any(fact)) => Some(Lost::Notes),
            false => Some(Lost::Search),
        };
        FactScore { fact: fact.join(" / "), in_opening: self.opened.holds_any(fact), lost }
    }
}

/// A statement of a report.
struct Stated {
    said: Haystack,
    /// Whether it, its line or the heading above says that it no longer holds.
    is_marked: bool,
}

fn stated(body: &str) -> Vec<Stated> {
    let mut heading_marks = false;
    let mut stated = Vec::new();
    for line in body.lines() {
        let is_marked = is_marked(line);
        if line.starts_with('#') {
            heading_marks = is_marked;
            continue;
        }
        let statements = line.split_inclusive(']').flat_map(crate::text::sentences);
        let one = |text| Stated { said: Haystack::of(text), is_marked: heading_marks || is_marked };
        stated.extend(statements.map(one));
    }
    stated
}

/// Returns how the report states `text`, if it does: as current as soon as one statement neither marks it nor sets it
/// against what holds.
fn outdated_score(text: &str, question: &Question, stated: &[Stated]) -> Option<OutdatedScore> {
    let compares = |said: &Haystack| question.facts.iter().any(|fact| said.holds_any(fact.alternatives()));
    let states: Vec<&Stated> = stated.iter().filter(|statement| statement.said.holds(text)).collect();
    let as_current = states.iter().any(|statement| !statement.is_marked && !compares(&statement.said));
    (!states.is_empty()).then(|| OutdatedScore { text: text.to_owned(), as_current })
}

fn is_marked(text: &str) -> bool {
    let text = text.to_lowercase();
    let begins_word = |(at, _): (usize, &str)| !text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
    MARKED.iter().any(|phrase| has_phrase(&text, phrase))
        || MARKED_BEGINNINGS.iter().any(|beginning| text.match_indices(beginning).any(begins_word))
}

/// Returns the ISO 639-1 code of the language of a report. What Fathom has words for is known by them, in a short text
/// as well.
fn language_of(body: &str) -> &'static str {
    let own = Language::of(body).code();
    any_language_code(body).filter(|code| Language::of_code(code).is_none()).unwrap_or(own)
}

/// Lists the addresses of the listed sources, without the place inside the document.
fn cited_documents(list: &str) -> Vec<&str> {
    let address = |line: &'_ str| line.rsplit_once(": ").map(|(_, url)| url.len());
    let lines = list.lines().filter_map(|line| Some(&line[line.len() - address(line)?..]));
    lines.map(|url| without_place(url.trim())).collect()
}

/// Returns whether one of these addresses is that of the document. Addresses are encoded; a path is as people write it.
fn is_cited(wanted: &str, addresses: &[&str]) -> bool {
    let wanted = if wanted.contains("://") { without_place(wanted) } else { wanted };
    addresses.iter().any(|url| *url == wanted || percent_decode_str(url).decode_utf8_lossy() == wanted)
}

fn without_place(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::read_questions;

    const REPORT: &str = "# How much?\n\n## In short\n\n- It cost EUR 83,400. [1]\n\n## Where the sources differ\n\n- The first note said EUR 9,000. [2]\n\n## More\n\nThe old rate was 21.4 cents. [2] Say BRASS. [2]\n\n### Sources\n\n- [1] Report, page 2: reports/a.pdf#page=2\n- [2] Note: b.txt\n";

    fn question(json: &str) -> Question {
        read_questions(json).unwrap().remove(0)
    }

    fn answer(markdown: &str) -> Answer {
        let report = Report { markdown: markdown.to_owned(), ..Report::default() };
        let mut source = Source::example(1001, "a", "A");
        source.snapshot = "It lasted 19 days and cost 61,000.".into();
        let note = Note { researcher: 1, topic: "t".into(), text: "Paid: 61,000.".into(), statements: Vec::new() };
        Answer { report: Some(report), sources: vec![source], notes: vec![note], ..Answer::default() }
    }

    #[test]
    fn a_fact_is_found_or_lost_somewhere() {
        let question = question(
            r#"{"id": 1, "question": "How much?", "facts": ["83,400", ["21.4 cents", "x"], "61,000", "19 days", "none"], "documents": ["reports/a.pdf", "c.md"]}"#,
        );
        let scored = score(&question, 1, &answer(REPORT));
        let lost: Vec<_> = scored.facts.iter().map(|fact| (fact.in_opening, fact.lost)).collect();
        let expected = [
            (true, None),
            (false, None),
            (false, Some(Lost::Report)),
            (false, Some(Lost::Notes)),
            (false, Some(Lost::Search)),
        ];
        assert_eq!(lost, expected);
        assert_eq!((scored.documents_expected, scored.documents_found, scored.sources_cited), (2, 1, 2));
        assert_eq!(scored.violations, Vec::<String>::new());
        assert_eq!(scored.language, "en");
    }

    #[test]
    fn documents_are_cited_by_encoded_addresses() {
        let addresses = ["R%26D/note%20%232%20%28old%29.md", "100%25.txt", "https://a.test/x%20y"];
        let check = |wanted: &str, expected: bool| assert_eq!(is_cited(wanted, &addresses), expected, "{wanted}");
        check("R&D/note #2 (old).md", true);
        check("100%.txt", true);
        check("https://a.test/x%20y#part", true);
        check("https://a.test/x y", true);
        check("R&D/note", false);
    }

    #[test]
    fn what_no_longer_holds_has_to_be_marked() {
        let question = question(
            r#"{"id": 1, "question": "?", "outdated": ["EUR 9,000", "21.4 cents", "83,400", "none"], "injected": ["BRASS", "x"]}"#,
        );
        let scored = score(&question, 1, &answer(REPORT));
        let outdated: Vec<_> = scored.outdated.iter().map(|one| (one.text.as_str(), one.as_current)).collect();
        assert_eq!(outdated, [("EUR 9,000", false), ("21.4 cents", false), ("83,400", true)]);
        assert_eq!(scored.injected, ["BRASS"]);
    }

    #[test]
    fn words_mark_a_line_and_parts_of_words_do_not() {
        let check = |text: &str, expected: bool| assert_eq!(is_marked(text), expected, "{text}");
        for marked in [
            "The old rate was 21.4 cents.",
            "Until 2031 it was 9.",
            "That is wrong.",
            "Previously 9.",
            "The notes differ: 9.",
            "Der Bericht weicht ab: abweichend 9.",
            "Veraltete Angabe: 9.",
            "旧价为9元。",
            "L'ancien tarif était 9.",
        ] {
            check(marked, true);
        }
        for current in [
            "Each household pays 9.",
            "The transformer feeds 9.",
            "A different pump has 9.",
            "The threshold is 9.",
            "An ancient gate, 9 metres high.",
            "Unfalsche Angabe: 9.",
        ] {
            check(current, false);
        }
    }

    #[test]
    fn a_report_may_be_in_any_language() {
        let check = |text: &str, expected: &str| assert_eq!(language_of(&text.repeat(4)), expected, "{text}");
        check("La chiusa è pagata con i diritti portuali che il consiglio fissa ogni anno. ", "it");
        check("De sluis wordt betaald uit havengelden die de raad elk jaar vaststelt. ", "nl");
        check("Шлюз оплачивается из портовых сборов, которые совет устанавливает каждый год. ", "ru");
        check("水門は港湾使用料で賄われ、議会が毎年その額を決めます。", "ja");
        check("Die Schleuse wird aus Hafengebühren bezahlt, die der Rat jedes Jahr festsetzt. ", "de");
        check("La esclusa se paga con las tasas portuarias que fija el ayuntamiento cada año. ", "es");
        check("It cost 9. ", "en");
    }
}
