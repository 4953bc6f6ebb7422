//! Which sentences answer a question best: shared words weighted by how rare they are among all sentences at hand,
//! helped by headings and neighbours, and by numbers, dates or names where the question asks for them.

use std::collections::{HashMap, HashSet};

use super::plan;
use super::sentences::{Sentence, is_row, is_signature};
use super::words::{self, is_number};

/// Weights of a shared word by where it stands; in the sentence itself it is 1.
const IN_HEADING: f64 = 0.35;
const IN_TITLE: f64 = 0.5;
const IN_SENTENCE_BEFORE: f64 = 0.3;
/// What the sentences before that one still say about this one: so much less each, and so many of them.
const FADING: f64 = 0.65;
const SENTENCES_BEFORE: usize = 4;
const IN_SENTENCE_AFTER: f64 = 0.12;
/// Weight of words that belong to another part of the question.
const OF_OTHER_PART: f64 = 0.25;
/// A sentence with the kind of thing asked for gains so much of its score.
const FITTING_KIND: f64 = 0.8;
/// What is no statement counts so much: questions, and lines that are no sentences.
const NO_STATEMENT: f64 = 0.6;
/// The first sentence of a text tells what it is about.
const FIRST: f64 = 1.1;
/// Content words of a sentence of usual length; longer ones count less.
const USUAL_LENGTH: f64 = 14.0;

/// A text and its title, split.
#[derive(Clone, Debug)]
pub(super) struct Piece<'a> {
    pub title: &'a str,
    pub sentences: &'a [Sentence],
}

/// Scores of all sentences of all pieces, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    /// For each part of the question, the score of each sentence; at least one part.
    pub parts: Vec<Vec<f64>>,
    /// The best of the parts, each brought to a scale from 0 to 1.
    pub overall: Vec<f64>,
}

/// Kinds of things that a question can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Money,
    Date,
    Duration,
    Person,
    Place,
    Reason,
}

/// How a question asks for each kind; the first word must begin a word of the question.
const ASKING: &[(Kind, &[&str])] = &[
    (
        Kind::Number,
        &[
            "how many",
            "how large",
            "how big",
            "how high",
            "how far",
            "how deep",
            "how strong",
            "how much",
            "how tall",
            "how fast",
            "number of",
            "percent",
            "share of",
            "strongest",
            "highest",
            "lowest",
            "largest",
            "maximum",
            "minimum",
            "wie viel",
            "wie groß",
            "wie hoch",
            "wie weit",
            "anzahl",
            "多少",
            "几",
            "多大",
        ],
    ),
    (
        Kind::Money,
        &[
            "cost",
            "price",
            "pay",
            "paid",
            "penalty",
            "salary",
            "earn",
            "fee",
            "wage",
            "revenue",
            "budget",
            "expensive",
            "kosten",
            "preis",
            "geld",
            "zahl",
            "gehalt",
            "钱",
            "票价",
            "价格",
            "费",
        ],
    ),
    (
        Kind::Date,
        &[
            "when",
            "what year",
            "which year",
            "what date",
            "the date",
            "since",
            "wann",
            "seit",
            "datum",
            "什么时候",
            "何时",
            "哪年",
            "日期",
        ],
    ),
    (
        Kind::Duration,
        &[
            "how long",
            "how soon",
            "within what time",
            "what time",
            "how many days",
            "how many hours",
            "duration",
            "wie lange",
            "几点",
            "多久",
            "多长时间",
            "小时",
        ],
    ),
    (Kind::Person, &["who", "whom", "whose", "wer", "wen", "wem", "wessen", "谁"]),
    (Kind::Place, &["where", "wo ", "woher", "wohin", "哪里", "在哪", "哪儿"]),
    (Kind::Reason, &["why", "what caused", "reason", "blame", "warum", "weshalb", "wieso", "为什么", "原因"]),
];

const MONEY: &[&str] = &[
    "eur", "euro", "euros", "usd", "gbp", "dollar", "dollars", "pounds", "cent", "cents", "yuan", "chf", "francs",
    "franken",
];
const MONEY_SIGNS: &[&str] = &["€", "$", "£", "¥", "元", "欧元"];
const TIME_UNITS: &[&str] = &[
    "second", "minute", "hour", "day", "week", "month", "year", "sekunde", "minut", "stund", "tag", "woch", "monat",
    "jahr",
];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
];
const REASONS: &[&str] = &[
    "because",
    "caused",
    "cause",
    "due to",
    "reason",
    "therefore",
    "as a result",
    "owing",
    "weil",
    "wegen",
    "aufgrund",
    "grund",
    "因为",
    "由于",
    "原因",
];

/// Scores every sentence of `pieces` for `question`.
pub(super) fn rank(question: &str, pieces: &[Piece<'_>]) -> Scores {
    let parts = plan::parts(question);
    let vocabulary = Vocabulary::of(question, &parts, pieces);
    let found: Vec<Vec<Found>> = pieces.iter().map(|piece| vocabulary.found_in(piece)).collect();
    let documents = documents(pieces, &found);
    let mut scores: Vec<Vec<f64>> = Vec::new();
    for part in &parts {
        let weights = vocabulary.weights(part);
        let kinds = kinds(part);
        let of_piece = |(piece, found): (&Piece<'_>, &Vec<Found>)| {
            piece_scores(piece, found, &documents[piece.title], &weights, &kinds)
        };
        scores.push(pieces.iter().zip(&found).flat_map(of_piece).collect());
    }
    let count = pieces.iter().map(|piece| piece.sentences.len()).sum();
    if scores.is_empty() {
        scores.push(vec![0.0; count]);
    }
    Scores { overall: overall(&scores, count), parts: scores }
}

/// The places of `scores`, best first, equal ones in order.
pub(super) fn best_first(scores: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
    places
}

fn overall(parts: &[Vec<f64>], count: usize) -> Vec<f64> {
    let mut overall = vec![0.0_f64; count];
    for scores in parts {
        let best = scores.iter().copied().fold(0.0, f64::max);
        if best > 0.0 {
            for (all, score) in overall.iter_mut().zip(scores) {
                *all = all.max(score / best);
            }
        }
    }
    overall
}

/// The words of the question, numbered, and how rare each is.
struct Vocabulary {
    numbers: HashMap<String, usize>,
    rarity: Vec<f64>,
}

/// What a sentence has of the vocabulary, each word once.
struct Found {
    own: Vec<usize>,
    heading: Vec<usize>,
    title: Vec<usize>,
    /// Content words in all.
    length: usize,
}

impl Vocabulary {
    fn of(question: &str, parts: &[String], pieces: &[Piece<'_>]) -> Self {
        let mut numbers = HashMap::new();
        for term in words::terms(question).into_iter().chain(parts.iter().flat_map(|part| words::terms(part))) {
            let next = numbers.len();
            numbers.entry(term).or_insert(next);
        }
        let mut vocabulary = Self { rarity: vec![0.0; numbers.len()], numbers };
        let mut counts = vec![0_u32; vocabulary.rarity.len()];
        let mut all = 0_u32;
        for sentence in pieces.iter().flat_map(|piece| piece.sentences) {
            all += 1;
            for number in vocabulary.numbers_in(&sentence.text).0 {
                counts[number] += 1;
            }
        }
        for (rarity, count) in vocabulary.rarity.iter_mut().zip(counts) {
            *rarity = (1.0 + (f64::from(all) - f64::from(count) + 0.5) / (f64::from(count) + 0.5)).ln();
        }
        vocabulary
    }

    /// The question's words in `text`, each once, and how many content words it has.
    fn numbers_in(&self, text: &str) -> (Vec<usize>, usize) {
        let terms = words::terms(text);
        let mut numbers: Vec<usize> = terms.iter().filter_map(|term| self.numbers.get(term).copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        (numbers, terms.len())
    }

    fn found_in(&self, piece: &Piece<'_>) -> Vec<Found> {
        let title = self.numbers_in(piece.title).0;
        let mut headings: HashMap<&str, Vec<usize>> = HashMap::new();
        let found = piece.sentences.iter().map(|sentence| {
            let heading = headings.entry(&sentence.heading).or_insert_with(|| self.numbers_in(&sentence.heading).0);
            let (own, length) = self.numbers_in(&sentence.text);
            Found { own, heading: heading.clone(), title: title.clone(), length }
        });
        found.collect()
    }

    /// What each word of the question is worth for one part of it.
    fn weights(&self, part: &str) -> Vec<f64> {
        let own: HashSet<usize> = self.numbers_in(part).0.into_iter().collect();
        let weight =
            |(number, rarity): (usize, &f64)| if own.contains(&number) { *rarity } else { rarity * OF_OTHER_PART };
        self.rarity.iter().enumerate().map(weight).collect()
    }
}

/// The words of the question in each whole document: pieces of the same title are of the same document.
fn documents<'a>(pieces: &[Piece<'a>], found: &[Vec<Found>]) -> HashMap<&'a str, Vec<usize>> {
    let mut documents: HashMap<&str, Vec<usize>> = HashMap::new();
    for (piece, found) in pieces.iter().zip(found) {
        let document = documents.entry(piece.title).or_default();
        document.extend(found.iter().flat_map(|found| &found.own));
        document.sort_unstable();
        document.dedup();
    }
    documents
}

fn piece_scores(piece: &Piece<'_>, found: &[Found], document: &[usize], weights: &[f64], kinds: &[Kind]) -> Vec<f64> {
    let beginnings = beginnings(piece);
    let score = |index: usize| {
        let (here, text) = (&found[index], piece.sentences[index].text.as_str());
        let mut shares = vec![0.0_f64; weights.len()];
        let mut see = |numbers: &[usize], share: f64| {
            for number in numbers {
                shares[*number] = shares[*number].max(share);
            }
        };
        see(&here.own, 1.0);
        see(&here.heading, IN_HEADING);
        see(&here.title, IN_TITLE);
        // Who signs a letter says all of it.
        if is_signature(text) {
            see(document, IN_SENTENCE_BEFORE);
        }
        let mut share = IN_SENTENCE_BEFORE;
        for before in (0..beginnings[index]).rev().take(SENTENCES_BEFORE) {
            see(&found[before].own, share);
            share *= FADING;
        }
        if let Some(after) = found.get(index + 1) {
            see(&after.own, IN_SENTENCE_AFTER);
        }
        let shared: f64 = shares.iter().zip(weights).map(|(share, weight)| share * weight).sum();
        let first = if index == 0 { FIRST } else { 1.0 };
        shared * first * brevity(here.length) * substance(text) * (1.0 + FITTING_KIND * fit(text, kinds))
    };
    (0..found.len()).map(score).collect()
}

/// Where the table of each row begins; for other sentences their own place. What stands before is what they go on from.
fn beginnings(piece: &Piece<'_>) -> Vec<usize> {
    let mut beginnings = Vec::with_capacity(piece.sentences.len());
    let mut table = None;
    for (place, sentence) in piece.sentences.iter().enumerate() {
        table = if is_row(&sentence.text) { table.or(Some(place)) } else { None };
        beginnings.push(table.unwrap_or(place));
    }
    beginnings
}

/// Below 1 for questions and for lines that are neither sentences nor rows nor `name: value`.
fn substance(text: &str) -> f64 {
    let ends = text.ends_with(|char: char| ".!…\u{3002}\u{ff01}".contains(char) || "\"”’»)”".contains(char));
    if ends || text.contains(": ") || is_signature(text) || text.contains(|char: char| char.is_ascii_digit()) {
        1.0
    } else {
        NO_STATEMENT
    }
}

/// Below 1 for sentences that are long enough to have many words by chance, and for fragments that say nothing.
fn brevity(length: usize) -> f64 {
    let length = f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    let long = 1.0 / (0.75 + 0.25 * (length / USUAL_LENGTH).max(1.0));
    if length < 3.0 { 0.6 } else { long }
}

/// What the question asks for; may be empty.
fn kinds(part: &str) -> Vec<Kind> {
    let text = format!(" {} ", part.to_lowercase());
    let asked = |words: &str| match words.chars().next() {
        Some(first) if words::is_cjk(first) => text.contains(words),
        _ => text.contains(&format!(" {words}")),
    };
    ASKING.iter().filter(|(_, phrases)| phrases.iter().any(|words| asked(words))).map(|(kind, _)| *kind).collect()
}

/// The share of the kinds asked for that the sentence has, 0 to 1.
fn fit(sentence: &str, kinds: &[Kind]) -> f64 {
    if kinds.is_empty() {
        return 0.0;
    }
    let raw = words::raw(sentence);
    let has = kinds.iter().filter(|kind| has_kind(sentence, &raw, **kind)).count();
    let share = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    share(has) / share(kinds.len())
}

fn has_kind(sentence: &str, raw: &[String], kind: Kind) -> bool {
    let number = || raw.iter().any(|word| is_number(word));
    let word_of = |list: &[&str]| raw.iter().any(|word| list.contains(&word.as_str()));
    let phrase_of = |list: &[&str]| {
        let lower = sentence.to_lowercase();
        list.iter().any(|words| lower.contains(words))
    };
    match kind {
        Kind::Number => has_quantity(sentence),
        Kind::Money => number() && (word_of(MONEY) || phrase_of(MONEY_SIGNS)),
        Kind::Date => has_date(raw) || sentence.contains('年') || sentence.contains('月'),
        Kind::Duration => {
            number()
                && (has_unit(raw) || raw.iter().any(|word| word.contains(':')) || phrase_of(&["小时", "分钟", "天"]))
        }
        Kind::Person => has_full_name(sentence),
        Kind::Place => has_place(sentence),
        Kind::Reason => phrase_of(REASONS),
    }
}

/// A number with something counted or measured behind it, a percentage, or a number that is no year at all.
fn has_quantity(sentence: &str) -> bool {
    let words = words::written(sentence);
    let is_word = |word: &str| {
        let lower = word.to_lowercase();
        !is_number(word) && !words::is_stop_word(&lower) && !MONTHS.contains(&lower.as_str())
    };
    let counted = words.windows(2).any(|pair| is_number(pair[0]) && is_word(pair[1]));
    counted || sentence.contains('%') || words.iter().any(|word| is_number(word) && word.contains([',', '.']))
}

fn has_date(raw: &[String]) -> bool {
    let year = |word: &String| word.len() == 4 && matches!(word.get(..2), Some("17" | "18" | "19" | "20"));
    raw.iter()
        .any(|word| (year(word) && word.bytes().all(|byte| byte.is_ascii_digit())) || MONTHS.contains(&word.as_str()))
}

fn has_unit(raw: &[String]) -> bool {
    raw.iter().any(|word| TIME_UNITS.iter().any(|unit| word.starts_with(unit) && word.len() <= unit.len() + 2))
}

/// Two capitalised words in a row, the first of which does not begin the sentence with a small word.
fn has_full_name(sentence: &str) -> bool {
    let words = words::written(sentence);
    let is_name = |word: &str| {
        let mut chars = word.chars();
        let capital = chars.next().is_some_and(char::is_uppercase);
        capital && chars.any(char::is_lowercase) && !words::is_stop_word(&word.to_lowercase())
    };
    words
        .windows(2)
        .any(|pair| is_name(pair[0]) && is_name(pair[1]) && sentence.contains(&format!("{} {}", pair[0], pair[1])))
}

/// A preposition of place before a capitalised word.
fn has_place(sentence: &str) -> bool {
    const PLACES: [&str; 13] =
        ["in", "at", "to", "on", "near", "from", "behind", "beside", "nach", "auf", "bei", "an", "im"];
    let words = words::written(sentence);
    let names = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase) && !MONTHS.contains(&word.to_lowercase().as_str())
    };
    words.windows(2).any(|pair| PLACES.contains(&pair[0]) && names(pair[1])) || sentence.contains('在')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::sentences::split;

    fn best(question: &str, text: &str) -> String {
        let sentences = split(text);
        let scores = rank(question, &[Piece { title: "", sentences: &sentences }]);
        sentences[best_first(&scores.overall)[0]].text.clone()
    }

    #[test]
    fn the_kind_of_thing_asked_for_decides_between_equals() {
        let text =
            "The mill was built by the creek. The mill was built in 1764. The mill was built by Josiah Ambleton.";
        let check = |question: &str, expected: &str| assert_eq!(best(question, text), expected, "{question}");
        check("When was the mill built?", "The mill was built in 1764.");
        check("Who built the mill?", "The mill was built by Josiah Ambleton.");
    }

    #[test]
    fn rare_words_count_more_than_common_ones() {
        let text = "The harbour is deep. The harbour is old. The harbour is busy. Herring was landed there.";
        assert_eq!(best("herring in the harbour", text), "Herring was landed there.");
    }

    #[test]
    fn neighbours_and_headings_help() {
        let text = "There were two millstones.\nThe other was taken to the chapel at Sallow Bay.\nSoup was served.";
        let sentences = split(text);
        let scores = rank("Where is the second millstone?", &[Piece { title: "", sentences: &sentences }]).overall;
        assert!(scores[1] > scores[2], "{scores:?}");
    }

    #[test]
    fn nothing_to_rank_is_no_trouble() {
        assert_eq!(rank("", &[]).overall, Vec::<f64>::new());
        assert_eq!(rank("what?", &[Piece { title: "", sentences: &split("One sentence.") }]).overall, [0.0]);
    }
}
