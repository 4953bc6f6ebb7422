//! Which sentences answer a question best: the words that both share, in any of their forms and languages, weighted by
//! how rare they are among all sentences at hand, helped by headings, titles and neighbours, and by numbers, dates or
//! names where the question asks for them.

use std::{collections::HashMap, iter::successors};

use super::{count, kinds::Kinds, lists::has, plan, statements::Statement};
use crate::text::{
    Language, is_number, is_signature, is_unspaced, month_by_name, related, related_in_compound, stem, terms, words,
};

/// Statements of a text that show its language.
const SAMPLE: usize = 8;
/// Words of a question that are looked for.
const MAX_WORDS: usize = 64;
/// What a related word is worth, and one that is related to a part of a compound.
const RELATED: f64 = 0.75;
const RELATED_IN_COMPOUND: f64 = 0.525;
/// What a word is worth by where it stands; in the sentence itself it is 1.
const IN_HEADING: f64 = 0.6;
const IN_TITLE: f64 = 0.5;
const IN_TITLE_OF_ALL: f64 = 0.8;
const IN_SENTENCE_BEFORE: f64 = 0.5;
const IN_SENTENCE_AFTER: f64 = 0.3;
const NAME_IN_DOCUMENT: f64 = 0.35;
const WORD_IN_DOCUMENT: f64 = 0.1;
/// A word with a greater share stands in the sentence itself or above it.
const STANDS_THERE: f64 = 0.5;
/// What the sentences before still say about this one: so much less each, and so many of them.
const FADING: f64 = 0.65;
const SENTENCES_BEFORE: usize = 4;
const OF_ANOTHER_PARAGRAPH: f64 = 0.5;
/// What the words of the other parts of a question add, and those of the first part to one that refers to it.
const OF_OTHER_PARTS: f64 = 0.2;
const OF_FIRST_PART: f64 = 0.6;
/// A part of a question with fewer words says nothing alone.
const LEAST_WORDS: usize = 2;
/// What is left of the score of a sentence without the kind of thing asked for, and of what is no statement.
const WITHOUT_KIND: f64 = 0.4;
const NO_STATEMENT: f64 = 0.6;
/// Content words of a sentence of usual length; longer ones count less.
const USUAL_LENGTH: f64 = 14.0;
/// A year or another figure that is asked about has at least this share.
const LEAST_OF_FIGURE: f64 = 0.21;
/// A sentence answers when its value reaches this, less for each thing that is asked with (so many of them, since fewer
/// are easily met by chance), and less when anything may answer. Fitted to the questions of `examples/` (see
/// docs/evaluation.md); the first was set by hand, between admitting more and doubting more.
const ANSWERS: f64 = 1.025;
const LESS_FOR_THING: f64 = 0.15;
const MOST_THINGS: usize = 5;
const LESS_FOR_ANY_KIND: f64 = 0.2;

/// What a sentence is worth for a part of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// From 0 to about 1.
    pub value: f64,
    /// Does it seem to answer, rather than to be near?
    pub answers: bool,
    /// How many of the part's own words stand in it, or above it.
    pub words: usize,
}

/// Scores of statements, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    /// For each part of the question; at least one.
    pub parts: Vec<Vec<Score>>,
    /// How many words each part has of its own.
    pub words: Vec<usize>,
    /// The best of the parts, each brought to a scale from 0 to 1.
    pub overall: Vec<f64>,
}

/// Scores every statement for `question`, as it stands in its text.
pub(super) fn rank(question: &str, statements: &[Statement]) -> Scores {
    let mut question = Question::read(question);
    let texts = statements.chunk_by(|one, other| (one.origin, &one.group) == (other.origin, &other.group));
    let texts: Vec<Vec<Matched<'_>>> = texts.map(|text| question.found_in(text)).collect();
    question.weigh(&texts);
    let documents = question.in_documents(&texts);
    let of_text = |text: &Vec<Matched<'_>>| {
        let document = &documents[text[0].statement.group.as_str()];
        (0..text.len()).map(|place| shares(document, text, place)).collect::<Vec<_>>()
    };
    let shares: Vec<Vec<f64>> = texts.iter().flat_map(of_text).collect();
    let of_part = |part: &Part| {
        let statements = texts.iter().flatten().zip(&shares);
        statements.map(|(found, shares)| question.score(part, found, shares)).collect()
    };
    let parts: Vec<Vec<Score>> = question.parts.iter().map(of_part).collect();
    let words = question.parts.iter().map(|part| part.own().filter(|is_own| *is_own).count()).collect();
    Scores { overall: overall(&parts), parts, words }
}

/// Returns the places whose score is at least `least`, best first, equal ones in order.
pub(super) fn best_from(scores: &[f64], least: f64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).filter(|place| scores[*place] >= least).collect();
    places.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    places
}

fn overall(parts: &[Vec<Score>]) -> Vec<f64> {
    let mut overall = vec![0.0_f64; parts.first().map_or(0, Vec::len)];
    for scores in parts {
        let best = scores.iter().map(|score| score.value).fold(0.0, f64::max);
        if best > 0.0 {
            overall.iter_mut().zip(scores).for_each(|(all, score)| *all = all.max(score.value / best));
        }
    }
    overall
}

/// A question taken apart.
struct Question {
    words: Vec<Word>,
    /// Each form of each word, with what it is worth.
    forms: HashMap<String, Vec<(usize, f64)>>,
    parts: Vec<Part>,
}

struct Word {
    /// Of somebody or something, not of a month.
    is_name: bool,
    is_number: bool,
    rarity: f64,
}

struct Part {
    /// What each word of the whole question is worth for it.
    weights: Vec<f64>,
    kinds: Kinds,
}

impl Part {
    /// Returns whether the part has a word itself, for each of the whole question.
    fn own(&self) -> impl Iterator<Item = bool> {
        self.weights.iter().map(|weight| *weight == 1.0)
    }
}

/// A statement, with the words of the question in it and in the heading above it: each word, and its share.
struct Matched<'a> {
    statement: &'a Statement,
    language: Language,
    own: Vec<(usize, f64)>,
    heading: Vec<(usize, f64)>,
    /// Content words in all.
    length: usize,
}

impl Question {
    fn read(text: &str) -> Self {
        let mut question = Self { words: Vec::new(), forms: HashMap::new(), parts: Vec::new() };
        let parts = plan::parts(text);
        let language = Language::of(text);
        let own: Vec<Vec<usize>> = parts.iter().map(|part| question.add(part, language)).collect();
        let count = question.words.len();
        for (number, part) in parts.iter().enumerate() {
            let mut weights = vec![0.0_f64; count];
            let leans = number > 0 && (own[number].len() < LEAST_WORDS || has("pronouns", part));
            own[0].iter().filter(|_| leans).for_each(|word| weights[*word] = OF_FIRST_PART);
            own[number].iter().for_each(|word| weights[*word] = 1.0);
            let kinds = Kinds::asked_by(part, text);
            question.parts.push(Part { weights, kinds });
        }
        question
    }

    /// Returns the numbers of the words of `part`, and adds the new ones.
    fn add(&mut self, part: &str, language: Language) -> Vec<usize> {
        let names = plan::proper_names(part);
        let mut numbers = Vec::new();
        for word in words(part) {
            let lower = word.to_lowercase();
            if word.starts_with(is_unspaced) {
                let pairs = plan::telling(word).into_iter().flat_map(|piece| terms(piece, Language::Chinese));
                numbers.extend(pairs.filter_map(|pair| self.word(&pair, false, language)));
            } else if !plan::only_asks(&lower, language) && (lower.chars().nth(1).is_some() || is_number(&lower)) {
                numbers.extend(self.word(&lower, names.contains(&word), language));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the number of a word, which is new unless another one has its stem; `None` if there are too many.
    fn word(&mut self, word: &str, is_name: bool, language: Language) -> Option<usize> {
        let own = stem(word, language);
        let forms = self.forms.get(&own).map(Vec::as_slice).unwrap_or_default();
        let known = forms.iter().find(|(_, share)| *share == 1.0).map(|(number, _)| *number);
        let number = self.words.len();
        if known.is_some() || number >= MAX_WORDS {
            return known;
        }
        let is_number = is_number(word);
        let is_name = is_name && !is_number && month_by_name(word).is_none();
        self.words.push(Word { is_name, is_number, rarity: 0.0 });
        let own_forms = Language::ALL.map(|of| (stem(word, of), 1.0)).into_iter();
        let related = related(&own, language).into_iter().map(|(other, of)| (stem(other, of), RELATED));
        let in_compound = related_in_compound(&own, language).into_iter();
        let in_compound = in_compound.map(|(other, of)| (stem(other, of), RELATED_IN_COMPOUND));
        for (form, share) in own_forms.chain(related).chain(in_compound) {
            self.forms.entry(form).or_default().push((number, share));
        }
        Some(number)
    }

    /// Returns the question's words in `text`, each once, and how many content words it has.
    fn words_in(&self, text: &str, language: Language) -> (Vec<(usize, f64)>, usize) {
        let terms = terms(text, language);
        let mut found: Vec<(usize, f64)> =
            terms.iter().filter_map(|term| self.forms.get(term)).flatten().copied().collect();
        found.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
        found.dedup_by_key(|(number, _)| *number);
        (found, terms.len())
    }

    fn found_in<'a>(&self, text: &'a [Statement]) -> Vec<Matched<'a>> {
        let begin: String = text.iter().take(SAMPLE).map(|statement| format!("{} ", statement.text)).collect();
        let language = Language::of(&begin);
        let mut headings: HashMap<&str, Vec<(usize, f64)>> = HashMap::new();
        let found = text.iter().map(|statement| {
            let heading = headings.entry(&statement.heading);
            let heading = heading.or_insert_with(|| self.words_in(&statement.heading, language).0).clone();
            let (own, length) = self.words_in(&statement.text, language);
            Matched { statement, language, own, heading, length }
        });
        found.collect()
    }

    /// Weighs each word by how few statements have it.
    fn weigh(&mut self, texts: &[Vec<Matched<'_>>]) {
        let mut having = vec![0; self.words.len()];
        texts.iter().flatten().flat_map(|found| &found.own).for_each(|(number, _)| having[*number] += 1);
        let all = count(texts.iter().map(Vec::len).sum());
        for (word, having) in self.words.iter_mut().zip(having) {
            let having = count(having).max(1.0);
            word.rarity = (1.0 + (all - having + 0.5).max(0.5) / (having + 0.5)).ln();
        }
    }

    /// Returns what each word is worth in a document for standing in its title, or anywhere in it: texts of the same
    /// title are of the same document.
    fn in_documents<'a>(&self, texts: &[Vec<Matched<'a>>]) -> HashMap<&'a str, Vec<f64>> {
        let mut documents: HashMap<&str, Vec<f64>> = HashMap::new();
        for found in texts.iter().flatten() {
            let title = found.statement.group.as_str();
            let document = documents.entry(title).or_insert_with(|| self.in_title(title, found.language));
            for (number, _) in &found.own {
                let worth = if self.words[*number].is_name { NAME_IN_DOCUMENT } else { WORD_IN_DOCUMENT };
                see(document, &[(*number, 1.0)], worth);
            }
        }
        documents
    }

    fn in_title(&self, title: &str, language: Language) -> Vec<f64> {
        let mut shares = vec![0.0; self.words.len()];
        let found = self.words_in(title, language).0;
        let has_all = self.words.len() >= LEAST_WORDS && found.len() == self.words.len();
        see(&mut shares, &found, if has_all { IN_TITLE_OF_ALL } else { IN_TITLE });
        shares
    }

    fn score(&self, part: &Part, found: &Matched<'_>, shares: &[f64]) -> Score {
        let text = found.statement.text.as_str();
        let cover = self.covered(part, shares, |weight| weight);
        let others = self.covered(part, shares, |weight| f64::from(u8::from(weight == 0.0)));
        let fit = part.kinds.fit(text, |word| self.forms.contains_key(&stem(&word.to_lowercase(), found.language)));
        let kind = WITHOUT_KIND + (1.0 - WITHOUT_KIND) * fit;
        let substance = if self.says_something(text, found.language) { 1.0 } else { NO_STATEMENT };
        let value = (cover + OF_OTHER_PARTS * others) * kind * brevity(found.length) * substance;
        let words = part.own().zip(shares).filter(|(is_own, share)| *is_own && **share > STANDS_THERE).count();
        Score { value, answers: self.answers(part, value, shares), words }
    }

    /// Returns whether it is a sentence, a row or `name: value`, and no question; what the question itself says is no
    /// value.
    fn says_something(&self, text: &str, language: Language) -> bool {
        let ends = text.ends_with(|char: char| ".!…\u{3002}\u{ff01}\"”’»)".contains(char));
        let says_new = |(_, value): (&str, &str)| {
            let terms = terms(value, language);
            ends && terms.is_empty() || terms.iter().any(|term| !self.forms.contains_key(term))
        };
        is_number(text) || is_signature(text) || text.split_once(": ").map_or(ends, says_new)
    }

    /// Returns whether a sentence of this value answers a part of the question. It also has to have the years and other
    /// figures that the part asks about, such as `1980` or `E44`.
    fn answers(&self, part: &Part, value: f64, shares: &[f64]) -> bool {
        let asked = || self.words.iter().zip(&part.weights);
        let things = asked().filter(|(word, weight)| **weight > 0.0 && !word.is_name && !word.is_number).count();
        let of_any_kind = if part.kinds.is_open() { LESS_FOR_ANY_KIND } else { 0.0 };
        let has_figure = |((word, weight), share): ((&Word, &f64), &f64)| {
            !word.is_number || *weight < 1.0 || *share >= LEAST_OF_FIGURE
        };
        value >= ANSWERS - LESS_FOR_THING * count(things.min(MOST_THINGS)) - of_any_kind
            && asked().zip(shares).all(has_figure)
    }

    /// Returns the share of the question's words that is covered, each with its weight, the rare ones counting most; 0
    /// when none has a weight.
    fn covered(&self, part: &Part, shares: &[f64], weight: impl Fn(f64) -> f64) -> f64 {
        let weights = self.words.iter().zip(&part.weights).map(|(word, own)| weight(*own) * word.rarity);
        let (covered, all) =
            weights.zip(shares).fold((0.0, 0.0), |sum, (weight, share)| (sum.0 + weight * share, sum.1 + weight));
        if all > 0.0 { covered / all } else { 0.0 }
    }
}

/// Returns what each word is worth for a sentence, by the best place where it stands; takes what it is worth
/// anywhere in the document.
fn shares(document: &[f64], text: &[Matched<'_>], place: usize) -> Vec<f64> {
    let mut shares = document.to_vec();
    let here = &text[place];
    see(&mut shares, &here.own, 1.0);
    see(&mut shares, &here.heading, IN_HEADING);
    let before = successors(Some(IN_SENTENCE_BEFORE), |share| Some(share * FADING)).take(SENTENCES_BEFORE);
    let after = text.get(place + 1).map(|_| (place + 1, IN_SENTENCE_AFTER));
    for (other, share) in (0..place).rev().zip(before).chain(after) {
        let together = text[other].statement.paragraph == here.statement.paragraph;
        see(&mut shares, &text[other].own, if together { share } else { share * OF_ANOTHER_PARAGRAPH });
    }
    shares
}

/// Raises the shares of words to those of a place where they stand.
fn see(shares: &mut [f64], found: &[(usize, f64)], worth: f64) {
    found.iter().for_each(|(number, form)| shares[*number] = shares[*number].max(form * worth));
}

/// Returns less than 1 for sentences that are long enough to have many words by chance, and for fragments that say
/// nothing.
fn brevity(length: usize) -> f64 {
    let length = count(length);
    let long = 1.0 / (0.8 + 0.2 * (length / USUAL_LENGTH).max(1.0));
    if length < 3.0 { 0.7 } else { long }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::split;

    fn said(title: &str, text: &str) -> Vec<Statement> {
        let group = Statement { group: title.into(), ..Statement::default() };
        split(text).into_iter().map(|sentence| group.with(sentence)).collect()
    }

    fn scores(question: &str, text: &str) -> Scores {
        rank(question, &said("", text))
    }

    fn best(question: &str, text: &str) -> (String, bool) {
        let (said, scores) = (said("", text), scores(question, text));
        let place = best_from(&scores.overall, 0.0)[0];
        (said[place].text.clone(), scores.parts[0][place].answers)
    }

    #[test]
    fn the_kind_of_thing_asked_for_decides_between_equals() {
        let text =
            "The mill was built by the creek. The mill was built in 1764. The mill was built by Josiah Ambleton.";
        let check = |question: &str, expected: &str| assert_eq!(best(question, text).0, expected, "{question}");
        check("When was the mill built?", "The mill was built in 1764.");
        check("Who built the mill?", "The mill was built by Josiah Ambleton.");
    }

    #[test]
    fn a_document_whose_title_says_all_that_is_asked_comes_first() {
        let [sheet, minutes] =
            ["Members pay 4 crowns. Guests pay 6 crowns.", "Fares rose by 2 crowns. A mast was bought in 2029."];
        let best = |title: &str| {
            let statements = [said("Minutes", minutes), said(title, sheet)].concat();
            best_from(&rank("What were the fares in 2029?", &statements).overall, 0.0)[0]
        };
        assert_eq!((best("Fares of 2029"), best("Fares of 2031"), best("Members in 2029")), (2, 0, 0));
    }

    #[test]
    fn rare_words_count_more_than_common_ones() {
        let text = "The harbour is deep. The harbour is old. The harbour is busy. Herring was landed there.";
        assert_eq!(best("herring in the harbour", text).0, "Herring was landed there.");
    }

    #[test]
    fn other_words_and_languages_are_understood() {
        let text = "Adults pay EUR 6. The mill burnt down in 1911. Guides speak four languages.";
        assert_eq!(best("What does a ticket for a grown-up cost?", text).0, "Adults pay EUR 6.");
        assert_eq!(best("Wie viel zahlen Erwachsene?", text).0, "Adults pay EUR 6.");
    }

    #[test]
    fn what_is_near_is_no_answer() {
        let text = "Ada Lund has been director since 2029. Ada Lund founded the mill in 1999.";
        assert!(best("When did Ada Lund found the mill?", text).1);
        assert!(!best("What salary does the director Ada Lund earn?", text).1);
        assert!(!best("Which football club does Ada Lund support?", text).1);
        assert!(!best("When did Ada Lund found the mill of 1980?", text).1);
        let text =
            "Six of the 23 lorries are electric. The town of Holt lent 4 lorries. The reading room opens at 9:00.";
        assert!(best("How many lorries did Holt lend?", text).1);
        assert!(!best("How many lorries run on hydrogen?", text).1);
        assert!(!best("How many boats did Holt lend?", text).1);
        assert!(best("At what time does the reading room open?", text).1);
        assert!(!best("What is the telephone number of the reading room?", text).1);
        let text = "Alarm E12 of the P7 means air in the tubing. A device may be borrowed for 14 days.";
        assert!(best("What does alarm E12 mean on the P7?", text).1);
        assert!(!best("What does alarm E44 mean on the P7?", text).1, "another code is about something else");
        assert!(best("How long may wards keep a borrowed device?", text).1, "how long is itself what is asked");
    }

    #[test]
    fn a_line_whose_value_the_question_says_itself_is_no_statement() {
        let value = |line: &str| {
            let text = format!("{line}\n\nThe ferry is old. The harbour is deep. Soup was served.");
            scores("How much will the Saltbox battery store?", &text).parts[0][0].value
        };
        let new = value("What comes next: the Saltbox battery, by the ice house");
        for its_own in ["What comes next: the Saltbox battery", "What comes next: the Saltbox battery."] {
            assert!(value(its_own) < new, "{its_own} {new}");
        }
        assert_eq!(value("Saltbox battery: it did."), value("Saltbox battery, it did."), "small words are new");
    }

    #[test]
    fn few_words_have_to_fit_better_than_many() {
        let text = "The bell was cast in 1790. The tower was built by masons of Holt.";
        assert!(best("When was the bell cast?", text).1);
        assert!(!best("When was the bell sold?", text).1, "one word of two is met by chance");
        let long = "When was the bell of the old chapel beside the harbour cast, as far as anybody knows?";
        assert!(!best(long, text).1);
        let text = "The bell of the chapel beside the harbour was cast in 1790. The tower was built by masons of Holt.";
        assert!(best(long, text).1, "most of many words are not");
    }

    #[test]
    fn neighbours_and_headings_help() {
        let text = "There were two millstones. The other was taken to the chapel at Sallow Bay.\n\nSoup was served.";
        let scores = scores("Where is the second millstone?", text).overall;
        assert!(scores[1] > scores[2], "{scores:?}");
    }

    #[test]
    fn nothing_to_rank_is_no_trouble() {
        assert_eq!(rank("", &[]).overall, Vec::<f64>::new());
        assert_eq!(scores("what?", "One sentence.").overall, [0.0]);
    }
}
