//! A source list of the model's own, as it may seem: judged when it ends, since prose under such a heading stays.

use super::{bibliography::is_bibliographic, entries, lines};

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
    /// Does nothing mark the heading as one? Then it goes only with a reference.
    plain: bool,
    lines: Vec<Line>,
    bytes: usize,
    /// References of the part of the list that has been judged already.
    earlier: usize,
}

/// A line of the model's text, by its number there.
#[derive(Debug)]
pub(super) struct Line {
    pub number: usize,
    pub text: String,
    /// It says something for which it cites a retrieved source by its id, so it is no entry.
    pub states: bool,
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
    pub(super) fn new(heading: lines::SourceHeading, line: Line) -> Self {
        let lines::SourceHeading { level, certain, plain } = heading;
        Self { level, certain, plain, lines: vec![line], bytes: 0, earlier: 0 }
    }

    /// The rest of a list that was too long to be judged at once.
    pub(super) fn going_on(&self, line: Line) -> Self {
        let bytes = line.text.len();
        Self { lines: vec![line], bytes, earlier: 1, ..*self }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, line: Line) {
        // A blank line takes room too.
        self.bytes += line.text.len() + 1;
        self.lines.push(line);
    }

    /// Does a line stand behind the list? A further heading of the kind begins a list of its own. Under one that is not
    /// certain anything but an entry ends the list: text under "What the sources say" must not be held back until the
    /// section is over.
    pub(super) fn ends_before(&self, line: &Line) -> bool {
        let trimmed = line.text.trim();
        if lines::source_heading(trimmed).is_some() {
            return true;
        }
        match lines::heading(trimmed) {
            Some((level, _)) => level <= self.level || !self.certain,
            None if self.level > 6 && line.states => !lines::is_item(trimmed),
            None if self.level > 6 => !lines::is_list_line(trimmed) && !is_bibliographic(trimmed),
            None => !self.certain && !self.may_hold(&line.text, trimmed),
        }
    }

    /// Can a line be an entry, or a part of one?
    fn may_hold(&self, line: &str, trimmed: &str) -> bool {
        let is_labelled = || entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone());
        let is_indented = || self.lines.len() > 1 && (line.starts_with("  ") || line.starts_with('\t'));
        trimmed.is_empty()
            || trimmed.starts_with('|')
            || is_labelled()
            || lines::begins_with_address(trimmed)
            || is_indented()
    }

    /// The list goes if most of its lines are references; other lines stay even then.
    pub(super) fn judged(self) -> Judged {
        let roles = self.roles();
        let count = |role| roles.iter().filter(|&&found| found == role).count();
        let (references, others) = (self.earlier + count(Role::Reference), count(Role::Other));
        let goes = references > others || (others == 0 && self.certain && !self.plain);
        let judge = |(Line { number, text, .. }, role): (Line, &Role)| JudgedLine {
            number,
            text,
            goes: goes && *role != Role::Other,
            is_reference: *role == Role::Reference,
        };
        Judged { goes, lines: self.lines.into_iter().zip(&roles).map(judge).collect() }
    }

    fn roles(&self) -> Vec<Role> {
        let mut roles: Vec<Role> = self.lines.iter().map(|line| self.role(line)).collect();
        for at in 0..roles.len() {
            if at == 1 && lines::is_underline(self.lines[at].text.trim()) {
                roles[at] = Role::Layout;
            } else if lines::is_table_rule(self.lines[at].text.trim()) {
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

    fn role(&self, line: &Line) -> Role {
        let trimmed = line.text.trim();
        if trimmed.is_empty() || lines::source_heading(trimmed).is_some() {
            return Role::Layout;
        }
        let is_reference = match self.certain {
            true => lines::is_reference(trimmed) || is_bibliographic(trimmed),
            false => is_entry(trimmed),
        };
        if is_reference && !line.states { Role::Reference } else { Role::Other }
    }

    /// Entries may be broken: an item whose address stands on the next line, or an indented line behind a reference.
    fn belongs_to_a_reference(&self, at: usize, roles: &[Role]) -> bool {
        let Line { text, states, .. } = &self.lines[at];
        let next = self.lines.get(at + 1).is_some_and(|next| lines::begins_with_address(&next.text));
        let behind = at > 0 && roles[at - 1] == Role::Reference && (text.starts_with("  ") || text.starts_with('\t'));
        !states && (behind || (next && lines::is_list_line(text.trim())))
    }
}

fn is_entry(trimmed: &str) -> bool {
    entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone()) && lines::holds_address(trimmed)
}
