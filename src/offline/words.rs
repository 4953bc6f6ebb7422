//! Words as the ranking sees them: lower case, stemmed, without the small words; pairs of characters where a script
//! has no spaces. Knows English, German and Chinese well enough, and does no harm to others.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that say nothing about what a sentence is about, in lower case.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "auf", "aus", "be", "been",
    "before", "bei", "being", "both", "but", "by", "can", "could", "da", "das", "dass", "dem", "den", "der", "des",
    "did", "die", "do", "does", "doing", "du", "durch", "during", "each", "ein", "eine", "einem", "einen", "einer",
    "eines", "er", "es", "every", "for", "from", "für", "give", "had", "has", "hat", "haben", "have", "he", "her",
    "hers", "him", "his", "how", "i", "ich", "ihr", "ihre", "if", "im", "in", "into", "is", "ist", "it", "its", "kann",
    "list", "many", "may", "me", "mit", "much", "must", "my", "nach", "nicht", "no", "not", "noch", "now", "of", "on",
    "one", "or", "our", "out", "over", "please", "sein", "shall", "she", "should", "sich", "sie", "since", "sind",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "today", "tell", "und", "up", "us", "viel", "viele", "vom", "von", "wann", "war", "warum", "was", "we",
    "welche", "welchem", "welchen", "welcher", "welches", "wer", "were", "werden", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "wie", "will", "wir", "wird", "with", "within", "wo", "would", "wurde", "wurden",
    "you", "your", "zu", "zum", "zur", "zwischen", "über",
];

/// Past forms that no suffix rule brings back, with the form they share with others.
const IRREGULAR: &[(&str, &str)] = &[
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("built", "build"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("fallen", "fall"),
    ("fell", "fall"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("held", "hold"),
    ("led", "lead"),
    ("lost", "lose"),
    ("made", "make"),
    ("met", "meet"),
    ("paid", "pay"),
    ("ran", "run"),
    ("rose", "rise"),
    ("risen", "rise"),
    ("said", "say"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("won", "win"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Endings taken away, longest first, and what must remain of the word in characters.
const ENDINGS: &[(&str, usize)] = &[
    ("ations", 4),
    ("ation", 4),
    ("ungen", 4),
    ("tions", 4),
    ("tion", 4),
    ("ments", 4),
    ("ment", 4),
    ("ung", 4),
    ("ing", 3),
    ("ern", 4),
    ("est", 4),
    ("ed", 3),
    ("er", 4),
    ("en", 4),
    ("em", 4),
    ("et", 4),
    ("ly", 4),
    ("e", 3),
];

/// A language that fixed phrases exist in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    Chinese,
}

impl Language {
    /// The likeliest language of `text`; English when in doubt.
    pub(super) fn of(text: &str) -> Self {
        const GERMAN: [&str; 16] = [
            "der", "die", "das", "und", "wie", "wann", "wer", "wurde", "für", "ist", "nicht", "ein", "eine", "von",
            "zwischen", "welche",
        ];
        const ENGLISH: [&str; 14] =
            ["the", "and", "of", "what", "is", "how", "when", "who", "which", "for", "did", "was", "in", "a"];
        let letters = text.chars().filter(|char| char.is_alphabetic()).count();
        let count = |test: fn(char) -> bool| text.chars().filter(|char| test(*char)).count();
        if count(is_kana) == 0 && count(is_cjk) * 3 > letters {
            return Self::Chinese;
        }
        let words = raw(text);
        let hits = |list: &[&str]| words.iter().filter(|word| list.contains(&word.as_str())).count();
        let umlauts = count(|char| "äöüßÄÖÜ".contains(char));
        if hits(&GERMAN) + umlauts > hits(&ENGLISH) { Self::German } else { Self::English }
    }
}

/// Characters of scripts written without spaces.
pub(super) fn is_cjk(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn is_kana(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}')
}

/// The words of `text` as written; a run of CJK characters is one word, `2,400` and `16:00` are too.
pub(super) fn written(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let inside = char.is_alphanumeric() || joins(before, char, next);
        let breaks = start.is_some() && is_cjk(before) != is_cjk(char);
        if let Some(from) = start
            && (!inside || breaks)
        {
            words.push(&text[from..at]);
            start = None;
        }
        if inside && start.is_none() {
            start = Some(at);
        }
        before = char;
    }
    words.extend(start.map(|from| &text[from..]));
    words
}

/// Does `char` hold a number together?
fn joins(before: char, char: char, next: char) -> bool {
    matches!(char, '.' | ',' | ':') && before.is_ascii_digit() && next.is_ascii_digit()
}

/// The words in lower case, as written otherwise.
pub(super) fn raw(text: &str) -> Vec<String> {
    written(text).into_iter().map(str::to_lowercase).collect()
}

pub(super) fn is_stop_word(word: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.iter().copied().collect());
    SET.contains(word)
}

/// What a text is about: stems of its words but the small ones, in order, repeated ones included.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in raw(text) {
        if word.chars().next().is_some_and(is_cjk) {
            terms.extend(pairs(&word));
        } else if !is_stop_word(&word) && (word.chars().count() > 1 || is_number(&word)) {
            terms.push(stem(&word));
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

/// Does the word have a digit?
pub(super) fn is_number(word: &str) -> bool {
    word.chars().any(|char| char.is_ascii_digit())
}

/// A form that related words share; not a word itself. Takes lower case.
pub(super) fn stem(word: &str) -> String {
    if is_number(word) {
        return word.to_owned();
    }
    let word = without_plural(word);
    if let Some((_, base)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return stem(base);
    }
    let length = word.chars().count();
    let ending = ENDINGS.iter().find(|(ending, rest)| word.ends_with(ending) && length >= ending.len() + rest);
    let Some((ending, _)) = ending else { return word };
    undoubled(&word[..word.len() - ending.len()])
}

fn without_plural(word: &str) -> String {
    match word {
        _ if word.len() > 4 && word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") => {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    }
}

/// `stopp` to `stop`.
fn undoubled(stem: &str) -> String {
    let mut chars = stem.chars().rev();
    let (last, before) = (chars.next(), chars.next());
    match last {
        Some(char) if last == before && !"aeiouls".contains(char) => stem[..stem.len() - char.len_utf8()].to_owned(),
        _ => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_scripts_are_told_apart() {
        let check = |text: &str, expected: &[&str]| assert_eq!(written(text), expected, "{text}");
        check("EUR 2,400 at 16:00.", &["EUR", "2,400", "at", "16:00"]);
        check("成人票6欧元,免费", &["成人票", "6", "欧元", "免费"]);
        check("0.3 m/s, über HR-2217", &["0.3", "m", "s", "über", "HR", "2217"]);
        check("", &[]);
    }

    #[test]
    fn related_words_share_a_stem() {
        let check = |one: &str, other: &str| assert_eq!(stem(one), stem(other), "{one} {other}");
        check("turbines", "turbine");
        check("stopped", "stop");
        check("founded", "founding");
        check("batteries", "battery");
        check("paid", "pays");
        check("produced", "production");
        check("turbinen", "turbine");
        check("zahlungen", "zahlung");
    }

    #[test]
    fn terms_leave_the_small_words_out() {
        assert_eq!(terms("When was the mill destroyed?"), ["mill", "destroy"]);
        assert_eq!(terms("游客中心6点"), ["游客", "客中", "中心", "6", "点"]);
    }

    #[test]
    fn languages_are_told_by_their_small_words() {
        let check = |text: &str, expected| assert_eq!(Language::of(text), expected, "{text}");
        check("When was the cooperative founded?", Language::English);
        check("Wann wurde die Partnerschaft unterzeichnet?", Language::German);
        check("塔恩维岛游客中心在冬季几点闭馆?", Language::Chinese);
        check("Tarnvey?", Language::English);
        check("これは何ですか", Language::English);
    }
}
