//! Texts that were read lately. The sources of a note are read when it is checked, and minutes later once more for the
//! report that cites them; reading is most of what the check takes.

use std::{collections::VecDeque, hash::BuildHasher, sync::Arc};

use foldhash::fast::FixedState;

use super::texts::CitedPage;

/// Bytes of all texts together. What is made of a text takes about eight times as much.
const MOST_BYTES: usize = 1024 * 1024;
/// Bytes of one text: a longer one would take the place of all others.
const LONGEST: usize = MOST_BYTES / 8;
/// Texts, so that looking for one is short.
const MOST: usize = 1_000;

/// Texts as they were read, the oldest first.
#[derive(Debug)]
pub struct Recent {
    pages: VecDeque<(u64, Arc<CitedPage>)>,
    bytes: usize,
}

impl Recent {
    pub const fn new() -> Self {
        Self { pages: VecDeque::new(), bytes: 0 }
    }

    /// Returns what was made of a text.
    pub fn get(&self, text: &str, around: &str) -> Option<Arc<CitedPage>> {
        self.position(hash(text), text, around).map(|at| Arc::clone(&self.pages[at].1))
    }

    /// Returns what was made of a text, and lets go of it.
    pub fn take(&mut self, text: &str, around: &str) -> Option<Arc<CitedPage>> {
        let (_, page) = self.pages.remove(self.position(hash(text), text, around)?)?;
        self.bytes -= page.text().len();
        Some(page)
    }

    /// Keeps what was made of a text, in place of the oldest ones.
    pub fn keep(&mut self, page: &Arc<CitedPage>) {
        let (length, hash) = (page.text().len(), hash(page.text()));
        if length > LONGEST || self.position(hash, page.text(), page.around()).is_some() {
            return;
        }
        self.bytes += length;
        self.pages.push_back((hash, Arc::clone(page)));
        while self.pages.len() > MOST || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.pages.pop_front() else { break };
            self.bytes -= oldest.text().len();
        }
    }

    fn position(&self, wanted: u64, text: &str, around: &str) -> Option<usize> {
        let is_it =
            |(hash, page): &(u64, Arc<CitedPage>)| *hash == wanted && page.text() == text && page.around() == around;
        self.pages.iter().rposition(is_it)
    }
}

/// Returns what tells most texts apart; who looks for one compares it as a whole.
fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, around: &str) -> Arc<CitedPage> {
        Arc::new(CitedPage::read(text.into(), around.to_owned()))
    }

    #[test]
    fn a_text_is_known_with_what_else_is_known_of_it() {
        let mut recent = Recent::new();
        let page = read("The gate cost 412 crowns.", "Gate");
        recent.keep(&page);
        recent.keep(&page);
        assert_eq!(recent.pages.len(), 1);
        assert!(recent.get("The gate cost 412 crowns.", "Lock").is_none());
        assert!(recent.get("The gate cost 421 crowns.", "Gate").is_none());
        let known = recent.get("The gate cost 412 crowns.", "Gate");
        assert!(known.is_some_and(|known| Arc::ptr_eq(&known, &page)));
        assert!(recent.take("The gate cost 412 crowns.", "Gate").is_some());
        assert_eq!((recent.pages.len(), recent.bytes), (0, 0), "who takes a text is the last one to ask for it");
    }

    #[test]
    fn the_oldest_texts_go_first_and_a_long_one_is_not_kept() {
        let mut recent = Recent::new();
        recent.keep(&read(&"x".repeat(LONGEST + 1), ""));
        assert!(recent.pages.is_empty());
        let texts: Vec<String> = (0..10).map(|digit| digit.to_string().repeat(LONGEST)).collect();
        texts.iter().for_each(|text| recent.keep(&read(text, "")));
        assert_eq!((recent.pages.len(), recent.bytes), (8, MOST_BYTES));
        assert!(recent.get(&texts[1], "").is_none());
        assert!(recent.get(&texts[2], "").is_some());
        (0..=MOST).for_each(|number| recent.keep(&read(&number.to_string(), "")));
        assert_eq!(recent.pages.len(), MOST);
        assert!(recent.get("0", "").is_none());
    }
}
