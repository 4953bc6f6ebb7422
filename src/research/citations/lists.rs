//! A source list of the model's own, as it may seem: judged when it ends, since prose under such a heading stays.

use super::{address, bibliography::is_bibliographic, entries, lines};

/// A list is judged when it has grown to so many bytes, at the latest.
pub(super) const LIST_BYTES: usize = 64 * 1024;

/// A heading and what stands under it.
#[derive(Debug)]
pub(super) struct SourceList {
    /// The level of its heading; 7 for a line that serves as one.
    level: usize,
    /// Whether the heading says nothing but "Sources". Under another one, as "Open-source tools", only what has a label
    /// in brackets and an address is a reference.
    certain: bool,
    /// Whether nothing marks the heading as one. Then it goes only with a reference.
    plain: bool,
    lines: Vec<Line>,
    bytes: usize,
    /// References of the part of the list that has been judged already.
    earlier: usize,
    /// The number of its last reference, where that stands in no brackets.
    last: Option<u32>,
    /// The block of code in which the list stands, as far as it has come.
    fence: Option<lines::Fence>,
}

/// A line of the model's text, by its number there.
#[derive(Debug)]
pub(super) struct Line {
    pub number: usize,
    pub text: String,
    /// It says something for which it cites a retrieved source, so it is no entry.
    pub states: bool,
    /// It is the title of a retrieved source, behind its label.
    pub is_title: bool,
    /// It has the id of a retrieved source.
    pub has_id: bool,
    /// It has a number that the text cites.
    pub is_cited: bool,
    /// The number in front of it that stands in no brackets.
    pub ordered: Option<u32>,
}

impl Line {
    /// Returns whether it has an address, is a title, has the form of a reference, or a number that the text cites and
    /// no sentence behind it.
    fn names_a_source(&self) -> bool {
        let trimmed = self.text.trim();
        let is_entry = || self.is_cited && !trimmed.ends_with(['.', '。', '!', '?', '！', '？', ':', '：']);
        self.is_title || address::holds_address(trimmed) || is_bibliographic(trimmed) || is_entry()
    }
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
    /// A blank line, a rule, a heading like "Sources", the head of a table.
    Layout,
    Reference,
    /// An item that says nothing of what it is: it goes with a list of sources, and does not make one.
    Item,
    Other,
}

impl SourceList {
    /// Returns a list whose heading is that line.
    pub(super) fn new(heading: lines::SourceHeading, line: Line) -> Self {
        let lines::SourceHeading { level, certain, plain } = heading;
        Self { level, certain, plain, lines: vec![line], bytes: 0, earlier: 0, last: None, fence: None }
    }

    /// Returns the rest of a list that was too long to be judged at once.
    pub(super) fn going_on(&self, line: Line) -> Self {
        let mut rest = Self { lines: Vec::new(), bytes: 0, earlier: 1, ..*self };
        rest.push(line);
        rest
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, mut line: Line) {
        // A blank line takes room too.
        self.bytes += line.text.len() + 1;
        // What counts on behind an entry that the text cites is one too.
        line.is_cited |= self.counts_on(&line);
        if line.is_cited && address::ends_with_address(line.text.trim()) {
            self.last = line.ordered;
        }
        self.lines.push(line);
    }

    /// Returns whether a line ends with an address and has the number after that of the last reference, under a heading
    /// that is not certain.
    fn counts_on(&self, line: &Line) -> bool {
        let is_next = line.ordered.is_some() && line.ordered == self.last.and_then(|last| last.checked_add(1));
        !self.certain && is_next && address::ends_with_address(line.text.trim())
    }

    /// Takes a line of the block of code that holds the whole list; false when it is no such line. A list may stand in
    /// code that begins right under its heading.
    pub(super) fn push_code(&mut self, line: &Line) -> bool {
        let Some(fence) = self.fence else {
            let is_first = self.certain && self.earlier == 0 && self.lines.iter().skip(1).all(is_blank);
            self.fence = lines::Lists::default().follow(&line.text).filter(|_| is_first);
            return self.fence.is_some();
        };
        let inside = fence.judge(&line.text);
        self.fence = (inside == lines::Inside::Code).then_some(fence);
        inside != lines::Inside::Outside
    }

    /// Returns whether a line stands behind the list. A further heading of the kind begins a list of its own. Under one
    /// that is not certain anything but an entry ends the list: text under "What the sources say" must not be held back
    /// until the section is over.
    pub(super) fn ends_before(&self, line: &Line) -> bool {
        let trimmed = line.text.trim();
        if self.lines.len() == 1 && lines::is_underline(trimmed) {
            return false;
        }
        if lines::source_heading(trimmed).is_some() {
            return true;
        }
        match lines::heading(trimmed) {
            Some((level, _)) => level <= self.level || !self.certain,
            None if self.level > 6 && line.states => !lines::is_item(trimmed),
            None if self.level > 6 => {
                !(lines::is_list_line(trimmed) || trimmed.starts_with('|') || is_bibliographic(trimmed))
            }
            None => !(self.certain || line.is_cited || self.counts_on(line) || self.may_hold(&line.text, trimmed)),
        }
    }

    /// Returns whether a line can be an entry, or a part of one.
    fn may_hold(&self, line: &str, trimmed: &str) -> bool {
        let is_labelled = || entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone());
        let is_indented = || self.lines.len() > 1 && (line.starts_with("  ") || line.starts_with('\t'));
        trimmed.is_empty()
            || trimmed.starts_with('|')
            || is_labelled()
            || lines::begins_with_address(trimmed)
            || is_indented()
    }

    /// Decides which lines go. The list goes if most of its lines are references; other lines stay even then. A note
    /// behind the list belongs to it no more.
    pub(super) fn judged(self) -> Judged {
        let mut roles = self.roles();
        self.settle_items(&mut roles);
        let list = &roles[..self.end(&roles)];
        let count = |role| list.iter().filter(|&&found| found == role).count();
        let (references, others) = (self.earlier + count(Role::Reference), count(Role::Other));
        let goes = references > others || (others == 0 && self.certain && !self.plain && list.len() == roles.len());
        let mut stayed = false;
        let judge = |(Line { number, text, .. }, role): (Line, &Role)| {
            // A blank line or a rule parts what stays.
            let parts = text.trim().is_empty() || lines::is_thematic_break(text.trim());
            stayed = *role == Role::Other || (stayed && parts);
            JudgedLine { number, text, goes: goes && !stayed, is_reference: *role == Role::Reference }
        };
        Judged { goes, lines: self.lines.into_iter().zip(&roles).map(judge).collect() }
    }

    /// Returns the end of the list: behind its last reference, if it is nothing but entries that certainly name a
    /// source, and no item follows before a rule. Else all lines are judged.
    fn end(&self, roles: &[Role]) -> usize {
        let is_certain = |(line, role): (&Line, &Role)| *role != Role::Reference || line.names_a_source();
        let end = roles.iter().rposition(|role| *role == Role::Reference).map_or(0, |last| last + 1);
        let is_list = end > 0 && self.lines.iter().zip(roles).all(is_certain);
        let is_note = |line: &Line| !lines::is_item(line.text.trim()) && !line.text.trim().starts_with('|');
        let behind = self.lines[end..].iter().take_while(|line| !lines::is_thematic_break(line.text.trim()));
        if is_list && behind.into_iter().all(is_note) { end } else { roles.len() }
    }

    /// Settles the other items: where most lines are references, they are too, but for those that a rule parts from the
    /// last reference.
    fn settle_items(&self, roles: &mut [Role]) {
        let end = roles.iter().rposition(|role| *role == Role::Reference).map_or(0, |last| last + 1);
        let behind = self.lines.iter().zip(roles.iter_mut()).skip(end.max(1));
        let parted = behind.skip_while(|(line, _)| !lines::is_thematic_break(line.text.trim()));
        parted.filter(|(_, role)| **role == Role::Item).for_each(|(_, role)| *role = Role::Other);
        let count = |role| roles.iter().filter(|&&found| found == role).count();
        let most = self.earlier + count(Role::Reference) > count(Role::Item) + count(Role::Other);
        let role = if most { Role::Reference } else { Role::Other };
        roles.iter_mut().filter(|found| **found == Role::Item).for_each(|found| *found = role);
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
            } else if matches!(roles[at], Role::Item | Role::Other) && self.belongs_to_a_reference(at, &roles) {
                roles[at] = Role::Reference;
            }
        }
        self.find_groups(&mut roles);
        roles
    }

    /// Finds the headings inside of the list: one goes with what stands under it, when that is nothing but
    /// references.
    fn find_groups(&self, roles: &mut [Role]) {
        let mut only_references = None;
        for (line, role) in self.lines.iter().zip(roles).skip(1).rev() {
            match role {
                Role::Item | Role::Other if lines::is_title(line.text.trim()) => {
                    if only_references.take() == Some(true) {
                        *role = Role::Layout;
                    }
                }
                Role::Layout => {}
                Role::Reference => only_references = Some(only_references.unwrap_or(true)),
                Role::Item | Role::Other => only_references = Some(false),
            }
        }
    }

    fn role(&self, line: &Line) -> Role {
        let trimmed = line.text.trim();
        let is_fence = || self.certain && lines::possible_fence(trimmed) == Some(0);
        let is_layout = || trimmed.is_empty() || lines::is_thematic_break(trimmed);
        if is_layout() || lines::source_heading(trimmed).is_some() || is_fence() {
            return Role::Layout;
        }
        let is_item = lines::is_short_item(trimmed);
        let is_reference = match self.certain {
            true => {
                let is_known = line.is_title || ((line.is_cited || line.has_id) && is_item);
                is_known || lines::is_reference(trimmed) || is_bibliographic(trimmed)
            }
            false => is_entry(trimmed) || (line.is_cited && address::ends_with_address(trimmed)),
        };
        match is_reference {
            true if !line.states => Role::Reference,
            false if self.certain && !line.states && is_item => Role::Item,
            _ => Role::Other,
        }
    }

    /// Returns whether the line is a part of a broken entry: an item whose address stands on the next line, or an
    /// indented line behind a reference.
    fn belongs_to_a_reference(&self, at: usize, roles: &[Role]) -> bool {
        let Line { text, states, .. } = &self.lines[at];
        let next = self.lines.get(at + 1).is_some_and(|next| lines::begins_with_address(&next.text));
        let behind = at > 0 && roles[at - 1] == Role::Reference && (text.starts_with("  ") || text.starts_with('\t'));
        let awaits = next && lines::is_list_line(text.trim()) && !address::holds_address(text);
        !states && (behind || awaits)
    }
}

fn is_blank(line: &Line) -> bool {
    line.text.trim().is_empty()
}

fn is_entry(trimmed: &str) -> bool {
    entries::label(trimmed).label.is_some_and(|label| label.form.stands_alone()) && address::holds_address(trimmed)
}
