//! Messages that ask for what only a language model can do: another form of the report, another language, or plain
//! talk. They get an answer at once, instead of having their words researched.
//!
//! A message is one of these when it says nothing else: each of its words is in a list of ours. A real question has
//! words of its subject in it, and no list (`requests.txt`) knows a subject.

use super::lists::list;
use crate::text::{Language, is_in, is_unspaced, start};

/// More words than any such request has.
const MAX_WORDS: usize = 24;
/// Characters of the longest word of a script without spaces.
const MAX_UNSPACED: usize = 4;

/// Returns what is to be said to a message that asks for what only a language model can do; `None` for all others.
pub fn declined(message: &str) -> Option<&'static str> {
    let words = words(message)?;
    let answer = answer_to(&words)?;
    let hits = |language: &Language| words.iter().filter(|word| knows(*language, word)).count();
    // The first of those with the most words in common: English where several have as many.
    let language = Language::ALL.into_iter().rev().max_by_key(hits)?;
    Some(list_of(language, answer))
}

/// Returns which answer is to be given to the words together, if all of them are known: to talk, such as thanks, praise
/// or a greeting, or to a wish for the same text in another form or language.
fn answer_to(words: &[String]) -> Option<&'static str> {
    let any = |name: &str| words.iter().any(|word| Language::ALL.iter().any(|of| is_in(list_of(*of, name), word)));
    let is_digits = |word: &String| word.chars().all(|char| char.is_ascii_digit());
    if !words.iter().all(|word| is_digits(word) || Language::ALL.iter().any(|of| knows(*of, word))) {
        return None;
    }
    if any("change") || (words.len() > 1 && any("tongues")) {
        return Some("answer_to_change");
    }
    any("talk").then_some("answer_to_talk")
}

fn knows(language: Language, word: &str) -> bool {
    ["talk", "change", "tongues", "fillers"].iter().any(|name| is_in(list_of(language, name), word))
}

/// Returns a list of `requests.txt`.
fn list_of(language: Language, name: &str) -> &'static str {
    list(&format!("{} {name}", language.code()))
}

/// Returns the words in lower case; `None` when there are none, or more than a request has.
fn words(message: &str) -> Option<Vec<String>> {
    let spaced = message.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = spaced.flat_map(|word| unspaced(&word.to_lowercase())).take(MAX_WORDS + 1).collect();
    (1..=MAX_WORDS).contains(&words.len()).then_some(words)
}

/// Cuts text without spaces into the words it is made of, the longest first; what is unknown, or of a script with
/// spaces, stays whole.
fn unspaced(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while !rest.is_empty() && words.len() <= MAX_WORDS {
        let mut heads = (1..=MAX_UNSPACED).rev().map(|length| start(rest, length));
        let known = heads.find(|head| head.starts_with(is_unspaced) && knows(Language::Chinese, head));
        let word = known.unwrap_or(rest);
        words.push(word.to_owned());
        rest = &rest[word.len()..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_language_model_can_do_is_declined_in_the_language_of_the_request() {
        let check = |requests: &[&str], (language, answer): (Language, &str)| {
            let expected = list_of(language, answer);
            requests.iter().for_each(|request| assert_eq!(declined(request), Some(expected), "{request}"));
        };
        let talk = |language| (language, "answer_to_talk");
        let change = |language| (language, "answer_to_change");
        let english = [
            "shorter",
            "Shorter, please!",
            "Can you make it shorter?",
            "Make a table.",
            "in French",
            "Please translate the report into German.",
            "Summarise it in three sentences",
            "Could you rewrite this as bullet points, with no more than 200 words?",
            "tl;dr",
        ];
        check(&english, change(Language::English));
        check(&["thanks", "Thank you very much!", "ok", "Great job, thanks a lot!", "Hi"], talk(Language::English));
        let german = [
            "kürzer bitte",
            "Bitte auf Deutsch",
            "Übersetze den Bericht ins Französische",
            "Fasse es in drei Sätzen zusammen.",
            "Als Tabelle, bitte.",
        ];
        check(&german, change(Language::German));
        check(&["danke", "Vielen Dank!"], talk(Language::German));
        check(
            &["plus court", "En français, s'il vous plaît.", "Résume le rapport en trois phrases"],
            change(Language::French),
        );
        check(&["merci beaucoup"], talk(Language::French));
        check(&["más corto, por favor", "en español", "Tradúcelo al inglés"], change(Language::Spanish));
        check(&["muchas gracias"], talk(Language::Spanish));
        check(&["请翻译成英文", "短一点", "用中文"], change(Language::Chinese));
        check(&["谢谢!"], talk(Language::Chinese));
    }

    #[test]
    fn questions_are_never_declined() {
        let questions = [
            "",
            "???",
            "2030",
            "Why?",
            "How much?",
            "French",
            "And the loan?",
            "What is lent as a loan?",
            "Thanks! And who proposed the site?",
            "Summarise the contract with Hovendrift.",
            "Which turbine is the shortest?",
            "Make a table of the turbines with their power.",
            "How is the press release in French different?",
            "Who wrote the short report?",
            "What does the German partner town pay?",
            "List all the long stops of 2030",
            "Tell me more about the battery",
            "more",
            "Wer hat den Bericht geschrieben?",
            "Wie kurz ist das Zeitfenster?",
            "Und auf Deutsch: wer unterschrieb?",
            "Quel est le court terme du contrat?",
            "¿Cuánto cuesta la tabla?",
            "用户指南有法语版吗?",
            "成人票多少钱?",
        ];
        for question in questions {
            assert_eq!(declined(question), None, "{question}");
        }
        for line in include_str!("../../examples/questions.jsonl").lines() {
            let question: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(declined(question["question"].as_str().unwrap()), None);
        }
        assert_eq!(declined(&"thanks ".repeat(1_000)), None);
        assert_eq!(declined(&"谢谢".repeat(10_000)), None);
    }

    #[test]
    fn every_answer_is_two_sentences_and_names_the_way_out() {
        for answer in
            Language::ALL.iter().flat_map(|of| ["answer_to_talk", "answer_to_change"].map(|name| list_of(*of, name)))
        {
            for name in ["`--model`", "`FATHOM_MODEL`", "`openai:gpt-4.1`", "`OPENAI_API_KEY`"] {
                assert!(answer.contains(name), "{answer}");
            }
            assert!(!answer.contains('\n') && !answer.contains("  "), "{answer}");
        }
    }
}
