//! What kind of thing a question asks for, and whether a sentence has one that the question has not: money, a date, a
//! person, so many of something.

use std::collections::HashSet;

use super::{
    count,
    lists::{has, is_listed, listed},
};
use crate::text::{
    Language, is_date, is_in, is_number, is_row, is_stop_word, is_unspaced, lower_words, month_by_name, words,
};

/// The kinds, by the names of their lists; of those at the end it takes a number with a unit.
const KINDS: &str = "money pay date time duration person place name reason share often phone count number \
    mass length heat energy volume area";

/// Words behind a number among which what it counts stands.
const COUNTED_AFTER: usize = 4;

/// The kinds that a question asks for; may be none.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    kinds: Vec<&'static str>,
    /// Words of the question: what it says itself is no answer to it.
    asked: HashSet<String>,
}

impl Kinds {
    /// Reads the kinds that a `part` of `question` asks for.
    pub fn asked_by(part: &str, question: &str) -> Self {
        let text = without_conjunctions(&part.to_lowercase());
        let text = format!(" {} ", text.replace(['?', '.', ',', '\u{ff1f}'], " "));
        let asks = |name: &str| listed(&format!("ask {name}")).any(|phrase| asks(&text, phrase));
        let mut kinds: Vec<&str> = KINDS.split_whitespace().filter(|kind| asks(kind)).collect();
        // `How much did it cost` asks for money, `how long` for a time, and any number would not do.
        let vague = |kind: &&str| is_in("number count", kind);
        if kinds.iter().any(|kind| !vague(kind) && !is_in("date reason place", kind)) {
            kinds.retain(|kind| !vague(kind));
        }
        for (narrow, wide) in [("count", "number"), ("pay", "money")] {
            let narrows = kinds.contains(&narrow);
            kinds.retain(|kind| !narrows || *kind != wide);
        }
        Self { kinds, asked: lower_words(question).into_iter().collect() }
    }

    /// Returns whether anything may answer it, as far as kinds go.
    pub fn is_open(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == "reason")
    }

    /// Returns the share of the kinds asked for that the sentence has, 0 to 1; 1 when none is asked for. `counts` says
    /// of a word whether the question has it, in some form.
    pub fn fit(&self, sentence: &str, counts: impl Fn(&str) -> bool) -> f64 {
        let said = Said { text: sentence, words: words(sentence), asked: &self.asked };
        let has = self.kinds.iter().filter(|kind| said.has(kind, &counts)).count();
        if self.kinds.is_empty() { 1.0 } else { count(has) / count(self.kinds.len()) }
    }
}

/// Returns a part of a question without a `when` or `where` inside it that asks nothing: `what to do when it rains`.
fn without_conjunctions(part: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for word in part.split_whitespace() {
        let asks = kept
            .last()
            .is_none_or(|before| before.ends_with([',', ':', ';']) || is_listed("before interrogatives", before));
        let is_conjunction = is_listed("conjunctions", word) && !asks;
        kept.push(if is_conjunction { "-" } else { word });
    }
    kept.join(" ")
}

/// Returns whether the text of a question asks with this phrase.
fn asks(text: &str, phrase: &str) -> bool {
    if phrase.starts_with(is_unspaced) {
        return text.contains(phrase);
    }
    match phrase.split_once(" * ") {
        Some((first, then)) => text.split_once(&format!(" {first} ")).is_some_and(|(_, rest)| rest.contains(then)),
        None => text.contains(&format!(" {phrase}")) || phrase.len() > 4 && text.contains(&format!("{phrase} ")),
    }
}

/// A sentence as far as it may have what is asked for.
struct Said<'a> {
    text: &'a str,
    words: Vec<&'a str>,
    asked: &'a HashSet<String>,
}

impl Said<'_> {
    fn has(&self, kind: &str, counts: &impl Fn(&str) -> bool) -> bool {
        match kind {
            // The rows of a price list seldom name the currency.
            "money" => self.has_amount() && (self.tells("money") || self.has_bare_cell()),
            "pay" => self.has("money", counts) && self.tells("pay"),
            "date" => self.has_date() || self.has_time() || self.has_measure("duration") && has("relative", self.text),
            "time" => self.has_time(),
            "person" => self.has_person(),
            "place" => self.has_place(),
            "name" => self.has_name(),
            "reason" | "often" => self.tells(kind),
            "share" => self.numbers().next().is_some() && self.tells("share"),
            "phone" => self.has_amount() && self.tells("phone") || self.text.contains('@'),
            "count" => self.has_count(counts),
            // In words it counts inside a sentence: `One of them` begins many.
            "number" => self.has_amount() || self.numbers().any(|at| at > 0 && !is_number(self.words[at])),
            measure => self.has_measure(measure),
        }
    }

    fn is_new(&self, word: &str) -> bool {
        !self.asked.contains(&word.to_lowercase())
    }

    /// Returns whether it has a word, sign or phrase of the list.
    fn tells(&self, name: &str) -> bool {
        has(&format!("tell {name}"), self.text)
    }

    /// Returns the places of the numbers, in digits or in words, that the question has not.
    fn numbers(&self) -> impl Iterator<Item = usize> {
        let is_number = |word: &str| is_number(word) || is_listed("spelt numbers", &word.to_lowercase());
        (0..self.words.len()).filter(move |at| is_number(self.words[*at]) && self.is_new(self.words[*at]))
    }

    /// Returns whether it has a number with a unit of the list glued to it or near behind it.
    fn has_measure(&self, name: &str) -> bool {
        let units = format!("tell {name}");
        let is_digit = |char: char| char.is_ascii_digit() || char == '.';
        let is_unit = |word: &&str| has(&units, word.trim_start_matches(is_digit));
        self.numbers().any(|at| self.words[at..].iter().take(4).any(is_unit))
    }

    /// Returns whether it has a year or a month; `may` is none.
    fn has_date(&self) -> bool {
        let is_date = |word: &&&str| is_date(word) || **word != "may" && month_by_name(word).is_some();
        self.words.iter().filter(is_date).any(|word| self.is_new(word)) || self.text.contains(['年', '月'])
    }

    /// Returns whether it has a time of day, or a day of the week.
    fn has_time(&self) -> bool {
        self.numbers().any(|at| self.words[at].contains(':')) || self.tells("time")
    }

    /// Returns whether it has a number in digits that is no year, no day of a month and no time of day.
    fn has_amount(&self) -> bool {
        let is_day = |at: usize| self.words.get(at + 1).is_some_and(|word| month_by_name(word).is_some());
        let is_date = |at: usize| is_date(self.words[at]) || self.words[at].contains(':') || is_day(at);
        self.numbers().any(|at| is_number(self.words[at]) && !is_date(at))
    }

    /// Returns whether it is a row with a number alone in a cell.
    fn has_bare_cell(&self) -> bool {
        let is_bare = |cell: &str| {
            cell.rsplit_once(": ").is_some_and(|(_, value)| value.trim().replace(['.', ','], "").parse::<u64>().is_ok())
        };
        is_row(self.text) && self.text.split(';').any(is_bare)
    }

    /// Returns whether it has a number with what is counted beside it; of a row the numbers are its own.
    fn has_count(&self, counts: &impl Fn(&str) -> bool) -> bool {
        let beside = |at: usize| match is_row(self.text) {
            true => self.words.iter().any(|word| counts(word)),
            false => self.words[at + 1..].iter().take(COUNTED_AFTER).any(|word| counts(word)),
        };
        self.numbers().any(beside) || self.text.contains(is_unspaced) && self.has_amount()
    }

    /// Returns whether it has two capitalised words in a row, neither of which is a small word.
    fn has_person(&self) -> bool {
        let is_name = |word: &&str| {
            let is_written_so = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
            is_written_so && !is_stop_word(&word.to_lowercase(), Language::English)
        };
        self.words.windows(2).any(|pair| pair.iter().all(is_name) && pair.iter().any(|word| self.is_new(word)))
    }

    /// Returns whether it has a preposition of place before an article, or a capitalised word that is new.
    fn has_place(&self) -> bool {
        let is_name = |word: &str| word.starts_with(char::is_uppercase) && month_by_name(word).is_none();
        let is_place = |word: &str| is_name(word) && self.is_new(word) || is_in("the a der dem den", word);
        let is_placed = |pair: &[&str]| is_listed("before places", pair[0]) && is_place(pair[1]);
        self.words.windows(2).any(is_placed) || self.text.contains('在')
    }

    /// Returns whether it has a capitalised word inside the sentence that is not the question's.
    fn has_name(&self) -> bool {
        let is_name = |word: &&&str| word.starts_with(char::is_uppercase) && word.chars().count() > 2;
        self.words.iter().skip(1).filter(is_name).any(|word| self.is_new(word) && month_by_name(word).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_what_questions_ask_for() {
        let check = |question: &str, sentence: &str, expected: f64| {
            let fit = Kinds::asked_by(question, question).fit(sentence, |word| word.starts_with("boat"));
            assert_eq!(fit, expected, "{question} {sentence}");
        };
        check("How much did it cost?", "It cost EUR 9.", 1.0);
        check("How much did it cost?", "There were 9 boats.", 0.0);
        check("How much did it cost?", "It cost 9 crowns.", 1.0);
        check("How much money does she make?", "She makes 900 crowns a month.", 1.0);
        check("How much money does she make?", "She signs what costs more than 900 crowns.", 0.0);
        check("What is the fare?", "Return – Adults: 34.00; Under 16: 17.00", 1.0);
        check("What is the fare?", "Monday – First: 9:00; Last: 18:30", 0.0);
        check("How many boats?", "There were 9 boats.", 1.0);
        check("How many boats?", "There were 9 shops, and behind them the boats of other towns.", 0.0);
        check("When was it?", "In May.", 1.0);
        check("When was it?", "Databases – Date: 9.2.2037; Room: H 104", 1.0);
        check("What does it cost?", "Databases – Date: 9.2.2037; Euros: –", 0.0);
        check("When was the fire of 2031?", "The fire of 2031 is not forgotten.", 0.0);
        check("Who was it?", "It was Ada Lund.", 1.0);
        check("Who was it?", "It was the Mill.", 0.0);
        check("Who followed Ada Lund?", "Ada Lund has left.", 0.0);
        check("How long does it take?", "It takes one hour and forty minutes.", 1.0);
        check("What is the response time?", "Response time: 72 hours.", 1.0);
        check("What is the response time?", "Response: by telephone.", 0.0);
        check("At what wind speed is it shut?", "It is shut in a storm.", 0.0);
        check("What was the cause of the fire?", "The fire was put out.", 0.0);
        check("How heavy is it?", "It weighs 2.3 kg.", 1.0);
        check("How heavy is it?", "It is 14 metres long.", 0.0);
        check("How much energy does it store?", "It stores 2.4 MWh.", 1.0);
        check("How much energy does it store?", "It stores 9 tins.", 0.0);
        check("At what temperature?", "At 134 degrees.", 1.0);
        check("Which company insures it?", "It is insured by Polder Mutual.", 1.0);
        check("Which company insures it?", "It heats the baths.", 0.0);
        check("How often is it emptied?", "It is emptied every other week.", 1.0);
        check("What is the fare?", "Skua – Rated power: 1.2 MW; In service since: 17 June 2027", 0.0);
        check("What is the telephone number?", "Room 3 on the Mole.", 0.0);
        check("What is the telephone number?", "Call 311.", 1.0);
        check("What is the telephone number?", "The list of 2029 had other telephone numbers.", 0.0);
        check("What is the telephone number?", "08:10 Informed by telephone", 0.0);
        check("几点闭馆\u{ff1f}", "10:00至16:00", 1.0);
        check("How early must it be booked?", "Book two weeks ahead.", 0.5);
        check("What is to be done when it burns?", "Close the door.", 1.0);
        check("Since when is it closed?", "Close the door.", 0.0);
        check("¿De cuánto es la fianza?", "La fianza es de 15 coronas.", 1.0);
        check("Is it old?", "Whatever.", 1.0);
    }
}
