//! A source list of the model's own, as it may seem: judged when it ends, since prose under such a heading stays.

use super::{entries, lines};

/// A list is judged when it has grown to so many bytes, at the latest.
pub(super) const LIST_BYTES: usize = 64 * 1024;

/// A heading and what stands under it.
#[derive(Debug)]
pub(super) struct SourceList {
    /// The level of its heading; 7 for a line that serves as one.
    level: usize,
    /// Does the heading say nothing but "Sources"? Under another one, as "Open-source tools", only what has a label in
    /// brackets and an address is a reference.
    certain: bool,
    /// With their numbers in the model's text.
    lines: Vec<(usize, String)>,
    bytes: usize,
    /// References of the part of the list that has been judged already.
    earlier: usize,
}

/// What becomes of a list.
#[derive(Debug)]
pub(super) struct Judged {
    pub goes: bool,
    pub lines: Vec<JudgedLine>,
}

#[derive(Debug)]
pub(super) struct JudgedLine {
    pub number: usize,
    pub text: String,
    pub goes: bool,
    pub is_reference: bool,
}

/// What a line of a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A blank line, a heading like "Sources", the head of a table.
    Layout,
    Reference,
    Other,
}

impl SourceList {
    /// A list whose heading is that line.
    pub(super) fn new(heading: lines::SourceHeading, number: usize, line: &str) -> Self {
        let lines::SourceHeading { level, certain } = heading;
        Self { level, certain, lines: vec![(number, line.to_owned())], bytes: 0, earlier: 0 }
    }

    /// The rest of a list that was too long to be judged at once.
    pub(super) fn going_on(list: &Self, number: usize, line: &str) -> Self {
        Self {
            level: list.level,
            certain: list.certain,
            lines: vec![(number, line.to_owned())],
            bytes: line.len(),
            earlier: 1,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, number: usize, line: &str) {
        // A blank line takes room too.
        self.bytes += line.len() + 1;
        self.lines.push((number, line.to_owned()));
    }

    /// Does a line stand behind the list?
    pub(super) fn ends_before(&self, trimmed: &str) -> bool {
        match lines::heading(trimmed) {
            Some((level, _)) => level <= self.level && lines::source_heading(trimmed).is_none(),
            None => self.level > 6 && !lines::is_list_line(trimmed),
        }
    }

    /// The list goes if most of its lines are references; other lines stay even then.
    pub(super) fn judged(self) -> Judged {
        let roles = self.roles();
        let count = |role| roles.iter().filter(|&&found| found == role).count();
        let (references, others) = (self.earlier + count(Role::Reference), count(Role::Other));
        let goes = references > others || (others == 0 && self.certain);
        let judge = |((number, text), role): ((usize, String), &Role)| JudgedLine {
            number,
            text,
            goes: goes && *role != Role::Other,
            is_reference: *role == Role::Reference,
        };
        Judged { goes, lines: self.lines.into_iter().zip(&roles).map(judge).collect() }
    }

    fn roles(&self) -> Vec<Role> {
        let mut roles: Vec<Role> = self.lines.iter().map(|(_, line)| self.role(line)).collect();
        for at in 0..roles.len() {
            let line = &self.lines[at].1;
            if lines::is_table_rule(line.trim()) {
                roles[at] = Role::Layout;
                if at > 0 {
                    roles[at - 1] = Role::Layout;
                }
            } else if roles[at] == Role::Other && self.belongs_to_a_reference(at, &roles) {
                roles[at] = Role::Reference;
            }
        }
        roles
    }

    fn role(&self, line: &str) -> Role {
        let trimmed = line.trim();
        if trimmed.is_empty() || lines::source_heading(trimmed).is_some() {
            return Role::Layout;
        }
        let is_reference = if self.certain { lines::is_reference(trimmed) } else { is_entry(trimmed) };
        if is_reference { Role::Reference } else { Role::Other }
    }

    /// Entries may be broken: an item whose address stands on the next line, or an indented line behind a reference.
    fn belongs_to_a_reference(&self, at: usize, roles: &[Role]) -> bool {
        let line = &self.lines[at].1;
        let next = self.lines.get(at + 1).is_some_and(|(_, next)| lines::begins_with_address(next));
        let behind = at > 0 && roles[at - 1] == Role::Reference && (line.starts_with("  ") || line.starts_with('\t'));
        behind || (next && lines::is_list_line(line.trim()))
    }
}

fn is_entry(trimmed: &str) -> bool {
    entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone()) && lines::holds_address(trimmed)
}
