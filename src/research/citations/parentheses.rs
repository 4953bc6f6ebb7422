//! Citations in parentheses: `(Source: https://…)`, and `(Smith et al., 2023)` where the model's own list says which
//! work that is.

use super::{
    address::{address_length, is_address},
    grammar::{Piece, Reader},
    numbers::is_citing_word,
    scan::LONGEST_CITATION,
    target::Target,
    works::{self, Cited},
};

impl<'a> Reader<'a, '_> {
    /// Returns what stands between the parentheses that are opened here, when it is certainly a citation.
    pub(super) fn parenthesis(&mut self, at: usize, to: usize) -> Option<usize> {
        let close = *self.closing.get(&at).filter(|&&close| close < to && close - at <= LONGEST_CITATION)?;
        let inside = &self.text[self.next_char(at)..close];
        let end = self.next_char(close);
        if let Some(addresses) = addresses(inside) {
            let known: Vec<_> = addresses.iter().map(|address| self.catalogue.by_url(address)).collect();
            return Some(self.put(at, end, to, &known));
        }
        if at < self.formula {
            return None;
        }
        if let Some(end) = self.worded_numbers(at, inside, (end, to)) {
            return Some(end);
        }
        if let Some(indices) = works::named_before(&self.behind(at), inside).and_then(|cited| self.work(&cited)) {
            return indices.map(|index| self.replace(end, end, [Piece::Cite { indices: vec![index], spaced: true }]));
        }
        let targets = works::cited(inside)?.iter().map(|cited| self.work(cited)).collect::<Option<Vec<_>>>()?;
        Some(self.put(at, end, to, &targets))
    }

    /// Reads works in brackets, as in `[Smith et al., 2023]`.
    pub(super) fn work_in_brackets(&mut self, from: usize, inside: &str, end: usize) -> Option<usize> {
        let targets = works::cited(inside)?.iter().map(|cited| self.work(cited)).collect::<Option<Vec<_>>>()?;
        let spaced = self.is_space(from);
        let indices = self.known(&targets);
        Some(self.put_citation(from, end, (!indices.is_empty()).then_some(Piece::Cite { indices, spaced })))
    }

    /// Returns the source that a work is, or that it is none that was retrieved; `None` when no list has it.
    fn work(&self, cited: &Cited) -> Option<Option<usize>> {
        self.numbering.work(cited).map(Target::source)
    }

    /// Returns those of `targets` that were retrieved, each once; the others are counted.
    pub(super) fn known(&mut self, targets: &[Option<usize>]) -> Vec<usize> {
        let mut known: Vec<usize> = Vec::new();
        for index in targets.iter().flatten() {
            if !known.contains(index) {
                known.push(*index);
            }
        }
        let dropped = targets.iter().filter(|target| target.is_none()).count();
        self.parsed.dropped += u32::try_from(dropped).unwrap_or(u32::MAX);
        known
    }

    /// Puts what was retrieved in the place of the parentheses; takes them out when nothing was.
    fn put(&mut self, at: usize, end: usize, to: usize, targets: &[Option<usize>]) -> usize {
        let indices = self.known(targets);
        if indices.is_empty() {
            // Counted once more by `remove`.
            self.parsed.dropped -= 1;
            return self.remove(at, end, to);
        }
        self.replace(at, end, [Piece::Cite { indices, spaced: false }])
    }
}

/// Returns the addresses behind a word like `Source:`, when there is nothing else.
fn addresses(inside: &str) -> Option<Vec<&str>> {
    let (word, list) = inside.split_once([':', '：'])?;
    if word.trim().is_empty() || !word.split_whitespace().all(is_citing_word) {
        return None;
    }
    let mut addresses = Vec::new();
    for word in list.split_whitespace().filter(|word| !matches!(*word, "and" | "&" | "und" | "et" | "y" | ";" | ",")) {
        let word = word.trim_start_matches('<');
        let length = address_length(word);
        let rest = word[length..].trim_start_matches(['>', ',', ';', '.']);
        (is_address(word) && rest.is_empty()).then(|| addresses.push(&word[..length]))?;
    }
    (!addresses.is_empty()).then_some(addresses)
}
