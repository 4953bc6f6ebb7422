//! Pages that never were: varied prose, always the same for the same seed, and cheap to put together.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

/// Every paragraph begins with it; a reader of prompts can find the page's own words by it.
pub const MARK: &str = "In the records of ";

const PARAGRAPHS: usize = 128;

static POOL: LazyLock<Vec<String>> = LazyLock::new(|| (0..PARAGRAPHS as u64).map(paragraph).collect());

const PLACES: [&str; 16] = [
    "Aldermere",
    "Brinstead",
    "Corvane",
    "Dunholt",
    "Eastry",
    "Fennick",
    "Garrow",
    "Hythe",
    "Istvale",
    "Jorsand",
    "Kelsing",
    "Lorne",
    "Marrowby",
    "Northam",
    "Ostrava Lock",
    "Penhallow",
];
const SUBJECTS: [&str; 12] = [
    "the tide gauge",
    "the harvest ledger",
    "the grid operator",
    "the harbour board",
    "a panel of engineers",
    "the river survey",
    "the city's archive",
    "an independent audit",
    "the field station",
    "the transit office",
    "a university group",
    "the housing register",
];
const VERBS: [&str; 10] = [
    "measured",
    "reported",
    "estimated",
    "confirmed",
    "revised",
    "disputed",
    "published",
    "recorded",
    "compared",
    "projected",
];
const OBJECTS: [&str; 12] = [
    "a rise of",
    "a fall of",
    "an average of",
    "a peak of",
    "a shortfall of",
    "a surplus of",
    "a backlog of",
    "a median of",
    "a yearly cost of",
    "a reserve of",
    "an error of",
    "a lead of",
];
const UNITS: [&str; 8] =
    ["per cent", "tonnes", "households", "megawatts", "days", "kilometres", "million crowns", "cubic metres"];
const CLOSES: [&str; 8] = [
    "after the second inspection",
    "though earlier figures differ",
    "which two later studies repeat",
    "before the rules were changed",
    "in spite of a dry spring",
    "as the annex explains in detail",
    "and the method has not changed since",
    "for the first time in a decade",
];

/// Returns a number that depends on `text` alone.
pub fn seed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns a page of 5 to 15 thousand characters, paragraphs divided by blank lines; its first sentence names
/// `subject`.
pub fn page(subject: &str, seed: u64) -> String {
    let mut dice = Dice(seed | 1);
    let size = 5_000 + dice.roll(9_000);
    let place = PLACES[dice.roll(PLACES.len())];
    let mut page = String::with_capacity(size + 1_000);
    page.push_str(&format!("{MARK}{place}, the question of {subject} is answered by file {:08x}.", seed as u32));
    while page.len() < size {
        page.push_str("\n\n");
        page.push_str(&POOL[dice.roll(PARAGRAPHS)]);
    }
    page
}

fn paragraph(n: u64) -> String {
    let mut dice = Dice(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut text = format!("{MARK}{}, ", PLACES[dice.roll(PLACES.len())]);
    for sentence in 0..4 + dice.roll(3) {
        let subject = SUBJECTS[dice.roll(SUBJECTS.len())];
        if sentence == 0 {
            text.push_str(subject);
        } else {
            text.push(' ');
            text.extend(subject.chars().take(1).flat_map(char::to_uppercase));
            text.push_str(&subject[1..]);
        }
        let (verb, object) = (VERBS[dice.roll(VERBS.len())], OBJECTS[dice.roll(OBJECTS.len())]);
        let (number, unit) = (2 + dice.roll(970), UNITS[dice.roll(UNITS.len())]);
        let (year, close) = (1990 + dice.roll(36), CLOSES[dice.roll(CLOSES.len())]);
        text.push_str(&format!(" {verb} {object} {number} {unit} in {year}, {close}."));
    }
    text
}

/// xorshift64*: small, quick, and the same everywhere.
struct Dice(u64);

impl Dice {
    /// Returns a number from 0 up to, not including, `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }
}
