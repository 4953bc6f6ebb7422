//! What a text is about: its words without the small ones, in a form that related words share.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;
use rust_stemmers::{Algorithm, Stemmer};

use super::{Language, is_number, is_unspaced, words};

/// The longest word that is stemmed; longer ones are no words.
const LONGEST_WORD: usize = 48;

/// Small words of questions that the lists of stop words lack.
const OF_QUESTIONS: &[(Language, &str)] = &[
    (
        Language::English,
        "also any around called currently every exactly give given gives happen happened like list many may me might much must name \
         named one per please present presently nowadays shall since still get gets tell today toward towards upon us versus vs whether within without would yes \
         could",
    ),
    (
        Language::German,
        "bitte derzeit gab gibt heißt heute liste mal mehr nenne seit viele wann warum welch wem wen wer wessen weshalb \
         wieso wieviel wurde wurden woher wohin worden müssen sollen lassen wegen",
    ),
    (
        Language::French,
        "aujourd combien comment donner hui liste où plus pourquoi quand quel quelle quelles quels selon si chez peut peuvent doit doivent",
    ),
    (Language::Spanish, "cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo dónde hoy lista según"),
];

/// Past forms and the like that no rule of endings brings back.
const IRREGULAR: &str = "began:begin begun:begin bought:buy broke:break broken:break brought:bring built:build burnt:burn came:come \
    chose:choose chosen:choose drew:draw drawn:draw drove:drive fallen:fall fell:fall flew:fly forbidden:forbid fought:fight \
    gave:give gone:go went:go grew:grow grown:grow heard:hear held:hold hung:hang kept:keep laid:lay led:lead left:leave \
    lent:lend lost:lose made:make meant:mean met:meet paid:pay ran:run rose:rise risen:rise said:say sank:sink saw:see \
    seen:see sent:send sold:sell spent:spend spoke:speak spoken:speak stood:stand stolen:steal struck:strike taught:teach \
    took:take taken:take thought:think threw:throw told:tell won:win wore:wear written:write wrote:write decision:decide \
    decisions:decide children:child people:person larger:large largest:large bigger:big biggest:big";

/// Endings that make a noun of a verb or an adjective of a noun, and what must remain.
const DERIVATIONS: &[(&str, usize)] = &[
    ("ment", 4),
    ("ship", 4),
    ("anc", 4),
    ("enc", 4),
    ("ness", 4),
    ("ur", 4),
    ("or", 5),
    ("er", 4),
    ("ion", 4),
    ("al", 4),
];

/// The small words of all languages, each with a bit for each language that has it.
static STOP_WORDS: LazyLock<HashMap<&'static str, u8, FixedState>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, u8, FixedState> = HashMap::default();
    for language in Language::ALL {
        let own = OF_QUESTIONS.iter().filter(|(of, _)| *of == language).flat_map(|(_, words)| words.split_whitespace());
        let listed = stop_words::lookup(language.code()).unwrap_or_default();
        listed.iter().copied().chain(own).for_each(|word| *all.entry(word).or_default() |= bit(language));
    }
    all
});

fn bit(language: Language) -> u8 {
    1 << language as u8
}

/// Returns whether a word in lower case says nothing about what a sentence is about.
pub fn is_stop_word(word: &str, language: Language) -> bool {
    STOP_WORDS.get(word).is_some_and(|languages| languages & bit(language) != 0)
}

/// Returns whether a word in lower case is such a word in one of the languages, where it is not known in which one it
/// stands.
pub fn is_stop_word_of_any(word: &str) -> bool {
    STOP_WORDS.contains_key(word)
}

/// Returns what `text` is about: stems of its words but the small ones, in order, repeated ones included; pairs of
/// characters where a script has no spaces.
pub fn terms(text: &str, language: Language) -> Vec<String> {
    let mut terms = Vec::new();
    for word in words(text) {
        if word.starts_with(is_unspaced) {
            terms.extend(pairs(word));
            continue;
        }
        let word = word.to_lowercase();
        if !is_stop_word(&word, language) && (word.chars().nth(1).is_some() || is_number(&word)) {
            terms.push(stem(&word, language));
        }
    }
    terms
}

fn pairs(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    match chars.as_slice() {
        [_] => vec![word.to_owned()],
        _ => chars.windows(2).map(|pair| pair.iter().collect()).collect(),
    }
}

/// Returns a form that related words of a language share; not a word itself. Takes lower case.
pub fn stem(word: &str, language: Language) -> String {
    let word = &*word.replace('-', "");
    if word.len() > LONGEST_WORD || is_number(word) || !word.starts_with(char::is_alphabetic) {
        return word.to_owned();
    }
    match language {
        Language::English | Language::Chinese => english(word),
        Language::German => Stemmer::create(Algorithm::German).stem(word).into_owned(),
        Language::French => Stemmer::create(Algorithm::French).stem(word).into_owned(),
        Language::Spanish => Stemmer::create(Algorithm::Spanish).stem(word).into_owned(),
    }
}

fn english(word: &str) -> String {
    static BASES: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| IRREGULAR.split_whitespace().filter_map(|pair| pair.split_once(':')).collect());
    let word = BASES.get(word).copied().unwrap_or(word);
    let stem = Stemmer::create(Algorithm::English).stem(word);
    let ending =
        DERIVATIONS.iter().find(|(ending, rest)| stem.strip_suffix(ending).is_some_and(|base| base.len() >= *rest));
    let base = ending.map_or(&*stem, |(ending, _)| &stem[..stem.len() - ending.len()]);
    let base = base.strip_suffix('e').filter(|base| base.len() > 3).unwrap_or(base);
    // `product` and `produced`, `inspection` and `inspected`.
    base.strip_suffix("ct").filter(|head| head.len() > 3).map_or_else(|| base.to_owned(), |head| format!("{head}c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_words_share_a_stem() {
        let check = |one: &str, other: &str| {
            assert_eq!(stem(one, Language::English), stem(other, Language::English), "{one} {other}");
        };
        check("turbines", "turbine");
        check("stopped", "stop");
        check("founded", "founding");
        check("batteries", "battery");
        check("paid", "pays");
        check("produced", "production");
        check("failure", "failed");
        check("settlement", "settled");
        check("inspection", "inspected");
        check("decided", "decision");
        check("co-operatives", "cooperative");
        assert_ne!(stem("port", Language::English), stem("portrait", Language::English));
        assert_eq!(stem("zahlungen", Language::German), stem("zahlung", Language::German));
        assert_eq!(stem("turbinen", Language::German), stem("turbine", Language::German));
    }

    #[test]
    fn terms_leave_the_small_words_out() {
        assert_eq!(terms("When was the mill destroyed?", Language::English), ["mill", "destroy"]);
        assert_eq!(terms("游客中心6点", Language::Chinese), ["游客", "客中", "中心", "6", "点"]);
        assert_eq!(terms("Wer unterschrieb für Norderwarf?", Language::German), ["unterschrieb", "norderwarf"]);
    }
}
