//! How much the offline model reads of what it is given.
//!
//! Everything it does takes time that grows with its input, some of it with the question's length times the text's.
//! So both are cut, and the work is done [aside], never on the runtime's threads: a few posts of nonsense must not
//! silence the service.
//!
//! [aside]: crate::aside

use crate::text::start;

/// Of a question, brief or topic; nobody asks in more, and what follows is not understood anyway.
const QUESTION_CHARS: usize = 2_000;
/// Of a page.
const PAGE_CHARS: usize = 200_000;
/// Of all evidence, or all findings, of one call.
const TEXT_CHARS: usize = 500_000;
const PIECES: usize = 2_000;

/// Returns the part of a question, brief or topic that is read.
pub(super) fn question(text: &str) -> &str {
    start(text, QUESTION_CHARS)
}

/// Returns the part of a page that is read.
pub(super) fn page(text: &str) -> &str {
    start(text, PAGE_CHARS)
}

/// Returns the part of all texts that is read: each gets an equal share of the room, and what it leaves goes to the
/// others.
pub(super) fn texts<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let texts = texts.take(PIECES);
    let share = share(texts.clone().map(str::len));
    texts.map(|text| start(text, share)).collect()
}

/// Returns the length at which texts of these lengths have to be cut to fit into [`TEXT_CHARS`] together.
fn share(lengths: impl Iterator<Item = usize>) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut room = TEXT_CHARS;
    let count = lengths.len();
    for (index, length) in lengths.into_iter().enumerate() {
        let share = room / (count - index);
        if length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_make_room_for_short_ones() {
        assert_eq!(share([10, 20].into_iter()), usize::MAX);
        assert_eq!(share([100, TEXT_CHARS].into_iter()), TEXT_CHARS - 100);
        assert_eq!(share([TEXT_CHARS; 4].into_iter()), TEXT_CHARS / 4);
        assert_eq!(share(std::iter::empty()), usize::MAX);
    }
}
