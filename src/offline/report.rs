//! The report without a writer: for each part of the question the sentences that answer it, or that none does; then the
//! rest by topic, what no longer holds apart from it, and contradictions side by side.

use std::{
    collections::{BTreeSet, HashSet},
    mem,
};

use super::{
    Evidence, Finding, bounds,
    lists::has,
    phrases::Phrases,
    plan,
    rank::{self, Score, best_from},
    statements::{self, Joined, Statement},
    versions::{self, Versions},
};
use crate::domain::distinct;
use crate::text::{self, Language, is_row, is_unspaced, plain, terms, whole_words, words};

const TITLE_CHARS: usize = 120;
/// A heading beside a statement that means little alone.
const LABEL_CHARS: usize = 80;
/// Sentences that answer in short: for a question of one part, for each part of another one, for a list, and in all.
const SHORT: usize = 7;
const SHORT_OF_TWO: usize = 5;
const SHORT_PER_PART: usize = 3;
const SHORT_LIST: usize = 8;
const SHORT_IN_ALL: usize = 14;
/// What a row of a table gains where a list is asked for.
const ROW_OF_LIST: f64 = 1.5;
/// Looked at for each part, best first, for what a newer statement says otherwise.
const CANDIDATES: usize = 30;
const SHARE_OVERRULED: f64 = 0.3;
/// A sentence in short needs this share of the best score for its part of the question, in a section this of all.
const SHARE_IN_SHORT: f64 = 0.4;
const SHARE_IN_SECTION: f64 = 0.2;
/// Sentences of a section, and of those that no longer hold.
const SECTION_SENTENCES: usize = 24;
const MOST_OUTDATED: usize = 8;
const SHARE_OF_OUTDATED: f64 = 0.45;
/// The best statements, compared for contradictions.
const MOST_COMPARED: usize = 200;
const MOST_CONFLICTS: usize = 5;
/// Words of the question named as missing.
const MOST_MISSING: usize = 8;

/// Everything the report says, and what it is worth.
struct Material<'a> {
    statements: Vec<Statement>,
    scores: rank::Scores,
    versions: Versions<'a>,
    /// What a newer statement, or one that knows better, says otherwise.
    outdated: HashSet<usize>,
}

/// What is said in short about a part of the question.
struct Short {
    part: String,
    /// Whether it has words of its own: else what answers another part may answer it as well.
    is_of_its_own: bool,
    answers: bool,
    places: Vec<usize>,
}

/// Writes a Markdown report on `brief` from notes; citations are source ids, and there is no list of sources.
pub(super) fn write(brief: &str, findings: &[Finding], sources: &[Evidence]) -> String {
    let brief = bounds::question(brief);
    let phrases = Phrases::of(brief);
    let mut material = gather(brief, findings, sources);
    let short = material.in_short(brief);
    let mut report = format!("# {}\n\n*{}*\n", title(brief), phrases.get("disclaimer"));
    section(&mut report, phrases.get("in_short"), &material.short_lines(brief, &short, phrases));
    let mut shown: HashSet<usize> = short.into_iter().flat_map(|short| short.places).collect();
    shown.extend(&material.outdated);
    for (number, finding) in findings.iter().enumerate() {
        let heading =
            if findings.len() == 1 { phrases.get("details").to_owned() } else { topic_heading(&finding.topic) };
        section(&mut report, &heading, &material.topic_lines(number, &mut shown));
    }
    section(&mut report, phrases.get("outdated"), &material.outdated_lines(&shown));
    section(&mut report, phrases.get("differing"), &material.conflict_lines(phrases));
    report
}

fn section(report: &mut String, heading: &str, lines: &[String]) {
    if !lines.is_empty() {
        report.push_str(&format!("\n## {heading}\n\n{}\n", lines.join("\n").trim_end()));
    }
}

/// Reads all notes, joins what several say, and ranks it.
fn gather<'a>(brief: &'a str, findings: &[Finding], sources: &'a [Evidence]) -> Material<'a> {
    let mut all = Joined::default();
    for statement in statements::read_all(findings.iter().map(|finding| finding.text.as_str())) {
        all.add(statement);
    }
    let statements = all.statements;
    let scores = rank::rank(brief, &statements);
    let versions = Versions::of(brief, &statements, sources);
    let outdated = (0..statements.len()).filter(|place| versions.is_outdated(&statements[*place])).collect();
    Material { statements, scores, versions, outdated }
}

/// Leaves each statement to the part that it suits best, and in turns as many to each part as there is room for in all.
/// What has no room is left to the sections below.
fn share_out(all: &mut [Short]) {
    let wanted: Vec<Vec<usize>> = all.iter_mut().map(|short| mem::take(&mut short.places)).collect();
    let mut chosen: HashSet<usize> = HashSet::new();
    for turn in 0..wanted.iter().map(Vec::len).max().unwrap_or_default() {
        for (short, wanted) in all.iter_mut().zip(&wanted) {
            let place = wanted.get(turn).filter(|place| chosen.len() < SHORT_IN_ALL && chosen.insert(**place));
            short.places.extend(place);
        }
    }
}

impl Material<'_> {
    /// Returns what answers each part of the question, the parts that nothing answers last. What is overruled on the
    /// way is outdated from then on.
    fn in_short(&mut self, brief: &str) -> Vec<Short> {
        let (parts, lists) = (plan::parts(brief), plan::asks_for_list(brief));
        let wanted = match parts.len() {
            _ if lists => SHORT_LIST,
            0 | 1 => SHORT,
            2 => SHORT_OF_TWO,
            _ => SHORT_PER_PART,
        };
        for scores in self.scores.parts.clone() {
            self.overrule(&scores);
        }
        let of_part = |((part, scores), words): ((String, &Vec<Score>), &usize)| {
            let is_row = |place: usize| lists && is_row(&self.statements[place].text);
            let worth = |place: usize| if is_row(place) { ROW_OF_LIST } else { 1.0 };
            let values = scores.iter().enumerate().map(|(place, score)| score.value * worth(place)).collect();
            let mut places = self.current(values, SHARE_IN_SHORT);
            places.truncate(wanted);
            let answers = places.iter().any(|place| scores[*place].answers);
            if lists || has("extremes", &part) {
                places = self.with_siblings(places);
            }
            Short { part, is_of_its_own: *words > 0, answers, places }
        };
        let mut all: Vec<Short> =
            parts.into_iter().zip(&self.scores.parts).zip(&self.scores.words).map(of_part).collect();
        all.sort_by_key(|short| !short.answers);
        share_out(&mut all);
        all
    }

    /// Returns the places that are not outdated and reach this share of the best value among them, best first.
    fn current(&self, mut values: Vec<f64>, share: f64) -> Vec<usize> {
        self.outdated.iter().for_each(|place| values[*place] = 0.0);
        let best = values.iter().copied().fold(0.0, f64::max);
        best_from(&values, f64::max(best * share, f64::MIN_POSITIVE))
    }

    /// Returns the places with the other rows of the tables whose rows are among them: which is most, and what there is
    /// in all, only the whole table says.
    fn with_siblings(&self, places: Vec<usize>) -> Vec<usize> {
        let table = |place: usize| {
            let row = Some(&self.statements[place]).filter(|statement| is_row(&statement.text))?;
            Some((&row.group, &row.heading))
        };
        let siblings = |place: usize| {
            let own = table(place);
            let is_sibling = move |other: &usize| *other == place || own.is_some() && own == table(*other);
            (0..self.statements.len()).filter(is_sibling).take(SHORT_LIST)
        };
        distinct(places.into_iter().flat_map(siblings))
    }

    /// Takes out of the best candidates what others say otherwise and know better; not what suits another part of the
    /// question better, where figures of the same kind may be about something else.
    fn overrule(&mut self, scores: &[Score]) {
        let best = self.current(scores.iter().map(|score| score.value).collect(), SHARE_OVERRULED);
        // Who knows better has a say, however little else he says, and who guesses has to be held against him.
        let is_said_with_care = |place: &usize| {
            let text = &self.statements[*place].text;
            has("guesses", text) || has("corrects", text)
        };
        let careful = (0..scores.len()).filter(is_said_with_care).take(CANDIDATES);
        let candidates = distinct(best.into_iter().take(CANDIDATES).chain(careful));
        let known: Vec<(&Statement, Score)> =
            candidates.iter().map(|place| (&self.statements[*place], scores[*place])).collect();
        let overruled = self.versions.overruled(&known);
        let suits = |place: &usize| self.scores.parts.iter().all(|other| scores[*place].value >= other[*place].value);
        let overruled = candidates.iter().zip(overruled).filter(|(place, overruled)| *overruled && suits(place));
        self.outdated.extend(overruled.map(|(place, _)| place));
    }

    fn short_lines(&self, brief: &str, short: &[Short], phrases: Phrases) -> Vec<String> {
        let (mut lines, any_answers) = (Vec::new(), short.iter().any(|short| short.answers));
        if short.iter().all(|short| short.places.is_empty()) {
            return vec![phrases.get("nothing").to_owned()];
        }
        if !any_answers {
            lines.push(format!("{}\n", phrases.get("no_answer")));
        }
        // What answers each part best comes before what else there is to any of them.
        for part in short {
            if !part.answers && part.is_of_its_own && any_answers {
                lines.push(format!("- {}", phrases.filled("no_answer_to", &plain(&part.part))));
            }
            lines.extend(part.places.first().map(|place| format!("- {}", self.labelled(*place))));
        }
        let rest = short.iter().flat_map(|part| part.places.iter().skip(1));
        lines.extend(rest.map(|place| format!("- {}", self.labelled(*place))));
        let missing = self.missing_words(brief).join(phrases.get("comma").trim_matches('|'));
        if !any_answers && !missing.is_empty() {
            lines.push(format!("\n{}", phrases.filled("missing_words", &missing)));
        }
        lines
    }

    /// Writes the statement, and where it says little alone, what it stands under.
    fn labelled(&self, place: usize) -> String {
        let statement = &self.statements[place];
        let label = [&*statement.heading, &*statement.group].into_iter().find(|label| !label.is_empty());
        let little = is_row(&statement.text) || terms(&statement.text, Language::of(&statement.text)).len() < 3;
        match label.filter(|label| little && label.chars().count() <= LABEL_CHARS) {
            Some(label) => {
                format!("**{}:** {}", label.replace('*', "").trim_end_matches([':', '.']), statement.cited())
            }
            None => statement.cited(),
        }
    }

    /// Writes a paragraph per source: its sentences in their order, under the title of the source.
    fn topic_lines(&self, finding: usize, shown: &mut HashSet<usize>) -> Vec<String> {
        let is_fresh = |place: &usize| self.statements[*place].origin == finding && !shown.contains(place);
        let fresh = best_from(&self.scores.overall, SHARE_IN_SECTION).into_iter().filter(is_fresh);
        let mut fresh: Vec<usize> = fresh.take(SECTION_SENTENCES).collect();
        shown.extend(&fresh);
        let titles = distinct(fresh.iter().map(|place| self.statements[*place].group.as_str()));
        fresh.sort_unstable();
        let paragraph = |title: &str| {
            let own = fresh.iter().map(|place| &self.statements[*place]).filter(|statement| statement.group == title);
            let text: Vec<String> = own.map(Statement::cited).collect();
            let label = if title.is_empty() { String::new() } else { format!("**{}** ", title.replace('*', "")) };
            format!("{label}{}\n", text.join(" "))
        };
        titles.into_iter().map(paragraph).collect()
    }

    /// Lists the best of what no longer holds, with its date; not what is older and has no figure but those of
    /// statements that were shown as current.
    fn outdated_lines(&self, shown: &HashSet<usize>) -> Vec<String> {
        let current = shown.difference(&self.outdated);
        let current: BTreeSet<_> = current.flat_map(|place| versions::figures(&self.statements[*place].text)).collect();
        let still_holds = |place: &usize| {
            let figures = versions::figures(&self.statements[*place].text);
            !figures.is_empty() && figures.is_subset(&current)
        };
        let good = best_from(&self.scores.overall, SHARE_OF_OUTDATED).into_iter().filter(|place| !still_holds(place));
        let line = |place: usize| {
            let date = self.versions.date(&self.statements[place]).map(|date| format!("{date}: ")).unwrap_or_default();
            format!("- {date}{}", self.labelled(place))
        };
        good.filter(|place| self.outdated.contains(place)).take(MOST_OUTDATED).map(line).collect()
    }

    /// Finds pairs of statements from different sources that differ in a number, best first; older ones are dealt with.
    fn conflicts(&self) -> Vec<(usize, usize)> {
        let good = best_from(&self.scores.overall, SHARE_IN_SECTION).into_iter();
        let good: Vec<usize> = good.filter(|place| !self.outdated.contains(place)).take(MOST_COMPARED).collect();
        let said = |place: &usize| (self.statements[*place].group.as_str(), self.statements[*place].text.as_str());
        let said: Vec<(&str, &str)> = good.iter().map(said).collect();
        let sources = |place: usize| &self.statements[place].sources;
        let are_apart = |(one, other): &(usize, usize)| {
            !sources(*one).is_empty() && sources(*one).iter().all(|id| !sources(*other).contains(id))
        };
        let pairs = statements::differing(&said).into_iter().map(|(one, other)| (good[one], good[other]));
        pairs.filter(are_apart).take(MOST_CONFLICTS).collect()
    }

    fn conflict_lines(&self, phrases: Phrases) -> Vec<String> {
        let line = |(one, other): (usize, usize)| {
            let mut pair =
                [one, other].map(|place| &self.statements[place]).map(|said| (self.versions.date(said), said));
            pair.sort_by(|(one, _), (other, _)| one.cmp(other));
            let [(older, first), (newest, last)] = pair;
            let newer = older.is_some() && older != newest;
            let newest = newest.filter(|_| newer).map(|date| format!(" {}", phrases.filled("newer", &date)));
            let differ = phrases.get("they_differ");
            format!("- {differ} {} — {}{}", first.cited(), last.cited(), newest.unwrap_or_default())
        };
        self.conflicts().into_iter().map(line).collect()
    }

    /// Returns the words of the question that no statement or title has; an unanswered question shows here.
    fn missing_words<'b>(&self, brief: &'b str) -> Vec<&'b str> {
        let language = Language::of(brief);
        let said = self.statements.iter().flat_map(|statement| [&statement.text, &statement.group]);
        let present: HashSet<String> = said.flat_map(|text| terms(text, language)).collect();
        let is_missing = |word: &&str| {
            !word.contains(is_unspaced)
                && !plan::only_asks(&word.to_lowercase(), language)
                && terms(word, language).iter().any(|term| !present.contains(term))
        };
        let mut missing = distinct(words(brief).into_iter().filter(is_missing));
        missing.truncate(MOST_MISSING);
        missing
    }
}

/// Returns the first sentence of the brief on one line, shortened between words.
fn title(brief: &str) -> String {
    text::split(brief).first().map_or_else(|| heading(brief), |first| heading(&first.text))
}

/// Returns a topic as a heading, without what was carried along for searching.
fn heading(topic: &str) -> String {
    let topic = plain(topic);
    let topic = topic.trim_start_matches(['#', ' ']);
    let head = whole_words(topic, TITLE_CHARS);
    if head.len() < topic.len() { format!("{head} …") } else { topic.to_owned() }
}

/// Returns the topic without the words that it carries along for searching, its first letter a capital.
fn topic_heading(topic: &str) -> String {
    let topic = heading(bounds::question(topic));
    let mut chars = plan::without_carried(&topic).chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceId;

    fn finding(topic: &str, text: &str) -> Finding {
        Finding { topic: topic.into(), text: text.into() }
    }

    fn source(id: u32, title: &str, published: &str) -> Evidence {
        let published = Some(published.to_owned());
        Evidence { source_id: SourceId(id), title: title.into(), url: title.into(), published, text: String::new() }
    }

    #[test]
    fn a_report_has_its_parts_in_order() {
        let notes = "### Museum\n- The mill was destroyed in 1911. [S1001]\n- The mill ground barley and oats. [S1001]\n- Nobody is cited here, mill.";
        let report = write("When was the mill destroyed?", &[finding("the end of the mill", notes)], &[]);
        let expected = "# When was the mill destroyed?\n\n*This report was assembled by extraction, without a language model: it quotes sentences of the sources.*\n\n\
            ## In short\n\n- The mill was destroyed in 1911. [S1001]\n\n## More from the sources\n\n**Museum** The mill ground barley and oats. [S1001]\n";
        assert_eq!(report, expected);
    }

    #[test]
    fn what_is_older_differs_from_what_holds() {
        let notes = "### Note A\n- Skua supplies as much as 1,130 households on the island use in a year. [S1001]\n\
            ### Note B\n- Skua supplies as much as 1,310 households on the island use in a year. [S1002]";
        let sources = [source(1001, "Note A", "2030-05-22"), source(1002, "Note B", "2031-05-22")];
        let report = write("How many households does Skua supply?", &[finding("Skua", notes)], &sources);
        let (before, after) = report.split_once("## Older or superseded statements").unwrap();
        assert!(before.contains("1,310") && !before.contains("1,130"), "{report}");
        assert!(after.contains("- 2030-05-22: Skua supplies as much as 1,130"), "{report}");
        let undated = write("How many households does Skua supply?", &[finding("Skua", notes)], &[]);
        assert!(undated.contains("- The sources differ: Skua"), "{undated}");
    }

    #[test]
    fn what_one_part_asks_for_is_not_overruled_in_another() {
        let notes = "### Letter\n- Since 1 November 2030 the zone around the turbine is 250 metres wide. [S1001]\n\
            ### Seals\n- In 2031 new rules for seals came into force, with a distance of 150 metres. [S1002]";
        let sources = [source(1001, "Letter", "2030-10-02"), source(1002, "Seals", "2031-01-17")];
        let question = "How wide is the zone around the turbine, and when did it come into force?";
        let report = write(question, &[finding("zone", notes)], &sources);
        assert!(report.contains("250 metres") && !report.contains("## Older"), "{report}");
    }

    /// `In which year?` has no word of its own: what answers the rest may answer it as well.
    #[test]
    fn a_part_without_words_is_not_said_to_be_unanswered() {
        let notes = "### Archive\n- The film archive of Skelderwick was founded in 1957 by Odile Lund. [S1001]";
        let doubts =
            |question: &str| write(question, &[finding("archive", notes)], &[]).contains("do not answer outright:");
        assert!(!doubts("Who founded the film archive of Skelderwick, and in which year?"));
        assert!(doubts("Who founded the film archive of Skelderwick, and what salary does the director earn?"));
    }

    #[test]
    fn which_is_most_is_said_with_all_rows_of_its_table() {
        let notes = "### Turbines\n- Skua – The height of the turbine of Skelderwick: 90 m [S1001]\n- Tern – Metres: 120 [S1001]";
        let report = write("Which turbine of Skelderwick has the largest height?", &[finding("turbines", notes)], &[]);
        let short = report.split("\n## ").find(|section| section.starts_with("In short")).unwrap();
        assert!(short.contains("Skua") && short.contains("Tern"), "{report}");
    }

    /// What the opening has no room for stands below it.
    #[test]
    fn no_row_of_a_long_table_is_lost() {
        let rows = |name: &str| -> Vec<String> {
            (1..=SHORT_LIST)
                .map(|row| format!("- {name}{row} – Height of the {name} in metres: {row}7 [S1001]"))
                .collect()
        };
        let tables = ["Turbine", "Lighthouse"].map(|name| format!("### {name}s\n{}", rows(name).join("\n"))).join("\n");
        let question = "List the height of each turbine, and list the height of each lighthouse.";
        let report = write(question, &[finding("heights", &tables)], &[]);
        let short = report.split("\n## ").find(|section| section.starts_with("In short")).unwrap();
        assert_eq!(short.lines().filter(|line| line.starts_with("- ")).count(), SHORT_IN_ALL, "{report}");
        for row in ["Turbine", "Lighthouse"].into_iter().flat_map(rows) {
            assert!(report.contains(row.trim_start_matches("- ")), "{row} in:\n{report}");
        }
    }

    #[test]
    fn what_is_not_found_is_said_first() {
        let notes = "### People\n- The director lives here since 2029. [S1001]";
        let report = write("What salary does the director earn?", &[finding("salary", notes)], &[]);
        let opening = "## In short\n\nThe sources do not answer the question outright.";
        assert!(report.contains(opening), "{report}");
        assert!(report.contains("do not occur in any sentence found: salary, earn."), "{report}");
        let empty = write("Was kostet die Brücke und wie lange?", &[], &[]);
        assert!(empty.contains("## Kurz gefasst\n\nDie Quellen beantworten die Frage nicht"), "{empty}");
    }
}
