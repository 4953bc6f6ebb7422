//! The report without a writer: the best sentences first, the rest by topic, contradictions shown side by side.

use std::collections::HashSet;

use super::orders::is_order;
use super::phrases::{self, Phrases};
use super::plan;
use super::rank::{self, Piece, best_first};
use super::sentences::{self, Sentence};
use super::statements::{self, Print, Statement};
use super::words::{self, Language, is_cjk};
use super::{Evidence, Finding};
use crate::domain::SourceId;

const TITLE_CHARS: usize = 120;
/// Sentences that answer in short: at least, per part of the question, and at most.
const SHORT: (usize, usize, usize) = (3, 2, 5);
/// Sentences of a section.
const SECTION_SENTENCES: usize = 24;
/// A sentence in short needs this share of the best score for its part of the question, in a section this of all.
const SHARE_IN_SHORT: f64 = 0.5;
const SHARE_IN_SECTION: f64 = 0.15;
/// Statements looked at: each is compared with those before it.
const MOST_STATEMENTS: usize = 500;
/// The best of them are compared for contradictions.
const MOST_COMPARED: usize = 300;
/// Contradictions shown.
const MOST_CONFLICTS: usize = 5;
/// Words of the question named as missing.
const MOST_MISSING: usize = 8;

/// Everything the report says, numbered, and what it is worth.
struct Material {
    statements: Vec<Statement>,
    prints: Vec<Print>,
    /// The finding each statement is from.
    findings: Vec<usize>,
    scores: rank::Scores,
}

/// A Markdown report on `brief` from notes; citations are source ids, and there is no list of sources.
pub(super) fn write(brief: &str, findings: &[Finding], sources: &[Evidence], limits: &[String]) -> String {
    let phrases = phrases::of(Language::of(brief));
    let material = gather(brief, findings);
    let short = in_short(&material);
    let conflicts = conflicts(&material);
    let mut report = format!("# {}\n\n*{}*\n", title(brief), phrases.disclaimer);
    section(&mut report, phrases.in_short, &short_lines(&material, &short, phrases));
    let mut shown: HashSet<usize> = short.into_iter().collect();
    for (number, finding) in findings.iter().enumerate() {
        let heading = if findings.len() == 1 { phrases.details.to_owned() } else { topic_heading(&finding.topic) };
        section(&mut report, &heading, &topic_lines(&material, number, &mut shown));
    }
    section(&mut report, phrases.differing, &conflict_lines(&material, &conflicts, sources, phrases));
    section(&mut report, phrases.limits, &limit_lines(brief, &material, limits, phrases));
    report
}

fn section(report: &mut String, heading: &str, lines: &[String]) {
    if !lines.is_empty() {
        report.push_str(&format!("\n## {heading}\n\n{}\n", lines.join("\n")));
    }
}

/// Reads all notes, joins what several say, and ranks it.
fn gather(brief: &str, findings: &[Finding]) -> Material {
    let mut statements: Vec<Statement> = Vec::new();
    let (mut prints, mut from): (Vec<Print>, Vec<usize>) = (Vec::new(), Vec::new());
    for (number, finding) in findings.iter().enumerate() {
        let read = statements::read(&finding.text).into_iter().filter(|statement| !is_order(&statement.text));
        // What is cited comes first in notes, and each finding has its share.
        for statement in read.take((MOST_STATEMENTS / findings.len().max(1)).max(1)) {
            let print = Print::of(&statement.text);
            match prints.iter().position(|other: &Print| other.repeats(&print)) {
                Some(same) => add_sources(&mut statements[same], statement.sources),
                None => {
                    statements.push(statement);
                    prints.push(print);
                    from.push(number);
                }
            }
        }
    }
    if statements.iter().any(|statement| !statement.sources.is_empty()) {
        let keep: Vec<bool> = statements.iter().map(|statement| !statement.sources.is_empty()).collect();
        retain(&mut statements, &keep);
        retain(&mut prints, &keep);
        retain(&mut from, &keep);
    }
    let scores = score(brief, &statements);
    Material { statements, prints, findings: from, scores }
}

fn add_sources(statement: &mut Statement, sources: Vec<SourceId>) {
    for id in sources {
        if !statement.sources.contains(&id) {
            statement.sources.push(id);
        }
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().copied().unwrap_or(false));
}

/// Statements under one title are ranked as the text they come from.
fn score(brief: &str, statements: &[Statement]) -> rank::Scores {
    let sentence = |statement: &Statement| Sentence {
        text: statement.text.clone(),
        heading: statement.heading.clone(),
        paragraph: 0,
    };
    let groups: Vec<Vec<Sentence>> = statements
        .chunk_by(|one, other| one.group == other.group)
        .map(|group| group.iter().map(sentence).collect())
        .collect();
    let titles = statements.chunk_by(|one, other| one.group == other.group).map(|group| group[0].group.as_str());
    let pieces: Vec<Piece<'_>> = titles.zip(&groups).map(|(title, sentences)| Piece { title, sentences }).collect();
    rank::rank(brief, &pieces)
}

/// The places of the sentences that answer best: each part of the question has its turn.
fn in_short(material: &Material) -> Vec<usize> {
    let (least, per_part, most) = SHORT;
    let parts = &material.scores.parts;
    let wanted = (parts.len() * per_part).clamp(least, most.max(parts.len()));
    let ranked: Vec<Vec<usize>> = parts.iter().map(|scores| best_first(scores)).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for turn in 0..material.statements.len() {
        for (scores, ranked) in parts.iter().zip(&ranked) {
            let best = ranked.first().map_or(0.0, |place| scores[*place]);
            let place = ranked[turn];
            let is_good = scores[place] > 0.0 && scores[place] >= best * SHARE_IN_SHORT;
            if is_good && chosen.len() < wanted && !chosen.contains(&place) {
                chosen.push(place);
            }
        }
    }
    chosen
}

fn short_lines(material: &Material, short: &[usize], phrases: &Phrases) -> Vec<String> {
    if short.is_empty() {
        return vec![phrases.nothing.to_owned()];
    }
    short.iter().map(|place| format!("- {}", material.statements[*place].cited())).collect()
}

/// A paragraph per source: its sentences in their order, under the title of the source.
fn topic_lines(material: &Material, finding: usize, shown: &mut HashSet<usize>) -> Vec<String> {
    let scores = &material.scores.overall;
    let is_good = |place: &usize| material.findings[*place] == finding && scores[*place] >= SHARE_IN_SECTION;
    let fresh: Vec<usize> = best_first(scores)
        .into_iter()
        .filter(is_good)
        .filter(|place| !shown.contains(place))
        .take(SECTION_SENTENCES)
        .collect();
    shown.extend(&fresh);
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for place in fresh {
        let group = material.statements[place].group.as_str();
        match groups.iter_mut().find(|(title, _)| *title == group) {
            Some((_, places)) => places.push(place),
            None => groups.push((group, vec![place])),
        }
    }
    groups
        .into_iter()
        .map(|(title, mut places)| {
            places.sort_unstable();
            let text: Vec<_> = places.iter().map(|place| material.statements[*place].cited()).collect();
            let label = if title.is_empty() { String::new() } else { format!("**{}** ", title.replace('*', "")) };
            format!("{label}{}\n", text.join(" "))
        })
        .collect()
}

/// Pairs of statements from different sources that differ in a number, best first.
fn conflicts(material: &Material) -> Vec<(usize, usize)> {
    let scores = &material.scores.overall;
    let good: Vec<usize> =
        best_first(scores).into_iter().filter(|place| scores[*place] >= SHARE_IN_SECTION).take(MOST_COMPARED).collect();
    let mut pairs = Vec::new();
    for (index, one) in good.iter().copied().enumerate() {
        for other in good[index + 1..].iter().copied() {
            let (left, right) = (&material.statements[one], &material.statements[other]);
            let apart = !left.sources.is_empty() && left.sources.iter().all(|id| !right.sources.contains(id));
            if apart && material.prints[one].contradicts(&material.prints[other]) {
                pairs.push((one, other));
            }
        }
    }
    pairs.truncate(MOST_CONFLICTS);
    pairs
}

fn conflict_lines(
    material: &Material,
    conflicts: &[(usize, usize)],
    sources: &[Evidence],
    phrases: &Phrases,
) -> Vec<String> {
    let line = |(one, other): &(usize, usize)| {
        let dates = [*one, *other].map(|place| newest_date(&material.statements[place], sources));
        let (first, last) = if dates[0] > dates[1] { (other, one) } else { (one, other) };
        let newest = dates.iter().max().filter(|_| dates[0] != dates[1] && dates.iter().all(Option::is_some));
        let newer = newest.and_then(Option::as_ref).map(|date| format!(" {}", phrases.newer.replace("{}", date)));
        let (first, last) = (material.statements[*first].cited(), material.statements[*last].cited());
        format!("- {} {first} — {last}{}", phrases.they_differ, newer.unwrap_or_default())
    };
    conflicts.iter().map(line).collect()
}

/// The newest date, `YYYY` or longer, in a statement, its title or what is known of its sources.
fn newest_date(statement: &Statement, sources: &[Evidence]) -> Option<String> {
    let of_sources = sources.iter().filter(|source| statement.sources.contains(&source.source_id));
    let texts = of_sources.flat_map(|source| [source.title.as_str(), source.text.as_str()]);
    texts.chain([statement.group.as_str(), statement.text.as_str()]).filter_map(date_in).max()
}

/// The latest ISO date or year from 1900 to 2099 in `text`.
fn date_in(text: &str) -> Option<String> {
    let is_year = |word: &str| {
        word.len() == 4
            && word.bytes().all(|byte| byte.is_ascii_digit())
            && (word.starts_with("19") || word.starts_with("20"))
    };
    let iso = |word: &str| word.len() == 10 && word.get(..4).is_some_and(is_year) && word.matches('-').count() == 2;
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '-');
    words.filter(|word| is_year(word) || iso(word)).max().map(str::to_owned)
}

fn limit_lines(brief: &str, material: &Material, limits: &[String], phrases: &Phrases) -> Vec<String> {
    let mut lines: Vec<String> = limits.iter().map(|limit| format!("- {}", sentences::plain(limit))).collect();
    let missing = missing_words(brief, material);
    if !missing.is_empty() {
        lines.push(format!("- {}", phrases.missing_words.replace("{}", &missing.join(phrases.comma))));
    }
    lines
}

/// Words of the question that no statement or title has; an unanswered question shows here.
fn missing_words<'a>(brief: &'a str, material: &Material) -> Vec<&'a str> {
    let mut present: HashSet<String> = HashSet::new();
    for statement in &material.statements {
        present.extend(words::terms(&statement.text));
        present.extend(words::terms(&statement.group));
    }
    let mut missing: Vec<&str> = Vec::new();
    for word in words::written(brief) {
        let is_missing = !word.chars().any(is_cjk) && words::terms(word).iter().any(|term| !present.contains(term));
        if is_missing && !missing.contains(&word) {
            missing.push(word);
        }
    }
    missing.truncate(MOST_MISSING);
    missing
}

/// The first sentence of the brief on one line, shortened between words.
fn title(brief: &str) -> String {
    let first = sentences::split(brief).into_iter().next().map(|sentence| sentence.text);
    heading(&first.unwrap_or_else(|| brief.to_owned()))
}

/// A topic as a heading, without what was carried along for searching.
fn heading(topic: &str) -> String {
    let topic = sentences::plain(topic);
    let topic = topic.trim_start_matches(['#', ' ']);
    match topic.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{} …", topic[..end].rsplit_once(' ').map_or(&topic[..end], |(head, _)| head)),
        None => topic.to_owned(),
    }
}

/// The topic without the words that it carries along for searching, its first letter a capital.
fn topic_heading(topic: &str) -> String {
    let topic = heading(topic);
    let mut chars = plan::without_carried(&topic).chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(topic: &str, text: &str) -> Finding {
        Finding { topic: topic.into(), text: text.into() }
    }

    #[test]
    fn a_report_has_its_parts_in_order() {
        let notes = "### Museum\n- The mill was destroyed in 1911. [S1001]\n- The mill ground barley in 1890. [S1001]\n- Nobody is cited here, mill.";
        let report = write(
            "When was the mill destroyed?",
            &[finding("the end of the mill", notes)],
            &[],
            &["Nothing was found about soup.".into()],
        );
        let expected = "# When was the mill destroyed?\n\n*This report was assembled by extraction, without a language model: it quotes sentences of the sources.*\n\n\
            ## In short\n\n- The mill was destroyed in 1911. [S1001]\n\n## More from the sources\n\n**Museum** The mill ground barley in 1890. [S1001]\n\n\n\
            ## Limits\n\n- Nothing was found about soup.\n";
        assert_eq!(report, expected);
    }

    #[test]
    fn contradictions_are_shown_newest_last() {
        let notes = "### Note of 2031\n- Skua supplies as much as 1,310 households on the island use. [S1001]\n\
            ### Note of 2030\n- Skua supplies as much as 1,130 households on the island use. [S1002]";
        let report = write("How many households does Skua supply?", &[finding("Skua", notes)], &[], &[]);
        let expected = "- The sources differ: Skua supplies as much as 1,130 households on the island use. [S1002] — \
            Skua supplies as much as 1,310 households on the island use. [S1001] The last one is from the source with the newest date (2031).";
        assert!(report.contains(expected), "{report}");
    }

    #[test]
    fn what_is_not_found_is_said() {
        let report = write(
            "What salary does the director earn?",
            &[finding("salary", "- The director lives here. [S1001]")],
            &[],
            &[],
        );
        assert!(report.contains("do not occur in any sentence found: salary, earn."), "{report}");
        let empty = write("Was kostet die Brücke und wie lange?", &[], &[], &[]);
        assert!(empty.contains("Die Quellen enthalten keinen Satz"), "{empty}");
    }
}
