//! What to ask: a question taken apart, each part made to stand alone, and search queries for it.

use super::{
    bounds,
    lists::{has, is_listed, listed},
};
use crate::text::{self, Language, is_number, is_stop_word, is_unspaced, lower_words, related, stem, terms, words};

/// Topics that one question is split into at most.
const MAX_TOPICS: usize = 3;
/// Content words without which a part of a question is no topic of its own.
const LEAST_WORDS: usize = 2;
/// Words of the question that a part takes along at most.
const CARRIED_WORDS: usize = 8;
/// Parts of a question that are looked at.
const MAX_PARTS: usize = 12;
/// What stands between clauses, the longest first.
const BETWEEN_CLAUSES: [&str; 9] = [", and ", ", und ", "; ", ", ", " and ", " und ", "\u{ff0c}", "\u{ff1b}", ","];
/// Where a question begins with its interrogative, it does so within so many characters.
const OPENING_CHARS: usize = 100;
/// Words of a keyword query.
const KEYWORDS: usize = 10;
const MAX_QUERY_CHARS: usize = 400;
/// Related words that stand for one word of a topic.
const WORDS_FOR_ONE: usize = 3;

/// Returns the single questions in `question`, in order, as written; at least one. Words in brackets at its end, as
/// [`topics`] puts them there, are not part of any.
pub(super) fn parts(question: &str) -> Vec<String> {
    let question = bounds::question(question);
    let sentences = text::split(without_carried(question));
    let mut parts: Vec<String> =
        sentences.iter().flat_map(|sentence| clauses(&sentence.text)).take(MAX_PARTS).collect();
    if parts.is_empty() {
        parts.push(question.trim().to_owned());
    }
    parts
}

/// Returns a topic without the words that it carries along for searching.
pub(super) fn without_carried(topic: &str) -> &str {
    let topic = topic.trim();
    topic.strip_suffix(')').and_then(|topic| topic.rsplit_once(" (")).map_or(topic, |(own, _)| own)
}

/// Cuts the sentence before each clause that asks something of its own.
fn clauses(sentence: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut start = 0;
    // `under the contract`, `in 2030` only lead to a question.
    let leads = |head: &str| begins_with("prepositions", head) && !has("interrogatives", head);
    // After a demand (`name the miller, the day of the fire`) each such thing is asked for.
    let is_list = begins_with("demands", sentence);
    for (at, _) in sentence.char_indices() {
        let Some(mark) = BETWEEN_CLAUSES.iter().find(|mark| sentence[at..].starts_with(**mark)) else { continue };
        let (head, tail) = (sentence.get(start..at).unwrap_or_default().trim(), &sentence[at + mark.len()..]);
        if !head.is_empty() && !leads(head) && (asks(tail) || is_list && begins_with("determiners", tail)) {
            clauses.push(head.to_owned());
            start = at + mark.len();
        }
    }
    clauses.push(sentence[start..].trim().to_owned());
    joined(clauses, |_, clause| is_bare(clause))
}

/// Joins each text to the one before, where both together mean more.
fn joined(texts: Vec<String>, belongs: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for text in texts {
        match joined.last_mut() {
            Some(before) if belongs(before, &text) => *before = format!("{before}, {text}"),
            _ => joined.push(text),
        }
    }
    joined
}

/// Returns whether a clause asks without a word of its own (`and for how long?`): alone it means nothing, and no source
/// answers it.
fn is_bare(clause: &str) -> bool {
    let is_bare =
        |word: &String| ["interrogatives", "prepositions", "measures"].iter().any(|list| is_listed(list, word));
    !clause.starts_with(is_unspaced) && lower_words(clause).iter().all(is_bare)
}

/// Returns whether its first word is one of a list.
fn begins_with(name: &str, text: &str) -> bool {
    lower_words(text::start(text, OPENING_CHARS)).first().is_some_and(|word| is_listed(name, word))
}

/// Returns whether a question begins here.
fn asks(text: &str) -> bool {
    if text.chars().next().is_some_and(is_unspaced) {
        return listed("interrogatives in Chinese").any(|word| text.contains(word));
    }
    let words = lower_words(text::start(text, OPENING_CHARS));
    let first = words.iter().take(3).find(|word| !is_listed("prepositions", word));
    first.is_some_and(|first| is_listed("interrogatives", first))
}

/// Returns whether it asks for several things of a kind.
pub(super) fn asks_for_list(question: &str) -> bool {
    let lower = question.trim_start().to_lowercase();
    listed("overviews").any(|opening| lower.starts_with(opening)) || has("each", &lower) && lower.contains(" and ")
}

/// Returns whether a word, in lower case, says how something is asked rather than what about.
pub(super) fn only_asks(word: &str, language: Language) -> bool {
    is_stop_word(word, language) || is_listed("comparing", word)
}

/// Returns topics to research side by side, each to be understood without the others; one when in doubt.
pub(super) fn topics(brief: &str) -> Vec<String> {
    let parts = joined_parts(parts(brief));
    match parts.as_slice() {
        [] | [_] => vec![brief.trim().to_owned()],
        parts => parts.iter().map(|part| standing_alone(part, &parts[0], brief)).collect(),
    }
}

/// Returns [`names`] without the nouns of German, which an article or an adjective goes before.
pub(super) fn proper_names(text: &str) -> Vec<&str> {
    let mut names = names(text);
    if Language::of(text) != Language::German {
        return names;
    }
    let all = words(text);
    let ends = |word: &str| ["e", "en", "er", "es", "em"].iter().any(|ending| word.ends_with(ending));
    let is_before_noun =
        |word: &str| is_listed("German articles", word) || ends(word) && word.starts_with(char::is_lowercase);
    let is_noun = |name: &str| all.windows(2).find(|pair| pair[1] == name).is_some_and(|pair| is_before_noun(pair[0]));
    names.retain(|name| is_number(name) || !is_noun(name));
    names
}

/// Returns the pieces of a text without spaces that say what is asked about, without the words that ask.
pub(super) fn telling(text: &str) -> Vec<&str> {
    let mut pieces = vec![text];
    for small in listed("small in Chinese") {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(small)).collect();
    }
    pieces.into_iter().filter(|piece| piece.chars().nth(1).is_some()).collect()
}

/// Joins parts to at most [`MAX_TOPICS`], none so short that it means nothing alone.
fn joined_parts(parts: Vec<String>) -> Vec<String> {
    let is_small = |part: &str| terms(part, Language::of(part)).len() < LEAST_WORDS;
    let mut topics = joined(parts, |before, part| is_small(part) || is_small(before));
    if topics.len() > MAX_TOPICS {
        let rest = topics.split_off(MAX_TOPICS - 1).join(", ");
        topics.push(rest);
    }
    topics
}

/// Returns the part with the names and, where it only says "it", the subject of the first part.
fn standing_alone(part: &str, first: &str, brief: &str) -> String {
    let mut carried = names(brief);
    if has("pronouns", part) || carried.is_empty() {
        carried.extend(keywords(first));
    }
    carried = unseen(carried, lower_words(part));
    carried.truncate(CARRIED_WORDS);
    if carried.is_empty() { part.to_owned() } else { format!("{part} ({})", carried.join(" ")) }
}

/// Returns names and numbers: capitalised words that do not begin a sentence, and words with digits.
pub(super) fn names(text: &str) -> Vec<&str> {
    let language = Language::of(text);
    let is_name = |word: &&str| {
        let before = text[..word.as_ptr() as usize - text.as_ptr() as usize].trim_end();
        let begins = before.is_empty() || before.ends_with(['.', '?', '!', ':']);
        let is_capital = word.starts_with(char::is_uppercase) && !begins;
        (is_capital || is_number(word)) && !is_stop_word(&word.to_lowercase(), language)
    };
    words(text).into_iter().filter(is_name).collect()
}

/// Returns queries from the topic itself to its rarest words, then with other words for the same thing: in English, or
/// German if it is in English, and in its own language.
pub(super) fn queries(topic: &str) -> Vec<String> {
    let mut queries = vec![topic.to_owned(), keywords(without_carried(topic)).join(" "), rarest(topic).join(" ")];
    let own = Language::of(topic);
    let other = if own == Language::English { Language::German } else { Language::English };
    queries.extend([other, own].into_iter().filter_map(|language| in_words_of(topic, own, language)));
    let shortened = queries.iter().map(|query| shortened(query).to_owned()).filter(|query| !query.is_empty());
    unseen(shortened.collect(), Vec::new())
}

/// Returns the names of the topic and, for each of its other words, related words of `language`; `None` if there are
/// none.
fn in_words_of(topic: &str, own: Language, language: Language) -> Option<String> {
    let asked = asked_words(topic);
    let reworded = |word: &String| {
        let related = related(&stem(&word.to_lowercase(), own), own).into_iter();
        let others = related.filter(|(other, of)| *of == language && other != word).map(|(other, _)| other.to_owned());
        let others: Vec<String> = others.take(WORDS_FOR_ONE).collect();
        if others.is_empty() { vec![word.clone()] } else { others }
    };
    let reworded: Vec<String> = asked.iter().flat_map(reworded).collect();
    (reworded != asked).then(|| reworded.join(" "))
}

/// Returns the words that a topic asks with; pairs of characters where a script has no spaces.
fn asked_words(topic: &str) -> Vec<String> {
    let pieces = |word: &str| match word.starts_with(is_unspaced) {
        true => terms(word, Language::Chinese),
        false => vec![word.to_owned()],
    };
    keywords(topic).into_iter().flat_map(pieces).collect()
}

/// Returns a query that asks for less, for when the first ones brought nothing.
pub(super) fn broader_query(topic: &str) -> String {
    let words = longest(keywords(topic)).join(" ");
    if words.is_empty() { shortened(topic).to_owned() } else { words }
}

/// Returns the two longest words.
fn longest(mut words: Vec<&str>) -> Vec<&str> {
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    words.truncate(2);
    words
}

fn shortened(query: &str) -> &str {
    text::start(query.trim(), MAX_QUERY_CHARS)
}

fn keywords(topic: &str) -> Vec<&str> {
    let language = Language::of(topic);
    let says_much = |word: &&str| {
        let lower = word.to_lowercase();
        !only_asks(&lower, language) && (lower.chars().count() > 1 || is_number(&lower))
    };
    let mut keywords = unseen(words(topic).into_iter().filter(says_much).collect(), Vec::new());
    keywords.truncate(KEYWORDS);
    keywords
}

/// Returns each of the texts once, in whatever case, and none of those in `seen`, which are in lower case.
fn unseen<T: AsRef<str>>(mut texts: Vec<T>, mut seen: Vec<String>) -> Vec<T> {
    texts.retain(|text| {
        let lower = text.as_ref().to_lowercase();
        let is_new = !seen.contains(&lower);
        seen.push(lower);
        is_new
    });
    texts
}

/// Returns names and numbers with the longest other words: what few documents have.
fn rarest(topic: &str) -> Vec<&str> {
    let (names, mut keywords) = (names(topic), keywords(topic));
    let longest = longest(keywords.iter().copied().filter(|word| !names.contains(word)).collect());
    keywords.retain(|word| names.contains(word) || longest.contains(word));
    keywords.truncate(6);
    keywords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_nouns_and_chinese_is_cut_where_it_asks() {
        assert_eq!(proper_names("Was kostet ein Zimmer im Gasthaus von Holt?"), ["Holt"]);
        assert_eq!(telling("游客中心的成人票多少钱"), ["游客中心", "成人票"]);
    }

    #[test]
    fn questions_are_taken_apart_where_they_ask_again() {
        let check = |question: &str, expected: &[&str]| assert_eq!(parts(question), expected, "{question}");
        check("Name the last miller, and the day of the fire.", &["Name the last miller", "the day of the fire."]);
        check("When was it founded, and by how many members?", &["When was it founded", "by how many members?"]);
        check(
            "Why did it stop, which batch was to blame, and when was it back?",
            &["Why did it stop", "which batch was to blame", "when was it back?"],
        );
        check("Wer unterschrieb für A und B, und wie viel Geld?", &["Wer unterschrieb für A und B", "wie viel Geld?"]);
        check("When was the gate closed, and for how long?", &["When was the gate closed, for how long?"]);
        check("Wann war das Tor zu, wie lange und warum?", &["Wann war das Tor zu, wie lange, warum?"]);
        check("Which divers and boats may enter?", &["Which divers and boats may enter?"]);
        check("Under the contract, what is due, and when?", &["Under the contract, what is due, when?"]);
        check("According to Ada, who left, and who came?", &["According to Ada, who left", "who came?"]);
        check("In what year was it built, and by whom?", &["In what year was it built, by whom?"]);
        check("几点闭馆\u{ff1f}成人票多少钱\u{ff1f}", &["几点闭馆\u{ff1f}", "成人票多少钱\u{ff1f}"]);
    }

    #[test]
    fn an_overview_is_a_list() {
        assert!(asks_for_list("Give an overview of the turbines: dates and output."));
        assert!(!asks_for_list("Who gave an overview of the turbines?"));
    }

    #[test]
    fn topics_stand_alone() {
        let check = |brief: &str, expected: &[&str]| assert_eq!(topics(brief), expected, "{brief}");
        check("What is Tarnvey?", &["What is Tarnvey?"]);
        check(
            "When was the mill founded, and by how many members?",
            &["When was the mill founded, and by how many members?"],
        );
        check(
            "Where must Hovendrift send an engineer, and what penalty did it pay after the Petrel incident?",
            &[
                "Where must Hovendrift send an engineer (Petrel)",
                "what penalty did it pay after the Petrel incident? (Hovendrift send engineer)",
            ],
        );
    }

    #[test]
    fn no_more_than_three_topics_are_made() {
        let brief = "What did the mill cost? Who built the old harbour? When was the first ship launched? Where is the lost bell today?";
        assert_eq!(topics(brief).len(), 3);
    }

    #[test]
    fn words_that_compare_are_not_searched_for() {
        assert_eq!(keywords("How do the fares of 2031 compare with those of 2029?"), ["fares", "2031", "2029"]);
        assert_eq!(keywords("Vergleiche Fähre und Brücke"), ["Fähre", "Brücke"]);
    }

    #[test]
    fn queries_go_from_the_topic_to_its_rarest_words() {
        let check = |topic: &str, expected: &[&str]| assert_eq!(queries(topic), expected, "{topic}");
        check(
            "Why did the turbine Petrel stop in November 2030?",
            &[
                "Why did the turbine Petrel stop in November 2030?",
                "turbine Petrel stop November 2030",
                "maschine anlage Petrel enden endet schließen November 2030",
                "machine Petrel end close finish November 2030",
            ],
        );
        check("herring", &["herring"]);
        check(
            "Was kostet der Hering?",
            &["Was kostet der Hering?", "kostet Hering", "cost price charge Hering", "kosten preis gebühr Hering"],
        );
        assert_eq!(broader_query("Why did the turbine Petrel stop in November 2030?"), "November turbine");
    }
}
