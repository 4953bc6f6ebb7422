//! Labelled statements: each is held against its source, and judged as its mark says.
//!
//! In the files below `labelled/`, a source begins with `===` and its title. Behind it stand the statements, `+` those
//! that it holds and `-` others. A `?` behind the mark says that the check errs there so far: a rule that puts one
//! right takes the sign away.

use std::collections::HashMap;

use test_case::test_case;

use super::{Texts, check};
use crate::domain::{Source, claim::Verdict, report::Citation};

/// A statement with its mark.
struct Case<'a> {
    statement: &'a str,
    is_held: bool,
    is_known_error: bool,
}

impl<'a> Case<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (mark, statement) = line.split_once(' ')?;
        let (is_held, is_known_error) = match mark {
            "+" => (true, false),
            "-" => (false, false),
            "+?" => (true, true),
            "-?" => (false, true),
            _ => return None,
        };
        Some(Self { statement, is_held, is_known_error })
    }

    /// Returns whether the check errs: it does not support what the page holds, or does not doubt what is not there.
    fn is_misjudged(&self, page: &str) -> bool {
        let text = format!("{} [1].", self.statement);
        let end = text.chars().count() - 1;
        let title = page.lines().next().unwrap_or_default();
        let source = Source { snapshot: page.into(), ..Source::example(1001, "https://source.test/", title) };
        let mut citations = [Citation::new(1, source.id, end - 3, end)];
        let claims = check(&text, &mut citations, &Texts::read(vec![source], &HashMap::new()), "What is known?");
        let verdict = claims.first().map_or(Verdict::NotCheckable, |claim| claim.verdict);
        let is_right = match self.is_held {
            true => verdict == Verdict::Supported,
            false => matches!(verdict, Verdict::Partly | Verdict::NotSupported),
        };
        !is_right
    }
}

#[test_case(include_str!("labelled/first.txt"); "first")]
#[test_case(include_str!("labelled/second.txt"); "second")]
#[test_case(include_str!("labelled/third.txt"); "third")]
#[test_case(include_str!("labelled/fourth.txt"); "fourth")]
#[test_case(include_str!("labelled/fifth.txt"); "fifth")]
#[test_case(include_str!("labelled/sixth.txt"); "sixth")]
fn statements_are_judged_as_they_are_marked(file: &str) {
    let (mut count, mut changed) = (0, Vec::new());
    for part in file.split("=== ").skip(1) {
        let page: Vec<&str> = part.lines().take_while(|line| Case::of(line).is_none()).collect();
        let page = page.join("\n");
        for case in part.lines().filter_map(Case::of) {
            count += 1;
            if case.is_misjudged(&page) != case.is_known_error {
                changed.push(format!("{} {}", if case.is_held { '+' } else { '-' }, case.statement));
            }
        }
    }
    assert!(count > 30, "{count} statements");
    assert!(changed.is_empty(), "judged otherwise than marked:\n{}", changed.join("\n"));
}
