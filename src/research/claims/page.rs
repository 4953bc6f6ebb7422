//! The text of a source, read once: where its sentences are, and which figures and words stand in them.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
    sync::{Arc, OnceLock},
};

use super::{
    acronyms::Initials,
    borders,
    figure::{Date, Figure, Number, Reading},
    figures,
    hours::PlacedTime,
    keys::{WordKey, word_keys},
    lower::Lower,
    ordinals::{Numbering, Ordinal, ordinals},
    quarters, readings,
    tokens::{Token, clause_ends, sentences, tokens},
    verbatim::Verbatim,
    words::{self, ONE},
};
use crate::{
    domain::{claim::Passage, wording},
    text,
};

/// Words in more sentences say too little to be followed.
const MOST_PLACES: usize = 400;
/// Numbers of a text that are compared one by one.
const MOST_NUMBERS: usize = 3_000;
/// Bytes between a number and one of a smaller unit that belongs to it: a unit, spaces and a short word.
const LONGEST_UNIT: usize = 18;
/// Bytes between numbers that stand side by side.
const LONGEST_GAP: usize = 4;
/// Rows of a table between its head and the last one for which it says what they are.
pub(super) const MOST_ROWS: usize = 500;
/// Sentences before one that may say what it is about.
const MOST_BEFORE: usize = 3;
/// A text with one word of so many of a statement's is in another language, and shares hardly more than names with it.
const FEW: usize = 4;
/// Words of a statement of which a text in the same language has one, if it is about the same; of fewer the text may
/// have said others.
const ENOUGH: usize = 6;
/// Bytes by which the language is recognised.
const LANGUAGE_BYTES: usize = 4_000;
/// Characters of a passage.
const PASSAGE_CHARS: usize = 400;

/// A word and a sentence in one number: most of the key, and behind it the sentence. Pages have thousands of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WordPlace(u64);

impl WordPlace {
    const SENTENCE: u64 = (1 << 24) - 1;
    const BUCKET_BITS: u32 = 9;

    /// Puts key and sentence together. Sentences beyond the last number that there is room for are that one.
    fn new(key: WordKey, sentence: usize) -> Self {
        Self((key & !Self::SENTENCE) | Self::SENTENCE.min(sentence as u64))
    }

    fn sentence(self) -> usize {
        (self.0 & Self::SENTENCE) as usize
    }

    /// Returns them in order, each once. The first bits of keys are spread evenly, so that few share theirs: put in
    /// their places by these, they are nearly sorted.
    fn in_order(places: &[Self]) -> Vec<Self> {
        let bucket = |place: &Self| (place.0 >> (u64::BITS - Self::BUCKET_BITS)) as usize;
        let mut ends = vec![0_usize; 1 << Self::BUCKET_BITS];
        places.iter().for_each(|place| ends[bucket(place)] += 1);
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end - *count;
        }
        let mut ordered = vec![Self(0); places.len()];
        for place in places {
            let at = &mut ends[bucket(place)];
            ordered[*at] = *place;
            *at += 1;
        }
        let mut start = 0;
        for end in ends {
            ordered[start..end].sort_unstable();
            start = end;
        }
        ordered.dedup();
        ordered.shrink_to_fit();
        ordered
    }
}

/// A source as claims are held against it.
#[derive(Debug, Default)]
pub struct Page {
    text: Arc<str>,
    /// Bytes of its sentences, in order, without gaps.
    sentences: Vec<Range<usize>>,
    lower: OnceLock<Lower>,
    pub(super) initials: OnceLock<Initials>,
    ordinals: OnceLock<Vec<Ordinal>>,
    verbatim: OnceLock<Verbatim>,
    /// The ISO 639-1 code of its language, if its beginning makes that certain.
    language: OnceLock<Option<&'static str>>,
    /// How many the numbers of its tables may count, with the sentences that say so, in order.
    pub(super) heads: OnceLock<Vec<(i128, usize)>>,
    /// How many any words say its numbers count.
    pub(super) multiples: OnceLock<Vec<i128>>,
    /// The shares that it says in words, in per cent, with the sentences that do.
    shares: OnceLock<Vec<(i128, usize)>>,
    /// The numbers that it gives to the year before another one: sentences with places among their numbers, in order.
    pub(super) years_before: OnceLock<Vec<(usize, usize)>>,
    /// Words with the sentences they stand in, in order; each pair once.
    words: Vec<WordPlace>,
    /// Numbers likewise.
    numbers: Vec<(i128, usize)>,
    all_numbers: Vec<PlacedNumber>,
    /// What is written as two numbers in two units, in the smaller one.
    sums: Vec<PlacedNumber>,
    dates: Vec<(Date, usize)>,
    times: Vec<PlacedTime>,
    codes: HashMap<String, usize>,
    /// What the text says of itself elsewhere: its title, date and address.
    pub(super) around: Vec<Figure>,
    around_words: HashSet<WordKey>,
}

/// A number of a text and where it stands.
#[derive(Debug)]
pub struct PlacedNumber {
    pub number: Number,
    pub sentence: usize,
    /// Its bytes in the text.
    pub place: Range<usize>,
}

impl Page {
    /// Reads a text; `around` is what else is known of it.
    pub fn read(text: Arc<str>, around: &str) -> Self {
        let mut page = Self { sentences: sentences(&text), ..Self::default() };
        let tokens = tokens(&text);
        let mut sentence = 0;
        page.words.reserve(tokens.len());
        for (key, at) in word_keys(&tokens) {
            while page.sentences.get(sentence).is_some_and(|range| range.end <= at) {
                sentence += 1;
            }
            page.words.push(WordPlace::new(key, sentence));
        }
        let decimal = readings::mark_of_fractions(&tokens);
        page.all_numbers.reserve(tokens.iter().filter(|token| token.is_number()).count().min(MOST_NUMBERS));
        for mut found in figures::figures(&text, &tokens) {
            let sentence = page.sentence_at(found.start);
            let place = found.start..found.end;
            if let Figure::Number(number) = &mut found.figure
                && decimal.is_some_and(|decimal| mark(&text[place.clone()]).is_some_and(|mark| mark != decimal))
            {
                // The reading as a fraction is the second one.
                number.readings.truncate(1);
            }
            if let Figure::Number(number) = &found.figure
                && number.readings.is_empty()
                && let Some(begin) = readings::version_begin(&text[place.clone()])
            {
                page.numbers.push((begin, sentence));
            }
            page.add(found.figure, sentence, place);
        }
        page.add_spaced_codes(&tokens);
        page.words = WordPlace::in_order(&page.words);
        in_order(&mut page.numbers);
        page.all_numbers.shrink_to_fit();
        let around_tokens = super::tokens::tokens(around);
        page.around_words = word_keys(&around_tokens).map(|(key, _)| key).collect();
        page.around = figures::figures(around, &around_tokens).map(|found| found.figure).collect();
        page.text = text;
        page
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text in lower case, made on first use: few statements ask for it, and it takes as much room as the
    /// text.
    pub fn lower(&self) -> &Lower {
        self.lower.get_or_init(|| Lower::of(&self.text, &self.sentences))
    }

    fn add(&mut self, figure: Figure, sentence: usize, place: Range<usize>) {
        match figure {
            Figure::Number(number) => {
                let values = number.readings.iter().map(|reading| reading.value);
                let multiplied = number.readings.iter().filter(|_| number.multiple != 1);
                let unmultiplied = multiplied.map(|reading| reading.value / number.multiple);
                // Of `6,9 %` neither is a number by itself.
                let is_one = number.is_percent || number.unit.is_some() || number.multiple > 1;
                let parts = number.parts.iter().copied().filter(|_| !is_one);
                self.numbers.extend(values.chain(unmultiplied).chain(parts).map(|value| (value, sentence)));
                self.add_sum(&number, &place);
                if self.all_numbers.len() < MOST_NUMBERS {
                    self.all_numbers.push(PlacedNumber { number, sentence, place });
                }
            }
            Figure::Date(dates) => {
                for date in dates {
                    let parts = [date.year.map(i128::from), date.day.map(i128::from)];
                    for part in parts.into_iter().flatten() {
                        self.numbers.push((part * ONE, sentence));
                    }
                    self.dates.push((date, sentence));
                }
            }
            Figure::Time(hour, minute) => {
                self.numbers.push((i128::from(hour) * ONE, sentence));
                self.times.push(PlacedTime { hour, minute, place });
            }
            Figure::Code(code) => {
                self.numbers.extend(numbers_of(&code).map(|number| (number, sentence)));
                self.codes.insert(squeezed(&code), sentence);
            }
            Figure::Identifier(identifier) => _ = self.codes.insert(squeezed(&identifier), sentence),
        }
    }

    /// Adds the sum of a number in a smaller unit and the one right before it: `2 h 15 min` are 135 minutes.
    fn add_sum(&mut self, number: &Number, place: &Range<usize>) {
        let Some(before) = self.all_numbers.last() else { return };
        let units = before.number.unit.zip(number.unit).filter(|(one, next)| one.quantity == next.quantity);
        let is_next = place.start.saturating_sub(before.place.end) <= LONGEST_UNIT;
        let (Some((large, small)), [whole], [part]) =
            (units.filter(|_| is_next), &before.number.readings[..], &number.readings[..])
        else {
            return;
        };
        let is_part = large.size > small.size && part.value.saturating_mul(small.size) < large.size.saturating_mul(ONE);
        let sum = whole.value.checked_mul(large.size / small.size).and_then(|value| value.checked_add(part.value));
        if let Some(value) = sum.filter(|_| is_part && large.size % small.size == 0) {
            let readings = vec![Reading { value, step: ONE }];
            let sum = Number { readings, ..number.clone() };
            let placed = PlacedNumber { number: sum, sentence: before.sentence, place: before.place.start..place.end };
            if self.all_numbers.len() < MOST_NUMBERS {
                self.sums.push(placed);
            }
        }
    }

    /// Adds codes that are written with a space, `LH 401`, which others write without one.
    fn add_spaced_codes(&mut self, tokens: &[Token<'_>]) {
        for pair in tokens.windows(2) {
            let [letters, digits] = pair else { continue };
            let are_capitals = letters.is_word() && letters.text.bytes().all(|byte| byte.is_ascii_uppercase());
            let are_digits = digits.text.bytes().all(|byte| byte.is_ascii_digit());
            if are_capitals && are_digits && (2..=4).contains(&letters.text.len()) && digits.at == letters.end() + 1 {
                let sentence = self.sentence_at(letters.at);
                let code = format!("{}{}", letters.text.to_lowercase(), digits.text);
                self.codes.entry(code).or_insert(sentence);
            }
        }
    }

    fn sentence_at(&self, byte: usize) -> usize {
        self.sentences.partition_point(|sentence| sentence.end <= byte).min(self.sentences.len().saturating_sub(1))
    }

    /// Returns the sentences that hold the number, however it is written there.
    pub fn sentences_with(&self, value: i128) -> impl Iterator<Item = usize> {
        with_key(&self.numbers, value).iter().map(|(_, sentence)| *sentence)
    }

    /// Returns the sentences with an ordinal in words or a Roman figure that counts to the number and may be meant by
    /// a statement that numbers something so. Few statements ask for it.
    pub fn sentences_with_ordinal(&self, value: i128, numbering: &Numbering) -> impl Iterator<Item = usize> {
        let ordinals = self.ordinals.get_or_init(|| ordinals(&self.text));
        let from = ordinals.partition_point(|ordinal| ordinal.value < value);
        let same = ordinals[from..].iter().take_while(move |ordinal| ordinal.value == value);
        let is_meant = |ordinal: &&Ordinal| numbering.is_of(ordinal, |word| self.has_word(word));
        same.filter(is_meant).map(|ordinal| self.sentence_at(ordinal.at))
    }

    /// Returns the shares in words, in millionths of a per cent, each with its sentences, read on first use likewise.
    pub fn shares(&self) -> &[(i128, usize)] {
        self.shares.get_or_init(|| {
            let mut shares: Vec<(i128, usize)> = self.lower().shares().collect();
            in_order(&mut shares);
            shares
        })
    }

    /// Returns the numbers, as many as are compared one by one, in order.
    pub fn numbers(&self) -> &[PlacedNumber] {
        &self.all_numbers
    }

    /// Returns what is written in two units, `2 h 15 min`, as numbers of the smaller one.
    pub fn sums(&self) -> &[PlacedNumber] {
        &self.sums
    }

    /// Returns those of them that stand in a sentence.
    pub fn numbers_in(&self, sentence: usize) -> &[PlacedNumber] {
        let from = self.all_numbers.partition_point(|placed| placed.sentence < sentence);
        let count = self.all_numbers[from..].partition_point(|placed| placed.sentence == sentence);
        &self.all_numbers[from..from + count]
    }

    /// Returns the sentence in which a number is written the same, or its parts stand with nothing but marks between
    /// them. `3,4 million` is neither `3,4 billion` nor three and four.
    pub fn side_by_side(&self, number: &Number) -> Option<usize> {
        let values = number.parts.as_slice();
        if values.is_empty() {
            return None;
        }
        let is_written_so = |placed: &&PlacedNumber| {
            let there = &placed.number;
            let is_as_large = |reading: &Reading| number.is_as_large(there, reading.value);
            there.parts == values
                && there.multiple == number.multiple
                && number.counts_as(there)
                && (number.readings.is_empty() || number.readings.iter().any(is_as_large))
                && !self.bounds_otherwise(number, placed)
        };
        if let Some(placed) = self.all_numbers.iter().find(is_written_so) {
            return Some(placed.sentence);
        }
        let is_row = |row: &&[PlacedNumber]| {
            let is_value = |(placed, value): (&PlacedNumber, &i128)| placed.number.is(*value);
            let is_near = |pair: &[PlacedNumber]| {
                let between = &self.text[pair[0].place.end..pair[1].place.start];
                between.len() <= LONGEST_GAP && !between.contains(char::is_alphanumeric)
            };
            row.iter().zip(values).all(is_value) && row.windows(2).all(is_near)
        };
        let mut rows = self.all_numbers.windows(values.len()).filter(|_| number.multiple == 1);
        rows.find(is_row).map(|row| row[0].sentence)
    }

    /// Returns how many of the words stand in each sentence; words in very many of them do not count.
    pub fn shared_words(&self, keys: &BTreeSet<WordKey>) -> Vec<u16> {
        let mut shared = vec![0_u16; self.sentences.len()];
        let places = keys.iter().map(|key| self.places(*key)).filter(|places| places.len() <= MOST_PLACES);
        for sentence in places.flatten().map(|place| place.sentence()) {
            shared[sentence] = shared[sentence].saturating_add(1);
        }
        shared
    }

    /// Returns the sentences that are rows of tables.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.sentences.len()).filter(|at| self.sentence(*at).starts_with('|'))
    }

    pub fn sentence(&self, sentence: usize) -> &str {
        self.sentences.get(sentence).map_or("", |range| &self.text[range.clone()])
    }

    /// Returns the first byte of a sentence.
    pub fn start_of(&self, sentence: usize) -> usize {
        self.sentences.get(sentence).map_or(self.text.len(), |range| range.start)
    }

    /// Returns the clause of its sentence in which a number stands.
    pub fn clause(&self, placed: &PlacedNumber) -> &str {
        let Some(range) = self.sentences.get(placed.sentence) else { return "" };
        let before = &self.text[range.start..placed.place.start];
        // A long stretch may be cut within the number.
        let after = self.text.get(placed.place.end..range.end).unwrap_or_default();
        let start = clause_ends(before).last().unwrap_or(0);
        let end = clause_ends(after).next().unwrap_or(after.len());
        &self.text[range.start + start..placed.place.end + end]
    }

    /// Returns a sentence and those that say what it is about: its neighbours in the paragraph, the head of its
    /// table, and the heading above it.
    pub fn context(&self, sentence: usize) -> Vec<usize> {
        let mut context = vec![sentence];
        let mut first = sentence;
        while let Some(before) = self.joined_before(first).filter(|_| context.len() <= MOST_BEFORE) {
            context.push(before);
            first = before;
        }
        context.extend((sentence + 1 < self.sentences.len() && !self.is_ended(sentence)).then_some(sentence + 1));
        let is_row = |at: &usize| self.sentence(*at).trim_start().starts_with('|');
        if is_row(&sentence) {
            let rows = (0..sentence).rev().take(MOST_PLACES).take_while(is_row);
            context.extend(rows.last().into_iter().flat_map(|head| [head, head.saturating_sub(1)]));
        }
        let is_heading = |at: &usize| self.sentence(*at).starts_with('#');
        context.extend((0..sentence).rev().take(MOST_PLACES).find(is_heading));
        context
    }

    /// Returns the sentence before, unless a paragraph ends there. A line without a full stop may be a heading, or go
    /// on.
    fn joined_before(&self, sentence: usize) -> Option<usize> {
        let mut before = (0..sentence).rev().take(MOST_BEFORE);
        let before = before.find(|at| !self.sentence(*at).trim().is_empty())?;
        (!self.is_ended(before)).then_some(before)
    }

    /// Returns whether a line ends with the sentence.
    pub(super) fn ends_line(&self, sentence: usize) -> bool {
        let Some(range) = self.sentences.get(sentence) else { return true };
        let rest = self.text[range.end..].trim_start_matches(' ');
        self.text[range.clone()].ends_with('\n') || rest.is_empty() || rest.starts_with('\n')
    }

    /// Returns whether a paragraph ends with the sentence.
    pub(super) fn is_ended(&self, sentence: usize) -> bool {
        self.ends_line(sentence) && self.sentence(sentence).trim_end().ends_with(['.', '!', '?', '。', '！', '？'])
    }

    /// Returns the first sentence with a date that is the same as far as `date` says; its year may stand anywhere.
    pub fn sentence_with_date(&self, date: Date) -> Option<usize> {
        let fits = |known: &Date| {
            let year =
                date.year.is_none() || known.year == date.year || known.year.is_none() && self.knows_year(date.year);
            let month = date.month.is_none() || known.month == date.month;
            year && month && (date.day.is_none() || known.day == date.day)
        };
        let own = self.dates.iter().find(|(known, _)| fits(known)).map(|(_, sentence)| *sentence);
        let around =
            || self.around.iter().any(|figure| matches!(figure, Figure::Date(dates) if dates.iter().any(fits)));
        own.or_else(|| around().then_some(usize::MAX))
    }

    /// Returns the sentences with a time of day that is such, in the order of these times.
    pub fn sentences_with_time(&self, is_it: impl Fn(&PlacedTime) -> bool) -> impl Iterator<Item = usize> {
        self.times.iter().filter(move |time| is_it(time)).map(|time| self.sentence_at(time.place.start))
    }

    /// Returns the sentence with a code, or with the words for the part of a year that it names.
    pub fn sentence_with_code(&self, code: &str) -> Option<usize> {
        // `h2` stands in `h264` as well.
        let is_part_of_year = quarters::is_part_of_year(code);
        let is_it = |before: &str, behind: &str| !is_part_of_year || borders::is_beside_year(before, behind);
        let written = || self.lower().sentences_where(code, is_it).next();
        let of_year = || self.sentences_with(words::fiscal_year(code)?).next();
        let found = self.known_code(code).or_else(written);
        let of_trimester = || self.lower().sentence_with_part_of_year(&quarters::other_code(code)?);
        found
            .or_else(|| self.sentence_with_part_of_year(code))
            .or_else(of_trimester)
            .or_else(of_year)
            .or_else(|| self.stands_around(code))
    }

    /// Returns the sentence that names the part of a year with this code, as a code or in words.
    pub fn sentence_with_part_of_year(&self, code: &str) -> Option<usize> {
        let of_trimester = || self.known_code(&quarters::other_code(code)?);
        self.known_code(code).or_else(|| self.lower().sentence_with_part_of_year(code)).or_else(of_trimester)
    }

    pub fn sentence_with_identifier(&self, identifier: &str) -> Option<usize> {
        let written = || self.lower().sentence_with_identifier(identifier);
        self.known_code(identifier).or_else(written).or_else(|| self.stands_around(identifier))
    }

    fn known_code(&self, code: &str) -> Option<usize> {
        self.codes.get(&squeezed(code)).copied()
    }

    /// Returns where a word with this key stands in the text.
    fn places(&self, key: WordKey) -> &[WordPlace] {
        let first = WordPlace::new(key, 0);
        let from = self.words.partition_point(|place| *place < first);
        let count = self.words[from..].partition_point(|place| *place <= WordPlace::new(key, usize::MAX));
        &self.words[from..from + count]
    }

    /// Returns whether a statement with these words stands in the text as a whole sentence. Few statements have no
    /// other words than the text, so that few texts are taken apart for this.
    pub fn states(&self, statement: &str, keys: &BTreeSet<WordKey>) -> bool {
        let has_words = !keys.is_empty() && keys.iter().all(|key| !self.places(*key).is_empty());
        has_words && self.verbatim.get_or_init(|| Verbatim::of(&self.text)).has(statement)
    }

    /// Returns whether a word with this key stands in the text, its title or its address.
    pub fn has_word(&self, key: WordKey) -> bool {
        !self.places(key).is_empty() || self.around_words.contains(&key)
    }

    /// Returns the sentences with a word of this key.
    pub fn sentences_of(&self, key: WordKey) -> impl Iterator<Item = usize> {
        self.places(key).iter().map(|place| place.sentence())
    }

    /// Returns whether a word with this key stands in its title or its address.
    pub fn is_around(&self, key: WordKey) -> bool {
        self.around_words.contains(&key)
    }

    /// Returns whether a short name stands in the text as a word, as it is written. Few statements ask for it.
    pub fn has_written(&self, name: &str) -> bool {
        text::has_phrase(&self.text, name)
    }

    /// Returns the first row of the table that a sentence is a row of: it says what its cells are.
    pub(super) fn table_head(&self, sentence: usize) -> Option<usize> {
        let is_row = |at: &usize| self.sentence(*at).starts_with('|');
        (sentence.saturating_sub(MOST_ROWS)..=sentence).rev().take_while(is_row).last()
    }

    /// Returns the ISO 639-1 code of the language, as far as the beginning tells. Few statements depend on it, and
    /// telling takes time.
    pub fn language(&self) -> Option<&'static str> {
        *self.language.get_or_init(|| wording::any_language_code(self.beginning()))
    }

    pub fn beginning(&self) -> &str {
        &self.text[..self.text.floor_char_boundary(LANGUAGE_BYTES)]
    }

    /// Returns whether a sentence, its neighbours or the head of its table hold one of the words. They always do when
    /// the text holds none of them, or hardly any of some, unless it is in one language with them.
    pub fn is_about(&self, sentence: usize, keys: &BTreeSet<WordKey>, is_one_language: impl Fn() -> bool) -> bool {
        let places = keys.iter().map(|key| self.places(*key));
        let shared: Vec<_> = places.filter(|places| !places.is_empty()).collect();
        let stands = |places: &[WordPlace], from: usize, to: usize| {
            let first = places.partition_point(|place| place.sentence() < from);
            places.get(first).is_some_and(|place| place.sentence() <= to)
        };
        let head = self.table_head(sentence);
        let near = |places: &[WordPlace]| {
            stands(places, sentence.saturating_sub(1), sentence + 1)
                || head.is_some_and(|head| stands(places, head, head))
        };
        let are_foreign = || shared.len() * FEW <= keys.len() && !(keys.len() >= ENOUGH && is_one_language());
        are_foreign() || shared.iter().any(|places| near(places))
    }

    /// Returns the sentence that shares most with a claim, figures and rare words counting most; `None` when it
    /// shares nothing.
    pub fn best_sentence(&self, keys: &BTreeSet<WordKey>, figures: &[usize]) -> Option<usize> {
        self.nearest_sentence(keys, figures).map(|(sentence, _)| sentence)
    }

    /// Finds a sentence as [`Self::best_sentence`] does, with how much it shares.
    pub fn nearest_sentence(&self, keys: &BTreeSet<WordKey>, figures: &[usize]) -> Option<(usize, f64)> {
        let mut scores = vec![0.0; self.sentences.len()];
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let places = keys.iter().map(|key| self.places(*key));
        for places in places.filter(|places| (1..=MOST_PLACES).contains(&places.len())) {
            let weight = (1.0 + number(self.sentences.len()) / number(places.len())).ln();
            for place in places {
                scores[place.sentence()] += weight;
            }
        }
        for sentence in figures.iter().filter(|sentence| **sentence < self.sentences.len()) {
            scores[*sentence] += 4.0;
        }
        let shared = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        shared.max_by(|(one, a), (other, b)| a.total_cmp(b).then(other.cmp(one)))
    }

    /// Returns the numbers in a sentence and those around it.
    pub fn numbers_near(&self, sentence: usize, distance: usize) -> impl Iterator<Item = &PlacedNumber> {
        let first = self.all_numbers.partition_point(|placed| placed.sentence + distance < sentence);
        self.all_numbers[first..].iter().take_while(move |placed| placed.sentence <= sentence + distance)
    }

    /// Returns a sentence as a passage, without the white space around it.
    pub fn passage(&self, sentence: usize) -> Option<Passage> {
        let range = self.sentences.get(sentence)?.clone();
        let whole = &self.text[range.clone()];
        let text = whole.trim_start();
        let start = self.text[..range.start].chars().count() + whole[..whole.len() - text.len()].chars().count();
        let text: String = text.trim_end().chars().take(PASSAGE_CHARS).collect();
        let end = start + text.chars().count();
        (!text.is_empty()).then_some(Passage { text, start, end })
    }
}

/// Sorts pairs, and keeps each once.
pub(super) fn in_order<T: Ord>(pairs: &mut Vec<T>) {
    pairs.sort_unstable();
    pairs.dedup();
    pairs.shrink_to_fit();
}

/// Returns those with that key, of pairs in order.
pub(super) fn with_key<T: Ord>(pairs: &[(T, usize)], key: T) -> &[(T, usize)] {
    let from = pairs.partition_point(|(other, _)| *other < key);
    let count = pairs[from..].partition_point(|(other, _)| *other == key);
    &pairs[from..from + count]
}

/// Returns the first mark in a number.
fn mark(number: &str) -> Option<char> {
    number.chars().find(|char| matches!(char, '.' | ','))
}

/// Returns the numbers in a code, and the year of a fiscal one.
pub(super) fn numbers_of(code: &str) -> impl Iterator<Item = i128> {
    let year = words::fiscal_year(code);
    let digits = code.split(|char: char| !char.is_ascii_digit()).filter(move |_| year.is_none());
    digits.filter_map(|digits| digits.parse::<i128>().ok()?.checked_mul(ONE)).chain(year)
}

pub(super) fn squeezed(code: &str) -> String {
    code.chars().filter(|char| char.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::keys::word_key, *};

    #[test]
    fn places_of_a_word_are_those_of_its_sentences() {
        let page = Page::read("The gate opens.\nGulls nest.\nA Gate, the gate closes.\n".into(), "");
        let places = |word: &str| -> Vec<usize> {
            page.places(word_key(word).unwrap()).iter().map(|place| place.sentence()).collect()
        };
        assert_eq!((places("gate"), places("gulls"), places("boats")), (vec![0, 2], vec![1], vec![]));
        assert_eq!(WordPlace::new(WordKey::MAX, usize::MAX).sentence(), (1 << 24) - 1);
    }

    #[test]
    fn heads_and_shares_are_those_that_the_text_names() {
        let page = Page::read("A third of the boats left.\n\n| Cost (in thousands) |\n| 5 |\n".into(), "");
        assert_eq!((page.heads().collect(), page.shares()), (vec![1_000], &[(3_333 * ONE / 100, 0)][..]));
        let headed = |figure: &str| {
            let found = figures::figures(figure, &tokens(figure)).next().map(|found| found.figure);
            let Some(Figure::Number(number)) = found else { panic!("{figure}") };
            page.heads_for(&number).collect::<Vec<i128>>()
        };
        assert_eq!([headed("999"), headed("1000"), headed("5 million")], [vec![], vec![1_000], vec![1_000]]);
        let page = Page::read("The boats left.\n".into(), "");
        assert!(page.heads().next().is_none() && page.shares().is_empty());
    }
}
