//! Citations by numbers of the model's own in a segment: `[1]`, `[2, 3]`, `[1a]`, `[^1]`. A bracket with nothing but
//! numbers is a citation only where the model cites so; elsewhere it is text: an interval, an index, a paragraph.

use super::{
    grammar::{Piece, Reader},
    numbering::Bare,
    numbers::{self, Around, Numbers},
    pinpoint,
    scan::OPENING,
    target::Target,
};

impl Reader<'_, '_> {
    /// Returns the numbers in a bracket, if they may be a citation.
    pub(super) fn own_numbers(&self, at: usize, inside: &str, end: usize) -> Option<Numbers> {
        if at < self.formula {
            return None;
        }
        let placed = || pinpoint::numbers_with_places(inside);
        let mut read = Numbers::read(inside).or_else(placed)?;
        let before = self.behind(at);
        read.marked |= before.ends_with("<sup>");
        let listed = self.targets(&read.numbers).is_some_and(|all| !all.contains(&Target::Remark));
        let behind = &self.text[end..];
        let is_plain = !read.marked && self.text[at..].starts_with('[');
        let around = Around { before: &before, behind, listed };
        if is_plain && numbers::is_part_of_name(around) {
            return None;
        }
        numbers::is_citation(&read, around, self.highest(&read.numbers)).then_some(read)
    }

    /// Returns the highest number that can be meant beside these in a bracket: that of the model's own list. Where the
    /// model cites in no other way the list may be cut short, so beside a number of it any source can be meant.
    fn highest(&self, numbers: &[u32]) -> usize {
        let (listed, retrieved) = (self.numbering.highest(), self.catalogue.sources.len());
        let is_cut = || self.numbering.bare == Bare::Cites && self.sources_of(numbers).any(|source| source.is_some());
        match listed {
            0 => retrieved,
            _ if is_cut() => listed.max(retrieved),
            _ => listed,
        }
    }

    /// Puts the sources behind numbers of the model's own in their place; `None` when they have to stay.
    pub(super) fn numbered(&mut self, from: usize, read: &Numbers, end: usize) -> Option<usize> {
        let starts_line = self.starts_line(from);
        if read.footnote && starts_line && self.text[end..].starts_with(':') {
            return None;
        }
        if starts_line && !read.marked && self.numbering.is_label(self.before.line) {
            return None;
        }
        let targets: Vec<_> = self.leads(&read.numbers).collect();
        if read.footnote && targets.contains(&Some(Target::Remark)) {
            return None;
        }
        // At the front of a line it may be the label of an entry.
        if !starts_line {
            self.parsed.numbers.extend(&read.numbers);
        }
        let cites = match self.numbering.bare {
            Bare::Text => false,
            Bare::Listed => targets.iter().all(|target| matches!(target, Some(Target::Source(_) | Target::Foreign))),
            Bare::Cites => true,
        };
        if !cites && !read.marked {
            return None;
        }
        let sources: Vec<_> = targets.iter().map(|target| target.and_then(Target::source)).collect();
        let indices = if sources.iter().any(Option::is_some) {
            self.known(&sources)
        } else {
            // Nothing known at all is one claim, however many numbers it has.
            self.parsed.dropped += 1;
            Vec::new()
        };
        let spaced = self.is_space(from);
        Some(self.put_citation(from, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced })))
    }

    /// Returns all numbers from that of one bracket to that of the next, as in `[1]–[3]`, and where they end, if the
    /// model's own list has each of them. If it has the two alone, or for `[3]–[1]`, these two: with new numbers they
    /// would look like a range of others.
    pub(super) fn range_of_brackets(&self, read: &Numbers, end: usize) -> Option<(Numbers, usize)> {
        let [first] = read.numbers[..] else { return None };
        let next = self.text[end..].strip_prefix(numbers::RANGE_SIGNS).filter(|next| next.starts_with(OPENING))?;
        let at = self.text.len() - next.len();
        let &close = self.closing.get(&at)?;
        let [last] = Numbers::read(&self.text[self.next_char(at)..close])?.numbers[..] else { return None };
        let behind = self.next_char(close);
        if self.text[behind..].starts_with('(') || first == last {
            return None;
        }
        let is_short = usize::try_from(last.abs_diff(first)).is_ok_and(|more| more < numbers::MOST_NUMBERS);
        let all = || (first..=last).collect::<Vec<u32>>();
        let are_known = |numbers: &Vec<u32>| !numbers.is_empty() && self.targets(numbers).is_some();
        let range = if is_short { Some(all()).filter(are_known) } else { None };
        let numbers = range.or_else(|| Some(vec![first, last]).filter(are_known))?;
        Some((Numbers { numbers, ..*read }, behind))
    }

    /// Leaves a bracket as text: a number in plain brackets, as we write citations, gets a backslash, which says that
    /// it is none.
    pub(super) fn shown(&mut self, at: usize, end: usize) -> Option<usize> {
        let inside = self.text[at..end].strip_prefix('[')?.strip_suffix(']')?;
        let is_number = inside.bytes().all(|byte| byte.is_ascii_digit()) && matches!(inside.parse(), Ok(1..=999_u32));
        (is_number && at >= self.formula).then(|| self.replace(at, at + 1, [Piece::Text("\\[")]))
    }

    /// Returns the sources of `[1a]`, when the model's own list has all of its numbers.
    pub(super) fn lettered(&self, from: usize, at: usize, inside: &str) -> Option<Vec<usize>> {
        if at < self.formula || self.numbering.named(inside, self.before.line).is_some() || self.starts_line(from) {
            return None;
        }
        let numbers = pinpoint::lettered(inside, &self.behind(at))?;
        self.all_known(&numbers)
    }

    /// Reads `[^name]`: a citation when the footnote is nothing but a source.
    pub(super) fn footnote(&mut self, from: usize, name: &str, end: usize) -> Option<usize> {
        if self.text[end..].starts_with(':') && self.starts_line(from) {
            return None;
        }
        let spaced = self.is_space(from);
        let piece = match self.numbering.target(&name.trim().to_lowercase(), self.before.line)? {
            Target::Source(index) => Some(Piece::Cite { indices: vec![index], spaced }),
            Target::Foreign => None,
            Target::Remark => return None,
        };
        self.parsed.dropped += u32::from(piece.is_none());
        Some(self.put_citation(from, end, piece))
    }

    /// Reads `(Source 1)` or `(Refs. 2, 3)`: a citation when the model's own list has all of the numbers.
    pub(super) fn worded_numbers(&mut self, at: usize, inside: &str, (end, to): (usize, usize)) -> Option<usize> {
        let word = &inside[..inside.find(|c: char| !c.is_alphabetic()).unwrap_or(inside.len())];
        let read = Numbers::read(inside).filter(|_| numbers::is_word_for_source(word))?;
        self.parsed.numbers.extend(&read.numbers);
        let targets = self.targets(&read.numbers)?;
        if targets.iter().all(|target| !matches!(target, Target::Source(_))) {
            return Some(self.remove(at, end, to));
        }
        Some(self.cite_targets(at, end, &targets))
    }

    /// Reads the number in `Source 1` in running text: a citation when the model's own list has it.
    pub(super) fn number_of_source(&mut self, at: usize, to: usize) -> Option<usize> {
        if self.numbering.is_empty() || at < self.formula {
            return None;
        }
        let digits = self.text[at..to].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + digits;
        if !numbers::names_one_source(&self.behind(at)) || numbers::goes_on(&self.text[end..]) {
            return None;
        }
        let index = self.numbering.source(self.text[at..end].parse().ok()?, self.before.line)?;
        Some(self.replace(at, end, [Piece::Cite { indices: vec![index], spaced: false }]))
    }

    /// Returns where numbers lead, when there are any and the model's own list has all of them.
    pub(super) fn targets(&self, numbers: &[u32]) -> Option<Vec<Target>> {
        self.leads(numbers).collect::<Option<Vec<_>>>().filter(|targets| !targets.is_empty())
    }

    /// Returns where each number leads; `None` for one that the model's own list does not have.
    fn leads(&self, numbers: &[u32]) -> impl Iterator<Item = Option<Target>> {
        numbers.iter().map(|number| self.numbering.target(&number.to_string(), self.before.line))
    }

    /// Returns the source behind each number, if it is known.
    fn sources_of(&self, numbers: &[u32]) -> impl Iterator<Item = Option<usize>> {
        numbers.iter().map(|&number| self.numbering.source(number, self.before.line))
    }

    /// Puts what was retrieved of `targets` in the place of the text between `at` and `end`.
    pub(super) fn cite_targets(&mut self, at: usize, end: usize, targets: &[Target]) -> usize {
        let sources: Vec<_> = targets.iter().map(|target| target.source()).collect();
        let indices = self.known(&sources);
        self.put_citation(at, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced: false }))
    }

    /// Returns whether only markers of headings, quotations, lists and tables stand before this place.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        self.behind(at).chars().all(|c| c.is_whitespace() || ">-*+•|#".contains(c))
    }

    /// Returns the sources behind numbers, if there are any and all of them are known.
    pub(super) fn all_known(&self, numbers: &[u32]) -> Option<Vec<usize>> {
        if numbers.is_empty() {
            return None;
        }
        self.sources_of(numbers).collect()
    }
}
