//! A numbering of the model's own: which of its numbers and labels stand for which source.
//!
//! Models that ignore ids count their sources themselves and put a list under the text, or several, or footnotes. Read
//! here is the whole text, line by line, once it is there; `mod.rs` has said before what kind of line each is.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Catalogue,
    address::{self, address_length, is_address},
    anchors,
    bibliography::is_bibliographic,
    entries::{Form, Label, address_at_end, is_between_labels, label, next_number, several},
    ids::ids_in,
    labels, lines,
    links::Links,
    numbers::Numbers,
    raised,
    scan::OPENING,
    target::Target,
    works::{Cited, Work, Works},
};

/// Bytes of an address without a scheme.
const LONGEST_PLACE: usize = 512;
/// Words behind an address at the end of a line, and in it.
const LAST_WORDS: usize = 8;
/// Bytes of the text of a link by which an entry may be cited.
const LONGEST_LINK: usize = 60;
/// Labels of one list that are looked at.
const MOST_ENTRIES: usize = 2_000;

/// What a line is, as the resolver read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Code,
    /// A heading over a source list.
    Heading,
    /// A line under such a heading.
    Listed,
}

/// What a bracket is that has nothing but numbers, as `[3]` and `[8-15]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Bare {
    /// Text: the model cites in another way, or has not ended yet.
    #[default]
    Text,
    /// A citation if the model's own list has all of its numbers, or else text.
    Listed,
    /// A citation: the model cites in no other way.
    Cites,
}

/// The model's own numbers and labels.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// By number or label: each line that defines it, ascending, and where it leads.
    targets: HashMap<String, Vec<(usize, Target)>>,
    /// Labels of link definitions.
    defined: HashSet<String>,
    /// Names in brackets before the entries of a list.
    named: HashSet<String>,
    /// Works by authors and year, and where they lead.
    works: Works<Target>,
    /// Names of the anchors in lists, to which links within the text lead.
    anchors: HashSet<String>,
    /// Lines of lists without a heading over them.
    gone: HashSet<usize>,
    /// Lines that begin with the number of a section.
    labels: HashSet<usize>,
    highest: u32,
    /// Whether an entry of a list has a number, other than a footnote.
    listed: bool,
    /// Entries of lists without labels.
    unnumbered: u32,
    pub bare: Bare,
    /// Whether raised numbers are citations, where they can be.
    pub raised: bool,
    /// Whether numbers in parentheses are citations.
    pub parentheses: bool,
}

impl Numbering {
    /// Reads the model's text; `used` are the numbers that it cites in brackets.
    pub(super) fn read(text: &str, kinds: &[Kind], used: &BTreeSet<u32>, catalogue: &Catalogue) -> Self {
        let mut reader = Reader::new(catalogue, used);
        let lines: Vec<&str> = text.split('\n').collect();
        for (at, line) in lines.iter().enumerate() {
            match kinds.get(at) {
                Some(Kind::Text) => reader.text_line(at, line),
                Some(Kind::Code) | None => reader.end_list(),
                Some(Kind::Heading) => {
                    reader.end_list();
                    reader.tail.clear();
                }
                Some(Kind::Listed) => reader.listed(at, line),
            }
        }
        Self { labels: labels::of_sections(&lines, kinds), ..reader.finish(&lines) }
    }

    /// Makes the numbering of a text without a list or a certain citation, whose numbers cite nothing: those up to
    /// `highest` are taken out. What it has `read` of sections stays.
    pub(super) fn of_nothing(read: Self, highest: u32) -> Self {
        Self { highest, bare: Bare::Cites, labels: read.labels, ..Self::default() }
    }

    /// Returns the number of entries of the model's own lists that have no labels.
    pub(super) fn unnumbered(&self) -> u32 {
        self.unnumbered
    }

    /// Sets what a bracket with nothing but numbers is; `by_id` tells whether the text cites by ids too.
    pub(super) fn with_bare(self, by_id: bool) -> Self {
        let bare = match (self.listed, self.highest) {
            (_, 0) => Bare::Text,
            (true, _) if !by_id => Bare::Cites,
            _ => Bare::Listed,
        };
        Self { bare, ..self }
    }

    /// Returns whether nothing here changes how the text is read.
    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.works.is_empty()
    }

    /// Returns whether any number or label leads to a source, or to a remark.
    fn leads(&self) -> bool {
        self.targets.values().flatten().any(|(_, target)| *target != Target::Foreign)
    }

    /// Returns where a label on that line leads: as the next list says, or else the last one.
    pub(super) fn target(&self, label: &str, line: usize) -> Option<Target> {
        let places = self.targets.get(label)?;
        let next = places.partition_point(|(place, _)| *place < line);
        places.get(next).or(places.last()).map(|(_, target)| *target)
    }

    /// Returns the source behind a number on that line.
    pub(super) fn source(&self, number: u32, line: usize) -> Option<usize> {
        self.target(&number.to_string(), line)?.source()
    }

    /// Returns where `[text][label]` leads.
    pub(super) fn linked(&self, label: &str, line: usize) -> Option<Target> {
        let label = label.trim().to_lowercase();
        self.target(&label, line).filter(|_| self.defined.contains(&label))
    }

    /// Returns where a name in brackets leads that a list of the model's own has.
    pub(super) fn named(&self, name: &str, line: usize) -> Option<Target> {
        let name = name.trim().to_lowercase();
        let mut places = self.targets.get(&name)?.iter().map(|(_, target)| target);
        let first = places.next()?;
        let is_clear = places.all(|target| target == first);
        self.target(&name, line).filter(|_| is_clear && self.named.contains(&name))
    }

    /// Returns where a work leads that a list of the model's own has; `None` when it is not clear which entry is meant.
    pub(super) fn work(&self, cited: &Cited) -> Option<Target> {
        self.works.target(cited)
    }

    /// Returns whether a list of the model's own has an anchor of that name.
    pub(super) fn has_anchor(&self, name: &str) -> bool {
        self.anchors.contains(&name.to_lowercase())
    }

    /// Returns whether this line is part of a list that goes.
    pub(super) fn is_gone(&self, line: usize) -> bool {
        self.gone.contains(&line)
    }

    /// Returns whether this line begins with the number of a section.
    pub(super) fn is_label(&self, line: usize) -> bool {
        self.labels.contains(&line)
    }

    pub(super) fn highest(&self) -> usize {
        usize::try_from(self.highest).unwrap_or(usize::MAX)
    }

    fn define(&mut self, label: String, line: usize, target: Target) {
        self.highest = self.highest.max(label.parse().unwrap_or(0));
        self.targets.entry(label).or_default().push((line, target));
    }
}

/// One entry of a list that is being read.
#[derive(Debug)]
struct Entry {
    label: Option<Label>,
    line: usize,
    /// Bytes of white space in front of it.
    indent: usize,
    work: Option<Work>,
    target: Option<Target>,
    /// The only source that is called as the entry is.
    titled: Option<usize>,
    /// Its label stands right behind that of the entry before, as in `[1], [2] Title`.
    joined: bool,
}

impl Entry {
    fn new(label: Option<Label>, line: usize, indent: usize) -> Self {
        Self { label, line, indent, work: None, target: None, titled: None, joined: false }
    }
}

struct Reader<'a> {
    catalogue: &'a Catalogue,
    used: &'a BTreeSet<u32>,
    numbering: Numbering,
    /// The list under a heading that is being read.
    list: Vec<Entry>,
    /// Lists without labels.
    unlabelled: Vec<Vec<Entry>>,
    /// A label and a title, whose address may stand on the next line.
    waiting: Option<(Label, usize)>,
    /// The last lines of the text, as far as each is an item with a number and an address.
    tail: Vec<Entry>,
    forms: Vec<Form>,
    /// Lines that begin with a number in brackets, end with an address and may say something.
    in_brackets: Vec<usize>,
    /// Lines of footnotes that name something without an address, and say nothing.
    references: HashSet<usize>,
    /// The last line of a footnote that goes.
    footnote: Option<usize>,
    links: Links,
    /// Raised numbers of the text that show that it cites so, and whether each does so alone.
    raised: BTreeSet<(u32, bool)>,
}

impl<'a> Reader<'a> {
    fn new(catalogue: &'a Catalogue, used: &'a BTreeSet<u32>) -> Self {
        Self {
            catalogue,
            used,
            numbering: Numbering::default(),
            list: Vec::new(),
            unlabelled: Vec::new(),
            waiting: None,
            tail: Vec::new(),
            forms: Vec::new(),
            in_brackets: Vec::new(),
            references: HashSet::new(),
            footnote: None,
            links: Links::default(),
            raised: BTreeSet::new(),
        }
    }

    /// Reads a line under a heading like "Sources".
    fn listed(&mut self, at: usize, line: &str) {
        self.numbering.anchors.extend(anchors::in_line(line));
        let mut found = label(lines::behind_title(line.trim()).unwrap_or(line));
        // Where numbers cite, a bracket before an address is the title of an entry.
        found.label = found.name.filter(|_| self.used.is_empty()).or(found.label).or_else(|| linked_name(found.rest));
        found.label = found.label.filter(|label| label.form != Form::Name || self.used.is_empty());
        let indent = line.len() - line.trim_start().len();
        let mut joined = false;
        if let (None, Some((labels, last, rest))) = (&found.label, several(found.rest)) {
            for label in labels {
                self.list.push(Entry { joined, ..Entry::new(Some(label), at, indent) });
                joined = true;
            }
            (found.label, found.rest) = (Some(last), rest);
        }
        let is_part = self.list.last().is_some_and(|entry| entry.label.is_some() && entry.indent < indent);
        let is_item = found.is_item && !is_part;
        let work = Work::read(found.rest).filter(|_| !is_part);
        let has_number = found.label.as_ref().is_some_and(|label| label.name.parse::<u32>().is_ok());
        let by_number = has_number && !self.used.is_empty();
        let work = work.map(|work| if by_number { work } else { work.named_in_sentences() });
        let is_broken = self.is_waiting() && self.list.last().is_some_and(|entry| entry.label.is_some());
        let is_next = (is_address(found.rest) && !self.is_waiting()) || (work.is_some() && !is_broken);
        if (found.label.is_some() || is_item || is_next) && self.list.len() < MOST_ENTRIES {
            let titled = self.catalogue.by_title(found.rest).or_else(|| self.catalogue.by_title_in(found.rest));
            self.list.push(Entry { work, titled, joined, ..Entry::new(found.label, at, indent) });
        }
        self.contents(at, found.rest);
    }

    /// Returns whether the last entry has no address yet.
    fn is_waiting(&self) -> bool {
        self.list.last().is_some_and(|entry| entry.target.is_none())
    }

    /// Looks for addresses and further labels in a line of a list.
    fn contents(&mut self, at: usize, text: &str) {
        let (mut done, mut starts, mut label_end) = (0, true, 0);
        for (place, character) in text.char_indices() {
            let begins = std::mem::replace(&mut starts, !character.is_alphanumeric());
            if place < done {
                continue;
            }
            let rest = &text[place..];
            let joined = is_between_labels(&text[label_end..place]);
            if begins && is_address(rest) {
                let length = address_length(rest).max(1);
                self.meet(self.catalogue.by_url(&rest[..length]));
                done = place + length;
            } else if let Some((label, length)) = self.next_label(at, rest, begins, joined) {
                done = place + length;
                let titled = if joined { self.catalogue.by_title(&text[done..]) } else { None };
                self.list.push(Entry { titled, joined, ..Entry::new(Some(label), at, 0) });
                label_end = done;
            } else if begins && let Some((index, length)) = self.place(rest) {
                self.meet(Some(index));
                done = place + length;
            }
        }
    }

    /// Finds the next one of several entries on one line: a label behind the address of one, or `joined` to its label.
    fn next_label(&self, at: usize, rest: &str, begins: bool, joined: bool) -> Option<(Label, usize)> {
        let last = self.list.last()?;
        let label = last.label.as_ref().filter(|_| last.line == at)?;
        let (number, length, is_bracket) = next_number(rest, begins)?;
        // An entry without an address must not get that of the next one.
        let is_next = || label.name.parse::<u32>().is_ok_and(|last| last + 1 == number);
        let follows = match is_bracket {
            true => last.target.is_some() || joined || is_next(),
            false => last.target.is_some() && is_next(),
        };
        let fits = follows && self.list.len() < MOST_ENTRIES && !rest[length..].starts_with('(');
        fits.then(|| (Label { name: number.to_string(), form: Form::Bracket }, length))
    }

    /// Returns a word that is an id or the path of a document.
    fn place(&self, rest: &str) -> Option<(usize, usize)> {
        let bounded = &rest[..rest.floor_char_boundary(LONGEST_PLACE)];
        let plain = bounded.split(|c: char| c.is_whitespace() || "()<>[]|".contains(c)).next()?;
        // As in `host.test/Tide_(sea)`.
        let whole = &bounded[..address_length(bounded)];
        let mut words = [plain.trim_end_matches(['.', ',', ';']), whole].into_iter().filter(|word| word.len() > 1);
        words.find_map(|word| Some((self.catalogue.by_target(word)?, word.len())))
    }

    /// Returns whether the text is an address, or a word that is one of those that were retrieved.
    fn is_place(&self, text: &str) -> bool {
        is_address(text) || (!text.trim().contains(char::is_whitespace) && self.place(text.trim()).is_some())
    }

    /// Returns whether one of the last words is an address that was retrieved, although no scheme shows that it is one.
    fn ends_with_place(&self, text: &str) -> bool {
        let words = text.rsplit(|c: char| c.is_whitespace() || "<>[]|".contains(c)).filter(|word| !word.is_empty());
        words.take(LAST_WORDS).any(|word| self.place(word.trim_start_matches('(')).is_some())
    }

    fn meet(&mut self, found: Option<usize>) {
        let Some(entry) = self.list.last_mut() else { return };
        match (entry.target, found) {
            (Some(Target::Source(_)), _) => {}
            (_, Some(index)) => entry.target = Some(Target::Source(index)),
            (_, None) => entry.target = Some(Target::Foreign),
        }
    }

    /// Ends the list under a heading.
    fn end_list(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        self.waiting = None;
        let works = list.iter().filter_map(|entry| entry.work.as_ref().zip(entry.target));
        works.for_each(|(work, target)| self.numbering.works.add(work, target));
        if list.iter().all(|entry| entry.label.is_none()) {
            list.retain(|entry| entry.target.is_some());
            if !list.is_empty() {
                self.unlabelled.push(list);
            }
            return;
        }
        list.retain(|entry| entry.label.is_some());
        share_targets(&mut list);
        // `1.` before each item: Markdown counts for itself.
        let same = list.len() > 1 && list.windows(2).all(|pair| pair[0].label == pair[1].label);
        for (position, entry) in list.into_iter().enumerate() {
            let position = same.then_some(position + 1);
            self.define(entry, position);
        }
    }

    fn define(&mut self, entry: Entry, position: Option<usize>) {
        let (form, name) = entry.label.map_or((Form::Ordered, None), |label| (label.form, Some(label.name)));
        let Some(name) = position.map(|position| position.to_string()).or(name) else { return };
        match form {
            Form::Definition => self.numbering.defined.insert(name.clone()),
            Form::Name if entry.target.is_none() => return,
            Form::Name => self.numbering.named.insert(name.clone()),
            _ => false,
        };
        self.forms.push(form);
        self.numbering.listed |= form != Form::Footnote && name.parse::<u32>().is_ok();
        // A footnote without an address says something of its own.
        let without = if form == Form::Footnote { Target::Remark } else { Target::Foreign };
        self.numbering.define(name, entry.line, entry.target.unwrap_or(without));
    }

    /// Reads a line that no heading makes part of a list.
    fn text_line(&mut self, at: usize, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let waiting = self.waiting.take();
        if !self.list.is_empty() {
            self.end_list();
        }
        self.links.read(at, line, self.catalogue);
        self.raised.extend(raised::clear_ones(line));
        let found = label(line);
        if self.goes_on(at, line, found.label.is_some()) {
            return;
        }
        if let (Some((label, before)), true) = (waiting, found.label.is_none() && self.is_place(found.rest)) {
            self.alone(label, before, found.rest);
            self.numbering.gone.extend([before, at]);
            return;
        }
        match found.label {
            Some(label) if matches!(label.form, Form::Ordered | Form::Parenthesis) => {
                return self.tail_line(label, at, found.rest);
            }
            Some(label) if label.form.stands_alone() && !cites_by_id(line) => {
                self.bracketed(label, at, found.rest);
            }
            _ => {}
        }
        self.tail.clear();
    }

    /// Returns whether the line goes on a footnote: an indented line behind a footnote that goes is a part of it.
    fn goes_on(&mut self, at: usize, line: &str, has_label: bool) -> bool {
        let is_part = self.footnote.is_some_and(|last| last + 1 == at) && line.starts_with("  ") && !has_label;
        self.footnote = self.footnote.filter(|_| is_part).map(|_| at);
        self.numbering.gone.extend(self.footnote);
        is_part
    }

    /// Reads a line that begins with a label in brackets: an entry of a list, a footnote, or text behind a citation.
    fn bracketed(&mut self, label: Label, at: usize, rest: &str) {
        let is_footnote = label.form == Form::Footnote;
        let is_reference = is_footnote && is_bibliographic(rest);
        let is_title = self.catalogue.by_title(rest).is_some();
        if is_title
            || address_at_end(rest)
            || self.ends_with_place(rest)
            || (is_reference && address::holds_address(rest))
        {
            self.footnote = is_footnote.then_some(at);
            let says = rest.trim().contains(char::is_whitespace);
            self.in_brackets.extend((label.form == Form::Bracket && says).then_some(at));
            self.alone(label, at, rest);
            self.numbering.gone.insert(at);
        } else if is_reference {
            self.numbering.define(label.name, at, Target::Foreign);
            self.references.insert(at);
        } else if matches!(label.form, Form::Footnote | Form::Definition) {
            if is_footnote {
                self.numbering.define(label.name, at, Target::Remark);
            }
        } else if rest.len() <= 300 {
            self.waiting = Some((label, at));
        }
    }

    /// Takes an entry without a list around it.
    fn alone(&mut self, label: Label, line: usize, rest: &str) {
        let titled = self.catalogue.by_title(rest);
        self.list.push(Entry { titled, ..Entry::new(Some(label), line, 0) });
        self.contents(line, rest);
        self.end_list();
    }

    /// Reads an item of a list with numbers: perhaps of sources, if the text ends with it.
    fn tail_line(&mut self, label: Label, at: usize, rest: &str) {
        if !address_at_end(rest) {
            self.tail.clear();
            return;
        }
        self.list.push(Entry::new(Some(label), at, 0));
        self.contents(at, rest);
        self.tail.extend(self.list.drain(..).take(1));
    }

    fn finish(mut self, lines: &[&str]) -> Numbering {
        self.end_list();
        let unnumbered: usize = self.unlabelled.iter().map(Vec::len).sum();
        self.numbering.unnumbered = u32::try_from(unnumbered).unwrap_or(u32::MAX);
        self.take_tail();
        self.take_positions();
        self.take_links();
        self.keep_lone_lines(lines);
        self.table_heads_over_nothing(lines);
        self.headings_over_nothing(lines);
        if !self.numbering.leads() {
            self.numbering.gone.clear();
        }
        self.numbering.gone.extend(&self.references);
        let plain = self.used.is_empty() && !self.forms.is_empty();
        self.numbering.parentheses = plain && self.forms.contains(&Form::Parenthesis);
        let is_listed = |(number, _): &&(u32, bool)| self.numbering.targets.contains_key(&number.to_string());
        let shown = || self.raised.iter().filter(is_listed);
        let cites = shown().any(|(_, alone)| *alone) || shown().count() > 1;
        self.numbering.raised = plain && !self.numbering.parentheses && cites;
        self.numbering
    }

    /// Takes a list at the very end: it is one of sources when it has all numbers that the text cites, and nothing
    /// else has.
    fn take_tail(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        let names: HashSet<&str> = tail.iter().filter_map(|entry| Some(entry.label.as_ref()?.name.as_str())).collect();
        let all = !self.used.is_empty() && self.used.iter().all(|number| names.contains(number.to_string().as_str()));
        if !all || !self.numbering.targets.is_empty() {
            return;
        }
        self.numbering.gone.extend(tail.iter().map(|entry| entry.line));
        self.list = tail;
        self.end_list();
    }

    /// Numbers the only list by its order, if it has no numbers: they are its order when the text cites each of them,
    /// and no other.
    fn take_positions(&mut self) {
        let [list] = &mut self.unlabelled[..] else { return };
        let counts = self.used.iter().copied().eq(1..=u32::try_from(list.len()).unwrap_or(0));
        if !counts || !self.numbering.targets.is_empty() {
            return;
        }
        for (position, entry) in std::mem::take(list).into_iter().enumerate() {
            self.define(entry, Some(position + 1));
        }
    }

    /// Takes what no list has from the links of the text, which may say it.
    fn take_links(&mut self) {
        let links = std::mem::take(&mut self.links);
        for (number, (line, target)) in links.places() {
            let name = number.to_string();
            if self.used.contains(&number) && !self.numbering.targets.contains_key(&name) {
                self.numbering.define(name, line, target);
            }
        }
    }

    /// Keeps single lines between others, which may say something of a source: such a line is a list behind a heading
    /// or a rule, beside another entry, or at the end.
    fn keep_lone_lines(&mut self, lines: &[&str]) {
        let is_gone = |at: &usize| self.numbering.gone.contains(at);
        let said: Vec<usize> = (0..lines.len()).filter(|&at| !lines[at].trim().is_empty()).collect();
        let is_lone = |at: &usize| {
            let place = said.partition_point(|line| line < at);
            let before = place.checked_sub(1).map(|before| said[before]);
            let behind_title =
                before.is_some_and(|before| lines::is_title(lines[before].trim()) || lines[before].trim() == "---");
            let last = said.get(place + 1).is_none_or(is_gone);
            !(last || behind_title || before.as_ref().is_some_and(is_gone))
        };
        let lone: Vec<usize> = self.in_brackets.iter().copied().filter(is_lone).collect();
        for at in lone {
            self.numbering.gone.remove(&at);
        }
    }

    /// Marks the head of a table to go, and the rule under it, if all of its rows go.
    fn table_heads_over_nothing(&mut self, lines: &[&str]) {
        // Whether all rows below the line go, if there are any.
        let mut all_go: Option<bool> = None;
        for (at, line) in lines.iter().enumerate().rev() {
            let trimmed = line.trim();
            if lines::is_table_rule(trimmed) {
                let head = at.checked_sub(1).filter(|&head| lines[head].trim().starts_with('|'));
                self.numbering.gone.extend(head.into_iter().chain([at]).filter(|_| all_go == Some(true)));
                all_go = None;
            } else if trimmed.starts_with('|') {
                all_go = Some(all_go.unwrap_or(true) && self.numbering.gone.contains(&at));
            } else {
                all_go = None;
            }
        }
    }

    /// Marks headings to go: a heading goes with the list under it.
    fn headings_over_nothing(&mut self, lines: &[&str]) {
        let mut heading: Option<(usize, bool)> = None;
        let mut over = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let trimmed = line.trim();
            let is_rule = trimmed == "---" && at > 0 && lines[at - 1].trim().is_empty();
            if lines::is_title(trimmed) || lines::announces_sources(trimmed) || is_rule {
                over.extend(heading.filter(|(_, went)| *went).map(|(place, _)| place));
                heading = Some((at, false));
            } else if self.numbering.gone.contains(&at) {
                heading = heading.map(|(place, _)| (place, true));
            } else if !trimmed.is_empty() {
                heading = None;
            }
        }
        over.extend(heading.filter(|(_, went)| *went).map(|(place, _)| place));
        self.numbering.gone.extend(over);
    }
}

/// Returns whether a line without an address cites by an id in brackets. Then it is text, with whatever it begins.
fn cites_by_id(line: &str) -> bool {
    let is_cited = |(start, ..): (usize, usize, u32)| line[..start].ends_with(OPENING);
    !address::holds_address(line) && ids_in(line).into_iter().any(is_cited)
}

/// Returns the name of an entry that is a link: `[name](https://…)`.
fn linked_name(rest: &str) -> Option<Label> {
    let (name, behind) = rest.strip_prefix('[')?.split_once("](")?;
    let is_name = !name.contains(['[', ']']) && name.len() <= LONGEST_LINK && Numbers::read(name).is_none();
    let name = name.trim().to_lowercase();
    (is_name && !name.is_empty() && is_address(behind.trim_start_matches('<')))
        .then_some(Label { name, form: Form::Name })
}

/// Gives each entry without an address the source that is called so, or that of the entry whose label is joined to its
/// own.
fn share_targets(list: &mut [Entry]) {
    let mut next: Option<Target> = None;
    for entry in list.iter_mut().rev() {
        entry.target = entry.target.or(entry.titled.map(Target::Source)).or(next);
        next = entry.target.filter(|_| entry.joined);
    }
}
