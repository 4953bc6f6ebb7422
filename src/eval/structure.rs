//! What is wrong with a report as a document, whatever it says.

use std::collections::{BTreeSet, HashSet};

/// The heading of the list that code writes under a report, in whatever language.
const SOURCE_LINE: &str = "- [";

/// Returns the names of the rules that `report` breaks; none twice.
pub(super) fn violations(report: &str, answerable: bool) -> Vec<&'static str> {
    let (body, sources) = parts(report);
    let cited = numbers_in(body);
    let listed: Vec<u32> = sources.lines().filter_map(listed_number).collect();
    let listed_set: BTreeSet<u32> = listed.iter().copied().collect();
    let rules = [
        ("no title", !body.trim_start().starts_with("# ")),
        ("no citation", answerable && cited.is_empty()),
        ("a number without a source", cited.iter().any(|number| !listed_set.contains(number))),
        ("a source that nothing cites", listed_set.iter().any(|number| !cited.contains(number))),
        ("a source listed twice", listed.len() != listed_set.len()),
        ("numbers with gaps", listed_set.iter().copied().ne(1..=listed_set.len() as u32)),
        ("an id of the research", has_raw_id(body)),
        ("a link or address in the text", body.contains("](") || body.contains("http://") || body.contains("https://")),
        ("an empty section", has_empty_section(body)),
        ("a sentence twice", repeats(body)),
    ];
    rules.into_iter().filter(|(_, broken)| *broken).map(|(name, _)| name).collect()
}

/// Returns the text, and the list of sources under it: the last section, if each of its lines is a source.
pub(super) fn parts(report: &str) -> (&str, &str) {
    let at = report.rfind("\n#").map(|at| at + 1);
    let is_list = |at: &usize| {
        let mut lines = report[*at..].lines().skip(1).filter(|line| !line.trim().is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| line.starts_with(SOURCE_LINE))
    };
    report.split_at(at.filter(is_list).unwrap_or(report.len()))
}

fn listed_number(line: &str) -> Option<u32> {
    line.strip_prefix(SOURCE_LINE)?.split_once(']')?.0.parse().ok()
}

/// Returns the numbers in brackets that no backslash keeps from being citations.
pub(super) fn numbers_in(text: &str) -> BTreeSet<u32> {
    let places = text.match_indices('[').filter(|(at, _)| !text[..*at].ends_with('\\'));
    let inside = |(at, _): (usize, &str)| {
        let rest: &str = &text[at + 1..];
        let end = rest.find(['[', ']']).filter(|&end| rest[end..].starts_with(']'))?;
        rest[..end].parse().ok()
    };
    places.filter_map(inside).collect()
}

fn has_raw_id(body: &str) -> bool {
    body.split("[S").skip(1).any(|rest| {
        rest.split_once(']').is_some_and(|(id, _)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns whether there is a heading with nothing under it before the next one of its rank or above.
fn has_empty_section(body: &str) -> bool {
    let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().enumerate().skip(1).any(|(at, line)| {
        let here = level(line);
        here > 1 && lines.get(at + 1).is_none_or(|next| level(next) > 0 && level(next) <= here)
    })
}

/// Returns whether the same words stand twice as a paragraph or list item.
fn repeats(body: &str) -> bool {
    let mut seen = HashSet::new();
    let lines = body.lines().map(|line| line.trim().trim_start_matches(['-', '*', ' '])).filter(|line| line.len() > 40);
    !lines.into_iter().all(|line| seen.insert(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::admission::opening;

    #[test]
    fn a_sound_report_breaks_no_rule() {
        let report = "# Why?\n\n*By extraction.*\n\n## In short\n\n- So. [1][2]\n\n## More\n\nThat, at \\[42]. [2]\n\n### Sources\n\n- [1] A: a.md\n- [2] B: b.md\n";
        assert_eq!(violations(report, true), Vec::<&str>::new());
        assert!(opening(parts(report).0).contains("So.") && !opening(parts(report).0).contains("That"));
    }

    #[test]
    fn each_fault_is_named() {
        let report = "Why [S1001]? See [3](x).\n\n## Empty\n\n## More\n\nText [1].\n\n### Sources\n\n- [1] A: a\n- [2] B: b\n- [2] B: b\n";
        let expected = [
            "no title",
            "a number without a source",
            "a source that nothing cites",
            "a source listed twice",
            "an id of the research",
            "a link or address in the text",
            "an empty section",
        ];
        assert_eq!(violations(report, true), expected);
        assert_eq!(violations("# T\n\nNothing.\n", true), ["no citation"]);
        assert_eq!(violations("# T\n\nNothing.\n", false), Vec::<&str>::new());
    }
}
